//! Loss recovery: what acknowledgements say about losses, what to send again and when. One file per algorithm.
//!
//! An algorithm is shown every acknowledgement and works on the sender's [`Core`]. The algorithms of ns-2 count duplicate
//! acknowledgements; those of today keep a scoreboard.

mod board;
mod duplicates;
mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod sack1;
mod tahoe;
#[cfg(test)]
mod testing;
mod tlp;
mod vegas;

use ecnlab_units::Time;

pub use newreno::NewReno;
pub use reno::Reno;
pub use sack::Sack;
pub use sack1::Sack1;
pub use tahoe::Tahoe;
pub use vegas::Vegas;

use crate::segment::Ack;
use crate::sender::{Core, Output};
use crate::settings::{RecoveryName, Settings};

/// An algorithm of loss recovery.
pub trait Recovery {
    /// An acknowledgement has come, new, duplicate or old; its echo of marks is already answered. Sends what is to be sent.
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O);

    /// The retransmission timer has expired and the window is cut. Sends what is to be sent: from the first unacknowledged segment on.
    fn timed_out<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        core.next = core.una;
        core.send_window(u64::MAX, now, out);
    }

    /// Sends what may be sent without an acknowledgement: at the start, when there is more to send, when the pacer lets go.
    fn fill<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        core.send_window(u64::MAX, now, out);
    }

    /// A three-way handshake is done.
    fn opened(&mut self, _core: &Core) {}

    /// The algorithm's own timer.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The algorithm's own timer has expired.
    fn expire<O: Output>(&mut self, _core: &mut Core, _now: Time, _out: &mut O) {}
}

/// The algorithms, told apart without a pointer on a packet's way; large states stand aside.
pub enum Algorithm {
    Tahoe(Tahoe),
    Reno(Reno),
    Sack(Box<Sack>),
    NewReno(NewReno),
    Sack1(Box<Sack1>),
    Vegas(Box<Vegas>),
}

macro_rules! each {
    ($one:expr, $algorithm:ident => $call:expr) => {
        match $one {
            Algorithm::Tahoe($algorithm) => $call,
            Algorithm::Reno($algorithm) => $call,
            Algorithm::Sack($algorithm) => $call,
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
            RecoveryName::Reno => Algorithm::Reno(Reno::new(settings)),
            RecoveryName::Sack | RecoveryName::Fack | RecoveryName::Rack => Algorithm::Sack(Box::new(Sack::new(settings))),
            RecoveryName::NewReno => Algorithm::NewReno(NewReno::new(settings)),
            RecoveryName::Sack1 => Algorithm::Sack1(Box::new(Sack1::new(settings))),
            RecoveryName::Vegas => Algorithm::Vegas(Box::new(Vegas::new(settings))),
        }
    }
}

impl Recovery for Algorithm {
    #[inline]
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.acknowledged(core, ack, now, out));
    }

    fn timed_out<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.timed_out(core, now, out));
    }

    fn fill<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.fill(core, now, out));
    }

    fn opened(&mut self, core: &Core) {
        each!(self, algorithm => algorithm.opened(core));
    }

    #[inline]
    fn deadline(&self) -> Option<Time> {
        each!(self, algorithm => algorithm.deadline())
    }

    fn expire<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        each!(self, algorithm => algorithm.expire(core, now, out));
    }
}
