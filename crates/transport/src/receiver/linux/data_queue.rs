//! Processing of a data segment by the Linux receiver: where it is stored, and the information on the sender and the path.
//!
//! ```text
//! before the last ACK, or               acknowledged at once (RFC 9293, section 3.10.7.4; RFC 7323, section 5.3), and reported by
//! older by its timestamp                DSACK if it is a duplicate (RFC 2883)
//! before rcv_nxt                        dropped, reported, quick ACK
//! at rcv_nxt, and it fits               stored, with the out-of-order segments after it
//! at rcv_nxt, and it does not fit       dropped, quick ACK: a probe of the window
//! beyond rcv_nxt                        stored and reported
//! ```

use ecnlab_units::Time;

use super::comp_sack::CompressedSacks;
use super::rcvbuf::{QueuedSegment, ReceiveBuffer};
use super::{LinuxReceiver, PADDED_ACCECN_OPTION_BYTES, rcvbuf};
use crate::segment::{Segment, SegmentType};

/// Quick ACKs after a mark, or after a segment that is not ECN-capable among others that are.
const QUICK_ACKS_AFTER_MARK: u32 = 2;

/// Quick ACKs after a duplicate segment, as at the start of a usual connection (Linux TCP_MAX_QUICKACKS).
const QUICK_ACKS_AFTER_DUPLICATE: u32 = 16;

/// Smaller segments do not grow the window.
const MIN_PAYLOAD_FOR_WINDOW_GROWTH: u32 = 128;

/// Tolerance by which a timestamp may be older than the last one, in milliseconds (RFC 7323, section 5).
const MAX_TIMESTAMP_REGRESSION_MS: u64 = 1;

impl LinuxReceiver {
    /// Whether a segment's timestamp is older than the last echoed one (PAWS; RFC 7323, section 5.3).
    fn fails_paws(&self, sent: Time) -> bool {
        self.timestamps && self.clock.millis(self.ts_recent.0) > self.clock.millis(sent) + MAX_TIMESTAMP_REGRESSION_MS
    }

    /// Updates TS.Recent by a segment that starts at the last ACK number or before (RFC 7323, section 4.3).
    pub(super) fn update_ts_recent(&mut self, segment: &Segment, sent: Time) {
        if segment.seq <= self.rcv_wup && self.clock.millis(sent) >= self.clock.millis(self.ts_recent.0) {
            self.ts_recent = (sent, segment.retransmission);
        }
    }

    /// Processes a segment with data, or the FIN.
    pub(super) fn on_data(&mut self, segment: &Segment, sent: Time, now: Time) {
        if self.fails_paws(sent) || segment.seq + 1 < self.rcv_wup {
            self.ack_duplicate(segment, now);
            return;
        }
        let payload = self.payload_of_segment(segment);
        self.count_ecn(segment, payload, self.has_newer_timestamp(segment, sent));
        if segment.cwr && self.accurate.is_none() {
            self.ecn_echo.on_cwr();
            self.ack_scheduler.set_ack_now();
        }
        self.update_ts_recent(segment, sent);
        self.rcv_rtt.on_segment(payload >= self.ack_scheduler.rcv_mss(), sent, now);
        self.ofo_queue.discard_dsack();
        self.queue_data(segment, payload, now);
        self.send_or_schedule_ack(now);
        self.run_reader(now);
    }

    fn payload_of_segment(&self, segment: &Segment) -> u32 {
        segment.size.saturating_sub(self.header + option_bytes(segment))
    }

    pub(super) fn last_advertised_window(&self) -> Option<i64> {
        self.receive_buffer.as_ref().map(ReceiveBuffer::last_window)
    }

    fn queue_data(&mut self, segment: &Segment, payload: u32, now: Time) {
        let (memory, spare) = (rcvbuf::truesize_of(segment.size), rcvbuf::tailroom_of(segment.size));
        let stored = QueuedSegment { payload, memory, tailroom: spare, fin: segment.segment_type == SegmentType::Fin };
        if segment.seq < self.rcv_nxt {
            self.report_duplicate(segment.seq);
            self.drop_and_ack_now();
        } else if segment.seq > self.rcv_nxt {
            self.queue_out_of_order(segment, stored, now);
        } else if self.receive_buffer.as_ref().is_some_and(|room| room.receive_window(self.received_bytes) == 0) {
            self.drop_and_ack_now();
        } else if self.app_reader.has_nothing_to_read() || self.has_buffer_space() {
            self.queue_in_order(segment, stored, now);
        }
    }

    /// Reports a segment that was received before by DSACK.
    fn report_duplicate(&mut self, seq: u64) {
        if let Some(accurate) = &mut self.accurate {
            accurate.detect_option_drop(seq);
        }
        self.ofo_queue.set_dsack(seq);
    }

    /// Drops the segment and acknowledges it at once.
    fn drop_and_ack_now(&mut self) {
        self.ack_scheduler.enter_quickack_mode(QUICK_ACKS_AFTER_DUPLICATE, self.last_advertised_window());
        self.ack_scheduler.schedule_ack();
    }

    /// Whether there is memory for one more segment; if not, it is dropped without an ACK.
    fn has_buffer_space(&mut self) -> bool {
        let Some(room) = self.receive_buffer.as_mut().filter(|room| room.is_over_limit()) else { return true };
        self.ack_scheduler.clear_quick_acks();
        room.clamp_window()
    }

    /// Queues the expected segment, with the out-of-order segments that follow it.
    fn queue_in_order(&mut self, segment: &Segment, stored: QueuedSegment, now: Time) {
        if let Some(room) = &mut self.receive_buffer {
            room.charge(stored.memory);
        }
        self.append_and_advance_rcv_nxt(stored);
        if stored.payload > 0 {
            self.update_estimates_on_data(segment, stored, now);
        }
        self.on_fin(stored);
        if !self.ofo_queue.is_empty() {
            while let Some(stored) = self.ofo_queue.pop_next(self.rcv_nxt) {
                self.append_and_advance_rcv_nxt(stored);
                self.on_fin(stored);
            }
            if self.ofo_queue.is_empty() {
                self.ack_scheduler.set_ack_now();
            }
            self.ofo_queue.drop_blocks_before(self.rcv_nxt);
        }
    }

    fn append_and_advance_rcv_nxt(&mut self, stored: QueuedSegment) {
        self.rcv_nxt += 1;
        self.received_bytes += u64::from(stored.payload) + u64::from(stored.fin);
        let merged = self.app_reader.push_segment(stored);
        if let Some(room) = self.receive_buffer.as_mut().filter(|_| merged) {
            room.uncharge(stored.memory);
        }
    }

    /// Processes the FIN: the application will close too, and its FIN carries the ACK.
    fn on_fin(&mut self, stored: QueuedSegment) {
        if stored.fin {
            self.fin_received = true;
            self.ack_scheduler.schedule_ack();
            self.ack_scheduler.enter_pingpong_mode();
        }
    }

    /// Updates the estimates of sender and path after new data in order.
    fn update_estimates_on_data(&mut self, segment: &Segment, stored: QueuedSegment, now: Time) {
        let window = self.last_advertised_window();
        if stored.payload > self.ack_scheduler.rcv_mss()
            && let Some(room) = &mut self.receive_buffer
        {
            room.measure_share(stored);
        }
        self.ack_scheduler.on_data(stored.payload, option_bytes(segment), segment.push || stored.fin, now, self.quick_acks, window);
        self.rcv_rtt.on_window_progress(self.received_bytes, window.map_or(u64::MAX / 2, |window| window as u64), now);
        self.on_ecn_field(segment, now);
        if stored.payload >= MIN_PAYLOAD_FOR_WINDOW_GROWTH {
            self.grow_window(stored);
        }
    }

    fn grow_window(&mut self, stored: QueuedSegment) {
        let segment = self.ack_scheduler.rcv_mss();
        if self.receive_buffer.as_mut().is_some_and(|room| room.grow_rcv_ssthresh(stored, segment)) {
            self.ack_scheduler.on_window_grown();
        }
    }

    fn on_ecn_field(&mut self, segment: &Segment, now: Time) {
        if self.ecn_echo.changes_ce_state(segment) {
            if self.ack_scheduler.is_timer_planned() {
                self.send_ack_before_ce_change(now);
            }
            self.ack_scheduler.set_ack_now();
        }
        if segment.ecn.is_capable() {
            self.rcv_nxt_before_ce = self.rcv_nxt;
        }
        if self.ecn_echo.on_ecn_field(segment) {
            self.ack_scheduler.enter_quickack_mode(QUICK_ACKS_AFTER_MARK, self.last_advertised_window());
        }
    }

    /// Queues a segment beyond a gap, possibly a duplicate.
    fn queue_out_of_order(&mut self, segment: &Segment, stored: QueuedSegment, now: Time) {
        self.on_ecn_field(segment, now);
        if !self.has_buffer_space() {
            return;
        }
        self.ack_scheduler.schedule_ack();
        let seq = segment.seq;
        let (is_first, twice) = (self.ofo_queue.is_empty(), self.ofo_queue.contains(seq));
        if twice {
            self.ofo_queue.set_dsack(seq);
        }
        // A waiting compressed SACK is sent with the blocks before this segment, if this segment starts a new block beyond the second. No
        // further ACK is sent for this segment.
        if !is_first && self.ofo_queue.block_position(seq) >= 2 && self.compressed_sacks.as_ref().is_some_and(CompressedSacks::is_pending) {
            // Covers the ACK of this segment too (Linux tcp_sack_compress_send_ack).
            self.send_ack(SegmentType::Plain, now);
        }
        if !twice {
            self.ofo_queue.insert(seq, stored);
        }
        self.ofo_queue.add_to_sack_blocks(seq);
        if !twice {
            if self.ofo_queue.is_sack_enabled() {
                self.grow_window(stored);
            }
            if let Some(room) = &mut self.receive_buffer {
                room.charge(stored.memory);
            }
        }
    }

    /// Acknowledges a segment that is older than the last ACK.
    fn ack_duplicate(&mut self, segment: &Segment, now: Time) {
        if segment.seq < self.rcv_nxt {
            self.ack_scheduler.enter_quickack_mode(QUICK_ACKS_AFTER_DUPLICATE, self.last_advertised_window());
            self.report_duplicate(segment.seq);
        }
        self.send_ack(SegmentType::Plain, now);
    }
}

/// Bytes of a segment's options beside the timestamps.
fn option_bytes(segment: &Segment) -> u32 {
    if segment.accecn_option { PADDED_ACCECN_OPTION_BYTES } else { 0 }
}
