//! Cases in the form that `ecnlab validate linux` reads (`python/ecnlab/reference/linux/README.md`).

use std::collections::BTreeMap;
use std::fs;
use std::io;

use ecnlab_sim::Network;
use ecnlab_units::{Span, Time};
use ecnlab_wire::{Flags, Tcp as Header};
use serde_json::{Value as Json, json};

use super::path::ExpectedPath;
use super::{FirstSyn, RecordedConnection, RecordedPacket, SocketAction};
use crate::address::Side;
use crate::host_settings::HostSettings;
use crate::sys::clock::monotonic_time;

const PACKET_COLUMNS: [&str; 16] = [
    "id",
    "dir",
    "t_us",
    "arrive_us",
    "fate",
    "seq",
    "len",
    "ack",
    "flags",
    "ecn_in",
    "ecn_out",
    "window",
    "tsval_ms",
    "tsecr_ms",
    "sack",
    "nth",
];
const TCP_INFO_COLUMNS: [&str; 21] = [
    "t_us",
    "why",
    "packet",
    "ca_state",
    "cwnd",
    "ssthresh",
    "srtt_us",
    "rttvar_us",
    "rto_us",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "total_retrans",
    "reordering",
    "backoff",
    "delivered",
    "delivered_ce",
    "dsack_dups",
    "reord_seen",
    "min_rtt_us",
];

/// A connection that is still active at the end of the record is compared up to the last pause of this length, so that no packet is
/// expected that was about to be sent.
const MIN_PAUSE_BEFORE_END: Span = Span::from_micros(200);

/// Initial ssthresh of a kernel, which stands for none.
const TCP_INFINITE_SSTHRESH: u32 = i32::MAX as u32;

/// A recording.
#[derive(Debug)]
pub struct RecordingContext<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Names of groups, and the settings of their hosts.
    pub names: &'a [String],
    pub hosts: &'a [HostSettings],
    pub network: &'a Network,
    pub seed: u64,
    /// The hosts' monotonic clock at time zero of the run, in nanoseconds.
    pub origin_ns: u64,
    pub tick: Span,
    pub end: Time,
    /// Release of the kernel.
    pub kernel: String,
}

/// Clock of the hosts, which advances in ticks.
#[derive(Clone, Copy, Debug)]
pub struct JiffiesClock {
    origin_ns: u64,
    now_ns: u64,
    jiffies: u64,
}

impl JiffiesClock {
    /// Reads the clock of the kernel, after the end of all traffic.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn from_proc_timer_list(origin_ns: u64) -> io::Result<JiffiesClock> {
        let text = fs::read_to_string("/proc/timer_list")?;
        let jiffies = text.lines().find_map(|line| line.strip_prefix("jiffies: ")?.trim().parse().ok());
        let jiffies = jiffies.ok_or_else(|| io::Error::other("the tick count is missing in /proc/timer_list"))?;
        Ok(JiffiesClock { origin_ns, now_ns: monotonic_time(), jiffies })
    }

    /// Time from the last tick to this one, and the number of ticks at it, modulo 512.
    fn tick_phase_and_jiffies(&self, time: Time, tick: Span) -> (Span, u64) {
        let tick = tick.picos();
        let picos = self.origin_ns * 1000 + time.picos();
        let since = self.now_ns * 1000 / tick - picos / tick;
        (Span::from_picos(picos % tick), (self.jiffies - since) % 512)
    }
}

/// A connection as a case: its number in its slot, and whether it is the only one there.
pub fn case_json(connection: &RecordedConnection, (number, is_only): (usize, bool), clock: &JiffiesClock, of: &RecordingContext) -> Json {
    let slot = connection.slot;
    let (group, host) = (&of.names[slot.group as usize], &of.hosts[slot.group as usize]);
    // Scenario, group and slot alone do not distinguish the connections of a folder; the last number follows another character than the
    // slot.
    let name = format!("{}-{group}-{}", of.scenario, slot.number);
    let name = if is_only { name } else { format!("{name}_{number}") };
    let (phase, jiffies) = clock.tick_phase_and_jiffies(connection.began, of.tick);
    let end = connection.end_of_record(of.end);
    let path = ExpectedPath::from_slowest_link_and_delays(of.network, connection.flow, of.seed)
        .ok_or_else(|| "the flow is one of many that come and go".to_owned());
    let (path, script, note) = match path.and_then(|path| path.to_path_and_script_json(connection)) {
        Ok((path, script)) => (path, script, String::new()),
        Err(why) => (Json::Null, Vec::new(), format!("no path: {why}")),
    };
    json!({
        "name": name,
        "kind": "recorded",
        "note": note,
        "kernel": of.kernel,
        "clock": { "hz": Span::from_secs(1).picos() / of.tick.picos(), "tick_phase_us": span_to_fractional_micros(phase), "jiffies_at_start_mod_512": jiffies },
        "tcp": tcp_json(connection, host),
        "path": path,
        "end_us": span_to_fractional_micros(end.since(connection.began)),
        "packet_columns": PACKET_COLUMNS,
        "state_columns": TCP_INFO_COLUMNS,
        "application": connection.actions_json(end),
        "script": script,
        "packets": connection.packets_json(end, clock),
        "states": connection.tcp_infos_json(end),
    })
}

fn span_to_fractional_micros(span: Span) -> f64 {
    (span.picos() / 1000) as f64 / 1000.0
}

fn tcp_json(connection: &RecordedConnection, host: &HostSettings) -> Json {
    let tcp = host.tcp.as_ref().expect("a connection is of a group that carries its data by TCP");
    let asked = host.sysctls.iter().filter(|sysctl| !sysctl.may_lack);
    let sysctls = asked.map(|sysctl| json!({ "side": "*", "name": format!("net.ipv4.{}", sysctl.name), "value": sysctl.value }));
    let syn = |side: Side| {
        let Header { mss, sack_permitted, window_scale, timestamps, .. } =
            connection.first_syns[side as usize].map(|first| first.header).unwrap_or_default();
        json!({ "mss": mss, "sack": sack_permitted, "wscale": window_scale, "timestamps": timestamps.is_some() })
    };
    let is_tuned = host.sysctls.iter().any(|sysctl| sysctl.name == "tcp_moderate_rcvbuf" && sysctl.value == "1");
    let stamps = [Side::Near, Side::Far]
        .iter()
        .all(|&side| connection.first_syns[side as usize].is_some_and(|first| first.header.timestamps.is_some()));
    json!({
        "congestion": tcp.congestion.as_str(),
        "hystart": (tcp.congestion.as_str() == "cubic").then_some(true),
        "ecn": { "a": host.ecn[0], "b": host.ecn[1] },
        "mss": host.mtu - if stamps { 52 } else { 40 },
        "gso": false,
        "nodelay": tcp.nodelay,
        "receiver": match (is_tuned, tcp.interactive) { (true, _) => "auto", (_, true) => "delayed", _ => "big" },
        "rcvbuf": tcp.receive_buffer.map_or_else(|| json!("default"), |bytes| json!(bytes / 2)),
        "interactive": tcp.interactive,
        "read_size": tcp.read_size,
        "initial_window": host.route.initcwnd,
        "rto_min_us": host.route.rto_min.map(span_to_fractional_micros),
        "quickack": host.route.quickack,
        "sysctl": sysctls.collect::<Vec<_>>(),
        "syn_options": { "a": syn(Side::Near), "b": syn(Side::Far) },
    })
}

impl RecordedConnection {
    /// End of the recorded time.
    fn end_of_record(&self, run: Time) -> Time {
        let last = self.packets.last().map_or(run, |packet| packet.sent);
        if run.since(last) >= MIN_PAUSE_BEFORE_END {
            return run;
        }
        let pauses = self.packets.windows(2).rev().find(|pair| pair[1].sent.since(pair[0].sent) >= MIN_PAUSE_BEFORE_END);
        pauses.map_or(run, |pair| pair[0].sent + Span::from_micros(100))
    }

    fn micros_since_start(&self, time: Time) -> f64 {
        span_to_fractional_micros(time.since(self.began))
    }

    fn actions_json(&self, end: Time) -> Vec<Json> {
        let actions = self.actions.iter().filter(|(_, at, _)| *at <= end);
        let told = actions.map(|&(side, at, action)| {
            let (side, at) = (side_letter(side), self.micros_since_start(at));
            match action {
                SocketAction::Wrote(bytes) => json!({ "side": side, "at_us": at, "do": "write", "bytes": bytes }),
                SocketAction::Closed => json!({ "side": side, "at_us": at, "do": "close" }),
            }
        });
        told.collect()
    }

    fn packets_json(&self, end: Time, clock: &JiffiesClock) -> Vec<Json> {
        let mut sent: BTreeMap<(Side, u64), u64> = BTreeMap::new();
        let mut last = [0; 2];
        let packets = self.packets.iter().enumerate().take_while(|(_, packet)| packet.sent <= end);
        let row = |(id, packet): (usize, &RecordedPacket)| {
            let side = packet.side as usize;
            let [own, other] = [side, 1 - side].map(|side| self.first_syns[side]);
            let seq = own.map_or(0, |first| first.relative_seq(packet.header.seq, last[side]));
            last[side] = last[side].max(seq);
            let occupies_sequence_space = packet.payload > 0 || packet.has_flag(Flags::SYN) || packet.has_flag(Flags::FIN);
            let nth = occupies_sequence_space.then(|| {
                let count = sent.entry((packet.side, seq)).or_default();
                *count += 1;
                *count - 1
            });
            let number = |number: u32| other.map_or(0, |first| first.relative_seq(number, last[1 - side]));
            let blocks: Vec<_> = packet.header.sacks.as_slice().iter().map(|&(from, to)| json!([number(from), number(to)])).collect();
            let scale = own
                .filter(|_| !packet.has_flag(Flags::SYN))
                .and_then(|first| first.header.window_scale)
                .filter(|_| self.scales_windows())
                .unwrap_or(0);
            json!([
                id,
                side,
                self.micros_since_start(packet.sent),
                packet.arrives.filter(|&at| at <= end).map(|at| self.micros_since_start(at)),
                if packet.is_lost {
                    "drop"
                } else if packet.ecn[0] != packet.ecn[1] {
                    "mark"
                } else {
                    ""
                },
                seq,
                packet.payload,
                if packet.has_flag(Flags::ACK) { number(packet.header.ack) } else { 0 },
                packet.flag_letters(),
                packet.ecn[0] as u8,
                packet.ecn[1] as u8,
                u64::from(packet.header.window) << scale,
                own.and_then(|first| self.timestamp_ms(first, packet.header.timestamps?.value, clock)),
                packet.header.timestamps.filter(|_| packet.has_flag(Flags::ACK)).and_then(|stamps| self.timestamp_ms(
                    other?,
                    stamps.echo,
                    clock
                )),
                if blocks.is_empty() { json!(0) } else { json!(blocks) },
                nth.map_or(-1, |nth| nth as i64),
            ])
        };
        packets.map(row).collect()
    }

    /// Whether both SYNs offer window scaling.
    fn scales_windows(&self) -> bool {
        self.first_syns.iter().all(|first| first.is_some_and(|first| first.header.window_scale.is_some()))
    }

    /// A timestamp in milliseconds since time zero, in the clock of both hosts: that of a side's first SYN is the time at which it was
    /// sent.
    fn timestamp_ms(&self, first: FirstSyn, stamp: u32, clock: &JiffiesClock) -> Option<i64> {
        let millis = |time: Time| (clock.origin_ns + time.picos() / 1000) / 1_000_000;
        let before = millis(first.at) - millis(self.began);
        Some(before as i64 + i64::from(stamp.wrapping_sub(first.header.timestamps?.value) as i32))
    }

    fn tcp_infos_json(&self, end: Time) -> Vec<Json> {
        let states = self.tcp_infos.iter().filter(|state| state.time <= end);
        let row = |state: &super::TcpInfoRecord| {
            let info = &state.info;
            json!([
                self.micros_since_start(state.time),
                if state.packet.is_some() { "ack" } else { "timer" },
                state.packet.map_or(-1, |packet| packet as i64),
                info.ca_state,
                info.snd_cwnd,
                (info.snd_ssthresh < TCP_INFINITE_SSTHRESH).then_some(info.snd_ssthresh),
                info.rtt_us,
                info.rttvar_us,
                info.rto_us,
                info.unacked,
                info.sacked,
                info.lost,
                info.retrans,
                info.total_retrans,
                info.reordering,
                info.backoff,
                info.delivered,
                info.delivered_ce,
                info.dsack_dups,
                info.reord_seen,
                info.min_rtt_us,
            ])
        };
        states.map(row).collect()
    }
}

impl FirstSyn {
    /// A sequence number of this side in bytes, 0 for its SYN; `near` is a number close to it.
    fn relative_seq(&self, number: u32, near: u64) -> u64 {
        let offset = number.wrapping_sub(self.header.seq).wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(i64::from(offset))
    }
}

impl RecordedPacket {
    fn has_flag(&self, flag: Flags) -> bool {
        self.header.flags.has(flag)
    }

    /// In the order of the files.
    fn flag_letters(&self) -> String {
        const TCP_FLAG_LETTERS: [(u16, char); 7] =
            [(0x02, 'S'), (0x01, 'F'), (0x04, 'R'), (0x08, 'P'), (0x10, 'A'), (0x40, 'E'), (0x80, 'C')];
        TCP_FLAG_LETTERS.iter().filter(|(bit, _)| self.header.flags.0 & bit != 0).map(|&(_, letter)| letter).collect()
    }
}

fn side_letter(side: Side) -> char {
    if side == Side::Near { 'a' } else { 'b' }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_sequence_numbers_begin_at_the_syn_and_continue_past_wraparound() {
        let first = FirstSyn { at: Time::ZERO, header: Header { seq: u32::MAX - 99, ..Header::default() } };
        assert_eq!(
            [0, 1, 150, 1],
            [(u32::MAX - 99, 0), (u32::MAX - 98, 0), (50, 1), (u32::MAX - 98, 150)].map(|(seq, near)| first.relative_seq(seq, near))
        );
        assert_eq!((1 << 32) + 20, first.relative_seq(u32::MAX - 79, 1 << 32));
    }

    #[test]
    fn the_tick_phase_is_that_of_the_connection_s_start() {
        let clock = JiffiesClock { origin_ns: 10_500_000, now_ns: 1_000_000_000, jiffies: 1000 };
        let at = |millis| clock.tick_phase_and_jiffies(Time::ZERO + Span::from_millis(millis), Span::from_millis(4));
        // The present tick is 250; the three times are in the ticks 2, 3 and 5.
        let expected = [(2500, 752 % 512), (1500, 753 % 512), (500, 755 % 512)];
        assert_eq!(expected, [0, 3, 10].map(at).map(|(phase, jiffies)| (phase.picos() / 1_000_000, jiffies)));
    }
}
