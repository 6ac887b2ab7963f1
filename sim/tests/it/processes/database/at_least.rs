//! What was written through one server is read through another, and a question that wants more than there is hears so.

use tenure_client::call::Retry;
use tenure_cluster::Cluster;
use tenure_core::model::ids::{EventCursor, EventNumber};
use tenure_core::model::refusal::Code;
use tenure_core::operation::record::Statistics;
use tenure_core::operation::task::ShowTask;
use tenure_sim::agent::client;
use tenure_sim::fleet::{Fleet, url};
use tenure_sim::load::create;
use tenure_sim::store;

use super::UNFLUSHED;

#[test]
fn whoever_wrote_through_one_server_reads_it_through_the_other() {
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let fleet = Fleet::of([&url, &url]);
    let agents = [0, 1].map(|server| fleet.agent(server, &format!("agent-{server}")));
    for number in 0..40 {
        let [writer, reader] = if number % 2 == 0 { [0, 1] } else { [1, 0] };
        let created = agents[writer].ask(&create(&format!("number {number}"))).ok();
        let reader = &agents[reader].client;
        reader.hear(agents[writer].client.newest());
        let show = ShowTask { task: created.task.id, entries: None };
        let shown = reader.call(&show, None).expect("it is there").value;
        assert_eq!(shown.task.title, created.task.title);
        assert!(reader.newest() >= agents[writer].client.newest());
    }
}

#[test]
fn an_event_that_is_not_there_yet_is_told_and_the_question_is_answered_once_it_is_there() {
    let database = Cluster::listening(UNFLUSHED).expect("PostgreSQL");
    let url = url(&[database.host().expect("it listens")]);
    let fleet = Fleet::of([&url, &url]);
    let writer = fleet.agent(0, "ada");
    let asking = || client(fleet.servers[1].folder()).with_retry(Retry { pause_ms: 0, repetitions: 0 });
    let here = store::as_of(&asking()).event;
    let next = EventCursor { number: EventNumber(here.number.0 + 1), ..here };
    let early = asking();
    early.hear(Some(next));
    let told = early.call(&Statistics::default(), None).expect_err("it is not there").problem();
    assert_eq!(told.code, Code::Behind, "{told:?}");
    let numbers =
        [&told.facts["event"], &told.facts["at_least"]].map(|fact| fact.as_str().map(str::to_owned));
    assert_eq!(numbers, [here, next].map(|event| Some(event.to_string())), "{}", told.detail);
    assert_eq!((told.exit_code, told.retryable), (Code::CannotTell.exit(), true));
    // Whether it is asked before or after, it is answered from a state that has the event.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store::as_of(&early));
        writer.ask(&create("what is waited for")).ok();
        assert!(waiting.join().expect("an answer").event >= next);
    });
}
