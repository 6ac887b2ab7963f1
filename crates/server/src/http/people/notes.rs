//! Who was authenticated and who was refused, counted until it is recorded.

use std::collections::BTreeMap;

use tenure_core::model::ids::PrincipalName;
use tenure_core::model::limits::AUTHENTICATIONS_MS;

/// Whether somebody proved to be who they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// They did.
    Proven,
    /// They did not.
    Refused,
}

/// What was not recorded yet, for each account, and for all names that have none. Whoever was refused is not kept waiting
/// by whoever was not.
#[derive(Default)]
pub(super) struct Notes(BTreeMap<(Option<PrincipalName>, Told), Note>);

#[derive(Default)]
struct Note {
    count: u64,
    /// When it was recorded last.
    recorded_ms: Option<u64>,
    /// Whether somebody will record it.
    is_expected: bool,
}

impl Notes {
    /// Counts one more. Says after how many milliseconds the caller records it, if it is the caller who does.
    pub(super) fn count(&mut self, name: Option<PrincipalName>, told: Told, now_ms: u64) -> Option<u64> {
        let note = self.0.entry((name, told)).or_default();
        note.count += 1;
        if std::mem::replace(&mut note.is_expected, true) {
            return None;
        }
        let due = note.recorded_ms.map_or(now_ms, |recorded| recorded + AUTHENTICATIONS_MS);
        Some(due.saturating_sub(now_ms))
    }

    /// Takes what is to be recorded now: how often it happened.
    pub(super) fn take(&mut self, name: &Option<PrincipalName>, told: Told, now_ms: u64) -> u64 {
        let Some(note) = self.0.get_mut(&(name.clone(), told)) else { return 0 };
        note.is_expected = false;
        note.recorded_ms = Some(now_ms);
        std::mem::take(&mut note.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_recorded_at_once_and_the_others_together_later() {
        let mut notes = Notes::default();
        let ada: Option<PrincipalName> = Some("ada".parse().expect("a name"));
        assert_eq!(notes.count(ada.clone(), Told::Refused, 1_000), Some(0));
        assert_eq!(notes.take(&ada, Told::Refused, 1_000), 1);
        assert_eq!(notes.count(ada.clone(), Told::Refused, 2_000), Some(AUTHENTICATIONS_MS - 1_000));
        for now in 3_000..4_000 {
            assert_eq!(notes.count(ada.clone(), Told::Refused, now), None, "somebody will");
        }
        assert_eq!(notes.count(None, Told::Refused, 5_000), Some(0), "names without an account are one");
        assert_eq!(notes.take(&ada, Told::Refused, 61_000), 1_001);
        assert_eq!(notes.take(&ada, Told::Refused, 61_000), 0);
    }

    #[test]
    fn who_is_refused_is_recorded_at_once_also_after_somebody_was_right() {
        let mut notes = Notes::default();
        let ada: Option<PrincipalName> = Some("ada".parse().expect("a name"));
        assert_eq!(notes.count(ada.clone(), Told::Proven, 1_000), Some(0));
        assert_eq!(notes.take(&ada, Told::Proven, 1_000), 1);
        assert_eq!(notes.count(ada.clone(), Told::Refused, 1_001), Some(0));
        assert_eq!(notes.take(&ada, Told::Refused, 1_001), 1);
    }
}
