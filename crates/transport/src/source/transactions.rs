//! Transfers one after another with pauses between them, as a client of requests and answers makes them.
//!
//! A pause begins when a transfer has been acknowledged to the end; its length is fixed or exponential, which is drawn by inversion.

use ecnlab_units::{Rng, Span, Time, math, parameters, words};

use super::{Connection, Demand, MAX_BYTES, Next, Source};

parameters! {
    /// Such a source as a scenario sets it.
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
    /// The plan of flows whose full segments carry this many bytes.
    pub fn plan(&self, payload: u32) -> Transactions {
        let Settings { bytes, gap, gap_distribution, count, connection } = *self;
        let exponential = gap_distribution == Distribution::Exponential;
        Transactions { transfer: Demand::bytes(bytes, payload), gap, exponential, count, connection }
    }
}

/// What all flows of such a source have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transactions {
    /// One transfer.
    pub transfer: Demand,
    /// Mean pause.
    pub gap: Span,
    pub exponential: bool,
    /// Transfers in all; 0 is no end.
    pub count: u64,
    pub connection: Connection,
}

/// The source as it runs on one flow.
#[derive(Debug)]
pub struct Running {
    plan: Transactions,
    rng: Rng,
    finished: u64,
}

impl Transactions {
    /// The transfer with this number, from 1.
    pub fn demand(&self, number: u64) -> Demand {
        Demand { closes: self.connection == Connection::New || number == self.count, ..self.transfer }
    }

    pub fn start(self, rng: Rng) -> Running {
        Running { plan: self, rng, finished: 0 }
    }
}

impl Source for Running {
    fn next(&mut self, now: Time) -> Option<Next> {
        self.finished += 1;
        if self.finished == self.plan.count {
            return None;
        }
        let demand = self.plan.demand(self.finished + 1);
        Some(Next { at: now + self.gap(), demand, connection: self.plan.connection })
    }
}

impl Running {
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
    use super::*;

    fn plan(count: u64, connection: Connection) -> Transactions {
        let transfer = Demand::bytes(2_500, 1_000);
        Transactions { transfer, gap: Span::from_secs(2), exponential: false, count, connection }
    }

    #[test]
    fn it_ends_after_its_count_and_a_count_of_nothing_never_does() {
        let lengths = [3, 0].map(|count| {
            let mut source = plan(count, Connection::New).start(Rng::for_role(1, "source 0"));
            (0..10).take_while(|_| source.next(Time::ZERO).is_some()).count()
        });
        assert_eq!([2, 10], lengths);
    }

    #[test]
    fn a_connection_that_is_kept_closes_behind_its_last_transfer() {
        assert_eq!([false, false, true], [1, 2, 3].map(|number| plan(3, Connection::Keep).demand(number).closes));
        assert_eq!([true, true, true], [1, 2, 3].map(|number| plan(3, Connection::New).demand(number).closes));
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_its_square_as_variance() {
        const DRAWS: u32 = 100_000;
        let mut source = Transactions { exponential: true, ..plan(0, Connection::New) }.start(Rng::for_role(1, "source 0"));
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            let gap = source.next(Time::ZERO).unwrap().at.seconds();
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / f64::from(DRAWS);
        let variance = squares / f64::from(DRAWS) - mean * mean;
        assert!((mean - 2.0).abs() < 0.03 && (variance - 4.0).abs() < 0.15, "mean {mean}, variance {variance}");
    }
}
