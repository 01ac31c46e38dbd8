//! A flow as it runs: the two ends of its connection, its routes and its counts.

use std::sync::Arc;

use ecnlab_transport::{Receiver, Sender, Settings};
use ecnlab_units::{Rng, Span, Time};

use super::{SINK, SOURCE};
use crate::measures::{FlowMeasures, FlowRow};
use crate::network::Network;

/// A connection as it runs.
pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub forward: u32,
    pub back: u32,
    pub group: u32,
    pub data_bytes: u32,
    pub syn: bool,
    /// Data packets that reached the sink and that were lost, in the whole run.
    pub received: u64,
    pub lost: u64,
    pub start: Time,
    pub started: bool,
    pub base_rtt: Span,
    pub measures: FlowMeasures,
}

impl Flow {
    /// Makes the flow and appends its routes to `hops`.
    pub fn new(network: &Network, at: usize, seed: u64, hops: &mut Vec<u32>) -> Flow {
        let spec = &network.flows[at];
        let forward = hops.len() as u32;
        hops.extend(&spec.forward);
        hops.push(SINK);
        let back = hops.len() as u32;
        hops.extend(&spec.back);
        hops.push(SOURCE);
        let tcp: Arc<Settings> = spec.tcp.clone();
        let boot = spec.boot.unwrap_or_else(|| Span::from_picos(Rng::for_role(seed, &format!("boot {at}")).below(tcp.tick.picos())));
        let base_rtt = network.base_rtt(spec);
        Flow {
            receiver: Receiver::new(&tcp),
            forward,
            back,
            group: spec.group,
            data_bytes: tcp.packet_size - tcp.header,
            syn: tcp.syn(),
            received: 0,
            lost: 0,
            start: spec.start,
            started: false,
            base_rtt,
            measures: FlowMeasures::new(base_rtt, spec.start),
            sender: Sender::new(tcp, &spec.demand, boot),
        }
    }

    pub fn row(&self) -> FlowRow<'_> {
        FlowRow {
            group: self.group,
            measures: &self.measures,
            sender: *self.sender.counters(),
            base_rtt_s: self.base_rtt.seconds(),
            min_rtt_s: self.sender.min_rtt().seconds(),
            started: self.start,
        }
    }
}
