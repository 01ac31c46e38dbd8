//! RACK-TLP (RFC 8985), or loss detection by DupThresh, in the five states of Linux, with PRR, undo and F-RTO.
//!
//! ```text
//!             a segment is sacked              echo of a mark, with ecn_reduction = "prr"
//!   +------+ --------------------> +----------+ ----------------------------> +-----+
//!   | Open |                       | Disorder |                               | Cwr |
//!   +------+ <-------------------- +----------+ <---------------------------- +-----+
//!      ^  ^     none is sacked          |     ACK beyond high_seq                |
//!      |  |                             | a segment is lost                      | a segment is lost: no second reduction
//!      |  |   all acknowledged          v                                        |
//!      |  +---------------------- +----------+ <---------------------------------+
//!      |      or undone           | Recovery |
//!      |                          +----------+
//!      |      all acknowledged         | the retransmission timer, from every state
//!      |      or undone                v
//!      |                          +----------+
//!      +------------------------- |   Loss   |
//!                                 +----------+
//!
//!   in flight = outstanding - sacked - lost + retransmitted
//! ```
//!
//! `high_seq` is one past the highest segment sent when the last of these states was entered. `scoreboard` keeps the state of each segment
//! in flight, `ack_state` processes an ACK, `states` changes the state for it, `undo` undoes a reduction, `reordering` detects losses by
//! time, `timers` sets the single timer for its three purposes, and `sending` transmits. The states are those of Linux
//! tcp_fastretrans_alert, the model of this module.
//!
//! Without SACK blocks (`sack_blocks = 0`) duplicate ACKs are counted instead, as in NewReno (RFC 6582). With `loss_detection =
//! "dupthresh"` time is ignored: a segment is lost when `dup_thresh` segments above it are sacked (RFC 6675, section 4). A lost
//! retransmission is detected only by the RTO. `dupthresh` implements this.

mod ack_state;
mod dupthresh;
mod reordering;
mod scoreboard;
mod sending;
mod states;
mod timers;
mod tso_bundles;
mod undo;

use ecnlab_units::Time;

use self::ack_state::AckState;
use self::reordering::Reordering;
use self::scoreboard::RackScoreboard;
use self::timers::{RackTlpTimer, TlpState};
use self::undo::UndoState;
use super::Recovery;
use super::prr::Prr;
use crate::segment::Ack;
use crate::settings::{LossDetection, TcpSettings};
use crate::tcb::{SenderOutput, Tcb};

/// RACK state. The fields that each ACK reads come first, so that they share cache lines.
#[repr(C, align(64))]
pub struct Rack {
    state: CaState,
    options: RackOptions,
    /// An RTO may still prove spurious (RFC 5682).
    frto_active: bool,
    /// The probe timer is to be set after the ACK is processed, unless a transmission sets it.
    tlp_due: bool,
    /// RTOs since the last ACK of new data.
    consecutive_rtos: u32,
    /// One past the highest segment sent when the state was entered.
    high_seq: u64,
    /// Kind and deadline of the timer, if it is not the RTO.
    pending_timer: Option<(RackTlpTimer, Time)>,
    /// Total number of segments delivered.
    delivered: u64,
    /// Delivered segments already reported to the ECN response.
    delivered_reported: u64,
    /// Send time by the timestamp that the current ACK echoes.
    echoed_send_time: Time,
    tlp: TlpState,
    reordering: Reordering,
    scoreboard: RackScoreboard,
    /// Reduction in progress in Cwr and Recovery.
    prr: Option<Prr>,
    undo: UndoState,
    /// Total of retransmissions, and of those reported as duplicates by DSACK.
    retransmitted_total: u64,
    dsacked_total: u64,
}

/// Parameters that each ACK reads.
#[derive(Clone, Copy, Debug)]
struct RackOptions {
    uses_sack: bool,
    /// Loss detection by DupThresh instead of RACK.
    uses_dupthresh: bool,
    prr: bool,
    undo: bool,
    frto: bool,
    uses_tlp: bool,
    timestamps: bool,
    gso: bool,
    /// A mark reduces cwnd over one RTT.
    reduces_for_marks: bool,
}

/// States of congestion avoidance, in ascending order of severity (Linux tcp_ca_state).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CaState {
    Open,
    /// A segment is sacked, or was retransmitted.
    Disorder,
    /// Cwnd is being reduced for a mark.
    Cwr,
    /// Cwnd is being reduced for a loss, and lost segments are retransmitted.
    Recovery,
    /// Recovery after an RTO.
    Loss,
}

/// Transmission after an ACK beyond what cwnd allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RexmitAction {
    None,
    Lost,
    /// New segments first, which show whether an RTO was spurious (F-RTO).
    NewDataFirst,
}

impl Rack {
    /// Starts anew for the next connection, with the memory of the scoreboard.
    pub fn renew(&mut self, settings: &TcpSettings) {
        let mut next = Rack::new(settings);
        next.scoreboard.reuse_memory_of(&mut self.scoreboard);
        *self = next;
    }

    pub fn new(settings: &TcpSettings) -> Rack {
        Rack {
            scoreboard: RackScoreboard::default(),
            state: CaState::Open,
            high_seq: 0,
            prr: None,
            undo: UndoState::default(),
            reordering: Reordering::new(settings.dupthresh),
            tlp: TlpState::default(),
            frto_active: false,
            consecutive_rtos: 0,
            pending_timer: None,
            tlp_due: false,
            echoed_send_time: Time::ZERO,
            // The handshake counts as one segment.
            delivered: u64::from(settings.has_syn()),
            delivered_reported: u64::from(settings.has_syn()),
            retransmitted_total: 0,
            dsacked_total: 0,
            options: RackOptions {
                uses_sack: settings.sack_blocks > 0,
                uses_dupthresh: settings.sack_blocks > 0 && settings.loss_detection == LossDetection::Dupthresh,
                prr: settings.quirks.prr,
                undo: settings.quirks.undo,
                frto: settings.frto,
                uses_tlp: settings.tlp && settings.sack_blocks > 0,
                timestamps: settings.timestamps,
                gso: settings.quirks.gso,
                reduces_for_marks: settings.reduces_by_prr_for_marks(),
            },
        }
    }

    /// Whether a reduction of cwnd is in progress.
    pub fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Cwr | CaState::Recovery)
    }

    /// Whether lost segments are retransmitted now, so that delayed segments follow. Not while F-RTO sends new segments.
    fn may_retransmit_lost(&self, tcb: &Tcb) -> bool {
        self.state == CaState::Recovery || self.state == CaState::Loss && !(self.frto_active && tcb.snd_max() > self.high_seq)
    }

    fn set_state(&mut self, state: CaState, tcb: &mut Tcb) {
        if state == CaState::Open && self.state != CaState::Open {
            tcb.notify_open();
        }
        self.state = state;
    }

    /// Whether the segments delivered by an ACK may grow cwnd.
    fn may_grow_cwnd(&self, ack_state: &AckState) -> bool {
        // With much reordering, segments that arrive out of order grow cwnd too (Linux tcp_may_raise_cwnd).
        ack_state.acked_segments > 0 || ack_state.newly_sacked && self.reordering.dup_thresh > self.reordering.min_dup_thresh
    }

    /// Reduces cwnd, or grows it.
    fn update_cwnd(&mut self, tcb: &mut Tcb, ack: &Ack, ack_state: &AckState, losses_before: u64, now: Time, out: &mut impl SenderOutput) {
        if tcb.control_sets_cwnd() {
            tcb.remember_ecn_echo(ack);
            tcb.pass_delivery_to_control(ack_state.delivered, self.scoreboard.in_flight(), now, out);
        } else if self.is_reducing() {
            tcb.remember_ecn_echo(ack);
            self.apply_prr(tcb, ack_state.delivered, ack_state.advanced && self.scoreboard.losses_total == losses_before, out);
        } else if self.may_grow_cwnd(ack_state) {
            tcb.grow_cwnd(ack, ack_state.delivered, now, out);
        } else {
            tcb.remember_ecn_echo(ack);
        }
        tcb.update_pacing_rate(self.scoreboard.outstanding_segments());
    }

    /// Sets cwnd by PRR, if a reduction is in progress.
    fn apply_prr(&mut self, tcb: &mut Tcb, delivered: u64, safe: bool, out: &mut impl SenderOutput) {
        if delivered > 0
            && let Some(prr) = &mut self.prr
        {
            tcb.set_cwnd(prr.cwnd_after_delivery(delivered, safe, self.scoreboard.in_flight(), tcb.window().ssthresh) as f64, out);
        }
    }

    /// Processes an ACK of new data, or a duplicate ACK.
    fn on_new_or_duplicate_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl SenderOutput) -> RexmitAction {
        let (losses_before, delivered_before) = (self.scoreboard.losses_total, self.delivered);
        let mut ack_state = self.new_ack_state(tcb, ack);
        self.process_ack(tcb, ack, &mut ack_state, now);
        if ack_state.prior_outstanding == 0 {
            self.read_accurate_feedback(tcb, ack, &mut ack_state, delivered_before);
            return self.on_ack_when_idle(tcb, ack, &mut ack_state, now, out);
        }
        self.process_cumulative_ack(tcb, ack, &mut ack_state, now, out);
        self.read_accurate_feedback(tcb, ack, &mut ack_state, delivered_before);
        self.reordering.update_reo_wnd_mult(ack_state.newest_delivered.map(|(_, _, delivered)| delivered), self.delivered);
        self.report_delivered_to_ecn_response(tcb, ack_state.ece);
        self.process_tlp_ack(tcb, ack, &ack_state, now, out);
        let resend = if self.ack_needs_slow_path(&ack_state) {
            self.process_ack_in_state(tcb, &mut ack_state, now, out)
        } else {
            RexmitAction::None
        };
        if ack_state.rearms_timer {
            self.tlp_due = resend == RexmitAction::None && self.may_send_tlp();
            if !self.tlp_due {
                self.schedule_tlp_or_restart_rto(tcb, now);
            }
        }
        ack_state.delivered = self.delivered - delivered_before;
        self.update_cwnd(tcb, ack, &ack_state, losses_before, now, out);
        resend
    }

    /// Reads the marks that an ACK reports with Accurate ECN (Linux tcp_accecn_process).
    #[inline]
    fn read_accurate_feedback(&self, tcb: &mut Tcb, ack: &Ack, ack_state: &mut AckState, delivered_before: u64) {
        if self.options.reduces_for_marks && tcb.uses_accurate_ecn() {
            let is_known = self.options.uses_sack || matches!(self.state, CaState::Open | CaState::Cwr);
            ack_state.ece = tcb.read_newly_reported_marks(ack, self.delivered - delivered_before, is_known) > 0;
        }
    }

    /// Reports the segments delivered since the last report to the ECN response: duplicate ACKs without SACK are counted late.
    fn report_delivered_to_ecn_response(&mut self, tcb: &mut Tcb, echo: bool) {
        tcb.update_mark_estimate(self.delivered - self.delivered_reported, echo);
        self.delivered_reported = self.delivered;
    }

    /// Whether an ACK contains more than a plain acknowledgement of data.
    fn ack_needs_slow_path(&self, ack_state: &AckState) -> bool {
        !ack_state.is_not_dupack() || ack_state.newly_sacked || ack_state.dsacked || ack_state.ece || self.state != CaState::Open
    }

    #[inline(never)]
    fn on_ack_when_idle(
        &mut self,
        tcb: &mut Tcb,
        ack: &Ack,
        ack_state: &mut AckState,
        now: Time,
        out: &mut impl SenderOutput,
    ) -> RexmitAction {
        self.report_delivered_to_ecn_response(tcb, ack_state.ece);
        if ack_state.dsacked {
            self.process_ack_in_state(tcb, ack_state, now, out);
        }
        tcb.remember_ecn_echo(ack);
        self.process_tlp_ack(tcb, ack, ack_state, now, out);
        RexmitAction::None
    }

    /// Processes the SACK blocks of an ACK that arrived after one of more data.
    #[inline(never)]
    fn on_old_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl SenderOutput) -> RexmitAction {
        if ack.sacks.is_empty() || !self.options.uses_sack {
            return RexmitAction::None;
        }
        let mut ack_state = self.new_ack_state(tcb, ack);
        self.process_ack(tcb, ack, &mut ack_state, now);
        self.process_ack_in_state(tcb, &mut ack_state, now, out)
    }

    pub fn deadline(&self) -> Option<Time> {
        self.pending_timer.map(|(_, at)| at)
    }

    #[inline(never)]
    pub fn on_timer(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl SenderOutput) {
        match self.pending_timer {
            Some((RackTlpTimer::Reordering, _)) => self.on_reordering_timeout(tcb, now, out),
            Some((RackTlpTimer::Tlp, _)) => self.send_tlp(tcb, now, out),
            None => {}
        }
    }
}

impl Recovery for Rack {
    #[inline(never)]
    fn on_ack<O: SenderOutput>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        let resend =
            if ack.next < tcb.snd_una() { self.on_old_ack(tcb, ack, now, out) } else { self.on_new_or_duplicate_ack(tcb, ack, now, out) };
        if resend != RexmitAction::None {
            self.retransmit_after_ack(tcb, resend, now, out);
        }
        self.send_while_allowed(tcb, now, out);
        if std::mem::take(&mut self.tlp_due) {
            self.schedule_tlp_or_restart_rto(tcb, now);
        }
    }

    #[inline(never)]
    fn on_rto<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.handle_rto(tcb, now, out);
    }

    #[inline(never)]
    fn send_while_allowed<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        if tcb.has_send_gate() && self.may_retransmit_lost(tcb) {
            self.retransmit_lost(tcb, now, out);
        }
        if tcb.snd_max() < tcb.queued_segments() {
            self.send_new_segments(tcb, now, out);
        }
    }

    fn send_one_new_segment<O: SenderOutput>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.transmit_new_segment(tcb, now, out);
    }

    fn on_handshake_done(&mut self, tcb: &mut Tcb, now: Time) {
        self.scoreboard.reset_at(tcb.snd_una());
        tcb.start_control(now);
    }
}
