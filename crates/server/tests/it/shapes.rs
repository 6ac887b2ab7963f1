//! The answers that do not depend on an operation: unknown routes, health, versions, descriptions.

use tenure_core::operation::catalog;

use crate::daemon::{served, served_with_a_task};
use crate::patience::until;
use crate::wire::{get, mutation, request};

#[test]
fn an_unknown_route_names_those_of_its_noun() {
    let served = served();
    let answer = served.ask(&get("/api/v1/task/afc-1"));
    assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"));
    assert!(answer.body.contains("GET /api/v1/tasks/{task}"), "{}", answer.body);
    let lost = served.ask(&get("/nowhere/at/all"));
    assert!(lost.body.contains("/openapi.json"), "{}", lost.body);
}

#[test]
fn a_wrong_method_names_the_right_ones() {
    let served = served();
    let answer = served.ask(&request("DELETE", "/api/v1/tasks/afc-1"));
    assert_eq!((answer.status, answer.code().as_str()), (405, "invalid_input"));
    let allowed = answer.header("allow").expect("an Allow header");
    assert!(allowed.contains("GET") && allowed.contains("PATCH"), "{allowed}");
}

#[test]
fn a_store_that_cannot_tell_is_reported_as_such_and_nothing_more() {
    let served = served();
    served.engine.as_ref().expect("open").close();
    for request in [mutation("POST", "/api/v1/tasks/afc-1/release", "{}"), get("/readyz")] {
        let answer = served.ask(&request);
        assert_eq!((answer.status, answer.code().as_str()), (503, "cannot_tell"));
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(served.ask(&get("/healthz")).status, 200);
}

#[test]
fn readiness_is_a_write_probe_at_most_once_a_second() {
    let served = served();
    let time = || served.ask(&get("/readyz")).value()["fleet_time"].clone();
    let ready = served.ask(&get("/readyz"));
    assert_eq!((ready.status, &ready.value()["ready"]), (200, &true.into()), "{}", ready.body);
    assert!(ready.value()["disk_free_bytes"].is_u64() && ready.value()["schema"].is_u64());
    let times: Vec<_> = (0..20).map(|_| time()).collect();
    assert!(times.windows(2).any(|pair| pair[0] == pair[1]), "twenty questions are fewer commits: {times:?}");
    until("a later probe commits again", || time() != times[0]);
}

#[test]
fn a_daemon_says_who_it_is_and_whether_it_is_busy() {
    let served = served();
    let version = served.ask(&get("/version")).value();
    assert_eq!((&version["name"], &version["protocol"]), (&"tenure".into(), &1.into()));
    let answer = served.ask(&get("/api/v1/info"));
    assert_eq!(answer.header("tenure-protocol"), Some("1"));
    let info = answer.value();
    assert_eq!((&info["pid"], &info["epoch"]), (&std::process::id().into(), &1.into()));
    assert!(info["fleet"].is_string() && info["started_at"].is_u64(), "{info}");
    assert_eq!(
        (&info["busy"], &info["queued"]),
        (&false.into(), &0.into()),
        "a request does not count itself"
    );
}

#[test]
fn an_answer_of_the_daemon_has_the_fields_that_the_document_describes() {
    let served = served();
    let document = tenure_server::http::openapi();
    for path in ["/healthz", "/readyz", "/version", "/api/v1/info", "/api/v1/audit", "/api/v1/instructions"] {
        let described = &document["paths"][path]["get"];
        assert!(described["summary"].as_str().is_some_and(|text| !text.is_empty()), "{path}");
        let schema = &described["responses"]["200"]["content"]["application/json"]["schema"]["$ref"];
        let place = schema.as_str().and_then(|place| place.strip_prefix('#')).expect("a named schema");
        let schema = document.pointer(place).expect("it resolves");
        let described = schema["properties"].as_object().expect("an object").keys();
        let answer = served.ask(&get(path)).value();
        assert!(described.eq(answer.as_object().expect("an object").keys()), "{path}: {answer} {schema}");
    }
}

#[test]
fn the_record_is_checked_on_demand() {
    let served = served_with_a_task();
    let report = served.ask(&get("/api/v1/audit")).value();
    assert_eq!((&report["intact"], &report["flaw"]), (&true.into(), &serde_json::Value::Null), "{report}");
    assert!(report["events"].as_u64().is_some_and(|events| events > 2), "{report}");
}

#[test]
fn the_record_is_checked_against_what_was_noted_elsewhere() {
    let served = served_with_a_task();
    let ask = |expect: &str| served.ask(&get(&format!("/api/v1/audit?expect={expect}")));
    let report = served.ask(&get("/api/v1/audit")).value();
    let anchor = report["anchor"].as_str().expect("an anchor").to_owned();
    assert_eq!(ask(&anchor).value()["intact"], true, "{anchor}");
    let (event, hash) = anchor.split_once(':').expect("a number and a hash");
    let other = if hash.starts_with('0') { "1" } else { "0" };
    let rewritten = ask(&format!("{event}:{other}{}", &hash[1..])).value();
    assert_eq!((&rewritten["intact"], &rewritten["anchor"]), (&false.into(), &serde_json::Value::Null));
    assert_eq!(rewritten["flaw"]["kind"], "rewritten");
    assert!(
        rewritten["flaw"]["detail"].as_str().is_some_and(|told| told.contains("was rewritten")),
        "{rewritten}"
    );
    let cut = ask(&format!("999:{hash}")).value();
    assert!(
        cut["flaw"]["detail"].as_str().is_some_and(|told| told.contains("the record ends before it")),
        "{cut}"
    );
    let refused = ask("nothing");
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("is not an anchor"), "{}", refused.body);
}

#[test]
fn the_document_describes_every_operation() {
    let served = served();
    let document = served.ask(&get("/openapi.json")).value();
    assert_eq!(document, tenure_server::http::openapi());
    let text = document["paths"].to_string();
    for id in ["health.alive", "health.ready", "version", "openapi", "info", "audit", "shutdown"] {
        assert!(text.contains(&format!("\"operationId\":\"{id}\"")), "{id}");
    }
    for entry in catalog::entries() {
        assert!(text.contains(&format!("\"operationId\":\"{}\"", entry.spec.name)), "{}", entry.spec.name);
    }
}
