//! Adaptive video: a player that fetches segment after segment over one connection and chooses how much detail each shall have.
//!
//! ```text
//! buffer   r = reservoir, c = cushion, B = what is buffered:   f(B) rises from the lowest rate at r to the highest at r + c
//!            B <= r       the lowest rate                      f(B) at least the next higher rate   the highest one below f(B)
//!            B >= r + c   the highest rate                     f(B) at most the next lower rate     the lowest one above f(B)
//!                                                              else the same as before
//! throughput   the highest rate that is at most the harmonic mean of the last five segments' throughput
//! ```
//!
//! The first rule is BBA-0 (Huang, Johari, McKeown, Trunnell and Watson 2014, algorithm 1), the second the rate-based player that Yin, Jindal, Sekar and
//! Sinopoli (2015) compare with. A segment is asked for as soon as it has room in the buffer; what is buffered is played from the first segment on, and
//! a segment that comes when nothing is left plays at once. A segment is one transaction.

use std::collections::VecDeque;
use std::sync::Arc;

use ecnlab_units::{Rate, Rng, Sizes, Span, Time, parameters, words};

use super::exchange::Exchange;
use super::{Application, ApplicationSpec, Calls, Connection, Event, Heading, Transfer};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct Settings {
        /// The rates that the video is there in, from the lowest to the highest; auto is 235, 375, 560, 750, 1050, 1750, 2350 and 3000 kbps.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 2")]
        pub rates: Option<Vec<Rate>> = "auto";
        /// How much of the video a segment plays.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 3")]
        pub segment: Span = "4 s", 0.1..=60, "s";
        /// What the next segment's rate is chosen by.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, algorithm 1; Yin, Jindal, Sekar and Sinopoli 2015, section 7")]
        pub rule: Rule = "buffer";
        /// How much of the video fits into the buffer.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 3")]
        pub buffer: Span = "240 s", 0.1..=3600, "s";
        /// Buffered video up to which the lowest rate is taken.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 4")]
        #[when(rule = "buffer")]
        pub reservoir: Span = "90 s", 0..=3600, "s";
        /// Buffered video over which the rate rises from the lowest to the highest.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 4")]
        #[when(rule = "buffer")]
        pub cushion: Span = "126 s", 0.1..=3600, "s";
        /// Application data of a request.
        #[source("3GPP TR 25.892, HTTP traffic model")]
        pub request: Sizes = "350 B", 1..=1_000_000;
        /// Segments of the video; 0 is no end.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 2")]
        pub count: u64 = "0", 0..=1e12;
    }
}

words! {
    /// What a segment's rate is chosen by.
    pub enum Rule { Buffer = "buffer", Throughput = "throughput" }
}

const KBPS: [u64; 8] = [235, 375, 560, 750, 1050, 1750, 2350, 3000];

impl Settings {
    /// Contradictions: the parameter's name and what is wrong.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let falls = self.rates.iter().flat_map(|rates| rates.windows(2)).find(|pair| pair[1] <= pair[0]);
        if let Some([before, after]) = falls {
            wrong.push((
                "rates",
                format!("{} bps stands behind {} bps: give them from the lowest to the highest", after.bps(), before.bps()),
            ));
        }
        if self.segment > self.buffer {
            wrong.push(("segment", format!("{} s must fit into the buffer of {} s", self.segment.seconds(), self.buffer.seconds())));
        }
        if self.rule == Rule::Buffer && self.reservoir + self.cushion > self.buffer {
            let sum = (self.reservoir + self.cushion).seconds();
            wrong.push(("cushion", format!("{sum} s of reservoir and cushion must fit into the buffer of {} s", self.buffer.seconds())));
        }
        wrong
    }

    pub fn plan(self) -> Video {
        let Settings { rates, segment, rule, buffer, reservoir, cushion, request, count } = self;
        let rates = rates.map_or_else(|| KBPS.map(|kbps| kbps * 1000).to_vec(), |rates| rates.into_iter().map(Rate::bps).collect());
        Video { rates: rates.into(), segment, rule, buffer, reservoir, cushion, request, count }
    }
}

/// What all applications of this kind in a group have in common.
#[derive(Clone, Debug)]
pub struct Video {
    /// In bits per second.
    rates: Arc<[u64]>,
    segment: Span,
    rule: Rule,
    buffer: Span,
    reservoir: Span,
    cushion: Span,
    request: Sizes,
    count: u64,
}

impl ApplicationSpec for Video {
    fn members(&self) -> Vec<Heading> {
        Exchange::members(1)
    }

    fn hears_deliveries(&self) -> bool {
        true
    }

    fn start(&self, rng: Rng) -> Box<dyn Application> {
        let exchange = Exchange::new(0, Connection::Keep);
        let player = Player { buffered: Span::ZERO, at: Time::ZERO, rate: 0, throughputs: VecDeque::new() };
        Box::new(Running { plan: self.clone(), rng, exchange, player, finished: 0, began: Time::ZERO, next: None })
    }
}

struct Running {
    plan: Video,
    rng: Rng,
    exchange: Exchange,
    player: Player,
    finished: u64,
    began: Time,
    /// When the next segment has room.
    next: Option<Time>,
}

/// What a player knows.
#[derive(Debug)]
struct Player {
    /// Video that was buffered at `at`; since then it has been played.
    buffered: Span,
    at: Time,
    /// Number of the rate in use.
    rate: usize,
    /// Of the last segments, in bits per second.
    throughputs: VecDeque<f64>,
}

impl Application for Running {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        match event {
            Event::Start | Event::Timer => self.ask(now, calls),
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
    fn ask(&mut self, now: Time, calls: &mut dyn Calls) {
        (self.next, self.began) = (None, now);
        self.player.rate = self.plan.chosen(&self.player, now);
        let bits = self.plan.rates[self.player.rate] as f64 * self.plan.segment.seconds();
        let request = self.plan.request.draw(&mut self.rng);
        self.exchange.ask(request, ((bits / 8.0) as u64).max(1), calls);
    }

    fn end(&mut self, now: Time, calls: &mut dyn Calls) {
        self.finished += 1;
        let bytes = self.exchange.response;
        calls.finished(&Transfer { member: self.exchange.server, began: self.began, bytes });
        self.player.heard(bytes as f64 * 8.0 / now.since(self.began).seconds());
        self.player.buffered = self.player.left(now) + self.plan.segment;
        self.player.at = now;
        if self.finished == self.plan.count {
            calls.done(self.exchange.client);
            calls.done(self.exchange.server);
        } else {
            let filled = self.player.buffered + self.plan.segment;
            self.next = Some(now + Span::from_picos(filled.picos().saturating_sub(self.plan.buffer.picos())));
        }
    }
}

impl Video {
    /// The number of the rate that the next segment has.
    fn chosen(&self, player: &Player, now: Time) -> usize {
        match self.rule {
            Rule::Buffer => self.by_buffer(player.left(now), player.rate),
            Rule::Throughput => player.throughput().map_or(0, |throughput| self.below(|rate| rate <= throughput)),
        }
    }

    fn by_buffer(&self, buffered: Span, rate: usize) -> usize {
        let top = self.rates.len() - 1;
        if buffered <= self.reservoir {
            return 0;
        }
        if buffered >= self.reservoir + self.cushion {
            return top;
        }
        let (lowest, highest) = (self.rates[0] as f64, self.rates[top] as f64);
        let wanted = lowest + (highest - lowest) * ((buffered - self.reservoir).seconds() / self.cushion.seconds());
        if wanted >= self.rates[(rate + 1).min(top)] as f64 {
            self.below(|rate| rate < wanted)
        } else if wanted <= self.rates[rate.saturating_sub(1)] as f64 {
            (self.below(|rate| rate <= wanted) + 1).min(top)
        } else {
            rate
        }
    }

    /// The number of the last rate that fits, or of the lowest.
    fn below(&self, fits: impl Fn(f64) -> bool) -> usize {
        self.rates.iter().rposition(|&rate| fits(rate as f64)).unwrap_or(0)
    }
}

impl Player {
    /// Video that is buffered.
    fn left(&self, now: Time) -> Span {
        Span::from_picos(self.buffered.picos().saturating_sub(now.since(self.at).picos()))
    }

    fn heard(&mut self, throughput: f64) {
        if self.throughputs.len() == HEARD {
            self.throughputs.pop_front();
        }
        self.throughputs.push_back(throughput);
    }

    /// The harmonic mean of the last segments, once there is one.
    fn throughput(&self) -> Option<f64> {
        let inverse: f64 = self.throughputs.iter().map(|throughput| 1.0 / throughput).sum();
        (!self.throughputs.is_empty()).then(|| self.throughputs.len() as f64 / inverse)
    }
}

/// Segments whose throughput counts.
const HEARD: usize = 5;

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::super::Demand;
    use super::super::testing::{Asked, Tape};
    use super::*;

    fn video(parameters: &[(&str, &str)]) -> Video {
        let mut values = Values::defaults(Settings::PARAMETERS);
        parameters.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        Settings::of(&values).plan()
    }

    #[test]
    fn the_rate_follows_the_buffer_as_in_the_papers_algorithm() {
        let video = video(&[]);
        let chosen = |seconds, rate| video.by_buffer(Span::from_secs(seconds), rate);
        // Within the cushion f(B) = 235 + 2765 (B - 90) / 126 kbps: 564 at 105 s, 893 at 120 s, 1617 at 153 s.
        assert_eq!([0, 0, 7, 7], [chosen(10, 5), chosen(90, 7), chosen(216, 0), chosen(239, 3)]);
        assert_eq!([2, 3, 4], [chosen(105, 0), chosen(120, 1), chosen(153, 2)], "the highest rate below f(B)");
        assert_eq!([3, 4, 4], [chosen(120, 3), chosen(153, 4), chosen(120, 4)], "no step before f(B) reaches the next rate");
        assert_eq!([3, 4], [chosen(105, 5), chosen(120, 5)], "the lowest rate above f(B)");
    }

    #[test]
    fn the_rate_follows_the_harmonic_mean_of_five_segments() {
        let video = video(&[("rule", "throughput")]);
        let mut player = Player { buffered: Span::ZERO, at: Time::ZERO, rate: 0, throughputs: VecDeque::new() };
        assert_eq!(0, video.chosen(&player, Time::ZERO));
        [9e9, 1e6, 2e6, 1e6, 2e6, 1e6].into_iter().for_each(|throughput| player.heard(throughput));
        assert!((player.throughput().unwrap() - 1.25e6).abs() < 1.0, "5 / (3 / 1 + 2 / 2) Mbps");
        assert_eq!(4, video.chosen(&player, Time::ZERO));
    }

    #[test]
    fn a_full_buffer_lets_the_next_segment_wait_until_it_has_room() {
        let video = Video { rates: [1_000_000].into(), ..video(&[("buffer", "10 s"), ("rule", "throughput"), ("request", "100 B")]) };
        let (mut running, mut tape) = (video.start(Rng::for_role(1, "source 0")), Tape::default());
        running.on(Event::Start, Time::ZERO, &mut tape);
        let mut now = Time::ZERO;
        let mut asked = Vec::new();
        for _ in 0..4 {
            running.on(Event::Delivered(0, 100), now, &mut tape);
            now += Span::from_secs(1);
            running.on(Event::Delivered(1, 500_000), now, &mut tape);
            now = running.deadline().unwrap();
            asked.push(now.seconds());
            running.on(Event::Timer, now, &mut tape);
        }
        // Each segment takes 1 s and brings 4 s: 4 s, then 7 s, which leaves no room for another 4 s until 1 s later.
        assert_eq!(vec![1.0, 3.0, 7.0, 11.0], asked);
        assert_eq!([Asked::Open(0, Demand::open(100)), Asked::Answer(1, 0, Demand::open(500_000))], tape.asked[..2]);
    }

    #[test]
    fn rates_rise_and_what_is_buffered_fits() {
        let wrong = |parameters: &[(&str, &str)]| {
            let mut values = Values::defaults(Settings::PARAMETERS);
            parameters.iter().for_each(|(name, text)| values.read(name, text).unwrap());
            Settings::of(&values).check().first().map(|(name, _)| *name)
        };
        assert_eq!(Some("cushion"), wrong(&[("buffer", "100 s")]));
        assert_eq!(Some("segment"), wrong(&[("buffer", "3 s"), ("rule", "throughput")]));
        let falling = Settings {
            rates: Some([2, 1].map(|bps| Rate::from_bps(bps).unwrap()).to_vec()),
            ..Settings::of(&Values::defaults(Settings::PARAMETERS))
        };
        assert_eq!((Some("rates"), None), (falling.check().first().map(|(name, _)| *name), wrong(&[])));
    }
}
