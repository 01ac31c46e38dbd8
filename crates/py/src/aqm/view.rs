//! Arguments of a user's AQM hooks, as Python objects and, for compiled hooks, as structs with a fixed layout.
//!
//! Both have the same fields. `_seen` in `ecnlab.aqm.compiled` declares the layout of the structs again for numba, and a test compares the
//! two (`tests/aqm/test_compiled.py`).

use ecnlab_queue::aqm;
use ecnlab_units::{Ecn, Time};
use pyo3::prelude::*;

/// Maximum number of packet groups of a user's AQM.
pub const MAX_AQM_GROUPS: usize = 16;

/// Queued packets and bytes, in total or of a group, without the packet in transmission.
#[pyclass(frozen, get_all, module = "ecnlab.aqm")]
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Backlog {
    packets: i64,
    bytes: i64,
}

/// Fields of a packet that an AQM sees.
#[pyclass(frozen, get_all, module = "ecnlab.aqm")]
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct Packet {
    size: i64,
    ecn: i64,
    capable: bool,
    flow: i64,
    rtt_s: f64,
}

/// An arriving packet, and the queue that it meets. A compiled hook sees the fields up to the groups.
#[pyclass(frozen, module = "ecnlab.aqm")]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arrival {
    #[pyo3(get)]
    now_s: f64,
    #[pyo3(get)]
    now_ps: i64,
    #[pyo3(get)]
    size: i64,
    #[pyo3(get)]
    ecn: i64,
    #[pyo3(get)]
    capable: bool,
    #[pyo3(get)]
    flow: i64,
    #[pyo3(get)]
    rtt_s: f64,
    #[pyo3(get)]
    head_waited_s: f64,
    #[pyo3(get)]
    full: bool,
    #[pyo3(get)]
    backlog: Backlog,
    groups: [Backlog; MAX_AQM_GROUPS],
    group_count: usize,
}

/// A packet that is about to be dequeued, and the queue behind it.
#[pyclass(frozen, get_all, module = "ecnlab.aqm")]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Departure {
    now_s: f64,
    now_ps: i64,
    size: i64,
    ecn: i64,
    capable: bool,
    flow: i64,
    rtt_s: f64,
    waited_s: f64,
    backlog: Backlog,
}

/// The queue at a deadline.
#[pyclass(frozen, get_all, module = "ecnlab.aqm")]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TimerContext {
    now_s: f64,
    now_ps: i64,
    head_waited_s: f64,
    backlog: Backlog,
}

/// The queue has become empty.
#[pyclass(frozen, get_all, module = "ecnlab.aqm")]
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Idling {
    now_s: f64,
    now_ps: i64,
}

#[pymethods]
impl Arrival {
    #[getter]
    fn groups(&self) -> Vec<Backlog> {
        self.groups[..self.group_count].to_vec()
    }
}

impl Arrival {
    pub fn of(arrival: &aqm::Arrival) -> Arrival {
        let mut groups = [Backlog::default(); MAX_AQM_GROUPS];
        for (backlog, group) in groups.iter_mut().zip(arrival.groups) {
            *backlog = Backlog::of(group);
        }
        let Packet { size, ecn, capable, flow, rtt_s } = Packet::of(&arrival.packet);
        Arrival {
            now_s: arrival.now.seconds(),
            now_ps: picos(arrival.now),
            size,
            ecn,
            capable,
            flow,
            rtt_s,
            head_waited_s: arrival.head_sojourn.seconds(),
            full: arrival.would_overflow,
            backlog: Backlog::of(&arrival.backlog),
            groups,
            group_count: arrival.groups.len(),
        }
    }
}

impl Backlog {
    fn of(backlog: &aqm::Backlog) -> Backlog {
        Backlog { packets: i64::from(backlog.packets), bytes: backlog.bytes as i64 }
    }
}

impl Packet {
    pub fn of(packet: &aqm::PacketInfo) -> Packet {
        Packet {
            size: i64::from(packet.size),
            ecn: codepoint(packet.ecn),
            capable: packet.ecn.is_capable(),
            flow: packet.flow as i64,
            rtt_s: packet.rtt.seconds(),
        }
    }
}

impl Departure {
    pub fn of(departure: &aqm::Departure) -> Departure {
        let Packet { size, ecn, capable, flow, rtt_s } = Packet::of(&departure.packet);
        let (now_s, now_ps) = (departure.now.seconds(), picos(departure.now));
        let (waited_s, backlog) = (departure.sojourn.seconds(), Backlog::of(&departure.backlog));
        Departure { now_s, now_ps, size, ecn, capable, flow, rtt_s, waited_s, backlog }
    }
}

impl TimerContext {
    pub fn of(context: &aqm::TimerContext) -> TimerContext {
        TimerContext {
            now_s: context.now.seconds(),
            now_ps: picos(context.now),
            head_waited_s: context.head_sojourn.seconds(),
            backlog: Backlog::of(&context.backlog),
        }
    }
}

impl Idling {
    pub fn at_time(now: Time) -> Idling {
        Idling { now_s: now.seconds(), now_ps: picos(now) }
    }
}

/// Time in picoseconds; a run ends long before 106 days, so it fits into i64.
fn picos(time: Time) -> i64 {
    time.picos() as i64
}

fn codepoint(ecn: Ecn) -> i64 {
    i64::from(ecn as u8)
}
