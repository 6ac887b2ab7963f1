//! `tenure help TOPIC`: what is not the help of one command.

use tenure_core::model::refusal::{Code, EXIT_CODES};

/// What a topic says.
type Text = fn() -> String;

/// The topics and what they say.
pub const TOPICS: [(&str, Text); 3] =
    [("exit-codes", exit_codes), ("output", || OUTPUT.to_owned()), ("sessions", || SESSIONS.to_owned())];

/// The exit codes with the refusals that end in each.
fn exit_codes() -> String {
    let mut text = String::from("Exit codes, and the `code` of the refusals that end in each:\n");
    for (exit, meaning) in EXIT_CODES {
        text.push_str(&format!("{exit:>8}  {meaning}\n"));
        let codes = Code::ALL.iter().filter(|code| code.exit().to_string() == exit);
        for codes in codes.map(ToString::to_string).collect::<Vec<_>>().chunks(CODES_A_LINE) {
            text.push_str(&format!("{:10}{}\n", "", codes.join(", ")));
        }
    }
    text.push_str(
        "\nWith --json a refusal is printed on standard output, with its `code` and `exit_code`.\n",
    );
    text
}

/// How many refusals are named on a line.
const CODES_A_LINE: usize = 4;

const OUTPUT: &str = "\
Standard output is data, standard error is talk.

For programs:
  --json        the answer as JSON; a refusal as well, with its `code` and `exit_code`
  --json=a,b    the same with these fields of its rows; an unknown name lists the known
  --jq EXPR     what a jq expression makes of the JSON: texts as they are, one result a line.
                Nothing is asked for if the expression cannot be read; a refusal then stands on
                standard error alone. What is followed goes through it row by row.
    tenure ready --jq '.tasks[].id'
    tenure show afc-1 --jq '.task | [.id, .status, .title] | @tsv'
    tenure events --follow --jq 'select(.kind == \"task_closed\") | .task'

For people:
  Widths        Tables are as wide as the terminal (COLUMNS overrides it); on a narrow one the last
                column goes below the others. Lines are whole. Elsewhere a cell ends at 60 columns.
  Colour        On a terminal, unless NO_COLOR or TERM=dumb is set; CLICOLOR_FORCE or
                --color=always colour elsewhere too. Colour says nothing that the words do not say.
  Pager         TENURE_PAGER, else PAGER, else `less -FRX`, for what is taller than the terminal.
                None with --no-pager, an empty PAGER or `cat`, TERM=dumb, CI, or below an agent's
                harness; never for JSON, for what is followed, or where input is no terminal.
  Texts         What others wrote never moves the cursor: control characters, and whatever hides
                or reorders text, are shown as \\x1b or \\u{202e}. JSON has every text as it is.

Lists are bounded, and say how to go on.
";

const SESSIONS: &str = "\
Who calls is inferred, in this order:
  --session NAME
  TENURE_SESSION
  the harness's variable (CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID, GEMINI_SESSION_ID)
  the nearest known harness process above
  the shell of a person's terminal
A CI runner or a terminal multiplexer is never guessed: export TENURE_SESSION=your-own-name.
A subagent that shares its parent's variables needs a session of its own: give it --session.
`tenure doctor` says who you are and why.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_says_what_the_reference_page_says() {
        let page = include_str!("../../../docs/src/reference/exit-codes.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |")).skip(2);
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split(" | ").collect()).collect();
        assert_eq!(rows.len(), EXIT_CODES.len());
        let help = exit_codes();
        for (row, (exit, meaning)) in rows.iter().zip(EXIT_CODES) {
            assert_eq!((row[0], row[1]), (exit, meaning));
            let after = help.split(&format!("{exit:>8}  {meaning}\n")).nth(1).expect("it is listed");
            let told = after.lines().take_while(|line| line.starts_with("          "));
            let told: String = told.collect::<Vec<_>>().join(",");
            let told: Vec<&str> = told.split(',').map(str::trim).filter(|code| !code.is_empty()).collect();
            let linked = row[2].split(", ").filter_map(|link| link.strip_prefix("[`")?.split('`').next());
            assert_eq!(told, linked.collect::<Vec<_>>(), "{exit}");
        }
    }

    #[test]
    fn every_refusal_is_listed_once() {
        let help = exit_codes();
        let words: Vec<&str> = help.split([',', ' ', '\n']).collect();
        for code in Code::ALL {
            assert_eq!(words.iter().filter(|word| **word == code.as_str()).count(), 1, "{code}");
        }
    }
}
