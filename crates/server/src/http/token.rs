//! Who asks by the network: the token that a request carries, and whether it is one of ours. Its text is never quoted,
//! neither in answers nor in the log.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use tenure_core::model::ids::Digest;
use tenure_core::model::refusal::Refusal;
use tenure_core::token::Token;
use tenure_engine::Failure;

use super::app::App;

/// A token that is known. Requests that were let in carry it, and each operation is judged by it again.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bearer(pub(super) Digest);

/// Whether a request says who asks at all.
pub(super) fn is_given(headers: &HeaderMap) -> bool {
    headers.contains_key(header::AUTHORIZATION)
}

/// The token of a request, if somebody who may come in has it now.
pub(super) async fn judge(app: &Arc<App>, headers: &HeaderMap) -> Result<Option<Bearer>, Refusal> {
    // One that was cut or mistyped is nobody's, and costs no look into the store.
    let Some(hash) = bearer(headers).and_then(|text| text.parse::<Token>().ok()).map(|token| token.hash())
    else {
        return Ok(None);
    };
    let known = app.blocking(move |app| app.engine.knows_token(&hash)).await?;
    let is_known = known.map_err(|error| app.refusal(Failure::CannotTell(error)))?;
    Ok(is_known.then_some(Bearer(hash)))
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
