//! No room is left on the disk of the database: its tables and its log, all of it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use tenure_cluster::{Cluster, Ending, Place, versions};
use tenure_core::operation::ownership::WriteNote;
use tenure_sim::agent::Outcome;
use tenure_sim::disk::{self, Disk};
use tenure_sim::fleet::{Fleet, tell_recovery, url};
use tenure_sim::load::Load;
use tenure_sim::place::PROJECT;
use tenure_sim::seed::Seed;
use tenure_sim::waiting;

use super::super::races::named;
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
    let seed = Seed::of_this_run();
    // Whoever runs PostgreSQL passes it too.
    let passable = Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(passable).tempdir().expect("a folder");
    let disk = Disk::mount(folder.path(), "110m");
    let newest = versions().expect("folders can be read").pop().expect("PostgreSQL is there");
    let mut database =
        Cluster::listening_at(Place::below(folder.path(), newest).expect("a place"), UNFLUSHED)
            .expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let fleet = Fleet::of([&url, &url]);
    let agents = fleet.crowd(2);
    let ada = fleet.agent(0, "ada").logging(&fleet.logs());
    let task = format!("{PROJECT}-1").parse().expect("a valid id");
    ada.ask(&named(&task)).ok();
    let note = |number: u32| WriteNote {
        task: task.clone(),
        text: format!("{number} {}", "x".repeat(20_000)),
        recovery: false,
    };
    ada.ask(&note(0)).ok();
    Load::during(&agents, seed, |load| {
        load.go_on(60);
        disk.fill();
        let mut number = 0;
        let said = waiting::some("a note finds no room", || {
            number += 1;
            match ada.ask(&note(number)) {
                Outcome::Unknown(detail) => Some(detail),
                Outcome::Ok(_) => None,
                Outcome::Refused(refusal) => panic!("a full disk is no refusal: {refusal:?}"),
            }
        });
        eprintln!("after {} more notes the coordinator said: {said}", number - 1);
        disk.clear();
        // Without room for its log the database ends by itself; whoever gave it room starts it again.
        let ended = database.has_ended();
        if ended {
            database.end(Ending::Immediate).expect("it has ended");
            database.serve().expect("it comes back");
        }
        tell_recovery(if ended { "room, and a start" } else { "room" }, load.recovery());
        number += 1;
        ada.ask(&note(number)).ok();
    });
    fleet.judge();
}
