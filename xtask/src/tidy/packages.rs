//! Which crates are in the tree: from crates.io, none that was decided against, and one version of what matters.

use super::layers::{all_packages, text};
use super::{Finding, Tree};

/// Crates that were decided against, and what stands in their place. chrono is not among them: the crate for the tools of
/// models brings it, for schemas that nothing here uses. Ours may not name it (seams.rs).
const BANNED: &[(&str, &str)] = &[
    ("openssl", "a C library per system; TLS comes from rustls"),
    ("openssl-sys", "a C library per system; TLS comes from rustls"),
    ("native-tls", "another TLS on every system; TLS comes from rustls"),
    ("sqlx", "its async driver halves what the writer can do; the store has a small synchronous seam"),
    ("diesel", "SQL is written once, in the file of its noun"),
    ("time", "dates come from jiff"),
    ("reqwest", "the client is blocking and small: ureq"),
    ("async-std", "unmaintained; tokio where sockets are"),
    ("serde_yaml", "unmaintained; configuration is TOML"),
    ("structopt", "clap derives"),
    ("atty", "unmaintained; std::io::IsTerminal"),
    ("failure", "unmaintained; errors are our own enums"),
];

/// Crates of which a second version would mean two of a thing that there must be one of, or a large binary. jiff is not
/// among them: the filters of `--jq` bring the version before ours, for dates that nothing else sees.
const ONCE: &[&str] = &[
    "serde",
    "serde_json",
    "schemars",
    "tokio",
    "hyper",
    "http",
    "axum",
    "clap",
    "rusqlite",
    "libsqlite3-sys",
    "sha2",
    "hmac",
    "rustls",
    "ring",
    "tracing",
    "toml",
    "rustix",
];

/// Every package is from crates.io, not banned, and single where that matters.
pub fn packages_are_welcome(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut refuse = |message| {
        findings.push(Finding { path: "Cargo.lock".to_owned(), line: 1, rule: "packages", message });
    };
    for package in all_packages(&tree.metadata) {
        let name = text(package, "name");
        if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            refuse(format!("{name} is banned ({reason}): `cargo tree --invert {name}` says who brings it"));
        }
        let source = text(package, "source");
        if !source.is_empty() && source != "registry+https://github.com/rust-lang/crates.io-index" {
            refuse(format!("{name} comes from {source}: take a release from crates.io"));
        }
    }
    for name in ONCE {
        let versions: Vec<&str> = all_packages(&tree.metadata)
            .filter(|package| text(package, "name") == *name)
            .map(|package| text(package, "version"))
            .collect();
        if versions.len() > 1 {
            refuse(format!("{name} is there in versions {}: bring them together", versions.join(" and ")));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn found(packages: &Value) -> Vec<String> {
        let mut tree = Tree::of(&[]);
        tree.metadata = json!({ "packages": packages });
        packages_are_welcome(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn banned_foreign_and_doubled_packages_are_refused() {
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        let found = found(&json!([
            { "name": "openssl", "version": "1.0.0", "source": registry },
            { "name": "a", "version": "1.0.0", "source": "git+https://example.org/a" },
            { "name": "tokio", "version": "1.0.0", "source": registry },
            { "name": "tokio", "version": "2.0.0", "source": registry },
            { "name": "tenure-core", "version": "0.1.0", "source": null },
        ]));
        assert!(found[0].starts_with("openssl is banned"), "{found:?}");
        assert!(found[1].starts_with("a comes from git+"), "{found:?}");
        assert!(found[2].starts_with("tokio is there in versions 1.0.0 and 2.0.0"), "{found:?}");
        assert_eq!(found.len(), 3);
    }
}
