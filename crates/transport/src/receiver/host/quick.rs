//! When a segment is acknowledged: at once, with the second one, or when a timer goes off.
//!
//! ```text
//! at once       while acknowledgements are quick and the application does not answer what it reads; what the echo of marks or a filled gap asks
//! with another  when more than a full segment waits and the window has not closed on it
//! timer         after the delay, which follows the time between arrivals m, in ticks:
//!               m <= least / 2   delay / 2 + least / 2
//!               m <  delay       delay / 2 + m, at most the retransmission timeout
//!               each acknowledgement that the timer sent doubles it
//!               at least 40 ms; more only up to the round-trip time, and to 0.2 s
//! quick         16 at the start, after a pause longer than the retransmission timeout and after what came twice; 2 after a mark; 1 for every
//!               segment that lets the window grow; never more than fill half of the window
//! answering     an application that answers at once will carry the acknowledgements: none is quick, until a timer had to send one
//! always quick  with delayed_ack = false, as the attribute quickack of a route has it (Linux tcp_in_quickack_mode)
//! ```
//!
//! Linux tcp_event_data_recv, tcp_measure_rcv_mss, __tcp_ack_snd_check, tcp_send_delayed_ack, tcp_delack_timer_handler.

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;
use crate::settings::Settings;

/// Longest delay (Linux TCP_DELACK_MAX).
const LONGEST: Span = Span::from_millis(200);

/// The guess of the other side's segments before any has come: at least and at most so many bytes (RFC 1122, section 4.2.2.6).
const LEAST_SEGMENT: u32 = 88;
const USUAL_SEGMENT: u32 = 536;

/// A TCP header without options.
const HEADER: u32 = 20;
const IP_HEADER: u32 = 20;

/// What is to be done about acknowledgements when a segment has been taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Now,
    Later,
}

#[derive(Debug)]
pub struct QuickAcks {
    /// Every acknowledgement is quick, whoever answers.
    always: bool,
    quick: u32,
    answering: bool,
    /// The delay in ticks, nothing before it is needed; its least value; and the tick of the last arrival.
    delay: u64,
    least: u64,
    last: u64,
    /// Something is to be acknowledged.
    waits: bool,
    at_once: bool,
    /// Writes that have ended since the last acknowledgement: none, one, or more.
    writes_ended: u8,
    /// The tick for which a delayed acknowledgement is planned.
    planned: Option<u64>,
    /// The timer, which goes on when what it was set for has been sent: when it goes off, and for which tick it was set.
    timer: Option<(Time, u64)>,
    /// The other side's full segment as far as it is known, and the last smaller one, in bytes.
    segment: u32,
    smaller: u32,
    full: u32,
    header: u32,
    /// Round-trip time of the handshake and the retransmission timeout, in ticks.
    rtt: u64,
    timeout: u64,
    clock: HostClock,
}

impl QuickAcks {
    pub fn new(settings: &Settings, clock: HostClock) -> QuickAcks {
        let full = settings.payload();
        let header = settings.header.saturating_sub(IP_HEADER);
        let least = clock.ticks_of(settings.delayed_ack_time);
        QuickAcks {
            always: !settings.delayed_ack,
            quick: 0,
            answering: false,
            delay: 0,
            least,
            last: 0,
            waits: false,
            at_once: false,
            writes_ended: 0,
            planned: None,
            timer: None,
            segment: USUAL_SEGMENT.min(full),
            smaller: 0,
            full,
            header,
            rtt: 0,
            timeout: clock.ticks_of(settings.rto_initial),
            clock,
        }
    }

    /// The connection is open. The first guess of the other side's segments is no more than half of the window.
    pub fn open(&mut self, rtt: Option<Span>, timeout: Span, window: Option<i64>, now: Time) {
        self.last = self.clock.ticks(now);
        self.rtt = rtt.map_or(0, |rtt| self.clock.ticks_of(rtt));
        self.timeout = self.clock.ticks_of(timeout);
        if let Some(window) = window {
            self.segment = self.segment.min((window / 2) as u32).max(LEAST_SEGMENT);
        }
    }

    /// The other side's full segment, as far as it is known.
    pub fn segment(&self) -> u32 {
        self.segment
    }

    /// Something is to be acknowledged.
    pub fn schedule(&mut self) {
        self.waits = true;
    }

    pub fn is_waiting(&self) -> bool {
        self.waits
    }

    /// An acknowledgement is planned for when the timer goes off.
    pub fn is_delaying(&self) -> bool {
        self.planned.is_some()
    }

    /// What is to be acknowledged is not to be delayed.
    pub fn hurry(&mut self) {
        self.at_once = true;
    }

    /// The application answers what it reads.
    pub fn answer(&mut self) {
        self.answering = true;
    }

    /// The next acknowledgements are quick, up to `most` of them, and no more than the segments that fill half of the window.
    pub fn raise(&mut self, most: u32, window: Option<i64>) {
        let half = window.map_or(u32::MAX, |window| (window / i64::from(2 * self.segment)) as u32);
        let half = if half == 0 { 2 } else { half };
        self.quick = self.quick.max(half.min(most));
    }

    /// The same, and no application will carry them.
    pub fn enter(&mut self, most: u32, window: Option<i64>) {
        self.raise(most, window);
        self.answering = false;
        self.delay = self.least;
    }

    /// The window grows.
    pub fn grew(&mut self) {
        self.quick |= 1;
    }

    /// Little of the buffer is free.
    pub fn slow_down(&mut self) {
        self.quick = 0;
    }

    /// New data has come in order: so many bytes, which end a write or not.
    pub fn take(&mut self, payload: u32, ends_write: bool, now: Time, quick_acks: u32, window: Option<i64>) {
        self.waits = true;
        self.measure(payload, ends_write);
        let tick = self.clock.ticks(now);
        let since = tick - std::mem::replace(&mut self.last, tick);
        if self.delay == 0 {
            self.raise(quick_acks, window);
            self.delay = self.least;
        } else if since <= self.least / 2 {
            self.delay = self.delay / 2 + self.least / 2;
        } else if since < self.delay {
            self.delay = (self.delay / 2 + since).min(self.timeout);
        } else if since > self.timeout {
            self.raise(quick_acks, window);
        }
    }

    /// Follows the size of the other side's segments: a larger one counts at once, a smaller one when two are alike and do not end a write.
    fn measure(&mut self, payload: u32, ends_write: bool) {
        let before = std::mem::take(&mut self.smaller);
        if payload >= self.segment {
            self.segment = payload.min(self.full);
            self.writes_ended = self.writes_ended.max(u8::from(ends_write));
            return;
        }
        let size = payload + self.header;
        if size >= USUAL_SEGMENT + HEADER || size >= LEAST_SEGMENT + HEADER && !ends_write {
            self.smaller = payload;
            if payload == before {
                self.segment = payload;
                return;
            }
        }
        self.writes_ended = (self.writes_ended + 1).min(2);
    }

    fn is_quick(&self) -> bool {
        self.always || self.quick > 0 && !self.answering
    }

    /// Whether what waits goes at once, whatever it is.
    pub fn is_urgent(&self) -> bool {
        self.is_quick() || self.at_once
    }

    /// Plans a delayed acknowledgement. It goes now if the timer is about to go off anyway.
    pub fn plan(&mut self, now: Time) -> Due {
        let tick = self.clock.ticks(now);
        let delay = self.bounded();
        let mut until = tick + delay;
        if let Some(planned) = self.planned {
            if planned <= tick + delay / 4 {
                return Due::Now;
            }
            until = until.min(planned);
        }
        self.planned = Some(until);
        self.waits = true;
        if self.timer.is_none_or(|(at, for_tick)| at <= now || for_tick != until) {
            self.timer = Some((self.clock.expiry(now, self.clock.tick() * (until - tick)), until));
        }
        Due::Later
    }

    fn bounded(&self) -> u64 {
        if self.delay <= self.least {
            return self.delay;
        }
        let mut most = self.clock.ticks_of(LONGEST);
        if self.rtt > 0 {
            most = most.min(self.rtt.max(self.least));
        }
        self.delay.min(most)
    }

    /// When the timer goes off, if anybody waits for it; `compressed` says that others than a delayed acknowledgement do.
    pub fn deadline(&self, compressed: bool) -> Option<Time> {
        self.timer.filter(|_| compressed || self.planned.is_some()).map(|(at, _)| at)
    }

    /// What waits is not for the timer that has gone off by now.
    pub fn forget_past(&mut self, now: Time) {
        self.timer = self.timer.filter(|&(at, _)| at > now);
    }

    /// The timer goes off. Returns whether the acknowledgement that was planned is due.
    pub fn expire(&mut self) -> bool {
        self.timer = None;
        if self.planned.take().is_none() || !self.waits {
            return false;
        }
        if self.answering {
            self.answering = false;
            self.delay = self.least;
        } else {
            self.delay = (self.delay * 2).min(self.timeout);
        }
        true
    }

    /// An acknowledgement of all that has come goes out.
    pub fn sent(&mut self) {
        if self.quick > 0 && self.waits {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.least;
            }
        }
        (self.waits, self.at_once, self.writes_ended, self.planned) = (false, false, 0, None);
    }

    /// Data goes out: an answer, if it follows what came within the delay.
    pub fn sent_data(&mut self, now: Time) {
        let tick = self.clock.ticks(now);
        if tick - self.last < self.delay {
            self.answering = true;
        }
    }

    /// Whether the application that has read everything owes an acknowledgement of the end of a write.
    pub fn owes_end_of_write(&self) -> bool {
        self.waits && (self.writes_ended > 1 || self.writes_ended > 0 && !self.answering)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    fn acks() -> QuickAcks {
        let settings = Settings { tick: Span::from_millis(4), timer_wheel: true, ..profile::settings("linux") };
        let mut acks = QuickAcks::new(&settings, HostClock::new(&settings, Span::from_millis(1)));
        acks.open(Some(Span::from_millis(40)), Span::from_millis(240), Some(65_535), at(0));
        acks
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_first_sixteen_are_quick_and_then_a_timer_is_set() {
        let mut acks = acks();
        for _ in 0..16 {
            acks.take(1448, false, at(10), 16, Some(65_535));
            assert!(acks.is_urgent());
            acks.sent();
        }
        acks.take(1448, false, at(10), 16, Some(65_535));
        assert!(!acks.is_urgent());
        assert_eq!(Due::Later, acks.plan(at(10)));
        // Tick 2 at 10 ms; 10 whole ticks and one more: tick 13 is at 51 ms.
        assert_eq!(Some(at(51)), acks.deadline(false));
        assert!(acks.expire());
    }

    #[test]
    fn a_small_window_has_few_quick_acknowledgements() {
        let mut acks = acks();
        acks.take(1448, false, at(10), 16, Some(8 * 1448));
        assert_eq!(4, acks.quick);
    }

    #[test]
    fn an_answering_application_carries_acknowledgements_until_the_timer_had_to_send_one() {
        let mut acks = acks();
        acks.answer();
        acks.take(1448, false, at(10), 16, Some(65_535));
        assert!(!acks.is_urgent());
        acks.plan(at(10));
        assert!(acks.expire());
        acks.sent();
        acks.take(1448, false, at(60), 16, Some(65_535));
        assert!(acks.is_urgent());
    }

    #[test]
    fn the_delay_follows_the_time_between_arrivals() {
        let mut acks = acks();
        let delays = [0, 30, 60, 61, 62].map(|millis| {
            acks.take(1448, false, at(millis), 0, None);
            acks.delay
        });
        // In ticks of 4 ms: 10; 5 + 7; 6 + 8, from tick 7 to 15; 7 + 5; 6 + 5.
        assert_eq!([10, 12, 14, 12, 11], delays);
    }

    #[test]
    fn two_smaller_segments_that_end_no_write_are_the_other_side_s_segments() {
        let mut acks = acks();
        let sizes = [1448, 1000, 1000, 200, 200].map(|payload| {
            acks.measure(payload, payload == 200);
            acks.segment()
        });
        assert_eq!([1448, 1448, 1000, 1000, 1000], sizes);
    }
}
