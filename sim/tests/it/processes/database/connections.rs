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

/// How many answers of commits are kept from the servers.
const CUTS: u32 = 1_000;
/// How many connections a server may lose one after the other: it asks again for a few seconds, and then says so.
const IN_A_ROW_MAX: u32 = 2;

/// Decides about each commit of one server: most connections end around theirs, most of these between it and its answer.
fn fates(mut dice: Seed, cuts: Arc<Mutex<BTreeMap<Fate, u32>>>) -> impl FnMut() -> Fate {
    let fates = [&[Fate::CutBefore, Fate::CutWith][..], &[Fate::CutAfter; 12]].concat();
    let mut in_a_row = 0;
    move || {
        let drawn = fates.get(dice.below(16) as usize).copied().filter(|_| in_a_row < IN_A_ROW_MAX);
        in_a_row = if drawn.is_some() { in_a_row + 1 } else { 0 };
        let fate = drawn.unwrap_or(Fate::Pass);
        *cuts.lock().expect("no holder panics").entry(fate).or_default() += 1;
        fate
    }
}

#[test]
fn every_caller_hears_the_truth_when_the_connection_ends_around_its_commit() {
    let seed = Seed::of_this_run();
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let host = database.host().expect("it listens");
    let cables = [Cable::to(host), Cable::to(host)];
    let urls = [0, 1].map(|server| url(&[cables[server].host()]));
    let fleet = Fleet::of([&urls[0], &urls[1]]);
    let agents: Vec<Agent> = fleet.crowd(4).into_iter().map(Agent::asking_once).collect();
    let cuts = Arc::new(Mutex::new(BTreeMap::<Fate, u32>::new()));
    Load::during(&agents, seed, |load| {
        load.go_on(10);
        for (number, cable) in (100..).zip(&cables) {
            cable.decide(fates(Seed::of(seed, number), cuts.clone()));
        }
        let count = |fate| cuts.lock().expect("no holder panics").get(&fate).copied().unwrap_or_default();
        for round in 1..=rounds(CUTS).max(CUTS) {
            waiting::until("another answer was cut off", || count(Fate::CutAfter) >= round);
        }
        for cable in &cables {
            cable.decide(|| Fate::Pass);
        }
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
