//! A kernel that has just started, made ready: its file systems, and what it would derive from the size of its memory.

use std::fs;
use std::io;

use rustix::mount::{MountFlags, mount};

/// Where a file system is mounted, and which.
const FILE_SYSTEM_MOUNTS: &[(&str, &str)] = &[("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")];

/// What a kernel derives from its memory, set to what it would be with plenty: there is a namespace for each host, and memory for sockets is
/// no part of what is looked at.
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
