//! `store restored` at the command line: what is printed, what it does beside a daemon, and how each bad input ends.

use std::fs;

use tenure_cluster::Cluster;

use crate::place::Place;

#[test]
fn a_folder_that_was_set_back_goes_on_in_its_next_epoch_once_its_daemon_has_ended() {
    let place = Place::bound();
    place.task("one", &[]);
    place.ok("ada", &["claim", "afc-1"]);
    let state = place.state().to_str().expect("text").to_owned();
    let beside = place.run("ada", &["store", "restored", &state, "--json"]);
    assert_eq!((beside.code, &beside.problem()["code"]), (3, &"in_use".into()), "{}", beside.err);
    place.stop();

    let planned = place.ok("ada", &["store", "restored", &state, "--dry-run"]).out;
    for said in ["the next epoch would begin", "ends:", "1 lease", "task_claimed", "of epoch 1", "--dry-run"]
    {
        assert!(planned.contains(said), "{said} is missing: {planned}");
    }
    let done = place.json("ada", &["store", "restored", &state]);
    assert_eq!(
        (&done["applied"], &done["from_epoch"], &done["leases"]),
        (&true.into(), &1.into(), &1.into())
    );
    assert_eq!(place.client().info().ok(), None, "it starts no daemon");
    let beat = place.run("ada", &["heartbeat", "afc-1", "--json"]);
    assert_eq!((beat.code, &beat.problem()["code"]), (6, &"epoch_changed".into()), "{}", beat.err);
    let info = place.client().info().expect("a daemon");
    assert_eq!(done["epoch"], info.epoch.0);
    place.ok("ada", &["audit", "verify"]);
    place.stop();
}

#[test]
fn what_is_no_restored_store_is_told_by_its_argument() {
    let place = Place::new();
    let state = place.state().to_str().expect("text").to_owned();
    let cluster = Cluster::start(&["fsync=off"]).expect("PostgreSQL");
    fs::write(place.checkout().join("password"), "s3cret\n").expect("written");
    let (url, file) = (cluster.url(), ["--password-file", "password"]);
    for (words, exit, code, told) in [
        (&[&state[..]][..], 7, "not_found", "no fleet lives in"),
        (&[&url], 7, "not_found", "no fleet lives in PostgreSQL at"),
        (&[&url, file[0], file[1]], 7, "not_found", "no fleet lives in PostgreSQL at"),
        (&[&state, file[0], file[1]], 1, "invalid_input", "--password-file is named, and WHERE is a folder"),
        (&["mysql://me@here/fleet"], 1, "invalid_input", "WHERE: the address of the database is no URL"),
        (&[], 1, "invalid_input", "WHERE"),
    ] {
        let ran = place.run("ada", &[&["store", "restored"], words, &["--json"]].concat());
        let problem = ran.problem();
        assert_eq!((ran.code, &problem["code"]), (exit, &code.into()), "{words:?}: {}", ran.err);
        assert!(problem.to_string().contains(told), "{words:?}: {problem}");
        assert!(!(ran.out + &ran.err).contains("s3cret"), "{words:?} tell a password");
    }
    assert_eq!(cluster.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'tenure'").as_deref(), Ok("0"));
}
