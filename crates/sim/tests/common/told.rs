//! An application that a test writes out, and a network for it.

use std::sync::{Arc, Mutex};

use ecnlab_sim::{Counted, FlowSpec, Network, Probe, Run, Template};
use ecnlab_transport::application::{Application, ApplicationSpec, Calls, Event, Heading};
use ecnlab_transport::{Settings, Traffic, Transport, profile};
use ecnlab_units::{Rng, Span, Time};

use super::{options, pipe, run_with};

/// An application that does at each event what a test says, and writes down what it heard.
pub struct Told<F> {
    pub members: Vec<Heading>,
    pub grows: bool,
    pub act: F,
    pub heard: Arc<Mutex<Vec<(Time, Event)>>>,
}

pub type Act = fn(Event, Time, &mut dyn Calls) -> Option<Time>;

impl<F> std::fmt::Debug for Told<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an application of a test")
    }
}

impl ApplicationSpec for Told<Act> {
    fn members(&self) -> Vec<Heading> {
        self.members.clone()
    }

    fn grows(&self) -> bool {
        self.grows
    }

    fn hears_deliveries(&self) -> bool {
        true
    }

    fn start(&self, _rng: Rng) -> Box<dyn Application> {
        Box::new(Running { act: self.act, heard: self.heard.clone(), next: None })
    }
}

struct Running {
    act: Act,
    heard: Arc<Mutex<Vec<(Time, Event)>>>,
    next: Option<Time>,
}

impl Application for Running {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        self.heard.lock().unwrap().push((now, event));
        let timer = matches!(event, Event::Start | Event::Timer);
        let next = (self.act)(event, now, calls);
        if timer || next.is_some() {
            self.next = next;
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

pub const ONE_WAY: Span = Span::from_millis(20);

pub fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// A group whose flows cross a link of 100 Mbps and 20 ms.
pub fn template(transport: Transport) -> Template {
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0],
        back: vec![1],
        transport,
        opens: None,
        start: at(100),
        boot: Some(Span::ZERO),
        counted: Counted::AsFlow,
    };
    Template { flow, access: None, exit: None }
}

pub fn network(template: &Template, spec: Arc<dyn ApplicationSpec>) -> Network {
    let mut network = Network { links: vec![pipe(100_000, 20_000, 1_000); 2], groups: vec!["all".into()], ..Network::default() };
    network.add_member(template, 0, &Traffic::Application(spec));
    network.number_rows_first();
    network
}

/// Runs an application for two seconds; returns what came out and what it heard.
pub fn run<P: Probe>(template: &Template, members: &[Heading], grows: bool, act: Act, probe: P) -> (Run, Vec<(Time, Event)>, P) {
    let heard = Arc::default();
    let told = Told { members: members.to_vec(), grows, act, heard: Arc::clone(&heard) };
    let (run, probe) = run_with(&network(template, Arc::new(told)), &options(2, 1), probe);
    let heard = heard.lock().unwrap().clone();
    (run, heard, probe)
}

pub fn host(ecn: bool) -> Transport {
    Transport::Tcp(Arc::new(Settings { ecn, ..profile::settings("linux") }))
}
