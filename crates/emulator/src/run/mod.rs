//! A run of a scenario with hosts of a kernel: from a valid scenario to the tables of a simulated one, and the metadata of a run with a
//! real kernel ([`RunMetadata`]).
//!
//! The calling thread does everything: it creates the hosts, serves them and carries their packets. It needs permission to create network
//! namespaces ([`crate::sys::process`]), and does not change its own network.

mod kernel;
mod metadata;

use std::io::{self, Write};

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_sim::measures::Table;
use ecnlab_sim::network::LinkChange;
use ecnlab_sim::{
    IpVersion, Network, NoProbe, PipeOrQueue, Probe, Recorder, RecorderAndTracer, RecordingConfig, RecordingLimitReached, Run, Simulation,
};
use ecnlab_units::{Rate, Span, Time};

pub use self::kernel::probe_kernel;
pub use self::metadata::RunMetadata;
use crate::address::{AddressFamily, MIN_MTU_V6};
use crate::background_writer::BackgroundWriter;
use crate::capture::{AsPacketCapture, PacketCapture};
use crate::event_loop::{EventLoop, FinishedRun, TimeMode};
use crate::host::Host;
use crate::host_settings::HostSettings;
use crate::hosts::{self, SocketBackend};
use crate::kernel_queue::KernelQueues;
use crate::mapping::{KernelFeatures, map_to_host_settings};
use crate::recordings::{self, ConnectionRecorder};
use crate::sys::{process, sysctl};

/// Options of a run.
pub struct RunOptions {
    pub seed: u64,
    /// Features of the kernel.
    pub kernel: KernelFeatures,
    pub family: AddressFamily,
    pub time_mode: TimeMode,
    /// Priority in the real-time class, if the thread shall be in it and may.
    pub priority: Option<i32>,
    /// Maximum lateness of the run at the 99th percentile; by default it follows from the network.
    pub lateness_budget: Option<Span>,
    pub capture: Option<CaptureOptions>,
    /// Whether connections are recorded as cases.
    pub record_connections: bool,
}

/// File for the packets, byte for byte, before and after links.
pub struct CaptureOptions {
    /// Names of links; by default those with a measured queue.
    pub links: Vec<String>,
    /// Bytes of each packet.
    pub snaplen: u32,
    pub out: Box<dyn Write + Send>,
}

/// A completed run.
pub struct RunOutcome {
    pub run: Run,
    /// Recordings, in addition to the measures.
    pub tables: Vec<(&'static str, Table)>,
    pub metadata: RunMetadata,
    /// Cases of the connections, each a line of JSON, if requested.
    pub recordings: Vec<String>,
}

/// Reason why a run did not complete.
#[derive(Debug)]
pub enum RunError {
    /// Parts of the scenario that this kernel does not support; nothing was started.
    Unsupported(Vec<Problem>),
    /// The caller has stopped it.
    Stopped,
    /// The memory for recordings is exhausted.
    RecordingLimitReached(RecordingLimitReached),
    /// The machine does not permit a call, or a call failed.
    System(io::Error),
}

impl From<io::Error> for RunError {
    fn from(why: io::Error) -> RunError {
        RunError::System(why)
    }
}

/// Receives the elapsed seconds, and returns whether to stop.
pub type ProgressCallback<'w> = &'w mut dyn FnMut(f64) -> bool;

/// Clock tick with which the UML kernel is built.
const UML_TICK: Span = Span::from_millis(4);

/// Interval of the calls of `on_progress`.
const PROGRESS_INTERVAL: Span = Span::from_millis(50);

/// The smallest budget: no machine in real time achieves less.
const MIN_LATENESS_BUDGET: Span = Span::from_micros(100);

/// Runs a scenario.
///
/// # Errors
/// See [`RunError`].
pub fn run(scenario: &Scenario, options: RunOptions, on_progress: ProgressCallback) -> Result<RunOutcome, RunError> {
    let kernel = KernelFeatures { family: options.family, ..options.kernel.clone() };
    let settings = map_to_host_settings(scenario, &kernel).map_err(RunError::Unsupported)?;
    let unsupported =
        if options.record_connections { recordings::unsupported_settings(scenario, &settings, options.family) } else { Vec::new() };
    if !unsupported.is_empty() {
        return Err(RunError::Unsupported(unsupported));
    }
    let recording = scenario.record.recording();
    let end = Time::ZERO + scenario.duration;
    let recorder = || Recorder::new(recording, end);
    match options.capture {
        None if recording == RecordingConfig::default() => {
            let (NoProbe, outcome) = run_event_loop(scenario, settings, &options, NoProbe, on_progress)?;
            Ok(outcome)
        }
        None => {
            let (recorder, outcome) = run_event_loop(scenario, settings, &options, recorder(), on_progress)?;
            outcome_with_tables(outcome, recorder)
        }
        Some(CaptureOptions { links, snaplen, out }) => {
            let options = RunOptions { capture: None, ..options };
            let out: Box<dyn Write + Send> = if options.time_mode == TimeMode::Real { Box::new(BackgroundWriter::start(out)) } else { out };
            let version = if options.family == AddressFamily::V4 { IpVersion::V4 } else { IpVersion::V6 };
            let probe = RecorderAndTracer { recorder: recorder(), tracer: PacketCapture::new(links, snaplen, version, out) };
            let (mut probe, outcome) = run_event_loop(scenario, settings, &options, probe, on_progress)?;
            probe.tracer.flush()?;
            outcome_with_tables(outcome, probe.recorder)
        }
    }
}

fn outcome_with_tables(outcome: RunOutcome, recorder: Recorder) -> Result<RunOutcome, RunError> {
    let tables = recorder.tables(&outcome.run.names).map_err(RunError::RecordingLimitReached)?;
    Ok(RunOutcome { tables, ..outcome })
}

fn run_event_loop<P: Probe + AsPacketCapture>(
    scenario: &Scenario,
    settings: Vec<HostSettings>,
    options: &RunOptions,
    probe: P,
    on_progress: ProgressCallback,
) -> Result<(P, RunOutcome), RunError> {
    let times = scenario.times_and_seed(options.seed);
    let network = (*scenario.network).clone().with_external_hosts();
    let simulation = Simulation::new(&network, &times, probe);
    let hosts = create_hosts(&settings, options.family)?;
    let sockets = SocketBackend::new(options.family, settings.clone(), &hosts, scenario.record.window.0)?;
    let max_packet = max_packet_bytes_any_family(&settings);
    let is_real_time = options.priority.is_some_and(|priority| process::set_realtime_scheduling(priority).is_ok());
    process::set_timer_slack(1)?;

    let queues = create_kernel_queues(&network, max_sent_packet(&settings, options.family))?;
    let mut event_loop = EventLoop::new(simulation, hosts, sockets, max_packet, options.time_mode)?
        .with_kernel_queues(queues)?
        .with_recorder(options.record_connections.then(ConnectionRecorder::default));
    let (mut stopped, mut reached) = (false, None);
    let result = event_loop.run(times.duration, PROGRESS_INTERVAL, &mut |simulation, _| {
        reached = simulation.probe().recording_limit_reached();
        stopped = on_progress(simulation.now().seconds());
        reached.is_none() && !stopped
    });
    if is_real_time {
        process::reset_scheduling()?;
    }
    result?;
    if let Some(reached) = reached {
        return Err(RunError::RecordingLimitReached(reached));
    }
    if stopped {
        return Err(RunError::Stopped);
    }
    let FinishedRun { simulation, backend, counters, rewritten_to_ect1, lateness, clock, recorder } = event_loop.finish()?;
    let metadata = RunMetadata {
        backend: options.kernel.backend,
        family: options.family,
        time_mode: options.time_mode,
        kernel_release_and_build: ["kernel.osrelease", "kernel.version"].map(|name| sysctl::get(name).unwrap_or_default()),
        groups: scenario.groups.iter().cloned().zip(settings.iter().cloned()).collect(),
        is_real_time,
        lateness_budget: options.lateness_budget.unwrap_or_else(|| default_lateness_budget(scenario, &settings)),
        lateness,
        counters,
        connections: backend.counters,
        kernel_counters: backend.kernel_counters.clone(),
        // Both hosts of a group stand together, the near one first.
        rewritten_to_ect1: rewritten_to_ect1.chunks_exact(2).map(|hosts| [hosts[0], hosts[1]]).collect(),
    };
    let recording_context = || recordings::RecordingContext {
        scenario: &scenario.name,
        names: &scenario.groups,
        hosts: &settings,
        network: &network,
        seed: options.seed,
        origin_ns: clock.origin_ns,
        tick: UML_TICK,
        end: times.duration,
        kernel: metadata.kernel_release().to_owned(),
    };
    let recordings = recorder.map(|recorder| recorder.to_json_lines(&recording_context())).transpose()?;
    let (run, probe) = simulation.finish();
    Ok((probe, RunOutcome { run, tables: Vec::new(), metadata, recordings: recordings.unwrap_or_default() }))
}

fn create_hosts(settings: &[HostSettings], family: AddressFamily) -> io::Result<Vec<Host>> {
    process::raise_descriptor_limit()?;
    let pairs = (0..).zip(settings).map(|(group, settings)| hosts::create_host_pair(family, group, settings));
    Ok(pairs.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Queues of the kernel at links that have one, with packets of at most this number of bytes.
fn create_kernel_queues(network: &Network, largest: u32) -> Result<KernelQueues, RunError> {
    let mut queues = KernelQueues::default();
    for (number, link) in (0..).zip(&network.links) {
        if let PipeOrQueue::Queue(queue) = &link.buffer
            && let Some(of_kernel) = queue.config.wrapped_kernel_qdisc()
        {
            queues.add(number, of_kernel, link.rate, largest).map_err(|why| match why.kind() {
                io::ErrorKind::InvalidInput => {
                    let message = format!("{why}: the kernel rejects its parameters, as unknown, too large or too small");
                    RunError::Unsupported(vec![Problem { place: format!("link.{}.queue", link.name.display_name()), line: None, message }])
                }
                _ => RunError::System(why),
            })?;
        }
    }
    Ok(queues)
}

/// The largest packet that hosts of this family send, in bytes.
fn max_sent_packet(settings: &[HostSettings], family: AddressFamily) -> u32 {
    let min_mtu = if family == AddressFamily::V6 { MIN_MTU_V6 } else { 0 };
    settings.iter().map(|host| host.mtu).max().unwrap_or(1500).max(min_mtu)
}

/// The largest packet that hosts of either family send, in bytes.
fn max_packet_bytes_any_family(settings: &[HostSettings]) -> u32 {
    settings.iter().map(|host| host.mtu).max().unwrap_or(0).max(MIN_MTU_V6)
}

/// A quarter of the transmission time of a full packet on the slowest link with a measured queue: a smaller lateness hardly changes the
/// queue that the next packet finds.
fn default_lateness_budget(scenario: &Scenario, settings: &[HostSettings]) -> Span {
    let full = settings.iter().map(|host| host.mtu).max().unwrap_or(1500);
    let rates = scenario.network.links.iter().filter_map(|link| match &link.buffer {
        PipeOrQueue::Queue(queue) => queue.changes.iter().filter_map(|change: &LinkChange| change.rate).chain([link.rate]).min(),
        PipeOrQueue::Pipe { .. } => None,
    });
    let narrowest: Option<Rate> = rates.min();
    narrowest.map_or(MIN_LATENESS_BUDGET, |rate| (rate.transmission_time(full) / 4).max(MIN_LATENESS_BUDGET))
}
