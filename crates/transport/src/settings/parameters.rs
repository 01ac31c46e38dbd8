//! The public parameters of a sender and its receiver: settings of current hosts, constants of published algorithms, and sizes.
//!
//! Behaviour of one implementation or version is a quirk (`quirks.rs`). `when` lists the values of other parameters with which a parameter
//! is read.

use ecnlab_units::{Span, parameters};

use super::{
    CongestionControlName, CwndGrowthCondition, CwndIncrease, EchoStyle, EcnResponseName, EctCodepoint, Handshake, HystartName,
    LossDetection, Quirks, ReceiveWindow, RecoveryName, SlowStartAfterIdle,
};

pub(super) const MAX_WINDOW_PACKETS: u64 = 1_000_000_000;

parameters! {
    /// The parameters in the form that senders and receivers read on every packet.
    #[derive(Clone, Debug)]
    pub struct TcpSettings {
        ..quirks: Quirks;
        /// Congestion control: growth of the window, and its reduction at a loss. Hosts of a kernel can have any that it has, such as bbr.
        #[source("RFC 5681; RFC 9438; Brakmo and Peterson 1995; Linux sysctl tcp_congestion_control")]
        pub congestion_control: CongestionControlName = "reno";
        /// Loss recovery; sack1 and vegas are ns-2's, sack and fack share one scoreboard, and rack has the states of Linux.
        #[source("RFC 5681; RFC 6582; RFC 6675; RFC 8985; Mathis and Mahdavi 1996")]
        pub recovery: RecoveryName = "reno";
        /// Loss detection with SACK: by RACK (time), or by DupThresh, the number of sacked segments above.
        #[source("RFC 8985, section 6; RFC 6675, section 4; Linux sysctl tcp_recovery")]
        #[when(recovery = "rack")]
        pub loss_detection: LossDetection = "rack";
        /// DupThresh: number of duplicate ACKs that indicate a loss.
        #[source("RFC 5681, section 3.2; RFC 6675, section 2; Linux sysctl tcp_reordering")]
        #[usual(1..=10, linear)]
        pub dupthresh: u32 = "3", 1..=1000, "ACKs";
        /// Tail loss probe.
        #[source("RFC 8985, section 7; Linux sysctl tcp_early_retrans")]
        #[when(recovery = "rack")]
        pub tlp: bool = "true";
        /// F-RTO: after a timeout the sender first sends new packets, to detect a spurious timeout.
        #[source("RFC 5682; Linux sysctl tcp_frto")]
        #[when(recovery = "rack")]
        pub frto: bool = "false";
        /// Offer ECN and respond to marks.
        #[source("RFC 3168; Linux sysctl tcp_ecn")]
        pub ecn: bool = "false";
        /// Response of the window to a mark: none, as to a loss, ABE's smaller reduction, by DCTCP's share of marks, or by MECN's levels.
        #[source("RFC 3168, section 6.1.2; RFC 8511; RFC 8257; Durresi et al. 2001")]
        #[when(ecn = "true")]
        pub ecn_response: EcnResponseName = "halve";
        /// Echo of marks by the receiver: until CWR; each packet's mark; MECN's two bits; or their count, which both hosts negotiate, with
        /// classic ECN as the fall-back (Accurate ECN).
        #[source("RFC 3168, section 6.1.3; RFC 8257, section 3.2; Durresi et al. 2001; RFC 9768")]
        #[when(ecn = "true")]
        pub ecn_echo: EchoStyle = "classic";
        /// Codepoint of ECN-capable packets; ect1 selects the low-latency queue of L4S, and is for scalable senders such as DCTCP.
        #[source("RFC 3168, section 5; RFC 9331, section 4.1")]
        #[when(ecn = "true")]
        pub ect_codepoint: EctCodepoint = "ect0";
        /// Share of the window that ABE leaves after a mark.
        #[source("RFC 8511, section 3.1")]
        #[when(ecn = "true", ecn_response = "abe")]
        #[usual(0.5..=1, linear)]
        pub abe_beta: f64 = "0.8", 0.5..=1;
        /// DCTCP's gain g of the estimate of the share of marks.
        #[source("RFC 8257, section 4.2")]
        #[when(ecn = "true", ecn_response = "dctcp")]
        #[usual(0.005..=1, log)]
        pub dctcp_g: f64 = "0.0625", 0.0001..=1;
        /// Relative decrease of the window for a mark of incipient congestion with MECN.
        #[source("Durresi et al. 2001, section 2")]
        #[when(ecn = "true", ecn_response = "mecn")]
        #[off("0", "a mark of incipient congestion reduces nothing")]
        #[usual(0..=0.5, linear)]
        pub mecn_incipient_decrease: f64 = "0.2", 0..=1;
        /// Relative decrease of the window for a mark of moderate congestion with MECN.
        #[source("Durresi et al. 2001, section 2")]
        #[when(ecn = "true", ecn_response = "mecn")]
        #[off("0", "a mark of moderate congestion reduces nothing")]
        #[usual(0..=0.8, linear)]
        pub mecn_moderate_decrease: f64 = "0.4", 0..=1;
        /// AIMD's additive increase a per round trip.
        #[source("Chiu and Jain 1989")]
        #[when(congestion_control = "aimd")]
        #[usual(0.1..=10, log)]
        pub aimd_a: f64 = "1", 0..=1000, "packets";
        /// AIMD's multiplicative decrease b, the relative reduction of the window.
        #[source("Chiu and Jain 1989")]
        #[when(congestion_control = "aimd")]
        #[usual(0.1..=0.9, linear)]
        pub aimd_b: f64 = "0.5", 0.01..=0.99;
        /// CUBIC's constant C, the scale of its growth.
        #[source("RFC 9438, section 5")]
        #[when(congestion_control = "cubic")]
        #[usual(0.04..=4, log)]
        pub cubic_c: f64 = "0.4", 0.001..=100, "packets/s^3";
        /// Share of the window that CUBIC leaves after a loss.
        #[source("RFC 9438, section 4.6")]
        #[when(congestion_control = "cubic")]
        #[usual(0.3..=0.95, linear)]
        pub cubic_beta: f64 = "0.7", 0.1..=0.99;
        /// Number of queued packets below which Vegas grows.
        #[source("Brakmo and Peterson 1995; ns-2 v_alpha_")]
        #[when(congestion_control = "vegas")]
        #[usual(1..=20, linear)]
        pub vegas_alpha: f64 = "1", 0..=1000, "packets";
        /// Number of queued packets above which Vegas shrinks.
        #[source("Brakmo and Peterson 1995; ns-2 v_beta_")]
        #[when(congestion_control = "vegas")]
        #[usual(1..=40, linear)]
        pub vegas_beta: f64 = "3", 0..=1000, "packets";
        /// Number of queued packets above which Vegas leaves slow start.
        #[source("Brakmo and Peterson 1995; ns-2 v_gamma_")]
        #[when(congestion_control = "vegas")]
        #[usual(1..=20, linear)]
        pub vegas_gamma: f64 = "1", 0..=1000, "packets";
        /// End of the initial slow start before a loss: HyStart by the round-trip time or by the length of an ACK train, or HyStart++ by
        /// the round-trip time.
        #[source("Ha and Rhee 2011; RFC 9406")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "sack" | "fack" | "rack")]
        pub hystart: HystartName = "off";
        /// Growth of the window per ACK, or per segment that it acknowledges, as appropriate byte counting (ABC) without its limit.
        #[source("RFC 5681, section 3.1; RFC 3465; ns-2 tcp.cc, opencwnd; Linux tcp_slow_start")]
        pub cwnd_increase: CwndIncrease = "per-ack";
        /// Growth only while the window limits the sender: by the data in flight, or by the maximum in flight in the last window.
        #[source("RFC 2861; RFC 7661; Linux tcp_cwnd_validate")]
        pub cwnd_validation: CwndGrowthCondition = "off";
        /// Window after an idle time of one RTO: restart from the initial window, or halve once for each RTO, down to the initial window.
        #[source("RFC 5681, section 4.1; RFC 2861; Linux sysctl tcp_slow_start_after_idle, tcp_cwnd_restart")]
        pub slow_start_after_idle: SlowStartAfterIdle = "off";
        /// Pacing: segments are spread over the round trip, at twice the window's rate in slow start and at 1.2 times later.
        #[source("Aggarwal, Savage and Anderson 2000; Linux tcp_update_pacing_rate")]
        pub pacing: bool = "false";
        /// Congestion window at the start, or after the first packet is acknowledged.
        #[source("RFC 5681, section 3.1; RFC 6928; ns-2 windowInit_; Linux route attribute initcwnd")]
        #[usual(1..=40, linear)]
        pub initial_window: u64 = "2", 1..=1000, "packets";
        /// Largest window of the receiver.
        #[source("RFC 9293, section 3.8.6; ns-2 window_; tcp(7), TCP_WINDOW_CLAMP")]
        #[usual(2..=10000, log)]
        pub max_rwnd: u64 = "20", 1..=MAX_WINDOW_PACKETS, "packets";
        /// Size of a data packet on the wire, headers included.
        #[source("ns-2 packetSize_; on a host the MTU")]
        #[usual(200..=9000, log)]
        pub packet_size: u32 = "1000 B", 41..=65535, "bytes";
        /// Opening of a connection: with data, with a first packet instead of the SYN, or by RFC 9293's three-way handshake.
        #[source("RFC 9293, section 3.5; ns-2 syn_")]
        pub handshake: Handshake = "first-packet";
        /// Nagle's algorithm: a partial packet waits while another partial packet is outstanding.
        #[source("RFC 9293, section 3.7.4; Minshall 1999; tcp(7), TCP_NODELAY")]
        pub nagle: bool = "false";
        /// Timestamps: an RTT sample on every ACK instead of one per round trip.
        #[source("RFC 7323, section 4; Linux sysctl tcp_timestamps")]
        pub timestamps: bool = "false";
        /// Largest number of SACK blocks in an ACK, with a recovery that uses them.
        #[source("RFC 2018, section 3; ns-2 maxSackBlocks_; Linux sysctl tcp_sack")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub sack_blocks: u8 = "3", 0..=4, "blocks";
        /// Delayed ACKs: an ACK for every second packet, instead of an immediate ACK for each. The delay follows quirks.delayed_ack_rule.
        /// With the rule quickack the receiver is Linux's in both cases, as on a route with the attribute quickack.
        #[source("RFC 1122, section 4.2.3.2; ns-2 TCPSink/DelAck; Linux tcp_in_quickack_mode")]
        pub delayed_ack: bool = "false";
        /// Longest delay of an ACK; arrivals can shorten it.
        #[source("RFC 5681, section 4.2; ns-2 TCPSink/DelAck interval_; Linux TCP_DELACK_MIN")]
        #[when(delayed_ack = "true")]
        #[usual(0.001..=0.5, log)]
        pub delayed_ack_time: Span = "100 ms", 0.000001..=3600, "s";
        /// Smallest retransmission timeout.
        #[source("RFC 6298, section 2.4; ns-2 minrto_; Linux route attribute rto_min")]
        #[usual(0.01..=3, log)]
        pub rto_min: Span = "0.2 s", 0..=3600, "s";
        /// Retransmission timeout before the first sample.
        #[source("RFC 6298, section 2.1; ns-2 rtxcur_init_; Linux TCP_TIMEOUT_INIT")]
        #[usual(0.1..=6, log)]
        pub rto_initial: Span = "3 s", 0.001..=3600, "s";
        /// Advertised window: none, so that max_rwnd applies; the free space of a buffer of fixed size; or that of an autotuned buffer,
        /// which grows with the data that the application reads in a round trip.
        #[source("RFC 9293, section 3.8.6; Linux tcp_select_window, tcp_rcv_space_adjust")]
        #[when(delayed_ack_rule = "quickack")]
        pub receive_window: ReceiveWindow = "unlimited";
        /// Size of the receive buffer with the overhead per packet; half of it counts as window. An autotuned buffer starts with this size.
        /// The socket option SO_RCVBUF sets half of it.
        #[source("Linux sysctl tcp_rmem; socket(7), SO_RCVBUF")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub receive_buffer: u64 = "131072 B", 4608..=2_147_483_647, "bytes";
        /// Largest size of an autotuned receive buffer.
        #[source("Linux sysctl tcp_rmem")]
        #[when(receive_window = "fixed" | "autotuned")]
        #[usual(65536..=6.710886e7, log)]
        pub receive_buffer_max: u64 = "6291456 B", 4608..=2_147_483_647, "bytes";
    }
}
