//! A queue that is compared with its model after every operation.

use ecnlab_units::{Rate, Rng, Span, Time};

use super::dut::{DeviceUnderTest, DutValues};
use super::model::{QueueEventOrAnswer, QueueModel};
use crate::describe;
use crate::invariants::{Invariant, Violation, ensure};
use crate::packet::Packet;
use ecnlab_queue::{DequeueOutcome, Discipline, Limit, Queue};

/// Largest packet that is offered.
pub const MAX_PACKET_BYTES: u32 = 1500;

/// A queue, its clock, its random stream and its model.
pub struct CheckedQueue {
    queue: Queue<Packet>,
    limit: Limit,
    held_outside_buffer: u32,
    gauges: Vec<&'static str>,
    pub model: QueueModel,
    pub now: Time,
    rng: Rng,
    enqueued: u64,
}

impl CheckedQueue {
    pub fn new(dut: &DeviceUnderTest, values: &DutValues, limit: Limit, seed: u64) -> CheckedQueue {
        let gauges = dut.discipline.gauges.iter().chain(dut.aqm.map_or(&[][..], |aqm| aqm.gauges));
        let config = dut.queue_config(values, limit);
        CheckedQueue {
            queue: config.build(link_rate()),
            limit,
            held_outside_buffer: dut.held_outside_buffer(),
            gauges: gauges.map(|gauge| gauge.name).collect(),
            model: QueueModel::new(config.lowest_mark_level()),
            now: Time::ZERO,
            rng: Rng::for_role(seed, "queue"),
            enqueued: 0,
        }
    }

    /// Offers a packet, which gets the next number.
    pub fn enqueue(&mut self, packet: Packet) -> Result<(), Violation> {
        self.enqueued += 1;
        let packet = Packet { number: self.enqueued, ..packet };
        let (has_space_for, dropped) = (self.has_space_for(packet.size), self.model.dropped());
        let CheckedQueue { queue, model, rng, now, .. } = self;
        let timer = queue.next_timer();
        model.record_arrival(packet, *now);
        queue.enqueue(packet, *now, rng, &mut |event| model.on_event(event));
        model.finish_operation()?;
        ensure!(has_space_for || model.dropped() > dropped, FullBuffer, "nothing was dropped for packet {}", packet.number);
        self.check_state(timer)
    }

    /// Asks for the next packet.
    pub fn dequeue(&mut self) -> Result<DequeueOutcome<Packet>, Violation> {
        let CheckedQueue { queue, model, rng, now, .. } = self;
        let timer = queue.next_timer();
        let outcome = queue.dequeue(*now, rng, &mut |event| model.on_event(event));
        model.finish_operation()?;
        match outcome {
            DequeueOutcome::Packet { packet, sojourn, band } => {
                ensure!(band < queue.band_count(), Conservation, "band {band} of {}", queue.band_count());
                model.verify_departure(&packet, sojourn, *now, band)?;
            }
            DequeueOutcome::RetryAt(time) => {
                ensure!(time > *now, DequeueTime, "asked at {} s it says {} s", now.seconds(), time.seconds());
                ensure!(model.packets() > 0, DequeueTime, "nothing waits and it says {} s", time.seconds());
                model.events.push(QueueEventOrAnswer::Later(time));
            }
            DequeueOutcome::Empty => {
                ensure!(model.packets() == 0, Conservation, "it says that it is empty, and {} packets wait", model.packets());
                model.events.push(QueueEventOrAnswer::Empty);
            }
        }
        self.check_state(timer)?;
        Ok(outcome)
    }

    /// Takes packets until the queue says that it is empty, waiting where it asks for that.
    pub fn drain(&mut self) -> Result<(), Violation> {
        let mut outcome = self.dequeue()?;
        while outcome != DequeueOutcome::Empty {
            if let DequeueOutcome::RetryAt(time) = outcome {
                if !self.wait_until_or_max_timers(time, MAX_TIMERS_IN_SHORT_WAIT)? {
                    return Ok(());
                }
                outcome = self.dequeue()?;
                if let DequeueOutcome::RetryAt(later) = outcome {
                    let message = format!("asked at {} s, as it said, it puts off: a packet at {} s", time.seconds(), later.seconds());
                    return Err(Violation::new(Invariant::DequeueTime, message));
                }
            } else {
                outcome = self.dequeue()?;
            }
        }
        Ok(())
    }

    /// Lets time pass, with the deadlines that fall into it.
    pub fn wait(&mut self, span: Span) -> Result<(), Violation> {
        self.wait_until_or_max_timers(self.now + span, MAX_TIMERS_IN_LONG_WAIT).map(|_| ())
    }

    /// Lets time pass, but not beyond so many deadlines: random values may ask for one every picosecond.
    pub fn wait_limiting_timers(&mut self, span: Span) -> Result<(), Violation> {
        self.wait_until_or_max_timers(self.now + span, MAX_TIMERS_IN_SHORT_WAIT).map(|_| ())
    }

    /// Lets time pass until then; false if there were so many deadlines that the clock was stopped before.
    fn wait_until_or_max_timers(&mut self, time: Time, max_timers: u32) -> Result<bool, Violation> {
        for _ in 0..max_timers {
            let Some(due) = self.queue.next_timer().filter(|&due| due <= time) else {
                self.now = time.max(self.now);
                return Ok(true);
            };
            self.now = due.max(self.now);
            self.on_timer()?;
        }
        Ok(false)
    }

    fn on_timer(&mut self) -> Result<(), Violation> {
        self.queue.on_timer(self.now, &mut self.rng);
        let next = self.queue.next_timer();
        ensure!(
            next.is_none_or(|next| next > self.now),
            Timers,
            "at {} s the next deadline is {}",
            self.now.seconds(),
            describe::time_text(next)
        );
        self.model.events.push(QueueEventOrAnswer::Deadline(next));
        self.check_state(next)
    }

    /// The link has another rate.
    pub fn set_link_rate(&mut self, rate: Rate) -> Result<(), Violation> {
        let timer = self.queue.next_timer();
        self.queue.set_link_rate(rate);
        self.check_state(timer)
    }

    /// Whether a packet of this size fits.
    fn has_space_for(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(most) => self.model.packets() < (most + self.held_outside_buffer) as usize,
            Limit::Bytes(most) => self.model.bytes() + u64::from(size) <= most + u64::from(self.held_outside_buffer * MAX_PACKET_BYTES),
        }
    }

    fn check_state(&self, timer: Option<Time>) -> Result<(), Violation> {
        self.queue.assert_conservation();
        self.model.compare_with(&self.queue)?;
        let held = match self.limit {
            Limit::Packets(most) => self.queue.len() <= (most + self.held_outside_buffer) as usize,
            Limit::Bytes(most) => self.queue.bytes() <= most + u64::from(self.held_outside_buffer * MAX_PACKET_BYTES),
        };
        ensure!(
            held,
            BufferLimit,
            "{} packets of {} bytes wait in {}",
            self.queue.len(),
            self.queue.bytes(),
            describe::buffer_text(self.limit)
        );
        let in_bands = (0..self.queue.band_count()).map(|band| self.queue.band_len(band)).sum::<usize>();
        ensure!(in_bands == self.queue.len(), Conservation, "{in_bands} packets wait in bands, and {} in the queue", self.queue.len());
        let now = self.queue.next_timer();
        ensure!(now == timer, Timers, "the deadline was {} and is {}", describe::time_text(timer), describe::time_text(now));
        self.check_gauges()
    }

    fn check_gauges(&self) -> Result<(), Violation> {
        let average = self.queue.average_queue_length();
        ensure!(
            average.is_none_or(|average| average.is_finite() && average >= 0.0),
            Gauges,
            "the average is {}",
            average.unwrap_or(f64::NAN)
        );
        let mut wrong = None;
        self.queue.report_gauges(&mut |name, value| {
            if !value.is_finite() || !self.gauges.contains(&name) {
                wrong.get_or_insert((name, value));
            }
        });
        let Some((name, value)) = wrong else { return Ok(()) };
        Err(Violation::new(Invariant::Gauges, format!("it shows {name} = {value}; declared are {}", self.gauges.join(", "))))
    }
}

/// The rate of the line that queues are made for.
pub fn link_rate() -> Rate {
    Rate::from_bps(10_000_000).expect("10 Mbps is above zero")
}

/// Deadlines after which a spell of waiting is cut short.
const MAX_TIMERS_IN_SHORT_WAIT: u32 = 500;
const MAX_TIMERS_IN_LONG_WAIT: u32 = 200_000;
