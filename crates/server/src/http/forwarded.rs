//! Whose request it is when a proxy stands between: the last hop that no trusted proxy vouches for.
//!
//! `X-Forwarded-For` is believed, and only from proxies that were named. `Forwarded` is not looked at: a proxy that does
//! not write it passes on what a caller wrote there.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::HeaderMap;

/// What proxies add to: who asked them, the last at the end.
const FORWARDED_FOR: &str = "X-Forwarded-For";

/// Addresses that begin alike: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    first: IpAddr,
    bits: u32,
}

impl FromStr for Block {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = "it is no address such as 10.0.0.7, or block such as 10.0.0.0/8";
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| rule)?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), str::parse).map_err(|_| rule)?;
        if bits > all {
            return Err(rule);
        }
        Ok(Self { first: cut(address, bits), bits })
    }
}

impl Block {
    fn has(&self, address: IpAddr) -> bool {
        self.first.is_ipv4() == address.is_ipv4() && cut(address, self.bits) == self.first
    }
}

/// An address whose bits but for the first so many are zero.
fn cut(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            IpAddr::from((u32::from(address) & u32::MAX.checked_shl(32 - bits).unwrap_or(0)).to_be_bytes())
        }
        IpAddr::V6(address) => {
            IpAddr::from((u128::from(address) & u128::MAX.checked_shl(128 - bits).unwrap_or(0)).to_be_bytes())
        }
    }
}

/// What one caller can be told apart by: an IPv4 address, or the network of an IPv6 one, since a machine has all of it.
#[must_use]
pub fn caller(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => cut(address.into(), 64),
    }
}

/// The proxies that are believed.
#[derive(Debug, Clone, Default)]
pub struct Proxies(Vec<Block>);

impl Proxies {
    /// These and no others.
    #[must_use]
    pub fn new(blocks: Vec<Block>) -> Self {
        Self(blocks)
    }

    /// Whether what stands at this address is believed.
    #[must_use]
    pub fn has(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|block| block.has(address))
    }

    /// Whose request it is that came from this address: the last hop that is no trusted proxy.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let told = headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
        let hops: Vec<&str> = told.flat_map(|value| value.split(',')).map(str::trim).collect();
        for hop in hops.into_iter().rev() {
            if !self.has(client) {
                break;
            }
            // What is no address tells nothing, and neither does what stands before it.
            let Some(address) = address(hop) else { break };
            client = address.to_canonical();
        }
        client
    }
}

/// An address as proxies write it: some with a port.
fn address(hop: &str) -> Option<IpAddr> {
    let bare = hop.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(hop);
    bare.parse().ok().or_else(|| Some(hop.parse::<SocketAddr>().ok()?.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, told: &[&str]) -> String {
        let proxies = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"].map(|text| text.parse().expect("a block"));
        let proxies = Proxies::new(proxies.to_vec());
        let mut headers = HeaderMap::new();
        for value in told {
            headers.append(FORWARDED_FOR, value.parse().expect("a header"));
        }
        proxies.client(peer.parse().expect("an address"), &headers).to_string()
    }

    #[test]
    fn the_last_hop_that_no_trusted_proxy_vouches_for_is_the_client() {
        assert_eq!(client("192.0.2.1", &["198.51.100.1"]), "192.0.2.1", "no proxy of ours");
        assert_eq!(client("127.0.0.1", &[]), "127.0.0.1");
        assert_eq!(client("127.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &["1.2.3.4, 198.51.100.1"]), "198.51.100.1", "it says what it likes");
        assert_eq!(client("127.0.0.1", &["1.2.3.4, 198.51.100.1, 10.9.9.9"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &["1.2.3.4", "198.51.100.1", "10.9.9.9"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1", &["10.1.1.1, 10.2.2.2"]), "10.1.1.1", "all are ours");
        assert_eq!(client("127.0.0.1", &["1.2.3.4, unknown"]), "127.0.0.1");
        assert_eq!(client("::ffff:127.0.0.1", &["[2001:db8::1]:443"]), "2001:db8::1");
        assert_eq!(client("fd00::7", &["192.0.2.9:1234"]), "192.0.2.9");
    }

    #[test]
    fn blocks_are_bits_of_one_kind_of_address() {
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "a"] {
            assert!(wrong.parse::<Block>().is_err(), "{wrong}");
        }
        let all: Block = "0.0.0.0/0".parse().expect("a block");
        assert!(all.has([1, 2, 3, 4].into()) && !all.has("::1".parse().expect("an address")));
        assert_eq!("10.1.2.3/8".parse::<Block>(), "10.0.0.0/8".parse());
        assert_eq!(caller("2001:db8::1".parse().expect("one")), caller("2001:db8::2".parse().expect("one")));
    }
}
