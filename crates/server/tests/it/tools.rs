//! Tools for models by HTTP, in raw messages: what every revision of the protocol gets, and what no client of it sends.

use serde_json::{Value, json};
use tenure_core::token::{Token, TokenKind};

use crate::daemon::{Served, served, served_with_a_task};
use crate::tokens::{administered, made, revoke, with};
use crate::wire::{Answer, Request, request};

const CLIENT: &str = "198.51.100.1";
const STATEFUL: [&str; 2] = ["2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";

/// One message of this revision.
fn message(revision: &str, method: &str, mut params: Value) -> Request {
    let request = request("POST", "/mcp")
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", revision);
    let request = if revision == STATELESS {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let named = params["name"].as_str().map(str::to_owned);
        let request = request.header("Mcp-Method", method);
        named.into_iter().fold(request, |request, name| request.header("Mcp-Name", &name))
    } else {
        request
    };
    request.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string())
}

/// What one asks who has this token, or who is on this machine.
struct Model<'a> {
    served: &'a Served,
    token: Option<&'a Token>,
    revision: &'a str,
}

impl Model<'_> {
    fn send(&self, request: Request) -> Answer {
        match self.token {
            Some(token) => self.served.ask_from(CLIENT, with(token, request)),
            None => self.served.ask(&request),
        }
    }

    fn ask(&self, method: &str, params: Value) -> Value {
        let answer = self.send(message(self.revision, method, params));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.value()
    }

    /// Whether a tool refused, and its answer.
    fn tell(&self, tool: &str, arguments: Value) -> (bool, Value) {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        let result = self.ask("tools/call", params)["result"].clone();
        let text = result["content"][0]["text"].as_str().expect("a text");
        assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), result["structuredContent"]);
        (result["isError"] == true, result["structuredContent"].clone())
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let (refused, answer) = self.tell(tool, arguments);
        assert!(!refused, "{tool}: {answer}");
        answer
    }

    fn refused(&self, tool: &str, arguments: Value) -> Value {
        let (refused, answer) = self.tell(tool, arguments);
        assert!(refused, "{tool}: {answer}");
        answer
    }

    fn open(&self, name: &str) -> Value {
        self.call("session_open", json!({ "name": name }))["session"]["id"].clone()
    }
}

#[test]
fn every_revision_is_greeted_in_its_way_and_works_the_loop() {
    let served = served_with_a_task();
    for (revision, name) in STATEFUL.into_iter().chain([STATELESS]).zip(["one", "two", "three"]) {
        let model = Model { served: &served, token: None, revision };
        let greeting = if revision == STATELESS {
            model.ask("server/discover", json!({}))["result"].clone()
        } else {
            let client = json!({ "name": "raw", "version": "1" });
            let hello = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
            let told = model.ask("initialize", hello)["result"].clone();
            assert_eq!(told["protocolVersion"], revision);
            told
        };
        assert!(
            greeting["instructions"].as_str().is_some_and(|text| text.contains("session_open")),
            "{greeting}"
        );
        let listed = model.ask("tools/list", json!({}))["result"].clone();
        assert_eq!(listed["tools"][0]["name"], "session_open", "{revision}");
        assert_eq!(listed, model.ask("tools/list", json!({}))["result"]);

        let session = model.open(name);
        let created = model.call(
            "task_create",
            json!({ "session": session, "project": "afc", "title": format!("of {name}") }),
        );
        let task = &created["task"]["id"];
        let claimed = model.call("claim", json!({ "session": session, "task": task }));
        let lease = &claimed["lease"];
        let held = |arguments: Value| {
            let mut arguments = arguments;
            for (handle, value) in [("session", &session), ("task", task), ("lease", lease)] {
                arguments[handle] = value.clone();
            }
            arguments
        };
        model.call("heartbeat", held(json!({})));
        model.call("note", held(json!({ "text": "begun" })));
        let without = model.refused("heartbeat", json!({ "session": session, "task": task }));
        assert_eq!(without["code"], "not_holder", "{without}");
        let closed = model.call("close", held(json!({ "note": "done" })));
        assert_eq!(closed["task"]["status"], "done");
        let again = model.refused("heartbeat", held(json!({})));
        assert!(again["next_actions"][0].is_string(), "{again}");
    }
}

#[test]
fn a_change_that_is_asked_for_again_under_its_id_is_the_same() {
    let served = served_with_a_task();
    let model = Model { served: &served, token: None, revision: STATEFUL[0] };
    let open = json!({ "name": "worker", "operation_id": "my-session" });
    let first = model.call("session_open", open.clone());
    assert_eq!(first["session"]["id"], model.call("session_open", open)["session"]["id"]);
    let session = &first["session"]["id"];
    let create = json!({ "session": session, "project": "afc", "title": "once", "operation_id": "mine" });
    let (one, two) = (model.call("task_create", create.clone()), model.call("task_create", create));
    assert_eq!(one["task"]["id"], two["task"]["id"]);
    assert_eq!(one["operation_id"], "mine");
    let other = json!({ "session": session, "project": "afc", "title": "else", "operation_id": "mine" });
    assert_eq!(model.refused("task_create", other)["code"], "operation_conflict");
    let full = |tool: &str, arguments: Value| {
        let call = message(STATEFUL[0], "tools/call", json!({ "name": tool, "arguments": arguments }));
        served.ask(&call.to("/mcp/full")).value()["result"]["structuredContent"].clone()
    };
    let drawn =
        model.call("note", json!({ "session": session, "task": "afc-1", "text": "x" }))["operation_id"]
            .clone();
    let again = json!({ "session": session, "task": "afc-1", "text": "x", "operation_id": drawn });
    let noted = model.call("note", again);
    assert_eq!(full("history", json!({ "task": "afc-1" }))["total"], 1, "{noted}");
}

#[test]
fn the_subagents_of_one_connection_are_sessions_of_their_own() {
    let served = served_with_a_task();
    let model = Model { served: &served, token: None, revision: STATELESS };
    let parent = model.open("lead");
    let [one, two] = ["lead.1", "lead.2"].map(|name| {
        let opened = model.call("session_open", json!({ "name": name, "parent": parent }));
        assert_eq!(opened["session"]["parent"], parent);
        opened["session"]["id"].clone()
    });
    let claimed = model.call("claim", json!({ "session": one, "task": "afc-1" }));
    let refused = model.refused("claim", json!({ "session": two, "task": "afc-1" }));
    assert_eq!(refused["code"], "lease_held");
    let foreign = json!({ "session": two, "task": "afc-1", "lease": claimed["lease"], "text": "x" });
    assert_eq!(model.refused("note", foreign)["code"], "not_holder");
    let taken = model.refused("session_open", json!({ "name": "lead.1" }));
    assert_eq!(taken["code"], "name_in_use");
    let steps = taken["next_actions"].to_string();
    assert!(steps.contains(one.as_str().expect("an id")), "who lost the id finds it again: {steps}");
}

#[test]
fn what_a_token_may_is_judged_with_each_call() {
    let served = administered();
    let reader = made(&served, "reader", TokenKind::Agent, 1, true);
    let agent = made(&served, "agent", TokenKind::Agent, 2, false);
    let other = made(&served, "other", TokenKind::Agent, 3, false);
    let by = |token| Model { served: &served, token: Some(token), revision: STATEFUL[1] };
    assert_eq!(by(&reader).refused("session_open", json!({}))["code"], "token_read_only");
    let opened = by(&agent).call("session_open", json!({}));
    assert_eq!(opened["session"]["name"], "agent", "an agent's token says whose it is");
    let session = opened["session"]["id"].clone();
    let next = json!({ "session": session, "project": "afc" });
    assert_eq!(by(&agent).refused("next", next.clone())["code"], "not_found", "there is no project");
    assert_eq!(by(&other).refused("next", next.clone())["code"], "session_unknown", "an id proves nothing");
    let nameless = Model { served: &served, token: None, revision: STATEFUL[1] };
    assert_eq!(nameless.refused("next", next.clone())["code"], "session_unknown", "on this machine neither");
    revoke(&served, &agent);
    let answer =
        by(&agent).send(message(STATEFUL[1], "tools/call", json!({ "name": "next", "arguments": next })));
    assert_eq!((answer.status, answer.code().as_str()), (401, "unauthenticated"));
}

#[test]
fn a_call_needs_the_door_like_every_other_request() {
    let served = administered();
    let token = made(&served, "agent", TokenKind::Agent, 1, false);
    let model = Model { served: &served, token: Some(&token), revision: STATELESS };
    let list = || message(STATELESS, "tools/list", json!({}));
    assert_eq!(model.send(list()).status, 200);
    assert_eq!(served.ask_from(CLIENT, list()).status, 401);
    assert_eq!(model.send(list().header("Origin", "http://evil.example")).status, 403);
    assert_eq!(model.send(list().header("Origin", "null")).status, 403);
    assert_eq!(model.send(list().header("Host", "evil.example")).status, 421);
    assert_eq!(
        served.ask(&list().header("Origin", "http://evil.example")).status,
        403,
        "on the socket as well"
    );
}

#[test]
fn what_no_client_sends_is_refused_as_the_protocol_says() {
    let served = served();
    let model = Model { served: &served, token: None, revision: STATEFUL[1] };
    let post = |body: &str| {
        let request = request("POST", "/mcp").header("Accept", "application/json, text/event-stream");
        served.ask(&request.json(body))
    };
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    for (body, code) in [
        ("{", -32700),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700),
        (format!("[{call}]").as_str(), -32600),
        ("{}", -32600),
        ("7", -32600),
    ] {
        let answer = post(body);
        assert_eq!(
            (answer.status, &answer.value()["error"]["code"]),
            (400, &json!(code)),
            "{body}: {}",
            answer.body
        );
    }
    let unknown = model.ask("tools/call", json!({ "name": "task_destroy", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(model.ask("no/such/method", json!({}))["error"]["code"], -32601);
    let stateless = message(STATELESS, "no/such/method", json!({}));
    assert_eq!(served.ask(&stateless).status, 404);
    let outlandish = message(STATELESS, "tools/list", json!({}))
        .without("MCP-Protocol-Version")
        .header("MCP-Protocol-Version", "2099-01-01");
    let answer = served.ask(&outlandish);
    assert!(
        [-32022, -32020].contains(&answer.value()["error"]["code"].as_i64().unwrap_or_default()),
        "{}",
        answer.body
    );
    let of_other = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01",
        "io.modelcontextprotocol/clientInfo": { "name": "raw", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } } });
    let answer = served.ask(
        &request("POST", "/mcp")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2099-01-01")
            .header("Mcp-Method", "tools/list")
            .json(&of_other.to_string()),
    );
    assert_eq!((answer.status, &answer.value()["error"]["code"]), (400, &json!(-32022)), "{}", answer.body);
    for method in ["GET", "DELETE", "PUT"] {
        let answer = served.ask(&request(method, "/mcp").header("Accept", "text/event-stream"));
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")), "{method}");
    }
    let huge = post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#, "x".repeat(1 << 20)));
    assert_eq!(huge.status, 413);
    let form = request("POST", "/mcp").header("Content-Type", "text/plain").body(b"{}");
    assert_eq!(served.ask(&form).status, 415);
}

#[test]
fn a_session_of_the_protocol_is_not_needed_and_an_old_one_does_no_harm() {
    let served = served_with_a_task();
    let list = message(STATEFUL[0], "tools/list", json!({})).header("Mcp-Session-Id", "of-another-server");
    let answer = served.ask(&list);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.header("mcp-session-id"), None);
}

#[test]
fn a_greeting_gives_a_label_that_opens_nothing() {
    let served = served_with_a_task();
    let client = json!({ "name": "raw", "version": "1" });
    let hello =
        |revision: &str| json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    let labels = STATEFUL.map(|revision| {
        let answer = served.ask(&message(revision, "initialize", hello(revision)));
        answer.header("mcp-session-id").expect("a label").to_owned()
    });
    assert_ne!(labels[0], labels[1]);
    let next =
        message(STATEFUL[0], "tools/call", json!({ "name": "next", "arguments": { "project": "afc" } }));
    let refused = served.ask(&next.header("Mcp-Session-Id", &labels[0])).value()["result"].clone();
    assert_eq!(refused["structuredContent"]["code"], "session_required", "{refused}");
    for method in ["GET", "DELETE"] {
        let asked = request(method, "/mcp").header("Accept", "text/event-stream");
        assert_eq!(served.ask(&asked.header("Mcp-Session-Id", &labels[0])).status, 405);
    }
    let cancelled = request("POST", "/mcp")
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", STATEFUL[0])
        .header("Mcp-Session-Id", &labels[0])
        .json(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    assert_eq!(served.ask(&cancelled).status, 202, "there is no such call");
}

#[test]
fn all_operations_of_an_agent_are_offered_where_they_are_wanted() {
    let served = served_with_a_task();
    let model = Model { served: &served, token: None, revision: STATEFUL[0] };
    let page = message(STATEFUL[0], "tools/call", json!({ "name": "events", "arguments": { "limit": 1 } }));
    let default = served.ask(&page).value();
    assert_eq!(default["error"]["code"], -32602, "it is not one of the loop");
    let full = |arguments: Value| {
        let call = message(STATEFUL[0], "tools/call", json!({ "name": "events", "arguments": arguments }));
        served.ask(&call.to("/mcp/full")).value()["result"]["structuredContent"].clone()
    };
    let one = full(json!({ "limit": 1 }));
    let two = full(json!({ "limit": 1, "after": one["cursor"] }));
    assert_eq!((one["more"].as_bool(), &two["events"][0]["number"]), (Some(true), &json!(2)));
    assert_eq!(model.refused("ready", json!({}))["code"], "ambiguous_project");
}
