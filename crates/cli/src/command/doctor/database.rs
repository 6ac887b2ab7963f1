//! The database in the state folder: its size, that of its log, and who has it open.

use std::path::Path;

use tenure_client::processes::{self, Process};
use tenure_core::model::limits::counted;
use tenure_engine::OpenError;
use tenure_engine::chain::ChainReport;
use tenure_engine::store::driver::Class;
use tenure_engine::store::folder::{FolderError, LOG, beside, database_in};
use tenure_engine::store::schema_known;
use tenure_engine::store::sqlite::LOG_BYTES;
use tenure_engine::unserved::{self, Looked};

use super::check::Check;
use crate::render::joined;

/// The log is emptied down to its bound as soon as nobody reads in it. One that is so much larger has a reader that stays.
const LOG_BYTES_MAX: u64 = 2 * LOG_BYTES.unsigned_abs();

/// Not `log`: the daemon has one of another kind.
const LOG_NAME: &str = "database log";

/// How large the database is, and who has it open beside its daemon.
pub fn size(store: &Path, daemon: Option<u32>) -> Option<Check> {
    let database = database_in(store);
    let bytes = database.metadata().ok()?.len();
    let others = others(&database, daemon);
    let told = format!("{} KiB", bytes.div_ceil(1024));
    Some(if others.is_empty() {
        Check::informs("database", told)
    } else {
        Check::informs("database", format!("{told}, open in {}", list(&others)))
    })
}

/// Whether the log of the database stays within its bound.
pub fn log(store: &Path, daemon: Option<u32>) -> Option<Check> {
    let database = database_in(store);
    let bytes = beside(&database, LOG).metadata().ok()?.len();
    let told = format!("{} KiB of at most {} MiB", bytes.div_ceil(1024), LOG_BYTES >> 20);
    if bytes <= LOG_BYTES_MAX {
        return Some(Check::passed(LOG_NAME, told));
    }
    let found =
        format!("{told}: somebody reads and does not end, so the log cannot be folded into the database");
    let others = others(&database, daemon);
    let ended: Vec<u32> = if others.is_empty() {
        daemon.into_iter().collect()
    } else {
        others.iter().map(|process| process.pid).collect()
    };
    let next = match &ended[..] {
        [] => "run any command: the daemon folds the log into the database when it starts".to_owned(),
        pids => format!("kill {}", pids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")),
    };
    Some(Check::failed(LOG_NAME, found, next))
}

/// What a look at an unserved store found.
pub fn looked(looked: Result<Option<Looked>, OpenError>) -> Vec<Check> {
    match looked {
        Ok(None) => vec![Check::informs("pages", "no store is there yet")],
        Ok(Some(Looked { schema, fleet, record })) => {
            let pages = format!("all whole, schema {schema}, event {} of epoch {}", fleet.event, fleet.epoch);
            let mut checks = vec![Check::passed("pages", pages)];
            checks.extend(record.as_ref().map(chain));
            checks
        }
        Err(error) => vec![flawed(&error)],
    }
}

/// Whether every page of a store that a daemon serves is whole.
pub fn pages(store: &Path) -> Check {
    match unserved::pages(store) {
        Ok(()) => Check::passed("pages", "all whole"),
        Err(error) => flawed(&error),
    }
}

fn flawed(error: &OpenError) -> Check {
    match error {
        OpenError::Folder(error) => Check::failed("pages", error.to_string(), error.remedy()),
        OpenError::Store(_, error) => {
            let next = match error.class {
                Class::NewerSchema => "use the newer version of tenure",
                Class::Corrupt => "restore a backup: tenure restore FILE",
                Class::Busy
                | Class::Full
                | Class::ReadOnly
                | Class::Io
                | Class::Lost
                | Class::Sync
                | Class::Other => "look at the disk and the permissions of the state folder",
            };
            let known = schema_known();
            Check::failed("pages", format!("{error} (this tenure knows schema {known})"), next)
        }
        OpenError::Thread(error) => Check::failed("pages", error.to_string(), "repeat the command"),
    }
}

fn chain(report: &ChainReport) -> Check {
    match &report.flaw {
        None => Check::passed("record", format!("the chain of {} is whole", counted(report.events, "event"))),
        Some(flaw) => Check::failed(
            "record",
            format!("the chain of events is broken: {flaw}"),
            "keep the store's files as they are, and restore a backup: tenure restore FILE",
        ),
    }
}

/// Whether a daemon or somebody else has the store open.
pub fn is_in_use(looked: &Result<Option<Looked>, OpenError>) -> bool {
    matches!(looked, Err(OpenError::Folder(FolderError::InUse(_))))
}

/// Who has the database open, as words.
pub fn users(store: &Path) -> Option<String> {
    let users = others(&database_in(store), None);
    (!users.is_empty()).then(|| list(&users))
}

fn others(database: &Path, daemon: Option<u32>) -> Vec<Process> {
    let mut found = processes::having_open(database);
    found.retain(|process| Some(process.pid) != daemon && process.pid != std::process::id());
    found
}

fn list(processes: &[Process]) -> String {
    let named: Vec<String> =
        processes.iter().map(|process| format!("process {} ({})", process.pid, process.name)).collect();
    joined(&named)
}
