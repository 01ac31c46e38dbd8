//! Loss recovery: what duplicate acknowledgements mean, and how the window is inflated meanwhile. One file per algorithm.

mod reno;

pub use reno::Reno;

/// What the sender last cut its window for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastCut {
    None,
    Duplicates,
    Mark,
    Timeout,
}

/// What a recovery algorithm may know of the connection.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Lowest segment not yet acknowledged.
    pub una: u64,
    /// One past the highest segment sent when the window was last cut.
    pub recover: u64,
    pub last_cut: LastCut,
    pub ecn: bool,
}

/// What a duplicate acknowledgement calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    Wait,
    /// Send one new segment beyond the window (RFC 3042).
    LimitedTransmit,
    /// Retransmit the first unacknowledged segment, and cut the window or leave it.
    Retransmit {
        cut: bool,
    },
}

/// An algorithm of loss recovery.
pub trait Recovery: Send {
    /// Segments that the window is inflated by, for segments known to have left the network.
    fn inflation(&self) -> u64;

    /// The `count`-th duplicate acknowledgement in a row, from 1.
    fn duplicate(&mut self, count: u32, view: &View) -> Reaction;

    /// New data was acknowledged.
    fn advanced(&mut self);

    /// The retransmission timer expired.
    fn timed_out(&mut self);
}
