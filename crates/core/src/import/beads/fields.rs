//! The fields of one line, taken out one by one by the type they must have. What nobody takes is left over.

use serde_json::{Map, Value};

use crate::import::Wrong;
use crate::model::limits::excerpt;
use crate::model::time::WallTime;

/// The fields of a line, or of an object in it.
#[derive(Debug)]
pub(super) struct Fields {
    map: Map<String, Value>,
    place: &'static str,
}

impl Fields {
    /// The fields of a value that must be an object. `place` says which, for the error text.
    pub(super) fn of(value: Value, place: &'static str) -> Result<Self, Wrong> {
        let Value::Object(map) = value else {
            return Err(format!("{place} is {}, not an object", named(&value)));
        };
        Ok(Self { map, place })
    }

    /// Whether a field is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Looks at a text without taking it. Null and absent are the same in every writer's output.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Wrong> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.unfit(name, other, "a text")),
        }
    }

    /// Takes a text that is not empty.
    pub(super) fn take_text(&mut self, name: &str) -> Result<Option<String>, Wrong> {
        self.text(name)?;
        match self.map.remove(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            // open set: whatever else JSON has
            _ => Ok(None),
        }
    }

    /// Takes a text that must be there and not be blank.
    pub(super) fn require_text(&mut self, name: &str) -> Result<String, Wrong> {
        let text = self.take_text(name)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| format!("{} has no {name}", self.place))
    }

    /// Looks at a flag; absent is false.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Wrong> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.unfit(name, other, "true or false")),
        }
    }

    /// Takes a whole number.
    pub(super) fn take_number(&mut self, name: &str) -> Result<Option<u64>, Wrong> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(self.unfit(name, &value, "a whole number from 0")),
            },
        }
    }

    /// Looks at a list; absent is empty.
    pub(super) fn list(&self, name: &str) -> Result<&[Value], Wrong> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.unfit(name, other, "a list")),
        }
    }

    /// Takes a list.
    pub(super) fn take_list(&mut self, name: &str) -> Result<Vec<Value>, Wrong> {
        self.list(name)?;
        match self.map.remove(name) {
            Some(Value::Array(items)) => Ok(items),
            // open set: whatever else JSON has
            _ => Ok(Vec::new()),
        }
    }

    /// Looks at a time (RFC 3339). It is never taken: ours has milliseconds, theirs is kept as it was written.
    pub(super) fn time(&self, name: &str) -> Result<Option<WallTime>, Wrong> {
        let Some(text) = self.text(name)?.filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse::<jiff::Timestamp>() {
            Ok(time) => Ok(Some(WallTime(time.as_millisecond()))),
            Err(_) => Err(format!("{name} of {} is {:?}, not a time (RFC 3339)", self.place, excerpt(text))),
        }
    }

    /// Puts a value back among what is left over.
    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.map.insert(name.to_owned(), value);
    }

    /// What nobody took.
    pub(super) fn rest(self) -> Value {
        Value::Object(self.map)
    }

    fn unfit(&self, name: &str, value: &Value, wanted: &str) -> Wrong {
        format!("{name} of {} is {}, not {wanted}", self.place, named(value))
    }
}

fn named(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the text {:?}", excerpt(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(value: Value) -> Fields {
        Fields::of(value, "the record").expect("an object")
    }

    #[test]
    fn null_empty_and_absent_are_the_same_and_another_type_is_named() {
        let mut some = fields(json!({"a": null, "b": "", "c": 7}));
        assert_eq!(some.take_text("a"), Ok(None));
        assert_eq!(some.take_text("b"), Ok(None));
        assert_eq!(some.take_text("d"), Ok(None));
        assert_eq!(some.take_text("c"), Err("c of the record is the number 7, not a text".to_owned()));
        assert_eq!(some.require_text("d"), Err("the record has no d".to_owned()));
    }

    #[test]
    fn times_with_offsets_and_nanoseconds_are_read_and_stay() {
        let some = fields(json!({"a": "2025-11-02T21:58:07.295058-08:00", "b": "0001-01-01T00:00:00Z",
            "c": "2026-07-13T07:06:33.753238514Z", "d": "yesterday", "e": "2026-02-30T00:00:00Z"}));
        assert_eq!(some.time("a"), Ok(Some(WallTime(1_762_149_487_295))));
        assert_eq!(some.time("b"), Ok(Some(WallTime(-62_135_596_800_000))));
        assert_eq!(some.time("c"), Ok(Some(WallTime(1_783_926_393_753))));
        assert!(some.time("d").is_err() && some.time("e").is_err());
        assert!(some.rest()["a"].is_string());
    }
}
