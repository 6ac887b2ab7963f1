//! Callers with a token: what it opens by the network, what it does not, and when it ends.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use serde_json::{Value, json};
use tenure_core::envelope::{Authentication, Envelope};
use tenure_core::model::account::PasswordHash;
use tenure_core::model::ids::TokenId;
use tenure_core::operation::catalog::{self, AnyOperation};
use tenure_core::secret::Proof;
use tenure_core::token::{ReporterSecret, Token, TokenKind};
use tenure_core::wire;
use tenure_engine::Command;
use tenure_server::daemon::network::Network;

use crate::daemon::{Served, served_on};
use crate::network::loopback;
use crate::waiting::until_so_many_wait;
use crate::wire::{Answer, PROOF, Request, SESSION, get, mutation, request};

const CLIENT: &str = "198.51.100.1";

/// The password of everybody here.
pub const PASSWORD: &str = "staple-of-another-sort";

/// Its hash, at the cost that hashes have.
fn hash() -> PasswordHash {
    static HASH: LazyLock<PasswordHash> = LazyLock::new(|| {
        let hash = Argon2::default().hash_password_with_salt(PASSWORD.as_bytes(), b"salt of the tests");
        hash.expect("hashed").to_string().parse().expect("a hash")
    });
    HASH.clone()
}

fn operation(name: &str, input: Value) -> AnyOperation {
    let entry = catalog::entries().into_iter().find(|entry| entry.spec.name == name).expect("an operation");
    (entry.read)(input).expect("a valid input")
}

/// What an administrator does, without the network and without a terminal.
fn done(served: &Served, name: &str, input: Value, authentication: Authentication) -> Value {
    let id = format!("{name}-{}", served.engine.as_ref().expect("open").info().expect("open").event.0);
    let envelope = Envelope {
        operation_id: Some(id.parse().expect("an id")),
        authentication: Some(authentication),
        new_password: Some(hash()),
        ..Envelope::default()
    };
    let told =
        served.engine.as_ref().expect("open").call(Command { operation: operation(name, input), envelope });
    serde_json::from_str(&told.expect("done")).expect("JSON")
}

pub fn by_ada(served: &Served, name: &str, input: Value) -> Value {
    let ada = Authentication::Password { name: "ada".parse().expect("a name"), hash: hash().digest() };
    done(served, name, input, ada)
}

/// A server on the network with the administrator `ada`.
pub fn administered() -> Served {
    administered_on(loopback())
}

/// The same, which listens as it is told.
pub fn administered_on(network: Network) -> Served {
    let served = served_on(network);
    done(&served, "account.bootstrap", json!({ "name": "ada" }), Authentication::Console);
    served
}

/// Makes a token that is drawn from this seed.
pub fn made(served: &Served, name: &str, kind: TokenKind, seed: u8, read_only: bool) -> Token {
    let token = Token::of(kind, [seed; 32]);
    let input = json!({ "name": name, "kind": kind, "hash": token.hash(), "read_only": read_only, "reason": "joins" });
    by_ada(served, "token.create", input);
    token
}

pub fn revoke(served: &Served, token: &Token) {
    by_ada(served, "token.revoke", json!({ "token": TokenId::of(&token.hash()), "reason": "lost" }));
}

pub fn with(token: &Token, request: Request) -> Request {
    request.header("Authorization", &format!("Bearer {}", token.as_str()))
}

fn ask(served: &Served, token: &Token, request: Request) -> Answer {
    served.ask_from(CLIENT, with(token, request))
}

/// Opens the session that [`mutation`] calls in, by the network.
fn open(served: &Served, token: &Token, name: &str) -> Answer {
    let proof = Proof::from_wire(PROOF).expect("a proof").hash();
    let body = json!({ "session": SESSION, "proof_hash": proof, "name": name });
    ask(served, token, mutation("POST", "/api/v1/sessions", &body.to_string()).anonymous())
}

fn told(answer: &Answer) -> (u16, String) {
    (answer.status, answer.code())
}

#[test]
fn an_agent_with_a_token_works_by_the_network() {
    let served = administered();
    let token = made(&served, "ci-1", TokenKind::Agent, 1, false);
    assert_eq!(open(&served, &token, "ci-2").code(), "token_mismatch");
    assert_eq!(open(&served, &token, "ci-1").status, 200);
    let project = ask(&served, &token, mutation("POST", "/api/v1/projects", r#"{"key":"afc"}"#));
    assert_eq!(project.status, 200, "{}", project.body);
    let who = ask(&served, &token, get("/api/v1/whoami")).value();
    assert_eq!(who["token"]["name"], "ci-1");
    for question in ["info", "instructions", "audit", "export", "projects", "events"] {
        assert_eq!(ask(&served, &token, get(&format!("/api/v1/{question}"))).status, 200, "{question}");
    }
    assert_eq!(ask(&served, &token, get("/openapi.json")).status, 200);
    // Another's token does not act in this session, and a cut one is nobody's.
    let other = made(&served, "ci-2", TokenKind::Agent, 2, false);
    let foreign = ask(&served, &other, mutation("POST", "/api/v1/projects", r#"{"key":"b"}"#));
    assert_eq!(told(&foreign), (401, "session_unknown".to_owned()));
    let cut = &token.as_str()[..token.as_str().len() - 1];
    let asked = get("/api/v1/projects").header("Authorization", &format!("Bearer {cut}"));
    assert_eq!(told(&served.ask_from(CLIENT, asked)), (401, "unauthenticated".to_owned()));
}

#[test]
fn a_token_that_only_asks_changes_nothing_by_the_network() {
    let served = administered();
    let token = made(&served, "ci-1", TokenKind::Agent, 1, true);
    assert_eq!(ask(&served, &token, get("/api/v1/projects")).status, 200);
    assert_eq!(told(&open(&served, &token, "ci-1")), (403, "token_read_only".to_owned()));
}

#[test]
fn many_at_once_who_are_known_are_not_told_to_wait() {
    let served = administered();
    let token = made(&served, "mill", TokenKind::Machine, 1, false);
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| assert_eq!(ask(&served, &token, get("/api/v1/projects")).status, 200));
        }
    });
}

#[test]
fn what_is_done_to_the_server_itself_is_done_on_its_own_machine() {
    let served = administered();
    let token = made(&served, "mill", TokenKind::Machine, 1, false);
    for (method, path) in
        [("POST", "shutdown"), ("POST", "backups"), ("GET", "database"), ("GET", "shutdown")]
    {
        let answer = ask(&served, &token, request(method, &format!("/api/v1/{path}")).json("{}"));
        assert_eq!(told(&answer), (403, "local_only".to_owned()), "{path}");
        assert_eq!(served.ask_from(CLIENT, request(method, &format!("/api/v1/{path}"))).status, 401);
    }
    assert_eq!(served.ask(&get("/api/v1/info")).status, 200, "it goes on");
}

#[test]
fn no_password_is_taken_over_a_connection_that_others_can_read() {
    let served = administered();
    let token = made(&served, "mill", TokenKind::Machine, 1, false);
    let list = || get("/api/v1/accounts").header("Tenure-Person", "ada").header("Tenure-Password", "x");
    // Behind a trusted proxy on this machine the connection to it is the one that counts, and it is that proxy's affair.
    assert_eq!(told(&ask(&served, &token, list())), (401, "authentication_failed".to_owned()));
    let console = get("/api/v1/projects").header("Tenure-Console", "x");
    assert_eq!(told(&ask(&served, &token, console)), (403, "local_only".to_owned()));
    let mut network = loopback();
    network.proxies.clear();
    let served = served_on(network);
    done(&served, "account.bootstrap", json!({ "name": "ada" }), Authentication::Console);
    let token = made(&served, "mill", TokenKind::Machine, 1, false);
    for secret in ["Tenure-Password", "Tenure-New-Password"] {
        let answer = ask(&served, &token, get("/api/v1/projects").header(secret, "x"));
        assert_eq!(told(&answer), (403, "encryption_required".to_owned()), "{secret}");
    }
    assert_eq!(ask(&served, &token, get("/api/v1/projects")).status, 200);
}

/// Sends a request by the network and leaves the answer to whoever reads on.
pub fn begun(served: &Served, request: Request) -> BufReader<TcpStream> {
    let mut stream = served.connect();
    stream.write_all(&request.header("X-Forwarded-For", CLIENT).bytes()).expect("sent");
    BufReader::new(stream)
}

/// Reads lines until one has this, or the end.
pub fn reads(stream: &mut BufReader<TcpStream>, wanted: &str) -> bool {
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).expect("a line") == 0 {
            return false;
        }
        if line.contains(wanted) {
            return true;
        }
    }
}

#[test]
fn a_revoked_token_ends_the_stream_that_it_opened() {
    let served = administered();
    let token = made(&served, "ci-1", TokenKind::Agent, 1, false);
    let other = made(&served, "ci-2", TokenKind::Agent, 2, false);
    let follow = |token| begun(&served, with(token, get("/api/v1/events")).as_it_happens());
    let (mut stream, mut goes_on) = (follow(&token), follow(&other));
    assert!(reads(&mut stream, "token_created") && reads(&mut goes_on, "token_created"));
    revoke(&served, &token);
    assert!(!reads(&mut stream, "token_revoked"), "it hears nothing more");
    assert!(reads(&mut goes_on, "token_revoked"), "the other one does");
    assert_eq!(ask(&served, &token, get("/api/v1/events")).status, 401);
}

#[test]
fn a_revoked_token_ends_the_wait_that_it_began() {
    let served = administered();
    let token = made(&served, "ci-1", TokenKind::Agent, 1, false);
    assert_eq!(open(&served, &token, "ci-1").status, 200);
    for (path, body) in [
        ("/api/v1/projects", r#"{"key":"afc"}"#),
        ("/api/v1/tasks", r#"{"project":"afc","title":"the first"}"#),
    ] {
        assert_eq!(ask(&served, &token, mutation("POST", path, body)).status, 200);
    }
    let waits = get("/api/v1/wait?task=afc-1&wait_ms=60000");
    let waits = waits.header("Tenure-Session", SESSION).header("Tenure-Proof", PROOF);
    let mut stream = begun(&served, with(&token, waits));
    until_so_many_wait(&served, 1);
    revoke(&served, &token);
    assert!(reads(&mut stream, "401"), "it is judged again");
}

/// A reporter of the task that `ci-1` holds by the network, for a minute.
fn reported(served: &Served, token: &Token) -> ReporterSecret {
    assert_eq!(open(served, token, "ci-1").status, 200);
    let lease = Proof::from_wire(&"5".repeat(64)).expect("a proof");
    let done = |path: &str, body: &str, headers: &[(&str, &str)]| {
        let asked = mutation("POST", path, body);
        let asked = headers.iter().fold(asked, |asked, (name, value)| asked.header(name, value));
        let answer = ask(served, token, asked);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    };
    done("/api/v1/projects", r#"{"key":"afc"}"#, &[]);
    done("/api/v1/tasks", r#"{"project":"afc","title":"work"}"#, &[]);
    done("/api/v1/claims", r#"{"task":"afc-1"}"#, &[(wire::TOKEN_HASH, &lease.hash().to_string())]);
    let secret = ReporterSecret::of([8; 32]);
    let body = json!({ "hash": secret.hash(), "watches": "a build", "window_ms": 60_000 }).to_string();
    let held = [(wire::ATTEMPT, "afc-1@1"), (wire::LEASE, &*lease.to_wire())];
    done("/api/v1/tasks/afc-1/reporters", &body, &held);
    secret
}

#[test]
fn a_reporters_secret_renews_one_lease_and_opens_nothing_else() {
    let served = administered();
    let token = made(&served, "ci-1", TokenKind::Agent, 1, false);
    let secret = reported(&served, &token);
    let known = |request: Request| request.header("Authorization", &format!("Bearer {}", secret.as_str()));
    let by_network = |request: Request| served.ask_from(CLIENT, known(request));
    let renew = || mutation("POST", "/api/v1/reporters/renew", "{}");
    for answer in [by_network(renew().anonymous()), served.ask(&known(renew().anonymous()))] {
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.value()["attempt"], "afc-1@1");
        assert!(!answer.body.contains(secret.as_str()), "{}", answer.body);
    }
    for closed in ["projects", "tasks/afc-1", "events", "info", "whoami", "export", "audit"] {
        let answer = by_network(get(&format!("/api/v1/{closed}")));
        assert_eq!(told(&answer), (403, "reporter_limited".to_owned()), "{closed}");
    }
    // Not even beside the proof of the session that made it.
    for (path, body) in [("tasks/afc-1/notes", r#"{"text":"t"}"#), ("projects", r#"{"key":"b"}"#)] {
        let asked = || mutation("POST", &format!("/api/v1/{path}"), body);
        for answer in [by_network(asked()), served.ask(&known(asked()))] {
            assert_eq!(told(&answer), (403, "reporter_limited".to_owned()), "{path}");
        }
    }
    assert_eq!(by_network(get("/api/v1/backups")).status, 403);
    let other = ReporterSecret::of([9; 32]);
    let stranger = renew().anonymous().header("Authorization", &format!("Bearer {}", other.as_str()));
    assert_eq!(told(&served.ask_from(CLIENT, stranger)), (401, "unauthenticated".to_owned()));
    // A token and a session renew by their heartbeat, and not here.
    assert_eq!(told(&ask(&served, &token, renew())), (401, "unauthenticated".to_owned()));
    assert_eq!(told(&served.ask(&renew())), (401, "unauthenticated".to_owned()));
    let end = || mutation("POST", "/api/v1/reporters/end", "{}").anonymous();
    assert_eq!(by_network(end()).status, 200);
    assert_eq!(told(&by_network(renew().anonymous())), (409, "reporter_ended".to_owned()));
}
