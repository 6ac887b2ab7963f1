//! Connections that end: around a commit, or any time because an operator ends them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tenure_cluster::Cluster;
use tenure_sim::agent::Agent;
use tenure_sim::cable::{Cable, Fate};
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::Load;
use tenure_sim::seed::{Seed, rounds};
use tenure_sim::waiting;

use super::UNFLUSHED;

#[test]
fn every_caller_hears_the_truth_when_the_connection_ends_around_its_commit() {
    let seed = Seed::of_this_run();
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let host = database.host().expect("it listens");
    let cable = Cable::to(host);
    let fleet = Fleet::of([&url(&[cable.host()]), &url(&[host])]);
    let agents: Vec<Agent> = fleet.crowd(4).into_iter().map(Agent::asking_once).collect();
    let cuts = Arc::new(Mutex::new(BTreeMap::<Fate, u32>::new()));
    let (counted, mut dice) = (cuts.clone(), Seed::of(seed, 100));
    Load::during(&agents, seed, |load| {
        load.go_on(10);
        cable.decide(move || {
            let fates = [Fate::CutBefore, Fate::CutWith, Fate::CutAfter, Fate::CutAfter];
            let fate = fates.into_iter().nth(dice.below(12) as usize).unwrap_or(Fate::Pass);
            *counted.lock().expect("no holder panics").entry(fate).or_default() += 1;
            fate
        });
        let count = |fate| cuts.lock().expect("no holder panics").get(&fate).copied().unwrap_or_default();
        for round in 1..=rounds(20) {
            waiting::until("another answer was cut off", || count(Fate::CutAfter) >= round);
        }
        cable.decide(|| Fate::Pass);
        load.go_on(10);
    });
    eprintln!("{:?}", cuts.lock().expect("no holder panics"));
    let figures = fleet.judge();
    assert_eq!(figures.unknown, 0, "somebody was told that nobody can tell");
}

#[test]
fn an_operator_who_ends_every_connection_again_and_again_takes_no_answer_away() {
    let seed = Seed::of_this_run();
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let host = database.host().expect("it listens");
    let fleet = Fleet::of([&url(&[host]), &url(&[host])]);
    let agents: Vec<Agent> = fleet.crowd(4).into_iter().map(Agent::asking_once).collect();
    let mut dice = Seed::of(seed, 100);
    let ended = Load::during(&agents, seed, |load| {
        let end = || database.terminate_backends("tenure").expect("an operator may");
        let mut ended = 0;
        for _ in 0..rounds(20) {
            load.go_on(dice.below(8));
            ended += end();
        }
        tell_recovery("every connection was ended", load.recovery());
        ended
    });
    eprintln!("{ended} connections ended");
    let figures = fleet.judge();
    assert_eq!(figures.unknown, 0, "somebody was told that nobody can tell");
    assert!(ended > 20, "too quiet to prove anything");
}
