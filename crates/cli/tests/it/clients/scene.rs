//! A server with an administrator, the way to it, and what only an administrator or the server's own machine can see and do.

use serde_json::Value;
use tenure_cluster::Authority;
use tenure_core::server_route::ServerRoute;

use crate::namespace::Network;
use crate::network::{administered, by_ada, founded_on, keep, token_in, using};
use crate::people::Talk;
use crate::place::{Place, until};

/// How a client comes to the tools.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// `tenure mcp`, which uses a server over TLS.
    Pipes,
    /// By HTTP, in the clear on this machine.
    Loopback,
    /// By HTTP over TLS, with an authority that nobody else knows.
    Encrypted,
}

/// A server, and the way to it.
pub struct Scene {
    /// How its tools are reached.
    pub way: Way,
    /// The server's own machine.
    pub host: Place,
    /// Where it listens.
    pub url: String,
    /// Who has signed its certificate.
    pub authority: Authority,
    /// The network that clients are in, if that is not the server's.
    pub elsewhere: Option<Network>,
    _server: Talk,
}

/// A token, and how it is named where it is revoked.
pub struct Pass {
    /// The token.
    pub token: String,
    /// The workstation that keeps it, for `tenure mcp`.
    pub work: Place,
    id: String,
}

impl Scene {
    /// Starts a server.
    pub fn begin(way: Way) -> Self {
        let authority = Authority::new().expect("openssl");
        let (host, server, url) = match way {
            Way::Loopback => founded_on(Place::new(), "--listen 127.0.0.1:0"),
            Way::Pipes | Way::Encrypted => administered(&authority),
        };
        // The story begins where there is nothing to do.
        host.ok("lead", &["claim", "afc-1"]);
        host.ok("lead", &["close", "--note", "done"]);
        Self::of(way, (host, server, url), authority, None)
    }

    /// A server that is there, and where its clients are.
    pub fn of(
        way: Way,
        served: (Place, Talk, String),
        authority: Authority,
        elsewhere: Option<Network>,
    ) -> Self {
        let (host, server, url) = served;
        Self { way, host, url, authority, elsewhere, _server: server }
    }

    /// A token of a new machine, kept on a workstation that uses this server.
    pub fn pass(&self, machine: &str) -> Pass {
        let words = format!("token create {machine} --kind machine --reason story");
        let token = token_in(&by_ada(&self.host, &words));
        let mut work = using(&self.url, &self.authority);
        work.network.clone_from(&self.elsewhere);
        keep(&work, &token);
        let listed = self.host.json("lead", &["whoami"]);
        assert!(listed.is_object(), "{listed}");
        let id = work.json("", &["whoami"])["token"]["token"].as_str().map(str::to_owned);
        Pass { token, work, id: id.expect("an id") }
    }

    /// Revokes a token.
    pub fn revoke(&self, pass: &Pass) {
        by_ada(&self.host, &format!("token revoke {} --reason story", pass.id));
    }

    /// Waits until so many requests wait at the server.
    pub fn until_waiting(&self, wanted: u64) {
        until("as many wait as were asked for", || {
            let info = self.host.client().get(ServerRoute::Info.path()).expect("it answers");
            let info: Value = serde_json::from_slice(&info).expect("JSON");
            info["waiting"] == wanted
        });
    }
}
