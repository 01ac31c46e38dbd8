//! Hosts: sockets of a kernel that do what applications ask for, and tell what becomes of it.
//!
//! ```text
//!   Open     near socket connects; as it is open: Opened, and it sends       far socket accepts and reads: Delivered
//!   Answer   the far socket of that connection sends                         the near one reads: Delivered
//!   Produce  whichever it is sends more
//! ```
//!
//! Nothing here waits and nothing has a thread: the event loop calls ([`HostBackend`]). What is closed is left to the kernel, which ends a
//! connection by itself as it does for every program that has gone.
//!
//! What a kernel counts it tells of a socket when it is asked, so it is asked when there is news: of the window at the interval of its
//! samples, of the reason for a retransmission when the router sees one pass, whether a mark was answered when its echo has come, and whether
//! all is acknowledged when the host of a sender that waits for it has been given a packet.

mod connection;
mod counters;
mod datagrams;
mod setup;

use std::io;
use std::net::SocketAddr;

use ecnlab_sim::HostInput;
use ecnlab_transport::AppWrite;
use ecnlab_units::{Span, Time};

use self::connection::{HostConnection, HostSocket};
pub use self::counters::KernelCounters;
use self::datagrams::HostDatagramSender;
pub use self::setup::{DISCARD_PORT, create_host_pair, host_spec};
use crate::address::{self, AddressFamily, AddressSlot, Side};
use crate::event_loop::{AppRequest, BackendContext, HostBackend};
use crate::host::Host;
use crate::host_settings::HostSettings;
use crate::sys::Namespace;
use crate::sys::poll::{Interest, ReadyEvent};
use crate::sys::socket::{AgreedEcn, Socket, SocketOption};

/// Tokens of hosts' descriptors have this bit, and no others.
pub const BACKEND_TOKEN_BIT: u64 = 1 << 63;

/// What hosts have counted beside what they have told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounters {
    /// Connections that were asked for.
    pub asked: u64,
    /// Connections that opened.
    pub opened: u64,
    /// Attempts to connect that the kernel gave up, each followed by another one.
    pub gave_up: u64,
    /// Connections that broke while they were open.
    pub broken: u64,
    /// Connections that opened, and use ECN.
    pub with_ecn: u64,
    /// Those of them that use Accurate ECN.
    pub with_accurate_ecn: u64,
}

/// The hosts of all groups.
#[derive(Debug)]
pub struct SocketBackend {
    family: AddressFamily,
    groups: Vec<GroupHosts>,
    /// Where the thread came from.
    original_namespace: Namespace,
    /// The host that the thread is in, if it is in one.
    current_host: Option<(u32, Side)>,
    is_listening: bool,
    /// Of each group what both kernels have counted, once the run is over.
    kernel_counters: Vec<[KernelCounters; 2]>,
    sampler: WindowSampler,
    counters: ConnectionCounters,
}

/// When windows are looked at.
#[derive(Clone, Copy, Debug)]
struct WindowSampler {
    every: Option<Span>,
    /// Which look it is, from 0.
    number: u64,
}

impl WindowSampler {
    fn new(every: Option<Span>) -> WindowSampler {
        WindowSampler { every, number: 0 }
    }

    /// A little before the engine takes its sample, so that this is what it takes.
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
    /// What the far host listens with.
    listener: Socket,
    slots: Vec<SlotState>,
}

/// What sits at a slot.
#[derive(Debug, Default)]
struct SlotState {
    connection: Option<HostConnection>,
    sender: Option<HostDatagramSender>,
    /// How many ends there have been on either side: their descriptors' tokens are of one of them.
    generations: [u32; 2],
    /// Connections of a slot leave from one port after another.
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

/// Whom a token is of: the listener of a group, or an end of the connection with this number at a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenOwner {
    Listener(u32),
    HostSocket { slot: AddressSlot, side: Side, number: u32 },
}

impl TokenOwner {
    /// Bit 63 ours, 62 the listener, 61 the side, 7 bits of group, 16 of the slot, 32 of the number.
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
    /// Sockets for hosts that have been made, two of each group, which have these settings. Windows are told at this interval.
    ///
    /// # Errors
    /// If a host's socket cannot be made to listen.
    ///
    /// # Panics
    /// If a group has not both hosts.
    pub fn new(family: AddressFamily, settings: Vec<HostSettings>, hosts: &[Host], windows: Option<Span>) -> io::Result<SocketBackend> {
        let group = |(number, settings): (u32, HostSettings)| {
            let of = |side| hosts.iter().find(|host| (host.group, host.side) == (number, side)).expect("a group has two hosts");
            let namespaces = [Side::Near, Side::Far].map(|side| of(side).namespace.clone());
            let listener = namespaces[Side::Far as usize].run_inside(|| setup::open_listener(family, &settings))?;
            Ok(GroupHosts { settings, namespaces, listener, slots: Vec::new() })
        };
        let groups = (0..).zip(settings).map(group).collect::<io::Result<_>>()?;
        let (original_namespace, sampler) = (Namespace::current()?, WindowSampler::new(windows));
        Ok(SocketBackend {
            family,
            groups,
            original_namespace,
            current_host: None,
            is_listening: false,
            kernel_counters: Vec::new(),
            sampler,
            counters: ConnectionCounters::default(),
        })
    }

    pub fn counters(&self) -> ConnectionCounters {
        self.counters
    }

    /// Of each group what the kernels of the near and of the far host have counted; nothing before the run is over.
    pub fn kernel_counters(&self) -> &[[KernelCounters; 2]] {
        &self.kernel_counters
    }

    /// A new connection at a slot, or datagrams from it; what was there is forgotten.
    fn open_flow(&mut self, flow: u32, slot: AddressSlot, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        if self.hosts_of_slot(slot).settings.datagrams.is_some() {
            return self.write_more(flow, slot, Side::Near, demand, context);
        }
        self.counters.asked += 1;
        let mut near = HostSocket::for_flow(flow);
        near.add_demand(demand);
        self.connect_near_socket(slot, near, context)
    }

    /// Begins to connect for a near end that has something to send.
    fn connect_near_socket(&mut self, slot: AddressSlot, mut near: HostSocket, context: &mut BackendContext) -> io::Result<()> {
        self.enter_host(slot.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[slot.group as usize]);
        let tcp = group.settings.tcp.as_ref().expect("the group carries its data by TCP");
        let slot_state = slot_state(&mut group.slots, slot);
        let socket = Socket::stream(family == AddressFamily::V6)?;
        setup::set_socket_options(&socket, tcp)?;
        slot_state.last_port = setup::bind_next_free_port(&socket, family.address(slot, Side::Near), slot_state.last_port)?;
        socket.connect(SocketAddr::new(family.address(slot, Side::Far), DISCARD_PORT))?;
        near.start_connect(socket, slot_state.new_token(slot, Side::Near), context.poller)?;
        let connection = slot_state.connection.get_or_insert_default();
        connection.port = slot_state.last_port;
        near.identity = Some((slot, Side::Near, connection.port));
        if let (Some(observer), Some(flow)) = (&mut context.observer, near.flow) {
            observer.on_connect(slot, connection.port, flow, context.now);
        }
        connection.ends[Side::Near as usize] = near;
        connection.ends[Side::Far as usize].orphan();
        Ok(())
    }

    /// Sends in the other direction of the connection at a slot.
    fn answer_flow(&mut self, flow: u32, slot: AddressSlot, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        let Some(far) = self.end_mut(slot, Side::Far) else { return Ok(()) };
        far.flow = Some(flow);
        self.send(slot, Side::Far, demand, context)
    }

    /// Sends more from a side of a slot.
    fn write_more(&mut self, flow: u32, slot: AddressSlot, side: Side, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        let Some(datagrams) = self.hosts_of_slot(slot).settings.datagrams else { return self.send(slot, side, demand, context) };
        self.enter_host(slot.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[slot.group as usize]);
        let slot_state = slot_state(&mut group.slots, slot);
        if slot_state.sender.is_none() {
            slot_state.last_port = slot_state.last_port.max(setup::FIRST_CLIENT_PORT);
            let token = slot_state.new_token(slot, Side::Near);
            slot_state.sender =
                Some(HostDatagramSender::new(flow, family, slot, slot_state.last_port, datagrams, (context.poller, token))?);
        }
        slot_state.sender.as_mut().expect("it is there now").send(demand, context.poller)
    }

    fn send(&mut self, slot: AddressSlot, side: Side, demand: AppWrite, context: &mut BackendContext) -> io::Result<()> {
        let Some(end) = self.end_mut(slot, side) else { return Ok(()) };
        end.add_demand(demand);
        if end.is_open() && !end.flush_unwritten(context)? {
            self.counters.broken += 1;
        }
        self.update_interest(slot, side, context)
    }

    fn accept(&mut self, group: u32, context: &mut BackendContext) -> io::Result<()> {
        let GroupHosts { listener, slots, settings, .. } = &mut self.groups[group as usize];
        let Some((socket, from)) = listener.accept()? else { return Ok(()) };
        // A listener does not hand this on.
        if settings.tcp.as_ref().is_some_and(|tcp| tcp.interactive) {
            socket.set(SocketOption::QuickAckOff)?;
        }
        let slot = address::slot_of_address(from.ip()).map(|(slot, _)| slot).filter(|slot| slot.group == group);
        let Some((slot, slot_state)) = slot.and_then(|slot| Some((slot, slots.get_mut(slot.number as usize)?))) else { return Ok(()) };
        // What comes from another port is of a connection that is forgotten.
        if slot_state.connection.as_ref().is_some_and(|connection| connection.port == from.port()) {
            let mut far = HostSocket::from_accepted(socket, slot_state.new_token(slot, Side::Far), context.poller)?;
            far.identity = Some((slot, Side::Far, from.port()));
            slot_state.connection.as_mut().expect("it is there").ends[Side::Far as usize] = far;
        }
        Ok(())
    }

    fn receive_datagrams(&mut self, group: u32, context: &mut BackendContext) -> io::Result<()> {
        let GroupHosts { listener, slots, .. } = &self.groups[group as usize];
        let sender = |from: SocketAddr| slots.get(address::slot_of_address(from.ip())?.0.number as usize)?.sender.as_ref();
        listener.discard_datagrams(|from, bytes| {
            if let Some(sender) = sender(from) {
                context.push_host_input(sender.flow(), HostInput::Delivered { bytes });
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
        // It may have broken since it was found ready.
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
        self.update_interest(slot, side, context)
    }

    /// The near end has been answered, or given up on.
    fn on_connect_result(&mut self, slot: AddressSlot, context: &mut BackendContext) -> io::Result<()> {
        let Some(near) = self.end_mut(slot, Side::Near) else { return Ok(()) };
        if near.has_connect_failed()? {
            let near = near.reset_for_retry();
            self.counters.gave_up += 1;
            return self.connect_near_socket(slot, near, context);
        }
        let agreed = near.on_connected(context)?;
        let sound = near.flush_unwritten(context)?;
        self.counters.opened += 1;
        self.counters.with_ecn += u64::from(agreed != AgreedEcn::None);
        self.counters.with_accurate_ecn += u64::from(agreed == AgreedEcn::Accurate);
        self.counters.broken += u64::from(!sound);
        self.update_interest(slot, Side::Near, context)
    }

    /// Closes what is over and waits for what there is to wait for.
    fn update_interest(&mut self, slot: AddressSlot, side: Side, context: &BackendContext) -> io::Result<()> {
        self.end_mut(slot, side).map_or(Ok(()), |end| end.update_interest(context.poller))
    }

    /// Tells every sender's window.
    fn report_windows(&mut self, context: &mut BackendContext) -> io::Result<()> {
        let places = self.groups.iter_mut().flat_map(|group| &mut group.slots);
        let mut ends = places.filter_map(|slot_state| slot_state.connection.as_mut()).flat_map(|connection| &mut connection.ends);
        ends.try_for_each(|end| end.report_window(context))
    }

    /// Waits for connections and datagrams, from the first wish on.
    fn start_listening(&mut self, context: &BackendContext) -> io::Result<()> {
        if std::mem::replace(&mut self.is_listening, true) {
            return Ok(());
        }
        let mut groups = (0..).zip(&self.groups);
        groups.try_for_each(|(number, group)| context.poller.add(&group.listener, TokenOwner::Listener(number).to_token(), Interest::Read))
    }

    /// Moves the thread to a host, where it makes sockets.
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

/// The thread goes back to where it was, also when a run breaks off.
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
        self.start_listening(context)?;
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
                // What is ready of a connection that is forgotten is nobody's news.
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

/// The place of a slot, which comes into being.
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
