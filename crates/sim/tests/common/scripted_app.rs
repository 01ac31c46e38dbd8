//! An application scripted by a test, and a network for it.

use std::sync::{Arc, Mutex};

use ecnlab_sim::{FlowSpec, FlowTemplate, Network, Probe, RowPolicy, Run};
use ecnlab_transport::application::{AppEvent, Application, ApplicationSpec, EngineCalls, FlowDirection};
use ecnlab_transport::{TcpSettings, Traffic, Transport, profile};
use ecnlab_units::{Rng, Span, Time};

use super::{options, pipe, run_with};

/// An application that runs a test's script at each event, and logs its events.
pub struct ScriptedApp<F> {
    pub members: Vec<FlowDirection>,
    pub grows: bool,
    pub act: F,
    pub heard: Arc<Mutex<Vec<(Time, AppEvent)>>>,
}

pub type AppScript = fn(AppEvent, Time, &mut dyn EngineCalls) -> Option<Time>;

impl<F> std::fmt::Debug for ScriptedApp<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an application of a test")
    }
}

impl ApplicationSpec for ScriptedApp<AppScript> {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        self.members.clone()
    }

    fn spawns_flows(&self) -> bool {
        self.grows
    }

    fn wants_delivery_events(&self) -> bool {
        true
    }

    fn instantiate(&self, _rng: Rng) -> Box<dyn Application> {
        Box::new(ScriptedAppState { act: self.act, heard: self.heard.clone(), next: None })
    }
}

struct ScriptedAppState {
    act: AppScript,
    heard: Arc<Mutex<Vec<(Time, AppEvent)>>>,
    next: Option<Time>,
}

impl Application for ScriptedAppState {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        self.heard.lock().unwrap().push((now, event));
        let timer = matches!(event, AppEvent::Start | AppEvent::Timer);
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
pub fn template(transport: Transport) -> FlowTemplate {
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0],
        back: vec![1],
        transport,
        initial_write: None,
        start: at(100),
        clock_phase: Some(Span::ZERO),
        row_policy: RowPolicy::OwnRow,
    };
    FlowTemplate { flow, access: None, exit: None }
}

pub fn network(template: &FlowTemplate, spec: Arc<dyn ApplicationSpec>) -> Network {
    let mut network = Network { links: vec![pipe(100_000, 20_000, 1_000); 2], groups: vec!["all".into()], ..Network::default() };
    network.add_group_member(template, 0, &Traffic::Application(spec));
    network.renumber_rows_first();
    network
}

/// Runs an application for two seconds; returns the results and its event log.
pub fn run<P: Probe>(
    template: &FlowTemplate,
    members: &[FlowDirection],
    grows: bool,
    act: AppScript,
    probe: P,
) -> (Run, Vec<(Time, AppEvent)>, P) {
    let heard = Arc::default();
    let told = ScriptedApp { members: members.to_vec(), grows, act, heard: Arc::clone(&heard) };
    let (run, probe) = run_with(&network(template, Arc::new(told)), &options(2, 1), probe);
    let heard = heard.lock().unwrap().clone();
    (run, heard, probe)
}

pub fn host(ecn: bool) -> Transport {
    Transport::Tcp(Arc::new(TcpSettings { ecn, ..profile::tcp_settings_of("linux") }))
}
