//! Real daemons and real clients under attack.

mod processes;
