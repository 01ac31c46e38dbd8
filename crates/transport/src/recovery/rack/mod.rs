//! Recovery by time, or by counting: RACK-TLP (RFC 8985) in five states, with proportional rate reduction, undo and F-RTO.
//!
//! ```text
//!             something is sacked               echo of a mark, where it reduces the window over a round trip
//!   +------+ --------------------> +----------+ ----------------------------> +-----+
//!   | Open |                       | Disorder |                               | Cwr |
//!   +------+ <-------------------- +----------+ <---------------------------- +-----+
//!      ^  ^      nothing is           |     more than was sent is acknowledged   |
//!      |  |                           | a segment is lost                        | a segment is lost: no second cut
//!      |  |    all acknowledged       v                                          |
//!      |  +-------------------- +----------+ <-----------------------------------+
//!      |     or taken back      | Recovery |
//!      |                        +----------+
//!      |    all acknowledged         | the retransmission timer, from every state
//!      |    or taken back            v
//!      |                        +----------+
//!      +----------------------- |   Loss   |
//!                               +----------+
//!
//!   in flight = outstanding - sacked - lost + resent
//! ```
//!
//! `ends` is one past the highest segment sent when the last of these was entered. `board` knows every segment in flight, `news` takes an
//! acknowledgement in, `states` says what it means, `undo` takes a cut back, `reorder` tells losses by time, `timers` sets the one timer, of
//! which there are three kinds, and `sending` sends. The states are those of Linux tcp_fastretrans_alert, which has been the model of the whole.
//!
//! Without SACK blocks (`sack_blocks = 0`) duplicates are counted in their place, as NewReno does (RFC 6582). With `loss_detection = "count"` time
//! says nothing: a segment is lost below as many sacked ones as may overtake it (RFC 6675, section 4), and one that was sent again is lost only
//! with the timer; `count` does that.

mod board;
mod bundles;
mod count;
mod news;
mod reorder;
mod sending;
mod states;
mod timers;
mod undo;

use ecnlab_units::Time;

use self::board::Board;
use self::news::News;
use self::reorder::Reordering;
use self::timers::{Pending, Probe};
use self::undo::Undo;
use super::Recovery;
use super::prr::Prr;
use crate::segment::Ack;
use crate::settings::{LossDetection, Settings};
use crate::tcb::{Output, Tcb};

/// What every acknowledgement reads stands first, so that it shares cache lines.
#[repr(C, align(64))]
pub struct Rack {
    state: State,
    rules: Rules,
    /// A timeout may still turn out to be spurious (RFC 5682).
    frto: bool,
    /// It is to be set for a probe when an acknowledgement has been dealt with, unless what goes out for it sets it.
    probe_is_due: bool,
    /// Timeouts since anything was acknowledged.
    timeouts: u32,
    /// One past the highest segment sent when the state was entered.
    ends: u64,
    /// What the timer is set for, when it is not the retransmission timeout.
    pending: Option<(Pending, Time)>,
    /// Segments delivered.
    delivered: u64,
    /// Of these the response to marks has been shown so many.
    observed: u64,
    /// When what the acknowledgement at hand echoes was sent.
    echoed: Time,
    probe: Probe,
    reordering: Reordering,
    board: Board,
    /// The reduction that is on, in Cwr and Recovery.
    prr: Option<Prr>,
    undo: Undo,
    /// Retransmissions sent, and those that were reported to have come twice.
    resent: u64,
    twice: u64,
}

/// What of the parameters is asked on every acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Rules {
    sack: bool,
    /// Losses are told by counting what is sacked, not by time.
    counts: bool,
    prr: bool,
    undo: bool,
    frto: bool,
    probes: bool,
    timestamps: bool,
    gso: bool,
    /// An echo of a mark brings the window down over a round trip.
    reduces_for_marks: bool,
}

/// In the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Open,
    /// Something is sacked, or was sent again.
    Disorder,
    /// The window comes down for a mark.
    Cwr,
    /// The window comes down for a loss, which is repaired.
    Recovery,
    /// After a timeout.
    Loss,
}

/// What is to be sent when an acknowledgement has been dealt with, besides what the window allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    Nothing,
    Lost,
    /// New segments first, which show whether a timeout was spurious.
    New,
}

impl Rack {
    pub fn new(settings: &Settings) -> Rack {
        Rack {
            board: Board::default(),
            state: State::Open,
            ends: 0,
            prr: None,
            undo: Undo::default(),
            reordering: Reordering::new(settings.duplicate_threshold),
            probe: Probe::default(),
            frto: false,
            timeouts: 0,
            pending: None,
            probe_is_due: false,
            echoed: Time::ZERO,
            // The handshake counts.
            delivered: u64::from(settings.syn()),
            observed: u64::from(settings.syn()),
            resent: 0,
            twice: 0,
            rules: Rules {
                sack: settings.sack_blocks > 0,
                counts: settings.sack_blocks > 0 && settings.loss_detection == LossDetection::Count,
                prr: settings.prr,
                undo: settings.undo,
                frto: settings.frto,
                probes: settings.tlp && settings.sack_blocks > 0,
                timestamps: settings.timestamps,
                gso: settings.gso,
                reduces_for_marks: settings.reduces_for_marks(),
            },
        }
    }

    /// Whether the window is coming down.
    fn reduces(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Whether lost segments are sent again now, so that those which were held back follow; not while new ones show if a timeout was spurious.
    fn repairs(&self, tcb: &Tcb) -> bool {
        self.state == State::Recovery || self.state == State::Loss && !(self.frto && tcb.high() > self.ends)
    }

    fn enter(&mut self, state: State) {
        self.state = state;
    }

    /// The window may be grown by what an acknowledgement delivers.
    fn may_grow(&self, news: &News) -> bool {
        // Where much overtakes, what arrives out of order lets the window grow as well (Linux tcp_may_raise_cwnd).
        news.acked > 0 || news.sacked && self.reordering.degree > self.reordering.least
    }

    /// Brings the window down, or lets it grow.
    fn control(&mut self, tcb: &mut Tcb, ack: &Ack, news: &News, losses_before: u64, now: Time, out: &mut impl Output) {
        if self.reduces() {
            tcb.note_echo(ack);
            self.reduce(tcb, news.delivered, news.advanced && self.board.losses == losses_before, out);
        } else if self.may_grow(news) {
            tcb.grow(ack, news.delivered, now, out);
        } else {
            tcb.note_echo(ack);
        }
    }

    /// The window that proportional rate reduction allows, where it runs.
    fn reduce(&mut self, tcb: &mut Tcb, delivered: u64, safe: bool, out: &mut impl Output) {
        if delivered > 0
            && let Some(prr) = &mut self.prr
        {
            tcb.set_cwnd(prr.window(delivered, safe, self.board.in_flight(), tcb.window().ssthresh) as f64, out);
        }
    }

    /// An acknowledgement of what was outstanding.
    fn take(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl Output) -> Resend {
        let (losses_before, delivered_before) = (self.board.losses, self.delivered);
        let mut news = self.no_news(tcb, ack);
        self.look_at(tcb, ack, &mut news, now);
        if news.outstanding_before == 0 {
            return self.take_with_nothing_outstanding(tcb, ack, &mut news, now, out);
        }
        self.take_acknowledged(tcb, ack, &mut news, now, out);
        self.reordering.adapt(news.newest.map(|(_, _, delivered)| delivered), self.delivered);
        self.show_marks(tcb, news.echo);
        self.answer_probe(tcb, ack, &news, now, out);
        let resend = if self.is_dubious(&news) { self.alert(tcb, &mut news, now, out) } else { Resend::Nothing };
        if news.sets_timer {
            self.probe_is_due = resend == Resend::Nothing && self.may_probe();
            if !self.probe_is_due {
                self.set_timer(tcb, now);
            }
        }
        news.delivered = self.delivered - delivered_before;
        self.control(tcb, ack, &news, losses_before, now, out);
        resend
    }

    /// Shows the response to marks what was delivered since it was shown last: duplicates without SACK are counted only later.
    fn show_marks(&mut self, tcb: &mut Tcb, echo: bool) {
        tcb.observe_marks(self.delivered - self.observed, echo);
        self.observed = self.delivered;
    }

    /// Whether an acknowledgement says more than that what was sent has arrived.
    fn is_dubious(&self, news: &News) -> bool {
        !news.is_new() || news.sacked || news.twice || news.echo || self.state != State::Open
    }

    #[inline(never)]
    fn take_with_nothing_outstanding(&mut self, tcb: &mut Tcb, ack: &Ack, news: &mut News, now: Time, out: &mut impl Output) -> Resend {
        self.show_marks(tcb, news.echo);
        if news.twice {
            self.alert(tcb, news, now, out);
        }
        tcb.note_echo(ack);
        self.answer_probe(tcb, ack, news, now, out);
        Resend::Nothing
    }

    /// An acknowledgement that another one has overtaken still says what is sacked.
    #[inline(never)]
    fn take_old(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut impl Output) -> Resend {
        if ack.sacks.is_empty() || !self.rules.sack {
            return Resend::Nothing;
        }
        let mut news = self.no_news(tcb, ack);
        self.look_at(tcb, ack, &mut news, now);
        self.alert(tcb, &mut news, now, out)
    }
}

impl Recovery for Rack {
    #[inline(never)]
    fn acknowledged<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        let resend = if ack.next < tcb.una() { self.take_old(tcb, ack, now, out) } else { self.take(tcb, ack, now, out) };
        if resend != Resend::Nothing {
            self.resend(tcb, resend, now, out);
        }
        self.fill(tcb, now, out);
        if std::mem::take(&mut self.probe_is_due) {
            self.set_timer(tcb, now);
        }
    }

    fn heard_on_data<O: Output>(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, out: &mut O) {
        self.acknowledged(tcb, ack, now, out);
    }

    #[inline(never)]
    fn timed_out<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.time_out(tcb, now, out);
    }

    fn cuts_at_timeouts(&self) -> bool {
        true
    }

    fn lowers_window(&self) -> bool {
        self.reduces()
    }

    #[inline(never)]
    fn fill<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        if tcb.holds_back() && self.repairs(tcb) {
            self.send_lost(tcb, now, out);
        }
        if tcb.high() < tcb.available() {
            self.push(tcb, now, out);
        }
    }

    fn send_part<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        self.transmit_new(tcb, now, out);
    }

    fn opened(&mut self, tcb: &Tcb) {
        self.board.start(tcb.una());
    }

    fn has_timer(&self) -> bool {
        true
    }

    fn deadline(&self) -> Option<Time> {
        self.pending.map(|(_, at)| at)
    }

    #[inline(never)]
    fn expire<O: Output>(&mut self, tcb: &mut Tcb, now: Time, out: &mut O) {
        match self.pending {
            Some((Pending::Reordering, _)) => self.end_reordering(tcb, now, out),
            Some((Pending::Probe, _)) => self.send_probe(tcb, now, out),
            None => {}
        }
    }
}
