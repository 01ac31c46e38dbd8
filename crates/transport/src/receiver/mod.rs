//! The receiver: what has arrived, when to acknowledge it, and the echo of marks (RFC 3168, section 6.1.3).

mod blocks;

use ecnlab_units::{Ecn, Span, Time};

use self::blocks::Blocks;
use crate::segment::{Ack, Segment};
use crate::settings::Settings;

/// Size of a SACK block in bytes (RFC 2018, section 3).
const BLOCK_SIZE: u32 = 8;

/// The receiving end of a connection.
#[derive(Debug)]
pub struct Receiver {
    ack_size: u32,
    sack_option: u32,
    blocks: Blocks,
    delay: Option<Span>,
    /// The next segment expected; all before it have arrived.
    next: u64,
    /// Runs of segments beyond `next` that have arrived, each `[from, to)`, ascending and apart.
    beyond: Vec<(u64, u64)>,
    /// Marks are echoed until the sender says that it has reacted.
    echo: bool,
    held: Option<Held>,
}

/// A segment whose acknowledgement is delayed.
#[derive(Clone, Copy, Debug)]
struct Held {
    segment: Segment,
    sent: Time,
    until: Time,
}

/// What an arriving segment brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Segments that the application can now read.
    pub delivered: u64,
    /// Acknowledgements to send at once, in this order: of a segment that was held back before, and of this one.
    pub held: Option<Ack>,
    pub ack: Option<Ack>,
}

impl Receiver {
    pub fn new(settings: &Settings) -> Receiver {
        Receiver {
            ack_size: settings.ack_size,
            sack_option: settings.sack_option,
            blocks: Blocks::new(settings.sack_blocks),
            delay: settings.delayed_ack,
            next: 0,
            beyond: Vec::new(),
            echo: false,
            held: None,
        }
    }

    /// Takes a segment that was sent at `sent`.
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> Arrival {
        let before = self.next;
        let fills_gap = !self.beyond.is_empty();
        self.store(segment.seq);
        let delivered = self.next - before;
        let in_order = self.next == segment.seq + 1;
        if let (Some(delay), None) = (self.delay, self.held)
            && in_order
            && !fills_gap
            && segment.seq > 0
        {
            self.held = Some(Held { segment: *segment, sent, until: now + delay });
            return Arrival { delivered, held: None, ack: None };
        }
        let held = self.held.take().map(|held| held.segment);
        Arrival { delivered, held: None, ack: Some(self.acknowledge(segment, held.as_ref(), sent)) }
    }

    /// When the receiver is to be woken.
    pub fn deadline(&self) -> Option<Time> {
        self.held.map(|held| held.until)
    }

    /// The deadline has come: a delayed acknowledgement is due.
    pub fn expire(&mut self, _now: Time) -> Option<Ack> {
        let held = self.held.take()?;
        Some(self.acknowledge(&held.segment, None, held.sent))
    }

    /// The next segment expected.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Segments that arrived out of order and wait for earlier ones.
    pub fn waiting(&self) -> u64 {
        self.beyond.iter().map(|(from, to)| to - from).sum()
    }

    fn acknowledge(&mut self, segment: &Segment, held: Option<&Segment>, sent: Time) -> Ack {
        let both = || [Some(segment), held].into_iter().flatten();
        if both().any(|s| s.cwr) {
            self.echo = false;
        }
        if both().any(|s| s.ecn == Ecn::Ce) {
            self.echo = true;
        }
        let capable = both().any(|s| s.ecn.is_capable());
        let negotiates = both().any(|s| s.ece && !s.ecn.is_capable());
        let mut ack = Ack {
            ece: capable && self.echo || negotiates,
            echo: sent,
            echo_retransmission: segment.retransmission,
            ..Ack::plain(self.next, self.ack_size)
        };
        if self.blocks.wanted() && !self.beyond.is_empty() {
            self.report_blocks(segment.seq, &mut ack);
        }
        ack
    }

    #[cold]
    fn report_blocks(&mut self, seq: u64, ack: &mut Ack) {
        ack.sacks = self.blocks.report(seq, self.next, &self.beyond);
        if !ack.sacks.is_empty() {
            ack.size += self.sack_option + BLOCK_SIZE * ack.sacks.as_slice().len() as u32;
        }
    }

    fn store(&mut self, seq: u64) {
        if seq < self.next {
            return;
        }
        if seq > self.next {
            self.store_beyond(seq);
            return;
        }
        self.next += 1;
        if let Some(&(from, to)) = self.beyond.first()
            && from == self.next
        {
            self.next = to;
            self.beyond.remove(0);
        }
    }

    fn store_beyond(&mut self, seq: u64) {
        let at = self.beyond.partition_point(|&(_, to)| to < seq);
        match self.beyond.get_mut(at) {
            Some((from, to)) if *from <= seq && seq < *to => return,
            Some((_, to)) if *to == seq => *to += 1,
            Some((from, _)) if *from == seq + 1 => *from = seq,
            _ => self.beyond.insert(at, (seq, seq + 1)),
        }
        if at + 1 < self.beyond.len() && self.beyond[at].1 == self.beyond[at + 1].0 {
            self.beyond[at].1 = self.beyond.remove(at + 1).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::segment::Kind;

    fn segment(seq: u64) -> Segment {
        Segment { seq, size: 1000, kind: Kind::Plain, ecn: Ecn::Ect0, cwr: false, ece: false, retransmission: false }
    }

    fn receiver() -> Receiver {
        Receiver::new(&profile::settings("ns2"))
    }

    fn ack(receiver: &mut Receiver, segment: Segment) -> Ack {
        receiver.receive(&segment, Time::ZERO, Time::ZERO).ack.unwrap()
    }

    #[test]
    fn acknowledgements_are_cumulative_over_any_order_of_arrival() {
        let mut receiver = receiver();
        let acks: Vec<u64> = [0, 2, 4, 3, 6, 1, 5].map(|seq| ack(&mut receiver, segment(seq)).next).to_vec();
        assert_eq!(vec![1, 1, 1, 1, 1, 5, 7], acks);
    }

    #[test]
    fn a_mark_is_echoed_until_cwr_and_a_mark_on_the_same_packet_starts_it_anew() {
        let mut receiver = receiver();
        let marked = |seq| Segment { ecn: Ecn::Ce, ..segment(seq) };
        let cwr = |seq| Segment { cwr: true, ..segment(seq) };
        let stream = [segment(0), marked(1), segment(2), cwr(3), segment(4), Segment { cwr: true, ..marked(5) }, segment(6)];
        assert_eq!([false, true, true, false, false, true, true], stream.map(|s| ack(&mut receiver, s).ece));
    }

    #[test]
    fn a_packet_that_is_not_capable_brings_no_echo() {
        let mut receiver = receiver();
        ack(&mut receiver, Segment { ecn: Ecn::Ce, ..segment(0) });
        assert!(!ack(&mut receiver, Segment { ecn: Ecn::NotEct, ..segment(1) }).ece);
    }

    #[test]
    fn a_delaying_receiver_acknowledges_every_second_packet_or_after_its_time() {
        let settings = Settings { delayed_ack: Some(Span::from_millis(100)), ..profile::settings("ns2") };
        let mut receiver = Receiver::new(&settings);
        let answers = [0, 1, 2, 3].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([Some(1), None, Some(3), None], answers);
        assert_eq!(Some(Time::ZERO + Span::from_millis(100)), receiver.deadline());
        assert_eq!(Some(4), receiver.expire(Time::ZERO).map(|ack| ack.next));
        assert_eq!(None, receiver.deadline());
    }

    #[test]
    fn a_delaying_receiver_answers_a_gap_at_once() {
        let settings = Settings { delayed_ack: Some(Span::from_millis(100)), ..profile::settings("ns2") };
        let mut receiver = Receiver::new(&settings);
        let answers = [0, 2, 1].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([Some(1), Some(1), Some(3)], answers);
    }
}
