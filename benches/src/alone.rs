//! Cost of a packet in a queue from arrival to departure, without senders, links and events.
//!
//! Packets of 1000 bytes, all ECN-capable and of 60 flows, come at a load that swings between 4/5 and 6/5 of the link's rate every thousand
//! packets, so the buffer alternately fills and empties, and the AQM passes all its states.

use ecnlab_queue::{DequeueOutcome, Discipline, Queue, QueueConfig, QueueEvent};
use ecnlab_testkit::Packet;
use ecnlab_units::{Rate, Rng, Span, Time};

const PACKET_BYTES: u32 = 1000;
const FLOW_COUNT: u64 = 60;
const OFFERED_LOADS: [f64; 2] = [0.8, 1.2];
const LOAD_PERIOD_PACKETS: u64 = 1000;

/// Counts of a queue's decisions.
#[derive(Default)]
pub struct QueueRun {
    pub arrived: u64,
    pub marked: u64,
    pub dropped: u64,
}

/// A new queue of this composition takes so many packets in and lets go what it may.
pub fn run_queue(of: &QueueConfig, rate: Rate, packets: u64) -> QueueRun {
    let mut queue: Queue<Packet> = of.build(rate);
    let mut rng = Rng::for_role(1, "load");
    let mut own_rng = Rng::for_role(1, "queue bottleneck");
    let slot = rate.transmission_time(PACKET_BYTES);
    let (mut queue_run, mut now, mut due) = (QueueRun::default(), Time::ZERO, 0.0);
    while queue_run.arrived < packets {
        now += slot;
        due += 2.0 * rng.uniform() * OFFERED_LOADS[(queue_run.arrived / LOAD_PERIOD_PACKETS) as usize % OFFERED_LOADS.len()];
        run_timer(&mut queue, now, &mut own_rng);
        while due >= 1.0 {
            due -= 1.0;
            queue_run.arrived += 1;
            let packet = Packet { flow: rng.below(FLOW_COUNT), rtt: Span::from_millis(50), ..Packet::ECT0_1000_BYTES };
            queue.enqueue(packet, now, &mut own_rng, &mut |event| count_event(&mut queue_run, &event));
        }
        if let DequeueOutcome::Packet { packet, .. } = queue.dequeue(now, &mut own_rng, &mut |event| count_event(&mut queue_run, &event)) {
            std::hint::black_box(packet);
        }
    }
    queue_run
}

/// Fires timers that are due by now, each at its own time.
fn run_timer(queue: &mut Queue<Packet>, now: Time, rng: &mut Rng) {
    while let Some(at) = queue.next_timer().filter(|&at| at <= now) {
        queue.on_timer(at, rng);
    }
}

fn count_event(queue_run: &mut QueueRun, event: &QueueEvent<Packet>) {
    match event {
        QueueEvent::Stored(_) => {}
        QueueEvent::Marked(..) => queue_run.marked += 1,
        QueueEvent::Dropped(..) => queue_run.dropped += 1,
    }
}
