//! The table of who may do what, tried cell by cell with tools for models.

use serde_json::{Value, json};
use tenure_core::operation::catalog::entries;
use tenure_core::operation::permission::{Condition, OF_AUTHORITY, Permission, Standing, permission};
use tenure_core::operation::{Access, Effect, FENCE_REFUSALS};

use crate::permissions::{Scene, Way, input};
use crate::tokens::revoke;
use crate::wire::{Answer, request};

/// The result of calling a tool: the answer, and the code if it was refused. A tool that is not there has none.
fn called(answer: &Answer) -> Option<(Value, Option<String>)> {
    let result = answer.value()["result"].clone();
    let content = result["structuredContent"].clone();
    let code = (result["isError"] == true).then(|| content["code"].as_str().expect("a code").to_owned());
    (!result.is_null()).then_some((content, code))
}

impl Scene {
    fn tool(&self, name: &str, arguments: &Value, standing: Standing) -> Answer {
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments },
        });
        let request = request("POST", "/mcp/full")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", "2025-11-25")
            .json(&call.to_string());
        match standing {
            Standing::Reporter => {
                let bearer = format!("Bearer {}", self.reporter.as_str());
                self.by(request.header("Authorization", &bearer), standing, Way::Network)
            }
            Standing::Stranger
            | Standing::Reader
            | Standing::Caller
            | Standing::Session
            | Standing::Member
            | Standing::Operator
            | Standing::Administrator
            | Standing::Console
            | Standing::Browser => self.by(request, standing, Way::Network),
        }
    }
}

#[test]
fn every_cell_of_the_table_is_so_for_tools() {
    for entry in entries() {
        let scene = Scene::begin();
        scene.close_last();
        let opened = scene.tool("session_open", &json!({ "name": "robin" }), Standing::Caller);
        let (opened, _) = called(&opened).expect("a tool");
        let tool = entry.spec.name.replace(['.', '-'], "_");
        let plain =
            if entry.spec.name == "session.open" { json!({ "name": "somebody" }) } else { input(&entry) };
        let mut in_session = plain.clone();
        if entry.spec.access == Access::Session {
            in_session["session"] = opened["session"]["id"].clone();
        }
        assert_eq!(scene.tool(&tool, &plain, Standing::Stranger).code(), "unauthenticated", "{tool}");
        assert_eq!(scene.tool(&tool, &plain, Standing::Reporter).code(), "reporter_limited", "{tool}");
        // A model has no password and no console: whatever else there is to be, it is one of these.
        for (standing, arguments) in
            [(Standing::Reader, &plain), (Standing::Caller, &plain), (Standing::Session, &in_session)]
        {
            let answer = scene.tool(&tool, arguments, standing);
            let what = format!("{tool} as {standing}: {}", answer.body);
            let Some((_, code)) = called(&answer) else {
                assert!(!entry.spec.is_for_agents(), "{what}");
                continue;
            };
            assert!(entry.spec.is_for_agents(), "{what}");
            let is_of_authority =
                code.as_ref().is_some_and(|code| OF_AUTHORITY.iter().any(|known| known.as_str() == code));
            match permission(&entry.spec, standing) {
                // It names no session and so hears that first.
                Permission::Refused(_) if entry.spec.access == Access::Session => {
                    assert_eq!(code.as_deref(), Some("session_required"), "{what}");
                }
                Permission::Refused(refused) => assert_eq!(code.as_deref(), Some(refused.as_str()), "{what}"),
                Permission::If(Condition::Holder) => {
                    assert!(
                        FENCE_REFUSALS.iter().any(|known| code.as_deref() == Some(known.as_str())),
                        "{what}"
                    );
                }
                Permission::If(Condition::OwnName) => {
                    assert_eq!(code.as_deref(), Some("token_mismatch"), "{what}");
                }
                Permission::Granted | Permission::If(_) => assert!(!is_of_authority, "{what}"),
            }
        }
        let reads = entry.spec.access == Access::Session && entry.spec.is_for_agents();
        if reads && entry.spec.effect != Effect::Read {
            let (_, code) = called(&scene.tool(&tool, &in_session, Standing::Reader)).expect("a tool");
            assert_eq!(
                code.as_deref(),
                Some("token_read_only"),
                "{tool} in a session that is not the reader's"
            );
        }
        revoke(&scene.served, &scene.agent);
        assert_eq!(scene.tool(&tool, &in_session, Standing::Session).code(), "unauthenticated", "{tool}");
    }
}
