//! A discipline as users meet it: name, sentence, source, parameters, bands, and the child that it takes.

use ecnlab_units::parameter::Values;
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Parameter};

use super::flow_queues::FlowQueueKind;
use crate::aqm::entry::{Contradictions, Gauge, default_values_with_overrides};

/// Declaration of a discipline.
pub struct DisciplineEntry {
    /// Word by which scenarios name it.
    pub name: &'static str,
    /// Name in running text.
    pub title: &'static str,
    /// One sentence on its behaviour.
    pub summary: &'static str,
    /// Paper, RFC or program that it follows.
    pub source: &'static str,
    /// Parameters that a user may set.
    pub parameters: &'static [Parameter],
    /// Kind of its child.
    pub child: ChildKind,
    /// Internal values that it reports, beside those of its AQM.
    pub gauges: &'static [Gauge],
    /// Names of the bands that its packets are served in, where there are several.
    pub band_names: &'static [&'static str],
    /// Lowest congestion level that it marks by itself under these values, besides an AQM inside; none if it marks no packet.
    pub lowest_mark: fn(&Values) -> Option<CongestionLevel>,
    /// Contradictions among the parameters and the limit of the buffer, where it has one.
    pub check: fn(&Values, Option<PacketsOrBytes>) -> Contradictions,
    /// Values under which its built-in AQM signals often in a buffer of 20 packets: tests run with them.
    pub test_params: &'static [(&'static str, &'static str)],
    /// Discipline that it builds.
    pub kind: DisciplineKind,
}

/// Kind of a discipline's child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildKind {
    /// An AQM, by default the one of this name, and a buffer with a limit.
    Aqm(&'static str),
    /// A buffer with a limit; the AQM is built into the discipline.
    Buffer,
    /// Another queue, which has the buffer.
    Queue,
}

/// Discipline that an entry builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisciplineKind {
    /// Two coupled buffers.
    Dual,
    /// One buffer with an AQM.
    Fifo,
    /// A bounded class around another queue.
    Cbq,
    /// A token bucket around another queue.
    TokenBucket,
    /// A queue for each flow.
    FlowQueues(FlowQueueKind),
    /// Packets that wait in a kernel.
    KernelMirror,
}

impl DisciplineEntry {
    /// The end of every declaration (`..DisciplineEntry::DEFAULTS`): a FIFO without parameters and gauges.
    pub const DEFAULTS: DisciplineEntry = DisciplineEntry {
        name: "",
        title: "",
        summary: "",
        source: "",
        parameters: &[],
        child: ChildKind::Aqm("droptail"),
        gauges: &[],
        band_names: &[],
        lowest_mark: |_| None,
        check: |_, _| Vec::new(),
        test_params: &[],
        kind: DisciplineKind::Fifo,
    };

    /// The parameters of its built-in AQM under the values that tests run with.
    ///
    /// # Panics
    /// If a test value does not fit its parameter: a fault of the entry, which a test looks for.
    pub fn test_values(&self) -> Values {
        default_values_with_overrides(self.name, self.parameters, self.test_params)
    }
}
