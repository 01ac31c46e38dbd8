//! The response to congestion: by how much a signal or a loss cuts the window.

use crate::settings::Halving;
use crate::window::Window;

/// What the window is cut to, and the threshold with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    pub cwnd: f64,
    /// Before the floor of two segments.
    pub ssthresh: f64,
}

/// Smallest slow-start threshold in segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// Half of the usable window, to both cwnd and ssthresh (RFC 5681, section 3.2; RFC 3168, section 6.1.2). ssthresh is a whole number.
pub fn halve(usable: f64, halving: Halving) -> Cut {
    let half = match halving {
        Halving::Exact => usable / 2.0,
        Halving::Integer => (usable.floor() / 2.0).floor(),
    };
    Cut { cwnd: half, ssthresh: half.floor() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_halving_keeps_the_half_segment_and_integer_halving_does_not() {
        assert_eq!(Cut { cwnd: 7.5, ssthresh: 7.0 }, halve(15.0, Halving::Exact));
        assert_eq!(Cut { cwnd: 7.0, ssthresh: 7.0 }, halve(15.9, Halving::Integer));
        assert_eq!(Cut { cwnd: 0.0, ssthresh: 0.0 }, halve(1.0, Halving::Integer));
    }

    #[test]
    fn the_threshold_never_stays_below_two() {
        let mut window = Window { cwnd: 2.0, ssthresh: 9.0 };
        halve(2.0, Halving::Exact).apply(&mut window, |_| ());
        assert_eq!(Window { cwnd: 1.0, ssthresh: 2.0 }, window);
    }
}
