//! A case as its file holds it: what was set, what the path did, what the applications did, and every packet and state of the real run.

use std::ops::Range;

use ecnlab_sim::{ScriptAction, SelectorFlag};
use ecnlab_units::{CongestionLevel, Span, Time};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Value as Json, json};

use super::json::{
    self, BoundedInteger, Micros, Millis, OrderedPair, PerSide, deserialize_non_null, deserialize_or_default, deserialize_or_null,
    deserialize_or_sentinel, deserialize_via, deserialize_word,
};

/// Most bytes that a connection may have: half of its sequence numbers.
const MAX_TRANSFER_BYTES: u64 = 1 << 31;
/// One past the last byte, the SYN and the FIN counted.
const MAX_SEQ: u64 = MAX_TRANSFER_BYTES + 2;
/// Most bytes of data in a packet, and most that a window can offer with the largest scale.
const MAX_PAYLOAD_BYTES: u64 = 65_535;
const MAX_WINDOW_BYTES: u64 = 65_535 << 14;
/// Largest number of a packet in a script.
const MAX_PACKET_NUMBER: u64 = u32::MAX as u64;
/// Most bytes that an application writes or reads at once.
const MAX_CALL_BYTES: u64 = 1 << 30;
/// The buffers for which an application may ask.
const MIN_BUFFER_BYTES: u64 = 2304;
const MAX_BUFFER_BYTES: u64 = 1 << 29;
/// Smallest, usual and largest buffer of a receiver.
pub const TCP_RMEM: &str = "net.ipv4.tcp_rmem";

type SequenceNumber = BoundedInteger<0, MAX_SEQ>;
type PacketNumber = BoundedInteger<0, MAX_PACKET_NUMBER>;
type CallBytes = BoundedInteger<1, MAX_CALL_BYTES>;
type Natural = BoundedInteger<0, { u64::MAX }>;

/// One of the two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Connects and, but for answers to requests, sends.
    #[default]
    A,
    B,
}

impl Side {
    pub const BOTH: [Side; 2] = [Side::A, Side::B];

    pub fn index(self) -> usize {
        self as usize
    }

    pub fn other(self) -> Side {
        Side::BOTH[1 - self.index()]
    }

    /// The letter of the files.
    pub fn letter(self) -> char {
        ['a', 'b'][self.index()]
    }
}

impl From<BoundedInteger<0, 1>> for Side {
    fn from(number: BoundedInteger<0, 1>) -> Side {
        Side::BOTH[usize::from(u8::from(number))]
    }
}

/// One recorded connection.
#[derive(Debug, Deserialize)]
pub struct Case {
    pub name: String,
    pub kind: String,
    /// The kernel's release, where the file says it.
    pub kernel: Option<String>,
    pub clock: Clock,
    pub tcp: Tcp,
    /// Nothing where the network was more than a case can say.
    #[serde(deserialize_with = "Option::deserialize")]
    pub path: Option<Path>,
    #[serde(rename = "end_us", deserialize_with = "deserialize_via::<_, Micros, _>")]
    pub end: Time,
    pub application: Vec<AppCall>,
    pub script: Vec<ScriptLine>,
    #[serde(skip)]
    pub packets: Vec<Packet>,
    #[serde(skip)]
    pub states: Vec<State>,
}

/// The hosts' clock, which both have in common.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Clock {
    #[serde(deserialize_with = "deserialize_via::<_, BoundedInteger<1, 10_000>, _>")]
    pub hz: u64,
    /// How long before time zero the last tick was.
    #[serde(rename = "tick_phase_us", deserialize_with = "deserialize_via::<_, Micros, _>")]
    pub tick_phase: Span,
    #[serde(rename = "jiffies_at_start_mod_512", deserialize_with = "deserialize_via::<_, BoundedInteger<0, 511>, _>")]
    pub jiffies_at_start: u64,
}

/// How the hosts were set up.
#[derive(Debug, Deserialize)]
pub struct Tcp {
    pub congestion: String,
    #[serde(deserialize_with = "deserialize_or_default")]
    pub hystart: bool,
    /// `net.ipv4.tcp_ecn` of either side.
    #[serde(deserialize_with = "deserialize_via::<_, PerSide<BoundedInteger<0, 5>>, _>")]
    pub ecn: [u64; 2],
    #[serde(deserialize_with = "deserialize_via::<_, BoundedInteger<48, 65_483>, _>")]
    pub mss: u32,
    pub gso: bool,
    pub nodelay: bool,
    pub receiver: String,
    /// Whether an autotuned receiver has TCP_QUICKACK 0 too.
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub interactive: bool,
    /// The size that `SO_RCVBUF` requests; `None` for the default.
    #[serde(rename = "rcvbuf", deserialize_with = "deserialize_buffer_bytes_or_none")]
    pub buffer: Option<u64>,
    /// Options in each side's SYN.
    #[serde(rename = "syn_options", deserialize_with = "deserialize_via::<_, PerSide<SynOptions>, _>")]
    pub syns: [SynOptions; 2],
    /// Settings that differ from a host's defaults: bytes per read, initial and maximum cwnd in segments, minimum RTO, and quick
    /// acknowledgements.
    #[serde(default, deserialize_with = "deserialize_or_null::<_, CallBytes, _>")]
    pub read_size: Option<u64>,
    #[serde(default, deserialize_with = "deserialize_or_null::<_, BoundedInteger<1, 255>, _>")]
    pub initial_window: Option<u64>,
    #[serde(default, deserialize_with = "deserialize_or_null::<_, BoundedInteger<1, MAX_PACKET_NUMBER>, _>")]
    pub cwnd_limit: Option<u64>,
    #[serde(rename = "rto_min_us", default, deserialize_with = "deserialize_or_null::<_, Micros, _>")]
    pub rto_min: Option<Span>,
    #[serde(default, deserialize_with = "deserialize_or_default")]
    pub quickack: bool,
    pub sysctl: Vec<Sysctl>,
}

/// A switch of the kernel that was set.
#[derive(Debug, Deserialize)]
pub struct Sysctl {
    /// Both sides if there is none.
    #[serde(deserialize_with = "deserialize_side_or_both")]
    pub side: Option<Side>,
    pub name: String,
    pub value: String,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct SynOptions {
    pub sack: bool,
    pub timestamps: bool,
    /// By how many bits the windows of this side are shifted.
    #[serde(rename = "wscale", default, deserialize_with = "deserialize_window_scale")]
    pub scale: Option<u64>,
}

/// The router and the ways to it.
#[derive(Debug, Deserialize)]
pub struct Path {
    #[serde(rename = "data_rate_bps", deserialize_with = "deserialize_via::<_, BoundedInteger<1, 1_000_000_000_000>, _>")]
    pub rate_bps: u64,
    #[serde(rename = "data_delay_us", deserialize_with = "deserialize_via::<_, Micros, _>")]
    data_delay: Span,
    #[serde(rename = "ack_delay_us", deserialize_with = "deserialize_via::<_, Micros, _>")]
    ack_delay: Span,
    /// Packets that may be in the router.
    #[serde(rename = "data_queue_packets", deserialize_with = "deserialize_or_null::<_, PacketNumber, _>")]
    pub queue_packets: Option<u64>,
    pub clears_ecn: bool,
    /// The router marks packets that wait longer.
    #[serde(rename = "marks_if_wait_ms_above", default, deserialize_with = "deserialize_or_null::<_, Millis, _>")]
    pub marks_if_wait_above: Option<Span>,
}

/// A call of an application.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "AppCallRow")]
pub struct AppCall {
    pub side: Side,
    pub trigger: AppCallTrigger,
    pub call: SocketCall,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AppCallTrigger {
    At(Time),
    /// When so many bytes of the other side have been read.
    Received(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SocketCall {
    Write(u64),
    Close,
    PauseReading,
    ResumeReading,
}

#[derive(Deserialize)]
struct AppCallRow {
    #[serde(deserialize_with = "deserialize_side")]
    side: Side,
    #[serde(rename = "do", deserialize_with = "deserialize_socket_call")]
    call: SocketCall,
    #[serde(default, deserialize_with = "deserialize_non_null::<_, Micros, _>")]
    at_us: Option<Time>,
    #[serde(default, deserialize_with = "deserialize_non_null::<_, BoundedInteger<0, MAX_TRANSFER_BYTES>, _>")]
    after_received_bytes: Option<u64>,
    #[serde(default, deserialize_with = "deserialize_non_null::<_, CallBytes, _>")]
    bytes: Option<u64>,
}

impl TryFrom<AppCallRow> for AppCall {
    type Error = &'static str;

    fn try_from(row: AppCallRow) -> Result<AppCall, &'static str> {
        let trigger =
            row.after_received_bytes.map(AppCallTrigger::Received).or(row.at_us.map(AppCallTrigger::At)).ok_or("missing field `at_us`")?;
        let call = match row.call {
            SocketCall::Write(_) => SocketCall::Write(row.bytes.ok_or("missing field `bytes`")?),
            other => other,
        };
        Ok(AppCall { side: row.side, trigger, call })
    }
}

/// An action of the router on single packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "ScriptRow")]
pub struct ScriptLine {
    /// The side that sends the packets.
    pub side: Side,
    pub packets: PacketMatch,
    pub action: ScriptAction,
}

/// How packets are selected.
#[derive(Clone, Debug)]
pub enum PacketMatch {
    /// By the byte with which their data begins, and which transmission it is.
    Bytes {
        of: Range<u64>,
        nth: Option<u32>,
    },
    Flagged {
        flag: SelectorFlag,
        nth: Option<u32>,
    },
    /// By their number among all of the side.
    Numbers(Range<u64>),
    /// Packets that arrive at the router in this interval.
    During(Range<Time>),
}

#[derive(Deserialize)]
struct ScriptRow {
    #[serde(deserialize_with = "deserialize_side_of_direction")]
    direction: Side,
    #[serde(rename = "do", deserialize_with = "deserialize_script_action")]
    action: ScriptAction,
    #[serde(default, deserialize_with = "deserialize_non_null::<_, Micros, _>")]
    later_us: Option<Span>,
    #[serde(default, deserialize_with = "deserialize_or_null::<_, PacketNumber, _>")]
    nth: Option<u32>,
    #[serde(default, deserialize_with = "deserialize_or_null::<_, OrderedPair<SequenceNumber>, _>")]
    seq: Option<(u64, u64)>,
    #[serde(default, deserialize_with = "deserialize_or_null::<_, OrderedPair<PacketNumber>, _>")]
    packets_of_direction: Option<(u64, u64)>,
    #[serde(default, deserialize_with = "deserialize_or_null::<_, OrderedPair<Micros>, _>")]
    during_us: Option<(Time, Time)>,
    #[serde(default, deserialize_with = "deserialize_tcp_flag")]
    flag: Option<SelectorFlag>,
}

impl TryFrom<ScriptRow> for ScriptLine {
    type Error = &'static str;

    fn try_from(row: ScriptRow) -> Result<ScriptLine, &'static str> {
        let nth = row.nth;
        let packets = match (row.seq, row.packets_of_direction, row.during_us, row.flag) {
            (Some((from, to)), ..) => PacketMatch::Bytes { of: from..to, nth },
            (_, Some((first, last)), ..) => PacketMatch::Numbers(first..last + 1),
            (_, _, Some((from, to)), _) => PacketMatch::During(from..to),
            (.., Some(flag)) => PacketMatch::Flagged { flag, nth },
            _ => return Err("missing field `flag`"),
        };
        let action = match row.action {
            ScriptAction::Delay(_) => ScriptAction::Delay(row.later_us.ok_or("missing field `later_us`")?),
            other => other,
        };
        Ok(ScriptLine { side: row.direction, packets, action })
    }
}

/// A packet as the router saw it, or as ours is written down to be compared.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Packet {
    #[serde(deserialize_with = "deserialize_via::<_, Natural, _>")]
    pub id: u64,
    #[serde(rename = "dir", deserialize_with = "deserialize_via::<_, BoundedInteger<0, 1>, _>")]
    pub side: Side,
    #[serde(rename = "t_us", deserialize_with = "deserialize_via::<_, Micros, _>")]
    pub sent: Time,
    /// Nothing if it was lost.
    #[serde(rename = "arrive_us", deserialize_with = "deserialize_or_null::<_, Micros, _>")]
    pub arrives: Option<Time>,
    pub fate: String,
    /// In bytes: the SYN is 0, the first data 1.
    #[serde(deserialize_with = "deserialize_via::<_, SequenceNumber, _>")]
    pub seq: u64,
    #[serde(deserialize_with = "deserialize_via::<_, BoundedInteger<0, MAX_PAYLOAD_BYTES>, _>")]
    pub len: u64,
    /// Nothing where ours does not say.
    #[serde(deserialize_with = "deserialize_non_null::<_, SequenceNumber, _>")]
    pub ack: Option<u64>,
    pub flags: String,
    /// The ECN field when it left its host, and behind the router.
    #[serde(rename = "ecn_in", deserialize_with = "deserialize_via::<_, BoundedInteger<0, 3>, _>")]
    pub ecn_sent: u8,
    #[serde(rename = "ecn_out", deserialize_with = "deserialize_via::<_, BoundedInteger<0, 3>, _>")]
    pub ecn_arrived: u8,
    #[serde(deserialize_with = "deserialize_non_null::<_, BoundedInteger<0, MAX_WINDOW_BYTES>, _>")]
    pub window: Option<u64>,
    #[serde(rename = "tsval_ms", deserialize_with = "deserialize_or_null::<_, Natural, _>")]
    pub tsval: Option<u64>,
    #[serde(rename = "tsecr_ms", deserialize_with = "deserialize_or_null::<_, Natural, _>")]
    pub tsecr: Option<u64>,
    #[serde(rename = "sack", deserialize_with = "deserialize_sack_blocks")]
    pub sacks: Vec<(u64, u64)>,
    /// Which transmission of this sequence number; nothing of an acknowledgement without data.
    #[serde(deserialize_with = "deserialize_natural_or_minus_one")]
    pub nth: Option<u64>,
    /// Accurate ECN option: the counters of ECT(1), CE and ECT(0), as they were sent; nothing without the option.
    #[serde(default, deserialize_with = "deserialize_accecn_option")]
    pub accecn: Option<[u64; 3]>,
}

/// The sender's recorded state (`TCP_INFO`).
#[derive(Clone, Debug, Deserialize)]
pub struct State {
    #[serde(rename = "t_us", deserialize_with = "deserialize_via::<_, Micros, _>")]
    pub time: Time,
    pub why: String,
    /// The acknowledgement that it had just taken.
    #[serde(deserialize_with = "deserialize_natural_or_minus_one")]
    pub packet: Option<u64>,
    #[serde(deserialize_with = "deserialize_via::<_, Natural, _>")]
    pub cwnd: u64,
    /// Nothing is as if infinite.
    #[serde(deserialize_with = "deserialize_or_null::<_, Natural, _>")]
    pub ssthresh: Option<u64>,
    /// In bytes per second, where the file says it; only a paced sender uses it.
    #[serde(rename = "pacing_rate_Bps", default, deserialize_with = "deserialize_or_null::<_, Natural, _>")]
    pub pacing_rate: Option<u64>,
}

fn deserialize_side<'de, D: Deserializer<'de>>(from: D) -> Result<Side, D::Error> {
    deserialize_word(from, &[("a", Side::A), ("b", Side::B)])
}

fn deserialize_side_or_both<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Side>, D::Error> {
    deserialize_word(from, &[("a", Some(Side::A)), ("b", Some(Side::B)), ("*", None)])
}

fn deserialize_side_of_direction<'de, D: Deserializer<'de>>(from: D) -> Result<Side, D::Error> {
    deserialize_word(from, &[("data", Side::A), ("ack", Side::B)])
}

fn deserialize_socket_call<'de, D: Deserializer<'de>>(from: D) -> Result<SocketCall, D::Error> {
    let words = [
        ("write", SocketCall::Write(0)),
        ("close", SocketCall::Close),
        ("stop reading", SocketCall::PauseReading),
        ("read again", SocketCall::ResumeReading),
    ];
    deserialize_word(from, &words)
}

fn deserialize_script_action<'de, D: Deserializer<'de>>(from: D) -> Result<ScriptAction, D::Error> {
    let words = [
        ("drop", ScriptAction::Drop),
        ("mark", ScriptAction::Mark(CongestionLevel::Congested)),
        ("force-ce", ScriptAction::ForceMark),
        ("dup", ScriptAction::Duplicate),
        ("delay", ScriptAction::Delay(Span::ZERO)),
    ];
    deserialize_word(from, &words)
}

fn deserialize_tcp_flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SelectorFlag>, D::Error> {
    let words = [("SYN", SelectorFlag::Syn), ("FIN", SelectorFlag::Fin), ("CWR", SelectorFlag::Cwr)];
    Option::<String>::deserialize(from)?.map(|flag| json::meaning_of_word(&flag, &words)).transpose()
}

fn deserialize_buffer_bytes_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(deserialize_or_sentinel::<_, BoundedInteger<MIN_BUFFER_BYTES, MAX_BUFFER_BYTES>>(from, &json!("default"))?.map(Into::into))
}

/// Up to four blocks, or 0 for none.
fn deserialize_sack_blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(u64, u64)>, D::Error> {
    let json = Json::deserialize(from)?;
    match json.as_array() {
        None if json == 0 => Ok(Vec::new()),
        None => Err(D::Error::custom("must be a list")),
        Some(blocks) if blocks.len() > 4 => Err(D::Error::custom("must be at most four blocks")),
        Some(_) => Ok(json::deserialize_json_value::<Vec<OrderedPair<SequenceNumber>>>(&json)
            .map_err(D::Error::custom)?
            .into_iter()
            .map(Into::into)
            .collect()),
    }
}

/// The order of the option and three counters of 24 bits, 0 if absent; or 0 for none.
fn deserialize_accecn_option<'de, D: Deserializer<'de>>(from: D) -> Result<Option<[u64; 3]>, D::Error> {
    let json = Json::deserialize(from)?;
    if json == 0 {
        return Ok(None);
    }
    let wrong = || D::Error::custom("must be an order, 0 or 1, and at most three counters below 2^24, or 0");
    let numbers: Vec<u64> = json.as_array().into_iter().flatten().filter_map(Json::as_u64).collect();
    match numbers[..] {
        // Trailing counters may be left out.
        [0 | 1, ref counters @ ..] if counters.len() <= 3 && counters.iter().all(|&counter| counter < 1 << 24) => {
            Ok(Some(std::array::from_fn(|at| counters.get(at).copied().unwrap_or(0))))
        }
        _ => Err(wrong()),
    }
}

/// A scale that was not offered is null or false.
fn deserialize_window_scale<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let scale = Option::<Json>::deserialize(from)?.filter(|scale| *scale != false);
    scale.map(|scale| BoundedInteger::<0, 14>::try_from(scale).map(Into::into).map_err(D::Error::custom)).transpose()
}

/// A number, or -1 for none.
fn deserialize_natural_or_minus_one<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(deserialize_or_sentinel::<_, Natural>(from, &json!(-1))?.map(Into::into))
}

impl Packet {
    pub fn has_flag(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// One past the last sequence number that it takes.
    pub fn end_seq(&self) -> u64 {
        self.seq + self.len + u64::from(self.has_flag('S')) + u64::from(self.has_flag('F'))
    }
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// The field that is missing or is not what it must be.
    pub fn from_json_text(text: &str) -> Result<Case, String> {
        Case::from_json_value(&serde_json::from_str(text).map_err(|why| format!("not a JSON file: {why}"))?)
    }

    /// Reads a case from JSON.
    ///
    /// # Errors
    /// The field that is missing or is not what it must be.
    pub fn from_json_value(json: &Json) -> Result<Case, String> {
        reject_arrays_for_objects(json)?;
        let mut case: Case = json::deserialize_json_value(json)?;
        case.packets = json::read_rows_by_column_names(json, "packets", "packet_columns")?;
        case.states = json::read_rows_by_column_names(json, "states", "state_columns")?;
        case.check(json)?;
        // Resets answer packets of a connection that is gone and say nothing of it.
        case.packets.retain(|packet| !packet.has_flag('R'));
        case.check_comparability()?;
        Ok(case)
    }

    /// Refuses values that contradict others.
    fn check(&self, json: &Json) -> Result<(), String> {
        let ticks = u128::from(self.clock.tick_phase.picos()) * u128::from(self.clock.hz);
        if ticks >= u128::from(Span::from_secs(1).picos()) {
            return Err(json::wrong_value_message(json, "/clock/tick_phase_us", "less than a tick"));
        }
        let ack_rate = "/path/ack_rate_bps";
        if json.pointer(ack_rate).is_some_and(|rate| !rate.is_null()) {
            return Err(json::wrong_value_message(json, ack_rate, "null, since the reverse path has no rate"));
        }
        if let Some(at) = self.tcp.sysctl.iter().position(|sysctl| sysctl.name == TCP_RMEM && !are_buffer_sizes(&sysctl.value)) {
            let wanted = format!("{TCP_RMEM}'s three sizes in bytes, the smallest first");
            return Err(json::wrong_value_message(json, &format!("/tcp/sysctl/{at}/value"), &wanted));
        }
        if let Some(at) = self.packets.iter().position(|packet| packet.arrives.is_some_and(|arrives| arrives < packet.sent)) {
            let column = json["packet_columns"].as_array().and_then(|columns| columns.iter().position(|column| column == "arrive_us"));
            let arrives = &json["packets"][at][column.unwrap_or_default()];
            return Err(format!("packets[{at}].arrive_us must be no earlier than t_us, not {arrives}"));
        }
        if self.packets.is_empty() { Err("packets is empty: nothing to compare".to_owned()) } else { Ok(()) }
    }

    /// Refuses a record that cannot be compared.
    fn check_comparability(&self) -> Result<(), String> {
        // Of a connection that never opened there are packets alone.
        if self.states.is_empty() && self.packets.iter().any(|packet| packet.side == Side::B && packet.arrives.is_some()) {
            return Err("states is empty: no window to compare".to_owned());
        }
        for side in Side::BOTH {
            let written = self.bytes_written_by_side(side);
            if written > MAX_TRANSFER_BYTES {
                let letter = side.letter();
                return Err(format!(
                    "application: side {letter} writes {written} bytes, more than the {MAX_TRANSFER_BYTES} that can be judged"
                ));
            }
        }
        Ok(())
    }

    /// How many bytes a side writes.
    pub fn bytes_written_by_side(&self, side: Side) -> u64 {
        let calls = self.application.iter().filter(|call| call.side == side);
        calls.fold(0, |sum, call| sum + if let SocketCall::Write(bytes) = call.call { bytes } else { 0 })
    }

    /// Whether the passive side also sends data.
    pub fn has_data_both_ways(&self) -> bool {
        self.application.iter().any(|call| call.side == Side::B && matches!(call.call, SocketCall::Write(_)))
    }

    /// Packets of one side in sending order.
    pub fn sent_by(&self, side: Side) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.side == side && !self.is_router_duplicate(packet))
    }

    /// Whether the router made a packet: it is in all the one before it, and the script copies.
    fn is_router_duplicate(&self, packet: &Packet) -> bool {
        let copies = self.script.iter().any(|line| line.side == packet.side && line.action == ScriptAction::Duplicate);
        let before = || self.packets.iter().rev().find(|other| other.side == packet.side && other.id < packet.id);
        let is_same = |other: &Packet| {
            (other.sent, other.seq, other.len, other.ack, other.tsval) == (packet.sent, packet.seq, packet.len, packet.ack, packet.tsval)
                && (&other.flags, &other.sacks) == (&packet.flags, &packet.sacks)
        };
        copies && before().is_some_and(is_same)
    }

    /// Packets that reached one side, in order of arrival.
    pub fn packets_that_reached(&self, side: Side) -> Vec<&Packet> {
        let mut packets: Vec<_> = self.packets.iter().filter(|packet| packet.side != side && packet.arrives.is_some()).collect();
        packets.sort_by_key(|packet| (packet.arrives, packet.id));
        packets
    }
}

/// Rejects a list where an object is expected: serde would assign its elements by position.
fn reject_arrays_for_objects(json: &Json) -> Result<(), String> {
    let objects = ["", "/clock", "/tcp", "/tcp/ecn", "/tcp/syn_options", "/tcp/syn_options/a", "/tcp/syn_options/b", "/path"];
    let members = ["/tcp/sysctl", "/application", "/script"].into_iter().flat_map(|list| {
        let count = json.pointer(list).and_then(Json::as_array).map_or(0, Vec::len);
        (0..count).map(move |at| format!("{list}/{at}"))
    });
    let list = objects.map(str::to_owned).into_iter().chain(members).find(|place| json.pointer(place).is_some_and(Json::is_array));
    list.map_or(Ok(()), |place| Err(json::wrong_value_message(json, &place, "an object")))
}

/// Whether a text has three sizes in bytes, the smallest first.
fn are_buffer_sizes(text: &str) -> bool {
    let sizes: Vec<Option<u32>> = text.split_whitespace().map(|size| size.parse().ok()).collect();
    sizes.len() == 3 && sizes.iter().all(|size| size.is_some_and(|size| size <= i32::MAX as u32)) && sizes.is_sorted()
}

impl Path {
    /// The delay of a side's packets behind the router.
    pub fn delay(&self, side: Side) -> Span {
        [self.data_delay, self.ack_delay][side.index()]
    }
}

impl Tcp {
    /// Whether both SYNs have an option, so that it is in use.
    pub fn both_syns_have(&self, has: fn(&SynOptions) -> bool) -> bool {
        self.syns.iter().all(has)
    }

    pub fn timestamps(&self) -> bool {
        self.both_syns_have(|syn| syn.timestamps)
    }

    /// The value of a sysctl at one side, if it was set.
    pub fn sysctl(&self, side: Side, name: &str) -> Option<&str> {
        let set = self.sysctl.iter().find(|sysctl| sysctl.name == name && sysctl.side.is_none_or(|of| of == side));
        set.map(|sysctl| sysctl.value.as_str())
    }
}
