//! Congestion control in whole segments compared with a real host: flows of Linux 6.1, ACK by ACK.
//!
//! `traces/windows/` has excerpts of recorded flows, with a row for each ACK and RTO. A row has the arrival time, the number of segments
//! newly delivered, snd_nxt, snd_max, the RTT sample, the ECN echo, and the host's cwnd and ssthresh afterwards. `event` is the action of
//! the host's recovery. Results of recovery, such as cwnd during recovery, are taken from the row; all other values must be reproduced.

use ecnlab_transport::congestion::{AckSample, CongestionControl, CongestionController, ReductionCause};
use ecnlab_transport::ecn_response::EcnResponse;
use ecnlab_transport::settings::{CongestionControlName, EcnResponseName, HystartName};
use ecnlab_transport::{CongestionWindow, HostClock, Quirks, TcpSettings, profile};
use ecnlab_units::{CongestionLevel, Span, Time};

/// A row of a trace.
struct Row {
    now: Time,
    event: Event,
    segments: u64,
    next: u64,
    high: u64,
    rtt: Option<Span>,
    echo: bool,
    window: CongestionWindow,
}

#[derive(Clone, Copy, PartialEq)]
enum Event {
    /// Cwnd may grow.
    Grow,
    /// Cwnd is not in use.
    Idle,
    /// Cwnd is reduced for a loss or an echo; then recovery sets it.
    Cut,
    /// Recovery sets cwnd.
    Recovery,
    /// Recovery ends, and cwnd may grow.
    End,
    Timeout,
}

fn read_row(line: &str) -> Row {
    let fields: Vec<&str> = line.split(',').collect();
    let [time, event, segments, next, high, rtt, echo, cwnd, ssthresh] = fields[..] else { panic!("nine fields: {line}") };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|why| panic!("{text}: {why}"));
    let ssthresh = if ssthresh.is_empty() { f64::from(i32::MAX) } else { number(ssthresh) as f64 };
    Row {
        now: Time::ZERO + Span::from_micros(number(time)),
        event: match event {
            "ack" => Event::Grow,
            "idle" => Event::Idle,
            "cut" => Event::Cut,
            "hold" => Event::Recovery,
            "end" => Event::End,
            "timeout" => Event::Timeout,
            other => panic!("no event {other}"),
        },
        segments: number(segments),
        next: number(next),
        high: number(high),
        rtt: (!rtt.is_empty()).then(|| Span::from_micros(number(rtt))),
        echo: echo == "1",
        window: CongestionWindow { cwnd: number(cwnd) as f64, ssthresh },
    }
}

/// The congestion control under test.
struct Host {
    control: CongestionController,
    response: EcnResponse,
    window: CongestionWindow,
}

impl Host {
    /// Host with ticks of 4 ms; the last one before time zero was 1 ms ago and has number 493.
    fn new(settings: &TcpSettings) -> Host {
        let clock = HostClock::new(settings, Span::from_millis(493 * 4 + 1));
        Host {
            control: CongestionController::new(settings, clock),
            response: EcnResponse::new(settings),
            window: CongestionWindow { cwnd: 10.0, ssthresh: f64::from(i32::MAX) },
        }
    }

    fn process_row(&mut self, row: &Row) {
        let &Row { now, segments, next, high, .. } = row;
        let rtt = row.rtt.unwrap_or_default();
        let acked = AckSample { segments, now, rtt: row.rtt, srtt: rtt, min_rtt: rtt, snd_una: next, snd_max: high, marked: 0 };
        if row.event != Event::Timeout {
            self.response.count_acked_and_echoed(next, segments, row.echo, high);
        }
        if row.rtt.is_some() {
            let micros = rtt.picos() / Span::from_micros(1).picos();
            if self.control.on_rtt_sample(&self.window, micros, acked.now) {
                self.control.check_slow_start_exit(&mut self.window, micros, &acked);
            }
        }
        match row.event {
            Event::Grow => self.control.on_ack(&mut self.window, &acked),
            Event::Idle => {}
            Event::Cut => self.cut(row, if row.echo { ReductionCause::Mark } else { ReductionCause::Loss }),
            Event::Recovery => self.window.cwnd = row.window.cwnd,
            Event::End => {
                self.window.cwnd = self.window.ssthresh;
                self.control.on_ack(&mut self.window, &acked);
            }
            Event::Timeout => {
                self.cut(row, ReductionCause::Timeout);
                self.control.on_rto(high, now);
            }
        }
    }

    fn cut(&mut self, row: &Row, cause: ReductionCause) {
        let cwnd = self.window.cwnd;
        let by_loss = self.control.ssthresh_after_loss(cwnd);
        let by_mark = || self.response.ssthresh_after_mark(CongestionLevel::Congested, cwnd, by_loss).expect("a response");
        let left = if cause == ReductionCause::Mark { by_mark() } else { by_loss };
        self.control.on_reduction(&self.window, cause, row.now);
        self.window = CongestionWindow { cwnd: row.window.cwnd, ssthresh: left };
    }
}

fn replay(name: &str, trace: &str, settings: &TcpSettings) {
    let mut host = Host::new(settings);
    for (line, text) in trace.lines().enumerate().skip(1) {
        let row = read_row(text);
        host.process_row(&row);
        assert_eq!(row.window, host.window, "{name}, line {}: {text}", line + 1);
    }
}

fn linux_settings(congestion: CongestionControlName) -> TcpSettings {
    let (packet_size, header) = (1500, 52);
    let tick = Span::from_millis(4);
    TcpSettings {
        congestion_control: congestion,
        hystart: HystartName::Off,
        packet_size,
        quirks: Quirks { integer_cwnd: true, tick, header_size: header, ..profile::quirks("linux") },
        ..profile::tcp_settings_of("linux")
    }
}

macro_rules! replay {
    ($name:literal, $settings:expr) => {
        replay($name, include_str!(concat!("traces/windows/", $name, ".csv")), &$settings)
    };
}

#[test]
fn reno_grows_and_is_cut_as_a_host_s() {
    replay!("reno-3drops", linux_settings(CongestionControlName::Reno));
    replay!("reno-delayed-3drops", linux_settings(CongestionControlName::Reno));
}

#[test]
fn cubic_grows_and_is_cut_as_a_host_s() {
    replay!("cubic-1drop", linux_settings(CongestionControlName::Cubic));
    replay!("cubic-two-losses", linux_settings(CongestionControlName::Cubic));
    replay!("cubic-ecn-mark-then-drop", linux_settings(CongestionControlName::Cubic));
    replay!("cubic-window-lost-once", linux_settings(CongestionControlName::Cubic));
}

#[test]
fn hystart_ends_slow_start_with_the_segment_with_which_a_host_s_does() {
    let hystart = || TcpSettings { hystart: HystartName::Hystart, ..linux_settings(CongestionControlName::Cubic) };
    replay!("cubic-hystart-10m-40ms", hystart());
    replay!("cubic-hystart-100m-20ms", hystart());
}

#[test]
fn dctcp_cuts_as_a_host_s() {
    let response = EcnResponseName::Dctcp;
    replay!("dctcp-runs", TcpSettings { ecn_response: response, ecn: true, ..linux_settings(CongestionControlName::Reno) });
}
