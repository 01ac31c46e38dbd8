//! Packets that are given to a device as they stand (packet(7)), past the network's own layers and through the device's queue.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::errno::{check, retry_eintr};

/// A socket that sends through one device.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    device: i32,
}

/// Marks of packets are in the upper half this, so that the UML kernel tells what became of them, and in the lower half the packet's number.
const SKB_MARK_PREFIX: u32 = 0xec41 << 16;
/// The UML kernel answers this call, and no other kernel has it.
const SYS_TAKE_DROPPED: libc::c_long = 100_000;
/// The bytes that may wait in the device's queue are for the queue to say.
const SNDBUF_BYTES: libc::c_int = 1 << 30;

impl PacketSocket {
    /// Through the device of that number of the namespace that the calling thread is in.
    ///
    /// # Errors
    /// Without the privilege.
    pub fn open(device: i32) -> io::Result<PacketSocket> {
        // Safety: the descriptor is new and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?) };
        let made = PacketSocket { socket, device };
        made.set_option(libc::SO_SNDBUFFORCE, SNDBUF_BYTES)?;
        Ok(made)
    }

    /// Sends an IP packet under a number. Which packets a queue drops, the queue tells in its own way; this says whether it has refused the
    /// packet (`NET_XMIT_DROP`), which not every queue says of every packet that it drops.
    ///
    /// # Errors
    /// If the device is down or the kernel is out of memory.
    pub fn send(&self, packet_number: u16, packet: &[u8]) -> io::Result<bool> {
        self.set_option(libc::SO_MARK, (SKB_MARK_PREFIX | u32::from(packet_number)) as libc::c_int)?;
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let protocol = if is_v6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
        // Safety: all zeros are an address.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = (protocol as u16).to_be();
        to.sll_ifindex = self.device;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let (socket, from) = (self.socket.as_raw_fd(), packet.as_ptr().cast());
        // Safety: packet and address are as long as is said.
        let sent = retry_eintr(|| unsafe { libc::sendto(socket, from, packet.len(), 0, (&raw const to).cast(), length) });
        match sent {
            Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => Ok(true),
            other => other.map(|_| false),
        }
    }

    fn set_option(&self, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        let length = size_of::<libc::c_int>() as libc::socklen_t;
        // Safety: the value is as long as is said.
        check(unsafe { libc::setsockopt(self.socket.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const value).cast(), length) })?;
        Ok(())
    }
}

/// The numbers of packets that queues have dropped since this was asked last.
///
/// # Errors
/// In a kernel that is not the UML kernel's.
pub fn take_dropped_packet_numbers(into: &mut Vec<u16>) -> io::Result<()> {
    const MAX_DROPPED: usize = 1 << 16;
    into.clear();
    into.reserve(MAX_DROPPED);
    // Safety: there is room for as many as the kernel keeps, and it says how many it has written.
    unsafe {
        let count = check(libc::syscall(SYS_TAKE_DROPPED, into.as_mut_ptr()))?;
        into.set_len(count as usize);
    }
    Ok(())
}
