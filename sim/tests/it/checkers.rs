//! The judges themselves, on histories that are known to be good and known to be bad.

use std::panic::catch_unwind;

use serde_json::{Value, json};
use tenure_core::model::event::Event;
use tenure_sim::log::{Call, End};
use tenure_sim::ownership::play;
use tenure_sim::recount::{nobody_beside_an_owner, one_effect_per_operation};

/// An event by a session on a task, in its place.
fn event(number: u64, kind: &str, session: &str, attempt: &str, operation: &str) -> Value {
    json!({
        "v": 1, "number": number, "epoch": 1, "fleet_time": number * 10, "wall_time": 1, "kind": kind,
        "actor": { "principal": session, "session": session.repeat(32), "operation": operation },
        "task": attempt.split('@').next(), "attempt": attempt,
    })
}

fn events(list: &[Value]) -> Vec<Event> {
    list.iter().map(|event| serde_json::from_value(event.clone()).expect("an event")).collect()
}

fn good() -> Vec<Value> {
    vec![
        event(1, "task_claimed", "a", "afc-1@1", "o1"),
        event(2, "task_released", "a", "afc-1@1", "o2"),
        event(3, "task_claimed", "b", "afc-1@2", "o3"),
        event(4, "lease_expired", "c", "afc-1@2", "o4"),
        event(5, "task_claimed", "c", "afc-1@3", "o4"),
        event(6, "task_closed", "c", "afc-1@3", "o5"),
    ]
}

#[test]
fn a_good_record_is_accepted_and_each_kind_of_bad_one_is_not() {
    let played = play(&events(&good()));
    assert_eq!(played.values().map(Vec::len).sum::<usize>(), 3);
    type Spoil = fn(&mut Vec<Value>);
    let bad: [(&str, Spoil); 7] = [
        ("a second owner", |list| list[1] = event(2, "note_recorded", "a", "afc-1@1", "o2")),
        ("a generation that is skipped", |list| list[2] = event(3, "task_claimed", "b", "afc-1@3", "o3")),
        ("a generation that is given twice", |list| list[2] = event(3, "task_claimed", "b", "afc-1@1", "o3")),
        ("an event that is missing", |list| drop(list.remove(1))),
        ("time that runs back", |list| list[3]["fleet_time"] = 5.into()),
        ("an end by somebody else", |list| list[1] = event(2, "task_released", "b", "afc-1@1", "o2")),
        ("an attempt that ends twice", |list| list.push(event(7, "task_released", "c", "afc-1@3", "o6"))),
    ];
    for (what, spoil) in bad {
        let mut list = good();
        spoil(&mut list);
        let list = events(&list);
        assert!(catch_unwind(|| play(&list)).is_err(), "{what} was not seen");
    }
}

#[test]
fn an_operation_that_had_its_effect_twice_is_seen() {
    one_effect_per_operation(&events(&good()));
    let mut later = good();
    later.push(event(7, "note_recorded", "a", "afc-1@1", "o1"));
    let mut twice = good();
    twice.insert(1, event(2, "task_claimed", "a", "afc-1@1", "o1"));
    for list in [later, twice] {
        let list = events(&list);
        assert!(catch_unwind(|| one_effect_per_operation(&list)).is_err());
    }
}

fn call(agent: &str, operation: &str, invoked: i64, answer: Value) -> Call {
    let input = json!({ "task": "afc-1" });
    let returned = Some(invoked + 5);
    Call {
        agent: agent.to_owned(),
        operation: operation.to_owned(),
        input,
        invoked,
        returned,
        end: End::Ok { answer },
    }
}

#[test]
fn two_owners_at_a_time_are_seen_from_the_clients_alone() {
    let claim = |agent: &str, at, attempt: &str| call(agent, "claim", at, json!({ "attempt": attempt }));
    let good = [
        claim("a", 10, "afc-1@1"),
        claim("a", 20, "afc-1@1"),
        call("a", "release", 30, json!({})),
        claim("b", 31, "afc-1@2"),
    ];
    nobody_beside_an_owner(&good);
    let beside = [good[0].clone(), claim("b", 20, "afc-1@2"), good[2].clone()];
    assert!(catch_unwind(|| nobody_beside_an_owner(&beside)).is_err());
}
