//! A connection between two sockets: the data that each end has to send, and its reports.

use std::io;

use ecnlab_sim::HostEvent;
use ecnlab_transport::{AppWrite, CongestionWindow, SendCounters};

use crate::address::{AddressSlot, Side};
use crate::event_loop::BackendContext;
use crate::sys::poll::{Interest, Poller};
use crate::sys::socket::{AgreedEcn, Socket, TCP_CA_CWR, TCP_CA_LOSS, TcpInfo};

/// A connection and its two ends, the near one first. The far end belongs to the earlier connection until it has accepted the new one,
/// since it may still receive acknowledgements.
#[derive(Debug, Default)]
pub struct HostConnection {
    /// Connection number of the near end.
    pub port: u16,
    pub ends: [HostSocket; 2],
}

/// Socket of one host of a connection, with the flow whose data it sends, if any.
#[derive(Debug, Default)]
pub struct HostSocket {
    pub flow: Option<u32>,
    /// Slot and side, and the near side's port.
    pub identity: Option<(AddressSlot, Side, u16)>,
    socket: Option<Socket>,
    token: u64,
    interest: Option<Interest>,
    state: ConnectState,
    /// The other end already belongs to another connection.
    is_orphaned: bool,
    /// Bytes that are not written yet, and all bytes requested so far.
    unwritten: u64,
    total_demand: u64,
    /// It closes after these bytes.
    closes_after_write: bool,
    /// It has shut down its direction.
    has_sent_fin: bool,
    /// The other end has shut down its direction.
    has_read_fin: bool,
    /// It reports when all data is acknowledged.
    awaits_ack: bool,
    retransmissions: ReportedRetransmissionCounts,
}

/// Retransmissions of a connection that were reported so far.
#[derive(Clone, Copy, Debug, Default)]
struct ReportedRetransmissionCounts {
    segments: u32,
    /// Timeouts of the outstanding segment, the first after this number of acknowledged bytes.
    timeouts: u8,
    acked: u64,
}

impl ReportedRetransmissionCounts {
    /// Counters to report for a segment that the router has seen twice; `None` if this socket has not sent it.
    fn count_retransmission_by_cause(&mut self, info: &TcpInfo) -> Option<SendCounters> {
        if self.segments >= info.total_retrans {
            return None;
        }
        self.segments += 1;
        // The kernel resets its count when new data is acknowledged.
        if info.bytes_acked != self.acked || info.retransmits < self.timeouts {
            (self.acked, self.timeouts) = (info.bytes_acked, 0);
        }
        let by_timeout = info.ca_state == TCP_CA_LOSS || info.retransmits > 0;
        let timeouts = info.retransmits - std::mem::replace(&mut self.timeouts, info.retransmits);
        Some(SendCounters {
            retransmitted_fast: u64::from(!by_timeout),
            retransmitted_timeout: u64::from(by_timeout),
            timeouts: u64::from(timeouts),
            ..SendCounters::default()
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ConnectState {
    /// An end without a socket.
    #[default]
    None,
    Connecting,
    Open,
}

impl HostSocket {
    pub fn for_flow(flow: u32) -> HostSocket {
        HostSocket { flow: Some(flow), ..HostSocket::default() }
    }

    pub fn is_open(&self) -> bool {
        self.state == ConnectState::Open
    }

    pub fn is_connecting(&self) -> bool {
        self.state == ConnectState::Connecting
    }

    /// A near end that begins to connect with this socket.
    pub fn register_connecting_socket(&mut self, socket: Socket, token: u64, poller: &Poller) -> io::Result<()> {
        poller.add(&socket, token, Interest::Write)?;
        (self.socket, self.token, self.interest, self.state) = (Some(socket), token, Some(Interest::Write), ConnectState::Connecting);
        Ok(())
    }

    /// A far end that has accepted a connection with this socket.
    pub fn from_accepted(socket: Socket, token: u64, poller: &Poller) -> io::Result<HostSocket> {
        poller.add(&socket, token, Interest::Read)?;
        Ok(HostSocket { socket: Some(socket), token, interest: Some(Interest::Read), state: ConnectState::Open, ..HostSocket::default() })
    }

    /// The other end belongs to another connection from now on, and data that this one still reads is discarded.
    pub fn stop_reporting_reads(&mut self) {
        self.is_orphaned = true;
    }

    /// Whether the kernel has given up the attempt to connect.
    pub fn has_connect_failed(&self) -> io::Result<bool> {
        Ok(self.socket.as_ref().map_or(Ok(None), Socket::take_error)?.is_some())
    }

    /// The same end before it began to connect.
    pub fn take_as_unconnected(&mut self) -> HostSocket {
        HostSocket {
            flow: self.flow,
            unwritten: self.total_demand,
            total_demand: self.total_demand,
            closes_after_write: self.closes_after_write,
            awaits_ack: self.awaits_ack,
            ..HostSocket::default()
        }
    }

    /// Handles the end of the handshake, with its outcome.
    pub fn on_connected(&mut self, context: &mut BackendContext) -> io::Result<AgreedEcn> {
        self.state = ConnectState::Open;
        self.report_host_event(HostEvent::Opened, context);
        self.socket.as_ref().map_or(Ok(AgreedEcn::None), |socket| Ok(socket.tcp_info()?.agreed_ecn()))
    }

    /// Adds data to send.
    pub fn add_demand(&mut self, demand: AppWrite) {
        self.unwritten = self.unwritten.saturating_add(demand.bytes);
        self.total_demand = self.total_demand.saturating_add(demand.bytes);
        self.closes_after_write |= demand.closes;
        self.awaits_ack = true;
    }

    /// Writes the data of the application as far as the kernel accepts it, then shuts down. Returns false if the connection is broken.
    pub fn flush_unwritten(&mut self, context: &mut BackendContext) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Ok(true) };
        while self.unwritten > 0 {
            match socket.send(self.unwritten) {
                Ok(Some(taken)) => {
                    if let (Some(recorder), Some((slot, side, port))) = (&mut context.recorder, self.identity) {
                        recorder.on_write(slot, port, side, taken, context.now);
                    }
                    let most = self.unwritten.min(1 << 18);
                    self.unwritten -= if self.total_demand == u64::MAX { 0 } else { taken };
                    if taken < most {
                        return Ok(true);
                    }
                }
                Ok(None) => return Ok(true),
                Err(why) => return self.on_socket_error(&why),
            }
        }
        if self.closes_after_write && !self.has_sent_fin {
            self.has_sent_fin = true;
            if let (Some(recorder), Some((slot, side, port))) = (&mut context.recorder, self.identity) {
                recorder.on_write_shutdown(slot, port, side, context.now);
            }
            if let Err(why) = socket.shutdown_write() {
                return self.on_socket_error(&why);
            }
        }
        self.report_if_acknowledged(context)?;
        Ok(true)
    }

    /// Reads available data once, and reports it for the flow that sent it. Returns false if the connection is broken.
    pub fn read_and_report(&mut self, max_bytes: u32, from: Option<u32>, context: &mut BackendContext) -> io::Result<bool> {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.has_read_fin) else { return Ok(true) };
        match socket.discard(max_bytes) {
            Ok(Some(0)) => self.has_read_fin = true,
            Ok(Some(bytes)) => from
                .filter(|_| !self.is_orphaned)
                .into_iter()
                .for_each(|flow| context.report_host_event(flow, HostEvent::Delivered { bytes })),
            Ok(None) => {}
            Err(why) => return self.on_socket_error(&why),
        }
        Ok(true)
    }

    /// The connection is broken, unless the call would only block.
    fn on_socket_error(&mut self, why: &io::Error) -> io::Result<bool> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
        if !matches!(why.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut) {
            return Err(io::Error::new(why.kind(), format!("a host's connection: {why}")));
        }
        (self.socket, self.state, self.unwritten) = (None, ConnectState::None, 0);
        Ok(false)
    }

    /// Closes a finished socket, and sets the events to wait for.
    pub fn close_or_update_interest(&mut self, poller: &Poller) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.state == ConnectState::Open) else { return Ok(()) };
        if self.has_read_fin && self.unwritten == 0 {
            if !self.awaits_ack {
                (self.socket, self.state) = (None, ConnectState::None);
            } else if self.interest.take().is_some() {
                // Only its last data or its FIN is unacknowledged, which a packet to the host will change. Both directions are closed, so
                // every wait would end at once with a hang-up.
                poller.remove(socket)?;
            }
            return Ok(());
        }
        let wanted = match (!self.has_read_fin, self.unwritten > 0) {
            (true, true) => Interest::Both,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Nothing,
        };
        match self.interest.replace(wanted) {
            None => poller.add(socket, self.token, wanted)?,
            Some(before) if before != wanted => poller.change(socket, self.token, wanted)?,
            Some(_) => {}
        }
        Ok(())
    }

    /// Reports if all requested data is acknowledged.
    fn report_if_acknowledged(&mut self, context: &mut BackendContext) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.awaits_ack && self.unwritten == 0 && self.state == ConnectState::Open)
        else {
            return Ok(());
        };
        if socket.unacked_bytes()? == 0 {
            self.awaits_ack = false;
            self.report_host_event(HostEvent::Acknowledged, context);
        }
        Ok(())
    }

    /// Handles a packet to the host: it may acknowledge all data, or echo a mark, to which the kernel has responded if its state is CWR.
    pub fn on_packet_delivered(&mut self, is_first_ecn_echo: bool, context: &mut BackendContext) -> io::Result<()> {
        if is_first_ecn_echo
            && let Some(socket) = &self.socket
            && socket.tcp_info()?.ca_state == TCP_CA_CWR
        {
            self.report_host_event(HostEvent::Counters(SendCounters { ecn_reactions: 1, ..SendCounters::default() }), context);
        }
        self.report_if_acknowledged(context)?;
        if self.has_read_fin && !self.awaits_ack { self.close_or_update_interest(context.poller) } else { Ok(()) }
    }

    /// Reads the cause of a retransmission from the kernel, and reports it.
    pub fn on_retransmission(&mut self, context: &mut BackendContext) -> io::Result<()> {
        let (Some(socket), Some(flow)) = (&self.socket, self.flow) else { return Ok(()) };
        if let Some(counted) = self.retransmissions.count_retransmission_by_cause(&socket.tcp_info()?) {
            context.report_host_event(flow, HostEvent::Counters(counted));
        }
        Ok(())
    }

    /// Records the kernel's `TCP_INFO`.
    pub fn record_tcp_info(&self, by_timer: bool, context: &mut BackendContext) -> io::Result<()> {
        if let (Some(recorder), Some((slot, _, port)), Some(socket)) = (&mut context.recorder, self.identity, &self.socket) {
            recorder.on_tcp_info(slot, port, socket.tcp_info()?, by_timer, context.now);
        }
        Ok(())
    }

    fn report_host_event(&self, input: HostEvent, context: &mut BackendContext) {
        if let Some(flow) = self.flow {
            context.report_host_event(flow, input);
        }
    }

    /// Reports the window of a sender that is open.
    pub fn report_window(&mut self, context: &mut BackendContext) -> io::Result<()> {
        let (Some(socket), Some(flow), ConnectState::Open) = (&self.socket, self.flow, self.state) else { return Ok(()) };
        let info = socket.tcp_info()?;
        context.report_host_event(
            flow,
            HostEvent::Window(CongestionWindow { cwnd: f64::from(info.snd_cwnd), ssthresh: ssthresh_segments(info.snd_ssthresh) }),
        );
        Ok(())
    }
}

/// Initial ssthresh of a kernel: the maximum.
fn ssthresh_segments(segments: u32) -> f64 {
    if segments >= i32::MAX as u32 { f64::INFINITY } else { f64::from(segments) }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Time;

    use super::*;

    fn attributed(
        retransmissions: &mut ReportedRetransmissionCounts,
        total_retrans: u32,
        retransmits: u8,
        bytes_acked: u64,
    ) -> Option<[u64; 3]> {
        let ca_state = if retransmits > 0 { TCP_CA_LOSS } else { 0 };
        let info = TcpInfo { total_retrans, retransmits, bytes_acked, ca_state, ..TcpInfo::default() };
        let counters = retransmissions.count_retransmission_by_cause(&info)?;
        Some([counters.retransmitted_fast, counters.retransmitted_timeout, counters.timeouts])
    }

    #[test]
    fn each_timeout_is_counted_once_also_the_first_of_a_later_segment() {
        let mut sent = ReportedRetransmissionCounts::default();
        assert_eq!(Some([0, 1, 1]), attributed(&mut sent, 1, 1, 1000));
        assert_eq!(Some([0, 1, 1]), attributed(&mut sent, 2, 2, 1000), "of the same one");
        assert_eq!(Some([0, 1, 2]), attributed(&mut sent, 3, 2, 9000), "one of them was not seen");
        assert_eq!(Some([0, 1, 0]), attributed(&mut sent, 4, 2, 9000));
        assert_eq!(Some([1, 0, 0]), attributed(&mut sent, 5, 0, 12_000));
        assert_eq!(Some([0, 1, 1]), attributed(&mut sent, 6, 1, 15_000));
    }

    #[test]
    fn an_end_with_a_socket_error_is_not_connecting() {
        let mut end = HostSocket { state: ConnectState::Connecting, ..HostSocket::for_flow(0) };
        assert!(end.is_connecting() && !end.is_open());
        assert!(!end.on_socket_error(&io::ErrorKind::ConnectionReset.into()).unwrap());
        assert!(!end.is_connecting() && !end.is_open());
    }

    #[test]
    fn an_end_that_has_read_the_fin_reports_when_its_last_data_is_acknowledged() {
        let listener = Socket::stream(false).unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        listener.listen().unwrap();
        let socket = Socket::stream(false).unwrap();
        socket.connect(listener.local_address().unwrap()).unwrap();
        let (accepted, _) = std::iter::from_fn(|| Some(listener.accept().unwrap())).flatten().next().unwrap();
        let (poller, mut host_inputs) = (Poller::new().unwrap(), Vec::new());
        let mut end = HostSocket { flow: Some(3), ..HostSocket::from_accepted(socket, 1, &poller).unwrap() };
        end.add_demand(AppWrite::then_close(100));
        end.unwritten = 0;
        end.has_read_fin = true;
        end.close_or_update_interest(&poller).unwrap();
        assert!(end.is_open(), "its last data is not acknowledged yet");
        end.close_or_update_interest(&poller).unwrap();
        let mut context = BackendContext { now: Time::ZERO, poller: &poller, hosts: &[], host_inputs: &mut host_inputs, recorder: None };
        end.on_packet_delivered(false, &mut context).unwrap();
        assert!(matches!(host_inputs[..], [(3, HostEvent::Acknowledged)]), "{host_inputs:?}");
        assert!(!end.is_open(), "nothing is left to wait for");
        drop(accepted);
    }

    #[test]
    fn an_end_with_more_to_send_is_polled_again() {
        let listener = Socket::stream(false).unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        listener.listen().unwrap();
        let socket = Socket::stream(false).unwrap();
        socket.connect(listener.local_address().unwrap()).unwrap();
        let poller = Poller::new().unwrap();
        let mut end = HostSocket { flow: Some(3), ..HostSocket::from_accepted(socket, 1, &poller).unwrap() };
        (end.awaits_ack, end.has_read_fin) = (true, true);
        end.close_or_update_interest(&poller).unwrap();
        assert_eq!(None, end.interest);
        end.add_demand(AppWrite::keep_open(100));
        end.close_or_update_interest(&poller).unwrap();
        assert_eq!(Some(Interest::Write), end.interest);
    }

    #[test]
    fn retransmissions_of_another_socket_are_not_attributed() {
        let mut sent = ReportedRetransmissionCounts::default();
        assert_eq!(None, attributed(&mut sent, 0, 0, 0));
        assert_eq!(Some([1, 0, 0]), attributed(&mut sent, 1, 0, 0));
        assert_eq!(None, attributed(&mut sent, 1, 0, 0));
    }
}
