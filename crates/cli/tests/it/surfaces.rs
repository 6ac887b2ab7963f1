//! Every operation on every surface that generic code makes: its route, the document, the typed client, the command
//! line. (The reference pages are looked at in xtask.)

use serde_json::Value;
use tenure_core::operation::catalog;

use crate::place::Place;

#[test]
fn any_operation_can_be_called_by_its_name() {
    let place = Place::bound();
    let call = |words: &[&str]| place.json("ada", &[&["call"], words].concat());
    let created = call(&["task.create", r#"{"project":"afc","title":"by name"}"#]);
    assert_eq!(created["task"]["id"], "afc-1");
    assert_eq!(call(&["claim", r#"{"task":"afc-1"}"#])["attempt"], "afc-1@1");
    let beat = call(&["heartbeat", r#"{"task":"afc-1"}"#]);
    assert_eq!(beat["attempt"], "afc-1@1", "the lease of the session's file is named: {beat}");
    assert!(call(&["stats"])["events"].is_u64());
    let fed = place.fed("ada", &["call", "note", "-"], br#"{"task":"afc-1","text":"fed"}"#);
    assert_eq!(fed.code, 0, "{}", fed.err);
    let some = place.ok("ada", &["call", "ready", r#"{"project":"afc"}"#, "--json=id"]);
    assert!(some.out.contains(r#""tasks":[]"#), "{}", some.out);
    assert_eq!(place.run("bob", &["call", "close", r#"{"task":"afc-1"}"#]).code, 3);
}

#[test]
fn what_cannot_be_called_is_refused_before_anything_is_started() {
    let place = Place::new();
    for (words, says) in [
        (&["call", "task.craete"][..], "task.create"),
        (&["call", "overdue.record"], "there is no operation"),
        (&["call", "stats", "{"], "JSON"),
        (&["call", "stats", "[]"], "JSON object"),
        (&["call", "stats", r#"{"x":1}"#], "unknown field"),
        (&["call", "task.show", r#"{"task":"a-1","task":"a-2"}"#], "occurs twice"),
    ] {
        let ran = place.run("ada", words);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(says), "{words:?}: {}", ran.err);
    }
    assert!(!place.state().exists());
}

#[test]
fn every_operation_of_the_list_is_in_the_document_of_the_daemon() {
    let place = Place::bound();
    let document: Value =
        serde_json::from_slice(&place.client().get("/openapi.json").expect("answered")).expect("JSON");
    let text = document["paths"].to_string();
    for entry in catalog::entries() {
        assert!(text.contains(&format!("\"operationId\":\"{}\"", entry.spec.name)), "{}", entry.spec.name);
    }
}

#[cfg(feature = "dummy-operation")]
#[test]
fn a_new_operation_is_reachable_on_every_surface_without_a_line_for_it() {
    use tenure_core::operation::dummy::Echo;

    let place = Place::bound();
    let text = "hello/there ünd + mehr";
    let echo = Echo { text: text.to_owned() };
    assert_eq!(place.client().call(&echo, None).expect("answered").value.text, text, "the typed client");
    let by_route = place.client().get("/api/v1/dummy/hello%20there").expect("answered");
    assert_eq!(by_route, br#"{"text":"hello there"}"#, "the route");
    let document = place.client().get("/openapi.json").expect("answered");
    let document: Value = serde_json::from_slice(&document).expect("JSON");
    assert_eq!(document["paths"]["/api/v1/dummy/{text}"]["get"]["operationId"], "dummy.echo", "the document");
    let input = serde_json::json!({ "text": text }).to_string();
    assert_eq!(place.json("ada", &["call", "dummy.echo", &input])["text"], text, "the command line");
}
