//! The ends of a flow: what the engine asks of whatever sends and of whatever receives.
//!
//! A TCP connection and a stream of datagrams answer the same questions. What only one of them has, such as a window or a round-trip time, is an
//! answer that may be missing.

use std::sync::Arc;

use ecnlab_units::{Dialect, Span, Time};

use crate::application::Demand;
use crate::clock::{self, HostClock};
use crate::datagram::{self, DatagramSender};
use crate::outside::OutsideSender;
use crate::plan::Plan;
use crate::processing::ProcessingTime;
use crate::receiver::{Arrival, Receiver};
use crate::segment::{Ack, Segment};
use crate::sender::Sender;
use crate::settings::Settings;
use crate::tcb::{Output, SendCounters};
use crate::window::Window;

/// How a flow's data is carried.
#[derive(Clone, Debug)]
pub enum Transport {
    Tcp(Arc<Settings>),
    Datagrams(datagram::Settings),
    /// By hosts outside of the engine, which do it in their way.
    Outside(Arc<Transport>),
}

impl Transport {
    /// Size of a full data packet and of what answers it, in bytes; nothing answers a datagram, and its way back is measured as if as much did.
    pub fn sizes(&self) -> (u32, u32) {
        match self {
            Transport::Tcp(tcp) => (tcp.packet_size, tcp.ack_size),
            Transport::Datagrams(udp) => (udp.packet_size, udp.packet_size),
            Transport::Outside(like) => like.sizes(),
        }
    }

    /// Application data in a full packet, in bytes.
    pub fn payload(&self) -> u32 {
        match self {
            Transport::Tcp(tcp) => tcp.payload(),
            Transport::Datagrams(udp) => udp.payload(),
            Transport::Outside(like) => like.payload(),
        }
    }

    /// What the ECN field of its packets means.
    pub fn dialect(&self) -> Dialect {
        match self {
            Transport::Tcp(tcp) => tcp.dialect(),
            Transport::Datagrams(_) => Dialect::Classic,
            Transport::Outside(like) => like.dialect(),
        }
    }

    /// After how long a host's clock stands as it did, to all that can be seen of it: below this a seed draws its phase. Zero without a clock,
    /// and of hosts outside, which have their own.
    pub fn clock_period(&self) -> Span {
        match self {
            Transport::Tcp(tcp) if tcp.timer_wheel => tcp.tick * clock::PERIOD,
            Transport::Tcp(tcp) => tcp.tick,
            Transport::Datagrams(_) | Transport::Outside(_) => Span::ZERO,
        }
    }

    /// Whether packets are datagrams.
    pub fn is_datagrams(&self) -> bool {
        match self {
            Transport::Tcp(_) => false,
            Transport::Datagrams(_) => true,
            Transport::Outside(like) => like.is_datagrams(),
        }
    }

    /// The same carried by hosts outside.
    pub fn outside(&self) -> Transport {
        match self {
            Transport::Outside(_) => self.clone(),
            Transport::Tcp(_) | Transport::Datagrams(_) => Transport::Outside(Arc::new(self.clone())),
        }
    }
}

/// The sending end.
#[expect(clippy::large_enum_variant, reason = "nearly every sender is the large one, and each packet reads it where it stands")]
pub enum Endpoint {
    Tcp(Sender),
    Other(Other),
}

/// A sending end that has no connection of ours. It stands apart so that a packet asks one question only: whether there is one.
pub enum Other {
    Datagrams(DatagramSender),
    Outside(Box<OutsideSender>),
}

impl Endpoint {
    /// A sender with something to send. `phase` is how far its host's clock has gone at time zero, below [`Transport::clock_period`].
    pub fn new(transport: &Transport, demand: &Demand, phase: Span) -> Endpoint {
        match transport {
            Transport::Tcp(tcp) => Endpoint::Tcp(Sender::new(tcp.clone(), demand, HostClock::new(tcp, phase))),
            Transport::Datagrams(udp) => Endpoint::Other(Other::Datagrams(DatagramSender::new(*udp))),
            Transport::Outside(_) => Endpoint::Other(Other::Outside(Box::default())),
        }
    }

    /// The host needs a random time before packets leave. A host outside needs its own.
    pub fn set_processing_time(&mut self, processing: ProcessingTime) {
        match self {
            Endpoint::Tcp(sender) => sender.set_processing_time(processing),
            Endpoint::Other(Other::Datagrams(sender)) => sender.set_processing_time(processing),
            Endpoint::Other(Other::Outside(_)) => {}
        }
    }

    /// Opens the connection and sends what it may.
    pub fn start(&mut self, now: Time, out: &mut impl Output) {
        if let Endpoint::Tcp(sender) = self {
            sender.start(now, out);
        }
    }

    /// There is more to send. Nothing comes of it at a sender outside, whose host is asked by the engine.
    pub fn produce(&mut self, demand: &Demand, now: Time, out: &mut impl Output) {
        match self {
            Endpoint::Tcp(sender) => sender.produce(demand, now, out),
            Endpoint::Other(Other::Datagrams(sender)) => sender.produce(demand, now, out),
            Endpoint::Other(Other::Outside(_)) => {}
        }
    }

    /// Takes an acknowledgement.
    ///
    /// # Panics
    /// If it acknowledges what was never sent, as every acknowledgement of a datagram does, or what a host outside has sent.
    #[inline(always)]
    pub fn acknowledge(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        match self {
            Endpoint::Tcp(sender) => sender.acknowledge(ack, now, out),
            Endpoint::Other(_) => panic!("what is no connection of ours was acknowledged"),
        }
    }

    /// Takes an acknowledgement that came on data.
    ///
    /// # Panics
    /// As [`Endpoint::acknowledge`].
    pub fn acknowledge_on_data(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        match self {
            Endpoint::Tcp(sender) => sender.acknowledge_on_data(ack, now, out),
            Endpoint::Other(_) => panic!("what is no connection of ours was acknowledged"),
        }
    }

    /// When the sender is to be woken.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        match self {
            Endpoint::Tcp(sender) => sender.deadline(),
            Endpoint::Other(Other::Datagrams(sender)) => sender.deadline(),
            Endpoint::Other(Other::Outside(_)) => None,
        }
    }

    /// The deadline has come.
    pub fn expire(&mut self, now: Time, out: &mut impl Output) {
        match self {
            Endpoint::Tcp(sender) => sender.expire(now, out),
            Endpoint::Other(Other::Datagrams(sender)) => sender.expire(now, out),
            Endpoint::Other(Other::Outside(_)) => {}
        }
    }

    /// Whether all that there was to send is acknowledged; never of datagrams.
    #[inline]
    pub fn is_done(&self) -> bool {
        match self {
            Endpoint::Tcp(sender) => sender.is_done(),
            Endpoint::Other(Other::Datagrams(_)) => false,
            Endpoint::Other(Other::Outside(sender)) => sender.is_done(),
        }
    }

    /// What an arriving segment brings the application, when its sink can read `delivered` more segments, the last of them before `next`: the
    /// bytes that it can read, and those that the segment carries if it is here for the first time.
    #[inline]
    pub fn brought(&self, segment: &Segment, delivered: u64, next: u64) -> (u64, u32) {
        match self {
            Endpoint::Tcp(sender) => sender.brought(segment, delivered, next),
            Endpoint::Other(Other::Datagrams(sender)) => {
                let carried = sender.carried(segment.size);
                (u64::from(carried), carried)
            }
            Endpoint::Other(Other::Outside(_)) => (0, 0),
        }
    }

    /// Application data in a packet of this number and size, in bytes; nothing is known of packets of hosts outside.
    pub fn carried(&self, seq: u64, size: u32) -> u32 {
        match self {
            Endpoint::Tcp(sender) => sender.plan().payload(seq),
            Endpoint::Other(Other::Datagrams(sender)) => sender.carried(size),
            Endpoint::Other(Other::Outside(_)) => 0,
        }
    }

    /// What a connection has to send, segment by segment; nothing of datagrams.
    pub fn plan(&self) -> Option<&Plan> {
        self.tcp().map(Sender::plan)
    }

    /// The congestion window, where there is one.
    pub fn window(&self) -> Option<&Window> {
        match self {
            Endpoint::Tcp(sender) => Some(sender.window()),
            Endpoint::Other(Other::Datagrams(_)) => None,
            Endpoint::Other(Other::Outside(sender)) => sender.window(),
        }
    }

    /// DCTCP's estimate of the fraction of marked segments, where the response keeps one.
    pub fn alpha(&self) -> Option<f64> {
        self.tcp().and_then(Sender::alpha)
    }

    /// The round-trip time to write into packets, where one is measured; zero before the first measurement.
    #[inline]
    pub fn reported_rtt(&self) -> Option<Span> {
        self.tcp().map(Sender::reported_rtt)
    }

    /// Smallest round-trip time measured, where one was.
    pub fn min_rtt(&self) -> Option<Span> {
        match self {
            Endpoint::Tcp(sender) => Some(sender.min_rtt()).filter(|&rtt| rtt > Span::ZERO),
            Endpoint::Other(Other::Datagrams(_)) => None,
            Endpoint::Other(Other::Outside(sender)) => sender.min_rtt(),
        }
    }

    pub fn counters(&self) -> &SendCounters {
        match self {
            Endpoint::Tcp(sender) => sender.counters(),
            Endpoint::Other(Other::Datagrams(sender)) => sender.counters(),
            Endpoint::Other(Other::Outside(sender)) => sender.counters(),
        }
    }

    /// The sender of a TCP connection, where it is one.
    #[inline]
    pub fn tcp(&self) -> Option<&Sender> {
        match self {
            Endpoint::Tcp(sender) => Some(sender),
            Endpoint::Other(_) => None,
        }
    }

    /// What is known of a sender outside, where it is one.
    pub fn outside(&mut self) -> Option<&mut OutsideSender> {
        match self {
            Endpoint::Other(Other::Outside(sender)) => Some(sender),
            Endpoint::Tcp(_) | Endpoint::Other(Other::Datagrams(_)) => None,
        }
    }
}

/// The receiving end.
#[expect(clippy::large_enum_variant, reason = "nearly every sink is the large one, and each packet reads it where it stands")]
pub enum Sink {
    Tcp(Receiver),
    /// Takes what there is and answers nothing: of datagrams, and where a host outside takes all in place of it.
    Silent,
}

impl Sink {
    /// A sink on a host whose clock has gone for `phase` at time zero, below [`Transport::clock_period`].
    pub fn new(transport: &Transport, phase: Span) -> Sink {
        match transport {
            Transport::Tcp(tcp) => Sink::Tcp(Receiver::new(tcp, HostClock::new(tcp, phase))),
            Transport::Datagrams(_) | Transport::Outside(_) => Sink::Silent,
        }
    }

    /// Takes a segment that was sent at `sent`.
    #[inline]
    pub fn receive(&mut self, segment: &Segment, sent: Time, now: Time) -> Arrival {
        match self {
            Sink::Tcp(receiver) => receiver.receive(segment, sent, now),
            Sink::Silent => Arrival { delivered: 1, ..Arrival::default() },
        }
    }

    /// The acknowledgement that data of the other direction takes along now; none of datagrams.
    pub fn ride(&mut self, now: Time) -> Option<Ack> {
        match self {
            Sink::Tcp(receiver) => Some(receiver.ride(now)),
            Sink::Silent => None,
        }
    }

    /// The other direction has a FIN of its own, so that this one's is not answered by another.
    pub fn leave_closing(&mut self) {
        if let Sink::Tcp(receiver) = self {
            receiver.leave_closing();
        }
    }

    /// When the sink is to be woken.
    #[inline]
    pub fn deadline(&self) -> Option<Time> {
        match self {
            Sink::Tcp(receiver) => receiver.deadline(),
            Sink::Silent => None,
        }
    }

    /// The deadline has come.
    pub fn expire(&mut self, now: Time) -> Option<Ack> {
        match self {
            Sink::Tcp(receiver) => receiver.expire(now),
            Sink::Silent => None,
        }
    }

    /// The next segment expected; all before it have arrived. Zero of datagrams, of which none is expected, and outside.
    #[inline]
    pub fn next(&self) -> u64 {
        match self {
            Sink::Tcp(receiver) => receiver.next(),
            Sink::Silent => 0,
        }
    }
}
