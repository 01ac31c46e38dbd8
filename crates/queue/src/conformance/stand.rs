//! A queue with its clock and its stream, as measurements drive it: what it tells is heard and not judged.

use ecnlab_units::{Rate, Rng, Span, Time};

use super::subject::{Chosen, Subject};
use crate::{Deed, Discipline, Frame, Limit, Queue, Take};

/// A queue, its clock and its stream of random numbers.
pub struct Stand<F> {
    queue: Queue<F>,
    rng: Rng,
    pub now: Time,
}

impl<F: Frame> Stand<F> {
    pub fn new(subject: &Subject, chosen: &Chosen, rate: Rate, limit: Limit) -> Stand<F> {
        Stand { queue: subject.composition(chosen, limit).build(rate), rng: Rng::for_role(1, "stand"), now: Time::ZERO }
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn offer(&mut self, frame: F, tell: &mut dyn FnMut(Deed<F>)) {
        self.queue.offer(frame, self.now, &mut self.rng, &mut |deed| tell(deed));
    }

    pub fn take(&mut self, tell: &mut dyn FnMut(Deed<F>)) -> Take<F> {
        self.queue.take(self.now, &mut self.rng, &mut |deed| tell(deed))
    }

    /// Lets time pass until then, with the deadlines that fall into it.
    pub fn wait_until(&mut self, time: Time) {
        while let Some(due) = self.queue.deadline().filter(|&due| due <= time) {
            self.now = due.max(self.now);
            self.queue.expire(self.now, &mut self.rng);
        }
        self.now = time.max(self.now);
    }

    pub fn wait(&mut self, span: Span) {
        self.wait_until(self.now + span);
    }
}
