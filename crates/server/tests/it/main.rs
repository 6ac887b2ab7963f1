//! The surface as a client meets it: real daemons on real sockets, spoken to in raw HTTP.

mod at_least;
mod daemon;
mod exporting;
mod following;
mod gate;
mod input;
mod lifecycle;
mod patience;
mod shapes;
mod waiting;
mod wire;
