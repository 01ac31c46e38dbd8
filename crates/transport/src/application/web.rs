//! A user who reads web pages: a page, then its embedded objects over a few parallel connections, then a pause to read.
//!
//! ```text
//! connection 0   page ------> object 1 --> object 5 ->|
//! connection 1               object 2 ------>         |   think   page ...
//! connection 2               object 3 --> object 4 -->|
//! ```
//!
//! Each request uses a new connection, as in HTTP/1.0, or a persistent one. A page with all its objects is one transaction. The
//! distributions are those that Barford and Crovella (1998) fitted to traces. Numbers of objects and pauses are Pareto. Sizes are lognormal
//! with mu = 9.357 and sigma = 1.318, that is a mean of 27.6 KB and a standard deviation of 59.7 KB. Their Pareto tail of sizes above 133
//! KB is not implemented.

use ecnlab_units::{CountDistribution, Rng, SizeDistribution, Time, TimeDistribution, parameters};

use super::exchange::RequestResponse;
use super::{AppEvent, Application, ApplicationSpec, ConnectionReuse, EngineCalls, FinishedTransaction, FlowDirection, FlowIndex};

parameters! {
    /// Such an application as a scenario sets it.
    #[derive(Clone, Debug)]
    pub struct WebSettings {
        /// Parallel connections for the objects.
        #[source("RFC 9112, section 9.4")]
        #[usual(1..=16, linear)]
        pub connections: u32 = "4", 1..=64;
        /// Application data of a request.
        #[source("3GPP TR 25.892, HTTP traffic model")]
        pub request: SizeDistribution = "350 B", 1..=1_000_000_000;
        /// Application data of a page without its objects, and of an object.
        #[source("Barford and Crovella 1998, section 3.1")]
        pub size: SizeDistribution = "lognormal 27.6 KB, deviation 59.7 KB", 1..=1e12;
        /// Objects of a page.
        #[source("Barford and Crovella 1998, section 3.1")]
        pub objects: CountDistribution = "pareto 1.7, shape 2.43", 0..=1_000_000;
        /// Pause from the end of a page to the request of the next.
        #[source("Barford and Crovella 1998, section 3.1")]
        pub think: TimeDistribution = "pareto 3 s, shape 1.5", 0..=86_400;
        /// Pages in all; 0 is unlimited.
        #[source("Mah 1997, consecutive document retrievals")]
        pub count: u64 = "0", 0..=1e12;
        /// Connections of the objects: a new one for each, or those that the previous page opened.
        #[source("RFC 9112, section 9.3")]
        pub connection: ConnectionReuse = "new";
    }
}

impl ApplicationSpec for WebSettings {
    fn flow_directions(&self) -> Vec<FlowDirection> {
        RequestResponse::flow_directions_of_exchanges(self.connections)
    }

    fn wants_delivery_events(&self) -> bool {
        true
    }

    fn instantiate(&self, rng: Rng) -> Box<dyn Application> {
        let exchanges = (0..self.connections).map(|number| RequestResponse::new(number, self.connection)).collect();
        let [requests, sizes, objects, thinks] = ["requests", "sizes", "objects", "thinks"].map(|purpose| rng.for_purpose(purpose));
        let streams = RngStreams { requests, sizes, objects, thinks };
        let page = PageFetch { began: Time::ZERO, bytes: 0, waiting: 0, fetches_in_progress: 0 };
        Box::new(WebClient { spec: self.clone(), streams, exchanges, page, finished: 0, next: None })
    }
}

/// One random stream per kind of draw, so that more draws of one kind do not shift those of another.
struct RngStreams {
    requests: Rng,
    sizes: Rng,
    objects: Rng,
    thinks: Rng,
}

struct WebClient {
    spec: WebSettings,
    streams: RngStreams,
    exchanges: Vec<RequestResponse>,
    page: PageFetch,
    finished: u64,
    /// Start of the next page.
    next: Option<Time>,
}

/// The page that is being fetched.
struct PageFetch {
    began: Time,
    bytes: u64,
    /// Objects not requested yet.
    waiting: u64,
    /// Exchanges in progress.
    fetches_in_progress: u32,
}

impl Application for WebClient {
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls) {
        match event {
            AppEvent::Start | AppEvent::Timer => self.start_page(now, calls),
            AppEvent::Delivered(member, bytes) => {
                let number = RequestResponse::exchange_index(member);
                if self.exchanges[number].on_delivered(member, bytes, calls) {
                    self.on_fetched(number, now, calls);
                }
            }
            AppEvent::Opened(_) | AppEvent::Acknowledged(_) => {}
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.next
    }
}

impl WebClient {
    /// Requests the page itself, and draws its number of objects.
    fn start_page(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        self.next = None;
        self.page = PageFetch { began: now, bytes: 0, waiting: self.spec.objects.draw(&mut self.streams.objects), fetches_in_progress: 0 };
        self.fetch_on_exchange(PAGE_EXCHANGE, calls);
    }

    fn fetch_on_exchange(&mut self, number: usize, calls: &mut dyn EngineCalls) {
        let request = self.spec.request.draw(&mut self.streams.requests);
        let size = self.spec.size.draw(&mut self.streams.sizes);
        self.page.fetches_in_progress += 1;
        self.page.bytes += size;
        self.exchanges[number].send_request(request, size, calls);
    }

    /// Processes the end of an exchange: it fetches the next object, and after the page itself all exchanges start.
    fn on_fetched(&mut self, number: usize, now: Time, calls: &mut dyn EngineCalls) {
        let was_alone = self.page.fetches_in_progress == 1;
        self.page.fetches_in_progress -= 1;
        let free = if was_alone { 0..self.exchanges.len() } else { number..number + 1 };
        for number in free {
            if self.page.waiting > 0 {
                self.page.waiting -= 1;
                self.fetch_on_exchange(number, calls);
            }
        }
        if self.page.fetches_in_progress == 0 {
            self.finish_page(now, calls);
        }
    }

    fn finish_page(&mut self, now: Time, calls: &mut dyn EngineCalls) {
        self.finished += 1;
        let member = self.exchanges[PAGE_EXCHANGE].server;
        calls.record_transaction(&FinishedTransaction { flow: member, started_at: self.page.began, bytes: self.page.bytes });
        if self.finished < self.spec.count || self.spec.count == 0 {
            self.next = Some(now + self.spec.think.draw(&mut self.streams.thinks));
        } else {
            (0..2 * self.spec.connections as FlowIndex).for_each(|member| calls.finish_flow(member));
        }
    }
}

/// Exchange that fetches the page itself.
const PAGE_EXCHANGE: usize = 0;

#[cfg(test)]
mod tests {
    use ecnlab_units::{Span, Values};

    use super::super::testing::{CallRecorder, RecordedCall};
    use super::super::{AppWrite, FinishedTransaction};
    use super::*;

    fn web_application(parameters: &[(&str, &str)]) -> Box<dyn Application> {
        let mut values = Values::defaults(WebSettings::PARAMETERS);
        let plain = [("request", "10 B"), ("size", "500 B"), ("think", "2 s"), ("connections", "2")];
        plain.iter().chain(parameters).for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        WebSettings::from_values(&values).instantiate(Rng::for_role(1, "source 0"))
    }

    /// Completes the oldest exchange in progress, `exchanges` times; returns the exchanges in the order in which they ended.
    fn complete_fetches(running: &mut dyn Application, exchanges: usize, tape: &mut CallRecorder) -> Vec<FlowIndex> {
        let mut ended = Vec::new();
        for second in 1..=exchanges as u64 {
            let opened = tape
                .recorded
                .iter()
                .filter_map(|asked| if let RecordedCall::OpenConnection(member, _) = asked { Some(*member) } else { None });
            let client = opened.clone().nth(ended.len()).unwrap();
            running.on_event(AppEvent::Delivered(client, 10), Time::ZERO + Span::from_secs(second), tape);
            running.on_event(AppEvent::Delivered(client + 1, 500), Time::ZERO + Span::from_secs(second), tape);
            ended.push(client);
        }
        ended
    }

    #[test]
    fn the_page_comes_first_and_its_objects_over_all_connections_after_it() {
        let (mut running, mut tape) = (web_application(&[("objects", "3"), ("count", "1")]), CallRecorder::default());
        running.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        assert_eq!(vec![RecordedCall::OpenConnection(0, AppWrite::keep_open(10))], tape.recorded);
        assert_eq!(vec![0, 0, 2, 0], complete_fetches(&mut *running, 4, &mut tape));
        let page = RecordedCall::RecordTransaction(FinishedTransaction { flow: 1, started_at: Time::ZERO, bytes: 2000 });
        assert_eq!(
            [page, RecordedCall::FinishFlow(0), RecordedCall::FinishFlow(1), RecordedCall::FinishFlow(2), RecordedCall::FinishFlow(3)],
            tape.recorded[tape.recorded.len() - 5..]
        );
        assert_eq!(None, running.deadline());
    }

    #[test]
    fn a_page_without_objects_is_read_at_once_and_followed_by_the_next() {
        let (mut running, mut tape) = (web_application(&[("objects", "0")]), CallRecorder::default());
        running.on_event(AppEvent::Start, Time::ZERO, &mut tape);
        complete_fetches(&mut *running, 1, &mut tape);
        assert_eq!(Some(Time::ZERO + Span::from_secs(3)), running.deadline());
        running.on_event(AppEvent::Timer, Time::ZERO + Span::from_secs(3), &mut tape);
        assert_eq!(Some(&RecordedCall::OpenConnection(0, AppWrite::keep_open(10))), tape.recorded.last());
    }

    #[test]
    fn pages_are_as_large_as_barford_and_crovella_found_them() {
        const PAGES: u32 = 20_000;
        let settings = WebSettings::from_values(&Values::defaults(WebSettings::PARAMETERS));
        let (mut sizes, mut objects) = (Rng::for_role(1, "sizes"), Rng::for_role(1, "objects"));
        let mut draws: Vec<_> = (0..PAGES).map(|_| settings.size.draw(&mut sizes)).collect();
        draws.sort_unstable();
        // The median is exp(9.357); its standard deviation is sqrt(pi / 2) sigma / sqrt(n) of it, that is 1.2 %.
        let median = draws[PAGES as usize / 2] as f64 / 9.357f64.exp();
        assert!((median - 1.0).abs() < 0.05, "{median}");
        let none = (0..PAGES).filter(|_| settings.objects.draw(&mut objects) == 1).count() as f64 / f64::from(PAGES);
        // The probability below 1.5 is 1 - (k / 1.5)^2.43 with k = 1.7 * 1.43 / 2.43.
        let expected = 1.0 - (1.7f64 * 1.43 / 2.43 / 1.5).powf(2.43);
        assert!((none - expected).abs() < 4.0 * 0.5 / f64::from(PAGES).sqrt(), "{none} in place of {expected}");
    }
}
