//! The receiver's replies to SYN and FIN, sent again until they are acknowledged (RFC 9293, sections 3.5 and 3.6; RFC 6298, section 5).

use ecnlab_units::{Span, Time};

use crate::segment::{Role, Segment};

/// How often a reply is sent again before the receiver gives up.
const ATTEMPTS: u32 = 6;

/// How far the connection is opened and closed.
#[derive(Debug)]
pub struct Replies {
    rto: Span,
    /// The reply that waits to be acknowledged.
    waiting: Option<Unacknowledged>,
    open: bool,
    /// The other direction has a FIN of its own.
    closes_elsewhere: bool,
    /// The number of the FIN, once it has come.
    fin: Option<u64>,
}

/// A reply, when it is to be sent again, and how often it was sent.
#[derive(Clone, Copy, Debug)]
struct Unacknowledged {
    role: Role,
    until: Time,
    sent: u32,
}

impl Replies {
    pub fn new(rto: Span) -> Replies {
        Replies { rto, waiting: None, open: false, closes_elsewhere: false, fin: None }
    }

    /// A segment other than a SYN has come, which may acknowledge the reply that waits.
    pub fn take(&mut self, segment: &Segment) {
        let opens = !self.open;
        self.open = true;
        if segment.role == Role::Fin {
            self.fin = Some(segment.seq);
        }
        if opens || segment.role == Role::Pure && self.fin.is_some() {
            self.waiting = None;
        }
    }

    /// The role of an acknowledgement of all before `next`.
    pub fn role(&self, next: u64) -> Role {
        if !self.closes_elsewhere && self.fin.is_some_and(|fin| fin < next) { Role::Fin } else { Role::Plain }
    }

    /// The other direction has a FIN of its own: none is sent here.
    pub fn leave_closing(&mut self) {
        self.closes_elsewhere = true;
    }

    /// Whether the FIN has come, so that nothing may be delayed any more.
    pub fn closes(&self) -> bool {
        self.fin.is_some()
    }

    /// An acknowledgement of this role goes out.
    pub fn sent(&mut self, role: Role, now: Time) {
        let settled = role == Role::Plain || role == Role::Syn && self.open;
        if !settled && self.waiting.is_none() {
            self.waiting = Some(Unacknowledged { role, until: now + self.rto, sent: 1 });
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.waiting.map(|waiting| waiting.until)
    }

    /// The deadline has come: the role of the reply to send again.
    pub fn expire(&mut self, now: Time) -> Option<Role> {
        let waiting = self.waiting.as_mut().filter(|waiting| waiting.until <= now)?;
        let role = waiting.role;
        waiting.sent += 1;
        waiting.until = now + self.rto * (1 << (waiting.sent - 1));
        if waiting.sent > ATTEMPTS {
            self.waiting = None;
        }
        Some(role)
    }
}
