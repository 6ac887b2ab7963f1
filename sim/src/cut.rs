//! A way between client and daemon that can be cut at the worst moment: after the daemon has answered and before
//! the client hears it.
//!
//! It listens on a socket of its own in a folder of its own, where the clients' session files lie too. A decision
//! is asked for before a request goes to the daemon and again when the daemon's whole reply is here.

use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tenure_core::wire;

/// One HTTP message, as it travelled.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// The request line or the status line.
    pub first: String,
    /// All headers, with small letters.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    bytes: Vec<u8>,
}

impl Message {
    /// A header's value; empty when it is not there.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut message = Self::default();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
            message.bytes.extend(line.as_bytes());
            let line = line.trim_end();
            match line.split_once(": ") {
                _ if message.first.is_empty() => message.first = line.to_owned(),
                Some((name, value)) => message.headers.push((name.to_ascii_lowercase(), value.to_owned())),
                None => break,
            }
        }
        let length = message.header("content-length").parse().unwrap_or(0);
        message.body = vec![0; length];
        reader.read_exact(&mut message.body).ok()?;
        let body = message.body.clone();
        message.bytes.extend(body);
        Some(message)
    }
}

/// A request and, once there is one, its reply.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What the client asked.
    pub request: Message,
    /// What the daemon answered; absent while it has not been asked.
    pub reply: Option<Message>,
    /// Whether the client never heard it.
    pub was_cut: bool,
}

impl Exchange {
    /// Whether the request is for this method and path.
    #[must_use]
    pub fn is(&self, method: &str, path: &str) -> bool {
        self.request.first.split(" HTTP").next() == Some(&format!("{method} {path}"))
    }
}

/// What happens to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is handed on.
    Pass,
    /// The connection ends without it.
    Cut,
}

type Decide = Arc<dyn Fn(&Exchange) -> Fate + Send + Sync>;

/// The way, with a record of everything that went over it.
pub struct Way {
    folder: PathBuf,
    decide: Arc<Mutex<Decide>>,
    seen: Arc<Mutex<Vec<Exchange>>>,
}

impl Way {
    /// Listens in `folder` for the daemon in `daemon`. Everything passes until somebody decides otherwise.
    #[must_use]
    pub fn open(folder: &Path, daemon: &Path) -> Self {
        let listener = UnixListener::bind(folder.join(wire::SOCKET)).expect("nobody listens there yet");
        let decide: Arc<Mutex<Decide>> = Arc::new(Mutex::new(Arc::new(|_| Fate::Pass)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let way = Self { folder: folder.to_owned(), decide: decide.clone(), seen: seen.clone() };
        let daemon = daemon.join(wire::SOCKET);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, daemon) = (client.expect("it is accepted"), daemon.clone());
                let (decide, seen) = (decide.clone(), seen.clone());
                std::thread::spawn(move || {
                    converse(&client, &daemon, &decide, &seen);
                    client.shutdown(Shutdown::Both).ok();
                });
            }
        });
        way
    }

    /// The folder that clients are pointed to.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// From now on this decides.
    pub fn decide(&self, decide: impl Fn(&Exchange) -> Fate + Send + Sync + 'static) {
        *self.decide.lock().expect("no decider panics") = Arc::new(decide);
    }

    /// Takes the record of what went over the way since the last time.
    pub fn take_seen(&self) -> Vec<Exchange> {
        std::mem::take(&mut *self.seen.lock().expect("no writer panics"))
    }
}

fn converse(client: &UnixStream, daemon: &Path, decide: &Mutex<Decide>, seen: &Mutex<Vec<Exchange>>) {
    let mut from_client = BufReader::new(client);
    let Ok(daemon) = UnixStream::connect(daemon) else { return };
    let mut from_daemon = BufReader::new(&daemon);
    let ask = |exchange: &Exchange| {
        let decide = decide.lock().expect("no decider panics").clone();
        decide(exchange)
    };
    while let Some(request) = Message::read(&mut from_client) {
        let mut exchange = Exchange { request, reply: None, was_cut: false };
        let is_handed_on = ask(&exchange) == Fate::Pass
            && (&daemon).write_all(&exchange.request.bytes).is_ok()
            && {
                exchange.reply = Message::read(&mut from_daemon);
                exchange.reply.is_some()
            }
            && ask(&exchange) == Fate::Pass;
        exchange.was_cut = !is_handed_on;
        let reply = exchange.reply.as_ref().map(|reply| reply.bytes.clone()).unwrap_or_default();
        seen.lock().expect("no writer panics").push(exchange);
        if !is_handed_on || (&*client).write_all(&reply).is_err() {
            return;
        }
    }
}
