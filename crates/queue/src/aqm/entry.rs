//! An AQM as users meet it: name, sentence, source, parameters, gauges, and how it is built.

use ecnlab_units::parameter::{ReadCondition, Values};
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Parameter, Rate, Rng};

use super::{Aqm, Arrival, EnqueueVerdict};
use crate::limit::Limit;

/// Builds an AQM from values that were read for its entry, for a link.
pub type MakeAqm = &'static (dyn Fn(&Values, &LinkParams) -> Box<dyn Aqm> + Sync + Send);

/// Contradictions among values: the parameter's name and the reason.
pub type Contradictions = Vec<(&'static str, String)>;

/// Finds contradictions among the values of a user-defined AQM.
pub type CheckUserAqm = &'static (dyn Fn(&Values) -> Contradictions + Sync + Send);

/// Link that the queue feeds, and the queue's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParams {
    /// Rate at which the link sends.
    pub rate: Rate,
    /// Limit of the buffer.
    pub limit: Limit,
}

/// Declaration of an AQM.
pub struct AqmEntry {
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
    /// Parameters of a shared table that this algorithm never reads.
    pub unread_parameters: &'static [&'static str],
    /// Parameters of a shared table that this algorithm, unlike others, reads only under a condition.
    pub read_when: &'static [(&'static str, ReadCondition)],
    /// Internal values that it reports.
    pub gauges: &'static [Gauge],
    /// Lowest congestion level that it marks under these values; none if it marks no packet.
    pub lowest_mark: fn(&Values) -> Option<CongestionLevel>,
    /// Whether it marks ECT(1) packets earlier than others under these values.
    pub marks_ect1_earlier: fn(&Values) -> bool,
    /// Contradictions among the parameters and the buffer's limit.
    pub check: fn(&Values, PacketsOrBytes) -> Contradictions,
    /// The same of a user-defined AQM.
    pub check_user_aqm: Option<CheckUserAqm>,
    /// Values under which it signals often in a buffer of 20 packets: tests run with them.
    pub test_params: &'static [(&'static str, &'static str)],
    /// Digest of the source of a user-defined AQM; empty for built-in ones.
    pub source_digest: &'static str,
    /// Builds it.
    pub make: MakeAqm,
}

/// A value that an AQM or a discipline reports while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// Word that names it.
    pub name: &'static str,
    /// Its unit; "1" where it has none.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Symbol in its paper or RFC, such as "p_b"; empty where it has none.
    pub symbol: &'static str,
}

impl Gauge {
    /// A value without a symbol.
    pub const fn new(name: &'static str, unit: &'static str, doc: &'static str) -> Gauge {
        Gauge { name, unit, doc, symbol: "" }
    }
}

impl AqmEntry {
    /// Defaults of an entry's fields; with nothing else set, the AQM is plain drop-tail.
    pub const DEFAULTS: AqmEntry = AqmEntry {
        name: "",
        title: "",
        summary: "",
        source: "",
        parameters: &[],
        unread_parameters: &[],
        read_when: &[],
        gauges: &[],
        lowest_mark: |_| None,
        marks_ect1_earlier: |_| false,
        check: |_, _| Vec::new(),
        check_user_aqm: None,
        test_params: &[],
        source_digest: "",
        make: &|_, _| Box::new(NoSignals),
    };

    /// It marks with the level Congested and no lower one.
    pub const MARK_LEVEL_CONGESTED: fn(&Values) -> Option<CongestionLevel> = |_| Some(CongestionLevel::Congested);

    /// It marks with the level Congested if its parameter `ecn` is on, and marks nothing if it is off.
    pub const MARK_LEVEL_CONGESTED_IF_ECN: fn(&Values) -> Option<CongestionLevel> =
        |values| values.get_as::<bool>("ecn").then_some(CongestionLevel::Congested);

    /// `mark_limit` of RED's table is read only where the parameter `ecn` is on.
    pub const MARK_LIMIT_READ_IF_ECN: &[(&'static str, ReadCondition)] =
        &[("mark_limit", ReadCondition { parameter: "ecn", values: &["true"] })];

    /// Parameters of the entry but for the unread ones, each with the condition under which it is read.
    pub fn parameters_with_conditions(&self) -> Vec<Parameter> {
        let read = self.parameters.iter().filter(|parameter| !self.unread_parameters.contains(&parameter.name));
        read.map(|parameter| {
            let own = self.read_when.iter().find(|(name, _)| *name == parameter.name);
            Parameter { read_when: own.map_or(parameter.read_when, |(_, condition)| std::slice::from_ref(condition)), ..*parameter }
        })
        .collect()
    }

    /// Contradictions among the parameters and the buffer's limit.
    pub fn contradictions(&self, values: &Values, limit: PacketsOrBytes) -> Contradictions {
        let mut found = (self.check)(values, limit);
        found.extend(self.check_user_aqm.map(|check| check(values)).unwrap_or_default());
        found
    }

    /// Its parameters under the values that tests run with.
    ///
    /// # Panics
    /// If a test value does not fit its parameter: a fault of the entry, which a test looks for.
    pub fn test_values(&self) -> Values {
        default_values_with_overrides(self.name, self.parameters, self.test_params)
    }
}

/// Defaults of `parameters` with other values from text for some of them.
pub(crate) fn default_values_with_overrides<'a>(
    entry: &str,
    parameters: &'static [Parameter],
    others: impl IntoIterator<Item = &'a (&'a str, &'a str)>,
) -> Values {
    let mut values = Values::defaults(parameters);
    for (name, text) in others {
        values.set_from_text(name, text).unwrap_or_else(|why| panic!("{entry}: {name} = {text}: {why}"));
    }
    values
}

/// No signals: the discipline drops the arriving packet at a full buffer.
struct NoSignals;

impl Aqm for NoSignals {
    fn on_enqueue(&mut self, _arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        EnqueueVerdict::Pass
    }

    fn signals_arriving_packets_only(&self) -> bool {
        true
    }
}
