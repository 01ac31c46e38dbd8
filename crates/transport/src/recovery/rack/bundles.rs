//! Segmentation offload: what goes at once goes as one bundle, and a bundle that would be small waits for the next acknowledgement.
//!
//! ```text
//! bundle    what the pacing rate sends in 1/1024 s, and more on short paths: sk_gso_max_size / 2^(smallest round trip in units of 512 us);
//!           at least two segments, at most what sk_gso_max_size holds, and at most half a window at a time
//!                                                                                            (Linux tcp_tso_autosize, tcp_cwnd_test)
//! waits     if something was sent within the last 1 ms, the window does not allow a bundle nor a third of itself, and the next acknowledgement
//!           is not more than 1 ms, or half a round trip, away                                (Linux tcp_tso_should_defer)
//! pacing    2 cwnd / srtt below half of ssthresh, else 1.2 cwnd / srtt                       (Linux tcp_update_pacing_rate)
//! ```
//!
//! The segments of a bundle leave one after the other at the same instant, and are acknowledged as single ones: what a receiver's offload would
//! merge again is not merged.

use ecnlab_units::{Span, Time};

use super::{Rack, State};
use crate::settings::SK_GSO_MAX_SIZE;
use crate::tcb::Tcb;

const LEAST_SEGMENTS: u64 = 2;
/// Linux sysctl tcp_tso_win_divisor.
const SHARE_OF_WINDOW: u64 = 3;
/// Linux sysctl tcp_tso_rtt_log.
const RTT_LOG: u32 = 9;
/// In 1/100: what the pacing rate is of cwnd / srtt, below half the threshold and above.
const PACING: [u64; 2] = [200, 120];
/// Microseconds in eight hundredths of a second, and what the rate of a second is shifted by.
const EIGHT_HUNDREDTHS: u64 = 80_000;
const SHARE_OF_SECOND: u32 = 10;
const RECENT: Span = Span::from_millis(1);

impl Rack {
    /// Most segments in a bundle.
    fn bundle(&self, tcb: &Tcb) -> u64 {
        let size = u64::from(tcb.plan().full_payload());
        let window = tcb.window();
        let cwnd = (window.cwnd as u64).max(self.board.outstanding());
        let percent = PACING[usize::from(window.cwnd >= window.ssthresh / 2.0)];
        // Eight smoothed round trips are what a host keeps.
        let paced = tcb.round_trips_micros(8).map_or(0, |eight| (size * cwnd * percent * EIGHT_HUNDREDTHS / eight) >> SHARE_OF_SECOND);
        let near = SK_GSO_MAX_SIZE.checked_shr((tcb.min_rtt_micros() >> RTT_LOG).min(u64::from(u32::MAX)) as u32).unwrap_or(0);
        ((paced + near).min(SK_GSO_MAX_SIZE) / size).max(LEAST_SEGMENTS)
    }

    /// How many segments go next at once, or nothing if the bundle waits.
    pub(super) fn next_bundle(&self, tcb: &Tcb, now: Time) -> Option<u64> {
        let (cwnd, ready) = (tcb.window().cwnd as u64, tcb.ready());
        let free = cwnd.saturating_sub(self.board.in_flight());
        let most = self.bundle(tcb);
        let whole = ready.min(SK_GSO_MAX_SIZE / u64::from(tcb.plan().full_payload()));
        if whole > 1 && free > 0 && self.waits_for_more(free, whole, most, tcb, now) {
            return None;
        }
        Some(free.min((cwnd / 2).max(1)).min(most).min(ready).max(1))
    }

    fn waits_for_more(&self, free: u64, whole: u64, most: u64, tcb: &Tcb, now: Time) -> bool {
        let recent = now.since(tcb.last_sent()) <= RECENT;
        let is_last = whole == tcb.ready();
        let enough = free >= most || !is_last && free >= whole || free >= tcb.window().cwnd as u64 / SHARE_OF_WINDOW;
        let (Some(srtt), Some(head)) = (tcb.smoothed(), self.board.first()) else { return false };
        let answered = Span::from_micros(head.sent) + srtt;
        let away = answered.picos().saturating_sub(Span::from_micros(tcb.micros(now)).picos());
        let near = away <= RECENT.picos().min(srtt.picos() / 2);
        self.state < State::Recovery && recent && !enough && near && (free <= whole || !tcb.is_closed())
    }
}
