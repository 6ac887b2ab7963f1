//! Checking the record, and noting its last event where nobody can edit it.

mod git_ref;

use clap::Subcommand;
use serde_json::{Value, json};
use tenure_client::failure::Failure;
use tenure_core::model::ids::Anchor;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::server_route::ServerRoute;

use self::git_ref::{Noted, Reference};
use crate::context::Context;
use crate::progress::Progress;
use crate::render::Page;
use crate::stop::Stop;

/// `tenure audit …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    #[command(
        after_help = "Whoever can edit the store can also hash its whole record anew. So note the last event\n\
        elsewhere now and then, and expect it later: what was altered, removed, inserted or\n\
        moved before it, or cut after it, then shows.\n\n\
        Example:\n  tenure audit verify --expect-ref refs/tenure/audit"
    )]
    Verify(Verify),
    #[command(
        after_help = "A ref is of use when it is pushed to where the store's own machine cannot rewrite it.\n\
        What the ref has already must be in the record; otherwise nothing is noted.\n\n\
        Examples:\n  tenure audit anchor\n  tenure audit anchor --ref refs/tenure/audit\n  \
        git push origin refs/tenure/audit"
    )]
    Anchor(Anchoring),
}

/// Verify the chain of events, and name the first that was altered, lost or moved
#[derive(clap::Args)]
pub struct Verify {
    /// An event and its hash that were noted elsewhere, which the record must have
    #[arg(long, value_name = "NUMBER:HASH", conflicts_with = "expect_ref")]
    expect: Option<Anchor>,
    /// The same, as `tenure audit anchor --ref` noted it in this checkout's repository
    #[arg(long, value_name = "REF")]
    expect_ref: Option<Reference>,
}

/// Verify the record, then tell its last event with its hash, to be noted elsewhere
#[derive(clap::Args)]
pub struct Anchoring {
    /// Note it in this ref of the checkout's repository, as a commit of its own
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<Reference>,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Verify(verify) => verified(&verify, context),
        Command::Anchor(Anchoring { reference: None }) => anchored(context),
        Command::Anchor(Anchoring { reference: Some(reference) }) => anchored_in(&reference, context),
    }
}

/// What the daemon says of the chain after it walked along it.
pub fn walk(context: &Context, expect: Option<Anchor>) -> Result<Value, Stop> {
    let client = context.client()?;
    let _progress = Progress::of(&context.screen, "the daemon walks along the record");
    let query = expect.map(|anchor| format!("?expect={anchor}")).unwrap_or_default();
    let json = client.get(&format!("{}{query}", ServerRoute::Audit.path()))?;
    let report: Value = serde_json::from_slice(&json).map_err(|error| unreadable(&error.to_string()))?;
    // A daemon that does not know what it was asked must not pass for one that found it.
    if let Some(expect) = expect.filter(|_| is_sound(&report))
        && anchor(&report)?.event < expect.event
    {
        return Err(unreadable("it does not reach what was expected").into());
    }
    Ok(report)
}

fn unreadable(why: &str) -> Failure {
    Failure::cannot_tell(format!("the report cannot be read: {why}"), "run `tenure doctor`")
}

/// The anchor of a sound report.
fn anchor(report: &Value) -> Result<Anchor, Failure> {
    let told = report["anchor"].as_str().ok_or_else(|| unreadable("it has no anchor"))?;
    told.parse().map_err(|error: String| unreadable(&error))
}

/// Verifies the chain. A broken one is a failed check.
fn verified(verify: &Verify, context: &Context) -> Result<(), Stop> {
    let expect = match &verify.expect_ref {
        Some(reference) => {
            let tip = reference.read()?.ok_or_else(|| {
                let next = format!("git fetch REMOTE {reference}:{reference}");
                Refusal::new(Code::NotFound, format!("the repository has no {reference}")).next(next)
            })?;
            Some(tip.noted.of_fleet(&context.client()?.info()?.fleet, reference)?)
        }
        None => verify.expect,
    };
    told(&walk(context, expect)?, context)
}

/// Verifies the record and tells its last event.
fn anchored(context: &Context) -> Result<(), Stop> {
    let report = walk(context, None)?;
    if !is_sound(&report) {
        return told(&report, context);
    }
    let anchor = anchor(&report)?;
    context.print_value(&json!({ "anchor": anchor }), &format!("{anchor}\n"))
}

/// Verifies the record, also against what the ref has, and notes its last event there.
fn anchored_in(reference: &Reference, context: &Context) -> Result<(), Stop> {
    let fleet = context.client()?.info()?.fleet;
    let tip = reference.read()?;
    let expect = tip.as_ref().map(|tip| tip.noted.of_fleet(&fleet, reference)).transpose()?;
    let report = walk(context, expect)?;
    if !is_sound(&report) {
        return told(&report, context);
    }
    let anchor = anchor(&report)?;
    let commit = reference.note(tip, &Noted { fleet, anchor })?;
    let mut page = Page::new();
    page.field("anchor", &anchor.to_string());
    page.field("commit", &commit);
    page.field("next", &format!("git push REMOTE {reference}"));
    let value = json!({ "anchor": anchor, "ref": reference.to_string(), "commit": commit });
    context.print_value(&value, &page.finish())
}

fn told(report: &Value, context: &Context) -> Result<(), Stop> {
    context.print_value(report, &shown(report))?;
    if is_sound(report) { Ok(()) } else { Err(Stop::CheckFailed) }
}

/// Whether a report says that everything is as it was written.
pub fn is_sound(report: &Value) -> bool {
    report.get("intact") == Some(&Value::Bool(true))
}

fn shown(report: &Value) -> String {
    let mut page = Page::new();
    page.line(if is_sound(report) { "the record is whole" } else { "the record is BROKEN" });
    if let Some(flaw) = report.pointer("/flaw/detail").and_then(Value::as_str) {
        page.field("flaw", flaw);
        page.field("next", next(report));
    }
    for name in ["events", "receipts", "head", "anchor"] {
        let value = report.get(name).unwrap_or(&Value::Null);
        page.field(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    page.finish()
}

/// What to do about a flaw.
fn next(report: &Value) -> &'static str {
    match report.pointer("/flaw/kind").and_then(Value::as_str) {
        Some("left_behind") => {
            "if you restored a backup since, note the record in a ref of another name; otherwise keep the store's files as they are"
        }
        _ => "keep the store's files as they are; what follows the flaw cannot be vouched for",
    }
}
