//! Answers of a size that a model can read: long texts are cut where it says so, and only then rows.

use serde_json::{Map, Value};
use tenure_core::model::limits::TOOL_ANSWER_BYTES;

/// No text of this many bytes is cut, neither at its end nor at its beginning.
const TEXT_LEAST: usize = 256;
/// What a cut says of itself, at most, in bytes.
const MARK_BYTES: usize = 96;

/// Bounds an answer. Texts begin at this byte where they are longer.
pub(super) fn bound(answer: &mut Map<String, Value>, texts_from: usize) {
    if texts_from >= TEXT_LEAST {
        for_each_text(answer, &mut |text| go_on(text, texts_from));
    }
    let whole = answer.clone();
    let mut longest = TOOL_ANSWER_BYTES / 2;
    while size(answer) > TOOL_ANSWER_BYTES && longest >= TEXT_LEAST {
        answer.clone_from(&whole);
        for_each_text(answer, &mut |text| cut(text, longest, texts_from));
        longest = longest * 3 / 4;
    }
    while size(answer) > TOOL_ANSWER_BYTES && shorten_a_list(answer) {}
}

fn size(answer: &Map<String, Value>) -> usize {
    serde_json::to_string(answer).map_or(0, |text| text.len())
}

fn for_each_text(map: &mut Map<String, Value>, change: &mut impl FnMut(&mut String)) {
    map.values_mut().for_each(|value| texts_of(value, change));
}

fn texts_of(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts_of(item, change)),
        Value::Object(map) => for_each_text(map, change),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Leaves out what was read before.
fn go_on(text: &mut String, from: usize) {
    if text.len() > from {
        let from = text.floor_char_boundary(from);
        text.drain(..from);
    }
}

/// Cuts a text, and says how the rest is read.
fn cut(text: &mut String, longest: usize, begun_at: usize) {
    if text.len() <= longest + MARK_BYTES {
        return;
    }
    let end = text.floor_char_boundary(longest);
    let (next, bytes) = (begun_at + end, begun_at + text.len());
    text.truncate(end);
    text.push_str(&format!(
        "… [cut at byte {next} of {bytes}; a tool that shows it goes on with texts_from {next}]"
    ));
}

/// Leaves out the last half of the longest list, and says so.
fn shorten_a_list(answer: &mut Map<String, Value>) -> bool {
    let lists = answer.values_mut().filter_map(Value::as_array_mut).filter(|list| !list.is_empty());
    let Some(list) = lists.max_by_key(|list| list.len()) else { return false };
    let left_out = list.len().div_ceil(2);
    list.truncate(list.len() - left_out);
    let so_far = answer.get("left_out").and_then(Value::as_u64).unwrap_or_default();
    answer.insert("left_out".to_owned(), (so_far + left_out as u64).into());
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bounded(answer: Value, from: usize) -> Map<String, Value> {
        let Value::Object(mut answer) = answer else { panic!("an answer is an object") };
        bound(&mut answer, from);
        assert!(size(&answer) <= TOOL_ANSWER_BYTES);
        answer
    }

    #[test]
    fn a_short_answer_stays_as_it_is() {
        let answer = json!({ "task": { "id": "afc-1", "title": "x".repeat(10_000) } });
        assert_eq!(Value::Object(bounded(answer.clone(), 0)), answer);
    }

    #[test]
    fn a_long_text_is_read_in_parts_that_make_the_whole() {
        let whole: String = (0..20_000).map(|n| format!("{n}é ")).collect();
        let answer = json!({ "id": "afc-1", "task": { "description": whole } });
        let (mut read, mut from) = (String::new(), 0);
        loop {
            let part = bounded(answer.clone(), from);
            assert_eq!(part["id"], "afc-1");
            let part = part["task"]["description"].as_str().expect("a text").to_owned();
            let Some((text, mark)) = part.split_once("… [cut at byte ") else {
                read.push_str(&part);
                break;
            };
            read.push_str(text);
            from = mark.split(' ').next().and_then(|at| at.parse().ok()).expect("where it goes on");
            assert!(mark.ends_with(&format!("texts_from {from}]")), "{mark}");
        }
        assert!(read == whole, "{} of {} bytes", read.len(), whole.len());
    }

    #[test]
    fn many_short_rows_are_left_out_at_last_and_that_is_told() {
        let rows: Vec<String> = (0..10_000).map(|n| format!("afc-{n}")).collect();
        let answer = bounded(json!({ "freed": rows, "next": "go on" }), 0);
        let shown = answer["freed"].as_array().expect("a list").len() as u64;
        assert_eq!(answer["left_out"].as_u64().map(|left| left + shown), Some(10_000));
        assert_eq!(answer["next"], "go on");
    }
}
