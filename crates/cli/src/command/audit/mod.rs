//! Checking the record, and noting its last event where nobody can edit it.

mod git_ref;

use clap::Subcommand;
use serde_json::{Value, json};
use tenure_client::failure::Failure;
use tenure_core::model::ids::Anchor;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::wire;

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
        Examples:\n  tenure audit verify --expect 1200:9f2c…\n  tenure audit verify --expect-ref refs/tenure/audit"
    )]
    Verify(Verify),
    #[command(
        after_help = "A ref is of use when it is pushed to where the store's own machine cannot rewrite it.\n\
        What the ref has already must be in the record; otherwise nothing is noted.\n\n\
        Examples:\n  tenure audit anchor\n  tenure audit anchor --ref refs/tenure/audit\n  \
        git push origin refs/tenure/audit"
    )]
    Anchor(Noting),
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
pub struct Noting {
    /// Note it in this ref of the checkout's repository, as a commit of its own
    #[arg(long = "ref", value_name = "REF")]
    reference: Option<Reference>,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Verify(verify) => verified(&verify, context),
        Command::Anchor(noting) => noted(&noting, context),
    }
}

/// What the daemon says of the chain after it walked along it.
pub fn walked(context: &Context, expect: Option<Anchor>) -> Result<Value, Stop> {
    let client = context.client()?;
    let _progress = Progress::of(&context.screen, "the daemon walks along the record");
    let expect = expect.map(|anchor| format!("?expect={anchor}")).unwrap_or_default();
    let json = client.get(&format!("{}/audit{expect}", wire::API))?;
    let unreadable = |error: serde_json::Error| {
        Failure::cannot_tell(format!("the report cannot be read: {error}"), "run `tenure doctor`")
    };
    Ok(serde_json::from_slice(&json).map_err(unreadable)?)
}

/// Verifies the chain. A broken one is a failed check.
fn verified(verify: &Verify, context: &Context) -> Result<(), Stop> {
    let expect = match &verify.expect_ref {
        Some(reference) => {
            let noted = reference.read()?.ok_or_else(|| {
                Refusal::new(Code::NotFound, format!("the repository has no {reference}"))
                    .next(format!("git fetch REMOTE {reference}:{reference}, or note one: tenure audit anchor --ref {reference}"))
            })?;
            Some(noted.of_fleet(&fleet(context)?, reference)?)
        }
        None => verify.expect,
    };
    report(&walked(context, expect)?, context)
}

/// Verifies the record and what was noted of it before, and notes where it ends now.
fn noted(noting: &Noting, context: &Context) -> Result<(), Stop> {
    let Some(reference) = &noting.reference else {
        let report = walked(context, None)?;
        return match report["anchor"].as_str() {
            Some(anchor) => context.print_value(&json!({ "anchor": anchor }), &format!("{anchor}\n")),
            None => self::report(&report, context),
        };
    };
    let fleet = fleet(context)?;
    let before = reference.read()?;
    let expect = before.as_ref().map(|noted| noted.of_fleet(&fleet, reference)).transpose()?;
    let walked = walked(context, expect)?;
    let Some(anchor) = walked["anchor"].as_str() else { return report(&walked, context) };
    let anchor: Anchor =
        anchor.parse().map_err(|error| Failure::cannot_tell(error, "run `tenure doctor`"))?;
    let commit = reference.note(before.as_ref(), &Noted { fleet, anchor })?;
    let value = json!({ "anchor": anchor, "ref": reference.to_string(), "commit": commit });
    let mut page = Page::new();
    page.field("anchor", &anchor.to_string());
    page.field("commit", &commit);
    page.field("next", &format!("git push REMOTE {reference}"));
    context.print_value(&value, &page.finish())
}

/// The id of the fleet that answers.
fn fleet(context: &Context) -> Result<String, Stop> {
    Ok(context.client()?.fleet()?.to_owned())
}

fn report(report: &Value, context: &Context) -> Result<(), Stop> {
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
        page.field("next", "keep the store's files as they are; what follows the flaw cannot be vouched for");
    }
    for name in ["events", "receipts", "head", "anchor"] {
        let value = report.get(name).unwrap_or(&Value::Null);
        page.field(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    page.finish()
}
