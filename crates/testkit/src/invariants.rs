//! Invariants of every queue, and violations of them.

use ecnlab_units::words;

words! {
    /// A property that always holds for a queue with any child.
    pub enum Invariant {
        NoPanic = "no-panic",
        Conservation = "conservation",
        BufferLimit = "buffer-limit",
        Marks = "marks",
        Order = "order",
        FullBuffer = "full-buffer",
        EmptyQueue = "empty-queue",
        AfterIdle = "after-idle",
        Determinism = "determinism",
        Reports = "reports",
        Timers = "timers",
        Gauges = "gauges",
        DequeueTime = "dequeue-time",
        WorkPerPacket = "work-per-packet",
        ParameterValues = "parameter-values",
    }
}

impl Invariant {
    /// The invariant in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Invariant::NoPanic => "The code of the queue never panics.",
            Invariant::Conservation => {
                "Every arriving packet is sent, dropped or still queued, and each queue event is reported once, with the packet in its current state."
            }
            Invariant::BufferLimit => "The backlog never exceeds the buffer's limit.",
            Invariant::Marks => {
                "A mark applies only to an ECN-capable packet, raises its congestion level, and has a level that the registry declares."
            }
            Invariant::Order => "Packets of one flow leave in the order of their arrival.",
            Invariant::FullBuffer => "A packet that does not fit causes a drop.",
            Invariant::EmptyQueue => "The first packet to an empty queue passes.",
            Invariant::AfterIdle => "After an idle minute the first packet passes, after any load.",
            Invariant::Determinism => "The same packets and random numbers lead to the same queue events.",
            Invariant::Reports => "A discipline reports every enqueue and every dequeue of a buffer to the AQM of that buffer.",
            Invariant::Timers => "Only an expired timer changes the next one, and always to a later time.",
            Invariant::Gauges => "The gauges are the declared ones, and they and the average are finite.",
            Invariant::DequeueTime => "A queue that returns a time for the next dequeue has a packet to send at that time.",
            Invariant::WorkPerPacket => "The work per packet does not grow with the queue length.",
            Invariant::ParameterValues => "All rules hold with any values within the declared bounds.",
        }
    }
}

/// Violation of an invariant: which, where and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    pub message: String,
}

impl Violation {
    pub fn new(invariant: Invariant, message: impl Into<String>) -> Violation {
        Violation { invariant, message: message.into() }
    }

    /// With the place in front.
    pub fn with_message_prefix(self, place: impl std::fmt::Display) -> Violation {
        Violation { message: format!("{place}: {}", self.message), ..self }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.invariant.sentence(), self.message)
    }
}

/// A violation if a condition does not hold.
macro_rules! ensure {
    ($holds:expr, $invariant:ident, $($message:tt)+) => {
        if !$holds {
            return Err($crate::invariants::Violation::new($crate::invariants::Invariant::$invariant, format!($($message)+)));
        }
    };
}

pub(super) use ensure;
