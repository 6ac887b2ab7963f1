//! Waiting inside a call: who waits is answered when there is something, and keeps nothing from anybody when it goes.

use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tenure_core::secret::Proof;

use crate::daemon::{Served, served, served_with_a_task};
use crate::wire::{Answer, PROOF, Request, get, mutation, read_answer};

/// A session of its own, as headers.
struct Agent(String);

impl Agent {
    fn open(served: &Served, number: u32) -> Self {
        let session = format!("{number:032x}");
        let proof = Proof::from_wire(PROOF).expect("a proof").hash();
        let body = json!({ "session": session, "proof_hash": proof, "name": format!("agent-{number}") });
        let opened = mutation("POST", "/api/v1/sessions", &body.to_string()).anonymous().send(&served.socket);
        assert_eq!(opened.status, 200, "{}", opened.body);
        Self(session)
    }

    fn mutation(&self, method: &str, path: &str, body: &Value) -> Request {
        let request = mutation(method, path, &body.to_string());
        let token = format!("{:064x}", 7);
        request
            .without("Tenure-Session")
            .header("Tenure-Session", &self.0)
            .header("Tenure-Token-Hash", &token)
    }

    fn claim(&self, wait_ms: u64) -> Request {
        self.mutation("POST", "/api/v1/claims", &json!({ "projects": ["afc"], "wait_ms": wait_ms }))
    }

    fn wait(&self, what: &str) -> Request {
        get(&format!("/api/v1/wait?{what}")).header("Tenure-Session", &self.0).header("Tenure-Proof", PROOF)
    }
}

/// A request that is on its way while the test goes on.
fn later(request: Request, socket: &Path) -> JoinHandle<Answer> {
    let socket = socket.to_owned();
    std::thread::spawn(move || request.send(&socket))
}

fn create(served: &Served, agent: &Agent) -> Value {
    let created =
        served.ask(&agent.mutation("POST", "/api/v1/tasks", &json!({ "project": "afc", "title": "t" })));
    assert_eq!(created.status, 200, "{}", created.body);
    created.value()
}

/// How many wait, as the coordinator's own figures say.
fn waiting(served: &Served) -> u64 {
    let info = served.ask(&get("/api/v1/info")).value();
    info["waiting"].as_u64().expect("how many wait")
}

/// So many wait, and each of them has looked before.
pub fn until_so_many_wait(served: &Served, count: u64) {
    loop {
        let now = served.ask(&get("/api/v1/info")).value();
        if now["waiting"] == count && now["busy"] == false {
            return;
        }
        // waits because: the daemon notes who waits in its own time
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A daemon with an empty project, and three agents.
fn prepared() -> (Served, [Agent; 3]) {
    let served = served();
    let agents = [1, 2, 3].map(|number| Agent::open(&served, number));
    let made = served.ask(&agents[0].mutation("POST", "/api/v1/projects", &json!({ "key": "afc" })));
    assert_eq!(made.status, 200, "{}", made.body);
    (served, agents)
}

#[test]
fn a_claim_waits_for_work_and_each_task_goes_to_one_in_the_order_they_came() {
    let (served, agents) = prepared();
    let mut waiters = Vec::new();
    for (place, agent) in (1..).zip(&agents[1..]) {
        waiters.push(later(agent.claim(60_000), &served.socket));
        until_so_many_wait(&served, place);
    }
    for (place, waiter) in waiters.into_iter().enumerate() {
        let created = create(&served, &agents[0]);
        let answer = waiter.join().expect("an answer");
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.value()["task"]["id"], created["task"]["id"], "waiter {place}");
    }
    assert_eq!(waiting(&served), 0);
}

#[test]
fn who_waits_and_goes_away_takes_nothing_along() {
    let (served, agents) = prepared();
    let mut gone = UnixStream::connect(&served.socket).expect("a daemon listens");
    gone.write_all(&agents[1].claim(60_000).bytes()).expect("sent");
    until_so_many_wait(&served, 1);
    let stays = later(agents[2].claim(60_000), &served.socket);
    until_so_many_wait(&served, 2);
    gone.shutdown(Shutdown::Both).expect("cut");
    until_so_many_wait(&served, 1);
    let created = create(&served, &agents[0]);
    let answer = stays.join().expect("an answer").value();
    assert_eq!(answer["task"]["id"], created["task"]["id"]);
}

#[test]
fn who_is_told_of_work_and_takes_nothing_has_it_to_itself_for_a_moment_only() {
    let (served, agents) = prepared();
    let first = later(agents[1].wait("projects=afc&wait_ms=60000"), &served.socket);
    until_so_many_wait(&served, 1);
    let second = later(agents[2].wait("projects=afc&wait_ms=60000"), &served.socket);
    until_so_many_wait(&served, 2);
    let created = create(&served, &agents[0]);
    for waiter in [first, second] {
        let told = waiter.join().expect("an answer").value();
        assert_eq!(told["task"]["id"], created["task"]["id"], "{told}");
    }
}

#[test]
fn a_wait_whose_time_is_over_says_why() {
    let (served, agents) = prepared();
    let over = served.ask(&agents[1].wait("projects=afc&wait_ms=30"));
    assert_eq!((over.status, over.code().as_str()), (409, "nothing_eligible"));
    let over = served.ask(&agents[1].claim(30));
    assert_eq!((over.status, over.code().as_str()), (409, "nothing_eligible"));
    create(&served, &agents[0]);
    let over = served.ask(&agents[1].wait("task=afc-1&wait_ms=30"));
    assert_eq!((over.status, over.code().as_str()), (409, "not_yet"));
    assert_eq!(waiting(&served), 0);
}

#[test]
fn everybody_who_waits_for_a_task_hears_of_its_end() {
    let served = served_with_a_task();
    let agents = [1, 2].map(|number| Agent::open(&served, number));
    let waiters =
        agents.each_ref().map(|agent| later(agent.wait("task=afc-1&wait_ms=60000"), &served.socket));
    until_so_many_wait(&served, 2);
    let closed =
        served.ask(&agents[0].mutation("POST", "/api/v1/tasks/afc-1/close", &json!({ "revision": 1 })));
    assert_eq!(closed.status, 200, "{}", closed.body);
    for waiter in waiters {
        assert_eq!(waiter.join().expect("an answer").value()["task"]["status"], "done");
    }
}

#[test]
fn who_only_waits_keeps_no_daemon_from_going() {
    let (mut served, agents) = prepared();
    let mut waiter = UnixStream::connect(&served.socket).expect("a daemon listens");
    waiter.write_all(&agents[1].claim(60_000).bytes()).expect("sent");
    until_so_many_wait(&served, 1);
    served.stop.send_replace(true);
    let answer = read_answer(&mut waiter);
    assert_eq!((answer.status, answer.code().as_str()), (503, "cannot_tell"));
    served.join();
}
