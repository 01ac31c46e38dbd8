//! The three ways to serve flow queues: their entries in the registry, their parameters, and the plan that each makes of them.

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{CongestionLevel, Span, Values, parameters, words};

use super::super::entry::{ChildKind, DisciplineEntry, DisciplineKind};
use crate::aqm::entry::Gauge;

/// Flow queueing in the registry.
pub static FQ: DisciplineEntry = DisciplineEntry {
    name: "fq",
    title: "Flow queueing",
    summary: "A queue with an AQM for each flow, served in rounds, new flows first. With CoDel as its AQM it is FQ-CoDel.",
    source: "RFC 8290",
    parameters: FqParams::PARAMETERS,
    band_names: &["new", "old"],
    kind: DisciplineKind::FlowQueues(FlowQueueKind::Fq),
    child: ChildKind::Aqm("codel"),
    ..FLOW_QUEUE_BASE_ENTRY
};

/// Stochastic fairness queueing in the registry.
pub static SFQ: DisciplineEntry = DisciplineEntry {
    name: "sfq",
    title: "Stochastic fairness queueing",
    summary: "Stochastic fairness queueing: a hash that changes at intervals spreads flows over queues, which are served in turn. An \
        overflow drops from the longest.",
    source: "McKenney 1990; Linux sfq",
    parameters: SfqParams::PARAMETERS,
    kind: DisciplineKind::FlowQueues(FlowQueueKind::Sfq),
    ..FLOW_QUEUE_BASE_ENTRY
};

/// Deficit round robin in the registry.
pub static DRR: DisciplineEntry = DisciplineEntry {
    name: "drr",
    title: "Deficit round robin",
    summary: "Deficit round robin: each round gives every backlogged flow the same number of bytes, and unused bytes are kept for the \
        next round.",
    source: "Shreedhar and Varghese 1995",
    parameters: DrrParams::PARAMETERS,
    kind: DisciplineKind::FlowQueues(FlowQueueKind::Drr),
    ..FLOW_QUEUE_BASE_ENTRY
};

/// Defaults that the three kinds share.
const FLOW_QUEUE_BASE_ENTRY: DisciplineEntry = DisciplineEntry {
    gauges: &[Gauge::new("flows", "1", "Flow queues with packets"), Gauge::new("longest", "packets", "Length of the longest flow queue")],
    lowest_mark: |values| values.get_as::<OrOff<Span>>("l4s_step").0.map(|_| CongestionLevel::Congested),
    test_params: &[("flows", "16")],
    ..DisciplineEntry::DEFAULTS
};

parameters! {
    /// How packets come into queues, and how queues take turns.
    #[derive(Clone, Copy, Debug)]
    pub struct RoundRobinParams {
        /// Number of queues over which a hash spreads the flows; flows with the same hash share a queue.
        #[source("RFC 8290, section 5.2.5; McKenney 1990; Linux sfq, divisor")]
        #[usual(1..=4096, log)]
        pub flows: u32 = "1024", 1..=65_536, "queues";
        /// Bytes that a queue may send in a round.
        #[source("RFC 8290, section 5.2.4; Shreedhar and Varghese 1995")]
        #[usual(300..=9000, log)]
        pub quantum: u32 = "1514 B", 64..=1_000_000, "bytes";
        /// Perturbation of the hash; auto draws it from the queue's random stream at the first packet.
        #[source("RFC 8290, section 4.1")]
        pub salt: Option<u64> = "auto";
        /// Sojourn time above which each L4S packet, ECT(1) or CE, is marked; these packets then bypass the AQM inside.
        #[source("RFC 9331, section 5.1; RFC 9332, appendix A: a step")]
        #[usual(0.0002..=0.01, log)]
        pub l4s_step: OrOff<Span> = "off", 0..=10, "s";
    }
}

parameters! {
    /// Flow queueing as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct FqParams {
        ..round: RoundRobinParams;
        /// Largest number of packets that an overflow drops from the queue with the most bytes, which loses half of its packets.
        #[source("RFC 8290, section 4.1")]
        pub batch: u32 = "64", 1..=1_000_000, "packets";
    }
}

parameters! {
    /// Stochastic fairness queueing as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct SfqParams {
        ..round: RoundRobinParams;
        /// Capacity of one queue in packets.
        #[source("Linux sfq, depth")]
        pub depth: u32 = "127", 1..=10_000_000, "packets";
        /// Interval at which the hash changes, so that flows do not share a queue permanently. In Linux it is off by default.
        #[source("McKenney 1990; Linux sfq, perturb")]
        pub perturb: OrOff<Span> = "10 s", 1e-3..=1e6, "s";
        /// Packet that an overflow drops from the longest queue: the newest or the oldest.
        #[source("Linux sfq, headdrop")]
        pub drop: QueueEnd = "tail";
    }
}

parameters! {
    /// Deficit round robin as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct DrrParams {
        ..round: RoundRobinParams;
        /// Packet that an overflow drops from the queue with the most bytes: the newest or the oldest.
        #[source("Shreedhar and Varghese 1995: McKenney's buffer stealing; which end is our choice")]
        pub drop: QueueEnd = "tail";
    }
}

words! {
    /// Which end of a queue loses a packet.
    pub enum QueueEnd { Tail = "tail", Front = "front" }
}

/// Which of the three a queue is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowQueueKind {
    /// Flow queueing.
    Fq,
    /// Stochastic fairness queueing.
    Sfq,
    /// Deficit round robin.
    Drr,
}

/// Configuration of a kind, from its parameters.
#[derive(Clone, Copy, Debug)]
pub struct FlowQueueConfig {
    /// Number of queues.
    pub flows: u32,
    /// Bytes that a queue may send in a round.
    pub quantum: i64,
    /// Salt of the hash, if it is not drawn.
    pub salt: Option<u64>,
    /// Rule by which a queue's turn ends.
    pub deficit_rule: TurnEndRule,
    /// Whether queues that have just begun come before the others.
    pub new_first: bool,
    /// Capacity of one queue in packets.
    pub depth: u32,
    /// How many packets an overflow drops at most.
    pub batch: u32,
    /// Which end of the longest queue loses them.
    pub drop: QueueEnd,
    /// Unit in which queues are compared for the longest one.
    pub length: QueueLengthUnit,
    /// Interval at which the hash gets a new salt, if any.
    pub perturb: Option<Span>,
    /// Sojourn time above which L4S packets are marked, if they bypass the AQM inside.
    pub l4s_step: Option<Span>,
}

/// When a queue's turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEndRule {
    /// When it has sent its quantum or more; what is more comes off the next turn.
    CreditSpent,
    /// When its next packet is larger than what is left; what is left is kept for the next turn.
    PacketExceedsCredit,
}

/// Unit in which queues are compared for the longest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLengthUnit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

impl FlowQueueKind {
    /// Config that follows from these values of its entry.
    pub fn config(self, values: &Values) -> FlowQueueConfig {
        match self {
            FlowQueueKind::Fq => {
                let FqParams { round, batch } = FqParams::from_values(values);
                FlowQueueConfig { new_first: true, batch, drop: QueueEnd::Front, ..round.config() }
            }
            FlowQueueKind::Sfq => {
                let SfqParams { round, depth, perturb, drop } = SfqParams::from_values(values);
                FlowQueueConfig { depth, perturb: perturb.0, drop, length: QueueLengthUnit::Packets, ..round.config() }
            }
            FlowQueueKind::Drr => {
                let DrrParams { round, drop } = DrrParams::from_values(values);
                FlowQueueConfig { deficit_rule: TurnEndRule::PacketExceedsCredit, drop, ..round.config() }
            }
        }
    }
}

impl RoundRobinParams {
    fn config(&self) -> FlowQueueConfig {
        FlowQueueConfig {
            flows: self.flows,
            quantum: i64::from(self.quantum),
            salt: self.salt,
            deficit_rule: TurnEndRule::CreditSpent,
            new_first: false,
            depth: u32::MAX,
            batch: 1,
            drop: QueueEnd::Tail,
            length: QueueLengthUnit::Bytes,
            perturb: None,
            l4s_step: self.l4s_step.0,
        }
    }
}
