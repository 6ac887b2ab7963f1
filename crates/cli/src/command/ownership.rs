//! The loop of a holder.

use clap::{ArgMatches, Args, FromArgMatches};
use tenure_core::model::ids::ProjectKey;
use tenure_core::operation::ownership;

use crate::context::Context;
use crate::on_task::{self, OnTask};
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

/// `tenure claim`: the task may be an alias, and without one the project is inferred.
#[derive(Debug, Clone)]
pub struct Claim {
    operation: ownership::Claim,
    operand: Option<String>,
    projects: Vec<ProjectKey>,
}

impl Args for Claim {
    fn augment_args(command: clap::Command) -> clap::Command {
        on_task::with_operand(ownership::Claim::augment_args(command), false).arg(
            clap::Arg::new("projects")
                .long("project")
                .value_name("KEY")
                .action(clap::ArgAction::Append)
                .value_parser(clap::value_parser!(ProjectKey))
                .help(
                    "A project to take from; the one that this checkout is bound to when absent; repeatable",
                ),
        )
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Claim {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let operand = on_task::typed(matches, "task");
        let projects = matches.get_many("projects").into_iter().flatten().cloned().collect();
        let operation = ownership::Claim::from_arg_matches(matches)?;
        Ok(Self { operation, operand, projects })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
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

/// Claims.
pub fn claim(claim: Claim, context: &Context) -> Result<(), Stop> {
    let Claim { mut operation, operand, projects } = claim;
    operation.task = operand.as_deref().map(|operand| context.task(operand)).transpose()?;
    operation.projects = match (&operand, projects.is_empty()) {
        (Some(_), true) => Vec::new(),
        (None, true) => vec![context.project(None)?],
        (_, false) => projects,
    };
    context.perform_on((operation, operand))
}
