//! Sender of a connection between external hosts: it sends nothing itself, and keeps the reports of its host.

use ecnlab_units::Span;

use crate::congestion::CongestionWindow;
use crate::tcb::SendCounters;

/// State of an external sender.
#[derive(Clone, Debug, Default)]
pub struct ExternalSender {
    counters: SendCounters,
    window: Option<CongestionWindow>,
    min_rtt: Option<Span>,
    /// Number of this connection among those of its flow, from 0.
    connection_number: u32,
    /// The host was requested to open the connection.
    is_requested: bool,
    /// The host has reported that the connection is open.
    is_open: bool,
    /// Some data is not acknowledged yet.
    is_busy: bool,
    /// Bytes that the host was requested to send, and bytes of them that were read at the peer.
    requested_bytes: u64,
    read_bytes: u64,
}

impl ExternalSender {
    /// State for the next connection of the flow, which replaces `before`.
    pub fn set_next_connection_number(&mut self, before: &ExternalSender) {
        self.connection_number = before.connection_number + u32::from(before.is_requested);
    }

    /// Number of this connection among those of its flow, from 0.
    pub fn connection_number(&self) -> u32 {
        self.connection_number
    }

    /// Records a request to send `bytes`; returns whether the host must open the connection for it.
    pub fn request_write(&mut self, bytes: u64) -> bool {
        self.is_busy = true;
        self.requested_bytes = self.requested_bytes.saturating_add(bytes);
        !std::mem::replace(&mut self.is_requested, true)
    }

    /// Records that the connection is open; returns whether it was not open before.
    pub fn record_open(&mut self) -> bool {
        !std::mem::replace(&mut self.is_open, true)
    }

    /// Records bytes read at the peer, bounded by the bytes requested; returns how many of them count.
    pub fn on_peer_read(&mut self, bytes: u64) -> u64 {
        let counts = bytes.min(self.requested_bytes - self.read_bytes);
        self.read_bytes += counts;
        counts
    }

    /// Records that all data is acknowledged.
    pub fn on_all_acknowledged(&mut self) {
        self.is_busy = false;
    }

    /// Whether there was data to send and all of it is acknowledged.
    pub fn is_done(&self) -> bool {
        self.is_requested && !self.is_busy
    }

    /// Counts a packet from the host.
    pub fn count_packet(&mut self) {
        self.counters.sent += 1;
    }

    /// Adds the host's counters since its last report. Packets sent are counted as they arrive.
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

    /// Congestion window in the host's last report.
    pub fn window(&self) -> Option<&CongestionWindow> {
        self.window.as_ref()
    }

    pub fn update_min_rtt(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Minimum RTT that the host has reported.
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
        assert_eq!([true, false], [sender.record_open(), sender.record_open()]);
        sender.on_all_acknowledged();
        assert!(sender.is_done());
        let mut next = ExternalSender::default();
        next.set_next_connection_number(&sender);
        assert_eq!((1, true), (next.connection_number(), next.request_write(1)));
    }

    #[test]
    fn no_more_is_read_than_was_to_be_sent() {
        let mut sender = ExternalSender::default();
        sender.request_write(100);
        sender.request_write(50);
        assert_eq!([120, 30, 0], [120, 40, 1].map(|bytes| sender.on_peer_read(bytes)));
        sender.request_write(u64::MAX);
        assert_eq!(1 << 60, sender.on_peer_read(1 << 60));
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
