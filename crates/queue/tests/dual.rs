//! DualPI2 against RFC 9332: who goes where, who is served, how marks are spaced, and what happens when marks can say no more.

use std::collections::VecDeque;

use ecnlab_queue::aqm::SignalCause;
use ecnlab_queue::discipline::dual::{ENTRY, Settings};
use ecnlab_queue::{DequeueOutcome, Discipline, DualPi2, Limit, QueueEvent};
use ecnlab_testkit::Packet;
use ecnlab_units::{Ecn, Rng, Span, Time, Values};

const LOW_LATENCY: u8 = 0;
const CLASSIC: u8 = 1;
const SIZE: u32 = 1500;

fn packet(number: u64, ecn: Ecn) -> Packet {
    Packet { number, ecn, flow: 1, size: SIZE, ..Packet::ECT0_1000_BYTES }
}

/// The queue, and what it has told.
struct Dual {
    queue: DualPi2<Packet>,
    now: Time,
    number: u64,
    marked: Vec<u64>,
    dropped: Vec<(u64, SignalCause)>,
    draws: Rng,
}

impl Dual {
    fn new(parameters: &[(&str, &str)]) -> Dual {
        let mut values = Values::defaults(ENTRY.parameters);
        for (name, text) in parameters {
            values.set_from_text(name, text).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
        let queue = DualPi2::new(Settings::from_values(&values), Limit::Packets(1000));
        Dual { queue, now: Time::ZERO, number: 0, marked: Vec::new(), dropped: Vec::new(), draws: Rng::for_role(1, "draws") }
    }

    fn advance(&mut self, span: Span) {
        let end = self.now + span;
        while let Some(due) = self.queue.next_timer().filter(|&due| due <= end) {
            self.queue.on_timer(due, &mut rng());
        }
        self.now = end;
    }

    fn enqueue(&mut self, ecn: Ecn) {
        self.number += 1;
        let dropped = &mut self.dropped;
        self.queue.enqueue(self::packet(self.number, ecn), self.now, &mut rng(), &mut |event| {
            if let QueueEvent::Dropped(packet, cause) = event {
                dropped.push((packet.number, cause));
            }
        });
    }

    /// The next packet and its band.
    fn dequeue(&mut self) -> Option<(Packet, u8)> {
        let (marked, dropped) = (&mut self.marked, &mut self.dropped);
        let take = self.queue.dequeue(self.now, &mut self.draws, &mut |event| match event {
            QueueEvent::Marked(packet, _) => marked.push(packet.number),
            QueueEvent::Dropped(packet, cause) => dropped.push((packet.number, cause)),
            QueueEvent::Stored(_) => panic!("nothing arrives"),
        });
        self.queue.assert_conservation();
        if let DequeueOutcome::Packet { packet, band, .. } = take { Some((packet, band)) } else { None }
    }

    fn gauge(&self, gauge: &str) -> f64 {
        let mut found = f64::NAN;
        self.queue.report_gauges(&mut |name, value| found = if name == gauge { value } else { found });
        found
    }

    /// Raises p' to at least this by a waiting classic packet; the queue is empty afterwards.
    fn drive(&mut self, base: f64) {
        self.enqueue(Ecn::NotEct);
        while self.gauge("probability") < base {
            self.advance(Span::from_millis(16));
        }
        while self.dequeue().is_some() {}
        (self.marked, self.dropped) = (Vec::new(), Vec::new());
    }
}

fn rng() -> Rng {
    Rng::for_role(1, "nothing is drawn")
}

#[test]
fn the_codepoint_chooses_the_band() {
    let bands = [(Ecn::NotEct, CLASSIC), (Ecn::Ect0, CLASSIC), (Ecn::Ect1, LOW_LATENCY), (Ecn::Ce, LOW_LATENCY)];
    for (ecn, expected) in bands {
        let mut dual = Dual::new(&[]);
        dual.enqueue(ecn);
        assert_eq!(Some((packet(1, ecn), expected)), dual.dequeue());
    }
}

#[test]
fn low_latency_goes_first_and_a_lone_classic_packet_waits_for_fourteen_at_most() {
    let mut dual = Dual::new(&[]);
    dual.enqueue(Ecn::NotEct);
    (0..100).for_each(|_| dual.enqueue(Ecn::Ect1));
    let before = (0..).take_while(|_| dual.dequeue().unwrap().1 == LOW_LATENCY).count();
    assert!((13..=15).contains(&before), "15 packets of the largest size by RFC 9332, section 4.2.2: {before}");
}

#[test]
fn weighted_round_robin_gives_a_busy_classic_band_its_weight() {
    for (weight, share) in [("0.0625", 1.0 / 16.0), ("0.1", 0.1), ("0.5", 0.5)] {
        let mut dual = Dual::new(&[("classic_weight", weight)]);
        (0..400).for_each(|_| [Ecn::Ect1, Ecn::NotEct].into_iter().for_each(|ecn| dual.enqueue(ecn)));
        let classic = (0..400).filter(|_| dual.dequeue().unwrap().1 == CLASSIC).count();
        assert!((classic as f64 / 400.0 - share).abs() < 0.01, "weight {weight}: {classic} of 400");
    }
}

#[test]
fn a_band_alone_has_the_whole_link_and_leaves_no_debt() {
    let mut dual = Dual::new(&[]);
    for ecn in [Ecn::NotEct, Ecn::Ect1] {
        (0..100).for_each(|_| dual.enqueue(ecn));
        (0..100).for_each(|_| assert!(dual.dequeue().is_some()));
        assert_eq!(None, dual.dequeue());
    }
    dual.enqueue(Ecn::NotEct);
    dual.enqueue(Ecn::Ect1);
    assert_eq!(LOW_LATENCY, dual.dequeue().unwrap().1, "an idle link favours the low-latency band anew");
}

#[test]
fn the_time_shifted_scheduler_serves_who_has_waited_longer_by_the_shift() {
    for (wait_ms, first) in [(49, LOW_LATENCY), (51, CLASSIC)] {
        let mut dual = Dual::new(&[("scheduler", "time-shifted")]);
        dual.enqueue(Ecn::NotEct);
        dual.advance(Span::from_millis(wait_ms));
        dual.enqueue(Ecn::Ect1);
        assert_eq!(first, dual.dequeue().unwrap().1, "{wait_ms} ms");
    }
}

/// The share of 1000 low-latency packets that are marked after waiting so long, two at a time.
fn marked_after(micros: u64, parameters: &[(&str, &str)]) -> f64 {
    let mut dual = Dual::new(parameters);
    for _ in 0..500 {
        [(); 2].iter().for_each(|()| dual.enqueue(Ecn::Ect1));
        dual.advance(Span::from_micros(micros));
        dual.dequeue();
        dual.dequeue();
    }
    // The second of two finds itself alone.
    2.0 * dual.marked.len() as f64 / 1000.0
}

#[test]
fn the_ramp_rises_from_800_to_1200_microseconds_and_may_be_a_step() {
    let expected = [(700, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1100, 0.75), (1200, 1.0), (2000, 1.0)];
    for (micros, share) in expected {
        assert!((marked_after(micros, &[]) - share).abs() < 0.01, "{micros} us: {}", marked_after(micros, &[]));
    }
    let step = [("range", "0 s")];
    assert_eq!([0.0, 1.0], [799, 801].map(|micros| (marked_after(micros, &step) * 100.0).round() / 100.0));
}

#[test]
fn a_single_packet_is_not_marked_for_its_own_wait_unless_that_is_asked_for() {
    for (th_len, marks) in [("1", false), ("0", true)] {
        let mut dual = Dual::new(&[("th_len", th_len)]);
        for _ in 0..100 {
            dual.enqueue(Ecn::Ect1);
            dual.advance(Span::from_millis(5));
            dual.dequeue();
        }
        assert_eq!(marks, !dual.marked.is_empty(), "th_len {th_len}");
    }
}

#[test]
fn the_bands_are_coupled_by_the_square_and_marks_are_evenly_spaced() {
    let mut dual = Dual::new(&[]);
    dual.drive(0.1);
    let base = dual.gauge("probability");
    assert!((dual.gauge("classic") - base * base).abs() < 1e-12 && (dual.gauge("coupled") - 2.0 * base).abs() < 1e-12);
    for (ecn, likelihood) in [(Ecn::Ect1, 2.0 * base), (Ecn::Ect0, base * base), (Ecn::NotEct, base * base)] {
        (dual.marked, dual.dropped) = (Vec::new(), Vec::new());
        for _ in 0..2000 {
            dual.enqueue(ecn);
            dual.dequeue();
        }
        let dropped = dual.dropped.iter().map(|(number, _)| *number);
        let signalled: Vec<u64> = if ecn == Ecn::NotEct { dropped.collect() } else { dual.marked.clone() };
        assert!((signalled.len() as f64 - 2000.0 * likelihood).abs() <= 1.0, "{ecn:?}: {} of 2000 at {likelihood}", signalled.len());
        let even = signalled.windows(2).all(|pair| ((pair[1] - pair[0]) as f64 - 1.0 / likelihood).abs() <= 1.0);
        assert!(even, "{ecn:?}: {signalled:?}");
    }
    assert!(dual.dropped.iter().all(|&(_, cause)| cause == SignalCause::Early));
}

#[test]
fn random_signals_have_the_same_probabilities_and_the_gaps_of_independent_draws() {
    let mut dual = Dual::new(&[("signals", "random")]);
    dual.drive(0.1);
    let base = dual.gauge("probability");
    for (ecn, likelihood) in [(Ecn::Ect1, 2.0 * base), (Ecn::Ect0, base * base), (Ecn::NotEct, base * base)] {
        (dual.marked, dual.dropped) = (Vec::new(), Vec::new());
        let packets = 40_000.0;
        for _ in 0..packets as u64 {
            dual.enqueue(ecn);
            dual.dequeue();
        }
        let dropped = dual.dropped.iter().map(|(number, _)| *number);
        let signalled: Vec<u64> = if ecn == Ecn::NotEct { dropped.collect() } else { dual.marked.clone() };
        let (expected, sd) = (packets * likelihood, (packets * likelihood * (1.0 - likelihood)).sqrt());
        assert!((signalled.len() as f64 - expected).abs() < 4.0 * sd, "{ecn:?}: {} for {expected} +- {sd}", signalled.len());
        // Gaps are geometric: the next packet is signalled with the same probability.
        let adjacent = signalled.windows(2).filter(|pair| pair[1] == pair[0] + 1).count() as f64;
        let expected = signalled.len() as f64 * likelihood;
        assert!((adjacent - expected).abs() < 4.0 * expected.sqrt(), "{ecn:?}: {adjacent} of {} follow at once", signalled.len());
    }
}

#[test]
fn saturated_marks_give_way_to_drops_in_both_bands_or_to_delay() {
    for (overload, dropped) in [("drop", [0.36, 0.36, 0.36]), ("delay", [0.0, 0.0, 0.25])] {
        let mut dual = Dual::new(&[("overload", overload), ("alpha", "0.01"), ("beta", "0")]);
        dual.drive(if overload == "drop" { 0.6 } else { 0.5 });
        for (ecn, share) in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct].into_iter().zip(dropped) {
            (dual.marked, dual.dropped) = (Vec::new(), Vec::new());
            for _ in 0..1000 {
                dual.enqueue(ecn);
                dual.dequeue();
            }
            let found = dual.dropped.len() as f64 / 1000.0;
            assert!((found - share).abs() < 0.02, "{overload}: {found} of {ecn:?} dropped");
            let left = 1000 - dual.dropped.len();
            assert!(ecn != Ecn::Ect1 || left - dual.marked.len() <= 1, "what is left of the low-latency band is marked");
        }
    }
}

/// RFC 9332, figure 7, lines 4b and 12b: L is in overload where p_CL >= 1, C where p_C >= min(1/k^2, 1).
#[test]
fn with_a_coupling_below_one_only_the_classic_band_is_ever_dropped_by_overload() {
    let mut dual = Dual::new(&[("coupling", "0.5"), ("alpha", "0.01"), ("beta", "0")]);
    dual.drive(1.0);
    for (ecn, dropped, marked) in [(Ecn::Ect1, 0, 500), (Ecn::Ect0, 1000, 0)] {
        (dual.marked, dual.dropped) = (Vec::new(), Vec::new());
        for _ in 0..1000 {
            dual.enqueue(ecn);
            dual.dequeue();
        }
        let found = [dual.dropped.len(), dual.marked.len()];
        assert!(found.iter().zip([dropped, marked]).all(|(&found, expected)| found.abs_diff(expected) <= 1), "{ecn:?}: {found:?}");
    }
}

#[test]
fn an_overloaded_low_latency_band_drives_the_base_law_without_classic_traffic() {
    let mut dual = Dual::new(&[]);
    (0..200).for_each(|_| dual.enqueue(Ecn::Ect1));
    for _ in 0..100 {
        dual.advance(Span::from_millis(16));
    }
    assert!(dual.gauge("probability") > 0.0, "RFC 9332, figure 8, line 2a");
}

#[test]
fn the_bands_share_one_buffer_and_count_apart() {
    let mut dual = Dual::new(&[]);
    (0..600).for_each(|_| [Ecn::Ect1, Ecn::NotEct].into_iter().for_each(|ecn| dual.enqueue(ecn)));
    assert_eq!((1000, 200), (dual.queue.len(), dual.dropped.len()));
    assert!(dual.dropped.iter().all(|&(_, cause)| cause == SignalCause::Overflow));
    let dropped = [LOW_LATENCY, CLASSIC].map(|band| dual.queue.band_counters(band).dropped_packets());
    let arrived = [LOW_LATENCY, CLASSIC].map(|band| dual.queue.band_counters(band).arrived.packets);
    assert_eq!(([100, 100], [600, 600]), (dropped, arrived));
}

#[test]
fn linux_spares_a_queue_of_less_than_two_packets() {
    let mut dual = Dual::new(&[("min_backlog", "3000 B")]);
    dual.drive(0.3);
    for _ in 0..100 {
        dual.enqueue(Ecn::Ect1);
        dual.dequeue();
    }
    assert!(dual.marked.is_empty());
}

/// RFC 9332, figures 3, 5, 7 and 8, with the scheduler of figure 10 (time-shifted FIFO), for packets of one size.
///
/// `lq.len()` counts the packet that is being dequeued, as the text does ("zeroed if the queue is only 1 packet"); with `th_len_at_enqueue`
/// the check is made as in the note on Linux: when the packet comes, with it counted, and its result stays with the packet.
struct PseudoCode {
    th_len: usize,
    th_len_at_enqueue: bool,
    range: f64,
    limit: usize,
    lq: VecDeque<(Packet, Time, bool)>,
    cq: VecDeque<(Packet, Time, bool)>,
    counts: [f64; 2],
    base: f64,
    prevq: f64,
}

/// Numbers of packets that a queue dropped, marked and sent, in order.
#[derive(Debug, Default, PartialEq)]
struct QueueLog {
    dropped: Vec<u64>,
    marked: Vec<u64>,
    sent: Vec<u64>,
}

impl PseudoCode {
    fn enqueue(&mut self, packet: Packet, now: Time, log: &mut QueueLog) {
        if self.lq.len() + self.cq.len() + 1 > self.limit {
            log.dropped.push(packet.number);
        } else if packet.ecn as u8 % 2 == 1 {
            let exceeds = self.lq.len() + 1 > self.th_len;
            self.lq.push_back((packet, now, exceeds));
        } else {
            self.cq.push_back((packet, now, false));
        }
    }

    fn dequeue(&mut self, now: Time, log: &mut QueueLog) {
        let sojourn = |queue: &VecDeque<(Packet, Time, bool)>| queue.front().map(|(_, since, _)| now.since(*since).seconds());
        let (p_cl, p_c) = ((2.0 * self.base).min(1.0), self.base * self.base);
        loop {
            let serves_low = match (sojourn(&self.lq), sojourn(&self.cq)) {
                (None, None) => return,
                (Some(low), Some(classic)) => low + 0.050 >= classic,
                (low, _) => low.is_some(),
            };
            if serves_low {
                let exceeds_now = self.lq.len() > self.th_len;
                let (packet, since, exceeded_then) = self.lq.pop_front().unwrap();
                if p_cl < 1.0 {
                    let exceeds = if self.th_len_at_enqueue { exceeded_then } else { exceeds_now };
                    let native = if exceeds { self.laqm(now.since(since).seconds()) } else { 0.0 };
                    if self.recur(0, native.max(p_cl)) {
                        log.marked.push(packet.number);
                    }
                } else {
                    if self.recur(0, p_c) {
                        log.dropped.push(packet.number);
                        continue;
                    }
                    if self.recur(0, p_cl) {
                        log.marked.push(packet.number);
                    }
                }
                return log.sent.push(packet.number);
            }
            let (packet, ..) = self.cq.pop_front().unwrap();
            if self.recur(1, p_c) {
                if packet.ecn == Ecn::NotEct || p_c >= 0.25 {
                    log.dropped.push(packet.number);
                    continue;
                }
                log.marked.push(packet.number);
            }
            return log.sent.push(packet.number);
        }
    }

    fn laqm(&self, delay: f64) -> f64 {
        if delay >= 0.0008 + self.range {
            1.0
        } else if delay > 0.0008 {
            (delay - 0.0008) / self.range
        } else {
            0.0
        }
    }

    fn recur(&mut self, queue: usize, likelihood: f64) -> bool {
        self.counts[queue] += likelihood;
        let hit = self.counts[queue] > 1.0;
        self.counts[queue] -= f64::from(u8::from(hit));
        hit
    }

    fn update(&mut self, now: Time) {
        let sojourn = [&self.lq, &self.cq].map(|queue| queue.front().map_or(0.0, |(_, since, _)| now.since(*since).seconds()));
        let curq = sojourn[0].max(sojourn[1]);
        self.base = (self.base + 0.16 * (curq - 0.015) + 3.2 * (curq - self.prevq)).clamp(0.0, 1.0);
        self.prevq = curq;
    }
}

/// Open loop at 10 Mbps: arrivals come and go in spells of half a second, at 10 to 190 % of the link's rate, and of another mix of codepoints each.
fn open_loop(th_len: usize, at: &str, range: &str) -> [QueueLog; 2] {
    let settings = [("scheduler", "time-shifted"), ("th_len", &*th_len.to_string()), ("th_len_at", at), ("range", range)];
    let mut dual = Dual::new(&settings);
    let mut rfc = PseudoCode {
        th_len,
        th_len_at_enqueue: at == "enqueue",
        range: if range == "0 s" { 0.0 } else { 0.0004 },
        limit: 1000,
        lq: VecDeque::new(),
        cq: VecDeque::new(),
        counts: [0.0; 2],
        base: 0.0,
        prevq: 0.0,
    };
    let (mut ours, mut theirs, mut draws) = (QueueLog::default(), QueueLog::default(), Rng::for_role(7, "arrivals"));
    let (mut load, mut low_share) = (0.0, 0.0);
    for step in 0..400_000u64 {
        if step % 5_000 == 0 {
            (load, low_share) = (0.1 + 1.8 * draws.uniform(), draws.uniform());
        }
        if draws.uniform() < load / 12.0 {
            let low = draws.uniform() < low_share;
            let ecn = if low { Ecn::Ect1 } else { [Ecn::NotEct, Ecn::Ect0][draws.below(2) as usize] };
            dual.enqueue(ecn);
            rfc.enqueue(packet(dual.number, ecn), dual.now, &mut theirs);
        }
        if step % 12 == 0 {
            ours.sent.extend(dual.dequeue().map(|(packet, _)| packet.number));
            rfc.dequeue(dual.now, &mut theirs);
        }
        // A step takes 101 us, so that no packet waits just as long as a threshold.
        if (dual.now + Span::from_micros(101)).since(Time::ZERO).picos() / SAMPLE != dual.now.since(Time::ZERO).picos() / SAMPLE {
            let due = dual.queue.next_timer().unwrap();
            rfc.update(due);
        }
        dual.advance(Span::from_micros(101));
    }
    (ours.dropped, ours.marked) = (dual.dropped.iter().map(|(number, _)| *number).collect(), dual.marked);
    [ours, theirs]
}

/// 16 ms in picoseconds.
const SAMPLE: u64 = 16_000_000_000;

#[test]
fn an_open_loop_fares_as_in_the_pseudo_code_wherever_the_length_is_checked() {
    let mut marks = Vec::new();
    for (th_len, at, range) in [
        (1, "dequeue", "400 us"),
        (1, "enqueue", "400 us"),
        (3, "dequeue", "0 s"),
        (3, "enqueue", "0 s"),
        (0, "dequeue", "0 s"),
        (0, "enqueue", "0 s"),
    ] {
        let [ours, theirs] = open_loop(th_len, at, range);
        let differs = ours.sent.iter().zip(&theirs.sent).position(|(a, b)| a != b);
        assert_eq!(None, differs, "th_len {th_len} at {at}: packets sent");
        assert_eq!(ours, theirs, "th_len {th_len} at {at}");
        assert!(ours.marked.len() > 1_000 && ours.dropped.len() > 100, "{} marks, {} drops", ours.marked.len(), ours.dropped.len());
        marks.push(ours.marked);
    }
    assert!(marks[0] != marks[1] && marks[2] != marks[3] && marks[4] == marks[5]);
}

/// For each low-latency packet of a burst of four whether it is marked, where a packet leaves each 1.3 ms.
fn marks_in_a_burst(at: &str) -> [bool; 4] {
    let mut dual = Dual::new(&[("th_len_at", at)]);
    // The first certain mark brings the recurrence to 1, and every later one beyond it.
    for packets in [2, 4] {
        (0..packets).for_each(|_| dual.enqueue(Ecn::Ect1));
        for _ in 0..packets {
            dual.advance(Span::from_micros(1300));
            dual.dequeue();
        }
    }
    [3, 4, 5, 6].map(|number| dual.marked.contains(&number))
}

/// RFC 9332, appendix A.2, note on Linux.
#[test]
fn a_check_at_dequeue_exempts_the_last_packet_of_a_burst_and_one_at_enqueue_the_first() {
    assert_eq!([true, true, true, false], marks_in_a_burst("dequeue"));
    assert_eq!([false, true, true, true], marks_in_a_burst("enqueue"));
}
