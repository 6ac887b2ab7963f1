//! Two servers whose wall clocks are a minute and a half apart judge leases by one time.

use std::time::Instant;

use tenure_cluster::Cluster;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::Heartbeat;
use tenure_sim::agent::{Agent, Outcome};
use tenure_sim::clocks::moved_by;
use tenure_sim::fleet::{Fleet, url};
use tenure_sim::load::Load;
use tenure_sim::place::PROJECT;
use tenure_sim::seed::Seed;
use tenure_sim::{store, waiting};

use super::super::races::named;
use super::UNFLUSHED;

/// How far the servers' clocks are apart, in seconds.
const APART: i64 = 90;
const LEASE_MS: i64 = 20_000;
/// By how much a server that joins may move the fleet's time, in milliseconds.
const JOIN_MS_MAX: i64 = 5_000;

/// The time at which a heartbeat was committed.
fn committed(agent: &Agent, task: &TaskId) -> i64 {
    agent.ask(&Heartbeat { task: task.clone() }).ok().deadline.0 - LEASE_MS
}

#[test]
fn servers_whose_clocks_differ_by_ninety_seconds_end_a_lease_at_one_moment() {
    let seed = Seed::of_this_run();
    for offsets in [[0, APART], [APART, 0]] {
        let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
        let url = url(&[database.host().expect("it listens")]);
        let lease = LEASE_MS.to_string();
        let shorter = ["--lease-ms", &lease, "--lease-ms-min", &lease];
        let fleet = Fleet::with(&offsets.map(|offset| (url.as_str(), moved_by(offset))), &shorter);
        let [ada, bob] =
            [(0, "ada"), (1, "bob")].map(|(server, name)| fleet.agent(server, name).logging(&fleet.logs()));
        let [carol, dan] = [(0, "carol"), (1, "dan")].map(|(server, name)| fleet.agent(server, name));
        let [one, two, three] =
            [1, 2, 3].map(|number| format!("{PROJECT}-{number}").parse::<TaskId>().expect("a valid id"));
        let claimed_at = Instant::now();
        let deadline = ada.ask(&named(&one)).ok().deadline.0;
        dan.ask(&named(&two)).ok();
        carol.ask(&named(&three)).ok();
        // The two tell the time in turn, and neither ever tells an earlier one than the other.
        let mut before = deadline - LEASE_MS;
        for _ in 0..20 {
            for (agent, task) in [(&dan, &two), (&carol, &three)] {
                let time = committed(agent, task);
                let passed = i64::try_from(claimed_at.elapsed().as_millis()).expect("short") + 2;
                assert!(time >= before, "from {before} back to {time}");
                let from = deadline - LEASE_MS;
                assert!(time <= from + passed + JOIN_MS_MAX, "{passed} ms passed: from {from} to {time}");
                before = time;
            }
        }
        let agents = fleet.crowd(2);
        Load::during(&agents, seed, |load| load.go_on(60));
        let taken = waiting::some("ada's lease ends", || match bob.ask(&named(&one)) {
            Outcome::Ok(taken) => Some(taken),
            outcome => {
                let refusal = outcome.refused();
                assert_eq!(refusal.code, Code::LeaseHeld);
                None
            }
        });
        let passed = i64::try_from(claimed_at.elapsed().as_millis()).expect("short");
        assert!(taken.deadline.0 - LEASE_MS >= deadline, "taken over before its end");
        assert!(passed >= LEASE_MS - JOIN_MS_MAX, "a lease of {LEASE_MS} ms ended after {passed} ms");
        let walls: Vec<i64> = store::events(&carol.client).iter().map(|event| event.wall_time.0).collect();
        let leap = walls.windows(2).map(|pair| (pair[1] - pair[0]).abs()).max().unwrap_or_default();
        assert!(leap > (APART - 30) * 1000, "the clocks are only {leap} ms apart: faketime does not bite");
        fleet.judge_under_leases_of(LEASE_MS);
    }
}
