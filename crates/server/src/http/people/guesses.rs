//! How often passwords may be guessed: for each name, and in all. Whether there is an account of that name makes no
//! difference.

use std::collections::BTreeMap;

use tenure_core::model::ids::PrincipalName;
use tenure_core::model::limits::{GUESS_MS, GUESS_OF_NAME_MS, GUESSES, GUESSES_OF_NAME};
use tenure_core::secret::digest;

/// From so many names on, those whose guesses have all come back are forgotten.
const NAMES: usize = 1024;

/// What was guessed lately.
#[derive(Default)]
pub(super) struct Guesses {
    all: Bucket,
    /// By a part of the name's hash, so that there is an end to how many there are.
    names: BTreeMap<[u8; 2], Bucket>,
}

/// Guesses that come back one after the other: when the last of them will have.
#[derive(Default, Clone, Copy)]
struct Bucket {
    full_at_ms: u64,
}

impl Bucket {
    /// Takes a guess, or says after how many milliseconds there is one.
    fn take(&mut self, now_ms: u64, (most, every_ms): (u32, u64)) -> Result<(), u64> {
        let full_at_ms = self.full_at_ms.max(now_ms) + every_ms;
        match full_at_ms.checked_sub(now_ms + u64::from(most) * every_ms) {
            None | Some(0) => {
                self.full_at_ms = full_at_ms;
                Ok(())
            }
            Some(wait_ms) => Err(wait_ms),
        }
    }

    fn give_back(&mut self, every_ms: u64) {
        self.full_at_ms = self.full_at_ms.saturating_sub(every_ms);
    }
}

const OF_NAME: (u32, u64) = (GUESSES_OF_NAME, GUESS_OF_NAME_MS);
const OF_ALL: (u32, u64) = (GUESSES, GUESS_MS);

impl Guesses {
    /// Takes a guess of a name's password, or says after how many milliseconds there is one.
    pub(super) fn take(&mut self, name: &PrincipalName, now_ms: u64) -> Result<(), u64> {
        if self.names.len() >= NAMES {
            self.names.retain(|_, bucket| bucket.full_at_ms > now_ms);
        }
        let of_name = self.names.entry(key(name)).or_default();
        of_name.take(now_ms, OF_NAME)?;
        self.all.take(now_ms, OF_ALL).inspect_err(|_| of_name.give_back(OF_NAME.1))
    }

    /// Gives back the guess of who was right.
    pub(super) fn give_back(&mut self, name: &PrincipalName) {
        self.all.give_back(OF_ALL.1);
        if let Some(of_name) = self.names.get_mut(&key(name)) {
            of_name.give_back(OF_NAME.1);
        }
    }
}

fn key(name: &PrincipalName) -> [u8; 2] {
    let [first, second, ..] = digest("tenure guess v1", &[name.as_str().as_bytes()]).0;
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> PrincipalName {
        text.parse().expect("a name")
    }

    #[test]
    fn guesses_of_a_name_run_out_and_come_back_one_by_one() {
        let mut guesses = Guesses::default();
        for _ in 0..GUESSES_OF_NAME {
            assert_eq!(guesses.take(&name("ada"), 0), Ok(()));
        }
        assert_eq!(guesses.take(&name("ada"), 0), Err(GUESS_OF_NAME_MS));
        assert_eq!(guesses.take(&name("bob"), 0), Ok(()), "another name is another matter");
        assert_eq!(guesses.take(&name("ada"), GUESS_OF_NAME_MS - 1), Err(1));
        assert_eq!(guesses.take(&name("ada"), GUESS_OF_NAME_MS), Ok(()));
        assert_eq!(guesses.take(&name("ada"), GUESS_OF_NAME_MS), Err(GUESS_OF_NAME_MS));
    }

    #[test]
    fn who_is_right_may_be_right_as_often_as_they_like() {
        let mut guesses = Guesses::default();
        for _ in 0..100 {
            assert_eq!(guesses.take(&name("ada"), 5), Ok(()));
            guesses.give_back(&name("ada"));
        }
    }

    #[test]
    fn guesses_of_many_names_run_out_too_and_memory_does_not() {
        let mut guesses = Guesses::default();
        let taken = (0..5_000).filter(|n| guesses.take(&name(&format!("n{n}")), 0).is_ok()).count();
        assert_eq!(taken, GUESSES as usize);
        for n in 0..100_000u64 {
            let _ = guesses.take(&name(&format!("m{n}")), n * GUESS_OF_NAME_MS);
        }
        assert!(guesses.names.len() <= NAMES, "{}", guesses.names.len());
    }
}
