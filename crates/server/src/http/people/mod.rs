//! People prove who they are with each call: the password comes beside the operation, is compared here, and goes no
//! further. What an operation is given is whose account it was, and which hash; whether that still is the account's is
//! judged under the writer's lock.
//!
//! Whoever names an account costs as many hashes as whoever names none, and hears the same.

mod guesses;
mod hashing;
mod notes;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::request::Parts;
use tenure_core::envelope::{Authentication, Envelope};
use tenure_core::model::account::{Account, PasswordHash};
use tenure_core::model::ids::{Digest, OperationId, PrincipalName};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::account::{RecordAuthentications, RehashPassword};
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::{Access, Effect, Spec};
use tenure_core::rules::password;
use tenure_core::secret::digest;
use tenure_core::wire;
use tenure_engine::store::driver::{Class, StoreError};
use tenure_engine::{Command, Failure, not_proven};

use super::app::App;
use super::headers::text;
use super::logins::Login;
use super::problem::RETRY_AFTER;
use guesses::Guesses;
use hashing::Hashing;
use notes::{Notes, Told};

/// What is known of people who prove who they are, while the server runs.
pub(super) struct People {
    hashing: Hashing,
    guesses: Mutex<Guesses>,
    notes: Mutex<Notes>,
    /// The hash of the one-time secret that was printed on the console.
    console: Mutex<Option<Digest>>,
    since: Instant,
}

/// A password that was proven and is kept under another cost than hashes have now.
pub(super) struct Outdated {
    name: PrincipalName,
    from: Digest,
    password: String,
}

impl Default for People {
    fn default() -> Self {
        Self {
            hashing: Hashing::default(),
            guesses: Mutex::new(Guesses::none(Instant::now())),
            notes: Mutex::default(),
            console: Mutex::default(),
            since: Instant::now(),
        }
    }
}

impl People {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Draws the secret with which the first administrator is made, and keeps its hash. An earlier one counts no more.
    pub(super) fn draw_console_secret(&self) -> Result<String, StoreError> {
        let mut bytes = [0; 20];
        getrandom::fill(&mut bytes).map_err(|error| StoreError::new(Class::Other, error.to_string()))?;
        // No eye takes these for each other. Twenty of them stand for 99 bits of chance.
        let letters = b"23456789abcdefghjkmnpqrstuvwxyz";
        let drawn: Vec<char> = bytes.iter().map(|byte| char::from(letters[usize::from(byte % 31)])).collect();
        let groups: Vec<String> = drawn.chunks(5).map(|group| group.iter().collect()).collect();
        let secret = groups.join("-");
        *lock(&self.console) = Some(console_hash(&secret));
        Ok(secret)
    }

    /// How many passwords were hashed or compared so far.
    #[cfg(test)]
    pub(super) fn hashed(&self) -> u64 {
        self.hashing.count()
    }
}

/// Of a secret as somebody types it: what parts its groups and how large its letters are does not matter.
fn console_hash(secret: &str) -> Digest {
    let letters = secret.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    digest("tenure console secret v1", &[letters.as_bytes()])
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Refuses a call that needs a person and names none. Nothing else of the request has been looked at by then.
pub(super) fn require(spec: &Spec, parts: &Parts) -> Result<(), Refusal> {
    let missing = |name: &str| !parts.headers.contains_key(name);
    if parts.extensions.get::<Login>().is_some() && spec.access.role().is_some() {
        return Ok(());
    }
    if let Some(role) = spec.access.role()
        && (missing(wire::PERSON) || missing(wire::PASSWORD))
    {
        let detail = format!(
            "{} is for people with the role {role}: send {} and {}",
            spec.name,
            wire::PERSON,
            wire::PASSWORD
        );
        return Err(Refusal::new(Code::OperatorRequired, detail));
    }
    if spec.access == Access::Console && missing(wire::CONSOLE) {
        return Err(no_console(&format!(
            "{} needs the server's one-time secret in {}",
            spec.name,
            wire::CONSOLE
        )));
    }
    Ok(())
}

fn no_console(detail: &str) -> Refusal {
    Refusal::new(Code::AuthenticationFailed, detail)
        .next(format!(
            "where nobody is an administrator: end this server (process {}), and run `tenure serve` in a terminal",
            std::process::id()
        ))
        .next("type what it prints there: the secret counts until that server ends")
        .next("where somebody is: they make accounts with `tenure account create`")
}

/// Compares what the caller brings with what proves it, and puts whose it is into the envelope, with the hash of a new
/// password where the operation sets one.
pub(super) async fn prove(
    app: &Arc<App>,
    operation: &AnyOperation,
    parts: &Parts,
    envelope: &mut Envelope,
) -> Result<Option<Outdated>, Refusal> {
    let spec = operation.spec();
    if !spec.access.is_authenticated() {
        return Ok(None);
    }
    let headers = &parts.headers;
    let new_password = secret(headers, wire::NEW_PASSWORD)?;
    let mut outdated = None;
    let name = if spec.access == Access::Console {
        let given = secret(headers, wire::CONSOLE)?.unwrap_or_default();
        if lock(&app.people.console).as_ref() != Some(&console_hash(&given)) {
            note(app, None, Told::Refused);
            return Err(no_console("the one-time secret is not the one that this server printed"));
        }
        envelope.authentication = Some(Authentication::Console);
        None
    } else if let Some(login) = parts.extensions.get::<Login>() {
        envelope.authentication = Some(login.authentication(Instant::now())?);
        // Whoever finds a browser open does not keep the account by it.
        if sets_own_password(operation, &login.name) {
            let present = secret(headers, wire::PASSWORD)?.unwrap_or_default();
            compare(app, &login.name, (present, None)).await?;
        }
        if spec.effect == Effect::Read {
            note(app, Some(login.name.clone()), Told::Proven);
        }
        Some(login.name.clone())
    } else {
        let name: PrincipalName =
            text(headers, wire::PERSON)?.unwrap_or_default().parse().map_err(|error| {
                Refusal::field(wire::PERSON, &format!("is malformed: {error}"), "send a name")
            })?;
        let given = secret(headers, wire::PASSWORD)?.unwrap_or_default();
        // Whoever changed their own password and lost the answer asks again with the old one beside the new one.
        let second = new_password.clone().filter(|_| sets_own_password(operation, &name));
        let proven = compare(app, &name, (given, second)).await?;
        envelope.authentication =
            Some(Authentication::Password { name: name.clone(), hash: proven.hash.digest() });
        if spec.effect == Effect::Read {
            note(app, Some(name.clone()), Told::Proven);
        }
        outdated = app.people.hashing.is_outdated(&proven.hash).then_some(Outdated {
            name: name.clone(),
            from: proven.hash.digest(),
            password: proven.password,
        });
        Some(name)
    };
    let whose = match operation {
        AnyOperation::BootstrapAccount(bootstrap) => Some(&bootstrap.name),
        AnyOperation::CreateAccount(create) => Some(&create.name),
        AnyOperation::SetPassword(set) => set.name.as_ref().or(name.as_ref()),
        // open set: no other operation sets a password.
        _ => None,
    };
    if let (Some(whose), Some(new_password)) = (whose, new_password) {
        password::check(whose, &new_password)?;
        envelope.new_password = Some(app.people.hashing.hash(app, new_password).await?);
    }
    Ok(outdated)
}

fn sets_own_password(operation: &AnyOperation, name: &PrincipalName) -> bool {
    matches!(operation, AnyOperation::SetPassword(set) if set.name.as_ref().is_none_or(|of| of == name))
}

/// Compares a person's password, and records that they proved to be who they say. What names the hash that it was compared
/// with is returned.
pub(super) async fn log_in(app: &Arc<App>, name: &PrincipalName, password: &str) -> Result<Digest, Refusal> {
    let proven = compare(app, name, (password.to_owned(), None)).await?;
    note(app, Some(name.clone()), Told::Proven);
    Ok(proven.hash.digest())
}

/// A password that is an account's.
struct Proven {
    hash: PasswordHash,
    password: String,
}

/// Compares a password with the account's, or with nothing where there is none, and a second one if the first is wrong.
async fn compare(
    app: &Arc<App>,
    name: &PrincipalName,
    (first, second): (String, Option<String>),
) -> Result<Proven, Refusal> {
    lock(&app.people.guesses).take(name, Instant::now()).map_err(too_often)?;
    let asked = name.clone();
    let found = app.blocking(move |app| app.engine.account(&asked)).await?;
    let found = found.map_err(|error| app.refusal(Failure::CannotTell(error)))?;
    let is_there = found.is_some();
    let hash = found.filter(|account: &Account| !account.disabled).map(|account| account.password);
    let mut proven = None;
    for password in std::iter::once(first).chain(second) {
        if app.people.hashing.is_password_of(app, &password, hash.clone()).await? {
            proven = hash.clone().map(|hash| Proven { hash, password });
            break;
        }
    }
    if let Some(proven) = proven {
        lock(&app.people.guesses).give_back(name);
        return Ok(proven);
    }
    note(app, is_there.then(|| name.clone()), Told::Refused);
    Err(not_proven())
}

fn too_often(wait: Duration) -> Refusal {
    let seconds = wait.as_secs() + 1;
    Refusal::new(Code::RateLimited, "passwords were guessed too often lately")
        .next(format!("wait {seconds} s, and type it again"))
        .fact(RETRY_AFTER, seconds)
}

/// Counts who was authenticated and who was refused, and records it: at once, but no account more than once a minute, so
/// that a stranger cannot fill the record.
fn note(app: &Arc<App>, name: Option<PrincipalName>, told: Told) {
    let wait = lock(&app.people.notes).count(name.clone(), told, app.people.now_ms());
    match wait {
        Some(0) => record(app, name, told),
        Some(wait_ms) => {
            let app = app.clone();
            let mut stopping = app.stop().subscribe();
            drop(tokio::spawn(async move {
                // Whichever comes first: its time, or the end of the server.
                let _ = tokio::time::timeout(Duration::from_millis(wait_ms), stopping.wait_for(|stop| *stop))
                    .await;
                record(&app, name, told);
            }));
        }
        None => {}
    }
}

fn record(app: &Arc<App>, name: Option<PrincipalName>, told: Told) {
    let count = lock(&app.people.notes).take(&name, told, app.people.now_ms());
    let (proven, refused) = match told {
        Told::Proven => (count, 0),
        Told::Refused => (0, count),
    };
    if count > 0 {
        by_itself(app, RecordAuthentications { name, proven, refused }, Envelope::default());
    }
}

/// Has the coordinator do something by itself. Nobody waits for it.
fn by_itself(app: &App, operation: impl Into<AnyOperation>, envelope: Envelope) {
    let Ok(id) = tenure_engine::draw_id() else { return };
    let operation_id: OperationId = id.parse().expect("hexadecimal digits are an operation id");
    let envelope = Envelope { operation_id: Some(operation_id), ..envelope };
    app.engine.submit(Command { operation: operation.into(), envelope }, Box::new(|_| ()));
}

/// Keeps a password that was proven under the cost that hashes have now.
pub(super) async fn renew(app: &Arc<App>, outdated: Outdated) {
    let Outdated { name, from, password } = outdated;
    // Who is in a hurry comes first: it is done with the next login as well.
    if let Ok(hash) = app.people.hashing.hash(app, password).await {
        let envelope = Envelope { new_password: Some(hash), ..Envelope::default() };
        by_itself(app, RehashPassword { name, from }, envelope);
    }
}

/// A header's secret text. Beyond plain letters and digits it is percent-encoded, and it is never quoted in a refusal.
fn secret(headers: &HeaderMap, name: &str) -> Result<Option<String>, Refusal> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| {
        Refusal::field(name, "is no percent-encoded UTF-8", "encode all but letters and digits as %XX")
    })?;
    Ok(Some(decoded.into_owned()))
}

#[cfg(test)]
mod tests;
