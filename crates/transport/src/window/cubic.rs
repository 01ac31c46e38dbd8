//! CUBIC (RFC 9438): the window follows a cubic of the time since congestion avoidance began, with its plateau at the last maximum.
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C)                               sections 4.2, 4.4, 4.5
//! target     = W_cubic(t + RTT) within [cwnd, 1.5 cwnd];   cwnd += (target - cwnd) / cwnd
//! W_est     += alpha / cwnd,  alpha = 3 (1 - beta) / (1 + beta), and 1 from W_est = cwnd_prior on      section 4.3
//!              the window is W_est while W_cubic(t) < W_est
//! cut:         W_max = cwnd, or cwnd (1 + beta) / 2 if that is below the last W_max                    sections 4.6, 4.7
//! after slow start, the first one or a timeout's:  K = 0, W_max = cwnd_epoch                           sections 4.8, 4.10
//! t leaves out the time in which the application kept the window from growing                          sections 4.2, 5.8
//! a cut that was for nothing: W_max, cwnd_prior and the epoch are as before it                         section 4.9
//! ```
//!
//! Growth counts segments, not acknowledgements, and one that covers more than a window goes no further than the target.
//! Two cases that the RFC leaves open: W_est below the window does not lower it, since an acknowledgement is no sign of congestion; and a
//! response to marks that leaves more than W_max (ABE, DCTCP) begins where a slow start ends, on the plateau.

use ecnlab_units::{Span, Time, math};

use super::{Acked, CongestionControl, CutCause, Window};
use crate::settings::Settings;

/// Most that the window aims at for the next round trip, as a multiple of what it is (section 4.2).
const MOST_GROWTH: f64 = 1.5;

/// The RFC's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicSettings {
    pub c: f64,
    pub beta: f64,
    pub fast_convergence: bool,
    pub reno_friendly: bool,
}

impl CubicSettings {
    pub fn of(settings: &Settings) -> CubicSettings {
        CubicSettings {
            c: settings.cubic_c,
            beta: settings.cubic_beta,
            fast_convergence: settings.cubic_fast_convergence,
            reno_friendly: settings.cubic_reno_friendly,
        }
    }
}

pub struct Cubic {
    settings: CubicSettings,
    /// Zero before the first cut.
    w_max: f64,
    /// The window before the last cut; zero before the first, so that Reno's own growth counts from the start.
    cwnd_prior: f64,
    stage: Stage,
    /// `w_max`, `cwnd_prior` and `stage` before the last cut.
    before_cut: (f64, f64, Stage),
    /// When the window last had the chance to grow.
    updated: Time,
}

#[derive(Clone, Copy)]
enum Stage {
    SlowStart,
    /// Cut, and not yet above the threshold: recovery may leave the window a little below it.
    Cut,
    Avoidance(Epoch),
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy)]
struct Epoch {
    began: Time,
    k: f64,
    w_est: f64,
}

impl Cubic {
    pub fn new(settings: CubicSettings) -> Cubic {
        let stage = Stage::SlowStart;
        Cubic { settings, w_max: 0.0, cwnd_prior: 0.0, stage, before_cut: (0.0, 0.0, stage), updated: Time::ZERO }
    }

    /// The stage of congestion avoidance that is on, or begins now with a window of `cwnd`.
    fn epoch(&mut self, cwnd: f64, now: Time) -> Epoch {
        let after_slow_start = match self.stage {
            Stage::Avoidance(epoch) => return epoch,
            Stage::SlowStart => true,
            Stage::Cut => false,
        };
        if after_slow_start || self.w_max < cwnd {
            self.w_max = cwnd;
        }
        Epoch { began: now, k: math::cbrt((self.w_max - cwnd) / self.settings.c), w_est: cwnd }
    }

    fn avoid(&mut self, window: &mut Window, segments: u64, acked: &Acked) {
        let cwnd = window.cwnd;
        let mut epoch = self.epoch(cwnd, acked.now);
        let share = segments as f64 / cwnd;
        epoch.w_est += self.alpha(epoch.w_est) * share;
        self.stage = Stage::Avoidance(epoch);
        let t = acked.now.since(epoch.began);
        window.cwnd = if self.settings.reno_friendly && self.w_cubic(&epoch, t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let target = self.w_cubic(&epoch, t + acked.srtt).clamp(cwnd, MOST_GROWTH * cwnd);
            cwnd + (target - cwnd) * share.min(1.0)
        };
    }

    fn w_cubic(&self, epoch: &Epoch, t: Span) -> f64 {
        let from_plateau = t.seconds() - epoch.k;
        self.settings.c * from_plateau * from_plateau * from_plateau + self.w_max
    }

    fn alpha(&self, w_est: f64) -> f64 {
        let beta = self.settings.beta;
        if w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) }
    }
}

impl CongestionControl for Cubic {
    fn acknowledged(&mut self, window: &mut Window, acked: &Acked) {
        if window.in_slow_start() && matches!(self.stage, Stage::Avoidance(_)) {
            self.stage = Stage::SlowStart;
        }
        let left = window.slow_start(acked.segments);
        if left > 0 {
            self.avoid(window, left, acked);
        }
        self.updated = acked.now;
    }

    fn loss_share(&self) -> f64 {
        self.settings.beta
    }

    fn cut(&mut self, before: &Window, cause: CutCause, _now: Time) {
        self.before_cut = (self.w_max, self.cwnd_prior, self.stage);
        let falls = self.settings.fast_convergence && before.cwnd < self.w_max;
        self.w_max = if falls { before.cwnd * (1.0 + self.settings.beta) / 2.0 } else { before.cwnd };
        self.cwnd_prior = before.cwnd;
        self.stage = if cause == CutCause::Timeout { Stage::SlowStart } else { Stage::Cut };
    }

    fn restored(&mut self, _now: Time) {
        (self.w_max, self.cwnd_prior, self.stage) = self.before_cut;
    }

    fn not_used(&mut self, now: Time) {
        if let Stage::Avoidance(epoch) = &mut self.stage {
            epoch.began += now.since(self.updated);
        }
        self.updated = now;
    }

    fn resumed(&mut self, now: Time, _last_sent: Time) {
        self.not_used(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::acked;

    const RFC: CubicSettings = CubicSettings { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true };

    /// A control and its window, shown evenly spaced acknowledgements.
    struct Flow {
        cubic: Cubic,
        window: Window,
        rtt: Span,
        now: Time,
    }

    impl Flow {
        fn new(settings: CubicSettings, cwnd: f64, ssthresh: f64, rtt: Span) -> Flow {
            Flow { cubic: Cubic::new(settings), window: Window { cwnd, ssthresh }, rtt, now: Time::ZERO }
        }

        fn cut(&mut self, cause: CutCause) {
            self.cubic.cut(&self.window, cause, self.now);
            self.window.ssthresh = self.window.cwnd * self.cubic.loss_share();
            self.window.cwnd = if cause == CutCause::Timeout { 1.0 } else { self.window.ssthresh };
        }

        fn acknowledge(&mut self, segments: u64) {
            self.cubic.acknowledged(&mut self.window, &acked(segments, self.now, self.rtt));
        }

        /// A window's acknowledgements over a round trip.
        fn round(&mut self, segments_at_a_time: u64) {
            let acknowledgements = self.window.cwnd as u64 / segments_at_a_time;
            for _ in 0..acknowledgements {
                self.acknowledge(segments_at_a_time);
                self.now += Span::from_picos(self.rtt.picos() / acknowledgements);
            }
        }

        fn epoch(&self) -> Epoch {
            let Stage::Avoidance(epoch) = self.cubic.stage else { panic!("not in congestion avoidance") };
            epoch
        }
    }

    /// A window of 1000 segments, cut, in a path of 100 ms: K = cbrt(300 / 0.4) = 9.09 s.
    fn cut_from_1000(settings: CubicSettings) -> Flow {
        let mut flow = Flow::new(settings, 1000.0, 500.0, Span::from_millis(100));
        flow.cut(CutCause::Loss);
        flow
    }

    fn assert_on_the_curve(flow: &Flow, k: f64, w_max: f64) {
        let from_plateau = flow.now.seconds() - k;
        let expected = 0.4 * from_plateau * from_plateau * from_plateau + w_max;
        assert!((flow.window.cwnd / expected - 1.0).abs() < 0.01, "{} at {} s, not {expected}", flow.window.cwnd, flow.now.seconds());
    }

    #[test]
    fn the_window_is_the_cubic_of_the_time_through_the_concave_and_the_convex_region() {
        for segments_at_a_time in [1, 2] {
            let mut flow = cut_from_1000(RFC);
            while flow.now < Time::ZERO + Span::from_secs(15) {
                flow.round(segments_at_a_time);
                assert_on_the_curve(&flow, math::cbrt(750.0), 1000.0);
            }
        }
    }

    #[test]
    fn marks_and_losses_shape_the_curve_alike() {
        let after = |cause| {
            let mut flow = Flow::new(RFC, 1000.0, 500.0, Span::from_millis(100));
            flow.cut(cause);
            flow.round(1);
            flow.window
        };
        assert_eq!(after(CutCause::Loss), after(CutCause::Mark));
    }

    #[test]
    fn a_cut_below_the_last_maximum_lowers_the_next_plateau_further() {
        for (fast_convergence, w_max) in [(true, 900.0 * 0.85), (false, 900.0)] {
            let mut flow = cut_from_1000(CubicSettings { fast_convergence, ..RFC });
            flow.window.cwnd = 900.0;
            flow.cut(CutCause::Loss);
            assert_eq!((w_max, 900.0), (flow.cubic.w_max, flow.cubic.cwnd_prior));
        }
    }

    /// 10 ms and 14 segments: the cubic adds a segment in more than a second.
    #[test]
    fn on_a_short_path_growth_is_that_of_aimd_and_reno_s_own_from_the_old_window_on() {
        let mut flow = Flow::new(RFC, 20.0, 10.0, Span::from_millis(10));
        flow.cut(CutCause::Loss);
        assert_eq!(14.0, flow.window.cwnd);
        let mut aimd = 14.0;
        for _ in 0..400 {
            flow.acknowledge(1);
            flow.now += Span::from_micros(600);
            aimd += if aimd >= 20.0 { 1.0 } else { 3.0 * 0.3 / 1.7 } / aimd;
            assert!((flow.window.cwnd - aimd).abs() < 0.1, "{} not {aimd}", flow.window.cwnd);
        }
        assert!(aimd > 25.0);
    }

    #[test]
    fn without_the_reno_friendly_region_the_cubic_alone_counts() {
        let mut flow = Flow::new(CubicSettings { reno_friendly: false, ..RFC }, 20.0, 10.0, Span::from_millis(10));
        flow.cut(CutCause::Loss);
        while flow.now < Time::ZERO + Span::from_secs(3) {
            flow.round(1);
        }
        assert_on_the_curve(&flow, math::cbrt(6.0 / 0.4), 20.0);
    }

    #[test]
    fn a_window_far_below_the_curve_grows_by_half_in_a_round_trip_and_no_faster() {
        let mut flow = Flow::new(RFC, 10.0, 10.0, Span::from_millis(100));
        flow.acknowledge(1);
        flow.now += Span::from_secs(3600);
        for segments_at_a_time in [1, 2, 5] {
            let before = flow.window.cwnd;
            flow.round(segments_at_a_time);
            let grown = flow.window.cwnd / before;
            assert!((1.4..=1.5 + 1e-9).contains(&grown), "{grown}");
        }
        let before = flow.window.cwnd;
        flow.acknowledge(1000);
        assert!(flow.window.cwnd <= 1.5 * before);
    }

    #[test]
    fn a_window_above_the_curve_is_not_lowered() {
        let mut flow = cut_from_1000(RFC);
        flow.acknowledge(1);
        flow.cubic.w_max = 100.0;
        let before = flow.window.cwnd;
        flow.acknowledge(1);
        assert!((before..before + 1.0).contains(&flow.window.cwnd));
    }

    #[test]
    fn after_a_timeout_slow_start_ends_on_a_plateau() {
        let mut flow = cut_from_1000(RFC);
        flow.round(1);
        flow.cut(CutCause::Timeout);
        let ssthresh = flow.window.ssthresh;
        while flow.window.in_slow_start() {
            flow.round(1);
        }
        flow.round(1);
        let epoch = flow.epoch();
        assert_eq!(0.0, epoch.k);
        assert!((ssthresh..ssthresh + 1.0).contains(&flow.cubic.w_max));
        flow.now = Time::ZERO + flow.now.since(epoch.began);
        assert_on_the_curve(&flow, 0.0, ssthresh);
    }

    #[test]
    fn a_slow_start_that_ends_without_a_cut_ends_on_a_plateau_too() {
        let mut flow = Flow::new(RFC, 99.0, 100.0, Span::from_millis(100));
        flow.acknowledge(2);
        assert_eq!((100.0, 0.0, Time::ZERO), (flow.cubic.w_max, flow.epoch().k, flow.epoch().began));
    }

    #[test]
    fn a_recovery_that_leaves_the_window_below_the_threshold_keeps_the_curve() {
        let mut flow = cut_from_1000(RFC);
        flow.window.cwnd = 600.0;
        for _ in 0..110 {
            flow.acknowledge(1);
        }
        assert_eq!((1000.0, math::cbrt(750.0)), (flow.cubic.w_max, flow.epoch().k));
    }

    #[test]
    fn a_cut_that_leaves_more_than_the_maximum_begins_on_the_plateau() {
        let mut flow = cut_from_1000(RFC);
        flow.window.cwnd = 900.0;
        flow.cut(CutCause::Mark);
        flow.window.cwnd = 890.0;
        flow.acknowledge(1);
        assert_eq!((890.0, 0.0), (flow.cubic.w_max, flow.epoch().k));
    }

    #[test]
    fn a_cut_that_was_for_nothing_leaves_no_trace() {
        let mut flow = cut_from_1000(RFC);
        flow.round(1);
        let (before, window) = (flow.epoch(), flow.window);
        for cause in [CutCause::Loss, CutCause::Timeout] {
            flow.cut(cause);
            flow.cubic.restored(flow.now);
            flow.window = window;
            let after = flow.epoch();
            assert_eq!((before.began, before.k, 1000.0, 1000.0), (after.began, after.k, flow.cubic.w_max, flow.cubic.cwnd_prior));
        }
    }

    #[test]
    fn time_in_which_the_window_is_not_used_does_not_count() {
        let mut busy = cut_from_1000(RFC);
        let mut idle = cut_from_1000(RFC);
        busy.round(1);
        idle.round(1);
        idle.now += Span::from_secs(30);
        idle.cubic.not_used(idle.now);
        idle.now += Span::from_secs(30);
        idle.cubic.resumed(idle.now, Time::ZERO);
        // The first acknowledgement of the round before was a tick ago.
        let tick = busy.now.since(busy.cubic.updated);
        idle.now += tick;
        busy.round(1);
        idle.round(1);
        assert!((busy.window.cwnd - idle.window.cwnd).abs() < 1e-6, "{} not {}", idle.window.cwnd, busy.window.cwnd);
    }
}
