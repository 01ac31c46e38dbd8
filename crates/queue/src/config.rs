//! Configuration of a queue: a discipline with its values, and its child.

use std::sync::Arc;

use ecnlab_units::{CongestionLevel, Rate, Values};

use crate::aqm::entry::{AqmEntry, LinkParams};
use crate::discipline::entry::{DisciplineEntry, DisciplineKind};
use crate::discipline::{
    Cbq, DualPi2, Fifo, FlowQueues, KernelQdisc, KernelQueueMirror, Queue, QueueItem, TokenBucket, cbq, dual, kernel_mirror, token_bucket,
};
use crate::limit::Limit;

/// A discipline with its values and its child. One config builds any number of equal queues.
#[derive(Clone)]
pub struct QueueConfig {
    /// The discipline's entry in the registry.
    pub discipline: &'static DisciplineEntry,
    /// The discipline's own values.
    pub values: Values,
    /// Its child.
    pub child: Child,
}

/// Child of a discipline.
#[derive(Clone)]
pub enum Child {
    /// An AQM and a buffer.
    Aqm {
        /// The AQM.
        aqm: AqmConfig,
        /// Limit of the buffer.
        limit: Limit,
    },
    /// A buffer; the AQM is built into the discipline.
    Buffer {
        /// Limit of the buffer.
        limit: Limit,
    },
    /// Another queue.
    Queue(Box<QueueConfig>),
    /// A queue of a kernel, in which the packets wait.
    Kernel(Arc<KernelQdisc>),
}

/// An AQM with its values.
#[derive(Clone)]
pub struct AqmConfig {
    /// Its entry in the registry.
    pub entry: &'static AqmEntry,
    /// Its values.
    pub values: Values,
}

impl QueueConfig {
    /// A FIFO buffer with this AQM.
    pub fn fifo(entry: &'static AqmEntry, values: Values, limit: Limit) -> QueueConfig {
        let discipline = &crate::discipline::fifo::ENTRY;
        QueueConfig {
            discipline,
            values: Values::defaults(discipline.parameters),
            child: Child::Aqm { aqm: AqmConfig { entry, values }, limit },
        }
    }

    /// A queue of a kernel.
    pub fn from_kernel_qdisc(queue: KernelQdisc) -> QueueConfig {
        let discipline = &kernel_mirror::ENTRY;
        QueueConfig { discipline, values: Values::defaults(discipline.parameters), child: Child::Kernel(Arc::new(queue)) }
    }

    /// The kernel's queue that it is, if it is one.
    pub fn wrapped_kernel_qdisc(&self) -> Option<&KernelQdisc> {
        match &self.child {
            Child::Kernel(queue) => Some(queue),
            Child::Aqm { .. } | Child::Buffer { .. } | Child::Queue(_) => None,
        }
    }

    /// The queue, for a link of this rate.
    ///
    /// # Panics
    /// If the discipline holds something else than its entry declares.
    pub fn build<F: QueueItem>(&self, rate: Rate) -> Queue<F> {
        match (self.discipline.kind, &self.child) {
            (DisciplineKind::Fifo, Child::Aqm { aqm, limit }) => Fifo::new(aqm.build(rate, *limit), *limit).into(),
            (DisciplineKind::Dual, Child::Buffer { limit }) => DualPi2::new(dual::Settings::from_values(&self.values), *limit).into(),
            (DisciplineKind::Cbq, Child::Queue(inner)) => {
                Cbq::new(&cbq::Settings::from_values(&self.values), rate, inner.build(self.inner_rate(rate))).into()
            }
            (DisciplineKind::TokenBucket, Child::Queue(inner)) => {
                TokenBucket::new(&token_bucket::Settings::from_values(&self.values), inner.build(self.inner_rate(rate))).into()
            }
            (DisciplineKind::FlowQueues(kind), Child::Aqm { aqm, limit }) => {
                FlowQueues::new(kind.config(&self.values), *limit, || aqm.build(rate, *limit)).into()
            }
            (DisciplineKind::KernelMirror, Child::Kernel(_)) => KernelQueueMirror::default().into(),
            _ => panic!("{} cannot contain this child", self.discipline.name),
        }
    }

    /// The rate at which the child queue is served, on a link of this rate.
    fn inner_rate(&self, link: Rate) -> Rate {
        self.shaped_rate().map_or(link, |rate| rate.min(link))
    }

    /// The rate to which the discipline shapes its child, if it is a shaper.
    pub fn shaped_rate(&self) -> Option<Rate> {
        matches!(self.discipline.kind, DisciplineKind::Cbq | DisciplineKind::TokenBucket).then(|| self.values.get_as("rate"))
    }

    /// The queue inside all shapers, or itself.
    fn innermost(&self) -> &QueueConfig {
        if let Child::Queue(inner) = &self.child { inner.innermost() } else { self }
    }

    /// The names of the bands that its packets are served in, where there are several.
    pub fn band_names(&self) -> &'static [&'static str] {
        self.innermost().discipline.band_names
    }

    /// The AQM of the innermost queue, if it has one.
    pub fn aqm(&self) -> Option<&AqmConfig> {
        if let Child::Aqm { aqm, .. } = &self.innermost().child { Some(aqm) } else { None }
    }

    /// Whether a threshold of it marks ECT(1) packets earlier than others in the same flow queue.
    pub fn marks_ect1_earlier(&self) -> bool {
        let QueueConfig { discipline, values, .. } = self.innermost();
        self.aqm().is_some_and(|aqm| {
            let in_discipline = matches!(discipline.kind, DisciplineKind::FlowQueues(_)) && (discipline.lowest_mark)(values).is_some();
            in_discipline || (aqm.entry.marks_ect1_earlier)(&aqm.values)
        })
    }

    /// Whether it keeps a low-latency queue for ECT(1) packets.
    pub fn has_l4s_queue(&self) -> bool {
        self.innermost().discipline.kind == DisciplineKind::Dual
    }

    /// Maximum number of gauges: those of the discipline and of all its children.
    pub fn gauge_count(&self) -> usize {
        let inner =
            if let Child::Queue(inner) = &self.child { inner.gauge_count() } else { self.aqm().map_or(0, |aqm| aqm.entry.gauges.len()) };
        self.discipline.gauges.len() + inner
    }

    /// Name and digest of the AQMs in it that are not part of this crate.
    pub fn user_aqm_names_and_digests(&self) -> Vec<(&'static str, &'static str)> {
        self.aqm().map(|aqm| (aqm.entry.name, aqm.entry.source_digest)).filter(|(_, digest)| !digest.is_empty()).into_iter().collect()
    }

    /// The quietest mark that it writes; nothing if it marks no packet.
    pub fn lowest_mark_level(&self) -> Option<CongestionLevel> {
        let QueueConfig { discipline, values, .. } = self.innermost();
        self.aqm().and_then(|aqm| (aqm.entry.lowest_mark)(&aqm.values)).or_else(|| (discipline.lowest_mark)(values))
    }
}

impl AqmConfig {
    /// The AQM, for a line of this rate and a buffer of this limit.
    pub fn build(&self, rate: Rate, limit: Limit) -> Box<dyn crate::Aqm> {
        (self.entry.make)(&self.values, &LinkParams { rate, limit })
    }
}

impl std::fmt::Debug for QueueConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.discipline.name)?;
        let child = self.aqm().map(|aqm| aqm.entry.name).or(self.wrapped_kernel_qdisc().map(|queue| queue.name.as_str()));
        child.map_or(Ok(()), |name| write!(f, " {name}"))
    }
}
