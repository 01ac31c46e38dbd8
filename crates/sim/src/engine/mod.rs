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

use self::clock::{CLOCKS, only_looks};
use self::flow::{Agenda, Flow};
use crate::component::{Component, Kind};
use crate::deadlines::Deadlines;
use crate::impairment::Impairment;
use crate::link::{Link, Queue};
use crate::measures::{FairnessBins, Histogram, QueueMeasures, Report};
use crate::network::{Buffer, Network};
use crate::packet::{Arena, NONE};
use crate::probe::Probe;

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
    /// A hash over the time and the component of every event that is not a mere look at the run: runs that are alike have the same.
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
    /// Places in the calendar of what the run does as a whole.
    clock: [u32; CLOCKS],
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

/// Ends of routes.
const SINK: u32 = u32::MAX;
const SOURCE: u32 = u32::MAX - 1;

impl<'a, P: Probe> Engine<'a, P> {
    fn new(network: &Network, options: &Options, probe: &'a mut P) -> Engine<'a, P> {
        let mut deadlines = Deadlines::new(network.links.len() + 3 * network.flows.len());
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
                            deadline: deadlines.add(Component::new(Kind::Transmitter, queues.len())),
                            transmitting: false,
                            measures: QueueMeasures::new(Time::ZERO, Default::default()),
                        });
                        (0, queues.len() as u32 - 1)
                    }
                };
                let stream = |role: &str| Rng::for_role(options.seed, &format!("{role} {}", spec.name));
                let impairment = spec.impairment.as_deref().map(|spec| Box::new(Impairment::new(spec.clone(), stream("loss"))));
                let spread = if spec.spread == Span::ZERO { 0 } else { stream("spread").below(spec.spread.picos() + 1) };
                let deadline = deadlines.add(Component::new(Kind::Link, at));
                Link::new(spec.rate, spec.delay + Span::from_picos(spread), limit, queue, impairment, deadline)
            })
            .collect();
        let mut hops = Vec::with_capacity(network.flows.iter().map(|flow| flow.forward.len() + flow.back.len() + 2).sum());
        let mut flows: Vec<Flow> =
            network.flows.iter().enumerate().map(|(at, _)| Flow::new(network, at, options.seed, &mut hops)).collect();
        for (at, flow) in flows.iter_mut().enumerate() {
            flow.timer = deadlines.add(Component::new(Kind::Timer, at));
            flow.receiver_deadline = deadlines.add(Component::new(Kind::Receiver, at));
        }
        let agendas = agendas(network, &mut flows, options.seed, &mut deadlines);
        Engine {
            now: Time::ZERO,
            options: *options,
            clock: std::array::from_fn(|part| deadlines.add(Component::new(Kind::Clock, part))),
            deadlines,
            packets: Arena::new(),
            links,
            queues,
            flows,
            hops,
            agendas,
            groups: network.groups.iter().map(|_| Group::default()).collect(),
            fairness: FairnessBins::default(),
            scratch: Vec::new(),
            fingerprint: 0,
            events: 0,
            probe,
        }
    }

    /// Sets the first deadlines.
    fn open(&mut self) {
        self.open_clock();
        for flow in &self.flows {
            self.deadlines.set(flow.timer, self.now, flow.start);
        }
    }

    fn work(&mut self, stop: &mut dyn FnMut(Time) -> bool) -> Result<(), Stopped> {
        while let Some((due, component)) = self.deadlines.pop() {
            if due > self.options.duration {
                break;
            }
            debug_assert!(due >= self.now);
            self.now = due;
            if !only_looks(component) {
                self.events += 1;
                self.fingerprint = (self.fingerprint ^ due.picos() ^ (u64::from(component.number()) << 32))
                    .wrapping_mul(0x9fb2_1c65_1e98_df25)
                    .rotate_left(23);
            }
            self.wake(component);
            if self.events % LOOK_EVERY == 0 && stop(self.now) {
                return Err(Stopped);
            }
        }
        self.now = self.options.duration;
        Ok(())
    }

    #[inline(always)]
    fn wake(&mut self, component: Component) {
        let index = component.index();
        match component.kind() {
            Kind::Link => self.arrive(index),
            Kind::Transmitter => self.transmitted(index),
            Kind::Timer => self.time_out(index),
            Kind::Receiver => self.wake_receiver(index),
            Kind::Clock => self.tick(index),
            Kind::Source => self.begin_transfer(index),
        }
    }
}

/// The sources that act over time, each with its own random stream.
fn agendas(network: &Network, flows: &mut [Flow], seed: u64, deadlines: &mut Deadlines) -> Vec<Agenda> {
    let mut agendas = Vec::new();
    for (at, (spec, flow)) in network.flows.iter().zip(flows).enumerate() {
        if let Some(source) = spec.traffic.source(|| Rng::for_role(seed, &network.flow_role("source", spec))) {
            flow.agenda = agendas.len() as u32;
            let deadline = deadlines.add(Component::new(Kind::Source, agendas.len()));
            agendas.push(Agenda { flow: at as u32, deadline, source, next: None });
        }
    }
    agendas
}
