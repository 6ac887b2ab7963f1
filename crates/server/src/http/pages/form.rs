//! What a form of a page of ours carries.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, StatusCode, header};
use percent_encoding::percent_decode_str;
use tenure_core::model::limits::FORM_BYTES;

use super::super::logins::LoginSecret;
use super::super::problem::Refused;

/// How long a form may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The only type of forms that is read.
const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// Fields, and the login that they came with.
pub(super) struct Form {
    fields: BTreeMap<String, String>,
    /// The login of the browser, whether or not it counts.
    pub(super) login: Option<LoginSecret>,
}

impl Form {
    /// Reads a form. Each field comes once.
    pub(super) async fn read(headers: &HeaderMap, body: Body) -> Result<Self, Refused> {
        let refused = |status, detail: &str| Err(Refused::with_status(status, detail, "open the page anew"));
        let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if media_type != Some(MEDIA_TYPE) {
            return refused(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "this is for the form of a page of this server",
            );
        }
        let Ok(arrived) = tokio::time::timeout(TIMEOUT, to_bytes(body, FORM_BYTES)).await else {
            return refused(StatusCode::REQUEST_TIMEOUT, "the form did not arrive in time");
        };
        let Ok(bytes) = arrived else {
            return refused(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large, or ended early");
        };
        match fields(&bytes) {
            Some(fields) => Ok(Self { fields, login: LoginSecret::read(headers) }),
            None => refused(StatusCode::BAD_REQUEST, "the form cannot be read"),
        }
    }

    /// A field; empty where there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.fields.get(name).map(String::as_str).unwrap_or_default()
    }
}

fn fields(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut fields = BTreeMap::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=')?;
        if fields.insert(decoded(name)?, decoded(value)?).is_some() {
            return None;
        }
    }
    Some(fields)
}

fn decoded(text: &str) -> Option<String> {
    let spaced = text.replace('+', " ");
    Some(percent_decode_str(&spaced).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_once_and_as_they_were_typed() {
        let read = fields(b"name=ada&password=a+b%2Bc%26%C3%A9").expect("a form");
        assert_eq!((read["name"].as_str(), read["password"].as_str()), ("ada", "a b+c&é"));
        assert_eq!(fields(b""), Some(BTreeMap::new()));
        for wrong in [&b"name=a&name=b"[..], b"name", b"name=%ff", b"\xff=a"] {
            assert_eq!(fields(wrong), None, "{wrong:?}");
        }
    }
}
