//! Shared helpers for tests of networks: links, options and runs.

pub mod scripted_app;

use ecnlab_queue::AqmEntry;
use ecnlab_queue::{Limit, QueueConfig};
use ecnlab_sim::{Direction, LinkName, LinkSpec, Network, NoProbe, PipeOrQueue, Probe, QueueSpec, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::{Rate, Span, Time, Values};

pub fn pipe(kbps: u64, delay_us: u64, limit: u32) -> LinkSpec {
    let rate = Rate::from_bps(kbps * 1000).unwrap();
    let name = LinkName::shared("pipe", Direction::Forward);
    LinkSpec {
        name,
        rate,
        delay: Span::from_micros(delay_us),
        buffer: PipeOrQueue::Pipe { limit },
        delay_spread: Span::ZERO,
        impairment: None,
        private_params: None,
    }
}

pub fn queue_link(kbps: u64, delay_us: u64, name: &str, aqm: &'static AqmEntry, values: Values, limit: Limit) -> LinkSpec {
    let buffer = PipeOrQueue::Queue(Box::new(QueueSpec::new(name, QueueConfig::fifo(aqm, values, limit))));
    LinkSpec { name: LinkName::shared(name, Direction::Forward), buffer, ..pipe(kbps, delay_us, 0) }
}

pub fn options(seconds: u64, seed: u64) -> RunTimesAndSeed {
    let duration = Time::ZERO + Span::from_secs(seconds);
    RunTimesAndSeed { duration, measure_from: Time::ZERO, seed }
}

pub fn run_with<P: Probe>(network: &Network, options: &RunTimesAndSeed, probe: P) -> (Run, P) {
    Simulation::new(network, options, probe).finish()
}

pub fn run_off(network: &Network, options: &RunTimesAndSeed) -> Run {
    run_with(network, options, NoProbe).0
}
