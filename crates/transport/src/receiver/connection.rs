//! The receiver's side of opening and closing: SYN-ACK and FIN, sent again until they are answered (RFC 9293, sections 3.5 and 3.6;
//! RFC 6298, section 5).

use ecnlab_units::{Span, Time};

use crate::segment::{Kind, Segment};

/// How often an answer is sent again before the receiver gives up.
const ATTEMPTS: u32 = 6;

/// Where the connection stands.
#[derive(Debug)]
pub struct Connection {
    rto: Span,
    /// The answer that waits to be acknowledged, when it is to be sent again, and how often it was.
    waiting: Option<Waiting>,
    open: bool,
    /// The number of the FIN, once it has come.
    fin: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    kind: Kind,
    until: Time,
    sent: u32,
}

impl Connection {
    pub fn new(rto: Span) -> Connection {
        Connection { rto, waiting: None, open: false, fin: None }
    }

    /// A segment other than a SYN has come, when all before `next` have: what was answered before may now be settled.
    pub fn hear(&mut self, segment: &Segment) {
        let opens = !self.open;
        self.open = true;
        if segment.kind == Kind::Fin {
            self.fin = Some(segment.seq);
        }
        if opens || segment.kind == Kind::Pure && self.fin.is_some() {
            self.waiting = None;
        }
    }

    /// The kind of an acknowledgement of all before `next`.
    pub fn kind(&self, next: u64) -> Kind {
        if self.fin.is_some_and(|fin| fin < next) { Kind::Fin } else { Kind::Plain }
    }

    /// Whether this segment is to be answered at once.
    pub fn closes(&self) -> bool {
        self.fin.is_some()
    }

    /// An answer of this kind goes out.
    pub fn answered(&mut self, kind: Kind, now: Time) {
        let settled = kind == Kind::Plain || kind == Kind::Syn && self.open;
        if !settled && self.waiting.is_none() {
            self.waiting = Some(Waiting { kind, until: now + self.rto, sent: 1 });
        }
    }

    pub fn deadline(&self) -> Option<Time> {
        self.waiting.map(|waiting| waiting.until)
    }

    /// The deadline has come: the kind of the answer to send again.
    pub fn expire(&mut self, now: Time) -> Option<Kind> {
        let waiting = self.waiting.as_mut().filter(|waiting| waiting.until <= now)?;
        let kind = waiting.kind;
        waiting.sent += 1;
        waiting.until = now + self.rto * (1 << (waiting.sent - 1));
        if waiting.sent > ATTEMPTS {
            self.waiting = None;
        }
        Some(kind)
    }
}
