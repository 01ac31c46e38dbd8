//! Recovery by a scoreboard (RFC 6675), with three ways to tell a loss.
//!
//! - sack: three segments above it are sacked (RFC 6675, IsLost)
//! - fack: the highest sacked segment is three above it, or more (Mathis and Mahdavi 1996)
//! - rack: a segment that was sent later has arrived (RFC 8985), with a probe for losses at the tail
//!
//! A loss cuts the window once; then lost segments go first and new ones next, as long as the pipe is below the window, or as proportional
//! rate reduction lets them (RFC 6937). The retransmission timer makes everything lost and starts slowly.

use ecnlab_units::{Span, Time};

use super::Recovery;
use super::board::Board;
use super::prr::Prr;
use super::rack::Rack;
use super::tlp::{Outcome, Probe, dsack};
use crate::response::MIN_SSTHRESH;
use crate::segment::Ack;
use crate::sender::{Core, LastCut, Output, earlier};
use crate::settings::{RecoveryName, Settings};

pub struct Sack {
    board: Board,
    detection: Detection,
    threshold: u64,
    phase: Phase,
    /// One past the highest segment sent when recovery began or the timer expired; a mark meanwhile moves `Core::recover` on.
    ends: u64,
    /// Proportional rate reduction, while it runs.
    prr: Option<Prr>,
    /// The last segment of this recovery was sent once more to draw an acknowledgement (RFC 6675, NextSeg rule 4).
    rescued: bool,
}

enum Detection {
    Sack,
    Fack,
    Rack { rack: Rack, probe: Option<Probe> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Losses of one window are repaired; it ends when all that was sent before it is acknowledged.
    Recovery,
    /// After a timeout.
    Loss,
}

impl Sack {
    pub fn new(settings: &Settings) -> Sack {
        let detection = match settings.recovery {
            RecoveryName::Fack => Detection::Fack,
            RecoveryName::Rack => {
                Detection::Rack { rack: Rack::new(settings.duplicate_threshold), probe: settings.tlp.then(Probe::default) }
            }
            _ => Detection::Sack,
        };
        Sack {
            board: Board::default(),
            detection,
            threshold: u64::from(settings.duplicate_threshold),
            phase: Phase::Open,
            ends: 0,
            prr: None,
            rescued: false,
        }
    }

    /// Takes what an acknowledgement says of segments into the scoreboard; returns how many of them it delivers.
    fn score(&mut self, core: &Core, ack: &Ack, now: Time) -> u64 {
        let Sack { board, detection, .. } = self;
        let min_rtt = core.rtt.min();
        let mut rack = if let Detection::Rack { rack, .. } = detection { Some(rack) } else { None };
        let mut delivered = |seq: u64, slot: &super::board::Slot| {
            if let Some(rack) = &mut rack {
                rack.delivered(seq, slot, now, min_rtt);
            }
        };
        let mut count = board.advance(ack.next, &mut delivered);
        if !ack.sacks.is_empty() {
            count += board.sack(&ack.sacks, &mut delivered);
        }
        count
    }

    fn detect(&mut self, core: &Core, now: Time) {
        let recovering = self.phase != Phase::Open;
        let below = match &mut self.detection {
            Detection::Sack => self.board.below_sacked(self.threshold),
            Detection::Fack => {
                // Either rule: three above it are sacked, or the highest sacked is three above it.
                let far = self.board.fack().checked_sub(self.threshold).filter(|_| self.board.sacked() > 0);
                self.board.below_sacked(self.threshold).max(far)
            }
            Detection::Rack { rack, .. } => {
                rack.detect(&mut self.board, recovering, core.rtt.min(), core.rtt.smoothed(), now);
                None
            }
        };
        if let Some(below) = below {
            self.board.lose_below(below);
        }
    }

    /// Moves between the phases after an acknowledgement of `newly` segments that delivered `delivered`.
    fn step(&mut self, core: &mut Core, ack: &Ack, newly: u64, delivered: u64, now: Time, out: &mut impl Output) {
        if self.phase != Phase::Open && core.una >= self.ends {
            self.leave(core, out);
        }
        if self.phase == Phase::Open && self.board.has_losses() {
            self.enter(core, now, out);
        }
        match self.phase {
            Phase::Recovery => {
                core.note_echo(ack);
                self.reduce(core, delivered, out);
            }
            // What had been sacked before has grown the window already, or has been a loss of it.
            Phase::Open | Phase::Loss if newly > 0 => core.grow(ack, delivered.min(newly), now, out),
            Phase::Open | Phase::Loss => core.note_echo(ack),
        }
    }

    fn enter(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        let flight = core.outstanding();
        let already_cut = core.una < core.recover && core.last_cut == LastCut::Mark;
        if already_cut {
            core.cut_after_mark(core.cut_base(), out);
        } else {
            core.cut_for_loss(core.cut_base(), now, out);
        }
        core.recover = core.high;
        self.ends = core.high;
        core.last_cut = LastCut::Duplicates;
        keep_two(core, out);
        self.phase = Phase::Recovery;
        self.rescued = false;
        self.prr = core.settings.prr.then(|| Prr::new(flight));
        core.restart_timer(now);
        self.send_again_at_once(core, now, out);
        if let Some(probe) = self.probe() {
            probe.forget();
        }
    }

    /// The window that proportional rate reduction allows after `delivered` segments, where it runs.
    fn reduce(&mut self, core: &mut Core, delivered: u64, out: &mut impl Output) {
        if let Some(prr) = &mut self.prr {
            core.window.cwnd = prr.window(delivered, self.board.pipe(), core.window.ssthresh) as f64;
            out.window(&core.window);
        }
    }

    /// The first retransmission goes whatever the pipe is (RFC 6675, section 5, step 4.3).
    fn send_again_at_once(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        if self.prr.is_none()
            && let Some(seq) = self.board.next_lost()
        {
            self.transmit(core, seq, now, out);
        }
    }

    fn leave(&mut self, core: &mut Core, out: &mut impl Output) {
        if self.phase == Phase::Recovery {
            core.window.cwnd = core.window.cwnd.min(core.window.ssthresh);
            if self.prr.take().is_some() {
                core.window.cwnd = core.window.ssthresh;
            }
            out.window(&core.window);
        }
        if let Detection::Rack { rack, .. } = &mut self.detection {
            rack.recovered();
        }
        self.phase = Phase::Open;
        // The acknowledgement that ends it may bring the next window's mark.
        if core.last_cut != LastCut::Mark {
            core.last_cut = LastCut::None;
        }
    }

    fn transmit(&mut self, core: &mut Core, seq: u64, now: Time, out: &mut impl Output) {
        if seq < core.high {
            // What is timed is sent again, or its acknowledgement waits for what is (Karn's algorithm, RFC 6298, section 3).
            core.timed = None;
        }
        if seq < core.high && self.phase != Phase::Loss {
            core.retransmit(seq, now, out);
        } else {
            core.transmit(seq, now, out);
        }
        core.next = core.high;
        self.board.sent(seq, now);
        if let Detection::Rack { rack, .. } = &mut self.detection {
            rack.sent(seq, now);
        }
        if let Some(prr) = &mut self.prr {
            prr.sent();
        }
    }

    /// The next segment to send (RFC 6675, NextSeg): a lost one, a new one, or once a recovery the last one again.
    fn next_segment(&mut self, core: &Core) -> Option<u64> {
        if let Some(seq) = self.board.next_lost() {
            return Some(seq);
        }
        if core.high < core.available && core.high < core.una + core.settings.max_window {
            let waits = !core.settings.limited_transmit && self.phase == Phase::Open && self.board.sacked() > 0;
            return (!waits).then_some(core.high);
        }
        let rescues = self.phase == Phase::Recovery && !self.rescued && matches!(self.detection, Detection::Sack | Detection::Fack);
        let last = core.high.checked_sub(1).filter(|_| rescues)?;
        let waits = self.board.slot(last).is_some_and(|slot| !slot.sacked && !slot.ever_resent);
        self.rescued |= waits;
        waits.then_some(last)
    }

    fn probe(&mut self) -> Option<&mut Probe> {
        if let Detection::Rack { probe, .. } = &mut self.detection { probe.as_mut() } else { None }
    }

    /// Sets the probe's timer while nothing is known to be missing (RFC 8985, section 7.2).
    fn schedule_probe(&mut self, core: &Core, now: Time) {
        let quiet = self.phase == Phase::Open && self.board.sacked() == 0;
        let delay = core.settings.delayed_ack.unwrap_or(Span::ZERO);
        let Some(probe) = self.probe() else { return };
        if quiet {
            probe.schedule(now, core.rtt.smoothed(), core.outstanding(), delay, core.rto_at);
        } else {
            probe.cancel();
        }
    }

    /// Sends a new segment, or the last one again, to draw an acknowledgement (RFC 8985, section 7.3).
    fn send_probe(&mut self, core: &mut Core, now: Time, out: &mut impl Output) {
        if core.outstanding() == 0 {
            return;
        }
        let new = core.high < core.available && core.high < core.una + core.settings.max_window;
        let seq = if new { core.high } else { core.high - 1 };
        self.transmit(core, seq, now, out);
        core.restart_timer(now);
        let high = core.high;
        if let Some(probe) = self.probe() {
            probe.sent(high, !new);
        }
    }

    /// A probe has repaired a loss that nothing else showed: the window is cut as for one.
    fn answer_probe(&mut self, core: &mut Core, ack: &Ack, delivered: u64, now: Time, out: &mut impl Output) {
        let phase = self.phase;
        let repaired = self.probe().is_some_and(|probe| probe.acknowledged(ack, delivered == 0) == Outcome::Repaired);
        if repaired && phase == Phase::Open {
            core.cut_for_loss(core.cut_base(), now, out);
            core.last_cut = LastCut::Duplicates;
            keep_two(core, out);
        }
    }
}

/// A loss leaves a window of two segments at least, as it leaves the threshold (RFC 5681, equation 4).
fn keep_two(core: &mut Core, out: &mut impl Output) {
    if core.window.cwnd < MIN_SSTHRESH {
        core.window.cwnd = MIN_SSTHRESH;
        out.window(&core.window);
    }
}

impl Recovery for Sack {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, core: &mut Core, ack: &Ack, now: Time, out: &mut O) {
        if ack.next < core.una {
            return;
        }
        let delivered = self.score(core, ack, now);
        let newly = if ack.next > core.una { core.advance(ack, now) } else { 0 };
        core.next = core.high;
        if let Detection::Rack { rack, .. } = &mut self.detection {
            rack.adapt(dsack(ack).is_some(), core.una, core.high);
        }
        self.answer_probe(core, ack, delivered, now, out);
        self.detect(core, now);
        self.step(core, ack, newly, delivered, now, out);
        self.fill(core, now, out);
        if newly > 0 {
            self.schedule_probe(core, now);
        }
    }

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        self.phase = Phase::Loss;
        self.ends = core.high;
        self.prr = None;
        core.next = core.high;
        let (una, min_rtt, srtt) = (core.una, core.rtt.min(), core.rtt.smoothed());
        match &mut self.detection {
            Detection::Rack { rack, probe } => {
                rack.timed_out(&mut self.board, una, min_rtt, srtt, now);
                if let Some(probe) = probe {
                    probe.forget();
                }
            }
            Detection::Sack | Detection::Fack => self.board.lose_all(),
        }
        if let Some(seq) = self.board.next_lost() {
            self.transmit(core, seq, now, out);
        }
        self.fill(core, now, out);
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        let before = core.high;
        let burst = if core.settings.max_burst == 0 { u64::MAX } else { core.settings.max_burst };
        for _ in 0..burst {
            if self.board.pipe() >= core.window.cwnd as u64 || !core.may_pace(now) {
                break;
            }
            let Some(seq) = self.next_segment(core) else { break };
            self.transmit(core, seq, now, out);
        }
        if core.high > before {
            self.schedule_probe(core, now);
        }
    }

    fn opened(&mut self, core: &Core) {
        self.board.start(core.una);
    }

    fn deadline(&self) -> Option<Time> {
        let Detection::Rack { rack, probe } = &self.detection else { return None };
        let probe = probe.as_ref().and_then(Probe::deadline);
        earlier(rack.deadline(), probe)
    }

    #[inline(never)]
    fn expire<O: Output>(&mut self, core: &mut Core, now: Time, out: &mut O) {
        let Detection::Rack { rack, .. } = &mut self.detection else { return };
        if rack.deadline().is_some_and(|at| at <= now) {
            self.detect(core, now);
            if self.phase == Phase::Open && self.board.has_losses() {
                self.enter(core, now, out);
                // No ACK is coming that would let the first retransmission go.
                self.reduce(core, 0, out);
            }
            self.fill(core, now, out);
        } else {
            self.probe().into_iter().for_each(Probe::cancel);
            self.send_probe(core, now, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::recovery::testing::Wire;
    use crate::settings::RecoveryName;

    #[test]
    fn a_retransmission_ends_the_timing_of_what_was_sent_before() {
        let mut wire = Wire::new(RecoveryName::Sack, 8);
        assert!(wire.core.timed.is_some_and(|(seq, _)| seq <= 8));
        [3, 4, 5].into_iter().for_each(|end| wire.duplicate_with(1, &[(2, end)]));
        assert_eq!(Some(&1), wire.sent().first());
        assert!(wire.core.timed.is_none_or(|(seq, _)| seq > 8));
    }
}
