//! What an acknowledgement brings: what is sacked, acknowledged and reported to have come twice, and the round-trip times that it shows.

use ecnlab_units::Time;

use super::Rack;
use super::board::Record;
use crate::segment::{Ack, Sacks};
use crate::tcb::{Output, Tcb};

/// What an acknowledgement has brought so far.
#[derive(Debug)]
pub struct News {
    /// More is acknowledged than before.
    pub advanced: bool,
    pub outstanding_before: u64,
    /// Another acknowledgement, of more, has overtaken it.
    pub overtaken: bool,
    pub una_before: u64,
    sacked_before: u64,
    highest_before: u64,
    /// Segments acknowledged; something is sacked; the receiver's window is another one.
    pub acked: u64,
    pub sacked: bool,
    pub window_update: bool,
    /// It came on data, and so is no duplicate (RFC 5681, section 2).
    on_data: bool,
    /// A segment that was sent once, before the state was entered, has arrived.
    pub original: bool,
    /// Something acknowledged was sent more than once.
    resent_acked: bool,
    /// A retransmission came beside its segment, and perhaps that of the probe.
    pub twice: bool,
    pub twice_probe: bool,
    /// It echoes a mark that brings the window down.
    pub echo: bool,
    /// A retransmission is found to be lost.
    pub lost_again: bool,
    /// The timer is to be set anew.
    pub sets_timer: bool,
    /// Segments delivered by it, in the end.
    pub delivered: u64,
    /// The lowest segment that was overtaken.
    low: u64,
    /// When the first and the last were sent of those that it acknowledges, and of those that it sacks, of those that were sent once.
    acked_sent: Option<(u64, u64)>,
    sacked_sent: Option<(u64, u64)>,
    /// The most recently sent one of those that arrived: when, one past its number, and how many were delivered then.
    pub newest: Option<(u64, u64, u64)>,
    /// A segment that is not full, alone.
    short: bool,
}

impl News {
    /// Whether it is anything but a duplicate.
    pub fn is_new(&self) -> bool {
        self.acked > 0 || self.window_update || self.on_data
    }

    /// The segment before `end` has arrived.
    #[inline]
    fn arrived(&mut self, end: u64, record: &Record) {
        let Record { sent, delivered, .. } = *record;
        if self.newest.is_none_or(|(newest, its_end, _)| sent > newest || sent == newest && end > its_end) {
            self.newest = Some((sent, end, delivered));
        }
    }
}

/// Sorts a few blocks by their first segments, the lowest first (as Linux tcp_sacktag_write_queue does).
fn sort(blocks: &mut [(u64, u64, bool)]) {
    for at in 1..blocks.len() {
        let mut place = at;
        while place > 0 && blocks[place].0 < blocks[place - 1].0 {
            blocks.swap(place, place - 1);
            place -= 1;
        }
    }
}

impl Rack {
    /// Before anything of an acknowledgement is looked at.
    #[inline(always)]
    pub(super) fn no_news(&self, tcb: &Tcb, ack: &Ack) -> News {
        let una = tcb.una();
        News {
            advanced: ack.next > una,
            outstanding_before: self.board.outstanding(),
            overtaken: ack.next < una,
            una_before: una,
            sacked_before: self.board.sacked,
            highest_before: if self.rules.sack { self.board.highest_sacked(una) } else { una },
            acked: 0,
            sacked: false,
            window_update: false,
            on_data: ack.on_data,
            original: false,
            resent_acked: false,
            twice: false,
            twice_probe: false,
            echo: false,
            lost_again: false,
            sets_timer: false,
            delivered: 0,
            low: tcb.high(),
            acked_sent: None,
            sacked_sent: None,
            newest: None,
            short: ack.next == una + 1 && !tcb.plan().is_full_before(ack.next),
        }
    }

    /// Takes in what stands on an acknowledgement, up to what is sacked.
    #[inline(always)]
    pub(super) fn look_at(&mut self, tcb: &mut Tcb, ack: &Ack, news: &mut News, now: Time) {
        self.echoed = ack.echo;
        if ack.next >= tcb.una() {
            news.window_update = tcb.is_window_update(ack);
            tcb.advance_partly(ack.next);
            news.echo = self.rules.reduces_for_marks && ack.ece && tcb.uses_ecn();
        }
        if news.advanced {
            self.timeouts = 0;
        }
        if self.rules.sack && !ack.sacks.is_empty() {
            let sacked = self.take_sacks(tcb, ack, news, tcb.micros(now));
            self.delivered += sacked;
            news.low = tcb.high();
        }
    }

    /// Takes SACK blocks in; returns how many segments they say were delivered.
    #[inline(never)]
    fn take_sacks(&mut self, tcb: &Tcb, ack: &Ack, news: &mut News, now: u64) -> u64 {
        let twice = self.report_of_twice(ack, news);
        let mut delivered = twice.map_or(0, |(from, to)| to - from);
        if news.outstanding_before == 0 {
            return delivered;
        }
        let mut blocks = [(0, 0, false); Sacks::MOST];
        let mut count = 0;
        for (number, &(from, to)) in ack.sacks.as_slice().iter().enumerate() {
            let report = number == 0 && twice.is_some();
            if self.is_valid(tcb, from, to, report) && to > news.una_before {
                blocks[count] = (from, to, report);
                count += 1;
            }
        }
        let blocks = &mut blocks[..count];
        sort(blocks);
        let known = self.board.know(blocks);
        let min_rtt = tcb.min_rtt_micros();
        for &mut (from, to, report) in blocks {
            let mut at = from.max(self.board.base());
            // What is sacked already is news only in a report.
            while let Some(seq) = if report { self.board.next_before(at, to) } else { self.board.next_unsacked(at, to, &known) } {
                delivered += u64::from(self.take_sack(tcb.una(), seq, report, news, now, min_rtt));
                at = seq + 1;
            }
        }
        if self.state != super::State::Loss || self.undo.is_armed() {
            self.overtaken(tcb, news.low);
        }
        delivered
    }

    fn overtaken(&mut self, tcb: &Tcb, low: u64) {
        self.reordering.overtaken(low, self.board.highest_sacked(tcb.una()));
    }

    /// Whether a block lies in what was sent, and a report of what came twice behind the last cut as well (Linux tcp_is_sackblock_valid).
    fn is_valid(&self, tcb: &Tcb, from: u64, to: u64, report: bool) -> bool {
        if to > tcb.high() || from >= to {
            return false;
        }
        from > tcb.una() || report && to <= tcb.una() && self.undo.reaches(to)
    }

    /// The first block, if it reports segments that came twice (RFC 2883, section 4), no more than were sent again.
    fn report_of_twice(&mut self, ack: &Ack, news: &mut News) -> Option<(u64, u64)> {
        let (from, to) = super::timers::dsack(ack)?;
        news.twice_probe = to - from == 1 && self.probe.ends == Some(to);
        self.twice += to - from;
        if self.twice > self.resent {
            return None;
        }
        self.reordering.twice |= self.reordering.seen && !news.twice_probe;
        news.twice = true;
        if to <= news.una_before {
            self.undo.came_twice(to, to - from);
        }
        Some((from, to))
    }

    /// A segment stands in a block; returns whether that is news.
    fn take_sack(&mut self, una: u64, seq: u64, report: bool, news: &mut News, now: u64, min_rtt: u64) -> bool {
        let Some(&record) = self.board.get(seq) else { return false };
        if report && (record.resent || record.ever_resent) {
            self.undo.came_twice(seq + 1, 1);
            if record.sacked {
                news.low = news.low.min(seq);
            }
        }
        if seq < una {
            return false;
        }
        let is_new = !record.sacked;
        if is_new {
            self.reordering.arrived(seq + 1, &record, now, min_rtt);
            news.arrived(seq + 1, &record);
            if !record.resent && !record.ever_resent {
                if seq < self.board.highest_sacked(una) {
                    news.low = news.low.min(seq);
                }
                news.original |= seq < self.ends;
                news.sacked_sent = Some((news.sacked_sent.map_or(record.sent, |(first, _)| first), record.sent));
            }
            self.board.sack(seq);
            news.sacked = true;
        }
        if report {
            self.board.end_resent(seq);
        }
        is_new
    }

    /// Takes a segment off the board that is acknowledged; returns whether there was one.
    // Mostly there is one alone: a call for each costs less than what a loop keeps at hand for many.
    #[inline(never)]
    fn take_first(&mut self, tcb: &Tcb, news: &mut News, micros: u64) -> bool {
        let Some(record) = self.board.pop() else { return false };
        let end = self.board.base();
        news.acked += 1;
        if record.resent || record.ever_resent {
            news.resent_acked = true;
        } else if !record.sacked {
            news.acked_sent = Some((news.acked_sent.map_or(record.sent, |(first, _)| first), record.sent));
            news.low = news.low.min(end - 1);
            news.original |= end <= self.ends;
        }
        if record.sacked {
            return true;
        }
        news.arrived(end, &record);
        if self.rules.sack {
            self.delivered += 1;
            let spurious = record.ever_resent && self.rules.timestamps && tcb.millis(self.echoed) < tcb.millis_of(record.sent);
            if !spurious {
                self.reordering.arrived(end, &record, micros, tcb.min_rtt_micros());
            }
        }
        true
    }

    /// Takes all before `ack.next` off the board, with the round-trip times that this shows.
    pub(super) fn take_acknowledged(&mut self, tcb: &mut Tcb, ack: &Ack, news: &mut News, now: Time, out: &mut impl Output) {
        let micros = tcb.micros(now);
        while self.board.base() < ack.next && self.take_first(tcb, news, micros) {}
        if news.acked > 0 {
            self.board.trim();
        }
        // Nothing else has arrived since it was sent: its acknowledgement may have waited for more (Linux FLAG_ACK_MAYBE_DELAYED).
        let since = news.newest.map(|(_, _, delivered)| self.delivered - delivered);
        let delayed = news.short && news.acked == 1 && news.sacked_before == 0 && since == Some(1);
        let sampled = self.take_sample(tcb, ack, news, delayed, (now, micros), out);
        if news.acked > 0 {
            news.sets_timer = true;
            if self.rules.sack {
                if news.low < news.highest_before {
                    self.overtaken_before(news);
                }
            } else {
                self.take_off_duplicates(news);
            }
        } else if let (true, Some((first, _)), Some(head)) = (sampled, news.sacked_sent, self.board.first()) {
            // A round-trip time of what was sent after the head was sent last: the head's timer goes on.
            news.sets_timer = micros - first > micros - head.sent;
        }
    }

    #[inline(never)]
    fn overtaken_before(&mut self, news: &News) {
        let highest = self.board.highest_sacked(self.board.base());
        self.reordering.overtaken(news.low, highest);
    }

    /// Takes the round-trip time that an acknowledgement shows, if it shows one: of what was sent once by when that was, of what was sent again by
    /// its timestamp (Linux tcp_ack_update_rtt). Congestion control hears of the last segment's.
    fn take_sample(
        &mut self,
        tcb: &mut Tcb,
        ack: &Ack,
        news: &News,
        delayed: bool,
        (now, micros): (Time, u64),
        out: &mut impl Output,
    ) -> bool {
        let of_acked = news.acked_sent.filter(|_| !news.resent_acked);
        let last = news.sacked_sent.or(of_acked).map(|(_, last)| micros - last);
        let first = of_acked.or(news.sacked_sent).map(|(first, _)| micros - first);
        let (sample, latest) = match (first, last) {
            (Some(first), Some(last)) => (first, last),
            _ if self.rules.timestamps && news.acked > 0 => self.round_trip_shown(tcb, ack, now),
            _ => return false,
        };
        tcb.take_round_trip_micros(sample, latest, delayed, now);
        tcb.show_round_trip(ack, latest, news.acked, now, out);
        true
    }

    /// The round-trip time that the timestamp shows, in microseconds: as an estimate takes it, from no earlier than the start, and as it is.
    #[inline(never)]
    fn round_trip_shown(&self, tcb: &Tcb, ack: &Ack, now: Time) -> (u64, u64) {
        let shown = tcb.micros_in((tcb.millis(now) - tcb.millis(ack.echo)).max(1));
        (shown.min(tcb.micros(now) - tcb.micros(Time::ZERO)), shown)
    }
}

/// Without SACK blocks.
impl Rack {
    /// A duplicate stands for a segment that has arrived.
    #[inline(never)]
    pub(super) fn count_duplicate(&mut self, duplicates: u64) {
        if duplicates == 0 {
            return;
        }
        let before = self.board.sacked;
        self.board.sacked += duplicates;
        self.limit_duplicates(0);
        self.delivered += self.board.sacked.saturating_sub(before);
    }

    /// An acknowledgement of more: one segment filled the hole, the rest had been counted by duplicates.
    #[inline(never)]
    fn take_off_duplicates(&mut self, news: &mut News) {
        self.delivered += news.acked.saturating_sub(self.board.sacked).max(1);
        self.board.sacked = self.board.sacked.saturating_sub(news.acked - 1);
        self.limit_duplicates(news.acked);
        news.original &= !news.resent_acked;
    }

    /// There cannot be more duplicates than segments beyond the hole: more of them mean that segments overtook.
    fn limit_duplicates(&mut self, acked: u64) {
        let outstanding = self.board.outstanding();
        let holes = self.board.lost.max(1).min(outstanding);
        if self.board.sacked + holes > outstanding {
            self.board.sacked = outstanding - holes;
            self.reordering.exceed(outstanding + acked);
        }
    }

    pub(super) fn forget_duplicates(&mut self) {
        self.board.sacked = 0;
    }
}
