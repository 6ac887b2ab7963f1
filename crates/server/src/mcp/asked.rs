//! What a tool's arguments mean: the operation's own input, and what other surfaces carry beside it.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value};
use tenure_core::json;
use tenure_core::model::ids::{AttemptId, OperationId, SessionId};
use tenure_core::model::limits::{TOOL_ANSWER_BYTES, TOOL_WAIT_MS_MAX, excerpt};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Effect;
use tenure_core::operation::catalog::AnyOperation;

use super::tool::{LEASE, OPERATION_ID, SESSION, TEXTS_FROM, Tool};

/// A lease as a model carries it: the attempt, and the operation id of its claim. It is no secret: the lease token is
/// derived from it and from the session's secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Task and generation.
    pub attempt: AttemptId,
    /// The operation that claimed it.
    pub claim: OperationId,
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.attempt, self.claim)
    }
}

impl FromStr for Lease {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{:?} is no lease", excerpt(text));
        let (attempt, claim) = text.split_once('/').ok_or_else(wrong)?;
        Ok(Self {
            attempt: attempt.parse().map_err(|_| wrong())?,
            claim: claim.parse().map_err(|_| wrong())?,
        })
    }
}

/// A call that was read.
#[derive(Clone)]
pub struct Asked {
    /// The tool.
    pub tool: &'static Tool,
    /// The operation's own input.
    pub input: Map<String, Value>,
    /// The session that calls, if the call names one.
    pub session: Option<SessionId>,
    /// What the session holds, if the call names it.
    pub lease: Option<Lease>,
    /// The id of a change; a question has none.
    pub operation_id: Option<OperationId>,
    /// Whether the caller chose that id.
    pub is_named: bool,
    /// Where texts that are cut begin, in bytes.
    pub texts_from: usize,
}

impl Asked {
    /// Reads a call's arguments.
    pub(super) fn read(tool: &'static Tool, arguments: &Map<String, Value>) -> Result<Self, Refusal> {
        // What the protocol's own reader lets through, no other surface does.
        let bytes = serde_json::to_vec(arguments).expect("JSON was read and can be written");
        let Value::Object(mut input) = json::read(&bytes)? else { unreachable!("an object was written") };
        let is_change = tool.spec.effect != Effect::Read;
        let mut asked = Self {
            tool,
            session: if tool.takes(SESSION) && !is_own_field(tool) {
                take(&mut input, SESSION)?
            } else {
                None
            },
            lease: if tool.takes(LEASE) { take(&mut input, LEASE)? } else { None },
            operation_id: if is_change { take(&mut input, OPERATION_ID)? } else { None },
            is_named: false,
            texts_from: 0,
            input,
        };
        if !is_change && let Some(from) = asked.input.remove(TEXTS_FROM).filter(|from| !from.is_null()) {
            let wrong =
                || Refusal::field(TEXTS_FROM, "is no number of bytes", "give the one that the cut names");
            asked.texts_from = from.as_u64().and_then(|from| usize::try_from(from).ok()).ok_or_else(wrong)?;
        }
        asked.is_named = asked.operation_id.is_some();
        if is_change && !asked.is_named {
            asked.operation_id = Some(drawn()?);
        }
        if let Some(wait) = asked.input.get_mut("wait_ms")
            && wait.as_i64().is_some_and(|wait| wait > TOOL_WAIT_MS_MAX)
        {
            *wait = TOOL_WAIT_MS_MAX.into();
        }
        Ok(asked)
    }

    /// The operation that is asked for.
    pub fn operation(&self) -> Result<AnyOperation, Refusal> {
        (self.tool.read)(Value::Object(self.input.clone()))
    }

    /// The same question for fewer rows, where its answer is a page that is too long and can be gone on with.
    pub(super) fn for_fewer_rows(&self, json: &str) -> Option<Self> {
        let is_paged = self.tool.takes("limit") && (self.tool.takes("cursor") || self.tool.takes("after"));
        if json.len() <= TOOL_ANSWER_BYTES || !is_paged {
            return None;
        }
        let answer: Value = serde_json::from_str(json).ok()?;
        let lists = answer.as_object()?.values().filter_map(Value::as_array);
        let rows = lists.map(Vec::len).max().filter(|rows| *rows > 1)?;
        let fitting = rows * TOOL_ANSWER_BYTES * 9 / 10 / json.len();
        let mut fewer = self.clone();
        fewer.input.insert("limit".to_owned(), fitting.clamp(1, rows - 1).into());
        Some(fewer)
    }
}

/// `session.show` names any session, as one of its own fields.
fn is_own_field(tool: &Tool) -> bool {
    tool.spec.path.contains("{session}")
}

/// Takes an argument that is no part of the operation's input.
fn take<T: FromStr<Err: fmt::Display>>(
    input: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<T>, Refusal> {
    match input.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => text.parse().map(Some).map_err(|wrong: T::Err| {
            Refusal::field(name, &format!("is wrong: {wrong}"), "give it as an earlier answer named it")
        }),
        Some(_) => Err(Refusal::field(name, "is no text", "give it as an earlier answer named it")),
    }
}

/// An id of our own for a change that was given none.
fn drawn() -> Result<OperationId, Refusal> {
    let id = tenure_engine::draw_id().map_err(|_| Refusal::new(Code::CannotTell, "no id could be drawn"))?;
    Ok(id.parse().expect("hexadecimal digits are an operation's id"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::operation::tools::Profile;

    use super::super::tool::tools;
    use super::*;

    fn read(tool: &str, arguments: Value) -> Result<Asked, Refusal> {
        let tool = tools(Profile::Full).find(|known| known.name == tool).expect("a tool");
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        Asked::read(tool, &arguments)
    }

    #[test]
    fn handles_are_taken_from_the_arguments_and_nothing_else_is() {
        let session = "0123456789abcdef0123456789abcdef";
        let arguments = json!({
            "session": session, "lease": "afc-1@2/op-1", "operation_id": "again", "task": "afc-1", "text": "x",
        });
        let asked = read("note", arguments).expect("valid");
        assert_eq!(asked.session.as_ref().map(SessionId::as_str), Some(session));
        assert_eq!(asked.lease.as_ref().map(ToString::to_string).as_deref(), Some("afc-1@2/op-1"));
        assert_eq!(asked.operation_id.as_ref().map(OperationId::as_str), Some("again"));
        assert_eq!(asked.input.keys().collect::<Vec<_>>(), ["task", "text"]);
        let shown = read("session_show", json!({ "session": session })).expect("valid");
        assert!(shown.session.is_none() && shown.input.contains_key("session"), "it is the operation's own");
        let unknown = read("explain", json!({ "task": "afc-1", "operation_id": "x" })).expect("valid");
        assert!(unknown.operation().is_err(), "a question has no id");
    }

    #[test]
    fn a_change_without_an_id_gets_one_and_a_wait_is_bounded() {
        let [one, other] = [(), ()].map(|()| read("claim", json!({ "wait_ms": 60_000 })).expect("valid"));
        assert_ne!(one.operation_id, other.operation_id);
        assert!(!one.is_named);
        assert_eq!(one.input["wait_ms"], TOOL_WAIT_MS_MAX);
    }

    #[test]
    fn malformed_handles_and_texts_are_refused_with_their_name() {
        for (name, value) in [
            ("session", json!("me")),
            ("lease", json!("afc-1@2")),
            ("lease", json!(7)),
            ("operation_id", json!("")),
            ("text", json!("\0")),
        ] {
            let mut arguments = json!({ "task": "afc-1", "text": "x" });
            arguments[name] = value;
            let refusal = read("note", arguments).err().expect("it is wrong");
            assert_eq!(refusal.code, Code::InvalidInput);
            assert!(name == "text" || refusal.detail.contains(name), "{}", refusal.detail);
        }
    }

    #[test]
    fn a_page_that_is_too_long_is_asked_for_again_with_fewer_rows() {
        let asked = read("events", json!({ "limit": 1000 })).expect("valid");
        let rows = |count: usize| json!({ "events": vec!["x".repeat(98); count] }).to_string();
        assert!(asked.for_fewer_rows(&rows(10)).is_none());
        let fewer = asked.for_fewer_rows(&rows(1000)).expect("it is too long");
        let limit = fewer.input["limit"].as_u64().expect("a number");
        assert!((200..250).contains(&limit), "{limit}");
        assert!(fewer.for_fewer_rows(&rows(usize::try_from(limit).expect("small"))).is_none());
        assert!(asked.for_fewer_rows(&json!({ "events": ["x".repeat(100_000)] }).to_string()).is_none());
    }
}
