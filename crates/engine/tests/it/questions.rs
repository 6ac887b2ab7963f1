//! Questions whose connection has ended, or whose database stands still.

use std::thread;

use serde_json::{Value, json};
use tenure_cluster::{Cluster, Ending};
use tenure_core::envelope::Envelope;
use tenure_core::model::refusal::Refusal;
use tenure_engine::store::driver::{Class, Driver, Patience, Role, StoreError};
use tenure_engine::store::postgres::Postgres;
use tenure_engine::store::postgres::address::Address;
use tenure_engine::{Engine, Failure, Options};

use crate::world::{Agent, operation};

/// A server of a fleet with one project, and its database.
struct Scene {
    engine: Engine,
    cluster: Cluster,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let cluster = Cluster::start(&["fsync=off"]).expect("PostgreSQL");
        let folder = tempfile::tempdir().expect("a folder");
        let database = Some(Address::parse(&cluster.url(), None).expect("an address"));
        let engine =
            Engine::open(folder.path(), Options { database, ..Options::default() }).expect("a server");
        let founder = Agent::new("founder", 1);
        engine.call(founder.open()).expect("opened");
        let create = operation("project.create", json!({ "key": "afc" }));
        engine.call(founder.command(create)).expect("created");
        Self { engine, cluster, _folder: folder }
    }

    fn ask(&self) -> Result<Value, Failure> {
        let question = operation("ready", json!({ "project": "afc" }));
        let answer = self.engine.read(&question, &Envelope::default())?;
        Ok(serde_json::from_str(&answer).expect("answers are JSON"))
    }

    /// Asks so many questions at once, so that as many connections are idle afterwards.
    fn ask_at_once(&self, count: usize) -> Vec<Result<Value, Failure>> {
        thread::scope(|scope| {
            let asking: Vec<_> = (0..count).map(|_| scope.spawn(|| self.ask())).collect();
            asking.into_iter().map(|asked| asked.join().expect("it is asked")).collect()
        })
    }
}

#[test]
fn nobody_hears_that_the_connections_for_questions_have_ended() {
    let mut scene = Scene::new();
    for round in 0..4 {
        assert!(scene.ask_at_once(8).iter().all(Result::is_ok));
        if round % 2 == 0 {
            let ended = scene.cluster.terminate_backends("tenure").expect("an operator may");
            assert!(ended > 2, "{ended} connections: too quiet to prove anything");
        } else {
            // Nobody has written anything since.
            scene.cluster.end(Ending::Fast).expect("it ends");
            scene.cluster.serve().expect("it comes back");
        }
        let told = scene.ask_at_once(8);
        assert!(told.iter().all(Result::is_ok), "round {round}: {told:?}");
    }
}

#[test]
fn a_question_to_a_database_that_stands_still_ends_and_tells_so() {
    let scene = Scene::new();
    assert!(scene.ask_at_once(2).iter().all(Result::is_ok));
    let still = scene.cluster.stand_still().expect("it stands still");
    let told = scene.ask_at_once(6);
    for failure in told.into_iter().map(|told| told.expect_err("nobody answers")) {
        let Failure::CannotTell(error) = &failure else { panic!("{failure:?}") };
        assert!(matches!(error.class, Class::Io | Class::Busy), "{error}");
        let refusal = Refusal::from(failure.clone());
        assert!(
            refusal.detail.contains("cannot be reached") || refusal.detail.contains("is busy"),
            "{}",
            refusal.detail
        );
    }
    drop(still);
    assert!(scene.ask_at_once(6).iter().all(Result::is_ok), "it is asked as before");
}

#[test]
fn what_takes_longer_than_anybody_waits_is_given_up_unless_it_may_take_its_time() {
    let cluster = Cluster::start(&["fsync=off"]).expect("PostgreSQL");
    let address = Address::parse(&cluster.url(), None).expect("an address");
    let asked = |patience| -> Result<(), StoreError> {
        let mut driver = Postgres::open(&address, Role::Reader)?;
        driver.set_patience(patience);
        driver.query("SELECT 1 FROM pg_sleep(11)", &[], &mut |_| Ok(()))
    };
    let [bounded, unbounded] = thread::scope(|scope| {
        let asking =
            [Patience::Bounded, Patience::Unbounded].map(|patience| scope.spawn(move || asked(patience)));
        asking.map(|asked| asked.join().expect("it is asked"))
    });
    let given_up = bounded.expect_err("somebody waits for it");
    assert_eq!(given_up.class, Class::Busy, "{given_up}");
    assert!(given_up.detail.contains("statement timeout"), "the database works on it no longer: {given_up}");
    assert_eq!(unbounded, Ok(()));
}
