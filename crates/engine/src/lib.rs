//! What happens: the store, the writer, and the fleet's own time.

mod admission;
pub mod clock;
pub mod execute;
pub mod store;
