//! Request-response exchanges one after another, as RFC 2884, section 5.3 measures with netperf's connect, request, response test.
//!
//! ```text
//! client   SYN          request                  (think)  SYN          request
//!               \       /       \                /             \       /
//!  server        SYN ACK         response, close                SYN ACK   ...
//! ```
//!
//! The server responds when it can read the last byte of the request. The exchange ends when the client can read the last byte of the
//! response. Then the client closes too, unless the connection is persistent, and starts the next exchange.

use ecnlab_units::{Rng, SizeDistribution, Time, TimeDistribution, parameters};

use super::{
    AppEvent, AppWrite, Application, ApplicationSpec, ConnectionReuse, EngineCalls, FinishedTransaction, FlowDirection, FlowIndex,
};

parameters! {
    /// Such an application as a scenario sets it.
    #[derive(Clone, Debug)]
    pub struct ExchangeSettings {
        /// Application data of a request, from the client to the server.
        #[source("RFC 2884, section 5.3")]
        pub request: SizeDistribution = "1 KB", 1..=1e12;
        /// Application data of a response, from the server to the client.
        #[source("RFC 2884, section 5.3")]
        pub response: SizeDistribution = "5 KB", 1..=1e12;
        /// Pause from the end of a response to the next request.
        #[source("RFC 2884, section 5.3: 0 s")]
        pub think: TimeDistribution = "0 s", 0..=86_400;
        /// Exchanges in all; 0 is unlimited.
        #[source("RFC 2884, section 5.3")]
        pub count: u64 = "0", 0..=1e12;
        /// Connections: a new one for each exchange, or one for all.
        #[source("RFC 9112, section 9.3")]
        pub connection: ConnectionReuse = "new";
    }
}

impl ApplicationSpec for ExchangeSettings {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        RequestResponse::flow_directions_of_exchanges(1)
    }

    fn wants_delivery_events(&self) -> bool {
        true
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        let [requests, responses, thinks] = ["requests", "responses", "thinks"].map(|purpose| rng.for_purpose(purpose));
        let exchange = RequestResponse::new(0, self.connection);
        Box::new(ExchangeClient { spec: self.clone(), exchange, requests, responses, thinks, finished: 0, began: Time::ZERO, next: None })
    }
}

struct ExchangeClient {
    spec: ExchangeSettings,
    exchange: RequestResponse,
    requests: Rng,
    responses: Rng,
    thinks: Rng,
    finished: u64,
    began: Time,
    /// Start of the next exchange.
    next: Option<Time>,
}

impl Application for ExchangeClient {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start | AppEvent::Timer => self.start_exchange(now, calls),
            AppEvent::Delivered(member, bytes) => {
                if self.exchange.on_delivered(member, bytes, calls) {
                    self.finish_exchange(now, calls);
                }
            }
            AppEvent::Opened(_) | AppEvent::Acknowledged(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

impl ExchangeClient {
    fn start_exchange(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        (self.next, self.began) = (None, now);
        let (request, response) = (self.spec.request.draw(&mut self.requests), self.spec.response.draw(&mut self.responses));
        self.exchange.send_request(request, response, calls);
    }

    fn finish_exchange(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        self.finished += 1;
        calls.record_transaction(&FinishedTransaction {
            flow: self.exchange.server,
            started_at: self.began,
            bytes: self.exchange.response,
        });
        if self.finished == self.spec.count {
            calls.finish_flow(self.exchange.client);
            calls.finish_flow(self.exchange.server);
        } else {
            self.next = Some(now + self.spec.think.draw(&mut self.thinks));
        }
    }
}

/// A request and its response, over a new or a persistent connection. Its two flows are those of the client and of the server.
#[derive(Debug)]
pub struct RequestResponse {
    pub client: FlowIndex,
    pub server: FlowIndex,
    connection: ConnectionReuse,
    /// Whether the server has sent over the persistent connection.
    is_answered: bool,
    /// Whether the client has opened the persistent connection.
    is_open: bool,
    /// Bytes of the request that the server has not read.
    request_left: u64,
    /// Bytes of the response that the client has not read.
    response_left: u64,
    /// Application data of the response.
    pub response: u64,
}

impl RequestResponse {
    /// Flow directions of `exchanges` parallel exchanges.
    pub fn flow_directions_of_exchanges(exchanges: u32) -> Vec<FlowDirection> {
        [FlowDirection::Against, FlowDirection::Along].repeat(exchanges as usize)
    }

    /// Exchange with this number; its flows are the two members at that index.
    pub fn new(number: u32, connection: ConnectionReuse) -> RequestResponse {
        let (client, server) = (2 * number, 2 * number + 1);
        RequestResponse { client, server, connection, is_answered: false, is_open: false, request_left: 0, response_left: 0, response: 0 }
    }

    /// Index of the exchange that has this member.
    pub fn exchange_index(member: FlowIndex) -> usize {
        member as usize / 2
    }

    /// Sends a request of the client; the server will send `response` bytes.
    pub fn send_request(&mut self, request: u64, response: u64, calls: &mut dyn EngineCalls) {
        (self.request_left, self.response_left, self.response) = (request, response, response);
        if self.is_open {
            return calls.write(self.client, AppWrite::keep_open(request));
        }
        self.is_open = self.connection == ConnectionReuse::Keep;
        self.is_answered = false;
        calls.open_connection(self.client, AppWrite::keep_open(request));
    }

    /// Processes data that a member's receiver can read; returns whether the exchange has ended.
    pub fn on_delivered(&mut self, member: FlowIndex, bytes: u64, calls: &mut dyn EngineCalls) -> bool {
        if member == self.client {
            self.request_left -= bytes;
            if self.request_left == 0 {
                self.send_response(calls);
            }
            return false;
        }
        self.response_left -= bytes;
        let ended = self.response_left == 0;
        if ended && self.connection == ConnectionReuse::New {
            calls.write(self.client, AppWrite::then_close(0));
        }
        ended
    }

    fn send_response(&mut self, calls: &mut dyn EngineCalls) {
        let app_write = AppWrite { bytes: self.response, closes: self.connection == ConnectionReuse::New };
        if self.is_answered {
            return calls.write(self.server, app_write);
        }
        self.is_answered = true;
        calls.write_reverse(self.server, self.client, app_write);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::super::testing::{CallRecorder, RecordedCall};
    use super::*;

    /// Two exchanges of 100 and 250 bytes; each second one of the four parts is read.
    fn recorded_calls(connection: &str) -> Vec<RecordedCall> {
        let mut values = Values::defaults(ExchangeSettings::PARAMETERS);
        for (name, text) in [("request", "100 B"), ("response", "250 B"), ("think", "1 s"), ("count", "2"), ("connection", connection)] {
            values.set_from_text(name, text).unwrap();
        }
        let (mut running, mut tape) =
            (ExchangeSettings::from_values(&values).instantiate(Rng::for_role(1, "source 0")), CallRecorder::default());
        running.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        for (member, bytes, second) in [(0, 60, 1), (0, 40, 2), (1, 250, 3)] {
            running.on_event(AppEvent::Delivered(member, bytes), Time::ZERO + Span::from_secs(second), &mut tape);
        }
        running.on_event(AppEvent::Timer, running.deadline().unwrap(), &mut tape);
        for (member, bytes) in [(0, 100), (1, 250)] {
            running.on_event(AppEvent::Delivered(member, bytes), Time::ZERO + Span::from_secs(6), &mut tape);
        }
        tape.recorded
    }

    fn transaction_ended_at(second: u64) -> RecordedCall {
        RecordedCall::RecordTransaction(FinishedTransaction { flow: 1, started_at: Time::ZERO + Span::from_secs(second), bytes: 250 })
    }

    #[test]
    fn it_connects_asks_responds_closes_and_begins_again() {
        let one = |began| {
            let parts = [
                RecordedCall::OpenConnection(0, AppWrite::keep_open(100)),
                RecordedCall::WriteReverse(1, 0, AppWrite::then_close(250)),
                RecordedCall::Write(0, AppWrite::then_close(0)),
            ];
            [parts.as_slice(), &[transaction_ended_at(began)]].concat()
        };
        assert_eq!([one(0), one(4), vec![RecordedCall::FinishFlow(0), RecordedCall::FinishFlow(1)]].concat(), recorded_calls("new"));
    }

    #[test]
    fn over_a_kept_connection_both_sides_go_on() {
        let first = [
            RecordedCall::OpenConnection(0, AppWrite::keep_open(100)),
            RecordedCall::WriteReverse(1, 0, AppWrite::keep_open(250)),
            transaction_ended_at(0),
        ];
        let second =
            [RecordedCall::Write(0, AppWrite::keep_open(100)), RecordedCall::Write(1, AppWrite::keep_open(250)), transaction_ended_at(4)];
        assert_eq!(
            [first.as_slice(), &second, &[RecordedCall::FinishFlow(0), RecordedCall::FinishFlow(1)]].concat(),
            recorded_calls("keep")
        );
    }
}
