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

    /// Called when the retransmission timer expires, after cwnd is reduced: sends from the first unacknowledged segment on.
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.rewind_snd_nxt();
        //= RFC 5681, section 3.1: one segment for each timeout
        tcb.send_new_segments(u64::MAX, now, out);
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

    /// Processes an ACK piggybacked on data that acknowledges no new data. It is not a duplicate ACK (RFC 5681, section 2).
    pub fn on_ack_with_data<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        if let RecoveryAlgorithm::Rack(rack) = self {
            return rack.on_ack(tcb, ack, now, out);
        }
        tcb.remember_ecn_echo(ack);
        self.send_while_allowed(tcb, now, out);
    }

    /// Called when the retransmission timer expires, before cwnd is reduced: raises a cwnd that marks have reduced below one segment to
    /// one. Vegas sets cwnd itself and first checks whether it was below one.
    pub fn restore_cwnd_before_rto(&self, tcb: &mut Tcb, out: &mut impl SenderOutput) {
        if !matches!(self, RecoveryAlgorithm::Vegas(_)) {
            tcb.raise_cwnd_to_one(out);
        }
    }

    /// Whether the algorithm reduces cwnd itself after an RTO. It is then called before any other handling of the RTO.
    pub fn reduces_on_rto_itself(&self) -> bool {
        matches!(self, RecoveryAlgorithm::Rack(_))
    }

    /// Whether a reduction of cwnd over one RTT is in progress.
    pub fn is_reducing_cwnd(&self) -> bool {
        matches!(self, RecoveryAlgorithm::Rack(rack) if rack.is_reducing())
    }

    /// Whether the algorithm uses its own timer.
    pub fn has_own_timer(&self) -> bool {
        matches!(self, RecoveryAlgorithm::Rack(_))
    }

    /// Deadline of the algorithm's own timer.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if let RecoveryAlgorithm::Rack(rack) = self { rack.deadline() } else { None }
    }

    /// Called when the algorithm's own timer expires.
    pub fn on_timer(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        if let RecoveryAlgorithm::Rack(rack) = self {
            rack.on_timer(tcb, now, out);
        }
    }
}

impl Recovery for RecoveryAlgorithm {
    #[inline(always)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.on_ack(tcb, ack, now, out));
    }

    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.on_rto(tcb, now, out));
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
}
