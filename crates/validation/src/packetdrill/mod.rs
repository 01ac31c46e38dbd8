//! Runs packetdrill scripts of Accurate ECN against a simulated host.
//!
//! A script is a peer: it sends packets at given times, makes the calls of an application, and says which packets the host must send, with the
//! flags, the option and the ECN field of each. The kernel's own scripts (tools/testing/selftests/net/packetdrill/tcp_accecn_*.pkt) are in every
//! source package of Linux 7.2.
//!
//! ```text
//! `sysctl ...`        settings of the host, before its first packet
//! +0.05 < SEWA ...    the peer sends a packet, 50 ms after the event before
//! +.002 > SW. ...     the host must send this packet, within the tolerance
//! connect, write ...  calls of the application
//! %{ assert ... }%    counters of the sender, as TCP_INFO has them
//! ```
//!
//! The subset of the language is that of these scripts. Not compared: timestamps' values, windows, and options other than Accurate ECN and
//! SACK.

mod host;
mod script;

use ecnlab_units::{Span, Time};

use host::Host;
use script::{Action, Expectation, PacketLine, RelativeTime, Script, ScriptEvent};

/// The result of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptResult {
    Passed,
    /// The line of the script, and what differs.
    Failed {
        line: usize,
        what: String,
    },
    /// What of the script is not supported.
    Unsupported {
        line: usize,
        what: String,
    },
}

/// Why a script does not go on.
enum Stop {
    Failed(String),
    Unsupported(String),
}

/// Runs a script.
pub fn run(text: &str) -> ScriptResult {
    let script = match Script::parse(text) {
        Ok(script) => script,
        Err((line, what)) => return ScriptResult::Unsupported { line, what },
    };
    let mut host = match Host::new(&script) {
        Ok(host) => host,
        Err(what) => return ScriptResult::Unsupported { line: 1, what },
    };
    let mut now = Time::ZERO;
    for event in &script.events {
        match step(&script, event, &mut host, now) {
            Ok(time) => now = time,
            Err(Stop::Failed(what)) => return ScriptResult::Failed { line: event.line, what },
            Err(Stop::Unsupported(what)) => return ScriptResult::Unsupported { line: event.line, what },
        }
    }
    host.run_timers(now + script.tolerance);
    match host.pop_sent_packet() {
        Some(sent) => ScriptResult::Failed {
            line: script.events.last().map_or(1, |event| event.line),
            what: format!("after the script the host sends {sent}"),
        },
        None => ScriptResult::Passed,
    }
}

/// Carries out an event; returns its time.
fn step(script: &Script, event: &ScriptEvent, host: &mut Host, now: Time) -> Result<Time, Stop> {
    let (from, to) = match event.when {
        RelativeTime::After(span) => (now + span, now + span),
        RelativeTime::Between(from, to) => (now + from, now + to),
    };
    if let Action::Expect(expected) = &event.action {
        return expect(script, expected, host, (from, to), event.when);
    }
    host.run_timers(from);
    // What is sent before is expected by a later line.
    match &event.action {
        Action::Connect => host.connect(from),
        Action::Write(bytes) => host.write(*bytes, from),
        Action::Close => host.close(from),
        Action::StopOption => host.stop_accecn_option(),
        Action::Arrive(packet) => host.arrive(packet, from).map_err(Stop::Unsupported)?,
        Action::Assert { counter, value } => {
            let got = host.counter(counter).ok_or_else(|| Stop::Unsupported(format!("the counter {counter}")))?;
            if got != *value {
                return Err(Stop::Failed(format!("{counter}: expected {value}, got {got}")));
            }
        }
        Action::Expect(_) | Action::Nothing => {}
    }
    Ok(from)
}

/// Waits for a packet of the host, and compares it.
fn expect(script: &Script, expected: &Expectation, host: &mut Host, (from, to): (Time, Time), when: RelativeTime) -> Result<Time, Stop> {
    let latest = to + script.tolerance;
    let sent = host.next_coalesced_packet(latest, expected.packet.len);
    let Some(sent) = sent else {
        return Err(Stop::Failed(format!("expected {}, got nothing", expected.packet)));
    };
    let earliest = from.saturating_sub(script.tolerance);
    let differs = expected.first_differing_field(&sent.packet);
    if let Some(field) = differs {
        return Err(Stop::Failed(format!("{field}: expected {}, got {}", expected.packet, sent.packet)));
    }
    if sent.time < earliest || sent.time > latest {
        let seconds = |time: Time| time.seconds();
        return Err(Stop::Failed(format!(
            "time: expected {:.3} s to {:.3} s, got {:.3} s",
            seconds(from),
            seconds(to),
            seconds(sent.time)
        )));
    }
    Ok(match when {
        RelativeTime::After(_) => from,
        RelativeTime::Between(..) => sent.time.max(from),
    })
}

impl Host {
    /// The next packet that the host sends until a time; packets without a gap in time and bytes become one of `len` bytes, as with
    /// segmentation offload.
    fn next_coalesced_packet(&mut self, latest: Time, len: u64) -> Option<SentPacket> {
        self.run_until_sent(latest);
        let mut sent = self.pop_sent_packet()?;
        while sent.packet.len < len {
            let Some(next) = self.peek_sent().filter(|next| next.packet.seq == sent.packet.seq + sent.packet.len && next.time == sent.time)
            else {
                break;
            };
            sent.packet.len += next.packet.len;
            sent.packet.flags.push |= next.packet.flags.push;
            sent.packet.flags.fin |= next.packet.flags.fin;
            self.pop_sent_packet();
        }
        Some(sent)
    }
}

/// A packet that the host has sent.
#[derive(Clone, Debug)]
struct SentPacket {
    time: Time,
    packet: PacketLine,
}

impl std::fmt::Display for SentPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:.3} s", self.packet, self.time.seconds())
    }
}

/// How far a time may be off, unless the script says otherwise: packetdrill's default.
const DEFAULT_TOLERANCE: Span = Span::from_micros(4000);
