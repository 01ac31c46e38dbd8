//! Device under test: an AQM in a FIFO buffer, or a discipline with its child.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, EcnSemantics, Values, words};

use ecnlab_queue::discipline::fifo;
use ecnlab_queue::{AqmConfig, AqmEntry, Child, ChildKind, DisciplineEntry, Limit, QueueConfig, Registry};

/// Device under test. Every test case builds new queues from it.
#[derive(Clone, Copy)]
pub struct DeviceUnderTest {
    pub discipline: &'static DisciplineEntry,
    /// `None` if the discipline has a built-in algorithm.
    pub aqm: Option<&'static AqmEntry>,
}

words! {
    /// Values of the parameters.
    pub enum DefaultOrTestValues {
        Defaults = "default values",
        /// Those under which it signals often in a buffer of 20 packets.
        TestParams = "busy values",
    }
}

/// Parameter values of the discipline and the AQM of a device under test.
#[derive(Clone)]
pub struct DutValues {
    pub discipline: Values,
    pub aqm: Option<Values>,
}

impl DeviceUnderTest {
    /// An AQM in a FIFO buffer.
    pub fn from_aqm_in_fifo(entry: &'static AqmEntry) -> DeviceUnderTest {
        DeviceUnderTest { discipline: &fifo::ENTRY, aqm: Some(entry) }
    }

    /// A discipline with the AQM that it has by default; one that holds a queue has a FIFO buffer with drop-tail inside.
    ///
    /// # Panics
    /// If the discipline's default AQM is not in the registry: a fault of its entry.
    pub fn from_discipline_with_default_aqm(entry: &'static DisciplineEntry) -> DeviceUnderTest {
        let named = |name| Registry::builtin().aqm(name).unwrap_or_else(|| panic!("{}: there is no AQM {name}", entry.name));
        let aqm = match entry.child {
            ChildKind::Aqm(name) => Some(named(name)),
            ChildKind::Buffer => None,
            ChildKind::Queue => Some(named("droptail")),
        };
        DeviceUnderTest { discipline: entry, aqm }
    }

    /// Whether the discipline itself is checked: it holds an AQM, and the one that it has by default. FIFO with drop-tail is such a device too.
    pub fn checks_discipline(&self) -> bool {
        let default = || DeviceUnderTest::from_discipline_with_default_aqm(self.discipline).aqm;
        self.aqm.is_some_and(|aqm| default().is_some_and(|default| std::ptr::eq(default, aqm)))
    }

    pub fn name(&self) -> String {
        match (self.discipline.name, self.aqm) {
            ("fifo", Some(aqm)) => aqm.name.to_owned(),
            (discipline, Some(aqm)) => format!("{discipline} with {}", aqm.name),
            (discipline, None) => discipline.to_owned(),
        }
    }

    pub fn parameter_values_of_set(&self, value_set: DefaultOrTestValues) -> DutValues {
        match value_set {
            DefaultOrTestValues::Defaults => DutValues {
                discipline: Values::defaults(self.discipline.parameters),
                aqm: self.aqm.map(|aqm| Values::defaults(aqm.parameters)),
            },
            DefaultOrTestValues::TestParams => {
                DutValues { discipline: self.discipline.test_values(), aqm: self.aqm.map(AqmEntry::test_values) }
            }
        }
    }

    /// Whether a scenario with these values would be refused.
    pub fn has_value_contradictions(&self, values: &DutValues, limit: Limit) -> bool {
        let amount = PacketsOrBytes::from(limit);
        let has_buffer = self.discipline.child != ChildKind::Queue;
        let inside = self.aqm.zip(values.aqm.as_ref()).is_some_and(|(aqm, values)| !aqm.contradictions(values, amount).is_empty());
        inside || !(self.discipline.check)(&values.discipline, has_buffer.then_some(amount)).is_empty()
    }

    pub fn queue_config(&self, values: &DutValues, limit: Limit) -> QueueConfig {
        let inside = |aqm: AqmConfig| match self.discipline.child {
            ChildKind::Queue => Child::Queue(Box::new(QueueConfig::fifo(aqm.entry, aqm.values, limit))),
            ChildKind::Aqm(_) | ChildKind::Buffer => Child::Aqm { aqm, limit },
        };
        let aqm = self.aqm.zip(values.aqm.clone()).map(|(entry, values)| AqmConfig { entry, values });
        QueueConfig { discipline: self.discipline, values: values.discipline.clone(), child: aqm.map_or(Child::Buffer { limit }, inside) }
    }

    /// Meaning of the codepoints on the network that it is used in, so that its marks are understood.
    pub fn ecn_semantics(&self, value_set: DefaultOrTestValues) -> EcnSemantics {
        let lowest_mark = self.queue_config(&self.parameter_values_of_set(value_set), Limit::Packets(20)).lowest_mark_level();
        if lowest_mark == Some(CongestionLevel::Incipient) { EcnSemantics::Mecn } else { EcnSemantics::Classic }
    }

    /// Packets that may wait beyond the buffer's limit: a shaper holds the one that it has taken from the queue inside.
    pub fn held_outside_buffer(&self) -> u32 {
        u32::from(self.discipline.child == ChildKind::Queue)
    }
}

impl std::fmt::Debug for DeviceUnderTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name())
    }
}
