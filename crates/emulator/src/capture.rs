//! Writes the packets of hosts into a pcapng file, byte for byte, before and after each link.
//!
//! A [`PacketCapture`] is a probe: the engine reports each packet with its exact time and its current mark, and the capture takes the
//! bytes from the router's packets. After the queue, a packet is captured when its transmission begins.

use std::collections::BTreeMap;
use std::io::{self, Write};

use ecnlab_sim::{IpVersion, LinkSpec, Packet, PacketId, Probe, Recorder, RecorderAndTracer, TraceFormat, TraceSpec};
use ecnlab_units::{Ecn, Time};
use ecnlab_wire::{PcapngWriter, rewrite_ece_cwr, rewrite_ecn};

use crate::slab::PacketSlab;

/// Size of a buffer that is written at once.
const WRITE_CHUNK_BYTES: usize = 1 << 18;

/// Probe with an optional packet capture.
pub trait AsPacketCapture {
    fn as_packet_capture_mut(&mut self) -> Option<&mut PacketCapture> {
        None
    }
}

impl AsPacketCapture for Recorder {}

impl AsPacketCapture for ecnlab_sim::NoProbe {}

impl AsPacketCapture for RecorderAndTracer<PacketCapture> {
    fn as_packet_capture_mut(&mut self) -> Option<&mut PacketCapture> {
        Some(&mut self.tracer)
    }
}

impl AsPacketCapture for PacketCapture {
    fn as_packet_capture_mut(&mut self) -> Option<&mut PacketCapture> {
        Some(self)
    }
}

/// Writes packets as they pass links.
pub struct PacketCapture {
    spec: TraceSpec,
    /// `None` for packets of both IP versions.
    version: Option<IpVersion>,
    writer: PcapngWriter,
    /// Number of the interface before each link; the one after it follows.
    interfaces: Vec<Option<u32>>,
    count: u32,
    /// Captured packets in the order of the reports; those with a later time are separate.
    ready: Vec<CapturedPacket>,
    future: BTreeMap<(Time, u64), CapturedPacket>,
    captured: u64,
    bytes: Vec<u8>,
    out: Box<dyn Write + Send>,
}

/// A packet at a point of a link.
#[derive(Clone, Copy, Debug)]
struct CapturedPacket {
    time: Time,
    number: u64,
    interface: u32,
    handle: u32,
    ecn: Ecn,
    echo: (bool, bool),
}

impl PacketCapture {
    /// Captures at most `snaplen` bytes of each packet on the chosen links, and writes them in pieces.
    pub fn new(links: Vec<String>, snaplen: u32, version: impl Into<Option<IpVersion>>, out: Box<dyn Write + Send>) -> PacketCapture {
        let version = version.into();
        let mut bytes = Vec::new();
        let writer = PcapngWriter::begin(snaplen, concat!("ecnlab ", env!("CARGO_PKG_VERSION")), &mut bytes);
        let spec = TraceSpec { format: TraceFormat::Pcapng { keep: snaplen, version: version.unwrap_or(IpVersion::V4) }, links };
        PacketCapture {
            spec,
            version,
            writer,
            interfaces: Vec::new(),
            count: 0,
            ready: Vec::new(),
            future: BTreeMap::new(),
            captured: 0,
            bytes,
            out,
        }
    }

    /// Writes the packets captured up to a time, with the bytes that the router stores.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_packets_until(&mut self, now: Time, slab: &mut PacketSlab) -> io::Result<()> {
        while let Some(first) = self.future.first_entry().filter(|first| first.key().0 <= now) {
            self.ready.push(first.remove());
        }
        self.ready.sort_by_key(|seen| (seen.time, seen.number));
        for seen in self.ready.drain(..) {
            let transport_at = slab.delivery_info(seen.handle).tcp.map(|_| slab.delivery_info(seen.handle).transport_at);
            let packet = slab.bytes(seen.handle);
            rewrite_ecn(packet, seen.ecn);
            if let Some(transport_at) = transport_at {
                rewrite_ece_cwr(packet, transport_at as usize, seen.echo.0, seen.echo.1);
            }
            self.writer.write_bytes(seen.interface, seen.time, packet, &mut self.bytes);
        }
        if self.bytes.len() >= WRITE_CHUNK_BYTES { self.write_buffered_bytes() } else { Ok(()) }
    }

    /// Writes all remaining packets. This ends the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.write_buffered_bytes()?;
        self.out.flush()
    }

    fn write_buffered_bytes(&mut self) -> io::Result<()> {
        self.out.write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Packets of simulated hosts have no bytes.
    fn capture_packet(&mut self, now: Time, time: Time, link: u32, behind: u32, packet: &Packet) {
        if !packet.flags.is_external() {
            return;
        }
        let Some(interface) = self.interfaces[link as usize] else { return };
        self.captured += 1;
        let echo = (packet.flags.ece(), packet.flags.cwr());
        let seen =
            CapturedPacket { time, number: self.captured, interface: interface + behind, handle: packet.handle(), ecn: packet.ecn, echo };
        if time <= now {
            self.ready.push(seen);
        } else {
            self.future.insert((time, seen.number), seen);
        }
    }
}

impl Probe for PacketCapture {
    const OBSERVES_PACKETS: bool = true;

    fn on_link_added(&mut self, _link: u32, spec: &LinkSpec) {
        let chosen = self.spec.includes_link(spec);
        self.interfaces.push(chosen.then_some(self.count));
        if chosen {
            self.count += 2;
            for side in ["before", "after"] {
                self.writer.add_interface(&format!("{side} {}", spec.name.display_name()), self.version, &mut self.bytes);
            }
        }
    }

    fn on_link_entry(&mut self, now: Time, link: u32, _id: PacketId, packet: &Packet) {
        self.capture_packet(now, now, link, 0, packet);
    }

    fn on_transmission_start(&mut self, now: Time, begins: Time, link: u32, _id: PacketId, packet: &Packet) {
        self.capture_packet(now, begins, link, 1, packet);
    }
}
