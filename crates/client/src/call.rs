//! One call: sent, repeated while its outcome is uncertain, and read strictly.
//!
//! A repetition is always the same request with the same operation id, so it can have no second effect. What never
//! got a whole answer ends as [`Failure::CannotTell`].

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tenure_core::model::ids::Epoch;
use tenure_core::model::refusal::{Code, Problem, Refusal};
use tenure_core::operation::{Access, Effect, Operation};

use crate::autostart::{self, Start};
use crate::failure::Failure;
use crate::route::{Route, route};
use crate::session::Session;
use crate::transport::{Cut, Reply, Wire};
use crate::{PROTOCOL, clock, mutation};

/// How long one call may take, its repetitions included.
const CALL_PATIENCE: Duration = Duration::from_secs(20);
/// The same for the import of a large file.
const IMPORT_PATIENCE: Duration = Duration::from_secs(300);
/// How a call is repeated; tests may hurry.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Waits between repetitions begin with this many milliseconds and double.
    pub pause_ms: u64,
    /// Most repetitions of one call.
    pub repetitions: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { pause_ms: 20, repetitions: 6 }
    }
}

/// How often it is looked whether a daemon that was asked to stop has gone.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// What hears of things that a person should know: a daemon was started, a lost call was resolved.
pub type Notice = Box<dyn Fn(&str) + Send + Sync>;

/// A caller of one store's daemon.
pub struct Client {
    folder: PathBuf,
    wire: Wire,
    start: Option<Start>,
    notice: Notice,
    retry: Retry,
}

/// What the daemon tells of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Info {
    /// `tenure`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol it speaks.
    pub protocol: u32,
    /// The oldest protocol that it still serves; only that one when absent.
    #[serde(default)]
    pub protocol_min: Option<u32>,
    /// The fleet's id.
    pub fleet: String,
    /// The fleet's incarnation.
    pub epoch: Epoch,
    /// Its process.
    pub pid: u32,
    /// Whether it is in use: leases live or calls are running.
    pub busy: bool,
}

/// An answer, read and as it came.
#[derive(Debug, Clone)]
pub struct Answered<T> {
    /// The answer.
    pub value: T,
    /// Its bytes.
    pub json: Vec<u8>,
}

impl Client {
    /// A caller of the daemon of this state folder. `start` says how to start one that does not run; without it
    /// a missing daemon is a failure.
    #[must_use]
    pub fn new(folder: &Path, start: Option<Start>, notice: Notice) -> Self {
        Self { folder: folder.to_owned(), wire: Wire::to(folder), start, notice, retry: Retry::default() }
    }

    /// The same caller with another way of repeating.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// The state folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells a person something.
    pub(crate) fn tell(&self, text: &str) {
        (self.notice)(text);
    }

    /// Asks the daemon about itself.
    pub fn info(&self) -> Result<Info, Failure> {
        let json = self.get("/api/v1/info")?;
        let info: Info = read(&json)?;
        if info.protocol < PROTOCOL && !info.busy {
            self.replace(&info)?;
            return read(&self.get("/api/v1/info")?);
        }
        if (info.protocol_min.unwrap_or(info.protocol)..=info.protocol).contains(&PROTOCOL) {
            return Ok(info);
        }
        Err(skew(&info).into())
    }

    /// Asks a question that is no operation, e.g. `/api/v1/audit`.
    pub fn get(&self, target: &str) -> Result<Vec<u8>, Failure> {
        let route = Route { method: "GET", target: target.to_owned(), body: None };
        self.exchange(&route, &[], CALL_PATIENCE)
    }

    /// Asks for an operation. Mutations of a session go through its file; see [`mutation`].
    pub fn call<O: Operation>(
        &self,
        operation: &O,
        session: Option<&Session>,
    ) -> Result<Answered<O::Answer>, Failure> {
        let input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
        let json = match (O::SPEC.effect, session) {
            (Effect::Write | Effect::Light, Some(session)) => {
                mutation::perform(self, session, &O::SPEC, &input)?
            }
            (Effect::Read, Some(session)) => {
                let caller = session.headers();
                let headers: Vec<(&str, &str)> =
                    caller.iter().map(|(name, value)| (*name, value.as_str())).collect();
                self.exchange(&route(&O::SPEC, &input), &headers, patience(O::SPEC.name))?
            }
            (Effect::Read, None) if O::SPEC.access == Access::Anyone => {
                self.exchange(&route(&O::SPEC, &input), &[], patience(O::SPEC.name))?
            }
            _ => {
                return Err(Refusal::new(
                    Code::SessionRequired,
                    format!("`{}` needs a session", O::SPEC.name),
                )
                .into());
            }
        };
        Ok(Answered { value: read(&json)?, json })
    }

    /// Sends a request until its outcome is known, at most so long.
    pub(crate) fn exchange(
        &self,
        route: &Route,
        headers: &[(&str, &str)],
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let protocol = PROTOCOL.to_string();
        let headers = [headers, &[("Tenure-Protocol", protocol.as_str())]].concat();
        let deadline = Instant::now() + patience;
        let mut last = Failure::cannot_tell("the daemon was not asked", "repeat the command");
        for repetition in 0..=self.retry.repetitions {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            match self.wire.send(route, &headers, left) {
                Ok(reply) => match interpret(reply) {
                    Err(Failure::Refused(refusal)) if refusal.code == Code::ProtocolMismatch => {
                        return Err(self.protocol_mismatch(*refusal));
                    }
                    Err(failure) if is_worth_repeating(&failure) => last = failure,
                    settled => return settled,
                },
                Err(Cut::Unreachable(error)) => {
                    last = self.unreachable(&error);
                    if let Some(start) = &self.start {
                        if autostart::ensure(&self.folder, start)? {
                            self.tell("started the daemon of this store");
                        }
                        continue;
                    }
                }
                Err(Cut::Uncertain(detail)) => {
                    last = Failure::cannot_tell(
                        detail,
                        "repeat the command; `tenure doctor` looks for the cause",
                    );
                }
            }
            let pause = clock::jittered(self.retry.pause_ms << repetition);
            std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
        }
        Err(last)
    }

    fn unreachable(&self, error: &std::io::Error) -> Failure {
        Failure::cannot_tell(
            format!("no daemon answers in {}: {error}", self.folder.display()),
            "run `tenure doctor`; any ordinary command starts the daemon of the local store",
        )
    }

    fn protocol_mismatch(&self, refusal: Refusal) -> Failure {
        match self.get("/api/v1/info").and_then(|json| read::<Info>(&json)) {
            Ok(info) => skew(&info).into(),
            Err(_) => refusal.into(),
        }
    }

    /// Asks an idle older daemon to stop, and starts this version's.
    fn replace(&self, info: &Info) -> Result<(), Failure> {
        let Some(start) = &self.start else { return Err(skew(info).into()) };
        let stop =
            Route { method: "POST", target: "/api/v1/shutdown".to_owned(), body: Some("{}".to_owned()) };
        self.wire.send(&stop, &[], CALL_PATIENCE).ok();
        let deadline = Instant::now() + CALL_PATIENCE;
        while crate::transport::connect(&self.folder).is_ok() {
            if Instant::now() > deadline {
                return Err(skew(info).into());
            }
            std::thread::sleep(LOOK_PAUSE);
        }
        autostart::ensure(&self.folder, start)?;
        self.tell(&format!("replaced the idle daemon of version {}", info.version));
        Ok(())
    }
}

fn skew(info: &Info) -> Refusal {
    let mine = env!("CARGO_PKG_VERSION");
    Refusal::new(
        Code::ProtocolMismatch,
        format!(
            "the daemon {} (version {}) speaks protocol {}, this tenure {mine} speaks {PROTOCOL}",
            info.pid, info.version, info.protocol
        ),
    )
    .next(if info.protocol > PROTOCOL {
        format!("use tenure {} here", info.version)
    } else {
        "the older daemon is in use and was left alone: repeat the command when its leases have ended"
            .to_owned()
    })
}

/// How long a call may take in all.
pub(crate) fn patience(operation: &str) -> Duration {
    if operation.starts_with("import.") { IMPORT_PATIENCE } else { CALL_PATIENCE }
}

/// Whether the same request may be answered otherwise in a moment.
fn is_worth_repeating(failure: &Failure) -> bool {
    matches!(failure.code(), Code::CannotTell | Code::Overloaded)
}

/// Reads a reply's status and, where it is a refusal, its problem.
fn interpret(reply: Reply) -> Result<Vec<u8>, Failure> {
    if (200..300).contains(&reply.status) {
        // A body that was cut short is not an answer.
        return match serde_json::from_slice::<serde::de::IgnoredAny>(&reply.body) {
            Ok(_) => Ok(reply.body),
            Err(error) => Err(malformed(&error)),
        };
    }
    match serde_json::from_slice::<Problem>(&reply.body) {
        Ok(problem) => Err(Refusal::from(problem).into()),
        Err(_) => Err(Failure::cannot_tell(
            format!("the daemon answered with status {} and no reason", reply.status),
            "run `tenure doctor`: something else may listen on the socket, or the versions differ",
        )),
    }
}

fn malformed(error: &serde_json::Error) -> Failure {
    Failure::cannot_tell(
        format!("the daemon's answer cannot be read: {error}"),
        "run `tenure doctor`: something else may listen on the socket, or the versions differ",
    )
}

/// Reads an answer.
pub(crate) fn read<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|error| malformed(&error))
}
