//! `store copy` at the command line: what is printed, how each bad input ends, and where a password comes from.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use tenure_cluster::Cluster;

use crate::place::Place;

/// A place with a few tasks, of which one is held, and a database.
fn begun() -> (Place, Cluster) {
    let place = Place::bound();
    for title in ["one", "two", "three"] {
        place.task(title, &["--label", "ui"]);
    }
    place.ok("ada", &["claim", "afc-1"]);
    place.ok("ada", &["note", "a needle in the haystack"]);
    (place, Cluster::start(&["fsync=off"]).expect("PostgreSQL"))
}

/// The command ends with this exit code and this `code`.
fn ends(place: &Place, words: &[&str], exit: i32, code: &str) -> Value {
    let ran = place.run("ada", &[&["store", "copy"], words, &["--json"]].concat());
    assert_eq!(ran.code, exit, "{words:?}: {}{}", ran.out, ran.err);
    assert!(ran.err.contains("next:"), "{words:?}: {}", ran.err);
    assert!(!(ran.out + &ran.err).contains("s3cret"), "{words:?} tell a password");
    let ran = place.run("ada", &[&["store", "copy"], words, &["--json"]].concat());
    let problem = ran.problem();
    assert_eq!(problem["code"], code, "{words:?}: {}", ran.out);
    problem
}

fn at(place: &Place, name: &str) -> String {
    place.root.path().join(name).to_str().expect("text").to_owned()
}

#[test]
fn a_fleet_moves_to_a_server_and_back_and_work_goes_on() {
    let (mut place, cluster) = begun();
    let (url, state, back) = (cluster.url(), at(&place, "state"), at(&place, "back"));
    let there = ["--from", &state, "--to", &url];
    let served = ends(&place, &there, 3, "in_use");
    assert!(served["next_actions"].to_string().contains("end the process"), "{served}");
    place.stop();

    let planned = place.ok("ada", &[&["store", "copy", "--dry-run"], &there[..]].concat()).out;
    for said in
        ["a copy of this store would be made", "3 tasks", "database postgres, schema tenure", "epoch 2"]
    {
        assert!(planned.contains(said), "{said} is missing: {planned}");
    }
    assert_eq!(cluster.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'tenure'").as_deref(), Ok("0"));
    let done = place.json("ada", &[&["store", "copy"], &there[..]].concat());
    assert_eq!(
        (&done["applied"], &done["epoch"], &done["rows"]["task"]),
        (&true.into(), &2.into(), &3.into())
    );
    assert_eq!(cluster.sql("SELECT count(*) FROM tenure.label").as_deref(), Ok("3"));
    assert_eq!(place.client().info().ok(), None, "a copy starts no daemon");
    let twice = ends(&place, &there, 8, "already_exists");
    assert!(twice["detail"].to_string().contains(done["fleet"].as_str().expect("an id")), "{twice}");

    let told = place.ok("ada", &["store", "copy", "--from", &url, "--to", &back]).out;
    assert!(told.starts_with("the store was copied") && told.contains("epoch 3"), "{told}");
    assert_eq!(fs::metadata(&back).expect("a folder").permissions().mode() & 0o777, 0o700);
    place.variables.push(("TENURE_STATE_DIR".to_owned(), back));
    place.ok("bob", &["audit", "verify"]);
    let found = place.json("bob", &["search", "needle"]);
    assert_eq!(found["tasks"][0]["id"], "afc-1", "{found}");
    let claimed = place.json("bob", &["claim", "afc-1"]);
    assert_eq!(claimed["mode"], "recovery", "{claimed}");
    let daemon = tenure_client::call::Client::new(&place.root.path().join("back"), None, Box::new(|_| ()));
    crate::place::signal(daemon.info().expect("a daemon").pid, rustix::process::Signal::TERM);
}

#[test]
fn what_is_no_place_is_told_by_its_option() {
    let place = Place::new();
    let (state, other) = (at(&place, "state"), at(&place, "other"));
    let none = ends(&place, &["--from", &state, "--to", &other], 7, "not_found");
    assert!(none["detail"].to_string().contains(&state), "{none}");
    assert!(!place.root.path().join("other").exists(), "nothing is made for nothing");
    fs::write(&other, "a file").expect("written");
    let secret = "postgres://me:s3cret@here";
    for (words, told) in [
        (&["--from", &state, "--to", &other][..], "is a file"),
        (&["--from", &state, "--to", &state], "cannot be copied onto itself"),
        (&["--from", secret, "--to", &state], "--from: the address names no database"),
        (&["--from", &state, "--to", "mysql://me@here/fleet"], "--to: the address of the database is no URL"),
        (&["--from", &state, "--to", "postgres://me@h/d", "--from-password-file", "p"], "is a folder"),
        (&["--from", &state, "--to", "postgres://me@h/d", "--to-password-file", "none"], "cannot read none"),
    ] {
        let problem = ends(&place, words, 1, "invalid_input");
        assert!(problem["detail"].to_string().contains(told), "{words:?}: {problem}");
    }
    let unknown = place.run("ada", &["store", "copy", "--from", &state, "--to", "new", "--json=no"]);
    assert!(unknown.code == 1 && unknown.err.contains("from_epoch"), "{}", unknown.err);
}

#[test]
fn a_password_comes_from_the_environment_or_from_a_file_of_its_side() {
    let (mut place, cluster) = begun();
    place.stop();
    cluster.sql("CREATE DATABASE other").expect("created");
    cluster.sql("ALTER USER tenure PASSWORD 's3cret'").expect("altered");
    let rules = cluster.folder().join("data/pg_hba.conf");
    fs::write(rules, "local all all scram-sha-256\n").expect("written");
    cluster.sql("SELECT pg_reload_conf()").expect("reloaded");
    crate::place::until("a password is asked for", || cluster.sql("SELECT 1").is_err());
    let (state, url) = (at(&place, "state"), cluster.url());
    let words = ["--from", &state, "--to", &url];
    ends(&place, &words, 2, "cannot_tell");
    for (text, exit, code) in
        [("wrong", 2, "cannot_tell"), ("s3cret\nmore\n", 1, "invalid_input"), ("", 1, "invalid_input")]
    {
        fs::write(place.checkout().join("password"), text).expect("written");
        ends(&place, &[&words[..], &["--to-password-file", "password"]].concat(), exit, code);
    }
    fs::write(place.checkout().join("password"), "s3cret\n").expect("written");
    place.ok("ada", &[&["store", "copy"], &words[..], &["--to-password-file", "password"]].concat());
    let second = url.replace("/postgres", "/other?schema=second");
    place.variables.push(("PGPASSWORD".to_owned(), "s3cret".to_owned()));
    let done = place.json("ada", &["store", "copy", "--from", &url, "--to", &second]);
    assert_eq!((&done["from_epoch"], &done["epoch"]), (&2.into(), &3.into()));
}
