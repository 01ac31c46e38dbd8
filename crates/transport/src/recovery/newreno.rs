//! NewReno's fast recovery (RFC 6582) as in ns-2: it ends when all segments sent before the loss are acknowledged.
//!
//! A partial ACK indicates the next loss. It retransmits that segment, deflates the window by the acknowledged segments and adds one for
//! the retransmission (section 3.2, step 3). It takes no RTT sample, and does not reset the count of duplicate ACKs. In recovery each ACK
//! sends at most two new segments. When recovery ends, cwnd stays at ssthresh, or falls to FlightSize.

use ecnlab_units::Time;

use super::{Recovery, dupack};
use crate::segment::Ack;
use crate::settings::{CwndOnExit, PartialAckTimer, TcpSettings};
use crate::tcb::{LastReduction, SenderOutput, Tcb};

/// Maximum number of segments that an ACK sends during recovery.
const MAX_BURST_IN_RECOVERY: u64 = 2;

pub struct NewReno {
    dup_thresh: u32,
    /// Whether every partial ACK restarts the timer, or only the first (section 4: slow-but-steady and impatient).
    restart_timer_on_every_partial_ack: bool,
    partial_seen: bool,
}

impl NewReno {
    pub fn new(settings: &TcpSettings) -> NewReno {
        NewReno {
            dup_thresh: settings.dupthresh,
            restart_timer_on_every_partial_ack: settings.quirks.partial_ack_timer == PartialAckTimer::Every,
            partial_seen: false,
        }
    }

    fn on_partial_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        if self.restart_timer_on_every_partial_ack || !self.partial_seen {
            self.partial_seen = true;
            tcb.restart_rto_timer(now);
        }
        if tcb.settings().quirks.partial_window_deflation {
            deflate_window(tcb, ack.next - tcb.snd_una(), out);
        } else {
            tcb.recovery_point.set_inflation(0);
        }
        tcb.advance_snd_una(ack.next);
        tcb.drop_passed_rtt_timing();
        //= RFC 6582, section 3.2: each lost segment is sent once more and nothing else
        tcb.fast_retransmit_segment(tcb.snd_una(), now, out);
    }

    fn on_full_or_ordinary_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        self.partial_seen = false;
        // ns-2 detects by the inflation that it was in recovery.
        let unnoticed = tcb.recovery_point.inflation() == 0 && tcb.recovery_point.last_reduction_is(LastReduction::FastRecovery);
        if tcb.recovery_point.inflation() > 0 && tcb.settings().quirks.cwnd_on_exit == CwndOnExit::Flight {
            tcb.set_cwnd(tcb.window().ssthresh.min((tcb.snd_max() + 1 - ack.next) as f64), out);
        }
        //= RFC 5681, section 3.2, step 6: recovery ends at the threshold
        tcb.recovery_point.set_inflation(0);
        let newly = tcb.process_new_ack(ack, now);
        if unnoticed {
            tcb.recovery_point.record_recovery_start();
        }
        tcb.grow_cwnd(ack, newly, now, out);
    }
}

/// Deflates the window by `newly` segments and inflates it by one; inflation stays above zero, and the window at one or more.
fn deflate_window(tcb: &mut Tcb, newly: u64, out: &mut impl SenderOutput) {
    let inflation = tcb.recovery_point.inflation();
    if inflation > newly {
        tcb.recovery_point.set_inflation(inflation - (newly - 1));
    } else {
        tcb.set_cwnd(tcb.window().cwnd - (newly - inflation) as f64, out);
        tcb.recovery_point.set_inflation(1);
    }
    tcb.raise_cwnd_to_one(out);
}

impl Recovery for NewReno {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > tcb.snd_una() {
            if !tcb.recovery_point.is_reached_by(ack.next) && tcb.recovery_point.last_reduction_is(LastReduction::FastRecovery) {
                self.on_partial_ack(tcb, ack, now, out);
            } else {
                self.on_full_or_ordinary_ack(tcb, ack, now, out);
            }
        } else if ack.next == tcb.snd_una() {
            dupack::count_and_respond(tcb, self.dup_thresh, false, now, out);
        }
        if tcb.dupacks() == 0 {
            tcb.send_new_segments(u64::MAX, now, out);
        } else if tcb.dupacks() >= self.dup_thresh {
            tcb.send_new_segments(MAX_BURST_IN_RECOVERY, now, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::RecoveryName;

    #[test]
    fn a_partial_acknowledgement_retransmits_and_recovery_goes_on() {
        let mut wire = RecoveryTestBench::new(RecoveryName::NewReno, 8);
        wire.dupacks(1, 3);
        assert_eq!(vec![1], wire.take_sent());
        wire.ack(4);
        assert_eq!(vec![4], wire.take_sent());
        assert_eq!((4.0, 4.0), wire.cwnd_and_ssthresh());
    }

    #[test]
    fn a_partial_acknowledgement_of_more_than_the_inflation_deflates_the_window() {
        let mut wire = RecoveryTestBench::new(RecoveryName::NewReno, 16);
        wire.dupacks(1, 3);
        wire.ack(8);
        // Seven segments are outstanding, and duplicate ACKs show that three have arrived.
        assert_eq!((4.0, 8.0), wire.cwnd_and_ssthresh());
    }

    #[test]
    fn recovery_ends_with_all_that_was_sent_before_the_loss() {
        let mut wire = RecoveryTestBench::new(RecoveryName::NewReno, 8);
        wire.dupacks(1, 3);
        wire.ack(9);
        assert_eq!((4.25, 4.0), wire.cwnd_and_ssthresh());
    }
}
