//! Buffer limits, in packets or in bytes.

use ecnlab_units::quantity::PacketsOrBytes;

/// Largest backlog of a buffer; the packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

impl From<Limit> for PacketsOrBytes {
    fn from(limit: Limit) -> PacketsOrBytes {
        match limit {
            Limit::Packets(packets) => PacketsOrBytes::Packets(f64::from(packets)),
            Limit::Bytes(bytes) => PacketsOrBytes::Bytes(bytes as f64),
        }
    }
}
