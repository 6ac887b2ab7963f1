//! Answers with hostile texts in every place that can hold one: nothing that moves a cursor or reorders a line reaches
//! the page, and no table is wider than the terminal leaves it.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tenure_core::model::event;
use tenure_core::operation::{
    account, commits, digest, graph, label, ownership, project, queue, record, search, session, task, token,
    wait, whoami,
};
use unicode_width::UnicodeWidthStr;

use super::{Page, Show, plain};

// The same file as in the process tests, which the command line's own tests cannot depend on.
#[path = "../../../../sim/src/fuzz.rs"]
mod fuzz;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/fuzz/render");
/// Of a text this much is put into an answer, around the first character that is not plain.
const CHARACTERS: usize = 200;

/// What a terminal must never be sent, in this test's own words: whatever is no text, and every mark of direction.
fn is_dangerous(c: char) -> bool {
    let marks_of_direction = ['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'];
    (c < ' ' && c != '\n' && c != '\t')
        || ('\u{7f}'..='\u{9f}').contains(&c)
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{206f}').contains(&c)
        || marks_of_direction.contains(&c)
}

fn check(shown: &str) {
    let found = shown.chars().find(|c| is_dangerous(*c));
    assert_eq!(found, None, "{shown:?}");
}

/// The page of an operation's answer; nothing if the answer cannot be one.
fn shown(operation: &str, answer: Value, width: usize) -> Option<String> {
    fn page<T: DeserializeOwned + Show>(answer: Value, width: usize) -> Option<String> {
        let mut page = Page::of_width(width);
        serde_json::from_value::<T>(answer).ok()?.show(&mut page);
        Some(page.finish())
    }
    match operation {
        "account.create" => page::<account::AccountAnswer>(answer, width),
        "account.list" => page::<account::AccountList>(answer, width),
        "token.create" => page::<token::TokenAnswer>(answer, width),
        "token.list" => page::<token::TokenList>(answer, width),
        "whoami" => page::<whoami::Identity>(answer, width),
        "claim" => page::<ownership::Claimed>(answer, width),
        "heartbeat" => page::<ownership::Alive>(answer, width),
        "note" | "checkpoint" => page::<ownership::Recorded>(answer, width),
        "handoff" => page::<ownership::Ended>(answer, width),
        "attempts" => page::<ownership::Attempts>(answer, width),
        "events" => page::<record::EventList>(answer, width),
        "history" => page::<record::HistoryList>(answer, width),
        "stats" => page::<record::Counts>(answer, width),
        "import.preview" => page::<record::ImportAnswer>(answer, width),
        "ready" => page::<queue::ReadyList>(answer, width),
        "explain" => page::<queue::Explanation>(answer, width),
        "next" => page::<queue::NextStep>(answer, width),
        "event" => page::<event::Event>(answer, width),
        "digest" => page::<digest::Digest>(answer, width),
        "wait" => page::<wait::Waited>(answer, width),
        "project.bind" => page::<project::BindingAnswer>(answer, width),
        "session.show" => page::<session::SessionAnswer>(answer, width),
        "project.create" => page::<project::ProjectAnswer>(answer, width),
        "project.list" => page::<project::ProjectList>(answer, width),
        "dependency.list" => page::<graph::DependencyList>(answer, width),
        "session.list" => page::<session::SessionList>(answer, width),
        "search" => page::<search::FoundList>(answer, width),
        "commits" => page::<commits::CommitList>(answer, width),
        "label.list" => page::<label::LabelList>(answer, width),
        "task.list" => page::<task::TaskList>(answer, width),
        "task.show" | "dependency.add" | "blocker.raise" => page::<task::TaskAnswer>(answer, width),
        "task.create" => page::<task::CreatedTask>(answer, width),
        "task.cancel" => page::<task::CancelledTask>(answer, width),
        other => panic!("nobody shows an answer of `{other}` here"),
    }
}

/// Every text of an answer.
fn texts<'a>(value: &'a mut Value, found: &mut Vec<&'a mut String>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values_mut().for_each(|field| texts(field, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The part of an input around its first character that is not plain.
fn excerpt(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let at = text.chars().position(|c| !c.is_ascii_graphic() && c != ' ' && c != '\n').unwrap_or(0);
    text.chars().skip(at.saturating_sub(9)).take(CHARACTERS).collect()
}

#[test]
fn nothing_in_an_answer_reaches_the_terminal_as_a_command() {
    let examples = fuzz::examples(Path::new(CORPUS));
    let answers: Vec<Value> =
        examples.iter().map(|text| serde_json::from_slice(text).expect("an example is JSON")).collect();
    for answer in &answers {
        let operation = answer["operation"].as_str().expect("a name");
        assert!(shown(operation, answer["answer"].clone(), 80).is_some(), "{operation}: no answer of today");
    }
    let (mut turn, mut pages) = (0, 0);
    let tried = fuzz::try_for_a_while(&examples, |input| {
        let hostile = excerpt(input);
        turn += 1;
        let mut answer = answers[turn % answers.len()].clone();
        let operation = answer["operation"].as_str().expect("a name").to_owned();
        let mut found = Vec::new();
        texts(&mut answer["answer"], &mut found);
        let place = (turn / answers.len()) % found.len().max(1);
        if let Some(text) = found.into_iter().nth(place) {
            text.clone_from(&hostile);
        }
        for width in [20, 80, 1_000] {
            if let Some(page) = shown(&operation, answer["answer"].clone(), width) {
                check(&page);
                pages += 1;
            }
        }
        check(&plain::json(&answer.to_string()));
        let read: Value = serde_json::from_str(&plain::json(&answer.to_string())).expect("JSON");
        assert_eq!(read, answer, "what programs read means something else");
        check_table(&hostile);
    });
    eprintln!("{tried} texts, {pages} pages");
    assert!(pages > tried / 4, "too few of the texts were shown");
}

#[test]
fn every_answer_that_is_shown_is_shown_here() {
    let (own, mut kinds) = (include_str!("hostile.rs"), 0);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/render");
    for entry in std::fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the sources are there").path();
        if path.ends_with("hostile.rs") {
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("sources are text");
        for rest in source.split("\nimpl Show for ").skip(1) {
            let kind = rest.split_whitespace().next().expect("it names a type");
            assert!(own.contains(&format!("::{kind}>(answer, width)")), "{kind}");
            kinds += 1;
        }
    }
    assert!(kinds > 20, "only {kinds} were found");
}

/// A table of hostile cells fits, with a last column that is cut or stands below the others.
fn check_table(hostile: &str) {
    let short: String = hostile.chars().take(6).collect();
    let rows =
        [["afc-1".to_owned(), short.clone(), hostile.to_owned()], ["a".into(), String::new(), short.clone()]];
    let others = 5 + 2 + plain::line(&short).width().max("STATUS".len()) + 2;
    for width in [10, 40, 100] {
        let mut page = Page::of_width(width);
        page.table(["TASK", "STATUS", "TITLE"], &rows);
        let page = page.finish();
        check(&page);
        assert!((3..=8).contains(&page.lines().count()), "{page:?}");
        for line in page.lines() {
            assert!(line.width() <= width.max(others), "{} of {width}: {line:?}", line.width());
        }
    }
}
