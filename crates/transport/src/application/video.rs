//! Adaptive video: a player that fetches segment after segment over one connection, and selects the bit rate of each.
//!
//! ```text
//! buffer   r = reservoir, c = cushion, B = buffered video:     f(B) rises from the lowest rate at r to the highest at r + c
//!            B <= r       the lowest rate                      f(B) at least the next higher rate   the highest one below f(B)
//!            B >= r + c   the highest rate                     f(B) at most the next lower rate     the lowest one above f(B)
//!                                                              else the previous rate
//! throughput   the highest rate that is at most the harmonic mean of the last five segments' throughput
//! ```
//!
//! The first rule is BBA-0 (Huang, Johari, McKeown, Trunnell and Watson 2014, algorithm 1). The second is the rate-based player that Yin,
//! Jindal, Sekar and Sinopoli (2015) compare with. A segment is requested as soon as it fits into the buffer. Playback starts with the
//! first segment, and a segment that arrives at an empty buffer plays at once. A segment is one transaction.

use std::collections::VecDeque;
use std::sync::Arc;

use ecnlab_units::{Rate, Rng, SizeDistribution, Span, Time, parameters, words};

use super::exchange::RequestResponse;
use super::{AppEvent, Application, ApplicationSpec, ConnectionReuse, EngineCalls, FinishedTransaction, FlowDirection};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct VideoSettings {
        /// Rates of the video, from the lowest to the highest; auto is 235, 375, 560, 750, 1050, 1750, 2350 and 3000 kbps.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 2")]
        pub rates: Option<Vec<Rate>> = "auto";
        /// Playing time of a segment.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 3")]
        #[usual(1..=10, linear)]
        pub segment: Span = "4 s", 0.1..=60, "s";
        /// Rule for the next segment's rate.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, algorithm 1; Yin, Jindal, Sekar and Sinopoli 2015, section 7")]
        pub rule: RateRule = "buffer";
        /// Capacity of the buffer in playing time.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 3")]
        #[usual(5..=300, log)]
        pub buffer: Span = "240 s", 0.1..=3600, "s";
        /// Buffered video up to which the lowest rate is chosen.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 4")]
        #[when(rule = "buffer")]
        pub reservoir: Span = "90 s", 0..=3600, "s";
        /// Buffered video over which the rate rises from the lowest to the highest.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 4")]
        #[when(rule = "buffer")]
        pub cushion: Span = "126 s", 0.1..=3600, "s";
        /// Application data of a request.
        #[source("3GPP TR 25.892, HTTP traffic model")]
        pub request: SizeDistribution = "350 B", 1..=1_000_000;
        /// Segments of the video; 0 is unlimited.
        #[source("Huang, Johari, McKeown, Trunnell and Watson 2014, section 2")]
        pub count: u64 = "0", 0..=1e12;
    }
}

words! {
    /// What a segment's rate is chosen by.
    pub enum RateRule { Buffer = "buffer", Throughput = "throughput" }
}

const DEFAULT_RATES_KBPS: [u64; 8] = [235, 375, 560, 750, 1050, 1750, 2350, 3000];

impl VideoSettings {
    /// Contradictions as pairs of parameter name and explanation.
    pub fn contradictions(&self) -> Vec<(&'static str, String)> {
        let mut wrong = Vec::new();
        let falls = self.rates.iter().flat_map(|rates| rates.windows(2)).find(|pair| pair[1] <= pair[0]);
        if let Some([before, after]) = falls {
            wrong.push((
                "rates",
                format!("{} bps comes after {} bps; fix: give them from the lowest to the highest", after.bps(), before.bps()),
            ));
        }
        if self.segment > self.buffer {
            wrong.push(("segment", format!("{} s must fit into the buffer of {} s", self.segment.seconds(), self.buffer.seconds())));
        }
        if self.rule == RateRule::Buffer && self.reservoir + self.cushion > self.buffer {
            let sum = (self.reservoir + self.cushion).seconds();
            wrong.push(("cushion", format!("{sum} s of reservoir and cushion must fit into the buffer of {} s", self.buffer.seconds())));
        }
        wrong
    }

    pub fn into_application_spec(self) -> VideoSpec {
        let VideoSettings { rates, segment, rule, buffer, reservoir, cushion, request, count } = self;
        let rates =
            rates.map_or_else(|| DEFAULT_RATES_KBPS.map(|kbps| kbps * 1000).to_vec(), |rates| rates.into_iter().map(Rate::bps).collect());
        VideoSpec { rates: rates.into(), segment, rule, buffer, reservoir, cushion, request, count }
    }
}

/// Parameters shared by all video applications of a group.
#[derive(Clone, Debug)]
pub struct VideoSpec {
    /// In bits per second.
    rates: Arc<[u64]>,
    segment: Span,
    rule: RateRule,
    buffer: Span,
    reservoir: Span,
    cushion: Span,
    request: SizeDistribution,
    count: u64,
}

impl ApplicationSpec for VideoSpec {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        RequestResponse::flow_directions_of_exchanges(1)
    }

    fn wants_delivery_events(&self) -> bool {
        true
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        let exchange = RequestResponse::new(0, ConnectionReuse::Keep);
        let player = VideoPlayer { buffered: Span::ZERO, at: Time::ZERO, rate: 0, throughputs: VecDeque::new() };
        Box::new(VideoClient { spec: self.clone(), rng, exchange, player, finished: 0, began: Time::ZERO, next: None })
    }
}

struct VideoClient {
    spec: VideoSpec,
    rng: Rng,
    exchange: RequestResponse,
    player: VideoPlayer,
    finished: u64,
    began: Time,
    /// Time at which the next segment fits into the buffer.
    next: Option<Time>,
}

/// State of the player.
#[derive(Debug)]
struct VideoPlayer {
    /// Video buffered at time `at`; playback has drained it since.
    buffered: Span,
    at: Time,
    /// Index of the current rate.
    rate: usize,
    /// Throughput of the last segments, in bits per second.
    throughputs: VecDeque<f64>,
}

impl Application for VideoClient {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start | AppEvent::Timer => self.fetch_segment(now, calls),
            AppEvent::Delivered(member, bytes) => {
                if self.exchange.on_delivered(member, bytes, calls) {
                    self.on_segment_fetched(now, calls);
                }
            }
            AppEvent::Opened(_) | AppEvent::Acknowledged(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

impl VideoClient {
    fn fetch_segment(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        (self.next, self.began) = (None, now);
        self.player.rate = self.spec.choose_rate_index(&self.player, now);
        let bits = self.spec.rates[self.player.rate] as f64 * self.spec.segment.seconds();
        let request = self.spec.request.draw(&mut self.rng);
        self.exchange.send_request(request, ((bits / 8.0) as u64).max(1), calls);
    }

    fn on_segment_fetched(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        self.finished += 1;
        let bytes = self.exchange.response;
        calls.record_transaction(&FinishedTransaction { flow: self.exchange.server, started_at: self.began, bytes });
        self.player.add_throughput(bytes as f64 * 8.0 / now.since(self.began).seconds());
        self.player.buffered = self.player.buffered_at(now) + self.spec.segment;
        self.player.at = now;
        if self.finished == self.spec.count {
            calls.finish_flow(self.exchange.client);
            calls.finish_flow(self.exchange.server);
        } else {
            let filled = self.player.buffered + self.spec.segment;
            self.next = Some(now + filled.saturating_sub(self.spec.buffer));
        }
    }
}

impl VideoSpec {
    /// Index of the rate for the next segment.
    fn choose_rate_index(&self, player: &VideoPlayer, now: Time) -> usize {
        match self.rule {
            RateRule::Buffer => self.rate_index_by_buffer(player.buffered_at(now), player.rate),
            RateRule::Throughput => {
                player.mean_throughput().map_or(0, |throughput| self.highest_rate_index_where(|rate| rate <= throughput))
            }
        }
    }

    fn rate_index_by_buffer(&self, buffered: Span, rate: usize) -> usize {
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
            self.highest_rate_index_where(|rate| rate < wanted)
        } else if wanted <= self.rates[rate.saturating_sub(1)] as f64 {
            (self.highest_rate_index_where(|rate| rate <= wanted) + 1).min(top)
        } else {
            rate
        }
    }

    /// Index of the highest rate that fits, or of the lowest.
    fn highest_rate_index_where(&self, fits: impl Fn(f64) -> bool) -> usize {
        self.rates.iter().rposition(|&rate| fits(rate as f64)).unwrap_or(0)
    }
}

impl VideoPlayer {
    /// Buffered video at time `now`.
    fn buffered_at(&self, now: Time) -> Span {
        self.buffered.saturating_sub(now.since(self.at))
    }

    fn add_throughput(&mut self, throughput: f64) {
        if self.throughputs.len() == THROUGHPUT_SAMPLES {
            self.throughputs.pop_front();
        }
        self.throughputs.push_back(throughput);
    }

    /// Harmonic mean of the last segments' throughput, after the first segment.
    fn mean_throughput(&self) -> Option<f64> {
        let inverse: f64 = self.throughputs.iter().map(|throughput| 1.0 / throughput).sum();
        (!self.throughputs.is_empty()).then(|| self.throughputs.len() as f64 / inverse)
    }
}

/// Number of segments whose throughput counts.
const THROUGHPUT_SAMPLES: usize = 5;

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::super::AppWrite;
    use super::super::testing::{CallRecorder, RecordedCall};
    use super::*;

    fn video_spec(parameters: &[(&str, &str)]) -> VideoSpec {
        let mut values = Values::defaults(VideoSettings::PARAMETERS);
        parameters.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        VideoSettings::from_values(&values).into_application_spec()
    }

    #[test]
    fn the_rate_follows_the_buffer_as_in_the_papers_algorithm() {
        let video = video_spec(&[]);
        let chosen = |seconds, rate| video.rate_index_by_buffer(Span::from_secs(seconds), rate);
        // Within the cushion f(B) = 235 + 2765 (B - 90) / 126 kbps: 564 at 105 s, 893 at 120 s, 1617 at 153 s.
        assert_eq!([0, 0, 7, 7], [chosen(10, 5), chosen(90, 7), chosen(216, 0), chosen(239, 3)]);
        assert_eq!([2, 3, 4], [chosen(105, 0), chosen(120, 1), chosen(153, 2)], "the highest rate below f(B)");
        assert_eq!([3, 4, 4], [chosen(120, 3), chosen(153, 4), chosen(120, 4)], "no step before f(B) reaches the next rate");
        assert_eq!([3, 4], [chosen(105, 5), chosen(120, 5)], "the lowest rate above f(B)");
    }

    #[test]
    fn the_rate_follows_the_harmonic_mean_of_five_segments() {
        let video = video_spec(&[("rule", "throughput")]);
        let mut player = VideoPlayer { buffered: Span::ZERO, at: Time::ZERO, rate: 0, throughputs: VecDeque::new() };
        assert_eq!(0, video.choose_rate_index(&player, Time::ZERO));
        [9e9, 1e6, 2e6, 1e6, 2e6, 1e6].into_iter().for_each(|throughput| player.add_throughput(throughput));
        assert!((player.mean_throughput().unwrap() - 1.25e6).abs() < 1.0, "5 / (3 / 1 + 2 / 2) Mbps");
        assert_eq!(4, video.choose_rate_index(&player, Time::ZERO));
    }

    #[test]
    fn a_full_buffer_lets_the_next_segment_wait_until_it_has_room() {
        let video =
            VideoSpec { rates: [1_000_000].into(), ..video_spec(&[("buffer", "10 s"), ("rule", "throughput"), ("request", "100 B")]) };
        let (mut running, mut tape) = (video.instantiate(Rng::for_role(1, "source 0")), CallRecorder::default());
        running.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        let mut now = Time::ZERO;
        let mut asked = Vec::new();
        for _ in 0..4 {
            running.on_event(AppEvent::Delivered(0, 100), now, &mut tape);
            now += Span::from_secs(1);
            running.on_event(AppEvent::Delivered(1, 500_000), now, &mut tape);
            now = running.deadline().unwrap();
            asked.push(now.seconds());
            running.on_event(AppEvent::Timer, now, &mut tape);
        }
        // Each segment takes 1 s and contains 4 s of video: 4 s, then 7 s, after which another 4 s fit only 1 s later.
        assert_eq!(vec![1.0, 3.0, 7.0, 11.0], asked);
        assert_eq!(
            [RecordedCall::OpenConnection(0, AppWrite::keep_open(100)), RecordedCall::WriteReverse(1, 0, AppWrite::keep_open(500_000))],
            tape.recorded[..2]
        );
    }

    #[test]
    fn rates_rise_and_what_is_buffered_fits() {
        let wrong = |parameters: &[(&str, &str)]| {
            let mut values = Values::defaults(VideoSettings::PARAMETERS);
            parameters.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
            VideoSettings::from_values(&values).contradictions().first().map(|(name, _)| *name)
        };
        assert_eq!(Some("cushion"), wrong(&[("buffer", "100 s")]));
        assert_eq!(Some("segment"), wrong(&[("buffer", "3 s"), ("rule", "throughput")]));
        let falling = VideoSettings {
            rates: Some([2, 1].map(|bps| Rate::from_bps(bps).unwrap()).to_vec()),
            ..VideoSettings::from_values(&Values::defaults(VideoSettings::PARAMETERS))
        };
        assert_eq!((Some("rates"), None), (falling.contradictions().first().map(|(name, _)| *name), wrong(&[])));
    }
}
