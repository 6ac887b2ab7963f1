//! Whatever opens something is in none of what the coordinator writes, however talkative its log is.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tenure_cluster::Authority;

use crate::network::{administered, by_ada, keep, token_in, using};
use crate::people::PASSWORD;
use crate::place::Place;

/// So many letters in a row of a secret betray it, and no hash has them by chance.
const PART: usize = 16;

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let within = |entry: std::fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        Ok(kind) if kind.is_file() => vec![entry.path()],
        Ok(_) | Err(_) => Vec::new(),
    };
    entries.flat_map(within).collect()
}

/// The secrets of which a part stands in these bytes.
fn told<'a>(bytes: &[u8], secrets: &'a [(&'static str, String)]) -> Vec<&'a str> {
    let text = String::from_utf8_lossy(bytes);
    let is_told = |secret: &str| {
        let parts = secret.as_bytes().windows(PART.min(secret.len()));
        parts.into_iter().any(|part| text.contains(std::str::from_utf8(part).expect("plain letters")))
    };
    secrets.iter().filter(|(_, secret)| is_told(secret)).map(|(what, _)| *what).collect()
}

/// Sends a request over TLS, and returns what comes back.
fn asked(url: &str, authority: &Authority, request: &str) -> String {
    let address = url.trim_start_matches("https://");
    let mut speaker = Command::new("openssl")
        .args(["s_client", "-quiet", "-verify_quiet", "-connect", address, "-CAfile"])
        .arg(authority.certificate())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl");
    let mut said = speaker.stdin.take().expect("piped");
    said.write_all(request.replace('\n', "\r\n").as_bytes()).expect("sent");
    let answer = speaker.wait_with_output().expect("it ends");
    drop(said);
    String::from_utf8(answer.stdout).expect("text")
}

/// The text between two others.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let rest = text.split(before).nth(1).unwrap_or_else(|| panic!("{before} in {text}"));
    rest.split(after).next().expect("a part")
}

#[test]
fn no_secret_that_came_by_the_network_is_in_a_log_a_store_a_backup_or_an_export() {
    let authority = Authority::new().expect("openssl");
    // Its server logs all that it can.
    let (host, _server, url) = administered(&authority);
    let token = token_in(&by_ada(&host, "token create ci-1 --kind agent --reason nightly"));
    let machine = token_in(&by_ada(&host, "token create mill --kind machine --reason builds"));
    let guess = token.chars().rev().collect::<String>();
    let wrong = "a-password-that-is-nobodys";

    // Agents work, and one asks in vain.
    let (agent, stranger) = (using(&url, &authority), using(&url, &authority));
    keep(&agent, &token);
    keep(&stranger, &guess);
    agent.ok("ci-1", &["claim", "afc-1"]);
    agent.ok("ci-1", &["note", "afc-1", "so far"]);
    assert_eq!(stranger.run("ci-1", &["ready"]).code, 5);
    agent.ok("ci-1", &["close", "afc-1", "--note", "done"]);

    // A person logs in with a browser, after a wrong password, and changes something.
    let form = |fields: &str| {
        format!(
            "POST /browser/login HTTP/1.1\nHost: localhost\nConnection: close\nSec-Fetch-Site: same-origin\n\
            Content-Type: application/x-www-form-urlencoded\nContent-Length: {}\n\n{fields}",
            fields.len()
        )
    };
    let refused = asked(&url, &authority, &form(&format!("name=ada&password={wrong}")));
    assert!(refused.starts_with("HTTP/1.1 401 "), "{refused}");
    let password = PASSWORD.replace(' ', "+");
    let answer = asked(&url, &authority, &form(&format!("name=ada&password={password}")));
    let cookie = between(&answer, "__Host-tenure=", ";").to_owned();
    let head = format!("Host: localhost\nConnection: close\nCookie: __Host-tenure={cookie}\n");
    let home = asked(&url, &authority, &format!("GET / HTTP/1.1\n{head}\n"));
    let word = between(&home, "name=\"page\" value=\"", "\"").to_owned();
    let body = "{\"reason\":\"try again\"}";
    let change = format!(
        "POST /api/v1/tasks/afc-1/reopen HTTP/1.1\n{head}Sec-Fetch-Site: same-origin\nTenure-Page: {word}\n\
        Idempotency-Key: again\nContent-Type: application/json\nContent-Length: {}\n\n{body}",
        body.len()
    );
    let changed = asked(&url, &authority, &change);
    assert!(changed.starts_with("HTTP/1.1 200 "), "{changed}");

    let copied = host.ok("lead", &["backup", "create", "copy"]).out;
    let exported = host.ok("lead", &["export", "jsonl"]).out;
    let record = host.ok("lead", &["events", "--limit", "1000", "--json"]).out;
    let secrets = [
        ("the agent's token", token["tnr_agent_".len()..].to_owned()),
        ("the machine's token", machine["tnr_machine_".len()..].to_owned()),
        ("a guess of a token", guess),
        ("ada's password", PASSWORD.to_owned()),
        ("ada's password in a form", password),
        ("ada's password in a header", PASSWORD.replace(' ', "%20")),
        ("a wrong password", wrong.to_owned()),
        ("the cookie", cookie),
        ("the page's word", word),
    ];
    let own = files(&agent.state().join("servers")).pop().expect("the token's file");
    let own = std::fs::read(own).expect("ours");
    assert_eq!(told(&own, &secrets), ["the agent's token"], "the search finds what is there");
    let everything = files(host.root.path());
    assert!(everything.iter().any(|file| file.ends_with("daemon.log")), "{everything:?}");
    assert!(everything.iter().any(|file| file.ends_with("tenure.db")), "{everything:?}");
    for file in everything {
        assert_eq!(
            told(&std::fs::read(&file).expect("ours"), &secrets),
            Vec::<&str>::new(),
            "{}",
            file.display()
        );
    }
    for output in [copied, exported, record] {
        assert_eq!(told(output.as_bytes(), &secrets), Vec::<&str>::new(), "{output}");
    }
    let log = std::fs::read_to_string(host.state().join("daemon.log")).expect("a log");
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "it logs all that it can");
}

#[test]
fn what_is_searched_for_is_found() {
    let place = Place::new();
    let file = place.root.path().join("a/b");
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
    std::fs::write(&file, "xx0123456789abcdefyy").expect("written");
    let secrets = [("one", "zz0123456789abcdefzz".to_owned()), ("other", "f".repeat(20))];
    let found = files(place.root.path()).into_iter().flat_map(|file| std::fs::read(file).expect("ours"));
    assert_eq!(told(&found.collect::<Vec<u8>>(), &secrets), ["one"]);
}
