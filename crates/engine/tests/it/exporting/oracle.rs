//! What two exports tell of the same tasks, compared field by field as plain JSON. Shares no code with the importer.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// What an export tells.
pub struct Told {
    fleet: String,
    pub tasks: BTreeMap<String, Value>,
    edges: Vec<Value>,
    blockers: Vec<Value>,
    entries: Vec<Value>,
}

impl Told {
    pub fn of(text: &str) -> Self {
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
        let of_kind = |kind: &str| lines.iter().filter(|line| line["record"] == kind).cloned().collect();
        let tasks: Vec<Value> = of_kind("task");
        Self {
            fleet: lines[0]["fleet"].as_str().expect("a fleet").to_owned(),
            tasks: tasks.into_iter().map(|task| (word(&task["id"]), task)).collect(),
            edges: of_kind("dependency"),
            blockers: of_kind("blocker"),
            entries: of_kind("entry"),
        }
    }

    /// What is told of a task under a kind of record, with ids as another fleet has them.
    fn about(&self, lines: &[Value], task: &str, said: impl Fn(&Value) -> Value) -> Vec<String> {
        lines.iter().filter(|line| line["task"] == task).map(|line| said(line).to_string()).collect()
    }
}

fn word(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// What differs between a fleet's export and that of its copy, in words. A deferral whose date has passed in the copy is
/// over there.
pub fn differences(from: &Told, to: &Told, now: i64) -> Vec<String> {
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    for (id, task) in &to.tasks {
        for alias in task["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if let Some(there) = alias.strip_prefix(&format!("{}/", from.fleet)) {
                ids.insert(there.to_owned(), id.clone());
            }
        }
    }
    let mut found = Vec::new();
    if to.tasks.len() != from.tasks.len() || ids.len() != from.tasks.len() {
        found.push(format!("{} tasks became {}", from.tasks.len(), to.tasks.len()));
        return found;
    }
    let here =
        |id: &Value| id.as_str().map(|id| ids.get(id).cloned().unwrap_or_else(|| format!("missing {id}")));
    for (id, there) in &from.tasks {
        let copy = &to.tasks[&ids[id]];
        let mut differ = |what: &str, there: &Value, copy: &Value| {
            if there != copy {
                found.push(format!("{what} of {id}: {there} became {copy}"));
            }
        };
        for field in [
            "title",
            "kind",
            "priority",
            "lifecycle",
            "resolution",
            "archived",
            "requires",
            "description",
            "criteria",
            "criteria_given",
            "labels",
            "specs",
            "source",
            "source_revision",
            "references",
            "touches",
            "resources",
            "created_at",
            "updated_at",
        ] {
            differ(field, &there[field], &copy[field]);
        }
        differ("successor", &json!(here(&there["successor"])), &copy["successor"]);
        differ("imported", &there["imported"], &copy["imported"]["imported"]);
        differ("revision", &there["revision"], &copy["imported"]["tenure"]["revision"]);
        let is_past = there["deferred_until"].as_i64().is_some_and(|until| until <= now);
        let deferral = |task: &Value| {
            ["deferred_until", "deferred_reason", "deferred_reopening"].map(|field| task[field].clone())
        };
        let expected = if is_past { deferral(&Value::Null) } else { deferral(there) };
        differ("deferral", &json!(expected), &json!(deferral(copy)));
        let names = |task: &Value| -> BTreeSet<String> {
            task["aliases"].as_array().into_iter().flatten().map(word).collect()
        };
        let mut expected = names(there);
        expected.insert(format!("{}/{id}", from.fleet));
        differ("aliases", &json!(expected), &json!(names(copy)));

        let edge = |edge: &Value, on: Value| json!([edge["kind"], on, edge["optional"] == true]);
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            json!(lines)
        };
        differ(
            "edges",
            &sorted(from.about(&from.edges, id, |line| edge(line, json!(here(&line["on"]))))),
            &sorted(to.about(&to.edges, &ids[id], |line| edge(line, line["on"].clone()))),
        );
        let blocker = |line: &Value| {
            json!(
                ["number", "kind", "reason", "reopening", "created_at", "resolved_at"]
                    .map(|field| line[field].clone())
            )
        };
        differ(
            "blockers",
            &json!(from.about(&from.blockers, id, blocker)),
            &json!(to.about(&to.blockers, &ids[id], blocker)),
        );
        let entry = |line: &Value, author: &Value| {
            let said = ["kind", "at", "text", "evidence", "tree", "disposition", "criteria"]
                .map(|field| line[field].clone());
            json!([said, author])
        };
        let first = |line: &Value| line.get("author").unwrap_or(&line["principal"]).clone();
        differ(
            "entries",
            &json!(from.about(&from.entries, id, |line| entry(line, &first(line)))),
            &json!(to.about(&to.entries, &ids[id], |line| entry(line, &line["author"]))),
        );
    }
    found
}

#[test]
fn the_oracle_sees_every_field() {
    let task = json!({ "record": "task", "id": "afc-1", "title": "t", "aliases": ["a"], "successor": null });
    let copy = json!({ "record": "task", "id": "xyz-7", "title": "t", "aliases": ["a", "f/afc-1"],
        "imported": { "tenure": {} } });
    let text = |fleet: &str, lines: &[&Value]| {
        let lines = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        format!("{}\n{lines}", json!({ "record": "header", "fleet": fleet }))
    };
    let compare =
        |copy: &[&Value]| differences(&Told::of(&text("f", &[&task])), &Told::of(&text("g", copy)), 0);
    assert_eq!(compare(&[&copy]), Vec::<String>::new());
    for (field, value) in [
        ("title", json!("u")),
        ("labels", json!(["x"])),
        ("deferred_until", json!(9)),
        ("aliases", json!(["f/afc-1"])),
    ] {
        let mut other = copy.clone();
        other[field] = value;
        assert_eq!(compare(&[&other]).len(), 1, "{field}");
    }
    for line in [
        json!({ "record": "entry", "task": "xyz-7", "text": "more" }),
        json!({ "record": "dependency", "task": "xyz-7", "on": "xyz-7", "kind": "blocks" }),
        json!({ "record": "blocker", "task": "xyz-7", "number": 1 }),
    ] {
        assert_eq!(compare(&[&copy, &line]).len(), 1, "{line}");
    }
    assert_eq!(compare(&[]).len(), 1);
}
