//! Compares what ours did with what the kernel did, and names the first difference.

use ecnlab_units::{Span, Time};

use super::case::{Packet, Side, State};

/// How far times may lie apart: a packet of the real run reaches its host late by a few microseconds, and many at once by more.
pub const TIME_TOLERANCE: Span = Span::from_micros(50);

/// How many times as many packets as the record has ours may send before the run is stopped.
pub const RUNAWAY_FACTOR: usize = 10;

/// Most packets that ours may send where the record has so many.
pub fn runaway_packet_limit(recorded: usize) -> usize {
    RUNAWAY_FACTOR * recorded
}

/// Our sender's state at the time of the recorded state of this index.
#[derive(Clone, Copy, Debug)]
pub struct ReplayedState {
    pub state: usize,
    pub cwnd: f64,
    pub ssthresh: Option<f64>,
}

/// The first difference of two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub time: Time,
    /// How many agreed before it.
    pub agreed: usize,
    pub what: String,
}

/// An expected packet and its time.
#[derive(Clone, Copy)]
pub struct ExpectedPacket<'a> {
    pub packet: &'a Packet,
    pub time: Time,
}

impl<'a> ExpectedPacket<'a> {
    /// At the time of the real run.
    pub fn at_recorded_time(packet: &'a Packet) -> ExpectedPacket<'a> {
        ExpectedPacket { packet, time: packet.sent }
    }
}

/// The first packet that differs, of those of both sides. Which of two hosts was first at one time is not compared.
pub fn first_difference_of_both_sides(ours: &[Packet], theirs: &[ExpectedPacket], window: bool) -> Option<Difference> {
    let [a, b] = Side::BOTH.map(|side| {
        let (ours, theirs) = packets_of_side(ours, theirs, side);
        first_packet_difference(&ours, &theirs, window)
    });
    let before = |time: Time| theirs.iter().filter(|expected| expected.time < time).count();
    let first = a.into_iter().chain(b).min_by_key(|difference| difference.time)?;
    Some(Difference { agreed: before(first.time), ..first })
}

/// The packets that one side sent.
pub fn packets_of_side<'a>(ours: &[Packet], theirs: &[ExpectedPacket<'a>], side: Side) -> (Vec<Packet>, Vec<ExpectedPacket<'a>>) {
    let ours = ours.iter().filter(|packet| packet.side == side).cloned().collect();
    (ours, theirs.iter().filter(|expected| expected.packet.side == side).copied().collect())
}

/// The first packet that differs.
pub fn first_packet_difference(ours: &[Packet], theirs: &[ExpectedPacket], window: bool) -> Option<Difference> {
    for (agreed, (our, their)) in ours.iter().zip(theirs).enumerate() {
        if let Some(field) = differing_field(our, their, window) {
            let what = format!("packet {}: {field}: expected {}, got {}", their.packet.id, packet_line(their.packet), packet_line(our));
            return Some(Difference { time: our.sent.min(their.time), agreed, what });
        }
    }
    let agreed = ours.len().min(theirs.len());
    let missing = theirs.get(agreed).map(|ExpectedPacket { packet, time }| {
        (*time, format!("packet {}: expected {}, got nothing more", packet.id, packet_line(packet)))
    });
    let more = ours.get(agreed).map(|our| (our.sent, format!("after all packets: expected nothing, got {}", packet_line(our))));
    missing.or(more).map(|(time, what)| Difference { time, agreed, what })
}

/// The first state that differs.
pub fn first_state_difference(ours: &[ReplayedState], theirs: &[State]) -> Option<Difference> {
    ours.iter().enumerate().find_map(|(agreed, our)| {
        let their = &theirs[our.state];
        let same = our.cwnd == their.cwnd as f64 && our.ssthresh == their.ssthresh.map(|ssthresh| ssthresh as f64);
        let of = their.packet.map_or(format!("the {}", their.why), |packet| format!("packet {packet}"));
        let what = || {
            let (expected, got) = (their.ssthresh.map(|ssthresh| ssthresh as f64), our.ssthresh);
            format!(
                "after {of}: expected window {} threshold {}, got window {} threshold {}",
                their.cwnd,
                ssthresh_text(expected),
                our.cwnd,
                ssthresh_text(got)
            )
        };
        (!same).then(|| Difference { time: their.time, agreed, what: what() })
    })
}

pub fn ssthresh_text(ssthresh: Option<f64>) -> String {
    ssthresh.map_or("none".to_owned(), |ssthresh| ssthresh.to_string())
}

/// The first field in which two packets differ.
fn differing_field(our: &Packet, their: &ExpectedPacket, window: bool) -> Option<&'static str> {
    let ExpectedPacket { packet: their, time } = *their;
    let apart = our.sent.since(time).max(time.since(our.sent));
    let fields = [
        (our.seq == their.seq, "seq"),
        (our.len == their.len, "len"),
        (our.nth.is_none() || our.nth == their.nth, "transmission"),
        (our.flags == their.flags, "flags"),
        (our.ack.is_none() || our.ack == their.ack, "ack"),
        (our.sacks == their.sacks, "SACK blocks"),
        (our.window.is_none() || our.window == their.window || !window, "window"),
        (our.ecn_sent == their.ecn_sent, "ECN field"),
        (our.accecn == their.accecn, "Accurate ECN option"),
        (our.tsecr.is_none() || our.tsecr == their.tsecr, "timestamp's echo"),
        (apart <= TIME_TOLERANCE, "time"),
    ];
    fields.into_iter().find(|(same, _)| !same).map(|(_, name)| name)
}

/// A packet in one line.
pub fn packet_line(packet: &Packet) -> String {
    let nth = packet.nth.filter(|&nth| nth > 0).map_or(String::new(), |nth| format!(" nth {nth}"));
    let ecn = ["", " ECT(1)", " ECT(0)", " CE"][usize::from(packet.ecn_sent.min(3))];
    let sacks = if packet.sacks.is_empty() { String::new() } else { format!(" sack {:?}", packet.sacks) };
    let said = |name: &str, value: Option<u64>| value.map_or(String::new(), |value| format!(" {name} {value}"));
    let option = packet.accecn.map_or(String::new(), |[e1b, ceb, e0b]| format!(" e1b {e1b} ceb {ceb} e0b {e0b}"));
    let ack = said("ack", packet.ack) + &said("window", packet.window) + &option;
    format!("[{:.3} ms {} {}+{}{ack}{sacks}{nth}{ecn}]", packet.sent.seconds() * 1e3, packet.flags, packet.seq, packet.len)
}
