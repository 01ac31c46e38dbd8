//! The receiving application: it reads the available data in pieces, may pause, and closes when it has read to the end.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};

use super::autotune::RcvBufAutotune;
use super::rcvbuf::{QueuedSegment, ReceiveBuffer};
use crate::memory;
use crate::settings::{ReceiveWindow, TcpSettings};

#[derive(Debug, Default)]
pub struct AppReader {
    /// Readable segments; the first may be partly read.
    unread: VecDeque<QueuedSegment>,
    /// Number of bytes read.
    read_bytes: u64,
    /// Maximum bytes of one read.
    read_size: u32,
    autotune: Option<RcvBufAutotune>,
    is_stopped: bool,
    /// Start and end of the pause, since the connection opened; and as times, once it has opened.
    pauses: [Option<Span>; 2],
    stops_at: Option<Time>,
    resumes_at: Option<Time>,
    /// The application closes when it has read to the end; the time at which it closes; whether it has closed.
    closes_on_fin: bool,
    closes_at: Option<Time>,
    has_closed: bool,
}

impl AppReader {
    /// Takes the memory of the reader of a connection that is over.
    pub fn reuse_memory_of(&mut self, past: &mut AppReader) {
        memory::take_deque_allocation(&mut self.unread, &mut past.unread);
    }

    pub fn new(settings: &TcpSettings) -> AppReader {
        AppReader {
            read_size: settings.quirks.app_read_size,
            autotune: (settings.receive_window == ReceiveWindow::Autotuned && settings.quirks.moderate_rcvbuf)
                .then(|| RcvBufAutotune::new(settings)),
            pauses: [settings.quirks.app_read_pause.0, settings.quirks.app_read_resume.0],
            closes_on_fin: true,
            ..AppReader::default()
        }
    }

    /// Processes the SYN; the sender opened the connection at `opened`.
    pub fn schedule_pause(&mut self, opened: Time, now: Time) {
        [self.stops_at, self.resumes_at] = self.pauses.map(|pause| pause.map(|pause| now.max(opened + pause)));
    }

    /// Starts reading when the connection opens; the data begins at byte `from`.
    pub fn on_open(&mut self, room: Option<&ReceiveBuffer>, from: u64, now: Time) {
        self.read_bytes = from;
        if let Some((autotune, room)) = self.autotune.as_mut().zip(room) {
            autotune.on_open(room.rcv_ssthresh().min(room.last_window()), from, now);
        }
    }

    /// Whether no data is readable.
    pub fn has_nothing_to_read(&self) -> bool {
        self.unread.is_empty()
    }

    /// Appends a readable segment. Returns whether its data fits into the tailroom of the last one, so that it needs no memory of its own
    /// (Linux tcp_try_coalesce).
    pub fn push_segment(&mut self, stored: QueuedSegment) -> bool {
        if let Some(last) = self.unread.back_mut().filter(|last| stored.payload <= last.tailroom) {
            last.payload += stored.payload;
            last.tailroom -= stored.payload;
            return true;
        }
        self.unread.push_back(stored);
        false
    }

    /// Reads a piece. Returns its number of bytes; none if no data is readable or the application has paused.
    pub fn read_chunk(&mut self, mut room: Option<&mut ReceiveBuffer>, rtt: Span, now: Time) -> Option<u64> {
        if self.is_stopped || self.unread.is_empty() {
            return None;
        }
        let mut copied = 0;
        while copied < self.read_size
            && let Some(first) = self.unread.front_mut()
        {
            let used = first.payload.min(self.read_size - copied);
            first.payload -= used;
            copied += used;
            self.read_bytes += u64::from(used);
            let (is_empty, memory) = (first.payload == 0, first.memory);
            self.autotune_rcvbuf(room.as_deref_mut(), rtt, now);
            if is_empty {
                self.unread.pop_front();
                if let Some(room) = &mut room {
                    room.uncharge(memory);
                }
            }
        }
        Some(u64::from(copied))
    }

    fn autotune_rcvbuf(&mut self, room: Option<&mut ReceiveBuffer>, rtt: Span, now: Time) {
        let Some(autotune) = &mut self.autotune else { return };
        if let Some(buffer) = autotune.required_rcvbuf_after_read(self.read_bytes, rtt, now)
            && let Some(room) = room
        {
            room.grow_rcvbuf(buffer);
        }
    }

    /// Processes the end of the data: the application closes once it has read it.
    pub fn on_fin(&mut self, now: Time) {
        let has_read = self.unread.is_empty() && !self.is_stopped;
        if has_read && self.closes_on_fin && !self.has_closed {
            self.closes_at = Some(now);
        }
    }

    /// Disables the close at the end of the data; the application closes later by itself.
    pub fn suppress_close(&mut self) {
        self.closes_on_fin = false;
    }

    pub fn has_closed(&self) -> bool {
        self.has_closed
    }

    pub fn stop(&mut self) {
        self.is_stopped = true;
    }

    pub fn resume(&mut self) {
        self.is_stopped = false;
    }

    /// The earliest time at which it stops, resumes or closes.
    pub fn pause_or_close_deadline(&self) -> Option<Time> {
        [self.closes_at, self.stops_at, self.resumes_at].into_iter().flatten().min()
    }

    /// Handles the timer: pauses, resumes, or closes.
    pub fn on_timer(&mut self, now: Time) -> ReaderStateChange {
        if self.closes_at.take_if(|at| *at <= now).is_some() {
            self.has_closed = true;
            return ReaderStateChange::Close;
        }
        if self.stops_at.take_if(|at| *at <= now).is_some() {
            self.is_stopped = true;
            return ReaderStateChange::Stop;
        }
        self.resumes_at = None;
        self.is_stopped = false;
        ReaderStateChange::Resume
    }
}

/// Result of the application's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderStateChange {
    Close,
    Stop,
    Resume,
}
