//! What a command needs beside its arguments: the store's daemon, who calls, and which project is meant. Each is
//! found out when it is first needed, so that a command costs only what it uses.

use std::cell::OnceCell;
use std::io::IsTerminal;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use tenure_client::ask::{Answered, Chosen};
use tenure_client::autostart::Start;
use tenure_client::call::Client;
use tenure_client::failure::Failure;
use tenure_client::identity::{Identity, Surroundings, identify};
use tenure_client::place::{self, Place, Wish};
use tenure_client::processes;
use tenure_client::repository::{self, Checkout};
use tenure_client::session::{Particulars, Session};
use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::model::limits::{PAGE_ROWS_DEFAULT, check_line};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::digest::TellDigest;
use tenure_core::operation::project::{BindingView, ListProjects, ResolveProject};
use tenure_core::operation::queue::Ready;
use tenure_core::operation::record::{ListEvents, Statistics};
use tenure_core::operation::session::ListSessions;
use tenure_core::operation::task::{FindTask, ListTasks};
use tenure_core::operation::{Access, Effect, Fencing, Operation, Spec};
use tenure_core::wire;

use crate::environment::{own_program, variable};
use crate::fields;
use crate::near;
use crate::person::As;
use crate::progress::Progress;
use crate::project_key;
use crate::render::{Page, Show, joined};
use crate::screen::Screen;
use crate::stop::{Stop, usage};

/// The surroundings of one command.
pub struct Context {
    /// How to answer.
    pub screen: Screen,
    /// The name given with `--session`.
    pub session_name: Option<String>,
    /// What the command line says about the place.
    pub wish: Wish,
    /// The folder the command was given in.
    pub folder: PathBuf,
    /// What a harness has told with a call instead of in the environment.
    pub told: Vec<(&'static str, String)>,
    client: OnceCell<Client>,
    session: OnceCell<Session>,
}

/// The lists whose rows are one short line each for a person, and how many of them an answer has room for.
const SHORT_ROWS: [(&str, u32); 7] = [
    (Ready::SPEC.name, PAGE_ROWS_DEFAULT),
    (ListTasks::SPEC.name, PAGE_ROWS_DEFAULT),
    (ListEvents::SPEC.name, PAGE_ROWS_DEFAULT),
    (ListSessions::SPEC.name, PAGE_ROWS_DEFAULT),
    (ListProjects::SPEC.name, PAGE_ROWS_DEFAULT),
    (Statistics::SPEC.name, PAGE_ROWS_DEFAULT),
    (TellDigest::SPEC.name, 4),
];

impl Context {
    /// The surroundings of a command that answers like this.
    pub fn new(screen: Screen, session_name: Option<String>, wish: Wish) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        let (client, session) = (OnceCell::new(), OnceCell::new());
        Self { screen, session_name, wish, folder, told: Vec::new(), client, session }
    }

    /// Where the coordinator is.
    pub fn place(&self) -> Result<Place, Stop> {
        Ok(place::find(&self.wish, &variable)?)
    }

    /// The folder of this machine's own store.
    pub fn store(&self) -> Result<PathBuf, Stop> {
        Ok(place::store(&self.wish, &variable)?)
    }

    /// The caller of the store's daemon.
    pub fn client(&self) -> Result<&Client, Stop> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        if std::io::stderr().is_terminal() {
            self.say_place()?;
        }
        let client = self.another_client()?;
        Ok(self.client.get_or_init(|| client))
    }

    /// A caller of its own, for a thread that calls beside this one.
    pub fn another_client(&self) -> Result<Client, Stop> {
        let screen = self.screen.clone();
        let notice = Box::new(move |text: &str| screen.remark(&format!("tenure: {text}")));
        let start = Start { program: own_program()?, arguments: Vec::new() };
        Ok(Client::at(&self.place()?, Some(start), notice)?)
    }

    /// A caller that is nobody: it has no token, and no session is looked for.
    pub fn nameless_client(&self) -> Result<Client, Stop> {
        let screen = self.screen.clone();
        let notice = Box::new(move |text: &str| screen.remark(&format!("tenure: {text}")));
        match self.place()? {
            Place::Server(server) => Ok(Client::with_token(server, None, notice)?),
            Place::Local(folder) => {
                let start = Start { program: own_program()?, arguments: Vec::new() };
                Ok(Client::new(&folder, Some(start), notice))
            }
        }
    }

    fn say_place(&self) -> Result<(), Stop> {
        let remark = match self.place()? {
            Place::Server(server) => format!("server: {}", server.url),
            Place::Local(store) => match std::fs::read_to_string(store.join(wire::DATABASE_MARKER)) {
                Ok(place) => format!("server here: {}; its store: {}", store.display(), place.trim()),
                Err(_) => format!("local store: {}, this machine only", store.display()),
            },
        };
        self.screen.remark(&remark);
        Ok(())
    }

    /// Who calls.
    pub fn identity(&self) -> Result<Identity, Refusal> {
        let told = |name: &str| {
            let told = self.told.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
            told.or_else(|| variable(name))
        };
        identify(&Surroundings {
            explicit: self.session_name.as_deref(),
            variable: &told,
            process: &processes::process,
            pid: std::process::id(),
        })
    }

    /// The caller's session; opened when it has none.
    pub fn session(&self) -> Result<&Session, Stop> {
        if let Some(session) = self.session.get() {
            return Ok(session);
        }
        let session = self.open_session(&Particulars::default())?;
        Ok(self.session.get_or_init(|| session))
    }

    /// The caller's session, if it has one already.
    pub fn known_session(&self) -> Result<Option<Session>, Stop> {
        Ok(Session::existing(self.client()?, &self.identity()?)?)
    }

    /// Opens the caller's session.
    pub fn open_session(&self, particulars: &Particulars) -> Result<Session, Stop> {
        let identity = self.identity()?;
        let session = Session::open(self.client()?, &identity, particulars)?;
        if session.is_new && !std::io::stderr().is_terminal() {
            self.say_place()?;
        }
        Ok(session)
    }

    /// Asks for an operation, as the caller's session where it needs one.
    pub fn call<O: Operation>(&self, operation: &O) -> Result<Answered<O::Answer>, Stop> {
        let input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
        Ok(Answered::read(self.ask(&O::SPEC, &input)?)?)
    }

    /// The same for any operation by its description. Whoever named what is not there is told what is nearest.
    pub fn ask(&self, spec: &Spec, input: &Value) -> Result<Vec<u8>, Stop> {
        self.ask_with(spec, input, &Chosen::default())
    }

    /// The same, of which the caller chooses something itself.
    pub fn ask_with(&self, spec: &Spec, input: &Value, chosen: &Chosen) -> Result<Vec<u8>, Stop> {
        // Whoever asked to wait knows that it takes a while.
        let waits = input.get("wait_ms").is_some_and(|wait| !wait.is_null());
        let progress = (!waits).then(|| Progress::of_daemon(&self.screen));
        let asked = self.ask_as_it_is(spec, input, chosen);
        drop(progress);
        if asked.is_ok() && spec.effect != Effect::Read {
            self.screen.changed();
        }
        asked.map_err(|stop| match stop {
            Stop::Failure(Failure::Refused(mut refusal)) if refusal.code == Code::NotFound => {
                if let Some(step) = self.client().ok().and_then(|client| near::step(input, client)) {
                    // It says more than what is said of whatever is not there.
                    refusal.next_actions.retain(|usual| usual != Code::NotFound.remedy());
                    refusal.next_actions.push(step);
                }
                Stop::Failure(Failure::Refused(refusal))
            }
            stop => stop,
        })
    }

    fn ask_as_it_is(&self, spec: &Spec, input: &Value, chosen: &Chosen) -> Result<Vec<u8>, Stop> {
        if spec.access == Access::Anyone && spec.effect == Effect::Read {
            return Ok(self.client()?.ask(spec, input, None)?);
        }
        if spec.access.is_authenticated() {
            let whose = self.password_of(spec, input)?;
            return self.ask_person(spec, input, &As::default(), whose.as_ref());
        }
        let session = self.session()?;
        match self.client()?.ask_with(spec, input, Some(session), chosen) {
            Err(Failure::Refused(refusal)) if may_open_anew(spec, &refusal, session)? => {
                self.screen.remark(&format!("tenure: {}; a new session was opened", refusal.detail));
                let anew = Particulars { instead_of: Some(session.id.clone()), ..Particulars::default() };
                let session = self.open_session(&anew)?;
                Ok(self.client()?.ask(spec, input, Some(&session))?)
            }
            Err(Failure::Refused(mut refusal)) if session.is_ended_by(&refusal) => {
                refusal.next_actions.push("tenure session open --anew".to_owned());
                Err(Stop::Failure(Failure::Refused(refusal)))
            }
            outcome => Ok(outcome?),
        }
    }

    /// Asks for an operation and prints its answer.
    pub fn perform<O: Operation>(&self, operation: &O) -> Result<(), Stop>
    where
        O::Answer: Show,
    {
        self.check_fields(SchemaGenerator::subschema_for::<O::Answer>)?;
        let answered = match self.short_rows(operation) {
            Some(operation) => self.call(&operation)?,
            None => self.call(operation)?,
        };
        self.print(&answered)
    }

    /// The same question for more rows than a program gets by default, because a person's are shorter than JSON.
    fn short_rows<O: Operation>(&self, operation: &O) -> Option<O> {
        let (_, rows) = SHORT_ROWS.into_iter().find(|(name, _)| *name == O::SPEC.name)?;
        let mut input = serde_json::to_value(operation).expect("inputs are plain data and always serialise");
        if self.screen.json.is_some() || input.get("limit").is_some_and(|limit| !limit.is_null()) {
            return None;
        }
        input["limit"] = rows.into();
        tenure_core::json::parse(input).ok()
    }

    /// Asks for an operation on a task that was named by `operand`, and prints its answer. A name that looks like
    /// an id of another tracker may be an alias here.
    pub fn perform_on<O: Operation>(&self, (operation, operand): (O, Option<String>)) -> Result<(), Stop>
    where
        O::Answer: Show,
    {
        self.check_fields(SchemaGenerator::subschema_for::<O::Answer>)?;
        let answered = self.call_on(&operation, operand.as_deref())?;
        self.print(&answered)
    }

    /// Asks for an operation on a task that was named by `operand`.
    pub fn call_on<O: Operation>(
        &self,
        operation: &O,
        operand: Option<&str>,
    ) -> Result<Answered<O::Answer>, Stop> {
        match (self.call(operation), operand) {
            (Err(Stop::Failure(failure)), Some(operand)) if failure.code() == Code::NotFound => {
                let Ok(task) = self.alias(operand) else { return Err(failure.into()) };
                let mut input = serde_json::to_value(operation).expect("inputs are plain data");
                input["task"] = Value::String(task.to_string());
                self.call(&tenure_core::json::parse::<O>(input)?)
            }
            (outcome, _) => outcome,
        }
    }

    /// Refuses fields that `--json` names and an answer of this schema cannot have, before anything is asked for.
    pub fn check_fields(&self, schema: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Result<(), Stop> {
        match self.screen.json.as_deref() {
            None | Some([]) => Ok(()),
            Some(names) => fields::check(names, schema),
        }
    }

    /// The same for what the command line itself tells.
    pub fn check_own<T: JsonSchema>(&self) -> Result<(), Stop> {
        self.check_fields(SchemaGenerator::subschema_for::<T>)
    }

    /// Prints an answer: as it came, some fields of it, or for a person.
    pub fn print<A: Show + tenure_core::operation::Answer>(
        &self,
        answered: &Answered<A>,
    ) -> Result<(), Stop> {
        match self.screen.json {
            Some(_) => self.print_as(answered, ""),
            None => self.print_as(answered, &Page::of(&answered.value)),
        }
    }

    /// Prints an answer that says more to a person in these words.
    pub fn print_as<A: tenure_core::operation::Answer>(
        &self,
        answered: &Answered<A>,
        human: &str,
    ) -> Result<(), Stop> {
        if self.screen.json.is_some() {
            return self.print_json(&answered.json, SchemaGenerator::subschema_for::<A>);
        }
        self.screen.page(human);
        Ok(())
    }

    /// Prints an answer of this schema as it came, or some fields of it.
    pub fn print_json(
        &self,
        json: &[u8],
        schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
    ) -> Result<(), Stop> {
        match self.screen.json.as_deref() {
            None | Some([]) => self.screen.json(&String::from_utf8_lossy(json)),
            Some(names) => self.screen.json(&fields::filter(json, names, schema)?),
        };
        Ok(())
    }

    /// Prints what the command line itself tells: as JSON, some fields of it, or for a person.
    pub fn print_own<T: Serialize + JsonSchema>(&self, told: &T, human: &str) -> Result<(), Stop> {
        if self.screen.json.is_none() {
            self.screen.page(human);
            return Ok(());
        }
        let value = serde_json::to_value(told).expect("reports are plain data and always serialise");
        self.print_json(value.to_string().as_bytes(), SchemaGenerator::subschema_for::<T>)
    }

    /// Prints what is no operation's answer.
    pub fn print_value(&self, value: &Value, human: &str) -> Result<(), Stop> {
        match self.screen.json.as_deref() {
            None => self.screen.page(human),
            Some([]) => {
                self.screen.json(&value.to_string());
            }
            Some(names) => {
                self.screen.json(&fields::filter_value(value, names)?);
            }
        }
        Ok(())
    }

    /// The Git checkout that the command was given in.
    pub fn checkout(&self) -> Option<Checkout> {
        repository::checkout(&self.folder)
    }

    /// The project: the named one, else the one that this checkout is bound to.
    pub fn project(&self, named: Option<&ProjectKey>) -> Result<ProjectKey, Stop> {
        if let Some(named) = named {
            return Ok(named.clone());
        }
        let Some(checkout) = self.checkout() else {
            return Err(Refusal::new(
                Code::AmbiguousProject,
                "no project is named and this folder lies in no Git checkout",
            )
            .next("name it with --project KEY; `tenure project list` shows them")
            .into());
        };
        match self.binding(&checkout)? {
            Some(binding) => Ok(binding.project),
            None => Err(Refusal::new(
                Code::AmbiguousProject,
                format!("no project is named and {} is bound to none", checkout.top.display()),
            )
            .next(project_key::next_step(&checkout))
            .next("name it with --project KEY; `tenure project list` shows them")
            .into()),
        }
    }

    /// What binds a checkout to its project.
    pub fn binding(&self, checkout: &Checkout) -> Result<Option<BindingView>, Stop> {
        let question =
            ResolveProject { repositories: checkout.identities.clone(), folder: checkout.folder.clone() };
        let client = self.client()?;
        let _progress = Progress::of_daemon(&self.screen);
        match client.call(&question, None) {
            Ok(answer) => Ok(Some(answer.value.binding)),
            Err(failure) if failure.code() == Code::NotFound => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    /// The task that an operand names: by id, else by alias.
    pub fn task(&self, operand: &str) -> Result<TaskId, Stop> {
        operand.parse().or_else(|_| self.alias(operand))
    }

    fn alias(&self, alias: &str) -> Result<TaskId, Stop> {
        check_line("the task's name", alias).map_err(|refusal| refusal.fact("field", "task"))?;
        let project = self.project(None)?;
        let found = self.client()?.call(&FindTask { project, alias: alias.to_owned() }, None)?;
        Ok(found.value.task.id)
    }

    /// The task that the caller holds, if it is exactly one in this checkout's project.
    pub fn held_task(&self) -> Result<TaskId, Stop> {
        let identity = self.identity()?;
        let session = self.known_session()?;
        let mut held = session.map(|session| session.held()).transpose()?.unwrap_or_default();
        let everywhere = held.clone();
        if let Some(checkout) = self.checkout()
            && let Some(binding) = self.binding(&checkout)?
        {
            held.retain(|task| task.project == binding.project);
        }
        match &held[..] {
            [task] => Ok(task.clone()),
            [] if everywhere.is_empty() => Err(usage(
                format!("no task is named, and {} holds none", identity.name),
                "name the task, or take one with `tenure claim`",
            )),
            [] => Err(usage(
                format!("no task is named; {} holds none here, but {}", identity.name, joined(&everywhere)),
                "name the task",
            )),
            several => Err(usage(
                format!("{} holds {} tasks here: {}", identity.name, several.len(), joined(several)),
                "name one of them",
            )),
        }
    }
}

/// Whether a session that is over can be followed by another in silence: only when it holds nothing.
fn may_open_anew(spec: &Spec, refusal: &Refusal, session: &Session) -> Result<bool, Stop> {
    Ok(session.is_ended_by(refusal) && spec.fencing != Fencing::Required && session.held()?.is_empty())
}
