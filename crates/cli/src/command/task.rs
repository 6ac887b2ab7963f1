//! Tasks.

use clap::Subcommand;
use tenure_core::model::time::WallTime;
use tenure_core::operation::{Operation, task};

use crate::context::Context;
use crate::on_task::{InProject, OnTask};
use crate::person::As;
use crate::render::time;
use crate::stop::Stop;

/// `tenure show`.
pub type Show = OnTask<task::ShowTask, true>;

/// `tenure task …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Create(InProject<task::CreateTask>),
    Edit(OnTask<task::EditTask, false>),
    List(InProject<task::ListTasks>),
    Show(Show),
    Find(InProject<task::FindTask>),
    Open(OnTask<task::OpenTask, false>),
    Defer(Defer),
    Resume(OnTask<task::ResumeTask, false>),
    Archive(OnTask<task::ArchiveTask, false>),
    Cancel(Cancel),
    Reopen(ByPerson<task::ReopenTask>),
    ForceRelease(ByPerson<task::ForceRelease>),
}

// An operation on a task that a person asks for.
#[derive(clap::Args)]
#[command(after_help = "An operator types their password on this terminal.")]
pub struct ByPerson<O: Operation + clap::Args> {
    #[command(flatten)]
    operation: OnTask<O, false>,
    #[command(flatten)]
    who: As,
}

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure task defer afc-3 --until 2027-01-31 --reason \"the new parser is released then\"\n  \
    tenure task defer afc-3 --reason \"nobody has the hardware\" --reopening \"a board arrives\"\n\n\
    `tenure task resume` ends it. `tenure dependency add` lets a task wait for another one.")]
pub struct Defer {
    #[command(flatten)]
    operation: OnTask<task::DeferTask, false>,
    /// Until when: a date (2027-01-31) or a moment (2027-01-31T09:00:00Z); until it is resumed when absent
    #[arg(long, value_parser = time::parse)]
    until: Option<WallTime>,
}

// Its help is the operation's own comment as well.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure task cancel afc-3 --revision 2 --reason \"not wanted any more\" --dependents release\n  \
    tenure task cancel afc-3 --resolution duplicate --successor afc-1 --reason \"the same bug\"\n\n\
    `tenure show` tells the revision, --dry-run what waits for it. `tenure task defer` puts a task off.")]
pub struct Cancel {
    #[command(flatten)]
    operation: OnTask<task::CancelTask, false>,
    /// Show the task and what waits for it, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Create(operation) => context.perform(&operation.resolve(context)?),
        Command::Edit(operation) => context.perform_on(operation.resolve(context)?),
        Command::List(operation) => context.perform(&operation.resolve(context)?),
        Command::Show(operation) => context.perform_on(operation.resolve(context)?),
        Command::Find(operation) => context.perform(&operation.resolve(context)?),
        Command::Open(operation) => context.perform_on(operation.resolve(context)?),
        Command::Defer(defer) => {
            let (mut operation, operand) = defer.operation.resolve(context)?;
            operation.until = defer.until;
            context.perform_on((operation, operand))
        }
        Command::Resume(operation) => context.perform_on(operation.resolve(context)?),
        Command::Archive(operation) => context.perform_on(operation.resolve(context)?),
        Command::Cancel(cancel) => {
            let (operation, operand) = cancel.operation.resolve(context)?;
            if cancel.dry_run {
                context
                    .screen
                    .remark("nothing was changed; this is what would be cancelled, and what waits for it");
                return context.perform_on((task::ShowTask { task: operation.task, entries: None }, operand));
            }
            context.perform_on((operation, operand))
        }
        Command::Reopen(ByPerson { operation, who }) => {
            context.perform_as(&operation.resolve(context)?.0, &who, None)
        }
        Command::ForceRelease(ByPerson { operation, who }) => {
            context.perform_as(&operation.resolve(context)?.0, &who, None)
        }
    }
}
