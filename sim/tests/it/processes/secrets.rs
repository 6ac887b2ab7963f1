//! Invariant 12: a session's secret is in its own file and nowhere else, and what is derived from it (the session's
//! proof, the lease tokens) is written nowhere at all, however much is logged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use tenure_core::model::ids::OperationId;
use tenure_core::secret::SessionSecret;
use tenure_sim::agent::{Agent, client};
use tenure_sim::daemon::Daemon;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::shell::Shell;
use tenure_sim::store;

/// Everything that must not be found, by what it is.
type Secrets = BTreeMap<String, [u8; 32]>;

/// All files below a folder, with their bytes.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is the test's").flatten() {
        let kind = entry.file_type().expect("it is there");
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push((entry.path(), std::fs::read(entry.path()).expect("it is ours")));
        }
    }
    found
}

/// Whether the bytes hold a secret: as hexadecimal digits, large or small, or as it is.
fn holds(bytes: &[u8], secret: &[u8; 32]) -> bool {
    let small: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let forms = [small.as_bytes().to_vec(), small.to_uppercase().into_bytes(), secret.to_vec()];
    forms.iter().any(|form| bytes.windows(form.len()).any(|window| window == form))
}

fn bytes_of(hex: &str) -> [u8; 32] {
    hex.parse::<tenure_core::model::ids::Digest>().expect("64 hexadecimal digits").0
}

#[test]
fn no_secret_is_anywhere_but_in_its_own_session_s_file() {
    let place = Place::new();
    let mut daemon = Daemon::start(place.state(), &[], &[("TENURE_LOG", "trace")]);
    let agent = Agent::open(client(place.state()), "ada");
    let mut claims: Vec<(String, OperationId)> = Vec::new();
    let mut claimed = |name: &str, answer: &serde_json::Value| {
        let id = answer["claim_operation"].as_str().expect("a claim names its operation").parse();
        claims.push((name.to_owned(), id.expect("an operation id")));
    };

    // A whole story, with refusals, by the library and by commands.
    let done = |operation: &str, input| agent.mutate(operation, &input).expect("it is done");
    done("project.create", json!({ "key": PROJECT }));
    for title in ["one", "two", "three"] {
        done("task.create", json!({ "project": PROJECT, "title": title }));
    }
    claimed("ada", &done("claim", json!({ "task": "afc-1" })));
    done("heartbeat", json!({ "task": "afc-1" }));
    done("note", json!({ "task": "afc-1", "text": "so far" }));
    done("checkpoint", json!({ "task": "afc-1", "text": "half" }));
    done("handoff", json!({ "task": "afc-1", "text": "the rest" }));
    claimed("ada", &done("claim", json!({ "task": "afc-2" })));
    let shell = Shell::new(place.state(), &place.checkout());
    let bob = shell.named("bob");
    claimed("bob", &bob.json(&["claim", "afc-1"]));
    let mut outputs = vec![bob.run(&["claim", "afc-2"]), bob.run(&["close", "afc-2"])];
    agent.mutate("close", &json!({ "task": "afc-1" })).expect_err("ada no longer holds it");
    for words in [
        &["close", "afc-1"][..],
        &["session", "list", "--json"],
        &["session", "list"],
        &["session", "show", "--json"],
        &["events", "--limit", "1000", "--json"],
        &["show", "afc-1", "--entries", "10", "--json"],
        &["attempts", "afc-1", "--json"],
        &["history", "afc-1", "--json"],
        &["next", "--project", PROJECT, "--json"],
        &["stats", "--json"],
        &["doctor", "--json"],
        &["config", "show", "--json"],
        &["audit", "verify", "--json"],
        &["backup", "create", "../backup.db", "--json"],
        &["export", "jsonl"],
        &["export", "jsonl", "--output", "../export.jsonl", "--json"],
    ] {
        outputs.push(bob.run(words));
    }
    store::verify(&agent.client);

    let mut secrets = Secrets::new();
    let mut hashes = Vec::new();
    let sessions = place.state().join("sessions");
    let mut own_files = 0;
    for (path, bytes) in
        files(&sessions).into_iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "json"))
    {
        let text = std::str::from_utf8(&bytes).expect("a session's file is text");
        let last = text.lines().last().expect("a record");
        let record: serde_json::Value = serde_json::from_str(last).expect("which is JSON");
        let (name, hex) =
            (record["name"].as_str().expect("a name"), record["secret"].as_str().expect("a secret"));
        let secret = SessionSecret::from_hex(hex).expect("a secret");
        secrets.insert(format!("the proof of {name}"), bytes_of(&secret.session_proof().to_wire()));
        hashes.push(secret.session_proof().hash().0);
        for (holder, claim) in claims.iter().filter(|(holder, _)| holder == name) {
            let token = secret.lease_token(claim);
            secrets.insert(format!("the token of {holder} by {claim}"), bytes_of(&token.to_wire()));
            hashes.push(token.hash().0);
        }
        secrets.insert(format!("the secret of {name}"), bytes_of(hex));
        assert!(holds(&bytes, &bytes_of(hex)), "the search finds what is there");
        own_files += 1;
        let of_others = secrets.iter().filter(|(what, _)| **what != format!("the secret of {name}"));
        for (what, secret) in of_others {
            assert!(!holds(&bytes, secret), "{what} is in {}", path.display());
        }
    }
    assert_eq!((own_files, secrets.len()), (2, 2 + 2 + 3), "both sessions and all three claims");

    let environment = std::fs::read(format!("/proc/{}/environ", daemon.pid())).expect("it is our child");
    let mut searched = 0;
    let mut everything: Vec<(PathBuf, Vec<u8>)> =
        files(place.root()).into_iter().filter(|(path, _)| !path.starts_with(&sessions)).collect();
    everything.push(("the daemon's environment".into(), environment));
    for (index, output) in outputs.iter().enumerate() {
        everything.push((format!("output {index}").into(), output.out.clone().into_bytes()));
        everything.push((format!("talk {index}").into(), output.err.clone().into_bytes()));
    }
    daemon.terminate();
    everything.extend(files(place.root()).into_iter().filter(|(path, _)| !path.starts_with(&sessions)));
    for (path, bytes) in &everything {
        searched += bytes.len();
        for (what, secret) in &secrets {
            assert!(!holds(bytes, secret), "{what} is in {}", path.display());
        }
    }
    // The search reaches what the store keeps: the hashes of these very secrets.
    let store = |(path, _): &&(PathBuf, Vec<u8>)| path.to_string_lossy().contains("tenure.db");
    for hash in &hashes {
        assert!(everything.iter().filter(store).any(|(_, bytes)| holds(bytes, hash)), "the search is blind");
    }
    // What is kept of secrets stays there: an export leaves the store.
    let export = std::fs::read(place.root().join("export.jsonl")).expect("it was written");
    assert!(export.starts_with(b"{\"record\":\"header\"") && !hashes.iter().any(|hash| holds(&export, hash)));
    let claims: Vec<&str> = claims.iter().map(|(_, claim)| claim.as_str()).collect();
    let text = String::from_utf8_lossy(&export);
    assert!(text.contains("\"record\":\"attempt\"") && !claims.iter().any(|claim| text.contains(claim)));
    let log = std::fs::read_to_string(place.state().join("daemon.log")).expect("a log");
    assert!(log.contains("\"level\":\"DEBUG\""), "the log was meant to tell everything");
    eprintln!("{} secrets, {} places, {searched} bytes searched", secrets.len(), everything.len());
}
