//! The data of one direction and its acknowledgements: when CWR is due and allowed, and when ECE is.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use crate::memory_budget::MemoryBudget;
use crate::reassembly::Reassembly;

/// Marks that are kept to compare acknowledgements with; a window has fewer.
const MAX_PENDING_MARKS: usize = 4096;

/// Time within which CWR must follow an echo, in addition to two windows; only round trips through bufferbloat are longer.
const ECHO_ANSWER_TIMEOUT: Span = Span::from_secs(1);

/// A segment `[start, end)`.
pub type Segment = (u64, u64);

/// ECN state of one direction's data.
#[derive(Debug, Default)]
pub struct EcnSession {
    /// Data that the source has sent, and data that has arrived at the sink.
    sent_ranges: Reassembly,
    received_ranges: Reassembly,
    /// Nothing from `snd_max` on was sent; everything below `snd_una` is acknowledged.
    snd_max: u64,
    snd_una: u64,
    /// The last new segment with CWR.
    last_cwr: Option<Segment>,
    has_retransmitted: bool,
    /// An echo that CWR has not answered yet.
    pending_echo: Option<UnansweredEcho>,
    /// The first mark that is to be echoed, and whether it was.
    mark_to_echo: Option<Segment>,
    has_echo_begun: bool,
    /// A CWR that came to the sink: when it is acknowledged only marks from `mark_after_cwr` on are owed.
    received_cwr: Option<Segment>,
    mark_after_cwr: Option<Segment>,
    /// Data that the sink had already came with CE; it may echo that, but need not (section 6.1.5).
    may_echo_duplicate: bool,
    marks: VecDeque<Segment>,
    /// Some marks are not in `marks`, which was full.
    has_dropped_marks: bool,
    /// The highest acknowledgement that was compared.
    last_compared_ack: u64,
    /// End of the data that was sent before a retransmission or a reordering: duplicate acknowledgements may have echoed its marks at arrival.
    reordered_below: u64,
    /// Nothing from here on has arrived at the sink.
    rcv_max: u64,
    /// Acknowledgements on which RFC 3168 and DCTCP differ: counts of those that agree with RFC 3168, and with DCTCP.
    classic_acks: u64,
    dctcp_acks: u64,
    /// An acknowledgement with ECE covered a mark last, as DCTCP's do; a sink that never sets ECE is not a DCTCP receiver.
    has_echoed_mark: bool,
}

/// An echo, and the end of the data that was sent before the source could answer it. That takes two windows, since the source may be far
/// from the capture, and a minimum time, since a window is acknowledged at once where a capture was made at the sink.
#[derive(Clone, Copy, Debug)]
struct UnansweredEcho {
    since: Time,
    until_seq: u64,
    is_second_window: bool,
}

/// An acknowledgement compared with what RFC 3168 asks, and with what DCTCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoVerdicts {
    pub classic: ClassicEchoVerdict,
    pub dctcp: DctcpEchoVerdict,
}

/// An acknowledgement compared with RFC 8257, section 3.2: ECE is set if and only if the last packet came with CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DctcpEchoVerdict {
    /// It agrees, or the file does not show what it should be.
    Consistent,
    /// The last packet that it acknowledges came with CE, and ECE is not set.
    Missing(Segment),
    /// The last packet that it acknowledges came without CE, and ECE is set.
    Unsolicited,
}

/// An acknowledgement compared with the marks that came before it, by RFC 3168, section 6.1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassicEchoVerdict {
    Consistent,
    /// A mark was never echoed.
    Missing(Segment),
    /// A mark was echoed, but not until CWR.
    Stopped(Segment),
    /// No mark is to be echoed.
    Unsolicited,
}

impl EcnSession {
    /// Whether a segment was sent before.
    pub fn has_sent(&self, (start, end): Segment) -> bool {
        self.sent_ranges.contains(start, end)
    }

    /// Processes a segment of the source.
    pub fn on_sent(&mut self, segment: Segment, is_retransmission: bool, memory: &mut MemoryBudget) {
        // A segment that was lost before the capture may have had CWR.
        let snd_max_before = self.snd_max;
        let is_incomplete = snd_max_before > 0 && segment.0 > snd_max_before;
        self.sent_ranges.insert_and_deliver(segment.0, segment.1, 0, memory);
        self.snd_max = self.snd_max.max(segment.1);
        if segment.0 < snd_max_before {
            self.reordered_below = self.snd_max;
        }
        if is_retransmission || is_incomplete {
            (self.has_retransmitted, self.pending_echo) = (true, None);
        }
        if is_retransmission {
            self.mark_to_echo = self.mark_to_echo.filter(|&mark| !overlaps(mark, segment));
            self.mark_after_cwr = self.mark_after_cwr.filter(|&mark| !overlaps(mark, segment));
        }
    }

    /// Processes a new segment with CWR; returns whether CWR is allowed: the data sent before the last CWR is acknowledged, or a loss came in
    /// between. Without acknowledgements in the file it is allowed.
    pub fn on_cwr(&mut self, segment: Segment) -> bool {
        let is_allowed = self.snd_una == 0 || self.has_retransmitted || self.last_cwr.is_none_or(|(start, _)| start <= self.snd_una);
        (self.last_cwr, self.has_retransmitted, self.pending_echo) = (Some(segment), false, None);
        is_allowed
    }

    /// Processes CWR on a retransmission, which RFC 3168 discourages; the source has reduced its window nevertheless.
    pub fn on_cwr_retransmission(&mut self) {
        (self.last_cwr, self.pending_echo) = (Some((self.snd_max, self.snd_max)), None);
    }

    /// Processes a segment that arrives at the sink.
    pub fn on_sink_arrival(&mut self, segment: Segment, has_ce: bool, has_cwr: bool, memory: &mut MemoryBudget) {
        if has_cwr {
            (self.received_cwr, self.mark_after_cwr, self.may_echo_duplicate) = (Some(segment), None, false);
        }
        if self.received_ranges.contains(segment.0, segment.1) {
            self.may_echo_duplicate |= has_ce;
            return;
        }
        self.received_ranges.insert_and_deliver(segment.0, segment.1, 0, memory);
        if segment.0 < self.rcv_max {
            self.reordered_below = self.reordered_below.max(self.rcv_max);
        }
        self.rcv_max = self.rcv_max.max(segment.1);
        if has_ce {
            self.mark_to_echo.get_or_insert(segment);
            if self.received_cwr.is_some_and(|cwr| cwr.0 <= segment.0) {
                self.mark_after_cwr.get_or_insert(segment);
            }
            if self.marks.len() < MAX_PENDING_MARKS {
                self.marks.push_back(segment);
            } else {
                self.has_dropped_marks = true;
            }
        }
    }

    /// Compares an acknowledgement of everything below `number` with the marks. `is_exact` if the file shows arrivals at the sink: otherwise a
    /// CWR may be on its way until it is acknowledged, and an acknowledgement before that may be either.
    pub fn compare_ack(&mut self, number: u64, has_ece: bool, is_exact: bool) -> EchoVerdicts {
        let newest_acked = self.take_newest_acked(number);
        if self.received_cwr.is_some_and(|(_, end)| is_exact || end <= number) {
            (self.mark_to_echo, self.mark_after_cwr, self.received_cwr, self.has_echo_begun) = (self.mark_after_cwr, None, None, false);
        }
        self.has_echoed_mark |= has_ece && matches!(newest_acked, NewestAcked::Marked(_));
        let is_due = self.received_cwr.is_none() && self.mark_to_echo.is_some_and(|mark| mark.1 <= number);
        if is_due && newest_acked == NewestAcked::Unmarked {
            *(if has_ece { &mut self.classic_acks } else { &mut self.dctcp_acks }) += 1;
        }
        let dctcp = match newest_acked {
            NewestAcked::Marked(mark) if !has_ece => DctcpEchoVerdict::Missing(mark),
            NewestAcked::Unmarked if has_ece && is_exact => DctcpEchoVerdict::Unsolicited,
            _ => DctcpEchoVerdict::Consistent,
        };
        EchoVerdicts { classic: self.check_classic_echo(number, has_ece), dctcp }
    }

    fn check_classic_echo(&mut self, number: u64, has_ece: bool) -> ClassicEchoVerdict {
        match self.mark_to_echo {
            None if has_ece && !self.may_echo_duplicate => ClassicEchoVerdict::Unsolicited,
            Some(_) if self.received_cwr.is_some() => ClassicEchoVerdict::Consistent,
            Some(mark) if mark.1 <= number && !has_ece && self.has_echo_begun => ClassicEchoVerdict::Stopped(mark),
            Some(mark) if mark.1 <= number && !has_ece => ClassicEchoVerdict::Missing(mark),
            _ => {
                self.has_echo_begun |= has_ece;
                ClassicEchoVerdict::Consistent
            }
        }
    }

    /// Processes an acknowledgement at the source; returns whether an earlier echo has gone without CWR for too long.
    pub fn on_ack(&mut self, number: u64, has_ece: bool, now: Time) -> bool {
        self.snd_una = self.snd_una.max(number);
        if has_ece && self.last_cwr.is_none_or(|(_, end)| end < number) && self.pending_echo.is_none() {
            self.pending_echo = Some(UnansweredEcho { since: now, until_seq: self.snd_max, is_second_window: false });
        }
        let Some(echo) = self.pending_echo.filter(|echo| echo.until_seq <= self.snd_una && echo.until_seq < self.snd_max) else {
            return false;
        };
        if !echo.is_second_window {
            self.pending_echo = Some(UnansweredEcho { until_seq: self.snd_max, is_second_window: true, ..echo });
            return false;
        }
        let is_overdue = now.since(echo.since) >= ECHO_ANSWER_TIMEOUT;
        self.pending_echo = self.pending_echo.filter(|_| !is_overdue);
        is_overdue
    }

    pub fn release_memory(&mut self, memory: &mut MemoryBudget) {
        self.sent_ranges.release_memory(memory);
        self.received_ranges.release_memory(memory);
    }

    /// Whether the sink sets ECE by the last packet, instead of until CWR (DCTCP: RFC 8257, section 3.2). The two differ on acknowledgements
    /// that cover no mark while an earlier mark is not answered by CWR; most of these decide.
    pub fn is_dctcp_receiver(&self) -> bool {
        self.has_echoed_mark && self.dctcp_acks > self.classic_acks
    }

    /// The last packet that an acknowledgement newly covers. An acknowledgement that was lost before this place changes nothing about it. Data that came
    /// out of order was echoed as it came, and not by the acknowledgement that covers it once the gap is filled.
    fn take_newest_acked(&mut self, number: u64) -> NewestAcked {
        let mut last = None;
        while self.marks.front().is_some_and(|mark| mark.1 <= number) {
            last = self.marks.pop_front();
        }
        let is_new = number > self.last_compared_ack.max(self.reordered_below);
        self.last_compared_ack = self.last_compared_ack.max(number);
        let is_partial_mark = self.marks.front().is_some_and(|mark| mark.0 < number);
        if !is_new || self.has_dropped_marks || is_partial_mark || !self.received_ranges.contains(number - 1, number) {
            return NewestAcked::Unknown;
        }
        last.filter(|mark| mark.1 == number).map_or(NewestAcked::Unmarked, NewestAcked::Marked)
    }
}

/// The last packet that an acknowledgement newly covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NewestAcked {
    Unknown,
    Marked(Segment),
    Unmarked,
}

fn overlaps(one: Segment, other: Segment) -> bool {
    one.0 < other.1 && other.0 < one.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments are sent and arrive at the sink, the listed ones with CE.
    fn session_with_marks(marks: &[u64]) -> EcnSession {
        let (mut ecn_session, mut memory) = (EcnSession::default(), MemoryBudget::default());
        for start in 0..10 {
            ecn_session.on_sent((start, start + 1), false, &mut memory);
            ecn_session.on_sink_arrival((start, start + 1), marks.contains(&start), false, &mut memory);
        }
        ecn_session
    }

    #[test]
    fn an_echo_begins_with_the_mark_and_ends_with_cwr() {
        let (mut ecn_session, mut memory) = (session_with_marks(&[2]), MemoryBudget::default());
        let echoes = [(1, false), (3, true), (4, true)].map(|(number, echo)| ecn_session.compare_ack(number, echo, false).classic);
        assert_eq!([ClassicEchoVerdict::Consistent; 3], echoes);
        ecn_session.on_sent((10, 11), false, &mut memory);
        ecn_session.on_sink_arrival((10, 11), false, true, &mut memory);
        assert_eq!(ClassicEchoVerdict::Consistent, ecn_session.compare_ack(10, true, false).classic);
        assert_eq!(ClassicEchoVerdict::Consistent, ecn_session.compare_ack(11, false, false).classic);
        assert_eq!(ClassicEchoVerdict::Unsolicited, ecn_session.compare_ack(12, true, false).classic);
    }

    #[test]
    fn a_mark_without_an_echo_is_found_and_so_is_an_echo_that_stops_early() {
        assert_eq!(ClassicEchoVerdict::Missing((2, 3)), session_with_marks(&[2]).compare_ack(3, false, false).classic);
        let mut ecn_session = session_with_marks(&[2]);
        ecn_session.compare_ack(3, true, false);
        assert_eq!(ClassicEchoVerdict::Stopped((2, 3)), ecn_session.compare_ack(4, false, false).classic);
    }

    #[test]
    fn a_mark_on_the_packet_with_cwr_is_echoed_again() {
        let (mut ecn_session, mut memory) = (session_with_marks(&[2]), MemoryBudget::default());
        ecn_session.compare_ack(3, true, false);
        ecn_session.on_sink_arrival((10, 11), true, true, &mut memory);
        assert_eq!(ClassicEchoVerdict::Missing((10, 11)), ecn_session.compare_ack(11, false, false).classic);
    }

    #[test]
    fn after_a_loss_duplicate_acks_echo_marks_and_not_the_ack_that_covers_them() {
        let (mut ecn_session, mut memory) = (session_with_marks(&[1, 6]), MemoryBudget::default());
        // Packet 4 was lost behind this place; the mark of 6 is echoed by the duplicate that 6 calls for.
        for (number, has_ece) in [(1, false), (2, true), (4, false), (4, false), (4, true), (4, false)] {
            ecn_session.compare_ack(number, has_ece, false);
        }
        ecn_session.on_sent((4, 5), true, &mut memory);
        assert_eq!(ClassicEchoVerdict::Stopped((1, 2)), ecn_session.compare_ack(10, false, false).classic);
        assert!(ecn_session.is_dctcp_receiver());
        ecn_session.on_sent((10, 11), false, &mut memory);
        ecn_session.on_sink_arrival((10, 11), true, false, &mut memory);
        assert_eq!(DctcpEchoVerdict::Missing((10, 11)), ecn_session.compare_ack(11, false, false).dctcp);
        assert!(ecn_session.is_dctcp_receiver(), "one wrong acknowledgement decides nothing");
    }

    /// Every acknowledgement covers two segments of one kind and has ECE by that kind, as DCTCP's do; the sender answers no mark.
    #[test]
    fn most_acknowledgements_decide_how_a_sink_echoes() {
        let (mut ecn_session, mut memory) = (EcnSession::default(), MemoryBudget::default());
        for pair in 0..100 {
            let is_marked = pair % 3 == 0;
            for start in [2 * pair, 2 * pair + 1] {
                ecn_session.on_sent((start, start + 1), false, &mut memory);
                ecn_session.on_sink_arrival((start, start + 1), is_marked, false, &mut memory);
            }
            let is_wrong = pair % 10 == 9;
            let comparison = ecn_session.compare_ack(2 * pair + 2, is_marked != is_wrong, false);
            let expected =
                if is_wrong && is_marked { DctcpEchoVerdict::Missing((2 * pair + 1, 2 * pair + 2)) } else { DctcpEchoVerdict::Consistent };
            assert_eq!(expected, comparison.dctcp, "{pair}");
        }
        assert!(ecn_session.is_dctcp_receiver());
    }

    #[test]
    fn a_sink_that_echoes_until_cwr_is_not_taken_for_dctcp_s_after_one_wrong_acknowledgement() {
        let (mut ecn_session, mut memory) = (session_with_marks(&[2]), MemoryBudget::default());
        for number in 3..10 {
            ecn_session.compare_ack(number, true, false);
        }
        ecn_session.on_sent((10, 11), false, &mut memory);
        ecn_session.on_sink_arrival((10, 11), false, false, &mut memory);
        assert_eq!(ClassicEchoVerdict::Stopped((2, 3)), ecn_session.compare_ack(11, false, false).classic);
        assert!(!ecn_session.is_dctcp_receiver());
    }

    #[test]
    fn data_that_came_out_of_order_is_not_compared_with_the_acknowledgement_that_covers_it() {
        let (mut ecn_session, mut memory) = (EcnSession::default(), MemoryBudget::default());
        (0..3).for_each(|start| ecn_session.on_sent((start, start + 1), false, &mut memory));
        for (start, has_ce) in [(0, false), (2, true), (1, false)] {
            ecn_session.on_sink_arrival((start, start + 1), has_ce, false, &mut memory);
        }
        assert_eq!(DctcpEchoVerdict::Consistent, ecn_session.compare_ack(3, false, false).dctcp);
    }

    #[test]
    fn a_received_cwr_is_not_undone_by_a_retransmission_without_it() {
        for is_exact in [false, true] {
            let (mut ecn_session, mut memory) = (session_with_marks(&[2]), MemoryBudget::default());
            ecn_session.compare_ack(3, true, is_exact);
            ecn_session.on_sent((10, 11), false, &mut memory);
            ecn_session.on_sink_arrival((10, 11), false, true, &mut memory);
            ecn_session.on_sent((10, 11), true, &mut memory);
            ecn_session.on_sink_arrival((10, 11), false, false, &mut memory);
            assert_eq!(ClassicEchoVerdict::Consistent, ecn_session.compare_ack(11, false, is_exact).classic);
        }
    }

    #[test]
    fn a_second_cwr_has_to_wait_until_what_was_sent_before_the_first_is_acknowledged() {
        let mut ecn_session = session_with_marks(&[]);
        assert!(ecn_session.on_cwr((10, 11)));
        assert!(ecn_session.on_cwr((12, 13)), "no acknowledgement was seen");
        let mut ecn_session = session_with_marks(&[]);
        ecn_session.on_ack(5, false, Time::ZERO);
        assert!(ecn_session.on_cwr((10, 11)));
        assert!(!ecn_session.on_cwr((12, 13)));
        ecn_session.on_ack(12, false, Time::ZERO);
        assert!(ecn_session.on_cwr((14, 15)));
    }

    #[test]
    fn an_echo_must_be_answered_by_cwr_within_two_windows_and_a_second() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let (mut ecn_session, mut memory) = (session_with_marks(&[]), MemoryBudget::default());
        assert!(!ecn_session.on_ack(3, true, at(0)));
        ecn_session.on_sent((10, 20), false, &mut memory);
        assert!(!ecn_session.on_ack(10, false, at(100)));
        ecn_session.on_sent((20, 30), false, &mut memory);
        assert!(!ecn_session.on_ack(20, false, at(200)));
        assert!(ecn_session.on_ack(20, false, at(1000)));
        assert!(!ecn_session.on_ack(20, false, at(1100)));
    }
}
