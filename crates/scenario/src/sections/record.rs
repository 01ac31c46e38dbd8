//! `[record]`: recordings besides the measures. It changes neither results nor their keys.

use ecnlab_sim::{RecordingConfig, recorder};
use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Span, Values, parameters};

use super::declaration::Section;
use crate::read::{Reader, TableInput};

parameters! {
    /// Series and events to record in addition to the measures.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Record {
        /// Interval between samples of each queue: length, average, sojourn times since the last sample, and the gauges of its AQM.
        pub queue: OrOff<Span> = "off", 1e-6..=8_640_000, "s";
        /// Interval between samples of each flow's congestion window and ssthresh.
        pub window: OrOff<Span> = "off", 1e-6..=8_640_000, "s";
        /// Rates, marks and drops of each group in bins of `rates_interval`.
        pub rates: bool = "false";
        /// Length of the bins of `rates`. A bin that the run does not complete is left out.
        #[when(rates = "true")]
        pub rates_interval: Span = "1 s", 0.001..=8_640_000, "s";
        /// Every mark and drop at a queue, and every lockout.
        pub events: bool = "false";
        /// Distributions of delays, round-trip times and sojourn times over the measured interval.
        pub distributions: bool = "false";
        /// Begin, duration and size of each transaction.
        pub transfers: bool = "false";
        /// Arrivals at each queue and its decisions. `ecnlab replay` feeds the same packets into the same queue again.
        pub arrivals: bool = "false";
        /// Figures drawn after the run.
        pub plot: bool = "false";
    }
}

pub const RECORD: Section = Section {
    name: "record",
    title: "What is recorded",
    doc: "Series, events and distributions to record in addition to the measures. The memory of a recording grows with simulated time; \
        that of measures does not.",
    keys: Record::PARAMETERS,
    tables: &[],
};

/// Maximum bytes of a run's series. The recorder stops at this size, so a run that would exceed it is rejected.
const MAX_SERIES_BYTES: f64 = recorder::MAX_RECORD_BYTES as f64;

/// Numbers of recorded items.
pub struct RecordedItemCounts {
    pub duration: Span,
    pub queues: usize,
    /// Bands of all queues with several bands.
    pub bands: usize,
    /// Gauges of all queues together.
    pub gauges: usize,
    /// Flows with their own row.
    pub flows: u64,
    pub groups: usize,
}

impl Record {
    /// The recorder's configuration.
    pub fn recording(&self) -> RecordingConfig {
        let Record { queue, window, rates, rates_interval, events, distributions, transfers, arrivals, plot: _ } = *self;
        RecordingConfig {
            queue_interval: queue.0,
            window_interval: window.0,
            rate_bin: rates.then_some(rates_interval),
            events,
            distributions,
            transfers,
            arrivals,
        }
    }

    /// Estimated bytes of a run's series, as key and bytes. The number of events is unknown before the run.
    pub fn estimated_bytes(&self, size: &RecordedItemCounts) -> [(&'static str, f64); 3] {
        let samples = |every: OrOff<Span>| every.0.map_or(0.0, |every| size.duration.seconds() / every.seconds());
        let bins = if self.rates { size.duration.seconds() / self.rates_interval.seconds() } else { 0.0 };
        let rows = |of: u64, bytes: u64| of as f64 * bytes as f64;
        let queues = rows(size.queues as u64, recorder::QUEUE_SAMPLES.row_bytes());
        let bands = rows(size.bands as u64, recorder::BAND_SAMPLES.row_bytes());
        [
            ("queue", samples(self.queue) * (queues + bands + rows(size.gauges as u64, recorder::GAUGE_SAMPLES.row_bytes()))),
            ("window", samples(self.window) * rows(size.flows, recorder::WINDOW_SAMPLES.row_bytes())),
            ("rates", bins * rows(size.groups as u64, recorder::RATES.row_bytes())),
        ]
    }
}

/// Reads the section; without it nothing is recorded.
pub fn read(reader: &mut Reader, root: &TableInput) -> Option<Values> {
    let Some(given) = reader.read_table(root, "record", "{ queue = \"10 ms\" }") else {
        return (!root.has("record")).then(|| Values::defaults(RECORD.keys));
    };
    RECORD.read_keys(reader, &given).valid_values().cloned()
}

/// Rejects series that would not fit into memory, and warns of those with a single sample.
pub fn check(reader: &mut Reader, root: &TableInput, record: &Record, size: &RecordedItemCounts) {
    let Some(given) = root.table("record") else { return };
    for (key, interval) in [("queue", record.queue), ("window", record.window)] {
        if interval.0.is_some_and(|every| every >= size.duration) {
            let duration = size.duration.seconds();
            reader.warn(&given, key, format!("takes one sample, at the start: sample more often, duration {duration} s"));
        }
    }
    if given.has("rates_interval") && !record.rates {
        reader.warn(&given, "rates_interval", "has an effect only with rates = true; fix: add rates = true, or leave it out");
    }
    if record.rates && record.rates_interval > size.duration {
        let (bin, duration) = (record.rates_interval.seconds(), size.duration.seconds());
        let message =
            format!("a bin of {bin} s does not end within the duration of {duration} s, so no rates are recorded; fix: shorten it");
        reader.warn(&given, "rates_interval", message);
    }
    let bytes = record.estimated_bytes(size);
    let total: f64 = bytes.iter().map(|(_, bytes)| bytes).sum();
    if total <= MAX_SERIES_BYTES {
        return;
    }
    let largest = bytes.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are three");
    let remedy = match largest.0 {
        "queue" => format!("sample every {} or more", longer_interval(record.queue, total)),
        "window" => format!("sample every {} or more, or fewer flows", longer_interval(record.window, total)),
        _ => "record longer bins (record.rates_interval), run shorter, or with fewer groups".to_owned(),
    };
    let message =
        format!("would take about {} a seed, and at most {} is recorded; fix: {remedy}", format_gib(total), format_gib(MAX_SERIES_BYTES));
    reader.report(&given, largest.0, message);
}

/// An interval within the limit, in round figures.
fn longer_interval(interval: OrOff<Span>, total: f64) -> String {
    let seconds = interval.0.map_or(0.0, Span::seconds) * total / MAX_SERIES_BYTES;
    let unit = 10f64.powi(seconds.log10().floor() as i32);
    let round = [1.0, 2.0, 5.0, 10.0].map(|n| n * unit).into_iter().find(|&round| round >= seconds).unwrap_or(seconds);
    if round >= 1.0 { format!("{round} s") } else { format!("{} us", (round * 1e6).round()) }
}

fn format_gib(bytes: f64) -> String {
    format!("{:.1} GiB", bytes / f64::from(1 << 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_that_is_proposed_keeps_within_the_bound() {
        let size = RecordedItemCounts { duration: Span::from_secs(100), queues: 1, bands: 0, gauges: 0, flows: 0, groups: 0 };
        let every = |micros| Record { queue: OrOff(Some(Span::from_micros(micros))), ..Record::default() };
        let total = every(1).estimated_bytes(&size)[0].1;
        assert_eq!(100e6 * 40.0, total);
        assert_eq!("5 us", longer_interval(every(1).queue, total));
        assert!(every(5).estimated_bytes(&size)[0].1 <= MAX_SERIES_BYTES);
    }

    #[test]
    fn gauges_take_room_beside_lengths() {
        let size = |gauges| RecordedItemCounts { duration: Span::from_secs(100), queues: 1, bands: 0, gauges, flows: 0, groups: 0 };
        let record = Record { queue: OrOff(Some(Span::from_millis(1))), ..Record::default() };
        let per_gauge = recorder::GAUGE_SAMPLES.row_bytes() as f64;
        assert_eq!(2.0 * 100e3 * per_gauge, record.estimated_bytes(&size(2))[0].1 - record.estimated_bytes(&size(0))[0].1);
    }
}
