//! State that all flows share while a trace is read: the clock, the measured interval, and the output rows.

use ecnlab_units::histogram::Histogram;
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Kind, Packet};

use crate::bins::{Bins, push_bounded};
use crate::columns::{EventRow, LockoutRow, ReactionRow, SequencePointRow, SignalKind, seconds_or_nan};
use crate::connection::is_numbered_by_packet;
use crate::memory_budget::MemoryBudget;
use crate::reaction::Reaction;

/// The length of ns-2's SYN.
const NS2_SYN_BYTES: u32 = 40;

/// Times over all flows.
#[derive(Clone, Debug, Default)]
pub struct OverallTimes {
    pub rtt: Histogram<8>,
    pub delay: Histogram<8>,
}

/// Rows of the output tables, in the order in which they are found.
#[derive(Debug, Default)]
pub struct OutputRows {
    pub events: Vec<EventRow>,
    pub reactions: Vec<ReactionRow>,
    pub lockouts: Vec<LockoutRow>,
    pub points: Vec<SequencePointRow>,
    pub rows_left_out: u64,
}

/// State shared by the event handlers: the current time, the limits and the output rows.
#[derive(Debug)]
pub struct AnalysisContext {
    pub now: Time,
    /// Whether `now` lies in the measured interval `[from, to)`.
    pub is_measured: bool,
    pub from: Time,
    pub to: Time,
    /// Bytes of headers in an ns-2 trace's TCP packets.
    pub header_bytes: u32,
    /// The flows whose time-sequence graph is recorded.
    pub sequence_flows: Vec<u32>,
    pub memory: MemoryBudget,
    pub bins: Bins,
    pub overall: OverallTimes,
    pub output: OutputRows,
}

impl AnalysisContext {
    /// Advances the clock, which never goes back.
    pub fn advance_to(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.is_measured = self.from <= self.now && self.now < self.to;
        self.bins.advance(self.now, self.from, self.to);
    }

    /// Whether a flow's time-sequence graph is recorded now.
    pub fn records_sequence(&self, flow: u32) -> bool {
        self.is_measured && self.sequence_flows.contains(&flow)
    }

    /// The bytes of data in a packet. ns-2's lines show headers and data as one size; its SYN is packet 0, and as long as a header.
    pub fn payload_bytes(&self, packet: &Packet) -> u32 {
        match packet.kind {
            Kind::Data if is_numbered_by_packet(packet) && packet.tcp.seq == 0 && packet.size <= NS2_SYN_BYTES => 0,
            Kind::Data if is_numbered_by_packet(packet) => packet.payload.saturating_sub(self.header_bytes),
            _ => packet.payload,
        }
    }

    pub fn record_sequence_point(&mut self, point: SequencePointRow) {
        push_bounded(&mut self.output.points, point, &mut self.output.rows_left_out);
    }

    pub fn record_event_row(&mut self, flow: u32, link: Option<u32>, kind: SignalKind, at: Time) {
        if let Some(link) = link {
            push_bounded(&mut self.output.events, EventRow { time_s: at.seconds(), link, flow, kind }, &mut self.output.rows_left_out);
        }
    }

    pub fn record_lockout(&mut self, flow: u32, since: Time) {
        let row = LockoutRow { flow, start_s: since.seconds(), end_s: self.now.seconds() };
        push_bounded(&mut self.output.lockouts, row, &mut self.output.rows_left_out);
    }

    pub fn record_reaction(&mut self, flow: u32, reaction: &Reaction) {
        let seconds_of = |time: Option<Time>| seconds_or_nan(time.map(|time| time.since(Time::ZERO)));
        let row = ReactionRow {
            flow,
            experienced_s: seconds_of(reaction.ce_received_at),
            echoed_s: seconds_of(reaction.ece_sent_at),
            reduced_s: seconds_of(reaction.cwr_sent_at),
            packets: reaction.packets,
            rtt_s: seconds_or_nan(reaction.rtt.filter(|&rtt| rtt > Span::ZERO)),
        };
        push_bounded(&mut self.output.reactions, row, &mut self.output.rows_left_out);
    }
}
