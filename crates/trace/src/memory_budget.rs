//! Bound on the state that all flows together may keep, for any input.

/// Packets, segments and byte ranges that all flows together may keep.
const MAX_KEPT_ITEMS: usize = 1 << 21;

/// Items that may still be kept. After a refused reservation the caller keeps less: its results are missing or counted as unknown.
#[derive(Debug)]
pub struct MemoryBudget {
    available: usize,
    /// Reservations that were refused.
    refused: u64,
}

impl Default for MemoryBudget {
    fn default() -> MemoryBudget {
        MemoryBudget { available: MAX_KEPT_ITEMS, refused: 0 }
    }
}

impl MemoryBudget {
    /// Reserves one more item, if one is available.
    pub fn try_reserve(&mut self) -> bool {
        let is_available = self.available > 0;
        self.available -= usize::from(is_available);
        self.refused += u64::from(!is_available);
        is_available
    }

    /// Releases items that are no longer kept.
    pub fn release(&mut self, count: usize) {
        self.available = MAX_KEPT_ITEMS.min(self.available + count);
    }

    pub fn refused_reservations(&self) -> u64 {
        self.refused
    }
}
