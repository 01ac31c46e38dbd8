//! A case as its file holds it: what was set, what the path did, what the applications did, and every packet and state of the real run.

use std::fmt;

use ecnlab_sim::ScriptAction;
use ecnlab_units::{Span, Time};
use serde_json::Value as Json;

use super::packetdrill::ScriptLine;

/// The side that connects and, but for answers to requests, sends.
pub const A: u8 = 0;
/// The other side.
pub const B: u8 = 1;

/// Microseconds in a day.
const DAY_US: f64 = 86_400e6;
/// Most bytes that a connection may have: half of its sequence numbers.
const MAX_TRANSFER_BYTES: u64 = 1 << 31;
/// One past the last byte, the SYN and the FIN counted.
const MAX_SEQ: u64 = MAX_TRANSFER_BYTES + 2;
/// Most bytes of data in a packet, and most that a window can offer with the largest scale.
const MAX_PAYLOAD_BYTES: u64 = 65_535;
const MAX_WINDOW_BYTES: u64 = 65_535 << 14;
/// Most SACK blocks for which a header has room.
const MAX_SACK_BLOCKS: usize = 4;
/// Largest number of a packet in a script.
const MAX_PACKET_NUMBER: u64 = u32::MAX as u64;
/// Smallest, usual and largest buffer of a receiver.
pub const TCP_RMEM: &str = "net.ipv4.tcp_rmem";

/// One recorded connection.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    pub kind: String,
    /// The kernel's release, where the file says it.
    pub kernel: Option<String>,
    pub clock: Clock,
    pub tcp: Tcp,
    /// Nothing where the network was more than a case can say.
    pub path: Option<Path>,
    pub end: Time,
    pub application: Vec<Action>,
    pub script: Vec<ScriptLine>,
    pub packets: Vec<Packet>,
    pub states: Vec<State>,
}

/// The hosts' clock, which both have in common.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub hz: u64,
    /// How long before time zero the last tick was.
    pub tick_phase: Span,
    pub jiffies_at_start: u64,
}

/// How the hosts were set up.
#[derive(Debug)]
pub struct Tcp {
    pub congestion: String,
    pub hystart: bool,
    /// `net.ipv4.tcp_ecn` of either side.
    pub ecn: [u64; 2],
    pub mss: u32,
    pub gso: bool,
    pub nodelay: bool,
    pub receiver: String,
    /// Whether an autotuned receiver has TCP_QUICKACK 0 too.
    pub interactive: bool,
    /// The buffer asked for, unless it is the default one.
    pub buffer: Option<u64>,
    /// What the SYN of either side offered.
    pub syns: [Syn; 2],
    /// What was set otherwise than hosts have it: bytes that an application reads at once, the first window and the largest one in segments,
    /// the smallest timeout, and whether every segment is acknowledged at once.
    pub read_size: Option<u64>,
    pub initial_window: Option<u64>,
    pub cwnd_limit: Option<u64>,
    pub rto_min: Option<Span>,
    pub quickack: bool,
    /// Name and value, and of which side; of both if there is none.
    pub sysctl: Vec<(Option<u8>, String, String)>,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug)]
pub struct Syn {
    pub sack: bool,
    pub timestamps: bool,
    /// By how many bits the windows of this side are shifted.
    pub scale: Option<u64>,
}

/// The router and the ways to it.
#[derive(Debug)]
pub struct Path {
    pub rate_bps: u64,
    pub delays: [Span; 2],
    /// Packets that may be in the router.
    pub queue_packets: Option<u64>,
    pub clears_ecn: bool,
}

/// Something that an application did.
#[derive(Clone, Copy, Debug)]
pub struct Action {
    pub side: u8,
    pub trigger: Trigger,
    pub what: SocketCall,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    At(Time),
    /// Trigger so many bytes of the other side have been read.
    Received(u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SocketCall {
    Write(u64),
    Close,
    PauseReading,
    ResumeReading,
}

/// A packet as the router saw it, or as ours is written down to be compared.
#[derive(Clone, Debug)]
pub struct Packet {
    pub id: u64,
    pub side: u8,
    pub sent: Time,
    /// Nothing if it was lost.
    pub arrives: Option<Time>,
    pub fate: String,
    /// In bytes: the SYN is 0, the first data 1.
    pub seq: u64,
    pub len: u64,
    /// Nothing where ours does not say.
    pub ack: Option<u64>,
    pub flags: String,
    /// The ECN field when it left its host, and behind the router.
    pub ecn: [u8; 2],
    pub window: Option<u64>,
    pub tsval: Option<u64>,
    pub tsecr: Option<u64>,
    pub sacks: Vec<(u64, u64)>,
    /// Which transmission of this sequence number; nothing of an acknowledgement without data.
    pub nth: Option<u64>,
}

/// What the sender showed of itself.
#[derive(Clone, Debug)]
pub struct State {
    pub time: Time,
    pub why: String,
    /// The acknowledgement that it had just taken.
    pub packet: Option<u64>,
    pub cwnd: u64,
    /// Nothing is as if infinite.
    pub ssthresh: Option<u64>,
}

impl Packet {
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// One past the last sequence number that it takes.
    pub fn end(&self) -> u64 {
        self.seq + self.len + u64::from(self.has('S')) + u64::from(self.has('F'))
    }
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// The field that is missing or is not what it must be.
    pub fn read(text: &str) -> Result<Case, String> {
        Case::of_json(&serde_json::from_str(text).map_err(|why| format!("not a JSON file: {why}"))?)
    }

    /// A case of JSON that is read already.
    ///
    /// # Errors
    /// The field that is missing or is not what it must be.
    pub fn of_json(json: &Json) -> Result<Case, String> {
        let top = Field { json, name: Name::default() };
        let columns = |name| top.field(name)?.texts();
        let (packet_columns, state_columns) = (columns("packet_columns")?, columns("state_columns")?);
        let case = Case {
            name: top.field("name")?.text()?,
            kind: top.field("kind")?.text()?,
            kernel: top.optional("kernel").map(|kernel| kernel.text()).transpose()?,
            clock: Clock::read(&top.field("clock")?)?,
            tcp: Tcp::read(&top.field("tcp")?)?,
            path: if top.field("path")?.json.is_null() { None } else { Some(Path::read(&top.field("path")?)?) },
            end: top.field("end_us")?.time()?,
            application: top.field("application")?.rows()?.iter().map(Action::read).collect::<Result<_, _>>()?,
            script: top.field("script")?.rows()?.iter().map(ScriptLine::read).collect::<Result<_, _>>()?,
            packets: Packet::of_connection(&top.field("packets")?.table(&packet_columns)?)?,
            states: State::of_sender(&top.field("states")?.table(&state_columns)?)?,
        };
        // Of a connection that never opened there are packets alone.
        if case.states.is_empty() && case.packets.iter().any(|packet| packet.side == B && packet.arrives.is_some()) {
            return Err("states is empty: no window to compare".to_owned());
        }
        for (side, name) in [(A, 'a'), (B, 'b')] {
            let written = case.written_by(side);
            if written > MAX_TRANSFER_BYTES {
                return Err(format!(
                    "application: side {name} writes {written} bytes, more than the {MAX_TRANSFER_BYTES} that can be judged"
                ));
            }
        }
        Ok(case)
    }

    /// How many bytes a side writes.
    pub fn written_by(&self, side: u8) -> u64 {
        let writes = self.application.iter().filter(|action| action.side == side);
        writes.fold(0, |sum, action| sum + if let SocketCall::Write(bytes) = action.what { bytes } else { 0 })
    }

    /// Whether the side that answers has data of its own.
    pub fn goes_both_ways(&self) -> bool {
        self.application.iter().any(|action| action.side == B && matches!(action.what, SocketCall::Write(_)))
    }

    /// What one side sent, in the order in which it did.
    pub fn sent_by(&self, side: u8) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.side == side && !self.is_copy(packet))
    }

    /// Whether the router made a packet: it is in all the one before it, and the script copies.
    fn is_copy(&self, packet: &Packet) -> bool {
        let copies = self.script.iter().any(|line| line.side == packet.side && line.act == ScriptAction::Duplicate);
        let before = || self.packets.iter().rev().find(|other| other.side == packet.side && other.id < packet.id);
        let alike = |other: &Packet| {
            (other.sent, other.seq, other.len, other.ack, other.tsval) == (packet.sent, packet.seq, packet.len, packet.ack, packet.tsval)
                && (&other.flags, &other.sacks) == (&packet.flags, &packet.sacks)
        };
        copies && before().is_some_and(alike)
    }

    /// What reached one side, in the order in which it did.
    pub fn reached(&self, side: u8) -> Vec<&Packet> {
        let mut packets: Vec<_> = self.packets.iter().filter(|packet| packet.side != side && packet.arrives.is_some()).collect();
        packets.sort_by_key(|packet| (packet.arrives, packet.id));
        packets
    }
}

impl Clock {
    fn read(field: &Field) -> Result<Clock, String> {
        let hz = field.field("hz")?.number()?;
        let phase = field.field("tick_phase_us")?;
        if phase.number()? * hz >= 1e6 {
            return phase.wrong("less than a tick");
        }
        Ok(Clock {
            hz: field.field("hz")?.within(1, 10_000)?,
            tick_phase: field.field("tick_phase_us")?.span()?,
            jiffies_at_start: field.field("jiffies_at_start_mod_512")?.within(0, 511)?,
        })
    }
}

impl Tcp {
    fn read(field: &Field) -> Result<Tcp, String> {
        let ecn = field.field("ecn")?;
        let sysctl = |row: &Field| -> Result<_, String> {
            let (side, name, value) = (row.field("side")?, row.field("name")?.text()?, row.field("value")?);
            if name == TCP_RMEM {
                value.sizes()?;
            }
            Ok((if side.json == "*" { None } else { Some(side.side()?) }, name, value.text()?))
        };
        let buffer = field.field("rcvbuf")?;
        let hystart = field.field("hystart")?;
        if !hystart.json.is_null() {
            hystart.truth()?;
        }
        Ok(Tcp {
            congestion: field.field("congestion")?.text()?,
            hystart: hystart.json == true,
            ecn: [ecn.field("a")?.within(0, 2)?, ecn.field("b")?.within(0, 2)?],
            mss: field.field("mss")?.within(48, 65_483)? as u32,
            gso: field.field("gso")?.truth()?,
            nodelay: field.field("nodelay")?.truth()?,
            receiver: field.field("receiver")?.text()?,
            interactive: field.optional("interactive").map_or(Ok(false), |interactive| interactive.truth())?,
            buffer: if buffer.json == "default" { None } else { Some(buffer.within(2304, 1 << 29)?) },
            read_size: field.optional("read_size").map(|size| size.within(1, 1 << 30)).transpose()?,
            initial_window: field.optional("initial_window").map(|window| window.within(1, 255)).transpose()?,
            cwnd_limit: field.optional("cwnd_limit").map(|limit| limit.within(1, MAX_PACKET_NUMBER)).transpose()?,
            rto_min: field.optional("rto_min_us").map(|span| span.span()).transpose()?,
            quickack: field.optional("quickack").map_or(Ok(false), |quickack| quickack.truth())?,
            syns: [Syn::read(&field.field("syn_options")?.field("a")?)?, Syn::read(&field.field("syn_options")?.field("b")?)?],
            sysctl: field.field("sysctl")?.rows()?.iter().map(sysctl).collect::<Result<_, _>>()?,
        })
    }
}

impl Syn {
    fn read(field: &Field) -> Result<Syn, String> {
        // Not offered: null or false.
        let scale = field.optional("wscale").filter(|scale| scale.json != false).map(|scale| scale.within(0, 14)).transpose()?;
        Ok(Syn { sack: field.field("sack")?.truth()?, timestamps: field.field("timestamps")?.truth()?, scale })
    }
}

impl Tcp {
    /// Whether both SYNs have an option, so that it is in use.
    pub fn both(&self, has: fn(&Syn) -> bool) -> bool {
        self.syns.iter().all(has)
    }

    pub fn timestamps(&self) -> bool {
        self.both(|syn| syn.timestamps)
    }

    /// What a kernel's switch of one side is set to, if it is.
    pub fn switched(&self, side: u8, name: &str) -> Option<&str> {
        let set = self.sysctl.iter().find(|(of, switch, _)| switch == name && of.is_none_or(|of| of == side));
        set.map(|(.., value)| value.as_str())
    }
}

impl Path {
    fn read(field: &Field) -> Result<Path, String> {
        let queue = field.field("data_queue_packets")?;
        if !field.json["ack_rate_bps"].is_null() {
            return Err(format!("{}ack_rate_bps must be null: the reverse path has no rate", field.prefix()));
        }
        Ok(Path {
            rate_bps: field.field("data_rate_bps")?.within(1, 1_000_000_000_000)?,
            delays: [field.field("data_delay_us")?.span()?, field.field("ack_delay_us")?.span()?],
            queue_packets: if queue.json.is_null() { None } else { Some(queue.within(0, MAX_PACKET_NUMBER)?) },
            clears_ecn: field.field("clears_ecn")?.truth()?,
        })
    }
}

impl Action {
    fn read(row: &Field) -> Result<Action, String> {
        let trigger = match row.json.get("after_received_bytes") {
            Some(_) => Trigger::Received(row.field("after_received_bytes")?.within(0, MAX_TRANSFER_BYTES)?),
            None => Trigger::At(row.field("at_us")?.time()?),
        };
        let what = match row.field("do")?.text()?.as_str() {
            "write" => SocketCall::Write(row.field("bytes")?.within(1, 1 << 30)?),
            "close" => SocketCall::Close,
            "stop reading" => SocketCall::PauseReading,
            "read again" => SocketCall::ResumeReading,
            other => return Err(format!("{}do: unknown action of an application \"{other}\"", row.prefix())),
        };
        Ok(Action { side: row.field("side")?.side()?, trigger, what })
    }
}

impl Packet {
    /// All but resets, which answer what comes to a connection that is gone and say nothing of it.
    fn of_connection(rows: &[Row]) -> Result<Vec<Packet>, String> {
        if rows.is_empty() {
            return Err("packets is empty: nothing to compare".to_owned());
        }
        let packets: Vec<Packet> = rows.iter().map(Packet::read).collect::<Result<_, _>>()?;
        Ok(packets.into_iter().filter(|packet| !packet.has('R')).collect())
    }

    fn read(row: &Row) -> Result<Packet, String> {
        let optional = |name| row.field(name).map(|field| if field.json.is_null() { None } else { Some(field) });
        let stamp = |name| optional(name)?.map(|field| field.whole()).transpose();
        let nth = row.field("nth")?;
        let (sent, arrives) = (row.field("t_us")?.time()?, optional("arrive_us")?.map(|field| field.time()).transpose()?);
        if arrives.is_some_and(|arrives| arrives < sent) {
            return row.field("arrive_us")?.wrong("no earlier than t_us");
        }
        Ok(Packet {
            id: row.field("id")?.whole()?,
            side: row.field("dir")?.within(0, 1)? as u8,
            sent,
            arrives,
            fate: row.field("fate")?.text()?,
            seq: row.field("seq")?.within(0, MAX_SEQ)?,
            len: row.field("len")?.within(0, MAX_PAYLOAD_BYTES)?,
            ack: Some(row.field("ack")?.within(0, MAX_SEQ)?),
            flags: row.field("flags")?.text()?,
            ecn: [row.field("ecn_in")?.within(0, 3)? as u8, row.field("ecn_out")?.within(0, 3)? as u8],
            window: Some(row.field("window")?.within(0, MAX_WINDOW_BYTES)?),
            tsval: stamp("tsval_ms")?,
            tsecr: stamp("tsecr_ms")?,
            sacks: row.field("sack")?.blocks()?,
            nth: if nth.json == -1 { None } else { Some(nth.whole()?) },
        })
    }
}

impl State {
    fn of_sender(rows: &[Row]) -> Result<Vec<State>, String> {
        rows.iter().map(State::read).collect()
    }

    fn read(row: &Row) -> Result<State, String> {
        let (packet, ssthresh) = (row.field("packet")?, row.field("ssthresh")?);
        Ok(State {
            time: row.field("t_us")?.time()?,
            why: row.field("why")?.text()?,
            packet: if packet.json == -1 { None } else { Some(packet.whole()?) },
            cwnd: row.field("cwnd")?.whole()?,
            ssthresh: if ssthresh.json.is_null() { None } else { Some(ssthresh.whole()?) },
        })
    }
}

/// A value of the file and the name by which an error calls it.
pub(super) struct Field<'a> {
    json: &'a Json,
    name: Name,
}

/// The way to a value, such as `packets[3].seq`. A text is made of it only for an error: a case has tens of thousands of values.
#[derive(Clone, Copy, Default)]
struct Name {
    parts: [Part; MAX_DEPTH],
    length: usize,
}

#[derive(Clone, Copy)]
enum Part {
    Key(&'static str),
    At(usize),
}

/// The deepest value is a border of a SACK block: `packets[3].sack[0][1]`.
const MAX_DEPTH: usize = 5;

impl Default for Part {
    fn default() -> Part {
        Part::At(0)
    }
}

impl Name {
    fn with(mut self, part: Part) -> Name {
        self.parts[self.length] = part;
        self.length += 1;
        self
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (at, part) in self.parts[..self.length].iter().enumerate() {
            match part {
                Part::Key(key) if at == 0 => f.write_str(key)?,
                Part::Key(key) => write!(f, ".{key}")?,
                Part::At(place) => write!(f, "[{place}]")?,
            }
        }
        Ok(())
    }
}

impl<'a> Field<'a> {
    pub(super) fn prefix(&self) -> String {
        if self.name.length == 0 { String::new() } else { format!("{}.", self.name) }
    }

    pub(super) fn field(&self, key: &'static str) -> Result<Field<'a>, String> {
        let name = self.name.with(Part::Key(key));
        self.json.get(key).map(|json| Field { json, name }).ok_or_else(|| format!("{name} is missing"))
    }

    pub(super) fn wrong<T>(&self, wanted: &str) -> Result<T, String> {
        Err(format!("{} must be {wanted}, not {}", self.name, self.json))
    }

    pub(super) fn text(&self) -> Result<String, String> {
        self.json.as_str().map_or_else(|| self.wrong("a text"), |text| Ok(text.to_owned()))
    }

    fn texts(&self) -> Result<Vec<String>, String> {
        self.rows()?.iter().map(Field::text).collect()
    }

    fn truth(&self) -> Result<bool, String> {
        self.json.as_bool().map_or_else(|| self.wrong("true or false"), Ok)
    }

    fn number(&self) -> Result<f64, String> {
        self.json.as_f64().filter(|number| *number >= 0.0).map_or_else(|| self.wrong("a number from 0"), Ok)
    }

    pub(super) fn whole(&self) -> Result<u64, String> {
        let number = self.number()?;
        if number.fract() == 0.0 { Ok(number as u64) } else { self.wrong("a whole number") }
    }

    /// A whole number within bounds.
    fn within(&self, least: u64, most: u64) -> Result<u64, String> {
        let number = self.whole()?;
        if (least..=most).contains(&number) { Ok(number) } else { self.wrong(&format!("from {least} to {most}")) }
    }

    /// Microseconds, at most a day of them.
    pub(super) fn span(&self) -> Result<Span, String> {
        let micros = self.number()?;
        if micros > DAY_US { self.wrong("at most a day of microseconds") } else { Ok(Span::from_picos((micros * 1e6).round() as u64)) }
    }

    pub(super) fn time(&self) -> Result<Time, String> {
        Ok(Time::ZERO + self.span()?)
    }

    fn side(&self) -> Result<u8, String> {
        match self.json.as_str() {
            Some("a") => Ok(A),
            Some("b") => Ok(B),
            _ => self.wrong("\"a\" or \"b\""),
        }
    }

    pub(super) fn rows(&self) -> Result<Vec<Field<'a>>, String> {
        let Some(rows) = self.json.as_array() else { return self.wrong("a list") };
        Ok(rows.iter().enumerate().map(|(at, json)| Field { json, name: self.name.with(Part::At(at)) }).collect())
    }

    /// Rows whose members stand in these columns.
    fn table<'b>(&self, columns: &'b [String]) -> Result<Vec<Row<'a, 'b>>, String> {
        let row = |row: Field<'a>| {
            let Some(members) = row.json.as_array() else { return row.wrong("a list") };
            if members.len() != columns.len() {
                return Err(format!("{} has {} values for {} columns", row.name, members.len(), columns.len()));
            }
            Ok(Row { members, columns, name: row.name })
        };
        self.rows()?.into_iter().map(row).collect()
    }

    /// A field that may be missing or null.
    pub(super) fn optional(&self, key: &'static str) -> Option<Field<'a>> {
        let json = self.json.get(key).filter(|json| !json.is_null())?;
        Some(Field { json, name: self.name.with(Part::Key(key)) })
    }

    /// Two whole numbers up to `most`, the smaller one first.
    fn pair(&self, most: u64) -> Result<(u64, u64), String> {
        let rows = self.rows()?;
        let [from, to] = rows.as_slice() else { return self.wrong("a pair") };
        let (from, to) = (from.within(0, most)?, to.within(0, most)?);
        if from > to { self.wrong("a pair with the smaller number first") } else { Ok((from, to)) }
    }

    /// From a byte to another.
    pub(super) fn bytes(&self) -> Result<(u64, u64), String> {
        self.pair(MAX_SEQ)
    }

    /// From a packet to another.
    pub(super) fn packets(&self) -> Result<(u64, u64), String> {
        self.pair(MAX_PACKET_NUMBER)
    }

    /// Which transmission.
    pub(super) fn nth(&self) -> Result<u32, String> {
        Ok(self.within(0, MAX_PACKET_NUMBER)? as u32)
    }

    /// Pairs of whole numbers, or 0 for none.
    fn blocks(&self) -> Result<Vec<(u64, u64)>, String> {
        if self.json == 0 {
            return Ok(Vec::new());
        }
        let rows = self.rows()?;
        if rows.len() > MAX_SACK_BLOCKS { self.wrong("at most four blocks") } else { rows.iter().map(Field::bytes).collect() }
    }

    /// Three sizes in bytes, the smallest first, in a text.
    fn sizes(&self) -> Result<(), String> {
        let text = self.text()?;
        let sizes: Vec<Option<u32>> = text.split_whitespace().map(|size| size.parse().ok()).collect();
        let sound = sizes.len() == 3 && sizes.iter().all(|size| size.is_some_and(|size| size <= i32::MAX as u32)) && sizes.is_sorted();
        if sound { Ok(()) } else { self.wrong(&format!("{TCP_RMEM}'s three sizes in bytes, the smallest first")) }
    }
}

/// A row of a table.
struct Row<'a, 'b> {
    members: &'a [Json],
    columns: &'b [String],
    name: Name,
}

impl<'a> Row<'a, '_> {
    /// What stands in a column.
    fn field(&self, column: &'static str) -> Result<Field<'a>, String> {
        let at = self.columns.iter().position(|other| other == column).ok_or_else(|| format!("column {column} is missing"))?;
        Ok(Field { json: &self.members[at], name: self.name.with(Part::Key(column)) })
    }
}
