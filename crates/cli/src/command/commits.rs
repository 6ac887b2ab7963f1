//! The commits of a body of work.

use clap::Args;
use tenure_core::operation::commits::ListCommits;

use crate::context::Context;
use crate::stop::Stop;

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure commits --label phase-2\n  \
    tenure commits --objective afc-12 --missing\n  \
    tenure commits afc-3 afc-7 --json=commit\n\n\
    `tenure close --commit` tells a commit; `tenure label list` shows the labels there are.")]
pub struct Commits {
    /// The tasks, by id or alias
    #[arg(value_name = "TASK")]
    tasks: Vec<String>,
    /// Of this objective, by id or alias, and everything below it
    #[arg(id = "of_objective", long = "objective", value_name = "TASK")]
    objective: Option<String>,
    #[command(flatten)]
    commits: ListCommits,
}

/// Lists them.
pub fn run(command: Commits, context: &Context) -> Result<(), Stop> {
    let mut commits = command.commits;
    commits.tasks = command.tasks.iter().map(|task| context.task(task)).collect::<Result<_, _>>()?;
    commits.objective = command.objective.as_deref().map(|task| context.task(task)).transpose()?;
    if commits.label.is_some() {
        commits.project = Some(context.project(commits.project.as_ref())?);
    }
    context.perform(&commits)
}
