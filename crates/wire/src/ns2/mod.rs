//! ns-2's trace lines (the ns Manual, "Trace and Monitoring Support", and what ns-2.35 prints).
//!
//! ```text
//! what time     from to type size flags   fid source  destination seq id
//! r    1.355637 1    2  tcp  1040 ---AE-N 3   0.0     2.0         18  68
//!                                                                       ack flags header SACK blocks
//!                                    with `Trace set show_tcphdr_ 1`:   0   0x10  40     0
//! ```
//!
//! Time is in seconds, rounded to a microsecond by ns-2; source and destination are node and agent. The flags are
//!
//! ```text
//! C------  ECN-Echo                    ---A---  congestion action: the window was reduced (CWR)
//! ----E--  congestion experienced      ------N  ECN-capable transport
//! -P-----  priority                    -----F-  fast start
//! ```
//!
//! One-way agents number packets, FullTcp bytes. An acknowledgement of a one-way sink shows in `seq` the last packet that it acknowledges;
//! here [`Tcp::ack`](crate::Tcp::ack) is the next one, as in TCP's header. ns-2 shows the codepoints Not-ECT, ECT and CE: ECT is read as ECT(0).

mod number;
pub(crate) mod read;
mod text;
mod write;

pub use write::{NS2_TIME_DECIMALS, PICOSECOND_DECIMALS, PacketLines, write_line};

use crate::event::Kind;

/// ns-2's packet types (`packet.h`); every other is [`Kind::Other`].
const PACKET_TYPES: [(&str, Kind); 14] = [
    ("tcp", Kind::Data),
    ("ack", Kind::Ack),
    ("cbr", Kind::Datagram),
    ("udp", Kind::Datagram),
    ("exp", Kind::Datagram),
    ("pareto", Kind::Datagram),
    ("rtp", Kind::Datagram),
    ("audio", Kind::Datagram),
    ("video", Kind::Datagram),
    ("message", Kind::Datagram),
    ("tcpFriend", Kind::Datagram),
    ("http", Kind::Data),
    ("ftp", Kind::Data),
    ("telnet", Kind::Data),
];

/// Positions and letters in the column of flags.
const ECE_POSITION_AND_LETTER: (usize, u8) = (0, b'C');
const CWR_POSITION_AND_LETTER: (usize, u8) = (3, b'A');
const CE_POSITION_AND_LETTER: (usize, u8) = (4, b'E');
const ECT_POSITION_AND_LETTER: (usize, u8) = (6, b'N');
