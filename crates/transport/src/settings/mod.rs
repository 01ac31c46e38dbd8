//! The parameters in the form that senders and receivers read on every packet, and what must hold between them.

mod parameters;

use ecnlab_units::{Span, Values};

pub use parameters::PARAMETERS;

/// Reads a choice into an enumeration: the words of the declaration and what they stand for.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $parameter:literal: $($word:literal => $member:ident),+ $(,)?) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($member),+ }

        impl $name {
            fn of(values: &Values) -> $name {
                match values.word($parameter) {
                    $($word => $name::$member,)+
                    other => unreachable!("{} = {other} is not declared", $parameter),
                }
            }
        }
    };
}

choice!(/// Congestion control.
    CongestionName, "congestion": "reno" => Reno, "aimd" => Aimd, "cubic" => Cubic, "vegas" => Vegas);
choice!(/// Loss recovery.
    RecoveryName, "recovery": "tahoe" => Tahoe, "reno" => Reno, "newreno" => NewReno, "sack1" => Sack1, "vegas" => Vegas,
    "sack" => Sack, "fack" => Fack, "rack" => Rack);
choice!(/// The response to marks.
    ResponseName, "response": "none" => None, "halve" => Halve, "abe" => Abe, "dctcp" => Dctcp, "mecn" => Mecn);
choice!(/// How the receiver echoes marks.
    EchoStyle, "ecn_echo": "classic" => Classic, "dctcp" => Dctcp, "mecn" => Mecn);
choice!(/// How a connection opens.
    Handshake, "handshake": "none" => None, "first-packet" => FirstPacket, "three-way" => ThreeWay);
choice!(/// How a window is cut: what of it is a whole number.
    Halving, "halving": "exact" => Exact, "integer" => Integer, "real" => Real);
choice!(/// What a cut is taken of.
    CutFrom, "cut_from": "window" => Window, "flight" => Flight);
choice!(/// What the window's growth counts.
    GrowthBy, "growth": "acks" => Acks, "segments" => Segments);
choice!(/// The order in which minimum and back-off meet the timeout.
    TimerStyle, "rto_order": "minimum-first" => MinimumFirst, "backoff-first" => BackoffFirst);
choice!(/// When an acknowledgement restarts the retransmission timer.
    TimerRestart, "timer_restart": "after-sample" => AfterSample, "before-sample" => BeforeSample, "rfc6298" => Rfc6298);
choice!(/// The arithmetic of the retransmission timeout.
    EstimatorName, "estimator": "ticks" => Ticks, "rfc6298" => Rfc6298, "linux" => Linux);
choice!(/// Which round-trip time packets carry.
    RttReport, "rtt_report": "min" => Min, "smoothed" => Smoothed, "last" => Last, "base" => Base);

/// [`PARAMETERS`] in the form that the sender and the receiver read on every packet.
#[derive(Clone, Debug)]
pub struct Settings {
    pub ecn: bool,
    pub max_window: u64,
    pub packet_size: u32,
    pub first_packet_size: u32,
    pub ack_size: u32,
    pub header: u32,
    pub initial_window: u64,
    pub handshake: Handshake,
    pub fin: bool,
    pub delay_growth: bool,
    pub limited_transmit: bool,
    pub duplicate_threshold: u32,
    pub max_burst: u64,
    pub cwnd_limit: u64,
    pub halving: Halving,
    pub cut_from: CutFrom,
    pub min_window: f64,
    pub growth: GrowthBy,
    pub window_validation: bool,
    pub idle_restart: bool,
    pub single_fast_retransmit: bool,
    pub first_packet_loss: bool,
    pub strict_inflation: bool,
    pub partial_ack_timer_every: bool,
    pub partial_deflation: bool,
    pub exit_to_flight: bool,
    pub duplicates_when_idle: bool,
    pub first_packet_offers_ecn: bool,
    pub cwr_on_retransmission: bool,
    pub cwr_on_highest: bool,
    pub cwr_without_ecn: bool,
    pub ect_on_retransmission: bool,
    pub slow_start_restart: bool,
    pub idle_threshold: bool,
    pub tick: Span,
    pub rto_min: Span,
    pub rto_max: Span,
    pub rto_initial: Span,
    pub timer: TimerStyle,
    pub timer_restart: TimerRestart,
    pub estimator: EstimatorName,
    pub timestamps: bool,
    pub rtt_report: RttReport,
    pub congestion: CongestionName,
    pub recovery: RecoveryName,
    pub response: ResponseName,
    pub threshold_once: bool,
    pub mark_after_timeout: bool,
    pub mark_spares_later_timeouts: bool,
    pub prr: bool,
    pub tlp: bool,
    pub pacing: bool,
    pub hystart: bool,
    pub abe_beta: f64,
    pub dctcp_g: f64,
    pub mecn: [f64; 2],
    pub aimd: (f64, f64),
    pub cubic: CubicSettings,
    pub vegas: VegasSettings,
    pub receiver_ecn: bool,
    pub ecn_fallback: bool,
    pub ecn_echo: EchoStyle,
    pub echo_on_capable_only: bool,
    pub delay_repeated: bool,
    pub delayed_ack: Option<Span>,
    pub quick_acks: u64,
    /// Most SACK blocks in an acknowledgement; 0 where recovery makes no use of them.
    pub sack_blocks: u8,
    pub sack_option: u32,
    pub dsack: bool,
}

/// RFC 9438's constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicSettings {
    pub c: f64,
    pub beta: f64,
    pub fast_convergence: bool,
    pub reno_friendly: bool,
}

/// Vegas' thresholds in queued packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasSettings {
    pub alpha: f64,
    pub beta: f64,
    pub gamma: f64,
}

impl RecoveryName {
    /// Whether the receiver is to send SACK blocks.
    pub fn wants_sack(self) -> bool {
        matches!(self, RecoveryName::Sack1 | RecoveryName::Sack | RecoveryName::Fack | RecoveryName::Rack)
    }
}

impl Settings {
    /// From checked values of [`PARAMETERS`].
    pub fn new(values: &Values) -> Settings {
        let recovery = RecoveryName::of(values);
        Settings {
            ecn: values.flag("ecn"),
            max_window: values.count("max_window"),
            packet_size: values.count("packet_size") as u32,
            first_packet_size: values.count("first_packet_size") as u32,
            ack_size: values.count("ack_size") as u32,
            header: values.count("header") as u32,
            initial_window: values.count("initial_window"),
            handshake: Handshake::of(values),
            fin: values.flag("fin"),
            delay_growth: values.flag("delay_growth"),
            limited_transmit: values.flag("limited_transmit"),
            duplicate_threshold: values.count("duplicate_threshold") as u32,
            max_burst: values.count("max_burst"),
            cwnd_limit: values.count("cwnd_limit"),
            halving: Halving::of(values),
            cut_from: CutFrom::of(values),
            min_window: values.count("min_window") as f64,
            growth: GrowthBy::of(values),
            window_validation: values.flag("window_validation"),
            idle_restart: values.flag("idle_restart"),
            single_fast_retransmit: values.flag("single_fast_retransmit"),
            first_packet_loss: values.flag("first_packet_loss"),
            strict_inflation: values.flag("strict_inflation"),
            partial_ack_timer_every: values.word("partial_ack_timer") == "every",
            partial_deflation: values.flag("partial_deflation"),
            exit_to_flight: values.flag("exit_to_flight"),
            duplicates_when_idle: values.flag("duplicates_when_idle"),
            first_packet_offers_ecn: values.flag("first_packet_offers_ecn"),
            cwr_on_retransmission: values.flag("cwr_on_retransmission"),
            cwr_on_highest: values.flag("cwr_on_highest"),
            cwr_without_ecn: values.flag("cwr_without_ecn"),
            ect_on_retransmission: values.flag("ect_on_retransmission"),
            slow_start_restart: values.flag("slow_start_restart"),
            idle_threshold: values.flag("idle_threshold"),
            tick: values.span("tick"),
            rto_min: values.span("rto_min"),
            rto_max: values.span("rto_max"),
            rto_initial: values.span("rto_initial"),
            timer: TimerStyle::of(values),
            timer_restart: TimerRestart::of(values),
            estimator: EstimatorName::of(values),
            timestamps: values.flag("timestamps"),
            rtt_report: RttReport::of(values),
            congestion: CongestionName::of(values),
            recovery,
            response: ResponseName::of(values),
            threshold_once: values.flag("threshold_once"),
            mark_after_timeout: values.flag("mark_after_timeout"),
            mark_spares_later_timeouts: values.flag("mark_spares_later_timeouts"),
            prr: values.flag("prr"),
            tlp: values.flag("tlp"),
            pacing: values.flag("pacing"),
            hystart: values.flag("hystart"),
            abe_beta: values.number("abe_beta"),
            dctcp_g: values.number("dctcp_g"),
            mecn: [values.number("mecn_incipient"), values.number("mecn_moderate")],
            aimd: (values.number("aimd_a"), values.number("aimd_b")),
            cubic: CubicSettings {
                c: values.number("cubic_c"),
                beta: values.number("cubic_beta"),
                fast_convergence: values.flag("cubic_fast_convergence"),
                reno_friendly: values.flag("cubic_reno_friendly"),
            },
            vegas: VegasSettings {
                alpha: values.number("vegas_alpha"),
                beta: values.number("vegas_beta"),
                gamma: values.number("vegas_gamma"),
            },
            receiver_ecn: values.flag("receiver_ecn"),
            ecn_fallback: values.flag("ecn_fallback"),
            ecn_echo: EchoStyle::of(values),
            echo_on_capable_only: values.flag("echo_on_capable_only"),
            delay_repeated: values.flag("delay_repeated"),
            delayed_ack: values.flag("delayed_ack").then(|| values.span("delayed_ack_time")),
            quick_acks: values.count("quick_acks"),
            sack_blocks: if recovery.wants_sack() { values.count("sack_blocks") as u8 } else { 0 },
            sack_option: values.count("sack_option") as u32,
            dsack: values.flag("dsack"),
        }
    }

    /// Whether segment 0 opens the connection and carries no data.
    pub fn syn(&self) -> bool {
        self.handshake != Handshake::None
    }

    /// Whether segment 0 asks for ECN, so that the other side's answer settles or confirms it.
    pub fn offers_ecn(&self) -> bool {
        self.handshake == Handshake::ThreeWay || self.first_packet_offers_ecn
    }

    /// Application data in a full segment, in bytes.
    pub fn payload(&self) -> u32 {
        self.packet_size - self.header
    }
}

/// Contradictions among the parameters: the parameter's name and what is wrong.
pub fn check(values: &Values) -> Vec<(&'static str, String)> {
    let mut problems = Vec::new();
    let (min, max) = (values.span("rto_min"), values.span("rto_max"));
    if min > max {
        problems.push(("rto_min", format!("{} s must be at most rto_max {} s", min.seconds(), max.seconds())));
    }
    if values.count("header") >= values.count("packet_size") {
        problems.push(("header", format!("{} bytes must be below packet_size {}", values.count("header"), values.count("packet_size"))));
    }
    for style in ["dctcp", "mecn"] {
        if values.word("response") == style && values.word("ecn_echo") != style {
            problems.push(("response", format!("{style} needs ecn_echo = \"{style}\", which tells it what it reacts to")));
        }
    }
    if RecoveryName::of(values).wants_sack() && values.count("sack_blocks") == 0 {
        problems.push(("sack_blocks", format!("0 leaves recovery = \"{}\" without what it works on", values.word("recovery"))));
    }
    if values.flag("fin") && values.word("handshake") != "three-way" {
        problems.push(("fin", "needs handshake = \"three-way\": a connection closes that was opened".to_owned()));
    }
    if values.number("vegas_alpha") > values.number("vegas_beta") {
        problems
            .push(("vegas_alpha", format!("{} must be at most vegas_beta {}", values.number("vegas_alpha"), values.number("vegas_beta"))));
    }
    problems
}
