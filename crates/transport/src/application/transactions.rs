//! Transfers one after another with pauses between them, as a client of requests and answers makes them.
//!
//! A pause begins when a transfer has been acknowledged to the end; its length is fixed or exponential, which is drawn by inversion.

use ecnlab_units::{Rng, Span, Time, math, parameters, words};

use super::{Application, ApplicationSpec, Calls, Connection, Demand, Event, MAX_BYTES, Member, Transfer};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct Settings {
        /// Application data of each transfer.
        #[source("Mah 1997, reply length")]
        pub bytes: u64 = "10000 B", 1..=MAX_BYTES, "bytes";
        /// Mean pause from the end of a transfer to the start of the next.
        #[source("Mah 1997, user think time")]
        pub gap: Span = "1 s", 0..=86_400, "s";
        /// How pauses are distributed.
        #[source("Mah 1997, user think time")]
        pub gap_distribution: Distribution = "exponential";
        /// Transfers of a flow in all; 0 is no end.
        #[source("Mah 1997, consecutive document retrievals")]
        pub count: u64 = "0", 0..=1e12;
        /// Each transfer over a new connection, or all over the same one.
        #[source("RFC 9112, section 9.3")]
        pub connection: Connection = "new";
    }
}

words! {
    /// How pauses are distributed.
    pub enum Distribution { Exponential = "exponential", Fixed = "fixed" }
}

impl Settings {
    pub fn plan(&self) -> Transactions {
        let Settings { bytes, gap, gap_distribution, count, connection } = *self;
        Transactions { bytes, gap, exponential: gap_distribution == Distribution::Exponential, count, connection }
    }
}

/// What all flows of such an application have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transactions {
    /// Application data of one transfer.
    pub bytes: u64,
    /// Mean pause.
    pub gap: Span,
    pub exponential: bool,
    /// Transfers in all; 0 is no end.
    pub count: u64,
    pub connection: Connection,
}

/// The one flow.
const FLOW: Member = 0;

impl ApplicationSpec for Transactions {
    fn start(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(Running { plan: *self, rng, finished: 0, began: Time::ZERO, next: None })
    }
}

/// The application as it runs on one flow.
struct Running {
    plan: Transactions,
    rng: Rng,
    finished: u64,
    began: Time,
    /// When the next transfer begins.
    next: Option<Time>,
}

impl Application for Running {
    fn on(&mut self, event: Event, now: Time, calls: &mut dyn Calls) {
        match event {
            Event::Start | Event::Timer => self.begin(now, calls),
            Event::Acknowledged(_) => self.end(now, calls),
            Event::Opened(_) | Event::Delivered(..) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

impl Running {
    fn begin(&mut self, now: Time, calls: &mut dyn Calls) {
        self.next = None;
        self.began = now;
        let kept = self.plan.connection == Connection::Keep;
        let is_last = self.finished + 1 == self.plan.count;
        let demand = Demand { bytes: self.plan.bytes, closes: !kept || is_last };
        if kept && self.finished > 0 { calls.produce(FLOW, demand) } else { calls.open(FLOW, demand) }
    }

    fn end(&mut self, now: Time, calls: &mut dyn Calls) {
        self.finished += 1;
        calls.finished(&Transfer { member: FLOW, began: self.began, bytes: self.plan.bytes });
        if self.finished == self.plan.count {
            calls.done(FLOW);
        } else {
            self.next = Some(now + self.gap());
        }
    }

    fn gap(&mut self) -> Span {
        let mean = self.plan.gap;
        if !self.plan.exponential {
            return mean;
        }
        let means = -math::ln(1.0 - self.rng.uniform());
        Span::from_picos((mean.picos() as f64 * means) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, Tape};
    use super::*;

    fn plan(count: u64, connection: Connection) -> Transactions {
        Transactions { bytes: 2_500, gap: Span::from_secs(2), exponential: false, count, connection }
    }

    /// Runs an application whose transfers are acknowledged the moment they begin.
    fn asked(plan: Transactions, transfers: usize) -> Vec<Asked> {
        let (mut running, mut tape) = (plan.start(Rng::for_role(1, "source 0")), Tape::default());
        running.on(Event::Start, Time::ZERO, &mut tape);
        for _ in 0..transfers {
            running.on(Event::Acknowledged(0), Time::ZERO, &mut tape);
            if let Some(next) = running.deadline() {
                running.on(Event::Timer, next, &mut tape);
            }
        }
        tape.asked
    }

    #[test]
    fn it_ends_after_its_count_and_a_count_of_nothing_never_does() {
        let opened = [(3, 3), (0, 10)].map(|(count, transfers)| {
            let asked = asked(plan(count, Connection::New), transfers);
            let opened = asked.iter().filter(|asked| matches!(asked, Asked::Open(..))).count();
            (opened, asked.contains(&Asked::Done(0)))
        });
        assert_eq!([(3, true), (11, false)], opened);
    }

    #[test]
    fn a_connection_that_is_kept_closes_behind_its_last_transfer() {
        let sent = |connection| {
            let mut asked = asked(plan(3, connection), 3);
            asked.retain(|asked| matches!(asked, Asked::Open(..) | Asked::Produce(..)));
            asked
        };
        let (open, closing) = (Demand::open(2_500), Demand::closing(2_500));
        assert_eq!(vec![Asked::Open(0, open), Asked::Produce(0, open), Asked::Produce(0, closing)], sent(Connection::Keep));
        assert_eq!(vec![Asked::Open(0, closing); 3], sent(Connection::New));
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_its_square_as_variance() {
        const DRAWS: u32 = 100_000;
        let mut source = Transactions { exponential: true, ..plan(0, Connection::New) }.start(Rng::for_role(1, "source 0"));
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            source.on(Event::Acknowledged(0), Time::ZERO, &mut Tape::default());
            let gap = source.deadline().unwrap().seconds();
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / f64::from(DRAWS);
        let variance = squares / f64::from(DRAWS) - mean * mean;
        assert!((mean - 2.0).abs() < 0.03 && (variance - 4.0).abs() < 0.15, "mean {mean}, variance {variance}");
    }
}
