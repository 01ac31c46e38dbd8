//! The ends of a flow: what the engine asks of whatever sends and of whatever receives.
//!
//! A TCP connection and a stream of datagrams answer the same questions. What only one of them has, such as a window or a round-trip time, is an
//! answer that may be missing.

use std::sync::Arc;

use ecnlab_units::{EcnSemantics, Span, Time};

use crate::application::AppWrite;
use crate::clock::{self, HostClock};
use crate::congestion::CongestionWindow;
use crate::datagram::{self, DatagramSender};
use crate::external::ExternalSender;
use crate::processing::ProcessingTime;
use crate::receiver::{ReceiveOutcome, Receiver};
use crate::segment::{Ack, Segment};
use crate::send_buffer::SendBuffer;
use crate::sender::Sender;
use crate::settings::Settings;
use crate::tcb::{SendCounters, SenderOutput};

/// How a flow's data is carried.
#[derive(Clone, Debug)]
pub enum Transport {
    Tcp(Arc<Settings>),
    Datagrams(datagram::Settings),
    /// By hosts outside of the engine, which do it in their way.
    External(Arc<Transport>),
}

impl Transport {
    /// Size of a full data packet and of what answers it, in bytes; nothing answers a datagram, and its way back is measured as if as much did.
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

    /// What the ECN field of its packets means.
    pub fn ecn_semantics(&self) -> EcnSemantics {
        match self {
            Transport::Tcp(tcp) => tcp.ecn_semantics(),
            Transport::Datagrams(_) => EcnSemantics::Classic,
            Transport::External(like) => like.ecn_semantics(),
        }
    }

    /// After how long a host's clock stands as it did, to all that can be seen of it: below this a seed draws its phase. Zero without a clock,
    /// and of hosts outside, which have their own.
    pub fn clock_period(&self) -> Span {
        match self {
            Transport::Tcp(tcp) if tcp.quirks.timer_wheel => tcp.quirks.tick * clock::WHEEL_PERIOD_TICKS,
            Transport::Tcp(tcp) => tcp.quirks.tick,
            Transport::Datagrams(_) | Transport::External(_) => Span::ZERO,
        }
    }

    /// Whether packets are datagrams.
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

/// The sending end.
#[expect(clippy::large_enum_variant, reason = "nearly every sender is the large one, and each packet reads it where it stands")]
pub enum SenderEndpoint {
    Tcp(Sender),
    NonTcp(NonTcpSender),
}

/// A sending end that has no connection of ours. It stands apart so that a packet asks one question only: whether there is one.
pub enum NonTcpSender {
    Datagrams(DatagramSender),
    External(Box<ExternalSender>),
}

impl SenderEndpoint {
    /// A sender with something to send. `phase` is how far its host's clock has gone at time zero, below [`Transport::clock_period`].
    pub fn new(transport: &Transport, app_write: &AppWrite, phase: Span) -> SenderEndpoint {
        match transport {
            Transport::Tcp(tcp) => SenderEndpoint::Tcp(Sender::new(tcp.clone(), app_write, HostClock::new(tcp, phase))),
            Transport::Datagrams(udp) => SenderEndpoint::NonTcp(NonTcpSender::Datagrams(DatagramSender::new(*udp))),
            Transport::External(_) => SenderEndpoint::NonTcp(NonTcpSender::External(Box::default())),
        }
    }

    /// The host needs a random time before packets leave. A host outside needs its own.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.set_processing_time(processing),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => sender.set_processing_time(processing),
            SenderEndpoint::NonTcp(NonTcpSender::External(_)) => {}
        }
    }

    /// Opens the connection and sends what it may.
    pub fn start(&mut self, now: Time, out: &mut impl SenderOutput) {
        if let SenderEndpoint::Tcp(sender) = self {
            sender.start(now, out);
        }
    }

    /// There is more to send. Nothing comes of it at a sender outside, whose host is asked by the engine.
    pub fn write(&mut self, app_write: &AppWrite, now: Time, out: &mut impl SenderOutput) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.write(app_write, now, out),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => sender.write(app_write, now, out),
            SenderEndpoint::NonTcp(NonTcpSender::External(_)) => {}
        }
    }

    /// Takes an acknowledgement.
    ///
    /// # Panics
    /// If it acknowledges what was never sent, as every acknowledgement of a datagram does, or what a host outside has sent.
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.on_ack(ack, now, out),
            SenderEndpoint::NonTcp(_) => panic!("what is no connection of ours was acknowledged"),
        }
    }

    /// Takes an acknowledgement that came on data.
    ///
    /// # Panics
    /// As [`SenderEndpoint::on_ack`].
    pub fn on_ack_with_data(&mut self, ack: &Ack, now: Time, out: &mut impl SenderOutput) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.on_ack_with_data(ack, now, out),
            SenderEndpoint::NonTcp(_) => panic!("what is no connection of ours was acknowledged"),
        }
    }

    /// When the sender is to be woken.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        match self {
            SenderEndpoint::Tcp(sender) => sender.deadline(),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => sender.deadline(),
            SenderEndpoint::NonTcp(NonTcpSender::External(_)) => None,
        }
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Time, out: &mut impl SenderOutput) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.on_timer(now, out),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => sender.on_timer(now, out),
            SenderEndpoint::NonTcp(NonTcpSender::External(_)) => {}
        }
    }

    /// Whether all that there was to send is acknowledged; never of datagrams.
    #[inline]
    pub fn is_done(&self) -> bool {
        match self {
            SenderEndpoint::Tcp(sender) => sender.is_done(),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(_)) => false,
            SenderEndpoint::NonTcp(NonTcpSender::External(sender)) => sender.is_done(),
        }
    }

    /// Bytes that an arriving segment brings the application, when its sink can read `delivered` more segments, the last of them before `next`: the
    /// bytes that it can read, and those that the segment carries if it is here for the first time.
    #[inline]
    pub fn bytes_delivered_by(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        match self {
            SenderEndpoint::Tcp(sender) => sender.bytes_delivered_by(segment, delivered, next),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => {
                let carried = sender.payload_of_size(segment.size);
                (u64::from(carried), carried)
            }
            SenderEndpoint::NonTcp(NonTcpSender::External(_)) => (0, 0),
        }
    }

    /// Application data in a packet of this number and size, in bytes; nothing is known of packets of hosts outside.
    pub fn packet_payload(&self, seq: u64, size: u32) -> u32 {
        match self {
            SenderEndpoint::Tcp(sender) => sender.send_buffer().segment_payload(seq),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => sender.payload_of_size(size),
            SenderEndpoint::NonTcp(NonTcpSender::External(_)) => 0,
        }
    }

    /// What a connection has to send, segment by segment; nothing of datagrams.
    pub fn send_buffer(&self) -> Option<&SendBuffer> {
        self.as_tcp().map(Sender::send_buffer)
    }

    /// The congestion window, where there is one.
    pub fn window(&self) -> Option<&CongestionWindow> {
        match self {
            SenderEndpoint::Tcp(sender) => Some(sender.window()),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(_)) => None,
            SenderEndpoint::NonTcp(NonTcpSender::External(sender)) => sender.window(),
        }
    }

    /// DCTCP's estimate of the fraction of marked segments, where the response keeps one.
    pub fn dctcp_alpha(&self) -> Option<f64> {
        self.as_tcp().and_then(Sender::dctcp_alpha)
    }

    /// The round-trip time to write into packets, where one is measured; zero before the first measurement.
    #[inline]
    pub fn reported_rtt(&self) -> Option<Span> {
        self.as_tcp().map(Sender::reported_rtt)
    }

    /// Smallest round-trip time measured, where one was.
    pub fn min_rtt(&self) -> Option<Span> {
        match self {
            SenderEndpoint::Tcp(sender) => Some(sender.min_rtt()).filter(|&rtt| rtt > Span::ZERO),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(_)) => None,
            SenderEndpoint::NonTcp(NonTcpSender::External(sender)) => sender.min_rtt(),
        }
    }

    pub fn counters(&self) -> &SendCounters {
        match self {
            SenderEndpoint::Tcp(sender) => sender.counters(),
            SenderEndpoint::NonTcp(NonTcpSender::Datagrams(sender)) => sender.counters(),
            SenderEndpoint::NonTcp(NonTcpSender::External(sender)) => sender.counters(),
        }
    }

    /// The sender of a TCP connection, where it is one.
    #[inline]
    pub fn as_tcp(&self) -> Option<&Sender> {
        match self {
            SenderEndpoint::Tcp(sender) => Some(sender),
            SenderEndpoint::NonTcp(_) => None,
        }
    }

    /// What is known of a sender outside, where it is one.
    pub fn as_external_mut(&mut self) -> Option<&mut ExternalSender> {
        match self {
            SenderEndpoint::NonTcp(NonTcpSender::External(sender)) => Some(sender),
            SenderEndpoint::Tcp(_) | SenderEndpoint::NonTcp(NonTcpSender::Datagrams(_)) => None,
        }
    }
}

/// The receiving end.
#[expect(clippy::large_enum_variant, reason = "nearly every sink is the large one, and each packet reads it where it stands")]
pub enum ReceiverEndpoint {
    Tcp(Receiver),
    /// Takes what there is and answers nothing: of datagrams, and where a host outside takes all in place of it.
    Silent,
}

impl ReceiverEndpoint {
    /// A sink on a host whose clock has gone for `phase` at time zero, below [`Transport::clock_period`].
    pub fn new(transport: &Transport, phase: Span) -> ReceiverEndpoint {
        match transport {
            Transport::Tcp(tcp) => ReceiverEndpoint::Tcp(Receiver::new(tcp, HostClock::new(tcp, phase))),
            Transport::Datagrams(_) | Transport::External(_) => ReceiverEndpoint::Silent,
        }
    }

    /// Takes a segment that was sent at `sent`.
    #[inline]
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> ReceiveOutcome {
        match self {
            ReceiverEndpoint::Tcp(receiver) => receiver.receive(segment, sent, now),
            ReceiverEndpoint::Silent => ReceiveOutcome { delivered: 1, ..ReceiveOutcome::default() },
        }
    }

    /// The acknowledgement that data of the other direction takes along now; none of datagrams.
    pub fn piggybacked_ack(&mut self, now: Time) -> Option<Ack> {
        match self {
            ReceiverEndpoint::Tcp(receiver) => Some(receiver.piggybacked_ack(now)),
            ReceiverEndpoint::Silent => None,
        }
    }

    /// The other direction has a FIN of its own, so that this one's is not answered by another.
    pub fn suppress_fin_reply(&mut self) {
        if let ReceiverEndpoint::Tcp(receiver) = self {
            receiver.suppress_fin_reply();
        }
    }

    /// When the sink is to be woken.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        match self {
            ReceiverEndpoint::Tcp(receiver) => receiver.deadline(),
            ReceiverEndpoint::Silent => None,
        }
    }

    /// The deadline has come.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        match self {
            ReceiverEndpoint::Tcp(receiver) => receiver.on_timer(now),
            ReceiverEndpoint::Silent => None,
        }
    }

    /// The next segment expected; all before it have arrived. Zero of datagrams, of which none is expected, and outside.
    #[inline]
    pub fn rcv_nxt(&self) -> u64 {
        match self {
            ReceiverEndpoint::Tcp(receiver) => receiver.rcv_nxt(),
            ReceiverEndpoint::Silent => 0,
        }
    }
}
