//! SYN-ACK and FIN of a host's receiver, sent again until they are acknowledged, and what the handshake says of the round-trip time.
//!
//! ```text
//! SYN-ACK   again after rto_initial, 2 of it, 4 of it ...; and at once for a SYN that comes again, at most every 0.5 s
//! FIN       again after the retransmission timeout, 2 of it ...; where there are tail loss probes, first after 2 round trips and rto_min, at
//!           most the timeout (RFC 8985, section 7)
//! ```
//!
//! The estimate is one sample: since the SYN-ACK was sent, or in milliseconds since it was sent last (RFC 6298, section 2.2; Linux
//! tcp_synack_rtt_meas, reqsk_timer_handler).

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;
use crate::segment::Role;
use crate::settings::Settings;

/// How often they are sent again before the receiver gives up (ip-sysctl tcp_synack_retries, tcp_orphan_retries).
const SYN_ACK_RETRIES: u32 = 5;
const FIN_RETRIES: u32 = 8;

/// A reply that waits to be acknowledged.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    role: Role,
    until: Time,
    retries: u32,
    /// The delay before the next one.
    next: Span,
}

#[derive(Debug)]
pub struct Opening {
    clock: HostClock,
    waiting: Option<Waiting>,
    /// When the SYN-ACK was sent last, and whether more than once.
    sent: Option<Time>,
    again: bool,
    rto_initial: Span,
    rto_min: Span,
    rto_max: Span,
    probes: bool,
    rtt: Option<Span>,
}

impl Opening {
    pub fn new(settings: &Settings, clock: HostClock) -> Opening {
        Opening {
            clock,
            waiting: None,
            sent: None,
            again: false,
            rto_initial: settings.rto_initial,
            rto_min: settings.effective_rto_min(),
            rto_max: settings.rto_max,
            probes: settings.tlp && settings.reported_blocks() > 0,
            rtt: None,
        }
    }

    /// A SYN-ACK goes out: the answer to a SYN.
    pub fn reply(&mut self, now: Time) {
        self.again = self.sent.replace(now).is_some();
        let (retries, delay) =
            self.waiting.map_or((0, self.rto_initial), |waiting| (waiting.retries, self.rto_initial * (1 << waiting.retries)));
        self.waiting = Some(Waiting { role: Role::Syn, until: self.clock.expiry(now, delay), retries, next: delay * 2 });
    }

    /// The first segment but the SYN has come: the connection is open. Returns the round-trip time, if there was a handshake.
    pub fn finish(&mut self, timestamps: bool, now: Time) -> Option<Span> {
        self.waiting = None;
        let sent = self.sent?;
        self.rtt = match (self.again, timestamps) {
            (false, _) => Some(now.since(sent)),
            (true, true) => Some(Span::from_millis((self.clock.millis(now) - self.clock.millis(sent)).max(1))),
            (true, false) => None,
        };
        self.rtt
    }

    /// The round-trip time of the handshake.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// The retransmission timeout: the round-trip time, and twice that, at least rto_min, for its deviation.
    pub fn timeout(&self) -> Span {
        let timeout = self.rtt.map_or(self.rto_initial, |rtt| rtt + (rtt * 2).max(self.rto_min));
        (self.clock.tick() * self.clock.ticks_of(timeout)).min(self.rto_max)
    }

    /// The receiver's FIN goes out.
    pub fn close(&mut self, now: Time) {
        let timeout = self.timeout();
        let probe = self.rtt.filter(|_| self.probes).map(|rtt| timeout.min(rtt * 2 + self.rto_min));
        let (delay, next) = probe.map_or((timeout, timeout * 2), |probe| (probe, timeout));
        self.waiting = Some(Waiting { role: Role::Fin, until: self.clock.expiry(now, delay), retries: 0, next });
    }

    /// What waits has been acknowledged.
    pub fn settle(&mut self) {
        self.waiting = None;
    }

    pub fn deadline(&self) -> Option<Time> {
        self.waiting.map(|waiting| waiting.until)
    }

    /// The deadline has come: the role of the reply to send again.
    pub fn expire(&mut self, now: Time) -> Option<Role> {
        let waiting = self.waiting.as_mut().filter(|waiting| waiting.until <= now)?;
        let role = waiting.role;
        let most = if role == Role::Syn { SYN_ACK_RETRIES } else { FIN_RETRIES };
        if waiting.retries == most {
            self.waiting = None;
            return None;
        }
        waiting.retries += 1;
        self.clock.serve_timer(true);
        waiting.until = self.clock.expiry(now, waiting.next);
        self.clock.serve_timer(false);
        waiting.next = (waiting.next * 2).min(self.rto_max);
        if role == Role::Syn {
            self.again = true;
            self.sent = Some(now);
        }
        Some(role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn opening() -> Opening {
        let settings = Settings { tick: Span::from_millis(4), timer_wheel: true, ..profile::settings("linux") };
        Opening::new(&settings, HostClock::new(&settings, Span::from_millis(493 * 4 + 1)))
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn deadlines(opening: &mut Opening, count: usize) -> Vec<u64> {
        let mut times = Vec::new();
        for _ in 0..count {
            let due = opening.deadline().unwrap();
            times.push(due.picos() / Span::from_millis(1).picos());
            assert!(opening.expire(due).is_some());
        }
        times
    }

    #[test]
    fn a_fin_is_sent_again_at_the_steps_of_the_wheel() {
        let mut opening = opening();
        opening.reply(at(20));
        assert_eq!(Some(Span::from_millis(40)), opening.finish(true, at(60)));
        opening.close(at(346));
        assert_eq!([587, 831, 1323], deadlines(&mut opening, 3)[..]);
    }

    #[test]
    fn a_syn_ack_that_nobody_answers_is_sent_again_after_one_second_and_two_more() {
        let mut opening = opening();
        opening.reply(at(20));
        assert_eq!([1035, 3051], deadlines(&mut opening, 2)[..]);
        assert_eq!(Some(Span::from_millis(49)), opening.finish(true, at(3100)));
    }
}
