//! The trials: each drives fresh queues and says what was breached.

use ecnlab_units::{Rng, Span};

use super::backlog_checker;
use super::describe::{buffer, describe_divergence};
use super::ledger::Event;
use super::load::{Operation, storm};
use super::packet::Packet;
use super::rule::{Fault, Rule, ensure};
use super::subject::{Chosen, Setting, Subject};
use super::watched::Watched;
use super::work;
use crate::Limit;

/// Rules, and a trial that judges them.
pub struct Trial {
    pub rules: &'static [Rule],
    pub run: fn(&Subject) -> Result<(), Fault>,
    /// Whether it runs the subject's discipline with another AQM, so that it judges the discipline alone.
    pub replaces_aqm: bool,
}

impl Trial {
    const fn new(rules: &'static [Rule], run: fn(&Subject) -> Result<(), Fault>) -> Trial {
        Trial { rules, run, replaces_aqm: false }
    }
}

pub static TRIALS: &[Trial] = &[
    Trial::new(&[Rule::Books, Rule::Limit, Rule::Marks, Rule::Order, Rule::Full, Rule::Timers, Rule::Gauges], storms),
    Trial::new(&[Rule::Later], drains),
    Trial::new(&[Rule::Empty], passes_the_first),
    Trial::new(&[Rule::Rest], comes_to_rest),
    Trial::new(&[Rule::Repeat], repeats),
    Trial { replaces_aqm: true, ..Trial::new(&[Rule::Reports], reports_all) },
    Trial::new(&[Rule::Work], work::does_not_grow),
    Trial::new(&[Rule::Values], bears_any_values),
];

const BUFFER: Limit = Limit::Packets(20);
const BUFFERS: [Limit; 2] = [BUFFER, Limit::Bytes(15_000)];
const SETTINGS: [Setting; 2] = [Setting::Defaults, Setting::Busy];

/// Random operations under both settings and with buffers of packets and of bytes.
fn storms(subject: &Subject) -> Result<(), Fault> {
    for (setting, limit) in pairs(subject) {
        let mut queue = Watched::new(subject, &subject.values(setting), limit, 1);
        queue.act_all(&storm(1, 2000)).map_err(|fault| fault.at(format_args!("{setting}, {}", buffer(limit))))?;
    }
    Ok(())
}

/// What was offered in a burst leaves when the queue says that it may.
fn drains(subject: &Subject) -> Result<(), Fault> {
    for (setting, limit) in pairs(subject) {
        let mut queue = Watched::new(subject, &subject.values(setting), limit, 2);
        for flow in 0..100 {
            let packet = Packet { flow: flow % 5, ecn: super::duties::kind(flow), ..Packet::PLAIN };
            queue.offer(packet)?;
            queue.wait(Span::from_micros(100))?;
            if flow % 10 == 0 {
                queue.drain().map_err(|fault| fault.at(format_args!("{setting}, {}, after {} packets", buffer(limit), flow + 1)))?;
            }
        }
    }
    Ok(())
}

fn passes_the_first(subject: &Subject) -> Result<(), Fault> {
    for setting in SETTINGS {
        for seed in 0..20 {
            let mut queue = Watched::new(subject, &subject.values(setting), BUFFER, seed);
            pass(&mut queue, Rule::Empty).map_err(|fault| fault.at(format_args!("{setting}, seed {seed}")))?;
        }
    }
    Ok(())
}

fn comes_to_rest(subject: &Subject) -> Result<(), Fault> {
    for setting in SETTINGS {
        for seed in 0..5 {
            let mut queue = Watched::new(subject, &subject.values(setting), BUFFER, seed);
            keep_busy(&mut queue)?;
            queue.wait(Span::from_secs(60))?;
            pass(&mut queue, Rule::Rest).map_err(|fault| fault.at(format_args!("{setting}, seed {seed}")))?;
        }
    }
    Ok(())
}

/// Five hundred packets of all kinds at half as much again as the link's rate, and then all that waits is sent.
fn keep_busy(queue: &mut Watched) -> Result<(), Fault> {
    for number in 0..500 {
        queue.offer(Packet { flow: number % 5, ecn: super::duties::kind(number), ..Packet::PLAIN })?;
        queue.wait(Span::from_micros(533))?;
        if number % 3 > 0 {
            queue.take()?;
        }
    }
    queue.drain()
}

/// Sends one packet through an empty queue.
fn pass(queue: &mut Watched, rule: Rule) -> Result<(), Fault> {
    let before = (queue.ledger.dropped(), queue.ledger.marked());
    queue.offer(Packet::PLAIN)?;
    queue.drain()?;
    let after = (queue.ledger.dropped(), queue.ledger.marked());
    if before == after {
        return Ok(());
    }
    Err(Fault::new(rule, if after.0 > before.0 { "the packet was dropped" } else { "the packet was marked" }))
}

fn repeats(subject: &Subject) -> Result<(), Fault> {
    for setting in SETTINGS {
        let mut first = Watched::new(subject, &subject.values(setting), BUFFER, 3);
        let mut second = Watched::new(subject, &subject.values(setting), BUFFER, 3);
        let operations = storm(3, 2000);
        first.act_all(&operations)?;
        second.act_all(&operations)?;
        compare(&first.ledger.events, &second.ledger.events).map_err(|fault| fault.at(format_args!("{setting}")))?;
    }
    Ok(())
}

fn compare(first: &[Event], second: &[Event]) -> Result<(), Fault> {
    let at = first.iter().zip(second).position(|(a, b)| a != b).unwrap_or(first.len().min(second.len()));
    let (first, second) = (first.get(at), second.get(at));
    ensure!(first == second, Repeat, "{}", describe_divergence(first, second));
    Ok(())
}

/// A discipline with its defaults, when busy, and with any values, around an AQM that adds up what is reported.
fn reports_all(subject: &Subject) -> Result<(), Fault> {
    let mut rng = Rng::for_role(5, &format!("values of {}", subject.discipline.name));
    let subject = Subject { aqm: Some(&backlog_checker::ENTRY), ..*subject };
    let settings = SETTINGS.map(|setting| subject.values(setting));
    for number in 0..DRAWS {
        let limit = draw_limit(&mut rng);
        let fixed = settings.get(number as usize).filter(|values| !subject.refuses(values, limit)).cloned();
        let chosen = fixed.unwrap_or_else(|| subject.draw(limit, &mut rng));
        let kept = super::caught(|| Watched::new(&subject, &chosen, limit, number).act_all(&storm(number, 300)));
        kept.map_err(|fault| fault.at(place(limit, &chosen)))?;
    }
    Ok(())
}

fn bears_any_values(subject: &Subject) -> Result<(), Fault> {
    let mut rng = Rng::for_role(4, "values");
    for number in 0..DRAWS {
        let limit = draw_limit(&mut rng);
        let chosen = subject.draw(limit, &mut rng);
        let operations: Vec<Operation> = storm(number, 300);
        let kept = super::caught(|| Watched::new(subject, &chosen, limit, number).act_all(&operations));
        kept.map_err(|fault| Fault::new(Rule::Values, format!("{}: {fault}", place(limit, &chosen))))?;
    }
    Ok(())
}

fn draw_limit(rng: &mut Rng) -> Limit {
    if rng.below(3) == 0 { Limit::Bytes(1 + rng.below(60_000)) } else { Limit::Packets(1 + rng.below(60) as u32) }
}

/// A buffer and the values that differ from the defaults.
fn place(limit: Limit, chosen: &Chosen) -> String {
    let changes = chosen.changes();
    format!("{} with {}", buffer(limit), if changes.is_empty() { "default values" } else { &changes })
}

/// Both settings with both kinds of buffer, where they do not contradict each other.
fn pairs(subject: &Subject) -> impl Iterator<Item = (Setting, Limit)> {
    let all = SETTINGS.into_iter().flat_map(|setting| BUFFERS.map(|limit| (setting, limit)));
    all.filter(|(setting, limit)| !subject.refuses(&subject.values(*setting), *limit))
}

const DRAWS: u64 = 100;
