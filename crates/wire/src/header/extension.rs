//! IPv6's extension headers (RFC 8200, section 4; IANA, "IPv6 Extension Header Types").

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
pub const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;

/// Bytes of an extension header, of which `kind` stands in the header before it and `second` is its own second byte; `None` if the kind is
/// none, and the packet carries it.
pub const fn length(kind: u8, second: u8) -> Option<usize> {
    match kind {
        HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => Some(8 * (second as usize + 1)),
        AUTHENTICATION => Some(4 * (second as usize + 2)),
        FRAGMENT => Some(8),
        _ => None,
    }
}
