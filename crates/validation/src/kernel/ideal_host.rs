//! The times at which each packet of a real run would have been sent if no packet before it had reached its host late.
//!
//! The real hosts get packets a little later than the model of their path has it: by 0.7 to 8 us, and many at once by more. The
//! host's replies are late by as much, and the delay adds up over round trips. This module finds each packet's cause in the run and
//! recomputes the path's times without the delay.

use ecnlab_sim::ScriptAction;
use ecnlab_units::{Rate, Span, Time};

use super::case::{AppCallTrigger, Case, Packet, Path, Side};

/// The longest time from a packet's arrival to the host's reply.
const MAX_REACTION_TIME: Span = Span::from_picos(300_000);
/// A timer's tick, or an application's write, and what it sends.
const TIMER_LATENCY: Span = Span::from_micros(2);
/// No delivery is later by itself: who comes later was delayed by the script.
const MAX_DELIVERY_LATENESS: Span = Span::from_micros(500);

/// The times at which the packets of a case would have been sent, by their place in it. `paced`: whether side a paces its segments.
pub fn ideal_send_times(case: &Case, path: &Path, paced: bool) -> Vec<Time> {
    let mut model = IdealHostModel { case, path, paced, free: [Time::ZERO; 2], arrivals: [Vec::new(), Vec::new()], last_segment: None };
    case.packets.iter().map(|packet| model.process_packet(packet)).collect()
}

struct IdealHostModel<'a> {
    case: &'a Case,
    path: &'a Path,
    paced: bool,
    /// Time from which the transmitter is free, in the real run and in the ideal one.
    free: [Time; 2],
    /// At either host: when a packet came, and when it would have come.
    arrivals: [Vec<(Time, Time)>; 2],
    /// The last segment with data of a paced sender, and when it would have been sent.
    last_segment: Option<(&'a Packet, Time)>,
}

impl<'a> IdealHostModel<'a> {
    fn process_packet(&mut self, packet: &'a Packet) -> Time {
        let sent = self.ideal_send_time(packet);
        if self.is_paced(packet) {
            self.last_segment = Some((packet, sent));
        }
        if let Some(arrives) = packet.arrives {
            let ideal = self.ideal_arrival_time(packet, sent);
            self.arrivals[packet.side.other().index()].push((arrives, ideal));
        }
        sent
    }

    /// Time at which a packet would have been sent.
    fn ideal_send_time(&self, packet: &Packet) -> Time {
        let came = self.arrivals[packet.side.index()].iter().filter(|(real, _)| *real <= packet.sent + MAX_REACTION_TIME);
        let last = came.max_by_key(|(real, _)| *real);
        match (last, self.lateness_of_pacing(packet)) {
            (Some((real, ideal)), _) if packet.sent.since(*real) <= MAX_REACTION_TIME => *ideal,
            (_, Some(late)) => packet.sent.saturating_sub(late),
            (Some((real, ideal)), _) if !self.is_at_tick_or_app_call(packet.sent) => packet.sent.saturating_sub(real.since(*ideal)),
            _ => packet.sent,
        }
    }

    fn is_paced(&self, packet: &Packet) -> bool {
        self.paced && packet.side == Side::A && packet.len > 0
    }

    /// How late a segment is that the pacing timer sends: as late as the segment before it, from which that timer counts. It may leave at
    /// the time of a tick by chance. Timers that tick send segments long after pacing allows them.
    fn lateness_of_pacing(&self, packet: &Packet) -> Option<Span> {
        let (before, ideal) = self.last_segment.filter(|_| self.is_paced(packet))?;
        let state = self.case.states.iter().rev().find(|state| state.time <= before.sent)?;
        let rate = Rate::from_bps(state.pacing_rate?.saturating_mul(8))?;
        let allowed = before.sent + rate.transmission_time(before.len as u32);
        (packet.sent <= allowed + TIMER_LATENCY).then(|| before.sent.since(ideal))
    }

    /// Whether the time is that of a timer tick or of an application's call, which earlier delays do not move.
    fn is_at_tick_or_app_call(&self, time: Time) -> bool {
        let tick = Span::from_secs(1).picos() / self.case.clock.hz;
        let ticks = (time.picos() + self.case.clock.tick_phase.picos()) % tick <= TIMER_LATENCY.picos();
        let acts = |when| matches!(when, AppCallTrigger::At(at) if time >= at && time.since(at) <= TIMER_LATENCY);
        ticks || self.case.application.iter().any(|call| acts(call.trigger))
    }

    /// Time at which a packet that was not lost would have come.
    fn ideal_arrival_time(&mut self, packet: &Packet, sent: Time) -> Time {
        let [real, ideal] = self.recorded_and_ideal_departure_times(packet, sent);
        let delay = self.path.delay(packet.side);
        let later = packet.arrives.map_or(Span::ZERO, |arrives| arrives.since(real + delay));
        ideal + delay + self.scripted_delay(packet.side, later)
    }

    /// Times at which it would have left the router, with what was late in the record and without it.
    fn recorded_and_ideal_departure_times(&mut self, packet: &Packet, sent: Time) -> [Time; 2] {
        match Rate::from_bps(self.path.rate_bps).filter(|_| packet.side == Side::A) {
            None => [packet.sent, sent],
            Some(rate) => {
                let transmission = rate.transmission_time(super::settings::wire_size_of_packet(&self.case.tcp, packet));
                self.free = [self.free[0].max(packet.sent) + transmission, self.free[1].max(sent) + transmission];
                self.free
            }
        }
    }

    /// How much of what a packet came later is the script's.
    fn scripted_delay(&self, side: Side, later: Span) -> Span {
        let delays = self.case.script.iter().filter(|line| line.side == side).filter_map(|line| match line.action {
            ScriptAction::Delay(delay) => Some(delay),
            _ => None,
        });
        // Packets that come a little faster than they are sent on add up to a queue in the model that the recorded router did not see.
        let near = |delay: &Span| later.max(*delay) - later.min(*delay) < MAX_DELIVERY_LATENESS;
        delays.filter(near).max().unwrap_or(Span::ZERO)
    }
}
