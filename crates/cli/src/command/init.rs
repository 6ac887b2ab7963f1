//! Binding a checkout to its project.

use schemars::JsonSchema;
use serde::Serialize;
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::project::Workflow;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::project::{BindProject, BindingView, CreateProject, PolicyInput, ShowProject};

use crate::context::Context;
use crate::project_key;
use crate::render::plain;
use crate::shell;
use crate::stop::{Stop, usage};

/// Bind this checkout to a project, and create the project if it is missing
///
/// A project that is created here has the simple workflow: its holder closes a task. Nothing is written into the
/// repository.
#[derive(clap::Args)]
pub struct Init {
    /// The project's key: 1 to 16 of a-z, 0-9 and -, first a letter; the folder's name when absent
    key: Option<ProjectKey>,
    /// The project's name for people
    #[arg(long)]
    name: Option<String>,
}

/// What was done.
#[derive(Serialize, JsonSchema)]
struct Initialised {
    /// The project.
    project: ProjectKey,
    /// The repository that is bound to it.
    repository: String,
    /// Whether the project is new.
    created: bool,
    /// Whether the binding is new.
    bound: bool,
    /// What can be done now.
    next: [&'static str; 3],
}

/// Binds.
pub fn run(init: Init, context: &Context) -> Result<(), Stop> {
    context.check_own::<Initialised>()?;
    let checkout = context.checkout().ok_or_else(|| {
        usage("this folder lies in no Git checkout", "run `git init` first, or name projects with --project")
    })?;
    // What cannot be bound is refused before a project is made for it.
    let place = project_key::bindable(&checkout)?;
    let bound = context.binding(&checkout)?;
    let is_named = init.key.is_some();
    let key = match (init.key, &bound) {
        (Some(key), _) => key,
        (None, Some(bound)) => bound.project.clone(),
        (None, None) => project_key::suggested(&checkout.top).ok_or_else(|| {
            usage(
                format!("the name of {} suggests no project key", checkout.top.display()),
                "tenure init KEY",
            )
        })?,
    };
    if let Some(other) = bound.as_ref().filter(|bound| bound.project != key) {
        let detail = format!("{} is bound to {} already", other.repository, other.project);
        return Err(Refusal::new(Code::AlreadyExists, detail).next(unbind_command(other)).into());
    }
    let is_new = match context.call(&ShowProject { project: key.clone() }) {
        Ok(_) => false,
        Err(Stop::Failure(failure)) if failure.code() == Code::NotFound => true,
        Err(stop) => return Err(stop),
    };
    // Folders of the same name are not the same work: who means the other's project names it.
    if !is_new && !is_named && bound.is_none() {
        let detail = format!("there is a project {key} already, and this repository is not bound to it");
        return Err(Refusal::new(Code::AlreadyExists, detail)
            .next(format!("tenure init {key}"))
            .next("the key joins that project; another key makes a project of its own")
            .into());
    }
    if is_new {
        let policy = PolicyInput { workflow: Some(Workflow::Simple), ..PolicyInput::default() };
        context.call(&CreateProject { key: key.clone(), name: init.name, policy })?;
    }
    let repository = bound.as_ref().map_or(place, |bound| bound.repository.as_str()).to_owned();
    if bound.is_none() {
        let bind =
            BindProject { project: key.clone(), repository: repository.clone(), folder: String::new() };
        context.call(&bind)?;
    }
    let did = match (is_new, bound.is_some()) {
        (true, _) => format!("created the project {key} and bound {repository} to it"),
        (false, false) => format!("bound {repository} to the project {key}"),
        (false, true) => format!("{repository} is bound to the project {key} already"),
    };
    let told = Initialised {
        project: key,
        repository,
        created: is_new,
        bound: bound.is_none(),
        next: ["tenure task create --title \"…\"", "tenure ready", "tenure claim"],
    };
    let human = format!(
        "{}\nnext: tenure task create --title \"…\", then tenure ready, tenure claim\n",
        plain::line(&did)
    );
    context.print_own(&told, &human)
}

/// The command that removes a binding, to be typed as it stands.
fn unbind_command(bound: &BindingView) -> String {
    let mut command =
        format!("tenure project unbind {} --repository {}", bound.project, shell::word(&bound.repository));
    if !bound.folder.is_empty() {
        command.push_str(&format!(" --folder {}", shell::word(&bound.folder)));
    }
    command
}
