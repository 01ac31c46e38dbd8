//! The record of a run, and the questions that rules ask of it.

use ecnlab_transport::SendCounters;
use ecnlab_transport::{Ack, CongestionWindow, Segment, SegmentType, Settings};
use ecnlab_units::Time;

use super::path::PathAction;

/// Why the sender was called.
#[derive(Clone, Debug, PartialEq)]
pub enum StepCause {
    Start,
    Produce,
    Ack(Ack),
    Timer,
}

/// A segment that the sender made, and what the path did to it.
#[derive(Clone, Debug)]
pub struct RecordedSegment {
    pub segment: Segment,
    pub nth: u32,
    pub deeds: Vec<PathAction>,
    /// The window when it was sent, as far as the sender had told of it.
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
    pub deeds: Vec<PathAction>,
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
    /// Segments there were to send, SYN and FIN counted, and how many of them the receiver could deliver.
    pub total_segments: u64,
    pub delivered_segments: u64,
    /// Bytes that the application gave, and those of them that arrived.
    pub written_bytes: u64,
    pub delivered_bytes: u64,
    /// When all was acknowledged, if it was.
    pub all_acked_at: Option<Time>,
    pub end: Time,
}

/// Application data that a segment carries. A FIN may carry some.
pub fn payload(settings: &Settings, segment: &Segment) -> u32 {
    let bare = segment.segment_type == SegmentType::Fin && segment.size == settings.quirks.ack_size;
    if bare || segment.seq == 0 && settings.has_syn() { 0 } else { segment.size - settings.quirks.header_size }
}

impl SenderStep {
    /// The retransmission timer expired: the first segment outstanding goes again, in a window of one, Vegas' of two. What a pacer
    /// lets go later is none.
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

    /// Neither SYN-ACK nor anything but an acknowledgement that repeats the last one.
    pub fn is_duplicate(&self) -> bool {
        self.ack().is_some_and(|ack| ack.next == self.una_before && ack.segment_type == SegmentType::Plain)
    }
}

impl TransferRecord {
    /// Everything sent, with the step it was sent in.
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

    /// Calls in which the threshold came down: each is a cut, as nothing else lowers it.
    pub fn ssthresh_reductions(&self) -> impl Iterator<Item = &SenderStep> {
        self.steps.iter().filter(|step| step.after.ssthresh < step.before.ssthresh)
    }

    /// Segments other than the SYN that carried CWR.
    pub fn segments_with_cwr(&self) -> impl Iterator<Item = (&SenderStep, &RecordedSegment)> {
        self.sent().filter(|(_, sent)| sent.segment.cwr && sent.segment.seq > 0)
    }

    pub fn retransmissions(&self) -> impl Iterator<Item = (&SenderStep, &RecordedSegment)> {
        self.sent().filter(|(_, sent)| sent.segment.retransmission)
    }
}
