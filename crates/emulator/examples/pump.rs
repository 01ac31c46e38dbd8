//! Pumps datagrams through one link between two namespaces, and says how exact the link was. The figures of docs/how-to/live.md are its.
//!
//!     cargo run --release -p ecnlab-emulator --example pump -- rate 10Mbps 5       saturates the link for 5 s: its rate at the receiver
//!     cargo run --release -p ecnlab-emulator --example pump -- delay 10Mbps 5      a packet every 5 ms: its delay beside the link's
//!     cargo run --release -p ecnlab-emulator --example pump -- packets 100 5       packets of 100 bytes as fast as one core takes them
//!
//! It needs the right to make namespaces: root, or `unshare -Urn` in front.

use std::error::Error;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use ecnlab_emulator::address::{AddressFamily, AddressSlot, Side};
use ecnlab_emulator::event_loop::{EventLoop, NoHosts, TimeMode};
use ecnlab_emulator::host::{Host, HostSpec};
use ecnlab_emulator::sys::clock::{monotonic_time, thread_cpu_time};
use ecnlab_emulator::sys::process;
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::{NoProbe, RunTimesAndSeed, Simulation};
use ecnlab_units::{Span, Time};

const FLOW: AddressSlot = AddressSlot { group: 0, number: 0 };
const SIZE: usize = 1500;
const HEADERS: usize = 28;
const DELAY_MS: u64 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, amount, seconds] = &arguments[..] else { return Err("say what, how much and for how long; see the head of pump.rs".into()) };
    let seconds: u64 = seconds.parse()?;
    let (rate, size) = if what == "packets" { ("40 Gbps".to_owned(), amount.parse()?) } else { (amount.replace("Mbps", " Mbps"), SIZE) };
    let scenario = scenario(&rate, seconds)?;
    let [near, far] = [Side::Near, Side::Far].map(host);
    let (near, far) = (near?, far?);
    let [from, to] = [Side::Near, Side::Far].map(|side| AddressFamily::V4.address(FLOW, side));
    let sender = near.namespace.run_inside(|| UdpSocket::bind((from, 1000)))?;
    let receiver = far.namespace.run_inside(|| UdpSocket::bind((to, 2000)))?;
    sender.connect((to, 2000))?;
    receiver.set_read_timeout(Some(Duration::from_millis(300)))?;
    let stop = Arc::new(AtomicBool::new(false));
    let bps = bits_per_second(&rate);
    let sending = {
        let (stop, gap) = (Arc::clone(&stop), gap(what, bps));
        thread::spawn(move || send(&sender, size - HEADERS, gap, &stop))
    };
    let receiving = {
        let (stop, counts, receiver) = (Arc::clone(&stop), what != "packets", receiver.try_clone()?);
        thread::spawn(move || if counts { receive(&receiver, &stop) } else { Vec::new() })
    };

    let options = RunTimesAndSeed { duration: Time::ZERO + Span::from_secs(seconds), measure_from: Time::ZERO, seed: 1 };
    let simulation = Simulation::new(&(*scenario.network).clone().with_external_hosts(), &options, NoProbe);
    process::set_timer_slack(1)?;
    let class = process::set_realtime_scheduling(process::REALTIME_PRIORITY)
        .map_or_else(|why| format!("not in the real-time class ({why})"), |()| "SCHED_FIFO".to_owned());
    let mut router = EventLoop::new(simulation, vec![near, far], NoHosts, SIZE as u32, TimeMode::Real)?;
    let cpu = thread_cpu_time();
    router.run(options.duration, Span::from_secs(1), &mut |_, _| true)?;
    let cpu = (thread_cpu_time() - cpu) as f64 / 1e9;
    stop.store(true, Ordering::Relaxed);
    let driven = router.finish()?;
    sending.join().expect("the sender ends");
    let arrivals = receiving.join().expect("the receiver ends");

    let (counts, lateness) = (driven.counters, driven.lateness);
    let us = |share| lateness.quantile_s(share) * 1e6;
    println!("{what} {amount}, {class}: {counts:?}");
    println!(
        "lateness us: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}; router CPU {:.1} %, {:.2} us a packet",
        us(0.5),
        us(0.99),
        us(0.999),
        lateness.max_s() * 1e6,
        cpu / seconds as f64 * 100.0,
        cpu * 1e6 / counts.delivered.max(1) as f64
    );
    match what.as_str() {
        "rate" => {
            // Without what came before the link was busy.
            let steady = &arrivals[20..];
            let (first, last) = (steady[0], steady[steady.len() - 1]);
            let measured = (steady.len() - 1) as f64 * SIZE as f64 * 8.0 / ((last.0 - first.0) as f64 / 1e9);
            println!("rate at the receiver: {measured:.0} bit/s, {:+.4} % of {bps:.0}", (measured / bps - 1.0) * 100.0);
        }
        "delay" => {
            let ideal = DELAY_MS as f64 * 1e6 + SIZE as f64 * 8e9 / bps;
            let mut errors: Vec<f64> = arrivals.iter().map(|(at, sent)| ((at - sent) as f64 - ideal) / 1e3).collect();
            errors.sort_by(f64::total_cmp);
            let quantile = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
            println!(
                "delay of {} packets, from the sender's call to the receiver's, beyond the link's, us: p50 {:.1}, p99 {:.1}, p99.9 {:.1}, max {:.1}",
                errors.len(),
                quantile(0.5),
                quantile(0.99),
                quantile(0.999),
                quantile(1.0)
            );
        }
        _ => println!(
            "{:.0} packets/s carried; {:.0} packets/s of the router's own processor time",
            counts.delivered as f64 / seconds as f64,
            counts.delivered as f64 / cpu
        ),
    }
    Ok(())
}

fn scenario(rate: &str, seconds: u64) -> Result<Scenario, Box<dyn Error>> {
    let text = format!(
        r#"
        name = "pump"
        duration = "{seconds} s"
        measure_from = "0 s"
        [[link]]
        name = "pipe"
        from = "here"
        to = "there"
        rate = "{rate}"
        delay = "{DELAY_MS} ms"
        queue = {{ aqm = "droptail", limit = 1000 }}
        [[flows]]
        name = "pumped"
        from = "here"
        to = "there"
        tcp = {{ profile = "linux" }}
        "#
    );
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).map_err(|problems| format!("{problems:?}").into())
}

fn host(side: Side) -> std::io::Result<Host> {
    Host::create(&HostSpec { family: AddressFamily::V4, group: 0, side, mtu: SIZE as u32, ..HostSpec::default() })
}

fn bits_per_second(rate: &str) -> f64 {
    let (number, unit) = rate.split_once(' ').unwrap_or((rate, ""));
    number.parse().unwrap_or(0.0) * if unit == "Gbps" { 1e9 } else { 1e6 }
}

/// Nanoseconds from a packet to the next.
fn gap(what: &str, bps: f64) -> u64 {
    match what {
        "rate" => (SIZE as f64 * 8e9 / bps / 1.1) as u64,
        "delay" => 5_000_000,
        _ => 0,
    }
}

/// Before other programs, but behind the router, if that is permitted.
fn hurry() {
    drop(process::set_realtime_scheduling(process::REALTIME_PRIORITY / 2));
}

/// Sends a packet every `gap`, each with the time at which it was sent.
fn send(socket: &UdpSocket, length: usize, gap: u64, stop: &AtomicBool) {
    hurry();
    let mut packet = vec![0; length];
    let mut next = monotonic_time();
    while !stop.load(Ordering::Relaxed) {
        let now = monotonic_time();
        if gap > 0 && now < next {
            thread::sleep(Duration::from_nanos(next - now));
            continue;
        }
        next += gap;
        packet[..8].copy_from_slice(&monotonic_time().to_le_bytes());
        // What a device refuses is told in its counts.
        drop(socket.send(&packet));
    }
}

/// When each packet was received and when it was sent.
fn receive(socket: &UdpSocket, stop: &AtomicBool) -> Vec<(u64, u64)> {
    hurry();
    let (mut arrivals, mut buffer) = (Vec::new(), [0; SIZE]);
    while !stop.load(Ordering::Relaxed) {
        if let Ok(8..) = socket.recv(&mut buffer) {
            let sent = u64::from_le_bytes(buffer[..8].try_into().expect("eight bytes"));
            arrivals.push((monotonic_time(), sent));
        }
    }
    arrivals
}
