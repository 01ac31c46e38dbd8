//! Cost of a packet, counted in accesses to packets: a discipline that searches its queue accesses as many as wait.
//!
//! An AQM accesses packets on arrival and departure only; accesses to its tables are not counted here.

use std::cell::Cell;
use std::rc::Rc;

use ecnlab_units::{Ecn, EcnSemantics, Span};

use super::bench::QueueBench;
use super::dut::{DefaultOrTestValues, DeviceUnderTest};
use crate::checked_queue::link_rate;
use crate::invariants::{Violation, ensure};
use crate::packet::Packet;
use ecnlab_queue::{Limit, QueueItem};

/// A packet that counts how often it is looked at.
struct AccessCountingPacket {
    packet: Packet,
    accesses: Rc<Cell<u64>>,
}

impl AccessCountingPacket {
    fn access_packet(&self) -> &Packet {
        self.accesses.set(self.accesses.get() + 1);
        &self.packet
    }
}

impl QueueItem for AccessCountingPacket {
    fn size(&self) -> u32 {
        self.access_packet().size()
    }

    fn ecn(&self) -> Ecn {
        self.access_packet().ecn()
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.access_packet();
        self.packet.set_ecn(ecn);
    }

    fn ecn_semantics(&self) -> EcnSemantics {
        self.access_packet().ecn_semantics()
    }

    fn flow_key(&self) -> u64 {
        self.access_packet().flow_key()
    }

    fn rtt(&self) -> Span {
        self.access_packet().rtt()
    }
}

/// Compares the cost in a small buffer with that in one a hundred times as large, both overloaded.
pub fn cost_does_not_grow(dut: &DeviceUnderTest) -> Result<(), Violation> {
    for &value_set in DefaultOrTestValues::ALL {
        let [small, large] = [SMALL_BUFFER, LARGE_BUFFER].map(|packets| accesses_per_packet(dut, value_set, packets));
        let grows = large > 2.0 * small + 10.0;
        ensure!(
            !grows,
            WorkPerPacket,
            "{value_set}: {small:.1} looks at packets for each in a buffer of {SMALL_BUFFER}, {large:.1} in one of {LARGE_BUFFER}"
        );
    }
    Ok(())
}

/// Looks at packets for each packet that is offered, while two arrive for each that leaves.
fn accesses_per_packet(dut: &DeviceUnderTest, value_set: DefaultOrTestValues, packets: u32) -> f64 {
    let accesses = Rc::new(Cell::new(0));
    let mut bench = QueueBench::new(dut, &dut.parameter_values_of_set(value_set), link_rate(), Limit::Packets(packets));
    let ecn_semantics = dut.ecn_semantics(value_set);
    let offered = 4 * packets;
    for number in 0..u64::from(offered) {
        let packet = Packet { number, flow: number % FLOW_COUNT, ecn_semantics, ..Packet::ECT0_1000_BYTES };
        bench.enqueue(AccessCountingPacket { packet, accesses: accesses.clone() }, &mut |_| {});
        if number % 2 == 0 {
            bench.dequeue(&mut |_| {});
        }
        bench.wait(Span::from_micros(400));
    }
    accesses.get() as f64 / f64::from(offered)
}

const SMALL_BUFFER: u32 = 20;
const LARGE_BUFFER: u32 = 100 * SMALL_BUFFER;
const FLOW_COUNT: u64 = 7;
