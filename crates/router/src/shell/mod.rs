//! A shell: whatever programs inside send crosses the links and queues of a scenario, in real time and for as long as they like.
//!
//! Unlike a run, it opens no connection: programs do. Packets are told apart by addresses, protocol and ports ([`conversations`]), go along the links of a
//! scenario's group ([`way`]) between two namespaces ([`rooms`]), and shells nest ([`place`]).

pub mod conversations;
pub mod place;
pub mod rooms;
pub mod way;

use std::io;

use ecnlab_sim::{Options, Probe, QueueLook, Run, Simulation};
use ecnlab_units::{Span, Time};

pub use self::conversations::Conversations;
pub use self::place::Place;
pub use self::rooms::{MTU, Rooms, RoomsSpec};
pub use self::way::Way;
use crate::capture::Tapped;
use crate::drive::{Counts, Nobody, Pace, Router};
use crate::lateness::Lateness;
use crate::sys::process;

/// How often it is asked whether to go on.
const EVERY: Span = Span::from_millis(20);
/// Longer than anybody waits, and short enough for picoseconds in 64 bits.
const LONGEST: Time = Time::from_picos(100 * 86_400 * 1_000_000_000_000);

/// A shell that is over.
pub struct Left<P> {
    pub run: Run,
    pub probe: P,
    pub counts: Counts,
    pub lateness: Lateness,
}

/// What there is to see of a shell that goes on.
#[derive(Debug)]
pub struct Look<'a> {
    pub now: Time,
    pub queues: Vec<QueueLook>,
    pub counts: &'a Counts,
}

/// Carries packets between the rooms, in the calling thread, until `watch` says no; tells it first whether the thread is in the real-time class.
///
/// # Errors
/// What a device or the file of a capture could not go on after.
pub fn run<P: Probe + Tapped>(
    way: &Way,
    rooms: Rooms,
    seed: u64,
    probe: P,
    began: impl FnOnce(bool),
    watch: &mut dyn FnMut(&Look) -> bool,
) -> io::Result<Left<P>> {
    let options = Options { duration: LONGEST, measure_from: Time::ZERO, seed };
    let simulation = Simulation::new(&way.network, &options, probe);
    let hosts = vec![rooms.inside, rooms.outside];
    let mut router = Router::between(simulation, hosts, Nobody, Conversations::from(way.first), MTU, Pace::Real)?;
    process::timer_slack(1)?;
    began(process::real_time(process::PRIORITY).is_ok());
    router.run(LONGEST, EVERY, &mut |simulation, counts| {
        watch(&Look { now: simulation.now(), queues: simulation.look().collect(), counts })
    })?;
    let driven = router.finish()?;
    let mut simulation = driven.simulation;
    simulation.end_now();
    let (run, mut probe) = simulation.finish();
    if let Some(tap) = probe.tap() {
        tap.flush()?;
    }
    Ok(Left { run, probe, counts: driven.counts, lateness: driven.lateness })
}
