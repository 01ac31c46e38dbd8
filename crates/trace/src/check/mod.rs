//! Does a trace obey RFC 3168? Packet by packet, with the section that is broken.
//!
//! A host is judged by what it sends, where it is seen first, and a router by what is different where a packet is seen again. What a file
//! does not show is not judged: an echo only once an acknowledgement covers the marked packet, an answer only two windows and a second after the echo, a
//! retransmission only if its first copy was seen. Known departures of real hosts are named as such; some are known only from all that a host
//! did, so they are told apart from violations when its connection has ended.

mod dialogue;
mod rules;

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, End, Event, Flags, Kind, Packet, State};

use crate::columns::{ACCURATE, CLASSIC, REFUSED};
use crate::connection::{Connection, Passage, Setting};
use crate::connections::{Connections, Key};
use crate::flow::Numbers;
use crate::links::Links;
use crate::room::Room;
use dialogue::{Dialogue, Echo};
pub use rules::{About, Rule};

/// Findings that are told one by one; all are counted.
const MOST: usize = 10_000;

/// Something that is not as RFC 3168 asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The number of the line or packet in the file, from 1.
    pub record: u64,
    pub time: Time,
    pub source: End,
    pub destination: End,
    pub rule: Rule,
    /// A known departure rather than a violation.
    pub is_departure: bool,
    pub found: String,
}

/// How often a rule was broken, and how often a known departure was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub violations: u64,
    pub departures: u64,
}

/// The outcome.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// In the order of the file, [`MOST`] at most.
    pub findings: Vec<Finding>,
    /// By the rules' order.
    pub tallies: [Tally; Rule::ALL.len()],
    pub events: u64,
    pub connections: u64,
}

impl Verdict {
    pub fn total(&self) -> Tally {
        let sum = |of: fn(&Tally) -> u64| self.tallies.iter().map(of).sum();
        Tally { violations: sum(|tally| tally.violations), departures: sum(|tally| tally.departures) }
    }
}

/// A trace that is being checked.
#[derive(Debug, Default)]
pub struct Check {
    interfaces: usize,
    connections: Connections<Checked>,
    links: Links,
    book: Book,
    now: Time,
    events: u64,
}

/// A connection and what its two ends have done.
#[derive(Debug, Default)]
struct Checked {
    is_counted: bool,
    connection: Connection,
    sides: [Side; 2],
}

/// What one end has done.
#[derive(Debug, Default)]
struct Side {
    /// Its data, and what came back for it.
    dialogue: Dialogue,
    /// Pure acknowledgements that it sent with ECT, and without; of the first those after both ends' FIN.
    capable_acks: u64,
    bare_acks: u64,
    last_acks: u64,
    has_finished: bool,
    /// The right edge of the window that it last announced, of the other end's data; where the window is zero.
    closed_at: Option<u64>,
    has_used_ect1: bool,
    tallies: [u64; Rule::ALL.len()],
    /// The places of its findings in the book, while it is not known what they are.
    findings: Vec<usize>,
}

/// Where findings go.
#[derive(Debug, Default)]
struct Book {
    room: Room,
    findings: Vec<Finding>,
    tallies: [Tally; Rule::ALL.len()],
    connections: u64,
}

/// A packet at the place where it is judged.
#[derive(Clone, Copy)]
struct Judged<'a> {
    event: &'a Event,
    record: u64,
    time: Time,
    numbers: Numbers,
    side: usize,
}

impl Check {
    /// Says how many interfaces a capture has, as they become known.
    pub fn interfaces(&mut self, count: usize) {
        self.interfaces = count;
    }

    /// Takes an event in, the file's line or packet of that number, at a time that is told from where the file's times are counted.
    pub fn take(&mut self, event: &Event, record: u64, time: Time) {
        self.events += 1;
        self.now = self.now.max(time);
        if event.packet.state != State::Whole || !event.packet.is_tcp() {
            return;
        }
        let Some((key, side)) = Key::of(&event.packet) else { return };
        let (at, gone) = self.connections.enter(key, Checked::default);
        self.fold(gone);
        if self.connections.at(at).connection.is_replaced_by(&event.packet) {
            let before = std::mem::take(self.connections.at(at));
            self.fold(Some(before));
        }
        let checked = self.connections.at(at);
        self.book.connections += u64::from(!std::mem::replace(&mut checked.is_counted, true));
        let setting = Setting { now: self.now, is_measured: false, is_joined: self.interfaces > 1 };
        checked.connection.note(&event.packet, side);
        let half = &mut checked.connection.halves[side];
        let numbers = half.numbers(&event.packet);
        let passage = half.pass(event, numbers, setting, &mut self.links, &mut self.book.room, &mut Vec::new());
        let judged = Judged { event, record, time: self.now, numbers, side };
        checked.judge(judged, passage, &mut self.book);
    }

    pub fn finish(mut self) -> Verdict {
        for checked in std::mem::take(&mut self.connections).into_all() {
            self.fold(Some(checked));
        }
        let Book { findings, tallies, connections, .. } = self.book;
        Verdict { findings, tallies, events: self.events, connections }
    }

    /// Settles what the findings of a connection are that has ended.
    fn fold(&mut self, gone: Option<Checked>) {
        let Some(mut gone) = gone else { return };
        for half in &mut gone.connection.halves {
            half.clear(&mut self.book.room);
        }
        for side in 0..2 {
            let departs = Rule::ALL.map(|rule| gone.departs(rule, side));
            gone.sides[side].dialogue.clear(&mut self.book.room);
            self.book.settle(&gone.sides[side], departs);
        }
    }
}

impl Book {
    /// Counts the findings about one end, and says of each what it is.
    fn settle(&mut self, side: &Side, departs: [bool; Rule::ALL.len()]) {
        for (at, &count) in side.tallies.iter().enumerate() {
            let tally = &mut self.tallies[at];
            *(if departs[at] { &mut tally.departures } else { &mut tally.violations }) += count;
        }
        for &at in &side.findings {
            let finding = &mut self.findings[at];
            finding.is_departure = departs[finding.rule as usize];
        }
    }
}

impl Checked {
    /// Whether what was found of an end against a rule is a known departure.
    fn departs(&self, rule: Rule, side: usize) -> bool {
        let end = &self.sides[side];
        let is_always_capable = end.capable_acks > 0 && end.bare_acks == 0;
        match rule {
            Rule::Reflected | Rule::Ect1 | Rule::AccurateEcn | Rule::OfferInData => true,
            Rule::EctOnSynAck => is_always_capable || [CLASSIC, ACCURATE].contains(&self.connection.ecn()),
            // Behind the handshake of Accurate ECN all packets are capable, and nothing else of them is looked at.
            Rule::EctOnSyn if self.connection.ecn() == ACCURATE => true,
            Rule::EctOnAck => is_always_capable || end.last_acks == end.capable_acks,
            Rule::EctOnSyn | Rule::EctOnProbe => is_always_capable,
            Rule::EctOnRetransmission => is_always_capable || self.connection.is_like_ns2(),
            Rule::HalfOffer | Rule::CwrOnRetransmission => self.connection.is_like_ns2(),
            // It is the other end's data that this end echoes.
            Rule::EchoStopped | Rule::EchoMissing | Rule::EchoWithoutMark => self.sides[1 - side].dialogue.echoes_each(),
            _ => false,
        }
    }

    fn judge(&mut self, judged: Judged, passage: Passage, book: &mut Book) {
        let packet = &judged.event.packet;
        self.connection.is_ns2 = matches!(packet.source.address, Address::Node(_));
        if passage.role.is_sent {
            self.judge_setup(judged, book);
            if self.connection.ecn() != ACCURATE {
                self.judge_sent(judged, book);
            }
        }
        self.judge_way(judged, passage, book);
        if passage.role.has_arrived {
            self.note_arrival(judged, book);
        }
    }

    /// What SYN and SYN-ACK say, and that a host should use ECT(0).
    fn judge_setup(&mut self, judged: Judged, book: &mut Book) {
        let packet = &judged.event.packet;
        let (has, side) = (|flag| packet.has(flag), judged.side);
        if packet.ecn == Ecn::Ect1 && !std::mem::replace(&mut self.sides[side].has_used_ect1, true) {
            self.tell(Rule::Ect1, judged, "this end sends ECT(1)", book);
        }
        if !has(Flags::SYN) {
            let is_first = self.sides[side].tallies[Rule::AccurateEcn as usize] == 0;
            if self.connection.ecn() == ACCURATE && is_first {
                self.tell(Rule::AccurateEcn, judged, "both ends agreed to Accurate ECN", book);
            }
            return;
        }
        let is_answer = has(Flags::ACK);
        if packet.ecn.is_capable() {
            let rule = if is_answer { Rule::EctOnSynAck } else { Rule::EctOnSyn };
            self.tell(rule, judged, &carries(packet.ecn), book);
        }
        let (ece, cwr, ae) = (has(Flags::ECE), has(Flags::CWR), has(Flags::AE));
        match is_answer {
            false if ece != cwr && !ae => {
                self.tell(Rule::HalfOffer, judged, if ece { "it has ECE alone" } else { "it has CWR alone" }, book)
            }
            true if ece && !cwr && self.connection.offered_nothing() => {
                self.tell(Rule::AnswerWithoutOffer, judged, "it has ECE, and no SYN offered ECN", book);
            }
            true if cwr && !self.connection.has_asked_accurate() => {
                self.tell(Rule::Reflected, judged, "it has CWR", book);
            }
            _ => {}
        }
    }

    /// What a host sends once a connection stands.
    fn judge_sent(&mut self, judged: Judged, book: &mut Book) {
        let packet = &judged.event.packet;
        if packet.has(Flags::SYN) && !self.connection.is_ns2 {
            return;
        }
        self.sides[judged.side].has_finished |= packet.has(Flags::FIN);
        let flags = Flags(packet.tcp.flags.0 & (Flags::ECE | Flags::CWR).0);
        if self.connection.ecn() == REFUSED && flags != Flags::default() {
            self.tell(Rule::FlagsWithoutAgreement, judged, &format!("it has {flags}, and ECN was not agreed to"), book);
        }
        if packet.has(Flags::ACK) {
            self.judge_echo(judged, book);
        }
        match judged.numbers {
            Some(segment) => self.judge_data(judged, segment, book),
            None => self.judge_ack(judged, book),
        }
    }

    fn judge_data(&mut self, judged: Judged, segment: (u64, u64), book: &mut Book) {
        let packet = &judged.event.packet;
        let (is_capable, has_cwr) = (packet.ecn.is_capable(), packet.has(Flags::CWR));
        let is_again = self.sides[judged.side].dialogue.was_sent(segment);
        let is_probe = packet.payload <= 1 && self.sides[1 - judged.side].closed_at.is_some_and(|edge| edge <= segment.0);
        let carries = carries(packet.ecn);
        if self.connection.ecn() == REFUSED && is_capable {
            self.tell(Rule::EctWithoutAgreement, judged, &format!("{carries}, and ECN was not agreed to"), book);
        }
        if is_again && is_capable {
            self.tell(Rule::EctOnRetransmission, judged, &carries, book);
        }
        if is_probe && is_capable {
            self.tell(Rule::EctOnProbe, judged, &format!("{carries}, and the window is closed"), book);
        }
        let dialogue = &mut self.sides[judged.side].dialogue;
        dialogue.sends(segment, is_again, &mut book.room);
        match has_cwr {
            true if is_again => {
                dialogue.reduces_again();
                self.tell(Rule::CwrOnRetransmission, judged, "it has CWR", book);
            }
            true if is_probe => self.tell(Rule::CwrOnProbe, judged, "it has CWR, and the window is closed", book),
            true if !dialogue.reduces(segment) => {
                self.tell(Rule::CwrTwice, judged, "it has CWR, and data is outstanding that was sent before the last CWR", book);
            }
            _ => {}
        }
        if self.connection.is_ns2 && !is_again && packet.has(Flags::ECE) && self.sides[judged.side].tallies[Rule::OfferInData as usize] == 0
        {
            self.tell(Rule::OfferInData, judged, "its first packet has ECE", book);
        }
    }

    /// A packet without data.
    fn judge_ack(&mut self, judged: Judged, book: &mut Book) {
        let packet = &judged.event.packet;
        let is_over = self.sides.iter().all(|side| side.has_finished);
        let is_pure = packet.kind == Kind::Ack && ![Flags::SYN, Flags::FIN, Flags::RST].iter().any(|&flag| packet.has(flag));
        if !is_pure {
            return;
        }
        let end = &mut self.sides[judged.side];
        if packet.ecn == Ecn::NotEct {
            end.bare_acks += 1;
        } else {
            end.capable_acks += 1;
            end.last_acks += u64::from(is_over);
            self.tell(Rule::EctOnAck, judged, &carries(packet.ecn), book);
        }
        if packet.has(Flags::CWR) {
            self.tell(Rule::CwrWithoutData, judged, "it has CWR and no data", book);
        }
    }

    /// Whether an acknowledgement echoes what came before it.
    fn judge_echo(&mut self, judged: Judged, book: &mut Book) {
        let packet = &judged.event.packet;
        let number = self.connection.halves[1 - judged.side].space.unwrapped(packet.tcp.ack);
        let has_ece = packet.has(Flags::ECE);
        if packet.tcp.window == 0 && !self.connection.is_ns2 {
            self.sides[judged.side].closed_at = Some(number);
        } else {
            self.sides[judged.side].closed_at = None;
        }
        if self.connection.ecn() == REFUSED || packet.has(Flags::RST) {
            return;
        }
        if has_ece && self.connection.answers_offer(1 - judged.side, number) {
            return;
        }
        let is_whole = self.connection.is_ns2 && self.connection.halves[1 - judged.side].path.is_settled();
        match self.sides[1 - judged.side].dialogue.echoes(number, has_ece, is_whole) {
            Echo::Right => {}
            Echo::Missing(mark) => {
                self.tell(Rule::EchoMissing, judged, &unechoed(self.counted(1 - judged.side, mark), "was never echoed"), book)
            }
            Echo::Stopped(mark) => {
                self.tell(
                    Rule::EchoStopped,
                    judged,
                    &unechoed(self.counted(1 - judged.side, mark), "is echoed no more, and no CWR came"),
                    book,
                );
            }
            Echo::Unasked if is_whole => {
                self.tell(Rule::EchoWithoutMark, judged, "it has ECE, and no mark has come since the last CWR", book);
            }
            Echo::Unasked => {}
        }
    }

    /// What routers did.
    fn judge_way(&mut self, judged: Judged, passage: Passage, book: &mut Book) {
        let now = judged.event.packet.ecn;
        let Some(before) = passage.before.map(|before| before.ecn).filter(|&before| before != now) else { return };
        let found = format!("it had {} before and has {} now", named(before), named(now));
        match (before, now) {
            (Ecn::NotEct, Ecn::Ce) => self.tell(Rule::MarkOnNotEct, judged, &found, book),
            (_, Ecn::Ce) => {}
            _ => self.tell(Rule::Cleared, judged, &found, book),
        }
    }

    /// A packet has come to its other end.
    fn note_arrival(&mut self, judged: Judged, book: &mut Book) {
        let packet = &judged.event.packet;
        if let Some(segment) = judged.numbers {
            let (has_ce, has_cwr) = (packet.ecn == Ecn::Ce, packet.has(Flags::CWR));
            self.sides[judged.side].dialogue.arrives(segment, has_ce, has_cwr, &mut book.room);
        }
        let is_judged = packet.has(Flags::ACK) && !packet.has(Flags::SYN) && !matches!(self.connection.ecn(), REFUSED | ACCURATE);
        if is_judged {
            let number = self.connection.halves[1 - judged.side].space.unwrapped(packet.tcp.ack);
            let has_ece = packet.has(Flags::ECE) && !self.connection.answers_offer(1 - judged.side, number);
            if self.sides[1 - judged.side].dialogue.acknowledged(number, has_ece, judged.time) {
                self.tell(Rule::NoCwr, judged, "two windows and a second after ECE the source has not set CWR", book);
            }
        }
    }

    /// A segment, counted from the first number of its direction.
    fn counted(&self, side: usize, (start, end): (u64, u64)) -> (u64, u64) {
        let base = self.connection.halves[side].base.unwrap_or(0);
        (start.saturating_sub(base), end.saturating_sub(base))
    }

    fn tell(&mut self, rule: Rule, judged: Judged, found: &str, book: &mut Book) {
        self.sides[judged.side].tallies[rule as usize] += 1;
        if book.findings.len() < MOST {
            let Packet { source, destination, .. } = judged.event.packet;
            let Judged { record, time, .. } = judged;
            self.sides[judged.side].findings.push(book.findings.len());
            book.findings.push(Finding { record, time, source, destination, rule, is_departure: false, found: found.to_owned() });
        }
    }
}

fn unechoed((start, end): (u64, u64), what: &str) -> String {
    format!("it has no ECE: the mark of {start} to {} {what}", end.saturating_sub(1))
}

/// What a packet has that should have been sent Not-ECT.
fn carries(ecn: Ecn) -> String {
    match ecn {
        Ecn::Ce => "it has CE: it was sent with ECT, or a router marked what was Not-ECT".to_owned(),
        _ => format!("it has {}", named(ecn)),
    }
}

fn named(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    }
}
