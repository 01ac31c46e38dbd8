//! What goes out: new segments as far as the window allows, and lost ones again.

use ecnlab_units::Time;

use super::{Rack, Resend, State};
use crate::segment::Role;
use crate::tcb::{Output, Tcb};

impl Rack {
    /// Sends what an acknowledgement asks for besides what the window allows.
    #[inline(never)]
    pub(super) fn resend(&mut self, tcb: &mut Tcb, resend: Resend, now: Time, out: &mut impl Output) {
        match resend {
            Resend::Nothing => return,
            Resend::New => {
                self.push(tcb, now, out);
                if tcb.high() > self.ends {
                    return;
                }
                self.frto = false;
            }
            Resend::Lost => {}
        }
        self.send_lost(tcb, now, out);
    }

    /// Sends lost segments again as far as the window allows.
    pub(super) fn send_lost(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let (first, cwnd) = (tcb.una(), tcb.window().cwnd as u64);
        let mut restarts = false;
        while self.board.in_flight() < cwnd && tcb.may_send_now(now) {
            let Some(seq) = self.board.next_lost() else { break };
            self.transmit_again(seq, true, tcb, now, out);
            self.count_sent(1);
            restarts |= seq == first && !self.waits_for_reordering();
        }
        if restarts {
            self.restart_whole(tcb, now);
        }
    }

    fn waits_for_reordering(&self) -> bool {
        matches!(self.pending, Some((super::Pending::Reordering, _)))
    }

    /// Segments went while the window comes down.
    fn count_sent(&mut self, segments: u64) {
        if self.reduces()
            && let Some(prr) = &mut self.prr
        {
            prr.sent(segments);
        }
    }

    /// Sends new segments as far as the window allows.
    pub(super) fn push(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let (most, cwnd) = (tcb.most_burst(), tcb.window().cwnd as u64);
        let (restarts, micros) = (self.sending_restarts(), tcb.micros(now));
        let (mut sent, mut bundle, mut size, mut waits) = (0, most, 0, false);
        while sent < most && self.may_send_new(cwnd, tcb, now) {
            if self.rules.gso && (sent == 0 || bundle == 0) {
                let Some(next) = self.next_bundle(tcb, now) else {
                    waits = true;
                    break;
                };
                (bundle, size) = (next, next);
            }
            // The last segment of a bundle is pushed (Linux __tcp_transmit_skb).
            if bundle == 1 && size > 1 {
                tcb.push_next();
            }
            self.emit_new(tcb, (now, micros), out);
            (sent, bundle) = (sent + 1, bundle - 1);
        }
        self.pushed(sent, waits || self.board.in_flight() >= cwnd, tcb, now, out);
        if sent > 0 && !self.schedule_probe_after_sending(tcb, (now, micros)) && restarts {
            self.restart(tcb, now);
        }
    }

    /// Sends one new segment whatever the window, if there is one and the receiver has room for it; returns whether.
    #[inline(never)]
    pub(super) fn push_one(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) -> bool {
        let may = tcb.has_new();
        if may {
            self.transmit_new(tcb, now, out);
            let limited = self.board.in_flight() >= tcb.window().cwnd as u64;
            self.pushed(1, limited, tcb, now, out);
        }
        may
    }

    /// So many new segments went, and the window keeps more of them back or not.
    #[inline(always)]
    fn pushed(&mut self, sent: u64, limited: bool, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        if sent > 0 || limited {
            tcb.note_usage(self.board.outstanding(), limited, self.state == State::Open, now, out);
        }
        self.count_sent(sent);
    }

    #[inline(always)]
    fn may_send_new(&self, cwnd: u64, tcb: &mut Tcb, now: Time) -> bool {
        if !tcb.has_new() {
            return false;
        }
        // The last segment of a connection does not wait for the window (Linux tcp_cwnd_test).
        if self.board.in_flight() >= cwnd && tcb.plan().role(tcb.high()) != Role::Fin {
            return false;
        }
        let waits = !tcb.settings().limited_transmit && self.state <= State::Disorder && self.board.sacked > 0;
        !waits && tcb.may_go(tcb.high()) && tcb.may_send_now(now)
    }

    #[inline(never)]
    pub(super) fn transmit_new(&mut self, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        let restarts = self.sending_restarts();
        self.emit_new(tcb, (now, tcb.micros(now)), out);
        if restarts {
            self.restart(tcb, now);
        }
    }

    /// Whether a new segment sets the retransmission timer.
    fn sending_restarts(&self) -> bool {
        self.board.outstanding() == 0 || self.probe_is_due || matches!(self.pending, Some((super::Pending::Probe, _)))
    }

    /// Sends a new segment and leaves the timer to the caller.
    // Every segment goes through `push`, and hardly any comes from elsewhere.
    #[inline(always)]
    fn emit_new(&mut self, tcb: &mut Tcb, (now, micros): (Time, u64), out: &mut impl Output) {
        if self.board.in_flight() == 0 {
            tcb.begin_sending(now);
        }
        tcb.emit(tcb.high(), now, out);
        tcb.go_on_at_high();
        self.board.sent(micros, self.delivered);
    }

    /// Sends a segment again, for a loss or to draw an acknowledgement.
    pub(super) fn transmit_again(&mut self, seq: u64, for_loss: bool, tcb: &mut Tcb, now: Time, out: &mut impl Output) {
        if self.board.in_flight() == 0 {
            tcb.begin_sending(now);
        }
        tcb.emit_again(seq, self.state == State::Loss, now, out);
        self.board.sent_again(seq, tcb.micros(now), self.delivered, for_loss);
        self.resent += 1;
        if for_loss {
            self.undo.resent(tcb.millis(now));
        }
    }
}
