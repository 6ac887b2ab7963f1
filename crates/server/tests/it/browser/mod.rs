//! People in browsers: over raw HTTP what a login opens, when it ends and from where it counts; and in a real browser the
//! pages themselves.

mod chromium;
mod journey;

use serde_json::json;
use tenure_core::model::limits::LOGIN_BURST;
use tenure_core::token::TokenKind;
use tenure_server::daemon::network::Network;

use crate::daemon::{Served, served_on};
use crate::network::loopback;
use crate::tokens::{PASSWORD, administered, begun, by_ada, made, reads, with};
use crate::wire::{Answer, PROOF, Request, SESSION, get, request};

const CLIENT: &str = "198.51.100.1";

/// What a browser keeps of a login, and what its pages carry.
pub struct Browser {
    pub cookie: String,
    pub word: String,
}

/// A form as a page of the server sends it.
fn form(path: &str, fields: &str) -> Request {
    request("POST", path)
        .header("Sec-Fetch-Site", "same-origin")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(fields.as_bytes())
}

fn try_to_log_in(served: &Served, name: &str, password: &str, client: &str) -> Answer {
    served.ask_from(client, form("/browser/login", &format!("name={name}&password={password}")))
}

/// Logs somebody in, from an address.
pub fn log_in_from(served: &Served, name: &str, client: &str) -> Browser {
    let answer = try_to_log_in(served, name, PASSWORD, client);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{}", answer.body);
    let set = answer.header("set-cookie").expect("a cookie");
    let cookie = set.split(';').next().expect("a pair").to_owned();
    let home = served.ask_from(client, get("/").header("Cookie", &cookie));
    assert_eq!(home.status, 200, "{}", home.body);
    let word = home.body.split("name=\"page\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    Browser { cookie, word: word.expect("what the page carries").to_owned() }
}

fn log_in(served: &Served, name: &str) -> Browser {
    log_in_from(served, name, CLIENT)
}

impl Browser {
    /// A request as a script of a page of the server sends it.
    pub fn sends(&self, request: Request) -> Request {
        request
            .header("Cookie", &self.cookie)
            .header("Sec-Fetch-Site", "same-origin")
            .header("Tenure-Page", &self.word)
    }

    fn asks(&self, served: &Served, path: &str) -> u16 {
        served.ask_from(CLIENT, get(path).header("Cookie", &self.cookie)).status
    }

    fn is_logged_in(&self, served: &Served) -> bool {
        self.asks(served, "/api/v1/projects") == 200
    }
}

fn change(path: &str, body: &serde_json::Value, key: &str) -> Request {
    request("POST", path).header("Idempotency-Key", key).json(&body.to_string())
}

fn creation(name: &str) -> Request {
    let body = json!({ "name": name, "kind": "agent", "hash": "ab".repeat(32), "reason": "joins" });
    change("/api/v1/tokens", &body, &format!("make-{name}"))
}

#[test]
fn a_person_logs_in_and_hears_who_they_are() {
    let served = administered();
    let stranger = served.ask_from(CLIENT, get("/"));
    assert_eq!((stranger.status, stranger.header("location")), (303, Some("/login")));
    let page = served.ask_from(CLIENT, get("/login"));
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("cache-control"), Some("no-store"));

    let answer = try_to_log_in(&served, "ada", PASSWORD, CLIENT);
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-tenure=") && !cookie.contains("Domain"), "{cookie}");
    for part in ["; Path=/", "; Secure", "; HttpOnly", "; SameSite=Strict"] {
        assert!(cookie.contains(part), "{part}");
    }
    let browser = log_in(&served, "ada");
    let home = served.ask_from(CLIENT, get("/").header("Cookie", &browser.cookie)).body;
    assert!(home.contains("You are ada") && home.contains("administrator"), "{home}");
    assert!(home.contains("<code>token.create</code> Give an agent or a machine a token"), "{home}");
    assert!(!home.contains("task.create"), "{home}");
    let who =
        served.ask_from(CLIENT, get("/api/v1/whoami?can=true").header("Cookie", &browser.cookie)).value();
    assert_eq!(who["standing"], "browser");
    // The secret of the cookie is in no page, and the socket knows no logins.
    let secret = browser.cookie.split_once('=').expect("a pair").1;
    assert!(!home.contains(secret));
    let local = served.ask(&form("/browser/login", &format!("name=ada&password={PASSWORD}")));
    assert_eq!((local.status, local.code().as_str()), (400, "invalid_input"));
}

#[test]
fn names_without_an_account_and_wrong_passwords_hear_the_same() {
    let served = administered();
    let told = |name: &str, password: &str| {
        let answer = try_to_log_in(&served, name, password, "198.51.100.9");
        assert!(answer.header("set-cookie").is_none());
        (answer.status, answer.body.replace(name, "NAME"))
    };
    let wrong = told("ada", "not-the-password");
    assert_eq!(wrong.0, 401);
    assert!(wrong.1.contains("role=\"alert\"") && !wrong.1.contains("not-the-password"), "{}", wrong.1);
    assert_eq!(told("nobody", "not-the-password"), wrong);
    assert_eq!(told("no%20name", "not-the-password").0, 401);
    assert_eq!(told("%3Cscript%3E", "x").0, 401);
}

#[test]
fn who_guesses_is_told_to_wait_by_name_and_by_address() {
    let served = administered();
    let guess = |name: &str, client: &str| try_to_log_in(&served, name, "not-the-password", client);
    let by_name =
        (0..40).map(|n| guess("ada", &format!("198.51.100.{n}"))).find(|answer| answer.status == 429);
    let by_name = by_name.expect("it is told to wait");
    assert!(by_name.header("retry-after").is_some() && by_name.body.contains("role=\"alert\""));
    // The right password of that name is not compared either, and other names are another matter.
    assert_eq!(try_to_log_in(&served, "ada", PASSWORD, "198.51.100.99").status, 429);
    let by_address = (0..=LOGIN_BURST + 5).map(|n| guess(&format!("n{n}"), "198.51.100.200"));
    let told: Vec<u16> = by_address.map(|answer| answer.status).collect();
    assert!(told[0] == 401 && told.contains(&429), "{told:?}");
}

#[test]
fn a_login_asks_and_does_what_only_people_may_and_nothing_that_agents_do() {
    let served = administered();
    by_ada(&served, "account.create", json!({ "name": "mel", "role": "member", "reason": "joins" }));
    let (ada, mel) = (log_in(&served, "ada"), log_in(&served, "mel"));
    let told = |browser: &Browser, request| {
        let answer = served.ask_from(CLIENT, browser.sends(request));
        (answer.status, if answer.status == 200 { String::new() } else { answer.code() })
    };
    assert_eq!(told(&ada, creation("ci-1")), (200, String::new()));
    assert_eq!(told(&mel, creation("ci-2")), (403, "operator_required".to_owned()));
    assert_eq!(told(&ada, get("/api/v1/accounts")), (200, String::new()));
    // It opens no session, calls no tool, and uses nobody's proof.
    let body = json!({ "session": SESSION, "proof_hash": "ab".repeat(32), "name": "ada" });
    assert_eq!(told(&ada, change("/api/v1/sessions", &body, "open")), (403, "token_read_only".to_owned()));
    let project = change("/api/v1/projects", &json!({ "key": "afc" }), "project");
    let project = project.header("Tenure-Session", SESSION).header("Tenure-Proof", PROOF);
    assert_eq!(told(&ada, project), (403, "token_read_only".to_owned()));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(told(&ada, change("/mcp", &call, "tool")), (401, "unauthenticated".to_owned()));
    assert_eq!(told(&ada, change("/api/v1/shutdown", &json!({}), "end")), (403, "local_only".to_owned()));
    // The record tells the person and that no session did it.
    let events =
        served.ask_from(CLIENT, get("/api/v1/events?limit=100").header("Cookie", &ada.cookie)).value();
    let events = events["events"].as_array().expect("a list");
    let of = |kind: &str| events.iter().rfind(|event| event["kind"] == kind).expect("an event");
    assert_eq!(of("token_created")["actor"]["principal"], "ada");
    assert!(of("token_created")["actor"]["session"].is_null());
    assert!(events.iter().any(|event| event["kind"] == "person_authenticated"));
}

#[test]
fn a_change_that_another_page_sends_is_refused() {
    let served = administered();
    let ada = log_in(&served, "ada");
    let own = format!("http://{}", served.address());
    let plain =
        || creation("ci-1").header("Cookie", &ada.cookie).header("Host", &served.address().to_string());
    let told = |request| {
        let answer = served.ask_from(CLIENT, request);
        (answer.status, answer.code())
    };
    let refused = (403, "origin_refused".to_owned());
    for site in ["cross-site", "same-site", "none", "x"] {
        let asked = plain().header("Sec-Fetch-Site", site).header("Tenure-Page", &ada.word);
        assert_eq!(told(asked), refused, "{site}");
    }
    for origin in ["https://page.example", "null", "http://localhost:1"] {
        let asked = plain().header("Origin", origin).header("Tenure-Page", &ada.word);
        assert_eq!(told(asked), refused, "{origin}");
    }
    // Neither where it says nothing of where it comes from, nor without what the page carries.
    assert_eq!(told(plain().header("Tenure-Page", &ada.word)), refused);
    assert_eq!(told(plain().header("Origin", &own)), refused);
    let other = log_in(&served, "ada");
    assert_eq!(told(plain().header("Origin", &own).header("Tenure-Page", &other.word)), refused);
    // Another site's page reads nothing either, and sends no form.
    let read = get("/api/v1/projects").header("Cookie", &ada.cookie).header("Sec-Fetch-Site", "cross-site");
    assert_eq!(told(read), refused);
    for path in ["/browser/login", "/browser/logout", "/browser/end"] {
        let foreign = form(path, "name=ada&password=x").without("Sec-Fetch-Site");
        assert_eq!(told(foreign.header("Sec-Fetch-Site", "cross-site")), refused, "{path}");
        let silent = form(path, "name=ada&password=x").without("Sec-Fetch-Site");
        assert_eq!(told(silent), refused, "{path}");
    }
    let without = form("/browser/logout", "page=x").header("Cookie", &ada.cookie);
    assert_eq!(told(without), refused);
    assert!(ada.is_logged_in(&served), "nobody was logged out");
    // Not even a page of this server sends anything but JSON to an operation.
    let text = ada.sends(request("POST", "/api/v1/tokens").header("Idempotency-Key", "text").body(b"a=b"));
    let text = text.header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(served.ask_from(CLIENT, text).status, 415);
    let mine = plain().header("Origin", &own).header("Tenure-Page", &ada.word);
    assert_eq!(served.ask_from(CLIENT, mine).status, 200);
}

#[test]
fn a_login_ends_with_its_cookie_its_account_and_by_another_of_the_same_person() {
    let served = administered();
    by_ada(&served, "account.create", json!({ "name": "olga", "role": "operator", "reason": "joins" }));
    let [first, second] = [log_in(&served, "olga"), log_in(&served, "olga")];
    // One ends the other from the page that lists both.
    let home = served.ask_from(CLIENT, get("/").header("Cookie", &second.cookie)).body;
    assert_eq!(home.matches("<tr><td>").count(), 2, "{home}");
    let name = home.split("name=\"login\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let fields = format!("page={}&login={}", second.word, name.expect("the other"));
    let ended = served.ask_from(CLIENT, form("/browser/end", &fields).header("Cookie", &second.cookie));
    assert_eq!(ended.status, 303, "{}", ended.body);
    assert!(!first.is_logged_in(&served) && second.is_logged_in(&served));
    // Whoever logs out takes the cookie back and ends the login.
    let out = form("/browser/logout", &format!("page={}", second.word)).header("Cookie", &second.cookie);
    let out = served.ask_from(CLIENT, out);
    assert!(out.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{out:?}");
    assert!(!second.is_logged_in(&served));
    // So does every change of the account.
    for edit in [json!({ "role": "member" }), json!({ "disabled": true })] {
        let browser = log_in(&served, "olga");
        let mut input = json!({ "name": "olga", "reason": "changes" });
        input.as_object_mut().expect("an object").extend(edit.as_object().expect("an object").clone());
        by_ada(&served, "account.edit", input);
        assert!(!browser.is_logged_in(&served), "{edit}");
    }
    by_ada(&served, "account.edit", json!({ "name": "olga", "disabled": false, "reason": "is back" }));
    let (olga, ada) = (log_in(&served, "olga"), log_in(&served, "ada"));
    let set = change("/api/v1/accounts/password", &json!({ "name": "olga", "reason": "forgotten" }), "set");
    let set = ada.sends(set).header("Tenure-New-Password", "another-of-that-sort");
    assert_eq!(served.ask_from(CLIENT, set).status, 200);
    assert!(!olga.is_logged_in(&served) && ada.is_logged_in(&served));
}

#[test]
fn a_login_that_ends_ends_what_follows_with_it() {
    let served = administered();
    let [first, second] = [log_in(&served, "ada"), log_in(&served, "ada")];
    let follow = |browser: &Browser| {
        begun(&served, get("/api/v1/events").header("Cookie", &browser.cookie).as_it_happens())
    };
    let (mut stream, mut goes_on) = (follow(&first), follow(&second));
    assert!(reads(&mut stream, "account_created") && reads(&mut goes_on, "account_created"));
    let out = form("/browser/logout", &format!("page={}", first.word)).header("Cookie", &first.cookie);
    assert_eq!(served.ask_from(CLIENT, out).status, 303);
    made(&served, "ci-1", TokenKind::Agent, 1, false);
    assert!(!reads(&mut stream, "token_created"), "it hears nothing more");
    assert!(reads(&mut goes_on, "token_created"), "the other one does");
}

#[test]
fn whoever_logs_in_again_with_the_same_browser_ends_what_was_before() {
    let served = administered();
    let first = log_in(&served, "ada");
    let again =
        form("/browser/login", &format!("name=ada&password={PASSWORD}")).header("Cookie", &first.cookie);
    let answer = served.ask_from(CLIENT, again);
    assert_eq!(answer.status, 303);
    assert!(!first.is_logged_in(&served));
}

#[test]
fn a_token_wins_over_a_cookie_and_a_cookie_that_is_nobodys_opens_nothing() {
    let served = administered();
    let ada = log_in(&served, "ada");
    let token = made(&served, "ci-1", TokenKind::Agent, 1, false);
    let both = served.ask_from(CLIENT, with(&token, get("/api/v1/whoami")).header("Cookie", &ada.cookie));
    assert_eq!(both.value()["token"]["name"], "ci-1");
    let cookie = format!("__Host-tenure={}", "ab".repeat(32));
    let nobody = served.ask_from(CLIENT, get("/api/v1/projects").header("Cookie", &cookie));
    assert_eq!((nobody.status, nobody.code().as_str()), (401, "unauthenticated"));
    let twice = format!("{}; {}", ada.cookie, ada.cookie);
    assert_eq!(served.ask_from(CLIENT, get("/api/v1/projects").header("Cookie", &twice)).status, 401);
}

#[test]
fn a_password_is_not_taken_where_others_could_read_it() {
    let hosts = vec!["tenure.example".parse().expect("a name")];
    let told = |network: Network| {
        let served = served_on(network);
        let asked = form("/browser/login", "name=ada&password=not-the-password");
        let answer = served.ask_from(CLIENT, asked.header("Host", "tenure.example"));
        answer.status
    };
    let plain = Network { hosts: hosts.clone(), proxies: Vec::new(), ..loopback() };
    assert_eq!(told(plain), 403, "whoever passes that name on is not known");
    assert_eq!(told(Network { hosts, ..loopback() }), 401, "a proxy that is trusted has encrypted it");
}

#[test]
fn forms_are_bounded_and_come_in_time() {
    let served = administered();
    let large = form("/browser/login", &format!("name=ada&password={}", "x".repeat(10_000)));
    assert_eq!(served.ask_from(CLIENT, large).status, 413);
    let json = request("POST", "/browser/login").header("Sec-Fetch-Site", "same-origin").json("{}");
    assert_eq!(served.ask_from("198.51.100.3", json).status, 415);
    assert_eq!(served.ask_from("198.51.100.3", form("/browser/login", "name=a&name=b")).status, 400);
}

#[test]
fn who_finds_a_browser_open_cannot_keep_the_account() {
    let served = administered();
    let browser = log_in(&served, "ada");
    let set = |present: Option<&str>, key: &str| {
        let request = change("/api/v1/accounts/password", &json!({}), key)
            .header("Tenure-New-Password", "another-long-password");
        let request = match present {
            Some(present) => request.header("Tenure-Password", present),
            None => request,
        };
        served.ask_from(CLIENT, browser.sends(request))
    };
    for (present, key) in [(None, "none"), (Some("not-the-password"), "wrong")] {
        let answer = set(present, key);
        assert_eq!((answer.status, answer.code().as_str()), (401, "authentication_failed"), "{key}");
    }
    assert!(browser.is_logged_in(&served), "nothing was changed");
    assert_eq!(set(Some(PASSWORD), "right").status, 200);
    assert!(!browser.is_logged_in(&served));
}
