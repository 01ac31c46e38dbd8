//! Datagrams (RFC 768): nothing is acknowledged, nothing is sent again, and nobody slows down.

use ecnlab_units::{Ecn, parameters, words};

use crate::application::Demand;
use crate::segment::{Role, Segment};
use crate::tcb::{Output, SendCounters};

parameters! {
    /// A sender of datagrams as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Size of a full packet on the wire, headers included.
        #[source("ns-2 Agent/UDP, packetSize_")]
        pub packet_size: u32 = "1000", 1..=65_535, "bytes";
        /// What of it is headers.
        #[source("RFC 768; RFC 791: 8 bytes after 20")]
        pub header: u32 = "28", 0..=1000, "bytes";
        /// Codepoint of the packets. A sender that sets another than not-ect promises a response to marks; none of these gives one.
        #[source("RFC 8085, section 3.1.7")]
        pub ecn: DatagramEcn = "not-ect";
    }
}

words! {
    /// Codepoint of datagrams.
    pub enum DatagramEcn { NotEct = "not-ect", Ect0 = "ect0", Ect1 = "ect1" }
}

impl DatagramEcn {
    pub fn codepoint(self) -> Ecn {
        match self {
            DatagramEcn::NotEct => Ecn::NotEct,
            DatagramEcn::Ect0 => Ecn::Ect0,
            DatagramEcn::Ect1 => Ecn::Ect1,
        }
    }
}

impl Settings {
    /// Application data in a full packet, in bytes.
    pub fn payload(&self) -> u32 {
        self.packet_size - self.header
    }

    /// Contradictions: the parameter's name and what is wrong.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let Settings { packet_size, header, .. } = self;
        let wrong = header >= packet_size;
        wrong.then(|| ("header", format!("{header} bytes must be below packet_size {packet_size}"))).into_iter().collect()
    }
}

/// Sends what it is given at once.
pub struct DatagramSender {
    settings: Settings,
    /// The number of the next datagram.
    next: u64,
    counters: SendCounters,
}

impl DatagramSender {
    pub fn new(settings: Settings) -> DatagramSender {
        DatagramSender { settings, next: 0, counters: SendCounters::default() }
    }

    /// Sends a demand: full packets, and a short one for the rest.
    pub fn produce(&mut self, demand: &Demand, out: &mut impl Output) {
        let full = u64::from(self.settings.payload());
        let mut left = demand.bytes;
        while left > 0 {
            let payload = left.min(full);
            left -= payload;
            self.send(payload as u32, out);
        }
    }

    fn send(&mut self, payload: u32, out: &mut impl Output) {
        let bare = Segment::plain(self.next, payload + self.settings.header);
        out.send(Segment { role: Role::Plain, ecn: self.settings.ecn.codepoint(), ..bare });
        self.next += 1;
        self.counters.sent += 1;
    }

    pub fn counters(&self) -> &SendCounters {
        &self.counters
    }

    /// Application data in a datagram of this size on the wire.
    pub fn carried(&self, size: u32) -> u32 {
        size - self.settings.header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sent(Vec<Segment>);

    impl Output for Sent {
        fn send(&mut self, segment: Segment) {
            self.0.push(segment);
        }
    }

    #[test]
    fn a_demand_goes_out_at_once_in_full_packets_and_a_short_one() {
        let settings = Settings { packet_size: 1000, header: 28, ecn: DatagramEcn::Ect0 };
        let (mut sender, mut sent) = (DatagramSender::new(settings), Sent(Vec::new()));
        sender.produce(&Demand::open(2 * 972 + 1), &mut sent);
        sender.produce(&Demand::open(100), &mut sent);
        let told: Vec<_> = sent.0.iter().map(|segment| (segment.seq, segment.size, segment.ecn)).collect();
        assert_eq!(vec![(0, 1000, Ecn::Ect0), (1, 1000, Ecn::Ect0), (2, 29, Ecn::Ect0), (3, 128, Ecn::Ect0)], told);
        assert_eq!((4, 1), (sender.counters().sent, sender.carried(29)));
    }

    #[test]
    fn headers_leave_room_for_data() {
        assert!(Settings { packet_size: 28, header: 28, ecn: DatagramEcn::NotEct }.check().iter().any(|(name, _)| *name == "header"));
    }
}
