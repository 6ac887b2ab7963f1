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
        let mut model = Self::started(place, agent);
        let client = json!({ "name": "raw", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        assert_eq!(model.ask("initialize", &hello)["result"]["protocolVersion"], "2025-06-18");
        model.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        model
    }

    /// One that has not said a word.
    fn started(place: &Place, agent: &str) -> Self {
        let mut command = place.command(agent, &["mcp"]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Self { child, input, lines: BufReader::new(output).lines(), asked: 0 }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("open"), "{line}").expect("it listens");
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let asked = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": asked, "method": method, "params": params }).to_string());
        let message = self.hears();
        assert_eq!(message["id"], asked, "{message}");
        message
    }

    /// The next message.
    fn hears(&mut self) -> Value {
        let line = self.lines.next().expect("an answer").expect("text");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"))
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

#[test]
fn what_no_client_sends_is_answered_and_ends_nothing() {
    let place = Place::bound();
    let mut model = Model::new(&place, "ada");
    let huge = json!({ "jsonrpc": "2.0", "id": 7, "method": "x".repeat(2 << 20) }).to_string();
    for (line, code) in [
        (r#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600),
        ("{}", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, -32601),
        (&huge, -32601),
    ] {
        model.say(line);
        let answer = model.hears();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    model.say("{");
    assert_eq!(model.ask("ping", &json!({}))["result"], json!({}), "what is no message is passed over");
    assert!(model.ends_well());
}

#[test]
fn a_revision_that_is_not_served_is_answered_with_those_that_are() {
    let place = Place::bound();
    let client = json!({ "name": "raw", "version": "1" });
    let mut model = Model::started(&place, "ada");
    let hello = json!({ "protocolVersion": "2099-01-01", "capabilities": {}, "clientInfo": client });
    assert_eq!(model.ask("initialize", &hello)["result"]["protocolVersion"], "2025-11-25");
    assert!(model.ends_well());
    let mut model = Model::started(&place, "ada");
    let meta = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientInfo": client,
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let refused = model.ask("tools/list", &meta);
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    assert_eq!(refused["error"]["data"]["supported"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
}
