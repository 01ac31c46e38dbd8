//! What a queue is made of: a discipline with its values, and what stands inside it.

use ecnlab_units::{Level, Rate, Values};

use crate::discipline::{Cbq, Fifo, FlowQueues, Frame, Limit, Queue, TokenBucket, cbq, token_bucket};
use crate::registry::{AqmEntry, DisciplineEntry, DisciplineKind, Line};

/// A discipline with its values, and what stands inside it. The same composition makes any number of equal queues.
#[derive(Clone)]
pub struct Composition {
    pub discipline: &'static DisciplineEntry,
    pub values: Values,
    pub inside: Inside,
}

/// What stands inside a discipline.
#[derive(Clone)]
pub enum Inside {
    Aqm { aqm: AqmChoice, limit: Limit },
    Law { limit: Limit },
    Queue(Box<Composition>),
}

/// An AQM with its values.
#[derive(Clone)]
pub struct AqmChoice {
    pub entry: &'static AqmEntry,
    pub values: Values,
}

impl Composition {
    /// A FIFO buffer with this AQM.
    pub fn fifo(entry: &'static AqmEntry, values: Values, limit: Limit) -> Composition {
        let discipline = &crate::discipline::fifo::ENTRY;
        Composition {
            discipline,
            values: Values::defaults(discipline.parameters),
            inside: Inside::Aqm { aqm: AqmChoice { entry, values }, limit },
        }
    }

    /// The queue, for a link of this rate.
    ///
    /// # Panics
    /// If the discipline holds something else than its entry declares.
    pub fn build<F: Frame>(&self, rate: Rate) -> Queue<F> {
        match (self.discipline.kind, &self.inside) {
            (DisciplineKind::Fifo, Inside::Aqm { aqm, limit }) => Fifo::new(aqm.make(rate, *limit), *limit).into(),
            (DisciplineKind::Cbq, Inside::Queue(inner)) => {
                Cbq::new(&cbq::Settings::of(&self.values), rate, inner.build(self.slower(rate))).into()
            }
            (DisciplineKind::TokenBucket, Inside::Queue(inner)) => {
                TokenBucket::new(&token_bucket::Settings::of(&self.values), inner.build(self.slower(rate))).into()
            }
            (DisciplineKind::FlowQueues(scheme), Inside::Aqm { aqm, limit }) => {
                FlowQueues::new(scheme.plan(&self.values), *limit, || aqm.make(rate, *limit)).into()
            }
            _ => panic!("{} does not hold what stands inside it", self.discipline.name),
        }
    }

    /// The rate at which the queue inside is served, on a link of this rate.
    fn slower(&self, link: Rate) -> Rate {
        self.shaped_to().map_or(link, |rate| rate.min(link))
    }

    /// The rate to which the discipline itself shapes what stands inside it, if it does.
    pub fn shaped_to(&self) -> Option<Rate> {
        matches!(self.discipline.kind, DisciplineKind::Cbq | DisciplineKind::TokenBucket).then(|| self.values.get("rate"))
    }

    /// The names of the bands that its packets are served in, where there are several.
    pub fn bands(&self) -> &'static [&'static str] {
        match &self.inside {
            Inside::Queue(inner) => inner.bands(),
            Inside::Aqm { .. } | Inside::Law { .. } => self.discipline.bands,
        }
    }

    /// The AQM inside, if there is one.
    pub fn aqm(&self) -> Option<&AqmChoice> {
        match &self.inside {
            Inside::Aqm { aqm, .. } => Some(aqm),
            Inside::Law { .. } => None,
            Inside::Queue(inner) => inner.aqm(),
        }
    }

    /// How many gauges it shows at most: those of all that it is made of.
    pub fn gauges(&self) -> usize {
        let inside = match &self.inside {
            Inside::Aqm { aqm, .. } => aqm.entry.gauges.len(),
            Inside::Law { .. } => 0,
            Inside::Queue(inner) => inner.gauges(),
        };
        self.discipline.gauges.len() + inside
    }

    /// Name and digest of the AQMs in it that are not part of this crate.
    pub fn brought(&self) -> Vec<(&'static str, &'static str)> {
        self.aqm().map(|aqm| (aqm.entry.name, aqm.entry.digest)).filter(|(_, digest)| !digest.is_empty()).into_iter().collect()
    }

    /// The quietest mark that it writes; nothing if it marks no packet.
    pub fn marks(&self) -> Option<Level> {
        match &self.inside {
            Inside::Aqm { aqm, .. } => (aqm.entry.marks)(&aqm.values),
            Inside::Law { .. } => (self.discipline.marks)(&self.values),
            Inside::Queue(inner) => inner.marks(),
        }
    }
}

impl AqmChoice {
    pub fn make(&self, rate: Rate, limit: Limit) -> Box<dyn crate::Aqm> {
        (self.entry.make)(&self.values, &Line { rate, limit })
    }
}

impl std::fmt::Debug for Composition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.discipline.name)?;
        self.aqm().map_or(Ok(()), |aqm| write!(f, " {}", aqm.entry.name))
    }
}
