//! Links that follow a trace of delivery opportunities, as recorded in cellular networks (Winstein, Sivaraman and Balakrishnan 2013) and
//! replayed by mahimahi (Netravali et al. 2015).
//!
//! A trace is a list of times in whole milliseconds, at each of which the link carries up to 1500 bytes. Bytes are counted, not packets:
//! small packets share an opportunity, and the rest of one that does not fit uses the next. Bytes of an opportunity that find no packet
//! waiting are lost. After its last time the trace repeats.

use std::sync::Arc;

use ecnlab_units::{Rate, Span, Time};

use crate::calendar_queue::TieBreak;
use crate::packet::PacketId;

/// Bytes that an opportunity carries.
pub const BYTES_PER_OPPORTUNITY: u32 = 1500;

/// Maximum number of opportunities of a trace.
pub const MAX_OPPORTUNITIES: usize = 10_000_000;

/// The times of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTrace {
    millis: Arc<[u32]>,
}

/// Error in a trace: the line or index in the list, from 1, if it concerns one, and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryTraceError {
    pub line: Option<usize>,
    pub message: String,
}

/// Position of a link in its trace.
#[derive(Debug)]
pub struct DeliverySchedule {
    trace: DeliveryTrace,
    /// The next opportunity that is neither used nor lost.
    next_opportunity: u64,
    /// The packet of which some bytes are still to be sent.
    pub partly_sent: Option<PartlySentPacket>,
    /// Bytes sent, in all and before the measured interval.
    pub sent_bytes: u64,
    pub sent_bytes_before: u64,
}

/// A packet of which some bytes are still to be sent.
#[derive(Clone, Copy, Debug)]
pub struct PartlySentPacket {
    pub packet: PacketId,
    pub bytes_left: u32,
    /// Tie-break key of the packet's arrival event.
    pub tie_break: TieBreak,
}

impl DeliveryTrace {
    /// A trace from times in milliseconds.
    ///
    /// # Errors
    /// If there are none or too many, if they decrease, or if the last is 0.
    pub fn new(millis: Vec<u32>) -> Result<DeliveryTrace, DeliveryTraceError> {
        let error_without_line = |message: String| Err(DeliveryTraceError { line: None, message });
        if millis.len() > MAX_OPPORTUNITIES {
            return error_without_line(format!("has {} opportunities: at most {MAX_OPPORTUNITIES} are allowed", millis.len()));
        }
        if let Some(at) = millis.windows(2).position(|pair| pair[1] < pair[0]) {
            let message = format!("{} comes after {}: times must not decrease", millis[at + 1], millis[at]);
            return Err(DeliveryTraceError { line: Some(at + 2), message });
        }
        match millis.last() {
            None => error_without_line("is empty; fix: give one time in milliseconds on each line".to_owned()),
            Some(0) => error_without_line("ends at 0, but repeats after its last time, which must be above 0".to_owned()),
            Some(_) => Ok(DeliveryTrace { millis: millis.into() }),
        }
    }

    /// Reads a trace as it is published: a time in whole milliseconds on each line. Empty lines are skipped.
    ///
    /// # Errors
    /// As for [`DeliveryTrace::new`], and if a line is not a whole number.
    pub fn parse(text: &str) -> Result<DeliveryTrace, DeliveryTraceError> {
        let mut millis = Vec::new();
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let time = line.trim().parse().map_err(|_| {
                let shown: String = line.trim().chars().take(40).collect();
                DeliveryTraceError {
                    line: Some(at + 1),
                    message: format!("{shown:?} must be a time in whole milliseconds, 0 .. {}", u32::MAX),
                }
            })?;
            millis.push(time);
            lines.push(at + 1);
            if millis.len() > MAX_OPPORTUNITIES {
                break;
            }
        }
        DeliveryTrace::new(millis).map_err(|bad| DeliveryTraceError { line: bad.line.map(|line| lines[line - 1]), ..bad })
    }

    /// The times in milliseconds.
    pub fn millis(&self) -> &[u32] {
        &self.millis
    }

    /// Mean rate of the link when packets always wait.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.millis.len() as u128 * u128::from(BYTES_PER_OPPORTUNITY) * 8;
        let bps = (bits * 1000 / u128::from(self.period_ms())) as u64;
        Rate::from_bps(bps.max(1)).unwrap_or_else(|| unreachable!("a rate of at least 1 bps"))
    }

    /// Number of opportunities up to and including a time.
    pub fn opportunities_until(&self, time: Time) -> u64 {
        let millis = time.picos() / Span::from_millis(1).picos();
        let (rounds, rest) = (millis / u64::from(self.period_ms()), millis % u64::from(self.period_ms()));
        // At the time of the repetition, the last opportunity of the previous round has passed.
        let opportunities_in_period = |rest: u64| self.millis.partition_point(|&at| u64::from(at) <= rest) as u64;
        rounds * self.millis.len() as u64 + opportunities_in_period(rest)
    }

    fn period_ms(&self) -> u32 {
        self.millis[self.millis.len() - 1]
    }

    /// The time of an opportunity, by its number from 0.
    fn opportunity_time(&self, number: u64) -> Time {
        let opportunities = self.millis.len() as u64;
        let (round, at) = (number / opportunities, (number % opportunities) as usize);
        Time::ZERO + Span::from_millis(1) * (round * u64::from(self.period_ms()) + u64::from(self.millis[at]))
    }

    /// The first opportunity at a time or later.
    fn first_opportunity_from(&self, time: Time) -> u64 {
        time.picos().checked_sub(1).map_or(0, |before| self.opportunities_until(Time::from_picos(before)))
    }
}

impl DeliverySchedule {
    pub fn new(trace: DeliveryTrace) -> DeliverySchedule {
        DeliverySchedule { trace, next_opportunity: 0, partly_sent: None, sent_bytes: 0, sent_bytes_before: 0 }
    }

    /// Time of the next opportunity, now or later; passed ones are lost.
    pub fn next_opportunity_time(&mut self, now: Time) -> Time {
        if self.trace.opportunity_time(self.next_opportunity) < now {
            self.next_opportunity = self.next_opportunity.max(self.trace.first_opportunity_from(now));
        }
        self.trace.opportunity_time(self.next_opportunity)
    }

    /// Uses the next opportunity; returns its bytes.
    pub fn use_opportunity(&mut self) -> u32 {
        self.next_opportunity += 1;
        BYTES_PER_OPPORTUNITY
    }

    /// Share of the available bytes between two times that were sent since [`DeliverySchedule::begin_measuring`]; 0 if there were none.
    pub fn utilisation(&self, from: Time, to: Time) -> f64 {
        match self.trace.opportunities_until(to) - self.trace.first_opportunity_from(from) {
            0 => 0.0,
            opportunities => (self.sent_bytes - self.sent_bytes_before) as f64 / (opportunities * u64::from(BYTES_PER_OPPORTUNITY)) as f64,
        }
    }

    /// Starts the measured interval.
    pub fn begin_measuring(&mut self) {
        self.sent_bytes_before = self.sent_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_trace_repeats_after_its_last_time() {
        let mut deliveries = DeliverySchedule::new(DeliveryTrace::parse("1\n3\n3\n\n10\n").unwrap());
        let times: Vec<u64> = (0..9)
            .map(|_| {
                let next = deliveries.next_opportunity_time(Time::ZERO);
                deliveries.use_opportunity();
                next.picos() / 1_000_000_000
            })
            .collect();
        assert_eq!(vec![1, 3, 3, 10, 11, 13, 13, 20, 21], times);
    }

    #[test]
    fn past_opportunities_are_lost_and_those_of_this_instant_are_not() {
        let mut deliveries = DeliverySchedule::new(DeliveryTrace::parse("0\n3\n3\n10").unwrap());
        assert_eq!(at(3), deliveries.next_opportunity_time(Time::from_picos(1)));
        deliveries.use_opportunity();
        assert_eq!(at(3), deliveries.next_opportunity_time(at(3)), "the second of this instant");
        deliveries.use_opportunity();
        assert_eq!(at(10), deliveries.next_opportunity_time(at(3)));
        assert_eq!(at(10), deliveries.next_opportunity_time(at(10)), "the last of the first round");
        deliveries.use_opportunity();
        assert_eq!(at(10), deliveries.next_opportunity_time(at(10)), "the first of the second");
        deliveries.use_opportunity();
        assert_eq!(at(1_000_003), deliveries.next_opportunity_time(at(1_000_001)));
    }

    #[test]
    fn opportunities_are_counted_as_they_come() {
        let trace = DeliveryTrace::parse("0\n3\n3\n10").unwrap();
        for time in 0..45 {
            let one_by_one = (0..).take_while(|&number| trace.opportunity_time(number) <= at(time)).count() as u64;
            let before = (0..).take_while(|&number| trace.opportunity_time(number) < at(time)).count() as u64;
            assert_eq!((one_by_one, before), (trace.opportunities_until(at(time)), trace.first_opportunity_from(at(time))), "{time} ms");
        }
    }

    #[test]
    fn utilisation_without_opportunities_is_zero() {
        let mut deliveries = DeliverySchedule::new(DeliveryTrace::parse("10").unwrap());
        deliveries.begin_measuring();
        assert_eq!([0.0, 0.0], [9, 10].map(|end| deliveries.utilisation(at(1), at(end))));
        deliveries.sent_bytes += 750;
        assert_eq!(0.5, deliveries.utilisation(at(1), at(19)));
    }

    #[test]
    fn the_mean_rate_is_that_of_all_opportunities() {
        assert_eq!(12_000_000, DeliveryTrace::parse("1").unwrap().mean_rate().bps());
        assert_eq!(4 * 1500 * 8 * 100, DeliveryTrace::parse("0\n3\n3\n10").unwrap().mean_rate().bps());
    }

    #[test]
    fn invalid_traces_are_rejected_with_their_line() {
        let cases = [
            ("", None, "is empty"),
            ("0\n0\n", None, "ends at 0"),
            ("1\n\n5\nx\n", Some(4), "\"x\" must be a time in whole milliseconds"),
            ("1\n-5\n", Some(2), "whole milliseconds"),
            ("1.5\n", Some(1), "whole milliseconds"),
            ("99999999999\n", Some(1), "whole milliseconds"),
            ("1\n5\n\n4\n", Some(4), "4 comes after 5"),
        ];
        for (text, line, part) in cases {
            let bad = DeliveryTrace::parse(text).unwrap_err();
            assert!(bad.line == line && bad.message.contains(part), "{text:?}: {bad:?}");
        }
        assert!(DeliveryTrace::new(vec![1; MAX_OPPORTUNITIES + 1]).unwrap_err().message.contains("at most"));
    }
}
