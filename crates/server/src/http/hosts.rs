//! The names that a server goes by, and the web pages that may ask it. A page somewhere else can point a name of its own
//! at this machine and let a browser send requests; they carry that name, or the page's origin.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode, header};
use tenure_core::model::limits::excerpt;
use tenure_core::model::refusal::{Code, Refusal};

use super::problem::Refused;

/// A name that a server goes by: a host name or an address, without a port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostName(String);

/// Where a web page comes from: scheme, host, and the port if it is not the scheme's own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin(String);

/// What is allowed of both.
pub(super) struct Hosts {
    names: BTreeSet<HostName>,
    origins: BTreeSet<Origin>,
}

impl FromStr for HostName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(IpAddr::V6(address)) = text.parse() {
            return Ok(Self(format!("[{address}]")));
        }
        let rule = "it is no host name or address; a port is not part of it";
        let authority: Authority = text.parse().map_err(|_| rule)?;
        if authority.as_str() == authority.host() { Self::of(&authority).ok_or(rule) } else { Err(rule) }
    }
}

impl HostName {
    fn of(authority: &Authority) -> Option<Self> {
        let host = authority.host();
        (!host.is_empty() && !authority.as_str().contains('@')).then(|| Self(host.to_ascii_lowercase()))
    }

    fn address(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self(address.to_string()),
            IpAddr::V6(address) => Self(format!("[{address}]")),
        }
    }
}

impl FromStr for Origin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = "it is no origin such as https://tenure.example, without a path";
        let (scheme, rest) = text.split_once("://").ok_or(rule)?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        if !matches!(scheme, "http" | "https") {
            return Err(rule);
        }
        let authority: Authority = rest.parse().map_err(|_| rule)?;
        let host = HostName::of(&authority).ok_or(rule)?;
        if authority.port_u16().is_none() && authority.as_str() != authority.host() {
            return Err(rule);
        }
        Ok(Self::of(scheme == "https", &host, authority.port_u16()))
    }
}

impl Origin {
    fn of(is_encrypted: bool, host: &HostName, port: Option<u16>) -> Self {
        let (scheme, usual) = if is_encrypted { ("https", 443) } else { ("http", 80) };
        match port.filter(|port| *port != usual) {
            Some(port) => Self(format!("{scheme}://{}:{port}", host.0)),
            None => Self(format!("{scheme}://{}", host.0)),
        }
    }
}

impl Hosts {
    /// The names of this machine to itself, the addresses that are listened on, and those that were named.
    pub(super) fn new(listening: &[SocketAddr], names: Vec<HostName>, origins: Vec<Origin>) -> Self {
        let own = ["localhost", "127.0.0.1", "[::1]"].map(|name| HostName(name.to_owned()));
        let addresses = listening.iter().map(|address| address.ip().to_canonical());
        let addresses = addresses.filter(|address| !address.is_unspecified()).map(HostName::address);
        Self {
            names: own.into_iter().chain(addresses).chain(names).collect(),
            origins: origins.into_iter().collect(),
        }
    }

    /// The names, and the origins that were named: pages of this server itself are not among them.
    pub(super) fn allowed(&self) -> (Vec<String>, Vec<String>) {
        let origins = self.origins.iter().map(|Origin(origin)| with_port(origin));
        (self.names.iter().map(|HostName(name)| name.clone()).collect(), origins.collect())
    }

    /// Refuses a request to a name that is not this server's, and one of a page that may not ask it.
    pub(super) fn check(&self, parts: &Parts, is_encrypted: bool) -> Result<(), Refused> {
        let authority = named(&parts.headers)?;
        // A target may name a host as well; both are this server's, or the request means another.
        for authority in parts.uri.authority().into_iter().chain([&authority]) {
            if !HostName::of(authority).is_some_and(|name| self.names.contains(&name)) {
                let detail = format!("this server does not answer to {:?}", excerpt(authority.as_str()));
                return Err(Refusal::new(Code::HostRefused, detail).into());
            }
        }
        let mut origins = parts.headers.get_all(header::ORIGIN).iter();
        let (Some(origin), more) = (origins.next(), origins.next()) else { return Ok(()) };
        let own = HostName::of(&authority).map(|name| Origin::of(is_encrypted, &name, authority.port_u16()));
        let origin = origin.to_str().ok().and_then(|text| text.parse().ok());
        let is_allowed = |origin: &Origin| own.as_ref() == Some(origin) || self.origins.contains(origin);
        if more.is_none() && origin.is_some_and(|origin| is_allowed(&origin)) {
            return Ok(());
        }
        Err(Refusal::new(Code::OriginRefused, "the Origin of the request is not allowed here").into())
    }
}

/// An origin that says its port as well.
fn with_port(origin: &str) -> String {
    let (scheme, host) = origin.split_once("://").unwrap_or(("https", origin));
    let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    match (has_port, scheme) {
        (true, _) => origin.to_owned(),
        (false, "http") => format!("{origin}:80"),
        // open set: a scheme is a text, and an origin of ours is one of two
        (false, _) => format!("{origin}:443"),
    }
}

/// The host that a request names. It does so once.
fn named(headers: &HeaderMap) -> Result<Authority, Refused> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()?.parse().ok());
    match (host, hosts.next()) {
        (Some(host), None) => Ok(host),
        _ => Err(Refused::with_status(
            StatusCode::BAD_REQUEST,
            "the request does not name one host",
            "send one Host header",
        )),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn status(target: &str, headers: &[(&str, &str)]) -> u16 {
        let listening = ["127.0.0.1:80", "10.1.2.3:80", "[::]:80"].map(|text| text.parse().expect("one"));
        let names = vec!["Tenure.Example".parse().expect("a name")];
        let origins = vec!["https://pages.example/".parse().expect("an origin")];
        let hosts = Hosts::new(&listening, names, origins);
        let request =
            headers.iter().fold(Request::get(target), |request, (name, value)| request.header(*name, *value));
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let refused = match hosts.check(&parts, false) {
            Ok(()) => return 200,
            Err(refused) => refused,
        };
        refused.status.map_or(refused.refusal.code.status(), |status| status.as_u16())
    }

    #[test]
    fn a_server_answers_to_its_own_names_only() {
        for host in ["localhost", "LOCALHOST:7", "127.0.0.1:80", "[::1]:80", "10.1.2.3", "tenure.example:443"]
        {
            assert_eq!(status("/", &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "localhost.", "localhost.evil.example", "0.0.0.0", "[::]", "x@localhost"]
        {
            assert_eq!(status("/", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status("/", &[]), 400);
        assert_eq!(status("/", &[("host", "localhost"), ("host", "localhost")]), 400);
        assert_eq!(status("/", &[("host", "local host")]), 400);
        assert_eq!(status("http://localhost/", &[("host", "localhost")]), 200);
        assert_eq!(status("http://evil.example/", &[("host", "localhost")]), 421);
        assert_eq!(status("http://localhost/", &[("host", "evil.example")]), 421);
    }

    #[test]
    fn a_page_of_another_origin_is_refused() {
        let with = |host, origin| status("/", &[("host", host), ("origin", origin)]);
        assert_eq!(with("localhost:7", "http://localhost:7"), 200);
        assert_eq!(with("localhost:80", "http://localhost"), 200);
        assert_eq!(with("localhost:7", "https://pages.example"), 200);
        for origin in [
            "null",
            "",
            "http://localhost",
            "http://localhost:8",
            "https://localhost:7",
            "http://localhost:7.evil.example",
            "http://evil.example",
            "https://pages.example:444",
            "http://pages.example",
        ] {
            assert_eq!(with("localhost:7", origin), 403, "{origin}");
        }
        let own = ("origin", "http://localhost");
        assert_eq!(status("/", &[("host", "localhost"), own, own]), 403);
    }

    #[test]
    fn names_and_origins_have_one_spelling() {
        for wrong in ["", "a:80", "a/b", "http://a", "a@b", "a b"] {
            assert!(wrong.parse::<HostName>().is_err(), "{wrong}");
        }
        assert_eq!("::1".parse::<HostName>(), "[::1]".parse());
        for wrong in [
            "",
            "a",
            "ftp://a",
            "https://a/b",
            "https://a?b",
            "https://",
            "https://a@b",
            "https://a:99999",
            "*",
        ] {
            assert!(wrong.parse::<Origin>().is_err(), "{wrong}");
        }
        assert_eq!("https://A:443".parse::<Origin>(), "https://a".parse());
    }
}
