//! The door between the network and every route: what a request must pass before anything of it is looked at.
//!
//! In this order: it names a host of ours, it comes from no foreign web page, it asks for something that everybody may
//! know, its address has not asked in vain too often, its token is known, what it asks for is not of this machine alone,
//! nobody can have read a password in it, and who asks has not written too often. Whoever does not pass hears why, and not one byte of what is coordinated
//! here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tenure_core::envelope::Envelope;
use tenure_core::model::ids::Digest;
use tenure_core::model::limits::{
    LOGIN_BURST, LOGIN_EVERY_MS, UNKNOWN_ADDRESSES, UNKNOWN_BURST, UNKNOWN_EVERY_MS,
};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::permission::{Permission, Standing, permission};
use tenure_core::operation::reporter::{EndReporter, RenewLease};
use tenure_core::operation::{Access, Operation, Spec};
use tenure_core::server_route::{Reach, ServerRoute};
use tenure_core::wire;

use super::app::App;
use super::bucket::Rate;
use super::forwarded::{self, Proxies};
use super::hosts::{HostName, Hosts, Origin};
use super::logins::{self, Login, LoginSecret, Look};
use super::problem::{RETRY_AFTER, Refused};
use super::token::Bearer;
use super::turns::Turns;
use super::writes::Writes;
use super::{help, response, token};

/// The other end of a connection by the network. Each request that comes by one carries it.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Whether the connection is encrypted up to here.
    pub is_encrypted: bool,
}

/// What is checked of every request by the network.
pub struct Door {
    hosts: Hosts,
    proxies: Proxies,
    /// Who asked without saying who it is.
    nameless: Turns<IpAddr>,
    /// Who asked with a token that nobody has.
    guessing: Turns<IpAddr>,
    /// Who has tried to log in with a browser.
    typing: Turns<IpAddr>,
    /// Who is known and has written.
    writes: Writes,
}

/// A request that was let in.
pub(super) struct Admitted {
    /// What of the answer may be seen.
    pub(super) view: View,
    /// By what the caller is known; absent for what everybody may know.
    pub(super) bearer: Option<Bearer>,
    /// The login that this is, if it is one.
    pub(super) login: Option<Login>,
}

/// How much whoever asks may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    /// What it asked for.
    Whole,
    /// Whether the server is well, and nothing of its store.
    Outline,
}

impl Door {
    /// A door for what listens on these addresses, where whoever is known may write so often in a second.
    #[must_use]
    pub fn new(
        listening: &[SocketAddr],
        names: Vec<HostName>,
        origins: Vec<Origin>,
        proxies: Proxies,
        writes_per_second: u32,
    ) -> Self {
        let of_logins = Rate { most: LOGIN_BURST, every: Duration::from_millis(LOGIN_EVERY_MS) };
        let rate = Rate { most: UNKNOWN_BURST, every: Duration::from_millis(UNKNOWN_EVERY_MS) };
        Self {
            hosts: Hosts::new(listening, names, origins),
            proxies,
            nameless: Turns::new(rate, UNKNOWN_ADDRESSES),
            guessing: Turns::new(rate, UNKNOWN_ADDRESSES),
            typing: Turns::new(of_logins, UNKNOWN_ADDRESSES),
            writes: Writes::new(writes_per_second),
        }
    }

    /// The names that are answered to and the origins that were named, for who checks them as well.
    pub(super) fn allowed(&self) -> (Vec<String>, Vec<String>) {
        self.hosts.allowed()
    }

    /// Lets a request in, or says why not. Neither its route nor its body has been looked at by then.
    pub(super) async fn admit(&self, app: &Arc<App>, parts: &Parts) -> Result<Admitted, Refused> {
        let peer = parts.extensions.get::<Peer>().expect("a connection by the network says whose it is");
        self.hosts.check(parts, peer.is_encrypted)?;
        if let Some(view) = everybody_may_see(&parts.method, parts.uri.path()) {
            return Ok(Admitted { view, bearer: None, login: None });
        }
        let address = forwarded::caller(self.proxies.client(peer.address, &parts.headers));
        if let Some(route) = page(&parts.method, parts.uri.path()) {
            if route == ServerRoute::Login {
                self.check_typing(peer, &parts.headers, address)?;
            }
            return Ok(Admitted { view: View::Whole, bearer: None, login: None });
        }
        let (bearer, login) = if logins::is_given(&parts.headers) {
            self.logged_in(app, parts, address).await?.unzip()
        } else {
            (self.known(app, parts, address).await?, None)
        };
        let Some(bearer) = bearer else {
            tracing::debug!(client = %address, is_given = token::is_given(&parts.headers), "somebody who is not known was refused");
            return Err(help::unauthenticated().into());
        };
        own_machine_only(parts.uri.path())?;
        if let Bearer::Reporter(_) = bearer {
            renews_only(parts.uri.path())?;
        }
        self.check_secrets(peer, &parts.headers)?;
        if !asks_only(&parts.method) {
            self.writes.take(&bearer, address, Instant::now()).map_err(|wait| {
                tracing::debug!(client = %address, "somebody who writes too often was refused");
                writes_too_often(wait)
            })?;
        }
        Ok(Admitted { view: View::Whole, bearer: Some(bearer), login })
    }

    /// The token of a request, if it is one of ours. Whoever asked in vain too often is not even judged: an answer would tell
    /// the right one.
    async fn known(&self, app: &Arc<App>, parts: &Parts, address: IpAddr) -> Result<Option<Bearer>, Refused> {
        if !token::is_given(&parts.headers) {
            self.nameless.take(&address, Instant::now()).map_err(limited)?;
            return Ok(None);
        }
        self.guessing.may_take(&address, Instant::now()).map_err(limited)?;
        let bearer = token::judge(app, &parts.headers).await?;
        if bearer.is_none() {
            self.guessing.take(&address, Instant::now()).map_err(limited)?;
        }
        Ok(bearer)
    }

    /// The login of a request, if it counts. A change has to come from a page that was told what it carries.
    async fn logged_in(
        &self,
        app: &Arc<App>,
        parts: &Parts,
        address: IpAddr,
    ) -> Result<Option<(Bearer, Login)>, Refused> {
        logins::own_pages_only(parts)?;
        let Some(secret) = LoginSecret::read(&parts.headers) else { return Ok(None) };
        self.guessing.may_take(&address, Instant::now()).map_err(limited)?;
        let Some(login) = logins::judge(app, secret.hash(), Look::Use).await? else {
            self.guessing.take(&address, Instant::now()).map_err(limited)?;
            return Ok(None);
        };
        if !asks_only(&parts.method) {
            logins::check_page(&parts.headers, &secret)?;
        }
        Ok(Some((Bearer::Login(secret.hash()), login)))
    }

    /// Refuses a login that others could read, and one of an address that has tried too often. Who looks at pages of this
    /// machine itself needs no encryption.
    fn check_typing(&self, peer: &Peer, headers: &HeaderMap, address: IpAddr) -> Result<(), Refused> {
        if !peer.is_encrypted && !self.is_own_proxy(peer) && !is_of_this_machine(headers) {
            let detail = "the connection that the password would come over is not encrypted";
            return Err(Refusal::new(Code::EncryptionRequired, detail).into());
        }
        self.typing.take(&address, Instant::now()).map_err(limited)
    }

    fn is_own_proxy(&self, peer: &Peer) -> bool {
        peer.address.to_canonical().is_loopback() && self.proxies.has(peer.address)
    }

    /// Refuses what a person types and somebody on the way can have read, and what only this machine's console prints.
    fn check_secrets(&self, peer: &Peer, headers: &HeaderMap) -> Result<(), Refusal> {
        if headers.contains_key(wire::CONSOLE) {
            let detail = "the server's one-time secret is for its own machine";
            return Err(Refusal::new(Code::LocalOnly, detail));
        }
        let is_typed = headers.contains_key(wire::PASSWORD) || headers.contains_key(wire::NEW_PASSWORD);
        if is_typed && !peer.is_encrypted && !self.is_own_proxy(peer) {
            let detail = "the connection that the password came over is not encrypted";
            return Err(Refusal::new(Code::EncryptionRequired, detail));
        }
        Ok(())
    }
}

/// Puts into the envelope by what the caller of a request is known: a token or a reporter's secret by the network. On the
/// socket the operating system vouches for everybody, and a reporter's secret says that nobody else asks.
pub(super) fn name_caller(spec: &Spec, parts: &Parts, envelope: &mut Envelope) -> Result<(), Refusal> {
    let is_by_network = parts.extensions.get::<Peer>().is_some();
    match (is_by_network, parts.extensions.get::<Bearer>()) {
        (_, Some(Bearer::Token(hash))) => envelope.token = Some(*hash),
        (_, Some(Bearer::Reporter(hash))) => envelope.reporter = Some(*hash),
        // What only people may do asks besides how long ago they logged in.
        (_, Some(Bearer::Login(_))) => {
            let login = parts.extensions.get::<Login>().filter(|_| spec.access.role().is_none());
            envelope.authentication = login.map(Login::as_proven);
            (envelope.caller, envelope.fence) = (None, None);
        }
        (true, None) => return Err(help::unauthenticated()),
        (false, None) => {
            if let Some(Bearer::Reporter(hash)) = token::read(&parts.headers) {
                envelope.reporter = Some(hash);
            }
        }
    }
    if spec.access == Access::Reporter {
        // Who renews is the reporter alone, whatever else came with the request.
        (envelope.caller, envelope.fence) = (None, None);
    }
    Ok(())
}

/// The token that a request came with by the network, for what no reporter may ask. There is none on the socket.
pub(super) fn token_of(parts: &Parts) -> Result<Option<Digest>, Refusal> {
    let is_by_network = parts.extensions.get::<Peer>().is_some();
    let judged = parts.extensions.get::<Bearer>().copied();
    match judged.or_else(|| token::read(&parts.headers).filter(|_| !is_by_network)) {
        Some(Bearer::Reporter(_)) => Err(renews_one_lease()),
        // Tools are for agents.
        Some(Bearer::Login(_)) => Err(help::unauthenticated()),
        Some(Bearer::Token(hash)) => Ok(is_by_network.then_some(hash)),
        None if is_by_network => Err(help::unauthenticated()),
        None => Ok(None),
    }
}

/// Refuses what a reporter's secret does not open, before anything else of the request is looked at. By the network its bearer
/// has been judged by now, and on the socket it says by itself that nobody else asks.
pub(super) fn check_reporter(spec: &Spec, headers: &HeaderMap) -> Result<(), Refusal> {
    match (token::read(headers), permission(spec, Standing::Reporter)) {
        (Some(Bearer::Reporter(_)), Permission::Refused(code)) => {
            let detail = format!("`{}` is not for a reporter, whose secret renews one lease", spec.name);
            Err(Refusal::new(code, detail))
        }
        (Some(Bearer::Reporter(_)), Permission::Granted | Permission::If(_))
        | (Some(Bearer::Token(_) | Bearer::Login(_)) | None, _) => Ok(()),
    }
}

/// The login that a request came with.
pub(super) fn login_of(parts: &Parts) -> Option<Digest> {
    match parts.extensions.get::<Bearer>() {
        Some(Bearer::Login(hash)) => Some(*hash),
        Some(Bearer::Token(_) | Bearer::Reporter(_)) | None => None,
    }
}

/// Refuses whoever is not logged in any more.
pub(super) async fn check_login_counts(app: &Arc<App>, login: Digest) -> Result<(), Refusal> {
    let counts = logins::judge(app, login, Look::Glance).await?;
    counts.map(drop).ok_or_else(help::unauthenticated)
}

/// Refuses what a login in a browser does not open, before anything else of the request is looked at.
pub(super) fn check_login(spec: &Spec, parts: &Parts) -> Result<(), Refusal> {
    match (parts.extensions.get::<Login>(), permission(spec, Standing::Browser)) {
        (Some(_), Permission::Refused(code)) => {
            let detail = format!("`{}` is not for a person who has logged in with a browser", spec.name);
            Err(Refusal::new(code, detail).next("do it on the command line"))
        }
        (Some(_), Permission::Granted | Permission::If(_)) | (None, _) => Ok(()),
    }
}

/// Refuses all that a reporter's secret does not open, before anything of it is looked at.
fn renews_only(path: &str) -> Result<(), Refusal> {
    let route = path.strip_prefix(wire::API).unwrap_or_default();
    if [RenewLease::SPEC.path, EndReporter::SPEC.path].contains(&route) {
        return Ok(());
    }
    Err(renews_one_lease())
}

fn renews_one_lease() -> Refusal {
    Refusal::new(Code::ReporterLimited, "the secret of a reporter renews one lease, and does not open this")
}

/// Refuses what is done to the server itself, for whoever has a token.
fn own_machine_only(path: &str) -> Result<(), Refusal> {
    let route = ServerRoute::at(path);
    match route.filter(|route| route.reach() == Reach::OwnMachine) {
        Some(route) => {
            let detail = format!("{route} is for the server's own machine, by its socket");
            Err(Refusal::new(Code::LocalOnly, detail))
        }
        None => Ok(()),
    }
}

/// What is told to whoever asks: that the server is there and well, its version, and how to get in.
fn everybody_may_see(method: &Method, path: &str) -> Option<View> {
    let route = ServerRoute::at(path).filter(|route| route.reach() == Reach::Everybody)?;
    if method.as_str() != route.method().as_str() {
        return None;
    }
    Some(if route == ServerRoute::Ready { View::Outline } else { View::Whole })
}

/// The page that is asked for, or sends something.
fn page(method: &Method, path: &str) -> Option<ServerRoute> {
    let route = ServerRoute::at(path).filter(|route| route.reach() == Reach::Browser)?;
    (method.as_str() == route.method().as_str()).then_some(route)
}

/// Whether the host of a request is a name that a machine has for itself.
fn is_of_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1", "[::1]"].contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a method changes nothing, whatever is asked for by it.
fn asks_only(method: &Method) -> bool {
    [Method::GET, Method::HEAD].contains(method)
}

fn writes_too_often(wait: Duration) -> Refused {
    let seconds = wait.as_secs() + 1;
    let detail =
        format!("more was written lately than a caller by the network may; ask again after {seconds} s");
    Refusal::new(Code::RateLimited, detail)
        .next(format!("wait {seconds} s, and send the same request again"))
        .next("if this comes again: look for a loop that never rests; an administrator can raise the limit with `tenure serve --writes-per-second`")
        .fact(RETRY_AFTER, seconds)
        .into()
}

fn limited(wait: Duration) -> Refused {
    let seconds = wait.as_secs() + 1;
    let detail = format!("this address has asked too often without being known; ask again after {seconds} s");
    Refusal::new(Code::RateLimited, detail).fact(RETRY_AFTER, seconds).into()
}

impl View {
    /// What of an answer may be seen.
    pub(super) fn of(self, answer: Response) -> Response {
        match self {
            Self::Whole => answer,
            Self::Outline if answer.status() == StatusCode::OK => response::answer(&json!({ "ready": true })),
            Self::Outline => {
                drop::<Body>(answer.into_body());
                Refused::from(Refusal::new(Code::CannotTell, "this server cannot write now")).into_response()
            }
        }
    }
}
