//! Constant bit rate: packets at a fixed interval, as ns-2's `Application/Traffic/CBR` sends.
//!
//! ```text
//! interval = payload / rate,   with noise times a uniform draw from 0.5 to 1.5
//! ```

use ecnlab_units::{Rate, Rng, Span, parameters};

use super::paced::{DelayedMessage, MessageSource, MessageStream};
use super::{Application, ApplicationSpec, WriteTimes};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct CbrSettings {
        /// Rate of application data, without headers.
        #[source("ns-2 Application/Traffic/CBR, rate_")]
        #[usual(10000..=1e8, log)]
        pub rate: Rate = "448 kbps";
        /// Variation of each interval by up to half of it, so that identical flows do not stay in step.
        #[source("ns-2 Application/Traffic/CBR, random_")]
        pub noise: bool = "false";
        /// Packets to send in all; 0 is unlimited.
        #[source("ns-2 Application/Traffic/CBR, maxpkts_")]
        pub count: u64 = "0", 0..=1e12, "packets";
    }
}

/// Parameters shared by all flows of a CBR application.
#[derive(Clone, Copy, Debug)]
pub struct CbrSpec {
    payload: u32,
    interval: Span,
    noise: bool,
    count: u64,
}

impl CbrSettings {
    /// Parameters for packets with `payload` bytes of application data.
    pub fn into_application_spec(self, payload: u32) -> CbrSpec {
        CbrSpec { payload, interval: self.rate.transmission_time(payload).max(Span::from_picos(1)), noise: self.noise, count: self.count }
    }
}

impl ApplicationSpec for CbrSpec {
    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::AtTimer
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(MessageStream::new(CbrSource { spec: *self, rng, sent: 0 }))
    }
}

struct CbrSource {
    spec: CbrSpec,
    rng: Rng,
    sent: u64,
}

impl MessageSource for CbrSource {
    fn next_message(&mut self) -> Option<DelayedMessage> {
        if self.spec.count > 0 && self.sent == self.spec.count {
            return None;
        }
        let after = if self.sent == 0 { Span::ZERO } else { self.draw_interval() };
        self.sent += 1;
        Some(DelayedMessage { delay: after, bytes: u64::from(self.spec.payload) })
    }
}

impl CbrSource {
    fn draw_interval(&mut self) -> Span {
        let interval = self.spec.interval;
        if !self.spec.noise {
            return interval;
        }
        Span::from_picos((interval.picos() as f64 * (0.5 + self.rng.uniform())) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_messages(noise: bool, count: u64) -> Vec<DelayedMessage> {
        let settings = CbrSettings { rate: Rate::from_bps(1_000_000).unwrap(), noise, count };
        let mut running = CbrSource { spec: settings.into_application_spec(1000), rng: Rng::for_role(1, "cbr"), sent: 0 };
        std::iter::from_fn(|| running.next_message()).take(10_000).collect()
    }

    #[test]
    fn the_first_packet_goes_out_at_once_and_the_others_keep_the_interval() {
        let expected: Vec<_> = [0, 8, 8].map(|ms| DelayedMessage { delay: Span::from_millis(ms), bytes: 1000 }).to_vec();
        assert_eq!(expected, first_messages(false, 3));
    }

    #[test]
    fn noise_spreads_the_intervals_by_half_and_keeps_the_rate() {
        let pauses: Vec<_> = first_messages(true, 0)[1..].iter().map(|message| message.delay.seconds()).collect();
        assert!(pauses.iter().all(|pause| (0.004..0.012).contains(pause)));
        let mean = pauses.iter().sum::<f64>() / pauses.len() as f64;
        // The standard deviation of one is 8 ms / sqrt(12).
        assert!((mean - 0.008).abs() < 4.0 * 0.008 / 12f64.sqrt() / 100.0, "{mean}");
    }
}
