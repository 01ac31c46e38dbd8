//! The QUIC stack behind queues: marks instead of losses, a short queue, and a run that repeats.

use ecnlab_queue::aqm::SignalCause;
use ecnlab_queue::{Child, Limit, QueueConfig, Registry};
use ecnlab_quic_example::{Path, link};
use ecnlab_units::{Span, Time};

fn fifo(aqm: &str, packets: u32) -> QueueConfig {
    let registry = Registry::builtin();
    let aqm = registry.aqm_config(aqm, &[]).unwrap();
    registry.queue_config("fifo", &[], Child::Aqm { aqm, limit: Limit::Packets(packets) }).unwrap()
}

fn dualpi2() -> QueueConfig {
    Registry::builtin().queue_config("dualpi2", &[], Child::Buffer { limit: Limit::Packets(1000) }).unwrap()
}

/// Downloads 8 MB over a link of 20 Mbit/s with a round-trip time of 40 ms.
fn download(queue: &QueueConfig) -> (Path, Time) {
    let mut path = Path::new(link(&fifo("droptail", 1000), 20, 20), link(queue, 20, 20));
    let end = path.download(8_000_000);
    assert_eq!(8_000_000, path.client.received_bytes);
    (path, end)
}

#[test]
fn a_full_buffer_without_aqm_drops() {
    let (path, _) = download(&fifo("droptail", 100));
    let counters = path.downlink.counters();
    assert_eq!((0, counters.dropped_packets()), (counters.marked_packets(), path.server.stats().path.lost_packets));
    assert!(counters.dropped[SignalCause::Overflow].packets > 0);
}

#[test]
fn codel_marks_and_the_sender_responds_without_a_loss() {
    let (path, end) = download(&fifo("codel", 1000));
    let (counters, stats) = (path.downlink.counters(), path.server.stats().path);
    assert!(counters.marked_packets() > 0 && stats.congestion_events > 0);
    assert_eq!((0, 0), (counters.dropped_packets(), stats.lost_packets));
    // At the full rate 8 MB take 3.2 s.
    assert!(end < Time::ZERO + Span::from_millis(4500), "{} s", end.seconds());
}

#[test]
fn dualpi2_marks_and_drops_in_overload_alone() {
    let (path, _) = download(&dualpi2());
    let (counters, stats) = (path.downlink.counters(), path.server.stats().path);
    // Slow start exceeds the rate so far that the probability of a mark reaches its maximum: RFC 9332 then lets the queue drop.
    assert_eq!((counters.dropped[SignalCause::Forced].packets, counters.dropped_packets()), (stats.lost_packets, stats.lost_packets));
    assert!(counters.marked_packets() > 5 * counters.dropped_packets());
}

#[test]
fn a_run_repeats() {
    let queue = fifo("codel", 1000);
    let ((first, first_end), (second, second_end)) = (download(&queue), download(&queue));
    assert_eq!((first_end, first.downlink.counters()), (second_end, second.downlink.counters()));
}
