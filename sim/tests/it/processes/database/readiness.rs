//! What a server says of itself while its database's standby is away.

use serde_json::Value;
use tenure_client::call::Retry;
use tenure_cluster::Cluster;
use tenure_core::model::refusal::Code;
use tenure_sim::agent::client;
use tenure_sim::fleet::{Fleet, url};
use tenure_sim::waiting;

use super::UNFLUSHED;

#[test]
fn a_server_is_ready_while_writes_work_and_names_the_standby_that_they_wait_for() {
    let primary = Cluster::primary(UNFLUSHED).expect("a primary");
    let mut standby = primary.standby(UNFLUSHED).expect("a standby");
    let url = url(&[primary.host().expect("it listens")]);
    let fleet = Fleet::of([&url, &url]);
    let asking = client(fleet.servers[0].folder()).with_retry(Retry { pause_ms: 0, repetitions: 0 });
    let ready = || asking.get("/readyz").map(|json| serde_json::from_slice::<Value>(&json).expect("JSON"));
    let told = ready().expect("writes work");
    assert_eq!(told["standby"]["ok"], true, "{told}");
    standby.kill().expect("it ends");
    let unready = waiting::some("a write waits for the standby", || ready().err());
    let problem = unready.problem();
    assert_eq!(problem.code, Code::CannotTell);
    assert!(problem.detail.contains("commits hang"), "{problem:?}");
    assert!(problem.next_actions[0].contains("start the standby"), "{problem:?}");
    standby.serve().expect("it comes back");
    let told = waiting::some("writes work again", || ready().ok());
    assert_eq!(told["standby"]["ok"], true, "{told}");
}
