//! Backups of a store that serves: what is written, what is checked, what is refused, and what one that was cut off
//! leaves.

use std::fs;

use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::backup::create::{self, create};
use tenure_engine::backup::{BackupError, manifest_of};
use tenure_engine::store::driver::Driver;
use tenure_engine::store::folder::DATABASE;
use tenure_engine::store::sqlite::{Role, Sqlite};

use crate::scene::{Scene, close, mode, verify, work};
use crate::world::Agent;

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
    fs::write(&other, "something else").expect("written");
    for (file, code) in [(other, Code::NotFound), (scene.state().join(DATABASE), Code::InvalidInput)] {
        let before = fs::read(&file).expect("bytes");
        let refusal = Refusal::from(engine.backup(&file, true).expect_err("no backup"));
        assert_eq!(refusal.code, code, "{}", refusal.detail);
        assert_eq!(fs::read(&file).expect("bytes"), before);
    }
    let nowhere = scene.place.path().join("no/such/folder/backup.db");
    assert_eq!(Refusal::from(engine.backup(&nowhere, false).expect_err("nowhere")).code, Code::InvalidInput);
}

/// The names in a scene's place, without its state folder and what a test put there.
fn beside(scene: &Scene) -> Vec<String> {
    let names = fs::read_dir(scene.place.path()).expect("ours").flatten();
    let mut names: Vec<_> = names.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.contains("backup.db"));
    names.sort();
    names
}

#[test]
fn a_file_never_stands_beside_the_manifest_of_another_whatever_ends_a_backup() {
    use create::Step::{Named, Unvouched, Vouched, Written};
    for replaces in [false, true] {
        let scene = Scene::new();
        close(scene.begun());
        let mut driver = Sqlite::open(&scene.state().join(DATABASE), Role::Writer).expect("a connection");
        let now = tenure_core::model::time::WallTime(1);
        let earlier = replaces.then(|| {
            let earlier = create(&mut driver, &scene.file(), false, now, &mut |_| ()).expect("a backup");
            driver.execute("UPDATE fleet SET wall = wall + 1", &[]).expect("something happens");
            earlier
        });
        let mut left = Vec::new();
        let later = tenure_core::model::time::WallTime(2);
        let made = create(&mut driver, &scene.file(), replaces, later, &mut |step| {
            let place = scene.place.path().join(format!("{step:?}"));
            fs::create_dir(&place).expect("a folder");
            for name in beside(&scene) {
                fs::copy(scene.place.path().join(&name), place.join(&name)).expect("copied");
            }
            left.push((step, place.join("backup.db")));
        })
        .expect("a backup");
        assert_eq!(beside(&scene), ["backup.db", "backup.db.json"]);
        let steps: Vec<_> = left.iter().map(|(step, _)| *step).collect();
        let expected =
            if replaces { vec![Written, Unvouched, Named, Vouched] } else { vec![Written, Named, Vouched] };
        assert_eq!(steps, expected);
        for (step, file) in left {
            match (step, verify(&file)) {
                (Written, found) => assert_eq!(found.ok(), earlier, "{step:?}"),
                (Unvouched | Named, Err(error @ BackupError::Unvouched { is_cut_off: true, .. })) => {
                    let refusal = Refusal::from(error);
                    assert_eq!(refusal.code, Code::NotFound);
                    assert!(refusal.next_actions[0].contains("--replace"), "{refusal:?}");
                }
                (Vouched, found) => assert_eq!(found.expect("whole"), made),
                (step, other) => panic!("{step:?}: {other:?}"),
            }
            // Without the wish to replace it, what is there becomes whole and stays.
            let is_there = file.exists();
            let again = create(&mut driver, &file, false, later, &mut |_| ());
            assert_eq!(again.is_ok(), !is_there, "{step:?}");
            let whole = verify(&file).expect("it was made whole");
            assert_eq!(Some(&whole) == earlier.as_ref(), replaces && step != Named && step != Vouched);
            create(&mut driver, &file, true, later, &mut |_| ()).expect("replaced");
            let names = fs::read_dir(file.parent().expect("a place")).expect("ours").count();
            assert_eq!(names, 2, "{step:?}: something is left");
        }
    }
}

#[test]
fn what_is_no_half_made_backup_for_sure_is_not_replaced() {
    let scene = Scene::new();
    let engine = scene.begun();
    engine.backup(&scene.file(), false).expect("a backup");
    let manifest = manifest_of(&scene.file());
    // A run that was cut off left a manifest, and somebody put another file in its place.
    fs::rename(&manifest, scene.place.path().join(".backup.db.json.tenure-draft")).expect("renamed");
    fs::write(scene.file(), "something else").expect("written");
    for replace in [false, true] {
        let refusal = Refusal::from(engine.backup(&scene.file(), replace).expect_err("it is not a backup"));
        let expected = if replace { Code::NotFound } else { Code::AlreadyExists };
        assert_eq!(refusal.code, expected, "{refusal:?}");
        assert!(!refusal.next_actions[0].starts_with("take it anew"), "{refusal:?}");
        assert_eq!(fs::read_to_string(scene.file()).expect("text"), "something else");
    }
    assert!(!manifest.exists());
}

#[test]
fn a_draft_takes_no_name_of_anybody_and_only_one_writes_it() {
    let scene = Scene::new();
    let engine = scene.begun();
    let mine = scene.place.path().join("backup.db.draft");
    fs::write(&mine, "mine").expect("written");
    let draft = scene.place.path().join(".backup.db.json.tenure-draft");
    fs::write(&draft, "what a run that was killed left").expect("written");
    let other = fs::File::open(&draft).expect("it is there");
    other.lock().expect("locked");
    let error = engine.backup(&scene.file(), false).expect_err("another writes");
    assert!(matches!(error, BackupError::Busy(_)), "{error}");
    assert!(draft.exists() && !scene.file().exists());
    drop(other);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..6 {
                    match engine.backup(&scene.file(), true) {
                        Ok(_) | Err(BackupError::Busy(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    verify(&scene.file()).expect("it is whole");
    assert_eq!(beside(&scene), ["backup.db", "backup.db.draft", "backup.db.json"]);
    assert_eq!(fs::read_to_string(&mine).expect("text"), "mine");
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
    assert_eq!(Refusal::from(error).code, Code::StateConflict, "it is the store, not the file");
    assert!(!scene.file().exists() && !manifest_of(&scene.file()).exists());
}

#[test]
fn only_a_whole_backup_of_the_same_fleet_is_replaced() {
    let (scene, other) = (Scene::new(), Scene::new());
    let (engine, another) = (scene.begun(), other.begun());
    another.backup(&other.file(), false).expect("a backup");
    let before = fs::read(other.file()).expect("there");
    let foreign = engine.backup(&other.file(), true).expect_err("of another fleet");
    assert!(matches!(foreign, BackupError::Foreign { .. }), "{foreign}");
    assert_eq!(fs::read(other.file()).expect("there"), before);
    engine.backup(&scene.file(), false).expect("a backup");
    fs::write(scene.file(), "something of the user's own").expect("written");
    let altered = engine.backup(&scene.file(), true).expect_err("no backup any more");
    assert!(matches!(altered, BackupError::Altered(..)), "{altered}");
    assert_eq!(fs::read(scene.file()).expect("there"), b"something of the user's own");
    close(engine);
    close(another);
}
