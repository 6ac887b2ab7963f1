//! Reading an export as it comes, line by line, and knowing whether it is whole.

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;

use serde_json::json;
use tenure_core::model::export::{Seal, read_end};
use tenure_core::model::ids::{Anchor, Digest, ProjectKey};
use tenure_core::server_route::ServerRoute;
use tenure_core::wire;

use crate::call::Client;
use crate::failure::Failure;
use crate::route::Route;

/// A line of an export on its way.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The line, with its end unless it was cut off.
    pub line: &'a [u8],
    /// How many bytes have come, this line included.
    pub done: u64,
    /// Of how many.
    pub all: u64,
}

/// An export that was read to its end, and is what its last line vouches for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whole {
    /// How many lines it has.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: Digest,
    /// Where the record ended.
    pub anchor: Option<Anchor>,
}

impl Client {
    /// Asks for an export of some projects, or of all, and calls `each` with every line, until it breaks off: then there is
    /// nothing to tell. Lines that came from a connection that was cut are not an export, and that is a failure.
    pub fn export(
        &self,
        projects: &[ProjectKey],
        each: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Option<Whole>, Failure> {
        let route = Route::of_the_server(ServerRoute::Export, &json!({ "project": projects }))?;
        let stream = self.open(&route, wire::JSON_LINES, true)?;
        let anchor = stream.anchor;
        let all = stream.bytes.unwrap_or_default();
        let mut lines = BufReader::new(stream.reader);
        let (mut seal, mut done, mut line) = (Seal::default(), 0, Vec::new());
        loop {
            line.clear();
            let read = lines.read_until(b'\n', &mut line);
            let cut = |why: &str| {
                Failure::cannot_tell(format!("the export was cut off: {why}"), "repeat the command")
            };
            let came = read.map_err(|error| cut(&error.to_string()))?;
            if came == 0 {
                return Err(cut("its last line is missing"));
            }
            done += came as u64;
            let is_end = read_end(&line).is_some_and(|end| end == seal.clone().end());
            if each(Piece { line: &line, done, all }).is_break() {
                return Ok(None);
            }
            seal.add(&line);
            if is_end && lines.fill_buf().is_ok_and(<[u8]>::is_empty) {
                let end = seal.end();
                return Ok(Some(Whole { lines: end.lines, bytes: done, sha256: end.sha256, anchor }));
            }
        }
    }
}
