//! HTTP as bytes: what is sent is exactly what a test says.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::Value;

/// A request, sent as it is written here.
pub struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

pub const SESSION: &str = "0123456789abcdef0123456789abcdef";
pub const PROOF: &str = "a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5";
pub const LEASE: &str = "7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e7e";

pub fn get(path: &str) -> Request {
    request("GET", path)
}

pub fn request(method: &str, path: &str) -> Request {
    Request { line: format!("{method} {path} HTTP/1.1"), headers: Vec::new(), body: Vec::new() }
}

/// A mutation as a well-behaved client sends it, with an operation id of its own.
pub fn mutation(method: &str, path: &str, body: &str) -> Request {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    request(method, path)
        .header("Tenure-Session", SESSION)
        .header("Tenure-Proof", PROOF)
        .header("Idempotency-Key", &format!("op-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
        .json(body)
}

impl Request {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(given, _)| given != name);
        self
    }

    /// The same, of no session.
    pub fn anonymous(self) -> Self {
        self.without("Tenure-Session").without("Tenure-Proof")
    }

    /// The same to another path.
    pub fn to(self, path: &str) -> Self {
        let method = self.line.split(' ').next().unwrap_or_default();
        Self { line: format!("{method} {path} HTTP/1.1"), ..self }
    }

    /// The same under a given operation id.
    pub fn key(self, key: &str) -> Self {
        self.without("Idempotency-Key").header("Idempotency-Key", key)
    }

    /// The same, for an answer that comes as it happens.
    pub fn as_it_happens(&self) -> Self {
        let (line, headers, body) = (self.line.clone(), self.headers.clone(), self.body.clone());
        Self { line, headers, body }.header("Accept", "text/event-stream")
    }

    pub fn json(self, body: &str) -> Self {
        self.header("Content-Type", "application/json").body(body.as_bytes())
    }

    pub fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{}\r\nConnection: close\r\n", self.line);
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            text.push_str("Host: localhost\r\n");
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() && !self.headers.iter().any(|(name, _)| name == "Transfer-Encoding") {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }

    pub fn send(&self, socket: &Path) -> Answer {
        let mut stream = UnixStream::connect(socket).expect("a daemon listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        self.send_by(&mut stream)
    }

    /// Sends it by a connection of any kind.
    pub fn send_by(&self, stream: &mut (impl Read + Write)) -> Answer {
        // Who refuses early closes early; the answer is there all the same.
        let _ = stream.write_all(&self.bytes());
        read_answer(stream)
    }
}

pub fn read_answer(stream: &mut impl Read) -> Answer {
    let mut bytes = Vec::new();
    let ended = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).expect("an answer is text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?} {ended:?}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Answer { status, headers: lines.filter_map(header).collect(), body: body.to_owned() }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    /// The code of a problem that has everything a problem must have.
    pub fn code(&self) -> String {
        let problem = self.value();
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{problem}");
        assert_eq!(problem["status"], self.status, "{problem}");
        for field in ["type", "title", "detail"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {problem}");
        }
        assert!(problem["next_actions"].as_array().is_some_and(|steps| !steps.is_empty()), "{problem}");
        problem["code"].as_str().expect("a code").to_owned()
    }
}
