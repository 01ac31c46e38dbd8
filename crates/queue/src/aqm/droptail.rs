//! Drop-tail: no signal before the buffer is full; then the arriving packet goes, the oldest one
//! (drop-from-front, Lakshman, Neidhardt and Ott 1996) or any of them (random drop on full, RFC 2309, section 2).

use ecnlab_units::{Rng, parameters};

use super::drop_policy::DropPosition;
use super::entry::AqmEntry;
use super::{Aqm, Arrival, EnqueueVerdict, SignalCause};

/// Drop-tail in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "droptail",
    title: "Drop-tail",
    summary: "Tail drop: no signal before the buffer is full; then the arriving, the oldest or a random packet is dropped.",
    source: "RFC 7567, section 2",
    parameters: Settings::PARAMETERS,
    make: &|values, _| Box::new(DropTail::new(&Settings::from_values(values))),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// Drop-tail as a scenario sets it.
    pub struct Settings {
        /// Packet that a full buffer drops: the arriving one, the oldest or a random one.
        #[source("Lakshman, Neidhardt and Ott 1996; RFC 2309, section 2")]
        pub drop: DropPosition = "tail";
    }
}

/// Drop-tail at work.
pub struct DropTail {
    drop: DropPosition,
}

impl DropTail {
    /// With these settings.
    pub fn new(settings: &Settings) -> DropTail {
        DropTail { drop: settings.drop }
    }
}

impl Aqm for DropTail {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if arrival.would_overflow {
            EnqueueVerdict::Drop { target: self.drop.drop_target(arrival, rng), cause: SignalCause::Overflow }
        } else {
            EnqueueVerdict::Pass
        }
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.drop == DropPosition::Tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::{Backlog, DropTarget};

    #[test]
    fn random_drop_takes_every_packet_of_a_full_buffer_equally_often() {
        let mut aqm = DropTail::new(&Settings { drop: DropPosition::Random });
        let mut rng = Rng::for_role(1, "random drop");
        let full = Arrival { would_overflow: true, backlog: Backlog::of_1000_byte_packets(4), ..Arrival::PLAIN };
        let mut taken = [0; 5];
        for _ in 0..50_000 {
            let EnqueueVerdict::Drop { target: DropTarget::QueuedAt(place), cause: SignalCause::Overflow } =
                aqm.on_enqueue(&full, &mut rng)
            else {
                panic!("no drop")
            };
            taken[place as usize] += 1;
        }
        assert!(taken.iter().all(|&times| (9_600..=10_400).contains(&times)), "{taken:?}");
    }
}
