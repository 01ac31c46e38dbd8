//! Somebody who types: one small message after each pause, as ns-2's `Application/Telnet` sends.
//!
//! ns-2 draws its pauses from an exponential distribution, or from tcplib's table of measured ones. Paxson and Floyd (1995, section 4) fit a Pareto
//! distribution with a shape of 0.9 to that table, whose mean is 1.1 s: `interval = "pareto 1.1 s, shape 0.9, at most 200 s"`.

use ecnlab_units::{Rng, Sizes, Times, parameters};

use super::paced::{Renewal, Stream};
use super::{Application, ApplicationSpec};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct Settings {
        /// Pause before each message.
        #[source("ns-2 Application/Telnet, interval_")]
        pub interval: Times = "exponential 1 s", 0.001..=86_400;
        /// Application data of a message.
        #[source("Paxson and Floyd 1995, section 4")]
        pub size: Sizes = "1 B", 1..=1_000_000;
    }
}

/// What all flows of such an application have in common.
#[derive(Clone, Debug)]
pub struct Telnet {
    interval: Times,
    size: Sizes,
}

impl Settings {
    pub fn plan(self) -> Telnet {
        Telnet { interval: self.interval, size: self.size }
    }
}

impl ApplicationSpec for Telnet {
    fn start(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(Stream::new(Renewal::new(self.interval.clone(), self.size.clone(), &rng)))
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time, Values};

    use super::super::testing::{Asked, Tape};
    use super::super::{Demand, Event};
    use super::*;

    #[test]
    fn each_message_goes_over_the_same_connection_after_its_pause() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.read("interval", "2 s").unwrap();
        let mut telnet = Settings::of(&values).plan().start(Rng::for_role(1, "telnet"));
        let mut tape = Tape::default();
        telnet.on(Event::Start, Time::ZERO, &mut tape);
        assert_eq!(Some(Time::ZERO + Span::from_secs(2)), telnet.deadline());
        for second in [2, 4] {
            telnet.on(Event::Timer, Time::ZERO + Span::from_secs(second), &mut tape);
        }
        assert_eq!(vec![Asked::Open(0, Demand::open(1)), Asked::Produce(0, Demand::open(1))], tape.asked);
    }
}
