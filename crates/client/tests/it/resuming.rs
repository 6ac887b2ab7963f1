//! After a crash: what a dead process left uncertain is asked again, once, under its own id.

use std::process::Command;

use serde_json::json;
use tenure_client::session::{Particulars, Session};
use tenure_client::session_file::{Pending, Record};
use tenure_core::model::limits::IMPORT_BYTES;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::Claim;
use tenure_core::operation::session::CloseSession;
use tenure_core::wire::SOCKET;

use crate::fake::{self, Reply};

fn claim() -> Claim {
    Claim { task: None, projects: Vec::new(), another: false, no_recovery: false, wait_ms: None }
}

fn pending(pid: u32, started: u64) -> Pending {
    Pending {
        operation: "claim".to_owned(),
        input: json!({"task": "afc-7"}),
        operation_id: "left-behind".parse().expect("valid"),
        fence: None,
        pid,
        started,
    }
}

/// A process that has ended, and when it had started.
fn dead() -> (u32, u64) {
    let mut child = Command::new("sleep").arg("60").spawn().expect("starts");
    let started = tenure_client::processes::started(child.id()).expect("alive");
    child.kill().expect("killed");
    child.wait().expect("gone");
    (child.id(), started)
}

#[test]
fn what_a_dead_process_left_is_resolved_first_with_its_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, count| {
        let task = if count == 1 { "afc-7" } else { "afc-8" };
        Reply::Json(200, fake::claimed(task, 1, request.header("Idempotency-Key")))
    });
    let (client, told) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let (pid, started) = dead();
    session.file.edit(|record| record.pending.push(pending(pid, started))).expect("stored");
    client.call(&claim(), Some(&session)).expect("answered");
    let requests = requests.lock().expect("not poisoned").clone();
    assert_eq!(requests[0].header("Idempotency-Key"), "left-behind");
    assert_eq!(requests[0].body, r#"{"task":"afc-7"}"#);
    assert_ne!(requests[1].header("Idempotency-Key"), "left-behind");
    assert_eq!(session.held().expect("read").len(), 2, "the lease of the lost claim is known now");
    let told = told.lock().expect("not poisoned").clone();
    assert!(told[0].contains("resolved `claim` on afc-7") && told.len() == 1, "{told:?}");
    assert!(session.file.read().expect("read").expect("there").pending.is_empty());
}

#[test]
fn what_a_living_process_waits_for_is_left_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, _| {
        Reply::Json(200, fake::claimed("afc-8", 1, request.header("Idempotency-Key")))
    });
    let (client, told) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let me = std::process::id();
    let started = tenure_client::processes::started(me).expect("alive");
    session.file.edit(|record| record.pending.push(pending(me, started))).expect("stored");
    client.call(&claim(), Some(&session)).expect("answered");
    assert_eq!(requests.lock().expect("not poisoned").len(), 1);
    assert!(told.lock().expect("not poisoned").is_empty());
    // The same number at another start is another process: this one is dead.
    session.file.edit(|record| record.pending[0].started += 1).expect("stored");
    client.call(&claim(), Some(&session)).expect("answered");
    assert_eq!(requests.lock().expect("not poisoned")[1].header("Idempotency-Key"), "left-behind");
}

#[test]
fn an_uncertain_call_is_asked_again_before_anything_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, count| match count {
        // A call and its three repetitions.
        1..=4 => Reply::Cut,
        _ => Reply::Json(200, fake::claimed("afc-1", 1, request.header("Idempotency-Key"))),
    });
    let (client, told) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    assert_eq!(client.call(&claim(), Some(&session)).expect_err("cut").code(), Code::CannotTell);
    assert_eq!(left(&session), 1);
    client.call(&claim(), Some(&session)).expect("answered");
    assert_eq!(left(&session), 0);
    let requests = requests.lock().expect("not poisoned").clone();
    let key = |index: usize| requests[index].header("Idempotency-Key").to_owned();
    assert_eq!(requests.len(), 6);
    assert!((1..5).all(|index| key(index) == key(0)) && key(5) != key(0));
    assert_eq!(told.lock().expect("not poisoned").len(), 1);
}

#[test]
fn what_surely_did_not_happen_leaves_nothing_to_ask_again() {
    for code in [Code::NothingEligible, Code::Overloaded, Code::SessionClosed] {
        let folder = tempfile::tempdir().expect("a folder");
        fake::daemon(folder.path(), move |_, _| fake::problem(code));
        let (client, _) = fake::client(folder.path());
        let session = fake::session(&client, "alice");
        assert_eq!(client.call(&claim(), Some(&session)).expect_err("refused").code(), code);
        assert_eq!(left(&session), 0, "{code}");
        std::fs::remove_file(folder.path().join(SOCKET)).expect("removed");
        let (unheard, _) = fake::client(folder.path());
        assert_eq!(unheard.call(&claim(), Some(&session)).expect_err("nobody").code(), Code::CannotTell);
        assert_eq!(left(&session), 0, "nobody heard it");
    }
}

fn left(session: &Session) -> usize {
    session.file.read().expect("read").expect("there").pending.len()
}

#[test]
fn nothing_new_is_done_while_something_old_stays_uncertain() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |_, _| Reply::Cut);
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let (pid, started) = dead();
    session.file.edit(|record| record.pending.push(pending(pid, started))).expect("stored");
    assert_eq!(client.call(&claim(), Some(&session)).expect_err("cut").code(), Code::CannotTell);
    let requests = requests.lock().expect("not poisoned").clone();
    assert!(requests.iter().all(|request| request.header("Idempotency-Key") == "left-behind"));
}

#[test]
fn the_largest_request_is_kept_and_what_could_not_be_read_again_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |_, _| Reply::Cut);
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let large = |bytes| {
        let input = json!({ "text": "x".repeat(bytes) });
        session.file.edit(|record| record.pending.push(Pending { input, ..pending(0, 0) }))
    };
    large(IMPORT_BYTES).expect("stored");
    assert_eq!(left(&session), 1);
    let failure = large(4 * IMPORT_BYTES).expect_err("too much");
    assert!(failure.to_string().contains("too much is on its way"), "{failure}");
    assert_eq!(left(&session), 1);
}

#[test]
fn a_record_of_any_length_is_read_whole_after_records_of_any_length() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |_, _| Reply::Cut);
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    // The longest do not fit beside another one, those in between do not fit into what is read first.
    for length in [10, 3_000, 4_000, 5_000, 20_000, 40, 90_000, 7] {
        for _ in 0..3 {
            let text = "x".repeat(length);
            let pending = Pending { input: json!({ "text": text }), ..pending(0, 0) };
            session.file.edit(|record| record.pending = vec![pending]).expect("written");
            let found = session.file.read().expect("readable").expect("there");
            assert_eq!(found.pending[0].input["text"], text, "{length}");
        }
    }
}

#[test]
fn a_session_whose_file_holds_another_one_by_now_touches_nothing_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, _| {
        Reply::Json(200, fake::claimed("afc-7", 1, request.header("Idempotency-Key")))
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let mut other = Record::draw("f", &session.name, None);
    other.pending.push(pending(0, 0));
    session.file.update(|_| Ok((Some(other.clone()), ()))).expect("written");
    let failure = client.call(&claim(), Some(&session)).expect_err("another session's");
    assert!(failure.to_string().contains("another session's"), "{failure}");
    let kept = session.file.read().expect("read").expect("there");
    assert_eq!((kept.session, kept.pending), (other.session, other.pending));
    assert!(requests.lock().expect("not poisoned").is_empty(), "nothing was sent in its name");
}

#[test]
fn a_closed_session_is_forgotten_and_the_next_one_is_another() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |_, _| {
        Reply::Json(200, r#"{"session":{"id":"00000000000000000000000000000000","name":"alice","handle":"acorn-acorn-acorn-acorn-acorn","open":false,"present":false,"opened_at":1,"holds":[]},"epoch":1}"#.to_owned())
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&CloseSession {}, Some(&session)).expect("closed");
    assert_ne!(fake::session(&client, "alice").id, session.id);
}

#[test]
fn a_file_that_cannot_be_read_is_never_replaced_in_silence() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |_, _| Reply::Cut);
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    for (left, why) in
        [("", "no whole record"), ("{\"v\":1,", "no whole record"), ("{\"v\":1,\n", "cannot be read")]
    {
        std::fs::write(session.file.path(), left).expect("written");
        let failure = client.call(&claim(), Some(&session)).expect_err("unreadable");
        assert!(failure.to_string().contains(why), "{failure}");
        assert_eq!(std::fs::read_to_string(session.file.path()).expect("there"), left);
    }
}

#[test]
fn an_old_secret_survives_a_refusal_and_proves_the_right_to_the_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let refuses = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let refusing = refuses.clone();
    let requests = fake::daemon_opening(folder.path(), move |_, _| {
        match refusing.load(std::sync::atomic::Ordering::SeqCst) {
            true => fake::problem(Code::NameInUse),
            false => Reply::Json(200, fake::SESSION.to_owned()),
        }
    });
    let (client, _) = fake::client(folder.path());
    refuses.store(false, std::sync::atomic::Ordering::SeqCst);
    let old = fake::session(&client, "alice");
    refuses.store(true, std::sync::atomic::Ordering::SeqCst);
    let anew = || {
        let particulars = Particulars { instead_of: Some(old.id.clone()), ..Particulars::default() };
        Session::open(&client, &fake::identity("alice"), &particulars)
    };
    assert_eq!(anew().expect_err("refused").code(), Code::NameInUse);
    assert_eq!(old.file.read().expect("read").expect("there").session, old.id);
    refuses.store(false, std::sync::atomic::Ordering::SeqCst);
    let new = anew().expect("opens");
    assert_eq!(old.file.read().expect("read").expect("there").session, new.id);
    assert_eq!(anew().expect("somebody else opened the next one").id, new.id);
    let requests = requests.lock().expect("not poisoned");
    let last = requests.last().expect("asked");
    assert_eq!(last.header(tenure_core::wire::SESSION), old.id.as_str());
    assert!(last.body.contains(new.id.as_str()), "{}", last.body);
}

#[test]
fn a_parent_whose_file_lies_here_vouches_for_the_session_that_it_starts() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon_opening(folder.path(), |_, _| Reply::Json(200, fake::SESSION.to_owned()));
    let (client, _) = fake::client(folder.path());
    // The daemon says of every session that its name is `a`.
    let parent = fake::session(&client, "a");
    let open = |name: &str, parent: &tenure_core::model::ids::SessionId| {
        let particulars = Particulars { parent: Some(parent.clone()), ..Particulars::default() };
        Session::open(&client, &fake::identity(name), &particulars).expect("opens")
    };
    let child = open("b", &parent.id);
    let elsewhere: tenure_core::model::ids::SessionId = "e".repeat(32).parse().expect("an id");
    let alone = open("c", &elsewhere);
    let requests = requests.lock().expect("not poisoned");
    let proofs: Vec<(&str, &str)> = requests
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| (request.header(tenure_core::wire::SESSION), request.body.as_str()))
        .collect();
    assert_eq!(proofs[1].0, parent.id.as_str(), "the parent proves it");
    assert!(proofs[1].1.contains(child.id.as_str()) && proofs[1].1.contains(parent.id.as_str()));
    assert_eq!(proofs[2].0, alone.id.as_str(), "nobody here can prove to be that parent");
}
