//! Replay of a list of times and sizes, each as its own flow or all over one flow.

use std::sync::Arc;

use ecnlab_units::{Rng, Span, parameters};

use super::paced::{DelayedMessage, FlowArrivals, MessageSource, MessageStream};
use super::{Application, ApplicationSpec, FlowDirection, MAX_TRANSFER_BYTES, WriteTimes};

parameters! {
    /// Such an application as a scenario sets it.
    pub struct ListReplaySettings {
        /// Start times, from the start of the group on, in ascending order.
        #[source("ns-2 Application/Traffic/Trace")]
        pub times: Option<Vec<Span>> = "auto", 0..=8_640_000;
        /// Application data of each.
        #[source("ns-2 Application/Traffic/Trace")]
        pub sizes: Option<Vec<u64>> = "auto", 1..=1e15, "bytes";
        /// File with times and sizes, instead of both: on each line a time in seconds and a number of bytes; # begins a comment.
        #[source("ns-2 Application/Traffic/Trace")]
        pub file: Option<String> = "auto";
    }
}

/// Unit of the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayAs {
    /// Each entry is a flow.
    Flow,
    /// Each entry is a message over the same flow.
    Message,
}

impl ListReplaySettings {
    /// Contradictions as pairs of parameter name and explanation.
    pub fn contradictions(&self) -> Vec<(&'static str, String)> {
        let (Some(times), Some(sizes)) = (&self.times, &self.sizes) else {
            let missing = if self.times.is_none() { "times" } else { "sizes" };
            let message =
                "is missing; fix: give times and sizes, as in times = [\"0 s\", \"2 s\"], sizes = [\"10 KB\", \"1 MB\"], or a file";
            return vec![(missing, message.to_owned())];
        };
        if times.len() != sizes.len() {
            return vec![("sizes", format!("must be as many as times: {} and {}", sizes.len(), times.len()))];
        }
        let back = times.windows(2).position(|pair| pair[1] < pair[0]);
        let told = |at: usize| format!("number {} comes before number {}; fix: give them in order", at + 2, at + 1);
        back.map(|at| ("times", told(at))).into_iter().collect()
    }

    pub fn into_application_spec(self, each: ReplayAs) -> ReplaySpec {
        let list = self.times.into_iter().flatten().zip(self.sizes.into_iter().flatten());
        ReplaySpec { list: list.collect(), each }
    }
}

/// Parses the text of a file of times and sizes. The error names the line.
pub fn parse_list(text: &str) -> Result<(Vec<Span>, Vec<u64>), String> {
    let mut list = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let Some(time) = words.next() else { continue };
        let wrong = || format!("line {number}: \"{line}\" must be a time in seconds and a number of bytes, as in 1.5 10000");
        let (time, size) = parse_list_entry(time, words.next(), words.next()).ok_or_else(wrong)?;
        list.0.push(time);
        list.1.push(size);
    }
    if list.0.is_empty() { Err("no line has a time and a size".to_owned()) } else { Ok(list) }
}

fn parse_list_entry(time: &str, size: Option<&str>, more: Option<&str>) -> Option<(Span, u64)> {
    let span = Span::from_secs_f64(time.parse().ok()?).filter(|&span| span <= MAX_LIST_TIME)?;
    let size = size?.parse().ok().filter(|size| (1..=MAX_TRANSFER_BYTES).contains(size))?;
    more.is_none().then_some((span, size))
}

/// Latest time of a list.
const MAX_LIST_TIME: Span = Span::from_secs(8_640_000);

/// Parameters shared by all replay applications of a group.
#[derive(Clone, Debug)]
pub struct ReplaySpec {
    /// Times since the start, and sizes.
    list: Arc<[(Span, u64)]>,
    each: ReplayAs,
}

impl ApplicationSpec for ReplaySpec {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        match self.each {
            ReplayAs::Flow => Vec::new(),
            ReplayAs::Message => vec![FlowDirection::Along],
        }
    }

    fn spawns_flows(&self) -> bool {
        self.each == ReplayAs::Flow
    }

    fn warnings(&self, lasting: Span) -> Vec<(&'static str, String)> {
        let late = self.list.iter().filter(|(time, _)| *time >= lasting).count();
        let told = |of: usize| format!("{late} of {of} are after the end; fix: run longer, or leave them out");
        (late > 0).then(|| ("times", told(self.list.len()))).into_iter().collect()
    }

    fn timing_of_writes(&self) -> WriteTimes {
        match self.each {
            ReplayAs::Flow => WriteTimes::WhileIdle,
            ReplayAs::Message => WriteTimes::AtTimer,
        }
    }

    fn instantiate(&self, _rng: Rng) -> Box<dyn Application> {
        let reading = ListReplay { list: Arc::clone(&self.list), at: 0, last: Span::ZERO };
        match self.each {
            ReplayAs::Flow => Box::new(FlowArrivals::new(reading)),
            ReplayAs::Message => Box::new(MessageStream::new(reading)),
        }
    }
}

struct ListReplay {
    list: Arc<[(Span, u64)]>,
    at: usize,
    last: Span,
}

impl MessageSource for ListReplay {
    fn next_message(&mut self) -> Option<DelayedMessage> {
        let &(time, bytes) = self.list.get(self.at)?;
        let after = time - self.last;
        self.at += 1;
        self.last = time;
        Some(DelayedMessage { delay: after, bytes })
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Time;

    use super::super::testing::{CallRecorder, RecordedCall};
    use super::super::{AppEvent, AppWrite};
    use super::*;

    fn settings(seconds: &[u64], sizes: &[u64]) -> ListReplaySettings {
        let times = seconds.iter().map(|&second| Span::from_secs(second)).collect();
        ListReplaySettings { times: Some(times), sizes: Some(sizes.to_vec()), file: None }
    }

    /// Calls to the engine until the end of the list.
    fn recorded_calls(settings: ListReplaySettings, each: ReplayAs) -> Vec<RecordedCall> {
        let (mut running, mut tape) =
            (settings.into_application_spec(each).instantiate(Rng::for_role(1, "replay")), CallRecorder::default());
        running.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        while let Some(at) = running.deadline() {
            running.on_event(AppEvent::Timer, at, &mut tape);
        }
        tape.recorded
    }

    #[test]
    fn what_the_list_says_is_sent_also_two_at_a_time() {
        let flows = recorded_calls(settings(&[0, 3, 3], &[100, 200, 300]), ReplayAs::Flow);
        let opened: Vec<_> = flows.into_iter().filter(|asked| matches!(asked, RecordedCall::OpenConnection(..))).collect();
        assert_eq!(
            [(0, 100), (1, 200), (2, 300)]
                .map(|(member, bytes)| RecordedCall::OpenConnection(member, AppWrite::then_close(bytes)))
                .to_vec(),
            opened
        );
        let messages = recorded_calls(settings(&[1, 2], &[100, 200]), ReplayAs::Message);
        assert_eq!(
            vec![
                RecordedCall::OpenConnection(0, AppWrite::keep_open(100)),
                RecordedCall::Write(0, AppWrite::keep_open(200)),
                RecordedCall::FinishFlow(0)
            ],
            messages
        );
    }

    #[test]
    fn a_file_holds_a_time_and_a_size_on_each_line() {
        let text = "# seconds bytes\n0 1000\n\n1.5\t20 # a remark\n";
        assert_eq!(Ok((vec![Span::ZERO, Span::from_millis(1500)], vec![1000, 20])), parse_list(text));
        let wrong =
            [("0 1\n1 x", "line 2"), ("0", "line 1"), ("0 1 2", "line 1"), ("-1 5", "line 1"), ("0 0", "line 1"), ("# 0 1", "no line")];
        for (text, told) in wrong {
            assert!(parse_list(text).unwrap_err().contains(told), "{text}");
        }
    }

    #[test]
    fn times_and_sizes_go_together_and_time_goes_on() {
        let wrong = |seconds: &[u64], sizes: &[u64]| settings(seconds, sizes).contradictions().first().map(|(name, _)| *name);
        assert_eq!([Some("sizes"), Some("times"), None], [wrong(&[1, 2], &[1]), wrong(&[2, 1], &[1, 1]), wrong(&[1, 1], &[1, 1])]);
    }
}
