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

use std::io;

use ecnlab_queue::KernelQueue as Spec;
use ecnlab_sim::{Probe, Simulation};
use ecnlab_units::{Ecn, Rate, Time};

pub use self::qdisc::Qdisc;
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
    /// The namespace lives as long as its device.
    _namespace: Namespace,
    /// When the packet that was read last has been sent: the link is busy until then.
    busy: Option<Time>,
}

/// All of a network.
#[derive(Debug, Default)]
pub struct KernelQueues {
    queues: Vec<KernelQueue>,
    /// Tickets of packets in queues, by their numbers, and the numbers that are free.
    waiting: Vec<Option<(u32, u32)>>,
    free: Vec<u16>,
    dropped: Vec<u16>,
    buffer: Vec<u8>,
}

impl KernelQueues {
    /// A queue at a link of this rate.
    ///
    /// # Errors
    /// If the kernel has no such discipline or refuses its parameters.
    pub fn add(&mut self, link: u32, spec: &Spec, rate: Rate) -> io::Result<()> {
        let wrong =
            |told: Vec<(String, String)>| told.into_iter().map(|(name, what)| format!("{name}: {what}")).collect::<Vec<_>>().join("; ");
        let qdisc = Qdisc::read(spec, rate.bps() as f64).map_err(|told| io::Error::new(io::ErrorKind::InvalidInput, wrong(told)))?;
        let namespace = Namespace::make()?;
        let (tun, socket) = namespace.inside(|| furnish(&qdisc, &spec.name))?;
        self.queues.push(KernelQueue { link, rate, tun, socket, _namespace: namespace, busy: None });
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
        let number = self.number(link, ticket)?;
        self.queues[at].socket.send(number, packet)?;
        self.hear_of_drops(simulation)?;
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
            if let Some((_, ticket)) = self.forget(number) {
                simulation.released(link, ticket, ecn);
            }
        }
        self.hear_of_drops(simulation)
    }

    fn hear_of_drops<P: Probe>(&mut self, simulation: &mut Simulation<P>) -> io::Result<()> {
        packet_socket::dropped(&mut self.dropped)?;
        let dropped = std::mem::take(&mut self.dropped);
        for &number in &dropped {
            if let Some((link, ticket)) = self.forget(number) {
                simulation.dropped(link, ticket);
            }
        }
        self.dropped = dropped;
        Ok(())
    }

    /// A number for a packet that comes to a queue.
    fn number(&mut self, link: u32, ticket: u32) -> io::Result<u16> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.waiting.push(None);
                u16::try_from(self.waiting.len() - 1)
                    .map_err(|_| io::Error::other("more than 65536 packets wait in queues of the kernel"))?
            }
        };
        self.waiting[usize::from(number)] = Some((link, ticket));
        Ok(number)
    }

    fn forget(&mut self, number: u16) -> Option<(u32, u32)> {
        let gone = self.waiting.get_mut(usize::from(number))?.take();
        if gone.is_some() {
            self.free.push(number);
        }
        gone
    }
}

/// Makes the device and puts the discipline at it, in the namespace that the thread is in.
fn furnish(qdisc: &Qdisc, name: &str) -> io::Result<(Tun, PacketSocket)> {
    const TO_ROOT: u32 = u32::MAX;
    const FIRST_HANDLE: u32 = 1 << 16;
    // A kernel that speaks IPv6 would look for routers over the device.
    for name in ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"] {
        settings::set(name, "1")?;
    }
    let tun = Tun::with_header(DEVICE)?;
    let device = index(DEVICE)?;
    let mut netlink = Netlink::open()?;
    // The device's own queue is to hold nothing but what it was asked for.
    netlink.ask(set_device(DEVICE, device, Device { up: true, mtu: Some(65_535), queue: Some(1000), no_offload: true }))?;
    let mut add = |qdisc: &Qdisc, handle: u32, parent: u32| {
        let mut fixed = vec![0; 4];
        fixed.extend([device, handle, parent, 0].iter().flat_map(|number| number.to_ne_bytes()));
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        netlink.ask(qdisc.written(Message::new(libc::RTM_NEWQDISC, flags, &fixed, format!("the kernel's queue \"{name}\""))))
    };
    match qdisc.parent() {
        None => add(qdisc, FIRST_HANDLE, TO_ROOT)?,
        Some(parent) => {
            add(&parent, FIRST_HANDLE, TO_ROOT)?;
            add(qdisc, 2 * FIRST_HANDLE, FIRST_HANDLE + 1)?;
        }
    }
    Ok((tun, PacketSocket::open(device as i32)?))
}
