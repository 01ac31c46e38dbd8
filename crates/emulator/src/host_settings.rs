//! Settings of the two hosts of a group as plain data. The mapping derives them from a scenario; hosts and recordings read them.

use ecnlab_transport::settings::KernelControlName;
use ecnlab_units::{Ecn, Span};

/// A sysctl of a host, below `net.ipv4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl {
    pub name: &'static str,
    pub value: String,
    /// A kernel without it behaves as the value requires, or lacks the feature.
    pub may_lack: bool,
}

/// Attributes of a host's routes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteMetrics {
    pub initcwnd: Option<u32>,
    pub rto_min: Option<Span>,
    /// Each segment is acknowledged at once.
    pub quickack: bool,
}

/// Options of the sockets at both ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketSettings {
    pub congestion: KernelControlName,
    pub nodelay: bool,
    /// Acknowledgements wait for a reply that can carry them.
    pub interactive: bool,
    pub pacing: bool,
    /// Bytes.
    pub window_clamp: Option<u32>,
    /// Size of a buffer that does not grow, in bytes.
    pub receive_buffer: Option<u32>,
    /// Bytes.
    pub read_size: u32,
}

/// Sockets for datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSocketSettings {
    pub ecn: Ecn,
    /// Application data in a full packet, in bytes.
    pub payload: u32,
}

/// Settings of the two hosts of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSettings {
    pub sysctls: Vec<Sysctl>,
    /// `tcp_ecn` of the host that opens connections, and of the one that accepts them.
    pub ecn: [u8; 2],
    pub route: RouteMetrics,
    /// MTU of both devices, in bytes.
    pub mtu: u32,
    /// The router makes ECT(1) of ECT(0) in packets that leave either host.
    pub rewrites_ect1: bool,
    pub tcp: Option<SocketSettings>,
    pub datagrams: Option<DatagramSocketSettings>,
}
