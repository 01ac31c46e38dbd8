//! Headers of real packets, read from what a capture kept of them, and written.
//!
//! No reader here trusts a length that a header claims: what lies beyond the kept bytes is absent, and the packet says that it was cut.

mod bytes;
pub mod checksum;
pub mod extension;
pub mod ip;
pub mod link;
pub mod rewrite;
pub mod tcp;
pub mod view;
pub mod write;

pub use bytes::Bytes;

/// Bytes of an IPv4 header without options (RFC 791), of an IPv6 header (RFC 8200) and of UDP's (RFC 768).
pub const IPV4_HEADER_BYTES: usize = 20;
pub const IPV6_HEADER_BYTES: usize = 40;
pub const UDP_HEADER_BYTES: usize = 8;

/// Numbers of protocols (IANA, "Assigned Internet Protocol Numbers").
pub mod protocol {
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ICMP_V6: u8 = 58;
}
