//! Transports without input or output: senders and receivers that are told what happened and answer with segments.
//!
//! A TCP sender is put together from parts that do not know each other: the congestion window (`window`), loss
//! recovery (`recovery`), the response to congestion signals (`response`) and the retransmission timer (`rtt`).
//! `tcb` holds the sequence space and all that recovery works on, `sender` asks the parts in turn, and `profile` bundles their parameters.
//! `processing` is the random time that a sender's host may need. `datagram` sends without any of it, `outside` is what is known of a host that sends by itself; `endpoint` is what the engine asks of each of
//! them, and `application` says what there is to send.

pub mod application;
pub mod clock;
pub mod datagram;
pub mod endpoint;
pub mod outside;
pub mod plan;
pub mod processing;
pub mod profile;
pub mod receiver;
pub mod recovery;
pub mod response;
pub mod rtt;
pub mod segment;
pub mod sender;
pub mod settings;
pub mod tcb;
mod timer;
pub mod window;

pub use application::{Demand, Traffic};
pub use clock::HostClock;
pub use endpoint::{Endpoint, Sink, Transport};
pub use outside::OutsideSender;
pub use plan::Plan;
pub use processing::ProcessingTime;
pub use receiver::Receiver;
pub use segment::{Ack, Role, Sacks, Segment};
pub use sender::Sender;
pub use settings::{Handshake, Settings};
pub use tcb::{Output, SendCounters};
pub use window::Window;
