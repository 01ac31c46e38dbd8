//! The parameters of a sender and its receiver, declared once.

use ecnlab_units::{Kind, Parameter, Span};

const HOUR: Span = Span::from_secs(3600);
const MAX_PACKETS: u64 = 1_000_000_000;

macro_rules! parameter {
    ($name:literal, $kind:expr, $default:literal, $doc:literal, $source:literal) => {
        Parameter { name: $name, kind: $kind, default: $default, doc: $doc, source: $source, ..Parameter::PLAIN }
    };
}

/// Everything that a profile sets and a scenario may override.
pub const PARAMETERS: &[Parameter] = &[
    parameter!(
        "congestion",
        Kind::Choice(&["reno", "aimd", "cubic", "vegas"]),
        "reno",
        "Congestion control: how the window grows, and by how much a loss cuts it.",
        "RFC 5681; RFC 9438; Brakmo and Peterson 1995"
    ),
    parameter!(
        "recovery",
        Kind::Choice(&["tahoe", "reno", "newreno", "sack1", "vegas", "sack", "fack", "rack"]),
        "reno",
        "Loss recovery; sack1 and vegas are ns-2's, sack, fack and rack share one scoreboard.",
        "RFC 5681; RFC 6582; RFC 6675; RFC 8985; Mathis and Mahdavi 1996"
    ),
    parameter!(
        "response",
        Kind::Choice(&["none", "halve", "abe", "dctcp", "mecn"]),
        "halve",
        "What a mark does to the window: nothing, as a loss, ABE's smaller cut, by DCTCP's share of marks, or by MECN's levels.",
        "RFC 3168, section 6.1.2; RFC 8511; RFC 8257; Durresi et al. 2001"
    ),
    parameter!("ecn", Kind::Flag, "false", "Offer ECN and respond to marks.", "RFC 3168"),
    parameter!(
        "receiver_ecn",
        Kind::Flag,
        "true",
        "The receiver agrees to ECN when it is offered in a three-way handshake.",
        "RFC 3168, section 6.1.1"
    ),
    parameter!("ecn_fallback", Kind::Flag, "true", "Offer ECN no more when a SYN that offered it was lost.", "RFC 3168, section 6.1.1.1"),
    parameter!(
        "ect_on_retransmission",
        Kind::Flag,
        "true",
        "Retransmitted packets are ECN-capable, which RFC 3168 forbids and ns-2 does.",
        "RFC 3168, section 6.1.5; ns-2 2.35"
    ),
    parameter!(
        "ecn_echo",
        Kind::Choice(&["classic", "dctcp", "mecn"]),
        "classic",
        "How the receiver echoes marks: until CWR, each packet's own mark, or MECN's two bits.",
        "RFC 3168, section 6.1.3; RFC 8257, section 3.2; Durresi et al. 2001"
    ),
    parameter!(
        "abe_beta",
        Kind::Number { min: 0.5, max: 1.0, unit: "" },
        "0.8",
        "What ABE leaves of the window after a mark.",
        "RFC 8511, section 3.1"
    ),
    parameter!(
        "dctcp_g",
        Kind::Number { min: 0.0001, max: 1.0, unit: "" },
        "0.0625",
        "DCTCP's gain of the estimate of the share of marks.",
        "RFC 8257, section 4.2"
    ),
    parameter!(
        "mecn_incipient",
        Kind::Number { min: 0.0, max: 1.0, unit: "" },
        "0.2",
        "MECN's cut for incipient congestion.",
        "Durresi et al. 2001, section 2"
    ),
    parameter!(
        "mecn_moderate",
        Kind::Number { min: 0.0, max: 1.0, unit: "" },
        "0.4",
        "MECN's cut for moderate congestion.",
        "Durresi et al. 2001, section 2"
    ),
    parameter!(
        "aimd_a",
        Kind::Number { min: 0.0, max: 1000.0, unit: "packets" },
        "1",
        "AIMD's growth in a round trip.",
        "Chiu and Jain 1989"
    ),
    parameter!(
        "aimd_b",
        Kind::Number { min: 0.01, max: 0.99, unit: "" },
        "0.5",
        "AIMD's cut: the share of the window that goes.",
        "Chiu and Jain 1989"
    ),
    parameter!(
        "cubic_c",
        Kind::Number { min: 0.001, max: 100.0, unit: "packets/s^3" },
        "0.4",
        "CUBIC's scale of growth.",
        "RFC 9438, section 5"
    ),
    parameter!(
        "cubic_beta",
        Kind::Number { min: 0.1, max: 0.99, unit: "" },
        "0.7",
        "What CUBIC leaves of the window.",
        "RFC 9438, section 4.6"
    ),
    parameter!(
        "cubic_fast_convergence",
        Kind::Flag,
        "true",
        "CUBIC gives way faster when its last maximum was not reached.",
        "RFC 9438, section 4.7"
    ),
    parameter!("cubic_reno_friendly", Kind::Flag, "true", "CUBIC grows at least as Reno would.", "RFC 9438, section 4.3"),
    parameter!("hystart", Kind::Flag, "false", "HyStart++: leave slow start when the round-trip time rises.", "RFC 9406"),
    parameter!(
        "vegas_alpha",
        Kind::Number { min: 0.0, max: 1000.0, unit: "packets" },
        "1",
        "Vegas grows while fewer packets are queued.",
        "Brakmo and Peterson 1995; ns-2 v_alpha_"
    ),
    parameter!(
        "vegas_beta",
        Kind::Number { min: 0.0, max: 1000.0, unit: "packets" },
        "3",
        "Vegas shrinks while more packets are queued.",
        "Brakmo and Peterson 1995; ns-2 v_beta_"
    ),
    parameter!(
        "vegas_gamma",
        Kind::Number { min: 0.0, max: 1000.0, unit: "packets" },
        "1",
        "Vegas leaves slow start when more packets are queued.",
        "Brakmo and Peterson 1995; ns-2 v_gamma_"
    ),
    parameter!(
        "growth",
        Kind::Choice(&["acks", "segments"]),
        "acks",
        "Count acknowledgements or the segments that they acknowledge.",
        "ns-2 2.35; RFC 5681, section 3.1; RFC 3465"
    ),
    parameter!("window_validation", Kind::Flag, "false", "Grow only while the window is what limits the sender.", "RFC 2861; RFC 7661"),
    parameter!(
        "idle_restart",
        Kind::Flag,
        "false",
        "Start again from the initial window after an idle retransmission timeout.",
        "RFC 5681, section 4.1"
    ),
    parameter!(
        "cut_from",
        Kind::Choice(&["window", "flight"]),
        "window",
        "Whether a cut is taken of the usable window or of the segments in flight.",
        "ns-2 2.35; RFC 5681, equation 4"
    ),
    parameter!(
        "min_window",
        Kind::Count { min: 0, max: 1000, unit: "packets" },
        "0",
        "Smallest window that a cut leaves; with 0 a mark may take it below one, and then the timer paces the sender.",
        "RFC 3168, section 6.1.2; Linux tcp_reno_ssthresh"
    ),
    parameter!(
        "threshold_once",
        Kind::Flag,
        "false",
        "A further timeout of the same packet leaves the threshold as it is.",
        "RFC 5681, section 3.1; ns-2 cuts it again"
    ),
    parameter!(
        "mark_after_timeout",
        Kind::Flag,
        "true",
        "After a timeout answer marks at once, those of packets sent before it too.",
        "ns-2 2.35; RFC 3168, section 6.1.2, answers once a window"
    ),
    parameter!("prr", Kind::Flag, "false", "Proportional rate reduction: send in recovery in step with what is delivered.", "RFC 6937"),
    parameter!("tlp", Kind::Flag, "true", "Tail loss probe, where recovery is rack.", "RFC 8985, section 7"),
    parameter!(
        "pacing",
        Kind::Flag,
        "false",
        "Spread segments over the round trip, at twice the window's rate in slow start and 1.2 times it later.",
        "Aggarwal, Savage and Anderson 2000; Linux tcp_update_pacing_rate"
    ),
    parameter!(
        "partial_ack_timer",
        Kind::Choice(&["first", "every"]),
        "first",
        "Which partial acknowledgements restart NewReno's timer.",
        "RFC 6582, section 3.2; ns-2 newreno_changes1_"
    ),
    parameter!(
        "partial_deflation",
        Kind::Flag,
        "true",
        "A partial acknowledgement takes from NewReno's inflated window what it acknowledges, less one; else all inflation goes.",
        "RFC 6582, section 3.2; ns-2 partial_window_deflation_"
    ),
    parameter!(
        "exit_to_flight",
        Kind::Flag,
        "false",
        "NewReno leaves recovery with a window of at most what is outstanding, which keeps it from a burst.",
        "RFC 6582, section 3.2; ns-2 exit_recovery_fix_"
    ),
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
    parameter!(
        "handshake",
        Kind::Choice(&["none", "first-packet", "three-way"]),
        "first-packet",
        "How a connection opens: with data, with a first packet that stands for the SYN, or as RFC 9293 has it.",
        "ns-2 syn_; RFC 9293, section 3.5"
    ),
    parameter!(
        "fin",
        Kind::Flag,
        "false",
        "A finite transfer ends with a FIN, which the receiver answers with its own.",
        "RFC 9293, section 3.6"
    ),
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
        Kind::Choice(&["exact", "integer", "real"]),
        "exact",
        "Cut the window as a real number with a whole threshold, in whole packets, or both as real numbers.",
        "ns-2 precisionReduce_; RFC 5681"
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
        "idle_threshold",
        Kind::Flag,
        "true",
        "A timeout with nothing outstanding leaves the threshold and the back-off as they are.",
        "ns-2 restart_bugfix_"
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
        Kind::Choice(&["after-sample", "before-sample", "rfc6298"]),
        "after-sample",
        "Whether an ACK restarts the timer after or before it updates the estimate; or after it, and never with nothing outstanding.",
        "ns-2 timerfix_; RFC 6298, section 5"
    ),
    parameter!(
        "estimator",
        Kind::Choice(&["ticks", "rfc6298", "linux"]),
        "ticks",
        "Arithmetic of the retransmission timeout: BSD's in whole ticks, the RFC's, or Linux's, whose minimum is of the deviation.",
        "ns-2 2.35; RFC 6298, section 2; Linux tcp_rtt_estimator"
    ),
    parameter!(
        "timestamps",
        Kind::Flag,
        "false",
        "Sample the round-trip time on every ACK, by timestamps, instead of once in a round trip.",
        "RFC 7323, section 4"
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
        "quick_acks",
        Kind::Count { min: 0, max: 1000, unit: "packets" },
        "1",
        "Packets at the start of a connection that are acknowledged at once.",
        "ns-2 SYN_immediate_ack_; Linux TCP_MAX_QUICKACKS"
    ),
    parameter!(
        "sack_blocks",
        Kind::Count { min: 0, max: 4, unit: "blocks" },
        "3",
        "Most SACK blocks in an acknowledgement, where recovery uses them.",
        "RFC 2018, section 3; ns-2 maxSackBlocks_"
    ),
    parameter!(
        "sack_option",
        Kind::Count { min: 0, max: 4, unit: "bytes" },
        "0 B",
        "Size of the SACK option besides 8 bytes a block.",
        "RFC 2018, section 3; ns-2 2.35 counts none"
    ),
    parameter!("dsack", Kind::Flag, "false", "Report a packet that came twice in the first SACK block.", "RFC 2883"),
    parameter!(
        "rtt_report",
        Kind::Choice(&["min", "smoothed", "last", "base"]),
        "min",
        "Round-trip time that the sender writes into its packets, for AECN: smallest, smoothed, last, or the base time as the lines of appendix A compute it.",
        "Zheng 2001, appendix A"
    ),
];
