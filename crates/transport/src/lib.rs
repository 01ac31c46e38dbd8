//! Transport protocols without input or output: senders and receivers take events and return segments.
//!
//! A TCP sender consists of independent parts: congestion control ([`congestion`]), loss recovery ([`recovery`]), the response to ECN
//! ([`ecn_response`]) and the RTO estimator ([`rtt`]). [`tcb`] holds the sequence space and the state that recovery uses, [`sender`] calls the
//! parts in order, and [`profile`] bundles their parameters. [`processing`] is a host's random processing time. [`datagram`] is UDP,
//! [`external`] a host outside of the engine, and [`endpoint`] the engine's interface to all of them. [`application`] generates the data to
//! send.
//!
//! # A transfer
//!
//! A sender and a receiver of Linux's profile with ECN, and a link of the crate `ecnlab-queue` with CoDel between them. The caller owns the
//! clock: each call gets the time, and the next event is the earliest of all deadlines.
//!
//! ```
//! use std::collections::VecDeque;
//! use std::sync::Arc;
//!
//! use ecnlab_queue::{Child, Datagram, Limit, Registry, VirtualLink};
//! use ecnlab_transport::{Ack, AppWrite, HostClock, Receiver, Segment, Sender, TcpSettings, profile};
//! use ecnlab_units::{Rate, Rng, Span, Time};
//!
//! # fn main() -> Result<(), String> {
//! let settings = Arc::new(TcpSettings { ecn: true, ..profile::tcp_settings_of("linux") });
//! let clock = HostClock::new(&settings, Span::ZERO);
//! let mut sender = Sender::new(settings.clone(), &AppWrite::keep_open(5_000_000), clock);
//! let mut receiver = Receiver::new(&settings, clock);
//!
//! let registry = Registry::builtin();
//! let codel = Child::Aqm { aqm: registry.aqm_config("codel", &[])?, limit: Limit::Packets(1000) };
//! let (rate, delay) = (Rate::from_bps(10_000_000).unwrap(), Span::from_millis(20));
//! let mut link = VirtualLink::new(&registry.queue_config("fifo", &[], codel)?, rate, delay, Rng::for_role(1, "link"));
//! let mut acks: VecDeque<(Time, Ack)> = VecDeque::new();
//!
//! let (mut now, mut outbox) = (Time::ZERO, Vec::new());
//! sender.start(now, &mut outbox);
//! while !sender.is_done() {
//!     for segment in outbox.drain(..) {
//!         link.enqueue(now, Datagram { payload: (now, segment), size: segment.size, ecn: segment.ecn, flow: 1 });
//!     }
//!     let deadlines = [link.next_event(), acks.front().map(|ack| ack.0), sender.deadline(), receiver.deadline()];
//!     now = deadlines.into_iter().flatten().min().expect("a transfer goes on until its end");
//!     while let Some((_, Datagram { payload: (sent, segment), ecn, .. })) = link.poll(now) {
//!         let outcome = receiver.receive(&Segment { ecn, ..segment }, sent, now);
//!         acks.extend(outcome.earlier_ack.map(|ack| *ack).into_iter().chain(outcome.ack).map(|ack| (now + delay, ack)));
//!     }
//!     acks.extend(receiver.on_timer(now).map(|ack| (now + delay, ack)));
//!     while acks.front().is_some_and(|ack| ack.0 <= now) {
//!         sender.on_ack(&acks.pop_front().unwrap().1, now, &mut outbox);
//!     }
//!     if sender.deadline().is_some_and(|due| due <= now) {
//!         sender.on_timer(now, &mut outbox);
//!     }
//! }
//! let counters = link.counters();
//! assert!(counters.marked_packets() > 0 && sender.counters().ecn_reactions > 0);
//! assert_eq!((0, 0), (counters.dropped_packets(), sender.counters().retransmitted_fast));
//! # Ok(())
//! # }
//! ```

pub mod accurate_ecn;
pub mod application;
pub mod checked;
pub mod clock;
pub mod congestion;
pub mod datagram;
pub mod ecn_response;
pub mod endpoint;
pub mod external;
mod memory;
pub mod processing;
pub mod profile;
pub mod receiver;
pub mod recovery;
pub mod rtt;
pub mod segment;
pub mod send_buffer;
pub mod sender;
pub mod settings;
pub mod tcb;
mod timer;

pub use application::{AppWrite, Traffic};
pub use clock::HostClock;
pub use congestion::CongestionWindow;
pub use endpoint::{ReceiverEndpoint, SenderEndpoint, Transport};
pub use external::ExternalSender;
pub use processing::ProcessingTime;
pub use receiver::{AccurateReceiver, Receiver};
pub use segment::{AccEcnOption, Ack, SackOption, Segment, SegmentType};
pub use send_buffer::SendBuffer;
pub use sender::Sender;
pub use settings::{Handshake, NegotiatedEcn, Quirks, TcpSettings};
pub use tcb::{ReverseAccurateStart, SendCounters, SenderOutput};
