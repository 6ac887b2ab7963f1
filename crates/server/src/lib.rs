//! Who listens: the HTTP surface of a fleet, and the private daemon that serves it on a Unix socket.
//!
//! Every route below [`wire::API`] follows from core's list of operations by generic code, and so does the OpenAPI
//! document. This crate decides nothing: it turns requests into operations with their envelope, hands them to the
//! engine, and turns answers and refusals into responses. It is the only place with async code.

pub mod daemon;
pub mod http;
pub mod mcp;
