//! SYN-ACK and FIN of the Linux receiver, retransmitted until they are acknowledged, and the RTT of the handshake.
//!
//! ```text
//! SYN-ACK   retransmitted after rto_initial, 2 of it, 4 of it ...; and at once for a retransmitted SYN, at most every 0.5 s
//! FIN       retransmitted after the RTO, 2 of it ...; with tail loss probes first after 2 RTTs and rto_min, at
//!           most the RTO (RFC 8985, section 7)
//! ```
//!
//! The RTT has one sample: since the SYN-ACK was sent, or in milliseconds since its last transmission (RFC 6298, section 2.2; Linux
//! tcp_synack_rtt_meas, reqsk_timer_handler).

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;
use crate::segment::SegmentType;
use crate::settings::TcpSettings;

/// Number of retransmissions before the receiver gives up (ip-sysctl tcp_synack_retries, tcp_orphan_retries).
const SYN_ACK_RETRIES: u32 = 5;
const FIN_RETRIES: u32 = 8;

/// A reply that is not acknowledged yet.
#[derive(Clone, Copy, Debug)]
struct LinuxUnackedReply {
    segment_type: SegmentType,
    retransmit_at: Time,
    retries: u32,
    /// Delay before the next retransmission.
    next_delay: Span,
}

#[derive(Debug)]
pub struct LinuxSynFinReplies {
    clock: HostClock,
    unacked_reply: Option<LinuxUnackedReply>,
    /// Time of the last SYN-ACK, and whether it was retransmitted.
    syn_ack_sent_at: Option<Time>,
    syn_ack_retransmitted: bool,
    rto_initial: Span,
    rto_min: Span,
    rto_max: Span,
    uses_tlp: bool,
    handshake_rtt: Option<Span>,
}

impl LinuxSynFinReplies {
    pub fn new(settings: &TcpSettings, clock: HostClock) -> LinuxSynFinReplies {
        LinuxSynFinReplies {
            clock,
            unacked_reply: None,
            syn_ack_sent_at: None,
            syn_ack_retransmitted: false,
            rto_initial: settings.rto_initial,
            rto_min: settings.rto_min_rounded_to_ticks(),
            rto_max: settings.quirks.rto_max,
            uses_tlp: settings.tlp && settings.max_reported_sack_blocks() > 0,
            handshake_rtt: None,
        }
    }

    /// Records a SYN-ACK in reply to a SYN.
    pub fn on_syn_ack_sent(&mut self, now: Time) {
        self.syn_ack_retransmitted = self.syn_ack_sent_at.replace(now).is_some();
        let (retries, delay) =
            self.unacked_reply.map_or((0, self.rto_initial), |waiting| (waiting.retries, self.rto_initial * (1 << waiting.retries)));
        self.unacked_reply = Some(LinuxUnackedReply {
            segment_type: SegmentType::Syn,
            retransmit_at: self.clock.timer_expiry(now, delay),
            retries,
            next_delay: delay * 2,
        });
    }

    /// Processes the first segment after the SYN, which opens the connection. Returns the RTT, if there was a handshake.
    pub fn on_handshake_done(&mut self, timestamps: bool, now: Time) -> Option<Span> {
        self.unacked_reply = None;
        let sent = self.syn_ack_sent_at?;
        self.handshake_rtt = match (self.syn_ack_retransmitted, timestamps) {
            (false, _) => Some(now.since(sent)),
            (true, true) => Some(Span::from_millis((self.clock.millis(now) - self.clock.millis(sent)).max(1))),
            (true, false) => None,
        };
        self.handshake_rtt
    }

    /// RTT of the handshake.
    pub fn handshake_rtt(&self) -> Option<Span> {
        self.handshake_rtt
    }

    /// RTO: the RTT, plus twice the RTT but at least rto_min for its deviation.
    pub fn rto_from_handshake_rtt(&self) -> Span {
        let timeout = self.handshake_rtt.map_or(self.rto_initial, |rtt| rtt + (rtt * 2).max(self.rto_min));
        (self.clock.tick_length() * self.clock.ticks_in_span(timeout)).min(self.rto_max)
    }

    /// Records the receiver's FIN.
    pub fn on_fin_sent(&mut self, now: Time) {
        let timeout = self.rto_from_handshake_rtt();
        let probe = self.handshake_rtt.filter(|_| self.uses_tlp).map(|rtt| timeout.min(rtt * 2 + self.rto_min));
        let (delay, next) = probe.map_or((timeout, timeout * 2), |probe| (probe, timeout));
        self.unacked_reply = Some(LinuxUnackedReply {
            segment_type: SegmentType::Fin,
            retransmit_at: self.clock.timer_expiry(now, delay),
            retries: 0,
            next_delay: next,
        });
    }

    /// Processes the ACK of the pending reply.
    pub fn on_reply_acked(&mut self) {
        self.unacked_reply = None;
    }

    pub fn deadline(&self) -> Option<Time> {
        self.unacked_reply.map(|waiting| waiting.retransmit_at)
    }

    /// Handles the deadline; returns the type of the reply to retransmit.
    pub fn on_timer(&mut self, now: Time) -> Option<SegmentType> {
        let waiting = self.unacked_reply.as_mut().filter(|waiting| waiting.retransmit_at <= now)?;
        let segment_type = waiting.segment_type;
        let most = if segment_type == SegmentType::Syn { SYN_ACK_RETRIES } else { FIN_RETRIES };
        if waiting.retries == most {
            self.unacked_reply = None;
            return None;
        }
        //= RFC 9293, section 3.6: the FIN is sent until it is acknowledged
        waiting.retries += 1;
        self.clock.set_timer_handler_running(true);
        waiting.retransmit_at = self.clock.timer_expiry(now, waiting.next_delay);
        self.clock.set_timer_handler_running(false);
        waiting.next_delay = (waiting.next_delay * 2).min(self.rto_max);
        if segment_type == SegmentType::Syn {
            self.syn_ack_retransmitted = true;
            self.syn_ack_sent_at = Some(now);
        }
        Some(segment_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Quirks;

    fn new_replies() -> LinuxSynFinReplies {
        let settings = TcpSettings {
            quirks: Quirks { tick: Span::from_millis(4), timer_wheel: true, ..profile::quirks("linux") },
            ..profile::tcp_settings_of("linux")
        };
        LinuxSynFinReplies::new(&settings, HostClock::new(&settings, Span::from_millis(493 * 4 + 1)))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn deadlines(opening: &mut LinuxSynFinReplies, count: usize) -> Vec<u64> {
        let mut times = Vec::new();
        for _ in 0..count {
            let due = opening.deadline().unwrap();
            times.push(due.picos() / Span::from_millis(1).picos());
            assert!(opening.on_timer(due).is_some());
        }
        times
    }

    #[test]
    fn a_fin_is_sent_again_at_the_steps_of_the_wheel() {
        let mut opening = new_replies();
        opening.on_syn_ack_sent(at(20));
        assert_eq!(Some(Span::from_millis(40)), opening.on_handshake_done(true, at(60)));
        opening.on_fin_sent(at(346));
        assert_eq!([587, 831, 1323], deadlines(&mut opening, 3)[..]);
    }

    #[test]
    fn a_syn_ack_that_nobody_answers_is_sent_again_after_one_second_and_two_more() {
        let mut opening = new_replies();
        opening.on_syn_ack_sent(at(20));
        assert_eq!([1035, 3051], deadlines(&mut opening, 2)[..]);
        assert_eq!(Some(Span::from_millis(49)), opening.on_handshake_done(true, at(3100)));
    }
}
