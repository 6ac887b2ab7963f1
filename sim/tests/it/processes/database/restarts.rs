//! The database is restarted, is ended as by a crash, and is killed.

use tenure_cluster::{Cluster, Ending};
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::Load;
use tenure_sim::seed::{Seed, rounds};

use super::UNFLUSHED;

#[test]
fn nothing_acknowledged_is_lost_when_the_database_is_restarted_or_killed() {
    let seed = Seed::of_this_run();
    let mut database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let host = database.host().expect("it listens");
    let fleet = Fleet::of([&url(&[host]), &url(&[host])]);
    let agents = fleet.crowd(4);
    let mut dice = Seed::of(seed, 100);
    Load::during(&agents, seed, |load| {
        for round in 0..rounds(6) {
            load.go_on(10 + dice.below(10));
            let what = match round % 3 {
                0 => (database.end(Ending::Fast), "restarted").1,
                1 => (database.end(Ending::Immediate), "ended as by a crash").1,
                _ => (database.kill(), "killed").1,
            };
            database.serve().expect("it comes back");
            tell_recovery(&format!("the database was {what}"), load.recovery());
        }
    });
    fleet.judge();
}
