//! Hostile requests against a real daemon: none of them hangs it, ends it or makes it say that something went wrong on
//! its side; every refusal is a whole problem with a known code; and what was refused changed nothing.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_cluster::Cluster;
use tenure_core::model::event::EventKind;
use tenure_core::model::refusal::Code;
use tenure_core::secret::Proof;
use tenure_core::wire;
use tenure_sim::daemon::Daemon;
use tenure_sim::drawn::Document;
use tenure_sim::fleet::url;
use tenure_sim::fuzz::{self, examples, try_for_a_while};
use tenure_sim::place::Place;
use tenure_sim::seed::Seed;

use super::database::UNFLUSHED;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/fuzz/requests");
const SESSION: &str = "0123456789abcdef0123456789abcdef";
/// The byte that the session's proof is made of.
const PROOF: &str = "a5";
/// The byte that the tokens of its leases are made of, where it says so.
const LEASE: &str = "7e";
/// Nothing that is asked here takes so long.
const PATIENCE: Duration = Duration::from_secs(20);

/// What came back: the status and the body. Nothing if the connection was closed without an answer.
struct Answer {
    status: u16,
    body: String,
}

/// A request in a file: a line, headers, an empty line, a body.
struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    /// Reads one. Whatever the head of a message cannot be written with is left out: the HTTP library refuses that by
    /// itself, before anything of ours is asked.
    fn of(input: &[u8], number: u64) -> Self {
        let end = input.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = input.split_at(end.unwrap_or(input.len()));
        let text = String::from_utf8_lossy(head).into_owned();
        let mut lines = text.lines().map(|line| line.chars().filter(|c| !c.is_control()).collect::<String>());
        let first = lines.next().unwrap_or_default();
        let (method, path) = first.split_once(' ').unwrap_or(("GET", &first));
        let method: String = method.chars().filter(char::is_ascii_alphabetic).collect();
        let may_stand = |c: &char| c.is_ascii_alphanumeric() || "-._~:/?[]@!$&'()*+,;=%".contains(*c);
        let path: String = path.chars().filter(may_stand).collect();
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        let mut head = format!("{method} /{} HTTP/1.1\r\nHost: tenure\r\n", path.trim_start_matches('/'));
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            // The frame of the message is the test's own.
            let frames = ["content-length", "transfer-encoding", "connection", "expect", "upgrade", "host"];
            if is_name && !frames.contains(&name.to_lowercase().as_str()) {
                head.push_str(&format!("{name}:{value}\r\n"));
            }
        }
        let (key, proof) = (format!("tried-{number}"), PROOF.repeat(32));
        // What an example does not name is as it should be, so that what it does name is looked at.
        for (name, value) in [
            ("Tenure-Session", SESSION),
            ("Tenure-Proof", &proof),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", &key),
        ] {
            if method != "GET" && !head.to_lowercase().contains(&format!("{}:", name.to_lowercase())) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        Self { head, body: body.get(2..).unwrap_or_default().to_vec() }
    }

    fn send(&self, socket: &Path) -> Option<Answer> {
        let mut stream = UnixStream::connect(socket).expect("the daemon listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let frame = format!("Content-Length: {}\r\nConnection: close\r\n\r\n", self.body.len());
        // Who refuses early closes early; the answer is there all the same.
        let _ = stream.write_all(&[self.head.as_bytes(), frame.as_bytes(), &self.body].concat());
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        assert!(read.is_ok() || !bytes.is_empty(), "no answer in {PATIENCE:?}: {read:?}");
        let text = String::from_utf8(bytes).expect("an answer is text");
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Some(Answer { status, body: body.to_owned() })
    }
}

/// A daemon with a session, a project and a few tasks, and what was heard of it.
struct Scene {
    daemon: Daemon,
    socket: PathBuf,
    accepted: u64,
    refused: BTreeMap<String, u32>,
}

impl Scene {
    fn begin(folder: &Path, arguments: &[&str]) -> Self {
        let daemon = Daemon::start(folder, arguments, &[]);
        let scene = Self { daemon, socket: folder.join(wire::SOCKET), accepted: 0, refused: BTreeMap::new() };
        scene.asked(
            "POST /api/v1/sessions",
            &json!({ "session": SESSION, "proof_hash": hash(PROOF), "name": "tester" }),
        );
        scene.asked("POST /api/v1/projects", &json!({ "key": "afc" }));
        for title in ["first", "second"] {
            scene.asked("POST /api/v1/tasks", &json!({ "project": "afc", "title": title }));
        }
        scene
    }

    fn asked(&self, line: &str, body: &Value) -> Answer {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let head = format!(
            "{line} HTTP/1.1\r\nHost: tenure\r\nContent-Type: application/json\r\nTenure-Session: {SESSION}\r\n\
             Tenure-Proof: {}\r\nIdempotency-Key: scene-{number}\r\n",
            PROOF.repeat(32),
        );
        let body = if line.starts_with("GET") { Vec::new() } else { body.to_string().into_bytes() };
        let answer = Request { head, body }.send(&self.socket).expect("answered");
        assert_eq!(answer.status, 200, "{line}: {}", answer.body);
        answer
    }

    /// How many events there are: every accepted mutation but a heartbeat appends some.
    fn events(&self) -> u64 {
        let answer = self.asked("GET /api/v1/stats", &Value::Null);
        let counts: Value = serde_json::from_str(&answer.body).expect("JSON");
        counts["events"].as_u64().expect("a number")
    }

    /// The kinds of events since there were so many. That somebody did not prove to be a person is recorded by the
    /// coordinator itself, now and then, and is none.
    fn changes_since(&self, before: u64) -> Vec<String> {
        let more = self.events() - before;
        if more == 0 {
            return Vec::new();
        }
        let newest = self.asked(&format!("GET /api/v1/events?newest=true&limit={more}"), &Value::Null);
        let newest: Value = serde_json::from_str(&newest.body).expect("JSON");
        let events = newest["events"].as_array().expect("events");
        let kinds = events.iter().map(|event| event["kind"].as_str().expect("a kind").to_owned());
        kinds.filter(|kind| kind != EventKind::AuthenticationRefused.as_str()).collect()
    }

    /// Sends what is written down, and checks what comes back: the status, and the code of a refusal.
    fn tried(&mut self, input: &[u8]) -> Option<(u16, Option<String>)> {
        let before = self.events();
        let number = self.accepted + self.refused.values().map(|count| u64::from(*count)).sum::<u64>();
        let answer = Request::of(input, number).send(&self.socket)?;
        if answer.status < 400 {
            self.accepted += 1;
            return Some((answer.status, None));
        }
        assert!(answer.status < 500, "{}: {}", answer.status, answer.body);
        let problem: Value = serde_json::from_str(&answer.body)
            .unwrap_or_else(|error| panic!("{} is no problem: {error}: {:?}", answer.status, answer.body));
        let code = problem["code"].as_str().expect("a code").to_owned();
        assert!(Code::ALL.iter().any(|known| known.as_str() == code), "{problem}");
        *self.refused.entry(code.clone()).or_default() += 1;
        assert_eq!(problem["status"], answer.status, "{problem}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
        assert!(problem["next_actions"].as_array().is_some_and(|steps| !steps.is_empty()), "{problem}");
        let changes = self.changes_since(before);
        assert!(changes.is_empty(), "a refused request changed something: {problem}, {changes:?}");
        Some((answer.status, Some(code)))
    }

    /// The daemon lives, and its record is whole.
    fn end(mut self, tried: u64) {
        assert!(!self.daemon.has_ended());
        let Self { accepted, refused, .. } = &self;
        eprintln!("{tried} requests: {accepted} accepted, refused {refused:?}");
        assert!(*accepted > 3 && refused.len() > 3, "too quiet to prove anything");
        tenure_sim::store::verify(&tenure_sim::agent::client(self.daemon.folder()));
    }
}

/// What a session's proof, or a lease's token, is known by, from its one repeated byte.
fn hash(byte: &str) -> Value {
    json!(Proof::from_wire(&byte.repeat(32)).expect("a secret").hash())
}

/// Plays on a server whose store is in PostgreSQL.
fn on_postgresql(play: fn(Scene)) {
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let place = Place::new();
    play(Scene::begin(&place.folder("server"), &["--database", &url]));
}

fn hostile(mut scene: Scene) {
    let examples = examples(Path::new(CORPUS));
    let tried = try_for_a_while(&examples, |input| drop(scene.tried(input)));
    scene.end(tried);
}

/// What is right, and one time in twenty what is not.
fn mostly(right: Value, wrong: Value) -> Value {
    let mut words = vec![right; 19];
    words.push(wrong);
    Value::from(words)
}

/// Words for what the document describes: mostly what is there.
fn words() -> [(&'static str, Value); 20] {
    let tasks = ["afc-1", "afc-1", "afc-1", "afc-1", "afc-2", "afc-3", "afc-4", "afc-5", "afc-99"];
    [
        (
            "",
            json!([
                "so far",
                "a",
                "c1",
                "\u{e9}\u{5bb6}",
                "main",
                "owner/repo#12",
                "1.2",
                "0".repeat(40),
                "x".repeat(9000)
            ]),
        ),
        ("TaskId", json!(tasks)),
        ("ProjectKey", json!(["afc", "afc", "afc", "other", "nobody"])),
        ("AttemptId", json!(["afc-1@1", "afc-2@1"])),
        ("SessionId", json!([SESSION, "f".repeat(32), "e".repeat(32)])),
        ("PrincipalName", json!(["eve", "mallory"])),
        ("Digest", json!([hash(LEASE), hash("00")])),
        ("EventCursor", json!(["1-0", "1-1", "1-5", "2-1"])),
        ("Capability", json!(["rust", "gpu/a100"])),
        (
            "text",
            json!(["so far", "", "{\"id\":\"a\",\"title\":\"t\"}\n", "\u{0}", "\u{1b}[2J", "x".repeat(9000)]),
        ),
        ("wait_ms", json!([0, 1, 5])),
        ("Tenure-Session", mostly(json!(SESSION), json!("f".repeat(32)))),
        ("Tenure-Proof", mostly(json!(PROOF.repeat(32)), json!(LEASE.repeat(32)))),
        ("Tenure-Attempt", mostly(json!("afc-1@1"), json!("afc-1@2"))),
        ("Tenure-Lease", mostly(json!(LEASE.repeat(32)), json!(PROOF.repeat(32)))),
        ("Tenure-Token-Hash", json!([hash(LEASE)])),
        // What has not happened yet would be waited for.
        ("Tenure-At-Least", json!(["1-0", "1-1", "2-1"])),
        ("Tenure-Protocol", mostly(json!(1), json!(2))),
        ("Tenure-Epoch", mostly(json!(1), json!(2))),
        ("If-Match", json!(["\"1\"", "\"2\"", "\"3\"", "1"])),
    ]
}

fn drawn(mut scene: Scene) {
    let described = scene.asked("GET /openapi.json", &Value::Null).body;
    let document = Document::of(&serde_json::from_str(&described).expect("JSON"), &words());
    for title in ["third", "fourth", "fifth"] {
        scene.asked("POST /api/v1/tasks", &json!({ "project": "afc", "title": title }));
    }
    let claim = format!(
        "POST /api/v1/claims\nTenure-Token-Hash: {}\n\n{{\"task\":\"afc-1\"}}",
        hash(LEASE).as_str().expect("a text")
    );
    assert_eq!(scene.tried(claim.as_bytes()), Some((200, None)));
    let mut dice = Seed::of(fuzz::seed(), 0);
    let mut accepted: BTreeMap<&str, u32> = document.routes.iter().map(|route| (&*route.name, 0)).collect();
    let present = Cell::new(&document.routes[0]);
    let mut routes = document.routes.iter().cycle();
    let tried = fuzz::draw_for_a_while(
        || {
            present.set(routes.next().expect("it never ends"));
            document.draw(present.get(), &mut dice).into_bytes()
        },
        |input| {
            let Some((status, code)) = scene.tried(input) else { return };
            let route = present.get();
            assert!(route.describes(status, code.as_deref()), "{} answered {status} {code:?}", route.name);
            *accepted.get_mut(&*route.name).expect("all are there") += u32::from(code.is_none());
        },
    );
    eprintln!("accepted: {accepted:?}");
    let played = accepted.values().filter(|count| **count > 0).count();
    assert!(played * 3 > accepted.len(), "too quiet to prove anything: {played} of {}", accepted.len());
    scene.end(tried);
}

#[test]
fn hostile_requests_are_answered_or_refused_by_name_and_change_nothing() {
    hostile(Scene::begin(Place::new().state(), &[]));
}

#[test]
fn hostile_requests_are_answered_or_refused_by_name_and_change_nothing_on_postgresql() {
    on_postgresql(hostile);
}

#[test]
fn requests_that_the_document_gives_rise_to_get_an_answer_that_it_describes() {
    drawn(Scene::begin(Place::new().state(), &[]));
}

#[test]
fn requests_that_the_document_gives_rise_to_get_an_answer_that_it_describes_on_postgresql() {
    on_postgresql(drawn);
}
