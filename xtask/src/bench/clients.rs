//! Many clients, each with a connection of its own that it keeps: a client asks, waits for the answer and asks again.
//! Requests are written and answers read by hand, so that clients take as little as possible of the cores that the
//! server needs.

use std::os::fd::OwnedFd;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// How many threads the clients share.
const THREADS: usize = 2;
/// How long a server may be silent before the bench gives up.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Room for what comes in at once; an answer may take several reads.
const READ_BYTES: usize = 8 * 1024;

/// A client's side of a protocol.
pub trait Speaker: Send {
    /// The bytes of its next request.
    fn ask(&mut self) -> Result<Vec<u8>, String>;

    /// Takes a whole answer out of what has come in and says whether there was one. An answer that is no success is
    /// an error.
    fn take_answer(&mut self, inbox: &mut Vec<u8>) -> Result<bool, String>;
}

/// A client: its connection, what it says, and what has come in.
pub struct Client<S> {
    connection: OwnedFd,
    speaker: S,
    inbox: Vec<u8>,
    /// Since when the answer is waited for, or when the next request is due.
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Idle(Instant),
    Waiting(Instant),
    Done,
}

/// When a client asks again.
#[derive(Clone, Copy)]
pub enum Pace {
    /// As soon as it was answered.
    AtOnce,
    /// At fixed times this far apart, whatever the answers take. A request that is sent late because the one before
    /// it was slow counts from when it was due.
    Every(Duration),
}

/// What came of a slice.
pub struct Slice {
    /// How many requests were answered.
    pub answers: u64,
    /// How long it took from the first request to the last answer.
    pub took: Duration,
    /// How long each took, in milliseconds.
    pub latencies_ms: Vec<f64>,
}

impl Slice {
    /// Answers in a second.
    pub fn rate(&self) -> f64 {
        self.answers as f64 / self.took.as_secs_f64()
    }
}

impl<S: Speaker> Client<S> {
    /// A client on an open connection.
    pub fn new(connection: impl Into<OwnedFd>, speaker: S) -> Self {
        Self { connection: connection.into(), speaker, inbox: Vec::new(), state: State::Done }
    }

    /// What it says next, without its connection.
    pub fn into_speaker(self) -> S {
        self.speaker
    }

    fn ask(&mut self, due: Instant) -> Result<(), String> {
        let request = self.speaker.ask()?;
        let mut left = request.as_slice();
        while !left.is_empty() {
            match rustix::io::write(&self.connection, left) {
                Ok(count) => left = &left[count..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(format!("the server: {error}")),
            }
        }
        self.state = State::Waiting(due);
        Ok(())
    }

    /// Reads what is there. Says whether the answer is whole.
    fn listen(&mut self) -> Result<bool, String> {
        let held = self.inbox.len();
        self.inbox.resize(held + READ_BYTES, 0);
        let count = rustix::io::read(&self.connection, &mut self.inbox[held..])
            .map_err(|error| format!("the server: {error}"))?;
        self.inbox.truncate(held + count);
        if count == 0 {
            return Err("the server closed a connection".to_owned());
        }
        self.speaker.take_answer(&mut self.inbox)
    }
}

/// Lets all clients ask at a pace, for so long.
pub fn drive<S: Speaker>(clients: &mut [Client<S>], pace: Pace, long: Duration) -> Result<Slice, String> {
    let begun = Instant::now();
    let count = u32::try_from(clients.len()).expect("there are few clients");
    for (place, client) in (0..).zip(clients.iter_mut()) {
        // Paced clients begin one after the other, evenly.
        let first = match pace {
            Pace::AtOnce => Duration::ZERO,
            Pace::Every(step) => step * place / count,
        };
        client.state = State::Idle(begun + first);
    }
    let each = clients.len().div_ceil(THREADS);
    let latencies = thread::scope(|scope| {
        let threads: Vec<_> = clients
            .chunks_mut(each)
            .map(|some| scope.spawn(move || drive_some(some, pace, begun + long)))
            .collect();
        let mut latencies_ms = Vec::new();
        for thread in threads {
            latencies_ms.extend(thread.join().map_err(|_| "a client's thread ended early".to_owned())??);
        }
        Ok::<_, String>(latencies_ms)
    });
    let took = begun.elapsed();
    let latencies_ms = latencies?;
    Ok(Slice { answers: latencies_ms.len() as u64, took, latencies_ms })
}

/// One thread's clients.
fn drive_some<S: Speaker>(clients: &mut [Client<S>], pace: Pace, until: Instant) -> Result<Vec<f64>, String> {
    let mut latencies_ms = Vec::new();
    loop {
        let now = Instant::now();
        let mut next = now + PATIENCE;
        for client in clients.iter_mut() {
            match client.state {
                State::Idle(due) if due >= until => client.state = State::Done,
                State::Idle(due) if due <= now => client.ask(due)?,
                State::Idle(due) => next = next.min(due),
                State::Waiting(_) | State::Done => {}
            }
        }
        if clients.iter().all(|client| client.state == State::Done) {
            return Ok(latencies_ms);
        }
        for place in answered(clients, next)? {
            let client = &mut clients[place];
            if let State::Waiting(since) = client.state
                && client.listen()?
            {
                latencies_ms.push(since.elapsed().as_secs_f64() * 1000.0);
                client.state = State::Idle(match pace {
                    Pace::AtOnce => Instant::now(),
                    Pace::Every(step) => since + step,
                });
            }
        }
    }
}

/// The clients that something has come in for, or none when the time has come.
fn answered<S>(clients: &[Client<S>], until: Instant) -> Result<Vec<usize>, String> {
    let waiting: Vec<usize> =
        (0..clients.len()).filter(|place| matches!(clients[*place].state, State::Waiting(_))).collect();
    let mut polled: Vec<PollFd<'_>> =
        waiting.iter().map(|place| PollFd::new(&clients[*place].connection, PollFlags::IN)).collect();
    let begun = Instant::now();
    let long = until.saturating_duration_since(begun);
    let timeout = Timespec::try_from(long).map_err(|error| error.to_string())?;
    match poll(&mut polled, Some(&timeout)) {
        Ok(0) if long >= PATIENCE / 2 && !waiting.is_empty() => {
            Err("the server was silent for too long".to_owned())
        }
        Ok(_) | Err(Errno::INTR) => Ok(waiting
            .into_iter()
            .zip(&polled)
            .filter(|(_, polled)| !polled.revents().is_empty())
            .map(|(place, _)| place)
            .collect()),
        Err(error) => Err(error.to_string()),
    }
}
