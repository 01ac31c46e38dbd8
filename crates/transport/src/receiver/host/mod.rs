//! A receiver as a host's stack has it, where `delayed_ack_rule` is `quick`: what an acknowledgement says is what stands when it goes.
//!
//! ```text
//!                    segment
//!                       |
//!     opening   SYN: SYN-ACK          old, or by its timestamp older than what came before: told at once, and what came twice
//!                       |
//!     marks, late, room   in order: stored, with all behind it that is here     beyond a gap: stored and reported     no room: dropped
//!                       |
//!     quick, compressed   acknowledged now, by a timer, or merged
//!                       |
//!     reader    the application reads: the buffer empties, grows, and a window that opens is told; at the end it closes
//! ```
//!
//! Positions in the data are in bytes from the first byte on, with one for the FIN; segments are known by number.

mod autotune;
mod compressed;
mod late;
mod marks;
mod opening;
mod quick;
mod reader;
mod room;
mod trips;

use ecnlab_units::{Ecn, Span, Time};

use self::compressed::Compressed;
use self::late::Late;
use self::marks::Marks;
use self::opening::Opening;
use self::quick::{Due, QuickAcks};
use self::reader::{Reader, Wake};
use self::room::{Room, Stored};
use self::trips::RoundTrips;
use super::{Arrival, BLOCK_SIZE, echo::EchoBits};
use crate::clock::HostClock;
use crate::segment::{Ack, Role, Segment};
use crate::settings::{EchoStyle, Handshake, Settings};
use crate::timer::earlier;

/// Quick acknowledgements after a mark, or after a segment that is not ECN-capable among others that are.
const AFTER_MARK: u32 = 2;

/// Quick acknowledgements after what came twice, as at the start of a usual connection (Linux TCP_MAX_QUICKACKS).
const AFTER_REPEAT: u32 = 16;

/// Packets without data that are out of place are answered at most so often (RFC 5961, section 7; ip-sysctl tcp_invalid_ratelimit).
const BETWEEN_ANSWERS: Span = Span::from_millis(500);

/// Of smaller segments the window does not learn.
const LEAST_TO_LEARN: u32 = 128;

/// What a timestamp may be older than the last one and still count, in milliseconds (RFC 7323, section 5).
const OLDER: u64 = 1;

#[derive(Debug)]
pub struct Host {
    /// The next segment expected, and how many bytes have arrived before it.
    next: u64,
    bytes: u64,
    /// The same as of the last acknowledgement.
    acked: u64,
    acked_bytes: u64,
    /// What came in order before the last ECN-capable segment, which DCTCP's receiver acknowledges when its state changes.
    before: u64,
    /// What timestamps echo: when a segment was sent, and whether it was a retransmission.
    echo: (Time, bool),
    acks: QuickAcks,
    compressed: Option<Compressed>,
    late: Late,
    marks: Marks,
    opening: Opening,
    room: Option<Room>,
    trips: RoundTrips,
    reader: Reader,
    clock: HostClock,
    is_open: bool,
    three_way: bool,
    /// The FIN has come.
    ended: bool,
    /// When a packet that was out of place was answered last.
    answered: Option<u64>,
    quick_acks: u32,
    timestamps: bool,
    answers_from_start: bool,
    agrees_to_ecn: bool,
    needs_ecn: bool,
    ack_size: u32,
    sack_option: u32,
    header: u32,
    /// What is still to go out at the time of the last call.
    out: Vec<Ack>,
    now: Time,
    /// What timestamps say: an acknowledgement that was merged goes with the time of the last arrival.
    stamp: Time,
}

impl Host {
    pub fn new(settings: &Settings, clock: HostClock) -> Host {
        Host {
            next: 0,
            bytes: 0,
            acked: 0,
            acked_bytes: 0,
            before: 0,
            echo: (Time::ZERO, false),
            acks: QuickAcks::new(settings, clock),
            compressed: settings.compressed_sacks.then(Compressed::default),
            late: Late::new(settings.reported_blocks(), settings.dsack),
            marks: Marks::new(settings),
            opening: Opening::new(settings, clock),
            room: Room::new(settings),
            trips: RoundTrips::new(settings, clock),
            reader: Reader::new(settings),
            clock,
            is_open: false,
            three_way: settings.handshake == Handshake::ThreeWay,
            ended: false,
            answered: None,
            quick_acks: settings.quick_acks as u32,
            timestamps: settings.timestamps,
            answers_from_start: settings.interactive,
            agrees_to_ecn: settings.receiver_ecn,
            needs_ecn: settings.ecn_echo == EchoStyle::Dctcp,
            ack_size: settings.ack_size,
            sack_option: settings.sack_option,
            header: settings.header,
            out: Vec::new(),
            now: Time::ZERO,
            stamp: Time::ZERO,
        }
    }

    /// The next segment expected; all before it have arrived.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Segments that wait for earlier ones.
    pub fn waiting(&self) -> u64 {
        self.late.len()
    }

    /// Takes a segment that was sent at `sent`.
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> Arrival {
        let before = self.next;
        (self.now, self.stamp) = (now, now);
        if segment.role == Role::Syn {
            self.take_syn(segment, sent, now);
        } else {
            self.take_other(segment, sent, now);
        }
        self.arrival(self.next - before)
    }

    fn take_other(&mut self, segment: &Segment, sent: Time, now: Time) {
        let opens = !self.is_open;
        if opens {
            self.open(sent, now);
        }
        // An application that answers does so once it has accepted the connection: what opens it comes before that.
        let answers = opens && self.answers_from_start;
        if answers && segment.role == Role::Pure {
            self.acks.answer();
        }
        if segment.role == Role::Pure {
            self.take_pure(segment, sent, now);
        } else {
            self.take_data(segment, sent, now);
        }
        if answers {
            self.acks.answer();
        }
    }

    /// What goes out at this time: two acknowledgements with the arrival, and whatever is left by the deadline, which is now.
    fn arrival(&mut self, delivered: u64) -> Arrival {
        let count = self.out.len().min(2);
        let mut first = self.out.drain(..count);
        let (one, other) = (first.next(), first.next());
        match other {
            Some(ack) => Arrival { delivered, held: one.map(Box::new), ack: Some(ack) },
            None => Arrival { delivered, held: None, ack: one },
        }
    }

    /// SYN-ACK: agrees to ECN by ECE without CWR, if both bits offered it (RFC 3168, section 6.1.1) on a packet that is not ECN-capable, as a SYN
    /// is but for DCTCP's.
    fn take_syn(&mut self, segment: &Segment, sent: Time, now: Time) {
        if self.is_open {
            self.answer_out_of_place(now);
            return;
        }
        if self.next == 0 {
            self.reader.start(sent);
            let offered = segment.ece && segment.cwr && (segment.ecn == Ecn::NotEct || self.needs_ecn);
            if self.three_way {
                self.marks.settle(offered && self.agrees_to_ecn);
            }
            (self.next, self.acked, self.before) = (1, 1, 1);
            self.echo = (sent, segment.retransmission);
        } else if self.is_too_soon(now) {
            return;
        }
        if self.three_way {
            self.opening.reply(now);
            self.send_syn_ack(now);
        } else {
            self.open(sent, now);
            self.marks.take(segment);
            self.send(Role::Plain, now);
        }
    }

    fn send_syn_ack(&mut self, now: Time) {
        let (echo, echo_retransmission) = self.echo;
        let window = self.room.as_ref().map_or(Ack::ANY, Room::first);
        let ece = self.marks.is_agreed();
        self.trips.sent(self.stamp, now);
        self.out.push(Ack { role: Role::Syn, ece, echo, echo_retransmission, window, ..Ack::plain(1, self.ack_size) });
    }

    fn open(&mut self, sent: Time, now: Time) {
        self.is_open = true;
        let rtt = self.opening.finish(self.timestamps, now);
        self.trips.open(sent);
        if let Some(room) = &mut self.room {
            room.open(self.bytes);
        }
        self.acks.open(rtt, self.opening.timeout(), self.window(), now);
        self.reader.open(self.room.as_ref(), self.bytes, now);
        self.before = self.next;
        self.echo = (sent, false);
    }

    /// An acknowledgement without data: it may acknowledge the FIN. One before what was acknowledged, as a probe of a closed window is, is answered.
    fn take_pure(&mut self, segment: &Segment, sent: Time, now: Time) {
        if segment.seq < self.acked {
            self.answer_out_of_place(now);
            return;
        }
        self.learn_time(segment, sent);
        if self.reader.has_closed() {
            self.opening.settle();
        }
    }

    fn is_too_soon(&mut self, now: Time) -> bool {
        let tick = self.clock.ticks(now);
        let too_soon = self.answered.is_some_and(|last| tick - last < self.clock.ticks_of(BETWEEN_ANSWERS));
        if !too_soon {
            self.answered = Some(tick);
        }
        too_soon
    }

    fn answer_out_of_place(&mut self, now: Time) {
        if !self.is_too_soon(now) {
            self.send(Role::Plain, now);
        }
    }

    /// Whether a segment's timestamp is older than what was echoed last (RFC 7323, section 5.3).
    fn is_outdated(&self, sent: Time) -> bool {
        self.timestamps && self.clock.millis(self.echo.0) > self.clock.millis(sent) + OLDER
    }

    /// What is echoed: the last segment that began where the last acknowledgement ended, or before (RFC 7323, section 4.3).
    fn learn_time(&mut self, segment: &Segment, sent: Time) {
        if segment.seq <= self.acked && self.clock.millis(sent) >= self.clock.millis(self.echo.0) {
            self.echo = (sent, segment.retransmission);
        }
    }

    fn take_data(&mut self, segment: &Segment, sent: Time, now: Time) {
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

    fn window(&self) -> Option<i64> {
        self.room.as_ref().map(Room::window)
    }

    fn queue(&mut self, segment: &Segment, payload: u32, now: Time) {
        let memory = room::memory_of(segment.size);
        let stored = Stored { payload, memory, fin: segment.role == Role::Fin };
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
        self.reader.queue(stored);
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
        // What waits to be merged tells of the blocks as they stood when it came, if more than two of them do.
        if !is_first && self.late.place(seq) >= 2 && self.compressed.as_ref().is_some_and(Compressed::is_waiting) {
            self.send(Role::Plain, now);
            self.acks.schedule();
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

    /// Acknowledges what waits, now or later.
    fn consider(&mut self, now: Time) {
        if !self.acks.is_waiting() {
            return;
        }
        if self.has_two() && (self.reader.is_idle() || self.keeps_window()) || self.acks.is_urgent() {
            self.send(Role::Plain, now);
        } else if self.late.is_empty() {
            if self.acks.plan(now) == Due::Now {
                self.send(Role::Plain, now);
            }
        } else if self.passes(now) {
            self.send(Role::Plain, now);
        }
    }

    /// Whether more than a full segment is to be acknowledged.
    fn has_two(&self) -> bool {
        self.bytes - self.acked_bytes > u64::from(self.acks.segment())
    }

    /// Whether as much could be advertised as was last.
    fn keeps_window(&mut self) -> bool {
        let Some(room) = &self.room else { return true };
        let choice = room.choose(self.acks.segment());
        if choice.is_low {
            self.acks.slow_down();
        }
        choice.bytes >= room.window()
    }

    /// Whether the acknowledgement of a segment beyond a gap goes at once.
    fn passes(&mut self, now: Time) -> bool {
        let rtt = self.opening.rtt().map_or(self.trips.estimate(), |rtt| rtt.min(self.trips.estimate()));
        let Some(compressed) = self.compressed.as_mut().filter(|_| self.late.reports()) else { return true };
        if !compressed.is_waiting() {
            self.acks.forget_past(now);
        }
        compressed.passes(self.next, rtt, now)
    }

    /// The application reads what is there, a piece at a time, and closes when it has read to the end.
    fn read(&mut self, now: Time) {
        while let Some(copied) = self.reader.read(self.room.as_mut(), self.trips.estimate(), now) {
            self.read_was(copied, now);
        }
        if self.ended {
            self.reader.meet_end(now);
        }
    }

    /// A piece was read: does that ask for an acknowledgement?
    fn read_was(&mut self, copied: u64, now: Time) {
        let unused = self.room.as_ref().is_none_or(Room::is_unused) && self.late.is_empty();
        let owes = self.acks.is_waiting() && (self.has_two() || copied > 0 && unused && self.acks.owes_end_of_write());
        if owes || copied > 0 && !self.ended && self.has_opened() {
            self.send(Role::Plain, now);
        }
    }

    fn has_opened(&mut self) -> bool {
        let segment = self.acks.segment();
        let Some(room) = &self.room else { return false };
        let left = room.left(self.bytes);
        let Some(choice) = room.choose_after_reading(left, segment) else { return false };
        if choice.is_low {
            self.acks.slow_down();
        }
        choice.bytes > 0 && choice.bytes >= 2 * left
    }

    /// What an acknowledgement says now, of all before `next`.
    fn make(&mut self, role: Role, next: u64, now: Time) -> Ack {
        let EchoBits { cwr, ece } = self.marks.show();
        let (echo, echo_retransmission) = self.echo;
        let sacks = self.late.show();
        let blocks = sacks.as_slice().len() as u32;
        let size = if blocks > 0 { self.ack_size + self.sack_option + BLOCK_SIZE * blocks } else { self.ack_size };
        let window = self.advertise();
        (self.acked, self.acked_bytes) = (self.next, self.bytes);
        if let Some(compressed) = &mut self.compressed {
            compressed.sent();
        }
        self.trips.sent(self.stamp, now);
        Ack { next, size, role, ece, cwr, echo, echo_retransmission, window, sacks }
    }

    fn advertise(&mut self) -> u32 {
        let Some(room) = &mut self.room else { return Ack::ANY };
        let (window, is_low) = room.advertise(self.bytes, self.acks.segment());
        if is_low {
            self.acks.slow_down();
        }
        window
    }

    fn send(&mut self, role: Role, now: Time) {
        let ack = self.make(role, self.next, now);
        self.acks.sent();
        self.out.push(ack);
    }

    /// The acknowledgement of what waits when DCTCP's state changes, in the state before (RFC 8257, section 3.2).
    fn send_before_change(&mut self, now: Time) {
        let ack = self.make(Role::Plain, self.before, now);
        self.out.push(ack);
    }

    /// The acknowledgement that rides on data that goes out now.
    pub fn ride(&mut self, now: Time) -> Ack {
        self.stamp = now;
        let ack = self.make(Role::Plain, self.next, now);
        self.acks.sent();
        self.acks.sent_data(now);
        ack
    }

    /// When the receiver is to be woken.
    pub fn deadline(&self) -> Option<Time> {
        if !self.out.is_empty() {
            return Some(self.now);
        }
        let compressed = self.compressed.as_ref();
        let timers = earlier(self.acks.deadline(compressed.is_some_and(Compressed::is_waiting)), compressed.and_then(Compressed::deadline));
        earlier(timers, earlier(self.opening.deadline(), self.reader.deadline()))
    }

    /// The deadline has come.
    pub fn expire(&mut self, now: Time) -> Option<Ack> {
        self.now = now;
        if self.out.is_empty() {
            self.wake(now);
        }
        (!self.out.is_empty()).then(|| self.out.remove(0))
    }

    fn wake(&mut self, now: Time) {
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let compressed = self.compressed.as_ref();
        let (merged, merges) = (compressed.and_then(Compressed::deadline), compressed.is_some_and(Compressed::is_waiting));
        if is_due(merged) {
            self.send(Role::Plain, now);
            return;
        }
        self.stamp = now;
        if is_due(self.opening.deadline()) {
            self.reply_again(now);
        } else if is_due(self.acks.deadline(merges)) {
            if self.acks.expire() || merges {
                self.send(Role::Plain, now);
            }
        } else if is_due(self.reader.deadline()) {
            match self.reader.wake(now) {
                Wake::Closes => self.close(now),
                Wake::Stops => {}
                Wake::Reads => self.read(now),
            }
        }
    }

    fn reply_again(&mut self, now: Time) {
        match self.opening.expire(now) {
            Some(Role::Syn) => self.send_syn_ack(now),
            Some(role) => self.send(role, now),
            None => {}
        }
    }

    fn close(&mut self, now: Time) {
        self.opening.close(now);
        self.send(Role::Fin, now);
    }

    /// The application reads no more.
    pub fn stop_reading(&mut self) {
        self.reader.stop();
    }

    /// The application reads again what has come meanwhile, and goes on.
    pub fn read_again(&mut self, now: Time) -> Option<Ack> {
        self.reader.resume();
        self.read(now);
        self.expire(now)
    }
}
