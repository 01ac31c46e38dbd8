//! The three ways to serve flow queues: their entries in the registry, their parameters, and the plan that each makes of them.

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Span, Values, parameters, words};

use crate::registry::{DisciplineEntry, DisciplineKind, Gauge, Holds};

/// Flow queueing in the registry.
pub static FQ: DisciplineEntry = DisciplineEntry {
    name: "fq",
    title: "Flow queueing",
    summary: "A queue with an AQM for each flow, served in rounds, those that have just begun first: with CoDel inside it is FQ-CoDel.",
    source: "RFC 8290",
    parameters: Fq::PARAMETERS,
    bands: &["new", "old"],
    kind: DisciplineKind::FlowQueues(Scheme::Fq),
    holds: Holds::Aqm("codel"),
    ..PLAIN
};

/// Stochastic fairness queueing in the registry.
pub static SFQ: DisciplineEntry = DisciplineEntry {
    name: "sfq",
    title: "Stochastic fairness queueing",
    summary: "Flows share queues by a hash that changes now and then, and the queues take turns; overflow takes from the longest.",
    source: "McKenney 1990; Linux sfq",
    parameters: Sfq::PARAMETERS,
    kind: DisciplineKind::FlowQueues(Scheme::Sfq),
    ..PLAIN
};

/// Deficit round robin in the registry.
pub static DRR: DisciplineEntry = DisciplineEntry {
    name: "drr",
    title: "Deficit round robin",
    summary: "Each round gives every waiting flow the same number of bytes; what a packet leaves of them is kept for the next round.",
    source: "Shreedhar and Varghese 1995",
    parameters: Drr::PARAMETERS,
    kind: DisciplineKind::FlowQueues(Scheme::Drr),
    ..PLAIN
};

/// What the three have in common.
const PLAIN: DisciplineEntry = DisciplineEntry {
    name: "",
    title: "",
    summary: "",
    source: "",
    parameters: &[],
    holds: Holds::Aqm("droptail"),
    gauges: &[
        Gauge { name: "flows", unit: "1", doc: "Flow queues in which packets wait", symbol: "" },
        Gauge { name: "longest", unit: "packets", doc: "Length of the longest flow queue", symbol: "" },
    ],
    bands: &[],
    marks: |_| None,
    check: |_, _| Vec::new(),
    busy: &[("flows", "16")],
    kind: DisciplineKind::FlowQueues(Scheme::Drr),
};

parameters! {
    /// How packets come into queues, and how queues take turns.
    #[derive(Clone, Copy, Debug)]
    pub struct Round {
        /// How many queues the flows are spread over by a hash; flows that fall into one share it.
        #[source("RFC 8290, section 5.2.5; McKenney 1990; Linux sfq, divisor")]
        pub flows: u32 = "1024", 1..=65_536, "queues";
        /// What a queue may send in a round before the next one has its turn.
        #[source("RFC 8290, section 5.2.4; Shreedhar and Varghese 1995")]
        pub quantum: u32 = "1514 B", 64..=1_000_000, "bytes";
        /// What the hash is perturbed with; auto draws it from the queue's own random stream when the first packet comes.
        #[source("RFC 8290, section 4.1")]
        pub salt: Option<u64> = "auto";
    }
}

parameters! {
    /// Flow queueing as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Fq {
        ..round: Round;
        /// How many packets an overflow drops at most from the queue with the most bytes, which loses half of its packets.
        #[source("RFC 8290, section 4.1")]
        pub batch: u32 = "64", 1..=1_000_000, "packets";
    }
}

parameters! {
    /// Stochastic fairness queueing as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Sfq {
        ..round: Round;
        /// How many packets may wait in one queue.
        #[source("Linux sfq, depth")]
        pub depth: u32 = "127", 1..=10_000_000, "packets";
        /// How often the hash is perturbed anew, so that flows that share a queue do not share it for ever. Linux leaves it off by default.
        #[source("McKenney 1990; Linux sfq, perturb")]
        pub perturb: OrOff<Span> = "10 s", 1e-3..=1e6, "s";
        /// Which packet of the longest queue an overflow drops: the newest or the oldest.
        #[source("Linux sfq, headdrop")]
        pub drop: End = "tail";
    }
}

parameters! {
    /// Deficit round robin as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Drr {
        ..round: Round;
        /// Which packet of the queue with the most bytes an overflow drops: the newest or the oldest.
        #[source("Shreedhar and Varghese 1995: McKenney's buffer stealing; which end is our choice")]
        pub drop: End = "tail";
    }
}

words! {
    /// Which end of a queue loses a packet.
    pub enum End { Tail = "tail", Front = "front" }
}

/// Which of the three a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Flow queueing.
    Fq,
    /// Stochastic fairness queueing.
    Sfq,
    /// Deficit round robin.
    Drr,
}

/// What a scheme makes of its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many queues the flows are spread over.
    pub flows: u32,
    /// What a queue may send in a round, in bytes.
    pub quantum: i64,
    /// What the hash is perturbed with, if it is not drawn.
    pub salt: Option<u64>,
    /// When a queue's turn ends.
    pub turn: Turn,
    /// Whether queues that have just begun come before the others.
    pub new_first: bool,
    /// How many packets may wait in one queue.
    pub depth: u32,
    /// How many packets an overflow drops at most.
    pub batch: u32,
    /// Which end of the longest queue loses them.
    pub drop: End,
    /// What the longest queue is the longest in.
    pub length: Length,
    /// How often the hash is perturbed anew, if it is.
    pub perturb: Option<Span>,
}

/// When a queue's turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// When it has sent its quantum or more; what is more comes off the next turn.
    Spent,
    /// When its next packet is larger than what is left; what is left is kept for the next turn.
    TooLarge,
}

/// What the longest queue is the longest in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

impl Scheme {
    /// What these values of its entry ask for.
    pub fn plan(self, values: &Values) -> Plan {
        match self {
            Scheme::Fq => {
                let Fq { round, batch } = Fq::of(values);
                Plan { new_first: true, batch, drop: End::Front, ..round.plan() }
            }
            Scheme::Sfq => {
                let Sfq { round, depth, perturb, drop } = Sfq::of(values);
                Plan { depth, perturb: perturb.0, drop, length: Length::Packets, ..round.plan() }
            }
            Scheme::Drr => {
                let Drr { round, drop } = Drr::of(values);
                Plan { turn: Turn::TooLarge, drop, ..round.plan() }
            }
        }
    }
}

impl Round {
    fn plan(&self) -> Plan {
        Plan {
            flows: self.flows,
            quantum: i64::from(self.quantum),
            salt: self.salt,
            turn: Turn::Spent,
            new_first: false,
            depth: u32::MAX,
            batch: 1,
            drop: End::Tail,
            length: Length::Bytes,
            perturb: None,
        }
    }
}
