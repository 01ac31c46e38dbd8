//! Queues of a router: active queue management (AQM), the disciplines that hold it, and shapers.
//!
//! Nothing here knows whether packets are simulated. A queue is given real buffers or handles, the time, and a stream of random numbers; it
//! reads no clock, opens no socket and starts no thread. So the same code serves a simulator, a router in user space, and tests of either.
//!
//! - A **discipline** ([`Discipline`]) stores packets. It tells what it does to them, in order ([`Deed`]): stored, marked, dropped. Asked for
//!   the next packet it answers with one, with a time at which to ask again, or that it is empty ([`Take`]).
//! - An **AQM** ([`Aqm`]) decides. It sees a [`Glimpse`] of each packet and answers with a [`Wish`]; the discipline carries that out. It owns
//!   no packet, so it can neither lose one nor overfill a buffer.
//! - The **registry** ([`Registry`]) has all of them by name, with their parameters: bounds, defaults, units and sources.
//!
//! # A queue
//!
//! Whatever implements [`Frame`] can wait in a queue.
//!
//! ```
//! use ecnlab_queue::{Deed, Discipline, Frame, Inside, Limit, Queue, Registry, Take};
//! use ecnlab_units::{Ecn, Rate, Rng, Span, Time};
//!
//! struct Buffer {
//!     bytes: Vec<u8>,
//!     ecn: Ecn,
//! }
//!
//! impl Frame for Buffer {
//!     fn size(&self) -> u32 { self.bytes.len() as u32 }
//!     fn ecn(&self) -> Ecn { self.ecn }
//!     fn set_ecn(&mut self, ecn: Ecn) { self.ecn = ecn }
//!     fn flow(&self) -> u64 { 0 }
//!     fn rtt(&self) -> Span { Span::ZERO }
//! }
//!
//! # fn main() -> Result<(), String> {
//! let registry = Registry::builtin();
//! let aqm = registry.choose("ecn", &[("min_th", "2"), ("max_th", "6"), ("w_q", "1")])?;
//! let rate = Rate::from_bps(10_000_000).unwrap();
//! let mut queue: Queue<Buffer> = registry.compose("fifo", &[], Inside::Aqm { aqm, limit: Limit::Packets(10) })?.build(rate);
//!
//! let (now, mut rng) = (Time::ZERO, Rng::for_role(1, "port"));
//! let mut dropped = 0;
//! for _ in 0..12 {
//!     let packet = Buffer { bytes: vec![0; 1000], ecn: Ecn::Ect0 };
//!     queue.offer(packet, now, &mut rng, &mut |deed| dropped += u32::from(matches!(deed, Deed::Dropped(..))));
//! }
//! while let Take::Packet { frame, waited, .. } = queue.take(now, &mut rng, &mut |_| {}) {
//!     assert_eq!((1000, Span::ZERO), (frame.size(), waited));
//! }
//! assert_eq!((6, 6), (dropped, queue.total().departed.packets));
//! # Ok(())
//! # }
//! ```
//!
//! Whoever owns the queue wakes it when its [`deadline`](Discipline::deadline) has come, asks again at the time of a [`Take::Later`], and when
//! a packet has come while nothing is sent. `examples/router.rs` is such an owner with real packets.
//!
//! # An AQM of one's own
//!
//! ```
//! use ecnlab_queue::{Aqm, Arrival, Cause, Deed, Discipline, Fifo, Limit, Wish};
//! use ecnlab_units::Rng;
//!
//! /// Signals every packet that finds more than `most` packets waiting.
//! struct Step {
//!     most: u32,
//! }
//!
//! impl Aqm for Step {
//!     fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
//!         if arrival.backlog.packets > self.most { arrival.signal(true, Cause::Early) } else { Wish::Pass }
//!     }
//! }
//! # use ecnlab_queue::{Frame, conformance::Packet};
//! # use ecnlab_units::Time;
//! # let packets = vec![Packet::PLAIN; 4];
//!
//! let mut queue = Fifo::new(Box::new(Step { most: 2 }), Limit::Packets(100));
//! let mut rng = Rng::for_role(1, "step");
//! for packet in packets {
//!     queue.offer(packet, Time::ZERO, &mut rng, &mut |_| {});
//! }
//! assert_eq!(1, queue.total().marked_packets());
//! ```
//!
//! With an [`AqmEntry`](registry::AqmEntry) it has a name and parameters of its own, [`Registry::with`] puts it beside the built-in ones, and
//! [`conformance`] runs on it what is run on them.

pub mod aqm;
mod compose;
pub mod composition;
pub mod conformance;
pub mod discipline;
pub mod registry;

pub use aqm::{Aqm, Arrival, Backlog, Cause, Departure, Expiry, Fate, Glimpse, Needs, Target, Victim, Wish};
pub use composition::{AqmChoice, Composition, Inside};
pub use discipline::{ByCause, Counters, Deed, Discipline, DualPi2, Fifo, FlowQueues, Frame, KernelQueue, Limit, Outside, Queue, Take};
pub use registry::Registry;
