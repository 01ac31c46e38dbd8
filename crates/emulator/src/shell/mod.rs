//! A shell: whatever programs inside send crosses the links and queues of a scenario, in real time and for as long as they like.
//!
//! Unlike a run, it opens no connection: programs do. Packets are told apart by addresses, protocol and ports ([`conversations`]), go along the links of a
//! scenario's group ([`way`]) between two namespaces ([`namespaces`]), and shells nest ([`place`]).

pub mod flow_table;
pub mod namespaces;
pub mod path;
pub mod subnet;

use std::io;

use ecnlab_sim::{Options, Probe, QueueSnapshot, Run, Simulation};
use ecnlab_units::{Span, Time};

pub use self::flow_table::FlowTable;
pub use self::namespaces::{MTU_BYTES, ShellNamespaces, ShellNamespacesSpec};
pub use self::path::ShellPath;
pub use self::subnet::ShellSubnet;
use crate::capture::AsPacketCapture;
use crate::event_loop::{EventLoop, ForwardingCounters, NoHosts, TimeMode};
use crate::lateness::LatenessHistogram;
use crate::sys::process;

/// How often it is asked whether to go on.
const CALLBACK_INTERVAL: Span = Span::from_millis(20);
/// Longer than anybody waits, and short enough for picoseconds in 64 bits.
const MAX_DURATION: Time = Time::from_picos(100 * 86_400 * 1_000_000_000_000);

/// A shell that is over.
pub struct FinishedShell<P> {
    pub run: Run,
    pub probe: P,
    pub counters: ForwardingCounters,
    pub lateness: LatenessHistogram,
}

/// What there is to see of a shell that goes on.
#[derive(Debug)]
pub struct ShellSnapshot<'a> {
    pub now: Time,
    pub queues: Vec<QueueSnapshot>,
    pub counters: &'a ForwardingCounters,
}

/// Carries packets between the namespaces, in the calling thread, until `on_progress` says no; tells it first whether the thread is in the real-time class.
///
/// # Errors
/// What a device or the file of a capture could not go on after.
pub fn run<P: Probe + AsPacketCapture>(
    path: &ShellPath,
    namespaces: ShellNamespaces,
    seed: u64,
    probe: P,
    on_started: impl FnOnce(bool),
    on_progress: &mut dyn FnMut(&ShellSnapshot) -> bool,
) -> io::Result<FinishedShell<P>> {
    let options = Options { duration: MAX_DURATION, measure_from: Time::ZERO, seed };
    let simulation = Simulation::new(&path.network, &options, probe);
    let hosts = vec![namespaces.inner, namespaces.outer];
    let mut event_loop =
        EventLoop::with_classifier(simulation, hosts, NoHosts, FlowTable::starting_at(path.first_flow), MTU_BYTES, TimeMode::Real)?;
    process::set_timer_slack(1)?;
    on_started(process::set_realtime_scheduling(process::REALTIME_PRIORITY).is_ok());
    event_loop.run(MAX_DURATION, CALLBACK_INTERVAL, &mut |simulation, counts| {
        on_progress(&ShellSnapshot { now: simulation.now(), queues: simulation.queue_snapshots().collect(), counters: counts })
    })?;
    let finished = event_loop.finish()?;
    let mut simulation = finished.simulation;
    simulation.finish_at_current_time();
    let (run, mut probe) = simulation.finish();
    if let Some(capture) = probe.as_packet_capture_mut() {
        capture.flush()?;
    }
    Ok(FinishedShell { run, probe, counters: finished.counters, lateness: finished.lateness })
}
