//! What the sender knows of ECN: whether it is in use, what the acknowledgement at hand echoes, and whether it owes the receiver a CWR
//! (RFC 3168, section 6.1).

use ecnlab_units::Level;

use crate::segment::Ack;
use crate::settings::{EchoStyle, Settings};

/// The sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub struct EcnState {
    /// It was agreed upon, or is taken for granted where there is no three-way handshake.
    in_use: bool,
    /// The other side echoes marks.
    confirmed: bool,
    /// The acknowledgement at hand echoes a mark.
    echoed: bool,
    /// A mark came while the window was one segment or less.
    marked_at_one: bool,
    /// The window was cut, and the receiver is to be told.
    cwr_due: bool,
}

impl EcnState {
    pub fn new(settings: &Settings) -> EcnState {
        let confirmed = settings.ecn && !settings.offers_ecn();
        EcnState { in_use: settings.ecn, confirmed, echoed: false, marked_at_one: false, cwr_due: false }
    }

    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// The SYN's answer: ECE without CWR agrees; both mean a host that sends reserved bits back (RFC 3168, section 6.1.1).
    pub fn settle(&mut self, answer: &Ack) {
        self.in_use &= answer.ece && !answer.cwr;
        self.confirmed = self.in_use;
    }

    /// ECN is not offered any more.
    pub fn give_up(&mut self) {
        self.in_use = false;
    }

    /// An acknowledgement that is not looked at for its echo.
    pub fn pass_over(&mut self) {
        self.echoed = false;
    }

    /// The level of the mark that an acknowledgement echoes.
    pub fn read(&mut self, ack: &Ack, style: EchoStyle) -> Option<Level> {
        let level = match style {
            EchoStyle::Mecn => mecn_level(ack),
            EchoStyle::Classic | EchoStyle::Dctcp | EchoStyle::Accurate => ack.ece.then_some(Level::Congested),
        };
        self.echoed = level.is_some();
        level
    }

    /// Whether the acknowledgement at hand says that the network is congested, so that the window may not grow.
    pub fn forbids_growth(&self) -> bool {
        self.echoed && self.confirmed
    }

    /// The acknowledgement at hand has been dealt with: whether the other side echoes marks is known by it.
    pub fn remember(&mut self, ack: &Ack) {
        if !self.echoed && self.confirmed {
            self.marked_at_one = false;
        }
        self.confirmed |= ack.ece || ack.cwr;
    }

    /// A mark cuts a window of `cwnd`: whether it is the second in a row at one segment or less, which backs off the timer
    /// (RFC 3168, section 6.1.2).
    pub fn marked_again_at_one(&mut self, cwnd: f64) -> bool {
        let again = cwnd <= 1.0 && self.marked_at_one;
        self.marked_at_one = cwnd <= 1.0;
        again
    }

    /// A timed segment was acknowledged: whether that ends the back-off, as it does unless marks at one segment go on.
    pub fn ends_backoff(&mut self) -> bool {
        let ends = !(self.confirmed && self.marked_at_one && self.echoed);
        self.marked_at_one &= !ends;
        ends
    }

    pub fn owe_cwr(&mut self) {
        self.cwr_due = true;
    }

    /// The cut was taken back before the receiver was told.
    pub fn withdraw_cwr(&mut self) {
        self.cwr_due = false;
    }

    pub fn owes_cwr(&self) -> bool {
        self.cwr_due
    }

    /// A segment went, with CWR or without.
    pub fn sent(&mut self, cwr: bool) {
        self.cwr_due &= !cwr;
    }
}

/// MECN's echo in (CWR, ECE): 00 window reduced, 01 nothing, 10 incipient, 11 moderate.
fn mecn_level(ack: &Ack) -> Option<Level> {
    match (ack.cwr, ack.ece) {
        (true, false) => Some(Level::Incipient),
        (true, true) => Some(Level::Congested),
        (false, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn state() -> EcnState {
        EcnState::new(&Settings { ecn: true, ..profile::settings("ns2") })
    }

    #[test]
    fn an_answer_with_both_bits_does_not_agree() {
        let answer = |ece, cwr| {
            let mut ecn = state();
            ecn.settle(&Ack { ece, cwr, ..Ack::plain(1, 40) });
            ecn.in_use()
        };
        assert_eq!([true, false, false], [answer(true, false), answer(true, true), answer(false, false)]);
    }

    #[test]
    fn the_second_mark_in_a_row_at_one_segment_backs_off() {
        let mut ecn = state();
        assert_eq!([false, true, true], [(); 3].map(|()| ecn.marked_again_at_one(1.0)));
        assert!(!ecn.marked_again_at_one(2.0) && !ecn.marked_again_at_one(1.0));
    }

    #[test]
    fn mecn_reads_two_bits() {
        let level = |cwr, ece| state().read(&Ack { cwr, ece, ..Ack::plain(1, 40) }, EchoStyle::Mecn);
        assert_eq!(
            [None, None, Some(Level::Incipient), Some(Level::Congested)],
            [level(false, false), level(false, true), level(true, false), level(true, true)]
        );
    }
}
