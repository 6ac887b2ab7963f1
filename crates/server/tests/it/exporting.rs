//! The route of an export: what it answers, and what it refuses.

use crate::daemon::{served, served_with_a_task};
use crate::wire::get;

#[test]
fn an_export_is_lines_of_a_known_length() {
    let served = served_with_a_task();
    let answer = served.ask(&get("/api/v1/export"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let lines: Vec<&str> = answer.body.lines().collect();
    assert!(
        lines[0].contains("\"record\":\"header\"") && lines[lines.len() - 1].contains("\"record\":\"end\"")
    );
    assert_eq!(answer.header("content-type"), Some("application/jsonl"));
    assert_eq!(answer.header("content-length"), Some(answer.body.len().to_string().as_str()));
    assert_eq!(served.ask(&get("/api/v1/export?project=afc")).body, answer.body, "it is the only project");
}

#[test]
fn what_is_no_project_or_no_field_is_refused() {
    let served = served();
    for (query, status, says) in [
        ("?project=nope", 404, "there is no project nope"),
        ("?project=No", 400, "project[0]"),
        ("?project=", 400, "project[0]"),
        ("?projects=afc", 400, "projects"),
        ("?project=%ff", 400, "UTF-8"),
    ] {
        let answer = served.ask(&get(&format!("/api/v1/export{query}")));
        assert_eq!(answer.status, status, "{query}: {}", answer.body);
        assert!(answer.body.contains(says), "{query}: {}", answer.body);
    }
    let many = "project=afc&".repeat(101);
    assert_eq!(served.ask(&get(&format!("/api/v1/export?{many}"))).status, 400);
    assert_eq!(served.ask(&get("/api/v1/export")).body.lines().count(), 2, "an empty fleet is two lines");
}
