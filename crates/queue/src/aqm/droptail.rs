//! Drop-tail: no signal before the buffer is full; then the arriving packet goes, or the oldest one
//! (drop-from-front, Lakshman, Neidhardt and Ott 1996).

use ecnlab_units::{Kind, Parameter, Rng, Values};

use super::{Aqm, Cause, Glimpse, Victim, Wish};

pub const PARAMETERS: &[Parameter] = &[Parameter {
    name: "drop",
    kind: Kind::Choice(&["tail", "front"]),
    default: "tail",
    doc: "Which packet goes when the buffer is full: the arriving one or the oldest.",
    source: "Lakshman, Neidhardt and Ott 1996",
}];

pub struct DropTail {
    victim: Victim,
}

impl DropTail {
    pub fn new(values: &Values) -> DropTail {
        DropTail { victim: if values.word("drop") == "front" { Victim::Front } else { Victim::Arriving } }
    }
}

impl Aqm for DropTail {
    fn arrive(&mut self, glimpse: &Glimpse, _rng: &mut Rng) -> Wish {
        if glimpse.full { Wish::Drop { victim: self.victim, cause: Cause::Overflow } } else { Wish::Pass }
    }
}
