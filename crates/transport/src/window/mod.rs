//! Congestion control: how the congestion window grows. One file per algorithm.

mod reno;

pub use reno::Reno;

/// The congestion window and the slow-start threshold, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// May fall below one under repeated marks; then nothing is sent before the timer (RFC 3168, section 6.1.2).
    pub cwnd: f64,
    pub ssthresh: f64,
}

impl Window {
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An algorithm of congestion control.
pub trait CongestionControl: Send {
    /// An acknowledgement of new data, with no signal of congestion on it.
    fn acknowledged(&mut self, window: &mut Window, segments: u64);
}
