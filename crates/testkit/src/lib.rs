//! Test kit for AQMs and disciplines: invariants that all of them keep, the requirements of RFC 7567, and a test packet.
//!
//! [`check_aqm`] and [`check_discipline`] drive fresh queues with numbered packets, compare the queue's events with a model of it, and check each
//! [`Invariant`]. [`rfc7567`] measures how far an AQM meets the requirements of RFC 7567; these are figures, since an AQM may differ on purpose.
//!
//! ```
//! use ecnlab_queue::Registry;
//!
//! let report = ecnlab_testkit::check_aqm(Registry::builtin().aqm("red").unwrap());
//! assert!(report.passed(), "{:?}", report.violations().collect::<Vec<_>>());
//! ```

mod aimd_flows;
mod backlog_checker;
mod bench;
mod cases;
mod checked_queue;
mod describe;
mod dut;
mod generate;
mod invariants;
mod model;
mod packet;
mod packet_cost;
pub mod rfc7567;
mod traffic;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use checked_queue::CheckedQueue;
pub use dut::{DefaultOrTestValues, DeviceUnderTest, DutValues};
use ecnlab_queue::{AqmEntry, DisciplineEntry};
pub use invariants::{Invariant, Violation};
pub use model::QueueEventOrAnswer;
pub use packet::Packet;
pub use traffic::{Operation, random_operations};

/// Results of the suite for one entry.
pub struct Report {
    /// Name of the device under test.
    pub name: String,
    /// Result of each invariant.
    pub checks: Vec<InvariantResult>,
}

/// Result of one invariant.
pub struct InvariantResult {
    /// The invariant.
    pub invariant: Invariant,
    /// The first violation, if there was one.
    pub violation: Option<Violation>,
    /// Whether a test case of this invariant ran to its end; a case ends at the first violation of any invariant.
    pub completed: bool,
}

impl Report {
    /// Whether no invariant was violated.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.violation.is_none())
    }

    /// The first violation of each invariant that was violated.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        self.checks.iter().filter_map(|check| check.violation.as_ref())
    }
}

/// Checks an AQM in a FIFO buffer.
pub fn check_aqm(entry: &'static AqmEntry) -> Report {
    check(&DeviceUnderTest::from_aqm_in_fifo(entry))
}

/// Checks a discipline with its default AQM.
pub fn check_discipline(entry: &'static DisciplineEntry) -> Report {
    check(&DeviceUnderTest::from_discipline_with_default_aqm(entry))
}

/// Checks a discipline with its child.
pub fn check(dut: &DeviceUnderTest) -> Report {
    check_excluding_rejected_cases(dut, &mut || true)
}

/// Checks a discipline with its child. `accepts` is called after each test case; a case for which it returns false, because the device failed for
/// another reason, counts for no invariant. The report of an AQM, or of a discipline without one, has no check of [`Invariant::Reports`].
pub fn check_excluding_rejected_cases(dut: &DeviceUnderTest, accepts: &mut dyn FnMut() -> bool) -> Report {
    let unchecked = |&invariant| InvariantResult { invariant, violation: None, completed: false };
    let mut checks: Vec<InvariantResult> = Invariant::ALL.iter().map(unchecked).collect();
    let checks_discipline = dut.checks_discipline();
    for case in cases::TEST_CASES.iter().filter(|case| checks_discipline || !case.replaces_aqm) {
        let outcome = catch_violation(|| (case.run)(dut));
        if !accepts() {
            continue;
        }
        match outcome {
            Ok(()) => case.invariants.iter().for_each(|&invariant| checks[invariant as usize].completed = true),
            Err(violation) => {
                checks[violation.invariant as usize].violation.get_or_insert(violation);
            }
        }
        checks[Invariant::NoPanic as usize].completed |= !case.replaces_aqm;
    }
    checks.retain(|check| checks_discipline || check.invariant != Invariant::Reports);
    Report { name: dut.name(), checks }
}

/// Runs a test case. A panic is a violation too, and a [`Violation`] that a hook unwinds with is that violation.
fn catch_violation(case: impl FnOnce() -> Result<(), Violation>) -> Result<(), Violation> {
    catch_unwind(AssertUnwindSafe(case)).unwrap_or_else(|panic| {
        if let Some(violation) = panic.downcast_ref::<Violation>() {
            return Err(violation.clone());
        }
        let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Err(Violation::new(Invariant::NoPanic, format!("It panicked: {}", text.unwrap_or("without a word"))))
    })
}
