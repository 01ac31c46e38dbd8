//! Warnings of combinations of links, groups and times that are hardly intended, and that span several sections.

use ecnlab_queue::{Child, DisciplineKind, Limit, QueueConfig};
use ecnlab_sim::PipeOrQueue;
use ecnlab_sim::impairment::Impairment;
use ecnlab_sim::network::{LinkChange, LinkState};
use ecnlab_transport::Traffic;
use ecnlab_transport::application::FlowDirection;
use ecnlab_transport::settings::{CongestionControlName, EcnResponseName, EctCodepoint};
use ecnlab_units::{CongestionLevel, EcnSemantics, Rate, Span, Time, Value};

use crate::read::{Reader, TableInput};
use crate::sections::flows::Group;
use crate::sections::link::Edge;
use crate::sections::routes::PrivateLinks;

/// Warns of links and groups that do not match.
pub fn warn_of_mismatches(reader: &mut Reader, root: &TableInput, edges: &[Edge], groups: &[Group], duration: Span) {
    check_unused_links_and_queues(reader, root, edges, groups);
    check_flow_memory(reader, root, groups);
    edges.iter().for_each(|edge| check_shaped_link(reader, edge));
    edges.iter().for_each(|edge| check_link_that_stays_down(reader, root, edge, duration));
    edges.iter().for_each(|edge| check_contradicting_changes(reader, root, edge));
    (0..edges.len()).for_each(|at| check_target_delay(reader, edges, at, groups));
    for group in groups {
        check_late_starts(reader, group, duration);
        check_ineffective_app_parameters(reader, group, duration);
        check_ecn_mismatch(reader, edges, group);
        check_mecn_mismatch(reader, edges, group);
        check_l4s_mismatch(reader, edges, group);
    }
}

/// A target delay is far below the transmission time of a packet if that takes so many times as long.
const PACKET_TIMES_PER_TARGET: f64 = 10.0;

/// Memory of a flow in bytes: measured for flows before their first data, without the network that runs of one scenario share, and for
/// profiles with much state per segment.
const BYTES_PER_FLOW: [u64; 2] = [1_300, 6_000];
/// Number of flows from which a run takes about a gigabyte.
const MANY_FLOWS: u64 = 200_000;

/// Memory in bytes of a run with this number of flows: with little state per segment, and with much.
pub fn estimated_flow_memory(flows: u64) -> [u64; 2] {
    BYTES_PER_FLOW.map(|bytes| flows * bytes)
}

/// Warns of flows that may not fit into memory.
fn check_flow_memory(reader: &mut Reader, root: &TableInput, groups: &[Group]) {
    let flows: u64 = groups.iter().map(|group| u64::from(group.count) * group.traffic.initial_flows()).sum();
    if flows >= MANY_FLOWS {
        let [least, most] = estimated_flow_memory(flows).map(|bytes| bytes as f64 / 1e9);
        let message = format!(
            "{flows} flows take about {least:.1} to {most:.1} GB of memory in each run, and each thread has a run at a time; \
             fix: give fewer flows if this machine has less memory"
        );
        reader.warn(root, "flows", message);
    }
}

/// Warns of queues without traffic or with only ACKs, of networks without queues, and of links that no route uses.
fn check_unused_links_and_queues(reader: &mut Reader, root: &TableInput, edges: &[Edge], groups: &[Group]) {
    if edges.iter().all(|edge| edge.queue.is_none()) {
        let message =
            "no link has a queue, so nothing is marked and no queue is measured; fix: give one queue = { aqm = \"droptail\", limit = 100 }";
        reader.warn(root, "link", message);
    }
    // A client's responses follow the route; its requests are data too, in the opposite direction.
    let sends_against_route =
        |group: &&Group| matches!(&group.traffic, Traffic::Application(spec) if spec.flow_directions().contains(&FlowDirection::Against));
    let requests = groups.iter().filter(sends_against_route).flat_map(|group| &group.route.routes.back);
    let with_data = used_edges(edges.len(), groups.iter().flat_map(|group| &group.route.routes.forward).chain(requests));
    let with_acks = used_edges(edges.len(), groups.iter().flat_map(|group| &group.route.routes.back));
    for (at, edge) in edges.iter().enumerate() {
        let other_way = edge.opposite.is_some_and(|other| with_data[other] || with_acks[other]);
        let is_reverse = edge.opposite.is_some_and(|other| other < at);
        match (with_data[at], with_acks[at]) {
            (false, false) if edge.queue.is_some() && (other_way || is_reverse) => {
                reader.warn(&edge.given, "queue", "no flow's route crosses this queue");
            }
            (false, false) if !other_way && !is_reverse => {
                reader.warn(&edge.given, "name", "no flow's route crosses this link");
            }
            (false, true) if edge.queue.is_some() && !is_reverse => {
                let message =
                    "only acknowledgements come to this queue; fix: swap from and to of the link, or give the queue to the other direction";
                reader.warn(&edge.given, "queue", message);
            }
            _ => {}
        }
    }
}

/// For each edge, whether it is among `of`.
fn used_edges<'g>(edges: usize, of: impl Iterator<Item = &'g usize>) -> Vec<bool> {
    let mut used = vec![false; edges];
    of.for_each(|&edge| used[edge] = true);
    used
}

/// Warns of shapers without effect.
fn check_shaped_link(reader: &mut Reader, edge: &Edge) {
    if let (Some(queue), Some(given)) = (&edge.queue, edge.given.table("queue")) {
        check_idle_shapers(reader, &given, queue, edge.spec.rate);
    }
}

/// Warns of a target delay that the queue never reaches, or that each waiting packet exceeds. A link whose rate varies is not checked, nor
/// one that ACKs or replies cross too, since its packets differ in size.
fn check_target_delay(reader: &mut Reader, edges: &[Edge], at: usize, groups: &[Group]) {
    let edge = &edges[at];
    let PipeOrQueue::Queue(spec) = &edge.spec.buffer else { return };
    if !spec.changes.is_empty() || spec.delivery_trace.is_some() || spec.bursts.is_some() {
        return;
    }
    if groups.iter().any(|group| group.route.routes.back.contains(&at)) {
        return;
    }
    let crossing = groups.iter().filter(|group| group.route.routes.forward.contains(&at));
    let Some(packet_size) = crossing.map(|group| group.transport.packet_and_ack_sizes().0).max() else { return };
    let (Some(mut queue), Some(mut given)) = (edge.queue.as_ref(), edge.given.table("queue")) else { return };
    let mut rate = edge.spec.rate;
    while let Child::Queue(inner) = &queue.child {
        let Some(within) = given.table("queue") else { return };
        rate = queue.shaped_rate().map_or(rate, |shaped| shaped.min(rate));
        (queue, given) = (inner, within);
    }
    let of_aqm = given.table("aqm").filter(|aqm| aqm.node.entries().is_some());
    let (values, limit) = match (&queue.child, queue.discipline.kind) {
        (Child::Aqm { aqm, limit }, DisciplineKind::Fifo | DisciplineKind::FlowQueues(_)) => (&aqm.values, limit),
        (Child::Buffer { limit }, _) => (&queue.values, limit),
        _ => return,
    };
    if values.position("target").is_none() {
        return;
    }
    let Value::Span(target) = values.value_by_name("target") else { return };
    let packet_time = 8.0 * f64::from(packet_size) / rate.bps() as f64;
    let full_s = match limit {
        Limit::Packets(packets) => f64::from(*packets) * packet_time,
        Limit::Bytes(bytes) => 8.0 * *bytes as f64 / rate.bps() as f64,
    };
    let target_s = target.seconds();
    let is_served_in_order = !matches!(queue.discipline.kind, DisciplineKind::FlowQueues(_));
    let message = if is_served_in_order && target_s >= full_s {
        let key = if of_aqm.as_ref().unwrap_or(&given).has("target") { "target" } else { "limit" };
        let message = format!(
            "the queueing delay never reaches the target of {target_s} s, since a full buffer waits {full_s:.3} s at {} bps, so it \
             causes no signal before packets overflow; fix: give a lower target or a larger limit",
            rate.bps()
        );
        (key, message)
    } else if target_s > 0.0 && target_s * PACKET_TIMES_PER_TARGET < packet_time {
        let message = format!(
            "the target of {target_s} s is far below the {packet_time:.3e} s that a packet of {packet_size} bytes takes at {} bps, so each \
             packet that waits for another exceeds it; fix: give a target of at least that time",
            rate.bps()
        );
        ("target", message)
    } else {
        return;
    };
    let (key, text) = message;
    let table = of_aqm.filter(|_| key == "target").unwrap_or(given);
    reader.warn(&table, key, text);
}

/// Checks a queue and its child queues in front of a link of rate `line`.
fn check_idle_shapers(reader: &mut Reader, given: &TableInput, of: &QueueConfig, line: Rate) {
    let shaped_to = of.shaped_rate().unwrap_or(line);
    if of.shaped_rate().is_some() && shaped_to >= line {
        let message = format!("is not below the link's rate of {} bps, so nothing is shaped; fix: give a lower rate", line.bps());
        reader.warn(given, "rate", message);
    }
    if let (Child::Queue(inner), Some(within)) = (&of.child, given.table("queue")) {
        check_idle_shapers(reader, &within, inner, shaped_to.min(line));
    }
}

/// Warns of links that go down during the run and never come up again.
fn check_link_that_stays_down(reader: &mut Reader, root: &TableInput, edge: &Edge, duration: Span) {
    let PipeOrQueue::Queue(queue) = &edge.spec.buffer else { return };
    let comes_up = |down: &LinkChange| {
        let mut ups = queue.changes.iter().filter(|change| change.state == Some(LinkState::Up));
        ups.any(|up| up.repeat_interval.is_some() || (down.repeat_interval.is_none() && up.time >= down.time))
    };
    let downs = queue.changes.iter().filter(|change| matches!(change.state, Some(LinkState::Down { .. })));
    let dead = downs.filter(|down| down.time < Time::ZERO + duration && !comes_up(down)).map(|down| down.time).min();
    if let Some(at) = dead {
        let message = format!(
            "link \"{}\" goes down at {} s and never comes up again, so nothing crosses it from then on; fix: add a change with state = \"up\"",
            edge.name,
            at.since(Time::ZERO).seconds()
        );
        reader.warn(root, "change", message);
    }
}

/// Warns of two changes of one quantity at one time.
fn check_contradicting_changes(reader: &mut Reader, root: &TableInput, edge: &Edge) {
    let PipeOrQueue::Queue(queue) = &edge.spec.buffer else { return };
    let mut changes: Vec<&LinkChange> = queue.changes.iter().collect();
    changes.sort_by_key(|change| change.time);
    let mut of_one_time = changes.chunk_by(|one, other| one.time == other.time);
    if let Some((key, at)) = of_one_time.find_map(|same| Some((quantity_with_two_values(same)?, same[0].time))) {
        let message = format!(
            "link \"{}\" gets two values of {key} at {} s, and keeps only one of them; fix: leave out one",
            edge.name,
            at.since(Time::ZERO).seconds()
        );
        reader.warn(root, "change", message);
    }
}

/// The quantity of which changes of one time give two values.
fn quantity_with_two_values(changes: &[&LinkChange]) -> Option<&'static str> {
    let quantities = [
        ("rate", differ(changes.iter().filter_map(|change| change.rate))),
        ("delay", differ(changes.iter().filter_map(|change| change.delay))),
        ("state", differ(changes.iter().filter_map(|change| change.state))),
    ];
    quantities.into_iter().find(|(_, differs)| *differs).map(|(key, _)| key)
}

fn differ<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    values.next().is_some_and(|first| values.any(|value| value != first))
}

fn check_late_starts(reader: &mut Reader, group: &Group, duration: Span) {
    let late = group.starts.iter().take(group.count as usize).filter(|&&start| start >= Time::ZERO + duration).count();
    if late > 0 {
        let who = if late == group.starts.len() { "no flow of the group sends anything" } else { "some flows of the group send nothing" };
        reader.warn(&group.given, "start", format!("must be before the end, duration {} s: {who}", duration.seconds()));
    }
}

/// Warns of application parameters that cannot take effect in the run.
fn check_ineffective_app_parameters(reader: &mut Reader, group: &Group, duration: Span) {
    let Traffic::Application(spec) = &group.traffic else { return };
    let Some(start) = group.starts.iter().min().filter(|&&start| start < Time::ZERO + duration) else { return };
    let doubts = spec.warnings((Time::ZERO + duration).since(*start));
    let given = group.given.table("app");
    for (parameter, why) in doubts {
        reader.warn(given.as_ref().unwrap_or(&group.given), parameter, why);
    }
}

/// Queues on the forward path of a group, each with the name of its edge.
fn forward_queues_of<'e>(edges: &'e [Edge], group: &'e Group) -> impl Iterator<Item = (&'e str, &'e QueueConfig)> {
    group.route.routes.forward.iter().filter_map(|&edge| Some((edges[edge].name.as_str(), edges[edge].queue.as_ref()?)))
}

/// Warns if a queue marks and the senders do not offer ECN, or the reverse. An explicit `ecn = false` is taken as intended.
fn check_ecn_mismatch(reader: &mut Reader, edges: &[Edge], group: &Group) {
    let marking = forward_queues_of(edges, group).find(|(_, queue)| queue.lowest_mark_level().is_some());
    let key = if group.transport.is_datagrams() { "udp" } else { "tcp" };
    let Some(carrier) = group.given.table(key) else { return };
    match marking {
        Some((edge, _)) if group.tcp().is_some() && !group.offers_ecn && !group.has_ecn_key => {
            let message = format!(
                "the queue of link \"{edge}\" marks, and these senders do not offer ECN, so it drops their packets: give ecn = true, or ecn = false \
                 if that is meant"
            );
            reader.warn(&carrier, "ecn", message);
        }
        None if group.transport.is_datagrams() && group.offers_ecn => {
            let message =
                "these datagrams are ECN-capable, and no queue on their route marks; fix: give one an AQM that does, or ecn = \"not-ect\"";
            reader.warn(&carrier, "ecn", message);
        }
        None if group.offers_ecn && !is_marked_before_queues(edges, group) => {
            let message =
                "these senders offer ECN, and no queue on their route marks; fix: give one an AQM that does, such as ecn, or ecn = false";
            reader.warn(&carrier, "ecn", message);
        }
        _ => {}
    }
}

/// Whether an impairment on the route or on the private links marks packets.
fn is_marked_before_queues(edges: &[Edge], group: &Group) -> bool {
    let shared = group.route.routes.forward.iter().filter_map(|&edge| edges[edge].spec.impairment.as_deref());
    let own = [&group.route.access, &group.route.exit].into_iter().flatten().filter_map(PrivateLinks::impairment);
    shared.chain(own).flat_map(|impairment| &impairment.impairments).any(Impairment::can_mark)
}

/// Warns if a queue classifies ECT(1) separately and the senders are not scalable or use another codepoint.
fn check_l4s_mismatch(reader: &mut Reader, edges: &[Edge], group: &Group) {
    let Some((edge, queue)) = forward_queues_of(edges, group).find(|(_, queue)| queue.has_l4s_queue() || queue.marks_ect1_earlier()) else {
        return;
    };
    let (Some(given), true) = (group.given.table("tcp"), group.offers_ecn) else { return };
    let Some(settings) = group.tcp() else { return };
    if matches!(settings.congestion_control, CongestionControlName::Kernel(_)) {
        return;
    }
    let message = match (settings.ecn_response, settings.ect_codepoint) {
        (EcnResponseName::Dctcp, EctCodepoint::Ect0) if queue.marks_ect1_earlier() => format!(
            "these senders answer marks by DCTCP, and the L4S threshold of link \"{edge}\" marks ECT(1) alone: give ect_codepoint = \"ect1\" \
             for its short queue"
        ),
        (EcnResponseName::Halve | EcnResponseName::Abe, EctCodepoint::Ect1) if queue.marks_ect1_earlier() => format!(
            "the L4S threshold of link \"{edge}\" marks for senders that answer by DCTCP, and these would use a part of their share: give \
             variant = \"dctcp\", or ect_codepoint = \"ect0\""
        ),
        (EcnResponseName::Dctcp, EctCodepoint::Ect0) => format!(
            "these senders answer marks by DCTCP and go into the classic queue of link \"{edge}\": give ect_codepoint = \"ect1\" for its low-latency \
             queue"
        ),
        (EcnResponseName::Halve | EcnResponseName::Abe, EctCodepoint::Ect1) => format!(
            "the low-latency queue of link \"{edge}\" marks for senders that answer by DCTCP, and these would give way to all others: give \
             variant = \"dctcp\", or ect_codepoint = \"ect0\""
        ),
        _ => return,
    };
    reader.warn(&given, "ect_codepoint", message);
}

/// Warns if a queue marks with two levels and the senders do not read them, or the reverse.
fn check_mecn_mismatch(reader: &mut Reader, edges: &[Edge], group: &Group) {
    let tcp = group.given.table("tcp");
    let Some(tcp) = tcp.filter(|_| group.offers_ecn) else { return };
    let marking: Vec<_> = forward_queues_of(edges, group).filter(|(_, queue)| queue.lowest_mark_level().is_some()).collect();
    let in_two_levels = marking.iter().find(|(_, queue)| queue.lowest_mark_level() == Some(CongestionLevel::Incipient));
    match (group.transport.ecn_semantics(), in_two_levels) {
        (EcnSemantics::Classic, Some((edge, _))) => {
            let message = format!(
                "the queue of link \"{edge}\" marks in two levels, and these senders read one: its incipient marks are not written on their \
                 packets; give ecn_response = \"mecn\" and ecn_echo = \"mecn\", or the queue another AQM"
            );
            reader.warn(&tcp, "ecn_response", message);
        }
        (EcnSemantics::Mecn, None) if !marking.is_empty() => {
            let message = "these senders read marks in two levels, and no queue on their route gives the incipient one: give one aqm = \
                           \"mecn\" or \"amecn\", or the senders another ecn_response";
            reader.warn(&tcp, "ecn_response", message);
        }
        _ => {}
    }
}
