//! A socket that sends datagrams: full ones, and a short one for the rest of each request.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use ecnlab_transport::AppWrite;

use super::LISTENER_PORT;
use crate::address::{AddressFamily, AddressSlot, Side};
use crate::host_settings::DatagramSocketSettings;
use crate::sys::poll::{Interest, Poller};
use crate::sys::socket::{Socket, SocketOption};

/// The sender of a flow of datagrams.
#[derive(Debug)]
pub struct HostDatagramSender {
    pub flow: u32,
    socket: Socket,
    token: u64,
    payload: u32,
    /// Unsent bytes of each request, for which the kernel has no memory yet.
    unsent: VecDeque<u64>,
    interest: Interest,
}

impl HostDatagramSender {
    /// Creates a sender in the namespace of the near host, where the thread is.
    pub fn new(
        flow: u32,
        family: AddressFamily,
        slot: AddressSlot,
        port: u16,
        settings: DatagramSocketSettings,
        (poller, token): (&Poller, u64),
    ) -> io::Result<HostDatagramSender> {
        let socket = Socket::datagrams(family == AddressFamily::V6)?;
        socket.set(SocketOption::EcnCodepoint(settings.ecn))?;
        socket.bind(SocketAddr::new(family.address(slot, Side::Near), port))?;
        socket.connect(SocketAddr::new(family.address(slot, Side::Far), LISTENER_PORT))?;
        poller.add(&socket, token, Interest::Nothing)?;
        Ok(HostDatagramSender { flow, socket, token, payload: settings.payload, unsent: VecDeque::new(), interest: Interest::Nothing })
    }

    /// Sends a request, as far as the kernel accepts it.
    pub fn enqueue_and_send_datagrams(&mut self, demand: AppWrite, poller: &Poller) -> io::Result<()> {
        self.unsent.push_back(demand.bytes);
        self.send_pending(poller)
    }

    /// Continues when the kernel accepts more.
    pub fn send_pending(&mut self, poller: &Poller) -> io::Result<()> {
        while let Some(left) = self.unsent.front_mut() {
            let datagram = u64::from(self.payload).min(*left);
            if datagram > 0 && self.socket.send(datagram)?.is_none() {
                break;
            }
            *left -= datagram;
            if *left == 0 {
                self.unsent.pop_front();
            }
        }
        let wanted = if self.unsent.is_empty() { Interest::Nothing } else { Interest::Write };
        if self.interest != wanted {
            poller.change(&self.socket, self.token, wanted)?;
            self.interest = wanted;
        }
        Ok(())
    }
}
