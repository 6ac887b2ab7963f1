//! One call of a tool, carried out as a command would be.

use serde_json::{Map, Value, json};
use tenure_client::ask::Chosen;
use tenure_client::failure::Failure;
use tenure_client::session::{Particulars, Session};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::session::{OpenSession, SessionAnswer, ShowSession};
use tenure_core::operation::{Access, Effect, Operation, Spec};
use tenure_server::mcp::asked::Asked;
use tenure_server::mcp::{Beside, Plain};

use super::Beginning;
use super::patience::patience;
use crate::context::Context;
use crate::stop::Stop;

/// What a harness tells with a call instead of in the environment, and the variable that it would be in. It is believed as
/// far as that: it names a conversation, and whose session that is its file proves.
const TOLD: [(&str, &str); 2] = [("threadId", "CODEX_THREAD_ID"), ("sessionId", "CODEX_SESSION_ID")];

impl Plain for Beginning {
    fn carry(&self, asked: Asked, beside: &Beside) -> Result<String, Refusal> {
        let mut context = Context::new(self.screen.clone(), self.session_name.clone(), self.wish.clone());
        context.told = told(&beside.meta);
        carry(context, asked, beside).map_err(refusal)
    }
}

fn told(meta: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let text = |name: &str| meta.get(name).and_then(Value::as_str).map(str::to_owned);
    TOLD.into_iter().filter_map(|(name, variable)| Some((variable, text(name)?))).collect()
}

fn carry(context: Context, asked: Asked, beside: &Beside) -> Result<String, Stop> {
    let asked = with_project(&context, asked)?;
    if asked.tool.spec.name == OpenSession::SPEC.name {
        return open(context, &asked);
    }
    // Read here as the coordinator will read it, so that nothing is started for what cannot be right.
    asked.operation()?;
    let session = match &asked.session {
        Some(id) => Some(Session::of(context.client()?, id)?.ok_or_else(|| {
            let detail = format!("the session {id} is none of those that are kept here");
            Refusal::new(Code::SessionUnknown, detail).next("call session_open, and name what it answers")
        })?),
        None => None,
    };
    let ask = |spec: &Spec, input: &Map<String, Value>| -> Result<String, Stop> {
        let chosen = Chosen {
            // What is asked on the way to the answer is no repetition of it.
            operation_id: asked.operation_id.clone().filter(|_| spec.effect != Effect::Read),
            fence: asked.lease.as_ref().map(|lease| (lease.attempt.clone(), lease.claim.clone())),
        };
        let input = Value::Object(input.clone());
        let answer = match &session {
            Some(session) if spec.access == Access::Session => {
                context.client()?.ask_with(spec, &input, Some(session), &chosen)?
            }
            Some(_) | None => context.ask_with(spec, &input, &chosen)?,
        };
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    match patience(&asked) {
        Some(patience) => patience.ask(&asked, beside, ask),
        None => ask(&asked.tool.spec, &asked.input),
    }
}

/// The call with the project that this checkout is bound to, where it names none and needs one.
fn with_project(context: &Context, mut asked: Asked) -> Result<Asked, Stop> {
    let lacks = |field: &str| {
        asked
            .input
            .get(field)
            .is_none_or(|value| value.is_null() || value.as_array().is_some_and(Vec::is_empty))
    };
    if asked.tool.of_project && lacks("project") {
        let project = context.project(None)?;
        asked.input.insert("project".to_owned(), json!(project));
    } else if asked.tool.of_projects() && lacks("task") && lacks("projects") {
        let project = context.project(None)?;
        asked.input.insert("projects".to_owned(), json!([project]));
    }
    Ok(asked)
}

/// Opens a session: the caller's own, or one of the name that is given. Opening it again answers the same.
fn open(mut context: Context, asked: &Asked) -> Result<String, Stop> {
    // Its id and its secret are drawn with its file; here they stand for them, so that the rest is read strictly.
    let given = |name: &str| asked.input.get(name).filter(|value| !value.is_null()).cloned();
    let (name, parent, capabilities) = (given("name"), given("parent"), given("capabilities"));
    let mut whole = asked.input.clone();
    whole.insert("session".to_owned(), "0".repeat(32).into());
    whole.insert("proof_hash".to_owned(), "0".repeat(64).into());
    whole.entry("name").and_modify(|name| *name = name_or(name)).or_insert_with(|| name_or(&Value::Null));
    let read: OpenSession = tenure_core::json::parse(Value::Object(whole))?;
    if name.is_some() {
        context.session_name = Some(read.name.to_string());
    }
    let particulars = Particulars {
        parent: read.parent.clone(),
        capabilities: read.capabilities.clone(),
        instead_of: asked.session.clone(),
    };
    let session = context.open_session(&particulars)?;
    let shown = context.call(&ShowSession { session: session.id.to_string() })?;
    let SessionAnswer { session: view, .. } = &shown.value;
    let differs = parent.is_some() && view.parent != read.parent
        || capabilities.is_some() && view.capabilities != read.capabilities;
    if !session.is_new && differs {
        let detail =
            format!("the session {} is open already, and was told otherwise when it opened", view.name);
        let next =
            format!("choose another name, or name {} as the `session` that this one replaces", view.id);
        return Err(Refusal::new(Code::StateConflict, detail).next(next).into());
    }
    Ok(String::from_utf8_lossy(&shown.json).into_owned())
}

/// A name that is left out is found as for every command.
fn name_or(name: &Value) -> Value {
    if name.is_null() { "found".into() } else { name.clone() }
}

/// The end of a call as a tool tells it.
fn refusal(stop: Stop) -> Refusal {
    let mut refusal = match stop {
        Stop::Failure(Failure::Refused(refusal)) => *refusal,
        Stop::Failure(Failure::CannotTell { detail, next }) => {
            Refusal::new(Code::CannotTell, detail).next(next)
        }
        Stop::CheckFailed => Refusal::new(Code::CannotTell, "a check failed"),
    };
    if refusal.code == Code::SessionRequired {
        let step = "call session_open with a name of your own, and give the id that it answers as `session`";
        refusal.next_actions.insert(0, step.to_owned());
    }
    refusal
}
