//! The tools: one for each operation that an agent can ask for, from the one list of operations.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};
use tenure_core::model::limits::TOOL_WAIT_MS_MAX;
use tenure_core::model::refusal::Refusal;
use tenure_core::operation::catalog::{AnyOperation, Entry, entries};
use tenure_core::operation::digest::TellDigest;
use tenure_core::operation::label::ListLabels;
use tenure_core::operation::ownership::{Claim, Close, HandOff, Release};
use tenure_core::operation::queue::{Next, Ready};
use tenure_core::operation::session::OpenSession;
use tenure_core::operation::task::{CancelTask, CreateTask, FindTask, ListTasks};
use tenure_core::operation::tools::{LOOP, Profile};
use tenure_core::operation::wait::Wait;
use tenure_core::operation::{Access, Effect, Fencing, Operation, Spec};

use super::schema;

/// The argument that names the caller's session.
pub const SESSION: &str = "session";
/// The argument that names what the caller holds.
pub const LEASE: &str = "lease";
/// The argument under which a change is known, so that the same one again is the same.
pub const OPERATION_ID: &str = "operation_id";
/// The argument that says where long texts go on.
pub const TEXTS_FROM: &str = "texts_from";

/// Longest description, in bytes: whole paragraphs, and at least the first.
const DESCRIPTION_BYTES: usize = 300;

/// What opening a session needs and no model can give: who carries the call out fills it in.
const FILLED_IN: [&str; 5] = ["session", "proof_hash", "conversation", "harness", "workstation"];
/// The operations of a project that may go without its name where the carrier knows one.
const OF_A_PROJECT: [&str; 7] = [
    Ready::SPEC.name,
    Next::SPEC.name,
    CreateTask::SPEC.name,
    ListTasks::SPEC.name,
    FindTask::SPEC.name,
    ListLabels::SPEC.name,
    TellDigest::SPEC.name,
];
/// What ends a holder's authority, which nothing gives back.
const ENDING: [&str; 4] = [Close::SPEC.name, HandOff::SPEC.name, Release::SPEC.name, CancelTask::SPEC.name];

/// A tool: an operation, and how a model sees it.
pub struct Tool {
    /// What is constant about the operation.
    pub spec: Spec,
    /// Reads the operation's input.
    pub read: fn(Value) -> Result<AnyOperation, Refusal>,
    /// The tool's name: the operation's, with an underscore where that has a dot.
    pub name: String,
    /// Whether the operation's input names a project.
    pub of_project: bool,
    input: Value,
    output: Value,
    description: String,
}

/// Every tool, in the order of the list of operations.
static TOOLS: LazyLock<Vec<Tool>> =
    LazyLock::new(|| entries().iter().filter(|entry| entry.spec.is_for_agents()).map(Tool::of).collect());

/// The tools of a profile, always in the same order.
pub fn tools(profile: Profile) -> impl Iterator<Item = &'static Tool> {
    let place = |tool: &&Tool| LOOP.iter().position(|name| *name == tool.spec.name);
    let mut tools: Vec<&'static Tool> = TOOLS.iter().collect();
    if profile == Profile::Default {
        tools.retain(|tool| place(tool).is_some());
        tools.sort_by_key(place);
    }
    tools.into_iter()
}

impl Tool {
    fn of(entry: &Entry) -> Self {
        let spec = entry.spec;
        let mut input = schema::given(&schema::of(entry.input));
        let description =
            described(&spec, input.get("description").and_then(Value::as_str).unwrap_or_default());
        let fields = input.as_object_mut().expect("an operation's input is an object");
        fields.remove("description");
        let mut properties = match fields.remove("properties") {
            Some(Value::Object(properties)) => properties,
            _ => Map::new(),
        };
        let of_project = OF_A_PROJECT.contains(&spec.name);
        let is_open = spec.name == OpenSession::SPEC.name;
        let mut required = fields.remove("required").unwrap_or_default();
        if let Value::Array(names) = &mut required {
            let may_be_absent = |name: &Value| is_open || (of_project && name == "project");
            names.retain(|name| !may_be_absent(name));
        }
        if is_open {
            properties.retain(|name, _| !FILLED_IN.contains(&name.as_str()));
        }
        if let Some(wait) = properties.get_mut("wait_ms") {
            wait["maximum"] = TOOL_WAIT_MS_MAX.into();
        }
        properties.extend(handles(&spec));
        fields.insert("type".to_owned(), json!("object"));
        fields.insert("properties".to_owned(), Value::Object(properties));
        if required.as_array().is_some_and(|names| !names.is_empty()) {
            fields.insert("required".to_owned(), required);
        }
        fields.insert("additionalProperties".to_owned(), json!(false));
        let mut output = schema::outline(&schema::of(entry.answer));
        let named = output["properties"].as_object_mut().expect("an answer is an object");
        if spec.effect != Effect::Read {
            named.insert(OPERATION_ID.to_owned(), json!({ "type": "string" }));
        }
        if spec.name == Claim::SPEC.name {
            named.insert(LEASE.to_owned(), json!({ "type": "string" }));
        }
        let name = spec.name.replace('.', "_");
        Self { spec, read: entry.read, name, of_project, input, output, description }
    }

    /// The tool as MCP lists it.
    #[must_use]
    pub fn listed(&self) -> Value {
        let mut annotations =
            json!({ "readOnlyHint": self.spec.effect == Effect::Read, "openWorldHint": false });
        match self.spec.effect {
            Effect::Read => {}
            // With the same operation id it is idempotent; without one each call is another.
            Effect::Write => annotations["destructiveHint"] = ENDING.contains(&self.spec.name).into(),
            Effect::Light => {
                annotations["destructiveHint"] = false.into();
                annotations["idempotentHint"] = true.into();
            }
        }
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input,
            "outputSchema": self.output,
            "annotations": annotations,
        })
    }

    /// Whether the operation takes an argument of this name.
    #[must_use]
    pub fn takes(&self, name: &str) -> bool {
        self.input["properties"].get(name).is_some()
    }

    /// Whether the operation is one of those that take a list of projects where no task is named.
    #[must_use]
    pub fn of_projects(&self) -> bool {
        [Claim::SPEC.name, Wait::SPEC.name].contains(&self.spec.name)
    }
}

/// The operation's help, as far as each conversation can afford it.
fn described(spec: &Spec, help: &str) -> String {
    // How a client proves its session is no concern of who calls a tool.
    let bytes = if spec.name == OpenSession::SPEC.name { 0 } else { DESCRIPTION_BYTES };
    let mut description = String::new();
    for paragraph in help.split("\n\n") {
        if !description.is_empty() && description.len() + paragraph.len() > bytes {
            break;
        }
        if !description.is_empty() {
            description.push_str("\n\n");
        }
        description.push_str(paragraph);
    }
    description
}

/// The arguments in which a call carries what other surfaces keep beside it.
fn handles(spec: &Spec) -> Vec<(String, Value)> {
    let text = |name: &str, description: &str| {
        (name.to_owned(), json!({ "type": "string", "description": description }))
    };
    let mut handles = Vec::new();
    if spec.access == Access::Session {
        handles.push(text(SESSION, "Your session's id"));
    } else if spec.name == OpenSession::SPEC.name {
        handles.push(text(SESSION, "A session of yours that this one replaces"));
    }
    if spec.fencing != Fencing::None {
        handles.push(text(LEASE, "The lease that claim answered"));
    }
    match spec.effect {
        Effect::Read => {
            let from = json!({ "type": "integer", "description": "Where cut texts go on" });
            handles.push((TEXTS_FROM.to_owned(), from));
        }
        Effect::Write | Effect::Light => {
            handles.push(text(OPERATION_ID, "Repeats the call of this id"));
        }
    }
    handles
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// What a model pays for a profile before it does anything, in bytes.
    fn size(profile: Profile) -> usize {
        json!({ "tools": tools(profile).map(Tool::listed).collect::<Vec<_>>() }).to_string().len()
    }

    #[test]
    fn every_operation_of_an_agent_is_a_tool_and_nothing_else_is() {
        let named: BTreeSet<&str> = tools(Profile::Full).map(|tool| tool.spec.name).collect();
        let (agents, others): (Vec<_>, Vec<_>) =
            entries().into_iter().partition(|entry| entry.spec.is_for_agents());
        assert_eq!(named, agents.iter().map(|entry| entry.spec.name).collect());
        assert!(others.iter().any(|entry| entry.spec.name == "token.create"));
        assert_eq!(named.len(), tools(Profile::Full).map(|tool| &tool.name).collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn the_tools_of_the_loop_are_cheap() {
        assert!(size(Profile::Default) <= 16 * 1024, "{} bytes", size(Profile::Default));
        assert!(size(Profile::Full) <= 64_000, "{} bytes", size(Profile::Full));
    }

    #[test]
    fn no_handle_hides_a_field_of_an_operation() {
        for entry in entries().iter().filter(|entry| entry.spec.is_for_agents()) {
            let input = schema::of(entry.input);
            for (name, _) in handles(&entry.spec) {
                let is_hidden = input["properties"].get(&name).is_some();
                assert!(
                    !is_hidden || entry.spec.name == OpenSession::SPEC.name,
                    "{} {name}",
                    entry.spec.name
                );
            }
        }
    }

    #[test]
    fn a_tool_says_what_it_is_and_does() {
        for tool in tools(Profile::Full) {
            let listed = tool.listed();
            let (name, description) = (&tool.name, listed["description"].as_str().unwrap_or_default());
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(
                description.len() > 8 && !description.contains("reads standard input"),
                "{name}: {description}"
            );
            assert_eq!(listed["inputSchema"]["type"], "object", "{name}");
            assert!(!listed.to_string().contains("$ref"), "{name}");
            for (field, schema) in listed["inputSchema"]["properties"].as_object().expect("fields") {
                assert!(schema["description"].is_string(), "{name} {field}: {schema}");
                assert!(
                    schema.get("type").or_else(|| schema.get("anyOf")).is_some(),
                    "{name} {field}: {schema}"
                );
            }
            let reads = listed["annotations"]["readOnlyHint"] == true;
            assert_eq!(reads, tool.spec.effect == Effect::Read, "{name}");
        }
    }
}
