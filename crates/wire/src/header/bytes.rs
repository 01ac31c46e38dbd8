//! Access to the captured bytes of a packet by offset.

/// Bytes in network order; what is not there is `None`.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..)?.first_chunk().copied()
    }

    pub fn u8(self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    pub fn u16(self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_be_bytes)
    }

    pub fn u32(self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_be_bytes)
    }

    /// All from a place on; nothing if the place lies behind the end.
    pub fn from(self, at: usize) -> Bytes<'a> {
        Bytes(self.0.get(at..).unwrap_or_default())
    }

    /// The first `count`, or what there is of them.
    pub fn truncated(self, count: usize) -> Bytes<'a> {
        Bytes(&self.0[..self.0.len().min(count)])
    }
}
