//! What an agent is told about working here, in a text of its own that a small model can follow. Agents' own files name only
//! the command that prints it, so it can change without them. Who calls tools instead of typing commands is told the same.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Raised with every change of what the text asks for.
pub const VERSION: u32 = 1;

/// The text, in Markdown.
pub const TEXT: &str = include_str!("instructions.md");

/// Most words that it has: every conversation of every agent pays for it.
pub const WORDS_MAX: usize = 600;

/// Tell agents how to work here
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instructions {
    /// Raised with every change of what the text asks for.
    pub version: u32,
    /// The text, in Markdown.
    pub text: String,
}

impl Instructions {
    /// Those of this version of the program.
    #[must_use]
    pub fn current() -> Self {
        Self { version: VERSION, text: TEXT.to_owned() }
    }
}

/// What is typed, and what is called instead. Each stands in the text once at least, and is replaced where it stands first.
const CALLED: [(&str, &str); 21] = [
    (
        "Every refusal says `next:` and what to type.",
        "Every refusal says in `next_actions` what to do. Where a text names a command, `tenure task create --title` is the \
         tool `task_create` with the argument `title`.",
    ),
    ("    tenure next", "    next"),
    ("`tenure claim TASK`", "`claim` with its `task`"),
    (
        "Its criteria are called c1, c2 and so on.",
        "Its criteria are called c1, c2 and so on. Keep its `lease`, and give it to every tool below with the `task`.",
    ),
    ("    tenure claim", "    claim"),
    ("    tenure heartbeat", "    heartbeat"),
    (
        "tenure checkpoint \"DONE AND LEFT\" --branch BRANCH --commit COMMIT",
        "checkpoint: text \"DONE AND LEFT\", evidence {branch, commit}",
    ),
    (
        "tenure close --note \"OUTCOME\" --branch BRANCH --commit COMMIT --criterion c1=\"HOW IT IS MET\"",
        "close: note \"OUTCOME\", evidence {branch, commit}, criteria {\"c1\": \"HOW IT IS MET\"}",
    ),
    ("tenure handoff \"WHAT IS DONE AND WHAT IS LEFT\"", "handoff: text \"WHAT IS DONE AND WHAT IS LEFT\""),
    ("Exit code 6: you lost the task.", "`lease_expired`, `superseded` or `not_holder`: you lost the task."),
    ("ask `tenure next`", "ask `next`"),
    ("Exit code 3:", "`lease_held`:"),
    ("Exit code 9:", "`nothing_eligible`:"),
    ("`tenure wait` waits.", "`claim` with `wait_ms` waits."),
    (
        "Exit code 2: nobody can tell. Type the same command again;",
        "`cannot_tell`: nobody can tell. Call the same again with the `operation_id` that it names;",
    ),
    (
        "read `tenure attempts TASK`, then `tenure dispose --disposition resume`.",
        "read its `recovery`, then call `dispose` with the disposition `resume`.",
    ),
    ("`tenure task create --title \"TITLE\"`", "`task_create`"),
    ("`tenure dependency add TASK OTHER`", "name the other in its `blocked_by`"),
    ("`tenure run TASK -- COMMAND` renews it meanwhile.", "call `heartbeat` meanwhile."),
    (
        "You are asked who you are: `export TENURE_SESSION=NAME`, with a name of your own.",
        "You are asked who you are (`session_required`): `session_open` with a name of your own, and give the id that it \
         answers to every tool as `session`. A subagent opens a session of its own, with yours as `parent`.",
    ),
    (
        "More about any command: `tenure COMMAND --help`.",
        "A list that was cut short says how it goes on; a text that was, `texts_from` where the rest begins.",
    ),
];

/// The same for who works by tools: the commands of the text are the tools of their names.
#[must_use]
pub fn for_tools() -> String {
    CALLED.iter().fold(TEXT.to_owned(), |text, (typed, called)| text.replacen(typed, called, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_for_tools_says_the_same_and_no_command() {
        let mut text = TEXT.to_owned();
        for (typed, called) in CALLED {
            assert!(text.contains(typed), "{typed} is not typed any more");
            text = text.replacen(typed, called, 1);
        }
        assert_eq!(text, for_tools());
        let commands: Vec<&str> = text.match_indices("tenure ").map(|(at, _)| &text[at..]).collect();
        assert_eq!(commands.len(), 1, "only the rule how commands are read names one: {commands:?}");
        assert!(!text.contains("Exit code") && !text.contains("--help"), "{text}");
        let words = text.split_whitespace().count();
        assert!(words <= WORDS_MAX, "{words} words");
    }

    #[test]
    fn the_text_is_short_enough_to_be_read() {
        let words = TEXT.split_whitespace().count();
        assert!(words <= WORDS_MAX, "{words} words");
        // An answer of ordinary size, with its JSON.
        assert!(TEXT.len() < 2_000, "{} bytes", TEXT.len());
    }
}
