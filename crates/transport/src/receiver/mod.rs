//! TCP receiver: stores segments and decides when to acknowledge them. `ecn_echo` echoes marks, `syn_fin_replies` replies to SYN and FIN.
//! `linux` is the receiver of Linux, with its receive buffer and quick ACKs.

pub(crate) mod accurate_ecn;
mod delayed_ack;
mod ecn_echo;
mod linux;
mod recent_sack_blocks;
mod syn_fin_replies;

use ecnlab_units::{Ecn, RangeSet, Time};

pub use self::accurate_ecn::AccurateReceiver;
use self::delayed_ack::AckDelay;
use self::ecn_echo::{EceCwrBits, EcnEcho};
use self::linux::LinuxReceiver;
use self::recent_sack_blocks::RecentSackBlocks;
use self::syn_fin_replies::SynFinReplies;
use crate::accurate_ecn as accurate_codes;
use crate::clock::HostClock;
use crate::segment::{AccEcnOption, Ack, Segment, SegmentType};
use crate::settings::{AckDelayRule, Handshake, PADDED_ACCECN_OPTION_BYTES, TcpSettings};
use crate::timer::earlier_deadline;

/// Size of a SACK block in bytes (RFC 2018, section 3).
const SACK_BLOCK_BYTES: u32 = 8;

/// Receiving end of a TCP connection. The fields that each segment reads come first. State that most receivers do not have is boxed.
#[derive(Debug)]
#[repr(C)]
pub struct Receiver {
    /// Next expected segment; all before it have arrived.
    rcv_nxt: u64,
    /// The Linux receiver, which replaces all of the following.
    linux: Option<Box<LinuxReceiver>>,
    /// Present with a three-way handshake.
    syn_fin_replies: Option<Box<SynFinReplies>>,
    ack_size: u32,
    ecn_echo: EcnEcho,
    /// A delayed ACK echoes the timestamp of the earlier segment (RFC 7323, section 4.3).
    echo_earliest_timestamp: bool,
    /// Duplicate segments are reported by DSACK (RFC 2883).
    reports_dsack: bool,
    /// The ACK of a duplicate segment may be delayed like that of a new one, as in ns-2.
    delays_duplicates: bool,
    /// No ACK is delayed and there is no handshake: the receiver needs no timer.
    never_delays: bool,
    /// Neither are there Accurate ECN and piggybacked ACKs.
    is_plain: bool,
    accepts_ecn: bool,
    /// Accurate ECN, offered or negotiated.
    accurate: Option<Box<AccurateState>>,
    /// Present if ACKs may be delayed.
    delays: Option<Box<AckDelays>>,
    /// Segments beyond `rcv_nxt` that have arrived.
    out_of_order: RangeSet,
    /// Present if SACK blocks are reported.
    sack: Option<Box<SackReports>>,
    /// Present if ACKs may be piggybacked on data of the reverse direction.
    last_echo: Option<Box<EchoedTimestamp>>,
}

/// Delay of the ACKs of a receiver.
#[derive(Debug)]
struct AckDelays {
    rule: AckDelay,
    pending: Option<DelayedAck>,
    /// Segments before this one are acknowledged at once.
    quick_acks: u64,
}

/// SACK blocks of a receiver, and the bytes of a SACK option without its blocks.
#[derive(Debug)]
struct SackReports {
    recent_blocks: RecentSackBlocks,
    option_bytes: u32,
}

/// Echoed timestamp of the last ACK: a send time, and whether that segment was a retransmission.
#[derive(Clone, Copy, Debug)]
struct EchoedTimestamp {
    sent: Time,
    is_retransmission: bool,
}

/// Accurate ECN of a receiver without Linux' rules.
#[derive(Debug)]
struct AccurateState {
    settings: TcpSettings,
    clock: HostClock,
    /// Present once it is negotiated.
    counters: Option<AccurateReceiver>,
    newest_sent_ms: u64,
    header: u32,
    /// Time of the only SYN-ACK, until it is answered.
    syn_ack_sent_at: Option<Time>,
}

/// A segment whose ACK is delayed.
#[derive(Clone, Copy, Debug)]
struct DelayedAck {
    segment: Segment,
    sent: Time,
    deadline: Time,
}

/// Window of a receiver's SYN or SYN-ACK in bytes, and the window scale of all later segments (RFC 7323, section 2). None if no window is
/// advertised.
pub fn syn_window_and_scale(settings: &TcpSettings) -> Option<(u32, u32)> {
    linux::rcvbuf::ReceiveBuffer::new(settings).map(|buffer| (buffer.syn_ack_window(), buffer.window_scale()))
}

const _: () = assert!(size_of::<ReceiveOutcome>() <= 128, "a larger value is copied by a call, for each segment");

/// Result of an arriving segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveOutcome {
    /// Number of segments that become readable.
    pub delivered: u64,
    /// ACKs to send at once, in this order: of a delayed segment before, and of this one.
    pub earlier_ack: Option<Box<Ack>>,
    pub ack: Option<Ack>,
}

impl Receiver {
    /// Takes the memory of the receiver of a connection that is over.
    pub fn reuse_memory_of(&mut self, past: &mut Receiver) {
        if let (Some(linux), Some(past)) = (&mut self.linux, &mut past.linux) {
            linux.reuse_memory_of(past);
        }
    }

    pub fn new(settings: &TcpSettings, clock: HostClock) -> Receiver {
        let three_way = settings.handshake == Handshake::ThreeWay;
        let is_host = settings.quirks.delayed_ack_rule == AckDelayRule::Quickack;
        let max_sack_blocks = settings.max_reported_sack_blocks();
        let never_delays = !settings.delayed_ack && !three_way && !is_host;
        let counts_ecn = settings.wants_accurate_ecn() && settings.quirks.receiver_accurate_ecn && !is_host;
        Receiver {
            is_plain: never_delays && !counts_ecn && !settings.quirks.piggyback_acks,
            ack_size: settings.quirks.ack_size,
            delays: AckDelay::new(settings)
                .map(|rule| Box::new(AckDelays { rule, pending: None, quick_acks: settings.quirks.max_quickacks })),
            echo_earliest_timestamp: settings.timestamps,
            accepts_ecn: settings.quirks.receiver_ecn,
            rcv_nxt: 0,
            linux: is_host.then(|| Box::new(LinuxReceiver::new(settings, clock))),
            out_of_order: RangeSet::default(),
            ecn_echo: EcnEcho::new(settings),
            syn_fin_replies: three_way.then(|| Box::new(SynFinReplies::new(settings.rto_initial))),
            delays_duplicates: settings.quirks.delay_dup_acks,
            sack: (max_sack_blocks > 0).then(|| {
                let recent_blocks = RecentSackBlocks::new(max_sack_blocks);
                Box::new(SackReports { recent_blocks, option_bytes: settings.quirks.sack_option_size })
            }),
            last_echo: settings.quirks.piggyback_acks.then(|| Box::new(EchoedTimestamp { sent: Time::ZERO, is_retransmission: false })),
            reports_dsack: settings.quirks.dsack && max_sack_blocks > 0,
            never_delays,
            accurate: counts_ecn.then(|| {
                Box::new(AccurateState {
                    settings: settings.clone(),
                    clock,
                    counters: None,
                    newest_sent_ms: 0,
                    header: settings.quirks.header_size,
                    syn_ack_sent_at: None,
                })
            }),
        }
    }

    /// Processes a segment that was sent at `sent`.
    // Inlined into the loop of each kind of run, since every packet passes here: a shared copy costs 3 % of a run.
    #[inline(always)]
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> ReceiveOutcome {
        if self.is_plain {
            return self.receive_plain(segment, sent);
        }
        if self.linux.is_some() {
            return self.receive_by_linux(segment, sent, now);
        }
        if let Some(replies) = &mut self.syn_fin_replies {
            if segment.segment_type == SegmentType::Syn {
                return self.on_syn(segment, sent, now);
            }
            replies.on_segment(segment);
        }
        let must_ack = self.accurate.is_some() && self.count_ecn(segment, sent, now);
        if segment.segment_type == SegmentType::PureAck {
            return ReceiveOutcome::default();
        }
        let changes = self.ecn_echo.changes_ce_state(segment);
        let before_change =
            if changes { self.take_delayed_ack().map(|delayed| Box::new(self.ack_before_ce_change(&delayed))) } else { None };
        let (before, fills_gap) = (self.rcv_nxt, !self.out_of_order.is_empty());
        let is_next = segment.seq == before && !fills_gap;
        let twice = !is_next && self.reports_dsack && self.has_received(segment.seq);
        //= RFC 9293, section 3.4: everything arrives
        if is_next {
            self.rcv_nxt += 1;
        } else {
            self.store_or_advance_rcv_nxt(segment.seq);
        }
        let delivered = self.rcv_nxt - before;
        let mut delayed = None;
        if let Some(delays) = &mut self.delays {
            let delay = delays.rule.delay_for_arrival(now);
            let may_repeat = delivered > 0 || self.delays_duplicates;
            //= RFC 5681, section 4.2: gaps are acknowledged at once
            let in_order = self.rcv_nxt == segment.seq + 1 && !fills_gap && may_repeat && !twice;
            //= RFC 5681, section 4.2; RFC 9293, section 3.8.6.3: an ACK for every second segment, within the delay
            //= RFC 9293, section 3.8.6.3: fewer ACKs than segments
            let may_delay =
                segment.seq >= delays.quick_acks && !self.syn_fin_replies.as_ref().is_some_and(|replies| replies.has_fin_arrived());
            if in_order && !changes && !must_ack && delays.pending.is_none() && may_delay {
                delays.pending = Some(DelayedAck { segment: *segment, sent, deadline: now + delay });
                return ReceiveOutcome { delivered, earlier_ack: before_change, ack: None };
            }
            delayed = delays.pending.take();
        }
        // Constructed in place: it is large, and each segment has one.
        let mut arrival = ReceiveOutcome {
            delivered,
            earlier_ack: before_change,
            ack: Some(self.make_ack_without_sack(segment, delayed.as_ref(), sent)),
        };
        if let Some(ack) = &mut arrival.ack {
            self.add_sack_and_remember_timestamp(segment.seq, twice, ack);
            if let Some(replies) = &mut self.syn_fin_replies {
                replies.on_reply_sent(ack.segment_type, now);
            }
            if self.accurate.is_some() {
                self.set_accurate_ack_fields(ack, now);
            }
        }
        arrival
    }

    /// Processes a segment without a handshake, delayed ACKs, Accurate ECN and piggybacked ACKs.
    #[inline(always)]
    fn receive_plain(&mut self, segment: &Segment, sent: Time) -> ReceiveOutcome {
        if segment.segment_type == SegmentType::PureAck {
            return ReceiveOutcome::default();
        }
        let (before, is_next) = (self.rcv_nxt, segment.seq == self.rcv_nxt && self.out_of_order.is_empty());
        let twice = !is_next && self.reports_dsack && self.has_received(segment.seq);
        //= RFC 9293, section 3.4: everything arrives
        if is_next {
            self.rcv_nxt += 1;
        } else {
            self.store_or_advance_rcv_nxt(segment.seq);
        }
        let EceCwrBits { cwr, ece } = self.ecn_echo.echo_bits(segment, None);
        let plain = Ack::plain(self.rcv_nxt, self.ack_size);
        let ack = Ack { ece, cwr, echo: sent, echo_retransmission: segment.retransmission, ..plain };
        let mut arrival = ReceiveOutcome { delivered: self.rcv_nxt - before, earlier_ack: None, ack: Some(ack) };
        if let Some(ack) = arrival.ack.as_mut().filter(|_| !is_next && self.sack.is_some() && (twice || !self.out_of_order.is_empty())) {
            self.add_sack_blocks(segment.seq, twice, ack);
        }
        arrival
    }

    #[inline(never)]
    fn receive_by_linux(&mut self, segment: &Segment, sent: Time, now: Time) -> ReceiveOutcome {
        let Some(host) = &mut self.linux else { return ReceiveOutcome::default() };
        let arrival = host.receive(segment, sent, now);
        self.rcv_nxt = host.rcv_nxt();
        arrival
    }

    /// Takes out the segment whose ACK is delayed.
    fn take_delayed_ack(&mut self) -> Option<DelayedAck> {
        self.delays.as_mut().and_then(|delays| delays.pending.take())
    }

    /// Deadline of the receiver's timer.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        if self.never_delays {
            return None;
        }
        if let Some(host) = &self.linux {
            return host.deadline();
        }
        let reply = self.syn_fin_replies.as_ref().and_then(|replies| replies.deadline());
        let delayed = self.delays.as_ref().and_then(|delays| delays.pending.as_ref());
        earlier_deadline(delayed.map(|delayed| delayed.deadline), reply)
    }

    /// Handles the timer: sends a delayed ACK, or retransmits a reply.
    #[inline(never)]
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        if let Some(host) = &mut self.linux {
            return host.on_timer(now);
        }
        if let Some(segment_type) = self.syn_fin_replies.as_mut().and_then(|replies| replies.on_timer(now)) {
            let ece = segment_type == SegmentType::Syn && self.ecn_echo.is_negotiated();
            let mut ack = Ack { segment_type, ece, echo: now, echo_retransmission: true, ..Ack::plain(self.rcv_nxt, self.ack_size) };
            if let Some(accurate) = self.accurate.as_mut()
                && let Some(counters) = accurate.counters.as_mut()
                && segment_type == SegmentType::Syn
            {
                // An answer may be to either SYN-ACK.
                accurate.syn_ack_sent_at = None;
                counters.record_syn_ack_timeout();
                counters.complete_syn_ack(&mut ack);
            } else {
                self.set_accurate_ack_fields(&mut ack, now);
            }
            return Some(ack);
        }
        let delayed = self.take_delayed_ack()?;
        let mut ack = self.make_delayed_ack(&delayed);
        self.set_accurate_ack_fields(&mut ack, now);
        Some(ack)
    }

    /// Counts the ECN field of a segment with Accurate ECN; returns whether the segment must be acknowledged at once.
    #[inline(never)]
    fn count_ecn(&mut self, segment: &Segment, sent: Time, now: Time) -> bool {
        let Some(accurate) = &mut self.accurate else { return false };
        let Some(counters) = &mut accurate.counters else { return false };
        if let Some(sent) = accurate.syn_ack_sent_at.take() {
            counters.set_handshake_rtt(now.since(sent));
        }
        let sent_ms = accurate.clock.millis(sent);
        let is_newer = accurate.settings.timestamps && sent_ms > accurate.newest_sent_ms;
        accurate.newest_sent_ms = accurate.newest_sent_ms.max(sent_ms);
        let option = if segment.accecn_option { PADDED_ACCECN_OPTION_BYTES } else { 0 };
        let payload = if segment.segment_type == SegmentType::PureAck { 0 } else { segment.size.saturating_sub(accurate.header + option) };
        counters.on_segment(segment, payload, is_newer)
    }

    /// Sets the fields of Accurate ECN on an ACK that is sent now.
    #[inline(never)]
    fn set_accurate_ack_fields(&mut self, ack: &mut Ack, now: Time) {
        let Some(accurate) = &mut self.accurate else { return };
        let Some(counters) = &mut accurate.counters else { return };
        counters.complete_ack(ack, self.ack_size, false, accurate.clock.micros(now));
        ack.ecn = counters.codepoint(accurate.settings.ect_codepoint.ecn());
        ack.tsval_ms = if accurate.settings.timestamps { accurate.clock.millis(now) as u32 + 1 } else { 1 };
    }

    /// Whether ECN was negotiated in any form.
    pub fn uses_ecn(&self) -> bool {
        match &self.linux {
            Some(host) => host.uses_ecn(),
            None => self.ecn_echo.is_negotiated(),
        }
    }

    /// Counters of Accurate ECN, if it was negotiated.
    pub fn accurate_counters(&self) -> Option<&AccurateReceiver> {
        match &self.linux {
            Some(host) => host.accurate(),
            None => self.accurate.as_ref().and_then(|accurate| accurate.counters.as_ref()),
        }
    }

    fn accurate_counters_mut(&mut self) -> Option<&mut AccurateReceiver> {
        match &mut self.linux {
            Some(host) => host.accurate_mut(),
            None => self.accurate.as_mut().and_then(|accurate| accurate.counters.as_mut()),
        }
    }

    /// Sends the Accurate ECN option no more.
    pub fn stop_accecn_option(&mut self) {
        if let Some(counters) = self.accurate_counters_mut() {
            counters.stop_option();
        }
    }

    /// Takes note of an Accurate ECN option on any packet of the peer.
    pub fn see_accecn_option(&mut self, option: &AccEcnOption) {
        if let Some(counters) = self.accurate_counters_mut() {
            counters.see_option(option);
        }
    }

    /// Takes up the other direction of an open connection with Accurate ECN.
    pub fn set_accurate_counters(&mut self, counters: AccurateReceiver) {
        if let Some(host) = &mut self.linux {
            return host.set_accurate(counters);
        }
        if let Some(accurate) = &mut self.accurate {
            self.ecn_echo.set_accurate_negotiated(true);
            self.ecn_echo.set_negotiated(true);
            accurate.counters = Some(counters);
        }
    }

    /// Processes the ECN field of a packet without data of the other direction.
    pub fn count_pure_ack_ecn(&mut self, ecn: Ecn) {
        if let Some(host) = &mut self.linux {
            return host.count_pure_ack_ecn(ecn);
        }
        if let Some(counters) = self.accurate_counters_mut() {
            counters.on_ack_ecn(ecn);
        }
    }

    /// ACK to piggyback on data of the reverse direction now; no delayed ACK remains.
    pub fn piggybacked_ack(&mut self, now: Time) -> Ack {
        if let Some(host) = &mut self.linux {
            return host.piggybacked_ack(now);
        }
        let mut ack = match self.take_delayed_ack() {
            Some(delayed) => self.make_delayed_ack(&delayed),
            None => self.repeat_last_ack(),
        };
        self.set_accurate_ack_fields(&mut ack, now);
        Ack { segment_type: SegmentType::Plain, ..ack }
    }

    /// Repeats the last ACK.
    fn repeat_last_ack(&mut self) -> Ack {
        let EceCwrBits { cwr, ece } = self.ecn_echo.bits_before_ce_change();
        let (echo, echo_retransmission) = self.last_echo.as_ref().map_or((Time::ZERO, false), |last| (last.sent, last.is_retransmission));
        let mut ack = Ack { ece, cwr, echo, echo_retransmission, ..Ack::plain(self.rcv_nxt, self.ack_size) };
        if let Some(&(first, _)) = self.out_of_order.as_slice().first() {
            self.add_sack_blocks(first, false, &mut ack);
        }
        ack
    }

    /// Suppresses the FIN reply, because the reverse direction sends its own FIN.
    pub fn suppress_close_on_fin(&mut self) {
        if let Some(host) = &mut self.linux {
            host.suppress_close_on_fin();
        }
        if let Some(replies) = &mut self.syn_fin_replies {
            replies.suppress_close_on_fin();
        }
    }

    /// SYN-ACK; accepts ECN by ECE without CWR, if both bits offered it (RFC 3168, section 6.1.1).
    #[inline(never)]
    fn on_syn(&mut self, segment: &Segment, sent: Time, now: Time) -> ReceiveOutcome {
        let delivered = u64::from(self.rcv_nxt == 0);
        self.rcv_nxt = self.rcv_nxt.max(1);
        let agreed = segment.ece && segment.cwr && self.accepts_ecn;
        self.ecn_echo.set_negotiated(agreed);
        self.negotiate_accurate(segment, delivered > 0, now);
        if let Some(replies) = &mut self.syn_fin_replies {
            replies.on_reply_sent(SegmentType::Syn, now);
        }
        //= RFC 3168, section 6.1.1: the SYN-ACK agrees with ECE and without CWR
        let mut ack = Ack {
            segment_type: SegmentType::Syn,
            ece: agreed,
            echo: sent,
            echo_retransmission: segment.retransmission,
            ..Ack::plain(self.rcv_nxt, self.ack_size)
        };
        if let Some(counters) = self.accurate_counters() {
            counters.complete_syn_ack(&mut ack);
        }
        ReceiveOutcome { delivered, earlier_ack: None, ack: Some(ack) }
    }

    /// Agrees to Accurate ECN if a SYN asks for it. The first SYN decides; later ones only change what the SYN-ACK reflects (RFC 9768,
    /// section 3.1).
    fn negotiate_accurate(&mut self, syn: &Segment, is_first: bool, now: Time) {
        let accepts = self.accepts_ecn;
        let wants = self.accurate.is_some() && accepts;
        if is_first {
            self.ecn_echo.set_accurate_negotiated(wants && accurate_codes::asks_for_accurate(syn.ace()));
        }
        let Some(accurate) = self.accurate.as_mut().filter(|_| wants) else { return };
        accurate.syn_ack_sent_at = is_first.then_some(now);
        match &mut accurate.counters {
            None if is_first && accurate_codes::asks_for_accurate(syn.ace()) => {
                accurate.counters = Some(AccurateReceiver::new(&accurate.settings, syn, Ecn::NotEct));
            }
            None => return,
            Some(counters) => counters.on_repeated_syn(syn),
        }
        self.ecn_echo.set_negotiated(true);
    }

    /// ACK of a segment and possibly a delayed one before it, without SACK blocks.
    #[inline(always)]
    fn make_ack_without_sack(&mut self, segment: &Segment, delayed: Option<&DelayedAck>, sent: Time) -> Ack {
        let EceCwrBits { cwr, ece } = self.ecn_echo.echo_bits(segment, delayed.map(|delayed| &delayed.segment));
        Ack {
            segment_type: self.syn_fin_replies.as_ref().map_or(SegmentType::Plain, |replies| replies.plain_or_fin_ack_type(self.rcv_nxt)),
            ece,
            cwr,
            echo: delayed.filter(|_| self.echo_earliest_timestamp).map_or(sent, |delayed| delayed.sent),
            echo_retransmission: segment.retransmission,
            ..Ack::plain(self.rcv_nxt, self.ack_size)
        }
    }

    /// Adds SACK blocks to the ACK of a segment, and remembers its echoed timestamp.
    #[inline(always)]
    fn add_sack_and_remember_timestamp(&mut self, seq: u64, twice: bool, ack: &mut Ack) {
        if let Some(last) = &mut self.last_echo {
            **last = EchoedTimestamp { sent: ack.echo, is_retransmission: ack.echo_retransmission };
        }
        if self.sack.is_some() && (twice || !self.out_of_order.is_empty()) {
            self.add_sack_blocks(seq, twice, ack);
        }
    }

    /// ACK of a delayed segment.
    #[inline(never)]
    fn make_delayed_ack(&mut self, delayed: &DelayedAck) -> Ack {
        let mut ack = self.make_ack_without_sack(&delayed.segment, None, delayed.sent);
        self.add_sack_and_remember_timestamp(delayed.segment.seq, false, &mut ack);
        ack
    }

    #[cold]
    fn add_sack_blocks(&mut self, seq: u64, twice: bool, ack: &mut Ack) {
        let Some(sack) = &mut self.sack else { return };
        ack.sacks = sack.recent_blocks.blocks_for_ack(seq, twice, self.rcv_nxt, &self.out_of_order);
        if !ack.sacks.is_empty() {
            ack.size += sack.option_bytes + SACK_BLOCK_BYTES * ack.sacks.as_slice().len() as u32;
        }
    }

    /// Whether a segment has arrived before.
    fn has_received(&self, seq: u64) -> bool {
        seq < self.rcv_nxt || self.out_of_order.contains(seq)
    }

    /// ACK of a delayed segment before DCTCP's CE state changes (RFC 8257, section 3.2).
    #[inline(never)]
    fn ack_before_ce_change(&self, delayed: &DelayedAck) -> Ack {
        let EceCwrBits { cwr, ece } = self.ecn_echo.bits_before_ce_change();
        let retransmission = delayed.segment.retransmission;
        Ack { ece, cwr, echo: delayed.sent, echo_retransmission: retransmission, ..Ack::plain(self.rcv_nxt, self.ack_size) }
    }

    /// All segments that it may have acknowledged are before this one.
    pub fn max_acknowledged(&self) -> u64 {
        self.linux.as_ref().map_or(self.rcv_nxt, |host| host.last_acknowledged())
    }

    /// Next expected segment.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Number of out-of-order segments in the queue.
    pub fn out_of_order_segments(&self) -> u64 {
        match &self.linux {
            Some(host) => host.out_of_order_segments(),
            None => self.out_of_order.count(),
        }
    }

    /// Stops reading by the application: data stays in the buffer. Only a receiver that advertises its buffer is affected.
    pub fn stop_reading(&mut self) {
        if let Some(host) = &mut self.linux {
            host.stop_reading();
        }
    }

    /// Resumes reading, starting with the buffered data. Returns the window update; another ACK may be due at once.
    pub fn resume_reading(&mut self, now: Time) -> Option<Ack> {
        self.linux.as_mut().and_then(|host| host.resume_reading(now))
    }

    /// Stores a segment that is a duplicate, is out of order, or fills a gap.
    #[inline(never)]
    fn store_or_advance_rcv_nxt(&mut self, seq: u64) {
        if seq < self.rcv_nxt {
            return;
        }
        if seq > self.rcv_nxt {
            self.out_of_order.insert(seq, seq + 1);
            return;
        }
        self.rcv_nxt += 1;
        if let Some(end) = self.out_of_order.pop_first_if_starts_at(self.rcv_nxt) {
            self.rcv_nxt = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile;
    use crate::settings::Quirks;
    use crate::settings::{EchoStyle, ReceiveWindow};
    use ecnlab_units::parameter::OrOff;
    use ecnlab_units::{Ecn, Span};

    fn receiver_of(settings: &TcpSettings) -> Receiver {
        Receiver::new(settings, HostClock::new(settings, ecnlab_units::Span::ZERO))
    }

    fn segment(seq: u64) -> Segment {
        Segment { ecn: Ecn::Ect0, ..Segment::plain(seq, 1000) }
    }

    fn receiver() -> Receiver {
        receiver_of(&profile::tcp_settings_of("ns2"))
    }

    fn ack(receiver: &mut Receiver, segment: Segment) -> Ack {
        receiver.receive(&segment, Time::ZERO, Time::ZERO).ack.unwrap()
    }

    #[test]
    fn acknowledgements_are_cumulative_over_any_order_of_arrival() {
        let mut receiver = receiver();
        let acks: Vec<u64> = [0, 2, 4, 3, 6, 1, 5].map(|seq| ack(&mut receiver, segment(seq)).next).to_vec();
        assert_eq!(vec![1, 1, 1, 1, 1, 5, 7], acks);
    }

    #[test]
    fn a_mark_is_echoed_until_cwr_and_a_mark_on_the_same_packet_starts_it_anew() {
        let mut receiver = receiver();
        let marked = |seq| Segment { ecn: Ecn::Ce, ..segment(seq) };
        let cwr = |seq| Segment { cwr: true, ..segment(seq) };
        let stream = [segment(0), marked(1), segment(2), cwr(3), segment(4), Segment { cwr: true, ..marked(5) }, segment(6)];
        assert_eq!([false, true, true, false, false, true, true], stream.map(|s| ack(&mut receiver, s).ece));
    }

    #[test]
    fn a_mark_that_waits_for_its_acknowledgement_is_answered_by_the_cwr_behind_it() {
        let settings = TcpSettings { delayed_ack: true, ..profile::tcp_settings_of("ns2") };
        let echoes = |first: Segment, second: Segment| {
            let mut receiver = receiver_of(&settings);
            ack(&mut receiver, Segment { ecn: Ecn::Ce, ..segment(0) });
            assert!(receiver.receive(&first, Time::ZERO, Time::ZERO).ack.is_none(), "it waits");
            [ack(&mut receiver, second).ece, {
                receiver.receive(&segment(3), Time::ZERO, Time::ZERO);
                ack(&mut receiver, segment(4)).ece
            }]
        };
        let (marked, reduced) = (|seq| Segment { ecn: Ecn::Ce, ..segment(seq) }, |seq| Segment { cwr: true, ..segment(seq) });
        assert_eq!([false, false], echoes(marked(1), reduced(2)));
        assert_eq!([true, true], echoes(reduced(1), marked(2)));
    }

    #[test]
    fn a_packet_that_is_not_capable_brings_no_echo_where_that_is_asked_for() {
        let echoes = |echo_on_capable_only| {
            let mut receiver = receiver_of(&TcpSettings {
                quirks: Quirks { ece_on_ect_only: echo_on_capable_only, ..profile::quirks("ns2") },
                ..profile::tcp_settings_of("ns2")
            });
            ack(&mut receiver, Segment { ecn: Ecn::Ce, ..segment(0) });
            ack(&mut receiver, Segment { ecn: Ecn::NotEct, ..segment(1) }).ece
        };
        assert_eq!([false, true], [echoes(true), echoes(false)]);
    }

    #[test]
    fn a_delaying_receiver_acknowledges_every_second_packet_or_after_its_time() {
        let settings = TcpSettings { delayed_ack: true, delayed_ack_time: Span::from_millis(100), ..profile::tcp_settings_of("ns2") };
        let mut receiver = receiver_of(&settings);
        let answers = [0, 1, 2, 3].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([Some(1), None, Some(3), None], answers);
        assert_eq!(Some(Time::ZERO + Span::from_millis(100)), receiver.deadline());
        assert_eq!(Some(4), receiver.on_timer(Time::ZERO).map(|ack| ack.next));
        assert_eq!(None, receiver.deadline());
    }

    #[test]
    fn a_delaying_host_answers_a_segment_that_came_before_at_once() {
        let mut receiver = receiver_of(&profile::tcp_settings_of("rfc"));
        receiver.receive(&Segment { segment_type: SegmentType::Syn, ..segment(0) }, Time::ZERO, Time::ZERO);
        let answers = [1, 2, 2, 3].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([None, Some(3), Some(3), None], answers);
    }

    #[test]
    fn the_last_segment_may_wait_again_when_it_comes_again_where_that_is_asked_for() {
        let answers = |delay_repeated| {
            let mut receiver = receiver_of(&TcpSettings {
                delayed_ack: true,
                quirks: Quirks { delay_dup_acks: delay_repeated, ..profile::quirks("ns2") },
                ..profile::tcp_settings_of("ns2")
            });
            [0, 1, 2, 2].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.is_some())
        };
        assert_eq!([[true, false, true, false], [true, false, true, true]], [answers(true), answers(false)]);
    }

    #[test]
    fn dctcp_s_delayed_acknowledgement_echoes_its_marks_whatever_the_segment_behind_it_says_of_the_window() {
        // RFC 8257, section 3.2: delayed segments are acknowledged in the CE state before the change; CWR is not involved.
        for rule in [AckDelayRule::Quickack, AckDelayRule::Fixed] {
            let settings = TcpSettings {
                ecn: true,
                ecn_echo: EchoStyle::Dctcp,
                receive_window: ReceiveWindow::Unlimited,
                quirks: Quirks { delayed_ack_rule: rule, max_quickacks: 0, ..profile::quirks("linux") },
                ..profile::tcp_settings_of("linux")
            };
            let mut receiver = receiver_of(&settings);
            let syn = Segment { segment_type: SegmentType::Syn, ece: true, cwr: true, ..Segment::plain(0, 60) };
            receiver.receive(&syn, Time::ZERO, Time::ZERO);
            let stream =
                [Segment { ecn: Ecn::Ce, ..segment(1) }, Segment { ecn: Ecn::Ce, ..segment(2) }, Segment { cwr: true, ..segment(3) }];
            let echoes: Vec<(u64, bool)> = stream
                .iter()
                .map(|segment| receiver.receive(segment, Time::ZERO, Time::ZERO))
                .flat_map(|arrival| arrival.earlier_ack.map(|delayed| *delayed).into_iter().chain(arrival.ack))
                .map(|ack| (ack.next, ack.ece))
                .collect();
            assert_eq!(vec![(2, true), (3, true), (4, false)], echoes, "{rule:?}");
        }
    }

    #[test]
    fn a_host_that_delays_nothing_acknowledges_every_segment_and_tells_of_its_window() {
        // Linux with the route attribute quickack (tcp_in_quickack_mode); its buffer is as with delayed ACKs.
        let mut receiver = receiver_of(&TcpSettings { delayed_ack: false, ..profile::tcp_settings_of("linux") });
        receiver.receive(&Segment { segment_type: SegmentType::Syn, ..Segment::plain(0, 60) }, Time::ZERO, Time::ZERO);
        let acks = (1..60).map(|seq| receiver.receive(&Segment::plain(seq, 1500), Time::ZERO, Time::ZERO).ack.unwrap());
        let acks: Vec<(u64, bool)> = acks.map(|ack| (ack.next, ack.window < Ack::WINDOW_UNLIMITED)).collect();
        assert_eq!((2..61).map(|next| (next, true)).collect::<Vec<_>>(), acks);
    }

    #[test]
    fn a_host_that_delays_nothing_keeps_its_timers() {
        let stops = OrOff(Some(Span::from_secs(1)));
        let settings = TcpSettings {
            delayed_ack: false,
            handshake: Handshake::FirstPacket,
            quirks: Quirks { fin: false, app_read_pause: stops, ..profile::quirks("linux") },
            ..profile::tcp_settings_of("linux")
        };
        let mut receiver = receiver_of(&settings);
        let first = Segment { segment_type: SegmentType::Syn, ..Segment::plain(0, 60) };
        assert!(receiver.receive(&first, Time::ZERO, Time::ZERO).ack.is_some());
        assert!(receiver.deadline().is_some(), "its reader stops");
    }

    #[test]
    fn a_delaying_receiver_answers_a_gap_at_once() {
        let settings = TcpSettings { delayed_ack: true, delayed_ack_time: Span::from_millis(100), ..profile::tcp_settings_of("ns2") };
        let mut receiver = receiver_of(&settings);
        let answers = [0, 2, 1].map(|seq| receiver.receive(&segment(seq), Time::ZERO, Time::ZERO).ack.map(|ack| ack.next));
        assert_eq!([Some(1), Some(1), Some(3)], answers);
    }
}
