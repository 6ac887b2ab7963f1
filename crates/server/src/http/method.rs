//! An operation's method in HTTP's terms.

use axum::routing::MethodFilter;
use tenure_core::operation::Method;

/// What the router lets through for a method.
pub(super) fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}
