//! One line of a Beads export as it was written, field by field. What the fields mean here is said elsewhere.
//!
//! The fields are those of `beads-export.md`; a field that an older or another writer added is left over, never an
//! error. A known field of a wrong type is one: reading over it could make work ready by accident.

use serde_json::{Value, json};

use super::fields::Fields;
use crate::import::{Wrong, value};
use crate::model::limits::{JSON_DEPTH, LINE_BYTES, excerpt};
use crate::model::task::Priority;
use crate::model::time::WallTime;

/// What a line is.
#[derive(Debug)]
pub(super) enum Line {
    /// An issue.
    Record(Box<Record>),
    /// A header or a memory: no record.
    Skipped,
}

/// An issue.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) status: String,
    pub(super) issue_type: String,
    pub(super) priority: Priority,
    pub(super) labels: Vec<String>,
    pub(super) criteria: Option<String>,
    pub(super) spec: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) notes: Option<String>,
    pub(super) close_reason: Option<String>,
    pub(super) comments: Vec<Comment>,
    pub(super) edges: Vec<Edge>,
    /// `ephemeral`, or `wisp` of older writers.
    pub(super) ephemeral: bool,
    pub(super) template: bool,
    pub(super) pinned: bool,
    pub(super) created_at: Option<WallTime>,
    pub(super) updated_at: Option<WallTime>,
    pub(super) closed_at: Option<WallTime>,
    pub(super) defer_until: Option<WallTime>,
    /// Every field that has no place of its own here, as it was written.
    pub(super) rest: Fields,
}

/// A comment. Who wrote it stays in `rest`, see [`Record::rest`].
#[derive(Debug)]
pub(super) struct Comment {
    pub(super) text: String,
    pub(super) at: Option<WallTime>,
}

/// An edge of the record that it is written in.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) kind: String,
    pub(super) on: String,
    /// Whether `issue_id` names another record than the one it is written in.
    pub(super) foreign: bool,
}

impl Record {
    pub(super) fn is_tombstone(&self) -> bool {
        self.status == "tombstone"
    }

    pub(super) fn is_closed(&self) -> bool {
        self.status == "closed"
    }

    /// Closed wins: a pinned record that is closed is done.
    pub(super) fn is_pinned(&self) -> bool {
        !self.is_closed() && (self.pinned || self.status == "pinned")
    }
}

/// Reads one line that is not blank.
pub(super) fn line(text: &str) -> Result<Line, Wrong> {
    let value = value(text, JSON_DEPTH)?;
    let mut fields = Fields::of(value, "the record")?;
    if fields.has("_schema") {
        return Ok(Line::Skipped);
    }
    match fields.take_text("_type")?.as_deref() {
        Some("memory") => return Ok(Line::Skipped),
        None | Some("issue") => {}
        Some(other) => return Err(format!("_type is {:?}, neither issue nor memory", excerpt(other))),
    }
    record(fields).map(|record| Line::Record(Box::new(record)))
}

fn record(mut fields: Fields) -> Result<Record, Wrong> {
    let id = fields.require_text("id")?;
    if id.len() > LINE_BYTES || id.chars().any(char::is_control) {
        return Err(format!("the id {:?} is too long or has control characters", excerpt(&id)));
    }
    // Beads fills in these two when it reads a line without them; so do we.
    let status = fields.text("status")?.filter(|text| !text.is_empty()).unwrap_or("open").to_owned();
    let issue_type = fields.text("issue_type")?.filter(|text| !text.is_empty()).unwrap_or("task").to_owned();
    let title = if status == "tombstone" {
        fields.take_text("title")?.unwrap_or_default()
    } else {
        fields.require_text("title")?
    };
    let close_reason = if status == "closed" { fields.take_text("close_reason")? } else { None };
    Ok(Record {
        title,
        description: fields.take_text("description")?.unwrap_or_default(),
        priority: priority(&mut fields)?,
        labels: labels(&mut fields)?,
        criteria: fields.take_text("acceptance_criteria")?,
        spec: fields.take_text("spec_id")?,
        reference: fields.take_text("external_ref")?,
        notes: fields.take_text("notes")?,
        close_reason,
        comments: comments(&mut fields)?,
        edges: edges(&fields, &id)?,
        ephemeral: fields.flag("ephemeral")? || fields.flag("wisp")?,
        template: fields.flag("is_template")?,
        pinned: fields.flag("pinned")?,
        created_at: fields.time("created_at")?,
        updated_at: fields.time("updated_at")?,
        closed_at: fields.time("closed_at")?,
        defer_until: fields.time("defer_until")?,
        id,
        status,
        issue_type,
        rest: fields,
    })
}

fn priority(fields: &mut Fields) -> Result<Priority, Wrong> {
    let Some(number) = fields.take_number("priority")? else { return Ok(Priority::default()) };
    let number = u8::try_from(number).map_err(|_| format!("{number} is not a priority (0 to 4)"))?;
    Priority::try_from(number)
}

fn labels(fields: &mut Fields) -> Result<Vec<String>, Wrong> {
    let label = |value| {
        let Value::String(text) = value else { return Err("a label is not a text".to_owned()) };
        Ok(text)
    };
    fields.take_list("labels")?.into_iter().map(label).collect()
}

/// Takes the texts out of the comments and leaves the rest of each: its id, its author, its time as written.
fn comments(fields: &mut Fields) -> Result<Vec<Comment>, Wrong> {
    let mut comments = Vec::new();
    let mut rests = Vec::new();
    for value in fields.take_list("comments")? {
        let mut comment = Fields::of(value, "a comment")?;
        let at = comment.time("created_at")?;
        if let Some(text) = comment.take_text("text")? {
            comments.push(Comment { text, at });
        }
        rests.push(comment.rest());
    }
    if !rests.is_empty() {
        fields.put("comments", json!(rests));
    }
    Ok(comments)
}

/// Reads the edges and leaves them where they are: their kinds, authors and times have no other place.
fn edges(fields: &Fields, id: &str) -> Result<Vec<Edge>, Wrong> {
    let edge = |value: &Value| {
        let mut edge = Fields::of(value.clone(), "a dependency")?;
        let foreign = edge.text("issue_id")?.is_some_and(|from| from != id);
        // Beads' own default for a dependency without a type.
        let kind = edge.take_text("type")?.unwrap_or_else(|| "blocks".to_owned());
        Ok(Edge { kind, on: edge.require_text("depends_on_id")?, foreign })
    };
    fields.list("dependencies")?.iter().map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Record {
        match line(text) {
            Ok(Line::Record(record)) => *record,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn wrong(text: &str) -> Wrong {
        line(text).expect_err(text)
    }

    #[test]
    fn headers_and_memories_are_no_records() {
        assert!(matches!(line(r#"{"_schema":3,"id":7}"#), Ok(Line::Skipped)));
        assert!(matches!(line(r#"{"_type":"memory","key":"a","value":"b"}"#), Ok(Line::Skipped)));
        assert_eq!(read(r#"{"_type":"issue","id":"a","title":"t"}"#).id, "a");
        assert!(wrong(r#"{"_type":"wisp","id":"a","title":"t"}"#).contains("neither issue nor memory"));
    }

    #[test]
    fn what_is_left_out_gets_the_default_that_beads_gives_it() {
        let record = read(r#"{"id":"a","title":"t"}"#);
        assert_eq!((record.status.as_str(), record.issue_type.as_str()), ("open", "task"));
        assert_eq!(record.priority, Priority::default());
    }

    #[test]
    fn a_wrong_line_says_what_is_wrong() {
        for (text, says) in [
            ("[]", "the record is a list, not an object"),
            ("{", "EOF"),
            (r#"{"id":"a","id":"b"}"#, "occurs twice at column"),
            (r#"{"title":"t"}"#, "has no id"),
            (r#"{"id":"a","title":" "}"#, "has no title"),
            (r#"{"id":"a\nb","title":"t"}"#, "control characters"),
            (r#"{"id":"a","title":"t\u0000"}"#, "NUL"),
            (r#"{"id":"a","title":"t","priority":5}"#, "5 is not a priority"),
            (r#"{"id":"a","title":"t","priority":"P1"}"#, "not a whole number"),
            (r#"{"id":"a","title":"t","status":7}"#, "status of the record is the number 7"),
            (r#"{"id":"a","title":"t","ephemeral":"yes"}"#, "not true or false"),
            (r#"{"id":"a","title":"t","defer_until":"soon"}"#, "not a time"),
            (r#"{"id":"a","title":"t","labels":[1]}"#, "a label is not a text"),
            (r#"{"id":"a","title":"t","dependencies":["b"]}"#, "a dependency is the text"),
            (r#"{"id":"a","title":"t","dependencies":[{"type":"blocks"}]}"#, "no depends_on_id"),
            (r#"{"id":"a","title":"t","comments":[{"text":1}]}"#, "text of a comment"),
        ] {
            let wrong = wrong(text);
            assert!(wrong.contains(says), "{text}: {wrong}");
        }
    }

    #[test]
    fn what_has_no_place_is_left_over_as_it_was_written() {
        let record = read(
            r#"{"id":"a","title":"t","notes":"n","design":"d","hook_bead":{"x":[1]},"created_at":"2026-01-01T00:00:00.123456789Z",
                "comments":[{"id":4,"author":"bob","text":"hm","created_at":"2026-01-01T00:00:00Z"}],
                "dependencies":[{"issue_id":"b","depends_on_id":"c","type":"tracks","metadata":"{}"}]}"#
                .replace('\n', " ")
                .as_str(),
        );
        assert_eq!(record.comments[0].text, "hm");
        assert!(record.edges[0].foreign);
        assert_eq!(
            record.rest.rest(),
            json!({"design": "d", "hook_bead": {"x": [1]}, "created_at": "2026-01-01T00:00:00.123456789Z",
                "comments": [{"id": 4, "author": "bob", "created_at": "2026-01-01T00:00:00Z"}],
                "dependencies": [{"issue_id": "b", "depends_on_id": "c", "type": "tracks", "metadata": "{}"}]})
        );
    }
}
