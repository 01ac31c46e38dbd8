//! Measures of one queue.

use ecnlab_queue::QueueCounters;
use ecnlab_units::{Span, Time};

use super::Histogram;

/// Measures of a queue since the measured interval began. Lengths exclude the packet in transmission.
#[derive(Clone, Debug)]
pub struct QueueMeasures {
    interval_start: Time,
    last_change: Time,
    /// Integral of the length over time, in packets times picoseconds.
    packet_picos: u128,
    empty_time: Span,
    busy_time: Span,
    /// End of the current transmission.
    busy_until: Time,
    pub length_max: u32,
    arrivals: u64,
    length_sum_at_arrival: u64,
    average_sum: f64,
    pub sojourn: Histogram<8>,
    /// Sojourn times of each band, of a queue with several.
    pub band_sojourns: Vec<Histogram<8>>,
    /// Counters of each band at the beginning of the measured interval.
    pub counters_before: Vec<QueueCounters>,
}

impl QueueMeasures {
    pub fn new(now: Time, counters_before: Vec<QueueCounters>) -> QueueMeasures {
        QueueMeasures {
            interval_start: now,
            last_change: now,
            packet_picos: 0,
            empty_time: Span::ZERO,
            busy_time: Span::ZERO,
            busy_until: now,
            length_max: 0,
            arrivals: 0,
            length_sum_at_arrival: 0,
            average_sum: 0.0,
            sojourn: Histogram::default(),
            band_sojourns: if counters_before.len() > 1 { vec![Histogram::default(); counters_before.len()] } else { Vec::new() },
            counters_before,
        }
    }

    /// Adds the time since the last change, during which the queue held `packets`.
    #[inline]
    pub fn update_length(&mut self, packets: usize, now: Time) {
        let span = now.since(self.last_change);
        self.last_change = now;
        if packets == 0 {
            self.empty_time += span;
        } else {
            self.packet_picos += u128::from(span.picos()) * packets as u128;
            self.length_max = self.length_max.max(packets as u32);
        }
    }

    #[inline]
    pub fn on_arrival(&mut self, packets: usize, average: Option<f64>) {
        self.arrivals += 1;
        self.length_sum_at_arrival += packets as u64;
        self.average_sum += average.unwrap_or(f64::NAN);
    }

    /// Records that a packet leaves a band now, after this sojourn time, and occupies the transmitter for `transmission`. The caller has
    /// just called [`update_length`](Self::update_length).
    #[inline(always)]
    pub fn record_departure(&mut self, waited: Span, band: u8, transmission: Span) {
        self.sojourn.record(waited);
        if let Some(sojourn) = self.band_sojourns.get_mut(usize::from(band)) {
            sojourn.record(waited);
        }
        self.busy_time += transmission;
        self.busy_until = self.last_change + transmission;
    }

    pub fn length_mean(&self, now: Time) -> f64 {
        self.packet_picos as f64 / now.since(self.interval_start).picos() as f64
    }

    pub fn empty_fraction(&self, now: Time) -> f64 {
        self.empty_time.picos() as f64 / now.since(self.interval_start).picos() as f64
    }

    /// Share of the interval in which a packet was in transmission, counting packets whose transmission began in it.
    pub fn utilisation(&self, now: Time) -> f64 {
        let sent = self.busy_time - self.busy_until.since(now);
        sent.picos() as f64 / now.since(self.interval_start).picos() as f64
    }

    pub fn length_at_arrival(&self) -> f64 {
        self.length_sum_at_arrival as f64 / self.arrivals as f64
    }

    pub fn average_mean(&self) -> f64 {
        self.average_sum / self.arrivals as f64
    }
}
