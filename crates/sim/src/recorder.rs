//! Recorder: the recordings that a scenario requests in addition to the measures, as tables.
//!
//! Only requested tables are stored, up to a limit of bytes. A recorder that has reached the limit stores nothing more and reports it
//! ([`Probe::recording_limit_reached`]); its run ends with [`RecordingLimitReached`] instead of tables.

use ecnlab_queue::{AVERAGE_GAUGE_NAME, SignalCause};
use ecnlab_transport::CongestionWindow;
use ecnlab_units::column_groups::{THROUGHPUT_AND_GOODPUT_DOCS, throughput_and_goodputs_bps};
use ecnlab_units::{Span, Time, rate_columns, words};

use crate::measures::Histogram;
use crate::measures::table::{
    ColumnNameSource, ColumnSlice, NetworkNames, Table, TableBuilder, TableSpec, count_column, index_column, name_column, real_column,
};
use crate::probe::{AckDrop, AckMark, DelayOrSojourn, GroupRateBin, MarkOrDropWithCause, Probe, RecordingLimitReached, SignalEvent};
use crate::queue_log::{ARRIVALS, MeasuredQueueEvent, PacketNumbering, QueueLogRow};

/// Recordings of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingConfig {
    /// Interval of samples of every queue's length and its sojourn times since the previous sample.
    pub queue_interval: Option<Span>,
    /// Interval of samples of every sender's window.
    pub window_interval: Option<Span>,
    /// Length of the bins in which the throughput of each group is recorded.
    pub rate_bin: Option<Span>,
    /// Each mark, drop and lockout.
    pub events: bool,
    /// Distributions of one-way delays, round-trip times and sojourn times.
    pub distributions: bool,
    /// Each finished transaction.
    pub transfers: bool,
    /// Each arrival and decision of queues.
    pub arrivals: bool,
}

/// Maximum bytes of rows in the recording of one run.
pub const MAX_RECORD_BYTES: u64 = 1 << 30;

/// Rows of a recorder's table from one row on.
pub struct NewRows<'a> {
    pub table: &'static str,
    /// Number of the first row.
    pub from: usize,
    /// Values of these rows by column, without a copy.
    pub columns: Vec<(&'static str, ColumnSlice<'a, ColumnNameSource>)>,
}

/// Number of rows of each growing table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowCounts([usize; GROWING_TABLE_COUNT]);

const GROWING_TABLE_COUNT: usize = 9;

/// Records the configured tables.
pub struct Recorder {
    config: RecordingConfig,
    /// End of the run, to estimate the size of the recording.
    duration: Time,
    budget: RowBudget,
    queues: TableBuilder<QueueSample>,
    bands: TableBuilder<BandSample>,
    /// By queue.
    sojourns: Vec<QueueSojournStats>,
    gauges: TableBuilder<GaugeSample>,
    gauge_names: Vec<&'static str>,
    windows: TableBuilder<WindowSample>,
    rates: TableBuilder<GroupRateRow>,
    events: TableBuilder<EventRow>,
    lockouts: TableBuilder<LockoutRow>,
    distributions: Vec<DistributionRow>,
    transfers: TableBuilder<GroupTransferRow>,
    arrivals: TableBuilder<QueueLogRow>,
    packet_numbering: PacketNumbering,
    /// By group.
    round_trips: Vec<Histogram<8>>,
}

/// Bytes that rows may still take.
struct RowBudget {
    max_bytes: u64,
    used_bytes: u64,
    /// Time of the first row that exceeded the limit.
    full_at: Option<Time>,
}

pub struct QueueSample {
    time: Time,
    queue: u32,
    length_packets: u32,
    average: Option<f64>,
    sojourns: SojournStats,
}

pub struct BandSample {
    time: Time,
    queue: u32,
    /// Its index among the bands of all queues.
    band: u32,
    length_packets: u32,
    sojourns: SojournStats,
}

/// Sojourn times in each band of a queue.
#[derive(Default)]
struct QueueSojournStats {
    /// Since the last sample.
    bands: Vec<SojournStats>,
    /// Those of the last sample.
    last_sample: Vec<SojournStats>,
}

/// Sojourn times of the packets that left within an interval.
#[derive(Clone, Copy, Default)]
struct SojournStats {
    packets: u64,
    sum_picos: u128,
    max: Span,
}

pub struct GaugeSample {
    time: Time,
    queue: u32,
    /// Its index among the names of gauges.
    gauge: u32,
    value: f64,
}

pub struct WindowSample {
    time: Time,
    flow: u32,
    window: CongestionWindow,
    alpha: Option<f64>,
}

pub struct GroupRateRow {
    group: u32,
    bin: GroupRateBin,
    bin_seconds: f64,
}

pub struct EventRow {
    time: Time,
    queue: u32,
    flow: u32,
    packet: EventPacketKind,
    kind: MarkOrDropKind,
    cause: EventCause,
}

pub struct LockoutRow {
    flow: u32,
    from: Time,
    to: Time,
}

pub struct GroupTransferRow {
    group: u32,
    began: Time,
    ended: Time,
    bytes: u64,
}

pub struct DistributionRow {
    quantity: DistributionQuantity,
    group_or_queue: u32,
    /// The band's place among those of all queues, counted from 1; 0 where it is of no band.
    band: u32,
    low_s: f64,
    high_s: f64,
    count: u64,
}

words! {
    /// Kind of a flow's packet.
    pub enum EventPacketKind {
        /// From its source, datagrams included.
        Data = "data",
        Ack = "ack",
    }
}

words! {
    /// Kind of an event.
    pub enum MarkOrDropKind { Mark = "mark", Drop = "drop" }
}

words! {
    /// Cause of a mark or a drop.
    pub enum EventCause {
        Early = "early",
        Forced = "forced",
        Overflow = "overflow",
        /// A loss before the queue.
        Lost = "lost",
        /// A drop before the queue because of ECN.
        Ecn = "ecn",
        /// A mark before the queue.
        Path = "path",
    }
}

words! {
    /// Quantity of a distribution.
    #[derive(PartialOrd, Ord)]
    pub enum DistributionQuantity { Delay = "delay", Rtt = "rtt", Sojourn = "sojourn" }
}

pub static QUEUE_SAMPLES: TableSpec<QueueSample> = TableSpec {
    name: "series_queue",
    doc: "each queue at every interval of `record.queue`",
    columns: &[&[
        real_column("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
        index_column("length_packets", "packets", "Packets in the queue", |row| row.length_packets),
        real_column("average_packets", "packets", "The AQM's average; NaN if it has none", |row| row.average.unwrap_or(f64::NAN)),
        real_column("sojourn_mean_s", "s", SOJOURN_MEAN_DOC, |row| row.sojourns.mean_s()),
        real_column("sojourn_max_s", "s", SOJOURN_MAX_DOC, |row| row.sojourns.max_s()),
    ]],
};

const SOJOURN_MEAN_DOC: &str =
    "Mean sojourn time of the packets that departed since the last sample, without transmission; NaN if none did";
const SOJOURN_MAX_DOC: &str = "Largest sojourn time of these packets; NaN if none departed";

pub static BAND_SAMPLES: TableSpec<BandSample> = TableSpec {
    name: "series_band",
    doc: "each band of a queue that has several, such as L and C of DualPI2, at every interval of `record.queue`; no rows for other queues",
    columns: &[&[
        real_column("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
        name_column("band", ColumnNameSource::Band, "Name of the band", |row| row.band),
        index_column("length_packets", "packets", "Packets in the band", |row| row.length_packets),
        real_column("sojourn_mean_s", "s", SOJOURN_MEAN_DOC, |row| row.sojourns.mean_s()),
        real_column("sojourn_max_s", "s", SOJOURN_MAX_DOC, |row| row.sojourns.max_s()),
    ]],
};

pub static GAUGE_SAMPLES: TableSpec<GaugeSample> = TableSpec {
    name: "series_gauge",
    doc: "each gauge of each queue at every interval of `record.queue`: what its AQM shows of itself, such as a probability; its average \
        is in `series_queue`",
    columns: &[&[
        real_column("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
        name_column("gauge", ColumnNameSource::Gauge, "Name of the gauge; `ecnlab show` with the AQM's name has its meaning", |row| {
            row.gauge
        }),
        real_column("value", "its own", "Value in the gauge's unit", |row| row.value),
    ]],
};

pub static WINDOW_SAMPLES: TableSpec<WindowSample> = TableSpec {
    name: "series_window",
    doc: "each flow at every interval of `record.window`",
    columns: &[&[
        real_column("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        index_column("flow", "index", "The flow's number", |row| row.flow),
        real_column("cwnd_packets", "packets", "Congestion window", |row| row.window.cwnd),
        real_column("ssthresh_packets", "packets", "Slow-start threshold", |row| row.window.ssthresh),
        real_column("alpha", "1", "DCTCP's estimate of the share of marks; NaN with another response", |row| row.alpha.unwrap_or(f64::NAN)),
    ]],
};

pub static RATES: TableSpec<GroupRateRow> = TableSpec {
    name: "series_rate",
    doc: "each group in each bin of `record.rates_interval`, if `record.rates` is on",
    columns: &[
        &[
            real_column("time_s", "s", "Beginning of the bin", |row| row.bin.start.seconds()),
            name_column("group", ColumnNameSource::Group, "Name of the group", |row| row.group),
        ],
        &rate_columns!(THROUGHPUT_AND_GOODPUT_DOCS, |row| throughput_and_goodputs_bps(row.bin.bytes, row.bin_seconds)),
        &[
            count_column("marks", "packets", "Data packets that were marked", |row| row.bin.marks),
            count_column("drops", "packets", "Data packets that were dropped, at any link", |row| row.bin.drops),
        ],
    ],
};

pub static EVENTS: TableSpec<EventRow> = TableSpec {
    name: "events",
    doc: "each mark and drop at a queue, if `record.events` is on",
    columns: &[&[
        real_column("time_s", "s", "Time of the event", |row| row.time.seconds()),
        name_column("queue", ColumnNameSource::Queue, "Name of the link", |row| row.queue),
        index_column("flow", "index", "The flow's number", |row| row.flow),
        name_column(
            "packet",
            ColumnNameSource::Word(EventPacketKind::WORDS),
            "Kind of the packet: data, datagrams included, or an ACK, which is ECN-capable only with `quirks.dctcp_ect_on_all_packets`",
            |row| row.packet as u32,
        ),
        name_column("kind", ColumnNameSource::Word(MarkOrDropKind::WORDS), "Mark or drop", |row| row.kind as u32),
        name_column(
            "cause",
            ColumnNameSource::Word(EventCause::WORDS),
            "Cause: the AQM, a queue beyond the AQM's tolerance, a full buffer, a loss before the queue, or a drop before the queue \
                because of ECN",
            |row| row.cause as u32,
        ),
    ]],
};

pub static LOCKOUTS: TableSpec<LockoutRow> = TableSpec {
    name: "lockouts",
    doc: "each lockout, if `record.events` is on",
    columns: &[&[
        index_column("flow", "index", "The flow's number", |row| row.flow),
        real_column("start_s", "s", "Begin of the time without new deliveries", |row| row.from.seconds()),
        real_column("end_s", "s", "Next delivery, or the end of the run", |row| row.to.seconds()),
    ]],
};

pub static DISTRIBUTIONS: TableSpec<DistributionRow> = TableSpec {
    name: "distributions",
    doc: "how times were distributed over the measured interval, a row for each cell that counted any, if `record.distributions` is on",
    columns: &[&[
        name_column(
            "quantity",
            ColumnNameSource::Word(DistributionQuantity::WORDS),
            "One-way delay or round-trip time of a group (as in `delay_mean_s` and `rtt_mean_s`), or sojourn time in a queue (as in \
                `sojourn_mean_s`)",
            |row| row.quantity as u32,
        ),
        name_column("group_or_queue", ColumnNameSource::GroupOrQueue, "Name of the group or the link", |row| row.group_or_queue),
        name_column(
            "band",
            ColumnNameSource::BandOrNone,
            "Name of the band, for sojourn times of a queue with several bands, where each packet counts in one; otherwise empty",
            |row| row.band,
        ),
        real_column("low_s", "s", "Lower end of the cell", |row| row.low_s),
        real_column("high_s", "s", "Upper end of the cell, which belongs to the next cell", |row| row.high_s),
        count_column("count", "samples", "Samples in the cell", |row| row.count),
    ]],
};

pub static TRANSFERS: TableSpec<GroupTransferRow> = TableSpec {
    name: "transfers",
    doc: "each transaction in the order in which they ended, if `record.transfers` is on",
    columns: &[&[
        name_column("group", ColumnNameSource::Group, "Name of the group", |row| row.group),
        real_column("start_s", "s", "Begin of the transaction", |row| row.began.seconds()),
        real_column("duration_s", "s", "Duration of the transaction", |row| row.ended.since(row.began).seconds()),
        count_column("size_bytes", "bytes", "Application data of the transaction", |row| row.bytes),
    ]],
};

impl Recorder {
    /// A recorder for a run that ends at `duration`.
    pub fn new(config: RecordingConfig, duration: Time) -> Recorder {
        Recorder {
            config,
            duration,
            budget: RowBudget { max_bytes: MAX_RECORD_BYTES, used_bytes: 0, full_at: None },
            queues: TableBuilder::new(&QUEUE_SAMPLES),
            bands: TableBuilder::new(&BAND_SAMPLES),
            sojourns: Vec::new(),
            gauges: TableBuilder::new(&GAUGE_SAMPLES),
            gauge_names: Vec::new(),
            windows: TableBuilder::new(&WINDOW_SAMPLES),
            rates: TableBuilder::new(&RATES),
            events: TableBuilder::new(&EVENTS),
            lockouts: TableBuilder::new(&LOCKOUTS),
            distributions: Vec::new(),
            transfers: TableBuilder::new(&TRANSFERS),
            arrivals: TableBuilder::new(&ARRIVALS),
            packet_numbering: PacketNumbering::default(),
            round_trips: Vec::new(),
        }
    }

    /// The same with another bound of bytes.
    pub fn with_max_bytes(mut self, most_bytes: u64) -> Recorder {
        self.budget.max_bytes = most_bytes;
        self
    }

    /// The tables that were asked for, by name.
    ///
    /// # Errors
    /// If the recording has reached its bound.
    pub fn tables(mut self, names: &NetworkNames) -> Result<Vec<(&'static str, Table)>, RecordingLimitReached> {
        if let Some(reached) = self.recording_limit_reached() {
            return Err(reached);
        }
        let distributions = self.distribution_rows(names.groups.len() as u32);
        let names = &self.names_with_gauges(names);
        let RecordingConfig { queue_interval, window_interval, rate_bin, events, distributions: cells, transfers, arrivals } = self.config;
        let all = [
            (queue_interval.is_some(), QUEUE_SAMPLES.name, self.queues.finish(names)),
            (queue_interval.is_some(), BAND_SAMPLES.name, self.bands.finish(names)),
            (queue_interval.is_some(), GAUGE_SAMPLES.name, self.gauges.finish(names)),
            (window_interval.is_some(), WINDOW_SAMPLES.name, self.windows.finish(names)),
            (rate_bin.is_some(), RATES.name, self.rates.finish(names)),
            (events, EVENTS.name, self.events.finish(names)),
            (events, LOCKOUTS.name, self.lockouts.finish(names)),
            (cells, DISTRIBUTIONS.name, DISTRIBUTIONS.build_table_from_rows(names, distributions)),
            (transfers, TRANSFERS.name, self.transfers.finish(names)),
            (arrivals, ARRIVALS.name, self.arrivals.finish(names)),
        ];
        Ok(all.into_iter().filter(|(asked, ..)| *asked).map(|(_, name, table)| (name, table)).collect())
    }

    /// Number of rows of each table that grows during the run.
    pub(crate) fn row_counts(&self) -> RowCounts {
        RowCounts([
            self.queues.rows() as usize,
            self.bands.rows() as usize,
            self.gauges.rows() as usize,
            self.windows.rows() as usize,
            self.rates.rows() as usize,
            self.events.rows() as usize,
            self.lockouts.rows() as usize,
            self.transfers.rows() as usize,
            self.arrivals.rows() as usize,
        ])
    }

    /// Rows from these numbers on, of each recorded table that grows during the run, without a copy.
    pub(crate) fn rows_from(&self, from: RowCounts) -> Vec<NewRows<'_>> {
        let RecordingConfig { queue_interval, window_interval, rate_bin, events, transfers, arrivals, .. } = self.config;
        let queues = queue_interval.is_some();
        let RowCounts([of_queues, of_bands, of_gauges, of_windows, of_rates, of_events, of_lockouts, of_transfers, of_arrivals]) = from;
        let all = [
            new_rows_if_recorded(queues, QUEUE_SAMPLES.name, &self.queues, of_queues),
            new_rows_if_recorded(queues, BAND_SAMPLES.name, &self.bands, of_bands),
            new_rows_if_recorded(queues, GAUGE_SAMPLES.name, &self.gauges, of_gauges),
            new_rows_if_recorded(window_interval.is_some(), WINDOW_SAMPLES.name, &self.windows, of_windows),
            new_rows_if_recorded(rate_bin.is_some(), RATES.name, &self.rates, of_rates),
            new_rows_if_recorded(events, EVENTS.name, &self.events, of_events),
            new_rows_if_recorded(events, LOCKOUTS.name, &self.lockouts, of_lockouts),
            new_rows_if_recorded(transfers, TRANSFERS.name, &self.transfers, of_transfers),
            new_rows_if_recorded(arrivals, ARRIVALS.name, &self.arrivals, of_arrivals),
        ];
        all.into_iter().flatten().collect()
    }

    /// These names with those of the gauges recorded so far.
    pub fn names_with_gauges(&self, names: &NetworkNames) -> NetworkNames {
        NetworkNames { gauges: self.gauge_names.iter().map(|&name| name.into()).collect(), ..names.clone() }
    }

    /// The rows of all distributions, queues counted on from the last group.
    fn distribution_rows(&mut self, groups: u32) -> Vec<DistributionRow> {
        for (group, rtt) in std::mem::take(&mut self.round_trips).iter().enumerate() {
            self.add_distribution(DistributionQuantity::Rtt, group as u32, 0, rtt);
        }
        let mut rows = std::mem::take(&mut self.distributions);
        rows.iter_mut().filter(|row| row.quantity == DistributionQuantity::Sojourn).for_each(|row| row.group_or_queue += groups);
        rows.sort_by_key(|row| row.quantity);
        rows
    }

    fn add_distribution(&mut self, quantity: DistributionQuantity, of: u32, band: u32, times: &Histogram<8>) {
        let cell_row = |(low_s, high_s, count)| DistributionRow { quantity, group_or_queue: of, band, low_s, high_s, count };
        self.distributions.extend(times.non_empty_bins().map(cell_row));
    }

    /// A packet left a band of a queue after this sojourn time.
    #[inline]
    fn add_sojourn(&mut self, queue: u32, band: u8, sojourn: Span) {
        let (queue, band) = (queue as usize, usize::from(band));
        if self.sojourns.get(queue).is_none_or(|sojourns| sojourns.bands.len() <= band) {
            self.add_band(queue, band);
        }
        self.sojourns[queue].bands[band].add(sojourn);
    }

    #[cold]
    fn add_band(&mut self, queue: usize, band: usize) {
        let queues = self.sojourns.len().max(queue + 1);
        self.sojourns.resize_with(queues, QueueSojournStats::default);
        self.sojourns[queue].bands.resize(band + 1, SojournStats::default());
    }

    fn add_round_trip(&mut self, group: usize, rtt: Span) {
        if self.round_trips.len() <= group {
            self.round_trips.resize_with(group + 1, Histogram::default);
        }
        self.round_trips[group].record(rtt);
    }

    /// Stores a mark or drop of a packet at a measured queue.
    fn record_event(&mut self, time: Time, queue: Option<u32>, flow: u32, packet: EventPacketKind, what: MarkOrDropWithCause) {
        let (true, Some(queue)) = (self.config.events, queue) else { return };
        let (kind, cause) = kind_and_cause(what);
        self.budget.store_row_within_budget(&mut self.events, &EventRow { time, queue, flow, packet, kind, cause }, time);
    }

    /// The table that takes most room.
    fn largest_table(&self) -> &'static str {
        let tables = [
            (self.queues.bytes(), QUEUE_SAMPLES.name),
            (self.bands.bytes(), BAND_SAMPLES.name),
            (self.gauges.bytes(), GAUGE_SAMPLES.name),
            (self.windows.bytes(), WINDOW_SAMPLES.name),
            (self.rates.bytes(), RATES.name),
            (self.events.bytes(), EVENTS.name),
            (self.lockouts.bytes(), LOCKOUTS.name),
            (self.transfers.bytes(), TRANSFERS.name),
            (self.arrivals.bytes(), ARRIVALS.name),
        ];
        tables.into_iter().max().map_or("", |(_, name)| name)
    }
}

/// Rows of a table from a number on; none if it is not recorded.
fn new_rows_if_recorded<'a, R>(recorded: bool, table: &'static str, rows: &'a TableBuilder<R>, from: usize) -> Option<NewRows<'a>> {
    recorded.then(|| NewRows { table, from, columns: rows.columns_from(from).collect() })
}

impl RowBudget {
    /// Stores a row unless the limit is exceeded.
    fn store_row_within_budget<R>(&mut self, filling: &mut TableBuilder<R>, row: &R, now: Time) {
        if self.full_at.is_none() && self.used_bytes + filling.row_bytes() > self.max_bytes {
            self.full_at = Some(now);
        }
        if self.full_at.is_none() {
            self.used_bytes += filling.row_bytes();
            filling.push(row);
        }
    }
}

impl Probe for Recorder {
    /// Of all tables only that of arrivals lists events of several queues.
    fn needs_event_order(&self) -> bool {
        self.config.arrivals
    }

    fn observes_queue_events(&self) -> bool {
        self.config.arrivals
    }

    fn on_queue_event(&mut self, now: Time, queue: u32, event: MeasuredQueueEvent) {
        let entry = self.packet_numbering.log_entry_of_event(now, queue, event);
        self.budget.store_row_within_budget(&mut self.arrivals, &QueueLogRow { queue, entry }, now);
    }

    #[inline]
    fn on_departure(&mut self, queue: u32, sojourn: Span, band: u8) {
        if self.config.queue_interval.is_some() {
            self.add_sojourn(queue, band, sojourn);
        }
    }

    fn queue_sample_interval(&self) -> Option<Span> {
        self.config.queue_interval
    }

    fn window_sample_interval(&self) -> Option<Span> {
        self.config.window_interval
    }

    fn recording_limit_reached(&self) -> Option<RecordingLimitReached> {
        let at = self.budget.full_at?;
        Some(RecordingLimitReached { at, duration: self.duration, max_bytes: self.budget.max_bytes, table: self.largest_table() })
    }

    fn on_data_mark_or_drop(&mut self, now: Time, signal: &SignalEvent) {
        self.record_event(now, signal.queue, signal.flow, EventPacketKind::Data, signal.signal);
    }

    fn on_ack_drop(&mut self, now: Time, drop: &AckDrop) {
        self.record_event(now, drop.queue, drop.flow, EventPacketKind::Ack, drop.signal);
    }

    fn on_ack_mark(&mut self, now: Time, mark: &AckMark) {
        self.record_event(now, mark.queue, mark.flow, EventPacketKind::Ack, mark.signal);
    }

    #[inline]
    fn on_rtt_sample(&mut self, _now: Time, group: u32, rtt: Span) {
        if self.config.distributions {
            self.add_round_trip(group as usize, rtt);
        }
    }

    fn on_queue_sample(&mut self, time: Time, queue: u32, length_packets: u32, average: Option<f64>) {
        let sojourns = self.sojourns.get_mut(queue as usize).map(QueueSojournStats::sample).unwrap_or_default();
        self.budget.store_row_within_budget(&mut self.queues, &QueueSample { time, queue, length_packets, average, sojourns }, time);
    }

    fn on_band_sample(&mut self, time: Time, queue: u32, band: u8, place: u32, length_packets: u32) {
        let sojourns = self.sojourns.get(queue as usize).and_then(|sojourns| sojourns.last_sample.get(usize::from(band)));
        let sojourns = sojourns.copied().unwrap_or_default();
        self.budget.store_row_within_budget(&mut self.bands, &BandSample { time, queue, band: place, length_packets, sojourns }, time);
    }

    fn on_gauge_sample(&mut self, time: Time, queue: u32, gauge: &'static str, value: f64) {
        // The row of the queue's sample has it.
        if gauge == AVERAGE_GAUGE_NAME {
            return;
        }
        let known = self.gauge_names.iter().position(|&name| name == gauge);
        let gauge = known.unwrap_or_else(|| {
            self.gauge_names.push(gauge);
            self.gauge_names.len() - 1
        });
        self.budget.store_row_within_budget(&mut self.gauges, &GaugeSample { time, queue, gauge: gauge as u32, value }, time);
    }

    fn on_window_sample(&mut self, time: Time, flow: u32, window: &CongestionWindow, alpha: Option<f64>) {
        self.budget.store_row_within_budget(&mut self.windows, &WindowSample { time, flow, window: *window, alpha }, time);
    }

    fn on_measurement_start(&mut self, _now: Time) {
        self.round_trips.clear();
    }

    fn rate_bin(&self) -> Option<Span> {
        self.config.rate_bin
    }

    fn on_rate_bin(&mut self, now: Time, group: u32, bin: &GroupRateBin) {
        if self.config.rate_bin.is_some() {
            let row = GroupRateRow { group, bin: *bin, bin_seconds: now.since(bin.start).seconds() };
            self.budget.store_row_within_budget(&mut self.rates, &row, now);
        }
    }

    fn on_transfer_end(&mut self, now: Time, group: u32, began: Time, bytes: u64) {
        if self.config.transfers {
            self.budget.store_row_within_budget(&mut self.transfers, &GroupTransferRow { group, began, ended: now, bytes }, now);
        }
    }

    fn on_lockout(&mut self, flow: u32, from: Time, to: Time) {
        if self.config.events {
            self.budget.store_row_within_budget(&mut self.lockouts, &LockoutRow { flow, from, to }, to);
        }
    }

    fn on_distribution(&mut self, of: DelayOrSojourn, times: &Histogram<8>) {
        if self.config.distributions {
            match of {
                DelayOrSojourn::Delay { group } => self.add_distribution(DistributionQuantity::Delay, group, 0, times),
                DelayOrSojourn::Sojourn { queue, band } => {
                    self.add_distribution(DistributionQuantity::Sojourn, queue, band.map_or(0, |band| band + 1), times)
                }
            }
        }
    }
}

impl QueueSojournStats {
    /// Ends the interval of a sample; returns the sojourn times in all bands.
    fn sample(&mut self) -> SojournStats {
        std::mem::swap(&mut self.bands, &mut self.last_sample);
        self.bands.clear();
        self.bands.resize(self.last_sample.len(), SojournStats::default());
        self.last_sample.iter().fold(SojournStats::default(), |all, band| SojournStats {
            packets: all.packets + band.packets,
            sum_picos: all.sum_picos + band.sum_picos,
            max: all.max.max(band.max),
        })
    }
}

impl SojournStats {
    fn add(&mut self, sojourn: Span) {
        self.packets += 1;
        self.sum_picos += u128::from(sojourn.picos());
        self.max = self.max.max(sojourn);
    }

    fn mean_s(&self) -> f64 {
        self.sum_picos as f64 * 1e-12 / self.packets as f64
    }

    fn max_s(&self) -> f64 {
        if self.packets == 0 { f64::NAN } else { self.max.seconds() }
    }
}

/// Kind and cause of a mark or a drop.
fn kind_and_cause(what: MarkOrDropWithCause) -> (MarkOrDropKind, EventCause) {
    match what {
        MarkOrDropWithCause::Marked(cause) => (MarkOrDropKind::Mark, event_cause(cause)),
        MarkOrDropWithCause::Dropped(cause) => (MarkOrDropKind::Drop, event_cause(cause)),
        MarkOrDropWithCause::PathMarked => (MarkOrDropKind::Mark, EventCause::Path),
        MarkOrDropWithCause::Lost => (MarkOrDropKind::Drop, EventCause::Lost),
        MarkOrDropWithCause::DroppedForEcn => (MarkOrDropKind::Drop, EventCause::Ecn),
    }
}

fn event_cause(cause: SignalCause) -> EventCause {
    match cause {
        SignalCause::Early => EventCause::Early,
        SignalCause::Forced => EventCause::Forced,
        SignalCause::Overflow => EventCause::Overflow,
    }
}
