//! Hosts: sockets of a kernel that do what applications ask for, and tell what becomes of it.
//!
//! ```text
//!   Open     near socket connects; as it is open: Opened, and it sends       far socket accepts and reads: Delivered
//!   Answer   the far socket of that connection sends                         the near one reads: Delivered
//!   Produce  whichever it is sends more
//! ```
//!
//! Nothing here waits and nothing has a thread: whoever drives waits for all descriptors at once, and calls
//!
//! - [`Hosts::ready`] for a descriptor of a token of ours,
//! - [`Hosts::received`] when a packet was given to a host, which may have acknowledged the last of what was sent,
//! - [`Hosts::sent`] when a host has sent a retransmission or a CWR, which is when its kernel knows why it did,
//! - [`Hosts::look`] when windows are to be recorded.
//!
//! What is closed is left to the kernel, which ends a connection by itself as it does for every program that has gone.

mod connection;
mod datagrams;
mod setup;

use std::io;
use std::net::SocketAddr;

use ecnlab_sim::Told;
use ecnlab_transport::Demand;

use self::connection::{Connection, End};
use self::datagrams::Sender;
pub use self::setup::{PORT, make, spec};
use crate::address::{self, Family, Seat, Side};
use crate::host::Host;
use crate::mapping::HostSettings;
use crate::sys::Namespace;
use crate::sys::poll::{Interest, Poller, Ready};
use crate::sys::socket::Socket;

/// What is told to the engine: of a flow, in order.
pub type Tells = Vec<(u32, Told)>;

/// Tokens of hosts' descriptors have this bit, and no others.
pub const TOKENS: u64 = 1 << 63;

/// What hosts have counted beside what they have told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
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
}

/// The hosts of all groups.
#[derive(Debug)]
pub struct Hosts {
    family: Family,
    groups: Vec<Group>,
    /// Where the thread came from.
    home: Namespace,
    /// The host that the thread is in, if it is in one.
    inside: Option<(u32, Side)>,
    counts: HostCounts,
}

/// The two hosts of a group.
#[derive(Debug)]
struct Group {
    settings: HostSettings,
    namespaces: [Namespace; 2],
    /// What the far host listens with.
    listener: Socket,
    seats: Vec<Place>,
}

/// What sits at a seat.
#[derive(Debug, Default)]
struct Place {
    connection: Option<Connection>,
    sender: Option<Sender>,
    /// How many connections there have been: their descriptors' tokens are of one of them.
    number: u32,
    /// Connections of a seat leave from one port after another.
    last_port: u16,
}

/// Whom a token is of: the listener of a group, or an end of the connection with this number at a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whom {
    Listener(u32),
    End { seat: Seat, side: Side, number: u32 },
}

impl Whom {
    /// Bit 63 ours, 62 the listener, 61 the side, 7 bits of group, 16 of the seat, 32 of the number.
    fn token(self) -> u64 {
        match self {
            Whom::Listener(group) => TOKENS | 1 << 62 | u64::from(group),
            Whom::End { seat, side, number } => {
                let side = u64::from(side == Side::Far);
                TOKENS | side << 61 | u64::from(seat.group) << 48 | u64::from(seat.number) << 32 | u64::from(number)
            }
        }
    }

    fn of(token: u64) -> Whom {
        if token & 1 << 62 != 0 {
            return Whom::Listener(token as u32);
        }
        let side = if token & 1 << 61 != 0 { Side::Far } else { Side::Near };
        let seat = Seat { group: (token >> 48) as u32 & 0x7f, number: (token >> 32) as u32 & 0xffff };
        Whom::End { seat, side, number: token as u32 }
    }
}

impl Hosts {
    /// Sockets for hosts that have been made, in the order of the groups: the near and the far host of each.
    ///
    /// # Errors
    /// If a host's socket cannot be made to listen.
    pub fn new(family: Family, settings: &[HostSettings], hosts: &[[Host; 2]], poller: &Poller) -> io::Result<Hosts> {
        let mut made = Hosts { family, groups: Vec::new(), home: Namespace::own()?, inside: None, counts: HostCounts::default() };
        for (group, (settings, [near, far])) in (0..).zip(settings.iter().zip(hosts)) {
            let listener = far.namespace.inside(|| setup::listener(family, settings))?;
            poller.add(&listener, Whom::Listener(group).token(), Interest::Read)?;
            let namespaces = [near.namespace.clone(), far.namespace.clone()];
            made.groups.push(Group { settings: settings.clone(), namespaces, listener, seats: Vec::new() });
        }
        Ok(made)
    }

    pub fn counts(&self) -> HostCounts {
        self.counts
    }

    /// A new connection at a seat, or datagrams from it; what was there is forgotten.
    ///
    /// # Errors
    /// If the system refuses what such a socket needs.
    pub fn open(&mut self, flow: u32, seat: Seat, demand: Demand, poller: &Poller) -> io::Result<()> {
        if self.group(seat).settings.datagrams.is_some() {
            return self.produce(flow, seat, Side::Near, demand, poller, &mut Vec::new());
        }
        self.counts.asked += 1;
        let mut near = End::of(flow);
        near.push(demand);
        self.connect(seat, near, poller)
    }

    /// Begins to connect for a near end that has something to send.
    fn connect(&mut self, seat: Seat, mut near: End, poller: &Poller) -> io::Result<()> {
        self.enter(seat.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[seat.group as usize]);
        let tcp = group.settings.tcp.as_ref().expect("the group carries its data by TCP");
        let place = place(&mut group.seats, seat);
        place.connection = None;
        place.number = place.number.wrapping_add(1);
        let socket = Socket::stream(family == Family::V6)?;
        setup::set_options(&socket, tcp)?;
        place.last_port = setup::bind_next(&socket, family.address(seat, Side::Near), place.last_port)?;
        socket.connect(SocketAddr::new(family.address(seat, Side::Far), PORT))?;
        let token = Whom::End { seat, side: Side::Near, number: place.number }.token();
        near.connects(socket, token, poller)?;
        place.connection = Some(Connection { port: place.last_port, ends: [near, End::default()] });
        Ok(())
    }

    /// Sends in the other direction of the connection at a seat.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn answer(&mut self, flow: u32, seat: Seat, demand: Demand, poller: &Poller, tells: &mut Tells) -> io::Result<()> {
        let Some(far) = self.end(seat, Side::Far) else { return Ok(()) };
        far.flow = Some(flow);
        self.send(seat, Side::Far, demand, poller, tells)
    }

    /// Sends more from a side of a seat.
    ///
    /// # Errors
    /// If the system refuses it.
    pub fn produce(&mut self, flow: u32, seat: Seat, side: Side, demand: Demand, poller: &Poller, tells: &mut Tells) -> io::Result<()> {
        let Some(datagrams) = self.group(seat).settings.datagrams else { return self.send(seat, side, demand, poller, tells) };
        self.enter(seat.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[seat.group as usize]);
        let place = place(&mut group.seats, seat);
        if place.sender.is_none() {
            place.last_port = place.last_port.max(setup::FIRST_PORT);
            let token = Whom::End { seat, side: Side::Near, number: place.number }.token();
            place.sender = Some(Sender::new(flow, family, seat, place.last_port, datagrams, (poller, token))?);
        }
        place.sender.as_mut().expect("it is there now").send(demand, poller)
    }

    fn send(&mut self, seat: Seat, side: Side, demand: Demand, poller: &Poller, tells: &mut Tells) -> io::Result<()> {
        let Some(end) = self.end(seat, side) else { return Ok(()) };
        end.push(demand);
        if end.is_open() && !end.write(tells)? {
            self.counts.broken += 1;
        }
        self.settle(seat, side, poller)
    }

    /// A descriptor with a token of ours is ready.
    ///
    /// # Errors
    /// If the system refuses what is to be done then.
    pub fn ready(&mut self, ready: Ready, poller: &Poller, tells: &mut Tells) -> io::Result<()> {
        match Whom::of(ready.token) {
            Whom::Listener(group) if self.groups[group as usize].settings.datagrams.is_some() => self.take_datagrams(group, tells),
            Whom::Listener(group) => self.accept(group, poller),
            Whom::End { seat, side, number } => {
                let place = self.groups[seat.group as usize].seats.get_mut(seat.number as usize).filter(|place| place.number == number);
                match place {
                    None => Ok(()),
                    Some(Place { sender: Some(sender), .. }) => sender.ready(poller),
                    Some(_) => self.end_ready(seat, side, ready, poller, tells),
                }
            }
        }
    }

    fn accept(&mut self, group: u32, poller: &Poller) -> io::Result<()> {
        let Group { listener, seats, .. } = &mut self.groups[group as usize];
        let Some((socket, from)) = listener.accept()? else { return Ok(()) };
        let seat = address::seat(from.ip()).map(|(seat, _)| seat).filter(|seat| seat.group == group);
        let Some((seat, place)) = seat.and_then(|seat| Some((seat, seats.get_mut(seat.number as usize)?))) else { return Ok(()) };
        let token = Whom::End { seat, side: Side::Far, number: place.number }.token();
        // What comes from another port is of a connection that is forgotten.
        match place.connection.as_mut().filter(|connection| connection.port == from.port()) {
            Some(connection) => connection.ends[Side::Far as usize].is_accepted(socket, token, poller),
            None => Ok(()),
        }
    }

    fn take_datagrams(&mut self, group: u32, tells: &mut Tells) -> io::Result<()> {
        let Group { listener, seats, .. } = &self.groups[group as usize];
        let sender = |from: SocketAddr| seats.get(address::seat(from.ip())?.0.number as usize)?.sender.as_ref();
        listener.discard_datagrams(|from, bytes| {
            if let Some(sender) = sender(from) {
                tells.push((sender.flow(), Told::Delivered { bytes }));
            }
        })?;
        Ok(())
    }

    fn end_ready(&mut self, seat: Seat, side: Side, ready: Ready, poller: &Poller, tells: &mut Tells) -> io::Result<()> {
        let read_size = self.group(seat).settings.tcp.as_ref().map_or(1 << 16, |tcp| tcp.read_size);
        let Some(connection) = self.connection(seat) else { return Ok(()) };
        let sender = connection.ends[side.other() as usize].flow;
        let end = &mut connection.ends[side as usize];
        if !end.is_open() {
            return self.is_connected(seat, poller, tells);
        }
        let mut sound = true;
        if ready.read || ready.closed {
            sound &= end.read(read_size, sender, tells)?;
        }
        if ready.write {
            sound &= end.write(tells)?;
        }
        self.counts.broken += u64::from(!sound);
        self.settle(seat, side, poller)
    }

    /// The near end has been answered, or given up on.
    fn is_connected(&mut self, seat: Seat, poller: &Poller, tells: &mut Tells) -> io::Result<()> {
        let Some(near) = self.end(seat, Side::Near) else { return Ok(()) };
        if near.has_failed()? {
            let near = near.again();
            self.counts.gave_up += 1;
            return self.connect(seat, near, poller);
        }
        let with_ecn = near.opens(tells)?;
        let sound = near.write(tells)?;
        self.counts.opened += 1;
        self.counts.with_ecn += u64::from(with_ecn);
        self.counts.broken += u64::from(!sound);
        self.settle(seat, Side::Near, poller)
    }

    /// Closes what is over and waits for what there is to wait for.
    fn settle(&mut self, seat: Seat, side: Side, poller: &Poller) -> io::Result<()> {
        self.end(seat, side).map_or(Ok(()), |end| end.settle(poller))
    }

    /// A packet was given to the host at this side of a seat.
    ///
    /// # Errors
    /// If the kernel tells nothing of the connection.
    pub fn received(&mut self, seat: Seat, side: Side, tells: &mut Tells) -> io::Result<()> {
        self.end(seat, side).map_or(Ok(()), |end| end.look_for_acknowledgement(tells))
    }

    /// The host at this side of a seat has sent a retransmission, or said that it has reduced its window.
    ///
    /// # Errors
    /// If the kernel tells nothing of the connection.
    pub fn sent(&mut self, seat: Seat, side: Side, is_retransmission: bool, is_reduced: bool, tells: &mut Tells) -> io::Result<()> {
        self.end(seat, side).map_or(Ok(()), |end| end.has_sent(is_retransmission, is_reduced, tells))
    }

    /// Tells every sender's window.
    ///
    /// # Errors
    /// If the kernel tells nothing of a connection.
    pub fn look(&mut self, tells: &mut Tells) -> io::Result<()> {
        let places = self.groups.iter_mut().flat_map(|group| &mut group.seats);
        let mut ends = places.filter_map(|place| place.connection.as_mut()).flat_map(|connection| &mut connection.ends);
        ends.try_for_each(|end| end.tell_window(tells))
    }

    /// Takes the thread back to where it was.
    ///
    /// # Errors
    /// Without the privilege.
    pub fn leave(&mut self) -> io::Result<()> {
        self.inside = None;
        self.home.enter()
    }

    /// Moves the thread to a host, where it makes sockets.
    fn enter(&mut self, group: u32, side: Side) -> io::Result<()> {
        if self.inside != Some((group, side)) {
            self.groups[group as usize].namespaces[side as usize].enter()?;
            self.inside = Some((group, side));
        }
        Ok(())
    }

    fn group(&self, seat: Seat) -> &Group {
        &self.groups[seat.group as usize]
    }

    fn connection(&mut self, seat: Seat) -> Option<&mut Connection> {
        self.groups[seat.group as usize].seats.get_mut(seat.number as usize)?.connection.as_mut()
    }

    fn end(&mut self, seat: Seat, side: Side) -> Option<&mut End> {
        self.connection(seat).map(|connection| &mut connection.ends[side as usize])
    }
}

/// The place of a seat, which comes into being.
fn place(seats: &mut Vec<Place>, seat: Seat) -> &mut Place {
    let at = seat.number as usize;
    if seats.len() <= at {
        seats.resize_with(at + 1, Place::default);
    }
    &mut seats[at]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_whom_it_is_of() {
        let ends = [(0, 0, Side::Near, 0), (127, 65_534, Side::Far, u32::MAX), (1, 2, Side::Far, 3)];
        let ends = ends.map(|(group, seat, side, number)| Whom::End { seat: Seat { group, number: seat }, side, number });
        for whom in ends.into_iter().chain([Whom::Listener(0), Whom::Listener(127)]) {
            assert_eq!(whom, Whom::of(whom.token()));
            assert_ne!(0, whom.token() & TOKENS);
        }
    }
}
