//! The routes as somebody finds them who knows the document alone: `schemathesis` makes requests of it, right and wrong ones,
//! and every answer must be one that the document describes, and none a failure of the server.

use std::process::Command;

use serde_json::{Value, json};
use tenure_core::secret::SessionSecret;

use super::python::tool;
use super::scene::{Scene, Way};

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asker {
    /// Somebody whom the server does not know.
    Stranger,
    /// Somebody with a token.
    Caller,
    /// The same in an open session.
    Session,
}

/// What is looked at in each answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance";
/// The requests are the same in every run.
const SEED: &str = "20260728";
/// How many drawn requests each operation gets beside those that try the edges of its schema.
const EXAMPLES: &str = "TENURE_EXAMPLES";
/// The session of all requests, and what proves it.
const SESSION: &str = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
/// Longest wait that a request asks for, in milliseconds.
const WAIT_MS: u64 = 20;

fn try_all(asker: Asker) {
    let scene = Scene::begin(Way::Loopback);
    let folder = scene.host.root.path();
    let document = folder.join("openapi.json");
    let mut described = tenure_server::http::openapi();
    shorten_waits(&mut described);
    std::fs::write(&document, described.to_string()).expect("written");
    let examples = std::env::var(EXAMPLES).ok();
    // A stranger hears the same everywhere, so few requests are enough.
    let phases = if asker == Asker::Stranger && examples.is_none() { "fuzzing" } else { "coverage,fuzzing" };
    let mut command = Command::new(tool("st"));
    command
        .arg("run")
        .arg(&document)
        .args(["--url", &scene.url, "--checks", CHECKS, "--phases", phases, "--seed", SEED])
        .args(["--max-examples", examples.as_deref().unwrap_or("2")])
        .args(["--no-shrink", "--continue-on-failure", "--warnings", "off", "--request-timeout", "90"])
        .current_dir(folder)
        .env_clear();
    for header in headers(&scene, asker) {
        command.args(["--header", &header]);
    }
    if asker == Asker::Session {
        // All that follows is asked in the session.
        command.args(["--exclude-operation-id", "session.close"]);
    }
    let ran = command.output().expect("it starts");
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{told}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(told.contains(" passed"), "nothing was asked: {told}");
    scene.host.ok("lead", &["audit", "verify"]);
}

/// What comes with every request.
fn headers(scene: &Scene, asker: Asker) -> Vec<String> {
    if asker == Asker::Stranger {
        return Vec::new();
    }
    let pass = scene.pass("mill");
    let mut headers = vec![format!("Authorization: Bearer {}", pass.token)];
    if asker == Asker::Session {
        let proof = SessionSecret::new([7; 32]).session_proof();
        let open = json!({ "session": SESSION, "proof_hash": proof.hash(), "name": "spinner" }).to_string();
        pass.work.ok("opener", &["call", "session.open", &open]);
        headers.push(format!("{}: {SESSION}", tenure_core::wire::SESSION));
        headers.push(format!("{}: {}", tenure_core::wire::PROOF, proof.to_wire()));
    }
    headers
}

/// Describes no wait that would take long.
fn shorten_waits(described: &mut Value) {
    match described {
        Value::Object(map) => {
            if map.get("name").is_some_and(|name| name == "wait_ms") {
                map["schema"]["maximum"] = WAIT_MS.into();
            }
            if let Some(wait) = map.get_mut("wait_ms").filter(|wait| wait.is_object()) {
                wait["maximum"] = WAIT_MS.into();
            }
            map.values_mut().for_each(shorten_waits);
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_waits),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn schemathesis_hears_nothing_that_the_document_does_not_describe_as_a_stranger() {
    try_all(Asker::Stranger);
}

#[test]
fn schemathesis_hears_nothing_that_the_document_does_not_describe_with_a_token() {
    try_all(Asker::Caller);
}

#[test]
fn schemathesis_hears_nothing_that_the_document_does_not_describe_in_a_session() {
    try_all(Asker::Session);
}
