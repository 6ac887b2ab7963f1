//! The page of types: what the fields of inputs and answers are made of.

use super::schema::{Definitions, Field};
use super::{GENERATED, table};

/// docs/src/reference/types.md. The inputs themselves stand with their operations and are left out.
pub fn page(definitions: &Definitions, inputs: &[&str]) -> String {
    let mut text = format!(
        "{GENERATED}# Types\n\nWhat the fields of [operations](operations.md) and their answers are made of.\n"
    );
    for name in definitions.names().filter(|name| !inputs.contains(name)) {
        text.push_str(&format!("\n## {name}\n\n{}\n", definitions.describe(name)));
        let words = definitions.words(name);
        let members = definitions.fields(name);
        if !words.is_empty() {
            let rows: Vec<Vec<String>> =
                words.into_iter().map(|(word, meaning)| vec![format!("`{word}`"), meaning]).collect();
            text.push_str(&format!("\n{}", table(&["word", "meaning"], &rows)));
        } else if !members.is_empty() {
            text.push_str(&format!("\n{}", fields("always there", &members)));
        }
    }
    text
}

/// The table of fields; `required` is what the column is called that says whether a field must be there.
pub fn fields(required: &str, fields: &[Field]) -> String {
    let rows: Vec<Vec<String>> = fields
        .iter()
        .map(|field| {
            let must = if field.required { "yes" } else { "no" };
            vec![format!("`{}`", field.name), field.kind.clone(), must.to_owned(), field.meaning.clone()]
        })
        .collect();
    table(&["field", "type", required, "meaning"], &rows)
}
