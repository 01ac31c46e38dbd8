//! The parameters of a sender and its receiver, declared once.

use ecnlab_units::{Kind, Parameter, Span, Values};

const HOUR: Span = Span::from_secs(3600);
const MAX_PACKETS: u64 = 1_000_000_000;

macro_rules! parameter {
    ($name:literal, $kind:expr, $default:literal, $doc:literal, $source:literal) => {
        Parameter { name: $name, kind: $kind, default: $default, doc: $doc, source: $source }
    };
}

/// Everything that a profile sets and a scenario may override.
pub const PARAMETERS: &[Parameter] = &[
    parameter!("variant", Kind::Choice(&["reno"]), "reno", "Congestion control and loss recovery.", "RFC 5681"),
    parameter!("ecn", Kind::Flag, "false", "Offer ECN and respond to marks.", "RFC 3168"),
    parameter!(
        "max_window",
        Kind::Count { min: 1, max: MAX_PACKETS, unit: "packets" },
        "20",
        "Largest window: the receiver's.",
        "ns-2 window_"
    ),
    parameter!(
        "packet_size",
        Kind::Count { min: 41, max: 65_535, unit: "bytes" },
        "1000 B",
        "Data packet on the wire, headers included.",
        "ns-2 packetSize_"
    ),
    parameter!(
        "ack_size",
        Kind::Count { min: 1, max: 65_535, unit: "bytes" },
        "40 B",
        "Acknowledgement on the wire.",
        "ns-2 TCPSink packetSize_"
    ),
    parameter!(
        "first_packet_size",
        Kind::Count { min: 0, max: 65_535, unit: "bytes" },
        "40 B",
        "First packet on the wire, a SYN; 0 is as all others.",
        "ns-2 tcpip_base_hdr_size_"
    ),
    parameter!(
        "header",
        Kind::Count { min: 0, max: 200, unit: "bytes" },
        "0 B",
        "Headers in a data packet, which goodput does not count; ns-2 counts whole packets.",
        "ns-2 packetSize_"
    ),
    parameter!(
        "initial_window",
        Kind::Count { min: 1, max: 1_000, unit: "packets" },
        "2",
        "Window at the start, or once the first packet is acknowledged.",
        "ns-2 windowInit_; RFC 5681, section 3.1"
    ),
    parameter!("syn", Kind::Flag, "true", "The first packet is a SYN without data.", "ns-2 syn_"),
    parameter!("delay_growth", Kind::Flag, "true", "The window stays at one until the first packet is acknowledged.", "ns-2 delay_growth_"),
    parameter!(
        "limited_transmit",
        Kind::Flag,
        "true",
        "Send a new packet on each of the first two duplicate ACKs.",
        "RFC 3042; ns-2 singledup_"
    ),
    parameter!(
        "duplicate_threshold",
        Kind::Count { min: 1, max: 1_000, unit: "ACKs" },
        "3",
        "Duplicate ACKs that mean a loss.",
        "RFC 5681, section 3.2"
    ),
    parameter!(
        "max_burst",
        Kind::Count { min: 0, max: MAX_PACKETS, unit: "packets" },
        "0",
        "Most packets sent in answer to one ACK; 0 is no limit.",
        "ns-2 maxburst_"
    ),
    parameter!(
        "cwnd_limit",
        Kind::Count { min: 0, max: MAX_PACKETS, unit: "packets" },
        "0",
        "Largest congestion window; 0 is no limit.",
        "ns-2 maxcwnd_"
    ),
    parameter!(
        "halving",
        Kind::Choice(&["exact", "integer"]),
        "exact",
        "Halve the window as a real number or in whole packets.",
        "ns-2 precisionReduce_"
    ),
    parameter!(
        "single_fast_retransmit",
        Kind::Flag,
        "true",
        "Do not retransmit fast a second time for losses of one window.",
        "ns-2 bugFix_; RFC 6582, section 3.2"
    ),
    parameter!(
        "first_packet_loss",
        Kind::Flag,
        "true",
        "Retransmit fast when the first data packet is lost, and start with a window of one when the first packet timed out.",
        "ns-2 bugfix_ss_; RFC 5681, section 3.1"
    ),
    parameter!(
        "strict_inflation",
        Kind::Flag,
        "true",
        "Inflate the window by duplicate ACKs only in fast recovery.",
        "ns-2 exitFastRetrans_"
    ),
    parameter!("cwr_on_retransmission", Kind::Flag, "true", "CWR may go on a retransmitted packet.", "ns-2 SetCWRonRetransmit_"),
    parameter!(
        "slow_start_restart",
        Kind::Flag,
        "true",
        "A timeout with nothing outstanding returns the window to one.",
        "ns-2 slow_start_restart_"
    ),
    parameter!(
        "tick",
        Kind::Span { min: Span::from_micros(1), max: HOUR },
        "0.01 s",
        "Granularity of the sender's clock.",
        "ns-2 tcpTick_; RFC 6298, section 4"
    ),
    parameter!("rto_min", Kind::Span { min: Span::ZERO, max: HOUR }, "0.2 s", "Smallest retransmission timeout.", "ns-2 minrto_"),
    parameter!("rto_max", Kind::Span { min: Span::from_millis(1), max: HOUR }, "60 s", "Largest retransmission timeout.", "ns-2 maxrto_"),
    parameter!(
        "rto_initial",
        Kind::Span { min: Span::from_millis(1), max: HOUR },
        "3 s",
        "Retransmission timeout before the first sample.",
        "ns-2 rtxcur_init_"
    ),
    parameter!(
        "rto_order",
        Kind::Choice(&["minimum-first", "backoff-first"]),
        "minimum-first",
        "Whether the minimum is applied before or after the back-off.",
        "ns-2 rfc2988_"
    ),
    parameter!(
        "timer_restart",
        Kind::Choice(&["after-sample", "before-sample"]),
        "after-sample",
        "Whether an ACK restarts the timer after or before it updates the estimate.",
        "ns-2 timerfix_"
    ),
    parameter!("delayed_ack", Kind::Flag, "false", "Acknowledge every second packet.", "RFC 1122, section 4.2.3.2; ns-2 TCPSink/DelAck"),
    parameter!(
        "delayed_ack_time",
        Kind::Span { min: Span::from_micros(1), max: HOUR },
        "100 ms",
        "Longest delay of an acknowledgement.",
        "ns-2 TCPSink/DelAck interval_"
    ),
    parameter!(
        "rtt_report",
        Kind::Choice(&["min", "smoothed", "last", "base"]),
        "min",
        "Round-trip time that the sender writes into its packets, for AECN: smallest, smoothed, last, or the base time as the lines of appendix A compute it.",
        "Zheng 2001, appendix A"
    ),
];

/// Whether half a packet counts when the window is halved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halving {
    Exact,
    Integer,
}

/// The order in which minimum and back-off meet the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerStyle {
    MinimumFirst,
    BackoffFirst,
}

/// Which round-trip time packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttReport {
    Min,
    Smoothed,
    Last,
    Base,
}

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
    pub syn: bool,
    pub delay_growth: bool,
    pub limited_transmit: bool,
    pub duplicate_threshold: u32,
    pub max_burst: u64,
    pub cwnd_limit: u64,
    pub halving: Halving,
    pub single_fast_retransmit: bool,
    pub first_packet_loss: bool,
    pub strict_inflation: bool,
    pub cwr_on_retransmission: bool,
    pub slow_start_restart: bool,
    pub tick: Span,
    pub rto_min: Span,
    pub rto_max: Span,
    pub rto_initial: Span,
    pub timer: TimerStyle,
    pub restart_before_sample: bool,
    pub delayed_ack: Option<Span>,
    pub rtt_report: RttReport,
}

impl Settings {
    /// From checked values of [`PARAMETERS`].
    pub fn new(values: &Values) -> Settings {
        Settings {
            ecn: values.flag("ecn"),
            max_window: values.count("max_window"),
            packet_size: values.count("packet_size") as u32,
            first_packet_size: values.count("first_packet_size") as u32,
            ack_size: values.count("ack_size") as u32,
            header: values.count("header") as u32,
            initial_window: values.count("initial_window"),
            syn: values.flag("syn"),
            delay_growth: values.flag("delay_growth"),
            limited_transmit: values.flag("limited_transmit"),
            duplicate_threshold: values.count("duplicate_threshold") as u32,
            max_burst: values.count("max_burst"),
            cwnd_limit: values.count("cwnd_limit"),
            halving: if values.word("halving") == "exact" { Halving::Exact } else { Halving::Integer },
            single_fast_retransmit: values.flag("single_fast_retransmit"),
            first_packet_loss: values.flag("first_packet_loss"),
            strict_inflation: values.flag("strict_inflation"),
            cwr_on_retransmission: values.flag("cwr_on_retransmission"),
            slow_start_restart: values.flag("slow_start_restart"),
            tick: values.span("tick"),
            rto_min: values.span("rto_min"),
            rto_max: values.span("rto_max"),
            rto_initial: values.span("rto_initial"),
            timer: if values.word("rto_order") == "minimum-first" { TimerStyle::MinimumFirst } else { TimerStyle::BackoffFirst },
            restart_before_sample: values.word("timer_restart") == "before-sample",
            delayed_ack: values.flag("delayed_ack").then(|| values.span("delayed_ack_time")),
            rtt_report: match values.word("rtt_report") {
                "min" => RttReport::Min,
                "last" => RttReport::Last,
                "base" => RttReport::Base,
                _ => RttReport::Smoothed,
            },
        }
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
    problems
}
