//! What is judged: an AQM in a FIFO buffer, or a discipline with what stands inside it.

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Dialect, Level, Values};

use crate::discipline::fifo;
use crate::registry::{AqmEntry, DisciplineEntry, Holds, Registry};
use crate::{AqmChoice, Composition, Inside, Limit};

/// What is judged. A new queue is made of it for every trial.
#[derive(Clone, Copy)]
pub struct Subject {
    pub discipline: &'static DisciplineEntry,
    /// Nothing where the discipline has a law of its own.
    pub aqm: Option<&'static AqmEntry>,
}

/// Which values the parameters have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Defaults,
    /// Those under which it signals often in a buffer of 20 packets.
    Busy,
}

/// The values of a subject's discipline and AQM.
#[derive(Clone)]
pub struct Chosen {
    pub discipline: Values,
    pub aqm: Option<Values>,
}

impl Subject {
    /// An AQM in a FIFO buffer.
    pub fn aqm(entry: &'static AqmEntry) -> Subject {
        Subject { discipline: &fifo::ENTRY, aqm: Some(entry) }
    }

    /// A discipline with the AQM that it has by default; one that holds a queue has a FIFO buffer with drop-tail inside.
    ///
    /// # Panics
    /// If the discipline's default AQM is not in the registry: a fault of its entry.
    pub fn discipline(entry: &'static DisciplineEntry) -> Subject {
        let named = |name| Registry::builtin().aqm(name).unwrap_or_else(|| panic!("{}: there is no AQM {name}", entry.name));
        let aqm = match entry.holds {
            Holds::Aqm(name) => Some(named(name)),
            Holds::Law => None,
            Holds::Queue => Some(named("droptail")),
        };
        Subject { discipline: entry, aqm }
    }

    /// Whether the discipline itself is judged: it holds an AQM, and the one that it has by default. FIFO with drop-tail is such a subject too.
    pub fn judges_discipline(&self) -> bool {
        let default = || Subject::discipline(self.discipline).aqm;
        self.aqm.is_some_and(|aqm| default().is_some_and(|default| std::ptr::eq(default, aqm)))
    }

    pub fn name(&self) -> String {
        match (self.discipline.name, self.aqm) {
            ("fifo", Some(aqm)) => aqm.name.to_owned(),
            (discipline, Some(aqm)) => format!("{discipline} with {}", aqm.name),
            (discipline, None) => discipline.to_owned(),
        }
    }

    pub fn values(&self, setting: Setting) -> Chosen {
        match setting {
            Setting::Defaults => Chosen {
                discipline: Values::defaults(self.discipline.parameters),
                aqm: self.aqm.map(|aqm| Values::defaults(aqm.parameters)),
            },
            Setting::Busy => Chosen { discipline: self.discipline.busy_values(), aqm: self.aqm.map(AqmEntry::busy_values) },
        }
    }

    /// Whether a scenario with these values would be refused.
    pub fn refuses(&self, chosen: &Chosen, limit: Limit) -> bool {
        let amount = match limit {
            Limit::Packets(packets) => Amount::Packets(f64::from(packets)),
            Limit::Bytes(bytes) => Amount::Bytes(bytes as f64),
        };
        let has_buffer = self.discipline.holds != Holds::Queue;
        let inside = self.aqm.zip(chosen.aqm.as_ref()).is_some_and(|(aqm, values)| !aqm.contradictions(values, amount).is_empty());
        inside || !(self.discipline.check)(&chosen.discipline, has_buffer.then_some(amount)).is_empty()
    }

    pub fn composition(&self, chosen: &Chosen, limit: Limit) -> Composition {
        let inside = |aqm: AqmChoice| match self.discipline.holds {
            Holds::Queue => Inside::Queue(Box::new(Composition::fifo(aqm.entry, aqm.values, limit))),
            Holds::Aqm(_) | Holds::Law => Inside::Aqm { aqm, limit },
        };
        let aqm = self.aqm.zip(chosen.aqm.clone()).map(|(entry, values)| AqmChoice { entry, values });
        Composition { discipline: self.discipline, values: chosen.discipline.clone(), inside: aqm.map_or(Inside::Law { limit }, inside) }
    }

    /// What the codepoints mean where it is used: what it writes is to be understood.
    pub fn dialect(&self, setting: Setting) -> Dialect {
        let quietest = self.composition(&self.values(setting), Limit::Packets(20)).marks();
        if quietest == Some(Level::Incipient) { Dialect::Mecn } else { Dialect::Classic }
    }

    /// Packets that may wait beyond the buffer's limit: a shaper holds the one that it has taken from the queue inside.
    pub fn beyond(&self) -> u32 {
        u32::from(self.discipline.holds == Holds::Queue)
    }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name())
    }
}
