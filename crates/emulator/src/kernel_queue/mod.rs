//! Queueing disciplines of the kernel as queues of links, for comparison with those of the engine under the same packets and times.
//!
//! ```text
//!     engine  -- Offered -->  packet socket -> [ discipline ] -> device "queue"  -- read when the link is free -->  released
//!                                                   \--> dropped
//! ```
//!
//! The discipline is at a device that sends one packet on each request (a change in the UML kernel). It therefore releases its packets at
//! the exact times at which the link is free, as a queue of the engine does, and needs no shaper. Each packet has a number, which the
//! device returns with the packet, and the kernel with a drop. Only the UML kernel supports such queues.

mod arguments;
mod qdisc;
mod statistics;

use std::io;

use ecnlab_queue::{KernelQdisc as Spec, SignalCause};
use ecnlab_sim::{Probe, Simulation};
use ecnlab_units::{Ecn, Rate, Time};
use ecnlab_wire::ParsedHeaders;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

use self::arguments::QdiscProblems;
use self::qdisc::OverflowEvidence;
pub use self::qdisc::Qdisc;
use self::statistics::QdiscStatistics;
use crate::sys::netlink::{DeviceSettings, Netlink, NetlinkRequest, index, set_device_request};
use crate::sys::packet_socket::{self, PacketSocket};
use crate::sys::{Namespace, Tun, sysctl};

/// Name of such a device in the kernel.
const QUEUE_DEVICE: &str = "queue";
/// Header before each packet read from the device: its number in the flags, and the protocol (`struct tun_pi`).
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
    /// The namespace exists as long as its device.
    _namespace: Namespace,
    /// End of the transmission of the last packet; the link is busy until then.
    busy_until: Option<Time>,
}

/// All kernel queues of a network.
#[derive(Debug, Default)]
pub struct KernelQueues {
    queues: Vec<KernelQueue>,
    /// Packets in queues by their numbers, and the free numbers.
    waiting: Vec<Option<KernelQueuedPacket>>,
    free: Vec<u16>,
    dropped: Vec<u16>,
    buffer: Vec<u8>,
}

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
struct KernelQueuedPacket {
    /// Index of the queue.
    at: usize,
    handle: u32,
    /// Number of copies in the queue: more than one if the queue has copied it.
    references: u32,
}

impl KernelQueues {
    /// Adds a queue at a link of this rate, whose packets have at most this number of bytes.
    ///
    /// # Errors
    /// If the kernel has no such discipline or refuses its parameters.
    pub fn add(&mut self, link: u32, spec: &Spec, rate: Rate, max_packet_bytes: u32) -> io::Result<()> {
        let message =
            |problems: QdiscProblems| problems.into_iter().map(|(name, what)| format!("{name}: {what}")).collect::<Vec<_>>().join("; ");
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

    /// The next time at which a link is free whose queue may have a packet.
    pub fn next_transmission(&self) -> Option<Time> {
        self.queues.iter().filter_map(|queue| queue.busy_until).min()
    }

    /// Enqueues a packet at the queue of a link.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn enqueue<P: Probe>(&mut self, link: u32, handle: u32, packet: &[u8], simulation: &mut Simulation<P>) -> io::Result<()> {
        let at = self.queues.iter().position(|queue| queue.link == link);
        let at = at.ok_or_else(|| io::Error::other(format!("link {link} has no queue of a kernel")))?;
        let number = self.assign_number(at, handle)?;
        let is_refused = self.queues[at].socket.send(number, packet)?;
        self.report_copies_at_enqueue(at, number, simulation)?;
        let came = EnqueueOutcome { at, is_refused, is_busy: self.queues[at].busy_until.is_some() };
        self.report_drops(Some(came), simulation)?;
        if self.queues[at].busy_until.is_none() { self.transmit_next_packet(at, simulation) } else { Ok(()) }
    }

    /// Dequeues at links that are free, or whose queue now has a packet. The time is that of the engine.
    ///
    /// # Errors
    /// If a system call fails.
    pub fn dequeue_at_free_links<P: Probe>(&mut self, simulation: &mut Simulation<P>) -> io::Result<()> {
        for at in 0..self.queues.len() {
            if self.queues[at].busy_until.is_none_or(|busy| busy <= simulation.now()) {
                self.transmit_next_packet(at, simulation)?;
            }
        }
        Ok(())
    }

    /// Transmits the next packet of a queue, if there is one.
    fn transmit_next_packet<P: Probe>(&mut self, at: usize, simulation: &mut Simulation<P>) -> io::Result<()> {
        let queue = &mut self.queues[at];
        self.buffer.resize(TUN_HEADER_BYTES + (1 << 16), 0);
        queue.busy_until = None;
        let length = queue.tun.read(&mut self.buffer)?;
        if let Some(length) = length.filter(|&length| length > TUN_HEADER_BYTES) {
            let number = u16::from_ne_bytes([self.buffer[0], self.buffer[1]]);
            let packet = &self.buffer[TUN_HEADER_BYTES..length];
            let ecn = ParsedHeaders::parse(packet).map_or(Ecn::NotEct, |view| view.ecn);
            queue.busy_until = Some(simulation.now() + queue.rate.transmission_time((length - TUN_HEADER_BYTES) as u32));
            let link = queue.link;
            if let Some(KernelQueuedPacket { handle, .. }) = self.release_packet_reference(number) {
                simulation.on_kernel_dequeue(link, handle, ecn);
            }
        }
        self.report_drops(None, simulation)
    }

    /// A packet that has just arrived may have several copies.
    fn report_copies_at_enqueue<P: Probe>(&mut self, at: usize, number: u16, simulation: &mut Simulation<P>) -> io::Result<()> {
        let queue = &mut self.queues[at];
        if !queue.makes_copies {
            return Ok(());
        }
        // No copy of a dropped packet remains: the discipline drops a packet with copies as one.
        let came = queue.statistics.enqueued_growth()?;
        if let Some(waits) = self.waiting[usize::from(number)].as_mut() {
            for _ in 1..came {
                waits.references += 1;
                simulation.on_kernel_duplicate(queue.link, waits.handle);
            }
        }
        Ok(())
    }

    /// Reports the drops since the last call. `came` is the packet that has just arrived at one of the queues, if any.
    fn report_drops<P: Probe>(&mut self, came: Option<EnqueueOutcome>, simulation: &mut Simulation<P>) -> io::Result<()> {
        packet_socket::take_dropped_packet_numbers(&mut self.dropped)?;
        let dropped = std::mem::take(&mut self.dropped);
        // A discipline drops for a full buffer when a packet arrives, and by its AQM then or later. The first drops of a call are therefore
        // those of the full buffer.
        let mut overflows: Vec<(usize, u32)> = Vec::new();
        for &number in &dropped {
            let Some(KernelQueuedPacket { at, handle, .. }) = self.release_packet_reference(number) else { continue };
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

    /// A number for a packet that arrives at a queue.
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

    /// Records the departure of one copy of a packet.
    fn release_packet_reference(&mut self, number: u16) -> Option<KernelQueuedPacket> {
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

/// A packet that has just arrived at a queue.
#[derive(Clone, Copy, Debug)]
struct EnqueueOutcome {
    at: usize,
    /// Whether the kernel has reported a drop to the sender.
    is_refused: bool,
    /// Whether the link was busy, so that no packet has left since.
    is_busy: bool,
}

impl KernelQueue {
    /// Number of drops since the last call that were due to a full buffer.
    fn overflow_drops(&mut self, came: Option<EnqueueOutcome>) -> io::Result<u32> {
        Ok(match self.overflow {
            OverflowEvidence::Always => u32::MAX,
            OverflowEvidence::Refused => came.map_or(0, |came| u32::from(came.is_refused)),
            OverflowEvidence::AtArrival => came.filter(|came| came.is_busy).map_or(0, |_| u32::MAX),
            OverflowEvidence::Counted(at) => self.statistics.app_counter_growth(at)?,
            OverflowEvidence::Overlimits => self.statistics.overlimits_growth()?,
        })
    }
}

/// Creates the device and its discipline in the namespace of the thread.
fn create_queue_device(qdisc: &Qdisc, name: &str, max_packet_bytes: u32) -> io::Result<(Tun, PacketSocket, QdiscStatistics)> {
    // A kernel with IPv6 would search for routers over the device.
    for name in ["net.ipv6.conf.all.disable_ipv6", "net.ipv6.conf.default.disable_ipv6"] {
        sysctl::set(name, "1")?;
    }
    let tun = Tun::create_with_header(QUEUE_DEVICE)?;
    let device = index(QUEUE_DEVICE)?;
    let mut netlink = Netlink::open()?;
    // The device's own queue holds only requested packets. Disciplines regard its MTU as a full packet: CoDel and PIE do nothing below that
    // backlog, and fair queues give each flow that quantum.
    netlink.request(set_device_request(
        QUEUE_DEVICE,
        device,
        DeviceSettings { up: true, mtu: Some(max_packet_bytes), queue: Some(1000), no_offload: true },
    ))?;
    let messages = qdisc.messages();
    for qdisc_message in &messages {
        let mut message = TcMessage::default();
        (message.header.index, message.header.handle, message.header.parent) =
            (device as i32, qdisc_message.handle.into(), qdisc_message.parent.into());
        message.attributes = qdisc_message.attributes();
        let message = if qdisc_message.is_class {
            RouteNetlinkMessage::NewTrafficClass(message)
        } else {
            RouteNetlinkMessage::NewQueueDiscipline(message)
        };
        netlink.request(NetlinkRequest::create_or_replace(message, format!("the kernel's queue \"{name}\"")))?;
    }
    let innermost = messages.iter().rfind(|piece| !piece.is_class).map_or(0, |piece| piece.handle);
    Ok((tun, PacketSocket::open(device as i32)?, QdiscStatistics::new(netlink, device, innermost)))
}
