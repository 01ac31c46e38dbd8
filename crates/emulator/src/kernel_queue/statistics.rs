//! Counters of a discipline, from netlink (`TCA_STATS2`).

use std::io;

use netlink_packet_core::NLM_F_ECHO;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::TcMessage;

use crate::sys::netlink::{Netlink, NetlinkRequest, find_attribute, read_u32};

const TCA_STATS2: u16 = 7;
/// `struct gnet_stats_basic`: bytes and packets that have left.
const TCA_STATS_BASIC: u16 = 1;
/// `struct gnet_stats_queue`: waiting packets, their bytes, drops, requeues, overlimits.
const TCA_STATS_QUEUE: u16 = 3;
/// The discipline's own structure.
const TCA_STATS_APP: u16 = 4;
/// `struct tcmsg`, which the attributes follow.
const TCMSG_BYTES: usize = 20;

/// Counters of a discipline.
#[derive(Debug)]
pub struct QdiscStatistics {
    netlink: Netlink,
    device: u32,
    handle: u32,
    /// Value of the counter at the last call.
    last_count: u32,
    /// Number of packets that had arrived at the last call.
    last_enqueued: u32,
}

impl QdiscStatistics {
    /// Of the discipline with that handle at a device, in the namespace of the socket.
    pub fn new(netlink: Netlink, device: u32, handle: u32) -> QdiscStatistics {
        QdiscStatistics { netlink, device, handle, last_count: 0, last_enqueued: 0 }
    }

    /// Increase of a counter since the last call, at this byte of the discipline's own structure.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn app_counter_growth(&mut self, at: usize) -> io::Result<u32> {
        let now = find_attribute(&self.request_stats()?, TCA_STATS_APP).and_then(|own| read_u32(own, at));
        self.growth_since_last(now)
    }

    /// Number of times since the last call that the discipline exceeded its limit.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn overlimits_growth(&mut self) -> io::Result<u32> {
        const OVERLIMITS_OFFSET: usize = 16;
        let now = find_attribute(&self.request_stats()?, TCA_STATS_QUEUE).and_then(|queue| read_u32(queue, OVERLIMITS_OFFSET));
        self.growth_since_last(now)
    }

    fn growth_since_last(&mut self, now: Option<u32>) -> io::Result<u32> {
        let before = self.last_count;
        self.last_count = now.ok_or_else(missing_counter)?;
        Ok(self.last_count.wrapping_sub(before))
    }

    /// Number of packets that the discipline has accepted since the last call, with copies that it made itself.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn enqueued_growth(&mut self) -> io::Result<u32> {
        let stats = self.request_stats()?;
        let left = find_attribute(&stats, TCA_STATS_BASIC).and_then(|basic| read_u32(basic, 8)).ok_or_else(missing_counter)?;
        let waiting = find_attribute(&stats, TCA_STATS_QUEUE).and_then(|queue| read_u32(queue, 0)).ok_or_else(missing_counter)?;
        let before = self.last_enqueued;
        self.last_enqueued = left.wrapping_add(waiting);
        Ok(self.last_enqueued.wrapping_sub(before))
    }

    fn request_stats(&mut self) -> io::Result<Vec<u8>> {
        let mut message = TcMessage::default();
        (message.header.index, message.header.handle) = (self.device as i32, self.handle.into());
        let message = RouteNetlinkMessage::GetQueueDiscipline(message);
        let request = NetlinkRequest::new(message, NLM_F_ECHO, "the statistics of the kernel's queue");
        let stats = self.netlink.request_with_reply(request)?;
        let attributes = stats.get(TCMSG_BYTES..).ok_or_else(missing_counter)?;
        find_attribute(attributes, TCA_STATS2).map(<[u8]>::to_vec).ok_or_else(missing_counter)
    }
}

fn missing_counter() -> io::Error {
    io::Error::other("the kernel's queue reports no statistics")
}
