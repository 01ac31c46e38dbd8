//! Whose a packet is.

use ecnlab_sim::Toward;
use ecnlab_units::Time;

use crate::address::{Seat, Seats, Side, seat};
use crate::packet::View;

/// The flow of a packet, and where its connection is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    pub flow: u32,
    pub toward: Toward,
    pub seat: Seat,
    /// The side that it comes from.
    pub side: Side,
    /// Tells connections of one flow apart to queues.
    pub label: u8,
}

/// Says whose packets are.
pub trait Owners {
    /// Whose a packet is that the host of a group's side has sent; none if it is nobody's.
    fn owner(&mut self, view: &View, host: (u32, Side), now: Time) -> Option<Owner>;

    /// The seat of a flow that is to open a connection or to send datagrams; none if none is left.
    fn open(&mut self, flow: u32, group: u32) -> Option<Seat>;

    /// The seat of a flow that is to send back over the connection of another; none if there is none.
    fn answer(&mut self, flow: u32, to: u32) -> Option<Seat>;

    /// The seat of a flow that has opened a connection or answered one, and the side that it sends from.
    fn of(&self, flow: u32) -> Option<(Seat, Side)>;

    /// The flow that sends from a side of a seat, if one does.
    fn sender(&self, seat: Seat, side: Side) -> Option<u32>;
}

/// By the addresses of the plan.
impl Owners for Seats {
    fn owner(&mut self, view: &View, host: (u32, Side), _now: Time) -> Option<Owner> {
        let (here, side) = seat(view.from).filter(|(here, side)| (here.group, *side) == host)?;
        let whose = self.whose(view.from, view.to, view.carries())?;
        let (from, to) = view.ports().unwrap_or_default();
        let port = if side == Side::Near { from } else { to };
        Some(Owner { flow: whose.flow, toward: whose.toward, seat: here, side, label: (port ^ port >> 8) as u8 })
    }

    fn open(&mut self, flow: u32, group: u32) -> Option<Seat> {
        Seats::open(self, flow, group)
    }

    fn answer(&mut self, flow: u32, to: u32) -> Option<Seat> {
        Some(Seats::answer(self, flow, to))
    }

    fn of(&self, flow: u32) -> Option<(Seat, Side)> {
        Seats::of(self, flow)
    }
    fn sender(&self, seat: Seat, side: Side) -> Option<u32> {
        Seats::sender(self, seat, side)
    }
}
