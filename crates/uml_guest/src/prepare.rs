//! Prepares a kernel that has just started: its file systems, and the settings that it derives from the size of its memory.

use std::fs;
use std::io;

use rustix::mount::{MountFlags, mount};

/// Mount points and their file systems.
const FILE_SYSTEM_MOUNTS: &[(&str, &str)] = &[("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];

/// Settings that a kernel derives from its memory, with the values of a machine with much memory. There is a namespace for each host, and
/// runs do not study the memory of sockets.
const SYSCTL_FILES: &[(&str, &str)] = &[
    ("/proc/sys/user/max_net_namespaces", "65536"),
    ("/proc/sys/net/ipv4/tcp_mem", "190000 250000 380000"),
    ("/proc/sys/net/ipv4/udp_mem", "380000 500000 760000"),
    ("/proc/sys/net/ipv4/tcp_max_orphans", "16384"),
    ("/proc/sys/fs/nr_open", "1048576"),
];

pub fn prepare_machine() -> io::Result<()> {
    for (kind, at) in FILE_SYSTEM_MOUNTS {
        fs::create_dir_all(at)?;
        mount(*kind, *at, *kind, MountFlags::empty(), None).map_err(|why| io::Error::new(why.kind(), format!("{at}: {why}")))?;
    }
    for (name, value) in SYSCTL_FILES {
        fs::write(name, value).map_err(|why| io::Error::new(why.kind(), format!("{name}: {why}")))?;
    }
    Ok(())
}
