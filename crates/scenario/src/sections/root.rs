//! Top level of the file: title, times, and the sections below.

use ecnlab_sim::MaxProcessingTime;
use ecnlab_units::parameter::{Kind, ParameterType};
use ecnlab_units::{Span, Value, Values, parameters};

use super::declaration::{Section, TableContent, TableDeclaration};
use super::{change, flows, link, record};
use crate::read::{Reader, TableInput};

/// Key of the table that names a topology.
pub const NETWORK: &str = "network";

parameters! {
    /// What stands at the top of the file.
    pub struct RootKeys {
        /// Title of the scenario. It is shown and affects no result.
        #[required]
        pub name: String = "my scenario";
        /// Simulated time, above 0 s.
        #[required]
        #[usual(5..=300, log)]
        pub duration: Span = "100 s", 0..=8_640_000, "s";
        /// Begin of the measured interval; before duration.
        #[usual(0..=100, linear)]
        pub measure_from: Span = "0 s", 0..=8_640_000, "s";
        /// Random processing time at each sender's host before packets leave, which removes phase effects. It is uniform from zero to this
        /// value and keeps the order. `packet` is the transmission time of one full packet of the flow at the slowest link of its route
        /// that has a queue; 0 s is none.
        #[source("Floyd and Jacobson 1992; ns-2 overhead_")]
        pub processing_jitter: ProcessingJitter = "0 s", 0..=3600, "s";
    }
}

/// A maximum processing time, which may be that of one packet by the word `packet`.
#[derive(Clone, Copy, Debug)]
pub struct ProcessingJitter(pub MaxProcessingTime);

impl ParameterType for ProcessingJitter {
    const PARAMETER_KIND: Kind = Span::PARAMETER_KIND;
    const SPECIAL_WORD: Option<&'static str> = Some("packet");
    fn from_value(value: &Value) -> ProcessingJitter {
        ProcessingJitter(if let Value::Special(_) = value {
            MaxProcessingTime::OnePacket
        } else {
            MaxProcessingTime::Fixed(Span::from_value(value))
        })
    }
}

pub const ROOT: Section = Section {
    name: "scenario",
    title: "The top of the file",
    doc: "Title, times, and the sections below.",
    keys: RootKeys::PARAMETERS,
    tables: &[
        TableDeclaration {
            key: NETWORK,
            content: TableContent::Topology,
            required: false,
            doc: "A ready-made network: the name of its topology, and its parameters.",
            example: "{ topology = \"dumbbell\", rate = \"10 Mbps\", delay = \"20 ms\", queue = { aqm = \"ecn\", limit = 120 } }",
        },
        TableDeclaration {
            key: "link",
            content: TableContent::Many(&link::LINK),
            required: false,
            doc: "Links, one section or more; not with network, which makes its own.",
            example: "[[link]]",
        },
        TableDeclaration {
            key: "flows",
            content: TableContent::Many(&flows::FLOWS),
            required: true,
            doc: "Groups of flows, one section or more; at most 1 000 000 flows in all.",
            example: "[[flows]]",
        },
        TableDeclaration {
            key: "change",
            content: TableContent::Many(&change::CHANGE),
            required: false,
            doc: "Changes of links during the run.",
            example: "[[change]]",
        },
        TableDeclaration {
            key: "record",
            content: TableContent::One(&record::RECORD),
            required: false,
            doc: "Series and events to record in addition to the measures.",
            example: "{ queue = \"10 ms\" }",
        },
    ],
};

/// Bin width for rates and Jain's index.
const JAIN_INDEX_BIN_WIDTH: Span = Span::from_secs(1);

/// Reads the top level of the file; none if it is invalid.
pub fn read(reader: &mut Reader, root: &TableInput) -> Option<(RootKeys, Values)> {
    let reading = ROOT.read_keys(reader, root);
    let values = reading.valid_values()?;
    let keys = RootKeys::from_values(values);
    if keys.duration == Span::ZERO {
        reader.report(root, "duration", "0 s must be above 0 s and at most 100 days");
        return None;
    }
    if keys.measure_from >= keys.duration {
        let message = format!("{} s must be before the end, duration {} s", keys.measure_from.seconds(), keys.duration.seconds());
        reader.report(root, "measure_from", message);
        return None;
    }
    if keys.measure_from > Span::ZERO && keys.duration - keys.measure_from < JAIN_INDEX_BIN_WIDTH {
        let message = "leaves less than 1 s to measure, too short for Jain's index; fix: begin earlier or run longer";
        reader.warn(root, "measure_from", message);
    }
    Some((keys, values.clone()))
}
