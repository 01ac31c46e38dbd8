//! TCP's header and its timestamps (RFC 7323), and UDP's.

use ecnlab_wire::{LENGTH_UDP, protocol};

use super::Malformed;

const SHORTEST_TCP: usize = 20;

/// What IP carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upper {
    Tcp(Tcp),
    Udp {
        ports: (u16, u16),
    },
    Icmp,
    /// A part of a packet that is not its first, of whatever protocol.
    Fragment,
    Other(u8),
}

/// What a TCP header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// The sender's and the receiver's.
    pub ports: (u16, u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: Flags,
    /// The sender's clock (TSval) and what it echoes (TSecr).
    pub timestamps: Option<(u32, u32)>,
}

/// The flags of a TCP header, AccECN's AE included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u16);

impl Flags {
    pub fn fin(self) -> bool {
        self.0 & 0x01 != 0
    }

    pub fn syn(self) -> bool {
        self.0 & 0x02 != 0
    }

    pub fn rst(self) -> bool {
        self.0 & 0x04 != 0
    }

    pub fn ack(self) -> bool {
        self.0 & 0x10 != 0
    }

    pub fn ece(self) -> bool {
        self.0 & 0x40 != 0
    }

    pub fn cwr(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// AE, CWR and ECE as one number, which is what Accurate ECN reads there (RFC 9768, section 3.1).
    pub fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }
}

/// Reads what IP carries: what it is, and how long its own header is. Of a packet in parts this is the first.
pub fn read(protocol: u8, carried: &[u8], fragment: bool) -> Result<(Upper, usize), Malformed> {
    match protocol {
        protocol::TCP => tcp(carried),
        protocol::UDP => udp(carried, fragment),
        protocol::ICMP | protocol::ICMP_V6 => Ok((Upper::Icmp, 0)),
        other => Ok((Upper::Other(other), 0)),
    }
}

fn tcp(carried: &[u8]) -> Result<(Upper, usize), Malformed> {
    let fixed: &[u8; SHORTEST_TCP] = carried.first_chunk().ok_or(Malformed::Transport)?;
    let length = usize::from(fixed[12] >> 4) * 4;
    if length < SHORTEST_TCP || length > carried.len() {
        return Err(Malformed::Transport);
    }
    let number = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
    let tcp = Tcp {
        ports: ports(fixed),
        seq: number(4),
        ack: number(8),
        flags: Flags(u16::from_be_bytes([fixed[12] & 1, fixed[13]])),
        timestamps: timestamps(&carried[SHORTEST_TCP..length]),
    };
    Ok((Upper::Tcp(tcp), length))
}

fn udp(carried: &[u8], fragment: bool) -> Result<(Upper, usize), Malformed> {
    let fixed: &[u8; LENGTH_UDP] = carried.first_chunk().ok_or(Malformed::Transport)?;
    let length = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    // Of a packet in parts it is the length of the whole.
    if length < LENGTH_UDP || (length > carried.len() && !fragment) {
        return Err(Malformed::Transport);
    }
    Ok((Upper::Udp { ports: ports(fixed) }, LENGTH_UDP))
}

fn ports(header: &[u8]) -> (u16, u16) {
    (u16::from_be_bytes([header[0], header[1]]), u16::from_be_bytes([header[2], header[3]]))
}

/// TSval and TSecr. A list of options that makes no sense has none: what a host makes of it is its own affair.
fn timestamps(mut options: &[u8]) -> Option<(u32, u32)> {
    loop {
        match *options {
            [1, ref rest @ ..] => options = rest,
            [8, 10, a, b, c, d, e, f, g, h, ..] => return Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))),
            [kind, length, ..] if kind != 0 && length >= 2 => options = options.get(usize::from(length)..)?,
            _ => return None,
        }
    }
}
