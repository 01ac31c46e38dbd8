//! The sender's part of the three-way handshake, and what it settles about ECN (RFC 9293, section 3.5; RFC 3168, section 6.1.1).

use ecnlab_units::{Span, Time};

use super::{Output, Tcb};
use crate::segment::{Ack, Role, Segment};

/// The retransmission timeout for data after a SYN that had to be sent again (RFC 6298, section 5.7).
const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);

impl Tcb {
    /// Sends the SYN.
    pub fn open(&mut self, now: Time, out: &mut impl Output) {
        self.transmit(0, now, out);
        self.next = 1;
    }

    /// The SYN has been answered.
    pub fn opened(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.ecn.settle(ack);
        let sent_again = self.counters.retransmitted_timeout > 0;
        self.retransmit_at = None;
        self.una = 1;
        self.last_cut.open();
        self.timed = None;
        if sent_again {
            self.estimator.restart_at(RTO_AFTER_LOST_SYN);
            self.initial_window = 1;
        } else {
            self.rtt.sample(ack, now);
            self.take_handshake_sample(ack.echo, now);
        }
        self.plan.pass(self.una);
        self.open_window(out);
    }

    /// The connection has been opened from the other side; its handshake took `rtt`, if that is known.
    pub fn take_over(&mut self, rtt: Option<Span>) {
        self.last_cut.open();
        if let Some(rtt) = rtt {
            let shown = Ack { echo: Time::ZERO, ..Ack::plain(0, 0) };
            self.rtt.sample(&shown, Time::ZERO + rtt);
            self.take_handshake_sample(Time::ZERO, Time::ZERO + rtt);
        }
    }

    fn take_handshake_sample(&mut self, sent: Time, now: Time) {
        if self.settings.handshake_sample {
            self.estimator.sample(sent, now, self.point(), &self.settings);
        }
    }

    /// Nobody answered the SYN: it goes again after a doubled timeout, and without ECN, which the path may not let pass (section 6.1.1.1).
    pub fn syn_timed_out(&mut self, now: Time, out: &mut impl Output) {
        self.retransmit_at = None;
        if self.settings.ecn_fallback {
            self.ecn.give_up();
        }
        self.back_off();
        self.counters.timeouts += 1;
        self.transmit(0, now, out);
    }

    /// An acknowledgement without data, which closes a handshake.
    pub fn send_pure_ack(&mut self, out: &mut impl Output) {
        let bare = Segment::plain(self.high, self.settings.ack_size);
        let ecn = if self.ecn.in_use() && self.settings.ect_on_all() { self.settings.codepoint.ecn() } else { bare.ecn };
        out.send(Segment { role: Role::Pure, ecn, ..bare });
        self.counters.sent += 1;
    }
}
