//! Work found again on the command line: by its labels.

use crate::place::Place;

#[test]
fn labels_are_listed_and_list_tasks() {
    let place = Place::bound();
    assert_eq!(place.ok("ada", &["label", "list"]).out, "no labels\n");
    place.task("one", &["--label", "phase 2", "--label", "ui"]);
    place.task("two", &["--label", "ui"]);
    let listed = place.ok("ada", &["label", "list", "--limit", "1"]);
    let expected = "UNFINISHED  FINISHED  LABEL\n1           0         phase 2\n1 shown; go on with --cursor '1.phase 2'\n";
    assert_eq!(listed.out, expected);
    let rest = place.ok("ada", &["label", "list", "--cursor", "1.phase 2"]);
    assert!(rest.out.ends_with("2           0         ui\n"), "{}", rest.out);
    let both = place.json("ada", &["task", "list", "--label", "ui", "-l", "phase 2"]);
    assert_eq!(both["tasks"].as_array().map(Vec::len), Some(1));
    assert_eq!(place.ok("ada", &["task", "list", "--label", "UI"]).out, "no tasks\n");
}
