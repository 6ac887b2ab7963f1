//! Labels: tasks are listed by them, they are listed themselves, and what an edit or an older version left is the same
//! as what the bodies say.

use serde_json::{Value, json};
use tenure_engine::execute::prepare;

use crate::world::{Agent, SECOND_SCHEMA, World, on_every_store, operation, text};

/// Five tasks, of which some have labels; the fourth is done, the fifth archived.
fn labelled(world: &mut World) -> Agent {
    let bob = Agent::new("bob", 1);
    world.done(bob.open());
    world.done(bob.command(operation("project.create", json!({ "key": "afc" }))));
    world.done(bob.command(operation("project.create", json!({ "key": "other" }))));
    for labels in
        [json!(["ui", "phase 2", "ui"]), json!([]), json!(["phase 2"]), json!(["ui"]), json!(["ui"])]
    {
        let create = json!({ "project": "afc", "title": "work", "labels": labels });
        world.done(bob.command(operation("task.create", create)));
    }
    let elsewhere = json!({ "project": "other", "title": "work", "labels": ["ui", "elsewhere"] });
    world.done(bob.command(operation("task.create", elsewhere)));
    for task in ["afc-4", "afc-5"] {
        world.done(bob.command(operation("close", json!({ "task": task, "revision": 1 }))));
    }
    world.done(bob.command(operation("task.archive", json!({ "task": "afc-5" }))));
    bob
}

fn listed(world: &mut World, mut more: Value) -> Vec<String> {
    more["project"] = "afc".into();
    let answer = world.ask(operation("task.list", more));
    answer["tasks"].as_array().expect("a list").iter().map(|task| text(task, "id").to_owned()).collect()
}

fn counts(world: &mut World) -> Value {
    world.ask(operation("label.list", json!({ "project": "afc" })))["labels"].clone()
}

fn count(label: &str, unfinished: u64, finished: u64) -> Value {
    json!({ "label": label, "unfinished": unfinished, "finished": finished })
}

#[test]
fn tasks_are_listed_by_all_of_their_labels() {
    on_every_store(|mut world| {
        labelled(&mut world);
        assert_eq!(listed(&mut world, json!({ "labels": ["ui"] })), ["afc-1", "afc-4"]);
        assert_eq!(listed(&mut world, json!({ "labels": ["phase 2", "ui"] })), ["afc-1"]);
        assert_eq!(listed(&mut world, json!({ "labels": ["ui", "ui"], "lifecycle": "done" })), ["afc-4"]);
        let all = json!({ "labels": ["ui"], "archived": true });
        assert_eq!(listed(&mut world, all), ["afc-1", "afc-4", "afc-5"]);
        assert_eq!(
            listed(&mut world, json!({ "labels": ["UI"] })),
            [""; 0],
            "labels are compared as they stand"
        );
        let first = json!({ "project": "afc", "labels": ["ui"], "limit": 1 });
        let first = world.ask(operation("task.list", first));
        let rest = json!({ "labels": ["ui"], "cursor": first["cursor"] });
        assert_eq!(listed(&mut world, rest), ["afc-4"]);
    });
}

#[test]
fn labels_are_counted_and_an_edit_replaces_them() {
    on_every_store(|mut world| {
        let bob = labelled(&mut world);
        assert_eq!(counts(&mut world), json!([count("phase 2", 2, 0), count("ui", 1, 2)]));
        let edit = json!({ "task": "afc-1", "revision": 1, "labels": ["ui", "new"] });
        world.done(bob.command(operation("task.edit", edit)));
        let edit = json!({ "task": "afc-3", "revision": 1, "labels": [] });
        world.done(bob.command(operation("task.edit", edit)));
        assert_eq!(counts(&mut world), json!([count("new", 1, 0), count("ui", 1, 2)]));
        // Whatever else is written of a task leaves its labels as they are.
        world.done(bob.command(operation("task.defer", json!({ "task": "afc-1", "reason": "r" }))));
        assert_eq!(counts(&mut world), json!([count("new", 1, 0), count("ui", 1, 2)]));
        let page = json!({ "project": "afc", "limit": 1 });
        let first = world.ask(operation("label.list", page));
        assert_eq!(first["labels"], json!([count("new", 1, 0)]));
        let rest = json!({ "project": "afc", "cursor": first["cursor"] });
        let rest = world.ask(operation("label.list", rest));
        assert_eq!(rest["labels"], json!([count("ui", 1, 2)]));
        assert_eq!(rest.get("cursor"), None);
    });
}

#[test]
fn a_store_of_the_second_schema_gets_the_labels_that_its_bodies_tell() {
    for tasks in [0, 1_203] {
        let mut world = World::in_memory();
        let bob = labelled(&mut world);
        let create =
            |n: u32| json!({ "project": "afc", "title": "t", "labels": [format!("many-{}", n % 7)] });
        world
            .batch((0..tasks).map(|n| bob.command(operation("task.create", create(n)))).collect())
            .expect("stored");
        let before = counts(&mut world);
        world.driver.migrate(2, SECOND_SCHEMA).expect("as it was");
        prepare(&mut *world.driver, &*world.clocks, || unreachable!()).expect("brought up to date");
        assert_eq!(counts(&mut world), before);
    }
}
