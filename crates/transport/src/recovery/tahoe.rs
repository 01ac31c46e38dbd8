//! Tahoe's fast retransmit (Jacobson 1988; ns-2's Agent/TCP): the third duplicate ACK acts as an RTO without backoff.
//!
//! Ssthresh is reduced, cwnd falls to one segment, and sending restarts at the first unacknowledged segment. Segments that had arrived
//! beyond it are skipped when the cumulative ACK jumps. There is no fast recovery: duplicate ACKs inflate nothing.

use ecnlab_units::Time;

use super::Recovery;
use super::dupack::{self, FastRetransmitDecision};
use crate::segment::Ack;
use crate::settings::TcpSettings;
use crate::tcb::{SenderOutput, Tcb};

pub struct Tahoe {
    dup_thresh: u32,
    /// Consecutive duplicate ACKs; an RTO between them does not reset the count.
    dupacks: u32,
}

impl Tahoe {
    pub fn new(settings: &TcpSettings) -> Tahoe {
        Tahoe { dup_thresh: settings.dupthresh, dupacks: 0 }
    }

    fn on_dupack(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        self.dupacks += 1;
        tcb.set_dupacks(self.dupacks);
        if tcb.dupacks() == self.dup_thresh {
            reduce_and_go_back_n(tcb, now, out);
        } else if tcb.dupacks() < self.dup_thresh {
            dupack::limited_transmit(tcb, now, out);
        }
    }
}

fn reduce_and_go_back_n(tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
    let FastRetransmitDecision::Retransmit { cut } = dupack::decide_fast_retransmit(tcb, false) else { return };
    tcb.recovery_point.record_recovery_start();
    if cut {
        tcb.reduce_to_one_for_loss(now, out);
    } else {
        tcb.reset_cwnd_to_one(out);
    }
    tcb.rewind_snd_nxt();
    if tcb.snd_una() < tcb.queued_segments() {
        dupack::retransmit_first(tcb, now, out);
        tcb.advance_snd_nxt_past(tcb.snd_una());
    }
}

impl Recovery for Tahoe {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > tcb.snd_una() {
            self.dupacks = 0;
            let newly = tcb.process_new_ack(ack, now);
            tcb.grow_cwnd(ack, newly, now, out);
        } else if ack.next == tcb.snd_una() {
            self.on_dupack(tcb, now, out);
        }
        tcb.send_new_segments(u64::MAX, now, out);
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::RecoveryTestBench;
    use crate::settings::RecoveryName;

    #[test]
    fn a_third_duplicate_goes_back_with_a_window_of_one() {
        let mut wire = RecoveryTestBench::new(RecoveryName::Tahoe, 8);
        wire.dupacks(1, 3);
        assert_eq!((1.0, 4.0), wire.cwnd_and_ssthresh());
        assert_eq!(vec![1], wire.take_sent());
        wire.ack(5);
        assert_eq!(vec![5, 6], wire.take_sent());
    }
}
