//! REM, random exponential marking (Athuraliya, Low, Li and Yin 2001): a price of the link, from which the probability follows.
//!
//! The price integrates the excess of the queue over its target and of the input over the link's rate. So it rises until both match, for
//! any number of flows. Prices of several links along a path add up in the end-to-end probability of a mark.
//!
//! ```text
//! every interval, with b packets waiting, x arrived in it and c that the link can send in it:
//!   price <- max(price + gamma (alpha (b - target) + x - c), 0)
//! at every packet:   signal with 1 - phi^-price
//! ```
//!
//! x may be an average over intervals (`input_weight`). ns-2 writes its marks at departures (`at = "departure"`) and, unlike here, lets
//! packets pass there that are not ECN-capable.

use ecnlab_units::{CongestionLevel, Rate, Rng, Span, Time, math, parameters, words};

use super::control::red::QueueUnit;
use super::entry::{AqmEntry, Gauge};
use super::{Aqm, AqmRequirements, Arrival, Backlog, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, SignalCause, TimerContext};

/// REM in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "rem",
    title: "REM",
    summary: "Random exponential marking: signals with a probability that follows from a price, which the queue and the input rate \
        determine.",
    source: "Athuraliya, Low, Li and Yin 2001",
    parameters: Settings::PARAMETERS,
    gauges: GAUGES,
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    test_params: &[("gamma", "1"), ("target", "1"), ("phi", "1.5")],
    make: &|values, link| Box::new(Rem::new(Settings::from_values(values), link.rate)),
    ..AqmEntry::DEFAULTS
};

const GAUGES: &[Gauge] = &[Gauge::new("price", "1", "The link's price"), Gauge::new("probability", "1", "Probability of a signal")];

parameters! {
    /// REM as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Step size of the price.
        #[source("Athuraliya, Low, Li and Yin 2001; ns-2 2.35, gamma_")]
        #[off("0", "the price stays 0 and no packet is ever signalled")]
        #[usual(0.0001..=0.1, log)]
        pub gamma: f64 = "0.001", 0..=1e6;
        /// Weight of a packet above the target relative to one above the link's rate: small for high utilization, large for short queues.
        #[source("Athuraliya, Low, Li and Yin 2001; ns-2 2.35")]
        #[off("0", "the queue's length does not enter the price")]
        #[usual(0.01..=1, log)]
        pub alpha: f64 = "0.1", 0..=1e6;
        /// Base of the probability 1 - phi^-price.
        #[source("Athuraliya, Low, Li and Yin 2001; ns-2 2.35, phi_")]
        #[off("1", "the probability stays 0")]
        #[usual(1.0001..=1.1, linear)]
        pub phi: f64 = "1.001", 1..=1e6;
        /// Target queue length.
        #[source("ns-2 2.35, pbo_")]
        #[usual(1..=100, linear)]
        pub target: f64 = "20", 0..=1e9, "packets";
        /// Time between two changes of the price.
        #[source("ns-2 2.35, pupdtime_")]
        #[usual(0.001..=0.1, log)]
        pub interval: Span = "2 ms", 1e-6..=100, "s";
        /// Weight of the newest interval in the input x; 1 uses that interval only.
        #[source("ns-2 2.35, inw_")]
        #[off("0", "the input does not enter the price")]
        pub input_weight: f64 = "1", 0..=1;
        /// Unit of queue, input and probability: packets, or bytes over mean_packet.
        #[source("ns-2 2.35, qib_")]
        pub unit: QueueUnit = "packets";
        /// Mean packet size, for the link's capacity in an interval and for unit = bytes.
        #[source("ns-2 2.35, mean_pktsize_")]
        pub mean_packet: u32 = "1000 B", 1..=65_535, "bytes";
        /// Packet that is signalled: the arriving or the departing one.
        #[source("Athuraliya, Low, Li and Yin 2001 at arrivals; ns-2 2.35 marks at departures")]
        pub at: SignalPoint = "arrival";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("ns-2 2.35, markpkts_")]
        pub ecn: bool = "true";
    }
}

words! {
    /// Point at which packets are signalled.
    pub enum SignalPoint {
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
    next_update: Time,
    arrived: Backlog,
    /// x.
    input: f64,
    price: f64,
    probability: f64,
}

impl Rem {
    /// With these settings, before a line of this rate.
    pub fn new(settings: Settings, rate: Rate) -> Rem {
        let next_update = Time::ZERO + settings.interval;
        let mut rem = Rem { settings, capacity: 0.0, next_update, arrived: Backlog::EMPTY, input: 0.0, price: 0.0, probability: 0.0 };
        rem.set_link_rate(rate);
        rem
    }

    /// An amount in packets, or in mean packets.
    fn amount_in_packets(&self, amount: Backlog) -> f64 {
        match self.settings.unit {
            QueueUnit::Packets => f64::from(amount.packets),
            QueueUnit::Bytes => amount.bytes as f64 / f64::from(self.settings.mean_packet),
        }
    }

    fn draws_signal(&self, size: u32, rng: &mut Rng) -> bool {
        let scale = match self.settings.unit {
            QueueUnit::Packets => 1.0,
            QueueUnit::Bytes => f64::from(size) / f64::from(self.settings.mean_packet),
        };
        rng.uniform() < self.probability * scale
    }
}

impl Aqm for Rem {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: self.settings.at == SignalPoint::Departure, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        self.arrived.packets += 1;
        self.arrived.bytes += u64::from(arrival.packet.size);
        if arrival.would_overflow {
            return EnqueueVerdict::drop_arriving(SignalCause::Overflow);
        }
        let signal = self.settings.at == SignalPoint::Arrival && self.draws_signal(arrival.packet.size, rng);
        if signal { arrival.mark_or_drop(self.settings.ecn, SignalCause::Early) } else { EnqueueVerdict::Pass }
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        match self.draws_signal(departure.packet.size, rng) {
            true if self.settings.ecn => DequeueVerdict::Signal { level: CongestionLevel::Congested, cause: SignalCause::Early },
            true => DequeueVerdict::Drop { cause: SignalCause::Early },
            false => DequeueVerdict::Pass,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        let Settings { gamma, alpha, phi, target, interval, input_weight, .. } = self.settings;
        self.input += input_weight * (self.amount_in_packets(self.arrived) - self.input);
        self.arrived = Backlog::EMPTY;
        let excess = alpha * (self.amount_in_packets(expiry.backlog) - target) + self.input - self.capacity;
        self.price = (self.price + gamma * excess).max(0.0);
        self.probability = 1.0 - math::exp(-self.price * math::ln(phi));
        self.next_update = expiry.now + interval;
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.capacity = rate.bps() as f64 * self.settings.interval.seconds() / (8.0 * f64::from(self.settings.mean_packet));
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("price", self.price);
        report("probability", self.probability);
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.settings.at == SignalPoint::Arrival
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::entry::default_values_with_overrides;

    const MARK: EnqueueVerdict = EnqueueVerdict::mark_arriving(SignalCause::Early);

    /// At 10 Mbps a link sends 2.5 packets of 1000 bytes in 2 ms.
    fn rem(settings: &[(&str, &str)]) -> (Rem, Rng) {
        (
            Rem::new(
                Settings::from_values(&default_values_with_overrides("rem", Settings::PARAMETERS, settings)),
                Rate::from_bps(10_000_000).unwrap(),
            ),
            Rng::for_role(1, "rem"),
        )
    }

    /// One interval in which so many packets arrive and after which so many wait.
    fn run_interval(rem: &mut Rem, rng: &mut Rng, arriving: u32, waiting: u32) {
        let now = rem.next_timer().unwrap();
        for _ in 0..arriving {
            rem.on_enqueue(&Arrival { now, ..Arrival::PLAIN }, rng);
        }
        rem.on_timer(&TimerContext { now, backlog: Backlog::of_1000_byte_packets(waiting), head_sojourn: Span::ZERO }, rng);
    }

    #[test]
    fn the_price_adds_up_by_queue_and_input() {
        let (mut rem, mut rng) = rem(&[]);
        run_interval(&mut rem, &mut rng, 5, 40);
        assert!((0.001 * (0.1 * 20.0 + 5.0 - 2.5) - rem.price).abs() < 1e-15);
        run_interval(&mut rem, &mut rng, 0, 30);
        assert!((0.001 * (4.5 + 0.1 * 10.0 - 2.5) - rem.price).abs() < 1e-15);
        run_interval(&mut rem, &mut rng, 0, 0);
        assert_eq!((0.0, 0.0), (rem.price, rem.probability));
    }

    #[test]
    fn the_price_changes_every_interval() {
        let (mut rem, mut rng) = rem(&[]);
        for millis in [2, 4, 6] {
            assert_eq!(Some(Time::ZERO + Span::from_millis(millis)), rem.next_timer());
            run_interval(&mut rem, &mut rng, 0, 0);
        }
    }

    #[test]
    fn the_probability_is_one_less_phi_to_the_minus_price() {
        let (mut rem, mut rng) = rem(&[("gamma", "1"), ("phi", "2")]);
        run_interval(&mut rem, &mut rng, 0, 55);
        assert!((rem.price - 1.0).abs() < 1e-12 && (rem.probability - 0.5).abs() < 1e-12);
        let hits = (0..10_000).filter(|_| rem.on_enqueue(&Arrival::PLAIN, &mut rng) == MARK).count();
        assert!((4_850..=5_150).contains(&hits), "{hits} of 10000 at 0.5: more than 3 standard deviations off");
    }

    #[test]
    fn at_departures_packets_are_marked_or_dropped() {
        let signal = DequeueVerdict::Signal { level: CongestionLevel::Congested, cause: SignalCause::Early };
        for (ecn, expected) in [("true", signal), ("false", DequeueVerdict::Drop { cause: SignalCause::Early })] {
            let (mut rem, mut rng) = rem(&[("gamma", "1e6"), ("at", "departure"), ("ecn", ecn)]);
            assert!(rem.requirements().dequeue_hook);
            run_interval(&mut rem, &mut rng, 0, 100);
            assert_eq!(
                (EnqueueVerdict::Pass, expected),
                (rem.on_enqueue(&Arrival::PLAIN, &mut rng), rem.on_dequeue(&Departure::PLAIN, &mut rng))
            );
        }
    }

    #[test]
    fn by_bytes_small_packets_count_and_are_signalled_as_less() {
        let (mut rem, mut rng) = rem(&[("gamma", "1"), ("phi", "2"), ("unit", "bytes")]);
        rem.on_timer(
            &TimerContext { now: Time::ZERO, backlog: Backlog { packets: 550, bytes: 55_000 }, head_sojourn: Span::ZERO },
            &mut rng,
        );
        assert!((rem.probability - 0.5).abs() < 1e-12);
        let small = Arrival { packet: crate::PacketInfo { size: 100, ..crate::PacketInfo::EXAMPLE_ECT0 }, ..Arrival::PLAIN };
        let hits = (0..10_000).filter(|_| rem.on_enqueue(&small, &mut rng) == MARK).count();
        assert!((434..=566).contains(&hits), "{hits} of 10000 at 0.05: more than 3 standard deviations off");
    }

    #[test]
    fn another_rate_of_the_link_changes_what_it_can_send() {
        let (mut rem, _) = rem(&[]);
        rem.set_link_rate(Rate::from_bps(20_000_000).unwrap());
        assert!((5.0 - rem.capacity).abs() < 1e-12);
    }
}
