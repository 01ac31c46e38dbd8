//! How much is kept at a time, whatever a file holds.

/// Packets, segments and runs of bytes that all flows together may keep.
const MOST: usize = 1 << 21;

/// What is left to keep. Whoever finds none keeps less, and what it would have told is missing or counted as unknown.
#[derive(Debug)]
pub struct Room {
    left: usize,
    /// How often there was none.
    refused: u64,
}

impl Default for Room {
    fn default() -> Room {
        Room { left: MOST, refused: 0 }
    }
}

impl Room {
    /// Takes room for one more, if there is any.
    pub fn take(&mut self) -> bool {
        let is_left = self.left > 0;
        self.left -= usize::from(is_left);
        self.refused += u64::from(!is_left);
        is_left
    }

    /// Gives back what is no longer kept.
    pub fn give(&mut self, count: usize) {
        self.left = MOST.min(self.left + count);
    }

    pub fn refused(&self) -> u64 {
        self.refused
    }
}
