//! Replay: runs the recorded arrivals of a queue through the same queue again, and compares its decisions with the recorded ones.
//!
//! A queue's decisions depend on its arrivals, the times of dequeues, and its random stream only. The table
//! [`arrivals`](crate::queue_log::ARRIVALS), the scenario and the seed contain all of these. So the queue of a real-time run can be
//! verified decision by decision afterwards.

use std::fmt;

use ecnlab_queue::{DequeueOutcome, Discipline, Queue, QueueEvent, QueueItem};
use ecnlab_units::{Ecn, EcnSemantics, Rate, Rng, Span, Time};

use crate::measures::table::{Column, Table};
use crate::network::{Network, PipeOrQueue, QueueSpec};
use crate::queue_log::{EcnField, QueueLogCause, QueueLogEntry, QueueLogEntryKind};

/// Packets replayed until the first difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: u64,
}

/// The first decision that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayDifference {
    /// Index of the entry in the queue's log, from 0.
    pub entry: usize,
    pub time: Time,
    /// The recorded decision; `None` if the log has ended.
    pub recorded: Option<QueueLogEntry>,
    /// The replayed decision.
    pub replayed: Option<QueueLogEntry>,
}

/// Result of a replay: the counts of equal decisions, and the first difference, if any.
pub type ReplayOutcome = (ReplayCounts, Option<ReplayDifference>);

/// Reason why a queue cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The network has no measured queue of this name.
    NoQueue(String),
    /// The queue is a kernel's, whose algorithm is unavailable here.
    Kernel(String),
    /// The table lacks this column, or the column has an invalid value.
    Column(&'static str),
}

/// Replays all queues of a recorded table, or the one with this name; returns names and outcomes in the order of the network. Kernel queues
/// among several are skipped.
///
/// # Errors
/// If the named queue, or every queue, cannot be replayed.
pub fn replay(
    network: &Network,
    seed: u64,
    table: &Table,
    only: Option<&str>,
) -> Result<Vec<(String, Option<ReplayOutcome>)>, ReplayError> {
    let Some(Column::Name { index: queues, names }) = table.find("queue") else { return Err(ReplayError::Column("queue")) };
    let entry_of_row = entry_reader(table)?;
    if let Some(name) = only.filter(|name| !measured_queues_with_rates(network).any(|(queue, _)| queue.name == *name)) {
        return Err(ReplayError::NoQueue(name.to_owned()));
    }
    if let Some(name) = names.iter().find(|name| !measured_queues_with_rates(network).any(|(queue, _)| queue.name == ***name)) {
        return Err(ReplayError::NoQueue((**name).to_owned()));
    }
    let selected_queues = || measured_queues_with_rates(network).filter(|(queue, _)| only.is_none_or(|name| queue.name == name));
    let is_simulated = |queue: &QueueSpec| queue.config.wrapped_kernel_qdisc().is_none();
    if let Some((queue, _)) = selected_queues().next().filter(|_| !selected_queues().any(|(queue, _)| is_simulated(queue))) {
        return Err(ReplayError::Kernel(queue.name.clone()));
    }
    let played = selected_queues().map(|(queue, rate)| {
        let place = names.iter().position(|name| **name == *queue.name);
        let rows = (0..queues.len()).filter(|&row| Some(queues[row] as usize) == place);
        let of_queue: Vec<QueueLogEntry> = rows.map(&entry_of_row).collect();
        let outcome = is_simulated(queue).then(|| replay_queue(queue, rate, seed, &of_queue));
        (queue.name.clone(), outcome)
    });
    Ok(played.collect())
}

/// The measured queues of a network, each with its link's rate.
fn measured_queues_with_rates(network: &Network) -> impl Iterator<Item = (&QueueSpec, Rate)> {
    network.links.iter().filter_map(|link| match &link.buffer {
        PipeOrQueue::Queue(queue) => Some((&**queue, link.rate)),
        PipeOrQueue::Pipe { .. } => None,
    })
}

/// Replays one queue.
pub fn replay_queue(spec: &QueueSpec, rate: Rate, seed: u64, entries: &[QueueLogEntry]) -> ReplayOutcome {
    let rng = Rng::for_role(seed, format_args!("queue {}", spec.name));
    let mut replay =
        QueueReplay { queue: spec.config.build(rate), rng, entries, next_entry: 0, arrived_packets: 0, counts: ReplayCounts::default() };
    while replay.next_entry < entries.len() {
        if let Err(difference) = replay.replay_next() {
            return (replay.counts, Some(difference));
        }
    }
    (replay.counts, None)
}

/// State of a queue's replay.
struct QueueReplay<'l> {
    queue: Queue<ReplayedPacket>,
    rng: Rng,
    entries: &'l [QueueLogEntry],
    /// Index of the current entry.
    next_entry: usize,
    arrived_packets: u32,
    counts: ReplayCounts,
}

impl QueueReplay<'_> {
    /// Applies the current entry to the queue, and compares the queue's decisions with the entries that follow.
    fn replay_next(&mut self) -> Result<(), ReplayDifference> {
        let line = self.entries[self.next_entry];
        let now = line.time;
        match line.kind {
            QueueLogEntryKind::Arrival => {
                self.next_entry += 1;
                self.arrived_packets += 1;
                self.counts.arrivals += 1;
                let mut done = Vec::new();
                self.queue
                    .enqueue(ReplayedPacket(line), now, &mut self.rng, &mut |event| done.extend(log_entry_of_mark_or_drop(now, event)));
                self.compare_with_next_entries(&done)
            }
            QueueLogEntryKind::Timer => {
                let due = self.queue.next_timer();
                if due != Some(now) {
                    let replayed = due.map(|due| QueueLogEntry { time: due, ..line });
                    return Err(ReplayDifference { entry: self.next_entry, time: now, recorded: Some(line), replayed });
                }
                self.next_entry += 1;
                self.queue.on_timer(now, &mut self.rng);
                Ok(())
            }
            QueueLogEntryKind::Rate => {
                self.next_entry += 1;
                Rate::from_bps(line.value).into_iter().for_each(|rate| self.queue.set_link_rate(rate));
                Ok(())
            }
            QueueLogEntryKind::Mark
            | QueueLogEntryKind::Drop
            | QueueLogEntryKind::Departure
            | QueueLogEntryKind::Wait
            | QueueLogEntryKind::Empty => self.replay_dequeue(line),
        }
    }

    /// Dequeues as recorded, and compares the decisions with the entries from `line` on.
    fn replay_dequeue(&mut self, line: QueueLogEntry) -> Result<(), ReplayDifference> {
        let now = line.time;
        let is_dequeue_result = |line: &QueueLogEntry| !matches!(line.kind, QueueLogEntryKind::Mark | QueueLogEntryKind::Drop);
        let answer = self.entries[self.next_entry..].iter().find(|line| is_dequeue_result(line));
        if answer.is_none_or(|line| matches!(line.kind, QueueLogEntryKind::Arrival | QueueLogEntryKind::Timer | QueueLogEntryKind::Rate)) {
            return Err(self.difference_at_current(None));
        }
        let mut done = Vec::new();
        let without_packet = |kind, value| QueueLogEntry::without_packet(now, kind, self.arrived_packets, value);
        let took = self.queue.dequeue(now, &mut self.rng, &mut |event| done.extend(log_entry_of_mark_or_drop(now, event)));
        done.push(match took {
            DequeueOutcome::Packet { packet, .. } => packet.as_log_entry(now, QueueLogEntryKind::Departure, QueueLogCause::None),
            DequeueOutcome::RetryAt(until) => without_packet(QueueLogEntryKind::Wait, until.picos()),
            DequeueOutcome::Empty => without_packet(QueueLogEntryKind::Empty, 0),
        });
        let first = self.next_entry;
        let of_newcomer =
            self.entries[..first].last().is_some_and(|before| before.kind == QueueLogEntryKind::Arrival && before.packet == line.packet);
        self.compare_with_next_entries(&done).map_err(|found| {
            // The recorded decision about the packet that has just arrived is missing in the replay.
            if of_newcomer && found.entry == first { ReplayDifference { replayed: None, ..found } } else { found }
        })
    }

    /// Compares the queue's decisions with the next entries.
    fn compare_with_next_entries(&mut self, done: &[QueueLogEntry]) -> Result<(), ReplayDifference> {
        for now in done {
            if self.entries.get(self.next_entry) != Some(now) {
                return Err(self.difference_at_current(Some(*now)));
            }
            self.next_entry += 1;
            match now.kind {
                QueueLogEntryKind::Mark => self.counts.marks += 1,
                QueueLogEntryKind::Drop => self.counts.drops += 1,
                QueueLogEntryKind::Departure => self.counts.departures += 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn difference_at_current(&self, replayed: Option<QueueLogEntry>) -> ReplayDifference {
        let recorded = self.entries.get(self.next_entry).copied();
        let time = replayed.or(recorded).map_or(Time::ZERO, |line| line.time);
        ReplayDifference { entry: self.next_entry, time, recorded, replayed }
    }
}

/// Entry of a queue event if it is a decision.
fn log_entry_of_mark_or_drop(now: Time, event: QueueEvent<ReplayedPacket>) -> Option<QueueLogEntry> {
    match event {
        QueueEvent::Stored(_) => None,
        QueueEvent::Marked(frame, cause) => Some(frame.as_log_entry(now, QueueLogEntryKind::Mark, cause.into())),
        QueueEvent::Dropped(frame, cause) => Some(frame.as_log_entry(now, QueueLogEntryKind::Drop, cause.into())),
    }
}

/// A packet from a log: the entry of its arrival, with marks set since.
#[derive(Clone, Copy, Debug)]
struct ReplayedPacket(QueueLogEntry);

impl ReplayedPacket {
    fn as_log_entry(&self, time: Time, kind: QueueLogEntryKind, cause: QueueLogCause) -> QueueLogEntry {
        QueueLogEntry { time, kind, cause, ..self.0 }
    }
}

impl QueueItem for ReplayedPacket {
    fn size(&self) -> u32 {
        self.0.size
    }

    fn ecn(&self) -> Ecn {
        self.0.ecn_field.semantics_and_codepoint().1
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.0.ecn_field = EcnField::from_codepoint(self.ecn_semantics(), ecn);
    }

    fn ecn_semantics(&self) -> EcnSemantics {
        self.0.ecn_field.semantics_and_codepoint().0
    }

    fn flow_key(&self) -> u64 {
        self.0.value
    }

    fn rtt(&self) -> Span {
        Span::from_micros(u64::from(self.0.rtt_us))
    }
}

/// The entries of a recorded table, row by row.
fn entry_reader(table: &Table) -> Result<impl Fn(usize) -> QueueLogEntry + '_, ReplayError> {
    let count_values = |name: &'static str| match table.find(name) {
        Some(Column::Count(values)) => Ok(values),
        _ => Err(ReplayError::Column(name)),
    };
    let index_values = |name: &'static str| match table.find(name) {
        Some(Column::Index(values)) => Ok(values),
        _ => Err(ReplayError::Column(name)),
    };
    let (times, values) = (count_values("time_ps")?, count_values("value")?);
    let (numbers, sizes, rtts_us) = (index_values("number")?, index_values("size_bytes")?, index_values("rtt_us")?);
    let kinds = parse_word_column(table, "event", QueueLogEntryKind::WORDS, QueueLogEntryKind::ALL)?;
    let ecn_fields = parse_word_column(table, "ecn", EcnField::WORDS, EcnField::ALL)?;
    let causes = parse_word_column(table, "cause", QueueLogCause::WORDS, QueueLogCause::ALL)?;
    Ok(move |row: usize| QueueLogEntry {
        time: Time::from_picos(times[row]),
        kind: kinds[row],
        packet: numbers[row],
        size: sizes[row],
        ecn_field: ecn_fields[row],
        value: values[row],
        rtt_us: rtts_us[row],
        cause: causes[row],
    })
}

/// Parses a column of words into the values that they name.
fn parse_word_column<W: Copy>(table: &Table, name: &'static str, known: &[&str], all: &[W]) -> Result<Vec<W>, ReplayError> {
    let Some(Column::Name { index, names }) = table.find(name) else { return Err(ReplayError::Column(name)) };
    let of_name: Vec<Option<W>> = names.iter().map(|name| known.iter().position(|word| *word == &**name).map(|place| all[place])).collect();
    let word_at = |&place: &u32| of_name.get(place as usize).copied().flatten().ok_or(ReplayError::Column(name));
    index.iter().map(word_at).collect()
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::NoQueue(name) => write!(f, "the scenario has no measured queue \"{name}\""),
            ReplayError::Kernel(name) => {
                write!(f, "the queue \"{name}\" is a kernel's, which cannot be replayed; fix: name another queue")
            }
            ReplayError::Column(name) => write!(f, "the recorded table has no column {name} as this version writes it"),
        }
    }
}

impl std::error::Error for ReplayError {}

impl fmt::Display for QueueLogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, ecn) = self.ecn_field.semantics_and_codepoint();
        let packet =
            format!("packet {} ({} bytes, {})", self.packet, self.size, EcnField::from_codepoint(EcnSemantics::Classic, ecn).word());
        match self.kind {
            QueueLogEntryKind::Arrival => write!(f, "{packet} arrives"),
            QueueLogEntryKind::Mark => write!(f, "{packet} is marked, {}", self.cause.word()),
            QueueLogEntryKind::Drop => write!(f, "{packet} is dropped, {}", self.cause.word()),
            QueueLogEntryKind::Departure => write!(f, "{packet} departs"),
            QueueLogEntryKind::Wait => write!(f, "none may leave before {} s", Time::from_picos(self.value).seconds()),
            QueueLogEntryKind::Empty => write!(f, "the queue is empty"),
            QueueLogEntryKind::Timer => write!(f, "the queue's own time comes, {} s", self.time.seconds()),
            QueueLogEntryKind::Rate => write!(f, "the rate becomes {} bit/s", self.value),
        }
    }
}
