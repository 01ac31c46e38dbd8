//! What always holds of a queue, and how a breach of it is told.

use ecnlab_units::words;

words! {
    /// What always holds of a queue, whatever is inside it.
    pub enum Rule {
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

impl Rule {
    /// The rule in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Rule::Sound => "Nothing makes it panic.",
            Rule::Books => {
                "Every packet that arrives is sent, dropped or still waiting, and each deed is told once, with the packet as it is then."
            }
            Rule::Limit => "No more waits than the buffer may hold.",
            Rule::Marks => "A mark lands only on an ECN-capable packet, makes it louder, and is as loud as the registry declares.",
            Rule::Order => "Packets of one flow leave in the order in which they came.",
            Rule::Full => "A packet that does not fit brings a drop.",
            Rule::Empty => "The first packet to an empty queue passes.",
            Rule::Rest => "After a minute of rest the first packet passes, however busy the queue was before.",
            Rule::Repeat => "The same packets and the same random numbers bring the same deeds.",
            Rule::Reports => {
                "A discipline reports to the AQM of each buffer every packet that comes into the buffer and every one that leaves it."
            }
            Rule::Timers => "Only an expiry changes the deadline, and always to a later time.",
            Rule::Gauges => "The gauges are the declared ones, and they and the average are finite.",
            Rule::Later => "A queue that says when to ask again has a packet to send then.",
            Rule::Work => "What a packet costs does not grow with the queue.",
            Rule::Values => "All of this holds with any values within the declared bounds.",
        }
    }
}

/// A breach of a rule: which, where and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub rule: Rule,
    pub what: String,
}

impl Fault {
    pub fn new(rule: Rule, what: impl Into<String>) -> Fault {
        Fault { rule, what: what.into() }
    }

    /// With the place in front.
    pub fn at(self, place: impl std::fmt::Display) -> Fault {
        Fault { what: format!("{place}: {}", self.what), ..self }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.rule.sentence(), self.what)
    }
}

/// What is found if a condition does not hold.
macro_rules! ensure {
    ($holds:expr, $rule:ident, $($what:tt)+) => {
        if !$holds {
            return Err($crate::conformance::rule::Fault::new($crate::conformance::rule::Rule::$rule, format!($($what)+)));
        }
    };
}

pub(super) use ensure;
