//! Logins of people in browsers. They are kept in this server's memory, by the hash of the cookie's secret, so nothing that
//! is stored opens anything, and no backup brings one back. One ends with its time, with the server, and as soon as the
//! account is not as it was.

mod cookie;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use tenure_core::envelope::Authentication;
use tenure_core::model::account::{Account, Role};
use tenure_core::model::ids::{Digest, PrincipalName};
use tenure_core::model::limits::{LOGIN_IDLE_MS, LOGIN_MS_MAX, LOGIN_RECENT_MS, LOGINS, LOGINS_OF_PERSON};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::wire;
use tenure_engine::Failure;

use super::app::App;
pub(super) use cookie::{LoginSecret, cleared};

/// What becomes of a login that is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// It is used, so its time begins anew.
    Use,
    /// It is only looked whether it still counts.
    Glance,
}

/// From where a browser says that a request comes.
const FETCH_SITE: &str = "sec-fetch-site";

/// A person who has logged in with a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Login {
    /// Whose it is.
    pub(super) name: PrincipalName,
    /// What the account let them do when they logged in.
    pub(super) role: Role,
    /// What names the password's hash that was compared.
    password: Digest,
    /// When they logged in.
    began: Instant,
    /// When it was used last.
    used: Instant,
}

impl Login {
    pub(super) fn new(account: &Account, now: Instant) -> Self {
        let (name, role, password) = (account.name.clone(), account.role, account.password.digest());
        Self { name, role, password, began: now, used: now }
    }

    fn is_over(&self, now: Instant) -> bool {
        now - self.began >= Duration::from_millis(LOGIN_MS_MAX)
            || now.saturating_duration_since(self.used) >= Duration::from_millis(LOGIN_IDLE_MS)
    }

    /// Whether the account still is what it was.
    fn is_of(&self, account: &Account) -> bool {
        !account.disabled && account.role == self.role && account.password.digest() == self.password
    }

    /// How long ago they logged in, and how long ago it was used.
    pub(super) fn ages(&self, now: Instant) -> (Duration, Duration) {
        (now.saturating_duration_since(self.began), now.saturating_duration_since(self.used))
    }

    /// What proves the person to an operation, if they logged in lately.
    pub(super) fn authentication(&self, now: Instant) -> Result<Authentication, Refusal> {
        if now.saturating_duration_since(self.began) >= Duration::from_millis(LOGIN_RECENT_MS) {
            let minutes = LOGIN_RECENT_MS / 60_000;
            let detail = format!("this is for people who logged in less than {minutes} minutes ago");
            return Err(Refusal::new(Code::AuthenticationFailed, detail)
                .next("log in again at /login, and send the same request again"));
        }
        Ok(self.as_proven())
    }

    /// Who asks, for what needs no recent login.
    pub(super) fn as_proven(&self) -> Authentication {
        Authentication::Password { name: self.name.clone(), hash: self.password }
    }
}

/// All logins of this server.
#[derive(Default)]
pub(super) struct Logins(Mutex<BTreeMap<Digest, Login>>);

impl Logins {
    /// Keeps a login. Where there is no room for it, the one that was not used for longest ends: of the same person first.
    pub(super) fn begin(&self, secret: &LoginSecret, login: Login, now: Instant) {
        let mut logins = self.lock();
        logins.retain(|_, login| !login.is_over(now));
        let of_person = logins.values().filter(|other| other.name == login.name).count();
        let makes_room = |other: &Login| of_person < LOGINS_OF_PERSON || other.name == login.name;
        if (of_person >= LOGINS_OF_PERSON || logins.len() >= LOGINS)
            && let Some((oldest, _)) =
                logins.iter().filter(|(_, other)| makes_room(other)).min_by_key(|(_, other)| other.used)
        {
            let oldest = *oldest;
            logins.remove(&oldest);
        }
        logins.insert(secret.hash(), login);
    }

    /// A login that is not over.
    fn find(&self, hash: &Digest, look: Look, now: Instant) -> Option<Login> {
        let mut logins = self.lock();
        if logins.get(hash)?.is_over(now) {
            logins.remove(hash);
            return None;
        }
        let login = logins.get_mut(hash)?;
        if look == Look::Use {
            login.used = now;
        }
        Some(login.clone())
    }

    /// Ends a login.
    pub(super) fn end(&self, hash: &Digest) {
        self.lock().remove(hash);
    }

    /// The logins of a person, by their hashes.
    pub(super) fn of(&self, name: &PrincipalName, now: Instant) -> Vec<(Digest, Login)> {
        let logins = self.lock();
        let own = logins.iter().filter(|(_, login)| login.name == *name && !login.is_over(now));
        own.map(|(hash, login)| (*hash, login.clone())).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Digest, Login>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a request comes with a login, and with no token: who brings both is known by the token.
pub(super) fn is_given(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::AUTHORIZATION) && LoginSecret::read(headers).is_some()
}

/// The login of this hash, if it counts now: its time is not over and the account is as it was.
pub(super) async fn judge(app: &Arc<App>, hash: Digest, look: Look) -> Result<Option<Login>, Refusal> {
    let Some(login) = app.logins.find(&hash, look, Instant::now()) else { return Ok(None) };
    let name = login.name.clone();
    let found = app.blocking(move |app| app.engine.account(&name)).await?;
    let found = found.map_err(|error| app.refusal(Failure::CannotTell(error)))?;
    if found.is_some_and(|account| login.is_of(&account)) {
        return Ok(Some(login));
    }
    app.logins.end(&hash);
    Ok(None)
}

/// Refuses what a page of another site can have sent. A browser says from where a request comes; one that changes something
/// has to come from a page of this server.
pub(super) fn own_pages_only(parts: &Parts) -> Result<(), Refusal> {
    let asks_only = [Method::GET, Method::HEAD].contains(&parts.method);
    let site = parts.headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    let is_own = match site {
        Some(b"same-origin") => true,
        // Typed, or opened from a bookmark.
        Some(b"none") => asks_only,
        Some(_) => false,
        // Which origins may ask was looked at before.
        None => asks_only || parts.headers.contains_key(header::ORIGIN),
    };
    if is_own {
        return Ok(());
    }
    Err(Refusal::new(Code::OriginRefused, "a login counts for pages of this server alone"))
}

/// Refuses a change by a program that does not know what only a page of this server is told.
pub(super) fn check_page(headers: &HeaderMap, secret: &LoginSecret) -> Result<(), Refusal> {
    let given = headers.get(wire::PAGE).map(HeaderValue::as_bytes);
    check_page_word(given.unwrap_or_default(), secret)
}

/// The same for what a form carries.
pub(super) fn check_page_word(given: &[u8], secret: &LoginSecret) -> Result<(), Refusal> {
    if secret.is_page_word(given) {
        return Ok(());
    }
    let detail = format!("a change that comes with a login needs {} as well", wire::PAGE);
    Err(Refusal::new(Code::OriginRefused, detail).next("open the page anew, and send what it carries"))
}

#[cfg(test)]
mod tests {
    use tenure_core::model::time::WallTime;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn account(name: &str) -> Account {
        Account {
            name: name.parse().expect("a name"),
            role: Role::Operator,
            password: "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA".parse().expect("a hash"),
            disabled: false,
            created_at: WallTime(1),
            password_changed_at: WallTime(1),
        }
    }

    fn begun(logins: &Logins, name: &str, now: Instant) -> LoginSecret {
        let secret = LoginSecret::draw().expect("drawn");
        logins.begin(&secret, Login::new(&account(name), now), now);
        secret
    }

    #[test]
    fn a_login_ends_when_it_is_not_used_and_after_a_day_of_work() {
        let (logins, now) = (Logins::default(), Instant::now());
        let secret = begun(&logins, "ada", now);
        let idle = Duration::from_millis(LOGIN_IDLE_MS);
        assert!(logins.find(&secret.hash(), Look::Use, now + idle).is_none(), "not used for so long");
        assert!(logins.find(&secret.hash(), Look::Use, now).is_none(), "it is gone for good");
        let secret = begun(&logins, "ada", now);
        let mut at = now;
        while at + idle / 2 < now + Duration::from_millis(LOGIN_MS_MAX) {
            at += idle / 2;
            assert!(logins.find(&secret.hash(), Look::Use, at).is_some());
        }
        assert!(logins.find(&secret.hash(), Look::Use, now + Duration::from_millis(LOGIN_MS_MAX)).is_none());
        assert!(logins.of(&"ada".parse().expect("a name"), now).is_empty());
    }

    #[test]
    fn what_only_people_may_do_needs_a_recent_login() {
        let now = Instant::now();
        let login = Login::new(&account("ada"), now);
        let recent = Duration::from_millis(LOGIN_RECENT_MS);
        assert!(login.authentication(now + recent - MINUTE).is_ok());
        let refusal = login.authentication(now + recent).expect_err("too old");
        assert_eq!(refusal.code, Code::AuthenticationFailed);
        assert!(refusal.next_actions.iter().any(|step| step.contains("log in again")), "{refusal:?}");
    }

    #[test]
    fn it_ends_with_every_change_of_the_account() {
        let login = Login::new(&account("ada"), Instant::now());
        assert!(login.is_of(&account("ada")));
        assert!(!login.is_of(&Account { disabled: true, ..account("ada") }));
        assert!(!login.is_of(&Account { role: Role::Administrator, ..account("ada") }));
        let password = "$argon2id$v=19$m=8,t=1,p=1$c2FsdB$aGFzaA".parse().expect("a hash");
        assert!(!login.is_of(&Account { password, ..account("ada") }));
    }

    #[test]
    fn who_logs_in_again_and_again_ends_their_own_logins_and_memory_is_bounded() {
        let (logins, now) = (Logins::default(), Instant::now());
        let other = begun(&logins, "bob", now);
        let first = begun(&logins, "ada", now);
        for number in 0..LOGINS_OF_PERSON {
            begun(&logins, "ada", now + Duration::from_millis(number as u64 + 1));
        }
        assert!(logins.find(&first.hash(), Look::Use, now + MINUTE).is_none(), "the one that was used least");
        assert_eq!(logins.of(&"ada".parse().expect("a name"), now).len(), LOGINS_OF_PERSON);
        assert!(
            logins.find(&other.hash(), Look::Use, now + MINUTE).is_some(),
            "another person's is left alone"
        );
        for number in 0..2 * LOGINS {
            begun(&logins, &format!("p{number}"), now);
        }
        assert_eq!(logins.lock().len(), LOGINS);
    }
}
