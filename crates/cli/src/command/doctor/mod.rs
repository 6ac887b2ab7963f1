//! `tenure doctor`: is everything here as it must be? The checks go from the place outwards in: the folder, its disk, the
//! daemon, the store, and how the caller is understood.

mod caller;
mod check;
mod clock;
mod daemon;
mod database;
mod folder;
mod served;

use std::path::Path;

use serde_json::json;
use tenure_client::failure::Failure;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::unserved;

use check::Check;

use crate::context::Context;
use crate::progress::Progress;
use crate::render::Page;
use crate::stop::Stop;
use crate::terminal::Style;

/// Check the store, the daemon, and how this place and its caller are understood
#[derive(clap::Args)]
#[command(after_help = "Every check that fails names the next step, and the exit code is 10 then.\n\
    Without --offline a daemon is started if none runs.")]
pub struct Doctor {
    /// Leave out the walk along the whole record, and the pages of a store that a daemon serves
    #[arg(long)]
    quick: bool,
    /// Look at a store that no daemon serves, page by page, and start none
    #[arg(long)]
    offline: bool,
}

/// What was found of a store, and its fleet's id where one is known.
type Found = (Vec<Check>, Option<String>);

/// Makes every check and reports all of them.
pub fn run(doctor: &Doctor, context: &Context) -> Result<(), Stop> {
    let mut checks = vec![daemon::version()];
    let known = match context.store() {
        Ok(store) => {
            let looked = if doctor.offline { unserved_store } else { served_store };
            let (found, fleet) = looked(&store, doctor, context)?;
            // A daemon that was started just now has made the folder.
            checks.extend(place(&store));
            checks.extend(found);
            fleet.map(|fleet| (store, fleet))
        }
        Err(Stop::Failure(Failure::CannotTell { detail, next })) => {
            checks.push(clock::clock(clock::here(), None, None));
            checks.push(Check::failed("place", detail, next));
            None
        }
        Err(stop) => return Err(stop),
    };
    let identity = context.identity();
    checks.push(caller::session(&identity));
    if let (Some((store, fleet)), Ok(identity)) = (&known, &identity) {
        checks.push(caller::session_file(store, fleet, identity));
    }
    report(&checks, context)
}

fn report(checks: &[Check], context: &Context) -> Result<(), Stop> {
    let sound = checks.iter().all(|check| check.ok != Some(false));
    let mut page = Page::new();
    for check in checks {
        let (style, mark) = match check.ok {
            Some(true) => (Style::Good, "ok    "),
            Some(false) => (Style::Bad, "FAILED"),
            None => (Style::Heading, "      "),
        };
        page.marked(style, mark, &format!("{:<12} {}", check.name, check.found));
        if let Some(next) = &check.next {
            page.line(&format!("                    next: {next}"));
        }
    }
    context.print_value(&json!({"ok": sound, "checks": checks}), &page.finish())?;
    if sound { Ok(()) } else { Err(Stop::CheckFailed) }
}

/// What is asked of no database: the folder and what it lies on.
fn place(store: &Path) -> Vec<Check> {
    let mut checks = vec![folder::folder(store)];
    checks.extend(folder::files(store));
    checks.extend(folder::file_system(store));
    checks.extend(folder::disk(store));
    checks.extend(folder::flush(store));
    checks
}

/// What a daemon tells of its store. It is started if none runs, as by every command.
fn served_store(store: &Path, doctor: &Doctor, context: &Context) -> Result<Found, Stop> {
    let before = daemon::before(store);
    let info = context.client()?.info();
    let here = clock::here();
    let mut checks = vec![daemon::daemon(&info, store)];
    let Ok(info) = info else {
        // Without one, whoever has the store may be why.
        checks.push(clock::clock(here, None, None));
        checks.extend(database::size(store, None));
        checks.extend(database::log(store, None));
        return Ok((checks, None));
    };
    checks.push(daemon::socket(store, before));
    checks.extend(daemon::executable(&info));
    checks.push(clock::clock(here, info.wall_time, daemon::newest(context)));
    checks.extend(database::size(store, Some(info.pid)));
    checks.extend(database::log(store, Some(info.pid)));
    checks.push(daemon::write(store, context)?);
    if served::is_elsewhere(store) {
        checks.extend(served::checks(context)?);
    } else if !doctor.quick {
        let progress = Progress::of(&context.screen, "checking the pages of the store");
        let pages = database::pages(store);
        drop(progress);
        checks.push(pages);
    }
    if !doctor.quick {
        checks.push(daemon::record(context)?);
    }
    checks.push(caller::project(context));
    Ok((checks, Some(info.fleet)))
}

/// What a store tells by itself.
fn unserved_store(store: &Path, doctor: &Doctor, context: &Context) -> Result<Found, Stop> {
    let progress = Progress::of(&context.screen, "checking the pages of the store");
    let looked = unserved::look(store, !doctor.quick, &mut |events| {
        progress.tell(|| format!("checking the record: {events} events"));
    });
    drop(progress);
    if database::is_in_use(&looked) {
        let users = database::users(store).unwrap_or_else(|| "somebody".to_owned());
        let refusal = Refusal::new(Code::InUse, format!("{users} has the store in {} open", store.display()));
        return Err(refusal
            .next("tenure doctor")
            .next("end that process to look at the store without it")
            .into());
    }
    let fleet = looked.as_ref().ok().and_then(|looked| looked.as_ref()).map(|looked| looked.fleet.clone());
    let mut checks = vec![clock::clock(clock::here(), None, fleet.as_ref().map(|fleet| fleet.wall))];
    checks.extend(database::size(store, None));
    checks.extend(database::log(store, None));
    checks.extend(database::looked(looked));
    Ok((checks, fleet.map(|fleet| fleet.id)))
}
