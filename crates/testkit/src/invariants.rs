//! Invariants of every queue, and violations of them.

use ecnlab_units::words;

words! {
    /// A property that always holds of a queue, whatever is inside it.
    pub enum Invariant {
        Sound = "sound",
        Books = "books",
        Limit = "limit",
        Marks = "marks",
        Order = "order",
        Full = "full",
        Empty = "empty",
        Rest = "rest",
        Repeat = "repeat",
        Reports = "reports",
        Timers = "timers",
        Gauges = "gauges",
        Later = "later",
        Work = "work",
        Values = "values",
    }
}

impl Invariant {
    /// The invariant in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Invariant::Sound => "Nothing makes it panic.",
            Invariant::Books => {
                "Every packet that arrives is sent, dropped or still waiting, and each deed is told once, with the packet as it is then."
            }
            Invariant::Limit => "No more waits than the buffer may hold.",
            Invariant::Marks => "A mark lands only on an ECN-capable packet, makes it louder, and is as loud as the registry declares.",
            Invariant::Order => "Packets of one flow leave in the order in which they came.",
            Invariant::Full => "A packet that does not fit brings a drop.",
            Invariant::Empty => "The first packet to an empty queue passes.",
            Invariant::Rest => "After a minute of rest the first packet passes, however busy the queue was before.",
            Invariant::Repeat => "The same packets and the same random numbers bring the same deeds.",
            Invariant::Reports => {
                "A discipline reports to the AQM of each buffer every packet that comes into the buffer and every one that leaves it."
            }
            Invariant::Timers => "Only an expiry changes the deadline, and always to a later time.",
            Invariant::Gauges => "The gauges are the declared ones, and they and the average are finite.",
            Invariant::Later => "A queue that says when to ask again has a packet to send then.",
            Invariant::Work => "What a packet costs does not grow with the queue.",
            Invariant::Values => "All of this holds with any values within the declared bounds.",
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
    pub fn at(self, place: impl std::fmt::Display) -> Violation {
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
