//! What there is, by name: AQMs, and the disciplines that hold them. Adding one is one file and one entry here.
//!
//! A [`Registry`] is a value that scenarios are read against: the built-in entries, and those of AQMs that a user brings.

use ecnlab_units::parameter::{Condition, Values};
use ecnlab_units::quantity::Amount;
use ecnlab_units::{Level, Parameter, Rate};

use crate::aqm::{self, Aqm, droptail};
use crate::discipline::{self, Limit};

/// Makes an AQM of values that were read for its entry, for a line.
pub type MakeAqm = &'static (dyn Fn(&Values, &Line) -> Box<dyn Aqm> + Sync + Send);

/// What contradicts itself: the parameter's name and what is wrong.
pub type Contradictions = Vec<(&'static str, String)>;

/// Finds what contradicts itself among the values of an AQM that a user brings.
pub type CheckBrought = &'static (dyn Fn(&Values) -> Contradictions + Sync + Send);

/// The line that an AQM stands before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// How fast it sends.
    pub rate: Rate,
    /// How much may wait.
    pub limit: Limit,
}

/// An AQM as users meet it: its name, what it is, its parameters and how it is made.
pub struct AqmEntry {
    /// The word that names it.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper, RFC or program that it follows.
    pub source: &'static str,
    /// What a user may set.
    pub parameters: &'static [Parameter],
    /// Parameters of a shared table that this algorithm never reads.
    pub unread: &'static [&'static str],
    /// Parameters of a shared table that this algorithm, unlike others, reads only under a condition.
    pub read_when: &'static [(&'static str, Condition)],
    /// What it shows of itself.
    pub gauges: &'static [Gauge],
    /// The quietest mark that it writes under these values; nothing if it marks no packet.
    pub marks: fn(&Values) -> Option<Level>,
    /// Contradictions among the parameters and the buffer's limit: the parameter's name and what is wrong.
    pub check: fn(&Values, Amount) -> Contradictions,
    /// The same of an AQM that is not part of this crate.
    pub check_brought: Option<CheckBrought>,
    /// Values under which it signals often in a buffer of 20 packets: those that tests are run under.
    pub busy: &'static [(&'static str, &'static str)],
    /// A digest of the source, of an AQM that is not part of this crate.
    pub digest: &'static str,
    /// Makes it.
    pub make: MakeAqm,
}

/// A value that an AQM or a discipline shows while it works.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// The word that names it.
    pub name: &'static str,
    /// Its unit; "1" where it has none.
    pub unit: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// How its paper or RFC writes it, such as "p_b"; empty where it has no symbol.
    pub symbol: &'static str,
}

/// A discipline as users meet it.
pub struct DisciplineEntry {
    /// The word that names it.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// The paper, RFC or program that it follows.
    pub source: &'static str,
    /// What a user may set.
    pub parameters: &'static [Parameter],
    /// What stands inside it.
    pub holds: Holds,
    /// What it shows of itself, beside what its one AQM shows.
    pub gauges: &'static [Gauge],
    /// The bands that its packets are served in, where there are several.
    pub bands: &'static [&'static str],
    /// The quietest mark that its own law writes under these values, if it has one and that marks.
    pub marks: fn(&Values) -> Option<Level>,
    /// Contradictions among the parameters and the buffer's limit, of one that has a buffer: the parameter's name and what is wrong.
    pub check: fn(&Values, Option<Amount>) -> Contradictions,
    /// Values under which its own law signals often in a buffer of 20 packets.
    pub busy: &'static [(&'static str, &'static str)],
    /// Which one it makes.
    pub kind: DisciplineKind,
}

/// What stands inside a discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// An AQM, by default this one, and a buffer with a limit.
    Aqm(&'static str),
    /// A buffer with a limit; when to signal is the discipline's own law.
    Law,
    /// Another queue, which has the buffer.
    Queue,
}

/// Which discipline an entry makes.
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
    FlowQueues(discipline::flow_queues::Scheme),
    /// Packets that wait somewhere else.
    Outside,
}

/// What a scenario may name.
#[derive(Clone)]
pub struct Registry {
    aqms: Vec<&'static AqmEntry>,
}

impl Registry {
    /// What this crate has.
    pub fn builtin() -> Registry {
        Registry { aqms: AQMS.to_vec() }
    }

    /// With another AQM.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn with(mut self, entry: &'static AqmEntry) -> Result<Registry, String> {
        if self.aqm(entry.name).is_some() {
            return Err(format!("there is an AQM \"{}\" already: choose another name", entry.name));
        }
        self.aqms.push(entry);
        Ok(self)
    }

    /// Every AQM.
    pub fn aqms(&self) -> &[&'static AqmEntry] {
        &self.aqms
    }

    /// Every discipline; the first is what a queue is if nothing else is said.
    pub fn disciplines(&self) -> &'static [&'static DisciplineEntry] {
        DISCIPLINES
    }

    /// The AQM of this name.
    pub fn aqm(&self, name: &str) -> Option<&'static AqmEntry> {
        self.aqms.iter().copied().find(|entry| entry.name == name)
    }

    /// The discipline of this name.
    pub fn discipline(&self, name: &str) -> Option<&'static DisciplineEntry> {
        DISCIPLINES.iter().copied().find(|entry| entry.name == name)
    }
}

impl AqmEntry {
    /// What may be left out of an entry: with nothing more it is plain drop-tail.
    pub const PLAIN: AqmEntry = AqmEntry {
        name: "",
        title: "",
        summary: "",
        source: "",
        parameters: &[],
        unread: &[],
        read_when: &[],
        gauges: &[],
        marks: |_| None,
        check: |_, _| Vec::new(),
        check_brought: None,
        busy: &[],
        digest: "",
        make: &|_, _| Box::new(droptail::DropTail::new(&droptail::Settings { drop: aqm::law::red::DropPolicy::Tail })),
    };

    /// That it writes marks of congestion and no quieter ones.
    pub const CONGESTED: fn(&Values) -> Option<Level> = |_| Some(Level::Congested);

    /// That it writes marks of congestion if its parameter `ecn` is on, and none if it is off.
    pub const MARKS_WITH_ECN: fn(&Values) -> Option<Level> = |values| values.get::<bool>("ecn").then_some(Level::Congested);

    /// That `mark_limit` of RED's table is read only where its parameter `ecn` is on.
    pub const LIMITS_MARKS_WITH_ECN: &[(&'static str, Condition)] = &[("mark_limit", Condition { parameter: "ecn", values: &["true"] })];

    /// What a user may set that it reads, each with the condition under which it does.
    pub fn read(&self) -> Vec<Parameter> {
        let read = self.parameters.iter().filter(|parameter| !self.unread.contains(&parameter.name));
        read.map(|parameter| {
            let own = self.read_when.iter().find(|(name, _)| *name == parameter.name);
            Parameter { read_when: own.map_or(parameter.read_when, |(_, condition)| std::slice::from_ref(condition)), ..*parameter }
        })
        .collect()
    }

    /// Contradictions among the parameters and the buffer's limit.
    pub fn contradictions(&self, values: &Values, limit: Amount) -> Contradictions {
        let mut found = (self.check)(values, limit);
        found.extend(self.check_brought.map(|check| check(values)).unwrap_or_default());
        found
    }

    /// Its parameters as tests and tables of duties run it.
    ///
    /// # Panics
    /// If a busy value does not fit its parameter: a fault of the entry, which a test looks for.
    pub fn busy_values(&self) -> Values {
        busy(self.name, self.parameters, self.busy)
    }
}

impl DisciplineEntry {
    /// The parameters of its own law as tests and tables of duties run it.
    ///
    /// # Panics
    /// If a busy value does not fit its parameter: a fault of the entry, which a test looks for.
    pub fn busy_values(&self) -> Values {
        busy(self.name, self.parameters, self.busy)
    }
}

fn busy(entry: &str, parameters: &'static [Parameter], busy: &[(&str, &str)]) -> Values {
    let mut values = Values::defaults(parameters);
    for (name, text) in busy {
        values.read(name, text).unwrap_or_else(|why| panic!("{entry}: {name} = {text}: {why}"));
    }
    values
}

/// The AQMs, one line each.
#[rustfmt::skip]
pub static AQMS: &[&AqmEntry] = &[
    &aqm::droptail::ENTRY,
    &aqm::red::RED,
    &aqm::red::ECN,
    &aqm::red::ECNM,
    &aqm::mark_front::ENTRY,
    &aqm::aecn::ENTRY,
    &aqm::blue::ENTRY,
    &aqm::fred::ENTRY,
    &aqm::rem::ENTRY,
    &aqm::sred::ENTRY,
    &aqm::mecn::ENTRY,
    &aqm::amecn::ENTRY,
    &aqm::ared::ENTRY,
    &aqm::feng_red::ENTRY,
    &aqm::pd_red::ENTRY,
    &aqm::dsred::ENTRY,
    &aqm::linux_red::ENTRY,
    &aqm::codel::ENTRY,
    &aqm::step::ENTRY,
    &aqm::pi::ENTRY,
    &aqm::pi2::ENTRY,
    &aqm::pie::ENTRY,
];

/// The disciplines, one line each; the first is what a queue is if nothing else is said.
#[rustfmt::skip]
pub static DISCIPLINES: &[&DisciplineEntry] = &[
    &discipline::fifo::ENTRY,
    &discipline::cbq::ENTRY,
    &discipline::dual::ENTRY,
    &discipline::token_bucket::ENTRY,
    &discipline::flow_queues::DRR,
    &discipline::flow_queues::FQ,
    &discipline::flow_queues::SFQ,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_default_fits_its_own_kind_and_agrees_with_the_rest() {
        for entry in AQMS {
            let values = Values::defaults(entry.parameters);
            assert!((entry.check)(&values, Amount::Packets(100.0)).is_empty(), "{}", entry.name);
            entry.busy_values();
        }
    }

    #[test]
    fn names_are_unique_among_aqms_and_among_disciplines() {
        let names = [AQMS.iter().map(|entry| entry.name).collect::<Vec<_>>(), DISCIPLINES.iter().map(|entry| entry.name).collect()];
        for mut names in names {
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(all, names.len(), "{names:?}");
        }
    }

    #[test]
    fn an_aqm_shows_the_gauges_that_its_entry_declares() {
        let line = Line { rate: Rate::from_bps(10_000_000).unwrap(), limit: Limit::Packets(100) };
        for entry in AQMS {
            let mut shown = Vec::new();
            (entry.make)(&Values::defaults(entry.parameters), &line).gauges(&mut |name, _| shown.push(name));
            assert_eq!(entry.gauges.iter().map(|gauge| gauge.name).collect::<Vec<_>>(), shown, "{}", entry.name);
        }
    }

    #[test]
    fn a_users_aqm_may_not_take_a_name() {
        static MINE: AqmEntry = AqmEntry { name: "mine", ..AqmEntry::PLAIN };
        static RED: AqmEntry = AqmEntry { name: "red", ..AqmEntry::PLAIN };
        assert!(Registry::builtin().with(&RED).is_err());
        let registry = Registry::builtin().with(&MINE).unwrap();
        assert!(registry.aqm("mine").is_some() && registry.with(&MINE).is_err());
    }
}
