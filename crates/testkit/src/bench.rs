//! Test bench of a queue for measurements: its clock and its random stream; events go to the caller and are not checked.

use ecnlab_units::{Rate, Rng, Span, Time};

use super::dut::{DeviceUnderTest, DutValues};
use ecnlab_queue::{DequeueOutcome, Discipline, Limit, Queue, QueueEvent, QueueItem};

/// A queue, its clock and its stream of random numbers.
pub struct QueueBench<F> {
    queue: Queue<F>,
    rng: Rng,
    pub now: Time,
}

impl<F: QueueItem> QueueBench<F> {
    pub fn new(dut: &DeviceUnderTest, values: &DutValues, rate: Rate, limit: Limit) -> QueueBench<F> {
        QueueBench { queue: dut.queue_config(values, limit).build(rate), rng: Rng::for_role(1, "stand"), now: Time::ZERO }
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    pub fn enqueue(&mut self, frame: F, on_event: &mut dyn FnMut(QueueEvent<F>)) {
        self.queue.enqueue(frame, self.now, &mut self.rng, &mut |event| on_event(event));
    }

    pub fn dequeue(&mut self, on_event: &mut dyn FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        self.queue.dequeue(self.now, &mut self.rng, &mut |event| on_event(event))
    }

    /// Lets time pass until then, with the deadlines that fall into it.
    pub fn wait_until(&mut self, time: Time) {
        while let Some(due) = self.queue.next_timer().filter(|&due| due <= time) {
            self.now = due.max(self.now);
            self.queue.on_timer(self.now, &mut self.rng);
        }
        self.now = time.max(self.now);
    }

    pub fn wait(&mut self, span: Span) {
        self.wait_until(self.now + span);
    }
}
