//! Delay of an ACK that waits for the next segment: a constant, or the expected time until that segment.
//!
//! ```text
//! fixed     delayed_ack_time
//! arrivals  the first segment delayed_ack_time, and from then on, m after the segment before:  delay = delay / 2 + m, at most 0.5 s
//!           (tcp_delack_estimator of Linux 2.0 and 2.2, in whole ticks; RFC 1122, section 4.2.3.2, has the bound)
//! ```
//!
//! These kernels acknowledge a segment with PSH sooner; here no segment carries PSH.

use ecnlab_units::{Span, Time};

use crate::settings::{AckDelayRule, TcpSettings};

//= RFC 5681, section 4.2: an ACK for every second segment, within half a second
/// RFC 1122, section 4.2.3.2.
const MAX_ACK_DELAY: Span = Span::from_millis(500);

#[derive(Debug)]
pub struct AckDelay {
    delay: Span,
    tick: Span,
    adapts_to_arrivals: bool,
    /// Arrival time of the previous segment.
    last_arrival: Option<Time>,
}

impl AckDelay {
    /// Delay by these settings; none if no ACK is delayed.
    pub fn new(settings: &TcpSettings) -> Option<AckDelay> {
        let by_arrivals = settings.quirks.delayed_ack_rule == AckDelayRule::Arrivals;
        settings.ack_delay().map(|delay| AckDelay {
            delay,
            tick: settings.quirks.tick,
            adapts_to_arrivals: by_arrivals,
            last_arrival: None,
        })
    }

    /// Delay for a segment that arrives now.
    #[inline]
    pub fn delay_for_arrival(&mut self, now: Time) -> Span {
        if self.adapts_to_arrivals {
            self.adapt_to_interval(now);
        }
        self.delay
    }

    fn adapt_to_interval(&mut self, now: Time) {
        if let Some(before) = self.last_arrival.replace(now) {
            let ticks = now.since(before).picos() / self.tick.picos();
            let half = self.delay / 2;
            self.delay = (half + self.tick * ticks.max(1)).min(MAX_ACK_DELAY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;

    #[test]
    fn the_delay_follows_the_time_between_arrivals() {
        let settings = TcpSettings { delayed_ack_time: Span::from_millis(330), ..profile::tcp_settings_of("linux-2.0") };
        let mut delay = AckDelay::new(&settings).unwrap();
        let delays = [0, 400, 408, 508, 3000].map(|millis| delay.delay_for_arrival(Time::ZERO + Span::from_millis(millis)));
        // 330; 165 + 400, limited to 500; 250 + 10, the minimum; 130 + 100; 115 + 2490, limited.
        assert_eq!([330, 500, 260, 230, 500].map(Span::from_millis), delays);
    }

    #[test]
    fn a_fixed_delay_stays_and_none_is_none() {
        let settings = profile::tcp_settings_of("rfc");
        let mut delay = AckDelay::new(&settings).unwrap();
        let delays = [0, 5000].map(|millis| delay.delay_for_arrival(Time::ZERO + Span::from_millis(millis)));
        assert_eq!([settings.delayed_ack_time; 2], delays);
        assert!(AckDelay::new(&profile::tcp_settings_of("ns2")).is_none());
    }
}
