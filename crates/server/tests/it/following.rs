//! Following the record: every event once and in order, whatever happens to who follows.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use crate::daemon::{Served, served_with_a_task};
use crate::wire::{Request, get, mutation};

/// A connection on which events come.
struct Stream {
    lines: BufReader<UnixStream>,
}

impl Stream {
    fn open(served: &Served, request: &Request) -> Self {
        let mut stream = UnixStream::connect(&served.socket).expect("a daemon listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream.write_all(&request.as_it_happens().bytes()).expect("sent");
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        Self { lines }
    }

    /// The next event's id and data, or nothing at the end of the stream.
    fn next(&mut self) -> Option<(String, Value)> {
        let (mut id, mut data) = (None, None);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).expect("a line") == 0 {
                return None;
            }
            if let Some(text) = line.trim_end().strip_prefix("id: ") {
                id = Some(text.to_owned());
            }
            if let Some(text) = line.trim_end().strip_prefix("data: ") {
                data = Some(serde_json::from_str(text).expect("an event"));
            }
            if let (true, Some(id), Some(data)) = (line.trim_end().is_empty(), &id, &data) {
                return Some((id.clone(), Value::clone(data)));
            }
        }
    }

    fn numbers(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.next().expect("an event").1["number"].as_u64().expect("a number")).collect()
    }
}

fn follow(query: &str) -> Request {
    get(&format!("/api/v1/events{query}"))
}

fn create(served: &Served) {
    let made = served.ask(&mutation("POST", "/api/v1/tasks", r#"{"project":"afc","title":"more"}"#));
    assert_eq!(made.status, 200, "{}", made.body);
}

#[test]
fn events_come_as_they_happen_and_go_on_after_the_last_one_seen() {
    let served = served_with_a_task();
    let mut stream = Stream::open(&served, &follow(""));
    let so_far = served.ask(&get("/api/v1/events?limit=1000")).value();
    let count = so_far["events"].as_array().expect("events").len();
    let mut seen = stream.numbers(count);
    create(&served);
    let (id, event) = stream.next().expect("it happened");
    assert_eq!((event["kind"].as_str(), id), (Some("task_created"), format!("1-{}", event["number"])));
    seen.push(event["number"].as_u64().expect("a number"));
    drop(stream);
    create(&served);
    create(&served);
    let last = format!("1-{}", seen[seen.len() - 1]);
    // A browser repeats its first request and adds what it saw last; that counts.
    let mut stream = Stream::open(&served, &follow("?after=1-0").header("Last-Event-ID", &last));
    seen.extend(stream.numbers(2));
    assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
}

#[test]
fn a_task_is_followed_alone_and_the_newest_events_are_a_beginning() {
    let served = served_with_a_task();
    create(&served);
    let mut of_task = Stream::open(&served, &follow("?task=afc-2"));
    let mut newest = Stream::open(&served, &follow("?newest=true&limit=1"));
    assert_eq!(of_task.next().expect("it happened").1["task"], "afc-2");
    let before = newest.next().expect("the newest one").1["number"].as_u64().expect("a number");
    let closed = served.ask(&mutation("POST", "/api/v1/tasks/afc-2/close", r#"{"revision":1}"#));
    assert_eq!(closed.status, 200, "{}", closed.body);
    assert_eq!(of_task.next().expect("it happened").1["kind"], "task_closed");
    assert_eq!(newest.numbers(1), [before + 1]);
}

#[test]
fn what_cannot_be_followed_is_refused_before_anything_is_sent() {
    let served = served_with_a_task();
    for (request, code) in [
        (follow("?after=2-0"), "epoch_changed"),
        (follow("").header("Last-Event-ID", "seven"), "invalid_input"),
        (follow("?limit=1001"), "invalid_input"),
        (follow("?after=1-9999"), "invalid_input"),
        (follow("?task=afc-99"), "not_found"),
    ] {
        assert_eq!(served.ask(&request.as_it_happens()).code(), code);
    }
}

#[test]
fn the_end_of_the_coordinator_ends_the_stream() {
    let mut served = served_with_a_task();
    let mut stream = Stream::open(&served, &follow("?newest=true&limit=1"));
    stream.next().expect("the newest one");
    served.stop.send_replace(true);
    assert_eq!(stream.next(), None);
    served.join();
}

#[test]
fn who_follows_does_not_make_the_daemon_busy() {
    let served = served_with_a_task();
    let _stream = Stream::open(&served, &follow(""));
    assert_eq!(served.ask(&get("/api/v1/info")).value()["busy"], false);
}
