//! Every answer tells of which state it is, and a question may want a state that has an event.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tenure_core::model::limits::AT_LEAST_MS;

use crate::daemon::{Served, served, served_with_a_task};
use crate::wire::{Answer, PROOF, Request, SESSION, get, mutation};

const EVENT: &str = "tenure-event";
const AT_LEAST: &str = "Tenure-At-Least";

/// The number of the event that an answer tells.
fn told(answer: &Answer) -> u64 {
    let event = answer.header(EVENT).unwrap_or_else(|| panic!("no event with {}", answer.body));
    event.strip_prefix("1-").and_then(|number| number.parse().ok()).expect("EPOCH-NUMBER")
}

fn create() -> Request {
    mutation("POST", "/api/v1/tasks", r#"{"project":"afc","title":"another"}"#)
}

fn list(at_least: &str) -> Request {
    get("/api/v1/tasks?project=afc").header(AT_LEAST, at_least)
}

fn later(served: &Served, request: Request) -> JoinHandle<Answer> {
    let socket = served.socket.clone();
    std::thread::spawn(move || request.send(&socket))
}

#[test]
fn an_answer_tells_the_last_event_of_its_state_whatever_it_says() {
    let served = served_with_a_task();
    let before = told(&served.ask(&list("1-0")));
    let created = served.ask(&create().key("once"));
    assert_eq!((created.status, told(&created)), (200, before + 1), "the commit that holds it");
    let listed = served.ask(&list("1-0"));
    assert_eq!(told(&listed), before + 1);
    assert_eq!(listed.value()["as_of"]["event"], format!("1-{}", before + 1), "as the answer itself says");
    served.ask(&create());
    let again = served.ask(&create().key("once"));
    assert_eq!((again.status, told(&again)), (200, before + 2), "its receipt stands there");
    let refused = served.ask(&mutation("POST", "/api/v1/tasks/afc-9/release", "{}"));
    assert_eq!((refused.status, told(&refused)), (404, before + 2), "a refusal is true of a state, too");
    let refused = served.ask(&get("/api/v1/tasks/afc-9"));
    assert_eq!((refused.status, told(&refused)), (404, before + 2));
    let unread = served.ask(&mutation("POST", "/api/v1/tasks", "{}"));
    assert_eq!((unread.status, unread.header(EVENT)), (400, None), "no state was looked at");
}

#[test]
fn a_question_waits_for_an_event_that_is_not_there_yet() {
    let served = served_with_a_task();
    let next = told(&served.ask(&list("1-0"))) + 1;
    let waiting = later(&served, list(&format!("1-{next}")));
    // Whether it looks before or after, it is answered from a state that has the task.
    let created = served.ask(&create());
    assert_eq!(told(&created), next);
    let answer = waiting.join().expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!((told(&answer), answer.value()["tasks"].as_array().map(Vec::len)), (next, Some(2)));
}

#[test]
fn a_question_hears_that_the_event_does_not_come_and_is_answered_once_it_is_there() {
    let served = served_with_a_task();
    let next = told(&served.ask(&list("1-0"))) + 1;
    let wanted = list(&format!("1-{next}"));
    let begun = Instant::now();
    let refused = served.ask(&wanted);
    assert_eq!((refused.status, refused.code().as_str()), (503, "behind"), "{}", refused.body);
    assert!(begun.elapsed() >= Duration::from_millis(AT_LEAST_MS), "it was waited for");
    assert_eq!((told(&refused), refused.header("retry-after")), (next - 1, Some("1")));
    let problem = refused.value();
    assert_eq!(problem["retryable"], true);
    assert_eq!(problem["facts"]["event"], format!("1-{}", next - 1));
    assert_eq!(problem["facts"]["at_least"], format!("1-{next}"));
    served.ask(&create());
    assert_eq!(served.ask(&wanted).status, 200);
}

#[test]
fn an_event_of_another_epoch_is_refused_as_such_and_at_once() {
    let served = served_with_a_task();
    for wanted in ["2-1", "0-1"] {
        let refused = served.ask(&list(wanted));
        assert_eq!((refused.status, refused.code().as_str()), (409, "epoch_changed"), "{}", refused.body);
        assert!(told(&refused) > 0);
        assert_eq!(refused.value()["facts"]["at_least"], wanted);
    }
}

#[test]
fn a_malformed_event_is_refused_by_the_name_of_its_header_and_its_form() {
    let served = served();
    let huge = "9".repeat(5_000);
    let absurd = format!("1-{}", u64::MAX);
    for wrong in ["", "7", "1-", "-7", "1-7-7", "1-x", "1--7", "01-7", "1-+7", "1 - 7", &absurd, &huge] {
        let refused = served.ask(&list(wrong));
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_input"), "{wrong:?}");
        assert!(refused.body.contains(AT_LEAST), "{wrong:?}: {}", refused.body);
        assert!(refused.body.contains("EPOCH-NUMBER") && refused.body.len() < 1_000, "{}", refused.body);
    }
    let twice = served.ask(&list("1-0").header(AT_LEAST, "1-1"));
    assert!(twice.status == 400 && twice.body.contains("is given twice"), "{}", twice.body);
    assert_eq!(served.ask(&list("1-1")).code(), "not_found", "there is no project");
}

#[test]
fn every_kind_of_question_may_want_an_event_and_a_change_needs_none() {
    let served = served_with_a_task();
    let preview =
        mutation("POST", "/api/v1/imports/preview", r#"{"project":"afc","format":"beads","text":""}"#);
    let wait = get("/api/v1/wait?projects=afc&wait_ms=1").header("Tenure-Session", SESSION);
    for question in [preview.without("Idempotency-Key"), wait.header("Tenure-Proof", PROOF)] {
        let refused = served.ask(&question.header(AT_LEAST, "7-7"));
        assert_eq!(refused.code(), "epoch_changed", "{}", refused.body);
    }
    let follow = get("/api/v1/events").as_it_happens().header(AT_LEAST, "7-7");
    let refused = served.ask(&follow);
    assert_eq!((refused.code().as_str(), told(&refused) > 0), ("epoch_changed", true), "{}", refused.body);
    assert_eq!(
        served.ask(&create().header(AT_LEAST, "7-7")).status,
        200,
        "it is decided on the newest state"
    );
}
