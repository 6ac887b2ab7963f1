//! One page per refusal code, and the list of them.

use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::Entry;
use tenure_core::operation::{
    CROWD_REFUSALS, FENCE_REFUSALS, NETWORK_REFUSALS, NETWORK_WRITE_REFUSALS, NO_REPORTER_REFUSALS,
    PERSON_REFUSALS, READ_REFUSALS, REPORTER_REFUSALS, SESSION_REFUSALS, SHARED_REFUSALS, WRITE_REFUSALS,
};

use super::{GENERATED, Pages, operations, table};

/// The pages under docs/src/refusals.
pub fn pages(entries: &[Entry]) -> Pages {
    let mut pages = Pages::new();
    pages.insert("docs/src/refusals/index.md".to_owned(), index());
    for &code in Code::ALL {
        pages.insert(format!("docs/src/refusals/{code}.md"), page(code, entries));
    }
    pages
}

fn index() -> String {
    let rows: Vec<Vec<String>> = Code::ALL
        .iter()
        .map(|code| {
            vec![
                format!("[`{code}`]({code}.md)"),
                code.status().to_string(),
                code.exit().to_string(),
                yes_or_no(code.retryable()).to_owned(),
                code.means().to_owned(),
            ]
        })
        .collect();
    format!(
        "{GENERATED}# Refusals\n\n\
         A refusal is the coordinator's no. It has a stable code, says what is wrong and what to do next, and leaves\n\
         nothing behind: the same request may be decided anew later. Over HTTP it is a problem document (RFC 9457)\n\
         whose `code` is one of these words; on the command line it ends the command with the exit code beside it.\n\n\
         {}",
        table(&["code", "HTTP status", "exit code", "can a retry help", "meaning"], &rows)
    )
}

fn page(code: Code, entries: &[Entry]) -> String {
    let facts = [
        vec!["HTTP status".to_owned(), code.status().to_string()],
        vec!["exit code".to_owned(), format!("[{}](../reference/exit-codes.md)", code.exit())],
        vec!["can the same request succeed later".to_owned(), yes_or_no(code.retryable()).to_owned()],
    ];
    format!(
        "{GENERATED}# `{code}`\n\n{}\n\n{}\n## What to do\n\n{}\n\n## Which operations return it\n\n{}",
        code.means(),
        table(&["", ""], &facts),
        code.remedy(),
        returned_by(code, entries)
    )
}

/// Says where a code comes from, by the widest group that it belongs to.
fn returned_by(code: Code, entries: &[Entry]) -> String {
    if SHARED_REFUSALS.contains(&code) {
        return "Every operation.\n".to_owned();
    }
    let mut text = String::new();
    let mut group = |codes: &[Code], sentence: &str| {
        if codes.contains(&code) {
            text.push_str(&format!("{sentence}\n\n"));
        }
    };
    group(NETWORK_REFUSALS, "Every request by the network, whatever it asks for.");
    group(NETWORK_WRITE_REFUSALS, "Every request by the network that changes something.");
    group(SESSION_REFUSALS, "Every operation that only a session may call.");
    group(REPORTER_REFUSALS, "Every operation that only a reporter may call.");
    group(NO_REPORTER_REFUSALS, "Every other operation, where the secret of a reporter comes with it.");
    group(READ_REFUSALS, "Every question that wants an event to be there (`Tenure-At-Least`).");
    group(WRITE_REFUSALS, "Every operation that writes.");
    group(CROWD_REFUSALS, "Every import, and its preview.");
    group(FENCE_REFUSALS, "Every operation that a fence comes with.");
    group(PERSON_REFUSALS, "Every operation that only a person may call, by a password.");
    let named: Vec<String> = entries
        .iter()
        .filter(|entry| entry.spec.refusals.contains(&code))
        .map(|entry| format!("- {}\n", operations::link(entry.spec.name, "../reference/operations.md")))
        .collect();
    if !named.is_empty() {
        let lead = if text.is_empty() { "" } else { "And by rules of their own:\n\n" };
        text.push_str(&format!("{lead}{}", named.concat()));
    }
    if text.is_empty() {
        text.push_str("None of the operations; another route of the daemon or the command line itself refuses with it.\n");
    }
    format!("{}\n", text.trim_end())
}

fn yes_or_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_code_remedy_and_the_operations_that_return_it() {
        let text = page(Code::LeaseHeld, &super::super::entries());
        assert!(text.contains(Code::LeaseHeld.means()) && text.contains(Code::LeaseHeld.remedy()));
        assert!(text.contains("[`claim`](../reference/operations.md#claim)"), "{text}");
    }

    #[test]
    fn a_shared_refusal_names_no_single_operation() {
        assert_eq!(returned_by(Code::InvalidInput, &super::super::entries()), "Every operation.\n");
    }
}
