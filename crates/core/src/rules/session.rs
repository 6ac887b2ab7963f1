//! Sessions: a name is used by one live session at a time; a later session of a conversation replaces the earlier.

use serde_json::json;

use super::{Rule, as_of, caller, page_rows, room};
use crate::envelope::Call;
use crate::model::event::{Actor, EventKind};
use crate::model::handle::Handle;
use crate::model::ids::SessionId;
use crate::model::limits::{LIST_ITEMS, PAGE_BYTES_DEFAULT, check_count, check_line};
use crate::model::refusal::{Code, Refusal};
use crate::model::session::{Principal, PrincipalKind, Session};
use crate::model::time::{FleetTime, duration_left};
use crate::model::token::TokenRecord;
use crate::operation::session::{
    CloseSession, ListSessions, OpenSession, SessionAnswer, SessionList, SessionView, ShowSession,
};
use crate::token::TokenKind;
use crate::working_set::{About, Need, Page, Step, WorkingSet, together};

/// Most draws of a handle; two ids meet once in 35 bits, so a second draw is already rare.
const HANDLE_DRAWS: u32 = 16;

impl Rule for OpenSession {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        let mut needs = vec![
            Need::Session(self.session.clone()),
            Need::Principal(self.name.clone()),
            Need::OpenSessionsOf(self.name.clone()),
            Need::Handle(Handle::of(self.session.as_str(), 0)),
            Need::CurrentAttemptsOf(self.session.clone()),
        ];
        needs.extend(self.conversation.clone().map(Need::SessionsIn));
        needs.extend(self.parent.clone().map(Need::Session));
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<SessionAnswer> {
        for (field, text) in [("harness", &self.harness), ("workstation", &self.workstation)] {
            if let Some(text) = text {
                check_line(field, text)?;
            }
        }
        check_count("capabilities", self.capabilities.len(), LIST_ITEMS)?;
        if let Some(known) = set.session(&self.session)? {
            return reopen(set, call, self, &known);
        }
        let known = set.principal(&self.name)?;
        let machine = call.token.as_ref().and_then(TokenRecord::machine).cloned();
        if let Some(token) = &call.token {
            self.check_name(token, known.as_ref())?;
        }
        self.check_parent(set, call)?;
        replace_earlier(set, call, self)?;
        if known.is_none() {
            set.principals.put(Principal {
                name: self.name.clone(),
                kind: PrincipalKind::Agent,
                created_at: call.now.wall,
                machine: machine.clone(),
            });
            let about = About { data: json!({ "name": self.name }), actor: self.actor(), ..About::default() };
            set.record(EventKind::PrincipalCreated, about);
        }
        let session = Session {
            id: self.session.clone(),
            principal: self.name.clone(),
            conversation: self.conversation.clone(),
            parent: self.parent.clone(),
            proof_hash: self.proof_hash,
            handle: draw_handle(set, &self.session)?,
            harness: self.harness.clone(),
            workstation: self.workstation.clone(),
            capabilities: self.capabilities.clone(),
            open: true,
            opened_at: call.now.wall,
            machine,
            present_until: call.now.fleet.plus_ms(call.durations.presence_ms),
        };
        let data = json!({
            "session": session.id, "name": session.principal, "handle": session.handle,
            "conversation": session.conversation, "parent": session.parent, "harness": session.harness,
        });
        set.record(EventKind::SessionOpened, About { data, actor: self.actor(), ..About::default() });
        set.sessions.put(session.clone());
        answer(set, call, &session)
    }
}

impl OpenSession {
    /// A session that opens acts for itself before the coordinator knows it.
    fn actor(&self) -> Option<Actor> {
        Some(Actor {
            principal: Some(self.name.clone()),
            machine: None,
            reporter: None,
            session: Some(self.session.clone()),
            parent: self.parent.clone(),
            operation: None,
        })
    }

    /// Refuses a name that is not the token's own: an agent's is the name that its token was given for, and a machine's are
    /// those that were free when it first came under them.
    fn check_name(&self, token: &TokenRecord, known: Option<&Principal>) -> Step<()> {
        let is_own = match token.kind {
            TokenKind::Agent => token.principal == self.name,
            TokenKind::Machine => known.is_none_or(|known| known.machine.as_ref() == Some(&token.principal)),
        };
        let is_person = known.is_some_and(|known| known.kind == PrincipalKind::Person);
        if is_own && !is_person {
            return Ok(());
        }
        let (detail, remedy) = match token.kind {
            TokenKind::Agent => (
                format!("the token is that of {}, and opens no session of {}", token.principal, self.name),
                format!("use the name {}, or ask for a token for {}", token.principal, self.name),
            ),
            TokenKind::Machine => (
                format!("{} is somebody else's name, and not one of {}", self.name, token.principal),
                "choose a name that nobody has".to_owned(),
            ),
        };
        Err(Refusal::new(Code::TokenMismatch, detail).next(remedy).into())
    }

    /// Refuses a parent that is not there, is closed, or does not vouch for this session: what a session does is recorded
    /// under its parent's name as well. It vouches by its own proof, or has vouched for the session that this one replaces.
    fn check_parent(&self, set: &WorkingSet, call: &Call) -> Step<()> {
        let Some(id) = &self.parent else { return Ok(()) };
        let wrong = |wrong: &str, remedy: &str| Err(Refusal::field("parent", wrong, remedy).into());
        let Some(parent) = set.session(id)? else {
            return wrong("is no session of this fleet", "name one that `tenure session list` shows");
        };
        if !parent.open {
            let closed = format!("names the session {}, which is closed", parent.handle);
            return wrong(&closed, "open the parent's session again and name that one, or leave it out");
        }
        let prover = match &call.envelope.caller {
            Some(caller) => {
                let known = set.session(&caller.session)?;
                known.filter(|known| caller.proof.hash() == known.proof_hash && may_use(call, known))
            }
            None => None,
        };
        let vouches = |prover: &Session| {
            prover.id == *id || (prover.principal == self.name && prover.parent.as_ref() == Some(id))
        };
        if prover.as_ref().is_some_and(vouches) {
            return Ok(());
        }
        let foreign = format!(
            "names the session {} of {}, which does not vouch for this one",
            parent.handle, parent.principal
        );
        wrong(
            &foreign,
            "open it where the parent's session was opened, with `--parent` and without `--anew`, or leave it out",
        )
    }

    /// The refusal because a live session has the name, or another agent's live session the conversation.
    fn in_use(&self, call: &Call, session: &Session, until: FleetTime) -> Refusal {
        let left = until.since_ms(call.now.fleet);
        let (what, choose) = match &self.conversation {
            Some(conversation) if session.principal != self.name => {
                (format!("the conversation {conversation}"), "choose another conversation")
            }
            Some(_) | None => (session.principal.to_string(), "choose another name"),
        };
        let detail =
            format!("{what} is used by the live session {} of {}", session.handle, session.principal);
        let refusal = Refusal::new(Code::NameInUse, detail)
            .fact("live_for_ms", left)
            .fact("session", session.id.as_str());
        refusal.next(format!("{choose}, or wait {}", duration_left(left)))
    }
}

/// Whether a session is one that the caller may act in by the network. On the socket its proof alone decides.
fn may_use(call: &Call, session: &Session) -> bool {
    call.token.as_ref().is_none_or(|token| token.may_use(session))
}

/// Opening again with the same proof changes nothing, except that the session is heard of.
fn reopen(set: &mut WorkingSet, call: &Call, open: &OpenSession, known: &Session) -> Step<SessionAnswer> {
    if known.proof_hash != open.proof_hash || known.principal != open.name || !may_use(call, known) {
        return Err(Refusal::new(Code::SessionUnknown, "this session id belongs to somebody else").into());
    }
    if !known.open {
        return Err(Refusal::new(Code::SessionClosed, format!("session {} is closed", known.handle)).into());
    }
    renew_presence(set, call, known.clone());
    answer(set, call, known)
}

/// Closes the earlier sessions that this one replaces, or refuses because one of them is still live: it was heard of
/// lately or holds work. Only who proves to be that session may replace it then, as a resumed conversation does.
fn replace_earlier(set: &mut WorkingSet, call: &Call, open: &OpenSession) -> Step<()> {
    let mut earlier = set.open_sessions_of(&open.name)?;
    if let Some(conversation) = &open.conversation {
        let others = set.sessions_in(conversation)?;
        // Whoever names a conversation by the network ends nobody else's part in it.
        let is_other = |session: &Session| session.principal != open.name && may_use(call, session);
        earlier.extend(others.into_iter().filter(is_other));
    }
    for session in earlier {
        let caller = call.envelope.caller.as_ref();
        let resumes = caller
            .is_some_and(|caller| caller.session == session.id && caller.proof.hash() == session.proof_hash)
            && may_use(call, &session);
        let live = live_until(set, call, &session)?;
        if let Some(until) = live.filter(|_| !resumes) {
            return Err(open.in_use(call, &session, until).into());
        }
        let why = if resumes { "resumed" } else { "presence_ended" };
        close(set, session, why, open.actor());
    }
    Ok(())
}

/// Until when a session counts as live: its presence, or its longest lease. Nothing if it is not.
fn live_until(set: &WorkingSet, call: &Call, session: &Session) -> Step<Option<FleetTime>> {
    let held = set.current_attempts_of(&session.id)?;
    let leases =
        held.iter().filter(|attempt| attempt.is_live(call.now.fleet)).map(|attempt| attempt.deadline);
    Ok(leases.chain(Some(session.present_until)).max().filter(|until| !call.now.fleet.has_reached(*until)))
}

pub(super) fn close(set: &mut WorkingSet, session: Session, why: &str, actor: Option<Actor>) {
    let data = json!({ "session": session.id, "name": session.principal, "reason": why });
    set.record(EventKind::SessionClosed, About { data, actor, ..About::default() });
    set.sessions.put(Session { open: false, ..session });
}

fn draw_handle(set: &WorkingSet, id: &SessionId) -> Step<Handle> {
    for draw in 0..HANDLE_DRAWS {
        let handle = Handle::of(id.as_str(), draw);
        if set.session_by_handle(&handle)?.is_none() {
            return Ok(handle);
        }
    }
    Err(Refusal::new(Code::AlreadyExists, "every handle of this session id is taken")
        .next("draw another id")
        .into())
}

fn renew_presence(set: &mut WorkingSet, call: &Call, session: Session) {
    let present_until = call.now.fleet.plus_ms(call.durations.presence_ms);
    set.sessions.put(Session { present_until, ..session });
}

/// Notes that the calling session was heard of. Every call says so; it is written only when a tenth of the presence
/// has passed, so that a session without any call counts as present for nine tenths of it at least.
pub fn heard_of(set: &mut WorkingSet, call: &Call) -> Step<()> {
    let Some(session) = &call.session else { return Ok(()) };
    let Some(session) = set.session(&session.id)? else { return Ok(()) };
    let left = session.present_until.since_ms(call.now.fleet);
    if session.open && left <= call.durations.presence_ms - call.durations.presence_ms / 10 {
        renew_presence(set, call, session);
    }
    Ok(())
}

/// A session as others may see it.
fn view(set: &WorkingSet, call: &Call, session: &Session) -> Step<SessionView> {
    let held = set.current_attempts_of(&session.id)?;
    let holds = held.into_iter().filter(|attempt| attempt.is_live(call.now.fleet)).map(|attempt| attempt.id);
    Ok(SessionView {
        id: session.id.clone(),
        name: session.principal.clone(),
        handle: session.handle.clone(),
        parent: session.parent.clone(),
        harness: session.harness.clone(),
        workstation: session.workstation.clone(),
        capabilities: session.capabilities.clone(),
        open: session.open,
        present: session.is_present(call.now.fleet),
        opened_at: session.opened_at,
        holds: holds.collect(),
    })
}

fn answer(set: &WorkingSet, call: &Call, session: &Session) -> Step<SessionAnswer> {
    Ok(SessionAnswer { session: view(set, call, session)?, epoch: call.epoch })
}

impl Rule for ShowSession {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<SessionAnswer> {
        let missing = || Refusal::not_found("session", crate::model::limits::excerpt(&self.session));
        let session = if let Ok(id) = self.session.parse::<SessionId>() {
            set.session(&id)?
        } else if let Ok(handle) = self.session.parse::<Handle>() {
            set.session_by_handle(&handle)?
        } else {
            let wrong = "is neither a session id nor a five-word handle";
            return Err(Refusal::field("session", wrong, "`tenure session list` shows the handles").into());
        };
        answer(set, call, &session.ok_or_else(missing)?)
    }
}

impl Rule for ListSessions {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<SessionList> {
        let count = page_rows(self.limit)?;
        let ids = set.page(&Page::Sessions { count: count + 1 })?.sessions();
        let sessions = together(ids.iter().map(|id| set.session(id)))?;
        let shown = sessions.iter().flatten().take(count as usize);
        let mut sessions = together(shown.map(|session| view(set, call, session)))?;
        sessions.truncate(room(&sessions, self.limit, PAGE_BYTES_DEFAULT));
        let more = ids.len() > sessions.len();
        Ok(SessionList { sessions, more, as_of: as_of(set, call) })
    }
}

impl Rule for CloseSession {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<SessionAnswer> {
        let session = caller(call)?.clone();
        close(set, session.clone(), "closed", None);
        answer(set, call, &Session { open: false, ..session })
    }
}
