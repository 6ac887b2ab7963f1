//! Hashing passwords: slow on purpose, so only a few at once, and only a few wait.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use argon2::password_hash::phc;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use tenure_core::model::account::PasswordHash;
use tenure_core::model::limits::{PASSWORDS_AT_ONCE, PASSWORDS_WAITING};
use tenure_core::model::refusal::{Code, Refusal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::app::App;

/// What a hash costs: 19 MiB and two passes.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// A hash that costs more than this was not made here, and is no password's.
const MEMORY_KIB_MAX: u32 = 256 * 1024;
const PASSES_MAX: u32 = 64;

/// The turns that passwords are hashed in.
pub(super) struct Hashing {
    turns: Arc<Semaphore>,
    places: Arc<Semaphore>,
    count: Arc<AtomicU64>,
    /// What a password is compared with where there is none.
    nobody: Arc<OnceLock<PasswordHash>>,
}

impl Default for Hashing {
    fn default() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(PASSWORDS_AT_ONCE)),
            places: Arc::new(Semaphore::new(PASSWORDS_AT_ONCE + PASSWORDS_WAITING)),
            count: Arc::default(),
            nobody: Arc::default(),
        }
    }
}

impl Hashing {
    /// How many passwords were hashed or compared so far.
    #[cfg(test)]
    pub(super) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Takes so many places of those who wait.
    #[cfg(test)]
    pub(super) fn turns_taken(&self, count: usize) -> OwnedSemaphorePermit {
        let count = u32::try_from(count).expect("a small number");
        self.places.clone().try_acquire_many_owned(count).expect("nobody else is here")
    }

    /// Waits for a turn, if not too many do.
    async fn turn(&self) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), Refusal> {
        let full = |_| {
            Refusal::new(Code::Overloaded, "too many passwords are compared at once")
                .next("type it again in a moment")
        };
        let place = self.places.clone().try_acquire_owned().map_err(full)?;
        let turn = self.turns.clone().acquire_owned().await.expect("nobody closes it");
        Ok((place, turn))
    }

    /// Hashes a password. The turn ends with the work, also when the caller has left before.
    pub(super) async fn hash(&self, app: &Arc<App>, password: String) -> Result<PasswordHash, Refusal> {
        let turn = self.turn().await?;
        let count = self.count.clone();
        app.blocking(move |_| {
            count.fetch_add(1, Relaxed);
            let hash = new_hash(password.as_bytes());
            drop(turn);
            hash
        })
        .await?
        .ok_or_else(failed)
    }

    /// Whether a password is the one of a hash. Where there is no hash it costs the same, and the answer is no.
    pub(super) async fn is_password_of(
        &self,
        app: &Arc<App>,
        password: &str,
        hash: Option<PasswordHash>,
    ) -> Result<bool, Refusal> {
        let turn = self.turn().await?;
        let (count, nobody, password) = (self.count.clone(), self.nobody.clone(), password.to_owned());
        app.blocking(move |_| {
            count.fetch_add(1, Relaxed);
            let is_somebody = hash.is_some();
            let hash = hash.or_else(|| nobody_of(&nobody));
            let matches = hash.is_some_and(|hash| compare(password.as_bytes(), &hash));
            drop(turn);
            matches && is_somebody
        })
        .await
    }

    /// Whether a hash has another cost than hashes have now.
    pub(super) fn is_outdated(&self, hash: &PasswordHash) -> bool {
        cost(hash) != Some((MEMORY_KIB, PASSES, LANES))
    }
}

/// Drawn once: what it is made of, nobody knows.
fn nobody_of(nobody: &OnceLock<PasswordHash>) -> Option<PasswordHash> {
    if let Some(hash) = nobody.get() {
        return Some(hash.clone());
    }
    let mut password = [0; 32];
    getrandom::fill(&mut password).ok()?;
    let hash = new_hash(&password)?;
    Some(nobody.get_or_init(|| hash).clone())
}

fn hasher() -> Option<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).ok()?;
    Some(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn new_hash(password: &[u8]) -> Option<PasswordHash> {
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).ok()?;
    let hash: phc::PasswordHash = hasher()?.hash_password_with_salt(password, &salt).ok()?;
    hash.to_string().parse().ok()
}

fn compare(password: &[u8], hash: &PasswordHash) -> bool {
    let is_ours =
        cost(hash).is_some_and(|(memory, passes, _)| memory <= MEMORY_KIB_MAX && passes <= PASSES_MAX);
    let (Some(hasher), Ok(hash)) = (hasher(), phc::PasswordHash::new(hash.as_str())) else { return false };
    is_ours && hasher.verify_password(password, &hash).is_ok()
}

/// Memory in KiB, passes and lanes of a hash.
fn cost(hash: &PasswordHash) -> Option<(u32, u32, u32)> {
    let hash = phc::PasswordHash::new(hash.as_str()).ok()?;
    let params = Params::try_from(&hash).ok()?;
    Some((params.m_cost(), params.t_cost(), params.p_cost()))
}

fn failed() -> Refusal {
    Refusal::new(Code::CannotTell, "the password could not be hashed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_another_hash_each_time_and_is_known_by_each() {
        let (first, second) =
            (new_hash(b"correct horse").expect("a hash"), new_hash(b"correct horse").expect("a hash"));
        assert_ne!(first, second);
        assert!(first.as_str().starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", first.as_str());
        assert!(compare(b"correct horse", &first) && compare(b"correct horse", &second));
        assert!(!compare(b"correct horsf", &first) && !compare(b"", &first));
    }

    #[test]
    fn a_hash_of_another_cost_is_known_and_outdated_unless_it_is_absurd() {
        let cheap: PasswordHash = {
            let hasher =
                Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(8, 1, 1, None).expect("a cost"));
            let hash: phc::PasswordHash =
                hasher.hash_password_with_salt(b"correct horse", &[7; 16]).expect("a hash");
            hash.to_string().parse().expect("a hash")
        };
        assert!(compare(b"correct horse", &cheap) && Hashing::default().is_outdated(&cheap));
        assert!(!Hashing::default().is_outdated(&new_hash(b"x").expect("a hash")));
        let absurd = cheap.as_str().replace("m=8", "m=4194304").parse().expect("a hash");
        assert!(!compare(b"correct horse", &absurd));
    }
}
