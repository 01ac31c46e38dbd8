//! What goes out: new segments as far as the window allows, and single ones again.

use ecnlab_units::{Ecn, Time};

use super::Core;
use crate::segment::{Kind, Segment};
use crate::sender::Output;
use crate::settings::Handshake;

impl Core {
    /// Sends new segments as far as the window allows, at most `most` and the sender's own limit.
    pub fn send_window(&mut self, most: u64, now: Time, out: &mut impl Output) {
        let mut left = if self.settings.max_burst == 0 { most } else { most.min(self.settings.max_burst) };
        let limit = self.available.min(self.una + self.usable_window());
        while self.next < limit && left > 0 && self.may_pace(now) {
            self.transmit(self.next, now, out);
            self.next += 1;
            left -= 1;
        }
    }

    /// One new segment beyond the window for a duplicate acknowledgement (RFC 3042).
    pub fn send_one(&mut self, now: Time, out: &mut impl Output) {
        let in_receiver_window = self.next < self.una + self.settings.max_window;
        let in_limited_window = (self.next + 1) as f64 <= self.una as f64 + self.window.cwnd + f64::from(self.duplicates);
        if in_receiver_window && in_limited_window && self.next < self.available {
            self.transmit(self.next, now, out);
            self.next += 1;
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

    /// Sends a segment, new or again.
    pub fn transmit(&mut self, seq: u64, now: Time, out: &mut impl Output) {
        let retransmission = seq < self.high;
        let nothing_outstanding = self.una == self.high;
        let segment = Segment {
            seq,
            size: self.settings.packet_size,
            kind: Kind::Plain,
            ecn: if self.ecn && (!retransmission || self.settings.ect_on_retransmission) { Ecn::Ect0 } else { Ecn::NotEct },
            cwr: self.cwr_due && self.may_carry_cwr(seq),
            ece: false,
            retransmission,
        };
        if seq == 0 || seq >= self.first_special {
            let special = self.specialised(segment);
            self.cwr_due &= !special.cwr;
            out.send(special);
        } else {
            self.cwr_due &= !segment.cwr;
            out.send(segment);
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
        if self.rto_at.is_none() || nothing_outstanding {
            self.restart_timer(now);
        }
        if let Some(pacer) = &mut self.pacer {
            pacer.sent(&self.window, self.rtt.smoothed(), now);
        }
    }

    /// Whether CWR may go on a segment: ns-2 lets the highest one carry it when that is sent again, and says it without ECN too.
    fn may_carry_cwr(&self, seq: u64) -> bool {
        if !self.ecn && self.settings.handshake == Handshake::ThreeWay {
            return false;
        }
        let is_new = if self.settings.ect_on_retransmission { seq + 1 >= self.high } else { seq >= self.high };
        self.settings.cwr_on_retransmission || is_new
    }

    /// The segment as the first one, the FIN, or one with less than a full payload.
    #[cold]
    fn specialised(&self, mut segment: Segment) -> Segment {
        let settings = &self.settings;
        if let Some(&(_, size)) = self.short.iter().find(|short| short.0 == segment.seq) {
            segment.size = size;
        }
        if self.fin == Some(segment.seq) {
            segment = Segment { size: settings.ack_size, kind: Kind::Fin, ecn: Ecn::NotEct, cwr: false, ..segment };
        }
        if segment.seq == 0 {
            segment.ecn = Ecn::NotEct;
            segment.ece = self.ecn;
            segment.cwr |= self.ecn && settings.handshake == Handshake::ThreeWay;
            segment.kind = if settings.syn() { Kind::Syn } else { Kind::Plain };
            if settings.first_packet_size > 0 {
                segment.size = settings.first_packet_size;
            }
        }
        segment
    }

    /// An acknowledgement without data, which closes a handshake.
    pub fn send_pure_ack(&mut self, out: &mut impl Output) {
        out.send(Segment {
            seq: self.high,
            size: self.settings.ack_size,
            kind: Kind::Pure,
            ecn: Ecn::NotEct,
            cwr: false,
            ece: false,
            retransmission: false,
        });
        self.counters.sent += 1;
    }

    /// Whether pacing lets a segment go now; if not, the pacer wakes the sender.
    pub fn may_pace(&mut self, now: Time) -> bool {
        self.pacer.as_mut().is_none_or(|pacer| pacer.may_send(now))
    }
}
