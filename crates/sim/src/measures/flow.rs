//! Measures of one flow.

use std::mem::offset_of;

use ecnlab_transport::SendCounters;
use ecnlab_units::{Span, Time};

use super::Histogram;
use super::histogram::span_to_micros_f64;

/// A data packet's arrival at its sink, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Bytes on the wire.
    pub size: u32,
    /// New in-order application data.
    pub new_bytes: u64,
    /// Application data of a packet that was not a retransmission.
    pub first_bytes: u32,
}

/// Measures of a flow since the measured interval began. Fields that arrivals of data and ACKs change come last, before the endpoints of the
/// flow.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct FlowMeasures {
    /// `bytes` at the beginning of the current one-second bin; wraps below zero if `bytes` was reset since.
    bytes_at_bin_start: [u64; 3],
    /// Begin of the measured interval.
    interval_start: Time,
    pub lockout_time: Span,
    /// Counters of the sender at the beginning of the measured interval, if it had sent anything.
    counters_before: Option<Box<SendCounters>>,
    /// Durations of finished transfers, if there are any.
    transfer_durations: Option<Box<Histogram<5>>>,
    /// Time at which the transfer was completed, or `NEVER`.
    completed_at: Time,
    pub marks: u64,
    pub drops: u64,
    pub lockouts: u32,
    /// Begin of the current transfer, or `NEVER`; of datagrams, the time of the last one.
    transfer_began: Time,
    /// One-way delays, of a flow with a row.
    pub delay: Histogram<5>,
    /// `max(1 s, 10 RTT)`: a longer interval without delivery is a lockout.
    lockout_threshold: Span,
    /// Time since which no new data were delivered; may lie before the measured interval.
    no_delivery_since: Time,
    /// Bytes that reached the sink: all, new in order, and on first transmissions.
    pub bytes: [u64; 3],
    pub rtt_sum_us: f64,
    pub rtt_samples: u64,
}

/// Longest interval without delivery that is not a lockout.
fn lockout_threshold(base_rtt: Span) -> Span {
    Span::from_secs(1).max(base_rtt * 10)
}

impl FlowMeasures {
    /// Begin of the fields that arrivals of data and ACKs change, which reach to the end.
    pub const PACKET_FIELDS_BEGIN: usize = offset_of!(FlowMeasures, delay);

    /// Measures of a flow whose first transfer begins at `start`, or later by its application.
    pub fn new(base_rtt: Span, start: Option<Time>) -> FlowMeasures {
        FlowMeasures {
            bytes: [0; 3],
            bytes_at_bin_start: [0; 3],
            marks: 0,
            drops: 0,
            delay: Histogram::default(),
            rtt_sum_us: 0.0,
            rtt_samples: 0,
            no_delivery_since: start.unwrap_or(Time::ZERO),
            interval_start: Time::ZERO,
            counters_before: None,
            lockouts: 0,
            lockout_time: Span::ZERO,
            completed_at: Time::NEVER,
            transfer_began: start.unwrap_or(Time::NEVER),
            transfer_durations: None,
            lockout_threshold: lockout_threshold(base_rtt),
        }
    }

    /// Sets the round-trip time over empty links.
    pub fn set_lockout_threshold_from_rtt(&mut self, base_rtt: Span) {
        self.lockout_threshold = lockout_threshold(base_rtt);
    }

    /// Starts the measured interval.
    pub fn reset(&mut self, now: Time, sender: &SendCounters) {
        *self = FlowMeasures {
            counters_before: (*sender != SendCounters::default()).then(|| Box::new(*sender)),
            no_delivery_since: self.no_delivery_since,
            interval_start: now,
            completed_at: self.completed_at,
            transfer_began: self.transfer_began,
            bytes_at_bin_start: [0, 1, 2].map(|at| self.bytes_at_bin_start[at].wrapping_sub(self.bytes[at])),
            lockout_threshold: self.lockout_threshold,
            ..FlowMeasures::new(Span::ZERO, None)
        };
    }

    /// Counts an arrival; returns the begin of the lockout that it ended, if any.
    #[inline]
    pub fn on_delivery(&mut self, delivery: &Delivery, now: Time) -> Option<Time> {
        self.on_delivery_without_new_bytes(delivery);
        self.on_readable_bytes(delivery.new_bytes, now)
    }

    /// Counts an arrival without its new data.
    #[inline]
    pub fn on_delivery_without_new_bytes(&mut self, delivery: &Delivery) {
        self.bytes[0] += u64::from(delivery.size);
        self.bytes[2] += u64::from(delivery.first_bytes);
    }

    /// Counts new readable data; returns the begin of the lockout that they ended, if any.
    #[inline]
    pub fn on_readable_bytes(&mut self, new_bytes: u64, now: Time) -> Option<Time> {
        if new_bytes == 0 {
            return None;
        }
        self.bytes[1] += new_bytes;
        let since = std::mem::replace(&mut self.no_delivery_since, now);
        self.count_lockout(since, now)
    }

    /// Whether an arrival at this time would end a lockout, which is reported, or a datagram sent before it may change since when the sender is
    /// idle.
    #[inline]
    pub fn arrival_depends_on_event_order(&self, now: Time, is_datagram: bool) -> bool {
        now.since(self.no_delivery_since) >= self.lockout_threshold || is_datagram && self.has_no_recent_datagram(now)
    }

    /// Ends the run: an open interval without delivery counts, unless the flow has nothing left to send. Returns the begin of a lockout.
    pub fn count_final_lockout(&mut self, now: Time) -> Option<Time> {
        if self.is_sending() { self.count_lockout(self.no_delivery_since, now) } else { None }
    }

    /// Whether a transfer is in progress.
    pub fn is_sending(&self) -> bool {
        self.transfer_began != Time::NEVER
    }

    /// Begins a transfer: the idle time before it was not a lockout. Returns since when no new data were delivered.
    pub fn begin_transfer(&mut self, now: Time) -> Time {
        self.transfer_began = now;
        std::mem::replace(&mut self.no_delivery_since, now)
    }

    /// Takes the begin of a transfer back, since there is nothing to send.
    pub fn cancel_transfer(&mut self, no_delivery_since: Time) {
        self.transfer_began = Time::NEVER;
        self.no_delivery_since = no_delivery_since;
    }

    /// A datagram is sent: idle time without datagrams to send was not a lockout.
    pub fn on_datagram_sent(&mut self, now: Time) {
        if self.has_no_recent_datagram(now) {
            self.no_delivery_since = now;
        }
        self.transfer_began = now;
    }

    /// Ends the run of a datagram sender: it is idle if it has sent no datagram for long.
    pub fn end_transfer_if_idle(&mut self, now: Time) {
        if self.has_no_recent_datagram(now) {
            self.transfer_began = Time::NEVER;
        }
    }

    /// Whether no datagram was sent for the lockout threshold.
    fn has_no_recent_datagram(&self, now: Time) -> bool {
        !self.is_sending() || now.since(self.transfer_began) >= self.lockout_threshold
    }

    /// The transfer is acknowledged completely; returns its begin.
    pub fn take_transfer_begin(&mut self) -> Option<Time> {
        let began = std::mem::replace(&mut self.transfer_began, Time::NEVER);
        (began != Time::NEVER).then_some(began)
    }

    /// Records the duration of a finished transfer.
    pub fn record_transfer_duration(&mut self, duration: Span) {
        self.transfer_durations.get_or_insert_default().record(duration);
    }

    /// Durations of finished transfers.
    pub fn transfer_durations(&self) -> Option<&Histogram<5>> {
        self.transfer_durations.as_deref()
    }

    /// The flow's only transfer is completed.
    pub fn set_completed_at(&mut self, now: Time) {
        self.completed_at = now;
    }

    pub fn completed_at(&self) -> Option<Time> {
        (self.completed_at != Time::NEVER).then_some(self.completed_at)
    }

    /// Counters of the sender at the beginning of the measured interval.
    pub fn counters_before(&self) -> SendCounters {
        self.counters_before.as_deref().copied().unwrap_or_default()
    }

    pub fn on_rtt_sample(&mut self, rtt: Span) {
        self.rtt_sum_us += span_to_micros_f64(rtt);
        self.rtt_samples += 1;
    }

    /// Bytes of the bin that ends now; the next one begins.
    pub fn end_bin(&mut self) -> [u64; 3] {
        let start = std::mem::replace(&mut self.bytes_at_bin_start, self.bytes);
        [0, 1, 2].map(|at| self.bytes[at].wrapping_sub(start[at]))
    }

    /// Counts an interval that exceeds the threshold, with its time inside the measured interval; returns its begin.
    fn count_lockout(&mut self, since: Time, now: Time) -> Option<Time> {
        let spell = now.since(since);
        (spell >= self.lockout_threshold).then(|| {
            self.lockouts += 1;
            self.lockout_time += now.since(since.max(self.interval_start));
            since
        })
    }
}
