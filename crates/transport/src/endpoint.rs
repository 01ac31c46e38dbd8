//! Endpoints of a flow: the engine's interface to senders and receivers.
//!
//! TCP connections and datagrams share this interface. Values that only one of them has, such as a window or an RTT, are optional.

use std::sync::Arc;

use ecnlab_units::{Ecn, EcnSemantics, Span, Time};

use self::DatagramOrExternalSender::{Datagrams, External};
use crate::application::AppWrite;
use crate::clock::{self, HostClock};
use crate::congestion::CongestionWindow;
use crate::datagram::{self, DatagramSender};
use crate::external::ExternalSender;
use crate::processing::ProcessingTime;
use crate::receiver::{AccurateReceiver, ReceiveOutcome, Receiver};
use crate::segment::{Ack, Segment};
use crate::send_buffer::SendBuffer;
use crate::sender::Sender;
use crate::settings::TcpSettings;
use crate::tcb::{SendCounters, SenderOutput};

/// Transport protocol of a flow, with its settings.
#[derive(Clone, Debug)]
pub enum Transport {
    Tcp(Arc<TcpSettings>),
    Datagrams(datagram::DatagramSettings),
    /// External hosts outside of the engine, with their own implementation.
    External(Arc<Transport>),
}

impl Transport {
    /// Size in bytes of a full data packet and of its ACK. Datagrams have no ACK; their reverse path is computed for packets of the same
    /// size.
    pub fn packet_and_ack_sizes(&self) -> (u32, u32) {
        match self {
            Transport::Tcp(tcp) => (tcp.packet_size, tcp.quirks.ack_size),
            Transport::Datagrams(udp) => (udp.packet_size, udp.packet_size),
            Transport::External(like) => like.packet_and_ack_sizes(),
        }
    }

    /// Application data in a full packet, in bytes.
    pub fn payload(&self) -> u32 {
        match self {
            Transport::Tcp(tcp) => tcp.payload(),
            Transport::Datagrams(udp) => udp.payload(),
            Transport::External(like) => like.payload(),
        }
    }

    /// Meaning of the ECN field in its packets.
    pub fn ecn_semantics(&self) -> EcnSemantics {
        match self {
            Transport::Tcp(tcp) => tcp.ecn_semantics(),
            Transport::Datagrams(_) => EcnSemantics::Classic,
            Transport::External(like) => like.ecn_semantics(),
        }
    }

    /// Period of a host clock, after which all observable readings repeat; the seed draws a phase below it. Zero without a clock and for
    /// external hosts, which have their own.
    pub fn max_clock_phase(&self) -> Span {
        match self {
            Transport::Tcp(tcp) if tcp.quirks.timer_wheel => tcp.quirks.tick * clock::COARSEST_WHEEL_STEP_TICKS,
            Transport::Tcp(tcp) => tcp.quirks.tick,
            Transport::Datagrams(_) | Transport::External(_) => Span::ZERO,
        }
    }

    /// Whether the packets are datagrams.
    pub fn is_datagrams(&self) -> bool {
        match self {
            Transport::Tcp(_) => false,
            Transport::Datagrams(_) => true,
            Transport::External(like) => like.is_datagrams(),
        }
    }

    /// The same transport between external hosts.
    pub fn with_external_hosts(&self) -> Transport {
        match self {
            Transport::External(_) => self.clone(),
            Transport::Tcp(_) | Transport::Datagrams(_) => Transport::External(Arc::new(self.clone())),
        }
    }
}

/// Sending endpoint of a flow.
#[expect(clippy::large_enum_variant, reason = "nearly every sender is the large one, and each packet reads it where it stands")]
pub enum SenderEndpoint {
    Tcp(Sender),
    NonTcp(DatagramOrExternalSender),
}

/// Sender that is not the engine's TCP. A type of its own, so that a packet needs only one check on the hot path.
pub enum DatagramOrExternalSender {
    Datagrams(DatagramSender),
    External(Box<ExternalSender>),
}

impl SenderEndpoint {
    /// Becomes the sender of the next connection, in the same memory if both are TCP. `phase` is as for [`SenderEndpoint::new`].
    pub fn renew(&mut self, transport: &Transport, app_write: &AppWrite, phase: Span) {
        match (self, transport) {
            (SenderEndpoint::Tcp(sender), Transport::Tcp(tcp)) => sender.renew(tcp.clone(), app_write, HostClock::new(tcp, phase)),
            (sender, _) => *sender = SenderEndpoint::new(transport, app_write, phase),
        }
    }

    /// Sender with a first write. `phase` is the reading of its host clock at time zero, below [`Transport::max_clock_phase`].
    pub fn new(transport: &Transport, app_write: &AppWrite, phase: Span) -> SenderEndpoint {
        match transport {
            Transport::Tcp(tcp) => SenderEndpoint::Tcp(Sender::new(tcp.clone(), app_write, HostClock::new(tcp, phase))),
            Transport::Datagrams(udp) => SenderEndpoint::NonTcp(Datagrams(DatagramSender::new(*udp))),
            Transport::External(_) => SenderEndpoint::NonTcp(External(Box::default())),
        }
    }

    /// Adds a random processing time before packets leave; ignored for an external host, which has its own.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.set_processing_time(processing),
            SenderEndpoint::NonTcp(Datagrams(sender)) => sender.set_processing_time(processing),
            SenderEndpoint::NonTcp(External(_)) => {}
        }
    }

    /// Opens the connection and sends what the window allows.
    pub fn start(&mut self, now: Time, out: &mut impl SenderOutput) {
        if let SenderEndpoint::Tcp(sender) = self {
            sender.start(now, out);
        }
    }

    /// Appends a write. Ignored for an external sender, whose host the engine notifies.
    pub fn write(&mut self, app_write: &AppWrite, now: Time, out: &mut impl SenderOutput) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.write(app_write, now, out),
            SenderEndpoint::NonTcp(Datagrams(sender)) => sender.write(app_write, now, out),
            SenderEndpoint::NonTcp(External(_)) => {}
        }
    }

    /// Processes an ACK.
    ///
    /// # Panics
    /// If it acknowledges data that was never sent, as every ACK of a datagram does, or data from an external host.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        let SenderEndpoint::Tcp(sender) = self else { panic!("what is no connection of ours was acknowledged") };
        sender.on_ack(ack, now, out);
    }

    /// Processes an ACK piggybacked on data.
    ///
    /// # Panics
    /// As [`SenderEndpoint::on_ack`].
    pub fn on_ack_with_data(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        let SenderEndpoint::Tcp(sender) = self else { panic!("what is no connection of ours was acknowledged") };
        sender.on_ack_with_data(ack, now, out);
    }

    /// Earliest deadline of the sender's timers, or `NEVER`.
    #[inline]
    pub fn deadline_or_never(&self) -> Time {
        match self {
            SenderEndpoint::Tcp(sender) => sender.deadline_or_never(),
            SenderEndpoint::NonTcp(Datagrams(sender)) => sender.processing_deadline().unwrap_or(Time::NEVER),
            SenderEndpoint::NonTcp(External(_)) => Time::NEVER,
        }
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Time, out: &mut impl SenderOutput) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.on_timer(now, out),
            SenderEndpoint::NonTcp(Datagrams(sender)) => sender.on_timer(now, out),
            SenderEndpoint::NonTcp(External(_)) => {}
        }
    }

    /// Whether all data is acknowledged; never for datagrams.
    #[inline]
    pub fn is_done(&self) -> bool {
        match self {
            SenderEndpoint::Tcp(sender) => sender.is_done(),
            SenderEndpoint::NonTcp(Datagrams(_)) => false,
            SenderEndpoint::NonTcp(External(sender)) => sender.is_done(),
        }
    }

    /// Bytes that an arriving segment delivers, if the receiver can read `delivered` more segments, the last of them before `next`. Returns
    /// the bytes that became readable, and the bytes of the segment if it arrives for the first time.
    #[inline]
    pub fn bytes_delivered_by_segment(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.bytes_delivered_by_segment(segment, delivered, next),
            SenderEndpoint::NonTcp(Datagrams(sender)) => {
                let carried = sender.payload_of_size(segment.size);
                (u64::from(carried), carried)
            }
            SenderEndpoint::NonTcp(External(_)) => (0, 0),
        }
    }

    /// Application data in bytes of a packet with this number and size; unknown for packets of external hosts.
    pub fn payload_of_packet(&self, seq: u64, size: u32) -> u32 {
        match self {
            SenderEndpoint::Tcp(sender) => sender.send_buffer().segment_payload(seq),
            SenderEndpoint::NonTcp(Datagrams(sender)) => sender.payload_of_size(size),
            SenderEndpoint::NonTcp(External(_)) => 0,
        }
    }

    /// Send buffer of a TCP connection.
    pub fn send_buffer(&self) -> Option<&SendBuffer> {
        self.as_tcp().map(Sender::send_buffer)
    }

    /// Congestion window, if there is one.
    pub fn window(&self) -> Option<&CongestionWindow> {
        match self {
            SenderEndpoint::Tcp(sender) => Some(sender.congestion_window()),
            SenderEndpoint::NonTcp(Datagrams(_)) => None,
            SenderEndpoint::NonTcp(External(sender)) => sender.window(),
        }
    }

    /// DCTCP's estimate of the fraction of marked segments, if the response keeps one.
    pub fn dctcp_alpha(&self) -> Option<f64> {
        self.as_tcp().and_then(Sender::dctcp_alpha)
    }

    /// RTT to write into packets, if one is measured; zero before the first sample.
    #[inline]
    pub fn rtt_written_into_packets(&self) -> Option<Span> {
        self.as_tcp().map(Sender::rtt_in_packets)
    }

    /// Minimum RTT, if one was measured.
    pub fn min_rtt(&self) -> Option<Span> {
        match self {
            SenderEndpoint::Tcp(sender) => sender.known_min_rtt(),
            SenderEndpoint::NonTcp(Datagrams(_)) => None,
            SenderEndpoint::NonTcp(External(sender)) => sender.min_rtt(),
        }
    }

    pub fn counters(&self) -> &SendCounters {
        match self {
            SenderEndpoint::Tcp(sender) => sender.counters(),
            SenderEndpoint::NonTcp(Datagrams(sender)) => sender.counters(),
            SenderEndpoint::NonTcp(External(sender)) => sender.counters(),
        }
    }

    /// The TCP sender, if this is one.
    #[inline]
    pub fn as_tcp(&self) -> Option<&Sender> {
        if let SenderEndpoint::Tcp(sender) = self { Some(sender) } else { None }
    }

    /// The external sender, if this is one.
    pub fn as_external_mut(&mut self) -> Option<&mut ExternalSender> {
        if let SenderEndpoint::NonTcp(External(sender)) = self { Some(sender) } else { None }
    }
}

/// Receiving endpoint of a flow.
pub struct ReceiverEndpoint {
    /// Without one it accepts all packets without a reply: for datagrams and external hosts.
    tcp: Option<Receiver>,
}

impl ReceiverEndpoint {
    /// Takes the memory of the receiver of a connection that is over, if both are TCP.
    pub fn reuse_memory_of(&mut self, past: &mut ReceiverEndpoint) {
        if let (Some(receiver), Some(past)) = (&mut self.tcp, &mut past.tcp) {
            receiver.reuse_memory_of(past);
        }
    }

    /// Receiver on a host whose clock reads `phase` at time zero, below [`Transport::max_clock_phase`].
    pub fn new(transport: &Transport, phase: Span) -> ReceiverEndpoint {
        let tcp = if let Transport::Tcp(tcp) = transport { Some(Receiver::new(tcp, HostClock::new(tcp, phase))) } else { None };
        ReceiverEndpoint { tcp }
    }

    /// Processes a segment that was sent at `sent`.
    #[inline]
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> ReceiveOutcome {
        match &mut self.tcp {
            Some(receiver) => receiver.receive(segment, sent, now),
            None => ReceiveOutcome { delivered: 1, ..ReceiveOutcome::default() },
        }
    }

    /// Counters of Accurate ECN, if it was negotiated.
    pub fn accurate(&self) -> Option<&AccurateReceiver> {
        self.tcp.as_ref().and_then(Receiver::accurate_counters)
    }

    /// Takes up the other direction of an open connection with Accurate ECN.
    pub fn set_accurate_receiver(&mut self, counters: AccurateReceiver) {
        if let Some(receiver) = &mut self.tcp {
            receiver.set_accurate_counters(counters);
        }
    }

    /// Processes the ECN field of a packet without data of the other direction.
    pub fn on_ack_ecn(&mut self, ecn: Ecn) {
        if let Some(receiver) = &mut self.tcp {
            receiver.count_pure_ack_ecn(ecn);
        }
    }

    /// ACK to piggyback on data of the reverse direction now; none for datagrams.
    pub fn piggybacked_ack(&mut self, now: Time) -> Option<Ack> {
        self.tcp.as_mut().map(|receiver| receiver.piggybacked_ack(now))
    }

    /// Suppresses the FIN reply, because the reverse direction sends its own FIN.
    pub fn suppress_close_on_fin(&mut self) {
        if let Some(receiver) = &mut self.tcp {
            receiver.suppress_close_on_fin();
        }
    }

    /// Deadline of the receiver's timer.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        self.tcp.as_ref().and_then(Receiver::deadline)
    }

    /// Handles the timer if it is due; returns the ACK to send.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        self.tcp.as_mut().and_then(|receiver| receiver.on_timer(now))
    }

    /// All segments that it may have acknowledged are before this one. Zero for datagrams and external hosts.
    pub fn max_acknowledged(&self) -> u64 {
        self.tcp.as_ref().map_or(0, Receiver::max_acknowledged)
    }

    /// Next expected segment; all before it have arrived. Zero for datagrams and external hosts.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        self.tcp.as_ref().map_or(0, Receiver::rcv_nxt)
    }
}
