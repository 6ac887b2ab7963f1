//! What the network needs in a test: addresses that nobody else has, and connections to them.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tenure_server::daemon::network::Network;

use crate::daemon::Served;
use crate::wire::{Answer, Request};

/// A network of a port that is free on this machine, whose proxy is this machine as well.
pub fn loopback() -> Network {
    Network {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        proxies: vec!["127.0.0.1".parse().expect("an address")],
        ..Network::default()
    }
}

impl Served {
    pub fn address(&self) -> SocketAddr {
        let (_, address) = self.urls[0].split_once("://").expect("a URL");
        address.parse().expect("an address")
    }

    /// A connection by the network.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream
    }

    /// Asks by the network, as somebody behind the proxy of [`loopback`].
    pub fn ask_from(&self, client: &str, request: Request) -> Answer {
        request.header("X-Forwarded-For", client).send_by(&mut self.connect())
    }

    /// Sends these bytes by the network, and returns all that comes back until the connection ends.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        std::io::Write::write_all(&mut stream, bytes).expect("sent");
        everything(&mut stream)
    }
}

/// All that comes until the other end is done, however it ends.
pub fn everything(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8(bytes).expect("text")
}
