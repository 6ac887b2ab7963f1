//! A primary and the standby that its commits wait for.

use std::process::Stdio;

use tenure_cluster::{Cluster, Ending};

use super::UNFLUSHED;

/// How many commits wait for a standby.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";

#[test]
fn a_standby_has_what_its_primary_acknowledged_and_takes_its_place() {
    let mut primary = Cluster::primary(UNFLUSHED).expect("a primary");
    let standby = primary.standby(UNFLUSHED).expect("a standby");
    primary.sql("CREATE TABLE kept (number INTEGER)").expect("a table");
    primary.sql("INSERT INTO kept VALUES (1)").expect("a row");
    assert!(standby.sql("INSERT INTO kept VALUES (2)").is_err(), "a standby is read only");
    primary.kill().expect("it ends");
    standby.promote().expect("it takes the primary's place");
    assert_eq!(standby.sql("INSERT INTO kept VALUES (2)"), Ok(String::new()));
    assert_eq!(standby.sql("SELECT count(*) FROM kept"), Ok("2".to_owned()));

    // The old primary believes that it is still one, and waits for a standby that no longer follows it.
    primary.serve().expect("it comes back");
    assert_eq!(primary.sql("SELECT pg_is_in_recovery()"), Ok("f".to_owned()));
    let write =
        primary.psql("INSERT INTO kept VALUES (3)").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut write = write.expect("psql runs");
    while primary.sql(WAITING) != Ok("1".to_owned()) {
        assert_eq!(write.try_wait().expect("it is our child"), None, "acknowledged by one that was replaced");
    }
    primary.kill().expect("it ends");
    assert!(!write.wait().expect("it is our child").success(), "acknowledged by one that was replaced");
    assert_eq!(standby.sql("SELECT count(*) FROM kept"), Ok("2".to_owned()));
}

#[test]
fn without_its_standby_a_primary_acknowledges_nothing_until_it_is_back() {
    let primary = Cluster::primary(UNFLUSHED).expect("a primary");
    let mut standby = primary.standby(UNFLUSHED).expect("a standby");
    primary.sql("CREATE TABLE kept (number INTEGER)").expect("a table");
    standby.end(Ending::Fast).expect("it ends");
    std::thread::scope(|scope| {
        let write = scope.spawn(|| primary.sql("INSERT INTO kept VALUES (1)"));
        while primary.sql(WAITING) != Ok("1".to_owned()) {
            assert!(!write.is_finished(), "acknowledged by one server alone");
        }
        standby.serve().expect("it comes back");
        assert_eq!(write.join().expect("no panic"), Ok(String::new()));
    });
    assert_eq!(standby.sql("SELECT count(*) FROM kept"), Ok("1".to_owned()));
}
