//! No room is left on the disk of the database: for its tables and its log, all of it; or for its log alone.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use tempfile::TempDir;
use tenure_cluster::{Cluster, Ending, Place, Version, versions};
use tenure_core::operation::task::CreateTask;
use tenure_sim::agent::Outcome;
use tenure_sim::disk::{self, Disk};
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::{self, Load};
use tenure_sim::seed::Seed;
use tenure_sim::waiting;

use super::UNFLUSHED;

#[test]
fn on_a_full_disk_of_the_database_nobody_can_tell_and_nothing_acknowledged_is_lost() {
    disk::in_a_namespace("processes::database::full_disk::on_a_small_disk");
}

#[test]
// ignored because: the test above starts it in a mount namespace of its own
#[ignore = "it is the inside of another test"]
fn on_a_small_disk() {
    if !disk::is_inside() {
        return;
    }
    let folder = passable();
    let disk = Disk::mount(folder.path(), "110m");
    let place = Place::below(folder.path(), newest()).expect("a place");
    let database = Cluster::listening_at(place, UNFLUSHED).expect("PostgreSQL");
    run_out_of_room(database, &disk, "No space left on device", &[Room::AfterAWhile]);
}

#[test]
fn when_the_log_of_the_database_has_no_room_it_panics_and_nothing_acknowledged_is_lost() {
    disk::in_a_namespace("processes::database::full_disk::on_a_small_disk_of_the_log");
}

#[test]
// ignored because: the test above starts it in a mount namespace of its own
#[ignore = "it is the inside of another test"]
fn on_a_small_disk_of_the_log() {
    if !disk::is_inside() {
        return;
    }
    let folder = passable();
    let disk = Disk::mount(folder.path(), "80m");
    let log = Place::below(folder.path(), newest()).expect("a place");
    let place = Place::of(newest()).expect("a place");
    let database = Cluster::logging_elsewhere(place, log.folder(), UNFLUSHED).expect("PostgreSQL");
    // Whoever finds no room in the log ends all processes of the server. It begins again from its log, if there is room.
    run_out_of_room(
        database,
        &disk,
        "PANIC:  could not write to file \"pg_wal/",
        &[Room::AtOnce, Room::AfterAWhile],
    );
}

/// A folder that whoever runs PostgreSQL passes too.
fn passable() -> TempDir {
    let passable = Permissions::from_mode(0o755);
    tempfile::Builder::new().permissions(passable).tempdir().expect("a folder")
}

fn newest() -> Version {
    versions().expect("folders can be read").pop().expect("PostgreSQL is there")
}

/// Writes so much to the log of the database.
const MEGABYTE: &str = "SELECT pg_logical_emit_message(false, 'somebody', repeat('x', 1048576))";

/// When there is room again.
#[derive(Debug, Clone, Copy)]
enum Room {
    /// When the database says that there is none.
    AtOnce,
    /// When a client was told that nobody can tell.
    AfterAWhile,
}

/// Two servers and their agents work on a database while its disk is filled, until it says so in these words, and go on
/// when there is room again.
fn run_out_of_room(mut database: Cluster, disk: &Disk, words: &str, rooms: &[Room]) {
    let seed = Seed::of_this_run();
    let url = url(&[database.host().expect("it listens")]);
    let fleet = Fleet::of([&url, &url]);
    let agents = fleet.crowd(2);
    let ada = fleet.agent(0, "ada").logging(&fleet.logs());
    let mut dice = Seed::of(seed, 100);
    let mut tasks = 0;
    let mut create = || {
        tasks += 1;
        // What cannot be made shorter fills a log soon.
        let description: String = (0..2_400).map(|_| format!("{:x}", dice.below(1 << 31))).collect();
        ada.ask(&CreateTask { description: Some(description), ..load::create(&format!("ada {tasks}")) })
    };
    create().ok();
    Load::during(&agents, seed, |load| {
        for room in rooms {
            load.go_on(60);
            let before = database.log().matches(words).count();
            let is_hit = || database.log().matches(words).count() > before;
            disk.fill();
            match room {
                Room::AtOnce => waiting::until("the database says that there is no room", || {
                    // Somebody else writes to its log as well, and much.
                    database.sql(MEGABYTE).ok();
                    is_hit()
                }),
                Room::AfterAWhile => {
                    let said = waiting::some("a task finds no room", || match create() {
                        Outcome::Unknown(detail) => is_hit().then_some(detail),
                        Outcome::Ok(_) => None,
                        Outcome::Refused(refusal) => panic!("a full disk is no refusal: {refusal:?}"),
                    });
                    eprintln!("the coordinator said: {said}");
                }
            }
            disk.clear();
            let cleared = Instant::now();
            // Without room for its log the database may end, also a while later. Whoever gave it room starts it again.
            let mut what = "room";
            waiting::until("the database is back", || {
                if database.has_ended() {
                    what = "room, and a start";
                    database.end(Ending::Immediate).expect("it has ended");
                    database.serve().expect("it comes back");
                }
                database.sql("SELECT 1").is_ok()
            });
            let back = cleared.elapsed().as_millis();
            tell_recovery(&format!("{room:?}: {what}, and the database after {back} ms"), load.recovery());
            create().ok();
        }
    });
    fleet.judge();
}
