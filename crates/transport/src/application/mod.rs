//! Applications: what there is to send, and when.
//!
//! A flow that sends one thing and no more, such as an endless transfer, needs no application: the engine opens it and nobody is woken. An
//! application acts over time. It owns some flows, its *members*, hears of events and answers with calls:
//!
//! ```text
//!              Start, Timer, Opened, Delivered, Acknowledged
//!     engine  ----------------------------------------------->  application
//!             <-----------------------------------------------
//!              open_connection, write_reverse, write, set_flow_number, record_transaction, finish_flow
//! ```
//!
//! It knows no engine, no packet and no transport: it speaks of bytes and of times.

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
pub use transactions::TransactionsSpec;

/// What an application has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppWrite {
    /// Application data.
    pub bytes: u64,
    /// The connection closes behind it.
    pub closes: bool,
}

impl AppWrite {
    /// More than any run can send.
    pub const ENDLESS: AppWrite = AppWrite { bytes: u64::MAX, closes: false };

    /// Data on a connection that stays open.
    pub const fn keep_open(bytes: u64) -> AppWrite {
        AppWrite { bytes, closes: false }
    }

    /// As much data as fills so many packets of `payload` bytes, on a connection that stays open.
    pub const fn full_packets(packets: u64, payload: u32) -> AppWrite {
        AppWrite::keep_open(packets * payload as u64)
    }

    /// Data, and then the end.
    pub const fn then_close(bytes: u64) -> AppWrite {
        AppWrite { bytes, closes: true }
    }
}

/// One of an application's flows, counted from 0.
pub type FlowIndex = u32;

/// What an application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppEvent {
    /// Its start has come.
    Start,
    /// Its deadline has come.
    Timer,
    /// A member's connection is open: the handshake has been answered.
    Opened(FlowIndex),
    /// A member's sink can read so many more bytes; told to those who ask for it ([`ApplicationSpec::wants_delivery_events`]).
    Delivered(FlowIndex, u64),
    /// All that a member had to send is acknowledged. Datagrams are not acknowledged.
    Acknowledged(FlowIndex),
}

/// Something that sends over time, as it runs.
pub trait Application: Send {
    /// Acts on an event.
    fn on_event(&mut self, event: AppEvent, now: Time, calls: &mut dyn EngineCalls);

    /// When it wants [`AppEvent::Timer`]; asked after each event.
    fn deadline(&self) -> Option<Time> {
        None
    }
}

/// What an application may ask for. A member that an application with a growing number of them has not used yet comes into being.
pub trait EngineCalls {
    /// Opens a new connection in the member's place and sends over it. A connection that was there is forgotten.
    fn open_connection(&mut self, member: FlowIndex, app_write: AppWrite);

    /// Sends in the other direction of the connection that `to` opened: nobody shakes hands again, and ECN is used if that one agreed to.
    fn write_reverse(&mut self, member: FlowIndex, to: FlowIndex, app_write: AppWrite);

    /// Sends more over the member's connection, or as datagrams.
    fn write(&mut self, member: FlowIndex, app_write: AppWrite);

    /// From now on the member is flow `number` of its group: what is drawn by a flow's number, such as its access delay, is drawn anew.
    fn set_flow_number(&mut self, member: FlowIndex, number: u64);

    /// Something that a user waited for has ended: it is counted as a transaction of the member.
    fn record_transaction(&mut self, transfer: &FinishedTransaction);

    /// The member has nothing more to send for good.
    fn finish_flow(&mut self, member: FlowIndex);
}

/// What a user waited for, such as a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedTransaction {
    /// The flow that it is counted for.
    pub flow: FlowIndex,
    pub started_at: Time,
    /// Application data that the user wanted.
    pub bytes: u64,
}

/// An application of some kind with its parameters: what all of that kind in a group have in common.
pub trait ApplicationSpec: Debug + Send + Sync {
    /// Which way each of its flows sends.
    fn flow_directions(&self) -> Vec<FlowDirection> {
        vec![FlowDirection::Along]
    }

    /// Whether it opens as many flows along the route as it needs, beside its members.
    fn spawns_flows(&self) -> bool {
        false
    }

    /// Whether it wants [`AppEvent::Delivered`].
    fn wants_delivery_events(&self) -> bool {
        false
    }

    /// What was hardly meant in a run that lasts so long after the start: the parameter's name and why, with the remedy.
    fn warnings(&self, _lasting: Span) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// One that runs, with its random stream.
    fn instantiate(&self, rng: Rng) -> Box<dyn Application>;
}

words! {
    /// Which way a flow sends.
    pub enum FlowDirection {
        /// Along the route of its group.
        Along = "along",
        /// Against it, as a client's request goes whose answer comes along.
        Against = "against",
    }
}

/// What the flows of a group send.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Each flow sends this at its start, and nothing after it.
    Once(AppWrite),
    /// An application says what to send.
    Application(Arc<dyn ApplicationSpec>),
}

impl Traffic {
    /// How many flows there are of it at the start: those of one application, or the one that sends by itself.
    pub fn initial_flows(&self) -> u64 {
        match self {
            Traffic::Once(_) => 1,
            Traffic::Application(spec) => (spec.flow_directions().len() as u64).max(1),
        }
    }

    /// How many of these flows have a row of their own in results: those that send along the route.
    pub fn result_rows(&self) -> u64 {
        match self {
            Traffic::Once(_) => 1,
            Traffic::Application(spec) => spec.flow_directions().iter().filter(|&&heading| heading == FlowDirection::Along).count() as u64,
        }
    }

    /// Whether flows come and go.
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

/// A kind of traffic by name. Adding one is an entry here and, where it acts over time, a file beside this one.
pub struct ApplicationEntry {
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// Contradictions among the parameters: the parameter's name and what is wrong.
    pub check: fn(&Values) -> Vec<(&'static str, String)>,
    /// What may carry it.
    pub allowed_transport: AllowedTransport,
    /// What flows send whose full packets carry this many bytes.
    pub traffic: fn(&Values, u32) -> Traffic,
}

pub const APPLICATIONS: &[ApplicationEntry] = &[
    ApplicationEntry {
        name: "bulk",
        title: "Endless bulk transfer",
        summary: "Always has data to send.",
        source: "ns-2 Application/FTP",
        parameters: &[],
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |_, _| Traffic::Once(AppWrite::ENDLESS),
    },
    ApplicationEntry {
        name: "file",
        title: "Finite transfer",
        summary: "Sends a number of packets, or of bytes, and is done when all are acknowledged. Exactly one of the two is given.",
        source: "ns-2 Application/FTP, produce",
        parameters: FileParameters::PARAMETERS,
        check: |values| FileParameters::from_values(values).contradictions(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, payload| Traffic::Once(FileParameters::from_values(values).app_write(payload)),
    },
    ApplicationEntry {
        name: "transactions",
        title: "Transfers with pauses",
        summary: "Sends a transfer, pauses when all of it is acknowledged, and sends the next, each over a connection of its own or all over one.",
        source: "Mah 1997; RFC 9112, section 9.3",
        parameters: transactions::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| Traffic::Application(Arc::new(transactions::Settings::from_values(values).to_spec())),
    },
    ApplicationEntry {
        name: "exchange",
        title: "Requests and responses",
        summary: "A client connects and sends a request, the server responds, both close, and the next exchange begins. An exchange is one transaction.",
        source: "RFC 2884, section 5.3: netperf's connect, request, response",
        parameters: exchange::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| Traffic::Application(Arc::new(exchange::Settings::from_values(values).into_spec())),
    },
    ApplicationEntry {
        name: "web",
        title: "Web pages",
        summary: "Fetches a page, then its objects over a few connections side by side, then pauses. A page with its objects is one transaction.",
        source: "Barford and Crovella 1998; Mah 1997",
        parameters: web::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| Traffic::Application(Arc::new(web::Settings::from_values(values).into_spec())),
    },
    ApplicationEntry {
        name: "video",
        title: "Adaptive video",
        summary: "Fetches a video segment by segment, in the rate that its buffer or the throughput allows. A segment is one transaction.",
        source: "Huang, Johari, McKeown, Trunnell and Watson 2014",
        parameters: video::Settings::PARAMETERS,
        check: |values| video::Settings::from_values(values).check(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| Traffic::Application(Arc::new(video::Settings::from_values(values).into_spec())),
    },
    ApplicationEntry {
        name: "arrivals",
        title: "Finite flows that come and go",
        summary: "Flows come at a rate or a load, each sends its data and goes. Each is one transaction; they are counted in their group.",
        source: "Kleinrock 1975; Feldmann, Gilbert, Huang and Willinger 1999",
        parameters: arrivals::Settings::PARAMETERS,
        check: |values| arrivals::Settings::from_values(values).check(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| Traffic::Application(Arc::new(arrivals::Settings::from_values(values).into_spec())),
    },
    ApplicationEntry {
        name: "replay",
        title: "Finite flows of a list",
        summary: "A flow comes at each time of a list, sends its size and goes. Each is one transaction; they are counted in their group.",
        source: "ns-2 Application/Traffic/Trace",
        parameters: replay::Settings::PARAMETERS,
        check: |values| replay::Settings::from_values(values).check(),
        allowed_transport: AllowedTransport::Tcp,
        traffic: |values, _| Traffic::Application(Arc::new(replay::Settings::from_values(values).into_spec(replay::ReplayAs::Flow))),
    },
    ApplicationEntry {
        name: "messages",
        title: "Messages of a list",
        summary: "Sends a message at each time of a list, all over one flow.",
        source: "ns-2 Application/Traffic/Trace",
        parameters: replay::Settings::PARAMETERS,
        check: |values| replay::Settings::from_values(values).check(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, _| Traffic::Application(Arc::new(replay::Settings::from_values(values).into_spec(replay::ReplayAs::Message))),
    },
    ApplicationEntry {
        name: "telnet",
        title: "Somebody who types",
        summary: "Sends a small message after each pause, whatever becomes of those before.",
        source: "ns-2 Application/Telnet; Paxson and Floyd 1995",
        parameters: telnet::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, _| Traffic::Application(Arc::new(telnet::Settings::from_values(values).into_spec())),
    },
    ApplicationEntry {
        name: "cbr",
        title: "Constant bit rate",
        summary: "Sends full packets at one interval, whatever becomes of them.",
        source: "ns-2 Application/Traffic/CBR",
        parameters: cbr::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, payload| Traffic::Application(Arc::new(cbr::Settings::from_values(values).to_spec(payload))),
    },
    ApplicationEntry {
        name: "onoff",
        title: "Bursts and pauses",
        summary: "Sends full packets at one interval during bursts, and nothing between them.",
        source: "ns-2 Application/Traffic/Exponential and Application/Traffic/Pareto",
        parameters: onoff::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, payload| Traffic::Application(Arc::new(onoff::Settings::from_values(values).into_spec(payload))),
    },
    ApplicationEntry {
        name: "poisson",
        title: "Packets at random",
        summary: "Sends packets, or messages of a size that is drawn, after exponential intervals.",
        source: "Kleinrock 1975",
        parameters: poisson::Settings::PARAMETERS,
        check: |_| Vec::new(),
        allowed_transport: AllowedTransport::Either,
        traffic: |values, payload| Traffic::Application(Arc::new(poisson::Settings::from_values(values).into_spec(payload))),
    },
];

parameters! {
    /// A finite transfer as a scenario sets it.
    struct FileParameters {
        /// Data packets to send, all of them full; 0 if bytes is given.
        #[source("ns-2 Agent/TCP, advance")]
        pub packets: u64 = "0", 0..=1e12, "packets";
        /// Application data to send, the last packet as short as it comes out; 0 if packets is given.
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
