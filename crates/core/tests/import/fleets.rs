//! Exports of fleets that were cut, altered or made up: refused by line and reason, with nothing changed, and never with
//! anybody's authority.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use tenure_core::import::tenure;
use tenure_core::model::export::{Line, Seal};
use tenure_core::model::limits::IMPORT_BYTES;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::task::Lifecycle;

use crate::store::Store;

const FLEET: &str = "00000000000000000000000000000abc";

fn task(id: &str) -> Value {
    json!({ "record": "task", "id": id, "title": "t", "kind": "code", "priority": 2, "lifecycle": "open",
        "revision": 3, "generation": 2, "created_at": 1, "updated_at": 2 })
}

fn with(mut line: Value, field: &str, value: Value) -> Value {
    line[field] = value;
    line
}

/// The lines of a small fleet, header and last line aside.
fn lines() -> Vec<Value> {
    let held = json!({ "record": "attempt", "id": "afc-1@2", "principal": "bob", "mode": "fresh", "state": "active",
        "current": true, "started_at": 5 });
    vec![
        json!({ "record": "project", "key": "afc", "name": "A", "policy": { "workflow": "simple", "recovery": "auto" },
            "revision": 1, "created_at": 1 }),
        with(task("afc-1"), "aliases", json!(["a", "b"])),
        with(with(task("afc-2"), "lifecycle", json!("cancelled")), "resolution", json!("abandoned")),
        task("afc-10"),
        json!({ "record": "dependency", "task": "afc-10", "kind": "blocks", "on": "afc-1" }),
        json!({ "record": "blocker", "task": "afc-1", "number": 1, "kind": "permission", "reason": "r", "raised_by": "bob",
            "created_at": 1 }),
        json!({ "record": "entry", "number": 7, "task": "afc-1", "kind": "note", "principal": "bob", "at": 1, "text": "n" }),
        held,
    ]
}

fn sealed_as(header: &str, lines: &[String]) -> String {
    let mut seal = Seal::default();
    let mut text = String::new();
    for line in std::iter::once(header).chain(lines.iter().map(String::as_str)) {
        seal.add(format!("{line}\n").as_bytes());
        text.push_str(&format!("{line}\n"));
    }
    text + &Line::End(seal.end()).text()
}

fn header() -> String {
    json!({ "record": "header", "format": "tenure-export", "version": 1, "fleet": FLEET }).to_string()
}

/// A file of these lines, whose last line vouches for them whatever they are.
fn sealed(lines: &[Value]) -> String {
    sealed_as(&header(), &lines.iter().map(Value::to_string).collect::<Vec<_>>())
}

fn refused(text: &str) -> Refusal {
    let mut store = Store::new();
    let before = store.everything();
    let refusal = store.apply_fleet(text).expect_err(text);
    assert_eq!(store.everything(), before, "{text}");
    assert_eq!(refusal.code, Code::InvalidInput, "{}", refusal.detail);
    refusal
}

#[test]
fn a_whole_file_is_imported_and_held_work_is_nobody_s() {
    let mut store = Store::new();
    let report = store.apply_fleet(&sealed(&lines())).expect("whole").report;
    assert_eq!((report.created, report.ready, report.done, report.lines), (3, 0, 0, 10));
    let tasks: Vec<_> = store.set.tasks.dirty().filter_map(|(_, task)| task).collect();
    assert!(tasks.iter().all(|task| !task.held && task.generation.0 == 0 && task.reserved.is_none()));
    assert_eq!(tasks.iter().filter(|task| task.lifecycle == Lifecycle::Cancelled).count(), 1);
    assert_eq!(store.set.attempts.dirty().count(), 0);
    let before = store.everything();
    assert_eq!(store.apply_fleet(&sealed(&lines())).expect("whole").report.created, 0);
    assert_eq!(store.everything(), before);
}

#[test]
fn a_file_that_is_not_whole_is_refused_before_it_is_read() {
    let whole = sealed(&lines());
    for end in whole.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < whole.len()) {
        let refusal = refused(&whole[..end]);
        assert!(refusal.detail.contains("cut off"), "{}", refusal.detail);
    }
    for cut in 1..whole.len() {
        if whole.is_char_boundary(cut) {
            assert!(refused(&whole[..cut]).facts.contains_key("line"));
        }
    }
    let altered = whole.replace("\"n\"", "\"m\"");
    assert!(refused(&altered).detail.contains("altered"));
    let swapped: Vec<&str> = whole.lines().collect();
    let swapped = [&swapped[..2], &[swapped[3], swapped[2]], &swapped[4..]].concat().join("\n") + "\n";
    assert!(refused(&swapped).detail.contains("altered"));
    let dropped = whole.replacen(&format!("{}\n", lines()[3]), "", 1);
    assert!(refused(&dropped).detail.contains("vouches for 9 lines, and 8"), "{}", refused(&dropped).detail);
    assert!(refused("").detail.contains("line 1: the file is empty"));
    assert!(refused(&(whole.clone() + &whole)).detail.starts_with("line 20: "));
    assert!(refused(&"x".repeat(IMPORT_BYTES + 1)).detail.contains("the limit is"));
}

#[test]
fn another_format_and_a_newer_version_are_told() {
    for (header, says) in [
        (r#"{"id":"a","title":"t"}"#.to_owned(), "no export of Tenure"),
        ("hello".to_owned(), "no export of Tenure"),
        (
            header().replace("\"version\":1", "\"version\":2"),
            "version 2 of the format, and this program knows 1",
        ),
        (header().replace("\"version\":1", "\"version\":0"), "no version"),
        (
            header().replace("\"version\":1", "\"version\":1,\"time\":5"),
            "time: an export writes no such value",
        ),
        (header().replace(FLEET, "a b"), "not the id of a fleet"),
    ] {
        let refusal = refused(&sealed_as(&header, &[]));
        assert!(
            refusal.detail.starts_with("line 1: ") && refusal.detail.contains(says),
            "{}",
            refusal.detail
        );
    }
}

#[test]
fn a_newer_version_asks_for_a_newer_program_and_a_torn_file_is_told_as_one() {
    let newer = refused(&sealed_as(&header().replace("\"version\":1", "\"version\":2"), &[]));
    assert!(newer.next_actions.concat().contains("upgrade tenure"), "{newer:?}");
    let torn = refused(&(sealed(&lines()) + "\0\0\0"));
    assert!(torn.detail.contains("NUL bytes"), "{torn:?}");
}

#[test]
fn what_another_tracker_wrote_is_taken_also_beyond_the_limits_of_a_caller() {
    let mut lines = lines();
    for (field, value) in [
        ("created_at", json!(-1)),
        ("labels", json!(vec!["x"; 101])),
        ("imported", json!({ "status": "open" })),
    ] {
        lines[1][field] = value;
    }
    lines[5]["created_at"] = json!(-1);
    Store::new().apply_fleet(&sealed(&lines)).expect("it was kept as it was");
}

#[test]
fn a_made_up_line_is_refused_with_its_number_and_the_reason() {
    let change = |place: usize, field: &str, value: Value| {
        let mut lines = lines();
        lines[place][field] = value;
        sealed(&lines)
    };
    let insert = |place: usize, line: Value| {
        let mut lines = lines();
        lines.insert(place, line);
        sealed(&lines)
    };
    let edge =
        |task: &str, on: &str| json!({ "record": "dependency", "task": task, "kind": "blocks", "on": on });
    let cases = [
        (change(1, "owner", json!("me")), 3, "owner: an export writes no such value"),
        (change(1, "held", json!(true)), 3, "held: "),
        (change(7, "token_hash", json!("0")), 9, "token_hash: "),
        (change(1, "archived", json!(false)), 3, "archived: an export writes no such value"),
        (change(1, "archived", json!(true)), 3, "only a finished task"),
        (change(1, "priority", json!(5)), 3, "priority: 5 is not a priority"),
        (change(1, "title", json!(" ")), 3, "title: "),
        (change(1, "title", json!("x".repeat(501))), 3, "title: "),
        (change(1, "description", json!("a\0b")), 3, "NUL"),
        (change(1, "aliases", json!(["a\u{1b}[2J"])), 3, "control characters"),
        (change(1, "aliases", json!(["b", "a"])), 3, "not in order"),
        (change(3, "aliases", json!(["a"])), 5, "another task's already"),
        (change(1, "lifecycle", json!("done")), 3, "a task that is done has one"),
        (change(2, "resolution", json!("done")), 4, "none of a task that is cancelled"),
        (change(2, "successor", json!("afc-1")), 4, "only a duplicate or superseded task"),
        (change(1, "criteria", json!([{ "id": "c1", "text": "x" }])), 3, "ids were never given"),
        (change(1, "criteria_given", json!(u64::MAX)), 3, "ids were never given"),
        (change(1, "created_at", json!(i64::MAX)), 3, "created_at: "),
        (change(1, "deferred_until", json!(i64::MAX - 1)), 3, "deferred_until: "),
        (change(1, "revision", json!(-1)), 3, "revision"),
        (change(1, "revision", json!(0)), 3, "revision: 0 is not a number"),
        (change(1, "revision", json!(u64::MAX)), 3, "revision: 18446744073709551615 is not"),
        (change(0, "revision", json!(0)), 2, "revision: 0 is not a number"),
        (change(0, "created_at", json!(-1)), 2, "created_at: -1 is before 1970"),
        (change(1, "created_at", json!(-1)), 3, "created_at: -1 is before 1970"),
        (change(1, "updated_at", json!(-1)), 3, "updated_at: -1 is before 1970"),
        (change(5, "created_at", json!(-1)), 7, "created_at: -1 is before 1970"),
        (change(6, "at", json!(-1)), 8, "at: -1 is before 1970"),
        (change(1, "labels", json!([""])), 3, "labels is empty"),
        (change(1, "labels", json!(vec!["x"; 101])), 3, "labels has 101 entries"),
        (change(1, "id", json!("xyz-1")), 3, "its project xyz is not in the file"),
        (change(0, "name", json!("a\nb")), 2, "control character"),
        (change(4, "on", json!("afc-3")), 6, "afc-3 is not in the file"),
        (change(4, "outside", json!("open")), 6, "its project is in the file"),
        (change(4, "kind", json!("eats")), 6, "kind"),
        (change(5, "task", json!("afc-3")), 7, "afc-3 is not in the file"),
        (change(6, "task", json!("afc-3")), 8, "afc-3 is not in the file"),
        (change(6, "evidence", json!({ "branch": "b", "x": 1 })), 8, "x"),
        (change(7, "id", json!("afc-3@1")), 9, "afc-3 is not in the file"),
        (insert(2, with(task("afc-1"), "title", json!("again"))), 4, "there twice"),
        (insert(1, task("afc-9")), 4, "stands after a record that comes after it"),
        (insert(8, task("afc-11")), 10, "stands after a record that comes after it"),
        (insert(5, edge("afc-10", "afc-10")), 5, "afc-10 would wait for itself"),
        (insert(8, json!({ "record": "event", "number": 1 })), 10, "no record that stands here"),
        (insert(8, json!({ "record": "end", "lines": 1 })), 10, "no record that stands here"),
        (
            insert(
                8,
                json!({ "record": "attempt", "id": "afc-1@3", "principal": "eve", "mode": "fresh", "state": "active",
            "current": true, "started_at": 6 }),
            ),
            10,
            "two current attempts",
        ),
        (insert(8, json!([])), 10, "no record that stands here"),
    ];
    for (text, line, says) in cases {
        let refusal = refused(&text);
        let detail = &refusal.detail;
        assert!(detail.starts_with(&format!("line {line}: ")) && detail.contains(says), "{says}: {detail}");
    }
    let twice = sealed(&lines()).replace("\"title\":\"t\"", "\"title\":\"t\",\"title\":\"u\"");
    let lines: Vec<String> = twice.lines().skip(1).map(str::to_owned).collect();
    let refusal = refused(&sealed_as(&header(), &lines[..lines.len() - 1]));
    assert!(
        refusal.detail.starts_with("line 3: ") && refusal.detail.contains("occurs twice"),
        "{}",
        refusal.detail
    );
    let deep = format!("{{\"record\":\"task\",\"imported\":{}1{}}}", "[".repeat(120), "]".repeat(120));
    assert!(refused(&sealed_as(&header(), &[deep])).detail.contains("line 2: not acceptable JSON"));
}

#[test]
fn circles_that_no_fleet_could_have_are_refused_and_those_of_another_tracker_are_told() {
    let edge = |task: &str, kind: &str, on: &str| json!({ "record": "dependency", "task": task, "kind": kind, "on": on });
    let fleet =
        |tasks: Vec<Value>, edges: &[Value]| [vec![lines()[0].clone()], tasks, edges.to_vec()].concat();
    let three = || ["afc-1", "afc-2", "afc-3"].map(task).to_vec();
    for edges in [
        vec![edge("afc-1", "blocks", "afc-1")],
        vec![edge("afc-1", "blocks", "afc-2"), edge("afc-2", "blocks", "afc-1")],
        vec![
            edge("afc-1", "blocks", "afc-2"),
            edge("afc-2", "blocks", "afc-3"),
            edge("afc-3", "blocks", "afc-1"),
        ],
        // A child that waits for its parent, and parents in a circle.
        vec![edge("afc-1", "blocks", "afc-2"), edge("afc-1", "parent", "afc-2")],
        vec![edge("afc-1", "parent", "afc-2"), edge("afc-2", "parent", "afc-1")],
    ] {
        let refusal = refused(&sealed(&fleet(three(), &edges)));
        assert!(refusal.detail.contains("line 3: afc-1 would wait for itself"), "{}", refusal.detail);
        let mut foreign = three();
        foreign[1]["imported"] = json!({ "x": 1 });
        let mut store = Store::new();
        let report = store.apply_fleet(&sealed(&fleet(foreign, &edges)));
        // Where the one from another tracker is no member, it excuses nobody.
        match edges[0]["on"] == "afc-1" {
            true => assert!(report.is_err()),
            false => assert_eq!(report.expect("told").report.cycles.len(), 1),
        }
    }
    // Whoever waits for what was replaced waits for what stands in its place.
    let over = |id: &str, by: &str| {
        let line = with(with(task(id), "lifecycle", json!("cancelled")), "resolution", json!("superseded"));
        with(line, "successor", json!(by))
    };
    let tasks = vec![task("afc-1"), over("afc-2", "afc-3"), task("afc-3")];
    let edges = [
        edge("afc-1", "blocks", "afc-2"),
        edge("afc-3", "blocks", "afc-1"),
        edge("afc-3", "supersedes", "afc-2"),
    ];
    assert!(refused(&sealed(&fleet(tasks.clone(), &edges))).detail.contains("would wait for itself"));
    let refusal = refused(&sealed(&fleet(tasks, &edges[..2])));
    assert!(refusal.detail.contains("no record says that afc-3 supersedes afc-2"), "{}", refusal.detail);
    let tasks = vec![over("afc-1", "afc-2"), over("afc-2", "afc-1")];
    let edges = [edge("afc-1", "supersedes", "afc-2"), edge("afc-2", "supersedes", "afc-1")];
    assert!(refused(&sealed(&fleet(tasks, &edges))).detail.contains("in a circle"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    /// A file whose lines were changed anyhow and sealed anew is refused by line or imported once, the same each time.
    #[test]
    fn a_sealed_file_of_anything_never_panics(
        changes in proptest::collection::vec(
            (any::<Index>(), any::<Index>(), proptest::collection::vec(any::<u8>(), 0..6)), 0..3),
        moves in proptest::collection::vec((any::<Index>(), any::<Index>()), 0..2),
    ) {
        let mut lines: Vec<String> = lines().iter().map(Value::to_string).collect();
        for (from, to) in moves {
            let line = from.get(&lines).clone();
            lines.insert(to.index(lines.len()), line);
        }
        for (line, place, bytes) in &changes {
            let line = line.get_mut(&mut lines);
            let mut changed = line.clone().into_bytes();
            let at = place.index(changed.len() + 1);
            changed.splice(at..(at + bytes.len() / 2).min(changed.len()), bytes.iter().copied());
            *line = String::from_utf8_lossy(&changed).replace('\n', " ");
        }
        let text = sealed_as(&header(), &lines);
        let read = tenure::read(&text);
        prop_assert_eq!(&read, &tenure::read(&text));
        let mut store = Store::new();
        match (read, store.apply_fleet(&text)) {
            (Ok(_), Ok(_)) => prop_assert_eq!(store.apply_fleet(&text).expect("known").report.created, 0),
            (Err(read), Err(applied)) => {
                prop_assert!(read.detail.starts_with("line "), "{}", read.detail);
                prop_assert_eq!(read, applied);
            }
            (read, applied) => prop_assert!(false, "{:?} and {:?}", read, applied),
        }
        let nobody = store.set.tasks.dirty().filter_map(|(_, task)| task).all(|task| !task.held);
        prop_assert!(nobody && store.set.attempts.dirty().count() == 0);
    }
}
