//! Carrying out here what a tool asks for: the operation with its envelope, as a route makes them of headers. The model
//! carries handles alone, so the secrets that prove them are derived from what its request brought.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tenure_core::caller_key::CallerKey;
use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::ids::SessionId;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::ownership::Claim;
use tenure_core::operation::session::OpenSession;
use tenure_core::operation::whoami::{Identity, WhoAmI};
use tenure_core::operation::{Access, Operation};
use tenure_core::token::TokenKind;
use tenure_engine::{Command, Told};

use super::super::app::App;
use super::super::attend;
use super::super::patience;
use super::Guest;
use crate::mcp::asked::Asked;
use crate::mcp::{Beside, Carrier};

/// What codexes tell of their conversation.
const THREAD: &str = "threadId";

/// This server.
pub(super) struct Here(pub(super) Arc<App>);

impl Carrier for Here {
    async fn carry(&self, asked: Asked, beside: Beside) -> Result<String, Refusal> {
        let guest = beside.request.get::<Guest>().expect("a request that came here says whose it is");
        let spec = asked.tool.spec;
        let _ = guest.asked.set(attend::Asked {
            operation: spec.name,
            effect: spec.effect,
            operation_id: asked.operation_id.clone(),
        });
        if spec.name == OpenSession::SPEC.name {
            return self.open(asked, guest, &beside.meta).await;
        }
        if spec.access == Access::Session && asked.session.is_none() {
            let detail = format!("`{}` is for a session, and the call names none", asked.tool.name);
            let step =
                "call session_open with a name of your own, and give the id that it answers as `session`";
            return Err(Refusal::new(Code::SessionRequired, detail).next(step));
        }
        let lacks_project = asked.tool.of_project && asked.input.get("project").is_none_or(Value::is_null);
        if lacks_project {
            let step = "name it in `project`; your human knows the key";
            return Err(Refusal::new(Code::AmbiguousProject, "the call names no project").next(step));
        }
        let secret = asked.session.as_ref().map(|session| guest.key.session(session));
        let fence = match (&secret, &asked.lease) {
            (Some(secret), Some(lease)) => {
                Some(Fence { attempt: lease.attempt.clone(), token: secret.lease_token(&lease.claim) })
            }
            (None, _) | (_, None) => None,
        };
        let token_hash = match (&secret, &asked.operation_id) {
            (Some(secret), Some(id)) if spec.name == Claim::SPEC.name => Some(secret.lease_token(id).hash()),
            (_, _) => None,
        };
        let envelope = Envelope {
            caller: asked.session.as_ref().map(|session| caller(&guest.key, session)),
            operation_id: asked.operation_id.clone(),
            fence,
            token_hash,
            token: guest.token,
            ..Envelope::default()
        };
        let _turn = if spec.is_import() { Some(self.0.import_turn().await) } else { None };
        self.ask(asked.operation()?, envelope).await
    }
}

impl Here {
    async fn ask(&self, operation: AnyOperation, envelope: Envelope) -> Result<String, Refusal> {
        let Told { outcome, .. } = patience::ask(&self.0, Command { operation, envelope }).await;
        outcome.map_err(|failure| self.0.refusal(failure))
    }

    /// Opens a session whose id and secret follow from the operation id and the caller's key.
    async fn open(
        &self,
        mut asked: Asked,
        guest: &Guest,
        meta: &Map<String, Value>,
    ) -> Result<String, Refusal> {
        let operation_id = asked.operation_id.clone().expect("a change has an id");
        let id = guest.key.session_id(&operation_id);
        if asked.input.get("name").is_none_or(Value::is_null) {
            asked.input.insert("name".to_owned(), self.own_name(guest).await?.into());
        }
        let parent = match asked.input.get("parent").and_then(Value::as_str) {
            Some(parent) => parent.parse().ok(),
            None => None,
        };
        // A subagent may share its parent's conversation, which is one session's.
        if let (None, Some(thread)) = (&parent, meta.get(THREAD).and_then(Value::as_str)) {
            asked.input.insert("conversation".to_owned(), thread.into());
        }
        let proof_hash = guest.key.session(&id).session_proof().hash();
        asked.input.insert("session".to_owned(), json!(id));
        asked.input.insert("proof_hash".to_owned(), json!(proof_hash));
        let envelope = Envelope {
            caller: parent.or(asked.session.clone()).map(|session| caller(&guest.key, &session)),
            operation_id: Some(operation_id),
            token: guest.token,
            ..Envelope::default()
        };
        self.ask(asked.operation()?, envelope).await.map_err(|refusal| {
            let Some(session) = refusal.facts.get("session").and_then(Value::as_str) else { return refusal };
            let step = format!("if you opened it and lost its id, go on with it: `session` is {session}");
            refusal.clone().next(step)
        })
    }

    /// The one name that an agent's token is for.
    async fn own_name(&self, guest: &Guest) -> Result<String, Refusal> {
        let envelope = Envelope { token: guest.token, ..Envelope::default() };
        let told = self.ask(WhoAmI { can: false }.into(), envelope).await?;
        let identity: Option<Identity> = serde_json::from_str(&told).ok();
        match identity.and_then(|identity| identity.token) {
            Some(token) if token.kind == TokenKind::Agent => Ok(token.name.to_string()),
            Some(_) | None => Err(Refusal::field("name", "is missing", "give a name of your own")),
        }
    }
}

fn caller(key: &CallerKey, session: &SessionId) -> Caller {
    Caller { session: session.clone(), proof: key.session(session).session_proof() }
}
