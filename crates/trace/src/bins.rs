//! Rates and fairness by bins of time.
//!
//! Jain's index of a bin is over the connections that had begun and not been closed before it, each by the direction with more goodput in the bin:
//! the other has its requests. The mean leaves out bins in which nothing arrived, and those that are not whole within the measured interval.

use std::collections::BTreeMap;

use ecnlab_units::fairness::{BinnedFairness, JainIndex};
use ecnlab_units::{Span, Time};

use crate::columns::{BinRow, FlowBinRow};

/// Rows of a table that are kept.
pub const MOST_ROWS: usize = 1 << 20;

/// What a flow has in the bin that is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    member: Member,
    pub bytes: [u64; 3],
    pub marks: u64,
    pub drops: u64,
}

/// A flow, and its connection by the number of the connection's first flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Member {
    pub flow: u32,
    pub connection: u32,
}

/// How many have begun, were closed, and were closed before the open bin.
#[derive(Clone, Copy, Debug, Default)]
struct Alive {
    begun: u64,
    closed: u64,
    closed_before: u64,
}

impl Alive {
    fn shares(self) -> u64 {
        self.begun - self.closed_before
    }
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
    flows: Alive,
    connections: Alive,
    fairness: BinnedFairness,
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
            flows: Alive::default(),
            connections: Alive::default(),
            fairness: BinnedFairness::default(),
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
    pub fn share(&mut self, place: &mut BinPlace, member: Member) -> &mut Share {
        if place.bin != self.open || self.shares.len() <= place.at as usize {
            *place = BinPlace { bin: self.open, at: self.shares.len() as u32 };
            self.shares.push(Share { member, ..Share::default() });
        }
        &mut self.shares[place.at as usize]
    }

    /// A flow begins, the first one of its connection or the second.
    pub fn flow_begins(&mut self, is_first: bool) {
        self.flows.begun += 1;
        self.connections.begun += u64::from(is_first);
    }

    pub fn flow_closes(&mut self, is_first: bool) {
        self.flows.closed += 1;
        self.connections.closed += u64::from(is_first);
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
            let flows = self.flows.shares();
            let jain = self.jain();
            if from <= begin && end <= to {
                self.fairness.add_bin(jain);
            }
            if seconds > 0.0 && !self.shares.is_empty() {
                self.add_rows(begin.max(from).seconds(), seconds, flows, jain);
            }
        }
        self.shares.clear();
        self.flows.closed_before = self.flows.closed;
        self.connections.closed_before = self.connections.closed;
    }

    fn jain(&self) -> [f64; 3] {
        let mut larger: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
        for share in &self.shares {
            let bytes = larger.entry(share.member.connection).or_insert(share.bytes);
            if share.bytes[1] > bytes[1] {
                *bytes = share.bytes;
            }
        }
        [0, 1, 2].map(|kind| {
            let mut jain = JainIndex::default();
            larger.values().for_each(|bytes| jain.add_share(bytes[kind] as f64));
            jain.add_zero_shares(self.connections.shares().saturating_sub(larger.len() as u64));
            jain.value()
        })
    }

    fn add_rows(&mut self, time_s: f64, seconds: f64, flows: u64, jain: [f64; 3]) {
        let mut whole = BinRow { time_s, seconds, bytes: [0; 3], marks: 0, drops: 0, flows, jain };
        for &Share { member: Member { flow, .. }, bytes, marks, drops } in &self.shares {
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
