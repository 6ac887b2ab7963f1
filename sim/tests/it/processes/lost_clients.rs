//! P4 when the client dies in mid-call: the session's next command asks again with the same id and says what came of it.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tenure_sim::agent::{Agent, client};
use tenure_sim::cut::{Exchange, Fate, Way};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::shell::Shell;
use tenure_sim::{recount, store};

/// Kills a `task create` at a moment: when the daemon has not been asked, or when it has answered and the client has
/// not heard.
fn killed_in_mid_call(answered: bool) {
    let place = Place::new();
    let _daemon = place.daemon();
    create_project(&Agent::open(client(place.state()), "founder"));
    let way = Way::open(&place.folder("way"), place.state());
    let shell = Shell::new(way.folder(), &place.checkout()).named("ada");
    shell.json(&["session", "open"]);
    let (reached, at_the_moment) = channel();
    let (killed, go_on) = channel::<()>();
    let (reached, go_on) = (Mutex::new(reached), Arc::new(Mutex::new(go_on)));
    way.decide(move |exchange: &Exchange| {
        if exchange.is("POST", "/api/v1/tasks") && exchange.reply.is_some() == answered {
            reached.lock().expect("no holder panics").send(()).expect("the test waits");
            // The connection stays open until the client is dead.
            go_on.lock().expect("no holder panics").recv().expect("the test says when");
            return Fate::Cut;
        }
        Fate::Pass
    });
    let mut child = shell.spawn(&["task", "create", "--project", PROJECT, "--title", "once"]);
    at_the_moment.recv().expect("the request came");
    let before = store::events(&client(place.state())).len();
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    killed.send(()).expect("the way waits");
    way.decide(|_| Fate::Pass);
    let titles =
        || store::tasks(&client(place.state())).into_iter().map(|task| task.title).collect::<Vec<_>>();
    assert_eq!(titles().len(), usize::from(answered));
    let next = shell.run(&["task", "create", "--project", PROJECT, "--title", "afterwards"]);
    assert_eq!(next.code, 0, "{}", next.err);
    assert!(next.err.contains("resolved `task.create`") && next.err.contains("it is done"), "{}", next.err);
    assert_eq!(titles(), ["once", "afterwards"], "one effect, whenever the client died");
    let events = store::events(&client(place.state()));
    assert_eq!(events.len() - before, if answered { 1 } else { 2 });
    recount::one_effect_per_operation(&events);
    let silent = shell.run(&["task", "create", "--project", PROJECT, "--title", "third"]);
    assert!(!silent.err.contains("resolved"), "what is known is not asked again: {}", silent.err);
}

#[test]
fn a_client_killed_before_the_daemon_was_asked_is_followed_up_by_the_next_command() {
    killed_in_mid_call(false);
}

#[test]
fn a_client_killed_before_it_heard_the_answer_is_followed_up_by_the_next_command() {
    killed_in_mid_call(true);
}

#[test]
fn a_claim_whose_client_was_killed_is_held_by_the_next_command_of_the_session() {
    let place = Place::new();
    let _daemon = place.daemon();
    let founder = Agent::open(client(place.state()), "founder");
    create_project(&founder);
    founder.mutate("task.create", &json!({ "project": PROJECT, "title": "one" })).expect("it is created");
    let way = Way::open(&place.folder("way"), place.state());
    let shell = Shell::new(way.folder(), &place.checkout()).named("ada");
    shell.json(&["session", "open"]);
    let (reached, at_the_moment) = channel();
    let reached = Mutex::new(reached);
    way.decide(move |exchange: &Exchange| {
        let is_lost = exchange.is("POST", "/api/v1/claims") && exchange.reply.is_some();
        if is_lost {
            reached.lock().expect("no holder panics").send(()).ok();
        }
        if is_lost { Fate::Cut } else { Fate::Pass }
    });
    let mut child = shell.spawn(&["claim", "--project", PROJECT]);
    at_the_moment.recv().expect("the claim came");
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
    way.decide(|_| Fate::Pass);
    // The session's file knows of the claim and of no lease; the claim's own id gives both answer and token back.
    let held = shell.run(&["claim", "--project", PROJECT, "--json"]);
    assert_eq!(held.code, 0, "{}", held.err);
    assert!(held.err.contains("resolved `claim`"), "{}", held.err);
    assert_eq!((&held.json()["resumed"], &held.json()["generation"]), (&true.into(), &1.into()));
    let task = held.json()["task"]["id"].as_str().expect("an id").to_owned();
    shell.json(&["heartbeat", &task]);
    shell.json(&["close", &task]);
}
