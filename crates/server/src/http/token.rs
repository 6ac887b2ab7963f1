//! Who asks by the network: the token that a request carries, and whether it is one of ours. Its text is never quoted,
//! neither in answers nor in the log.

use std::sync::Arc;

use axum::http::{HeaderMap, header};

use super::app::App;

/// What became of a request's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// Somebody who may come in has it.
    Known,
    /// Nobody has it, or it cannot be read.
    Unknown,
}

/// Whether a request says who asks at all.
pub(super) fn is_given(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
}

/// Judges the token of a request that has one.
pub(super) async fn judge(app: &Arc<App>, headers: &HeaderMap) -> Judged {
    match bearer(headers) {
        Some(token) if is_known(app, token).await => Judged::Known,
        Some(_) | None => Judged::Unknown,
    }
}

/// Whether somebody who may come in has this token. No token was ever given out by this version, so it knows none.
async fn is_known(_app: &Arc<App>, _token: &str) -> bool {
    false
}

/// The token itself. A request has one, of one kind.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let is_plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("Bearer") && is_plain).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().expect("a header"));
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn a_token_comes_once_and_as_a_bearer_of_it() {
        assert_eq!(read(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&["bearer abc"]).as_deref(), Some("abc"));
        for wrong in [
            &[][..],
            &["Bearer"],
            &["Bearer "],
            &["Bearer  a"],
            &["Bearer a b"],
            &["Basic a"],
            &["Bearer a"; 2],
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }
}
