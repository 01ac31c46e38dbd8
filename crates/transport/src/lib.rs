//! TCP without input or output: senders and receivers that are told what happened and answer with segments.
//!
//! A sender is put together from parts that do not know each other: the congestion window (`window`), loss
//! recovery (`recovery`), the response to congestion signals (`response`) and the retransmission timer (`rtt`).
//! `sender` holds the sequence space and asks the parts in turn; `profile` bundles their parameters.

pub mod profile;
pub mod receiver;
pub mod recovery;
pub mod response;
pub mod rtt;
pub mod segment;
pub mod sender;
pub mod settings;
pub mod source;
pub mod window;

pub use receiver::Receiver;
pub use segment::{Ack, Kind, Sacks, Segment};
pub use sender::{Output, Sender};
pub use settings::{Handshake, Settings};
pub use source::{Demand, Traffic};
pub use window::Window;
