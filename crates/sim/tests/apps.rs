//! Applications in the engine: their calls on flows, and their events.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::pipe;
use common::scripted_app::{AppScript, ONE_WAY, at, host, run, template};
use ecnlab_sim::{Direction, FlowSpec, FlowTemplate, LinkKind, LinkName, LinkSpec, NoProbe, Probe, RowPolicy};
use ecnlab_transport::application::{AppEvent, FinishedTransaction, FlowDirection};
use ecnlab_transport::{AppWrite, Segment, Transport, datagram};
use ecnlab_units::{Ecn, Span, Time};

/// Flows that sent a SYN, and the ECN codepoints of each flow's data.
#[derive(Default)]
struct SentSegments {
    syns: Vec<u32>,
    data: Vec<(u32, Ecn)>,
}

impl Probe for SentSegments {
    fn on_segment_sent(&mut self, _now: Time, flow: u32, segment: &Segment) {
        match segment.segment_type {
            ecnlab_transport::SegmentType::Syn => self.syns.push(flow),
            ecnlab_transport::SegmentType::Plain => self.data.push((flow, segment.ecn)),
            _ => {}
        }
    }
}

#[test]
fn the_reverse_direction_needs_no_handshake_and_inherits_ecn() {
    let exchange: AppScript = |event, _, calls| {
        match event {
            AppEvent::Start => calls.open_connection(0, AppWrite::keep_open(100)),
            AppEvent::Delivered(0, 100) => calls.write_reverse(1, 0, AppWrite::then_close(300)),
            AppEvent::Delivered(1, 300) => calls.record_transaction(&FinishedTransaction { flow: 1, started_at: at(100), bytes: 300 }),
            _ => {}
        }
        None
    };
    for ecn in [true, false] {
        let members = [FlowDirection::Against, FlowDirection::Along];
        let (run, heard, sent) = run(&template(host(ecn)), &members, false, exchange, SentSegments::default());
        let codepoint = if ecn { Ecn::Ect0 } else { Ecn::NotEct };
        // The flow with a row is number 0; the one that carries requests follows.
        assert_eq!((vec![1], vec![(1, codepoint), (0, codepoint)]), (sent.syns, sent.data));
        let events: Vec<AppEvent> = heard.iter().map(|(_, event)| *event).collect();
        let (delivered, acknowledged) = (AppEvent::Delivered, AppEvent::Acknowledged);
        assert_eq!(AppEvent::Start, events[0]);
        assert!(
            [AppEvent::Opened(0), delivered(0, 100), AppEvent::Opened(1), delivered(1, 300), acknowledged(1)]
                .iter()
                .all(|e| events.contains(e))
        );
        // SYN, SYN-ACK, request, response: two round trips, and less than a millisecond of transmission.
        let took = run.report.column_as_reals("flows", "transaction_mean_s")[0];
        assert!((took - 4.0 * ONE_WAY.seconds()).abs() < 0.001, "{took}");
        assert_eq!(vec![300.0 * 8.0 / 2.0], run.report.column_as_reals("groups", "goodput_bps"), "requests count nowhere");
    }
}

#[test]
fn a_new_connection_keeps_no_state_of_the_previous_one() {
    let impatient: AppScript = |event, now, calls| {
        if matches!(event, AppEvent::Start | AppEvent::Timer) {
            calls.open_connection(0, AppWrite::then_close(50_000));
        }
        // Before the handshake is over, in the middle of the data, and at its end.
        let next = [now + Span::from_millis(30), now + Span::from_millis(70), now + Span::from_millis(400)];
        matches!(event, AppEvent::Start | AppEvent::Timer).then(|| next[(now.picos() / 10_000_000_000 % 3) as usize])
    };
    let (run, heard, _) = run(&template(host(true)), &[FlowDirection::Along], false, impatient, NoProbe);
    let opened = heard.iter().filter(|(_, event)| matches!(event, AppEvent::Start | AppEvent::Timer)).count();
    let ended = heard.iter().filter(|(_, event)| *event == AppEvent::Acknowledged(0)).count();
    assert!(opened > 5 && ended > 0 && ended < opened, "{ended} of {opened} transfers ended");
    assert!(run.report.column_as_reals("flows", "sent")[0] > 0.0);
}

#[test]
fn members_are_created_on_first_use_and_count_only_for_their_group() {
    let growing: AppScript = |event, now, calls| {
        let number = (now.picos() - at(100).picos()) / Span::from_millis(100).picos();
        match event {
            AppEvent::Start | AppEvent::Timer => calls.open_connection(number as u32 % 3, AppWrite::then_close(1_000)),
            AppEvent::Acknowledged(member) => {
                calls.record_transaction(&FinishedTransaction { flow: member, started_at: at(100), bytes: 1_000 })
            }
            _ => {}
        }
        (matches!(event, AppEvent::Start | AppEvent::Timer) && number < 11).then(|| now + Span::from_millis(100))
    };
    let one_of_many = FlowSpec { row_policy: RowPolicy::GroupOnly, ..template(host(true)).flow };
    let template = FlowTemplate { flow: one_of_many, ..template(host(true)) };
    let (run, _, sent) = run(&template, &[], true, growing, SentSegments::default());
    assert_eq!((0, 12), (run.report.column_as_reals("flows", "sent").len(), sent.syns.len()));
    assert!(sent.syns.iter().all(|&flow| flow < 3), "three places do for twelve flows: {:?}", sent.syns);
    assert_eq!(vec![12.0], run.report.column_as_reals("groups", "transactions"));
    assert_eq!(vec![12_000.0 * 8.0 / 2.0], run.report.column_as_reals("total", "goodput_bps"));
}

#[test]
fn random_draws_follow_the_flow_number_and_not_the_slot() {
    let event_times = |seats: AppScript| {
        let group: Arc<str> = "all".into();
        let private_link = |direction| LinkSpec {
            name: LinkName { kind: LinkKind::Access(0), name: group.clone(), direction },
            delay_spread: Span::from_millis(30),
            ..pipe(100_000, 0, 1_000)
        };
        let access = Some([Direction::Forward, Direction::Back].map(private_link));
        let flow = FlowSpec { row_policy: RowPolicy::GroupOnly, ..template(host(false)).flow };
        let (_, heard, _) = run(&FlowTemplate { flow, access, exit: None }, &[], true, seats, NoProbe);
        let acknowledged = heard.iter().filter(|(_, event)| matches!(event, AppEvent::Acknowledged(_)));
        acknowledged.map(|(time, _)| time.picos() % Span::from_millis(500).picos()).collect::<Vec<_>>()
    };
    let in_turn: AppScript = |event, now, calls| {
        if matches!(event, AppEvent::Start | AppEvent::Timer) {
            let number = now.picos() / Span::from_millis(500).picos();
            calls.redraw_for_flow_number(0, number);
            calls.open_connection(0, AppWrite::then_close(1_000));
        }
        matches!(event, AppEvent::Start | AppEvent::Timer).then(|| now + Span::from_millis(500))
    };
    let elsewhere: AppScript = |event, now, calls| {
        if matches!(event, AppEvent::Start | AppEvent::Timer) {
            let number = now.picos() / Span::from_millis(500).picos();
            calls.redraw_for_flow_number(3 - number as u32, number);
            calls.open_connection(3 - number as u32, AppWrite::then_close(1_000));
        }
        matches!(event, AppEvent::Start | AppEvent::Timer).then(|| now + Span::from_millis(500))
    };
    let (one, many) = (event_times(in_turn), event_times(elsewhere));
    assert_eq!(one, many, "the place makes no difference");
    assert!(one.len() == 4 && one.windows(2).all(|pair| pair[0] != pair[1]), "each number has a delay of its own: {one:?}");
}

#[test]
fn datagrams_are_sent_on_write_without_acknowledgements() {
    let clock: AppScript = |event, now, calls| {
        if matches!(event, AppEvent::Start | AppEvent::Timer) {
            calls.write(0, AppWrite::keep_open(2_000));
        }
        matches!(event, AppEvent::Start | AppEvent::Timer).then(|| now + Span::from_millis(100))
    };
    let settings = datagram::DatagramSettings { packet_size: 1_000, header: 28, ecn: datagram::DatagramEcn::Ect0 };
    let (run, heard, sent) = run(&template(Transport::Datagrams(settings)), &[FlowDirection::Along], false, clock, SentSegments::default());
    let flow_value = |column| run.report.column_as_reals("flows", column)[0];
    // Nineteen times two full packets and one with the remaining 56 bytes; data sent at 1.9 s arrived in time, data sent at 2.0 s did not.
    assert_eq!((20.0 * 3.0, 19.0 * 2_000.0 * 8.0 / 2.0), (flow_value("sent"), flow_value("goodput_bps")));
    assert!(sent.data.iter().all(|&(flow, ecn)| (flow, ecn) == (0, Ecn::Ect0)));
    assert_eq!(19 * 3, heard.iter().filter(|(_, event)| matches!(event, AppEvent::Delivered(0, _))).count());
    assert!(flow_value("rtt_mean_s").is_nan() && flow_value("lockouts") == 0.0);
}

/// An application selects flows by number, so a wrong number is an error of the application, not of the network.
#[test]
#[should_panic(expected = "the application may have more members")]
fn an_application_with_fixed_members_cannot_add_more() {
    let greedy: AppScript = |_, _, calls| {
        calls.open_connection(7, AppWrite::then_close(1));
        None
    };
    run(&template(host(false)), &[FlowDirection::Along], false, greedy, NoProbe);
}
