//! Writes the packets of hosts into a pcapng file, byte for byte, as they are before each link and behind it.
//!
//! A [`Tap`] is a probe: it hears from the engine which packet passed where, at the engine's exact time and with the marks that it has
//! there, and takes its bytes from those that the router holds. Behind its queue a packet is seen when its transmission begins.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io::{self, Write};

use ecnlab_sim::{LinkSpec, Packet, PacketId, Probe, Recorded, Recorder, TraceFormat, TraceSpec, Version};
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::PcapngWriter;

use crate::packet::{write_echo, write_ecn};
use crate::slab::Slab;

/// Written at once, when there are so many bytes.
const CHUNK: usize = 1 << 18;

/// A probe in which there may be a tap.
pub trait Tapped {
    fn tap(&mut self) -> Option<&mut Tap>;
}

impl Tapped for Recorder {
    fn tap(&mut self) -> Option<&mut Tap> {
        None
    }
}

impl Tapped for ecnlab_sim::Off {
    fn tap(&mut self) -> Option<&mut Tap> {
        None
    }
}

impl Tapped for Recorded<Tap> {
    fn tap(&mut self) -> Option<&mut Tap> {
        Some(&mut self.tracer)
    }
}

impl Tapped for Tap {
    fn tap(&mut self) -> Option<&mut Tap> {
        Some(self)
    }
}

/// Writes packets as they pass links.
pub struct Tap {
    spec: TraceSpec,
    /// None if packets are of either.
    version: Option<Version>,
    writer: PcapngWriter,
    /// Of each link the number of the interface before it; the one behind it follows.
    interfaces: Vec<Option<u32>>,
    count: u32,
    /// In the order in which they were told, those apart whose time was still to come.
    seen: Vec<Seen>,
    ahead: BinaryHeap<Reverse<Seen>>,
    told: u64,
    bytes: Vec<u8>,
    out: Box<dyn Write + Send>,
}

/// A packet was somewhere.
#[derive(Clone, Copy, Debug)]
struct Seen {
    time: Time,
    number: u64,
    interface: u32,
    ticket: u32,
    ecn: Ecn,
    echo: (bool, bool),
}

impl Tap {
    /// Of the chosen links, at most `keep` bytes of each packet; what was written goes out in pieces.
    pub fn new(links: Vec<String>, keep: u32, version: impl Into<Option<Version>>, out: Box<dyn Write + Send>) -> Tap {
        let version = version.into();
        let mut bytes = Vec::new();
        let writer = PcapngWriter::begin(keep, concat!("ecnlab ", env!("CARGO_PKG_VERSION")), &mut bytes);
        let spec = TraceSpec { format: TraceFormat::Pcapng { keep, version: version.unwrap_or(Version::V4) }, links };
        let (interfaces, seen, ahead) = (Vec::new(), Vec::new(), BinaryHeap::new());
        Tap { spec, version, writer, interfaces, count: 0, seen, ahead, told: 0, bytes, out }
    }

    /// Writes what was seen up to a time; the bytes are those that the router holds.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, now: Time, slab: &mut Slab) -> io::Result<()> {
        while self.ahead.peek().is_some_and(|Reverse(first)| first.time <= now) {
            self.seen.extend(self.ahead.pop().map(|Reverse(first)| first));
        }
        self.seen.sort_by_key(|seen| (seen.time, seen.number));
        for seen in self.seen.drain(..) {
            let upper = slab.about(seen.ticket).tcp.map(|_| slab.about(seen.ticket).upper);
            let packet = slab.bytes(seen.ticket);
            write_ecn(packet, seen.ecn);
            if let Some(upper) = upper {
                write_echo(packet, upper as usize, seen.echo.0, seen.echo.1);
            }
            self.writer.bytes(seen.interface, seen.time, packet, &mut self.bytes);
        }
        if self.bytes.len() >= CHUNK { self.hand_over() } else { Ok(()) }
    }

    /// Writes all that has been gathered; this is the end of the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.hand_over()?;
        self.out.flush()
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Packets of simulated hosts have no bytes.
    fn see(&mut self, now: Time, time: Time, link: u32, behind: u32, packet: &Packet) {
        if !packet.bits.is_foreign() {
            return;
        }
        let Some(interface) = self.interfaces[link as usize] else { return };
        self.told += 1;
        let echo = (packet.bits.ece(), packet.bits.cwr());
        let seen = Seen { time, number: self.told, interface: interface + behind, ticket: packet.ticket(), ecn: packet.ecn, echo };
        if time <= now { self.seen.push(seen) } else { self.ahead.push(Reverse(seen)) }
    }
}

impl Probe for Tap {
    const LINKS: bool = true;

    fn link_added(&mut self, _link: u32, spec: &LinkSpec) {
        let chosen = self.spec.chooses(spec);
        self.interfaces.push(chosen.then_some(self.count));
        if chosen {
            self.count += 2;
            for side in ["before", "after"] {
                self.writer.interface(&format!("{side} {}", spec.name.shown()), self.version, &mut self.bytes);
            }
        }
    }

    fn entered(&mut self, now: Time, link: u32, _id: PacketId, packet: &Packet) {
        self.see(now, now, link, 0, packet);
    }

    fn began(&mut self, now: Time, begins: Time, link: u32, _id: PacketId, packet: &Packet) {
        self.see(now, begins, link, 1, packet);
    }
}

impl Ord for Seen {
    fn cmp(&self, other: &Seen) -> Ordering {
        (self.time, self.number).cmp(&(other.time, other.number))
    }
}

impl PartialOrd for Seen {
    fn partial_cmp(&self, other: &Seen) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Seen {
    fn eq(&self, other: &Seen) -> bool {
        self.number == other.number
    }
}

impl Eq for Seen {}
