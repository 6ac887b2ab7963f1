//! Invariants 1 and 7: core decides from what it is given, nothing in core or engine is asynchronous, and the
//! engine asks one clock.

use super::paths::mentions;
use super::{Finding, Tree};

const CORE: &str = "crates/core/src/";
const ENGINE: &str = "crates/engine/src/";

/// Paths that core must not name, and what to do instead.
const IMPURE_PATHS: &[(&str, &str)] = &[
    ("std::*", "name what is used, so that this rule can see it"),
    ("std::fs", "let the engine or a surface read it and hand it in"),
    ("std::net", "let a surface do it"),
    ("std::os", "let the engine or a surface do it"),
    ("std::process", "let a surface do it"),
    ("std::thread", "let the engine do it"),
    ("std::env", "let a surface read it and hand it in"),
    ("std::io", "work on values; let a surface read and write"),
    ("rand", "take the value as an input, or derive it"),
    ("getrandom", "take the value as an input, or derive it"),
    ("fastrand", "take the value as an input, or derive it"),
];

/// Words that core must not use anywhere in a path.
const IMPURE_WORDS: &[(&str, &str)] = &[
    ("Instant", "take `Now` from the call"),
    ("SystemTime", "take `Now` from the call"),
    ("HashMap", "use BTreeMap, so that the same question gets the same answer byte for byte"),
    ("HashSet", "use BTreeSet, so that the same question gets the same answer byte for byte"),
    ("RandomState", "use an ordered map"),
];

/// Invariant 1: core does no input or output, reads no clock, draws no randomness and keeps ordered maps.
pub fn core_is_pure(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust(CORE) {
        for mention in mentions(&file.source, false) {
            let path = IMPURE_PATHS.iter().find(|(path, _)| mention.begins(path));
            let word = IMPURE_WORDS.iter().find(|(word, _)| mention.has(word));
            if let Some((name, remedy)) = path.or(word) {
                let message = format!("core must not name {name} (invariant 1): {remedy}");
                findings.push(file.finding(mention.line, "core-is-pure", message));
            }
        }
    }
    findings
}

/// Where the client of PostgreSQL, which is asynchronous, is driven to its end within each call.
const DRIVEN: &str = "crates/engine/src/store/postgres/wire.rs";

/// Invariant 7: no async in core or engine.
pub fn core_and_engine_are_synchronous(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust(CORE).chain(tree.rust(ENGINE)).filter(|file| file.path != DRIVEN) {
        for mention in mentions(&file.source, true) {
            let first = mention.segments[0].as_str();
            if matches!(first, "async" | "await" | "tokio" | "futures" | "async_trait") {
                let message = format!(
                    "`{first}` in core or engine (invariant 7): async lives where sockets are; write a plain function \
                     and let the server call it on a thread"
                );
                findings.push(file.finding(mention.line, "no-async", message));
            }
        }
    }
    findings
}

/// Where the engine reads clocks.
const CLOCK: &str = "crates/engine/src/clock.rs";

/// Where the engine may ask how long it has waited: the writer's thread paces its own tick by it.
const PACED: &str = "crates/engine/src/writer.rs";

/// The engine reads clocks in one place and never sleeps: fleet time is the only time that a decision may see.
pub fn engine_reads_time_in_one_place(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust(ENGINE).filter(|file| file.path != CLOCK) {
        for mention in mentions(&file.source, false) {
            let clock = ["SystemTime", "clock_gettime"].into_iter().find(|word| mention.has(word));
            let asked = mention.has("Instant") && mention.has("now") && file.path != PACED;
            if clock.is_some() || asked {
                let message =
                    format!("the engine reads clocks in {CLOCK} only: ask the clock that is handed in");
                findings.push(file.finding(mention.line, "one-clock", message));
            }
            if mention.has("thread") && mention.has("sleep") {
                let message = "the engine never sleeps: wait on the queue, a channel or a condition";
                findings.push(file.finding(mention.line, "one-clock", message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn core_may_not_reach_for_files_clocks_randomness_or_unordered_maps() {
        let text = "use std::{fs, fmt};\nuse std::time::Instant;\nlet a: HashMap<u8, u8>;\nstd::env::var(x);\n\
                    use getrandom;\nuse std::collections::BTreeMap;\n// std::fs in a comment\nlet b = \"std::fs\";\n\
                    #[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        let tree = Tree::of(&[("crates/core/src/a.rs", text), ("crates/engine/src/a.rs", text)]);
        assert_eq!(lines(&core_is_pure(&tree)), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_engine_reads_time_in_its_clock_and_never_sleeps() {
        let text = "let a = Instant::now();\nstd::time::SystemTime::now();\nstd::thread::sleep(b);\n\
                    fn c(deadline: Instant) {}\n";
        let tree =
            Tree::of(&[("crates/engine/src/a.rs", text), (CLOCK, text), ("crates/client/src/a.rs", text)]);
        assert_eq!(lines(&engine_reads_time_in_one_place(&tree)), [1, 2, 3]);
        let tree = Tree::of(&[(PACED, text)]);
        assert_eq!(lines(&engine_reads_time_in_one_place(&tree)), [2, 3]);
    }

    #[test]
    fn async_is_refused_in_core_and_engine_only() {
        let text =
            "pub async fn a() {}\nlet b = c().await;\nuse tokio::sync::Mutex;\nlet asynchronous = 1;\n";
        let tree = Tree::of(&[
            ("crates/engine/src/a.rs", text),
            ("crates/core/src/a.rs", "async {}"),
            ("crates/server/src/a.rs", text),
        ]);
        assert_eq!(lines(&core_and_engine_are_synchronous(&tree)), [1, 1, 2, 3]);
    }
}
