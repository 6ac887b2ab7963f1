//! A cable between a server and its database that can be cut at the worst moment, when the database has committed and the
//! server does not know it yet, and that can go silent.
//!
//! It understands so much of PostgreSQL's protocol: where a message ends, which one begins a write, which one commits it,
//! and which answer says that it was committed.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};

/// What happens to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is handed on, and so is its answer.
    Pass,
    /// The connection ends without it.
    CutBefore,
    /// It is handed on, and the connection ends at once.
    CutWith,
    /// The database commits and answers, and the connection ends without the answer.
    CutAfter,
}

type Decide = Box<dyn FnMut() -> Fate + Send>;

/// What all connections over a cable share.
struct Shared {
    decide: Mutex<Decide>,
    commits: AtomicU64,
    is_silent: Mutex<bool>,
    falls: Condvar,
    speaks: Condvar,
    /// Whether it falls silent before the end of the next question that a write asks.
    falters: AtomicBool,
}

/// The cable. Servers connect to its port.
pub struct Cable {
    port: u16,
    shared: Arc<Shared>,
}

/// One connection over a cable.
struct Line {
    server: TcpStream,
    database: TcpStream,
    /// Whether the server has begun to write and not yet committed.
    writes: AtomicBool,
    /// Whether the database's next word of a commit is kept from the server.
    keeps: AtomicBool,
    shared: Arc<Shared>,
}

impl Cable {
    /// A cable to a database that listens there. Everything passes until somebody decides otherwise.
    #[must_use]
    pub fn to((host, port): (&'static str, u16)) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the loopback has a free port");
        let own = listener.local_addr().expect("it is bound").port();
        let shared = Arc::new(Shared {
            decide: Mutex::new(Box::new(|| Fate::Pass)),
            commits: AtomicU64::new(0),
            is_silent: Mutex::new(false),
            falls: Condvar::new(),
            speaks: Condvar::new(),
            falters: AtomicBool::new(false),
        });
        let lines = shared.clone();
        std::thread::spawn(move || {
            for server in listener.incoming().flatten() {
                lines.wait_while_silent();
                // Where no database listens, the server hears that nobody is there.
                let Ok(database) = TcpStream::connect((host, port)) else { continue };
                Line::open(server, database, lines.clone());
            }
        });
        Self { port: own, shared }
    }

    /// Where servers connect.
    #[must_use]
    pub fn host(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// From now on this decides what happens to each commit of a write.
    pub fn decide(&self, decide: impl FnMut() -> Fate + Send + 'static) {
        *self.shared.decide.lock().expect("no decider panics") = Box::new(decide);
    }

    /// How many commits came to it.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(SeqCst)
    }

    /// From now on nothing passes and nobody hears why. What was sent meanwhile is late and not lost.
    pub fn fall_silent(&self) {
        self.shared.fall_silent();
    }

    /// Falls silent when a write has asked its next question and not yet said that this was all of it: the database waits
    /// for the rest, with the lock in its hand.
    pub fn falter(&self) {
        self.shared.falters.store(true, SeqCst);
        let silent = self.shared.is_silent.lock().expect("no holder panics");
        drop(self.shared.falls.wait_while(silent, |silent| !*silent).expect("no holder panics"));
    }

    /// Everything passes again.
    pub fn speak(&self) {
        *self.shared.is_silent.lock().expect("no holder panics") = false;
        self.shared.speaks.notify_all();
    }
}

impl Shared {
    fn fall_silent(&self) {
        *self.is_silent.lock().expect("no holder panics") = true;
        self.falls.notify_all();
    }

    fn wait_while_silent(&self) {
        let silent = self.is_silent.lock().expect("no holder panics");
        drop(self.speaks.wait_while(silent, |silent| *silent).expect("no holder panics"));
    }
}

impl Line {
    fn open(server: TcpStream, database: TcpStream, shared: Arc<Shared>) {
        for end in [&server, &database] {
            end.set_nodelay(true).ok();
        }
        let (writes, keeps) = (AtomicBool::new(false), AtomicBool::new(false));
        let there = Arc::new(Self { server, database, writes, keeps, shared });
        let back = there.clone();
        std::thread::spawn(move || {
            there.to_database().ok();
            there.cut();
        });
        std::thread::spawn(move || {
            back.to_server().ok();
            back.cut();
        });
    }

    fn cut(&self) {
        self.server.shutdown(Shutdown::Both).ok();
        self.database.shutdown(Shutdown::Both).ok();
    }

    fn to_database(&self) -> io::Result<()> {
        // The first message has no kind.
        let mut message = Vec::new();
        read_rest(&self.server, &mut message)?;
        loop {
            // A message of this one letter ends a question.
            let ends_question = message[0] == b'S';
            if ends_question && self.writes.load(SeqCst) && self.shared.falters.swap(false, SeqCst) {
                self.shared.fall_silent();
            }
            self.shared.wait_while_silent();
            let fate = self.fate_of(&message);
            self.keeps.store(fate == Fate::CutAfter, SeqCst);
            match fate {
                Fate::Pass | Fate::CutAfter => (&self.database).write_all(&message)?,
                Fate::CutBefore => return Ok(()),
                Fate::CutWith => return (&self.database).write_all(&message),
            }
            message = read_message(&self.server)?;
        }
    }

    fn fate_of(&self, message: &[u8]) -> Fate {
        let says = |words: &[u8]| message[0] == b'Q' && message[..message.len() - 1].ends_with(words);
        if says(b"FOR UPDATE") {
            self.writes.store(true, SeqCst);
        }
        if !says(b"COMMIT") || !self.writes.swap(false, SeqCst) {
            return Fate::Pass;
        }
        self.shared.commits.fetch_add(1, SeqCst);
        (self.shared.decide.lock().expect("no decider panics"))()
    }

    fn to_server(&self) -> io::Result<()> {
        loop {
            let message = read_message(&self.database)?;
            self.shared.wait_while_silent();
            let is_committed = message[0] == b'C' && message[5..].starts_with(b"COMMIT");
            if is_committed && self.keeps.load(SeqCst) {
                return Ok(());
            }
            (&self.server).write_all(&message)?;
        }
    }
}

/// A message with its kind, its length and its content.
fn read_message(from: &TcpStream) -> io::Result<Vec<u8>> {
    let mut message = vec![0];
    (&*from).read_exact(&mut message)?;
    read_rest(from, &mut message)?;
    Ok(message)
}

/// The length, which counts itself, and what follows.
fn read_rest(mut from: &TcpStream, message: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    message.extend(length);
    let rest = (u32::from_be_bytes(length) as usize).saturating_sub(length.len());
    let begin = message.len();
    message.resize(begin + rest, 0);
    from.read_exact(&mut message[begin..])
}
