//! Names of all AQMs and disciplines. A new one is a file, its `mod` line in the parent module, and an entry here.
//!
//! A [`Registry`] is a value that scenarios are read against: the built-in entries, and those of user-defined AQMs.

use crate::aqm;
use crate::aqm::entry::AqmEntry;
use crate::discipline;
use crate::discipline::entry::DisciplineEntry;

/// AQMs and disciplines by name.
#[derive(Clone)]
pub struct Registry {
    aqms: Vec<&'static AqmEntry>,
}

impl Registry {
    /// The entries of this crate.
    pub fn builtin() -> Registry {
        Registry { aqms: AQMS.to_vec() }
    }

    /// Adds an AQM.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn with_aqm(mut self, entry: &'static AqmEntry) -> Result<Registry, String> {
        if self.aqm(entry.name).is_some() {
            return Err(format!("the name \"{}\" of an AQM is taken; fix: choose another name", entry.name));
        }
        self.aqms.push(entry);
        Ok(self)
    }

    /// Every AQM.
    pub fn aqms(&self) -> &[&'static AqmEntry] {
        &self.aqms
    }

    /// Every discipline; the first is the default.
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

/// The disciplines, one line each; the first is the default.
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
    use ecnlab_units::quantity::PacketsOrBytes;
    use ecnlab_units::{Rate, Rng, Values};

    use super::*;
    use crate::aqm::entry::LinkParams;
    use crate::{AVERAGE_GAUGE_NAME, Arrival, Backlog, Limit};

    #[test]
    fn every_declared_default_fits_its_own_kind_and_agrees_with_the_rest() {
        for entry in AQMS {
            let values = Values::defaults(entry.parameters);
            assert!((entry.check)(&values, PacketsOrBytes::Packets(100.0)).is_empty(), "{}", entry.name);
            entry.test_values();
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
        let line = LinkParams { rate: Rate::from_bps(10_000_000).unwrap(), limit: Limit::Packets(100) };
        for entry in AQMS {
            let mut shown = Vec::new();
            (entry.make)(&Values::defaults(entry.parameters), &line).report_gauges(&mut |name, _| shown.push(name));
            assert_eq!(entry.gauges.iter().map(|gauge| gauge.name).collect::<Vec<_>>(), shown, "{}", entry.name);
        }
    }

    #[test]
    fn the_gauge_of_an_average_is_the_average_queue_length() {
        let line = LinkParams { rate: Rate::from_bps(10_000_000).unwrap(), limit: Limit::Packets(100) };
        let rng = &mut Rng::for_role(1, "average");
        for entry in AQMS {
            let mut aqm = (entry.make)(&entry.test_values(), &line);
            for packets in 0..10 {
                aqm.on_enqueue(&Arrival { backlog: Backlog::of_1000_byte_packets(packets), ..Arrival::PLAIN }, rng);
            }
            let mut shown = None;
            aqm.report_gauges(&mut |name, value| {
                if name == AVERAGE_GAUGE_NAME {
                    shown = Some(value);
                }
            });
            assert_eq!(shown, aqm.average_queue_length(), "{}", entry.name);
        }
    }

    #[test]
    fn a_users_aqm_may_not_take_a_name() {
        static MINE: AqmEntry = AqmEntry { name: "mine", ..AqmEntry::DEFAULTS };
        static RED: AqmEntry = AqmEntry { name: "red", ..AqmEntry::DEFAULTS };
        assert!(Registry::builtin().with_aqm(&RED).is_err());
        let registry = Registry::builtin().with_aqm(&MINE).unwrap();
        assert!(registry.aqm("mine").is_some() && registry.with_aqm(&MINE).is_err());
    }
}
