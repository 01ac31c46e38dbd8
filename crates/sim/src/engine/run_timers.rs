//! Timers of the whole run: rate bins, the beginning of the measured interval, samples.

use ecnlab_queue::Discipline;
use ecnlab_units::{Span, Time};

use super::Simulation;
use crate::component::{ComponentId, ComponentKind};
use crate::measures::{CompletionsBySize, Histogram, JainIndex, QueueMeasures};
use crate::network::RowPolicy;
use crate::probe::{Probe, RateBin};

const RATE_BIN_LENGTH: Span = Span::from_secs(1);

/// Indices of the components that belong to the whole run.
const RATE_BIN_TIMER: u32 = 0;
const MEASUREMENT_START_TIMER: u32 = 1;
const QUEUE_SAMPLE_TIMER: u32 = 2;
const WINDOW_SAMPLE_TIMER: u32 = 3;
pub const RUN_TIMER_COUNT: usize = 4;

/// Whether an event only samples the run; the fingerprint leaves such events unhashed.
#[inline(always)]
pub fn is_sampling_only(component: ComponentId) -> bool {
    component.is_kind_with_index_in(ComponentKind::RunTimer, QUEUE_SAMPLE_TIMER..=WINDOW_SAMPLE_TIMER)
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
    }

    fn set_run_timer(&mut self, part: u32, due: Time) {
        self.calendar.set_deadline(self.run_timers[part as usize], self.now, due);
    }

    #[inline(never)]
    pub(super) fn on_run_timer(&mut self, clock: u32) {
        match clock {
            RATE_BIN_TIMER => self.end_rate_bin(),
            MEASUREMENT_START_TIMER => self.begin_measured_interval(),
            QUEUE_SAMPLE_TIMER => self.sample_queues(),
            _ => self.sample_windows(),
        }
    }

    fn end_rate_bin(&mut self) {
        let start = self.now - RATE_BIN_LENGTH;
        let mut bins = vec![RateBin::starting_at(start); self.groups.len()];
        let mut shares = [JainIndex::default(); 3];
        for flow in &mut self.flows {
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
            self.fairness.add_bin(shares.map(|jain| jain.value()));
        }
        for (at, bin) in bins.iter_mut().enumerate() {
            bin.marks = std::mem::take(&mut self.groups[at].marks);
            bin.drops = std::mem::take(&mut self.groups[at].drops);
            self.probe.on_rate_bin(self.now, at as u32, bin);
        }
        self.set_run_timer(RATE_BIN_TIMER, self.now + RATE_BIN_LENGTH);
    }

    fn begin_measured_interval(&mut self) {
        self.probe.on_measurement_start(self.now);
        for flow in &mut self.flows {
            flow.measures.reset(self.now, &flow.send_counters());
        }
        for group in &mut self.groups {
            group.delay = Histogram::default();
            group.transfers = Histogram::default();
            group.completions = CompletionsBySize::default();
        }
        for queue in &mut self.queues {
            queue.measures = QueueMeasures::new(self.now, queue.discipline.counters_by_band());
            if let Some(deliveries) = &mut queue.delivery_schedule {
                deliveries.begin_measuring();
            }
        }
        self.links.iter_mut().filter_map(|link| link.impairment.as_mut()).for_each(|impairment| impairment.begin_measuring());
    }

    fn sample_queues(&mut self) {
        let mut place = 0;
        for (at, queue) in self.queues.iter().enumerate() {
            let (now, probe) = (self.now, &mut self.probe);
            probe.on_queue_sample(now, at as u32, queue.discipline.len() as u32, queue.discipline.average_queue_length());
            for band in 0..self.queue_bands[at].len() as u8 {
                probe.on_band_sample(now, at as u32, band, place);
                place += 1;
            }
            queue.discipline.report_gauges(&mut |gauge, value| probe.on_gauge_sample(now, at as u32, gauge, value));
        }
        if let Some(every) = self.probe.queue_sample_interval() {
            self.set_run_timer(QUEUE_SAMPLE_TIMER, self.now + every);
        }
    }

    fn sample_windows(&mut self) {
        for (at, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.row_policy == RowPolicy::OwnRow) {
            if let Some(window) = flow.sender.window() {
                self.probe.on_window_sample(self.now, at as u32, window, flow.sender.dctcp_alpha());
            }
        }
        if let Some(every) = self.probe.window_sample_interval() {
            self.set_run_timer(WINDOW_SAMPLE_TIMER, self.now + every);
        }
    }
}
