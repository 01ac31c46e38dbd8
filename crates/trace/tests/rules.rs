//! Every rule of the check: a connection that breaks it is reported, and a similar one that does not is not.

use ecnlab_trace::EcnCheck;
use ecnlab_trace::check::{CheckReport, KnownDeparture, Rule};
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{AccEcn, Address, End, Flags, Kind, Location, Packet, Tcp, TraceEvent, TraceEventKind, Truncation};

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
        let event = TraceEvent { time, kind: TraceEventKind::Captured, location: Location::Interface(self.interface), packet };
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
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.word()));
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
    assert_eq!((0, 1), (report.total_counts().violations, report.total_counts().departures));
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | AE | ECE | CWR, Ecn::NotEct);
    conversation.server(0, 1, SYN | CWR, Ecn::NotEct);
    conversation.client(1, 0, CWR, Ecn::NotEct);
    conversation.client(1, 10, ace(0), Ecn::Ect0);
    conversation.client(11, 10, ace(0), Ecn::Ect0);
    conversation.ack(21, ace(0));
    assert_eq!((vec![], vec![Rule::AccurateEcn]), broken_and_known(conversation));
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | AE | ECE | CWR, Ecn::Ect0);
    conversation.server(0, 1, SYN | ACK | AE, Ecn::Ect0);
    conversation.client(1, 10, ace(0), Ecn::Ect0);
    conversation.ack(11, ace(0));
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
        let (flags, ecn) = if answer == NONE { (NONE, Ecn::NotEct) } else { (ace(0), Ecn::Ect0) };
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
            &TraceEvent { time: Time::from_picos(at), kind: event_kind, location: Location::Link { from, to }, packet },
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

/// After a handshake of Accurate ECN whose packets all arrive Not-ECT, captured at the server: the client's answer comes later than the
/// server's.
fn accurate_conversation() -> Conversation {
    let mut conversation = Conversation::new();
    conversation.client(0, 0, SYN | AE | CWR | ECE, Ecn::NotEct);
    conversation.server(0, 1, SYN | CWR, Ecn::NotEct);
    conversation.packets += 5;
    conversation.client(1, 0, CWR, Ecn::NotEct);
    conversation
}

/// The flags that count so many packets with CE.
fn ace(packets: u32) -> Flags {
    let ace = (5 + packets) % 8;
    [(4, AE), (2, CWR), (1, ECE)].into_iter().filter(|(bit, _)| ace & bit != 0).fold(NONE, |flags, (_, flag)| flags | flag)
}

fn accurate_rules(conversation: Conversation) -> Vec<Rule> {
    violated_rules(conversation).into_iter().filter(|rule| *rule >= Rule::AccurateHandshake).collect()
}

/// Ten rounds in each of which a packet comes with CE, the count so far is acknowledged, and `fault` changes the flags of one ACK.
fn accurate_rounds(fault: impl Fn(u32, Flags) -> Flags) -> Conversation {
    let mut conversation = accurate_conversation();
    for round in 0..10 {
        conversation.client(1 + round * 20, 10, ace(0), Ecn::Ect0);
        conversation.client(11 + round * 20, 10, ace(0), Ecn::Ce);
        conversation.ack(21 + round * 20, fault(round, ace(round + 1)));
    }
    conversation
}

#[test]
fn an_ace_field_that_counts_what_arrived_breaks_no_rule_though_it_wraps() {
    assert_eq!(Vec::<Rule>::new(), accurate_rules(accurate_rounds(|_, flags| flags)));
}

#[test]
fn one_flipped_bit_of_an_ace_field_is_found_in_any_round() {
    for bit in [AE, CWR, ECE] {
        for wrong in 0..10 {
            let flipped = accurate_rounds(|round, flags| if round == wrong { Flags(flags.0 ^ bit.0) } else { flags });
            let report = flipped.report();
            let found: Vec<u64> =
                report.findings.iter().filter(|finding| finding.rule == Rule::AceField).map(|finding| finding.record).collect();
            // Eight records before the rounds, five of which the wait has skipped, and three of each round.
            assert_eq!(vec![8 + 3 * (u64::from(wrong) + 1)], found, "{bit} in round {wrong}");
            assert!(report.findings.iter().all(|finding| finding.rule != Rule::AceField || finding.known.is_none()));
        }
    }
}

#[test]
fn a_count_of_marks_that_nobody_saw_is_known_far_from_the_capture_and_wrong_near_it() {
    let count_more = |conversation: &mut Conversation| {
        conversation.client(1, 10, ace(0), Ecn::Ect0);
        conversation.ack(11, ace(1));
    };
    let mut near = accurate_conversation();
    count_more(&mut near);
    assert_eq!(vec![Rule::AceField], accurate_rules(near));
    let mut far = Conversation::new();
    far.client(0, 0, SYN | AE | CWR | ECE, Ecn::NotEct);
    far.packets += 5;
    far.server(0, 1, SYN | CWR, Ecn::NotEct);
    far.client(1, 0, CWR, Ecn::NotEct);
    count_more(&mut far);
    let (broken, known) = broken_and_known(far);
    assert!(broken.is_empty() && known.contains(&Rule::AceField), "{broken:?} {known:?}");
}

#[test]
fn interfaces_that_a_connection_does_not_pass_bring_no_host_near() {
    let mut far = Conversation::new();
    far.check.set_interface_count(2);
    far.client(0, 0, SYN | AE | CWR | ECE, Ecn::NotEct);
    far.packets += 5;
    far.server(0, 1, SYN | CWR, Ecn::NotEct);
    far.client(1, 0, CWR, Ecn::NotEct);
    far.client(1, 10, ace(0), Ecn::Ect0);
    far.ack(11, ace(1));
    let (broken, known) = broken_and_known(far);
    assert!(broken.is_empty() && known.contains(&Rule::AceField), "{broken:?} {known:?}");
}

#[test]
fn a_syn_ack_that_is_sent_again_does_not_change_which_host_is_near() {
    let mut near = Conversation::new();
    near.client(0, 0, SYN | AE | CWR | ECE, Ecn::NotEct);
    near.server(0, 1, SYN | CWR, Ecn::NotEct);
    near.packets += 50;
    near.server(0, 1, SYN | CWR, Ecn::NotEct);
    near.packets += 5;
    near.client(1, 0, CWR, Ecn::NotEct);
    near.client(1, 10, ace(0), Ecn::Ect0);
    near.ack(11, ace(1));
    assert_eq!(vec![Rule::AceField], accurate_rules(near));
}

#[test]
fn an_acknowledged_mark_has_to_be_counted_and_a_packet_on_its_way_may_be() {
    let mut conversation = accurate_conversation();
    conversation.client(1, 10, ace(0), Ecn::Ce);
    conversation.client(11, 10, ace(0), Ecn::Ce);
    conversation.ack(11, ace(1));
    conversation.ack(11, ace(2));
    conversation.ack(21, ace(2));
    assert_eq!(Vec::<Rule>::new(), accurate_rules(conversation));
    let mut conversation = accurate_conversation();
    conversation.client(1, 10, ace(0), Ecn::Ce);
    conversation.ack(11, ace(0));
    assert_eq!(vec![Rule::AceField], accurate_rules(conversation));
    // Of a segment that was sent twice either copy may have arrived alone.
    for counted in 0..2 {
        let mut conversation = accurate_conversation();
        conversation.client(1, 10, ace(0), Ecn::Ce);
        conversation.client(1, 10, ace(0), Ecn::Ect0);
        conversation.ack(11, ace(counted));
        assert_eq!(Vec::<Rule>::new(), accurate_rules(conversation));
    }
}

#[test]
fn a_count_never_goes_back() {
    let mut conversation = accurate_conversation();
    conversation.client(1, 0, ace(0), Ecn::Ce);
    conversation.ack(1, ace(1));
    conversation.ack(1, ace(0));
    assert_eq!(vec![Rule::AceField], accurate_rules(conversation));
}

#[test]
fn syn_ack_and_first_ack_tell_the_codepoint_that_arrived() {
    for (ecn, flags) in [(Ecn::NotEct, CWR), (Ecn::Ect1, CWR | ECE), (Ecn::Ect0, AE), (Ecn::Ce, AE | CWR)] {
        for told in [CWR, CWR | ECE, AE, AE | CWR] {
            let handshake = |syn: Ecn, syn_ack: Ecn, of_syn: Flags, of_syn_ack: Flags| {
                let mut conversation = Conversation::new();
                conversation.client(0, 0, SYN | AE | CWR | ECE, syn);
                conversation.server(0, 1, SYN | of_syn, syn_ack);
                conversation.packets += 5;
                conversation.client(1, 0, of_syn_ack, Ecn::NotEct);
                conversation
            };
            let of_syn = accurate_rules(handshake(ecn, Ecn::NotEct, told, CWR));
            assert_eq!(if told == flags { vec![] } else { vec![Rule::AccurateHandshake] }, of_syn, "{ecn:?} {told}");
            let of_syn_ack = handshake(Ecn::NotEct, ecn, CWR, told).report();
            let found = of_syn_ack.findings.iter().filter(|finding| finding.rule == Rule::AceField).count();
            assert_eq!(usize::from(told != flags), found, "{ecn:?} {told}");
        }
    }
}

#[test]
fn an_option_counts_the_bytes_of_each_codepoint_and_is_not_on_a_syn() {
    let send_option = |conversation: &mut Conversation, ack: u32, flags: Flags, counters: [Option<u32>; 3]| {
        let tcp = Tcp { seq: 1, ack, flags: flags | ACK, window: 1000, accecn: Some(AccEcn::with_counters(counters)), ..Tcp::default() };
        conversation.packet(false, tcp, 0, Ecn::NotEct);
    };
    // 10 bytes of ECT(1), 10 of CE and 20 of ECT(0), from 1, 0 and 1 on.
    let right = [Some(11), Some(10), Some(21)];
    let cases = [
        (right, vec![]),
        ([Some(11), None, None], vec![]),
        ([Some(10), Some(10), Some(21)], vec![Rule::AccurateOption]),
        ([Some(11), Some(0), None], vec![Rule::AccurateOption]),
        ([Some(11), Some(10), Some(22)], vec![Rule::AccurateOption]),
    ];
    for (counters, expected) in cases {
        let mut conversation = accurate_conversation();
        for (number, ecn) in (0..).zip([Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::Ect0]) {
            conversation.client(1 + number * 10, 10, ace(0), ecn);
        }
        send_option(&mut conversation, 41, ace(1), counters);
        assert_eq!(expected, accurate_rules(conversation), "{counters:?}");
    }
    let mut conversation = Conversation::new();
    let option = Some(AccEcn::with_counters([Some(1), None, None]));
    let syn = Tcp { flags: SYN | AE | CWR | ECE, window: 1000, accecn: option, ..Tcp::default() };
    conversation.packet(true, syn, 0, Ecn::NotEct);
    // The client is far from the capture, which explains no option on its SYN.
    conversation.packets += 5;
    conversation.server(0, 1, SYN | CWR, Ecn::NotEct);
    conversation.client(1, 0, CWR, Ecn::NotEct);
    assert_eq!(vec![Rule::AccurateOption], accurate_rules(conversation));
}
