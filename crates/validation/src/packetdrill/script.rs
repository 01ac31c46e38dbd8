//! The language of packetdrill, as far as the scripts of Accurate ECN use it.

use std::fmt;

use ecnlab_transport::AccEcnOption;
use ecnlab_units::{Ecn, Span};

use super::DEFAULT_TOLERANCE;

/// A script.
#[derive(Debug)]
pub struct Script {
    /// Names and values, in their order.
    pub sysctls: Vec<(String, String)>,
    pub tolerance: Span,
    pub events: Vec<ScriptEvent>,
}

/// A line of a script and its time.
#[derive(Debug)]
pub struct ScriptEvent {
    pub line: usize,
    pub when: RelativeTime,
    pub action: Action,
}

/// Time after the event before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelativeTime {
    After(Span),
    Between(Span, Span),
}

#[derive(Debug)]
pub enum Action {
    /// A call without an effect on packets.
    Nothing,
    Connect,
    Write(u64),
    Close,
    /// The option is sent no more: tcp_ecn_option = 0 while the connection is open.
    StopOption,
    Arrive(PacketLine),
    Expect(Expectation),
    Assert {
        counter: String,
        value: u64,
    },
}

/// A packet that the host must send.
#[derive(Debug)]
pub struct Expectation {
    pub packet: PacketLine,
    /// The ECN field is compared.
    has_ecn: bool,
    /// The options are compared.
    has_options: bool,
}

/// TCP flags other than those of ECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NonEcnFlags {
    pub syn: bool,
    pub fin: bool,
    pub push: bool,
    pub ack: bool,
    pub reset: bool,
}

/// A packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketLine {
    pub flags: NonEcnFlags,
    /// AE, CWR and ECE.
    pub ace: u8,
    pub ecn: Ecn,
    pub seq: u64,
    pub len: u64,
    pub ack: u64,
    pub window: Option<u64>,
    pub mss: Option<u32>,
    pub window_scale: Option<u32>,
    pub timestamps: Option<(u64, u64)>,
    pub sack_permitted: bool,
    pub sacks: Vec<(u64, u64)>,
    pub accecn: AccEcnOption,
}

impl Expectation {
    /// The first field in which a packet differs.
    pub fn first_differing_field(&self, sent: &PacketLine) -> Option<&'static str> {
        let expected = &self.packet;
        let fields = [
            (expected.flags == sent.flags, "flags"),
            (expected.ace == sent.ace, "ACE field"),
            (!self.has_ecn || expected.ecn == sent.ecn, "ECN field"),
            (expected.seq == sent.seq, "sequence number"),
            (expected.len == sent.len, "length"),
            (!expected.flags.ack || expected.ack == sent.ack, "acknowledgement number"),
            (!self.has_options || expected.accecn == sent.accecn, "Accurate ECN option"),
            (!self.has_options || expected.sacks == sent.sacks, "SACK blocks"),
        ];
        fields.into_iter().find(|(same, _)| !same).map(|(_, name)| name)
    }
}

impl fmt::Display for PacketLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NonEcnFlags { syn, fin, push, ack, reset } = self.flags;
        let ecn = ["noecn", "ect1", "ect0", "ce"][self.ecn as usize];
        write!(f, "[{ecn}] ")?;
        let flags = [(syn, 'S'), (fin, 'F'), (reset, 'R'), (push, 'P'), (ack, '.')];
        flags.iter().filter(|(is_set, _)| *is_set).try_for_each(|(_, flag)| write!(f, "{flag}"))?;
        write!(f, "{} {}:{}({}) ack {}", self.ace, self.seq, self.seq + self.len, self.len, self.ack)?;
        if self.accecn.is_present() {
            let counters = self.accecn.counters();
            for (name, counter) in ["e1b", "ceb", "e0b"].iter().zip(counters) {
                counter.map_or(Ok(()), |counter| write!(f, " {name} {counter}"))?;
            }
        }
        self.sacks.iter().try_for_each(|(from, to)| write!(f, " sack {from}:{to}"))
    }
}

/// A line that cannot be read, and why.
type Unreadable = (usize, String);

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// The number of the line that is not understood, and why.
    pub fn parse(text: &str) -> Result<Script, Unreadable> {
        let mut script = Script { sysctls: Vec::new(), tolerance: DEFAULT_TOLERANCE, events: Vec::new() };
        let (mut in_commands, mut in_code) = (false, false);
        for (at, line) in text.lines().enumerate() {
            let number = at + 1;
            let line = line.split("//").next().unwrap_or_default().trim();
            let starts_or_ends = line.matches('`').count() % 2 == 1;
            if in_commands || line.starts_with('`') {
                script.read_commands(line);
                in_commands ^= starts_or_ends;
                continue;
            }
            if line.is_empty() {
                continue;
            }
            if let Some(option) = line.strip_prefix("--") {
                script.read_option(option);
                continue;
            }
            if in_code {
                in_code = !line.ends_with("}%");
                script.read_asserts(line, number, Span::ZERO).map_err(|why| (number, why))?;
                continue;
            }
            let (when, rest) = read_time(line).map_err(|why| (number, why))?;
            if let Some(code) = rest.strip_prefix("%{") {
                in_code = !code.ends_with("}%");
                script.events.push(ScriptEvent { line: number, when, action: Action::Nothing });
                script.read_asserts(code, number, Span::ZERO).map_err(|why| (number, why))?;
                continue;
            }
            let action = read_action(rest).map_err(|why| (number, why))?;
            script.events.push(ScriptEvent { line: number, when, action });
        }
        Ok(script)
    }

    fn read_commands(&mut self, line: &str) {
        for command in line.trim_matches('`').split(['`', ';']) {
            if let Some((name, value)) = command.trim().strip_prefix("sysctl -q ").and_then(|setting| setting.split_once('=')) {
                self.sysctls.push((name.trim().to_owned(), value.trim_matches(['"', ' ']).to_owned()));
            }
        }
    }

    fn read_option(&mut self, option: &str) {
        if let Some(micros) = option.strip_prefix("tolerance_usecs=").and_then(|value| value.parse().ok()) {
            self.tolerance = Span::from_micros(micros);
        }
    }

    /// Reads `assert NAME == VALUE, ...`.
    fn read_asserts(&mut self, code: &str, line: usize, after: Span) -> Result<(), String> {
        let code = code.trim().trim_end_matches("}%").trim();
        if code.is_empty() {
            return Ok(());
        }
        let claim = code.strip_prefix("assert ").ok_or_else(|| format!("the code {code}"))?;
        let claim = claim.split(',').next().unwrap_or_default();
        let (counter, value) = claim.split_once("==").ok_or_else(|| format!("the assertion {claim}"))?;
        let value = value.trim().parse().map_err(|_| format!("the value {value}"))?;
        let action = Action::Assert { counter: counter.trim().to_owned(), value };
        self.events.push(ScriptEvent { line, when: RelativeTime::After(after), action });
        Ok(())
    }
}

fn seconds(text: &str) -> Result<Span, String> {
    let number: f64 = text.trim_start_matches('+').parse().map_err(|_| format!("the time {text}"))?;
    Ok(Span::from_picos((number * 1e9).round() as u64 * 1000))
}

/// A time at the start of a line, and the rest. `+.01...0.02` and `+.01 ... 0.02` are the start and the end of a blocking call.
fn read_time(line: &str) -> Result<(RelativeTime, &str), String> {
    let (time, rest) = line.split_once(char::is_whitespace).ok_or_else(|| format!("the line {line}"))?;
    let rest = rest.trim_start();
    // `+.02 ~+2` and `+.02 ~ +2` are `+.02~+2`.
    if let Some(range) = rest.strip_prefix('~') {
        let (to, rest) = range.trim_start().split_once(char::is_whitespace).ok_or("a time range without an action")?;
        return Ok((RelativeTime::Between(seconds(time)?, seconds(to)?), rest.trim_start()));
    }
    if let Some((start, _)) = time.split_once("...") {
        return Ok((RelativeTime::After(seconds(start)?), rest));
    }
    if let Some((from, to)) = time.split_once('~') {
        return Ok((RelativeTime::Between(seconds(from)?, seconds(to)?), rest));
    }
    let when = RelativeTime::After(seconds(time)?);
    match rest.strip_prefix("...") {
        Some(blocking) => {
            let (_, call) = blocking.trim_start().split_once(char::is_whitespace).ok_or("a blocking call without an end")?;
            Ok((when, call.trim_start()))
        }
        None => Ok((when, rest)),
    }
}

fn read_action(rest: &str) -> Result<Action, String> {
    if let Some(packet) = rest.strip_prefix('<') {
        return Ok(Action::Arrive(read_packet_expectation(packet.trim())?.packet));
    }
    if let Some(packet) = rest.strip_prefix('>') {
        return Ok(Action::Expect(read_packet_expectation(packet.trim())?));
    }
    if rest.trim_matches('`') == "sysctl -q net.ipv4.tcp_ecn_option=0" {
        return Ok(Action::StopOption);
    }
    let (call, arguments) = rest.split_once('(').ok_or_else(|| format!("the action {rest}"))?;
    match call.trim() {
        "socket" | "setsockopt" | "bind" | "listen" | "accept" | "read" => Ok(Action::Nothing),
        "connect" => Ok(Action::Connect),
        "close" => Ok(Action::Close),
        "write" => {
            let bytes = arguments.split([',', ')']).nth(2).and_then(|bytes| bytes.trim().parse().ok());
            Ok(Action::Write(bytes.ok_or_else(|| format!("the call {rest}"))?))
        }
        other => Err(format!("the call {other}")),
    }
}

fn read_packet_expectation(text: &str) -> Result<Expectation, String> {
    let mut packet = PacketLine::default();
    let mut rest = text;
    let has_ecn = rest.starts_with('[');
    if let Some((ecn, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        packet.ecn = match ecn {
            "noecn" => Ecn::NotEct,
            "ect0" => Ecn::Ect0,
            "ect1" => Ecn::Ect1,
            "ce" => Ecn::Ce,
            other => return Err(format!("the ECN field {other}")),
        };
        rest = after.trim_start();
    }
    let (fields, options) = match rest.split_once('<') {
        Some((fields, options)) => (fields, Some(options.trim_end().trim_end_matches('>'))),
        None => (rest, None),
    };
    let words: Vec<&str> = fields.split_whitespace().collect();
    let [flags, numbers, others @ ..] = &words[..] else { return Err(format!("the packet {text}")) };
    read_flags(flags, &mut packet)?;
    let range = numbers.split(['(', ')']).collect::<Vec<_>>();
    let wrong = || format!("the numbers {numbers}");
    packet.seq = range.first().and_then(|range| range.split(':').next()).and_then(|seq| seq.parse().ok()).ok_or_else(wrong)?;
    packet.len = range.get(1).and_then(|len| len.parse().ok()).ok_or_else(wrong)?;
    for pair in others.chunks(2) {
        match *pair {
            ["ack", number] => packet.ack = number.parse().map_err(|_| format!("the acknowledgement {number}"))?,
            ["win", window] => packet.window = Some(window.parse().map_err(|_| format!("the window {window}"))?),
            _ => return Err(format!("the field {}", pair.join(" "))),
        }
    }
    let is_wild = options == Some("...");
    if let Some(options) = options.filter(|_| !is_wild) {
        read_options(options, &mut packet)?;
    }
    Ok(Expectation { packet, has_ecn, has_options: !is_wild })
}

fn read_flags(flags: &str, packet: &mut PacketLine) -> Result<(), String> {
    for flag in flags.chars() {
        match flag {
            'S' => packet.flags.syn = true,
            'F' => packet.flags.fin = true,
            'R' => packet.flags.reset = true,
            'P' => packet.flags.push = true,
            '.' => packet.flags.ack = true,
            'E' => packet.ace |= 1,
            'W' => packet.ace |= 2,
            'A' => packet.ace |= 4,
            '0'..='7' => packet.ace = flag as u8 - b'0',
            other => return Err(format!("the flag {other}")),
        }
    }
    Ok(())
}

fn read_options(options: &str, packet: &mut PacketLine) -> Result<(), String> {
    for option in options.split(',') {
        let words: Vec<&str> = option.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok()).ok_or_else(|| format!("the option {option}"));
        match words.first().copied().unwrap_or_default() {
            "" | "nop" | "eol" => {}
            "sackOK" => packet.sack_permitted = true,
            "mss" => packet.mss = Some(number(1)? as u32),
            "wscale" => packet.window_scale = Some(number(1)? as u32),
            "TS" => packet.timestamps = Some((number(2)?, number(4)?)),
            "ECN" => packet.accecn = read_accecn(&words[1..])?,
            "sack" => {
                for block in &words[1..] {
                    let (from, to) = block.split_once(':').ok_or_else(|| format!("the block {block}"))?;
                    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("the block {block}"));
                    packet.sacks.push((number(from)?, number(to)?));
                }
            }
            other => return Err(format!("the option {other}")),
        }
    }
    Ok(())
}

fn read_accecn(words: &[&str]) -> Result<AccEcnOption, String> {
    let mut counters = [None; 3];
    for pair in words.chunks(2) {
        let [name, value] = *pair else { return Err("an ECN option with a counter without a value".to_owned()) };
        let at = ["e1b", "ceb", "e0b"].iter().position(|counter| *counter == name).ok_or_else(|| format!("the counter {name}"))?;
        counters[at] = Some(value.parse::<u32>().map_err(|_| format!("the counter {value}"))?);
    }
    Ok(AccEcnOption::new(counters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_with_their_flags_numbers_and_options() {
        let expected =
            read_packet_expectation("[ect0] EAP. 1:1001(1000) ack 77 win 264 <ECN e0b 1 ceb 0 e1b 5,nop,nop,nop,sack 3001:4001 1:2>")
                .unwrap();
        let packet = expected.packet;
        assert_eq!((5, Ecn::Ect0, 1, 1000, 77, Some(264)), (packet.ace, packet.ecn, packet.seq, packet.len, packet.ack, packet.window));
        assert_eq!([Some(5), Some(0), Some(1)], packet.accecn.counters());
        assert_eq!(vec![(3001, 4001), (1, 2)], packet.sacks);
        assert_eq!(NonEcnFlags { push: true, ack: true, ..NonEcnFlags::default() }, packet.flags);
        assert_eq!(6, read_packet_expectation("P.6 1:1(0) ack 1").unwrap().packet.ace);
    }

    #[test]
    fn times_are_relative_and_may_be_ranges() {
        let when = |line| read_time(line).map(|(when, rest)| (when, rest.to_owned()));
        let millis = Span::from_millis;
        assert_eq!(Ok((RelativeTime::After(millis(2)), "> S".to_owned())), when("+.002 > S"));
        assert_eq!(Ok((RelativeTime::Between(millis(1000), millis(1100)), "x".to_owned())), when("+1.0~+1.1 x"));
        assert_eq!(Ok((RelativeTime::Between(millis(20), millis(2000)), "> S".to_owned())), when("+.02 ~+2 > S"));
        assert_eq!(Ok((RelativeTime::After(millis(2)), "connect(4) = 0".to_owned())), when("+.002 ... 3.1 connect(4) = 0"));
        assert_eq!(Ok((RelativeTime::After(millis(10)), "connect(3) = 0".to_owned())), when("+.01...0.011 connect(3) = 0"));
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        assert_eq!((2, "the call sendfile".to_owned()), Script::parse("// x\n+0 sendfile(3) = 0\n").unwrap_err());
        assert_eq!((1, "the flag X".to_owned()), Script::parse("+0 < X 0:0(0)\n").unwrap_err());
    }
}
