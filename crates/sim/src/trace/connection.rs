//! TCP's header in a capture.
//!
//! The engine counts segments; here sequence numbers are bytes, from the connection's [`SendBuffer`]: each side's SYN is 0, the first byte
//! of data 1, and a FIN takes a number. A full segment keeps its simulated size on the wire, so its payload is reduced if real headers are
//! larger than those of the scenario. With piggybacked ACKs two flows form one connection: each packet has the sequence number of one
//! direction and acknowledges the other.

use std::collections::VecDeque;

use ecnlab_transport::accurate_ecn::INITIAL_BYTES;
use ecnlab_transport::{Ack, SegmentType, SendBuffer, TcpSettings, receiver};
use ecnlab_units::Time;
use ecnlab_wire::{AccEcn, Flags, IpVersion, SackBlocks, Tcp, Timestamps};

use crate::packet::{Packet, PacketKind};
use crate::probe::{PacketCreationContext, ReverseFlow};

/// Size of the IP header, by version, and of the TCP header without options.
const HEADER_BYTES_V4: u32 = 40;
const HEADER_BYTES_V6: u32 = 60;
/// The timestamps option of RFC 7323, with padding.
const TIMESTAMP_OPTION_BYTES: u32 = 12;
const PICOS_PER_MS: u64 = 1_000_000_000;
/// RFC 7323, section 2.3.
const MAX_WINDOW_SCALE: u8 = 14;
/// Number of short segments of a connection that are remembered.
const MAX_SHORT_SEGMENTS: usize = 1024;

/// State of both sides of a connection as seen in the trace.
pub struct TracedConnection {
    /// Bytes that a full segment carries less than in the simulation.
    payload_shortfall: u32,
    /// The MSS option of a SYN.
    mss: u16,
    /// The receive window in bytes, if ACKs carry none.
    fixed_window: u64,
    window_scale: u8,
    sack_permitted: bool,
    timestamps: bool,
    /// Timestamp value of the ACK that arrived last; 0 before the first.
    last_received_tsval: u32,
    /// One past the highest segment that was sent.
    snd_max: u64,
    /// Whether the sink's last ACK had ECE set.
    echoes_ce: bool,
    /// Whether the sink has closed its side.
    sink_closed: bool,
    /// Sent segments that are not full, with their sequence numbers. A DSACK block (RFC 2883) may report segments that the send buffer has
    /// released.
    short_segments: VecDeque<(u64, u32)>,
    /// All short segments up to this one are forgotten.
    forgotten_up_to: Option<u64>,
    sends_dsack: bool,
    /// Hosts ask for Accurate ECN, so that packets have no echo but their ACE field.
    is_accurate: bool,
}

/// Fields of the other direction that a packet of this direction shows.
#[derive(Clone, Copy)]
pub struct ReverseHeaderFields {
    /// Next sequence number of its sender.
    snd_nxt: u32,
    /// Sequence number that its sink expects next.
    rcv_nxt: u32,
    /// Whether its sink's last ACK had ECE set.
    echoes_ce: bool,
    /// SACK blocks of its sink.
    sacks: SackBlocks,
}

impl TracedConnection {
    pub fn new(settings: &TcpSettings, version: IpVersion) -> TracedConnection {
        let bare = match version {
            IpVersion::V4 => HEADER_BYTES_V4,
            IpVersion::V6 => HEADER_BYTES_V6,
        };
        let headers = bare + if settings.timestamps { TIMESTAMP_OPTION_BYTES } else { 0 };
        let payload_shortfall = headers.saturating_sub(settings.quirks.header_size).min(settings.payload() - 1);
        let payload = settings.mss() - payload_shortfall;
        let (fixed_window, window_scale) = initial_window_and_scale(settings, payload);
        // The MSS excludes TCP options (RFC 6691, section 2).
        let mss = settings.packet_size.saturating_sub(bare).max(payload);
        TracedConnection {
            payload_shortfall,
            mss: mss.min(u16::MAX.into()) as u16,
            fixed_window,
            window_scale,
            sack_permitted: settings.offers_sack(),
            timestamps: settings.timestamps,
            last_received_tsval: 0,
            snd_max: 0,
            echoes_ce: false,
            sink_closed: false,
            short_segments: VecDeque::new(),
            forgotten_up_to: None,
            sends_dsack: settings.quirks.dsack,
            is_accurate: settings.wants_accurate_ecn(),
        }
    }

    /// Resets the state for a new connection.
    pub fn reset(&mut self) {
        (self.last_received_tsval, self.snd_max, self.echoes_ce, self.sink_closed, self.forgotten_up_to) = (0, 0, false, false, None);
        self.short_segments.clear();
    }

    /// Stores the timestamp value of an ACK that has reached the source.
    pub fn on_ack_timestamp(&mut self, clock: u32) {
        self.last_received_tsval = clock;
    }

    /// Fields of this direction in a packet of the other one, which may carry a piggybacked ACK of this direction's data.
    pub fn reverse_header_fields(&mut self, reverse_flow: &ReverseFlow, piggybacked_ack: Option<&Ack>) -> Option<ReverseHeaderFields> {
        let send_buffer = reverse_flow.endpoint.send_buffer()?;
        self.echoes_ce = piggybacked_ack.map_or(self.echoes_ce, |ack| ack.ece);
        let sacks = piggybacked_ack.map_or_else(SackBlocks::default, |ack| self.sack_blocks(ack, send_buffer));
        Some(ReverseHeaderFields {
            snd_nxt: self.byte_number(send_buffer, self.snd_max),
            rcv_nxt: self.byte_number(send_buffer, reverse_flow.rcv_next),
            echoes_ce: self.echoes_ce,
            sacks,
        })
    }

    /// Updates these fields after a packet of this direction, until a packet of the other direction carries newer ones.
    pub fn update_reverse_header_fields(&self, context: &PacketCreationContext, other: &mut ReverseHeaderFields) {
        if let Some(send_buffer) = context.endpoint.send_buffer() {
            (other.snd_nxt, other.echoes_ce) = (self.byte_number(send_buffer, self.snd_max), self.echoes_ce);
        }
    }

    /// The header of a new packet, and how many of its `payload` bytes it carries.
    pub fn header_and_payload_bytes(
        &mut self,
        now: Time,
        packet: &Packet,
        context: &PacketCreationContext,
        other: Option<ReverseHeaderFields>,
        payload: u32,
    ) -> (Tcp, u32) {
        let Some(send_buffer) = context.endpoint.send_buffer() else { return (Tcp::default(), payload) };
        let tcp = match (packet.kind(), context.ack) {
            (PacketKind::Ack, Some(ack)) => self.ack_header(now, packet, ack, other, send_buffer),
            (_, piggybacked_ack) => {
                self.snd_max = self.snd_max.max(packet.seq + u64::from(packet.segment_type() != SegmentType::PureAck));
                self.remember_short_segment(packet.seq, payload, send_buffer);
                self.segment_header(now, packet, piggybacked_ack, other, send_buffer)
            }
        };
        let tcp = if packet.segment_type() == SegmentType::Syn { self.header_with_syn_options(tcp, context.ack) } else { tcp };
        (tcp, if payload == send_buffer.full_payload() { payload - self.payload_shortfall } else { payload })
    }

    fn segment_header(
        &self,
        now: Time,
        packet: &Packet,
        piggybacked_ack: Option<&Ack>,
        other: Option<ReverseHeaderFields>,
        send_buffer: &SendBuffer,
    ) -> Tcp {
        let (seq, segment_type) = (packet.seq, packet.segment_type());
        let echoes = piggybacked_ack.is_none() && !self.is_accurate && other.is_some_and(|other| other.echoes_ce);
        let flags = Flags::default()
            .with_if(Flags::ACK, segment_type != SegmentType::Syn)
            .with_if(Flags::SYN, segment_type == SegmentType::Syn)
            .with_if(Flags::FIN, segment_type == SegmentType::Fin)
            .with_if(Flags::PSH, packet.flags.push())
            .with_if(Flags::ECE, echoes);
        let expected = other.map_or(1, |other| other.rcv_nxt);
        let ack = match segment_type {
            SegmentType::Syn => 0,
            SegmentType::PureAck if self.sink_closed => expected + 1,
            _ => expected,
        };
        let echo = piggybacked_ack.map_or(self.last_received_tsval, |ack| timestamp_value(ack.echo));
        let timestamps = self.timestamps.then_some(Timestamps { value: timestamp_value(now), echo });
        let sacks = other.map_or_else(SackBlocks::default, |other| other.sacks);
        let number = if packet.to_segment().is_window_probe() {
            self.byte_number(send_buffer, seq + 1).wrapping_sub(1)
        } else {
            self.byte_number(send_buffer, seq)
        };
        let own = if packet.flags.accecn_option() { Some(AccEcn::with_counters(INITIAL_BYTES.map(Some))) } else { None };
        let accecn = piggybacked_ack.and_then(accecn_option).or(own);
        Tcp { seq: number, ack, flags, window: self.scaled_window(piggybacked_ack), timestamps, sacks, accecn, ..Tcp::default() }
    }

    fn ack_header(&mut self, now: Time, packet: &Packet, ack: &Ack, other: Option<ReverseHeaderFields>, send_buffer: &SendBuffer) -> Tcp {
        let (seq, segment_type) = (packet.seq, packet.segment_type());
        let flags = Flags::ACK.with_if(Flags::SYN, segment_type == SegmentType::Syn).with_if(Flags::FIN, segment_type == SegmentType::Fin);
        self.sink_closed |= segment_type == SegmentType::Fin;
        self.echoes_ce = ack.ece && segment_type != SegmentType::Syn;
        Tcp {
            seq: if segment_type == SegmentType::Syn { 0 } else { other.map_or(1, |other| other.snd_nxt) },
            ack: self.byte_number(send_buffer, seq),
            flags,
            window: self.scaled_window(Some(ack)),
            timestamps: self.timestamps.then_some(Timestamps { value: timestamp_value(now), echo: timestamp_value(packet.sent_at) }),
            sacks: self.sack_blocks(ack, send_buffer),
            accecn: accecn_option(ack),
            ..Tcp::default()
        }
    }

    /// SACK blocks of an ACK.
    fn sack_blocks(&self, ack: &Ack, send_buffer: &SendBuffer) -> SackBlocks {
        let mut sacks = SackBlocks::default();
        for &(from, to) in ack.sacks.as_slice().iter().filter(|&&(from, _)| self.forgotten_up_to.is_none_or(|last| last < from)) {
            sacks.push(self.byte_number(send_buffer, from), self.byte_number(send_buffer, to));
        }
        sacks
    }

    /// Adds the options of a SYN or SYN-ACK, whose window is unscaled.
    fn header_with_syn_options(&self, tcp: Tcp, ack: Option<&Ack>) -> Tcp {
        Tcp {
            window: self.advertised_window(ack).min(u16::MAX.into()) as u16,
            mss: Some(self.mss),
            window_scale: (self.window_scale > 0).then_some(self.window_scale),
            sack_permitted: self.sack_permitted,
            ..tcp
        }
    }

    fn scaled_window(&self, ack: Option<&Ack>) -> u16 {
        (self.advertised_window(ack) >> self.window_scale).min(u16::MAX.into()) as u16
    }

    /// Receive window in bytes that an ACK advertises.
    fn advertised_window(&self, ack: Option<&Ack>) -> u64 {
        ack.map(|ack| ack.window).filter(|&window| window != Ack::WINDOW_UNLIMITED).map_or(self.fixed_window, u64::from)
    }

    /// Remembers a short segment, since an ACK may refer to it, or to one before it, after the send buffer has released it.
    fn remember_short_segment(&mut self, seq: u64, payload: u32, send_buffer: &SendBuffer) {
        let is_new = self.short_segments.back().is_none_or(|&(last, _)| last < seq);
        if !self.sends_dsack || !is_new || payload == send_buffer.full_payload() || send_buffer.segment_type(seq) == SegmentType::Syn {
            return;
        }
        if self.short_segments.len() == MAX_SHORT_SEGMENTS {
            self.forgotten_up_to = self.short_segments.pop_front().map(|(short, _)| short);
        }
        self.short_segments.push_back((seq, self.byte_number(send_buffer, seq)));
    }

    /// Sequence number of a segment's first byte, modulo 2^32.
    fn byte_number(&self, send_buffer: &SendBuffer, seq: u64) -> u32 {
        if send_buffer.segment_type(seq) == SegmentType::Syn {
            return 0;
        }
        // All segments from here to the next short one are full.
        let next = self.short_segments.partition_point(|&(short, _)| short < seq);
        if let Some(&(short, number)) = self.short_segments.get(next) {
            let full = u64::from(send_buffer.full_payload() - self.payload_shortfall);
            return number.wrapping_sub(((short - seq) * full) as u32);
        }
        let data = send_buffer.bytes_before(seq).saturating_sub(u64::from(self.payload_shortfall) * send_buffer.full_segments_before(seq));
        (1 + data + u64::from(send_buffer.has_fin_before(seq))) as u32
    }
}

/// The Accurate ECN option of an ACK.
fn accecn_option(ack: &Ack) -> Option<AccEcn> {
    ack.accecn.is_present().then(|| AccEcn::with_counters(ack.accecn.counters()))
}

/// Receive window in bytes before the first ACK, and window scale: from the receive buffer, or from the largest window.
fn initial_window_and_scale(settings: &TcpSettings, payload: u32) -> (u64, u8) {
    if let Some((window, scale)) = receiver::syn_window_and_scale(settings) {
        return (window.into(), scale as u8);
    }
    let window = settings.max_rwnd.saturating_mul(payload.into());
    (window, (0..MAX_WINDOW_SCALE).find(|scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(MAX_WINDOW_SCALE))
}

/// Timestamp value (RFC 7323, section 5.4) in milliseconds; never 0, which means no timestamp received.
fn timestamp_value(time: Time) -> u32 {
    (time.picos() / PICOS_PER_MS + 1) as u32
}
