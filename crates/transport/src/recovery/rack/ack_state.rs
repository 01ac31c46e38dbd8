//! Processing of an acknowledgement: cumulative ACK, SACK blocks, DSACK and round-trip times (Linux tcp_sacktag_state, tcp_clean_rtx_queue).

use ecnlab_units::Time;

use super::Rack;
use super::scoreboard::RackSegment;
use crate::segment::{Ack, SackOption};
use crate::tcb::{SenderOutput, Tcb};

/// What an acknowledgement has brought so far.
#[derive(Debug)]
pub struct AckState {
    /// More is acknowledged than before.
    pub advanced: bool,
    pub prior_outstanding: u64,
    /// Another acknowledgement, of more, has overtaken it.
    pub is_old_ack: bool,
    pub prior_snd_una: u64,
    prior_sacked: u64,
    prior_highest_sacked: u64,
    /// Segments acknowledged; something is sacked; the receiver's window is another one.
    pub acked_segments: u64,
    pub newly_sacked: bool,
    pub window_update: bool,
    /// It came on data, and so is no duplicate (RFC 5681, section 2).
    on_data: bool,
    /// A segment that was sent once, before the state was entered, has arrived.
    pub original_delivered: bool,
    /// Something acknowledged was sent more than once.
    retransmitted_acked: bool,
    /// A retransmission came beside its segment, and perhaps that of the probe.
    pub dsacked: bool,
    pub tlp_dsacked: bool,
    /// It echoes a mark that brings the window down.
    pub ece: bool,
    /// A retransmission is found to be lost.
    pub retransmission_lost: bool,
    /// The timer is to be set anew.
    pub rearms_timer: bool,
    /// Segments delivered by it, in the end.
    pub delivered: u64,
    /// The lowest segment that was overtaken.
    lowest_reordered: u64,
    /// When the first and the last were sent of those that it acknowledges, and of those that it sacks, of those that were sent once.
    acked_sent: Option<(u64, u64)>,
    sacked_sent: Option<(u64, u64)>,
    /// The most recently sent one of those that arrived: when, one past its number, and how many were delivered then.
    pub newest_delivered: Option<(u64, u64, u64)>,
    /// A segment that is not full, alone.
    single_short_segment: bool,
}

impl AckState {
    /// Whether it is anything but a duplicate.
    pub fn is_not_dupack(&self) -> bool {
        self.acked_segments > 0 || self.window_update || self.on_data
    }

    /// The segment before `end` has arrived.
    #[inline]
    fn note_delivered(&mut self, end: u64, segment: &RackSegment) {
        let RackSegment { last_sent_at: sent, prior_delivered: delivered, .. } = *segment;
        if self.newest_delivered.is_none_or(|(newest, its_end, _)| sent > newest || sent == newest && end > its_end) {
            self.newest_delivered = Some((sent, end, delivered));
        }
    }
}

/// Sorts a few blocks by their first segments, the lowest first (as Linux tcp_sacktag_write_queue does).
fn sort_blocks(blocks: &mut [(u64, u64, bool)]) {
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
    pub(super) fn new_ack_state(&self, tcb: &Tcb, ack: &Ack) -> AckState {
        let snd_una = tcb.snd_una();
        AckState {
            advanced: ack.next > snd_una,
            prior_outstanding: self.scoreboard.outstanding_segments(),
            is_old_ack: ack.next < snd_una,
            prior_snd_una: snd_una,
            prior_sacked: self.scoreboard.sacked,
            prior_highest_sacked: if self.options.uses_sack { self.scoreboard.highest_sacked(snd_una) } else { snd_una },
            acked_segments: 0,
            newly_sacked: false,
            window_update: false,
            on_data: ack.on_data,
            original_delivered: false,
            retransmitted_acked: false,
            dsacked: false,
            tlp_dsacked: false,
            ece: false,
            retransmission_lost: false,
            rearms_timer: false,
            delivered: 0,
            lowest_reordered: tcb.snd_max(),
            acked_sent: None,
            sacked_sent: None,
            newest_delivered: None,
            single_short_segment: ack.next == snd_una + 1 && !tcb.send_buffer().is_full_before(ack.next),
        }
    }

    /// Takes in what stands on an acknowledgement, up to what is sacked.
    #[inline(always)]
    pub(super) fn process_ack(&mut self, tcb: &mut Tcb, ack: &Ack, ack_state: &mut AckState, now: Time) {
        self.echoed_send_time = ack.echo;
        if ack.next >= tcb.snd_una() {
            ack_state.window_update = tcb.is_window_update(ack);
            tcb.advance_snd_una(ack.next);
            ack_state.ece = self.options.reduces_for_marks && ack.ece && tcb.uses_ecn();
        }
        if ack_state.advanced {
            self.consecutive_rtos = 0;
        }
        if self.options.uses_sack && !ack.sacks.is_empty() {
            let sacked = self.process_sack_blocks(tcb, ack, ack_state, tcb.clock_micros(now));
            self.delivered += sacked;
            ack_state.lowest_reordered = tcb.snd_max();
        }
    }

    /// Takes SACK blocks in; returns how many segments they say were delivered.
    #[inline(never)]
    fn process_sack_blocks(&mut self, tcb: &Tcb, ack: &Ack, ack_state: &mut AckState, now: u64) -> u64 {
        let twice = self.process_dsack(ack, ack_state);
        let mut delivered = twice.map_or(0, |(from, to)| to - from);
        if ack_state.prior_outstanding == 0 {
            return delivered;
        }
        let mut blocks = [(0, 0, false); SackOption::MAX_BLOCKS];
        let mut count = 0;
        for (number, &(from, to)) in ack.sacks.as_slice().iter().enumerate() {
            let report = number == 0 && twice.is_some();
            if self.is_valid_sack_block(tcb, from, to, report) && to > ack_state.prior_snd_una {
                blocks[count] = (from, to, report);
                count += 1;
            }
        }
        let blocks = &mut blocks[..count];
        sort_blocks(blocks);
        let known = self.scoreboard.replace_last_blocks(blocks);
        let min_rtt = tcb.min_rtt_micros();
        for &mut (from, to, report) in blocks {
            let mut at = from.max(self.scoreboard.snd_una());
            // What is sacked already is news only in a report.
            while let Some(seq) =
                if report { self.scoreboard.next_in_flight(at, to) } else { self.scoreboard.next_unsacked(at, to, &known) }
            {
                delivered += u64::from(self.sack_segment(tcb.snd_una(), seq, report, ack_state, now, min_rtt));
                at = seq + 1;
            }
        }
        if self.state != super::CaState::Loss || self.undo.is_undo_possible() {
            self.update_reordering(tcb, ack_state.lowest_reordered);
        }
        delivered
    }

    fn update_reordering(&mut self, tcb: &Tcb, low: u64) {
        self.reordering.on_reordered(low, self.scoreboard.highest_sacked(tcb.snd_una()));
    }

    /// Whether a block lies in what was sent, and a report of what came twice behind the last cut as well (Linux tcp_is_sackblock_valid).
    fn is_valid_sack_block(&self, tcb: &Tcb, from: u64, to: u64, report: bool) -> bool {
        if to > tcb.snd_max() || from >= to {
            return false;
        }
        from > tcb.snd_una() || report && to <= tcb.snd_una() && self.undo.is_after_marker(to)
    }

    /// The first block, if it reports segments that came twice (RFC 2883, section 4), no more than were sent again.
    fn process_dsack(&mut self, ack: &Ack, ack_state: &mut AckState) -> Option<(u64, u64)> {
        let (from, to) = super::timers::dsack_block(ack)?;
        ack_state.tlp_dsacked = to - from == 1 && self.tlp.high_seq == Some(to);
        self.dsacked_total += to - from;
        if self.dsacked_total > self.retransmitted_total {
            return None;
        }
        self.reordering.dsack_pending |= self.reordering.reordering_seen && !ack_state.tlp_dsacked;
        ack_state.dsacked = true;
        if to <= ack_state.prior_snd_una {
            self.undo.on_dsack(to, to - from);
        }
        Some((from, to))
    }

    /// A segment stands in a block; returns whether that is news.
    fn sack_segment(&mut self, snd_una: u64, seq: u64, report: bool, ack_state: &mut AckState, now: u64, min_rtt: u64) -> bool {
        let Some(&segment) = self.scoreboard.segment(seq) else { return false };
        if report && (segment.retransmitted || segment.ever_retransmitted) {
            self.undo.on_dsack(seq + 1, 1);
            if segment.sacked {
                ack_state.lowest_reordered = ack_state.lowest_reordered.min(seq);
            }
        }
        if seq < snd_una {
            return false;
        }
        let is_new = !segment.sacked;
        if is_new {
            self.reordering.on_delivered(seq + 1, &segment, now, min_rtt);
            ack_state.note_delivered(seq + 1, &segment);
            if !segment.retransmitted && !segment.ever_retransmitted {
                if seq < self.scoreboard.highest_sacked(snd_una) {
                    ack_state.lowest_reordered = ack_state.lowest_reordered.min(seq);
                }
                ack_state.original_delivered |= seq < self.high_seq;
                ack_state.sacked_sent =
                    Some((ack_state.sacked_sent.map_or(segment.last_sent_at, |(first, _)| first), segment.last_sent_at));
            }
            self.scoreboard.mark_sacked(seq);
            ack_state.newly_sacked = true;
        }
        if report {
            self.scoreboard.clear_retransmitted(seq);
        }
        is_new
    }

    /// Takes a segment off the board that is acknowledged; returns whether there was one.
    // Mostly there is one alone: a call for each costs less than what a loop keeps at hand for many.
    #[inline(never)]
    fn ack_first_segment(&mut self, tcb: &Tcb, ack_state: &mut AckState, micros: u64) -> bool {
        let Some(segment) = self.scoreboard.pop_acked() else { return false };
        let end = self.scoreboard.snd_una();
        ack_state.acked_segments += 1;
        if segment.retransmitted || segment.ever_retransmitted {
            ack_state.retransmitted_acked = true;
        } else if !segment.sacked {
            ack_state.acked_sent = Some((ack_state.acked_sent.map_or(segment.last_sent_at, |(first, _)| first), segment.last_sent_at));
            ack_state.lowest_reordered = ack_state.lowest_reordered.min(end - 1);
            ack_state.original_delivered |= end <= self.high_seq;
        }
        if segment.sacked {
            return true;
        }
        ack_state.note_delivered(end, &segment);
        if self.options.uses_sack {
            self.delivered += 1;
            let spurious = segment.ever_retransmitted
                && self.options.timestamps
                && tcb.clock_millis(self.echoed_send_time) < tcb.micros_to_millis(segment.last_sent_at);
            if !spurious {
                self.reordering.on_delivered(end, &segment, micros, tcb.min_rtt_micros());
            }
        }
        true
    }

    /// Takes all before `ack.next` off the board, with the round-trip times that this shows.
    pub(super) fn process_cumulative_ack(
        &mut self,
        tcb: &mut Tcb,
        ack: &Ack,
        ack_state: &mut AckState,
        now: Time,
        out: &mut impl SenderOutput,
    ) {
        let micros = tcb.clock_micros(now);
        while self.scoreboard.snd_una() < ack.next && self.ack_first_segment(tcb, ack_state, micros) {}
        if ack_state.acked_segments > 0 {
            self.scoreboard.drop_acked_retransmissions();
        }
        // Nothing else has arrived since it was sent: its acknowledgement may have waited for more (Linux FLAG_ACK_MAYBE_DELAYED).
        let since = ack_state.newest_delivered.map(|(_, _, delivered)| self.delivered - delivered);
        let delayed = ack_state.single_short_segment && ack_state.acked_segments == 1 && ack_state.prior_sacked == 0 && since == Some(1);
        let sampled = self.sample_rtt(tcb, ack, ack_state, delayed, (now, micros), out);
        if ack_state.acked_segments > 0 {
            ack_state.rearms_timer = true;
            if self.options.uses_sack {
                if ack_state.lowest_reordered < ack_state.prior_highest_sacked {
                    self.update_reordering_from_ack(ack_state);
                }
            } else {
                self.uncount_dupacks(ack_state);
            }
        } else if let (true, Some((first, _)), Some(head)) = (sampled, ack_state.sacked_sent, self.scoreboard.first_segment()) {
            // A round-trip time of what was sent after the head was sent last: the head's timer goes on.
            ack_state.rearms_timer = micros - first > micros - head.last_sent_at;
        }
    }

    #[inline(never)]
    fn update_reordering_from_ack(&mut self, ack_state: &AckState) {
        let highest = self.scoreboard.highest_sacked(self.scoreboard.snd_una());
        self.reordering.on_reordered(ack_state.lowest_reordered, highest);
    }

    /// Takes the round-trip time that an acknowledgement shows, if it shows one: of what was sent once by when that was, of what was sent again by
    /// its timestamp (Linux tcp_ack_update_rtt). Congestion control hears of the last segment's.
    fn sample_rtt(
        &mut self,
        tcb: &mut Tcb,
        ack: &Ack,
        ack_state: &AckState,
        delayed: bool,
        (now, micros): (Time, u64),
        out: &mut impl SenderOutput,
    ) -> bool {
        //= RFC 6298, section 3: no sample of a retransmission
        let of_acked = ack_state.acked_sent.filter(|_| !ack_state.retransmitted_acked);
        let last = ack_state.sacked_sent.or(of_acked).map(|(_, last)| micros - last);
        let first = of_acked.or(ack_state.sacked_sent).map(|(first, _)| micros - first);
        let (sample, latest) = match (first, last) {
            (Some(first), Some(last)) => (first, last),
            _ if self.options.timestamps && ack_state.acked_segments > 0 => self.rtt_from_timestamp(tcb, ack, now),
            _ => return false,
        };
        tcb.on_rtt_sample_micros(sample, latest, delayed, now);
        tcb.pass_rtt_sample_to_control(ack, latest, ack_state.acked_segments, now, out);
        true
    }

    /// The round-trip time that the timestamp shows, in microseconds: as an estimate takes it, from no earlier than the start, and as it is.
    #[inline(never)]
    fn rtt_from_timestamp(&self, tcb: &Tcb, ack: &Ack, now: Time) -> (u64, u64) {
        let shown = tcb.millis_to_micros((tcb.clock_millis(now) - tcb.clock_millis(ack.echo)).max(1));
        (shown.min(tcb.clock_micros(now) - tcb.clock_micros(Time::ZERO)), shown)
    }
}

/// Without SACK blocks.
impl Rack {
    /// A duplicate stands for a segment that has arrived.
    #[inline(never)]
    pub(super) fn count_dupack(&mut self, duplicates: u64) {
        if duplicates == 0 {
            return;
        }
        let before = self.scoreboard.sacked;
        self.scoreboard.sacked += duplicates;
        self.limit_dupacks(0);
        self.delivered += self.scoreboard.sacked.saturating_sub(before);
    }

    /// An acknowledgement of more: one segment filled the hole, the rest had been counted by duplicates.
    #[inline(never)]
    fn uncount_dupacks(&mut self, ack_state: &mut AckState) {
        self.delivered += ack_state.acked_segments.saturating_sub(self.scoreboard.sacked).max(1);
        self.scoreboard.sacked = self.scoreboard.sacked.saturating_sub(ack_state.acked_segments - 1);
        self.limit_dupacks(ack_state.acked_segments);
        ack_state.original_delivered &= !ack_state.retransmitted_acked;
    }

    /// There cannot be more duplicates than segments beyond the hole: more of them mean that segments overtook.
    fn limit_dupacks(&mut self, acked: u64) {
        let outstanding = self.scoreboard.outstanding_segments();
        let holes = self.scoreboard.lost.max(1).min(outstanding);
        if self.scoreboard.sacked + holes > outstanding {
            self.scoreboard.sacked = outstanding - holes;
            self.reordering.raise_dup_thresh(outstanding + acked);
        }
    }

    pub(super) fn reset_dupacks(&mut self) {
        self.scoreboard.sacked = 0;
    }
}
