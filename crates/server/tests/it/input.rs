//! What a request may look like: everything that is not exactly right is refused, by name.

use crate::daemon::served;
use crate::wire::{Request, SESSION, get, mutation, request};

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
            "operator without session",
            request("POST", "/api/v1/tasks/afc-1/reopen"),
            401,
            "session_required",
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
    assert_eq!(served.ask(&request("POST", "/api/v1/imports/preview").json(&import)).status, 200);
}

#[test]
fn path_query_body_and_headers_become_one_operation_with_its_envelope() {
    let served = served();
    let answer = served.ask(
        &mutation(
            "POST",
            "/api/v1/tasks?priority=1&labels=a%20b&labels=c+d",
            r#"{"project":"afc","title":"家"}"#,
        )
        .header("Tenure-Attempt", "afc-1@2")
        .header("Tenure-Lease", &"0".repeat(64))
        .header("Tenure-Token-Hash", &"1".repeat(64))
        .header("Tenure-Epoch", "3")
        .header("Tenure-Protocol", "1"),
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    let said = answer.value();
    assert_eq!(said["asked"], "task.create");
    assert_eq!(said["input"]["labels"], serde_json::json!(["a b", "c d"]));
    assert_eq!((&said["input"]["priority"], &said["input"]["title"]), (&1.into(), &"家".into()));
    assert_eq!((&said["operation_id"], &said["session"]), (&"op-1".into(), &SESSION.into()));
    assert_eq!((&said["attempt"], &said["epoch"]), (&"afc-1@2".into(), &3.into()));
    assert_eq!(said["token_hash"], "1".repeat(64));

    let number = served.ask(&mutation("POST", "/api/v1/tasks/afc-1/blockers/3/resolve", r#"{"reason":"r"}"#));
    assert_eq!(number.value()["input"]["number"], 3);
    let flag = served.ask(&get("/api/v1/tasks?project=afc&archived=true&limit=5"));
    assert_eq!(
        (&flag.value()["input"]["archived"], &flag.value()["input"]["limit"]),
        (&true.into(), &5.into())
    );
}

#[test]
fn a_revision_travels_as_etag_and_comes_back_as_if_match() {
    let served = served();
    let shown = served.ask(&get("/api/v1/tasks/afc-1"));
    assert_eq!(shown.header("etag"), Some("\"7\""));
    assert_eq!(served.ask(&get("/api/v1/tasks?project=afc")).header("etag"), None);
    let edit = mutation("PATCH", "/api/v1/tasks/afc-1", "").header("If-Match", "\"7\"");
    assert_eq!(served.ask(&edit).value()["input"]["revision"], 7);
    let both = mutation("PATCH", "/api/v1/tasks/afc-1", r#"{"revision":7}"#).header("If-Match", "\"7\"");
    assert_eq!(served.ask(&both).status, 200);
}

#[cfg(feature = "dummy-operation")]
#[test]
fn a_new_operation_is_reachable_without_a_line_in_this_crate() {
    let served = served();
    let said = served.ask(&get("/api/v1/dummy/hello%20there")).value();
    assert_eq!((&said["asked"], &said["input"]["text"]), (&"dummy.echo".into(), &"hello there".into()));
    assert_eq!(
        tenure_server::http::openapi()["paths"]["/api/v1/dummy/{text}"]["get"]["operationId"],
        "dummy.echo"
    );
}
