//! The settings that a case's hosts amount to, or what of them is not built.

use ecnlab_transport::{Settings, profile};
use ecnlab_units::{Span, Values};

use super::case::{A, B, Case, Deed, Packet, Tcp, When};

/// The profile that the cases judge.
pub const PROFILE: &str = "linux-6.1";

/// Bytes of IPv4 and TCP header without options, what timestamps add to each packet, and a SYN with all of its options.
const BARE_HEADER: u32 = 40;
const TIMESTAMPS: u32 = 12;
const SYN: u32 = 60;
/// How much the recorded application reads at a time.
const READ_SIZE: &str = "70000 B";

/// A kernel's switch that is other than its default: the value, and which parameter it sets to what.
type Switch = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Smallest, usual and largest buffer of a receiver.
const RECEIVE_BUFFERS: &str = "net.ipv4.tcp_rmem";

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
    if case.application.iter().any(|action| action.side == B && matches!(action.what, Deed::Write(_))) {
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
    receiver(case, &mut set)?;
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

/// The receiver's buffer, how its application reads, and whether it is taken for an interactive one, as TCP_QUICKACK 0 has it.
fn receiver(case: &Case, set: &mut impl FnMut(&str, &str)) -> Result<(), String> {
    let tcp = &case.tcp;
    let (window, interactive) = match tcp.receiver.as_str() {
        "big" => ("fixed", "false"),
        "delayed" => ("fixed", "true"),
        "auto" => ("autotuned", "false"),
        other => return Err(format!("not built: receiver {other}")),
    };
    set("receive_window", window);
    set("interactive", interactive);
    set("read_size", READ_SIZE);
    let sizes = tcp.switched(B, RECEIVE_BUFFERS).map_or(Vec::new(), |sizes| sizes.split_whitespace().collect());
    // What SO_RCVBUF asks for is doubled, for what the packets are stored with.
    let buffer = tcp.buffer.map(|bytes| (2 * bytes).to_string()).or(sizes.get(1).map(|&size| size.to_owned()));
    for (name, size) in [("receive_buffer", buffer), ("receive_buffer_max", sizes.get(2).map(|&size| size.to_owned()))] {
        if let Some(size) = size {
            set(name, &format!("{size} B"));
        }
    }
    for (name, deed) in [("reader_stops", Deed::StopReading), ("reader_resumes", Deed::ReadAgain)] {
        let acts = case.application.iter().filter(|action| action.side == B && action.what == deed);
        match acts.map(|action| action.when).collect::<Vec<_>>()[..] {
            [] => {}
            [When::At(at)] => set(name, &format!("{} s", at.seconds())),
            _ => return Err("not built: a receiver that stops to read more than once".to_owned()),
        }
    }
    Ok(())
}

fn timestamps(tcp: &Tcp) -> bool {
    tcp.switched(A, "net.ipv4.tcp_timestamps") != Some("0") && tcp.switched(B, "net.ipv4.tcp_timestamps") != Some("0")
}

fn switch(name: &str, value: &str, set: &mut impl FnMut(&str, &str)) -> Result<(), String> {
    let known = SWITCHES.iter().find(|(switch, setting, _)| *switch == name && *setting == value);
    match known {
        Some((.., members)) => members.iter().for_each(|(name, value)| set(name, value)),
        None if name == RECEIVE_BUFFERS => {}
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
