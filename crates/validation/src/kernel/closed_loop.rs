//! Runs a case in the closed loop: our sender and our receiver over the case's path, in the engine.

use std::sync::Arc;

use ecnlab_queue::{AqmConfig, Limit, QueueConfig, Registry};
use ecnlab_sim::probe::PacketCreationContext;
use ecnlab_sim::{
    AppWithFlows, Direction, EcnPath, FlowSpec, Impairment, ImpairmentSpec, LinkName, LinkSpec, Network, Packet as SimPacket, PacketId,
    PipeOrQueue, Probe, QueueSpec, RowPolicy, RunTimesAndSeed, Script, ScriptAction, ScriptRule, Simulation,
};
use ecnlab_transport::application::{AppEvent, Application, ApplicationSpec, EngineCalls, FlowDirection};
use ecnlab_transport::{Ack, AppWrite, SegmentType, TcpSettings, Transport};
use ecnlab_units::{Rate, Rng, Span, Time};

use super::case::{AppCallTrigger, Case, Packet, Path, Side};
use super::compare::runaway_packet_limit;
use super::script_rule::script_rule;
use super::segment_map::{SegmentBoundaries, SegmentMap};
use super::segments::{app_writes, packet_of_ack, packet_of_segment, packet_with_ack};
use super::settings::clock_age_at_start;

/// Events between two checks of the number of packets.
const EVENTS_PER_CHECK: u64 = 10_000;

/// Runs a case. Returns the packets of both ends and, if they were far too many, when the run was stopped.
///
/// # Errors
/// The feature of the case that is not supported.
pub fn run(case: &Case, path: &Path, settings: TcpSettings) -> Result<(Vec<Packet>, Option<Time>), String> {
    let recorder = PacketRecorder { header: settings.quirks.header_size, ..PacketRecorder::default() };
    let network = case_network(case, path, settings)?;
    let options = RunTimesAndSeed { duration: case.end, measure_from: Time::ZERO, seed: 0 };
    let mut simulation = Simulation::new(&network, &options, recorder);
    let most = runaway_packet_limit(case.packets.len());
    while !simulation.advance_with_event_limit(case.end, EVENTS_PER_CHECK) {
        if simulation.probe().packets.len() > most {
            let now = simulation.now();
            return Ok((std::mem::take(&mut simulation.probe_mut().packets), Some(now)));
        }
    }
    let (_, recorder) = simulation.finish();
    let runaway = recorder.packets.get(most).map(|packet| packet.sent);
    Ok((recorder.packets, runaway))
}

/// The router with its queue and its script, the link behind it on which packets may be reordered, and the reverse link.
fn case_network(case: &Case, path: &Path, settings: TcpSettings) -> Result<Network, String> {
    let segments = SegmentBoundaries::from_packets(case.sent_by(Side::A));
    let rules = |side: Side| case.script.iter().filter(move |line| line.side == side).map(|line| script_rule(line, &segments));
    let data: Vec<ScriptRule> = rules(Side::A).collect::<Result<_, _>>()?;
    let back: Vec<ScriptRule> = rules(Side::B).collect::<Result<_, _>>()?;
    let (later, at_once): (Vec<_>, Vec<_>) = data.into_iter().partition(|rule| matches!(rule.action, ScriptAction::Delay(_)));
    let rate = Rate::from_bps(path.rate_bps).ok_or("path.data_rate_bps is 0")?;
    let limit = path.queue_packets.map_or(u32::MAX, |packets| packets as u32);
    let bleach = path.clears_ecn.then_some(Impairment::Ecn(EcnPath::Bleach));
    let scripted = |rules: Vec<ScriptRule>| (!rules.is_empty()).then(|| Impairment::Script(Script::from_rules(rules)));
    let [data_delay, ack_delay] = Side::BOTH.map(|side| path.delay(side));
    let router = ImpairmentSpec::from_parts(bleach.into_iter().chain(scripted(at_once)));
    let router = pipe_link("router", Direction::Forward, rate, Span::ZERO, limit, router);
    let links = vec![
        match path.marks_if_wait_above {
            Some(wait) => LinkSpec { buffer: step_queue(wait, limit)?, ..router },
            None => router,
        },
        pipe_link("way", Direction::Forward, Rate::MAX, data_delay, u32::MAX, ImpairmentSpec::from_parts(scripted(later))),
        pipe_link("way", Direction::Back, Rate::MAX, ack_delay, u32::MAX, ImpairmentSpec::from_parts(scripted(back))),
    ];
    let flow = |forward: &[u32], back: &[u32], counted, settings: TcpSettings| FlowSpec {
        group: 0,
        member: 0,
        forward: forward.to_vec(),
        back: back.to_vec(),
        initial_write: None,
        row_policy: counted,
        start: Time::ZERO,
        clock_phase: Some(clock_age_at_start(case)),
        transport: Transport::Tcp(Arc::new(settings)),
    };
    let answer = case
        .has_data_both_ways()
        .then(|| flow(&[2], &[0, 1], RowPolicy::NotCounted, super::settings::settings_of_answering_side(case, &settings)));
    let flows: Vec<FlowSpec> = std::iter::once(flow(&[0, 1], &[2], RowPolicy::OwnRow, settings)).chain(answer).collect();
    // The FIN of an answering side without data is its receiver's.
    let written_by_b = if case.has_data_both_ways() { app_writes(&case.application, Side::B) } else { Vec::new() };
    let spec = Arc::new(RecordedWrites([app_writes(&case.application, Side::A), written_by_b]));
    let apps = vec![AppWithFlows {
        spec,
        group: 0,
        member: 0,
        start: Time::ZERO,
        flows: (0..).take(flows.len()).collect(),
        member_template: None,
    }];
    Ok(Network { links, flows, groups: vec!["all".into()], apps, ..Network::default() })
}

/// A queue that marks each packet that waited longer.
fn step_queue(wait: Span, limit: u32) -> Result<PipeOrQueue, String> {
    let wait = format!("{} ns", wait.picos() / 1000);
    let AqmConfig { entry, values } = Registry::builtin().aqm_config("step", &[("measure", "sojourn"), ("sojourn", &wait)])?;
    Ok(PipeOrQueue::Queue(Box::new(QueueSpec::new("router", QueueConfig::fifo(entry, values, Limit::Packets(limit))))))
}

fn pipe_link(name: &str, direction: Direction, rate: Rate, delay: Span, limit: u32, impairment: Option<Box<ImpairmentSpec>>) -> LinkSpec {
    let name = LinkName::shared(name, direction);
    LinkSpec { name, rate, delay, buffer: PipeOrQueue::Pipe { limit }, delay_spread: Span::ZERO, impairment, private_params: None }
}

/// The applications of both sides: what either writes, and when.
#[derive(Clone, Debug)]
struct RecordedWrites([Vec<(AppCallTrigger, AppWrite)>; 2]);

impl ApplicationSpec for RecordedWrites {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        let answers = !self.0[Side::B.index()].is_empty();
        [FlowDirection::Along].into_iter().chain(answers.then_some(FlowDirection::Against)).collect()
    }

    fn wants_delivery_events(&self) -> bool {
        true
    }

    fn instantiate(&self, _rng: Rng) -> Box<dyn Application> {
        Box::new(WriteReplay { writes: self.0.clone(), at: [0; 2], is_open: false, received: 0 })
    }
}

struct WriteReplay {
    writes: [Vec<(AppCallTrigger, AppWrite)>; 2],
    /// Writes done per side.
    at: [usize; 2],
    is_open: bool,
    /// Bytes that side b has read.
    received: u64,
}

impl WriteReplay {
    fn due_write(&self, side: Side, now: Time) -> Option<AppWrite> {
        let side = side.index();
        let &(when, demand) = self.writes[side].get(self.at[side])?;
        let due = match when {
            AppCallTrigger::At(at) => at <= now,
            AppCallTrigger::Received(bytes) => bytes <= self.received,
        };
        (due && self.is_open).then_some(demand)
    }
}

impl Application for WriteReplay {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start => return calls.open_connection(0, AppWrite::keep_open(0)),
            AppEvent::Opened(_) => self.is_open = true,
            AppEvent::Delivered(0, bytes) => self.received += bytes,
            _ => {}
        }
        for side in Side::BOTH {
            while let Some(demand) = self.due_write(side, now) {
                if side == Side::B && self.at[1] == 0 {
                    calls.write_reverse(1, 0, demand);
                } else {
                    calls.write(side as u32, demand);
                }
                self.at[side.index()] += 1;
            }
        }
    }

    fn deadline(&self) -> Option<Time> {
        let next = [0, 1].map(|side| self.writes[side].get(self.at[side]).map(|(when, _)| *when));
        let at = next.into_iter().filter_map(|when| if let Some(AppCallTrigger::At(at)) = when { Some(at) } else { None });
        at.filter(|_| self.is_open).min()
    }
}

/// Writes down what both ends send. Flow 0 is what side a sends, with its acknowledgements, and flow 1 what side b does.
#[derive(Default)]
struct PacketRecorder {
    header: u32,
    packets: Vec<Packet>,
    segment_maps: [SegmentMap; 2],
    /// The FIN of a side that has no data left is its acknowledgement's.
    closed: [bool; 2],
    piggybacked_ack: Option<Ack>,
}

impl PacketRecorder {
    fn record_ack(&mut self, time: Time, flow: u32, ack: &Ack) {
        let (of, by) = (flow as usize, 1 - flow as usize);
        let closed = self.closed[by] && ack.segment_type != SegmentType::Fin;
        let seq = self.segment_maps[by].end_seq() + u64::from(closed);
        self.closed[by] |= ack.segment_type == SegmentType::Fin;
        self.packets.push(packet_of_ack(Side::BOTH[by], time, ack, &self.segment_maps[of].boundaries, seq));
    }
}

impl Probe for PacketRecorder {
    const OBSERVES_PACKETS: bool = true;

    fn on_ack_piggybacked(&mut self, _now: Time, _flow: u32, ack: &Ack) {
        self.piggybacked_ack = Some(ack.clone());
    }

    fn on_packet_created(&mut self, now: Time, _id: PacketId, packet: &SimPacket, made: &PacketCreationContext) {
        if packet.is_ack_from_sink() {
            return;
        }
        let segment = packet.to_segment();
        let Some(buffer) = made.endpoint.send_buffer() else { return };
        let side = packet.flow as usize;
        let written = self.segment_maps[side].on_sent(&segment, buffer, self.header);
        let sent = packet_of_segment(Side::BOTH[side], now, &segment, &written);
        self.packets.push(match self.piggybacked_ack.take() {
            Some(ack) => packet_with_ack(sent, &ack, &self.segment_maps[1 - side].boundaries),
            None => sent,
        });
    }

    fn on_ack_sent(&mut self, now: Time, flow: u32, ack: &Ack) {
        self.record_ack(now, flow, ack);
    }
}
