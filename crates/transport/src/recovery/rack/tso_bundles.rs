//! Segmentation offload (TSO): segments sent at the same time form a bundle, and a small bundle waits for the next ACK.
//!
//! ```text
//! bundle    what the pacing rate sends in 1/1024 s, and more on short paths: sk_gso_max_size / 2^(minimum RTT in units of 512 us);
//!           at least two segments, at most what sk_gso_max_size holds, and at most half a window at a time
//!                                                                                            (Linux tcp_tso_autosize, tcp_cwnd_test)
//! waits     if something was sent within the last 1 ms, cwnd allows neither a bundle nor a third of cwnd, and the next ACK
//!           is not more than 1 ms, or half an RTT, away                                      (Linux tcp_tso_should_defer)
//! pacing    2 cwnd / srtt below half of ssthresh, else 1.2 cwnd / srtt                       (Linux tcp_update_pacing_rate)
//! ```
//!
//! The segments of a bundle leave one after the other at the same instant, and are acknowledged one by one: the receiver does not merge
//! them (no GRO).

use ecnlab_units::{Span, Time};

use super::{CaState, Rack};
use crate::congestion::linux;
use crate::settings::SK_GSO_MAX_SIZE;
use crate::tcb::Tcb;

const MIN_BUNDLE_SEGMENTS: u64 = 2;
/// Linux sysctl tcp_tso_win_divisor.
const TSO_WIN_DIVISOR: u64 = 3;
/// Linux sysctl tcp_tso_rtt_log.
const TSO_RTT_LOG: u32 = 9;
/// Shift of a rate per second to that per 1/1024 s.
const BUNDLE_TIME_SHIFT: u32 = 10;
const MAX_DEFERRAL_SINCE_LAST_SEND: Span = Span::from_millis(1);

impl Rack {
    /// Maximum number of segments in a bundle.
    fn max_bundle_segments(&self, tcb: &Tcb) -> u64 {
        let size = u64::from(tcb.send_buffer().full_payload());
        let window = tcb.window();
        let cwnd = (window.cwnd as u64).max(self.scoreboard.outstanding_segments());
        // Linux keeps srtt in eighths.
        let rate = tcb.srtt_multiple_micros(8).and_then(|eight| linux::pacing_rate(size, cwnd, window, eight)).unwrap_or(0);
        let paced = rate >> BUNDLE_TIME_SHIFT;
        let near = SK_GSO_MAX_SIZE.checked_shr((tcb.min_rtt_micros() >> TSO_RTT_LOG).min(u64::from(u32::MAX)) as u32).unwrap_or(0);
        ((paced + near).min(SK_GSO_MAX_SIZE) / size).max(MIN_BUNDLE_SEGMENTS)
    }

    /// Number of segments in the next bundle, or none if the bundle waits.
    pub(super) fn next_bundle_segments(&self, tcb: &Tcb, now: Time) -> Option<u64> {
        let (cwnd, ready) = (tcb.window().cwnd as u64, tcb.sendable_new_segments());
        let free = cwnd.saturating_sub(self.scoreboard.in_flight());
        let most = self.max_bundle_segments(tcb);
        let whole = ready.min(SK_GSO_MAX_SIZE / u64::from(tcb.send_buffer().full_payload()));
        if whole > 1 && free > 0 && self.should_defer_bundle(free, whole, most, tcb, now) {
            return None;
        }
        Some(free.min((cwnd / 2).max(1)).min(most).min(ready).max(1))
    }

    fn should_defer_bundle(&self, free: u64, whole: u64, most: u64, tcb: &Tcb, now: Time) -> bool {
        let recent = now.since(tcb.last_sent_at()) <= MAX_DEFERRAL_SINCE_LAST_SEND;
        let is_last = whole == tcb.sendable_new_segments();
        let enough = free >= most || !is_last && free >= whole || free >= tcb.window().cwnd as u64 / TSO_WIN_DIVISOR;
        let (Some(srtt), Some(head)) = (tcb.srtt(), self.scoreboard.first_segment()) else { return false };
        let answered = Span::from_micros(head.last_sent_at) + srtt;
        let away = answered.saturating_sub(Span::from_micros(tcb.host_clock_micros_at(now)));
        let near = away <= MAX_DEFERRAL_SINCE_LAST_SEND.min(srtt / 2);
        self.state < CaState::Recovery && recent && !enough && near && (free <= whole || !tcb.is_app_closed())
    }
}
