//! P1 and P3 under a crowd: every task has one owner, every loser hears who, and who lost changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::thread;

use serde_json::json;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::{Claim, Claimed, Release};
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::daemon::Daemon;
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::seed::rounds;
use tenure_sim::shell::{Ran, Shell};
use tenure_sim::{fill, ownership, store};

const CROWD: usize = 64;
const RIVALS: usize = 24;
/// The coordinator's usual lease.
const LEASE_MS: i64 = 600_000;

pub fn next() -> Claim {
    Claim { task: None, projects: vec![store::project()], another: true, no_recovery: false, wait_ms: None }
}

pub fn named(task: &TaskId) -> Claim {
    Claim {
        task: Some(task.clone()),
        projects: Vec::new(),
        another: false,
        no_recovery: false,
        wait_ms: None,
    }
}

fn task(number: u32) -> TaskId {
    format!("{PROJECT}-{number}").parse().expect("a valid id")
}

fn crowd(place: &Place, count: usize) -> Vec<Agent> {
    (0..count).map(|number| Agent::open(client(place.state()), &format!("agent-{number}"))).collect()
}

/// Everybody begins at the same moment; what each heard, in the order of the crowd.
fn all_at_once<T: Send>(crowd: &[Agent], act: impl Fn(&Agent) -> T + Sync) -> Vec<T> {
    let gate = Barrier::new(crowd.len());
    let (gate, act) = (&gate, &act);
    thread::scope(|scope| {
        let acting = crowd.iter().map(|agent| {
            scope.spawn(move || {
                gate.wait();
                act(agent)
            })
        });
        let acting: Vec<_> = acting.collect();
        acting.into_iter().map(|thread| thread.join().expect("an agent ends well")).collect()
    })
}

#[test]
fn sixty_four_sessions_claim_until_nothing_is_left() {
    const TASKS: usize = 1000;
    for round in 1..=rounds(2) {
        let place = Place::new();
        let _daemon = place.daemon();
        let crowd = crowd(&place, CROWD);
        create_project(&crowd[0]);
        fill::tasks(&crowd[0], TASKS);
        let won = all_at_once(&crowd, |agent| {
            let mut won: Vec<Claimed> = Vec::new();
            loop {
                match agent.ask(&next()) {
                    Outcome::Ok(claimed) => won.push(claimed),
                    Outcome::Refused(refusal) => {
                        assert_eq!(refusal.code, Code::NothingEligible, "{refusal:?}");
                        assert_eq!(refusal.code.exit(), 9);
                        return won;
                    }
                    Outcome::Unknown(detail) => panic!("nothing was disturbed, and yet: {detail}"),
                }
            }
        });
        let client = client(place.state());
        let claims = ownership::play(&store::events(&client));
        assert_eq!(claims.len(), TASKS, "every task was claimed");
        let mut told = BTreeSet::new();
        for (agent, won) in crowd.iter().zip(&won) {
            for claimed in won {
                assert!(told.insert(claimed.task.id.clone()), "{} was given out twice", claimed.task.id);
                assert_eq!((claimed.generation.0, claimed.resumed), (1, false));
                assert_eq!(claims[&claimed.task.id][0].session, agent.session.id, "log and record differ");
            }
        }
        assert_eq!(told.len(), TASKS, "every winner was told");
        assert!(claims.values().all(|claims| claims.len() == 1));
        store::verify(&client);
        let most = won.iter().map(Vec::len).max().unwrap_or_default();
        eprintln!("round {round}: {TASKS} tasks, {CROWD} sessions, at most {most} for one, none twice");
    }
}

#[test]
fn of_twenty_four_that_name_one_task_one_gets_it_and_the_others_hear_who() {
    const CLAIMS: u64 = 5;
    for _ in 1..=rounds(2) {
        let place = Place::new();
        let _daemon = place.daemon();
        let crowd = crowd(&place, RIVALS);
        create_project(&crowd[0]);
        fill::tasks(&crowd[0], 1);
        for generation in 1..=CLAIMS {
            let outcomes = all_at_once(&crowd, |agent| agent.ask(&named(&task(1))));
            let mut winners =
                crowd.iter().zip(&outcomes).filter(|(_, outcome)| matches!(outcome, Outcome::Ok(_)));
            let (winner, _) = winners.next().expect("somebody got it");
            assert_eq!(winners.count(), 0, "two winners");
            for outcome in outcomes {
                match outcome {
                    Outcome::Ok(claimed) => assert_eq!(claimed.generation.0, generation),
                    other => {
                        let refusal = other.refused();
                        assert_eq!((refusal.code, refusal.code.exit()), (Code::LeaseHeld, 3));
                        assert_eq!(refusal.facts["holder"], winner.name);
                        let left = refusal.facts["expires_in_ms"].as_i64().expect("a number");
                        assert!((1..=LEASE_MS).contains(&left), "{left}");
                    }
                }
            }
            winner.ask(&Release { task: task(1), note: None }).ok();
        }
        let claims = ownership::play(&store::events(&client(place.state())));
        assert_eq!(claims[&task(1)].len() as u64, CLAIMS);
    }
}

/// The place with its project and tasks, and a shell for each of a crowd whose sessions are open.
fn shells(place: &Place, count: usize, tasks: usize) -> (Daemon, Vec<Shell>) {
    let daemon = place.daemon();
    let founder = Agent::open(client(place.state()), "founder");
    create_project(&founder);
    fill::tasks(&founder, tasks);
    let shell = Shell::new(place.state(), &place.checkout());
    (daemon, (0..count).map(|number| shell.named(&format!("agent-{number}"))).collect())
}

#[test]
fn whole_commands_race_for_all_tasks() {
    let tasks = if rounds(0) > 0 { 1000 } else { 150 };
    let place = Place::new();
    let (_daemon, shells) = shells(&place, CROWD, tasks);
    let won: Vec<BTreeMap<String, u64>> = thread::scope(|scope| {
        let racing: Vec<_> = shells
            .iter()
            .map(|shell| {
                scope.spawn(move || {
                    let mut won = BTreeMap::new();
                    loop {
                        let ran = shell.run(&["claim", "--another", "--project", PROJECT, "--json"]);
                        match ran.code {
                            0 => {
                                let claimed = ran.json();
                                let task = claimed["task"]["id"].as_str().expect("an id").to_owned();
                                won.insert(task, claimed["generation"].as_u64().expect("a number"));
                            }
                            9 => {
                                assert_eq!(ran.json()["code"], "nothing_eligible");
                                return won;
                            }
                            _ => panic!("exit {}: {}{}", ran.code, ran.out, ran.err),
                        }
                    }
                })
            })
            .collect();
        racing.into_iter().map(|thread| thread.join().expect("a shell ends well")).collect()
    });
    let told: Vec<_> = won.into_iter().flatten().collect();
    assert!(told.iter().all(|(_, generation)| *generation == 1));
    let distinct: BTreeSet<_> = told.iter().map(|(task, _)| task).collect();
    assert_eq!((told.len(), distinct.len()), (tasks, tasks), "one winner each, and everybody told");
    let client = client(place.state());
    let claims = ownership::play(&store::events(&client));
    assert!(claims.values().all(|claims| claims.len() == 1));
    store::verify(&client);
}

#[test]
fn whole_commands_race_for_one_task() {
    let place = Place::new();
    let (_daemon, shells) = shells(&place, RIVALS, 1);
    let task = task(1).to_string();
    let racing: Vec<_> = shells.iter().map(|shell| shell.spawn(&["claim", &task, "--json"])).collect();
    let ran: Vec<Ran> =
        racing.into_iter().map(|child| Ran::of(child.wait_with_output().expect("it is ours"))).collect();
    let winner = ran.iter().position(|ran| ran.code == 0).expect("somebody got it");
    for (index, ran) in ran.iter().enumerate().filter(|(index, _)| *index != winner) {
        assert_eq!(ran.code, 3, "agent-{index}: {}{}", ran.out, ran.err);
        let problem = ran.json();
        assert_eq!(problem["code"], "lease_held");
        assert_eq!(problem["facts"]["holder"], format!("agent-{winner}"));
        assert!(problem["facts"]["expires_in_ms"].as_i64().is_some_and(|left| left > 0));
    }
}

#[test]
fn a_former_holder_changes_nothing() {
    let place = Place::new();
    let _daemon = Daemon::start(place.state(), &["--lease-ms", "300", "--lease-ms-min", "100"], &[]);
    let ada = Agent::open(client(place.state()), "ada");
    create_project(&ada);
    fill::tasks(&ada, 1);
    let task = task(1);
    ada.ask(&named(&task)).ok();
    let bob = Agent::open(client(place.state()), "bob");
    tenure_sim::waiting::until(
        "ada's lease has ended and bob takes over",
        || matches!(bob.ask(&named(&task)), Outcome::Ok(claimed) if claimed.generation.0 == 2),
    );
    let attempts = [
        ("heartbeat", json!({ "task": task })),
        ("note", json!({ "task": task, "text": "late" })),
        ("checkpoint", json!({ "task": task, "text": "late" })),
        ("handoff", json!({ "task": task, "text": "late" })),
        ("dispose", json!({ "task": task, "disposition": "resume" })),
        ("task.cancel", json!({ "task": task, "reason": "late" })),
        ("release", json!({ "task": task })),
        ("close", json!({ "task": task })),
    ];
    let before = store::events(&ada.client).len();
    for (operation, input) in &attempts {
        let failure = ada.mutate(operation, input).expect_err("the lease is over");
        assert_eq!((failure.code(), failure.problem().exit_code), (Code::LeaseExpired, 6), "{operation}");
    }
    // With the generation of the attempt that lives, but ada's own token: somebody else's attempt.
    ada.session
        .file
        .edit(|record| {
            let lease = record.leases.get_mut(&task).expect("ada held it");
            lease.attempt.generation.0 = 2;
            lease.over = false;
        })
        .expect("the file is ada's");
    for (operation, input) in &attempts {
        let failure = ada.mutate(operation, input).expect_err("the attempt is bob's");
        assert_eq!((failure.code(), failure.problem().exit_code), (Code::NotHolder, 6), "{operation}");
    }
    let events = store::events(&ada.client);
    let of_ada =
        events[before..].iter().filter(|event| event.actor.session.as_ref() == Some(&ada.session.id));
    assert_eq!(of_ada.count(), 0, "a refused write left an event");
}
