//! Hostile exports of another tracker: the reader never panics, an error names its line, a preview says what applying
//! then does, applying again creates nothing, and the daemon's memory stays where it was.

use std::path::Path;

use serde_json::json;
use tenure_core::import::beads;
use tenure_sim::agent::{Agent, client};
use tenure_sim::fuzz::{examples, try_for_a_while};
use tenure_sim::place::Place;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/fuzz/import");
const REAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/beads/tiny.jsonl");
/// An input has at most 64 KiB; what the daemon needs for it is bounded, whatever stands in it.
const RSS_KIB_MAX: u64 = 400_000;

/// The most memory that a process ever had, in KiB.
pub fn rss_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line of memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn hostile_exports_are_read_as_they_were_previewed_or_refused_by_line() {
    let place = Place::new();
    let daemon = place.daemon();
    let agent = Agent::open(client(place.state()), "ada");
    let mut corpus = examples(Path::new(CORPUS));
    corpus.push(std::fs::read(REAL).expect("a real export"));
    let (mut number, mut applied, mut refused) = (0, 0, 0);
    let tried = try_for_a_while(&corpus, |input| {
        let text = String::from_utf8_lossy(input);
        let read = beads::read(&text);
        assert_eq!(read, beads::read(&text), "it reads otherwise the second time");
        if let Err(refusal) = &read {
            assert!(refusal.detail.starts_with("line "), "{}", refusal.detail);
        }
        // Asking a daemon takes longer than reading, so it is asked for a part of them only.
        number += 1;
        if number % 8 == 0 || number <= corpus.len() {
            let project = format!("p{number}");
            agent.mutate("project.create", &json!({ "key": project })).expect("created");
            let import = json!({ "project": project, "format": "beads", "text": text });
            let before = tenure_sim::store::as_of(&agent.client).event;
            let preview = agent.mutate("import.preview", &import);
            assert_eq!(tenure_sim::store::as_of(&agent.client).event, before, "a preview changed something");
            match (preview, agent.mutate("import.apply", &import)) {
                (Ok(preview), Ok(done)) => {
                    assert_eq!(preview["report"], done["report"], "the preview said something else");
                    let again = agent.mutate("import.apply", &import).expect("applied before");
                    assert_eq!(again["report"]["created"], 0);
                    applied += 1;
                }
                (Err(preview), Err(done)) => {
                    assert_eq!(preview.to_string(), done.to_string());
                    assert_eq!(tenure_sim::store::as_of(&agent.client).event, before);
                    refused += 1;
                }
                (preview, done) => panic!("{preview:?}, and then {done:?}"),
            }
        }
    });
    let rss = rss_kib(daemon.pid());
    eprintln!("{tried} exports read, {applied} applied, {refused} refused; at most {rss} KiB");
    assert!(applied > 3 && refused > 1, "too quiet to prove anything");
    assert!(rss < RSS_KIB_MAX, "{rss} KiB");
}
