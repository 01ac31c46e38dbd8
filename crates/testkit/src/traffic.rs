//! Random traffic: packets of all kinds arrive, packets are dequeued, time passes, and the link changes its rate.

use ecnlab_units::{Ecn, EcnSemantics, Rate, Rng, Span};

use crate::checked_queue::{CheckedQueue, MAX_PACKET_BYTES};
use crate::invariants::Violation;
use crate::packet::Packet;
use ecnlab_queue::DequeueOutcome;

/// One step of the traffic.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    Enqueue(Packet),
    Dequeue,
    /// Takes packets until there is none to take.
    Empty,
    Wait(Span),
    Retune(Rate),
}

impl Operation {
    /// One at random; arrivals outnumber departures.
    pub fn random(rng: &mut Rng) -> Operation {
        match rng.below(100) {
            0..48 => Operation::Enqueue(random_packet(rng)),
            48..80 => Operation::Dequeue,
            80..84 => Operation::Empty,
            84..98 => Operation::Wait(Span::from_micros(rng.below(20_000))),
            _ => Operation::Retune(
                Rate::from_bps(*pick_random(&[1, 64_000, 1_000_000, 10_000_000, 1_000_000_000, 10_000_000_000_000], rng))
                    .expect("above zero"),
            ),
        }
    }
}

impl CheckedQueue {
    pub fn apply(&mut self, operation: Operation) -> Result<(), Violation> {
        match operation {
            Operation::Enqueue(packet) => self.enqueue(packet),
            Operation::Dequeue => self.dequeue().map(|_| ()),
            Operation::Empty => {
                while matches!(self.dequeue()?, DequeueOutcome::Packet { .. }) {}
                Ok(())
            }
            Operation::Wait(span) => self.wait_limiting_timers(span),
            Operation::Retune(rate) => self.set_link_rate(rate),
        }
    }

    /// All operations, one after another; a violation names the operation at which it was found.
    pub fn apply_all(&mut self, operations: &[Operation]) -> Result<(), Violation> {
        for (number, operation) in operations.iter().enumerate() {
            self.apply(*operation).map_err(|violation| {
                violation.with_message_prefix(format_args!("operation {}, {operation}, at {} s", number + 1, self.now.seconds()))
            })?;
        }
        Ok(())
    }
}

/// So many operations at random.
pub fn random_operations(seed: u64, operations: usize) -> Vec<Operation> {
    let mut rng = Rng::for_role(seed, "storm");
    (0..operations).map(|_| Operation::random(&mut rng)).collect()
}

/// A packet of any kind, of one of seven classic and seven low-latency flows: a queue that serves ECT(1) and CE apart (RFC 9332) keeps no
/// order between them and the rest.
fn random_packet(rng: &mut Rng) -> Packet {
    let ecn = *pick_random(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::Ce], rng);
    Packet {
        number: 0,
        flow: 2 * rng.below(7) + u64::from(matches!(ecn, Ecn::Ect1 | Ecn::Ce)),
        size: 1 + rng.below(u64::from(MAX_PACKET_BYTES)) as u32,
        ecn,
        ecn_semantics: *pick_random(&[EcnSemantics::Classic, EcnSemantics::Classic, EcnSemantics::Mecn], rng),
        rtt: Span::from_millis(*pick_random(&[0, 10, 74, 75, 149, 150, 400], rng)),
    }
}

pub(super) fn pick_random<'a, T>(from: &'a [T], rng: &mut Rng) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}
