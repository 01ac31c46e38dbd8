//! The record of a run, and queries for rules.

use ecnlab_transport::SendCounters;
use ecnlab_transport::settings::PADDED_ACCECN_OPTION_BYTES;
use ecnlab_transport::{Ack, CongestionWindow, Segment, SegmentType, TcpSettings};
use ecnlab_units::Time;

use super::path::PathAction;

/// Cause of a call of the sender.
#[derive(Clone, Debug, PartialEq)]
pub enum StepCause {
    Start,
    Produce,
    Ack(Ack),
    Timer,
}

/// A segment that the sender sent, and the path's result for it.
#[derive(Clone, Debug)]
pub struct RecordedSegment {
    pub segment: Segment,
    pub nth: u32,
    pub actions: Vec<PathAction>,
    /// Window when it was sent, by the sender's last report.
    pub window: CongestionWindow,
}

/// One call of the sender.
#[derive(Clone, Debug)]
pub struct SenderStep {
    pub time: Time,
    pub cause: StepCause,
    pub before: CongestionWindow,
    pub after: CongestionWindow,
    pub una_before: u64,
    pub una: u64,
    pub sent: Vec<RecordedSegment>,
    /// Before and after.
    pub counters: (SendCounters, SendCounters),
    /// The sender's deadline afterwards.
    pub timer: Option<Time>,
    pub ecn: bool,
}

#[derive(Clone, Debug)]
pub struct RecordedAck {
    pub time: Time,
    pub ack: Ack,
    pub actions: Vec<PathAction>,
}

#[derive(Clone, Copy, Debug)]
pub struct ArrivedSegment {
    pub time: Time,
    pub segment: Segment,
    pub delivered: u64,
}

#[derive(Clone, Debug, Default)]
pub struct TransferRecord {
    pub steps: Vec<SenderStep>,
    pub arrived: Vec<ArrivedSegment>,
    pub acks: Vec<RecordedAck>,
    pub counters: SendCounters,
    /// Number of segments to send, with SYN and FIN, and number of those that the receiver delivered.
    pub total_segments: u64,
    pub delivered_segments: u64,
    /// Bytes that the application wrote, and bytes that arrived.
    pub written_bytes: u64,
    pub delivered_bytes: u64,
    /// Time at which all data was acknowledged.
    pub all_acked_at: Option<Time>,
    pub end: Time,
    /// With Accurate ECN: packets with CE that the receiver counted, those that the sender has been told of, and the same of bytes.
    pub received_ce: u64,
    pub reported_ce: u64,
    pub received_ce_bytes: u64,
    pub reported_ce_bytes: u64,
}

/// Application data of a segment; a FIN may carry some.
pub fn payload(settings: &TcpSettings, segment: &Segment) -> u32 {
    let option = if segment.accecn_option { PADDED_ACCECN_OPTION_BYTES } else { 0 };
    let bare = segment.segment_type == SegmentType::Fin && segment.size == settings.quirks.ack_size + option;
    if bare || segment.seq == 0 && settings.has_syn() { 0 } else { segment.size - settings.quirks.header_size - option }
}

impl SenderStep {
    /// Whether this was an RTO: the first outstanding segment is retransmitted at a cwnd of one, or two for Vegas. A retransmission that a
    /// pacer delayed is not an RTO.
    pub fn is_rto(&self) -> bool {
        let (before, after) = self.counters;
        let first_again = self.sent.first().is_some_and(|sent| sent.segment.seq == self.una && sent.window.cwnd <= 2.0);
        let again = after.retransmitted_timeout > before.retransmitted_timeout && first_again;
        self.cause == StepCause::Timer && (after.timeouts > before.timeouts || again)
    }

    pub fn is_ecn_reduction(&self) -> bool {
        self.counters.1.ecn_reactions > self.counters.0.ecn_reactions
    }

    pub fn retransmitted_fast(&self) -> bool {
        self.counters.1.retransmitted_fast > self.counters.0.retransmitted_fast
    }

    pub fn ack(&self) -> Option<&Ack> {
        if let StepCause::Ack(ack) = &self.cause { Some(ack) } else { None }
    }

    /// Whether this is a pure ACK that repeats the last one, and not a SYN-ACK.
    pub fn is_duplicate(&self) -> bool {
        self.ack().is_some_and(|ack| ack.next == self.una_before && ack.segment_type == SegmentType::Plain)
    }
}

impl TransferRecord {
    /// All segments sent, with the step in which each was sent.
    pub fn sent(&self) -> impl Iterator<Item = (&SenderStep, &RecordedSegment)> {
        self.steps.iter().flat_map(|step| step.sent.iter().map(move |sent| (step, sent)))
    }

    /// The nth transmission of a segment, from 1.
    pub fn transmission(&self, seq: u64, nth: u32) -> Option<(&SenderStep, &RecordedSegment)> {
        self.sent().find(|(_, sent)| sent.segment.segment_type != SegmentType::PureAck && (sent.segment.seq, sent.nth) == (seq, nth))
    }

    pub fn times_sent(&self, seq: u64) -> usize {
        self.sent().filter(|(_, sent)| sent.segment.segment_type != SegmentType::PureAck && sent.segment.seq == seq).count()
    }

    pub fn timeouts(&self) -> usize {
        self.steps.iter().filter(|step| step.is_rto()).count()
    }

    pub fn ecn_reductions(&self) -> impl Iterator<Item = &SenderStep> {
        self.steps.iter().filter(|step| step.is_ecn_reduction())
    }

    /// Calls that lowered ssthresh, each of which is a reduction.
    pub fn ssthresh_reductions(&self) -> impl Iterator<Item = &SenderStep> {
        self.steps.iter().filter(|step| step.after.ssthresh < step.before.ssthresh)
    }

    /// Segments other than the SYN with CWR.
    pub fn segments_with_cwr(&self) -> impl Iterator<Item = (&SenderStep, &RecordedSegment)> {
        self.sent().filter(|(_, sent)| sent.segment.cwr && sent.segment.seq > 0)
    }

    pub fn retransmissions(&self) -> impl Iterator<Item = (&SenderStep, &RecordedSegment)> {
        self.sent().filter(|(_, sent)| sent.segment.retransmission)
    }
}
