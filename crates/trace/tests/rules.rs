//! Every rule of the check: a talk that breaks it is found, and one beside it that does not is left alone.

use ecnlab_trace::Check;
use ecnlab_trace::check::{Known, Rule, Verdict};
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{Address, End, Event, Flags, Kind, Packet, Place, State, Tcp, What};

const SYN: Flags = Flags::SYN;
const ACK: Flags = Flags::ACK;
const ECE: Flags = Flags::ECE;
const CWR: Flags = Flags::CWR;
const AE: Flags = Flags::AE;
const NONE: Flags = Flags(0);

/// Packets between a client, which sends data, and a server, as a capture at one of them shows them; numbers count from 0, the SYN's.
struct Talk {
    check: Check,
    packets: u64,
    interface: u32,
}

impl Talk {
    fn new() -> Talk {
        Talk { check: Check::default(), packets: 0, interface: 0 }
    }

    /// After a handshake with these flags.
    fn opened(offer: Flags, answer: Flags) -> Talk {
        let mut talk = Talk::new();
        talk.client(0, 0, SYN | offer, Ecn::NotEct);
        talk.server(0, 1, SYN | ACK | answer, Ecn::NotEct);
        talk.client(1, 0, ACK, Ecn::NotEct);
        talk
    }

    fn ecn() -> Talk {
        Talk::opened(ECE | CWR, ECE)
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
        let packet = Packet { kind, source, destination, flow: None, id, size: 40 + payload, payload, ecn, tcp, state: State::Whole };
        self.see(packet);
    }

    fn see(&mut self, packet: Packet) {
        self.packets += 1;
        let time = Time::from_picos(self.packets * 200_000_000_000);
        let event = Event { time, what: What::Seen, place: Place::Interface(self.interface), packet };
        self.check.take(&event, self.packets, time);
    }

    fn verdict(self) -> Verdict {
        self.check.finish()
    }
}

/// The rules that were broken and those from which a known departure was found.
fn found(talk: Talk) -> (Vec<Rule>, Vec<Rule>) {
    let verdict = talk.verdict();
    let of = |wanted: bool| {
        let mut rules: Vec<Rule> =
            verdict.findings.iter().filter(|finding| finding.known.is_some() == wanted).map(|finding| finding.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    };
    (of(false), of(true))
}

fn broken(talk: Talk) -> Vec<Rule> {
    found(talk).0
}

#[test]
fn a_talk_by_the_book_breaks_nothing() {
    let mut talk = Talk::ecn();
    talk.data(1);
    talk.client(11, 10, NONE, Ecn::Ce);
    talk.ack(21, ECE);
    talk.data(21);
    talk.ack(31, ECE);
    talk.client(31, 10, CWR, Ecn::Ect0);
    talk.ack(41, NONE);
    talk.client(1, 10, NONE, Ecn::NotEct);
    assert_eq!((vec![], vec![]), found(talk));
}

#[test]
fn ect_on_a_syn_breaks_its_rule_unless_the_host_sets_it_on_all() {
    let mut talk = Talk::new();
    talk.client(0, 0, SYN | ECE | CWR, Ecn::Ect0);
    talk.server(0, 1, SYN | ECE, Ecn::NotEct);
    talk.client(1, 0, NONE, Ecn::NotEct);
    assert_eq!(vec![Rule::EctOnSyn], broken(talk));
    let mut talk = Talk::new();
    talk.client(0, 0, SYN | ECE | CWR, Ecn::Ect0);
    talk.server(0, 1, SYN | ECE, Ecn::NotEct);
    talk.client(1, 0, NONE, Ecn::Ect0);
    assert_eq!((vec![], vec![Rule::EctOnSyn, Rule::EctOnAck]), found(talk));
}

#[test]
fn ect_on_a_syn_ack_is_rfc_5562_only_where_ecn_was_agreed_to() {
    for (answer, expected) in [(ECE, (vec![], vec![Rule::EctOnSynAck])), (NONE, (vec![Rule::EctOnSynAck], vec![]))] {
        let mut talk = Talk::new();
        talk.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
        talk.server(0, 1, SYN | answer, Ecn::Ect0);
        assert_eq!(expected, found(talk));
    }
}

#[test]
fn a_handshake_has_to_offer_and_to_answer_as_it_is_written() {
    assert_eq!(vec![Rule::HalfOffer], broken(Talk::opened(ECE, NONE)));
    assert_eq!(vec![Rule::AnswerWithoutOffer], broken(Talk::opened(NONE, ECE)));
    assert_eq!((vec![], vec![Rule::Reflected]), found(Talk::opened(ECE | CWR, ECE | CWR)));
    assert_eq!((vec![], vec![]), found(Talk::opened(ECE | CWR, NONE)));
}

#[test]
fn a_half_offer_that_no_syn_ack_answers_is_that_of_ns_2() {
    let mut talk = Talk::new();
    talk.client(0, 0, SYN | ECE, Ecn::NotEct);
    talk.ack(1, ECE);
    talk.data(1);
    talk.client(1, 10, CWR, Ecn::Ect0);
    assert_eq!((vec![], vec![Rule::HalfOffer, Rule::EctOnRetransmission, Rule::CwrOnRetransmission]), found(talk));
}

#[test]
fn the_answer_to_ns_2_s_offer_in_data_asks_for_no_cwr() {
    let mut talk = Talk::new();
    talk.client(0, 0, SYN | ECE, Ecn::NotEct);
    talk.ack(1, ECE);
    for number in 0..5 {
        talk.data(10 * number + 1);
        talk.ack(10 * number + 11, NONE);
    }
    assert_eq!((vec![], vec![Rule::HalfOffer]), found(talk));
}

#[test]
fn an_answer_is_to_any_syn_of_the_connection() {
    let mut talk = Talk::new();
    talk.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
    talk.client(0, 0, SYN, Ecn::NotEct);
    talk.server(0, 1, SYN | ECE, Ecn::NotEct);
    assert_eq!((vec![], vec![]), found(talk));
}

#[test]
fn without_agreement_neither_ect_nor_the_flags_may_be_set() {
    let mut talk = Talk::opened(ECE | CWR, NONE);
    talk.client(1, 10, NONE, Ecn::Ect0);
    assert_eq!(vec![Rule::EctWithoutAgreement], broken(talk));
    let mut talk = Talk::opened(NONE, NONE);
    talk.client(1, 10, NONE, Ecn::NotEct);
    talk.ack(11, ECE);
    assert_eq!(vec![Rule::FlagsWithoutAgreement], broken(talk));
}

#[test]
fn ect_on_one_acknowledgement_of_several_breaks_its_rule() {
    let mut talk = Talk::ecn();
    talk.data(1);
    talk.ack(11, NONE);
    talk.data(11);
    talk.server(1, 21, NONE, Ecn::Ect0);
    assert_eq!(vec![Rule::EctOnAck], broken(talk));
}

#[test]
fn ect_on_the_last_acknowledgement_is_known_of_a_host_that_waits_for_stray_packets() {
    let closed = |ecn_before: Ecn| {
        let mut talk = Talk::ecn();
        talk.server(1, 1, NONE, Ecn::NotEct);
        talk.client(1, 10, Flags::FIN, Ecn::Ect0);
        talk.server(1, 12, NONE, Ecn::NotEct);
        talk.client(12, 0, NONE, ecn_before);
        talk.server(1, 12, Flags::FIN, Ecn::NotEct);
        talk.client(12, 0, NONE, Ecn::Ect0);
        found(talk)
    };
    assert_eq!((vec![], vec![Rule::EctOnAck]), closed(Ecn::NotEct));
    assert_eq!((vec![Rule::EctOnAck], vec![]), closed(Ecn::Ect0));
}

#[test]
fn a_retransmission_has_neither_ect_nor_cwr() {
    for (flags, ecn, rule) in [(NONE, Ecn::Ect0, Rule::EctOnRetransmission), (CWR, Ecn::NotEct, Rule::CwrOnRetransmission)] {
        let mut talk = Talk::ecn();
        talk.data(1);
        talk.data(11);
        talk.client(1, 10, flags, ecn);
        assert_eq!(vec![rule], broken(talk));
    }
}

#[test]
fn a_window_probe_has_neither_ect_nor_cwr() {
    for (flags, ecn, rule) in [(NONE, Ecn::Ect0, Rule::EctOnProbe), (CWR, Ecn::NotEct, Rule::CwrOnProbe)] {
        let mut talk = Talk::ecn();
        talk.data(1);
        talk.packet(false, Tcp { seq: 1, ack: 11, flags: ACK, window: 0, ..Tcp::default() }, 0, Ecn::NotEct);
        talk.client(11, 1, flags, ecn);
        assert_eq!(vec![rule], broken(talk));
    }
}

#[test]
fn cwr_stands_on_data_and_once_for_a_window() {
    let mut talk = Talk::ecn();
    talk.client(1, 0, CWR, Ecn::NotEct);
    assert_eq!(vec![Rule::CwrWithoutData], broken(talk));
    let mut talk = Talk::ecn();
    talk.data(1);
    talk.data(11);
    talk.ack(11, NONE);
    talk.client(21, 10, CWR, Ecn::Ect0);
    talk.client(31, 10, CWR, Ecn::Ect0);
    assert_eq!(vec![Rule::CwrTwice], broken(talk));
}

#[test]
fn an_echo_without_an_answer_for_two_windows_is_found() {
    let mut talk = Talk::ecn();
    talk.client(1, 10, NONE, Ecn::Ce);
    for number in 1..5 {
        talk.ack(10 * number + 1, ECE);
        talk.data(10 * number + 1);
    }
    assert_eq!(vec![Rule::NoCwr], broken(talk));
}

#[test]
fn a_mark_that_is_not_echoed_is_found_and_one_whose_echo_stops_early_too() {
    let mut talk = Talk::ecn();
    talk.client(1, 10, NONE, Ecn::Ce);
    talk.ack(11, NONE);
    assert_eq!(vec![Rule::EchoMissing], broken(talk));
    // The second echo is for no mark of what it acknowledges, so this is not DCTCP's.
    let mut talk = Talk::ecn();
    talk.client(1, 10, NONE, Ecn::Ce);
    talk.ack(11, ECE);
    talk.data(11);
    talk.ack(21, ECE);
    talk.data(21);
    talk.ack(31, NONE);
    assert_eq!(vec![Rule::EchoStopped], broken(talk));
}

#[test]
fn dctcp_s_echo_is_a_known_departure() {
    let mut talk = Talk::ecn();
    talk.client(1, 10, NONE, Ecn::Ce);
    talk.ack(11, ECE);
    talk.data(11);
    talk.ack(21, NONE);
    assert_eq!((vec![], vec![Rule::EchoStopped]), found(talk));
}

/// Segments of ten bytes, each acknowledged alone with ECE as DCTCP has it, but where `wrong` says. Marks come in pairs, and CWR one
/// segment behind each pair.
fn dctcp_talk(wrong: impl Fn(u32) -> bool) -> Talk {
    let mut talk = Talk::ecn();
    for number in 0..60 {
        let is_marked = number % 6 < 2;
        let flags = if number % 6 == 3 { CWR } else { NONE };
        talk.client(10 * number + 1, 10, flags, if is_marked { Ecn::Ce } else { Ecn::Ect0 });
        talk.ack(10 * number + 11, if is_marked == wrong(number) { NONE } else { ECE });
    }
    talk
}

fn violations(talk: Talk) -> Vec<(Rule, u64)> {
    talk.verdict().findings.iter().filter(|finding| finding.known.is_none()).map(|finding| (finding.rule, finding.record)).collect()
}

#[test]
fn an_acknowledgement_that_dctcp_would_not_send_is_a_violation_alone() {
    assert_eq!((vec![], vec![Rule::EchoStopped]), found(dctcp_talk(|_| false)));
    // The 32nd segment is the second of a pair of marks, behind a handshake of three packets and 31 acknowledged segments.
    assert_eq!(vec![(Rule::EchoStopped, 3 + 2 * 32)], violations(dctcp_talk(|number| number == 31)));
    // The first of a pair: no echo has begun, and so nothing stops.
    assert_eq!(vec![(Rule::EchoMissing, 3 + 2 * 31)], violations(dctcp_talk(|number| number == 30)));
}

#[test]
fn a_receiver_that_never_sets_ece_is_not_dctcp_s() {
    for (covered, marked) in [(2, 0), (10, 3)] {
        // Each acknowledgement covers as many segments, one of which came with CE, and not the last.
        let mut talk = Talk::ecn();
        for number in 0..60 {
            talk.client(10 * number + 1, 10, NONE, if number % covered == marked { Ecn::Ce } else { Ecn::Ect0 });
            if number % covered == covered - 1 {
                talk.ack(10 * number + 11, NONE);
            }
        }
        assert_eq!((vec![Rule::EchoMissing], vec![]), found(talk), "an acknowledgement covers {covered}");
    }
}

#[test]
fn acknowledgements_that_are_wrong_for_dctcp_alone_hide_no_violation_of_another_receiver() {
    let mut talk = Talk::ecn();
    let mut seq = 1;
    let mut send = |talk: &mut Talk, flags, ecn| {
        talk.client(seq, 10, flags, ecn);
        seq += 10;
        seq
    };
    for _ in 0..11_000 {
        // CWR takes the mark's echo back before the acknowledgement, which RFC 3168 allows and RFC 8257 does not.
        let marked = send(&mut talk, NONE, Ecn::Ce);
        let behind = send(&mut talk, CWR, Ecn::Ect0);
        talk.ack(marked, NONE);
        talk.ack(behind, NONE);
    }
    let marked = send(&mut talk, NONE, Ecn::Ce);
    talk.ack(marked, NONE);
    assert_eq!(vec![(Rule::EchoMissing, 3 + 4 * 11_000 + 2)], violations(talk));
}

/// The segment with CE is acknowledged because the next one comes without CE, which has CWR: the acknowledgement is that of the segment before.
#[test]
fn an_echo_that_cwr_takes_back_is_missing_of_dctcp_and_of_nobody_else() {
    let lost = |talk: &mut Talk| {
        talk.client(701, 10, NONE, Ecn::Ce);
        talk.client(711, 10, CWR, Ecn::Ect0);
        talk.ack(711, NONE);
        talk.ack(721, NONE);
    };
    let mut talk = dctcp_talk(|_| false);
    lost(&mut talk);
    assert_eq!(vec![(Rule::EchoMissing, 3 + 120 + 3)], violations(talk));
    let mut talk = Talk::ecn();
    talk.data(1);
    talk.client(11, 10, NONE, Ecn::Ce);
    (2..5).for_each(|number| {
        talk.ack(10 * number + 1, ECE);
        talk.data(10 * number + 1);
    });
    talk.client(51, 10, CWR, Ecn::Ect0);
    talk.ack(61, NONE);
    talk.client(691, 10, NONE, Ecn::Ect0);
    lost(&mut talk);
    assert_eq!((vec![], vec![]), found(talk));
}

#[test]
fn an_acknowledgement_that_was_lost_before_this_place_makes_no_violation_of_dctcp_s_echo() {
    let mut talk = dctcp_talk(|_| false);
    talk.client(601, 10, NONE, Ecn::Ce);
    talk.data(611);
    talk.ack(621, NONE);
    assert_eq!((vec![], vec![Rule::EchoStopped, Rule::EchoMissing]), sorted(found(talk)));
}

fn sorted((broken, known): (Vec<Rule>, Vec<Rule>)) -> (Vec<Rule>, Vec<Rule>) {
    let by_name = |mut rules: Vec<Rule>| {
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.about().name));
        rules
    };
    (by_name(broken), by_name(known))
}

#[test]
fn ecn_after_a_syn_that_fell_back_is_known_of_linux_where_the_syn_ack_agrees() {
    let talk = |repeated: Flags, answer: Flags| {
        let mut talk = Talk::new();
        talk.client(0, 0, SYN | ECE | CWR, Ecn::NotEct);
        talk.client(0, 0, SYN | repeated, Ecn::NotEct);
        talk.server(0, 1, SYN | answer, Ecn::NotEct);
        talk.client(1, 10, NONE, Ecn::Ect0);
        talk.client(11, 10, NONE, Ecn::Ce);
        talk.ack(21, ECE);
        talk.client(21, 10, CWR, Ecn::Ect0);
        talk
    };
    let both = vec![Rule::EctWithoutAgreement, Rule::FlagsWithoutAgreement];
    assert_eq!((vec![], both.clone()), found(talk(NONE, ECE)));
    assert_eq!((both, vec![]), found(talk(NONE, NONE)));
    assert_eq!((vec![], vec![]), found(talk(ECE | CWR, ECE)));
    let verdict = talk(NONE, ECE).verdict();
    assert_eq!(Some(&3), verdict.known.get(&(Rule::EctWithoutAgreement, Known::Linux)));
    // ECN is used, and so its other rules hold.
    let mut talk = talk(NONE, ECE);
    talk.client(31, 10, NONE, Ecn::Ce);
    talk.ack(41, NONE);
    assert_eq!(vec![Rule::EchoMissing], broken(talk));
}

/// A capture of one of ns-2's one-way agents without a SYN: the numbers count from 0, and the first packet offers ECN with data.
fn one_way(first: Flags, seq: u32) -> Talk {
    let mut talk = Talk::new();
    talk.client(seq, 10, first, Ecn::NotEct);
    talk.ack(seq + 10, ECE);
    for number in 1..8 {
        talk.data(seq + 10 * number);
        talk.ack(seq + 10 * number + 10, NONE);
    }
    talk.client(seq + 20, 10, CWR, Ecn::Ect0);
    talk
}

#[test]
fn what_ns_2_s_senders_do_is_known_of_them_alone() {
    let known = vec![Rule::EctOnRetransmission, Rule::CwrOnRetransmission, Rule::OfferInData];
    assert_eq!((vec![], known), found(one_way(ECE, 1)));
    let wrong = vec![Rule::EctOnRetransmission, Rule::CwrOnRetransmission, Rule::NoCwr];
    assert_eq!((wrong.clone(), vec![]), found(one_way(NONE, 1)));
    assert_eq!((wrong, vec![]), found(one_way(ECE, 70_001)));
    let mut talk = one_way(ECE, 1);
    talk.packet(false, Tcp { seq: 1, ack: 81, flags: ACK, window: 1000, ..Tcp::default() }, 10, Ecn::Ect0);
    assert_eq!(vec![Rule::EctOnRetransmission, Rule::CwrOnRetransmission, Rule::OfferInData], broken(talk), "a sink of ns-2's has no data");
}

/// A capture that lacks the SYN-ACK of a modern host.
#[test]
fn a_host_whose_syn_ack_is_not_in_the_file_is_not_ns_2_s() {
    let mut talk = Talk::new();
    talk.client(7000, 0, SYN | ECE | CWR, Ecn::NotEct);
    talk.ack(7001, NONE);
    talk.data(7001);
    talk.data(7001);
    assert_eq!(vec![Rule::EctOnRetransmission], broken(talk));
}

#[test]
fn a_router_marks_what_is_capable_only_and_clears_nothing() {
    for (before, after, expected) in [
        (Ecn::NotEct, Ecn::Ce, vec![Rule::MarkOnNotEct]),
        (Ecn::Ect0, Ecn::Ce, vec![]),
        (Ecn::Ect0, Ecn::NotEct, vec![Rule::Cleared]),
        (Ecn::Ce, Ecn::Ect0, vec![Rule::Cleared]),
    ] {
        let mut talk = Talk::ecn();
        talk.check.interfaces(2);
        let end = |host, port| End { address: Address::V4([10, 0, 0, host].into()), port };
        let tcp = Tcp { seq: 1, ack: 1, flags: ACK, ..Tcp::default() };
        for (interface, ecn) in [(0, before), (1, after)] {
            talk.interface = interface;
            talk.see(Packet {
                kind: Kind::Data,
                source: end(1, 4000),
                destination: end(2, 80),
                flow: None,
                id: Some(99),
                size: 50,
                payload: 10,
                ecn,
                tcp,
                state: State::Whole,
            });
        }
        assert_eq!(expected, broken(talk), "{before:?} {after:?}");
    }
}

#[test]
fn ect_1_and_accurate_ecn_are_named_once() {
    let mut talk = Talk::ecn();
    talk.client(1, 10, NONE, Ecn::Ect1);
    talk.client(11, 10, NONE, Ecn::Ect1);
    let verdict = talk.verdict();
    assert_eq!((0, 1), (verdict.total().violations, verdict.total().departures));
    let mut talk = Talk::opened(AE | ECE | CWR, CWR);
    talk.client(1, 10, CWR, Ecn::Ect0);
    talk.client(11, 10, CWR, Ecn::Ect0);
    talk.ack(21, ECE | AE);
    assert_eq!((vec![], vec![Rule::AccurateEcn]), found(talk));
    let mut talk = Talk::new();
    talk.client(0, 0, SYN | AE | ECE | CWR, Ecn::Ect0);
    talk.server(0, 1, SYN | ACK | AE, Ecn::Ect0);
    talk.client(1, 10, CWR, Ecn::Ect0);
    talk.ack(11, CWR);
    assert_eq!((vec![], vec![Rule::EctOnSyn, Rule::EctOnSynAck, Rule::AccurateEcn]), found(talk));
}

#[test]
fn accurate_ecn_that_was_agreed_on_once_holds_when_a_syn_comes_again_without() {
    for (answer, expected) in [(CWR, vec![Rule::AccurateEcn]), (NONE, vec![])] {
        let mut talk = Talk::new();
        talk.client(0, 0, SYN | AE | ECE | CWR, Ecn::NotEct);
        talk.client(0, 0, SYN, Ecn::NotEct);
        talk.server(0, 1, SYN | ACK | answer, Ecn::NotEct);
        talk.server(0, 1, SYN | ACK, Ecn::NotEct);
        let (flags, ecn) = if answer == NONE { (NONE, Ecn::NotEct) } else { (CWR | ECE, Ecn::Ect0) };
        talk.client(1, 10, flags, ecn);
        talk.ack(11, flags);
        assert_eq!((vec![], expected), found(talk), "{answer:?}");
    }
}

/// Nodes of ns-2 show what comes to the sink, so that an echo of nothing is seen for sure.
#[test]
fn an_echo_of_no_mark_is_found_where_the_sink_is_seen() {
    let mut check = Check::default();
    let end = |node| End { address: Address::Node(node), port: 0 };
    let mut at = 0;
    let mut line = |what, kind, number: u32, flags: Flags| {
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
            state: State::Whole,
        };
        check.take(&Event { time: Time::from_picos(at), what, place: Place::Link { from, to }, packet }, at, Time::from_picos(at));
    };
    for number in 0..4 {
        line(What::Enqueued, Kind::Data, number, if number == 0 { ECE } else { NONE });
        line(What::Received, Kind::Data, number, NONE);
        line(What::Enqueued, Kind::Ack, number + 1, if number == 3 { ECE | ACK } else { ACK });
        line(What::Received, Kind::Ack, number + 1, ACK);
    }
    let verdict = check.finish();
    let rules: Vec<_> = verdict.findings.iter().map(|finding| (finding.rule, finding.known.is_some())).collect();
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
            let mut sorted = rules;
            sorted.sort_by_key(|(rule, departs)| (!departs, *rule != Rule::OfferInData, *rule));
            sorted
        }
    );
}
