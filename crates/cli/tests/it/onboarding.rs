//! What agents are told: the section in the files that they read first, and the instructions, which an agent that knows
//! nothing else can follow.

use crate::place::{Place, Ran};

/// Fills in the words in capitals, as an agent does that has just seen what was printed.
fn filled(line: &str, task: &str) -> String {
    let commit = "1a2b3c4d".repeat(5);
    [
        ("TASK", task),
        ("BRANCH", "header"),
        ("COMMIT", &commit),
        ("DONE AND LEFT", "the reader is done, the tests are left"),
        ("OUTCOME", "both formats are read"),
        ("HOW IT IS MET", "there is a test"),
        ("WHAT IS DONE AND WHAT IS LEFT", "nothing works yet"),
    ]
    .iter()
    .fold(line.to_owned(), |line, (word, value)| line.replace(word, value))
}

/// The words of a line, as a shell reads them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), String::new(), false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            _ => word.push(letter),
        }
    }
    words.push(word);
    words
}

/// An agent that is given the text alone: it types the lines of each step in turn, and what stands behind an "If" only
/// when the step before it could not be done.
struct Agent<'a> {
    place: &'a Place,
    task: String,
    typed: Vec<String>,
}

impl Agent<'_> {
    fn follow(&mut self, text: &str, cannot_finish: bool) {
        let the_loop = text.split("## ").find(|part| part.starts_with("The loop")).expect("a loop");
        let mut is_condition = false;
        for line in the_loop.lines() {
            if line.trim_start().starts_with("If ") {
                is_condition = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit()) {
                is_condition = false;
            }
            let Some(command) =
                line.trim_start().strip_prefix("tenure ").filter(|_| line.starts_with("    "))
            else {
                continue;
            };
            if is_condition == cannot_finish || !(is_condition || command.starts_with("close")) {
                self.run(command);
            }
        }
    }

    fn run(&mut self, command: &str) {
        let words = words(&filled(command, &self.task));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Ran { code, out, err } = self.place.run("fay", &words);
        assert_eq!(code, 0, "{words:?}: {out}{err}");
        if let Some(claimed) = out.strip_prefix("claimed: ") {
            self.task = claimed.split('@').next().expect("a task").to_owned();
        }
        self.typed.push(words[0].to_owned());
    }
}

#[test]
fn an_agent_that_is_given_only_the_instructions_completes_the_loop() {
    let place = Place::bound();
    let first = place.task("Read both headers", &["--criterion", "old files still load"]);
    let second = place.task("Write the new header", &["--criterion", "it is smaller"]);
    let text = place.ok("fay", &["instructions"]).out;
    let mut agent = Agent { place: &place, task: String::new(), typed: Vec::new() };
    agent.follow(&text, false);
    assert_eq!(agent.typed, ["next", "claim", "heartbeat", "checkpoint", "close"]);
    assert_eq!(place.json("ada", &["show", &first])["task"]["status"], "done");
    agent.typed.clear();
    agent.follow(&text, true);
    assert_eq!(agent.typed, ["next", "claim", "heartbeat", "checkpoint", "handoff"]);
    let left = place.ok("ada", &["history", &second]).out;
    assert!(left.contains("nothing works yet"), "{left}");
}

#[test]
fn every_command_that_the_instructions_name_is_one() {
    let place = Place::new();
    let text = place.ok("fay", &["instructions"]).out;
    for code in text.split('`').skip(1).step_by(2) {
        let Some(command) = code.strip_prefix("tenure ") else { continue };
        let words: Vec<&str> =
            command.split(' ').take_while(|word| word.bytes().all(|b| b.is_ascii_lowercase())).collect();
        if !words.is_empty() {
            place.ok("", &[&words[..], &["--help"]].concat());
        }
    }
}

#[test]
fn the_section_is_put_into_files_once_and_checked() {
    let place = Place::new();
    let file = |name: &str| place.checkout().join(name);
    std::fs::write(file("AGENTS.md"), "# Ours\n\nRules of ours.\n").expect("written");
    std::os::unix::fs::symlink("AGENTS.md", file("CLAUDE.md")).expect("linked");
    let into = ["onboard", "--into", "AGENTS.md", "--into", "GEMINI.md"];
    let missing = place.run("", &[&into[..], &["--check"]].concat());
    assert_eq!(missing.code, 10, "{}{}", missing.out, missing.err);
    assert!(!file("GEMINI.md").exists(), "a check changes nothing");
    let first = place.json("", &into);
    assert_eq!(
        (&first["files"][0]["became"], &first["files"][1]["became"]),
        (&"updated".into(), &"created".into())
    );
    let text = std::fs::read_to_string(file("AGENTS.md")).expect("read");
    let section = place.ok("", &["onboard"]).out;
    assert_eq!(text, format!("# Ours\n\nRules of ours.\n\n{section}"));
    let again = place.json("", &["onboard", "--into", "AGENTS.md", "--into", "CLAUDE.md"]);
    assert_eq!(
        (&again["files"][0]["became"], &again["files"][1]["became"]),
        (&"unchanged".into(), &"unchanged".into())
    );
    assert!(file("CLAUDE.md").symlink_metadata().expect("there").is_symlink(), "a link stays one");
    place.ok("", &[&into[..], &["--check"]].concat());
}

#[test]
fn a_file_that_cannot_hold_the_section_is_left_as_it_is_and_so_are_the_others() {
    let place = Place::new();
    let file = |name: &str| place.checkout().join(name);
    std::fs::write(file("AGENTS.md"), "# Ours\n").expect("written");
    std::fs::write(file("bytes"), [0xff, 0xfe]).expect("written");
    std::fs::write(file("half"), "<!-- tenure: end -->\n").expect("written");
    for (other, exit, told) in [
        ("bytes", 1, "no UTF-8 text"),
        ("half", 1, "not one pair of the markers"),
        ("no/such/folder/AGENTS.md", 2, "in a folder that is there"),
        (".", 2, "cannot read"),
    ] {
        let refused = place.run("", &["onboard", "--into", "AGENTS.md", "--into", other]);
        assert_eq!(refused.code, exit, "{other}: {}{}", refused.out, refused.err);
        assert!(refused.err.contains(told), "{other}: {}", refused.err);
        assert_eq!(std::fs::read_to_string(file("AGENTS.md")).expect("read"), "# Ours\n");
    }
}
