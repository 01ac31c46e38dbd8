//! Sends what a list of times and sizes says, each as a flow of its own or all over one.

use std::sync::Arc;

use ecnlab_units::{Rng, Span, parameters};

use super::paced::{Arriving, Message, Pace, Stream};
use super::{Application, ApplicationSpec, Heading};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct Settings {
        /// When something is sent, from the start on; never before the one ahead of it in the list.
        #[source("ns-2 Application/Traffic/Trace")]
        #[must be given]
        pub times: Vec<Span> = "0 s", 0..=8_640_000;
        /// Application data of each.
        #[source("ns-2 Application/Traffic/Trace")]
        #[must be given]
        pub sizes: Vec<u64> = "10 KB", 1..=1e15, "bytes";
    }
}

/// What is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Each {
    /// A flow of its own.
    Flow,
    /// A message over the one flow.
    Message,
}

impl Settings {
    /// Contradictions: the parameter's name and what is wrong.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let (times, sizes) = (self.times.len(), self.sizes.len());
        if times != sizes {
            return vec![("sizes", format!("{sizes} must be as many as times, which are {times}"))];
        }
        let back = self.times.windows(2).position(|pair| pair[1] < pair[0]);
        let told = |at: usize| format!("number {} comes before number {}: give them in order", at + 2, at + 1);
        back.map(|at| ("times", told(at))).into_iter().collect()
    }

    pub fn plan(self, each: Each) -> Replay {
        Replay { list: self.times.into_iter().zip(self.sizes).collect(), each }
    }
}

/// What all applications of this kind in a group have in common.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Times from the start on, and sizes.
    list: Arc<[(Span, u64)]>,
    each: Each,
}

impl ApplicationSpec for Replay {
    fn members(&self) -> Vec<Heading> {
        match self.each {
            Each::Flow => Vec::new(),
            Each::Message => vec![Heading::Along],
        }
    }

    fn grows(&self) -> bool {
        self.each == Each::Flow
    }

    fn doubts(&self, lasting: Span) -> Vec<(&'static str, String)> {
        let late = self.list.iter().filter(|(time, _)| *time >= lasting).count();
        let told = |of: usize| format!("{late} of {of} come after the end: run longer than that, or leave them out");
        (late > 0).then(|| ("times", told(self.list.len()))).into_iter().collect()
    }

    fn start(&self, _rng: Rng) -> Box<dyn Application> {
        let reading = Reading { list: Arc::clone(&self.list), at: 0, last: Span::ZERO };
        match self.each {
            Each::Flow => Box::new(Arriving::new(reading)),
            Each::Message => Box::new(Stream::new(reading)),
        }
    }
}

struct Reading {
    list: Arc<[(Span, u64)]>,
    at: usize,
    last: Span,
}

impl Pace for Reading {
    fn next(&mut self) -> Option<Message> {
        let &(time, bytes) = self.list.get(self.at)?;
        let after = time - self.last;
        self.at += 1;
        self.last = time;
        Some(Message { after, bytes })
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Time;

    use super::super::testing::{Asked, Tape};
    use super::super::{Demand, Event};
    use super::*;

    fn settings(seconds: &[u64], sizes: &[u64]) -> Settings {
        Settings { times: seconds.iter().map(|&second| Span::from_secs(second)).collect(), sizes: sizes.to_vec() }
    }

    /// What it asks for, run to its end.
    fn asked(settings: Settings, each: Each) -> Vec<Asked> {
        let (mut running, mut tape) = (settings.plan(each).start(Rng::for_role(1, "replay")), Tape::default());
        running.on(Event::Start, Time::ZERO, &mut tape);
        while let Some(at) = running.deadline() {
            running.on(Event::Timer, at, &mut tape);
        }
        tape.asked
    }

    #[test]
    fn what_the_list_says_is_sent_also_two_at_a_time() {
        let flows = asked(settings(&[0, 3, 3], &[100, 200, 300]), Each::Flow);
        let opened: Vec<_> = flows.into_iter().filter(|asked| matches!(asked, Asked::Open(..))).collect();
        assert_eq!([(0, 100), (1, 200), (2, 300)].map(|(member, bytes)| Asked::Open(member, Demand::closing(bytes))).to_vec(), opened);
        let messages = asked(settings(&[1, 2], &[100, 200]), Each::Message);
        assert_eq!(vec![Asked::Open(0, Demand::open(100)), Asked::Produce(0, Demand::open(200)), Asked::Done(0)], messages);
    }

    #[test]
    fn times_and_sizes_go_together_and_time_goes_on() {
        let wrong = |seconds: &[u64], sizes: &[u64]| settings(seconds, sizes).check().first().map(|(name, _)| *name);
        assert_eq!([Some("sizes"), Some("times"), None], [wrong(&[1, 2], &[1]), wrong(&[2, 1], &[1, 1]), wrong(&[1, 1], &[1, 1])]);
    }
}
