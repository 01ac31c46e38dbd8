//! Two QUIC hosts (quinn-proto, a stack without input or output) and a link for each direction, in virtual time.
//!
//! The stack asks for a time, takes packets and returns packets, and so does [`VirtualLink`]. This file connects both; `tests/` has tests of
//! the stack behind queues.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ecnlab_queue::{Datagram, QueueConfig, VirtualLink};
use ecnlab_units::{Ecn, Rate, Rng, Span, Time};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionStats, DatagramEvent, Dir, EcnCodepoint, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
};

/// Bytes of the headers of IPv4 and UDP.
const HEADER_BYTES: u32 = 28;

/// A link for QUIC packets.
pub type Link = VirtualLink<Datagram<Vec<u8>>>;

/// A client, a server, and the links between them.
pub struct Path {
    /// The instant that is time zero.
    start: Instant,
    now: Time,
    pub client: Host,
    pub server: Host,
    pub uplink: Link,
    pub downlink: Link,
}

/// A host with one connection.
pub struct Host {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    stream: Option<StreamId>,
    /// Bytes to send on the stream.
    unsent_bytes: usize,
    /// Bytes read from the stream.
    pub received_bytes: usize,
    pub is_finished: bool,
}

/// A link with this queue, rate and propagation delay.
pub fn link(queue: &QueueConfig, mbps: u64, delay_ms: u64) -> Link {
    let rate = Rate::from_bps(mbps * 1_000_000).expect("a positive rate");
    VirtualLink::new(queue, rate, Span::from_millis(delay_ms), Rng::for_role(1, "quic"))
}

impl Path {
    /// A client that connects at time zero.
    pub fn new(uplink: Link, downlink: Link) -> Path {
        let start = Instant::now();
        let (client_config, server_config) = configs();
        let mut client = Host::new(1, None);
        let connection = client.endpoint.connect(start, client_config, server_address(), "localhost");
        client.connection = Some(connection.expect("valid configuration"));
        Path { start, now: Time::ZERO, client, server: Host::new(2, Some(server_config)), uplink, downlink }
    }

    /// The client opens a stream, and the server sends this many bytes on it. Returns the time at which the client has read all of them.
    ///
    /// # Panics
    /// If nothing is left to happen before that.
    pub fn download(&mut self, bytes: usize) -> Time {
        self.server.unsent_bytes = bytes;
        self.exchange();
        while !self.client.is_finished {
            self.now = self.next_event().expect("a transfer goes on until its end");
            self.exchange();
        }
        self.now
    }

    fn next_event(&mut self) -> Option<Time> {
        let timeouts = [&mut self.client, &mut self.server].map(|host| host.connection.as_mut().and_then(|(_, it)| it.poll_timeout()));
        let timeouts = timeouts.into_iter().flatten().map(|due| Time::ZERO + span(due.saturating_duration_since(self.start)));
        let arrivals = [self.uplink.next_event(), self.downlink.next_event()];
        arrivals.into_iter().flatten().chain(timeouts).min().map(|due| due.max(self.now))
    }

    /// Delivers packets, fires timers and sends packets, all at the current time.
    fn exchange(&mut self) {
        let now = self.start + duration(self.now);
        while let Some((_, packet)) = self.uplink.poll(self.now) {
            self.server.receive(now, packet);
        }
        while let Some((_, packet)) = self.downlink.poll(self.now) {
            self.client.receive(now, packet);
        }
        self.client.send(now, |packet| self.uplink.enqueue(self.now, packet));
        self.server.send(now, |packet| self.downlink.enqueue(self.now, packet));
    }
}

impl Host {
    fn new(number: u8, server: Option<ServerConfig>) -> Host {
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server.map(Arc::new), true, Some([number; 32]));
        Host { endpoint, connection: None, stream: None, unsent_bytes: 0, received_bytes: 0, is_finished: false }
    }

    /// The stack's own statistics.
    pub fn stats(&self) -> ConnectionStats {
        self.connection.as_ref().expect("connected").1.stats()
    }

    fn receive(&mut self, now: Instant, packet: Datagram<Vec<u8>>) {
        let ecn = EcnCodepoint::from_bits(packet.ecn as u8);
        match self.endpoint.handle(now, server_address(), None, ecn, packet.payload.as_slice().into(), &mut Vec::new()) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.as_mut().expect("connected").1.handle_event(event),
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut Vec::new(), None);
                self.connection = Some(accepted.unwrap_or_else(|error| panic!("the server refuses: {:?}", error.cause)));
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// Fires the timer if it is due, lets the application read and write, and hands packets to the link.
    fn send(&mut self, now: Instant, mut enqueue: impl FnMut(Datagram<Vec<u8>>)) {
        let Some((handle, mut connection)) = self.connection.take() else { return };
        if connection.poll_timeout().is_some_and(|due| due <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll() {
            self.on_event(&mut connection, event);
        }
        self.write(&mut connection);
        let mut payload = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut payload) {
            let ecn = transmit.ecn.map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
            let size = transmit.size as u32 + HEADER_BYTES;
            enqueue(Datagram { payload: std::mem::take(&mut payload), size, ecn, flow: 1 });
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(handle, event) {
                connection.handle_event(event);
            }
        }
        self.connection = Some((handle, connection));
    }

    fn on_event(&mut self, connection: &mut Connection, event: Event) {
        match event {
            Event::Connected if connection.side().is_client() => {
                self.stream = connection.streams().open(Dir::Bi);
                let stream = self.stream.expect("the server allows streams");
                connection.send_stream(stream).write(b"GET").expect("an open stream");
            }
            Event::Stream(StreamEvent::Opened { .. }) => self.stream = connection.streams().accept(Dir::Bi),
            Event::Stream(StreamEvent::Readable { id }) => self.read(connection, id),
            Event::ConnectionLost { reason } => panic!("the connection is lost: {reason}"),
            _ => {}
        }
    }

    fn read(&mut self, connection: &mut Connection, stream: StreamId) {
        let mut stream = connection.recv_stream(stream);
        let mut chunks = stream.read(true).expect("a readable stream");
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => self.received_bytes += chunk.bytes.len(),
                Ok(None) => break self.is_finished = true,
                Err(_) => break,
            }
        }
        let _ = chunks.finalize();
    }

    /// Writes as much as the stack buffers.
    fn write(&mut self, connection: &mut Connection) {
        let Some(stream) = self.stream.filter(|_| self.unsent_bytes > 0) else { return };
        let mut stream = connection.send_stream(stream);
        while let Ok(written) = stream.write(&vec![0; self.unsent_bytes.min(1 << 16)]) {
            self.unsent_bytes -= written;
            if self.unsent_bytes == 0 {
                stream.finish().expect("an open stream");
                break;
            }
        }
    }
}

fn server_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 443).into()
}

fn duration(time: Time) -> Duration {
    Duration::from_nanos(time.picos() / 1000)
}

fn span(duration: Duration) -> Span {
    Span::from_picos(duration.as_nanos() as u64 * 1000)
}

/// Configurations with a certificate that the client trusts. Keys of Ed25519 have signatures of one size, so each run has the same packets.
fn configs() -> (ClientConfig, ServerConfig) {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).expect("a key");
    let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a valid name");
    parameters.serial_number = Some(1.into());
    let certificate = parameters.self_signed(&key).expect("a certificate").der().clone();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("a valid certificate");
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("valid roots");
    let private_key = rustls::pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let mut server = ServerConfig::with_single_cert(vec![certificate], private_key).expect("a valid certificate");
    let mut transport = TransportConfig::default();
    transport.enable_segmentation_offload(false).mtu_discovery_config(None).receive_window(VarInt::MAX).stream_receive_window(VarInt::MAX);
    let transport = Arc::new(transport);
    client.transport_config(transport.clone());
    server.transport_config(transport);
    (client, server)
}
