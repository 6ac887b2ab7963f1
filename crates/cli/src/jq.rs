//! `--jq EXPR`: of an answer's JSON, what an expression makes of it. The language is jq's, and nothing else need be
//! installed. An expression is read before anything is asked for, so one that cannot be read changes nothing.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use jaq_core::load::{Arena, Error as Unread, File, Loader, lex, span};
use jaq_core::{Compiler, Ctx, Vars, data::JustLut};
use jaq_json::{Val, read};
use tenure_core::model::limits::{JQ_BYTES, JQ_MS};

use crate::render::plain;
use crate::stop::{Stop, usage};

/// Formats that are jq's own and not in the library.
const FORMATS: &str = r#"
def @tsv: map(if . == null then "" elif type == "string" then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r") else tostring end) | join("\t");
def @csv: map(if . == null then "" elif type == "string" then "\"" + gsub("\""; "\"\"") + "\"" else tostring end) | join(",");
"#;

/// How many results may be ahead of who prints them.
const AHEAD: usize = 64;
/// The stack of an evaluation: deeper than any answer, and apart from ours.
const STACK_BYTES: usize = 64 * 1024 * 1024;
/// Most characters of what went wrong; the value that it went wrong at may be a whole answer.
const REASON_CHARACTERS: usize = 200;

type Compiled = jaq_core::compile::Filter<jaq_core::Native<JustLut<Val>>>;

/// An expression that has been read.
#[derive(Clone)]
pub struct Filter(Arc<Compiled>);

/// What an evaluation tells, one at a time.
enum Told {
    /// A result: text that is printed as it is, or JSON.
    Text(String),
    Json(String),
    /// Why there are no more.
    Failed(String),
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

impl Filter {
    /// Reads an expression.
    pub fn read(expression: &str) -> Result<Self, Stop> {
        let formats = jaq_core::load::parse(FORMATS, |parser| parser.defs()).expect("the formats are sound");
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(formats);
        let arena = Arena::default();
        let modules = Loader::new(definitions)
            .load(&arena, File { code: expression, path: () })
            .map_err(|errors| unread(expression, errors.into_iter().map(|(_, error)| error).next()))?;
        let filters = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let compiled = Compiler::default().with_funs(filters).compile(modules);
        compiled.map(|compiled| Self(Arc::new(compiled))).map_err(|errors| {
            let unknown = errors.into_iter().flat_map(|(_, errors)| errors).next();
            match unknown {
                Some((name, kind)) => {
                    let what = format!("there is no {} `{}`{}", kind.as_str(), name, takes(&kind));
                    refused_at(&what, expression, name)
                }
                None => refused("it cannot be compiled"),
            }
        })
    }

    /// Hands over the results for one answer, one after the other, until nobody takes them any more. Says whether
    /// somebody still does.
    pub fn apply(
        &self,
        json: &str,
        on_terminal: bool,
        take: &mut dyn FnMut(&str) -> bool,
    ) -> Result<bool, Stop> {
        let (sender, results) = sync_channel(AHEAD);
        let (filter, json) = (self.clone(), json.to_owned());
        std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn(move || filter.evaluate(&json, &sender))
            .map_err(|error| failed(&format!("it cannot be evaluated: {error}")))?;
        let mut bytes = 0;
        loop {
            let shown = match results.recv_timeout(Duration::from_millis(JQ_MS)) {
                Ok(Told::Failed(reason)) => return Err(failed(&reason)),
                Ok(Told::Text(text)) if on_terminal => plain::block(&text),
                Ok(Told::Json(text)) if on_terminal => plain::json(&text),
                Ok(Told::Text(text) | Told::Json(text)) => text,
                Err(RecvTimeoutError::Disconnected) => return Ok(true),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(failed(&format!("no further result within {} s", JQ_MS / 1000)));
                }
            };
            bytes += shown.len() + 1;
            if bytes > JQ_BYTES {
                return Err(failed(&format!("the results have more than {} MiB", JQ_BYTES >> 20)));
            }
            if !take(&format!("{shown}\n")) {
                return Ok(false);
            }
        }
    }

    /// Evaluates to the end, or until nobody listens.
    fn evaluate(&self, json: &str, sender: &SyncSender<Told>) {
        let input = match read::parse_single(json.as_bytes()) {
            Ok(input) => input,
            Err(error) => {
                sender.send(Told::Failed(format!("the answer cannot be read: {error}"))).ok();
                return;
            }
        };
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        for result in self.0.id.run((context, input)) {
            let told = match result.map_err(jaq_core::Exn::get_err) {
                Ok(Val::TStr(text)) => Told::Text(String::from_utf8_lossy(&text).into_owned()),
                Ok(value) => Told::Json(value.to_string()),
                Err(Ok(error)) => Told::Failed(match error.into_val() {
                    Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
                    value => value.to_string(),
                }),
                // `halt` wants no more results.
                Err(Err(_)) => return,
            };
            let is_last = matches!(told, Told::Failed(_));
            if sender.send(told).is_err() || is_last {
                return;
            }
        }
    }
}

/// How many arguments a filter was given that is not there.
fn takes(kind: &jaq_core::compile::Undefined) -> String {
    match kind {
        jaq_core::compile::Undefined::Filter(0) => String::new(),
        jaq_core::compile::Undefined::Filter(count) => format!(" of {count}"),
        // open set: what can be undefined is the library's.
        _ => String::new(),
    }
}

/// What could not be read, and where.
fn unread(expression: &str, error: Option<Unread<&str>>) -> Stop {
    let told = match error {
        Some(Unread::Lex(errors)) => errors.into_iter().next().map(|(wanted, rest)| match wanted {
            lex::Expect::Token => ("it cannot go on like this".to_owned(), rest),
            // open set: what can be missing is the library's.
            wanted => (format!("a {} is missing", wanted.as_str()), rest),
        }),
        Some(Unread::Parse(errors)) => {
            errors.into_iter().next().map(|(wanted, found)| (format!("expected {}", wanted.as_str()), found))
        }
        Some(Unread::Io(_)) => return refused("it has no modules to import"),
        None => None,
    };
    match told {
        Some((what, part)) => refused_at(&what, expression, part),
        None => refused("it cannot be read"),
    }
}

/// Where a part of the expression stands, counted in characters as people count them.
fn place(expression: &str, part: &str) -> String {
    let at = span(expression, part).start;
    match expression.get(..at) {
        Some(before) if at < expression.len() => {
            let shown: String = expression[at..].chars().take(20).collect();
            format!("at character {}, `{shown}`", before.chars().count() + 1)
        }
        // What is missing is missing at the end; what lies elsewhere is the library's own.
        Some(_) | None => "at its end".to_owned(),
    }
}

/// What is wrong with a part of the expression, and where it stands.
fn refused_at(what: &str, expression: &str, part: &str) -> Stop {
    refused(&format!("{what} ({})", place(expression, part)))
}

fn refused(what: &str) -> Stop {
    usage(
        format!("the expression of --jq cannot be used: {what}; nothing was asked for"),
        "mend the expression, or leave --jq out; `tenure help output` has examples",
    )
}

fn failed(reason: &str) -> Stop {
    let mut short: String = reason.chars().take(REASON_CHARACTERS).collect();
    if short.len() < reason.len() {
        short.push('…');
    }
    usage(
        format!("the expression of --jq failed on the answer: {short}"),
        "what the command does is done; look at its whole answer with `--jq .` where it only asks",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(expression: &str, json: &str) -> Result<String, String> {
        let mut all = String::new();
        let take = &mut |text: &str| {
            all.push_str(text);
            true
        };
        let done = Filter::read(expression).and_then(|filter| filter.apply(json, false, take));
        match done {
            Ok(_) => Ok(all),
            Err(Stop::Failure(failure)) => Err(failure.problem().detail),
            Err(Stop::CheckFailed) => Err("a failed check".to_owned()),
        }
    }

    #[test]
    fn texts_come_as_they_are_and_everything_else_as_json() {
        let json = r#"{"tasks":[{"id":"a-1","title":"x\ty","n":1},{"id":"a-2","title":null}],"total":2}"#;
        for (expression, expected) in [
            (".tasks[].id", "a-1\na-2\n"),
            (".tasks[0].title", "x\ty\n"),
            (".tasks | map(.n)", "[1,null]\n"),
            (".total, \"\"", "2\n\n"),
            ("empty", ""),
            (".tasks[] | select(.title | test(\"X\"; \"i\")?) | .id", "a-1\n"),
            (".tasks[] | [.id, .title, .n] | @tsv", "a-1\tx\\ty\t1\na-2\t\t\n"),
            (".tasks[0] | [.id, .title, .n] | @csv", "\"a-1\",\"x\ty\",1\n"),
            (".tasks | length, halt, 5", "2\n"),
            ("0 | todate", "1970-01-01T00:00:00Z\n"),
        ] {
            assert_eq!(results(expression, json).as_deref(), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_place() {
        for (expression, says) in [
            (".tasks[", "a closing bracket is missing"),
            (".tasks | foo(1)", "there is no filter `foo` of 1 (at character 10, `foo(1)`)"),
            ("\u{fc} + $x", "character 1"),
            (". + $x", "there is no variable `$x` (at character 5, `$x`)"),
            (".a)", "it cannot go on like this (at character 3, `)`)"),
            ("1 +", "expected term (at its end)"),
            ("import \"x\" as y; 1", "no modules"),
            ("", "expected term"),
        ] {
            let told = results(expression, "{}").expect_err("it cannot be read");
            assert!(told.contains(says), "{expression}: {told}");
        }
    }

    #[test]
    fn what_fails_on_the_answer_says_so_and_is_short() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(5000));
        let told = results(".b.c, .a.c", &long).expect_err("a text has no fields");
        assert!(told.starts_with("the expression of --jq failed on the answer: cannot index"), "{told}");
        assert!(told.len() < 300, "{told}");
        let told = results("error(\"my own words\")", "{}").expect_err("an error");
        assert_eq!(told, "the expression of --jq failed on the answer: my own words");
    }

    #[test]
    fn results_are_bounded() {
        let told = results("repeat(\"x\" * 100000)", "{}").expect_err("no end");
        assert!(told.contains("more than 64 MiB"), "{told}");
    }
}
