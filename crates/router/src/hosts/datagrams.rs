//! A socket that sends datagrams: full ones, and a short one for the rest of what is asked for.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use ecnlab_transport::Demand;

use super::PORT;
use crate::address::{Family, Seat, Side};
use crate::mapping::DatagramSettings;
use crate::sys::poll::{Interest, Poller};
use crate::sys::socket::{Set, Socket};

/// The sender of a flow of datagrams.
#[derive(Debug)]
pub struct Sender {
    flow: u32,
    socket: Socket,
    token: u64,
    payload: u32,
    /// What is left of each demand: the kernel had no room for it yet.
    waiting: VecDeque<u64>,
    interest: Interest,
}

impl Sender {
    /// In the namespace of the near host, where the thread is.
    pub fn new(
        flow: u32,
        family: Family,
        seat: Seat,
        port: u16,
        settings: DatagramSettings,
        (poller, token): (&Poller, u64),
    ) -> io::Result<Sender> {
        let socket = Socket::datagrams(family == Family::V6)?;
        socket.set(Set::Codepoint(settings.ecn))?;
        socket.bind(SocketAddr::new(family.address(seat, Side::Near), port))?;
        socket.connect(SocketAddr::new(family.address(seat, Side::Far), PORT))?;
        poller.add(&socket, token, Interest::Nothing)?;
        Ok(Sender { flow, socket, token, payload: settings.payload, waiting: VecDeque::new(), interest: Interest::Nothing })
    }

    pub fn flow(&self) -> u32 {
        self.flow
    }

    /// Sends a demand, or what of it the kernel has room for.
    pub fn send(&mut self, demand: Demand, poller: &Poller) -> io::Result<()> {
        self.waiting.push_back(demand.bytes);
        self.ready(poller)
    }

    /// The kernel has room.
    pub fn ready(&mut self, poller: &Poller) -> io::Result<()> {
        while let Some(left) = self.waiting.front_mut() {
            let datagram = u64::from(self.payload).min(*left);
            if datagram > 0 && self.socket.send(datagram)?.is_none() {
                break;
            }
            *left -= datagram;
            if *left == 0 {
                self.waiting.pop_front();
            }
        }
        let wanted = if self.waiting.is_empty() { Interest::Nothing } else { Interest::Write };
        if self.interest != wanted {
            poller.change(&self.socket, self.token, wanted)?;
            self.interest = wanted;
        }
        Ok(())
    }
}
