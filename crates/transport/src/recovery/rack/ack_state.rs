//! Processing of an ACK: cumulative ACK, SACK blocks, DSACK and RTT samples (Linux tcp_sacktag_state, tcp_clean_rtx_queue).

use ecnlab_units::Time;

use super::Rack;
use super::scoreboard::RackSegment;
use crate::segment::{Ack, SackOption};
use crate::tcb::{SenderOutput, Tcb};

const MICROS_PER_MILLI: u64 = 1000;

/// Results of processing an ACK so far.
#[derive(Debug, Default)]
pub struct AckState {
    /// The ACK acknowledges new data.
    pub advanced: bool,
    pub prior_outstanding: u64,
    /// An ACK of more data has arrived earlier.
    pub is_old_ack: bool,
    pub prior_snd_una: u64,
    prior_sacked: u64,
    prior_highest_sacked: u64,
    /// Number of segments acknowledged; whether a segment is newly sacked; whether the receive window changed.
    pub acked_segments: u64,
    pub newly_sacked: bool,
    pub window_update: bool,
    /// The ACK is piggybacked on data, so it is not a duplicate (RFC 5681, section 2).
    on_data: bool,
    /// The ACK counts as a duplicate, for a segment that has arrived out of order.
    pub is_counted_dupack: bool,
    /// A segment that was sent once, before the state was entered, has arrived.
    pub original_delivered: bool,
    /// A segment newly acknowledged was retransmitted.
    retransmitted_acked: bool,
    /// A DSACK reports that both a segment and its retransmission arrived; possibly those of a tail loss probe.
    pub dsacked: bool,
    pub tlp_dsacked: bool,
    /// The ACK echoes a mark that reduces cwnd.
    pub ece: bool,
    /// A retransmission is detected as lost.
    pub retransmission_lost: bool,
    /// The retransmission timer must be restarted.
    pub rearms_timer: bool,
    /// Total number of segments that the ACK delivers.
    pub delivered: u64,
    /// Lowest segment that was reordered.
    lowest_reordered: u64,
    /// First and last send times of the segments newly acknowledged; then those of the segments newly sacked that were sent once.
    acked_sent: Option<(u64, u64)>,
    sacked_sent: Option<(u64, u64)>,
    /// Most recently sent segment that is delivered: its send time, one past its number, and the delivered count when it was sent.
    pub newest_delivered: Option<(u64, u64, u64)>,
    /// The ACK acknowledges a single segment below full size.
    single_short_segment: bool,
}

impl AckState {
    /// Whether the ACK is not a duplicate.
    pub fn is_not_dupack(&self) -> bool {
        self.acked_segments > 0 || self.window_update || self.on_data
    }

    /// Records the delivery of the segment before `end`.
    #[inline]
    fn update_newest_delivered(&mut self, end: u64, segment: &RackSegment) {
        let RackSegment { last_sent_at: sent, prior_delivered: delivered, .. } = *segment;
        if self.newest_delivered.is_none_or(|(newest, its_end, _)| sent > newest || sent == newest && end > its_end) {
            self.newest_delivered = Some((sent, end, delivered));
        }
    }
}

impl Rack {
    /// State before an ACK is processed.
    #[inline(always)]
    pub(super) fn new_ack_state(&self, tcb: &Tcb, ack: &Ack) -> AckState {
        let snd_una = tcb.snd_una();
        AckState {
            advanced: ack.next > snd_una,
            prior_outstanding: self.scoreboard.outstanding_segments(),
            is_old_ack: ack.next < snd_una,
            prior_snd_una: snd_una,
            prior_sacked: self.scoreboard.sacked,
            prior_highest_sacked: if self.options.uses_sack { self.scoreboard.sacked_end(snd_una) } else { snd_una },
            on_data: ack.on_data,
            lowest_reordered: tcb.snd_max(),
            single_short_segment: ack.next == snd_una + 1 && !tcb.send_buffer().has_only_full_sized_segments_before(ack.next),
            ..AckState::default()
        }
    }

    /// Processes the ECN echo, the SACK blocks and the DSACK of an ACK.
    #[inline(always)]
    pub(super) fn process_ack(&mut self, tcb: &mut Tcb, ack: &Ack, ack_state: &mut AckState, now: Time) {
        self.echoed_send_time = ack.echo;
        if ack.next >= tcb.snd_una() {
            ack_state.window_update = tcb.is_new_ack_or_window_update(ack);
            tcb.advance_snd_una(ack.next);
            ack_state.ece = self.options.reduces_for_marks && ack.ece && tcb.uses_ecn() && !tcb.uses_accurate_ecn();
        }
        if ack_state.advanced {
            self.consecutive_rtos = 0;
        }
        if self.options.uses_sack && !ack.sacks.is_empty() {
            let sacked = self.process_sack_blocks(tcb, ack, ack_state, tcb.host_clock_micros_at(now));
            self.delivered += sacked;
            ack_state.lowest_reordered = tcb.snd_max();
        }
    }

    /// Processes SACK blocks; returns the number of segments that they deliver.
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
        blocks.sort_by_key(|&(from, ..)| from);
        let known = self.scoreboard.replace_last_blocks(blocks);
        let min_rtt = tcb.min_rtt_micros();
        for &mut (from, to, report) in blocks {
            let mut at = from.max(self.scoreboard.snd_una());
            // A segment already sacked counts only in a DSACK.
            while let Some(seq) =
                if report { self.scoreboard.next_outstanding(at, to) } else { self.scoreboard.next_unsacked(at, to, &known) }
            {
                delivered += u64::from(self.sack_segment(tcb.snd_una(), seq, report, ack_state, now, min_rtt));
                at = seq + 1;
            }
        }
        if self.state != super::CaState::Loss || self.undo.has_undo_marker() {
            self.update_reordering(tcb, ack_state.lowest_reordered);
        }
        delivered
    }

    fn update_reordering(&mut self, tcb: &Tcb, low: u64) {
        self.reordering.on_reordered(low, self.scoreboard.sacked_end(tcb.snd_una()));
    }

    /// Whether a block is within the data sent, and a DSACK also above the undo marker (Linux tcp_is_sackblock_valid).
    fn is_valid_sack_block(&self, tcb: &Tcb, from: u64, to: u64, report: bool) -> bool {
        if to > tcb.snd_max() || from >= to {
            return false;
        }
        from > tcb.snd_una() || report && to <= tcb.snd_una() && self.undo.is_after_marker(to)
    }

    /// The first block, if it is a DSACK (RFC 2883, section 4) of no more segments than were retransmitted.
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

    /// Processes a segment in a block; returns whether it is newly sacked.
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
            ack_state.update_newest_delivered(seq + 1, &segment);
            if !segment.retransmitted && !segment.ever_retransmitted {
                if seq < self.scoreboard.sacked_end(snd_una) {
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

    /// Removes an acknowledged segment from the scoreboard; returns whether there was one.
    // Usually there is only one: a call per segment is faster than a loop with its state for many.
    #[inline(never)]
    fn remove_first_acked_segment(&mut self, tcb: &Tcb, ack_state: &mut AckState, micros: u64) -> bool {
        let Some(segment) = self.scoreboard.pop_first() else { return false };
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
        ack_state.update_newest_delivered(end, &segment);
        if self.options.uses_sack {
            self.delivered += 1;
            let spurious = segment.ever_retransmitted
                && self.options.timestamps
                && tcb.host_clock_millis_at(self.echoed_send_time) < segment.last_sent_at / MICROS_PER_MILLI;
            if !spurious {
                self.reordering.on_delivered(end, &segment, micros, tcb.min_rtt_micros());
            }
        }
        true
    }

    /// Removes all segments before `ack.next` from the scoreboard, and takes the RTT samples.
    pub(super) fn process_cumulative_ack(
        &mut self,
        tcb: &mut Tcb,
        ack: &Ack,
        ack_state: &mut AckState,
        now: Time,
        out: &mut impl SenderOutput,
    ) {
        let micros = tcb.host_clock_micros_at(now);
        while self.scoreboard.snd_una() < ack.next && self.remove_first_acked_segment(tcb, ack_state, micros) {}
        if ack_state.acked_segments > 0 {
            self.scoreboard.drop_acked_retransmissions();
        }
        // Nothing else has arrived since it was sent: its ACK may have been delayed (Linux FLAG_ACK_MAYBE_DELAYED).
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
            // The RTT is of a segment sent after the last transmission of the head: the head's timer continues.
            ack_state.rearms_timer = micros - first > micros - head.last_sent_at;
        }
    }

    #[inline(never)]
    fn update_reordering_from_ack(&mut self, ack_state: &AckState) {
        let highest = self.scoreboard.sacked_end(self.scoreboard.snd_una());
        self.reordering.on_reordered(ack_state.lowest_reordered, highest);
    }

    /// Takes the RTT sample of an ACK: by the send time for a segment sent once, by the timestamp for a retransmitted one (Linux
    /// tcp_ack_update_rtt). Congestion control gets the sample of the last segment.
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

    /// RTT by the timestamp in microseconds: bounded by the start of the clock for the estimator, and unbounded.
    #[inline(never)]
    fn rtt_from_timestamp(&self, tcb: &Tcb, ack: &Ack, now: Time) -> (u64, u64) {
        let shown = (tcb.host_clock_millis_at(now) - tcb.host_clock_millis_at(ack.echo)).max(1) * MICROS_PER_MILLI;
        (shown.min(tcb.host_clock_micros_at(now) - tcb.host_clock_micros_at(Time::ZERO)), shown)
    }
}

/// Processing without SACK blocks.
impl Rack {
    /// Counts duplicate ACKs, each of which represents an arrived segment.
    #[inline(never)]
    pub(super) fn count_dupack(&mut self, ack_state: &AckState) {
        if !ack_state.is_counted_dupack {
            return;
        }
        let before = self.scoreboard.sacked;
        self.scoreboard.sacked += 1;
        self.limit_dupacks(0);
        self.delivered += self.scoreboard.sacked.saturating_sub(before);
    }

    /// Handles an ACK of new data: one segment filled the hole, and duplicate ACKs had counted the others.
    #[inline(never)]
    fn uncount_dupacks(&mut self, ack_state: &mut AckState) {
        self.delivered += ack_state.acked_segments.saturating_sub(self.scoreboard.sacked).max(1);
        self.scoreboard.sacked = self.scoreboard.sacked.saturating_sub(ack_state.acked_segments - 1);
        self.limit_dupacks(ack_state.acked_segments);
        ack_state.original_delivered &= !ack_state.retransmitted_acked;
    }

    /// Limits the duplicate ACKs to the number of segments beyond the hole: more of them indicate reordering.
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
