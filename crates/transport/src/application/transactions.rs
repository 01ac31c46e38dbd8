//! Transfers one after another with pauses between them, as of a client with requests and responses.
//!
//! A pause starts when the transfer is fully acknowledged. Its length is fixed, or exponential by inversion.

use ecnlab_units::{Rng, Span, Time, math, parameters, words};

use super::{
    AppEvent, AppWrite, Application, ApplicationSpec, ConnectionReuse, EngineCalls, FinishedTransaction, FlowIndex, MAX_TRANSFER_BYTES,
    WriteTimes,
};

parameters! {
    /// Such an application as a scenario sets it.
    #[derive(Clone, Debug)]
    pub struct TransactionsSettings {
        /// Application data of each transfer.
        #[source("Mah 1997, reply length")]
        #[usual(1000..=1e7, log)]
        pub bytes: u64 = "10000 B", 1..=MAX_TRANSFER_BYTES, "bytes";
        /// Mean pause from the end of a transfer to the start of the next.
        #[source("Mah 1997, user think time")]
        #[usual(0.01..=10, log)]
        pub gap: Span = "1 s", 0..=86_400, "s";
        /// Distribution of the pauses.
        #[source("Mah 1997, user think time")]
        pub gap_distribution: GapDistribution = "exponential";
        /// Transfers of a flow in all; 0 is unlimited.
        #[source("Mah 1997, consecutive document retrievals")]
        pub count: u64 = "0", 0..=1e12;
        /// Connections: a new one for each transfer, or one for all.
        #[source("RFC 9112, section 9.3")]
        pub connection: ConnectionReuse = "new";
    }
}

words! {
    /// Distribution of the pauses.
    pub enum GapDistribution { Exponential = "exponential", Fixed = "fixed" }
}

/// The only flow.
const ONLY_FLOW: FlowIndex = 0;

impl ApplicationSpec for TransactionsSettings {
    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::WhileIdle
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(TransactionSource { spec: self.clone(), rng, finished: 0, began: Time::ZERO, next: None })
    }
}

/// The running application of one flow.
struct TransactionSource {
    spec: TransactionsSettings,
    rng: Rng,
    finished: u64,
    began: Time,
    /// Start of the next transfer.
    next: Option<Time>,
}

impl Application for TransactionSource {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start | AppEvent::Timer => self.start_transfer(now, calls),
            AppEvent::Acknowledged(_) => self.finish_transfer(now, calls),
            AppEvent::Opened(_) | AppEvent::Delivered(..) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

impl TransactionSource {
    fn start_transfer(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        self.next = None;
        self.began = now;
        let kept = self.spec.connection == ConnectionReuse::Keep;
        let is_last = self.finished + 1 == self.spec.count;
        let app_write = AppWrite { bytes: self.spec.bytes, closes: !kept || is_last };
        if kept && self.finished > 0 { calls.write(ONLY_FLOW, app_write) } else { calls.open_connection(ONLY_FLOW, app_write) }
    }

    fn finish_transfer(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        self.finished += 1;
        calls.record_transaction(&FinishedTransaction { flow: ONLY_FLOW, started_at: self.began, bytes: self.spec.bytes });
        if self.finished == self.spec.count {
            calls.finish_flow(ONLY_FLOW);
        } else {
            self.next = Some(now + self.draw_gap());
        }
    }

    fn draw_gap(&mut self) -> Span {
        let mean = self.spec.gap;
        if self.spec.gap_distribution == GapDistribution::Fixed {
            return mean;
        }
        let means = -math::ln(1.0 - self.rng.uniform());
        Span::from_picos((mean.picos() as f64 * means) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CallRecorder, RecordedCall};
    use super::*;

    fn spec_with(count: u64, connection: ConnectionReuse) -> TransactionsSettings {
        TransactionsSettings { bytes: 2_500, gap: Span::from_secs(2), gap_distribution: GapDistribution::Fixed, count, connection }
    }

    /// Runs an application whose transfers are acknowledged at the moment they start.
    fn recorded_calls(spec: TransactionsSettings, transfers: usize) -> Vec<RecordedCall> {
        let (mut running, mut tape) = (spec.instantiate(Rng::for_role(1, "source 0")), CallRecorder::default());
        running.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        for _ in 0..transfers {
            running.on_event(AppEvent::Acknowledged(0), Time::ZERO, &mut tape);
            if let Some(next) = running.deadline() {
                running.on_event(AppEvent::Timer, next, &mut tape);
            }
        }
        tape.recorded
    }

    #[test]
    fn it_ends_after_its_count_and_a_count_of_nothing_never_does() {
        let opened = [(3, 3), (0, 10)].map(|(count, transfers)| {
            let asked = recorded_calls(spec_with(count, ConnectionReuse::New), transfers);
            let opened = asked.iter().filter(|asked| matches!(asked, RecordedCall::OpenConnection(..))).count();
            (opened, asked.contains(&RecordedCall::FinishFlow(0)))
        });
        assert_eq!([(3, true), (11, false)], opened);
    }

    #[test]
    fn a_connection_that_is_kept_closes_behind_its_last_transfer() {
        let sent = |connection| {
            let mut asked = recorded_calls(spec_with(3, connection), 3);
            asked.retain(|asked| matches!(asked, RecordedCall::OpenConnection(..) | RecordedCall::Write(..)));
            asked
        };
        let (open, closing) = (AppWrite::keep_open(2_500), AppWrite::then_close(2_500));
        assert_eq!(
            vec![RecordedCall::OpenConnection(0, open), RecordedCall::Write(0, open), RecordedCall::Write(0, closing)],
            sent(ConnectionReuse::Keep)
        );
        assert_eq!(vec![RecordedCall::OpenConnection(0, closing); 3], sent(ConnectionReuse::New));
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_its_square_as_variance() {
        const DRAWS: u32 = 100_000;
        let mut source = TransactionsSettings { gap_distribution: GapDistribution::Exponential, ..spec_with(0, ConnectionReuse::New) }
            .instantiate(Rng::for_role(1, "source 0"));
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            source.on_event(AppEvent::Acknowledged(0), Time::ZERO, &mut CallRecorder::default());
            let gap = source.deadline().unwrap().seconds();
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / f64::from(DRAWS);
        let variance = squares / f64::from(DRAWS) - mean * mean;
        assert!((mean - 2.0).abs() < 0.03 && (variance - 4.0).abs() < 0.15, "mean {mean}, variance {variance}");
    }
}
