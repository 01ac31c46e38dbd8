//! The run: takes the earliest deadline, wakes its component, until the time is up.
//!
//! A packet's way: a sender's segment becomes a [`Packet`] and enters the first link of its route ([`Engine::enter`]). A pipe
//! computes its departure at once; a measured queue asks its AQM and starts its transmitter. At the far end
//! ([`Engine::arrive`]) it enters the next link or reaches the sink, whose acknowledgement takes the route back.

mod clock;
mod close;
mod ends;
mod flow;
mod path;

use ecnlab_queue::Fifo;
use ecnlab_transport::Segment;
use ecnlab_units::{Rng, Span, Time};

use self::clock::CLOCKS;
use self::flow::{Agenda, Flow};
use crate::deadlines::Deadlines;
use crate::link::{Link, Queue};
use crate::measures::{FairnessBins, Histogram, QueueMeasures, Report};
use crate::network::{Buffer, Network};
use crate::packet::{Arena, NONE};
use crate::probe::Probe;
use crate::treatment::Path;

/// Events between two looks at whether to stop.
const LOOK_EVERY: u64 = 1 << 16;

/// How long to run and what to sample.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub duration: Time,
    pub measure_from: Time,
    pub seed: u64,
    /// Interval of [`Probe::queue_sample`].
    pub sample_queues: Option<Span>,
    /// Interval of [`Probe::window_sample`].
    pub sample_windows: Option<Span>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    pub report: Report,
    /// A hash over every event's time and component.
    pub fingerprint: u64,
    pub events: u64,
    /// Data and acknowledgement packets that crossed a link, one for each link.
    pub packet_hops: u64,
}

/// The run was stopped from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Runs a network. `stop` is asked from time to time whether to give up, and told how far the run is.
///
/// # Panics
/// If a packet is lost or made: arrived = departed + dropped + waiting at each queue, and sent = received + lost + in flight for each flow.
pub fn run<P: Probe>(network: &Network, options: &Options, probe: &mut P, stop: &mut dyn FnMut(Time) -> bool) -> Result<Run, Stopped> {
    let mut engine = Engine::new(network, options, probe);
    engine.open();
    engine.work(stop)?;
    engine.assert_conservation();
    Ok(engine.close())
}

struct Engine<'a, P> {
    now: Time,
    options: Options,
    deadlines: Deadlines,
    parts: Parts,
    packets: Arena,
    links: Vec<Link>,
    queues: Vec<Queue>,
    flows: Vec<Flow>,
    /// The routes of all flows, each ended by `SINK` or `SOURCE`.
    hops: Vec<u32>,
    /// Sources that act over time.
    agendas: Vec<Agenda>,
    groups: Vec<Group>,
    fairness: FairnessBins,
    scratch: Vec<Segment>,
    fingerprint: u64,
    events: u64,
    probe: &'a mut P,
}

#[derive(Default)]
struct Group {
    delay: Histogram<8>,
    transfers: Histogram<8>,
    marks: u64,
    drops: u64,
}

/// Which component numbers belong to what.
#[derive(Clone, Copy)]
struct Parts {
    transmitters: u32,
    timers: u32,
    receivers: u32,
    clock: u32,
}

impl Parts {
    /// The first number behind the clock's: sources that act over time.
    fn agendas(&self) -> u32 {
        self.clock + CLOCKS
    }
}

/// Ends of routes.
const SINK: u32 = u32::MAX;
const SOURCE: u32 = u32::MAX - 1;

impl<'a, P: Probe> Engine<'a, P> {
    fn new(network: &Network, options: &Options, probe: &'a mut P) -> Engine<'a, P> {
        let mut queues = Vec::new();
        let links: Vec<Link> = network
            .links
            .iter()
            .enumerate()
            .map(|(at, spec)| {
                let (limit, queue) = match &spec.buffer {
                    Buffer::Pipe { limit } => (*limit, NONE),
                    Buffer::Queue(queue) => {
                        queues.push(Queue {
                            fifo: Fifo::new((queue.aqm.make)(&queue.values, spec.rate), queue.limit),
                            rng: Rng::for_role(options.seed, &format!("queue {}", queue.name)),
                            link: at as u32,
                            transmitting: false,
                            measures: QueueMeasures::new(Time::ZERO, Default::default()),
                        });
                        (0, queues.len() as u32 - 1)
                    }
                };
                let path = spec
                    .treatment
                    .as_deref()
                    .map(|treatment| Box::new(Path::new(treatment.clone(), Rng::for_role(options.seed, &format!("loss {at}")))));
                let spread = if spec.spread == Span::ZERO {
                    0
                } else {
                    Rng::for_role(options.seed, &format!("spread {at}")).below(spec.spread.picos() + 1)
                };
                Link::new(spec.rate, spec.delay + Span::from_picos(spread), limit, queue, path)
            })
            .collect();
        let mut hops = Vec::with_capacity(network.flows.iter().map(|flow| flow.forward.len() + flow.back.len() + 2).sum());
        let mut flows: Vec<Flow> =
            network.flows.iter().enumerate().map(|(at, _)| Flow::new(network, at, options.seed, &mut hops)).collect();
        let (link_count, queue_count, flow_count) = (links.len() as u32, queues.len() as u32, flows.len() as u32);
        let timers = link_count + queue_count;
        let clock = timers + 2 * flow_count;
        let parts = Parts { transmitters: link_count, timers, receivers: timers + flow_count, clock };
        let agendas = agendas(network, &mut flows, options.seed);
        Engine {
            now: Time::ZERO,
            options: *options,
            deadlines: Deadlines::new(parts.agendas() as usize + agendas.len()),
            parts,
            packets: Arena::new(),
            links,
            queues,
            flows,
            hops,
            agendas,
            groups: (0..network.groups).map(|_| Group::default()).collect(),
            fairness: FairnessBins::default(),
            scratch: Vec::new(),
            fingerprint: options.seed,
            events: 0,
            probe,
        }
    }

    /// Sets the first deadlines.
    fn open(&mut self) {
        self.open_clock();
        for flow in 0..self.flows.len() as u32 {
            self.deadlines.set(self.parts.timers + flow, self.now, self.flows[flow as usize].start);
        }
    }

    fn work(&mut self, stop: &mut dyn FnMut(Time) -> bool) -> Result<(), Stopped> {
        while let Some((due, component)) = self.deadlines.pop() {
            if due > self.options.duration {
                break;
            }
            debug_assert!(due >= self.now);
            self.now = due;
            self.events += 1;
            self.fingerprint =
                (self.fingerprint ^ due.picos() ^ (u64::from(component) << 40)).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(23);
            self.wake(component);
            if self.events % LOOK_EVERY == 0 && stop(self.now) {
                return Err(Stopped);
            }
        }
        self.now = self.options.duration;
        Ok(())
    }

    #[inline(always)]
    fn wake(&mut self, component: u32) {
        let Parts { transmitters, timers, receivers, clock } = self.parts;
        if component < transmitters {
            self.arrive(component);
        } else if component < timers {
            self.transmitted(component - transmitters);
        } else if component < receivers {
            self.time_out(component - timers);
        } else if component < clock {
            self.wake_receiver(component - receivers);
        } else if component < clock + CLOCKS {
            self.tick(component - clock);
        } else {
            self.begin_transfer(component - clock - CLOCKS);
        }
    }
}

/// The sources that act over time, each with its own random stream.
fn agendas(network: &Network, flows: &mut [Flow], seed: u64) -> Vec<Agenda> {
    let mut agendas = Vec::new();
    for (at, (spec, flow)) in network.flows.iter().zip(flows).enumerate() {
        if let Some(source) = spec.traffic.source(|| Rng::for_role(seed, &format!("source {at}"))) {
            flow.agenda = agendas.len() as u32;
            agendas.push(Agenda { flow: at as u32, source, next: None });
        }
    }
    agendas
}
