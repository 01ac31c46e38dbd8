//! An AQM that keeps an account of its queue, to compare it with the backlog that the discipline shows.

use std::collections::BTreeMap;

use ecnlab_units::{Rng, Span, Time};

use crate::aqm::{Aqm, Arrival, Backlog, Departure, Expiry, Fate, Glimpse, Needs, Wish};
use crate::registry::AqmEntry;

/// The account as an AQM. It signals nothing, and panics where the backlog that it is shown is not what it has heard of.
pub static ENTRY: AqmEntry = AqmEntry { name: "account", make: &|_, _| Box::new(Account::default()), ..AqmEntry::PLAIN };

/// What waits by what was reported, and when the account is compared next.
#[derive(Default)]
struct Account {
    flows: BTreeMap<u64, Backlog>,
    compared: Time,
}

impl Account {
    fn add(&mut self, packet: &Glimpse) {
        let flow = self.flows.entry(packet.flow).or_default();
        *flow = *flow + one(packet);
    }

    fn subtract(&mut self, packet: &Glimpse) {
        let known = self.flows.get_mut(&packet.flow).filter(|flow| flow.packets > 0 && flow.bytes >= u64::from(packet.size));
        let flow = known.unwrap_or_else(|| panic!("a packet of flow {} is taken out that never came", packet.flow));
        *flow = *flow - one(packet);
    }

    fn compare(&self, shown: Backlog) {
        let heard = self.flows.values().fold(Backlog::NONE, |sum, &flow| sum + flow);
        assert!(heard == shown, "{shown:?} waits, reported were {heard:?}");
    }
}

fn one(packet: &Glimpse) -> Backlog {
    Backlog { packets: 1, bytes: u64::from(packet.size) }
}

impl Aqm for Account {
    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }

    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        self.compare(arrival.backlog);
        if !arrival.full {
            self.add(&arrival.packet);
        }
        Wish::Pass
    }

    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Fate {
        self.subtract(&departure.packet);
        self.compare(departure.backlog);
        Fate::Pass
    }

    fn lost(&mut self, packet: &Glimpse, _now: Time) {
        self.subtract(packet);
    }

    fn on_moved_out(&mut self, packet: &Glimpse, _now: Time) {
        self.subtract(packet);
    }

    fn on_moved_in(&mut self, packet: &Glimpse, _now: Time) {
        self.add(packet);
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.compared + Span::from_millis(10))
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        self.compare(expiry.backlog);
        self.compared = expiry.now;
    }
}
