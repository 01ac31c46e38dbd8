//! The simulation: pops the earliest deadline and runs the event of its component, until the end time.
//!
//! Path of a packet: a sender's segment becomes a [`Packet`](crate::packet::Packet) and enters the first link of its route
//! ([`Simulation::enter`]). A pipe computes its departure at once; a measured queue runs its AQM and starts its transmitter. At the far end
//! ([`Simulation::arrive`]) it enters the next link or reaches the sink, whose ACK takes the return route. Data to send come from the
//! flow's own traffic or its application ([`apps`]).

mod apps;
mod bursts;
mod endpoints;
mod external_hosts;
mod fast_path;
mod finish;
mod flow;
mod impairments;
mod link_changes;
mod lookahead;
mod path;
mod run_timers;
mod setup;
mod snapshot;
mod trace_driven_link;

use std::collections::BTreeMap;
use std::sync::Arc;

use ecnlab_transport::Segment;
use ecnlab_units::{Rate, Span, Time};

pub use self::snapshot::{AccurateEcnMarkCounts, QueueSnapshot};

use self::apps::App;
use self::fast_path::FastPath;
use self::flow::FlowState;
use self::link_changes::ScheduledLinkChange;
use self::lookahead::OutputLookahead;
use self::run_timers::{RUN_TIMER_COUNT, RateBinStart, is_sampling_only};
use crate::calendar_queue::CalendarQueue;
use crate::component::{ComponentId, ComponentKind};
use crate::external_hosts::SimOutput;
use crate::index_vec::IndexVec;
use crate::link::{Link, LinkQueue};
use crate::measures::{BinnedFairness, GroupMeasures, NetworkNames, Report};
use crate::network::{MaxProcessingTime, RowPolicy};
use crate::packet::PacketArena;
use crate::probe::Probe;

/// Duration, measured interval and seed of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunTimesAndSeed {
    pub duration: Time,
    pub measure_from: Time,
    pub seed: u64,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Run {
    pub report: Report,
    pub names: NetworkNames,
    /// Sum of hashes of the time and the component of every event except sampling; identical runs have the same fingerprint. A sum does not
    /// depend on the order in which the events are computed.
    pub fingerprint: u64,
    /// Events, those included that the fast path computed ahead.
    pub events: u64,
    /// Packets that reached their sinks, and those among them that reached them on the fast path.
    pub packets_received: u64,
    pub fast_path_packets: u64,
    /// Links crossed by data packets and ACKs, summed over the packets.
    pub packet_hops: u64,
}

impl Run {
    /// Share of the packets that reached their sinks on the fast path; `None` if none arrived.
    pub fn fast_path_share(&self) -> Option<f64> {
        (self.packets_received > 0).then(|| self.fast_path_packets as f64 / self.packets_received as f64)
    }
}

/// A network in simulated time.
///
/// It advances in slices ([`Simulation::advance_with_event_limit`]), between which its owner may read a clock, report progress, or drop it; the slicing does
/// not change the run. Links, flows and applications may be added between two slices.
pub struct Simulation<P> {
    now: Time,
    options: RunTimesAndSeed,
    calendar: CalendarQueue,
    /// Slots in the calendar queue of timers of the whole run.
    run_timers: [u32; RUN_TIMER_COUNT],
    packets: PacketArena,
    links: IndexVec<Link>,
    /// Rate and delay of each link, without the random delay spread.
    declared_links: IndexVec<(Rate, Span)>,
    queues: IndexVec<LinkQueue>,
    /// Links with impairments, each with the index of its label.
    impaired_links: Vec<(u32, u32)>,
    impaired_link_labels: Vec<Arc<str>>,
    /// Scheduled changes of links.
    link_changes: IndexVec<ScheduledLinkChange>,
    processing_time: MaxProcessingTime,
    /// Number of flows added for each group's member, counted only with a random processing time, whose streams it names.
    member_flow_counts: BTreeMap<(u32, u32), u32>,
    flows: IndexVec<FlowState>,
    /// The routes of all flows, each ended by `END_OF_ROUTE`.
    route_hops: IndexVec<u32>,
    apps: IndexVec<App>,
    groups: IndexVec<GroupMeasures>,
    group_names: IndexVec<Arc<str>>,
    queue_names: Vec<Arc<str>>,
    /// Names of each queue's bands, none if there is one band.
    queue_bands: IndexVec<&'static [&'static str]>,
    fairness: BinnedFairness,
    rate_bin_start: RateBinStart,
    /// Output buffer of senders; kept to reuse its memory.
    unsent_segments: Vec<Segment>,
    /// Outputs that the driver has not drained yet.
    outputs: Vec<SimOutput>,
    lookahead: OutputLookahead,
    fast_path: FastPath,
    fingerprint: u64,
    events: u64,
    probe: P,
}

impl GroupMeasures {
    /// Records the one-way delay of a packet in the rows to which its flow belongs.
    #[inline(always)]
    fn record_delay(&mut self, flow: &mut FlowState, delay: Span) {
        match flow.row_policy {
            RowPolicy::OwnRow => self.delay.record_with_coarser(&mut flow.measures.delay, delay),
            RowPolicy::GroupOnly => self.delay.record(delay),
            RowPolicy::NotCounted => {}
        }
    }
}

/// Marks the end of a route.
const END_OF_ROUTE: u32 = u32::MAX;

impl<P: Probe> Simulation<P> {
    /// The simulated time: that of the last event, or the last time advanced to.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The links of a route.
    fn links_of_route(&self, route: u32) -> &[u32] {
        let hops = self.route_hops.get(route as usize..).unwrap_or_default();
        &hops[..hops.iter().position(|&hop| hop == END_OF_ROUTE).expect("a route has an end")]
    }

    pub fn probe(&self) -> &P {
        &self.probe
    }

    /// The probe; its collected data may be moved out.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.probe
    }

    /// Advances to a time or the end of the run, or by so many events if that comes first. Returns whether the time has been reached: then
    /// all events of that time have happened.
    ///
    /// After a return of `false` flows may be ahead of the current time, up to `until` ([`fast_path`]). Links, flows and applications are added
    /// after a return of `true`.
    pub fn advance_with_event_limit(&mut self, until: Time, events: u64) -> bool {
        let until = until.min(self.options.duration);
        self.begin_slice(until);
        let mut left = events;
        while left > 0 {
            left -= 1;
            let Some((due, component)) = self.calendar.pop_until(until) else {
                self.now = self.now.max(until);
                self.update_known_queues_through(until);
                return true;
            };
            debug_assert!(due >= self.now);
            self.now = due;
            if !is_sampling_only(component) {
                self.count_and_hash_event(due, component);
            }
            self.dispatch(component);
        }
        self.update_known_queues();
        false
    }

    /// Counts an event and adds it to the fingerprint.
    #[inline(always)]
    fn count_and_hash_event(&mut self, due: Time, component: ComponentId) {
        self.events += 1;
        let mut hash = due.picos().wrapping_mul(0x9fb2_1c65_1e98_df25) ^ u64::from(component.as_u32()).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash = (hash ^ hash >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.fingerprint = self.fingerprint.wrapping_add(hash ^ hash >> 29);
    }

    /// Advances to a time or the end of the run.
    pub fn advance_to(&mut self, until: Time) {
        self.advance_with_event_limit(until, u64::MAX);
    }

    /// Advances to the end of the run; returns the measures and the probe.
    ///
    /// # Panics
    /// If conservation of packets is violated: arrived = departed + dropped + waiting at each queue, and sent + copied = received + lost +
    /// in flight for each flow.
    pub fn finish(mut self) -> (Run, P) {
        self.advance_to(self.options.duration);
        self.assert_conservation();
        self.into_run()
    }

    #[inline(always)]
    fn dispatch(&mut self, component: ComponentId) {
        let index = component.index();
        match component.kind() {
            ComponentKind::Link => self.on_link_arrival(index),
            ComponentKind::Transmitter => self.on_transmitter_ready(index),
            ComponentKind::FlowTimer => self.on_start_or_sender_timer(index),
            ComponentKind::SinkTimer => self.on_sink_timer(index),
            ComponentKind::RunTimer => self.on_run_timer(index),
            ComponentKind::App => self.on_app_timer(index),
            ComponentKind::QueueTimer => self.on_queue_timer(index),
            ComponentKind::DelayedPackets => self.on_delay_expired(index),
            ComponentKind::LinkChange => self.on_link_change(index),
        }
    }
}
