//! The simulation: takes the earliest deadline, wakes its component, until the time is up.
//!
//! A packet's way: a sender's segment becomes a [`Packet`](crate::packet::Packet) and enters the first link of its route
//! ([`Simulation::enter`]). A pipe computes its departure at once; a measured queue asks its AQM and starts its transmitter. At the far
//! end ([`Simulation::arrive`]) it enters the next link or reaches the sink, whose acknowledgement takes the route back.
//! What there is to send is said by the flow itself or by its application ([`apps`]).

mod apps;
mod build;
mod clock;
mod close;
mod deliver;
mod ends;
mod flow;
mod impair;
mod look;
mod outside;
mod outward;
mod path;
mod schedule;

use std::collections::BTreeMap;
use std::sync::Arc;

use ecnlab_transport::Segment;
use ecnlab_units::{Rate, Span, Time};

pub use self::look::QueueLook;

use self::apps::App;
use self::clock::{CLOCKS, only_looks};
use self::flow::Flow;
use self::outward::Outward;
use self::schedule::Scheduled;
use crate::component::{Component, ComponentKind};
use crate::deadlines::Deadlines;
use crate::link::{Link, Queue};
use crate::measures::{Completions, FairnessBins, Histogram, NetworkNames, Report};
use crate::network::MaxProcessingTime;
use crate::outside::Happened;
use crate::packet::Arena;
use crate::probe::Probe;

/// How long to run, over what to measure, and what to draw from.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub duration: Time,
    pub measure_from: Time,
    pub seed: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    pub report: Report,
    pub names: NetworkNames,
    /// A hash over the time and the component of every event that is not a mere look at the run: runs that are alike have the same.
    pub fingerprint: u64,
    pub events: u64,
    /// Data and acknowledgement packets that crossed a link, one for each link.
    pub packet_hops: u64,
}

/// A network in simulated time.
///
/// It goes on in slices ([`Simulation::advance`]) between which its owner may look at a clock, tell how far it is, or drop it; how it is
/// sliced changes nothing about the run. Links, flows and applications may be added between two slices.
pub struct Simulation<P> {
    now: Time,
    options: Options,
    deadlines: Deadlines,
    /// Places in the calendar of what the run does as a whole.
    clock: [u32; CLOCKS],
    packets: Arena,
    links: Vec<Link>,
    /// Rate and delay of each link, without the draw from its spread.
    declared: Vec<(Rate, Span)>,
    queues: Vec<Queue>,
    /// The links with impairments, each with the place of what it is called.
    impaired: Vec<(u32, u32)>,
    impaired_names: Vec<Arc<str>>,
    /// How links change while the run goes on.
    schedule: Vec<Scheduled>,
    processing_time: MaxProcessingTime,
    /// Flows of each group's member that were added, counted where there is a processing time, whose streams they name.
    members: BTreeMap<(u32, u32), u32>,
    flows: Vec<Flow>,
    /// The routes of all flows, each ended by `END`.
    hops: Vec<u32>,
    apps: Vec<App>,
    groups: Vec<GroupCounts>,
    group_names: Vec<Arc<str>>,
    queue_names: Vec<Arc<str>>,
    /// The names of each queue's bands, none where there is one band.
    queue_bands: Vec<&'static [&'static str]>,
    fairness: FairnessBins,
    /// Where a sender puts its segments; kept for its memory.
    outbox: Vec<Segment>,
    /// What hosts outside have not looked at yet.
    happened: Vec<Happened>,
    outward: Outward,
    fingerprint: u64,
    events: u64,
    probe: P,
}

/// What a group's flows have counted together.
#[derive(Default)]
struct GroupCounts {
    delay: Histogram<8>,
    transfers: Histogram<8>,
    completions: Completions,
    marks: u64,
    drops: u64,
}

/// The end of a route.
const END: u32 = u32::MAX;

impl<P: Probe> Simulation<P> {
    /// The simulated time: that of the last event, or what was advanced to.
    pub fn now(&self) -> Time {
        self.now
    }

    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// The probe, of which what it has gathered may be taken out.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Goes on until a time or the end of the run, or for so many events if that comes first. True if the time has been reached: all that
    /// happens at that time has then happened.
    pub fn advance(&mut self, until: Time, events: u64) -> bool {
        let until = until.min(self.options.duration);
        let mut left = events;
        while left > 0 {
            left -= 1;
            let Some((due, component)) = self.deadlines.pop_until(until) else {
                self.now = self.now.max(until);
                return true;
            };
            debug_assert!(due >= self.now);
            self.now = due;
            if !only_looks(component) {
                self.events += 1;
                self.fingerprint = (self.fingerprint ^ due.picos() ^ (u64::from(component.number()) << 32))
                    .wrapping_mul(0x9fb2_1c65_1e98_df25)
                    .rotate_left(23);
            }
            self.wake(component);
        }
        false
    }

    /// Goes on until a time or the end of the run.
    pub fn advance_to(&mut self, until: Time) {
        self.advance(until, u64::MAX);
    }

    /// Goes on to the end of the run; hands over what was measured, and the probe.
    ///
    /// # Panics
    /// If a packet was lost or made: arrived = departed + dropped + waiting at each queue, and sent + copied = received + lost + in flight for each
    /// flow.
    pub fn finish(mut self) -> (Run, P) {
        self.advance_to(self.options.duration);
        self.assert_conservation();
        self.close()
    }

    #[inline(always)]
    fn wake(&mut self, component: Component) {
        let index = component.index();
        match component.kind() {
            ComponentKind::Link => self.arrive(index),
            ComponentKind::Transmitter => self.transmitted(index),
            ComponentKind::Timer => self.time_out(index),
            ComponentKind::Sink => self.wake_sink(index),
            ComponentKind::Clock => self.tick(index),
            ComponentKind::App => self.wake_app(index),
            ComponentKind::QueueTimer => self.expire_queue(index),
            ComponentKind::Hold => self.release(index),
            ComponentKind::Schedule => self.change(index),
        }
    }
}
