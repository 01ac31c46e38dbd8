//! How a kernel gets each parameter of TCP, or why it cannot. The page docs/explanation/hosts.md shows the table.

use ecnlab_transport::Settings;
use ecnlab_transport::settings::{
    CongestionControlName, EchoStyle, EcnResponseName, LossDetection, ReceiveWindow, RecoveryName, SlowStartAfterIdle,
};
use ecnlab_units::Span;
use ecnlab_wire::{LENGTH_V4, LENGTH_V6};

use crate::address::Family;
use crate::host_settings::{HostSettings, RouteMetrics, SocketSettings, Sysctl};

/// How a kernel gets a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Means {
    /// A sysctl of the host, below `net.ipv4`.
    Sysctl(&'static str),
    /// An option of each socket.
    Socket(&'static str),
    /// An attribute of the host's route.
    Route(&'static str),
    /// The device.
    Device(&'static str),
    /// Together with others it chooses the socket's congestion control.
    Control,
    /// Some values as [`Means::Control`], others by this sysctl.
    ControlOr(&'static str),
    /// What hosts do with a socket.
    Program(&'static str),
    /// It follows from others.
    Follows(fn(&Settings, Family) -> u64, &'static str),
    /// What reads it is no kernel's, and refused; why.
    Nowhere(&'static str),
    /// It has one value, the profile's unless another one is said; what the kernel has of it.
    Only(Option<&'static str>, &'static str),
}

/// A parameter, how a kernel gets it, and which of its values it cannot be given.
pub struct Row {
    pub name: &'static str,
    pub means: Means,
    /// Of settings that are sound: why a kernel cannot do this, with the remedy.
    pub refuses: fn(&Settings) -> Option<&'static str>,
}

const fn row(name: &'static str, means: Means) -> Row {
    Row { name, means, refuses: |_| None }
}

const fn only(name: &'static str, why: &'static str) -> Row {
    row(name, Means::Only(None, why))
}

const fn only_at(name: &'static str, value: &'static str, why: &'static str) -> Row {
    row(name, Means::Only(Some(value), why))
}

const fn follows(name: &'static str, from: fn(&Settings, Family) -> u64, what: &'static str) -> Row {
    row(name, Means::Follows(from, what))
}

const BY_BUILD: &str = "a parameter of the kernel's module, which all of its hosts share";
const BY_CODE: &str = "written into the kernel's code";
const NEW_RENO: &str = "the kernel's NewReno is as it is";

/// Every parameter of TCP, once.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    Row { refuses: no_such_control, ..row("congestion_control", Means::Control) },
    Row { refuses: no_such_recovery, ..row("recovery", Means::Sysctl("tcp_sack, tcp_recovery")) },
    Row { refuses: no_such_response, ..row("ecn_response", Means::Control) },
    row("ecn", Means::Sysctl("tcp_ecn")),
    row("receiver_ecn", Means::Sysctl("tcp_ecn")),
    row("ecn_fallback", Means::Sysctl("tcp_ecn_fallback")),
    only("ect_codepoint", "it sets ECT(0) alone"),
    only("ect_on_retransmission", BY_CODE),
    only("first_packet_offers_ecn", BY_CODE),
    Row { refuses: no_such_echo, ..row("ecn_echo", Means::ControlOr("tcp_ecn")) },
    only("ece_on_ect_only", BY_CODE),
    only_at("abe_beta", "0.8", BY_BUILD),
    only_at("dctcp_g", "0.0625", BY_BUILD),
    only("dctcp_ect_on_all_packets", BY_CODE),
    row("mecn_incipient_decrease", Means::Nowhere("no congestion control of it knows MECN")),
    row("mecn_moderate_decrease", Means::Nowhere("no congestion control of it knows MECN")),
    row("aimd_a", Means::Nowhere("it has no AIMD")),
    row("aimd_b", Means::Nowhere("it has no AIMD")),
    only("cubic_c", BY_BUILD),
    only("cubic_beta", BY_BUILD),
    only("cubic_fast_convergence", BY_BUILD),
    only("cubic_reno_friendly", BY_BUILD),
    only("hystart", BY_BUILD),
    only_at("vegas_alpha", "2", BY_BUILD),
    only_at("vegas_beta", "4", BY_BUILD),
    only_at("vegas_gamma", "1", BY_BUILD),
    only("cwnd_increase", BY_CODE),
    only("integer_cwnd", BY_CODE),
    only("cwnd_validation", BY_CODE),
    Row { refuses: no_such_restart, ..row("slow_start_after_idle", Means::Sysctl("tcp_slow_start_after_idle")) },
    only("reduce_from", BY_CODE),
    only("min_cwnd", BY_CODE),
    only("repeated_rto_keeps_ssthresh", BY_CODE),
    only("ece_response_after_rto", BY_CODE),
    only("rto_keeps_ecn_ssthresh", BY_CODE),
    only("prr", BY_CODE),
    only("prr_bound", BY_CODE),
    only("prr_divisor", BY_CODE),
    only("ecn_reduction", BY_CODE),
    only("undo", BY_CODE),
    row("frto", Means::Sysctl("tcp_frto")),
    row("loss_detection", Means::Sysctl("tcp_recovery")),
    row("tlp", Means::Sysctl("tcp_early_retrans")),
    row("pacing", Means::Socket("SO_MAX_PACING_RATE")),
    only("partial_ack_timer", NEW_RENO),
    only("partial_window_deflation", NEW_RENO),
    only("cwnd_on_exit", NEW_RENO),
    row("max_rwnd", Means::Socket("TCP_WINDOW_CLAMP")),
    Row { refuses: no_such_size, ..row("packet_size", Means::Device("MTU")) },
    follows("ack_size", header, "timestamps and the version of IP"),
    follows("syn_size", first_packet, "recovery, timestamps, quirks.window_scaling and the version of IP"),
    follows("header_size", header, "timestamps and the version of IP"),
    Row { refuses: no_such_initial_window, ..row("initial_window", Means::Route("initcwnd")) },
    only("handshake", BY_CODE),
    only("fin", BY_CODE),
    only("fin_on_data", BY_CODE),
    only("coalesce_writes", BY_CODE),
    row("nagle", Means::Socket("TCP_NODELAY")),
    only("syn_rtx_rto", BY_CODE),
    only("delay_growth", BY_CODE),
    only("limited_transmit", BY_CODE),
    row("dupthresh", Means::Sysctl("tcp_reordering")),
    only("count_dupacks_when_idle", BY_CODE),
    only("max_burst", "it has no such limit"),
    only("gso", "the router takes packets one by one"),
    only("max_cwnd", "the attribute cwnd of a route has no effect where its metrics are not saved (tcp_init_metrics makes no entry)"),
    only("ssthresh_rounding", BY_CODE),
    only("single_fast_retransmit", BY_CODE),
    only("first_packet_loss_recovery", BY_CODE),
    only("inflate_in_recovery_only", NEW_RENO),
    only("cwr_on_retransmission", BY_CODE),
    only("cwr_on_highest_packet", BY_CODE),
    only("cwr_without_ecn", BY_CODE),
    only("idle_rto_resets_cwnd", BY_CODE),
    only("idle_rto_keeps_ssthresh", BY_CODE),
    only("tick", "CONFIG_HZ, which it was built with"),
    only("timer_wheel", BY_CODE),
    Row { refuses: no_such_rto_min, ..row("rto_min", Means::Route("rto_min")) },
    only("rto_max", "TCP_RTO_MAX, which it was built with"),
    only("rto_initial", "TCP_TIMEOUT_INIT, which it was built with"),
    only("rto_order", BY_CODE),
    only("rto_timer_restart", BY_CODE),
    only("rto_estimator", BY_CODE),
    only("handshake_rtt_sample", BY_CODE),
    row("timestamps", Means::Sysctl("tcp_timestamps")),
    row("delayed_ack", Means::Route("quickack")),
    only("delayed_ack_rule", BY_CODE),
    only("delayed_ack_time", "TCP_DELACK_MIN, which it was built with"),
    only("delay_dup_acks", BY_CODE),
    only("max_quickacks", "TCP_MAX_QUICKACKS, which it was built with"),
    only("piggyback_acks", BY_CODE),
    Row { refuses: no_such_blocks, ..row("sack_blocks", Means::Sysctl("tcp_sack")) },
    only("sack_option_size", BY_CODE),
    row("comp_sack", Means::Sysctl("tcp_comp_sack_nr")),
    row("pingpong", Means::Socket("TCP_QUICKACK")),
    row("receive_window", Means::Sysctl("tcp_moderate_rcvbuf")),
    row("receive_buffer", Means::Sysctl("tcp_rmem")),
    row("receive_buffer_max", Means::Sysctl("tcp_rmem")),
    row("moderate_rcvbuf", Means::Sysctl("tcp_moderate_rcvbuf")),
    row("window_scaling", Means::Sysctl("tcp_window_scaling")),
    row("app_read_size", Means::Program("length of each read")),
    only("app_read_pause", "hosts read whenever there is something"),
    only("app_read_resume", "hosts read whenever there is something"),
    row("dsack", Means::Sysctl("tcp_dsack")),
    only("rtt_report", "no round-trip time stands in real packets: the router measures the smallest in passing"),
];

/// The kernel's congestion control that does what these parameters say together, if there is one.
pub fn control(settings: &Settings) -> Option<&'static str> {
    match (settings.congestion_control, settings.answer()) {
        (CongestionControlName::Reno, EcnResponseName::Halve) => Some("reno"),
        (CongestionControlName::Cubic, EcnResponseName::Halve) => Some("cubic"),
        (CongestionControlName::Vegas, EcnResponseName::Halve) => Some("vegas"),
        (CongestionControlName::Reno, EcnResponseName::Dctcp) => Some("dctcp"),
        (CongestionControlName::Reno, EcnResponseName::Abe) => Some("abe"),
        _ => None,
    }
}

/// The response in force: without ECN there are no marks to respond to.
trait Answer {
    fn answer(&self) -> EcnResponseName;
}

impl Answer for Settings {
    fn answer(&self) -> EcnResponseName {
        if self.ecn { self.ecn_response } else { EcnResponseName::Halve }
    }
}

fn no_such_control(settings: &Settings) -> Option<&'static str> {
    match (settings.congestion_control, settings.answer()) {
        (CongestionControlName::Aimd, _) => Some("no kernel has it: reno is AIMD with aimd_a = 1 and aimd_b = 0.5"),
        (CongestionControlName::Cubic, EcnResponseName::Dctcp) => {
            Some("the kernel's DCTCP grows as reno does: give congestion_control = \"reno\"")
        }
        (CongestionControlName::Cubic, EcnResponseName::Abe) => {
            Some("the UML kernel's congestion control abe grows as reno does: give congestion_control = \"reno\" and abe_beta = 0.8")
        }
        (CongestionControlName::Vegas, EcnResponseName::Dctcp | EcnResponseName::Abe) => {
            Some("the kernel's Vegas takes a mark for a loss: give ecn_response = \"halve\"")
        }
        _ => None,
    }
}

fn no_such_recovery(settings: &Settings) -> Option<&'static str> {
    match settings.recovery {
        RecoveryName::Rack | RecoveryName::Sack | RecoveryName::NewReno => None,
        RecoveryName::Tahoe | RecoveryName::Reno => Some("a kernel without SACK recovers as NewReno does: give variant = \"newreno\""),
        RecoveryName::Sack1 => Some("is ns-2's: give recovery = \"rack\", with loss_detection = \"dupthresh\" for tcp_recovery = 0"),
        RecoveryName::Fack => {
            Some("left Linux with 4.15: give recovery = \"rack\", with loss_detection = \"dupthresh\" for what came before it")
        }
        RecoveryName::Vegas => {
            Some("is ns-2's: give congestion_control = \"vegas\" with recovery = \"rack\", \"sack\" or \"newreno\" in place of the variant")
        }
    }
}

fn no_such_response(settings: &Settings) -> Option<&'static str> {
    match settings.answer() {
        EcnResponseName::Halve | EcnResponseName::Abe | EcnResponseName::Dctcp => None,
        EcnResponseName::None => Some("a kernel that has agreed to ECN answers marks: give ecn = false, or ecn_response = \"halve\""),
        EcnResponseName::Mecn => Some("kernels know no levels: give ecn_response = \"halve\""),
    }
}

fn no_such_echo(settings: &Settings) -> Option<&'static str> {
    match (settings.ecn, settings.ecn_echo, settings.ecn_response) {
        (true, EchoStyle::Mecn, _) => Some("kernels know no levels: give ecn_echo = \"classic\""),
        (true, EchoStyle::Dctcp, EcnResponseName::Halve | EcnResponseName::Abe | EcnResponseName::None) => {
            Some("a kernel echoes each packet's own mark with its congestion control dctcp alone: give ecn_response = \"dctcp\"")
        }
        _ => None,
    }
}

fn no_such_restart(settings: &Settings) -> Option<&'static str> {
    (settings.slow_start_after_idle == SlowStartAfterIdle::Initial)
        .then_some("a kernel halves the window once for each idle timeout: give slow_start_after_idle = \"halve\", or \"off\"")
}

fn no_such_size(settings: &Settings) -> Option<&'static str> {
    (settings.packet_size < 128).then_some("is too small for a kernel's segments: give packet_size = \"128 B\" or more")
}

fn no_such_blocks(settings: &Settings) -> Option<&'static str> {
    (![0, 3].contains(&settings.sack_blocks))
        .then_some("a kernel sends as many as the header has room for: leave it out, or give 0, which is tcp_sack = 0")
}

fn no_such_initial_window(settings: &Settings) -> Option<&'static str> {
    (settings.initial_window > 255).then_some("is more than a kernel's receivers allow at the start: give 255 or less")
}

fn no_such_rto_min(settings: &Settings) -> Option<&'static str> {
    (settings.rto_min < Span::from_millis(1) || settings.rto_min.picos() % Span::from_millis(1).picos() != 0)
        .then_some("a route's rto_min is whole milliseconds: give 1 ms or more")
}

/// Headers of IP and TCP without options.
fn bare(family: Family) -> u64 {
    let ip = if family == Family::V4 { LENGTH_V4 } else { LENGTH_V6 };
    ip as u64 + 20
}

/// Headers of a segment that carries nothing but data: IP, TCP, timestamps where they are in use, and of Accurate ECN the option with three
/// counts of bytes (RFC 9768, section 3.2.3), which a kernel sends with every segment that has room for it.
pub fn header(settings: &Settings, family: Family) -> u64 {
    let timestamps = if settings.timestamps { 12 } else { 0 };
    bare(family) + timestamps + if settings.wants_accurate_ecn() && settings.quirks.receiver_ecn { 12 } else { 0 }
}

/// A SYN with its options: the segment size, SACK and timestamps, which share a word, and the window's scale.
fn first_packet(settings: &Settings, family: Family) -> u64 {
    let sack = settings.offers_sack();
    let options = if settings.timestamps { 12 } else { 4 * u64::from(sack) };
    bare(family) + 4 + options + 4 * u64::from(settings.quirks.window_scaling)
}

/// What each host has beside what a scenario asks for, so that no default of the machine shows in results: what Linux 6.1 does. Not all kernels
/// have all of them, and 6.1 itself has not those that say what newer kernels do otherwise unless they are told.
const ALWAYS: &[(&str, &str)] = &[
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

/// What a group's hosts are set to, of settings that no row refuses.
pub fn hosts(settings: &Settings, family: Family) -> HostSettings {
    let always = ALWAYS.iter().map(|&(name, value)| Sysctl { name, value: value.to_owned(), may_lack: true });
    let asked = sysctls(settings, family).into_iter().map(|(name, value)| Sysctl { name, value, may_lack: false });
    HostSettings {
        sysctls: always.chain(asked).collect(),
        ecn: ecn(settings),
        route: RouteMetrics {
            initcwnd: Some(settings.initial_window as u32),
            rto_min: Some(settings.rto_min),
            quickack: !settings.delayed_ack,
        },
        mtu: settings.packet_size,
        tcp: Some(sockets(settings, family)),
        datagrams: None,
    }
}

/// `tcp_ecn` of the host that opens connections and of the one that accepts them: 1 asks and agrees, 2 agrees, 0 does neither; 3 and 5 are as 1
/// and 2, of Accurate ECN.
fn ecn(settings: &Settings) -> [u8; 2] {
    let [asks, agrees] = if settings.wants_accurate_ecn() { [3, 5] } else { [1, 2] };
    match (settings.ecn, settings.quirks.receiver_ecn) {
        (true, true) => [asks, agrees],
        (true, false) => [asks, 0],
        (false, _) => [0, 0],
    }
}

fn sysctls(settings: &Settings, family: Family) -> Vec<(&'static str, String)> {
    let flag = |on: bool| u8::from(on).to_string();
    let is_rack = settings.recovery == RecoveryName::Rack;
    let (start, most, is_tuned) = receive_buffer(settings, family);
    vec![
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
    ]
}

/// The window that a receiver's buffer does not give by itself, in bytes: where acknowledgements say nothing of a buffer, or where the largest
/// window is smaller than what the buffer may grow to. Such a buffer is not autotuned, since a kernel that tunes it forgets the clamp.
fn window_clamp(settings: &Settings, family: Family) -> Option<u64> {
    let payload = u64::from(settings.packet_size).saturating_sub(header(settings, family));
    let window = settings.max_rwnd.saturating_mul(payload).min(1 << 28);
    let most = match settings.receive_window {
        ReceiveWindow::Unlimited => u64::MAX,
        ReceiveWindow::Fixed => settings.receive_buffer / 2,
        ReceiveWindow::Autotuned => settings.receive_buffer_max / 2,
    };
    (window + payload <= most).then_some(window)
}

/// The buffer of receivers: at the start, at most, and whether it is autotuned. Half of it is window.
fn receive_buffer(settings: &Settings, family: Family) -> (u64, u64, bool) {
    match (window_clamp(settings, family), settings.receive_window) {
        (Some(window), _) => (4 * window, 4 * window, false),
        (None, ReceiveWindow::Autotuned) => (settings.receive_buffer, settings.receive_buffer_max, settings.quirks.moderate_rcvbuf),
        // The largest one says the window's scale.
        (None, ReceiveWindow::Fixed) => (settings.receive_buffer, settings.receive_buffer.max(settings.receive_buffer_max), false),
        (None, ReceiveWindow::Unlimited) => (settings.receive_buffer, settings.receive_buffer, false),
    }
}

fn sockets(settings: &Settings, family: Family) -> SocketSettings {
    SocketSettings {
        congestion: control(settings).unwrap_or("reno"),
        nodelay: !settings.nagle,
        interactive: settings.quirks.pingpong,
        pacing: settings.pacing,
        window_clamp: window_clamp(settings, family).map(|window| window as u32),
        receive_buffer: (settings.receive_window == ReceiveWindow::Fixed && window_clamp(settings, family).is_none())
            .then_some(settings.receive_buffer as u32),
        read_size: settings.quirks.app_read_size,
    }
}
