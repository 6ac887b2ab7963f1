//! A server on the network, and commands that use it: over TLS, known or not, and never the local store instead.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;
use tenure_client::call::Client;
use tenure_client::place::{self, Wish};
use tenure_cluster::Authority;

use crate::people::{PASSWORD, Talk};
use crate::place::{Place, Ran, signal};

/// A server of a test's own.
pub struct Server {
    process: Child,
    ready: Value,
    folder: PathBuf,
}

impl Server {
    /// The server of a folder of its own beside the store of this machine, with these options.
    pub fn start(place: &Place, options: &[&str]) -> Self {
        let folder = place.root.path().join("served");
        let folder_name = folder.to_str().expect("text");
        let words = [&["serve", "--folder", folder_name], options].concat();
        let mut command = place.command("", &words);
        command.env("TENURE_LOG", "debug").stderr(Stdio::inherit());
        let mut process = command.spawn().expect("runs");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        Self { process, ready: serde_json::from_str(&line).expect("JSON"), folder }
    }

    /// The same over TLS, with a certificate that this authority has signed.
    fn encrypted(place: &Place, authority: &Authority) -> Self {
        let identity =
            authority.certify("DNS:localhost,IP:127.0.0.1", place.root.path()).expect("a certificate");
        let [certificate, key] =
            [&identity.certificate, &identity.key].map(|file| file.to_str().expect("text"));
        Self::start(place, &["--listen", "127.0.0.1:0", "--certificate", certificate, "--key", key])
    }

    pub fn url(&self) -> &str {
        self.ready["listening"][0].as_str().unwrap_or_else(|| panic!("it does not listen: {}", self.ready))
    }

    fn ended(&mut self) -> Option<i32> {
        self.process.wait().expect("it ends").code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended may have left its number to another process.
        if let Ok(None) = self.process.try_wait() {
            signal(self.process.id(), rustix::process::Signal::TERM);
            let _ = self.process.wait();
        }
    }
}

/// A place whose commands use a server, trusting this authority.
pub fn using(server: &str, authority: &Authority) -> Place {
    let mut place = Place::new();
    let file = authority.certificate().display().to_string();
    place.variables =
        vec![("TENURE_SERVER".to_owned(), server.to_owned()), ("TENURE_CA_FILE".to_owned(), file)];
    place
}

/// Keeps a token as `config show` says.
pub fn keep(place: &Place, token: &str) -> PathBuf {
    let shown = place.json("", &["config", "show"]);
    let settings = shown["settings"].as_array().expect("a list");
    let setting = settings.iter().find(|setting| setting["name"] == "token").expect("the token's file");
    let file = PathBuf::from(setting["value"].as_str().expect("a path"));
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
    std::fs::write(&file, token).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
    file
}

/// It must have failed so, and touched no store of this machine.
fn refused(ran: &Ran, place: &Place, code: i32, says: &[&str]) {
    assert_eq!(ran.code, code, "{}{}", ran.out, ran.err);
    for said in says {
        assert!(ran.err.contains(said), "{said} in {}", ran.err);
    }
    assert!(!place.state().join("tenure.db").exists(), "the local store was used instead");
}

#[test]
fn a_server_that_does_not_know_the_caller_says_how_its_human_gets_it_in() {
    let (host, authority) = (Place::new(), Authority::new().expect("openssl"));
    let server = Server::encrypted(&host, &authority);
    let place = using(server.url(), &authority);
    for words in
        [&["ready", "--project", "afc"][..], &["claim", "afc-1"], &["task", "list", "--project", "afc"], &[]]
    {
        refused(
            &place.run("ada", words),
            &place,
            5,
            &["does not know who is asking", "show this to your human"],
        );
    }
    let told = place.run("ada", &["ready", "--project", "afc", "--json"]).problem();
    assert_eq!((&told["code"], &told["status"]), (&"unauthenticated".into(), &401.into()));

    // A token that nobody has is refused the same way, and reaches no log.
    let token = "0123456789-a-guess-9876543210";
    let file = keep(&place, token);
    refused(&place.run("ada", &["ready", "--project", "afc"]), &place, 5, &["show this to your human"]);
    let log = std::fs::read_to_string(server.folder.join("daemon.log")).expect("a log");
    assert!(log.contains("somebody who is not known was refused") && !log.contains(token), "{log}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("set");
    refused(
        &place.run("ada", &["ready", "--project", "afc"]),
        &place,
        2,
        &["not this user's alone", "chmod 600"],
    );
}

#[test]
fn what_everybody_may_know_comes_over_tls() {
    let (host, authority) = (Place::new(), Authority::new().expect("openssl"));
    let server = Server::encrypted(&host, &authority);
    let named = server.url().replace("127.0.0.1", "localhost");
    let file = authority.certificate().display().to_string();
    let state = host.state().display().to_string();
    let variable = |name: &str| match name {
        "TENURE_SERVER" => Some(named.clone()),
        "TENURE_CA_FILE" => Some(file.clone()),
        "TENURE_STATE_DIR" => Some(state.clone()),
        _ => None,
    };
    let found = place::find(&Wish::default(), &variable).expect("a server");
    let client = Client::at(&found, None, Box::new(|_| ())).expect("a caller");
    // Twice, so that the connection is used again.
    for _ in 0..2 {
        let version: Value =
            serde_json::from_slice(&client.get("/version").expect("an answer")).expect("JSON");
        assert_eq!(version["name"], "tenure");
    }
}

#[test]
fn a_server_that_cannot_be_used_never_becomes_the_local_store() {
    let (host, authority) = (Place::new(), Authority::new().expect("openssl"));
    let stranger = Authority::new().expect("openssl");
    let mut server = Server::encrypted(&host, &authority);
    let words = ["ready", "--project", "afc"];
    let place = using(server.url(), &stranger);
    refused(
        &place.run("ada", &words),
        &place,
        2,
        &["cannot be reached", "certificate", "TENURE_CA_FILE", "--ca", "--local"],
    );

    let mut place = using(server.url(), &authority);
    place.variables.push(("TENURE_CA_FILE".to_owned(), "/dev/null".to_owned()));
    refused(&place.run("ada", &words), &place, 2, &["/dev/null", "TENURE_CA_FILE"]);

    let place = using(server.url(), &authority);
    signal(server.process.id(), rustix::process::Signal::TERM);
    assert_eq!(server.ended(), Some(0));
    refused(&place.run("ada", &words), &place, 2, &["cannot be reached", "--local"]);
    let far = using("http://tenure.example", &authority);
    refused(&far.run("ada", &words), &far, 2, &["TENURE_SERVER", "https://", "--local"]);
    refused(&place.run("ada", &["restore", "x.db"]), &place, 2, &["TENURE_SERVER", "--local"]);
    assert_eq!(place.run("ada", &["init", "afc", "--local"]).code, 0, "it is meant");
}

#[test]
fn a_server_is_named_in_the_configuration_with_its_authority_beside_it() {
    let (host, authority) = (Place::new(), Authority::new().expect("openssl"));
    let server = Server::encrypted(&host, &authority);
    let place = Place::new();
    let folder = place.root.path().join(".config/tenure");
    std::fs::create_dir_all(&folder).expect("created");
    std::fs::copy(authority.certificate(), folder.join("ca.pem")).expect("copied");
    let text = format!("server = \"{}\"\nca_file = \"ca.pem\"\n", server.url());
    std::fs::write(folder.join("config.toml"), text).expect("written");
    refused(&place.run("ada", &["ready", "--project", "afc"]), &place, 5, &["show this to your human"]);
    let shown = place.ok("ada", &["config", "show", "--origin"]).out;
    for there in [server.url(), "ca.pem", "config.toml", ".token", "it is not there yet"] {
        assert!(shown.contains(there), "{there} in {shown}");
    }
}

#[test]
fn what_would_be_read_on_the_way_is_not_served() {
    let place = Place::new();
    for (options, says) in [
        (&["--listen", "0.0.0.0:0"][..], "--certificate and --key"),
        (&["--listen", "127.0.0.1:0", "--certificate", "/none.pem", "--key", "/none.key"], "/none.pem"),
    ] {
        let mut server = Server::start(&place, options);
        assert_eq!(server.ready["ready"], false);
        assert!(server.ready.to_string().contains(says), "{}", server.ready);
        assert_eq!(server.ended(), Some(2));
    }
    for (words, says) in [
        (&["--listen", "localhost"][..], "127.0.0.1:7070"),
        (&["--host", "tenure.example"], "--listen"),
        (&["--writes-per-second", "5"], "--listen"),
        (&["--listen", "127.0.0.1:0", "--host", "a:1"], "no host name"),
        (&["--listen", "127.0.0.1:0", "--certificate", "x.pem"], "--key"),
    ] {
        let ran = place.run("", &[&["serve"], words].concat());
        assert!(ran.code == 1 && ran.err.contains(says), "{words:?}: {}", ran.err);
    }
}

#[test]
fn a_daemon_that_is_there_is_not_taken_for_one_that_listens() {
    let mut place = Place::new();
    let first = Server::start(&place, &["--listen", "127.0.0.1:0"]);
    assert!(first.url().starts_with("http://127.0.0.1:"));
    let mut second = Server::start(&place, &["--listen", "127.0.0.1:0"]);
    assert_eq!(second.ready["ready"], false, "{}", second.ready);
    assert_eq!(second.ended(), Some(2));
    drop(first);
    place.variables.push(("TENURE_LISTEN".to_owned(), "127.0.0.1:0,[::1]:0".to_owned()));
    let both = Server::start(&place, &[]);
    assert_eq!(both.ready["listening"].as_array().map(Vec::len), Some(2), "{}", both.ready);
    drop(both);
    let private = Server::start(&place, &["--private"]);
    assert_eq!((&private.ready["ready"], &private.ready["listening"]), (&true.into(), &Value::Null));
}

/// A place whose store is served over TLS too, on a terminal, with the administrator `ada` and a task.
pub fn administered(authority: &Authority) -> (Place, Talk, String) {
    administered_with(authority, "")
}

/// The same, whose server has these options too.
fn administered_with(authority: &Authority, options: &str) -> (Place, Talk, String) {
    let host = Place::new();
    let identity = authority.certify("DNS:localhost,IP:127.0.0.1", host.root.path()).expect("a certificate");
    let [certificate, key] = [&identity.certificate, &identity.key].map(|file| file.display().to_string());
    founded_on(host, &format!("--listen 127.0.0.1:0 --certificate {certificate} --key {key} {options}"))
}

/// A place whose store is served with these options too, as [`administered`] does it.
pub fn founded_on(host: Place, options: &str) -> (Place, Talk, String) {
    let mut server = Talk::tenure(&host, &format!("serve {options}"));
    let secret = server.has_told("one-time secret: ");
    let listening = server.has_told("\"listening\":[\"");
    let url = listening.split('"').next().expect("a URL").to_owned();
    let talk = [("printed: ", secret.as_str()), ("password of ada: ", PASSWORD), ("once more: ", PASSWORD)];
    let (text, code) = Talk::tenure(&host, "account bootstrap ada").answers(&talk);
    assert_eq!(code, 0, "{text}");
    host.ok("lead", &["init", "afc"]);
    host.ok("lead", &["task", "create", "--title", "work"]);
    (host, server, url)
}

/// What an administrator's command shows.
pub fn by_ada(host: &Place, words: &str) -> String {
    let (text, code) = Talk::tenure(host, &format!("{words} --as ada")).answers(&[("`: ", PASSWORD)]);
    assert_eq!(code, 0, "{text}");
    text
}

/// The token in what a command showed.
pub fn token_in(text: &str) -> String {
    let at = text.find("tnr_").expect("a token");
    text[at..].split_whitespace().next().expect("a word").to_owned()
}

#[test]
fn an_agent_elsewhere_works_with_a_token_until_it_is_revoked() {
    let authority = Authority::new().expect("openssl");
    let (host, _server, url) = administered(&authority);
    let made = by_ada(&host, "token create ci-1 --kind agent --reason nightly --for 30d");
    let token = token_in(&made);
    let work = using(&url, &authority);
    refused(&work.run("ci-1", &["ready"]), &work, 5, &["tenure connect", "tenure agent add"]);
    let wrong = work.fed("", &["login", "--stdin"], &token.as_bytes()[..token.len() - 1]);
    refused(&wrong, &work, 1, &["copy it whole"]);
    assert!(!wrong.err.contains(&token[10..20]), "it is not repeated: {}", wrong.err);
    let (text, code) = Talk::tenure(&work, "login").answers(&[("token for", token.as_str())]);
    assert!(code == 0 && text.contains("ci-1: agent, asks and changes, counts"), "{text}");
    assert!(!text.contains(&token), "it is not shown: {text}");

    work.ok("ci-1", &["claim", "afc-1"]);
    work.ok("ci-1", &["note", "halfway"]);
    work.ok("ci-1", &["close", "--note", "done"]);
    assert_eq!(host.json("lead", &["show", "afc-1"])["task"]["status"], "done");
    let other = work.run("ci-2", &["claim"]);
    refused(&other, &work, 5, &["token_mismatch", "ci-1"]);
    refused(&work.run("ci-1", &["backup", "create", "x"]), &work, 5, &["local_only"]);

    let who = work.json("", &["whoami"]);
    let id = who["token"]["token"].as_str().expect("an id");
    by_ada(&host, &format!("token revoke {id} --reason lost"));
    refused(&work.run("ci-1", &["ready"]), &work, 5, &["show this to your human"]);
    refused(&work.fed("", &["login", "--stdin"], token.as_bytes()), &work, 5, &["show this to your human"]);
    let listed = by_ada(&host, "token list");
    assert!(listed.contains("revoked") && !listed.contains("tnr_"), "{listed}");
    assert_eq!(host.run("lead", &["audit", "verify"]).code, 0);
}

#[test]
fn agents_of_a_machine_have_names_of_their_own_and_events_tell_the_machine() {
    let authority = Authority::new().expect("openssl");
    let (host, _server, url) = administered(&authority);
    let made = by_ada(&host, "token create mill --kind machine --reason builds");
    let work = using(&url, &authority);
    let known = work.fed("", &["login", "--stdin"], token_in(&made).as_bytes());
    assert!(known.code == 0 && known.out.contains("mill: machine"), "{}{}", known.out, known.err);
    work.ok("spinner", &["claim", "afc-1"]);
    work.ok("weaver", &["task", "create", "--title", "more"]);
    refused(&work.run("lead", &["claim"]), &work, 5, &["token_mismatch", "lead"]);
    let events = host.json("lead", &["events", "--limit", "1000"]);
    let claimed =
        events["events"].as_array().expect("a list").iter().find(|event| event["kind"] == "task_claimed");
    assert_eq!(claimed.expect("recorded")["actor"]["machine"], "mill");
    assert!(host.ok("lead", &["events", "--limit", "1000"]).out.contains("spinner on mill"));

    let id = work.json("", &["whoami"])["token"]["token"].as_str().expect("an id").to_owned();
    let rotated = by_ada(&host, &format!("token rotate {id} --kind machine --reason due"));
    refused(&work.run("spinner", &["ready"]), &work, 5, &["show this to your human"]);
    assert_eq!(work.fed("", &["login", "--stdin"], token_in(&rotated).as_bytes()).code, 0);
    work.ok("spinner", &["close", "--note", "done"]);
}

#[test]
fn who_writes_too_often_is_held_back_and_notices_nothing_but_the_time() {
    let authority = Authority::new().expect("openssl");
    let (host, _server, url) = administered_with(&authority, "--writes-per-second 1");
    let token = token_in(&by_ada(&host, "token create ci-1 --kind agent --reason nightly"));
    let work = using(&url, &authority);
    keep(&work, &token);
    // Ten at once, and the session is opened with one of them: the last ones have to wait.
    for number in 1..=11 {
        let made =
            work.run("ci-1", &["task", "create", "--project", "afc", "--title", &format!("task {number}")]);
        assert_eq!(made.code, 0, "{number}: {}{}", made.out, made.err);
    }
    let log = std::fs::read_to_string(host.state().join("daemon.log")).expect("a log");
    assert!(log.contains("somebody who writes too often was refused"), "{log}");
    let tasks = host.json("lead", &["task", "list", "--project", "afc", "--limit", "100"]);
    assert_eq!(tasks["tasks"].as_array().expect("a list").len(), 12, "each was made once: {tasks}");
}
