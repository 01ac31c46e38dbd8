//! The data of one direction, and what comes back for it: when CWR is due and allowed, and when ECE is.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use crate::room::Room;
use crate::runs::Runs;

/// Marks that are remembered to compare acknowledgements with; a window has fewer.
const MOST_MARKS: usize = 4096;

/// No round-trip time is longer, but behind buffers that nobody manages.
const PATIENCE: Span = Span::from_secs(1);

/// A segment `[start, end)`.
pub type Segment = (u64, u64);

/// What was seen of one direction's data.
#[derive(Debug, Default)]
pub struct Dialogue {
    /// What the source has sent, and what has come to the sink.
    sent: Runs,
    arrived: Runs,
    /// All from here on was never sent; all below `una` is acknowledged.
    high: u64,
    una: u64,
    /// The last new segment with CWR.
    cwr: Option<Segment>,
    has_resent: bool,
    /// An echo that waits for its answer.
    asked: Option<Asked>,
    /// The first mark that is to be echoed, and whether it was.
    owed: Option<Segment>,
    has_echoed: bool,
    /// A CWR that came to the sink: when it is acknowledged only marks from `after` on are owed.
    cleared: Option<Segment>,
    after: Option<Segment>,
    /// Data that the sink had already came with CE; it may echo that, but need not (section 6.1.5).
    may_echo: bool,
    marks: VecDeque<Segment>,
    /// Some marks are not in `marks`, which was full.
    lacks_marks: bool,
    /// What was acknowledged last.
    compared: u64,
    /// All that went before a segment was sent again or came out of order: duplicate acknowledgements may have echoed it as it came.
    mended: u64,
    /// All from here on has not come to the sink.
    arrived_high: u64,
    /// Acknowledgements on which RFC 3168 and DCTCP differ: those that agree with RFC 3168, and those that agree with DCTCP.
    until_cwr: u64,
    each: u64,
    /// An acknowledgement with ECE covered a mark last, as DCTCP's do; a sink that never sets ECE is none of DCTCP's.
    has_echoed_mark: bool,
}

/// An echo, and until when data goes that was sent before the source could answer it: two windows, for it may be far from here, and at
/// least for some time, for a window is acknowledged at once where a capture was made at the sink.
#[derive(Clone, Copy, Debug)]
struct Asked {
    since: Time,
    until: u64,
    is_second: bool,
}

/// An acknowledgement compared with what RFC 3168 asks, and with what DCTCP does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    pub classic: Echo,
    pub dctcp: EachEcho,
}

/// An acknowledgement compared with RFC 8257, section 3.2: ECE is set if and only if the last packet came with CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EachEcho {
    /// It agrees, or the file does not show what it should be.
    Right,
    /// The last packet that it acknowledges came with CE, and ECE is not set.
    Missing(Segment),
    /// The last packet that it acknowledges came without CE, and ECE is set.
    Unasked,
}

/// An acknowledgement compared with the marks that came before it, by RFC 3168, section 6.1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    Right,
    /// A mark was never echoed.
    Missing(Segment),
    /// A mark was echoed, but not until CWR.
    Stopped(Segment),
    /// No mark is to be echoed.
    Unasked,
}

impl Dialogue {
    /// Whether a segment was sent before.
    pub fn was_sent(&self, (start, end): Segment) -> bool {
        self.sent.holds(start, end)
    }

    /// The source sends a segment.
    pub fn sends(&mut self, segment: Segment, is_again: bool, room: &mut Room) {
        // What was lost before it came here may have had CWR.
        let before = self.high;
        let is_incomplete = before > 0 && segment.0 > before;
        self.sent.arrived(segment.0, segment.1, 0, room);
        self.high = self.high.max(segment.1);
        if segment.0 < before {
            self.mended = self.high;
        }
        if is_again || is_incomplete {
            (self.has_resent, self.asked) = (true, None);
        }
        if is_again {
            self.owed = self.owed.filter(|&mark| !overlaps(mark, segment));
            self.after = self.after.filter(|&mark| !overlaps(mark, segment));
        }
    }

    /// The source sends a new segment with CWR; returns whether it may: what was sent before the last one is acknowledged by now, or a loss
    /// came in between. A file without acknowledgements does not tell.
    pub fn reduces(&mut self, segment: Segment) -> bool {
        let may = self.una == 0 || self.has_resent || self.cwr.is_none_or(|(start, _)| start <= self.una);
        (self.cwr, self.has_resent, self.asked) = (Some(segment), false, None);
        may
    }

    /// The source sets CWR on a retransmission, as it should not; it has reduced its window all the same.
    pub fn reduces_again(&mut self) {
        (self.cwr, self.asked) = (Some((self.high, self.high)), None);
    }

    /// A segment comes to the sink.
    pub fn arrives(&mut self, segment: Segment, has_ce: bool, has_cwr: bool, room: &mut Room) {
        if has_cwr {
            (self.cleared, self.after, self.may_echo) = (Some(segment), None, false);
        }
        if self.arrived.holds(segment.0, segment.1) {
            self.may_echo |= has_ce;
            return;
        }
        self.arrived.arrived(segment.0, segment.1, 0, room);
        if segment.0 < self.arrived_high {
            self.mended = self.mended.max(self.arrived_high);
        }
        self.arrived_high = self.arrived_high.max(segment.1);
        if has_ce {
            self.owed.get_or_insert(segment);
            if self.cleared.is_some_and(|cwr| cwr.0 <= segment.0) {
                self.after.get_or_insert(segment);
            }
            if self.marks.len() < MOST_MARKS {
                self.marks.push_back(segment);
            } else {
                self.lacks_marks = true;
            }
        }
    }

    /// The sink acknowledges all below `number`, with ECE or without. `is_exact` if the file shows what came to it and when: otherwise a
    /// CWR may be on its way until it is acknowledged, and an acknowledgement before that may be either.
    pub fn echoes(&mut self, number: u64, has_ece: bool, is_exact: bool) -> Compared {
        let newest = self.newest(number);
        if self.cleared.is_some_and(|(_, end)| is_exact || end <= number) {
            (self.owed, self.after, self.cleared, self.has_echoed) = (self.after, None, None, false);
        }
        self.has_echoed_mark |= has_ece && matches!(newest, Newest::Marked(_));
        let is_owed = self.cleared.is_none() && self.owed.is_some_and(|mark| mark.1 <= number);
        if is_owed && newest == Newest::Unmarked {
            *(if has_ece { &mut self.until_cwr } else { &mut self.each }) += 1;
        }
        let dctcp = match newest {
            Newest::Marked(mark) if !has_ece => EachEcho::Missing(mark),
            Newest::Unmarked if has_ece && is_exact => EachEcho::Unasked,
            _ => EachEcho::Right,
        };
        Compared { classic: self.classic_echo(number, has_ece), dctcp }
    }

    fn classic_echo(&mut self, number: u64, has_ece: bool) -> Echo {
        match self.owed {
            None if has_ece && !self.may_echo => Echo::Unasked,
            Some(_) if self.cleared.is_some() => Echo::Right,
            Some(mark) if mark.1 <= number && !has_ece && self.has_echoed => Echo::Stopped(mark),
            Some(mark) if mark.1 <= number && !has_ece => Echo::Missing(mark),
            _ => {
                self.has_echoed |= has_ece;
                Echo::Right
            }
        }
    }

    /// An acknowledgement comes to the source; returns whether an earlier echo has gone without an answer for too long.
    pub fn acknowledged(&mut self, number: u64, has_ece: bool, now: Time) -> bool {
        self.una = self.una.max(number);
        if has_ece && self.cwr.is_none_or(|(_, end)| end < number) && self.asked.is_none() {
            self.asked = Some(Asked { since: now, until: self.high, is_second: false });
        }
        let Some(asked) = self.asked.filter(|asked| asked.until <= self.una && asked.until < self.high) else { return false };
        if !asked.is_second {
            self.asked = Some(Asked { until: self.high, is_second: true, ..asked });
            return false;
        }
        let is_overdue = now.since(asked.since) >= PATIENCE;
        self.asked = self.asked.filter(|_| !is_overdue);
        is_overdue
    }

    pub fn clear(&mut self, room: &mut Room) {
        self.sent.clear(room);
        self.arrived.clear(room);
    }

    /// Whether the sink sets ECE by the last packet, instead of until CWR (DCTCP: RFC 8257, section 3.2). The two differ on acknowledgements
    /// that cover no mark while an earlier mark is not answered by CWR; most of these decide.
    pub fn echoes_each(&self) -> bool {
        self.has_echoed_mark && self.each > self.until_cwr
    }

    /// The last packet that an acknowledgement newly covers. An acknowledgement that was lost before this place changes nothing about it. Data that came
    /// out of order was echoed as it came, and not by the acknowledgement that covers it once the gap is filled.
    fn newest(&mut self, number: u64) -> Newest {
        let mut last = None;
        while self.marks.front().is_some_and(|mark| mark.1 <= number) {
            last = self.marks.pop_front();
        }
        let is_new = number > self.compared.max(self.mended);
        self.compared = self.compared.max(number);
        let cuts_mark = self.marks.front().is_some_and(|mark| mark.0 < number);
        if !is_new || self.lacks_marks || cuts_mark || !self.arrived.holds(number - 1, number) {
            return Newest::Unknown;
        }
        last.filter(|mark| mark.1 == number).map_or(Newest::Unmarked, Newest::Marked)
    }
}

/// The last packet that an acknowledgement newly covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newest {
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

    /// Ten segments are sent and come to the sink, those named with CE.
    fn marked(marks: &[u64]) -> Dialogue {
        let (mut dialogue, mut room) = (Dialogue::default(), Room::default());
        for start in 0..10 {
            dialogue.sends((start, start + 1), false, &mut room);
            dialogue.arrives((start, start + 1), marks.contains(&start), false, &mut room);
        }
        dialogue
    }

    #[test]
    fn an_echo_begins_with_the_mark_and_ends_with_cwr() {
        let (mut dialogue, mut room) = (marked(&[2]), Room::default());
        let echoes = [(1, false), (3, true), (4, true)].map(|(number, echo)| dialogue.echoes(number, echo, false).classic);
        assert_eq!([Echo::Right; 3], echoes);
        dialogue.sends((10, 11), false, &mut room);
        dialogue.arrives((10, 11), false, true, &mut room);
        assert_eq!(Echo::Right, dialogue.echoes(10, true, false).classic);
        assert_eq!(Echo::Right, dialogue.echoes(11, false, false).classic);
        assert_eq!(Echo::Unasked, dialogue.echoes(12, true, false).classic);
    }

    #[test]
    fn a_mark_without_an_echo_is_found_and_so_is_an_echo_that_stops_early() {
        assert_eq!(Echo::Missing((2, 3)), marked(&[2]).echoes(3, false, false).classic);
        let mut dialogue = marked(&[2]);
        dialogue.echoes(3, true, false);
        assert_eq!(Echo::Stopped((2, 3)), dialogue.echoes(4, false, false).classic);
    }

    #[test]
    fn a_mark_on_the_packet_with_cwr_is_echoed_anew() {
        let (mut dialogue, mut room) = (marked(&[2]), Room::default());
        dialogue.echoes(3, true, false);
        dialogue.arrives((10, 11), true, true, &mut room);
        assert_eq!(Echo::Missing((10, 11)), dialogue.echoes(11, false, false).classic);
    }

    #[test]
    fn after_a_loss_marks_were_echoed_by_duplicates_and_not_by_what_covers_them() {
        let (mut dialogue, mut room) = (marked(&[1, 6]), Room::default());
        // Packet 4 was lost behind this place; the mark of 6 is echoed by the duplicate that 6 calls for.
        for (number, has_ece) in [(1, false), (2, true), (4, false), (4, false), (4, true), (4, false)] {
            dialogue.echoes(number, has_ece, false);
        }
        dialogue.sends((4, 5), true, &mut room);
        assert_eq!(Echo::Stopped((1, 2)), dialogue.echoes(10, false, false).classic);
        assert!(dialogue.echoes_each());
        dialogue.sends((10, 11), false, &mut room);
        dialogue.arrives((10, 11), true, false, &mut room);
        assert_eq!(EachEcho::Missing((10, 11)), dialogue.echoes(11, false, false).dctcp);
        assert!(dialogue.echoes_each(), "one wrong acknowledgement decides nothing");
    }

    /// Every acknowledgement covers two segments of one kind and has ECE by that kind, as DCTCP's do; the sender answers no mark.
    #[test]
    fn most_acknowledgements_decide_how_a_sink_echoes() {
        let (mut dialogue, mut room) = (Dialogue::default(), Room::default());
        for pair in 0..100 {
            let is_marked = pair % 3 == 0;
            for start in [2 * pair, 2 * pair + 1] {
                dialogue.sends((start, start + 1), false, &mut room);
                dialogue.arrives((start, start + 1), is_marked, false, &mut room);
            }
            let is_wrong = pair % 10 == 9;
            let compared = dialogue.echoes(2 * pair + 2, is_marked != is_wrong, false);
            let expected = if is_wrong && is_marked { EachEcho::Missing((2 * pair + 1, 2 * pair + 2)) } else { EachEcho::Right };
            assert_eq!(expected, compared.dctcp, "{pair}");
        }
        assert!(dialogue.echoes_each());
    }

    #[test]
    fn a_sink_that_echoes_until_cwr_is_not_taken_for_dctcp_s_after_one_wrong_acknowledgement() {
        let (mut dialogue, mut room) = (marked(&[2]), Room::default());
        for number in 3..10 {
            dialogue.echoes(number, true, false);
        }
        dialogue.sends((10, 11), false, &mut room);
        dialogue.arrives((10, 11), false, false, &mut room);
        assert_eq!(Echo::Stopped((2, 3)), dialogue.echoes(11, false, false).classic);
        assert!(!dialogue.echoes_each());
    }

    #[test]
    fn data_that_came_out_of_order_is_not_compared_with_the_acknowledgement_that_covers_it() {
        let (mut dialogue, mut room) = (Dialogue::default(), Room::default());
        (0..3).for_each(|start| dialogue.sends((start, start + 1), false, &mut room));
        for (start, has_ce) in [(0, false), (2, true), (1, false)] {
            dialogue.arrives((start, start + 1), has_ce, false, &mut room);
        }
        assert_eq!(EachEcho::Right, dialogue.echoes(3, false, false).dctcp);
    }

    #[test]
    fn a_cwr_that_came_is_not_taken_back_by_a_copy_without_it() {
        for is_exact in [false, true] {
            let (mut dialogue, mut room) = (marked(&[2]), Room::default());
            dialogue.echoes(3, true, is_exact);
            dialogue.sends((10, 11), false, &mut room);
            dialogue.arrives((10, 11), false, true, &mut room);
            dialogue.sends((10, 11), true, &mut room);
            dialogue.arrives((10, 11), false, false, &mut room);
            assert_eq!(Echo::Right, dialogue.echoes(11, false, is_exact).classic);
        }
    }

    #[test]
    fn a_second_cwr_has_to_wait_until_what_was_sent_before_the_first_is_acknowledged() {
        let mut dialogue = marked(&[]);
        assert!(dialogue.reduces((10, 11)));
        assert!(dialogue.reduces((12, 13)), "no acknowledgement was seen");
        let mut dialogue = marked(&[]);
        dialogue.acknowledged(5, false, Time::ZERO);
        assert!(dialogue.reduces((10, 11)));
        assert!(!dialogue.reduces((12, 13)));
        dialogue.acknowledged(12, false, Time::ZERO);
        assert!(dialogue.reduces((14, 15)));
    }

    #[test]
    fn an_echo_wants_an_answer_within_two_windows_and_a_second() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let (mut dialogue, mut room) = (marked(&[]), Room::default());
        assert!(!dialogue.acknowledged(3, true, at(0)));
        dialogue.sends((10, 20), false, &mut room);
        assert!(!dialogue.acknowledged(10, false, at(100)));
        dialogue.sends((20, 30), false, &mut room);
        assert!(!dialogue.acknowledged(20, false, at(200)));
        assert!(dialogue.acknowledged(20, false, at(1000)));
        assert!(!dialogue.acknowledged(20, false, at(1100)));
    }
}
