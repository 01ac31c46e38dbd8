//! Connections that carry data both ways: a piggybacked ACK has the same effect as a pure one.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::scripted_app::{AppScript, ScriptedApp, at, network, template};
use common::{options, run_with};
use ecnlab_sim::{Network, PipeOrQueue, Probe, Run};
use ecnlab_transport::application::{AppEvent, EngineCalls, FlowDirection};
use ecnlab_transport::settings::RecoveryName;
use ecnlab_transport::{Ack, AppWrite, Quirks, Segment, SegmentType, TcpSettings, Transport, profile};
use ecnlab_units::{Span, Time};

/// Flow of the requests, which has no separate row and follows the flow of the responses.
const REQUEST_FLOW: u32 = 1;
const RESPONSE_FLOW: u32 = 0;

/// Segments, pure ACKs and piggybacked ACKs as they were sent, in order.
#[derive(Default)]
struct SentPackets {
    sent: Vec<(Time, u32, Segment)>,
    pure_acks: Vec<(Time, u32, Ack)>,
    piggybacked_acks: Vec<(Time, u32, Ack)>,
}

impl Probe for SentPackets {
    fn on_segment_sent(&mut self, now: Time, flow: u32, segment: &Segment) {
        self.sent.push((now, flow, *segment));
    }

    fn on_ack_sent(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.pure_acks.push((now, flow, ack.clone()));
    }

    fn on_ack_piggybacked(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.piggybacked_acks.push((now, flow, ack.clone()));
    }
}

impl SentPackets {
    /// Number of pure ACKs of a flow.
    fn pure_acks(&self, flow: u32) -> usize {
        self.pure_acks.iter().filter(|(_, of, ack)| *of == flow && ack.segment_type == SegmentType::Plain).count()
    }

    fn piggybacked_acks(&self, flow: u32) -> usize {
        self.piggybacked_acks.iter().filter(|(_, of, _)| *of == flow).count()
    }
}

fn linux_settings(piggyback: bool) -> TcpSettings {
    TcpSettings { quirks: Quirks { piggyback_acks: piggyback, ..profile::quirks("linux") }, ..profile::tcp_settings_of("linux") }
}

/// Runs over links of 100 Mbps and 20 ms each way, with buffers of `room` packets.
fn run_with_buffer(settings: TcpSettings, room: u32, act: AppScript) -> (Run, SentPackets) {
    let told = ScriptedApp { members: vec![FlowDirection::Against, FlowDirection::Along], grows: false, act, heard: Arc::default() };
    let mut network: Network = network(&template(Transport::Tcp(Arc::new(settings))), Arc::new(told));
    network.links.iter_mut().for_each(|link| link.buffer = PipeOrQueue::Pipe { limit: room });
    run_with(&network, &options(20, 1), SentPackets::default())
}

/// Requests of 200 bytes every 150 ms, each answered with 5000: the lengths and the times of the recorded case request-response.
fn request_and_respond(event: AppEvent, now: Time, calls: &mut dyn EngineCalls) -> Option<Time> {
    let next = Some(now + Span::from_millis(150)).filter(|&next| next < at(1900));
    match event {
        AppEvent::Start => calls.open_connection(0, AppWrite::keep_open(200)),
        AppEvent::Timer => calls.write(0, AppWrite::keep_open(200)),
        AppEvent::Delivered(0, _) if now < at(200) => calls.write_reverse(1, 0, AppWrite::keep_open(5000)),
        AppEvent::Delivered(0, _) => calls.write(1, AppWrite::keep_open(5000)),
        _ => return None,
    }
    next.filter(|_| matches!(event, AppEvent::Start | AppEvent::Timer))
}

/// A server that sends as much as its client for as long as the client sends; both close.
fn send_both_ways(event: AppEvent, now: Time, calls: &mut dyn EngineCalls) -> Option<Time> {
    match event {
        AppEvent::Start => calls.open_connection(0, AppWrite::keep_open(1000)),
        AppEvent::Delivered(0, 1000) if now < at(200) => {
            calls.write_reverse(1, 0, AppWrite::then_close(BYTES_EACH_WAY));
            calls.write(0, AppWrite::then_close(BYTES_EACH_WAY));
        }
        _ => {}
    }
    None
}

const BYTES_EACH_WAY: u64 = 2_000_000;

/// Recovery algorithms with duplicate ACKs and with SACK blocks.
const RECOVERIES: [RecoveryName; 6] =
    [RecoveryName::Tahoe, RecoveryName::Reno, RecoveryName::NewReno, RecoveryName::Sack, RecoveryName::Fack, RecoveryName::Rack];

fn flow_column(run: &Run, column: &str) -> f64 {
    run.report.column_as_reals("flows", column)[0]
}

/// Linux 6.1 does this in the recorded case. A server that cannot know yet that it will answer sends a pure ACK for the first request. From
/// then on each response has four packets with the ACK piggybacked, and there are no pure ACKs.
#[test]
fn the_ack_of_a_request_is_piggybacked_on_its_response() {
    let (run, made) = run_with_buffer(linux_settings(true), 1000, request_and_respond);
    assert_eq!((1, 48, 12), (made.pure_acks(REQUEST_FLOW), made.piggybacked_acks(REQUEST_FLOW), made.piggybacked_acks(RESPONSE_FLOW) + 1));
    for (at, _, ack) in &made.piggybacked_acks {
        let segment = made.sent.iter().find(|(then, flow, _)| then == at && *flow == RESPONSE_FLOW);
        assert!(segment.is_none() || ack.next > 1, "the response acknowledges what it answers");
    }
    let requests: Vec<u64> =
        made.piggybacked_acks.iter().filter(|(_, flow, _)| *flow == REQUEST_FLOW).map(|(_, _, ack)| ack.next).collect();
    let expected: Vec<u64> = (0..48).map(|segment| 2 + segment / 4).collect();
    assert_eq!(expected, requests, "the SYN and one segment for each request");
    let (apart, _) = run_with_buffer(linux_settings(false), 1000, request_and_respond);
    assert_eq!(run.report.column_as_reals("flows", "sent"), apart.report.column_as_reals("flows", "sent"));
    assert!(run.packet_hops < apart.packet_hops);
}

/// RFC 5681, section 2: an ACK with data is never a duplicate ACK.
#[test]
fn without_losses_nothing_is_retransmitted() {
    for recovery in RECOVERIES {
        let (run, made) = run_with_buffer(TcpSettings { recovery, ..linux_settings(true) }, 10_000, send_both_ways);
        let again = made.sent.iter().filter(|(.., segment)| segment.retransmission).count();
        assert_eq!((0, BYTES_EACH_WAY as f64), (again, flow_column(&run, "goodput_bps") * 20.0 / 8.0), "{recovery}");
        assert!(made.piggybacked_acks(REQUEST_FLOW) > 1000 && made.piggybacked_acks(RESPONSE_FLOW) > 1000, "{recovery}");
        assert!(made.pure_acks.len() < made.sent.len() / 2, "{recovery}: {} are pure", made.pure_acks.len());
    }
}

#[test]
fn losses_in_both_directions_are_recovered() {
    for recovery in RECOVERIES {
        let (run, made) = run_with_buffer(TcpSettings { recovery, ..linux_settings(true) }, 20, send_both_ways);
        let again = [REQUEST_FLOW, RESPONSE_FLOW]
            .map(|flow| made.sent.iter().filter(|(_, of, segment)| *of == flow && segment.retransmission).count());
        assert!(again.iter().all(|&count| count > 0), "{recovery}: {again:?}");
        assert_eq!(BYTES_EACH_WAY as f64, flow_column(&run, "goodput_bps") * 20.0 / 8.0, "{recovery}");
        let piggybacked_acks = made.piggybacked_acks.iter().filter(|(.., ack)| !ack.sacks.is_empty()).count();
        assert_eq!(recovery.uses_sack(), piggybacked_acks > 0, "{recovery}: SACK blocks are piggybacked too");
    }
}

/// Each side sends one FIN, which the other acknowledges; a side with FIN-carrying data sends no further FIN.
#[test]
fn each_side_closes_once() {
    let server_closes: AppScript = |event, _, calls| {
        match event {
            AppEvent::Start => calls.open_connection(0, AppWrite::keep_open(200)),
            AppEvent::Delivered(0, 200) => calls.write_reverse(1, 0, AppWrite::then_close(5000)),
            AppEvent::Delivered(1, bytes) if bytes < 1448 => calls.write(0, AppWrite::then_close(0)),
            _ => {}
        }
        None
    };
    let client_closes: AppScript = |event, _, calls| {
        match event {
            AppEvent::Start => calls.open_connection(0, AppWrite::keep_open(200)),
            AppEvent::Delivered(0, 200) => calls.write_reverse(1, 0, AppWrite::keep_open(5000)),
            AppEvent::Delivered(1, bytes) if bytes < 1448 => calls.write(0, AppWrite::then_close(0)),
            _ => {}
        }
        None
    };
    for act in [server_closes, client_closes, send_both_ways] {
        let (_, made) = run_with_buffer(linux_settings(true), 10_000, act);
        let fin_segments =
            |flow| made.sent.iter().filter(|(_, of, segment)| *of == flow && segment.segment_type == SegmentType::Fin).count();
        let fin_acks = |flow| made.pure_acks.iter().filter(|(_, of, ack)| *of == flow && ack.segment_type == SegmentType::Fin).count();
        assert_eq!((1, 1), (fin_segments(REQUEST_FLOW) + fin_acks(RESPONSE_FLOW), fin_segments(RESPONSE_FLOW) + fin_acks(REQUEST_FLOW)));
    }
}

/// A client reconnects while the server still sends: ACKs on data of the closed connection are ignored.
#[test]
fn acks_on_data_of_a_closed_connection_are_ignored() {
    let restless: AppScript = |event, now, calls| {
        match event {
            AppEvent::Start | AppEvent::Timer => calls.open_connection(0, AppWrite::keep_open(200)),
            AppEvent::Delivered(0, 200) => calls.write_reverse(1, 0, AppWrite::keep_open(200_000)),
            _ => return None,
        }
        // The response was sent 15 ms ago and has not arrived.
        Some(now + Span::from_millis(75)).filter(|_| matches!(event, AppEvent::Start | AppEvent::Timer))
    };
    let (_, made) = run_with_buffer(linux_settings(true), 1000, restless);
    let syns = made.sent.iter().filter(|(.., segment)| segment.segment_type == SegmentType::Syn).count();
    assert!(
        syns > 200 && made.piggybacked_acks(REQUEST_FLOW) >= 10 * (syns - 1),
        "{} were piggybacked in {syns} connections",
        made.piggybacked_acks(REQUEST_FLOW)
    );
}
