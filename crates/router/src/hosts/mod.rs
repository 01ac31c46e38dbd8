//! Hosts: sockets of a kernel that do what applications ask for, and tell what becomes of it.
//!
//! ```text
//!   Open     near socket connects; as it is open: Opened, and it sends       far socket accepts and reads: Delivered
//!   Answer   the far socket of that connection sends                         the near one reads: Delivered
//!   Produce  whichever it is sends more
//! ```
//!
//! Nothing here waits and nothing has a thread: the router's loop calls ([`Ends`]). What is closed is left to the kernel, which ends a
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

use ecnlab_sim::Told;
use ecnlab_transport::Demand;
use ecnlab_units::{Span, Time};

use self::connection::{Connection, End};
pub use self::counters::KernelCounts;
use self::datagrams::Sender;
pub use self::setup::{PORT, SMALLEST_MTU_V6, make, spec};
use crate::address::{self, Family, Seat, Side};
use crate::drive::{Ends, Wish, With};
use crate::host::Host;
use crate::mapping::HostSettings;
use crate::sys::Namespace;
use crate::sys::poll::{Interest, Ready};
use crate::sys::socket::{AgreedEcn, Set, Socket};

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
    /// Those of them that use Accurate ECN.
    pub with_accurate_ecn: u64,
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
    listens: bool,
    /// Of each group what both kernels have counted, once the run is over.
    kernels: Vec<[KernelCounts; 2]>,
    look: Look,
    counts: HostCounts,
}

/// When windows are looked at.
#[derive(Clone, Copy, Debug)]
struct Look {
    every: Option<Span>,
    /// Which look it is, from 0.
    number: u64,
}

impl Look {
    fn every(every: Option<Span>) -> Look {
        Look { every, number: 0 }
    }

    /// A little before the engine takes its sample, so that this is what it takes.
    fn due(&self) -> Option<Time> {
        let every = self.every?.picos();
        let lead = (every / 4).min(Span::from_millis(1).picos());
        Some(Time::from_picos((every * self.number).saturating_sub(lead)))
    }
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
    /// How many ends there have been on either side: their descriptors' tokens are of one of them.
    numbers: [u32; 2],
    /// Connections of a seat leave from one port after another.
    last_port: u16,
}

impl Place {
    /// The token of a new end.
    fn token(&mut self, seat: Seat, side: Side) -> u64 {
        let number = &mut self.numbers[side as usize];
        *number = number.wrapping_add(1);
        Whom::End { seat, side, number: *number }.token()
    }
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
    /// Sockets for hosts that have been made, two of each group, which have these settings. Windows are told at this interval.
    ///
    /// # Errors
    /// If a host's socket cannot be made to listen.
    ///
    /// # Panics
    /// If a group has not both hosts.
    pub fn new(family: Family, settings: Vec<HostSettings>, hosts: &[Host], windows: Option<Span>) -> io::Result<Hosts> {
        let group = |(number, settings): (u32, HostSettings)| {
            let of = |side| hosts.iter().find(|host| (host.group, host.side) == (number, side)).expect("a group has two hosts");
            let namespaces = [Side::Near, Side::Far].map(|side| of(side).namespace.clone());
            let listener = namespaces[Side::Far as usize].inside(|| setup::listener(family, &settings))?;
            Ok(Group { settings, namespaces, listener, seats: Vec::new() })
        };
        let groups = (0..).zip(settings).map(group).collect::<io::Result<_>>()?;
        let (home, look) = (Namespace::own()?, Look::every(windows));
        Ok(Hosts { family, groups, home, inside: None, listens: false, kernels: Vec::new(), look, counts: HostCounts::default() })
    }

    pub fn counts(&self) -> HostCounts {
        self.counts
    }

    /// Of each group what the kernels of the near and of the far host have counted; nothing before the run is over.
    pub fn kernels(&self) -> &[[KernelCounts; 2]] {
        &self.kernels
    }

    /// A new connection at a seat, or datagrams from it; what was there is forgotten.
    fn open(&mut self, flow: u32, seat: Seat, demand: Demand, with: &mut With) -> io::Result<()> {
        if self.group(seat).settings.datagrams.is_some() {
            return self.produce(flow, seat, Side::Near, demand, with);
        }
        self.counts.asked += 1;
        let mut near = End::of(flow);
        near.push(demand);
        self.connect(seat, near, with)
    }

    /// Begins to connect for a near end that has something to send.
    fn connect(&mut self, seat: Seat, mut near: End, with: &mut With) -> io::Result<()> {
        self.enter(seat.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[seat.group as usize]);
        let tcp = group.settings.tcp.as_ref().expect("the group carries its data by TCP");
        let place = place(&mut group.seats, seat);
        let socket = Socket::stream(family == Family::V6)?;
        setup::set_options(&socket, tcp)?;
        place.last_port = setup::bind_next(&socket, family.address(seat, Side::Near), place.last_port)?;
        socket.connect(SocketAddr::new(family.address(seat, Side::Far), PORT))?;
        near.connects(socket, place.token(seat, Side::Near), with.poller)?;
        let connection = place.connection.get_or_insert_default();
        connection.port = place.last_port;
        near.who = Some((seat, Side::Near, connection.port));
        if let (Some(cases), Some(flow)) = (&mut with.cases, near.flow) {
            cases.connects(seat, connection.port, flow, with.now);
        }
        connection.ends[Side::Near as usize] = near;
        connection.ends[Side::Far as usize].is_left();
        Ok(())
    }

    /// Sends in the other direction of the connection at a seat.
    fn answer(&mut self, flow: u32, seat: Seat, demand: Demand, with: &mut With) -> io::Result<()> {
        let Some(far) = self.end(seat, Side::Far) else { return Ok(()) };
        far.flow = Some(flow);
        self.send(seat, Side::Far, demand, with)
    }

    /// Sends more from a side of a seat.
    fn produce(&mut self, flow: u32, seat: Seat, side: Side, demand: Demand, with: &mut With) -> io::Result<()> {
        let Some(datagrams) = self.group(seat).settings.datagrams else { return self.send(seat, side, demand, with) };
        self.enter(seat.group, Side::Near)?;
        let (family, group) = (self.family, &mut self.groups[seat.group as usize]);
        let place = place(&mut group.seats, seat);
        if place.sender.is_none() {
            place.last_port = place.last_port.max(setup::FIRST_PORT);
            let token = place.token(seat, Side::Near);
            place.sender = Some(Sender::new(flow, family, seat, place.last_port, datagrams, (with.poller, token))?);
        }
        place.sender.as_mut().expect("it is there now").send(demand, with.poller)
    }

    fn send(&mut self, seat: Seat, side: Side, demand: Demand, with: &mut With) -> io::Result<()> {
        let Some(end) = self.end(seat, side) else { return Ok(()) };
        end.push(demand);
        if end.is_open() && !end.write(with)? {
            self.counts.broken += 1;
        }
        self.settle(seat, side, with)
    }

    fn accept(&mut self, group: u32, with: &mut With) -> io::Result<()> {
        let Group { listener, seats, settings, .. } = &mut self.groups[group as usize];
        let Some((socket, from)) = listener.accept()? else { return Ok(()) };
        // A listener does not hand this on.
        if settings.tcp.as_ref().is_some_and(|tcp| tcp.interactive) {
            socket.set(Set::Interactive)?;
        }
        let seat = address::seat(from.ip()).map(|(seat, _)| seat).filter(|seat| seat.group == group);
        let Some((seat, place)) = seat.and_then(|seat| Some((seat, seats.get_mut(seat.number as usize)?))) else { return Ok(()) };
        // What comes from another port is of a connection that is forgotten.
        if place.connection.as_ref().is_some_and(|connection| connection.port == from.port()) {
            let mut far = End::accepted(socket, place.token(seat, Side::Far), with.poller)?;
            far.who = Some((seat, Side::Far, from.port()));
            place.connection.as_mut().expect("it is there").ends[Side::Far as usize] = far;
        }
        Ok(())
    }

    fn take_datagrams(&mut self, group: u32, with: &mut With) -> io::Result<()> {
        let Group { listener, seats, .. } = &self.groups[group as usize];
        let sender = |from: SocketAddr| seats.get(address::seat(from.ip())?.0.number as usize)?.sender.as_ref();
        listener.discard_datagrams(|from, bytes| {
            if let Some(sender) = sender(from) {
                with.tell(sender.flow(), Told::Delivered { bytes });
            }
        })?;
        Ok(())
    }

    fn end_ready(&mut self, seat: Seat, side: Side, ready: Ready, with: &mut With) -> io::Result<()> {
        let read_size = self.group(seat).settings.tcp.as_ref().map_or(1 << 16, |tcp| tcp.read_size);
        let Some(connection) = self.connection(seat) else { return Ok(()) };
        let sender = connection.ends[side.other() as usize].flow;
        let end = &mut connection.ends[side as usize];
        if end.is_connecting() {
            return self.is_connected(seat, with);
        }
        // It may have broken since it was found ready.
        if !end.is_open() {
            return Ok(());
        }
        let mut sound = true;
        if ready.read || ready.closed {
            sound &= end.read(read_size, sender, with)?;
        }
        if ready.write {
            sound &= end.write(with)?;
        }
        self.counts.broken += u64::from(!sound);
        self.settle(seat, side, with)
    }

    /// The near end has been answered, or given up on.
    fn is_connected(&mut self, seat: Seat, with: &mut With) -> io::Result<()> {
        let Some(near) = self.end(seat, Side::Near) else { return Ok(()) };
        if near.has_failed()? {
            let near = near.again();
            self.counts.gave_up += 1;
            return self.connect(seat, near, with);
        }
        let agreed = near.opens(with)?;
        let sound = near.write(with)?;
        self.counts.opened += 1;
        self.counts.with_ecn += u64::from(agreed != AgreedEcn::None);
        self.counts.with_accurate_ecn += u64::from(agreed == AgreedEcn::Accurate);
        self.counts.broken += u64::from(!sound);
        self.settle(seat, Side::Near, with)
    }

    /// Closes what is over and waits for what there is to wait for.
    fn settle(&mut self, seat: Seat, side: Side, with: &With) -> io::Result<()> {
        self.end(seat, side).map_or(Ok(()), |end| end.settle(with.poller))
    }

    /// Tells every sender's window.
    fn tell_windows(&mut self, with: &mut With) -> io::Result<()> {
        let places = self.groups.iter_mut().flat_map(|group| &mut group.seats);
        let mut ends = places.filter_map(|place| place.connection.as_mut()).flat_map(|connection| &mut connection.ends);
        ends.try_for_each(|end| end.tell_window(with))
    }

    /// Waits for connections and datagrams, from the first wish on.
    fn listen(&mut self, with: &With) -> io::Result<()> {
        if std::mem::replace(&mut self.listens, true) {
            return Ok(());
        }
        let mut groups = (0..).zip(&self.groups);
        groups.try_for_each(|(number, group)| with.poller.add(&group.listener, Whom::Listener(number).token(), Interest::Read))
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

/// The thread goes back to where it was, also when a run breaks off.
impl Drop for Hosts {
    fn drop(&mut self) {
        if self.inside.take().is_some()
            && let Err(why) = self.home.enter()
        {
            eprintln!("the router's thread stays in a host's namespace: {why}");
        }
    }
}

impl Ends for Hosts {
    fn wish(&mut self, wish: Wish, with: &mut With) -> io::Result<()> {
        self.listen(with)?;
        match wish {
            Wish::Open { flow, seat, demand, .. } => self.open(flow, seat, demand, with),
            Wish::Answer { flow, seat, demand, .. } => self.answer(flow, seat, demand, with),
            Wish::Produce { flow, seat, side, demand } => self.produce(flow, seat, side, demand, with),
        }
    }

    fn ready(&mut self, ready: Ready, with: &mut With) -> io::Result<()> {
        match Whom::of(ready.token) {
            Whom::Listener(group) if self.groups[group as usize].settings.datagrams.is_some() => self.take_datagrams(group, with),
            Whom::Listener(group) => self.accept(group, with),
            Whom::End { seat, side, number } => {
                // What is ready of a connection that is forgotten is nobody's news.
                let place = self.groups[seat.group as usize]
                    .seats
                    .get_mut(seat.number as usize)
                    .filter(|place| place.numbers[side as usize] == number);
                match place {
                    None => Ok(()),
                    Some(Place { sender: Some(sender), .. }) => sender.ready(with.poller),
                    Some(_) => self.end_ready(seat, side, ready, with),
                }
            }
        }
    }

    fn received(&mut self, seat: Seat, side: Side, echoes: bool, with: &mut With) -> io::Result<()> {
        self.end(seat, side).map_or(Ok(()), |end| end.has_received(echoes, with))
    }

    fn sent_again(&mut self, seat: Seat, side: Side, with: &mut With) -> io::Result<()> {
        self.end(seat, side).map_or(Ok(()), |end| end.has_sent_again(with))
    }

    fn show(&mut self, seat: Seat, port: u16, by_timer: bool, with: &mut With) -> io::Result<()> {
        match self.connection(seat).filter(|connection| connection.port == port) {
            Some(connection) => connection.ends[Side::Near as usize].show(by_timer, with),
            None => Ok(()),
        }
    }

    fn due(&self) -> Option<Time> {
        self.look.due()
    }

    fn expire(&mut self, with: &mut With) -> io::Result<()> {
        while self.look.due().is_some_and(|due| due <= with.now) {
            self.look.number += 1;
        }
        self.tell_windows(with)
    }

    fn finish(&mut self, with: &mut With) -> io::Result<()> {
        self.tell_windows(with)?;
        for group in &self.groups {
            let [near, far] = group.namespaces.each_ref().map(|namespace| namespace.inside(KernelCounts::read));
            self.kernels.push([near?, far?]);
        }
        self.inside = None;
        self.home.enter()
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
