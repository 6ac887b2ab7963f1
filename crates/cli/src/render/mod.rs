//! Answers as people read them. What programs read is the answer itself, with `--json`.

mod account;
mod commits;
mod digest;
#[cfg(test)]
mod hostile;
mod list;
mod ownership;
mod page;
pub mod plain;
mod record;
mod search;
mod task;
pub mod time;
mod token;
mod typed;
mod whoami;
pub mod wrap;

pub use page::{Page, brief, cut};
pub use typed::Typed;

/// An answer that can be shown to a person.
pub trait Show {
    /// Writes it on a page, in less than two kilobytes unless it carries somebody's text.
    fn show(&self, page: &mut Page);
}

/// Who did what nobody asked for. No name has such signs, so nobody can be taken for it.
const COORDINATOR: &str = "(coordinator)";

/// Names joined by commas.
pub fn joined<T: ToString>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
