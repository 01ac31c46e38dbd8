//! What stands at the ends of flows: sockets, or whatever else does what applications ask for.

use std::io;

use ecnlab_sim::Told;
use ecnlab_transport::Demand;
use ecnlab_units::Time;

use crate::address::{Seat, Side};
use crate::cases::Cases;
use crate::host::Host;
use crate::sys::{Poller, Ready};

/// Tokens below this are the router's own, one for each host.
pub const FIRST_TOKEN: u64 = 1 << 32;

/// What an application asks its hosts for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wish {
    /// A new connection from the near to the far side of the seat, or datagrams, and this to be sent over it. What was there before is
    /// forgotten. `connection` counts those of the flow from 0.
    Open { flow: u32, seat: Seat, connection: u32, demand: Demand },
    /// This is to be sent from the far to the near side over the connection that flow `to` has opened.
    Answer { flow: u32, seat: Seat, to: u32, demand: Demand },
    /// This is to be sent too, from a side of the seat, over its connection or as datagrams.
    Produce { flow: u32, seat: Seat, side: Side, demand: Demand },
}

/// What stands at the ends of flows. It is asked in the router's thread and never waits.
///
/// An error ends the run; what befalls one connection is no error, but is counted.
pub trait Ends {
    /// # Errors
    /// If the system refuses what a run cannot go on without.
    fn wish(&mut self, wish: Wish, with: &mut With) -> io::Result<()>;

    /// Something has come of a descriptor that was added with a token from [`FIRST_TOKEN`] on.
    ///
    /// # Errors
    /// As above.
    fn ready(&mut self, ready: Ready, with: &mut With) -> io::Result<()>;

    /// A packet of TCP has been given to the host at a side of a seat. `echoes` says that it echoes a mark, the first time in a window.
    ///
    /// # Errors
    /// As above.
    fn received(&mut self, _seat: Seat, _side: Side, _echoes: bool, _with: &mut With) -> io::Result<()> {
        Ok(())
    }

    /// The host at a side of a seat has sent again what it had sent before, which is when its kernel knows why.
    ///
    /// # Errors
    /// As above.
    fn sent_again(&mut self, _seat: Seat, _side: Side, _with: &mut With) -> io::Result<()> {
        Ok(())
    }

    /// What the kernel tells of the connection of the host at a side of a seat, whose port this is, is to be written down: after the packet
    /// that it was just given, or after its timer has sent something.
    ///
    /// # Errors
    /// As above.
    fn show(&mut self, _seat: Seat, _port: u16, _by_timer: bool, _with: &mut With) -> io::Result<()> {
        Ok(())
    }

    /// When [`Ends::expire`] is to be called next.
    fn due(&self) -> Option<Time> {
        None
    }

    /// That time has come.
    ///
    /// # Errors
    /// As above.
    fn expire(&mut self, _with: &mut With) -> io::Result<()> {
        Ok(())
    }

    /// The run is over: what is still to be told is told now.
    ///
    /// # Errors
    /// As above.
    fn finish(&mut self, _with: &mut With) -> io::Result<()> {
        Ok(())
    }
}

/// What ends work with.
#[derive(Debug)]
pub struct With<'a> {
    /// The time of this turn of the loop, by which all in it happens.
    pub now: Time,
    pub poller: &'a Poller,
    pub hosts: &'a [Host],
    /// What is told to the engine, at [`With::now`], in order.
    pub told: &'a mut Vec<(u32, Told)>,
    /// Where connections are recorded, if they are.
    pub cases: Option<&'a mut Cases>,
}

impl With<'_> {
    /// Tells the engine something of a flow's hosts, at [`With::now`].
    pub fn tell(&mut self, flow: u32, told: Told) {
        self.told.push((flow, told));
    }
}

/// Nothing at all: packets come from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Ends for Nobody {
    fn wish(&mut self, _wish: Wish, _with: &mut With) -> io::Result<()> {
        Ok(())
    }

    fn ready(&mut self, _ready: Ready, _with: &mut With) -> io::Result<()> {
        Ok(())
    }
}
