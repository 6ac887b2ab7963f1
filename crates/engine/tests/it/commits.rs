//! The commits of a body of work: all of them, in their order, and what tells that something is missing.

use serde_json::{Value, json};
use tenure_engine::execute::prepare;

use crate::world::{Agent, SECOND_SCHEMA, World, on_every_store, operation, text};

fn create(world: &mut World, agent: &Agent, mut more: Value) {
    more["project"] = "afc".into();
    more["title"] = more["title"].as_str().unwrap_or("work").into();
    world.done(agent.command(operation("task.create", more)));
}

fn close(world: &mut World, agent: &Agent, task: &str, evidence: &Value) {
    let close = json!({ "task": task, "revision": 1, "evidence": evidence });
    world.done(agent.command(operation("close", close)));
}

/// An objective (1) with a child (2) and an objective below it (3), whose child (4) has two parents; beside it 5 to 8.
/// Closed in the order 4, 2, 5, 6; 7 is cancelled, 8 is open.
fn landed(world: &mut World) -> Agent {
    let bob = Agent::new("bob", 1);
    world.done(bob.open());
    world.done(bob.command(operation("project.create", json!({ "key": "afc" }))));
    create(world, &bob, json!({ "kind": "objective" }));
    create(world, &bob, json!({ "parents": ["afc-1"], "labels": ["ui"] }));
    create(world, &bob, json!({ "kind": "objective", "parents": ["afc-1"] }));
    create(world, &bob, json!({ "parents": ["afc-3", "afc-1"], "labels": ["ui"], "title": "the deepest" }));
    for _ in 5..=8 {
        create(world, &bob, json!({ "labels": ["ui"] }));
    }
    close(world, &bob, "afc-4", &json!({ "commit": "c4", "merge_commit": "m4" }));
    close(world, &bob, "afc-2", &json!({ "merge_commit": "m2" }));
    close(world, &bob, "afc-5", &json!({ "pull_request": "o/r#5" }));
    close(world, &bob, "afc-6", &json!({}));
    let cancel = json!({ "task": "afc-7", "revision": 1, "reason": "r" });
    world.done(bob.command(operation("task.cancel", cancel)));
    bob
}

fn commits(world: &mut World, question: Value) -> Value {
    world.ask(operation("commits", question))
}

/// Each line: the commit and its task.
fn lines(answer: &Value) -> Vec<String> {
    let lines = answer["commits"].as_array().expect("a list").iter();
    lines.map(|line| format!("{} {}", line["commit"].as_str().unwrap_or("-"), text(line, "task"))).collect()
}

fn counts(answer: &Value) -> [u64; 4] {
    ["landed", "missing", "unfinished", "cancelled"].map(|name| answer[name].as_u64().expect("a number"))
}

#[test]
fn a_label_an_objective_or_names_choose_the_commits_and_their_order_is_that_of_the_closings() {
    on_every_store(|mut world| {
        let bob = landed(&mut world);
        let labelled = commits(&mut world, json!({ "project": "afc", "label": "ui" }));
        assert_eq!(lines(&labelled), ["c4 afc-4", "m2 afc-2"]);
        assert_eq!(counts(&labelled), [2, 2, 1, 1]);
        let first = &labelled["commits"][0];
        assert_eq!((text(first, "title"), text(first, "by")), ("the deepest", "bob"));
        assert_eq!(first["evidence"], json!({ "commit": "c4", "merge_commit": "m4" }));
        assert!(first["at"].is_i64());

        let below = commits(&mut world, json!({ "objective": "afc-1" }));
        assert_eq!(
            (lines(&below), counts(&below)),
            (lines(&labelled), [2, 0, 2, 0]),
            "the objectives are open"
        );
        close(&mut world, &bob, "afc-3", &json!({}));
        let below = commits(&mut world, json!({ "objective": "afc-3" }));
        assert_eq!((lines(&below), counts(&below)), (vec!["c4 afc-4".to_owned()], [1, 0, 0, 0]));

        let named = commits(&mut world, json!({ "tasks": ["afc-2", "afc-8", "afc-4", "afc-2"] }));
        assert_eq!((lines(&named), counts(&named)), (lines(&labelled), [2, 0, 1, 0]));
        let none = commits(&mut world, json!({ "project": "afc", "label": "none" }));
        assert_eq!((lines(&none).len(), counts(&none)), (0, [0; 4]));
    });
}

#[test]
fn what_lacks_a_commit_is_listed_when_asked_for_and_pages_go_on_where_they_ended() {
    on_every_store(|mut world| {
        landed(&mut world);
        let missing = commits(&mut world, json!({ "project": "afc", "label": "ui", "missing": true }));
        assert_eq!(lines(&missing), ["- afc-5", "- afc-6"]);
        assert_eq!(missing["commits"][0]["evidence"], json!({ "pull_request": "o/r#5" }));
        for missing in [false, true] {
            let whole = json!({ "project": "afc", "label": "ui", "missing": missing });
            let whole = lines(&commits(&mut world, whole));
            let page = json!({ "project": "afc", "label": "ui", "missing": missing, "limit": 1 });
            let first = commits(&mut world, page.clone());
            let mut rest = page;
            rest["cursor"] = first["cursor"].clone();
            let rest = commits(&mut world, rest);
            assert_eq!([lines(&first), lines(&rest)].concat(), whole);
            assert_eq!((counts(&first), counts(&rest)), ([2, 2, 1, 1], [2, 2, 1, 1]), "all are counted");
            assert_eq!(rest.get("cursor"), None);
        }
    });
}

#[test]
fn the_last_completion_counts_and_one_that_only_an_import_tells_of_is_missing() {
    on_every_store(|mut world| {
        let bob = landed(&mut world);
        let text = r#"{"id":"b-1","title":"with a reason","status":"closed","close_reason":"ok"}
{"id":"b-2","title":"without one","status":"closed"}"#;
        let import = json!({ "project": "afc", "format": "beads", "text": text });
        world.done(bob.command(operation("import.apply", import)));
        let question = json!({ "tasks": ["afc-9", "afc-10"], "missing": true });
        let imported = commits(&mut world, question);
        assert_eq!(
            (lines(&imported), counts(&imported)),
            (vec!["- afc-10".into(), "- afc-9".into()], [0, 2, 0, 0])
        );
        assert_eq!(imported["commits"][0].get("at"), None, "nothing tells when");
    });
}

#[test]
fn tasks_are_chosen_in_exactly_one_way() {
    let mut world = World::in_memory();
    landed(&mut world);
    for question in [
        json!({}),
        json!({ "label": "ui" }),
        json!({ "project": "afc" }),
        json!({ "project": "afc", "label": "ui", "tasks": ["afc-1"] }),
        json!({ "objective": "afc-1", "tasks": ["afc-1"] }),
    ] {
        let refusal = world.asked(operation("commits", question.clone())).expect_err("refused");
        assert_eq!(refusal.code.as_str(), "invalid_input", "{question}");
    }
}

#[test]
fn a_store_of_the_second_schema_tells_the_commits_that_its_entries_tell() {
    let mut world = World::in_memory();
    landed(&mut world);
    let question = json!({ "project": "afc", "label": "ui" });
    let before = commits(&mut world, question.clone());
    world.driver.migrate(2, SECOND_SCHEMA).expect("as it was");
    prepare(&mut *world.driver, &*world.clocks, || unreachable!()).expect("brought up to date");
    assert_eq!(commits(&mut world, question), before);
}
