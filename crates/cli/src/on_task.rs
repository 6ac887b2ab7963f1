//! Operations as arguments, with what only the command line does for them: a task that may be left out or named by
//! an alias, a project that is inferred, and long text from a file.

use std::marker::PhantomData;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde_json::{Map, Value};
use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::operation::Operation;

use crate::context::Context;
use crate::long_text;
use crate::stop::{Stop, usage};

/// Stands in the parsed request until the operand, as it was typed, is looked up. It is never sent.
const NONE_GIVEN: &str = "none-1";

/// An operation on one task. With `DEFAULTED` the task may be left out: then it is the one that is held.
#[derive(Debug, Clone)]
pub struct OnTask<O, const DEFAULTED: bool> {
    fields: Map<String, Value>,
    operand: Option<String>,
    file: Option<PathBuf>,
    operation: PhantomData<O>,
}

/// An operation in one project, which may be named or inferred.
#[derive(Debug, Clone)]
pub struct InProject<O> {
    fields: Map<String, Value>,
    /// The project that was named.
    pub project: Option<ProjectKey>,
    file: Option<PathBuf>,
    operation: PhantomData<O>,
}

impl<O: Operation, const DEFAULTED: bool> OnTask<O, DEFAULTED> {
    /// The operation with its task, and the operand as it was given.
    pub fn resolve(self, context: &Context) -> Result<(O, Option<String>), Stop> {
        let mut fields = self.fields;
        let has_text = fields.contains_key("text");
        let mut operand = self.operand;
        if has_text && self.file.is_none() && fields["text"] == "" {
            // Of `note [TASK] TEXT` one operand alone is the text, unless it is plainly a task.
            let text = operand.take().filter(|text| text.parse::<TaskId>().is_err()).ok_or_else(|| {
                usage(
                    "the text is missing",
                    "give it as an argument, with --file FILE, or as `-` on standard input",
                )
            })?;
            fields.insert("text".to_owned(), Value::String(text));
        } else if has_text && self.file.is_some() && fields["text"] != "" {
            return Err(usage("the text is given twice", "give it as an argument or with --file, not both"));
        }
        let main = long_text::main_field(|field| has_text || field != "text");
        long_text::fill(&mut fields, main, self.file.as_deref())?;
        let task = match &operand {
            Some(operand) => context.task(operand)?,
            None => context.held_task()?,
        };
        fields.insert("task".to_owned(), Value::String(task.to_string()));
        Ok((tenure_core::json::parse(Value::Object(fields))?, operand))
    }
}

impl<O: Operation> InProject<O> {
    /// The operation in its project.
    pub fn resolve(self, context: &Context) -> Result<O, Stop> {
        let mut fields = self.fields;
        long_text::fill(&mut fields, Some("description"), self.file.as_deref())?;
        let project = context.project(self.project.as_ref())?;
        fields.insert("project".to_owned(), Value::String(project.to_string()));
        Ok(tenure_core::json::parse(Value::Object(fields))?)
    }
}

fn has(command: &Command, id: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == id)
}

fn with_file(command: Command) -> Command {
    match long_text::main_field(|field| has(&command, field)) {
        None => command,
        Some(field) => command.arg(
            Arg::new("file")
                .long("file")
                .value_name("FILE")
                .value_parser(clap::value_parser!(PathBuf))
                .help(format!("Read the {field} from a file; `-` reads standard input")),
        ),
    }
}

fn file(matches: &mut ArgMatches) -> Option<PathBuf> {
    matches.try_remove_one("file").ok().flatten()
}

/// What was typed for an argument, if it was typed.
pub fn typed(matches: &ArgMatches, id: &str) -> Option<String> {
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return None;
    }
    Some(matches.get_raw(id)?.next()?.to_string_lossy().into_owned())
}

/// Reads an id; any other operand is looked up as an alias later.
fn lenient(text: &str) -> Result<TaskId, String> {
    if text.is_empty() {
        return Err("a task's name is not empty".to_owned());
    }
    text.parse().or_else(|_| NONE_GIVEN.parse())
}

/// Lets a command's task be an alias, and where `defaulted` be left out.
pub fn with_operand(mut command: Command, defaulted: bool) -> Command {
    // An argument that is changed moves behind the others, so every operand's place is written down first.
    let operands: Vec<_> = command.get_positionals().map(|argument| argument.get_id().clone()).collect();
    for (place, id) in (1..).zip(operands) {
        command = command.mut_arg(id, |argument| argument.index(place));
    }
    let command = command.mut_arg("task", |argument| {
        let argument = argument.value_parser(lenient);
        if defaulted {
            argument.required(false).default_value(NONE_GIVEN).hide_default_value(true)
        } else {
            argument
        }
    });
    if has(&command, "text") {
        command
            .mut_arg("text", |argument| argument.required(false).default_value("").hide_default_value(true))
    } else {
        command
    }
}

impl<O: Operation + Args, const DEFAULTED: bool> Args for OnTask<O, DEFAULTED> {
    fn augment_args(command: Command) -> Command {
        let help = if DEFAULTED {
            "The task, by id or alias; the one that is held here when absent"
        } else {
            "The task, by id or alias"
        };
        let command = with_operand(O::augment_args(command), DEFAULTED);
        with_file(command.mut_arg("task", |argument| argument.help(help)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Operation + Args, const DEFAULTED: bool> FromArgMatches for OnTask<O, DEFAULTED> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        let operand = typed(matches, "task");
        let file = file(matches);
        let fields = fields(&O::from_arg_matches_mut(matches)?);
        Ok(Self { fields, operand, file, operation: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<O: Operation + Args> Args for InProject<O> {
    fn augment_args(command: Command) -> Command {
        with_file(O::augment_args(command)).arg(
            Arg::new("project")
                .long("project")
                .value_name("KEY")
                .value_parser(clap::value_parser!(ProjectKey))
                .help("The project; the one that this checkout is bound to when absent"),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: Operation + Args> FromArgMatches for InProject<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        let file = file(matches);
        let project = matches.remove_one("project");
        let fields = fields(&O::from_arg_matches_mut(matches)?);
        Ok(Self { fields, project, file, operation: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The fields of an operation as they travel.
pub fn fields<O: Operation>(operation: &O) -> Map<String, Value> {
    match serde_json::to_value(operation) {
        Ok(Value::Object(fields)) => fields,
        other => unreachable!("an operation is an object, not {other:?}"),
    }
}
