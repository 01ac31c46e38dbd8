//! The receiver alone: the segments that reached the real receiver reach ours, and ours is to send what the real one sent.

use ecnlab_transport::{Ack, HostClock, Receiver, Role, Segment, Settings};
use ecnlab_units::Time;

use super::case::{A, B, Case, Packet};
use super::script::Segments;
use super::settings::{boot, size};
use super::written;

/// Plays a case to a receiver with these settings, and returns what it sends.
///
/// # Errors
/// What our receiver cannot be told.
pub fn play(case: &Case, settings: &Settings) -> Result<Vec<Packet>, String> {
    let segments = Segments::of(case.sent_by(A));
    if !segments.fit() {
        return Err("not comparable: data that was sent again was cut otherwise".to_owned());
    }
    let receiver = Receiver::new(settings, HostClock::new(settings, boot(case)));
    let mut stage = Stage { receiver, segments, sent: Vec::new() };
    for packet in case.reached(B) {
        let Some(arrives) = packet.arrives else { continue };
        stage.run_timers(arrives);
        stage.arrive(case, packet, arrives);
    }
    stage.run_timers(case.end);
    Ok(stage.sent)
}

struct Stage {
    receiver: Receiver,
    segments: Segments,
    sent: Vec<Packet>,
}

impl Stage {
    fn run_timers(&mut self, until: Time) {
        while let Some(at) = self.receiver.deadline().filter(|&at| at < until) {
            if let Some(ack) = self.receiver.expire(at) {
                self.note(at, &ack);
            }
        }
    }

    fn arrive(&mut self, case: &Case, packet: &Packet, now: Time) {
        let arrival = self.receiver.receive(&self.segment(case, packet), packet.sent, now);
        for ack in arrival.held.as_deref().into_iter().chain(&arrival.ack) {
            self.note(now, ack);
        }
    }

    fn note(&mut self, time: Time, ack: &Ack) {
        self.sent.push(written::of_ack(time, ack, &self.segments));
    }

    /// A real packet in our numbers.
    fn segment(&self, case: &Case, packet: &Packet) -> Segment {
        Segment {
            seq: self.segments.with(packet.seq),
            size: size(&case.tcp, packet),
            role: if packet.nth.is_none() { Role::Pure } else { written::role(packet) },
            ecn: written::ecn(packet.ecn[1]),
            cwr: packet.has('C'),
            ece: packet.has('E'),
            retransmission: packet.nth.is_some_and(|nth| nth > 0),
            push: packet.has('P'),
        }
    }
}
