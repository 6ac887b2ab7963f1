//! What a new task may be a duplicate of is told, and never blocks it.

use serde_json::{Value, json};

use crate::world::{Agent, on_every_store, operation};

#[test]
fn a_likely_duplicate_is_told_whoever_wrote_it_and_whatever_became_of_it() {
    on_every_store(|mut world| {
        let bob = Agent::new("bob", 1);
        world.done(bob.open());
        world.done(bob.command(operation("project.create", json!({ "key": "afc" }))));
        let create =
            |title: &str| bob.command(operation("task.create", json!({ "project": "afc", "title": title })));
        world.done(create("Fix the parser"));
        world.done(create("other"));
        world.done(bob.command(operation("close", json!({ "task": "afc-1", "revision": 1 }))));
        world.done(bob.command(operation("task.archive", json!({ "task": "afc-1" }))));
        // Two that come at the same moment, in one batch, hear of each other as well.
        let both = vec![create("fix: the Parser!"), create("FIX THE PARSER")];
        let answers = world.batch(both).expect("stored").answers;
        let told = |answer: &Result<String, _>| -> Value {
            let answer: Value = serde_json::from_str(answer.as_ref().expect("accepted")).expect("JSON");
            answer["likely_duplicates"].clone()
        };
        let told: Vec<Value> = answers.iter().map(told).collect();
        assert_eq!(told, [json!(["afc-1"]), json!(["afc-1", "afc-3"])]);
        let text = r#"{"id":"b-1","title":"Imported"}"#;
        let import = json!({ "project": "afc", "format": "beads", "text": text });
        world.done(bob.command(operation("import.apply", import)));
        assert_eq!(world.done(create("imported"))["likely_duplicates"], json!(["afc-5"]));
    });
}
