//! Link-layer headers before the IP header: the link types of captures (tcpdump.org, "Link-layer header types").

use super::Bytes;

/// Kind of link-layer header of an interface's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Four bytes with the number of an address family, in the byte order of the host or of the network.
    Null,
    Ethernet,
    /// None: IPv4 or IPv6, as the packet says itself.
    Raw,
    /// Linux' "cooked" captures of all interfaces at once.
    LinuxSll,
    LinuxSll2,
}

/// Ethernet's numbers of protocols.
const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const VLAN_ETHERTYPES: [u16; 3] = [0x8100, 0x88a8, 0x9100];

impl LinkType {
    /// `None` for what is not read here.
    pub fn of(number: u16) -> Option<LinkType> {
        match number {
            0 | 108 => Some(LinkType::Null),
            1 => Some(LinkType::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(LinkType::Raw),
            113 => Some(LinkType::LinuxSll),
            276 => Some(LinkType::LinuxSll2),
            _ => None,
        }
    }

    /// How many bytes stand before the IP header; `None` if what follows is not IP, or was not kept.
    pub fn ip_header_offset(self, packet: Bytes) -> Option<usize> {
        match self {
            LinkType::Null => Some(4),
            LinkType::Raw => Some(0),
            LinkType::Ethernet => ip_offset_after_vlan_tags(packet, 12),
            LinkType::LinuxSll => ip_offset_after_vlan_tags(packet, 14),
            LinkType::LinuxSll2 => is_ip_ethertype(packet.u16(0)?).then_some(20),
        }
    }
}

/// Passes over VLAN_ETHERTYPES tags of four bytes each, from where the protocol's number stands.
fn ip_offset_after_vlan_tags(packet: Bytes, mut at: usize) -> Option<usize> {
    let mut number = packet.u16(at)?;
    while VLAN_ETHERTYPES.contains(&number) {
        at += 4;
        number = packet.u16(at)?;
    }
    is_ip_ethertype(number).then_some(at + 2)
}

fn is_ip_ethertype(number: u16) -> bool {
    matches!(number, ETHERTYPE_IPV4 | ETHERTYPE_IPV6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_virtual_lans_are_passed_over() {
        let mut frame = [0; 26];
        frame[12..14].copy_from_slice(&[0x88, 0xa8]);
        frame[16..18].copy_from_slice(&[0x81, 0x00]);
        frame[20..22].copy_from_slice(&[0x86, 0xdd]);
        assert_eq!(Some(22), LinkType::Ethernet.ip_header_offset(Bytes(&frame)));
        assert_eq!(None, LinkType::Ethernet.ip_header_offset(Bytes(&frame[..18])));
    }

    #[test]
    fn address_resolution_is_no_ip() {
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(None, LinkType::Ethernet.ip_header_offset(Bytes(&frame)));
    }
}
