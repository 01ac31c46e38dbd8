//! A router's output port in a few lines: real buffers, any queue by its name, no simulator.
//!
//! Two senders push datagrams at a port that sends 1 Mbps, one of them with ECN. Each millisecond the port dequeues what it can send. The
//! program prints each queue event; marks are written into the IP header itself.
//!
//! ```text
//! cargo run -p ecnlab-queue --example router -- codel
//! cargo run -p ecnlab-queue --example router -- red min_th=3 max_th=9 w_q=0.1
//! ```

use std::error::Error;

use ecnlab_queue::{Child, DequeueOutcome, Discipline, Limit, Queue, QueueEvent, QueueItem, Registry};
use ecnlab_units::{Ecn, Rate, Rng, Span, Time};

/// An IPv4 packet as it came from the wire.
struct Datagram(Vec<u8>);

/// Offsets in the IP header of the type of service, whose last two bits are the ECN field, and of the source address.
const TYPE_OF_SERVICE: usize = 1;
const SOURCE: std::ops::Range<usize> = 12..16;

impl Datagram {
    fn new(sender: u8, ecn: Ecn, size: usize) -> Datagram {
        let mut bytes = vec![0; size];
        bytes[0] = 0x45;
        bytes[TYPE_OF_SERVICE] = ecn as u8;
        bytes[SOURCE].copy_from_slice(&[10, 0, 0, sender]);
        Datagram(bytes)
    }
}

impl QueueItem for Datagram {
    fn size(&self) -> u32 {
        self.0.len() as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::from_bits(self.0[TYPE_OF_SERVICE])
    }

    /// A real router also puts the header's checksum right.
    fn set_ecn(&mut self, ecn: Ecn) {
        self.0[TYPE_OF_SERVICE] = self.0[TYPE_OF_SERVICE] & !0b11 | ecn as u8;
    }

    fn flow_key(&self) -> u64 {
        self.0[SOURCE].iter().fold(0, |flow, &byte| flow << 8 | u64::from(byte))
    }

    /// Routers know none.
    fn rtt(&self) -> Span {
        Span::ZERO
    }
}

/// A queue and the line that it stands before.
struct Port {
    queue: Queue<Datagram>,
    line: Rate,
    free_at: Time,
    rng: Rng,
}

impl Port {
    /// The AQM of this name in a buffer of 20 packets.
    fn new(name: &str, values: &[(&str, &str)]) -> Result<Port, Box<dyn Error>> {
        let registry = Registry::builtin();
        let inside = Child::Aqm { aqm: registry.aqm_config(name, values)?, limit: Limit::Packets(20) };
        let line = Rate::from_bps(1_000_000).ok_or("a line must send something")?;
        let queue = registry.queue_config("fifo", &[], inside)?.build(line);
        Ok(Port { queue, line, free_at: Time::ZERO, rng: Rng::for_role(1, "port") })
    }

    fn receive(&mut self, packet: Datagram, now: Time) {
        self.queue.enqueue(packet, now, &mut self.rng, &mut |event| report(now, &event));
    }

    /// Wakes the AQM if it is time, and sends until the line is busy.
    fn work(&mut self, now: Time) {
        while let Some(due) = self.queue.next_timer().filter(|&due| due <= now) {
            self.queue.on_timer(due, &mut self.rng);
        }
        while self.free_at <= now {
            match self.queue.dequeue(now, &mut self.rng, &mut |event| report(now, &event)) {
                DequeueOutcome::Packet { packet, .. } => self.free_at = now + self.line.transmission_time(packet.size()),
                DequeueOutcome::RetryAt(time) => self.free_at = time,
                DequeueOutcome::Empty => break,
            }
        }
    }
}

fn report(now: Time, event: &QueueEvent<Datagram>) {
    let (did, packet, cause) = match event {
        QueueEvent::Stored(_) => return,
        QueueEvent::Marked(packet, cause) => ("marked", *packet, cause),
        QueueEvent::Dropped(packet, cause) => ("dropped", packet, cause),
    };
    println!("{:6.3} s  {did} a packet of 10.0.0.{} ({cause})", now.seconds(), packet.flow_key() & 0xff);
}

fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let name = given.first().map_or("codel", String::as_str);
    let values: Vec<(&str, &str)> = given.iter().skip(1).filter_map(|value| value.split_once('=')).collect();
    let mut port = Port::new(name, &values)?;
    for millis in 0..1_000 {
        let now = Time::ZERO + Span::from_millis(millis);
        // Together 1.4 Mbps for a line of 1 Mbps.
        if millis % 10 == 0 {
            port.receive(Datagram::new(1, Ecn::Ect0, 1000), now);
        }
        if millis % 13 == 0 {
            port.receive(Datagram::new(2, Ecn::NotEct, 1000), now);
        }
        port.work(now);
    }
    let total = port.queue.total_counters();
    let (left, dropped) = (total.departed.packets, total.dropped_packets());
    println!("{} packets came, {left} left, {} were marked, {dropped} dropped", total.arrived.packets, total.marked_packets());
    Ok(())
}
