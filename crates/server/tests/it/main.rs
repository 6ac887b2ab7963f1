//! The surface as a client meets it: real daemons on real sockets, spoken to in raw HTTP.

mod at_least;
mod browser;
mod daemon;
mod door;
mod exporting;
mod following;
mod gate;
mod input;
mod lifecycle;
mod limits;
mod network;
mod patience;
mod permissions;
mod shapes;
mod tls;
mod tokens;
mod tool_permissions;
mod tools;
mod waiting;
mod wire;
