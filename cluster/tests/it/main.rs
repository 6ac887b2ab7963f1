//! What is done to a server really happens to it, and nothing of it is left behind.

mod processes;
