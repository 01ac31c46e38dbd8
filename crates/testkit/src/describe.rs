//! Queues, packets and events in words, for those who read what the suite has found.

use std::fmt::{Display, Formatter, Result};

use ecnlab_units::{CongestionLevel, Ecn, Time};

use super::dut::ValueSet;
use super::model::ObservedEvent;
use crate::checked_queue::CheckedOutcome;
use crate::packet::Packet;
use crate::traffic::Operation;
use ecnlab_queue::{Limit, QueueCounters};

impl Display for ValueSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            ValueSet::Defaults => "default values",
            ValueSet::TestParams => "busy values",
        })
    }
}

impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Packet { number, flow, size, ecn, rtt, .. } = self;
        write!(f, "packet {number} (flow {flow}, {size} bytes, {}, RTT {} s)", codepoint_text(*ecn), rtt.seconds())
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Operation::Enqueue(packet) => write!(f, "arrival of {packet}"),
            Operation::Dequeue => f.write_str("a dequeue"),
            Operation::Empty => f.write_str("dequeues until the queue gives nothing"),
            Operation::Wait(span) => write!(f, "{} s of rest", span.seconds()),
            Operation::Retune(rate) => write!(f, "a link rate of {} bit/s", rate.bps()),
        }
    }
}

impl Display for ObservedEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            ObservedEvent::Stored(number) => write!(f, "stored packet {number}"),
            ObservedEvent::Marked(number, ecn, cause) => {
                write!(f, "marked packet {number} with {} (cause {})", codepoint_text(*ecn), cause.word())
            }
            ObservedEvent::Dropped(number, cause) => write!(f, "dropped packet {number} (cause {})", cause.word()),
            ObservedEvent::Sent(number, band) => write!(f, "sent packet {number} of band {band}"),
            ObservedEvent::Later(time) => write!(f, "put the next packet off until {} s", time.seconds()),
            ObservedEvent::Empty => f.write_str("was empty"),
            ObservedEvent::Deadline(due) => write!(f, "set its deadline to {}", time_text(*due)),
        }
    }
}

impl Display for CheckedOutcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            CheckedOutcome::Packet(packet) => packet.fmt(f),
            CheckedOutcome::RetryAt(time) => write!(f, "a packet at {} s", time.seconds()),
            CheckedOutcome::Empty => f.write_str("nothing"),
        }
    }
}

/// A buffer's limit.
pub fn buffer_text(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("a buffer of {packets} packets"),
        Limit::Bytes(bytes) => format!("a buffer of {bytes} bytes"),
    }
}

/// A time that may be none.
pub fn time_text(time: Option<Time>) -> String {
    time.map_or("none".to_owned(), |time| format!("{} s", time.seconds()))
}

/// Lowest congestion level that an AQM declares.
pub fn level_text(level: Option<CongestionLevel>) -> &'static str {
    match level {
        None => "none",
        Some(CongestionLevel::Incipient) => "incipient",
        Some(CongestionLevel::Congested) => "congested",
    }
}

/// A codepoint as RFC 3168 writes it.
fn codepoint_text(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    }
}

/// A queue's counters.
pub fn counters_text(counters: &QueueCounters) -> String {
    let QueueCounters { arrived, departed, .. } = counters;
    let [dropped, marked] = [counters.dropped_packets(), counters.marked_packets()];
    format!("{} arrived, {} departed, {dropped} dropped, {marked} marked packets", arrived.packets, departed.packets)
}

/// Two runs' events of one step.
pub fn describe_divergence(first: Option<&ObservedEvent>, second: Option<&ObservedEvent>) -> String {
    let told = |event: Option<&ObservedEvent>| event.map_or("had ended".to_owned(), ObservedEvent::to_string);
    let number = [first, second].into_iter().flatten().find_map(|event| match event {
        ObservedEvent::Stored(number)
        | ObservedEvent::Marked(number, ..)
        | ObservedEvent::Dropped(number, _)
        | ObservedEvent::Sent(number, _) => Some(number),
        ObservedEvent::Later(_) | ObservedEvent::Empty | ObservedEvent::Deadline(_) => None,
    });
    let place = number.map_or(String::new(), |number| format!("packet {number}: "));
    format!("{place}one run {}, an equal one {}", told(first), told(second))
}
