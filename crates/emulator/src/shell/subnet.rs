//! Addresses of shells, which nest: each has a separate network, a part of that of the shell in which it was started.
//!
//! ```text
//!     100.64.0.0/10        the first; its outside is 100.64.0.1, its inside 100.64.0.2
//!     100.68.0.0/14        the first that was started inside of it: 100.68.0.1 and 100.68.0.2; the second is 100.72.0.0/14, and so on
//!     100.69.0.0/18        the first inside of that one
//! ```
//!
//! A network is divided into sixteen parts. The first has the shell's own two addresses, the others are for nested shells. IPv6 addresses
//! have the same number at their end, after `fdec::/96`. 100.64.0.0/10 is reserved for shared address space (RFC 6598), fd00::/8 for local
//! networks (RFC 4193).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::address::{AddressFamily, Side};

/// Maximum number of shells that may be started in one at a time.
pub const MAX_CHILDREN_PER_SHELL: u32 = 15;
/// Number of address bits that distinguish them.
const ADDRESS_BITS_PER_LEVEL: u8 = 4;
const MAX_PREFIX_LENGTH: u8 = 30;
const OUTERMOST_SUBNET: ShellSubnet = ShellSubnet { base: 0x6440_0000, length: 10 };
const V6_PREFIX: u128 = 0xfdec << 112;

/// The network of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellSubnet {
    base: u32,
    length: u8,
}

impl ShellSubnet {
    /// Network of a shell that is not nested.
    pub fn outermost() -> ShellSubnet {
        OUTERMOST_SUBNET
    }

    /// Network of the nested shell `number`, from 0; `None` if the nesting is too deep.
    pub fn nested(self, number: u32) -> Option<ShellSubnet> {
        let length = self.length + ADDRESS_BITS_PER_LEVEL;
        (length <= MAX_PREFIX_LENGTH && number < MAX_CHILDREN_PER_SHELL)
            .then(|| ShellSubnet { base: self.base | (number + 1) << (32 - length), length })
    }

    pub fn prefix(self, family: AddressFamily) -> (IpAddr, u8) {
        (self.nth_address(family, 0), if family == AddressFamily::V4 { self.length } else { self.length + 96 })
    }

    /// The address of the client (near side) or of the server (far side).
    pub fn address(self, family: AddressFamily, side: Side) -> IpAddr {
        self.nth_address(family, if side == Side::Far { 1 } else { 2 })
    }

    fn nth_address(self, family: AddressFamily, number: u32) -> IpAddr {
        let bits = self.base + number;
        match family {
            AddressFamily::V4 => IpAddr::V4(Ipv4Addr::from_bits(bits)),
            AddressFamily::V6 => IpAddr::V6(Ipv6Addr::from_bits(V6_PREFIX | u128::from(bits))),
        }
    }
}

impl fmt::Display for ShellSubnet {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}/{}", Ipv4Addr::from_bits(self.base), self.length)
    }
}

impl FromStr for ShellSubnet {
    type Err = String;

    /// Only results of [`ShellSubnet::outermost`] and [`ShellSubnet::nested`].
    fn from_str(text: &str) -> Result<ShellSubnet, String> {
        let parts = text.split_once('/').and_then(|(base, length)| Some((base.parse::<Ipv4Addr>().ok()?, length.parse().ok()?)));
        let subnet = parts.map(|(base, length)| ShellSubnet { base: base.to_bits(), length });
        let known = subnet.filter(|subnet| {
            let mut at = OUTERMOST_SUBNET;
            while at.length < subnet.length.min(MAX_PREFIX_LENGTH) {
                let digit = subnet.base >> (32 - at.length - ADDRESS_BITS_PER_LEVEL) & 0xf;
                let Some(next) = digit.checked_sub(1).and_then(|number| at.nested(number)) else { return false };
                at = next;
            }
            at == *subnet
        });
        known.ok_or_else(|| format!("{text:?} is not a subnet of a shell"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nested_shell_has_part_of_the_outer_subnet() {
        let first = ShellSubnet::outermost();
        let second = first.nested(0).unwrap();
        let third = second.nested(14).unwrap();
        let shown = [first, second, third].map(|subnet| {
            let [inside, outside] = [Side::Near, Side::Far].map(|side| subnet.address(AddressFamily::V4, side).to_string());
            (subnet.to_string(), outside, inside)
        });
        let of = |subnet: &str, outside: &str, inside: &str| (subnet.to_owned(), outside.to_owned(), inside.to_owned());
        assert_eq!(of("100.64.0.0/10", "100.64.0.1", "100.64.0.2"), shown[0]);
        assert_eq!(of("100.68.0.0/14", "100.68.0.1", "100.68.0.2"), shown[1]);
        assert_eq!(of("100.71.192.0/18", "100.71.192.1", "100.71.192.2"), shown[2]);
        assert_eq!("fdec::6440:2", first.address(AddressFamily::V6, Side::Near).to_string());
        assert_eq!(("fdec::6440:0".parse().unwrap(), 106), first.prefix(AddressFamily::V6));
    }

    #[test]
    fn shells_nest_six_deep_at_most() {
        let nested = std::iter::successors(Some(ShellSubnet::outermost()), |subnet| subnet.nested(2));
        assert_eq!(6, nested.count());
        assert_eq!(None, ShellSubnet::outermost().nested(15));
    }

    #[test]
    fn only_subnets_of_shells_are_parsed() {
        for subnet in [
            ShellSubnet::outermost(),
            ShellSubnet::outermost().nested(3).unwrap(),
            ShellSubnet::outermost().nested(14).unwrap().nested(0).unwrap(),
        ] {
            assert_eq!(Ok(subnet), subnet.to_string().parse());
        }
        for text in ["", "100.64.0.0", "10.0.0.0/8", "100.64.0.0/14", "100.64.0.1/10", "100.68.0.0/15", "100.68.0.0/200", "0.0.0.0/0"] {
            assert!(text.parse::<ShellSubnet>().is_err(), "{text}");
        }
    }
}
