//! Queues, packets and events in words, for those who read what the suite has found.

use std::fmt::{Display, Formatter, Result};

use ecnlab_units::{Ecn, Level, Time};

use super::ledger::Event;
use super::load::Operation;
use super::packet::Packet;
use super::subject::Setting;
use super::watched::Taken;
use crate::{Counters, Limit};

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Setting::Defaults => "default values",
            Setting::Busy => "busy values",
        })
    }
}

impl Display for Packet {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Packet { number, flow, size, ecn, rtt, .. } = self;
        write!(f, "packet {number} (flow {flow}, {size} bytes, {}, RTT {} s)", codepoint(*ecn), rtt.seconds())
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Operation::Offer(packet) => write!(f, "arrival of {packet}"),
            Operation::Take => f.write_str("a dequeue"),
            Operation::Empty => f.write_str("dequeues until the queue gives nothing"),
            Operation::Wait(span) => write!(f, "{} s of rest", span.seconds()),
            Operation::Retune(rate) => write!(f, "a link rate of {} bit/s", rate.bps()),
        }
    }
}

impl Display for Event {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Event::Stored(number) => write!(f, "stored packet {number}"),
            Event::Marked(number, ecn, cause) => write!(f, "marked packet {number} with {} (cause {})", codepoint(*ecn), cause.word()),
            Event::Dropped(number, cause) => write!(f, "dropped packet {number} (cause {})", cause.word()),
            Event::Sent(number, band) => write!(f, "sent packet {number} of band {band}"),
            Event::Later(time) => write!(f, "put the next packet off until {} s", time.seconds()),
            Event::Empty => f.write_str("was empty"),
            Event::Deadline(due) => write!(f, "set its deadline to {}", at(*due)),
        }
    }
}

impl Display for Taken {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Taken::Packet(packet) => packet.fmt(f),
            Taken::Later(time) => write!(f, "a packet at {} s", time.seconds()),
            Taken::Empty => f.write_str("nothing"),
        }
    }
}

/// A buffer's limit.
pub fn buffer(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("a buffer of {packets} packets"),
        Limit::Bytes(bytes) => format!("a buffer of {bytes} bytes"),
    }
}

/// A time that may be none.
pub fn at(time: Option<Time>) -> String {
    time.map_or("none".to_owned(), |time| format!("{} s", time.seconds()))
}

/// The quietest mark that an AQM declares.
pub fn level(level: Option<Level>) -> &'static str {
    match level {
        None => "none",
        Some(Level::Incipient) => "incipient",
        Some(Level::Congested) => "congested",
    }
}

/// A codepoint as RFC 3168 writes it.
fn codepoint(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    }
}

/// A queue's counters.
pub fn counters(counters: &Counters) -> String {
    let Counters { arrived, departed, .. } = counters;
    let [dropped, marked] = [counters.dropped_packets(), counters.marked_packets()];
    format!("{} arrived, {} departed, {dropped} dropped, {marked} marked packets", arrived.packets, departed.packets)
}

/// Two runs' events of one step.
pub fn describe_divergence(first: Option<&Event>, second: Option<&Event>) -> String {
    let told = |event: Option<&Event>| event.map_or("had ended".to_owned(), Event::to_string);
    let number = [first, second].into_iter().flatten().find_map(|event| match event {
        Event::Stored(number) | Event::Marked(number, ..) | Event::Dropped(number, _) | Event::Sent(number, _) => Some(number),
        Event::Later(_) | Event::Empty | Event::Deadline(_) => None,
    });
    let place = number.map_or(String::new(), |number| format!("packet {number}: "));
    format!("{place}one run {}, an equal one {}", told(first), told(second))
}
