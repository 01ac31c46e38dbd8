//! Host backend: sockets, or anything else that does what applications ask for.

use std::io;

use ecnlab_sim::HostInput;
use ecnlab_transport::AppWrite;
use ecnlab_units::Time;

use super::observer::ConnectionObserver;
use crate::address::{AddressSlot, Side};
use crate::host::Host;
use crate::sys::{Poller, ReadyEvent};

/// Tokens below this are the router's own, one for each host.
pub const FIRST_BACKEND_TOKEN: u64 = 1 << 32;

/// What an application asks its hosts for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AppRequest {
    /// A new connection from the near to the far side of the slot, or datagrams, and this to be sent over it. What was there before is
    /// forgotten. `connection` counts those of the flow from 0.
    Open { flow: u32, slot: AddressSlot, connection: u32, demand: AppWrite },
    /// This is to be sent from the far to the near side over the connection that flow `to` has opened.
    Answer { flow: u32, slot: AddressSlot, opener: u32, demand: AppWrite },
    /// This is to be sent too, from a side of the slot, over its connection or as datagrams.
    Write { flow: u32, slot: AddressSlot, side: Side, demand: AppWrite },
}

/// Non-blocking host backend, called from the event loop.
///
/// Per-connection failures are counted, not returned; an error ends the run.
pub trait HostBackend {
    /// # Errors
    /// If the system refuses what a run cannot go on without.
    fn on_request(&mut self, request: AppRequest, context: &mut BackendContext) -> io::Result<()>;

    /// Something has come of a descriptor that was added with a token from [`FIRST_BACKEND_TOKEN`] on.
    ///
    /// # Errors
    /// As above.
    fn on_descriptor_ready(&mut self, ready: ReadyEvent, context: &mut BackendContext) -> io::Result<()>;

    /// A packet of TCP has been given to the host at a side of a slot. `echoes` says that it echoes a mark, the first time in a window.
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

    /// The host at a side of a slot has sent again what it had sent before, which is when its kernel knows why.
    ///
    /// # Errors
    /// As above.
    fn on_retransmission(&mut self, _slot: AddressSlot, _side: Side, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    /// What the kernel tells of the connection of the host at a side of a slot, whose port this is, is to be written down: after the packet
    /// that it was just given, or after its timer has sent something.
    ///
    /// # Errors
    /// As above.
    fn record_tcp_info(&mut self, _slot: AddressSlot, _port: u16, _by_timer: bool, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    /// When [`HostBackend::on_timer`] is to be called next.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// That time has come.
    ///
    /// # Errors
    /// As above.
    fn on_timer(&mut self, _context: &mut BackendContext) -> io::Result<()> {
        Ok(())
    }

    /// The run is over: what is still to be told is told now.
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
    /// The time of this iteration of the loop, by which all in it happens.
    pub now: Time,
    pub poller: &'a Poller,
    pub hosts: &'a [Host],
    /// Inputs to the engine at [`BackendContext::now`], in order.
    pub host_inputs: &'a mut Vec<(u32, HostInput)>,
    /// Observes connections, if somebody does.
    pub observer: Option<&'a mut dyn ConnectionObserver>,
}

impl BackendContext<'_> {
    /// Tells the engine something of a flow's hosts, at [`BackendContext::now`].
    pub fn push_host_input(&mut self, flow: u32, input: HostInput) {
        self.host_inputs.push((flow, input));
    }
}

/// No hosts: packets come from elsewhere.
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
