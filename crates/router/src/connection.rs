//! What the router knows of connections by watching them: round-trip times, and which segments are sent again.
//!
//! A round-trip time is measured as `pping` does (Nichols 2018), from TCP's timestamps (RFC 7323): a host's clock (TSval) on a packet
//! with data, or a SYN or FIN, to the first echo of it (TSecr) that comes back. A router inside of a network sees a leg to either side and
//! adds them up; ours has the hosts' own doors, so both legs, from the door into the network and back to the same door, are one
//! measurement. Where a host has no timestamps, the handshake is measured, from a SYN to the answer, and later one segment at a time, from
//! its departure to the acknowledgement that covers it, unless anything is sent again meanwhile (RFC 6298, section 3).
//!
//! What queues are to see is the smallest of the last 10 to 20 seconds: waits in queues, those of the asking queue before all, and
//! acknowledgements that were delayed are not part of it then.
//!
//! Which acknowledgements echo a mark is read from ECE (RFC 3168), and where hosts have agreed on Accurate ECN from the count in its place, which
//! is modulo 8: where a multiple of eight marks comes between two acknowledgements, none is seen (RFC 9768, section 3.2).
//!
//! State is bounded: of each direction of a connection at most [`MOST_CLOCKS`] clocks wait for their echo, none longer than a minute. Where
//! more are on their way every second one is forgotten, so that those that are measured stay spread over all; a list that took no more
//! until it has room would measure what was sent behind waits alone.

use ecnlab_units::{Span, Time};

use crate::address::{Seat, Side};
use crate::packet::Tcp;

/// Clocks of a direction that wait for their echo.
pub const MOST_CLOCKS: usize = 64;
/// What has not come back by then does not come.
const LONGEST: Span = Span::from_secs(60);
/// Ports of a side that has sent nothing.
const UNKNOWN: (u16, u16) = (0, 0);
/// AE, CWR and ECE of a SYN that asks for Accurate ECN, those of the answers that do not agree, and the count of a host that has seen no mark
/// (RFC 9768, sections 3.1.1 and 3.2.1).
const ASKS: u8 = 0b111;
const REFUSES: [u8; 3] = [0b000, 0b001, 0b111];
const COUNTS_FROM: u8 = 0b101;
/// Half of the longest time over which the smallest is taken.
const WINDOW: Span = Span::from_secs(10);

/// Connections by the seats of their flows.
#[derive(Debug, Default)]
pub struct Connections {
    groups: Vec<Vec<Connection>>,
}

/// The connection of a seat: what each side has sent. A new one takes the place of the one before, on each side with its SYN: the side
/// that is called still hears of the one before until then, and what either sends of it later is not tracked.
#[derive(Clone, Debug, Default)]
struct Connection {
    sides: [Sent; 2],
}

/// What a packet brings the host that it has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The round trip that it ends, if it ends one.
    pub rtt: Option<Span>,
    /// It echoes a mark, the first time since more was acknowledged than was sent before the last such time: who answers marks once a
    /// window answers now.
    pub echoes: bool,
}

/// What a side has sent, and what came back of it.
#[derive(Clone, Debug, Default)]
struct Sent {
    /// The near one and the far one.
    ports: (u16, u16),
    /// The sequence number behind all that was sent.
    next: Option<u32>,
    /// Clocks that wait for their echo, oldest first.
    waiting: Vec<(u32, Time)>,
    newest: Option<u32>,
    /// The number behind all that was sent when a mark was echoed last.
    echoed: Option<u32>,
    /// What its SYNs asked of ECN, and what the first answer to them that came said: AE, CWR and ECE as one number. When either is sent again it
    /// may say nothing of it, and hosts hold to what came first.
    asked: u8,
    answered: Option<u8>,
    /// The number behind its SYN. Who acknowledges no more may still tell how the handshake has come, which is no count.
    opened: Option<u32>,
    /// What the other side has told last, where it counts marks: the number up to which it acknowledges, and its count.
    told: Option<(u32, u8)>,
    /// Without timestamps: the number behind the segment that is timed, and when it was sent.
    timed: Option<(u32, Time)>,
    smallest: Smallest,
}

/// The smallest of the last one or two windows.
#[derive(Clone, Copy, Debug, Default)]
struct Smallest {
    began: Time,
    before: Option<Span>,
    now: Option<Span>,
}

/// Whether a number comes before another, around zero.
pub fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Connections {
    /// A packet comes from a host into the network; whether it brings data that was sent before.
    pub fn entered(&mut self, seat: Seat, side: Side, tcp: &Tcp, payload: u32, now: Time) -> bool {
        let ports = if side == Side::Near { tcp.ports } else { (tcp.ports.1, tcp.ports.0) };
        let sent = &mut self.at(seat).sides[side as usize];
        if sent.ports != ports {
            // The connection before may still send what ends it, also behind the first packet of this one.
            if sent.ports != UNKNOWN && !tcp.flags.syn() {
                return false;
            }
            // What is known of the path outlives the connection.
            *sent = Sent { ports, smallest: sent.smallest, ..Sent::default() };
        }
        sent.send(tcp, payload, now)
    }

    /// A packet has come to the host at a side.
    pub fn left(&mut self, seat: Seat, side: Side, tcp: &Tcp, now: Time) -> Heard {
        let ports = if side == Side::Far { tcp.ports } else { (tcp.ports.1, tcp.ports.0) };
        let connection = self.at(seat);
        if connection.sides[side as usize].ports != ports {
            return Heard::default();
        }
        if tcp.flags.syn() {
            connection.sides[side as usize].answered.get_or_insert(tcp.flags.ace());
        }
        let counts = connection.counts_marks();
        let sent = &mut connection.sides[side as usize];
        let is_echo = match (tcp.flags.syn(), counts) {
            (true, _) => false,
            (false, true) => sent.hear_count(tcp),
            (false, false) => tcp.flags.ack() && tcp.flags.ece(),
        };
        Heard { rtt: sent.hear(tcp, now), echoes: is_echo && sent.is_first_echo(tcp) }
    }

    /// The round-trip time that a side's packets show to queues.
    pub fn rtt(&self, seat: Seat, side: Side) -> Option<Span> {
        let connection = self.groups.get(seat.group as usize)?.get(seat.number as usize)?;
        let [near, far] = connection.sides.each_ref().map(|sent| sent.smallest.smallest());
        if side == Side::Near { near.or(far) } else { far.or(near) }
    }

    fn at(&mut self, seat: Seat) -> &mut Connection {
        let (group, number) = (seat.group as usize, seat.number as usize);
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Vec::new);
        }
        let seats = &mut self.groups[group];
        if seats.len() <= number {
            seats.resize_with(number + 1, Connection::default);
        }
        &mut seats[number]
    }
}

impl Connection {
    /// Whether both hosts have agreed on Accurate ECN (RFC 9768, section 3.1.1): the SYN asks with all three flags, and the answer says in them
    /// how the SYN has arrived.
    fn counts_marks(&self) -> bool {
        let Sent { asked, answered, .. } = &self.sides[Side::Near as usize];
        *asked == ASKS && answered.is_some_and(|answer| !REFUSES.contains(&answer))
    }
}

impl Sent {
    fn send(&mut self, tcp: &Tcp, payload: u32, now: Time) -> bool {
        if tcp.flags.syn() {
            self.asked |= tcp.flags.ace();
            self.opened = Some(tcp.seq.wrapping_add(1));
        }
        let takes = payload + u32::from(tcp.flags.syn()) + u32::from(tcp.flags.fin());
        if takes == 0 {
            return false;
        }
        let end = tcp.seq.wrapping_add(takes);
        let again = self.next.is_some_and(|next| precedes(tcp.seq, next));
        match tcp.timestamps {
            // The acknowledgement of what was sent twice may be of either.
            None if again => self.timed = None,
            None => self.timed = self.timed.or(Some((end, now))),
            Some((clock, _)) => self.wait_for(clock, now),
        }
        self.next = Some(self.next.filter(|next| !tcp.flags.syn() && precedes(end, *next)).unwrap_or(end));
        again
    }

    fn wait_for(&mut self, clock: u32, now: Time) {
        self.waiting.retain(|(_, since)| now.since(*since) < LONGEST);
        let is_new = self.newest.is_none_or(|newest| precedes(newest, clock));
        if !is_new {
            return;
        }
        if self.waiting.len() == MOST_CLOCKS {
            let mut keeps = false;
            self.waiting.retain(|_| {
                keeps = !keeps;
                keeps
            });
        }
        self.waiting.push((clock, now));
        self.newest = Some(clock);
    }

    fn hear(&mut self, tcp: &Tcp, now: Time) -> Option<Span> {
        let began = match tcp.timestamps {
            None => self.timed.take_if(|(end, _)| tcp.flags.ack() && !precedes(tcp.ack, *end)).map(|(_, since)| since),
            Some((_, echo)) => {
                let at = self.waiting.iter().position(|(clock, _)| *clock == echo);
                // Those before it were not echoed, and will not be.
                at.and_then(|at| self.waiting.drain(..=at).next_back()).map(|(_, since)| since)
            }
        };
        let rtt = now.since(began?);
        self.smallest.add(rtt, now);
        Some(rtt)
    }
}

impl Sent {
    /// Whether the other side has counted a mark more.
    fn hear_count(&mut self, tcp: &Tcp) -> bool {
        let (acked, count) = self.told.unwrap_or((tcp.ack, COUNTS_FROM));
        let is_old = !tcp.flags.ack() || precedes(tcp.ack, acked) || self.opened == Some(tcp.ack);
        if !is_old {
            self.told = Some((tcp.ack, tcp.flags.ace()));
        }
        !is_old && tcp.flags.ace() != count
    }

    /// Whether an acknowledgement that echoes a mark is the first one in a window that does.
    fn is_first_echo(&mut self, tcp: &Tcp) -> bool {
        let is_new = self.echoed.is_none_or(|echoed| precedes(echoed, tcp.ack));
        if is_new {
            self.echoed = self.next;
        }
        is_new
    }
}

impl Smallest {
    fn add(&mut self, rtt: Span, now: Time) {
        let since = now.since(self.began);
        if since >= WINDOW {
            self.before = self.now.filter(|_| since < WINDOW + WINDOW);
            (self.now, self.began) = (None, now);
        }
        self.now = Some(self.now.map_or(rtt, |smallest| smallest.min(rtt)));
    }

    fn smallest(&self) -> Option<Span> {
        self.before.into_iter().chain(self.now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Flags;

    const SEAT: Seat = Seat { group: 0, number: 3 };
    const SYN: u16 = 2;
    const ACK: u16 = 16;
    const FIN: u16 = 1;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn near(seq: u32, flags: u16, timestamps: Option<(u32, u32)>) -> Tcp {
        Tcp { ports: (50_000, 80), seq, ack: 0, flags: Flags(flags), timestamps }
    }

    fn far(flags: u16, timestamps: Option<(u32, u32)>) -> Tcp {
        Tcp { ports: (80, 50_000), seq: 0, ack: 0, flags: Flags(flags), timestamps }
    }

    #[test]
    fn the_first_echo_of_a_clock_ends_a_round_trip() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Near, &near(1, ACK, Some((100, 0))), 1448, ms(10));
        connections.entered(SEAT, Side::Near, &near(1449, ACK, Some((100, 0))), 1448, ms(11));
        let ended = [(7, 50), (8, 90)].map(|(clock, at)| connections.left(SEAT, Side::Near, &far(ACK, Some((clock, 100))), ms(at)).rtt);
        assert_eq!([Some(Span::from_millis(40)), None], ended);
        assert_eq!(Some(Span::from_millis(40)), connections.rtt(SEAT, Side::Near));
        assert_eq!(Some(Span::from_millis(40)), connections.rtt(SEAT, Side::Far), "whose own is not known");
    }

    #[test]
    fn acknowledgements_alone_are_never_echoed_in_time() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Far, &far(ACK, Some((7, 0))), 0, ms(0));
        connections.left(SEAT, Side::Far, &near(1, ACK, Some((9, 7))), ms(5000));
        assert_eq!(None, connections.rtt(SEAT, Side::Far));
    }

    fn answers(ack: u32, flags: u16) -> Tcp {
        Tcp { ack, ..far(flags, None) }
    }

    #[test]
    fn without_timestamps_the_handshake_counts_and_one_segment_at_a_time() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Near, &near(1, SYN, None), 0, ms(0));
        connections.entered(SEAT, Side::Far, &answers(2, SYN | ACK), 0, ms(20));
        assert_eq!(Some(Span::from_millis(41)), connections.left(SEAT, Side::Near, &answers(2, SYN | ACK), ms(41)).rtt);
        let acknowledges = Tcp { ack: 1, ..near(2, ACK, None) };
        connections.entered(SEAT, Side::Near, &acknowledges, 1448, ms(41));
        connections.entered(SEAT, Side::Near, &near(1450, ACK, None), 1448, ms(42));
        assert_eq!(Some(Span::from_millis(42)), connections.left(SEAT, Side::Far, &acknowledges, ms(62)).rtt);
        let ends = [(1000, 70), (2898, 90), (2898, 95)].map(|(ack, at)| connections.left(SEAT, Side::Near, &answers(ack, ACK), ms(at)).rtt);
        assert_eq!([None, Some(Span::from_millis(49)), None], ends);
    }

    #[test]
    fn without_timestamps_nothing_that_was_sent_twice_is_timed() {
        let mut connections = Connections::default();
        let segment = near(1, ACK, None);
        let again = [0, 300].map(|at| connections.entered(SEAT, Side::Near, &segment, 1448, ms(at)));
        assert_eq!([false, true], again);
        assert_eq!(None, connections.left(SEAT, Side::Near, &answers(1449, ACK), ms(340)).rtt);
    }

    #[test]
    fn the_side_that_is_called_hears_of_the_connection_before_until_it_answers_the_next() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Far, &far(ACK, Some((7, 0))), 1000, ms(0));
        connections.entered(SEAT, Side::Near, &Tcp { ports: (50_001, 80), ..near(1, SYN, Some((90, 0))) }, 0, ms(30));
        assert_eq!(Some(Span::from_millis(40)), connections.left(SEAT, Side::Far, &near(1, ACK, Some((9, 7))), ms(40)).rtt);
    }

    #[test]
    fn an_echo_of_a_mark_is_news_once_a_window() {
        const ECE: u16 = 64;
        let mut connections = Connections::default();
        let sends = |connections: &mut Connections, seq| connections.entered(SEAT, Side::Near, &near(seq, ACK, None), 1000, ms(0));
        let hears = |connections: &mut Connections, ack, flags| connections.left(SEAT, Side::Near, &answers(ack, flags), ms(9)).echoes;
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

    /// Which of acknowledgements, by their number and count, echo a mark first in a window, of a connection whose handshake said this.
    fn first_echoes(syn: u16, answer: u16, acknowledgements: &[(u32, u16)]) -> Vec<bool> {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Near, &near(0, SYN | ace(syn), None), 0, ms(0));
        connections.entered(SEAT, Side::Far, &answers(1, SYN | ACK | ace(answer)), 0, ms(1));
        assert!(!connections.left(SEAT, Side::Near, &answers(1, SYN | ACK | ace(answer)), ms(2)).echoes);
        acknowledgements
            .iter()
            .map(|&(number, count)| {
                // A window of 2000 bytes is on its way.
                connections.entered(SEAT, Side::Near, &near(number + 1000, ACK, None), 1000, ms(3));
                connections.left(SEAT, Side::Near, &answers(number, ACK | ace(count)), ms(4)).echoes
            })
            .collect()
    }

    #[test]
    fn where_hosts_count_marks_a_count_that_has_changed_echoes_one() {
        let counted = [(1001, 5), (2001, 6), (3001, 6), (4001, 7), (5001, 7), (6001, 1), (9001, 0), (12_001, 0)];
        let expected = [false, true, false, false, false, true, true, false];
        assert_eq!(expected[..], first_echoes(7, 2, &counted)[..]);
        let ece = counted.map(|(_, count)| count & 1 == 1);
        let by_flags = first_echoes(3, 1, &counted);
        assert!(by_flags.iter().zip(ece).all(|(first, ece)| ece || !first), "with RFC 3168 ECE alone says so: {by_flags:?}");
        assert_ne!(expected[..], by_flags[..]);
        assert_eq!(by_flags, first_echoes(7, 1, &counted), "a host of RFC 3168 has answered");
    }

    #[test]
    fn what_comes_again_without_a_word_of_ecn_takes_nothing_back() {
        let mut connections = Connections::default();
        for syn in [7, 0] {
            connections.entered(SEAT, Side::Near, &near(0, SYN | ace(syn), None), 0, ms(0));
        }
        let answer = |said| answers(1, SYN | ACK | ace(said));
        for said in [2, 0] {
            connections.entered(SEAT, Side::Far, &answer(said), 0, ms(1));
            connections.left(SEAT, Side::Near, &answer(said), ms(2));
        }
        let hears = |connections: &mut Connections, ack, count| {
            connections.entered(SEAT, Side::Near, &near(ack + 1000, ACK, None), 1000, ms(3));
            connections.left(SEAT, Side::Near, &answers(ack, ACK | ace(count)), ms(4)).echoes
        };
        assert_eq!([false, false, true], [(1001, 5), (2001, 5), (3001, 6)].map(|(ack, count)| hears(&mut connections, ack, count)));
    }

    #[test]
    fn an_acknowledgement_that_was_overtaken_takes_back_no_count() {
        let overtaken = [(1001, 5), (5001, 6), (3001, 5), (9001, 6)];
        assert_eq!([false, true, false, false][..], first_echoes(7, 4, &overtaken)[..]);
    }

    #[test]
    fn the_first_acknowledgement_may_tell_of_a_mark() {
        assert_eq!([true, false][..], first_echoes(7, 2, &[(1001, 6), (2001, 6)])[..]);
    }

    #[test]
    fn the_handshake_s_last_packet_tells_how_the_answer_came_and_counts_nothing() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Near, &near(0, SYN | ace(7), None), 0, ms(0));
        connections.entered(SEAT, Side::Far, &answers(1, SYN | ACK | ace(2)), 0, ms(1));
        connections.left(SEAT, Side::Near, &answers(1, SYN | ACK | ace(2)), ms(1));
        let hears = |connections: &mut Connections, ack, count| {
            connections.entered(SEAT, Side::Far, &Tcp { seq: ack, ..far(ACK, None) }, 1000, ms(2));
            connections.left(SEAT, Side::Far, &Tcp { ack, ..near(1, ACK | ace(count), None) }, ms(3)).echoes
        };
        let found = [(1, 2), (1, 5), (1, 2), (1001, 6), (2001, 6)].map(|(ack, count)| hears(&mut connections, ack, count));
        assert_eq!([false, false, false, true, false], found);
    }

    #[test]
    fn the_smallest_is_forgotten_after_two_windows() {
        let mut smallest = Smallest::default();
        smallest.add(Span::from_millis(40), ms(1000));
        smallest.add(Span::from_millis(90), ms(11_000));
        assert_eq!(Some(Span::from_millis(40)), smallest.smallest());
        smallest.add(Span::from_millis(80), ms(21_500));
        assert_eq!(Some(Span::from_millis(80)), smallest.smallest());
    }

    #[test]
    fn the_state_of_a_direction_is_bounded_and_aged() {
        let mut sent = Sent::default();
        (0..1000).for_each(|clock| sent.wait_for(clock, ms(u64::from(clock))));
        let clocks: Vec<_> = sent.waiting.iter().map(|(clock, _)| *clock).collect();
        assert!(clocks.len() <= MOST_CLOCKS);
        assert!(clocks[0] < 100 && clocks.ends_with(&[999]), "those that wait stay spread over all: {clocks:?}");
        sent.wait_for(2000, ms(120_000));
        assert_eq!(vec![(2000, ms(120_000))], sent.waiting);
    }

    #[test]
    fn what_lies_before_the_highest_number_is_sent_again() {
        let mut connections = Connections::default();
        let mut sends = |seq: u32, payload| connections.entered(SEAT, Side::Near, &near(seq, ACK, None), payload, ms(0));
        let start = u32::MAX - 1000;
        assert_eq!([false, false, true], [start, start.wrapping_add(1448), start].map(|seq| sends(seq, 1448)));
        assert!(!sends(start.wrapping_add(2896), 0), "an acknowledgement is no data");
        assert!(!sends(start.wrapping_add(2896), 1448));
    }

    #[test]
    fn a_syn_is_sent_again_too() {
        let mut connections = Connections::default();
        let mut opens = |at| connections.entered(SEAT, Side::Near, &near(7, SYN, None), 0, ms(at));
        assert_eq!([false, true], [0, 1000].map(&mut opens));
    }

    #[test]
    fn a_syn_is_sent_again_also_behind_the_end_of_the_connection_before() {
        let mut connections = Connections::default();
        let old = |flags| Tcp { ports: (49_999, 80), ..near(90, flags, None) };
        connections.entered(SEAT, Side::Near, &old(SYN), 0, ms(0));
        let sent = [
            (Side::Near, near(7, SYN, None)),
            (Side::Near, old(ACK)),
            (Side::Near, old(ACK | FIN)),
            (Side::Far, Tcp { ports: (80, 49_999), ..far(ACK | FIN, None) }),
            (Side::Near, near(7, SYN, None)),
        ];
        let again: Vec<_> = (1..).zip(sent).map(|(at, (side, tcp))| connections.entered(SEAT, side, &tcp, 0, ms(at))).collect();
        assert_eq!(vec![false, false, false, false, true], again);
    }

    #[test]
    fn the_end_of_the_connection_before_takes_no_handshake_its_time() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Near, &near(7, SYN, Some((100, 0))), 0, ms(0));
        connections.entered(SEAT, Side::Near, &Tcp { ports: (49_999, 80), ..near(90, ACK, Some((100, 5))) }, 0, ms(1));
        assert_eq!(Some(Span::from_millis(30)), connections.left(SEAT, Side::Near, &far(SYN | ACK, Some((1, 100))), ms(30)).rtt);
    }

    #[test]
    fn a_new_connection_of_the_seat_starts_anew_but_for_the_path() {
        let mut connections = Connections::default();
        connections.entered(SEAT, Side::Near, &near(9000, SYN, Some((100, 0))), 0, ms(0));
        connections.left(SEAT, Side::Near, &far(SYN | ACK, Some((1, 100))), ms(30));
        let other = Tcp { ports: (50_001, 80), ..near(5, SYN, Some((90, 0))) };
        assert!(!connections.entered(SEAT, Side::Near, &other, 0, ms(40)));
        assert!(!connections.entered(SEAT, Side::Near, &Tcp { flags: Flags(ACK), seq: 6, ..other }, 100, ms(41)));
        assert_eq!(Some(Span::from_millis(30)), connections.rtt(SEAT, Side::Near));
    }
}
