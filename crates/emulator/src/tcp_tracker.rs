//! Tracks TCP connections at the router: round-trip times, retransmissions, and echoes of marks.
//!
//! A round-trip time is measured as `pping` does (Nichols 2018), from TCP's timestamps (RFC 7323): from a host's clock (TSval) on a packet
//! with data, SYN or FIN to its first echo (TSecr). A router inside a network measures one leg to either side and adds them. This router is
//! next to the hosts, so one measurement has both legs, from a device into the network and back to the same device. Without timestamps it
//! measures the handshake, from a SYN to the SYN-ACK, and later one segment at a time, from its departure to the acknowledgement that
//! covers it, unless something is retransmitted meanwhile (RFC 6298, section 3).
//!
//! Queues get the smallest value of the last 10 to 20 seconds. Queueing delays, mainly those of the queue itself, and delayed
//! acknowledgements are therefore not part of it.
//!
//! An echo of a mark is read from ECE (RFC 3168), or with Accurate ECN from the count in these flags. The count is modulo 8: a multiple of
//! eight marks between two acknowledgements is not seen (RFC 9768, section 3.2).
//!
//! State is bounded: each direction of a connection has at most [`MAX_PENDING_TSVALS`] clocks that wait for their echo, for at most a
//! minute. If there are more, every second one is removed, so that the samples stay spread over all packets. If the list refused new clocks
//! instead, it would sample only packets that were sent after a wait.

use ecnlab_units::{Span, Time};

use ecnlab_wire::{Flags, Tcp, TcpHeaderWithPorts, Timestamps};

use crate::address::{AddressSlot, Side};

/// Maximum number of clocks of a direction that wait for their echo.
pub const MAX_PENDING_TSVALS: usize = 64;
/// Time after which an echo is no longer expected.
const PENDING_TSVAL_TIMEOUT: Span = Span::from_secs(60);
/// Ports of a side that has sent nothing.
const UNSET_PORTS: (u16, u16) = (0, 0);
/// AE, CWR and ECE: of a SYN that requests Accurate ECN, of the SYN-ACKs that do not agree, and of the count of a host without a mark
/// (RFC 9768, sections 3.1.1 and 3.2.1).
const ACE_OF_ACCECN_SYN: u8 = 0b111;
const ACE_OF_SYN_ACK_WITHOUT_ACCECN: [u8; 3] = [0b000, 0b001, 0b111];
const INITIAL_ACE_COUNT: u8 = 0b101;
/// Half of the longest time over which the minimum is taken.
const MIN_RTT_HALF_WINDOW: Span = Span::from_secs(10);

/// Connections by the slots of their flows.
#[derive(Debug, Default)]
pub struct TcpTracker {
    groups: Vec<Vec<TrackedConnection>>,
}

/// The connection of a slot: the state of each side as a sender. A new connection replaces it on each side with its SYN. Until then the
/// accepting side still receives packets of the earlier one; later packets of that connection are not tracked.
#[derive(Clone, Debug, Default)]
struct TrackedConnection {
    sides: [SenderState; 2],
}

/// Information for the host that receives a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckInfo {
    /// The round-trip time, if the packet completes a sample.
    pub rtt: Option<Span>,
    /// Whether it echoes a mark for the first time in a window of data, so that a sender that reacts once per window reacts now.
    pub is_first_ecn_echo: bool,
}

/// State of a side as a sender, with the echoes that it received.
#[derive(Clone, Debug, Default)]
struct SenderState {
    /// Ports of the near and the far side.
    ports: (u16, u16),
    /// Sequence number after the last byte sent.
    snd_nxt: Option<u32>,
    /// Clocks that wait for their echo, oldest first.
    pending_tsvals: Vec<(u32, Time)>,
    newest_tsval: Option<u32>,
    /// Sequence number after the last byte sent, at the time of the last echoed mark.
    echo_window_end: Option<u32>,
    /// ECN request of the SYN, and the reply of the first SYN-ACK: AE, CWR and ECE as one number. Retransmissions may omit them, and hosts
    /// use the first ones.
    syn_ace: u8,
    syn_ack_ace: Option<u8>,
    /// Sequence number after the SYN. An acknowledgement of the SYN alone may report the handshake instead of a count.
    after_syn: Option<u32>,
    /// With Accurate ECN, the last report of the other side: its acknowledgement number, and its count.
    last_ace: Option<(u32, u8)>,
    /// Without timestamps: the end of the timed segment, and its send time.
    timed_segment: Option<(u32, Time)>,
    min_rtt: WindowedMinRtt,
}

/// Minimum over the last one or two windows.
#[derive(Clone, Copy, Debug, Default)]
struct WindowedMinRtt {
    window_start: Time,
    previous_min: Option<Span>,
    current_min: Option<Span>,
}

/// Whether a sequence number precedes another, modulo 2^32.
pub fn seq_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl TcpTracker {
    /// Records a packet that a host sends; returns whether it is a retransmission.
    pub fn on_sent(&mut self, slot: AddressSlot, side: Side, tcp: &TcpHeaderWithPorts, payload: u32, now: Time) -> bool {
        let ports = if side == Side::Near { tcp.ports } else { (tcp.ports.1, tcp.ports.0) };
        let sent = &mut self.connection_mut(slot).sides[side as usize];
        if sent.ports != ports {
            // The earlier connection may still send its end, even after the first packet of this one.
            if sent.ports != UNSET_PORTS && !tcp.header.flags.has(Flags::SYN) {
                return false;
            }
            // The minimum RTT belongs to the path, so the next connection keeps it.
            *sent = SenderState { ports, min_rtt: sent.min_rtt, ..SenderState::default() };
        }
        sent.on_segment_sent(&tcp.header, payload, now)
    }

    /// Records a packet that the host at a side receives.
    pub fn on_delivered(&mut self, slot: AddressSlot, side: Side, tcp: &TcpHeaderWithPorts, now: Time) -> AckInfo {
        let ports = if side == Side::Far { tcp.ports } else { (tcp.ports.1, tcp.ports.0) };
        let connection = self.connection_mut(slot);
        if connection.sides[side as usize].ports != ports {
            return AckInfo::default();
        }
        if tcp.header.flags.has(Flags::SYN) {
            connection.sides[side as usize].syn_ack_ace.get_or_insert(tcp.header.flags.ace());
        }
        let has_ace_counts = connection.uses_accurate_ecn();
        let sent = &mut connection.sides[side as usize];
        let is_echo = match (tcp.header.flags.has(Flags::SYN), has_ace_counts) {
            (true, _) => false,
            (false, true) => sent.is_new_ace_count(&tcp.header),
            (false, false) => tcp.header.flags.has(Flags::ACK) && tcp.header.flags.has(Flags::ECE),
        };
        AckInfo { rtt: sent.take_rtt_sample(&tcp.header, now), is_first_ecn_echo: is_echo && sent.is_first_echo_in_window(&tcp.header) }
    }

    /// The round-trip time that a side's packets show to queues.
    pub fn min_rtt(&self, slot: AddressSlot, side: Side) -> Option<Span> {
        let connection = self.groups.get(slot.group as usize)?.get(slot.number as usize)?;
        let [near, far] = connection.sides.each_ref().map(|sent| sent.min_rtt.min());
        if side == Side::Near { near.or(far) } else { far.or(near) }
    }

    fn connection_mut(&mut self, slot: AddressSlot) -> &mut TrackedConnection {
        let (group, number) = (slot.group as usize, slot.number as usize);
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Vec::new);
        }
        let slots = &mut self.groups[group];
        if slots.len() <= number {
            slots.resize_with(number + 1, TrackedConnection::default);
        }
        &mut slots[number]
    }
}

impl TrackedConnection {
    /// Whether both hosts have agreed on Accurate ECN (RFC 9768, section 3.1.1): the SYN has all three flags, and the flags of the SYN-ACK
    /// report the codepoint of the SYN.
    fn uses_accurate_ecn(&self) -> bool {
        let SenderState { syn_ace, syn_ack_ace, .. } = &self.sides[Side::Near as usize];
        *syn_ace == ACE_OF_ACCECN_SYN && syn_ack_ace.is_some_and(|answer| !ACE_OF_SYN_ACK_WITHOUT_ACCECN.contains(&answer))
    }
}

impl SenderState {
    fn on_segment_sent(&mut self, tcp: &Tcp, payload: u32, now: Time) -> bool {
        if tcp.flags.has(Flags::SYN) {
            self.syn_ace |= tcp.flags.ace();
            self.after_syn = Some(tcp.seq.wrapping_add(1));
        }
        let sequence_space = payload + u32::from(tcp.flags.has(Flags::SYN)) + u32::from(tcp.flags.has(Flags::FIN));
        if sequence_space == 0 {
            return false;
        }
        let end = tcp.seq.wrapping_add(sequence_space);
        let is_retransmission = self.snd_nxt.is_some_and(|snd_nxt| seq_before(tcp.seq, snd_nxt));
        match tcp.timestamps {
            // An acknowledgement of a retransmitted segment is ambiguous.
            None if is_retransmission => self.timed_segment = None,
            None => self.timed_segment = self.timed_segment.or(Some((end, now))),
            Some(stamps) => self.track_tsval(stamps.value, now),
        }
        self.snd_nxt = Some(self.snd_nxt.filter(|snd_nxt| !tcp.flags.has(Flags::SYN) && seq_before(end, *snd_nxt)).unwrap_or(end));
        is_retransmission
    }

    fn track_tsval(&mut self, clock: u32, now: Time) {
        self.pending_tsvals.retain(|(_, since)| now.since(*since) < PENDING_TSVAL_TIMEOUT);
        let is_new = self.newest_tsval.is_none_or(|newest| seq_before(newest, clock));
        if !is_new {
            return;
        }
        if self.pending_tsvals.len() == MAX_PENDING_TSVALS {
            let mut keeps = false;
            self.pending_tsvals.retain(|_| {
                keeps = !keeps;
                keeps
            });
        }
        self.pending_tsvals.push((clock, now));
        self.newest_tsval = Some(clock);
    }

    fn take_rtt_sample(&mut self, tcp: &Tcp, now: Time) -> Option<Span> {
        let began = match tcp.timestamps {
            None => self.timed_segment.take_if(|(end, _)| tcp.flags.has(Flags::ACK) && !seq_before(tcp.ack, *end)).map(|(_, since)| since),
            Some(Timestamps { echo, .. }) => {
                let at = self.pending_tsvals.iter().position(|(clock, _)| *clock == echo);
                // Earlier ones were not echoed, and will not be.
                at.and_then(|at| self.pending_tsvals.drain(..=at).next_back()).map(|(_, since)| since)
            }
        };
        let rtt = now.since(began?);
        self.min_rtt.on_rtt_sample(rtt, now);
        Some(rtt)
    }
}

impl SenderState {
    /// Whether the other side has counted another mark.
    fn is_new_ace_count(&mut self, tcp: &Tcp) -> bool {
        let (acked, count) = self.last_ace.unwrap_or((tcp.ack, INITIAL_ACE_COUNT));
        let is_old = !tcp.flags.has(Flags::ACK) || seq_before(tcp.ack, acked) || self.after_syn == Some(tcp.ack);
        if !is_old {
            self.last_ace = Some((tcp.ack, tcp.flags.ace()));
        }
        !is_old && tcp.flags.ace() != count
    }

    /// Whether an acknowledgement that echoes a mark is the first such in its window.
    fn is_first_echo_in_window(&mut self, tcp: &Tcp) -> bool {
        let is_new = self.echo_window_end.is_none_or(|echoed| seq_before(echoed, tcp.ack));
        if is_new {
            self.echo_window_end = self.snd_nxt;
        }
        is_new
    }
}

impl WindowedMinRtt {
    fn on_rtt_sample(&mut self, rtt: Span, now: Time) {
        let since = now.since(self.window_start);
        if since >= MIN_RTT_HALF_WINDOW {
            self.previous_min = self.current_min.filter(|_| since < MIN_RTT_HALF_WINDOW + MIN_RTT_HALF_WINDOW);
            (self.current_min, self.window_start) = (None, now);
        }
        self.current_min = Some(self.current_min.map_or(rtt, |smallest| smallest.min(rtt)));
    }

    fn min(&self) -> Option<Span> {
        self.previous_min.into_iter().chain(self.current_min).min()
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_wire::Tcp;

    use super::*;

    const SLOT: AddressSlot = AddressSlot { group: 0, number: 3 };
    const SYN: u16 = 2;
    const ACK: u16 = 16;
    const FIN: u16 = 1;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn segment(ports: (u16, u16), seq: u32, flags: u16, timestamps: Option<(u32, u32)>) -> TcpHeaderWithPorts {
        let timestamps = timestamps.map(|(value, echo)| Timestamps { value, echo });
        TcpHeaderWithPorts { ports, header: Tcp { seq, flags: Flags(flags), timestamps, ..Tcp::default() } }
    }

    fn with_ack(segment: TcpHeaderWithPorts, ack: u32) -> TcpHeaderWithPorts {
        TcpHeaderWithPorts { header: Tcp { ack, ..segment.header }, ..segment }
    }

    fn near_segment(seq: u32, flags: u16, timestamps: Option<(u32, u32)>) -> TcpHeaderWithPorts {
        segment((50_000, 80), seq, flags, timestamps)
    }

    fn far_segment(flags: u16, timestamps: Option<(u32, u32)>) -> TcpHeaderWithPorts {
        segment((80, 50_000), 0, flags, timestamps)
    }

    #[test]
    fn the_first_echo_of_a_tsval_ends_an_rtt_sample() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Near, &near_segment(1, ACK, Some((100, 0))), 1448, ms(10));
        connections.on_sent(SLOT, Side::Near, &near_segment(1449, ACK, Some((100, 0))), 1448, ms(11));
        let ended = [(7, 50), (8, 90)]
            .map(|(clock, at)| connections.on_delivered(SLOT, Side::Near, &far_segment(ACK, Some((clock, 100))), ms(at)).rtt);
        assert_eq!([Some(Span::from_millis(40)), None], ended);
        assert_eq!(Some(Span::from_millis(40)), connections.min_rtt(SLOT, Side::Near));
        assert_eq!(Some(Span::from_millis(40)), connections.min_rtt(SLOT, Side::Far), "whose own is not known");
    }

    #[test]
    fn pure_acks_give_no_rtt_sample() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Far, &far_segment(ACK, Some((7, 0))), 0, ms(0));
        connections.on_delivered(SLOT, Side::Far, &near_segment(1, ACK, Some((9, 7))), ms(5000));
        assert_eq!(None, connections.min_rtt(SLOT, Side::Far));
    }

    fn far_ack(ack: u32, flags: u16) -> TcpHeaderWithPorts {
        with_ack(far_segment(flags, None), ack)
    }

    #[test]
    fn without_timestamps_the_handshake_and_one_segment_at_a_time_are_timed() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Near, &near_segment(1, SYN, None), 0, ms(0));
        connections.on_sent(SLOT, Side::Far, &far_ack(2, SYN | ACK), 0, ms(20));
        assert_eq!(Some(Span::from_millis(41)), connections.on_delivered(SLOT, Side::Near, &far_ack(2, SYN | ACK), ms(41)).rtt);
        let acknowledges = with_ack(near_segment(2, ACK, None), 1);
        connections.on_sent(SLOT, Side::Near, &acknowledges, 1448, ms(41));
        connections.on_sent(SLOT, Side::Near, &near_segment(1450, ACK, None), 1448, ms(42));
        assert_eq!(Some(Span::from_millis(42)), connections.on_delivered(SLOT, Side::Far, &acknowledges, ms(62)).rtt);
        let ends = [(1000, 70), (2898, 90), (2898, 95)]
            .map(|(ack, at)| connections.on_delivered(SLOT, Side::Near, &far_ack(ack, ACK), ms(at)).rtt);
        assert_eq!([None, Some(Span::from_millis(49)), None], ends);
    }

    #[test]
    fn without_timestamps_retransmitted_segments_give_no_rtt_sample() {
        let mut connections = TcpTracker::default();
        let segment = near_segment(1, ACK, None);
        let is_retransmission = [0, 300].map(|at| connections.on_sent(SLOT, Side::Near, &segment, 1448, ms(at)));
        assert_eq!([false, true], is_retransmission);
        assert_eq!(None, connections.on_delivered(SLOT, Side::Near, &far_ack(1449, ACK), ms(340)).rtt);
    }

    #[test]
    fn rtt_samples_of_the_old_connection_end_until_the_far_side_answers_the_new_one() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Far, &far_segment(ACK, Some((7, 0))), 1000, ms(0));
        connections.on_sent(
            SLOT,
            Side::Near,
            &TcpHeaderWithPorts { ports: (50_001, 80), ..near_segment(1, SYN, Some((90, 0))) },
            0,
            ms(30),
        );
        assert_eq!(Some(Span::from_millis(40)), connections.on_delivered(SLOT, Side::Far, &near_segment(1, ACK, Some((9, 7))), ms(40)).rtt);
    }

    #[test]
    fn an_ece_echo_is_reported_once_per_window() {
        const ECE: u16 = 64;
        let mut connections = TcpTracker::default();
        let sends = |connections: &mut TcpTracker, seq| connections.on_sent(SLOT, Side::Near, &near_segment(seq, ACK, None), 1000, ms(0));
        let hears = |connections: &mut TcpTracker, ack, flags| {
            connections.on_delivered(SLOT, Side::Near, &far_ack(ack, flags), ms(9)).is_first_ecn_echo
        };
        sends(&mut connections, 1);
        assert!(!hears(&mut connections, 1, SYN | ACK | ECE), "the handshake agrees on ECN");
        sends(&mut connections, 1001);
        let found =
            [(501, ECE), (1001, ECE), (2001, ECE), (2501, 0), (3001, ECE)].map(|(ack, ece)| hears(&mut connections, ack, ACK | ece));
        assert_eq!([true, false, false, false, true], found);
    }

    /// A number as the three flags.
    fn ace(number: u16) -> u16 {
        number << 6
    }

    /// Which acknowledgements (number, count) are the first in a window to echo a mark, after a handshake with these flags.
    fn reported_echoes(syn: u16, answer: u16, acknowledgements: &[(u32, u16)]) -> Vec<bool> {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Near, &near_segment(0, SYN | ace(syn), None), 0, ms(0));
        connections.on_sent(SLOT, Side::Far, &far_ack(1, SYN | ACK | ace(answer)), 0, ms(1));
        assert!(!connections.on_delivered(SLOT, Side::Near, &far_ack(1, SYN | ACK | ace(answer)), ms(2)).is_first_ecn_echo);
        acknowledgements
            .iter()
            .map(|&(number, count)| {
                // A window of 2000 bytes is in flight.
                connections.on_sent(SLOT, Side::Near, &near_segment(number + 1000, ACK, None), 1000, ms(3));
                connections.on_delivered(SLOT, Side::Near, &far_ack(number, ACK | ace(count)), ms(4)).is_first_ecn_echo
            })
            .collect()
    }

    #[test]
    fn with_accurate_ecn_a_changed_ace_count_is_an_echo() {
        let counted = [(1001, 5), (2001, 6), (3001, 6), (4001, 7), (5001, 7), (6001, 1), (9001, 0), (12_001, 0)];
        let expected = [false, true, false, false, false, true, true, false];
        assert_eq!(expected[..], reported_echoes(7, 2, &counted)[..]);
        let ece = counted.map(|(_, count)| count & 1 == 1);
        let by_flags = reported_echoes(3, 1, &counted);
        assert!(by_flags.iter().zip(ece).all(|(first, ece)| ece || !first), "with RFC 3168 ECE alone says so: {by_flags:?}");
        assert_ne!(expected[..], by_flags[..]);
        assert_eq!(by_flags, reported_echoes(7, 1, &counted), "a host of RFC 3168 has answered");
    }

    #[test]
    fn a_retransmitted_syn_without_ecn_flags_does_not_undo_the_negotiation() {
        let mut connections = TcpTracker::default();
        for syn in [7, 0] {
            connections.on_sent(SLOT, Side::Near, &near_segment(0, SYN | ace(syn), None), 0, ms(0));
        }
        let answer = |ace_count| far_ack(1, SYN | ACK | ace(ace_count));
        for said in [2, 0] {
            connections.on_sent(SLOT, Side::Far, &answer(said), 0, ms(1));
            connections.on_delivered(SLOT, Side::Near, &answer(said), ms(2));
        }
        let hears = |connections: &mut TcpTracker, ack, count| {
            connections.on_sent(SLOT, Side::Near, &near_segment(ack + 1000, ACK, None), 1000, ms(3));
            connections.on_delivered(SLOT, Side::Near, &far_ack(ack, ACK | ace(count)), ms(4)).is_first_ecn_echo
        };
        assert_eq!([false, false, true], [(1001, 5), (2001, 5), (3001, 6)].map(|(ack, count)| hears(&mut connections, ack, count)));
    }

    #[test]
    fn a_reordered_ack_does_not_lower_the_ace_count() {
        let overtaken = [(1001, 5), (5001, 6), (3001, 5), (9001, 6)];
        assert_eq!([false, true, false, false][..], reported_echoes(7, 4, &overtaken)[..]);
    }

    #[test]
    fn the_first_ack_may_echo_a_mark() {
        assert_eq!([true, false][..], reported_echoes(7, 2, &[(1001, 6), (2001, 6)])[..]);
    }

    #[test]
    fn the_last_ack_of_the_handshake_is_no_ace_count() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Near, &near_segment(0, SYN | ace(7), None), 0, ms(0));
        connections.on_sent(SLOT, Side::Far, &far_ack(1, SYN | ACK | ace(2)), 0, ms(1));
        connections.on_delivered(SLOT, Side::Near, &far_ack(1, SYN | ACK | ace(2)), ms(1));
        let hears = |connections: &mut TcpTracker, ack, count| {
            connections.on_sent(SLOT, Side::Far, &segment((80, 50_000), ack, ACK, None), 1000, ms(2));
            connections.on_delivered(SLOT, Side::Far, &with_ack(near_segment(1, ACK | ace(count), None), ack), ms(3)).is_first_ecn_echo
        };
        let found = [(1, 2), (1, 5), (1, 2), (1001, 6), (2001, 6)].map(|(ack, count)| hears(&mut connections, ack, count));
        assert_eq!([false, false, false, true, false], found);
    }

    #[test]
    fn the_minimum_rtt_expires_after_two_windows() {
        let mut min_rtt = WindowedMinRtt::default();
        min_rtt.on_rtt_sample(Span::from_millis(40), ms(1000));
        min_rtt.on_rtt_sample(Span::from_millis(90), ms(11_000));
        assert_eq!(Some(Span::from_millis(40)), min_rtt.min());
        min_rtt.on_rtt_sample(Span::from_millis(80), ms(21_500));
        assert_eq!(Some(Span::from_millis(80)), min_rtt.min());
    }

    #[test]
    fn pending_tsvals_are_bounded_and_expire() {
        let mut sent = SenderState::default();
        (0..1000).for_each(|clock| sent.track_tsval(clock, ms(u64::from(clock))));
        let clocks: Vec<_> = sent.pending_tsvals.iter().map(|(clock, _)| *clock).collect();
        assert!(clocks.len() <= MAX_PENDING_TSVALS);
        assert!(clocks[0] < 100 && clocks.ends_with(&[999]), "those that wait stay spread over all: {clocks:?}");
        sent.track_tsval(2000, ms(120_000));
        assert_eq!(vec![(2000, ms(120_000))], sent.pending_tsvals);
    }

    #[test]
    fn data_below_snd_nxt_is_a_retransmission() {
        let mut connections = TcpTracker::default();
        let mut sends = |seq: u32, payload| connections.on_sent(SLOT, Side::Near, &near_segment(seq, ACK, None), payload, ms(0));
        let start = u32::MAX - 1000;
        assert_eq!([false, false, true], [start, start.wrapping_add(1448), start].map(|seq| sends(seq, 1448)));
        assert!(!sends(start.wrapping_add(2896), 0), "an acknowledgement is no data");
        assert!(!sends(start.wrapping_add(2896), 1448));
    }

    #[test]
    fn a_repeated_syn_is_a_retransmission() {
        let mut connections = TcpTracker::default();
        let mut opens = |at| connections.on_sent(SLOT, Side::Near, &near_segment(7, SYN, None), 0, ms(at));
        assert_eq!([false, true], [0, 1000].map(&mut opens));
    }

    #[test]
    fn a_repeated_syn_is_a_retransmission_also_after_segments_of_the_old_connection() {
        let mut connections = TcpTracker::default();
        let old = |flags| TcpHeaderWithPorts { ports: (49_999, 80), ..near_segment(90, flags, None) };
        connections.on_sent(SLOT, Side::Near, &old(SYN), 0, ms(0));
        let sent = [
            (Side::Near, near_segment(7, SYN, None)),
            (Side::Near, old(ACK)),
            (Side::Near, old(ACK | FIN)),
            (Side::Far, TcpHeaderWithPorts { ports: (80, 49_999), ..far_segment(ACK | FIN, None) }),
            (Side::Near, near_segment(7, SYN, None)),
        ];
        let is_retransmission: Vec<_> = (1..).zip(sent).map(|(at, (side, tcp))| connections.on_sent(SLOT, side, &tcp, 0, ms(at))).collect();
        assert_eq!(vec![false, false, false, false, true], is_retransmission);
    }

    #[test]
    fn segments_of_the_old_connection_do_not_disturb_the_handshake_s_rtt_sample() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Near, &near_segment(7, SYN, Some((100, 0))), 0, ms(0));
        connections.on_sent(
            SLOT,
            Side::Near,
            &TcpHeaderWithPorts { ports: (49_999, 80), ..near_segment(90, ACK, Some((100, 5))) },
            0,
            ms(1),
        );
        assert_eq!(
            Some(Span::from_millis(30)),
            connections.on_delivered(SLOT, Side::Near, &far_segment(SYN | ACK, Some((1, 100))), ms(30)).rtt
        );
    }

    #[test]
    fn a_new_connection_in_the_slot_resets_all_but_the_minimum_rtt() {
        let mut connections = TcpTracker::default();
        connections.on_sent(SLOT, Side::Near, &near_segment(9000, SYN, Some((100, 0))), 0, ms(0));
        connections.on_delivered(SLOT, Side::Near, &far_segment(SYN | ACK, Some((1, 100))), ms(30));
        let other = TcpHeaderWithPorts { ports: (50_001, 80), ..near_segment(5, SYN, Some((90, 0))) };
        assert!(!connections.on_sent(SLOT, Side::Near, &other, 0, ms(40)));
        assert!(!connections.on_sent(SLOT, Side::Near, &segment(other.ports, 6, ACK, Some((90, 0))), 100, ms(41)));
        assert_eq!(Some(Span::from_millis(30)), connections.min_rtt(SLOT, Side::Near));
    }
}
