//! How much application data each segment of a connection carries: a full payload, but for a SYN, a FIN and the last of a transfer.

use std::collections::VecDeque;

use ecnlab_transport::{Demand, Settings};

/// Nothing but full segments from here on.
const NEVER: u64 = u64::MAX;

/// The application data of a connection, as far as it is known what there is to send.
#[derive(Clone, Debug)]
pub struct Payloads {
    /// Bytes in a full segment.
    full: u32,
    syn: bool,
    fin: bool,
    /// Segments there are to send.
    segments: u64,
    /// Segments after the SYN that carry less and that the application has not read, with what they carry.
    short: VecDeque<(u64, u32)>,
    /// The first segment that carries less and that the application has not read.
    first_short: u64,
}

impl Payloads {
    pub fn new(settings: &Settings, demand: &Demand) -> Payloads {
        let syn = settings.syn();
        let mut payloads = Payloads {
            full: settings.payload(),
            syn,
            fin: settings.fin,
            segments: u64::from(syn),
            short: VecDeque::new(),
            first_short: if syn { 0 } else { NEVER },
        };
        payloads.add(demand);
        payloads
    }

    /// There is more to send.
    pub fn add(&mut self, demand: &Demand) {
        self.segments = self.segments.saturating_add(demand.segments);
        if let Some(bytes) = demand.last_payload {
            self.short.push_back((self.segments - 1, bytes));
        }
        if demand.closes && self.fin {
            self.short.push_back((self.segments, 0));
            self.segments += 1;
        }
        if self.first_short == NEVER {
            self.find_first_short();
        }
    }

    /// A segment has arrived, and with it the application can read the last `delivered` segments before `next`: the bytes that it can
    /// read, and those that the segment carries if it is here for the first time.
    #[inline]
    pub fn arrived(&mut self, seq: u64, delivered: u64, next: u64) -> (u64, u32) {
        if next.max(seq + 1) <= self.first_short {
            return (delivered * u64::from(self.full), self.full);
        }
        self.arrived_short(seq, delivered, next)
    }

    fn arrived_short(&mut self, seq: u64, delivered: u64, next: u64) -> (u64, u32) {
        let carried = self.carried(seq);
        let mut bytes = delivered * u64::from(self.full);
        while self.first_short < next {
            bytes -= u64::from(self.full - self.carried(self.first_short));
            if self.short.front().is_some_and(|&(seq, _)| seq == self.first_short) {
                self.short.pop_front();
            }
            self.find_first_short();
        }
        (bytes, carried)
    }

    fn carried(&self, seq: u64) -> u32 {
        if seq == 0 && self.syn {
            return 0;
        }
        self.short.iter().find(|&&(short, _)| short == seq).map_or(self.full, |&(_, bytes)| bytes)
    }

    fn find_first_short(&mut self) {
        self.first_short = self.short.front().map_or(NEVER, |&(seq, _)| seq);
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_transport::{Handshake, profile};

    use super::*;

    fn payloads(handshake: Handshake, demand: &Demand) -> Payloads {
        let fin = handshake == Handshake::ThreeWay;
        Payloads::new(&Settings { handshake, fin, packet_size: 1000, header: 40, ..profile::settings("ns2") }, demand)
    }

    #[test]
    fn what_the_application_reads_is_what_it_asked_to_send_in_any_order_of_arrival() {
        for (bytes, segments) in [(2_000, 5), (1_920, 4), (1, 3)] {
            for backwards in [false, true] {
                let mut payloads = payloads(Handshake::ThreeWay, &Demand::bytes(bytes, 960));
                let order: Vec<u64> = if backwards { (0..segments).rev().collect() } else { (0..segments).collect() };
                let (mut read, mut first) = (0, 0);
                for (arrived, seq) in order.into_iter().enumerate() {
                    let (delivered, next) = match (backwards, seq) {
                        (false, _) => (1, seq + 1),
                        (true, 0) => (segments, segments),
                        (true, _) => (0, 0),
                    };
                    assert!(arrived < segments as usize);
                    let (new, carried) = payloads.arrived(seq, delivered, next);
                    read += new;
                    first += u64::from(carried);
                }
                assert_eq!((bytes, bytes), (read, first), "{bytes} bytes, backwards {backwards}");
            }
        }
    }

    #[test]
    fn a_kept_connection_has_a_short_segment_at_the_end_of_each_transfer() {
        let open = Demand { closes: false, ..Demand::bytes(1_000, 960) };
        let mut payloads = payloads(Handshake::None, &open);
        assert_eq!([(960, 960), (40, 40)], [0, 1].map(|seq| payloads.arrived(seq, 1, seq + 1)));
        payloads.add(&open);
        assert_eq!([(960, 960), (40, 40)], [2, 3].map(|seq| payloads.arrived(seq, 1, seq + 1)));
    }

    #[test]
    fn a_first_packet_that_opens_carries_nothing() {
        let mut payloads = payloads(Handshake::FirstPacket, &Demand::segments(10));
        assert_eq!([(0, 0), (960, 960)], [0, 1].map(|seq| payloads.arrived(seq, 1, seq + 1)));
    }
}
