//! Addresses of shells, which nest: each has a network of its own, part of that of the shell in which it was started.
//!
//! ```text
//!     100.64.0.0/10        the first; its outside is 100.64.0.1, its inside 100.64.0.2
//!     100.68.0.0/14        the first that was started inside of it: 100.68.0.1 and 100.68.0.2; the second is 100.72.0.0/14, and so on
//!     100.69.0.0/18        the first inside of that one
//! ```
//!
//! A network is cut into sixteen: the first sixteenth has the shell's own two addresses, the others are for those inside. IPv6's addresses have
//! the same number at their end, behind `fdec::/96`. 100.64.0.0/10 is kept for networks behind others (RFC 6598), fd00::/8 for networks that
//! lead nowhere else (RFC 4193).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::address::{Family, Side};

/// Shells that may be started inside of one at one time.
pub const MOST_INSIDE: u32 = 15;
/// So many bits of an address tell them apart.
const BITS: u8 = 4;
const LONGEST: u8 = 30;
const FIRST: Place = Place { base: 0x6440_0000, length: 10 };
const V6: u128 = 0xfdec << 112;

/// The network of a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    base: u32,
    length: u8,
}

impl Place {
    /// Of a shell that is not inside of another.
    pub fn first() -> Place {
        FIRST
    }

    /// Of the shell `number`, from 0, that is started inside of this one; none if shells are nested too deeply.
    pub fn inside(self, number: u32) -> Option<Place> {
        let length = self.length + BITS;
        (length <= LONGEST && number < MOST_INSIDE).then(|| Place { base: self.base | (number + 1) << (32 - length), length })
    }

    pub fn network(self, family: Family) -> (IpAddr, u8) {
        (self.at(family, 0), if family == Family::V4 { self.length } else { self.length + 96 })
    }

    /// The address of the inside (the near side) or of the outside (the far one).
    pub fn address(self, family: Family, side: Side) -> IpAddr {
        self.at(family, if side == Side::Far { 1 } else { 2 })
    }

    fn at(self, family: Family, number: u32) -> IpAddr {
        let bits = self.base + number;
        match family {
            Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(bits)),
            Family::V6 => IpAddr::V6(Ipv6Addr::from_bits(V6 | u128::from(bits))),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "{}/{}", Ipv4Addr::from_bits(self.base), self.length)
    }
}

impl FromStr for Place {
    type Err = String;

    /// Only what [`Place::first`] and [`Place::inside`] give.
    fn from_str(text: &str) -> Result<Place, String> {
        let parts = text.split_once('/').and_then(|(base, length)| Some((base.parse::<Ipv4Addr>().ok()?, length.parse().ok()?)));
        let place = parts.map(|(base, length)| Place { base: base.to_bits(), length });
        let known = place.filter(|place| {
            let mut at = FIRST;
            while at.length < place.length.min(LONGEST) {
                let digit = place.base >> (32 - at.length - BITS) & 0xf;
                let Some(next) = digit.checked_sub(1).and_then(|number| at.inside(number)) else { return false };
                at = next;
            }
            at == *place
        });
        known.ok_or_else(|| format!("{text:?} is not the network of a shell"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_inside_of_another_has_part_of_its_network() {
        let first = Place::first();
        let second = first.inside(0).unwrap();
        let third = second.inside(14).unwrap();
        let told = [first, second, third].map(|place| {
            let [inside, outside] = [Side::Near, Side::Far].map(|side| place.address(Family::V4, side).to_string());
            (place.to_string(), outside, inside)
        });
        let of = |place: &str, outside: &str, inside: &str| (place.to_owned(), outside.to_owned(), inside.to_owned());
        assert_eq!(of("100.64.0.0/10", "100.64.0.1", "100.64.0.2"), told[0]);
        assert_eq!(of("100.68.0.0/14", "100.68.0.1", "100.68.0.2"), told[1]);
        assert_eq!(of("100.71.192.0/18", "100.71.192.1", "100.71.192.2"), told[2]);
        assert_eq!("fdec::6440:2", first.address(Family::V6, Side::Near).to_string());
        assert_eq!(("fdec::6440:0".parse().unwrap(), 106), first.network(Family::V6));
    }

    #[test]
    fn six_shells_deep_is_the_end() {
        let nested = std::iter::successors(Some(Place::first()), |place| place.inside(2));
        assert_eq!(6, nested.count());
        assert_eq!(None, Place::first().inside(15));
    }

    #[test]
    fn what_is_written_is_read_again_and_nothing_else() {
        for place in [Place::first(), Place::first().inside(3).unwrap(), Place::first().inside(14).unwrap().inside(0).unwrap()] {
            assert_eq!(Ok(place), place.to_string().parse());
        }
        for text in ["", "100.64.0.0", "10.0.0.0/8", "100.64.0.0/14", "100.64.0.1/10", "100.68.0.0/15", "100.68.0.0/200", "0.0.0.0/0"] {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}
