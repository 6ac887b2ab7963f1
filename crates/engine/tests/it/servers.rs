//! Several engines on one PostgreSQL: they write one after another, and each hears what the others commit.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_cluster::{Cluster, Lending, Pooler};
use tenure_core::model::event::Fleet;
use tenure_core::model::limits::Durations;
use tenure_core::working_set::News;
use tenure_engine::clock::{FleetClock, MachineClocks};
use tenure_engine::execute::run_batch;
use tenure_engine::store::driver::{Class, Driver, Each, Role, StoreError, Value as Stored};
use tenure_engine::store::folder::FolderError;
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;
use tenure_engine::store::shape::State;
use tenure_engine::store::{event, fleet};
use tenure_engine::{Command, Engine, Failure, OpenError, Options};

use crate::world::{Agent, operation, pass_the_rest_on};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A database, and a folder for each of its servers.
struct Place {
    folders: tempfile::TempDir,
    cluster: Cluster,
}

impl Place {
    fn new() -> Self {
        let cluster = Cluster::start(&["fsync=off"]).expect("PostgreSQL");
        Self { folders: tempfile::tempdir().expect("a folder"), cluster }
    }

    fn address(&self) -> Address {
        Address::parse(&self.cluster.url(), None).expect("an address")
    }

    fn serve(&self, name: &str) -> Result<Engine, OpenError> {
        let folder = self.folders.path().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Engine::open(&folder, Options { database: Some(self.address()), ..Options::default() })
    }

    fn server(&self, name: &str) -> Engine {
        self.serve(name).expect("a server")
    }
}

fn done(engine: &Engine, command: Command) -> Value {
    serde_json::from_str(&engine.call(command).expect("accepted")).expect("answers are JSON")
}

/// A project and its tasks.
fn filled(engine: &Engine, tasks: usize) -> Agent {
    let founder = Agent::new("founder", 99);
    done(engine, founder.open());
    done(engine, founder.command(operation("project.create", json!({ "key": "afc" }))));
    for number in 0..tasks {
        done(engine, created(&founder, &format!("task {number}")));
    }
    founder
}

fn created(agent: &Agent, title: &str) -> Command {
    agent.command(operation("task.create", json!({ "project": "afc", "title": title })))
}

fn claim(agent: &Agent) -> Command {
    agent.command(operation("claim", json!({ "projects": ["afc"], "another": true })))
}

#[test]
fn the_server_that_comes_first_founds_the_fleet_and_all_others_join_it() {
    let place = Place::new();
    let engines: Vec<Engine> = thread::scope(|scope| {
        let starting: Vec<_> =
            ["a", "b", "c"].map(|name| scope.spawn(|| place.server(name))).into_iter().collect();
        starting.into_iter().map(|server| server.join().expect("it starts")).collect()
    });
    let fleets: BTreeSet<String> = engines.iter().map(|engine| engine.info().expect("told").fleet).collect();
    assert_eq!(fleets.len(), 1, "{fleets:?}");
}

#[test]
fn two_servers_never_give_one_task_to_two_sessions_and_leave_one_record() {
    let place = Place::new();
    let servers = [place.server("a"), place.server("b")];
    filled(&servers[0], 60);
    let claimed: Vec<String> = thread::scope(|scope| {
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let engine = &servers[client % 2];
                scope.spawn(move || {
                    let agent = Agent::new(&format!("agent-{client}"), client as u8 + 1);
                    done(engine, agent.open());
                    let mut got = Vec::new();
                    loop {
                        match engine.call(claim(&agent)) {
                            Ok(answer) => {
                                let answer: Value = serde_json::from_str(&answer).expect("JSON");
                                got.push(answer["task"]["id"].to_string());
                            }
                            Err(Failure::Refused(_)) => return got,
                            Err(Failure::CannotTell(error)) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        clients.into_iter().flat_map(|client| client.join().expect("it works")).collect()
    });
    let different: BTreeSet<&String> = claimed.iter().collect();
    assert_eq!((claimed.len(), different.len()), (60, 60));
    for server in &servers {
        let report = server.verify_chain(None, &mut |_| ()).expect("it can be read");
        assert_eq!(report.flaw, None);
    }
}

#[test]
fn who_comes_while_a_server_waits_for_its_turn_shares_that_turn() {
    let place = Place::new();
    let (a, b) = (place.server("a"), place.server("b"));
    let founder = filled(&a, 0);
    // From the second on, `a` knows that it is not alone.
    done(&b, created(&founder, "by the other"));
    done(&a, created(&founder, "after the other"));
    let before = a.info().expect("told").event.0;
    let mut other = Postgres::open(&place.address(), Role::Writer).expect("a connection");
    other.begin_write().expect("it begins");
    fleet::existing(&mut other).expect("it has the lock");
    let (tell, told) = channel();
    let submit = |title: &str| {
        let tell = tell.clone();
        a.submit(created(&founder, title), Box::new(move |answer| drop(tell.send(answer.outcome))));
    };
    submit("first");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while place.cluster.sql(waiting).expect("told") == "0" {
        // waits because: only the database knows when the server stands before the lock
        thread::sleep(Duration::from_millis(2));
    }
    submit("second");
    submit("third");
    other.rollback().expect("it lets go");
    for _ in 0..3 {
        told.recv_timeout(PATIENCE).expect("in time").expect("accepted");
    }
    let turns =
        format!("SELECT count(*), count(DISTINCT xmin::text) FROM tenure.event WHERE number > {before}");
    assert_eq!(place.cluster.sql(&turns).expect("counted"), "3|1");
}

#[test]
fn more_rows_than_one_statement_takes_are_written_and_so_is_what_is_nothing() {
    let place = Place::new();
    drop(place.server("a"));
    let mut driver = Postgres::open(&place.address(), Role::Writer).expect("a connection");
    let mut rows = Vec::new();
    for number in 1_001..=1_600 {
        let text = |text: &str| Stored::Text(text.to_owned().into());
        let project = if number % 2 == 0 { Stored::Null } else { text("a, \"b\" {c} \\ NULL") };
        rows.extend([
            Stored::Integer(number),
            text("note_recorded"),
            project,
            Stored::Null,
            text(""),
            text("hash"),
        ]);
    }
    driver.begin_write().expect("it begins");
    driver.write_rows(event::shape(), State::New, &[]).expect("none are none");
    driver.write_rows(event::shape(), State::New, &rows).expect("kept");
    driver.commit().expect("written");
    let found = "SELECT count(*), count(DISTINCT number), count(project), count(task), max(project), max(length(body)) \
        FROM tenure.event WHERE number > 1000";
    assert_eq!(place.cluster.sql(found).expect("counted"), "600|600|300|0|a, \"b\" {c} \\ NULL|0");
}

#[test]
fn rows_that_are_not_as_they_were_taken_to_be_fail_the_batch() {
    let place = Place::new();
    drop(place.server("a"));
    let mut driver = Postgres::open(&place.address(), Role::Writer).expect("a connection");
    let known = fleet::existing(&mut driver).expect("a fleet").id;
    for (state, id) in [(State::New, &*known), (State::Stored, "of another fleet")] {
        let text = |text: &str| Stored::Text(text.to_owned().into());
        let mut row = vec![text(id)];
        row.extend([1, 2, 3, 4].map(Stored::Integer));
        row.extend([text("head"), Stored::Integer(5)]);
        driver.begin_write().expect("it begins");
        driver.write_rows(fleet::shape(), state, &row).expect("sent with the commit");
        let error = driver.commit().expect_err("nothing that was believed is so");
        driver.rollback().expect("it is taken back");
        assert!(matches!(error.class, Class::Corrupt | Class::Other), "{state:?}: {error}");
    }
    assert_eq!(fleet::existing(&mut driver).expect("a fleet").id, known);
}

/// What a server hears from now on.
fn ear(engine: &Engine) -> Receiver<News> {
    let (tell, told) = channel();
    engine.hear(Box::new(move |news| drop(tell.send(news.clone()))));
    told
}

/// Waits until something was heard of up to an event, and returns what was heard on the way.
fn hear_of(told: &Receiver<News>, event: u64) -> Vec<News> {
    let mut heard = Vec::new();
    while heard.last().is_none_or(|news: &News| news.event.0 < event) {
        heard.push(told.recv_timeout(PATIENCE).expect("it is heard of in time"));
    }
    heard
}

#[test]
fn a_server_hears_what_another_one_freed() {
    let place = Place::new();
    let (a, b) = (place.server("a"), place.server("b"));
    let founder = filled(&a, 1);
    let told = ear(&b);
    // Once it is up to date it hears each commit by itself.
    let mut heard;
    loop {
        done(&a, created(&founder, "another"));
        heard = hear_of(&told, a.info().expect("told").event.0);
        if heard.iter().all(|news| !news.is_vague) {
            break;
        }
    }
    assert!(heard.iter().any(|news| news.freed.values().sum::<usize>() == 1), "{heard:?}");
}

/// A connection of a server whose announcements are all lost.
struct Silent {
    inner: Postgres,
}

impl Driver for Silent {
    fn begin_write(&mut self) -> Result<(), StoreError> {
        self.inner.begin_write()
    }

    fn begin_read(&mut self) -> Result<(), StoreError> {
        self.inner.begin_read()
    }

    fn begin_migration(&mut self) -> Result<(), StoreError> {
        self.inner.begin_migration()
    }

    fn execute(&mut self, sql: &str, values: &[Stored<'_>]) -> Result<u64, StoreError> {
        self.inner.execute(sql, values)
    }

    fn query(&mut self, sql: &str, values: &[Stored<'_>], each: &mut Each<'_>) -> Result<(), StoreError> {
        self.inner.query(sql, values, each)
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        self.inner.commit()
    }

    pass_the_rest_on!();
}

#[test]
fn a_server_learns_of_commits_whose_announcements_are_all_lost() {
    let place = Place::new();
    let b = place.server("b");
    let founder = filled(&b, 1);
    let told = ear(&b);
    let mut silent = Silent { inner: Postgres::open(&place.address(), Role::Writer).expect("a connection") };
    let before = fleet::existing(&mut silent).expect("a fleet");
    let clock = FleetClock::join(&before, &MachineClocks);
    let store: &mut dyn Driver = &mut silent;
    let committed = run_batch(
        store,
        &clock,
        &MachineClocks,
        vec![created(&founder, "unheard")],
        None,
        Durations::default(),
    );
    let Fleet { event, .. } = committed.expect("it commits").fleet;
    let heard = hear_of(&told, event.0);
    assert!(heard.iter().any(|news| news.is_vague), "whoever waits must look: {heard:?}");
}

#[test]
fn a_folder_is_one_servers_and_one_fleets() {
    let place = Place::new();
    drop(place.server("a"));
    let folder = place.folders.path().join("a");
    let file = Engine::open(&folder, Options::default()).map(drop);
    let Err(OpenError::Folder(error @ FolderError::Elsewhere { .. })) = file else { panic!("{file:?}") };
    assert!(error.to_string().contains("PostgreSQL at"), "{error}");

    let other = format!("{}?schema=other", place.cluster.url());
    let database = Some(Address::parse(&other, None).expect("an address"));
    let other = Engine::open(&folder, Options { database: database.clone(), ..Options::default() }).map(drop);
    assert!(matches!(other, Err(OpenError::Folder(FolderError::Foreign { .. }))), "{other:?}");

    let own = place.folders.path().join("own");
    drop(Engine::open(&own, Options::default()).expect("a store in a file"));
    let taken = Engine::open(&own, Options { database, ..Options::default() }).map(drop);
    assert!(matches!(taken, Err(OpenError::Folder(FolderError::Own(_)))), "{taken:?}");
}

#[test]
fn two_fleets_share_a_database_by_their_schemas() {
    let place = Place::new();
    let one = place.server("one");
    filled(&one, 2);
    let url = format!("{}?schema=two", place.cluster.url());
    let database = Some(Address::parse(&url, None).expect("an address"));
    let folder = place.folders.path().join("two");
    std::fs::create_dir(&folder).expect("a folder");
    let two = Engine::open(&folder, Options { database, ..Options::default() }).expect("a server");
    assert_ne!(one.info().expect("told").fleet, two.info().expect("told").fleet);
    assert_eq!(two.info().expect("told").event.0, 1, "a new fleet");
}

#[test]
fn a_database_of_a_newer_version_is_refused_before_anything_is_written() {
    let place = Place::new();
    drop(place.server("a"));
    place.cluster.sql("INSERT INTO tenure.migration VALUES (999)").expect("inserted");
    let refused = place.serve("b").map(drop);
    let Err(OpenError::Store(_, error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.class, Class::NewerSchema);
}

#[test]
fn one_server_leads_and_another_one_when_it_has_gone() {
    let place = Place::new();
    let leaders = || {
        let sql = "SELECT string_agg(pid::text, ' ') FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'";
        place.cluster.sql(sql).expect("told")
    };
    let until = |wanted: &dyn Fn(&str) -> bool| {
        let begun = Instant::now();
        loop {
            let found = leaders();
            if wanted(&found) {
                return found;
            }
            assert!(begun.elapsed() < PATIENCE, "{found}");
        }
    };
    let a = place.server("a");
    let first = until(&|pids| !pids.is_empty());
    let b = place.server("b");
    done(&b, Agent::new("somebody", 1).open());
    assert_eq!(leaders(), first, "there is one leader");
    a.close();
    drop(a);
    until(&|pids| !pids.is_empty() && *pids != *first && !pids.contains(' '));
}

fn finding(engine: &Engine, name: &str) -> (Option<bool>, String) {
    let found = engine.checkup().expect("looked at");
    let found = found.into_iter().find(|finding| finding.name == name).expect("it is looked at");
    assert_eq!(found.next.is_some(), found.is_good != Some(true), "{found:?}");
    (found.is_good, found.found)
}

#[test]
fn what_a_fleet_stands_on_is_looked_at() {
    let place = Place::new();
    let a = place.server("a");
    for name in ["version", "writing", "encoding", "collation", "rights", "isolation", "pooling"] {
        let (is_good, found) = finding(&a, name);
        assert_eq!(is_good, Some(true), "{name}: {found}");
    }
    // The tests' own server is not flushed.
    assert_eq!(finding(&a, "durability").0, Some(false));
    assert_eq!(finding(&a, "standby").0, None, "told, since one may want no standby");
    place
        .cluster
        .sql(
            "CREATE COLLATION other (LOCALE = 'C.utf8'); \
             ALTER TABLE tenure.label ALTER COLUMN label TYPE TEXT COLLATE other",
        )
        .expect("altered");
    assert_eq!(finding(&a, "collation").0, Some(false));
    place.cluster.sql("CREATE ROLE other; ALTER TABLE tenure.label OWNER TO other; CREATE ROLE small LOGIN; GRANT USAGE ON SCHEMA tenure TO small; GRANT SELECT ON ALL TABLES IN SCHEMA tenure TO small").expect("altered");
    let small = place.cluster.url().replacen("tenure@", "small@", 1);
    let address = Address::parse(&small, None).expect("an address");
    let found = tenure_engine::store::postgres::checkup::look(&address).expect("looked at");
    let rights = found.iter().find(|finding| finding.name == "rights").expect("looked at");
    assert_eq!(rights.is_good, Some(false), "{rights:?}");
}

#[test]
fn a_database_of_another_encoding_is_refused() {
    let place = Place::new();
    place.cluster.sql("CREATE DATABASE old ENCODING 'SQL_ASCII' TEMPLATE template0").expect("made");
    let url = format!("{}old", place.cluster.url().trim_end_matches("postgres"));
    let database = Some(Address::parse(&url, None).expect("an address"));
    let folder = place.folders.path().join("old");
    std::fs::create_dir(&folder).expect("a folder");
    let refused = Engine::open(&folder, Options { database, ..Options::default() }).map(drop);
    let Err(OpenError::Store(_, error)) = refused else { panic!("{refused:?}") };
    assert!(error.detail.contains("encoding: SQL_ASCII"), "{error}");
}

#[test]
fn a_pooler_that_lends_by_the_transaction_is_refused_and_one_that_lends_sessions_is_not() {
    let place = Place::new();
    for (lending, is_taken) in [(Lending::Transaction, false), (Lending::Session, true)] {
        let pooler = Pooler::start(&place.cluster, lending).expect("a pooler");
        let database = Some(Address::parse(pooler.url(), None).expect("an address"));
        let folder = place.folders.path().join("pooled");
        std::fs::create_dir_all(&folder).expect("a folder");
        match Engine::open(&folder, Options { database, ..Options::default() }) {
            Ok(engine) => {
                assert!(is_taken, "{lending:?}");
                filled(&engine, 3);
            }
            Err(OpenError::Store(_, error)) => {
                assert!(!is_taken && error.detail.contains("pooler lends sessions"), "{lending:?}: {error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
}
