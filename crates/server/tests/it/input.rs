//! What a request may look like: everything that is not exactly right is refused, by name.

use std::io::Write;
use std::os::unix::net::UnixStream;

use serde_json::json;
use tenure_core::model::limits::TARGET_BYTES;
use tenure_core::secret::Proof;

use crate::daemon::{served, served_with_a_task};
use crate::wire::{LEASE, PROOF, Request, SESSION, get, mutation, read_answer, request};

#[test]
fn what_is_not_exactly_right_is_refused_by_name() {
    let served = served();
    let create = |body: &str| mutation("POST", "/api/v1/tasks", body);
    let good = r#"{"project":"afc","title":"t"}"#;
    let deep = format!(r#"{{"project":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
    let show = "/api/v1/tasks/afc-1";
    let edit = |body: &str| mutation("PATCH", show, body);
    let twice = |name: &str, value: &str| create(good).header(name, value);
    let table: Vec<(&str, Request, u16, &str, &str)> = vec![
        (
            "duplicate key",
            create(r#"{"project":"afc","title":"t","title":"u"}"#),
            400,
            "invalid_input",
            "twice",
        ),
        ("depth", create(&deep), 400, "invalid_input", "deeper"),
        ("NUL in body", create(r#"{"project":"afc","title":"\u0000"}"#), 400, "invalid_input", "NUL"),
        ("lone surrogate", create(r#"{"project":"afc","title":"\ud800"}"#), 400, "invalid_input", "JSON"),
        (
            "unknown field",
            create(r#"{"project":"afc","title":"t","owner":"me"}"#),
            400,
            "invalid_input",
            "owner",
        ),
        ("missing field", create(r#"{"project":"afc"}"#), 400, "invalid_input", "title"),
        ("no object", create("[]"), 400, "invalid_input", "object"),
        ("no JSON", create("{"), 400, "invalid_input", "JSON"),
        ("two values", create(&format!("{good}{good}")), 400, "invalid_input", "trailing"),
        ("no UTF-8", create("").body(b"{\"project\":\"\xff\"}"), 400, "invalid_input", "JSON"),
        (
            "path and body",
            edit(r#"{"task":"afc-1","revision":1}"#),
            400,
            "invalid_input",
            "task is given twice",
        ),
        (
            "query and body",
            mutation("POST", "/api/v1/tasks?title=x", good),
            400,
            "invalid_input",
            "title is given twice",
        ),
        (
            "query twice",
            get("/api/v1/ready?project=a&project=b"),
            400,
            "invalid_input",
            "project is given twice",
        ),
        ("unknown query", get("/api/v1/ready?project=afc&colour=red"), 400, "invalid_input", "colour"),
        ("query of nothing", get("/api/v1/stats?x=1"), 400, "invalid_input", "x is no field"),
        (
            "no integer",
            get(&format!("{show}?entries=1e3")),
            400,
            "invalid_input",
            "entries is not an integer",
        ),
        (
            "leading zero",
            get(&format!("{show}?entries=01")),
            400,
            "invalid_input",
            "entries is not an integer",
        ),
        ("no boolean", get("/api/v1/tasks?project=afc&archived=yes"), 400, "invalid_input", "true nor false"),
        (
            "structure in query",
            mutation("POST", "/api/v1/projects?policy=x", r#"{"key":"a"}"#),
            400,
            "invalid_input",
            "policy",
        ),
        ("NUL in query", get("/api/v1/ready?project=a%00"), 400, "invalid_input", "NUL"),
        ("NUL in path", get("/api/v1/sessions/a%00"), 400, "invalid_input", "NUL"),
        ("bytes in query", get("/api/v1/ready?project=%ff"), 400, "invalid_input", "UTF-8"),
        ("bytes in path", get("/api/v1/tasks/%ff"), 400, "invalid_input", "UTF-8"),
        ("malformed id", get("/api/v1/tasks/afc-01"), 400, "invalid_input", "task id"),
        ("no type", create(good).without("Content-Type"), 415, "invalid_input", "Content-Type"),
        (
            "wrong type",
            create(good).without("Content-Type").header("Content-Type", "text/plain"),
            415,
            "invalid_input",
            "Content-Type",
        ),
        (
            "no key",
            create(good).without("Idempotency-Key"),
            400,
            "invalid_input",
            "Idempotency-Key is missing",
        ),
        (
            "bad key",
            create(good).without("Idempotency-Key").header("Idempotency-Key", "a b"),
            400,
            "invalid_input",
            "operation id",
        ),
        (
            "long key",
            create(good).without("Idempotency-Key").header("Idempotency-Key", &"a".repeat(65)),
            400,
            "invalid_input",
            "Idempotency-Key",
        ),
        (
            "two keys",
            twice("Idempotency-Key", "op-2"),
            400,
            "invalid_input",
            "Idempotency-Key is given twice",
        ),
        (
            "two sessions",
            twice("Tenure-Session", SESSION),
            400,
            "invalid_input",
            "Tenure-Session is given twice",
        ),
        ("no session", create(good).without("Tenure-Session"), 401, "session_required", "Tenure-Session"),
        ("no proof", create(good).without("Tenure-Proof"), 401, "session_required", "Tenure-Proof"),
        (
            "session before all else",
            request("POST", "/api/v1/tasks").body(b"{{{"),
            401,
            "session_required",
            "task.create",
        ),
        (
            "operator without a password",
            request("POST", "/api/v1/tasks/afc-1/reopen"),
            403,
            "operator_required",
            "task.reopen",
        ),
        (
            "half a caller",
            get("/api/v1/stats").header("Tenure-Session", SESSION),
            400,
            "invalid_input",
            "Tenure-Proof",
        ),
        (
            "bad session",
            get("/api/v1/stats").header("Tenure-Session", "me").header("Tenure-Proof", "x"),
            400,
            "invalid_input",
            "session id",
        ),
        ("half a fence", twice("Tenure-Attempt", "afc-1@1"), 400, "invalid_input", "Tenure-Lease"),
        (
            "bad attempt",
            twice("Tenure-Attempt", "afc-1").header("Tenure-Lease", &"0".repeat(64)),
            400,
            "invalid_input",
            "attempt id",
        ),
        ("bad hash", twice("Tenure-Token-Hash", "00"), 400, "invalid_input", "digest"),
        ("bad epoch", twice("Tenure-Epoch", "one"), 400, "invalid_input", "Tenure-Epoch"),
        ("bad protocol", twice("Tenure-Protocol", "one"), 400, "invalid_input", "Tenure-Protocol"),
        ("other protocol", twice("Tenure-Protocol", "99"), 400, "protocol_mismatch", "protocol 99"),
        ("bad If-Match", edit("{}").header("If-Match", "7"), 400, "invalid_input", "If-Match"),
        ("signed If-Match", edit("{}").header("If-Match", "\"+1\""), 400, "invalid_input", "If-Match"),
        (
            "other If-Match",
            edit(r#"{"revision":3}"#).header("If-Match", "\"7\""),
            400,
            "invalid_input",
            "If-Match",
        ),
        ("senseless If-Match", create(good).header("If-Match", "\"7\""), 400, "invalid_input", "If-Match"),
    ];
    for (name, request, status, code, says) in table {
        let answer = served.ask(&request);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{name}: {}", answer.body);
        assert!(answer.body.contains(says), "{name}: {}", answer.body);
    }
}

#[test]
fn a_body_is_measured_before_it_is_parsed() {
    let served = served();
    let padded = |bytes: usize| format!("{{{}", " ".repeat(bytes - 1));
    let announced = mutation("POST", "/api/v1/tasks", &padded(1024 * 1024 + 1));
    let chunk = padded(1024 * 1024 + 1);
    let chunked = mutation("POST", "/api/v1/tasks", "")
        .header("Transfer-Encoding", "chunked")
        .body(format!("{:x}\r\n{chunk}\r\n0\r\n\r\n", chunk.len()).as_bytes());
    for request in [announced, chunked] {
        let answer = served.ask(&request);
        assert_eq!((answer.status, answer.code().as_str()), (413, "invalid_input"));
    }
    let text = "x".repeat(2 * 1024 * 1024);
    let import = format!(r#"{{"project":"afc","format":"beads","text":"{text}"}}"#);
    let read = served.ask(&request("POST", "/api/v1/imports/preview").json(&import));
    assert_eq!(read.value()["facts"]["line"], 1, "a longer body reached the importer: {}", read.body);
}

#[test]
fn a_path_and_query_that_are_too_long_are_refused_by_their_limit() {
    let served = served();
    let ask = |bytes: usize| {
        let beginning = "/api/v1/search?project=afc&query=";
        let query = "x".repeat(bytes - beginning.len());
        served.ask(&request("GET", &format!("{beginning}{query}")))
    };
    let answer = ask(TARGET_BYTES + 1);
    assert_eq!((answer.status, answer.code().as_str()), (414, "invalid_input"), "{}", answer.body);
    assert!(answer.body.contains("the limit is 12288"), "{}", answer.body);
    let answer = ask(TARGET_BYTES);
    assert_eq!(
        (answer.status, answer.value()["facts"]["field"].as_str()),
        (400, Some("query")),
        "{}",
        answer.body
    );
    assert_eq!(ask(60_000).status, 414);
}

#[test]
fn who_sends_too_much_can_send_it_to_the_end_and_hears_why() {
    let served = served();
    let much = mutation("POST", "/api/v1/tasks", &" ".repeat(6 << 20));
    let mut stream = UnixStream::connect(&served.socket).expect("a daemon listens");
    stream.write_all(&much.bytes()).expect("all of it is taken");
    assert_eq!(read_answer(&mut stream).status, 413);
}

#[test]
fn bodies_that_never_arrive_keep_no_import_out() {
    let served = served();
    let import = r#"{"project":"afc","format":"beads","text":"x"}"#;
    let import = request("POST", "/api/v1/imports/preview").json(import);
    let bytes = import.bytes();
    let stalled: Vec<UnixStream> = (0..4)
        .map(|_| {
            let mut stream = UnixStream::connect(&served.socket).expect("a daemon listens");
            stream.write_all(&bytes[..bytes.len() - 1]).expect("sent");
            stream
        })
        .collect();
    assert_eq!(served.ask(&import).value()["facts"]["line"], 1);
    drop(stalled);
}

#[test]
fn path_query_and_body_become_one_operation() {
    let served = served_with_a_task();
    let path = "/api/v1/tasks?priority=1&labels=a%20b&labels=c+d";
    let created = served.ask(&mutation("POST", path, r#"{"project":"afc","title":"家"}"#));
    assert_eq!(created.status, 200, "{}", created.body);
    let task = created.value()["task"].clone();
    assert_eq!((&task["id"], &task["title"]), (&"afc-2".into(), &"家".into()));
    assert_eq!((&task["priority"], &task["labels"]), (&1.into(), &json!(["a b", "c d"])));

    let raise = r#"{"kind":"upstream_release","reason":"r"}"#;
    let raised = served.ask(&mutation("POST", "/api/v1/tasks/afc-1/blockers", raise));
    assert_eq!(raised.status, 200, "{}", raised.body);
    let resolve = mutation("POST", "/api/v1/tasks/afc-1/blockers/1/resolve", r#"{"reason":"r"}"#);
    assert_eq!(served.ask(&resolve).status, 200);

    let page = served.ask(&get("/api/v1/tasks?project=afc&archived=true&limit=1")).value();
    assert_eq!(page["tasks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn headers_become_the_envelope() {
    let served = served_with_a_task();
    let hash = Proof::from_wire(LEASE).expect("a token").hash().to_string();
    let claim = mutation("POST", "/api/v1/claims", r#"{"task":"afc-1"}"#).header("Tenure-Token-Hash", &hash);
    let claimed = served.ask(&claim);
    assert_eq!((claimed.status, &claimed.value()["attempt"]), (200, &"afc-1@1".into()), "{}", claimed.body);
    assert_eq!(served.ask(&claim).value()["attempt"], "afc-1@1", "a repeat is answered alike");

    let beat = || mutation("POST", "/api/v1/tasks/afc-1/heartbeat", "{}").header("Tenure-Protocol", "1");
    let fenced = |lease: &str, epoch: &str| {
        beat().header("Tenure-Attempt", "afc-1@1").header("Tenure-Lease", lease).header("Tenure-Epoch", epoch)
    };
    let alive = served.ask(&fenced(LEASE, "1"));
    assert_eq!(alive.status, 200, "{}", alive.body);
    assert_eq!(served.ask(&fenced(PROOF, "1")).code(), "not_holder");
    assert_eq!(served.ask(&fenced(LEASE, "2")).code(), "epoch_changed");
    assert_eq!(served.ask(&beat()).status, 403, "without a fence nobody holds anything");

    let stranger = get("/api/v1/next?project=afc").header("Tenure-Session", &"0".repeat(32));
    assert_eq!(served.ask(&stranger.header("Tenure-Proof", LEASE)).code(), "session_unknown");
}

#[test]
fn a_revision_travels_as_etag_and_comes_back_as_if_match() {
    let served = served_with_a_task();
    let shown = served.ask(&get("/api/v1/tasks/afc-1"));
    let tag = shown.header("etag").expect("an ETag").to_owned();
    assert_eq!(tag, format!("\"{}\"", shown.value()["task"]["revision"]));
    assert_eq!(served.ask(&get("/api/v1/tasks?project=afc")).header("etag"), None);
    let edit = |body: &str| mutation("PATCH", "/api/v1/tasks/afc-1", body).header("If-Match", &tag);
    let edited = served.ask(&edit(r#"{"title":"new"}"#));
    assert_eq!((edited.status, &edited.value()["task"]["title"]), (200, &"new".into()), "{}", edited.body);
    assert_ne!(edited.header("etag"), Some(tag.as_str()));
    assert_eq!(served.ask(&edit(r#"{"title":"newer"}"#)).code(), "revision_conflict");
}

#[cfg(feature = "dummy-operation")]
#[test]
fn a_new_operation_is_reachable_without_a_line_in_this_crate() {
    let served = served();
    assert_eq!(served.ask(&get("/api/v1/dummy/hello%20there")).value()["text"], "hello there");
    let document = tenure_server::http::openapi();
    assert_eq!(document["paths"]["/api/v1/dummy/{text}"]["get"]["operationId"], "dummy.echo");
}
