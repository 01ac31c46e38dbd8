//! The sender's part of the three-way handshake, and what it settles about ECN (RFC 9293, section 3.5; RFC 3168, section 6.1.1).

use ecnlab_units::{Span, Time};

use super::{Core, Output};
use crate::segment::Ack;

/// The retransmission timeout for data after a SYN that had to be sent again (RFC 6298, section 5.7).
const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);

impl Core {
    /// The SYN has been answered.
    pub(super) fn opened(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        // ECE without CWR agrees; both mean a host that sends reserved bits back (section 6.1.1).
        self.ecn &= ack.ece && !ack.cwr;
        self.ecn_confirmed = self.ecn;
        let sent_again = self.counters.retransmitted_timeout > 0;
        self.rto_at = None;
        self.una = 1;
        self.recover = 0;
        self.timed = None;
        if sent_again {
            self.estimator.restart_at(RTO_AFTER_LOST_SYN);
            self.initial_window = 1;
        } else {
            self.rtt.sample(ack, now);
            self.estimator.sample(ack.echo, now, self.una, self.high, &self.settings);
        }
        self.window.cwnd = self.initial_window as f64;
        out.window(&self.window);
    }

    /// Nobody answered the SYN: it goes again after a doubled timeout, and without ECN, which the path may not let pass (section 6.1.1.1).
    pub(super) fn syn_timed_out(&mut self, now: Time, out: &mut impl Output) {
        self.rto_at = None;
        self.ecn &= !self.settings.ecn_fallback;
        self.estimator.back_off(&self.settings);
        self.counters.timeouts += 1;
        self.transmit(0, now, out);
    }
}
