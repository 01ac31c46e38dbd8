//! Transmission: new segments as far as the window allows, and single retransmissions.

use ecnlab_units::{Ecn, Time};

use super::{NO_SEGMENT, SenderOutput, Tcb};
use crate::congestion::{CongestionControl, Prague};
use crate::segment::{Segment, SegmentType};
use crate::settings::Handshake;

impl Tcb {
    /// Sends new segments as far as the window allows, at most `most` and at most the sender's burst limit.
    #[inline]
    pub fn send_new_segments(&mut self, most: u64, now: Time, out: &mut impl SenderOutput) {
        let mut left = most.min(self.max_burst());
        //= RFC 9293, section 3.8.6: nothing beyond the receiver's window
        //= RFC 9293, section 3.8.6: the receiver's window is used
        // What has gone once may go again whatever the other side offers now (RFC 9293, section 3.8.6).
        let limit = self.queued_segments().min(self.snd_una + self.usable_window()).min(self.rwnd_right_edge.max(self.snd_max));
        //= RFC 9293, section 3.4: nothing is sent twice
        while self.snd_nxt < limit && left > 0 && self.gate_allows_send_or_sets_timer(now) {
            self.send_next_segment(now, out);
            left -= 1;
        }
    }

    /// Maximum number of segments in response to one ACK.
    pub fn max_burst(&self) -> u64 {
        if self.settings.quirks.max_burst == 0 { u64::MAX } else { self.settings.quirks.max_burst }
    }

    /// Sends the next segment.
    fn send_next_segment(&mut self, now: Time, out: &mut impl SenderOutput) {
        self.transmit(self.snd_nxt, now, out);
        self.snd_nxt += 1;
    }

    /// Sends one new segment beyond cwnd for a duplicate ACK (limited transmit, RFC 3042).
    pub fn send_limited_transmit(&mut self, now: Time, out: &mut impl SenderOutput) {
        let in_receiver_window = self.snd_nxt < (self.snd_una + self.settings.max_rwnd).min(self.rwnd_right_edge);
        let in_limited_window = (self.snd_nxt + 1) as f64 <= self.snd_una as f64 + self.window.cwnd + f64::from(self.dupacks);
        //= RFC 3042, section 2: a new segment for each of the first two duplicates
        if in_receiver_window && in_limited_window && self.snd_nxt < self.queued_segments() {
            self.send_next_segment(now, out);
        }
    }

    /// Retransmits a segment whose loss ACKs indicate.
    pub fn fast_retransmit_segment(&mut self, seq: u64, now: Time, out: &mut impl SenderOutput) {
        let by_timeout = self.counters.retransmitted_timeout;
        self.transmit(seq, now, out);
        // With nothing outstanding this sends new data, which is not a retransmission.
        self.counters.retransmitted_fast += self.counters.retransmitted_timeout - by_timeout;
        self.counters.retransmitted_timeout = by_timeout;
    }

    /// Sends a new or retransmitted segment, and starts the retransmission timer if it is not running.
    #[inline(never)]
    pub fn transmit(&mut self, seq: u64, now: Time, out: &mut impl SenderOutput) {
        let nothing_outstanding = self.snd_una == self.snd_max;
        self.transmit_without_timer(seq, now, out);
        //= RFC 6298, section 5.1: the timer runs while data is outstanding
        if self.rto_deadline == Time::NEVER || nothing_outstanding {
            self.restart_rto_timer(now);
        }
    }

    /// Retransmits a segment, `by_timeout` or not, and leaves the timer to the caller.
    #[inline(never)]
    pub fn retransmit_without_timer(&mut self, seq: u64, by_timeout: bool, now: Time, out: &mut impl SenderOutput) {
        self.transmit_without_timer(seq, now, out);
        if !by_timeout {
            self.counters.retransmitted_timeout -= 1;
            self.counters.retransmitted_fast += 1;
        }
    }

    /// Notifies congestion control that sending restarts with nothing in flight.
    pub fn pass_idle_restart_to_control(&mut self, now: Time) {
        self.control.on_restart_after_idle(now, self.last_sent_at);
    }

    /// Whether Nagle's algorithm lets a new segment go: a segment below full size may have to wait for more data.
    #[inline]
    pub fn may_send_by_nagle(&self, seq: u64) -> bool {
        !self.send_buffer.waits_by_nagle(seq, self.snd_una, self.snd_max)
    }

    /// Sets PSH on the next segment.
    pub fn set_push_on_next(&mut self) {
        self.push_next_segment = true;
    }

    /// Sends a new or retransmitted segment, and leaves the timer to the caller.
    // Inlined into both callers of the hot path, which costs less than a further call.
    #[inline(always)]
    pub fn transmit_without_timer(&mut self, seq: u64, now: Time, out: &mut impl SenderOutput) {
        let retransmission = seq < self.snd_max;
        let segment = Segment {
            seq,
            size: self.settings.packet_size,
            segment_type: SegmentType::Plain,
            //= RFC 3168, section 6.1.5: retransmissions are not capable
            //= RFC 3168, section 6.1.1: without ECN nothing of ECN is sent
            ecn: if self.ecn.sets_ect() && (!retransmission || self.settings.quirks.ect_on_retransmission || self.has_ect_on_all_packets())
            {
                self.settings.ect_codepoint.ecn()
            } else {
                Ecn::NotEct
            },
            //= RFC 3168, section 6.1.2: CWR on the first new segment after a cut, and once
            cwr: self.ecn.is_cwr_queued() && self.may_carry_cwr(seq),
            ece: false,
            retransmission,
            // Both are evaluated: a bundle's PSH is for this segment alone.
            push: self.send_buffer.carries_psh(seq, !retransmission) | std::mem::take(&mut self.push_next_segment),
            ae: false,
            accecn_option: false,
        };
        if seq > 0 && !self.ecn.is_accurate() && self.send_buffer.has_only_full_sized_segments_before(seq + 1) {
            self.ecn.on_segment_sent(segment.cwr);
            out.send(segment);
        } else {
            let segment = self.with_type_and_accecn_fields(segment);
            self.ecn.on_segment_sent(segment.cwr);
            out.send(segment);
        }
        self.counters.sent += 1;
        self.last_sent_at = now;
        if retransmission {
            self.counters.retransmitted_timeout += 1;
        } else {
            self.snd_max = seq + 1;
            if self.timed_segment == NO_SEGMENT {
                (self.timed_segment, self.timed_segment_sent_at) = (seq, now);
            }
        }
        if let Some(gate) = &mut self.send_gate {
            let is_data = self.send_buffer.type_carries_data(self.send_buffer.segment_type(seq));
            let payload = if is_data { self.send_buffer.segment_payload(seq) } else { 0 };
            gate.on_sent(payload, &self.window, self.rtt_stats.srtt(), now);
        }
    }

    /// The segment with its type and size, and the fields of Accurate ECN if that is in use.
    #[inline(never)]
    fn with_type_and_accecn_fields(&self, mut segment: Segment) -> Segment {
        if segment.seq == 0 || !self.send_buffer.has_only_full_sized_segments_before(segment.seq + 1) {
            segment = self.with_segment_type_and_size(segment);
        }
        if self.ecn.is_accurate() && segment.segment_type != SegmentType::Syn { self.with_accurate_fields(segment) } else { segment }
    }

    /// Payload that congestion control allows a segment; none if it does not limit it.
    #[inline]
    fn control_payload_limit(&self) -> Option<u32> {
        let mss = if self.control_sets_cwnd { self.control.prague().map(Prague::mss) } else { None };
        mss.map(|mss| mss as u32 - self.accecn_option_bytes())
    }

    /// Whether the next new segment has to be fitted to the payload that congestion control allows.
    #[inline]
    pub fn is_next_segment_limited_by_control(&self) -> bool {
        self.control_payload_limit().is_some_and(|most| {
            most < self.send_buffer.full_payload() || !self.send_buffer.has_only_full_sized_segments_before(self.snd_max + 1)
        })
    }

    /// Fits the next new segment to the payload that congestion control allows.
    #[inline(never)]
    pub fn fit_next_segment_to_control(&mut self) {
        let (seq, limit) = (self.snd_max, self.control_payload_limit());
        if let Some(most) = limit
            && seq < self.queued_segments()
            && self.send_buffer.type_carries_data(self.send_buffer.segment_type(seq))
        {
            self.send_buffer.resize_unsent_segment(seq, most, self.snd_max);
            self.recompute_rwnd_right_edge();
        }
    }

    /// Whether a segment may carry CWR.
    fn may_carry_cwr(&self, seq: u64) -> bool {
        if !self.ecn.in_use() && !self.settings.quirks.cwr_without_ecn {
            return false;
        }
        //= RFC 3168, section 6.1.2: CWR goes on new data
        let is_new = if self.settings.quirks.cwr_on_highest_packet { seq + 1 >= self.snd_max } else { seq >= self.snd_max };
        self.settings.quirks.cwr_on_retransmission || is_new
    }

    /// Sets type and size if this is the first segment, the FIN, or shorter than a full payload.
    #[cold]
    fn with_segment_type_and_size(&self, mut segment: Segment) -> Segment {
        let settings = &self.settings;
        segment.segment_type = self.send_buffer.segment_type(segment.seq);
        match segment.segment_type {
            segment_type if self.send_buffer.type_carries_data(segment_type) => {
                segment.size = self.send_buffer.segment_payload(segment.seq) + settings.quirks.header_size + self.accecn_option_bytes()
            }
            SegmentType::Fin => {
                let ecn = if self.has_ect_on_all_packets() { segment.ecn } else { Ecn::NotEct };
                segment = Segment { size: settings.quirks.ack_size + self.accecn_option_bytes(), ecn, cwr: false, ..segment };
            }
            SegmentType::Plain | SegmentType::Syn | SegmentType::PureAck => {}
        }
        if segment.seq == 0 { self.with_ecn_offer(segment) } else { segment }
    }

    /// Whether all packets of the connection are ECN-capable: of DCTCP, and with Accurate ECN once the peer has agreed.
    pub(super) fn has_ect_on_all_packets(&self) -> bool {
        self.ecn.is_accurate() || self.settings.uses_ect_on_all_packets()
    }

    /// Sets the ECN offer on the first segment, if there is a peer to answer it.
    fn with_ecn_offer(&self, mut segment: Segment) -> Segment {
        let settings = &self.settings;
        if settings.quirks.syn_size > 0 {
            segment.size = settings.quirks.syn_size;
        }
        if settings.offers_ecn() {
            let three_way = settings.handshake == Handshake::ThreeWay;
            //= RFC 3168, section 6.1.1.1: the second SYN offers nothing
            let offers = self.ecn.in_use() && !(three_way && segment.retransmission && settings.quirks.ecn_fallback);
            segment.ece = offers;
            segment.cwr |= offers && three_way;
            if self.ecn.is_accurate() {
                //= RFC 9768, section 3.1.1: the SYN asks with 111
                let offers = self.syn_offers_accurate(segment.retransmission);
                segment.set_ace(if offers { 0b111 } else { 0 });
            }
        }
        //= RFC 3168, section 6.1.1: the SYN offers ECN with both bits and is not capable itself
        //= RFC 3168, sections 6.1.1 and 6.1.4: all data is capable and nothing else
        if settings.offers_ecn() || segment.segment_type == SegmentType::Syn {
            // A retransmitted SYN too, although it offers no ECN (Linux tcp_ecn_clear_syn).
            segment.ecn = if settings.ecn && settings.uses_ect_on_all_packets() { settings.ect_codepoint.ecn() } else { Ecn::NotEct };
        }
        segment
    }

    /// Whether pacing and the processing time let a segment leave now; if not, the sender's timer is set.
    #[inline(always)]
    pub fn gate_allows_send_or_sets_timer(&mut self, now: Time) -> bool {
        self.send_gate.as_mut().is_none_or(|gate| gate.may_send_or_set_timer(now))
    }

    /// Whether pacing lets a segment leave now; if not, the sender's timer is set.
    pub fn pacing_allows_send_or_sets_timer(&mut self, now: Time) -> bool {
        self.send_gate.as_mut().is_none_or(|gate| gate.pacing_allows_or_sets_timer(now))
    }

    /// Whether the processing time of a segment that may go otherwise is over; if not, the sender's timer is set.
    pub fn processing_allows_send_or_sets_timer(&mut self, now: Time) -> bool {
        self.send_gate.as_mut().is_none_or(|gate| gate.processing_allows_or_sets_timer(now))
    }

    /// Whether pacing or a processing time may delay segments.
    #[inline]
    pub fn has_send_gate(&self) -> bool {
        self.send_gate.is_some()
    }

    /// Starts a transmission from the timer of the send gate.
    pub fn on_send_gate_timer(&mut self, now: Time) {
        if let Some(gate) = &mut self.send_gate {
            gate.on_timer(now);
        }
    }

    /// Ends a transmission from the timer of the send gate.
    pub fn clear_send_gate_elapsed_wait(&mut self) {
        if let Some(gate) = &mut self.send_gate {
            gate.clear_elapsed_wait();
        }
    }
}
