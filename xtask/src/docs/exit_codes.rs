//! What the exit codes of the command line mean, and which refusals end in each.

use tenure_core::model::refusal::Code;

use super::{GENERATED, table};

const MEANINGS: &[(&str, &str)] = &[
    ("0", "Done."),
    ("1", "The command was used wrongly, or its input is not acceptable."),
    ("2", "It cannot be told: daemon, network, storage or version. Nothing is known to have happened."),
    ("3", "Refused because somebody holds it: a claim or a resource."),
    ("4", "Refused because a capacity is used up."),
    ("5", "Not authenticated, or not allowed."),
    ("6", "The lease was lost: expired, ended or superseded. Stop changing the work."),
    ("7", "There is no such record."),
    ("8", "A conflict: of a revision, an operation id, a cycle, or the state of the record."),
    ("9", "Nothing is eligible, or a wait timed out. The answer says why."),
    ("10", "A check failed: `audit verify` or `doctor` found something."),
    ("120–125", "`run` itself failed; any other code of `run` is its child's."),
    ("130", "Interrupted."),
];

/// docs/src/reference/exit-codes.md
pub fn page() -> String {
    let rows: Vec<Vec<String>> = MEANINGS
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
            assert!(MEANINGS.iter().any(|(exit, _)| *exit == code.exit().to_string()), "{code}");
            assert!(page().contains(&format!("refusals/{code}.md")), "{code}");
        }
    }
}
