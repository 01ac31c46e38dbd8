//! What a queue is made of: a discipline with its values, and what stands inside it.

use std::sync::Arc;

use ecnlab_units::{Level, Rate, Values};

use crate::discipline::{
    Cbq, DualPi2, Fifo, FlowQueues, Frame, KernelQueue, Limit, Outside, Queue, TokenBucket, cbq, dual, outside, token_bucket,
};
use crate::registry::{AqmEntry, DisciplineEntry, DisciplineKind, Line};

/// A discipline with its values, and what stands inside it. The same composition makes any number of equal queues.
#[derive(Clone)]
pub struct Composition {
    /// The discipline's entry in the registry.
    pub discipline: &'static DisciplineEntry,
    /// The discipline's own values.
    pub values: Values,
    /// What it holds.
    pub inside: Inside,
}

/// What stands inside a discipline.
#[derive(Clone)]
pub enum Inside {
    /// An AQM and a buffer.
    Aqm {
        /// The AQM.
        aqm: AqmChoice,
        /// How much may wait.
        limit: Limit,
    },
    /// A buffer; the law is the discipline's own.
    Law {
        /// How much may wait.
        limit: Limit,
    },
    /// Another queue.
    Queue(Box<Composition>),
    /// A queue of a kernel, in which the packets wait.
    Kernel(Arc<KernelQueue>),
}

/// An AQM with its values.
#[derive(Clone)]
pub struct AqmChoice {
    /// Its entry in the registry.
    pub entry: &'static AqmEntry,
    /// Its values.
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

    /// A queue of a kernel.
    pub fn of_kernel(queue: KernelQueue) -> Composition {
        let discipline = &outside::ENTRY;
        Composition { discipline, values: Values::defaults(discipline.parameters), inside: Inside::Kernel(Arc::new(queue)) }
    }

    /// The kernel's queue that it is, if it is one.
    pub fn kernel(&self) -> Option<&KernelQueue> {
        match &self.inside {
            Inside::Kernel(queue) => Some(queue),
            Inside::Aqm { .. } | Inside::Law { .. } | Inside::Queue(_) => None,
        }
    }

    /// The queue, for a link of this rate.
    ///
    /// # Panics
    /// If the discipline holds something else than its entry declares.
    pub fn build<F: Frame>(&self, rate: Rate) -> Queue<F> {
        match (self.discipline.kind, &self.inside) {
            (DisciplineKind::Fifo, Inside::Aqm { aqm, limit }) => Fifo::new(aqm.make(rate, *limit), *limit).into(),
            (DisciplineKind::Dual, Inside::Law { limit }) => DualPi2::new(dual::Settings::of(&self.values), *limit).into(),
            (DisciplineKind::Cbq, Inside::Queue(inner)) => {
                Cbq::new(&cbq::Settings::of(&self.values), rate, inner.build(self.slower(rate))).into()
            }
            (DisciplineKind::TokenBucket, Inside::Queue(inner)) => {
                TokenBucket::new(&token_bucket::Settings::of(&self.values), inner.build(self.slower(rate))).into()
            }
            (DisciplineKind::FlowQueues(scheme), Inside::Aqm { aqm, limit }) => {
                FlowQueues::new(scheme.plan(&self.values), *limit, || aqm.make(rate, *limit)).into()
            }
            (DisciplineKind::Outside, Inside::Kernel(_)) => Outside::default().into(),
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
            Inside::Aqm { .. } | Inside::Law { .. } | Inside::Kernel(_) => self.discipline.bands,
        }
    }

    /// The AQM inside, if there is one.
    pub fn aqm(&self) -> Option<&AqmChoice> {
        match &self.inside {
            Inside::Aqm { aqm, .. } => Some(aqm),
            Inside::Law { .. } | Inside::Kernel(_) => None,
            Inside::Queue(inner) => inner.aqm(),
        }
    }

    /// Whether it keeps a low-latency queue for ECT(1) packets.
    pub fn serves_l4s(&self) -> bool {
        match &self.inside {
            Inside::Queue(inner) => inner.serves_l4s(),
            Inside::Aqm { .. } | Inside::Law { .. } | Inside::Kernel(_) => self.discipline.kind == DisciplineKind::Dual,
        }
    }

    /// How many gauges it shows at most: those of all that it is made of.
    pub fn gauges(&self) -> usize {
        let inside = match &self.inside {
            Inside::Aqm { aqm, .. } => aqm.entry.gauges.len(),
            Inside::Law { .. } | Inside::Kernel(_) => 0,
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
            Inside::Law { .. } | Inside::Kernel(_) => (self.discipline.marks)(&self.values),
            Inside::Queue(inner) => inner.marks(),
        }
    }
}

impl AqmChoice {
    /// The AQM, for a line of this rate and a buffer of this limit.
    pub fn make(&self, rate: Rate, limit: Limit) -> Box<dyn crate::Aqm> {
        (self.entry.make)(&self.values, &Line { rate, limit })
    }
}

impl std::fmt::Debug for Composition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.discipline.name)?;
        let inside = self.aqm().map(|aqm| aqm.entry.name).or(self.kernel().map(|queue| queue.name.as_str()));
        inside.map_or(Ok(()), |name| write!(f, " {name}"))
    }
}
