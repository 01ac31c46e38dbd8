//! RED with a controller of `max_p`: shared by Adaptive RED, Feng's self-configuring RED and PD-RED.

use ecnlab_units::{Rate, Rng, Time};

use super::red::{ProbabilityRamp, Settings};
use crate::aqm::red::{Red, SignalMode};
use crate::aqm::{Aqm, Arrival, EnqueueVerdict, GaugeReport, PacketInfo, TimerContext};

/// Controller of `max_p`. Averages are in packets.
pub trait MaxPController: Send {
    /// `max_p` for an arrival, before the verdict on it.
    fn on_arrival(&mut self, _average: f64, _now: Time, max_p: f64) -> f64 {
        max_p
    }

    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// `max_p` after the timer has fired; sets the timer again.
    fn on_timer(&mut self, _average: f64, _now: Time, max_p: f64) -> f64 {
        max_p
    }

    /// The link's rate has changed; returns the new thresholds, if they follow it.
    fn thresholds_for_new_link_rate(&mut self, _rate: Rate) -> Option<(f64, f64)> {
        None
    }

    /// Whether the gentle ramp begins at `max_p` as it is now, and not as it was at first.
    fn gentle_ramp_follows_max_p(&self) -> bool {
        true
    }
}

/// RED with a `max_p` that a controller changes.
pub struct AdaptiveRed<S> {
    red: Red,
    settings: Settings,
    max_p: f64,
    pub controller: S,
}

impl<S: MaxPController> AdaptiveRed<S> {
    pub fn new(settings: Settings, mode: SignalMode, rate: Rate, controller: S) -> AdaptiveRed<S> {
        AdaptiveRed { red: Red::new(settings, mode, rate), settings, max_p: settings.max_p, controller }
    }

    fn set_max_p(&mut self, max_p: f64) {
        if max_p != self.max_p {
            self.max_p = max_p;
            self.update_ramp();
        }
    }

    /// Sets RED's ramp for the current `max_p`.
    fn update_ramp(&mut self) {
        let Settings { min_th, max_th, max_p, gentle, .. } = self.settings;
        let begins = if self.controller.gentle_ramp_follows_max_p() { self.max_p } else { max_p };
        self.red.set_ramp(ProbabilityRamp::new(min_th, max_th, begins, gentle).with_max_p_keeping_gentle(self.max_p));
    }
}

impl<S: MaxPController> Aqm for AdaptiveRed<S> {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let idle = self.red.update_average_taking_idle_start(arrival);
        let max_p = self.controller.on_arrival(self.red.average_at(arrival.now), arrival.now, self.max_p);
        self.set_max_p(max_p);
        self.red.decide(arrival, idle, rng)
    }

    fn on_moved_in(&mut self, packet: &PacketInfo, now: Time) {
        self.red.on_moved_in(packet, now);
    }

    fn on_queue_empty(&mut self, now: Time) {
        self.red.on_queue_empty(now);
    }

    fn next_timer(&self) -> Option<Time> {
        self.controller.next_timer()
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        let max_p = self.controller.on_timer(self.red.average_at(expiry.now), expiry.now, self.max_p);
        self.set_max_p(max_p);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.red.set_link_rate(rate);
        if let Some((min_th, max_th)) = self.controller.thresholds_for_new_link_rate(rate) {
            (self.settings.min_th, self.settings.max_th) = (min_th, max_th);
            self.update_ramp();
        }
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.red.average_queue_length()
    }

    fn report_gauges(&self, report: GaugeReport) {
        self.red.report_gauges(report);
        report("max_p", self.max_p);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.red.signals_arriving_packets_only()
    }
}
