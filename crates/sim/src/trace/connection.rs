//! TCP's header in a capture.
//!
//! The engine counts segments; here numbers are bytes, as the connection's [`Plan`] counts them: each side's SYN is 0, the first byte of data 1,
//! and a FIN takes a number. A full segment carries as much data as a real header leaves of its size on the wire, which is the
//! simulation's: where a scenario counts fewer bytes of headers than there are, it carries so many bytes less.
//! Where acknowledgements ride on data, two flows are one connection: each packet has the number of the one direction and acknowledges the other.

use std::collections::VecDeque;

use ecnlab_transport::{Ack, Plan, Role, Settings, receiver};
use ecnlab_units::Time;
use ecnlab_wire::{Flags, SackRuns, Tcp, Timestamps, Version};

use crate::packet::{Packet, PacketKind};
use crate::probe::{Made, Twin};

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
    /// The MSS option of a SYN.
    mss: u16,
    /// The receiver's window in bytes, where acknowledgements do not tell it.
    window: u64,
    scale: u8,
    sack_permitted: bool,
    timestamps: bool,
    /// The clock of the acknowledgement that arrived last; 0 before the first.
    heard: u32,
    /// One past the highest segment that has come into the network.
    high: u64,
    /// Whether the sink's last acknowledgement echoed a mark.
    echoes: bool,
    /// Whether the sink has closed its side.
    closed: bool,
    /// Segments that were sent and are not full, with their numbers. A DSACK block (RFC 2883) tells of segments that the plan has let go of.
    shorts: VecDeque<(u64, u32)>,
    /// All short segments up to this one have been forgotten.
    forgotten: Option<u64>,
    reports_twice: bool,
}

/// What the other direction of a connection says in a packet of this one.
#[derive(Clone, Copy)]
pub struct OtherWay {
    /// The number of what its sender sends next.
    sends: u32,
    /// The number that its sink expects.
    expects: u32,
    /// Its sink's last acknowledgement echoed a mark.
    echoes: bool,
    /// The blocks that its sink reports.
    sacks: SackRuns,
}

impl Connection {
    pub fn new(settings: &Settings, version: Version) -> Connection {
        let bare = match version {
            Version::V4 => HEADERS_V4,
            Version::V6 => HEADERS_V6,
        };
        let headers = bare + if settings.timestamps { TIMESTAMPS } else { 0 };
        let cut = headers.saturating_sub(settings.header).min(settings.payload() - 1);
        let payload = settings.payload() - cut;
        let (window, scale) = windows(settings, payload);
        // TCP's options do not count (RFC 6691, section 2).
        let mss = settings.packet_size.saturating_sub(bare).max(payload);
        Connection {
            cut,
            mss: mss.min(u16::MAX.into()) as u16,
            window,
            scale,
            sack_permitted: settings.offers_sack(),
            timestamps: settings.timestamps,
            heard: 0,
            high: 0,
            echoes: false,
            closed: false,
            shorts: VecDeque::new(),
            forgotten: None,
            reports_twice: settings.dsack,
        }
    }

    /// Another connection takes the place of this one.
    pub fn begin_anew(&mut self) {
        (self.heard, self.high, self.echoes, self.closed, self.forgotten) = (0, 0, false, false, None);
        self.shorts.clear();
    }

    /// The clock of an acknowledgement that has reached the source.
    pub fn hear(&mut self, clock: u32) {
        self.heard = clock;
    }

    /// What this direction says in a packet of the other one, on which an acknowledgement of its data may ride.
    pub fn other_way(&mut self, twin: &Twin, rides: Option<&Ack>) -> Option<OtherWay> {
        let plan = twin.endpoint.plan()?;
        self.echoes = rides.map_or(self.echoes, |ack| ack.ece);
        let sacks = rides.map_or_else(SackRuns::default, |ack| self.reported(ack, plan));
        Some(OtherWay { sends: self.number(plan, self.high), expects: self.number(plan, twin.next), echoes: self.echoes, sacks })
    }

    /// The same after a packet of this direction, as long as the other one has none that says more.
    pub fn go_on(&self, made: &Made, other: &mut OtherWay) {
        if let Some(plan) = made.endpoint.plan() {
            (other.sends, other.echoes) = (self.number(plan, self.high), self.echoes);
        }
    }

    /// The header of a packet that is made, and how many of its `payload` bytes it carries.
    pub fn header(&mut self, now: Time, packet: &Packet, made: &Made, other: Option<OtherWay>, payload: u32) -> (Tcp, u32) {
        let Some(plan) = made.endpoint.plan() else { return (Tcp::default(), payload) };
        let tcp = match (packet.kind(), made.ack) {
            (PacketKind::Ack, Some(ack)) => self.of_ack(now, packet, ack, other, plan),
            (_, rides) => {
                self.high = self.high.max(packet.seq + u64::from(packet.role() != Role::Pure));
                self.remember(packet.seq, payload, plan);
                self.of_segment(now, packet, rides, other, plan)
            }
        };
        let tcp = if packet.role() == Role::Syn { self.opening(tcp, made.ack) } else { tcp };
        (tcp, if payload == plan.full_payload() { payload - self.cut } else { payload })
    }

    fn of_segment(&self, now: Time, packet: &Packet, rides: Option<&Ack>, other: Option<OtherWay>, plan: &Plan) -> Tcp {
        let (seq, role) = (packet.seq, packet.role());
        let echoes = rides.is_none() && other.is_some_and(|other| other.echoes);
        let flags = Flags::default()
            .with(Flags::ACK, role != Role::Syn)
            .with(Flags::SYN, role == Role::Syn)
            .with(Flags::FIN, role == Role::Fin)
            .with(Flags::PSH, packet.bits.push())
            .with(Flags::ECE, echoes);
        let expected = other.map_or(1, |other| other.expects);
        let ack = match role {
            Role::Syn => 0,
            Role::Pure if self.closed => expected + 1,
            _ => expected,
        };
        let echo = rides.map_or(self.heard, |ack| clock(ack.echo));
        let timestamps = self.timestamps.then_some(Timestamps { value: clock(now), echo });
        let sacks = other.map_or_else(SackRuns::default, |other| other.sacks);
        let number = if packet.segment().is_probe() { self.number(plan, seq + 1).wrapping_sub(1) } else { self.number(plan, seq) };
        Tcp { seq: number, ack, flags, window: self.shown_window(rides), timestamps, sacks, ..Tcp::default() }
    }

    fn of_ack(&mut self, now: Time, packet: &Packet, ack: &Ack, other: Option<OtherWay>, plan: &Plan) -> Tcp {
        let (seq, role) = (packet.seq, packet.role());
        let flags = Flags::ACK.with(Flags::SYN, role == Role::Syn).with(Flags::FIN, role == Role::Fin);
        self.closed |= role == Role::Fin;
        self.echoes = ack.ece && role != Role::Syn;
        Tcp {
            seq: if role == Role::Syn { 0 } else { other.map_or(1, |other| other.sends) },
            ack: self.number(plan, seq),
            flags,
            window: self.shown_window(Some(ack)),
            timestamps: self.timestamps.then_some(Timestamps { value: clock(now), echo: clock(packet.sent) }),
            sacks: self.reported(ack, plan),
            ..Tcp::default()
        }
    }

    /// The blocks of an acknowledgement.
    fn reported(&self, ack: &Ack, plan: &Plan) -> SackRuns {
        let mut sacks = SackRuns::default();
        for &(from, to) in ack.sacks.as_slice().iter().filter(|&&(from, _)| self.forgotten.is_none_or(|last| last < from)) {
            sacks.push(self.number(plan, from), self.number(plan, to));
        }
        sacks
    }

    /// With what the two sides tell each other when the connection opens; a window is not scaled there.
    fn opening(&self, tcp: Tcp, ack: Option<&Ack>) -> Tcp {
        Tcp {
            window: self.told_window(ack).min(u16::MAX.into()) as u16,
            mss: Some(self.mss),
            window_scale: (self.scale > 0).then_some(self.scale),
            sack_permitted: self.sack_permitted,
            ..tcp
        }
    }

    fn shown_window(&self, ack: Option<&Ack>) -> u16 {
        (self.told_window(ack) >> self.scale).min(u16::MAX.into()) as u16
    }

    /// The receiver's window in bytes, as an acknowledgement tells it.
    fn told_window(&self, ack: Option<&Ack>) -> u64 {
        ack.map(|ack| ack.window).filter(|&window| window != Ack::ANY).map_or(self.window, u64::from)
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

/// The receiver's window in bytes as long as no acknowledgement has told it, and its scale: that of its buffer, or of the largest window.
fn windows(settings: &Settings, payload: u32) -> (u64, u8) {
    if let Some((window, scale)) = receiver::announced(settings) {
        return (window.into(), scale as u8);
    }
    let window = settings.max_window.saturating_mul(payload.into());
    (window, (0..MOST_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(MOST_SCALE))
}

/// The clock of RFC 7323, section 5.4, in milliseconds; it is never 0, which says that nothing was heard.
fn clock(time: Time) -> u32 {
    (time.picos() / PICOS_PER_MS + 1) as u32
}
