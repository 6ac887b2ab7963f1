//! The story: the whole loop, what is refused, a page after a page, the same again, subagents, a lost connection, a call that
//! nobody waits for any more, and a token that is revoked.

use serde_json::{Value, json};
use tokio::runtime::Builder;

use super::official::Model;
use super::scene::{Pass, Scene, Way};

/// Plays it at one revision.
pub fn play(scene: &Scene, revision: &str) {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let pass = scene.pass(&format!("rust-{revision}"));
    runtime.block_on(async {
        let model = Model::connect(scene, &pass, revision, None).await.expect("a connection");
        let (spoken, instructions) = model.greeting();
        assert_eq!(spoken, revision);
        assert!(instructions.contains("session_open"), "{instructions}");
        assert!(model.tools().await.iter().any(|tool| tool == "session_open"));
        let named = |name: &str| format!("{name}-{revision}");
        let session = open(&model, json!({ "name": named("lead") })).await;
        the_loop(&model, &session).await;
        a_refusal_and_its_next_step(&model, &session).await;
        page_after_page(&model, &session).await;
        subagents(&model, &session, &named("lead")).await;
        a_lost_connection(scene, &pass, revision, model.clone(), &session).await;
        let other = open(&model, json!({ "name": named("other") })).await;
        nobody_waits(scene, &model, &session, &other).await;
        if scene.way != Way::Pipes {
            let foreign = Model::connect(scene, &pass, revision, Some("http://elsewhere.example")).await;
            assert!(foreign.is_err(), "a page of another origin may connect");
        }
        a_revoked_token(scene, &pass, &model, &session).await;
    });
}

async fn open(model: &Model, arguments: Value) -> Value {
    model.call("session_open", arguments).await["session"]["id"].clone()
}

async fn create(model: &Model, session: &Value, title: &str) -> Value {
    let create = json!({ "session": session, "project": "afc", "title": title });
    model.call("task_create", create).await["task"]["id"].clone()
}

async fn claim(model: &Model, session: &Value, task: &Value) -> Value {
    let claimed = model.call("claim", json!({ "session": session, "task": task })).await;
    json!({ "session": session, "task": task, "lease": claimed["lease"] })
}

/// What is held, and more arguments.
fn with(held: &Value, more: &Value) -> Value {
    let mut arguments = held.clone();
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    arguments
}

async fn close(model: &Model, held: &Value) {
    let closed = model.call("close", with(held, &json!({ "note": "done" }))).await;
    assert_eq!(closed["task"]["status"], "done", "{closed}");
}

async fn the_loop(model: &Model, session: &Value) {
    let create =
        json!({ "session": session, "project": "afc", "title": "once", "operation_id": "only-once" });
    let first = model.call("task_create", create.clone()).await;
    let again = model.call("task_create", create).await;
    assert_eq!(first["task"]["id"], again["task"]["id"], "the same id is the same change");
    let held = claim(model, session, &first["task"]["id"]).await;
    model.call("heartbeat", held.clone()).await;
    model.call("note", with(&held, &json!({ "text": "begun" }))).await;
    close(model, &held).await;
}

async fn a_refusal_and_its_next_step(model: &Model, session: &Value) {
    let refused = model.refused("claim", json!({ "session": session, "task": "afc-99999" })).await;
    assert_eq!(refused["code"], "not_found", "{refused}");
    assert!(refused["next_actions"][0].is_string() && refused["detail"].is_string(), "{refused}");
    let unknown = model.tell("task_destroy", json!({})).await;
    assert!(unknown.is_err_and(|error| error.contains("-32602")), "it is an error of the protocol");
}

async fn page_after_page(model: &Model, session: &Value) {
    let mut created = Vec::new();
    for title in ["one", "two", "three"] {
        created.push(create(model, session, title).await);
    }
    let (mut found, mut page) = (Vec::new(), json!({ "project": "afc", "limit": 2 }));
    loop {
        let listed = model.call("task_list", page.clone()).await;
        let rows = listed["tasks"].as_array().expect("a list");
        assert!((1..=2).contains(&rows.len()), "{listed}");
        found.extend(rows.iter().map(|row| row["id"].clone()));
        if listed["cursor"].is_null() {
            break;
        }
        page["cursor"] = listed["cursor"].clone();
    }
    assert!(created.iter().all(|task| found.iter().filter(|row| row == &task).count() == 1), "{found:?}");
    for task in &created {
        close(model, &claim(model, session, task).await).await;
    }
}

async fn subagents(model: &Model, parent: &Value, name: &str) {
    let one = open(model, json!({ "name": format!("{name}.1"), "parent": parent })).await;
    let two = open(model, json!({ "name": format!("{name}.2"), "parent": parent })).await;
    let task = create(model, parent, "for one of them").await;
    let held = claim(model, &one, &task).await;
    let refused = model.refused("claim", json!({ "session": two, "task": task })).await;
    assert_eq!(refused["code"], "lease_held", "{refused}");
    let foreign = with(&held, &json!({ "session": two, "text": "not mine" }));
    assert_eq!(model.refused("note", foreign).await["code"], "not_holder");
    close(model, &held).await;
}

/// Another connection goes on with the handles of one that is lost.
async fn a_lost_connection(scene: &Scene, pass: &Pass, revision: &str, model: Model, session: &Value) {
    let first = Model::connect(scene, pass, revision, None).await.expect("a connection");
    let task = create(&model, session, "begun on another connection").await;
    let held = claim(&first, session, &task).await;
    drop(first);
    let second = Model::connect(scene, pass, revision, None).await.expect("a connection");
    second.call("heartbeat", held.clone()).await;
    close(&second, &held).await;
}

/// A claim that waits and is cancelled takes nothing.
async fn nobody_waits(scene: &Scene, model: &Model, waiter: &Value, other: &Value) {
    let waiting = {
        let (model, claim) =
            (model.clone(), json!({ "session": waiter, "wait_ms": 40_000, "projects": ["afc"] }));
        tokio::spawn(async move { model.tell("claim", claim).await })
    };
    scene.until_waiting(1);
    waiting.abort();
    assert!(waiting.await.is_err_and(|error| error.is_cancelled()));
    if scene.way != Way::Pipes {
        scene.until_waiting(0);
    }
    // Over pipes what is said later is heard later.
    let task = create(model, other, "after it was cancelled").await;
    scene.until_waiting(0);
    let claimed = model.call("claim", json!({ "session": other, "projects": ["afc"] })).await;
    assert_eq!(claimed["task"]["id"], task, "{claimed}");
    close(model, &json!({ "session": other, "task": task, "lease": claimed["lease"] })).await;
}

/// A waiting call ends when its token is revoked, and so does everything after it.
async fn a_revoked_token(scene: &Scene, pass: &Pass, model: &Model, session: &Value) {
    let claim = json!({ "session": session, "wait_ms": 40_000, "projects": ["afc"] });
    let waiting = {
        let (model, claim) = (model.clone(), claim.clone());
        tokio::spawn(async move { model.tell("claim", claim).await })
    };
    scene.until_waiting(1);
    scene.revoke(pass);
    let (refused, told) = waiting.await.expect("it ends").expect("an answer");
    assert!(refused && told["code"] == "unauthenticated", "{told}");
    match model.tell("claim", claim).await {
        Ok((refused, told)) => assert!(refused && told["code"] == "unauthenticated", "{told}"),
        // By HTTP it is 401, of which this client keeps no more.
        Err(error) => assert!(scene.way != Way::Pipes && error.contains("AuthRequired"), "{error}"),
    }
}
