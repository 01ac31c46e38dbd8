//! Proportional rate reduction (PRR; RFC 6937, section 3; RFC 9937, section 6): during a reduction the sender sends a fixed fraction of
//! what is delivered. Cwnd then reaches ssthresh when the losses are repaired, or one RTT after a mark.
//!
//! ```text
//! pipe > ssthresh:   send ceil(delivered ssthresh / of) - out
//! else:              send min(ssthresh - pipe, max(delivered - out, newly delivered) + one)
//! of                 segments in flight, or cwnd, before the reduction
//! one                SSRB: 1.  SafeACK: 1 if an ACK acknowledges new data and indicates no further loss, else 0
//! ```

use crate::settings::PrrBound;

/// Segments delivered and sent since the reduction.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    prior_segments: u64,
    bound: PrrBound,
    prr_delivered: u64,
    prr_out: u64,
}

impl Prr {
    /// Starts a reduction from `of` segments.
    pub fn new(of: u64, bound: PrrBound) -> Prr {
        Prr { prior_segments: of.max(1), bound, prr_delivered: 0, prr_out: 0 }
    }

    /// Counts transmitted segments.
    pub fn on_sent(&mut self, segments: u64) {
        self.prr_out += segments;
    }

    /// Cwnd after an ACK that delivered segments. The ACK is `safe` if it acknowledges new data and indicates no further loss.
    pub fn cwnd_after_delivery(&mut self, delivered: u64, safe: bool, pipe: u64, ssthresh: f64) -> u64 {
        self.prr_delivered += delivered;
        let threshold = ssthresh as u64;
        let send = if pipe > threshold {
            (self.prr_delivered * threshold).div_ceil(self.prior_segments).saturating_sub(self.prr_out)
        } else {
            let one = u64::from(safe || self.bound == PrrBound::Ssrb);
            let most = self.prr_delivered.saturating_sub(self.prr_out).max(delivered) + one;
            most.min(threshold - pipe)
        };
        // The first retransmission is always sent.
        pipe + if self.prr_out == 0 { send.max(1) } else { send }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_of_twenty_sends_one_for_two_and_ends_at_the_threshold() {
        let mut prr = Prr::new(20, PrrBound::Ssrb);
        let (mut pipe, mut sent) = (16, 0);
        for delivered in [3].into_iter().chain([1; 16]) {
            let window = prr.cwnd_after_delivery(delivered, false, pipe, 10.0);
            while pipe < window {
                pipe += 1;
                sent += 1;
                prr.on_sent(1);
            }
            pipe -= 1;
        }
        assert_eq!((10, 10), (sent, pipe + 1));
    }

    #[test]
    fn below_the_threshold_a_safe_acknowledgement_alone_lets_one_more_go() {
        for (bound, safe, sends) in [(PrrBound::Ssrb, false, 2), (PrrBound::SafeAck, false, 1), (PrrBound::SafeAck, true, 2)] {
            let mut prr = Prr::new(20, bound);
            prr.on_sent(1);
            assert_eq!(5 + sends, prr.cwnd_after_delivery(1, safe, 5, 10.0), "{bound} {safe}");
        }
    }
}
