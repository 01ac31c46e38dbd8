//! What happens at its own time for the run as a whole: bins, the beginning of the measured interval, samples.

use ecnlab_queue::Discipline;
use ecnlab_units::{Span, Time};

use super::Simulation;
use crate::component::{Component, ComponentKind};
use crate::measures::{Completions, Histogram, Jain, QueueMeasures};
use crate::network::Counted;
use crate::probe::{Bin, Probe};

const SECOND: Span = Span::from_secs(1);

/// The components that belong to the run as a whole.
const BIN: u32 = 0;
const MEASURE: u32 = 1;
const SAMPLE_QUEUES: u32 = 2;
const SAMPLE_WINDOWS: u32 = 3;
pub const CLOCKS: usize = 4;

/// Whether an event only looks at the run: it is no part of what the fingerprint says.
#[inline(always)]
pub fn only_looks(component: Component) -> bool {
    component.is_of(ComponentKind::Clock, SAMPLE_QUEUES..=SAMPLE_WINDOWS)
}

impl<P: Probe> Simulation<P> {
    pub(super) fn open_clock(&mut self) {
        self.set_clock(MEASURE, self.options.measure_from);
        self.set_clock(BIN, Time::ZERO + SECOND);
        for (part, every) in [(SAMPLE_QUEUES, self.probe.queue_interval()), (SAMPLE_WINDOWS, self.probe.window_interval())] {
            if every.is_some() {
                self.set_clock(part, Time::ZERO);
            }
        }
    }

    fn set_clock(&mut self, part: u32, due: Time) {
        self.deadlines.set(self.clock[part as usize], self.now, due);
    }

    #[inline(never)]
    pub(super) fn tick(&mut self, clock: u32) {
        match clock {
            BIN => self.end_bin(),
            MEASURE => self.begin_measuring(),
            SAMPLE_QUEUES => self.sample_queues(),
            _ => self.sample_windows(),
        }
    }

    fn end_bin(&mut self) {
        let start = self.now - SECOND;
        let mut bins = vec![Bin::at(start); self.groups.len()];
        let mut shares = [Jain::default(); 3];
        for flow in &mut self.flows {
            let bytes = flow.measures.end_bin();
            if flow.counted == Counted::Nowhere {
                continue;
            }
            let bin = &mut bins[flow.group as usize];
            bin.throughput += bytes[0];
            bin.goodput += bytes[1];
            bin.goodput_first += bytes[2];
            if flow.counted == Counted::AsFlow {
                (0..3).for_each(|kind| shares[kind].add(bytes[kind] as f64));
            }
        }
        if start >= self.options.measure_from {
            self.fairness.add(shares.map(|jain| jain.index()));
        }
        for (at, bin) in bins.iter_mut().enumerate() {
            bin.marks = std::mem::take(&mut self.groups[at].marks);
            bin.drops = std::mem::take(&mut self.groups[at].drops);
            self.probe.rates(self.now, at as u32, bin);
        }
        self.set_clock(BIN, self.now + SECOND);
    }

    fn begin_measuring(&mut self) {
        self.probe.measuring_begins(self.now);
        for flow in &mut self.flows {
            flow.measures.reset(self.now, &flow.counters());
        }
        for group in &mut self.groups {
            group.delay = Histogram::default();
            group.transfers = Histogram::default();
            group.completions = Completions::default();
        }
        for queue in &mut self.queues {
            queue.measures = QueueMeasures::new(self.now, queue.discipline.counters_by_band());
            if let Some(deliveries) = &mut queue.deliveries {
                deliveries.begin_measuring();
            }
        }
        self.links.iter_mut().filter_map(|link| link.impairment.as_mut()).for_each(|impairment| impairment.begin_measuring());
    }

    fn sample_queues(&mut self) {
        let mut place = 0;
        for (at, queue) in self.queues.iter().enumerate() {
            let (now, probe) = (self.now, &mut self.probe);
            probe.queue_sample(now, at as u32, queue.discipline.len() as u32, queue.discipline.average());
            for band in 0..self.queue_bands[at].len() as u8 {
                probe.band_sample(now, at as u32, band, place);
                place += 1;
            }
            queue.discipline.gauges(&mut |gauge, value| probe.gauge_sample(now, at as u32, gauge, value));
        }
        if let Some(every) = self.probe.queue_interval() {
            self.set_clock(SAMPLE_QUEUES, self.now + every);
        }
    }

    fn sample_windows(&mut self) {
        for (at, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.counted == Counted::AsFlow) {
            if let Some(window) = flow.sender.window() {
                self.probe.window_sample(self.now, at as u32, window, flow.sender.alpha());
            }
        }
        if let Some(every) = self.probe.window_interval() {
            self.set_clock(SAMPLE_WINDOWS, self.now + every);
        }
    }
}
