//! The cookie of a login, and what a page carries beside it.

use std::fmt;

use axum::http::{HeaderMap, HeaderValue, header};
use tenure_core::model::ids::Digest;
use tenure_core::secret::digest;
use tenure_engine::store::driver::{Class, StoreError};

/// The cookie. With these first letters a browser takes it only over an encrypted connection (or from this machine itself),
/// of this host alone and for all of its paths.
const NAME: &str = "__Host-tenure";

/// What a browser keeps of a login: 32 drawn bytes. The server keeps its hash alone.
pub(in crate::http) struct LoginSecret(String);

impl fmt::Debug for LoginSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginSecret(…)")
    }
}

impl LoginSecret {
    /// A new one.
    pub(in crate::http) fn draw() -> Result<Self, StoreError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| StoreError::new(Class::Other, error.to_string()))?;
        Ok(Self(Digest(bytes).to_string()))
    }

    /// What a request carries. A browser sends it once.
    pub(in crate::http) fn read(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        let mut own = pairs.filter(|(name, _)| *name == NAME).map(|(_, value)| value);
        let (Some(value), None) = (own.next(), own.next()) else { return None };
        let is_drawn =
            value.len() == 64 && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_drawn.then(|| Self(value.to_owned()))
    }

    /// By what the server knows it.
    pub(in crate::http) fn hash(&self) -> Digest {
        digest("tenure login v1", &[self.0.as_bytes()])
    }

    /// What a page of this server carries, and no page of another site can know.
    pub(in crate::http) fn page_word(&self) -> String {
        digest("tenure page v1", &[self.0.as_bytes()]).to_string()
    }

    /// Whether this is it. Digests are compared, so the time tells nothing.
    pub(super) fn is_page_word(&self, given: &[u8]) -> bool {
        let hashed = |text: &[u8]| digest("tenure page word v1", &[text]);
        hashed(given) == hashed(self.page_word().as_bytes())
    }

    /// The header that gives it to a browser.
    pub(in crate::http) fn cookie(&self) -> HeaderValue {
        let text = format!("{NAME}={}; Path=/; Secure; HttpOnly; SameSite=Strict", self.0);
        let mut value = HeaderValue::from_str(&text).expect("digits and letters");
        value.set_sensitive(true);
        value
    }
}

/// The header that takes it away.
pub(in crate::http) fn cleared() -> HeaderValue {
    HeaderValue::from_static("__Host-tenure=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_comes_once_and_as_it_was_drawn() {
        let read = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, line.parse().expect("a header"));
            }
            LoginSecret::read(&headers).map(|secret| secret.hash())
        };
        let drawn = "ab".repeat(32);
        let own = format!("{NAME}={drawn}");
        assert_eq!(read(&[&own]), Some(LoginSecret(drawn.clone()).hash()));
        assert_eq!(read(&[&format!("a=b; {own}; c=d")]), read(&[&own]));
        for wrong in [
            vec![],
            vec![own.as_str(), &own],
            vec![&own[..own.len() - 1]],
            vec![&own.to_uppercase()],
            vec![&own[7..]],
            vec![&format!("{own}; {own}")],
        ] {
            assert_eq!(read(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_cookie_is_of_this_host_and_its_pages_word_does_not_tell_it() {
        let secret = LoginSecret::draw().expect("drawn");
        let cookie = secret.cookie();
        let text = cookie.to_str().expect("text");
        for part in ["__Host-tenure=", "Path=/", "Secure", "HttpOnly", "SameSite=Strict"] {
            assert!(text.contains(part), "{part}");
        }
        assert!(!text.contains("Domain") && cookie.is_sensitive());
        assert!(secret.is_page_word(secret.page_word().as_bytes()) && !secret.is_page_word(b""));
        assert!(!text.contains(&secret.page_word()) && secret.page_word() != secret.hash().to_string());
        assert_eq!(format!("{secret:?}"), "LoginSecret(…)");
    }
}
