//! Model of a queue: the packets that it should contain and the counts that it should have, from its events.

use std::collections::{BTreeMap, VecDeque};

use ecnlab_units::{CongestionLevel, Ecn, Span, Time};

use crate::describe;
use crate::invariants::{Invariant, Violation, ensure};
use crate::packet::Packet;
use ecnlab_queue::{Discipline, Queue, QueueCounters, QueueEvent, SignalCause};

/// An action or an answer of a queue, for comparing two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEventOrAnswer {
    Stored(u64),
    Marked(u64, Ecn, SignalCause),
    Dropped(u64, SignalCause),
    Sent(u64, u8),
    Later(Time),
    Empty,
    Deadline(Option<Time>),
}

/// State that the queue should have.
#[derive(Default)]
pub struct QueueModel {
    /// Lowest congestion level that the registry declares.
    lowest_mark: Option<CongestionLevel>,
    waiting: BTreeMap<u64, PacketAndArrivalTime>,
    /// The numbers of each flow's packets, in the order of their arrival.
    flows: BTreeMap<u64, VecDeque<u64>>,
    bytes: u64,
    counters: QueueCounters,
    arriving: Option<PacketAndArrivalTime>,
    /// The first event that cannot be.
    violation: Option<Violation>,
    pub events: Vec<QueueEventOrAnswer>,
}

#[derive(Clone, Copy)]
struct PacketAndArrivalTime {
    packet: Packet,
    since: Time,
}

impl QueueModel {
    pub fn new(lowest_mark: Option<CongestionLevel>) -> QueueModel {
        QueueModel { lowest_mark, ..QueueModel::default() }
    }

    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn dropped(&self) -> u64 {
        self.counters.dropped_packets()
    }

    pub fn marked(&self) -> u64 {
        self.counters.marked_packets()
    }

    /// A packet is about to be offered.
    pub fn record_arrival(&mut self, packet: Packet, since: Time) {
        self.counters.arrived.count_packet(packet.size);
        self.arriving = Some(PacketAndArrivalTime { packet, since });
    }

    /// Updates the model by an event of the queue.
    pub fn on_event(&mut self, event: QueueEvent<Packet>) {
        let heard = match event {
            QueueEvent::Stored(packet) => self.on_stored(packet),
            QueueEvent::Marked(packet, cause) => self.on_marked(packet, cause),
            QueueEvent::Dropped(packet, cause) => self.on_dropped(&packet, cause),
        };
        if let Err(violation) = heard {
            self.violation.get_or_insert(violation);
        }
    }

    /// An operation is over.
    pub fn finish_operation(&mut self) -> Result<(), Violation> {
        if let Some(violation) = self.violation.take() {
            return Err(violation);
        }
        ensure!(self.arriving.is_none(), Conservation, "the arriving packet was neither stored nor dropped");
        Ok(())
    }

    /// A packet was given out to be sent.
    pub fn verify_departure(&mut self, packet: &Packet, sojourn: Span, now: Time, band: u8) -> Result<(), Violation> {
        let known = self.find_matching_packet(packet)?;
        let first = self.flows.get(&packet.flow).and_then(|flow| flow.front());
        ensure!(first == Some(&packet.number), Order, "{packet} left before {} of the same flow", next_packet_text(first));
        let expected = now.since(known.since);
        ensure!(sojourn == expected, Conservation, "{packet} waited {} s, and the queue tells {} s", expected.seconds(), sojourn.seconds());
        self.remove(packet);
        self.counters.departed.count_packet(packet.size);
        self.events.push(QueueEventOrAnswer::Sent(packet.number, band));
        Ok(())
    }

    /// Compares the queue with the account.
    pub fn compare_with(&self, queue: &Queue<Packet>) -> Result<(), Violation> {
        let held = (queue.len(), queue.bytes(), queue.is_empty());
        let expected = (self.waiting.len(), self.bytes, self.waiting.is_empty());
        ensure!(held == expected, Conservation, "the queue tells {}, and {} wait", backlog_text(held), backlog_text(expected));
        let counted = queue.total_counters();
        ensure!(
            counted == self.counters,
            Conservation,
            "it has counted {}, and told {}",
            describe::counters_text(&counted),
            describe::counters_text(&self.counters)
        );
        self.compare_waiting_packets(queue)
    }

    fn compare_waiting_packets(&self, queue: &Queue<Packet>) -> Result<(), Violation> {
        let mut shown: BTreeMap<u64, VecDeque<u64>> = BTreeMap::new();
        let mut known = Ok(());
        queue.for_each_packet(&mut |packet| {
            shown.entry(packet.flow).or_default().push_back(packet.number);
            if let (Ok(()), Err(violation)) = (&known, self.find_matching_packet(packet)) {
                known = Err(violation);
            }
        });
        known?;
        ensure!(
            shown == self.flows,
            Order,
            "the queue shows packets that wait in another order than they came: {}, expected {}",
            packet_numbers_by_flow_text(&shown),
            packet_numbers_by_flow_text(&self.flows)
        );
        Ok(())
    }

    fn on_stored(&mut self, packet: &Packet) -> Result<(), Violation> {
        let Some(arriving) = self.arriving.take() else {
            return Err(Violation::new(Invariant::Conservation, format!("packet {} was stored without arriving, or twice", packet.number)));
        };
        ensure!(arriving.packet == *packet, Conservation, "{} arrived and {packet} was stored", arriving.packet);
        self.waiting.insert(packet.number, arriving);
        self.flows.entry(packet.flow).or_default().push_back(packet.number);
        self.bytes += u64::from(packet.size);
        self.events.push(QueueEventOrAnswer::Stored(packet.number));
        Ok(())
    }

    fn on_marked(&mut self, packet: &Packet, cause: SignalCause) -> Result<(), Violation> {
        let arriving = self.arriving.as_mut().filter(|arriving| arriving.packet.number == packet.number);
        let Some(known) = arriving.or_else(|| self.waiting.get_mut(&packet.number)) else {
            return Err(Violation::new(Invariant::Conservation, format!("packet {} was marked and is not in the queue", packet.number)));
        };
        ensure!(known.packet.may_be_marked_as(packet), Marks, "{} was marked and is told as {packet}", known.packet);
        let declared = self.lowest_mark.is_some_and(|lowest_mark| packet.ecn_semantics.level_of(packet.ecn) >= Some(lowest_mark));
        ensure!(
            declared,
            Marks,
            "{packet} was marked; the quietest mark that is declared is {}",
            describe::congestion_level_text(self.lowest_mark)
        );
        known.packet = *packet;
        self.counters.marked[cause] += 1;
        self.events.push(QueueEventOrAnswer::Marked(packet.number, packet.ecn, cause));
        Ok(())
    }

    fn on_dropped(&mut self, packet: &Packet, cause: SignalCause) -> Result<(), Violation> {
        if self.arriving.is_some_and(|arriving| arriving.packet == *packet) {
            self.arriving = None;
        } else {
            self.find_matching_packet(packet)?;
            self.remove(packet);
        }
        self.counters.dropped[cause].count_packet(packet.size);
        self.events.push(QueueEventOrAnswer::Dropped(packet.number, cause));
        Ok(())
    }

    /// The packet that the model expects, which the queue must show as in its last event.
    fn find_matching_packet(&self, packet: &Packet) -> Result<PacketAndArrivalTime, Violation> {
        let Some(known) = self.waiting.get(&packet.number) else {
            return Err(Violation::new(Invariant::Conservation, format!("packet {} is not in the queue", packet.number)));
        };
        ensure!(known.packet == *packet, Conservation, "{packet} was told last as {}", known.packet);
        Ok(*known)
    }

    fn remove(&mut self, packet: &Packet) {
        self.waiting.remove(&packet.number);
        self.bytes -= u64::from(packet.size);
        if let Some(flow) = self.flows.get_mut(&packet.flow) {
            flow.retain(|&number| number != packet.number);
            if flow.is_empty() {
                self.flows.remove(&packet.flow);
            }
        }
    }
}

/// The packet that should have left, in words.
fn next_packet_text(first: Option<&u64>) -> String {
    first.map_or("no packet".to_owned(), |number| format!("packet {number}"))
}

/// Packets, bytes and whether it is empty, in words.
fn backlog_text((packets, bytes, is_empty): (usize, u64, bool)) -> String {
    format!("{packets} packets of {bytes} bytes{}", if is_empty { " (empty)" } else { "" })
}

/// The numbers of each flow's packets, in words.
fn packet_numbers_by_flow_text(flows: &BTreeMap<u64, VecDeque<u64>>) -> String {
    let texts = flows.iter().map(|(flow, numbers)| {
        let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
        format!("flow {flow}: {}", numbers.join(" "))
    });
    texts.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Packet = Packet { number: 1, ..Packet::ECT0_1000_BYTES };
    const SECOND: Packet = Packet { number: 2, ..Packet::ECT0_1000_BYTES };

    /// An account in which two packets of one flow wait since time zero.
    fn model_with_two_packets() -> QueueModel {
        let mut model = QueueModel::new(Some(CongestionLevel::Congested));
        for packet in [FIRST, SECOND] {
            model.record_arrival(packet, Time::ZERO);
            model.on_event(QueueEvent::Stored(&packet));
        }
        model
    }

    fn invariant_of(result: Result<(), Violation>) -> Option<Invariant> {
        result.err().map(|violation| violation.invariant)
    }

    /// The invariant that this event violates in a queue of two packets.
    fn violated_invariant(event: QueueEvent<Packet>) -> Option<Invariant> {
        let mut model = model_with_two_packets();
        model.on_event(event);
        invariant_of(model.finish_operation())
    }

    #[test]
    fn an_event_of_an_absent_or_changed_packet_violates_conservation() {
        let stranger = Packet { number: 3, ..FIRST };
        let altered = Packet { size: 1, ..FIRST };
        let marked = Packet { ecn: Ecn::Ce, ..stranger };
        let broken = [
            QueueEvent::Stored(&FIRST),
            QueueEvent::Marked(&marked, SignalCause::Early),
            QueueEvent::Dropped(stranger, SignalCause::Early),
            QueueEvent::Dropped(altered, SignalCause::Early),
        ];
        assert_eq!([Some(Invariant::Conservation); 4], broken.map(violated_invariant));
        assert_eq!(None, violated_invariant(QueueEvent::Dropped(SECOND, SignalCause::Early)));
    }

    #[test]
    fn a_mark_without_effect_or_undeclared_violates_the_invariant_of_marks() {
        let marked = Packet { ecn: Ecn::Ce, ..FIRST };
        assert_eq!(None, violated_invariant(QueueEvent::Marked(&marked, SignalCause::Early)));
        assert_eq!(Some(Invariant::Marks), violated_invariant(QueueEvent::Marked(&FIRST, SignalCause::Early)));
        let mut silent = QueueModel { lowest_mark: None, ..model_with_two_packets() };
        silent.on_event(QueueEvent::Marked(&marked, SignalCause::Early));
        assert_eq!(Some(Invariant::Marks), invariant_of(silent.finish_operation()));
    }

    #[test]
    fn packets_of_a_flow_leave_in_order_with_their_sojourn_time() {
        let later = Time::ZERO + Span::from_millis(3);
        assert_eq!(
            Some(Invariant::Order),
            invariant_of(model_with_two_packets().verify_departure(&SECOND, Span::from_millis(3), later, 0))
        );
        assert_eq!(
            Some(Invariant::Conservation),
            invariant_of(model_with_two_packets().verify_departure(&FIRST, Span::from_millis(2), later, 0))
        );
        assert_eq!(None, invariant_of(model_with_two_packets().verify_departure(&FIRST, Span::from_millis(3), later, 0)));
    }

    #[test]
    fn a_packet_that_is_neither_stored_nor_dropped_is_reported() {
        let mut model = model_with_two_packets();
        model.record_arrival(Packet { number: 3, ..FIRST }, Time::ZERO);
        assert_eq!(Some(Invariant::Conservation), invariant_of(model.finish_operation()));
    }
}
