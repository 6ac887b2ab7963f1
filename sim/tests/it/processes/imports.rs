//! Other people's exports through the real command.

use serde_json::Value;
use tenure_sim::place::Place;
use tenure_sim::shell::Shell;

/// The files with what the import must give: unique ids without tombstones, done, ready.
const FILES: [(&str, u64, u64, u64); 4] = [
    ("beads-2026-01", 2_122, 2_013, 65),
    ("gastown-dangling", 1_861, 1_624, 162),
    ("relay-cycle", 439, 223, 168),
    ("boring-ui-dups", 247, 87, 9),
];

#[test]
fn whole_exports_are_imported_once_and_a_second_time_changes_nothing() {
    let place = Place::new();
    let shell = Shell::new(place.state(), &place.checkout()).named("ada");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/beads");
    let answers: Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{folder}/ready-ids.json")).expect("there"))
            .expect("JSON");
    for (number, (name, tasks, done, ready)) in (1..).zip(FILES) {
        let (project, file) = (format!("p{number}"), format!("{folder}/{name}.jsonl"));
        shell.json(&["project", "create", &project]);
        let apply = ["import", "beads", &file, "--project", &project, "--apply"];
        let report = shell.json(&apply)["report"].clone();
        let told = ["created", "done", "ready"].map(|field| report[field].as_u64().expect("a number"));
        assert_eq!(told, [tasks, done, ready], "{name}");
        let list = shell.json(&["ready", "--project", &project, "--limit", "1000"]);
        assert_eq!(list["total"], ready, "{name}");
        let mut ids: Vec<&Value> =
            list["tasks"].as_array().expect("tasks").iter().map(|task| &task["aliases"][0]).collect();
        ids.sort_by_key(|id| id.as_str());
        let right: Vec<&Value> =
            answers[format!("{name}.jsonl")].as_array().expect("a list").iter().collect();
        assert_eq!(ids, right, "{name}");

        let before = shell.json(&["stats"]);
        let again = shell.json(&apply)["report"].clone();
        assert_eq!((&again["created"], &again["already_here"]), (&0.into(), &tasks.into()), "{name}");
        assert_eq!(before["projects"], shell.json(&["stats"])["projects"], "{name}");
    }
}
