//! Tools over standard input and output: the real program, spoken to in lines.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::place::Place;

/// A model's end of the pipes. Each line of standard output must be a message.
struct Model {
    child: Child,
    input: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Model {
    fn new(place: &Place, agent: &str) -> Self {
        let mut command = place.command(agent, &["mcp"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let mut model = Self { child, input, lines: BufReader::new(output).lines(), asked: 0 };
        let client = json!({ "name": "raw", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        assert_eq!(model.ask("initialize", &hello)["result"]["protocolVersion"], "2025-06-18");
        model.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        model
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("open"), "{line}").expect("it listens");
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let asked = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": asked, "method": method, "params": params }).to_string());
        let line = self.lines.next().expect("an answer").expect("text");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
        assert_eq!(message["id"], asked, "{message}");
        message
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        result["result"]["structuredContent"].clone()
    }

    /// Ends the input, and says whether the program ended well and silent.
    fn ends_well(mut self) -> bool {
        self.input = None;
        self.lines.next().is_none() && self.child.wait().expect("it ends").success()
    }
}

#[test]
fn a_model_that_calls_tools_and_types_commands_is_one_agent() {
    let place = Place::bound();
    let task = place.task("the first", &[]);
    let mut model = Model::new(&place, "ada");
    let claimed = model.call("claim", &json!({}));
    assert_eq!(claimed["task"]["id"], task.as_str(), "the project is that of the checkout: {claimed}");
    place.ok("ada", &["heartbeat"]);
    place.ok("ada", &["note", "typed"]);
    let refused = model.call("claim", &json!({ "task": task, "session": "0".repeat(32) }));
    assert_eq!(refused["code"], "session_unknown", "{refused}");
    let closed = model.call("close", &json!({ "task": task, "lease": claimed["lease"], "note": "called" }));
    assert_eq!(closed["task"]["status"], "done", "{closed}");
    assert!(model.ends_well());
}

#[test]
fn subagents_of_one_process_are_sessions_of_their_own() {
    let place = Place::bound();
    let task = place.task("the first", &[]);
    let mut model = Model::new(&place, "ada");
    let parent = model.call("session_open", &json!({}))["session"]["id"].clone();
    let [one, two] = ["ada.1", "ada.2"].map(|name| {
        let open = json!({ "name": name, "parent": parent });
        let opened = model.call("session_open", &open)["session"].clone();
        assert_eq!((&opened["parent"], opened["name"].as_str()), (&parent, Some(name)));
        assert_eq!(model.call("session_open", &open)["session"]["id"], opened["id"]);
        opened["id"].clone()
    });
    model.call("claim", &json!({ "session": one, "task": task }));
    let refused = model.call("claim", &json!({ "session": two, "task": task }));
    assert_eq!(refused["code"], "lease_held", "{refused}");
    assert!(model.ends_well());
}

#[test]
fn standard_output_carries_the_protocol_alone_whatever_becomes_of_the_daemon() {
    let place = Place::bound();
    place.stop();
    let mut model = Model::new(&place, "ada");
    let create = json!({ "title": "once", "operation_id": "mine" });
    let first = model.call("task_create", &create);
    assert_eq!(first["operation_id"], "mine", "{first}");
    place.stop();
    let again = model.call("task_create", &create);
    assert_eq!(again["task"]["id"], first["task"]["id"], "{again}");
    model.say("{");
    let unknown = model.ask("tools/call", &json!({ "name": "task_destroy", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert!(model.ends_well());
}
