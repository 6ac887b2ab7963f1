//! The language of `--jq`: how an expression is read, and how its results are written.

use jaq_core::load::{Arena, Error as Unread, File, Loader, lex, span};
use jaq_core::{Compiler, Ctx, Vars, data::JustLut};
use jaq_json::{Num, Val, read};
use tenure_core::model::limits::excerpt;

use super::frame::Kind;

/// What is jq's own and not in the library, or other there: formats, an end with words, and characters, of which the
/// library takes negative ones for bytes.
const DEFINITIONS: &str = r#"
def @tsv: map(if . == null then "" elif type == "string" then gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r") else tostring end) | join("\t");
def @csv: map(if . == null then "" elif type == "string" then "\"" + gsub("\""; "\"\"") + "\"" else tostring end) | join(",");
def halt_error: error(.);
def halt_error($exit_code): error(.);
def library_implode: implode;
def implode: if all(.[]; type == "number" and . >= 0) then library_implode else error("only numbers of characters can be imploded") end;
"#;

type Compiled = jaq_core::compile::Filter<jaq_core::Native<JustLut<Val>>>;

/// An expression that has been read.
pub struct Filter(Compiled);

impl Filter {
    /// Reads an expression, or says what is wrong with it and where.
    pub fn read(expression: &str) -> Result<Self, String> {
        let own = jaq_core::load::parse(DEFINITIONS, |parser| parser.defs()).expect("they are sound");
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs()).chain(own);
        let arena = Arena::default();
        let modules = Loader::new(definitions)
            .load(&arena, File { code: expression, path: () })
            .map_err(|errors| unread(expression, errors.into_iter().map(|(_, error)| error).next()))?;
        let filters = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let compiled = Compiler::default().with_funs(filters).compile(modules);
        compiled.map(Self).map_err(|errors| {
            let unknown = errors.into_iter().flat_map(|(_, errors)| errors).next();
            match unknown {
                Some((name, kind)) => format!(
                    "there is no {} `{}`{}{}",
                    kind.as_str(),
                    excerpt(name),
                    takes(&kind),
                    place(expression, name)
                ),
                None => "it cannot be compiled".to_owned(),
            }
        })
    }

    /// Hands over the results for one answer, until nobody takes them any more; or says why there are no more.
    pub fn evaluate(&self, json: &str, take: &mut dyn FnMut(Kind, &str) -> bool) -> Result<(), String> {
        let input = read::parse_single(json.as_bytes())
            .map_err(|error| format!("the answer cannot be read: {error}"))?;
        let context = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        for result in self.0.id.run((context, input)) {
            let goes_on = match result.map_err(jaq_core::Exn::get_err) {
                Ok(Val::TStr(text) | Val::BStr(text)) => take(Kind::Text, &String::from_utf8_lossy(&text)),
                Ok(value) => {
                    let mut text = String::new();
                    write(&value, &mut text)?;
                    take(Kind::Json, &text)
                }
                Err(Ok(error)) => {
                    return Err(match error.into_val() {
                        Val::TStr(text) => String::from_utf8_lossy(&text).into_owned(),
                        value => value.to_string(),
                    });
                }
                Err(Err(other)) => {
                    return match other.get_halt() {
                        // `halt` wants no more results.
                        Ok(0) => Ok(()),
                        Ok(exit) => Err(format!("it halted with exit code {exit}")),
                        Err(_) => Err("it broke off outside of what it breaks off".to_owned()),
                    };
                }
            };
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Writes a value as JSON. The library's own writing goes beyond it: bytes, keys of any kind, numbers that are none.
fn write(value: &Val, text: &mut String) -> Result<(), String> {
    match value {
        Val::Num(Num::Float(number)) if number.is_nan() => text.push_str("null"),
        Val::Num(Num::Float(number)) if number.is_infinite() => {
            text.push_str(if *number > 0.0 { "1.7976931348623157e308" } else { "-1.7976931348623157e308" });
        }
        Val::Arr(values) => {
            text.push('[');
            for (at, value) in values.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { "," });
                write(value, text)?;
            }
            text.push(']');
        }
        Val::Obj(fields) => {
            text.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                let Val::TStr(_) = key else { return Err(format!("the key of a field is no text: {key}")) };
                text.push_str(if at == 0 { "" } else { "," });
                text.push_str(&key.to_string());
                text.push(':');
                write(value, text)?;
            }
            text.push('}');
        }
        Val::BStr(bytes) => text.push_str(&Val::utf8_str(bytes.to_vec()).to_string()),
        Val::Null | Val::Bool(_) | Val::Num(_) | Val::TStr(_) => text.push_str(&value.to_string()),
    }
    Ok(())
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
fn unread(expression: &str, error: Option<Unread<&str>>) -> String {
    let told = match error {
        Some(Unread::Lex(errors)) => errors.into_iter().next().map(|(wanted, rest)| match wanted {
            lex::Expect::Token => ("it cannot go on like this".to_owned(), rest),
            // open set: what can be missing is the library's.
            wanted => (format!("a {} is missing", wanted.as_str()), rest),
        }),
        Some(Unread::Parse(errors)) => {
            errors.into_iter().next().map(|(wanted, found)| (format!("expected {}", wanted.as_str()), found))
        }
        Some(Unread::Io(_)) => return "it has no modules to import".to_owned(),
        None => None,
    };
    match told {
        Some((what, part)) => what + &place(expression, part),
        None => "it cannot be read".to_owned(),
    }
}

/// Where a part of the expression stands, counted in characters as people count them.
fn place(expression: &str, part: &str) -> String {
    let at = span(expression, part).start;
    match expression.get(..at) {
        Some(before) if at < expression.len() => {
            let shown: String = expression[at..].chars().take(20).collect();
            format!(" (at character {}, `{shown}`)", before.chars().count() + 1)
        }
        // What is missing is missing at the end; what lies elsewhere is the library's own.
        Some(_) | None => " (at its end)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(expression: &str, json: &str) -> Result<String, String> {
        let mut all = String::new();
        let take = &mut |_, text: &str| {
            all.push_str(text);
            all.push('\n');
            true
        };
        Filter::read(expression).and_then(|filter| filter.evaluate(json, take))?;
        Ok(all)
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
    fn a_long_expression_is_not_repeated_whole() {
        for expression in ["x".repeat(100_000), format!("${}", "x".repeat(100_000)), ")".repeat(100_000)] {
            let told = results(&expression, "{}").expect_err("there is no such thing");
            assert!(told.len() < 300, "{}", told.len());
        }
    }

    #[test]
    fn what_fails_on_the_answer_says_why() {
        for (expression, says) in [
            (".a.c", "cannot index"),
            ("error(\"my own words\")", "my own words"),
            ("\"my last words\" | halt_error", "my last words"),
            ("{a: 1} | halt_error(3)", "{\"a\":1}"),
            ("halt(3)", "it halted with exit code 3"),
            ("[65, -1] | implode", "only numbers of characters"),
            ("[55296] | implode", "cannot use 55296 as character"),
            ("[{(\"a\", 1): 2}]", "the key of a field is no text: 1"),
        ] {
            let told = results(expression, r#"{"a":"b"}"#).expect_err(expression);
            assert!(told.starts_with(says), "{expression}: {told}");
        }
    }

    #[test]
    fn every_result_is_json_also_where_the_language_goes_beyond_it() {
        for (expression, expected) in [
            (
                "1/0, -1/0, [nan, 1/0]",
                "1.7976931348623157e308\n-1.7976931348623157e308\n[null,1.7976931348623157e308]\n",
            ),
            ("[\"ä\\u0000\\\"\" | tobytes], {a: (\"b\" | tobytes)}", "[\"ä\\u0000\\\"\"]\n{\"a\":\"b\"}\n"),
            (
                "{a: [], b: {}, \"\\u007f\": 1.50}, [1e1000, 12345678901234567890123]",
                "{\"a\":[],\"b\":{},\"\\u007f\":1.50}\n[1e1000,12345678901234567890123]\n",
            ),
        ] {
            assert_eq!(results(expression, "{}").as_deref(), Ok(expected), "{expression}");
        }
    }
}
