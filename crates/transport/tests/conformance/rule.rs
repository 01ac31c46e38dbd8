//! Scenarios and rules, and the check of one against the other.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ecnlab_transport::settings::CongestionControlName;
use ecnlab_transport::{Segment, TcpSettings};

use super::exceptions::{EXCEPTIONS, ExceptionScope, RuleException};
use crate::harness::cases::{self, ProfileCase};
use crate::harness::network::{TransferPlan, run_transfer};
use crate::harness::record::TransferRecord;
use crate::harness::show;

/// Result of a rule for a run; the error explains the violation.
pub type RuleResult = Result<(), String>;

/// A rule with its RFC section.
pub struct Rule {
    pub name: &'static str,
    pub section: &'static str,
    pub holds: fn(&TcpSettings, &TransferRecord) -> RuleResult,
}

pub const fn rule(name: &'static str, section: &'static str, holds: fn(&TcpSettings, &TransferRecord) -> RuleResult) -> Rule {
    Rule { name, section, holds }
}

/// Returns the formatted violation from a rule's function, unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err(format!($($message)+));
        }
    };
}

pub struct Scenario {
    /// Also the snapshot's name.
    pub name: &'static str,
    /// Events of the scenario, and the behaviour that the RFCs require.
    pub text: &'static str,
    /// Parameters set for every case.
    pub members: &'static [(&'static str, &'static str)],
    pub plan: TransferPlan,
    /// Maximum number of lines of a table.
    pub lines: usize,
}

impl Scenario {
    /// The case with the scenario's parameters, and without delayed ACKs unless the scenario sets them.
    fn case(&self, case: &ProfileCase) -> Option<ProfileCase> {
        case.with(&[&[("delayed_ack", "false")], self.members].concat())
    }
}

/// Rules of every scenario.
const RULES_OF_EVERY_SCENARIO: &[Rule] = &[
    rule("everything arrives", "RFC 9293, section 3.4", |_, run| {
        ensure!(
            run.all_acked_at.is_some() && run.delivered_segments == run.total_segments,
            "{} of {} segments arrived",
            run.delivered_segments,
            run.total_segments
        );
        ensure!(run.delivered_bytes == run.written_bytes, "{} of {} bytes arrived", run.delivered_bytes, run.written_bytes);
        Ok(())
    }),
    rule("nothing beyond the receiver's window", "RFC 9293, section 3.8.6", |settings, run| {
        for (step, sent) in run.sent().filter(|(_, sent)| sent.segment.seq > 0) {
            let seq = sent.segment.seq;
            ensure!(seq < step.una + settings.max_rwnd, "{seq} at {:?} with {} acknowledged", step.time, step.una);
        }
        Ok(())
    }),
    rule("what is acknowledged is not sent again", "RFC 9293, section 3.4", |_, run| {
        for (step, sent) in run.retransmissions() {
            ensure!(sent.segment.seq >= step.una, "{} at {:?} with {} acknowledged", sent.segment.seq, step.time, step.una);
        }
        Ok(())
    }),
    rule("the timer runs while data is outstanding", "RFC 6298, section 5.1", |_, run| {
        let mut high = 0;
        for step in &run.steps {
            high = step.sent.iter().map(|sent| sent.segment.seq + 1).chain([high]).max().unwrap_or(high);
            let outstanding = step.una < high.min(run.total_segments);
            ensure!(!outstanding || step.timer.is_some(), "no timer at {:?} with {}..{high} outstanding", step.time, step.una);
        }
        Ok(())
    }),
    rule("a mark does not raise the window", "RFC 3168, section 6.1.2", |_, run| {
        for step in run.ecn_reductions().filter(|step| step.una == step.una_before) {
            ensure!(step.after.cwnd <= step.before.cwnd, "from {} to {} at {:?}", step.before.cwnd, step.after.cwnd, step.time);
        }
        Ok(())
    }),
    rule("without ECN nothing of ECN is sent", "RFC 3168, section 6.1.1", |settings, run| {
        // ns-2 sets CWR after a reduction whether or not ECN is in use.
        let asks = |segment: &Segment| segment.ecn.is_capable() || segment.ece || segment.cwr && !settings.quirks.cwr_without_ecn;
        let shows = run.sent().find(|(_, sent)| asks(&sent.segment));
        ensure!(settings.ecn || shows.is_none(), "{:?}", shows.map(|(_, sent)| sent.segment));
        Ok(())
    }),
];

/// Checks a scenario's rules on every case, and its runs against the snapshot.
pub fn check_scenario(scenario: &Scenario, rules: &[Rule]) {
    let mut problems = Vec::new();
    let mut tally = NeededExceptions::default();
    for case in cases::all_cases() {
        let before = problems.len();
        check_case(scenario, rules, &case, &mut tally, &mut problems);
        problems.extend(render_requested_case(scenario, &case).filter(|_| problems.len() > before));
    }
    problems.extend(tally.unneeded_exceptions(scenario));
    assert!(problems.is_empty(), "{}: {} problems\n{}", scenario.name, problems.len(), problems.join("\n"));
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(scenario.name, render_snapshot(scenario));
    });
}

/// Indexes of the exceptions that were needed.
#[derive(Default)]
struct NeededExceptions {
    needed: BTreeSet<usize>,
}

impl NeededExceptions {
    fn unneeded_exceptions(&self, scenario: &Scenario) -> Vec<String> {
        let of_scenario = EXCEPTIONS.iter().enumerate().filter(|(_, exception)| exception.scenario == scenario.name);
        let unneeded_exceptions = of_scenario.filter(|(place, _)| !self.needed.contains(place));
        unneeded_exceptions
            .map(|(_, exception)| format!("  nobody needs the exception from \"{}\": {}", exception.rule, exception.reason))
            .collect()
    }
}

/// Sections on the window and the classic echo, which Prague replaces (RFC 9331, section 4; RFC 9768). Its judges are recorded flows.
const SECTIONS_OF_CLASSIC_CONTROLS: [&str; 4] = ["RFC 3042", "RFC 3168", "RFC 5681", "RFC 8511"];

fn concerns_control(rule: &Rule, settings: &TcpSettings) -> bool {
    let is_classic = SECTIONS_OF_CLASSIC_CONTROLS.iter().any(|section| rule.section.starts_with(section));
    !is_classic || settings.congestion_control != CongestionControlName::Prague
}

/// Adds the problems of one case: violated rules, and unneeded exceptions.
fn check_case(scenario: &Scenario, rules: &[Rule], case: &ProfileCase, tally: &mut NeededExceptions, problems: &mut Vec<String>) {
    let Some(case) = scenario.case(case) else { return };
    let Ok(run) = catch_unwind(AssertUnwindSafe(|| run_transfer(&case.settings, &scenario.plan))) else {
        return problems.push(format!("  {}: panics, see above", case.name()));
    };
    for rule in rules.iter().chain(RULES_OF_EVERY_SCENARIO).filter(|rule| concerns_control(rule, &case.settings)) {
        let concerns = |one: &RuleException| (one.scenario, one.rule) == (scenario.name, rule.name) && (one.applies_to)(&case.settings);
        let exception = EXCEPTIONS.iter().position(concerns);
        let text = match ((rule.holds)(&case.settings, &run), exception) {
            (Err(why), None) => format!("does not hold: {why}"),
            (Ok(()), Some(place)) if EXCEPTIONS[place].scope == ExceptionScope::All => "holds: the exception is not needed".to_owned(),
            (Err(_), Some(place)) => {
                tally.needed.insert(place);
                continue;
            }
            (Ok(()), _) => continue,
        };
        problems.push(format!("  {}: \"{}\" ({}) {text}", case.name(), rule.name, rule.section));
    }
}

/// A case's whole run, if `CONFORM_SHOW` names it.
fn render_requested_case(scenario: &Scenario, case: &ProfileCase) -> Option<String> {
    let asked = std::env::var("CONFORM_SHOW").is_ok_and(|name| name == case.name());
    let case = scenario.case(case).filter(|_| asked)?;
    let run = catch_unwind(AssertUnwindSafe(|| run_transfer(&case.settings, &scenario.plan))).ok()?;
    Some(show::render_table(&run, usize::MAX))
}

/// The scenario's text and the runs of all cases.
fn render_snapshot(scenario: &Scenario) -> String {
    let mut text = format!("{}\n", scenario.text);
    for case in cases::snapshot_cases() {
        let Some(case) = scenario.case(&case) else { continue };
        let run = run_transfer(&case.settings, &scenario.plan);
        text.push_str(&format!("\n{}\n{}", case.name(), show::render_table(&run, scenario.lines)));
    }
    text
}
