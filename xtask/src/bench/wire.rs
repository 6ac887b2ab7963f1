//! 64 clients on the daemon's socket, each with a connection of its own that it keeps: plain HTTP/1.1, written and read
//! by hand so that the clients take as little as possible of the cores that the daemon needs.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tenure_core::wire;

use super::fleet::{Agents, CLIENTS, Kind};

/// How many threads the clients share.
const THREADS: usize = 2;
/// How long a daemon may be silent before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Room for an answer; it grows when an answer is longer.
const ANSWER_BYTES: usize = 8 * 1024;

/// An open connection to the daemon in a folder. The way through the folder's descriptor is short enough for a
/// socket's address, however deep the folder lies.
pub fn connect(folder: &Path) -> std::io::Result<UnixStream> {
    let open = std::fs::File::open(folder)?;
    let stream = UnixStream::connect(format!("/proc/self/fd/{}/{}", open.as_raw_fd(), wire::SOCKET))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Asks one question and returns the body of its answer, which must be a success.
pub fn get(mut stream: &UnixStream, target: &str) -> Result<Vec<u8>, String> {
    let request = format!("GET {target} HTTP/1.1\r\nHost: tenure\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
    let mut inbox = Inbox::default();
    loop {
        inbox.read(stream)?;
        if let Some(answer) = inbox.answer()? {
            let body = inbox.bytes[answer.head..answer.end].to_vec();
            return if answer.is_success {
                Ok(body)
            } else {
                Err(String::from_utf8_lossy(&body).into_owned())
            };
        }
    }
}

/// What has come in on a connection.
#[derive(Default)]
struct Inbox {
    bytes: Vec<u8>,
}

/// A whole answer at the beginning of an inbox.
struct Answer {
    is_success: bool,
    head: usize,
    end: usize,
}

impl Inbox {
    fn read(&mut self, mut stream: &UnixStream) -> Result<(), String> {
        let held = self.bytes.len();
        self.bytes.resize(held + ANSWER_BYTES, 0);
        let count = stream.read(&mut self.bytes[held..]).map_err(|error| format!("the daemon: {error}"))?;
        self.bytes.truncate(held + count);
        if count == 0 { Err("the daemon closed a connection".to_owned()) } else { Ok(()) }
    }

    /// The whole answer that has come in, if it is whole.
    fn answer(&self) -> Result<Option<Answer>, String> {
        let Some(at) = self.bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(&self.bytes[..at]).map_err(|error| error.to_string())?;
        let length = text.split("\r\n").find_map(|line| {
            let (name, value) = line.split_once(':')?;
            if name.eq_ignore_ascii_case("content-length") {
                value.trim().parse::<usize>().ok()
            } else {
                None
            }
        });
        let (head, length) = (at + 4, length.ok_or("an answer does not tell its length")?);
        let is_success = text.starts_with("HTTP/1.1 2");
        Ok((self.bytes.len() >= head + length).then_some(Answer { is_success, head, end: head + length }))
    }
}

/// A client: its connection, and how many claims it has made.
pub struct Client {
    number: u64,
    stream: UnixStream,
    state: State,
}

/// What changes about a client while its connection is waited for.
struct State {
    turn: u64,
    inbox: Inbox,
    sent: Option<Instant>,
}

/// What came of a slice.
pub struct Slice {
    /// How many claims were answered.
    pub claims: u64,
    /// How long it took from the first request to the last answer.
    pub took: Duration,
    /// How long each claim took, in milliseconds.
    pub latencies_ms: Vec<f64>,
}

impl Slice {
    /// Claims in a second.
    pub fn rate(&self) -> f64 {
        self.claims as f64 / self.took.as_secs_f64()
    }
}

/// Connects all clients.
pub fn clients(folder: &Path) -> Result<Vec<Client>, String> {
    let client = |number| {
        let stream = connect(folder).map_err(|error| format!("a client could not connect: {error}"))?;
        Ok(Client { number, stream, state: State { turn: 0, inbox: Inbox::default(), sent: None } })
    };
    (0..CLIENTS).map(client).collect()
}

/// Lets all clients claim, each its next as soon as it was answered, for so long.
pub fn claim(clients: &mut [Client], agents: &Agents, kind: Kind, long: Duration) -> Result<Slice, String> {
    let begun = Instant::now();
    let each = clients.len().div_ceil(THREADS);
    let latencies = thread::scope(|scope| {
        let threads: Vec<_> = clients
            .chunks_mut(each)
            .map(|some| scope.spawn(move || drive(some, agents, kind, begun + long)))
            .collect();
        let mut latencies_ms = Vec::new();
        for thread in threads {
            latencies_ms.extend(thread.join().map_err(|_| "a client's thread ended early".to_owned())??);
        }
        Ok::<_, String>(latencies_ms)
    });
    let took = begun.elapsed();
    let latencies_ms = latencies?;
    Ok(Slice { claims: latencies_ms.len() as u64, took, latencies_ms })
}

/// One thread's clients: sends, waits for whichever is answered first, and sends again.
fn drive(clients: &mut [Client], agents: &Agents, kind: Kind, until: Instant) -> Result<Vec<f64>, String> {
    let mut latencies_ms = Vec::new();
    let (streams, mut states): (Vec<_>, Vec<_>) =
        clients.iter_mut().map(|client| ((client.number, &client.stream), &mut client.state)).unzip();
    for ((number, stream), state) in streams.iter().zip(&mut states) {
        state.send(stream, *number, agents, kind)?;
    }
    let mut waiting = streams.len();
    let mut polled: Vec<PollFd<'_>> =
        streams.iter().map(|(_, stream)| PollFd::new(*stream, PollFlags::IN)).collect();
    let patience = Timespec::try_from(PATIENCE).map_err(|error| error.to_string())?;
    while waiting > 0 {
        match poll(&mut polled, Some(&patience)) {
            Ok(0) => return Err("the daemon was silent for too long".to_owned()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
        for (place, (number, stream)) in streams.iter().enumerate() {
            if polled[place].revents().is_empty() {
                continue;
            }
            if let Some(latency_ms) = states[place].receive(stream)? {
                latencies_ms.push(latency_ms);
                if Instant::now() < until {
                    states[place].send(stream, *number, agents, kind)?;
                } else {
                    waiting -= 1;
                }
            }
        }
    }
    Ok(latencies_ms)
}

impl State {
    fn send(
        &mut self,
        mut stream: &UnixStream,
        client: u64,
        agents: &Agents,
        kind: Kind,
    ) -> Result<(), String> {
        let ask = agents.ask(kind, client, self.turn)?;
        self.turn += 1;
        let body = serde_json::to_string(&ask.claim).map_err(|error| error.to_string())?;
        let request = format!(
            "POST {api}/claims HTTP/1.1\r\nHost: tenure\r\nUser-Agent: bench\r\nAccept: */*\r\n\
             {protocol}: {spoken}\r\n{session}: {}\r\n{proof}: {}\r\n{key}: {}\r\n{token}: {}\r\n\
             Content-Type: {json}\r\nContent-Length: {}\r\n\r\n{body}",
            ask.agent.session,
            ask.agent.proof,
            ask.operation_id,
            ask.token_hash,
            body.len(),
            api = wire::API,
            protocol = wire::PROTOCOL_HEADER,
            spoken = wire::PROTOCOL,
            session = wire::SESSION,
            proof = wire::PROOF,
            key = wire::IDEMPOTENCY_KEY,
            token = wire::TOKEN_HASH,
            json = wire::JSON,
        );
        self.sent = Some(Instant::now());
        stream.write_all(request.as_bytes()).map_err(|error| format!("the daemon: {error}"))
    }

    /// Reads what is there. Tells how long the claim took when its answer is whole.
    fn receive(&mut self, stream: &UnixStream) -> Result<Option<f64>, String> {
        self.inbox.read(stream)?;
        let Some(answer) = self.inbox.answer()? else { return Ok(None) };
        let sent = self.sent.take().ok_or("an answer came that nobody asked for")?;
        if !answer.is_success {
            let body = String::from_utf8_lossy(&self.inbox.bytes[answer.head..answer.end]);
            return Err(format!("a claim was refused: {body}"));
        }
        self.inbox.bytes.drain(..answer.end);
        Ok(Some(sent.elapsed().as_secs_f64() * 1000.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_only_when_it_is_whole() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        for end in 0..whole.len() {
            let inbox = Inbox { bytes: whole[..end].to_vec() };
            assert!(inbox.answer().expect("no fault").is_none(), "{end}");
        }
        let answer = Inbox { bytes: whole.to_vec() }.answer().expect("no fault").expect("an answer");
        assert!(answer.is_success && answer.end == whole.len());
        let refused = Inbox { bytes: b"HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\n\r\n".to_vec() };
        assert!(!refused.answer().expect("no fault").expect("an answer").is_success);
    }
}
