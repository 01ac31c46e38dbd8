//! Transmissions by a scoreboard in recovery: each clause of NextSeg in RFC 6675, sections 4 and 5.
//!
//! The model counts segments instead of octets. `fack` differs only in IsLost.

use std::collections::BTreeSet;

use ecnlab_transport::settings::RecoveryName;
use ecnlab_transport::{SegmentType, TcpSettings};

use super::loss::NO_TIMEOUT;
use super::rule::{Rule, RuleResult, Scenario, check_scenario, rule};
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::Path;
use crate::harness::record::{SenderStep, TransferRecord};

const DUP_THRESH: usize = 3;

/// Sender variables of RFC 6675, each one past the segment that contains the RFC's octet.
struct Rfc6675Model {
    forward: bool,
    max_rwnd: u64,
    total: u64,
    /// HighACK, HighData, HighRxt, RescueRxt and RecoveryPoint.
    acked: u64,
    data: u64,
    rxt: u64,
    rescue: u64,
    point: Option<u64>,
    sacked: BTreeSet<u64>,
    /// Number of times that each rule of NextSeg decided; the fifth is that nothing is sent.
    used: [usize; 6],
}

impl Rfc6675Model {
    fn new(settings: &TcpSettings, run: &TransferRecord) -> Rfc6675Model {
        Rfc6675Model {
            forward: settings.recovery == RecoveryName::Fack,
            max_rwnd: settings.max_rwnd,
            total: run.total_segments,
            acked: 0,
            data: 0,
            rxt: 0,
            rescue: 0,
            point: None,
            sacked: BTreeSet::new(),
            used: [0; 6],
        }
    }

    fn is_lost(&self, seq: u64) -> bool {
        let far = self.sacked.last().is_some_and(|&highest| highest >= seq + DUP_THRESH as u64);
        self.sacked.range(seq + 1..).count() >= DUP_THRESH || self.forward && far
    }

    fn holes(&self) -> impl DoubleEndedIterator<Item = u64> {
        (self.acked..self.data).filter(|seq| !self.sacked.contains(seq))
    }

    fn pipe(&self) -> u64 {
        self.holes().map(|seq| u64::from(!self.is_lost(seq)) + u64::from(seq < self.rxt)).sum()
    }

    /// The rule of NextSeg that decides, and its segment.
    fn next_seg(&self) -> (usize, Option<u64>) {
        let highest = self.sacked.last().copied().unwrap_or(0);
        let holes = || self.holes().filter(|&seq| seq >= self.rxt && seq < highest);
        if let Some(seq) = holes().find(|&seq| self.is_lost(seq)) {
            return (1, Some(seq));
        }
        if self.data < self.total.min(self.acked + self.max_rwnd) {
            return (2, Some(self.data));
        }
        if let Some(seq) = holes().next() {
            return (3, Some(seq));
        }
        if self.acked > self.rescue && self.holes().next().is_some() {
            return (4, self.holes().next_back());
        }
        (5, None)
    }

    /// Processes an ACK: Update() and the following steps.
    fn on_ack(&mut self, step: &SenderStep) {
        let Some(ack) = step.ack().filter(|ack| ack.segment_type != SegmentType::Syn) else { return };
        self.acked = self.acked.max(ack.next);
        self.sacked.extend(ack.sacks.as_slice().iter().flat_map(|&(from, to)| from..to));
        self.sacked.retain(|&seq| seq >= ack.next);
        self.point = self.point.filter(|&point| self.acked < point);
    }

    /// Compares a step with the model; an error names the violated rule.
    fn check_step(&mut self, step: &SenderStep) -> Result<(), (usize, String)> {
        self.on_ack(step);
        let mut sent = step
            .sent
            .iter()
            .map(|sent| sent.segment)
            .filter(|segment| segment.segment_type != SegmentType::PureAck)
            .map(|segment| segment.seq);
        if self.point.is_none() && self.acked < self.data && self.is_lost(self.acked) {
            self.point = Some(self.data);
            (self.rxt, self.rescue) = (self.acked + 1, self.acked + 1);
            let first = sent.next();
            if first != Some(self.acked) {
                return Err((1, format!("recovery begins with {first:?} and not {} at {:?}", self.acked, step.time)));
            }
        }
        for seq in sent {
            let (rule, expected) = if self.point.is_some() { self.next_seg() } else { (0, Some(seq)) };
            self.used[rule] += 1;
            let (pipe, cwnd) = (self.pipe(), step.after.cwnd as u64);
            if rule > 0 && pipe >= cwnd {
                return Err((rule, format!("{seq} was sent at {:?} with a pipe of {pipe} and a window of {cwnd}", step.time)));
            }
            if expected != Some(seq) {
                return Err((rule, format!("{seq} was sent and not {expected:?} at {:?}", step.time)));
            }
            match rule {
                4 => self.rescue = self.point.unwrap_or(0),
                _ if seq < self.data => self.rxt = self.rxt.max(seq + 1),
                _ => self.data = seq + 1,
            }
        }
        if self.point.is_some() && self.pipe() < step.after.cwnd as u64 {
            let (rule, expected) = self.next_seg();
            self.used[rule] += usize::from(rule == 5);
            // The copy sent by rule (4) is in the pipe until the next ACK.
            if let Some(expected) = expected {
                return Err((rule, format!("{expected} was not sent at {:?} with a pipe of {}", step.time, self.pipe())));
            }
        }
        Ok(())
    }
}

/// Checks that a rule of NextSeg decides at least once, and is followed whenever it does.
fn check_next_seg_rule(settings: &TcpSettings, run: &TransferRecord, rule: usize) -> RuleResult {
    let mut model = Rfc6675Model::new(settings, run);
    for step in run.steps.iter().take_while(|step| !step.is_rto()) {
        match model.check_step(step) {
            Err((other, why)) if other == rule => return Err(why),
            Err(_) => break,
            Ok(()) => {}
        }
    }
    ensure!(model.used[rule] > 0, "it never decides");
    Ok(())
}

const LOWEST_LOST: Rule = rule("NextSeg (1): the lowest lost segment above HighRxt", "RFC 6675, section 4", |settings, run| {
    check_next_seg_rule(settings, run, 1)
});
const NEW_DATA: Rule = rule("NextSeg (2): new data", "RFC 6675, section 4", |settings, run| check_next_seg_rule(settings, run, 2));
const LOWEST_HOLE: Rule = rule("NextSeg (3): the lowest hole below the highest SACK", "RFC 6675, section 4", |settings, run| {
    check_next_seg_rule(settings, run, 3)
});
const RESCUE: Rule = rule("NextSeg (4): the highest outstanding segment, once a recovery", "RFC 6675, section 4", |settings, run| {
    check_next_seg_rule(settings, run, 4)
});
const NOTHING: Rule = rule("NextSeg (5): else nothing", "RFC 6675, section 4", |settings, run| check_next_seg_rule(settings, run, 5));

const RECOVERY_SACK: &[(&str, &str)] = &[("recovery", "sack")];
const RECOVERY_FACK: &[(&str, &str)] = &[("recovery", "fack")];
/// 20 segments and a FIN are sent at once; a cwnd of 30 holds none back.
const ALL_SENT_AT_ONCE: [(&str, &str); 7] = [
    ("sack_blocks", "3"),
    ("receive_window", "unlimited"),
    ("handshake", "three-way"),
    ("fin", "true"),
    ("fin_on_data", "false"),
    ("initial_window", "30"),
    ("max_rwnd", "64"),
];

/// Checks a scenario with both rules of loss detection.
fn check_sack_and_fack(name: [&'static str; 2], text: &'static str, plan: &TransferPlan, rules: &[Rule]) {
    for (name, recovery) in name.into_iter().zip([RECOVERY_SACK, RECOVERY_FACK]) {
        let members = Vec::leak([&ALL_SENT_AT_ONCE, recovery].concat());
        check_scenario(&Scenario { name, text, members, plan: plan.clone(), lines: 12 }, rules);
    }
}

#[test]
fn holes_below_the_highest_sacked_segment() {
    check_sack_and_fack(
        ["next_seg_holes", "next_seg_holes_fack"],
        "The 6th, 7th and 20th of 20 segments are lost, the FIN behind them arrives. The 20th goes again by rule (3), as one segment above it is\n\
         sacked and there are no new ones. Rule (4) waits until more than the first retransmission is acknowledged (RFC 6675, section 4).",
        &TransferPlan::new(20, Path::clean().lose(&[6, 7, 20])),
        &[LOWEST_HOLE, RESCUE, NOTHING, NO_TIMEOUT],
    );
}

#[test]
fn a_lost_end() {
    check_sack_and_fack(
        ["next_seg_rescue", "next_seg_rescue_fack"],
        "The 6th and the last of 20 segments are lost, and the FIN. Nothing above the last ones is sacked: once more than the first\n\
         retransmission is acknowledged, rule (4) sends the FIN again, whose SACK shows the 20th to be a hole (RFC 6675, section 4).",
        &TransferPlan::new(20, Path::clean().lose(&[6, 20, 21])),
        &[LOWEST_HOLE, RESCUE, NOTHING, NO_TIMEOUT],
    );
}

#[test]
fn new_data_before_holes() {
    check_sack_and_fack(
        ["next_seg_new_data", "next_seg_new_data_fack"],
        "Two of many segments are lost. What is lost goes first, new data next; a hole that is not lost waits for both (RFC 6675, section 4).",
        &TransferPlan::new(90, Path::clean().lose(&[6, 9])),
        &[LOWEST_LOST, NEW_DATA, NO_TIMEOUT],
    );
}
