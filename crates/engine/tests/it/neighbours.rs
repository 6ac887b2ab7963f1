//! What a task has around it is shown as far as there is room; the rest is counted and can be listed.

use serde_json::{Value, json};
use tenure_core::model::limits::{ATTEMPTS_SHOWN, NEIGHBOURS_SHOWN};

use crate::loop_of_work::claim;
use crate::world::{Agent, World, operation, text};

const CHILDREN: usize = NEIGHBOURS_SHOWN as usize + 7;

/// An objective with its children, and a task that waits for every one of them and for the objective.
fn objective(world: &mut World) -> Agent {
    let agent = Agent::new("bob", 1);
    world.done(agent.open());
    world.done(agent.command(operation("project.create", json!({ "key": "afc" }))));
    let create = |more: Value| {
        let mut task = json!({ "project": "afc", "title": "t" });
        task.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        agent.command(operation("task.create", task))
    };
    world.done(create(json!({ "kind": "objective" })));
    for _ in 0..CHILDREN {
        world.done(create(json!({ "parents": ["afc-1"] })));
    }
    let all: Vec<String> = (1..=CHILDREN + 1).map(|number| format!("afc-{number}")).collect();
    world.done(create(json!({ "blocked_by": all })));
    agent
}

fn ids(tasks: &Value) -> Vec<String> {
    tasks.as_array().expect("a list").iter().map(|task| text(task, "id").to_owned()).collect()
}

/// Everything that a listing has, a few at a time.
fn listed(world: &mut World, mut ask: Value) -> Vec<String> {
    let mut found = Vec::new();
    ask["limit"] = json!(20);
    loop {
        let page = world.ask(operation("dependency.list", ask.clone()));
        found.extend(ids(&page["tasks"]));
        match &page["cursor"] {
            Value::Null => {
                assert_eq!(page["total"], found.len());
                return found;
            }
            cursor => ask["cursor"] = cursor.clone(),
        }
    }
}

#[test]
fn many_neighbours_are_counted_and_the_command_that_lists_them_is_told() {
    let mut world = World::in_memory();
    objective(&mut world);
    let children: Vec<String> = (2..CHILDREN + 2).map(|number| format!("afc-{number}")).collect();
    let shown = world.ask(operation("task.show", json!({ "task": "afc-1" })));
    assert_eq!(ids(&shown["task"]["children"]), children[..NEIGHBOURS_SHOWN as usize]);
    let more = "tenure dependency list afc-1 --kind parent --reverse";
    let left_out = json!([{ "relation": "children", "count": 7, "command": more }]);
    assert_eq!(shown["task"]["left_out"], left_out);
    assert_eq!(listed(&mut world, json!({ "task": "afc-1", "kind": "parent", "reverse": true })), children);

    let last = format!("afc-{}", CHILDREN + 2);
    let shown = world.ask(operation("task.show", json!({ "task": last })));
    assert_eq!(shown["task"]["left_out"][0]["relation"], "waits_for");
    assert_eq!(shown["task"]["left_out"][0]["count"], 8);
    assert_eq!(listed(&mut world, json!({ "task": last })).len(), CHILDREN + 1);
    // A child has few neighbours: all of them are there, and nothing is said to be missing.
    let shown = world.ask(operation("task.show", json!({ "task": "afc-2" })));
    assert_eq!(
        (ids(&shown["task"]["waited_for_by"]), &shown["task"]["left_out"]),
        (vec![last], &Value::Null)
    );
}

#[test]
fn a_change_counts_what_it_changed() {
    let mut world = World::in_memory();
    let agent = objective(&mut world);
    let edge = json!({ "task": "afc-2", "on": "afc-1", "kind": "parent" });
    // Several commands of one batch: each sees what those before it did.
    let commands = vec![
        agent.command(operation("task.edit", json!({ "task": "afc-1", "revision": 1, "title": "a" }))),
        agent.command(operation("dependency.remove", edge.clone())),
        agent.command(operation("task.edit", json!({ "task": "afc-1", "revision": 2, "title": "b" }))),
        agent.command(operation("dependency.add", edge)),
        agent.command(operation("task.edit", json!({ "task": "afc-1", "revision": 3, "title": "c" }))),
    ];
    let answers = world.batch(commands).expect("the store works").answers;
    let counts = answers.iter().step_by(2).map(|answer| {
        let edited: Value = serde_json::from_str(answer.as_ref().expect("accepted")).expect("JSON");
        edited["task"]["left_out"][0]["count"].clone()
    });
    assert_eq!(counts.collect::<Vec<_>>(), [json!(7), json!(6), json!(7)]);
}

#[test]
fn an_objective_waits_as_long_as_one_child_is_open() {
    let mut world = World::in_memory();
    let agent = objective(&mut world);
    let status = |world: &mut World| {
        let shown = world.ask(operation("task.show", json!({ "task": "afc-1" })));
        text(&shown["task"], "status").to_owned()
    };
    for number in (2..CHILDREN + 2).rev() {
        assert_eq!(status(&mut world), "waiting_children");
        let explained = world.ask(operation("explain", json!({ "task": "afc-1" })));
        assert_eq!(explained["chain"][1]["task"], "afc-2", "the first that is open");
        let close = json!({ "task": format!("afc-{number}"), "revision": 1 });
        world.done(agent.command(operation("close", close)));
    }
    assert_eq!(status(&mut world), "ready");
}

#[test]
fn of_many_attempts_the_newest_are_shown() {
    let mut world = World::in_memory();
    let agent = Agent::new("bob", 1);
    world.done(agent.open());
    world.done(agent.command(operation("project.create", json!({ "key": "afc" }))));
    world.done(agent.command(operation("task.create", json!({ "project": "afc", "title": "t" }))));
    let attempts = |world: &mut World, more: usize| {
        for _ in 0..more {
            let claimed = world.done(claim(&agent));
            world.done(agent.fenced(operation("release", json!({ "task": "afc-1" })), &claimed));
        }
        world.ask(operation("attempts", json!({ "task": "afc-1" })))
    };
    let all = attempts(&mut world, ATTEMPTS_SHOWN);
    assert_eq!((ids(&all["attempts"]).len(), &all["more"]), (ATTEMPTS_SHOWN, &Value::Null));
    let newest = attempts(&mut world, 60);
    let shown = (61..=ATTEMPTS_SHOWN + 60).rev().map(|generation| format!("afc-1@{generation}"));
    assert_eq!(ids(&newest["attempts"]), shown.collect::<Vec<_>>());
    assert_eq!(newest["more"], true);
}
