//! One direction of a connection that carries data: segments of its source, arrivals at its sink, and reactions to marks.

use ecnlab_units::column_groups::TimeMeanAndPercentiles;
use ecnlab_units::histogram::Histogram;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{End, Flags, Packet};

use crate::bins::{FlowAndConnectionNumbers, FlowBinPosition};
use crate::columns::{
    EcnMode, FlowKind, FlowRow, SequencePointKind, SequencePointRow, SharedFlowAndTotalValues, SignalKind, seconds_or_nan,
};
use crate::competing::FairnessCandidate;
use crate::context::AnalysisContext;
use crate::reaction::{Reaction, ReactionTracker};
use crate::reassembly::Reassembly;
use crate::retransmission::{ObservationTiming, RetransmissionCause, SegmentKind, SegmentTracker};

/// Counters of a flow over the measured interval, or their sum over flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowCounters {
    /// Bytes that reached the sink: all, newly delivered in order, and of first transmissions.
    pub bytes: [u64; 3],
    pub sent: u64,
    pub fast_retransmits: u64,
    pub timeout_retransmits: u64,
    pub spurious_retransmits: u64,
    pub timeouts: u64,
    pub reordered: u64,
    pub drops: u64,
    pub marks: u64,
    pub ce_packets: u64,
    pub echoes: u64,
    pub cwr_packets: u64,
    pub reactions: u64,
    total_reaction_s: f64,
    timed_reactions: u64,
    pub lockouts: u64,
    pub lockout_time: Span,
    pub acked_unseen: u64,
}

/// An active flow.
#[derive(Debug)]
pub struct Flow {
    pub number: u32,
    pub member: FlowAndConnectionNumbers,
    /// Whether it is the first selected flow of its connection.
    pub is_first: bool,
    /// Whether it is one of the flows to count.
    pub is_selected: bool,
    fid: Option<u32>,
    source: End,
    destination: End,
    /// Its transport protocol.
    kind: FlowKind,
    /// Its first sequence number.
    first_seq: u64,
    begin: Time,
    last_seen: Time,
    pub closed: Option<Time>,
    segments: SegmentTracker,
    reassembly: Reassembly,
    reactions: ReactionTracker,
    /// ECE and CWR count marks (RFC 9768) instead of echoing them, so that there are no reactions to track.
    pub counts_marks: bool,
    last_progress: Time,
    min_rtt: Option<Span>,
    counters: FlowCounters,
    /// Spurious retransmissions: duplicates at the sink; reported by DSACK; reported by a timestamp (Eifel).
    spurious_retransmits: [u64; 3],
    rtt: Histogram<5>,
    delay: Histogram<5>,
    /// Delays that count once it is certain that they were measured at the sink.
    pending_delays: Vec<Span>,
    /// Round-trip times measured at a place that is not known to be the source's.
    pending_rtts: Vec<RttSample>,
    bin: FlowBinPosition,
}

/// Sequence range `[start, end)` of a segment; none of a datagram.
pub type SeqRange = Option<(u64, u64)>;

/// Round-trip times of a flow that wait until the source's place is known; the first acknowledgements show the path.
const MAX_PENDING_RTTS: usize = 256;

/// A round-trip time measured at a place that may turn out to lie before the source.
#[derive(Clone, Copy, Debug)]
struct RttSample {
    ack: u64,
    taken_at: Time,
    rtt: Span,
    is_measured: bool,
    /// The path continues, and the acknowledgement has not reached its end yet.
    is_in_transit: bool,
}

/// An acknowledgement for this flow, in the flow's sequence numbers.
#[derive(Clone, Copy, Debug)]
pub struct ObservedAck<'a> {
    pub ack: u64,
    pub sack_blocks: &'a [(u64, u64)],
    /// The window's right edge, if the file shows it.
    pub window_edge: Option<u64>,
    pub is_pure: bool,
    /// Whether it is certain that it was seen at the source.
    pub is_at_endpoint: bool,
}

impl Flow {
    pub fn new(member: FlowAndConnectionNumbers, is_selected: bool, is_first: bool, packet: &Packet, first_seq: u64, now: Time) -> Flow {
        let mut reassembly = Reassembly::default();
        reassembly.start_at(first_seq);
        Flow {
            number: member.flow,
            member,
            is_first,
            is_selected,
            fid: packet.flow,
            source: packet.source,
            destination: packet.destination,
            kind: if packet.is_tcp() { FlowKind::Tcp } else { FlowKind::Datagrams },
            first_seq,
            begin: now,
            last_seen: now,
            closed: None,
            segments: SegmentTracker::default(),
            reassembly,
            reactions: ReactionTracker::default(),
            counts_marks: false,
            last_progress: now,
            min_rtt: None,
            counters: FlowCounters::default(),
            spurious_retransmits: [0; 3],
            rtt: Histogram::default(),
            delay: Histogram::default(),
            pending_delays: Vec::new(),
            pending_rtts: Vec::new(),
            bin: FlowBinPosition::default(),
        }
    }

    /// Processes a packet of the source; returns whether it is a retransmission.
    pub fn on_sent(&mut self, packet: &Packet, seq_range: SeqRange, is_exact: bool, context: &mut AnalysisContext) -> bool {
        self.last_seen = context.now;
        let was_idle = !self.segments.has_outstanding_data();
        let timeouts = self.segments.timeouts;
        let view = ObservationTiming { is_exact, min_rtt: self.min_rtt.unwrap_or_default() };
        let sent = seq_range
            .map_or(SegmentKind::New, |seq_range| self.segments.on_segment(seq_range, &packet.tcp, context.now, view, &mut context.memory));
        if was_idle && sent == SegmentKind::New {
            self.last_progress = context.now;
        }
        let has_cwr = packet.has(Flags::CWR);
        if has_cwr && sent == SegmentKind::New && !self.counts_marks {
            self.reactions.on_cwr(context.now, mean_rtt(&self.rtt));
        }
        self.record_segment(seq_range, sent, has_cwr, context);
        if self.is_counted(context) {
            self.counters.sent += 1;
            self.counters.fast_retransmits += u64::from(sent == SegmentKind::Retransmission(RetransmissionCause::DupAcks));
            self.counters.timeout_retransmits += u64::from(sent == SegmentKind::Retransmission(RetransmissionCause::Timeout));
            self.counters.reordered += u64::from(sent == SegmentKind::Reordered);
            self.counters.timeouts += self.segments.timeouts - timeouts;
            self.counters.cwr_packets += u64::from(has_cwr && !self.counts_marks);
        }
        matches!(sent, SegmentKind::Retransmission(_))
    }

    /// Processes an arrival at the sink. `delay` is the one-way delay, if the file shows it, and whether this is the sink for certain.
    pub fn on_sink_arrival(
        &mut self,
        packet: &Packet,
        seq_range: SeqRange,
        is_retransmission: bool,
        delay: Option<(Span, bool)>,
        context: &mut AnalysisContext,
    ) {
        self.last_seen = context.now;
        let payload = u64::from(context.payload_bytes(packet));
        let is_duplicate = seq_range.is_some_and(|(start, end)| self.reassembly.contains(start, end));
        let new = seq_range.map_or(payload, |(start, end)| self.reassembly.insert_and_deliver(start, end, payload, &mut context.memory));
        let has_ce = packet.ecn == Ecn::Ce;
        let ended = if packet.is_tcp() && !self.counts_marks {
            self.reactions.on_data_arrival(has_ce, packet.has(Flags::CWR), context.now)
        } else {
            None
        };
        self.on_reaction_end(ended, context);
        if self.is_counted(context) {
            let bytes = [u64::from(packet.size), new, if is_retransmission { 0 } else { payload }];
            self.count_bytes(bytes, context);
            self.counters.ce_packets += u64::from(has_ce);
            self.spurious_retransmits[0] += u64::from(is_duplicate && delay.is_some());
            if let Some((delay, is_at_endpoint)) = delay {
                self.on_delay_sample(delay, is_at_endpoint, context);
            }
        }
        if new > 0 {
            let since = std::mem::replace(&mut self.last_progress, context.now);
            self.check_lockout(since, context);
        }
    }

    /// Processes an acknowledgement at the source, which may cover segments that are not in the file.
    pub fn on_ack(&mut self, ack: &ObservedAck, packet: &Packet, context: &mut AnalysisContext) {
        self.last_seen = context.now;
        let ack_outcome = self.segments.on_ack(ack.ack, ack.sack_blocks, &packet.tcp, ack.is_pure, context.now, &mut context.memory);
        self.record_ack(ack, ack_outcome.is_new, context);
        self.complete_rtts(ack.ack, context);
        if let Some(rtt) = ack_outcome.rtt {
            let is_measured = self.is_counted(context);
            self.on_rtt_sample(RttSample { ack: ack.ack, taken_at: context.now, rtt, is_measured, is_in_transit: false }, context);
        }
        if ack.is_at_endpoint {
            self.record_overall_rtts(context);
        }
        let (bytes, acked_unseen) = self.reassembly.skip_to(ack.ack, &mut context.memory);
        if self.is_counted(context) {
            self.spurious_retransmits[1] += u64::from(ack_outcome.is_dsack);
            self.spurious_retransmits[2] += u64::from(ack_outcome.is_spurious);
            self.counters.acked_unseen += acked_unseen;
            self.count_bytes([0, bytes, 0], context);
        }
    }

    /// Processes an acknowledgement with ECN-Echo of the sink. The reply to ns-2's first packet, which offers ECN, echoes no mark.
    pub fn on_ece_sent(&mut self, ack: u64, is_ns2: bool, context: &mut AnalysisContext) {
        if self.counts_marks || (is_ns2 && ack <= self.first_seq + 1) {
            return;
        }
        self.reactions.on_ece_sent(context.now);
        self.counters.echoes += u64::from(self.is_counted(context));
        if context.records_sequence(self.number) {
            context.record_sequence_point(self.sequence_point(SequencePointKind::Echo, ack, ack, context.now));
        }
    }

    /// A data packet was marked or dropped at this time.
    pub fn on_signal(&mut self, kind: SignalKind, link: Option<u32>, seq_range: SeqRange, at: Time, context: &mut AnalysisContext) {
        if self.is_counted(context) {
            let bin = context.bins.flow_bin(&mut self.bin, self.member);
            let (count, count_in_bin) = match kind {
                SignalKind::Mark => (&mut self.counters.marks, &mut bin.marks),
                SignalKind::Drop => (&mut self.counters.drops, &mut bin.drops),
            };
            *count += 1;
            *count_in_bin += 1;
            context.record_event_row(self.number, link, kind, at);
        }
        let point = if kind == SignalKind::Mark { SequencePointKind::Mark } else { SequencePointKind::Drop };
        self.record_sequence_range(point, seq_range, at, context);
    }

    /// Discards earlier arrivals: they were not at the sink, which is farther away.
    pub fn restart_at_new_sink(&mut self, context: &mut AnalysisContext) {
        self.reassembly.release_memory(&mut context.memory);
        self.reassembly = Reassembly::default();
        self.reassembly.start_at(self.first_seq);
        (self.counters.bytes, self.counters.ce_packets, self.spurious_retransmits[0]) = ([0; 3], 0, 0);
        (self.delay, self.reactions) = (Histogram::default(), ReactionTracker::default());
        self.pending_delays.clear();
        context.bins.flow_bin(&mut self.bin, self.member).bytes = [0; 3];
    }

    /// Whether the source continues although the file shows no acknowledgement.
    pub fn lacks_acks(&self) -> bool {
        self.segments.lacks_acks()
    }

    /// Discards earlier round-trip times: they were not measured at the source, which is farther away.
    pub fn restart_at_new_source(&mut self) {
        (self.min_rtt, self.rtt) = (None, Histogram::default());
        self.pending_rtts.iter_mut().for_each(|rtt_sample| rtt_sample.is_in_transit = true);
    }

    /// Ends the flow: closes open reactions and lockouts, and returns its row.
    pub fn finish(mut self, ecn: EcnMode, context: &mut AnalysisContext) -> FlowRow {
        let open = self.reactions.finish();
        self.on_reaction_end(open, context);
        self.record_pending_delays(context);
        self.record_overall_rtts(context);
        if self.closed.is_none() && self.segments.has_outstanding_data() && context.is_measured {
            self.check_lockout(self.last_progress, context);
        }
        self.segments.release_memory(&mut context.memory);
        self.reassembly.release_memory(&mut context.memory);
        self.counters.spurious_retransmits =
            self.spurious_retransmits[0].max(self.spurious_retransmits[1]).max(self.spurious_retransmits[2]);
        let common = SharedFlowAndTotalValues {
            seconds: 0.0,
            counters: self.counters,
            rtt: TimeMeanAndPercentiles::from(&self.rtt),
            delay: TimeMeanAndPercentiles::from(&self.delay),
        };
        FlowRow {
            flow: self.number,
            fid: self.fid,
            ends: [self.source, self.destination],
            end_names: [0; 2],
            kind: self.kind,
            ecn,
            begin_s: self.begin.seconds(),
            end_s: self.last_seen.seconds(),
            rtt_min_s: seconds_or_nan(self.min_rtt),
            competes: false,
            common,
        }
    }

    /// The flow's figures for Jain's index.
    pub fn fairness_candidate(&self) -> FairnessCandidate {
        FairnessCandidate { flow: self.number, begin: self.begin, end: self.last_seen, bytes: self.counters.bytes }
    }

    /// Whether an event of now counts: in the measured interval, for a flow that was asked for.
    fn is_counted(&self, context: &AnalysisContext) -> bool {
        context.is_measured && self.is_selected
    }

    fn count_bytes(&mut self, bytes: [u64; 3], context: &mut AnalysisContext) {
        let bin = context.bins.flow_bin(&mut self.bin, self.member);
        for (kind, bytes) in bytes.into_iter().enumerate() {
            self.counters.bytes[kind] += bytes;
            bin.bytes[kind] += bytes;
        }
    }

    fn on_rtt_sample(&mut self, rtt_sample: RttSample, context: &mut AnalysisContext) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt_sample.rtt, |least| least.min(rtt_sample.rtt)));
        if rtt_sample.is_measured {
            self.rtt.record(rtt_sample.rtt);
        }
        if self.pending_rtts.len() >= MAX_PENDING_RTTS {
            self.record_overall_rtts(context);
        }
        self.pending_rtts.push(rtt_sample);
    }

    /// Completes the sample of an acknowledgement that has reached the source. Acknowledgements before it were lost.
    fn complete_rtts(&mut self, ack: u64, context: &mut AnalysisContext) {
        if !self.pending_rtts.iter().any(|rtt_sample| rtt_sample.is_in_transit && rtt_sample.ack <= ack) {
            return;
        }
        let complete = self.pending_rtts.iter().copied().find(|rtt_sample| rtt_sample.is_in_transit && rtt_sample.ack == ack);
        self.pending_rtts.retain(|rtt_sample| !rtt_sample.is_in_transit || rtt_sample.ack > ack);
        if let Some(rtt_sample) = complete {
            let rtt = rtt_sample.rtt + context.now.since(rtt_sample.taken_at);
            self.on_rtt_sample(RttSample { taken_at: context.now, rtt, is_in_transit: false, ..rtt_sample }, context);
        }
    }

    /// Adds the samples that were measured at the last place to the overall times.
    fn record_overall_rtts(&mut self, context: &mut AnalysisContext) {
        for rtt_sample in self.pending_rtts.iter().filter(|rtt_sample| !rtt_sample.is_in_transit && rtt_sample.is_measured) {
            context.overall.rtt.record(rtt_sample.rtt);
        }
        self.pending_rtts.retain(|rtt_sample| rtt_sample.is_in_transit);
    }

    fn on_delay_sample(&mut self, delay: Span, is_at_endpoint: bool, context: &mut AnalysisContext) {
        self.pending_delays.push(delay);
        if is_at_endpoint {
            self.record_pending_delays(context);
        }
    }

    fn record_pending_delays(&mut self, context: &mut AnalysisContext) {
        for delay in self.pending_delays.drain(..) {
            self.delay.record(delay);
            context.overall.delay.record(delay);
        }
    }

    fn on_reaction_end(&mut self, ended: Option<Reaction>, context: &mut AnalysisContext) {
        let Some(reaction) = ended.filter(|_| self.is_counted(context)) else { return };
        self.counters.reactions += u64::from(reaction.cwr_sent_at.is_some());
        if let Some(latency) = reaction.latency() {
            self.counters.total_reaction_s += latency.seconds();
            self.counters.timed_reactions += 1;
        }
        context.record_reaction(self.number, &reaction);
    }

    /// Counts a period without new data that is long enough to be a lockout, with its time inside the measured interval.
    fn check_lockout(&mut self, since: Time, context: &mut AnalysisContext) {
        let threshold = Span::from_secs(1).max(self.min_rtt.unwrap_or_default() * 10);
        if context.now.since(since) >= threshold && self.is_counted(context) {
            self.counters.lockouts += 1;
            self.counters.lockout_time += context.now.since(since.max(context.from));
            context.record_lockout(self.number, since);
        }
    }

    fn record_segment(&self, seq_range: SeqRange, sent: SegmentKind, has_cwr: bool, context: &mut AnalysisContext) {
        self.record_sequence_range(
            if matches!(sent, SegmentKind::Retransmission(_)) { SequencePointKind::Retransmission } else { SequencePointKind::Data },
            seq_range,
            context.now,
            context,
        );
        if has_cwr {
            self.record_sequence_range(SequencePointKind::Cwr, seq_range, context.now, context);
        }
    }

    fn record_ack(&self, ack: &ObservedAck, is_new: bool, context: &mut AnalysisContext) {
        if !context.records_sequence(self.number) {
            return;
        }
        if is_new {
            context.record_sequence_point(self.sequence_point(SequencePointKind::Ack, ack.ack, ack.ack, context.now));
        }
        if let Some(window_edge) = ack.window_edge {
            context.record_sequence_point(self.sequence_point(SequencePointKind::Window, window_edge, window_edge, context.now));
        }
        for &(from, to) in ack.sack_blocks {
            context.record_sequence_point(self.sequence_point(SequencePointKind::Sack, from, to, context.now));
        }
    }

    fn record_sequence_range(&self, kind: SequencePointKind, seq_range: SeqRange, at: Time, context: &mut AnalysisContext) {
        if let Some((from, to)) = seq_range.filter(|_| context.records_sequence(self.number)) {
            context.record_sequence_point(self.sequence_point(kind, from, to, at));
        }
    }

    fn sequence_point(&self, kind: SequencePointKind, from: u64, to: u64, now: Time) -> SequencePointRow {
        let counted = |number: u64| number as f64 - self.first_seq as f64;
        SequencePointRow { flow: self.number, time_s: now.seconds(), kind, from: counted(from), to: counted(to) }
    }
}

impl FlowCounters {
    pub fn add(&mut self, other: &FlowCounters) {
        (0..3).for_each(|kind| self.bytes[kind] += other.bytes[kind]);
        self.sent += other.sent;
        self.fast_retransmits += other.fast_retransmits;
        self.timeout_retransmits += other.timeout_retransmits;
        self.spurious_retransmits += other.spurious_retransmits;
        self.timeouts += other.timeouts;
        self.reordered += other.reordered;
        self.drops += other.drops;
        self.marks += other.marks;
        self.ce_packets += other.ce_packets;
        self.echoes += other.echoes;
        self.cwr_packets += other.cwr_packets;
        self.reactions += other.reactions;
        self.total_reaction_s += other.total_reaction_s;
        self.timed_reactions += other.timed_reactions;
        self.lockouts += other.lockouts;
        self.lockout_time += other.lockout_time;
        self.acked_unseen += other.acked_unseen;
    }

    pub fn reaction_mean_s(&self) -> f64 {
        self.total_reaction_s / self.timed_reactions as f64
    }
}

fn mean_rtt(rtt: &Histogram<5>) -> Option<Span> {
    Span::from_secs_f64(rtt.mean_s())
}
