//! TUN devices: IP packets of a namespace, each by one read and one write, without a header of the driver.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use super::errno::{check_syscall, retry_on_intr_nonblocking};

const TUN_DEVICE: &str = "/dev/net/tun";

/// The descriptor of a device.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
}

impl Tun {
    /// Creates a device in the namespace of the calling thread. It is down, and is removed when this is dropped.
    ///
    /// # Errors
    /// If `/dev/net/tun` is missing or may not be opened, or the name is used or too long.
    pub fn create(name: &str) -> io::Result<Tun> {
        Tun::open_device(name, libc::IFF_TUN | libc::IFF_NO_PI)
    }

    /// The same, but each packet follows four bytes of the driver, flags and protocol (`struct tun_pi`).
    ///
    /// # Errors
    /// As for [`Tun::create`].
    pub fn create_with_header(name: &str) -> io::Result<Tun> {
        Tun::open_device(name, libc::IFF_TUN)
    }

    fn open_device(name: &str, flags: libc::c_int) -> io::Result<Tun> {
        let open = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(TUN_DEVICE);
        let file = open.map_err(|why| io::Error::new(why.kind(), format!("{TUN_DEVICE}: {why}")))?;
        let mut request =
            libc::ifreq { ifr_name: [0; libc::IFNAMSIZ], ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags as libc::c_short } };
        if name.len() >= request.ifr_name.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the device's name \"{name}\" is longer than 15 bytes")));
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        // Safety: the request outlives the call, which reads its name and flags and writes the name.
        check_syscall(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &raw mut request) })?;
        Ok(Tun { file, name: name.to_owned() })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads the next packet that the namespace sends into `into`; returns its bytes, `None` if there is none.
    ///
    /// # Errors
    /// If the device is down.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        retry_on_intr_nonblocking(|| (&self.file).read(into))
    }

    /// Delivers a packet to the namespace. Returns false if the queue of the device is full.
    ///
    /// # Errors
    /// If the device is down, or the kernel rejects the bytes as a packet.
    pub fn write(&self, packet: &[u8]) -> io::Result<bool> {
        Ok(retry_on_intr_nonblocking(|| (&self.file).write(packet))?.is_some())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
