//! Looking for text: how a text is cut into words, what a query asks for, and the part of a text that answers it.
//!
//! All of it is pure and the same for every database: an index is given [`words::folded`] words and not texts, so that
//! what is found does not depend on which database looks, and a hit is marked by the same rule that found it.

pub mod excerpt;
pub mod query;
pub mod words;
