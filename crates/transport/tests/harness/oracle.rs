//! Invariants of every run, checked only by the packets on the wire.

use std::collections::BTreeMap;

use ecnlab_transport::settings::RecoveryName;
use ecnlab_transport::{Ack, CongestionWindow, SegmentType, TcpSettings};
use ecnlab_units::Time;

use super::record::{RecordedSegment, SenderStep, StepCause, TransferRecord, payload};

/// Checks a run; the error names the violation.
pub fn check_invariants(settings: &TcpSettings, run: &TransferRecord) -> Result<(), String> {
    if run.all_acked_at.is_none() {
        return Err(format!("stuck: {} of {} arrived by {:?}", run.delivered_segments, run.total_segments, run.end));
    }
    if run.delivered_bytes != run.written_bytes {
        return Err(format!("{} of {} bytes arrived", run.delivered_bytes, run.written_bytes));
    }
    if run.delivered_segments != run.total_segments {
        return Err(format!("{} of {} delivered", run.delivered_segments, run.total_segments));
    }
    let mut wire = InFlightModel::default();
    run.steps.iter().try_for_each(|step| wire.step(settings, step))
}

/// Segments in flight as an observer of the wire sees them.
#[derive(Default)]
struct InFlightModel {
    high: u64,
    una: u64,
    /// Last send time of each segment from `una` on, and whether it is sacked.
    sent: BTreeMap<u64, (Time, bool)>,
    /// One past the highest segment sacked or acknowledged, and the latest send time of a delivered segment.
    fack: u64,
    newest: Option<Time>,
    timeout: Option<Time>,
    episode: RecoveryEpisode,
    offer: ReceiveWindowModel,
}

/// The receive window, in bytes of data.
#[derive(Default)]
struct ReceiveWindowModel {
    /// End of each segment sent, in bytes.
    ends: Vec<u64>,
    /// Right edge of the window advertised so far.
    limit: Option<u64>,
}

impl ReceiveWindowModel {
    fn on_ack(&mut self, ack: &Ack) {
        let acknowledged = ack.next.checked_sub(1).and_then(|last| self.ends.get(last as usize));
        let limit = acknowledged.copied().unwrap_or(0).saturating_add(if ack.window == Ack::WINDOW_UNLIMITED {
            u64::MAX
        } else {
            u64::from(ack.window)
        });
        self.limit = self.limit.max(Some(limit));
    }

    /// Records a new segment; returns whether it fits into the window.
    fn admit_new_segment(&mut self, bytes: u32) -> bool {
        let end = self.ends.last().unwrap_or(&0) + u64::from(bytes);
        self.ends.push(end);
        self.limit.is_none_or(|limit| end <= limit)
    }
}

/// Duplicate and partial ACKs until all segments outstanding at the first duplicate are acknowledged.
#[derive(Default)]
struct RecoveryEpisode {
    until: u64,
    duplicates: u64,
    partial: u64,
    old: u64,
}

impl InFlightModel {
    fn step(&mut self, settings: &TcpSettings, step: &SenderStep) -> Result<(), String> {
        if let StepCause::Ack(ack) = &step.cause {
            self.on_ack(ack, step.una_before);
        }
        if step.is_rto() {
            self.timeout = Some(step.time);
            self.episode = RecoveryEpisode::default();
        }
        self.una = step.una;
        if let StepCause::Ack(ack) = &step.cause {
            self.offer.on_ack(ack);
        }
        for sent in step.sent.iter().filter(|sent| sent.segment.segment_type != SegmentType::PureAck) {
            self.check_invariants(settings, step, sent)
                .map_err(|why| format!("{why}: {} at {:?}, una {}", sent.segment.seq, step.time, step.una))?;
            self.sent.insert(sent.segment.seq, (step.time, false));
            if sent.segment.seq == self.high && !self.offer.admit_new_segment(payload(settings, &sent.segment)) {
                return Err(format!("beyond the window that is offered: {} at {:?}, una {}", sent.segment.seq, step.time, step.una));
            }
            self.high = self.high.max(sent.segment.seq + 1);
        }
        let outstanding = self.una < self.high;
        if outstanding && step.timer.is_none() { Err(format!("no timer at {:?}", step.time)) } else { Ok(()) }
    }

    fn on_ack(&mut self, ack: &Ack, una_before: u64) {
        let runs = ack.sacks.as_slice().iter().flat_map(|&(from, to)| from..to);
        for seq in (una_before..ack.next).chain(runs) {
            let Some((sent, sacked)) = self.sent.get_mut(&seq) else { continue };
            if !*sacked {
                *sacked = true;
                self.newest = self.newest.max(Some(*sent));
            }
            self.fack = self.fack.max(seq + 1);
        }
        self.sent.retain(|&seq, _| seq >= ack.next);
        self.episode.on_ack(ack, una_before, self.high);
    }

    fn check_invariants(&self, settings: &TcpSettings, step: &SenderStep, sent: &RecordedSegment) -> Result<(), String> {
        let seq = sent.segment.seq;
        let wrong = |what: &str| Err(what.to_owned());
        if seq < step.una {
            return wrong("sent again though acknowledged");
        }
        if sent.segment.retransmission != (seq < self.high) {
            return wrong("new and old are confused");
        }
        if seq > self.high {
            return wrong("a gap in the numbers");
        }
        if seq > 0 && seq >= step.una + settings.max_rwnd {
            return wrong("beyond the receiver's window");
        }
        let probe = step.cause == StepCause::Timer && !step.is_rto();
        // The algorithms of ns-2 retransmit for duplicate ACKs with nothing outstanding, which sends new data; Vegas also by its fine
        // clock.
        let again = step.is_duplicate() || settings.recovery == RecoveryName::Vegas;
        // RACK sends the FIN regardless of cwnd (Linux tcp_cwnd_test).
        let closes = settings.recovery == RecoveryName::Rack && sent.segment.segment_type == SegmentType::Fin;
        let alone = self.una == self.high && (sent.window.cwnd >= 1.0 || again);
        if sent.segment.retransmission || probe || seq == 0 || alone || closes {
            return Ok(());
        }
        let allowed = if on_scoreboard(settings) {
            self.pipe().saturating_sub(self.delivered_without_sack(settings)) < sent.window.cwnd as u64
        } else {
            self.in_window(settings, &sent.window, seq)
        };
        if allowed {
            Ok(())
        } else {
            Err(format!("beyond the window {:?}, pipe at least {}, high {}", sent.window, self.pipe(), self.high))
        }
    }

    /// Whether a segment is within the window inflated by duplicate and partial ACKs, each of which indicates a delivered segment.
    fn in_window(&self, settings: &TcpSettings, window: &CongestionWindow, seq: u64) -> bool {
        // ns-2's Sack1 takes every ACK off the pipe, a partial one twice, and a mark in recovery prolongs that.
        if settings.recovery == RecoveryName::Sack1 && settings.ecn {
            return true;
        }
        let gone = if settings.recovery == RecoveryName::Sack1 { 2 * self.episode.partial + self.episode.old } else { 0 };
        seq < self.una + window.cwnd as u64 + self.episode.duplicates + gone
    }

    /// Segments that a scoreboard without SACK counts as delivered, one per duplicate ACK, and the one that they indicate as lost.
    fn delivered_without_sack(&self, settings: &TcpSettings) -> u64 {
        if settings.max_reported_sack_blocks() == 0 { self.episode.duplicates + 1 } else { 0 }
    }

    /// Segments that no rule can detect as lost: none above is sacked, none sent later has arrived, and there was no RTO since.
    fn pipe(&self) -> u64 {
        let stands = |&(&seq, &(sent, sacked)): &(&u64, &(Time, bool))| {
            !sacked
                && seq >= self.fack
                && self.newest.is_none_or(|newest| sent > newest)
                && self.timeout.is_none_or(|timeout| sent >= timeout)
        };
        self.sent.iter().filter(stands).count() as u64
    }
}

fn on_scoreboard(settings: &TcpSettings) -> bool {
    matches!(settings.recovery, RecoveryName::Sack | RecoveryName::Fack | RecoveryName::Rack)
}

impl RecoveryEpisode {
    fn on_ack(&mut self, ack: &Ack, una_before: u64, high: u64) {
        if ack.next > una_before && ack.next >= self.until {
            *self = RecoveryEpisode::default();
        } else if ack.next > una_before {
            self.partial += 1;
        } else if ack.next == una_before {
            self.until = self.until.max(high);
            self.duplicates += 1;
        } else {
            self.old += 1;
        }
    }
}
