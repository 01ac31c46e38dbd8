//! Timers of the whole run: rate bins, the beginning of the measured interval, samples.
//!
//! Bins of one second exist in every run, for Jain's index by second. A probe may ask for bins of another length: those are samples, which
//! change neither the fingerprint nor a measure.

use ecnlab_queue::Discipline;
use ecnlab_units::{Span, Time};

use super::Simulation;
use crate::component::{ComponentId, ComponentKind};
use crate::index_vec::IndexVec;
use crate::measures::{GroupMeasures, JainIndex, QueueMeasures};
use crate::network::RowPolicy;
use crate::probe::{GroupRateBin, Probe};

const RATE_BIN_LENGTH: Span = Span::from_secs(1);

/// Indices of the components that belong to the whole run.
const RATE_BIN_TIMER: u32 = 0;
const MEASUREMENT_START_TIMER: u32 = 1;
const QUEUE_SAMPLE_TIMER: u32 = 2;
const WINDOW_SAMPLE_TIMER: u32 = 3;
const PROBE_RATE_BIN_TIMER: u32 = 4;
pub const RUN_TIMER_COUNT: usize = 5;

/// Timers that read the measures of flows.
const READS_FLOW_MEASURES: [u32; 3] = [RATE_BIN_TIMER, MEASUREMENT_START_TIMER, PROBE_RATE_BIN_TIMER];

/// Whether an event only samples the run; the fingerprint leaves such events unhashed.
#[inline(always)]
pub fn is_sampling_only(component: ComponentId) -> bool {
    component.is_kind_with_index_in(ComponentKind::RunTimer, QUEUE_SAMPLE_TIMER..=PROBE_RATE_BIN_TIMER)
}

/// Counters at the beginning of the current bin of a probe's own length. They wrap below zero if a counter was reset since.
#[derive(Default)]
pub struct RateBinStart {
    /// Bytes by flow, as in [`GroupRateBin`].
    bytes: CountersAtBinStart<3>,
    /// Marks and drops by group.
    signals: CountersAtBinStart<2>,
}

/// Counters of each flow or group.
#[derive(Default)]
struct CountersAtBinStart<const N: usize>(IndexVec<[u64; N]>);

impl<const N: usize> CountersAtBinStart<N> {
    /// Counts since the bin began; the next bin begins.
    fn begin_next_bin(&mut self, at: u32, counters: [u64; N]) -> [u64; N] {
        let before = std::mem::replace(self.0.get_or_add(at, || [0; N]), counters);
        std::array::from_fn(|kind| counters[kind].wrapping_sub(before[kind]))
    }

    /// The counters, with these values, are about to become zero.
    fn before_reset(&mut self, at: u32, counters: [u64; N]) {
        let before = self.0.get_or_add(at, || [0; N]);
        (0..N).for_each(|kind| before[kind] = before[kind].wrapping_sub(counters[kind]));
    }
}

impl<P: Probe> Simulation<P> {
    pub(super) fn start_run_timers(&mut self) {
        self.set_run_timer(MEASUREMENT_START_TIMER, self.options.measure_from);
        self.set_run_timer(RATE_BIN_TIMER, Time::ZERO + RATE_BIN_LENGTH);
        for (part, every) in
            [(QUEUE_SAMPLE_TIMER, self.probe.queue_sample_interval()), (WINDOW_SAMPLE_TIMER, self.probe.window_sample_interval())]
        {
            if every.is_some() {
                self.set_run_timer(part, Time::ZERO);
            }
        }
        if let Some(length) = self.probe_rate_bin_length() {
            self.set_run_timer(PROBE_RATE_BIN_TIMER, Time::ZERO + length);
        }
    }

    /// Length of the probe's bins of rates, if it is not that of every run.
    fn probe_rate_bin_length(&self) -> Option<Span> {
        self.probe.rate_bin().filter(|length| *length != RATE_BIN_LENGTH)
    }

    fn set_run_timer(&mut self, part: u32, due: Time) {
        self.calendar.set_deadline(self.run_timers[part as usize], self.now, due);
    }

    #[inline(never)]
    pub(super) fn on_run_timer(&mut self, clock: u32) {
        self.update_known_queues();
        match clock {
            RATE_BIN_TIMER => self.end_rate_bin(),
            MEASUREMENT_START_TIMER => self.begin_measured_interval(),
            QUEUE_SAMPLE_TIMER => self.sample_queues(),
            PROBE_RATE_BIN_TIMER => self.end_probe_rate_bin(),
            _ => self.sample_windows(),
        }
        if READS_FLOW_MEASURES.contains(&clock) {
            self.move_horizon();
        }
    }

    /// The next time at which a timer of the run reads the measures of flows.
    pub(super) fn next_read_of_flow_measures(&self) -> Option<Time> {
        READS_FLOW_MEASURES.iter().filter_map(|&timer| self.calendar.deadline_of(self.run_timers[timer as usize])).map(|(due, _)| due).min()
    }

    /// The time of the next sample of windows, if there are any.
    pub(super) fn next_window_sample(&self) -> Option<Time> {
        self.calendar.deadline_of(self.run_timers[WINDOW_SAMPLE_TIMER as usize]).map(|(due, _)| due)
    }

    pub(super) fn window_sample_component(&self) -> ComponentId {
        ComponentId::new(ComponentKind::RunTimer, WINDOW_SAMPLE_TIMER)
    }

    fn end_rate_bin(&mut self) {
        let start = self.now - RATE_BIN_LENGTH;
        let mut bins = vec![GroupRateBin::starting_at(start); self.groups.len()];
        let mut shares = [JainIndex::default(); 3];
        for flow in self.flows.iter_mut() {
            let bytes = flow.measures.end_bin();
            if flow.row_policy == RowPolicy::NotCounted {
                continue;
            }
            let bin = &mut bins[flow.group as usize];
            (0..3).for_each(|kind| bin.bytes[kind] += bytes[kind]);
            if flow.row_policy == RowPolicy::OwnRow {
                (0..3).for_each(|kind| shares[kind].add_share(bytes[kind] as f64));
            }
        }
        if start >= self.options.measure_from {
            self.fairness.add_bin_indices(shares.map(|jain| jain.value()));
        }
        let is_reported = self.probe_rate_bin_length().is_none();
        for (at, bin) in (0..).zip(&mut bins) {
            let GroupMeasures { marks, drops, .. } = &mut self.groups[at];
            if is_reported {
                (bin.marks, bin.drops) = (*marks, *drops);
                self.probe.on_rate_bin(self.now, at, bin);
            } else {
                self.rate_bin_start.signals.before_reset(at, [*marks, *drops]);
            }
            (*marks, *drops) = (0, 0);
        }
        self.set_run_timer(RATE_BIN_TIMER, self.now + RATE_BIN_LENGTH);
    }

    /// Ends a bin of the probe's own length.
    fn end_probe_rate_bin(&mut self) {
        let Some(length) = self.probe_rate_bin_length() else { return };
        let mut bins = vec![GroupRateBin::starting_at(self.now - length); self.groups.len()];
        for (at, flow) in (0..).zip(self.flows.iter()).filter(|(_, flow)| flow.row_policy != RowPolicy::NotCounted) {
            let bytes = self.rate_bin_start.bytes.begin_next_bin(at, flow.measures.bytes);
            (0..3).for_each(|kind| bins[flow.group as usize].bytes[kind] += bytes[kind]);
        }
        for (at, bin) in (0..).zip(&mut bins) {
            let GroupMeasures { marks, drops, .. } = self.groups[at];
            [bin.marks, bin.drops] = self.rate_bin_start.signals.begin_next_bin(at, [marks, drops]);
            self.probe.on_rate_bin(self.now, at, bin);
        }
        self.set_run_timer(PROBE_RATE_BIN_TIMER, self.now + length);
    }

    fn begin_measured_interval(&mut self) {
        self.probe.on_measurement_start(self.now);
        let has_own_rate_bin = self.probe_rate_bin_length().is_some();
        for (at, flow) in (0..).zip(self.flows.iter_mut()) {
            if has_own_rate_bin {
                self.rate_bin_start.bytes.before_reset(at, flow.measures.bytes);
            }
            flow.measures.reset(self.now, &flow.send_counters_of_all_connections());
        }
        for group in self.groups.iter_mut() {
            *group = GroupMeasures { marks: group.marks, drops: group.drops, ..GroupMeasures::default() };
        }
        for queue in self.queues.iter_mut() {
            queue.measures = QueueMeasures::new(self.now, queue.discipline.counters_by_band());
            if let Some(deliveries) = &mut queue.delivery_schedule {
                deliveries.begin_measuring();
            }
        }
        self.links.iter_mut().filter_map(|link| link.impairment.as_mut()).for_each(|impairment| impairment.begin_measuring());
    }

    fn sample_queues(&mut self) {
        let mut place = 0;
        for (at, queue) in (0..).zip(self.queues.iter()) {
            let (now, probe) = (self.now, &mut self.probe);
            probe.on_queue_sample(now, at, queue.discipline.len() as u32, queue.discipline.average_queue_length());
            for band in 0..self.queue_bands[at].len() as u8 {
                probe.on_band_sample(now, at, band, place, queue.discipline.band_len(band) as u32);
                place += 1;
            }
            queue.discipline.report_gauges(&mut |gauge, value| probe.on_gauge_sample(now, at, gauge, value));
        }
        if let Some(every) = self.probe.queue_sample_interval() {
            self.set_run_timer(QUEUE_SAMPLE_TIMER, self.now + every);
        }
    }

    fn sample_windows(&mut self) {
        for at in self.flows.numbers() {
            if self.flows[at].row_policy == RowPolicy::OwnRow
                && let Some((window, alpha)) = self.window_for_sample(at)
            {
                self.probe.on_window_sample(self.now, at, &window, alpha);
            }
        }
        let next = self.probe.window_sample_interval().map(|every| self.now + every);
        if let Some(next) = next {
            self.set_run_timer(WINDOW_SAMPLE_TIMER, next);
        }
        self.set_next_window_sample(next);
    }
}
