//! Setting a workstation up for a server: from its address to the first claim.

use std::path::PathBuf;

use tenure_cluster::Authority;

use crate::network::{Server, administered, by_ada, token_in};
use crate::people::{PASSWORD, Talk};
use crate::place::Place;

/// The files that a workstation keeps for servers, and what stands in them.
fn kept(place: &Place) -> Vec<(PathBuf, String)> {
    let config = place.root.path().join(".config/tenure/config.toml");
    let tokens = std::fs::read_dir(place.state().join("servers")).into_iter().flatten().flatten();
    let files = tokens.map(|entry| entry.path()).chain([config]);
    files.filter_map(|file| Some((file.clone(), std::fs::read_to_string(file).ok()?))).collect()
}

#[test]
fn a_workstation_is_set_up_with_what_an_administrator_was_shown() {
    let authority = Authority::new().expect("openssl");
    let (host, _server, url) = administered(&authority);
    let made = by_ada(&host, &format!("agent add ci-1 --reason nightly --server-url {url}"));
    assert!(made.contains(&format!("tenure connect {url}\r\n")), "{made}");
    let token = token_in(&made);
    let work = Place::new();
    let ca = authority.certificate().display().to_string();
    let looked = work.ok("", &["connect", &url, "--ca", &ca, "--check"]).out;
    assert!(looked.contains("nothing was changed"), "{looked}");
    assert!(kept(&work).is_empty(), "it only looked");

    let line = format!("connect {url} --ca {ca}");
    let (text, code) = Talk::tenure(&work, &line).answers(&[("token for", token.as_str())]);
    assert!(code == 0 && text.contains("agent ci-1") && text.contains("afc, of this checkout"), "{text}");
    assert!(!text.contains(&token), "it is not shown: {text}");
    let before = kept(&work);
    assert_eq!(before.len(), 2);
    // Nothing names the server from now on, and nothing has to.
    work.ok("ci-1", &["claim", "afc-1"]);
    work.ok("ci-1", &["close", "--note", "done"]);
    assert_eq!(host.json("lead", &["show", "afc-1"])["task"]["status"], "done");

    let again = work.fed("", &["connect", &url, "--ca", &ca, "--stdin"], token.as_bytes());
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(kept(&work), before, "to repeat it changes nothing");
    let looked = work.json("", &["connect", &url, "--check"]);
    assert_eq!((&looked["token"]["name"], &looked["project"]), (&"ci-1".into(), &"afc".into()));
}

#[test]
fn what_fails_changes_nothing_and_says_what_to_do() {
    let authority = Authority::new().expect("openssl");
    let (host, _server, url) = administered(&authority);
    let token =
        token_in(&by_ada(&host, &format!("agent add mill --kind machine --reason b --server-url {url}")));
    let ca = authority.certificate().display().to_string();
    let work = Place::new();
    let unencrypted = url.replace("https://", "http://");
    let elsewhere = Place::new();
    let plain = Server::start(&elsewhere, &["--listen", "127.0.0.1:0"]);
    let encrypted = plain.url().replace("http://", "https://");
    for (words, code, says) in [
        (&[&*url][..], 2, "--ca FILE"),
        (&[&*unencrypted], 2, "https://"),
        (&[&*encrypted, "--ca", &*ca], 2, "does not speak TLS"),
        (&["https://127.0.0.1:1", "--ca", &*ca], 2, "correct the URL"),
        (&["tenure.example"], 1, "https://tenure.example"),
        (&[&*url, "--ca", "/none.pem"], 2, "/none.pem"),
        (&[&*url, "--ca", &*ca, "--stdin"], 1, "copy it whole"),
    ] {
        let ran = work.fed("", &[&["connect"], words].concat(), b"tnr_agent_nothing");
        assert_eq!(ran.code, code, "{words:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(says), "{says} in {}", ran.err);
        assert!(kept(&work).is_empty(), "{words:?}");
    }
    let config = work.root.path().join(".config/tenure/config.toml");
    std::fs::create_dir_all(config.parent().expect("a folder")).expect("created");
    std::fs::write(&config, "what = 1\n").expect("written");
    let words = ["connect", &*url, "--ca", &*ca, "--stdin"];
    assert_eq!(work.fed("", &words, token.as_bytes()).code, 2);
    assert_eq!(kept(&work).len(), 1, "the token was not kept either");
    let local = host.run("", &["agent", "add", "x", "--reason", "r", "--as", "ada"]);
    assert!(local.code == 1 && local.err.contains("--server-url"), "{}", local.err);
}

#[test]
fn a_password_is_asked_for_with_the_name_of_the_server_that_gets_it() {
    let authority = Authority::new().expect("openssl");
    let (_host, _server, url) = administered(&authority);
    let mut work = Place::new();
    work.variables = vec![("TENURE_CA_FILE".to_owned(), authority.certificate().display().to_string())];
    let line = format!("token list --server {url} --as ada");
    let (text, code) = Talk::tenure(&work, &line).answers(&[("`: ", PASSWORD)]);
    // The caller is not known there, and the person was told where their password goes all the same.
    assert_eq!(code, 5, "{text}");
    assert!(text.contains(&format!("Password of ada at {url} for `token.list`: ")), "{text}");
}
