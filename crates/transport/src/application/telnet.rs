//! A user who types: one small message after each pause, as ns-2's `Application/Telnet` sends.
//!
//! ns-2 draws its pauses from an exponential distribution, or from tcplib's table of measured ones. Paxson and Floyd (1995, section 4) fit
//! a Pareto distribution with a shape of 0.9 to that table, whose mean is 1.1 s: `interval = "pareto 1.1 s, shape 0.9, at most 200 s"`.

use ecnlab_units::{Rng, SizeDistribution, TimeDistribution, parameters};

use super::paced::{MessageStream, RenewalProcess};
use super::{Application, ApplicationSpec, WriteTimes};

parameters! {
    /// Such an application as a scenario sets it.
    #[derive(Clone, Debug)]
    pub struct TelnetSettings {
        /// Pause before each message.
        #[source("ns-2 Application/Telnet, interval_")]
        pub interval: TimeDistribution = "exponential 1 s", 0.001..=86_400;
        /// Application data of a message.
        #[source("Paxson and Floyd 1995, section 4")]
        pub size: SizeDistribution = "1 B", 1..=1_000_000;
    }
}

impl ApplicationSpec for TelnetSettings {
    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::AtTimer
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        Box::new(MessageStream::new(RenewalProcess::new(self.interval.clone(), self.size.clone(), &rng)))
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Time, Values};

    use super::super::testing::{CallRecorder, RecordedCall};
    use super::super::{AppEvent, AppWrite};
    use super::*;

    #[test]
    fn each_message_goes_over_the_same_connection_after_its_pause() {
        let mut values = Values::defaults(TelnetSettings::PARAMETERS);
        values.set_from_text("interval", "2 s").unwrap();
        let mut telnet = TelnetSettings::from_values(&values).instantiate(Rng::for_role(1, "telnet"));
        let mut tape = CallRecorder::default();
        telnet.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        assert_eq!(Some(Time::ZERO + Span::from_secs(2)), telnet.deadline());
        for second in [2, 4] {
            telnet.on_event(AppEvent::Timer, Time::ZERO + Span::from_secs(second), &mut tape);
        }
        assert_eq!(
            vec![RecordedCall::OpenConnection(0, AppWrite::keep_open(1)), RecordedCall::Write(0, AppWrite::keep_open(1))],
            tape.recorded
        );
    }
}
