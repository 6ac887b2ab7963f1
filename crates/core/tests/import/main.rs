//! Real exports against the right answers that a separate script computed (`testdata/beads/README.md`), and hostile
//! ones against the promise that reading and applying them never panics.

mod applying;
mod fleets;
mod hostile;
mod oracle;
mod reading;
mod store;
