//! Whoever of the three is killed, the command does not go on alone and nothing is called done.

use rustix::process::Signal;
use tenure_core::model::event::EventKind;
use tenure_sim::daemon::{found_in, has_ended, signal};
use tenure_sim::waiting;

use super::{Story, THREE, gone, guard_of};

#[test]
fn a_command_and_all_it_started_end_with_a_run_that_is_killed() {
    let story = Story::new();
    let task = story.task();
    let mut running = story.start(&task, &[], THREE);
    let pids = [running.number(), running.number(), running.number()];
    let guard = guard_of(pids[0]);
    running.signal(Signal::KILL);
    gone(&pids);
    gone(&[guard]);
    running.end();
    assert_eq!(story.endings(&task), [], "the task is left to be recovered");
}

#[test]
fn a_command_that_asks_for_no_end_ends_with_a_run_that_is_killed() {
    let story = Story::leasing(3_000);
    let task = story.task();
    let mut running = story.start(&task, &[], "trap '' TERM HUP; echo $$; while :; do sleep 0.01; done");
    let command = running.number();
    running.signal(Signal::KILL);
    gone(&[command]);
    running.end();
    assert_eq!(story.endings(&task), []);
}

#[test]
fn a_command_ends_with_its_guard_and_its_task_is_handed_off() {
    let story = Story::new();
    let task = story.task();
    let mut running = story.start(&task, &[], THREE);
    let pids = [running.number(), running.number(), running.number()];
    signal(guard_of(pids[0]), Signal::KILL);
    let ran = running.end();
    assert_eq!(ran.code, 123, "{}", ran.err);
    assert!(pids.iter().all(|pid| has_ended(*pid)), "they ended before run did");
    assert_eq!(story.endings(&task), [EventKind::TaskHandedOff]);
    assert!(story.texts(&task).contains("guards it was gone"), "{}", story.texts(&task));
}

#[test]
fn a_killed_daemon_is_started_again_and_the_task_closed() {
    let mut story = Story::leasing(3_000);
    let (task, go) = (story.task(), story.place.root().join("go"));
    let script = format!("echo ready; while ! test -e {}; do sleep 0.01; done", go.display());
    let mut running = story.start(&task, &[], &script);
    assert_eq!(running.line(), "ready");
    story.daemon.kill();
    // Nobody but the run is there to miss it.
    let daemon = waiting::some("a heartbeat starts another daemon", || found_in(story.place.state()));
    std::fs::write(go, "").expect("it is ours");
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(story.endings(&task), [EventKind::TaskClosed]);
    assert_eq!(found_in(story.place.state()), Some(daemon), "it outlives the run that started it");
}

#[test]
fn a_daemon_that_a_command_starts_outlives_it() {
    let mut story = Story::new();
    let task = story.task();
    let tenure = tenure_sim::program::tenure().display();
    let go = story.place.root().join("go");
    let wait = format!("while ! test -e {}; do sleep 0.01; done", go.display());
    let mut running = story.start(&task, &[], &format!("echo ready; {wait}; {tenure} note begun"));
    assert_eq!(running.line(), "ready");
    story.daemon.kill();
    std::fs::write(go, "").expect("it is ours");
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
    let daemon = found_in(story.place.state()).expect("the command's own note started one");
    assert!(!has_ended(daemon));
    assert_eq!(story.endings(&task), [EventKind::TaskClosed]);
}

#[test]
fn a_guard_that_is_put_to_sleep_is_woken() {
    let story = Story::new();
    let task = story.task();
    // A guard that sleeps does not see its command end.
    let ran = story.run(&task, &[], "kill -STOP $PPID");
    assert_eq!((ran.code, story.endings(&task)), (0, vec![EventKind::TaskClosed]), "{}", ran.err);
    // Nor does it hear what is passed on.
    let task = story.task();
    let mut running = story.start(&task, &[], "kill -STOP $PPID; echo $$; while :; do sleep 0.01; done");
    let command = running.number();
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, 128 + 15);
    gone(&[command]);
}
