//! Vegas retransmission (Brakmo and Peterson 1995, section 3.1) as in ns-2: a fine-grained clock for every segment.
//!
//! Each duplicate ACK checks whether the first unacknowledged segment was sent longer ago than the fine timeout. The first two ACKs of new
//! data after a retransmission check it too. A third duplicate ACK retransmits in any case. Cwnd falls to three quarters, or to a half for
//! a segment that was lost again, and only for losses of segments sent after the last reduction. An RTO restarts with two segments.
//!
//! Send times are in a table of the size of the largest window. If an ACK of several segments passes its end, ns-2 leaves the old entries,
//! so the segments that reuse them count as retransmitted. ns-2 invents segments once all data is acknowledged; these are not sent here.

use ecnlab_units::{Span, Time};

use super::Recovery;
use crate::segment::Ack;
use crate::settings::TcpSettings;
use crate::tcb::{LastReduction, SenderOutput, Tcb};

/// Cwnd after an RTO.
const CWND_AFTER_RTO: f64 = 2.0;
/// Ssthresh after the window inflation has ended: slow start is over.
const SSTHRESH_AFTER_INFLATION: f64 = 2.0;
/// Maximum number of ACKs after a retransmission that check the fine timeout.
const MAX_WATCHED_ACKS: u64 = 2;
/// Maximum size of the table of send times.
const MAX_TABLE_SEGMENTS: u64 = 1 << 20;

pub struct VegasRecovery {
    dup_thresh: u32,
    /// Last send time of segment 0: the zero of the fine clock.
    clock_zero: Option<Time>,
    transmissions: Vec<Transmission>,
    table_size: u64,
    fine_timeout: FineTimeout,
    /// Remaining ACKs of new data that check the fine timeout.
    watched_acks: u64,
    /// Cwnd without inflation by duplicate ACKs.
    deflated_cwnd: f64,
    /// Time of the last reduction of cwnd on the fine clock.
    reduced_at: f64,
}

/// Last send time of a segment on the fine clock, and its number of transmissions.
#[derive(Clone, Copy)]
struct Transmission {
    sent: f64,
    times: u32,
}

const NEVER_SENT: Transmission = Transmission { sent: -1.0, times: 0 };

/// Fine timeout in seconds: mean in eighths, deviation in quarters.
struct FineTimeout {
    mean8: f64,
    deviation4: f64,
    timeout: f64,
    is_initialized: bool,
}

impl FineTimeout {
    /// Initializes the mean before the first sample with the RTT of the first ACK.
    fn initialize(&mut self, rtt: f64) {
        if !self.is_initialized {
            (self.mean8, self.deviation4, self.is_initialized) = (rtt * 8.0, rtt, true);
            self.timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
        }
    }

    fn on_rtt_sample(&mut self, rtt: f64) {
        let error = rtt - self.mean8 / 8.0;
        self.mean8 += error;
        self.deviation4 += error.abs() - self.deviation4 / 4.0;
        self.timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
        self.timeout += self.timeout / 16.0;
    }

    fn back_off(&mut self, again: bool) {
        self.timeout += if again { self.timeout } else { self.timeout / 8.0 };
    }
}

impl VegasRecovery {
    pub fn new(settings: &TcpSettings) -> VegasRecovery {
        VegasRecovery {
            dup_thresh: settings.dupthresh,
            clock_zero: None,
            transmissions: Vec::new(),
            table_size: settings.max_rwnd.min(MAX_TABLE_SEGMENTS),
            fine_timeout: FineTimeout { mean8: 0.0, deviation4: 0.0, timeout: 1000.0, is_initialized: false },
            watched_acks: 0,
            deflated_cwnd: 0.0,
            reduced_at: 0.0,
        }
    }

    fn seconds_since_first_send(&self, now: Time) -> f64 {
        self.clock_zero.map_or(0.0, |origin| now.since(origin).seconds())
    }

    fn transmission(&self, seq: u64) -> Transmission {
        self.transmissions.get((seq % self.table_size) as usize).copied().unwrap_or(NEVER_SENT)
    }

    fn record_transmission(&mut self, seq: u64, now: Time) {
        if seq == 0 {
            self.transmissions.clear();
        }
        let index = (seq % self.table_size) as usize;
        if index >= self.transmissions.len() {
            self.transmissions.resize(index + 1, NEVER_SENT);
        }
        self.transmissions[index] = Transmission { sent: self.seconds_since_first_send(now), times: self.transmissions[index].times + 1 };
    }

    /// Clears the entries of segments `from` to `last`, up to the end of the table.
    fn clear_acked_transmissions(&mut self, from: u64, last: u64) {
        let (from, end) = ((from % self.table_size) as usize, (last % self.table_size) as usize + 1);
        let end = end.min(self.transmissions.len());
        if from < end {
            self.transmissions[from..end].fill(NEVER_SENT);
        }
    }

    fn is_fine_timeout_over(&self, seq: u64, at: f64) -> bool {
        at - self.transmission(seq).sent >= self.fine_timeout.timeout
    }

    fn on_new_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        let before = tcb.snd_una();
        if before == 1 && tcb.settings().quirks.delay_growth {
            tcb.set_initial_window(out);
        }
        self.end_inflation(tcb, out);
        let newly = tcb.process_new_ack(ack, now);
        let at = self.seconds_since_first_send(now);
        let sending = self.transmission(ack.next - 1);
        let sample = (sending.sent != 0.0 && sending.times == 1).then_some(at - sending.sent);
        tcb.grow_cwnd_traced(ack, newly, sample.and_then(Span::from_secs_f64), now, out);
        self.clear_acked_transmissions(before, ack.next - 1);
        if let Some(rtt) = sample.filter(|&rtt| rtt > 0.0) {
            self.fine_timeout.on_rtt_sample(rtt);
        }
        self.check_next_segment(tcb, at, now, out);
    }

    fn end_inflation(&mut self, tcb: &mut Tcb, out: &mut impl SenderOutput) {
        if tcb.dupacks() > self.dup_thresh && tcb.window().cwnd > self.deflated_cwnd {
            tcb.set_cwnd(self.deflated_cwnd, out);
            tcb.set_ssthresh(SSTHRESH_AFTER_INFLATION, out);
        }
    }

    /// Checks after a retransmission whether the next segment was lost too; cwnd was reduced already.
    fn check_next_segment(&mut self, tcb: &mut Tcb, at: f64, now: Time, out: &mut impl SenderOutput) {
        if self.watched_acks == 0 {
            return;
        }
        self.watched_acks -= 1;
        if self.is_fine_timeout_over(tcb.snd_una(), at) && can_send_first_unacked(tcb) {
            tcb.set_dupacks(self.dup_thresh);
            self.retransmit_first(tcb, now, out);
        } else {
            self.watched_acks = 0;
        }
    }

    fn retransmit_first(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        tcb.fast_retransmit_segment(tcb.snd_una(), now, out);
        self.record_transmission(tcb.snd_una(), now);
    }

    fn on_dupack(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        let count = tcb.count_dupack();
        let at = self.seconds_since_first_send(now);
        if self.is_fine_timeout_over(tcb.snd_una(), at) || count == self.dup_thresh {
            let timed_out = !tcb.recovery_point.is_passed_by(tcb.snd_una()) && tcb.recovery_point.last_reduction_is(LastReduction::Timeout);
            let may_act = !(tcb.settings().quirks.single_fast_retransmit && timed_out);
            if may_act && can_send_first_unacked(tcb) {
                self.on_loss(tcb, at, now, out);
            }
        } else if count > self.dup_thresh {
            tcb.set_cwnd(tcb.window().cwnd + 1.0, out);
        }
    }

    fn on_loss(&mut self, tcb: &mut Tcb, at: f64, now: Time, out: &mut impl SenderOutput) {
        let sending = self.transmission(tcb.snd_una());
        let again = sending.times > 1;
        self.watched_acks = MAX_WATCHED_ACKS.min(tcb.snd_nxt() + 1 - tcb.snd_una());
        self.fine_timeout.back_off(again);
        tcb.recovery_point.record_recovery_start();
        if self.reduced_at < sending.sent {
            self.reduce_cwnd(tcb, again, now, out);
            self.reduced_at = at;
        } else {
            tcb.recovery_point.extend_to(tcb.snd_max());
        }
        tcb.back_off_rto();
        tcb.restart_rto_timer(now);
        tcb.cancel_rtt_timing();
        self.retransmit_first(tcb, now, out);
        if sending.times == 1 {
            tcb.set_dupacks(self.dup_thresh);
        }
    }

    fn reduce_cwnd(&mut self, tcb: &mut Tcb, again: bool, now: Time, out: &mut impl SenderOutput) {
        let window = tcb.usable_window();
        tcb.record_loss_reduction(now);
        let left = match window {
            0..=3 => 2,
            _ if again => window / 2,
            _ => window - window / 4,
        };
        self.deflated_cwnd = left as f64;
        tcb.set_cwnd(self.deflated_cwnd + f64::from(tcb.dupacks()), out);
    }

    fn send_new_and_record_times(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if tcb.snd_nxt() == 0 || self.clock_zero.is_none() {
            self.clock_zero = Some(now);
            tcb.on_first_segment_sent(now);
        }
        let from = tcb.snd_nxt();
        tcb.send_new_segments(u64::MAX, now, out);
        (from..tcb.snd_nxt()).for_each(|seq| self.record_transmission(seq, now));
    }
}

/// Whether there is a first unacknowledged segment. With nothing outstanding it is the next one, if the receive window has space for it.
fn can_send_first_unacked(tcb: &Tcb) -> bool {
    tcb.snd_una() < tcb.queued_segments() && tcb.fits_rwnd(tcb.snd_una())
}

impl Recovery for VegasRecovery {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        self.fine_timeout.initialize(self.seconds_since_first_send(now));
        if ack.next > tcb.snd_una() {
            self.on_new_ack(tcb, ack, now, out);
        } else if ack.next == tcb.snd_una() {
            self.on_dupack(tcb, now, out);
        }
        if tcb.dupacks() == 0 || tcb.dupacks() >= self.dup_thresh {
            self.send_new_and_record_times(tcb, now, out);
        }
    }

    #[inline(never)]
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        let closed = tcb.window().cwnd < 1.0;
        if tcb.outstanding_segments() == 0 && !tcb.settings().quirks.idle_rto_resets_cwnd && !closed {
            return;
        }
        tcb.set_cwnd(CWND_AFTER_RTO, out);
        self.deflated_cwnd = 0.0;
        self.reduced_at = self.seconds_since_first_send(now);
        tcb.rewind_snd_nxt();
        self.send_new_and_record_times(tcb, now, out);
    }

    #[inline(never)]
    fn send_while_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.send_new_and_record_times(tcb, now, out);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Span;

    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::RecoveryName;

    #[test]
    fn a_first_duplicate_after_the_fine_timeout_retransmits_and_leaves_three_quarters() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Vegas, 16);
        wire.advance_clock(Span::from_millis(300));
        wire.dupacks(1, 1);
        assert_eq!(vec![1], wire.take_sent());
        // The cwnd of 12 is inflated by the duplicate ACK.
        assert_eq!(13.0, wire.cwnd_and_ssthresh().0);
    }

    #[test]
    fn duplicates_before_the_fine_timeout_wait_for_the_third() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Vegas, 16);
        wire.advance_clock(Span::from_millis(50));
        wire.dupacks(1, 2);
        assert_eq!(Vec::<u64>::new(), wire.take_sent());
        wire.dupacks(1, 1);
        assert_eq!(vec![1], wire.take_sent());
    }

    #[test]
    fn the_first_new_acknowledgement_looks_for_another_loss() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Vegas, 16);
        wire.advance_clock(Span::from_millis(300));
        wire.dupacks(1, 1);
        wire.take_sent();
        wire.advance_clock(Span::from_millis(100));
        wire.ack(4);
        assert_eq!(Some(&4), wire.take_sent().first());
    }
}
