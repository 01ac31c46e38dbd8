//! Hosts: sockets of a kernel that serve the requests of applications and report the results.
//!
//! ```text
//!   Open     near socket connects; when it is open: Opened, and it sends     far socket accepts and reads: Delivered
//!   Answer   the far socket of that connection sends                         near socket reads: Delivered
//!   Produce  the socket of that side sends more
//! ```
//!
//! No call blocks, and there is no thread: the event loop calls ([`HostBackend`]). The kernel ends closed connections by itself, as for
//! every program that has ended.
//!
//! A kernel reports counters of a socket on request only. They are read when they may have changed: the window at the interval of its
//! samples, the cause of a retransmission when the router sees one, the response to a mark when its echo has arrived, and the state of
//! acknowledgements when the host of a waiting sender has received a packet.

mod connection;
mod counters;
mod datagrams;
mod setup;

use std::io;
use std::net::SocketAddr;

use ecnlab_sim::HostEvent;
use ecnlab_transport::AppWrite;
use ecnlab_units::{Span, Time};

use self::connection::{HostConnection, HostSocket};
pub use self::counters::KernelCounters;
use self::datagrams::HostDatagramSender;
pub use self::setup::{LISTENER_PORT, create_host_pair, host_spec};
use crate::address::{self, AddressFamily, AddressSlot, Side};
use crate::event_loop::{AppRequest, BackendContext, HostBackend};
use crate::host::Host;
use crate::host_settings::HostSettings;
use crate::sys::Namespace;
use crate::sys::poll::{Interest, ReadyEvent};
use crate::sys::socket::{AgreedEcn, Socket, SocketOption};

/// Tokens of hosts' descriptors have this bit, and no others.
pub const BACKEND_TOKEN_BIT: u64 = 1 << 63;

/// Counters of hosts, in addition to their reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// Connections that were requested.
    pub asked: u64,
    /// Connections that opened.
    pub opened: u64,
    /// Attempts to connect that the kernel gave up, each followed by another one.
    pub gave_up: u64,
    /// Connections that broke while they were open.
    pub broken: u64,
    /// Open connections that use ECN.
    pub with_ecn: u64,
    /// Open connections that use Accurate ECN.
    pub with_accurate_ecn: u64,
}

/// The hosts of all groups.
#[derive(Debug)]
pub struct SocketBackend {
    family: AddressFamily,
    groups: Vec<GroupHosts>,
    /// Namespace in which the thread was before.
    original_namespace: Namespace,
    /// The host in whose namespace the thread is, if any.
    current_host: Option<(u32, Side)>,
    is_listening: bool,
    /// Counters of both kernels of each group, after the run.
    pub kernel_counters: Vec<[KernelCounters; 2]>,
    sampler: WindowSampler,
    pub counters: ConnectionCounters,
}

/// Times at which windows are sampled.
#[derive(Clone, Copy, Debug)]
struct WindowSampler {
    every: Option<Span>,
    /// Number of the sample, from 0.
    number: u64,
}

impl WindowSampler {
    /// Shortly before the engine takes its sample, so that the sample has this value.
    fn sample_deadline(&self) -> Option<Time> {
        let every = self.every?.picos();
        let lead = (every / 4).min(Span::from_millis(1).picos());
        Some(Time::from_picos((every * self.number).saturating_sub(lead)))
    }
}

/// The two hosts of a group.
#[derive(Debug)]
struct GroupHosts {
    settings: HostSettings,
    namespaces: [Namespace; 2],
    /// Listening socket of the far host.
    listener: Socket,
    slots: Vec<SlotState>,
}

/// Connection and datagrams of a slot.
#[derive(Debug, Default)]
struct SlotState {
    connection: Option<HostConnection>,
    sender: Option<HostDatagramSender>,
    /// Number of ends so far on either side; a token names one of them.
    generations: [u32; 2],
    /// Connections of a slot use one port after another.
    last_port: u16,
}

impl SlotState {
    /// The token of a new end.
    fn new_token(&mut self, slot: AddressSlot, side: Side) -> u64 {
        let number = &mut self.generations[side as usize];
        *number = number.wrapping_add(1);
        TokenOwner::HostSocket { slot, side, number: *number }.to_token()
    }
}

/// Owner of a token: the listener of a group, or an end of the connection with this number at a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenOwner {
    Listener(u32),
    HostSocket { slot: AddressSlot, side: Side, number: u32 },
}

impl TokenOwner {
    /// Bit 63: descriptor of a host, 62: listener, 61: side, then 7 bits of group, 16 of the slot, 32 of the number.
    fn to_token(self) -> u64 {
        match self {
            TokenOwner::Listener(group) => BACKEND_TOKEN_BIT | 1 << 62 | u64::from(group),
            TokenOwner::HostSocket { slot, side, number } => {
                let side = u64::from(side == Side::Far);
                BACKEND_TOKEN_BIT | side << 61 | u64::from(slot.group) << 48 | u64::from(slot.number) << 32 | u64::from(number)
            }
        }
    }

    fn from_token(token: u64) -> TokenOwner {
        if token & 1 << 62 != 0 {
            return TokenOwner::Listener(token as u32);
        }
        let side = if token & 1 << 61 != 0 { Side::Far } else { Side::Near };
        let slot = AddressSlot { group: (token >> 48) as u32 & 0x7f, number: (token >> 32) as u32 & 0xffff };
        TokenOwner::HostSocket { slot, side, number: token as u32 }
    }
}

impl SocketBackend {
    /// Creates the sockets of existing hosts, two for each group, with these settings. Windows are reported at this interval.
    ///
    /// # Errors
    /// If a host cannot listen.
    ///
    /// # Panics
    /// If a group does not have both hosts.
    pub fn new(family: AddressFamily, settings: Vec<HostSettings>, hosts: &[Host], windows: Option<Span>) -> io::Result<SocketBackend> {
        let group = |(number, settings): (u32, HostSettings)| {
            let of = |side| hosts.iter().find(|host| (host.group, host.side) == (number, side)).expect("a group has two hosts");
            let namespaces = [Side::Near, Side::Far].map(|side| of(side).namespace.clone());
            let listener = namespaces[Side::Far as usize].run_inside(|| setup::open_tcp_or_udp_listener(family, &settings))?;
            Ok(GroupHosts { settings, namespaces, listener, slots: Vec::new() })
        };
        let groups = (0..).zip(settings).map(group).collect::<io::Result<_>>()?;
        Ok(SocketBackend {
            family,
            groups,
            original_namespace: Namespace::current()?,
            current_host: None,
            is_listening: false,
            kernel_counters: Vec::new(),
            sampler: WindowSampler { every: windows, number: 0 },
            counters: ConnectionCounters::default(),
        })
    }

    /// Opens a connection or a flow of datagrams at a slot, and discards an earlier one.
    fn open_flow(&mut self, flow: u32, slot: AddressSlot, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        if self.hosts_of_slot(slot).settings.datagrams.is_some() {
            return self.write_more(flow, slot, Side::Near, demand, context);
        }
        self.counters.asked += 1;
        let mut near = HostSocket::for_flow(flow);
        near.add_demand(demand);
        self.connect_near_socket(slot, near, context)
    }

    /// Begins to connect for a near end that has data to send.
    fn connect_near_socket(&mut self, slot: AddressSlot, mut near: HostSocket, context: &mut BackendContext) -> io::Result<()> {
        self.enter_host(slot.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[slot.group as usize]);
        let tcp = group.settings.tcp.as_ref().expect("the group carries its data by TCP");
        let slot_state = slot_state(&mut group.slots, slot);
        let socket = Socket::stream(family == AddressFamily::V6)?;
        setup::set_socket_options(&socket, tcp)?;
        slot_state.last_port = setup::bind_next_free_port(&socket, family.address(slot, Side::Near), slot_state.last_port)?;
        socket.connect(SocketAddr::new(family.address(slot, Side::Far), LISTENER_PORT))?;
        near.register_connecting_socket(socket, slot_state.new_token(slot, Side::Near), context.poller)?;
        let connection = slot_state.connection.get_or_insert_default();
        connection.port = slot_state.last_port;
        near.identity = Some((slot, Side::Near, connection.port));
        if let (Some(recorder), Some(flow)) = (&mut context.recorder, near.flow) {
            recorder.on_connect(slot, connection.port, flow, context.now);
        }
        connection.ends[Side::Near as usize] = near;
        connection.ends[Side::Far as usize].stop_reporting_reads();
        Ok(())
    }

    /// Sends in the other direction of the connection at a slot.
    fn answer_flow(&mut self, flow: u32, slot: AddressSlot, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        let Some(far) = self.end_mut(slot, Side::Far) else { return Ok(()) };
        far.flow = Some(flow);
        self.send_over_connection(slot, Side::Far, demand, context)
    }

    /// Sends more from a side of a slot.
    fn write_more(&mut self, flow: u32, slot: AddressSlot, side: Side, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        let Some(datagrams) = self.hosts_of_slot(slot).settings.datagrams else {
            return self.send_over_connection(slot, side, demand, context);
        };
        self.enter_host(slot.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[slot.group as usize]);
        let slot_state = slot_state(&mut group.slots, slot);
        if slot_state.sender.is_none() {
            slot_state.last_port = slot_state.last_port.max(setup::FIRST_CLIENT_PORT);
            let token = slot_state.new_token(slot, Side::Near);
            slot_state.sender =
                Some(HostDatagramSender::new(flow, family, slot, slot_state.last_port, datagrams, (context.poller, token))?);
        }
        slot_state.sender.as_mut().expect("it is there now").enqueue_and_send_datagrams(demand, context.poller)
    }

    fn send_over_connection(&mut self, slot: AddressSlot, side: Side, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        let Some(end) = self.end_mut(slot, side) else { return Ok(()) };
        end.add_demand(demand);
        if end.is_open() && !end.flush_unwritten(context)? {
            self.counters.broken += 1;
        }
        self.close_or_update_interest(slot, side, context)
    }

    fn accept(&mut self, group: u32, context: &mut BackendContext) -> io::Result<()> {
        let GroupHosts { listener, slots, settings, .. } = &mut self.groups[group as usize];
        let Some((socket, from)) = listener.accept()? else { return Ok(()) };
        // Accepted sockets do not inherit this from the listener.
        if settings.tcp.as_ref().is_some_and(|tcp| tcp.interactive) {
            socket.set(SocketOption::QuickAckOff)?;
        }
        let slot = address::slot_and_side_of_address(from.ip()).map(|(slot, _)| slot).filter(|slot| slot.group == group);
        let Some((slot, slot_state)) = slot.and_then(|slot| Some((slot, slots.get_mut(slot.number as usize)?))) else { return Ok(()) };
        // A connection from another port is an earlier one, which was discarded.
        if slot_state.connection.as_ref().is_some_and(|connection| connection.port == from.port()) {
            let mut far = HostSocket::from_accepted(socket, slot_state.new_token(slot, Side::Far), context.poller)?;
            far.identity = Some((slot, Side::Far, from.port()));
            slot_state.connection.as_mut().expect("it is there").ends[Side::Far as usize] = far;
        }
        Ok(())
    }

    fn receive_datagrams(&mut self, group: u32, context: &mut BackendContext) -> io::Result<()> {
        let GroupHosts { listener, slots, .. } = &self.groups[group as usize];
        let sender = |from: SocketAddr| slots.get(address::slot_and_side_of_address(from.ip())?.0.number as usize)?.sender.as_ref();
        listener.for_each_discarded_datagram(|from, bytes| {
            if let Some(sender) = sender(from) {
                context.report_host_event(sender.flow, HostEvent::Delivered { bytes });
            }
        })?;
        Ok(())
    }

    fn on_end_ready(&mut self, slot: AddressSlot, side: Side, ready: ReadyEvent, context: &mut BackendContext) -> io::Result<()> {
        let read_size = self.hosts_of_slot(slot).settings.tcp.as_ref().map_or(1 << 16, |tcp| tcp.read_size);
        let Some(connection) = self.connection_mut(slot) else { return Ok(()) };
        let sender = connection.ends[side.other() as usize].flow;
        let end = &mut connection.ends[side as usize];
        if end.is_connecting() {
            return self.on_connect_result(slot, context);
        }
        // The connection may have broken since it became ready.
        if !end.is_open() {
            return Ok(());
        }
        let mut sound = true;
        if ready.read || ready.closed {
            sound &= end.read_and_report(read_size, sender, context)?;
        }
        if ready.write {
            sound &= end.flush_unwritten(context)?;
        }
        self.counters.broken += u64::from(!sound);
        self.close_or_update_interest(slot, side, context)
    }

    /// Handles the reply to the near end's SYN, or the end of its attempts.
    fn on_connect_result(&mut self, slot: AddressSlot, context: &mut BackendContext) -> io::Result<()> {
        let Some(near) = self.end_mut(slot, Side::Near) else { return Ok(()) };
        if near.has_connect_failed()? {
            let near = near.take_as_unconnected();
            self.counters.gave_up += 1;
            return self.connect_near_socket(slot, near, context);
        }
        let agreed = near.on_connected(context)?;
        let sound = near.flush_unwritten(context)?;
        self.counters.opened += 1;
        self.counters.with_ecn += u64::from(agreed != AgreedEcn::None);
        self.counters.with_accurate_ecn += u64::from(agreed == AgreedEcn::Accurate);
        self.counters.broken += u64::from(!sound);
        self.close_or_update_interest(slot, Side::Near, context)
    }

    /// Closes finished sockets, and sets the events to wait for.
    fn close_or_update_interest(&mut self, slot: AddressSlot, side: Side, context: &BackendContext) -> io::Result<()> {
        self.end_mut(slot, side).map_or(Ok(()), |end| end.close_or_update_interest(context.poller))
    }

    /// Reports the window of each sender.
    fn report_windows(&mut self, context: &mut BackendContext) -> io::Result<()> {
        let places = self.groups.iter_mut().flat_map(|group| &mut group.slots);
        let mut ends = places.filter_map(|slot_state| slot_state.connection.as_mut()).flat_map(|connection| &mut connection.ends);
        ends.try_for_each(|end| end.report_window(context))
    }

    /// Waits for connections and datagrams, from the first request on.
    fn register_listeners(&mut self, context: &BackendContext) -> io::Result<()> {
        if std::mem::replace(&mut self.is_listening, true) {
            return Ok(());
        }
        let mut groups = (0..).zip(&self.groups);
        groups.try_for_each(|(number, group)| context.poller.add(&group.listener, TokenOwner::Listener(number).to_token(), Interest::Read))
    }

    /// Moves the thread into the namespace of a host, where it creates sockets.
    fn enter_host(&mut self, group: u32, side: Side) -> io::Result<()> {
        if self.current_host != Some((group, side)) {
            self.groups[group as usize].namespaces[side as usize].enter()?;
            self.current_host = Some((group, side));
        }
        Ok(())
    }

    fn hosts_of_slot(&self, slot: AddressSlot) -> &GroupHosts {
        &self.groups[slot.group as usize]
    }

    fn connection_mut(&mut self, slot: AddressSlot) -> Option<&mut HostConnection> {
        self.groups[slot.group as usize].slots.get_mut(slot.number as usize)?.connection.as_mut()
    }

    fn end_mut(&mut self, slot: AddressSlot, side: Side) -> Option<&mut HostSocket> {
        self.connection_mut(slot).map(|connection| &mut connection.ends[side as usize])
    }
}

/// The thread returns to its earlier namespace, also if a run fails.
impl Drop for SocketBackend {
    fn drop(&mut self) {
        if self.current_host.take().is_some()
            && let Err(why) = self.original_namespace.enter()
        {
            eprintln!("the router's thread cannot leave a host's network namespace: {why}");
        }
    }
}

impl HostBackend for SocketBackend {
    fn on_request(&mut self, request: AppRequest, context: &mut BackendContext) -> io::Result<()> {
        self.register_listeners(context)?;
        match request {
            AppRequest::Open { flow, slot, demand, .. } => self.open_flow(flow, slot, demand, context),
            AppRequest::Answer { flow, slot, demand, .. } => self.answer_flow(flow, slot, demand, context),
            AppRequest::Write { flow, slot, side, demand } => self.write_more(flow, slot, side, demand, context),
        }
    }

    fn on_descriptor_ready(&mut self, ready: ReadyEvent, context: &mut BackendContext) -> io::Result<()> {
        match TokenOwner::from_token(ready.token) {
            TokenOwner::Listener(group) if self.groups[group as usize].settings.datagrams.is_some() => {
                self.receive_datagrams(group, context)
            }
            TokenOwner::Listener(group) => self.accept(group, context),
            TokenOwner::HostSocket { slot, side, number } => {
                // Ignore events of connections that were discarded.
                let slot_state = self.groups[slot.group as usize]
                    .slots
                    .get_mut(slot.number as usize)
                    .filter(|slot_state| slot_state.generations[side as usize] == number);
                match slot_state {
                    None => Ok(()),
                    Some(SlotState { sender: Some(sender), .. }) => sender.send_pending(context.poller),
                    Some(_) => self.on_end_ready(slot, side, ready, context),
                }
            }
        }
    }

    fn on_packet_delivered(
        &mut self,
        slot: AddressSlot,
        side: Side,
        is_first_ecn_echo: bool,
        context: &mut BackendContext,
    ) -> io::Result<()> {
        self.end_mut(slot, side).map_or(Ok(()), |end| end.on_packet_delivered(is_first_ecn_echo, context))
    }

    fn on_retransmission(&mut self, slot: AddressSlot, side: Side, context: &mut BackendContext) -> io::Result<()> {
        self.end_mut(slot, side).map_or(Ok(()), |end| end.on_retransmission(context))
    }

    fn record_tcp_info(&mut self, slot: AddressSlot, port: u16, by_timer: bool, context: &mut BackendContext) -> io::Result<()> {
        match self.connection_mut(slot).filter(|connection| connection.port == port) {
            Some(connection) => connection.ends[Side::Near as usize].record_tcp_info(by_timer, context),
            None => Ok(()),
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.sampler.sample_deadline()
    }

    fn on_timer(&mut self, context: &mut BackendContext) -> io::Result<()> {
        while self.sampler.sample_deadline().is_some_and(|due| due <= context.now) {
            self.sampler.number += 1;
        }
        self.report_windows(context)
    }

    fn finish(&mut self, context: &mut BackendContext) -> io::Result<()> {
        self.report_windows(context)?;
        for group in &self.groups {
            let [near, far] = group.namespaces.each_ref().map(|namespace| namespace.run_inside(KernelCounters::read));
            self.kernel_counters.push([near?, far?]);
        }
        self.current_host = None;
        self.original_namespace.enter()
    }
}

/// The state of a slot, which is created if necessary.
fn slot_state(slots: &mut Vec<SlotState>, slot: AddressSlot) -> &mut SlotState {
    let at = slot.number as usize;
    if slots.len() <= at {
        slots.resize_with(at + 1, SlotState::default);
    }
    &mut slots[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_encodes_its_owner() {
        let ends = [(0, 0, Side::Near, 0), (127, 65_534, Side::Far, u32::MAX), (1, 2, Side::Far, 3)];
        let ends =
            ends.map(|(group, slot, side, number)| TokenOwner::HostSocket { slot: AddressSlot { group, number: slot }, side, number });
        for owner in ends.into_iter().chain([TokenOwner::Listener(0), TokenOwner::Listener(127)]) {
            assert_eq!(owner, TokenOwner::from_token(owner.to_token()));
            assert_ne!(0, owner.to_token() & BACKEND_TOKEN_BIT);
        }
    }
}
