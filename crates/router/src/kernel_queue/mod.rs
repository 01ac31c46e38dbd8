//! Queueing disciplines of the kernel as queues of links: rivals of ours, in front of the same packets at the same times.
//!
//! ```text
//!     engine  -- Offered -->  packet socket -> [ discipline ] -> device "queue"  -- read when the link is free -->  released
//!                                                   \--> dropped
//! ```
//!
//! The discipline stands at a device that takes one packet at a time and the next when it is asked (a change in the box's kernel), so it
//! gives its packets at the exact times at which the link is free, as one of ours does, and needs no shaper. Each packet carries a number,
//! which the device tells as it comes out, and the kernel when it is dropped. That is why such queues are for the box alone.

mod qdisc;
mod statistics;

use std::io;

use ecnlab_queue::{Cause, KernelQueue as Spec};
use ecnlab_sim::{Probe, Simulation};
use ecnlab_units::{Ecn, Rate, Time};

pub use self::qdisc::Qdisc;
use self::qdisc::{Overflow, Piece};
use self::statistics::Statistics;
use crate::packet::View;
use crate::sys::netlink::{Device, Message, Netlink, index, set_device};
use crate::sys::packet_socket::{self, PacketSocket};
use crate::sys::{Namespace, Tun, settings};

/// The kernel knows by this name what such a device is for.
const DEVICE: &str = "queue";
/// Before a packet that is read: its number in the flags, and the protocol (`struct tun_pi`).
const HEADER: usize = 4;

/// A queue of the kernel at a link.
#[derive(Debug)]
pub struct KernelQueue {
    link: u32,
    rate: Rate,
    tun: Tun,
    socket: PacketSocket,
    statistics: Statistics,
    overflow: Overflow,
    copies: bool,
    /// The namespace lives as long as its device.
    _namespace: Namespace,
    /// When the packet that was read last has been sent: the link is busy until then.
    busy: Option<Time>,
}

/// All of a network.
#[derive(Debug, Default)]
pub struct KernelQueues {
    queues: Vec<KernelQueue>,
    /// Packets in queues by their numbers, and the numbers that are free.
    waiting: Vec<Option<Waits>>,
    free: Vec<u16>,
    dropped: Vec<u16>,
    buffer: Vec<u8>,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
struct Waits {
    /// The queue, by its place.
    at: usize,
    ticket: u32,
    /// How often it is there: more than once where the queue has made copies.
    times: u32,
}

impl KernelQueues {
    /// A queue at a link of this rate, whose packets have this many bytes at most.
    ///
    /// # Errors
    /// If the kernel has no such discipline or refuses its parameters.
    pub fn add(&mut self, link: u32, spec: &Spec, rate: Rate, largest: u32) -> io::Result<()> {
        let wrong =
            |told: Vec<(String, String)>| told.into_iter().map(|(name, what)| format!("{name}: {what}")).collect::<Vec<_>>().join("; ");
        let qdisc = Qdisc::read(spec, rate.bps() as f64).map_err(|told| io::Error::new(io::ErrorKind::InvalidInput, wrong(told)))?;
        let namespace = Namespace::make()?;
        let (tun, socket, statistics) = namespace.inside(|| furnish(&qdisc, &spec.name, largest))?;
        let (overflow, copies) = (qdisc.overflow(), qdisc.copies());
        self.queues.push(KernelQueue { link, rate, tun, socket, statistics, overflow, copies, _namespace: namespace, busy: None });
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// The devices, in the order in which queues were added.
    pub fn devices(&self) -> impl Iterator<Item = &Tun> {
        self.queues.iter().map(|queue| &queue.tun)
    }

    /// When a link is free next whose queue may have a packet then.
    pub fn due(&self) -> Option<Time> {
        self.queues.iter().filter_map(|queue| queue.busy).min()
    }

    /// A packet comes to the queue of a link.
    ///
    /// # Errors
    /// If the kernel fails it.
    pub fn offer<P: Probe>(&mut self, link: u32, ticket: u32, packet: &[u8], simulation: &mut Simulation<P>) -> io::Result<()> {
        let at = self.queues.iter().position(|queue| queue.link == link);
        let at = at.ok_or_else(|| io::Error::other(format!("link {link} has no queue of a kernel")))?;
        let number = self.number(at, ticket)?;
        let is_refused = self.queues[at].socket.send(number, packet)?;
        self.hear_of_copies(at, number, simulation)?;
        let came = Came { at, is_refused, is_busy: self.queues[at].busy.is_some() };
        self.hear_of_drops(Some(came), simulation)?;
        if self.queues[at].busy.is_none() { self.take(at, simulation) } else { Ok(()) }
    }

    /// A link is free, or a queue that had no packet to give has one now: the engine's time is when that is so.
    ///
    /// # Errors
    /// If the kernel fails it.
    pub fn expire<P: Probe>(&mut self, simulation: &mut Simulation<P>) -> io::Result<()> {
        for at in 0..self.queues.len() {
            if self.queues[at].busy.is_none_or(|busy| busy <= simulation.now()) {
                self.take(at, simulation)?;
            }
        }
        Ok(())
    }

    /// The next packet of a queue goes onto its link, if there is one.
    fn take<P: Probe>(&mut self, at: usize, simulation: &mut Simulation<P>) -> io::Result<()> {
        let queue = &mut self.queues[at];
        self.buffer.resize(HEADER + (1 << 16), 0);
        queue.busy = None;
        let length = queue.tun.read(&mut self.buffer)?;
        if let Some(length) = length.filter(|&length| length > HEADER) {
            let number = u16::from_ne_bytes([self.buffer[0], self.buffer[1]]);
            let packet = &self.buffer[HEADER..length];
            let ecn = View::of(packet).map_or(Ecn::NotEct, |view| view.ecn);
            queue.busy = Some(simulation.now() + queue.rate.transmission((length - HEADER) as u32));
            let link = queue.link;
            if let Some(Waits { ticket, .. }) = self.forget(number) {
                simulation.released(link, ticket, ecn);
            }
        }
        self.hear_of_drops(None, simulation)
    }

    /// A packet that has just come may be there more than once.
    fn hear_of_copies<P: Probe>(&mut self, at: usize, number: u16, simulation: &mut Simulation<P>) -> io::Result<()> {
        let queue = &mut self.queues[at];
        if !queue.copies {
            return Ok(());
        }
        // Of a packet that is dropped there is no copy left: the discipline drops one that came twice as one.
        let came = queue.statistics.more_came()?;
        if let Some(waits) = self.waiting[usize::from(number)].as_mut() {
            for _ in 1..came {
                waits.times += 1;
                simulation.copied(queue.link, waits.ticket);
            }
        }
        Ok(())
    }

    /// What queues have dropped since this was asked last; `came` is the packet that has just come to one of them, if any has.
    fn hear_of_drops<P: Probe>(&mut self, came: Option<Came>, simulation: &mut Simulation<P>) -> io::Result<()> {
        packet_socket::dropped(&mut self.dropped)?;
        let dropped = std::mem::take(&mut self.dropped);
        // A discipline drops for want of room when a packet comes, and by its law then or later: so the first of them went for want of room.
        let mut for_room: Vec<(usize, u32)> = Vec::new();
        for &number in &dropped {
            let Some(Waits { at, ticket, .. }) = self.forget(number) else { continue };
            let place = match for_room.iter().position(|(queue, _)| *queue == at) {
                Some(place) => place,
                None => {
                    for_room.push((at, self.queues[at].went_for_room(came.filter(|came| came.at == at))?));
                    for_room.len() - 1
                }
            };
            let left = &mut for_room[place].1;
            let cause = if *left > 0 { Cause::Overflow } else { Cause::Early };
            *left = left.saturating_sub(1);
            simulation.dropped(self.queues[at].link, ticket, cause);
        }
        self.dropped = dropped;
        Ok(())
    }

    /// A number for a packet that comes to a queue.
    fn number(&mut self, at: usize, ticket: u32) -> io::Result<u16> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.waiting.push(None);
                u16::try_from(self.waiting.len() - 1)
                    .map_err(|_| io::Error::other("more than 65536 packets wait in queues of the kernel"))?
            }
        };
        self.waiting[usize::from(number)] = Some(Waits { at, ticket, times: 1 });
        Ok(number)
    }

    /// A packet has left, once.
    fn forget(&mut self, number: u16) -> Option<Waits> {
        let place = self.waiting.get_mut(usize::from(number))?;
        let waits = place.as_mut()?;
        waits.times -= 1;
        let gone = *waits;
        if gone.times == 0 {
            *place = None;
            self.free.push(number);
        }
        Some(gone)
    }
}

/// A packet that has just come to a queue.
#[derive(Clone, Copy, Debug)]
struct Came {
    at: usize,
    /// Whether the kernel has told the sender that it dropped it.
    is_refused: bool,
    /// Whether the link was sending, so that no packet has left since.
    is_busy: bool,
}

impl KernelQueue {
    /// How many of the packets that were dropped since this was asked last went for want of room.
    fn went_for_room(&mut self, came: Option<Came>) -> io::Result<u32> {
        Ok(match self.overflow {
            Overflow::Always => u32::MAX,
            Overflow::Refused => came.map_or(0, |came| u32::from(came.is_refused)),
            Overflow::AtArrival => came.filter(|came| came.is_busy).map_or(0, |_| u32::MAX),
            Overflow::Counted(at) => self.statistics.more_of(at)?,
            Overflow::Overlimits => self.statistics.more_overlimits()?,
        })
    }
}

/// Makes the device and puts the discipline at it, in the namespace that the thread is in.
fn furnish(qdisc: &Qdisc, name: &str, largest: u32) -> io::Result<(Tun, PacketSocket, Statistics)> {
    // A kernel that speaks IPv6 would look for routers over the device.
    for name in ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"] {
        settings::set(name, "1")?;
    }
    let tun = Tun::with_header(DEVICE)?;
    let device = index(DEVICE)?;
    let mut netlink = Netlink::open()?;
    // The device's own queue is to hold nothing but what it was asked for. Its MTU is a full packet to disciplines: CoDel and PIE do nothing
    // while less waits, and fair queues give each flow as much in turn.
    netlink.ask(set_device(DEVICE, device, Device { up: true, mtu: Some(largest), queue: Some(1000), no_offload: true }))?;
    let pieces = qdisc.pieces();
    for Piece { is_class, handle, parent, options } in &pieces {
        let mut fixed = vec![0; 4];
        fixed.extend([device, *handle, *parent, 0].iter().flat_map(|number| number.to_ne_bytes()));
        let kind = if *is_class { libc::RTM_NEWTCLASS } else { libc::RTM_NEWQDISC };
        let request = Message::new(kind, libc::NLM_F_CREATE | libc::NLM_F_REPLACE, &fixed, format!("the kernel's queue \"{name}\""));
        netlink.ask(options.written(request))?;
    }
    let inmost = pieces.iter().rfind(|piece| !piece.is_class).map_or(0, |piece| piece.handle);
    Ok((tun, PacketSocket::open(device as i32)?, Statistics::of(netlink, device, inmost)))
}
