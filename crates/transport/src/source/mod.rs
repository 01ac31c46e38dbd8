//! Traffic sources: what there is to send, and when.
//!
//! A source says what a flow sends first. One that acts over time is asked each time a transfer has been acknowledged to the end what
//! comes next, and when; it knows no engine, which keeps the deadline for it.

mod transactions;

use ecnlab_units::{Parameter, Rng, Time, Values, parameters, words};

pub use transactions::Transactions;

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

/// What the application of a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    pub first: Demand,
    /// What goes on after the first transfer, if anything.
    pub then: Option<Transactions>,
}

/// What a source sends next, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    pub at: Time,
    pub demand: Demand,
    pub connection: Connection,
}

words! {
    /// Over which connection a transfer goes.
    pub enum Connection {
        /// A new one.
        New = "new",
        /// That of the transfer before.
        Keep = "keep",
    }
}

/// A source that acts over time, as it runs on one flow.
pub trait Source {
    /// A transfer has been acknowledged to the end: what comes next, if anything.
    fn next(&mut self, now: Time) -> Option<Next>;
}

impl Traffic {
    /// One transfer and nothing after it.
    pub fn once(demand: Demand) -> Traffic {
        Traffic { first: demand, then: None }
    }

    /// What is asked for more, with its random stream; nothing if the first transfer is all.
    pub fn source(&self, rng: impl FnOnce() -> Rng) -> Option<Box<dyn Source>> {
        self.then.map(|plan| Box::new(plan.start(rng())) as Box<dyn Source>)
    }
}

/// A traffic source by name. Adding one is an entry here and, where it acts over time, a file beside this one.
pub struct SourceEntry {
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// Contradictions among the parameters: the parameter's name and what is wrong.
    pub check: fn(&Values) -> Vec<(&'static str, String)>,
    /// What a flow sends whose full segments carry this many bytes.
    pub traffic: fn(&Values, u32) -> Traffic,
}

/// More segments than any run can send.
pub const ENDLESS: u64 = u64::MAX / 2;

pub const SOURCES: &[SourceEntry] = &[
    SourceEntry {
        name: "bulk",
        title: "Endless bulk transfer",
        summary: "Always has data to send.",
        source: "ns-2 Application/FTP",
        parameters: &[],
        check: |_| Vec::new(),
        traffic: |_, _| Traffic::once(Demand::segments(ENDLESS)),
    },
    SourceEntry {
        name: "file",
        title: "Finite transfer",
        summary: "Sends a number of packets, or of bytes, and is done when all are acknowledged. Exactly one of the two is given.",
        source: "ns-2 Application/FTP, produce",
        parameters: File::PARAMETERS,
        check: |values| File::of(values).check(),
        traffic: |values, payload| File::of(values).traffic(payload),
    },
    SourceEntry {
        name: "transactions",
        title: "Transfers with pauses",
        summary: "Sends a transfer, pauses when all of it is acknowledged, and sends the next, each over a connection of its own or all over one.",
        source: "Mah 1997; RFC 9112, section 9.3",
        parameters: transactions::Settings::PARAMETERS,
        check: |_| Vec::new(),
        traffic: |values, payload| {
            let plan = transactions::Settings::of(values).plan(payload);
            Traffic { first: plan.demand(1), then: Some(plan) }
        },
    },
];

parameters! {
    /// A finite transfer as a scenario sets it.
    struct File {
        /// Data packets to send, all of them full; 0 if bytes is given.
        #[source("ns-2 Agent/TCP, advance")]
        pub packets: u64 = "0", 0..=1e12, "packets";
        /// Application data to send, the last packet as short as it comes out; 0 if packets is given.
        #[source("ns-2 Agent/TCP/FullTcp, sendmsg")]
        pub bytes: u64 = "0", 0..=MAX_BYTES, "bytes";
    }
}

const MAX_BYTES: u64 = 1_000_000_000_000_000;

impl File {
    fn check(&self) -> Vec<(&'static str, String)> {
        match (self.packets, self.bytes) {
            (0, 0) => vec![("packets", "is missing: give the file's size as packets = 1000 or as bytes = \"1 MB\"".to_owned())],
            (0, _) | (_, 0) => Vec::new(),
            (packets, bytes) => vec![("bytes", format!("{bytes} stands beside packets {packets}: give one of the two"))],
        }
    }

    fn traffic(&self, payload: u32) -> Traffic {
        Traffic::once(match self.bytes {
            0 => Demand { closes: true, ..Demand::segments(self.packets) },
            bytes => Demand::bytes(bytes, payload),
        })
    }
}

pub fn find(name: &str) -> Option<&'static SourceEntry> {
    SOURCES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(parameters: &[(&str, &str)]) -> (Values, Vec<(&'static str, String)>) {
        let entry = find("file").unwrap();
        let mut values = Values::defaults(entry.parameters);
        parameters.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        let problems = (entry.check)(&values);
        (values, problems)
    }

    #[test]
    fn a_file_has_packets_or_bytes_and_not_both_or_neither() {
        let wrong = |parameters: &[(&str, &str)]| file_of(parameters).1.first().map(|(name, _)| *name);
        assert_eq!([None, None], [wrong(&[("packets", "3")]), wrong(&[("bytes", "3 KB")])]);
        assert_eq!([Some("packets"), Some("bytes")], [wrong(&[]), wrong(&[("packets", "3"), ("bytes", "3 KB")])]);
    }

    #[test]
    fn a_file_of_bytes_ends_with_a_short_segment_where_they_do_not_fill_it() {
        let demand = |bytes: &str| File::of(&file_of(&[("bytes", bytes)]).0).traffic(960).first;
        assert_eq!(Demand { segments: 3, last_payload: Some(80), closes: true }, demand("2000"));
        assert_eq!(Demand { segments: 2, last_payload: None, closes: true }, demand("1920"));
    }
}
