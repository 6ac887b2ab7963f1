//! Who may ask: the caller's session, its proof and the fleet's incarnation, judged before any rule runs.

use tenure_core::envelope::{Authentication, Call, Envelope};
use tenure_core::model::account::Role;
use tenure_core::model::ids::{Digest, OperationId, PrincipalName, ReporterId, TokenId};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::mutant::Mutant;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::permission::{Permission, Standing, permission};
use tenure_core::operation::{Access, Effect, Spec};
use tenure_core::secret::digest;
use tenure_core::working_set::{Need, WorkingSet};

/// What must be loaded before a caller can be judged.
#[must_use]
pub fn caller_needs(call: &Call) -> Vec<Need> {
    let session = call.envelope.caller.iter().map(|caller| Need::Session(caller.session.clone()));
    let person = match &call.envelope.authentication {
        Some(Authentication::Password { name, .. }) => Some(Need::Account(name.clone())),
        Some(Authentication::Console) | None => None,
    };
    let token = call.envelope.token.as_ref().map(|hash| Need::Token(TokenId::of(hash)));
    let reporter = call.envelope.reporter.as_ref().map(|hash| Need::Reporter(ReporterId::of(hash)));
    session.chain(person).chain(token).chain(reporter).collect()
}

/// Judges the caller and puts its session into the call. A closed session is let through only to hear again what
/// it was answered before: `replay` says whether that is still possible.
pub fn admit(
    set: &WorkingSet,
    operation: &AnyOperation,
    call: &mut Call,
    replay: bool,
) -> Result<(), Refusal> {
    let spec = operation.spec();
    if spec.effect != Effect::Read && call.envelope.operation_id.is_none() {
        return Err(Refusal::field("operation_id", "is missing", "send an id of your own with every change"));
    }
    if let Some(epoch) = call.envelope.epoch
        && epoch != call.epoch
        && !Mutant::AnyEpoch.is_on()
    {
        return Err(Refusal::restored("the session of this request", epoch.0, call.epoch.0));
    }
    token(set, call, &spec)?;
    reporter(set, call, &spec)?;
    match spec.access {
        // Everybody may ask, and whoever brings a session is known by it.
        Access::Anyone if spec.effect == Effect::Read => {
            drop(session(set, call, false));
            Ok(())
        }
        Access::Anyone | Access::Coordinator => Ok(()),
        // It is known by now.
        Access::Reporter => Ok(()),
        Access::Session => session(set, call, replay),
        Access::Person | Access::Operator | Access::Administrator => person(set, call, &spec, replay),
        Access::Console if call.envelope.authentication == Some(Authentication::Console) => Ok(()),
        Access::Console => Err(Refusal::new(
            Code::AuthenticationFailed,
            format!("`{}` needs the one-time secret that the server printed on its console", spec.name),
        )
        .next("run `tenure serve` in a terminal, and type there what it prints")),
    }
}

/// Judges the token of a request that came by the network, and puts it into the call. It is asked for anew with each
/// operation and each look of one that waits, so one that was revoked ends at once, for what was answered before as well.
fn token(set: &WorkingSet, call: &mut Call, spec: &Spec) -> Result<(), Refusal> {
    call.token = None;
    let Some(hash) = &call.envelope.token else { return Ok(()) };
    let found = set.tokens.get(&TokenId::of(hash)).flatten().filter(|found| equal(&found.hash, hash));
    let found = found.filter(|found| found.counts(call.now.wall)).ok_or_else(unknown_token)?;
    let may_ask_only = permission(spec, Standing::Reader) == Permission::Refused(Code::TokenReadOnly);
    if found.read_only && may_ask_only && !Mutant::ReadOnlyWrites.is_on() {
        let detail = format!("`{}` changes something, and the token {} only asks", spec.name, found.id);
        return Err(Refusal::new(Code::TokenReadOnly, detail));
    }
    call.token = Some(found.clone());
    Ok(())
}

/// Whoever has no token that counts hears only that.
fn unknown_token() -> Refusal {
    Refusal::new(Code::Unauthenticated, "the token is not known here, was revoked, or is over").next(
        "show this to your human: an administrator of this fleet makes another with `tenure token create`",
    )
}

/// Judges the reporter of a request, and puts it into the call. Whether it may still renew is the rule's to say; that it opens
/// nothing else is said here, for every operation. What a reporter was answered it hears again, as a closed session does.
fn reporter(set: &WorkingSet, call: &mut Call, spec: &Spec) -> Result<(), Refusal> {
    call.reporter = None;
    let Some(hash) = &call.envelope.reporter else {
        return match spec.access {
            Access::Reporter => Err(unknown_reporter()),
            Access::Anyone
            | Access::Session
            | Access::Person
            | Access::Operator
            | Access::Administrator
            | Access::Console
            | Access::Coordinator => Ok(()),
        };
    };
    let found = set.reporters.get(&ReporterId::of(hash)).flatten();
    let found = found.filter(|found| equal(&found.hash, hash) || Mutant::ReporterUnproven.is_on());
    let found = found.ok_or_else(unknown_reporter)?;
    if spec.access != Access::Reporter && !Mutant::ReporterReads.is_on() {
        let detail = format!("`{}` is not for the reporter {}, which renews one lease", spec.name, found.id);
        return Err(Refusal::new(Code::ReporterLimited, detail));
    }
    call.reporter = Some(found.clone());
    Ok(())
}

/// Whoever has no secret of a reporter hears only that.
fn unknown_reporter() -> Refusal {
    Refusal::new(Code::Unauthenticated, "the request carries no secret of a reporter that is known here")
        .next("renew as the session that holds the task: `tenure heartbeat TASK`, or declare a window: `tenure keep TASK`")
}

/// Judges the person by the account as it is now. A password that was compared before the account got another one counts
/// no more, except to hear again of this very change. What a person was answered they hear again, as a closed session does.
fn person(set: &WorkingSet, call: &mut Call, spec: &Spec, replay: bool) -> Result<(), Refusal> {
    call.account = None;
    let role = spec.access.role().unwrap_or(Role::Administrator);
    let Some(Authentication::Password { name, hash }) = &call.envelope.authentication else {
        let detail = format!("`{}` is for people with the role {role}, and nothing was changed", spec.name);
        return Err(Refusal::new(Code::OperatorRequired, detail));
    };
    let account = set.accounts.get(name).flatten().ok_or_else(not_proven)?;
    let is_set_by_this = replay && call.envelope.new_password.as_ref() == Some(&account.password);
    let is_proven =
        equal(&account.password.digest(), hash) || is_set_by_this || Mutant::StalePassword.is_on();
    let is_disabled = account.disabled && !replay && !Mutant::DisabledActs.is_on();
    if !is_proven || is_disabled {
        return Err(not_proven());
    }
    if let Permission::Refused(code) = permission(spec, account.role.into())
        && !replay
    {
        let detail =
            format!("`{}` is for the role {role}, and {name} has the role {}", spec.name, account.role);
        return Err(Refusal::new(code, detail).next("ask an administrator"));
    }
    call.account = Some(account.clone());
    Ok(())
}

/// Whoever does not prove to be a person is told nothing about whether there is one.
#[must_use]
pub fn not_proven() -> Refusal {
    Refusal::new(Code::AuthenticationFailed, "the name or the password is wrong, or the account is disabled")
}

fn session(set: &WorkingSet, call: &mut Call, replay: bool) -> Result<(), Refusal> {
    let Some(caller) = &call.envelope.caller else {
        return Err(Refusal::new(Code::SessionRequired, "the call names no session"));
    };
    let unknown = || {
        Refusal::new(Code::SessionUnknown, format!("session {} is not known by this proof", caller.session))
    };
    let found = set.sessions.get(&caller.session).flatten().ok_or_else(unknown)?;
    let is_usable = call.token.as_ref().is_none_or(|token| token.may_use(found));
    if !equal(&found.proof_hash, &caller.proof.hash()) || !is_usable {
        return Err(unknown());
    }
    if !found.open && !replay {
        return Err(Refusal::new(Code::SessionClosed, format!("session {} is closed", found.handle)));
    }
    if call.session.as_ref() != Some(found) {
        call.session = Some(found.clone());
    }
    Ok(())
}

/// Compares without telling by its duration how much was right.
pub(crate) fn equal(left: &Digest, right: &Digest) -> bool {
    let differing = left.0.iter().zip(right.0).fold(0, |bits, (left, right)| bits | (left ^ right));
    std::hint::black_box(differing) == 0
}

/// Under whose name and which id an operation's receipt is kept. Opening a session, or the first account, happens under
/// the name that it asks for. What nobody in particular does leaves no receipt: it repeats its own condition instead.
#[must_use]
pub fn receipt_key(operation: &AnyOperation, call: &Call) -> Option<(PrincipalName, OperationId)> {
    if operation.spec().effect != Effect::Write {
        return None;
    }
    let person = call.account.as_ref().map(|account| &account.name);
    let principal = if let AnyOperation::OpenSession(open) = operation {
        Some(&open.name)
    } else if let AnyOperation::BootstrapAccount(bootstrap) = operation {
        Some(&bootstrap.name)
    } else {
        let session = call.session.as_ref().map(|session| &session.principal);
        person.or(session).or(call.reporter.as_ref().map(|reporter| &reporter.principal))
    };
    Some((principal?.clone(), call.envelope.operation_id.clone()?))
}

/// What makes two requests the same: the operation, its input, the attempt it acts for and the token it asks for. The hash
/// of a new password is left out: it has another salt each time.
#[must_use]
pub fn fingerprint(operation: &AnyOperation, envelope: &Envelope) -> Digest {
    let attempt = envelope.fence.as_ref().map(|fence| fence.attempt.to_string()).unwrap_or_default();
    let token = envelope.token_hash.map(|hash| hash.0.to_vec()).unwrap_or_default();
    let (name, input) = (operation.spec().name, operation.to_json());
    digest("tenure request v1", &[name.as_bytes(), input.as_bytes(), attempt.as_bytes(), &token])
}
