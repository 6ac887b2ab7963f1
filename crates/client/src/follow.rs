//! Following the record: events as they happen, each once, however often the connection breaks.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;

use serde_json::Value;
use tenure_core::model::event::Event;
use tenure_core::model::ids::EventCursor;
use tenure_core::operation::Operation;
use tenure_core::operation::record::ListEvents;
use tenure_core::wire;

use crate::call::{Client, malformed};
use crate::failure::Failure;
use crate::pause::{Pause, Steps};
use crate::route::route;
use crate::transport::Stream;

/// Longest line of a stream that is read: an event's texts are kept beside it.
const LINE_BYTES: u64 = 1024 * 1024;

impl Client {
    /// Calls `each` with every event after a question's cursor and its bytes, until it breaks off. A broken connection is
    /// made again, and nothing is told twice or left out; after a restore, events can no longer be told apart from those
    /// before, and that is refused. Only the first connection starts a daemon: whoever ended one later may need it ended.
    pub fn follow(
        &self,
        question: ListEvents,
        after: EventCursor,
        each: &mut dyn FnMut(&Event, &str) -> ControlFlow<()>,
    ) -> Result<(), Failure> {
        let mut question = ListEvents { after: Some(after), newest: false, ..question };
        let mut stream = self.connect(&question, true)?;
        let mut pause = Pause::new(Steps::PATIENT);
        loop {
            let mut lines = BufReader::new(stream.reader);
            let before = question.after;
            while let Some(data) = next_data(&mut lines) {
                let event: Event = serde_json::from_str(&data).map_err(|error| malformed(&error))?;
                let cursor = EventCursor { epoch: event.epoch, number: event.number };
                if question.after.is_some_and(|seen| cursor.epoch == seen.epoch && cursor <= seen) {
                    continue;
                }
                question.after = Some(cursor);
                self.hear(Some(cursor));
                if each(&event, &data).is_break() {
                    return Ok(());
                }
            }
            if question.after == before {
                std::thread::sleep(pause.rest(None));
            } else {
                pause.reset();
            }
            stream = self.reconnect(&question, &mut pause)?;
        }
    }

    fn connect(&self, question: &ListEvents, starts: bool) -> Result<Stream, Failure> {
        let input: Value = serde_json::to_value(question).expect("inputs are plain data");
        self.open(&route(&ListEvents::SPEC, &input)?, wire::EVENT_STREAM, starts)
    }

    /// Connects again as soon as there is a daemon.
    fn reconnect(&self, question: &ListEvents, pause: &mut Pause) -> Result<Stream, Failure> {
        let mut is_told = false;
        loop {
            match self.connect(question, false) {
                Err(failure) if !failure.is_decided() => {
                    if !is_told {
                        self.tell("the coordinator is gone; events go on when it is back");
                        is_told = true;
                    }
                    std::thread::sleep(pause.rest(failure.retry_after()));
                }
                outcome => return outcome,
            }
        }
    }
}

/// The data of the next whole event, or nothing when the stream ends. One that was cut off is not an event.
fn next_data(lines: &mut impl BufRead) -> Option<String> {
    let mut data = None;
    loop {
        let mut line = String::new();
        lines.by_ref().take(LINE_BYTES).read_line(&mut line).ok()?;
        let text = line.strip_suffix('\n')?;
        match text.strip_prefix("data: ") {
            Some(text) => data = Some(text.to_owned()),
            None if text.is_empty() && data.is_some() => return data,
            // Its id and kind stand in the data too, and comments only say that the stream is alive.
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_events_are_read() {
        let mut stream: &[u8] =
            b": alive\n\nid: 1-7\nevent: task_created\ndata: {\"a\":1}\n\n:\n\ndata: second\nid: 1-8\n\ndata: cut off\n";
        assert_eq!(next_data(&mut stream).as_deref(), Some("{\"a\":1}"));
        assert_eq!(next_data(&mut stream).as_deref(), Some("second"));
        assert_eq!(next_data(&mut stream), None);
    }
}
