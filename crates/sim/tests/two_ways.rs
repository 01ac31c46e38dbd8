//! Connections that carry data both ways: acknowledgements ride on data, and what rides is taken as what goes by itself.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::told::{Act, Told, at, network, template};
use common::{options, run_with};
use ecnlab_sim::{Buffer, Network, Probe, Run};
use ecnlab_transport::application::{Calls, Event, Heading};
use ecnlab_transport::settings::RecoveryName;
use ecnlab_transport::{Ack, Demand, Role, Segment, Settings, Transport, profile};
use ecnlab_units::{Span, Time};

/// The flow of the requests, which have no row of their own and come after the flow of the responses.
const CLIENT: u32 = 1;
const SERVER: u32 = 0;

/// What was made: data and acknowledgements, and what rode on data, in order.
#[derive(Default)]
struct Made {
    sent: Vec<(Time, u32, Segment)>,
    alone: Vec<(Time, u32, Ack)>,
    rode: Vec<(Time, u32, Ack)>,
}

impl Probe for Made {
    fn sent(&mut self, now: Time, flow: u32, segment: &Segment) {
        self.sent.push((now, flow, *segment));
    }

    fn ack_sent(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.alone.push((now, flow, ack.clone()));
    }

    fn ack_rides(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.rode.push((now, flow, ack.clone()));
    }
}

impl Made {
    /// Acknowledgements of a flow's data that went by themselves.
    fn alone(&self, flow: u32) -> usize {
        self.alone.iter().filter(|(_, of, ack)| *of == flow && ack.role == Role::Plain).count()
    }

    fn rode(&self, flow: u32) -> usize {
        self.rode.iter().filter(|(_, of, _)| *of == flow).count()
    }
}

fn host(piggyback: bool) -> Settings {
    Settings { piggyback, ..profile::settings("linux") }
}

/// Over links of 100 Mbps and 20 ms each way, whose buffers have room for so many packets.
fn over(settings: Settings, room: u32, act: Act) -> (Run, Made) {
    let told = Told { members: vec![Heading::Against, Heading::Along], grows: false, act, heard: Arc::default() };
    let mut network: Network = network(&template(Transport::Tcp(Arc::new(settings))), Arc::new(told));
    network.links.iter_mut().for_each(|link| link.buffer = Buffer::Pipe { limit: room });
    run_with(&network, &options(20, 1), Made::default())
}

/// Requests of 200 bytes every 150 ms, each answered with 5000: the lengths and the times of the recorded case request-response.
fn ask_and_respond(event: Event, now: Time, calls: &mut dyn Calls) -> Option<Time> {
    let next = Some(now + Span::from_millis(150)).filter(|&next| next < at(1900));
    match event {
        Event::Start => calls.open(0, Demand::open(200)),
        Event::Timer => calls.produce(0, Demand::open(200)),
        Event::Delivered(0, _) if now < at(200) => calls.answer(1, 0, Demand::open(5000)),
        Event::Delivered(0, _) => calls.produce(1, Demand::open(5000)),
        _ => return None,
    }
    next.filter(|_| matches!(event, Event::Start | Event::Timer))
}

/// A server that sends as much as its client while that goes on sending; both close.
fn both_at_once(event: Event, now: Time, calls: &mut dyn Calls) -> Option<Time> {
    match event {
        Event::Start => calls.open(0, Demand::open(1000)),
        Event::Delivered(0, 1000) if now < at(200) => {
            calls.answer(1, 0, Demand::closing(BOTH_WAYS));
            calls.produce(0, Demand::closing(BOTH_WAYS));
        }
        _ => {}
    }
    None
}

const BOTH_WAYS: u64 = 2_000_000;

/// The recoveries that count duplicates and those that read blocks.
const RECOVERIES: [RecoveryName; 6] =
    [RecoveryName::Tahoe, RecoveryName::Reno, RecoveryName::NewReno, RecoveryName::Sack, RecoveryName::Fack, RecoveryName::Rack];

fn counted(run: &Run, column: &str) -> f64 {
    run.report.reals("flows", column)[0]
}

/// As Linux 6.1 does it in that case: a server that does not know yet that it will answer acknowledges the first request by itself; from then on
/// there are four packets of response with the acknowledgement of the request on each, and none goes by itself.
#[test]
fn the_acknowledgement_of_a_request_rides_on_its_response() {
    let (run, made) = over(host(true), 1000, ask_and_respond);
    assert_eq!((1, 48, 12), (made.alone(CLIENT), made.rode(CLIENT), made.rode(SERVER) + 1));
    for (at, _, ack) in &made.rode {
        let segment = made.sent.iter().find(|(then, flow, _)| then == at && *flow == SERVER);
        assert!(segment.is_none() || ack.next > 1, "the response acknowledges what it answers");
    }
    let requests: Vec<u64> = made.rode.iter().filter(|(_, flow, _)| *flow == CLIENT).map(|(_, _, ack)| ack.next).collect();
    let expected: Vec<u64> = (0..48).map(|segment| 2 + segment / 4).collect();
    assert_eq!(expected, requests, "the SYN and one segment for each request");
    let (apart, _) = over(host(false), 1000, ask_and_respond);
    assert_eq!(run.report.reals("flows", "sent"), apart.report.reals("flows", "sent"));
    assert!(run.packet_hops < apart.packet_hops);
}

/// RFC 5681, section 2: what comes with data is no duplicate, however often it says the same.
#[test]
fn without_losses_nothing_is_taken_for_one() {
    for recovery in RECOVERIES {
        let (run, made) = over(Settings { recovery, ..host(true) }, 10_000, both_at_once);
        let again = made.sent.iter().filter(|(.., segment)| segment.retransmission).count();
        assert_eq!((0, BOTH_WAYS as f64), (again, counted(&run, "goodput_bps") * 20.0 / 8.0), "{recovery}");
        assert!(made.rode(CLIENT) > 1000 && made.rode(SERVER) > 1000, "{recovery}");
        assert!(made.alone.len() < made.sent.len() / 2, "{recovery}: {} go by themselves", made.alone.len());
    }
}

#[test]
fn losses_both_ways_are_made_good() {
    for recovery in RECOVERIES {
        let (run, made) = over(Settings { recovery, ..host(true) }, 20, both_at_once);
        let again = [CLIENT, SERVER].map(|flow| made.sent.iter().filter(|(_, of, segment)| *of == flow && segment.retransmission).count());
        assert!(again.iter().all(|&count| count > 0), "{recovery}: {again:?}");
        assert_eq!(BOTH_WAYS as f64, counted(&run, "goodput_bps") * 20.0 / 8.0, "{recovery}");
        let rode = made.rode.iter().filter(|(.., ack)| !ack.sacks.is_empty()).count();
        assert_eq!(recovery.wants_sack(), rode > 0, "{recovery}: blocks ride too");
    }
}

/// Each side has one FIN, which the other acknowledges, and answers with none where it has data with a FIN of its own.
#[test]
fn each_side_closes_once() {
    let server_closes: Act = |event, _, calls| {
        match event {
            Event::Start => calls.open(0, Demand::open(200)),
            Event::Delivered(0, 200) => calls.answer(1, 0, Demand::closing(5000)),
            Event::Delivered(1, bytes) if bytes < 1448 => calls.produce(0, Demand::closing(0)),
            _ => {}
        }
        None
    };
    let client_closes: Act = |event, _, calls| {
        match event {
            Event::Start => calls.open(0, Demand::open(200)),
            Event::Delivered(0, 200) => calls.answer(1, 0, Demand::open(5000)),
            Event::Delivered(1, bytes) if bytes < 1448 => calls.produce(0, Demand::closing(0)),
            _ => {}
        }
        None
    };
    for act in [server_closes, client_closes, both_at_once] {
        let (_, made) = over(host(true), 10_000, act);
        let fins = |flow| made.sent.iter().filter(|(_, of, segment)| *of == flow && segment.role == Role::Fin).count();
        let answers = |flow| made.alone.iter().filter(|(_, of, ack)| *of == flow && ack.role == Role::Fin).count();
        assert_eq!((1, 1), (fins(CLIENT) + answers(SERVER), fins(SERVER) + answers(CLIENT)));
    }
}

/// A client that begins anew while the server still sends: what rides on that is of no connection any more.
#[test]
fn what_rides_on_data_of_a_connection_that_is_over_is_not_taken() {
    let restless: Act = |event, now, calls| {
        match event {
            Event::Start | Event::Timer => calls.open(0, Demand::open(200)),
            Event::Delivered(0, 200) => calls.answer(1, 0, Demand::open(200_000)),
            _ => return None,
        }
        // The response left 15 ms ago and has not arrived.
        Some(now + Span::from_millis(75)).filter(|_| matches!(event, Event::Start | Event::Timer))
    };
    let (_, made) = over(host(true), 1000, restless);
    let syns = made.sent.iter().filter(|(.., segment)| segment.role == Role::Syn).count();
    assert!(syns > 200 && made.rode(CLIENT) >= 10 * (syns - 1), "{} rode in {syns} connections", made.rode(CLIENT));
}
