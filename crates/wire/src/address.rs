//! Endpoints of packets: an address and a port, or a node and an agent of ns-2.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Address of a source or destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// A node of ns-2.
    Node(u32),
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct End {
    pub address: Address,
    /// TCP's or UDP's port, or the number of ns-2's agent at its node; 0 where a packet has none.
    pub port: u32,
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Address {
        match address {
            IpAddr::V4(address) => Address::V4(address),
            IpAddr::V6(address) => Address::V6(address),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Node(node) => write!(f, "{node}"),
            Address::V4(address) => address.fmt(f),
            Address::V6(address) => address.fmt(f),
        }
    }
}

/// `node.agent` as in ns-2, or `address:port`.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Address::Node(node) => write!(f, "{node}.{}", self.port),
            Address::V4(address) => write!(f, "{address}:{}", self.port),
            Address::V6(address) => write!(f, "[{address}]:{}", self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_reads_as_its_tool_writes_it() {
        let end = |address, port| End { address, port }.to_string();
        assert_eq!("3.0", end(Address::Node(3), 0));
        assert_eq!("10.0.0.1:80", end(Address::V4(Ipv4Addr::new(10, 0, 0, 1)), 80));
        assert_eq!("[fd00::1]:80", end(Address::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1)), 80));
    }
}
