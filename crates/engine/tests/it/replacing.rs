//! Backups on their way back into a state folder: what is refused, what is kept, and that no number comes again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tenure_core::model::limits::RESTORE_SKIP;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::backup::create::create;
use tenure_engine::backup::manifest_of;
use tenure_engine::backup::replace::{Step, restore};
use tenure_engine::store::driver::Driver;
use tenure_engine::store::folder::{DATABASE, FolderError};
use tenure_engine::store::schema_known;
use tenure_engine::store::sqlite::{Role, Sqlite};
use tenure_engine::{Engine, OpenError, Options};

use crate::scene::{Scene, ask, close, contents, done, mode, plan, snapshot, verify, work};
use crate::world::{Agent, operation};

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
    assert_eq!(refusal.code, Code::NotYetBuilt);
    assert!(refusal.detail.contains("schema 99"), "{}", refusal.detail);
}

#[test]
fn a_store_in_use_and_another_fleet_are_left_alone() {
    let scene = Scene::new();
    scene.backed_up();
    let engine = scene.open();
    let looked = plan(&scene.state(), &scene.file(), &scene.clocks).expect("a look disturbs nobody");
    assert!(looked.is_served && looked.present.is_some());
    let error = scene.restore().expect_err("in use");
    assert_eq!(Refusal::from(error).code, Code::InUse);
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
    let plan = plan(&scene.state(), &scene.file(), &scene.clocks).expect("a plan");
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
    let (plan, left) = scene.restored_in_steps();
    let steps: Vec<Step> = left.iter().map(|(step, _)| *step).collect();
    assert_eq!(steps, [Step::Copied, Step::Restored, Step::Kept, Step::Cleared, Step::Replaced]);
    for (step, folder) in left {
        let engine = scene.open_in(&folder);
        let info = engine.info().expect("told");
        assert_eq!(engine.verify_chain(None, &mut |_| {}).expect("it can be read").flaw, None, "{step:?}");
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
fn a_store_that_cannot_be_read_never_serves_without_its_log() {
    let scene = Scene::new();
    scene.backed_up();
    let begun = scene.open().info().expect("told").event;
    // What an ended daemon left: a log that holds all its work, and in it what cannot be read.
    let engine = scene.open();
    work(&engine, &Agent::new("bob", 1), 2);
    let head = engine.info().expect("told").event;
    let running = scene.place.path().join("running");
    snapshot(&scene.state(), &running);
    close(engine);
    fs::remove_dir_all(scene.state()).expect("removed");
    fs::rename(&running, scene.state()).expect("renamed");
    let mut behind = Sqlite::open(&scene.state().join(DATABASE), Role::Writer).expect("a connection");
    behind.execute("UPDATE body SET details = '\"criteria_given\"'", &[]).expect("edited");
    drop(behind);
    assert!(begun < head);

    let (plan, left) = scene.restored_in_steps();
    assert!(plan.unreadable.is_some() && !plan.is_known, "{plan:?}");
    let steps: Vec<Step> = left.iter().map(|(step, _)| *step).collect();
    let expected = [Step::Copied, Step::Restored, Step::Kept, Step::Vacated, Step::Cleared, Step::Replaced];
    assert_eq!(steps, expected);
    for (step, folder) in left {
        let again = scene.place.path().join(format!("{step:?}-again"));
        snapshot(&folder, &again);
        let options = Options { clocks: scene.clocks.clone(), ..Options::default() };
        match (step, Engine::open(&folder, options)) {
            (Step::Copied | Step::Restored | Step::Kept, Ok(engine)) => {
                assert_eq!(engine.info().expect("told").event, head, "{step:?}");
                close(engine);
            }
            (Step::Vacated | Step::Cleared, Err(OpenError::Folder(error @ FolderError::CutOff { .. }))) => {
                assert!(error.remedy().contains("tenure restore FILE"), "{}", error.remedy());
            }
            (Step::Replaced, Ok(engine)) => {
                assert_eq!(engine.info().expect("told").epoch, plan.epoch);
                close(engine);
            }
            (step, opened) => panic!("{step:?}: {:?}", opened.map(|_| "opened")),
        }
        // And it can be restored from there, whether a daemon was started meanwhile or not.
        for folder in [folder, again] {
            restore(&folder, &scene.file(), &*scene.clocks, &mut |_| ()).expect("restored");
            assert!(scene.open_in(&folder).info().expect("told").epoch >= plan.epoch, "{step:?}");
            let is_kept = |entry: fs::DirEntry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_log = name.ends_with("-wal") || name.ends_with("-shm");
                (name.contains(".before-epoch-") && !is_log).then(|| entry.path())
            };
            let kept: Vec<PathBuf> =
                fs::read_dir(&folder).expect("ours").flatten().filter_map(is_kept).collect();
            let heads = kept.iter().map(|kept| newest_in(kept)).collect::<Vec<_>>();
            assert!(heads.contains(&head.0), "{step:?}: {kept:?} {heads:?}");
            assert!(!heads.contains(&begun.0), "{step:?}: a store without its log: {kept:?}");
        }
    }
}

/// The number of the last event of a store under any name, as any tool that opens it finds it.
fn newest_in(database: &Path) -> u64 {
    let mut driver = Sqlite::open(database, Role::Writer).expect("a connection");
    let mut newest = 0;
    driver
        .query("SELECT max(number) FROM event", &[], &mut |row| {
            newest = row.integer(0)?.and_then(|number| u64::try_from(number).ok()).unwrap_or(0);
            Ok(())
        })
        .expect("it can be read");
    newest
}

#[test]
fn a_restore_that_was_cut_off_behind_a_link_is_refused_and_finished_there() {
    let scene = Scene::new();
    scene.backed_up();
    let disk = scene.place.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    fs::rename(scene.state().join(DATABASE), disk.join("fleet.db.restoring")).expect("moved");
    std::os::unix::fs::symlink("../disk/fleet.db", scene.state().join(DATABASE)).expect("linked");
    let options = Options { clocks: scene.clocks.clone(), ..Options::default() };
    let Err(OpenError::Folder(FolderError::CutOff { database, .. })) = Engine::open(&scene.state(), options)
    else {
        panic!("a new fleet, or another refusal");
    };
    assert_eq!(database, disk.canonicalize().expect("ours").join("fleet.db"));
    scene.restore().expect("restored");
    assert!(disk.join("fleet.db").is_file() && scene.state().join(DATABASE).is_symlink());
    assert!(!disk.join("fleet.db.restoring").exists());
}

#[test]
fn a_log_without_its_database_is_kept_and_not_played_into_another() {
    let scene = Scene::new();
    scene.backed_up();
    fs::remove_file(scene.state().join(DATABASE)).expect("lost");
    fs::write(scene.state().join("tenure.db-wal"), "what is left").expect("written");
    let plan = scene.restore().expect("restored");
    let log = scene.state().join(format!("tenure.db.before-epoch-{}-wal", plan.epoch));
    assert_eq!(fs::read_to_string(log).expect("it is kept"), "what is left");
    assert_eq!(scene.open().info().expect("told").epoch, plan.epoch);
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
    assert_eq!(engine.verify_chain(None, &mut |_| {}).expect("it can be read").flaw, None);

    let broken = "nothing that a database would hold ".repeat(1_000);
    for file in [DATABASE, "tenure.db-wal"] {
        fs::write(scene.state().join(file), &broken).expect("written");
    }
    let plan = scene.restore().expect("restored");
    assert!(plan.unreadable.is_some() && !plan.is_known, "{plan:?}");
    let kept = plan.kept_as.expect("it is kept");
    assert_eq!(fs::read_to_string(&kept).expect("text"), broken);
    let log = scene.state().join(format!("tenure.db.before-epoch-{}-wal", plan.epoch));
    assert_eq!(fs::read_to_string(log).expect("text"), broken, "its log is kept where it is found");
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
    let plan = plan(&scene.state(), &later, &scene.clocks).expect("a plan");
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
    older.migrate(1, crate::world::FIRST_SCHEMA).expect("as it was");
    let now = tenure_core::model::time::WallTime(1);
    let manifest = create(&mut older, &scene.file(), false, now, &mut |_| ());
    assert_eq!(manifest.expect("a backup").schema, 1);
    older.settle().expect("one file");
    drop(older);
    let plan = scene.restore().expect("restored");
    assert!(plan.is_known);
    assert_eq!(scene.open().info().expect("told").schema, schema_known());
}
