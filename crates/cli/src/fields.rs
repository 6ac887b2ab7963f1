//! `--json=a,b`: an answer with some fields of its rows. The envelope around the rows stays.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use tenure_core::model::limits::excerpt;

use crate::near;
use crate::stop::{Stop, usage};

/// The fields of answers that hold its rows, or its one record.
const ROWS: [&str; 12] = [
    "tasks", "labels", "commits", "projects", "sessions", "events", "task", "project", "session", "binding",
    "entries", "attempts",
];
/// The rows of what the command line itself tells.
const OWN_ROWS: [&str; 3] = ["checks", "settings", "commands"];

/// Keeps the named fields of the rows of an answer of this schema.
pub fn filter(
    json: &[u8],
    names: &[String],
    schema: impl FnOnce(&mut SchemaGenerator) -> Schema,
) -> Result<String, Stop> {
    let answer: Map<String, Value> = serde_json::from_slice(json)
        .map_err(|_| usage("this answer has no fields", "leave out the field names"))?;
    let (place, known) = fields_of(schema);
    keep(answer, place, &known, names)
}

/// One row with the named fields only. That there are such fields has been checked.
pub fn row(json: &str, names: &[String]) -> String {
    let mut row: Map<String, Value> = serde_json::from_str(json).unwrap_or_default();
    retain(&mut row, names);
    Value::Object(row).to_string()
}

fn retain(fields: &mut Map<String, Value>, names: &[String]) {
    fields.retain(|name, _| names.contains(name));
}

/// Refuses a name that no row of an answer of this schema can have: before anything is asked for.
pub fn check(names: &[String], schema: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Result<(), Stop> {
    check_known(names, &fields_of(schema).1)
}

/// Refuses a name that is not known, with those that are.
fn check_known(names: &[String], known: &[impl AsRef<str>]) -> Result<(), Stop> {
    let is_known = |name: &&String| known.iter().any(|known| known.as_ref() == *name);
    let Some(unknown) = names.iter().find(|name| !is_known(name)) else { return Ok(()) };
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let detail = format!("`{}` is no field of these rows", excerpt(unknown));
    let near = near::names(unknown, known.iter().copied());
    let meant =
        if near.is_empty() { String::new() } else { format!("did you mean `{}`? ", near.join("` or `")) };
    Err(usage(detail, format!("{meant}choose from: {}", known.join(", "))))
}

fn fields_of(schema: impl FnOnce(&mut SchemaGenerator) -> Schema) -> (Option<&'static str>, Vec<String>) {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    rows_of(&schema(&mut settings.into_generator()).to_value())
}

/// The same for a value that is no operation's answer: its rows are what it has.
pub fn filter_value(value: &Value, names: &[String]) -> Result<String, Stop> {
    let value = value.as_object().cloned().unwrap_or_default();
    let rows = |place: &str| value.get(place).and_then(Value::as_array);
    let place = OWN_ROWS.into_iter().find(|place| rows(place).is_some());
    let mut known: Vec<String> = match place.and_then(rows) {
        Some(rows) => rows.iter().filter_map(Value::as_object).flat_map(Map::keys).cloned().collect(),
        None => value.keys().cloned().collect(),
    };
    known.sort_unstable();
    known.dedup();
    keep(value, place, &known, names)
}

/// Keeps the named fields of the rows at a place, or of the whole. A name that no row can have is refused with those
/// that it can.
fn keep(
    mut answer: Map<String, Value>,
    place: Option<&str>,
    known: &[String],
    names: &[String],
) -> Result<String, Stop> {
    check_known(names, known)?;
    let keep = |fields: &mut Map<String, Value>| retain(fields, names);
    match place {
        None => keep(&mut answer),
        Some(place) => match answer.get_mut(place) {
            Some(Value::Array(rows)) => rows.iter_mut().filter_map(Value::as_object_mut).for_each(keep),
            Some(Value::Object(record)) => keep(record),
            _ => {}
        },
    }
    Ok(Value::Object(answer).to_string())
}

/// Where an answer's rows are (nowhere: the answer is the row) and the fields that they can have.
fn rows_of(schema: &Value) -> (Option<&'static str>, Vec<String>) {
    let names = |schema: &Value| -> Option<Vec<String>> {
        Some(schema.get("properties")?.as_object()?.keys().cloned().collect())
    };
    for place in ROWS {
        let Some(property) = schema.get("properties").and_then(|fields| fields.get(place)) else { continue };
        if let Some(known) = names(property.get("items").unwrap_or(property)) {
            return (Some(place), known);
        }
    }
    (None, names(schema).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::operation::Answer;
    use tenure_core::operation::queue::ReadyList;
    use tenure_core::operation::record::Counts;
    use tenure_core::operation::task::TaskAnswer;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    fn kept<A: Answer>(json: &str, fields: &str) -> String {
        filter(json.as_bytes(), &names(fields), SchemaGenerator::subschema_for::<A>).expect("known fields")
    }

    #[test]
    fn rows_are_filtered_and_the_envelope_stays() {
        let list = r#"{"tasks":[{"id":"a-1","title":"t","priority":2}],"total":1,"reasons":{}}"#;
        assert_eq!(
            kept::<ReadyList>(list, "id,holder"),
            r#"{"reasons":{},"tasks":[{"id":"a-1"}],"total":1}"#
        );
        assert_eq!(
            kept::<TaskAnswer>(r#"{"task":{"id":"a-1","title":"t"}}"#, "title"),
            r#"{"task":{"title":"t"}}"#
        );
        assert_eq!(kept::<Counts>(r#"{"projects":{},"events":3}"#, "events"), r#"{"events":3}"#);
    }

    #[test]
    fn an_unknown_field_lists_the_known_ones_also_when_there_are_no_rows() {
        let stop =
            filter(br#"{"tasks":[]}"#, &names("id,titel"), SchemaGenerator::subschema_for::<ReadyList>)
                .expect_err("unknown");
        let Stop::Failure(failure) = stop else { panic!("a refusal") };
        let problem = failure.problem();
        assert!(problem.detail.contains("`titel`"), "{}", problem.detail);
        assert!(problem.next_actions[0].contains("id") && problem.next_actions[0].contains("title"));
        assert_eq!(problem.exit_code, 1);
        let Err(Stop::Failure(long)) = check_known(&["x".repeat(100_000)], &["id"]) else {
            panic!("unknown")
        };
        assert!(long.problem().detail.len() < 100, "it is not repeated whole");
    }

    #[test]
    fn what_the_command_line_itself_tells_has_fields_too() {
        let report =
            json!({"ok": true, "checks": [{"name": "clock", "ok": true}, {"name": "disk", "next": "x"}]});
        let kept = filter_value(&report, &names("name,next")).expect("known fields");
        assert_eq!(kept, r#"{"checks":[{"name":"clock"},{"name":"disk","next":"x"}],"ok":true}"#);
        assert_eq!(filter_value(&json!({"a": 1, "b": 2}), &names("b")).expect("known"), r#"{"b":2}"#);
        filter_value(&report, &names("checks")).expect_err("it is where the rows are, not a field of them");
    }
}
