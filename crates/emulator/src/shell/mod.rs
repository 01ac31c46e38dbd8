//! A shell: packets of any programs cross the links and queues of a scenario, in real time, as long as the programs run.
//!
//! Unlike a run, it opens no connection: programs do. Packets are classified by addresses, protocol and ports ([`flow_table`]). They cross
//! the links of a scenario's group ([`path`]) between two namespaces ([`namespaces`]), and shells nest ([`subnet`]).

pub mod flow_table;
pub mod namespaces;
pub mod path;
pub mod subnet;

use std::io;

use ecnlab_sim::{Probe, QueueSnapshot, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::{Span, Time};

pub use self::flow_table::FlowTable;
pub use self::namespaces::{MTU_BYTES, ShellNamespaces, ShellNamespacesSpec};
pub use self::path::ShellPath;
pub use self::subnet::ShellSubnet;
use crate::capture::AsPacketCapture;
use crate::event_loop::{EventLoop, ForwardingCounters, NoHosts, TimeMode};
use crate::lateness::LatenessHistogram;
use crate::sys::process;

/// Interval at which it asks whether to continue.
const CALLBACK_INTERVAL: Span = Span::from_millis(20);
/// Longer than any shell lasts, and short enough for picoseconds in 64 bits.
const MAX_DURATION: Time = Time::from_picos(100 * 86_400 * 1_000_000_000_000);

/// A shell that has ended.
pub struct ForwardingOutcome<P> {
    pub run: Run,
    pub probe: P,
    pub counters: ForwardingCounters,
    pub lateness: LatenessHistogram,
}

/// State of an active shell for the view.
#[derive(Debug)]
pub struct ShellSnapshot<'a> {
    pub now: Time,
    pub queues: Vec<QueueSnapshot>,
    pub counters: &'a ForwardingCounters,
}

/// Carries packets between the namespaces in the calling thread, until `on_progress` returns false. `on_started` gets whether the thread is
/// in the real-time class.
///
/// # Errors
/// A fatal error of a device, or of the file of a capture.
pub fn forward_packets<P: Probe + AsPacketCapture>(
    path: &ShellPath,
    namespaces: ShellNamespaces,
    seed: u64,
    probe: P,
    on_started: impl FnOnce(bool),
    on_progress: &mut dyn FnMut(&ShellSnapshot) -> bool,
) -> io::Result<ForwardingOutcome<P>> {
    let options = RunTimesAndSeed { duration: MAX_DURATION, measure_from: Time::ZERO, seed };
    let simulation = Simulation::new(&path.network, &options, probe);
    let hosts = vec![namespaces.inner, namespaces.outer];
    let mut event_loop =
        EventLoop::new_with_classifier(simulation, hosts, NoHosts, FlowTable::with_first_flow(path.first_flow), MTU_BYTES, TimeMode::Real)?;
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
    Ok(ForwardingOutcome { run, probe, counters: finished.counters, lateness: finished.lateness })
}
