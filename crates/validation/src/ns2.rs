//! Compares a run with ns-2's, packet by packet: reads a case file, builds its network, and names the first difference.
//!
//! A case is one flow over S --access-- R --bottleneck-- K with scripted drops and marks. Its file holds the parameters in ns-2's own
//! names, every event `[time_s, kind, seq, flags]`, and every change of the congestion window and threshold.
//! Sequence numbers of acknowledgements are ns-2's: the last packet received in order.

use std::fmt::Display;
use std::sync::Arc;

use ecnlab_queue::{Limit, QueueConfig, Registry};
use ecnlab_sim::Direction::{Back, Forward};
use ecnlab_sim::probe::{AckDrop, MarkOrDropWithCause, Probe, SignalEvent};
use ecnlab_sim::{
    FlowSpec, ImpairmentSpec, LinkName, LinkSpec, Network, PipeOrQueue, QueueSpec, RowPolicy, RunTimesAndSeed, Script, Simulation,
    TraceFormat, TraceSpec, Tracer,
};
use ecnlab_transport::{Ack, AppWrite, CongestionWindow, SackOption, Segment, TcpSettings, Transport, profile};
use ecnlab_units::{CongestionLevel, Ecn, Rate, Span, Time, Values};
use serde_json::Value as Json;

/// Times in the files are rounded to a nanosecond.
const TIME_TOLERANCE_S: f64 = 1.0e-9;
/// Window changes are written with five decimals of time and three of value.
const WINDOW_TIME_TOLERANCE_S: f64 = 1.0e-5;
const WINDOW_TOLERANCE: f64 = 0.5e-3 + 1e-6;

/// How a case came out.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseResult {
    pub name: String,
    /// Events compared.
    pub events: usize,
    /// The first difference, or nothing.
    pub difference: Option<String>,
}

/// Runs a case.
///
/// # Errors
/// The missing key, if the text is not a case. An unsupported case is a difference of the result.
pub fn validate_case_from_json(text: &str) -> Result<CaseResult, String> {
    let json: Json = serde_json::from_str(text).map_err(|why| format!("not a JSON file: {why}"))?;
    let scenario = &json["scenario"];
    let name = scenario["name"].as_str().ok_or("scenario.name is missing")?.to_owned();
    let events = json["events"].as_array().ok_or("events are missing")?;
    let changes = json["cwnd_changes"].as_array().ok_or("cwnd_changes are missing")?;
    let difference = match network_of_case(scenario)? {
        Err(unsupported) => Some(unsupported),
        Ok((network, options)) => {
            let (_, mut recorder) = Simulation::new(&network, &options, SimulatedEventRecorder::default()).finish();
            recorder.truncate_at_end(options.duration, events.len(), changes.len());
            first_difference(&recorder.events, events).or_else(|| first_window_difference(&recorder.windows, changes))
        }
    };
    Ok(CaseResult { name, events: events.len(), difference })
}

/// Runs a case and traces it as ns-2 would.
///
/// # Errors
/// The missing key, if the text is not a case, or the feature of the case that is not supported.
pub fn run_and_trace_case(text: &str) -> Result<Vec<u8>, String> {
    let json: Json = serde_json::from_str(text).map_err(|why| format!("not a JSON file: {why}"))?;
    let (network, options) = network_of_case(&json["scenario"])??;
    let spec = TraceSpec { format: TraceFormat::Ns2, links: Vec::new() };
    let (_, mut tracer) = Simulation::new(&network, &options, Tracer::new(spec)).finish();
    tracer.write_begun_transmissions(options.duration);
    Ok(tracer.bytes_mut().map(std::mem::take).unwrap_or_default())
}

type NetworkOfCase = Result<(Network, RunTimesAndSeed), String>;

fn network_of_case(scenario: &Json) -> Result<NetworkOfCase, String> {
    let real = |value: &Json, name: &str| value[name].as_f64().ok_or_else(|| format!("{name} is missing"));
    let path = &scenario["path"];
    let link = |name: LinkName, rate: &str, delay: &str, limit: u32, impairment: Option<Box<ImpairmentSpec>>| -> Result<LinkSpec, String> {
        Ok(LinkSpec {
            name,
            rate: Rate::from_bps(real(path, rate)? as u64).ok_or_else(|| format!("{rate} is 0"))?,
            delay: span_from_secs(real(path, delay)?)?,
            buffer: build_droptail_queue(limit),
            delay_spread: Span::ZERO,
            impairment,
            private_params: None,
        })
    };
    let drops = read_seq_nth_pairs(scenario, "drops_seq_nth")?;
    let marks =
        read_seq_nth_pairs(scenario, "marks_seq_nth")?.into_iter().map(|(seq, nth)| (seq, nth, CongestionLevel::Congested)).collect();
    let numbers = read_whole_numbers(scenario, "ack_drops_index")?;
    let mut settings = match settings_of_case(scenario) {
        Ok(settings) => settings,
        Err(unsupported) => return Ok(Err(unsupported)),
    };
    settings.max_rwnd = real(scenario, "window")? as u64;
    // ns-2's DropTail with limit L lets L - 1 packets wait.
    let limit = (real(path, "bottleneck_queue_pkts")? as u32).saturating_sub(1);
    let shared = LinkName::shared;
    let links = vec![
        link(shared("access", Forward), "access_rate_bps", "access_delay_s", u32::MAX, None)?,
        link(
            shared("bottleneck", Forward),
            "bottleneck_rate_bps",
            "bottleneck_delay_s",
            limit,
            ImpairmentSpec::from_script(Script::new(drops, marks, Vec::new())),
        )?,
        link(
            shared("bottleneck", Back),
            "bottleneck_rate_bps",
            "bottleneck_delay_s",
            u32::MAX,
            ImpairmentSpec::from_script(Script::new(Vec::new(), Vec::new(), numbers)),
        )?,
        link(shared("access", Back), "access_rate_bps", "access_delay_s", u32::MAX, None)?,
    ];
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0, 1],
        back: vec![2, 3],
        initial_write: Some(app_write_of_case(scenario, &settings)),
        row_policy: RowPolicy::OwnRow,
        start: Time::ZERO + span_from_secs(real(scenario, "start_s")?)?,
        clock_phase: Some(span_from_secs(real(scenario, "boot_time_s")?)?),
        transport: Transport::Tcp(Arc::new(settings)),
    };
    let duration = Time::ZERO + span_from_secs(real(scenario, "tend_s")?)?;
    let options = RunTimesAndSeed { duration, measure_from: Time::ZERO, seed: 0 };
    Ok(Ok((Network { links, flows: vec![flow], groups: vec!["all".into()], ..Network::default() }, options)))
}

/// Pairs of sequence number and transmission; none if they are left out.
fn read_seq_nth_pairs(scenario: &Json, name: &str) -> Result<Vec<(u64, u32)>, String> {
    let pair = |row: &Json| match row.as_array()?.as_slice() {
        [first, second] => Some((first.as_u64()?, u32::try_from(second.as_u64()?).ok()?)),
        _ => None,
    };
    json_list_or_empty(scenario, name)?
        .iter()
        .map(|row| pair(row).ok_or_else(|| format!("{name} must hold pairs of whole numbers, not {row}")))
        .collect()
}

fn read_whole_numbers(scenario: &Json, name: &str) -> Result<Vec<u64>, String> {
    json_list_or_empty(scenario, name)?
        .iter()
        .map(|row| row.as_u64().ok_or_else(|| format!("{name} must hold whole numbers, not {row}")))
        .collect()
}

fn json_list_or_empty<'a>(scenario: &'a Json, name: &str) -> Result<&'a [Json], String> {
    match &scenario[name] {
        Json::Null => Ok(&[]),
        Json::Array(rows) => Ok(rows),
        other => Err(format!("{name} must be a list, not {other}")),
    }
}

/// The application's data. Vegas counts its first packet, a substitute for the SYN, as data; the other variants do not.
fn app_write_of_case(scenario: &Json, settings: &TcpSettings) -> AppWrite {
    let uncounted = u64::from(settings.has_syn() && scenario["tcp"] == "Vegas");
    let packets = |packets: u64| AppWrite::full_packets(packets.saturating_sub(uncounted), settings.payload());
    scenario["packets_to_send"].as_u64().map_or(AppWrite::ENDLESS, packets)
}

/// Drop-tail as a full queue: a pipe would settle ties between an arrival and a departure without an event of their own.
fn build_droptail_queue(limit: u32) -> PipeOrQueue {
    let aqm = Registry::builtin().aqm("droptail").expect("drop-tail is registered");
    let of = QueueConfig::fifo(aqm, Values::defaults(aqm.parameters), Limit::Packets(limit));
    PipeOrQueue::Queue(Box::new(QueueSpec::new("", of)))
}

/// The settings that a case's ns-2 variables amount to, or what of them is not built.
fn settings_of_case(scenario: &Json) -> Result<TcpSettings, String> {
    let (tcp, sink) = (&scenario["tcp_params"], &scenario["sink_params"]);
    let (recovery, own) = recovery_and_fixed_variables(scenario["tcp"].as_str().unwrap_or(""))?;
    for &(name, built) in FIXED_VARIABLES.iter().chain(own) {
        require_fixed_value(built, tcp, name)?;
    }
    require_fixed_value(0.0, sink, "generateDSacks_")?;
    let mut values = profile::find_profile("ns2").expect("the profile ns2 exists").values_with_defaults();
    let vegas = recovery == "vegas";
    let mut set = |name: &str, value: &dyn Display| set_parameter(&mut values, name, value);
    set("recovery", &recovery);
    set("congestion_control", &if vegas { "vegas" } else { "reno" });
    // Vegas' agent makes its packets itself: of bare size, the first one too, and never ECN-capable.
    let (bare, header) = (number_or_zero(tcp, "packetSize_"), number_or_zero(tcp, "tcpip_base_hdr_size_"));
    set("packet_size", &if is_switched_on(tcp, "useHeaders_") && !vegas { bare + header } else { bare });
    set("syn_size", &if is_switched_on(tcp, "syn_") && !vegas { header } else { bare });
    let counts = [("initial_window", "windowInit_"), ("dupthresh", "numdupacks_"), ("max_burst", "maxburst_"), ("max_cwnd", "maxcwnd_")];
    counts.iter().for_each(|(ours, theirs)| set(ours, &number_or_zero(tcp, theirs)));
    let flags = [
        ("ecn", "ecn_"),
        ("delay_growth", "delay_growth_"),
        ("limited_transmit", "singledup_"),
        ("single_fast_retransmit", "bugFix_"),
        ("first_packet_loss_recovery", "bugfix_ss_"),
        ("inflate_in_recovery_only", "exitFastRetrans_"),
        ("cwr_on_retransmission", "SetCWRonRetransmit_"),
        ("idle_rto_resets_cwnd", "slow_start_restart_"),
        ("idle_rto_keeps_ssthresh", "restart_bugfix_"),
    ];
    flags.iter().for_each(|(ours, theirs)| set(ours, &is_switched_on(tcp, theirs)));
    if vegas {
        ["ecn", "first_packet_loss_recovery", "idle_rto_keeps_ssthresh"].iter().for_each(|name| set(name, &false));
        let thresholds = [("vegas_alpha", "v_alpha_"), ("vegas_beta", "v_beta_"), ("vegas_gamma", "v_gamma_")];
        thresholds.iter().for_each(|(ours, theirs)| set(ours, &number_or_zero(tcp, theirs)));
    }
    if recovery == "newreno" {
        set("partial_window_deflation", &is_switched_on(tcp, "partial_window_deflation_"));
        set("cwnd_on_exit", &if is_switched_on(tcp, "exit_recovery_fix_") { "flight" } else { "ssthresh" });
    }
    let choices = [
        ("partial_ack_timer", "newreno_changes1_", ["first", "every"]),
        ("handshake", "syn_", ["first-packet", "none"]),
        ("ssthresh_rounding", "precisionReduce_", ["exact", "integer"]),
        ("rto_order", "rfc2988_", ["minimum-first", "backoff-first"]),
        ("rto_timer_restart", "timerfix_", ["after-sample", "before-sample"]),
    ];
    choices.iter().for_each(|(ours, theirs, [on, off])| set(ours, if is_switched_on(tcp, theirs) { on } else { off }));
    let spans = [("tick", "tcpTick_"), ("rto_min", "minrto_"), ("rto_max", "maxrto_"), ("rto_initial", "rtxcur_init_")];
    spans.iter().for_each(|(ours, theirs)| set(ours, &format!("{} s", number_or_zero(tcp, theirs))));
    set("ack_size", &number_or_zero(sink, "packetSize_"));
    set_receiver(scenario["sink"].as_str().unwrap_or(""), sink, &mut values)?;
    Ok(TcpSettings::from_values(&values))
}

/// Variables of every sender with the one value that is built.
const FIXED_VARIABLES: &[(&str, f64)] = &[
    ("windowInitOption_", 1.0),
    ("overhead_", 0.0),
    ("aggressive_maxburst_", 1.0),
    ("LimTransmitFix_", 0.0),
    ("bugFix_ts_", 0.0),
    ("timestamps_", 0.0),
    ("old_ecn_", 0.0),
    ("noFastRetrans_", 0.0),
    ("decrease_num_", 0.5),
    ("increase_num_", 1.0),
    ("frto_enabled_", 0.0),
    ("srtt_init_", 0.0),
    ("T_SRTT_BITS", 3.0),
    ("T_RTTVAR_BITS", 2.0),
    ("rttvar_exp_", 2.0),
];

type FixedVariables = &'static [(&'static str, f64)];

/// The loss recovery that one of ns-2's senders amounts to, and its own variables with the one value that is built.
fn recovery_and_fixed_variables(name: &str) -> Result<(&'static str, FixedVariables), String> {
    match name {
        "Tahoe" | "TCP" => Ok(("tahoe", &[])),
        "Reno" => Ok(("reno", &[])),
        "Newreno" => Ok(("newreno", &[("newreno_changes_", 0.0)])),
        "Sack1" => Ok(("sack1", &[("partial_ack_", 0.0)])),
        "Vegas" => Ok(("vegas", &[("maxburst_", 0.0)])),
        _ => Err(format!("not built: sender {name}")),
    }
}

fn set_receiver(name: &str, sink: &Json, values: &mut Values) -> Result<(), String> {
    let parts: Vec<&str> = name.split('/').collect();
    let (sack, delays) = (parts.contains(&"Sack1"), parts.contains(&"DelAck"));
    if !matches!(parts[..], ["TCPSink"] | ["TCPSink", "Sack1" | "DelAck"] | ["TCPSink", "Sack1", "DelAck"]) {
        return Err(format!("not built: receiver {name}"));
    }
    let recovery = values.value_by_name("recovery").to_string();
    if sack != (recovery == "sack1") {
        return Err(format!("not built: receiver {name} with sender {recovery}"));
    }
    if sack {
        set_parameter(values, "sack_blocks", &number_or_zero(sink, "maxSackBlocks_"));
    }
    if delays {
        ["RFC2581_immediate_ack_", "SYN_immediate_ack_"].iter().try_for_each(|name| require_fixed_value(1.0, sink, name))?;
        set_parameter(values, "delayed_ack", &true);
        set_parameter(values, "delayed_ack_time", &format!("{} s", number_or_zero(sink, "interval_")));
    }
    Ok(())
}

fn require_fixed_value(built: f64, variables: &Json, name: &str) -> Result<(), String> {
    match variables[name].as_f64() {
        Some(value) if value != built => Err(format!("not built: {name} {value}")),
        _ => Ok(()),
    }
}

fn set_parameter(values: &mut Values, name: &str, value: &dyn Display) {
    values.set_from_text(name, &value.to_string()).unwrap_or_else(|why| panic!("{name} of a case: {why}"));
}

fn number_or_zero(json: &Json, name: &str) -> f64 {
    json[name].as_f64().unwrap_or(0.0)
}

fn is_switched_on(json: &Json, name: &str) -> bool {
    json[name] == "true" || json[name] == true || number_or_zero(json, name) != 0.0
}

fn span_from_secs(secs: f64) -> Result<Span, String> {
    Span::from_secs_f64(secs).ok_or_else(|| format!("{secs} s is not a time"))
}

/// Everything that happened in our run, in the words of the case files.
#[derive(Default)]
struct SimulatedEventRecorder {
    events: Vec<SimulatedPacketEvent>,
    windows: Vec<CwndOrSsthreshChange>,
    window: Option<CongestionWindow>,
}

/// A packet event of our run, with ns-2's word for its kind.
#[derive(Debug)]
struct SimulatedPacketEvent {
    time: Time,
    kind: &'static str,
    seq: i64,
    size: u32,
    sacks: SackOption,
}

#[derive(Debug)]
struct CwndOrSsthreshChange {
    time: Time,
    what: &'static str,
    value: f64,
}

impl SimulatedEventRecorder {
    fn record_segment(&mut self, time: Time, kind: &'static str, segment: &Segment) {
        self.events.push(SimulatedPacketEvent { time, kind, seq: segment.seq as i64, size: segment.size, sacks: SackOption::default() });
    }

    fn record_ack(&mut self, time: Time, kind: &'static str, ack: &Ack) {
        self.events.push(SimulatedPacketEvent { time, kind, seq: ack.next as i64 - 1, size: ack.size, sacks: ack.sacks.clone() });
    }

    /// Cuts the run at its end. Whether a case contains the events of that instant depends on ns-2's rounding, so as many are kept as the
    /// case has.
    fn truncate_at_end(&mut self, duration: Time, events: usize, changes: usize) {
        let before = self.events.partition_point(|event| event.time < duration);
        self.events.truncate(before.max(events));
        let before = self.windows.partition_point(|change| change.time < duration);
        self.windows.truncate(before.max(changes));
    }
}

impl Probe for SimulatedEventRecorder {
    fn on_segment_sent(&mut self, now: Time, _flow: u32, segment: &Segment) {
        self.record_segment(now, "snd", segment);
    }

    fn on_segment_received(&mut self, now: Time, _flow: u32, segment: &Segment) {
        let kind = if segment.ecn == Ecn::Ce { "rcv ce" } else { "rcv" };
        self.record_segment(now, kind, segment);
    }

    fn on_ack_sent(&mut self, now: Time, _flow: u32, ack: &Ack) {
        self.record_ack(now, if ack.ece { "acksnd ece" } else { "acksnd" }, ack);
    }

    fn on_ack_received(&mut self, now: Time, _flow: u32, ack: &Ack) {
        self.record_ack(now, if ack.ece { "ack ece" } else { "ack" }, ack);
    }

    fn on_data_mark_or_drop(&mut self, now: Time, touch: &SignalEvent) {
        let kind = match touch.signal {
            MarkOrDropWithCause::PathMarked => "mark",
            MarkOrDropWithCause::Lost => "drop",
            MarkOrDropWithCause::Dropped(_) => "qdrop",
            MarkOrDropWithCause::DroppedForEcn => "refused",
            MarkOrDropWithCause::Marked(_) => "queue mark",
        };
        self.record_segment(now, kind, touch.segment);
    }

    /// The script drops an acknowledgement as it leaves K, which for ns-2's files is instead of leaving.
    fn on_ack_drop(&mut self, _now: Time, _drop: &AckDrop) {
        if let Some(left) = self.events.last_mut() {
            left.kind = "ackdrop";
        }
    }

    fn on_window_update(&mut self, now: Time, _flow: u32, window: &CongestionWindow) {
        let before = self.window.replace(*window);
        let values = [("cwnd", window.cwnd, before.map(|w| w.cwnd)), ("ssthresh", window.ssthresh, before.map(|w| w.ssthresh))];
        for (what, value, _) in values.into_iter().filter(|(_, value, before)| *before != Some(*value)) {
            self.windows.push(CwndOrSsthreshChange { time: now, what, value });
        }
    }
}

fn first_difference(ours: &[SimulatedPacketEvent], theirs: &[Json]) -> Option<String> {
    for (at, (our, their)) in ours.iter().zip(theirs).enumerate() {
        let kind = kind_with_flags(their);
        let same = our.kind == kind
            && Some(our.seq) == their[2].as_i64()
            && is_within_tolerance(our.time, &their[0], TIME_TOLERANCE_S)
            && u64::from(our.size) == event_size(their)
            && our.sacks.as_slice() == read_sack_blocks(their);
        if !same {
            let ours = format!("[{:.9},\"{}\",{}] of {} bytes {:?}", our.time.seconds(), our.kind, our.seq, our.size, our.sacks);
            return Some(format!("event {at}: ns-2 has {their}, ours is {ours}"));
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

/// A case writes the size down only where it is not the usual one.
fn event_size(event: &Json) -> u64 {
    let is_ack = event[1].as_str().is_some_and(|kind| kind.starts_with("ack"));
    event[3]["size"].as_u64().unwrap_or(if is_ack { 40 } else { 1000 })
}

fn read_sack_blocks(event: &Json) -> Vec<(u64, u64)> {
    let pairs = event[3]["sack"].as_array().map_or(&[][..], Vec::as_slice);
    pairs.iter().filter_map(|pair| Some((pair[0].as_u64()?, pair[1].as_u64()?))).collect()
}

fn first_window_difference(ours: &[CwndOrSsthreshChange], theirs: &[Json]) -> Option<String> {
    for (at, (our, their)) in ours.iter().zip(theirs).enumerate() {
        let value = their[2].as_f64().unwrap_or(f64::NAN);
        let same = their[1] == our.what
            && (our.value - value).abs() <= WINDOW_TOLERANCE
            && is_within_tolerance(our.time, &their[0], WINDOW_TIME_TOLERANCE_S);
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
fn is_within_tolerance(ours: Time, theirs: &Json, tolerance_s: f64) -> bool {
    theirs.as_f64().is_some_and(|theirs| (ours.seconds() - theirs).abs() <= tolerance_s + 1e-12)
}
