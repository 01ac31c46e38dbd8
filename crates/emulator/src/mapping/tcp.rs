//! How a kernel gets each parameter of TCP, or why it cannot. The page docs/explanation/hosts.md shows the table.

use ecnlab_transport::TcpSettings;
use ecnlab_transport::settings::{
    AccEcnOptionUse, CongestionControlName, EchoStyle, EcnResponseName, EctCodepoint, KernelControlName, LossDetection, ReceiveWindow,
    RecoveryName, SlowStartAfterIdle,
};
use ecnlab_units::Span;
use ecnlab_wire::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES};

use crate::address::AddressFamily;
use crate::host_settings::{HostSettings, RouteMetrics, SocketSettings, Sysctl};

/// Means by which a kernel gets a parameter.
#[derive(Clone, Copy, Debug)]
pub enum KernelKnob {
    /// A sysctl of the host, below `net.ipv4`.
    Sysctl(&'static str),
    /// An option of each socket.
    Socket(&'static str),
    /// An attribute of the host's route.
    Route(&'static str),
    /// A setting of the device.
    Device(&'static str),
    /// It selects the socket's congestion control, together with other parameters.
    CongestionControl,
    /// Some values as [`KernelKnob::CongestionControl`], others by this sysctl.
    CongestionControlOrSysctl(&'static str),
    /// Behaviour of the code that uses the socket.
    HostProgram(&'static str),
    /// The router changes packets that leave the host.
    HostEdge(&'static str),
    /// It follows from others.
    DerivedValue(fn(&TcpSettings, AddressFamily) -> u64, &'static str),
    /// No kernel reads it, for this reason.
    Unsupported(&'static str),
    /// It has one value, by default the profile's; the text describes the kernel's behaviour.
    FixedValue(Option<&'static str>, &'static str),
}

/// Mapping of a TCP parameter: how a kernel gets it, and which values are refused.
pub struct TcpParameterMapping {
    pub name: &'static str,
    pub means: KernelKnob,
    /// Reason why a kernel does not support valid settings, with the remedy.
    pub refusal_reason: fn(&TcpSettings) -> Option<&'static str>,
    /// Whether a kernel's congestion control with these settings has the parameter at all.
    pub is_read: fn(&TcpSettings) -> bool,
}

const fn mapping_row(name: &'static str, means: KernelKnob) -> TcpParameterMapping {
    TcpParameterMapping { name, means, refusal_reason: |_| None, is_read: |_| true }
}

/// A parameter of which a kernel refuses some settings.
const fn row_with_refusals(
    name: &'static str,
    means: KernelKnob,
    refusal_reason: fn(&TcpSettings) -> Option<&'static str>,
) -> TcpParameterMapping {
    TcpParameterMapping { refusal_reason, ..mapping_row(name, means) }
}

const fn fixed_value_row(name: &'static str, why: &'static str) -> TcpParameterMapping {
    mapping_row(name, KernelKnob::FixedValue(None, why))
}

/// A parameter whose value is part of the kernel's code.
const fn hardcoded_row(name: &'static str) -> TcpParameterMapping {
    fixed_value_row(name, "written into the kernel's code")
}

const fn known_fixed_value_row(name: &'static str, value: &'static str, why: &'static str) -> TcpParameterMapping {
    mapping_row(name, KernelKnob::FixedValue(Some(value), why))
}

const fn derived_value_row(name: &'static str, from: fn(&TcpSettings, AddressFamily) -> u64, what: &'static str) -> TcpParameterMapping {
    mapping_row(name, KernelKnob::DerivedValue(from, what))
}

const REASON_MODULE_PARAMETER: &str = "a parameter of the kernel's module, which all of its hosts share";
const REASON_FIXED_NEWRENO: &str = "the kernel's NewReno is as it is";

/// Every parameter of TCP, once.
#[rustfmt::skip]
pub const TCP_PARAMETER_MAPPINGS: &[TcpParameterMapping] = &[
    row_with_refusals("congestion_control", KernelKnob::CongestionControl, refuse_congestion_control),
    row_with_refusals("recovery", KernelKnob::Sysctl("tcp_sack, tcp_recovery"), refuse_recovery),
    row_with_refusals("ecn_response", KernelKnob::CongestionControl, refuse_ecn_response),
    mapping_row("ecn", KernelKnob::Sysctl("tcp_ecn")),
    mapping_row("receiver_ecn", KernelKnob::Sysctl("tcp_ecn")),
    mapping_row("receiver_accurate_ecn", KernelKnob::Sysctl("tcp_ecn")),
    mapping_row("accecn_option", KernelKnob::Sysctl("tcp_ecn_option")),
    hardcoded_row("accecn_rules"),
    mapping_row("ecn_fallback", KernelKnob::Sysctl("tcp_ecn_fallback")),
    row_with_refusals("ect_codepoint", KernelKnob::HostEdge("ECT(0) becomes ECT(1) in packets that leave the host"), refuse_ect_codepoint),
    hardcoded_row("ect_on_retransmission"),
    hardcoded_row("first_packet_offers_ecn"),
    row_with_refusals("ecn_echo", KernelKnob::CongestionControlOrSysctl("tcp_ecn"), refuse_ecn_echo),
    hardcoded_row("ece_on_ect_only"),
    known_fixed_value_row("abe_beta", "0.8", REASON_MODULE_PARAMETER),
    known_fixed_value_row("dctcp_g", "0.0625", REASON_MODULE_PARAMETER),
    hardcoded_row("dctcp_ect_on_all_packets"),
    mapping_row("mecn_incipient_decrease", KernelKnob::Unsupported("its congestion controls do not implement MECN")),
    mapping_row("mecn_moderate_decrease", KernelKnob::Unsupported("its congestion controls do not implement MECN")),
    mapping_row("aimd_a", KernelKnob::Unsupported("it has no AIMD")),
    mapping_row("aimd_b", KernelKnob::Unsupported("it has no AIMD")),
    fixed_value_row("cubic_c", REASON_MODULE_PARAMETER),
    fixed_value_row("cubic_beta", REASON_MODULE_PARAMETER),
    fixed_value_row("cubic_fast_convergence", REASON_MODULE_PARAMETER),
    fixed_value_row("cubic_reno_friendly", REASON_MODULE_PARAMETER),
    TcpParameterMapping { is_read: has_hystart_parameter, ..fixed_value_row("hystart", REASON_MODULE_PARAMETER) },
    known_fixed_value_row("vegas_alpha", "2", REASON_MODULE_PARAMETER),
    known_fixed_value_row("vegas_beta", "4", REASON_MODULE_PARAMETER),
    known_fixed_value_row("vegas_gamma", "1", REASON_MODULE_PARAMETER),
    fixed_value_row("prague_rtt_target", REASON_MODULE_PARAMETER),
    fixed_value_row("prague_rtt_transition", REASON_MODULE_PARAMETER),
    fixed_value_row("prague_rate_mode", REASON_MODULE_PARAMETER),
    hardcoded_row("pacing_rule"),
    hardcoded_row("cwnd_increase"),
    hardcoded_row("integer_cwnd"),
    hardcoded_row("cwnd_validation"),
    row_with_refusals("slow_start_after_idle", KernelKnob::Sysctl("tcp_slow_start_after_idle"), refuse_slow_start_after_idle),
    hardcoded_row("reduce_from"),
    hardcoded_row("min_cwnd"),
    hardcoded_row("repeated_rto_keeps_ssthresh"),
    hardcoded_row("ece_response_after_rto"),
    hardcoded_row("rto_keeps_ecn_ssthresh"),
    hardcoded_row("prr"),
    hardcoded_row("prr_bound"),
    hardcoded_row("prr_divisor"),
    hardcoded_row("ecn_reduction"),
    hardcoded_row("undo"),
    mapping_row("frto", KernelKnob::Sysctl("tcp_frto")),
    mapping_row("loss_detection", KernelKnob::Sysctl("tcp_recovery")),
    mapping_row("tlp", KernelKnob::Sysctl("tcp_early_retrans")),
    mapping_row("pacing", KernelKnob::Socket("SO_MAX_PACING_RATE")),
    fixed_value_row("partial_ack_timer", REASON_FIXED_NEWRENO),
    fixed_value_row("partial_window_deflation", REASON_FIXED_NEWRENO),
    fixed_value_row("cwnd_on_exit", REASON_FIXED_NEWRENO),
    mapping_row("max_rwnd", KernelKnob::Socket("TCP_WINDOW_CLAMP")),
    row_with_refusals("packet_size", KernelKnob::Device("MTU"), refuse_packet_size),
    derived_value_row("ack_size", data_header_bytes, "timestamps and the version of IP"),
    derived_value_row("syn_size", syn_packet_bytes, "recovery, timestamps, quirks.window_scaling and the version of IP"),
    derived_value_row("header_size", data_header_bytes, "timestamps and the version of IP"),
    row_with_refusals("initial_window", KernelKnob::Route("initcwnd"), refuse_initial_window),
    hardcoded_row("handshake"),
    hardcoded_row("fin"),
    hardcoded_row("fin_beyond_cwnd"),
    hardcoded_row("fin_on_data"),
    hardcoded_row("coalesce_writes"),
    mapping_row("nagle", KernelKnob::Socket("TCP_NODELAY")),
    hardcoded_row("syn_rtx_rto"),
    fixed_value_row("syn_linear_timeouts", "newer kernels have 4 in a sysctl, older ones none"),
    hardcoded_row("delay_growth"),
    hardcoded_row("limited_transmit"),
    mapping_row("dupthresh", KernelKnob::Sysctl("tcp_reordering")),
    hardcoded_row("count_dupacks_when_idle"),
    fixed_value_row("max_burst", "it has no such limit"),
    fixed_value_row("gso", "the router takes packets one by one"),
    fixed_value_row("max_cwnd", "the attribute cwnd of a route has no effect where its metrics are not saved (tcp_init_metrics makes no entry)"),
    hardcoded_row("ssthresh_rounding"),
    hardcoded_row("single_fast_retransmit"),
    hardcoded_row("first_packet_loss_recovery"),
    fixed_value_row("inflate_in_recovery_only", REASON_FIXED_NEWRENO),
    hardcoded_row("cwr_on_retransmission"),
    hardcoded_row("cwr_on_highest_packet"),
    hardcoded_row("cwr_without_ecn"),
    hardcoded_row("idle_rto_resets_cwnd"),
    hardcoded_row("idle_rto_keeps_ssthresh"),
    fixed_value_row("tick", "CONFIG_HZ, which it was built with"),
    hardcoded_row("timer_wheel"),
    row_with_refusals("rto_min", KernelKnob::Route("rto_min"), refuse_rto_min),
    fixed_value_row("rto_max", "TCP_RTO_MAX, which it was built with"),
    fixed_value_row("rto_initial", "TCP_TIMEOUT_INIT, which it was built with"),
    hardcoded_row("rto_order"),
    hardcoded_row("rto_timer_restart"),
    hardcoded_row("rto_estimator"),
    hardcoded_row("handshake_rtt_sample"),
    mapping_row("timestamps", KernelKnob::Sysctl("tcp_timestamps")),
    mapping_row("delayed_ack", KernelKnob::Route("quickack")),
    hardcoded_row("delayed_ack_rule"),
    fixed_value_row("delayed_ack_time", "TCP_DELACK_MIN, which it was built with"),
    hardcoded_row("delay_dup_acks"),
    fixed_value_row("max_quickacks", "TCP_MAX_QUICKACKS, which it was built with"),
    hardcoded_row("piggyback_acks"),
    row_with_refusals("sack_blocks", KernelKnob::Sysctl("tcp_sack"), refuse_sack_blocks),
    hardcoded_row("sack_option_size"),
    mapping_row("comp_sack", KernelKnob::Sysctl("tcp_comp_sack_nr")),
    mapping_row("pingpong", KernelKnob::Socket("TCP_QUICKACK")),
    mapping_row("receive_window", KernelKnob::Sysctl("tcp_moderate_rcvbuf")),
    mapping_row("receive_buffer", KernelKnob::Sysctl("tcp_rmem")),
    mapping_row("receive_buffer_max", KernelKnob::Sysctl("tcp_rmem")),
    mapping_row("moderate_rcvbuf", KernelKnob::Sysctl("tcp_moderate_rcvbuf")),
    mapping_row("window_scaling", KernelKnob::Sysctl("tcp_window_scaling")),
    hardcoded_row("measured_rcvbuf_share"),
    mapping_row("app_read_size", KernelKnob::HostProgram("length of each read")),
    fixed_value_row("app_read_pause", "hosts read whenever there is something"),
    fixed_value_row("app_read_resume", "hosts read whenever there is something"),
    mapping_row("dsack", KernelKnob::Sysctl("tcp_dsack")),
    fixed_value_row("rtt_report", "no round-trip time stands in real packets: the router measures the smallest in passing"),
];

/// The kernel's congestion control that corresponds to these parameters together, if any.
pub fn kernel_congestion_control(settings: &TcpSettings) -> Option<KernelControlName> {
    let name = match (settings.congestion_control, ecn_response_or_halve(settings)) {
        (CongestionControlName::Kernel(name), _) => return Some(name),
        (CongestionControlName::Prague, _) => "prague",
        (CongestionControlName::Reno, EcnResponseName::Halve) => "reno",
        (CongestionControlName::Cubic, EcnResponseName::Halve) => "cubic",
        (CongestionControlName::Vegas, EcnResponseName::Halve) => "vegas",
        (CongestionControlName::Reno, EcnResponseName::Dctcp) => "dctcp",
        (CongestionControlName::Reno, EcnResponseName::Abe) => "abe",
        _ => return None,
    };
    Some(KernelControlName::new(name))
}

/// Whether hosts with this congestion control can leave slow start by HyStart.
fn has_hystart_parameter(settings: &TcpSettings) -> bool {
    !matches!(settings.congestion_control, CongestionControlName::Prague | CongestionControlName::Kernel(_))
}

/// The response in force: without ECN there are no marks to respond to.
fn ecn_response_or_halve(settings: &TcpSettings) -> EcnResponseName {
    if settings.ecn { settings.ecn_response } else { EcnResponseName::Halve }
}

fn refuse_congestion_control(settings: &TcpSettings) -> Option<&'static str> {
    match (settings.congestion_control, ecn_response_or_halve(settings)) {
        (CongestionControlName::Prague, _) if !settings.ecn => {
            Some("a kernel's Prague negotiates ECN always; fix: give variant = \"prague\", which sets ecn = true")
        }
        (CongestionControlName::Aimd, _) => Some("no kernel has it: reno is AIMD with aimd_a = 1 and aimd_b = 0.5"),
        (CongestionControlName::Cubic, EcnResponseName::Dctcp) => {
            Some("the kernel's DCTCP grows as reno does; fix: give congestion_control = \"reno\"")
        }
        (CongestionControlName::Cubic, EcnResponseName::Abe) => {
            Some("the UML kernel's congestion control abe grows as reno does; fix: give congestion_control = \"reno\" and abe_beta = 0.8")
        }
        (CongestionControlName::Vegas, EcnResponseName::Dctcp | EcnResponseName::Abe) => {
            Some("the kernel's Vegas takes a mark for a loss; fix: give ecn_response = \"halve\"")
        }
        // No wildcard for the control: a new one must be mapped or refused, or hosts would run Reno instead.
        (CongestionControlName::Reno | CongestionControlName::Cubic | CongestionControlName::Vegas, _) => None,
        (CongestionControlName::Prague | CongestionControlName::Kernel(_), _) => None,
    }
}

fn refuse_recovery(settings: &TcpSettings) -> Option<&'static str> {
    match settings.recovery {
        RecoveryName::Rack | RecoveryName::Sack | RecoveryName::NewReno => None,
        RecoveryName::Tahoe | RecoveryName::Reno => Some("a kernel without SACK recovers as NewReno does; fix: give variant = \"newreno\""),
        RecoveryName::Sack1 => Some("is ns-2's; fix: give recovery = \"rack\", with loss_detection = \"dupthresh\" for tcp_recovery = 0"),
        RecoveryName::Fack => {
            Some("left Linux with 4.15; fix: give recovery = \"rack\", with loss_detection = \"dupthresh\" for what came before it")
        }
        RecoveryName::Vegas => Some(
            "is ns-2's; fix: give congestion_control = \"vegas\" with recovery = \"rack\", \"sack\" or \"newreno\" instead of the variant",
        ),
    }
}

fn refuse_ecn_response(settings: &TcpSettings) -> Option<&'static str> {
    if matches!(settings.congestion_control, CongestionControlName::Prague | CongestionControlName::Kernel(_)) {
        return None;
    }
    match ecn_response_or_halve(settings) {
        EcnResponseName::Halve | EcnResponseName::Abe | EcnResponseName::Dctcp => None,
        EcnResponseName::None => Some("a kernel that has agreed to ECN answers marks; fix: give ecn = false, or ecn_response = \"halve\""),
        EcnResponseName::Prague => Some("belongs to congestion_control = \"prague\"; fix: give ecn_response = \"halve\""),
        EcnResponseName::Mecn => Some("kernels do not implement MECN; fix: give ecn_response = \"halve\""),
    }
}

fn refuse_ecn_echo(settings: &TcpSettings) -> Option<&'static str> {
    let is_kernels = matches!(settings.congestion_control, CongestionControlName::Kernel(_));
    match (settings.ecn, settings.ecn_echo, settings.ecn_response) {
        (true, EchoStyle::Mecn, _) => Some("kernels do not implement MECN; fix: give ecn_echo = \"classic\""),
        (true, EchoStyle::Dctcp, _) if is_kernels => {
            Some("hosts with this congestion control echo as its code does; fix: leave ecn_echo out")
        }
        (true, EchoStyle::Dctcp, EcnResponseName::Halve | EcnResponseName::Abe | EcnResponseName::None) => {
            Some("a kernel echoes each packet's own mark with its congestion control dctcp alone; fix: give ecn_response = \"dctcp\"")
        }
        _ => None,
    }
}

fn refuse_ect_codepoint(settings: &TcpSettings) -> Option<&'static str> {
    (settings.congestion_control == CongestionControlName::Prague && settings.ect_codepoint == EctCodepoint::Ect0)
        .then_some("a kernel's Prague sends ECT(1); fix: give ect_codepoint = \"ect1\"")
}

fn refuse_slow_start_after_idle(settings: &TcpSettings) -> Option<&'static str> {
    (settings.slow_start_after_idle == SlowStartAfterIdle::Initial)
        .then_some("a kernel halves the window once for each idle timeout; fix: give slow_start_after_idle = \"halve\", or \"off\"")
}

fn refuse_packet_size(settings: &TcpSettings) -> Option<&'static str> {
    (settings.packet_size < 128).then_some("is too small for a kernel's segments; fix: give packet_size = \"128 B\" or more")
}

fn refuse_sack_blocks(settings: &TcpSettings) -> Option<&'static str> {
    (![0, 3].contains(&settings.sack_blocks))
        .then_some("a kernel sends as many as the header has room for; fix: leave it out, or give 0, which is tcp_sack = 0")
}

fn refuse_initial_window(settings: &TcpSettings) -> Option<&'static str> {
    (settings.initial_window > 255).then_some("is more than a kernel's receivers allow at the start; fix: give 255 or less")
}

fn refuse_rto_min(settings: &TcpSettings) -> Option<&'static str> {
    (settings.rto_min < Span::from_millis(1) || settings.rto_min.picos() % Span::from_millis(1).picos() != 0)
        .then_some("a route's rto_min is whole milliseconds; fix: give 1 ms or more")
}

/// Headers of IP and TCP without options.
fn fixed_ip_tcp_header_bytes(family: AddressFamily) -> u64 {
    let ip = if family == AddressFamily::V4 { IPV4_HEADER_BYTES } else { IPV6_HEADER_BYTES };
    ip as u64 + 20
}

/// Headers of a segment with data only: IP, TCP, and timestamps if they are used. The option of Accurate ECN, which a kernel sends with every
/// segment that has space for it, does not count, as in the simulator.
pub fn data_header_bytes(settings: &TcpSettings, family: AddressFamily) -> u64 {
    let timestamps = if settings.timestamps { 12 } else { 0 };
    fixed_ip_tcp_header_bytes(family) + timestamps
}

/// A SYN with its options: segment size, SACK and timestamps, which share a word, and the window scale.
fn syn_packet_bytes(settings: &TcpSettings, family: AddressFamily) -> u64 {
    let sack = settings.offers_sack();
    let options = if settings.timestamps { 12 } else { 4 * u64::from(sack) };
    fixed_ip_tcp_header_bytes(family) + 4 + options + 4 * u64::from(settings.quirks.window_scaling)
}

/// Sysctls of each host in addition to those of the scenario, so that no default of the machine affects results: the behaviour of Linux
/// 6.1. Some kernels lack some of them. 6.1 itself lacks those that disable behaviour of newer kernels.
const FIXED_SYSCTLS: &[(&str, &str)] = &[
    ("tcp_no_metrics_save", "1"),
    ("tcp_no_ssthresh_metrics_save", "1"),
    ("tcp_fastopen", "0"),
    ("tcp_syncookies", "0"),
    ("tcp_max_syn_backlog", "16384"),
    ("tcp_mtu_probing", "0"),
    ("tcp_min_snd_mss", "48"),
    ("tcp_tw_reuse", "0"),
    ("tcp_rfc1337", "0"),
    ("tcp_thin_linear_timeouts", "0"),
    ("tcp_autocorking", "1"),
    ("tcp_app_win", "31"),
    ("tcp_adv_win_scale", "1"),
    ("tcp_shrink_window", "0"),
    ("tcp_min_rtt_wlen", "300"),
    ("tcp_max_reordering", "300"),
    ("tcp_pacing_ss_ratio", "200"),
    ("tcp_pacing_ca_ratio", "120"),
    ("tcp_wmem", "4096 16384 4194304"),
    ("tcp_limit_output_bytes", "1048576"),
    ("tcp_reflect_tos", "0"),
    ("tcp_retries2", "15"),
    ("tcp_syn_retries", "6"),
    ("tcp_synack_retries", "5"),
    ("tcp_syn_linear_timeouts", "0"),
    ("tcp_backlog_ack_defer", "0"),
    ("tcp_pingpong_thresh", "1"),
    ("tcp_ecn_option", "2"),
    ("tcp_ecn_option_beacon", "3"),
    ("tcp_rto_max_ms", "120000"),
    ("ip_no_pmtu_disc", "0"),
];

/// Settings of a group's hosts, if no parameter is refused.
pub fn host_settings(settings: &TcpSettings, family: AddressFamily) -> HostSettings {
    let asked: Vec<Sysctl> =
        host_sysctls(settings, family).into_iter().map(|(name, value)| Sysctl { name, value, may_lack: false }).collect();
    // Those that a kernel may lack are written last, and must not overwrite what the scenario asks for.
    let is_asked = |name: &str| asked.iter().any(|sysctl| sysctl.name == name);
    let fixed = FIXED_SYSCTLS.iter().filter(|(name, _)| !is_asked(name));
    let always: Vec<Sysctl> = fixed.map(|&(name, value)| Sysctl { name, value: value.to_owned(), may_lack: true }).collect();
    HostSettings {
        sysctls: always.into_iter().chain(asked).collect(),
        ecn: tcp_ecn_values(settings),
        route: RouteMetrics {
            initcwnd: Some(settings.initial_window as u32),
            rto_min: Some(settings.rto_min),
            quickack: !settings.delayed_ack,
        },
        mtu: settings.packet_size,
        rewrites_ect1: settings.ecn && settings.ect_codepoint == EctCodepoint::Ect1,
        tcp: Some(socket_settings(settings, family)),
        datagrams: None,
    }
}

/// `tcp_ecn` of the host that opens connections and of the one that accepts them: 1 requests and accepts ECN, 2 accepts it, 0 does neither.
/// 3 and 5 are the same as 1 and 2 for Accurate ECN.
fn tcp_ecn_values(settings: &TcpSettings) -> [u8; 2] {
    let [asks, agrees] = match (settings.wants_accurate_ecn(), settings.quirks.receiver_accurate_ecn) {
        (true, true) => [3, 5],
        (true, false) => [3, 2],
        (false, _) => [1, 2],
    };
    match (settings.ecn, settings.quirks.receiver_ecn) {
        (true, true) => [asks, agrees],
        (true, false) => [asks, 0],
        (false, _) => [0, 0],
    }
}

fn host_sysctls(settings: &TcpSettings, family: AddressFamily) -> Vec<(&'static str, String)> {
    let flag = |on: bool| u8::from(on).to_string();
    let is_rack = settings.recovery == RecoveryName::Rack;
    let (start, most, is_tuned) = receive_buffer_settings(settings, family);
    let option = match settings.quirks.accecn_option {
        AccEcnOptionUse::Off => Some("0"),
        AccEcnOptionUse::Minimum => Some("1"),
        // The kernel's default.
        AccEcnOptionUse::Full => None,
        AccEcnOptionUse::Always => Some("3"),
    };
    let option = option.filter(|_| settings.wants_accurate_ecn()).map(|value| ("tcp_ecn_option", value.to_owned()));
    let mut sysctls = vec![
        ("tcp_ecn_fallback", flag(settings.quirks.ecn_fallback)),
        ("tcp_sack", flag(settings.offers_sack())),
        ("tcp_dsack", flag(settings.offers_sack() && settings.quirks.dsack)),
        ("tcp_recovery", flag(is_rack && settings.loss_detection == LossDetection::Rack)),
        ("tcp_early_retrans", if is_rack && settings.tlp { "3" } else { "0" }.to_owned()),
        ("tcp_frto", if is_rack && settings.frto { "2" } else { "0" }.to_owned()),
        ("tcp_reordering", settings.dupthresh.to_string()),
        ("tcp_timestamps", flag(settings.timestamps)),
        ("tcp_window_scaling", flag(settings.quirks.window_scaling)),
        ("tcp_slow_start_after_idle", flag(settings.slow_start_after_idle != SlowStartAfterIdle::Off)),
        ("tcp_comp_sack_nr", if is_rack && settings.quirks.comp_sack { "44" } else { "0" }.to_owned()),
        ("tcp_moderate_rcvbuf", flag(is_tuned)),
        ("tcp_rmem", format!("4096 {start} {most}")),
    ];
    sysctls.extend(option);
    sysctls
}

/// The window in bytes, if the receive buffer does not determine it: acknowledgements do not depend on a buffer, or the largest window is
/// below the maximum of the buffer. Such a buffer is not autotuned, since a kernel that tunes it drops the clamp.
///
/// Headers of IPv6 and the option of Accurate ECN make segments shorter, and the buffer no larger: segments without them decide.
fn window_clamp(settings: &TcpSettings, family: AddressFamily) -> Option<u64> {
    let payload_in = |family| u64::from(settings.packet_size).saturating_sub(data_header_bytes(settings, family));
    let window = |payload: u64| settings.max_rwnd.saturating_mul(payload).min(1 << 28);
    let most = match settings.receive_window {
        ReceiveWindow::Unlimited => u64::MAX,
        ReceiveWindow::Fixed => settings.receive_buffer / 2,
        ReceiveWindow::Autotuned => settings.receive_buffer_max / 2,
    };
    let largest = payload_in(AddressFamily::V4);
    let payload = payload_in(family).saturating_sub(u64::from(settings.accecn_option_bytes()));
    (window(largest) + largest <= most).then(|| window(payload))
}

/// Receive buffer: initial size, maximum size, and whether it is autotuned. Half of it is window.
fn receive_buffer_settings(settings: &TcpSettings, family: AddressFamily) -> (u64, u64, bool) {
    match (window_clamp(settings, family), settings.receive_window) {
        (Some(window), _) => (4 * window, 4 * window, false),
        (None, ReceiveWindow::Autotuned) => (settings.receive_buffer, settings.receive_buffer_max, settings.quirks.moderate_rcvbuf),
        // The maximum determines the window scale.
        (None, ReceiveWindow::Fixed) => (settings.receive_buffer, settings.receive_buffer.max(settings.receive_buffer_max), false),
        (None, ReceiveWindow::Unlimited) => (settings.receive_buffer, settings.receive_buffer, false),
    }
}

fn socket_settings(settings: &TcpSettings, family: AddressFamily) -> SocketSettings {
    SocketSettings {
        congestion: kernel_congestion_control(settings).unwrap_or(KernelControlName::new("reno")),
        nodelay: !settings.nagle,
        interactive: settings.quirks.pingpong,
        pacing: settings.pacing,
        window_clamp: window_clamp(settings, family).map(|window| window as u32),
        receive_buffer: (settings.receive_window == ReceiveWindow::Fixed && window_clamp(settings, family).is_none())
            .then_some(settings.receive_buffer as u32),
        read_size: settings.quirks.app_read_size,
    }
}
