//! Queues of a router: active queue management (AQM), the disciplines that hold it, and shapers.
//!
//! Nothing here knows whether packets are simulated. A queue is given real buffers or handles, the time, and a stream of random numbers; it
//! reads no clock, opens no socket and starts no thread. So the same code serves a simulator, a router in user space, and tests of either.
//!
//! - A **discipline** ([`Discipline`]) stores packets. It emits an event for each action, in order ([`QueueEvent`]): stored, marked,
//!   dropped. A dequeue returns a packet, a time at which to retry, or that the queue is empty ([`DequeueOutcome`]).
//! - An **AQM** ([`Aqm`]) decides. It gets a [`PacketInfo`] of each packet and returns an [`EnqueueVerdict`], which the discipline applies.
//!   It owns no packet, so it can neither lose one nor overfill a buffer.
//! - The **registry** ([`Registry`]) has all of them by name, with their parameters: bounds, defaults, units and sources.
//!
//! # A queue
//!
//! Any type that implements [`QueueItem`] can be queued.
//!
//! ```
//! use ecnlab_queue::{QueueEvent, Discipline, QueueItem, Child, Limit, Queue, Registry, DequeueOutcome};
//! use ecnlab_units::{Ecn, Rate, Rng, Span, Time};
//!
//! struct Buffer {
//!     bytes: Vec<u8>,
//!     ecn: Ecn,
//! }
//!
//! impl QueueItem for Buffer {
//!     fn size(&self) -> u32 { self.bytes.len() as u32 }
//!     fn ecn(&self) -> Ecn { self.ecn }
//!     fn set_ecn(&mut self, ecn: Ecn) { self.ecn = ecn }
//!     fn flow_key(&self) -> u64 { 0 }
//!     fn rtt(&self) -> Span { Span::ZERO }
//! }
//!
//! # fn main() -> Result<(), String> {
//! let registry = Registry::builtin();
//! let aqm = registry.aqm_config("ecn", &[("min_th", "2"), ("max_th", "6"), ("w_q", "1")])?;
//! let rate = Rate::from_bps(10_000_000).unwrap();
//! let mut queue: Queue<Buffer> = registry.queue_config("fifo", &[], Child::Aqm { aqm, limit: Limit::Packets(10) })?.build(rate);
//!
//! let (now, mut rng) = (Time::ZERO, Rng::for_role(1, "port"));
//! let mut dropped = 0;
//! for _ in 0..12 {
//!     let packet = Buffer { bytes: vec![0; 1000], ecn: Ecn::Ect0 };
//!     queue.enqueue(packet, now, &mut rng, &mut |event| dropped += u32::from(matches!(event, QueueEvent::Dropped(..))));
//! }
//! while let DequeueOutcome::Packet { packet, sojourn, .. } = queue.dequeue(now, &mut rng, &mut |_| {}) {
//!     assert_eq!((1000, Span::ZERO), (packet.size(), sojourn));
//! }
//! assert_eq!((6, 6), (dropped, queue.total_counters().departed.packets));
//! # Ok(())
//! # }
//! ```
//!
//! The owner of a queue calls [`on_timer`](Discipline::on_timer) at the time of [`next_timer`](Discipline::next_timer). It dequeues again
//! at the time of a [`DequeueOutcome::RetryAt`], and when a packet has come while nothing is sent. `examples/router.rs` is such an owner
//! with real packets.
//!
//! # A custom AQM
//!
//! ```
//! use ecnlab_queue::{Aqm, Arrival, SignalCause, QueueEvent, Discipline, Fifo, Limit, EnqueueVerdict};
//! use ecnlab_units::Rng;
//!
//! /// Signals every packet that finds more than `most` packets waiting.
//! struct Step {
//!     most: u32,
//! }
//!
//! impl Aqm for Step {
//!     fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
//!         if arrival.backlog.packets > self.most { arrival.mark_or_drop(true, SignalCause::Early) } else { EnqueueVerdict::Pass }
//!     }
//! }
//! # use ecnlab_testkit::Packet;
//! # use ecnlab_units::Time;
//! # let packets = vec![Packet::ECT0_1000_BYTES; 4];
//!
//! let mut queue = Fifo::new(Box::new(Step { most: 2 }), Limit::Packets(100));
//! let mut rng = Rng::for_role(1, "step");
//! for packet in packets {
//!     queue.enqueue(packet, Time::ZERO, &mut rng, &mut |_| {});
//! }
//! assert_eq!(1, queue.total_counters().marked_packets());
//! ```
//!
//! An [`AqmEntry`] gives it a name and parameters, [`Registry::with_aqm`] adds it to the built-in ones, and the crate `ecnlab-testkit`
//! checks it by the invariants of the built-in ones.

pub mod aqm;
mod bursts;
pub mod config;
pub mod discipline;
mod from_text;
mod limit;
pub mod registry;
pub mod user_aqm;
pub mod virtual_link;

pub use aqm::entry::{AqmEntry, Contradictions, Gauge, LinkParams, MakeAqm};
pub use aqm::{
    AVERAGE_GAUGE_NAME, Aqm, AqmRequirements, Arrival, Backlog, Departure, DequeueVerdict, DropTarget, EnqueueVerdict, GaugeReport,
    MarkTarget, PacketInfo, SignalCause, TimerContext,
};
pub use bursts::{BurstSchedule, Bursts};
pub use config::{AqmConfig, Child, QueueConfig};
pub use discipline::entry::{ChildKind, DisciplineEntry, DisciplineKind};
pub use discipline::{
    CountsByCause, DequeueOutcome, Discipline, DualPi2, Fifo, FlowQueues, KernelQdisc, KernelQueueMirror, Queue, QueueCounters, QueueEvent,
    QueueItem,
};
pub use limit::Limit;
pub use registry::Registry;
pub use virtual_link::{Datagram, VirtualLink};
