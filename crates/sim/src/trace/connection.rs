//! TCP's header in a capture.
//!
//! The engine counts segments; here numbers are bytes, as the connection's [`Plan`] counts them: each side's SYN is 0, the first byte of data 1,
//! and a FIN takes a number. A full segment carries as much data as a real header leaves of its size on the wire, which is the
//! simulation's: where a scenario counts fewer bytes of headers than there are, it carries so many bytes less.

use std::collections::VecDeque;

use ecnlab_transport::{Plan, Role, Settings};
use ecnlab_units::Time;
use ecnlab_wire::{Flags, SackRuns, Tcp, Timestamps, Version};

use crate::packet::{Packet, PacketKind};
use crate::probe::Made;

/// Headers of IP, by its version, and of TCP without options.
const HEADERS_V4: u32 = 40;
const HEADERS_V6: u32 = 60;
/// The option of RFC 7323, filled up.
const TIMESTAMPS: u32 = 12;
const PICOS_PER_MS: u64 = 1_000_000_000;
/// RFC 7323, section 2.3.
const MOST_SCALE: u8 = 14;
/// Short segments of a connection whose numbers are kept.
const MOST_SHORTS: usize = 1024;

/// What both sides of a connection know and have said.
pub struct Connection {
    /// By how many bytes a full segment carries less than the simulation says.
    cut: u32,
    mss: u16,
    /// The receiver's window, in bytes.
    window: u64,
    scale: u8,
    sack_permitted: bool,
    timestamps: bool,
    /// The clock of the acknowledgement that arrived last; 0 before the first.
    heard: u32,
    /// Whether the sink has closed its side.
    closed: bool,
    /// Segments that were sent and are not full, with their numbers. A DSACK block (RFC 2883) tells of segments that the plan has let go of.
    shorts: VecDeque<(u64, u32)>,
    /// All short segments up to this one have been forgotten.
    forgotten: Option<u64>,
    reports_twice: bool,
}

impl Connection {
    pub fn new(settings: &Settings, version: Version) -> Connection {
        let bare = match version {
            Version::V4 => HEADERS_V4,
            Version::V6 => HEADERS_V6,
        };
        let headers = bare + if settings.timestamps { TIMESTAMPS } else { 0 };
        let cut = headers.saturating_sub(settings.header).min(settings.payload() - 1);
        let mss = settings.payload() - cut;
        let window = settings.max_window.saturating_mul(mss.into());
        let scale = (0..MOST_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(MOST_SCALE);
        Connection {
            cut,
            mss: mss.min(u16::MAX.into()) as u16,
            window,
            scale,
            sack_permitted: settings.recovery.wants_sack(),
            timestamps: settings.timestamps,
            heard: 0,
            closed: false,
            shorts: VecDeque::new(),
            forgotten: None,
            reports_twice: settings.dsack,
        }
    }

    /// Another connection takes the place of this one.
    pub fn begin_anew(&mut self) {
        (self.heard, self.closed, self.forgotten) = (0, false, None);
        self.shorts.clear();
    }

    /// The clock of an acknowledgement that has reached the source.
    pub fn hear(&mut self, clock: u32) {
        self.heard = clock;
    }

    /// The header of a packet that is made, and how many of its `payload` bytes it carries.
    pub fn header(&mut self, now: Time, packet: &Packet, made: &Made, payload: u32) -> (Tcp, u32) {
        let Some(plan) = made.endpoint.plan() else { return (Tcp::default(), payload) };
        let tcp = match packet.kind() {
            PacketKind::Ack => self.of_ack(now, packet, made, plan),
            _ => {
                self.remember(packet.seq, payload, plan);
                self.of_segment(now, packet, plan)
            }
        };
        let tcp = if packet.role() == Role::Syn { self.opening(tcp) } else { tcp };
        (tcp, if payload == plan.full_payload() { payload - self.cut } else { payload })
    }

    fn of_segment(&self, now: Time, packet: &Packet, plan: &Plan) -> Tcp {
        let (seq, role) = (packet.seq, packet.role());
        let flags =
            Flags::default().with(Flags::ACK, role != Role::Syn).with(Flags::SYN, role == Role::Syn).with(Flags::FIN, role == Role::Fin);
        let ack = match role {
            Role::Syn => 0,
            Role::Pure if self.closed => 2,
            _ => 1,
        };
        let timestamps = self.timestamps.then_some(Timestamps { value: clock(now), echo: self.heard });
        let number = if packet.segment().is_probe() { self.number(plan, seq + 1).wrapping_sub(1) } else { self.number(plan, seq) };
        Tcp { seq: number, ack, flags, window: self.shown_window(), timestamps, ..Tcp::default() }
    }

    fn of_ack(&mut self, now: Time, packet: &Packet, made: &Made, plan: &Plan) -> Tcp {
        let (seq, role) = (packet.seq, packet.role());
        let flags = Flags::ACK.with(Flags::SYN, role == Role::Syn).with(Flags::FIN, role == Role::Fin);
        self.closed |= role == Role::Fin;
        let mut sacks = SackRuns::default();
        for &(from, to) in made.sacks.as_slice().iter().filter(|&&(from, _)| self.forgotten.is_none_or(|last| last < from)) {
            sacks.push(self.number(plan, from), self.number(plan, to));
        }
        Tcp {
            seq: u32::from(role != Role::Syn),
            ack: self.number(plan, seq),
            flags,
            window: self.shown_window(),
            timestamps: self.timestamps.then_some(Timestamps { value: clock(now), echo: clock(packet.sent) }),
            sacks,
            ..Tcp::default()
        }
    }

    /// With what the two sides tell each other when the connection opens; a window is not scaled there.
    fn opening(&self, tcp: Tcp) -> Tcp {
        Tcp {
            window: self.window.min(u16::MAX.into()) as u16,
            mss: Some(self.mss),
            window_scale: (self.scale > 0).then_some(self.scale),
            sack_permitted: self.sack_permitted,
            ..tcp
        }
    }

    fn shown_window(&self) -> u16 {
        (self.window >> self.scale).min(u16::MAX.into()) as u16
    }

    /// Keeps the number of a short segment, where an acknowledgement may tell of it, or of one before it, once it is let go of.
    fn remember(&mut self, seq: u64, payload: u32, plan: &Plan) {
        let is_new = self.shorts.back().is_none_or(|&(last, _)| last < seq);
        if !self.reports_twice || !is_new || payload == plan.full_payload() || plan.role(seq) == Role::Syn {
            return;
        }
        if self.shorts.len() == MOST_SHORTS {
            self.forgotten = self.shorts.pop_front().map(|(short, _)| short);
        }
        self.shorts.push_back((seq, self.number(plan, seq)));
    }

    /// The number of a segment's first byte, modulo 2^32.
    fn number(&self, plan: &Plan, seq: u64) -> u32 {
        if plan.role(seq) == Role::Syn {
            return 0;
        }
        // From here to the next short segment all are full.
        let next = self.shorts.partition_point(|&(short, _)| short < seq);
        if let Some(&(short, number)) = self.shorts.get(next) {
            let full = u64::from(plan.full_payload() - self.cut);
            return number.wrapping_sub(((short - seq) * full) as u32);
        }
        let data = plan.bytes_before(seq).saturating_sub(u64::from(self.cut) * plan.full_before(seq));
        (1 + data + u64::from(plan.is_closed_before(seq))) as u32
    }
}

/// The clock of RFC 7323, section 5.4, in milliseconds; it is never 0, which says that nothing was heard.
fn clock(time: Time) -> u32 {
    (time.picos() / PICOS_PER_MS + 1) as u32
}
