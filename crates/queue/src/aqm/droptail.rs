//! Drop-tail: no signal before the buffer is full; then the arriving packet goes, or the oldest one
//! (drop-from-front, Lakshman, Neidhardt and Ott 1996).

use ecnlab_units::{Rng, parameters, words};

use super::{Aqm, Arrival, Cause, Victim, Wish};
use crate::registry::AqmEntry;

pub static ENTRY: AqmEntry = AqmEntry {
    name: "droptail",
    title: "Drop-tail",
    summary: "No signal before the buffer is full; then the arriving or the oldest packet is dropped.",
    source: "RFC 7567, section 2",
    parameters: Settings::PARAMETERS,
    make: &|values, _| Box::new(DropTail::new(&Settings::of(values))),
    ..AqmEntry::PLAIN
};

parameters! {
    /// Drop-tail as a scenario sets it.
    pub struct Settings {
        /// Which packet goes when the buffer is full: the arriving one or the oldest.
        #[source("Lakshman, Neidhardt and Ott 1996")]
        pub drop: End = "tail";
    }
}

words! {
    /// An end of the queue.
    pub enum End { Tail = "tail", Front = "front" }
}

pub struct DropTail {
    victim: Victim,
}

impl DropTail {
    pub fn new(settings: &Settings) -> DropTail {
        let victim = match settings.drop {
            End::Tail => Victim::Arriving,
            End::Front => Victim::Front,
        };
        DropTail { victim }
    }
}

impl Aqm for DropTail {
    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        if arrival.full { Wish::Drop { victim: self.victim, cause: Cause::Overflow } } else { Wish::Pass }
    }
}
