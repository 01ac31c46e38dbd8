//! What goes out: new segments as far as the window allows, and single ones again.

use ecnlab_units::{Ecn, Time};

use super::{Output, Tcb};
use crate::segment::{Role, Segment};
use crate::settings::Handshake;
use crate::window::CongestionControl;

impl Tcb {
    /// Sends new segments as far as the window allows, at most `most` and the sender's own limit.
    #[inline]
    pub fn send_window(&mut self, most: u64, now: Time, out: &mut impl Output) {
        let mut left = most.min(self.most_burst());
        // What has gone once may go again whatever the other side offers now (RFC 9293, section 3.8.6).
        let limit = self.available().min(self.una + self.usable_window()).min(self.room.max(self.high));
        while self.next < limit && left > 0 && self.may_send_now(now) {
            self.send_next(now, out);
            left -= 1;
        }
    }

    /// Most segments in answer to one acknowledgement.
    pub fn most_burst(&self) -> u64 {
        if self.settings.max_burst == 0 { u64::MAX } else { self.settings.max_burst }
    }

    /// Sends the next segment.
    fn send_next(&mut self, now: Time, out: &mut impl Output) {
        self.transmit(self.next, now, out);
        self.next += 1;
    }

    /// One new segment beyond the window for a duplicate acknowledgement (RFC 3042).
    pub fn send_beyond_window(&mut self, now: Time, out: &mut impl Output) {
        let in_receiver_window = self.next < (self.una + self.settings.max_window).min(self.room);
        let in_limited_window = (self.next + 1) as f64 <= self.una as f64 + self.window.cwnd + f64::from(self.duplicates);
        if in_receiver_window && in_limited_window && self.next < self.available() {
            self.send_next(now, out);
        }
    }

    /// Sends a segment again because acknowledgements show its loss.
    pub fn retransmit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let by_timeout = self.counters.retransmitted_timeout;
        self.transmit(seq, now, out);
        // With nothing outstanding this sends new data, which counts as neither.
        self.counters.retransmitted_fast += self.counters.retransmitted_timeout - by_timeout;
        self.counters.retransmitted_timeout = by_timeout;
    }

    /// Sends a segment, new or again, and sees to it that the retransmission timer runs.
    #[inline(never)]
    pub fn transmit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let nothing_outstanding = self.una == self.high;
        self.emit(seq, now, out);
        if self.retransmit_at.is_none() || nothing_outstanding {
            self.restart_timer(now);
        }
    }

    /// Sends a segment again, by a timeout or not, and leaves the timer to the caller.
    #[inline(never)]
    pub fn emit_again(&mut self, seq: u64, by_timeout: bool, now: Time, out: &mut impl Output) {
        self.emit(seq, now, out);
        if !by_timeout {
            self.counters.retransmitted_timeout -= 1;
            self.counters.retransmitted_fast += 1;
        }
    }

    /// Congestion control is told that sending goes on with nothing in flight.
    pub fn begin_sending(&mut self, now: Time) {
        self.control.resumed(now, self.last_sent);
    }

    /// Whether a new segment may go: one that is not full may have to wait for more data.
    #[inline]
    pub fn may_go(&self, seq: u64) -> bool {
        !self.plan.waits(seq, self.una, self.high)
    }

    /// The next segment is pushed.
    pub fn push_next(&mut self) {
        self.pushes = true;
    }

    /// Sends a segment, new or again, and leaves the timer to the caller.
    // Two ways lead here on which every segment goes: a copy for each of them costs less than a further call.
    #[inline(always)]
    pub fn emit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let retransmission = seq < self.high;
        let segment = Segment {
            seq,
            size: self.settings.packet_size,
            role: Role::Plain,
            ecn: if self.ecn.in_use() && (!retransmission || self.settings.ect_on_retransmission || self.settings.ect_on_all()) {
                self.settings.codepoint.ecn()
            } else {
                Ecn::NotEct
            },
            cwr: self.ecn.owes_cwr() && self.may_carry_cwr(seq),
            ece: false,
            retransmission,
            push: self.plan.push(seq, !retransmission) || std::mem::take(&mut self.pushes),
        };
        if seq > 0 && self.plan.is_full_before(seq + 1) {
            self.ecn.sent(segment.cwr);
            out.send(segment);
        } else {
            let planned = self.planned(segment);
            self.ecn.sent(planned.cwr);
            out.send(planned);
        }
        self.counters.sent += 1;
        self.last_sent = now;
        if retransmission {
            self.counters.retransmitted_timeout += 1;
        } else {
            self.high = seq + 1;
            if self.timed.is_none() {
                self.timed = Some((seq, now));
            }
        }
        if let Some(gate) = &mut self.gate {
            gate.on_sent(&self.window, self.rtt.smoothed(), now);
        }
    }

    /// Whether CWR may go on a segment.
    fn may_carry_cwr(&self, seq: u64) -> bool {
        if !self.ecn.in_use() && !self.settings.cwr_without_ecn {
            return false;
        }
        let is_new = if self.settings.cwr_on_highest { seq + 1 >= self.high } else { seq >= self.high };
        self.settings.cwr_on_retransmission || is_new
    }

    /// The segment as the first one, the FIN, or one with less than a full payload.
    #[cold]
    fn planned(&self, mut segment: Segment) -> Segment {
        let settings = &self.settings;
        segment.role = self.plan.role(segment.seq);
        match segment.role {
            role if self.plan.carries_data(role) => segment.size = self.plan.payload(segment.seq) + settings.header,
            Role::Fin => {
                let ecn = if settings.ect_on_all() { segment.ecn } else { Ecn::NotEct };
                segment = Segment { size: settings.ack_size, ecn, cwr: false, ..segment };
            }
            Role::Plain | Role::Syn | Role::Pure => {}
        }
        if segment.seq == 0 { self.first(segment) } else { segment }
    }

    /// The first segment, which offers ECN where there is somebody to answer.
    fn first(&self, mut segment: Segment) -> Segment {
        let settings = &self.settings;
        if settings.first_packet_size > 0 {
            segment.size = settings.first_packet_size;
        }
        if settings.offers_ecn() {
            let three_way = settings.handshake == Handshake::ThreeWay;
            let offers = self.ecn.in_use() && !(three_way && segment.retransmission && settings.ecn_fallback);
            segment.ece = offers;
            segment.cwr |= offers && three_way;
        }
        if settings.offers_ecn() || segment.role == Role::Syn {
            // Also where it is sent again and offers nothing any more (Linux tcp_ecn_clear_syn).
            segment.ecn = if settings.ecn && settings.ect_on_all() { settings.codepoint.ecn() } else { Ecn::NotEct };
        }
        segment
    }

    /// Whether pacing and the processing time let a segment leave now; if not, the sender is woken when they do.
    #[inline(always)]
    pub fn may_send_now(&mut self, now: Time) -> bool {
        self.gate.as_mut().is_none_or(|gate| gate.may_send(now))
    }

    /// Whether pacing or a processing time may hold segments back.
    #[inline]
    pub fn holds_back(&self) -> bool {
        self.gate.is_some()
    }

    /// The sender was woken to send what was held back.
    pub fn begin_held_turn(&mut self, now: Time) {
        if let Some(gate) = &mut self.gate {
            gate.on_timer(now);
        }
    }

    /// The sender that was woken has sent what it may.
    pub fn end_held_turn(&mut self) {
        if let Some(gate) = &mut self.gate {
            gate.end_turn();
        }
    }
}
