//! Exports of a real daemon: whoever stops reading holds nothing back, what was cut off never looks whole, and the
//! daemon's memory does not grow with the fleet.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Child;

use rustix::process::Signal;
use serde_json::json;
use tenure_core::model::export::{Seal, read_end};
use tenure_core::model::limits::EXPORTS;
use tenure_engine::store::driver::{Class, Driver};
use tenure_engine::store::sqlite::{Role, Sqlite};
use tenure_sim::agent::{Agent, client};
use tenure_sim::daemon::{Daemon, signal};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::shell::Shell;
use tenure_sim::waiting;

/// How many tasks a fleet has, and how long their descriptions are: too much for what lies between two processes.
const TASKS: usize = 8_000;
const DESCRIPTION_BYTES: usize = 2_000;
/// What a daemon may need at most, whatever it exports.
const RSS_KIB_MAX: u64 = 100_000;

/// A place with a large fleet.
fn large() -> (Place, Daemon) {
    let place = Place::new();
    let daemon = place.daemon();
    let agent = Agent::open(client(place.state()), "ada");
    create_project(&agent);
    let description = "x".repeat(DESCRIPTION_BYTES);
    let line = |number: usize| {
        json!({ "id": format!("t-{number}"), "title": "t", "description": description }).to_string()
    };
    let text: Vec<String> = (0..TASKS).map(line).collect();
    let import = json!({ "project": PROJECT, "format": "beads", "text": text.join("\n") });
    agent.mutate("import.apply", &import).expect("imported");
    (place, daemon)
}

fn shell(place: &Place) -> Shell {
    Shell::new(place.state(), &place.checkout()).named("bob")
}

/// An export of which one line was read, and no more.
struct Stalled {
    child: Child,
    out: BufReader<std::process::ChildStdout>,
    read: String,
}

impl Stalled {
    fn start(shell: &Shell) -> Self {
        let mut child = shell.spawn(&["export", "jsonl"]);
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut read = String::new();
        out.read_line(&mut read).expect("a line");
        assert!(read.contains("tenure-export"), "{read}");
        Self { child, out, read }
    }

    /// Reads what is left, and says how the command ended.
    fn finish(mut self) -> (String, i32, String) {
        self.out.read_to_string(&mut self.read).expect("text");
        let mut said = String::new();
        self.child.stderr.take().expect("it is piped").read_to_string(&mut said).expect("text");
        (self.read, self.child.wait().expect("our child").code().unwrap_or(-1), said)
    }
}

/// Whether a text is an export whose last line vouches for the others.
fn is_whole(text: &str) -> bool {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(end) = lines.pop().and_then(|last| read_end(last.as_bytes())) else { return false };
    let mut seal = Seal::default();
    lines.iter().for_each(|line| seal.add(line.as_bytes()));
    seal.end() == end
}

/// Whether everything in the log beside the database can be moved into it: somebody who still reads an older state holds
/// that back.
fn settles(place: &Place) -> Result<(), Class> {
    let database = place.state().join("tenure.db");
    let mut driver = Sqlite::open(&database, Role::Writer).expect("a store");
    driver.settle().map_err(|error| error.class)
}

#[test]
fn a_reader_that_stops_holds_no_transaction_and_no_more_than_a_few_may_stop() {
    let (place, _daemon) = large();
    let shell = shell(&place);
    let mut stalled = Stalled::start(&shell);
    // Others go on, and what they write finds its way into the database.
    shell.json(&["task", "create", "--project", PROJECT, "--title", "meanwhile"]);
    assert_eq!(settles(&place), Ok(()));
    assert!(stalled.child.try_wait().expect("our child").is_none(), "it still waits for its reader");

    // The search would see one: a question that is open holds the log.
    let mut reader = Sqlite::open(&place.state().join("tenure.db"), Role::Reader).expect("a store");
    reader.begin_read().expect("begun");
    reader.query("SELECT count(*) FROM task", &[], &mut |_| Ok(())).expect("asked");
    shell.json(&["task", "create", "--project", PROJECT, "--title", "more"]);
    assert_eq!(settles(&place), Err(Class::Busy));
    reader.rollback().expect("ended");

    let more: Vec<Stalled> = (1..EXPORTS).map(|_| Stalled::start(&shell)).collect();
    let ran = shell.run(&["export", "jsonl", "--output", "../none.jsonl", "--json"]);
    assert_eq!((ran.code, ran.json()["code"].as_str()), (2, Some("overloaded")), "{}", ran.err);
    let (text, code, said) = stalled.finish();
    assert!(is_whole(&text) && code == 0, "{code}: {said}");
    assert!(!text.contains("meanwhile"), "it is of the state that it began with");
    for stalled in more {
        let (text, code, said) = stalled.finish();
        assert!(is_whole(&text) && code == 0 && text.contains("meanwhile"), "{code}: {said}");
    }
    waiting::until("there is room again", || shell.run(&["export", "jsonl"]).code == 0);
}

#[test]
fn what_a_killed_daemon_was_sending_never_looks_whole() {
    let (place, mut daemon) = large();
    let shell = shell(&place);
    let stalled = Stalled::start(&shell);
    daemon.kill();
    let (text, code, said) = stalled.finish();
    assert_eq!(code, 2, "{said}");
    assert!(!is_whole(&text) && said.contains("cut off"), "{said}");

    // Into a file: stopped while it reads, so that the daemon is killed in the middle.
    let folder = place.folder("exports");
    let files = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).expect("ours").flatten().map(|entry| entry.path()).collect()
    };
    let file = folder.join("e.jsonl");
    let word = file.to_str().expect("text");
    let mut cut = 0;
    for _ in 0..40 {
        let mut daemon = place.daemon();
        let mut child = shell.spawn(&["export", "jsonl", "--output", word, "--replace"]);
        waiting::until("it writes or has ended", || {
            let writes = |path: &PathBuf| path.metadata().is_ok_and(|found| found.len() > 0);
            files(&folder).iter().any(writes) || child.try_wait().expect("our child").is_some()
        });
        signal(child.id(), Signal::STOP);
        daemon.kill();
        signal(child.id(), Signal::CONT);
        let code = child.wait().expect("our child").code();
        match code {
            Some(0) => assert!(is_whole(&std::fs::read_to_string(&file).expect("there"))),
            Some(2) => {
                assert!(
                    files(&folder).iter().all(|path| *path == file),
                    "a draft was left: {:?}",
                    files(&folder)
                );
                assert!(!file.exists() || is_whole(&std::fs::read_to_string(&file).expect("there")));
                cut += 1;
            }
            other => panic!("{other:?}"),
        }
        if cut == 3 {
            return;
        }
    }
    assert!(cut > 0, "no daemon was killed in the middle");
}

#[test]
fn the_memory_of_an_export_does_not_grow_with_the_fleet() {
    let (place, mut imported) = large();
    imported.terminate();
    let daemon = place.daemon();
    let shell = shell(&place);
    let text = shell.run(&["export", "jsonl"]).out;
    assert!(is_whole(&text) && text.len() > TASKS * DESCRIPTION_BYTES);
    let rss = super::imports::rss_kib(daemon.pid());
    eprintln!("{} KiB exported; at most {rss} KiB", text.len() / 1024);
    assert!(rss < RSS_KIB_MAX, "{rss} KiB");
}
