//! What a project is after an import, and what it is after a second one.

use tenure_core::import::Report;
use tenure_core::model::attempt::{AttemptMode, AttemptState, EntryKind};
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::event::EventKind;
use tenure_core::model::refusal::Code;
use tenure_core::model::task::{DEFERRED_WITHOUT_DATE, Lifecycle, Queue};
use tenure_core::model::time::WallTime;
use tenure_core::operation::graph::RemoveDependency;
use tenure_core::operation::ownership::{Claim, Close};
use tenure_core::operation::queue::Explain;
use tenure_core::operation::task::CreateTask;
use tenure_core::working_set::records::Side;

use crate::oracle::{FILES, file, issue, on, proposal, right_answers};
use crate::store::{Store, project};

fn close(store: &mut Store, alias: &str) {
    let request = format!(r#"{{"task":"{}","revision":{}}}"#, store.id(alias), store.task(alias).revision);
    let close: Close = serde_json::from_str(&request).expect("a request");
    store.run(&close).expect("closed");
}

#[test]
fn every_file_makes_exactly_the_right_tasks_ready() {
    for (name, count) in FILES {
        let mut store = Store::new();
        let report = store.apply(&file(name)).expect(name).report;
        assert_eq!(store.ready(), right_answers(name), "{name}");
        assert_eq!(report.ready, count as u64, "{name}");
        assert_eq!(report.created, report.unique_ids - report.tombstones, "{name}");
        let done = store.set.tallies.get(&(project(), Queue::Done)).flatten().map_or(0, |tally| tally.count);
        assert_eq!(done, report.done, "{name}");
        let tallied: u64 = store.set.tallies.dirty().filter_map(|(_, tally)| tally).map(|t| t.count).sum();
        assert_eq!(tallied, report.created, "{name}");
    }
}

#[test]
fn a_preview_reports_what_applying_would_and_changes_nothing() {
    for (name, _) in FILES {
        let text = file(name);
        let mut store = Store::new();
        let before = store.everything();
        let preview = store.preview(&text).expect(name);
        assert_eq!(store.everything(), before, "{name}");
        let applied = store.apply(&text).expect(name);
        assert!(applied.applied && !preview.applied);
        assert_eq!(preview.report, applied.report, "{name}");
        let again = store.preview(&text).expect(name).report;
        assert_eq!((again.created, again.ready), (0, applied.report.ready), "{name}");
    }
}

#[test]
fn a_second_import_creates_and_changes_nothing() {
    for (name, _) in FILES {
        let text = file(name);
        let mut store = Store::new();
        let first = store.apply(&text).expect(name).report;
        let before = store.everything();
        let second = store.apply(&text).expect(name).report;
        assert_eq!(store.everything(), before, "{name}");
        let expected = Report { created: 0, already_here: first.created, ..first };
        assert_eq!(second, expected, "{name}");
    }
}

#[test]
fn tasks_are_numbered_in_file_order_and_the_record_says_where_they_came_from() {
    let mut store = Store::new();
    let report = store.apply(&file("tiny.jsonl")).expect("tiny").report;
    let ids: Vec<u64> =
        proposal("tiny.jsonl").records.iter().map(|record| store.id(&record.source).number).collect();
    assert_eq!(ids, (1..=report.created).collect::<Vec<_>>());
    let events = &store.set.events;
    let created = events.iter().filter(|event| event.event.kind == EventKind::TaskCreated).count() as u64;
    assert_eq!(created, report.created);
    let last = &events.last().expect("an event").event;
    assert_eq!((last.kind, &last.data["created"]), (EventKind::ImportApplied, &report.created.into()));
    // As `sha256sum` prints it.
    let sha256 = "8433f9b6ffb55e7933f3eea4be00d2ad301d05b02b5bbeeac308432b5793afb3";
    assert_eq!(last.data["file_sha256"], sha256);
}

#[test]
fn a_task_that_moved_on_here_is_left_alone() {
    let text = file("tiny.jsonl");
    let mut store = Store::new();
    store.apply(&text).expect("tiny");
    close(&mut store, "y-open");
    assert_eq!(store.task("y-a2").queue(), Queue::Ready);
    let before = store.everything();
    let report = store.apply(&text).expect("tiny").report;
    assert_eq!(store.everything(), before);
    assert_eq!(report.left_alone, ["y-open"]);
    assert_eq!(store.task("y-open").lifecycle, Lifecycle::Done);
}

#[test]
fn what_is_finished_on_both_sides_agrees_and_another_wish_is_told() {
    let mut store = Store::new();
    store.apply(&[issue("a", ""), issue("b", ""), issue("c", "")].join("\n")).expect("applied");
    close(&mut store, "a");
    let later = [
        issue("a", r#","status":"closed","closed_at":"2026-01-01T00:00:00Z""#),
        issue("b", r#","labels":["new"]"#),
        issue("c", r#","status":"deferred""#),
    ];
    let report = store.apply(&later.join("\n")).expect("applied").report;
    assert_eq!((report.created, report.already_here), (0, 3));
    assert_eq!(report.left_alone, ["b", "c"]);
}

#[test]
fn unfinished_work_is_taken_over_by_recovery_and_never_as_fresh_work() {
    let mut store = Store::new();
    store.apply(&file("tiny.jsonl")).expect("tiny");
    let task = store.task("y-prog");
    let attempt = task.current_attempt().expect("an imported attempt");
    let attempt = store.set.attempts.get(&attempt).flatten().expect("an attempt");
    assert_eq!((attempt.state, task.queue()), (AttemptState::Imported, Queue::Held));
    let claim = Claim {
        task: Some(task.id),
        projects: Vec::new(),
        another: false,
        no_recovery: false,
        wait_ms: None,
    };
    let claimed = store.run(&claim).expect("claimed");
    assert_eq!((claimed.mode, claimed.generation.0), (AttemptMode::Recovery, 2));
    assert!(claimed.recovery.is_some());
    let report = store.apply(&file("tiny.jsonl")).expect("tiny").report;
    assert_eq!(report.left_alone, ["y-prog"]);
}

#[test]
fn a_cycle_stands_until_one_of_its_edges_goes() {
    let mut store = Store::new();
    store.apply(&file("tiny.jsonl")).expect("tiny");
    let (first, second) = (store.id("y-h1"), store.id("y-h2"));
    let explained = store.run(&Explain { task: first.clone() }).expect("explained");
    assert!(!explained.ready, "{explained:?}");
    assert_eq!((store.task("y-h1").own_blockers, store.task("y-h2").own_blockers), (2, 2));
    let edge = RemoveDependency { task: first, on: second, kind: DependencyKind::Blocks };
    store.run(&edge).expect("removed");
    assert_eq!((store.task("y-h1").queue(), store.task("y-h2").own_blockers), (Queue::Ready, 1));
}

#[test]
fn deferrals_have_their_date_or_none() {
    let mut store = Store::new();
    let past = r#","defer_until":"2026-01-01T00:00:00Z""#;
    let lines = [issue("past", past), issue("put-off", &format!(r#"{past},"status":"deferred""#))];
    store.apply(&(file("tiny.jsonl") + "\n" + &lines.join("\n"))).expect("tiny");
    assert_eq!(store.task("y-defer").deferred_until, Some(DEFERRED_WITHOUT_DATE));
    assert_eq!(store.task("y-far").deferred_until, Some(WallTime(4_070_908_800_000)));
    assert_eq!(store.task("past").queue(), Queue::Ready);
    assert_eq!(store.task("put-off").deferred_until, Some(DEFERRED_WITHOUT_DATE));
}

#[test]
fn what_was_written_elsewhere_keeps_its_text_and_its_date() {
    let closed = r#","status":"closed","closed_at":"2026-01-03T00:00:00Z","close_reason":"merged","notes":"n\r\n",
        "updated_at":"2026-01-02T00:00:00Z","comments":[{"author":"bob","text":"hm","created_at":"2026-01-01T00:00:00Z"}]"#;
    let mut store = Store::new();
    store.apply(&issue("a", &closed.replace("\n        ", ""))).expect("applied");
    let id = store.id("a");
    let entries = store.set.entries.known(&id);
    let found: Vec<_> = entries.iter().map(|entry| (entry.kind, entry.text.as_str(), entry.at.0)).collect();
    let day = 24 * 60 * 60 * 1000;
    let first = 1_767_225_600_000;
    assert_eq!(
        found,
        [
            (EntryKind::Note, "n\r\n", first + day),
            (EntryKind::Note, "hm", first),
            (EntryKind::Completion, "merged", first + 2 * day)
        ]
    );
    assert!(entries.iter().all(|entry| entry.principal.as_str() == "alice"));
    let imported = store.set.body(&id).expect("a body").details.imported.expect("left over fields");
    assert_eq!(imported["comments"][0]["author"], "bob");
}

#[test]
fn a_later_file_adds_new_records_and_gives_no_edge_to_those_that_are_here() {
    let mut store = Store::new();
    let request = format!(r#"{{"project":"{}","title":"mine","aliases":["here"]}}"#, project());
    let create: CreateTask = serde_json::from_str(&request).expect("a request");
    // Nothing else is called so.
    let page = tenure_core::working_set::Page::Titled { project: project(), title: "mine".to_owned() };
    store.set.pages.insert(page, tenure_core::working_set::Rows::Tasks(Vec::new()));
    store.run(&create).expect("created");
    let lines = [
        issue("here", &format!(r#","dependencies":[{}]"#, on("new", "blocks"))),
        issue("new", &format!(r#","dependencies":[{}]"#, on("here", "blocks"))),
    ];
    let report = store.apply(&lines.join("\n")).expect("applied").report;
    assert_eq!((report.created, report.already_here, report.ready), (1, 1, 1));
    assert_eq!(report.left_alone, ["here"]);
    assert_eq!(store.task("here").queue(), Queue::Ready);
    assert_eq!(store.task("new").own_blockers, 1, "the circle of the file is none here");
    let edges = store.set.dependencies.find(&Side::On(store.id("here"))).expect("covered").len();
    assert_eq!(edges, 1);
}

#[test]
fn a_malformed_line_changes_nothing() {
    let mut store = Store::new();
    let before = store.everything();
    let text = file("tiny.jsonl") + "\n{\"id\":7}";
    let refusal = store.apply(&text).expect_err("malformed");
    assert_eq!(refusal.code, Code::InvalidInput);
    assert!(refusal.detail.starts_with("line 39: id of the record is the number 7"), "{}", refusal.detail);
    assert_eq!(store.preview(&text).expect_err("malformed"), refusal);
    assert_eq!(store.everything(), before);
}
