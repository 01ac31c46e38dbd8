//! IPv6's extension headers (RFC 8200, section 4; IANA, "IPv6 Extension Header Types").

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
pub const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;

/// Bytes of an extension header, of which `kind` is the next-header value of the header before it and `second` is its second byte. `None`
/// if `kind` is not an extension header: then the payload begins.
pub const fn header_length(kind: u8, second: u8) -> Option<usize> {
    match kind {
        HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY => Some(8 * (second as usize + 1)),
        AUTHENTICATION => Some(4 * (second as usize + 2)),
        FRAGMENT => Some(8),
        _ => None,
    }
}
