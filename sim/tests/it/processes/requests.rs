//! Hostile requests against a real daemon: none of them hangs it, ends it or makes it say that something went wrong on
//! its side; every refusal is a whole problem with a known code; and what was refused changed nothing.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_core::model::refusal::Code;
use tenure_core::secret::Proof;
use tenure_core::wire;
use tenure_sim::fuzz::{examples, try_for_a_while};
use tenure_sim::place::Place;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/fuzz/requests");
const SESSION: &str = "0123456789abcdef0123456789abcdef";
/// Nothing that is asked here takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came back: the status and the body. Nothing if the connection was closed without an answer.
struct Answer {
    status: u16,
    body: String,
}

/// A request in a file: a line, headers, an empty line, a body.
struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    /// Reads one. Whatever the head of a message cannot be written with is left out: the HTTP library refuses that by
    /// itself, before anything of ours is asked.
    fn of(input: &[u8], number: u64) -> Self {
        let end = input.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = input.split_at(end.unwrap_or(input.len()));
        let text = String::from_utf8_lossy(head).into_owned();
        let mut lines = text.lines().map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>());
        let first = lines.next().unwrap_or_default();
        let (method, path) = first.split_once(' ').unwrap_or(("GET", &first));
        let method: String = method.chars().filter(char::is_ascii_alphabetic).collect();
        let may_stand = |c: &char| c.is_ascii_alphanumeric() || "-._~:/?[]@!$&'()*+,;=%".contains(*c);
        let path: String = path.chars().filter(may_stand).collect();
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        let mut head = format!("{method} /{} HTTP/1.1\r\nHost: tenure\r\n", path.trim_start_matches('/'));
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            // The frame of the message is the test's own.
            let frames = ["content-length", "transfer-encoding", "connection", "expect", "upgrade", "host"];
            if is_name && !frames.contains(&name.to_lowercase().as_str()) {
                head.push_str(&format!("{name}:{value}\r\n"));
            }
        }
        let (key, proof) = (format!("tried-{number}"), "a5".repeat(32));
        // What an example does not name is as it should be, so that what it does name is looked at.
        for (name, value) in [
            ("Tenure-Session", SESSION),
            ("Tenure-Proof", &proof),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", &key),
        ] {
            if method != "GET" && !head.to_lowercase().contains(&format!("{}:", name.to_lowercase())) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        Self { head, body: body.get(2..).unwrap_or_default().to_vec() }
    }

    fn send(&self, socket: &Path) -> Option<Answer> {
        let mut stream = UnixStream::connect(socket).expect("the daemon listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let frame = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.body.len());
        // Who refuses early closes early; the answer is there all the same.
        let _ = stream.write_all(&[self.head.as_bytes(), frame.as_bytes(), &self.body].concat());
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        assert!(read.is_ok() || !bytes.is_empty(), "no answer in {PATIENCE:?}: {read:?}");
        let text = String::from_utf8(bytes).expect("an answer is text");
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Some(Answer { status, body: body.to_owned() })
    }
}

fn asked(socket: &Path, line: &str, body: &Value) -> Answer {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Relaxed);
    let head = format!(
        "{line} HTTP/1.1\r\nHost: tenure\r\nContent-Type: application/json\r\nTenure-Session: {SESSION}\r\n\
         Tenure-Proof: {}\r\nIdempotency-Key: scene-{number}\r\n",
        "a5".repeat(32),
    );
    let body = if line.starts_with("GET") { Vec::new() } else { body.to_string().into_bytes() };
    let answer = Request { head, body }.send(socket).expect("answered");
    assert_eq!(answer.status, 200, "{line}: {}", answer.body);
    answer
}

/// How many events there are: every accepted mutation but a heartbeat appends some.
fn events(socket: &Path) -> u64 {
    let answer = asked(socket, "GET /api/v1/stats", &Value::Null);
    let counts: Value = serde_json::from_str(&answer.body).expect("JSON");
    counts["events"].as_u64().expect("a number")
}

#[test]
fn hostile_requests_are_answered_or_refused_by_name_and_change_nothing() {
    let place = Place::new();
    let mut daemon = place.daemon();
    let socket = place.state().join(wire::SOCKET);
    let proof = Proof::from_wire(&"a5".repeat(32)).expect("a proof").hash();
    asked(
        &socket,
        "POST /api/v1/sessions",
        &json!({ "session": SESSION, "proof_hash": proof, "name": "tester" }),
    );
    asked(&socket, "POST /api/v1/projects", &json!({ "key": "afc" }));
    for title in ["first", "second"] {
        asked(&socket, "POST /api/v1/tasks", &json!({ "project": "afc", "title": title }));
    }
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    let (mut number, mut accepted) = (0, 0);
    let mut refused: BTreeMap<String, u32> = BTreeMap::new();
    let tried = try_for_a_while(&examples(Path::new(CORPUS)), |input| {
        number += 1;
        let before = events(&socket);
        let Some(answer) = Request::of(input, number).send(&socket) else { return };
        if answer.status < 400 {
            accepted += 1;
            return;
        }
        assert!(answer.status < 500, "{}: {}", answer.status, answer.body);
        let problem: Value = serde_json::from_str(&answer.body)
            .unwrap_or_else(|error| panic!("{} is no problem: {error}: {:?}", answer.status, answer.body));
        let code = problem["code"].as_str().expect("a code");
        assert!(codes.contains(&code), "{problem}");
        *refused.entry(code.to_owned()).or_default() += 1;
        assert_eq!(problem["status"], answer.status, "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
        assert!(problem["next_actions"].as_array().is_some_and(|steps| !steps.is_empty()), "{problem}");
        assert_eq!(events(&socket), before, "a refused request changed something: {problem}");
    });
    assert!(!daemon.has_ended());
    eprintln!("{tried} requests: {accepted} accepted, refused {refused:?}");
    assert!(accepted > 3 && refused.len() > 3, "too quiet to prove anything");
    tenure_sim::store::verify(&tenure_sim::agent::client(place.state()));
}
