//! Following the record: events as they happen, over a response that does not end (server-sent events).
//!
//! Each page is a question of its own, so a follower holds no transaction while it waits or reads slowly. What it does
//! not take fills one page; then the connection's own patience ends it, and it comes back with the number of the last
//! event that it saw.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tenure_core::envelope::Envelope;
use tenure_core::model::event::Event;
use tenure_core::model::ids::{Digest, EventCursor, EventNumber};
use tenure_core::model::limits::{FOLLOWERS, PAGE_ROWS, PAGE_ROWS_DEFAULT, RECHECK_MS, counted};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Operation;
use tenure_core::operation::record::{EventList, ListEvents};
use tenure_core::wire;
use tenure_engine::{Command, Told};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::app::App;
use super::problem::Refused;
use super::{at_least, door, response};

/// How often a silent stream says that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The operation whose answer can be followed.
pub(super) const OPERATION: &str = ListEvents::SPEC.name;

/// Whether a caller wants the events as they happen.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|one| one.split(';').next().unwrap_or_default().trim() == wire::EVENT_STREAM)
}

/// Where a follower that lost its connection goes on, whatever its request says.
fn last_seen(headers: &HeaderMap) -> Result<Option<EventCursor>, Refusal> {
    let Some(value) = headers.get(wire::LAST_EVENT_ID) else { return Ok(None) };
    let cursor = value.to_str().ok().and_then(|text| text.parse().ok());
    let wrong =
        || Refusal::field(wire::LAST_EVENT_ID, "is not EPOCH-NUMBER", "send the id of the last event");
    cursor.map(Some).ok_or_else(wrong)
}

/// A follower between two pages.
struct Follower {
    app: Arc<App>,
    ask: ListEvents,
    page: std::vec::IntoIter<Event>,
    /// By what whoever follows is known. It is judged with each page, so a token that counts no more ends the stream.
    token: Option<Digest>,
    /// The login, for whoever follows with a browser.
    login: Option<Digest>,
    head: watch::Receiver<EventNumber>,
    stopping: watch::Receiver<bool>,
    _permit: OwnedSemaphorePermit,
}

/// Answers with events as they happen, from the first page on.
pub(super) async fn follow(
    app: &Arc<App>,
    ask: ListEvents,
    envelope: Envelope,
    parts: &Parts,
) -> Result<Response, Refused> {
    let Ok(permit) = app.followers.clone().try_acquire_owned() else {
        let detail = format!("{} follow the record already", counted(FOLLOWERS as u64, "caller"));
        return Err(Refusal::new(Code::Overloaded, detail).into());
    };
    // A page is no answer here, so it has room for all of its rows.
    let ask = ListEvents { limit: ask.limit.or(Some(PAGE_ROWS_DEFAULT)), ..ask };
    let mut follower = Follower {
        ask: match last_seen(&parts.headers)? {
            Some(after) => ListEvents { after: Some(after), newest: false, ..ask },
            None => ask,
        },
        page: Vec::new().into_iter(),
        token: envelope.token,
        login: door::login_of(parts),
        head: app.head.subscribe(),
        stopping: app.stop().subscribe(),
        app: app.clone(),
        _permit: permit,
    };
    // The first page is asked for before anything is answered, so that a refusal is one.
    let at = follower.turn(envelope.at_least).await?;
    let events = stream::unfold(follower, |mut follower| async {
        let event = follower.next().await?;
        Some((Ok::<_, Infallible>(event), follower))
    });
    let stream = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    Ok(response::true_at(stream, at))
}

impl Follower {
    /// The next event, or the end: the coordinator is closing, or the store failed. Whoever follows comes back.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(event) = self.page.next() {
                return Some(written(&event));
            }
            self.head.mark_unchanged();
            self.turn(None).await.ok()?;
            if self.page.len() > 0 {
                continue;
            }
            tokio::select! {
                _ = self.stopping.wait_for(|stop| *stop) => return None,
                changed = self.head.changed() => changed.ok()?,
                () = tokio::time::sleep(Duration::from_millis(RECHECK_MS)) => {}
            }
        }
    }

    /// Turns to the next page, and says of which state it is.
    async fn turn(&mut self, at_least: Option<EventCursor>) -> Result<Option<EventCursor>, Refused> {
        if let Some(login) = self.login {
            door::check_login_counts(&self.app, login).await?;
        }
        let envelope = Envelope { at_least, token: self.token, ..Envelope::default() };
        let command = Command { operation: self.ask.clone().into(), envelope };
        let Told { outcome, at } = at_least::ask(&self.app, command).await;
        let json = outcome.map_err(|failure| Refused::at(self.app.refusal(failure), at))?;
        let list: EventList = serde_json::from_str(&json)
            .map_err(|_| Refusal::new(Code::CannotTell, "the record cannot be read by this version"))?;
        self.ask.after = Some(list.cursor);
        self.ask.newest = false;
        // A page of text is bounded by its bytes, too.
        self.ask.limit = Some(PAGE_ROWS);
        self.page = list.events.into_iter();
        Ok(at)
    }
}

fn written(event: &Event) -> sse::Event {
    let cursor = EventCursor { epoch: event.epoch, number: event.number };
    let data = serde_json::to_string(event).expect("an event is plain data and always serialises");
    sse::Event::default().id(cursor.to_string()).event(event.kind.as_str()).data(data)
}
