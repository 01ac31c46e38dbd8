//! Transport protocols without input or output: senders and receivers take events and return segments.
//!
//! A TCP sender consists of independent parts: congestion control (`congestion`), loss recovery (`recovery`), the response to ECN
//! (`ecn_response`) and the RTO estimator (`rtt`). `tcb` holds the sequence space and the state that recovery uses, `sender` calls the
//! parts in order, and `profile` bundles their parameters. `processing` is a host's random processing time. `datagram` is UDP, `external` a
//! host outside of the engine, and `endpoint` the engine's interface to all of them. `application` generates the data to send.

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
pub use settings::{Handshake, Quirks, TcpSettings};
pub use tcb::{SendCounters, SenderOutput};
