//! What a task is to those who want to hold it: one lock whose every grant has the next generation.

use super::{Call, Heard, Span, What};

/// Who has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// It can be had.
    Nobody,
    /// A client, under the present generation.
    Client {
        /// Who.
        name: String,
        /// When its lease ends.
        until: Span,
        /// It was heard that the lease is over. It does not come back.
        over: bool,
    },
    /// It is finished, and is nobody's for ever.
    Finished,
}

/// The lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lock {
    /// The generation of the last grant.
    pub generation: u64,
    /// Who has it.
    pub owner: Owner,
    /// It is not earlier than this.
    pub time: i64,
}

impl Lock {
    /// A lock that nobody ever had.
    #[must_use]
    pub fn new() -> Self {
        Self { generation: 0, owner: Owner::Nobody, time: i64::MIN }
    }

    /// What becomes of the lock if the call happens now, at a moment that is not later than `latest`; nothing if it
    /// cannot happen so.
    #[must_use]
    pub fn after(&self, call: &Call, latest: i64, lease_ms: i64) -> Option<Self> {
        let latest = call.returned.map_or(latest, |returned| latest.min(returned.ms));
        let time = self.time.max(call.invoked.ms);
        if time > latest {
            return None;
        }
        let moment = Self { time, ..self.clone() };
        match (call.what, call.heard) {
            (What::Claim, Heard::Granted(generation, until)) => {
                let next = moment.granted(&call.client, until, latest)?;
                (next.generation == generation).then_some(next)
            }
            (What::Claim, Heard::Unknown) => {
                let until = moment.lapsed(latest)?.time + lease_ms;
                moment.granted(&call.client, Span { from: until, to: i64::MAX }, latest)
            }
            (What::Claim, Heard::Resumed(generation)) => {
                moment.is_held(&call.client, Some(generation)).then_some(moment)
            }
            (What::Claim, Heard::Held) => {
                let others = matches!(&moment.owner, Owner::Client { name, .. } if *name != call.client);
                (others && moment.lives()).then_some(moment)
            }
            (What::Renew(generation), Heard::Renewed(until)) => moment.renewed(call, generation, until),
            (What::Renew(generation), Heard::Unknown) => {
                // It may have happened or not: where the end is open already, that it did allows nothing more.
                let is_open = matches!(moment.owner, Owner::Client { until, .. } if until.to == i64::MAX);
                let by = Span { from: time + lease_ms, to: i64::MAX };
                if is_open { None } else { moment.renewed(call, generation, by) }
            }
            (What::Write(generation), Heard::Done | Heard::Unknown) => {
                moment.is_held(&call.client, generation).then_some(moment)
            }
            (What::Release(generation), Heard::Done | Heard::Unknown) => {
                moment.left(call, generation, Owner::Nobody)
            }
            (What::Close(generation), Heard::Done | Heard::Unknown) => {
                moment.left(call, generation, Owner::Finished)
            }
            (
                What::Renew(generation)
                | What::Write(generation)
                | What::Release(generation)
                | What::Close(generation),
                Heard::Stale,
            ) => moment.stale(call, generation, latest),
            (What::Claim, Heard::Renewed(_) | Heard::Done | Heard::Stale)
            | (What::Renew(_), Heard::Granted(..) | Heard::Resumed(_) | Heard::Done | Heard::Held)
            | (
                What::Write(_) | What::Release(_) | What::Close(_),
                Heard::Granted(..) | Heard::Resumed(_) | Heard::Renewed(_) | Heard::Held,
            ) => panic!("no client hears this: {call}"),
        }
    }

    /// Whether the owner's lease can still live.
    fn lives(&self) -> bool {
        matches!(self.owner, Owner::Client { until, over, .. } if !over && self.time < until.to)
    }

    /// Whether a client can hold it, under this generation if one is named.
    fn is_held(&self, client: &str, generation: Option<u64>) -> bool {
        let theirs = matches!(&self.owner, Owner::Client { name, .. } if name == client);
        theirs && self.lives() && generation.is_none_or(|generation| generation == self.generation)
    }

    /// The lock once its owner's lease can be over.
    fn lapsed(&self, latest: i64) -> Option<Self> {
        match &self.owner {
            Owner::Nobody | Owner::Finished | Owner::Client { over: true, .. } => Some(self.clone()),
            Owner::Client { name, until, over: false } => {
                let time = self.time.max(until.from);
                let owner = Owner::Client { name: name.clone(), until: *until, over: true };
                (time <= latest).then(|| Self { time, owner, ..self.clone() })
            }
        }
    }

    fn granted(&self, client: &str, until: Span, latest: i64) -> Option<Self> {
        let free = self.lapsed(latest)?;
        if free.owner == Owner::Finished {
            return None;
        }
        let owner = Owner::Client { name: client.to_owned(), until, over: false };
        Some(Self { generation: self.generation + 1, owner, time: free.time })
    }

    fn renewed(self, call: &Call, generation: Option<u64>, by: Span) -> Option<Self> {
        if !self.is_held(&call.client, generation) {
            return None;
        }
        let Owner::Client { name, until, over } = self.owner else { return None };
        let until = Span { from: until.from.max(by.from), to: until.to.max(by.to) };
        Some(Self { owner: Owner::Client { name, until, over }, ..self })
    }

    fn left(self, call: &Call, generation: Option<u64>, owner: Owner) -> Option<Self> {
        self.is_held(&call.client, generation).then_some(Self { owner, ..self })
    }

    fn stale(self, call: &Call, generation: Option<u64>, latest: i64) -> Option<Self> {
        let theirs = matches!(&self.owner, Owner::Client { name, .. } if *name == call.client);
        let current = theirs && generation.is_none_or(|generation| generation == self.generation);
        if current { self.lapsed(latest) } else { Some(self) }
    }
}

impl Default for Lock {
    fn default() -> Self {
        Self::new()
    }
}
