//! What a host's stack does with a segment that carries data: where it belongs, and what it says of the sender and the path.
//!
//! ```text
//! before the last acknowledgement,      answered at once (RFC 9293, section 3.10.7.4; RFC 7323, section 5.3), and reported if it
//! or older by its timestamp             came twice (RFC 2883)
//! before what is expected               dropped, reported, answered quickly
//! what is expected, and there is room   stored, with what waited for it
//! what is expected, and there is none   dropped, and answered quickly: a probe of the window
//! beyond what is expected               stored and reported
//! ```

use ecnlab_units::Time;

use super::compressed::Compressed;
use super::room::{Room, Stored};
use super::{Host, room};
use crate::segment::{Role, Segment};

/// Quick acknowledgements after a mark, or after a segment that is not ECN-capable among others that are.
const AFTER_MARK: u32 = 2;

/// Quick acknowledgements after what came twice, as at the start of a usual connection (Linux TCP_MAX_QUICKACKS).
const AFTER_REPEAT: u32 = 16;

/// Of smaller segments the window does not learn.
const LEAST_TO_LEARN: u32 = 128;

/// What a timestamp may be older than the last one and still count, in milliseconds (RFC 7323, section 5).
const OLDER: u64 = 1;

impl Host {
    /// Whether a segment's timestamp is older than what was echoed last (RFC 7323, section 5.3).
    fn is_outdated(&self, sent: Time) -> bool {
        self.timestamps && self.clock.millis(self.echo.0) > self.clock.millis(sent) + OLDER
    }

    /// What timestamps echo: the last segment that began where the last acknowledgement ended, or before (RFC 7323, section 4.3).
    pub(super) fn learn_time(&mut self, segment: &Segment, sent: Time) {
        if segment.seq <= self.acked && self.clock.millis(sent) >= self.clock.millis(self.echo.0) {
            self.echo = (sent, segment.retransmission);
        }
    }

    /// A segment with data, or the FIN.
    pub(super) fn take_data(&mut self, segment: &Segment, sent: Time, now: Time) {
        if self.is_outdated(sent) || segment.seq + 1 < self.acked {
            self.answer_repeated(segment, now);
            return;
        }
        if segment.cwr {
            self.marks.take_reduction();
            self.acks.hurry();
        }
        self.learn_time(segment, sent);
        let payload = self.payload(segment);
        self.trips.take(payload >= self.acks.segment(), sent, now);
        self.late.forget_repeat();
        self.queue(segment, payload, now);
        self.consider(now);
        self.read(now);
    }

    fn payload(&self, segment: &Segment) -> u32 {
        segment.size.saturating_sub(self.header)
    }

    pub(super) fn window(&self) -> Option<i64> {
        self.room.as_ref().map(Room::window)
    }

    fn queue(&mut self, segment: &Segment, payload: u32, now: Time) {
        let (memory, spare) = (room::memory_of(segment.size), room::spare_of(segment.size));
        let stored = Stored { payload, memory, spare, fin: segment.role == Role::Fin };
        if segment.seq < self.next {
            self.late.repeat(segment.seq);
            self.take_no_more();
        } else if segment.seq > self.next {
            self.take_late(segment, stored, now);
        } else if self.room.as_ref().is_some_and(|room| room.left(self.bytes) == 0) {
            self.take_no_more();
        } else if self.reader.is_idle() || self.has_memory() {
            self.take_next(segment, stored, now);
        }
    }

    /// What came is dropped, and that is told at once.
    fn take_no_more(&mut self) {
        self.acks.enter(AFTER_REPEAT, self.window());
        self.acks.schedule();
    }

    /// Whether there is memory for one more segment; if not, it is dropped without a word.
    fn has_memory(&mut self) -> bool {
        let Some(room) = self.room.as_mut().filter(|room| room.is_overfull()) else { return true };
        self.acks.slow_down();
        room.give_way()
    }

    /// The segment expected, and all behind it that is here.
    fn take_next(&mut self, segment: &Segment, stored: Stored, now: Time) {
        if let Some(room) = &mut self.room {
            room.store(stored.memory);
        }
        self.advance(stored);
        if stored.payload > 0 {
            self.follow(segment, stored, now);
        }
        self.end(stored);
        if !self.late.is_empty() {
            while let Some(stored) = self.late.take(self.next) {
                self.advance(stored);
                self.end(stored);
            }
            if self.late.is_empty() {
                self.acks.hurry();
            }
            self.late.pass(self.next);
        }
    }

    fn advance(&mut self, stored: Stored) {
        self.next += 1;
        self.bytes += u64::from(stored.payload) + u64::from(stored.fin);
        let merged = self.reader.queue(stored);
        if let Some(room) = self.room.as_mut().filter(|_| merged) {
            room.release(stored.memory);
        }
    }

    /// The sender has no more: the application will close in turn, and that carries what is to be acknowledged.
    fn end(&mut self, stored: Stored) {
        if stored.fin {
            self.ended = true;
            self.acks.schedule();
            self.acks.answer();
        }
    }

    /// What new data in order says of the sender and the path.
    fn follow(&mut self, segment: &Segment, stored: Stored, now: Time) {
        let window = self.window();
        self.acks.take(stored.payload, segment.push || stored.fin, now, self.quick_acks, window);
        self.trips.take_window(self.bytes, window.map_or(u64::MAX / 2, |window| window as u64), now);
        self.take_mark(segment, now);
        if stored.payload >= LEAST_TO_LEARN {
            self.grow(stored);
        }
    }

    fn grow(&mut self, stored: Stored) {
        let segment = self.acks.segment();
        if self.room.as_mut().is_some_and(|room| room.grow(stored, segment)) {
            self.acks.grew();
        }
    }

    fn take_mark(&mut self, segment: &Segment, now: Time) {
        if self.marks.changes(segment) {
            if self.acks.is_delaying() {
                self.send_before_change(now);
            }
            self.acks.hurry();
        }
        if segment.ecn.is_capable() {
            self.before = self.next;
        }
        if self.marks.take(segment) {
            self.acks.enter(AFTER_MARK, self.window());
        }
    }

    /// A segment beyond a gap, perhaps for the second time.
    fn take_late(&mut self, segment: &Segment, stored: Stored, now: Time) {
        self.take_mark(segment, now);
        if !self.has_memory() {
            return;
        }
        self.acks.schedule();
        let seq = segment.seq;
        let (is_first, twice) = (self.late.is_empty(), self.late.has(seq));
        if twice {
            self.late.repeat(seq);
        }
        // What waits to be merged tells of the blocks as they stood when it came, if more than two of them do. That is all that is sent for
        // this segment.
        if !is_first && self.late.place(seq) >= 2 && self.compressed.as_ref().is_some_and(Compressed::is_waiting) {
            // That settles what this segment is owed too (Linux tcp_sack_compress_send_ack).
            self.send(Role::Plain, now);
        }
        if !twice {
            self.late.store(seq, stored);
        }
        self.late.report(seq);
        if !twice {
            if self.late.reports() {
                self.grow(stored);
            }
            if let Some(room) = &mut self.room {
                room.store(stored.memory);
            }
        }
    }

    /// A segment that is older than the last acknowledgement.
    fn answer_repeated(&mut self, segment: &Segment, now: Time) {
        if segment.seq < self.next {
            self.acks.enter(AFTER_REPEAT, self.window());
            self.late.repeat(segment.seq);
        }
        self.send(Role::Plain, now);
    }
}
