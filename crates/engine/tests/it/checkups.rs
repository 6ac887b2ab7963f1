//! What is told of a database that takes no writes, or whose standby is away.

use std::time::{Duration, Instant};

use tenure_cluster::Cluster;
use tenure_engine::store::postgres::address::Address;
use tenure_engine::store::postgres::checkup::{Finding, look};

const UNFLUSHED: &[&str] = &["fsync=off"];
/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn looked_at_as(user: &str, server: &Cluster) -> Vec<Finding> {
    let (host, port) = server.host().expect("it listens");
    let url = format!("postgres://{user}@{host}:{port}/postgres");
    look(&Address::parse(&url, None).expect("an address")).expect("looked at")
}

/// What is found of one thing, in the end.
fn in_the_end(server: &Cluster, name: &str, is_good: Option<bool>) -> String {
    let begun = Instant::now();
    loop {
        let findings = looked_at_as("tenure", server);
        let finding = findings.into_iter().find(|finding| finding.name == name);
        match finding {
            Some(finding) if finding.is_good == is_good => {
                assert_eq!(finding.next.is_some(), is_good != Some(true), "{finding:?}");
                return finding.found;
            }
            other => assert!(begun.elapsed() < PATIENCE, "{other:?}"),
        }
    }
}

#[test]
fn a_database_that_takes_no_writes_or_waits_for_a_standby_that_is_away_is_told() {
    let primary = Cluster::primary(UNFLUSHED).expect("a primary");
    let mut standby = primary.standby(UNFLUSHED).expect("a standby");
    assert!(in_the_end(&primary, "standby", Some(true)).contains("1 of 1"));
    in_the_end(&primary, "writing", Some(true));
    // A standby has nothing else to tell.
    assert!(in_the_end(&standby, "writing", Some(false)).contains("is a standby"));
    let names: Vec<&str> = looked_at_as("tenure", &standby).iter().map(|finding| finding.name).collect();
    assert_eq!(names, ["version", "writing"]);

    // What somebody may not see is not told as missing.
    primary.sql("CREATE ROLE small LOGIN").expect("made");
    let hidden = looked_at_as("small", &primary).into_iter().find(|finding| finding.name == "standby");
    let hidden = hidden.expect("looked at");
    assert!(hidden.is_good.is_none() && hidden.found.contains("do not show"), "{hidden:?}");

    standby.kill().expect("it ends");
    assert!(in_the_end(&primary, "standby", Some(false)).contains("commits hang"));

    primary.sql("ALTER SYSTEM SET default_transaction_read_only = on").expect("set");
    primary.sql("SELECT pg_reload_conf()").expect("told");
    assert!(in_the_end(&primary, "writing", Some(false)).contains("default_transaction_read_only is on"));
}
