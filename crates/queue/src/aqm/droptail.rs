//! Drop-tail: no signal before the buffer is full; then the arriving packet goes, the oldest one
//! (drop-from-front, Lakshman, Neidhardt and Ott 1996) or any of them (random drop on full, RFC 2309, section 2).

use ecnlab_units::{Rng, parameters};

use super::law::red::DropPolicy;
use super::{Aqm, Arrival, Cause, Wish};
use crate::registry::AqmEntry;

pub static ENTRY: AqmEntry = AqmEntry {
    name: "droptail",
    title: "Drop-tail",
    summary: "No signal before the buffer is full; then the arriving, the oldest or a random packet is dropped.",
    source: "RFC 7567, section 2",
    parameters: Settings::PARAMETERS,
    make: &|values, _| Box::new(DropTail::new(&Settings::of(values))),
    ..AqmEntry::PLAIN
};

parameters! {
    /// Drop-tail as a scenario sets it.
    pub struct Settings {
        /// Which packet goes when the buffer is full: the arriving one, the oldest or any of them.
        #[source("Lakshman, Neidhardt and Ott 1996; RFC 2309, section 2")]
        pub drop: DropPolicy = "tail";
    }
}

pub struct DropTail {
    drop: DropPolicy,
}

impl DropTail {
    pub fn new(settings: &Settings) -> DropTail {
        DropTail { drop: settings.drop }
    }
}

impl Aqm for DropTail {
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        if arrival.full { Wish::Drop { victim: self.drop.victim(arrival, rng), cause: Cause::Overflow } } else { Wish::Pass }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::{Backlog, Victim};

    #[test]
    fn random_drop_takes_every_packet_of_a_full_buffer_equally_often() {
        let mut aqm = DropTail::new(&Settings { drop: DropPolicy::Random });
        let mut rng = Rng::for_role(1, "random drop");
        let full = Arrival { full: true, backlog: Backlog::of(4), ..Arrival::PLAIN };
        let mut taken = [0; 5];
        for _ in 0..50_000 {
            let Wish::Drop { victim: Victim::Waiting(place), cause: Cause::Overflow } = aqm.arrive(&full, &mut rng) else {
                panic!("no drop")
            };
            taken[place as usize] += 1;
        }
        assert!(taken.iter().all(|&times| (9_600..=10_400).contains(&times)), "{taken:?}");
    }
}
