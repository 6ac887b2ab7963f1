//! Calls that are under way, so that a client can end one that it no longer waits for.
//!
//! At the newest revision it closes the connection. Before that it says so in a message of its own, which names the request
//! alone; and the requests of any two clients are numbered alike. So the greeting gives each client a label, which all its
//! messages bring: it is kept nowhere, opens nothing, and stays good on another server or after a restart.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, HeaderValue};
use serde_json::Value;
use tenure_core::model::ids::Digest;
use tokio::sync::Notify;

/// The header of the label.
pub(super) const LABEL: &str = "mcp-session-id";
/// Longest label and longest name of a request that a call is known under, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// What a call is known under: by whose token it came, the client's label and the request's own id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name {
    token: Option<Digest>,
    label: String,
    request: String,
}

impl Name {
    /// The name of a request of this id, if its client has a label.
    pub(super) fn of(token: Option<Digest>, headers: &HeaderMap, request: Option<&Value>) -> Option<Self> {
        let label = headers.get(LABEL)?.to_str().ok()?.to_owned();
        let request = request.filter(|id| id.is_string() || id.is_number())?.to_string();
        let is_short = label.len() <= NAME_BYTES_MAX && request.len() <= NAME_BYTES_MAX;
        is_short.then_some(Self { token, label, request })
    }
}

/// A new client's label.
pub(super) fn label() -> Option<HeaderValue> {
    tenure_engine::draw_id().ok().and_then(|id| HeaderValue::from_str(&id).ok())
}

/// All calls that are under way and have a name.
#[derive(Default)]
pub(super) struct Calls(Mutex<BTreeMap<Name, Arc<Notify>>>);

impl Calls {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Name, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call until what this returns is dropped.
    pub(super) fn begin(self: &Arc<Self>, name: Name) -> UnderWay {
        let end = Arc::<Notify>::default();
        self.lock().insert(name.clone(), end.clone());
        UnderWay { calls: self.clone(), name, end }
    }

    /// Ends a call, if it is under way.
    pub(super) fn cancel(&self, name: &Name) {
        if let Some(end) = self.lock().get(name) {
            end.notify_one();
        }
    }
}

/// A call that is under way.
pub(super) struct UnderWay {
    calls: Arc<Calls>,
    name: Name,
    end: Arc<Notify>,
}

impl UnderWay {
    /// Waits until the client says that it no longer waits.
    pub(super) async fn cancelled(&self) {
        self.end.notified().await;
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut calls = self.calls.lock();
        // A client that uses an id twice at once has replaced this one.
        if calls.get(&self.name).is_some_and(|end| Arc::ptr_eq(end, &self.end)) {
            calls.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn name(label: &str, request: &Value) -> Option<Name> {
        let mut headers = HeaderMap::new();
        headers.insert(LABEL, HeaderValue::from_str(label).expect("a header"));
        Name::of(None, &headers, Some(request))
    }

    #[tokio::test]
    async fn a_call_is_ended_by_its_own_client_and_by_no_other() {
        let calls = Arc::<Calls>::default();
        let [mine, other] = ["mine", "other"].map(|label| name(label, &json!(1)).expect("short"));
        let (one, two) = (calls.begin(mine.clone()), calls.begin(other));
        calls.cancel(&name("mine", &json!("1")).expect("short"));
        calls.cancel(&mine);
        one.cancelled().await;
        let ended =
            tokio::select! { biased; () = two.cancelled() => true, () = std::future::ready(()) => false };
        assert!(!ended);
        drop((one, two));
        calls.cancel(&mine);
        assert!(calls.lock().is_empty());
    }

    #[test]
    fn what_nobody_numbers_a_request_with_names_no_call() {
        assert_eq!(name("mine", &json!(null)), None);
        assert_eq!(name("mine", &json!({})), None);
        assert_eq!(name(&"x".repeat(NAME_BYTES_MAX + 1), &json!(1)), None);
        assert_eq!(Name::of(None, &HeaderMap::new(), Some(&json!(1))), None);
    }
}
