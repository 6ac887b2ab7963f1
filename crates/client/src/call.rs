//! One call: sent, repeated while its outcome is uncertain, and read strictly.
//!
//! A repetition is always the same request with the same operation id, so it can have no second effect. What never
//! got a whole answer ends as [`Failure::CannotTell`].

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tenure_core::model::ids::EventCursor;
use tenure_core::model::refusal::{Code, Problem, Refusal};
use tenure_core::operation::Spec;
use tenure_core::server_route::ServerRoute;
use tenure_core::token::ReporterSecret;
use tenure_core::wire;

use crate::autostart::{self, Start};
use crate::failure::Failure;
use crate::info::Info;
use crate::pause::{Pause, Steps};
use crate::place::{self, Place, Server};
use crate::private;
use crate::route::Route;
use crate::token::{self, Token};
use crate::transport::{Cut, Reply, Stream, Wire};

/// How long one call may take, its repetitions included.
const CALL_PATIENCE: Duration = Duration::from_secs(20);
/// The same for the import of a large file, for a backup, and for the beginning of an export.
const LONG_PATIENCE: Duration = Duration::from_secs(300);
/// Longest rest between two repetitions of one call, unless more is stated.
const REST_MAX: Duration = Duration::from_secs(2);
/// What to do about an answer that no coordinator of ours would give.
const STRANGER: &str = "run `tenure doctor`: something else may listen on the socket, or the versions differ";
/// How often it is looked whether a daemon that was asked to stop has gone.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// How a call is repeated; tests may hurry.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Rests between repetitions begin with this many milliseconds and double.
    pub pause_ms: u64,
    /// Most repetitions of one call.
    pub repetitions: u32,
}

impl Default for Retry {
    fn default() -> Self {
        Self { pause_ms: 20, repetitions: 6 }
    }
}

impl Retry {
    fn steps(self) -> Steps {
        Steps { first: Duration::from_millis(self.pause_ms), factor: 2, cap: REST_MAX }
    }
}

/// What hears of things that a person should know: a daemon was started, a lost call was resolved.
pub type Notice = Box<dyn Fn(&str) + Send + Sync>;

/// A caller of one store's daemon, or of a server.
pub struct Client {
    folder: PathBuf,
    /// The server, if it is none of this machine's own store.
    server: Option<Server>,
    wire: Wire,
    start: Option<Start>,
    notice: Notice,
    retry: Retry,
    patience: Duration,
    fleet: OnceLock<String>,
    /// The newest event that an answer told. No later question is answered from a state that lacks it, also where another
    /// server answers, so whoever has written reads it.
    newest: Mutex<Option<EventCursor>>,
}

/// What came back: the last event of the state that it is true of, and the answer or why there is none.
type Heard<T> = (Option<EventCursor>, Result<T, Failure>);

/// A call without an answer.
#[derive(Debug)]
pub(crate) struct Unanswered {
    /// Why.
    pub failure: Failure,
    /// Whether it may have been carried out all the same.
    pub may_have_happened: bool,
}

/// What fails around a call, in the session's file for example, says nothing about the call itself.
impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Self {
        Self { failure, may_have_happened: true }
    }
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        unanswered.failure
    }
}

impl Client {
    /// A caller of the coordinator at this place. `start` says how a daemon of the local store is started.
    pub fn at(place: &Place, start: Option<Start>, notice: Notice) -> Result<Self, Failure> {
        match place {
            Place::Local(folder) => Ok(Self::new(folder, start, notice)),
            Place::Server(server) => Self::of_server(server.clone(), notice),
        }
    }

    /// A caller of the daemon of this state folder. `start` says how to start one that does not run; without it
    /// a missing daemon is a failure.
    #[must_use]
    pub fn new(folder: &Path, start: Option<Start>, notice: Notice) -> Self {
        Self::by(Wire::to(folder), folder, None, start, notice)
    }

    /// A caller of a server on the network.
    fn of_server(server: Server, notice: Notice) -> Result<Self, Failure> {
        let token = token::read(&server.folder, &server.url)?;
        Self::with_token(server, token, notice)
    }

    /// The same with a token that is not kept yet.
    pub fn with_token(server: Server, token: Option<Token>, notice: Notice) -> Result<Self, Failure> {
        let authorities = server.authorities.as_ref().map(|setting| Path::new(&setting.value));
        let wire = Wire::to_server(&server.url, authorities, token)?;
        let folder = server.folder.clone();
        Ok(Self::by(wire, &folder, Some(server), None, notice))
    }

    fn by(wire: Wire, folder: &Path, server: Option<Server>, start: Option<Start>, notice: Notice) -> Self {
        Self {
            folder: folder.to_owned(),
            server,
            wire,
            start,
            notice,
            retry: Retry::default(),
            patience: Duration::MAX,
            fleet: OnceLock::new(),
            newest: Mutex::default(),
        }
    }

    /// The same caller as a reporter: known by this secret alone, also where a token was.
    pub(crate) fn reporting(self, secret: &ReporterSecret) -> Self {
        Self { wire: self.wire.known_by(Token::of_reporter(secret)), ..self }
    }

    /// The same caller with another way of repeating.
    #[must_use]
    pub fn with_retry(self, retry: Retry) -> Self {
        Self { retry, ..self }
    }

    /// The same caller for one who cannot wait longer than this for anything.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// The state folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells a person something.
    /// The server on the network that is called, if it is one.
    pub(crate) fn server(&self) -> Option<&Server> {
        self.server.as_ref()
    }

    pub(crate) fn tell(&self, text: &str) {
        (self.notice)(text);
    }

    /// Asks the daemon about itself. An idle older one that does not understand this client is replaced first.
    pub fn info(&self) -> Result<Info, Failure> {
        let mut info: Info = read(&self.get(ServerRoute::Info.path())?)?;
        if info.protocol < wire::PROTOCOL && !info.serves_us() && !info.busy {
            self.replace(&info)?;
            info = read(&self.get(ServerRoute::Info.path())?)?;
        }
        if info.serves_us() { Ok(info) } else { Err(info.misfit().into()) }
    }

    /// The id of the store's fleet: as its folder tells, or as its daemon does.
    pub fn fleet(&self) -> Result<&str, Failure> {
        if let Some(fleet) = self.fleet.get() {
            return Ok(fleet);
        }
        let noted = match self.server {
            // The folder's own store is another fleet.
            Some(_) => None,
            None => private::read_own(&self.folder.join(wire::FLEET_MARKER), private::SMALL_FILE_BYTES).ok(),
        };
        let fleet = match noted.and_then(|noted| String::from_utf8(noted).ok()) {
            Some(noted) if !noted.trim().is_empty() => noted.trim().to_owned(),
            _ => self.info()?.fleet,
        };
        Ok(self.fleet.get_or_init(|| fleet))
    }

    /// Asks a question that is no operation, e.g. `/api/v1/audit`.
    pub fn get(&self, target: &str) -> Result<Vec<u8>, Failure> {
        Ok(self.exchange(&question(target), &[], CALL_PATIENCE)?)
    }

    /// Asks the local daemon for a backup, as an absolute path and whether an earlier backup is replaced.
    pub fn backup(&self, file: &str, replace: bool) -> Result<Vec<u8>, Failure> {
        let target = ServerRoute::Backup.path().to_owned();
        let body = serde_json::json!({ "file": file, "replace": replace }).to_string();
        let route = Route { method: "POST", target, body: Some(body), is_question: false };
        self.exchange(&route, &[], LONG_PATIENCE).map_err(|unanswered| of_backup(unanswered, file))
    }

    /// Sends a request until its outcome is known, at most so long.
    pub(crate) fn exchange(
        &self,
        route: &Route,
        headers: &[(&str, &str)],
        patience: Duration,
    ) -> Result<Vec<u8>, Unanswered> {
        let start = self.start.as_ref();
        let patience = patience.min(self.patience);
        self.persist(route, patience, start, self.retry.repetitions, |left| {
            self.send(route, headers, |headers| {
                let reply = self.wire.send(route, headers, left)?;
                Ok((reply.at, interpret(reply)))
            })
        })
    }

    /// Sends a request, a question with the newest event that was heard of. Where that is of an epoch that is over, as the
    /// refusal tells, the question is asked of the present one.
    fn send<T>(
        &self,
        route: &Route,
        headers: &[(&str, &str)],
        send: impl Fn(&[(&str, &str)]) -> Result<Heard<T>, Cut>,
    ) -> Result<Result<T, Failure>, Cut> {
        loop {
            let wanted = self.newest().filter(|_| route.is_question);
            let text = wanted.map(|wanted| wanted.to_string());
            let mut headers = with_protocol(headers);
            headers.extend(text.as_deref().map(|text| (wire::AT_LEAST, text)));
            let (at, answer) = send(&headers)?;
            self.hear(at);
            let is_over = answer.as_ref().is_err_and(|failure| failure.code() == Code::EpochChanged);
            // A refusal that comes from the present epoch is about something else, and stays.
            let is_later =
                wanted.zip(self.newest()).is_some_and(|(wanted, newest)| newest.epoch > wanted.epoch);
            if !is_over || !is_later {
                return Ok(answer);
            }
        }
    }

    /// The newest event that was heard of: who goes on with another server tells it to the client of that one.
    pub fn newest(&self) -> Option<EventCursor> {
        *self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps in mind an event that was heard of. Later questions are answered from states that have it.
    pub fn hear(&self, at: Option<EventCursor>) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        *newest = (*newest).max(at);
    }

    /// Sends a question whose answer is read as it comes, and is of this media type. `starts` says whether a daemon is
    /// started if none runs; without that it is asked once, and whoever asks rests as it likes.
    pub(crate) fn open(&self, route: &Route, media: &str, starts: bool) -> Result<Stream, Failure> {
        let start = self.start.as_ref().filter(|_| starts);
        let patience = if media == wire::EVENT_STREAM { CALL_PATIENCE } else { LONG_PATIENCE };
        let repetitions = if starts { self.retry.repetitions } else { 0 };
        let opened = self.persist(route, patience, start, repetitions, |left| {
            self.send(route, &[("Accept", media)], |headers| {
                Ok(match self.wire.open(route, headers, media, left)? {
                    Ok(stream) => (stream.at, Ok(stream)),
                    Err(reply) => (reply.at, Err(refused(&reply))),
                })
            })
        });
        Ok(opened?)
    }

    /// Sends a request until its outcome is known, at most so long and so often. A stated wait that is longer ends it.
    fn persist<T>(
        &self,
        route: &Route,
        patience: Duration,
        start: Option<&Start>,
        repetitions: u32,
        send: impl Fn(Duration) -> Result<Result<T, Failure>, Cut>,
    ) -> Result<T, Unanswered> {
        let deadline = Instant::now() + patience;
        let mut may_have_happened = false;
        let mut last = Failure::cannot_tell("the daemon was not asked", "repeat the command");
        let mut pause = Pause::new(self.retry.steps());
        let mut repetitions = 0..repetitions;
        let mut is_asked_who = false;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let unanswered = |failure| Unanswered { failure, may_have_happened };
            match send(left) {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(failure)) if failure.code() == Code::ProtocolMismatch && !is_info(route) => {
                    // An idle older daemon is replaced by that question; any other says who does not fit.
                    self.info().map_err(unanswered)?;
                    last = failure;
                    if !std::mem::replace(&mut is_asked_who, true) || repetitions.next().is_some() {
                        continue;
                    }
                    break;
                }
                Ok(Err(failure)) if failure.is_decided() => return Err(unanswered(failure)),
                Ok(Err(failure)) => {
                    may_have_happened |= failure.code() == Code::CannotTell;
                    last = failure;
                }
                Err(Cut::Unreachable(error)) => {
                    last = self.unreachable(&error);
                    // A socket or a certificate of somebody else is not another one in a moment.
                    if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidData) {
                        return Err(unanswered(last));
                    }
                    if let Some(start) = start {
                        if autostart::ensure(&self.folder, start).map_err(unanswered)? {
                            self.tell("started the daemon of this store");
                        }
                        if repetitions.next().is_some() {
                            continue;
                        }
                        break;
                    }
                }
                Err(Cut::Uncertain(detail)) => {
                    may_have_happened = true;
                    let next = self.server.as_ref().map_or(place::AFTER_A_CUT, Server::after_a_cut);
                    last = Failure::cannot_tell(detail, next);
                }
            }
            if repetitions.next().is_none() {
                break;
            }
            let stated = last.retry_after();
            let rest = pause.rest(stated);
            let left = deadline.saturating_duration_since(Instant::now());
            if stated.is_some() && rest >= left {
                last = last.naming_the_wait();
                break;
            }
            std::thread::sleep(rest.min(left));
        }
        Err(Unanswered { failure: last, may_have_happened })
    }

    fn unreachable(&self, error: &std::io::Error) -> Failure {
        if let Some(server) = &self.server {
            let (named_by, url) = (&server.named_by, &server.url);
            return Failure::cannot_tell(
                format!("{named_by} names the server {url}, which cannot be reached: {error}"),
                place::ways_out(named_by),
            );
        }
        Failure::cannot_tell(
            format!("no daemon answers in {}: {error}", self.folder.display()),
            "run `tenure doctor`; any ordinary command starts the daemon of the local store",
        )
    }

    /// Ends the daemon after what it has begun, if one runs, and waits until it is gone. Whoever calls has seen to it that
    /// nobody starts another one.
    pub fn end_daemon(&self) -> Result<(), Failure> {
        let stop = shutdown(r#"{"force":true}"#);
        let deadline = Instant::now() + CALL_PATIENCE;
        while !matches!(self.wire.send(&stop, &[], CALL_PATIENCE), Err(Cut::Unreachable(_))) {
            if Instant::now() > deadline {
                return Err(Failure::cannot_tell(
                    "the daemon does not end",
                    "look at its log, and end its process",
                ));
            }
            std::thread::sleep(LOOK_PAUSE);
        }
        Ok(())
    }

    /// Asks an idle older daemon to stop, and starts this version's unless somebody else was faster.
    fn replace(&self, info: &Info) -> Result<(), Failure> {
        let Some(start) = &self.start else { return Err(info.misfit().into()) };
        let stop = shutdown("{}");
        if self.wire.send(&stop, &[], CALL_PATIENCE).is_ok_and(|reply| reply.status != 200) {
            return Err(info.misfit().into());
        }
        let deadline = Instant::now() + CALL_PATIENCE;
        let info_route = question(ServerRoute::Info.path());
        loop {
            match self.wire.send(&info_route, &[], CALL_PATIENCE) {
                Err(Cut::Unreachable(_)) => break,
                Ok(reply) if read::<Info>(&reply.body).is_ok_and(|now| now.pid != info.pid) => return Ok(()),
                _ if Instant::now() > deadline => return Err(info.misfit().into()),
                _ => std::thread::sleep(LOOK_PAUSE),
            }
        }
        autostart::ensure(&self.folder, start)?;
        self.tell(&format!("replaced the idle daemon of version {}", info.version));
        Ok(())
    }
}

/// A backup has no operation id: where an answer was lost, what stands in the file's place may be what was asked for,
/// or be about to be.
fn of_backup(Unanswered { failure, may_have_happened }: Unanswered, file: &str) -> Failure {
    let is_unclear = matches!(failure.code(), Code::AlreadyExists | Code::InUse) || !failure.is_decided();
    if may_have_happened && is_unclear {
        let detail = format!("an answer was lost, and {file} may be the backup: {failure}");
        Failure::cannot_tell(detail, "tenure backup verify FILE")
    } else {
        failure
    }
}

/// Headers with the version of the protocol that they are written in.
fn with_protocol<'a>(headers: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    static PROTOCOL: LazyLock<String> = LazyLock::new(|| wire::PROTOCOL.to_string());
    [headers, &[(wire::PROTOCOL_HEADER, PROTOCOL.as_str())]].concat()
}

fn is_info(route: &Route) -> bool {
    route.target == ServerRoute::Info.path()
}

/// Asks the daemon to go, idle or not as the body says.
fn shutdown(body: &str) -> Route {
    let target = ServerRoute::Shutdown.path().to_owned();
    Route { method: "POST", target, body: Some(body.to_owned()), is_question: false }
}

fn question(target: &str) -> Route {
    Route { method: "GET", target: target.to_owned(), body: None, is_question: false }
}

/// How long a call may take in all: longer where it says how long it waits.
pub(crate) fn patience(spec: &Spec, input: &Value) -> Duration {
    let waits = input.get("wait_ms").and_then(Value::as_u64).unwrap_or_default();
    let patience = if spec.is_import() { LONG_PATIENCE } else { CALL_PATIENCE };
    // A repetition waits anew.
    patience + 2 * Duration::from_millis(waits)
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
    Err(refused(&reply))
}

/// Reads the problem of a reply that is none of success.
fn refused(reply: &Reply) -> Failure {
    let failure: Failure = match serde_json::from_slice::<Problem>(&reply.body) {
        Ok(problem) => Refusal::from(problem).into(),
        Err(_) => Failure::cannot_tell(
            format!("the daemon answered with status {} and no reason", reply.status),
            STRANGER,
        ),
    };
    failure.stating(reply.retry_after)
}

pub(crate) fn malformed(error: &serde_json::Error) -> Failure {
    Failure::cannot_tell(format!("the daemon's answer cannot be read: {error}"), STRANGER)
}

/// Reads an answer.
pub(crate) fn read<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(json).map_err(|error| malformed(&error))
}
