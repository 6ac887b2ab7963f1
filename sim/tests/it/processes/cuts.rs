//! P4 at its worst moment: the daemon has committed and answered, and the answer is lost on the way. Asked again with
//! the same id, every mutation of the catalog has one effect and gives the answer that was lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde_json::{Value, json};
use tenure_client::reporting::Reporting;
use tenure_client::route::route;
use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::entries;
use tenure_core::operation::{Access, Effect, Spec};
use tenure_core::token::ReporterSecret;
use tenure_sim::agent::{Agent, client};
use tenure_sim::cut::{Exchange, Fate, Way};
use tenure_sim::place::Place;
use tenure_sim::untimed::untimed;
use tenure_sim::{recount, store};

/// A coordinator behind a way that can be cut, and a session.
struct Scene {
    place: Place,
    way: Way,
    agent: Agent,
    secret: ReporterSecret,
    _daemon: tenure_sim::daemon::Daemon,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let daemon = place.daemon();
        let way = Way::open(&place.folder("way"), place.state());
        let agent = Agent::open(client(way.folder()), "ada");
        let secret = ReporterSecret::of([7; 32]);
        let scene = Self { place, way, agent, secret, _daemon: daemon };
        scene.done("project.create", &json!({ "key": "afc" }));
        for title in ["the first", "the second", "the third"] {
            scene.done("task.create", &json!({ "project": "afc", "title": title }));
        }
        scene
    }

    fn done(&self, operation: &str, input: &Value) -> Value {
        self.agent.mutate(operation, input).unwrap_or_else(|failure| panic!("{operation}: {failure}"))
    }

    fn claimed(&self) {
        self.done("claim", &json!({ "task": "afc-1" }));
    }

    fn events(&self) -> usize {
        store::events(&client(self.place.state())).len()
    }
}

/// Brings about what an operation needs, and gives its input. An operation that is not named here has no test.
fn prepare(scene: &Scene, operation: &str) -> Value {
    let task = "afc-1";
    match operation {
        "session.open" | "session.close" => json!({}),
        "project.create" => json!({ "key": "other" }),
        "project.edit" => json!({ "project": "afc", "revision": 1, "name": "renamed" }),
        "project.policy" => json!({ "project": "afc", "revision": 1, "reason": "by hand" }),
        "project.bind" => json!({ "project": "afc", "repository": "example.org/a", "folder": "" }),
        "project.unbind" => {
            let place = json!({ "project": "afc", "repository": "example.org/a", "folder": "" });
            scene.done("project.bind", &place);
            place
        }
        "task.create" => json!({ "project": "afc", "title": "once" }),
        "task.edit" => json!({ "task": task, "revision": 1, "title": "edited" }),
        "task.open" => {
            let planned = json!({ "project": "afc", "title": "later", "planned": true });
            json!({ "task": scene.done("task.create", &planned)["task"]["id"] })
        }
        "task.defer" => json!({ "task": task, "reason": "not now" }),
        "task.resume" => {
            scene.done("task.defer", &json!({ "task": task, "reason": "not now" }));
            json!({ "task": task })
        }
        "task.archive" => {
            scene.claimed();
            scene.done("close", &json!({ "task": task }));
            json!({ "task": task })
        }
        "task.cancel" => json!({ "task": task, "revision": 1, "reason": "no longer" }),
        "task.reopen" | "task.force-release" => json!({ "task": task, "reason": "by hand" }),
        "account.bootstrap" => json!({ "name": "ada" }),
        "account.create" => json!({ "name": "ada", "role": "member", "reason": "by hand" }),
        "account.edit" => json!({ "name": "ada", "disabled": true, "reason": "by hand" }),
        "account.password" => json!({}),
        "token.create" => {
            json!({ "name": "ci-1", "kind": "agent", "hash": "0".repeat(64), "reason": "by hand" })
        }
        "token.rotate" => {
            json!({ "token": "0".repeat(12), "kind": "agent", "hash": "1".repeat(64), "reason": "by hand" })
        }
        "token.revoke" => json!({ "token": "0".repeat(12), "reason": "by hand" }),
        "dependency.add" => json!({ "task": task, "on": "afc-2", "kind": "blocks" }),
        "dependency.remove" => {
            scene.done("dependency.add", &json!({ "task": task, "on": "afc-2", "kind": "blocks" }));
            json!({ "task": task, "on": "afc-2", "kind": "blocks" })
        }
        "blocker.raise" => json!({ "task": task, "kind": "dependency", "reason": "a reply" }),
        "blocker.resolve" => {
            scene.done("blocker.raise", &json!({ "task": task, "kind": "dependency", "reason": "a reply" }));
            json!({ "task": task, "number": 1, "reason": "it came" })
        }
        "claim" => json!({ "projects": ["afc"] }),
        "heartbeat" | "release" | "close" => {
            scene.claimed();
            json!({ "task": task })
        }
        "note" | "checkpoint" | "handoff" => {
            scene.claimed();
            json!({ "task": task, "text": "so far" })
        }
        "dispose" => {
            // Another tracker's unfinished work is taken over like an expired attempt.
            scene.done("import.apply", &bead("in_progress"));
            scene.done("claim", &json!({ "task": "afc-4" }));
            json!({ "task": "afc-4", "disposition": "restart", "reason": "nothing was left" })
        }
        "reconcile" => {
            scene.claimed();
            let edited = json!({ "task": task, "revision": 1, "title": "changed" });
            let edited = scene.done("task.edit", &edited);
            json!({ "task": task, "digest": edited["task"]["digest"] })
        }
        "reporter.create" => {
            scene.claimed();
            json!({ "task": task, "hash": scene.secret.hash(), "watches": "a build", "window_ms": 60_000 })
        }
        "reporter.revoke" => {
            reported(scene);
            json!({ "task": task })
        }
        "reporter.renew" | "reporter.end" => {
            reported(scene);
            json!({})
        }
        "import.apply" => bead("open"),
        other => panic!("`{other}` changes something and no answer of it was ever cut: prepare it here"),
    }
}

/// A held task whose lease a reporter may renew.
fn reported(scene: &Scene) {
    let made = prepare(scene, "reporter.create");
    scene.done("reporter.create", &made);
}

/// The import of one task of another tracker.
fn bead(status: &str) -> Value {
    let at = "2026-01-01T00:00:00Z";
    let record = json!({ "id": "b-1", "title": "imported", "status": status, "priority": 1, "issue_type": "task",
        "created_at": at, "updated_at": at });
    json!({ "project": "afc", "format": "beads", "text": format!("{record}\n") })
}

/// Lets the daemon answer the first request of this kind and keeps the answer from the client.
fn cut_first(scene: &Scene, method: &'static str, path: String) -> Arc<AtomicUsize> {
    let cuts = Arc::new(AtomicUsize::new(0));
    let counted = cuts.clone();
    scene.way.take_seen();
    scene.way.decide(move |exchange: &Exchange| {
        let is_first = exchange.reply.is_some()
            && exchange.is(method, &path)
            && counted.compare_exchange(0, 1, SeqCst, SeqCst).is_ok();
        if is_first { Fate::Cut } else { Fate::Pass }
    });
    cuts
}

/// What an answer tells whenever it is given.
fn told(text: &str) -> Value {
    untimed(text).expect("an answer is JSON")
}

/// Asks once with the first answer cut, and compares what was lost with what was heard.
fn check(spec: &Spec) {
    let scene = Scene::new();
    let input = prepare(&scene, spec.name);
    let route = route(spec, &input).expect("it fits the wire");
    let before = scene.events();
    let cuts = cut_first(&scene, route.method, route.target.clone());
    let heard = match spec.name {
        "session.open" => {
            let late = Agent::open(client(scene.way.folder()), "late");
            Ok(json!({ "session": late.session.id }))
        }
        _ if spec.access == Access::Reporter => {
            let reporting = Reporting::with(client(scene.way.folder()), &scene.secret);
            reporting.ask(spec).map(|json| serde_json::from_slice(&json).expect("JSON"))
        }
        name => scene.agent.mutate(name, &input),
    };
    assert_eq!(cuts.load(SeqCst), 1, "{}: nothing was cut", spec.name);
    let seen = scene.way.take_seen();
    let asked: Vec<&Exchange> = seen.iter().filter(|seen| seen.is(route.method, &route.target)).collect();
    let reply = |index: usize| asked[index].reply.as_ref().expect("the daemon answered").text();
    assert_eq!(asked.len(), 2, "{}: asked once more, and no oftener", spec.name);
    assert!(asked[0].was_cut && !asked[1].was_cut);
    let id = asked[0].request.header("Idempotency-Key");
    assert!(!id.is_empty() && id == asked[1].request.header("Idempotency-Key"), "{}: another id", spec.name);
    assert_eq!(asked[0].request.body, asked[1].request.body, "{}", spec.name);
    assert_eq!(told(&reply(0)), told(&reply(1)), "{}: the answers differ", spec.name);

    let events = store::events(&client(scene.place.state()));
    recount::one_effect_per_operation(&events);
    let own =
        events.iter().filter(|event| event.actor.operation.as_ref().is_some_and(|own| own.as_str() == id));
    let own = own.count();
    assert_eq!(events.len() - before, own, "{}: there are events of somebody else", spec.name);
    match (spec.access, spec.effect) {
        (Access::Person | Access::Operator | Access::Administrator | Access::Console, _) => {
            let code = heard.as_ref().expect_err("nobody here is a person").code();
            let is_console = spec.access == Access::Console;
            assert_eq!(code, if is_console { Code::AuthenticationFailed } else { Code::OperatorRequired });
            assert_eq!(own, 0);
        }
        (_, Effect::Light) => assert_eq!(own, 0, "{}", spec.name),
        _ => {
            assert!(own >= 1, "{}: no effect", spec.name);
            assert!(heard.is_ok(), "{}: {heard:?}", spec.name);
        }
    }
    if let Ok(heard) = &heard
        && spec.name != "session.open"
    {
        assert_eq!(told(&heard.to_string()), told(&reply(0)), "{}", spec.name);
    }
    store::verify(&client(scene.place.state()));
}

#[test]
fn every_mutation_has_one_effect_and_its_true_answer_although_the_first_answer_was_lost() {
    let mutations: Vec<Spec> =
        entries().into_iter().map(|entry| entry.spec).filter(|spec| spec.effect != Effect::Read).collect();
    for spec in &mutations {
        check(spec);
    }
    eprintln!("{} mutations, each cut once after its commit", mutations.len());
}
