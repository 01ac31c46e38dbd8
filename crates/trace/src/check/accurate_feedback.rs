//! Accurate ECN of one end: what it has received, and what its packets say of that (RFC 9768, sections 3.1 and 3.2).
//!
//! ```text
//! SYN-ACK        AE, CWR, ECE tell the IP-ECN field of the SYN: Not-ECT 010, ECT(1) 011, ECT(0) 100, CE 110
//! first ACK      of the client, without data: the same of the SYN-ACK
//! other packets  AE, CWR, ECE are the packets that arrived with CE, from 5 on, modulo 8; from 6 on if the SYN-ACK had CE
//! option         bytes of data that arrived with ECT(1), CE and ECT(0), from 1, 0 and 1 on, modulo 2^24
//! ```
//!
//! A packet may have passed the capture and not have reached the host, so each counter has two bounds. All packets that have passed are the
//! upper one. The lower one is the largest of what the end has reported and of what it has acknowledged; of a segment that is retransmitted
//! it is not known which copy arrived.

use std::collections::VecDeque;

use ecnlab_units::Ecn;
use ecnlab_wire::{AccEcn, Flags};

/// Segments whose acknowledgement is awaited. Beyond it the oldest one does not raise the lower bounds.
const MAX_PENDING_SEGMENTS: usize = 4096;

/// Payload above which a captured packet may be several that the host's device has joined, and the payload that each has at least.
const MAX_UNCOALESCED_SEGMENT_BYTES: u32 = 1460;
const MIN_COALESCED_SEGMENT_BYTES: u32 = 536;

/// Codepoints in the order of the option of kind 174, with the initial values of their counters.
const INITIAL_OPTION_COUNTERS: [(Ecn, u64); 3] = [(Ecn::Ect1, 1), (Ecn::Ce, 0), (Ecn::Ect0, 1)];

/// What one end has received, and what it has reported.
#[derive(Debug, Default)]
pub struct AccurateFeedback {
    /// Codepoints with which SYNs, or SYN-ACKs, arrived.
    syn_codepoints: Vec<Ecn>,
    /// Whether the other end's SYN was a SYN-ACK: this end is the client.
    is_client: bool,
    has_sent: bool,
    /// Packets with CE: bounds of their number.
    ce_packets: CounterBounds,
    /// Bytes by codepoint, in the order of [`INITIAL_OPTION_COUNTERS`].
    bytes: [CounterBounds; 3],
    pending: VecDeque<ArrivedSegment>,
    highest_end: u64,
}

/// Bounds of a counter, without its initial value.
#[derive(Clone, Copy, Debug, Default)]
struct CounterBounds {
    reported: u64,
    acked: u64,
    passed: u64,
}

/// A segment that has passed and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct ArrivedSegment {
    start: u64,
    end: u64,
    ecn: Ecn,
    payload: u32,
}

/// A packet of the end.
#[derive(Clone, Copy, Debug)]
pub struct SentFeedback {
    pub flags: Flags,
    /// Its acknowledgement number, expanded as the segments' numbers are.
    pub ack: u64,
    pub has_data: bool,
    pub option: Option<AccEcn>,
}

impl CounterBounds {
    /// Whether the counter can have this value modulo a power of two; then it has reached it.
    fn update_if_within_bounds(&mut self, initial: u64, value: u64, modulus: u64) -> bool {
        let least = initial + self.reported.max(self.acked);
        let counter = least + (value + modulus - least % modulus) % modulus;
        let is_admitted = counter <= initial + self.passed;
        if is_admitted {
            self.reported = counter - initial;
        }
        is_admitted
    }

    /// The values that it can have, as text.
    fn range_text(&self, initial: u64, modulus: u64) -> String {
        let [least, most] = [self.reported.max(self.acked), self.passed].map(|count| (initial + count) % modulus);
        if self.reported.max(self.acked) == self.passed { least.to_string() } else { format!("{least} to {most}") }
    }
}

impl AccurateFeedback {
    /// A SYN or SYN-ACK arrives.
    pub fn on_syn_arrival(&mut self, ecn: Ecn, is_answer: bool) {
        self.is_client |= is_answer;
        if !self.syn_codepoints.contains(&ecn) {
            self.syn_codepoints.push(ecn);
        }
    }

    /// Another packet arrives, with the range of its data.
    pub fn on_non_syn_arrival(&mut self, range: Option<(u64, u64)>, payload: u32, ecn: Ecn) {
        let joined = if payload > MAX_UNCOALESCED_SEGMENT_BYTES { u64::from(payload.div_ceil(MIN_COALESCED_SEGMENT_BYTES)) } else { 1 };
        self.ce_packets.passed += if ecn == Ecn::Ce { joined } else { 0 };
        if let Some(at) = codepoint_index(ecn) {
            self.bytes[at].passed += u64::from(payload);
        }
        let Some((start, end)) = range else { return };
        if start < self.highest_end {
            self.pending.retain(|segment| segment.end <= start || segment.start >= end);
        } else {
            if self.pending.len() == MAX_PENDING_SEGMENTS {
                self.pending.pop_front();
            }
            self.pending.push_back(ArrivedSegment { start, end, ecn, payload });
        }
        self.highest_end = self.highest_end.max(end);
    }

    /// What is wrong with the flags of a SYN-ACK of this end. One without flags is a retransmission that falls back (section 3.1.4).
    pub fn check_syn_ack(&self, flags: Flags) -> Option<String> {
        let is_fallback = flags.ace() == 0;
        let is_right =
            is_fallback || self.syn_codepoints.is_empty() || self.syn_codepoints.iter().any(|&ecn| handshake_ace(ecn) == flags.ace());
        (!is_right).then(|| format!("AE, CWR and ECE are {:03b}, and {}", flags.ace(), self.syn_text("SYN")))
    }

    /// What is wrong with the flags and with the option of another packet of this end.
    pub fn check_sent(&mut self, sent: &SentFeedback) -> [Option<String>; 2] {
        self.count_acked(sent.ack);
        let found = [self.check_ace(sent), sent.option.and_then(|option| self.check_option(&option))];
        self.has_sent = true;
        found
    }

    fn check_ace(&mut self, sent: &SentFeedback) -> Option<String> {
        let ace = sent.flags.ace();
        let may_reflect = self.is_client && !sent.has_data && self.highest_end == 0;
        if may_reflect && self.syn_codepoints.iter().any(|&ecn| handshake_ace(ecn) == ace) {
            return None;
        }
        if may_reflect && !self.has_sent {
            return Some(format!("AE, CWR and ECE are {ace:03b}, and {}", self.syn_text("SYN-ACK")));
        }
        let initial = self.initial_ce_packets();
        if self.ce_packets.update_if_within_bounds(initial, ace.into(), 8) {
            return None;
        }
        Some(format!("the ACE field is {ace}, and by what has arrived it is {}", self.ce_packets.range_text(initial, 8)))
    }

    fn check_option(&mut self, option: &AccEcn) -> Option<String> {
        const OPTION_COUNTER_MODULUS: u64 = 1 << 24;
        let mut wrong = None;
        for ((&(ecn, initial), bounds), counter) in INITIAL_OPTION_COUNTERS.iter().zip(&mut self.bytes).zip(option.counters) {
            let Some(counter) = counter.map(u64::from) else { continue };
            if !bounds.update_if_within_bounds(initial, counter, OPTION_COUNTER_MODULUS) && wrong.is_none() {
                let expected = bounds.range_text(initial, OPTION_COUNTER_MODULUS);
                wrong =
                    Some(format!("its counter of bytes with {} is {counter}, and by what has arrived it is {expected}", ecn.rfc_name()));
            }
        }
        wrong
    }

    /// Raises the lower bounds by the segments that an acknowledgement covers.
    fn count_acked(&mut self, ack: u64) {
        while let Some(segment) = self.pending.front().copied().filter(|segment| segment.end <= ack) {
            self.pending.pop_front();
            self.ce_packets.acked += u64::from(segment.ecn == Ecn::Ce);
            if let Some(at) = codepoint_index(segment.ecn) {
                self.bytes[at].acked += u64::from(segment.payload);
            }
        }
    }

    fn initial_ce_packets(&self) -> u64 {
        if self.is_client && self.syn_codepoints.contains(&Ecn::Ce) { 6 } else { 5 }
    }

    fn syn_text(&self, packet: &str) -> String {
        let names: Vec<&str> = self.syn_codepoints.iter().map(|&ecn| ecn.rfc_name()).collect();
        format!("the {packet} arrived with {}", names.join(" and "))
    }
}

fn codepoint_index(ecn: Ecn) -> Option<usize> {
    INITIAL_OPTION_COUNTERS.iter().position(|&(codepoint, _)| codepoint == ecn)
}

/// AE, CWR and ECE of a SYN-ACK and of the first ACK, after a SYN or SYN-ACK that arrived with this codepoint.
fn handshake_ace(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}
