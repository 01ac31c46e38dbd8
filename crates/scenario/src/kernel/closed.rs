//! The closed loop: both of our ends over the path of a case, in the engine.

use std::sync::Arc;

use ecnlab_sim::probe::Made;
use ecnlab_sim::{
    Act, AppSpec, Buffer, Counted, Direction, EcnPath, FlowSpec, ImpairmentSpec, LinkName, LinkSpec, Network, Options, Packet as OnTheWay,
    PacketId, Part, Probe, Rule, Script, Simulation,
};
use ecnlab_transport::application::{Application, ApplicationSpec, Calls, Event};
use ecnlab_transport::{Ack, Demand, Settings, Transport};
use ecnlab_units::{Rate, Rng, Span, Time};

use super::case::{A, B, Case, Packet};
use super::ledger::Ledger;
use super::script::Segments;
use super::settings::boot;
use super::written::{self, writes};

/// Runs a case and writes down what both ends send.
///
/// # Errors
/// What is not built of what the case asks for.
pub fn run(case: &Case, settings: Settings) -> Result<Vec<Packet>, String> {
    let tape = Tape { header: settings.header, packets: Vec::new(), ledger: Ledger::default() };
    let network = network(case, settings)?;
    let options = Options { duration: case.end, measure_from: Time::ZERO, seed: 0 };
    let (_, tape) = Simulation::new(&network, &options, tape).finish();
    Ok(tape.packets)
}

/// The router's queue and what it does to packets, the way behind it on which packets may overtake each other, and the way back.
fn network(case: &Case, settings: Settings) -> Result<Network, String> {
    let path = &case.path;
    let segments = Segments::of(case.sent_by(A));
    let rules = |side: u8| case.script.iter().filter(move |line| line.side == side).map(|line| line.rule(&segments));
    let data: Vec<Rule> = rules(A).collect::<Result<_, _>>()?;
    let back: Vec<Rule> = rules(B).collect::<Result<_, _>>()?;
    let (later, at_once): (Vec<_>, Vec<_>) = data.into_iter().partition(|rule| matches!(rule.act, Act::Delay(_)));
    let rate = Rate::from_bps(path.rate_bps).ok_or("path.data_rate_bps is 0")?;
    let limit = path.queue_packets.map_or(u32::MAX, |packets| packets as u32);
    let bleach = path.clears_ecn.then_some(Part::Ecn(EcnPath::Bleach));
    let scripted = |rules: Vec<Rule>| (!rules.is_empty()).then(|| Part::Script(Script::of_rules(rules)));
    let [data_delay, ack_delay] = path.delays;
    let router = ImpairmentSpec::of(bleach.into_iter().chain(scripted(at_once)));
    let links = vec![
        link("router", Direction::Forward, rate, Span::ZERO, limit, router),
        link("way", Direction::Forward, Rate::MAX, data_delay, u32::MAX, ImpairmentSpec::of(scripted(later))),
        link("way", Direction::Back, Rate::MAX, ack_delay, u32::MAX, ImpairmentSpec::of(scripted(back))),
    ];
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0, 1],
        back: vec![2],
        opens: None,
        counted: Counted::AsFlow,
        start: Time::ZERO,
        boot: Some(boot(case)),
        transport: Transport::Tcp(Arc::new(settings)),
    };
    let spec = Arc::new(Writes(writes(&case.application)));
    let apps = vec![AppSpec { spec, group: 0, member: 0, start: Time::ZERO, flows: vec![0], more: None }];
    Ok(Network { links, flows: vec![flow], groups: vec!["all".into()], apps })
}

fn link(name: &str, direction: Direction, rate: Rate, delay: Span, limit: u32, impairment: Option<Box<ImpairmentSpec>>) -> LinkSpec {
    let name = LinkName::shared(name, direction);
    LinkSpec { name, rate, delay, buffer: Buffer::Pipe { limit }, spread: Span::ZERO, impairment, own: None }
}

/// An application that connects and then writes at given times.
#[derive(Clone, Debug)]
struct Writes(Vec<(Time, Demand)>);

impl ApplicationSpec for Writes {
    fn start(&self, _rng: Rng) -> Box<dyn Application> {
        Box::new(Writing { writes: self.0.clone(), at: 0, is_open: false })
    }
}

struct Writing {
    writes: Vec<(Time, Demand)>,
    at: usize,
    is_open: bool,
}

impl Application for Writing {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        match event {
            Event::Start => return calls.open(0, Demand::open(0)),
            Event::Opened(_) => self.is_open = true,
            _ => {}
        }
        while let Some(&(_, demand)) = self.writes.get(self.at).filter(|(at, _)| self.is_open && *at <= now) {
            calls.produce(0, demand);
            self.at += 1;
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.writes.get(self.at).filter(|_| self.is_open).map(|&(at, _)| at)
    }
}

/// Writes down what both ends send.
struct Tape {
    header: u32,
    packets: Vec<Packet>,
    ledger: Ledger,
}

impl Probe for Tape {
    const LINKS: bool = true;

    fn made(&mut self, now: Time, _id: PacketId, packet: &OnTheWay, made: &Made) {
        if packet.is_ack() {
            return;
        }
        let segment = packet.segment();
        let Some(plan) = made.endpoint.plan() else { return };
        let written = self.ledger.note(&segment, plan, self.header);
        self.packets.push(written::of_segment(now, &segment, &written));
    }

    fn ack_sent(&mut self, now: Time, _flow: u32, ack: &Ack) {
        self.packets.push(written::of_ack(now, ack, &self.ledger));
    }
}
