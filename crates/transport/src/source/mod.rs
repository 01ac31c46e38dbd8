//! Traffic sources: what there is to send, and when.
//!
//! A source says what a flow sends first. One that acts over time is asked each time a transfer has been acknowledged to the end what
//! comes next, and when; it knows no engine, which keeps the deadline for it.

mod transactions;

use ecnlab_units::{Kind, Parameter, Rng, Span, Time, Values};

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

/// Over which connection a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// A new one.
    New,
    /// That of the transfer before.
    Keep,
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
pub struct Entry {
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

const MAX_BYTES: u64 = 1_000_000_000_000_000;
const MAX_GAP: Span = Span::from_secs(24 * 3600);

pub const SOURCES: &[Entry] = &[
    Entry {
        name: "bulk",
        title: "Endless bulk transfer",
        summary: "Always has data to send.",
        source: "ns-2 Application/FTP",
        parameters: &[],
        check: |_| Vec::new(),
        traffic: |_, _| Traffic::once(Demand::segments(ENDLESS)),
    },
    Entry {
        name: "file",
        title: "Finite transfer",
        summary: "Sends a number of packets, or of bytes, and is done when all are acknowledged. Exactly one of the two is given.",
        source: "ns-2 Application/FTP, produce",
        parameters: &[
            Parameter {
                name: "packets",
                kind: Kind::Count { min: 0, max: 1_000_000_000_000, unit: "packets" },
                default: "0",
                doc: "Data packets to send, all of them full; 0 if bytes is given.",
                source: "ns-2 Agent/TCP, advance",
            },
            Parameter {
                name: "bytes",
                kind: Kind::Count { min: 0, max: MAX_BYTES, unit: "bytes" },
                default: "0",
                doc: "Application data to send, the last packet as short as it comes out; 0 if packets is given.",
                source: "ns-2 Agent/TCP/FullTcp, sendmsg",
            },
        ],
        check: check_file,
        traffic: file,
    },
    Entry {
        name: "transactions",
        title: "Transfers with pauses",
        summary: "Sends a transfer, pauses when all of it is acknowledged, and sends the next, each over a connection of its own or all over one.",
        source: "Mah 1997; RFC 9112, section 9.3",
        parameters: &[
            Parameter {
                name: "bytes",
                kind: Kind::Count { min: 1, max: MAX_BYTES, unit: "bytes" },
                default: "10000 B",
                doc: "Application data of each transfer.",
                source: "Mah 1997, reply length",
            },
            Parameter {
                name: "gap",
                kind: Kind::Span { min: Span::ZERO, max: MAX_GAP },
                default: "1 s",
                doc: "Mean pause from the end of a transfer to the start of the next.",
                source: "Mah 1997, user think time",
            },
            Parameter {
                name: "gap_distribution",
                kind: Kind::Choice(&["exponential", "fixed"]),
                default: "exponential",
                doc: "How pauses are distributed.",
                source: "Mah 1997, user think time",
            },
            Parameter {
                name: "count",
                kind: Kind::Count { min: 0, max: 1_000_000_000_000, unit: "" },
                default: "0",
                doc: "Transfers of a flow in all; 0 is no end.",
                source: "Mah 1997, consecutive document retrievals",
            },
            Parameter {
                name: "connection",
                kind: Kind::Choice(&["new", "keep"]),
                default: "new",
                doc: "Each transfer over a new connection, or all over the same one.",
                source: "RFC 9112, section 9.3",
            },
        ],
        check: |_| Vec::new(),
        traffic: transactions,
    },
];

pub fn find(name: &str) -> Option<&'static Entry> {
    SOURCES.iter().find(|entry| entry.name == name)
}

fn check_file(values: &Values) -> Vec<(&'static str, String)> {
    match (values.count("packets"), values.count("bytes")) {
        (0, 0) => vec![("packets", "is missing: give the file's size as packets = 1000 or as bytes = \"1 MB\"".to_owned())],
        (0, _) | (_, 0) => Vec::new(),
        (packets, bytes) => vec![("bytes", format!("{bytes} stands beside packets {packets}: give one of the two"))],
    }
}

fn file(values: &Values, payload: u32) -> Traffic {
    Traffic::once(match values.count("bytes") {
        0 => Demand { closes: true, ..Demand::segments(values.count("packets")) },
        bytes => Demand::bytes(bytes, payload),
    })
}

fn transactions(values: &Values, payload: u32) -> Traffic {
    let plan = Transactions {
        transfer: Demand::bytes(values.count("bytes"), payload),
        gap: values.span("gap"),
        exponential: values.word("gap_distribution") == "exponential",
        count: values.count("count"),
        connection: if values.word("connection") == "new" { Connection::New } else { Connection::Keep },
    };
    Traffic { first: plan.demand(1), then: Some(plan) }
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
        let demand = |bytes: &str| file(&file_of(&[("bytes", bytes)]).0, 960).first;
        assert_eq!(Demand { segments: 3, last_payload: Some(80), closes: true }, demand("2000"));
        assert_eq!(Demand { segments: 2, last_payload: None, closes: true }, demand("1920"));
    }
}
