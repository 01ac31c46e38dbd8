//! One flow of a real kernel: who sent what and when, and with which settings.

use ecnlab_transport::profile;
use ecnlab_transport::settings::{CongestionName, EchoStyle, ReceiveWindow, ResponseName};
use ecnlab_transport::{HostClock, Role, Segment, Settings};
use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Ecn, Span, Time};
use serde_json::Value;

/// How much the recorded application reads at a time, in bytes.
const READ_SIZE: u32 = 70_000;

/// Headers with timestamps and without, in bytes.
const WITH_TIMESTAMPS: u32 = 52;
const PLAIN: u32 = 40;

/// The ECN field's values (RFC 3168, section 5).
const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

pub struct Case {
    pub name: String,
    pub kind: String,
    pub settings: Settings,
    pub clock: HostClock,
    pub arrivals: Vec<Arrival>,
    pub answers: Vec<Answer>,
}

/// A packet that reached the receiving host.
pub struct Arrival {
    pub time: Time,
    pub sent: Time,
    pub segment: Segment,
}

/// A packet that the receiving host sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub time: Time,
    /// The next segment expected.
    pub next: u64,
    pub role: Role,
    pub ece: bool,
    /// Of what is not data.
    pub ecn: Ecn,
    /// Runs of segments, `[from, to)`.
    pub sacks: Vec<(u64, u64)>,
    pub window: u32,
    /// It carries data of the receiving host, on which the acknowledgement rides.
    pub rides: bool,
    /// The timestamp that it echoes, in milliseconds; none without the option.
    pub echo: Option<u64>,
}

/// Where segments begin in the stream of bytes: the number of a segment is its place here.
struct Numbers {
    starts: Vec<u64>,
    end: u64,
}

impl Numbers {
    fn new(packets: &[Packet]) -> Numbers {
        let data = packets.iter().filter(|packet| packet.from_sender && packet.takes_numbers());
        let mut starts: Vec<u64> = data.clone().map(|packet| packet.seq).collect();
        starts.sort_unstable();
        starts.dedup();
        Numbers { starts, end: data.map(Packet::end).max().unwrap_or_default() }
    }

    /// The number of the segment that begins at this byte or has it within, as a probe of a closed window does. The SYN, at byte zero, is number
    /// zero; behind the last segment is the number of the one that would follow.
    fn at(&self, byte: u64) -> u64 {
        let begun = self.starts.partition_point(|&start| start <= byte) as u64;
        if byte >= self.end { self.starts.len() as u64 } else { begun - 1 }
    }
}

struct Packet {
    from_sender: bool,
    time: Time,
    arrives: Option<Time>,
    seq: u64,
    len: u64,
    ack: u64,
    flags: String,
    /// On entry and behind the router.
    ecn_sent: Ecn,
    ecn: Ecn,
    window: u32,
    echo: Option<u64>,
    sacks: Vec<(u64, u64)>,
    nth: i64,
}

impl Packet {
    fn takes_numbers(&self) -> bool {
        self.len > 0 || self.has('S') || self.has('F')
    }

    fn end(&self) -> u64 {
        self.seq + self.len + u64::from(self.has('S')) + u64::from(self.has('F'))
    }

    fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    fn role(&self) -> Role {
        match () {
            () if self.has('S') => Role::Syn,
            () if self.has('F') => Role::Fin,
            () if self.len > 0 || !self.from_sender => Role::Plain,
            () => Role::Pure,
        }
    }
}

fn time(value: &Value) -> Option<Time> {
    value.as_f64().map(|micros| Time::from_picos((micros * 1e6).round() as u64))
}

fn packet(row: &Value) -> Packet {
    let number = |at: usize| row[at].as_u64().unwrap_or_default();
    let pair = |block: &Value| (block[0].as_u64().unwrap(), block[1].as_u64().unwrap());
    Packet {
        from_sender: number(1) == 0,
        time: time(&row[2]).expect("every packet was sent"),
        arrives: time(&row[3]),
        seq: number(5),
        len: number(6),
        ack: number(7),
        flags: row[8].as_str().expect("flags").to_owned(),
        ecn_sent: CODEPOINTS[number(9) as usize],
        ecn: CODEPOINTS[number(10) as usize],
        window: number(11) as u32,
        echo: row[13].as_u64(),
        sacks: row[14].as_array().into_iter().flatten().map(pair).collect(),
        nth: row[15].as_i64().unwrap_or_default(),
    }
}

impl Case {
    pub fn read(text: &str) -> Case {
        let case: Value = serde_json::from_str(text).expect("a case is JSON");
        let packets: Vec<Packet> = case["packets"].as_array().expect("packets").iter().map(packet).collect();
        let settings = settings(&case);
        let clock = &case["clock"];
        let ticks = clock["jiffies_at_start_mod_512"].as_u64().expect("jiffies");
        let phase = Span::from_micros(clock["tick_phase_us"].as_f64().expect("phase") as u64);
        let numbers = Numbers::new(&packets);
        let mut arrivals: Vec<Arrival> =
            packets.iter().filter(|packet| packet.from_sender).filter_map(|packet| arrival(packet, &numbers, &settings)).collect();
        arrivals.sort_by_key(|arrival| arrival.time);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Case {
            name: text(&case["name"]),
            kind: text(&case["kind"]),
            clock: HostClock::new(&settings, settings.tick * ticks + phase),
            answers: packets.iter().filter(|packet| !packet.from_sender).map(|packet| answer(packet, &numbers)).collect(),
            arrivals,
            settings,
        }
    }
}

fn arrival(packet: &Packet, numbers: &Numbers, settings: &Settings) -> Option<Arrival> {
    let segment = Segment {
        seq: numbers.at(packet.seq),
        size: packet.len as u32 + settings.header,
        role: packet.role(),
        ecn: packet.ecn,
        cwr: packet.has('C'),
        ece: packet.has('E'),
        retransmission: packet.nth > 0,
        push: packet.has('P'),
    };
    packet.arrives.map(|time| Arrival { time, sent: packet.time, segment })
}

fn answer(packet: &Packet, numbers: &Numbers) -> Answer {
    Answer {
        time: packet.time,
        next: numbers.at(packet.ack),
        role: packet.role(),
        ece: packet.has('E'),
        ecn: if packet.len > 0 { Ecn::NotEct } else { packet.ecn_sent },
        sacks: packet.sacks.iter().map(|&(from, to)| (numbers.at(from), numbers.at(to))).collect(),
        window: packet.window,
        rides: packet.len > 0,
        echo: packet.echo,
    }
}

/// The value of a sysctl that the case sets at the receiving host.
fn sysctl<'a>(tcp: &'a Value, name: &str) -> Option<&'a str> {
    let all = tcp["sysctl"].as_array()?;
    let set = all.iter().filter(|one| one["side"] != "a").find(|one| one["name"].as_str() == Some(name))?;
    set["value"].as_str()
}

fn settings(case: &Value) -> Settings {
    let tcp = &case["tcp"];
    let plain = profile::settings("linux");
    let option = |side: &str, name: &str| tcp["syn_options"][side][name].clone();
    let both = |name: &str| option("a", name) == Value::Bool(true) && option("b", name) == Value::Bool(true);
    let timestamps = both("timestamps");
    let header = if timestamps { WITH_TIMESTAMPS } else { PLAIN };
    let autotuned = tcp["receiver"] == "auto";
    let rmem: Vec<u64> = sysctl(tcp, "net.ipv4.tcp_rmem").into_iter().flat_map(str::split_whitespace).flat_map(str::parse).collect();
    let buffer = match tcp["rcvbuf"].as_u64() {
        Some(bytes) => 2 * bytes,
        None => rmem.get(1).copied().unwrap_or(plain.receive_buffer),
    };
    let dctcp = tcp["congestion"] == "dctcp";
    let when = |what: &str| {
        let all = case["application"].as_array().expect("application");
        let at = all.iter().find(|one| one["side"] == "b" && one["do"] == what).and_then(|one| one["at_us"].as_f64());
        OrOff(at.map(|micros| Span::from_micros(micros as u64)))
    };
    let sack = both("sack");
    Settings {
        ecn: tcp["ecn"]["a"] == 1 || dctcp,
        receiver_ecn: tcp["ecn"]["b"] != 0,
        ecn_echo: if dctcp { EchoStyle::Dctcp } else { EchoStyle::Classic },
        response: if dctcp { ResponseName::Dctcp } else { ResponseName::Halve },
        congestion: if tcp["congestion"] == "cubic" { CongestionName::Cubic } else { CongestionName::Reno },
        tick: Span::from_millis(1000 / case["clock"]["hz"].as_u64().expect("hz")),
        timer_wheel: true,
        timestamps,
        header,
        packet_size: 1500,
        sack_blocks: if !sack {
            0
        } else if timestamps {
            3
        } else {
            4
        },
        receive_window: if autotuned { ReceiveWindow::Autotuned } else { ReceiveWindow::Fixed },
        receive_buffer: buffer,
        receive_buffer_max: rmem.get(2).copied().unwrap_or(plain.receive_buffer_max),
        window_scaling: !option("a", "wscale").is_null() && !option("b", "wscale").is_null(),
        interactive: tcp["receiver"] == "delayed",
        read_size: READ_SIZE,
        reader_stops: when("stop reading"),
        reader_resumes: when("read again"),
        ..plain
    }
}
