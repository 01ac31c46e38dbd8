//! Compares a run with ns-2's, packet by packet: reads a case file, builds its network, and names the first difference.
//!
//! A case is one flow over S --access-- R --bottleneck-- K with scripted drops and marks. Its file holds the parameters in ns-2's own
//! names, every event `[time_s, kind, seq, flags]`, and every change of the congestion window and threshold.
//! Sequence numbers of acknowledgements are ns-2's: the last packet received in order.

use std::sync::Arc;

use ecnlab_queue::{Limit, registry};
use ecnlab_sim::probe::{Deed, Probe};
use ecnlab_sim::{Buffer, FlowSpec, LinkSpec, Network, Options, QueueSpec, Script, Treatment, run};
use ecnlab_transport::source::ENDLESS;
use ecnlab_transport::{Ack, Demand, Segment, Settings, Window, profile};
use ecnlab_units::{Ecn, Level, Rate, Span, Time, Values};
use serde_json::Value as Json;

/// Times in the files are rounded to a nanosecond.
const TIME_TOLERANCE_S: f64 = 1.0e-9;
/// Window changes are written with five decimals of time and three of value.
const WINDOW_TIME_TOLERANCE_S: f64 = 1.0e-5;
const WINDOW_TOLERANCE: f64 = 0.5e-3 + 1e-6;

/// How a case came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub name: String,
    /// Events compared.
    pub events: usize,
    /// The first difference, or nothing.
    pub difference: Option<String>,
}

/// Runs a case.
///
/// # Errors
/// What is missing, if the text is no case. A case that asks for what is not built has a difference that says so.
pub fn judge(text: &str) -> Result<Verdict, String> {
    let json: Json = serde_json::from_str(text).map_err(|why| format!("not a JSON file: {why}"))?;
    let scenario = &json["scenario"];
    let name = scenario["name"].as_str().ok_or("no packet-exact case: scenario.name is missing")?.to_owned();
    let events = json["events"].as_array().ok_or("no packet-exact case: events are missing")?;
    let changes = json["cwnd_changes"].as_array().ok_or("no packet-exact case: cwnd_changes are missing")?;
    let difference = match case(scenario)? {
        Err(unsupported) => Some(unsupported),
        Ok((network, options)) => {
            let mut tape = Tape::default();
            let _finished = run(&network, &options, &mut tape, &mut |_| false);
            tape.end(options.duration);
            first_difference(&tape.events, events).or_else(|| first_window_difference(&tape.windows, changes))
        }
    };
    Ok(Verdict { name, events: events.len(), difference })
}

type Case = Result<(Network, Options), String>;

fn case(scenario: &Json) -> Result<Case, String> {
    let real = |value: &Json, name: &str| value[name].as_f64().ok_or_else(|| format!("no packet-exact case: {name} is missing"));
    let path = &scenario["path"];
    let link = |rate: &str, delay: &str, limit: u32, treatment: Option<Box<Treatment>>| -> Result<LinkSpec, String> {
        Ok(LinkSpec {
            rate: Rate::from_bps(real(path, rate)? as u64).ok_or_else(|| format!("{rate} is 0"))?,
            delay: seconds(real(path, delay)?)?,
            buffer: droptail(limit),
            spread: Span::ZERO,
            treatment,
        })
    };
    let pairs = |name: &str| -> Vec<(u64, u32)> {
        let rows = scenario[name].as_array().map_or(&[][..], Vec::as_slice);
        rows.iter().filter_map(|row| Some((row[0].as_u64()?, row[1].as_u64()? as u32))).collect()
    };
    let marks = pairs("marks_seq_nth").into_iter().map(|(seq, nth)| (seq, nth, Level::Congested)).collect();
    let numbers = scenario["ack_drops_index"].as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Json::as_u64).collect();
    let mut settings = match settings(scenario) {
        Ok(settings) => settings,
        Err(unsupported) => return Ok(Err(unsupported)),
    };
    settings.max_window = real(scenario, "window")? as u64;
    // ns-2's DropTail with limit L lets L - 1 packets wait.
    let limit = (real(path, "bottleneck_queue_pkts")? as u32).saturating_sub(1);
    let links = vec![
        link("access_rate_bps", "access_delay_s", u32::MAX, None)?,
        link(
            "bottleneck_rate_bps",
            "bottleneck_delay_s",
            limit,
            Treatment::scripted(Script::new(pairs("drops_seq_nth"), marks, Vec::new())),
        )?,
        link("bottleneck_rate_bps", "bottleneck_delay_s", u32::MAX, Treatment::scripted(Script::new(Vec::new(), Vec::new(), numbers)))?,
        link("access_rate_bps", "access_delay_s", u32::MAX, None)?,
    ];
    let flow = FlowSpec {
        group: 0,
        forward: vec![0, 1],
        back: vec![2, 3],
        demand: Demand::segments(scenario["packets_to_send"].as_u64().unwrap_or(ENDLESS)),
        start: Time::ZERO + seconds(real(scenario, "start_s")?)?,
        boot: Some(seconds(real(scenario, "boot_time_s")?)?),
        tcp: Arc::new(settings),
    };
    let duration = Time::ZERO + seconds(real(scenario, "tend_s")?)?;
    let options = Options { duration, measure_from: Time::ZERO, seed: 0, sample_queues: None, sample_windows: None };
    Ok(Ok((Network { links, flows: vec![flow], groups: 1 }, options)))
}

/// Drop-tail as a full queue: a pipe would settle ties between an arrival and a departure without an event of their own.
fn droptail(limit: u32) -> Buffer {
    let aqm = registry::find("droptail").expect("drop-tail is registered");
    Buffer::Queue(Box::new(QueueSpec { name: String::new(), aqm, values: Values::defaults(aqm.parameters), limit: Limit::Packets(limit) }))
}

/// The settings that a case's ns-2 variables amount to, or what of them is not built.
fn settings(scenario: &Json) -> Result<Settings, String> {
    let (tcp, sink) = (&scenario["tcp_params"], &scenario["sink_params"]);
    if scenario["tcp"] != "Reno" {
        return Err(format!("not built: sender {}", scenario["tcp"]));
    }
    let fixed = [("windowInitOption_", 1.0), ("overhead_", 0.0), ("LimTransmitFix_", 0.0), ("bugFix_ts_", 0.0), ("timestamps_", 0.0)];
    let more = [
        ("restart_bugfix_", 1.0),
        ("old_ecn_", 0.0),
        ("noFastRetrans_", 0.0),
        ("decrease_num_", 0.5),
        ("increase_num_", 1.0),
        ("frto_enabled_", 0.0),
    ];
    for (name, built) in fixed.into_iter().chain(more) {
        if tcp[name].as_f64().is_some_and(|value| value != built) {
            return Err(format!("not built: {name} {}", tcp[name]));
        }
    }
    let mut values = profile::find("ns2").expect("the profile ns2 exists").values();
    let size = number(tcp, "packetSize_") + if on(tcp, "useHeaders_") { number(tcp, "tcpip_base_hdr_size_") } else { 0.0 };
    set(&mut values, "packet_size", size);
    set(&mut values, "first_packet_size", if on(tcp, "syn_") { number(tcp, "tcpip_base_hdr_size_") } else { number(tcp, "packetSize_") });
    let counts =
        [("initial_window", "windowInit_"), ("duplicate_threshold", "numdupacks_"), ("max_burst", "maxburst_"), ("cwnd_limit", "maxcwnd_")];
    counts.iter().for_each(|(ours, theirs)| set(&mut values, ours, number(tcp, theirs)));
    let flags = [
        ("ecn", "ecn_"),
        ("delay_growth", "delay_growth_"),
        ("limited_transmit", "singledup_"),
        ("single_fast_retransmit", "bugFix_"),
        ("first_packet_loss", "bugfix_ss_"),
        ("strict_inflation", "exitFastRetrans_"),
        ("cwr_on_retransmission", "SetCWRonRetransmit_"),
        ("slow_start_restart", "slow_start_restart_"),
    ];
    flags.iter().for_each(|(ours, theirs)| set(&mut values, ours, on(tcp, theirs)));
    let spans = [("tick", "tcpTick_"), ("rto_min", "minrto_"), ("rto_max", "maxrto_"), ("rto_initial", "rtxcur_init_")];
    spans.iter().for_each(|(ours, theirs)| set(&mut values, ours, format!("{} s", number(tcp, theirs))));
    set(&mut values, "handshake", if on(tcp, "syn_") { "first-packet" } else { "none" });
    set(&mut values, "halving", if on(tcp, "precisionReduce_") { "exact" } else { "integer" });
    set(&mut values, "rto_order", if on(tcp, "rfc2988_") { "minimum-first" } else { "backoff-first" });
    set(&mut values, "timer_restart", if on(tcp, "timerfix_") { "after-sample" } else { "before-sample" });
    set(&mut values, "ack_size", number(sink, "packetSize_"));
    if scenario["sink"] == "TCPSink/DelAck" {
        set(&mut values, "delayed_ack", true);
        set(&mut values, "delayed_ack_time", format!("{} s", number(sink, "interval_")));
    }
    Ok(Settings::new(&values))
}

fn set(values: &mut Values, name: &str, value: impl ToString) {
    let text = value.to_string();
    values.read(name, &text).unwrap_or_else(|why| panic!("{name} of a case: {why}"));
}

fn number(json: &Json, name: &str) -> f64 {
    json[name].as_f64().unwrap_or(0.0)
}

fn on(json: &Json, name: &str) -> bool {
    json[name] == "true" || json[name] == true || number(json, name) != 0.0
}

fn seconds(secs: f64) -> Result<Span, String> {
    Span::from_secs_f64(secs).ok_or_else(|| format!("{secs} s is no time"))
}

/// Everything that happened, in the words of the case files.
#[derive(Default)]
struct Tape {
    events: Vec<Event>,
    windows: Vec<Change>,
    window: Option<Window>,
}

#[derive(Debug)]
struct Event {
    time: Time,
    kind: &'static str,
    seq: i64,
}

#[derive(Debug)]
struct Change {
    time: Time,
    what: &'static str,
    value: f64,
}

impl Tape {
    fn note(&mut self, time: Time, kind: &'static str, seq: i64) {
        self.events.push(Event { time, kind, seq });
    }

    /// The run is cut at its end, where ns-2 does not act any more.
    fn end(&mut self, duration: Time) {
        self.events.retain(|event| event.time < duration);
        self.windows.retain(|change| change.time < duration);
    }
}

impl Probe for Tape {
    fn sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        self.note(now, "snd", segment.seq as i64);
    }

    fn received(&mut self, now: Time, _flow: u32, segment: &Segment) {
        let kind = if segment.ecn == Ecn::Ce { "rcv ce" } else { "rcv" };
        self.note(now, kind, segment.seq as i64);
    }

    fn ack_sent(&mut self, now: Time, _flow: u32, ack: &Ack) {
        self.note(now, if ack.ece { "acksnd ece" } else { "acksnd" }, ack.next as i64 - 1);
    }

    fn ack_received(&mut self, now: Time, _flow: u32, ack: &Ack) {
        self.note(now, if ack.ece { "ack ece" } else { "ack" }, ack.next as i64 - 1);
    }

    fn touched(&mut self, now: Time, _link: u32, _flow: u32, segment: &Segment, deed: Deed) {
        let kind = match deed {
            Deed::ScriptMarked => "mark",
            Deed::ScriptDropped => "drop",
            Deed::Dropped(_) => "qdrop",
            Deed::Lost | Deed::EcnRefused => "lost",
            Deed::Marked(_) => "queue mark",
        };
        self.note(now, kind, segment.seq as i64);
    }

    /// The script drops an acknowledgement as it leaves K, which for ns-2's files is instead of leaving.
    fn ack_dropped(&mut self, now: Time, _link: u32, _flow: u32, next: u64) {
        self.events.pop();
        self.note(now, "ackdrop", next as i64 - 1);
    }

    fn window(&mut self, now: Time, _flow: u32, window: &Window) {
        let before = self.window.replace(*window);
        let values = [("cwnd", window.cwnd, before.map(|w| w.cwnd)), ("ssthresh", window.ssthresh, before.map(|w| w.ssthresh))];
        for (what, value, _) in values.into_iter().filter(|(_, value, before)| *before != Some(*value)) {
            self.windows.push(Change { time: now, what, value });
        }
    }
}

fn first_difference(ours: &[Event], theirs: &[Json]) -> Option<String> {
    for (at, (our, their)) in ours.iter().zip(theirs).enumerate() {
        let kind = kind_with_flags(their);
        let same = our.kind == kind && Some(our.seq) == their[2].as_i64() && near(our.time, &their[0], TIME_TOLERANCE_S);
        if !same {
            return Some(format!("event {at}: ns-2 has {their}, ours is [{:.9},\"{}\",{}]", our.time.seconds(), our.kind, our.seq));
        }
    }
    length_difference("events", ours.len(), theirs.len())
}

/// ns-2's kind, with the congestion flags that matter to a receiver.
fn kind_with_flags(event: &Json) -> String {
    let kind = event[1].as_str().unwrap_or("");
    let flag = |name: &str| event[3][name] == 1;
    match kind {
        "rcv" if flag("ce") => "rcv ce".to_owned(),
        "ack" | "acksnd" if flag("ece") => format!("{kind} ece"),
        _ => kind.to_owned(),
    }
}

fn first_window_difference(ours: &[Change], theirs: &[Json]) -> Option<String> {
    for (at, (our, their)) in ours.iter().zip(theirs).enumerate() {
        let value = their[2].as_f64().unwrap_or(f64::NAN);
        let same =
            their[1] == our.what && (our.value - value).abs() <= WINDOW_TOLERANCE && near(our.time, &their[0], WINDOW_TIME_TOLERANCE_S);
        if !same {
            return Some(format!(
                "window change {at}: ns-2 has {their}, ours is [{:.5},\"{}\",{:.6}]",
                our.time.seconds(),
                our.what,
                our.value
            ));
        }
    }
    length_difference("window changes", ours.len(), theirs.len())
}

fn length_difference(what: &str, ours: usize, theirs: usize) -> Option<String> {
    (ours != theirs).then(|| format!("{what}: ns-2 has {theirs}, ours are {ours}, the shorter being the beginning of the longer"))
}

/// Within the tolerance, and a picosecond for every thousand packets of rounding on the way.
fn near(ours: Time, theirs: &Json, tolerance_s: f64) -> bool {
    theirs.as_f64().is_some_and(|theirs| (ours.seconds() - theirs).abs() <= tolerance_s + 1e-12)
}
