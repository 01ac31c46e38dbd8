//! REM, random exponential marking (Athuraliya, Low, Li and Yin 2001): a price of the link, from which the probability follows.
//!
//! The price adds up by how much the queue is above its target and the input above the link's rate, and so rises until both match,
//! whatever the number of flows. Prices of several links along a path add up in the end-to-end probability of a mark.
//!
//! ```text
//! every interval, with b packets waiting, x arrived in it and c that the link can send in it:
//!   price <- max(price + gamma (alpha (b - target) + x - c), 0)
//! at every packet:   signal with 1 - phi^-price
//! ```
//!
//! x may be an average over intervals (`input_weight`). ns-2 writes its marks at departures (`at = "departure"`) and, unlike here, lets
//! packets pass there that are not ECN-capable.

use ecnlab_units::{Level, Rate, Rng, Span, Time, math, parameters, words};

use super::law::red::Unit;
use super::{Aqm, Arrival, Backlog, Cause, Departure, Expiry, Fate, Needs, Victim, Wish};
use crate::registry::{AqmEntry, Gauge};

/// REM in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "rem",
    title: "REM",
    summary: "Random exponential marking: signals with a probability that follows from a price, which queue and input rate set.",
    source: "Athuraliya, Low, Li and Yin 2001",
    parameters: Settings::PARAMETERS,
    gauges: GAUGES,
    marks: AqmEntry::MARKS_WITH_ECN,
    busy: &[("gamma", "1"), ("target", "1"), ("phi", "1.5")],
    make: &|values, line| Box::new(Rem::new(Settings::of(values), line.rate)),
    ..AqmEntry::PLAIN
};

const GAUGES: &[Gauge] = &[
    Gauge { name: "price", unit: "1", doc: "The link's price", symbol: "" },
    Gauge { name: "probability", unit: "1", doc: "Probability of a signal", symbol: "" },
];

parameters! {
    /// REM as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// How fast the price follows.
        #[source("Athuraliya, Low, Li and Yin 2001; ns-2 2.35, gamma_")]
        #[off("0", "the price stays 0 and no packet is ever signalled")]
        pub gamma: f64 = "0.001", 0..=1e6;
        /// What a packet above the target counts against one above the link's rate: small for high use of the link, large for short queues.
        #[source("Athuraliya, Low, Li and Yin 2001; ns-2 2.35")]
        #[off("0", "the queue's length does not enter the price")]
        pub alpha: f64 = "0.1", 0..=1e6;
        /// Base of the probability 1 - phi^-price.
        #[source("Athuraliya, Low, Li and Yin 2001; ns-2 2.35, phi_")]
        #[off("1", "the probability stays 0")]
        pub phi: f64 = "1.001", 1..=1e6;
        /// Queue length to hold.
        #[source("ns-2 2.35, pbo_")]
        pub target: f64 = "20", 0..=1e9, "packets";
        /// Time between two changes of the price.
        #[source("ns-2 2.35, pupdtime_")]
        pub interval: Span = "2 ms", 1e-6..=100, "s";
        /// Weight of the newest interval in the input x; 1 takes it alone.
        #[source("ns-2 2.35, inw_")]
        #[off("0", "the input does not enter the price")]
        pub input_weight: f64 = "1", 0..=1;
        /// Measure queue and input, and scale the probability, by packets or by bytes over mean_packet.
        #[source("ns-2 2.35, qib_")]
        pub unit: Unit = "packets";
        /// Mean packet size, for what the link can send in an interval and for unit = bytes.
        #[source("ns-2 2.35, mean_pktsize_")]
        pub mean_packet: u32 = "1000 B", 1..=65_535, "bytes";
        /// Which packet is signalled: the arriving or the departing one.
        #[source("Athuraliya, Low, Li and Yin 2001 at arrivals; ns-2 2.35 marks at departures")]
        pub at: Place = "arrival";
        /// Mark packets that are ECN-capable instead of dropping them.
        #[source("ns-2 2.35, markpkts_")]
        pub ecn: bool = "true";
    }
}

words! {
    /// Where packets are signalled.
    pub enum Place {
        /// As they arrive.
        Arrival = "arrival",
        /// As they depart.
        Departure = "departure",
    }
}

/// REM at work.
pub struct Rem {
    settings: Settings,
    /// Packets that the link can send in an interval: c.
    capacity: f64,
    next: Time,
    arrived: Backlog,
    /// x.
    input: f64,
    price: f64,
    probability: f64,
}

impl Rem {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> Rem {
        let next = Time::ZERO + settings.interval;
        let mut rem = Rem { settings, capacity: 0.0, next, arrived: Backlog::NONE, input: 0.0, price: 0.0, probability: 0.0 };
        rem.retune(rate);
        rem
    }

    /// An amount in packets, or in mean packets.
    fn measured(&self, amount: Backlog) -> f64 {
        match self.settings.unit {
            Unit::Packets => f64::from(amount.packets),
            Unit::Bytes => amount.bytes as f64 / f64::from(self.settings.mean_packet),
        }
    }

    fn draws(&self, size: u32, rng: &mut Rng) -> bool {
        let scale = match self.settings.unit {
            Unit::Packets => 1.0,
            Unit::Bytes => f64::from(size) / f64::from(self.settings.mean_packet),
        };
        rng.uniform() < self.probability * scale
    }
}

impl Aqm for Rem {
    fn needs(&self) -> Needs {
        Needs { departures: self.settings.at == Place::Departure, ..Needs::default() }
    }

    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        self.arrived.packets += 1;
        self.arrived.bytes += u64::from(arrival.packet.size);
        if arrival.full {
            return Wish::Drop { victim: Victim::Arriving, cause: Cause::Overflow };
        }
        let signal = self.settings.at == Place::Arrival && self.draws(arrival.packet.size, rng);
        if signal { arrival.signal(self.settings.ecn, Cause::Early) } else { Wish::Pass }
    }

    fn depart(&mut self, departure: &Departure, rng: &mut Rng) -> Fate {
        match self.draws(departure.packet.size, rng) {
            true if self.settings.ecn => Fate::Signal { level: Level::Congested, cause: Cause::Early },
            true => Fate::Drop { cause: Cause::Early },
            false => Fate::Pass,
        }
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.next)
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        let Settings { gamma, alpha, phi, target, interval, input_weight, .. } = self.settings;
        self.input += input_weight * (self.measured(self.arrived) - self.input);
        self.arrived = Backlog::NONE;
        let excess = alpha * (self.measured(expiry.backlog) - target) + self.input - self.capacity;
        self.price = (self.price + gamma * excess).max(0.0);
        self.probability = 1.0 - math::exp(-self.price * math::ln(phi));
        self.next = expiry.now + interval;
    }

    fn retune(&mut self, rate: Rate) {
        self.capacity = rate.bps() as f64 * self.settings.interval.seconds() / (8.0 * f64::from(self.settings.mean_packet));
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("price", self.price);
        show("probability", self.probability);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Values;

    use super::*;
    use crate::aqm::Target;

    const MARK: Wish = Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early };

    /// At 10 Mbps a link sends 2.5 packets of 1000 bytes in 2 ms.
    fn rem(settings: &[(&str, &str)]) -> (Rem, Rng) {
        let mut values = Values::defaults(Settings::PARAMETERS);
        settings.iter().for_each(|(name, text)| values.read(name, text).unwrap());
        (Rem::new(Settings::of(&values), Rate::from_bps(10_000_000).unwrap()), Rng::for_role(1, "rem"))
    }

    /// One interval in which so many packets arrive and after which so many wait.
    fn interval(rem: &mut Rem, rng: &mut Rng, arriving: u32, waiting: u32) {
        let now = rem.deadline().unwrap();
        for _ in 0..arriving {
            rem.arrive(&Arrival { now, ..Arrival::PLAIN }, rng);
        }
        rem.expire(&Expiry { now, backlog: Backlog::of(waiting), head_waited: Span::ZERO }, rng);
    }

    #[test]
    fn the_price_adds_up_by_queue_and_input() {
        let (mut rem, mut rng) = rem(&[]);
        interval(&mut rem, &mut rng, 5, 40);
        assert!((0.001 * (0.1 * 20.0 + 5.0 - 2.5) - rem.price).abs() < 1e-15);
        interval(&mut rem, &mut rng, 0, 30);
        assert!((0.001 * (4.5 + 0.1 * 10.0 - 2.5) - rem.price).abs() < 1e-15);
        interval(&mut rem, &mut rng, 0, 0);
        assert_eq!((0.0, 0.0), (rem.price, rem.probability));
    }

    #[test]
    fn the_price_changes_every_interval() {
        let (mut rem, mut rng) = rem(&[]);
        for millis in [2, 4, 6] {
            assert_eq!(Some(Time::ZERO + Span::from_millis(millis)), rem.deadline());
            interval(&mut rem, &mut rng, 0, 0);
        }
    }

    #[test]
    fn the_probability_is_one_less_phi_to_the_minus_price() {
        let (mut rem, mut rng) = rem(&[("gamma", "1"), ("phi", "2")]);
        interval(&mut rem, &mut rng, 0, 55);
        assert!((rem.price - 1.0).abs() < 1e-12 && (rem.probability - 0.5).abs() < 1e-12);
        let hits = (0..10_000).filter(|_| rem.arrive(&Arrival::PLAIN, &mut rng) == MARK).count();
        assert!((4_850..=5_150).contains(&hits), "{hits} of 10000 at 0.5: more than 3 standard deviations off");
    }

    #[test]
    fn at_departures_packets_are_marked_or_dropped() {
        let signal = Fate::Signal { level: Level::Congested, cause: Cause::Early };
        for (ecn, expected) in [("true", signal), ("false", Fate::Drop { cause: Cause::Early })] {
            let (mut rem, mut rng) = rem(&[("gamma", "1e6"), ("at", "departure"), ("ecn", ecn)]);
            assert!(rem.needs().departures);
            interval(&mut rem, &mut rng, 0, 100);
            assert_eq!((Wish::Pass, expected), (rem.arrive(&Arrival::PLAIN, &mut rng), rem.depart(&Departure::PLAIN, &mut rng)));
        }
    }

    #[test]
    fn by_bytes_small_packets_count_and_are_signalled_as_less() {
        let (mut rem, mut rng) = rem(&[("gamma", "1"), ("phi", "2"), ("unit", "bytes")]);
        rem.expire(&Expiry { now: Time::ZERO, backlog: Backlog { packets: 550, bytes: 55_000 }, head_waited: Span::ZERO }, &mut rng);
        assert!((rem.probability - 0.5).abs() < 1e-12);
        let small = Arrival { packet: crate::Glimpse { size: 100, ..crate::Glimpse::PLAIN }, ..Arrival::PLAIN };
        let hits = (0..10_000).filter(|_| rem.arrive(&small, &mut rng) == MARK).count();
        assert!((434..=566).contains(&hits), "{hits} of 10000 at 0.05: more than 3 standard deviations off");
    }

    #[test]
    fn another_rate_of_the_link_changes_what_it_can_send() {
        let (mut rem, _) = rem(&[]);
        rem.retune(Rate::from_bps(20_000_000).unwrap());
        assert!((5.0 - rem.capacity).abs() < 1e-12);
    }
}
