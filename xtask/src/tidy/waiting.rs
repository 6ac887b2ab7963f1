//! A test that is skipped or that waits for time proves nothing on the day it matters.

use super::{Finding, Tree};

const BECAUSE: &str = "waits because:";

/// No test is ignored and none sleeps, unless a comment `// waits because: …` says why.
pub fn tests_wait_for_states(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust("") {
        for (number, line) in file.source.numbered().filter(|(_, line)| line.test) {
            let code: String = line.code.chars().filter(|c| !c.is_whitespace()).collect();
            let ignored = code.starts_with("#[ignore") || code.contains(",ignore");
            let sleeps = code.contains("thread::sleep(") || code.contains("time::sleep(");
            if (ignored || sleeps) && !file.source.explained(number, BECAUSE) {
                let what = if ignored { "an ignored test" } else { "a sleep in a test" };
                let message = format!("{what}: wait for a state, or explain it with `// {BECAUSE} …`");
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
        let text = "#[ignore]\n#[ignore = \"slow\"]\nstd::thread::sleep(a);\n\
                    // waits because: the kernel offers no signal\nthread::sleep(b);\n";
        let tree =
            Tree::of(&[("crates/cli/tests/a.rs", text), ("crates/cli/src/a.rs", "thread::sleep(a);\n")]);
        assert_eq!(lines(&tests_wait_for_states(&tree)), [1, 2, 3]);
    }
}
