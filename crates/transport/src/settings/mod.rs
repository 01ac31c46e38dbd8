//! Parameters in the form that senders and receivers read for each packet, and the constraints between them.

mod parameters;
mod quirks;

use ecnlab_units::parameter::{Kind, MAX_CONGESTION_CONTROL_NAME_BYTES, ParameterType, Value, panic_mistyped};
use ecnlab_units::{Ecn, EcnSemantics, Span, Values, words};

pub use parameters::TcpSettings;
pub use quirks::Quirks;

/// Maximum size in bytes of a bundle for segmentation offload in Linux (sk_gso_max_size): GSO_LEGACY_MAX_SIZE less MAX_TCP_HEADER and one.
/// MAX_TCP_HEADER is 320 in kernels with wireless LAN and tunnels, as Debian's are.
pub const SK_GSO_MAX_SIZE: u64 = 65_536 - (320 + 1);

/// Bytes of the Accurate ECN option with its three counters and padding (RFC 9768, section 3.2.3).
pub const PADDED_ACCECN_OPTION_BYTES: u32 = 12;

/// Congestion control: one of the simulator, or one that only a kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionControlName {
    Reno,
    Aimd,
    Cubic,
    Vegas,
    Prague,
    Kernel(KernelControlName),
}

/// Name of a kernel's congestion control (`tcp_congestion_ops.name`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KernelControlName {
    bytes: [u8; MAX_CONGESTION_CONTROL_NAME_BYTES],
    length: u8,
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
    /// Loss detection, where recovery is rack.
    pub enum LossDetection { Rack = "rack", Dupthresh = "dupthresh" }
}

words! {
    /// The response to marks.
    pub enum EcnResponseName { None = "none", Halve = "halve", Abe = "abe", Dctcp = "dctcp", Mecn = "mecn", Prague = "prague" }
}

words! {
    /// The codepoint by which packets say that they are ECN-capable.
    pub enum EctCodepoint { Ect0 = "ect0", Ect1 = "ect1" }
}

words! {
    /// How the receiver echoes marks.
    pub enum EchoStyle { Classic = "classic", Dctcp = "dctcp", Mecn = "mecn", Accurate = "accurate" }
}

words! {
    /// How segments are paced.
    pub enum PacingRule { Interval = "interval", Linux = "linux" }
}

words! {
    /// Use of the Accurate ECN option.
    pub enum AccEcnOptionUse { Off = "off", Minimum = "minimum", Full = "full", Always = "always" }
}

words! {
    /// Rules of an Accurate ECN host.
    pub enum AccEcnRules { Rfc9768 = "rfc9768", Linux = "linux" }
}

words! {
    /// How a connection opens.
    pub enum Handshake { None = "none", FirstPacket = "first-packet", ThreeWay = "three-way" }
}

words! {
    /// Rounding of a reduction.
    pub enum SsthreshRounding { Exact = "exact", Integer = "integer", Real = "real" }
}

words! {
    /// Base of a reduction: the usable window or FlightSize.
    pub enum ReduceFrom { Cwnd = "cwnd", Flight = "flight" }
}

words! {
    /// Events by which the window grows.
    pub enum CwndIncrease { PerAck = "per-ack", PerSegment = "per-segment" }
}

words! {
    /// Which partial acknowledgements restart NewReno's timer.
    pub enum PartialAckTimer { First = "first", Every = "every" }
}

words! {
    /// The order in which minimum and back-off meet the timeout.
    pub enum RtoMinAndBackoffOrder { MinimumFirst = "minimum-first", BackoffFirst = "backoff-first" }
}

words! {
    /// When an acknowledgement restarts the retransmission timer.
    pub enum RtoTimerRestart { AfterSample = "after-sample", BeforeSample = "before-sample", Rfc6298 = "rfc6298" }
}

words! {
    /// The arithmetic of the retransmission timeout.
    pub enum RtoEstimatorName { Ticks = "ticks", Rfc6298 = "rfc6298", Linux = "linux", Linux20 = "linux-2.0", Linux22 = "linux-2.2" }
}

words! {
    /// How long an acknowledgement is delayed.
    pub enum AckDelayRule { Fixed = "fixed", Arrivals = "arrivals", Quickack = "quickack" }
}

words! {
    /// End of the first slow start besides a loss.
    pub enum HystartName { Off = "off", Hystart = "hystart", HystartPlusPlus = "hystart++" }
}

words! {
    /// Window after an idle time.
    pub enum SlowStartAfterIdle { Off = "off", Initial = "initial", Halve = "halve" }
}

words! {
    /// Condition of growth: that the window is in use.
    pub enum CwndGrowthCondition { Off = "off", Flight = "flight", LargestFlight = "largest-flight" }
}

words! {
    /// Bound of proportional rate reduction below the threshold.
    pub enum PrrBound { Ssrb = "ssrb", SafeAck = "safe-ack" }
}

words! {
    /// Course of a reduction after a mark.
    pub enum EcnReductionTiming { Immediate = "immediate", Prr = "prr" }
}

words! {
    /// Window with which NewReno leaves recovery.
    pub enum CwndOnExit { Ssthresh = "ssthresh", Flight = "flight" }
}

words! {
    /// Initial window and timeout after a lost SYN.
    pub enum RtoAndWindowAfterLostSyn { Rfc6298 = "rfc6298", Sample = "sample" }
}

words! {
    /// Window that the receiver advertises.
    pub enum ReceiveWindow { Unlimited = "unlimited", Fixed = "fixed", Autotuned = "autotuned" }
}

words! {
    /// Which round-trip time packets carry.
    pub enum RttInPackets { Min = "min", Smoothed = "smoothed", Last = "last", Base = "base" }
}

/// ECN as a handshake has negotiated it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NegotiatedEcn {
    #[default]
    None,
    /// Any form but Accurate ECN.
    Classic,
    Accurate,
}

impl CongestionControlName {
    /// The words of those that the simulator has.
    pub const WORDS: &'static [&'static str] = &["reno", "aimd", "cubic", "vegas", "prague"];

    /// As users write it.
    pub fn word(&self) -> &str {
        match self {
            CongestionControlName::Reno => "reno",
            CongestionControlName::Aimd => "aimd",
            CongestionControlName::Cubic => "cubic",
            CongestionControlName::Vegas => "vegas",
            CongestionControlName::Prague => "prague",
            CongestionControlName::Kernel(name) => name.as_str(),
        }
    }
}

impl std::fmt::Display for CongestionControlName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.word())
    }
}

impl ParameterType for CongestionControlName {
    const PARAMETER_KIND: Kind = Kind::ChoiceOrName(CongestionControlName::WORDS);

    fn from_value(value: &Value) -> CongestionControlName {
        match value {
            Value::Choice("reno") => CongestionControlName::Reno,
            Value::Choice("aimd") => CongestionControlName::Aimd,
            Value::Choice("cubic") => CongestionControlName::Cubic,
            Value::Choice("vegas") => CongestionControlName::Vegas,
            Value::Choice("prague") => CongestionControlName::Prague,
            Value::Text(name) => CongestionControlName::Kernel(KernelControlName::new(name)),
            other => panic_mistyped(other),
        }
    }
}

impl KernelControlName {
    /// # Panics
    /// If the name is too long, which reading it excludes.
    pub const fn new(name: &str) -> KernelControlName {
        assert!(name.len() <= MAX_CONGESTION_CONTROL_NAME_BYTES, "the name of a kernel's control is too long");
        let mut bytes = [0; MAX_CONGESTION_CONTROL_NAME_BYTES];
        let mut at = 0;
        while at < name.len() {
            bytes[at] = name.as_bytes()[at];
            at += 1;
        }
        KernelControlName { bytes, length: name.len() as u8 }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).expect("made of a whole text")
    }
}

impl std::fmt::Display for KernelControlName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::fmt::Debug for KernelControlName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl EctCodepoint {
    pub fn ecn(self) -> Ecn {
        match self {
            EctCodepoint::Ect0 => Ecn::Ect0,
            EctCodepoint::Ect1 => Ecn::Ect1,
        }
    }
}

impl RecoveryName {
    /// Whether the receiver sends SACK blocks.
    pub fn uses_sack(self) -> bool {
        matches!(self, RecoveryName::Sack1 | RecoveryName::Sack | RecoveryName::Fack | RecoveryName::Rack)
    }
}

impl TcpSettings {
    /// Whether segment 0 is a SYN without data.
    pub fn has_syn(&self) -> bool {
        self.handshake != Handshake::None
    }

    /// Whether segment 0 offers ECN, so that the peer's reply accepts or confirms it.
    pub fn offers_ecn(&self) -> bool {
        self.handshake == Handshake::ThreeWay || self.quirks.first_packet_offers_ecn
    }

    /// Meaning of the ECN field in the connection's packets, as its receiver reads it.
    pub fn ecn_semantics(&self) -> EcnSemantics {
        if self.ecn_echo == EchoStyle::Mecn { EcnSemantics::Mecn } else { EcnSemantics::Classic }
    }

    /// Whether hosts negotiate Accurate ECN (RFC 9768).
    pub fn wants_accurate_ecn(&self) -> bool {
        self.ecn && self.ecn_echo == EchoStyle::Accurate
    }

    /// Settings for the reverse direction of an open connection. There is no second handshake, so no packet is a SYN; ECN is used as it was
    /// negotiated. Without a three-way handshake each direction opens separately.
    pub fn for_reverse_direction(&self, ecn: NegotiatedEcn) -> TcpSettings {
        match self.handshake {
            Handshake::ThreeWay => {
                let quirks = Quirks { syn_size: 0, first_packet_offers_ecn: false, ..self.quirks.clone() };
                let ecn_echo = match (ecn, self.ecn_response) {
                    (NegotiatedEcn::Accurate, _) => EchoStyle::Accurate,
                    (_, EcnResponseName::Dctcp) => EchoStyle::Dctcp,
                    _ if self.ecn_echo == EchoStyle::Accurate => EchoStyle::Classic,
                    _ => self.ecn_echo,
                };
                TcpSettings { handshake: Handshake::None, ecn: ecn != NegotiatedEcn::None, ecn_echo, quirks, ..self.clone() }
            }
            Handshake::None | Handshake::FirstPacket => self.clone(),
        }
    }

    /// Whether cwnd is an integer; only some algorithms support that.
    pub fn has_integer_cwnd(&self) -> bool {
        match self.congestion_control {
            CongestionControlName::Prague => true,
            CongestionControlName::Reno | CongestionControlName::Cubic => self.quirks.integer_cwnd,
            CongestionControlName::Aimd | CongestionControlName::Vegas | CongestionControlName::Kernel(_) => false,
        }
    }

    /// Whether all packets of a connection with ECN are ECN-capable, SYNs too.
    pub fn uses_ect_on_all_packets(&self) -> bool {
        match self.ecn_response {
            EcnResponseName::Prague => true,
            EcnResponseName::Dctcp => self.quirks.dctcp_ect_on_all_packets,
            EcnResponseName::None | EcnResponseName::Halve | EcnResponseName::Abe | EcnResponseName::Mecn => false,
        }
    }

    /// Whether all packets are ECN-capable without Accurate ECN too. Prague then uses no ECN.
    pub fn uses_classic_ect_on_all_packets(&self) -> bool {
        self.uses_ect_on_all_packets() && self.ecn_response != EcnResponseName::Prague
    }

    /// Bytes of each data packet for the Accurate ECN option, if both hosts use it on every packet.
    pub fn accecn_option_bytes(&self) -> u32 {
        let agrees = self.quirks.receiver_ecn && self.quirks.receiver_accurate_ecn;
        let is_on_data = matches!(self.quirks.accecn_option, AccEcnOptionUse::Full | AccEcnOptionUse::Always);
        if self.wants_accurate_ecn() && agrees && is_on_data { PADDED_ACCECN_OPTION_BYTES } else { 0 }
    }

    /// Application data in a full segment without the Accurate ECN option, in bytes.
    pub fn mss(&self) -> u32 {
        self.packet_size - self.quirks.header_size
    }

    /// Whether a mark reduces cwnd over one RTT by PRR.
    pub fn reduces_by_prr_for_marks(&self) -> bool {
        let responds = matches!(self.ecn_response, EcnResponseName::Halve | EcnResponseName::Abe | EcnResponseName::Dctcp);
        let of_control = self.ecn_response == EcnResponseName::Prague;
        self.recovery == RecoveryName::Rack && (of_control || self.quirks.ecn_reduction == EcnReductionTiming::Prr && responds)
    }

    /// Rounding of a reduction.
    pub fn reduction_rounding(&self) -> SsthreshRounding {
        if self.has_integer_cwnd() { SsthreshRounding::Integer } else { self.quirks.ssthresh_rounding }
    }

    /// Application data in a full segment, in bytes.
    pub fn payload(&self) -> u32 {
        self.mss() - self.accecn_option_bytes()
    }

    /// Maximum delay of an ACK, if ACKs are delayed.
    pub fn ack_delay(&self) -> Option<Span> {
        self.delayed_ack.then_some(self.delayed_ack_time)
    }

    /// Whether ACKs are piggybacked on data of the reverse direction. Not if each direction opens separately, since these are two
    /// connections. Not with MECN, whose echo uses a bit with another meaning on data.
    pub fn piggybacks_acks(&self) -> bool {
        self.quirks.piggyback_acks && self.handshake == Handshake::ThreeWay && self.ecn_semantics() == EcnSemantics::Classic
    }

    /// Minimum RTO. With `timer_wheel` it is a whole number of ticks (Linux `dst_metric_rtt`, `msecs_to_jiffies`).
    pub fn rto_min_rounded_to_ticks(&self) -> Span {
        if self.quirks.timer_wheel { self.quirks.tick * self.rto_min.picos().div_ceil(self.quirks.tick.picos()) } else { self.rto_min }
    }

    /// Maximum number of SACK blocks in an ACK; zero if recovery does not use them.
    pub fn max_reported_sack_blocks(&self) -> u8 {
        if self.recovery.uses_sack() { self.sack_blocks } else { 0 }
    }

    /// Whether the SYN offers SACK.
    pub fn offers_sack(&self) -> bool {
        self.max_reported_sack_blocks() > 0
    }

    fn accecn_option_bytes_text(&self) -> String {
        let bytes = self.accecn_option_bytes();
        if bytes > 0 { format!(" and {bytes} of the Accurate ECN option") } else { String::new() }
    }

    fn resumes_reading_before_pause(&self) -> bool {
        self.quirks.app_read_resume.0.is_some_and(|resumes| self.quirks.app_read_pause.0.is_none_or(|stops| resumes <= stops))
    }

    /// Contradictions among the parameters, as pairs of parameter name and explanation.
    fn contradictions(&self) -> Vec<(&'static str, String)> {
        let TcpSettings { rto_min, packet_size, ecn_response: response, recovery, vegas_alpha, vegas_beta, .. } = self;
        let Quirks { rto_max, header_size, .. } = &self.quirks;
        let is_prague = self.congestion_control == CongestionControlName::Prague;
        let echo = self.ecn_echo;
        let styles: &[EchoStyle] = match response {
            // The counters of Accurate ECN give the fraction of marks too.
            EcnResponseName::Dctcp => &[EchoStyle::Dctcp, EchoStyle::Accurate],
            EcnResponseName::Mecn => &[EchoStyle::Mecn],
            EcnResponseName::Prague => &[EchoStyle::Accurate],
            // These responses need no specific echo.
            EcnResponseName::None | EcnResponseName::Halve | EcnResponseName::Abe => &[echo],
        };
        let styles_text = || styles.iter().map(|style| format!("\"{style}\"")).collect::<Vec<_>>().join(" or ");
        let found = [
            (rto_min > rto_max, "rto_min", format!("{} s must be at most quirks.rto_max {} s", rto_min.seconds(), rto_max.seconds())),
            (
                *header_size + self.accecn_option_bytes() >= *packet_size,
                "header_size",
                format!("{header_size} bytes{} must be below packet_size {packet_size}", self.accecn_option_bytes_text()),
            ),
            (
                !styles.contains(&echo),
                "ecn_response",
                format!("{response} cannot use ecn_echo = \"{echo}\"; fix: give ecn_echo = {}", styles_text()),
            ),
            (
                self.ect_codepoint == EctCodepoint::Ect1 && self.ecn_semantics() == EcnSemantics::Mecn,
                "ect_codepoint",
                "ect1 is a mark of incipient congestion to MECN; fix: give ect_codepoint = \"ect0\"".to_owned(),
            ),
            (
                recovery.uses_sack() && *recovery != RecoveryName::Rack && self.sack_blocks == 0,
                "sack_blocks",
                format!("0 disables SACK, which recovery = \"{recovery}\" requires"),
            ),
            (self.quirks.fin && self.handshake != Handshake::ThreeWay, "fin", "requires handshake = \"three-way\"".to_owned()),
            (
                self.receive_window == ReceiveWindow::Autotuned && self.receive_buffer > self.receive_buffer_max,
                "receive_buffer",
                format!("{} bytes must be at most receive_buffer_max {} bytes", self.receive_buffer, self.receive_buffer_max),
            ),
            (
                self.wants_accurate_ecn() && self.handshake != Handshake::ThreeWay,
                "ecn_echo",
                "accurate is negotiated by SYN and SYN-ACK; fix: give handshake = \"three-way\"".to_owned(),
            ),
            (self.resumes_reading_before_pause(), "app_read_resume", "must come after quirks.app_read_pause".to_owned()),
            (
                is_prague && !(self.recovery == RecoveryName::Rack && self.pacing && self.quirks.pacing_rule == PacingRule::Linux),
                "congestion_control",
                "prague requires recovery = \"rack\", pacing = true and quirks.pacing_rule = \"linux\"".to_owned(),
            ),
            (
                self.ecn && is_prague != (*response == EcnResponseName::Prague),
                "ecn_response",
                "prague belongs to congestion_control = \"prague\", and to no other".to_owned(),
            ),
            (vegas_alpha > vegas_beta, "vegas_alpha", format!("{vegas_alpha} must be at most vegas_beta {vegas_beta}")),
        ];
        found.into_iter().filter(|(wrong, ..)| *wrong).map(|(_, name, why)| (name, why)).collect()
    }
}

/// Key of the table of quirks.
pub const QUIRKS_KEY: &str = "quirks";

/// Whether a parameter is a quirk.
pub fn is_quirk(name: &str) -> bool {
    Quirks::PARAMETERS.iter().any(|quirk| quirk.name == name)
}

/// Path of a parameter in a scenario; quirks are in their own table.
pub fn parameter_path(name: &str) -> String {
    if is_quirk(name) { format!("{QUIRKS_KEY}.{name}") } else { name.to_owned() }
}

/// Contradictions among checked values, as pairs of parameter name and explanation.
pub fn check(values: &Values) -> Vec<(&'static str, String)> {
    TcpSettings::from_values(values).contradictions()
}

#[cfg(test)]
mod tests {
    use super::{Quirks, TcpSettings};

    /// Maximum number of public parameters.
    const MAX_PUBLIC_PARAMETERS: usize = 40;

    #[test]
    fn public_parameters_are_few_and_every_one_has_a_source() {
        assert!(TcpSettings::OWN_PARAMETERS.len() <= MAX_PUBLIC_PARAMETERS, "{}", TcpSettings::OWN_PARAMETERS.len());
        assert_eq!(TcpSettings::PARAMETERS.len(), TcpSettings::OWN_PARAMETERS.len() + Quirks::PARAMETERS.len());
        for parameter in TcpSettings::PARAMETERS {
            assert!(!parameter.source.is_empty(), "{}", parameter.name);
        }
    }
}
