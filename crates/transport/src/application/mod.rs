//! Applications: sources of data over time.
//!
//! A flow with a single write, such as an endless transfer, needs no application: the engine starts it. An application acts over time. It
//! owns flows, its *members*; it receives events and calls the engine:
//!
//! ```text
//!              Start, Timer, Opened, Delivered, Acknowledged
//!     engine  ----------------------------------------------->  application
//!             <-----------------------------------------------
//!              open_connection, write_reverse, write, redraw_for_flow_number, record_transaction, finish_flow
//! ```
//!
//! It does not depend on the engine, on packets or on a transport: its units are bytes and times.

mod arrivals;
mod cbr;
mod exchange;
mod onoff;
mod paced;
mod poisson;
mod replay;
mod telnet;
#[cfg(test)]
mod testing;
mod transactions;
mod video;
mod web;

use std::fmt::Debug;
use std::sync::Arc;

use ecnlab_units::{Parameter, Rng, Span, Time, Values, parameters, words};

pub use replay::parse_list;
pub use transactions::{GapDistribution, TransactionsSettings};

use arrivals::ArrivalsSettings;
use cbr::CbrSettings;
use exchange::ExchangeSettings;
use onoff::OnOffSettings;
use poisson::PoissonSettings;
use replay::{ListReplaySettings, ReplayAs};
use telnet::TelnetSettings;
use video::VideoSettings;
use web::WebSettings;

/// A write of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppWrite {
    /// Application data.
    pub bytes: u64,
    /// The application closes the connection after this write.
    pub closes: bool,
}

impl AppWrite {
    /// More bytes than any run can send.
    pub const ENDLESS: AppWrite = AppWrite { bytes: u64::MAX, closes: false };

    /// A write on a connection that stays open.
    pub const fn keep_open(bytes: u64) -> AppWrite {
        AppWrite { bytes, closes: false }
    }

    /// A write of `packets` full packets of `payload` bytes, on a connection that stays open.
    pub const fn full_packets(packets: u64, payload: u32) -> AppWrite {
        AppWrite::keep_open(packets * payload as u64)
    }

    /// A write after which the application closes the connection.
    pub const fn then_close(bytes: u64) -> AppWrite {
        AppWrite { bytes, closes: true }
    }
}

/// Index of one of an application's flows, from 0.
pub type FlowIndex = u32;

/// Event for an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// The application starts.
    Start,
    /// Its deadline is reached.
    Timer,
    /// A member's connection is open: the handshake is complete.
    Opened(FlowIndex),
    /// A member's receiver can read this many more bytes; sent only with [`ApplicationSpec::wants_delivery_events`].
    Delivered(FlowIndex, u64),
    /// All data of a member is acknowledged. Never for datagrams.
    Acknowledged(FlowIndex),
}

/// A running application.
pub trait Application: Send {
    /// Processes an event.
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls);

    /// Time of the next [`AppEvent::Timer`]; read after each event.
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// Calls of an application to the engine. The first call for a new member of an application with a growing number of flows creates that
/// member.
pub trait EngineCalls {
    /// Opens a new connection for the member and writes to it. The member's previous connection is dropped.
    fn open_connection(&mut self, member: FlowIndex, app_write: AppWrite);

    /// Writes in the reverse direction of the connection that `to` opened. There is no second handshake, and ECN is used if it was
    /// negotiated.
    fn write_reverse(&mut self, member: FlowIndex, to: FlowIndex, app_write: AppWrite);

    /// Writes to the member's connection, or sends datagrams.
    fn write(&mut self, member: FlowIndex, app_write: AppWrite);

    /// Makes the member flow `number` of its group: values drawn per flow number, such as its access delay, are redrawn.
    fn redraw_for_flow_number(&mut self, member: FlowIndex, number: u64);

    /// Records the end of a transaction of the member.
    fn record_transaction(&mut self, transfer: &FinishedTransaction);

    /// Declares that the member will not write any more.
    fn finish_flow(&mut self, member: FlowIndex);
}

/// A finished transaction of a user, such as a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedTransaction {
    /// Flow that the transaction belongs to.
    pub flow: FlowIndex,
    pub started_at: Time,
    /// Bytes of application data in the transaction.
    pub bytes: u64,
}

/// A kind of application with its parameters, shared by all such applications of a group.
pub trait ApplicationSpec: Debug + Send + Sync {
    /// Direction of each of its flows.
    fn flow_directions(&self) -> Vec<FlowDirection> {
        vec![FlowDirection::Along]
    }

    /// Whether it opens further flows along the route besides its members.
    fn spawns_flows(&self) -> bool {
        false
    }

    /// Whether it wants [`AppEvent::Delivered`].
    fn wants_delivery_events(&self) -> bool {
        false
    }

    /// Warnings for a run that lasts `_lasting` after the start, as pairs of parameter name and explanation with a remedy.
    fn warnings(&self, _lasting: Span) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// When it opens connections of its TCP flows and writes to them.
    fn timing_of_writes(&self) -> WriteTimes {
        WriteTimes::Any
    }

    /// Creates a running application with its random stream.
    fn instantiate(&self, rng: Rng) -> Box<dyn Application>;
}

/// When an application opens connections and writes to them. The engine computes flows ahead of the simulated time up to the next write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteTimes {
    /// At any event.
    Any,
    /// While all data of the flow are acknowledged. It does not react to [`AppEvent::Delivered`].
    WhileIdle,
    /// At its own timer, on a connection that it opens once. It does not react to [`AppEvent::Delivered`].
    AtTimer,
}

words! {
    /// Direction of a flow.
    pub enum FlowDirection {
        /// Along the route of its group.
        Along = "along",
        /// Against it, as a client's request goes whose answer comes along.
        Against = "against",
    }
}

/// Traffic of the flows of a group.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Each flow sends this write at its start, and nothing after it.
    Once(AppWrite),
    /// An application generates the writes.
    Application(Arc<dyn ApplicationSpec>),
}

impl Traffic {
    /// Number of flows at the start: those of one application, or the one without an application.
    pub fn initial_flows(&self) -> u64 {
        match self {
            Traffic::Once(_) => 1,
            Traffic::Application(spec) => (spec.flow_directions().len() as u64).max(1),
        }
    }

    /// Number of these flows with their own result row: those in the direction of the route.
    pub fn result_rows(&self) -> u64 {
        match self {
            Traffic::Once(_) => 1,
            Traffic::Application(spec) => spec.flow_directions().iter().filter(|&&heading| heading == FlowDirection::Along).count() as u64,
        }
    }

    /// Whether flows arrive and leave during the run.
    pub fn spawns_flows(&self) -> bool {
        matches!(self, Traffic::Application(spec) if spec.spawns_flows())
    }
}

words! {
    /// Over which connection a transfer goes.
    pub enum ConnectionReuse {
        /// A new one.
        New = "new",
        /// That of the transfer before.
        Keep = "keep",
    }
}

/// What may carry the data of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowedTransport {
    /// It waits for acknowledgements.
    Tcp,
    /// It keeps its own time, whatever becomes of its packets.
    Either,
}

/// A kind of traffic by name. A new kind needs an entry here and, if it acts over time, a file in this folder.
pub struct ApplicationEntry {
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// Contradictions among the parameters, as pairs of parameter name and explanation.
    pub check: fn(&Values) -> Vec<(&'static str, String)>,
    /// Transports that may carry it.
    pub allowed_transport: AllowedTransport,
    /// Traffic of flows whose full packets carry this many bytes.
    pub traffic: fn(&Values, u32) -> Traffic,
}

fn application(spec: impl ApplicationSpec + 'static) -> Traffic {
    Traffic::Application(Arc::new(spec))
}

pub const APPLICATIONS: &[ApplicationEntry] = &[
    ApplicationEntry {
        name: "bulk",
        title: "Endless bulk transfer",
        summary: "Sends data without end.",
        source: "ns-2 Application/FTP",
        parameters: &[],
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |_, _| Traffic::Once(AppWrite::ENDLESS),
    },
    ApplicationEntry {
        name: "file",
        title: "Finite transfer",
        summary: "Sends a number of packets or bytes, and ends when all are acknowledged. Exactly one of the two is required.",
        source: "ns-2 Application/FTP, produce",
        parameters: FileParameters::PARAMETERS,
        check: |values| FileParameters::from_values(values).contradictions(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, payload| Traffic::Once(FileParameters::from_values(values).app_write(payload)),
    },
    ApplicationEntry {
        name: "transactions",
        title: "Transfers with pauses",
        summary: "Sends a transfer, pauses after all of it is acknowledged, and sends the next, each over a new connection or all over \
            one.",
        source: "Mah 1997; RFC 9112, section 9.3",
        parameters: TransactionsSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| application(TransactionsSettings::from_values(values)),
    },
    ApplicationEntry {
        name: "exchange",
        title: "Requests and responses",
        summary: "A client connects and sends a request, the server responds, both close, and the next exchange begins. An exchange is one transaction.",
        source: "RFC 2884, section 5.3: netperf's connect, request, response",
        parameters: ExchangeSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| application(ExchangeSettings::from_values(values)),
    },
    ApplicationEntry {
        name: "web",
        title: "Web pages",
        summary: "Fetches a page, then its objects over a few parallel connections, then pauses. A page with its objects is one \
            transaction.",
        source: "Barford and Crovella 1998; Mah 1997",
        parameters: WebSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| application(WebSettings::from_values(values)),
    },
    ApplicationEntry {
        name: "video",
        title: "Adaptive video",
        summary: "Fetches a video segment by segment, at the rate that its buffer or the throughput allows. A segment is one transaction.",
        source: "Huang, Johari, McKeown, Trunnell and Watson 2014",
        parameters: VideoSettings::PARAMETERS,
        check: |values| VideoSettings::from_values(values).contradictions(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| application(VideoSettings::from_values(values).into_application_spec()),
    },
    ApplicationEntry {
        name: "arrivals",
        title: "Finite flows that come and go",
        summary: "Flows arrive at a rate or a load, send their data and end. Each is one transaction; they are counted in their group.",
        source: "Kleinrock 1975; Feldmann, Gilbert, Huang and Willinger 1999",
        parameters: ArrivalsSettings::PARAMETERS,
        check: |values| ArrivalsSettings::from_values(values).check(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| application(ArrivalsSettings::from_values(values)),
    },
    ApplicationEntry {
        name: "replay",
        title: "Finite flows of a list",
        summary: "A flow starts at each time of a list, sends its size and ends. Each is one transaction; they are counted in their group.",
        source: "ns-2 Application/Traffic/Trace",
        parameters: ListReplaySettings::PARAMETERS,
        check: |values| ListReplaySettings::from_values(values).contradictions(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| application(ListReplaySettings::from_values(values).into_application_spec(ReplayAs::Flow)),
    },
    ApplicationEntry {
        name: "messages",
        title: "Messages of a list",
        summary: "Sends a message at each time of a list, all over one connection.",
        source: "ns-2 Application/Traffic/Trace",
        parameters: ListReplaySettings::PARAMETERS,
        check: |values| ListReplaySettings::from_values(values).contradictions(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, _| application(ListReplaySettings::from_values(values).into_application_spec(ReplayAs::Message)),
    },
    ApplicationEntry {
        name: "telnet",
        title: "Somebody who types",
        summary: "Sends a small message after each pause, regardless of earlier ones.",
        source: "ns-2 Application/Telnet; Paxson and Floyd 1995",
        parameters: TelnetSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, _| application(TelnetSettings::from_values(values)),
    },
    ApplicationEntry {
        name: "cbr",
        title: "Constant bit rate",
        summary: "Sends full packets at a constant interval, regardless of losses.",
        source: "ns-2 Application/Traffic/CBR",
        parameters: CbrSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, payload| application(CbrSettings::from_values(values).into_application_spec(payload)),
    },
    ApplicationEntry {
        name: "onoff",
        title: "Bursts and pauses",
        summary: "Sends full packets at a constant interval during bursts, and nothing between bursts.",
        source: "ns-2 Application/Traffic/Exponential and Application/Traffic/Pareto",
        parameters: OnOffSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, payload| application(OnOffSettings::from_values(values).into_application_spec(payload)),
    },
    ApplicationEntry {
        name: "poisson",
        title: "Packets at random",
        summary: "Sends packets, or messages of a random size, after exponential intervals.",
        source: "Kleinrock 1975",
        parameters: PoissonSettings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, payload| application(PoissonSettings::from_values(values).into_application_spec(payload)),
    },
];

parameters! {
    /// A finite transfer as a scenario sets it.
    struct FileParameters {
        /// Data packets to send, all of them full; 0 if bytes is given.
        #[source("ns-2 Agent/TCP, advance")]
        pub packets: u64 = "0", 0..=1e12, "packets";
        /// Application data to send, with a last packet of any size; 0 if packets is given.
        #[source("ns-2 Agent/TCP/FullTcp, sendmsg")]
        pub bytes: u64 = "0", 0..=MAX_TRANSFER_BYTES, "bytes";
    }
}

const MAX_TRANSFER_BYTES: u64 = 1_000_000_000_000_000;

impl FileParameters {
    fn contradictions(&self) -> Vec<(&'static str, String)> {
        match (self.packets, self.bytes) {
            (0, 0) => vec![("packets", "is missing; fix: give the file's size as packets = 1000 or as bytes = \"1 MB\"".to_owned())],
            (0, _) | (_, 0) => Vec::new(),
            (packets, bytes) => vec![("bytes", format!("{bytes} excludes packets {packets}; fix: give one of the two"))],
        }
    }

    fn app_write(&self, payload: u32) -> AppWrite {
        match self.bytes {
            0 => AppWrite { closes: true, ..AppWrite::full_packets(self.packets, payload) },
            bytes => AppWrite::then_close(bytes),
        }
    }
}

pub fn find_application(name: &str) -> Option<&'static ApplicationEntry> {
    APPLICATIONS.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(parameters: &[(&str, &str)]) -> (Values, Vec<(&'static str, String)>) {
        let entry = find_application("file").unwrap();
        let mut values = Values::defaults(entry.parameters);
        parameters.iter().for_each(|(name, text)| values.set_from_text(name, text).unwrap());
        let problems = (entry.check)(&values);
        (values, problems)
    }

    #[test]
    fn a_file_has_packets_or_bytes_and_not_both_or_neither() {
        let wrong = |parameters: &[(&str, &str)]| file_of(parameters).1.first().map(|(name, _)| *name);
        assert_eq!([None, None], [wrong(&[("packets", "3")]), wrong(&[("bytes", "3 KB")])]);
        assert_eq!([Some("packets"), Some("bytes")], [wrong(&[]), wrong(&[("packets", "3"), ("bytes", "3 KB")])]);
    }

    #[test]
    fn a_file_of_packets_fills_each_of_them() {
        let app_write = |size: (&str, &str)| FileParameters::from_values(&file_of(&[size]).0).app_write(960);
        assert_eq!(AppWrite::then_close(2000), app_write(("bytes", "2000")));
        assert_eq!(AppWrite::then_close(7 * 960), app_write(("packets", "7")));
    }
}
