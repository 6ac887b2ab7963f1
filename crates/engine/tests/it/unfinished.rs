//! A server that is cut off in the middle of a question is at work to the database, and no timeout of its own counts.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tenure_cluster::Cluster;
use tenure_engine::store::driver::{Class, Driver, Role};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection that speaks the database's protocol by itself, and so can stop in the middle.
struct Faltering(TcpStream);

impl Faltering {
    /// Asks a question to its end, and begins another one.
    fn after(host: (&str, u16), question: &str) -> Self {
        let mut line = Self(TcpStream::connect(host).expect("it listens"));
        let (version, who) = (3_i32 << 16, b"user\0tenure\0database\0postgres\0\0");
        line.send(None, &[version.to_be_bytes().as_slice(), who].concat());
        line.wait_until_ready();
        line.send(Some(b'Q'), format!("{question}\0").as_bytes());
        line.wait_until_ready();
        line.send(Some(b'P'), b"\0SELECT 1\0\0\0");
        line
    }

    fn send(&mut self, kind: Option<u8>, content: &[u8]) {
        let length = i32::try_from(content.len() + 4).expect("short");
        let message = [kind.as_slice(), &length.to_be_bytes(), content].concat();
        self.0.write_all(&message).expect("it is there");
    }

    fn wait_until_ready(&mut self) {
        let mut kind = [0];
        while kind != *b"Z" {
            let mut length = [0; 4];
            self.0.read_exact(&mut kind).and_then(|()| self.0.read_exact(&mut length)).expect("it answers");
            let mut content = vec![0; u32::from_be_bytes(length) as usize - length.len()];
            self.0.read_exact(&mut content).expect("all of it");
            assert_ne!(kind, *b"E", "{}", String::from_utf8_lossy(&content));
        }
    }
}

/// A database where somebody stopped in the middle of a question after another one, and a server that comes later.
fn after(question: &str) -> (Cluster, Faltering, Postgres) {
    let cluster = Cluster::listening(&["fsync=off"]).expect("PostgreSQL");
    cluster.sql("CREATE SCHEMA tenure; CREATE TABLE tenure.fleet AS SELECT 'one' AS id").expect("made");
    let host = cluster.host().expect("it listens");
    let faltering = Faltering::after(host, &format!("SET search_path = tenure; {question}"));
    let url = format!("postgres://tenure@{}:{}/postgres", host.0, host.1);
    let address = Address::parse(&url, None).expect("an address");
    let driver = Postgres::open(&address, Role::Writer).expect("a connection");
    (cluster, faltering, driver)
}

#[test]
fn who_has_the_fleets_row_and_does_not_end_its_question_loses_it() {
    let (_cluster, _faltering, mut driver) = after("BEGIN; SELECT 1 FROM fleet FOR UPDATE");
    driver.begin_write().expect("begun");
    let kept_waiting = driver.execute("UPDATE fleet SET id = 'two'", &[]).expect_err("the row is held");
    assert_eq!(kept_waiting.class, Class::Busy, "{kept_waiting}");
    driver.rollback().expect("taken back");
    driver.begin_write().expect("begun");
    driver.execute("UPDATE fleet SET id = 'two'", &[]).expect("the row is free");
    driver.commit().expect("committed");
}

#[test]
fn who_leads_and_does_not_end_its_question_leads_no_longer() {
    let (_cluster, _faltering, mut driver) =
        after("SELECT pg_advisory_lock(hashtextextended(current_schema(), 2))");
    let begun = Instant::now();
    while !driver.leads().expect("an answer") {
        assert!(begun.elapsed() < PATIENCE, "it leads for ever");
        // waits because: a server asks once a second whether it leads.
        std::thread::sleep(Duration::from_millis(200));
    }
}
