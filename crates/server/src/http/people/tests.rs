//! People over HTTP: what it costs to name an account, and what is told and recorded.

use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::limits::GUESSES_OF_NAME;
use tenure_core::operation::record::ListEvents;
use tenure_engine::{Engine, Options};
use tower::ServiceExt;

use super::*;
use crate::http::router;

struct Server {
    app: Arc<App>,
    secret: String,
    _folder: tempfile::TempDir,
}

const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "staple of another sort";

/// What somebody sends beside an operation.
type Sent<'a> = &'a [(&'a str, &'a str)];

impl Server {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let engine = Engine::open(folder.path(), Options::default()).expect("a store");
        let app = App::new(engine, folder.path().to_owned()).expect("a store that can be read");
        let secret = app.console_secret().expect("asked").expect("there is no administrator");
        Self { app, secret, _folder: folder }
    }

    /// One with the administrator `ada`.
    async fn founded() -> Self {
        let server = Self::new();
        let (status, answer) = server.bootstrap("ada", PASSWORD, "op-first").await;
        assert_eq!(status, 200, "{answer}");
        server
    }

    async fn bootstrap(&self, name: &str, password: &str, id: &str) -> (u16, Value) {
        let sent = [(wire::CONSOLE, self.secret.as_str()), (wire::NEW_PASSWORD, password)];
        self.post("/accounts/bootstrap", &json!({ "name": name }), id, &sent).await
    }

    async fn post(&self, path: &str, body: &Value, id: &str, sent: Sent<'_>) -> (u16, Value) {
        let request = Request::post(format!("{}{path}", wire::API)).header("content-type", wire::JSON);
        self.send(request.header(wire::IDEMPOTENCY_KEY, id), Body::from(body.to_string()), sent).await
    }

    async fn send(
        &self,
        mut request: axum::http::request::Builder,
        body: Body,
        sent: Sent<'_>,
    ) -> (u16, Value) {
        for (name, value) in sent {
            request = request.header(*name, value.replace(' ', "%20"));
        }
        let response: Response =
            router(self.app.clone()).oneshot(request.body(body).expect("a request")).await.expect("answered");
        let status = response.status().as_u16();
        let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.expect("a body");
        (status, serde_json::from_slice(&bytes).expect("JSON"))
    }

    async fn list(&self, name: &str, password: &str) -> (u16, Value) {
        let request = Request::get(format!("{}/accounts", wire::API));
        self.send(request, Body::empty(), &[(wire::PERSON, name), (wire::PASSWORD, password)]).await
    }

    async fn create(&self, name: &str, role: &str, password: &str, id: &str) -> (u16, Value) {
        let sent = [(wire::PERSON, "ada"), (wire::PASSWORD, PASSWORD), (wire::NEW_PASSWORD, password)];
        self.post("/accounts", &json!({ "name": name, "role": role, "reason": "joins" }), id, &sent).await
    }

    /// The events of a kind, once everything that was begun is committed.
    fn events(&self, kind: &str) -> Vec<Value> {
        self.app.engine.probe().expect("a commit");
        let events = ListEvents { after: None, newest: false, task: None, limit: Some(1000) };
        let answer = self.app.engine.read(&events.into(), &Envelope::default()).expect("answered");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        let events = answer["events"].as_array().expect("events").clone();
        events.into_iter().filter(|event| event["kind"] == kind).collect()
    }
}

#[tokio::test]
async fn a_name_costs_as_many_hashes_whether_it_has_an_account_or_not() {
    let server = Server::founded().await;
    assert_eq!(server.create("bob", "member", OTHER, "op-bob").await.0, 200);
    let disable = json!({ "name": "bob", "disabled": true, "reason": "leaves" });
    let ada = [(wire::PERSON, "ada"), (wire::PASSWORD, PASSWORD)];
    assert_eq!(server.post("/accounts/edit", &disable, "op-off", &ada).await.0, 200);
    let mut told = Vec::new();
    for (name, password) in [("ada", OTHER), ("nobody", OTHER), ("bob", OTHER), ("bob", PASSWORD)] {
        let before = server.app.people.hashed();
        let (status, answer) = server.list(name, password).await;
        assert_eq!(server.app.people.hashed() - before, 1, "{name}");
        told.push((status, answer["code"].clone(), answer["detail"].clone()));
    }
    assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "all hear the same: {told:?}");
    assert_eq!((told[0].0, &told[0].1), (401, &json!("authentication_failed")));
    for name in ["ada", "nobody"] {
        let sent =
            [(wire::PERSON, name), (wire::PASSWORD, OTHER), (wire::NEW_PASSWORD, "yet another phrase")];
        let before = server.app.people.hashed();
        assert_eq!(server.post("/accounts/password", &json!({}), "op-none", &sent).await.0, 401);
        assert_eq!(server.app.people.hashed() - before, 2, "{name}");
    }
}

#[tokio::test]
async fn guessing_has_to_wait_and_says_how_long_whatever_the_name() {
    let server = Server::founded().await;
    for name in ["ada", "nobody"] {
        for _ in 0..GUESSES_OF_NAME {
            assert_eq!(server.list(name, OTHER).await.0, 401);
        }
        let before = server.app.people.hashed();
        let (status, answer) = server.list(name, OTHER).await;
        assert_eq!((status, &answer["code"]), (429, &json!("rate_limited")));
        assert!(answer["facts"]["retry_after_s"].as_u64().is_some_and(|seconds| seconds > 0), "{answer}");
        assert_eq!(server.app.people.hashed(), before, "nothing is compared");
    }
    let refused = server.events("authentication_refused");
    assert_eq!(refused.len(), 2, "one for the account and one for all other names: {refused:?}");
    assert_eq!(refused[0]["data"], json!({ "account": "ada", "times": 1 }));
    assert_eq!(refused[1]["data"], json!({ "account": null, "times": 1 }));
}

#[tokio::test]
async fn the_first_administrator_needs_the_secret_and_a_repeated_request_is_answered_the_same() {
    let server = Server::new();
    let sent = [(wire::CONSOLE, "aaaaa-aaaaa-aaaaa-aaaaa"), (wire::NEW_PASSWORD, PASSWORD)];
    let (status, answer) = server.post("/accounts/bootstrap", &json!({ "name": "ada" }), "op-1", &sent).await;
    assert_eq!((status, &answer["code"]), (401, &json!("authentication_failed")));
    assert_eq!(server.events("authentication_refused").len(), 1, "somebody guesses");
    assert_eq!(server.bootstrap("ada", "short", "op-2").await.0, 400);
    let typed = server.secret.replace('-', " ").to_uppercase();
    let sent = [(wire::CONSOLE, typed.as_str()), (wire::NEW_PASSWORD, PASSWORD)];
    let first = server.post("/accounts/bootstrap", &json!({ "name": "ada" }), "op-2", &sent).await;
    assert_eq!(first.0, 200);
    assert_eq!(server.bootstrap("ada", PASSWORD, "op-2").await, first);
    assert_eq!(server.bootstrap("eve", PASSWORD, "op-3").await.0, 409);
    assert_eq!(server.app.console_secret().expect("asked"), None, "there is an administrator");
}

#[tokio::test]
async fn a_changed_password_is_told_again_to_who_lost_the_answer() {
    let server = Server::founded().await;
    let sent = [(wire::PERSON, "ada"), (wire::PASSWORD, PASSWORD), (wire::NEW_PASSWORD, OTHER)];
    let first = server.post("/accounts/password", &json!({}), "op-change", &sent).await;
    assert_eq!(first.0, 200, "{}", first.1);
    assert_eq!(server.post("/accounts/password", &json!({}), "op-change", &sent).await, first);
    assert_eq!(server.events("password_changed").len(), 1);
    assert_eq!(server.list("ada", PASSWORD).await.0, 401);
    assert_eq!(server.list("ada", OTHER).await.0, 200);
}

#[tokio::test]
async fn a_call_of_a_person_without_a_person_is_refused_before_it_is_looked_at() {
    let server = Server::founded().await;
    let before = server.app.people.hashed();
    let (status, answer) = server.post("/tasks/p-1/reopen", &json!("no object"), "op-1", &[]).await;
    assert_eq!((status, &answer["code"]), (403, &json!("operator_required")));
    assert_eq!(server.app.people.hashed(), before);
}

#[tokio::test]
async fn a_new_password_is_judged_for_the_account_that_gets_it() {
    let server = Server::founded().await;
    for (password, says) in
        [("short", "12 to 1024"), ("passwordpassword", "repeats"), ("grace.hopper12", "name")]
    {
        let (status, answer) = server.create("grace.hopper", "member", password, "op-1").await;
        assert_eq!((status, &answer["facts"]["field"]), (400, &json!("password")), "{answer}");
        assert!(answer["detail"].as_str().is_some_and(|detail| detail.contains(says)), "{answer}");
        assert!(!answer.to_string().contains(password), "it is not repeated: {answer}");
    }
}

#[tokio::test]
async fn whoever_asks_a_question_as_a_person_is_recorded() {
    let server = Server::founded().await;
    assert_eq!(server.list("ada", PASSWORD).await.0, 200);
    let proven = server.events("person_authenticated");
    assert_eq!(proven.len(), 1);
    assert_eq!(proven[0]["data"], json!({ "account": "ada", "times": 1 }));
}

#[tokio::test]
async fn what_is_compared_at_once_and_what_waits_is_bounded() {
    let server = Server::founded().await;
    let all = tenure_core::model::limits::PASSWORDS_AT_ONCE + tenure_core::model::limits::PASSWORDS_WAITING;
    let turns = server.app.people.hashing.turns_taken(all);
    let (status, answer) = server.list("ada", PASSWORD).await;
    assert_eq!((status, &answer["code"]), (503, &json!("overloaded")));
    drop(turns);
    assert_eq!(server.list("ada", PASSWORD).await.0, 200);
}
