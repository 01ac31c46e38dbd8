//! Datagrams (RFC 768): no ACKs, no retransmissions, no congestion control.

use std::collections::VecDeque;

use ecnlab_units::{Ecn, Time, parameters, words};

use crate::application::AppWrite;
use crate::processing::ProcessingTime;
use crate::segment::{Segment, SegmentType};
use crate::tcb::{SendCounters, SenderOutput};

parameters! {
    /// A sender of datagrams as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct DatagramSettings {
        /// Size of a full packet on the wire, headers included.
        #[source("ns-2 Agent/UDP, packetSize_")]
        pub packet_size: u32 = "1000", 1..=65_535, "bytes";
        /// Header bytes in a packet.
        #[source("RFC 768; RFC 791: 8 bytes after 20")]
        pub header: u32 = "28", 0..=1000, "bytes";
        /// Codepoint of the packets. A sender with a codepoint other than not-ect promises a response to marks; these senders do not
        /// respond.
        #[source("RFC 8085, section 3.1.7")]
        pub ecn: DatagramEcn = "not-ect";
    }
}

words! {
    /// Codepoint of datagrams.
    pub enum DatagramEcn { NotEct = "not-ect", Ect0 = "ect0", Ect1 = "ect1" }
}

impl DatagramEcn {
    pub fn codepoint(self) -> Ecn {
        match self {
            DatagramEcn::NotEct => Ecn::NotEct,
            DatagramEcn::Ect0 => Ecn::Ect0,
            DatagramEcn::Ect1 => Ecn::Ect1,
        }
    }
}

impl DatagramSettings {
    /// Application data in a full packet, in bytes.
    pub fn payload(&self) -> u32 {
        self.packet_size - self.header
    }

    /// Contradictions as pairs of parameter name and explanation.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let DatagramSettings { packet_size, header, .. } = self;
        let wrong = header >= packet_size;
        wrong.then(|| ("header", format!("{header} bytes must be below packet_size {packet_size}"))).into_iter().collect()
    }
}

/// Sends each write at once, or after the host's processing time.
pub struct DatagramSender {
    settings: DatagramSettings,
    /// Number of the next datagram.
    next: u64,
    counters: SendCounters,
    processing: Option<Box<DelayedDatagrams>>,
}

/// Host processing time, with the datagrams that wait for its end.
struct DelayedDatagrams {
    time: ProcessingTime,
    waiting: VecDeque<Segment>,
}

impl DatagramSender {
    pub fn new(settings: DatagramSettings) -> DatagramSender {
        DatagramSender { settings, next: 0, counters: SendCounters::default(), processing: None }
    }

    /// Adds a random processing time before datagrams leave.
    pub fn set_processing_time(&mut self, time: ProcessingTime) {
        self.processing = Some(Box::new(DelayedDatagrams { time, waiting: VecDeque::new() }));
    }

    /// Sends a write as full packets and a short one for the rest.
    pub fn write(&mut self, app_write: &AppWrite, now: Time, out: &mut impl SenderOutput) {
        let full = u64::from(self.settings.payload());
        let mut left = app_write.bytes;
        while left > 0 {
            let payload = left.min(full);
            left -= payload;
            self.send_or_delay_datagram(payload as u32, now, out);
        }
    }

    fn send_or_delay_datagram(&mut self, payload: u32, now: Time, out: &mut impl SenderOutput) {
        let bare = Segment::plain(self.next, payload + self.settings.header);
        let segment = Segment { segment_type: SegmentType::Plain, ecn: self.settings.ecn.codepoint(), ..bare };
        self.next += 1;
        if let Some(processing) = &mut self.processing
            && !processing.time.may_send_or_start_wait(now)
        {
            return processing.waiting.push_back(segment);
        }
        out.send(segment);
        self.counters.sent += 1;
    }

    /// Time at which waiting datagrams leave.
    pub fn processing_deadline(&self) -> Option<Time> {
        self.processing.as_ref().and_then(|processing| processing.time.deadline())
    }

    /// Sends the datagrams whose processing time has ended.
    pub fn on_timer(&mut self, now: Time, out: &mut impl SenderOutput) {
        let Some(processing) = &mut self.processing else { return };
        processing.time.on_timer(now);
        if processing.time.may_send_or_start_wait(now) {
            self.counters.sent += processing.waiting.len() as u64;
            processing.waiting.drain(..).for_each(|segment| out.send(segment));
        }
        processing.time.clear_finished_wait();
    }

    pub fn counters(&self) -> &SendCounters {
        &self.counters
    }

    /// Application data in a datagram of `size` bytes on the wire.
    pub fn payload_of_size(&self, size: u32) -> u32 {
        size - self.settings.header
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Rng, Span};

    use super::*;

    #[test]
    fn a_demand_goes_out_at_once_in_full_packets_and_a_short_one() {
        let settings = DatagramSettings { packet_size: 1000, header: 28, ecn: DatagramEcn::Ect0 };
        let (mut sender, mut sent) = (DatagramSender::new(settings), Vec::new());
        sender.write(&AppWrite::keep_open(2 * 972 + 1), Time::ZERO, &mut sent);
        sender.write(&AppWrite::keep_open(100), Time::ZERO, &mut sent);
        let told: Vec<_> = sent.iter().map(|segment| (segment.seq, segment.size, segment.ecn)).collect();
        assert_eq!(vec![(0, 1000, Ecn::Ect0), (1, 1000, Ecn::Ect0), (2, 29, Ecn::Ect0), (3, 128, Ecn::Ect0)], told);
        assert_eq!((4, 1), (sender.counters().sent, sender.payload_of_size(29)));
    }

    #[test]
    fn datagrams_wait_for_the_processing_time_in_order() {
        let settings = DatagramSettings { packet_size: 1000, header: 28, ecn: DatagramEcn::NotEct };
        let (mut sender, mut sent) = (DatagramSender::new(settings), Vec::new());
        let max = Span::from_millis(8);
        sender.set_processing_time(ProcessingTime::new(max, Rng::for_role(1, "processing time")));
        sender.write(&AppWrite::keep_open(972), Time::ZERO, &mut sent);
        let until = sender.processing_deadline().unwrap();
        assert!(until < Time::ZERO + max);
        sender.write(&AppWrite::keep_open(2 * 972), Time::ZERO + Span::from_picos(1), &mut sent);
        assert_eq!((Some(until), 0, 0), (sender.processing_deadline(), sent.len(), sender.counters().sent));
        sender.on_timer(until, &mut sent);
        assert_eq!(vec![0, 1, 2], sent.iter().map(|segment| segment.seq).collect::<Vec<_>>());
        assert_eq!((None, 3), (sender.processing_deadline(), sender.counters().sent));
    }

    #[test]
    fn headers_leave_room_for_data() {
        assert!(
            DatagramSettings { packet_size: 28, header: 28, ecn: DatagramEcn::NotEct }.check().iter().any(|(name, _)| *name == "header")
        );
    }
}
