//! The response to marks, as data: what an echo leaves of the window. Any response combines with any congestion control.

use ecnlab_units::Level;

use crate::settings::{Halving, ResponseName, Settings};
use crate::window::{Window, whole};

/// What the window is cut to, and the threshold with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub cwnd: f64,
    /// Before the floor of two segments.
    pub ssthresh: f64,
}

/// Smallest slow-start threshold in segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// `share` of `from` segments, to both cwnd and ssthresh (RFC 5681, section 3.2; RFC 3168, section 6.1.2).
pub fn cut(from: f64, share: f64, halving: Halving) -> Cut {
    let left = match halving {
        Halving::Exact | Halving::Real => from * share,
        Halving::Integer => (from.floor() * share).floor(),
    };
    Cut { cwnd: left, ssthresh: if halving == Halving::Real { left } else { left.floor() } }
}

impl Cut {
    /// The same threshold with a window of one segment: the response to a timeout.
    pub fn to_one(self) -> Cut {
        Cut { cwnd: 1.0, ..self }
    }

    /// Applies the cut, telling `changed` of every step in the order in which ns-2 writes its variables.
    pub fn apply(self, window: &mut Window, mut changed: impl FnMut(&Window)) {
        window.ssthresh = self.ssthresh;
        changed(window);
        window.cwnd = self.cwnd;
        changed(window);
        if window.ssthresh < MIN_SSTHRESH {
            window.ssthresh = MIN_SSTHRESH;
            changed(window);
        }
    }
}

/// What marks do to the window.
#[derive(Clone, Debug)]
pub enum Response {
    /// Nothing.
    None,
    /// The same as a loss (RFC 3168, section 6.1.2).
    Halve,
    /// A smaller cut than for a loss, in slow start too (RFC 8511, section 3; its abstract speaks of congestion avoidance).
    Abe {
        share: f64,
    },
    Dctcp(Dctcp),
    /// DCTCP where the window is a whole number.
    WholeDctcp(WholeDctcp),
    /// A cut for each level (Durresi et al. 2001, section 2).
    Mecn {
        share: [f64; 2],
    },
}

/// DCTCP's estimate of the fraction of marked segments (RFC 8257, section 3.3).
#[derive(Clone, Copy, Debug)]
pub struct Dctcp {
    g: f64,
    alpha: f64,
    acked: u64,
    marked: u64,
    /// Acknowledging this segment ends the window of observation.
    ends: u64,
}

/// The same estimate in 1/1024 (Linux dctcp_update_alpha): once a window alpha falls by `g` of it, to zero where that is less than 1/1024, and
/// rises by `g` of the share of segments that were delivered, in order or not, while the echo was on.
#[derive(Clone, Copy, Debug)]
pub struct WholeDctcp {
    g: u64,
    alpha: u64,
    delivered: u64,
    marked: u64,
    /// Acknowledging all before this segment ends the window of observation.
    ends: u64,
}

impl Response {
    pub fn new(settings: &Settings) -> Response {
        match settings.response {
            ResponseName::Dctcp if settings.counts_whole() => Response::WholeDctcp(WholeDctcp::new(settings)),
            ResponseName::None => Response::None,
            ResponseName::Halve => Response::Halve,
            ResponseName::Abe => Response::Abe { share: settings.abe_beta },
            ResponseName::Dctcp => Response::Dctcp(Dctcp { g: settings.dctcp_g, alpha: 1.0, acked: 0, marked: 0, ends: 0 }),
            ResponseName::Mecn => Response::Mecn { share: [1.0 - settings.mecn_incipient, 1.0 - settings.mecn_moderate] },
        }
    }

    /// Looks at an acknowledgement of `segments` new segments up to `next`, whether it carries an echo or not; `high` is one past the
    /// highest segment sent. Where the window is a whole number, segments are new that blocks show too, and the answer to a SYN is not looked at.
    #[inline]
    pub fn observe(&mut self, next: u64, segments: u64, echo: bool, high: u64) {
        match self {
            Response::Dctcp(dctcp) => dctcp.observe(next, segments, echo, high),
            Response::WholeDctcp(dctcp) => dctcp.observe(next, segments, echo, high),
            Response::None | Response::Halve | Response::Abe { .. } | Response::Mecn { .. } => {}
        }
    }

    /// What an echo leaves of a whole window of `cwnd` segments, where a loss would leave `by_loss`; nothing if the window is to stay.
    pub fn left_by_mark(&self, level: Level, cwnd: f64, by_loss: f64) -> Option<f64> {
        match self {
            Response::None => None,
            Response::Halve => Some(by_loss),
            Response::WholeDctcp(dctcp) => Some(dctcp.left(cwnd)),
            Response::Abe { .. } | Response::Dctcp(_) | Response::Mecn { .. } => {
                self.share(level, 1.0).map(|share| whole::cut_to(cwnd, whole::on_grid(share)))
            }
        }
    }

    /// Whether a loss cuts a window that has been cut for a mark, of what the mark has left of it.
    pub fn loss_cuts_again(&self) -> bool {
        matches!(self, Response::WholeDctcp(_))
    }

    /// What share of the window an echo leaves, where a loss would leave `loss`; nothing if the window is to stay.
    pub fn share(&self, level: Level, loss: f64) -> Option<f64> {
        match self {
            Response::None => None,
            Response::Halve => Some(loss),
            Response::Abe { share } => Some(*share),
            Response::Dctcp(_) | Response::WholeDctcp(_) => self.alpha().map(|alpha| 1.0 - alpha / 2.0),
            Response::Mecn { share } => Some(share[level as usize]),
        }
    }

    /// What share a further echo in the same round trip leaves in all: MECN's heavier level raises the cut to its own.
    pub fn heavier(&self, level: Level) -> Option<f64> {
        if let Response::Mecn { share } = self { Some(share[level as usize]) } else { None }
    }

    /// DCTCP's alpha, where there is one.
    pub fn alpha(&self) -> Option<f64> {
        match self {
            Response::Dctcp(dctcp) => Some(dctcp.alpha),
            Response::WholeDctcp(dctcp) => Some(dctcp.alpha as f64 / whole::GRID as f64),
            Response::None | Response::Halve | Response::Abe { .. } | Response::Mecn { .. } => None,
        }
    }
}

impl Dctcp {
    fn observe(&mut self, next: u64, segments: u64, echo: bool, high: u64) {
        self.acked += segments;
        self.marked += if echo { segments } else { 0 };
        if next <= self.ends {
            return;
        }
        if self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = self.alpha * (1.0 - self.g) + self.g * fraction;
        }
        (self.acked, self.marked, self.ends) = (0, 0, high);
    }
}

impl WholeDctcp {
    fn new(settings: &Settings) -> WholeDctcp {
        let g = whole::on_grid(settings.dctcp_g).max(1);
        WholeDctcp { g, alpha: whole::GRID, delivered: 0, marked: 0, ends: u64::from(settings.syn()) }
    }

    fn observe(&mut self, next: u64, segments: u64, echo: bool, high: u64) {
        self.delivered += segments;
        self.marked += if echo { segments } else { 0 };
        if next < self.ends {
            return;
        }
        let fall = self.alpha * self.g / whole::GRID;
        self.alpha -= if fall == 0 { self.alpha } else { fall };
        self.alpha = (self.alpha + self.marked * self.g / self.delivered.max(1)).min(whole::GRID);
        (self.delivered, self.marked, self.ends) = (0, 0, high);
    }

    /// What an echo leaves of a window, at least two segments.
    fn left(&self, cwnd: f64) -> f64 {
        let cwnd = cwnd as u64;
        (cwnd - cwnd * self.alpha / (2 * whole::GRID)).max(whole::LEAST) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::CongestionName;

    #[test]
    fn exact_halving_keeps_the_half_segment_and_integer_halving_does_not() {
        assert_eq!(Cut { cwnd: 7.5, ssthresh: 7.0 }, cut(15.0, 0.5, Halving::Exact));
        assert_eq!(Cut { cwnd: 7.0, ssthresh: 7.0 }, cut(15.9, 0.5, Halving::Integer));
        assert_eq!(Cut { cwnd: 0.0, ssthresh: 0.0 }, cut(1.0, 0.5, Halving::Integer));
    }

    #[test]
    fn the_threshold_never_stays_below_two() {
        let mut window = Window { cwnd: 2.0, ssthresh: 9.0 };
        cut(2.0, 0.5, Halving::Exact).apply(&mut window, |_| ());
        assert_eq!(Window { cwnd: 1.0, ssthresh: 2.0 }, window);
    }

    #[test]
    fn dctcp_s_alpha_follows_the_fraction_of_marks_window_by_window() {
        let mut settings = profile::settings("ns2");
        settings.response = ResponseName::Dctcp;
        let mut response = Response::new(&settings);
        // The first acknowledgement ends the empty window before it: alpha starts at 1 (RFC 8257, section 3.3).
        response.observe(1, 1, false, 11);
        assert_eq!(Some(1.0 - 1.0 / 16.0), response.alpha());
        for next in 2..=12 {
            response.observe(next, 1, next % 2 == 0, 21);
        }
        let fraction = 6.0 / 11.0;
        assert_eq!(Some((1.0 - 1.0 / 16.0) * (1.0 - 1.0 / 16.0) + fraction / 16.0), response.alpha());
    }

    #[test]
    fn dctcp_cuts_by_half_of_alpha_whatever_a_loss_would_leave() {
        let mut settings = profile::settings("ns2");
        (settings.response, settings.dctcp_g) = (ResponseName::Dctcp, 0.5);
        let mut response = Response::new(&settings);
        let share = |response: &Response| response.share(Level::Congested, 0.7);
        assert_eq!(Some(0.5), share(&response), "alpha begins at one");
        response.observe(4, 4, false, 8);
        assert_eq!(Some(0.75), share(&response));
        response.observe(9, 5, true, 16);
        assert_eq!(Some(0.625), share(&response));
    }

    #[test]
    fn mecn_cuts_by_level() {
        let mut settings = profile::settings("ns2");
        settings.response = ResponseName::Mecn;
        let response = Response::new(&settings);
        assert_eq!([Some(0.8), Some(0.6)], [Level::Incipient, Level::Congested].map(|level| response.share(level, 0.5)));
        assert_eq!(Some(0.6), response.heavier(Level::Congested));
    }

    fn whole_dctcp() -> Response {
        let base = profile::settings("linux");
        Response::new(&Settings { response: ResponseName::Dctcp, congestion: CongestionName::Reno, whole_window: true, ..base })
    }

    /// alpha = (1 - g) alpha + g F in 1/1024, each term rounded down (RFC 8257, section 3.3).
    #[test]
    fn in_whole_numbers_alpha_follows_the_fraction_too() {
        let mut response = whole_dctcp();
        response.observe(11, 10, false, 21);
        assert_eq!(Some(960.0 / 1024.0), response.alpha());
        response.observe(14, 3, true, 30);
        response.observe(21, 7, false, 31);
        // 960 - 60 + 64 * 3 / 10 = 919.2
        assert_eq!(Some(919.0 / 1024.0), response.alpha());
    }

    #[test]
    fn an_alpha_that_falls_by_less_than_its_unit_is_gone() {
        let mut response = whole_dctcp();
        let alphas: Vec<f64> = (1..100)
            .map(|round| {
                response.observe(round, 1, false, round);
                response.alpha().unwrap() * 1024.0
            })
            .collect();
        let last = alphas.iter().rposition(|alpha| *alpha > 0.0).unwrap();
        assert_eq!((15.0, 0.0), (alphas[last], alphas[last + 1]));
    }

    #[test]
    fn of_whole_windows_a_mark_leaves_whole_windows() {
        let left = |response: &Response, cwnd| response.left_by_mark(Level::Congested, cwnd, 7.0);
        let mut dctcp = whole_dctcp();
        assert_eq!([Some(6.0), Some(2.0)], [11.0, 2.0].map(|cwnd| left(&dctcp, cwnd)), "alpha is one");
        dctcp.observe(11, 10, false, 21);
        // 11 * 960 / 2048 = 5.16 go.
        assert_eq!(Some(6.0), left(&dctcp, 11.0));
        let abe = Response::new(&Settings { response: ResponseName::Abe, ..profile::settings("linux") });
        // 0.85 is 870/1024, of 11 segments 9.3.
        assert_eq!(Some(9.0), left(&abe, 11.0));
    }
}
