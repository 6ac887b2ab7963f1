//! Exports in a storm, and their way into another fleet and back: the same state gives the same bytes, a fleet that gets
//! its own export records nothing, and a copy tells all that was promised to come along.
//!
//! What is exported here is what a daemon would send, and what is imported goes through a batch as every other command
//! does. The judge compares exports as plain JSON and shares nothing with the importer.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::import::Report;
use tenure_core::model::time::WallTime;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::record::{ImportAnswer, ImportFormat, PreviewImport};
use tenure_engine::execute::read;
use tenure_engine::export::write;

use super::agent::{Pending, Record, operation};
use super::check::Verdict;
use super::coordinator::Coordinator;
use super::store::{Plan, Store};
use super::time::Shown;
use super::trace::print_of;
use super::troubles::DURATIONS;
use super::world::{FLEET, World};

/// The fleet that a copy is made in.
const COPY: &str = "c0b70000000000000000000000000000";

/// Everything in a store, as it is exported.
fn export(store: &mut Store) -> Result<String, String> {
    let mut lines = Vec::new();
    write(store, &[], &mut lines).map_err(|error| format!("a sound store was not exported: {error}"))?;
    String::from_utf8(lines).map_err(|error| error.to_string())
}

/// What an import would report.
fn preview(store: &mut Store, clocks: Shown, text: &str) -> Result<Report, String> {
    let asked = PreviewImport { project: None, format: ImportFormat::Tenure, text: text.to_owned() };
    let (asked, wall) = (AnyOperation::from(asked), WallTime(clocks.wall));
    let answer = read(store, &asked, &Envelope::default(), wall, DURATIONS);
    let answer = answer.map_err(|error| error.to_string())?;
    let answer = answer.map_err(|refusal| format!("an export of our own cannot be imported: {refusal:?}"))?;
    let answer: ImportAnswer = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    must!(!answer.applied, "a preview says that it was applied");
    Ok(answer.report)
}

/// What is asked to import a text.
fn applying(text: &str) -> AnyOperation {
    operation("import.apply", json!({ "format": "tenure", "text": text }))
}

/// Refuses a report of an import that found or made anything new, in words that begin with `what`.
fn nothing_new(what: &str, report: &Report) -> Verdict {
    let is_new = report.created > 0 || !report.projects.is_empty();
    must!(!is_new, "{what}: {} tasks and projects {:?} were created", report.created, report.projects);
    Ok(())
}

/// A fleet on a machine of its own that nobody troubles, and somebody who imports there.
struct Another {
    store: Store,
    coordinator: Coordinator<()>,
    record: Record,
    clocks: Shown,
    requests: u64,
}

impl Another {
    /// Founds an empty fleet.
    fn found(record: Record, clocks: Shown) -> Result<Self, String> {
        let mut store = Store::in_memory();
        let coordinator = Coordinator::start(&mut store, COPY, clocks, 1, DURATIONS);
        let mut another = Self { store, coordinator, record, clocks, requests: 0 };
        let (name, input) = another.record.opening();
        another.run(operation(name, input))?;
        Ok(another)
    }

    fn run(&mut self, operation: AnyOperation) -> Result<String, String> {
        self.requests += 1;
        let request = Pending::new(self.requests, operation);
        let commands = vec![self.record.command(&request)];
        let done = self.coordinator.commit(&mut self.store, self.clocks, Plan::Sound, commands);
        let answer = done.outcome.map_err(|error| error.to_string())?.remove(0);
        self.record.take_answer(&request, &answer, 0);
        answer.map_err(|refusal| {
            format!("{} was refused elsewhere: {refusal:?}", request.operation.spec().name)
        })
    }

    /// Imports a text, and says what the import reported.
    fn import(&mut self, text: &str) -> Result<Report, String> {
        let answer = self.run(applying(text))?;
        let answer: ImportAnswer = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        Ok(answer.report)
    }
}

impl World {
    /// The record is written down, comes back to its own fleet, into another one, and from there home again; unless
    /// the coordinator cannot answer now.
    pub(super) fn pass(&mut self) -> Verdict {
        if self.is_asleep() || self.coordinator.as_ref().is_none_or(Coordinator::is_dead) {
            return Ok(());
        }
        let first = export(&mut self.store)?;
        must!(export(&mut self.store)? == first, "two exports of one state differ");
        let clocks = self.machine.clocks(self.agenda.now);
        self.passages += 1;
        let name = format!("ivy-{}", self.passages).parse().expect("a valid name");
        let mut here = Record::draw(&name, &mut self.dice);
        let (opening, input) = here.opening();
        self.run_as(&mut here, operation(opening, input))?;
        must!(
            export(&mut self.store)? == first,
            "an export shows that a session was opened after the one before"
        );

        let told = preview(&mut self.store, clocks, &first)?;
        let own = self.import(&mut here, "its own export", &first, &first)?;
        must!(own == told, "the preview told {told:?}, and the import did {own:?}");
        must!(own.left_alone.is_empty(), "its own export says otherwise of {:?}", own.left_alone);

        let mut another = Another::found(Record::draw(&name, &mut self.dice), clocks)?;
        let made = another.import(&first)?;
        must!(made.created == own.already_here, "{} tasks became {}", own.already_here, made.created);
        let copy = export(&mut another.store)?;
        let (from, to) = (promised(&first, clocks.wall)?, promised(&copy, clocks.wall)?);
        let missing = |told: &[String], of: &[String]| -> Vec<String> {
            of.iter().filter(|line| !told.contains(line)).cloned().collect()
        };
        must!(from == to, "a copy tells {:?} for {:?}", missing(&from, &to), missing(&to, &from));
        for (what, text) in [("the same export again", &first), ("the copy's own export", &copy)] {
            let again = another.import(text)?;
            nothing_new(what, &again)?;
            must!(again.left_alone.is_empty(), "{what} says otherwise of {:?}", again.left_alone);
            must!(export(&mut another.store)? == copy, "{what} changed the copy");
        }
        self.import(&mut here, "the copy's export", &copy, &first)?;
        self.say(&format!("{} lines pass into another fleet and back: {}", made.lines, print_of(&copy)));
        Ok(())
    }

    /// Somebody asks in peace.
    fn run_as(&mut self, record: &mut Record, operation: AnyOperation) -> Result<String, String> {
        self.requests += 1;
        let request = Pending::new(self.requests, operation);
        let answers = self.commit(&[record.command(&request)], Plan::Sound)?;
        let answer = answers.ok_or("the store is sound")?.remove(0);
        record.take_answer(&request, &answer, 0);
        answer.map_err(|refusal| format!("{} was refused: {refusal:?}", request.operation.spec().name))
    }

    /// Imports a text in which there is nothing new. No event is recorded, and everything is exported as it was.
    fn import(&mut self, who: &mut Record, what: &str, text: &str, before: &str) -> Result<Report, String> {
        let events = self.judge.events.len();
        let answer = self.run_as(who, applying(text))?;
        let answer: ImportAnswer = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
        nothing_new(what, &answer.report)?;
        must!(self.judge.events.len() == events, "{what} recorded {:?}", &self.judge.events[events..]);
        must!(export(&mut self.store)? == before, "{what} changed something");
        Ok(answer.report)
    }
}

/// What an export tells that every copy must tell as well, a line for each thing, with tasks named as in the fleet of the
/// storm. What a copy has of its own (numbers of tasks and events, revisions, who imported) is left out or brought
/// home; a date that has passed puts nothing off.
fn promised(text: &str, now: i64) -> Result<Vec<String>, String> {
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let lines = lines.map_err(|error| error.to_string())?;
    let is_copy = lines[0]["fleet"] != FLEET;
    let names: BTreeMap<String, String> = lines
        .iter()
        .filter(|line| line["record"] == "task")
        .map(|task| {
            let id = task["id"].as_str().unwrap_or_default();
            let name = if is_copy { home_of(task) } else { Some(id) };
            let name = name.ok_or_else(|| format!("{id} of the copy does not say where it comes from"))?;
            Ok((id.to_owned(), name.to_owned()))
        })
        .collect::<Result<_, String>>()?;
    let named = |id: &Value| json!(id.as_str().and_then(|id| names.get(id)));
    let mut told = Vec::new();
    let mut places: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in lines {
        match line["record"].as_str().unwrap_or_default() {
            "project" => told.push(json!(["project", line["key"], line["name"]]).to_string()),
            "task" => {
                must!(!is_copy || line["reserved"].is_null(), "a copy keeps a task for somebody: {line}");
                let successor = named(&line["successor"]);
                let mut task = at_home(line.clone(), now);
                (task["id"], task["successor"]) = (named(&line["id"]), successor);
                told.push(task.to_string());
            }
            "dependency" => {
                let edge = json!([named(&line["task"]), line["kind"], named(&line["on"]), line["optional"]]);
                told.push(edge.to_string());
            }
            // Blockers are numbered anew, and entries by events: their order is what passes.
            kind @ ("blocker" | "entry") => {
                let task = named(&line["task"]);
                let place = places.entry((kind.to_owned(), task.to_string())).or_default();
                *place += 1;
                let author = line.get("author").unwrap_or(&line["principal"]).clone();
                let mut passes = without(line, &["number", "raised_by", "attempt", "principal"]);
                (passes["task"], passes["author"], passes["place"]) = (task, author, json!(*place));
                told.push(passes.to_string());
            }
            "attempt" => must!(!is_copy, "somebody works in a copy: {line}"),
            _ => {}
        }
    }
    told.sort();
    Ok(told)
}

/// What a task is called in the fleet of the storm, if that is what this alias says.
fn at_fleet(alias: &Value) -> Option<&str> {
    alias.as_str()?.strip_prefix(FLEET)?.strip_prefix('/')
}

/// What a task of a copy is called at home.
fn home_of(task: &Value) -> Option<&str> {
    task["aliases"].as_array()?.iter().find_map(at_fleet)
}

/// A task as every copy tells it: what it was imported as is told of the copy, and by the original itself.
fn at_home(task: Value, now: i64) -> Value {
    let there = &task["imported"]["tenure"];
    let (was, imported) = if there["fleet"] == FLEET {
        (there.clone(), task["imported"]["imported"].clone())
    } else {
        (task.clone(), task["imported"].clone())
    };
    let aliases = task["aliases"].as_array().into_iter().flatten();
    let aliases: Vec<Value> = aliases.filter(|alias| at_fleet(alias).is_none()).cloned().collect();
    let is_over = task["deferred_until"].as_i64().is_some_and(|until| until <= now);
    let mut told = without(task, &["reserved"]);
    if is_over {
        told = without(told, &["deferred_until", "deferred_reason", "deferred_reopening"]);
    }
    (told["revision"], told["generation"]) = (was["revision"].clone(), was["generation"].clone());
    (told["imported"], told["aliases"]) = (imported, json!(aliases));
    told
}

/// A record without some of its fields.
fn without(mut record: Value, fields: &[&str]) -> Value {
    if let Some(known) = record.as_object_mut() {
        known.retain(|field, _| !fields.contains(&field.as_str()));
    }
    record
}
