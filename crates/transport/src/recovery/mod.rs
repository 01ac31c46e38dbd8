//! Loss recovery: loss detection by ACKs and timers, and retransmission. One file per algorithm.
//!
//! An algorithm sees every ACK and works on the sender's [`Tcb`]. The algorithms of ns-2 count duplicate ACKs; modern ones keep a
//! scoreboard.

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
use crate::settings::{RecoveryName, TcpSettings};
use crate::tcb::{SenderOutput, Tcb};

/// A loss recovery algorithm.
pub trait Recovery {
    /// Processes an ACK, whether new, duplicate or old, after the ECN response to its echo, and sends segments.
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O);

    /// Processes an ACK piggybacked on data that acknowledges no new data. It is not a duplicate ACK (RFC 5681, section 2).
    fn on_ack_with_data<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        tcb.remember_ecn_echo(ack);
        self.send_while_allowed(tcb, now, out);
    }

    /// Called when the retransmission timer expires, before cwnd is reduced: raises a cwnd that marks have reduced below one segment to
    /// one.
    fn restore_cwnd_before_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, out: &mut O) {
        tcb.raise_cwnd_to_one(out);
    }

    /// Called when the retransmission timer expires, after cwnd is reduced: sends from the first unacknowledged segment on.
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.rewind_snd_nxt();
        //= RFC 5681, section 3.1: one segment for each timeout
        tcb.send_new_segments(u64::MAX, now, out);
    }

    /// Whether the algorithm reduces cwnd itself after an RTO. It is then called before any other handling of the RTO.
    fn reduces_on_rto_itself(&self) -> bool {
        false
    }

    /// Whether a reduction of cwnd over one RTT is in progress.
    fn is_reducing_cwnd(&self) -> bool {
        false
    }

    /// Sends what the window allows without an ACK: at the start, after a write, or when the send gate opens.
    fn send_while_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.send_new_segments(u64::MAX, now, out);
    }

    /// Sends the next new segment regardless of cwnd, with nothing outstanding.
    fn send_one_new_segment<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        let seq = tcb.snd_max();
        tcb.transmit(seq, now, out);
        tcb.advance_snd_nxt_past(seq);
    }

    /// Called when a three-way handshake is complete.
    fn on_handshake_done(&mut self, _tcb: &mut Tcb, _now: Time) {}

    /// Whether the algorithm uses its own timer.
    fn has_own_timer(&self) -> bool {
        false
    }

    /// Deadline of the algorithm's own timer.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Called when the algorithm's own timer expires.
    fn on_timer<O: SenderOutput>(&mut self, _tcb: &mut Tcb, _now: Time, _out: &mut O) {}
}

/// The algorithms as an enum, which needs no indirection for each packet; large states are boxed.
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
    /// Starts anew for the next connection, in the same memory where that is possible.
    pub fn renew(&mut self, settings: &TcpSettings) {
        match self {
            RecoveryAlgorithm::Rack(rack) if settings.recovery == RecoveryName::Rack => rack.renew(settings),
            _ => *self = RecoveryAlgorithm::new(settings),
        }
    }

    pub fn new(settings: &TcpSettings) -> RecoveryAlgorithm {
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

    fn restore_cwnd_before_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, out: &mut O) {
        each!(self, algorithm => algorithm.restore_cwnd_before_rto(tcb, out));
    }

    fn reduces_on_rto_itself(&self) -> bool {
        each!(self, algorithm => algorithm.reduces_on_rto_itself())
    }

    fn is_reducing_cwnd(&self) -> bool {
        each!(self, algorithm => algorithm.is_reducing_cwnd())
    }

    fn send_while_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.send_while_allowed(tcb, now, out));
    }

    fn send_one_new_segment<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.send_one_new_segment(tcb, now, out));
    }

    fn on_handshake_done(&mut self, tcb: &mut Tcb, now: Time) {
        each!(self, algorithm => algorithm.on_handshake_done(tcb, now));
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
