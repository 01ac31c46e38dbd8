//! What a discipline counts of itself, as its netlink tells it (`TCA_STATS2`).

use std::io;

use crate::sys::netlink::{Message, Netlink, attribute, number};

const STATISTICS: u16 = 7;
/// `struct gnet_stats_basic`: bytes and packets that have left.
const BASIC: u16 = 1;
/// `struct gnet_stats_queue`: packets that wait, their bytes, drops, requeues, overlimits.
const QUEUE: u16 = 3;
/// The discipline's own structure.
const OWN: u16 = 4;
/// `struct tcmsg`, behind which its attributes stand.
const FIXED: usize = 20;

/// A discipline's counts.
#[derive(Debug)]
pub struct Statistics {
    netlink: Netlink,
    device: u32,
    handle: u32,
    /// What a counter was when it was asked for last.
    counted: u32,
    /// How many packets had come when that was asked for last.
    came: u32,
}

impl Statistics {
    /// Of the discipline of that handle at a device, in the namespace of the socket.
    pub fn of(netlink: Netlink, device: u32, handle: u32) -> Statistics {
        Statistics { netlink, device, handle, counted: 0, came: 0 }
    }

    /// By how much a number has grown that stands at this byte of the discipline's own structure, since this was asked last.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn more_of(&mut self, at: usize) -> io::Result<u32> {
        let now = attribute(&self.told()?, OWN).and_then(|own| number(own, at));
        self.grown(now)
    }

    /// How often the discipline was beyond its limit since this was asked last.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn more_overlimits(&mut self) -> io::Result<u32> {
        const OVERLIMITS: usize = 16;
        let now = attribute(&self.told()?, QUEUE).and_then(|queue| number(queue, OVERLIMITS));
        self.grown(now)
    }

    fn grown(&mut self, now: Option<u32>) -> io::Result<u32> {
        let before = self.counted;
        self.counted = now.ok_or_else(untold)?;
        Ok(self.counted.wrapping_sub(before))
    }

    /// How many packets the discipline has taken since this was asked last, copies that it makes itself among them.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn more_came(&mut self) -> io::Result<u32> {
        let told = self.told()?;
        let left = attribute(&told, BASIC).and_then(|basic| number(basic, 8)).ok_or_else(untold)?;
        let waiting = attribute(&told, QUEUE).and_then(|queue| number(queue, 0)).ok_or_else(untold)?;
        let before = self.came;
        self.came = left.wrapping_add(waiting);
        Ok(self.came.wrapping_sub(before))
    }

    fn told(&mut self) -> io::Result<Vec<u8>> {
        let mut fixed = vec![0; 4];
        fixed.extend([self.device, self.handle, 0, 0].iter().flat_map(|number| number.to_ne_bytes()));
        let request = Message::new(libc::RTM_GETQDISC, libc::NLM_F_ECHO, &fixed, "the statistics of the kernel's queue");
        let told = self.netlink.told(request)?;
        let attributes = told.get(FIXED..).ok_or_else(untold)?;
        attribute(attributes, STATISTICS).map(<[u8]>::to_vec).ok_or_else(untold)
    }
}

fn untold() -> io::Error {
    io::Error::other("the kernel's queue does not tell what it counts")
}
