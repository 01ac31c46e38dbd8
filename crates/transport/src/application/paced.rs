//! Messages at times that do not depend on the network, over one flow or each as its own flow.

use std::fmt::Debug;

use ecnlab_units::{Rng, SizeDistribution, Span, Time, TimeDistribution};

use super::{AppEvent, AppWrite, Application, EngineCalls, FinishedTransaction, FlowIndex};

/// Generator of an application's messages.
pub trait MessageSource: Send {
    /// The next message, or `None` if there are no more.
    fn next_message(&mut self) -> Option<DelayedMessage>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedMessage {
    /// Time since the previous message, or since the start for the first one.
    pub delay: Span,
    pub bytes: u64,
}

/// Messages with random pauses and sizes, each from its own random stream.
pub struct RenewalProcess {
    pauses: TimeDistribution,
    sizes: SizeDistribution,
    pause_rng: Rng,
    size_rng: Rng,
}

impl RenewalProcess {
    pub fn new(pauses: TimeDistribution, sizes: SizeDistribution, rng: &Rng) -> RenewalProcess {
        RenewalProcess { pauses, sizes, pause_rng: rng.for_purpose("pauses"), size_rng: rng.for_purpose("sizes") }
    }
}

impl MessageSource for RenewalProcess {
    fn next_message(&mut self) -> Option<DelayedMessage> {
        // A pause of zero would stop the simulated time.
        let after = self.pauses.draw(&mut self.pause_rng).max(Span::from_picos(1));
        Some(DelayedMessage { delay: after, bytes: self.sizes.draw(&mut self.size_rng) })
    }
}

/// A source of messages, with the time and size of its next one.
struct MessageSchedule<P> {
    source: P,
    next: Option<(Time, u64)>,
}

impl<P: MessageSource> MessageSchedule<P> {
    fn new(source: P) -> MessageSchedule<P> {
        MessageSchedule { source, next: None }
    }

    /// Fetches the next message from the source; its delay counts from `from`.
    fn schedule_next(&mut self, from: Time) {
        self.next = self.source.next_message().map(|message| (from + message.delay, message.bytes));
    }

    /// Size of the next message, if it is due.
    fn pop_if_due(&mut self, now: Time) -> Option<u64> {
        let (at, bytes) = self.next.filter(|(at, _)| *at <= now)?;
        self.schedule_next(at);
        Some(bytes)
    }

    fn deadline(&self) -> Option<Time> {
        self.next.map(|(at, _)| at)
    }
}

/// The only flow of a [`MessageStream`].
const ONLY_FLOW: FlowIndex = 0;

/// All messages over one flow.
pub struct MessageStream<P> {
    next_message: MessageSchedule<P>,
    is_open: bool,
}

impl<P: MessageSource> MessageStream<P> {
    pub fn new(pace: P) -> MessageStream<P> {
        MessageStream { next_message: MessageSchedule::new(pace), is_open: false }
    }

    fn open_connection_or_write(&mut self, bytes: u64, calls: &mut dyn EngineCalls) {
        if self.is_open {
            calls.write(ONLY_FLOW, AppWrite::keep_open(bytes));
        } else {
            calls.open_connection(ONLY_FLOW, AppWrite::keep_open(bytes));
        }
        self.is_open = true;
    }
}

impl<P: MessageSource> Application for MessageStream<P> {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start => self.next_message.schedule_next(now),
            AppEvent::Timer => {}
            AppEvent::Opened(_) | AppEvent::Delivered(..) | AppEvent::Acknowledged(_) => return,
        }
        while let Some(bytes) = self.next_message.pop_if_due(now) {
            self.open_connection_or_write(bytes, calls);
        }
        if self.next_message.next.is_none() {
            calls.finish_flow(ONLY_FLOW);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next_message.deadline()
    }
}

/// Each message as its own flow, which arrives, is acknowledged to the end, and leaves. A later flow reuses its slot, so there are as many
/// slots as simultaneous flows.
pub struct FlowArrivals<P> {
    next_message: MessageSchedule<P>,
    /// Number of flows that have arrived.
    flows_started: u64,
    /// Start time and size of each member's flow.
    flow_slots: Vec<(Time, u64)>,
    free_slots: Vec<FlowIndex>,
}

impl<P: MessageSource> FlowArrivals<P> {
    pub fn new(pace: P) -> FlowArrivals<P> {
        FlowArrivals { next_message: MessageSchedule::new(pace), flows_started: 0, flow_slots: Vec::new(), free_slots: Vec::new() }
    }

    fn on_flow_arrival(&mut self, bytes: u64, now: Time, calls: &mut dyn EngineCalls) {
        let member = self.free_slots.pop().unwrap_or(self.flow_slots.len() as FlowIndex);
        self.flow_slots.resize(self.flow_slots.len().max(member as usize + 1), (now, bytes));
        self.flow_slots[member as usize] = (now, bytes);
        calls.redraw_for_flow_number(member, self.flows_started);
        calls.open_connection(member, AppWrite::then_close(bytes));
        self.flows_started += 1;
    }

    fn record_flow_and_free_slot(&mut self, member: FlowIndex, calls: &mut dyn EngineCalls) {
        let (began, bytes) = self.flow_slots[member as usize];
        calls.record_transaction(&FinishedTransaction { flow: member, started_at: began, bytes });
        self.free_slots.push(member);
    }
}

impl<P: MessageSource> Application for FlowArrivals<P> {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start => self.next_message.schedule_next(now),
            AppEvent::Timer => {}
            AppEvent::Acknowledged(member) => return self.record_flow_and_free_slot(member, calls),
            AppEvent::Opened(_) | AppEvent::Delivered(..) => return,
        }
        while let Some(bytes) = self.next_message.pop_if_due(now) {
            self.on_flow_arrival(bytes, now, calls);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next_message.deadline()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CallRecorder, RecordedCall};
    use super::*;

    /// One message per second, `.0` of them.
    struct OneMessagePerSecond(u64);

    impl MessageSource for OneMessagePerSecond {
        fn next_message(&mut self) -> Option<DelayedMessage> {
            self.0 = self.0.checked_sub(1)?;
            Some(DelayedMessage { delay: Span::from_secs(1), bytes: 100 + self.0 })
        }
    }

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_stream_opens_once_and_is_done_behind_its_last_message() {
        let (mut stream, mut tape) = (MessageStream::new(OneMessagePerSecond(2)), CallRecorder::default());
        stream.on_event(AppEvent::Start, at(5), &mut tape);
        assert_eq!((Some(at(6)), 0), (stream.deadline(), tape.recorded.len()));
        stream.on_event(AppEvent::Timer, at(6), &mut tape);
        stream.on_event(AppEvent::Acknowledged(0), at(6), &mut tape);
        stream.on_event(AppEvent::Timer, at(7), &mut tape);
        let expected = [
            RecordedCall::OpenConnection(0, AppWrite::keep_open(101)),
            RecordedCall::Write(0, AppWrite::keep_open(100)),
            RecordedCall::FinishFlow(0),
        ];
        assert_eq!((expected.as_slice(), None), (tape.recorded.as_slice(), stream.deadline()));
    }

    #[test]
    fn a_flow_that_left_makes_room_for_the_next_that_comes() {
        let (mut arriving, mut tape) = (FlowArrivals::new(OneMessagePerSecond(3)), CallRecorder::default());
        arriving.on_event(AppEvent::Start, at(0), &mut tape);
        arriving.on_event(AppEvent::Timer, at(1), &mut tape);
        arriving.on_event(AppEvent::Timer, at(2), &mut tape);
        arriving.on_event(AppEvent::Acknowledged(0), at(2), &mut tape);
        arriving.on_event(AppEvent::Timer, at(3), &mut tape);
        let comes = |member, number, bytes| {
            [RecordedCall::SetFlowNumber(member, number), RecordedCall::OpenConnection(member, AppWrite::then_close(bytes))]
        };
        let left = RecordedCall::RecordTransaction(FinishedTransaction { flow: 0, started_at: at(1), bytes: 102 });
        let expected = [comes(0, 0, 102).as_slice(), &comes(1, 1, 101), &[left], &comes(0, 2, 100)].concat();
        assert_eq!((expected, None), (tape.recorded, arriving.deadline()));
    }
}
