//! Where a store lives: closed to other users, opened by one engine at a time, and never touched by an older one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tenure_core::wire::FLEET_MARKER;
use tenure_engine::store::driver::{Class, Driver};
use tenure_engine::store::folder::{DATABASE, FolderError, hold_existing};
use tenure_engine::store::sqlite::{Role, Sqlite};
use tenure_engine::{Engine, OpenError, Options};

fn open(folder: &Path) -> Result<Engine, OpenError> {
    Engine::open(folder, Options::default())
}

fn refused(folder: &Path) -> OpenError {
    match open(folder) {
        Err(error) => error,
        Ok(_) => panic!("{} was opened", folder.display()),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

#[test]
fn nobody_else_can_read_a_store() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("a/b");
    let engine = open(&folder).expect("a new store");
    engine.probe().expect("it can be written");
    engine.info().expect("it can be read");
    assert_eq!(mode(&folder), 0o700);
    for file in [DATABASE, "tenure.db-wal", "tenure.db-shm"] {
        assert_eq!(mode(&folder.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_store_that_was_open_to_others_is_closed_to_them() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    open(&folder).expect("a new store").close();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("changed");
    fs::set_permissions(folder.join(DATABASE), fs::Permissions::from_mode(0o644)).expect("changed");
    let _engine = open(&folder).expect("opened again");
    assert_eq!((mode(&folder), mode(&folder.join(DATABASE))), (0o700, 0o600));
}

#[test]
fn a_second_engine_is_refused_by_every_path() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    let engine = open(&folder).expect("a new store");
    let linked = place.path().join("linked");
    symlink(&folder, &linked).expect("a link");
    let beside = place.path().join("beside");
    fs::create_dir(&beside).expect("a folder");
    symlink(folder.join(DATABASE), beside.join(DATABASE)).expect("a link");
    let hard = place.path().join("hard");
    fs::create_dir(&hard).expect("a folder");
    fs::hard_link(folder.join(DATABASE), hard.join(DATABASE)).expect("a link");
    for path in [&folder, &linked, &beside, &hard] {
        let error = refused(path);
        assert!(matches!(error, OpenError::Folder(FolderError::InUse(_))), "{}: {error}", path.display());
        assert!(error.to_string().contains(DATABASE), "it names the store: {error}");
        engine.probe().expect("the first engine is undisturbed");
    }
    engine.close();
    drop(engine);
    open(&folder).expect("free again");
}

#[test]
fn another_process_is_kept_out_by_the_lock_on_the_file() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    let _engine = open(&folder).expect("a new store");
    let status = std::process::Command::new("flock")
        .args(["--nonblock", "--conflict-exit-code", "9"])
        .arg(folder.join(DATABASE))
        .arg("true")
        .status()
        .expect("flock(1) of util-linux is there");
    assert_eq!(status.code(), Some(9));
}

#[test]
fn a_store_of_a_newer_version_is_not_touched() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    open(&folder).expect("a new store").close();
    let database = folder.join(DATABASE);
    let mut newer = Sqlite::open(&database, Role::Writer).expect("a connection");
    newer.migrate(99, "CREATE TABLE later (a INTEGER)").expect("changed");
    drop(newer);
    let before = fs::read(&database).expect("bytes");
    match refused(&folder) {
        OpenError::Store(path, error) => {
            assert_eq!(error.class, Class::NewerSchema);
            assert!(path.ends_with(DATABASE) && error.detail.contains("99"), "{error}");
        }
        other => panic!("{other}"),
    }
    assert_eq!(fs::read(&database).expect("bytes"), before);
}

#[test]
fn what_is_no_database_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join(DATABASE), "something else entirely ".repeat(100)).expect("written");
    match refused(&folder) {
        OpenError::Store(_, error) => assert_eq!(error.class, Class::Corrupt),
        other => panic!("{other}"),
    }
}

#[test]
fn a_store_keeps_its_fleet_over_restarts() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    let first = open(&folder).expect("a new store");
    let before = first.info().expect("told");
    drop(first);
    let after = open(&folder).expect("opened again").info().expect("told");
    assert_eq!((before.fleet.len(), before.epoch.0, before.event.0), (32, 1, 1));
    assert_eq!((&before.fleet, before.event), (&after.fleet, after.event));
    assert!(after.fleet_time >= before.fleet_time);
    assert!(after.database.starts_with("SQLite 3."));
}

#[test]
fn no_new_fleet_is_founded_where_one_was_lost() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, database) = (place.path().join("store"), place.path().join("store").join(DATABASE));
    let engine = open(&folder).expect("a new store");
    let fleet = engine.info().expect("told").fleet;
    engine.close();
    drop(engine);
    let whole = fs::read(&database).expect("bytes");
    assert_eq!(mode(&folder.join(FLEET_MARKER)), 0o600);
    let _ = fs::remove_file(folder.join("tenure.db-wal"));

    let lost = || match refused(&folder) {
        OpenError::Folder(FolderError::Emptied { fleet, .. }) => fleet,
        other => panic!("{other}"),
    };
    fs::remove_file(&database).expect("removed");
    assert_eq!(lost(), fleet, "a database that is missing");
    assert!(!database.exists(), "nothing was made in its place");
    fs::write(&database, "").expect("written");
    assert_eq!(lost(), fleet, "a database that is empty");
    let bare = place.path().join("bare.db");
    fs::write(&bare, "").expect("written");
    drop(Sqlite::open(&bare, Role::Writer).expect("a database without tables"));
    fs::copy(&bare, &database).expect("copied");
    assert_eq!(lost(), fleet, "a database without its log");

    fs::write(&database, whole).expect("restored");
    let engine = open(&folder).expect("it goes on");
    assert_eq!(engine.info().expect("told").fleet, fleet);
    engine.close();
    drop(engine);
    for file in [DATABASE, FLEET_MARKER] {
        fs::remove_file(folder.join(file)).expect("removed");
    }
    let _ = fs::remove_file(folder.join("tenure.db-wal"));
    let anew = open(&folder).expect("a new fleet, as was asked");
    assert_ne!(anew.info().expect("told").fleet, fleet);
}

#[test]
fn a_database_of_another_fleet_is_refused_and_the_note_of_the_first_is_kept() {
    let place = tempfile::tempdir().expect("a folder");
    let folders = ["here", "there"].map(|name| place.path().join(name));
    let fleets = folders.each_ref().map(|folder| {
        let engine = open(folder).expect("a new store");
        let fleet = engine.info().expect("told").fleet;
        engine.close();
        fleet
    });
    let [here, there] = &folders;
    fs::copy(there.join(DATABASE), here.join(DATABASE)).expect("copied");
    let OpenError::Folder(FolderError::Foreign { fleet, noted, .. }) = refused(here) else {
        panic!("another refusal");
    };
    assert_eq!([noted, fleet], fleets);
    for note in ["", "\n"] {
        fs::write(here.join(FLEET_MARKER), note).expect("written");
        assert_eq!(open(here).expect("opened").info().expect("told").fleet, fleets[1], "an interrupted note");
    }
    assert_eq!(fs::read_to_string(here.join(FLEET_MARKER)).expect("read").trim(), fleets[1]);
}

#[test]
fn a_store_that_cannot_be_looked_at_is_not_taken_for_none() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("store");
    assert!(hold_existing(&folder).expect("looked").is_none());
    fs::create_dir(&folder).expect("a folder");
    assert!(hold_existing(&folder).expect("looked").is_none());
    std::os::unix::fs::symlink("/proc/1/no-disk/tenure.db", folder.join(DATABASE)).expect("linked");
    let error = hold_existing(&folder).expect_err("a link to a place that is not there");
    assert!(matches!(error, FolderError::Io(..)), "{error}");
}

#[test]
fn after_a_close_the_database_file_alone_is_the_whole_store() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, copy) = (place.path().join("store"), place.path().join("copy"));
    let engine = open(&folder).expect("a new store");
    let fleet = engine.info().expect("told").fleet;
    engine.close();
    fs::create_dir(&copy).expect("a folder");
    fs::copy(folder.join(DATABASE), copy.join(DATABASE)).expect("copied");
    let copied = open(&copy).expect("a whole store").info().expect("told");
    assert_eq!((copied.fleet, copied.event.0), (fleet, 1));
}
