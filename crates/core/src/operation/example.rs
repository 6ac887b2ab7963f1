//! An example of every operation: an input that can be read, with the fields that it cannot do without. The document of the
//! API shows them, and the tests of the surfaces send them.

use serde_json::{Map, Value, json};

use super::catalog::Entry;

/// The example of an operation.
///
/// # Panics
///
/// If it has a required field that nothing is said of here, or whose value cannot be read: the tests try all of them.
#[must_use]
pub fn example(entry: &Entry) -> Value {
    let mut generator = schemars::SchemaGenerator::default();
    let schema = (entry.input)(&mut generator).to_value();
    let name = schema["$ref"].as_str().and_then(|place| place.rsplit('/').next()).unwrap_or_default();
    let required = generator.definitions().get(name).and_then(|input| input["required"].as_array());
    let names = required.into_iter().flatten().filter_map(Value::as_str);
    Value::Object(names.map(|name| (name.to_owned(), field(entry.spec.name, name))).collect::<Map<_, _>>())
}

/// What a required field can be.
fn field(operation: &str, name: &str) -> Value {
    match (operation, name) {
        ("session.open", "session") => json!("d1c2b3a4958677665544332211009f8e"),
        ("project.create", "key") => json!("docs"),
        ("blocker.raise", "kind") => json!("permission"),
        (_, "task") => json!("afc-1"),
        (_, "on") => json!("afc-2"),
        (_, "project") => json!("afc"),
        (_, "session") => json!("0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
        (_, "proof_hash" | "hash" | "digest") => {
            json!("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
        }
        (_, "token") => json!("b2f9c81d04e7"),
        (_, "name") => json!("robin"),
        (_, "role") => json!("member"),
        (_, "kind") if operation.starts_with("token.") => json!("agent"),
        (_, "revision" | "number") => json!(1),
        (_, "since") => json!(1_790_000_000_000_i64),
        (_, "format") => json!("beads"),
        (_, "disposition") => json!("resume"),
        (_, "repositories") => json!(["github.com/example/afc"]),
        (_, "repository") => json!("github.com/example/afc"),
        (_, "watches") => json!("cargo test"),
        (_, "window_ms") => json!(2_700_000),
        (_, "alias") => json!("bd-1"),
        (_, "title") => json!("Read the configuration"),
        (_, "query") => json!("configuration"),
        (_, "reason") => json!("The crash is back."),
        (_, "text") => json!("The reader works; its tests are left."),
        _ => panic!("{operation} needs {name}, and nothing is said of what that can be"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::catalog::entries;

    #[test]
    fn every_example_can_be_read() {
        for entry in entries() {
            let input = example(&entry);
            if let Err(refusal) = (entry.read)(input.clone()) {
                panic!("{}: {}: {input}", entry.spec.name, refusal.detail);
            }
        }
    }
}
