//! The table of contents of the book.

use tenure_core::model::refusal::Code;

use super::GENERATED;

/// Pages that people write, in reading order.
const WRITTEN: &[(&str, &str)] = &[
    ("First steps", "first-steps.md"),
    ("The command line", "command-line.md"),
    ("Words", "concepts.md"),
    ("Time and leases", "time-and-leases.md"),
    ("Waiting and following", "waiting.md"),
    ("Finding work again", "finding.md"),
    ("Running a command for a task", "run.md"),
    ("People, roles and passwords", "authority.md"),
    ("Backup and restore", "backup-and-restore.md"),
    ("Moving a store", "moving-a-store.md"),
    ("The record, and who could have changed it", "record.md"),
    ("Export and import", "export-and-import.md"),
    ("PostgreSQL", "postgresql.md"),
    ("On the network", "network.md"),
    ("Tools for models", "mcp.md"),
    ("What is promised", "promises.md"),
    ("What is proved, and how", "proofs.md"),
    ("Attacks, and the test of each", "attacks.md"),
    ("What is not promised", "not-promised.md"),
    ("Figures", "performance.md"),
    ("As a store grows", "growth.md"),
    ("Several servers", "servers.md"),
    ("Under load", "load.md"),
];

/// docs/src/SUMMARY.md
pub fn page() -> String {
    let mut text = format!("{GENERATED}# Tenure\n\n[Introduction](introduction.md)\n\n");
    for (title, file) in WRITTEN {
        text.push_str(&format!("- [{title}]({file})\n"));
    }
    text.push_str("\n# Reference\n\n");
    text.push_str("- [Operations](reference/operations.md)\n- [Types](reference/types.md)\n- [Who may do what](reference/permissions.md)\n- [Exit codes](reference/exit-codes.md)\n");
    text.push_str("- [Refusals](refusals/index.md)\n");
    for code in Code::ALL {
        text.push_str(&format!("  - [`{code}`](refusals/{code}.md)\n"));
    }
    text
}
