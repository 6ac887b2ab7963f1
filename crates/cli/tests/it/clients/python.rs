//! The client in Python: the story is in `story.py`, which asks here for what only an administrator can do.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::scene::{Scene, Way};
use crate::place::PROGRAM;

/// A program of the packages that `xtask/python/requirements.txt` names, or Python itself.
pub fn tool(name: &str) -> PathBuf {
    let target = Path::new(PROGRAM).ancestors().nth(2).expect("the program lies in a folder of the target");
    let tool = target.join("python/bin").join(name);
    assert!(
        tool.exists(),
        "{} is missing: `cargo xtask tools` installs it, with the packages of xtask/python/requirements.txt",
        tool.display()
    );
    tool
}

/// Plays the story at one revision.
pub fn play(scene: &Scene, revision: &str) {
    let pass = scene.pass(&format!("python-{revision}"));
    let variables: Vec<_> = pass
        .work
        .command("", &[])
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value?.to_str()?.to_owned())))
        .collect();
    let about = json!({
        "revision": revision,
        "url": (scene.way != Way::Pipes).then(|| format!("{}/mcp/full", scene.url)),
        "token": pass.token,
        "authority": scene.authority.certificate(),
        "program": PROGRAM,
        "folder": pass.work.checkout(),
        "variables": std::collections::BTreeMap::from_iter(variables),
    });
    let story = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/story.py");
    let mut child = pass
        .work
        .inside(&tool("python"))
        .arg(story)
        .arg(about.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut last = String::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        last = line.expect("text");
        let wish: Value = serde_json::from_str(&last).unwrap_or_else(|_| panic!("no wish: {last}"));
        match wish["wish"].as_str() {
            Some("waiting") => scene.until_waiting(wish["count"].as_u64().expect("a number")),
            Some("revoke") => scene.revoke(&pass),
            Some("end") => continue,
            Some(_) | None => panic!("no wish: {last}"),
        }
        writeln!(input, "done").expect("it listens");
    }
    assert!(child.wait().expect("it ends").success(), "the story broke off after {last}");
    assert_eq!(last, r#"{"wish": "end"}"#);
}
