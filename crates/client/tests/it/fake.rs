//! A daemon on a real socket that answers as a test says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tenure_client::call::{Client, Retry};
use tenure_client::identity::Identity;
use tenure_client::session::{Particulars, Session};
use tenure_core::operation::ownership::Claim;
use tenure_core::wire::SOCKET;

/// A request as the daemon read it.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Request {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(&name.to_ascii_lowercase()).map_or("", String::as_str)
    }
}

/// What the daemon does with a request.
pub enum Reply {
    /// A whole reply.
    Json(u16, String),
    /// These bytes and then the end of the connection.
    Raw(Vec<u8>),
    /// The end of the connection.
    Cut,
}

pub const INFO: &str =
    r#"{"name":"tenure","version":"0.1.0","protocol":1,"fleet":"f1","epoch":1,"pid":1,"busy":false}"#;
pub const SESSION: &str = r#"{"session":{"id":"00000000000000000000000000000000","name":"a","handle":"acorn-acorn-acorn-acorn-acorn","open":true,"present":true,"opened_at":1,"holds":[]},"epoch":1}"#;

/// Every request that came, but for those about the daemon itself and opening a session.
pub type Requests = Arc<Mutex<Vec<Request>>>;

/// Listens in a folder. `answer` hears each request that is not about the daemon or a session.
pub fn daemon(folder: &Path, answer: impl Fn(&Request, usize) -> Reply + Send + 'static) -> Requests {
    daemon_telling(folder, INFO.to_owned(), answer)
}

/// The same, and the opening of a session is answered as the test says.
pub fn daemon_opening(folder: &Path, answer: impl Fn(&Request, usize) -> Reply + Send + 'static) -> Requests {
    daemon_with(folder, INFO.to_owned(), false, answer)
}

/// The same with another answer about itself.
pub fn daemon_telling(
    folder: &Path,
    info: String,
    answer: impl Fn(&Request, usize) -> Reply + Send + 'static,
) -> Requests {
    daemon_with(folder, info, true, answer)
}

fn daemon_with(
    folder: &Path,
    info: String,
    opens: bool,
    answer: impl Fn(&Request, usize) -> Reply + Send + 'static,
) -> Requests {
    let listener = UnixListener::bind(folder.join(SOCKET)).expect("binds");
    let requests = Requests::default();
    let seen = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("accepts");
            while let Some(request) = read(&stream) {
                let reply = match request.target.as_str() {
                    "/api/v1/info" => Reply::Json(200, info.clone()),
                    "/api/v1/sessions" if opens && request.method == "POST" => {
                        Reply::Json(200, SESSION.to_owned())
                    }
                    _ => {
                        let count = {
                            let mut seen = seen.lock().expect("not poisoned");
                            seen.push(request.clone());
                            seen.len()
                        };
                        answer(&request, count)
                    }
                };
                match reply {
                    Reply::Json(status, body) => {
                        let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {}\r\n\r\n", body.len());
                        stream.write_all(format!("{head}{body}").as_bytes()).ok();
                    }
                    Reply::Raw(bytes) => {
                        stream.write_all(&bytes).ok();
                        break;
                    }
                    Reply::Cut => break,
                }
            }
        }
    });
    requests
}

fn read(stream: &UnixStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, target, headers, body: String::from_utf8(body).expect("JSON is UTF-8") })
}

/// A client that starts no daemon, and what it told.
pub fn client(folder: &Path) -> (Client, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = told.clone();
    let notice = Box::new(move |text: &str| tell.lock().expect("not poisoned").push(text.to_owned()));
    let retry = Retry { pause_ms: 1, repetitions: 3 };
    (Client::new(folder, None, notice).with_retry(retry), told)
}

pub fn identity(name: &str) -> Identity {
    Identity {
        name: name.parse().expect("valid"),
        conversation: None,
        harness: None,
        origin: "a test".to_owned(),
    }
}

pub fn session(client: &Client, name: &str) -> Session {
    Session::open(client, &identity(name), &Particulars::default()).expect("opens")
}

/// A claim of the next task.
pub fn claim() -> Claim {
    Claim {
        task: None,
        projects: vec!["afc".parse().expect("valid")],
        another: false,
        no_recovery: false,
        wait_ms: None,
    }
}

/// The answer of a claim.
pub fn claimed(task: &str, generation: u64, operation: &str) -> String {
    let (project, _) = task.rsplit_once('-').expect("an id");
    serde_json::json!({
        "task": {
            "id": task, "title": "t", "status": "in_progress", "lifecycle": "open", "kind": "code", "priority": 2,
            "revision": 1, "generation": generation, "digest": "0".repeat(64), "created_at": 1, "updated_at": 1,
        },
        "attempt": format!("{task}@{generation}"), "generation": generation, "deadline": 1000,
        "expires_in_ms": 600_000, "heartbeat_ms": 60_000, "resumed": false, "mode": "fresh",
        "claim_operation": operation, "next": format!("work in {project}"),
    })
    .to_string()
}

/// A refusal as it travels.
pub fn problem(code: tenure_core::model::refusal::Code) -> Reply {
    use tenure_core::model::refusal::{Problem, Refusal};
    let problem = Problem::from(&Refusal::new(code, "no"));
    Reply::Json(problem.status, serde_json::to_string(&problem).expect("serialises"))
}

/// A refusal that states after how many seconds to ask again.
pub fn stating(code: tenure_core::model::refusal::Code, retry_after: &str) -> Reply {
    let Reply::Json(status, body) = problem(code) else { unreachable!("a problem is JSON") };
    let head = format!("HTTP/1.1 {status} x\r\nRetry-After: {retry_after}\r\nContent-Length: {}", body.len());
    Reply::Raw(format!("{head}\r\n\r\n{body}").into_bytes())
}
