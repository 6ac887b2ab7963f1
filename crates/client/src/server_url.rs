//! The address of a server: a scheme, a host and a port, and nothing that could be mistaken for something else.

use std::net::IpAddr;
use std::str::FromStr;

use ureq::http::uri::Authority;

/// A server's address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// Whether it is spoken to over TLS.
    pub is_encrypted: bool,
    /// Its name or address, in lower case; an IPv6 address without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl FromStr for ServerUrl {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule =
            "it is no URL such as https://tenure.example or http://127.0.0.1:7070, without user and path";
        let (scheme, rest) = text.split_once("://").ok_or(rule)?;
        let authority: Authority = rest.strip_suffix('/').unwrap_or(rest).parse().map_err(|_| rule)?;
        let (is_encrypted, usual) = match scheme {
            "https" => (true, 443),
            "http" => (false, 80),
            // open set: schemes are what people write
            _ => return Err(rule),
        };
        let bare = authority.host().trim_start_matches('[').trim_end_matches(']');
        let port = match authority.port_u16() {
            Some(port) => port,
            None if authority.as_str() == authority.host() => usual,
            None => return Err(rule),
        };
        if bare.is_empty() || authority.as_str().contains('@') {
            return Err(rule);
        }
        let url = Self { is_encrypted, host: bare.to_ascii_lowercase(), port };
        if !url.is_encrypted && !url.is_this_machine() {
            return Err(
                "http:// is for this machine only, since others on the way could read the token; write https://",
            );
        }
        Ok(url)
    }
}

impl ServerUrl {
    fn is_this_machine(&self) -> bool {
        self.host == "localhost" || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// A file name that no other address has.
    #[must_use]
    pub fn file_name(&self) -> String {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        let host: String = self
            .host
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
            .collect();
        format!("{scheme}-{host}-{}", self.port)
    }
}

impl std::fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scheme, usual) = if self.is_encrypted { ("https", 443) } else { ("http", 80) };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match self.port == usual {
            true => write!(f, "{scheme}://{host}"),
            false => write!(f, "{scheme}://{host}:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling_and_a_file_name_of_its_own() {
        for (text, shown, file) in [
            ("https://Tenure.Example/", "https://tenure.example", "https-tenure.example-443"),
            ("https://tenure.example:443", "https://tenure.example", "https-tenure.example-443"),
            ("https://tenure.example:8443", "https://tenure.example:8443", "https-tenure.example-8443"),
            ("http://localhost:7070", "http://localhost:7070", "http-localhost-7070"),
            ("http://[::1]:7070", "http://[::1]:7070", "http-__1-7070"),
        ] {
            let url: ServerUrl = text.parse().expect(text);
            assert_eq!((url.to_string().as_str(), url.file_name().as_str()), (shown, file));
        }
    }

    #[test]
    fn what_is_no_plain_address_is_refused() {
        for wrong in [
            "",
            "tenure.example",
            "ftp://a",
            "https://",
            "https://a/b",
            "https://a?b",
            "https://u:p@a",
            "https://a:99999",
            "https://a b",
            "HTTPS://a",
        ] {
            assert!(wrong.parse::<ServerUrl>().is_err(), "{wrong}");
        }
        let clear = "http://tenure.example".parse::<ServerUrl>().expect_err("in the clear");
        assert!(clear.contains("https://"), "{clear}");
    }
}
