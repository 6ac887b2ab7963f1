//! The primary is lost and its synchronous standby takes its place; the old primary comes back and still believes in
//! itself.

use tenure_cluster::Cluster;
use tenure_core::operation::record::ListEvents;
use tenure_sim::agent::client;
use tenure_sim::failover::Failover;
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::Load;
use tenure_sim::seed::Seed;

use super::UNFLUSHED;

/// The last event in a database, past all servers.
const LAST_EVENT: &str = "SELECT max(number) FROM tenure.event";

/// A primary with its standby, and servers that know both.
fn primary_and_standby() -> (Cluster, Cluster, Fleet) {
    let primary = Cluster::primary(UNFLUSHED).expect("a primary");
    let standby = primary.standby(UNFLUSHED).expect("a standby");
    let hosts = [&primary, &standby].map(|server| server.host().expect("it listens"));
    let [there, back] = [[hosts[0], hosts[1]], [hosts[1], hosts[0]]];
    let fleet = Fleet::of([&url(&there), &url(&back)]);
    (primary, standby, fleet)
}

#[test]
fn a_standby_goes_on_with_all_that_was_acknowledged_and_the_old_primary_takes_nothing_away() {
    let seed = Seed::of_this_run();
    let (mut old, mut new, fleet) = primary_and_standby();
    let agents = fleet.crowd(4);
    Load::during(&agents, seed, |load| {
        load.go_on(40);
        let failover = Failover::during(load, || {
            old.kill()?;
            new.promote()
        });
        let failover = failover.expect("the standby takes the place");
        eprintln!("the primary was killed: {failover}");
        assert!(failover.is_in_time(), "the servers were not back in time");
        load.go_on(20);

        // Back as it was left, it can be written to as well, and it waits for a standby that does not follow.
        old.serve().expect("it comes back");
        let left = old.sql(LAST_EVENT);
        for _ in 0..3 {
            new.terminate_backends("tenure").expect("an operator may");
            tell_recovery("connections ended beside the old primary", load.recovery());
            load.go_on(10);
        }
        assert_eq!(old.sql(LAST_EVENT), left, "the old primary was written to");

        // With the new one away, the old one is all that there is. It lacks what was acknowledged since.
        new.kill().expect("it ends");
        let newest = ListEvents { after: None, newest: true, task: None, limit: Some(1) };
        let acknowledged = fleet.servers.iter().map(|server| {
            let asked = client(server.folder()).call(&newest, None);
            assert!(
                asked.is_err(),
                "a question was answered from a past: {:?}",
                asked.map(|asked| asked.value)
            );
            // While the first server looked for an answer, those of before the end of the new primary have arrived.
            load.acknowledged()
        });
        let acknowledged: Vec<u64> = acknowledged.collect();
        assert_eq!(acknowledged.first(), acknowledged.last(), "the old primary acknowledged something");
        assert_eq!(old.sql(LAST_EVENT), left, "the old primary was written to");
        new.serve().expect("it comes back");
        tell_recovery("the new primary was restarted", load.recovery());
    });
    fleet.judge();
}

#[test]
fn a_primary_that_stands_still_while_it_is_replaced_acknowledges_nothing_when_it_wakes() {
    let seed = Seed::of_this_run();
    let (old, new, fleet) = primary_and_standby();
    let agents = fleet.crowd(4);
    Load::during(&agents, seed, |load| {
        load.go_on(40);
        let still = old.stand_still().expect("it stands still");
        new.promote().expect("it takes the place");
        // Nobody told the servers that their connections are of no more use.
        load.go_on(1);
        eprintln!("the standby took the place of a primary that stands still");
        drop(still);
        tell_recovery("the old primary is awake", load.recovery());
        load.go_on(20);
    });
    fleet.judge();
}
