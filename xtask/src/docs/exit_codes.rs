//! What the exit codes of the command line mean, and which refusals end in each.

use tenure_core::model::refusal::{Code, EXIT_CODES};

use super::{GENERATED, table};

/// docs/src/reference/exit-codes.md
pub fn page() -> String {
    let rows: Vec<Vec<String>> = EXIT_CODES
        .iter()
        .map(|(exit, meaning)| {
            let codes = Code::ALL.iter().filter(|code| code.exit().to_string() == *exit);
            let links: Vec<String> = codes.map(|code| format!("[`{code}`](../refusals/{code}.md)")).collect();
            vec![(*exit).to_owned(), (*meaning).to_owned(), links.join(", ")]
        })
        .collect();
    format!(
        "{GENERATED}# Exit codes\n\n\
         A script or an agent can decide by the exit code alone. “Nothing to do” (9), “refused” (3 to 8) and “cannot\n\
         tell” (2) are never the same answer. With `--json` the code of the refusal is in the output as well. `tenure\n\
         help exit-codes` prints this table.\n\n{}",
        table(&["exit code", "meaning", "refusals"], &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_ends_in_an_exit_code_of_the_table() {
        for code in Code::ALL {
            assert!(EXIT_CODES.iter().any(|(exit, _)| *exit == code.exit().to_string()), "{code}");
            assert!(page().contains(&format!("refusals/{code}.md")), "{code}");
        }
    }
}
