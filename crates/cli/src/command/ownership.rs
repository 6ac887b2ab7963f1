//! The loop of a holder.

use std::time::{Duration, Instant};

use clap::Args;
use schemars::SchemaGenerator;
use tenure_client::ask::Answered;
use tenure_client::pause::{Pause, Steps};
use tenure_core::operation::ownership;
use tenure_core::operation::wait::{Until, Wait};

use super::wait;
use crate::context::Context;
use crate::duration;
use crate::on_task::OnTask;
use crate::on_work::OnWork;
use crate::stop::Stop;

/// `tenure heartbeat`.
pub type Heartbeat = OnTask<ownership::Heartbeat, true>;
/// `tenure note`.
pub type Note = OnTask<ownership::WriteNote, true>;
/// `tenure checkpoint`.
pub type Checkpoint = OnTask<ownership::WriteCheckpoint, true>;
/// `tenure handoff`.
pub type HandOff = OnTask<ownership::HandOff, true>;
/// `tenure release`.
pub type Release = OnTask<ownership::Release, true>;
/// `tenure dispose`.
pub type Dispose = OnTask<ownership::Dispose, true>;
/// `tenure reconcile`.
pub type Reconcile = OnTask<ownership::Reconcile, true>;
/// `tenure attempts`.
pub type Attempts = OnTask<ownership::ShowRecovery, true>;

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure claim\n  \
    tenure claim afc-1\n  \
    tenure claim --wait 5m")]
pub struct Claim {
    #[command(flatten)]
    operation: OnWork<ownership::Claim>,
    /// Wait so long until there is something to claim, e.g. 90s or 5m
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    wait: Option<Duration>,
}

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure close --branch config --commit 1a2b3c4 --note \"unknown keys are refused\"\n  \
    tenure close afc-1 --criterion c1=\"there is a test\"\n  \
    tenure close afc-7 --revision 3 --resolution already_delivered --commit 1a2b3c4\n\n\
    `tenure task cancel` ends a task without its outcome, `tenure release` gives it back.")]
pub struct Close {
    #[command(flatten)]
    operation: OnTask<ownership::Close, true>,
    /// How a criterion is met, by its id; repeatable
    #[arg(long = "criterion", value_name = "ID=TEXT", value_parser = criterion)]
    criteria: Vec<(String, String)>,
}

fn criterion(text: &str) -> Result<(String, String), String> {
    let (id, answer) = text.split_once('=').ok_or("write it as ID=TEXT, e.g. c1=\"the tests pass\"")?;
    Ok((id.to_owned(), answer.to_owned()))
}

/// Closes.
pub fn close(close: Close, context: &Context) -> Result<(), Stop> {
    let (mut operation, operand) = close.operation.resolve(context)?;
    operation.criteria.extend(close.criteria);
    context.perform_on((operation, operand))
}

/// Claims and prints what was claimed.
pub fn claim(claim: Claim, context: &Context) -> Result<(), Stop> {
    context.check_fields(SchemaGenerator::subschema_for::<ownership::Claimed>)?;
    context.print(&claimed(claim.operation, claim.wait, context)?)
}

/// Claims; with patience, as soon as there is something to claim. Nothing is claimed while nobody is there to hear of
/// it: this process is told of work and claims it then.
pub fn claimed(
    operation: OnWork<ownership::Claim>,
    patience: Option<Duration>,
    context: &Context,
) -> Result<Answered<ownership::Claimed>, Stop> {
    let deadline = Instant::now() + patience.unwrap_or_default();
    let (operation, operand) = operation.resolve(context)?;
    let wait = Wait {
        task: operation.task.clone(),
        projects: operation.projects.clone(),
        until: operation.task.as_ref().map(|_| Until::Ready),
        after: None,
        no_recovery: operation.no_recovery && operation.task.is_none(),
        wait_ms: None,
    };
    let mut pause = Pause::new(Steps::PATIENT);
    loop {
        match context.call_on(&operation, operand.as_deref()) {
            Err(stop) if wait::goes_on(&stop, deadline, &mut pause) => {
                wait::once(&wait, deadline, &mut pause, context)?;
            }
            outcome => return outcome,
        }
    }
}
