//! Packets sent through a device's queue without the network stack (packet(7)).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::sockopt::set_socket_send_buffer_size_force;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::errno::{check_syscall, retry_on_intr_nonblocking};
use super::sockopt::set_int_option;

/// A socket that sends through one device.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    device: i32,
}

/// The upper half of a packet's mark, by which the UML kernel reports its drop; the lower half is the packet's number.
const SKB_MARK_PREFIX: u32 = 0xec41 << 16;
/// A system call of the patched UML kernel alone.
const SYS_TAKE_DROPPED: libc::c_long = 100_000;
/// Large enough that only the device's queue limits the bytes in it.
const SNDBUF_BYTES: usize = 1 << 30;

impl PacketSocket {
    /// Sends through the device of this interface index of the calling thread's namespace.
    ///
    /// # Errors
    /// Without the privilege.
    pub fn open(device: i32) -> io::Result<PacketSocket> {
        let socket = socket_with(AddressFamily::PACKET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        set_socket_send_buffer_size_force(&socket, SNDBUF_BYTES)?;
        Ok(PacketSocket { socket, device })
    }

    /// Sends an IP packet under a number. Returns whether the queue refused it (`NET_XMIT_DROP`), which some queues do not report of every
    /// drop.
    ///
    /// # Errors
    /// If the device is down or the kernel is out of memory.
    pub fn send(&self, packet_number: u16, packet: &[u8]) -> io::Result<bool> {
        set_int_option(&self.socket, libc::SOL_SOCKET, libc::SO_MARK, (SKB_MARK_PREFIX | u32::from(packet_number)) as i32)?;
        let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let protocol = if is_v6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP };
        let to = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: (protocol as u16).to_be(),
            sll_ifindex: self.device,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let (socket, from, length) = (self.socket.as_raw_fd(), packet.as_ptr().cast(), size_of_val(&to) as libc::socklen_t);
        // Safety: the lengths are those of packet and address. `rustix` has no address of AF_PACKET.
        let sent = retry_on_intr_nonblocking(|| {
            check_syscall(unsafe { libc::sendto(socket, from, packet.len(), 0, (&raw const to).cast(), length) })
        });
        match sent {
            Err(why) if why.raw_os_error() == Some(libc::ENOBUFS) => Ok(true),
            Ok(None) => Err(io::ErrorKind::WouldBlock.into()),
            other => other.map(|_| false),
        }
    }
}

/// The numbers of packets that queues have dropped since the last call.
///
/// # Errors
/// In any kernel but the patched UML kernel.
pub fn take_dropped_packet_numbers(into: &mut Vec<u16>) -> io::Result<()> {
    const MAX_DROPPED: usize = 1 << 16;
    into.clear();
    into.reserve(MAX_DROPPED);
    // Safety: the kernel keeps at most `MAX_DROPPED` numbers, and returns how many it has written.
    unsafe {
        let count = check_syscall(libc::syscall(SYS_TAKE_DROPPED, into.as_mut_ptr()))?;
        into.set_len(count as usize);
    }
    Ok(())
}
