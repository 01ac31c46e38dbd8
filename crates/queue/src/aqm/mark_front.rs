//! Mark-front (Liu and Jain 2001): ECN that writes its mark on the oldest unmarked packet instead of the arriving one,
//! so that the sender learns of congestion a queueing delay sooner.
//!
//! RED decides when; one group of all packets names the target.

use super::control::red::Settings;
use super::entry::AqmEntry;
use super::red::{RED_BASE_ENTRY, Red, SignalMode};

/// Mark-front ECN in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "mark-front",
    title: "Mark-front ECN",
    summary: "ECN that marks the oldest unmarked packet in the queue instead of the arriving one.",
    source: "Liu and Jain 2001; Zheng 2001, section 5.2.3",
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED,
    make: &|values, link| Box::new(Red::new(Settings::from_values(values), SignalMode::MarkFront, link.rate)),
    ..RED_BASE_ENTRY
};
