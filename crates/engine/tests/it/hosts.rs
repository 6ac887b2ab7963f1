//! Of several hosts the one that can be written to is spoken to, whatever the others do.

use std::net::TcpListener;

use tenure_cluster::Cluster;
use tenure_engine::store::driver::{Class, Driver, Role, StoreError};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;

const UNFLUSHED: &[&str] = &["fsync=off"];

fn open(hosts: &[u16]) -> Result<Postgres, StoreError> {
    let hosts: Vec<String> = hosts.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let url = format!("postgres://tenure@{}/postgres?connect_timeout=1", hosts.join(","));
    Postgres::open(&Address::parse(&url, None).expect("an address"), Role::Writer)
}

fn port(server: &Cluster) -> u16 {
    server.host().expect("it listens").1
}

/// The port of the server that answered.
fn answered(hosts: &[u16]) -> u16 {
    let mut driver = open(hosts).unwrap_or_else(|error| panic!("{hosts:?}: {error}"));
    let mut port = 0;
    let question = "SELECT inet_server_port()::bigint";
    let told = driver.query(question, &[], &mut |row| {
        port = row.integer(0)?.unwrap_or_default();
        Ok(())
    });
    told.expect("an answer");
    u16::try_from(port).expect("a port")
}

#[test]
fn a_host_that_takes_the_call_and_says_nothing_is_given_up() {
    // The kernel takes calls for whoever listens, also for a server that stands still.
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let silent = listener.local_addr().expect("it is bound").port();
    let error = open(&[silent]).err().expect("nobody answers");
    assert_eq!(error.class, Class::Io, "{error}");
    let server = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    for hosts in [[silent, port(&server)], [port(&server), silent]] {
        assert_eq!(answered(&hosts), port(&server));
    }
}

#[test]
fn of_two_primaries_the_one_that_was_promoted_last_is_spoken_to() {
    let mut old = Cluster::primary(UNFLUSHED).expect("a primary");
    let new = old.standby(UNFLUSHED).expect("a standby");
    let hosts = [port(&old), port(&new)];
    let back = [hosts[1], hosts[0]];
    assert_eq!((answered(&hosts), answered(&back)), (hosts[0], hosts[0]), "a standby cannot be written to");
    old.kill().expect("it ends");
    new.promote().expect("it takes the place");
    assert_eq!((answered(&hosts), answered(&back)), (hosts[1], hosts[1]));
    old.serve().expect("it comes back");
    assert_eq!(
        (answered(&hosts), answered(&back)),
        (hosts[1], hosts[1]),
        "the old one still believes in itself"
    );
}
