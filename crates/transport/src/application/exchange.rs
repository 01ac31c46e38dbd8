//! A request there and a response back, one after another: what RFC 2884, section 5.3 measures with netperf's connect, request, response test.
//!
//! ```text
//! client   SYN          request                  (think)  SYN          request
//!              \       /       \                /             \       /
//! server        SYN ACK         response, close                SYN ACK   ...
//! ```
//!
//! The server answers when it can read the last byte of the request, and the exchange ends when the client can read the last byte of the response.
//! Then the client closes too, unless the connection is kept, and begins the next one.

use ecnlab_units::{Rng, Sizes, Time, Times, parameters};

use super::{Application, ApplicationSpec, Calls, Connection, Demand, Event, Heading, Member, Transfer};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct Settings {
        /// Application data of a request, from the client to the server.
        #[source("RFC 2884, section 5.3")]
        pub request: Sizes = "1 KB", 1..=1e12;
        /// Application data of a response, from the server to the client.
        #[source("RFC 2884, section 5.3")]
        pub response: Sizes = "5 KB", 1..=1e12;
        /// Pause from the end of a response to the next request.
        #[source("RFC 2884, section 5.3: 0 s")]
        pub think: Times = "0 s", 0..=86_400;
        /// Exchanges in all; 0 is no end.
        #[source("RFC 2884, section 5.3")]
        pub count: u64 = "0", 0..=1e12;
        /// Each exchange over a new connection, or all over the same one.
        #[source("RFC 9112, section 9.3")]
        pub connection: Connection = "new";
    }
}

impl Settings {
    pub fn plan(self) -> Exchanges {
        let Settings { request, response, think, count, connection } = self;
        Exchanges { request, response, think, count, connection }
    }
}

/// What all applications of this kind in a group have in common.
#[derive(Clone, Debug)]
pub struct Exchanges {
    request: Sizes,
    response: Sizes,
    think: Times,
    count: u64,
    connection: Connection,
}

impl ApplicationSpec for Exchanges {
    fn members(&self) -> Vec<Heading> {
        Exchange::members(1)
    }

    fn hears_deliveries(&self) -> bool {
        true
    }

    fn start(&self, rng: Rng) -> Box<dyn Application> {
        let [requests, responses, thinks] = ["requests", "responses", "thinks"].map(|purpose| rng.for_purpose(purpose));
        let exchange = Exchange::new(0, self.connection);
        Box::new(Running { plan: self.clone(), exchange, requests, responses, thinks, finished: 0, began: Time::ZERO, next: None })
    }
}

struct Running {
    plan: Exchanges,
    exchange: Exchange,
    requests: Rng,
    responses: Rng,
    thinks: Rng,
    finished: u64,
    began: Time,
    /// When the next exchange begins.
    next: Option<Time>,
}

impl Application for Running {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        match event {
            Event::Start | Event::Timer => self.begin(now, calls),
            Event::Delivered(member, bytes) => {
                if self.exchange.delivered(member, bytes, calls) {
                    self.end(now, calls);
                }
            }
            Event::Opened(_) | Event::Acknowledged(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

impl Running {
    fn begin(&mut self, now: Time, calls: &mut dyn Calls) {
        (self.next, self.began) = (None, now);
        let (request, response) = (self.plan.request.draw(&mut self.requests), self.plan.response.draw(&mut self.responses));
        self.exchange.ask(request, response, calls);
    }

    fn end(&mut self, now: Time, calls: &mut dyn Calls) {
        self.finished += 1;
        calls.finished(&Transfer { member: self.exchange.server, began: self.began, bytes: self.exchange.response });
        if self.finished == self.plan.count {
            calls.done(self.exchange.client);
            calls.done(self.exchange.server);
        } else {
            self.next = Some(now + self.plan.think.draw(&mut self.thinks));
        }
    }
}

/// A request and its response, over a connection of their own or one that is kept. Its two flows are a client's and a server's.
#[derive(Debug)]
pub struct Exchange {
    pub client: Member,
    pub server: Member,
    connection: Connection,
    /// Whether the server has sent over the connection that is kept.
    is_answered: bool,
    /// Whether the client has opened it.
    is_open: bool,
    /// What the server has not read of the request.
    request_left: u64,
    /// What the client has not read of the response.
    response_left: u64,
    /// Application data of the response.
    pub response: u64,
}

impl Exchange {
    /// The flows of so many exchanges side by side.
    pub fn members(exchanges: u32) -> Vec<Heading> {
        [Heading::Against, Heading::Along].repeat(exchanges as usize)
    }

    /// The exchange with this number, whose flows are the members of that place.
    pub fn new(number: u32, connection: Connection) -> Exchange {
        let (client, server) = (2 * number, 2 * number + 1);
        Exchange { client, server, connection, is_answered: false, is_open: false, request_left: 0, response_left: 0, response: 0 }
    }

    /// The number of the exchange that has this member.
    pub fn number_of(member: Member) -> usize {
        member as usize / 2
    }

    /// The client sends a request, to which the server will respond.
    pub fn ask(&mut self, request: u64, response: u64, calls: &mut dyn Calls) {
        (self.request_left, self.response_left, self.response) = (request, response, response);
        if self.is_open {
            return calls.produce(self.client, Demand::open(request));
        }
        self.is_open = self.connection == Connection::Keep;
        self.is_answered = false;
        calls.open(self.client, Demand::open(request));
    }

    /// A member's sink can read more. Whether that ends the exchange.
    pub fn delivered(&mut self, member: Member, bytes: u64, calls: &mut dyn Calls) -> bool {
        if member == self.client {
            self.request_left -= bytes;
            if self.request_left == 0 {
                self.respond(calls);
            }
            return false;
        }
        self.response_left -= bytes;
        let ended = self.response_left == 0;
        if ended && self.connection == Connection::New {
            calls.produce(self.client, Demand::closing(0));
        }
        ended
    }

    fn respond(&mut self, calls: &mut dyn Calls) {
        let demand = Demand { bytes: self.response, closes: self.connection == Connection::New };
        if self.is_answered {
            return calls.produce(self.server, demand);
        }
        self.is_answered = true;
        calls.answer(self.server, self.client, demand);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::super::testing::{Asked, Tape};
    use super::*;

    /// Two exchanges of 100 and 250 bytes; each second one of the four parts is read.
    fn asked(connection: &str) -> Vec<Asked> {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in [("request", "100 B"), ("response", "250 B"), ("think", "1 s"), ("count", "2"), ("connection", connection)] {
            values.read(name, text).unwrap();
        }
        let (mut running, mut tape) = (Settings::of(&values).plan().start(Rng::for_role(1, "source 0")), Tape::default());
        running.on(Event::Start, Time::ZERO, &mut tape);
        for (member, bytes, second) in [(0, 60, 1), (0, 40, 2), (1, 250, 3)] {
            running.on(Event::Delivered(member, bytes), Time::ZERO + Span::from_secs(second), &mut tape);
        }
        running.on(Event::Timer, running.deadline().unwrap(), &mut tape);
        for (member, bytes) in [(0, 100), (1, 250)] {
            running.on(Event::Delivered(member, bytes), Time::ZERO + Span::from_secs(6), &mut tape);
        }
        tape.asked
    }

    fn ended(second: u64) -> Asked {
        Asked::Finished(Transfer { member: 1, began: Time::ZERO + Span::from_secs(second), bytes: 250 })
    }

    #[test]
    fn it_connects_asks_responds_closes_and_begins_again() {
        let one = |began| {
            let parts =
                [Asked::Open(0, Demand::open(100)), Asked::Answer(1, 0, Demand::closing(250)), Asked::Produce(0, Demand::closing(0))];
            [parts.as_slice(), &[ended(began)]].concat()
        };
        assert_eq!([one(0), one(4), vec![Asked::Done(0), Asked::Done(1)]].concat(), asked("new"));
    }

    #[test]
    fn over_a_kept_connection_both_sides_go_on() {
        let first = [Asked::Open(0, Demand::open(100)), Asked::Answer(1, 0, Demand::open(250)), ended(0)];
        let second = [Asked::Produce(0, Demand::open(100)), Asked::Produce(1, Demand::open(250)), ended(4)];
        assert_eq!([first.as_slice(), &second, &[Asked::Done(0), Asked::Done(1)]].concat(), asked("keep"));
    }
}
