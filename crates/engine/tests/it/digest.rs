//! The morning after: what happened since a moment is told once per task, and what waits is told with for whom.

use serde_json::{Value, json};

use tenure_engine::Command;

use crate::world::{Agent, World, on_every_store, operation, text};

const HOUR_MS: i64 = 3_600_000;

fn digest(world: &mut World, since: i64, limit: u32) -> Value {
    world.ask(operation("digest", json!({ "project": "afc", "since": since, "limit": limit })))
}

fn claim(agent: &Agent, task: &str) -> Command {
    agent.command(operation("claim", json!({ "task": task })))
}

/// The tasks of a part, each with what happened to it last.
fn told(part: &Value) -> Vec<String> {
    let tasks = part["tasks"].as_array().expect("a list").iter();
    tasks.map(|happened| format!("{} {}", text(&happened["task"], "id"), text(happened, "kind"))).collect()
}

/// Two agents' evening: four tasks are created; afterwards one is closed, one expires, one is blocked.
fn evening(world: &mut World) -> (Agent, Agent, i64) {
    let (ada, bob) = (Agent::new("ada", 1), Agent::new("bob", 2));
    for command in [ada.open(), bob.open()] {
        world.done(command);
    }
    world.done(ada.command(operation("project.create", json!({ "key": "afc" }))));
    for title in ["one", "two", "three", "four"] {
        let create = json!({ "project": "afc", "title": title });
        world.done(ada.command(operation("task.create", create)));
    }
    world.clocks.pass(HOUR_MS);
    let evening = world.clocks.read().1;
    (ada, bob, evening)
}

#[test]
fn each_task_is_told_once_by_what_happened_to_it_last() {
    on_every_store(|mut world| {
        let (ada, bob, evening) = evening(&mut world);
        let mine = world.done(claim(&ada, "afc-1"));
        let edit = json!({ "task": "afc-3", "revision": 1, "title": "third" });
        world.done(bob.command(operation("task.edit", edit)));
        world.done(claim(&bob, "afc-2"));
        let close = json!({ "task": "afc-1", "evidence": { "commit": "1a2b3c4" } });
        world.done(ada.fenced(operation("close", close), &mine));
        let blocker = json!({ "task": "afc-4", "kind": "human_decision", "reason": "which colour?" });
        world.done(bob.command(operation("blocker.raise", blocker)));
        world.clocks.pass(HOUR_MS);
        world.batch(Vec::new()).expect("the time is committed");

        let told_since = digest(&mut world, evening, 20);
        assert_eq!(told(&told_since["landed"]), ["afc-1 task_closed"]);
        assert_eq!(told_since["landed"]["tasks"][0]["evidence"], json!({ "commit": "1a2b3c4" }));
        assert_eq!(told_since["landed"]["tasks"][0]["by"], "ada");
        assert_eq!(told(&told_since["claimed"]), ["afc-2 task_claimed", "afc-1 task_claimed"]);
        assert_eq!(told(&told_since["changed"]), ["afc-4 blocker_raised", "afc-3 task_edited"]);
        let waits: Vec<String> = told_since["waiting"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|waiting| {
                format!(
                    "{}: {}: {}",
                    text(&waiting["task"], "id"),
                    text(waiting, "on"),
                    text(waiting, "because")
                )
            })
            .collect();
        let taken = "afc-2: anybody: `tenure claim` takes it over: the attempt of bob expired";
        assert_eq!(waits, [taken, "afc-4: a person: which colour?"]);

        let everything = digest(&mut world, 0, 2);
        assert_eq!(everything["after"], "1-0");
        assert_eq!(told(&everything["changed"]), ["afc-4 blocker_raised", "afc-3 task_edited"]);
        assert_eq!(everything["changed"]["total"], 4, "those that were left out are counted");
        let morning = world.clocks.read().1 + 1;
        let nothing = digest(&mut world, morning, 20);
        assert_eq!(nothing["landed"], json!({ "tasks": [], "total": 0 }));
    });
}

#[test]
fn a_moment_is_found_in_the_record_also_where_numbers_are_missing_or_the_clock_was_set_back() {
    on_every_store(|mut world| {
        let (ada, _, _) = evening(&mut world);
        let mut moments = Vec::new();
        for _ in 0..40 {
            world.clocks.pass(1000);
            let at = world.clocks.read().1;
            let created = json!({ "project": "afc", "title": "more" });
            world.done(ada.command(operation("task.create", created)));
            moments.push(at);
        }
        for (place, at) in moments.iter().enumerate() {
            let told = digest(&mut world, *at, 1);
            assert_eq!(told["changed"]["total"], moments.len() - place, "since {at}");
        }
        world.clocks.jump(-HOUR_MS);
        world.done(ada.command(operation("task.create", json!({ "project": "afc", "title": "back" }))));
        let told = digest(&mut world, moments[39], 20);
        assert!(told["changed"]["total"].as_u64().is_some_and(|total| total <= 2), "{told}");
    });
}
