//! Host backend: sockets, or another implementation of the requests of applications.

use std::io;

use ecnlab_sim::HostEvent;
use ecnlab_transport::AppWrite;
use ecnlab_units::Time;

use crate::address::{AddressSlot, Side};
use crate::host::Host;
use crate::recordings::ConnectionRecorder;
use crate::sys::{Poller, ReadyEvent};

/// Tokens below this belong to the router, one for each host.
pub const FIRST_BACKEND_TOKEN: u64 = 1 << 32;

/// A request of an application to its hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AppRequest {
    /// Open a connection from the near to the far side of the slot, or a flow of datagrams, and send this amount. It replaces an earlier
    /// one. `connection` counts those of the flow from 0.
    Open { flow: u32, slot: AddressSlot, connection: u32, demand: AppWrite },
    /// Send this amount from the far to the near side, over the connection that flow `to` has opened.
    Answer { flow: u32, slot: AddressSlot, opener: u32, demand: AppWrite },
    /// Send this amount in addition, from a side of the slot, over its connection or as datagrams.
    Write { flow: u32, slot: AddressSlot, side: Side, demand: AppWrite },
}

/// Non-blocking host backend, called from the event loop.
///
/// Per-connection failures are counted, not returned; an error ends the run.
pub trait HostBackend {
    /// # Errors
    /// If the system refuses a call that the run needs.
    fn on_request(&mut self, request: AppRequest, context: &mut BackendContext) -> io::Result<()>;

    /// A descriptor is ready that was added with a token from [`FIRST_BACKEND_TOKEN`] on.
    ///
    /// # Errors
    /// As above.
    fn on_descriptor_ready(&mut self, ready: ReadyEvent, context: &mut BackendContext) -> io::Result<()>;

    /// A TCP packet was delivered to the host at a side of a slot. `echoes`: it echoes a mark for the first time in a window.
    ///
    /// # Errors
    /// As above.
    fn on_packet_delivered(
        &mut self,
        _slot: AddressSlot,
        _side: Side,
        _is_first_ecn_echo: bool,
        _context: &mut BackendContext,
    ) -> io::Result<()> {
        Ok(())
    }

    /// The host at a side of a slot has retransmitted data, at which time its kernel knows the cause.
    ///
    /// # Errors
    /// As above.
    fn on_retransmission(&mut self, _slot: AddressSlot, _side: Side, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    /// Records the kernel's `TCP_INFO` of the host at a side of a slot with this port: after the packet that it just received, or after its
    /// timer has sent something.
    ///
    /// # Errors
    /// As above.
    fn record_tcp_info(&mut self, _slot: AddressSlot, _port: u16, _by_timer: bool, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    /// Time of the next call of [`HostBackend::on_timer`].
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The timer has expired.
    ///
    /// # Errors
    /// As above.
    fn on_timer(&mut self, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    /// The run ends; the backend reports the rest.
    ///
    /// # Errors
    /// As above.
    fn finish(&mut self, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }
}

/// Context of a call to the host backend: the time, the poller and the queue of inputs.
#[derive(Debug)]
pub struct BackendContext<'a> {
    /// The time of this iteration of the loop, which all its actions have.
    pub now: Time,
    pub poller: &'a Poller,
    pub hosts: &'a [Host],
    /// Inputs to the engine at [`BackendContext::now`], in order.
    pub host_inputs: &'a mut Vec<(u32, HostEvent)>,
    /// Observer of connections, if any.
    pub recorder: Option<&'a mut ConnectionRecorder>,
}

impl BackendContext<'_> {
    /// Reports an event of a flow's hosts to the engine, at [`BackendContext::now`].
    pub fn report_host_event(&mut self, flow: u32, input: HostEvent) {
        self.host_inputs.push((flow, input));
    }
}

/// Backend without hosts: packets come from another source.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHosts;

impl HostBackend for NoHosts {
    fn on_request(&mut self, _request: AppRequest, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    fn on_descriptor_ready(&mut self, _ready: ReadyEvent, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }
}
