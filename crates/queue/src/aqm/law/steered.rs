//! RED whose `max_p` a law of its own moves: what Adaptive RED, Feng's self-configuring RED and PD-RED share.

use ecnlab_units::{Rate, Rng, Time};

use super::red::{Ramp, Settings};
use crate::aqm::red::{Mode, Red};
use crate::aqm::{Aqm, Arrival, Expiry, Glimpse, Wish};

/// How `max_p` moves. Averages are in packets.
pub(crate) trait Steering: Send {
    /// `max_p` after an arrival, before it is judged.
    fn arrived(&mut self, _average: f64, _now: Time, max_p: f64) -> f64 {
        max_p
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    /// `max_p` after the deadline has come; it sets the next one.
    fn expire(&mut self, _average: f64, _now: Time, max_p: f64) -> f64 {
        max_p
    }

    /// The link has another rate: the thresholds from now on, if they follow it.
    fn retune(&mut self, _rate: Rate) -> Option<(f64, f64)> {
        None
    }

    /// Whether the gentle ramp begins at `max_p` as it is now, and not as it was at first.
    fn gentle_follows(&self) -> bool {
        true
    }
}

/// RED with a `max_p` that is steered.
pub(crate) struct Steered<S> {
    red: Red,
    law: Settings,
    max_p: f64,
    pub(crate) steering: S,
}

impl<S: Steering> Steered<S> {
    pub(crate) fn new(law: Settings, mode: Mode, rate: Rate, steering: S) -> Steered<S> {
        Steered { red: Red::new(law, mode, rate), law, max_p: law.max_p, steering }
    }

    fn move_to(&mut self, max_p: f64) {
        if max_p != self.max_p {
            self.max_p = max_p;
            self.draw();
        }
    }

    /// Draws RED's ramp anew.
    fn draw(&mut self) {
        let Settings { min_th, max_th, max_p, gentle, .. } = self.law;
        let begins = if self.steering.gentle_follows() { self.max_p } else { max_p };
        self.red.follow(Ramp::new(min_th, max_th, begins, gentle).with_max_p(self.max_p));
    }
}

impl<S: Steering> Aqm for Steered<S> {
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let idle = self.red.measure(arrival);
        let max_p = self.steering.arrived(self.red.average_at(arrival.now), arrival.now, self.max_p);
        self.move_to(max_p);
        self.red.judge(arrival, idle, rng)
    }

    fn on_moved_in(&mut self, packet: &Glimpse, now: Time) {
        self.red.on_moved_in(packet, now);
    }

    fn idle(&mut self, now: Time) {
        self.red.idle(now);
    }

    fn deadline(&self) -> Option<Time> {
        self.steering.deadline()
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        let max_p = self.steering.expire(self.red.average_at(expiry.now), expiry.now, self.max_p);
        self.move_to(max_p);
    }

    fn retune(&mut self, rate: Rate) {
        self.red.retune(rate);
        if let Some((min_th, max_th)) = self.steering.retune(rate) {
            (self.law.min_th, self.law.max_th) = (min_th, max_th);
            self.draw();
        }
    }

    fn average(&self) -> Option<f64> {
        self.red.average()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.red.gauges(show);
        show("max_p", self.max_p);
    }
}
