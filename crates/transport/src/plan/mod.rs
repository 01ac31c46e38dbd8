//! What a connection has to send, segment by segment: which ones open and close it, how much application data each carries, which of them say
//! that it may be read, and which may not go yet because they are not full.
//!
//! ```text
//! segment   0       1 .. n-1               n           n + 1
//!           SYN     full payload each      the rest    FIN
//!           carries 0                                  carries 0
//! ```
//!
//! There is a SYN where the handshake has one, and a FIN behind the last demand of a connection that closes; where it may, it rides on the last
//! data, as long as that has not gone. A connection that is kept has a short segment at the end of each write, which takes what is written
//! next where writes are joined. A segment that has not gone may be split, so that a part of it fits into a small window.
//! The sender keeps the plan; who asks at the sink asks it too, as what is passed there has arrived.

mod pushes;

use std::collections::VecDeque;

use self::pushes::{Filled, Pushes};
use crate::application::Demand;
use crate::segment::{Ack, Role};
use crate::settings::Settings;

/// No segment has this number.
const NEVER: u64 = u64::MAX;

/// The segments of a connection, as far as it is known what there is to send. What every segment reads stands first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Plan {
    /// The first segment that is not passed and carries less than a full payload, or the FIN.
    first_short: u64,
    segments: u64,
    /// Bytes of application data in a full segment.
    full: u32,
    /// The largest window in bytes that the other side has offered; 0 as long as it has said nothing.
    largest_window: u32,
    /// The first segment that has not gone and carries PSH.
    next_push: u64,
    /// All before it are passed.
    passed: u64,
    /// What an endless flow has none of, so that it takes no room among what every segment reads.
    ends: Option<Box<Ends>>,
    syn: bool,
    has_fin: bool,
    fin_on_data: bool,
    joins_writes: bool,
    nagle: bool,
}

/// The ends of writes and of the connection.
#[derive(Clone, Debug, Default)]
struct Ends {
    fin: Option<u64>,
    /// It rides on data.
    fin_rides: bool,
    /// The application has closed, and where the FIN goes is not settled.
    closing: bool,
    /// Segments that are not passed and carry less, with what they carry: the last ones of writes and the FIN. The SYN needs no entry.
    short: VecDeque<(u64, u32)>,
    /// By how much the short segments that are passed fall short of full ones, in bytes, and how many they are.
    shortfall: u64,
    passed: u64,
    /// Bytes of all writes.
    written: u64,
    pushes: Pushes,
}

impl Plan {
    pub fn new(settings: &Settings, demand: &Demand) -> Plan {
        let (syn, full) = (settings.syn(), settings.payload());
        let mut plan = Plan {
            first_short: if syn { 0 } else { NEVER },
            segments: u64::from(syn),
            next_push: NEVER,
            passed: 0,
            ends: None,
            full,
            largest_window: 0,
            syn,
            has_fin: settings.fin,
            fin_on_data: settings.fin_on_data,
            joins_writes: settings.join_writes,
            nagle: settings.nagle,
        };
        plan.add(demand, 0);
        plan
    }

    /// There is more to send, when all before `high` has been sent. The last demand of a connection that closes brings its FIN.
    pub fn add(&mut self, demand: &Demand, high: u64) {
        if demand == &Demand::ENDLESS && self.ends.is_none() && self.largest_window == 0 {
            self.segments = self.segments.saturating_add(demand.bytes.div_ceil(u64::from(self.full)));
        } else if demand.bytes > 0 {
            self.write(demand.bytes, high);
        }
        if demand.closes && self.has_fin {
            self.ends.get_or_insert_default().closing = true;
            if !self.fin_on_data {
                self.close(high);
            }
        }
        self.find_next(high);
    }

    fn write(&mut self, bytes: u64, high: u64) {
        let begun = self.take_tail(high).unwrap_or_default();
        let (full, first) = (u64::from(self.full), self.segments);
        let bytes = bytes.saturating_add(u64::from(begun));
        let (count, rest) = (bytes / full, (bytes % full) as u32);
        self.segments = first.saturating_add(bytes.div_ceil(full));
        let (last, half) = (self.segments - 1, u64::from(self.largest_window) / 2);
        let ends = self.ends.get_or_insert_default();
        let before = ends.written - u64::from(begun);
        ends.written = before.saturating_add(bytes);
        if half > 0 {
            ends.pushes.fill(Filled { first, count, full, before }, half);
        }
        if last < u64::MAX / full {
            ends.pushes.end(last, ends.written);
            if rest > 0 {
                ends.short.push_back((last, rest));
            }
        }
    }

    /// The last segment is begun anew if more may be written into it: it is not full, and has not gone. Returns what it carries.
    fn take_tail(&mut self, high: u64) -> Option<u32> {
        let tail = self.segments.checked_sub(1).filter(|&tail| self.joins_writes && tail >= high)?;
        let ends = self.ends.as_mut().filter(|ends| ends.fin.is_none())?;
        let &(_, payload) = ends.short.back().filter(|&&(short, _)| short == tail)?;
        ends.short.pop_back();
        ends.pushes.take_back(tail);
        self.segments = tail;
        Some(payload)
    }

    /// The application has closed, and has sent all before `high`: the FIN rides on the last data that has not gone, or goes behind it. Whether
    /// there is one to send that was not there before.
    pub fn close(&mut self, high: u64) -> bool {
        let Some(ends) = self.ends.as_mut().filter(|ends| ends.closing) else { return false };
        ends.closing = false;
        let tail = self.segments.checked_sub(1).filter(|&tail| self.fin_on_data && tail >= high && tail >= u64::from(self.syn));
        match tail {
            Some(tail) if ends.short.back().is_some_and(|&(short, _)| short == tail) => {}
            Some(tail) => ends.short.push_back((tail, self.full)),
            None => {
                ends.short.push_back((self.segments, 0));
                self.segments += 1;
            }
        }
        (ends.fin, ends.fin_rides) = (Some(self.segments - 1), tail.is_some());
        self.find_next(high);
        true
    }

    /// The other side offers a window of so many bytes.
    #[inline]
    pub fn hear(&mut self, window: u32, high: u64) {
        if window > self.largest_window && window != Ack::ANY {
            self.hear_larger(window, high);
        }
    }

    #[cold]
    fn hear_larger(&mut self, window: u32, high: u64) {
        let knew_none = std::mem::replace(&mut self.largest_window, window) == 0;
        if !knew_none {
            return;
        }
        let (first, full) = (u64::from(self.syn), u64::from(self.full));
        let ends = self.ends.get_or_insert_default();
        let end = ends.short.front().map_or(self.segments, |&(short, payload)| short + u64::from(payload == self.full));
        let count = end.saturating_sub(first);
        ends.pushes.fill_ahead(Filled { first, count, full, before: 0 }, u64::from(window) / 2);
        self.find_next(high);
    }

    /// Segments there are to send, SYN and FIN counted.
    #[inline]
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Bytes of application data in a full segment.
    #[inline]
    pub fn full_payload(&self) -> u32 {
        self.full
    }

    /// Whether all segments before `end` that are not passed are full.
    #[inline]
    pub fn is_full_before(&self, end: u64) -> bool {
        end <= self.first_short
    }

    /// Whether a segment carries PSH, which is the first time that it goes or not.
    #[inline]
    pub fn push(&mut self, seq: u64, is_new: bool) -> bool {
        if is_new && seq != self.next_push {
            return false;
        }
        self.find_push(seq, is_new)
    }

    #[cold]
    fn find_push(&mut self, seq: u64, is_new: bool) -> bool {
        let Some(ends) = &mut self.ends else { return false };
        if is_new {
            ends.pushes.pass(self.passed);
            self.next_push = ends.pushes.from(seq + 1);
        }
        ends.pushes.from(seq) == seq
    }

    /// Whether a new segment has to wait for more data, when all before `una` is acknowledged and all before `high` has been sent: it is the
    /// last one and not full, and another one that is not full is outstanding (Minshall 1999). The FIN does not wait.
    #[inline]
    pub fn waits(&self, seq: u64, una: u64, high: u64) -> bool {
        self.nagle && !self.is_full_before(seq + 1) && self.is_held(seq, una, high)
    }

    #[cold]
    fn is_held(&self, seq: u64, una: u64, high: u64) -> bool {
        let small = |&&(short, payload): &&(u64, u32)| (una..high).contains(&short) && payload < self.full;
        seq + 1 == self.segments && self.role(seq) == Role::Plain && self.payload(seq) < self.full && self.short().find(small).is_some()
    }

    /// How many segments from `next` on, which is not passed, fit wholly into a window of so many bytes. A FIN takes one byte.
    #[inline]
    pub fn segments_within(&self, next: u64, bytes: u32) -> u64 {
        let full = u64::from(bytes / self.full);
        if self.is_full_before(next + full + 1) { full } else { self.short_within(next, u64::from(bytes)) }
    }

    #[cold]
    fn short_within(&self, next: u64, bytes: u64) -> u64 {
        let full = u64::from(self.full);
        let (mut at, mut left) = (next, bytes);
        for &(short, payload) in self.short().filter(|&&(short, _)| short >= next) {
            let ahead = (short - at).min(left / full);
            (at, left) = (at + ahead, left - ahead * full);
            let needed = u64::from(payload) + u64::from(self.role(short) == Role::Fin);
            if at < short || needed > left {
                return at - next;
            }
            (at, left) = (short + 1, left - needed);
        }
        at - next + left / full
    }

    /// Splits a segment that has not gone, as none from `high` on has: `bytes` of it are a segment of their own, and the rest, which may be no
    /// more than the FIN, is the next one. Both carry PSH.
    pub fn split(&mut self, seq: u64, bytes: u32, high: u64) {
        let rest = self.payload(seq) - bytes;
        let ends = self.ends.get_or_insert_default();
        let at = ends.short.partition_point(|&(short, _)| short < seq);
        if ends.short.get(at).is_some_and(|&(short, _)| short == seq) {
            ends.short.remove(at);
        }
        ends.short.iter_mut().skip(at).for_each(|(short, _)| *short += 1);
        ends.short.insert(at, (seq + 1, rest));
        ends.short.insert(at, (seq, bytes));
        ends.pushes.split(seq);
        ends.fin = ends.fin.map(|fin| if fin >= seq { fin + 1 } else { fin });
        ends.fin_rides &= rest > 0 || ends.fin != Some(seq + 1);
        self.segments += 1;
        self.find_next(high);
    }

    /// Bytes of application data in a segment that is not passed.
    pub fn payload(&self, seq: u64) -> u32 {
        if self.syn && seq == 0 {
            return 0;
        }
        self.short().find(|&&(short, _)| short == seq).map_or(self.full, |&(_, payload)| payload)
    }

    /// Bytes of application data in all segments before one that is not passed.
    pub fn bytes_before(&self, seq: u64) -> u64 {
        let ahead = self.short().take_while(|&&(short, _)| short < seq).map(|&(_, payload)| u64::from(self.full - payload));
        let syn = if self.syn { u64::from(self.full) } else { 0 };
        let passed = self.ends.as_ref().map_or(0, |ends| ends.shortfall);
        (seq * u64::from(self.full)).saturating_sub(syn + passed + ahead.sum::<u64>())
    }

    /// Segments with a full payload among all before one that is not passed.
    pub fn full_before(&self, seq: u64) -> u64 {
        let ahead = self.short().take_while(|&&(short, _)| short < seq).filter(|&&(_, payload)| payload < self.full).count() as u64;
        let passed = self.ends.as_ref().map_or(0, |ends| ends.passed);
        seq.saturating_sub(u64::from(self.syn) + passed + ahead)
    }

    /// The segment that holds this byte, if it is not passed: those of the data count from 0, and behind them a FIN takes one.
    pub fn at_byte(&self, byte: u64) -> u64 {
        let (full, syn) = (u64::from(self.full), u64::from(self.syn));
        // Where it would be, were all segments before it full.
        let mut place = byte + self.ends.as_ref().map_or(0, |ends| ends.shortfall);
        for &(short, payload) in self.short() {
            if place < (short - syn) * full + u64::from(payload) + u64::from(self.role(short) == Role::Fin) {
                return short.min(syn + place / full);
            }
            place += full - u64::from(payload);
        }
        syn + place / full
    }

    /// Whether a segment of this role carries data.
    pub fn carries_data(&self, role: Role) -> bool {
        role == Role::Plain || role == Role::Fin && self.ends.as_ref().is_some_and(|ends| ends.fin_rides)
    }

    /// Whether the FIN is one of the segments before this one.
    pub fn is_closed_before(&self, seq: u64) -> bool {
        self.ends.as_ref().and_then(|ends| ends.fin).is_some_and(|fin| fin < seq)
    }

    /// What a segment does to the connection.
    pub fn role(&self, seq: u64) -> Role {
        match seq {
            0 if self.syn => Role::Syn,
            _ if self.ends.as_ref().is_some_and(|ends| ends.fin == Some(seq)) => Role::Fin,
            _ => Role::Plain,
        }
    }

    /// What a segment brings that has arrived, when `delivered` more segments can be read, the last of them before `next`: the bytes that can be
    /// read, and those that it carries itself. Of a segment that is passed its `size` tells the latter.
    #[inline(always)]
    pub fn brought(&self, seq: u64, delivered: u64, next: u64, passed: impl FnOnce() -> u32) -> (u64, u32) {
        if self.is_full_before(next.max(seq + 1)) {
            return (delivered * u64::from(self.full), self.full);
        }
        self.brought_short(seq, delivered, next, passed)
    }

    #[cold]
    fn brought_short(&self, seq: u64, delivered: u64, next: u64, passed: impl FnOnce() -> u32) -> (u64, u32) {
        let read = self.bytes_before(next) - self.bytes_before(next - delivered);
        (read, if seq < next - delivered { passed() } else { self.payload(seq) })
    }

    /// Lets go of all segments before `next`.
    #[inline]
    pub fn pass(&mut self, next: u64) {
        self.passed = next;
        if next > self.first_short {
            self.pass_short(next);
        }
    }

    #[cold]
    fn pass_short(&mut self, next: u64) {
        let full = self.full;
        if let Some(ends) = &mut self.ends {
            let passed = ends.short.partition_point(|&(seq, _)| seq < next);
            for (_, payload) in ends.short.drain(..passed).filter(|&(_, payload)| payload < full) {
                ends.passed += 1;
                ends.shortfall += u64::from(full - payload);
            }
        }
        self.find_first_short();
    }

    /// What there is to send has changed from `high` on.
    fn find_next(&mut self, high: u64) {
        if self.first_short == NEVER || self.first_short >= high && !(self.syn && self.first_short == 0) {
            self.find_first_short();
        }
        if let Some(ends) = &mut self.ends {
            ends.pushes.pass(self.passed);
            self.next_push = ends.pushes.from(high);
        }
    }

    fn find_first_short(&mut self) {
        let first = self.short().next().map_or(NEVER, |&(seq, _)| seq);
        self.first_short = first;
    }

    fn short(&self) -> impl Iterator<Item = &(u64, u32)> {
        self.ends.iter().flat_map(|ends| &ends.short)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Handshake;

    fn linux() -> Settings {
        Settings { packet_size: 1500, header: 52, ..profile::settings("ns2") }
    }

    /// Of segments with 960 bytes, and a FIN where there is a SYN to answer.
    fn plan(handshake: Handshake, demand: &Demand) -> Plan {
        let fin = handshake == Handshake::ThreeWay;
        Plan::new(&Settings { handshake, fin, packet_size: 1000, header: 40, ..profile::settings("ns2") }, demand)
    }

    #[test]
    fn a_host_s_transfer_lies_between_its_syn_and_its_fin() {
        let plan = plan(Handshake::ThreeWay, &Demand::closing(2_000));
        assert_eq!(
            (5, [Role::Syn, Role::Plain, Role::Plain, Role::Plain, Role::Fin]),
            (plan.segments(), [0, 1, 2, 3, 4].map(|seq| plan.role(seq)))
        );
        assert_eq!([0, 960, 960, 80, 0], [0, 1, 2, 3, 4].map(|seq| plan.payload(seq)));
        assert_eq!([0, 0, 960, 1_920, 2_000, 2_000], [0, 1, 2, 3, 4, 5].map(|seq| plan.bytes_before(seq)));
    }

    /// Of segments with 1448 bytes, as Linux 6.1 lays them out.
    fn joined(demand: &Demand) -> Plan {
        let settings = Settings { handshake: Handshake::ThreeWay, fin: true, fin_on_data: true, join_writes: true, nagle: true, ..linux() };
        Plan::new(&settings, demand)
    }

    #[test]
    fn a_fin_rides_on_the_last_data_that_has_not_gone() {
        // cubic-fin-lost: 57920 bytes are 40 segments, of which ten have gone when the application closes: FIN, PSH and 1448 bytes from 56473 on.
        let mut plan = joined(&Demand::closing(57_920));
        assert_eq!((41, true, false), (plan.segments(), plan.close(11), plan.close(11)));
        assert_eq!((41, Role::Fin, 1448, 56_472), (plan.segments(), plan.role(40), plan.payload(40), plan.bytes_before(40)));
        assert_eq!((57_920, true, false), (plan.bytes_before(41), plan.is_closed_before(41), plan.is_full_before(41)));
        assert_eq!((40, 40, 41), (plan.at_byte(56_472), plan.at_byte(57_920), plan.at_byte(57_921)));
        assert!(plan.carries_data(Role::Fin) && plan.push(40, false));
        // All of a short transfer has gone when the application closes.
        let mut plan = joined(&Demand::closing(2000));
        assert_eq!((3, true, 4), (plan.segments(), plan.close(3), plan.segments()));
        assert_eq!((Role::Fin, 0, 3, 4), (plan.role(3), plan.payload(3), plan.at_byte(2000), plan.at_byte(2001)));
        assert!(!plan.carries_data(Role::Fin) && !plan.push(3, true));
    }

    #[test]
    fn a_write_goes_on_in_a_segment_that_has_not_gone() {
        let small = Demand::open(200);
        let mut plan = joined(&small);
        plan.add(&small, 1);
        assert_eq!((2, 400), (plan.segments(), plan.payload(1)));
        plan.add(&small, 2);
        plan.add(&Demand::open(3000), 2);
        assert_eq!((5, [400, 1448, 1448, 304]), (plan.segments(), [1, 2, 3, 4].map(|seq| plan.payload(seq))));
        assert_eq!([true, false, false, true], [1, 2, 3, 4].map(|seq| plan.push(seq, false)), "no push within a write that goes on");
        let mut apart = Plan::new(&Settings { join_writes: false, ..linux() }, &small);
        apart.add(&small, 0);
        assert_eq!(3, apart.segments());
    }

    #[test]
    fn one_segment_that_is_not_full_is_outstanding_at_a_time() {
        let small = Demand::open(200);
        let mut plan = joined(&small);
        plan.add(&small, 2);
        assert_eq!([false, true, false], [plan.waits(1, 1, 1), plan.waits(2, 1, 2), plan.waits(2, 2, 2)]);
        plan.add(&Demand::open(1248), 2);
        assert!(!plan.waits(2, 1, 2), "it is full by now");
        plan.add(&Demand::closing(10), 2);
        assert!(
            plan.waits(3, 1, 3) && plan.close(3) && !plan.waits(3, 1, 3),
            "the last segment waits no longer when the application closes"
        );
    }

    #[test]
    fn a_part_of_a_segment_goes_where_no_more_fits() {
        // cubic-zero-window: 289600 bytes; the window after byte 194032 is 1064 bytes. The rest of the segment goes by itself: FIN on 288153.
        let mut plan = joined(&Demand::closing(289_600));
        plan.hear(65_535, 1);
        plan.close(131);
        assert_eq!((Role::Fin, 134, 0), (plan.role(200), plan.at_byte(194_032 - 1448), plan.segments_within(135, 1064)));
        plan.split(135, 1064, 135);
        assert_eq!((201, [1064, 384, 1448]), (plan.segments() - 1, [135, 136, 137].map(|seq| plan.payload(seq))));
        assert_eq!([194_032, 195_096, 195_480], [135, 136, 137].map(|seq| plan.bytes_before(seq)));
        assert_eq!((Role::Fin, 288_152), (plan.role(201), plan.bytes_before(201)));
        let pushed: Vec<u64> = (1..202).filter(|&seq| plan.push(seq, false)).collect();
        let pushed: Vec<u64> = pushed.into_iter().map(|seq| plan.bytes_before(seq) + 1).collect();
        assert_eq!(vec![31_857, 65_161, 98_465, 131_769, 165_073, 194_033, 195_097, 198_377, 231_681, 264_985, 288_153], pushed);
    }

    #[test]
    fn what_fits_into_a_window_are_whole_segments_and_the_fin_s_byte() {
        let mut plan = joined(&Demand::closing(10 * 1448 + 100));
        plan.close(1);
        assert_eq!([0, 0, 1, 9, 10], [0, 1447, 1448, 10 * 1448 - 1, 10 * 1448].map(|bytes| plan.segments_within(1, bytes)));
        assert_eq!([10, 11], [100, 101].map(|more| plan.segments_within(1, 10 * 1448 + more)));
        assert_eq!([0, 1], [100, 101].map(|bytes| plan.segments_within(11, bytes)));
    }

    #[test]
    fn pushes_are_found_once_by_new_segments_and_at_any_time_by_old_ones() {
        let mut plan = joined(&Demand::open(100 * 1448));
        plan.hear(65_535, 1);
        let pushed = |plan: &mut Plan, is_new| (1..=100).filter(|&seq| plan.push(seq, is_new)).collect::<Vec<u64>>();
        assert_eq!(vec![23, 46, 69, 92, 100], pushed(&mut plan, true));
        assert_eq!(vec![23, 46, 69, 92, 100], pushed(&mut plan, false));
        // reno-idle-1s: the second write is less than half of the window that is offered by then.
        plan.pass(101);
        plan.hear(1_000_000, 101);
        plan.add(&Demand::open(100 * 1448), 101);
        assert_eq!(vec![200], (101..=200).filter(|&seq| plan.push(seq, true)).collect::<Vec<u64>>());
    }

    #[test]
    fn an_endless_flow_is_pushed_where_windows_are_offered() {
        let mut plan = joined(&Demand::ENDLESS);
        assert!((1..1000).all(|seq| !plan.push(seq, true)));
        plan.hear(31_856, 1);
        assert_eq!(vec![12, 24, 36], (1..40).filter(|&seq| plan.push(seq, true)).collect::<Vec<u64>>());
    }

    #[test]
    fn a_segment_s_place_in_the_data_does_not_move_when_others_are_passed() {
        let open = Demand::open(1_000);
        let mut plan = plan(Handshake::FirstPacket, &open);
        plan.add(&open, 0);
        let before = plan.bytes_before(5);
        plan.pass(3);
        assert_eq!((2_000, 2_000), (before, plan.bytes_before(5)));
        assert_eq!((true, false), (plan.is_full_before(4), plan.is_full_before(5)));
        assert_eq!([1, 2, 2], [3, 4, 5].map(|seq| plan.full_before(seq)));
    }
}
