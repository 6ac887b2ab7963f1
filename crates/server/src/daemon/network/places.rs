//! How many connections each caller has: nobody takes the places of all others.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// The places of all callers.
pub(super) struct Places {
    most: usize,
    taken: Mutex<BTreeMap<IpAddr, usize>>,
}

/// A place that is free again when this is dropped.
pub(super) struct Place {
    places: Arc<Places>,
    caller: IpAddr,
}

impl Places {
    /// So many for each caller.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// A place for one more connection of this caller, if it has one left.
    pub(super) fn take(self: &Arc<Self>, caller: IpAddr) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(caller).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), caller })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_has_so_many_places_and_gets_them_back() {
        let places = Places::new(2);
        let callers: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().expect("an address"));
        let first = places.take(callers[0]).expect("a place");
        let _second = places.take(callers[0]).expect("a place");
        assert!(places.take(callers[0]).is_none());
        assert!(places.take(callers[1]).is_some(), "another caller");
        drop(first);
        assert!(places.take(callers[0]).is_some());
        assert_eq!(places.taken.lock().expect("no panic").len(), 1, "who has none is forgotten");
    }
}
