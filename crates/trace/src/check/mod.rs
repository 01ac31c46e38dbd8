//! Checks a trace against RFC 3168 and, of Accurate ECN, RFC 9768, packet by packet, and reports the section that is broken.
//!
//! Hosts are checked on packets at the first capture point, and routers on changes between two capture points. Only visible behaviour is
//! checked: an echo once an ACK covers the marked packet, CWR two windows and a second after the echo, a retransmission if its first copy
//! was seen. Known deviations of real hosts are reported as such. Some are recognized only from the whole connection, so they are separated
//! from violations at its end.

mod accurate_feedback;
mod ecn_session;
mod rules;

use std::collections::BTreeMap;

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, End, Flags, Kind, Packet, TraceEvent, Truncation};

use crate::columns::EcnMode;
use crate::connection::{Connection, HopObservation, TrackingContext};
use crate::connection_table::{ConnectionKey, ConnectionTable};
use crate::flow::SeqRange;
use crate::links::LinkTable;
use crate::memory_budget::MemoryBudget;
use accurate_feedback::{AccurateFeedback, SentFeedback};
use ecn_session::{ClassicEchoVerdict, DctcpEchoVerdict, EchoVerdicts, EcnSession};
pub use rules::{KnownDeparture, Rule};

/// Findings of a rule that are listed; all are counted. The bound is per rule, so that frequent departures hide no violation.
const MAX_FINDINGS_PER_RULE: usize = 10_000;

/// A violation of RFC 3168, or a known departure from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The number of the line or packet in the file, from 1.
    pub record: u64,
    pub time: Time,
    pub source: End,
    pub destination: End,
    pub rule: Rule,
    /// The hosts that are known to behave so; none of a violation.
    pub known: Option<KnownDeparture>,
    pub found: String,
}

/// How often a rule was broken, and how often a known departure was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingCounts {
    pub violations: u64,
    pub departures: u64,
}

/// The outcome.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// In the order of the file, [`MAX_FINDINGS_PER_RULE`] of each rule at most.
    pub findings: Vec<Finding>,
    /// By the rules' order.
    pub rule_counts: [FindingCounts; Rule::ALL.len()],
    /// How often each known departure was found.
    pub known: BTreeMap<(Rule, KnownDeparture), u64>,
    pub events: u64,
    pub connections: u64,
    /// Connections with many packets of one direction alone, of which no rule about replies can be checked.
    pub one_way_connections: u64,
}

impl CheckReport {
    pub fn total_counts(&self) -> FindingCounts {
        let sum = |of: fn(&FindingCounts) -> u64| self.rule_counts.iter().map(of).sum();
        FindingCounts { violations: sum(|rule_count| rule_count.violations), departures: sum(|rule_count| rule_count.departures) }
    }
}

/// Events without any of the other direction that tell a missing direction from packets that were lost.
const MIN_ONE_WAY_EVENTS: u64 = 100;

/// A trace that is being checked.
#[derive(Debug, Default)]
pub struct EcnCheck {
    interface_count: usize,
    connections: ConnectionTable<CheckedConnection>,
    links: LinkTable,
    log: ViolationLog,
    now: Time,
    events: u64,
}

/// A connection and the state of its two ends.
#[derive(Debug, Default)]
struct CheckedConnection {
    is_counted: bool,
    connection: Connection,
    sides: [ObservedEnd; 2],
    handshake_times: HandshakeTimes,
}

/// When the packets of the handshake passed, and the side of its SYN.
#[derive(Debug, Default)]
struct HandshakeTimes {
    opener_side: usize,
    syn: Option<Time>,
    syn_ack: Option<Time>,
    ack: Option<Time>,
}

/// Behaviour of one end.
#[derive(Debug, Default)]
struct ObservedEnd {
    /// Events of its packets.
    events: u64,
    /// ECN state of its data and their acknowledgements.
    ecn_session: EcnSession,
    /// What it has received, as its Accurate ECN has to report it.
    feedback: AccurateFeedback,
    /// Pure acknowledgements that it sent with ECT, and without; of the first those after both ends' FIN.
    ect_acks: u64,
    not_ect_acks: u64,
    ect_acks_after_fins: u64,
    has_sent_fin: bool,
    /// The right edge of the window that it last announced, of the other end's data; where the window is zero.
    zero_window_edge: Option<u64>,
    has_used_ect1: bool,
    /// Counts of findings, by [`ViolationCondition`] and by the rules' order.
    rule_counts: [[u64; Rule::ALL.len()]; 3],
    /// The indices of its findings in the log, until the connection ends.
    findings: Vec<(usize, ViolationCondition)>,
}

/// Condition under which a finding is a violation, which is known at the end of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ViolationCondition {
    /// Unless it is a known departure.
    UnlessKnown,
    /// In any case.
    Always,
    /// If the receiver sets ECE as DCTCP's do; otherwise nothing is wrong.
    IfDctcp,
}

/// List and counts of all findings.
#[derive(Debug, Default)]
struct ViolationLog {
    memory: MemoryBudget,
    /// None where nothing was wrong in the end.
    findings: Vec<Option<Finding>>,
    /// How many of them each rule has, by [`ViolationCondition`]: those of a connection that turns out not to be DCTCP's take no place of others.
    logged_counts: [[usize; Rule::ALL.len()]; 3],
    rule_counts: [FindingCounts; Rule::ALL.len()],
    known: BTreeMap<(Rule, KnownDeparture), u64>,
    connections: u64,
    one_way_connections: u64,
}

/// A packet at the place where it is checked, and the list of findings.
struct PacketEvent<'a> {
    packet: &'a Packet,
    record: u64,
    time: Time,
    seq_range: SeqRange,
    side: usize,
    log: &'a mut ViolationLog,
}

impl EcnCheck {
    /// Sets how many interfaces a capture has, as they become known.
    pub fn set_interface_count(&mut self, count: usize) {
        self.interface_count = count;
    }

    /// Processes an event: the line or packet `record` of the file, at a time relative to the file's zero.
    pub fn on_event(&mut self, event: &TraceEvent, record: u64, time: Time) {
        self.events += 1;
        self.now = self.now.max(time);
        if event.packet.truncation != Truncation::Complete || !event.packet.is_tcp() {
            return;
        }
        let Some((key, side)) = ConnectionKey::with_side_of_packet(&event.packet) else { return };
        let (at, ended) = self.connections.get_or_allocate_slot(key, CheckedConnection::default);
        self.finish_connection(ended);
        if self.connections.state_at_mut(at).connection.is_reopened_by(&event.packet) {
            let previous = std::mem::take(self.connections.state_at_mut(at));
            self.finish_connection(Some(previous));
        }
        let checked = self.connections.state_at_mut(at);
        self.log.connections += u64::from(!std::mem::replace(&mut checked.is_counted, true));
        checked.connection.update_handshake_and_close(&event.packet, side);
        checked.sides[side].events += 1;
        let half = &mut checked.connection.halves[side];
        let seq_range = half.seq_range(&event.packet);
        let mut tracking = TrackingContext {
            now: self.now,
            is_measured: false,
            has_several_interfaces: self.interface_count > 1,
            links: &mut self.links,
            memory: &mut self.log.memory,
            overtaken: &mut Vec::new(),
        };
        let observation = half.on_event(event, seq_range, &mut tracking);
        let mut packet_event = PacketEvent { packet: &event.packet, record, time: self.now, seq_range, side, log: &mut self.log };
        checked.judge_packet(&mut packet_event, observation);
    }

    pub fn finish(mut self) -> CheckReport {
        for checked in std::mem::take(&mut self.connections).into_values() {
            self.finish_connection(Some(checked));
        }
        let ViolationLog { findings, rule_counts, known, connections, one_way_connections, .. } = self.log;
        let findings = findings.into_iter().flatten().collect();
        CheckReport { findings, rule_counts, known, events: self.events, connections, one_way_connections }
    }

    /// Classifies the findings of a connection that has ended.
    fn finish_connection(&mut self, ended: Option<CheckedConnection>) {
        let Some(mut ended) = ended else { return };
        let events = [ended.sides[0].events, ended.sides[1].events];
        self.log.one_way_connections += u64::from(events.contains(&0) && events.iter().sum::<u64>() >= MIN_ONE_WAY_EVENTS);
        for half in &mut ended.connection.halves {
            half.release_in_flight(&mut self.log.memory);
        }
        for side in 0..2 {
            let known = std::array::from_fn(|at| ended.known_departure(Rule::ALL[at], side));
            // An end echoes the marks of the other end's data.
            let is_dctcp = ended.sides[1 - side].ecn_session.is_dctcp_receiver();
            self.log.classify_findings(&ended.sides[side], known, is_dctcp);
        }
        for side in &mut ended.sides {
            side.ecn_session.release_memory(&mut self.log.memory);
        }
    }
}

impl ViolationLog {
    /// Counts and classifies the findings about one end. `is_dctcp` if that end sets ECE as DCTCP's receivers do.
    fn classify_findings(&mut self, side: &ObservedEnd, known: [Option<KnownDeparture>; Rule::ALL.len()], is_dctcp: bool) {
        for (at, &rule) in Rule::ALL.iter().enumerate() {
            let [unless_known, always, if_dctcp] = side.rule_counts.map(|rule_counts| rule_counts[at]);
            let rule_count = &mut self.rule_counts[at];
            rule_count.violations += always + if is_dctcp { if_dctcp } else { 0 };
            match known[at].filter(|_| unless_known > 0) {
                Some(known) => {
                    rule_count.departures += unless_known;
                    *self.known.entry((rule, known)).or_default() += unless_known;
                }
                None => rule_count.violations += unless_known,
            }
        }
        for &(at, condition) in &side.findings {
            let finding = &mut self.findings[at];
            match (condition, finding) {
                (ViolationCondition::UnlessKnown, Some(finding)) => finding.known = known[finding.rule as usize],
                (ViolationCondition::IfDctcp, finding) if !is_dctcp => *finding = None,
                _ => {}
            }
        }
    }
}

impl CheckedConnection {
    /// The known departure that explains the findings of an end against a rule, if one does.
    fn known_departure(&self, rule: Rule, side: usize) -> Option<KnownDeparture> {
        let end = &self.sides[side];
        let known_if = |known: KnownDeparture, applies: bool| applies.then_some(known);
        let is_always_capable = end.ect_acks > 0 && end.not_ect_acks == 0;
        let (ecn, is_ns2) = (self.connection.ecn_mode(), self.connection.is_like_ns2());
        let ect_on_all = known_if(KnownDeparture::EctOnAll, is_always_capable);
        match rule {
            Rule::Reflected => Some(KnownDeparture::Reflection),
            Rule::Ect1 => Some(KnownDeparture::Ect1),
            Rule::AccurateEcn => Some(KnownDeparture::AccurateEcn),
            Rule::HalfOffer | Rule::OfferInData | Rule::CwrOnRetransmission => known_if(KnownDeparture::Ns2, is_ns2),
            Rule::EctOnRetransmission => known_if(KnownDeparture::Ns2, is_ns2).or(ect_on_all),
            // Behind the handshake of Accurate ECN all packets are capable.
            Rule::EctOnSyn | Rule::EctOnSynAck if ecn == EcnMode::Accurate => Some(KnownDeparture::AccurateEcn),
            Rule::EctOnSynAck => ect_on_all.or(known_if(KnownDeparture::EctOnSynAck, ecn == EcnMode::Classic)),
            Rule::EctOnAck => ect_on_all.or(known_if(KnownDeparture::Linux, end.ect_acks_after_fins == end.ect_acks)),
            Rule::EctOnSyn | Rule::EctOnProbe => ect_on_all,
            Rule::EctWithoutAgreement | Rule::FlagsWithoutAgreement => {
                known_if(KnownDeparture::Linux, self.connection.uses_ecn_after_fallback())
            }
            Rule::AccurateHandshake | Rule::AceField | Rule::AccurateOption => {
                known_if(KnownDeparture::BehindCapture, !self.is_near_capture(side))
            }
            Rule::EchoStopped | Rule::EchoMissing | Rule::EchoWithoutMark => {
                known_if(KnownDeparture::Dctcp, self.sides[1 - side].ecn_session.is_dctcp_receiver())
            }
            _ => None,
        }
    }

    /// Whether packets that pass the capture towards this end have passed all routers: the gap between the packets of the handshake is then
    /// half as long on this side as on the other, or these packets pass several interfaces of the file.
    fn is_near_capture(&self, side: usize) -> bool {
        let passes_several_interfaces = self.connection.halves[1 - side].path.has_both_ends();
        let HandshakeTimes { opener_side, syn: Some(syn), syn_ack: Some(syn_ack), ack: Some(ack) } = self.handshake_times else {
            return passes_several_interfaces;
        };
        let [at_server, at_client] = [syn_ack.since(syn), ack.since(syn_ack)];
        let (near, far) = if side == opener_side { (at_client, at_server) } else { (at_server, at_client) };
        passes_several_interfaces || near * 2 <= far
    }

    /// Records when the packets of the handshake pass.
    fn record_handshake(&mut self, packet_event: &PacketEvent) {
        let &PacketEvent { packet, time, side, .. } = packet_event;
        let times = &mut self.handshake_times;
        match (packet.has(Flags::SYN), packet.has(Flags::ACK)) {
            (true, false) => *times = HandshakeTimes { opener_side: side, syn: Some(time), ..HandshakeTimes::default() },
            // The first one: a later one would be a retransmission timeout away from the SYN, or behind the ACK.
            (true, true) => {
                times.syn_ack.get_or_insert(time);
            }
            (false, _) if times.ack.is_none() && times.syn_ack.is_some() && side == times.opener_side => times.ack = Some(time),
            (false, _) => {}
        }
    }

    fn judge_packet(&mut self, packet_event: &mut PacketEvent, observation: HopObservation) {
        let packet = packet_event.packet;
        self.connection.is_ns2 = matches!(packet.source.address, Address::Node(_));
        if observation.endpoint.is_sent {
            self.record_handshake(packet_event);
            self.check_handshake(packet_event);
            if self.connection.ecn_mode() == EcnMode::Accurate {
                self.check_accurate(packet_event);
            } else {
                self.check_sent(packet_event);
            }
        }
        self.check_routers(packet_event, observation);
        if observation.endpoint.is_received {
            self.on_destination_arrival(packet_event);
        }
    }

    /// Checks SYN and SYN-ACK, and that a host uses ECT(0).
    fn check_handshake(&mut self, packet_event: &mut PacketEvent) {
        let packet = packet_event.packet;
        let (has, side) = (|flag| packet.has(flag), packet_event.side);
        if packet.ecn == Ecn::Ect1 && !std::mem::replace(&mut self.sides[side].has_used_ect1, true) {
            self.report(Rule::Ect1, packet_event, "this end sends ECT(1)");
        }
        if !has(Flags::SYN) {
            let is_unreported = self.is_unreported(Rule::AccurateEcn, side);
            if self.connection.ecn_mode() == EcnMode::Accurate && is_unreported {
                self.report(Rule::AccurateEcn, packet_event, "both ends agreed to Accurate ECN");
            }
            return;
        }
        let is_answer = has(Flags::ACK);
        if packet.ecn.is_capable() {
            let rule = if is_answer { Rule::EctOnSynAck } else { Rule::EctOnSyn };
            self.report(rule, packet_event, &unexpected_ecn_text(packet.ecn));
        }
        let (ece, cwr, ae) = (has(Flags::ECE), has(Flags::CWR), has(Flags::AE));
        if !is_answer && packet.tcp.accecn.is_some() {
            self.report_with_condition(Rule::AccurateOption, packet_event, "it is a SYN", ViolationCondition::Always);
        }
        match is_answer {
            false if ece != cwr && !ae => {
                self.report(Rule::HalfOffer, packet_event, if ece { "it has ECE alone" } else { "it has CWR alone" })
            }
            true if ece && !cwr && self.connection.has_never_offered() => {
                self.report(Rule::AnswerWithoutOffer, packet_event, "it has ECE, and no SYN offered ECN");
            }
            true if cwr && !self.connection.has_requested_accurate() => {
                self.report(Rule::Reflected, packet_event, "it has CWR");
            }
            _ => {}
        }
    }

    /// Checks what a packet says of the marks that have arrived, after both ends agreed to Accurate ECN.
    fn check_accurate(&mut self, packet_event: &mut PacketEvent) {
        let &mut PacketEvent { packet, side, .. } = packet_event;
        if packet.has(Flags::SYN) {
            let wrong = if packet.has(Flags::ACK) { self.sides[side].feedback.check_syn_ack(packet.tcp.flags) } else { None };
            return wrong.into_iter().for_each(|found| self.report(Rule::AccurateHandshake, packet_event, &found));
        }
        if !packet.has(Flags::ACK) || packet.has(Flags::RST) || self.connection.is_closed() {
            return;
        }
        let ack = self.connection.halves[1 - side].seq.expand_and_track(packet.tcp.ack);
        let sent = SentFeedback { flags: packet.tcp.flags, ack, has_data: packet.payload > 0, option: packet.tcp.accecn };
        let [ace, option] = self.sides[side].feedback.check_sent(&sent);
        ace.into_iter().for_each(|found| self.report(Rule::AceField, packet_event, &found));
        option.into_iter().for_each(|found| self.report(Rule::AccurateOption, packet_event, &found));
    }

    /// Checks a packet of an established connection.
    fn check_sent(&mut self, packet_event: &mut PacketEvent) {
        let packet = packet_event.packet;
        if packet.has(Flags::SYN) && !self.connection.is_ns2 {
            return;
        }
        self.sides[packet_event.side].has_sent_fin |= packet.has(Flags::FIN);
        let flags = Flags(packet.tcp.flags.0 & (Flags::ECE | Flags::CWR).0);
        if self.connection.ecn_mode() == EcnMode::Refused && flags != Flags::default() {
            self.report(Rule::FlagsWithoutAgreement, packet_event, &format!("it has {flags}, and ECN was not agreed to"));
        }
        if packet.has(Flags::ACK) {
            self.check_echo(packet_event);
        }
        match packet_event.seq_range {
            Some(segment) => self.check_data(packet_event, segment),
            None => self.check_pure_ack(packet_event),
        }
    }

    fn check_data(&mut self, packet_event: &mut PacketEvent, segment: (u64, u64)) {
        let packet = packet_event.packet;
        let (is_capable, has_cwr) = (packet.ecn.is_capable(), packet.has(Flags::CWR));
        let is_retransmission = self.sides[packet_event.side].ecn_session.has_sent(segment);
        let is_probe = packet.payload <= 1 && self.sides[1 - packet_event.side].zero_window_edge.is_some_and(|edge| edge <= segment.0);
        let ecn_text = unexpected_ecn_text(packet.ecn);
        if self.connection.ecn_mode() == EcnMode::Refused && is_capable {
            self.report(Rule::EctWithoutAgreement, packet_event, &format!("{ecn_text}, and ECN was not agreed to"));
        }
        if is_retransmission && is_capable {
            self.report(Rule::EctOnRetransmission, packet_event, &ecn_text);
        }
        if is_probe && is_capable {
            self.report(Rule::EctOnProbe, packet_event, &format!("{ecn_text}, and the window is closed"));
        }
        let ecn_session = &mut self.sides[packet_event.side].ecn_session;
        ecn_session.on_sent(segment, is_retransmission, &mut packet_event.log.memory);
        match has_cwr {
            true if is_retransmission => {
                ecn_session.on_cwr_retransmission();
                self.report(Rule::CwrOnRetransmission, packet_event, "it has CWR");
            }
            true if is_probe => self.report(Rule::CwrOnProbe, packet_event, "it has CWR, and the window is closed"),
            true if !ecn_session.on_cwr(segment) => {
                self.report(Rule::CwrTwice, packet_event, "it has CWR, and data is outstanding that was sent before the last CWR");
            }
            _ => {}
        }
        let is_data_offer = self.connection.is_ns2 && !is_retransmission && packet.has(Flags::ECE);
        if (is_data_offer || self.connection.is_ns2_data_offer(packet)) && self.is_unreported(Rule::OfferInData, packet_event.side) {
            self.report(Rule::OfferInData, packet_event, "its first packet has ECE");
        }
    }

    /// Checks a packet without data.
    fn check_pure_ack(&mut self, packet_event: &mut PacketEvent) {
        let packet = packet_event.packet;
        let has_both_fins = self.sides.iter().all(|side| side.has_sent_fin);
        let is_pure = packet.kind == Kind::Ack && ![Flags::SYN, Flags::FIN, Flags::RST].iter().any(|&flag| packet.has(flag));
        if !is_pure {
            return;
        }
        let end = &mut self.sides[packet_event.side];
        if packet.ecn == Ecn::NotEct {
            end.not_ect_acks += 1;
        } else {
            end.ect_acks += 1;
            end.ect_acks_after_fins += u64::from(has_both_fins);
            self.report(Rule::EctOnAck, packet_event, &unexpected_ecn_text(packet.ecn));
        }
        if packet.has(Flags::CWR) {
            self.report(Rule::CwrWithoutData, packet_event, "it has CWR and no data");
        }
    }

    /// Checks that an acknowledgement echoes the marks before it.
    fn check_echo(&mut self, packet_event: &mut PacketEvent) {
        let (packet, source) = (packet_event.packet, 1 - packet_event.side);
        let number = self.connection.halves[source].seq.expand_and_track(packet.tcp.ack);
        let has_ece = packet.has(Flags::ECE);
        let is_window_closed = packet.tcp.window == 0 && !self.connection.is_ns2;
        self.sides[packet_event.side].zero_window_edge = is_window_closed.then_some(number);
        if !self.connection.may_use_ecn() || packet.has(Flags::RST) {
            return;
        }
        if has_ece && self.connection.is_ns2_offer_ack(source, number) {
            return;
        }
        let is_sink_visible = self.connection.is_ns2 && self.connection.halves[source].path.is_sink_certain();
        let EchoVerdicts { classic, dctcp } = self.sides[source].ecn_session.compare_ack(number, has_ece, is_sink_visible);
        let missing_echo = |mark, what| (Rule::EchoMissing, missing_echo_text(self.relative_range(source, mark), what));
        let classic_finding = match classic {
            ClassicEchoVerdict::Missing(mark) => Some(missing_echo(mark, "was never echoed")),
            ClassicEchoVerdict::Stopped(mark) => {
                Some((Rule::EchoStopped, missing_echo_text(self.relative_range(source, mark), "is echoed no more, and no CWR came")))
            }
            ClassicEchoVerdict::Unsolicited if is_sink_visible => {
                Some((Rule::EchoWithoutMark, "it has ECE, and no mark has come since the last CWR".to_owned()))
            }
            ClassicEchoVerdict::Consistent | ClassicEchoVerdict::Unsolicited => None,
        };
        let dctcp_finding = match dctcp {
            DctcpEchoVerdict::Missing(mark) => Some(missing_echo(mark, "is not echoed (RFC 8257, section 3.2)")),
            DctcpEchoVerdict::Unsolicited => {
                Some((Rule::EchoWithoutMark, "it has ECE, and the last packet came without CE (RFC 8257, section 3.2)".to_owned()))
            }
            DctcpEchoVerdict::Consistent => None,
        };
        match (classic_finding, dctcp_finding) {
            (Some((rule, found)), None) => self.report(rule, packet_event, &found),
            (Some((rule, found)), Some(_)) => self.report_with_condition(rule, packet_event, &found, ViolationCondition::Always),
            (None, Some((rule, found))) => self.report_with_condition(rule, packet_event, &found, ViolationCondition::IfDctcp),
            (None, None) => {}
        }
    }

    /// Checks the changes that routers made to the codepoint.
    fn check_routers(&mut self, packet_event: &mut PacketEvent, observation: HopObservation) {
        let now = packet_event.packet.ecn;
        let Some(previous) = observation.previous.map(|previous| previous.ecn).filter(|&previous| previous != now) else { return };
        let found = format!("it had {} before and has {} now", previous.rfc_name(), now.rfc_name());
        match (previous, now) {
            (Ecn::NotEct, Ecn::Ce) => self.report(Rule::MarkOnNotEct, packet_event, &found),
            (_, Ecn::Ce) => {}
            _ => self.report(Rule::Cleared, packet_event, &found),
        }
    }

    /// Processes a packet that arrives at its destination.
    fn on_destination_arrival(&mut self, packet_event: &mut PacketEvent) {
        let packet = packet_event.packet;
        if self.connection.has_requested_accurate() {
            let feedback = &mut self.sides[1 - packet_event.side].feedback;
            if packet.has(Flags::SYN) {
                feedback.on_syn_arrival(packet.ecn, packet.has(Flags::ACK));
            } else {
                feedback.on_non_syn_arrival(packet_event.seq_range, packet.payload, packet.ecn);
            }
        }
        if let Some(segment) = packet_event.seq_range {
            let (has_ce, has_cwr) = (packet.ecn == Ecn::Ce, packet.has(Flags::CWR));
            self.sides[packet_event.side].ecn_session.on_sink_arrival(segment, has_ce, has_cwr, &mut packet_event.log.memory);
        }
        let is_judged = packet.has(Flags::ACK)
            && !packet.has(Flags::SYN)
            && self.connection.may_use_ecn()
            && self.connection.ecn_mode() != EcnMode::Accurate;
        if is_judged {
            let number = self.connection.halves[1 - packet_event.side].seq.expand_and_track(packet.tcp.ack);
            let has_ece = packet.has(Flags::ECE) && !self.connection.is_ns2_offer_ack(1 - packet_event.side, number);
            if self.sides[1 - packet_event.side].ecn_session.on_ack(number, has_ece, packet_event.time) {
                self.report(Rule::NoCwr, packet_event, "two windows and a second after ECE the source has not set CWR");
            }
        }
    }

    /// A segment, relative to the first sequence number of its direction.
    fn relative_range(&self, side: usize, (start, end): (u64, u64)) -> (u64, u64) {
        let base = self.connection.halves[side].first_seq.unwrap_or(0);
        (start.saturating_sub(base), end.saturating_sub(base))
    }

    /// Whether no finding of a rule was reported of an end so far.
    fn is_unreported(&self, rule: Rule, side: usize) -> bool {
        self.sides[side].rule_counts[ViolationCondition::UnlessKnown as usize][rule as usize] == 0
    }

    fn report(&mut self, rule: Rule, packet_event: &mut PacketEvent, found: &str) {
        self.report_with_condition(rule, packet_event, found, ViolationCondition::UnlessKnown);
    }

    fn report_with_condition(&mut self, rule: Rule, packet_event: &mut PacketEvent, found: &str, condition: ViolationCondition) {
        self.sides[packet_event.side].rule_counts[condition as usize][rule as usize] += 1;
        let &mut PacketEvent { packet, record, time, ref mut log, .. } = packet_event;
        let logged_counts = &mut log.logged_counts[condition as usize][rule as usize];
        if *logged_counts < MAX_FINDINGS_PER_RULE {
            *logged_counts += 1;
            self.sides[packet_event.side].findings.push((log.findings.len(), condition));
            log.findings.push(Some(Finding {
                record,
                time,
                source: packet.source,
                destination: packet.destination,
                rule,
                known: None,
                found: found.to_owned(),
            }));
        }
    }
}

fn missing_echo_text((start, end): (u64, u64), what: &str) -> String {
    format!("it has no ECE: the mark of {start} to {} {what}", end.saturating_sub(1))
}

/// Text for the codepoint of a packet that should have been sent Not-ECT.
fn unexpected_ecn_text(ecn: Ecn) -> String {
    match ecn {
        Ecn::Ce => "it has CE: it was sent with ECT, or a router marked what was Not-ECT".to_owned(),
        _ => format!("it has {}", ecn.rfc_name()),
    }
}
