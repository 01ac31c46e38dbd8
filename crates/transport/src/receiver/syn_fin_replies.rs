//! The receiver's replies to SYN and FIN, retransmitted until they are acknowledged (RFC 9293, sections 3.5 and 3.6; RFC 6298, section 5).

use ecnlab_units::{Span, Time};

use crate::segment::{Segment, SegmentType};

/// Number of retransmissions of a reply before the receiver gives up.
const MAX_REPLY_TRANSMISSIONS: u32 = 6;

/// State of the handshake and of the close.
#[derive(Debug)]
pub struct SynFinReplies {
    rto: Span,
    /// The reply that is not acknowledged yet.
    unacked_reply: Option<UnackedReply>,
    is_open: bool,
    /// The reverse direction sends its own FIN.
    reverse_has_fin: bool,
    /// Sequence number of the FIN, once it has arrived.
    fin_seq: Option<u64>,
}

/// A reply, its retransmission deadline, and its number of transmissions.
#[derive(Clone, Copy, Debug)]
struct UnackedReply {
    segment_type: SegmentType,
    retransmit_at: Time,
    transmissions: u32,
}

impl SynFinReplies {
    pub fn new(rto: Span) -> SynFinReplies {
        SynFinReplies { rto, unacked_reply: None, is_open: false, reverse_has_fin: false, fin_seq: None }
    }

    /// Processes a segment other than a SYN, which may acknowledge the pending reply.
    pub fn on_segment(&mut self, segment: &Segment) {
        let opens = !self.is_open;
        self.is_open = true;
        if segment.segment_type == SegmentType::Fin {
            self.fin_seq = Some(segment.seq);
        }
        if opens || segment.segment_type == SegmentType::PureAck && self.fin_seq.is_some() {
            self.unacked_reply = None;
        }
    }

    /// Segment type of an ACK of all segments before `next`.
    pub fn plain_or_fin_ack_type(&self, next: u64) -> SegmentType {
        if !self.reverse_has_fin && self.fin_seq.is_some_and(|fin| fin < next) { SegmentType::Fin } else { SegmentType::Plain }
    }

    /// Suppresses the FIN reply, because the reverse direction sends its own FIN.
    pub fn suppress_close_on_fin(&mut self) {
        self.reverse_has_fin = true;
    }

    /// Whether the FIN has arrived, so that no ACK may be delayed any more.
    pub fn has_fin_arrived(&self) -> bool {
        self.fin_seq.is_some()
    }

    /// Records that an ACK of this type is sent.
    pub fn on_reply_sent(&mut self, segment_type: SegmentType, now: Time) {
        let settled = segment_type == SegmentType::Plain || segment_type == SegmentType::Syn && self.is_open;
        if !settled && self.unacked_reply.is_none() {
            self.unacked_reply = Some(UnackedReply { segment_type, retransmit_at: now + self.rto, transmissions: 1 });
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.unacked_reply.map(|waiting| waiting.retransmit_at)
    }

    /// Handles the deadline; returns the type of the reply to retransmit.
    pub fn on_timer(&mut self, now: Time) -> Option<SegmentType> {
        let waiting = self.unacked_reply.as_mut().filter(|waiting| waiting.retransmit_at <= now)?;
        //= RFC 9293, section 3.6: the FIN is sent until it is acknowledged
        let segment_type = waiting.segment_type;
        waiting.transmissions += 1;
        waiting.retransmit_at = now + self.rto * (1 << (waiting.transmissions - 1));
        if waiting.transmissions > MAX_REPLY_TRANSMISSIONS {
            self.unacked_reply = None;
        }
        Some(segment_type)
    }
}
