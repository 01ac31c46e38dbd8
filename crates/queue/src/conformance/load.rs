//! Random traffic: packets of all kinds arrive, packets are asked for, time passes, the link changes its rate.

use ecnlab_units::{Dialect, Ecn, Rate, Rng, Span};

use super::packet::Packet;
use super::rule::Fault;
use super::watched::{LARGEST, Taken, Watched};

/// One step of the traffic.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Offer(Packet),
    Take,
    /// Takes packets until there is none to take.
    Empty,
    Wait(Span),
    Retune(Rate),
}

impl Operation {
    /// One at random; arrivals outnumber departures.
    pub fn random(rng: &mut Rng) -> Operation {
        match rng.below(100) {
            0..48 => Operation::Offer(random_packet(rng)),
            48..80 => Operation::Take,
            80..84 => Operation::Empty,
            84..98 => Operation::Wait(Span::from_micros(rng.below(20_000))),
            _ => Operation::Retune(
                Rate::from_bps(*pick(&[1, 64_000, 1_000_000, 10_000_000, 1_000_000_000, 10_000_000_000_000], rng)).expect("above zero"),
            ),
        }
    }
}

impl Watched {
    pub fn act(&mut self, operation: Operation) -> Result<(), Fault> {
        match operation {
            Operation::Offer(packet) => self.offer(packet),
            Operation::Take => self.take().map(|_| ()),
            Operation::Empty => {
                while matches!(self.take()?, Taken::Packet(_)) {}
                Ok(())
            }
            Operation::Wait(span) => self.wait_a_little(span),
            Operation::Retune(rate) => self.retune(rate),
        }
    }

    /// All operations, one after another; a fault says at which it was found.
    pub fn act_all(&mut self, operations: &[Operation]) -> Result<(), Fault> {
        for (number, operation) in operations.iter().enumerate() {
            self.act(*operation)
                .map_err(|fault| fault.at(format_args!("operation {}, {operation}, at {} s", number + 1, self.now.seconds())))?;
        }
        Ok(())
    }
}

/// So many operations at random.
pub fn storm(seed: u64, operations: usize) -> Vec<Operation> {
    let mut rng = Rng::for_role(seed, "storm");
    (0..operations).map(|_| Operation::random(&mut rng)).collect()
}

/// A packet of any kind, of one of seven classic and seven low-latency flows: a queue that serves ECT(1) and CE apart (RFC 9332) keeps no
/// order between them and the rest.
fn random_packet(rng: &mut Rng) -> Packet {
    let ecn = *pick(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce], rng);
    Packet {
        number: 0,
        flow: 2 * rng.below(7) + u64::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce)),
        size: 1 + rng.below(u64::from(LARGEST)) as u32,
        ecn,
        dialect: *pick(&[Dialect::Classic, Dialect::Classic, Dialect::Mecn], rng),
        rtt: Span::from_millis(*pick(&[0, 10, 74, 75, 149, 150, 400], rng)),
    }
}

pub(super) fn pick<'a, T>(from: &'a [T], rng: &mut Rng) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}
