//! Invariants 2, 4 and 6: what may be done in one place only.

use super::layers::{list, manifest, own_packages, text};
use super::paths::mentions;
use super::{Finding, Tree};

/// An outside crate, the packages that may depend on it, and the places that may name it.
struct Seam {
    name: &'static str,
    packages: &'static [&'static str],
    places: &'static [&'static str],
}

/// The one exception: figures are measured beside peers, and a peer is spoken to in its own driver's words, without
/// anything of ours between.
const MEASURED_BESIDE_PEERS: &str = "xtask/src/bench/";

const SEAMS: &[Seam] = &[
    Seam { name: "rusqlite", packages: &["tenure-engine"], places: &["crates/engine/src/store/sqlite.rs"] },
    Seam {
        name: "tokio-postgres",
        packages: &["tenure-engine"],
        places: &["crates/engine/src/store/postgres/"],
    },
    Seam {
        name: "tokio-postgres-rustls",
        packages: &["tenure-engine"],
        places: &["crates/engine/src/store/postgres/"],
    },
    Seam { name: "axum", packages: &["tenure-server"], places: &["crates/server/"] },
    // Its client calls the tools in tests, as a harness does.
    Seam {
        name: "rmcp",
        packages: &["tenure-server", "tenure"],
        places: &["crates/server/src/mcp/protocol.rs", "crates/cli/tests/it/clients/official.rs"],
    },
    // Dates come from jiff.
    Seam { name: "chrono", packages: &[], places: &[] },
    Seam { name: "ureq", packages: &["tenure-client"], places: &["crates/client/"] },
    Seam {
        name: "tokio",
        packages: &["tenure-server", "tenure", "tenure-engine"],
        places: &[
            "crates/server/",
            "crates/cli/src/serve",
            "crates/cli/tests/",
            "crates/engine/src/store/postgres/wire.rs",
        ],
    },
    Seam { name: "comfy-table", packages: &["tenure"], places: &["crates/cli/"] },
];

/// Invariant 6: an outside crate is named behind its seam and nowhere else.
pub fn outside_crates_stay_behind_their_seam(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let measures = |path: &str| path.starts_with(MEASURED_BESIDE_PEERS);
    let files = ["crates/", "sim/", "xtask/"].into_iter().flat_map(|folder| tree.rust(folder));
    for file in files.filter(|file| !measures(&file.path)) {
        for mention in mentions(&file.source, true) {
            let named = SEAMS.iter().find(|seam| mention.segments[0] == seam.name.replace('-', "_"));
            let is_crate = mention.is_used || mention.segments.len() > 1;
            if let Some(seam) = named.filter(|_| is_crate)
                && !seam.places.iter().any(|place| file.path.starts_with(place))
            {
                let message = format!(
                    "{} may be named in {} only (invariant 6): call what stands there",
                    seam.name,
                    seam.places.join(", ")
                );
                findings.push(file.finding(mention.line, "seams", message));
            }
        }
    }
    findings
}

/// Invariant 6 in the manifests.
pub fn manifests_keep_the_seams(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in own_packages(&tree.metadata).filter(|package| text(package, "name") != "xtask") {
        for dependency in list(package, "dependencies") {
            let seam = SEAMS.iter().find(|seam| seam.name == text(dependency, "name"));
            if let Some(seam) = seam
                && !seam.packages.contains(&text(package, "name"))
            {
                let message =
                    format!("only {} may depend on {} (invariant 6)", seam.packages.join(", "), seam.name);
                findings.push(Finding { path: manifest(package), line: 1, rule: "seams", message });
            }
        }
    }
    findings
}

/// Where a write may begin: the batch, the driver that it takes for its store, and the database's own file.
const WRITERS: &[&str] = &[
    "crates/engine/src/execute.rs",
    "crates/engine/src/store/batch.rs",
    "crates/engine/src/store/sqlite.rs",
    "crates/engine/src/store/postgres/mod.rs",
];

/// Invariant 4: only execute.rs begins a write.
pub fn only_execute_begins_a_write(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust("crates/").filter(|file| !WRITERS.contains(&file.path.as_str())) {
        let calls = [".begin_write(", "::begin_write(", ".begin_migration("];
        for line in calls.iter().flat_map(|call| file.source.product_lines_with(call)) {
            let message =
                "only execute.rs begins a write (invariant 4): make it a command and run it as a batch";
            findings.push(file.finding(line, "one-writer", message));
        }
    }
    findings
}

/// Who runs batches: the daemon's writer, and the proofs about it.
const RUNNERS: &[&str] =
    &["crates/engine/src/writer.rs", "sim/src/worlds/world.rs", "sim/src/storm/coordinator.rs"];

/// The proofs run the very function that the daemon runs, and the daemon runs no other.
pub fn proofs_run_what_the_daemon_runs(tree: &Tree) -> Vec<Finding> {
    let runs = |place: &str| {
        let mut named = tree.rust(place).flat_map(|file| mentions(&file.source, false));
        named.any(|mention| mention.has("execute") && mention.has("run_batch"))
    };
    let missing = RUNNERS.iter().filter(|place| !runs(place)).map(|place| Finding {
        path: (*place).to_owned(),
        line: 1,
        rule: "one-batch",
        message: "it must run its commands with `execute::run_batch`: what is proved is what runs".to_owned(),
    });
    missing.collect()
}

/// Where rows that carry ownership may be written: the rules and the import into them, the working set that keeps
/// them.
const OWNERS: &[&str] =
    &["crates/core/src/rules/", "crates/core/src/import/", "crates/core/src/working_set/"];

/// Invariant 2: only rules grant, move or end ownership. A textual check: the rows that carry it are put nowhere else.
pub fn only_rules_write_ownership(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust("crates/").filter(|file| !OWNERS.iter().any(|place| file.path.starts_with(place))) {
        let writes = [".put_task(", "::put_task(", ".attempts.put(", ".tasks.put("];
        for line in writes.iter().flat_map(|write| file.source.product_lines_with(write)) {
            let message =
                "a task or attempt is written by rules only (invariant 2): make it a rule's decision";
            findings.push(file.finding(line, "ownership", message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;
    use serde_json::json;

    #[test]
    fn rusqlite_outside_its_file_is_refused() {
        let text =
            "use rusqlite::Connection;\nfn a(b: &rusqlite::Row) {}\nlet rusqlite = 1;\nuse rusqlite as db;\n";
        let tree = Tree::of(&[
            ("crates/engine/src/store/task.rs", text),
            ("crates/engine/src/store/sqlite.rs", text),
        ]);
        assert_eq!(lines(&outside_crates_stay_behind_their_seam(&tree)), [1, 2, 4]);
    }

    #[test]
    fn a_writer_or_a_proof_with_another_batch_is_refused() {
        let runs = "use crate::execute::{Command, run_batch};\n";
        let tree = Tree::of(&[
            (RUNNERS[0], runs),
            (RUNNERS[1], "use tenure_engine::execute::run_batch;\n"),
            (RUNNERS[2], "fn run_batch() {}\n"),
        ]);
        let found = proofs_run_what_the_daemon_runs(&tree);
        assert_eq!(found.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(), [RUNNERS[2]]);
    }

    #[test]
    fn figures_may_speak_to_peers_and_other_commands_of_developers_may_not() {
        let text = "use rusqlite::Connection;\n";
        let tree = Tree::of(&[("xtask/src/bench/bare.rs", text), ("xtask/src/docs/mod.rs", text)]);
        let found = outside_crates_stay_behind_their_seam(&tree);
        assert_eq!(
            found.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(),
            ["xtask/src/docs/mod.rs"]
        );
    }

    #[test]
    fn a_manifest_that_crosses_a_seam_is_refused() {
        let mut tree = Tree::of(&[]);
        tree.metadata = json!({ "packages": [{ "name": "tenure", "source": null, "dependencies": [
            { "name": "axum" }, { "name": "clap" },
        ] }] });
        assert_eq!(manifests_keep_the_seams(&tree).len(), 1);
    }

    #[test]
    fn a_write_begun_elsewhere_is_refused() {
        let text = "fn begin_write() {}\nstore\n    .begin_write(x);\nDriver::begin_write(store);\n\
                    #[cfg(test)]\nmod tests { fn a() { s.begin_write(x); } }\n";
        let tree = Tree::of(&[("crates/engine/src/writer.rs", text), ("crates/engine/src/execute.rs", text)]);
        let mut found = lines(&only_execute_begins_a_write(&tree));
        found.sort_unstable();
        assert_eq!(found, [3, 4]);
    }

    #[test]
    fn ownership_written_outside_the_rules_is_refused() {
        let text = "set.put_task(task);\nset.attempts\n    .put(attempt);\n";
        let tree = Tree::of(&[("crates/engine/src/a.rs", text), ("crates/core/src/rules/claim.rs", text)]);
        assert_eq!(lines(&only_rules_write_ownership(&tree)), [1, 3]);
    }
}
