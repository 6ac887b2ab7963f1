//! How a command ends is what becomes of its task.

use std::io::Write;
use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;
use tenure_core::model::event::EventKind;
use tenure_core::model::ids::OperationId;
use tenure_core::secret::SessionSecret;
use tenure_sim::program;
use tenure_sim::seed::Seed;
use tenure_sim::waiting;

use super::{Running, Story};

#[test]
fn a_command_that_succeeds_closes_its_task() {
    let story = Story::new();
    let task = story.task();
    let ran = story.run(&task, &[], "echo out; echo err >&2");
    assert_eq!((ran.code, ran.out.as_str()), (0, "out\n"), "{}", ran.err);
    assert!(ran.err.contains(&format!("claimed {task}@1")) && ran.err.contains("err\n"), "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskClosed]);
    let note = story.texts(&task);
    assert!(note.contains("exited with 0") && note.contains("sh -c 'echo out; echo err >&2'"), "{note}");
}

#[test]
fn a_command_that_fails_hands_its_task_off_and_its_code_comes_through() {
    let story = Story::new();
    let task = story.task();
    let ran = story.run(&task, &[], "exit 3");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff]);
    assert!(story.texts(&task).contains("exited with 3"), "{}", story.texts(&task));
    let ran = story.run(&task, &[], "kill -9 $$");
    assert_eq!(ran.code, 128 + 9, "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff, EventKind::TaskHandedOff]);
    assert!(story.texts(&task).contains("was ended by SIGKILL"), "{}", story.texts(&task));
}

#[test]
fn what_cannot_be_started_gives_its_task_back() {
    let story = Story::new();
    let task = story.task();
    for command in ["no-such-command", "/etc/passwd"] {
        let ran = story.shell.run(&["run", &task.to_string(), "--", command]);
        assert_eq!((ran.code, ran.out.as_str()), (122, ""), "{}", ran.err);
        assert!(story.texts(&task).contains(command), "{}", story.texts(&task));
    }
    assert_eq!(story.endings(&task), [EventKind::TaskReleased, EventKind::TaskReleased]);
}

#[test]
fn nothing_is_started_without_a_claim() {
    let story = Story::new();
    let (task, mark) = (story.task(), story.place.root().join("mark"));
    let script = format!("touch {}", mark.display());
    story.founder.mutate("claim", &json!({ "task": task })).expect("it is free");
    let ran = story.run(&task, &["--json"], &script);
    assert_eq!((ran.code, ran.json()["code"].as_str()), (120, Some("lease_held")), "{}", ran.err);
    assert_eq!(ran.json()["exit_code"], 120);
    for place in ["/nonexistent/report.json", "/"] {
        let ran = story.run(&task, &["--report", place], &script);
        assert!(ran.code == 1 && ran.err.contains("--report"), "{place}: {}", ran.err);
    }
    let ran = story.shell.run(&["run", "--project", "afc", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 120, "{}", ran.err);
    assert!(ran.err.contains("(nothing_eligible)"), "{}", ran.err);
    let ran = story.shell.run(&["run", &task.to_string()]);
    assert_eq!(ran.code, 1, "a command is needed: {}", ran.err);
    let ran = story.shell.run(&["run", "--bogus", "--", "true", "--json"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "the command's words are not ours: {}", ran.err);
    let elsewhere = story.shell.with("TENURE_SERVER", "https://tenure.example");
    let ran = elsewhere.run(&["run", &task.to_string(), "--", "sh", "-c", &script]);
    assert_eq!(ran.code, 121, "{}", ran.err);
    assert!(!mark.exists());
}

#[test]
fn a_command_that_ends_its_attempt_itself_has_the_last_word() {
    let story = Story::new();
    let tenure = program::tenure().display();
    for (words, kind) in [
        ("close", EventKind::TaskClosed),
        ("handoff later", EventKind::TaskHandedOff),
        ("release", EventKind::TaskReleased),
        ("task cancel $TENURE_TASK --reason wrong", EventKind::TaskCancelled),
    ] {
        for code in [0, 4] {
            let task = story.task();
            let report = story.place.root().join("report");
            let options = ["--report", report.to_str().expect("it is text")];
            let script = format!("{tenure} note $TENURE_TASK half && {tenure} {words} && exit {code}");
            let ran = story.run(&task, &options, &script);
            assert_eq!(ran.code, code, "{words}: {}", ran.err);
            assert_eq!(story.endings(&task), [kind], "{words}: nothing more is written");
            assert!(story.texts(&task).contains("half"), "the command's note is the holder's");
            let report: serde_json::Value =
                serde_json::from_slice(&std::fs::read(report).expect("it was written")).expect("JSON");
            assert_eq!(report["outcome"], "ended_by_command", "{report}");
            if kind == EventKind::TaskReleased || kind == EventKind::TaskHandedOff {
                story.founder.mutate("claim", &json!({ "task": task })).expect("it is free");
            }
        }
    }
}

#[test]
fn a_later_attempt_of_the_same_session_is_not_ended_for_the_command() {
    let story = Story::new();
    let (task, tenure) = (story.task(), program::tenure().display());
    let script = format!("{tenure} release && {tenure} claim {task}");
    assert_eq!(story.run(&task, &[], &script).code, 0);
    assert_eq!(story.endings(&task), [EventKind::TaskReleased], "the second attempt is still held");
    story.shell.json(&["heartbeat", &task.to_string()]);
}

#[test]
fn what_is_missing_for_a_close_is_handed_off_as_a_list() {
    let story = Story::new();
    let task = story.task_with(&json!({ "criteria": ["there is a test", "the page says so"] }));
    let ran = story.run(&task, &["--json"], "true");
    assert_eq!((ran.code, ran.out.as_str()), (124, ""), "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff]);
    let text = story.texts(&task);
    assert!(text.contains("there is a test") && text.contains("the page says so"), "{text}");
    let report = ran.err.lines().find(|line| line.starts_with('{')).expect("a report");
    let report: serde_json::Value = serde_json::from_str(report).expect("it is JSON");
    assert_eq!((&report["exit"], &report["code"]), (&124.into(), &0.into()), "{report}");
    assert_eq!(report["missing"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn work_that_is_taken_over_is_disposed_of_and_can_be_closed() {
    let story = Story::leasing(300);
    let task = story.task();
    story.founder.mutate("claim", &json!({ "task": task })).expect("it is free");
    let ran = story.shell.run(&["run", "--wait", "10m", &task.to_string(), "--", "true"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskClosed]);
    let disposed = story.events().iter().filter(|e| e.kind == EventKind::DispositionRecorded).count();
    assert_eq!(disposed, 1);
}

#[test]
fn a_run_waits_for_work() {
    let story = Story::new();
    let words = ["run", "--wait", "10m", "--project", "afc", "--", "sh", "-c", "echo $TENURE_TASK"];
    let running = Running::of(&mut story.shell.command(&words));
    waiting::until("it waits", || {
        let info = story.founder.client.get("/api/v1/info").expect("the daemon answers");
        let info: serde_json::Value = serde_json::from_slice(&info).expect("an answer is JSON");
        info["waiting"] == 1
    });
    let task = story.task();
    let ran = running.end();
    assert_eq!((ran.code, ran.out.trim()), (0, task.to_string().as_str()), "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskClosed]);
}

#[test]
fn a_command_gets_its_input_and_its_attempt_but_no_secret() {
    let story = Story::new();
    let task = story.task();
    let mut command = story.shell.command(&["run", &task.to_string(), "--", "sh", "-c", "env; cat"]);
    let mut running = Running::of(command.env("KEPT", "from the caller").stdin(Stdio::piped()));
    let mut input = running.child.stdin.take().expect("it is piped");
    input.write_all(b"typed by somebody").expect("it reads");
    drop(input);
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.ends_with("typed by somebody"), "{}", ran.out);
    let state = format!("TENURE_STATE_DIR={}", story.place.state().display());
    let told = [
        "KEPT=from the caller",
        "TENURE_SESSION=ada",
        &format!("TENURE_TASK={task}"),
        &format!("TENURE_ATTEMPT={task}@1"),
        "TENURE_GENERATION=1",
        "TENURE_PROJECT=afc",
        &state,
    ];
    for line in told {
        assert!(ran.out.lines().any(|told| told == line), "{line} is missing in {}", ran.out);
    }
    let files = std::fs::read_dir(story.place.state().join("sessions")).expect("there");
    let files = files.map(|file| std::fs::read_to_string(file.expect("there").path()).expect("text"));
    let records =
        files.filter_map(|text| serde_json::from_str::<serde_json::Value>(text.lines().last()?).ok());
    let ada = records.into_iter().find(|record| record["name"] == "ada").expect("ada has a file");
    let secret = ada["secret"].as_str().expect("a secret");
    let known = SessionSecret::from_hex(secret).expect("a secret");
    let mut claims = story.events().into_iter().filter(|event| event.kind == EventKind::TaskClaimed);
    let claim: OperationId =
        claims.next_back().expect("it was claimed").actor.operation.expect("by an operation");
    for secret in [secret.to_owned(), known.session_proof().to_wire(), known.lease_token(&claim).to_wire()] {
        assert!(!ran.out.contains(&secret) && !ran.err.contains(&secret), "a secret was told");
    }
}

#[test]
fn a_clean_checkout_is_the_evidence_and_a_dirty_one_is_none() {
    let story = Story::new();
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        story
            .shell
            .dress(command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]).args(words));
        let output = command.output().expect("git is there");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    std::fs::remove_dir_all(story.place.checkout().join(".git")).expect("it is ours");
    git(&["init", "--quiet", "--initial-branch", "work"]);
    git(&["commit", "--quiet", "--allow-empty", "--message", "begun"]);
    let task = story.task();
    // What counts is the checkout as the command left it.
    let commit = "git -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m done";
    assert_eq!(story.run(&task, &[], commit).code, 0);
    let entry = &story.shell.json(&["history", &task.to_string()])["entries"][0]["evidence"];
    assert_eq!((&entry["branch"], &entry["commit"]), (&"work".into(), &git(&["rev-parse", "HEAD"]).into()));
    let task = story.task();
    assert_eq!(story.run(&task, &[], "touch new; exit 1").code, 1);
    let entry = &story.shell.json(&["history", &task.to_string()])["entries"][0];
    assert!(entry["evidence"]["commit"].is_null(), "{entry}");
    assert_eq!(entry["tree"], "dirty", "{entry}");
}

#[test]
fn a_signal_is_the_command_s_and_a_second_one_ends_it() {
    let story = Story::new();
    let task = story.task();
    let polite = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let mut running = story.start(&task, &[], polite);
    assert_eq!(running.line(), "ready");
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!(ran.code, 7, "{}", ran.err);
    let deaf = "trap 'echo heard' TERM; echo ready; while :; do sleep 0.01; done";
    let mut running = story.start(&task, &[], deaf);
    assert_eq!(running.line(), "ready");
    running.signal(Signal::TERM);
    assert_eq!(running.line(), "heard");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, 128 + 9);
    let obliging = "trap 'exit 0' INT; echo ready; while :; do sleep 0.01; done";
    let mut running = story.start(&task, &[], obliging);
    assert_eq!(running.line(), "ready");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, 0, "it is the command's own code");
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff; 3], "what was interrupted is not done");
}

#[test]
fn what_a_command_leaves_running_ends_before_its_task_is_closed() {
    let story = Story::new();
    let task = story.task();
    let mut running = story.start(&task, &[], "setsid sleep 1000 >&- 2>&- & echo $!; exit 0");
    let left = running.number();
    assert_eq!(running.end().code, 0);
    assert!(tenure_sim::daemon::has_ended(left));
    assert_eq!(story.endings(&task), [EventKind::TaskClosed]);
}

#[test]
fn of_many_runs_at_once_exactly_those_close_that_succeed() {
    let seed = Seed::of_this_run();
    let mut dice = Seed::of(seed, 0);
    let story = Story::new();
    let codes: Vec<u64> = (0..12).map(|_| dice.below(2) * (1 + dice.below(100))).collect();
    let running: Vec<_> = codes
        .iter()
        .enumerate()
        .map(|(number, code)| {
            let task = story.task();
            let shell = story.shell.named(&format!("agent-{number}"));
            let words = ["run", &task.to_string(), "--", "sh", "-c", &format!("exit {code}")];
            (task, *code, Running::of(&mut shell.command(&words)))
        })
        .collect();
    for (task, code, running) in running {
        let ran = running.end();
        assert_eq!(u64::try_from(ran.code), Ok(code), "seed {seed}: {}", ran.err);
        let kind = if code == 0 { EventKind::TaskClosed } else { EventKind::TaskHandedOff };
        assert_eq!(story.endings(&task), [kind], "seed {seed}, code {code}");
    }
}
