//! Tokens: whom they may be for, how long they count, and how they end.

use serde_json::{Value, json};

use super::{Rule, as_of, page_rows};
use crate::envelope::Call;
use crate::model::event::EventKind;
use crate::model::ids::{Digest, PrincipalName, TokenId};
use crate::model::limits::{
    TEXT_BYTES, TOKEN_MS_DEFAULT, TOKEN_MS_MAX, TOKEN_MS_MIN, TOKEN_OVERLAP_MS_MAX, check_span, check_text,
};
use crate::model::refusal::{Code, Refusal};
use crate::model::session::{Principal, PrincipalKind};
use crate::model::time::WallTime;
use crate::model::token::TokenRecord;
use crate::operation::token::{
    CreateToken, ListTokens, RevokeToken, RotateToken, TokenAnswer, TokenList, TokenView,
};
use crate::token::TokenKind;
use crate::working_set::{About, Need, Page, Step, WorkingSet, together};

/// What is said of a duration that is beyond its bounds.
const WITHIN: &str = "name a duration within these bounds";

impl Rule for CreateToken {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Token(TokenId::of(&self.hash)), Need::Principal(self.name.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TokenAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let valid_ms = self.valid_ms.unwrap_or(TOKEN_MS_DEFAULT);
        check_span("valid_ms", valid_ms, (TOKEN_MS_MIN, TOKEN_MS_MAX), WITHIN)?;
        check_new(set, &self.hash)?;
        name_holder(set, call, &self.name, self.kind)?;
        let token = TokenRecord {
            id: TokenId::of(&self.hash),
            kind: self.kind,
            principal: self.name.clone(),
            hash: self.hash,
            read_only: self.read_only,
            created_at: call.now.wall,
            expires_at: after(call.now.wall, valid_ms),
            revoked_at: None,
        };
        keep(set, call, EventKind::TokenCreated, token, json!({ "reason": self.reason }))
    }
}

/// A name is one agent's or one machine's, and no person's. One that is new is known from now on.
fn name_holder(set: &mut WorkingSet, call: &Call, name: &PrincipalName, kind: TokenKind) -> Step<()> {
    let wanted = match kind {
        TokenKind::Agent => PrincipalKind::Agent,
        TokenKind::Machine => PrincipalKind::Machine,
    };
    match set.principal(name)? {
        Some(known) if known.kind != wanted => {
            let detail = format!("{name} is the name of another kind: {}", known.kind);
            Err(Refusal::new(Code::StateConflict, detail).next("choose another name").into())
        }
        Some(Principal { machine: Some(machine), .. }) => {
            let detail = format!("{name} is the name of an agent on {machine}");
            Err(Refusal::new(Code::StateConflict, detail).next("choose another name").into())
        }
        Some(_) => Ok(()),
        None => {
            set.record(
                EventKind::PrincipalCreated,
                About { data: json!({ "name": name }), ..About::default() },
            );
            let created_at = call.now.wall;
            set.principals.put(Principal { name: name.clone(), kind: wanted, created_at, machine: None });
            Ok(())
        }
    }
}

/// Two tokens never have one hash, nor one id.
fn check_new(set: &WorkingSet, hash: &Digest) -> Step<()> {
    match set.token(&TokenId::of(hash))? {
        None => Ok(()),
        Some(known) => {
            let detail = format!("there is a token {} already", known.id);
            Err(Refusal::new(Code::AlreadyExists, detail).next("draw another token").into())
        }
    }
}

fn after(moment: WallTime, ms: i64) -> WallTime {
    WallTime(moment.0.saturating_add(ms))
}

/// What an event tells of a token: what it is now, and the digest of its row.
fn told(token: &TokenRecord) -> Value {
    json!({
        "token": token.id, "kind": token.kind, "name": token.principal, "read_only": token.read_only,
        "expires_at": token.expires_at, "revoked": token.revoked_at.is_some(), "row": token.digest(),
    })
}

/// Writes a token with the event that tells what it is now.
fn keep(
    set: &mut WorkingSet,
    call: &Call,
    kind: EventKind,
    token: TokenRecord,
    facts: Value,
) -> Step<TokenAnswer> {
    let mut data = told(&token);
    if let (Some(data), Value::Object(facts)) = (data.as_object_mut(), facts) {
        data.extend(facts);
    }
    set.record(kind, About { data, ..About::default() });
    let answer = TokenAnswer { token: view(&token, call) };
    set.tokens.put(token);
    Ok(answer)
}

/// A token as it is shown.
pub fn view(token: &TokenRecord, call: &Call) -> TokenView {
    TokenView {
        token: token.id.clone(),
        kind: token.kind,
        name: token.principal.clone(),
        read_only: token.read_only,
        counts: token.counts(call.now.wall),
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at: token.revoked_at,
    }
}

impl Rule for ListTokens {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TokenList> {
        let rows = page_rows(self.limit)?;
        let page = Page::Tokens { after: self.after.clone(), count: rows + 1 };
        let ids = set.page(&page)?.tokens();
        let tokens = together(ids.iter().take(rows as usize).map(|id| set.token(id)))?;
        Ok(TokenList {
            tokens: tokens.iter().flatten().map(|token| view(token, call)).collect(),
            more: ids.len() > rows as usize,
            as_of: as_of(set, call),
        })
    }
}

impl Rule for RotateToken {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Token(self.token.clone()), Need::Token(TokenId::of(&self.hash))]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TokenAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let overlap_ms = self.overlap_ms.unwrap_or(0);
        check_span("overlap_ms", overlap_ms, (0, TOKEN_OVERLAP_MS_MAX), WITHIN)?;
        let old = existing(set, &self.token)?;
        check_counts(&old, call)?;
        if old.kind != self.kind {
            let wrong = format!("is not that of the token, which is for one {}", old.kind);
            return Err(Refusal::field("kind", &wrong, "draw one of the same kind").into());
        }
        check_new(set, &self.hash)?;
        let now = call.now.wall;
        let valid_ms = old.expires_at.0.saturating_sub(old.created_at.0);
        let new = TokenRecord {
            id: TokenId::of(&self.hash),
            hash: self.hash,
            created_at: now,
            expires_at: after(now, valid_ms.clamp(TOKEN_MS_MIN, TOKEN_MS_MAX)),
            ..old.clone()
        };
        let ended = if overlap_ms == 0 {
            TokenRecord { revoked_at: Some(now), ..old }
        } else {
            TokenRecord { expires_at: after(now, overlap_ms).min(old.expires_at), ..old }
        };
        let replaced = told(&ended);
        set.tokens.put(ended);
        let facts = json!({ "reason": self.reason, "replaced": replaced });
        keep(set, call, EventKind::TokenRotated, new, facts)
    }
}

impl Rule for RevokeToken {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Token(self.token.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<TokenAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        let token = existing(set, &self.token)?;
        check_counts(&token, call)?;
        let revoked = TokenRecord { revoked_at: Some(call.now.wall), ..token };
        keep(set, call, EventKind::TokenRevoked, revoked, json!({ "reason": self.reason }))
    }
}

fn existing(set: &WorkingSet, id: &TokenId) -> Step<TokenRecord> {
    set.token(id)?
        .ok_or_else(|| Refusal::not_found("token", id).next("`tenure token list` shows them").into())
}

fn check_counts(token: &TokenRecord, call: &Call) -> Step<()> {
    if token.counts(call.now.wall) {
        return Ok(());
    }
    let detail = format!("the token {} counts no more", token.id);
    Err(Refusal::new(Code::StateConflict, detail).next("make another one with `tenure token create`").into())
}
