//! The rules as callers meet them, on a store that is nothing but the working set itself.

mod accounts;
mod attention;
mod cancelling;
mod choice;
mod claims;
mod coverage;
mod deadlock;
mod interventions;
mod oracle;
mod pages;
mod places;
mod policy;
mod random;
mod readiness;
mod refusals;
mod reporters;
mod sessions;
mod tokens;
mod waiting;
mod world;
