//! End of a run: conservation checks and the report.

use ecnlab_queue::Discipline;

use super::fast_path::FastPath;
use super::{FlowState, Run, Simulation};
use crate::calendar_queue::CalendarQueue;
use crate::impairment::LossCounts;
use crate::link::LinkQueue;
use crate::measures::columns::ImpairmentRow;
use crate::measures::{NetworkNames, QueueAtEnd, ReportBuilder};
use crate::network::RowPolicy;
use crate::packet::{NO_INDEX, PacketArena};
use crate::probe::{DelayOrSojourn, Probe};

impl<P: Probe> Simulation<P> {
    pub(super) fn assert_conservation(&self) {
        self.queues.iter().for_each(|queue| queue.discipline.assert_conservation());
        let mut in_flight = vec![0u64; self.flows.len()];
        let on_wires = self.links.iter().flat_map(|link| link.iter_packets_on_wire(&self.packets));
        let mut waiting = Vec::new();
        // Packets in queues with known departures are on the wire already, or have been passed ahead.
        let queues = self.queues.iter().filter(|queue| queue.has_known_departures != Some(true));
        queues.for_each(|queue| queue.discipline.for_each_packet(&mut |frame| waiting.push(frame.packet)));
        let held = self.links.iter().filter_map(|link| link.impairment.as_ref()).flat_map(|impairment| impairment.delayed_packets());
        let mut live = 0;
        for id in on_wires.chain(waiting).chain(held).chain(self.partly_sent_packets()) {
            let packet = &self.packets[id];
            live += 1;
            in_flight[packet.flow as usize] += u64::from(!packet.is_ack_from_sink());
        }
        assert_eq!(self.packets.live_packets(), live, "every packet is on a link, in a queue or held before one");
        for (flow, in_flight) in self.flows.iter().zip(in_flight) {
            let accounted = flow.received_packets + flow.lost_packets + in_flight;
            assert_eq!(
                flow.send_counters_of_all_connections().sent + flow.duplicated_packets,
                accounted,
                "sent + copied = received + lost + in flight"
            );
            let una = flow.sender.as_tcp().map_or(0, |sender| sender.snd_una());
            assert!(una <= flow.sink.rcv_nxt(), "nothing is acknowledged that has not arrived");
        }
        for link in self.links.iter() {
            let queued = if link.queue == NO_INDEX { (0, 0) } else { self.queue_waiting_and_dropped(link.queue) };
            let (copied, held) = link
                .impairment
                .as_ref()
                .map_or((0, 0), |impairment| (impairment.duplicated_packets, impairment.delayed_packets().len() as u64));
            let accounted =
                link.delivered_packets + link.dropped_packets + u64::from(link.wire_packet_count()) + queued.0 + queued.1 + held;
            assert_eq!(link.arrived_packets + copied, accounted, "arrived + copied = delivered + dropped + held + waiting + on the wire");
        }
    }

    /// Packets in a queue or partly sent, and the packets that it has dropped.
    fn queue_waiting_and_dropped(&self, at: u32) -> (u64, u64) {
        let queue = &self.queues[at];
        let partly = queue.delivery_schedule.as_ref().is_some_and(|deliveries| deliveries.partly_sent.is_some());
        let waiting = if queue.has_known_departures == Some(true) { 0 } else { queue.discipline.len() as u64 };
        (waiting + u64::from(partly), queue.discipline.total_counters().dropped_packets())
    }

    fn queue_at_end<'q>(&self, queue: &'q LinkQueue, band_names: &'static [&'static str]) -> QueueAtEnd<'q> {
        let impairment = self.links[queue.link].impairment.as_ref();
        let losses = impairment.map_or(LossCounts::default(), |impairment| impairment.loss_counts());
        let followed = queue.delivery_schedule.as_ref().map(|deliveries| deliveries.utilisation(self.options.measure_from, self.now));
        let utilisation = followed.unwrap_or_else(|| queue.measures.utilisation(self.now));
        QueueAtEnd { measures: &queue.measures, band_names, counters: queue.discipline.counters_by_band(), losses, utilisation }
    }

    /// Rows of the impairments; links with the same name share their rows.
    fn impairment_rows(&self) -> Vec<ImpairmentRow> {
        let mut rows: Vec<ImpairmentRow> = Vec::new();
        let mut first = vec![usize::MAX; self.impaired_link_labels.len()];
        for &(link, label) in &self.impaired_links {
            let Some(impairment) = &self.links[link].impairment else { continue };
            let known = first[label as usize];
            if known == usize::MAX {
                first[label as usize] = rows.len();
                rows.extend(impairment.counts().zip(0..).map(|((kind, counts), position)| ImpairmentRow {
                    link: label,
                    position,
                    kind,
                    counts,
                }));
            } else {
                rows[known..].iter_mut().zip(impairment.counts()).for_each(|(row, (_, counts))| row.counts = row.counts.plus(&counts));
            }
        }
        rows
    }

    /// Names of groups, queues, bands and impaired links so far, without gauges.
    pub fn network_names(&self) -> NetworkNames {
        let bands = self.queue_bands.iter().copied().flatten().map(|&band| band.into()).collect();
        let [groups, queues] = [&self.group_names, &self.queue_names].map(|names| names.iter().cloned().collect());
        let links = self.impaired_link_labels.iter().cloned().collect();
        NetworkNames { groups, queues, bands, gauges: [].into(), links }
    }

    pub(super) fn into_run(mut self) -> (Run, P) {
        self.finish_measures();
        self.report_distributions();
        let fast_path_packets = self.passed_packets();
        // The tables of many flows are large, and all packets are counted.
        self.calendar = CalendarQueue::new(0);
        self.packets = PacketArena::new();
        self.fast_path = FastPath::default();
        (self.declared_links, self.route_hops) = Default::default();
        let names = self.network_names();
        let reporter = ReportBuilder {
            names: &names,
            measure_from: self.options.measure_from,
            now: self.now,
            groups: &self.groups,
            queues: self.queues.iter().zip(self.queue_bands.iter()).map(|(queue, bands)| self.queue_at_end(queue, bands)).collect(),
            impairments: self.impairment_rows(),
            fairness: &self.fairness,
        };
        let flows = self.flows.iter().filter(|flow| flow.row_policy != RowPolicy::NotCounted);
        let report = reporter.build(flows.map(FlowState::flow_at_end));
        let packet_hops = self.links.iter().map(|link| link.delivered_packets).sum();
        let packets_received = self.flows.iter().map(|flow| flow.received_packets).sum();
        let Simulation { fingerprint, events, probe, .. } = self;
        (Run { report, names, fingerprint, events, packet_hops, packets_received, fast_path_packets }, probe)
    }

    /// Closes open measures at the end of the run: intervals without delivery, and packets in queues.
    fn finish_measures(&mut self) {
        for (at, flow) in self.flows.iter_mut().enumerate() {
            if flow.sends_datagrams {
                flow.measures.end_transfer_if_idle(self.now);
            }
            if let Some(since) = flow.measures.count_final_lockout(self.now) {
                self.probe.on_lockout(at as u32, since, self.now);
            }
        }
        for queue in self.queues.iter_mut() {
            queue.update_length(self.now);
        }
    }

    fn report_distributions(&mut self) {
        for (group, counted) in (0..).zip(self.groups.iter()) {
            self.probe.on_distribution(DelayOrSojourn::Delay { group }, &counted.delay);
        }
        let mut place = 0;
        for (queue, counted) in (0..).zip(self.queues.iter()) {
            let measures = &counted.measures;
            if measures.band_sojourns.is_empty() {
                self.probe.on_distribution(DelayOrSojourn::Sojourn { queue, band: None }, &measures.sojourn);
            }
            for sojourns in &measures.band_sojourns {
                self.probe.on_distribution(DelayOrSojourn::Sojourn { queue, band: Some(place) }, sojourns);
                place += 1;
            }
        }
    }
}
