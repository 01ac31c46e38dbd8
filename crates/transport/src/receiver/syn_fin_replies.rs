//! The receiver's replies to SYN and FIN, sent again until they are acknowledged (RFC 9293, sections 3.5 and 3.6; RFC 6298, section 5).

use ecnlab_units::{Span, Time};

use crate::segment::{Segment, SegmentType};

/// How often a reply is sent again before the receiver gives up.
const MAX_REPLY_TRANSMISSIONS: u32 = 6;

/// How far the connection is opened and closed.
#[derive(Debug)]
pub struct SynFinReplies {
    rto: Span,
    /// The reply that waits to be acknowledged.
    unacked_reply: Option<UnackedReply>,
    is_open: bool,
    /// The other direction has a FIN of its own.
    reverse_has_fin: bool,
    /// The number of the FIN, once it has come.
    fin_seq: Option<u64>,
}

/// A reply, when it is to be sent again, and how often it was sent.
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

    /// A segment other than a SYN has come, which may acknowledge the reply that waits.
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

    /// The type of an acknowledgement of all before `next`.
    pub fn ack_type(&self, next: u64) -> SegmentType {
        if !self.reverse_has_fin && self.fin_seq.is_some_and(|fin| fin < next) { SegmentType::Fin } else { SegmentType::Plain }
    }

    /// The other direction has a FIN of its own: none is sent here.
    pub fn suppress_fin_reply(&mut self) {
        self.reverse_has_fin = true;
    }

    /// Whether the FIN has come, so that nothing may be delayed any more.
    pub fn has_fin_arrived(&self) -> bool {
        self.fin_seq.is_some()
    }

    /// An acknowledgement of this type is sent.
    pub fn on_ack_sent(&mut self, segment_type: SegmentType, now: Time) {
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
