//! The receiver alone: the segments that reached the real receiver reach ours, and ours is to send what the real one sent.

use ecnlab_transport::{Ack, HostClock, Receiver, Segment, SegmentType, TcpSettings};
use ecnlab_units::{Ecn, Span, Time};

use super::case::{Case, Packet, Side};
use super::segment_map::SegmentBoundaries;
use super::segments::{self, packet_of_ack, packet_with_ack};
use super::settings::{clock_age_at_start, wire_size_of_packet};

/// Plays a case to a receiver with these settings, and returns what it sends.
///
/// # Errors
/// What our receiver cannot be told.
pub fn replay(case: &Case, settings: &TcpSettings) -> Result<Vec<Packet>, String> {
    let segments = SegmentBoundaries::from_packets(case.sent_by(Side::A));
    if !segments.is_contiguous() {
        return Err("not comparable: retransmitted data has other segment boundaries".to_owned());
    }
    let clock = HostClock::new(settings, clock_age_at_start(case));
    let stamps = settings.timestamps.then_some(clock);
    let mut replay_state =
        ReceiverReplay { receiver: Receiver::new(settings, clock), stamps, segments, sent: Vec::new(), next: 1, closed: false };
    for (time, input) in receiver_inputs(case) {
        replay_state.run_timers(time);
        match input {
            ReceiverInput::Arrival(packet) => replay_state.receive_packet(case, packet, time),
            ReceiverInput::DataSent(packet) => replay_state.record_data_with_piggybacked_ack(packet),
        }
    }
    replay_state.run_timers(case.end);
    Ok(replay_state.sent)
}

/// An input of the receiver.
enum ReceiverInput<'a> {
    Arrival(&'a Packet),
    /// The host sends data that carries an acknowledgement.
    DataSent(&'a Packet),
}

/// The receiver's inputs in order of time; an arrival precedes the data that it causes.
fn receiver_inputs(case: &Case) -> Vec<(Time, ReceiverInput<'_>)> {
    let arrive =
        case.packets_that_reached(Side::B).into_iter().filter_map(|packet| Some((packet.arrives?, ReceiverInput::Arrival(packet))));
    let data = case.sent_by(Side::B).filter(|packet| packet.len > 0).map(|packet| (packet.sent, ReceiverInput::DataSent(packet)));
    let mut inputs: Vec<_> = arrive.chain(data).collect();
    inputs.sort_by_key(|&(time, _)| time);
    inputs
}

struct ReceiverReplay {
    receiver: Receiver,
    /// The clock of timestamps, if the connection has them.
    stamps: Option<HostClock>,
    segments: SegmentBoundaries,
    sent: Vec<Packet>,
    /// The next byte that the host sends itself, and whether its FIN has gone.
    next: u64,
    closed: bool,
}

impl ReceiverReplay {
    fn run_timers(&mut self, until: Time) {
        while let Some(at) = self.receiver.deadline().filter(|&at| at < until) {
            if let Some(ack) = self.receiver.on_timer(at) {
                self.record_ack(at, &ack);
            }
        }
    }

    fn receive_packet(&mut self, case: &Case, packet: &Packet, now: Time) {
        let arrival = self.receiver.receive(&self.to_segment(case, packet), self.stamp_time(packet), now);
        for ack in arrival.earlier_ack.as_deref().into_iter().chain(&arrival.ack) {
            self.record_ack(now, ack);
        }
    }

    fn record_ack(&mut self, time: Time, ack: &Ack) {
        let behind_fin = self.closed && ack.segment_type != SegmentType::Fin;
        self.closed |= ack.segment_type == SegmentType::Fin;
        let packet = packet_of_ack(Side::B, time, ack, &self.segments, self.next + u64::from(behind_fin));
        self.sent.push(Packet { tsecr: self.echoed_timestamp_ms(ack), ..packet });
    }

    /// Of data that the host sends only what is acknowledged is ours.
    fn record_data_with_piggybacked_ack(&mut self, packet: &Packet) {
        let ack = self.receiver.piggybacked_ack(packet.sent);
        let flags = packet.flags.replace('E', "");
        self.next = self.next.max(packet.end_seq());
        self.sent.push(packet_with_ack(Packet { flags, tsecr: self.echoed_timestamp_ms(&ack), ..packet.clone() }, &ack, &self.segments));
    }

    /// Time of a packet's timestamp. A kernel may read the clock in one millisecond and send the packet in the next.
    fn stamp_time(&self, packet: &Packet) -> Time {
        let (Some(clock), Some(stamp)) = (self.stamps, packet.tsval) else { return packet.sent };
        let late = Span::from_millis((clock.millis(packet.sent) - clock.millis(Time::ZERO)).saturating_sub(stamp));
        Time::ZERO + packet.sent.since(Time::ZERO + late)
    }

    /// The time that an acknowledgement echoes, in milliseconds since the start.
    fn echoed_timestamp_ms(&self, ack: &Ack) -> Option<u64> {
        self.stamps.map(|clock| clock.millis(ack.echo) - clock.millis(Time::ZERO))
    }

    /// A real packet in our numbers.
    fn to_segment(&self, case: &Case, packet: &Packet) -> Segment {
        Segment {
            seq: self.segments.containing(packet.seq),
            size: wire_size_of_packet(&case.tcp, packet),
            segment_type: if packet.nth.is_none() { SegmentType::PureAck } else { segments::segment_type(packet) },
            ecn: Ecn::from_bits(packet.ecn_arrived),
            cwr: packet.has_flag('C'),
            ece: packet.has_flag('E'),
            retransmission: packet.nth.is_some_and(|nth| nth > 0),
            push: packet.has_flag('P'),
            ae: packet.has_flag('N'),
            accecn_option: packet.accecn.is_some(),
        }
    }
}
