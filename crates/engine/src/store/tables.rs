//! The tables that hold what the fleet knows. Beside them there are only indexes of theirs: labels, completions and words
//! are written with the rows that they follow from (`flush`, `fill`), each database's in its own way.

use tenure_core::model::account::Account;
use tenure_core::model::attempt::{Attempt, Entry};
use tenure_core::model::dependency::Dependency;
use tenure_core::model::event::Receipt;
use tenure_core::model::project::{Binding, Project, Tally};
use tenure_core::model::reporter::Reporter;
use tenure_core::model::session::{Principal, Served, Session};
use tenure_core::model::task::{Alias, Blocker, Body, Task};
use tenure_core::model::token::TokenRecord;

use super::rows::Stored;
use super::shape::Shape;
use super::{event, fleet};

/// All of them, each after those that its rows refer to.
#[must_use]
pub fn all() -> [&'static Shape; 19] {
    [
        fleet::shape(),
        Principal::shape(),
        Account::shape(),
        TokenRecord::shape(),
        Session::shape(),
        Project::shape(),
        Binding::shape(),
        Tally::shape(),
        Served::shape(),
        Task::shape(),
        Body::shape(),
        Alias::shape(),
        Dependency::shape(),
        Blocker::shape(),
        Attempt::shape(),
        Reporter::shape(),
        Entry::shape(),
        event::shape(),
        Receipt::shape(),
    ]
}

/// The indexes of them that are tables of their own.
pub const FOLLOWING: [&str; 4] = ["label", "completion", "passage", "passage_words"];
