//! Readiness on every surface equals the naive oracle, on random graphs that random commands made.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::Code;
use tenure_core::model::task::{Priority, Rank};
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::queue::{Explain, Explanation, Next, NextStep, Ready, ReadyList};
use tenure_core::operation::record::RecordOverdue;

use crate::oracle::Oracle;
use crate::random::Random;
use crate::world::{Agent, World, from};

/// How many graphs each of the four runs below looks at.
const GRAPHS: u64 = 2_500;

const LEASE_MS: i64 = 600_000;

/// Builds a graph by random commands; refused ones leave nothing behind.
fn build(random: &mut Random) -> (World, Agent) {
    let (mut world, agent) = World::with_project();
    let tasks = 3 + random.below(8);
    for number in 0..tasks {
        let pick = |random: &mut Random| format!("p-{}", 1 + random.below(number.max(1)));
        let mut create =
            json!({ "project": "p", "title": format!("t{number}"), "priority": random.below(5) });
        if number > 0 && random.once_in(2) {
            create["parents"] = json!([pick(random)]);
            if random.once_in(4) {
                create["parents"] = json!([pick(random), pick(random)]);
            }
        }
        if number > 0 && random.once_in(3) {
            create["blocked_by"] = json!([pick(random)]);
        }
        if random.once_in(4) {
            create["kind"] = json!("objective");
        }
        create["planned"] = json!(random.once_in(10));
        let _ = world.try_as(&agent, from(create, "task.create"));
    }
    for _ in 0..random.below(14) {
        change(&mut world, &agent, random);
    }
    (world, agent)
}

/// One random command.
fn change(world: &mut World, agent: &Agent, random: &mut Random) {
    let ids: Vec<TaskId> = world.set.tasks.rows().map(|task| task.id.clone()).collect();
    let a = ids[random.below(ids.len())].clone();
    let b = ids[random.below(ids.len())].clone();
    let revision = world.set.tasks.get(&a).flatten().map_or(0, |task| task.revision);
    let kind = if random.once_in(2) { "parent" } else { "blocks" };
    let operation = match random.below(15) {
        0..=3 => return add(world, agent, &a, &b, kind),
        4 => {
            let kind = DependencyKind::ALL[random.below(DependencyKind::ALL.len())];
            from(json!({ "task": a, "on": b, "kind": kind }), "dependency.remove")
        }
        5 => {
            let dependents = ["keep", "release", "cancel"][random.below(3)];
            let mut cancel =
                json!({ "task": a, "revision": revision, "reason": "r", "dependents": dependents });
            if random.once_in(2) {
                cancel["resolution"] = json!(["superseded", "duplicate"][random.below(2)]);
                cancel["successor"] = json!(b);
            }
            from(cancel, "task.cancel")
        }
        6 | 7 => return finish(world, agent, &a, revision),
        8 => {
            let until = world.now.wall.0 + 1 + random.below(2_000) as i64;
            from(json!({ "task": a, "until": until, "reason": "r" }), "task.defer")
        }
        9 => from(json!({ "task": a, "kind": "permission", "reason": "r" }), "blocker.raise"),
        10 => from(json!({ "task": a, "number": 1, "reason": "r" }), "blocker.resolve"),
        11 => return reopen(world, agent, &a),
        12 => {
            world.pass(LEASE_MS);
            return;
        }
        13 => {
            let record = RecordOverdue {}.into();
            world.run(None, Envelope::default(), &record).expect("background work is never refused");
            return;
        }
        _ => {
            world.pass(random.below(1_500) as i64);
            from(json!({ "task": a }), "task.open")
        }
    };
    let _ = world.try_as(agent, operation);
}

/// Adds an edge, and checks both ways that it was refused exactly when it would lock tasks for ever.
fn add(world: &mut World, agent: &Agent, task: &TaskId, on: &TaskId, kind: &str) {
    let before = Oracle::of(&world.set, world.now);
    let edge = if kind == "blocks" { DependencyKind::Blocks } else { DependencyKind::Parent };
    let add = from(json!({ "task": task, "on": on, "kind": kind }), "dependency.add");
    match world.try_as(agent, add) {
        Ok(_) => {
            let after = Oracle::of(&world.set, world.now);
            assert!(!after.parents_go_round(), "{task} {kind} {on}");
            let stuck = after.stuck();
            assert!(stuck.is_empty(), "{task} {kind} {on} was accepted and locks {stuck:?}");
        }
        Err(refusal) if refusal.code == Code::DependencyCycle => {
            let after = before.with_edge(edge, task, on);
            let locks = task == on || after.parents_go_round() || !after.stuck().is_empty();
            assert!(locks, "{task} {kind} {on} locks nothing and was refused: {}", refusal.detail);
        }
        Err(_) => {}
    }
}

/// Reopens a task, and checks that it was refused if that would lock tasks for ever.
fn reopen(world: &mut World, agent: &Agent, task: &TaskId) {
    if world.try_as(agent, from(json!({ "task": task, "reason": "r" }), "task.reopen")).is_ok() {
        let stuck = Oracle::of(&world.set, world.now).stuck();
        assert!(stuck.is_empty(), "{task} was reopened and locks {stuck:?}");
    }
}

/// Finishes a task by claim and close, or under its revision.
fn finish(world: &mut World, agent: &Agent, id: &TaskId, revision: u64) {
    if let Ok(claimed) = world.claim(agent, Some(&id.to_string())) {
        if !revision.is_multiple_of(3) {
            let close = from(json!({ "task": id }), "close");
            world.fenced(agent, &claimed.attempt, close).expect("the holder closes");
        }
    } else {
        let _ = world.try_as(agent, from(json!({ "task": id, "revision": revision }), "close"));
    }
}

/// Compares list, facts, explain, claim and next with the oracle.
fn compare(world: &mut World, agent: &Agent) {
    let oracle = Oracle::of(&world.set, world.now);
    let mut expected: Vec<(Rank, TaskId)> = Vec::new();
    let mut first: Option<(Priority, bool, Rank, TaskId)> = None;
    for id in oracle.ids() {
        let task = world.set.tasks.get(&id).flatten().expect("it is there").clone();
        let free = task.own_blockers + task.inherited_blockers == 0;
        assert_eq!(free, oracle.unblocked(&id), "the kept facts of {id}");
        if oracle.ready(&id) {
            expected.push((task.rank(), id.clone()));
        }
        let explained: Explanation = world.typed(agent, &Explain { task: id.clone() }).expect("explained");
        assert_eq!(explained.ready, oracle.ready(&id), "explain {id}: {}", explained.reason);
        let attempt = task.current_attempt().and_then(|id| world.set.attempts.get(&id).flatten());
        let live = attempt.is_some_and(|attempt| attempt.is_live(world.now.fleet));
        // What is live here is the agent's own, and comes back to it.
        assert_eq!(can_claim(world, agent, &id), live || oracle.can_go_on(&id), "claim {id}");
        if !live && oracle.can_go_on(&id) {
            first = first.into_iter().chain([(task.priority, task.held, task.rank(), id)]).min();
        }
    }
    expected.sort();
    let ready = Ready { project: "p".parse().expect("a key"), limit: Some(1000), cursor: None };
    let listed: ReadyList = world.typed(agent, &ready).expect("listed");
    let ids: Vec<&TaskId> = listed.tasks.iter().map(|task| &task.id).collect();
    assert_eq!(ids, expected.iter().map(|(_, id)| id).collect::<Vec<_>>(), "ready list");
    assert_eq!(listed.total, expected.len() as u64, "total");
    let another = world.agent("fresh");
    let next: NextStep = world.typed(&another, &Next { project: "p".parse().expect("a key") }).expect("told");
    let first = first.map(|(_, _, _, id)| id);
    let closable = next.task.clone().filter(|id| oracle.only_waits_to_be_closed(id));
    assert_eq!(next.task.clone().filter(|_| closable.is_none()), first, "next");
    let claimed = world.claim(&another, None).map(|claimed| claimed.task.id);
    assert_eq!(claimed.ok(), first, "claim without a name");
}

/// Whether a claim of this task would be accepted, without keeping it.
fn can_claim(world: &mut World, agent: &Agent, id: &TaskId) -> bool {
    let envelope = world.envelope(agent);
    let call = world.call(Some(agent), envelope);
    let claim: AnyOperation = from(json!({ "task": id }), "claim");
    let decided = world.decide(&call, &claim);
    world.set.undo();
    decided.is_ok()
}

/// A failure names the seed that shows it again.
fn readiness_equals_the_naive_oracle(first: u64) {
    for seed in first..first + GRAPHS {
        let outcome = std::panic::catch_unwind(|| {
            let (mut world, agent) = build(&mut Random::new(seed));
            compare(&mut world, &agent);
        });
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn readiness_equals_the_naive_oracle_on_every_surface() {
    readiness_equals_the_naive_oracle(0);
}

#[test]
fn readiness_equals_the_naive_oracle_on_every_surface_2() {
    readiness_equals_the_naive_oracle(GRAPHS);
}

#[test]
fn readiness_equals_the_naive_oracle_on_every_surface_3() {
    readiness_equals_the_naive_oracle(2 * GRAPHS);
}

#[test]
fn readiness_equals_the_naive_oracle_on_every_surface_4() {
    readiness_equals_the_naive_oracle(3 * GRAPHS);
}

#[test]
fn a_parent_waits_for_its_children_and_a_child_not_for_its_ancestor() {
    let (mut world, a) = World::with_project();
    let create = |title: &str, more: Value| {
        let mut input = json!({ "project": "p", "title": title });
        input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        from(input, "task.create")
    };
    world.ok(&a, create("top", json!({ "kind": "objective" })));
    world.ok(&a, create("middle", json!({ "parents": ["p-1"] })));
    world.ok(&a, create("leaf", json!({ "parents": ["p-2"] })));
    let refusal = world
        .try_as(&a, from(json!({ "task": "p-3", "on": "p-1" }), "dependency.add"))
        .expect_err("a child that waits for its ancestor");
    assert_eq!(refusal.code, Code::DependencyCycle);
    assert!(refusal.detail.contains("p-3 would wait for p-1"), "{}", refusal.detail);
    assert!(refusal.detail.contains("p-3 is a child of p-2"), "{}", refusal.detail);
    world.ok(&a, from(json!({ "task": "p-1", "on": "p-3" }), "dependency.add"));
    assert!(world.claim(&a, Some("p-3")).is_ok());
}

#[test]
fn a_blocker_three_levels_up_hides_a_task_and_explain_walks_to_it() {
    let (mut world, a) = World::with_project();
    for (title, parents, blocked_by) in [
        ("gate", json!([]), json!([])),
        ("top", json!([]), json!(["p-1"])),
        ("mid", json!(["p-2"]), json!([])),
        ("low", json!(["p-3"]), json!([])),
        ("leaf", json!(["p-4"]), json!([])),
    ] {
        let input = json!({ "project": "p", "title": title, "parents": parents, "blocked_by": blocked_by });
        world.ok(&a, from(input, "task.create"));
    }
    let explained = world.ok(&a, from(json!({ "task": "p-5" }), "explain"));
    assert_eq!(explained["status"], "blocked");
    assert_eq!(explained["chain"][1]["task"], "p-1");
    assert_eq!(explained["reason"], "p-1 is ready");
    let claimed = world.claim(&a, Some("p-1")).expect("the gate is ready");
    let closed = world.fenced(&a, &claimed.attempt, from(json!({ "task": "p-1" }), "close")).expect("closed");
    let closed: Value = serde_json::from_str(&closed).expect("JSON");
    assert_eq!(closed["freed"], json!(["p-2", "p-3", "p-4", "p-5"]));
}
