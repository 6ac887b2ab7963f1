//! The pages of all operations and of the types they use, written from their structs.

use schemars::SchemaGenerator;
use serde_json::{Map, Value};
use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::Entry;
use tenure_core::operation::{
    Access, Effect, FENCE_REFUSALS, Fencing, NO_REPORTER_REFUSALS, PERSON_REFUSALS, READ_REFUSALS,
    REPORTER_REFUSALS, SESSION_REFUSALS, SHARED_REFUSALS, Spec, WRITE_REFUSALS,
};

use super::schema::{Definitions, Field};
use super::{GENERATED, table, types};

const LEAD: &str = "\
Everything that a caller can ask, on every surface: HTTP under `/api/v1`, the command line and the client library are
made from this one list. Fields in braces stand in the route; the others travel in the query of a GET and in the JSON
body otherwise. Unknown fields are refused.

Every write carries an operation id (`Idempotency-Key`). The same id with the same request has one effect and one
answer; an operation marked *light* is written without event and receipt and answers a repeat the same by other means.

Every answer that looked at a state tells the last event of the committed state that it is true of, in the header `Tenure-Event`; the answer of a
write that of the commit which holds it. A question may carry such an event as `Tenure-At-Least`: it is answered from a
state that has it, also on another server. Where the store that a server reaches does not come there within five seconds,
the question is refused as `behind`. A *light* operation leaves no event, so no question can wait for it.
";

const SHARED: &str = "\
These come from what surrounds an operation and not from its own rules. Each section below names the groups that apply.
";

/// Refusals that whole groups of operations share: what the group is called, and its codes.
const GROUPS: &[(&str, &[Code])] = &[
    ("any operation", SHARED_REFUSALS),
    ("a session", SESSION_REFUSALS),
    ("a person", PERSON_REFUSALS),
    ("a reporter", REPORTER_REFUSALS),
    ("a question", READ_REFUSALS),
    ("a write", WRITE_REFUSALS),
    ("a fence", FENCE_REFUSALS),
    ("anybody but a reporter", NO_REPORTER_REFUSALS),
];

/// docs/src/reference/operations.md and types.md beside it.
pub fn pages(entries: &[Entry]) -> (String, String) {
    let mut generator = SchemaGenerator::default();
    let described: Vec<(&Entry, Value, Value)> = entries
        .iter()
        .map(|entry| {
            let (input, answer) = ((entry.input)(&mut generator), (entry.answer)(&mut generator));
            (entry, input.to_value(), answer.to_value())
        })
        .collect();
    let definitions = Definitions::new(Map::from_iter(generator.take_definitions(true)));
    let inputs: Vec<&str> = described.iter().filter_map(|(_, input, _)| Definitions::name(input)).collect();

    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| vec![link(entry.spec.name, ""), format!("`{}`", route(&entry.spec))])
        .collect();
    let groups: Vec<Vec<String>> =
        GROUPS.iter().map(|(name, codes)| vec![(*name).to_owned(), refusal_links(codes)]).collect();
    let mut text = format!(
        "{GENERATED}# Operations\n\n{LEAD}\n{}\n## Shared refusals\n\n{SHARED}\n{}",
        table(&["operation", "route"], &rows),
        table(&["of", "refusals"], &groups)
    );
    for (entry, input, answer) in &described {
        text.push_str(&section(&entry.spec, input, answer, &definitions));
    }
    (text, types::page(&definitions, &inputs))
}

fn section(spec: &Spec, input: &Value, answer: &Value, definitions: &Definitions) -> String {
    let help = Definitions::name(input).map_or_else(String::new, |name| definitions.describe(name));
    let facts = [
        vec!["route".to_owned(), format!("`{}`", route(spec))],
        vec!["effect".to_owned(), effect(spec.effect).to_owned()],
        vec!["who may call".to_owned(), access(spec.access).to_owned()],
        vec!["fence".to_owned(), fencing(spec.fencing).to_owned()],
        vec!["answer".to_owned(), definitions.link(answer)],
        vec!["refusals".to_owned(), refusals(spec)],
    ];
    let fields: Vec<Field> = Definitions::name(input).map_or_else(Vec::new, |name| definitions.fields(name));
    let fields =
        if fields.is_empty() { "It has no fields.\n".to_owned() } else { types::fields("needed", &fields) };
    format!("\n## {}\n\n{help}\n\n{}\n{fields}", spec.name, table(&["", ""], &facts))
}

/// The refusals of an operation: its own by name, the shared ones by their groups.
fn refusals(spec: &Spec) -> String {
    let all = spec.all_refusals();
    let whole = GROUPS.iter().filter(|(_, codes)| codes.iter().all(|code| all.contains(code)));
    let (names, shared): (Vec<&str>, Vec<&[Code]>) = whole.copied().unzip();
    let shared = shared.concat();
    let own: Vec<Code> = all.into_iter().filter(|code| !shared.contains(code)).collect();
    let groups = format!("[those of {}](#shared-refusals)", names.join(", "));
    if own.is_empty() { groups } else { format!("{}; and {groups}", refusal_links(&own)) }
}

fn refusal_links(codes: &[Code]) -> String {
    codes.iter().map(|code| format!("[`{code}`](../refusals/{code}.md)")).collect::<Vec<_>>().join(", ")
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

fn route(spec: &Spec) -> String {
    format!("{} /api/v1{}", spec.method.as_str(), spec.path)
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
        Access::Person => "a person with an account, by its password",
        Access::Operator => "a person with the role operator, by the account's password",
        Access::Administrator => "a person with the role administrator, by the account's password",
        Access::Reporter => "a reporter, by the secret that its holder drew",
        Access::Console => "whoever read the one-time secret that the server printed on its console",
        Access::Coordinator => "the coordinator itself",
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
        let (text, _) = pages(&super::super::entries());
        let section = text.split("\n## claim\n").nth(1).expect("claim has a section");
        let section = section.split("\n## ").next().expect("it ends");
        assert!(section.contains("`POST /api/v1/claims`"), "{section}");
        assert!(section.contains("| `another` | true or false | no | Take a further task"), "{section}");
        assert!(section.contains("[`lease_held`](../refusals/lease_held.md)"), "{section}");
        assert!(
            section.contains(
                "[those of any operation, a session, a write, anybody but a reporter](#shared-refusals)"
            ),
            "{section}"
        );
    }

    #[test]
    fn anchors_are_those_of_the_book() {
        assert_eq!(anchor("task.force-release"), "taskforce-release");
        assert_eq!(anchor("AsOf"), "asof");
    }
}
