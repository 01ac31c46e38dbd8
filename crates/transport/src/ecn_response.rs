//! The ECN response: the reduction of cwnd after an echo. Any response combines with any congestion control.

use ecnlab_units::CongestionLevel;

use crate::congestion::{CongestionWindow, linux};
use crate::settings::{EcnResponseName, SsthreshRounding, TcpSettings};

/// Cwnd and ssthresh after a reduction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReducedWindow {
    pub cwnd: f64,
    /// Before the minimum of two segments.
    pub ssthresh: f64,
}

/// Minimum ssthresh in segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// Reduces both cwnd and ssthresh to `share` times `from` segments (RFC 5681, section 3.2; RFC 3168, section 6.1.2).
pub fn reduced_window(from: f64, share: f64, halving: SsthreshRounding) -> ReducedWindow {
    let left = match halving {
        SsthreshRounding::Exact | SsthreshRounding::Real => from * share,
        SsthreshRounding::Integer => (from.floor() * share).floor(),
    };
    ReducedWindow { cwnd: left, ssthresh: if halving == SsthreshRounding::Real { left } else { left.floor() } }
}

impl ReducedWindow {
    /// The same ssthresh with a cwnd of one segment: the reduction after an RTO.
    pub fn with_cwnd_of_one(self) -> ReducedWindow {
        ReducedWindow { cwnd: 1.0, ..self }
    }

    /// Applies the reduction, and calls `changed` after each step, in the order in which ns-2 writes its variables.
    pub fn apply_to(self, window: &mut CongestionWindow, mut changed: impl FnMut(&CongestionWindow)) {
        window.ssthresh = self.ssthresh;
        changed(window);
        window.cwnd = self.cwnd;
        changed(window);
        //= RFC 5681, section 3.1, equation 4: the threshold is at least two segments
        if window.ssthresh < MIN_SSTHRESH {
            window.ssthresh = MIN_SSTHRESH;
            changed(window);
        }
    }
}

/// Response of cwnd to marks.
#[derive(Clone, Debug)]
pub enum EcnResponse {
    /// No response.
    None,
    /// Reduction as for a loss (RFC 3168, section 6.1.2).
    AsLoss,
    /// Smaller reduction than for a loss, in slow start too (RFC 8511, section 3; its abstract limits it to congestion avoidance).
    Abe { share: f64 },
    /// Boxed, since few responses keep an estimate.
    Dctcp(Box<DctcpAlpha>),
    /// Congestion control keeps an estimate of its own and determines the reduction (Prague).
    OfControl,
    /// A reduction for each congestion level (Durresi et al. 2001, section 2).
    Mecn { share: Box<[f64; 2]> },
}

/// DCTCP's estimate of the fraction of marked segments (RFC 8257, section 3.3), updated once per window.
#[derive(Clone, Copy, Debug)]
pub struct DctcpAlpha {
    alpha: AlphaArithmetic,
    delivered_segments: u64,
    marked_segments: u64,
    /// An ACK of all segments before this one ends the observation window.
    window_end: u64,
}

/// Arithmetic of alpha: that of the RFC, or that of Linux in 1/1024 (dctcp_update_alpha). In Linux alpha falls by its fraction `g`, to zero
/// if that is less than 1/1024. It rises by `g` times the fraction of segments delivered, in order or not, while the echo was on.
#[derive(Clone, Copy, Debug)]
enum AlphaArithmetic {
    Real { g: f64, alpha: f64 },
    FixedPoint { g: u64, alpha: u64 },
}

impl EcnResponse {
    pub fn new(settings: &TcpSettings) -> EcnResponse {
        match settings.ecn_response {
            EcnResponseName::None => EcnResponse::None,
            EcnResponseName::Halve => EcnResponse::AsLoss,
            EcnResponseName::Abe => EcnResponse::Abe { share: settings.abe_beta },
            EcnResponseName::Dctcp => EcnResponse::Dctcp(Box::new(DctcpAlpha::new(settings))),
            EcnResponseName::Prague => EcnResponse::OfControl,
            EcnResponseName::Mecn => {
                EcnResponse::Mecn { share: Box::new([1.0 - settings.mecn_incipient_decrease, 1.0 - settings.mecn_moderate_decrease]) }
            }
        }
    }

    /// Updates the estimate for an ACK of `segments` new segments up to `next`, with or without an echo; `snd_max` is one past the highest
    /// segment sent. With `integer_cwnd`, newly SACKed segments count as new, and the SYN-ACK is ignored.
    #[inline]
    pub fn count_acked_and_echoed(&mut self, next: u64, segments: u64, echo: bool, snd_max: u64) {
        self.count_acked_and_marked(next, segments, if echo { segments } else { 0 }, snd_max);
    }

    /// The same for an ACK that reports the number of `marked` packets (Accurate ECN).
    #[inline]
    pub fn count_acked_and_marked(&mut self, next: u64, segments: u64, marked: u64, snd_max: u64) {
        if let EcnResponse::Dctcp(dctcp) = self {
            dctcp.update(next, segments, marked, snd_max);
        }
    }

    /// Ssthresh after an echo at a whole window of `cwnd` segments; a loss would leave `by_loss`. None if cwnd is not reduced.
    pub fn ssthresh_after_mark(&self, level: CongestionLevel, cwnd: f64, by_loss: f64) -> Option<f64> {
        match self {
            EcnResponse::None => None,
            EcnResponse::AsLoss | EcnResponse::OfControl => Some(by_loss),
            EcnResponse::Abe { .. } | EcnResponse::Dctcp(_) | EcnResponse::Mecn { .. } => match self.fixed_point_alpha() {
                Some(alpha) => Some(linux_dctcp_ssthresh(cwnd, alpha)),
                None => self.beta_for_mark(level, 1.0).map(|share| linux::reduced_cwnd(cwnd, linux::to_fixed_point(share))),
            },
        }
    }

    /// Whether a loss reduces a window again that was reduced for a mark, from its reduced size.
    pub fn reduces_again_on_loss(&self) -> bool {
        self.fixed_point_alpha().is_some()
    }

    /// DCTCP's alpha in integer arithmetic.
    fn fixed_point_alpha(&self) -> Option<u64> {
        if let EcnResponse::Dctcp(dctcp) = self
            && let AlphaArithmetic::FixedPoint { alpha, .. } = dctcp.alpha
        {
            return Some(alpha);
        }
        None
    }

    /// Multiplicative decrease factor for an echo; `loss` is the factor for a loss. None if cwnd is not reduced.
    pub fn beta_for_mark(&self, level: CongestionLevel, loss: f64) -> Option<f64> {
        match self {
            EcnResponse::None => None,
            EcnResponse::AsLoss | EcnResponse::OfControl => Some(loss),
            EcnResponse::Abe { share } => Some(*share),
            EcnResponse::Dctcp(_) => self.dctcp_alpha().map(|alpha| 1.0 - alpha / 2.0),
            EcnResponse::Mecn { share } => Some(share[level as usize]),
        }
    }

    /// Total decrease factor after a further echo in the same RTT: a stronger level of MECN deepens the reduction to its own.
    pub fn beta_for_further_echo(&self, level: CongestionLevel) -> Option<f64> {
        if let EcnResponse::Mecn { share } = self { Some(share[level as usize]) } else { None }
    }

    /// DCTCP's alpha, if the response keeps one.
    pub fn dctcp_alpha(&self) -> Option<f64> {
        let EcnResponse::Dctcp(dctcp) = self else { return None };
        Some(match dctcp.alpha {
            AlphaArithmetic::Real { alpha, .. } => alpha,
            AlphaArithmetic::FixedPoint { alpha, .. } => alpha as f64 / linux::FIXED_POINT_ONE as f64,
        })
    }
}

impl DctcpAlpha {
    /// Estimate with the initial value 1, in integer arithmetic with `integer_cwnd`.
    fn new(settings: &TcpSettings) -> DctcpAlpha {
        let (alpha, window_end) = if settings.has_integer_cwnd() {
            let g = linux::to_fixed_point(settings.dctcp_g).max(1);
            (AlphaArithmetic::FixedPoint { g, alpha: linux::FIXED_POINT_ONE }, u64::from(settings.has_syn()))
        } else {
            (AlphaArithmetic::Real { g: settings.dctcp_g, alpha: 1.0 }, 1)
        };
        DctcpAlpha { alpha, delivered_segments: 0, marked_segments: 0, window_end }
    }

    fn update(&mut self, next: u64, segments: u64, marked: u64, snd_max: u64) {
        self.delivered_segments += segments;
        self.marked_segments += marked;
        if next < self.window_end {
            return;
        }
        self.alpha.update(self.marked_segments, self.delivered_segments);
        (self.delivered_segments, self.marked_segments) = (0, 0);
        self.window_end = match self.alpha {
            // The window ends only when more than all segments sent so far is acknowledged.
            AlphaArithmetic::Real { .. } => snd_max + 1,
            AlphaArithmetic::FixedPoint { .. } => snd_max,
        };
    }
}

impl AlphaArithmetic {
    /// Updates alpha for a window with `marked` of `delivered` segments marked.
    fn update(&mut self, marked: u64, delivered: u64) {
        match self {
            AlphaArithmetic::Real { g, alpha } if delivered > 0 => {
                // Marks on packets without data are counted too.
                let fraction = (marked as f64 / delivered as f64).min(1.0);
                *alpha = *alpha * (1.0 - *g) + *g * fraction;
            }
            AlphaArithmetic::Real { .. } => {}
            AlphaArithmetic::FixedPoint { g, alpha } => {
                let fall = *alpha * *g / linux::FIXED_POINT_ONE;
                *alpha -= if fall == 0 { *alpha } else { fall };
                *alpha = (*alpha + marked * *g / delivered.max(1)).min(linux::FIXED_POINT_ONE);
            }
        }
    }
}

/// Ssthresh of Linux's DCTCP after a mark, at least two segments (dctcp_ssthresh).
fn linux_dctcp_ssthresh(cwnd: f64, alpha: u64) -> f64 {
    let cwnd = cwnd as u64;
    (cwnd - cwnd * alpha / (2 * linux::FIXED_POINT_ONE)).max(linux::MIN_CWND_AFTER_REDUCTION) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::CongestionControlName;
    use crate::settings::Quirks;

    #[test]
    fn exact_halving_keeps_the_half_segment_and_integer_halving_does_not() {
        assert_eq!(ReducedWindow { cwnd: 7.5, ssthresh: 7.0 }, reduced_window(15.0, 0.5, SsthreshRounding::Exact));
        assert_eq!(ReducedWindow { cwnd: 7.0, ssthresh: 7.0 }, reduced_window(15.9, 0.5, SsthreshRounding::Integer));
        assert_eq!(ReducedWindow { cwnd: 0.0, ssthresh: 0.0 }, reduced_window(1.0, 0.5, SsthreshRounding::Integer));
    }

    #[test]
    fn the_threshold_never_stays_below_two() {
        let mut window = CongestionWindow { cwnd: 2.0, ssthresh: 9.0 };
        reduced_window(2.0, 0.5, SsthreshRounding::Exact).apply_to(&mut window, |_| ());
        assert_eq!(CongestionWindow { cwnd: 1.0, ssthresh: 2.0 }, window);
    }

    #[test]
    fn dctcp_s_alpha_follows_the_fraction_of_marks_window_by_window() {
        let mut settings = profile::tcp_settings_of("ns2");
        settings.ecn_response = EcnResponseName::Dctcp;
        let mut response = EcnResponse::new(&settings);
        // The first ACK ends the empty window before it: alpha starts at 1 (RFC 8257, section 3.3).
        response.count_acked_and_echoed(1, 1, false, 11);
        assert_eq!(Some(1.0 - 1.0 / 16.0), response.dctcp_alpha());
        for next in 2..=12 {
            response.count_acked_and_echoed(next, 1, next % 2 == 0, 21);
        }
        let fraction = 6.0 / 11.0;
        assert_eq!(Some((1.0 - 1.0 / 16.0) * (1.0 - 1.0 / 16.0) + fraction / 16.0), response.dctcp_alpha());
    }

    #[test]
    fn dctcp_cuts_by_half_of_alpha_whatever_a_loss_would_leave() {
        let mut settings = profile::tcp_settings_of("ns2");
        (settings.ecn_response, settings.dctcp_g) = (EcnResponseName::Dctcp, 0.5);
        let mut response = EcnResponse::new(&settings);
        let share = |response: &EcnResponse| response.beta_for_mark(CongestionLevel::Congested, 0.7);
        assert_eq!(Some(0.5), share(&response), "alpha begins at one");
        response.count_acked_and_echoed(4, 4, false, 8);
        assert_eq!(Some(0.75), share(&response));
        response.count_acked_and_echoed(9, 5, true, 16);
        assert_eq!(Some(0.625), share(&response));
    }

    #[test]
    fn mecn_cuts_by_level() {
        let mut settings = profile::tcp_settings_of("ns2");
        settings.ecn_response = EcnResponseName::Mecn;
        let response = EcnResponse::new(&settings);
        assert_eq!(
            [Some(0.8), Some(0.6)],
            [CongestionLevel::Incipient, CongestionLevel::Congested].map(|level| response.beta_for_mark(level, 0.5))
        );
        assert_eq!(Some(0.6), response.beta_for_further_echo(CongestionLevel::Congested));
    }

    fn linux_dctcp() -> EcnResponse {
        let base = profile::tcp_settings_of("linux");
        EcnResponse::new(&TcpSettings {
            ecn_response: EcnResponseName::Dctcp,
            congestion_control: CongestionControlName::Reno,
            quirks: Quirks { integer_cwnd: true, ..base.quirks },
            ..base
        })
    }

    /// alpha = (1 - g) alpha + g F in 1/1024, each term rounded down (RFC 8257, section 3.3).
    #[test]
    fn in_whole_numbers_alpha_follows_the_fraction_too() {
        let mut response = linux_dctcp();
        response.count_acked_and_echoed(11, 10, false, 21);
        assert_eq!(Some(960.0 / 1024.0), response.dctcp_alpha());
        response.count_acked_and_echoed(14, 3, true, 30);
        response.count_acked_and_echoed(21, 7, false, 31);
        // 960 - 60 + 64 * 3 / 10 = 919.2
        assert_eq!(Some(919.0 / 1024.0), response.dctcp_alpha());
    }

    #[test]
    fn an_alpha_that_falls_by_less_than_its_unit_is_gone() {
        let mut response = linux_dctcp();
        let alphas: Vec<f64> = (1..100)
            .map(|round| {
                response.count_acked_and_echoed(round, 1, false, round);
                response.dctcp_alpha().unwrap() * 1024.0
            })
            .collect();
        let last = alphas.iter().rposition(|alpha| *alpha > 0.0).unwrap();
        assert_eq!((15.0, 0.0), (alphas[last], alphas[last + 1]));
    }

    #[test]
    fn of_whole_windows_a_mark_leaves_whole_windows() {
        let left = |response: &EcnResponse, cwnd| response.ssthresh_after_mark(CongestionLevel::Congested, cwnd, 7.0);
        let mut dctcp = linux_dctcp();
        assert_eq!([Some(6.0), Some(2.0)], [11.0, 2.0].map(|cwnd| left(&dctcp, cwnd)), "alpha is one");
        dctcp.count_acked_and_echoed(11, 10, false, 21);
        // 11 * 960 / 2048 = 5.16 is the reduction.
        assert_eq!(Some(6.0), left(&dctcp, 11.0));
        let abe = EcnResponse::new(&TcpSettings { ecn_response: EcnResponseName::Abe, ..profile::tcp_settings_of("linux") });
        // 0.85 is 870/1024, of 11 segments 9.3.
        assert_eq!(Some(9.0), left(&abe, 11.0));
    }
}
