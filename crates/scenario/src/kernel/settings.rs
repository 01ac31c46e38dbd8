//! The settings that a case's hosts amount to, or what of them is not built.

use ecnlab_transport::{Settings, profile};
use ecnlab_units::{Span, Values};

use super::case::{A, B, Case, Packet, Tcp};

/// The profile that the cases judge.
pub const PROFILE: &str = "linux";

/// Bytes of IPv4 and TCP header without options, what timestamps add to each packet, and a SYN with all of its options.
const BARE_HEADER: u32 = 40;
const TIMESTAMPS: u32 = 12;
const SYN: u32 = 60;

/// A kernel's switch that is other than its default: the value, and which parameter it sets to what.
type Switch = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const SWITCHES: &[Switch] = &[
    ("net.ipv4.tcp_sack", "0", &[("dsack", "false"), ("sack_blocks", "0")]),
    ("net.ipv4.tcp_timestamps", "0", &[("timestamps", "false")]),
    ("net.ipv4.tcp_dsack", "0", &[("dsack", "false")]),
    ("net.ipv4.tcp_early_retrans", "0", &[("tlp", "false")]),
    ("net.ipv4.tcp_frto", "0", &[("frto", "false")]),
    ("net.ipv4.tcp_slow_start_after_idle", "0", &[("idle_restart", "off")]),
    ("net.ipv4.tcp_ecn_fallback", "0", &[("ecn_fallback", "false")]),
    ("net.ipv4.tcp_moderate_rcvbuf", "1", &[]),
];

/// How long before time zero the clock of either host began, as far as it can be seen.
pub fn boot(case: &Case) -> Span {
    let tick = Span::from_picos(Span::from_secs(1).picos() / case.clock.hz);
    tick * case.clock.jiffies_at_start + case.clock.tick_phase
}

/// The settings of a case.
///
/// # Errors
/// What is not built of what the case asks for.
pub fn settings(case: &Case) -> Result<Settings, String> {
    let tcp = &case.tcp;
    if case.application.iter().any(|action| action.side == B && matches!(action.what, super::case::Deed::Write(_))) {
        return Err("not built: data in both directions".to_owned());
    }
    let mut values = profile::find(PROFILE).expect("the profile exists").values();
    let mut set = |name: &str, value: &str| set(&mut values, name, value);
    congestion(tcp, &mut set)?;
    set("nagle", if tcp.nodelay { "false" } else { "true" });
    set("gso", if tcp.gso { "true" } else { "false" });
    let header = if timestamps(tcp) { BARE_HEADER + TIMESTAMPS } else { BARE_HEADER };
    set("header", &format!("{header} B"));
    set("ack_size", &format!("{header} B"));
    set("packet_size", &format!("{} B", tcp.mss + header));
    set("first_packet_size", &format!("{} B", syn_size(tcp)));
    ecn(tcp, &mut set);
    receiver(tcp, &mut set)?;
    for (_, name, value) in &tcp.sysctl {
        switch(name, value, &mut set)?;
    }
    Ok(Settings::of(&values))
}

fn congestion(tcp: &Tcp, set: &mut impl FnMut(&str, &str)) -> Result<(), String> {
    match tcp.congestion.as_str() {
        "cubic" => set("congestion", "cubic"),
        "reno" => set("congestion", "reno"),
        "dctcp" => [("congestion", "reno"), ("response", "dctcp"), ("ecn_echo", "dctcp")].iter().for_each(|(name, value)| set(name, value)),
        other => return Err(format!("not built: congestion control {other}")),
    }
    if !tcp.hystart {
        set("hystart", "off");
    }
    Ok(())
}

/// `tcp_ecn`: 1 offers and agrees, 2 agrees, 0 does neither.
fn ecn(tcp: &Tcp, set: &mut impl FnMut(&str, &str)) {
    set("ecn", if tcp.ecn[usize::from(A)] == 1 { "true" } else { "false" });
    set("receiver_ecn", if tcp.ecn[usize::from(B)] == 0 { "false" } else { "true" });
}

fn receiver(tcp: &Tcp, set: &mut impl FnMut(&str, &str)) -> Result<(), String> {
    match tcp.receiver.as_str() {
        "big" => set("quick_acks", "1000"),
        "delayed" => set("quick_acks", "0"),
        "auto" => {}
        other => return Err(format!("not built: receiver {other}")),
    }
    Ok(())
}

fn timestamps(tcp: &Tcp) -> bool {
    !tcp.sysctl.iter().any(|(_, name, value)| name == "net.ipv4.tcp_timestamps" && value == "0")
}

fn switch(name: &str, value: &str, set: &mut impl FnMut(&str, &str)) -> Result<(), String> {
    let known = SWITCHES.iter().find(|(switch, setting, _)| *switch == name && *setting == value);
    match known {
        Some((.., members)) => members.iter().for_each(|(name, value)| set(name, value)),
        None if name == "net.ipv4.tcp_rmem" => {}
        None => return Err(format!("not built: {name} = {value}")),
    }
    Ok(())
}

fn set(values: &mut Values, name: &str, value: &str) {
    values.read(name, value).unwrap_or_else(|why| panic!("{name} of a case: {why}"));
}

/// Size on the wire of a packet of the real run that reports no SACK blocks.
pub fn size(tcp: &Tcp, packet: &Packet) -> u32 {
    let header = if timestamps(tcp) { BARE_HEADER + TIMESTAMPS } else { BARE_HEADER };
    if packet.has('S') { syn_size(tcp) } else { header + packet.len as u32 }
}

/// Of a SYN: MSS and window scale with padding, and timestamps with SACK between them, or SACK alone.
fn syn_size(tcp: &Tcp) -> u32 {
    if timestamps(tcp) { SYN } else { SYN - TIMESTAMPS + 4 }
}
