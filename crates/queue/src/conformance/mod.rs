//! What every AQM and every discipline must keep to, tried out: the suite runs over the registry's entries and over those that a user brings.
//!
//! [`aqm`] and [`discipline`] drive fresh queues with packets that know their number, hold what the queue tells against a plain account of it,
//! and judge each [`Rule`]. [`duties`](duties) measures what RFC 7567 asks of an AQM; these are figures, since an AQM may do otherwise on purpose.
//!
//! ```
//! use ecnlab_queue::{Registry, conformance};
//!
//! let report = conformance::aqm(Registry::builtin().aqm("red").unwrap());
//! assert!(report.passed(), "{:?}", report.faults().collect::<Vec<_>>());
//! ```

mod backlog_checker;
mod describe;
mod draw;
pub mod duties;
mod ledger;
mod load;
mod packet;
mod responsive;
mod rule;
mod stand;
mod subject;
mod trials;
mod watched;
mod work;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use ledger::Event;
pub use load::{Operation, storm};
pub use packet::Packet;
pub use rule::{Fault, Rule};
pub use subject::{Chosen, Setting, Subject};
pub use watched::{Taken, Watched};

use crate::registry::{AqmEntry, DisciplineEntry};

/// What the suite found of one entry.
pub struct Report {
    pub name: String,
    pub checks: Vec<Check>,
}

/// What was found of one rule.
pub struct Check {
    pub rule: Rule,
    /// Where and how the rule was breached first.
    pub fault: Option<Fault>,
    /// Whether a trial of this rule came to its end; a trial ends at the first fault, whichever rule that is of.
    pub judged: bool,
}

impl Report {
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.fault.is_none())
    }

    pub fn faults(&self) -> impl Iterator<Item = &Fault> {
        self.checks.iter().filter_map(|check| check.fault.as_ref())
    }
}

/// Judges an AQM in a FIFO buffer.
pub fn aqm(entry: &'static AqmEntry) -> Report {
    subject(&Subject::aqm(entry))
}

/// Judges a discipline with the AQM that it has by default.
pub fn discipline(entry: &'static DisciplineEntry) -> Report {
    subject(&Subject::discipline(entry))
}

/// Judges a discipline with what stands inside it.
pub fn subject(subject: &Subject) -> Report {
    judge(subject, &mut || true)
}

/// Judges a discipline with what stands inside it. `counts` is asked after each trial: what it rejects, because the subject was not itself,
/// judges no rule. The report of an AQM, or of a discipline that holds none, has no check of [`Rule::Reports`].
pub fn judge(subject: &Subject, counts: &mut dyn FnMut() -> bool) -> Report {
    let mut checks: Vec<Check> = Rule::ALL.iter().map(|&rule| Check { rule, fault: None, judged: false }).collect();
    let judges_discipline = subject.judges_discipline();
    for trial in trials::TRIALS.iter().filter(|trial| judges_discipline || !trial.replaces_aqm) {
        let outcome = caught(|| (trial.run)(subject));
        if !counts() {
            continue;
        }
        match outcome {
            Ok(()) => trial.rules.iter().for_each(|&rule| checks[rule as usize].judged = true),
            Err(fault) => {
                checks[fault.rule as usize].fault.get_or_insert(fault);
            }
        }
        checks[Rule::Sound as usize].judged |= !trial.replaces_aqm;
    }
    checks.retain(|check| judges_discipline || check.rule != Rule::Reports);
    Report { name: subject.name(), checks }
}

/// Does a trial; a panic is a fault like others, and a [`Fault`] that a hook unwinds with is that fault.
fn caught(trial: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    catch_unwind(AssertUnwindSafe(trial)).unwrap_or_else(|panic| {
        if let Some(fault) = panic.downcast_ref::<Fault>() {
            return Err(fault.clone());
        }
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Fault::new(Rule::Sound, format!("It panicked: {}", text.unwrap_or("without a word"))))
    })
}
