//! Capabilities (capabilities(7)): whether the process has those that networks need, and how programs that it starts keep them.

use std::fs;
use std::io;

use super::errno::check;

/// Capabilities by number (`linux/capability.h`) that programs keep: to serve low ports, to set networks up, to send packets as they are made
/// (`ping`), and to make namespaces within those that they are in.
const CAP_NET_BIND_SERVICE: u32 = 10;
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;
const KEPT_CAPABILITIES: [u32; 4] = [CAP_NET_BIND_SERVICE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN];

/// Version 3 of the interface: sets of 64 capabilities in two parts.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;

/// Whether this process may set networks up and make namespaces, as root may and those in a user namespace of their own.
pub fn has_capabilities() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    effective.is_some_and(|capabilities| [CAP_NET_ADMIN, CAP_SYS_ADMIN].iter().all(|capability| capabilities >> capability & 1 == 1))
}

/// Lets the programs that this thread starts keep its capabilities though they are not root's.
///
/// # Errors
/// If it has not the capabilities itself.
pub fn inherit_capabilities() -> io::Result<()> {
    let mut header = [CAPABILITY_VERSION_3, 0];
    // Effective, permitted and inheritable, of the capabilities below 32 and of those from there on.
    let mut sets = [[0_u32; 3]; 2];
    // Safety: both are as long as version 3 has them, and outlive the call.
    check(unsafe { libc::syscall(libc::SYS_capget, header.as_mut_ptr(), sets.as_mut_ptr()) })?;
    sets[0][2] |= KEPT_CAPABILITIES.iter().fold(0, |set, capability| set | 1 << capability) & sets[0][1];
    // Safety: as above.
    check(unsafe { libc::syscall(libc::SYS_capset, header.as_mut_ptr(), sets.as_ptr()) })?;
    for capability in KEPT_CAPABILITIES {
        let raise = libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong;
        // Safety: this control takes numbers and writes no memory.
        check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, raise, libc::c_ulong::from(capability), 0, 0) })?;
    }
    Ok(())
}
