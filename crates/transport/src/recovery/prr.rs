//! Proportional rate reduction with slow-start reduction bound (RFC 6937, section 3): in recovery as much is sent as the window's cut
//! leaves of what is delivered, so that the window arrives at ssthresh when the losses are repaired.
//!
//! ```text
//! pipe > ssthresh:   send ceil(delivered ssthresh / flight) - out
//! else:              send min(ssthresh - pipe, max(delivered - out, newly delivered) + 1)
//! ```

/// What recovery has delivered and sent.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// In flight when recovery began.
    flight: u64,
    delivered: u64,
    out: u64,
}

impl Prr {
    pub fn new(flight: u64) -> Prr {
        Prr { flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// A segment was sent in recovery.
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// An acknowledgement delivered segments: the window that allows what may be sent now.
    pub fn window(&mut self, delivered: u64, pipe: u64, ssthresh: f64) -> u64 {
        self.delivered += delivered;
        let threshold = ssthresh as u64;
        let send = if pipe > threshold {
            (self.delivered * threshold).div_ceil(self.flight).saturating_sub(self.out)
        } else {
            let most = self.delivered.saturating_sub(self.out).max(delivered) + 1;
            most.min(threshold - pipe)
        };
        // The first retransmission always goes.
        pipe + if self.out == 0 { send.max(1) } else { send }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_loss_of_twenty_sends_one_for_two_and_ends_at_the_threshold() {
        let mut prr = Prr::new(20);
        let (mut pipe, mut sent) = (16, 0);
        for delivered in [3].into_iter().chain([1; 16]) {
            let window = prr.window(delivered, pipe, 10.0);
            while pipe < window {
                pipe += 1;
                sent += 1;
                prr.sent();
            }
            pipe -= 1;
        }
        assert_eq!((10, 10), (sent, pipe + 1));
    }
}
