//! What the sender knows of ECN: whether it is in use, what the acknowledgement at hand echoes, and whether it owes the receiver a CWR
//! (RFC 3168, section 6.1).

use ecnlab_units::CongestionLevel;

use crate::segment::Ack;
use crate::settings::{EchoStyle, Settings};

/// The sender's side of ECN.
#[derive(Clone, Copy, Debug)]
pub struct EcnState {
    /// It was agreed upon, or is taken for granted where there is no three-way handshake.
    in_use: bool,
    /// The other side echoes marks.
    peer_echoes: bool,
    /// The acknowledgement at hand echoes a mark.
    ece_on_ack: bool,
    /// A mark came while the window was one segment or less.
    marked_at_one_segment: bool,
    /// The window was cut, and the receiver is to be told.
    cwr_queued: bool,
}

impl EcnState {
    pub fn new(settings: &Settings) -> EcnState {
        let confirmed = settings.ecn && !settings.offers_ecn();
        EcnState { in_use: settings.ecn, peer_echoes: confirmed, ece_on_ack: false, marked_at_one_segment: false, cwr_queued: false }
    }

    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// The SYN's answer: ECE without CWR agrees; both mean a host that sends reserved bits back (RFC 3168, section 6.1.1).
    pub fn on_syn_ack(&mut self, answer: &Ack) {
        //= RFC 3168, section 6.1.1: no ECN on data
        self.in_use &= answer.ece && !answer.cwr;
        self.peer_echoes = self.in_use;
    }

    /// ECN is not offered any more.
    pub fn disable(&mut self) {
        self.in_use = false;
    }

    /// An acknowledgement that is not looked at for its echo.
    pub fn ignore_echo(&mut self) {
        self.ece_on_ack = false;
    }

    /// The level of the mark that an acknowledgement echoes.
    pub fn read_echo(&mut self, ack: &Ack, style: EchoStyle) -> Option<CongestionLevel> {
        let level = match style {
            EchoStyle::Mecn => mecn_level(ack),
            EchoStyle::Classic | EchoStyle::Dctcp | EchoStyle::Accurate => ack.ece.then_some(CongestionLevel::Congested),
        };
        self.ece_on_ack = level.is_some();
        level
    }

    /// Whether the acknowledgement at hand says that the network is congested, so that the window may not grow.
    pub fn forbids_growth(&self) -> bool {
        self.ece_on_ack && self.peer_echoes
    }

    /// Ends the processing of an acknowledgement, which shows whether the other side echoes marks.
    pub fn end_ack_processing(&mut self, ack: &Ack) {
        if !self.ece_on_ack && self.peer_echoes {
            self.marked_at_one_segment = false;
        }
        self.peer_echoes |= ack.ece || ack.cwr;
    }

    /// A mark cuts a window of `cwnd`: whether it is the second in a row at one segment or less, which backs off the timer
    /// (RFC 3168, section 6.1.2).
    pub fn note_mark_at_cwnd(&mut self, cwnd: f64) -> bool {
        let again = cwnd <= 1.0 && self.marked_at_one_segment;
        self.marked_at_one_segment = cwnd <= 1.0;
        again
    }

    /// Returns whether the acknowledgement of a timed segment ends the back-off, as it does unless marks at one segment go on.
    pub fn end_backoff_on_sample(&mut self) -> bool {
        let ends = !(self.peer_echoes && self.marked_at_one_segment && self.ece_on_ack);
        self.marked_at_one_segment &= !ends;
        ends
    }

    pub fn queue_cwr(&mut self) {
        self.cwr_queued = true;
    }

    /// The cut was taken back before the receiver was told.
    pub fn withdraw_cwr(&mut self) {
        self.cwr_queued = false;
    }

    pub fn is_cwr_queued(&self) -> bool {
        self.cwr_queued
    }

    /// A segment went, with CWR or without.
    pub fn on_segment_sent(&mut self, cwr: bool) {
        self.cwr_queued &= !cwr;
    }
}

/// MECN's echo in (CWR, ECE): 00 window reduced, 01 nothing, 10 incipient, 11 moderate.
fn mecn_level(ack: &Ack) -> Option<CongestionLevel> {
    match (ack.cwr, ack.ece) {
        (true, false) => Some(CongestionLevel::Incipient),
        (true, true) => Some(CongestionLevel::Congested),
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
            ecn.on_syn_ack(&Ack { ece, cwr, ..Ack::plain(1, 40) });
            ecn.in_use()
        };
        assert_eq!([true, false, false], [answer(true, false), answer(true, true), answer(false, false)]);
    }

    #[test]
    fn the_second_mark_in_a_row_at_one_segment_backs_off() {
        let mut ecn = state();
        assert_eq!([false, true, true], [(); 3].map(|()| ecn.note_mark_at_cwnd(1.0)));
        assert!(!ecn.note_mark_at_cwnd(2.0) && !ecn.note_mark_at_cwnd(1.0));
    }

    #[test]
    fn mecn_reads_two_bits() {
        let level = |cwr, ece| state().read_echo(&Ack { cwr, ece, ..Ack::plain(1, 40) }, EchoStyle::Mecn);
        assert_eq!(
            [None, None, Some(CongestionLevel::Incipient), Some(CongestionLevel::Congested)],
            [level(false, false), level(false, true), level(true, false), level(true, true)]
        );
    }
}
