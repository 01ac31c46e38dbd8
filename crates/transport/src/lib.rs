//! Transports without input or output: senders and receivers take events and return segments.
//!
//! A TCP sender is put together from parts that do not know each other: congestion control (`congestion`), loss
//! recovery (`recovery`), the response to ECN (`ecn_response`) and the retransmission timer (`rtt`).
//! `tcb` holds the sequence space and all that recovery works on, `sender` asks the parts in turn, and `profile` bundles their parameters.
//! `processing` is the random time that a sender's host may need. `datagram` sends without any of it, `external` is what is known of a host that sends by itself; `endpoint` is what the engine asks of each of
//! them, and `application` says what there is to send.

pub mod application;
pub mod checked;
pub mod clock;
pub mod congestion;
pub mod datagram;
pub mod ecn_response;
pub mod endpoint;
pub mod external;
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
pub use receiver::Receiver;
pub use segment::{Ack, SackOption, Segment, SegmentType};
pub use send_buffer::SendBuffer;
pub use sender::Sender;
pub use settings::{Handshake, Quirks, Settings};
pub use tcb::{SendCounters, SenderOutput};
