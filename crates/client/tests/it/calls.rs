//! One call: repeated with one id, and never an empty success.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use tenure_client::clock;
use tenure_client::failure::Failure;
use tenure_core::model::attempt::Evidence;
use tenure_core::model::ids::Epoch;
use tenure_core::model::refusal::Code;
use tenure_core::operation::ownership::{Close, Heartbeat, Release};
use tenure_core::operation::queue::Ready;
use tenure_core::secret::Proof;

use crate::fake::{self, Reply, claim};

fn ready() -> Ready {
    Ready { project: "afc".parse().expect("valid"), limit: Some(3), cursor: Some("a/b c".to_owned()) }
}

#[test]
fn a_cut_after_the_commit_is_asked_again_with_the_same_id() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, count| match count {
        1 => Reply::Cut,
        _ => Reply::Json(200, fake::claimed("afc-1", 1, request.header("Idempotency-Key"))),
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let answer = client.call(&claim(), Some(&session)).expect("answered");
    assert_eq!(answer.value.attempt.to_string(), "afc-1@1");
    let requests = requests.lock().expect("not poisoned").clone();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].header("Idempotency-Key"), requests[1].header("Idempotency-Key"));
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(requests[0].header("Tenure-Protocol"), "1");
    assert_eq!(session.held().expect("read"), ["afc-1".parse().expect("valid")]);
}

#[test]
fn a_lease_is_named_until_it_is_given_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, _| match request.target.as_str() {
        "/api/v1/claims" => Reply::Json(200, fake::claimed("afc-1", 4, request.header("Idempotency-Key"))),
        "/api/v1/tasks/afc-1/heartbeat" => fake::problem(Code::LeaseExpired),
        other => panic!("unexpected {other}"),
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("answered");
    let task: tenure_core::model::ids::TaskId = "afc-1".parse().expect("valid");
    let refused = client.call(&Heartbeat { task: task.clone() }, Some(&session)).expect_err("expired");
    assert_eq!(refused.code(), Code::LeaseExpired);
    let requests = requests.lock().expect("not poisoned").clone();
    let token = Proof::from_wire(requests[1].header("Tenure-Lease")).expect("a token");
    assert_eq!(token.hash().to_string(), requests[0].header("Tenure-Token-Hash"));
    assert_eq!(requests[1].header("Tenure-Attempt"), "afc-1@4");
    assert_eq!(requests[1].header("Tenure-Epoch"), "1");
    assert!(session.held().expect("read").is_empty(), "the coordinator said that it is over");
    let record = session.file.read().expect("read").expect("there");
    assert!(record.leases[&task].over && record.pending.is_empty());
}

#[test]
fn who_acts_by_revision_does_not_name_a_lease_that_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |request, _| match request.target.as_str() {
        "/api/v1/claims" => Reply::Json(200, fake::claimed("afc-1", 4, request.header("Idempotency-Key"))),
        _ => fake::problem(Code::LeaseExpired),
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("answered");
    let close = |revision| Close {
        task: "afc-1".parse().expect("valid"),
        revision,
        resolution: None,
        evidence: Evidence::default(),
        note: None,
        lessons: Vec::new(),
        criteria: BTreeMap::new(),
    };
    for revision in [Some(7), None, Some(7)] {
        client.call(&close(revision), Some(&session)).expect_err("refused");
    }
    let requests = requests.lock().expect("not poisoned").clone();
    let named: Vec<&str> = requests[1..].iter().map(|request| request.header("Tenure-Attempt")).collect();
    assert_eq!(
        named,
        ["afc-1@4", "afc-1@4", ""],
        "while it may live it is named, and then only to be told so"
    );
}

#[test]
fn a_lease_is_counted_from_before_it_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let heard = Arc::new(AtomicI64::new(0));
    let hear = heard.clone();
    fake::daemon(folder.path(), move |request, _| {
        hear.store(clock::boot_ms(), Ordering::SeqCst);
        while clock::boot_ms() < hear.load(Ordering::SeqCst) + 3 {}
        Reply::Json(200, fake::claimed("afc-1", 1, request.header("Idempotency-Key")))
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("answered");
    let record = session.file.read().expect("read").expect("there");
    let (_, lease) = record.held().next().expect("held");
    assert!(
        lease.ends_at_boot_ms <= heard.load(Ordering::SeqCst) + 600_000,
        "it is never believed in too long"
    );
    assert!(lease.remaining_ms() > 500_000);
}

#[test]
fn no_reply_is_ever_an_empty_success() {
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n{\"tasks\":[]";
    for broken in [
        &b""[..],
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
        whole.as_bytes(),
        b"HTTP/1.1 200 OK\r\n\r\n{\"tasks\":[],\"total\":0",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
        b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        fake::daemon(folder.path(), move |_, _| Reply::Raw(broken.to_vec()));
        let (client, _) = fake::client(folder.path());
        let failure = client.call(&ready(), None).expect_err("no answer");
        let text = String::from_utf8_lossy(broken);
        assert!(matches!(failure, Failure::CannotTell { .. }), "{text}: {failure:?}");
        assert_eq!(failure.problem().exit_code, 2);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let short = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"tasks\":[]";
    fake::daemon(folder.path(), |_, _| Reply::Raw(short.to_vec()));
    let (client, _) = fake::client(folder.path());
    client.get("/api/v1/audit").expect_err("what nobody reads as a type must be whole too");
}

#[test]
fn a_missing_daemon_is_told_and_not_taken_for_no_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let (client, _) = fake::client(folder.path());
    let failure = client.call(&ready(), None).expect_err("nobody listens");
    assert_eq!(failure.code(), Code::CannotTell);
    assert!(failure.to_string().contains("no daemon answers"), "{failure}");
}

#[test]
fn what_became_of_a_backup_whose_answer_was_lost_is_not_told_as_a_refusal() {
    type Answers = fn(usize) -> Reply;
    let asked = |answers: Answers| {
        let folder = tempfile::tempdir().expect("a folder");
        fake::daemon(folder.path(), move |_, count| answers(count));
        let (client, _) = fake::client(folder.path());
        client.backup("/b/monday.db", false)
    };
    let lost: [Answers; 4] = [
        |count| if count == 1 { Reply::Cut } else { fake::problem(Code::AlreadyExists) },
        |count| if count == 1 { Reply::Cut } else { fake::problem(Code::InUse) },
        |count| if count == 1 { fake::problem(Code::CannotTell) } else { fake::problem(Code::AlreadyExists) },
        |_| Reply::Cut,
    ];
    for (case, answers) in lost.into_iter().enumerate() {
        let problem = asked(answers).expect_err("nobody can tell").problem();
        assert_eq!((problem.code, problem.exit_code), (Code::CannotTell, 2), "case {case}");
        assert!(problem.detail.contains("/b/monday.db"), "{}", problem.detail);
        assert_eq!(problem.next_actions, ["tenure backup verify FILE"], "case {case}");
    }
    let told: [(Answers, Code); 3] = [
        (|_| fake::problem(Code::AlreadyExists), Code::AlreadyExists),
        (|_| fake::problem(Code::InUse), Code::InUse),
        (|count| if count == 1 { Reply::Cut } else { fake::problem(Code::DiskFull) }, Code::DiskFull),
    ];
    for (answers, code) in told {
        assert_eq!(asked(answers).expect_err("it was refused").code(), code);
    }
    asked(|count| if count == 1 { Reply::Cut } else { Reply::Json(200, "{}".to_owned()) }).expect("written");
}

#[test]
fn an_overloaded_writer_is_asked_again() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |request, count| match count {
        1 => fake::problem(Code::Overloaded),
        2 => fake::problem(Code::CannotTell),
        _ => Reply::Json(200, fake::claimed("afc-1", 1, request.header("Idempotency-Key"))),
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("answered at last");
}

#[test]
fn nobody_asks_earlier_than_was_stated() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked_at = Arc::new(std::sync::Mutex::new(Vec::new()));
    let notes = asked_at.clone();
    let requests = fake::daemon(folder.path(), move |request, count| {
        notes.lock().expect("not poisoned").push(Instant::now());
        match count {
            1 => fake::stating(Code::Overloaded, "1"),
            _ => Reply::Json(200, fake::claimed("afc-1", 1, request.header("Idempotency-Key"))),
        }
    });
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("answered at last");
    assert_eq!(requests.lock().expect("not poisoned").len(), 2);
    let asked_at = asked_at.lock().expect("not poisoned");
    // The daemon notes the first request before it answers, so this is a lower bound whatever the machine does.
    assert!(asked_at[1] - asked_at[0] >= Duration::from_secs(1), "{asked_at:?}");
}

#[test]
fn a_stated_wait_beyond_the_patience_of_a_call_ends_it_and_is_named() {
    for (stated, seconds) in [("3600", 3_600), ("99999999999999999999999", u64::MAX)] {
        let folder = tempfile::tempdir().expect("a folder");
        let requests = fake::daemon(folder.path(), move |_, _| fake::stating(Code::Overloaded, stated));
        let (client, _) = fake::client(folder.path());
        let failure = client.call(&ready(), None).expect_err("it does not wait that long");
        assert_eq!(failure.code(), Code::Overloaded);
        assert_eq!(failure.retry_after(), Some(Duration::from_secs(seconds)));
        assert!(failure.to_string().contains(&format!("after {seconds} s")), "{failure}");
        assert_eq!(requests.lock().expect("not poisoned").len(), 1, "it was asked once");
    }
}

#[test]
fn a_reply_without_a_reason_may_state_a_wait_and_a_date_states_none() {
    for (stated, wait) in
        [("3600", Some(Duration::from_secs(3_600))), ("Fri, 31 Dec 1999 23:59:59 GMT", None)]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let reply = format!("HTTP/1.1 503 x\r\nRetry-After: {stated}\r\nContent-Length: 0\r\n\r\n");
        fake::daemon(folder.path(), move |_, _| Reply::Raw(reply.clone().into_bytes()));
        let (client, _) = fake::client(folder.path());
        let failure = client.call(&ready(), None).expect_err("no answer");
        assert_eq!((failure.code(), failure.retry_after()), (Code::CannotTell, wait));
    }
}

#[test]
fn a_question_travels_in_path_and_query_and_a_mutation_in_its_body() {
    let folder = tempfile::tempdir().expect("a folder");
    let requests = fake::daemon(folder.path(), |_, _| fake::problem(Code::NotFound));
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    client.call(&ready(), None).expect_err("refused");
    let release = Release { task: "afc-1".parse().expect("valid"), note: Some("ü\n".to_owned()) };
    client.call(&release, Some(&session)).expect_err("refused");
    client.call(&claim(), None).map(|_| ()).expect_err("a claim needs a session");
    let requests = requests.lock().expect("not poisoned").clone();
    assert_eq!(requests[0].target, "/api/v1/ready?cursor=a%2Fb%20c&limit=3&project=afc");
    assert_eq!(requests[0].header("Tenure-Session"), "");
    assert_eq!(requests[1].target, "/api/v1/tasks/afc-1/release");
    assert_eq!(requests[1].body, r#"{"note":"ü\n"}"#);
    assert_eq!(requests.len(), 2);
}

#[test]
fn a_folder_too_deep_for_a_socket_address_works() {
    let folder = tempfile::tempdir().expect("a folder");
    let deep = folder.path().join("d".repeat(120));
    std::fs::create_dir(&deep).expect("created");
    // The fake daemon binds by the short way round as well.
    let link = folder.path().join("l");
    std::os::unix::fs::symlink(&deep, &link).expect("linked");
    fake::daemon(&link, |request, _| {
        Reply::Json(200, fake::claimed("afc-1", 1, request.header("Idempotency-Key")))
    });
    let (client, _) = fake::client(&deep);
    let session = fake::session(&client, "alice");
    client.call(&claim(), Some(&session)).expect("answered");
}

#[test]
fn of_a_session_file_the_last_whole_record_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |_, _| Reply::Cut);
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "alice");
    let epoch = || session.file.read().expect("readable").expect("there").epoch.map(|epoch| epoch.0);
    let set = |to| session.file.edit(|record| record.epoch = Some(Epoch(to))).expect("written");
    set(7);
    // A writer died, or its disk was full: at any byte of its line, and the next one goes on.
    let path = session.file.path();
    let before = std::fs::read(path).expect("there");
    set(8);
    let after = std::fs::read(path).expect("there");
    assert!(after.starts_with(&before), "a change is appended");
    for cut in before.len()..after.len() {
        std::fs::write(path, &after[..cut]).expect("written");
        assert_eq!(epoch(), Some(7), "{cut}");
        set(9);
        assert_eq!(epoch(), Some(9), "{cut}");
        let text = std::fs::read_to_string(path).expect("there");
        assert!(text.lines().all(|line| line.ends_with('}')), "{cut}: a broken line is left behind");
    }
    // Whoever reads while the file is replaced has the old one.
    let mut reader = std::fs::File::open(path).expect("there");
    let before = std::fs::read(path).expect("there");
    for at in 0..1000 {
        set(at);
        assert_eq!(epoch(), Some(at));
        assert!(path.metadata().expect("there").len() <= 64 * 1024);
    }
    let mut seen = Vec::new();
    reader.read_to_end(&mut seen).expect("read");
    assert!(seen.starts_with(&before));
}

#[test]
fn secrets_lie_in_files_for_their_owner_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    fake::daemon(folder.path(), |_, _| Reply::Cut);
    let (client, _) = fake::client(folder.path());
    let session = fake::session(&client, "team/alice@host");
    let mode = |path: &std::path::Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(session.file.path()), 0o600);
    assert_eq!(mode(session.file.path().parent().expect("a folder")), 0o700);
    let names: Vec<_> = std::fs::read_dir(session.file.path().parent().expect("a folder"))
        .expect("read")
        .map(|entry| mode(&entry.expect("there").path()))
        .collect();
    assert!(names.iter().all(|mode| *mode == 0o600));
    let again = fake::session(&client, "team/alice@host");
    assert_eq!(again.id, session.id);
    assert!(session.is_new && !again.is_new);
}
