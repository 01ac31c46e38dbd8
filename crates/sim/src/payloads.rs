//! How much application data arrives: what each segment carries, and what the application can read by it.

use ecnlab_transport::{Demand, Plan, Settings};

/// The application data of a connection as its sink sees it.
#[derive(Clone, Debug)]
pub struct Payloads(Plan);

impl Payloads {
    pub fn new(settings: &Settings, demand: &Demand) -> Payloads {
        Payloads(Plan::new(settings, demand))
    }

    /// There is more to send.
    pub fn add(&mut self, demand: &Demand) {
        self.0.add(demand);
    }

    /// A segment has arrived, and with it the application can read the last `delivered` segments before `next`: the bytes that it can
    /// read, and those that the segment carries if it is here for the first time.
    #[inline]
    pub fn arrived(&mut self, seq: u64, delivered: u64, next: u64) -> (u64, u32) {
        let Payloads(plan) = self;
        if plan.is_full_before(next.max(seq + 1)) {
            let full = plan.full_payload();
            return (delivered * u64::from(full), full);
        }
        let read = plan.bytes_before(next) - plan.bytes_before(next - delivered);
        let carried = plan.payload(seq);
        plan.pass(next);
        (read, carried)
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
