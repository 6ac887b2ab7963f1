//! People at a real terminal, and programs of the same user that would like to pass for one.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::place::{PROGRAM, Place, signal, until};

pub const PASSWORD: &str = "correct horse battery";
const OTHER: &str = "staple of another sort";

/// A program on a terminal of its own, and somebody who reads along and types.
pub struct Talk {
    child: Child,
    keys: ChildStdin,
    screen: Receiver<Vec<u8>>,
    text: String,
    read_up_to: usize,
}

impl Talk {
    /// A line that a shell runs on a new terminal.
    fn of(place: &Place, line: &str) -> Self {
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", line, "/dev/null"]).env_clear();
        command.current_dir(place.checkout());
        command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh").env("HOME", place.root.path());
        command.env("TENURE_STATE_DIR", place.state()).env("TERM", "dumb").env("TENURE_LOG", "trace");
        command.envs(place.variables.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("script is there");
        let keys = child.stdin.take().expect("piped");
        let mut output = child.stdout.take().expect("piped");
        let (shown, screen) = channel();
        std::thread::spawn(move || {
            let mut part = [0; 1024];
            while let Ok(read @ 1..) = output.read(&mut part) {
                if shown.send(part[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keys, screen, text: String::new(), read_up_to: 0 }
    }

    pub fn tenure(place: &Place, words: &str) -> Self {
        match place.entrance() {
            Some(network) => Self::of(place, &format!("/usr/bin/nsenter {network} -- {PROGRAM} {words}")),
            None => Self::of(place, &format!("{PROGRAM} {words}")),
        }
    }

    /// Waits until this is shown and its line has ended, and returns what follows it there.
    pub fn tells(&mut self, wanted: &str) -> String {
        self.shows(wanted);
        let from = self.read_up_to;
        self.shows("\n");
        self.text[from..self.read_up_to].trim().to_owned()
    }

    /// Waits until this has been shown, and returns what follows it in its line.
    pub fn has_told(&mut self, wanted: &str) -> String {
        self.read_up_to = 0;
        self.tells(wanted)
    }

    /// Waits until this is shown, behind what was waited for before.
    pub fn shows(&mut self, wanted: &str) {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(at) = self.text[self.read_up_to..].find(wanted) {
                self.read_up_to += at + wanted.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(part) => self.text.push_str(&String::from_utf8_lossy(&part)),
                Err(_) => panic!("{wanted:?} was never shown: {}", self.text),
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).and_then(|()| self.keys.flush()).expect("written");
    }

    /// Answers each question, and tells what was shown in all, and the exit code.
    pub fn answers(mut self, talk: &[(&str, &str)]) -> (String, i32) {
        for (question, answer) in talk {
            self.shows(question);
            self.types(&format!("{answer}\n"));
        }
        self.ends()
    }

    fn ends(mut self) -> (String, i32) {
        let code = self.child.wait().expect("ends").code().unwrap_or(-1);
        while let Ok(part) = self.screen.recv() {
            self.text.push_str(&String::from_utf8_lossy(&part));
        }
        (self.text, code)
    }
}

/// A place with a finished task, served on a terminal that somebody sits at, and the administrator `ada`.
fn founded() -> (Place, Talk) {
    let place = Place::bound();
    place.task("work", &[]);
    place.ok("worker", &["claim", "afc-1"]);
    place.ok("worker", &["close", "afc-1", "--note", "done"]);
    place.stop();
    let mut server = Talk::tenure(&place, "serve");
    server.shows("account bootstrap NAME");
    let secret = server.tells("one-time secret: ");
    let talk = [("printed: ", secret.as_str()), ("password of ada: ", PASSWORD), ("once more: ", PASSWORD)];
    let (text, code) = Talk::tenure(&place, "account bootstrap ada").answers(&talk);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("ada: administrator, enabled"), "{text}");
    (place, server)
}

/// The commands of this place that run these words, by their processes.
fn processes(place: &Place, words: &[&str]) -> Vec<u32> {
    let wanted: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
    let state = place.state();
    let state = state.as_os_str().as_encoded_bytes();
    let has = |bytes: Vec<u8>, part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    std::fs::read_dir("/proc")
        .expect("there")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            read("cmdline").starts_with(PROGRAM.as_bytes())
                && has(read("cmdline"), &wanted)
                && has(read("environ"), state)
        })
        .collect()
}

/// What a command tells to whom, and its exit code, with the password on its standard input.
fn piped(place: &Place, words: &[&str]) -> (String, Option<i32>) {
    let mut child = place.command("worker", words).stdin(Stdio::piped()).spawn().expect("runs");
    // Whoever never reads it may have ended before it is written.
    let _ = child.stdin.take().expect("piped").write_all(format!("{PASSWORD}\n").as_bytes());
    let output = child.wait_with_output().expect("ends");
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

/// The parts of a text that are long enough to betray it.
fn parts(text: &str) -> Vec<&[u8]> {
    text.as_bytes().windows(8).collect()
}

/// The files below a folder that hold a part of one of these texts.
fn holding(folder: &Path, secrets: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let kind = entry.file_type().expect("there");
        if kind.is_dir() {
            found.extend(holding(&entry.path(), secrets));
        } else if kind.is_file() {
            let bytes = std::fs::read(entry.path()).expect("ours");
            let holds = |secret: &&str| {
                parts(secret).into_iter().any(|part| bytes.windows(part.len()).any(|window| window == part))
            };
            found.extend(
                secrets.iter().filter(|secret| holds(secret)).map(|_| entry.path().display().to_string()),
            );
        }
    }
    found
}

#[test]
fn a_person_acts_with_a_password_that_is_typed_and_nothing_of_it_stays() {
    let (place, _server) = founded();
    let words = "account create bob --role operator --reason joins --as ada";
    let talk = [("`account.create`: ", PASSWORD), ("password of bob: ", OTHER), ("once more: ", OTHER)];
    let (text, code) = Talk::tenure(&place, words).answers(&talk);
    assert_eq!(code, 0, "{text}");
    let reopen = "task reopen afc-1 --reason 'it broke' --as bob";
    let (text, code) = Talk::tenure(&place, reopen).answers(&[("`task.reopen`: ", OTHER)]);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains(OTHER) && !text.contains(PASSWORD), "it is not shown: {text}");
    let events = place.json("worker", &["events", "--newest", "--limit", "1"]);
    let event = &events["events"][0];
    assert_eq!(event["kind"], "task_reopened");
    assert_eq!((&event["actor"]["principal"], &event["data"]["reason"]), (&"bob".into(), &"it broke".into()));

    let table = place.ok("worker", &["events", "--newest", "--limit", "3"]).out;
    assert!(table.contains("bob in person") && table.contains("account_created"), "{table}");

    let mut asking = Talk::tenure(&place, "account password --as bob");
    asking.shows("`account.password`: ");
    asking.types(&format!("{OTHER}\n"));
    asking.shows("password of bob: ");
    let running = processes(&place, &["account", "password"]);
    assert_eq!(running.len(), 1);
    for file in ["environ", "cmdline"] {
        let bytes = std::fs::read(format!("/proc/{}/{file}", running[0])).expect("of this user");
        assert!(
            parts(OTHER).into_iter().all(|part| !bytes.windows(8).any(|window| window == part)),
            "{file}"
        );
    }
    asking.types("\u{3}");
    assert_eq!(asking.ends().1, 130, "an interrupt ends it");
    place.ok("worker", &["backup", "create", "copy"]);
    assert_eq!(holding(place.root.path(), &[PASSWORD, OTHER]), Vec::<String>::new());
    assert_eq!(place.run("worker", &["audit", "verify"]).code, 0);
}

#[test]
fn whoever_is_no_person_at_a_terminal_is_refused() {
    let (place, _server) = founded();
    let words = ["task", "reopen", "afc-1", "--reason", "mine", "--as", "ada"];
    let (told, code) = piped(&place, &words);
    assert_eq!(code, Some(5), "{told}");
    assert!(told.contains("typed by a person"), "{told}");
    let call = ["call", "task.reopen", r#"{"task":"afc-1","reason":"mine"}"#];
    assert_eq!(piped(&place, &call).1, Some(5));
    for name in ["TENURE_PASSWORD", "PASSWORD", "PGPASSWORD", "SUDO_ASKPASS"] {
        let ran = place.command("worker", &words).env(name, PASSWORD).output().expect("runs");
        assert_eq!(ran.status.code(), Some(5), "{name}");
    }
    for option in ["--password", "--password-file", "--new-password"] {
        let ran = place.run("worker", &[&words[..], &[option, PASSWORD]].concat());
        assert_eq!(ran.code, 1, "there is no such option: {option}");
    }
    let events = place.json("worker", &["events", "--limit", "1000"]);
    assert!(!events.to_string().contains("task_reopened"), "nothing was done");
}

#[test]
fn who_owns_the_terminal_and_not_the_password_is_refused_and_recorded() {
    let (place, _server) = founded();
    for (name, password) in [("ada", OTHER), ("nobody", PASSWORD)] {
        let words = format!("task reopen afc-1 --reason mine --as {name}");
        let (text, code) = Talk::tenure(&place, &words).answers(&[("`task.reopen`: ", password)]);
        assert_eq!(code, 5, "{text}");
        assert!(text.contains("authentication_failed"), "{text}");
    }
    until("both are recorded", || {
        let events = place.json("worker", &["events", "--limit", "1000"]).to_string();
        events.matches("\"authentication_refused\"").count() == 2
    });
    assert_eq!(place.run("worker", &["audit", "verify"]).code, 0);
}

#[test]
fn keys_that_were_pressed_before_the_question_are_no_answer() {
    let (place, _server) = founded();
    let line = format!("read ready; {PROGRAM} task reopen afc-1 --reason mine --as ada");
    let mut early = Talk::of(&place, &line);
    // The shell takes the first line; the other one waits in the terminal when the question is asked.
    early.types(&format!("go\n{PASSWORD}\n"));
    early.shows("`task.reopen`: ");
    early.types(&format!("{OTHER}\n"));
    let (text, code) = early.ends();
    assert_eq!(code, 5, "{text}");
}

#[test]
fn a_terminal_shows_again_what_is_typed_however_the_command_ended() {
    let (place, _server) = founded();
    for end in [Signal::TERM, Signal::HUP, Signal::INT, Signal::QUIT] {
        let mut asking = Talk::of(&place, &format!("{PROGRAM} account list --as ada; stty -a"));
        asking.shows("`account.list`: ");
        let running = processes(&place, &["account", "list"]);
        assert_eq!(running.len(), 1);
        signal(running[0], end);
        let (text, _) = asking.ends();
        let words: Vec<&str> = text.split([' ', '\n', ';']).collect();
        assert!(
            words.contains(&"echo") && words.contains(&"icanon") && words.contains(&"isig"),
            "{end:?}: {text}"
        );
    }
}

#[test]
fn the_secret_is_printed_on_a_terminal_alone_and_counts_no_more_afterwards() {
    let (place, server) = founded();
    drop(server);
    place.stop();
    let log = std::fs::read_to_string(place.state().join("daemon.log")).expect("a log");
    assert!(!log.contains("one-time secret"), "{log}");
    let mut again = Talk::tenure(&place, "serve");
    again.shows("ready");
    // waits for the state: whoever asks is answered once the server has said all it says.
    until("it answers", || place.client().info().is_ok());
    place.stop();
    let (text, _) = again.ends();
    assert!(!text.contains("one-time secret"), "{text}");
    let private = Place::bound();
    let talk = [
        ("printed: ", "aaaaa-aaaaa-aaaaa-aaaaa"),
        ("password of eve: ", PASSWORD),
        ("once more: ", PASSWORD),
    ];
    let (text, code) = Talk::tenure(&private, "account bootstrap eve").answers(&talk);
    assert_eq!(code, 5, "{text}");
    assert!(text.contains("tenure serve"), "it says where the secret comes from: {text}");
}

#[test]
fn what_is_typed_never_goes_where_anybody_of_this_machine_could_listen() {
    let place = Place::bound();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a listener of ours");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    for words in ["task reopen afc-1 --reason x --as bob", "account list --as ada", "account bootstrap ada"] {
        let (text, code) = Talk::tenure(&place, &format!("{words} --server {url}")).ends();
        assert_eq!(code, 5, "{text}");
        assert!(text.contains("where others could read it") && !text.contains("assword of"), "{text}");
    }
    assert!(listener.accept().is_err(), "nobody called");
}

#[test]
fn who_starts_a_server_beside_another_hears_that_it_ends() {
    let place = Place::bound();
    let (text, code) = Talk::tenure(&place, "serve").ends();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("serves this folder already") && text.contains("kill "), "{text}");
}
