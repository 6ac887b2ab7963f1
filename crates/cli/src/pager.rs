//! The pager: for a person at a terminal, and only for what is taller than it.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use signal_hook::consts::SIGINT;
use tenure_client::identity::{Surroundings, is_within_harness};
use tenure_client::processes;
use unicode_width::UnicodeWidthStr;

use crate::environment::variable;
use crate::interrupt;
use crate::terminal;

/// What to page with when nobody says so: it ends by itself where all fits, shows colours, and leaves the text there.
const DEFAULT: &str = "less -FRX";

/// Shows a text in the pager, if there is one and it is wanted. A pager that is left early is no error.
pub fn shows(text: &str) -> bool {
    if !is_taller(text, terminal::size()) || !terminal::has_reader(is_within) {
        return false;
    }
    let Some(pager) = wanted(variable("TENURE_PAGER"), variable("PAGER"), has_less) else { return false };
    // A shell takes it apart, as for every other program that pages.
    let started = Command::new("sh").args(["-c", &pager]).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = started else { return false };
    interrupt::is_for_another();
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes()).ok();
    }
    match child.wait() {
        Ok(status) if status.signal() == Some(SIGINT) => std::process::exit(interrupt::EXIT.into()),
        // A shell that found no such program: the answer must not be lost.
        Ok(status) => !matches!(status.code(), Some(126 | 127)),
        Err(_) => true,
    }
}

/// The pager: an empty one and `cat` are none.
fn wanted(own: Option<String>, common: Option<String>, has_default: impl Fn() -> bool) -> Option<String> {
    match own.or(common) {
        Some(pager) => (!matches!(pager.trim(), "" | "cat")).then_some(pager),
        None => has_default().then(|| DEFAULT.to_owned()),
    }
}

fn has_less() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("less").is_file())
}

/// Whether a text takes more rows than there are, where long lines go on in the next row.
fn is_taller(text: &str, (columns, rows): (usize, usize)) -> bool {
    let rows_of = |line: &str| line.width().div_ceil(columns.max(1)).max(1);
    let mut taken = 0;
    // The prompt wants a row as well.
    text.lines().any(|line| {
        taken += rows_of(line);
        taken >= rows
    })
}

fn is_within() -> bool {
    is_within_harness(&Surroundings {
        explicit: None,
        variable: &variable,
        process: &processes::process,
        pid: std::process::id(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_pager_comes_before_the_common_one_and_none_is_a_choice() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(wanted(some("most"), some("more"), || true), some("most"));
        assert_eq!(wanted(None, some("more -x"), || true), some("more -x"));
        assert_eq!(wanted(None, None, || true), some(DEFAULT));
        assert_eq!(wanted(None, None, || false), None);
        for none in ["", " ", "cat"] {
            assert_eq!(wanted(some(none), some("more"), || true), None, "{none:?}");
            assert_eq!(wanted(None, some(none), || true), None, "{none:?}");
        }
    }

    #[test]
    fn a_text_is_as_tall_as_its_lines_are_long() {
        assert!(!is_taller("a\nb\n", (10, 4)));
        assert!(is_taller("a\nb\nc\n", (10, 3)));
        assert!(is_taller(&"x".repeat(21), (10, 3)));
        assert!(!is_taller(&"\u{5bb6}".repeat(10), (10, 4)), "by width, not by character");
    }
}
