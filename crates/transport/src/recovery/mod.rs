//! Loss recovery: what acknowledgements say about losses, what to send again and when. One file per algorithm.
//!
//! An algorithm is shown every acknowledgement and works on the sender's [`Tcb`]. The algorithms of ns-2 count duplicate
//! acknowledgements; those of today keep a scoreboard.

mod dupack;
mod newreno;
mod ns2_sack1;
mod prr;
mod rack;
mod reno;
mod sack;
mod scoreboard;
mod segment_queue;
mod tahoe;
#[cfg(test)]
mod testing;
mod vegas;

use ecnlab_units::Time;

pub use newreno::NewReno;
pub use ns2_sack1::Ns2Sack1;
pub use rack::Rack;
pub use reno::RenoRecovery;
pub use sack::Sack;
pub use tahoe::Tahoe;
pub use vegas::VegasRecovery;

use crate::segment::Ack;
use crate::settings::{RecoveryName, Settings};
use crate::tcb::{SenderOutput, Tcb};

/// An algorithm of loss recovery.
pub trait Recovery {
    /// An acknowledgement has come, new, duplicate or old; its echo of marks is already answered. Sends what is to be sent.
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O);

    /// An acknowledgement has come on data and acknowledges nothing new, which is no duplicate (RFC 5681, section 2).
    fn on_ack_with_data<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        tcb.remember_ecn_echo(ack);
        self.send_allowed(tcb, now, out);
    }

    /// The retransmission timer has expired, and the window is about to be cut: one that marks have closed opens to a segment.
    fn before_rto_reduction<O: SenderOutput>(&mut self, tcb: &mut Tcb, out: &mut O) {
        tcb.restore_cwnd_to_one(out);
    }

    /// The retransmission timer has expired and the window is cut. Sends what is to be sent: from the first unacknowledged segment on.
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.rewind_snd_nxt();
        //= RFC 5681, section 3.1: one segment for each timeout
        tcb.send_new_segments(u64::MAX, now, out);
    }

    /// Whether the algorithm cuts the window at a timeout itself: then it is told of one before anything is done about it.
    fn reduces_on_rto_itself(&self) -> bool {
        false
    }

    /// Whether the window is coming down over a round trip.
    fn is_reducing_cwnd(&self) -> bool {
        false
    }

    /// Sends what may be sent without an acknowledgement: at the start, when there is more to send, when what was held back may leave.
    fn send_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.send_new_segments(u64::MAX, now, out);
    }

    /// Sends the next new segment whatever the congestion window, with nothing outstanding.
    fn send_one_new_segment<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        let seq = tcb.snd_max();
        tcb.transmit(seq, now, out);
        tcb.advance_snd_nxt_past(seq);
    }

    /// A three-way handshake is done.
    fn on_handshake_done(&mut self, _tcb: &Tcb) {}

    /// Whether the algorithm has a timer of its own.
    fn has_own_timer(&self) -> bool {
        false
    }

    /// The algorithm's own timer.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The algorithm's own timer has expired.
    fn on_timer<O: SenderOutput>(&mut self, _tcb: &mut Tcb, _now: Time, _out: &mut O) {}
}

/// The algorithms, told apart without a pointer on a packet's way; large states stand aside.
pub enum RecoveryAlgorithm {
    Tahoe(Tahoe),
    Reno(RenoRecovery),
    Sack(Box<Sack>),
    Rack(Box<Rack>),
    NewReno(NewReno),
    Ns2Sack1(Box<Ns2Sack1>),
    Vegas(Box<VegasRecovery>),
}

macro_rules! each {
    ($one:expr, $algorithm:ident => $call:expr) => {
        match $one {
            RecoveryAlgorithm::Tahoe($algorithm) => $call,
            RecoveryAlgorithm::Reno($algorithm) => $call,
            RecoveryAlgorithm::Sack($algorithm) => $call,
            RecoveryAlgorithm::Rack($algorithm) => $call,
            RecoveryAlgorithm::NewReno($algorithm) => $call,
            RecoveryAlgorithm::Ns2Sack1($algorithm) => $call,
            RecoveryAlgorithm::Vegas($algorithm) => $call,
        }
    };
}

impl RecoveryAlgorithm {
    pub fn new(settings: &Settings) -> RecoveryAlgorithm {
        match settings.recovery {
            RecoveryName::Tahoe => RecoveryAlgorithm::Tahoe(Tahoe::new(settings)),
            RecoveryName::Reno => RecoveryAlgorithm::Reno(RenoRecovery::new(settings)),
            RecoveryName::Sack | RecoveryName::Fack => RecoveryAlgorithm::Sack(Box::new(Sack::new(settings))),
            RecoveryName::Rack => RecoveryAlgorithm::Rack(Box::new(Rack::new(settings))),
            RecoveryName::NewReno => RecoveryAlgorithm::NewReno(NewReno::new(settings)),
            RecoveryName::Sack1 => RecoveryAlgorithm::Ns2Sack1(Box::new(Ns2Sack1::new(settings))),
            RecoveryName::Vegas => RecoveryAlgorithm::Vegas(Box::new(VegasRecovery::new(settings))),
        }
    }
}

impl Recovery for RecoveryAlgorithm {
    #[inline(always)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.on_ack(tcb, ack, now, out));
    }

    fn on_ack_with_data<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.on_ack_with_data(tcb, ack, now, out));
    }

    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.on_rto(tcb, now, out));
    }

    fn before_rto_reduction<O: SenderOutput>(&mut self, tcb: &mut Tcb, out: &mut O) {
        each!(self, algorithm => algorithm.before_rto_reduction(tcb, out));
    }

    fn reduces_on_rto_itself(&self) -> bool {
        each!(self, algorithm => algorithm.reduces_on_rto_itself())
    }

    fn is_reducing_cwnd(&self) -> bool {
        each!(self, algorithm => algorithm.is_reducing_cwnd())
    }

    fn send_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.send_allowed(tcb, now, out));
    }

    fn send_one_new_segment<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.send_one_new_segment(tcb, now, out));
    }

    fn on_handshake_done(&mut self, tcb: &Tcb) {
        each!(self, algorithm => algorithm.on_handshake_done(tcb));
    }

    fn has_own_timer(&self) -> bool {
        each!(self, algorithm => algorithm.has_own_timer())
    }

    #[inline]
    fn deadline(&self) -> Option<Time> {
        each!(self, algorithm => algorithm.deadline())
    }

    fn on_timer<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.on_timer(tcb, now, out));
    }
}
