//! A client's questions are not answered from a state older than one that it has heard of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use tenure_core::model::refusal::{Code, Problem, Refusal};
use tenure_core::operation::queue::Ready;

use crate::fake::{self, Reply, claim};

const READY: &str = r#"{"tasks":[],"total":0,"as_of":{"event":"1-1","fleet_time":1},"reasons":{}}"#;

fn ready() -> Ready {
    Ready { project: "afc".parse().expect("valid"), limit: None, cursor: None }
}

/// A reply that is true of the state that ends with an event.
fn true_at(event: &str, status: u16, body: &str) -> Reply {
    let head = format!("HTTP/1.1 {status} x\r\nTenure-Event: {event}\r\nContent-Length: {}", body.len());
    Reply::Raw(format!("{head}\r\n\r\n{body}").into_bytes())
}

fn refusal(event: &str, code: Code) -> Reply {
    let problem = Problem::from(&Refusal::new(code, "no"));
    true_at(event, problem.status, &serde_json::to_string(&problem).expect("serialises"))
}

#[test]
fn a_question_wants_the_newest_event_that_any_answer_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, count| match count {
        1 => true_at("1-7", 200, &fake::claimed("afc-1", 1, request.header("Idempotency-Key"))),
        2 => true_at("1-5", 200, READY),
        3 => refusal("1-9", Code::LeaseHeld),
        4 => true_at("gibberish", 200, READY),
        _ => Reply::Json(200, READY.to_owned()),
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("claimed");
    client.call(&ready(), None).expect("answered");
    client.call(&claim(), Some(&session)).expect_err("refused");
    client.call(&ready(), None).expect("answered");
    client.call(&ready(), Some(&session)).expect("answered");
    client.call(&claim(), Some(&session)).expect_err("this is no claim");
    let requests = requests.lock().expect("not poisoned").clone();
    let wanted: Vec<&str> = requests.iter().map(|request| request.header("Tenure-At-Least")).collect();
    assert_eq!(wanted, ["", "1-7", "", "1-9", "1-9", ""], "questions only, and never an older event");
    assert_eq!(client.newest().map(|event| event.to_string()).as_deref(), Some("1-9"));
}

#[test]
fn a_client_that_goes_to_another_server_takes_along_what_it_knows() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    fake::daemon(folders[0].path(), |_, _| true_at("1-7", 200, READY));
    let requests = fake::daemon(folders[1].path(), |_, _| true_at("1-8", 200, READY));
    let [(one, _), (other, _)] = folders.each_ref().map(|folder| fake::client(folder.path()));
    one.call(&ready(), None).expect("answered");
    other.hear(one.newest());
    other.call(&ready(), None).expect("answered");
    assert_eq!(requests.lock().expect("not poisoned")[0].header("Tenure-At-Least"), "1-7");
}

#[test]
fn a_server_that_is_behind_is_asked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |_, count| match count {
        1 => refusal("1-5", Code::Behind),
        _ => Reply::Json(200, READY.to_owned()),
    });
    let (client, _) = fake::client(folder.path());
    client.hear("1-7".parse().ok());
    client.call(&ready(), None).expect("answered the second time");
    client.get("/api/v1/audit").expect("answered");
    let requests = requests.lock().expect("not poisoned").clone();
    let wanted: Vec<&str> = requests.iter().map(|request| request.header("Tenure-At-Least")).collect();
    assert_eq!(wanted, ["1-7", "1-7", ""], "what the daemon itself is asked wants nothing");
}

#[test]
fn a_refusal_of_the_present_epoch_is_about_something_else_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    // Others go on writing: each answer tells another event.
    fake::daemon(folder.path(), move |_, _| {
        refusal(&format!("2-{}", 3 + count.fetch_add(1, SeqCst)), Code::EpochChanged)
    });
    let (client, _) = fake::client(folder.path());
    for (known, times) in [("1-70", 2), ("2-1", 1)] {
        client.hear(known.parse().ok());
        asked.store(0, SeqCst);
        client.call(&ready(), None).expect_err("a cursor of the question is of another epoch");
        assert_eq!(asked.load(SeqCst), times, "{known}");
    }
}

#[test]
fn after_a_restore_the_present_epoch_is_asked_and_a_store_of_an_earlier_one_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    fake::daemon(folder.path(), move |request, _| {
        count.fetch_add(1, SeqCst);
        match request.header("Tenure-At-Least") {
            "2-3" => true_at("2-4", 200, READY),
            _ => refusal("2-3", Code::EpochChanged),
        }
    });
    let (client, _) = fake::client(folder.path());
    client.hear("1-70".parse().ok());
    client.call(&ready(), None).expect("the present epoch answers");
    assert_eq!(asked.load(SeqCst), 2);
    client.hear("3-1".parse().ok());
    asked.store(0, SeqCst);
    let refused = client.call(&ready(), None).expect_err("it is older than what is known");
    assert_eq!((refused.code(), asked.load(SeqCst)), (Code::EpochChanged, 1));
}
