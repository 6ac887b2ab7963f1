//! Words that are no command, told so that the next try can be right: with the command that is called otherwise
//! here, the argument that is wrong, and the help of the command that was meant.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use tenure_core::model::refusal::{Code, Problem, Refusal};

use crate::arguments;
use crate::near;
use crate::render::{Typed, plain};
use crate::screen::Screen;
use crate::shell;

/// What people and agents type for a command that has another name here. A word that is a command's own name
/// elsewhere in the tree needs no line.
const MEANT: [(&[&str], &[&str]); 9] = [
    (&["create", "add", "new"], &["task create"]),
    (&["list", "ls"], &["task list", "ready"]),
    (&["start", "begin", "take", "pick"], &["claim"]),
    (&["done", "finish", "complete", "resolve"], &["close"]),
    (&["status"], &["next", "show", "stats"]),
    (&["update"], &["task edit"]),
    (&["delete", "remove", "rm"], &["task cancel"]),
    (&["comment"], &["note"]),
    (&["log"], &["history", "events"]),
];

/// What people and agents type as a value of an option that has another word for it here.
const MEANT_VALUES: [(&str, &[&str], &str); 9] = [
    ("--until", &["done", "closed", "complete", "completed", "over", "cancelled"], "finished"),
    ("--until", &["open", "free", "available", "unblocked", "claimable"], "ready"),
    ("--until", &["updated", "edited", "modified", "any"], "changed"),
    ("--lifecycle", &["todo", "new", "ready", "pending", "active", "in_progress"], "open"),
    ("--lifecycle", &["finished", "closed", "complete", "completed", "resolved"], "done"),
    ("--lifecycle", &["canceled", "rejected", "dropped"], "cancelled"),
    ("--resolution", &["finished", "closed", "complete", "completed", "fixed"], "done"),
    ("--resolution", &["canceled", "wontfix"], "cancelled"),
    ("--resolution", &["dup", "duplicate_of"], "duplicate"),
];
/// Most commands that are suggested.
const SUGGESTED: usize = 3;

/// Ends a command whose words could not be read. Help that was asked for is no error; whatever else clap says is bad
/// input.
pub fn end(error: clap::Error, mut tree: Command, words: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        error.print().ok();
        return ExitCode::SUCCESS;
    }
    tree.build();
    let (error, refusal) = explained(error, &mut tree, words);
    error.print().ok();
    let words = own(words);
    let asks = |option: &str| words.iter().any(|word| word.to_string_lossy().starts_with(option));
    if asks("--json") && !asks("--jq") {
        let json = serde_json::to_string(&Problem::from(&refusal)).expect("a problem is plain data");
        Screen::of_json().json(&json);
    }
    ExitCode::from(refusal.code.exit())
}

/// The words that are ours: what follows `--` are another program's.
fn own(words: &[OsString]) -> &[OsString] {
    words.split(|word| word == "--").next().unwrap_or_default()
}

/// The error with our tips, and the same as a refusal. In neither is a word that could do something to a terminal.
fn explained(error: clap::Error, tree: &mut Command, words: &[OsString]) -> (clap::Error, Refusal) {
    let shown: Vec<OsString> = words.iter().map(|word| plain::echo(&word.to_string_lossy()).into()).collect();
    let is_as_typed = shown == words;
    let mut error = if is_as_typed { error } else { harmless(&error, tree, &shown) };
    let words = own(&shown);
    let path = path(tree, words);
    let mut tips = tips(&error, tree, &path, words);
    if !is_as_typed {
        // What is only shown of a word cannot be typed again.
        tips.retain(|tip| !tip.repeats);
    }
    let tips: Vec<String> = tips.into_iter().map(|tip| tip.command).collect();
    let mut refusal = Refusal::new(Code::InvalidInput, what(&error));
    if let Some(field) = field(&error) {
        refusal = refusal.fact("field", field);
    }
    if !tips.is_empty() {
        let shown: Vec<String> = tips.iter().map(|tip| format!("`{tip}`")).collect();
        let tip = format!("did you mean {}?", shown.join(" or "));
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    } else if let Some(tip) = whole_word(&error, tree, words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    refusal.next_actions = tips;
    refusal.next_actions.push(["tenure help"].into_iter().chain(path).collect::<Vec<_>>().join(" "));
    (error, refusal)
}

/// The same error about words that can be shown. clap repeats words as they are, in sentences and in tips of its own and
/// in what our readers of values say; so it is given words that can be repeated. Where they are read otherwise, because
/// what is shown of a word is better than the word, the first sentence is all that is told.
fn harmless(error: &clap::Error, tree: &mut Command, shown: &[OsString]) -> clap::Error {
    match arguments::read(shown) {
        Err(same) if same.kind() == error.kind() => same,
        Ok(_) | Err(_) => tree.error(error.kind(), plain::echo(&what(error))),
    }
}

/// How a word that begins with a dash is given as a text. clap tells it of the first letter alone, because it takes
/// several behind one dash for several options.
fn whole_word(error: &clap::Error, tree: &Command, words: &[OsString]) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    error.get(ContextKind::Suggested)?;
    let letter = option.strip_prefix('-').filter(|letter| letter.chars().count() == 1 && *letter != "-")?;
    let words = words.iter().map(|word| word.to_string_lossy());
    let word = words.into_iter().find(|word| {
        word.strip_prefix('-')
            .is_some_and(|rest| rest.len() > 1 && !rest.starts_with('-') && rest.contains(letter))
    })?;
    let (word, valid) = (shell::word(&word), tree.get_styles().get_valid());
    Some(format!("to pass '{valid}{word}{valid:#}' as a value, use '{valid}-- {word}{valid:#}'"))
}

/// A command that may have been meant.
struct Tip {
    /// As it is typed.
    command: String,
    /// Whether words of the one that was typed stand in it.
    repeats: bool,
}

/// The names of the command that the words lead to, as far as they lead to one.
fn path<'a>(tree: &'a Command, words: &[OsString]) -> Vec<&'a str> {
    let (mut command, mut path) = (tree, Vec::new());
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix("--") {
            let takes_next = |argument: &clap::Arg| {
                argument.get_action().takes_values() && !argument.is_require_equals_set()
            };
            if tree.get_arguments().any(|a| a.get_long() == Some(option) && takes_next(a)) {
                words.next();
            }
        } else if !word.starts_with('-') {
            let Some(next) = command.find_subcommand(&*word) else { break };
            path.push(next.get_name());
            command = next;
        }
    }
    path
}

/// The commands that may have been meant, each as it is typed.
fn tips(error: &clap::Error, tree: &Command, path: &[&str], words: &[OsString]) -> Vec<Tip> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(word))) => {
            let exact = meant(tree, path, word);
            let commands = if exact.is_empty() { nearly_meant(tree, path, word) } else { exact };
            let tip = |command| Tip { command: format!("tenure {command}"), repeats: false };
            commands.into_iter().map(tip).collect()
        }
        (ErrorKind::UnknownArgument, _) => {
            title(error, path, words).into_iter().map(Tip::repeating).collect()
        }
        (ErrorKind::InvalidValue, _) => value(error, words).into_iter().map(Tip::repeating).collect(),
        // open set: the kinds are clap's.
        _ => Vec::new(),
    }
}

impl Tip {
    fn repeating(command: String) -> Self {
        Self { command, repeats: true }
    }
}

/// The commands that a word means which is none where it stands.
fn meant(tree: &Command, path: &[&str], word: &str) -> Vec<String> {
    let row = MEANT.iter().find(|(words, _)| words.contains(&word));
    let Some(noun) = path.first() else {
        if let Some((_, commands)) = row {
            return commands.iter().map(ToString::to_string).collect();
        }
        let nouns = tree.get_subcommands().filter(|noun| noun.find_subcommand(word).is_some());
        return nouns.map(|noun| format!("{} {word}", noun.get_name())).collect();
    };
    // `project add` is `project create`; `task done` is `close`; `task claim` is `claim`.
    let has =
        |verb: &str| tree.find_subcommand(noun).is_some_and(|noun| noun.find_subcommand(verb).is_some());
    let here = row.into_iter().flat_map(|(_, commands)| *commands).filter_map(|command| {
        let verb = command.split(' ').next_back()?;
        if has(verb) {
            Some(format!("{noun} {verb}"))
        } else {
            (*noun == "task").then(|| (*command).to_owned())
        }
    });
    let elsewhere = tree.find_subcommand(word).map(|command| command.get_name().to_owned());
    here.chain(elsewhere).collect()
}

/// What a slip of the finger means: of all names of commands where it stands, and all words for one, the nearest.
fn nearly_meant(tree: &Command, path: &[&str], word: &str) -> Vec<String> {
    let here = path.iter().try_fold(tree, |at, name| at.find_subcommand(name)).unwrap_or(tree);
    let shown = here.get_subcommands().filter(|command| !command.is_hide_set());
    let commands: Vec<&str> = shown.map(Command::get_name).collect();
    let others = MEANT.iter().flat_map(|(words, _)| *words).copied();
    let mut tips = Vec::new();
    for name in near::names(word, commands.iter().copied().chain(others)) {
        let meant = if commands.contains(&name) {
            vec![path.iter().copied().chain([name]).collect::<Vec<_>>().join(" ")]
        } else {
            meant(tree, path, name)
        };
        tips.extend(meant.into_iter().filter(|tip| !tips.contains(tip)).collect::<Vec<_>>());
    }
    tips.truncate(SUGGESTED);
    tips
}

/// The whole command with the value that an option has here for the one that was typed.
fn value(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let argument = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(shown) => shown.split([' ', '=']).next()?,
        // open set: the kinds are clap's.
        _ => return None,
    };
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidValue) else { return None };
    let is_meant = |(option, others, _): &&(&str, &[&str], &str)| {
        *option == argument && others.contains(&typed.to_lowercase().as_str())
    };
    let (option, _, value) = MEANT_VALUES.iter().find(is_meant)?;
    // The same option may take other values elsewhere.
    let Some(ContextValue::Strings(takes)) = error.get(ContextKind::ValidValue) else { return None };
    takes.iter().find(|takes| takes == value)?;
    let words = words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    Some(Typed::of(words).with(option, value))
}

/// A new task's title, given without its name.
fn title(error: &clap::Error, path: &[&str], words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(text)) = error.get(ContextKind::InvalidArg) else { return None };
    let is_named = |word: &OsString| {
        let word = word.to_string_lossy();
        word.starts_with("--title") || word.starts_with("-t")
    };
    let is_title = path == ["task", "create"] && !text.starts_with('-') && !words.iter().any(is_named);
    is_title.then(|| format!("tenure task create --title {}", shell::word(text)))
}

/// What is wrong, in one line.
fn what(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The argument that is wrong: `limit` of `--limit <LIMIT>`, `task` of `<TASK>`.
fn field(error: &clap::Error) -> Option<String> {
    let shown = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(shown) => shown,
        ContextValue::Strings(several) => several.first()?,
        // open set: the kinds are clap's.
        _ => return None,
    };
    if error.kind() == ErrorKind::UnknownArgument && !shown.starts_with('-') {
        return None;
    }
    let name = shown.trim_start_matches(['-', '<', '[']).split([' ', '=', '<', '>', '[', ']']).next()?;
    Some(name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::arguments::Arguments;

    fn tree() -> Command {
        let mut tree = Arguments::command();
        tree.build();
        tree
    }

    /// What is said about words that cannot be read: for a person, and for a program.
    fn said(words: &[&str]) -> (String, Refusal) {
        let words: Vec<OsString> = ["tenure"].iter().chain(words).map(OsString::from).collect();
        let Err(error) = arguments::read(&words) else { panic!("no command") };
        let (error, refusal) = explained(error, &mut tree(), &words);
        (error.to_string(), refusal)
    }

    #[test]
    fn every_command_that_is_suggested_exists_and_no_word_for_it_does() {
        let tree = tree();
        for (words, commands) in MEANT {
            for word in words {
                assert!(tree.find_subcommand(word).is_none(), "{word} is a command itself");
                let rows = MEANT.iter().filter(|(words, _)| words.contains(word));
                assert_eq!(rows.count(), 1, "{word}");
            }
            for command in commands {
                let found = command.split(' ').try_fold(&tree, |at, word| at.find_subcommand(word));
                assert!(found.is_some_and(|found| !found.has_subcommands()), "{command}");
            }
        }
    }

    #[test]
    fn a_word_of_another_tool_is_answered_with_the_command_that_is_meant() {
        for (words, commands) in [
            (&["create", "My title"][..], &["tenure task create"][..]),
            (&["list"], &["tenure task list", "tenure ready"]),
            (&["start", "afc-1"], &["tenure claim"]),
            (&["done"], &["tenure close"]),
            (&["status"], &["tenure next", "tenure show", "tenure stats"]),
            (&["defer", "afc-1"], &["tenure task defer"]),
            (&["--session", "task", "verify"], &["tenure audit verify", "tenure backup verify"]),
            (&["task", "add"], &["tenure task create"]),
            (&["task", "done"], &["tenure close"]),
            (&["task", "claim"], &["tenure claim"]),
            (&["project", "ls"], &["tenure project list"]),
        ] {
            let (text, refusal) = said(words);
            assert_eq!(refusal.next_actions[..commands.len()], *commands, "{words:?}");
            assert_eq!(refusal.next_actions.len(), commands.len() + 1, "{words:?}");
            for command in commands {
                assert!(text.contains(&format!("`{command}`")), "{words:?}: {text}");
            }
        }
        assert_eq!(said(&["session", "new"]).1.next_actions, ["tenure help session"]);
    }

    #[test]
    fn a_slip_of_the_finger_finds_the_commands_that_are_called_so_here_and_elsewhere() {
        for (words, commands) in [
            (&["claims"][..], &["tenure claim"][..]),
            (&["compelte"], &["tenure close", "tenure completion", "tenure note"]),
            (&["craete", "My title"], &["tenure task create"]),
            (&["task", "compelte"], &["tenure close", "tenure note"]),
            (&["project", "craete"], &["tenure project create"]),
            (&["--session", "ada", "session", "shwo"], &["tenure session show"]),
        ] {
            let (text, refusal) = said(words);
            assert_eq!(refusal.next_actions[..refusal.next_actions.len() - 1], *commands, "{words:?}");
            for command in commands {
                assert!(text.contains(&format!("`{command}`")), "{words:?}: {text}");
            }
        }
        assert_eq!(said(&["xyzzy"]).1.next_actions, ["tenure help"]);
    }

    #[test]
    fn a_value_of_another_tool_is_answered_with_the_whole_command_that_is_meant() {
        for (words, command) in [
            (&["wait", "afc-1", "--until", "done"][..], "tenure wait afc-1 --until finished"),
            (
                &["wait", "afc-1", "--until=Closed", "--timeout", "5m"],
                "tenure wait afc-1 --timeout 5m --until finished",
            ),
            (&["task", "list", "--lifecycle", "closed"], "tenure task list --lifecycle done"),
            (
                &["task", "cancel", "a-1", "--reason", "it's", "--resolution", "dup"],
                r"tenure task cancel a-1 --reason 'it'\''s' --resolution duplicate",
            ),
        ] {
            let (text, refusal) = said(words);
            assert_eq!(refusal.next_actions[0], command, "{words:?}");
            assert!(text.contains(&format!("did you mean `{command}`?")), "{text}");
        }
        for words in [&["wait", "a-1", "--until", "xyzzy"][..], &["close", "a-1", "--resolution", "canceled"]]
        {
            assert_eq!(said(words).1.next_actions.len(), 1, "{words:?}: no value of this command is meant");
        }
    }

    #[test]
    fn what_was_typed_is_shown_and_never_sent_to_a_terminal() {
        let hostile = "a\r\u{1b}]52;c;aGVsbG8\u{7}\u{202e}\u{9b}31m\nb";
        let shown = r"a\r\x1b]52;c;aGVsbG8\x07\u{202e}\x9b31m\nb";
        let [inline, option] = ["--until=", "--"].map(|before| format!("{before}{hostile}"));
        for words in [
            &[hostile][..],
            &["wait", "demo-1", "--until", hostile],
            &["wait", "demo-1", &inline],
            &["wait", "demo-1", &option],
            &["project", "create", hostile],
            &["ready", "--limit", hostile],
            &["completion", hostile],
            &["task", "create", "--title", "x", hostile],
        ] {
            let (text, refusal) = said(words);
            let all = format!("{text}{}{:?}", refusal.detail, refusal.next_actions);
            assert_eq!(
                all.chars().find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}'),
                None,
                "{text:?}"
            );
            assert!(text.contains(shown) && refusal.detail.contains(shown), "{words:?}: {text}");
            assert!(
                !refusal.next_actions.iter().any(|step| step.contains(shown)),
                "it cannot be typed again"
            );
        }
    }

    #[test]
    fn a_long_word_is_not_repeated_whole() {
        let long = "x".repeat(100_000);
        for words in [
            &[&*long][..],
            &["project", "create", &long],
            &["ready", "--limit", &long],
            &["call", "a", &long, &long],
        ] {
            let (text, refusal) = said(words);
            assert!(text.len() < 3_000 && refusal.detail.len() < 2_000, "{}: {}", words[0], text.len());
        }
        let title = &long[..500];
        assert!(said(&["task", "create", title]).1.next_actions[0].contains(title), "a title is whole");
    }

    #[test]
    fn a_text_that_begins_with_a_dash_is_repeated_whole_in_the_tip_for_it() {
        for word in ["-flaky", "--flaky"] {
            let (text, _) = said(&["search", word]);
            assert!(text.contains(&format!("to pass '{word}' as a value, use '-- {word}'")), "{text}");
        }
    }

    #[test]
    fn every_value_that_is_suggested_is_taken_and_no_word_for_it_is() {
        fn taken(command: &Command, option: &str, found: &mut Vec<String>) {
            let arguments = command.get_arguments().filter(|argument| argument.get_long() == Some(option));
            let values = arguments.flat_map(clap::Arg::get_possible_values);
            found.extend(values.map(|value| value.get_name().to_owned()));
            command.get_subcommands().for_each(|command| taken(command, option, found));
        }
        for (option, words, value) in MEANT_VALUES {
            let mut values = Vec::new();
            taken(&tree(), option.trim_start_matches('-'), &mut values);
            assert!(values.iter().any(|known| known == value), "{option} {value}");
            assert!(words.iter().all(|word| !values.iter().any(|known| known == word)), "{option} {words:?}");
        }
    }

    #[test]
    fn a_title_without_its_name_is_given_one() {
        let (text, refusal) = said(&["task", "create", "It's mine"]);
        let command = r"tenure task create --title 'It'\''s mine'";
        assert!(text.contains(command), "{text}");
        assert_eq!(refusal.next_actions, [command, "tenure help task create"]);
        assert_eq!(said(&["task", "create", "-t", "one", "two"]).1.next_actions, ["tenure help task create"]);
    }

    #[test]
    fn a_program_is_told_the_argument_and_where_its_help_is() {
        for (words, field, help) in [
            (&["ready", "--limit", "abc"][..], Some("limit"), "tenure help ready"),
            (&["task", "create"], Some("title"), "tenure help task create"),
            (&["task", "cancel", "--reason", "x"], Some("task"), "tenure help task cancel"),
            (&["--session", "ada", "task", "list", "--limt", "3"], Some("limt"), "tenure help task list"),
            (&["hb", "afc-1", "afc-2"], None, "tenure help heartbeat"),
            (&["events", "--newest", "--after", "1-2"], Some("newest"), "tenure help events"),
            (&["nonsense"], None, "tenure help"),
        ] {
            let refusal = said(words).1;
            assert_eq!(refusal.facts.get("field").and_then(|name| name.as_str()), field, "{words:?}");
            assert_eq!(refusal.next_actions.last().map(String::as_str), Some(help), "{words:?}");
            assert!(!refusal.detail.ends_with(':'), "{words:?}: {}", refusal.detail);
        }
    }

    #[test]
    fn a_number_is_told_its_range_and_a_word_what_the_option_takes() {
        for words in
            [&["ready", "--limit", "abc"][..], &["history", "--limit=0"], &["show", "--entries", "1001"]]
        {
            let detail = said(words).1.detail;
            assert!(detail.ends_with("it is a number from 1 to 1000"), "{words:?}: {detail}");
        }
        for (words, takes) in [
            (&["close", "--resolution", "x"][..], "[possible values: done, already_delivered]"),
            (
                &["task", "cancel", "a-1", "--reason", "r", "--resolution", "done"],
                "[possible values: cancelled, rejected, duplicate, superseded, abandoned]",
            ),
        ] {
            let detail = said(words).1.detail;
            assert!(detail.ends_with(takes), "{words:?}: {detail}");
        }
    }
}
