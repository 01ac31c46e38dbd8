//! Scenarios, rules and how the two meet.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ecnlab_transport::{Segment, Settings};

use super::exceptions::{EXCEPTIONS, Exception, Who};
use crate::harness::cases::{self, Case};
use crate::harness::network::{Plan, run};
use crate::harness::record::Run;
use crate::harness::show;

/// What a rule says of a run: nothing, or how it is broken.
pub type Verdict = Result<(), String>;

/// A rule and where it is written.
pub struct Rule {
    pub name: &'static str,
    pub section: &'static str,
    pub holds: fn(&Settings, &Run) -> Verdict,
}

pub const fn rule(name: &'static str, section: &'static str, holds: fn(&Settings, &Run) -> Verdict) -> Rule {
    Rule { name, section, holds }
}

/// Leaves a rule's function with what is wrong, unless the condition holds.
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
    /// What happens, and what the RFCs want to see.
    pub text: &'static str,
    /// Parameters that are set for everybody.
    pub members: &'static [(&'static str, &'static str)],
    pub plan: Plan,
    /// Most lines of a table.
    pub lines: usize,
}

impl Scenario {
    /// A case as the scenario has it: with every segment acknowledged at once, unless the scenario is about that.
    fn case(&self, case: &Case) -> Option<Case> {
        case.with(&[&[("delayed_ack", "false")], self.members].concat())
    }
}

/// What holds in every scenario.
const ALWAYS: &[Rule] = &[
    rule("everything arrives", "RFC 9293, section 3.4", |_, run| {
        ensure!(run.done.is_some() && run.delivered == run.total, "{} of {} segments arrived", run.delivered, run.total);
        ensure!(run.brought == run.asked, "{} of {} bytes arrived", run.brought, run.asked);
        Ok(())
    }),
    rule("nothing beyond the receiver's window", "RFC 9293, section 3.8.6", |settings, run| {
        for (step, sent) in run.sent().filter(|(_, sent)| sent.segment.seq > 0) {
            let seq = sent.segment.seq;
            ensure!(seq < step.una + settings.max_window, "{seq} at {:?} with {} acknowledged", step.time, step.una);
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
            let outstanding = step.una < high.min(run.total);
            ensure!(!outstanding || step.timer.is_some(), "no timer at {:?} with {}..{high} outstanding", step.time, step.una);
        }
        Ok(())
    }),
    rule("a mark does not raise the window", "RFC 3168, section 6.1.2", |_, run| {
        for step in run.mark_cuts().filter(|step| step.una == step.una_before) {
            ensure!(step.after.cwnd <= step.before.cwnd, "from {} to {} at {:?}", step.before.cwnd, step.after.cwnd, step.time);
        }
        Ok(())
    }),
    rule("without ECN nothing of ECN is sent", "RFC 3168, section 6.1.1", |settings, run| {
        // ns-2 says that it has cut with CWR whether or not ECN is in use.
        let asks = |segment: &Segment| segment.ecn.is_capable() || segment.ece || segment.cwr && !settings.cwr_without_ecn;
        let shows = run.sent().find(|(_, sent)| asks(&sent.segment));
        ensure!(settings.ecn || shows.is_none(), "{:?}", shows.map(|(_, sent)| sent.segment));
        Ok(())
    }),
];

/// Checks a scenario's rules on every case, and its runs against the snapshot.
pub fn conform(scenario: &Scenario, rules: &[Rule]) {
    let mut problems = Vec::new();
    let mut tally = Tally::default();
    for case in cases::all() {
        let before = problems.len();
        check(scenario, rules, &case, &mut tally, &mut problems);
        problems.extend(example(scenario, &case).filter(|_| problems.len() > before));
    }
    problems.extend(tally.needless(scenario));
    assert!(problems.is_empty(), "{}: {} problems\n{}", scenario.name, problems.len(), problems.join("\n"));
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(scenario.name, picture(scenario));
    });
}

/// Which exceptions were needed, by their place in the table.
#[derive(Default)]
struct Tally {
    needed: BTreeSet<usize>,
}

impl Tally {
    fn needless(&self, scenario: &Scenario) -> Vec<String> {
        let of_scenario = EXCEPTIONS.iter().enumerate().filter(|(_, exception)| exception.scenario == scenario.name);
        let needless = of_scenario.filter(|(place, _)| !self.needed.contains(place));
        needless.map(|(_, exception)| format!("  nobody needs the exception from \"{}\": {}", exception.rule, exception.why)).collect()
    }
}

/// Notes the problems of one case: rules that do not hold, and exceptions that it does not need.
fn check(scenario: &Scenario, rules: &[Rule], case: &Case, tally: &mut Tally, problems: &mut Vec<String>) {
    let Some(case) = scenario.case(case) else { return };
    let Ok(run) = catch_unwind(AssertUnwindSafe(|| run(&case.settings, &scenario.plan))) else {
        return problems.push(format!("  {}: panics, see above", case.name()));
    };
    for rule in rules.iter().chain(ALWAYS) {
        let concerns = |one: &Exception| (one.scenario, one.rule) == (scenario.name, rule.name) && (one.whom)(&case.settings);
        let exception = EXCEPTIONS.iter().position(concerns);
        let text = match ((rule.holds)(&case.settings, &run), exception) {
            (Err(why), None) => format!("does not hold: {why}"),
            (Ok(()), Some(place)) if EXCEPTIONS[place].who == Who::All => "holds: the exception is not needed".to_owned(),
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
fn example(scenario: &Scenario, case: &Case) -> Option<String> {
    let asked = std::env::var("CONFORM_SHOW").is_ok_and(|name| name == case.name());
    let case = scenario.case(case).filter(|_| asked)?;
    let run = catch_unwind(AssertUnwindSafe(|| run(&case.settings, &scenario.plan))).ok()?;
    Some(show::table(&run, usize::MAX))
}

/// The scenario's text and everyone's run.
fn picture(scenario: &Scenario) -> String {
    let mut text = format!("{}\n", scenario.text);
    for case in cases::shown() {
        let Some(case) = scenario.case(&case) else { continue };
        let run = run(&case.settings, &scenario.plan);
        text.push_str(&format!("\n{}\n{}", case.name(), show::table(&run, scenario.lines)));
    }
    text
}
