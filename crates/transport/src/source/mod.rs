//! Traffic sources: how much data there is to send.

use ecnlab_units::{Kind, Parameter, Values};

/// What an application has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    pub segments: u64,
    /// Application data in the last segment, in bytes, if it is not full.
    pub last_payload: Option<u32>,
    /// The connection closes behind it.
    pub closes: bool,
}

impl Demand {
    /// Full segments on a connection that stays open.
    pub fn segments(segments: u64) -> Demand {
        Demand { segments, last_payload: None, closes: false }
    }

    /// As many segments of `payload` bytes as `bytes` take, the last one as short as it is, and then the end.
    pub fn bytes(bytes: u64, payload: u32) -> Demand {
        let rest = (bytes % u64::from(payload)) as u32;
        Demand { segments: bytes.div_ceil(u64::from(payload)), last_payload: (rest > 0).then_some(rest), closes: true }
    }
}

/// A traffic source by name. Adding one is an entry here and, where it needs state, a file beside this one.
pub struct Entry {
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// How many segments there are to send.
    pub segments: fn(&Values) -> u64,
}

/// More segments than any run can send.
pub const ENDLESS: u64 = u64::MAX / 2;

pub const SOURCES: &[Entry] = &[
    Entry {
        name: "bulk",
        title: "Endless bulk transfer",
        summary: "Always has data to send.",
        source: "ns-2 Application/FTP",
        parameters: &[],
        segments: |_| ENDLESS,
    },
    Entry {
        name: "file",
        title: "Finite transfer",
        summary: "Sends a number of packets and is done when all are acknowledged.",
        source: "ns-2 Application/FTP, produce",
        parameters: &[Parameter {
            name: "packets",
            kind: Kind::Count { min: 1, max: 1_000_000_000_000, unit: "packets" },
            default: "1000",
            doc: "Data packets to send.",
            source: "ns-2 Agent/TCP, advance",
        }],
        segments: |values| values.count("packets"),
    },
];

pub fn find(name: &str) -> Option<&'static Entry> {
    SOURCES.iter().find(|entry| entry.name == name)
}
