//! What agents are offered as tools. All operations of an agent are; a model pays for each description in every conversation,
//! so by default it sees those of the loop alone.

use super::{Operation, ownership, queue, search, session, task};
use crate::model::text_enum::text_enum;

text_enum! {
    /// Which tools are offered.
    Profile {
        /// Those of the loop.
        Default = "default",
        /// Every operation of an agent.
        Full = "full",
    }
}

/// The operations of the loop, in the order in which an agent meets them.
pub const LOOP: [&str; 15] = [
    session::OpenSession::SPEC.name,
    queue::Next::SPEC.name,
    queue::Ready::SPEC.name,
    ownership::Claim::SPEC.name,
    ownership::Heartbeat::SPEC.name,
    ownership::WriteNote::SPEC.name,
    ownership::WriteCheckpoint::SPEC.name,
    ownership::Dispose::SPEC.name,
    ownership::Close::SPEC.name,
    ownership::HandOff::SPEC.name,
    ownership::Release::SPEC.name,
    task::ShowTask::SPEC.name,
    task::CreateTask::SPEC.name,
    queue::Explain::SPEC.name,
    search::Search::SPEC.name,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::catalog::entries;

    #[test]
    fn the_loop_is_a_few_operations_of_agents() {
        assert!((10..=16).contains(&LOOP.len()));
        let entries = entries();
        for (place, name) in LOOP.iter().enumerate() {
            let entry = entries.iter().find(|entry| entry.spec.name == *name).expect("an operation");
            assert!(entry.spec.is_for_agents(), "{name}");
            assert!(!LOOP[..place].contains(name), "{name} stands twice");
        }
    }
}
