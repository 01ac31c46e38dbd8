//! The Linux receiver, for `delayed_ack_rule = "quickack"`. The contents of an ACK are those of its transmission time.
//!
//! ```text
//!                         segment
//!                            |
//!     syn_fin_replies        SYN: SYN-ACK
//!                            |
//!     data_queue             stored or dropped; updates marks (ecn), gaps (ofo_queue), the buffer (rcvbuf), the RTT (rcv_rtt)
//!                            |
//!     quickack, comp_sack    acknowledged now, by a timer, or merged with others
//!                            |
//!     app_reader, autotune   the application reads: the buffer empties and grows, window updates are sent; at the end it closes
//! ```
//!
//! Positions in the data are in bytes from the first byte on, with one for the FIN; segments are identified by number.

mod app_reader;
mod autotune;
mod comp_sack;
mod data_queue;
mod ecn;

mod ofo_queue;
mod quickack;
mod rcv_rtt;
pub(super) mod rcvbuf;
mod syn_fin_replies;

use ecnlab_units::{Ecn, Span, Time};

use self::app_reader::{AppReader, ReaderStateChange};
use self::comp_sack::CompressedSacks;
use self::ecn::LinuxEcnEcho;
use self::ofo_queue::OfoQueue;
use self::quickack::{AckDue, AckScheduler};
use self::rcv_rtt::RcvRttEstimator;
use self::rcvbuf::ReceiveBuffer;
use self::syn_fin_replies::LinuxSynFinReplies;
use super::accurate_ecn::AccurateReceiver;
use super::{ReceiveOutcome, SACK_BLOCK_BYTES, ecn_echo::EceCwrBits};
use crate::accurate_ecn as accurate_codes;
use crate::clock::HostClock;
use crate::memory;
use crate::segment::{AccEcnOption, Ack, Segment, SegmentType};
use crate::settings::{EchoStyle, EcnResponseName, Handshake, PADDED_ACCECN_OPTION_BYTES, TcpSettings};
use crate::timer::earlier_deadline;

/// Minimum interval between ACKs of invalid segments without data (RFC 5961, section 7; ip-sysctl tcp_invalid_ratelimit).
const INVALID_ACK_RATELIMIT: Span = Span::from_millis(500);

#[derive(Debug)]
pub struct LinuxReceiver {
    /// Next expected segment, and the number of bytes received before it.
    rcv_nxt: u64,
    received_bytes: u64,
    /// The same as of the last ACK.
    rcv_wup: u64,
    acked_bytes: u64,
    /// Next expected segment before the last ECN-capable one, which DCTCP's receiver acknowledges when its CE state changes.
    rcv_nxt_before_ce: u64,
    /// TS.Recent: a send time, and whether that segment was a retransmission.
    ts_recent: (Time, bool),
    ack_scheduler: AckScheduler,
    compressed_sacks: Option<CompressedSacks>,
    ofo_queue: OfoQueue,
    ecn_echo: LinuxEcnEcho,
    /// Present once Accurate ECN is negotiated.
    accurate: Option<Box<AccurateReceiver>>,
    syn_fin_replies: LinuxSynFinReplies,
    receive_buffer: Option<ReceiveBuffer>,
    rcv_rtt: RcvRttEstimator,
    app_reader: AppReader,
    clock: HostClock,
    is_open: bool,
    three_way: bool,
    /// The FIN has arrived.
    fin_received: bool,
    /// Its own FIN is acknowledged too: the connection is closed, and later segments get no reply.
    is_closed: bool,
    /// Tick of the last ACK of an invalid segment.
    last_invalid_ack_tick: Option<u64>,
    quick_acks: u32,
    timestamps: bool,
    starts_in_pingpong: bool,
    accepts_ecn: bool,
    /// Settings of a host that agrees to Accurate ECN.
    accurate_settings: Option<Box<TcpSettings>>,
    needs_ecn: bool,
    /// ECN codepoint of ACKs if ECN was negotiated, and of ECN-capable packets.
    ack_codepoint: Ecn,
    /// The same without Accurate ECN.
    classic_ack_codepoint: Ecn,
    ect: Ecn,
    ack_size: u32,
    sack_option: u32,
    header: u32,
    /// ACKs to send at the time of the last call.
    pending_acks: Vec<Ack>,
    now: Time,
    /// Time base of timestamps: a compressed ACK carries the time of the last arrival.
    timestamp: Time,
}

impl LinuxReceiver {
    /// Takes the memory of the receiver of a connection that is over.
    pub fn reuse_memory_of(&mut self, past: &mut LinuxReceiver) {
        self.rcv_rtt.reuse_memory_of(&mut past.rcv_rtt);
        self.app_reader.reuse_memory_of(&mut past.app_reader);
        memory::take_vec_allocation(&mut self.pending_acks, &mut past.pending_acks);
    }

    pub fn new(settings: &TcpSettings, clock: HostClock) -> LinuxReceiver {
        LinuxReceiver {
            rcv_nxt: 0,
            received_bytes: 0,
            rcv_wup: 0,
            acked_bytes: 0,
            rcv_nxt_before_ce: 0,
            ts_recent: (Time::ZERO, false),
            ack_scheduler: AckScheduler::new(settings, clock),
            compressed_sacks: settings.quirks.comp_sack.then(CompressedSacks::default),
            ofo_queue: OfoQueue::new(settings.max_reported_sack_blocks(), settings.quirks.dsack),
            ecn_echo: LinuxEcnEcho::new(settings),
            accurate: None,
            accurate_settings: (settings.wants_accurate_ecn() && settings.quirks.receiver_accurate_ecn).then(|| Box::new(settings.clone())),
            syn_fin_replies: LinuxSynFinReplies::new(settings, clock),
            receive_buffer: ReceiveBuffer::new(settings),
            rcv_rtt: RcvRttEstimator::new(settings, clock),
            app_reader: AppReader::new(settings),
            clock,
            is_open: false,
            three_way: settings.handshake == Handshake::ThreeWay,
            fin_received: false,
            is_closed: false,
            last_invalid_ack_tick: None,
            quick_acks: settings.quirks.max_quickacks as u32,
            timestamps: settings.timestamps,
            starts_in_pingpong: settings.quirks.pingpong,
            accepts_ecn: settings.quirks.receiver_ecn,
            needs_ecn: settings.ecn_echo == EchoStyle::Dctcp || settings.ecn_response == EcnResponseName::Dctcp,
            ack_codepoint: if settings.uses_ect_on_all_packets() { settings.ect_codepoint.ecn() } else { Ecn::NotEct },
            classic_ack_codepoint: if settings.uses_classic_ect_on_all_packets() { settings.ect_codepoint.ecn() } else { Ecn::NotEct },
            ect: settings.ect_codepoint.ecn(),
            ack_size: settings.quirks.ack_size,
            sack_option: settings.quirks.sack_option_size,
            header: settings.quirks.header_size,
            pending_acks: Vec::new(),
            now: Time::ZERO,
            timestamp: Time::ZERO,
        }
    }

    /// Next expected segment; all before it have arrived.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Next expected segment of the last ACK.
    pub fn last_acknowledged(&self) -> u64 {
        self.rcv_wup
    }

    /// Number of out-of-order segments in the queue.
    pub fn out_of_order_segments(&self) -> u64 {
        self.ofo_queue.len()
    }

    /// Processes a segment that was sent at `sent`.
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> ReceiveOutcome {
        let before = self.rcv_nxt;
        (self.now, self.timestamp) = (now, now);
        if self.is_closed {
            return self.take_outcome(0);
        }
        if segment.segment_type == SegmentType::Syn {
            self.on_syn(segment, sent, now);
        } else {
            self.on_non_syn_segment(segment, sent, now);
        }
        self.take_outcome(self.rcv_nxt - before)
    }

    fn on_non_syn_segment(&mut self, segment: &Segment, sent: Time, now: Time) {
        let opens = !self.is_open;
        if opens {
            self.on_open(sent, now);
        }
        // An application that replies does so after it has accepted the connection, so not to the segment that opens it.
        let answers = opens && self.starts_in_pingpong;
        if answers && segment.segment_type == SegmentType::PureAck {
            self.ack_scheduler.enter_pingpong_mode();
        }
        if segment.segment_type == SegmentType::PureAck {
            self.on_pure_ack(segment, sent, now);
        } else {
            self.on_data(segment, sent, now);
        }
        if answers {
            self.ack_scheduler.enter_pingpong_mode();
        }
    }

    /// ACKs to send now: up to two with the arrival, and any others by a deadline of now.
    fn take_outcome(&mut self, delivered: u64) -> ReceiveOutcome {
        let count = self.pending_acks.len().min(2);
        let mut first = self.pending_acks.drain(..count);
        let (one, other) = (first.next(), first.next());
        match other {
            Some(ack) => ReceiveOutcome { delivered, earlier_ack: one.map(Box::new), ack: Some(ack) },
            None => ReceiveOutcome { delivered, earlier_ack: None, ack: one },
        }
    }

    /// Sends the SYN-ACK. It accepts ECN by ECE without CWR, if both bits offered it on a packet that is not ECN-capable (RFC 3168, section
    /// 6.1.1). DCTCP's SYN may be ECN-capable.
    fn on_syn(&mut self, segment: &Segment, sent: Time, now: Time) {
        if self.is_open {
            self.ack_invalid_segment(now);
            return;
        }
        if self.rcv_nxt == 0 {
            self.app_reader.schedule_pause(sent, now);
            let offered = segment.ece && segment.cwr && (segment.ecn == Ecn::NotEct || self.needs_ecn || segment.ae);
            if self.three_way {
                let settings =
                    self.accurate_settings.as_ref().filter(|_| self.accepts_ecn && accurate_codes::asks_for_accurate(segment.ace()));
                self.accurate = settings.map(|settings| Box::new(AccurateReceiver::new(settings, segment, self.ack_codepoint)));
                self.ecn_echo.set_accurate_negotiated(self.accurate.is_some());
                self.ecn_echo.set_negotiated(self.accurate.is_some() || offered && self.accepts_ecn);
            }
            (self.rcv_nxt, self.rcv_wup, self.rcv_nxt_before_ce) = (1, 1, 1);
            self.ts_recent = (sent, segment.retransmission);
        } else if self.is_ratelimited(now) {
            return;
        } else if let Some(accurate) = &mut self.accurate {
            accurate.on_repeated_syn(segment);
        }
        if self.three_way {
            self.syn_fin_replies.on_syn_ack_sent(now);
            self.send_syn_ack(now);
        } else {
            self.on_open(sent, now);
            self.ecn_echo.on_ecn_field(segment);
            self.send_ack(SegmentType::Plain, now);
        }
    }

    fn send_syn_ack(&mut self, now: Time) {
        let (echo, echo_retransmission) = self.ts_recent;
        let window = self.receive_buffer.as_ref().map_or(Ack::WINDOW_UNLIMITED, ReceiveBuffer::syn_ack_window);
        let ece = self.ecn_echo.is_negotiated();
        self.rcv_rtt.on_ack_sent(self.timestamp, now);
        let mut ack = Ack {
            segment_type: SegmentType::Syn,
            ece,
            echo,
            echo_retransmission,
            window,
            // A host that requires ECN is ECN-capable even if it was not negotiated (Linux tcp_set_congestion_control).
            ecn: match &self.accurate {
                Some(_) => self.ack_codepoint,
                None if self.accepts_ecn => self.classic_ack_codepoint,
                None => Ecn::NotEct,
            },
            tsval_ms: self.tsval_ms(),
            ..Ack::plain(1, self.ack_size)
        };
        if let Some(accurate) = &self.accurate {
            accurate.complete_syn_ack(&mut ack);
        }
        self.pending_acks.push(ack);
    }

    /// Timestamp of an ACK, which only readers of ACE need.
    fn tsval_ms(&self) -> u32 {
        match self.accurate.is_some() {
            false => 0,
            true if self.timestamps => self.clock.millis(self.timestamp) as u32 + 1,
            true => 1,
        }
    }

    /// Whether a segment has a later timestamp than all before (Linux FLAG_TS_PROGRESS).
    fn has_newer_timestamp(&self, segment: &Segment, sent: Time) -> bool {
        self.timestamps && segment.seq <= self.rcv_wup && self.clock.millis(sent) > self.clock.millis(self.ts_recent.0)
    }

    /// Counts the ECN field of an acceptable segment with Accurate ECN. `is_newer`: it has a later timestamp than all before.
    fn count_ecn(&mut self, segment: &Segment, payload: u32, is_newer: bool) {
        if let Some(accurate) = &mut self.accurate
            && accurate.on_segment(segment, payload, is_newer)
        {
            self.ack_scheduler.set_ack_now();
        }
    }

    /// Processes the ECN field of a packet without data of the other direction.
    pub fn count_pure_ack_ecn(&mut self, ecn: Ecn) {
        if let Some(accurate) = &mut self.accurate
            && accurate.on_ack_ecn(ecn)
        {
            self.ack_scheduler.set_ack_now();
        }
    }

    /// Whether ECN was negotiated in any form.
    pub fn uses_ecn(&self) -> bool {
        self.ecn_echo.is_negotiated()
    }

    /// Counters of Accurate ECN, if it was negotiated.
    pub fn accurate(&self) -> Option<&AccurateReceiver> {
        self.accurate.as_deref()
    }

    pub fn accurate_mut(&mut self) -> Option<&mut AccurateReceiver> {
        self.accurate.as_deref_mut()
    }

    /// Takes up the other direction of an open connection with Accurate ECN.
    pub fn set_accurate(&mut self, accurate: AccurateReceiver) {
        self.ecn_echo.set_accurate_negotiated(true);
        self.ecn_echo.set_negotiated(true);
        self.accurate = Some(Box::new(accurate));
    }

    fn on_open(&mut self, sent: Time, now: Time) {
        self.is_open = true;
        let rtt = self.syn_fin_replies.on_handshake_done(self.timestamps, now);
        if let Some((accurate, rtt)) = self.accurate.as_mut().zip(rtt) {
            accurate.set_handshake_rtt(rtt);
        }
        self.rcv_rtt.measure_reverse_delay(sent);
        if let Some(room) = &mut self.receive_buffer {
            room.on_open(self.received_bytes);
        }
        self.ack_scheduler.on_open(rtt, self.syn_fin_replies.rto_from_handshake_rtt(), self.last_advertised_window(), now);
        self.app_reader.on_open(self.receive_buffer.as_ref(), self.received_bytes, now);
        self.rcv_nxt_before_ce = self.rcv_nxt;
        self.last_invalid_ack_tick = None;
        if !self.three_way {
            // The handshake belongs to the other direction, whose timestamps count. The best approximation in this direction is the
            // timestamp of its first segment, even if that is not the expected one.
            self.ts_recent = (sent, false);
        }
    }

    /// Processes a pure ACK, which may acknowledge the FIN. One below the acknowledged data, such as a zero-window probe, is acknowledged.
    fn on_pure_ack(&mut self, segment: &Segment, sent: Time, now: Time) {
        if segment.seq < self.rcv_wup {
            self.ack_invalid_segment(now);
            return;
        }
        self.count_ecn(segment, 0, self.has_newer_timestamp(segment, sent));
        self.update_ts_recent(segment, sent);
        if self.app_reader.has_closed() {
            self.syn_fin_replies.on_reply_acked();
            self.is_closed = true;
        }
    }

    fn is_ratelimited(&mut self, now: Time) -> bool {
        let tick = self.clock.ticks(now);
        let too_soon = self.last_invalid_ack_tick.is_some_and(|last| tick - last < self.clock.ticks_in_span(INVALID_ACK_RATELIMIT));
        if !too_soon {
            self.last_invalid_ack_tick = Some(tick);
        }
        too_soon
    }

    fn ack_invalid_segment(&mut self, now: Time) {
        if !self.is_ratelimited(now) {
            self.send_ack(SegmentType::Plain, now);
        }
    }

    /// Sends the ACK now, or schedules it.
    fn send_or_schedule_ack(&mut self, now: Time) {
        if !self.ack_scheduler.is_ack_scheduled() {
            return;
        }
        //= RFC 5681, section 4.2; RFC 9293, section 3.8.6.3: an ACK for every second segment, within the delay
        if self.has_more_than_full_segment() && (self.app_reader.has_nothing_to_read() || self.can_keep_window())
            || self.ack_scheduler.must_ack_now()
        {
            self.send_ack(SegmentType::Plain, now);
        } else if self.ofo_queue.is_empty() {
            if self.ack_scheduler.plan_delayed_ack(now) == AckDue::Now {
                self.send_ack(SegmentType::Plain, now);
            }
        } else if self.may_send_sack_now(now) {
            self.send_ack(SegmentType::Plain, now);
        }
    }

    /// Whether more than a full segment is unacknowledged.
    fn has_more_than_full_segment(&self) -> bool {
        self.received_bytes - self.acked_bytes > u64::from(self.ack_scheduler.rcv_mss())
    }

    /// Whether the window could stay as large as last advertised.
    fn can_keep_window(&mut self) -> bool {
        let Some(room) = &self.receive_buffer else { return true };
        let choice = room.choose_window(self.ack_scheduler.rcv_mss());
        if choice.is_space_low {
            self.ack_scheduler.clear_quick_acks();
        }
        choice.bytes >= room.last_window()
    }

    /// Whether the ACK of a segment beyond a gap is sent at once.
    fn may_send_sack_now(&mut self, now: Time) -> bool {
        let rtt = self.syn_fin_replies.handshake_rtt().map_or(self.rcv_rtt.srtt(), |rtt| rtt.min(self.rcv_rtt.srtt()));
        let Some(compressed) = self.compressed_sacks.as_mut().filter(|_| self.ofo_queue.is_sack_enabled()) else { return true };
        if !compressed.is_pending() {
            self.ack_scheduler.drop_past_timer(now);
        }
        compressed.on_ack_beyond_gap(self.rcv_nxt, rtt, now)
    }

    /// Lets the application read the available data piece by piece, and close when it has read to the end.
    fn run_reader(&mut self, now: Time) {
        while let Some(copied) = self.app_reader.read_chunk(self.receive_buffer.as_mut(), self.rcv_rtt.srtt(), now) {
            self.send_ack_after_read(copied, now);
        }
        if self.fin_received {
            self.app_reader.on_fin(now);
        }
    }

    /// Sends an ACK after a read if necessary (Linux tcp_cleanup_rbuf).
    fn send_ack_after_read(&mut self, copied: u64, now: Time) {
        let unused = self.receive_buffer.as_ref().is_none_or(ReceiveBuffer::is_empty) && self.ofo_queue.is_empty();
        let owes = self.ack_scheduler.is_ack_scheduled()
            && (self.has_more_than_full_segment() || copied > 0 && unused && self.ack_scheduler.must_ack_end_of_write());
        if owes || copied > 0 && !self.fin_received && self.has_window_opened() {
            self.send_ack(SegmentType::Plain, now);
        }
    }

    fn has_window_opened(&mut self) -> bool {
        let segment = self.ack_scheduler.rcv_mss();
        let Some(room) = &self.receive_buffer else { return false };
        let left = room.receive_window(self.received_bytes);
        let Some(choice) = room.choose_window_after_read(left, segment) else { return false };
        if choice.is_space_low {
            self.ack_scheduler.clear_quick_acks();
        }
        choice.bytes > 0 && choice.bytes >= 2 * left
    }

    /// Builds an ACK of all segments before `next` with the current state.
    fn make_ack(&mut self, segment_type: SegmentType, next: u64, now: Time) -> Ack {
        let EceCwrBits { cwr, ece } = self.ecn_echo.take_echo_bits();
        let (echo, echo_retransmission) = self.ts_recent;
        let has_dsack = self.accurate.is_some() && self.ofo_queue.has_dsack();
        let sacks = self.ofo_queue.take_sack_blocks();
        let blocks = sacks.as_slice().len() as u32;
        let size = if blocks > 0 { self.ack_size + self.sack_option + SACK_BLOCK_BYTES * blocks } else { self.ack_size };
        let window = self.select_window();
        (self.rcv_wup, self.acked_bytes) = (self.rcv_nxt, self.received_bytes);
        if let Some(compressed) = &mut self.compressed_sacks {
            compressed.on_ack_sent();
        }
        self.rcv_rtt.on_ack_sent(self.timestamp, now);
        let mut ack = Ack {
            next,
            size,
            segment_type,
            ece,
            cwr,
            echo,
            echo_retransmission,
            window,
            ecn: self.ack_ecn(),
            on_data: false,
            ae: false,
            tsval_ms: self.tsval_ms(),
            accecn: AccEcnOption::default(),
            sacks,
        };
        if let Some(accurate) = &mut self.accurate {
            accurate.complete_ack(&mut ack, self.ack_size, has_dsack, self.clock.micros(self.timestamp));
        }
        ack
    }

    fn ack_ecn(&self) -> Ecn {
        if let Some(accurate) = &self.accurate {
            return accurate.codepoint(self.ect);
        }
        if self.ecn_echo.is_negotiated() { self.classic_ack_codepoint } else { Ecn::NotEct }
    }

    fn select_window(&mut self) -> u32 {
        let Some(room) = &mut self.receive_buffer else { return Ack::WINDOW_UNLIMITED };
        let (window, is_low) = room.select_window(self.received_bytes, self.ack_scheduler.rcv_mss());
        if is_low {
            self.ack_scheduler.clear_quick_acks();
        }
        window
    }

    fn send_ack(&mut self, segment_type: SegmentType, now: Time) {
        let ack = self.make_ack(segment_type, self.rcv_nxt, now);
        self.ack_scheduler.on_ack_sent();
        self.pending_acks.push(ack);
    }

    /// Acknowledges the delayed segments before DCTCP's CE state changes, in the state before (RFC 8257, section 3.2).
    fn send_ack_before_ce_change(&mut self, now: Time) {
        let ack = self.make_ack(SegmentType::Plain, self.rcv_nxt_before_ce, now);
        self.pending_acks.push(ack);
    }

    /// ACK to piggyback on data that is sent now.
    pub fn piggybacked_ack(&mut self, now: Time) -> Ack {
        self.timestamp = now;
        let ack = self.make_ack(SegmentType::Plain, self.rcv_nxt, now);
        self.ack_scheduler.on_ack_sent();
        self.ack_scheduler.on_data_sent(now);
        ack
    }

    /// Deadline of the receiver's timers.
    pub fn deadline(&self) -> Option<Time> {
        if !self.pending_acks.is_empty() {
            return Some(self.now);
        }
        let compressed = self.compressed_sacks.as_ref();
        let timers = earlier_deadline(
            self.ack_scheduler.deadline(compressed.is_some_and(CompressedSacks::is_pending)),
            compressed.and_then(CompressedSacks::deadline),
        );
        earlier_deadline(timers, earlier_deadline(self.syn_fin_replies.deadline(), self.app_reader.pause_or_close_deadline()))
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        self.now = now;
        if self.pending_acks.is_empty() {
            self.run_first_due_timer(now);
        }
        (!self.pending_acks.is_empty()).then(|| self.pending_acks.remove(0))
    }

    fn run_first_due_timer(&mut self, now: Time) {
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let compressed = self.compressed_sacks.as_ref();
        let (merged, merges) = (compressed.and_then(CompressedSacks::deadline), compressed.is_some_and(CompressedSacks::is_pending));
        if is_due(merged) {
            self.send_ack(SegmentType::Plain, now);
            return;
        }
        self.timestamp = now;
        if is_due(self.syn_fin_replies.deadline()) {
            self.retransmit_reply(now);
        } else if is_due(self.ack_scheduler.deadline(merges)) {
            if self.ack_scheduler.on_timer() || merges {
                self.send_ack(SegmentType::Plain, now);
            }
        } else if is_due(self.app_reader.pause_or_close_deadline()) {
            match self.app_reader.on_timer(now) {
                ReaderStateChange::Close => self.send_fin(now),
                ReaderStateChange::Stop => {}
                ReaderStateChange::Resume => self.run_reader(now),
            }
        }
    }

    fn retransmit_reply(&mut self, now: Time) {
        match self.syn_fin_replies.on_timer(now) {
            Some(SegmentType::Syn) => {
                if let Some(accurate) = &mut self.accurate {
                    accurate.record_syn_ack_timeout();
                }
                self.send_syn_ack(now);
            }
            Some(segment_type) => self.send_ack(segment_type, now),
            None => {}
        }
    }

    fn send_fin(&mut self, now: Time) {
        self.syn_fin_replies.on_fin_sent(now);
        self.send_ack(SegmentType::Fin, now);
    }

    /// Suppresses the close at the end of the received data: the application closes when it has sent all of its own.
    pub fn suppress_close_on_fin(&mut self) {
        self.app_reader.suppress_close();
    }

    /// Stops reading by the application.
    pub fn stop_reading(&mut self) {
        self.app_reader.stop();
    }

    /// Resumes reading, starting with the buffered data.
    pub fn resume_reading(&mut self, now: Time) -> Option<Ack> {
        self.app_reader.resume();
        self.run_reader(now);
        self.on_timer(now)
    }
}
