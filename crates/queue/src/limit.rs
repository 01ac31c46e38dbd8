//! Buffer limits, in packets or in bytes.

use ecnlab_units::quantity::Amount;

/// Largest backlog of a buffer; the packet in transmission is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

impl From<Limit> for Amount {
    fn from(limit: Limit) -> Amount {
        match limit {
            Limit::Packets(packets) => Amount::Packets(f64::from(packets)),
            Limit::Bytes(bytes) => Amount::Bytes(bytes as f64),
        }
    }
}
