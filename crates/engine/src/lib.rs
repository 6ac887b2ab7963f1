//! What happens: the store, the writer, and the fleet's own time.

pub mod store;
