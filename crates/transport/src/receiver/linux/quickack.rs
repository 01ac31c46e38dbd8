//! Scheduling of ACKs: at once, with the second segment, or by a timer.
//!
//! ```text
//! at once       in quickack mode; for DCTCP's change of CE, or a filled gap
//! with another  when more than a full segment is unacknowledged and the window has not shrunk
//! timer         after the delayed ACK timeout (ato), which follows the time between arrivals m, in ticks:
//!               m <= minimum / 2   ato / 2 + minimum / 2
//!               m <  ato           ato / 2 + m, at most the RTO
//!               each ACK that the timer sent doubles it
//!               at least 40 ms; more only up to the RTT, and to 0.2 s
//! quickack      16 ACKs at the start, after a pause longer than the RTO and after a duplicate segment; 2 after a mark; 1 for every
//!               segment that grows the window; at most for the segments that fill half of the window
//! pingpong      an application that replies at once will carry the ACKs: no quick ACKs, until a timer had to send one
//! always quick  with delayed_ack = false, as the route attribute quickack has it (Linux tcp_in_quickack_mode)
//! ```
//!
//! Linux tcp_event_data_recv, tcp_measure_rcv_mss, __tcp_ack_snd_check, tcp_send_delayed_ack, tcp_delack_timer_handler.

use ecnlab_units::{Span, Time};

use crate::clock::HostClock;
use crate::settings::TcpSettings;

/// Maximum delay (Linux TCP_DELACK_MAX).
const DELACK_MAX: Span = Span::from_millis(200);

/// Minimum and default estimate of the peer's segment size in bytes, before any has arrived (RFC 1122, section 4.2.2.6).
const MIN_MSS: u32 = 88;
const DEFAULT_MSS: u32 = 536;

/// TCP header without options.
const TCP_HEADER_BYTES: u32 = 20;
const IP_HEADER_BYTES: u32 = 20;

/// ACK required after a segment was processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckDue {
    Now,
    Later,
}

#[derive(Debug)]
pub struct AckScheduler {
    /// Every ACK is quick, in pingpong mode too.
    always_quick: bool,
    quick_acks_left: u32,
    in_pingpong_mode: bool,
    /// Delayed ACK timeout in ticks, 0 before it is needed; its minimum; and the tick of the last arrival.
    ato: u64,
    min_ato: u64,
    last_data_tick: u64,
    /// Some data is unacknowledged.
    ack_scheduled: bool,
    ack_now: bool,
    /// Writes that have ended since the last ACK: 0, 1, or 2 for more.
    pushed_writes: u8,
    /// Tick for which a delayed ACK is planned.
    planned_tick: Option<u64>,
    /// The timer, which keeps running when its ACK was sent by other means: its expiry, and the tick for which it was set.
    timer: Option<(Time, u64)>,
    /// Estimate of the peer's full segment, and the last smaller one, in bytes.
    rcv_mss: u32,
    last_short_segment: u32,
    full_payload: u32,
    header: u32,
    /// RTT of the handshake and RTO, in ticks.
    handshake_rtt: u64,
    rto: u64,
    clock: HostClock,
}

impl AckScheduler {
    pub fn new(settings: &TcpSettings, clock: HostClock) -> AckScheduler {
        let full = settings.mss();
        let header = settings.quirks.header_size.saturating_sub(IP_HEADER_BYTES);
        let least = clock.ticks_in_span(settings.delayed_ack_time);
        AckScheduler {
            always_quick: !settings.delayed_ack,
            quick_acks_left: 0,
            in_pingpong_mode: false,
            ato: 0,
            min_ato: least,
            last_data_tick: 0,
            ack_scheduled: false,
            ack_now: false,
            pushed_writes: 0,
            planned_tick: None,
            timer: None,
            rcv_mss: DEFAULT_MSS.min(full),
            last_short_segment: 0,
            full_payload: full,
            header,
            handshake_rtt: 0,
            rto: clock.ticks_in_span(settings.rto_initial),
            clock,
        }
    }

    /// Starts when the connection opens. The first estimate of the peer's segment is at most half of the window.
    pub fn on_open(&mut self, rtt: Option<Span>, timeout: Span, window: Option<i64>, now: Time) {
        self.last_data_tick = self.clock.ticks(now);
        self.handshake_rtt = rtt.map_or(0, |rtt| self.clock.ticks_in_span(rtt));
        self.rto = self.clock.ticks_in_span(timeout);
        if let Some(window) = window {
            self.rcv_mss = self.rcv_mss.min((window / 2) as u32).max(MIN_MSS);
        }
    }

    /// Estimate of the peer's full segment.
    pub fn rcv_mss(&self) -> u32 {
        self.rcv_mss
    }

    /// Marks received data as unacknowledged.
    pub fn schedule_ack(&mut self) {
        self.ack_scheduled = true;
    }

    pub fn is_ack_scheduled(&self) -> bool {
        self.ack_scheduled
    }

    /// Whether a delayed ACK is planned for the timer.
    pub fn is_timer_planned(&self) -> bool {
        self.planned_tick.is_some()
    }

    /// Forbids a delay of the next ACK.
    pub fn set_ack_now(&mut self) {
        self.ack_now = true;
    }

    /// Enters pingpong mode, because the application replies to data.
    pub fn enter_pingpong_mode(&mut self) {
        self.in_pingpong_mode = true;
    }

    /// Makes up to `most` next ACKs quick, at most for the segments that fill half of the window.
    pub fn increase_quick_acks(&mut self, most: u32, window: Option<i64>) {
        let half = window.map_or(u32::MAX, |window| (window / i64::from(2 * self.rcv_mss)) as u32);
        let half = if half == 0 { 2 } else { half };
        self.quick_acks_left = self.quick_acks_left.max(half.min(most));
    }

    /// Enters quickack mode: as `increase_quick_acks`, and leaves pingpong mode.
    pub fn enter_quickack_mode(&mut self, most: u32, window: Option<i64>) {
        self.increase_quick_acks(most, window);
        self.in_pingpong_mode = false;
        self.ato = self.min_ato;
    }

    /// Makes one more ACK quick, because the window grows.
    pub fn on_window_grown(&mut self) {
        self.quick_acks_left |= 1;
    }

    /// Ends quickack mode, because little of the buffer is free.
    pub fn clear_quick_acks(&mut self) {
        self.quick_acks_left = 0;
    }

    /// Processes new data in order; `ends_write`: the segment ends a write; `option`: bytes of options beside the timestamps.
    pub fn on_data(&mut self, payload: u32, option: u32, ends_write: bool, now: Time, quick_acks: u32, window: Option<i64>) {
        self.ack_scheduled = true;
        self.measure_rcv_mss(payload, option, ends_write);
        let tick = self.clock.ticks(now);
        let since = tick - std::mem::replace(&mut self.last_data_tick, tick);
        if self.ato == 0 {
            self.increase_quick_acks(quick_acks, window);
            self.ato = self.min_ato;
        } else if since <= self.min_ato / 2 {
            self.ato = self.ato / 2 + self.min_ato / 2;
        } else if since < self.ato {
            self.ato = (self.ato / 2 + since).min(self.rto);
        } else if since > self.rto {
            self.increase_quick_acks(quick_acks, window);
        }
    }

    /// Updates the estimate of the peer's segment. A larger segment counts at once, a smaller one when two of equal size do not end a
    /// write. The size of smaller ones includes options beside the timestamps, so the estimate may exceed their payload.
    fn measure_rcv_mss(&mut self, payload: u32, option: u32, ends_write: bool) {
        let before = std::mem::take(&mut self.last_short_segment);
        if payload >= self.rcv_mss {
            self.rcv_mss = payload.min(self.full_payload);
            self.pushed_writes = self.pushed_writes.max(u8::from(ends_write));
            return;
        }
        let segment = payload + option;
        let size = segment + self.header;
        if size >= DEFAULT_MSS + TCP_HEADER_BYTES || size >= MIN_MSS + TCP_HEADER_BYTES && !ends_write {
            self.last_short_segment = segment;
            if segment == before {
                self.rcv_mss = segment;
                return;
            }
        }
        self.pushed_writes = (self.pushed_writes + 1).min(2);
    }

    fn in_quickack_mode(&self) -> bool {
        self.always_quick || self.quick_acks_left > 0 && !self.in_pingpong_mode
    }

    /// Whether the ACK must be sent at once.
    pub fn must_ack_now(&self) -> bool {
        self.in_quickack_mode() || self.ack_now
    }

    /// Plans a delayed ACK. It is due now if the timer is about to fire anyway.
    pub fn plan_delayed_ack(&mut self, now: Time) -> AckDue {
        let tick = self.clock.ticks(now);
        let delay = self.bounded_ato();
        let mut until = tick + delay;
        if let Some(planned) = self.planned_tick {
            if planned <= tick + delay / 4 {
                return AckDue::Now;
            }
            until = until.min(planned);
        }
        self.planned_tick = Some(until);
        self.ack_scheduled = true;
        if self.timer.is_none_or(|(at, for_tick)| at <= now || for_tick != until) {
            self.timer = Some((self.clock.timer_expiry(now, self.clock.tick_length() * (until - tick)), until));
        }
        AckDue::Later
    }

    fn bounded_ato(&self) -> u64 {
        if self.ato <= self.min_ato {
            return self.ato;
        }
        let mut most = self.clock.ticks_in_span(DELACK_MAX);
        if self.handshake_rtt > 0 {
            most = most.min(self.handshake_rtt.max(self.min_ato));
        }
        self.ato.min(most)
    }

    /// Expiry of the timer if it is needed; `compressed`: compressed ACKs wait for it too.
    pub fn deadline(&self, compressed: bool) -> Option<Time> {
        self.timer.filter(|_| compressed || self.planned_tick.is_some()).map(|(at, _)| at)
    }

    /// Drops a timer that has expired without a planned ACK.
    pub fn drop_past_timer(&mut self, now: Time) {
        self.timer = self.timer.filter(|&(at, _)| at > now);
    }

    /// Handles the timer. Returns whether the planned ACK is due.
    pub fn on_timer(&mut self) -> bool {
        self.timer = None;
        if self.planned_tick.take().is_none() || !self.ack_scheduled {
            return false;
        }
        if self.in_pingpong_mode {
            self.in_pingpong_mode = false;
            self.ato = self.min_ato;
        } else {
            self.ato = (self.ato * 2).min(self.rto);
        }
        true
    }

    /// Resets the schedule after an ACK of all data was sent.
    pub fn on_ack_sent(&mut self) {
        if self.quick_acks_left > 0 && self.ack_scheduled {
            self.quick_acks_left -= 1;
            if self.quick_acks_left == 0 {
                self.ato = self.min_ato;
            }
        }
        (self.ack_scheduled, self.ack_now, self.pushed_writes, self.planned_tick) = (false, false, 0, None);
    }

    /// Processes transmitted data, which is a reply if it follows received data within the delay.
    pub fn on_data_sent(&mut self, now: Time) {
        let tick = self.clock.ticks(now);
        if tick - self.last_data_tick < self.ato {
            self.in_pingpong_mode = true;
        }
    }

    /// Whether the application, having read everything, must acknowledge the end of a write.
    pub fn must_ack_end_of_write(&self) -> bool {
        self.ack_scheduled && (self.pushed_writes > 1 || self.pushed_writes > 0 && !self.in_pingpong_mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Quirks;

    fn acks() -> AckScheduler {
        let settings = TcpSettings {
            quirks: Quirks { tick: Span::from_millis(4), timer_wheel: true, ..profile::quirks("linux") },
            ..profile::tcp_settings_of("linux")
        };
        let mut acks = AckScheduler::new(&settings, HostClock::new(&settings, Span::from_millis(1)));
        acks.on_open(Some(Span::from_millis(40)), Span::from_millis(240), Some(65_535), at(0));
        acks
    }

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_first_sixteen_are_quick_and_then_a_timer_is_set() {
        let mut acks = acks();
        for _ in 0..16 {
            acks.on_data(1448, 0, false, at(10), 16, Some(65_535));
            assert!(acks.must_ack_now());
            acks.on_ack_sent();
        }
        acks.on_data(1448, 0, false, at(10), 16, Some(65_535));
        assert!(!acks.must_ack_now());
        assert_eq!(AckDue::Later, acks.plan_delayed_ack(at(10)));
        // Tick 2 at 10 ms; 10 whole ticks and one more: tick 13 is at 51 ms.
        assert_eq!(Some(at(51)), acks.deadline(false));
        assert!(acks.on_timer());
    }

    #[test]
    fn a_small_window_has_few_quick_acknowledgements() {
        let mut acks = acks();
        acks.on_data(1448, 0, false, at(10), 16, Some(8 * 1448));
        assert_eq!(4, acks.quick_acks_left);
    }

    #[test]
    fn an_answering_application_carries_acknowledgements_until_the_timer_had_to_send_one() {
        let mut acks = acks();
        acks.enter_pingpong_mode();
        acks.on_data(1448, 0, false, at(10), 16, Some(65_535));
        assert!(!acks.must_ack_now());
        acks.plan_delayed_ack(at(10));
        assert!(acks.on_timer());
        acks.on_ack_sent();
        acks.on_data(1448, 0, false, at(60), 16, Some(65_535));
        assert!(acks.must_ack_now());
    }

    #[test]
    fn the_delay_follows_the_time_between_arrivals() {
        let mut acks = acks();
        let delays = [0, 30, 60, 61, 62].map(|millis| {
            acks.on_data(1448, 0, false, at(millis), 0, None);
            acks.ato
        });
        // In ticks of 4 ms: 10; 5 + 7; 6 + 8, from tick 7 to 15; 7 + 5; 6 + 5.
        assert_eq!([10, 12, 14, 12, 11], delays);
    }

    #[test]
    fn two_smaller_segments_that_end_no_write_are_the_other_side_s_segments() {
        let mut acks = acks();
        let sizes = [1448, 1000, 1000, 200, 200].map(|payload| {
            acks.measure_rcv_mss(payload, 0, payload == 200);
            acks.rcv_mss()
        });
        assert_eq!([1448, 1448, 1000, 1000, 1000], sizes);
    }

    #[test]
    fn the_option_of_accurate_ecn_counts_in_the_estimate_from_smaller_segments() {
        let mut acks = acks();
        let sizes = [1436, 767, 767, 767, 800].map(|payload| {
            acks.measure_rcv_mss(payload, 12, false);
            acks.rcv_mss()
        });
        assert_eq!([1436, 1436, 779, 779, 800], sizes);
    }
}
