//! Does a trace obey RFC 3168? Packet by packet, with the section that is broken.
//!
//! A host is judged by what it sends, where it is seen first, and a router by what is different where a packet is seen again. What a file
//! does not show is not judged: an echo only once an acknowledgement covers the marked packet, an answer only two windows and a second after the echo, a
//! retransmission only if its first copy was seen. Known departures of real hosts are named as such; some are known only from all that a host
//! did, so they are told apart from violations when its connection has ended.

mod dialogue;
mod rules;

use std::collections::BTreeMap;

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, End, Event, Flags, Kind, Packet, State};

use crate::columns::{ACCURATE, CLASSIC, REFUSED};
use crate::connection::{Connection, Passage, Setting};
use crate::connections::{Connections, Key};
use crate::flow::Numbers;
use crate::links::Links;
use crate::room::Room;
use dialogue::{Compared, Dialogue, EachEcho, Echo};
pub use rules::{About, Known, Rule};

/// Findings of a rule that are told one by one; all are counted. Each rule has as many, so that frequent departures hide no violation.
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
    /// Who is known to behave so; none of a violation.
    pub known: Option<Known>,
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
    /// In the order of the file, [`MOST`] of each rule at most.
    pub findings: Vec<Finding>,
    /// By the rules' order.
    pub tallies: [Tally; Rule::ALL.len()],
    /// How often each known departure was found.
    pub known: BTreeMap<(Rule, Known), u64>,
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
    /// What was found, by [`Weight`] and by the rules' order.
    tallies: [[u64; Rule::ALL.len()]; 3],
    /// The places of its findings in the book, while it is not known what they are.
    findings: Vec<(usize, Weight)>,
}

/// When a finding is a violation, which is known at the end of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// Unless it is a known departure.
    UnlessKnown,
    /// In any case.
    Always,
    /// If the receiver sets ECE as DCTCP's do; otherwise nothing is wrong.
    IfDctcp,
}

/// Where findings go.
#[derive(Debug, Default)]
struct Book {
    room: Room,
    /// None where nothing was wrong in the end.
    findings: Vec<Option<Finding>>,
    /// How many of them each rule has, by [`Weight`]: those of a connection that turns out not to be DCTCP's take no place of others.
    kept: [[usize; Rule::ALL.len()]; 3],
    tallies: [Tally; Rule::ALL.len()],
    known: BTreeMap<(Rule, Known), u64>,
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
        let Book { findings, tallies, known, connections, .. } = self.book;
        Verdict { findings: findings.into_iter().flatten().collect(), tallies, known, events: self.events, connections }
    }

    /// Settles what the findings of a connection are that has ended.
    fn fold(&mut self, gone: Option<Checked>) {
        let Some(mut gone) = gone else { return };
        for half in &mut gone.connection.halves {
            half.clear(&mut self.book.room);
        }
        for side in 0..2 {
            let known = Rule::ALL.map(|rule| gone.known(rule, side));
            // It is the other end's data that this end echoes.
            let is_dctcp = gone.sides[1 - side].dialogue.echoes_each();
            self.book.settle(&gone.sides[side], known, is_dctcp);
        }
        for side in &mut gone.sides {
            side.dialogue.clear(&mut self.book.room);
        }
    }
}

impl Book {
    /// Counts the findings about one end, and notes of each what it is. `is_dctcp` if that end sets ECE as DCTCP's receivers do.
    fn settle(&mut self, side: &Side, known: [Option<Known>; Rule::ALL.len()], is_dctcp: bool) {
        for (at, &rule) in Rule::ALL.iter().enumerate() {
            let [unless_known, always, if_dctcp] = side.tallies.map(|tallies| tallies[at]);
            let tally = &mut self.tallies[at];
            tally.violations += always + if is_dctcp { if_dctcp } else { 0 };
            match known[at].filter(|_| unless_known > 0) {
                Some(known) => {
                    tally.departures += unless_known;
                    *self.known.entry((rule, known)).or_default() += unless_known;
                }
                None => tally.violations += unless_known,
            }
        }
        for &(at, weight) in &side.findings {
            let finding = &mut self.findings[at];
            match (weight, finding) {
                (Weight::UnlessKnown, Some(finding)) => finding.known = known[finding.rule as usize],
                (Weight::IfDctcp, finding) if !is_dctcp => *finding = None,
                _ => {}
            }
        }
    }
}

impl Checked {
    /// Who is known to do what was found of an end against a rule, if it is a known departure.
    fn known(&self, rule: Rule, side: usize) -> Option<Known> {
        let end = &self.sides[side];
        let when = |known: Known, is_so: bool| is_so.then_some(known);
        let is_always_capable = end.capable_acks > 0 && end.bare_acks == 0;
        let (ecn, is_ns2) = (self.connection.ecn(), self.connection.is_like_ns2());
        let ect_on_all = when(Known::EctOnAll, is_always_capable);
        match rule {
            Rule::Reflected => Some(Known::Reflection),
            Rule::Ect1 => Some(Known::Ect1),
            Rule::AccurateEcn => Some(Known::AccurateEcn),
            Rule::HalfOffer | Rule::OfferInData | Rule::CwrOnRetransmission => when(Known::Ns2, is_ns2),
            Rule::EctOnRetransmission => when(Known::Ns2, is_ns2).or(ect_on_all),
            // Behind the handshake of Accurate ECN all packets are capable, and nothing else of them is looked at.
            Rule::EctOnSyn | Rule::EctOnSynAck if ecn == ACCURATE => Some(Known::AccurateEcn),
            Rule::EctOnSynAck => ect_on_all.or(when(Known::EctOnSynAck, ecn == CLASSIC)),
            Rule::EctOnAck => ect_on_all.or(when(Known::Linux, end.last_acks == end.capable_acks)),
            Rule::EctOnSyn | Rule::EctOnProbe => ect_on_all,
            Rule::EctWithoutAgreement | Rule::FlagsWithoutAgreement => when(Known::Linux, self.connection.uses_ecn_after_fallback()),
            Rule::EchoStopped | Rule::EchoMissing | Rule::EchoWithoutMark => {
                when(Known::Dctcp, self.sides[1 - side].dialogue.echoes_each())
            }
            _ => None,
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
            let is_first = self.is_first(Rule::AccurateEcn, side);
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
        let is_offer = self.connection.is_ns2 && !is_again && packet.has(Flags::ECE);
        if (is_offer || self.connection.opens_with_offer(packet)) && self.is_first(Rule::OfferInData, judged.side) {
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
        if !self.connection.may_use_ecn() || packet.has(Flags::RST) {
            return;
        }
        if has_ece && self.connection.answers_offer(1 - judged.side, number) {
            return;
        }
        let is_whole = self.connection.is_ns2 && self.connection.halves[1 - judged.side].path.is_settled();
        let Compared { classic, dctcp } = self.sides[1 - judged.side].dialogue.echoes(number, has_ece, is_whole);
        let by_classic = match classic {
            Echo::Missing(mark) => Some((Rule::EchoMissing, unechoed(self.counted(1 - judged.side, mark), "was never echoed"))),
            Echo::Stopped(mark) => {
                Some((Rule::EchoStopped, unechoed(self.counted(1 - judged.side, mark), "is echoed no more, and no CWR came")))
            }
            Echo::Unasked if is_whole => Some((Rule::EchoWithoutMark, "it has ECE, and no mark has come since the last CWR".to_owned())),
            Echo::Right | Echo::Unasked => None,
        };
        let by_dctcp = match dctcp {
            EachEcho::Missing(mark) => {
                Some((Rule::EchoMissing, unechoed(self.counted(1 - judged.side, mark), "is not echoed (RFC 8257, section 3.2)")))
            }
            EachEcho::Unasked => {
                Some((Rule::EchoWithoutMark, "it has ECE, and the last packet came without CE (RFC 8257, section 3.2)".to_owned()))
            }
            EachEcho::Right => None,
        };
        match (by_classic, by_dctcp) {
            (Some((rule, found)), None) => self.tell(rule, judged, &found, book),
            (Some((rule, found)), Some(_)) => self.note(rule, judged, &found, Weight::Always, book),
            (None, Some((rule, found))) => self.note(rule, judged, &found, Weight::IfDctcp, book),
            (None, None) => {}
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
        let is_judged =
            packet.has(Flags::ACK) && !packet.has(Flags::SYN) && self.connection.may_use_ecn() && self.connection.ecn() != ACCURATE;
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

    /// Whether nothing was found of an end against a rule so far.
    fn is_first(&self, rule: Rule, side: usize) -> bool {
        self.sides[side].tallies[Weight::UnlessKnown as usize][rule as usize] == 0
    }

    fn tell(&mut self, rule: Rule, judged: Judged, found: &str, book: &mut Book) {
        self.note(rule, judged, found, Weight::UnlessKnown, book);
    }

    fn note(&mut self, rule: Rule, judged: Judged, found: &str, weight: Weight, book: &mut Book) {
        self.sides[judged.side].tallies[weight as usize][rule as usize] += 1;
        let kept = &mut book.kept[weight as usize][rule as usize];
        if *kept < MOST {
            *kept += 1;
            let Packet { source, destination, .. } = judged.event.packet;
            let Judged { record, time, .. } = judged;
            self.sides[judged.side].findings.push((book.findings.len(), weight));
            book.findings.push(Some(Finding { record, time, source, destination, rule, known: None, found: found.to_owned() }));
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
