//! The door between the network and every route: what a request must pass before anything of it is looked at.
//!
//! In this order: it names a host of ours, it comes from no foreign web page, it asks for something that everybody may
//! know, its address has not asked in vain too often, and its token is known. Whoever does not pass hears why, and not
//! one byte of what is coordinated here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::wire;

use super::app::App;
use super::forwarded::{self, Proxies};
use super::guesses::Guesses;
use super::hosts::{HostName, Hosts, Origin};
use super::problem::{RETRY_AFTER, Refused};
use super::token::Judged;
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
    nameless: Guesses,
    /// Who asked with a token that nobody has.
    guessing: Guesses,
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
    /// A door for what listens on these addresses.
    #[must_use]
    pub fn new(
        listening: &[SocketAddr],
        names: Vec<HostName>,
        origins: Vec<Origin>,
        proxies: Proxies,
    ) -> Self {
        let hosts = Hosts::new(listening, names, origins);
        Self { hosts, proxies, nameless: Guesses::default(), guessing: Guesses::default() }
    }

    /// Lets a request in, or says why not. Neither its route nor its body has been looked at by then.
    pub(super) async fn admit(&self, app: &Arc<App>, parts: &Parts) -> Result<View, Refused> {
        let peer = parts.extensions.get::<Peer>().expect("a connection by the network says whose it is");
        self.hosts.check(parts, peer.is_encrypted)?;
        if let Some(view) = everybody_may_see(&parts.method, parts.uri.path()) {
            return Ok(view);
        }
        let address = forwarded::caller(self.proxies.client(peer.address, &parts.headers));
        let is_given = token::is_given(&parts.headers);
        // Once too many were wrong a token is not even judged: an answer would tell the right one.
        let asked = if is_given { &self.guessing } else { &self.nameless };
        asked.ask(address, Instant::now()).map_err(limited)?;
        if is_given && token::judge(app, &parts.headers).await == Judged::Known {
            asked.forgive(address);
            return Ok(View::Whole);
        }
        tracing::debug!(client = %address, is_given, "somebody who is not known was refused");
        Err(help::unauthenticated().into())
    }
}

/// What is told to whoever asks: that the server is there and well, its version, and how to get in.
fn everybody_may_see(method: &Method, path: &str) -> Option<View> {
    if method != Method::GET {
        return None;
    }
    match path {
        "/healthz" | "/version" => Some(View::Whole),
        "/readyz" => Some(View::Outline),
        // open set: paths are what callers send
        _ => path.strip_prefix(wire::API).filter(|path| *path == wire::HELP).map(|_| View::Whole),
    }
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
