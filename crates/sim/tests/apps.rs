//! Applications in the engine: what their calls do to flows, and what they hear.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::pipe;
use common::told::{Act, ONE_WAY, at, host, run, template};
use ecnlab_sim::{Counted, Direction, FlowSpec, LinkName, LinkSpec, Off, Probe, Template};
use ecnlab_transport::application::{Event, Heading, Transfer};
use ecnlab_transport::{Demand, Segment, Transport, datagram};
use ecnlab_units::{Ecn, Span, Time};

/// Which flows sent a SYN, and the codepoints of data that each sent.
#[derive(Default)]
struct Sent {
    syns: Vec<u32>,
    data: Vec<(u32, Ecn)>,
}

impl Probe for Sent {
    fn sent(&mut self, _now: Time, flow: u32, segment: &Segment) {
        match segment.role {
            ecnlab_transport::Role::Syn => self.syns.push(flow),
            ecnlab_transport::Role::Plain => self.data.push((flow, segment.ecn)),
            _ => {}
        }
    }
}

#[test]
fn an_answer_needs_no_handshake_and_uses_ecn_as_the_opening_agreed() {
    let exchange: Act = |event, _, calls| {
        match event {
            Event::Start => calls.open(0, Demand::open(100)),
            Event::Delivered(0, 100) => calls.answer(1, 0, Demand::closing(300)),
            Event::Delivered(1, 300) => calls.finished(&Transfer { member: 1, began: at(100), bytes: 300 }),
            _ => {}
        }
        None
    };
    for ecn in [true, false] {
        let members = [Heading::Against, Heading::Along];
        let (run, heard, sent) = run(&template(host(ecn)), &members, false, exchange, Sent::default());
        let codepoint = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        // The flow with a row is number 0, and the one that carries requests comes after.
        assert_eq!((vec![1], vec![(1, codepoint), (0, codepoint)]), (sent.syns, sent.data));
        let events: Vec<Event> = heard.iter().map(|(_, event)| *event).collect();
        let (delivered, acknowledged) = (Event::Delivered, Event::Acknowledged);
        assert_eq!(Event::Start, events[0]);
        assert!(
            [Event::Opened(0), delivered(0, 100), Event::Opened(1), delivered(1, 300), acknowledged(1)].iter().all(|e| events.contains(e))
        );
        // SYN, SYN-ACK, request, response: two round trips, and less than a millisecond of transmission.
        let took = run.report.reals("flows", "transaction_mean_s")[0];
        assert!((took - 4.0 * ONE_WAY.seconds()).abs() < 0.001, "{took}");
        assert_eq!(vec![300.0 * 8.0 / 2.0], run.report.reals("groups", "goodput_bps"), "requests count nowhere");
    }
}

#[test]
fn a_connection_that_is_opened_anew_forgets_the_one_before() {
    let impatient: Act = |event, now, calls| {
        if matches!(event, Event::Start | Event::Timer) {
            calls.open(0, Demand::closing(50_000));
        }
        // Before the handshake is over, in the middle of the data, and at its end.
        let next = [now + Span::from_millis(30), now + Span::from_millis(70), now + Span::from_millis(400)];
        matches!(event, Event::Start | Event::Timer).then(|| next[(now.picos() / 10_000_000_000 % 3) as usize])
    };
    let (run, heard, _) = run(&template(host(true)), &[Heading::Along], false, impatient, Off);
    let opened = heard.iter().filter(|(_, event)| matches!(event, Event::Start | Event::Timer)).count();
    let ended = heard.iter().filter(|(_, event)| *event == Event::Acknowledged(0)).count();
    assert!(opened > 5 && ended > 0 && ended < opened, "{ended} of {opened} transfers ended");
    assert!(run.report.reals("flows", "sent")[0] > 0.0);
}

#[test]
fn members_come_into_being_when_they_are_used_and_count_for_their_group_alone() {
    let growing: Act = |event, now, calls| {
        let number = (now.picos() - at(100).picos()) / Span::from_millis(100).picos();
        match event {
            Event::Start | Event::Timer => calls.open(number as u32 % 3, Demand::closing(1_000)),
            Event::Acknowledged(member) => calls.finished(&Transfer { member, began: at(100), bytes: 1_000 }),
            _ => {}
        }
        (matches!(event, Event::Start | Event::Timer) && number < 11).then(|| now + Span::from_millis(100))
    };
    let one_of_many = FlowSpec { counted: Counted::InGroup, ..template(host(true)).flow };
    let template = Template { flow: one_of_many, ..template(host(true)) };
    let (run, _, sent) = run(&template, &[], true, growing, Sent::default());
    assert_eq!((0, 12), (run.report.reals("flows", "sent").len(), sent.syns.len()));
    assert!(sent.syns.iter().all(|&flow| flow < 3), "three places do for twelve flows: {:?}", sent.syns);
    assert_eq!(vec![12.0], run.report.reals("groups", "transactions"));
    assert_eq!(vec![12_000.0 * 8.0 / 2.0], run.report.reals("total", "goodput_bps"));
}

#[test]
fn what_is_drawn_by_a_flow_s_number_is_drawn_for_whoever_takes_the_place() {
    let times = |seats: Act| {
        let group: Arc<str> = "all".into();
        let own = |direction| LinkSpec {
            name: LinkName::Access { group: group.clone(), member: 0, direction },
            spread: Span::from_millis(30),
            ..pipe(100_000, 0, 1_000)
        };
        let access = Some([Direction::Forward, Direction::Back].map(own));
        let flow = FlowSpec { counted: Counted::InGroup, ..template(host(false)).flow };
        let (_, heard, _) = run(&Template { flow, access, exit: None }, &[], true, seats, Off);
        let acknowledged = heard.iter().filter(|(_, event)| matches!(event, Event::Acknowledged(_)));
        acknowledged.map(|(time, _)| time.picos() % Span::from_millis(500).picos()).collect::<Vec<_>>()
    };
    let in_turn: Act = |event, now, calls| {
        if matches!(event, Event::Start | Event::Timer) {
            let number = now.picos() / Span::from_millis(500).picos();
            calls.seat(0, number);
            calls.open(0, Demand::closing(1_000));
        }
        matches!(event, Event::Start | Event::Timer).then(|| now + Span::from_millis(500))
    };
    let elsewhere: Act = |event, now, calls| {
        if matches!(event, Event::Start | Event::Timer) {
            let number = now.picos() / Span::from_millis(500).picos();
            calls.seat(3 - number as u32, number);
            calls.open(3 - number as u32, Demand::closing(1_000));
        }
        matches!(event, Event::Start | Event::Timer).then(|| now + Span::from_millis(500))
    };
    let (one, many) = (times(in_turn), times(elsewhere));
    assert_eq!(one, many, "the place makes no difference");
    assert!(one.len() == 4 && one.windows(2).all(|pair| pair[0] != pair[1]), "each number has a delay of its own: {one:?}");
}

#[test]
fn datagrams_go_when_they_are_told_to_and_nothing_comes_back() {
    let clock: Act = |event, now, calls| {
        if matches!(event, Event::Start | Event::Timer) {
            calls.produce(0, Demand::open(2_000));
        }
        matches!(event, Event::Start | Event::Timer).then(|| now + Span::from_millis(100))
    };
    let settings = datagram::Settings { packet_size: 1_000, header: 28, ecn: datagram::DatagramEcn::Ect0 };
    let (run, heard, sent) = run(&template(Transport::Datagrams(settings)), &[Heading::Along], false, clock, Sent::default());
    let of = |column| run.report.reals("flows", column)[0];
    // Nineteen times two full packets and one with the rest of 56 bytes; what was sent at 1.9 s arrived in time, and at 2.0 s it did not.
    assert_eq!((20.0 * 3.0, 19.0 * 2_000.0 * 8.0 / 2.0), (of("sent"), of("goodput_bps")));
    assert!(sent.data.iter().all(|&(flow, ecn)| (flow, ecn) == (0, Ecn::Ect0)));
    assert_eq!(19 * 3, heard.iter().filter(|(_, event)| matches!(event, Event::Delivered(0, _))).count());
    assert!(of("rtt_mean_s").is_nan() && of("lockouts") == 0.0);
}

/// An application is asked for flows by number, so a wrong number is a fault of its own and not of the network.
#[test]
#[should_panic(expected = "the application may have more members")]
fn an_application_of_fixed_members_gets_no_more() {
    let greedy: Act = |_, _, calls| {
        calls.open(7, Demand::closing(1));
        None
    };
    run(&template(host(false)), &[Heading::Along], false, greedy, Off);
}
