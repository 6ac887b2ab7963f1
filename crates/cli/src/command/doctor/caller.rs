//! How the place and the caller are understood, and the file that proves who the caller is.

use std::path::Path;

use tenure_client::identity::Identity;
use tenure_client::session_file::SessionFile;
use tenure_core::model::limits::counted;
use tenure_core::model::refusal::Refusal;

use super::check::Check;
use super::folder::open_to_others;
use crate::context::Context;
use crate::stop::Stop;

/// The project that commands here are about.
pub fn project(context: &Context) -> Check {
    match context.project(None) {
        Ok(project) => Check::informs("project", project.to_string()),
        Err(Stop::Failure(failure)) => Check::informs("project", failure.to_string())
            .with_next(failure.problem().next_actions.first().cloned()),
        Err(Stop::CheckFailed) => Check::informs("project", ""),
    }
}

/// Who calls, and what told so.
pub fn session(identity: &Result<Identity, Refusal>) -> Check {
    match identity {
        Ok(identity) => Check::informs("session", format!("{} (by {})", identity.name, identity.origin)),
        Err(refusal) => {
            Check::informs("session", refusal.detail.clone()).with_next(refusal.next_actions.first().cloned())
        }
    }
}

/// Whether the caller's file can be read, and by nobody else.
pub fn session_file(store: &Path, fleet: &str, identity: &Identity) -> Check {
    const NAME: &str = "session file";
    let file = SessionFile::of(store, fleet, &identity.name);
    let record = match file.read() {
        Ok(Some(record)) => record,
        Ok(None) => return Check::informs(NAME, "none yet; the first command that needs a session makes it"),
        Err(failure) => {
            let next = failure.problem().next_actions.first().cloned().unwrap_or_default();
            return Check::failed(NAME, failure.to_string(), next);
        }
    };
    let open = file.path().metadata().ok().and_then(|found| open_to_others(NAME, file.path(), &found, "600"));
    if let Some(check) = open {
        return check;
    }
    let held = counted(record.held().count() as u64, "task");
    let unseen = record.pending.iter().filter(|pending| !pending.is_awaited()).count();
    let unseen = match unseen {
        0 => String::new(),
        some => format!("; {} without an answer, asked again by the next", counted(some as u64, "call")),
    };
    Check::passed(NAME, format!("private, holds {held}{unseen}"))
}
