//! Rates and fairness by bins of time.
//!
//! Jain's index of a bin is over the flows that had begun and not been closed before it. Its mean leaves out bins in which nothing arrived,
//! and those that are not whole within the measured interval.

use ecnlab_units::fairness::{FairnessBins, Jain};
use ecnlab_units::{Span, Time};

use crate::columns::{BinRow, FlowBinRow};

/// Rows of a table that are kept.
pub const MOST_ROWS: usize = 1 << 20;

/// What a flow has in the bin that is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    flow: u32,
    pub bytes: [u64; 3],
    pub marks: u64,
    pub drops: u64,
}

/// Where a flow's share stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinPlace {
    /// Number of the bin, from 1.
    bin: u64,
    at: u32,
}

#[derive(Debug)]
pub struct Bins {
    width: Span,
    /// Number of the bin that is open, from 1; 0 if none is.
    open: u64,
    shares: Vec<Share>,
    /// Flows that have begun, that were closed, and that were closed before the open bin.
    begun: u64,
    closed: u64,
    closed_before: u64,
    fairness: FairnessBins,
    pub rows: Vec<BinRow>,
    pub flow_rows: Vec<FlowBinRow>,
    pub left_out: u64,
}

impl Bins {
    pub fn new(width: Span) -> Bins {
        Bins {
            width,
            open: 0,
            shares: Vec::new(),
            begun: 0,
            closed: 0,
            closed_before: 0,
            fairness: FairnessBins::default(),
            rows: Vec::new(),
            flow_rows: Vec::new(),
            left_out: 0,
        }
    }

    /// Goes on to a time; a bin that ended before is closed. `from` and `to` are the measured interval.
    #[inline]
    pub fn advance(&mut self, now: Time, from: Time, to: Time) {
        let bin = now.picos() / self.width.picos() + 1;
        if bin > self.open {
            self.close(from, to);
            self.open = bin;
        }
    }

    /// A flow's share of the open bin.
    pub fn share(&mut self, place: &mut BinPlace, flow: u32) -> &mut Share {
        if place.bin != self.open || self.shares.len() <= place.at as usize {
            *place = BinPlace { bin: self.open, at: self.shares.len() as u32 };
            self.shares.push(Share { flow, ..Share::default() });
        }
        &mut self.shares[place.at as usize]
    }

    pub fn flow_begins(&mut self) {
        self.begun += 1;
    }

    pub fn flow_closes(&mut self) {
        self.closed += 1;
    }

    /// The means of Jain's index.
    pub fn fairness(&self) -> [f64; 3] {
        self.fairness.means()
    }

    /// Closes the open bin.
    pub fn close(&mut self, from: Time, to: Time) {
        if self.open > 0 {
            let begin = Time::from_picos((self.open - 1).saturating_mul(self.width.picos()));
            let end = begin + self.width;
            let seconds = end.min(to).since(begin.max(from)).seconds();
            let flows = self.begun - self.closed_before;
            let jain = [0, 1, 2].map(|kind| self.jain(kind, flows));
            if from <= begin && end <= to {
                self.fairness.add(jain);
            }
            if seconds > 0.0 && !self.shares.is_empty() {
                self.add_rows(begin.max(from).seconds(), seconds, flows, jain);
            }
        }
        self.shares.clear();
        self.closed_before = self.closed;
    }

    fn jain(&self, kind: usize, flows: u64) -> f64 {
        let mut jain = Jain::default();
        self.shares.iter().for_each(|share| jain.add(share.bytes[kind] as f64));
        jain.add_idle(flows.saturating_sub(self.shares.len() as u64));
        jain.index()
    }

    fn add_rows(&mut self, time_s: f64, seconds: f64, flows: u64, jain: [f64; 3]) {
        let mut whole = BinRow { time_s, seconds, bytes: [0; 3], marks: 0, drops: 0, flows, jain };
        for &Share { flow, bytes, marks, drops } in &self.shares {
            (0..3).for_each(|kind| whole.bytes[kind] += bytes[kind]);
            whole.marks += marks;
            whole.drops += drops;
            keep(&mut self.flow_rows, FlowBinRow { time_s, flow, seconds, bytes, marks, drops }, &mut self.left_out);
        }
        keep(&mut self.rows, whole, &mut self.left_out);
    }
}

/// Adds a row if there is room, or counts it as left out.
pub fn keep<R>(rows: &mut Vec<R>, row: R, left_out: &mut u64) {
    if rows.len() < MOST_ROWS {
        rows.push(row);
    } else {
        *left_out += 1;
    }
}
