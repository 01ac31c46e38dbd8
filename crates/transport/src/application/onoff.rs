//! Bursts at a constant rate with pauses between them, as ns-2's `Application/Traffic/Exponential` and `/Pareto` send.
//!
//! ```text
//! packets of a burst = on / interval, to the nearest, at least 1;   interval = payload / rate
//! last packet of a burst -> first of the next:   interval + off
//! ```
//!
//! `on` and `off` are drawn for each burst. As in ns-2 it starts with a pause. The sum of many such flows with Pareto bursts and pauses is
//! self-similar (Willinger, Taqqu, Sherman and Wilson 1997).

use ecnlab_units::{Rate, Rng, Span, TimeDistribution, parameters};

use super::paced::{DelayedMessage, MessageSource, MessageStream};
use super::{Application, ApplicationSpec, WriteTimes};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct OnOffSettings {
        /// Rate of application data within a burst, without headers.
        #[source("ns-2 Application/Traffic/Exponential, rate_")]
        #[usual(10000..=1e8, log)]
        pub rate: Rate = "64 kbps";
        /// Length of a burst.
        #[source("ns-2 Application/Traffic/Exponential, burst_time_")]
        pub on: TimeDistribution = "exponential 0.5 s", 0..=8_640_000;
        /// Pause between bursts.
        #[source("ns-2 Application/Traffic/Exponential, idle_time_")]
        pub off: TimeDistribution = "exponential 0.5 s", 0..=8_640_000;
    }
}

/// Parameters shared by all flows of an on-off application.
#[derive(Clone, Debug)]
pub struct OnOffSpec {
    payload: u32,
    interval: Span,
    on: TimeDistribution,
    off: TimeDistribution,
}

impl OnOffSettings {
    /// Parameters for packets with `payload` bytes of application data.
    pub fn into_application_spec(self, payload: u32) -> OnOffSpec {
        OnOffSpec { payload, interval: self.rate.transmission_time(payload).max(Span::from_picos(1)), on: self.on, off: self.off }
    }
}

impl ApplicationSpec for OnOffSpec {
    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::AtTimer
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(MessageStream::new(OnOffSource::new(self.clone(), &rng)))
    }
}

struct OnOffSource {
    spec: OnOffSpec,
    on_rng: Rng,
    off_rng: Rng,
    /// Packets left in the burst.
    left: u64,
}

impl OnOffSource {
    fn new(spec: OnOffSpec, rng: &Rng) -> OnOffSource {
        OnOffSource { spec, on_rng: rng.for_purpose("on"), off_rng: rng.for_purpose("off"), left: 0 }
    }

    fn draw_burst_packets(&mut self) -> u64 {
        let interval = self.spec.interval.picos();
        let on = self.spec.on.draw(&mut self.on_rng).picos();
        (on.saturating_add(interval / 2) / interval).max(1)
    }
}

impl MessageSource for OnOffSource {
    fn next_message(&mut self) -> Option<DelayedMessage> {
        let mut after = self.spec.interval;
        if self.left == 0 {
            self.left = self.draw_burst_packets();
            after += self.spec.off.draw(&mut self.off_rng);
        }
        self.left -= 1;
        Some(DelayedMessage { delay: after, bytes: u64::from(self.spec.payload) })
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;

    /// The pauses before each of `packets` packets of 125 bytes, which last 1 ms each at the default of 1 Mbps.
    fn pauses_before_packets(parameters: &[(&str, &str)], packets: usize) -> Vec<f64> {
        let mut values = Values::defaults(OnOffSettings::PARAMETERS);
        values.set_from_text("rate", "1 Mbps").unwrap();
        parameters.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        let mut running = OnOffSource::new(OnOffSettings::from_values(&values).into_application_spec(125), &Rng::for_role(1, "onoff"));
        std::iter::from_fn(|| running.next_message()).take(packets).map(|message| message.delay.seconds()).collect()
    }

    #[test]
    fn a_burst_holds_its_packets_and_a_pause_comes_on_top_of_an_interval() {
        let pauses = pauses_before_packets(&[("on", "3 ms"), ("off", "10 ms")], 7);
        assert_eq!(vec![0.011, 0.001, 0.001, 0.011, 0.001, 0.001, 0.011], pauses);
    }

    #[test]
    fn a_burst_has_at_least_one_packet() {
        assert_eq!(vec![0.011; 3], pauses_before_packets(&[("on", "0 s"), ("off", "10 ms")], 3));
    }

    #[test]
    fn the_mean_rate_is_the_share_of_the_time_that_bursts_take() {
        for (on, off) in [("exponential 0.2 s", "exponential 0.6 s"), ("pareto 0.2 s, shape 2.5", "pareto 0.6 s, shape 2.5")] {
            let pauses = pauses_before_packets(&[("on", on), ("off", off)], 400_000);
            let busy = pauses.len() as f64 * 0.001 / pauses.iter().sum::<f64>();
            // With 2 000 bursts and pauses its relative standard deviation is at most 0.75 sqrt(2) / sqrt(2000) = 2.4 %: four of them.
            assert!((busy - 0.25).abs() < 0.025, "{on}: {busy}");
        }
    }
}
