//! What a stranger on the network hears: how to get in, whatever it asks for, and nothing of what is coordinated.

use serde_json::{Value, json};
use tenure_core::operation::catalog;

use crate::daemon::{open_session, served_on};
use crate::network::loopback;
use crate::wire::{LEASE, PROOF, get, mutation, request};

/// Every route that there is, and many that there are not, by every method.
fn asked_for() -> Vec<(String, String)> {
    let operations = catalog::entries().into_iter().map(|entry| format!("/api/v1{}", entry.spec.path));
    let fixed =
        ["/openapi.json", "/api/v1/info", "/api/v1/audit", "/api/v1/instructions", "/api/v1/database"];
    let more = ["/api/v1/backups", "/api/v1/export", "/api/v1/shutdown", "/browser", "/nowhere", "*"];
    let tricks = [
        "//healthz",
        "/healthz/",
        "/healthz/../api/v1/tasks",
        "/healthz%2f..%2fapi%2fv1%2ftasks",
        "/%2e%2e/api/v1/tasks",
        "/api/v1/help/../tasks",
        "/api/v1//help",
        "/API/V1/HELP",
        "/version;/api/v1/tasks",
        "/x%00/healthz",
        "http://localhost/api/v1/tasks",
        "http://localhost//healthz",
    ];
    let paths = operations.chain(fixed.into_iter().chain(more).chain(tricks).map(str::to_owned));
    let methods = ["GET", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "PUT", "TRACE", "PURGE"];
    let mut all: Vec<(String, String)> = paths
        .flat_map(|path| methods.map(|method| (method.to_owned(), path.replace("{task}", "afc-1"))))
        .filter(|(method, path)| path != "*" || method == "OPTIONS")
        .collect();
    for public in ["/healthz", "/readyz", "/version", "/api/v1/help"] {
        all.extend(methods[1..].iter().map(|method| ((*method).to_owned(), public.to_owned())));
    }
    all.push(("CONNECT".to_owned(), "localhost:80".to_owned()));
    all
}

#[test]
fn a_stranger_hears_the_same_whatever_it_asks_for() {
    let served = served_on(loopback());
    open_session(&served.socket);
    let made = served.ask(&mutation("POST", "/api/v1/projects", r#"{"key":"afc"}"#));
    assert_eq!(made.status, 200, "{}", made.body);
    let mut heard: Option<Value> = None;
    for (number, (method, path)) in asked_for().into_iter().enumerate() {
        // Each comes from an address of its own, or they would be told to wait.
        let client = format!("198.51.{}.{}", number / 250, number % 250);
        let asked = request(&method, &path).header("Tenure-Proof", PROOF).header("Authorization", "Bearer x");
        let answer = served.ask_from(&client, asked);
        assert_eq!(answer.status, 401, "{method} {path}: {}", answer.body);
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        assert!(answer.header("tenure-request").is_some() && answer.header("tenure-event").is_none());
        assert!(answer.header("allow").is_none(), "{method} {path} tells of a route");
        if method == "HEAD" {
            assert_eq!(answer.body, "");
            continue;
        }
        if method == "CONNECT" {
            continue;
        }
        assert_eq!(answer.code(), "unauthenticated");
        assert!(answer.body.contains("show this to your human"), "{}", answer.body);
        assert_eq!(*heard.get_or_insert_with(|| answer.value()), answer.value(), "{method} {path}");
    }
}

#[test]
fn everybody_hears_that_the_server_is_well_its_version_and_how_to_get_in() {
    let served = served_on(loopback());
    let tell = |path| served.ask_from("198.51.100.1", get(path));
    assert_eq!(tell("/healthz").value(), json!({ "alive": true }));
    assert_eq!(tell("/readyz").value(), json!({ "ready": true }));
    let version = tell("/version").value();
    let named: Vec<&String> = version.as_object().expect("an object").keys().collect();
    assert_eq!(named, ["name", "protocol", "protocol_min", "version"]);
    let help = tell("/api/v1/help?x");
    assert_eq!((help.status, help.header("content-type")), (200, Some("text/plain; charset=utf-8")));
    assert!(help.body.contains("ask whoever runs this server for a token"), "{}", help.body);
    // On the socket the same routes tell all that they know.
    assert!(served.ask(&get("/readyz")).value()["schema"].is_number());
    assert_eq!(served.ask(&get("/api/v1/projects")).status, 200);
}

#[test]
fn a_stranger_hears_that_the_server_is_unwell_and_not_why() {
    let served = served_on(loopback());
    served.engine.as_ref().expect("open").close();
    let unwell = served.ask_from("198.51.100.1", get("/readyz"));
    assert_eq!((unwell.status, unwell.code().as_str()), (503, "cannot_tell"));
    assert_eq!(unwell.value()["detail"], "this server cannot write now");
}

#[test]
fn neither_route_nor_body_is_looked_at_before_the_door() {
    let served = served_on(loopback());
    // A body that is announced and never comes is not waited for.
    let head = "POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let told = served.raw(format!("{head}Content-Length: 9999999999\r\n\r\n{{").as_bytes());
    assert!(told.starts_with("HTTP/1.1 401 "), "{told}");
    let told = served.raw(format!("{head}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n").as_bytes());
    assert!(told.starts_with("HTTP/1.1 401 "), "nobody is asked to go on: {told}");
    let long = request("GET", &format!("/api/v1/search?query={}", "x".repeat(13 * 1024)));
    assert_eq!(served.ask_from("198.51.100.1", long).status, 401);
    let old = request("GET", "/api/v1/tasks").header("Tenure-Protocol", "99");
    assert_eq!(served.ask_from("198.51.100.1", old).status, 401);
}

#[test]
fn a_foreign_host_or_page_is_refused_before_anything_else() {
    let served = served_on(loopback());
    let told = |request| {
        let answer = served.ask_from("198.51.100.1", request);
        (answer.status, answer.code())
    };
    for path in ["/healthz", "/api/v1/tasks", "/nowhere"] {
        let foreign = told(get(path).header("Host", "rebound.example"));
        assert_eq!(foreign, (421, "host_refused".to_owned()));
        let page = told(get(path).header("Origin", "https://page.example"));
        assert_eq!(page, (403, "origin_refused".to_owned()));
        let twice = told(get(path).header("Host", "localhost").header("Host", "localhost"));
        assert_eq!(twice, (400, "invalid_input".to_owned()));
    }
    let own = format!("http://{}", served.address());
    let of_own_page = get("/healthz").header("Host", &served.address().to_string()).header("Origin", &own);
    assert_eq!(served.ask_from("198.51.100.1", of_own_page).status, 200);
}

#[test]
fn an_address_that_asks_in_vain_too_often_is_told_to_wait() {
    let served = served_on(loopback());
    let vainly = |client: &str| {
        let answer = served.ask_from(client, get("/api/v1/tasks").header("Authorization", "Bearer guess"));
        (answer.status, answer.header("retry-after").map(str::to_owned), answer.code())
    };
    let last = (0..100).map(|_| vainly("198.51.100.1")).find(|(status, _, _)| *status != 401);
    let (status, wait, code) = last.expect("it is told to wait");
    assert_eq!((status, code.as_str()), (429, "rate_limited"));
    let wait: u64 = wait.and_then(|wait| wait.parse().ok()).expect("for how many seconds");
    assert!((1..=3).contains(&wait), "{wait}");
    // Who says nothing of a token, who comes from elsewhere, and who asks what all may know, is not.
    assert_eq!(served.ask_from("198.51.100.1", get("/api/v1/tasks")).status, 401);
    assert_eq!(vainly("198.51.100.2").0, 401);
    assert_eq!(served.ask_from("198.51.100.1", get("/healthz")).status, 200);
}

#[test]
fn who_is_no_trusted_proxy_cannot_ask_as_somebody_else() {
    let mut network = loopback();
    network.proxies.clear();
    let served = served_on(network);
    let ask = |n: u32| served.ask_from(&format!("198.51.100.{n}"), get("/api/v1/tasks")).status;
    assert!((0..100).map(ask).any(|status| status == 429), "all of them are one address");
}

#[test]
fn no_secret_of_a_stranger_reaches_the_log_or_an_answer() {
    let served = served_on(loopback());
    let asked = get("/api/v1/tasks").header("Authorization", &format!("Bearer {LEASE}"));
    let answer = served.ask_from("198.51.100.1", asked);
    assert!(!answer.body.contains(LEASE) && !format!("{:?}", answer.headers).contains(LEASE));
}
