//! How often passwords may be guessed: for each name, and in all. Whether there is an account of that name makes no
//! difference.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tenure_core::model::ids::PrincipalName;
use tenure_core::model::limits::{GUESS_MS, GUESS_OF_NAME_MS, GUESSES, GUESSES_OF_NAME};
use tenure_core::secret::digest;

use super::super::bucket::{Bucket, Rate};

/// From so many names on, those whose guesses have all come back are forgotten.
const NAMES: usize = 1024;

/// What was guessed lately.
pub(super) struct Guesses {
    all: Bucket,
    /// By a part of the name's hash, so that there is an end to how many there are.
    names: BTreeMap<[u8; 2], Bucket>,
}

const OF_NAME: Rate = Rate { most: GUESSES_OF_NAME, every: Duration::from_millis(GUESS_OF_NAME_MS) };
const OF_ALL: Rate = Rate { most: GUESSES, every: Duration::from_millis(GUESS_MS) };

impl Guesses {
    /// Nothing was guessed yet.
    pub(super) fn none(now: Instant) -> Self {
        Self { all: Bucket::full(now), names: BTreeMap::new() }
    }

    /// Takes a guess of a name's password, or says after how long there is one.
    pub(super) fn take(&mut self, name: &PrincipalName, now: Instant) -> Result<(), Duration> {
        if self.names.len() >= NAMES {
            self.names.retain(|_, bucket| !bucket.is_full(now));
        }
        let of_name = self.names.entry(key(name)).or_insert_with(|| Bucket::full(now));
        of_name.take(now, OF_NAME)?;
        self.all.take(now, OF_ALL).inspect_err(|_| of_name.give_back(OF_NAME))
    }

    /// Gives back the guess of who was right.
    pub(super) fn give_back(&mut self, name: &PrincipalName) {
        self.all.give_back(OF_ALL);
        if let Some(of_name) = self.names.get_mut(&key(name)) {
            of_name.give_back(OF_NAME);
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
    fn guesses_of_a_name_run_out_and_another_name_is_another_matter() {
        let begun = Instant::now();
        let mut guesses = Guesses::none(begun);
        for _ in 0..GUESSES_OF_NAME {
            assert_eq!(guesses.take(&name("ada"), begun), Ok(()));
        }
        assert_eq!(guesses.take(&name("ada"), begun), Err(OF_NAME.every));
        assert_eq!(guesses.take(&name("bob"), begun), Ok(()));
        assert_eq!(guesses.take(&name("ada"), begun + OF_NAME.every), Ok(()));
    }

    #[test]
    fn who_is_right_may_be_right_as_often_as_they_like() {
        let begun = Instant::now();
        let mut guesses = Guesses::none(begun);
        for _ in 0..100 {
            assert_eq!(guesses.take(&name("ada"), begun), Ok(()));
            guesses.give_back(&name("ada"));
        }
    }

    #[test]
    fn guesses_of_many_names_run_out_too_and_memory_does_not() {
        let begun = Instant::now();
        let mut guesses = Guesses::none(begun);
        let taken = (0..5_000).filter(|n| guesses.take(&name(&format!("n{n}")), begun).is_ok()).count();
        assert_eq!(taken, GUESSES as usize);
        for n in 0..100_000u32 {
            let _ = guesses.take(&name(&format!("m{n}")), begun + OF_NAME.every * n);
        }
        assert!(guesses.names.len() <= NAMES, "{}", guesses.names.len());
    }
}
