//! The record against what was noted of it elsewhere, also in a real Git repository.

use std::process::Command;

use crate::place::Place;

const REF: &str = "refs/tenure/audit";

/// A place whose checkout is a real repository.
fn repository() -> Place {
    let place = Place::bound();
    git(&place, &["init", "--quiet"]);
    place
}

fn git(place: &Place, words: &[&str]) -> String {
    let output = Command::new("git")
        .args(words)
        .current_dir(place.checkout())
        .env_clear()
        .env("HOME", place.root.path())
        .output()
        .expect("Git");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

#[test]
fn an_anchor_is_told_alone_and_expected_as_it_was_told() {
    let place = Place::bound();
    let anchor = place.ok("ada", &["audit", "anchor"]).out;
    let anchor = anchor.trim_end();
    assert_eq!(place.json("ada", &["audit", "anchor"])["anchor"], anchor);
    place.task("one", &[]);
    let whole = place.json("ada", &["audit", "verify", "--expect", anchor]);
    assert_eq!(whole["intact"], true, "the record goes on from there: {whole}");
    let (event, hash) = anchor.split_once(':').expect("a number and a hash");
    for (expected, told) in [
        (format!("{event}:{}", "0".repeat(64)), "was rewritten"),
        (format!("9{event}:{hash}"), "the record ends before it"),
    ] {
        let broken = place.run("ada", &["audit", "verify", "--expect", &expected]);
        assert_eq!(broken.code, 10, "{}{}", broken.out, broken.err);
        assert!(broken.out.contains("BROKEN") && broken.out.contains(told), "{}", broken.out);
    }
    let refused = place.run("ada", &["audit", "verify", "--expect", hash]);
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(refused.err.contains("NUMBER:HASH"), "{}", refused.err);
}

#[test]
fn backups_and_exports_tell_where_the_record_ended() {
    let place = Place::bound();
    let anchor = place.json("ada", &["audit", "anchor"])["anchor"].as_str().expect("an anchor").to_owned();
    let export = place.json("ada", &["export", "jsonl", "--output", "lines"]);
    assert_eq!(export["anchor"], *anchor, "{export}");
    let backup = place.ok("ada", &["backup", "create", "../backup.db"]).out;
    assert!(backup.contains(&anchor), "{backup}");
}

#[test]
fn a_ref_keeps_every_anchor_and_the_record_must_have_the_last() {
    let place = repository();
    let first = place.json("ada", &["audit", "anchor", "--ref", REF]);
    assert_eq!(git(&place, &["rev-parse", REF]), first["commit"].as_str().expect("a commit"));
    let again = place.json("ada", &["audit", "anchor", "--ref", REF]);
    assert_eq!(again, first, "nothing is new");
    place.task("one", &[]);
    let second = place.json("ada", &["audit", "anchor", "--ref", REF]);
    assert_ne!(second["anchor"], first["anchor"]);
    let noted = git(&place, &["rev-list", REF]);
    let commits = [&second, &first].map(|noted| noted["commit"].as_str().expect("a commit"));
    assert_eq!(noted.lines().collect::<Vec<_>>(), commits);
    assert_eq!(place.json("ada", &["audit", "verify", "--expect-ref", REF])["intact"], true);
    assert_eq!(git(&place, &["status", "--porcelain"]), "", "nothing of the checkout is touched");
}

#[test]
fn nothing_is_noted_behind_an_anchor_that_the_record_denies() {
    let place = repository();
    let told = place.json("ada", &["audit", "anchor", "--ref", REF]);
    let text = git(&place, &["cat-file", "blob", &format!("{REF}:anchor")]);
    let hash = told["anchor"].as_str().and_then(|told| told.split(':').nth(1)).expect("a hash");
    std::fs::write(place.checkout().join("forged"), text.replace(hash, &"0".repeat(64)) + "\n")
        .expect("written");
    note(&place, "forged");
    for words in [&["audit", "anchor", "--ref", REF], &["audit", "verify", "--expect-ref", REF]] {
        let broken = place.run("ada", words);
        assert_eq!(broken.code, 10, "{}{}", broken.out, broken.err);
        assert!(broken.out.contains("was rewritten"), "{}", broken.out);
    }
    assert!(
        git(&place, &["cat-file", "blob", &format!("{REF}:anchor")]).contains(&"0".repeat(64)),
        "left as it is"
    );
}

#[test]
fn a_ref_of_another_fleet_and_one_that_holds_no_anchor_are_refused() {
    let place = repository();
    let none = place.run("ada", &["audit", "verify", "--expect-ref", REF]);
    assert_eq!(none.code, 7, "{}{}", none.out, none.err);
    place.ok("ada", &["audit", "anchor", "--ref", REF]);
    let text = git(&place, &["cat-file", "blob", &format!("{REF}:anchor")]);
    let fleet = text.lines().next().and_then(|line| line.strip_prefix("fleet ")).expect("a fleet");
    for (noted, exit, told) in [
        (text.replace(fleet, "another"), 8, "is of the fleet another"),
        ("nothing".to_owned(), 2, "holds no anchor"),
    ] {
        std::fs::write(place.checkout().join("forged"), noted + "\n").expect("written");
        note(&place, "forged");
        for words in [&["audit", "anchor", "--ref", REF], &["audit", "verify", "--expect-ref", REF]] {
            let refused = place.run("ada", words);
            assert_eq!(refused.code, exit, "{}{}", refused.out, refused.err);
            assert!(refused.err.contains(told), "{}", refused.err);
        }
    }
}

#[test]
fn only_a_repository_takes_an_anchor_and_no_branch_is_moved() {
    let place = Place::bound();
    let nowhere = place.run("ada", &["audit", "anchor", "--ref", REF]);
    assert_eq!(nowhere.code, 2, "{}{}", nowhere.out, nowhere.err);
    assert!(nowhere.err.contains("in a checkout of the repository"), "{}", nowhere.err);
    let branch = place.run("ada", &["audit", "anchor", "--ref", "refs/heads/main"]);
    assert_eq!(branch.code, 1, "{}{}", branch.out, branch.err);
    assert!(branch.err.contains("refs/tenure/audit"), "{}", branch.err);
}

#[test]
fn a_name_that_points_to_a_branch_becomes_a_ref_of_its_own() {
    let place = repository();
    git(&place, &["symbolic-ref", REF, "refs/heads/unborn"]);
    let told = place.json("ada", &["audit", "anchor", "--ref", REF]);
    assert_eq!(git(&place, &["rev-parse", REF]), told["commit"].as_str().expect("a commit"));
    assert_eq!(git(&place, &["for-each-ref", "refs/heads"]), "", "no branch came of it");
}

#[test]
fn an_anchor_needs_nobody_to_be_known_and_any_kind_of_object_names() {
    let place = Place::bound();
    std::fs::remove_dir_all(place.checkout().join(".git")).expect("removed");
    git(&place, &["init", "--quiet", "--object-format=sha256"]);
    git(&place, &["config", "user.useConfigOnly", "true"]);
    let told = place.json("ada", &["audit", "anchor", "--ref", REF]);
    assert_eq!(told["commit"].as_str().expect("a commit").len(), 64);
    assert_eq!(git(&place, &["log", "-1", "--format=%an", REF]), "tenure");
    assert_eq!(place.json("ada", &["audit", "verify", "--expect-ref", REF])["intact"], true);
}

/// Puts a file of the checkout where the last anchor is, and removes it.
fn note(place: &Place, file: &str) {
    let blob = git(place, &["hash-object", "-w", file]);
    std::fs::remove_file(place.checkout().join(file)).expect("removed");
    let index = place.root.path().join("index");
    let forge = |words: &[&str]| {
        let output = Command::new("git")
            .args(words)
            .current_dir(place.checkout())
            .env_clear()
            .envs([("HOME", place.root.path()), ("GIT_INDEX_FILE", &index)])
            .envs([("GIT_AUTHOR_NAME", "eve"), ("GIT_AUTHOR_EMAIL", "eve@localhost")])
            .envs([("GIT_COMMITTER_NAME", "eve"), ("GIT_COMMITTER_EMAIL", "eve@localhost")])
            .output()
            .expect("Git");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    };
    forge(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},anchor")]);
    let tree = forge(&["write-tree"]);
    let commit = forge(&["commit-tree", &tree, "-m", "forged", "-p", REF]);
    git(place, &["update-ref", REF, &commit]);
}
