//! PIE against RFC 8033: its pseudo-code, written out again here, and what the text says of bursts, decay and derandomization.

use ecnlab_queue::aqm::pie::{ENTRY, Pie, Settings};
use ecnlab_queue::{
    Aqm, Arrival, Backlog, Departure, DropTarget, EnqueueVerdict, Limit, MarkTarget, PacketInfo, SignalCause, TimerContext,
};
use ecnlab_units::{CongestionLevel, Ecn, Rng, Span, Time, Values};

/// Inputs over which a test writes what differs.
const PACKET: PacketInfo = PacketInfo { size: 1000, ecn: Ecn::Ect0, flow: 0, rtt: Span::ZERO };
const ARRIVAL: Arrival<'static> =
    Arrival { now: Time::ZERO, packet: PACKET, backlog: Backlog::EMPTY, head_sojourn: Span::ZERO, groups: &[], would_overflow: false };
const DEPARTURE: Departure =
    Departure { now: Time::ZERO, packet: PACKET, sojourn: Span::ZERO, backlog: Backlog::EMPTY, shared_backlog: Backlog::EMPTY };

fn backlog_of(packets: u32) -> Backlog {
    Backlog { packets, bytes: u64::from(packets) * 1000 }
}

const SIZE: u32 = 1000;
const LIMIT: u32 = 1000;
const MARK: EnqueueVerdict =
    EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause: SignalCause::Early };
const DROP: EnqueueVerdict = EnqueueVerdict::Drop { target: DropTarget::Arriving, cause: SignalCause::Early };

fn pie(parameters: &[(&str, &str)]) -> Pie {
    let mut values = Values::defaults(ENTRY.parameters);
    for (name, text) in parameters {
        values.set_from_text(name, text).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    Pie::new(Settings::from_values(&values), Limit::Packets(LIMIT))
}

fn probability(pie: &Pie) -> f64 {
    let mut found = f64::NAN;
    pie.report_gauges(&mut |name, value| {
        if name == "probability" {
            found = value;
        }
    });
    found
}

/// A FIFO whose packets leave one every `every`, before which PIE stands; updates come every 15 ms.
struct PieLink<A> {
    pie: A,
    now: Time,
    arrived: Vec<Time>,
    leaves_at: Time,
    every: Span,
}

/// Interface of the implementation and of the pseudo-code beside it.
trait PieModel {
    fn accepts(&mut self, now: Time, waiting: u32) -> bool;
    fn record_departure(&mut self, now: Time, sojourn: Span, waiting: u32);
    fn update(&mut self, now: Time, waiting: u32, head_sojourn: Span);
    fn probability(&self) -> f64;
}

impl<A: PieModel> PieLink<A> {
    fn new(pie: A, every: Span) -> PieLink<A> {
        PieLink { pie, now: Time::ZERO, arrived: Vec::new(), leaves_at: Time::ZERO, every }
    }

    /// Advances the time; returns whether a packet that arrives then passes without a signal.
    fn packet_passes_after(&mut self, gap: Span) -> bool {
        self.run_until(self.now + gap);
        let passes = self.pie.accepts(self.now, self.arrived.len() as u32);
        if self.arrived.is_empty() {
            self.leaves_at = self.leaves_at.max(self.now);
        }
        if passes {
            self.arrived.push(self.now);
        }
        passes
    }

    fn run_until(&mut self, end: Time) {
        let update = Span::from_millis(15).picos();
        loop {
            let due = Time::from_picos((self.now.picos() / update + 1) * update);
            let leaves = if self.arrived.is_empty() { Time::NEVER } else { self.leaves_at.max(self.now) };
            if due.min(leaves) > end {
                break;
            }
            if leaves <= due {
                self.send_head(leaves);
            } else {
                self.now = due;
                let head_sojourn = self.arrived.first().map_or(Span::ZERO, |&arrived| due.since(arrived));
                self.pie.update(due, self.arrived.len() as u32, head_sojourn);
            }
        }
        self.now = end;
    }

    fn send_head(&mut self, now: Time) {
        // An update at the same instant comes after the departure.
        self.now = Time::from_picos(now.picos().max(self.now.picos()));
        let sojourn = now.since(self.arrived.remove(0));
        self.pie.record_departure(now, sojourn, self.arrived.len() as u32);
        self.leaves_at = now + self.every;
    }
}

struct PieUnderTest(Pie, Rng);

impl PieModel for PieUnderTest {
    fn accepts(&mut self, now: Time, waiting: u32) -> bool {
        let packet = PacketInfo { size: SIZE, ..PACKET };
        self.0.on_enqueue(&Arrival { now, packet, backlog: backlog_of(waiting), ..ARRIVAL }, &mut self.1) == EnqueueVerdict::Pass
    }

    fn record_departure(&mut self, now: Time, sojourn: Span, waiting: u32) {
        let packet = PacketInfo { size: SIZE, ..PACKET };
        self.0.on_dequeue(&Departure { now, packet, sojourn, backlog: backlog_of(waiting), ..DEPARTURE }, &mut self.1);
    }

    fn update(&mut self, now: Time, waiting: u32, head_sojourn: Span) {
        self.0.on_timer(&TimerContext { now, backlog: backlog_of(waiting), head_sojourn }, &mut self.1);
    }

    fn probability(&self) -> f64 {
        probability(&self.0)
    }
}

/// Appendix A of RFC 8033, line by line with its names, with appendix B's derandomization and cap if enabled.
struct PseudoCode {
    extended: bool,
    burst_allowance: f64,
    drop_prob: f64,
    accu_prob: f64,
    qdelay_old: f64,
    current_qdelay: f64,
    random: Rng,
}

impl PseudoCode {
    const QDELAY_REF: f64 = 0.015;
    const MAX_BURST: f64 = 0.150;
    const T_UPDATE: f64 = 0.015;

    fn new(extended: bool, random: Rng) -> PseudoCode {
        let zero = 0.0;
        PseudoCode {
            extended,
            burst_allowance: Self::MAX_BURST,
            drop_prob: zero,
            accu_prob: zero,
            qdelay_old: zero,
            current_qdelay: zero,
            random,
        }
    }

    fn drop_early(&mut self, byte_length: u32) -> bool {
        if self.qdelay_old < Self::QDELAY_REF / 2.0 && self.drop_prob < 0.2 || byte_length <= 2048 {
            return false;
        }
        if self.extended {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                self.accu_prob = 0.0;
                return true;
            }
        }
        let drop = self.random.uniform() < self.drop_prob;
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }
}

impl PieModel for PseudoCode {
    fn accepts(&mut self, _now: Time, waiting: u32) -> bool {
        if self.drop_prob == 0.0 && self.current_qdelay < Self::QDELAY_REF / 2.0 && self.qdelay_old < Self::QDELAY_REF / 2.0 {
            self.burst_allowance = Self::MAX_BURST;
        }
        !(self.burst_allowance == 0.0 && self.drop_early(waiting * SIZE))
    }

    fn record_departure(&mut self, _now: Time, sojourn: Span, _waiting: u32) {
        self.current_qdelay = sojourn.seconds();
    }

    fn update(&mut self, _now: Time, waiting: u32, _head_waited: Span) {
        if waiting == 0 {
            self.current_qdelay = 0.0;
        }
        let mut p = 0.125 * (self.current_qdelay - Self::QDELAY_REF) + 1.25 * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.00001 {
            p /= 512.0;
        } else if self.drop_prob < 0.0001 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if self.extended && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance -= Self::T_UPDATE;
        // Ten times 15 ms are 150 ms, which sums of binary fractions miss.
        if self.burst_allowance < 1e-9 {
            self.burst_allowance = 0.0;
        }
    }

    fn probability(&self) -> f64 {
        self.drop_prob
    }
}

/// Load that changes between a third and three times what the line can send, and pauses.
fn gap(traffic_rng: &mut Rng, at: u32) -> Span {
    let spells = [350, 3000, 600, 50_000, 500, 1200, 300];
    let mean = spells[(at / 2000) as usize % spells.len()];
    Span::from_micros(traffic_rng.below(2 * mean + 1))
}

#[test]
fn every_packet_fares_as_in_the_rfcs_pseudo_code() {
    for extended in [false, true] {
        let parameters: &[(&str, &str)] = if extended { &[("derandomize", "true"), ("cap", "0.02")] } else { &[] };
        let (every, draws) = (Span::from_micros(800), || Rng::for_role(5, "coin"));
        let mut pie_under_test = PieLink::new(PieUnderTest(pie(parameters), draws()), every);
        let mut theirs = PieLink::new(PseudoCode::new(extended, draws()), every);
        let mut traffic_rng = Rng::for_role(9, "weather");
        let (mut signalled, mut highest) = (0, 0.0f64);
        for at in 0..40_000 {
            let gap = gap(&mut traffic_rng, at);
            let passes = pie_under_test.packet_passes_after(gap);
            assert_eq!(theirs.packet_passes_after(gap), passes, "packet {at}, extended {extended}");
            assert!(
                (pie_under_test.pie.probability() - theirs.pie.probability()).abs() < 1e-12,
                "packet {at}: {} {}",
                pie_under_test.pie.probability(),
                theirs.pie.probability()
            );
            signalled += u32::from(!passes);
            highest = highest.max(pie_under_test.pie.probability());
        }
        assert!(signalled > 1000 && highest > 0.2, "the load is heavy enough to say something: {signalled}, {highest}");
    }
}

#[test]
fn a_burst_shorter_than_the_allowance_passes_an_idle_queue_unsignalled() {
    let signals = |duration_ms: u64| {
        let mut link = PieLink::new(PieUnderTest(pie(&[]), Rng::for_role(1, "burst")), Span::from_micros(800));
        (0..duration_ms * 5).filter(|_| !link.packet_passes_after(Span::from_micros(200))).count()
    };
    assert_eq!(0, signals(140));
    assert!(signals(1000) > 0, "a longer one is not spared");
    let mut without_burst = PieLink::new(PieUnderTest(pie(&[("max_burst", "0 s")]), Rng::for_role(1, "burst")), Span::from_micros(800));
    assert!((0..5000).any(|_| !without_burst.packet_passes_after(Span::from_micros(200))));
}

#[test]
fn once_nothing_waits_each_update_takes_the_integral_term_and_two_percent() {
    let mut pie = pie(&[]);
    let mut rng = Rng::for_role(1, "decay");
    let mut now = Time::ZERO;
    let mut update = |pie: &mut Pie, packets, sojourn| {
        now += Span::from_millis(15);
        let (packet, backlog) = (PACKET, backlog_of(packets));
        pie.on_dequeue(&Departure { now, packet, sojourn, backlog, ..DEPARTURE }, &mut rng);
        pie.on_timer(&TimerContext { now, backlog, head_sojourn: sojourn }, &mut rng);
    };
    (0..500).for_each(|_| update(&mut pie, 50, Span::from_millis(50)));
    assert!(probability(&pie) > 0.3);
    (0..2).for_each(|_| update(&mut pie, 0, Span::ZERO));
    let mut expected = probability(&pie);
    for _ in 0..60 {
        let scale = if expected >= 0.1 { 1.0 } else { 2.0 };
        expected = 0.98 * (expected - 0.125 * 0.015 / scale);
        update(&mut pie, 0, Span::ZERO);
        assert!((expected - probability(&pie)).abs() < 1e-12);
    }
    assert!(expected > 0.01, "the whole of it was looked at: {expected}");
}

/// Feeds a delay until the probability has this value.
fn with_fixed_probability(mut pie: Pie, p: f64, rng: &mut Rng) -> Pie {
    let mut now = Time::ZERO;
    while probability(&pie) < p {
        now += Span::from_millis(15);
        let (sojourn, backlog) = (Span::from_millis(40), backlog_of(50));
        pie.on_dequeue(&Departure { now, sojourn, backlog, ..DEPARTURE }, rng);
        pie.on_timer(&TimerContext { now, backlog, head_sojourn: sojourn }, rng);
    }
    pie
}

fn verdict(pie: &mut Pie, rng: &mut Rng) -> EnqueueVerdict {
    pie.on_enqueue(&Arrival { backlog: backlog_of(50), ..ARRIVAL }, rng)
}

#[test]
fn it_marks_up_to_the_limit_and_drops_above() {
    let mut rng = Rng::for_role(1, "limit");
    for (p, parameters, expected) in
        [(0.05, vec![], MARK), (0.2, vec![], DROP), (0.2, vec![("mark_limit", "1")], MARK), (0.05, vec![("ecn", "false")], DROP)]
    {
        let mut pie = with_fixed_probability(pie(&parameters), p, &mut rng);
        let verdicts: Vec<EnqueueVerdict> =
            (0..500).map(|_| verdict(&mut pie, &mut rng)).filter(|&verdict| verdict != EnqueueVerdict::Pass).collect();
        assert!(!verdicts.is_empty() && verdicts.iter().all(|&verdict| verdict == expected), "p {p}, {parameters:?}: {verdicts:?}");
    }
}

#[test]
fn derandomized_signals_are_neither_too_close_nor_too_far_apart() {
    let mut rng = Rng::for_role(1, "spread");
    let mut pie = with_fixed_probability(pie(&[("derandomize", "true"), ("mark_limit", "1")]), 0.05, &mut rng);
    let p = probability(&pie);
    let mut gaps = Vec::new();
    let mut gap = 0.0;
    for _ in 0..100_000 {
        gap += 1.0;
        if verdict(&mut pie, &mut rng) != EnqueueVerdict::Pass {
            gaps.push(gap);
            gap = 0.0;
        }
    }
    let (least, most) = gaps.iter().fold((f64::MAX, 0.0f64), |(least, most), &gap| (least.min(gap), most.max(gap)));
    assert!(least >= (0.85 / p).floor() && most <= (8.5 / p).ceil(), "{least} {most} at p {p}");
    assert!((gaps.iter().sum::<f64>() / gaps.len() as f64 * p - 1.85).abs() < 0.1, "0.85/p packets, and 1/p more on average");
}

#[test]
fn with_a_threshold_it_is_inactive_until_the_queue_reaches_it_and_when_calm_returns() {
    let mut rng = Rng::for_role(1, "active");
    let mut pie = pie(&[("activate", "0.333")]);
    let mut now = Time::ZERO;
    let mut update = |pie: &mut Pie, rng: &mut Rng, packets: u32, delay_ms: u64| {
        now += Span::from_millis(15);
        let (sojourn, backlog) = (Span::from_millis(delay_ms), backlog_of(packets));
        pie.on_enqueue(&Arrival { now, backlog, ..ARRIVAL }, rng);
        pie.on_dequeue(&Departure { now, sojourn, backlog, ..DEPARTURE }, rng);
        pie.on_timer(&TimerContext { now, backlog, head_sojourn: sojourn }, rng);
        probability(pie)
    };
    assert!((0..200).all(|_| update(&mut pie, &mut rng, LIMIT / 3 - 1, 100) == 0.0), "below a third of the buffer");
    (0..200).for_each(|_| _ = update(&mut pie, &mut rng, LIMIT / 3 + 1, 100));
    assert!(probability(&pie) > 0.0, "above it");
    while update(&mut pie, &mut rng, 0, 0) > 0.0 {}
    (0..3).for_each(|_| _ = update(&mut pie, &mut rng, 0, 0));
    assert!((0..200).all(|_| update(&mut pie, &mut rng, 20, 100) == 0.0), "it has become inactive again");
}

#[test]
fn the_departure_rate_tells_the_delay_by_littles_law() {
    let mut rng = Rng::for_role(1, "rate");
    let mut pie = pie(&[("delay", "departure-rate")]);
    let every = Span::from_millis(1);
    for at in 1..=200u64 {
        let departure = Departure { now: Time::ZERO + every * at, backlog: backlog_of(30), ..DEPARTURE };
        pie.on_dequeue(&departure, &mut rng);
    }
    pie.on_timer(&TimerContext { now: Time::ZERO + Span::from_secs(1), backlog: backlog_of(30), head_sojourn: Span::ZERO }, &mut rng);
    let mut delay = 0.0;
    pie.report_gauges(&mut |name, value| delay = if name == "delay" { value } else { delay });
    // 17 packets of 1000 bytes are the first to make up 16384 bytes: 17 ms are taken for 16.384.
    assert!((delay - 0.030 * 17.0 / 16.384).abs() < 1e-9, "{delay}");
}

/// RFC 8033, appendix B: what was measured before PIE was switched off says nothing of the rate at which packets leave now.
#[test]
fn becoming_active_again_it_measures_the_departure_rate_anew() {
    let mut rng = Rng::for_role(1, "anew");
    let mut pie = pie(&[("delay", "departure-rate"), ("activate", "0.02")]);
    let mut now = Time::ZERO;
    let mut packets = |pie: &mut Pie, number: u32, every: Span, backlog: Backlog| {
        for _ in 0..number {
            pie.on_enqueue(&Arrival { now, backlog, ..ARRIVAL }, &mut rng);
            now += every;
            pie.on_dequeue(&Departure { now, backlog, ..DEPARTURE }, &mut rng);
        }
        pie.on_timer(&TimerContext { now, backlog, head_sojourn: Span::ZERO }, &mut rng);
        let mut delay = 0.0;
        pie.report_gauges(&mut |name, value| delay = if name == "delay" { value } else { delay });
        delay
    };
    let (slow, fast, busy) = (Span::from_millis(10), Span::from_millis(1), backlog_of(30));
    let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    close(packets(&mut pie, 17, slow, busy), 0.300 * 17.0 / 16.384);
    (0..3).for_each(|_| close(packets(&mut pie, 1, slow, Backlog::EMPTY), 0.0));
    close(packets(&mut pie, 16, fast, busy), 0.0);
    close(packets(&mut pie, 1, fast, busy), 0.030 * 17.0 / 16.384);
}
