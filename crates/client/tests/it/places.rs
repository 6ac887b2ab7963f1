//! Where the store is, and which repository a folder belongs to.

use std::path::Path;
use std::process::Command;

use tenure_client::place::{Wish, server, state_folder, store};
use tenure_client::repository::checkout;
use tenure_core::model::refusal::Code;

fn variables<'a>(known: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| known.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

#[test]
fn the_state_folder_has_one_order_of_sources() {
    for (known, folder, origin) in [
        (
            &[("TENURE_STATE_DIR", "/s"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")][..],
            "/s",
            "TENURE_STATE_DIR",
        ),
        (
            &[("TENURE_STATE_DIR", ""), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")],
            "/x/tenure",
            "XDG_STATE_HOME",
        ),
        (&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")], "/h/.local/state/tenure", "default"),
    ] {
        let setting = state_folder(&variables(known)).expect("known");
        assert_eq!((setting.value.as_str(), setting.origin.as_str()), (folder, origin));
    }
    let relative = state_folder(&variables(&[("TENURE_STATE_DIR", "state"), ("HOME", "/h")]));
    assert!(relative.expect_err("relative").to_string().contains("TENURE_STATE_DIR"));
    assert_eq!(state_folder(&variables(&[])).expect_err("nowhere").code(), Code::CannotTell);
}

#[test]
fn a_configured_server_never_turns_into_the_local_store() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().to_str().expect("text");
    std::fs::create_dir_all(home.path().join(".config/tenure")).expect("created");
    let file = home.path().join(".config/tenure/config.toml");
    std::fs::write(&file, "server = \"https://tenure.example\"\n").expect("written");
    let wish =
        |server: Option<&str>, local| Wish { server: server.map(str::to_owned), local, ..Wish::default() };
    let home_only = [("HOME", path)];
    let with_server = [("HOME", path), ("TENURE_SERVER", "https://other.example")];
    for (wish, known, origin) in [
        (wish(Some("https://flag.example"), false), &with_server[..], "--server"),
        (wish(None, false), &with_server, "TENURE_SERVER"),
        (wish(None, false), &home_only, file.to_str().expect("text")),
    ] {
        let failure = store(&wish, &variables(known)).expect_err("not usable");
        let problem = failure.problem();
        assert_eq!(problem.exit_code, 2);
        assert!(problem.detail.contains(origin), "{}", problem.detail);
        assert!(problem.next_actions[0].contains("--local"), "{:?}", problem.next_actions);
    }
    assert!(store(&wish(None, true), &variables(&with_server)).is_ok());
    assert_eq!(
        store(&wish(Some("x"), true), &variables(&home_only)).expect_err("contradiction").code(),
        Code::InvalidInput
    );
    std::fs::write(&file, "sever = 1\n").expect("written");
    assert_eq!(
        server(&wish(None, false), &variables(&home_only)).expect_err("unknown").code(),
        Code::CannotTell
    );
}

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-c",
        "init.defaultBranch=main",
    ]);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    let output = command.args(arguments).output().expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn clones_and_worktrees_are_one_repository() {
    let root = tempfile::tempdir().expect("a folder");
    let root = std::fs::canonicalize(root.path()).expect("there");
    let origin = root.join("origin");
    std::fs::create_dir_all(origin.join("crates/a")).expect("created");
    git(&origin, &["init", "-q"]);
    git(&origin, &["commit", "-q", "--allow-empty", "-m", "x"]);
    let own = origin.join(".git").to_str().expect("text").to_owned();
    let place = checkout(&origin.join("crates/a")).expect("a checkout");
    assert_eq!((place.identities, place.folder), (vec![own.clone()], "crates/a".to_owned()));

    git(&root, &["clone", "-q", origin.to_str().expect("text"), "clone"]);
    assert_eq!(checkout(&root.join("clone")).expect("a checkout").identities[0], own);

    git(&origin, &["worktree", "add", "-q", root.join("tree").to_str().expect("text")]);
    let tree = checkout(&root.join("tree")).expect("a checkout");
    assert_eq!((tree.identities, tree.folder.as_str()), (vec![own.clone()], ""));

    git(&origin, &["remote", "add", "origin", "git@GitHub.com:Owner/Repo.git"]);
    let expected = vec!["github.com/Owner/Repo".to_owned(), own];
    assert_eq!(checkout(&root.join("tree")).expect("a checkout").identities, expected);

    std::fs::create_dir(root.join("plain")).expect("created");
    assert_eq!(checkout(&root.join("plain")), None);
    assert_eq!(checkout(&root.join("missing")), None);
}
