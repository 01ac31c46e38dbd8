//! A link in virtual time: a queue, a transmitter and a propagation delay, for tests of transports.
//!
//! The caller owns the clock: it passes the time to each call and reads the time of the next delivery. A transport that performs no input or
//! output is tested with a link for each direction, without a socket or a thread, and the same seed gives the same run:
//!
//! ```
//! use ecnlab_queue::{Child, Datagram, Limit, Registry, VirtualLink};
//! use ecnlab_units::{Ecn, Rate, Rng, Span, Time};
//!
//! # fn main() -> Result<(), String> {
//! let registry = Registry::builtin();
//! let aqm = registry.aqm_config("step", &[("measure", "sojourn"), ("sojourn", "1 ms")])?;
//! let fifo = registry.queue_config("fifo", &[], Child::Aqm { aqm, limit: Limit::Packets(100) })?;
//! let rate = Rate::from_bps(10_000_000).unwrap();
//! let mut link = VirtualLink::new(&fifo, rate, Span::from_millis(20), Rng::for_role(1, "downlink"));
//!
//! for number in 0..3 {
//!     link.enqueue(Time::ZERO, Datagram { payload: number, size: 1250, ecn: Ecn::Ect1, flow: 1 });
//! }
//! let mut deliveries = Vec::new();
//! while let Some(now) = link.next_event() {
//!     while let Some((time, packet)) = link.poll(now) {
//!         deliveries.push((time.since(Time::ZERO), packet.payload, packet.ecn));
//!     }
//! }
//! // 1250 bytes take 1 ms. The third packet waits for 2 ms, longer than the threshold.
//! let ms = Span::from_millis;
//! assert_eq!(deliveries, [(ms(21), 0, Ecn::Ect1), (ms(22), 1, Ecn::Ect1), (ms(23), 2, Ecn::Ce)]);
//! assert_eq!(1, link.counters().marked_packets());
//! # Ok(())
//! # }
//! ```
//!
//! Every delivery is at the exact time, however late the caller polls. At one instant the link's own events come first: a packet that
//! arrives as a transmission ends finds the next one begun.
//!
//! [`VirtualLink::with_bursts`] makes it a link that sends in bursts at slots.
//!
//! The simulator has a link with the same times and decisions; `crates/sim/tests/virtual_link.rs` compares both.

use std::collections::VecDeque;

use ecnlab_units::{Ecn, Rate, Rng, Span, Time};

use crate::bursts::{BurstSchedule, Bursts};
use crate::config::QueueConfig;
use crate::discipline::{DequeueOutcome, Discipline, Queue, QueueCounters, QueueItem};

/// One direction of a link in virtual time.
pub struct VirtualLink<F> {
    queue: Queue<F>,
    rng: Rng,
    rate: Rate,
    delay: Span,
    /// Time of the latest call or event.
    now: Time,
    /// Slots, if it sends in bursts.
    bursts: Option<BurstSchedule>,
    /// End of the transmission in progress, the slot for which packets wait, or the time at which to ask a shaper again.
    transmitter: Option<Deadline>,
    is_transmitting: bool,
    timer: Option<Deadline>,
    /// Time at which the last transmission ends: whole picoseconds, and the truncated fraction in 1/rate of one.
    free_at: Time,
    free_at_remainder: u64,
    /// Packets on the wire with their times of arrival, the first at the front.
    wire: VecDeque<(Time, F)>,
}

/// Time of an event of the link. Of two events at one instant the one that was scheduled first comes first.
#[derive(Clone, Copy)]
struct Deadline {
    due: Time,
    scheduled_at: Time,
}

impl<F: QueueItem> VirtualLink<F> {
    /// A link that is idle at time zero. `rng` is the random stream of the queue.
    pub fn new(queue: &QueueConfig, rate: Rate, delay: Span, rng: Rng) -> VirtualLink<F> {
        let queue: Queue<F> = queue.build(rate);
        let timer = queue.next_timer().map(|due| Deadline { due, scheduled_at: Time::ZERO });
        VirtualLink {
            queue,
            rng,
            rate,
            delay,
            now: Time::ZERO,
            bursts: None,
            transmitter: None,
            is_transmitting: false,
            timer,
            free_at: Time::ZERO,
            free_at_remainder: 0,
            wire: VecDeque::new(),
        }
    }

    /// The same link, which sends in bursts.
    ///
    /// # Panics
    /// If the period or the aggregate is zero.
    #[must_use]
    pub fn with_bursts(self, bursts: Bursts) -> VirtualLink<F> {
        VirtualLink { bursts: Some(BurstSchedule::new(bursts)), ..self }
    }

    /// A packet arrives at the queue.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn enqueue(&mut self, now: Time, packet: F) {
        self.advance_to(now);
        self.queue.enqueue(packet, now, &mut self.rng, &mut |_| {});
        if !self.is_transmitting {
            self.start_transmission();
        }
    }

    /// The time at which to poll next: that of the next delivery, or the time at which a shaper releases the next packet. None while the
    /// link is empty.
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.wire.front().map(|(time, _)| *time);
        arrival.or_else(|| self.transmitter.filter(|_| !self.queue.is_empty()).map(|end| end.due))
    }

    /// The next packet that has arrived at the far end by now, with its time of arrival and its ECN field after the queue.
    ///
    /// # Panics
    /// If `now` is before the time of an earlier call.
    pub fn poll(&mut self, now: Time) -> Option<(Time, F)> {
        self.advance_to(now);
        if self.wire.front().is_some_and(|(time, _)| *time <= now) { self.wire.pop_front() } else { None }
    }

    /// The queue, which has its length, its counters by band and its gauges.
    pub fn queue(&self) -> &Queue<F> {
        &self.queue
    }

    /// Counters of the queue: arrivals, departures, marks and drops.
    pub fn counters(&self) -> QueueCounters {
        self.queue.total_counters()
    }

    /// Executes the events of the queue and the transmitter up to a time, in their order.
    fn advance_to(&mut self, now: Time) {
        assert!(now >= self.now, "the time of a link must not go back");
        while let Some((is_timer, event)) = self.earliest_deadline().filter(|(_, event)| event.due <= now) {
            self.now = event.due;
            if is_timer {
                self.on_queue_timer();
            } else {
                (self.transmitter, self.is_transmitting) = (None, false);
                self.start_transmission();
            }
        }
        self.now = now;
    }

    /// The earliest deadline, and whether it is that of the queue's timer.
    fn earliest_deadline(&self) -> Option<(bool, Deadline)> {
        match (self.timer, self.transmitter) {
            (Some(timer), Some(end)) if (end.due, end.scheduled_at) < (timer.due, timer.scheduled_at) => Some((false, end)),
            (Some(timer), _) => Some((true, timer)),
            (None, end) => end.map(|end| (false, end)),
        }
    }

    fn on_queue_timer(&mut self) {
        self.queue.on_timer(self.now, &mut self.rng);
        self.timer = self.queue.next_timer().map(|due| Deadline { due, scheduled_at: self.now });
        assert!(self.timer.is_none_or(|timer| timer.due > self.now), "a queue's next deadline must be later than now");
    }

    /// Starts to transmit the next packet, if the queue releases one and the link may send.
    fn start_transmission(&mut self) {
        if let Some(due) = self.begin_burst_or_find_next_slot() {
            self.transmitter = Some(Deadline { due, scheduled_at: self.now });
            self.is_transmitting = true;
            return;
        }
        match self.queue.dequeue(self.now, &mut self.rng, &mut |_| {}) {
            DequeueOutcome::Packet { packet, .. } => {
                let departs = self.compute_transmission_end(packet.size());
                self.bursts.iter_mut().for_each(|bursts| bursts.on_departure(packet.size(), departs));
                self.transmitter = Some(Deadline { due: departs, scheduled_at: self.now });
                self.is_transmitting = true;
                self.wire.push_back((departs + self.delay, packet));
            }
            DequeueOutcome::RetryAt(due) => {
                assert!(due > self.now, "the time at which a packet may leave must be later than now");
                self.transmitter = Some(Deadline { due, scheduled_at: self.now });
                self.end_burst();
            }
            DequeueOutcome::Empty => self.end_burst(),
        }
    }

    /// If packets wait: `None` if one may leave now, else the slot for which they have to wait.
    fn begin_burst_or_find_next_slot(&mut self) -> Option<Time> {
        if self.queue.is_empty() {
            return None;
        }
        self.bursts.as_mut()?.begin_burst_or_find_next_slot(self.now)
    }

    fn end_burst(&mut self) {
        self.bursts.iter_mut().for_each(BurstSchedule::end_burst);
    }

    /// End of a transmission that begins now. Times of packets sent back to back add up exactly.
    fn compute_transmission_end(&mut self, size: u32) -> Time {
        if self.now > self.free_at {
            (self.free_at, self.free_at_remainder) = (self.now, 0);
        }
        let (whole, remainder) = self.rate.transmission_time_with_remainder(size);
        self.free_at += whole;
        self.free_at_remainder += remainder;
        if self.free_at_remainder >= self.rate.bps() {
            self.free_at_remainder -= self.rate.bps();
            self.free_at += Span::from_picos(1);
        }
        self.free_at
    }
}

/// A packet for a [`VirtualLink`] whose contents the link does not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagram<T> {
    /// The contents.
    pub payload: T,
    /// Size on the wire in bytes, headers included.
    pub size: u32,
    /// The ECN field.
    pub ecn: Ecn,
    /// Number of the flow, which fair queues and AQMs with flow state distinguish.
    pub flow: u64,
}

impl<T> QueueItem for Datagram<T> {
    fn size(&self) -> u32 {
        self.size
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }

    fn flow_key(&self) -> u64 {
        self.flow
    }

    fn rtt(&self) -> Span {
        Span::ZERO
    }
}
