//! Headers of real packets, read from what a capture kept of them, and written.
//!
//! No reader here trusts a length that a header claims: what lies beyond the kept bytes is absent, and the packet says that it was cut.

mod bytes;
pub mod ip;
pub mod link;
pub mod tcp;
pub mod write;

pub use bytes::Bytes;

/// Numbers of protocols (IANA, "Assigned Internet Protocol Numbers").
pub mod protocol {
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
}
