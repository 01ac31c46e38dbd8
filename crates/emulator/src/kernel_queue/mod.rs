//! Queueing disciplines of the kernel as queues of links: rivals of ours, in front of the same packets at the same times.
//!
//! ```text
//!     engine  -- Offered -->  packet socket -> [ discipline ] -> device "queue"  -- read when the link is free -->  released
//!                                                   \--> dropped
//! ```
//!
//! The discipline stands at a device that takes one packet at a time and the next when it is asked (a change in the UML kernel), so it
//! gives its packets at the exact times at which the link is free, as one of ours does, and needs no shaper. Each packet carries a number,
//! which the device tells as it comes out, and the kernel when it is dropped. That is why such queues are for the UML kernel alone.

mod qdisc;
mod statistics;

use std::io;

use ecnlab_queue::{KernelQdisc as Spec, SignalCause};
use ecnlab_sim::{Probe, Simulation};
use ecnlab_units::{Ecn, Rate, Time};
use ecnlab_wire::PacketView;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

pub use self::qdisc::Qdisc;
use self::qdisc::{OverflowEvidence, QdiscMessage};
use self::statistics::QdiscStatistics;
use crate::sys::netlink::{DeviceSettings, Netlink, NetlinkRequest, index, set_device_request};
use crate::sys::packet_socket::{self, PacketSocket};
use crate::sys::{Namespace, Tun, sysctl};

/// The kernel knows by this name what such a device is for.
const QUEUE_DEVICE: &str = "queue";
/// Before a packet that is read: its number in the flags, and the protocol (`struct tun_pi`).
const TUN_HEADER_BYTES: usize = 4;

/// A queue of the kernel at a link.
#[derive(Debug)]
pub struct KernelQueue {
    link: u32,
    rate: Rate,
    tun: Tun,
    socket: PacketSocket,
    statistics: QdiscStatistics,
    overflow: OverflowEvidence,
    makes_copies: bool,
    /// The namespace lives as long as its device.
    _namespace: Namespace,
    /// When the packet that was read last has been sent: the link is busy until then.
    busy_until: Option<Time>,
}

/// All of a network.
#[derive(Debug, Default)]
pub struct KernelQueues {
    queues: Vec<KernelQueue>,
    /// Packets in queues by their numbers, and the numbers that are free.
    waiting: Vec<Option<KernelQueuedPacket>>,
    free: Vec<u16>,
    dropped: Vec<u16>,
    buffer: Vec<u8>,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
struct KernelQueuedPacket {
    /// The queue, by its place.
    at: usize,
    handle: u32,
    /// How often it is there: more than once where the queue has made copies.
    references: u32,
}

impl KernelQueues {
    /// A queue at a link of this rate, whose packets have this many bytes at most.
    ///
    /// # Errors
    /// If the kernel has no such discipline or refuses its parameters.
    pub fn add(&mut self, link: u32, spec: &Spec, rate: Rate, max_packet_bytes: u32) -> io::Result<()> {
        let message = |problems: Vec<(String, String)>| {
            problems.into_iter().map(|(name, what)| format!("{name}: {what}")).collect::<Vec<_>>().join("; ")
        };
        let qdisc =
            Qdisc::read(spec, rate.bps() as f64).map_err(|problems| io::Error::new(io::ErrorKind::InvalidInput, message(problems)))?;
        let namespace = Namespace::create()?;
        let (tun, socket, statistics) = namespace.run_inside(|| create_queue_device(&qdisc, &spec.name, max_packet_bytes))?;
        let (overflow, makes_copies) = (qdisc.overflow_evidence(), qdisc.makes_copies());
        self.queues.push(KernelQueue {
            link,
            rate,
            tun,
            socket,
            statistics,
            overflow,
            makes_copies,
            _namespace: namespace,
            busy_until: None,
        });
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
    pub fn next_transmission(&self) -> Option<Time> {
        self.queues.iter().filter_map(|queue| queue.busy_until).min()
    }

    /// A packet comes to the queue of a link.
    ///
    /// # Errors
    /// If the kernel fails it.
    pub fn enqueue<P: Probe>(&mut self, link: u32, handle: u32, packet: &[u8], simulation: &mut Simulation<P>) -> io::Result<()> {
        let at = self.queues.iter().position(|queue| queue.link == link);
        let at = at.ok_or_else(|| io::Error::other(format!("link {link} has no queue of a kernel")))?;
        let number = self.assign_number(at, handle)?;
        let is_refused = self.queues[at].socket.send(number, packet)?;
        self.report_copies(at, number, simulation)?;
        let came = EnqueuedPacket { at, is_refused, is_busy: self.queues[at].busy_until.is_some() };
        self.report_drops(Some(came), simulation)?;
        if self.queues[at].busy_until.is_none() { self.dequeue(at, simulation) } else { Ok(()) }
    }

    /// A link is free, or a queue that had no packet to give has one now: the engine's time is when that is so.
    ///
    /// # Errors
    /// If the kernel fails it.
    pub fn dequeue_due<P: Probe>(&mut self, simulation: &mut Simulation<P>) -> io::Result<()> {
        for at in 0..self.queues.len() {
            if self.queues[at].busy_until.is_none_or(|busy| busy <= simulation.now()) {
                self.dequeue(at, simulation)?;
            }
        }
        Ok(())
    }

    /// The next packet of a queue goes onto its link, if there is one.
    fn dequeue<P: Probe>(&mut self, at: usize, simulation: &mut Simulation<P>) -> io::Result<()> {
        let queue = &mut self.queues[at];
        self.buffer.resize(TUN_HEADER_BYTES + (1 << 16), 0);
        queue.busy_until = None;
        let length = queue.tun.read(&mut self.buffer)?;
        if let Some(length) = length.filter(|&length| length > TUN_HEADER_BYTES) {
            let number = u16::from_ne_bytes([self.buffer[0], self.buffer[1]]);
            let packet = &self.buffer[TUN_HEADER_BYTES..length];
            let ecn = PacketView::parse(packet).map_or(Ecn::NotEct, |view| view.ecn);
            queue.busy_until = Some(simulation.now() + queue.rate.transmission_time((length - TUN_HEADER_BYTES) as u32));
            let link = queue.link;
            if let Some(KernelQueuedPacket { handle, .. }) = self.release_number(number) {
                simulation.on_kernel_dequeue(link, handle, ecn);
            }
        }
        self.report_drops(None, simulation)
    }

    /// A packet that has just come may be there more than once.
    fn report_copies<P: Probe>(&mut self, at: usize, number: u16, simulation: &mut Simulation<P>) -> io::Result<()> {
        let queue = &mut self.queues[at];
        if !queue.makes_copies {
            return Ok(());
        }
        // Of a packet that is dropped there is no copy left: the discipline drops one that came twice as one.
        let came = queue.statistics.enqueued_growth()?;
        if let Some(waits) = self.waiting[usize::from(number)].as_mut() {
            for _ in 1..came {
                waits.references += 1;
                simulation.on_kernel_duplicate(queue.link, waits.handle);
            }
        }
        Ok(())
    }

    /// What queues have dropped since this was asked last; `came` is the packet that has just come to one of them, if any has.
    fn report_drops<P: Probe>(&mut self, came: Option<EnqueuedPacket>, simulation: &mut Simulation<P>) -> io::Result<()> {
        packet_socket::take_dropped_packet_numbers(&mut self.dropped)?;
        let dropped = std::mem::take(&mut self.dropped);
        // A discipline drops because the queue was full when a packet comes, and by its law then or later: so the first of them went because the queue was full.
        let mut overflows: Vec<(usize, u32)> = Vec::new();
        for &number in &dropped {
            let Some(KernelQueuedPacket { at, handle, .. }) = self.release_number(number) else { continue };
            let place = match overflows.iter().position(|(queue, _)| *queue == at) {
                Some(place) => place,
                None => {
                    overflows.push((at, self.queues[at].overflow_drops(came.filter(|came| came.at == at))?));
                    overflows.len() - 1
                }
            };
            let left = &mut overflows[place].1;
            let cause = if *left > 0 { SignalCause::Overflow } else { SignalCause::Early };
            *left = left.saturating_sub(1);
            simulation.on_kernel_drop(self.queues[at].link, handle, cause);
        }
        self.dropped = dropped;
        Ok(())
    }

    /// A number for a packet that comes to a queue.
    fn assign_number(&mut self, at: usize, handle: u32) -> io::Result<u16> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.waiting.push(None);
                u16::try_from(self.waiting.len() - 1)
                    .map_err(|_| io::Error::other("more than 65536 packets wait in queues of the kernel"))?
            }
        };
        self.waiting[usize::from(number)] = Some(KernelQueuedPacket { at, handle, references: 1 });
        Ok(number)
    }

    /// A packet has left, once.
    fn release_number(&mut self, number: u16) -> Option<KernelQueuedPacket> {
        let place = self.waiting.get_mut(usize::from(number))?;
        let waits = place.as_mut()?;
        waits.references -= 1;
        let gone = *waits;
        if gone.references == 0 {
            *place = None;
            self.free.push(number);
        }
        Some(gone)
    }
}

/// A packet that has just come to a queue.
#[derive(Clone, Copy, Debug)]
struct EnqueuedPacket {
    at: usize,
    /// Whether the kernel has told the sender that it dropped it.
    is_refused: bool,
    /// Whether the link was sending, so that no packet has left since.
    is_busy: bool,
}

impl KernelQueue {
    /// How many of the packets that were dropped since this was asked last went because the queue was full.
    fn overflow_drops(&mut self, came: Option<EnqueuedPacket>) -> io::Result<u32> {
        Ok(match self.overflow {
            OverflowEvidence::Always => u32::MAX,
            OverflowEvidence::Refused => came.map_or(0, |came| u32::from(came.is_refused)),
            OverflowEvidence::AtArrival => came.filter(|came| came.is_busy).map_or(0, |_| u32::MAX),
            OverflowEvidence::RowPolicy(at) => self.statistics.app_counter_growth(at)?,
            OverflowEvidence::Overlimits => self.statistics.overlimits_growth()?,
        })
    }
}

/// Makes the device and puts the discipline at it, in the namespace that the thread is in.
fn create_queue_device(qdisc: &Qdisc, name: &str, max_packet_bytes: u32) -> io::Result<(Tun, PacketSocket, QdiscStatistics)> {
    // A kernel that speaks IPv6 would look for routers over the device.
    for name in ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"] {
        sysctl::set(name, "1")?;
    }
    let tun = Tun::create_with_header(QUEUE_DEVICE)?;
    let device = index(QUEUE_DEVICE)?;
    let mut netlink = Netlink::open()?;
    // The device's own queue is to hold nothing but what it was asked for. Its MTU is a full packet to disciplines: CoDel and PIE do nothing
    // while less waits, and fair queues give each flow as much in turn.
    netlink.request(set_device_request(
        QUEUE_DEVICE,
        device,
        DeviceSettings { up: true, mtu: Some(max_packet_bytes), queue: Some(1000), no_offload: true },
    ))?;
    let messages = qdisc.messages();
    for QdiscMessage { is_class, handle, parent, options } in &messages {
        let mut message = TcMessage::default();
        (message.header.index, message.header.handle, message.header.parent) = (device as i32, (*handle).into(), (*parent).into());
        message.attributes = options.attributes();
        let message =
            if *is_class { RouteNetlinkMessage::NewTrafficClass(message) } else { RouteNetlinkMessage::NewQueueDiscipline(message) };
        netlink.request(NetlinkRequest::create_or_replace(message, format!("the kernel's queue \"{name}\"")))?;
    }
    let innermost = messages.iter().rfind(|piece| !piece.is_class).map_or(0, |piece| piece.handle);
    Ok((tun, PacketSocket::open(device as i32)?, QdiscStatistics::new(netlink, device, innermost)))
}
