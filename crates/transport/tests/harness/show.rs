//! A run as text: one line for each millisecond in which the sender acted, which is an RTT.

use std::fmt::Write;

use ecnlab_transport::{Ack, SegmentType};
use ecnlab_units::{CongestionLevel, Span};

use super::path::PathAction;
use super::record::{RecordedSegment, SenderStep, StepCause, TransferRecord};

const COLUMNS: &str = "  time s     cwnd  ssthresh  acks                      sent                      what happened";

/// Table of a run, truncated after `most` lines.
pub fn render_table(run: &TransferRecord, most: usize) -> String {
    let mut text = format!("{COLUMNS}\n");
    let rounds = steps_by_millisecond(run);
    for round in rounds.iter().take(most) {
        text.push_str(format_steps(round).trim_end());
        text.push('\n');
    }
    if rounds.len() > most {
        text.push_str("  ...\n");
    }
    let done = run.all_acked_at.map_or("not done".to_owned(), |at| format!("all acknowledged after {:.3} s", at.seconds()));
    let counters = run.counters;
    let _ = writeln!(
        text,
        "  {done}; sent {}, fast retransmissions {}, timeouts {}, cuts for marks {}",
        counters.sent,
        counters.retransmitted_fast,
        run.timeouts(),
        counters.ecn_reactions
    );
    text
}

/// Steps with an effect, grouped by millisecond.
fn steps_by_millisecond(run: &TransferRecord) -> Vec<Vec<&SenderStep>> {
    let mut rounds: Vec<Vec<&SenderStep>> = Vec::new();
    for step in run.steps.iter().filter(|step| step.cause != StepCause::Timer || !step.sent.is_empty() || step.before != step.after) {
        match rounds.last_mut() {
            Some(round) if step.time.since(round[0].time) < Span::from_millis(1) => round.push(step),
            _ => rounds.push(vec![step]),
        }
    }
    rounds
}

fn format_steps(round: &[&SenderStep]) -> String {
    let last = round[round.len() - 1];
    let acks: Vec<&Ack> = round.iter().filter_map(|step| step.ack()).collect();
    let sent: Vec<&RecordedSegment> = round.iter().flat_map(|step| &step.sent).collect();
    format!(
        "{:8.3} {:8} {:>9}  {:<24}  {:<24}  {}",
        last.time.seconds(),
        format_number(last.after.cwnd),
        format_number(last.after.ssthresh),
        acks_text(&acks),
        sent_text(&sent),
        events(round).join("; ")
    )
}

fn format_number(value: f64) -> String {
    if value == value.floor() { format!("{value:.0}   ") } else { format!("{value:.2}") }
}

/// Ranges of numbers with the same attributes: `4-9` in sequence, `5 x3` repeated.
fn format_ranges(numbers: &[(u64, String)]) -> Vec<String> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < numbers.len() {
        let (first, flavour) = &numbers[at];
        let same = |step: u64| {
            let fits = |&(place, (number, other)): &(usize, &(u64, String))| *number == first + place as u64 * step && other == flavour;
            numbers[at..].iter().enumerate().take_while(fits).count()
        };
        let (rising, equal) = (same(1), same(0));
        let (text, count) = if equal > 1 {
            (format!("{first} x{equal}"), equal)
        } else if rising > 1 {
            (format!("{first}-{}", first + rising as u64 - 1), rising)
        } else {
            (first.to_string(), 1)
        };
        parts.push(format!("{text}{flavour}"));
        at += count;
    }
    parts
}

fn acks_text(acks: &[&Ack]) -> String {
    let flavour = |ack: &Ack| {
        let kind = match ack.segment_type {
            SegmentType::Syn => " SYN",
            SegmentType::Fin => " FIN",
            _ => "",
        };
        let bits = match (ack.cwr, ack.ece) {
            (false, false) => "",
            (false, true) => " ECE",
            (true, false) => " CWR",
            (true, true) => " CWR+ECE",
        };
        format!("{kind}{bits}")
    };
    let numbers: Vec<(u64, String)> = acks.iter().map(|ack| (ack.next, flavour(ack))).collect();
    let mut text = format_ranges(&numbers).join(", ");
    for &(from, to) in acks.last().map_or(&[][..], |ack| ack.sacks.as_slice()) {
        let _ = write!(text, " [{}]", if from + 1 == to { from.to_string() } else { format!("{from}-{}", to - 1) });
    }
    text
}

fn sent_text(sent: &[&RecordedSegment]) -> String {
    let flavour = |sent: &RecordedSegment| {
        let segment = &sent.segment;
        match segment.segment_type {
            SegmentType::Syn if segment.ece => " SYN+ECN".to_owned(),
            SegmentType::Syn => " SYN".to_owned(),
            SegmentType::Fin => " FIN".to_owned(),
            SegmentType::PureAck => " pure ACK".to_owned(),
            SegmentType::Plain => {
                [(segment.retransmission, " again"), (segment.cwr, " CWR")].iter().filter(|(is, _)| *is).map(|(_, text)| *text).collect()
            }
        }
    };
    let numbers: Vec<(u64, String)> = sent.iter().map(|sent| (sent.segment.seq, flavour(sent))).collect();
    format_ranges(&numbers).join(", ")
}

fn events(round: &[&SenderStep]) -> Vec<String> {
    let mut events = Vec::new();
    for step in round {
        if step.is_rto() {
            events.push("timeout".to_owned());
        }
        if step.retransmitted_fast() {
            let seqs: Vec<String> =
                step.sent.iter().filter(|sent| sent.segment.retransmission).map(|sent| sent.segment.seq.to_string()).collect();
            events.push(format!(
                "{} {}",
                if step.cause == StepCause::Timer { "probe or reordering timer" } else { "fast retransmit" },
                seqs.join(" ")
            ));
        }
        if step.is_ecn_reduction() {
            events.push("cut for mark".to_owned());
        }
    }
    for sent in round.iter().flat_map(|step| &step.sent) {
        events.extend(sent.actions.iter().map(|action| format!("{} {}", sent.segment.seq, action_text(action))));
    }
    events.dedup();
    events
}

fn action_text(action: &PathAction) -> String {
    match action {
        PathAction::Drop => "lost".to_owned(),
        PathAction::Mark(CongestionLevel::Congested) => "marked".to_owned(),
        PathAction::Mark(CongestionLevel::Incipient) => "marked incipient".to_owned(),
        PathAction::Duplicate(_) => "doubled".to_owned(),
        PathAction::Delay(by) => format!("late by {:.3} s", by.seconds()),
        PathAction::Bleach => "bleached".to_owned(),
        PathAction::ClearFlags => "flags cleared".to_owned(),
        PathAction::SetFlags => "flags set".to_owned(),
    }
}
