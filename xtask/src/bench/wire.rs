//! The daemon's socket: plain HTTP/1.1, written and read by hand.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use tenure_core::model::ids::{AttemptId, OperationId};
use tenure_core::token::Token;
use tenure_core::wire;

use super::clients::{Client, PATIENCE, Speaker};
use super::fleet::{Agent, Agents, CLIENTS, Kind};

/// Room for what comes in at once.
const READ_BYTES: usize = 8 * 1024;

/// An open connection to the daemon in a folder. The way through the folder's descriptor is short enough for a
/// socket's address, however deep the folder lies.
pub fn connect(folder: &Path) -> std::io::Result<UnixStream> {
    let open = std::fs::File::open(folder)?;
    let stream = UnixStream::connect(format!("/proc/self/fd/{}/{}", open.as_raw_fd(), wire::SOCKET))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// A request, before it is sent.
pub struct Request(String);

impl Request {
    /// A question.
    pub fn get(path: &str) -> Self {
        Self(format!("GET {}{path} HTTP/1.1\r\nHost: tenure\r\n\r\n", wire::API))
    }

    /// A change that an agent asks for: by what name, and under which fence if it holds something.
    pub fn post(
        path: &str,
        agent: &Agent,
        operation_id: &OperationId,
        fence: Option<(&AttemptId, &OperationId)>,
        body: &str,
    ) -> Self {
        let mut head = format!(
            "POST {api}{path} HTTP/1.1\r\nHost: tenure\r\nUser-Agent: bench\r\nAccept: */*\r\n\
             {protocol}: {spoken}\r\n{session}: {}\r\n{proof}: {}\r\n{key}: {operation_id}\r\n{token}: {}\r\n",
            agent.session,
            agent.proof,
            agent.token_hash(operation_id),
            api = wire::API,
            protocol = wire::PROTOCOL_HEADER,
            spoken = wire::PROTOCOL,
            session = wire::SESSION,
            proof = wire::PROOF,
            key = wire::IDEMPOTENCY_KEY,
            token = wire::TOKEN_HASH,
        );
        if let Some((attempt, claim)) = fence {
            let lease = agent.lease_token(claim);
            let _ = write!(head, "{}: {attempt}\r\n{}: {lease}\r\n", wire::ATTEMPT, wire::LEASE);
        }
        let _ = write!(head, "Content-Type: {}\r\nContent-Length: {}\r\n\r\n{body}", wire::JSON, body.len());
        Self(head)
    }

    /// The same of whoever has a token.
    pub fn with_token(self, token: &str) -> Self {
        Self(self.0.replacen("\r\n", &format!("\r\nAuthorization: Bearer {token}\r\n"), 1))
    }

    /// Its bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// Sends a request, and returns the body of its answer, which must be a success.
pub fn ask(stream: &UnixStream, request: Request) -> Result<Vec<u8>, String> {
    send(stream, request)?;
    receive(stream)
}

/// Sends a request and does not wait.
pub fn send(mut stream: &UnixStream, request: Request) -> Result<(), String> {
    stream.write_all(&request.into_bytes()).map_err(|error| format!("the daemon: {error}"))
}

/// Waits for an answer, which must be a success, and returns its body.
pub fn receive(mut stream: &UnixStream) -> Result<Vec<u8>, String> {
    let mut inbox = Vec::new();
    loop {
        if let Some(body) = take_answer(&mut inbox)? {
            return Ok(body);
        }
        let held = inbox.len();
        inbox.resize(held + READ_BYTES, 0);
        let count = stream.read(&mut inbox[held..]).map_err(|error| format!("the daemon: {error}"))?;
        inbox.truncate(held + count);
        if count == 0 {
            return Err("the daemon closed a connection".to_owned());
        }
    }
}

/// Takes the body of a whole answer out of what has come in, if it is whole. A refusal is an error.
pub fn take_answer(inbox: &mut Vec<u8>) -> Result<Option<Vec<u8>>, String> {
    let Some(at) = inbox.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&inbox[..at]).map_err(|error| error.to_string())?;
    let length = text.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.eq_ignore_ascii_case("content-length") { value.trim().parse::<usize>().ok() } else { None }
    });
    let (head, length) = (at + 4, length.ok_or("an answer does not tell its length")?);
    let is_success = text.starts_with("HTTP/1.1 2");
    if inbox.len() < head + length {
        return Ok(None);
    }
    let body = inbox[head..head + length].to_vec();
    inbox.drain(..head + length);
    if is_success { Ok(Some(body)) } else { Err(format!("refused: {}", String::from_utf8_lossy(&body))) }
}

/// A client that claims, one task after the other.
pub struct Claimer<'a> {
    agents: &'a Agents,
    kind: Kind,
    number: u64,
    turn: u64,
    token: Option<String>,
}

impl<'a> Claimer<'a> {
    /// A client that has claimed nothing yet.
    pub fn new(agents: &'a Agents, kind: Kind, number: u64) -> Self {
        Self { agents, kind, number, turn: 0, token: None }
    }

    /// The same that begins with another turn.
    pub fn since_turn(self, turn: u64) -> Self {
        Self { turn, ..self }
    }

    /// The same with a token.
    pub fn with_token(self, token: &Token) -> Self {
        Self { token: Some(token.as_str().to_owned()), ..self }
    }
}

impl Speaker for Claimer<'_> {
    fn ask(&mut self) -> Result<Vec<u8>, String> {
        let ask = self.agents.ask(self.kind, self.number, self.turn)?;
        self.turn += 1;
        let body = serde_json::to_string(&ask.claim).map_err(|error| error.to_string())?;
        let request = Request::post("/claims", ask.agent, &ask.operation_id, None, &body);
        let request = match &self.token {
            Some(token) => request.with_token(token),
            None => request,
        };
        Ok(request.into_bytes())
    }

    fn take_answer(&mut self, inbox: &mut Vec<u8>) -> Result<bool, String> {
        take_answer(inbox).map(|body| body.is_some())
    }
}

/// Connects all clients.
pub fn claimers<'a>(
    folder: &Path,
    agents: &'a Agents,
    kind: Kind,
) -> Result<Vec<Client<Claimer<'a>>>, String> {
    let client = |number| {
        let stream = connect(folder).map_err(|error| format!("a client could not connect: {error}"))?;
        Ok(Client::new(stream, Claimer::new(agents, kind, number)))
    };
    (0..CLIENTS).map(client).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_only_when_it_is_whole() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        for end in 0..whole.len() {
            let mut inbox = whole[..end].to_vec();
            assert!(take_answer(&mut inbox).expect("no fault").is_none(), "{end}");
            assert_eq!(inbox.len(), end);
        }
        let mut inbox = [whole.as_slice(), b"HTTP"].concat();
        assert_eq!(take_answer(&mut inbox).expect("no fault").expect("an answer"), b"{}");
        assert_eq!(inbox, b"HTTP");
        let mut refused = b"HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n".to_vec();
        take_answer(&mut refused).expect_err("a refusal");
    }
}
