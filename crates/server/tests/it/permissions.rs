//! The table of who may do what, tried cell by cell over HTTP: every operation as everybody who can ask, on the socket and
//! by the network.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tenure_core::model::ids::TokenId;
use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::{Entry, entries};
use tenure_core::operation::example::example;
use tenure_core::operation::permission::{Condition, OF_AUTHORITY, Permission, Standing, permission};
use tenure_core::operation::{Effect, FENCE_REFUSALS, Method};
use tenure_core::secret::Proof;
use tenure_core::server_route::{Reach, ServerRoute};
use tenure_core::token::{ReporterSecret, Token, TokenKind};

use crate::browser::log_in_from;
use crate::daemon::Served;
use crate::tokens::{PASSWORD, administered, by_ada, made, revoke, with};
use crate::wire::{Answer, LEASE, PROOF, Request, get, request};

/// What the token is drawn from that administrators act on.
const SPARE: [u8; 32] = [3; 32];

/// By which way somebody asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Socket,
    Network,
}

/// A server with people of every role, and callers of every kind.
pub struct Scene {
    pub served: Served,
    pub agent: Token,
    reader: Token,
    pub reporter: ReporterSecret,
    drawn: Cell<u32>,
    /// The last session that was opened.
    last: Cell<Option<String>>,
}

impl Scene {
    pub fn begin() -> Self {
        let served = administered();
        for (name, role) in [("mel", "member"), ("olga", "operator")] {
            by_ada(&served, "account.create", json!({ "name": name, "role": role, "reason": "joins" }));
        }
        let agent = made(&served, "robin", TokenKind::Agent, 1, false);
        let reader = made(&served, "lurker", TokenKind::Agent, 2, true);
        made(&served, "spare", TokenKind::Agent, SPARE[0], false);
        let reporter = ReporterSecret::of([4; 32]);
        let scene = Self { served, agent, reader, reporter, drawn: Cell::new(0), last: Cell::default() };
        let session = scene.session();
        for (path, body) in [
            ("/api/v1/projects", json!({ "key": "afc" })),
            ("/api/v1/tasks", json!({ "project": "afc", "title": "one" })),
            ("/api/v1/tasks", json!({ "project": "afc", "title": "two" })),
        ] {
            scene.done(&scene.of_session(request("POST", path), &session).json(&body.to_string()));
        }
        // What the reporter renews is another's, who stays.
        let warden = "a".repeat(32);
        scene.done(&scene.opens(&warden, "warden"));
        let attempt = scene.claims(&warden, "afc-2");
        let made = json!({ "hash": scene.reporter.hash(), "watches": "make", "window_ms": 600_000 });
        let asked = scene.of_session(request("POST", "/api/v1/tasks/afc-2/reporters"), &warden);
        let asked = asked.header("Tenure-Attempt", &attempt).header("Tenure-Lease", LEASE);
        scene.done(&asked.json(&made.to_string()));
        scene
    }

    fn number(&self) -> u32 {
        self.drawn.set(self.drawn.get() + 1);
        self.drawn.get()
    }

    /// A fresh session of the agent whose token there is. The one before makes room for it.
    fn session(&self) -> String {
        self.close_last();
        let id = format!("{:032x}", self.number());
        self.done(&self.opens(&id, "robin"));
        self.last.set(Some(id.clone()));
        id
    }

    pub fn close_last(&self) {
        if let Some(last) = self.last.take() {
            let close = self.of_session(request("POST", "/api/v1/sessions/close"), &last).json("{}");
            drop(self.served.ask(&close));
        }
    }

    fn opens(&self, id: &str, name: &str) -> Request {
        let proof = Proof::from_wire(PROOF).expect("a proof").hash();
        let body = json!({ "session": id, "proof_hash": proof, "name": name });
        self.keyed(request("POST", "/api/v1/sessions")).json(&body.to_string())
    }

    /// The holder of the first task, and its attempt.
    fn holder(&self) -> (String, String) {
        let holder = self.session();
        let attempt = self.claims(&holder, "afc-1");
        (holder, attempt)
    }

    /// The attempt of a session that takes a task.
    fn claims(&self, session: &str, task: &str) -> String {
        let hash = Proof::from_wire(LEASE).expect("a secret").hash().to_string();
        let claim = self.of_session(request("POST", "/api/v1/claims"), session);
        let claim = claim.header("Tenure-Token-Hash", &hash).json(&json!({ "task": task }).to_string());
        self.done(&claim)["attempt"].as_str().expect("an attempt").to_owned()
    }

    fn keyed(&self, request: Request) -> Request {
        request.header("Idempotency-Key", &format!("cell-{}", self.number()))
    }

    fn of_session(&self, request: Request, session: &str) -> Request {
        self.keyed(request).header("Tenure-Session", session).header("Tenure-Proof", PROOF)
    }

    fn of_person(&self, request: Request, name: &str) -> Request {
        self.keyed(request).header("Tenure-Person", name).header("Tenure-Password", PASSWORD)
    }

    fn done(&self, request: &Request) -> Value {
        let answer = self.served.ask(request);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.value()
    }

    /// Asks for an operation as somebody, with all that they can bring.
    fn ask(&self, entry: &Entry, input: &Value, standing: Standing, way: Way) -> Answer {
        let plain = asked(entry, input);
        let writes = entry.spec.effect != Effect::Read;
        let request = match standing {
            // They bring what they can think of, where it could help.
            Standing::Stranger | Standing::Reader if writes => {
                let session = self.session();
                self.of_session(plain, &session)
                    .header("Tenure-Person", "ada")
                    .header("Tenure-Password", PASSWORD)
            }
            Standing::Stranger | Standing::Reader | Standing::Caller => self.keyed(plain),
            Standing::Session => {
                let session = self.session();
                self.of_session(plain, &session)
            }
            Standing::Reporter => {
                self.keyed(plain).header("Authorization", &format!("Bearer {}", self.reporter.as_str()))
            }
            Standing::Member => self.of_person(plain, "mel"),
            Standing::Operator => self.of_person(plain, "olga"),
            Standing::Administrator => self.of_person(plain, "ada"),
            Standing::Console => self.keyed(plain).header("Tenure-Console", "22222-33333-44444-55555"),
            // An earlier one may have ended with what it did.
            Standing::Browser => {
                let browser = log_in_from(&self.served, "ada", &self.elsewhere());
                // One's own password is not changed without it.
                browser.sends(self.keyed(plain).header("Tenure-Password", PASSWORD))
            }
        };
        self.by(request, standing, way)
    }

    /// An address that nobody came from before: those who ask in vain would be told to wait.
    fn elsewhere(&self) -> String {
        let number = self.number();
        format!("198.51.{}.{}", number / 250, number % 250)
    }

    pub fn by(&self, request: Request, standing: Standing, way: Way) -> Answer {
        let client = self.elsewhere();
        match (way, standing) {
            (Way::Socket, _) => self.served.ask(&request),
            (Way::Network, Standing::Stranger | Standing::Reporter | Standing::Browser) => {
                self.served.ask_from(&client, request)
            }
            (Way::Network, Standing::Reader) => self.served.ask_from(&client, with(&self.reader, request)),
            (Way::Network, _) => self.served.ask_from(&client, with(&self.agent, request)),
        }
    }
}

/// By which ways somebody can come.
fn ways(standing: Standing) -> &'static [Way] {
    match standing {
        Standing::Stranger | Standing::Reader | Standing::Browser => &[Way::Network],
        // The secret of the console never travels by the network: the door has a test of that.
        Standing::Console => &[Way::Socket],
        Standing::Caller
        | Standing::Session
        | Standing::Reporter
        | Standing::Member
        | Standing::Operator
        | Standing::Administrator => &[Way::Socket, Way::Network],
    }
}

/// An operation's request, with its input where it belongs.
fn asked(entry: &Entry, input: &Value) -> Request {
    let mut fields = input.as_object().cloned().unwrap_or_default();
    let segments = entry.spec.path.split('/').map(|segment| {
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        name.and_then(|name| fields.remove(name)).map_or(segment.to_owned(), |value| text(&value))
    });
    let path = format!("/api/v1{}", segments.collect::<Vec<_>>().join("/"));
    let method = entry.spec.method.as_str();
    match entry.spec.method {
        Method::Get | Method::Delete => {
            let query: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
            request(method, &format!("{path}?{}", query.join("&")))
        }
        Method::Post | Method::Patch => request(method, &path).json(&Value::Object(fields).to_string()),
    }
}

fn text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string()
}

/// An operation's example, where it names something new or something of this scene.
pub fn input(entry: &Entry) -> Value {
    static DRAWN: AtomicU32 = AtomicU32::new(0);
    let mut input = example(entry);
    if let Some(token) = input.get_mut("token") {
        *token = json!(TokenId::of(&Token::of(TokenKind::Agent, SPARE).hash()));
    }
    if entry.spec.name == "session.open" {
        input["session"] = json!(format!("f{:031x}", DRAWN.fetch_add(1, Relaxed)));
        input["name"] = json!("somebody");
    }
    input
}

/// Cells that need what this server has no more, and what tries them.
const ELSEWHERE: [(&str, Standing); 1] = [
    // There is an administrator, so no secret counts: the tests of people make one with it.
    ("account.bootstrap", Standing::Console),
];

#[test]
fn every_cell_of_the_table_is_so_over_http() {
    let mut tried = BTreeMap::<Standing, usize>::new();
    for entry in entries() {
        // What one operation did is not what the next one finds.
        let scene = Scene::begin();
        for standing in Standing::ALL {
            for way in ways(*standing) {
                if ELSEWHERE.contains(&(entry.spec.name, *standing)) {
                    continue;
                }
                let answer = scene.ask(&entry, &input(&entry), *standing, *way);
                let what = format!("{} as {standing} by {way:?}: {}", entry.spec.name, answer.body);
                match permission(&entry.spec, *standing) {
                    Permission::Refused(code) => {
                        assert_eq!(
                            (answer.status, answer.code().as_str()),
                            (code.status(), code.as_str()),
                            "{what}"
                        );
                    }
                    Permission::Granted => assert_eq!(of_authority(&answer), None, "{what}"),
                    Permission::If(condition) => check(condition, &answer, *standing, *way, &what),
                }
                *tried.entry(*standing).or_default() += 1;
            }
        }
    }
    let operations = entries().len();
    for standing in Standing::ALL {
        let missing = ELSEWHERE.iter().filter(|(_, of)| of == standing).count();
        assert_eq!(tried[standing], (operations - missing) * ways(*standing).len(), "{standing}");
    }
}

/// Whether it was refused because of who asks.
fn of_authority(answer: &Answer) -> Option<Code> {
    if answer.status == 200 {
        return None;
    }
    let code = answer.code();
    OF_AUTHORITY.into_iter().find(|known| known.as_str() == code)
}

/// What is heard under a condition that is not met here, or that this caller meets.
fn check(condition: Condition, answer: &Answer, standing: Standing, way: Way, what: &str) {
    match condition {
        Condition::Holder => {
            let code = answer.code();
            assert!(FENCE_REFUSALS.iter().any(|known| known.as_str() == code), "{what}");
        }
        // Nobody holds the task, and nothing is changed of the policy.
        Condition::HolderWhereHeld | Condition::AsksHolder | Condition::AllowedPart => {
            assert_eq!(of_authority(answer), None, "{what}");
        }
        Condition::OwnName if way == Way::Network => {
            assert_eq!(of_authority(answer), Some(Code::TokenMismatch), "{what}");
        }
        Condition::OwnName => assert_eq!(of_authority(answer), None, "{what}"),
        // It is an administrator's, and a moment old.
        Condition::RecentLogin => assert_eq!(of_authority(answer), None, "{what}"),
        Condition::OwnAccount => {
            assert!(matches!(standing, Standing::Member | Standing::Operator), "{what}");
            assert_eq!(of_authority(answer), None, "without a name it is their own: {what}");
        }
    }
}

fn entry(name: &str) -> Entry {
    entries().into_iter().find(|entry| entry.spec.name == name).expect("an operation")
}

#[test]
fn who_holds_a_task_may_what_others_may_not() {
    let held: Vec<Entry> = entries()
        .into_iter()
        .filter(|entry| permission(&entry.spec, Standing::Session) == Permission::If(Condition::Holder))
        .collect();
    assert!(held.len() > 5);
    for entry in held {
        for way in ways(Standing::Session) {
            let scene = Scene::begin();
            let (holder, attempt) = scene.holder();
            let fenced = |lease: &str| {
                let asked = asked(&entry, &input(&entry));
                let asked = scene.of_session(asked, &holder).header("Tenure-Epoch", "1");
                scene.by(
                    asked.header("Tenure-Attempt", &attempt).header("Tenure-Lease", lease),
                    Standing::Session,
                    *way,
                )
            };
            let foreign = fenced(&"1".repeat(64));
            assert_eq!(foreign.code(), "not_holder", "{}", entry.spec.name);
            let answer = fenced(LEASE);
            // What it has nothing to decide about it refuses by its own rules.
            let own = |code: &&Code| answer.status != 200 && code.as_str() == answer.code();
            let is_own = entry.spec.refusals.iter().chain([&Code::StateConflict]).any(|code| own(&code));
            assert!(answer.status == 200 || is_own, "{} by {way:?}: {}", entry.spec.name, answer.body);
        }
    }
}

#[test]
fn a_held_task_is_not_closed_by_others_and_its_holder_is_asked_to_stop() {
    let scene = Scene::begin();
    scene.holder();
    let wren = "e".repeat(32);
    scene.done(&scene.opens(&wren, "wren"));
    let other = |name: &str| {
        let entry = entry(name);
        scene.served.ask(&scene.of_session(asked(&entry, &input(&entry)), &wren))
    };
    assert_eq!(other("close").code(), "lease_held");
    let cancelled = other("task.cancel");
    assert_eq!(
        (cancelled.status, &cancelled.value()["asked_to_stop"]),
        (200, &json!("robin")),
        "{}",
        cancelled.body
    );
}

#[test]
fn agents_change_of_a_policy_what_an_operator_lets_them() {
    let scene = Scene::begin();
    let edit = |revision: u64, part: &Value| {
        let input = json!({ "project": "afc", "revision": revision, "policy": part });
        scene.ask(&entry("project.edit"), &input, Standing::Session, Way::Network)
    };
    let (lease, attempts) = (json!({ "lease_ms": 60_000 }), json!({ "attempts_max": 3 }));
    assert_eq!(of_authority(&edit(1, &lease)), Some(Code::OperatorRequired));
    let lets =
        json!({ "project": "afc", "revision": 1, "agents_may": ["lease_ms"], "reason": "long builds" });
    let set = scene.ask(&entry("project.policy"), &lets, Standing::Operator, Way::Network);
    assert_eq!(set.status, 200, "{}", set.body);
    assert_eq!(edit(2, &lease).value()["project"]["policy"]["lease_ms"], 60_000);
    let refused = edit(3, &attempts);
    assert_eq!(of_authority(&refused), Some(Code::OperatorRequired));
    assert!(refused.body.contains("tenure project policy afc"), "{}", refused.body);
}

#[test]
fn nobody_but_an_administrator_sets_anothers_password() {
    let scene = Scene::begin();
    let entry = entry("account.password");
    let input = json!({ "name": "mel", "reason": "forgotten" });
    for (standing, code) in
        [(Standing::Operator, Some(Code::OperatorRequired)), (Standing::Administrator, None)]
    {
        let answer = scene.ask(&entry, &input, standing, Way::Socket);
        assert_eq!(of_authority(&answer), code, "{standing}: {}", answer.body);
    }
}

#[test]
fn a_token_that_was_revoked_opens_nothing_that_is_not_everybodys() {
    let scene = Scene::begin();
    revoke(&scene.served, &scene.agent);
    for entry in entries() {
        let answer = scene.ask(&entry, &input(&entry), Standing::Session, Way::Network);
        assert_eq!(answer.code(), "unauthenticated", "{}", entry.spec.name);
    }
    let of_the_known = |route: &&ServerRoute| matches!(route.reach(), Reach::Known | Reach::OwnMachine);
    for route in ServerRoute::ALL.iter().filter(of_the_known) {
        let answer = scene.by(request(route.method().as_str(), route.path()), Standing::Caller, Way::Network);
        assert_eq!(answer.code(), "unauthenticated", "{route}");
    }
}

#[test]
fn routes_of_the_server_are_for_whom_they_say() {
    let scene = Scene::begin();
    // Who asks it to go is answered last.
    // Pages have tests of their own.
    let all = ServerRoute::ALL.iter().filter(|route| route.reach() != Reach::Browser);
    let all = all.filter(|route| **route != ServerRoute::Shutdown);
    for route in all.chain([&ServerRoute::Shutdown]) {
        let asked = || match route.method() {
            Method::Get => get(route.path()),
            Method::Post | Method::Patch | Method::Delete => {
                request("POST", route.path()).json(r#"{"nothing":1}"#)
            }
        };
        let stranger = scene.by(asked(), Standing::Stranger, Way::Network);
        let known = [Standing::Reader, Standing::Caller].map(|known| scene.by(asked(), known, Way::Network));
        let own = scene.by(asked(), Standing::Caller, Way::Socket);
        match route.reach() {
            Reach::Everybody => assert_eq!(stranger.status, 200, "{route}"),
            Reach::Known | Reach::OwnMachine | Reach::Browser => {
                assert_eq!(stranger.code(), "unauthenticated", "{route}");
            }
        }
        for known in known {
            let code = if known.status == 200 { None } else { Some(known.code()) };
            let expected = (route.reach() == Reach::OwnMachine).then_some("local_only".to_owned());
            assert_eq!(code, expected, "{route}: {}", known.body);
        }
        assert!(own.status == 200 || own.code() != "local_only", "{route}: {}", own.body);
    }
}
