//! Every rule of the check: a connection that breaks it is reported, and a similar one that does not is not.

use ecnlab_trace::EcnCheck;
use ecnlab_trace::check::{CheckReport, KnownDeparture, Rule};
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, End, Event, Flags, Kind, Location, Packet, Tcp, TraceEventKind, Truncation};

const SYN: Flags = Flags::SYN;
const ACK: Flags = Flags::ACK;
const ECE: Flags = Flags::ECE;
const CWR: Flags = Flags::CWR;
const AE: Flags = Flags::AE;
const NONE: Flags = Flags(0);

/// Packets between a client, which sends data, and a server, as a capture at one of them shows them; numbers count from 0, the SYN's.
struct Conversation {
    check: EcnCheck,
    packets: u64,
    interface: u32,
}

impl Conversation {
    fn new() -> Conversation {
        Conversation { check: EcnCheck::default(), packets: 0, interface: 0 }
    }

    /// After a handshake with these flags.
    fn with_handshake(offer: Flags, answer: Flags) -> Conversation {
        let mut conversation = Conversation::new();
        conversation.client(0, 0, SYN | offer, Ecn::NotEct);
        conversation.server(0, 1, SYN | ACK | answer, Ecn::NotEct);
        conversation.client(1, 0, ACK, Ecn::NotEct);
        conversation
    }

    fn with_ecn() -> Conversation {
        Conversation::with_handshake(ECE | CWR, ECE)
    }

    fn client(&mut self, seq: u32, length: u32, flags: Flags, ecn: Ecn) {
        self.packet(
            true,
            Tcp { seq, ack: 1, flags: flags | if flags.has(SYN) { NONE } else { ACK }, window: 1000, ..Tcp::default() },
            length,
            ecn,
        );
    }

    fn server(&mut self, seq: u32, ack: u32, flags: Flags, ecn: Ecn) {
        self.packet(false, Tcp { seq, ack, flags: flags | ACK, window: 1000, ..Tcp::default() }, 0, ecn);
    }

    /// A segment of ten bytes, ECN-capable.
    fn data(&mut self, seq: u32) {
        self.client(seq, 10, NONE, Ecn::Ect0);
    }

    fn ack(&mut self, ack: u32, flags: Flags) {
        self.server(1, ack, flags, Ecn::NotEct);
    }

    fn packet(&mut self, is_client: bool, tcp: Tcp, payload: u32, ecn: Ecn) {
        let end = |host, port| End { address: Address::V4([10, 0, 0, host].into()), port };
        let (client, server) = (end(1, 4000), end(2, 80));
        let (source, destination) = if is_client { (client, server) } else { (server, client) };
        let kind = if payload > 0 { Kind::Data } else { Kind::Ack };
        let id = Some(self.packets);
        let packet =
            Packet { kind, source, destination, flow: None, id, size: 40 + payload, payload, ecn, tcp, truncation: Truncation::Complete };
        self.observe(packet);
    }

    fn observe(&mut self, packet: Packet) {
        self.packets += 1;
        let time = Time::from_picos(self.packets * 200_000_000_000);
        let event = Event { time, kind: TraceEventKind::Captured, location: Location::Interface(self.interface), packet };
        self.check.on_event(&event, self.packets, time);
    }

    fn report(self) -> CheckReport {
        self.check.finish()
    }
}

/// The rules that were broken and those from which a known departure was found.
fn broken_and_known(conversation: Conversation) -> (Vec<Rule>, Vec<Rule>) {
    let report = conversation.report();
    let of = |wanted: bool| {
        let mut rules: Vec<Rule> =
            report.findings.iter().filter(|finding| finding.known.is_some() == wanted).map(|finding| finding.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    };
    (of(false), of(true))
}

fn violated_rules(conversation: Conversation) -> Vec<Rule> {
    broken_and_known(conversation).0
}

#[test]
fn a_compliant_connection_breaks_no_rule() {
    let mut conversation = Conversation::with_ecn();
    conversation.data(1);
    conversation.client(11, 10, NONE, Ecn::Ce);
    conversation.ack(21, ECE);
    conversation.data(21);
    conversation.ack(31, ECE);
    conversation.client(31, 10, CWR, Ecn::Ect0);
    conversation.ack(41, NONE);
    conversation.client(1, 10, NONE, Ecn::NotEct);
    assert_eq!((vec![], vec![]), broken_and_known(conversation));
}

#[test]
fn ect_on_a_syn_breaks_its_rule_unless_the_host_sets_it_on_all() {
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | ECE | CWR, Ecn::Ect0);
    conversation.server(0, 1, SYN | ECE, Ecn::NotEct);
    conversation.client(1, 0, NONE, Ecn::NotEct);
    assert_eq!(vec![Rule::EctOnSyn], violated_rules(conversation));
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | ECE | CWR, Ecn::Ect0);
    conversation.server(0, 1, SYN | ECE, Ecn::NotEct);
    conversation.client(1, 0, NONE, Ecn::Ect0);
    assert_eq!((vec![], vec![Rule::EctOnSyn, Rule::EctOnAck]), broken_and_known(conversation));
}

#[test]
fn ect_on_a_syn_ack_is_rfc_5562_only_where_ecn_was_agreed_to() {
    for (answer, expected) in [(ECE, (vec![], vec![Rule::EctOnSynAck])), (NONE, (vec![Rule::EctOnSynAck], vec![]))] {
        let mut conversation = Conversation::new();
        conversation.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
        conversation.server(0, 1, SYN | answer, Ecn::Ect0);
        assert_eq!(expected, broken_and_known(conversation));
    }
}

#[test]
fn a_handshake_with_other_flags_than_rfc_3168_breaks_its_rule() {
    assert_eq!(vec![Rule::HalfOffer], violated_rules(Conversation::with_handshake(ECE, NONE)));
    assert_eq!(vec![Rule::AnswerWithoutOffer], violated_rules(Conversation::with_handshake(NONE, ECE)));
    assert_eq!((vec![], vec![Rule::Reflected]), broken_and_known(Conversation::with_handshake(ECE | CWR, ECE | CWR)));
    assert_eq!((vec![], vec![]), broken_and_known(Conversation::with_handshake(ECE | CWR, NONE)));
}

#[test]
fn a_half_offer_that_no_syn_ack_answers_is_that_of_ns_2() {
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | ECE, Ecn::NotEct);
    conversation.ack(1, ECE);
    conversation.data(1);
    conversation.client(1, 10, CWR, Ecn::Ect0);
    assert_eq!((vec![], vec![Rule::HalfOffer, Rule::EctOnRetransmission, Rule::CwrOnRetransmission]), broken_and_known(conversation));
}

#[test]
fn the_answer_to_ns_2_s_offer_in_data_asks_for_no_cwr() {
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | ECE, Ecn::NotEct);
    conversation.ack(1, ECE);
    for number in 0..5 {
        conversation.data(10 * number + 1);
        conversation.ack(10 * number + 11, NONE);
    }
    assert_eq!((vec![], vec![Rule::HalfOffer]), broken_and_known(conversation));
}

#[test]
fn an_answer_is_to_any_syn_of_the_connection() {
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
    conversation.client(0, 0, SYN, Ecn::NotEct);
    conversation.server(0, 1, SYN | ECE, Ecn::NotEct);
    assert_eq!((vec![], vec![]), broken_and_known(conversation));
}

#[test]
fn without_agreement_neither_ect_nor_the_flags_may_be_set() {
    let mut conversation = Conversation::with_handshake(ECE | CWR, NONE);
    conversation.client(1, 10, NONE, Ecn::Ect0);
    assert_eq!(vec![Rule::EctWithoutAgreement], violated_rules(conversation));
    let mut conversation = Conversation::with_handshake(NONE, NONE);
    conversation.client(1, 10, NONE, Ecn::NotEct);
    conversation.ack(11, ECE);
    assert_eq!(vec![Rule::FlagsWithoutAgreement], violated_rules(conversation));
}

#[test]
fn ect_on_one_acknowledgement_of_several_breaks_its_rule() {
    let mut conversation = Conversation::with_ecn();
    conversation.data(1);
    conversation.ack(11, NONE);
    conversation.data(11);
    conversation.server(1, 21, NONE, Ecn::Ect0);
    assert_eq!(vec![Rule::EctOnAck], violated_rules(conversation));
}

#[test]
fn ect_on_acks_after_both_fins_is_a_known_departure_of_linux_in_time_wait() {
    let rules_after_close = |ecn_before: Ecn| {
        let mut conversation = Conversation::with_ecn();
        conversation.server(1, 1, NONE, Ecn::NotEct);
        conversation.client(1, 10, Flags::FIN, Ecn::Ect0);
        conversation.server(1, 12, NONE, Ecn::NotEct);
        conversation.client(12, 0, NONE, ecn_before);
        conversation.server(1, 12, Flags::FIN, Ecn::NotEct);
        conversation.client(12, 0, NONE, Ecn::Ect0);
        broken_and_known(conversation)
    };
    assert_eq!((vec![], vec![Rule::EctOnAck]), rules_after_close(Ecn::NotEct));
    assert_eq!((vec![Rule::EctOnAck], vec![]), rules_after_close(Ecn::Ect0));
}

#[test]
fn a_retransmission_has_neither_ect_nor_cwr() {
    for (flags, ecn, rule) in [(NONE, Ecn::Ect0, Rule::EctOnRetransmission), (CWR, Ecn::NotEct, Rule::CwrOnRetransmission)] {
        let mut conversation = Conversation::with_ecn();
        conversation.data(1);
        conversation.data(11);
        conversation.client(1, 10, flags, ecn);
        assert_eq!(vec![rule], violated_rules(conversation));
    }
}

#[test]
fn a_window_probe_has_neither_ect_nor_cwr() {
    for (flags, ecn, rule) in [(NONE, Ecn::Ect0, Rule::EctOnProbe), (CWR, Ecn::NotEct, Rule::CwrOnProbe)] {
        let mut conversation = Conversation::with_ecn();
        conversation.data(1);
        conversation.packet(false, Tcp { seq: 1, ack: 11, flags: ACK, window: 0, ..Tcp::default() }, 0, Ecn::NotEct);
        conversation.client(11, 1, flags, ecn);
        assert_eq!(vec![rule], violated_rules(conversation));
    }
}

#[test]
fn cwr_is_set_on_data_once_per_window() {
    let mut conversation = Conversation::with_ecn();
    conversation.client(1, 0, CWR, Ecn::NotEct);
    assert_eq!(vec![Rule::CwrWithoutData], violated_rules(conversation));
    let mut conversation = Conversation::with_ecn();
    conversation.data(1);
    conversation.data(11);
    conversation.ack(11, NONE);
    conversation.client(21, 10, CWR, Ecn::Ect0);
    conversation.client(31, 10, CWR, Ecn::Ect0);
    assert_eq!(vec![Rule::CwrTwice], violated_rules(conversation));
}

#[test]
fn an_echo_without_an_answer_for_two_windows_is_found() {
    let mut conversation = Conversation::with_ecn();
    conversation.client(1, 10, NONE, Ecn::Ce);
    for number in 1..5 {
        conversation.ack(10 * number + 1, ECE);
        conversation.data(10 * number + 1);
    }
    assert_eq!(vec![Rule::NoCwr], violated_rules(conversation));
}

#[test]
fn a_mark_that_is_not_echoed_is_found_and_one_whose_echo_stops_early_too() {
    let mut conversation = Conversation::with_ecn();
    conversation.client(1, 10, NONE, Ecn::Ce);
    conversation.ack(11, NONE);
    assert_eq!(vec![Rule::EchoMissing], violated_rules(conversation));
    // The second echo is for no mark of what it acknowledges, so this is not DCTCP's.
    let mut conversation = Conversation::with_ecn();
    conversation.client(1, 10, NONE, Ecn::Ce);
    conversation.ack(11, ECE);
    conversation.data(11);
    conversation.ack(21, ECE);
    conversation.data(21);
    conversation.ack(31, NONE);
    assert_eq!(vec![Rule::EchoStopped], violated_rules(conversation));
}

#[test]
fn dctcp_s_echo_is_a_known_departure() {
    let mut conversation = Conversation::with_ecn();
    conversation.client(1, 10, NONE, Ecn::Ce);
    conversation.ack(11, ECE);
    conversation.data(11);
    conversation.ack(21, NONE);
    assert_eq!((vec![], vec![Rule::EchoStopped]), broken_and_known(conversation));
}

/// Segments of ten bytes, each acknowledged separately with ECE as DCTCP does, except where `wrong` is true. Marks come in pairs, and CWR
/// one segment after each pair.
fn dctcp_conversation(wrong: impl Fn(u32) -> bool) -> Conversation {
    let mut conversation = Conversation::with_ecn();
    for number in 0..60 {
        let is_marked = number % 6 < 2;
        let flags = if number % 6 == 3 { CWR } else { NONE };
        conversation.client(10 * number + 1, 10, flags, if is_marked { Ecn::Ce } else { Ecn::Ect0 });
        conversation.ack(10 * number + 11, if is_marked == wrong(number) { NONE } else { ECE });
    }
    conversation
}

fn violations(conversation: Conversation) -> Vec<(Rule, u64)> {
    conversation.report().findings.iter().filter(|finding| finding.known.is_none()).map(|finding| (finding.rule, finding.record)).collect()
}

#[test]
fn an_acknowledgement_that_dctcp_would_not_send_is_a_violation_alone() {
    assert_eq!((vec![], vec![Rule::EchoStopped]), broken_and_known(dctcp_conversation(|_| false)));
    // The 32nd segment is the second of a pair of marks, behind a handshake of three packets and 31 acknowledged segments.
    assert_eq!(vec![(Rule::EchoStopped, 3 + 2 * 32)], violations(dctcp_conversation(|number| number == 31)));
    // The first of a pair: no echo has begun, and so nothing stops.
    assert_eq!(vec![(Rule::EchoMissing, 3 + 2 * 31)], violations(dctcp_conversation(|number| number == 30)));
}

#[test]
fn a_receiver_that_never_sets_ece_is_not_dctcp_s() {
    for (covered, marked) in [(2, 0), (10, 3)] {
        // Each acknowledgement covers as many segments, one of which came with CE, and not the last.
        let mut conversation = Conversation::with_ecn();
        for number in 0..60 {
            conversation.client(10 * number + 1, 10, NONE, if number % covered == marked { Ecn::Ce } else { Ecn::Ect0 });
            if number % covered == covered - 1 {
                conversation.ack(10 * number + 11, NONE);
            }
        }
        assert_eq!((vec![Rule::EchoMissing], vec![]), broken_and_known(conversation), "an acknowledgement covers {covered}");
    }
}

#[test]
fn acknowledgements_that_are_wrong_for_dctcp_alone_hide_no_violation_of_another_receiver() {
    let mut conversation = Conversation::with_ecn();
    let mut seq = 1;
    let mut send = |conversation: &mut Conversation, flags, ecn| {
        conversation.client(seq, 10, flags, ecn);
        seq += 10;
        seq
    };
    for _ in 0..11_000 {
        // CWR takes the mark's echo back before the acknowledgement, which RFC 3168 allows and RFC 8257 does not.
        let marked = send(&mut conversation, NONE, Ecn::Ce);
        let behind = send(&mut conversation, CWR, Ecn::Ect0);
        conversation.ack(marked, NONE);
        conversation.ack(behind, NONE);
    }
    let marked = send(&mut conversation, NONE, Ecn::Ce);
    conversation.ack(marked, NONE);
    assert_eq!(vec![(Rule::EchoMissing, 3 + 4 * 11_000 + 2)], violations(conversation));
}

/// The segment with CE is acknowledged because the next one comes without CE, which has CWR: the acknowledgement is that of the segment before.
#[test]
fn an_echo_that_cwr_cancels_is_missing_for_dctcp_only() {
    let send_lost_echo = |conversation: &mut Conversation| {
        conversation.client(701, 10, NONE, Ecn::Ce);
        conversation.client(711, 10, CWR, Ecn::Ect0);
        conversation.ack(711, NONE);
        conversation.ack(721, NONE);
    };
    let mut conversation = dctcp_conversation(|_| false);
    send_lost_echo(&mut conversation);
    assert_eq!(vec![(Rule::EchoMissing, 3 + 120 + 3)], violations(conversation));
    let mut conversation = Conversation::with_ecn();
    conversation.data(1);
    conversation.client(11, 10, NONE, Ecn::Ce);
    (2..5).for_each(|number| {
        conversation.ack(10 * number + 1, ECE);
        conversation.data(10 * number + 1);
    });
    conversation.client(51, 10, CWR, Ecn::Ect0);
    conversation.ack(61, NONE);
    conversation.client(691, 10, NONE, Ecn::Ect0);
    send_lost_echo(&mut conversation);
    assert_eq!((vec![], vec![]), broken_and_known(conversation));
}

#[test]
fn an_acknowledgement_that_was_lost_before_this_place_makes_no_violation_of_dctcp_s_echo() {
    let mut conversation = dctcp_conversation(|_| false);
    conversation.client(601, 10, NONE, Ecn::Ce);
    conversation.data(611);
    conversation.ack(621, NONE);
    assert_eq!((vec![], vec![Rule::EchoStopped, Rule::EchoMissing]), sorted_by_name(broken_and_known(conversation)));
}

fn sorted_by_name((violated_rules, known): (Vec<Rule>, Vec<Rule>)) -> (Vec<Rule>, Vec<Rule>) {
    let by_name = |mut rules: Vec<Rule>| {
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.info().name));
        rules
    };
    (by_name(violated_rules), by_name(known))
}

#[test]
fn ecn_after_a_syn_that_fell_back_is_known_of_linux_where_the_syn_ack_agrees() {
    let conversation = |repeated: Flags, answer: Flags| {
        let mut conversation = Conversation::new();
        conversation.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
        conversation.client(0, 0, SYN | repeated, Ecn::NotEct);
        conversation.server(0, 1, SYN | answer, Ecn::NotEct);
        conversation.client(1, 10, NONE, Ecn::Ect0);
        conversation.client(11, 10, NONE, Ecn::Ce);
        conversation.ack(21, ECE);
        conversation.client(21, 10, CWR, Ecn::Ect0);
        conversation
    };
    let both = vec![Rule::EctWithoutAgreement, Rule::FlagsWithoutAgreement];
    assert_eq!((vec![], both.clone()), broken_and_known(conversation(NONE, ECE)));
    assert_eq!((both, vec![]), broken_and_known(conversation(NONE, NONE)));
    assert_eq!((vec![], vec![]), broken_and_known(conversation(ECE | CWR, ECE)));
    let report = conversation(NONE, ECE).report();
    assert_eq!(Some(&3), report.known.get(&(Rule::EctWithoutAgreement, KnownDeparture::Linux)));
    // ECN is used, and so its other rules hold.
    let mut conversation = conversation(NONE, ECE);
    conversation.client(31, 10, NONE, Ecn::Ce);
    conversation.ack(41, NONE);
    assert_eq!(vec![Rule::EchoMissing], violated_rules(conversation));
}

/// A capture of one of ns-2's one-way agents without a SYN: the numbers count from 0, and the first packet offers ECN with data.
fn one_way(first: Flags, seq: u32) -> Conversation {
    let mut conversation = Conversation::new();
    conversation.client(seq, 10, first, Ecn::NotEct);
    conversation.ack(seq + 10, ECE);
    for number in 1..8 {
        conversation.data(seq + 10 * number);
        conversation.ack(seq + 10 * number + 10, NONE);
    }
    conversation.client(seq + 20, 10, CWR, Ecn::Ect0);
    conversation
}

#[test]
fn departures_of_ns_2_senders_are_known_of_ns_2_alone() {
    let known = vec![Rule::EctOnRetransmission, Rule::CwrOnRetransmission, Rule::OfferInData];
    assert_eq!((vec![], known), broken_and_known(one_way(ECE, 1)));
    let wrong = vec![Rule::EctOnRetransmission, Rule::CwrOnRetransmission, Rule::NoCwr];
    assert_eq!((wrong.clone(), vec![]), broken_and_known(one_way(NONE, 1)));
    assert_eq!((wrong, vec![]), broken_and_known(one_way(ECE, 70_001)));
    let mut conversation = one_way(ECE, 1);
    conversation.packet(false, Tcp { seq: 1, ack: 81, flags: ACK, window: 1000, ..Tcp::default() }, 10, Ecn::Ect0);
    assert_eq!(
        vec![Rule::EctOnRetransmission, Rule::CwrOnRetransmission, Rule::OfferInData],
        violated_rules(conversation),
        "a sink of ns-2's has no data"
    );
}

/// A capture that lacks the SYN-ACK of a modern host.
#[test]
fn a_host_whose_syn_ack_is_not_in_the_file_is_not_ns_2_s() {
    let mut conversation = Conversation::new();
    conversation.client(7000, 0, SYN | ECE | CWR, Ecn::NotEct);
    conversation.ack(7001, NONE);
    conversation.data(7001);
    conversation.data(7001);
    assert_eq!(vec![Rule::EctOnRetransmission], violated_rules(conversation));
}

#[test]
fn a_router_marks_only_ect_packets_and_clears_no_codepoint() {
    for (before, after, expected) in [
        (Ecn::NotEct, Ecn::Ce, vec![Rule::MarkOnNotEct]),
        (Ecn::Ect0, Ecn::Ce, vec![]),
        (Ecn::Ect0, Ecn::NotEct, vec![Rule::Cleared]),
        (Ecn::Ce, Ecn::Ect0, vec![Rule::Cleared]),
    ] {
        let mut conversation = Conversation::with_ecn();
        conversation.check.set_interface_count(2);
        let end = |host, port| End { address: Address::V4([10, 0, 0, host].into()), port };
        let tcp = Tcp { seq: 1, ack: 1, flags: ACK, ..Tcp::default() };
        for (interface, ecn) in [(0, before), (1, after)] {
            conversation.interface = interface;
            conversation.observe(Packet {
                kind: Kind::Data,
                source: end(1, 4000),
                destination: end(2, 80),
                flow: None,
                id: Some(99),
                size: 50,
                payload: 10,
                ecn,
                tcp,
                truncation: Truncation::Complete,
            });
        }
        assert_eq!(expected, violated_rules(conversation), "{before:?} {after:?}");
    }
}

#[test]
fn ect_1_and_accurate_ecn_are_named_once() {
    let mut conversation = Conversation::with_ecn();
    conversation.client(1, 10, NONE, Ecn::Ect1);
    conversation.client(11, 10, NONE, Ecn::Ect1);
    let report = conversation.report();
    assert_eq!((0, 1), (report.total().violations, report.total().departures));
    let mut conversation = Conversation::with_handshake(AE | ECE | CWR, CWR);
    conversation.client(1, 10, CWR, Ecn::Ect0);
    conversation.client(11, 10, CWR, Ecn::Ect0);
    conversation.ack(21, ECE | AE);
    assert_eq!((vec![], vec![Rule::AccurateEcn]), broken_and_known(conversation));
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | AE | ECE | CWR, Ecn::Ect0);
    conversation.server(0, 1, SYN | ACK | AE, Ecn::Ect0);
    conversation.client(1, 10, CWR, Ecn::Ect0);
    conversation.ack(11, CWR);
    assert_eq!((vec![], vec![Rule::EctOnSyn, Rule::EctOnSynAck, Rule::AccurateEcn]), broken_and_known(conversation));
}

#[test]
fn accurate_ecn_that_was_agreed_on_once_holds_when_a_syn_comes_again_without() {
    for (answer, expected) in [(CWR, vec![Rule::AccurateEcn]), (NONE, vec![])] {
        let mut conversation = Conversation::new();
        conversation.client(0, 0, SYN | AE | ECE | CWR, Ecn::NotEct);
        conversation.client(0, 0, SYN, Ecn::NotEct);
        conversation.server(0, 1, SYN | ACK | answer, Ecn::NotEct);
        conversation.server(0, 1, SYN | ACK, Ecn::NotEct);
        let (flags, ecn) = if answer == NONE { (NONE, Ecn::NotEct) } else { (CWR | ECE, Ecn::Ect0) };
        conversation.client(1, 10, flags, ecn);
        conversation.ack(11, flags);
        assert_eq!((vec![], expected), broken_and_known(conversation), "{answer:?}");
    }
}

#[test]
fn a_connection_seen_in_one_direction_is_counted() {
    let mut both = Conversation::with_ecn();
    both.data(1);
    assert_eq!(0, both.report().one_way_connections);
    let mut one_way = Conversation::new();
    one_way.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
    for number in 0..98 {
        one_way.data(1 + number * 10);
    }
    assert_eq!(0, one_way.report().one_way_connections, "a few packets may be lost");
    let mut one_way = Conversation::new();
    for number in 0..100 {
        one_way.data(1 + number * 10);
    }
    let report = one_way.report();
    assert_eq!((1, 1), (report.connections, report.one_way_connections));
}

/// Nodes of ns-2 show arrivals at the sink, so that an echo without a mark is detected with certainty.
#[test]
fn an_echo_of_no_mark_is_found_where_the_sink_is_seen() {
    let mut check = EcnCheck::default();
    let end = |node| End { address: Address::Node(node), port: 0 };
    let mut at = 0;
    let mut push_event = |event_kind, kind, number: u32, flags: Flags| {
        at += 1;
        let (from, to) = if kind == Kind::Data { (0, 1) } else { (1, 0) };
        let tcp =
            if kind == Kind::Data { Tcp { seq: number, flags, ..Tcp::default() } } else { Tcp { ack: number, flags, ..Tcp::default() } };
        let payload = if kind == Kind::Data { 1000 } else { 0 };
        let packet = Packet {
            kind,
            source: end(from),
            destination: end(to),
            flow: Some(1),
            id: Some(u64::from(number) * 2 + u64::from(kind == Kind::Ack)),
            size: 1000,
            payload,
            ecn: Ecn::Ect0,
            tcp,
            truncation: Truncation::Complete,
        };
        check.on_event(
            &Event { time: Time::from_picos(at), kind: event_kind, location: Location::Link { from, to }, packet },
            at,
            Time::from_picos(at),
        );
    };
    for number in 0..4 {
        push_event(TraceEventKind::Enqueued, Kind::Data, number, if number == 0 { ECE } else { NONE });
        push_event(TraceEventKind::Received, Kind::Data, number, NONE);
        push_event(TraceEventKind::Enqueued, Kind::Ack, number + 1, if number == 3 { ECE | ACK } else { ACK });
        push_event(TraceEventKind::Received, Kind::Ack, number + 1, ACK);
    }
    let report = check.finish();
    let rules: Vec<_> = report.findings.iter().map(|finding| (finding.rule, finding.known.is_some())).collect();
    assert_eq!(
        vec![
            (Rule::OfferInData, true),
            (Rule::EctOnAck, true),
            (Rule::EctOnAck, true),
            (Rule::EctOnAck, true),
            (Rule::EctOnAck, true),
            (Rule::EchoWithoutMark, false)
        ],
        {
            let mut sorted_by_name = rules;
            sorted_by_name.sort_by_key(|(rule, departs)| (!departs, *rule != Rule::OfferInData, *rule));
            sorted_by_name
        }
    );
}
