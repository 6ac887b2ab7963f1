//! Who takes too long, or too much, or sends what could be read in two ways.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tenure_core::model::limits::{NETWORK_HEAD_BYTES, NETWORK_HEADERS};
use tenure_core::token::{Token, TokenKind};
use tenure_server::daemon::network::{Limits, Network};

use crate::daemon::{Served, served_on};
use crate::network::{everything, loopback};
use crate::patience::until;
use crate::tokens::{administered_on, made, with as with_token};
use crate::wire::{Answer, get, mutation};

fn with(limits: Limits) -> Served {
    served_on(Network { limits, proxies: Vec::new(), ..loopback() })
}

/// How many answers there are in what came back.
fn answers(told: &str) -> usize {
    told.matches("HTTP/1.1 ").count()
}

#[test]
fn whoever_sends_its_head_too_slowly_is_cut() {
    let served = with(Limits { headers: Duration::from_millis(100), ..Limits::default() });
    let mut silent = served.connect();
    let mut begun = served.connect();
    begun.write_all(b"GET /healthz HTTP/1.1\r\nHost: loc").expect("sent");
    for stream in [&mut silent, &mut begun] {
        let told = everything(stream);
        assert!(told.is_empty() || told.starts_with("HTTP/1.1 408 "), "{told}");
    }
    // One that has been answered is not kept for ever either.
    let mut kept = served.connect();
    kept.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    assert!(everything(&mut kept).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_body_that_does_not_arrive_is_answered_and_its_connection_ends() {
    let served = administered_on(loopback());
    let token = made(&served, "ci-1", TokenKind::Agent, 1, false);
    let of_form = "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded";
    let of_agent = format!("Authorization: Bearer {}\r\nContent-Type: application/json", token.as_str());
    // Both wait at the same time, for as long as a body may take.
    let begun =
        [("/api/v1/imports/preview", of_agent.as_str()), ("/browser/login", of_form)].map(|(path, lines)| {
            let mut stream = served.connect();
            stream.set_read_timeout(Some(Duration::from_secs(90))).expect("a timeout");
            let head =
                format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\nContent-Length: 10\r\n\r\n{{");
            stream.write_all(head.as_bytes()).expect("sent");
            stream
        });
    for mut stream in begun {
        let told = everything(&mut stream);
        assert!(told.starts_with("HTTP/1.1 408 ") && answers(&told) == 1, "{told}");
    }
}

#[test]
fn one_address_has_so_many_connections_and_the_socket_has_its_own() {
    let served = with(Limits { per_address: 2, ..Limits::default() });
    let held: Vec<TcpStream> = (0..2).map(|_| served.connect()).collect();
    for mut stream in &held {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
    assert_eq!(everything(&mut served.connect()), "", "the third ends at once");
    assert_eq!(served.ask(&get("/healthz")).status, 200, "the socket");
    drop(held);
    until("the places are free again", || {
        let mut stream = served.connect();
        let sent = stream.write_all(&get("/healthz").bytes());
        sent.is_ok() && everything(&mut stream).starts_with("HTTP/1.1 200 ")
    });
}

#[test]
fn connections_of_the_network_leave_those_of_the_socket_alone() {
    let served = with(Limits { connections: 1, ..Limits::default() });
    let mut first = served.connect();
    first.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
    let mut answer = [0; 12];
    first.read_exact(&mut answer).expect("an answer");
    assert_eq!(served.ask(&get("/healthz")).status, 200);
    // Whoever comes next waits until there is room.
    let mut second = served.connect();
    second.write_all(&get("/healthz").bytes()).expect("sent");
    drop(first);
    assert!(everything(&mut second).starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_head_has_a_size_and_a_number_of_lines() {
    let served = with(Limits::default());
    let many =
        (0..=NETWORK_HEADERS).fold(get("/healthz"), |request, n| request.header(&format!("X-{n}"), "1"));
    let told = served.raw(&many.bytes());
    assert!(told.starts_with("HTTP/1.1 431 "), "{told}");
    let mut stream = served.connect();
    // It may be cut while it sends; then the answer can be lost with what it sent.
    let _ = stream.write_all(&get("/healthz").header("X-Long", &"x".repeat(NETWORK_HEAD_BYTES)).bytes());
    let told = everything(&mut stream);
    assert!(told.is_empty() || told.starts_with("HTTP/1.1 431 "), "{told}");
}

#[test]
fn what_a_proxy_could_read_in_another_way_is_refused_or_ends_the_connection() {
    let served = with(Limits::default());
    let head = "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\n";
    let hidden = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (wrong, why) in [
        ("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "two lengths"),
        ("Content-Length: 5, 5\r\n\r\nhello", "a list of lengths"),
        ("Content-Length: +5\r\n\r\nhello", "a length with a sign"),
        ("Content-Length: 0x5\r\n\r\nhello", "a length in another base"),
        ("Transfer-Encoding: gzip\r\n\r\nhello", "a coding that is not chunked"),
        ("Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", "chunked is not the last"),
        ("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", "a space before the colon"),
        ("X-Folded: a\r\n b\r\n\r\n", "a folded line"),
        (" X-Leading: a\r\n\r\n", "a leading space"),
        ("X\0: a\r\n\r\n", "a NUL in a name"),
        ("X: a\0b\r\n\r\n", "a NUL in a value"),
    ] {
        let told = served.raw(format!("{head}{wrong}{hidden}").as_bytes());
        assert!(told.starts_with("HTTP/1.1 400 ") && answers(&told) == 1, "{why}: {told}");
    }
    // Where both say how long a body is, it is chunked, as the standard says, and nothing after it is read.
    for both in [
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n",
    ] {
        let told = served.raw(format!("{head}{both}{hidden}").as_bytes());
        assert!(told.starts_with("HTTP/1.1 401 ") && answers(&told) == 1, "{told}");
    }
    let old = "POST / HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert!(served.raw(format!("{old}{hidden}").as_bytes()).starts_with("HTTP/1.1 400 "));
}

/// What is refused although its caller is known: no session is named.
fn write(served: &Served, token: &Token, client: &str) -> Answer {
    let asked = mutation("POST", "/api/v1/projects", r#"{"key":"afc"}"#).anonymous();
    served.ask_from(client, with_token(token, asked))
}

/// Writes until it is told to wait, and returns for how many seconds.
fn until_told_to_wait(served: &Served, token: &Token, client: &str) -> u64 {
    let mut answers = (0..1_000).map(|_| write(served, token, client));
    let last = answers.find(|answer| answer.status != 401).expect("it is told to wait");
    assert_eq!((last.status, last.code().as_str()), (429, "rate_limited"), "{}", last.body);
    let seconds =
        last.header("retry-after").and_then(|wait| wait.parse().ok()).expect("for how many seconds");
    assert_eq!(last.value()["facts"]["retry_after_s"], seconds);
    seconds
}

#[test]
fn who_writes_without_rest_is_told_to_wait_before_anything_of_it_is_read() {
    let limits = Limits { writes_per_second: 1, ..Limits::default() };
    let served = administered_on(Network { limits, ..loopback() });
    let (own, other) = (
        made(&served, "ci-1", TokenKind::Agent, 1, false),
        made(&served, "ci-2", TokenKind::Agent, 2, false),
    );
    let number = || served.engine.as_ref().expect("open").info().expect("open").event;
    let before = number();
    assert!((1..=2).contains(&until_told_to_wait(&served, &own, "198.51.100.1")));
    assert_eq!(number(), before, "nothing is recorded");
    // From elsewhere as well; its questions, another's writes and the socket are another matter.
    until_told_to_wait(&served, &own, "198.51.100.2");
    for path in ["/api/v1/projects", "/api/v1/whoami"] {
        assert_eq!(served.ask_from("198.51.100.1", with_token(&own, get(path))).status, 200);
    }
    assert_eq!(write(&served, &other, "198.51.100.1").status, 401);
    // A body that is announced is not waited for.
    until_told_to_wait(&served, &own, "198.51.100.1");
    let head = "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer";
    let told = served.raw(format!("{head} {}\r\nContent-Length: 1000000\r\n\r\n{{", own.as_str()).as_bytes());
    assert!(told.starts_with("HTTP/1.1 429 "), "{told}");
}

#[test]
fn an_address_writes_only_so_much_whatever_token_comes_from_it() {
    let limits = Limits { writes_per_second: 1, ..Limits::default() };
    let served = administered_on(Network { limits, ..loopback() });
    let tokens: Vec<Token> =
        (1..=9).map(|n| made(&served, &format!("ci-{n}"), TokenKind::Agent, n, false)).collect();
    // Each of them has not written before, and could write ten times; the address is told to wait sooner than all have.
    let once_each = |client: &str| -> Vec<u16> {
        let rounds = (0..9).flat_map(|_| &tokens);
        rounds.map(|token| write(&served, token, client).status).collect()
    };
    let statuses = once_each("198.51.100.1");
    assert!(statuses.contains(&429) && statuses[..9] == [401; 9], "{statuses:?}");
    assert_eq!(write(&served, &tokens[8], "198.51.100.2").status, 401, "the same token from elsewhere");
}
