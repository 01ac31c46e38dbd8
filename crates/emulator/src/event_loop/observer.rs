//! Observers of connections: each packet where it enters and leaves the network, and the actions of applications.

use ecnlab_units::{Ecn, Time};
use ecnlab_wire::TcpHeaderWithPorts;

use crate::address::{AddressSlot, Side};
use crate::sys::socket::TcpInfo;

/// A TCP packet that a host at a side of a slot has sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    pub slot: AddressSlot,
    pub side: Side,
    pub handle: u32,
    pub tcp: TcpHeaderWithPorts,
    /// Bytes of the whole packet.
    pub size: u32,
    /// Bytes of data.
    pub payload: u32,
    pub ecn: Ecn,
}

/// Called by the event loop and its hosts. It does not change a run.
pub trait ConnectionObserver: std::fmt::Debug {
    /// The near side of a slot begins to connect from a port, to send a flow.
    fn on_connect(&mut self, slot: AddressSlot, port: u16, flow: u32, now: Time);

    /// A packet has left its host. Returns the near side's port if a timer of its kernel has sent it, to request its `TCP_INFO`.
    fn on_sent(&mut self, sent: SentPacket, now: Time) -> Option<u16>;

    /// A packet was delivered to its host, with this codepoint.
    fn on_delivered(&mut self, handle: u32, ecn: Ecn, now: Time);

    /// A packet is lost.
    fn on_lost(&mut self, handle: u32);

    /// The kernel's `TCP_INFO` of the near side of a slot: after the packet that it just received, or, with `by_timer`, after its timer has
    /// sent something.
    fn on_tcp_info(&mut self, slot: AddressSlot, port: u16, info: TcpInfo, by_timer: bool, now: Time);

    /// A side of the connection at a slot has written this number of bytes in one call.
    fn on_write(&mut self, slot: AddressSlot, port: u16, side: Side, bytes: u64, now: Time);

    /// It has closed its direction.
    fn on_write_shutdown(&mut self, slot: AddressSlot, port: u16, side: Side, now: Time);
}
