//! Loss recovery: what acknowledgements say about losses, what to send again and when. One file per algorithm.
//!
//! An algorithm is shown every acknowledgement and works on the sender's [`Tcb`]. The algorithms of ns-2 count duplicate
//! acknowledgements; those of today keep a scoreboard.

mod duplicates;
mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod sack1;
mod scoreboard;
mod tahoe;
#[cfg(test)]
mod testing;
mod vegas;

use ecnlab_units::Time;

pub use newreno::NewReno;
pub use rack::Rack;
pub use reno::RenoRecovery;
pub use sack::Sack;
pub use sack1::Sack1;
pub use tahoe::Tahoe;
pub use vegas::VegasRecovery;

use crate::segment::Ack;
use crate::settings::{RecoveryName, Settings};
use crate::tcb::{Output, Tcb};

/// An algorithm of loss recovery.
pub trait Recovery {
    /// An acknowledgement has come, new, duplicate or old; its echo of marks is already answered. Sends what is to be sent.
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O);

    /// An acknowledgement has come on data and acknowledges nothing new, which is no duplicate (RFC 5681, section 2).
    fn heard_on_data<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        tcb.note_echo(ack);
        self.fill(tcb, now, out);
    }

    /// The retransmission timer has expired, and the window is about to be cut: one that marks have closed opens to a segment.
    fn reopen<O: Output>(&mut self, tcb: &mut Tcb, out: &mut O) {
        tcb.reopen_window(out);
    }

    /// The retransmission timer has expired and the window is cut. Sends what is to be sent: from the first unacknowledged segment on.
    fn timed_out<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.go_back();
        tcb.send_window(u64::MAX, now, out);
    }

    /// Whether the algorithm cuts the window at a timeout itself: then it is told of one before anything is done about it.
    fn cuts_at_timeouts(&self) -> bool {
        false
    }

    /// Whether the window is coming down over a round trip.
    fn lowers_window(&self) -> bool {
        false
    }

    /// Sends what may be sent without an acknowledgement: at the start, when there is more to send, when what was held back may leave.
    fn fill<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        tcb.send_window(u64::MAX, now, out);
    }

    /// Sends the next new segment whatever the congestion window, with nothing outstanding.
    fn send_part<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        let seq = tcb.high();
        tcb.transmit(seq, now, out);
        tcb.pass_over(seq);
    }

    /// A three-way handshake is done.
    fn opened(&mut self, _tcb: &Tcb) {}

    /// Whether the algorithm has a timer of its own.
    fn has_timer(&self) -> bool {
        false
    }

    /// The algorithm's own timer.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The algorithm's own timer has expired.
    fn expire<O: Output>(&mut self, _tcb: &mut Tcb, _now: Time, _out: &mut O) {}
}

/// The algorithms, told apart without a pointer on a packet's way; large states stand aside.
pub enum Algorithm {
    Tahoe(Tahoe),
    Reno(RenoRecovery),
    Sack(Box<Sack>),
    Rack(Box<Rack>),
    NewReno(NewReno),
    Sack1(Box<Sack1>),
    Vegas(Box<VegasRecovery>),
}

macro_rules! each {
    ($one:expr, $algorithm:ident => $call:expr) => {
        match $one {
            Algorithm::Tahoe($algorithm) => $call,
            Algorithm::Reno($algorithm) => $call,
            Algorithm::Sack($algorithm) => $call,
            Algorithm::Rack($algorithm) => $call,
            Algorithm::NewReno($algorithm) => $call,
            Algorithm::Sack1($algorithm) => $call,
            Algorithm::Vegas($algorithm) => $call,
        }
    };
}

impl Algorithm {
    pub fn new(settings: &Settings) -> Algorithm {
        match settings.recovery {
            RecoveryName::Tahoe => Algorithm::Tahoe(Tahoe::new(settings)),
            RecoveryName::Reno => Algorithm::Reno(RenoRecovery::new(settings)),
            RecoveryName::Sack | RecoveryName::Fack => Algorithm::Sack(Box::new(Sack::new(settings))),
            RecoveryName::Rack => Algorithm::Rack(Box::new(Rack::new(settings))),
            RecoveryName::NewReno => Algorithm::NewReno(NewReno::new(settings)),
            RecoveryName::Sack1 => Algorithm::Sack1(Box::new(Sack1::new(settings))),
            RecoveryName::Vegas => Algorithm::Vegas(Box::new(VegasRecovery::new(settings))),
        }
    }
}

impl Recovery for Algorithm {
    #[inline(always)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.acknowledged(tcb, ack, now, out));
    }

    fn heard_on_data<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.heard_on_data(tcb, ack, now, out));
    }

    fn timed_out<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.timed_out(tcb, now, out));
    }

    fn reopen<O: Output>(&mut self, tcb: &mut Tcb, out: &mut O) {
        each!(self, algorithm => algorithm.reopen(tcb, out));
    }

    fn cuts_at_timeouts(&self) -> bool {
        each!(self, algorithm => algorithm.cuts_at_timeouts())
    }

    fn lowers_window(&self) -> bool {
        each!(self, algorithm => algorithm.lowers_window())
    }

    fn fill<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.fill(tcb, now, out));
    }

    fn send_part<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.send_part(tcb, now, out));
    }

    fn opened(&mut self, tcb: &Tcb) {
        each!(self, algorithm => algorithm.opened(tcb));
    }

    fn has_timer(&self) -> bool {
        each!(self, algorithm => algorithm.has_timer())
    }

    #[inline]
    fn deadline(&self) -> Option<Time> {
        each!(self, algorithm => algorithm.deadline())
    }

    fn expire<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.expire(tcb, now, out));
    }
}
