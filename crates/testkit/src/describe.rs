//! Queues, packets and events in words, for those who read what the suite has found.

use std::fmt::{Display, Formatter, Result};

use ecnlab_units::{CongestionLevel, Time};

use super::model::QueueEventOrAnswer;
use crate::packet::Packet;
use crate::traffic::Operation;
use ecnlab_queue::{Limit, QueueCounters};

impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Packet { number, flow, size, ecn, rtt, .. } = self;
        write!(f, "packet {number} (flow {flow}, {size} bytes, {}, RTT {} s)", ecn.rfc_name(), rtt.seconds())
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

impl Display for QueueEventOrAnswer {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            QueueEventOrAnswer::Stored(number) => write!(f, "stored packet {number}"),
            QueueEventOrAnswer::Marked(number, ecn, cause) => {
                write!(f, "marked packet {number} with {} (cause {})", ecn.rfc_name(), cause.word())
            }
            QueueEventOrAnswer::Dropped(number, cause) => write!(f, "dropped packet {number} (cause {})", cause.word()),
            QueueEventOrAnswer::Sent(number, band) => write!(f, "sent packet {number} of band {band}"),
            QueueEventOrAnswer::Later(time) => write!(f, "put the next packet off until {} s", time.seconds()),
            QueueEventOrAnswer::Empty => f.write_str("was empty"),
            QueueEventOrAnswer::Deadline(due) => write!(f, "set its deadline to {}", time_text(*due)),
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
pub fn congestion_level_text(level: Option<CongestionLevel>) -> &'static str {
    match level {
        None => "none",
        Some(CongestionLevel::Incipient) => "incipient",
        Some(CongestionLevel::Congested) => "congested",
    }
}

/// A queue's counters.
pub fn counters_text(counters: &QueueCounters) -> String {
    let QueueCounters { arrived, departed, .. } = counters;
    let [dropped, marked] = [counters.dropped_packets(), counters.marked_packets()];
    format!("{} arrived, {} departed, {dropped} dropped, {marked} marked packets", arrived.packets, departed.packets)
}

/// Two runs' events of one step.
pub fn describe_divergence(first: Option<&QueueEventOrAnswer>, second: Option<&QueueEventOrAnswer>) -> String {
    let told = |event: Option<&QueueEventOrAnswer>| event.map_or("had ended".to_owned(), QueueEventOrAnswer::to_string);
    let number = [first, second].into_iter().flatten().find_map(|event| match event {
        QueueEventOrAnswer::Stored(number)
        | QueueEventOrAnswer::Marked(number, ..)
        | QueueEventOrAnswer::Dropped(number, _)
        | QueueEventOrAnswer::Sent(number, _) => Some(number),
        QueueEventOrAnswer::Later(_) | QueueEventOrAnswer::Empty | QueueEventOrAnswer::Deadline(_) => None,
    });
    let place = number.map_or(String::new(), |number| format!("packet {number}: "));
    format!("{place}one run {}, an equal one {}", told(first), told(second))
}
