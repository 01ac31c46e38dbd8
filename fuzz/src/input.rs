//! Structured values from the bytes of an input. An input that is too short gives zeros, so that every input is a valid one.

/// The bytes that are left.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let some = self.slice(N);
        bytes[..some.len()].copy_from_slice(some);
        bytes
    }

    /// So many bytes, or fewer where the input ends.
    pub fn slice(&mut self, length: usize) -> &'a [u8] {
        let (some, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        some
    }

    pub fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.bytes())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    pub fn flag(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// A number below `count`, which is at most 256.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.u8()) % count
    }

    /// From a byte: a small number, one near where numbers wrap, or any.
    pub fn number(&mut self) -> u32 {
        match self.u8() {
            small @ 0..=99 => small.into(),
            255 => self.u32(),
            large => u32::MAX - u32::from(large - 100),
        }
    }
}
