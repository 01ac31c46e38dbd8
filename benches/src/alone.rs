//! A queue by itself: what a packet costs it from arrival to departure, without senders, links and events around it.
//!
//! Packets of 1000 bytes, all ECN-capable and of 60 flows, come at a load that swings between 4/5 and 6/5 of the link's rate every
//! thousand packets, so the buffer fills and empties in turn, and the AQM goes through all that it does.

use ecnlab_queue::{DequeueOutcome, Discipline, Queue, QueueConfig, QueueEvent};
use ecnlab_testkit::Packet;
use ecnlab_units::{Rate, Rng, Span, Time};

const SIZE: u32 = 1000;
const FLOWS: u64 = 60;
const LOADS: [f64; 2] = [0.8, 1.2];
const SWING: u64 = 1000;

/// What a queue did with the packets.
#[derive(Default)]
pub struct Work {
    pub arrived: u64,
    pub marked: u64,
    pub dropped: u64,
}

/// A new queue of this composition takes so many packets in and lets go what it may.
pub fn work(of: &QueueConfig, rate: Rate, packets: u64) -> Work {
    let mut queue: Queue<Packet> = of.build(rate);
    let mut rng = Rng::for_role(1, "load");
    let mut own_rng = Rng::for_role(1, "queue bottleneck");
    let slot = rate.transmission_time(SIZE);
    let (mut work, mut now, mut due) = (Work::default(), Time::ZERO, 0.0);
    while work.arrived < packets {
        now += slot;
        due += 2.0 * rng.uniform() * LOADS[(work.arrived / SWING) as usize % LOADS.len()];
        wake(&mut queue, now, &mut own_rng);
        while due >= 1.0 {
            due -= 1.0;
            work.arrived += 1;
            let packet = Packet { flow: rng.below(FLOWS), rtt: Span::from_millis(50), ..Packet::PLAIN };
            queue.enqueue(packet, now, &mut own_rng, &mut |deed| count(&mut work, &deed));
        }
        if let DequeueOutcome::Packet { packet, .. } = queue.dequeue(now, &mut own_rng, &mut |deed| count(&mut work, &deed)) {
            std::hint::black_box(packet);
        }
    }
    work
}

/// What is due by now happens at its own time.
fn wake(queue: &mut Queue<Packet>, now: Time, rng: &mut Rng) {
    while let Some(at) = queue.next_timer().filter(|&at| at <= now) {
        queue.on_timer(at, rng);
    }
}

fn count(work: &mut Work, deed: &QueueEvent<Packet>) {
    match deed {
        QueueEvent::Stored(_) => {}
        QueueEvent::Marked(..) => work.marked += 1,
        QueueEvent::Dropped(..) => work.dropped += 1,
    }
}
