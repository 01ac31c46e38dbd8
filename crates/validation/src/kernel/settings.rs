//! The settings that a case's hosts amount to, or what of them is not built.

use std::fmt::Display;

use ecnlab_transport::settings::{self, PADDED_ACCECN_OPTION_BYTES, ReceiveWindow};
use ecnlab_transport::{Quirks, TcpSettings, profile};
use ecnlab_units::Span;
use ecnlab_units::parameter::OrOff;

use super::case::{AppCallTrigger, Case, Packet, Side, SocketCall, SynOptions, Sysctl, TCP_RMEM, Tcp};

/// The profile that the cases validate.
pub const PROFILE: &str = "linux-6.1";
/// The profile of cases of a newer kernel, and how their kernel's release begins.
pub const NEWER_PROFILE: &str = "linux-7.2";
const NEWER_RELEASE_PREFIX: &str = "7.";

/// Values of `tcp_ecn` with which a side offers classic ECN, and Accurate ECN.
const OFFERS_CLASSIC: [u64; 2] = [1, 4];
const OFFERS_ACCURATE: u64 = 3;
const TCP_ECN_OPTION: &str = "net.ipv4.tcp_ecn_option";

/// The profile of a case's kernel.
pub fn profile_of(case: &Case) -> &'static str {
    if case.kernel.as_ref().is_some_and(|kernel| kernel.starts_with(NEWER_RELEASE_PREFIX)) { NEWER_PROFILE } else { PROFILE }
}

/// Bytes of IPv4 and TCP header without options, and what options take: timestamps with padding, which in a SYN SACK's two bytes fill; SACK
/// alone; the maximum segment size; and the window's scale with padding.
const BARE_HEADER_BYTES: u32 = 40;
const TIMESTAMPS_BYTES: u32 = 12;
const SACK_PERMITTED_BYTES: u32 = 4;
const MSS_OPTION_BYTES: u32 = 4;
const WINDOW_SCALE_BYTES: u32 = 4;
/// SACK blocks for which a header with timestamps and without has room.
const MAX_SACK_BLOCKS: [&str; 2] = ["3", "4"];
/// How much the recorded application reads at a time.
const READ_SIZE_BYTES: u64 = 70_000;

/// Bytes of the smallest and the largest buffer (Linux SOCK_MIN_RCVBUF; the largest number that a switch takes).
const MIN_BUFFER_BYTES: u64 = 4608;
const MAX_BUFFER_BYTES: u64 = 2_147_483_647;
/// Sysctls that follow from the SYN options and from the receiver.
const SYSCTLS_APPLIED_ELSEWHERE: &[&str] = &[
    TCP_RMEM,
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_ecn",
    TCP_ECN_OPTION,
    "net.ipv4.tcp_no_metrics_save",
];

/// A sysctl that is a parameter of ours: which side reads it, its values, and what the parameter is with each; without any, it is the value.
struct SysctlMapping {
    name: &'static str,
    side: Side,
    parameter: &'static str,
    values: &'static [(&'static str, &'static str)],
}

const fn new_sysctl_mapping(
    name: &'static str,
    side: Side,
    parameter: &'static str,
    values: &'static [(&'static str, &'static str)],
) -> SysctlMapping {
    SysctlMapping { name, side, parameter, values }
}

const MAPPED_SYSCTLS: &[SysctlMapping] = &[
    new_sysctl_mapping("net.ipv4.tcp_dsack", Side::B, "dsack", &[("0", "false"), ("1", "true")]),
    new_sysctl_mapping("net.ipv4.tcp_comp_sack_nr", Side::B, "comp_sack", &[("0", "false"), ("44", "true")]),
    new_sysctl_mapping("net.ipv4.tcp_recovery", Side::A, "loss_detection", &[("0", "dupthresh"), ("1", "rack")]),
    new_sysctl_mapping("net.ipv4.tcp_early_retrans", Side::A, "tlp", &[("0", "false"), ("3", "true"), ("4", "true")]),
    new_sysctl_mapping("net.ipv4.tcp_frto", Side::A, "frto", &[("0", "false"), ("1", "true"), ("2", "true")]),
    new_sysctl_mapping("net.ipv4.tcp_slow_start_after_idle", Side::A, "slow_start_after_idle", &[("0", "off"), ("1", "halve")]),
    new_sysctl_mapping("net.ipv4.tcp_ecn_fallback", Side::A, "ecn_fallback", &[("0", "false"), ("1", "true")]),
    new_sysctl_mapping("net.ipv4.tcp_reordering", Side::A, "dupthresh", &[]),
];

/// Sets a parameter of a case to a value, as a scenario writes it.
type SetParameter<'a> = &'a mut dyn FnMut(&str, &dyn Display);

/// How long before time zero the clock of either host began, as far as it can be seen.
pub fn clock_age_at_start(case: &Case) -> Span {
    clock_tick(case) * case.clock.jiffies_at_start + case.clock.tick_phase
}

fn clock_tick(case: &Case) -> Span {
    Span::from_secs(1) / case.clock.hz
}

/// The settings of a case.
///
/// # Errors
/// What is not built of what the case asks for.
pub fn settings_of_case(case: &Case) -> Result<TcpSettings, String> {
    let tcp = &case.tcp;
    let mut values = profile::find_profile(profile_of(case)).expect("the profile exists").values_with_defaults();
    let mut wrong = Vec::new();
    let mut set = |name: &str, value: &dyn Display| {
        wrong.extend(values.set_from_text(name, &value.to_string()).err().map(|why| (name.to_owned(), why)))
    };
    set_congestion_control(tcp, &mut set)?;
    set("nagle", &!tcp.nodelay);
    set("gso", &tcp.gso);
    set("tick", &format!("{} s", clock_tick(case).seconds()));
    let header = header_size(tcp);
    set("header_size", &format!("{header} B"));
    set("ack_size", &format!("{header} B"));
    set("packet_size", &format!("{} B", tcp.mss + header));
    set("syn_size", &format!("{} B", syn_size(tcp)));
    set_syn_options(tcp, &mut set);
    set_ecn(tcp, &mut set);
    translate_accecn_option(tcp, &mut set)?;
    set_receiver(case, &mut set)?;
    if let Some(window) = tcp.initial_window {
        set("initial_window", &window);
    }
    if let Some(limit) = tcp.cwnd_limit {
        set("max_cwnd", &limit);
    }
    if let Some(least) = tcp.rto_min {
        set("rto_min", &format!("{} s", least.seconds()));
    }
    if tcp.quickack {
        set("delayed_ack", &"false");
    }
    for sysctl in &tcp.sysctl {
        apply_sysctl(sysctl, &mut set)?;
    }
    let contradictions = || settings::check(&values).into_iter().map(|(name, why)| (name.to_owned(), why)).next();
    match wrong.into_iter().next().or_else(contradictions) {
        Some((name, why)) => Err(format!("not built: {name} of profile {} cannot have the case's value: {why}", profile_of(case))),
        None => Ok(TcpSettings::from_values(&values)),
    }
}

/// Those of the other direction of a connection, whose receiver is side a with the buffer that hosts have.
pub fn settings_of_answering_side(case: &Case, settings: &TcpSettings) -> TcpSettings {
    let usual = profile::tcp_settings_of(profile_of(case));
    let quirks = Quirks {
        moderate_rcvbuf: case.tcp.sysctl(Side::A, "net.ipv4.tcp_moderate_rcvbuf") == Some("1"),
        pingpong: false,
        app_read_pause: OrOff(None),
        app_read_resume: OrOff(None),
        ..settings.quirks
    };
    TcpSettings {
        receive_window: ReceiveWindow::Autotuned,
        receive_buffer: usual.receive_buffer,
        // The scale of its SYN shows how large it may become.
        receive_buffer_max: case.tcp.syns[Side::A.index()].scale.map_or(usual.receive_buffer_max, |scale| 65_535 << scale),
        quirks,
        ..settings.clone()
    }
}

fn set_congestion_control(tcp: &Tcp, set: SetParameter) -> Result<(), String> {
    match tcp.congestion.as_str() {
        "cubic" => set("congestion_control", &"cubic"),
        "reno" => set("congestion_control", &"reno"),
        "dctcp" => [("congestion_control", "reno"), ("ecn_response", "dctcp"), ("ecn_echo", "dctcp")]
            .iter()
            .for_each(|(name, value)| set(name, value)),
        "prague" => profile::find_variant("prague").expect("the variant exists").members.iter().for_each(|(name, value)| set(name, value)),
        other => return Err(format!("not built: congestion control {other}")),
    }
    if !tcp.hystart {
        set("hystart", &"off");
    }
    Ok(())
}

/// `tcp_ecn`: 1 offers and agrees, 2 agrees, 0 does neither; 3 to 5 agree to Accurate ECN, and 3 offers it, 4 offers classic ECN. With DCTCP both sides offer and
/// agree regardless of it, and Prague offers Accurate ECN.
fn set_ecn(tcp: &Tcp, set: SetParameter) {
    let is_prague = tcp.congestion == "prague";
    let needs = is_prague || tcp.congestion == "dctcp";
    let [a, b] = tcp.ecn;
    set("ecn", &(needs || OFFERS_CLASSIC.contains(&a) || a == OFFERS_ACCURATE));
    set("receiver_ecn", &(needs || b != 0));
    set("receiver_accurate_ecn", &(b >= OFFERS_ACCURATE));
    if a == OFFERS_ACCURATE || is_prague {
        set("ecn_echo", &"accurate");
    }
}

/// The Accurate ECN option of both sides, which must be the same.
fn translate_accecn_option(tcp: &Tcp, set: SetParameter) -> Result<(), String> {
    let [a, b] = Side::BOTH.map(|side| tcp.sysctl(side, TCP_ECN_OPTION).unwrap_or("2"));
    let uses = [("0", "off"), ("1", "minimum"), ("2", "full"), ("3", "always")];
    match uses.iter().find(|(value, _)| *value == a && a == b) {
        Some((_, used)) => set("accecn_option", used),
        None => return Err(format!("not built: {TCP_ECN_OPTION} = {a} on side a and {b} on side b")),
    }
    Ok(())
}

/// The receiver's buffer, how its application reads, and whether it is taken for an interactive one, as TCP_QUICKACK 0 has it.
fn set_receiver(case: &Case, set: SetParameter) -> Result<(), String> {
    let tcp = &case.tcp;
    let (window, interactive) = match tcp.receiver.as_str() {
        "big" => ("fixed", false),
        "delayed" => ("fixed", true),
        "auto" => ("autotuned", tcp.interactive),
        other => return Err(format!("not built: receiver {other}")),
    };
    set("receive_window", &window);
    set("pingpong", &interactive);
    set("app_read_size", &format!("{} B", tcp.read_size.unwrap_or(READ_SIZE_BYTES)));
    let sizes = tcp.sysctl(Side::B, TCP_RMEM).map_or(Vec::new(), |sizes| sizes.split_whitespace().collect());
    // By default it depends on the host's memory; both hosts have the same, which the window scale in the SYN shows.
    let usual = tcp.syns[Side::A.index()].scale.map(|scale| (65_535 << scale).to_string());
    let largest = sizes.get(2).map(|&size| size.to_owned()).or(usual);
    // The kernel doubles the value of SO_RCVBUF, for its own overhead.
    let buffer = tcp.buffer.map(|bytes| (2 * bytes).to_string()).or(sizes.get(1).map(|&size| size.to_owned()));
    for (name, size) in [("receive_buffer", buffer), ("receive_buffer_max", largest)] {
        if let Some(size) = size {
            let sound = size.parse::<u64>().is_ok_and(|bytes| (MIN_BUFFER_BYTES..=MAX_BUFFER_BYTES).contains(&bytes));
            if !sound {
                return Err(format!(
                    "not built: {TCP_RMEM} with a buffer of {size} bytes, which is not from {MIN_BUFFER_BYTES} to {MAX_BUFFER_BYTES}"
                ));
            }
            set(name, &format!("{size} B"));
        }
    }
    for (name, call) in [("app_read_pause", SocketCall::PauseReading), ("app_read_resume", SocketCall::ResumeReading)] {
        let calls = case.application.iter().filter(|other| other.side == Side::B && other.call == call);
        match calls.map(|call| call.trigger).collect::<Vec<_>>()[..] {
            [] => {}
            [AppCallTrigger::At(at)] => set(name, &format!("{} s", at.seconds())),
            _ => return Err("not built: a receiver that stops reading more than once".to_owned()),
        }
    }
    Ok(())
}

/// Options that both SYNs carry.
fn set_syn_options(tcp: &Tcp, set: SetParameter) {
    let blocks = MAX_SACK_BLOCKS[usize::from(!tcp.timestamps())];
    set("timestamps", &tcp.timestamps());
    set("window_scaling", &tcp.both_syns_have(|syn| syn.scale.is_some()));
    set("sack_blocks", &if tcp.both_syns_have(|syn| syn.sack) { blocks } else { "0" });
    if !tcp.both_syns_have(|syn| syn.sack) {
        set("dsack", &"false");
    }
}

/// Sets the parameter of a side's sysctl; the other side's has no effect, since it does not read it.
fn apply_sysctl(Sysctl { side, name, value }: &Sysctl, set: SetParameter) -> Result<(), String> {
    if SYSCTLS_APPLIED_ELSEWHERE.contains(&name.as_str()) {
        return Ok(());
    }
    let unknown = || format!("not built: {name} = {value}");
    let mapped = MAPPED_SYSCTLS.iter().find(|mapped| mapped.name == name).ok_or_else(unknown)?;
    let setting = match mapped.values {
        [] => value.as_str(),
        values => values.iter().find(|(of, _)| of == value).ok_or_else(unknown)?.1,
    };
    if side.is_none_or(|side| side == mapped.side) {
        set(mapped.parameter, &setting);
    }
    Ok(())
}

/// Size on the wire of a packet of the real run that reports no SACK blocks.
pub fn wire_size_of_packet(tcp: &Tcp, packet: &Packet) -> u32 {
    let option = if packet.accecn.is_some() { PADDED_ACCECN_OPTION_BYTES } else { 0 };
    if packet.has_flag('S') { syn_size(tcp) } else { header_size(tcp) + option + packet.len as u32 }
}

fn header_size(tcp: &Tcp) -> u32 {
    if tcp.timestamps() { BARE_HEADER_BYTES + TIMESTAMPS_BYTES } else { BARE_HEADER_BYTES }
}

/// Of the first SYN.
fn syn_size(tcp: &Tcp) -> u32 {
    let SynOptions { sack, timestamps, scale } = tcp.syns[Side::A.index()];
    let stamps = if timestamps { TIMESTAMPS_BYTES } else { u32::from(sack) * SACK_PERMITTED_BYTES };
    BARE_HEADER_BYTES + MSS_OPTION_BYTES + stamps + u32::from(scale.is_some()) * WINDOW_SCALE_BYTES
}
