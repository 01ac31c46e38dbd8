//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2) as in ns-2: recovery ends with any ACK of new data.
//!
//! The third duplicate ACK retransmits and halves cwnd; each further one inflates the window by a segment. In a window that was already
//! reduced they do neither. The exception is a window reduced for a mark, where the third one retransmits without a second reduction.

use ecnlab_units::Time;

use super::{Recovery, dupack};
use crate::segment::Ack;
use crate::settings::TcpSettings;
use crate::tcb::{LastReduction, SenderOutput, Tcb};

pub struct RenoRecovery {
    dup_thresh: u32,
}

impl RenoRecovery {
    pub fn new(settings: &TcpSettings) -> RenoRecovery {
        RenoRecovery { dup_thresh: settings.dupthresh }
    }
}

impl Recovery for RenoRecovery {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if ack.next > tcb.snd_una() {
            tcb.recovery_point.set_inflation(0);
            let newly = tcb.process_new_ack(ack, now);
            tcb.grow_cwnd(ack, newly, now, out);
        } else if ack.next == tcb.snd_una() {
            let again = tcb.recovery_point.last_reduction_is(LastReduction::FastRecovery);
            dupack::count_and_respond(tcb, self.dup_thresh, again, now, out);
        }
        if tcb.dupacks() == 0 || tcb.dupacks() >= self.dup_thresh {
            tcb.send_new_segments(u64::MAX, now, out);
        }
    }
}
