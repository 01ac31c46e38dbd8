//! The sender of a connection that a host outside has: it sends nothing itself, and knows what it was told.

use ecnlab_units::Span;

use crate::congestion::CongestionWindow;
use crate::tcb::SendCounters;

/// What is known of a sender outside.
#[derive(Clone, Debug, Default)]
pub struct ExternalSender {
    counters: SendCounters,
    window: Option<CongestionWindow>,
    min_rtt: Option<Span>,
    /// Which of its flow's connections it has, from 0.
    connection_number: u32,
    /// Its host was asked to open the connection.
    is_requested: bool,
    /// Its host has answered that it is open.
    is_open: bool,
    /// There is something to send that is not acknowledged.
    is_busy: bool,
    /// Application data that it was asked to send over the connection, and that was read of it.
    requested_bytes: u64,
    read_bytes: u64,
}

impl ExternalSender {
    /// The sender of the connection that comes in the place of another's.
    pub fn for_next_connection(&mut self, before: &ExternalSender) {
        self.connection_number = before.connection_number + u32::from(before.is_requested);
    }

    /// Which of its flow's connections it has, from 0.
    pub fn connection_number(&self) -> u32 {
        self.connection_number
    }

    /// Notes that its host is asked to send so much; true if it is also to open the connection for it.
    pub fn request_write(&mut self, bytes: u64) -> bool {
        self.is_busy = true;
        self.requested_bytes = self.requested_bytes.saturating_add(bytes);
        !std::mem::replace(&mut self.is_requested, true)
    }

    /// Notes that the connection is open; true if it was not before.
    pub fn on_opened(&mut self) -> bool {
        !std::mem::replace(&mut self.is_open, true)
    }

    /// Notes that so much was read at the other end, which is no more than it was asked to send; returns how much of it counts.
    pub fn on_read(&mut self, bytes: u64) -> u64 {
        let counts = bytes.min(self.requested_bytes - self.read_bytes);
        self.read_bytes += counts;
        counts
    }

    /// All that there was to send is acknowledged.
    pub fn on_all_acknowledged(&mut self) {
        self.is_busy = false;
    }

    /// Whether there was something to send and all of it is acknowledged.
    pub fn is_done(&self) -> bool {
        self.is_requested && !self.is_busy
    }

    /// Counts a packet that came from its host.
    pub fn count_packet(&mut self) {
        self.counters.sent += 1;
    }

    /// Adds what its host has counted since it told that last; what it has sent is counted as it comes.
    pub fn add_counters(&mut self, more: &SendCounters) {
        let sent = self.counters.sent;
        self.counters = SendCounters { sent, ..self.counters.sum_with(more) };
    }

    pub fn counters(&self) -> &SendCounters {
        &self.counters
    }

    pub fn set_window(&mut self, window: CongestionWindow) {
        self.window = Some(window);
    }

    /// The congestion window when its host told it last.
    pub fn window(&self) -> Option<&CongestionWindow> {
        self.window.as_ref()
    }

    pub fn update_min_rtt(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Smallest round-trip time that its host told.
    pub fn min_rtt(&self) -> Option<Span> {
        self.min_rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_opens_a_connection_for_the_first_thing_that_it_is_to_send_over_it() {
        let mut sender = ExternalSender::default();
        assert_eq!([false, true, false, false], [sender.is_done(), sender.request_write(100), sender.request_write(50), sender.is_done()]);
        assert_eq!([true, false], [sender.on_opened(), sender.on_opened()]);
        sender.on_all_acknowledged();
        assert!(sender.is_done());
        let mut next = ExternalSender::default();
        next.for_next_connection(&sender);
        assert_eq!((1, true), (next.connection_number(), next.request_write(1)));
    }

    #[test]
    fn no_more_is_read_than_was_to_be_sent() {
        let mut sender = ExternalSender::default();
        sender.request_write(100);
        sender.request_write(50);
        assert_eq!([120, 30, 0], [120, 40, 1].map(|bytes| sender.on_read(bytes)));
        sender.request_write(u64::MAX);
        assert_eq!(1 << 60, sender.on_read(1 << 60));
    }

    #[test]
    fn what_a_host_counts_adds_up_beside_the_packets_that_came() {
        let mut sender = ExternalSender::default();
        sender.count_packet();
        let more = SendCounters { sent: 9, timeouts: 2, ..SendCounters::default() };
        sender.add_counters(&more);
        sender.add_counters(&more);
        assert_eq!(SendCounters { sent: 1, timeouts: 4, ..SendCounters::default() }, *sender.counters());
    }
}
