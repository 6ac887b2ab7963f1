//! The daemon: who answers on the socket, whether it fits this program, and whether a write works.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use tenure_client::failure::Failure;
use tenure_client::info::Info;
use tenure_client::transport;
use tenure_core::model::time::WallTime;
use tenure_core::operation::record::ListEvents;
use tenure_core::wire;
use tenure_engine::store::driver::StoreError;

use super::check::Check;
use super::folder::open_to_others;
use crate::command::audit;
use crate::context::Context;
use crate::shell;
use crate::stop::Stop;

/// This program's version.
const MINE: &str = env!("CARGO_PKG_VERSION");

/// Who may be behind the socket before anybody is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before {
    /// Nobody was there, or somebody who takes connections.
    Usual,
    /// A socket that nobody listens on any more.
    Dead,
}

/// Looks at the socket without starting anybody.
pub fn before(store: &Path) -> Before {
    match transport::connect(store) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Before::Dead,
        Ok(_) | Err(_) => Before::Usual,
    }
}

/// What this program is.
pub fn version() -> Check {
    Check::informs("version", format!("tenure {MINE}, protocol {}", wire::PROTOCOL))
}

/// Who answers, and whether it is of this version.
pub fn daemon(info: &Result<Info, Failure>, store: &Path) -> Check {
    let info = match info {
        Ok(info) => info,
        Err(failure) => {
            let steps = failure.problem().next_actions;
            // Where nothing better is said, its log tells.
            let own = steps.into_iter().find(|step| !step.contains("`tenure doctor`"));
            let next = own.unwrap_or_else(|| read_log(store));
            return Check::failed("daemon", failure.to_string(), next);
        }
    };
    let told = format!("version {}, protocol {}, process {}", info.version, info.protocol, info.pid);
    if info.version == MINE {
        return Check::passed("daemon", told);
    }
    let found = format!("{told}: another version than this {MINE}, and they understand each other");
    Check::informs("daemon", found).with_next(Some(anew(info.pid)))
}

/// How the daemon's log is read, if there is something in it and for us.
fn read_log(store: &Path) -> String {
    let path = store.join(wire::LOG);
    let log = std::fs::File::open(&path).and_then(|log| log.metadata());
    if log.is_ok_and(|found| found.len() > 0) {
        format!("less {}", shell::path(&path))
    } else {
        "mend what else failed here, and look again".to_owned()
    }
}

/// How another daemon takes the place of this one.
fn anew(pid: u32) -> String {
    format!("kill {pid} (it ends after what it was asked; the next command starts this version's)")
}

/// Whether the daemon runs another executable than this one, as after an upgrade.
pub fn executable(info: &Info) -> Option<Check> {
    let link = format!("/proc/{}/exe", info.pid);
    let (theirs, mine) = (std::fs::metadata(&link).ok()?, std::fs::metadata("/proc/self/exe").ok()?);
    if (theirs.dev(), theirs.ino()) == (mine.dev(), mine.ino()) {
        return None;
    }
    let path = std::fs::read_link(&link).ok()?;
    let found = format!("the daemon runs another file than this command: {}", path.display());
    Some(Check::informs("executable", found).with_next(Some(anew(info.pid))))
}

/// Where the socket is, and that only its owner can use it.
pub fn socket(store: &Path, before: Before) -> Check {
    let path = store.join(wire::SOCKET);
    let shown = path.display();
    let failed = |found: String, next: String| Check::failed("socket", found, next);
    let found = match path.symlink_metadata() {
        Ok(found) => found,
        Err(error) => {
            return failed(format!("{shown}: {error}"), format!("ls -l {}", shell::path(&path)));
        }
    };
    if found.file_type().is_symlink() {
        return failed(format!("{shown} is a link"), format!("rm {}", shell::path(&path)));
    }
    if !found.file_type().is_socket() {
        return failed(format!("{shown} is no socket"), format!("mv {0} {0}.away", shell::path(&path)));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        let next = "name a folder of your own with TENURE_STATE_DIR".to_owned();
        return failed(format!("{shown} belongs to another user"), next);
    }
    if let Some(check) = open_to_others("socket", &path, &found, "600") {
        return check;
    }
    if let Err(error) = transport::connect(store) {
        return failed(format!("{shown}: nobody listens ({error})"), "tenure stats".to_owned());
    }
    let mut told = shown.to_string();
    if path.as_os_str().as_bytes().len() > transport::ADDRESS_BYTES {
        told.push_str(" (too long for an address, so it is reached through its folder)");
    }
    if before == Before::Dead {
        told.push_str(" (a daemon that died had left a dead one; it was replaced)");
    }
    Check::passed("socket", told)
}

/// Whether a write works now.
pub fn write(store: &Path, context: &Context) -> Result<Check, Stop> {
    Ok(match context.client()?.get("/readyz") {
        Ok(_) => Check::passed("write", "a write probe was stored"),
        Err(failure) => {
            // A damaged store is told as one; of everything else the log tells more.
            let own = failure.problem().next_actions.into_iter().find(|step| step == StoreError::DAMAGED);
            Check::failed("write", failure.to_string(), own.unwrap_or_else(|| read_log(store)))
        }
    })
}

/// Whether the chain of events is whole.
pub fn record(context: &Context) -> Result<Check, Stop> {
    Ok(match audit::walk(context, None) {
        Ok(report) if audit::is_sound(&report) => Check::passed("record", "the chain of events is whole"),
        Ok(_) => Check::failed("record", "the chain of events is broken", "tenure audit verify"),
        Err(Stop::Failure(failure)) => Check::failed("record", failure.to_string(), "tenure audit verify"),
        Err(stop @ Stop::CheckFailed) => return Err(stop),
    })
}

/// When the newest event was recorded, by the wall clock of then.
pub fn newest(context: &Context) -> Option<WallTime> {
    let question = ListEvents { after: None, newest: true, task: None, limit: Some(1) };
    let answered = context.client().ok()?.call(&question, None).ok()?;
    answered.value.events.first().map(|event| event.wall_time)
}
