//! What one queue did.

use ecnlab_queue::Counters;
use ecnlab_units::{Span, Time};

use super::Histogram;

/// A queue's measures since the measured interval began. Lengths do not count the packet in transmission.
#[derive(Clone, Debug)]
pub struct QueueMeasures {
    began: Time,
    changed: Time,
    /// Packets times picoseconds.
    area: u128,
    empty: Span,
    busy: Span,
    /// When the packet in transmission will have left.
    busy_until: Time,
    pub length_max: u32,
    arrivals: u64,
    length_sum_at_arrival: u64,
    average_sum: f64,
    pub sojourn: Histogram<8>,
    /// The same for each band, of a queue that has several.
    pub band_sojourns: Vec<Histogram<8>>,
    /// What each band had counted when the measured interval began.
    pub before: Vec<Counters>,
}

impl QueueMeasures {
    pub fn new(now: Time, before: Vec<Counters>) -> QueueMeasures {
        QueueMeasures {
            began: now,
            changed: now,
            area: 0,
            empty: Span::ZERO,
            busy: Span::ZERO,
            busy_until: now,
            length_max: 0,
            arrivals: 0,
            length_sum_at_arrival: 0,
            average_sum: 0.0,
            sojourn: Histogram::default(),
            band_sojourns: if before.len() > 1 { vec![Histogram::default(); before.len()] } else { Vec::new() },
            before,
        }
    }

    /// The queue held `packets` since the last change, until now.
    #[inline]
    pub fn held(&mut self, packets: usize, now: Time) {
        let span = now.since(self.changed);
        self.changed = now;
        if packets == 0 {
            self.empty += span;
        } else {
            self.area += u128::from(span.picos()) * packets as u128;
            self.length_max = self.length_max.max(packets as u32);
        }
    }

    #[inline]
    pub fn arrival(&mut self, packets: usize, average: Option<f64>) {
        self.arrivals += 1;
        self.length_sum_at_arrival += packets as u64;
        self.average_sum += average.unwrap_or(f64::NAN);
    }

    /// A packet leaves a band now, after this wait, and occupies the transmitter for `transmission`; [`held`](Self::held) was told just before.
    #[inline]
    pub fn departure(&mut self, waited: Span, band: u8, transmission: Span) {
        self.sojourn.record(waited);
        if let Some(sojourn) = self.band_sojourns.get_mut(usize::from(band)) {
            sojourn.record(waited);
        }
        self.busy += transmission;
        self.busy_until = self.changed + transmission;
    }

    pub fn length_mean(&self, now: Time) -> f64 {
        self.area as f64 / now.since(self.began).picos() as f64
    }

    pub fn empty_fraction(&self, now: Time) -> f64 {
        self.empty.picos() as f64 / now.since(self.began).picos() as f64
    }

    /// Share of the interval in which a packet was in transmission, packets counted that began in it.
    pub fn utilisation(&self, now: Time) -> f64 {
        let sent = self.busy - self.busy_until.since(now);
        sent.picos() as f64 / now.since(self.began).picos() as f64
    }

    pub fn length_at_arrival(&self) -> f64 {
        self.length_sum_at_arrival as f64 / self.arrivals as f64
    }

    pub fn average_mean(&self) -> f64 {
        self.average_sum / self.arrivals as f64
    }
}
