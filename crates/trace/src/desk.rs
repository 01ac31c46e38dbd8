//! What all flows share while a trace is read: the clock, the interval, and where they put what they find.

use ecnlab_units::histogram::Histogram;
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Kind, Packet};

use crate::bins::{Bins, keep};
use crate::columns::{EventRow, LockoutRow, PointRow, ReactionRow, seconds};
use crate::connection::counts_packets;
use crate::reaction::Reaction;
use crate::room::Room;

/// The length of ns-2's SYN.
const SYN_BYTES: u32 = 40;

/// Times over all flows.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub rtt: Histogram<8>,
    pub delay: Histogram<8>,
}

/// Rows as they are found.
#[derive(Debug, Default)]
pub struct Found {
    pub events: Vec<EventRow>,
    pub reactions: Vec<ReactionRow>,
    pub lockouts: Vec<LockoutRow>,
    pub points: Vec<PointRow>,
    pub left_out: u64,
}

/// Where whatever takes an event in finds the time, and puts what it has found.
#[derive(Debug)]
pub struct Desk {
    pub now: Time,
    /// Whether now lies in the measured interval, which is from `from` to before `to`.
    pub is_measured: bool,
    pub from: Time,
    pub to: Time,
    /// Bytes of headers in an ns-2 trace's TCP packets.
    pub header: u32,
    /// The flows whose time-sequence graph is asked for.
    pub drawn: Vec<u32>,
    pub room: Room,
    pub bins: Bins,
    pub whole: Whole,
    pub found: Found,
}

impl Desk {
    /// Goes on to a time.
    pub fn tick(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.is_measured = self.from <= self.now && self.now < self.to;
        self.bins.advance(self.now, self.from, self.to);
    }

    /// Whether what a flow does now counts.
    pub fn measures(&self, is_chosen: bool) -> bool {
        self.is_measured && is_chosen
    }

    /// Whether a flow's time-sequence graph is wanted now.
    pub fn draws(&self, flow: u32) -> bool {
        self.is_measured && self.drawn.contains(&flow)
    }

    /// The bytes of data in a packet. ns-2's lines do not tell them from the header's; its SYN is the packet 0, and as long as a header.
    pub fn payload(&self, packet: &Packet) -> u32 {
        match packet.kind {
            Kind::Data if counts_packets(packet) && packet.tcp.seq == 0 && packet.size <= SYN_BYTES => 0,
            Kind::Data if counts_packets(packet) => packet.payload.saturating_sub(self.header),
            _ => packet.payload,
        }
    }

    pub fn point(&mut self, point: PointRow) {
        keep(&mut self.found.points, point, &mut self.found.left_out);
    }

    pub fn event(&mut self, flow: u32, link: Option<u32>, kind: u32, at: Time) {
        if let Some(link) = link {
            keep(&mut self.found.events, EventRow { time_s: at.seconds(), link, flow, kind }, &mut self.found.left_out);
        }
    }

    pub fn lockout(&mut self, flow: u32, since: Time) {
        let row = LockoutRow { flow, start_s: since.seconds(), end_s: self.now.seconds() };
        keep(&mut self.found.lockouts, row, &mut self.found.left_out);
    }

    pub fn reaction(&mut self, flow: u32, reaction: &Reaction) {
        let moment = |time: Option<Time>| seconds(time.map(|time| time.since(Time::ZERO)));
        let row = ReactionRow {
            flow,
            experienced_s: moment(reaction.experienced),
            echoed_s: moment(reaction.echoed),
            reduced_s: moment(reaction.reduced),
            packets: reaction.packets,
            rtt_s: seconds(reaction.rtt.filter(|&rtt| rtt > Span::ZERO)),
        };
        keep(&mut self.found.reactions, row, &mut self.found.left_out);
    }
}
