//! Mark-front (Liu and Jain 2001): ECN that writes its mark on the oldest unmarked packet instead of the arriving one,
//! so that the sender learns of congestion a queueing delay sooner.
//!
//! RED decides when; one flow queue for all packets names the target.

use ecnlab_units::{Rate, Rng, Time};

use super::red::{Mode, Red, Settings};
use super::{Aqm, Glimpse, Target, Wish};

pub struct MarkFront(Red);

impl MarkFront {
    pub fn new(settings: Settings, rate: Rate) -> MarkFront {
        MarkFront(Red::new(settings, Mode::Mark, rate))
    }
}

impl Aqm for MarkFront {
    fn classes(&self) -> usize {
        1
    }

    fn arrive(&mut self, glimpse: &Glimpse, rng: &mut Rng) -> Wish {
        match self.0.arrive(glimpse, rng) {
            Wish::Signal { level, cause, .. } => Wish::Signal { level, target: Target::FrontUnmarked(0), cause },
            wish => wish,
        }
    }

    fn idle(&mut self, now: Time) {
        self.0.idle(now);
    }

    fn average(&self) -> Option<f64> {
        self.0.average()
    }
}
