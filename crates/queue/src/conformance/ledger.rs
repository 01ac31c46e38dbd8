//! A plain account of what a queue should hold, kept from what the queue tells.

use std::collections::{BTreeMap, VecDeque};

use ecnlab_units::{Ecn, Level, Span, Time};

use super::describe;
use super::packet::Packet;
use super::rule::{Fault, Rule, ensure};
use crate::{Cause, Counters, Deed, Discipline, Queue};

/// What happened, for comparing two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Stored(u64),
    Marked(u64, Ecn, Cause),
    Dropped(u64, Cause),
    Sent(u64, u8),
    Later(Time),
    Empty,
    Deadline(Option<Time>),
}

/// What the queue should hold and should have counted.
pub struct Ledger {
    /// The quietest mark that the registry declares.
    quietest: Option<Level>,
    waiting: BTreeMap<u64, Waiting>,
    /// The numbers of each flow's packets, in the order of their arrival.
    flows: BTreeMap<u64, VecDeque<u64>>,
    bytes: u64,
    counters: Counters,
    arriving: Option<Waiting>,
    /// The first thing that was told and cannot be.
    fault: Option<Fault>,
    pub events: Vec<Event>,
}

#[derive(Clone, Copy)]
struct Waiting {
    packet: Packet,
    since: Time,
}

impl Ledger {
    pub fn new(quietest: Option<Level>) -> Ledger {
        Ledger {
            quietest,
            waiting: BTreeMap::new(),
            flows: BTreeMap::new(),
            bytes: 0,
            counters: Counters::default(),
            arriving: None,
            fault: None,
            events: Vec::new(),
        }
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
    pub fn arrive(&mut self, packet: Packet, since: Time) {
        self.counters.arrived.add(packet.size);
        self.arriving = Some(Waiting { packet, since });
    }

    /// The queue tells what it did.
    pub fn hear(&mut self, deed: Deed<Packet>) {
        let heard = match deed {
            Deed::Stored(packet) => self.store(packet),
            Deed::Marked(packet, cause) => self.mark(packet, cause),
            Deed::Dropped(packet, cause) => self.drop(&packet, cause),
        };
        if let Err(fault) = heard {
            self.fault.get_or_insert(fault);
        }
    }

    /// An operation is over.
    pub fn settle(&mut self) -> Result<(), Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        ensure!(self.arriving.is_none(), Books, "the arriving packet was neither stored nor dropped");
        Ok(())
    }

    /// A packet was given out to be sent.
    pub fn send(&mut self, packet: &Packet, waited: Span, now: Time, band: u8) -> Result<(), Fault> {
        let known = self.known(packet)?;
        let first = self.flows.get(&packet.flow).and_then(|flow| flow.front());
        ensure!(first == Some(&packet.number), Order, "{packet} left before {} of the same flow", before(first));
        let expected = now.since(known.since);
        ensure!(waited == expected, Books, "{packet} waited {} s, and the queue tells {} s", expected.seconds(), waited.seconds());
        self.remove(packet);
        self.counters.departed.add(packet.size);
        self.events.push(Event::Sent(packet.number, band));
        Ok(())
    }

    /// Compares the queue with the account.
    pub fn compare(&self, queue: &Queue<Packet>) -> Result<(), Fault> {
        let held = (queue.len(), queue.bytes(), queue.is_empty());
        let expected = (self.waiting.len(), self.bytes, self.waiting.is_empty());
        ensure!(held == expected, Books, "the queue tells {}, and {} wait", backlog(held), backlog(expected));
        let counted = queue.total();
        ensure!(
            counted == self.counters,
            Books,
            "it has counted {}, and told {}",
            describe::counters(&counted),
            describe::counters(&self.counters)
        );
        self.compare_frames(queue)
    }

    fn compare_frames(&self, queue: &Queue<Packet>) -> Result<(), Fault> {
        let mut shown: BTreeMap<u64, VecDeque<u64>> = BTreeMap::new();
        let mut known = Ok(());
        queue.frames(&mut |packet| {
            shown.entry(packet.flow).or_default().push_back(packet.number);
            if let (Ok(()), Err(fault)) = (&known, self.known(packet)) {
                known = Err(fault);
            }
        });
        known?;
        ensure!(
            shown == self.flows,
            Order,
            "the queue shows packets that wait in another order than they came: {}, expected {}",
            by_flow(&shown),
            by_flow(&self.flows)
        );
        Ok(())
    }

    fn store(&mut self, packet: &Packet) -> Result<(), Fault> {
        let Some(arriving) = self.arriving.take() else {
            return Err(Fault::new(Rule::Books, format!("packet {} was stored without arriving, or twice", packet.number)));
        };
        ensure!(arriving.packet == *packet, Books, "{} arrived and {packet} was stored", arriving.packet);
        self.waiting.insert(packet.number, arriving);
        self.flows.entry(packet.flow).or_default().push_back(packet.number);
        self.bytes += u64::from(packet.size);
        self.events.push(Event::Stored(packet.number));
        Ok(())
    }

    fn mark(&mut self, packet: &Packet, cause: Cause) -> Result<(), Fault> {
        let arriving = self.arriving.as_mut().filter(|arriving| arriving.packet.number == packet.number);
        let Some(known) = arriving.or_else(|| self.waiting.get_mut(&packet.number)) else {
            return Err(Fault::new(Rule::Books, format!("packet {} was marked and is not in the queue", packet.number)));
        };
        ensure!(known.packet.may_become(packet), Marks, "{} was marked and is told as {packet}", known.packet);
        let declared = self.quietest.is_some_and(|quietest| packet.dialect.level(packet.ecn) >= Some(quietest));
        ensure!(declared, Marks, "{packet} was marked; the quietest mark that is declared is {}", describe::level(self.quietest));
        known.packet = *packet;
        self.counters.marked[cause] += 1;
        self.events.push(Event::Marked(packet.number, packet.ecn, cause));
        Ok(())
    }

    fn drop(&mut self, packet: &Packet, cause: Cause) -> Result<(), Fault> {
        if self.arriving.is_some_and(|arriving| arriving.packet == *packet) {
            self.arriving = None;
        } else {
            self.known(packet)?;
            self.remove(packet);
        }
        self.counters.dropped[cause].add(packet.size);
        self.events.push(Event::Dropped(packet.number, cause));
        Ok(())
    }

    /// What is known of a packet that the queue shows, which must be as it was told last.
    fn known(&self, packet: &Packet) -> Result<Waiting, Fault> {
        let Some(known) = self.waiting.get(&packet.number) else {
            return Err(Fault::new(Rule::Books, format!("packet {} is not in the queue", packet.number)));
        };
        ensure!(known.packet == *packet, Books, "{packet} was told last as {}", known.packet);
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
fn before(first: Option<&u64>) -> String {
    first.map_or("no packet".to_owned(), |number| format!("packet {number}"))
}

/// Packets, bytes and whether it is empty, in words.
fn backlog((packets, bytes, is_empty): (usize, u64, bool)) -> String {
    format!("{packets} packets of {bytes} bytes{}", if is_empty { " (empty)" } else { "" })
}

/// The numbers of each flow's packets, in words.
fn by_flow(flows: &BTreeMap<u64, VecDeque<u64>>) -> String {
    let told = flows.iter().map(|(flow, numbers)| {
        let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
        format!("flow {flow}: {}", numbers.join(" "))
    });
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Packet = Packet { number: 1, ..Packet::PLAIN };
    const SECOND: Packet = Packet { number: 2, ..Packet::PLAIN };

    /// An account in which two packets of one flow wait since time zero.
    fn two_wait() -> Ledger {
        let mut ledger = Ledger::new(Some(Level::Congested));
        for packet in [FIRST, SECOND] {
            ledger.arrive(packet, Time::ZERO);
            ledger.hear(Deed::Stored(&packet));
        }
        ledger
    }

    fn rule(told: Result<(), Fault>) -> Option<Rule> {
        told.err().map(|fault| fault.rule)
    }

    /// The rule that is breached if this is told after two packets have come to wait.
    fn breach(deed: Deed<Packet>) -> Option<Rule> {
        let mut ledger = two_wait();
        ledger.hear(deed);
        rule(ledger.settle())
    }

    #[test]
    fn what_is_told_of_a_packet_that_is_not_there_or_is_another_breaks_the_books() {
        let stranger = Packet { number: 3, ..FIRST };
        let altered = Packet { size: 1, ..FIRST };
        let marked = Packet { ecn: Ecn::Ce, ..stranger };
        let broken = [
            Deed::Stored(&FIRST),
            Deed::Marked(&marked, Cause::Early),
            Deed::Dropped(stranger, Cause::Early),
            Deed::Dropped(altered, Cause::Early),
        ];
        assert_eq!([Some(Rule::Books); 4], broken.map(breach));
        assert_eq!(None, breach(Deed::Dropped(SECOND, Cause::Early)));
    }

    #[test]
    fn a_mark_that_changes_nothing_or_that_is_not_declared_breaches_the_rule_of_marks() {
        let marked = Packet { ecn: Ecn::Ce, ..FIRST };
        assert_eq!(None, breach(Deed::Marked(&marked, Cause::Early)));
        assert_eq!(Some(Rule::Marks), breach(Deed::Marked(&FIRST, Cause::Early)));
        let mut silent = Ledger { quietest: None, ..two_wait() };
        silent.hear(Deed::Marked(&marked, Cause::Early));
        assert_eq!(Some(Rule::Marks), rule(silent.settle()));
    }

    #[test]
    fn packets_of_a_flow_leave_in_order_with_the_time_that_they_waited() {
        let later = Time::ZERO + Span::from_millis(3);
        assert_eq!(Some(Rule::Order), rule(two_wait().send(&SECOND, Span::from_millis(3), later, 0)));
        assert_eq!(Some(Rule::Books), rule(two_wait().send(&FIRST, Span::from_millis(2), later, 0)));
        assert_eq!(None, rule(two_wait().send(&FIRST, Span::from_millis(3), later, 0)));
    }

    #[test]
    fn a_packet_that_is_neither_stored_nor_dropped_is_missed() {
        let mut ledger = two_wait();
        ledger.arrive(Packet { number: 3, ..FIRST }, Time::ZERO);
        assert_eq!(Some(Rule::Books), rule(ledger.settle()));
    }
}
