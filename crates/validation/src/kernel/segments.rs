//! Conversion of our segments and acknowledgements into the packets of case files.

use ecnlab_transport::accurate_ecn::INITIAL_BYTES;
use ecnlab_transport::{AccEcnOption, Ack, AppWrite, Segment, SegmentType};
use ecnlab_units::Time;

use super::case::{AppCall, AppCallTrigger, Packet, Side, SocketCall};
use super::segment_map::{SegmentBoundaries, SentByteRange};

/// A counter that an option leaves out, in a record.
const ABSENT_COUNTER: u64 = 0;

/// A segment as it leaves its host.
pub fn packet_of_segment(side: Side, sent: Time, segment: &Segment, bytes: &SentByteRange) -> Packet {
    let ace = (segment.ae, segment.cwr, segment.ece);
    let flags = flag_letters(segment.segment_type, segment.push, segment.segment_type != SegmentType::Syn, ace);
    let accecn = segment.accecn_option.then(|| INITIAL_BYTES.map(u64::from));
    let SentByteRange { seq, len, nth } = *bytes;
    Packet { side, sent, flags, seq, len, nth, accecn, ecn_sent: segment.ecn as u8, ..Packet::default() }
}

/// An acknowledgement of segments with these boundaries, as it leaves its host. `seq` is the next byte of what that sends itself.
pub fn packet_of_ack(side: Side, sent: Time, ack: &Ack, boundaries: &SegmentBoundaries, seq: u64) -> Packet {
    let flags = flag_letters(ack.segment_type, false, true, (ack.ae, ack.cwr, ack.ece));
    let seq = if ack.segment_type == SegmentType::Syn { 0 } else { seq };
    packet_with_ack(Packet { side, sent, flags, seq, ecn_sent: ack.ecn as u8, ..Packet::default() }, ack, boundaries)
}

/// A packet with the fields of an acknowledgement: its own, or that of the one that rides on it.
pub fn packet_with_ack(packet: Packet, ack: &Ack, boundaries: &SegmentBoundaries) -> Packet {
    let sacks = ack.sacks.as_slice().iter().map(|&(from, to)| (boundaries.start(from), boundaries.previous_segment_end(to)));
    let adds_ece = ack.ece && !packet.has_flag('E');
    let flags = match () {
        // The ACE field is the acknowledgement's.
        () if ack.is_accurate() => packet.flags.replace(['E', 'C', 'N'], "") + &ace_flags((ack.ae, ack.cwr, ack.ece)),
        () if adds_ece => packet.flags.replace('C', "") + if packet.has_flag('C') { "EC" } else { "E" },
        () => packet.flags,
    };
    let accecn = if ack.is_accurate() { accecn_counters_of_ack(ack) } else { packet.accecn };
    let (window, sacks) = (Some(u64::from(ack.window)), sacks.collect());
    Packet { ack: Some(boundaries.start(ack.next)), window, sacks, flags, accecn, ..packet }
}

/// Flags in the order of the files.
fn flag_letters(segment_type: SegmentType, push: bool, ack: bool, ace: (bool, bool, bool)) -> String {
    let flags = [(segment_type == SegmentType::Syn, 'S'), (segment_type == SegmentType::Fin, 'F'), (push, 'P'), (ack, 'A')];
    let flags: String = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect();
    flags + &ace_flags(ace)
}

/// AE, CWR and ECE in the order of the files.
fn ace_flags((ae, cwr, ece): (bool, bool, bool)) -> String {
    [(ece, 'E'), (cwr, 'C'), (ae, 'N')].into_iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).collect()
}

/// The Accurate ECN option of an acknowledgement; an absent counter has its initial value.
fn accecn_counters_of_ack(ack: &Ack) -> Option<[u64; 3]> {
    let counters = ack.accecn.is_present().then(|| ack.accecn.counters())?;
    Some(std::array::from_fn(|at| counters[at].map_or(ABSENT_COUNTER, u64::from)))
}

/// The counters of a recorded option.
pub fn accecn_option_of_packet(packet: &Packet) -> AccEcnOption {
    match packet.accecn {
        None => AccEcnOption::default(),
        Some(counters) => AccEcnOption::new(counters.map(|counter| (counter != ABSENT_COUNTER).then_some(counter as u32))),
    }
}

/// The segment type of a recorded packet; a pure acknowledgement is plain.
pub fn segment_type(packet: &Packet) -> SegmentType {
    match () {
        () if packet.has_flag('S') => SegmentType::Syn,
        () if packet.has_flag('F') => SegmentType::Fin,
        () => SegmentType::Plain,
    }
}

/// Bytes that the recorded application hands over in one call.
const WRITE_CALL_BYTES: u64 = 1 << 20;

/// A side's writes in order. Side a connects at time zero; earlier writes wait until the connection is open.
pub fn app_writes(application: &[AppCall], side: Side) -> Vec<(AppCallTrigger, AppWrite)> {
    let mut writes: Vec<(AppCallTrigger, AppWrite)> = Vec::new();
    for &AppCall { trigger, call, .. } in application.iter().filter(|call| call.side == side) {
        let is_new = match call {
            SocketCall::Write(_) => writes.last().is_none_or(|&(before, write)| before != trigger || write.bytes > 0),
            SocketCall::Close => writes.last().is_none_or(|&(before, _)| before != trigger),
            _ => false,
        };
        if is_new {
            writes.push((trigger, AppWrite::keep_open(0)));
        }
        match (call, writes.last_mut()) {
            (SocketCall::Write(bytes), Some((_, write))) => write.bytes += bytes,
            (SocketCall::Close, Some((_, write))) => write.closes = true,
            _ => {}
        }
    }
    writes.into_iter().flat_map(|(trigger, write)| split_into_calls(write).map(move |write| (trigger, write))).collect()
}

/// A write call by call; the last one closes.
fn split_into_calls(write: AppWrite) -> impl Iterator<Item = AppWrite> {
    let calls = write.bytes.div_ceil(WRITE_CALL_BYTES).max(1);
    (0..calls).map(move |call| {
        let bytes = (write.bytes - call * WRITE_CALL_BYTES).min(WRITE_CALL_BYTES);
        AppWrite { bytes, closes: write.closes && call + 1 == calls }
    })
}
