//! The loop: one thread that carries packets between hosts and the engine, and says what time it is.
//!
//! ```text
//!     each turn   now = the clock, read once when the wait ends
//!                 the engine goes on to now; what has arrived by then is written to its hosts, what applications ask for is done
//!                 of every device that is ready packets are read, and enter the network at now
//!                 sockets that are ready are served
//!                 wait for a device, a socket, or a time at which something may come out of the engine
//! ```
//!
//! **Which time a packet has.** All that a turn finds has the time at which the turn began, and everything of the engine's that was due by
//! then has happened before it. So a packet that comes at the very time at which another leaves a queue finds that one gone, and two that
//! come in one turn are at one time, in the order of their devices' readiness, and of each device in the order in which they were sent.
//! Departures keep the engine's own times: a turn that is late delivers late and delays nothing behind it.
//!
//! A packet costs three calls to the system, one to wait, one to read, one to write, less where several are waiting.

mod awake;
mod counts;
mod ends;
mod owners;

use std::io;
use std::time::Duration;

use ecnlab_sim::{Foreign, Happened, Probe, Simulation, Told, Toward};
use ecnlab_transport::Role;
use ecnlab_units::{Ecn, Span, Time};

use self::awake::Awake;
pub use self::counts::Counts;
pub use self::ends::{Ends, FIRST_TOKEN, Nobody, Wish, With};
pub use self::owners::{Owner, Owners};
use crate::address::{Seats, Side};
use crate::capture::Tapped;
use crate::cases::{Cases, Sent};
use crate::clock::{Clock, nanos_until};
use crate::connection::{Connections, Heard};
use crate::host::Host;
use crate::kernel_queue::KernelQueues;
use crate::lateness::Lateness;
use crate::packet::{Upper, View, write_echo, write_ecn};
use crate::slab::{About, Slab};
use crate::sys::poll::Interest;
use crate::sys::{Poller, Ready};

/// Packets that are read of a device in one turn, at most.
const BATCH: u32 = 32;

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As it does. Reading the clock is cheap, work takes time.
    Real,
    /// In a machine whose clock stands still while it works: each call to the system is dear, and the clock is read once a turn.
    Virtual,
}

/// A network with hosts at its ends.
pub struct Router<P: Probe, E, O = Seats> {
    simulation: Simulation<P>,
    ends: E,
    carrier: Carrier<O>,
    /// Queues of links that are the kernel's.
    queues: KernelQueues,
    poller: Poller,
    awake: Awake,
    pace: Pace,
    clock: Clock,
    told: Vec<(u32, Told)>,
    /// Records connections, if somebody asked for that.
    cases: Option<Cases>,
    /// What has happened, while it is dealt with; kept for its memory.
    happened: Vec<Happened>,
    ready: Vec<Ready>,
}

/// What carries packets between the engine and devices.
struct Carrier<O> {
    hosts: Vec<Host>,
    /// Of each group the hosts of both sides.
    doors: Vec<[Option<u32>; 2]>,
    /// Packets to read of each device in one turn: more where the last turn has not emptied it.
    batches: Vec<u32>,
    owners: O,
    slab: Slab,
    connections: Connections,
    counts: Counts,
    lateness: Lateness,
}

/// What came of reading a device.
enum Read {
    Enters(Foreign),
    /// A packet that nobody can carry; it is counted.
    Dropped,
    Nothing,
}

/// What a run leaves.
pub struct Driven<P: Probe, E> {
    pub simulation: Simulation<P>,
    pub ends: E,
    pub counts: Counts,
    pub lateness: Lateness,
    /// Connections as they were recorded, and the hosts' clock at time zero.
    pub cases: Option<(Cases, Clock)>,
}

impl<P: Probe + Tapped, E: Ends> Router<P, E> {
    /// With the hosts of all groups, whose largest packet has `largest` bytes.
    ///
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn new(simulation: Simulation<P>, hosts: Vec<Host>, ends: E, largest: u32, pace: Pace) -> io::Result<Router<P, E>> {
        Router::between(simulation, hosts, ends, Seats::default(), largest, pace)
    }
}

impl<P: Probe + Tapped, E: Ends, O: Owners> Router<P, E, O> {
    /// The same where packets are told apart in another way than by the addresses of the plan.
    ///
    /// # Errors
    /// As above.
    pub fn between(
        simulation: Simulation<P>,
        hosts: Vec<Host>,
        ends: E,
        owners: O,
        largest: u32,
        pace: Pace,
    ) -> io::Result<Router<P, E, O>> {
        let poller = Poller::new()?;
        for (token, host) in (0..).zip(&hosts) {
            poller.add(&host.tun, token, Interest::Read)?;
        }
        let carrier = Carrier::new(hosts, owners, largest);
        let (told, happened, ready) = (Vec::new(), Vec::new(), Vec::new());
        let queues = KernelQueues::default();
        let (awake, clock, cases) = (Awake::new(), Clock::start(), None);
        Ok(Router { simulation, ends, carrier, queues, poller, awake, pace, clock, told, cases, happened, ready })
    }

    /// With connections recorded.
    #[must_use]
    pub fn recording(mut self, cases: Option<Cases>) -> Router<P, E, O> {
        self.cases = cases;
        self
    }

    /// With these queues of the kernel at links.
    ///
    /// # Errors
    /// If the process may have no more descriptors.
    pub fn with_queues(mut self, queues: KernelQueues) -> io::Result<Router<P, E, O>> {
        for (token, device) in (self.carrier.hosts.len() as u64..).zip(queues.devices()) {
            self.poller.add(device, token, Interest::Read)?;
        }
        self.queues = queues;
        Ok(self)
    }

    /// Goes on from time zero, which is now, to a time. `watch` is asked now and then, `every` so often at most, whether to.
    ///
    /// # Errors
    /// What a device, the poller or the ends could not go on after.
    pub fn run(&mut self, until: Time, every: Span, watch: &mut dyn FnMut(&mut Simulation<P>, &Counts) -> bool) -> io::Result<()> {
        self.clock = Clock::start();
        let (mut now, mut look) = (Time::ZERO, Time::ZERO + every);
        loop {
            self.turn(now)?;
            if now >= look {
                look = now + every;
                if !watch(&mut self.simulation, &self.carrier.counts) {
                    return Ok(());
                }
            }
            if now >= until {
                return Ok(());
            }
            self.wait(until.min(look), now)?;
            now = self.clock.now();
        }
    }

    /// Ends the run: hears what the ends have left to tell, and asks devices what they have dropped.
    ///
    /// # Errors
    /// What the ends could not do, or if `/proc` cannot be read.
    pub fn finish(mut self) -> io::Result<Driven<P, E>> {
        let now = self.simulation.now();
        self.ends.finish(&mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases))?;
        for (flow, told) in self.told.drain(..) {
            self.simulation.tell(flow, told);
        }
        let Carrier { hosts, mut counts, lateness, .. } = self.carrier;
        counts.overrun = hosts.iter().map(Host::dropped).sum::<io::Result<u64>>()?;
        let cases = self.cases.map(|cases| (cases, self.clock));
        Ok(Driven { simulation: self.simulation, ends: self.ends, counts, lateness, cases })
    }

    /// All that is to be done at a time.
    fn turn(&mut self, now: Time) -> io::Result<()> {
        self.carrier.counts.turns += 1;
        if !self.queues.is_empty() {
            self.step(now)?;
        }
        self.simulation.advance_to(now);
        self.settle(now)?;
        let mut ready = std::mem::take(&mut self.ready);
        for ready in ready.drain(..) {
            if ready.token < self.carrier.hosts.len() as u64 {
                self.read(ready.token as usize, now)?;
            } else if ready.token < FIRST_TOKEN {
                self.queues.expire(&mut self.simulation)?;
            } else {
                self.ends.ready(ready, &mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases))?;
            }
        }
        self.ready = ready;
        if self.ends.due().is_some_and(|due| due <= now) {
            self.ends.expire(&mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases))?;
        }
        self.settle(now)
    }

    /// Reads packets of a host, which enter the network.
    fn read(&mut self, host: usize, now: Time) -> io::Result<()> {
        for _ in 0..self.carrier.batches[host] {
            let foreign = match self.carrier.read(host, now)? {
                Read::Enters(foreign) => foreign,
                Read::Dropped => continue,
                Read::Nothing => {
                    self.carrier.batches[host] = 1;
                    return Ok(());
                }
            };
            self.simulation.inject(&foreign);
            self.record(host, &foreign, now)?;
            if foreign.retransmission {
                let (seat, side) = (self.carrier.slab.about(foreign.ticket).seat, self.carrier.hosts[host].side);
                self.ends.sent_again(seat, side, &mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases))?;
            }
        }
        self.carrier.batches[host] = (2 * self.carrier.batches[host]).min(BATCH);
        Ok(())
    }

    /// Records a packet that has been read of a host.
    fn record(&mut self, host: usize, foreign: &Foreign, now: Time) -> io::Result<()> {
        let Some(cases) = &mut self.cases else { return Ok(()) };
        let (side, ticket) = (self.carrier.hosts[host].side, foreign.ticket);
        let About { upper, tcp, seat, .. } = self.carrier.slab.about(ticket);
        let Some(tcp) = tcp else { return Ok(()) };
        let (bytes, upper) = (&*self.carrier.slab.bytes(ticket), upper as usize);
        let sent = Sent { seat, side, ticket, tcp, bytes, upper, payload: foreign.payload, ecn: foreign.ecn };
        let Some(port) = cases.entered(sent, now) else { return Ok(()) };
        self.ends.show(seat, port, true, &mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases))
    }

    /// Lets the engine go on to a time as far as it and the kernel's queues have something to do, at the exact time of each. A packet that
    /// comes when another has just been sent finds that one gone, as in queues of the engine.
    fn step(&mut self, now: Time) -> io::Result<()> {
        loop {
            let (due, deadline) = (self.queues.due(), self.simulation.next_deadline());
            let Some(next) = due.into_iter().chain(deadline).min().filter(|&next| next <= now) else { return Ok(()) };
            self.simulation.advance_to(next);
            if due.is_some_and(|due| due <= next) {
                self.queues.expire(&mut self.simulation)?;
            }
            self.settle(now)?;
        }
    }

    /// Deals with what the engine has told and with what it has been told since, until neither has more to say.
    fn settle(&mut self, now: Time) -> io::Result<()> {
        loop {
            for (flow, told) in self.told.drain(..) {
                self.simulation.tell(flow, told);
            }
            if let Some(tap) = self.simulation.probe_mut().tap() {
                tap.write(now, &mut self.carrier.slab)?;
            }
            self.happened.extend(self.simulation.happened());
            if self.happened.is_empty() {
                return Ok(());
            }
            let mut happened = std::mem::take(&mut self.happened);
            for happened in happened.drain(..) {
                self.deal_with(happened, now)?;
            }
            self.happened = happened;
        }
    }

    fn deal_with(&mut self, happened: Happened, now: Time) -> io::Result<()> {
        let wish = match happened {
            Happened::Arrived { ticket, at, ecn, ece, cwr, .. } => {
                let written = if self.pace == Pace::Real { self.clock.now() } else { now };
                self.carrier.lateness.add(written.since(at).picos() / 1_000);
                let About { to, tcp, seat, .. } = self.carrier.slab.about(ticket);
                let side = self.carrier.hosts[to as usize].side;
                self.carrier.write(ticket, ecn, (ece, cwr))?;
                let Some(tcp) = tcp else { return Ok(()) };
                if let Some(cases) = &mut self.cases {
                    cases.left(ticket, ecn, now);
                    if side == Side::Near {
                        self.ends.show(
                            seat,
                            tcp.ports.1,
                            false,
                            &mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases),
                        )?;
                    }
                }
                let Heard { rtt, echoes } = self.carrier.connections.left(seat, side, &tcp, now);
                self.told.extend(rtt.zip(self.carrier.owners.sender(seat, side)).map(|(rtt, flow)| (flow, Told::RoundTrip(rtt))));
                return self.ends.received(
                    seat,
                    side,
                    echoes,
                    &mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases),
                );
            }
            Happened::Lost { ticket, .. } => {
                if let Some(cases) = &mut self.cases {
                    cases.lost(ticket);
                }
                self.carrier.slab.release(ticket);
                return Ok(());
            }
            Happened::Copied { ticket } => {
                self.carrier.slab.copied(ticket);
                return Ok(());
            }
            Happened::Offered { link, ticket, ecn, .. } => {
                let packet = self.carrier.slab.bytes(ticket);
                write_ecn(packet, ecn);
                return self.queues.offer(link, ticket, packet, &mut self.simulation);
            }
            Happened::Open { flow, connection, demand, .. } => {
                let group = self.simulation.group_of(flow);
                let seat = self.carrier.owners.open(flow, group).ok_or_else(|| io::Error::other(NO_SEAT))?;
                Wish::Open { flow, seat, connection, demand }
            }
            Happened::Answer { flow, to, demand, .. } => {
                let seat = self.carrier.owners.answer(flow, to).ok_or_else(|| io::Error::other(NO_SEAT))?;
                Wish::Answer { flow, seat, to, demand }
            }
            Happened::Produce { flow, demand, .. } => {
                let (seat, side) = self.carrier.owners.of(flow).expect("a flow sends more once it has opened a connection or answered one");
                Wish::Produce { flow, seat, side, demand }
            }
        };
        self.ends.wish(wish, &mut with(now, &self.poller, &self.carrier, &mut self.told, &mut self.cases))
    }

    /// Waits for a device or a socket, until a time or what may come out of the engine next at most.
    fn wait(&mut self, until: Time, now: Time) -> io::Result<()> {
        // A queue of the kernel is to have its packets when they come to it; without one, what happens inside can wait until something comes out.
        let next = if self.queues.is_empty() { self.simulation.next_outward() } else { self.simulation.next_deadline() };
        let inside = next.map_or(until, |next| next.min(until));
        let due = self.ends.due().into_iter().chain(self.queues.due()).fold(inside, Time::min);
        if self.pace == Pace::Real {
            self.awake.wait(&mut self.poller, nanos_until(due, self.clock.now()))?;
        } else {
            self.poller.wait(Some(Duration::from_nanos(nanos_until(due, now))))?;
        }
        self.ready.extend(self.poller.ready());
        Ok(())
    }
}

const NO_SEAT: &str = "there are no addresses left: a run has 128 groups at most, with 65534 flows each that are there at one time";

fn with<'a, O>(
    now: Time,
    poller: &'a Poller,
    carrier: &'a Carrier<O>,
    told: &'a mut Vec<(u32, Told)>,
    cases: &'a mut Option<Cases>,
) -> With<'a> {
    With { now, poller, hosts: &carrier.hosts, told, cases: cases.as_mut() }
}

impl<O: Owners> Carrier<O> {
    fn new(hosts: Vec<Host>, owners: O, largest: u32) -> Carrier<O> {
        let mut doors = Vec::new();
        for (number, host) in (0..).zip(&hosts) {
            let group = host.group as usize;
            if doors.len() <= group {
                doors.resize(group + 1, [None; 2]);
            }
            doors[group][host.side as usize] = Some(number);
        }
        Carrier {
            batches: vec![1; hosts.len()],
            hosts,
            doors,
            owners,
            // A packet that is longer than it may be is cut, which its own length then contradicts.
            slab: Slab::new(largest as usize + 1),
            connections: Connections::default(),
            counts: Counts::default(),
            lateness: Lateness::default(),
        }
    }

    /// What a host has sent next.
    fn read(&mut self, host: usize, now: Time) -> io::Result<Read> {
        let (ticket, room) = self.slab.room();
        let Some(length) = self.hosts[host].tun.read(room)? else { return Ok(Read::Nothing) };
        self.counts.read += 1;
        let view = match View::of(&room[..length]) {
            Ok(view) => view,
            Err(why) => {
                self.counts.count(why);
                return Ok(Read::Dropped);
            }
        };
        let Some((foreign, about)) = self.foreign(host, &view, ticket, now) else {
            self.counts.stray += 1;
            return Ok(Read::Dropped);
        };
        self.slab.take(view.size as usize, about);
        Ok(Read::Enters(foreign))
    }

    fn foreign(&mut self, host: usize, view: &View, ticket: u32, now: Time) -> Option<(Foreign, About)> {
        let Host { group, side, .. } = self.hosts[host];
        let Owner { flow, toward, seat, side, label } = self.owners.owner(view, (group, side), now)?;
        let to = self.doors[group as usize][side.other() as usize]?;
        let tcp = match view.upper {
            Upper::Tcp(tcp) => Some(tcp),
            _ => None,
        };
        let retransmission = tcp.is_some_and(|tcp| self.connections.entered(seat, side, &tcp, view.payload, now));
        let flags = tcp.map(|tcp| tcp.flags).unwrap_or_default();
        let role = match (flags.syn(), flags.fin(), view.carries() || toward == Toward::Source) {
            (true, ..) => Role::Syn,
            (_, true, _) => Role::Fin,
            (.., true) => Role::Plain,
            _ => Role::Pure,
        };
        let foreign = Foreign {
            flow,
            toward,
            size: view.size,
            payload: if tcp.is_some() || view.ports().is_some() { view.payload } else { 0 },
            retransmission,
            ecn: view.ecn,
            rtt: self.connections.rtt(seat, side),
            label,
            role,
            ece: flags.ece(),
            cwr: flags.cwr(),
            ticket,
        };
        Some((foreign, About { to, upper: view.upper_at, tcp, seat }))
    }

    /// Gives a packet that has arrived to its host, as the path has left it.
    fn write(&mut self, ticket: u32, ecn: Ecn, echo: (bool, bool)) -> io::Result<()> {
        let About { to, upper, tcp, .. } = self.slab.about(ticket);
        let host = &self.hosts[to as usize];
        let bytes = self.slab.bytes(ticket);
        write_ecn(bytes, ecn);
        if tcp.is_some() {
            write_echo(bytes, upper as usize, echo.0, echo.1);
        }
        match host.tun.write(bytes) {
            Ok(true) => self.counts.written += 1,
            Ok(false) => self.counts.refused += 1,
            Err(why) if is_refusal(&why) => self.counts.refused += 1,
            Err(why) => return Err(why),
        }
        self.slab.release(ticket);
        Ok(())
    }
}

/// Whether a host's kernel has not taken one packet, and may take the next: the bytes are none to it, its device is down for now, or it has no
/// memory at the moment.
fn is_refusal(why: &io::Error) -> bool {
    matches!(why.raw_os_error(), Some(libc::EINVAL | libc::EIO | libc::ENETDOWN | libc::ENOBUFS | libc::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Namespace;
    use crate::sys::tun::Tun;

    #[test]
    fn a_device_that_is_down_refuses_packets_and_ends_nothing() {
        let made = Namespace::make().and_then(|namespace| namespace.inside(|| Tun::make("way")));
        let Ok(down) = made else { return println!("skipped: {made:?}") };
        let packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let why = down.write(&packet).unwrap_err();
        assert!(is_refusal(&why), "{why}");
        assert!(!is_refusal(&io::Error::from_raw_os_error(libc::EBADF)));
    }
}
