//! Rates and fairness by bins of time.
//!
//! Jain's index of a bin is over the connections that had begun and not been closed before it, each by the direction with more goodput in
//! the bin: the other has its requests. The mean excludes empty bins, and those partly outside the measured interval.

use std::collections::BTreeMap;

use ecnlab_units::fairness::{BinnedFairness, JainIndex};
use ecnlab_units::{Span, Time};

use crate::columns::{BinRow, FlowBinRow};

/// Rows that a table keeps.
pub const MAX_ROWS: usize = 1 << 20;

/// Counters of a flow in the open bin.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowBin {
    member: FlowAndConnectionNumbers,
    pub bytes: [u64; 3],
    pub marks: u64,
    pub drops: u64,
}

/// A flow, and its connection by the number of the connection's first flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowAndConnectionNumbers {
    pub flow: u32,
    pub connection: u32,
}

/// Numbers of flows, or connections, that have begun, that were closed, and that were closed before the open bin.
#[derive(Clone, Copy, Debug, Default)]
struct BegunAndClosedCounts {
    begun: u64,
    closed: u64,
    closed_before: u64,
}

impl BegunAndClosedCounts {
    fn active_in_open_bin(self) -> u64 {
        self.begun - self.closed_before
    }
}

/// Position of a flow's counters in the list of the open bin.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowBinPosition {
    /// Number of the bin, from 1.
    bin: u64,
    position: u32,
}

#[derive(Debug)]
pub struct Bins {
    width: Span,
    /// Number of the bin that is open, from 1; 0 if none is.
    open_bin: u64,
    flow_bins: Vec<FlowBin>,
    flows: BegunAndClosedCounts,
    connections: BegunAndClosedCounts,
    fairness: BinnedFairness,
    pub rows: Vec<BinRow>,
    pub flow_rows: Vec<FlowBinRow>,
    pub rows_left_out: u64,
}

impl Bins {
    pub fn new(width: Span) -> Bins {
        Bins {
            width,
            open_bin: 0,
            flow_bins: Vec::new(),
            flows: BegunAndClosedCounts::default(),
            connections: BegunAndClosedCounts::default(),
            fairness: BinnedFairness::default(),
            rows: Vec::new(),
            flow_rows: Vec::new(),
            rows_left_out: 0,
        }
    }

    /// Advances the time and closes a bin that has ended. `from` and `to` are the measured interval.
    #[inline]
    pub fn advance(&mut self, now: Time, from: Time, to: Time) {
        let bin = now.picos() / self.width.picos() + 1;
        if bin > self.open_bin {
            self.close(from, to);
            self.open_bin = bin;
        }
    }

    /// A flow's counters in the open bin.
    pub fn flow_bin(&mut self, slot: &mut FlowBinPosition, member: FlowAndConnectionNumbers) -> &mut FlowBin {
        if slot.bin != self.open_bin || self.flow_bins.len() <= slot.position as usize {
            *slot = FlowBinPosition { bin: self.open_bin, position: self.flow_bins.len() as u32 };
            self.flow_bins.push(FlowBin { member, ..FlowBin::default() });
        }
        &mut self.flow_bins[slot.position as usize]
    }

    /// Counts a new flow, and its connection if the flow is the first one of it.
    pub fn on_flow_begin(&mut self, is_first: bool) {
        self.flows.begun += 1;
        self.connections.begun += u64::from(is_first);
    }

    pub fn on_flow_close(&mut self, is_first: bool) {
        self.flows.closed += 1;
        self.connections.closed += u64::from(is_first);
    }

    /// The means of Jain's index.
    pub fn mean_jain_indices(&self) -> [f64; 3] {
        self.fairness.means()
    }

    /// Closes the open bin.
    pub fn close(&mut self, from: Time, to: Time) {
        if self.open_bin > 0 {
            let begin = Time::from_picos((self.open_bin - 1).saturating_mul(self.width.picos()));
            let end = begin + self.width;
            let seconds = end.min(to).since(begin.max(from)).seconds();
            let flows = self.flows.active_in_open_bin();
            let jain = self.jain_index_of_open_bin();
            if from <= begin && end <= to {
                self.fairness.add_bin_indices(jain);
            }
            if seconds > 0.0 && !self.flow_bins.is_empty() {
                self.add_rows(begin.max(from).seconds(), seconds, flows, jain);
            }
        }
        self.flow_bins.clear();
        self.flows.closed_before = self.flows.closed;
        self.connections.closed_before = self.connections.closed;
    }

    fn jain_index_of_open_bin(&self) -> [f64; 3] {
        let mut larger_directions: BTreeMap<u32, [u64; 3]> = BTreeMap::new();
        for bin in &self.flow_bins {
            let bytes = larger_directions.entry(bin.member.connection).or_insert(bin.bytes);
            if bin.bytes[1] > bytes[1] {
                *bytes = bin.bytes;
            }
        }
        [0, 1, 2].map(|kind| {
            let mut jain = JainIndex::default();
            larger_directions.values().for_each(|bytes| jain.add_share(bytes[kind] as f64));
            jain.add_zero_shares(self.connections.active_in_open_bin().saturating_sub(larger_directions.len() as u64));
            jain.value()
        })
    }

    fn add_rows(&mut self, time_s: f64, seconds: f64, flows: u64, jain: [f64; 3]) {
        let mut total = BinRow { time_s, seconds, bytes: [0; 3], marks: 0, drops: 0, flows, jain };
        for &FlowBin { member: FlowAndConnectionNumbers { flow, .. }, bytes, marks, drops } in &self.flow_bins {
            (0..3).for_each(|kind| total.bytes[kind] += bytes[kind]);
            total.marks += marks;
            total.drops += drops;
            push_bounded(&mut self.flow_rows, FlowBinRow { time_s, flow, seconds, bytes, marks, drops }, &mut self.rows_left_out);
        }
        push_bounded(&mut self.rows, total, &mut self.rows_left_out);
    }
}

/// Adds a row, or counts it as left out if the table is full.
pub fn push_bounded<R>(rows: &mut Vec<R>, row: R, rows_left_out: &mut u64) {
    if rows.len() < MAX_ROWS {
        rows.push(row);
    } else {
        *rows_left_out += 1;
    }
}
