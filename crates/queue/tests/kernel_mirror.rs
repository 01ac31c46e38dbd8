//! The proxy of a kernel's queue: what it counts as packets enter and leave.

use ecnlab_queue::{DequeueOutcome, Discipline, KernelQueueMirror, SignalCause};
use ecnlab_testkit::Packet;
use ecnlab_units::{Ecn, Rng, Span, Time};

#[test]
fn packets_leave_as_the_kernel_reports_and_every_one_is_counted() {
    let mut queue = KernelQueueMirror::default();
    let mut rng = Rng::for_role(1, "outside");
    for flow in 0..4 {
        queue.enqueue(Packet { flow, ecn: Ecn::Ect0, ..Packet::ECT0_1000_BYTES }, Time::ZERO, &mut rng, &mut |_| {});
    }
    assert_eq!((4, 0), (queue.arrivals_since_last_call().count(), queue.arrivals_since_last_call().count()));
    let later = Time::ZERO + Span::from_millis(3);
    let (packet, sojourn) = queue.on_kernel_dequeue(|packet| packet.flow == 2, |_| true, later).unwrap();
    assert_eq!((2, Span::from_millis(3)), (packet.flow, sojourn));
    assert!(queue.on_kernel_dequeue(|packet| packet.flow == 2, |_| true, later).is_none(), "it is gone");
    assert!(queue.on_kernel_drop(|packet| packet.flow == 0, SignalCause::Overflow).is_some());
    queue.assert_conservation();
    let counted = queue.total_counters();
    assert_eq!((2, 1, 1, 1), (queue.len(), counted.departed.packets, counted.dropped_packets(), counted.marked_packets()));
    assert_eq!(1, counted.dropped[SignalCause::Overflow].packets);
    assert!(matches!(queue.dequeue(later, &mut rng, &mut |_| {}), DequeueOutcome::Empty));
}
