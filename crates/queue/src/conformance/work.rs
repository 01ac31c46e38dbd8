//! What a packet costs, counted in looks at packets: a discipline that searches its queue looks at as many as wait.
//!
//! An AQM sees no packets but those at the entrance and the exit, and what tables it keeps of its own is not counted here.

use std::cell::Cell;
use std::rc::Rc;

use ecnlab_units::{Dialect, Ecn, Span};

use super::packet::Packet;
use super::rule::{Fault, ensure};
use super::stand::Stand;
use super::subject::{Setting, Subject};
use super::watched::rate;
use crate::{Frame, Limit};

/// A packet that counts how often it is looked at.
struct Seen {
    packet: Packet,
    looks: Rc<Cell<u64>>,
}

impl Seen {
    fn look(&self) -> &Packet {
        self.looks.set(self.looks.get() + 1);
        &self.packet
    }
}

impl Frame for Seen {
    fn size(&self) -> u32 {
        self.look().size()
    }

    fn ecn(&self) -> Ecn {
        self.look().ecn()
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.look();
        self.packet.set_ecn(ecn);
    }

    fn dialect(&self) -> Dialect {
        self.look().dialect()
    }

    fn flow(&self) -> u64 {
        self.look().flow()
    }

    fn rtt(&self) -> Span {
        self.look().rtt()
    }
}

/// Compares the cost in a small buffer with that in one a hundred times as large, both overloaded.
pub fn does_not_grow(subject: &Subject) -> Result<(), Fault> {
    for setting in [Setting::Defaults, Setting::Busy] {
        let [small, large] = [SMALL, LARGE].map(|packets| looks_a_packet(subject, setting, packets));
        let grows = large > 2.0 * small + 10.0;
        ensure!(!grows, Work, "{setting}: {small:.1} looks at packets for each in a buffer of {SMALL}, {large:.1} in one of {LARGE}");
    }
    Ok(())
}

/// Looks at packets for each packet that is offered, while two arrive for each that leaves.
fn looks_a_packet(subject: &Subject, setting: Setting, packets: u32) -> f64 {
    let looks = Rc::new(Cell::new(0));
    let mut stand = Stand::new(subject, &subject.values(setting), rate(), Limit::Packets(packets));
    let dialect = subject.dialect(setting);
    let offered = 4 * packets;
    for number in 0..u64::from(offered) {
        let packet = Packet { number, flow: number % FLOWS, dialect, ..Packet::PLAIN };
        stand.offer(Seen { packet, looks: looks.clone() }, &mut |_| {});
        if number % 2 == 0 {
            stand.take(&mut |_| {});
        }
        stand.wait(Span::from_micros(400));
    }
    looks.get() as f64 / f64::from(offered)
}

const SMALL: u32 = 20;
const LARGE: u32 = 100 * SMALL;
const FLOWS: u64 = 7;
