//! The recorder: what a scenario asks to be recorded besides the measures, as tables.
//!
//! Nothing is stored that was not asked for, and no more than a bound of bytes: a recorder that has reached it stores nothing more, says
//! so ([`Probe::full`]), and its run ends with [`RecordingFull`] in place of tables.

use std::fmt;

use ecnlab_queue::Cause;
use ecnlab_transport::Window;
use ecnlab_units::{Span, Time, words};

use crate::arrivals::{ARRIVALS, ArrivalRow, Numbers, QueueDeed};
use crate::measures::Histogram;
use crate::measures::columns::{GOODPUT, GOODPUT_FIRST, THROUGHPUT};
use crate::measures::table::{Filling, Naming, NetworkNames, Table, TableSpec, count, index, name, real};
use crate::probe::{AckDrop, AckMark, Bin, MarkOrDrop, Probe, TimesOf, Touch};

/// What to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Interval at which every queue's length and the sojourn times since the sample before are taken.
    pub queue: Option<Span>,
    /// Interval at which every sender's window is taken.
    pub window: Option<Span>,
    /// What each group did in each second.
    pub rates: bool,
    /// Each mark, drop and lockout.
    pub events: bool,
    /// How delays, round-trip times and waits are distributed.
    pub distributions: bool,
    /// Each transaction that ended.
    pub transfers: bool,
    /// All that comes to queues and all that they do.
    pub arrivals: bool,
}

/// Bytes of rows that the recording of one run may take.
pub const MOST_BYTES: u64 = 1 << 30;

/// Records what was asked for.
pub struct Recorder {
    recording: Recording,
    /// When the run ends, to foresee what the recording would take.
    duration: Time,
    room: Room,
    queues: Filling<QueueSample>,
    bands: Filling<BandSample>,
    /// Since the last sample, by queue.
    sojourns: Vec<QueueSojourns>,
    gauges: Filling<GaugeSample>,
    gauge_names: Vec<&'static str>,
    windows: Filling<WindowSample>,
    rates: Filling<RateRow>,
    events: Filling<EventRow>,
    lockouts: Filling<LockoutRow>,
    distributions: Vec<DistributionRow>,
    transfers: Filling<TransferRow>,
    arrivals: Filling<ArrivalRow>,
    numbers: Numbers,
    /// By group.
    round_trips: Vec<Histogram<8>>,
}

/// How many bytes rows may still take.
struct Room {
    most_bytes: u64,
    bytes: u64,
    /// When a row found no room any more.
    full_at: Option<Time>,
}

/// A recording that has reached its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingFull {
    /// When it did.
    pub at: Time,
    pub duration: Time,
    pub most_bytes: u64,
    /// The table that takes most of it.
    pub table: &'static str,
}

pub struct QueueSample {
    time: Time,
    queue: u32,
    length_packets: u32,
    average: Option<f64>,
    sojourns: Sojourns,
}

pub struct BandSample {
    time: Time,
    queue: u32,
    /// Its place among the bands of all queues.
    band: u32,
    sojourns: Sojourns,
}

/// Sojourn times in a queue and in each of its bands.
#[derive(Default)]
struct QueueSojourns {
    all: Sojourns,
    bands: Vec<Sojourns>,
}

/// Sojourn times of the packets that left within an interval.
#[derive(Clone, Copy, Default)]
struct Sojourns {
    packets: u64,
    sum_picos: u128,
    max: Span,
}

pub struct GaugeSample {
    time: Time,
    queue: u32,
    /// Its place among the names of gauges.
    gauge: u32,
    value: f64,
}

pub struct WindowSample {
    time: Time,
    flow: u32,
    window: Window,
    alpha: Option<f64>,
}

pub struct RateRow {
    group: u32,
    bin: Bin,
}

pub struct EventRow {
    time: Time,
    queue: u32,
    flow: u32,
    packet: EventPacket,
    kind: EventKind,
    cause: EventCause,
}

pub struct LockoutRow {
    flow: u32,
    from: Time,
    to: Time,
}

pub struct TransferRow {
    group: u32,
    began: Time,
    ended: Time,
    bytes: u64,
}

pub struct DistributionRow {
    quantity: Quantity,
    of: u32,
    /// The band's place among those of all queues, counted from 1; 0 where it is of no band.
    band: u32,
    low_s: f64,
    high_s: f64,
    count: u64,
}

words! {
    /// Which packet of a flow it was.
    pub enum EventPacket {
        /// From its source, datagrams included.
        Data = "data",
        Ack = "ack",
    }
}

words! {
    /// What was done to a packet.
    pub enum EventKind { Mark = "mark", Drop = "drop" }
}

words! {
    /// What a mark or a drop came from.
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
    /// What a distribution is of.
    #[derive(PartialOrd, Ord)]
    pub enum Quantity { Delay = "delay", Rtt = "rtt", Sojourn = "sojourn" }
}

pub static QUEUE_SAMPLES: TableSpec<QueueSample> = TableSpec {
    name: "series_queue",
    doc: "each queue at every interval of `record.queue`",
    columns: &[&[
        real("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        index("length_packets", "packets", "Packets that wait", |row| row.length_packets),
        real("average_packets", "packets", "The AQM's average; NaN if it keeps none", |row| row.average.unwrap_or(f64::NAN)),
        real("sojourn_mean_s", "s", SOJOURN_MEAN, |row| row.sojourns.mean_s()),
        real("sojourn_max_s", "s", SOJOURN_MAX, |row| row.sojourns.max_s()),
    ]],
};

const SOJOURN_MEAN: &str =
    "Mean sojourn time of the packets that departed since the sample before, transmission not included; NaN if none did";
const SOJOURN_MAX: &str = "Largest sojourn time of these packets; NaN if none departed";

pub static BAND_SAMPLES: TableSpec<BandSample> = TableSpec {
    name: "series_band",
    doc: "each band of a queue that has several, such as L and C of DualPI2, at every interval of `record.queue`; no rows for other queues",
    columns: &[&[
        real("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        name("band", Naming::Band, "Name of the band", |row| row.band),
        real("sojourn_mean_s", "s", SOJOURN_MEAN, |row| row.sojourns.mean_s()),
        real("sojourn_max_s", "s", SOJOURN_MAX, |row| row.sojourns.max_s()),
    ]],
};

pub static GAUGE_SAMPLES: TableSpec<GaugeSample> = TableSpec {
    name: "series_gauge",
    doc: "each gauge of each queue at every interval of `record.queue`: what its AQM shows of itself, such as a probability",
    columns: &[&[
        real("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        name("gauge", Naming::Gauge, "Name of the gauge; `ecnlab show` with the AQM's name says what it is", |row| row.gauge),
        real("value", "its own", "Its value, in the gauge's own unit", |row| row.value),
    ]],
};

pub static WINDOW_SAMPLES: TableSpec<WindowSample> = TableSpec {
    name: "series_window",
    doc: "each flow at every interval of `record.window`",
    columns: &[&[
        real("time_s", "s", "Time of the sample", |row| row.time.seconds()),
        index("flow", "index", "The flow's number", |row| row.flow),
        real("cwnd_packets", "packets", "Congestion window", |row| row.window.cwnd),
        real("ssthresh_packets", "packets", "Slow-start threshold", |row| row.window.ssthresh),
        real("alpha", "1", "DCTCP's estimate of the share of marks; NaN where there is none", |row| row.alpha.unwrap_or(f64::NAN)),
    ]],
};

pub static RATES: TableSpec<RateRow> = TableSpec {
    name: "series_rate",
    doc: "each group in each bin of one second, if `record.rates` is on",
    columns: &[&[
        real("time_s", "s", "Beginning of the bin", |row| row.bin.start.seconds()),
        name("group", Naming::Group, "Name of the group", |row| row.group),
        real("throughput_bps", "bit/s", THROUGHPUT, |row| row.bin.throughput as f64 * 8.0),
        real("goodput_bps", "bit/s", GOODPUT, |row| row.bin.goodput as f64 * 8.0),
        real("goodput_first_bps", "bit/s", GOODPUT_FIRST, |row| row.bin.goodput_first as f64 * 8.0),
        count("marks", "packets", "Data packets that were marked", |row| row.bin.marks),
        count("drops", "packets", "Data packets that were dropped, at any link", |row| row.bin.drops),
    ]],
};

pub static EVENTS: TableSpec<EventRow> = TableSpec {
    name: "events",
    doc: "each mark and drop at a queue, if `record.events` is on",
    columns: &[&[
        real("time_s", "s", "When it happened", |row| row.time.seconds()),
        name("queue", Naming::Queue, "Name of the link", |row| row.queue),
        index("flow", "index", "The flow's number", |row| row.flow),
        name(
            "packet",
            Naming::Word(EventPacket::WORDS),
            "Which packet it was: data, datagrams included, or an acknowledgement, which is ECN-capable with `dctcp_ect_on_all` alone",
            |row| row.packet as u32,
        ),
        name("kind", Naming::Word(EventKind::WORDS), "Mark or drop", |row| row.kind as u32),
        name(
            "cause",
            Naming::Word(EventCause::WORDS),
            "What it came from: the AQM's law, a queue beyond what the AQM tolerates, a full buffer, a loss before the queue, a drop before the queue because of ECN",
            |row| row.cause as u32,
        ),
    ]],
};

pub static LOCKOUTS: TableSpec<LockoutRow> = TableSpec {
    name: "lockouts",
    doc: "each lockout, if `record.events` is on",
    columns: &[&[
        index("flow", "index", "The flow's number", |row| row.flow),
        real("start_s", "s", "Since when nothing new was delivered", |row| row.from.seconds()),
        real("end_s", "s", "When something was delivered again, or the run ended", |row| row.to.seconds()),
    ]],
};

pub static DISTRIBUTIONS: TableSpec<DistributionRow> = TableSpec {
    name: "distributions",
    doc: "how times were distributed over the measured interval, a row for each cell that counted any, if `record.distributions` is on",
    columns: &[&[
        name(
            "quantity",
            Naming::Word(Quantity::WORDS),
            "One-way delay or round-trip time of a group (as in `delay_mean_s` and `rtt_mean_s`), or wait in a queue (as in `sojourn_mean_s`)",
            |row| row.quantity as u32,
        ),
        name("of", Naming::GroupOrQueue, "Name of the group or the link", |row| row.of),
        name(
            "band",
            Naming::BandOrNone,
            "Name of the band, for sojourn times of a queue that has several: each packet counts in one of them. Else empty",
            |row| row.band,
        ),
        real("low_s", "s", "Least time that the cell counts", |row| row.low_s),
        real("high_s", "s", "Time from which on the next cell counts", |row| row.high_s),
        count("count", "samples", "Samples in the cell", |row| row.count),
    ]],
};

pub static TRANSFERS: TableSpec<TransferRow> = TableSpec {
    name: "transfers",
    doc: "each transaction in the order in which they ended, if `record.transfers` is on",
    columns: &[&[
        name("group", Naming::Group, "Name of the group", |row| row.group),
        real("start_s", "s", "When it began", |row| row.began.seconds()),
        real("duration_s", "s", "How long it took", |row| row.ended.since(row.began).seconds()),
        count("size_bytes", "bytes", "Its application data", |row| row.bytes),
    ]],
};

impl Recorder {
    /// Of a run that ends at `duration`.
    pub fn new(recording: Recording, duration: Time) -> Recorder {
        Recorder {
            recording,
            duration,
            room: Room { most_bytes: MOST_BYTES, bytes: 0, full_at: None },
            queues: Filling::new(&QUEUE_SAMPLES),
            bands: Filling::new(&BAND_SAMPLES),
            sojourns: Vec::new(),
            gauges: Filling::new(&GAUGE_SAMPLES),
            gauge_names: Vec::new(),
            windows: Filling::new(&WINDOW_SAMPLES),
            rates: Filling::new(&RATES),
            events: Filling::new(&EVENTS),
            lockouts: Filling::new(&LOCKOUTS),
            distributions: Vec::new(),
            transfers: Filling::new(&TRANSFERS),
            arrivals: Filling::new(&ARRIVALS),
            numbers: Numbers::default(),
            round_trips: Vec::new(),
        }
    }

    /// The same with another bound of bytes.
    pub fn with_most_bytes(mut self, most_bytes: u64) -> Recorder {
        self.room.most_bytes = most_bytes;
        self
    }

    /// The tables that were asked for, by name.
    ///
    /// # Errors
    /// If the recording has reached its bound.
    pub fn tables(mut self, names: &NetworkNames) -> Result<Vec<(&'static str, Table)>, RecordingFull> {
        if let Some(full) = self.full() {
            return Err(full);
        }
        let distributions = self.distribution_rows(names.groups.len() as u32);
        let gauges = self.gauge_names.iter().map(|&name| name.into()).collect();
        let names = &NetworkNames { gauges, ..names.clone() };
        let Recording { queue, window, rates, events, distributions: cells, transfers, arrivals } = self.recording;
        let all = [
            (queue.is_some(), QUEUE_SAMPLES.name, self.queues.finish(names)),
            (queue.is_some(), BAND_SAMPLES.name, self.bands.finish(names)),
            (queue.is_some(), GAUGE_SAMPLES.name, self.gauges.finish(names)),
            (window.is_some(), WINDOW_SAMPLES.name, self.windows.finish(names)),
            (rates, RATES.name, self.rates.finish(names)),
            (events, EVENTS.name, self.events.finish(names)),
            (events, LOCKOUTS.name, self.lockouts.finish(names)),
            (cells, DISTRIBUTIONS.name, DISTRIBUTIONS.table(names, distributions)),
            (transfers, TRANSFERS.name, self.transfers.finish(names)),
            (arrivals, ARRIVALS.name, self.arrivals.finish(names)),
        ];
        Ok(all.into_iter().filter(|(asked, ..)| *asked).map(|(_, name, table)| (name, table)).collect())
    }

    /// The rows of all distributions, queues counted on from the last group.
    fn distribution_rows(&mut self, groups: u32) -> Vec<DistributionRow> {
        for (group, rtt) in std::mem::take(&mut self.round_trips).iter().enumerate() {
            self.add_distribution(Quantity::Rtt, group as u32, 0, rtt);
        }
        let mut rows = std::mem::take(&mut self.distributions);
        rows.iter_mut().filter(|row| row.quantity == Quantity::Sojourn).for_each(|row| row.of += groups);
        rows.sort_by_key(|row| row.quantity);
        rows
    }

    fn add_distribution(&mut self, quantity: Quantity, of: u32, band: u32, times: &Histogram<8>) {
        let row = |(low_s, high_s, count)| DistributionRow { quantity, of, band, low_s, high_s, count };
        self.distributions.extend(times.cells().map(row));
    }

    /// A packet left a band of a queue after this sojourn time.
    fn add_sojourn(&mut self, queue: u32, band: u8, sojourn: Span) {
        let (queue, band) = (queue as usize, usize::from(band));
        if self.sojourns.len() <= queue {
            self.sojourns.resize_with(queue + 1, QueueSojourns::default);
        }
        let QueueSojourns { all, bands } = &mut self.sojourns[queue];
        if bands.len() <= band {
            bands.resize(band + 1, Sojourns::default());
        }
        all.add(sojourn);
        bands[band].add(sojourn);
    }

    /// Stores what was done to a packet at a measured queue.
    fn event(&mut self, time: Time, queue: Option<u32>, flow: u32, packet: EventPacket, what: MarkOrDrop) {
        let (true, Some(queue)) = (self.recording.events, queue) else { return };
        let (kind, cause) = kind_and_cause(what);
        self.room.store(&mut self.events, &EventRow { time, queue, flow, packet, kind, cause }, time);
    }

    /// The table that takes most room.
    fn largest(&self) -> &'static str {
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

impl Room {
    /// Stores a row if there is room for it.
    fn store<R>(&mut self, filling: &mut Filling<R>, row: &R, now: Time) {
        if self.full_at.is_none() && self.bytes + filling.row_bytes() > self.most_bytes {
            self.full_at = Some(now);
        }
        if self.full_at.is_none() {
            self.bytes += filling.row_bytes();
            filling.push(row);
        }
    }
}

impl Probe for Recorder {
    const QUEUES: bool = true;

    #[inline]
    fn queue_did(&mut self, now: Time, queue: u32, deed: QueueDeed) {
        if let (Some(_), QueueDeed::Left { sojourn, band, .. }) = (self.recording.queue, deed) {
            self.add_sojourn(queue, band, sojourn);
        }
        if self.recording.arrivals {
            let line = self.numbers.line(now, queue, deed);
            self.room.store(&mut self.arrivals, &ArrivalRow { queue, line }, now);
        }
    }

    fn queue_interval(&self) -> Option<Span> {
        self.recording.queue
    }

    fn window_interval(&self) -> Option<Span> {
        self.recording.window
    }

    fn full(&self) -> Option<RecordingFull> {
        let at = self.room.full_at?;
        Some(RecordingFull { at, duration: self.duration, most_bytes: self.room.most_bytes, table: self.largest() })
    }

    fn touched(&mut self, now: Time, touch: &Touch) {
        self.event(now, touch.queue, touch.flow, EventPacket::Data, touch.what);
    }

    fn ack_dropped(&mut self, now: Time, drop: &AckDrop) {
        self.event(now, drop.queue, drop.flow, EventPacket::Ack, drop.what);
    }

    fn ack_marked(&mut self, now: Time, mark: &AckMark) {
        self.event(now, mark.queue, mark.flow, EventPacket::Ack, mark.what);
    }

    fn round_trip(&mut self, _now: Time, group: u32, rtt: Span) {
        if self.recording.distributions {
            let group = group as usize;
            if self.round_trips.len() <= group {
                self.round_trips.resize_with(group + 1, Histogram::default);
            }
            self.round_trips[group].record(rtt);
        }
    }

    fn queue_sample(&mut self, time: Time, queue: u32, length_packets: u32, average: Option<f64>) {
        let sojourns = self.sojourns.get_mut(queue as usize).map(|sojourns| std::mem::take(&mut sojourns.all)).unwrap_or_default();
        self.room.store(&mut self.queues, &QueueSample { time, queue, length_packets, average, sojourns }, time);
    }

    fn band_sample(&mut self, time: Time, queue: u32, band: u8, place: u32) {
        let sojourns = self.sojourns.get_mut(queue as usize).and_then(|sojourns| sojourns.bands.get_mut(usize::from(band)));
        let sojourns = sojourns.map(std::mem::take).unwrap_or_default();
        self.room.store(&mut self.bands, &BandSample { time, queue, band: place, sojourns }, time);
    }

    fn gauge_sample(&mut self, time: Time, queue: u32, gauge: &'static str, value: f64) {
        let known = self.gauge_names.iter().position(|&name| name == gauge);
        let gauge = known.unwrap_or_else(|| {
            self.gauge_names.push(gauge);
            self.gauge_names.len() - 1
        });
        self.room.store(&mut self.gauges, &GaugeSample { time, queue, gauge: gauge as u32, value }, time);
    }

    fn window_sample(&mut self, time: Time, flow: u32, window: &Window, alpha: Option<f64>) {
        self.room.store(&mut self.windows, &WindowSample { time, flow, window: *window, alpha }, time);
    }

    fn measuring_begins(&mut self, _now: Time) {
        self.round_trips.clear();
    }

    fn rates(&mut self, now: Time, group: u32, bin: &Bin) {
        if self.recording.rates {
            self.room.store(&mut self.rates, &RateRow { group, bin: *bin }, now);
        }
    }

    fn transfer(&mut self, now: Time, group: u32, began: Time, bytes: u64) {
        if self.recording.transfers {
            self.room.store(&mut self.transfers, &TransferRow { group, began, ended: now, bytes }, now);
        }
    }

    fn lockout(&mut self, flow: u32, from: Time, to: Time) {
        if self.recording.events {
            self.room.store(&mut self.lockouts, &LockoutRow { flow, from, to }, to);
        }
    }

    fn distribution(&mut self, of: TimesOf, times: &Histogram<8>) {
        if self.recording.distributions {
            match of {
                TimesOf::Delay { group } => self.add_distribution(Quantity::Delay, group, 0, times),
                TimesOf::Sojourn { queue, band } => self.add_distribution(Quantity::Sojourn, queue, band.map_or(0, |band| band + 1), times),
            }
        }
    }
}

impl Sojourns {
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

/// What an event says of a mark or a drop.
fn kind_and_cause(what: MarkOrDrop) -> (EventKind, EventCause) {
    match what {
        MarkOrDrop::Marked(cause) => (EventKind::Mark, cause_of(cause)),
        MarkOrDrop::Dropped(cause) => (EventKind::Drop, cause_of(cause)),
        MarkOrDrop::PathMarked => (EventKind::Mark, EventCause::Path),
        MarkOrDrop::Lost => (EventKind::Drop, EventCause::Lost),
        MarkOrDrop::EcnRefused => (EventKind::Drop, EventCause::Ecn),
    }
}

fn cause_of(cause: Cause) -> EventCause {
    match cause {
        Cause::Early => EventCause::Early,
        Cause::Forced => EventCause::Forced,
        Cause::Overflow => EventCause::Overflow,
    }
}

impl fmt::Display for RecordingFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gib = |bytes: f64| bytes / (1u64 << 30) as f64;
        let bound = self.most_bytes as f64;
        let (at, duration) = (self.at.seconds(), self.duration.seconds());
        write!(
            f,
            "the recording has reached its bound of {:.1} GiB at {at:.3} s, and the whole run of {duration} s would take about {:.1} GiB, most of \
             it for {}: record less ([record] with a longer interval, or without it), or shorten the duration",
            gib(bound),
            gib(bound * duration / at),
            self.table,
        )
    }
}

impl std::error::Error for RecordingFull {}
