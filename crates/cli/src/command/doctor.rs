//! `tenure doctor`: is everything here as it must be?

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};
use tenure_client::failure::Failure;
use tenure_client::session_file;
use tenure_core::wire;

use crate::command::audit;
use crate::context::Context;
use crate::render::Page;
use crate::shell;
use crate::stop::Stop;
use crate::terminal::Style;

/// Check the store, the daemon, and how this place and its caller are understood
#[derive(clap::Args)]
pub struct Doctor {
    /// Leave out the walk along the whole record
    #[arg(long)]
    quick: bool,
}

/// One check.
#[derive(Serialize)]
struct Check {
    name: &'static str,
    /// Whether it passed; nothing when it only informs.
    ok: Option<bool>,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A wall clock before this moment is certainly wrong: 2026-01-01, in milliseconds since 1970.
const WALL_MS_MIN: u128 = 1_767_225_600_000;

/// Makes every check and reports all of them.
pub fn run(doctor: &Doctor, context: &Context) -> Result<(), Stop> {
    let mut checks = match context.store() {
        Ok(store) => store_checks(&store, doctor, context)?,
        Err(Stop::Failure(Failure::CannotTell { detail, next })) => {
            vec![clock(), failed("place", detail, &next)]
        }
        Err(stop) => return Err(stop),
    };
    checks.push(match context.identity() {
        Ok(identity) => informs("session", format!("{} (by {})", identity.name, identity.origin)),
        Err(refusal) => {
            Check { next: refusal.next_actions.first().cloned(), ..informs("session", refusal.detail) }
        }
    });
    let sound = checks.iter().all(|check| check.ok != Some(false));
    let mut page = Page::new();
    for check in &checks {
        let (style, mark) = match check.ok {
            Some(true) => (Style::Good, "ok    "),
            Some(false) => (Style::Bad, "FAILED"),
            None => (Style::Heading, "      "),
        };
        page.marked(style, mark, &format!("{:<11} {}", check.name, check.found));
        if let Some(next) = &check.next {
            page.line(&format!("                   next: {next}"));
        }
    }
    context.print_value(&json!({"ok": sound, "checks": checks}), &page.finish())?;
    if sound { Ok(()) } else { Err(Stop::CheckFailed) }
}

/// What there is to check of a local store.
fn store_checks(store: &Path, doctor: &Doctor, context: &Context) -> Result<Vec<Check>, Stop> {
    let mut checks = vec![folder(store)];
    checks.extend(private_files(store));
    checks.push(clock());
    let daemon = context.client()?.info();
    checks.push(match &daemon {
        Ok(info) => passed(
            "daemon",
            format!("version {}, protocol {}, process {}", info.version, info.protocol, info.pid),
        ),
        Err(failure) => {
            failed("daemon", failure.to_string(), &format!("read {}", store.join(wire::LOG).display()))
        }
    });
    if daemon.is_ok() {
        checks.push(socket(store));
        checks.push(ready(context)?);
        if !doctor.quick {
            checks.push(record(context)?);
        }
        checks.push(project(context));
    }
    Ok(checks)
}

fn passed(name: &'static str, found: impl Into<String>) -> Check {
    Check { name, ok: Some(true), found: found.into(), next: None }
}

fn failed(name: &'static str, found: impl Into<String>, next: &str) -> Check {
    Check { name, ok: Some(false), found: found.into(), next: Some(next.to_owned()) }
}

fn informs(name: &'static str, found: impl Into<String>) -> Check {
    Check { name, ok: None, found: found.into(), next: None }
}

fn folder(store: &Path) -> Check {
    match store.metadata() {
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => failed(
            "folder",
            format!("{} belongs to another user", store.display()),
            "name another one with TENURE_STATE_DIR",
        ),
        Ok(found) if found.permissions().mode() & 0o077 != 0 => failed(
            "folder",
            format!("{} is open to others (mode {:o})", store.display(), found.permissions().mode() & 0o777),
            &format!("chmod 700 {}", shell::word(&store.to_string_lossy())),
        ),
        Ok(_) => passed("folder", store.display().to_string()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            informs("folder", format!("{} is not there yet", store.display()))
        }
        Err(error) => failed("folder", format!("{}: {error}", store.display()), "make it readable for you"),
    }
}

/// Every file in the state folder is for its owner alone.
fn private_files(store: &Path) -> Option<Check> {
    let mut open = Vec::new();
    let mut count = 0;
    for folder in [store.to_owned(), session_file::folder(store)] {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            count += 1;
            if found.permissions().mode() & 0o077 != 0 {
                open.push(entry.path().display().to_string());
            }
        }
    }
    match (count, open.is_empty()) {
        (0, _) => None,
        (_, true) => Some(passed("files", format!("{count}, all private"))),
        (_, false) => {
            let words: Vec<_> = open.iter().map(|path| shell::word(path)).collect();
            let next = format!("chmod go= {}", words.join(" "));
            Some(failed("files", format!("open to others: {}", open.join(", ")), &next))
        }
    }
}

fn socket(store: &Path) -> Check {
    let path = store.join(wire::SOCKET);
    match path.metadata() {
        Ok(_) => passed("socket", path.display().to_string()),
        Err(error) => failed(
            "socket",
            format!("{}: {error}", path.display()),
            "stop the daemon; the next command starts another",
        ),
    }
}

#[expect(clippy::disallowed_methods, reason = "whether the wall clock is right is what this check asks")]
fn clock() -> Check {
    match std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH) {
        Ok(now) if now.as_millis() >= WALL_MS_MIN => passed("clock", "plausible"),
        _ => failed(
            "clock",
            "the wall clock is years behind",
            "set the date; leases do not depend on it, dates do",
        ),
    }
}

fn ready(context: &Context) -> Result<Check, Stop> {
    Ok(match context.client()?.get("/readyz") {
        Ok(_) => passed("write", "a write probe was stored"),
        Err(failure) => {
            failed("write", failure.to_string(), "look at the room left on the disk and at daemon.log")
        }
    })
}

fn record(context: &Context) -> Result<Check, Stop> {
    Ok(match context.client()?.get(&audit::target()) {
        Ok(json) => match serde_json::from_slice::<Value>(&json) {
            Ok(report) if audit::is_sound(&report) => passed("record", "the chain of events is whole"),
            _ => failed("record", "the chain of events is broken", "tenure audit verify"),
        },
        Err(failure) => failed("record", failure.to_string(), "tenure audit verify"),
    })
}

fn project(context: &Context) -> Check {
    match context.project(None) {
        Ok(project) => informs("project", project.to_string()),
        Err(Stop::Failure(failure)) => Check {
            next: failure.problem().next_actions.first().cloned(),
            ..informs("project", failure.to_string())
        },
        Err(Stop::CheckFailed) => informs("project", ""),
    }
}
