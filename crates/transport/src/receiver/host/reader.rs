//! The application of a host's receiver: it reads what is there, in pieces, unless it has stopped for a time, and closes when it has read to the
//! end.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use super::autotune::Autotune;
use super::room::{Room, Stored};
use crate::settings::{ReceiveWindow, Settings};

#[derive(Debug)]
pub struct Reader {
    /// What can be read, the first of them perhaps in part.
    unread: VecDeque<Stored>,
    /// How many bytes were read.
    read: u64,
    /// How much it reads at a time, in bytes.
    piece: u32,
    autotune: Option<Autotune>,
    stopped: bool,
    /// When it stops and goes on: since the connection opened, and once it has, as times.
    pauses: [Option<Span>; 2],
    stops: Option<Time>,
    resumes: Option<Time>,
    /// It closes when it has read to the end; it does so then; it has done so.
    closes_at_end: bool,
    closes: Option<Time>,
    has_closed: bool,
}

impl Reader {
    pub fn new(settings: &Settings) -> Reader {
        Reader {
            unread: VecDeque::new(),
            read: 0,
            piece: settings.read_size,
            autotune: (settings.receive_window == ReceiveWindow::Autotuned && settings.buffer_follows_reading)
                .then(|| Autotune::new(settings)),
            stopped: false,
            pauses: [settings.reader_stops.0, settings.reader_resumes.0],
            stops: None,
            resumes: None,
            closes_at_end: true,
            closes: None,
            has_closed: false,
        }
    }

    /// The sender opened the connection at `opened`, which is heard of now.
    pub fn start(&mut self, opened: Time, now: Time) {
        [self.stops, self.resumes] = self.pauses.map(|pause| pause.map(|pause| now.max(opened + pause)));
    }

    /// The connection is open; the data begins at `from`.
    pub fn open(&mut self, room: Option<&Room>, from: u64, now: Time) {
        self.read = from;
        if let Some((autotune, room)) = self.autotune.as_mut().zip(room) {
            autotune.open(room.threshold().min(room.window()), from, now);
        }
    }

    /// Nothing is to be read.
    pub fn is_idle(&self) -> bool {
        self.unread.is_empty()
    }

    /// A segment can be read. Returns whether its data went to where there is room behind the last one's, so that it takes no memory
    /// (Linux tcp_try_coalesce).
    pub fn queue(&mut self, stored: Stored) -> bool {
        if let Some(last) = self.unread.back_mut().filter(|last| stored.payload <= last.spare) {
            last.payload += stored.payload;
            last.spare -= stored.payload;
            return true;
        }
        self.unread.push_back(stored);
        false
    }

    /// Reads a piece. Returns how many bytes it was; nothing if there is nothing to read or the application has stopped.
    pub fn read(&mut self, mut room: Option<&mut Room>, rtt: Span, now: Time) -> Option<u64> {
        if self.stopped || self.unread.is_empty() {
            return None;
        }
        let mut copied = 0;
        while copied < self.piece
            && let Some(first) = self.unread.front_mut()
        {
            let used = first.payload.min(self.piece - copied);
            first.payload -= used;
            copied += used;
            self.read += u64::from(used);
            let (is_empty, memory) = (first.payload == 0, first.memory);
            self.autotune(room.as_deref_mut(), rtt, now);
            if is_empty {
                self.unread.pop_front();
                if let Some(room) = &mut room {
                    room.release(memory);
                }
            }
        }
        Some(u64::from(copied))
    }

    fn autotune(&mut self, room: Option<&mut Room>, rtt: Span, now: Time) {
        let Some(autotune) = &mut self.autotune else { return };
        if let Some(buffer) = autotune.read(self.read, rtt, now)
            && let Some(room) = room
        {
            room.enlarge(buffer);
        }
    }

    /// The end of the data has come: it closes once it has read that.
    pub fn meet_end(&mut self, now: Time) {
        let has_read = self.unread.is_empty() && !self.stopped;
        if has_read && self.closes_at_end && !self.has_closed {
            self.closes = Some(now);
        }
    }

    /// It closes for reasons of its own.
    pub fn leave_closing(&mut self) {
        self.closes_at_end = false;
    }

    pub fn has_closed(&self) -> bool {
        self.has_closed
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub fn resume(&mut self) {
        self.stopped = false;
    }

    pub fn deadline(&self) -> Option<Time> {
        [self.closes, self.stops, self.resumes].into_iter().flatten().min()
    }

    /// The deadline has come: it stops, goes on, or closes.
    pub fn wake(&mut self, now: Time) -> Wake {
        if self.closes.take_if(|at| *at <= now).is_some() {
            self.has_closed = true;
            return Wake::Closes;
        }
        if self.stops.take_if(|at| *at <= now).is_some() {
            self.stopped = true;
            return Wake::Stops;
        }
        self.resumes = None;
        self.stopped = false;
        Wake::Reads
    }
}

/// What the application does when it wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    Closes,
    Stops,
    Reads,
}
