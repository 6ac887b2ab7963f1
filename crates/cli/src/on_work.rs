//! Operations on a named task, or on the work of some projects when none is named.

use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};
use tenure_core::model::ids::ProjectKey;
use tenure_core::operation::Operation;

use crate::context::Context;
use crate::on_task::{fields, typed, with_operand};
use crate::stop::Stop;

/// An operation with the fields `task` and `projects`. The task may be an alias, and without one the project is
/// inferred.
#[derive(Debug, Clone)]
pub struct OnWork<O> {
    fields: Map<String, Value>,
    operand: Option<String>,
    projects: Vec<ProjectKey>,
    operation: PhantomData<O>,
}

impl<O: Operation> OnWork<O> {
    /// The operation with its task or its projects, and the operand as it was given.
    pub fn resolve(self, context: &Context) -> Result<(O, Option<String>), Stop> {
        let Self { mut fields, operand, projects, .. } = self;
        let task = operand.as_deref().map(|operand| context.task(operand)).transpose()?;
        let projects = match (&task, projects.is_empty()) {
            (None, true) => vec![context.project(None)?],
            (Some(_), true) | (_, false) => projects,
        };
        fields.insert("task".to_owned(), task.map_or(Value::Null, |task| task.to_string().into()));
        let keys = projects.iter().map(|key| Value::from(key.as_str())).collect();
        fields.insert("projects".to_owned(), Value::Array(keys));
        Ok((tenure_core::json::parse(Value::Object(fields))?, operand))
    }
}

impl<O: Operation + Args> Args for OnWork<O> {
    fn augment_args(command: Command) -> Command {
        with_operand(O::augment_args(command), false).arg(
            Arg::new("projects")
                .long("project")
                .value_name("KEY")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(ProjectKey))
                .help(
                    "A project to take from; the one that this checkout is bound to when absent; repeatable",
                ),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Operation + Args> FromArgMatches for OnWork<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let operand = typed(matches, "task");
        let projects = matches.get_many("projects").into_iter().flatten().cloned().collect();
        let fields = fields(&O::from_arg_matches(matches)?);
        Ok(Self { fields, operand, projects, operation: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
