//! The database that a server keeps its store in, as the server sees it.

use std::path::Path;

use serde::Deserialize;
use tenure_core::server_route::ServerRoute;
use tenure_core::wire;

use super::check::Check;
use crate::context::Context;
use crate::progress::Progress;
use crate::stop::Stop;

/// What a server says of its database.
#[derive(Deserialize)]
struct Checkup {
    database: String,
    place: String,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    name: String,
    ok: Option<bool>,
    found: String,
    next: Option<String>,
}

/// Whether the folder's server keeps its store elsewhere.
pub fn is_elsewhere(store: &Path) -> bool {
    store.join(wire::DATABASE_MARKER).is_file()
}

/// What the server found of its database.
pub fn checks(context: &Context) -> Result<Vec<Check>, Stop> {
    let progress = Progress::of(&context.screen, "the server looks at its database");
    let asked = context.client()?.get(ServerRoute::Database.path());
    drop(progress);
    let read = |bytes: Vec<u8>| serde_json::from_slice::<Checkup>(&bytes).map_err(|error| error.to_string());
    let checkup = match asked.map_err(|failure| failure.to_string()).and_then(read) {
        Ok(checkup) => checkup,
        Err(error) => return Ok(vec![Check::failed("database", error, "look at the server's log")]),
    };
    let mut checks = vec![Check::informs("database", format!("{}: {}", checkup.database, checkup.place))];
    checks.extend(checkup.findings.into_iter().map(Finding::check));
    Ok(checks)
}

impl Finding {
    fn check(self) -> Check {
        // The names of this version's checks; a newer server's others are told under one.
        let known = [
            "version",
            "writing",
            "encoding",
            "collation",
            "rights",
            "isolation",
            "durability",
            "standby",
            "pooling",
        ];
        let name = known.into_iter().find(|name| *name == self.name);
        let found = if name.is_some() { self.found } else { format!("{}: {}", self.name, self.found) };
        let name = match name {
            // Not the program's.
            Some("version") => "PostgreSQL",
            Some(name) => name,
            None => "database",
        };
        Check { name, ok: self.ok, found, next: self.next }
    }
}
