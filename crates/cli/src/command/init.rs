//! Binding a checkout to its project.

use serde_json::json;
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::project::Workflow;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::project::{BindProject, CreateProject, PolicyInput, ShowProject};

use crate::context::Context;
use crate::render::plain;
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

/// Binds.
pub fn run(init: Init, context: &Context) -> Result<(), Stop> {
    let checkout = context.checkout().ok_or_else(|| {
        usage("this folder lies in no Git checkout", "run `git init` first, or name projects with --project")
    })?;
    let folder_name =
        checkout.top.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let bound = context.bound_project(&checkout)?;
    let key = match (init.key, &bound) {
        (Some(key), _) => key,
        (None, Some(bound)) => bound.clone(),
        (None, None) => key_from(&folder_name)?,
    };
    if let Some(other) = bound.as_ref().filter(|bound| **bound != key) {
        return Err(Refusal::new(Code::AlreadyExists, format!("this checkout is bound to {other} already"))
            .next(format!("tenure project unbind {other}"))
            .into());
    }
    let is_new = match context.call(&ShowProject { project: key.clone() }) {
        Ok(_) => false,
        Err(Stop::Failure(failure)) if failure.code() == Code::NotFound => true,
        Err(stop) => return Err(stop),
    };
    if is_new {
        let policy = PolicyInput { workflow: Some(Workflow::Simple), ..PolicyInput::default() };
        context.call(&CreateProject { key: key.clone(), name: init.name, policy })?;
    }
    let repository = checkout.identities[0].clone();
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
    let value = json!({
        "project": key, "repository": repository, "created": is_new, "bound": bound.is_none(),
        "next": ["tenure task create --title \"…\"", "tenure ready", "tenure claim"],
    });
    let human = format!(
        "{}\nnext: tenure task create --title \"…\", then tenure ready, tenure claim\n",
        plain::line(&did)
    );
    context.print_value(&value, &human);
    Ok(())
}

/// The key that a folder's name suggests.
fn key_from(name: &str) -> Result<ProjectKey, Stop> {
    let plain: String =
        name.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let key = plain.trim_matches(|c: char| c == '-' || c.is_ascii_digit());
    let short: String = key.chars().take(16).collect();
    short
        .trim_end_matches('-')
        .parse()
        .map_err(|_| usage(format!("{name:?} suggests no project key"), "tenure init KEY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_s_name_becomes_a_key() {
        for (name, key) in [
            ("tenure", "tenure"),
            ("My.Repo", "my-repo"),
            ("2048-game", "game"),
            ("a-very-long-folder-name", "a-very-long-fold"),
        ] {
            assert_eq!(key_from(name).expect("a key").as_str(), key);
        }
        assert!(key_from("家").is_err());
    }
}
