//! ECN state of the sender: whether ECN is in use and in which form, whether the current ACK echoes a mark, and whether a CWR is pending
//! (RFC 3168, section 6.1; RFC 9768, section 3.1).

use ecnlab_units::CongestionLevel;

use crate::accurate_ecn;
use crate::segment::Ack;
use crate::settings::{EchoStyle, TcpSettings};

/// ECN state of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnState {
    /// ECN was negotiated, or is assumed without a three-way handshake.
    in_use: bool,
    /// Accurate ECN was offered, and the SYN-ACK has not refused it; then marks are counted and there is no CWR.
    accurate: bool,
    /// The path changes the ECN field in a way that no congestion does: packets are not ECN-capable, and feedback continues.
    withholds_ect: bool,
    /// The peer echoes marks.
    peer_echoes: bool,
    /// The current ACK echoes a mark.
    ece_on_ack: bool,
    /// A mark arrived while cwnd was one segment or less.
    marked_at_one_segment: bool,
    /// Cwnd was reduced, and the receiver has not received the CWR yet.
    cwr_queued: bool,
}

impl EcnState {
    pub fn new(settings: &TcpSettings) -> EcnState {
        let confirmed = settings.ecn && !settings.offers_ecn();
        EcnState { in_use: settings.ecn, accurate: settings.wants_accurate_ecn(), peer_echoes: confirmed, ..EcnState::default() }
    }

    pub fn in_use(&self) -> bool {
        self.in_use
    }

    /// Whether packets of the connection may be ECN-capable.
    #[inline]
    pub fn sets_ect(&self) -> bool {
        self.in_use && !self.withholds_ect
    }

    /// Whether marks are counted (Accurate ECN), or the SYN-ACK may still agree to that.
    #[inline]
    pub fn is_accurate(&self) -> bool {
        self.accurate
    }

    /// Stops ECN-capable packets for the rest of the connection; marks that the peer reports still count.
    pub fn withhold_ect(&mut self) {
        self.withholds_ect = true;
    }

    /// Processes the SYN-ACK. ECE without CWR accepts classic ECN; both bits mean a host that reflects reserved bits (RFC 3168, section
    /// 6.1.1). With Accurate ECN, 001 accepts classic ECN alone, 000 and 111 no ECN (RFC 9768, section 3.1.2).
    pub fn on_syn_ack(&mut self, answer: &Ack) {
        if self.accurate {
            //= RFC 9768, section 3.1.2: a classic server gets classic ECN
            self.accurate = accurate_ecn::agrees_to_accurate(answer.ace());
            self.in_use = self.accurate || answer.ace() == accurate_ecn::SYN_ACK_ACE_CLASSIC;
        } else {
            //= RFC 3168, section 6.1.1: no ECN on data
            self.in_use &= answer.ece && !answer.cwr;
        }
        self.peer_echoes = self.in_use;
    }

    /// Ends the reading of an ACK that reports marks by their number.
    pub fn read_counted_marks(&mut self, marked: u64) -> Option<CongestionLevel> {
        self.ece_on_ack = marked > 0;
        self.ece_on_ack.then_some(CongestionLevel::Congested)
    }

    /// Disables ECN for the rest of the connection.
    pub fn disable(&mut self) {
        self.in_use = false;
    }

    /// Skips the echo of the current ACK.
    pub fn ignore_echo_of_ack(&mut self) {
        self.ece_on_ack = false;
    }

    /// Congestion level of the mark that an ACK echoes.
    pub fn read_echo(&mut self, ack: &Ack, style: EchoStyle) -> Option<CongestionLevel> {
        let level = match style {
            EchoStyle::Mecn => mecn_level(ack),
            EchoStyle::Classic | EchoStyle::Dctcp | EchoStyle::Accurate => ack.ece.then_some(CongestionLevel::Congested),
        };
        self.ece_on_ack = level.is_some();
        level
    }

    /// Whether the current ACK signals congestion, so that cwnd may not grow.
    pub fn forbids_growth(&self) -> bool {
        self.ece_on_ack && self.peer_echoes
    }

    /// Ends the processing of an ACK, and records whether the peer echoes marks.
    pub fn record_peer_echo(&mut self, ack: &Ack) {
        if !self.ece_on_ack && self.peer_echoes {
            self.marked_at_one_segment = false;
        }
        self.peer_echoes |= ack.ece || ack.cwr;
    }

    /// Records a mark at window `cwnd`. Returns whether it is the second mark in a row at one segment or less, which backs off the RTO (RFC
    /// 3168, section 6.1.2).
    pub fn record_mark_and_ask_if_repeated(&mut self, cwnd: f64) -> bool {
        let again = cwnd <= 1.0 && self.marked_at_one_segment;
        self.marked_at_one_segment = cwnd <= 1.0;
        again
    }

    /// Whether an RTT sample ends the RTO backoff. It does, unless the marks at one segment continue.
    pub fn is_backoff_ended_by_sample(&mut self) -> bool {
        let ends = !(self.peer_echoes && self.marked_at_one_segment && self.ece_on_ack);
        self.marked_at_one_segment &= !ends;
        ends
    }

    /// Queues a CWR, which Accurate ECN does not have.
    pub fn queue_cwr(&mut self) {
        self.cwr_queued = !self.accurate;
    }

    /// Cancels the CWR of a reduction that was undone before the CWR was sent.
    pub fn withdraw_cwr(&mut self) {
        self.cwr_queued = false;
    }

    pub fn is_cwr_queued(&self) -> bool {
        self.cwr_queued
    }

    /// Updates the pending CWR after a segment was sent with or without it.
    pub fn on_segment_sent(&mut self, cwr: bool) {
        self.cwr_queued &= !cwr;
    }
}

/// MECN echo in (CWR, ECE): 00 cwnd reduced, 01 no congestion, 10 incipient, 11 moderate.
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
        EcnState::new(&TcpSettings { ecn: true, ..profile::tcp_settings_of("ns2") })
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
        assert_eq!([false, true, true], [(); 3].map(|()| ecn.record_mark_and_ask_if_repeated(1.0)));
        assert!(!ecn.record_mark_and_ask_if_repeated(2.0) && !ecn.record_mark_and_ask_if_repeated(1.0));
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
