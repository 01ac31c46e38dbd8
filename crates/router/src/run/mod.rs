//! A run of a scenario with hosts that are a kernel's: from a sound scenario to the tables of a simulated one, and what only a run with a
//! real kernel has to tell of itself ([`About`]).
//!
//! The calling thread does it all: it makes the hosts, waits for them and carries their packets. It has to be allowed to make network
//! namespaces ([`crate::sys::process`]), and the network that it is in is not touched.

mod about;
mod kernel;

use std::io::{self, Write};

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_sim::measures::Table;
use ecnlab_sim::network::Change;
use ecnlab_sim::{Buffer, Network, Off, Options, Probe, Recorded, Recorder, Recording, RecordingFull, Run, Simulation, Version};
use ecnlab_units::{Rate, Span, Time};

pub use self::about::About;
pub use self::kernel::kernel;
use crate::address::Family;
use crate::background::Background;
use crate::capture::{Tap, Tapped};
use crate::cases::{self, Cases};
use crate::clock::Clock;
use crate::drive::{Driven, Pace, Router};
use crate::host::Host;
use crate::hosts::{self, Hosts};
use crate::kernel_queue::KernelQueues;
use crate::mapping::{HostSettings, Kernel, map};
use crate::sys::process;

/// How to run a scenario.
pub struct RunOptions {
    pub seed: u64,
    /// What the kernel has.
    pub kernel: Kernel,
    pub family: Family,
    pub pace: Pace,
    /// Priority in the real-time class, if the thread is to be in it and may.
    pub priority: Option<i32>,
    /// The lateness that the run may have at the 99th percentile; where none is given it follows from the network.
    pub budget: Option<Span>,
    pub capture: Option<Capture>,
    /// Whether connections are recorded as cases.
    pub cases: bool,
}

/// Where packets are written to, byte for byte, before and behind links.
pub struct Capture {
    /// The names of links; where none is named, those with a measured queue.
    pub links: Vec<String>,
    /// Bytes of each packet.
    pub keep: u32,
    pub out: Box<dyn Write + Send>,
}

/// A run that went to its end.
pub struct Outcome {
    pub run: Run,
    /// What was recorded beside the measures.
    pub tables: Vec<(&'static str, Table)>,
    pub about: About,
    /// Cases of the connections, each a line of JSON, if they were asked for.
    pub cases: Vec<String>,
}

/// Why a run did not go to its end.
#[derive(Debug)]
pub enum Refused {
    /// What of the scenario this kernel cannot do; nothing has been started.
    Asked(Vec<Problem>),
    /// Whoever watched it has stopped it.
    Stopped,
    /// There is no room for more of what is recorded.
    Full(RecordingFull),
    /// The machine does not permit something, or something in it broke.
    System(io::Error),
}

impl From<io::Error> for Refused {
    fn from(why: io::Error) -> Refused {
        Refused::System(why)
    }
}

/// Is told the seconds that are over, and answers whether to stop.
pub type Watch<'w> = &'w mut dyn FnMut(f64) -> bool;

/// The clock's tick of the box's kernel, with which it is built.
const TICK: Span = Span::from_millis(4);

/// As often `watch` is asked.
const WATCH: Span = Span::from_millis(50);

/// The smallest budget: no machine in real time keeps to less.
const SMALLEST_BUDGET: Span = Span::from_micros(100);

/// Runs a scenario.
///
/// # Errors
/// See [`Refused`].
pub fn run(scenario: &Scenario, options: RunOptions, watch: Watch) -> Result<Outcome, Refused> {
    let kernel = Kernel { family: options.family, ..options.kernel.clone() };
    let settings = map(scenario, &kernel).map_err(Refused::Asked)?;
    let unheld = if options.cases { cases::refusals(scenario, &settings, options.family) } else { Vec::new() };
    if !unheld.is_empty() {
        return Err(Refused::Asked(unheld));
    }
    let recording = scenario.record.recording();
    let end = Time::ZERO + scenario.duration;
    let recorder = || Recorder::new(recording, end);
    match options.capture {
        None if recording == Recording::default() => {
            let (run, Off, about, cases) = drive(scenario, settings, &options, Off, watch)?;
            Ok(Outcome { run, tables: Vec::new(), about, cases })
        }
        None => {
            let (run, recorder, about, cases) = drive(scenario, settings, &options, recorder(), watch)?;
            finished(run, recorder, about, cases)
        }
        Some(Capture { links, keep, out }) => {
            let options = RunOptions { capture: None, ..options };
            let out: Box<dyn Write + Send> = if options.pace == Pace::Real { Box::new(Background::start(out)) } else { out };
            let version = if options.family == Family::V4 { Version::V4 } else { Version::V6 };
            let probe = Recorded { recorder: recorder(), tracer: Tap::new(links, keep, version, out) };
            let (run, mut probe, about, cases) = drive(scenario, settings, &options, probe, watch)?;
            probe.tracer.flush()?;
            finished(run, probe.recorder, about, cases)
        }
    }
}

fn finished(run: Run, recorder: Recorder, about: About, cases: Vec<String>) -> Result<Outcome, Refused> {
    let tables = recorder.tables(&run.names).map_err(Refused::Full)?;
    Ok(Outcome { run, tables, about, cases })
}

fn drive<P: Probe + Tapped>(
    scenario: &Scenario,
    settings: Vec<HostSettings>,
    options: &RunOptions,
    probe: P,
    watch: Watch,
) -> Result<(Run, P, About, Vec<String>), Refused> {
    let (duration, measure_from) = (Time::ZERO + scenario.duration, Time::ZERO + scenario.measure_from);
    let network = scenario.network.clone().with_ends_outside();
    let simulation = Simulation::new(&network, &Options { duration, measure_from, seed: options.seed }, probe);
    let made = make(&settings, options.family)?;
    let sockets = Hosts::new(options.family, settings.clone(), &made, scenario.record.window.every())?;
    let largest = made_largest(&settings);
    let mut about = About::of(options, &settings, &scenario.groups);
    about.lateness_budget = options.budget.unwrap_or_else(|| budget(scenario, &settings));
    about.is_real_time = options.priority.is_some_and(|priority| process::real_time(priority).is_ok());
    process::timer_slack(1)?;

    let queues = kernel_queues(&network, sent_largest(&settings, options.family))?;
    let mut router = Router::new(simulation, made, sockets, largest, options.pace)?.with_queues(queues)?;
    router = router.recording(options.cases.then(Cases::default));
    let (mut stopped, mut full) = (false, None);
    let driven = router.run(duration, WATCH, &mut |simulation, _| {
        full = simulation.probe().full();
        stopped = watch(simulation.now().seconds());
        full.is_none() && !stopped
    });
    if about.is_real_time {
        process::no_real_time()?;
    }
    driven?;
    if let Some(full) = full {
        return Err(Refused::Full(full));
    }
    if stopped {
        return Err(Refused::Stopped);
    }
    let Driven { simulation, ends, counts, lateness, cases } = router.finish()?;
    about.take(&ends, counts, lateness);
    let recorded = |clock: &Clock| cases::Recorded {
        scenario: &scenario.name,
        names: &scenario.groups,
        hosts: &settings,
        network: &network,
        seed: options.seed,
        origin_ns: clock.origin_ns(),
        tick: TICK,
        end: Time::ZERO + scenario.duration,
        kernel: about.kernel().to_owned(),
    };
    let cases = cases.map(|(cases, clock)| cases.written(&recorded(&clock))).transpose()?;
    let (run, probe) = simulation.finish();
    Ok((run, probe, about, cases.unwrap_or_default()))
}

fn make(settings: &[HostSettings], family: Family) -> io::Result<Vec<Host>> {
    process::raise_descriptors()?;
    let pairs = (0..).zip(settings).map(|(group, settings)| hosts::make(family, group, settings));
    Ok(pairs.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Queues of the kernel at links that ask for one, where packets have this many bytes at most.
fn kernel_queues(network: &Network, largest: u32) -> Result<KernelQueues, Refused> {
    let mut queues = KernelQueues::default();
    for (number, link) in (0..).zip(&network.links) {
        if let Buffer::Queue(queue) = &link.buffer
            && let Some(of_kernel) = queue.of.kernel()
        {
            queues.add(number, of_kernel, link.rate, largest).map_err(|why| match why.kind() {
                io::ErrorKind::InvalidInput => {
                    let message = format!("{why}: its parameters are not what the kernel takes, or are too large or too small for it");
                    Refused::Asked(vec![Problem { place: format!("link.{}.queue", link.name.shown()), line: None, message }])
                }
                _ => Refused::System(why),
            })?;
        }
    }
    Ok(queues)
}

/// The largest packet that hosts of this family send, in bytes.
fn sent_largest(settings: &[HostSettings], family: Family) -> u32 {
    let least = if family == Family::V6 { hosts::SMALLEST_MTU_V6 } else { 0 };
    settings.iter().map(|host| host.mtu).max().unwrap_or(1500).max(least)
}

/// The largest packet that hosts of either family send, in bytes.
fn made_largest(settings: &[HostSettings]) -> u32 {
    settings.iter().map(|host| host.mtu).max().unwrap_or(0).max(hosts::SMALLEST_MTU_V6)
}

/// A quarter of the time that a full packet takes on the slowest link with a measured queue: who is late by less changes little of what the
/// next packet meets.
fn budget(scenario: &Scenario, settings: &[HostSettings]) -> Span {
    let full = settings.iter().map(|host| host.mtu).max().unwrap_or(1500);
    let rates = scenario.network.links.iter().filter_map(|link| match &link.buffer {
        Buffer::Queue(queue) => queue.changes.iter().filter_map(|change: &Change| change.rate).chain([link.rate]).min(),
        Buffer::Pipe { .. } => None,
    });
    let narrowest: Option<Rate> = rates.min();
    narrowest.map_or(SMALLEST_BUDGET, |rate| Span::from_picos(rate.transmission(full).picos() / 4).max(SMALLEST_BUDGET))
}
