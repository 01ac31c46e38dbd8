//! A queue under watch: after every operation it is compared with the account of what it told.

use ecnlab_units::{Rate, Rng, Span, Time};

use super::describe;
use super::ledger::{Event, Ledger};
use super::packet::Packet;
use super::rule::{Fault, Rule, ensure};
use super::subject::{Chosen, Subject};
use crate::{Discipline, Limit, Queue, Take};

/// Largest packet that is offered.
pub const LARGEST: u32 = 1500;

/// A queue, its clock, its stream of random numbers and its account.
pub struct Watched {
    queue: Queue<Packet>,
    limit: Limit,
    beyond: u32,
    gauges: Vec<&'static str>,
    pub ledger: Ledger,
    pub now: Time,
    rng: Rng,
    offered: u64,
}

/// What a queue answered when it was asked for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    Packet(Packet),
    Later(Time),
    Empty,
}

impl Watched {
    pub fn new(subject: &Subject, chosen: &Chosen, limit: Limit, seed: u64) -> Watched {
        let gauges = subject.discipline.gauges.iter().chain(subject.aqm.map_or(&[][..], |aqm| aqm.gauges));
        let composition = subject.composition(chosen, limit);
        Watched {
            queue: composition.build(rate()),
            limit,
            beyond: subject.beyond(),
            gauges: gauges.map(|gauge| gauge.name).collect(),
            ledger: Ledger::new(composition.marks()),
            now: Time::ZERO,
            rng: Rng::for_role(seed, "queue"),
            offered: 0,
        }
    }

    /// Offers a packet, which gets the next number.
    pub fn offer(&mut self, packet: Packet) -> Result<(), Fault> {
        self.offered += 1;
        let packet = Packet { number: self.offered, ..packet };
        let (fits, dropped) = (self.fits(packet.size), self.ledger.dropped());
        let Watched { queue, ledger, rng, now, .. } = self;
        let deadline = queue.deadline();
        ledger.arrive(packet, *now);
        queue.offer(packet, *now, rng, &mut |deed| ledger.hear(deed));
        ledger.settle()?;
        ensure!(fits || ledger.dropped() > dropped, Full, "nothing was dropped for packet {}", packet.number);
        self.inspect(deadline)
    }

    /// Asks for the next packet.
    pub fn take(&mut self) -> Result<Taken, Fault> {
        let Watched { queue, ledger, rng, now, .. } = self;
        let deadline = queue.deadline();
        let answer = queue.take(*now, rng, &mut |deed| ledger.hear(deed));
        ledger.settle()?;
        let taken = match answer {
            Take::Packet { frame, waited, band } => {
                ensure!(band < queue.bands(), Books, "band {band} of {}", queue.bands());
                ledger.send(&frame, waited, *now, band)?;
                Taken::Packet(frame)
            }
            Take::Later(time) => {
                ensure!(time > *now, Later, "asked at {} s it says {} s", now.seconds(), time.seconds());
                ensure!(ledger.packets() > 0, Later, "nothing waits and it says {} s", time.seconds());
                ledger.events.push(Event::Later(time));
                Taken::Later(time)
            }
            Take::Empty => {
                ensure!(ledger.packets() == 0, Books, "it says that it is empty, and {} packets wait", ledger.packets());
                ledger.events.push(Event::Empty);
                Taken::Empty
            }
        };
        self.inspect(deadline)?;
        Ok(taken)
    }

    /// Takes packets until the queue says that it is empty, waiting where it asks for that.
    pub fn drain(&mut self) -> Result<(), Fault> {
        let mut taken = self.take()?;
        while taken != Taken::Empty {
            if let Taken::Later(time) = taken {
                if !self.wait_until(time, FEW)? {
                    return Ok(());
                }
                taken = self.take()?;
                ensure!(!matches!(taken, Taken::Later(_)), Later, "asked at {} s, as it said, it puts off: {taken}", time.seconds());
            } else {
                taken = self.take()?;
            }
        }
        Ok(())
    }

    /// Lets time pass, with the deadlines that fall into it.
    pub fn wait(&mut self, span: Span) -> Result<(), Fault> {
        self.wait_until(self.now + span, MANY).map(|_| ())
    }

    /// Lets time pass, but not beyond so many deadlines: random values may ask for one every picosecond.
    pub fn wait_a_little(&mut self, span: Span) -> Result<(), Fault> {
        self.wait_until(self.now + span, FEW).map(|_| ())
    }

    /// Lets time pass until then; false if there were so many deadlines that the clock was stopped before.
    fn wait_until(&mut self, time: Time, deadlines: u32) -> Result<bool, Fault> {
        for _ in 0..deadlines {
            let Some(due) = self.queue.deadline().filter(|&due| due <= time) else {
                self.now = time.max(self.now);
                return Ok(true);
            };
            self.now = due.max(self.now);
            self.expire()?;
        }
        Ok(false)
    }

    fn expire(&mut self) -> Result<(), Fault> {
        self.queue.expire(self.now, &mut self.rng);
        let next = self.queue.deadline();
        ensure!(next.is_none_or(|next| next > self.now), Timers, "at {} s the next deadline is {}", self.now.seconds(), describe::at(next));
        self.ledger.events.push(Event::Deadline(next));
        self.inspect(next)
    }

    /// The link has another rate.
    pub fn retune(&mut self, rate: Rate) -> Result<(), Fault> {
        let deadline = self.queue.deadline();
        self.queue.retune(rate);
        self.inspect(deadline)
    }

    /// Whether a packet of this size fits.
    fn fits(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(most) => self.ledger.packets() < (most + self.beyond) as usize,
            Limit::Bytes(most) => self.ledger.bytes() + u64::from(size) <= most + u64::from(self.beyond * LARGEST),
        }
    }

    fn inspect(&self, deadline: Option<Time>) -> Result<(), Fault> {
        self.queue.assert_conservation();
        self.ledger.compare(&self.queue)?;
        let held = match self.limit {
            Limit::Packets(most) => self.queue.len() <= (most + self.beyond) as usize,
            Limit::Bytes(most) => self.queue.bytes() <= most + u64::from(self.beyond * LARGEST),
        };
        ensure!(held, Limit, "{} packets of {} bytes wait in {}", self.queue.len(), self.queue.bytes(), describe::buffer(self.limit));
        let now = self.queue.deadline();
        ensure!(now == deadline, Timers, "the deadline was {} and is {}", describe::at(deadline), describe::at(now));
        self.inspect_gauges()
    }

    fn inspect_gauges(&self) -> Result<(), Fault> {
        let average = self.queue.average();
        ensure!(
            average.is_none_or(|average| average.is_finite() && average >= 0.0),
            Gauges,
            "the average is {}",
            average.unwrap_or(f64::NAN)
        );
        let mut wrong = None;
        self.queue.gauges(&mut |name, value| {
            if !value.is_finite() || !self.gauges.contains(&name) {
                wrong.get_or_insert((name, value));
            }
        });
        let Some((name, value)) = wrong else { return Ok(()) };
        Err(Fault::new(Rule::Gauges, format!("it shows {name} = {value}; declared are {}", self.gauges.join(", "))))
    }
}

/// The rate of the line that queues are made for.
pub fn rate() -> Rate {
    Rate::from_bps(10_000_000).expect("10 Mbps is above zero")
}

/// Deadlines after which a spell of waiting is cut short.
const FEW: u32 = 500;
const MANY: u32 = 200_000;
