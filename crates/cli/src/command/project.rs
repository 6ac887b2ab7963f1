//! Projects. The repository of a binding is this checkout's when none is named.

use clap::Subcommand;
use schemars::SchemaGenerator;
use tenure_core::model::ids::ProjectKey;
use tenure_core::operation::project::{
    BindProject, BindingAnswer, BindingView, CreateProject, EditProject, ListProjects, SetPolicy,
    ShowProject, UnbindProject,
};

use crate::context::Context;
use crate::person::As;
use crate::render::plain;
use crate::stop::{Stop, usage};

/// `tenure project …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    Create(CreateProject),
    List(ListProjects),
    Show(ShowProject),
    Edit(EditProject),
    Policy(Policy),
    /// Bind a place in a repository to a project
    ///
    /// Inside a repository the longest bound folder wins. Clones and worktrees of one repository share its binding.
    Bind(Place),
    /// Remove the binding of a place in a repository
    Unbind(Place),
}

// A policy that a person sets. A doc comment here would replace the operation's own.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    tenure project policy afc --revision 3 --attempts-max 8 --reason \"more machines\" --as ada\n  \
    tenure project policy afc --revision 3 --agents-may lease_ms --reason \"long builds\" --as ada\n\n\
    `tenure project show` tells the revision. An operator types their password on this terminal.")]
pub struct Policy {
    #[command(flatten)]
    operation: SetPolicy,
    #[command(flatten)]
    who: As,
}

// A project and a place in a repository. A doc comment here would replace what each command says of itself.
#[derive(clap::Args)]
pub struct Place {
    /// The project's key
    project: ProjectKey,
    /// The repository's identity: normalised remote URL or canonical Git directory; this checkout's when absent
    #[arg(long)]
    repository: Option<String>,
    /// The folder inside it; the whole repository when absent
    #[arg(long, default_value = "", hide_default_value = true)]
    folder: String,
}

/// Runs one.
pub fn run(command: Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Create(operation) => context.perform(&operation),
        Command::List(operation) => context.perform(&operation),
        Command::Show(operation) => context.perform(&operation),
        Command::Edit(operation) => context.perform(&operation),
        Command::Policy(Policy { operation, who }) => context.perform_as(&operation, &who, None),
        Command::Bind(Place { project, repository, folder }) => {
            let repository = repository_or_here(repository, context)?;
            context.perform(&BindProject { project, repository, folder })
        }
        Command::Unbind(Place { project, repository, folder }) => {
            let repository = repository_or_here(repository, context)?;
            context.check_fields(SchemaGenerator::subschema_for::<BindingAnswer>)?;
            let answered = context.call(&UnbindProject { project, repository, folder })?;
            let BindingView { project, repository, folder } = &answered.value.binding;
            let place =
                if folder.is_empty() { repository.clone() } else { format!("{repository}, folder {folder}") };
            let human = plain::line(&format!("{place} is bound to {project} no longer"));
            context.print_as(&answered, &human)
        }
    }
}

fn repository_or_here(named: Option<String>, context: &Context) -> Result<String, Stop> {
    if let Some(named) = named {
        return Ok(named);
    }
    context
        .checkout()
        .and_then(|checkout| checkout.identities.into_iter().next())
        .ok_or_else(|| usage("this folder lies in no Git checkout", "name the repository with --repository"))
}
