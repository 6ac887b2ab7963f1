//! Who asks: the token, or the reporter's secret, that a request carries, and whether it is one of ours. Its text is never
//! quoted, neither in answers nor in the log.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use tenure_core::model::ids::Digest;
use tenure_core::model::refusal::Refusal;
use tenure_core::token::{ReporterSecret, Token};
use tenure_engine::Failure;

use super::app::App;

/// By what a caller is known: the hash of it. Requests that were let in carry it, and each operation is judged by it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bearer {
    /// A token of an agent or a machine.
    Token(Digest),
    /// The secret of a reporter, which renews one attempt and opens nothing else.
    Reporter(Digest),
    /// The login of a person in a browser.
    Login(Digest),
}

/// Whether a request says who asks at all.
pub(super) fn is_given(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
}

/// What a request carries, by its text alone. One that was cut or mistyped is nobody's.
pub(super) fn read(headers: &HeaderMap) -> Option<Bearer> {
    let text = bearer(headers)?;
    let token = || text.parse::<Token>().ok().map(|token| Bearer::Token(token.hash()));
    text.parse::<ReporterSecret>().ok().map(|secret| Bearer::Reporter(secret.hash())).or_else(token)
}

/// The token of a request, if somebody who may come in has it now.
pub(super) async fn judge(app: &Arc<App>, headers: &HeaderMap) -> Result<Option<Bearer>, Refusal> {
    // What is nobody's by its text costs no look into the store.
    let Some(bearer) = read(headers) else { return Ok(None) };
    let known = app.blocking(move |app| match &bearer {
        Bearer::Token(hash) => app.engine.knows_token(hash),
        Bearer::Reporter(hash) => app.engine.knows_reporter(hash),
        // It comes in a cookie, and is judged by whoever keeps logins.
        Bearer::Login(_) => Ok(false),
    });
    let is_known = known.await?.map_err(|error| app.refusal(Failure::CannotTell(error)))?;
    Ok(is_known.then_some(bearer))
}

/// The token of a request, whether or not somebody has it.
pub(super) fn text(headers: &HeaderMap) -> Option<Token> {
    bearer(headers).and_then(|text| text.parse().ok())
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

    fn text_of(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::AUTHORIZATION, value.parse().expect("a header"));
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn a_token_comes_once_and_as_a_bearer_of_it() {
        assert_eq!(text_of(&["Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(text_of(&["bearer abc"]).as_deref(), Some("abc"));
        for wrong in [
            &[][..],
            &["Bearer"],
            &["Bearer "],
            &["Bearer  a"],
            &["Bearer a b"],
            &["Basic a"],
            &["Bearer a"; 2],
        ] {
            assert_eq!(text_of(wrong), None, "{wrong:?}");
        }
    }
}
