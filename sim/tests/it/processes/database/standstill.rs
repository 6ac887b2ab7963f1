//! A server that stands still for longer than a lease, and wakes.

use serde_json::json;
use tenure_cluster::Cluster;
use tenure_core::model::ids::TaskId;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::WriteNote;
use tenure_sim::agent::Outcome;
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::Load;
use tenure_sim::seed::Seed;
use tenure_sim::waiting;

use super::super::races::named;
use super::UNFLUSHED;

const LEASE_MS: i64 = 4_000;

#[test]
fn a_server_that_wakes_after_a_lease_grants_and_writes_nothing_of_before() {
    let seed = Seed::of_this_run();
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let lease = LEASE_MS.to_string();
    let shorter = ["--lease-ms", &lease, "--lease-ms-min", &lease];
    let fleet = Fleet::with(&[(&url, Vec::new()), (&url, Vec::new())], &shorter);
    let [ada, bob] =
        [(0, "ada"), (1, "bob")].map(|(server, name)| fleet.agent(server, name).logging(&fleet.logs()));
    // The crowd takes whatever is left in its own project.
    bob.mutate("project.create", &json!({ "key": "own" })).expect("a project");
    bob.mutate("task.create", &json!({ "project": "own", "title": "ada's" })).expect("a task");
    let task: TaskId = "own-1".parse().expect("a valid id");
    let agents = fleet.crowd(3);
    let (sleeping, awake) = agents.split_at(3);
    Load::during(awake, seed, |awake| {
        Load::during(sleeping, seed + 1, |sleeping| {
            let claimed = ada.ask(&named(&task)).ok();
            sleeping.go_on(5);
            fleet.servers[0].stop();
            tell_recovery("the other server stands still", awake.recovery());
            let taken = waiting::some("ada's lease ends", || match bob.ask(&named(&task)) {
                Outcome::Ok(taken) => Some(taken),
                refused => (refused.refused().code == Code::LeaseHeld).then_some(None)?,
            });
            assert_eq!(taken.generation.0, claimed.generation.0 + 1);
            fleet.servers[0].go_on();
            let note = WriteNote { task: task.clone(), text: "from before".to_owned(), recovery: false };
            let told = ada.ask(&note).refused().code;
            assert!(matches!(told, Code::LeaseExpired | Code::Superseded | Code::NotHolder), "{told:?}");
            tell_recovery("the server is awake again", sleeping.recovery());
        });
    });
    fleet.judge_under_leases_of(LEASE_MS);
}
