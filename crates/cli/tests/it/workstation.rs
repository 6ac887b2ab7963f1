//! A second workstation, as the README and the commands themselves say how to set it up: the server in one network, and
//! somebody new in another one, with an empty home and a wire between the two.

use std::path::Path;
use std::process::Stdio;

use tenure_cluster::Authority;

use crate::clients::{Scene, Way, play_in_python};
use crate::namespace::{ADDRESSES, Wired};
use crate::network::token_in;
use crate::people::{PASSWORD, Talk};
use crate::place::{PROGRAM, Place};

/// The words that stand for something else in what is typed.
const WORDS: [&str; 6] = ["FILE", "NAME", "YOU", "AGENT", "REASON", "URL"];

/// The commands in the row of the README that begins like this.
fn row(begins: &str) -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).expect("there");
    let row = text.lines().find(|line| line.starts_with(&format!("| {begins} |")));
    let row = row.unwrap_or_else(|| panic!("the README says nothing of {begins:?}"));
    let commands = row.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("tenure "));
    commands.map(str::to_owned).collect()
}

/// The commands of the README's loop, from the name of the agent on.
fn the_loop() -> Vec<String> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let text = std::fs::read_to_string(readme).expect("there");
    let (_, from) = text.split_once("$ export TENURE_SESSION=my-agent\n").expect("the loop");
    let (block, _) = from.split_once("```").expect("the end of the block");
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|line| line.split("   #").next().unwrap_or(line).to_owned()).collect()
}

/// A command with what is meant by its words in capitals.
fn meant(command: &str, words: &[(&str, &str)]) -> String {
    let mut meant = command.to_owned();
    for (word, value) in words {
        meant = meant.replacen(word, value, 1);
    }
    let left = meant.split(' ').find(|word| WORDS.contains(word));
    assert_eq!(left, None, "{meant}");
    meant
}

/// What a line of a shell on a workstation shows. `tenure` is found as after its installation.
fn typed(work: &Place, agent: &str, line: &str) -> String {
    let programs = Path::new(PROGRAM).parent().expect("a folder").display();
    let mut command = work.inside(Path::new("/bin/sh"));
    let output = command
        .args(["-c", line])
        .env("PATH", format!("{programs}:/usr/bin:/bin"))
        .env("TENURE_SESSION", agent)
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let told =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{line}: {told}");
    told
}

#[test]
fn a_second_workstation_is_set_up_as_the_readme_says() {
    let wired = Wired::new();
    let authority = Authority::new().expect("openssl");
    let mut host = Place::new();
    host.network = Some(wired.server());
    let identity =
        authority.certify(&format!("IP:{}", ADDRESSES[0]), host.root.path()).expect("a certificate");
    let [certificate, key] = [&identity.certificate, &identity.key].map(|file| file.display().to_string());
    let url = format!("https://{}:7070", ADDRESSES[0]);

    // Where the server is.
    let commands = row("let agents on other machines in");
    let [serve, bootstrap, add, connect] = &commands[..] else { panic!("{commands:?}") };
    let serve = meant(serve, &[("FILE", &certificate), ("FILE", &key), ("NAME", ADDRESSES[0])]);
    let mut server = Talk::tenure(&host, &serve);
    let secret = server.has_told("one-time secret: ");
    server.has_told("\"listening\":[\"");
    let answers =
        [("printed: ", secret.as_str()), ("password of ada: ", PASSWORD), ("once more: ", PASSWORD)];
    let (text, code) = Talk::tenure(&host, &meant(bootstrap, &[("YOU", "ada")])).answers(&answers);
    assert_eq!(code, 0, "{text}");
    host.ok("lead", &["init", "afc"]);
    host.ok("lead", &["task", "create", "--title", "work"]);
    let add = meant(add, &[("AGENT", "ci-1"), ("REASON", "nightly"), ("YOU", "ada"), ("URL", &url)]);
    let (added, code) = Talk::tenure(&host, &add).answers(&[("`: ", PASSWORD)]);
    assert_eq!(code, 0, "{added}");
    let token = token_in(&added);
    let line =
        added.lines().find_map(|line| line.trim().strip_prefix("tenure ")).expect("a line to run there");
    assert_eq!(line, meant(connect, &[("URL", &url)]), "{added}");

    // Where nobody knows of it yet.
    let mut work = Place::new();
    work.network = Some(wired.workstation());
    let refused = work.run("", &line.split(' ').collect::<Vec<_>>());
    assert!(refused.code == 2 && refused.err.contains("--ca FILE"), "{}", refused.err);
    let line = format!("{line} --ca {}", authority.certificate().display());
    let (text, code) = Talk::tenure(&work, &line).answers(&[("token for", token.as_str())]);
    assert!(code == 0 && text.contains("agent ci-1"), "{text}");
    let git = "rm -r .git && git init --quiet && git remote add origin git@example.org:team/afc.git && \
        git -c user.name=ada -c user.email=ada@example.org commit --quiet --allow-empty --message begun";
    typed(&work, "ci-1", git);
    let [onboard, instructions] = &row("tell agents to work this way")[..] else { panic!("two commands") };
    typed(&work, "ci-1", &format!("tenure {onboard}"));
    let file = std::fs::read_to_string(work.checkout().join("AGENTS.md")).expect("written");
    assert!(file.contains(&format!("tenure {instructions}")), "{file}");
    assert!(typed(&work, "ci-1", &format!("tenure {instructions}")).contains("tenure claim"));
    let played = the_loop();
    assert!(played.len() >= 4, "{played:?}");
    for line in &played {
        typed(&work, "ci-1", line);
    }
    let shown = host.json("lead", &["show", "afc-1"]);
    assert_eq!(shown["task"]["status"], "done", "{shown}");
    assert!(!work.state().join("tenure.db").exists(), "a store of its own was used instead");

    // And a harness there calls the tools.
    let elsewhere = Some(wired.workstation());
    play_in_python(&Scene::of(Way::Encrypted, (host, server, url), authority, elsewhere));
}

#[test]
fn nothing_is_reached_without_the_wire() {
    let wired = Wired::new();
    let mut work = Place::new();
    work.network = Some(wired.workstation());
    let url = format!("https://{}:7070", ADDRESSES[0]);
    let ran = work.run("", &["connect", &url, "--check"]);
    assert!(ran.code == 2 && ran.err.contains("cannot be reached"), "{}", ran.err);
    let loopback = work.run("", &["connect", "https://127.0.0.1:7070", "--check"]);
    assert_eq!(loopback.code, 2, "{}", loopback.err);
}
