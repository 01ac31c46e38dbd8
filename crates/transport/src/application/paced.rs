//! Sending by the clock: messages at times that nothing in the network changes, over one flow or each as a flow of its own.

use std::fmt::Debug;

use ecnlab_units::{Rng, Sizes, Span, Time, Times};

use super::{Application, Calls, Demand, Event, Member, Transfer};

/// Says what comes next.
pub trait Pace: Send {
    /// The next message, or `None` if there is none for good.
    fn next(&mut self) -> Option<Message>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// From the message before, or from the start to the first one.
    pub after: Span,
    pub bytes: u64,
}

/// Messages whose pauses and sizes are drawn, each kind from a stream of its own.
pub struct Renewal {
    pauses: Times,
    sizes: Sizes,
    pause_rng: Rng,
    size_rng: Rng,
}

impl Renewal {
    pub fn new(pauses: Times, sizes: Sizes, rng: &Rng) -> Renewal {
        Renewal { pauses, sizes, pause_rng: rng.for_purpose("pauses"), size_rng: rng.for_purpose("sizes") }
    }
}

impl Pace for Renewal {
    fn next(&mut self) -> Option<Message> {
        // Without a pause between messages time would stand still.
        let after = self.pauses.draw(&mut self.pause_rng).max(Span::from_picos(1));
        Some(Message { after, bytes: self.sizes.draw(&mut self.size_rng) })
    }
}

/// A pace and the message that it said last.
struct Ahead<P> {
    pace: P,
    next: Option<(Time, u64)>,
}

impl<P: Pace> Ahead<P> {
    fn new(pace: P) -> Ahead<P> {
        Ahead { pace, next: None }
    }

    /// Asks for what comes after something at `from`.
    fn look(&mut self, from: Time) {
        self.next = self.pace.next().map(|message| (from + message.after, message.bytes));
    }

    /// The size of the next message, if it is due.
    fn due(&mut self, now: Time) -> Option<u64> {
        let (at, bytes) = self.next.filter(|(at, _)| *at <= now)?;
        self.look(at);
        Some(bytes)
    }

    fn deadline(&self) -> Option<Time> {
        self.next.map(|(at, _)| at)
    }
}

/// The one flow of a [`Stream`].
const FLOW: Member = 0;

/// All messages over one flow.
pub struct Stream<P> {
    ahead: Ahead<P>,
    is_open: bool,
}

impl<P: Pace> Stream<P> {
    pub fn new(pace: P) -> Stream<P> {
        Stream { ahead: Ahead::new(pace), is_open: false }
    }

    fn send(&mut self, bytes: u64, calls: &mut dyn Calls) {
        if self.is_open {
            calls.produce(FLOW, Demand::open(bytes));
        } else {
            calls.open(FLOW, Demand::open(bytes));
        }
        self.is_open = true;
    }
}

impl<P: Pace> Application for Stream<P> {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        match event {
            Event::Start => self.ahead.look(now),
            Event::Timer => {}
            Event::Opened(_) | Event::Delivered(..) | Event::Acknowledged(_) => return,
        }
        while let Some(bytes) = self.ahead.due(now) {
            self.send(bytes, calls);
        }
        if self.ahead.next.is_none() {
            calls.done(FLOW);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.ahead.deadline()
    }
}

/// Each message as a flow of its own, which comes, is acknowledged to the end, and goes. Its place is taken by one that comes later, so there
/// are as many places as flows that were there at once.
pub struct Arriving<P> {
    ahead: Ahead<P>,
    /// Flows that have come.
    came: u64,
    /// By member: since when its flow is there, and how much it brings.
    places: Vec<(Time, u64)>,
    free: Vec<Member>,
}

impl<P: Pace> Arriving<P> {
    pub fn new(pace: P) -> Arriving<P> {
        Arriving { ahead: Ahead::new(pace), came: 0, places: Vec::new(), free: Vec::new() }
    }

    fn arrive(&mut self, bytes: u64, now: Time, calls: &mut dyn Calls) {
        let member = self.free.pop().unwrap_or(self.places.len() as Member);
        self.places.resize(self.places.len().max(member as usize + 1), (now, bytes));
        self.places[member as usize] = (now, bytes);
        calls.seat(member, self.came);
        calls.open(member, Demand::closing(bytes));
        self.came += 1;
    }

    fn leave(&mut self, member: Member, calls: &mut dyn Calls) {
        let (began, bytes) = self.places[member as usize];
        calls.finished(&Transfer { member, began, bytes });
        self.free.push(member);
    }
}

impl<P: Pace> Application for Arriving<P> {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        match event {
            Event::Start => self.ahead.look(now),
            Event::Timer => {}
            Event::Acknowledged(member) => return self.leave(member, calls),
            Event::Opened(_) | Event::Delivered(..) => return,
        }
        while let Some(bytes) = self.ahead.due(now) {
            self.arrive(bytes, now, calls);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.ahead.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, Tape};
    use super::*;

    /// A message a second, so many of them.
    struct Seconds(u64);

    impl Pace for Seconds {
        fn next(&mut self) -> Option<Message> {
            self.0 = self.0.checked_sub(1)?;
            Some(Message { after: Span::from_secs(1), bytes: 100 + self.0 })
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_stream_opens_once_and_is_done_behind_its_last_message() {
        let (mut stream, mut tape) = (Stream::new(Seconds(2)), Tape::default());
        stream.on(Event::Start, at(5), &mut tape);
        assert_eq!((Some(at(6)), 0), (stream.deadline(), tape.asked.len()));
        stream.on(Event::Timer, at(6), &mut tape);
        stream.on(Event::Acknowledged(0), at(6), &mut tape);
        stream.on(Event::Timer, at(7), &mut tape);
        let expected = [Asked::Open(0, Demand::open(101)), Asked::Produce(0, Demand::open(100)), Asked::Done(0)];
        assert_eq!((expected.as_slice(), None), (tape.asked.as_slice(), stream.deadline()));
    }

    #[test]
    fn a_flow_that_left_makes_room_for_the_next_that_comes() {
        let (mut arriving, mut tape) = (Arriving::new(Seconds(3)), Tape::default());
        arriving.on(Event::Start, at(0), &mut tape);
        arriving.on(Event::Timer, at(1), &mut tape);
        arriving.on(Event::Timer, at(2), &mut tape);
        arriving.on(Event::Acknowledged(0), at(2), &mut tape);
        arriving.on(Event::Timer, at(3), &mut tape);
        let comes = |member, number, bytes| [Asked::Seat(member, number), Asked::Open(member, Demand::closing(bytes))];
        let left = Asked::Finished(Transfer { member: 0, began: at(1), bytes: 102 });
        let expected = [comes(0, 0, 102).as_slice(), &comes(1, 1, 101), &[left], &comes(0, 2, 100)].concat();
        assert_eq!((expected, None), (tape.asked, arriving.deadline()));
    }
}
