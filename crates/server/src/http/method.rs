//! An operation's method in HTTP's terms.

use axum::routing::MethodFilter;
use tenure_core::operation::Method;

/// A method as it is written.
pub(super) fn name(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Patch => "PATCH",
        Method::Delete => "DELETE",
    }
}

/// What the router lets through for a method.
pub(super) fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}
