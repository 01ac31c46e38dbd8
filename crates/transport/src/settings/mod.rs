//! The parameters in the form that senders and receivers read on every packet, and what must hold between them.

mod parameters;

use ecnlab_units::{Dialect, Ecn, Span, Values, words};

pub use parameters::Settings;

/// Bytes in the largest bundle that segmentation offload takes of Linux' TCP (sk_gso_max_size): GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER and one.
/// MAX_TCP_HEADER is 320 in kernels with wireless LAN and tunnels, as Debian's are.
pub const SK_GSO_MAX_SIZE: u64 = 65_536 - (320 + 1);

words! {
    /// Congestion control.
    pub enum CongestionName { Reno = "reno", Aimd = "aimd", Cubic = "cubic", Vegas = "vegas" }
}

words! {
    /// Loss recovery.
    pub enum RecoveryName {
        Tahoe = "tahoe",
        Reno = "reno",
        NewReno = "newreno",
        Sack1 = "sack1",
        Vegas = "vegas",
        Sack = "sack",
        Fack = "fack",
        Rack = "rack",
    }
}

words! {
    /// What tells a loss, where recovery is rack.
    pub enum LossDetection { Time = "time", Count = "count" }
}

words! {
    /// The response to marks.
    pub enum ResponseName { None = "none", Halve = "halve", Abe = "abe", Dctcp = "dctcp", Mecn = "mecn" }
}

words! {
    /// The codepoint by which packets say that they are ECN-capable.
    pub enum Codepoint { Ect0 = "ect0", Ect1 = "ect1" }
}

words! {
    /// How the receiver echoes marks. No simulated one counts them, as Accurate ECN does (RFC 9768).
    pub enum EchoStyle { Classic = "classic", Dctcp = "dctcp", Mecn = "mecn", Accurate = "accurate" }
}

words! {
    /// How a connection opens.
    pub enum Handshake { None = "none", FirstPacket = "first-packet", ThreeWay = "three-way" }
}

words! {
    /// How a window is cut: what of it is a whole number.
    pub enum Halving { Exact = "exact", Integer = "integer", Real = "real" }
}

words! {
    /// What a cut is taken of.
    pub enum CutFrom { Window = "window", Flight = "flight" }
}

words! {
    /// What the window's growth counts.
    pub enum GrowthBy { Acks = "acks", Segments = "segments" }
}

words! {
    /// Which partial acknowledgements restart NewReno's timer.
    pub enum PartialAckTimer { First = "first", Every = "every" }
}

words! {
    /// The order in which minimum and back-off meet the timeout.
    pub enum RtoOrder { MinimumFirst = "minimum-first", BackoffFirst = "backoff-first" }
}

words! {
    /// When an acknowledgement restarts the retransmission timer.
    pub enum TimerRestart { AfterSample = "after-sample", BeforeSample = "before-sample", Rfc6298 = "rfc6298" }
}

words! {
    /// The arithmetic of the retransmission timeout.
    pub enum EstimatorName { Ticks = "ticks", Rfc6298 = "rfc6298", Linux = "linux", Linux20 = "linux-2.0", Linux22 = "linux-2.2" }
}

words! {
    /// How long an acknowledgement is delayed.
    pub enum AckDelayRule { Fixed = "fixed", Arrivals = "arrivals", Quick = "quick" }
}

words! {
    /// What ends the first slow start besides a loss.
    pub enum HystartName { Off = "off", PlusPlus = "plus-plus", TrainDelay = "train-delay" }
}

words! {
    /// What becomes of the window after an idle time.
    pub enum IdleRestart { Off = "off", Initial = "initial", Halve = "halve" }
}

words! {
    /// Whether growth asks if the window is in use.
    pub enum WindowValidation { Off = "off", Flight = "flight", LargestFlight = "largest-flight" }
}

words! {
    /// How much proportional rate reduction sends below the threshold.
    pub enum PrrBound { SlowStart = "slow-start", SafeAck = "safe-ack" }
}

words! {
    /// How a mark's cut comes about.
    pub enum MarkReduction { AtOnce = "at-once", Prr = "prr" }
}

words! {
    /// What a lost SYN leaves of the initial window and of the timeout.
    pub enum LostSyn { Rfc6298 = "rfc6298", Sample = "sample" }
}

words! {
    /// What the receiver says of its buffer.
    pub enum ReceiveWindow { Any = "any", Fixed = "fixed", Autotuned = "autotuned" }
}

words! {
    /// Which round-trip time packets carry.
    pub enum RttReport { Min = "min", Smoothed = "smoothed", Last = "last", Base = "base" }
}

impl Codepoint {
    pub fn ecn(self) -> Ecn {
        match self {
            Codepoint::Ect0 => Ecn::Ect0,
            Codepoint::Ect1 => Ecn::Ect1,
        }
    }
}

impl RecoveryName {
    /// Whether the receiver is to send SACK blocks.
    pub fn wants_sack(self) -> bool {
        matches!(self, RecoveryName::Sack1 | RecoveryName::Sack | RecoveryName::Fack | RecoveryName::Rack)
    }
}

impl Settings {
    /// Whether segment 0 opens the connection and carries no data.
    pub fn syn(&self) -> bool {
        self.handshake != Handshake::None
    }

    /// Whether segment 0 asks for ECN, so that the other side's answer settles or confirms it.
    pub fn offers_ecn(&self) -> bool {
        self.handshake == Handshake::ThreeWay || self.first_packet_offers_ecn
    }

    /// What the ECN field of the connection's packets means: what its receiver reads there.
    pub fn dialect(&self) -> Dialect {
        if self.ecn_echo == EchoStyle::Mecn { Dialect::Mecn } else { Dialect::Classic }
    }

    /// Whether hosts are to agree on Accurate ECN (RFC 9768).
    pub fn wants_accurate_ecn(&self) -> bool {
        self.ecn && self.ecn_echo == EchoStyle::Accurate
    }

    /// Of the other direction of a connection that is open: nobody shakes hands again, so no packet is a SYN, and ECN is used if that was agreed
    /// upon. Without a handshake each direction opens for itself.
    pub fn of_answer(&self, ecn: bool) -> Settings {
        match self.handshake {
            Handshake::ThreeWay => {
                Settings { handshake: Handshake::None, ecn, first_packet_size: 0, first_packet_offers_ecn: false, ..self.clone() }
            }
            Handshake::None | Handshake::FirstPacket => self.clone(),
        }
    }

    /// Whether the window is a whole number: which algorithms know that.
    pub fn counts_whole(&self) -> bool {
        self.whole_window && matches!(self.congestion, CongestionName::Reno | CongestionName::Cubic)
    }

    /// Whether all packets of a connection that uses ECN are ECN-capable.
    pub fn ect_on_all(&self) -> bool {
        self.response == ResponseName::Dctcp && self.dctcp_ect_on_all
    }

    /// Whether an echo of a mark brings the window down over a round trip.
    pub fn reduces_for_marks(&self) -> bool {
        let responds = matches!(self.response, ResponseName::Halve | ResponseName::Abe | ResponseName::Dctcp);
        self.recovery == RecoveryName::Rack && self.mark_reduction == MarkReduction::Prr && responds
    }

    /// How a window is cut.
    pub fn rounding(&self) -> Halving {
        if self.counts_whole() { Halving::Integer } else { self.halving }
    }

    /// Application data in a full segment, in bytes.
    pub fn payload(&self) -> u32 {
        self.packet_size - self.header
    }

    /// How long the receiver may delay an acknowledgement, if it does.
    pub fn ack_delay(&self) -> Option<Span> {
        self.delayed_ack.then_some(self.delayed_ack_time)
    }

    /// Whether acknowledgements ride on data that goes their way. Where each direction opens for itself they are two connections, and MECN's echo
    /// needs a bit in which data says something else.
    pub fn acks_ride(&self) -> bool {
        self.piggyback && self.handshake == Handshake::ThreeWay && self.dialect() == Dialect::Classic
    }

    /// The smallest retransmission timeout. A host whose timers go off at the steps of a wheel counts it in whole ticks (Linux
    /// `dst_metric_rtt`, `msecs_to_jiffies`).
    pub fn effective_rto_min(&self) -> Span {
        if self.timer_wheel { self.tick * self.rto_min.picos().div_ceil(self.tick.picos()) } else { self.rto_min }
    }

    /// Most SACK blocks that the receiver sends in an acknowledgement; none where recovery makes no use of them.
    pub fn reported_blocks(&self) -> u8 {
        if self.recovery.wants_sack() { self.sack_blocks } else { 0 }
    }

    /// Whether the SYN offers SACK: the receiver is to send blocks.
    pub fn offers_sack(&self) -> bool {
        self.reported_blocks() > 0
    }

    fn resumes_before_it_stops(&self) -> bool {
        self.reader_resumes.0.is_some_and(|resumes| self.reader_stops.0.is_none_or(|stops| resumes <= stops))
    }

    /// Contradictions among the parameters: the parameter's name and what is wrong.
    fn contradictions(&self) -> Vec<(&'static str, String)> {
        let Settings { rto_min, rto_max, header, packet_size, response, recovery, vegas_alpha, vegas_beta, .. } = self;
        let style = match response {
            // A count tells the share of marks as well.
            ResponseName::Dctcp if self.ecn_echo != EchoStyle::Accurate => EchoStyle::Dctcp,
            ResponseName::Mecn => EchoStyle::Mecn,
            // These ask for no echo of their own.
            ResponseName::None | ResponseName::Halve | ResponseName::Abe | ResponseName::Dctcp => self.ecn_echo,
        };
        let found = [
            (rto_min > rto_max, "rto_min", format!("{} s must be at most rto_max {} s", rto_min.seconds(), rto_max.seconds())),
            (header >= packet_size, "header", format!("{header} bytes must be below packet_size {packet_size}")),
            (self.ecn_echo != style, "response", format!("{response} needs ecn_echo = \"{style}\", which tells it what it reacts to")),
            (
                self.codepoint == Codepoint::Ect1 && self.dialect() == Dialect::Mecn,
                "codepoint",
                "ect1 is a mark of incipient congestion to MECN: give codepoint = \"ect0\"".to_owned(),
            ),
            (
                recovery.wants_sack() && *recovery != RecoveryName::Rack && self.sack_blocks == 0,
                "sack_blocks",
                format!("0 leaves recovery = \"{recovery}\" without what it works on"),
            ),
            (
                self.fin && self.handshake != Handshake::ThreeWay,
                "fin",
                "needs handshake = \"three-way\": a connection closes that was opened".to_owned(),
            ),
            (
                self.receive_window == ReceiveWindow::Autotuned && self.receive_buffer > self.receive_buffer_max,
                "receive_buffer",
                format!("{} bytes must be at most receive_buffer_max {} bytes", self.receive_buffer, self.receive_buffer_max),
            ),
            (
                self.resumes_before_it_stops(),
                "reader_resumes",
                "must come after reader_stops: who reads again has stopped before".to_owned(),
            ),
            (vegas_alpha > vegas_beta, "vegas_alpha", format!("{vegas_alpha} must be at most vegas_beta {vegas_beta}")),
        ];
        found.into_iter().filter(|(wrong, ..)| *wrong).map(|(_, name, why)| (name, why)).collect()
    }
}

/// Contradictions among checked values: the parameter's name and what is wrong.
pub fn check(values: &Values) -> Vec<(&'static str, String)> {
    Settings::of(values).contradictions()
}
