//! Replay: what came to a queue, put through the same queue again, and what it does now against what it did then.
//!
//! A queue is a function of what comes to it, when it is asked, and its random stream. All of that stands in the table
//! [`arrivals`](crate::arrivals::ARRIVALS) and in the scenario and seed, wherever the packets came from: so a queue of real time can be
//! judged decision by decision, long after it was.

use std::fmt;

use ecnlab_queue::{Deed, Discipline, Frame, Queue, Take};
use ecnlab_units::{Dialect, Ecn, Rate, Rng, Span, Time};

use crate::arrivals::{Field, QueueAct, QueueCause, QueueLine};
use crate::measures::table::{Column, Table};
use crate::network::{Buffer, Network, QueueSpec};

/// What was replayed until a decision was another, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    pub arrivals: u64,
    pub departures: u64,
    pub marks: u64,
    pub drops: u64,
}

/// The first decision that was another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Which line of the queue's record it is, from 0.
    pub line: usize,
    pub time: Time,
    /// What the queue did then; nothing if it did nothing more.
    pub recorded: Option<QueueLine>,
    /// What it does now.
    pub replayed: Option<QueueLine>,
}

/// What becomes of a queue's record when it is replayed: how much of it was the same, and the first decision that was another, if one was.
pub type Outcome = (Replayed, Option<Difference>);

/// Why a queue cannot be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unplayable {
    /// The network has no measured queue of this name.
    NoQueue(String),
    /// The queue is a kernel's, whose law is not known here.
    Kernel(String),
    /// The table lacks this column, or holds something in it that none of ours does.
    Column(&'static str),
}

/// Replays the queues of a recorded table, all of them or the one of this name; each with its name, in the order of the network. A kernel's
/// queue beside others has no outcome.
///
/// # Errors
/// If a queue cannot be replayed, or none of all.
pub fn replay(network: &Network, seed: u64, table: &Table, only: Option<&str>) -> Result<Vec<(String, Option<Outcome>)>, Unplayable> {
    let lines = Lines::of(table)?;
    if let Some(name) = only.filter(|name| !queues(network).any(|(queue, _)| queue.name == *name)) {
        return Err(Unplayable::NoQueue(name.to_owned()));
    }
    if let Some(name) = lines.names.iter().find(|name| !queues(network).any(|(queue, _)| queue.name == ***name)) {
        return Err(Unplayable::NoQueue((**name).to_owned()));
    }
    let wanted = || queues(network).filter(|(queue, _)| only.is_none_or(|name| queue.name == name));
    let is_ours = |queue: &QueueSpec| queue.of.kernel().is_none();
    if let Some((queue, _)) = wanted().next().filter(|_| !wanted().any(|(queue, _)| is_ours(queue))) {
        return Err(Unplayable::Kernel(queue.name.clone()));
    }
    let played = wanted().map(|(queue, rate)| {
        let outcome = is_ours(queue).then(|| replay_queue(queue, rate, seed, &lines.of_queue(&queue.name)));
        (queue.name.clone(), outcome)
    });
    Ok(played.collect())
}

/// The measured queues of a network, each with its link's rate.
fn queues(network: &Network) -> impl Iterator<Item = (&QueueSpec, Rate)> {
    network.links.iter().filter_map(|link| match &link.buffer {
        Buffer::Queue(queue) => Some((&**queue, link.rate)),
        Buffer::Pipe { .. } => None,
    })
}

/// Replays one queue.
pub fn replay_queue(spec: &QueueSpec, rate: Rate, seed: u64, lines: &[QueueLine]) -> Outcome {
    let rng = Rng::for_role(seed, &format!("queue {}", spec.name));
    let mut replay = Replay { queue: spec.of.build(rate), rng, lines, next: 0, came: 0, replayed: Replayed::default() };
    while replay.next < lines.len() {
        if let Err(difference) = replay.step() {
            return (replay.replayed, Some(difference));
        }
    }
    (replay.replayed, None)
}

/// A queue as it is replayed.
struct Replay<'l> {
    queue: Queue<Logged>,
    rng: Rng,
    lines: &'l [QueueLine],
    /// The line at hand.
    next: usize,
    came: u32,
    replayed: Replayed,
}

impl Replay<'_> {
    /// Does what the line at hand says was done to the queue, and compares what the queue did with the lines that follow.
    fn step(&mut self) -> Result<(), Difference> {
        let line = self.lines[self.next];
        let now = line.time;
        match line.act {
            QueueAct::Arrival => {
                self.next += 1;
                self.came += 1;
                self.replayed.arrivals += 1;
                let mut done = Vec::new();
                self.queue.offer(Logged::of(&line), now, &mut self.rng, &mut |deed| done.extend(line_of(now, deed)));
                self.compare(&done)
            }
            QueueAct::Timer => {
                let due = self.queue.deadline();
                if due != Some(now) {
                    let replayed = due.map(|due| QueueLine { time: due, ..line });
                    return Err(Difference { line: self.next, time: now, recorded: Some(line), replayed });
                }
                self.next += 1;
                self.queue.expire(now, &mut self.rng);
                Ok(())
            }
            QueueAct::Rate => {
                self.next += 1;
                Rate::from_bps(line.key).into_iter().for_each(|rate| self.queue.retune(rate));
                Ok(())
            }
            QueueAct::Mark | QueueAct::Drop | QueueAct::Departure | QueueAct::Wait | QueueAct::Empty => self.ask(line),
        }
    }

    /// Asks the queue for a packet, as it was asked then: what it did stands from the line at hand on.
    fn ask(&mut self, line: QueueLine) -> Result<(), Difference> {
        let now = line.time;
        let is_answer = |line: &QueueLine| !matches!(line.act, QueueAct::Mark | QueueAct::Drop);
        let answer = self.lines[self.next..].iter().find(|line| is_answer(line));
        if answer.is_none_or(|line| matches!(line.act, QueueAct::Arrival | QueueAct::Timer | QueueAct::Rate)) {
            return Err(self.difference(None));
        }
        let mut done = Vec::new();
        let bare = QueueLine {
            time: now,
            act: QueueAct::Empty,
            packet: self.came,
            size: 0,
            field: Field::NotEct,
            key: 0,
            rtt_us: 0,
            cause: QueueCause::None,
        };
        let took = self.queue.take(now, &mut self.rng, &mut |deed| done.extend(line_of(now, deed)));
        done.push(match took {
            Take::Packet { frame, .. } => frame.line(now, QueueAct::Departure, QueueCause::None),
            Take::Later(until) => QueueLine { act: QueueAct::Wait, key: until.picos(), ..bare },
            Take::Empty => bare,
        });
        let first = self.next;
        let of_newcomer = self.lines[..first].last().is_some_and(|before| before.act == QueueAct::Arrival && before.packet == line.packet);
        self.compare(&done).map_err(|found| {
            // What it did then to the packet that has just come, it does not do now.
            if of_newcomer && found.line == first { Difference { replayed: None, ..found } } else { found }
        })
    }

    /// Compares what the queue does now with the next lines.
    fn compare(&mut self, done: &[QueueLine]) -> Result<(), Difference> {
        for now in done {
            if self.lines.get(self.next) != Some(now) {
                return Err(self.difference(Some(*now)));
            }
            self.next += 1;
            match now.act {
                QueueAct::Mark => self.replayed.marks += 1,
                QueueAct::Drop => self.replayed.drops += 1,
                QueueAct::Departure => self.replayed.departures += 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn difference(&self, replayed: Option<QueueLine>) -> Difference {
        let recorded = self.lines.get(self.next).copied();
        let time = replayed.or(recorded).map_or(Time::ZERO, |line| line.time);
        Difference { line: self.next, time, recorded, replayed }
    }
}

/// What a queue did, where it is a decision.
fn line_of(now: Time, deed: Deed<Logged>) -> Option<QueueLine> {
    match deed {
        Deed::Stored(_) => None,
        Deed::Marked(frame, cause) => Some(frame.line(now, QueueAct::Mark, cause.into())),
        Deed::Dropped(frame, cause) => Some(frame.line(now, QueueAct::Drop, cause.into())),
    }
}

/// A packet of a record.
#[derive(Clone, Copy, Debug)]
struct Logged {
    number: u32,
    size: u32,
    dialect: Dialect,
    ecn: Ecn,
    flow: u64,
    rtt_us: u32,
}

impl Logged {
    fn of(line: &QueueLine) -> Logged {
        let (dialect, ecn) = line.field.parts();
        Logged { number: line.packet, size: line.size, dialect, ecn, flow: line.key, rtt_us: line.rtt_us }
    }

    fn line(&self, time: Time, act: QueueAct, cause: QueueCause) -> QueueLine {
        let field = Field::of(self.dialect, self.ecn);
        QueueLine { time, act, packet: self.number, size: self.size, field, key: self.flow, rtt_us: self.rtt_us, cause }
    }
}

impl Frame for Logged {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn flow(&self) -> u64 {
        self.flow
    }

    fn rtt(&self) -> Span {
        Span::from_micros(u64::from(self.rtt_us))
    }
}

/// The columns of a recorded table.
struct Lines<'t> {
    time: &'t [u64],
    key: &'t [u64],
    packet: &'t [u32],
    size: &'t [u32],
    rtt_us: &'t [u32],
    queue: &'t [u32],
    names: &'t [std::sync::Arc<str>],
    acts: Vec<QueueAct>,
    fields: Vec<Field>,
    causes: Vec<QueueCause>,
}

impl<'t> Lines<'t> {
    fn of(table: &'t Table) -> Result<Lines<'t>, Unplayable> {
        let counts = |name: &'static str| match table.find(name) {
            Some(Column::Count(values)) => Ok(&values[..]),
            _ => Err(Unplayable::Column(name)),
        };
        let indices = |name: &'static str| match table.find(name) {
            Some(Column::Index(values)) => Ok(&values[..]),
            _ => Err(Unplayable::Column(name)),
        };
        let Some(Column::Name { index: queue, names }) = table.find("queue") else { return Err(Unplayable::Column("queue")) };
        Ok(Lines {
            time: counts("time_ps")?,
            key: counts("value")?,
            packet: indices("number")?,
            size: indices("size_bytes")?,
            rtt_us: indices("rtt_us")?,
            queue,
            names,
            acts: words(table, "act", QueueAct::WORDS, QueueAct::ALL)?,
            fields: words(table, "ecn", Field::WORDS, Field::ALL)?,
            causes: words(table, "cause", QueueCause::WORDS, QueueCause::ALL)?,
        })
    }

    /// The lines of a queue, in order.
    fn of_queue(&self, name: &str) -> Vec<QueueLine> {
        let Some(place) = self.names.iter().position(|known| &**known == name) else { return Vec::new() };
        let rows = (0..self.queue.len()).filter(|&row| self.queue[row] as usize == place);
        rows.map(|row| QueueLine {
            time: Time::from_picos(self.time[row]),
            act: self.acts[row],
            packet: self.packet[row],
            size: self.size[row],
            field: self.fields[row],
            key: self.key[row],
            rtt_us: self.rtt_us[row],
            cause: self.causes[row],
        })
        .collect()
    }
}

/// A column of words as what they stand for.
fn words<W: Copy>(table: &Table, name: &'static str, known: &[&str], all: &[W]) -> Result<Vec<W>, Unplayable> {
    let Some(Column::Name { index, names }) = table.find(name) else { return Err(Unplayable::Column(name)) };
    let of_name: Vec<Option<W>> = names.iter().map(|name| known.iter().position(|word| *word == &**name).map(|place| all[place])).collect();
    let of = |&place: &u32| of_name.get(place as usize).copied().flatten().ok_or(Unplayable::Column(name));
    index.iter().map(of).collect()
}

impl fmt::Display for Unplayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unplayable::NoQueue(name) => write!(f, "the scenario has no measured queue \"{name}\""),
            Unplayable::Kernel(name) => {
                write!(f, "the queue \"{name}\" is a kernel's, whose law is not known here: name another queue, if there is one")
            }
            Unplayable::Column(name) => write!(f, "the recorded table has no column {name} as this version writes it"),
        }
    }
}

impl std::error::Error for Unplayable {}

impl fmt::Display for QueueLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (_, ecn) = self.field.parts();
        let packet = format!("packet {} ({} bytes, {})", self.packet, self.size, Field::of(Dialect::Classic, ecn).word());
        match self.act {
            QueueAct::Arrival => write!(f, "{packet} arrives"),
            QueueAct::Mark => write!(f, "{packet} is marked, {}", self.cause.word()),
            QueueAct::Drop => write!(f, "{packet} is dropped, {}", self.cause.word()),
            QueueAct::Departure => write!(f, "{packet} departs"),
            QueueAct::Wait => write!(f, "none may leave before {} s", Time::from_picos(self.key).seconds()),
            QueueAct::Empty => write!(f, "the queue is empty"),
            QueueAct::Timer => write!(f, "the queue's own time comes, {} s", self.time.seconds()),
            QueueAct::Rate => write!(f, "the rate becomes {} bit/s", self.key),
        }
    }
}
