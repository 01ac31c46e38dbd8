//! Send buffer: the layout of the application's data in segments. It determines which segments open and close the connection, how much data
//! each carries, which carry PSH, and which may not go yet because they are not full (Nagle).
//!
//! ```text
//! segment   0       1 .. n-1               n           n + 1
//!           SYN     full payload each      the rest    FIN
//!           carries 0                                  carries 0
//! ```
//!
//! A connection with a three-way handshake starts with a SYN, and one that closes ends with a FIN. With `fin_on_data` the FIN is set on the
//! last data segment, if that is unsent. On a persistent connection the last segment of a write may be short; with `coalesce_writes` the
//! next write fills it. An unsent segment may be split, so that a part of it fits into a small window. The sender owns the buffer; the
//! receiving side reads it too, since segments released here have arrived there.

mod push_points;

use std::collections::VecDeque;

use self::push_points::{FullSegmentsOfWrite, PushPoints};
use crate::application::AppWrite;
use crate::segment::{Ack, SegmentType};
use crate::settings::TcpSettings;

/// Marker for the absence of a segment.
const NO_SEGMENT: u64 = u64::MAX;

/// The segments of a connection up to the last write. The fields that each segment reads come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct SendBuffer {
    /// First unreleased segment with less than a full payload, or the FIN.
    first_short: u64,
    segments: u64,
    /// Bytes of application data in a full segment.
    full_payload: u32,
    /// Largest receive window in bytes that the peer has advertised; 0 before the first.
    largest_window: u32,
    /// First unsent segment that carries PSH.
    next_psh: u64,
    /// All segments before it are released.
    released_before: u64,
    /// State that an endless flow does not need; boxed, so that it takes no space in the cache lines that each segment reads.
    write_ends: Option<Box<WriteEnds>>,
    syn: bool,
    has_fin: bool,
    fin_on_data: bool,
    joins_writes: bool,
    nagle: bool,
}

/// Ends of writes and of the connection.
#[derive(Clone, Debug, Default)]
struct WriteEnds {
    fin_seq: Option<u64>,
    /// The FIN is set on data.
    fin_on_data: bool,
    /// The application has closed, and the FIN is not placed yet.
    fin_pending: bool,
    /// Unreleased segments below full size, with their payload: the last segments of writes and the FIN. The SYN needs no entry.
    short_segments: VecDeque<(u64, u32)>,
    /// Bytes by which the released short segments are below full size, and their number.
    shortfall: u64,
    released_short: u64,
    /// Bytes of all writes.
    written: u64,
    push_points: PushPoints,
}

impl WriteEnds {
    /// Makes room for one segment at `seq`.
    fn shift_from(&mut self, seq: u64) {
        self.short_segments.iter_mut().filter(|(short, _)| *short >= seq).for_each(|(short, _)| *short += 1);
        self.fin_seq = self.fin_seq.map(|fin| if fin >= seq { fin + 1 } else { fin });
    }

    /// Sets the payload of a segment; one of `full` bytes has no entry, unless it is the FIN.
    fn set_segment_payload(&mut self, seq: u64, payload: u32, full: u32) {
        let at = self.short_segments.partition_point(|&(short, _)| short < seq);
        let is_listed = self.short_segments.get(at).is_some_and(|&(short, _)| short == seq);
        match (is_listed, payload < full || self.fin_seq == Some(seq)) {
            (true, true) => self.short_segments[at].1 = payload,
            (true, false) => drop(self.short_segments.remove(at)),
            (false, true) => self.short_segments.insert(at, (seq, payload)),
            (false, false) => {}
        }
    }
}

impl SendBuffer {
    pub fn new(settings: &TcpSettings, app_write: &AppWrite) -> SendBuffer {
        SendBuffer::with_payload(settings, settings.payload(), app_write)
    }

    /// Send buffer whose full segments carry `full` bytes.
    pub fn with_payload(settings: &TcpSettings, full: u32, app_write: &AppWrite) -> SendBuffer {
        let syn = settings.has_syn();
        let mut send_buffer = SendBuffer {
            first_short: if syn { 0 } else { NO_SEGMENT },
            segments: u64::from(syn),
            next_psh: NO_SEGMENT,
            released_before: 0,
            write_ends: None,
            full_payload: full,
            largest_window: 0,
            syn,
            has_fin: settings.quirks.fin,
            fin_on_data: settings.quirks.fin_on_data,
            joins_writes: settings.quirks.coalesce_writes,
            nagle: settings.nagle,
        };
        send_buffer.add_write(app_write, 0);
        send_buffer
    }

    /// Appends a write, with all segments before `snd_max` sent. The last write of a connection that closes adds the FIN.
    pub fn add_write(&mut self, app_write: &AppWrite, snd_max: u64) {
        if app_write == &AppWrite::ENDLESS && self.write_ends.is_none() && self.largest_window == 0 {
            self.segments = self.segments.saturating_add(app_write.bytes.div_ceil(u64::from(self.full_payload)));
        } else if app_write.bytes > 0 {
            self.append_bytes(app_write.bytes, snd_max);
        }
        if app_write.closes && self.has_fin {
            self.write_ends.get_or_insert_default().fin_pending = true;
            if !self.fin_on_data {
                self.queue_fin(snd_max);
            }
        }
        self.update_first_short_and_psh(snd_max);
    }

    fn append_bytes(&mut self, bytes: u64, snd_max: u64) {
        let begun = self.reopen_tail(snd_max).unwrap_or_default();
        let (full, first) = (u64::from(self.full_payload), self.segments);
        let bytes = bytes.saturating_add(u64::from(begun));
        let (count, rest) = (bytes / full, (bytes % full) as u32);
        self.segments = first.saturating_add(bytes.div_ceil(full));
        let (last, half) = (self.segments - 1, u64::from(self.largest_window) / 2);
        let ends = self.write_ends.get_or_insert_default();
        let before = ends.written - u64::from(begun);
        ends.written = before.saturating_add(bytes);
        if half > 0 {
            ends.push_points.add_within_write(FullSegmentsOfWrite { first, count, full, before }, half);
        }
        if last < u64::MAX / full {
            ends.push_points.add_write_end(last, ends.written);
            if rest > 0 {
                ends.short_segments.push_back((last, rest));
            }
        }
    }

    /// Reopens the last segment if it is unsent and not full, so that the next write fills it. Returns its payload.
    fn reopen_tail(&mut self, snd_max: u64) -> Option<u32> {
        let tail = self.segments.checked_sub(1).filter(|&tail| self.joins_writes && tail >= snd_max)?;
        let ends = self.write_ends.as_mut().filter(|ends| ends.fin_seq.is_none())?;
        let &(_, payload) = ends.short_segments.back().filter(|&&(short, _)| short == tail)?;
        ends.short_segments.pop_back();
        ends.push_points.remove_last(tail);
        self.segments = tail;
        Some(payload)
    }

    /// Queues the FIN after the application has closed, with all segments before `snd_max` sent. The FIN is set on the last data segment if
    /// that is unsent, else it is a segment of its own. Returns whether this added a FIN.
    pub fn queue_fin(&mut self, snd_max: u64) -> bool {
        let Some(ends) = self.write_ends.as_mut().filter(|ends| ends.fin_pending) else { return false };
        ends.fin_pending = false;
        let tail = self.segments.checked_sub(1).filter(|&tail| self.fin_on_data && tail >= snd_max && tail >= u64::from(self.syn));
        match tail {
            Some(tail) if ends.short_segments.back().is_some_and(|&(short, _)| short == tail) => {}
            Some(tail) => ends.short_segments.push_back((tail, self.full_payload)),
            None => {
                ends.short_segments.push_back((self.segments, 0));
                self.segments += 1;
            }
        }
        (ends.fin_seq, ends.fin_on_data) = (Some(self.segments - 1), tail.is_some());
        self.update_first_short_and_psh(snd_max);
        true
    }

    /// Updates the peer's receive window in bytes.
    #[inline]
    pub fn on_rwnd(&mut self, window: u32, snd_max: u64) {
        if window > self.largest_window && window != Ack::WINDOW_UNLIMITED {
            self.update_largest_window_and_push_points(window, snd_max);
        }
    }

    #[cold]
    fn update_largest_window_and_push_points(&mut self, window: u32, snd_max: u64) {
        let knew_none = std::mem::replace(&mut self.largest_window, window) == 0;
        if !knew_none {
            return;
        }
        let (first, full) = (u64::from(self.syn), u64::from(self.full_payload));
        let ends = self.write_ends.get_or_insert_default();
        let end = ends.short_segments.front().map_or(self.segments, |&(short, payload)| short + u64::from(payload == self.full_payload));
        let count = end.saturating_sub(first);
        ends.push_points.insert_within_written_data(FullSegmentsOfWrite { first, count, full, before: 0 }, u64::from(window) / 2);
        self.update_first_short_and_psh(snd_max);
    }

    /// Number of segments, with SYN and FIN.
    #[inline]
    pub fn queued_segments(&self) -> u64 {
        self.segments
    }

    /// Bytes of application data in a full segment.
    #[inline]
    pub fn full_payload(&self) -> u32 {
        self.full_payload
    }

    /// Largest receive window in bytes that the peer has advertised; 0 before the first.
    pub fn largest_window(&self) -> u32 {
        self.largest_window
    }

    /// Whether all unreleased segments before `end` are full.
    #[inline]
    pub fn has_only_full_sized_segments_before(&self, end: u64) -> bool {
        end <= self.first_short
    }

    /// Whether a segment carries PSH. `is_new`: it is sent for the first time.
    #[inline]
    pub fn carries_psh(&mut self, seq: u64, is_new: bool) -> bool {
        if is_new && seq != self.next_psh {
            return false;
        }
        self.carries_psh_slow_path(seq, is_new)
    }

    #[cold]
    fn carries_psh_slow_path(&mut self, seq: u64, is_new: bool) -> bool {
        let Some(ends) = &mut self.write_ends else { return false };
        if is_new {
            ends.push_points.release_before(self.released_before);
            self.next_psh = ends.push_points.next_push_point(seq + 1);
        }
        ends.push_points.next_push_point(seq) == seq
    }

    /// Whether a new segment waits for more data, with all before `snd_una` acknowledged and all before `snd_max` sent. It waits if it is
    /// the last and not full, and another segment below full size is outstanding (Minshall 1999). The FIN does not wait.
    #[inline]
    pub fn waits_by_nagle(&self, seq: u64, snd_una: u64, snd_max: u64) -> bool {
        self.nagle && !self.has_only_full_sized_segments_before(seq + 1) && self.is_held_by_nagle(seq, snd_una, snd_max)
    }

    #[cold]
    fn is_held_by_nagle(&self, seq: u64, snd_una: u64, snd_max: u64) -> bool {
        let small = |&&(short, payload): &&(u64, u32)| (snd_una..snd_max).contains(&short) && payload < self.full_payload;
        seq + 1 == self.segments
            && self.segment_type(seq) == SegmentType::Plain
            && self.segment_payload(seq) < self.full_payload
            && self.iter_short_segments().find(small).is_some()
    }

    /// Number of segments from `next` on, which is unreleased, that fit wholly into a window of `bytes`. A FIN takes one byte.
    #[inline]
    pub fn segments_fitting(&self, next: u64, bytes: u32) -> u64 {
        let full = u64::from(bytes / self.full_payload);
        if self.has_only_full_sized_segments_before(next + full + 1) {
            full
        } else {
            self.segments_fitting_with_short(next, u64::from(bytes))
        }
    }

    #[cold]
    fn segments_fitting_with_short(&self, next: u64, bytes: u64) -> u64 {
        let full = u64::from(self.full_payload);
        let (mut at, mut left) = (next, bytes);
        for &(short, payload) in self.iter_short_segments().filter(|&&(short, _)| short >= next) {
            let ahead = (short - at).min(left / full);
            (at, left) = (at + ahead, left - ahead * full);
            let needed = u64::from(payload) + u64::from(self.segment_type(short) == SegmentType::Fin);
            if at < short || needed > left {
                return at - next;
            }
            (at, left) = (short + 1, left - needed);
        }
        at - next + left / full
    }

    /// Splits an unsent segment: its first `bytes` become a segment, and the rest, which may be only the FIN, becomes the next one. Both
    /// carry PSH.
    pub fn split_segment_with_psh(&mut self, seq: u64, bytes: u32, snd_max: u64) {
        let rest = self.segment_payload(seq) - bytes;
        let ends = self.write_ends.get_or_insert_default();
        let at = ends.short_segments.partition_point(|&(short, _)| short < seq);
        if ends.short_segments.get(at).is_some_and(|&(short, _)| short == seq) {
            ends.short_segments.remove(at);
        }
        ends.shift_from(seq);
        ends.short_segments.insert(at, (seq + 1, rest));
        ends.short_segments.insert(at, (seq, bytes));
        ends.push_points.split_segment_with_psh(seq);
        ends.fin_on_data &= rest > 0 || ends.fin_seq != Some(seq + 1);
        self.segments += 1;
        self.update_first_short_and_psh(snd_max);
    }

    /// Fits an unsent segment to a payload of `most` bytes, at most that of a full segment: a larger one is divided, and a smaller one takes
    /// data from the next (Linux tcp_grow_skb, tso_fragment).
    pub fn resize_unsent_segment(&mut self, seq: u64, most: u32, snd_max: u64) {
        let (payload, most) = (self.segment_payload(seq), most.min(self.full_payload));
        if payload > most {
            self.divide_segment(seq, most, payload - most);
        } else if payload < most {
            self.fill_from_next_segment(seq, payload, most - payload);
        } else {
            return;
        }
        self.update_first_short_and_psh(snd_max);
    }

    /// Divides a segment; a PSH and a FIN go with the rest.
    fn divide_segment(&mut self, seq: u64, bytes: u32, rest: u32) {
        let full = self.full_payload;
        let ends = self.write_ends.get_or_insert_default();
        ends.shift_from(seq);
        ends.push_points.insert_segment(seq);
        ends.set_segment_payload(seq, bytes, full);
        ends.set_segment_payload(seq + 1, rest, full);
        self.segments = self.segments.saturating_add(1);
    }

    /// Moves up to `missing` bytes of the next segment into a segment with `payload` bytes.
    fn fill_from_next_segment(&mut self, seq: u64, payload: u32, missing: u32) {
        let next = seq + 1;
        if next >= self.segments || !self.type_carries_data(self.segment_type(next)) {
            return;
        }
        let (full, of_next) = (self.full_payload, self.segment_payload(next));
        let taken = missing.min(of_next);
        let ends = self.write_ends.get_or_insert_default();
        if taken < of_next {
            ends.set_segment_payload(next, of_next - taken, full);
            return ends.set_segment_payload(seq, payload + taken, full);
        }
        ends.short_segments.retain(|&(short, _)| short != next);
        ends.short_segments.iter_mut().filter(|(short, _)| *short > next).for_each(|(short, _)| *short -= 1);
        ends.push_points.merge_into_previous_segment(next);
        ends.fin_seq = ends.fin_seq.map(|fin| if fin >= next { fin - 1 } else { fin });
        ends.set_segment_payload(seq, payload + taken, full);
        self.segments -= 1;
    }

    /// Bytes of application data in an unreleased segment.
    pub fn segment_payload(&self, seq: u64) -> u32 {
        if self.syn && seq == 0 {
            return 0;
        }
        self.iter_short_segments().find(|&&(short, _)| short == seq).map_or(self.full_payload, |&(_, payload)| payload)
    }

    /// Bytes of application data in all segments before an unreleased one.
    pub fn bytes_before(&self, seq: u64) -> u64 {
        let ahead =
            self.iter_short_segments().take_while(|&&(short, _)| short < seq).map(|&(_, payload)| u64::from(self.full_payload - payload));
        let syn = if self.syn { u64::from(self.full_payload) } else { 0 };
        let passed = self.write_ends.as_ref().map_or(0, |ends| ends.shortfall);
        (seq * u64::from(self.full_payload)).saturating_sub(syn + passed + ahead.sum::<u64>())
    }

    /// Number of full segments before an unreleased one.
    pub fn full_segments_before(&self, seq: u64) -> u64 {
        let ahead =
            self.iter_short_segments().take_while(|&&(short, _)| short < seq).filter(|&&(_, payload)| payload < self.full_payload).count()
                as u64;
        let passed = self.write_ends.as_ref().map_or(0, |ends| ends.released_short);
        seq.saturating_sub(u64::from(self.syn) + passed + ahead)
    }

    /// Whether a segment of this type carries data.
    pub fn type_carries_data(&self, segment_type: SegmentType) -> bool {
        segment_type == SegmentType::Plain
            || segment_type == SegmentType::Fin && self.write_ends.as_ref().is_some_and(|ends| ends.fin_on_data)
    }

    /// Whether the FIN precedes this segment.
    pub fn has_fin_before(&self, seq: u64) -> bool {
        self.write_ends.as_ref().and_then(|ends| ends.fin_seq).is_some_and(|fin| fin < seq)
    }

    /// Type of a segment: SYN, FIN or data.
    pub fn segment_type(&self, seq: u64) -> SegmentType {
        match seq {
            0 if self.syn => SegmentType::Syn,
            _ if self.write_ends.as_ref().is_some_and(|ends| ends.fin_seq == Some(seq)) => SegmentType::Fin,
            _ => SegmentType::Plain,
        }
    }

    /// Bytes that an arrived segment delivers, if `delivered` more segments can be read, the last of them before `next`. Returns the bytes
    /// that became readable, and the bytes of the segment itself; for a released segment `passed` computes the latter from its size.
    #[inline(always)]
    pub fn bytes_delivered_by_segment(&self, seq: u64, delivered: u64, next: u64, passed: impl FnOnce() -> u32) -> (u64, u32) {
        if self.has_only_full_sized_segments_before(next.max(seq + 1)) {
            return (delivered * u64::from(self.full_payload), self.full_payload);
        }
        self.bytes_delivered_by_segment_with_short(seq, delivered, next, passed)
    }

    #[cold]
    fn bytes_delivered_by_segment_with_short(&self, seq: u64, delivered: u64, next: u64, passed: impl FnOnce() -> u32) -> (u64, u32) {
        let read = self.bytes_before(next) - self.bytes_before(next - delivered);
        (read, if seq < next - delivered { passed() } else { self.segment_payload(seq) })
    }

    /// Releases all segments before `next`.
    #[inline]
    pub fn release_before(&mut self, next: u64) {
        self.released_before = next;
        if next > self.first_short {
            self.release_short_before(next);
        }
    }

    #[cold]
    fn release_short_before(&mut self, next: u64) {
        let full = self.full_payload;
        if let Some(ends) = &mut self.write_ends {
            let passed = ends.short_segments.partition_point(|&(seq, _)| seq < next);
            for (_, payload) in ends.short_segments.drain(..passed).filter(|&(_, payload)| payload < full) {
                ends.released_short += 1;
                ends.shortfall += u64::from(full - payload);
            }
        }
        self.update_first_short();
    }

    /// Recomputes the cached segments after the data from `snd_max` on has changed.
    fn update_first_short_and_psh(&mut self, snd_max: u64) {
        if self.first_short == NO_SEGMENT || self.first_short >= snd_max && !(self.syn && self.first_short == 0) {
            self.update_first_short();
        }
        if let Some(ends) = &mut self.write_ends {
            ends.push_points.release_before(self.released_before);
            self.next_psh = ends.push_points.next_push_point(snd_max);
        }
    }

    fn update_first_short(&mut self) {
        let first = self.iter_short_segments().next().map_or(NO_SEGMENT, |&(seq, _)| seq);
        self.first_short = first;
    }

    fn iter_short_segments(&self) -> impl Iterator<Item = &(u64, u32)> {
        self.write_ends.iter().flat_map(|ends| &ends.short_segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::{Handshake, Quirks};

    fn linux() -> TcpSettings {
        TcpSettings { packet_size: 1500, quirks: Quirks { header_size: 52, ..profile::quirks("ns2") }, ..profile::tcp_settings_of("ns2") }
    }

    /// Send buffer with segments of 960 bytes, and a FIN if there is a SYN.
    fn send_buffer(handshake: Handshake, app_write: &AppWrite) -> SendBuffer {
        let fin = handshake == Handshake::ThreeWay;
        SendBuffer::new(
            &TcpSettings {
                handshake,
                packet_size: 1000,
                quirks: Quirks { fin, header_size: 40, ..profile::quirks("ns2") },
                ..profile::tcp_settings_of("ns2")
            },
            app_write,
        )
    }

    #[test]
    fn a_host_s_transfer_lies_between_its_syn_and_its_fin() {
        let send_buffer = send_buffer(Handshake::ThreeWay, &AppWrite::then_close(2_000));
        assert_eq!(
            (5, [SegmentType::Syn, SegmentType::Plain, SegmentType::Plain, SegmentType::Plain, SegmentType::Fin]),
            (send_buffer.queued_segments(), [0, 1, 2, 3, 4].map(|seq| send_buffer.segment_type(seq)))
        );
        assert_eq!([0, 960, 960, 80, 0], [0, 1, 2, 3, 4].map(|seq| send_buffer.segment_payload(seq)));
        assert_eq!([0, 0, 960, 1_920, 2_000, 2_000], [0, 1, 2, 3, 4, 5].map(|seq| send_buffer.bytes_before(seq)));
    }

    /// Send buffer with segments of 1448 bytes in the layout of Linux 6.1.
    fn linux_send_buffer(app_write: &AppWrite) -> SendBuffer {
        let settings = TcpSettings {
            handshake: Handshake::ThreeWay,
            nagle: true,
            quirks: Quirks { fin: true, fin_on_data: true, coalesce_writes: true, ..linux().quirks },
            ..linux()
        };
        SendBuffer::new(&settings, app_write)
    }

    #[test]
    fn a_fin_rides_on_the_last_data_that_has_not_gone() {
        // cubic-fin-lost: 57920 bytes are 40 segments, ten of them sent when the application closes: FIN, PSH and 1448 bytes from 56473 on.
        let mut send_buffer = linux_send_buffer(&AppWrite::then_close(57_920));
        assert_eq!((41, true, false), (send_buffer.queued_segments(), send_buffer.queue_fin(11), send_buffer.queue_fin(11)));
        assert_eq!(
            (41, SegmentType::Fin, 1448, 56_472),
            (send_buffer.queued_segments(), send_buffer.segment_type(40), send_buffer.segment_payload(40), send_buffer.bytes_before(40))
        );
        assert_eq!(
            (57_920, true, false),
            (send_buffer.bytes_before(41), send_buffer.has_fin_before(41), send_buffer.has_only_full_sized_segments_before(41))
        );
        assert!(send_buffer.type_carries_data(SegmentType::Fin) && send_buffer.carries_psh(40, false));
        // All of a short transfer is sent when the application closes.
        let mut send_buffer = linux_send_buffer(&AppWrite::then_close(2000));
        assert_eq!((3, true, 4), (send_buffer.queued_segments(), send_buffer.queue_fin(3), send_buffer.queued_segments()));
        assert_eq!(
            (SegmentType::Fin, 0, 2000, 2000),
            (send_buffer.segment_type(3), send_buffer.segment_payload(3), send_buffer.bytes_before(3), send_buffer.bytes_before(4))
        );
        assert!(!send_buffer.type_carries_data(SegmentType::Fin) && !send_buffer.carries_psh(3, true));
    }

    #[test]
    fn a_write_goes_on_in_a_segment_that_has_not_gone() {
        let small = AppWrite::keep_open(200);
        let mut send_buffer = linux_send_buffer(&small);
        send_buffer.add_write(&small, 1);
        assert_eq!((2, 400), (send_buffer.queued_segments(), send_buffer.segment_payload(1)));
        send_buffer.add_write(&small, 2);
        send_buffer.add_write(&AppWrite::keep_open(3000), 2);
        assert_eq!((5, [400, 1448, 1448, 304]), (send_buffer.queued_segments(), [1, 2, 3, 4].map(|seq| send_buffer.segment_payload(seq))));
        assert_eq!(
            [true, false, false, true],
            [1, 2, 3, 4].map(|seq| send_buffer.carries_psh(seq, false)),
            "no push within a write that goes on"
        );
        let mut apart = SendBuffer::new(&TcpSettings { quirks: Quirks { coalesce_writes: false, ..linux().quirks }, ..linux() }, &small);
        apart.add_write(&small, 0);
        assert_eq!(3, apart.queued_segments());
    }

    #[test]
    fn one_segment_that_is_not_full_is_outstanding_at_a_time() {
        let small = AppWrite::keep_open(200);
        let mut send_buffer = linux_send_buffer(&small);
        send_buffer.add_write(&small, 2);
        assert_eq!(
            [false, true, false],
            [send_buffer.waits_by_nagle(1, 1, 1), send_buffer.waits_by_nagle(2, 1, 2), send_buffer.waits_by_nagle(2, 2, 2)]
        );
        send_buffer.add_write(&AppWrite::keep_open(1248), 2);
        assert!(!send_buffer.waits_by_nagle(2, 1, 2), "it is full by now");
        send_buffer.add_write(&AppWrite::then_close(10), 2);
        assert!(
            send_buffer.waits_by_nagle(3, 1, 3) && send_buffer.queue_fin(3) && !send_buffer.waits_by_nagle(3, 1, 3),
            "the last segment waits no longer when the application closes"
        );
    }

    #[test]
    fn a_part_of_a_segment_goes_where_no_more_fits() {
        // cubic-zero-window: 289600 bytes; the window after byte 194032 is 1064 bytes. The rest of the segment is sent alone: FIN on
        // 288153.
        let mut send_buffer = linux_send_buffer(&AppWrite::then_close(289_600));
        send_buffer.on_rwnd(65_535, 1);
        send_buffer.queue_fin(131);
        assert_eq!(
            (SegmentType::Fin, 194_032 - 1448, 1448, 0),
            (
                send_buffer.segment_type(200),
                send_buffer.bytes_before(134),
                send_buffer.segment_payload(134),
                send_buffer.segments_fitting(135, 1064)
            )
        );
        send_buffer.split_segment_with_psh(135, 1064, 135);
        assert_eq!(
            (201, [1064, 384, 1448]),
            (send_buffer.queued_segments() - 1, [135, 136, 137].map(|seq| send_buffer.segment_payload(seq)))
        );
        assert_eq!([194_032, 195_096, 195_480], [135, 136, 137].map(|seq| send_buffer.bytes_before(seq)));
        assert_eq!((SegmentType::Fin, 288_152), (send_buffer.segment_type(201), send_buffer.bytes_before(201)));
        let pushed: Vec<u64> = (1..202).filter(|&seq| send_buffer.carries_psh(seq, false)).collect();
        let pushed: Vec<u64> = pushed.into_iter().map(|seq| send_buffer.bytes_before(seq) + 1).collect();
        assert_eq!(vec![31_857, 65_161, 98_465, 131_769, 165_073, 194_033, 195_097, 198_377, 231_681, 264_985, 288_153], pushed);
    }

    /// prague-step-0.5m-2ms: after 26 segments of 1436 bytes, and with a MTU that falls, segments of 1091, 980 and 879 bytes.
    #[test]
    fn smaller_segments_take_the_next_bytes_of_the_stream() {
        let mut send_buffer = linux_send_buffer(&AppWrite::then_close(10 * 1448 + 100));
        send_buffer.queue_fin(1);
        let place = |send_buffer: &SendBuffer| {
            (1..send_buffer.queued_segments())
                .map(|seq| (send_buffer.bytes_before(seq), send_buffer.segment_payload(seq)))
                .collect::<Vec<_>>()
        };
        for (seq, payload) in [(3, 1091), (4, 980), (5, 879), (6, 1448)] {
            send_buffer.resize_unsent_segment(seq, payload, seq);
            assert_eq!(payload, send_buffer.segment_payload(seq));
        }
        let places = place(&send_buffer);
        assert!(places.windows(2).all(|pair| pair[0].0 + u64::from(pair[0].1) == pair[1].0), "{places:?}");
        let &(last, bytes) = places.last().unwrap();
        assert_eq!((10 * 1448 + 100, 12), (last + u64::from(bytes), send_buffer.queued_segments() - 1));
        assert_eq!([SegmentType::Plain, SegmentType::Fin], [11, 12].map(|seq| send_buffer.segment_type(seq)));
        send_buffer.resize_unsent_segment(11, 1448, 11);
        send_buffer.resize_unsent_segment(12, 1448, 12);
        assert_eq!((10 * 1448 + 100, true), (send_buffer.bytes_before(send_buffer.queued_segments()), send_buffer.carries_psh(12, false)));
    }

    #[test]
    fn a_segment_that_takes_the_rest_takes_the_fin_and_the_psh() {
        let mut send_buffer = linux_send_buffer(&AppWrite::then_close(1448 + 100));
        send_buffer.queue_fin(1);
        send_buffer.resize_unsent_segment(1, 1000, 1);
        assert_eq!([1000, 448, 100], [1, 2, 3].map(|seq| send_buffer.segment_payload(seq)));
        send_buffer.resize_unsent_segment(2, 1000, 2);
        assert_eq!(
            (3, SegmentType::Fin, 548),
            (send_buffer.queued_segments(), send_buffer.segment_type(2), send_buffer.segment_payload(2))
        );
        assert!(send_buffer.carries_psh(2, false) && !send_buffer.carries_psh(1, false));
    }

    #[test]
    fn what_fits_into_a_window_are_whole_segments_and_the_fin_s_byte() {
        let mut send_buffer = linux_send_buffer(&AppWrite::then_close(10 * 1448 + 100));
        send_buffer.queue_fin(1);
        assert_eq!([0, 0, 1, 9, 10], [0, 1447, 1448, 10 * 1448 - 1, 10 * 1448].map(|bytes| send_buffer.segments_fitting(1, bytes)));
        assert_eq!([10, 11], [100, 101].map(|more| send_buffer.segments_fitting(1, 10 * 1448 + more)));
        assert_eq!([0, 1], [100, 101].map(|bytes| send_buffer.segments_fitting(11, bytes)));
    }

    #[test]
    fn pushes_are_found_once_by_new_segments_and_at_any_time_by_old_ones() {
        let mut send_buffer = linux_send_buffer(&AppWrite::keep_open(100 * 1448));
        send_buffer.on_rwnd(65_535, 1);
        let pushed =
            |send_buffer: &mut SendBuffer, is_new| (1..=100).filter(|&seq| send_buffer.carries_psh(seq, is_new)).collect::<Vec<u64>>();
        assert_eq!(vec![23, 46, 69, 92, 100], pushed(&mut send_buffer, true));
        assert_eq!(vec![23, 46, 69, 92, 100], pushed(&mut send_buffer, false));
        // reno-idle-1s: the second write is less than half of the window advertised by then.
        send_buffer.release_before(101);
        send_buffer.on_rwnd(1_000_000, 101);
        send_buffer.add_write(&AppWrite::keep_open(100 * 1448), 101);
        assert_eq!(vec![200], (101..=200).filter(|&seq| send_buffer.carries_psh(seq, true)).collect::<Vec<u64>>());
    }

    #[test]
    fn an_endless_flow_is_pushed_where_windows_are_offered() {
        let mut send_buffer = linux_send_buffer(&AppWrite::ENDLESS);
        assert!((1..1000).all(|seq| !send_buffer.carries_psh(seq, true)));
        send_buffer.on_rwnd(31_856, 1);
        assert_eq!(vec![12, 24, 36], (1..40).filter(|&seq| send_buffer.carries_psh(seq, true)).collect::<Vec<u64>>());
    }

    #[test]
    fn a_segment_s_place_in_the_data_does_not_move_when_others_are_passed() {
        let open = AppWrite::keep_open(1_000);
        let mut send_buffer = send_buffer(Handshake::FirstPacket, &open);
        send_buffer.add_write(&open, 0);
        let before = send_buffer.bytes_before(5);
        send_buffer.release_before(3);
        assert_eq!((2_000, 2_000), (before, send_buffer.bytes_before(5)));
        assert_eq!((true, false), (send_buffer.has_only_full_sized_segments_before(4), send_buffer.has_only_full_sized_segments_before(5)));
        assert_eq!([1, 2, 2], [3, 4, 5].map(|seq| send_buffer.full_segments_before(seq)));
    }
}
