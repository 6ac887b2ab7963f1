//! What the client promises, checked against a fake daemon whose every reply the test decides.

mod at_least;
mod calls;
mod fake;
mod identities;
mod peers;
mod places;
mod resuming;
mod starting;
