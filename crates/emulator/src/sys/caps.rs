//! Capabilities (capabilities(7)): whether the process may set networks up, and how programs that it starts inherit that.

use std::io;

use rustix::thread::{CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities};

/// Started programs keep these: to bind low ports, to configure networks, to send raw packets (`ping`), and to create namespaces.
const INHERITED_CAPABILITIES: [CapabilitySet; 4] =
    [CapabilitySet::NET_BIND_SERVICE, CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW, CapabilitySet::SYS_ADMIN];

/// Whether this process may configure networks and create namespaces, as root and the root of a user namespace may.
pub fn has_capabilities() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::NET_ADMIN | CapabilitySet::SYS_ADMIN))
}

/// Lets programs that this thread starts inherit its capabilities without being root.
///
/// # Errors
/// If the thread lacks one of the capabilities.
pub fn inherit_capabilities() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::from_iter(INHERITED_CAPABILITIES) & sets.permitted;
    set_capabilities(None, sets)?;
    for capability in INHERITED_CAPABILITIES {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}
