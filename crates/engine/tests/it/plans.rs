//! The hot questions are answered from indexes: their plans are part of what the store promises.

use tenure_core::model::attempt::Entry;
use tenure_core::model::event::Receipt;
use tenure_core::model::ids::TaskId;
use tenure_core::model::project::Project;
use tenure_core::model::task::{Body, Task};
use tenure_core::search::query::Query;
use tenure_core::working_set::Chosen;
use tenure_engine::execute::prepare;
use tenure_engine::store::driver::Values;
use tenure_engine::store::rows::{Lookup, Stored};
use tenure_engine::store::search::fts5;
use tenure_engine::store::sqlite::Sqlite;
use tenure_engine::store::{
    attempt, body, completion, entry, event, graph, label, page, project, queue, receipt, search, session,
    task,
};

use crate::world::StillClocks;

fn store() -> Sqlite {
    let mut sqlite = Sqlite::in_memory().expect("a database");
    prepare(&mut sqlite, &*StillClocks::new(), || Ok("test".to_owned())).expect("a fleet");
    sqlite
}

fn plan(sql: &str) -> String {
    let columns = Task::shape().columns().join(", ");
    store().plan(&sql.replace("{columns}", &columns)).expect(sql).join("\n")
}

fn check(sql: &str, index: &str) {
    let plan = plan(sql);
    assert!(plan.contains(index), "{sql}\n{plan}");
    assert!(!plan.contains("SCAN task") && !plan.contains("SCAN attempt"), "{sql}\n{plan}");
    assert!(!plan.contains("SCAN event") && !plan.contains("SCAN body"), "{sql}\n{plan}");
}

#[test]
fn the_ready_queue_is_read_in_order_without_sorting() {
    check(queue::READY, "USING INDEX task_ready (project=? AND (priority,ready_at,number)>(?,?,?))");
    assert!(!plan(queue::READY).contains("TEMP B-TREE"));
}

#[test]
fn a_tasks_newest_entries_are_read_backwards_and_no_further() {
    let sql = entry::NEWEST.replace("{columns}", &Entry::shape().columns().join(", "));
    assert!(plan(&sql).contains("INDEX entry_task (task=?)"), "{}", plan(&sql));
    assert!(!plan(&sql).contains("TEMP B-TREE"), "{}", plan(&sql));
    assert!(plan(entry::COUNT).contains("INDEX entry_task (task=?)"), "{}", plan(entry::COUNT));
}

#[test]
fn every_entry_is_read_in_order_without_sorting() {
    let sql = entry::EVERY.replace("{columns}", &Entry::shape().columns().join(", "));
    assert!(!plan(&sql).contains("TEMP B-TREE"), "{}", plan(&sql));
}

#[test]
fn what_happened_since_a_moment_is_read_from_there_on() {
    for sql in [event::OF_TASKS, event::TASKS] {
        check(&sql.replace("{kinds}", "'task_closed', 'task_cancelled'"), "INTEGER PRIMARY KEY (rowid>?)");
    }
    check(graph::KEPT, "PRIMARY KEY (project=? AND stage=?)");
}

#[test]
fn old_receipts_are_found_without_looking_at_young_ones() {
    let sql = receipt::AGED.replace("{columns}", &Receipt::shape().columns().join(", "));
    assert!(plan(&sql).contains("INDEX receipt_age (at<?)"), "{}", plan(&sql));
}

#[test]
fn what_time_changed_is_found_by_its_moment() {
    check(queue::DUE, "USING INDEX task_deferred (project=? AND deferred_until<?)");
    check(queue::DUE_COUNT, "INDEX task_deferred (project=? AND deferred_until<?)");
    check(queue::RECOVERY, "USING INDEX attempt_stops (project=? AND stops_at<?)");
    check(queue::EXPIRED_COUNT, "INDEX attempt_stops (project=? AND stops_at<?)");
    check(queue::OVERDUE_ATTEMPTS, "INDEX attempt_stops (project=? AND stops_at>? AND stops_at<?)");
    check(queue::OVERDUE_DEFERRALS, "INDEX task_deferred (project=? AND deferred_until<?)");
    check(queue::LIVE, "INDEX attempt_stops (project=? AND stops_at>?)");
}

#[test]
fn lists_and_the_record_are_read_in_order_without_sorting() {
    check(page::BY_NUMBER, "USING PRIMARY KEY (project=? AND stage=? AND number>?)");
    check(event::AFTER, "USING INTEGER PRIMARY KEY (rowid>?)");
    check(event::AFTER_OF_TASK, "USING INDEX event_task (task=? AND number>?)");
    check(event::NEWEST_OF_TASK, "USING INDEX event_task (task=?)");
    check(body::TITLED, "USING INDEX body_title (title_key=?)");
    let projects = Project::shape().after();
    check(&projects, "(key>?)");
    for sql in
        [page::BY_NUMBER, event::AFTER, event::AFTER_OF_TASK, event::NEWEST, event::NEWEST_OF_TASK, &projects]
    {
        assert!(!plan(sql).contains("TEMP B-TREE"), "{sql}");
    }
}

#[test]
fn labelled_tasks_and_labels_are_read_in_order_without_sorting() {
    for labels in [1, 3] {
        check(&label::labelled_text(labels), "label_tasks (project=? AND label=? AND number>?)");
        assert!(!plan(&label::labelled_text(labels)).contains("TEMP B-TREE"), "{labels}");
    }
    check(label::COUNTS, "label_tasks (project=? AND label>?)");
    assert!(!plan(label::COUNTS).contains("TEMP B-TREE"), "{}", plan(label::COUNTS));
    check(&Body::shape().after(), "(task>?)");
}

#[test]
fn a_search_reads_what_its_words_lead_to_and_nothing_else() {
    for (query, in_project) in [("one", false), ("one \"two three\" -four -five", true)] {
        let query = Query::read(query).expect("a query");
        let steps = store().plan(&fts5::text_for(&query, in_project)).expect("a statement");
        for step in &steps {
            let looks_up = !step.starts_with("SCAN")
                || step.contains("VIRTUAL TABLE INDEX 0:M")
                || ["SCAN hit", "SCAN best", "SCAN task_score"].contains(&step.as_str())
                || step.starts_with("SCAN (subquery");
            assert!(looks_up, "{step}\n{}", steps.join("\n"));
        }
    }
    check(search::OF_BODIES.text(64), "INDEX passage_body (task=?)");
}

#[test]
fn commits_are_found_from_the_tasks_that_are_chosen() {
    let task = |number| TaskId { project: "afc".parse().expect("a key"), number };
    let label = Chosen::Labelled("afc".parse().expect("a key"), "ui".to_owned());
    for of in [label, Chosen::Below(task(1)), Chosen::Named(vec![task(1), task(2)])] {
        for sql in [
            completion::list_text(&of, false, &mut Values::default()),
            completion::list_text(&of, true, &mut Values::default()),
            completion::count_text(&of, &mut Values::default()),
        ] {
            check(&sql, "SEARCH completion USING PRIMARY KEY (task=?)");
            assert!(
                !plan(&sql).contains("SCAN label") && !plan(&sql).contains("SCAN dependency"),
                "{}",
                plan(&sql)
            );
        }
    }
}

#[test]
fn the_tasks_around_one_are_found_from_its_edges() {
    check(graph::EDGES_OF, "SEARCH dependency USING PRIMARY KEY (task=? AND kind=?)");
    check(graph::COUNT_OF, "SEARCH dependency USING PRIMARY KEY (task=? AND kind=?)");
    check(graph::EDGES_ON, "INDEX dependency_on (on_task=?)");
    check(graph::COUNT_ON, "INDEX dependency_on (on_task=?)");
    check(graph::OPEN_CHILD, "INDEX dependency_on (on_task=?)");
}

#[test]
fn every_lookup_of_many_keys_uses_an_index() {
    let lookups: &[(&Lookup, &str)] = &[
        (&project::BY_KEY, "PRIMARY KEY (key=?)"),
        (&project::BINDINGS, "PRIMARY KEY (repository=?)"),
        (&project::TALLIES, "PRIMARY KEY (project=?)"),
        (&session::PRINCIPALS, "PRIMARY KEY (name=?)"),
        (&session::BY_ID, "PRIMARY KEY (id=?)"),
        (&session::OPEN_OF, "INDEX session_open_principal (principal=?)"),
        (&session::IN_CONVERSATION, "INDEX session_open_conversation (conversation=?)"),
        (&session::BY_HANDLE, "INDEX session_handle (handle=?)"),
        (&session::SERVED_AT, "PRIMARY KEY (session=? AND project=?)"),
        (&task::BY_ID, "(id=?)"),
        (&body::BY_TASK, "(task=?)"),
        (&body::ALIASES, "PRIMARY KEY (project=? AND alias=?)"),
        (&body::ALIASES_OF, "INDEX alias_task (task=?)"),
        (&graph::OF, "PRIMARY KEY (task=?)"),
        (&graph::ON, "INDEX dependency_on (on_task=?)"),
        (&graph::BLOCKERS, "PRIMARY KEY (task=?)"),
        (&attempt::BY_ID, "PRIMARY KEY (id=?)"),
        (&attempt::CURRENT_OF, "INDEX attempt_session (session=?)"),
        (&attempt::CURRENT_IN, "INDEX attempt_stops (project=?)"),
        (&receipt::BY_ID, "(operation_id=? AND principal=?)"),
    ];
    for (lookup, index) in lookups {
        for keys in [1, 64] {
            check(lookup.text(keys), index);
        }
    }
    check(&attempt::newest_of(), "PRIMARY KEY (id>? AND id<?)");
    check(&attempt::every_of(), "PRIMARY KEY (id>? AND id<?)");
    assert!(plan(&session::newest_text()).contains("session_open_newest"));
}
