//! A test that is skipped or that waits for time proves nothing on the day it matters.

use super::{Finding, Tree};

/// No test is ignored and none sleeps, unless a comment `// ignored because: …` or `// waits because: …` says why.
pub fn tests_wait_for_states(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust("") {
        for (number, line) in file.source.numbered().filter(|(_, line)| line.test) {
            let code: String = line.code.chars().filter(|c| !c.is_whitespace()).collect();
            let ignored = code.starts_with("#[ignore") || code.contains(",ignore");
            let sleeps = code.contains("thread::sleep(") || code.contains("time::sleep(");
            let (what, remedy, because) = if ignored {
                ("an ignored test", "make it run, or take it out", "ignored because:")
            } else {
                ("a sleep in a test", "wait for a state", "waits because:")
            };
            if (ignored || sleeps) && !file.source.explained(number, because) {
                let message = format!("{what}: {remedy}, or explain it with `// {because} …` above it");
                findings.push(file.finding(number, "waiting", message));
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
    fn ignored_and_sleeping_tests_are_refused_unless_explained() {
        let text = "#[test]\n// ignored because: other tests start it as a process\n#[ignore]\nfn a() {}\n#[ignore]\n#[ignore = \"slow\"]\nstd::thread::sleep(a);\n\
                    // waits because: the kernel offers no signal\nthread::sleep(b);\n";
        let tree =
            Tree::of(&[("crates/cli/tests/a.rs", text), ("crates/cli/src/a.rs", "thread::sleep(a);\n")]);
        assert_eq!(lines(&tests_wait_for_states(&tree)), [5, 6, 7]);
    }
}
