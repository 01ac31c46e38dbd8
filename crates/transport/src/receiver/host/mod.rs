//! A receiver as a host's stack has it, where `delayed_ack_rule` is `quick`: what an acknowledgement says is what stands when it goes.
//!
//! ```text
//!                         segment
//!                            |
//!     opening                SYN: SYN-ACK
//!                            |
//!     intake                 stored or dropped; what it says of marks (marks), gaps (late), the buffer (room), the round trip (trips)
//!                            |
//!     quick, compressed      acknowledged now, by a timer, or merged with others
//!                            |
//!     reader, autotune       the application reads: the buffer empties, grows, and a window that opens is told; at the end it closes
//! ```
//!
//! Positions in the data are in bytes from the first byte on, with one for the FIN; segments are known by number.

mod autotune;
mod compressed;
mod intake;
mod late;
mod marks;
mod opening;
mod quick;
mod reader;
pub(super) mod room;
mod trips;

use ecnlab_units::{Ecn, Span, Time};

use self::compressed::Compressed;
use self::late::Late;
use self::marks::Marks;
use self::opening::Opening;
use self::quick::{Due, QuickAcks};
use self::reader::{Reader, Wake};
use self::room::Room;
use self::trips::RoundTrips;
use super::{Arrival, BLOCK_SIZE, echo::EchoBits};
use crate::clock::HostClock;
use crate::segment::{Ack, Role, Segment};
use crate::settings::{EchoStyle, Handshake, Settings};
use crate::timer::earlier;

/// Packets without data that are out of place are answered at most so often (RFC 5961, section 7; ip-sysctl tcp_invalid_ratelimit).
const BETWEEN_ANSWERS: Span = Span::from_millis(500);

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
    /// Its own FIN is acknowledged too: the connection is no more, and what still comes is left unanswered.
    is_gone: bool,
    /// When a packet that was out of place was answered last.
    answered: Option<u64>,
    quick_acks: u32,
    timestamps: bool,
    answers_from_start: bool,
    agrees_to_ecn: bool,
    needs_ecn: bool,
    /// Of acknowledgements, where ECN is agreed upon.
    capable: Ecn,
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
            is_gone: false,
            answered: None,
            quick_acks: settings.quick_acks as u32,
            timestamps: settings.timestamps,
            answers_from_start: settings.interactive,
            agrees_to_ecn: settings.receiver_ecn,
            needs_ecn: settings.ecn_echo == EchoStyle::Dctcp,
            capable: if settings.ect_on_all() { settings.codepoint.ecn() } else { Ecn::NotEct },
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
        if self.is_gone {
            return self.arrival(0);
        }
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
            self.reader.start(sent, now);
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
        self.out.push(Ack {
            role: Role::Syn,
            ece,
            echo,
            echo_retransmission,
            window,
            // A host that needs ECN says so also where it has not been agreed upon (Linux tcp_set_congestion_control).
            ecn: if self.agrees_to_ecn { self.capable } else { self.codepoint() },
            ..Ack::plain(1, self.ack_size)
        });
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
        self.answered = None;
        if !self.three_way {
            // What opened the connection went the other way, and its times count; the nearest that this direction has is of its first segment,
            // also when that is not the one expected.
            self.echo = (sent, false);
        }
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
            self.is_gone = true;
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
        Ack { next, size, role, ece, cwr, echo, echo_retransmission, window, ecn: self.codepoint(), on_data: false, sacks }
    }

    fn codepoint(&self) -> Ecn {
        if self.marks.is_agreed() { self.capable } else { Ecn::NotEct }
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

    /// The application closes when it has sent what it has to send, and not when it has read to the end.
    pub fn leave_closing(&mut self) {
        self.reader.leave_closing();
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
