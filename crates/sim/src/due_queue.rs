//! Entries that wait for a time each; those of the same time keep the order of insertion.

use std::collections::BTreeMap;

use ecnlab_units::Time;

/// Time of an entry, and its order among entries of the same time.
pub type DueKey = (Time, u64);

/// Entries in the order of their times.
pub struct DueQueue<T> {
    entries: BTreeMap<DueKey, T>,
    inserted: u64,
}

impl<T> Default for DueQueue<T> {
    fn default() -> DueQueue<T> {
        DueQueue { entries: BTreeMap::new(), inserted: 0 }
    }
}

impl<T> DueQueue<T> {
    pub fn insert(&mut self, due: Time, entry: T) -> DueKey {
        self.inserted += 1;
        let key = (due, self.inserted);
        self.entries.insert(key, entry);
        key
    }

    /// The first entry, with its time.
    pub fn first(&self) -> Option<(Time, &T)> {
        self.entries.first_key_value().map(|(&(due, _), entry)| (due, entry))
    }

    /// Removes and returns the first entry if its time has come.
    #[inline]
    pub fn pop_due(&mut self, now: Time) -> Option<T> {
        let (first, _) = self.first()?;
        if first <= now { self.entries.pop_first().map(|(_, entry)| entry) } else { None }
    }

    /// Removes an entry before its time, if it is still present.
    pub fn remove(&mut self, key: DueKey) -> Option<T> {
        self.entries.remove(&key)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.entries.values()
    }
}
