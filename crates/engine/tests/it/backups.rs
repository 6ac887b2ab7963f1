//! Backups of a store that serves, and their way back into a state folder: what is checked, what is refused, what is
//! kept, and that no number comes again.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::backup::Manifest;
use tenure_core::model::limits::RESTORE_SKIP;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::backup::check::verify;
use tenure_engine::backup::replace::{Plan, Step, plan, restore};
use tenure_engine::backup::{BackupError, manifest_of};
use tenure_engine::store::driver::Driver;
use tenure_engine::store::folder::DATABASE;
use tenure_engine::store::sqlite::{Role, Sqlite};
use tenure_engine::{Command, Engine, Options};

use crate::world::{Agent, StillClocks, operation};

/// A state folder, and a place beside it for backups.
struct Scene {
    place: tempfile::TempDir,
    clocks: Arc<StillClocks>,
}

/// An engine that is let go of at once.
fn close(engine: Engine) {
    engine.close();
    drop(engine);
}

fn done(engine: &Engine, command: Command) -> Value {
    let answer = engine.call(command).expect("accepted");
    serde_json::from_str(&answer).expect("answers are JSON")
}

fn ask(engine: &Engine, name: &str, input: Value) -> Value {
    let answer = engine.read(&operation(name, input), &Envelope::default()).expect("answered");
    serde_json::from_str(&answer).expect("answers are JSON")
}

impl Scene {
    fn new() -> Self {
        Self { place: tempfile::tempdir().expect("a folder"), clocks: StillClocks::new() }
    }

    fn state(&self) -> PathBuf {
        self.place.path().join("state")
    }

    fn file(&self) -> PathBuf {
        self.place.path().join("backup.db")
    }

    fn open_in(&self, folder: &Path) -> Engine {
        let options = Options { clocks: self.clocks.clone(), ..Options::default() };
        Engine::open(folder, options).expect("a store")
    }

    fn open(&self) -> Engine {
        self.open_in(&self.state())
    }

    /// A store with a project and a few tasks, one of them claimed.
    fn begun(&self) -> Engine {
        let engine = self.open();
        let bob = Agent::new("bob", 1);
        done(&engine, bob.open());
        done(&engine, bob.command(operation("project.create", json!({ "key": "afc" }))));
        work(&engine, &bob, 3);
        engine
    }

    /// A backup of a store that is closed then.
    fn backed_up(&self) -> Manifest {
        let engine = self.begun();
        let manifest = engine.backup(&self.file(), false).expect("a backup");
        close(engine);
        manifest
    }

    fn restore(&self) -> Result<Plan, BackupError> {
        restore(&self.state(), &self.file(), &*self.clocks, &mut |_| ())
    }

    /// What a restore is refused with, both when it is only planned and when it is meant.
    fn refused(&self, file: &Path) -> Refusal {
        let before = contents(&self.state());
        let planned = plan(&self.state(), file, &*self.clocks).expect_err("refused");
        let meant = restore(&self.state(), file, &*self.clocks, &mut |_| ()).expect_err("refused");
        assert_eq!(planned.to_string(), meant.to_string());
        assert_eq!(contents(&self.state()), before, "a refusal changes nothing");
        Refusal::from(meant)
    }
}

/// The names and bytes of what counts in a folder: the store and what is kept of it.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let counts = !name.ends_with(".lock") && !name.ends_with("-shm") && !name.ends_with("-wal");
        if counts && entry.path().is_file() {
            found.push((name, fs::read(entry.path()).expect("it is ours")));
        }
    }
    found.sort();
    found
}

/// Creates so many tasks and claims one.
fn work(engine: &Engine, agent: &Agent, tasks: usize) -> Vec<Value> {
    let create = |n| operation("task.create", json!({ "project": "afc", "title": format!("task {n}") }));
    let mut answers: Vec<Value> = (0..tasks).map(|n| done(engine, agent.command(create(n)))).collect();
    let input = json!({ "projects": ["afc"], "another": true });
    answers.push(done(engine, agent.command(operation("claim", input))));
    answers
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_backup_is_a_private_copy_of_the_committed_state_with_a_manifest_that_vouches_for_it() {
    let scene = Scene::new();
    let engine = scene.begun();
    let info = engine.info().expect("told");
    let manifest = engine.backup(&scene.file(), false).expect("a backup");
    assert_eq!((&manifest.fleet, manifest.epoch, manifest.event), (&info.fleet, info.epoch, info.event));
    assert_eq!((manifest.schema, manifest.database), (info.schema, info.database));
    // The store goes on; the backup stays what it is.
    work(&engine, &Agent::new("bob", 1), 1);
    let manifest = verify(&scene.file()).expect("it is whole");
    let sum =
        std::process::Command::new("sha256sum").arg(scene.file()).output().expect("it is part of Debian");
    assert!(String::from_utf8_lossy(&sum.stdout).starts_with(&manifest.sha256.to_string()));
    for path in [scene.file(), manifest_of(&scene.file())] {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let beside: Vec<_> =
        fs::read_dir(scene.place.path()).expect("ours").flatten().map(|e| e.file_name()).collect();
    assert_eq!(beside.len(), 3, "a draft was left: {beside:?}");
}

#[test]
fn an_earlier_backup_is_replaced_when_that_is_wished_and_nothing_else_ever() {
    let scene = Scene::new();
    let engine = scene.begun();
    let first = engine.backup(&scene.file(), true).expect("there is none yet");
    let refused = engine.backup(&scene.file(), false).expect_err("it is there");
    assert_eq!(Refusal::from(refused).code, Code::AlreadyExists);
    assert_eq!(verify(&scene.file()).expect("it is whole"), first);
    work(&engine, &Agent::new("bob", 1), 1);
    let second = engine.backup(&scene.file(), true).expect("replaced");
    assert!(second.event > first.event);
    assert_eq!(verify(&scene.file()).expect("it is whole"), second);

    let other = scene.place.path().join("letter");
    for file in [other.clone(), scene.state().join(DATABASE)] {
        if file == other {
            fs::write(&file, "something else").expect("written");
        }
        let before = fs::read(&file).expect("bytes");
        let refusal = Refusal::from(engine.backup(&file, true).expect_err("no backup"));
        assert_eq!(refusal.code, Code::NotFound, "{}", refusal.detail);
        assert_eq!(fs::read(&file).expect("bytes"), before);
    }
    let nowhere = scene.place.path().join("no/such/folder/backup.db");
    assert_eq!(Refusal::from(engine.backup(&nowhere, false).expect_err("nowhere")).code, Code::InvalidInput);
}

#[test]
fn any_altered_byte_of_a_backup_is_noticed() {
    let scene = Scene::new();
    scene.backed_up();
    let (file, manifest) = (scene.file(), manifest_of(&scene.file()));
    for (path, step) in [(&file, 2_003), (&manifest, 7)] {
        let whole = fs::read(path).expect("bytes");
        let mut tried = 0;
        for at in (0..whole.len()).step_by(step).chain([whole.len() - 1]) {
            let mut altered = whole.clone();
            altered[at] ^= 0x10;
            fs::write(path, &altered).expect("written");
            let error = verify(&file).expect_err("it is noticed");
            assert!(matches!(error, BackupError::Altered(..)), "byte {at}: {error}");
            tried += 1;
        }
        assert!(tried > 40, "only {tried} bytes of {}", path.display());
        for cut in [0, 1, whole.len() / 2, whole.len() - 1] {
            fs::write(path, &whole[..cut]).expect("written");
            verify(&file).expect_err("it is noticed");
        }
        fs::write(path, [&whole[..], b"x"].concat()).expect("written");
        verify(&file).expect_err("it is noticed");
        fs::write(path, whole).expect("written");
        verify(&file).expect("it is whole again");
    }
}

#[test]
fn a_record_that_was_altered_before_the_backup_is_not_backed_up() {
    let scene = Scene::new();
    close(scene.begun());
    let mut behind = Sqlite::open(&scene.state().join(DATABASE), Role::Writer).expect("a connection");
    behind
        .execute("UPDATE event SET body = replace(body, 'bob', 'eve') WHERE number = 4", &[])
        .expect("edited");
    drop(behind);
    let error = scene.open().backup(&scene.file(), false).expect_err("it is noticed");
    assert!(error.to_string().contains("event 4 was altered"), "{error}");
    assert!(!scene.file().exists() && !manifest_of(&scene.file()).exists());
}

#[test]
fn what_is_no_whole_backup_is_not_restored() {
    let scene = Scene::new();
    scene.backed_up();
    let missing = scene.place.path().join("missing.db");
    assert_eq!(scene.refused(&missing).code, Code::NotFound);
    assert_eq!(scene.refused(scene.place.path()).code, Code::InvalidInput, "a folder");
    let bare = scene.place.path().join("bare.db");
    fs::copy(scene.file(), &bare).expect("copied");
    let refusal = scene.refused(&bare);
    assert_eq!(refusal.code, Code::NotFound);
    assert!(refusal.detail.contains("bare.db.json"), "{}", refusal.detail);
    let mut newer = verify(&scene.file()).expect("whole");
    newer.schema = 99;
    fs::write(manifest_of(&bare), newer.sealed().to_text()).expect("written");
    assert_eq!(scene.refused(&bare).code, Code::InvalidInput, "the manifest is of another store");
    let mut later = Sqlite::open(&bare, Role::Writer).expect("a connection");
    later.migrate(99, "CREATE TABLE later (a INTEGER)").expect("changed");
    later.settle().expect("one file");
    drop(later);
    let mut newer = verify(&scene.file()).expect("whole");
    let sum = std::process::Command::new("sha256sum").arg(&bare).output().expect("it is part of Debian");
    newer.sha256 = String::from_utf8_lossy(&sum.stdout)[..64].parse().expect("a digest");
    newer.bytes = fs::metadata(&bare).expect("it is there").len();
    newer.schema = 99;
    fs::write(manifest_of(&bare), newer.sealed().to_text()).expect("written");
    let refusal = scene.refused(&bare);
    assert_eq!(refusal.code, Code::CannotTell);
    assert!(refusal.detail.contains("schema 99"), "{}", refusal.detail);
}

#[test]
fn a_store_in_use_and_another_fleet_are_left_alone() {
    let scene = Scene::new();
    scene.backed_up();
    let engine = scene.open();
    let error = plan(&scene.state(), &scene.file(), &*scene.clocks).expect_err("in use");
    assert_eq!(Refusal::from(error).code, Code::StateConflict);
    engine.probe().expect("undisturbed");
    close(engine);

    let other = Scene::new();
    close(other.begun());
    let refusal = other.refused(&scene.file());
    assert_eq!(refusal.code, Code::StateConflict);
    assert!(
        refusal.detail.contains("another") || refusal.detail.contains("lives here"),
        "{}",
        refusal.detail
    );
    // The marker speaks also where the database is gone.
    fs::remove_file(other.state().join(DATABASE)).expect("removed");
    assert_eq!(other.refused(&scene.file()).code, Code::StateConflict);
}

#[test]
fn a_plan_says_what_is_lost_and_changes_nothing() {
    let scene = Scene::new();
    let manifest = scene.backed_up();
    let engine = scene.open();
    let bob = Agent::new("bob", 1);
    work(&engine, &bob, 5);
    let head = engine.info().expect("told").event;
    close(engine);
    let before = contents(&scene.state());
    let plan = plan(&scene.state(), &scene.file(), &*scene.clocks).expect("a plan");
    assert_eq!(contents(&scene.state()), before);
    assert!(plan.is_known);
    let present = plan.present.expect("it is there");
    assert_eq!((present.fleet.event, present.lost.after), (head, manifest.event));
    assert_eq!((present.lost.events, present.lost.unknown_here), (head.0 - manifest.event.0, 0));
    assert_eq!(present.lost.kinds["task_created"], 5);
    assert_eq!(present.lost.newest[0].number, head);
    assert_eq!((plan.epoch.0, plan.event.0), (2, head.0 + 1));
    let kept = plan.kept_as.expect("it is kept");
    assert!(kept.ends_with("tenure.db.before-epoch-2"), "{}", kept.display());
}

/// Every number that a store has given anybody.
fn numbers(engine: &Engine) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let events = ask(engine, "events", json!({ "limit": 1000 }));
    for event in events["events"].as_array().expect("a list") {
        found.insert(format!("event {}", event["number"]));
        for field in ["task", "attempt"] {
            found.extend(event[field].as_str().map(str::to_owned));
        }
        if let Some(revision) = event["data"].get("revision") {
            found.insert(format!("{} revision {revision}", event["task"]));
        }
    }
    found
}

/// A random piece of work by a session that is opened for it.
fn storm(engine: &Engine, seed: &mut u64, round: u8) {
    let agent = Agent::new(&format!("bob-{round}"), round);
    done(engine, agent.open());
    let mut next = |below: u64| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    };
    for step in 0..12 {
        let title = format!("task {round} {step}");
        match next(3) {
            0 => {
                let edit = json!({ "projects": ["afc"], "another": true });
                let claimed = engine.call(agent.command(operation("claim", edit)));
                let Ok(claimed) = claimed else { continue };
                let claimed: Value = serde_json::from_str(&claimed).expect("JSON");
                let release = operation("release", json!({ "task": claimed["task"]["id"] }));
                done(engine, agent.fenced(release, &claimed));
            }
            1 => {
                let revision =
                    ask(engine, "task.show", json!({ "task": "afc-1" }))["task"]["revision"].clone();
                let edit = json!({ "task": "afc-1", "revision": revision, "title": title });
                done(engine, agent.command(operation("task.edit", edit)));
            }
            _ => {
                let create = json!({ "project": "afc", "title": title });
                done(engine, agent.command(operation("task.create", create)));
            }
        }
    }
}

#[test]
fn no_number_that_was_handed_out_after_the_backup_comes_again() {
    for number in 0..6 {
        let (scene, mut seed) = (Scene::new(), number);
        scene.backed_up();
        let mut handed_out = BTreeSet::new();
        for round in 2..8 {
            let engine = scene.open();
            let before = numbers(&engine);
            storm(&engine, &mut seed, round);
            let given: BTreeSet<String> = numbers(&engine).difference(&before).cloned().collect();
            let twice: Vec<_> = given.intersection(&handed_out).collect();
            assert!(twice.is_empty(), "seed {number}, round {round}: {twice:?}");
            handed_out.extend(given);
            let epoch = engine.info().expect("told").epoch;
            close(engine);
            scene.clocks.pass(1_000);
            let is_lost = round % 3 == 0;
            if is_lost {
                fs::remove_file(scene.state().join(DATABASE)).expect("lost");
            }
            let restored = scene.restore().expect("restored");
            assert_eq!(restored.is_known, !is_lost);
            assert!(restored.epoch > epoch, "{restored:?}");
        }
        assert!(handed_out.len() > 60, "too quiet: {}", handed_out.len());
    }
}

#[test]
fn whatever_ends_a_restore_leaves_the_old_store_or_the_new_one() {
    let scene = Scene::new();
    let manifest = scene.backed_up();
    let engine = scene.open();
    work(&engine, &Agent::new("bob", 1), 2);
    let head = engine.info().expect("told").event;
    close(engine);
    // What the disk holds when the process ends right after a step is what it holds then.
    let snapshot = |step: Step| {
        let folder = scene.place.path().join(format!("{step:?}"));
        fs::create_dir(&folder).expect("a folder");
        for entry in fs::read_dir(scene.state()).expect("ours").flatten() {
            fs::copy(entry.path(), folder.join(entry.file_name())).expect("copied");
        }
        (step, folder)
    };
    let mut left = Vec::new();
    let plan = restore(&scene.state(), &scene.file(), &*scene.clocks, &mut |step| left.push(snapshot(step)));
    let plan = plan.expect("restored");
    let steps: Vec<Step> = left.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [Step::Copied, Step::Restored, Step::Kept, Step::Cleared, Step::Replaced]);
    for (step, folder) in left {
        let engine = scene.open_in(&folder);
        let info = engine.info().expect("told");
        assert_eq!(engine.verify_chain(&mut |_| {}).expect("it can be read").flaw, None, "{step:?}");
        let is_new = step == Step::Replaced;
        assert_eq!(info.epoch.0, if is_new { 2 } else { 1 }, "{step:?}");
        assert_eq!(info.event >= plan.event, is_new, "{step:?}");
        close(engine);
        // And it can be restored from there: again, or for the first time.
        restore(&folder, &scene.file(), &*scene.clocks, &mut |_| ()).expect("restored");
        let info = scene.open_in(&folder).info().expect("told");
        assert_eq!(info.epoch.0, if is_new { 3 } else { 2 }, "{step:?}");
    }
    let kept = plan.kept_as.expect("it is kept");
    let before = scene.place.path().join("before");
    fs::create_dir(&before).expect("a folder");
    fs::copy(&kept, before.join(DATABASE)).expect("copied");
    let info = scene.open_in(&before).info().expect("the old store is whole");
    assert_eq!((info.epoch.0, info.event, mode(&kept)), (1, head, 0o600));
    assert!(manifest.event < head);
}

#[test]
fn an_empty_folder_takes_a_backup_and_a_broken_store_is_kept_aside() {
    let scene = Scene::new();
    let manifest = scene.backed_up();
    let elsewhere = scene.place.path().join("elsewhere");
    let plan = restore(&elsewhere, &scene.file(), &*scene.clocks, &mut |_| ()).expect("restored");
    assert!(plan.present.is_none() && plan.kept_as.is_none() && !plan.is_known);
    assert_eq!(plan.event.0, manifest.event.0 + RESTORE_SKIP + 1);
    let engine = scene.open_in(&elsewhere);
    assert_eq!(engine.info().expect("told").fleet, manifest.fleet);
    assert_eq!((mode(&elsewhere), mode(&elsewhere.join(DATABASE))), (0o700, 0o600));
    assert_eq!(engine.verify_chain(&mut |_| {}).expect("it can be read").flaw, None);

    let broken = "nothing that a database would hold ".repeat(1_000);
    for file in [DATABASE, "tenure.db-wal"] {
        fs::write(scene.state().join(file), &broken).expect("written");
    }
    let plan = scene.restore().expect("restored");
    assert!(plan.unreadable.is_some() && !plan.is_known, "{plan:?}");
    let kept = plan.kept_as.expect("it is kept");
    assert_eq!(fs::read_to_string(&kept).expect("text"), broken);
    let log = scene.state().join(format!("tenure.db-wal.before-epoch-{}", plan.epoch));
    assert_eq!(fs::read_to_string(log).expect("text"), broken, "its log is kept as well");
    assert_eq!(scene.open().info().expect("told").epoch, plan.epoch);
}

#[test]
fn a_store_of_another_past_tells_only_a_part() {
    let scene = Scene::new();
    let engine = scene.begun();
    engine.backup(&scene.file(), false).expect("a backup");
    work(&engine, &Agent::new("bob", 1), 2);
    let later = scene.place.path().join("later.db");
    let later_manifest = engine.backup(&later, false).expect("a backup");
    close(engine);
    scene.restore().expect("restored");
    let engine = scene.open();
    done(&engine, Agent::new("bob", 2).open());
    close(engine);
    let plan = plan(&scene.state(), &later, &*scene.clocks).expect("a plan");
    let lost = plan.present.expect("it is there").lost;
    assert!(lost.unknown_here > 0 && lost.events > 0 && !plan.is_known, "{lost:?}");
    assert!(lost.after < later_manifest.event);
    assert!(plan.event.0 > later_manifest.event.0 + RESTORE_SKIP);
}

#[test]
fn a_backup_of_the_first_schema_is_brought_up_to_date() {
    let scene = Scene::new();
    close(scene.begun());
    let mut older = Sqlite::open(&scene.state().join(DATABASE), Role::Writer).expect("a connection");
    older.migrate(1, "ALTER TABLE fleet DROP COLUMN floor").expect("as it was");
    let now = tenure_core::model::time::WallTime(1);
    let manifest = tenure_engine::backup::create::create(&mut older, &scene.file(), false, now);
    assert_eq!(manifest.expect("a backup").schema, 1);
    older.settle().expect("one file");
    drop(older);
    let plan = scene.restore().expect("restored");
    assert!(plan.is_known);
    assert_eq!(scene.open().info().expect("told").schema, 2);
}
