//! The page of all operations, written from their structs.

use schemars::SchemaGenerator;
use serde_json::{Map, Value};
use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::Entry;
use tenure_core::operation::{Access, Effect, Fencing, Method, Spec};

use super::schema::{Definitions, Field};
use super::{GENERATED, table};

const LEAD: &str = "\
Everything that a caller can ask, on every surface: HTTP under `/api/v1`, the command line and the client library are
made from this one list. Fields in braces stand in the route; the others travel in the query of a GET and in the JSON
body otherwise. Unknown fields are refused.

Every write carries an operation id (`Idempotency-Key`). The same id with the same request has one effect and one
answer; an operation marked *light* is written without event and receipt and answers a repeat the same by other means.
";

/// docs/src/reference/operations.md
pub fn page(entries: &[Entry]) -> String {
    let mut generator = SchemaGenerator::default();
    let described: Vec<(&Entry, Value, Value)> = entries
        .iter()
        .map(|entry| {
            let (input, answer) = ((entry.input)(&mut generator), (entry.answer)(&mut generator));
            (entry, input.to_value(), answer.to_value())
        })
        .collect();
    let definitions = Definitions::new(Map::from_iter(generator.take_definitions(true)));
    let roots: Vec<&str> = described.iter().filter_map(|(_, input, _)| Definitions::name(input)).collect();

    let mut text = format!("{GENERATED}# Operations\n\n{LEAD}\n");
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| vec![link(entry.spec.name, ""), format!("`{}`", route(&entry.spec))])
        .collect();
    text.push_str(&table(&["operation", "route"], &rows));
    for (entry, input, answer) in &described {
        text.push_str(&section(&entry.spec, input, answer, &definitions));
    }
    text.push_str("\n## Types\n\nWhat the fields above are made of.\n");
    for name in definitions.names().filter(|name| !roots.contains(name)) {
        text.push_str(&format!("\n### {name}\n\n{}\n", definitions.describe(name)));
        text.push_str(&type_body(name, &definitions));
    }
    text
}

fn section(spec: &Spec, input: &Value, answer: &Value, definitions: &Definitions) -> String {
    let help = Definitions::name(input).map_or_else(String::new, |name| definitions.describe(name));
    let facts = [
        vec!["route".to_owned(), format!("`{}`", route(spec))],
        vec!["effect".to_owned(), effect(spec.effect).to_owned()],
        vec!["who may call".to_owned(), access(spec.access).to_owned()],
        vec!["fence".to_owned(), fencing(spec.fencing).to_owned()],
        vec!["answer".to_owned(), definitions.link(answer)],
    ];
    let fields: Vec<Field> = Definitions::name(input).map_or_else(Vec::new, |name| definitions.fields(name));
    let fields = if fields.is_empty() {
        "It has no fields.\n".to_owned()
    } else {
        table(&["field", "type", "needed", "meaning"], &fields.iter().map(input_row).collect::<Vec<_>>())
    };
    let refusals: Vec<String> = spec.all_refusals().into_iter().map(refusal_link).collect();
    format!(
        "\n## {}\n\n{help}\n\n{}\n{fields}\nRefusals: {}.\n",
        spec.name,
        table(&["", ""], &facts),
        refusals.join(", ")
    )
}

fn input_row(field: &Field) -> Vec<String> {
    let needed = if field.required { "yes" } else { "no" };
    vec![format!("`{}`", field.name), field.kind.clone(), needed.to_owned(), field.meaning.clone()]
}

fn type_body(name: &str, definitions: &Definitions) -> String {
    let words = definitions.words(name);
    if !words.is_empty() {
        let rows: Vec<Vec<String>> =
            words.into_iter().map(|(word, meaning)| vec![format!("`{word}`"), meaning]).collect();
        return format!("\n{}", table(&["word", "meaning"], &rows));
    }
    let fields = definitions.fields(name);
    if fields.is_empty() {
        return String::new();
    }
    let row = |field: &Field| {
        let always = if field.required { "yes" } else { "no" };
        vec![format!("`{}`", field.name), field.kind.clone(), always.to_owned(), field.meaning.clone()]
    };
    format!(
        "\n{}",
        table(&["field", "type", "always there", "meaning"], &fields.iter().map(row).collect::<Vec<_>>())
    )
}

/// A link to an operation's section.
pub fn link(name: &str, page: &str) -> String {
    format!("[`{name}`]({page}#{})", anchor(name))
}

/// The anchor that mdBook gives a heading.
pub fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn refusal_link(code: Code) -> String {
    format!("[`{code}`](../refusals/{code}.md)")
}

fn route(spec: &Spec) -> String {
    let method = match spec.method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Patch => "PATCH",
        Method::Delete => "DELETE",
    };
    format!("{method} /api/v1{}", spec.path)
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "reads committed state",
        Effect::Write => "writes: state, events and a receipt, all or nothing",
        Effect::Light => "writes lightly: state only",
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Anyone => "anybody who reaches the coordinator",
        Access::Session => "a session that proves itself",
        Access::Operator => "an operator, by an authentication of their own",
    }
}

fn fencing(fencing: Fencing) -> &'static str {
    match fencing {
        Fencing::None => "none",
        Fencing::Optional => "checked if it comes: attempt, generation and lease token",
        Fencing::Required => "required: attempt, generation and lease token of the holder",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_shown_with_route_fields_and_refusals() {
        let text = page(&super::super::entries());
        let section = text.split("\n## claim\n").nth(1).expect("claim has a section");
        let section = section.split("\n## ").next().expect("it ends");
        assert!(section.contains("`POST /api/v1/claims`"), "{section}");
        assert!(section.contains("| `another` | true or false | no | Take a further task"), "{section}");
        assert!(section.contains("[`lease_held`](../refusals/lease_held.md)"), "{section}");
    }

    #[test]
    fn anchors_are_those_of_the_book() {
        assert_eq!(anchor("task.force-release"), "taskforce-release");
        assert_eq!(anchor("AsOf"), "asof");
    }
}
