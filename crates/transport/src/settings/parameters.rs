//! The parameters of a sender and its receiver, each declared once: everything that a profile sets and a scenario may override.
//!
//! `when` says with which values of the others a parameter is read.

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Span, parameters};

use super::{
    AckDelayRule, Codepoint, CongestionName, CutFrom, EchoStyle, EstimatorName, GrowthBy, Halving, Handshake, HystartName, IdleRestart,
    LossDetection, LostSyn, MarkReduction, PartialAckTimer, PrrBound, ReceiveWindow, RecoveryName, ResponseName, RtoOrder, RttReport,
    TimerRestart, WindowValidation,
};

const MAX_PACKETS: u64 = 1_000_000_000;

parameters! {
    /// The parameters in the form that senders and receivers read on every packet.
    #[derive(Clone, Debug)]
    pub struct Settings {
        /// Congestion control: how the window grows, and by how much a loss cuts it.
        #[source("RFC 5681; RFC 9438; Brakmo and Peterson 1995")]
        pub congestion: CongestionName = "reno";
        /// Loss recovery; sack1 and vegas are ns-2's, sack and fack share one scoreboard, and rack tells losses by time.
        #[source("RFC 5681; RFC 6582; RFC 6675; RFC 8985; Mathis and Mahdavi 1996")]
        pub recovery: RecoveryName = "reno";
        /// What a mark does to the window: nothing, as a loss, ABE's smaller cut, by DCTCP's share of marks, or by MECN's levels.
        #[source("RFC 3168, section 6.1.2; RFC 8511; RFC 8257; Durresi et al. 2001")]
        #[when(ecn = "true")]
        pub response: ResponseName = "halve";
        /// Offer ECN and respond to marks.
        #[source("RFC 3168")]
        pub ecn: bool = "false";
        /// The receiver agrees to ECN when it is offered in a three-way handshake.
        #[source("RFC 3168, section 6.1.1")]
        #[when(ecn = "true", handshake = "three-way")]
        pub receiver_ecn: bool = "true";
        /// Offer ECN no more when a SYN that offered it was lost.
        #[source("RFC 3168, section 6.1.1.1")]
        #[when(ecn = "true", handshake = "three-way")]
        pub ecn_fallback: bool = "true";
        /// Codepoint of ECN-capable packets; ect1 asks for the low-latency queue of L4S, and is for scalable senders such as DCTCP.
        #[source("RFC 3168, section 5; RFC 9331, section 4.1")]
        #[when(ecn = "true")]
        pub codepoint: Codepoint = "ect0";
        /// Retransmitted packets are ECN-capable, which RFC 3168 forbids and ns-2 does.
        #[source("RFC 3168, section 6.1.5; ns-2 2.35")]
        #[when(ecn = "true")]
        pub ect_on_retransmission: bool = "true";
        /// Without a three-way handshake: the first packet asks for ECN by ECE and is not ECN-capable, and ECE on its ACK says that the
        /// receiver echoes marks; else both ends know.
        #[source("ns-2 2.35 tcp.cc, output")]
        #[when(ecn = "true", handshake = "none" | "first-packet")]
        pub first_packet_offers_ecn: bool = "true";
        /// How the receiver echoes marks: until CWR, each packet's own mark, MECN's two bits, or by their count, as Accurate ECN does, which hosts
        /// of a kernel can and simulated ones cannot.
        #[source("RFC 3168, section 6.1.3; RFC 8257, section 3.2; Durresi et al. 2001; RFC 9768")]
        #[when(ecn = "true")]
        pub ecn_echo: EchoStyle = "classic";
        /// Without a three-way handshake: the receiver echoes marks only when it acknowledges an ECN-capable packet.
        #[source("ns-2 2.35 tcp-sink.cc; RFC 3168, section 6.1.3, echoes until CWR")]
        #[when(ecn = "true", ecn_echo = "classic", handshake = "none" | "first-packet")]
        pub echo_on_capable_only: bool = "true";
        /// What ABE leaves of the window after a mark.
        #[source("RFC 8511, section 3.1")]
        #[when(ecn = "true", response = "abe")]
        pub abe_beta: f64 = "0.8", 0.5..=1;
        /// DCTCP's gain of the estimate of the share of marks.
        #[source("RFC 8257, section 4.2")]
        #[when(ecn = "true", response = "dctcp")]
        pub dctcp_g: f64 = "0.0625", 0.0001..=1;
        /// With DCTCP all packets are ECN-capable: SYN, acknowledgements and retransmissions as well.
        #[source("RFC 8257, section 3.6; Linux tcp_ca_needs_ecn")]
        #[when(ecn = "true", response = "dctcp")]
        pub dctcp_ect_on_all: bool = "false";
        /// MECN's cut for incipient congestion.
        #[source("Durresi et al. 2001, section 2")]
        #[when(ecn = "true", response = "mecn")]
        #[off("0", "a mark of incipient congestion cuts nothing")]
        pub mecn_incipient: f64 = "0.2", 0..=1;
        /// MECN's cut for moderate congestion.
        #[source("Durresi et al. 2001, section 2")]
        #[when(ecn = "true", response = "mecn")]
        #[off("0", "a mark of moderate congestion cuts nothing")]
        pub mecn_moderate: f64 = "0.4", 0..=1;
        /// AIMD's growth in a round trip.
        #[source("Chiu and Jain 1989")]
        #[when(congestion = "aimd")]
        pub aimd_a: f64 = "1", 0..=1000, "packets";
        /// AIMD's cut: the share of the window that goes.
        #[source("Chiu and Jain 1989")]
        #[when(congestion = "aimd")]
        pub aimd_b: f64 = "0.5", 0.01..=0.99;
        /// CUBIC's scale of growth.
        #[source("RFC 9438, section 5")]
        #[when(congestion = "cubic")]
        pub cubic_c: f64 = "0.4", 0.001..=100, "packets/s^3";
        /// What CUBIC leaves of the window.
        #[source("RFC 9438, section 4.6")]
        #[when(congestion = "cubic")]
        pub cubic_beta: f64 = "0.7", 0.1..=0.99;
        /// CUBIC gives way faster when its last maximum was not reached.
        #[source("RFC 9438, section 4.7")]
        #[when(congestion = "cubic")]
        pub cubic_fast_convergence: bool = "true";
        /// CUBIC grows at least as Reno would.
        #[source("RFC 9438, section 4.3")]
        #[when(congestion = "cubic")]
        pub cubic_reno_friendly: bool = "true";
        /// What ends the first slow start before a loss does: HyStart++, by the round-trip time, or HyStart, by that or by the length of a train
        /// of acknowledgements.
        #[source("RFC 9406; Ha and Rhee 2011")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "sack" | "fack" | "rack")]
        pub hystart: HystartName = "off";
        /// Vegas grows while fewer packets are queued.
        #[source("Brakmo and Peterson 1995; ns-2 v_alpha_")]
        #[when(congestion = "vegas")]
        pub vegas_alpha: f64 = "1", 0..=1000, "packets";
        /// Vegas shrinks while more packets are queued.
        #[source("Brakmo and Peterson 1995; ns-2 v_beta_")]
        #[when(congestion = "vegas")]
        pub vegas_beta: f64 = "3", 0..=1000, "packets";
        /// Vegas leaves slow start when more packets are queued.
        #[source("Brakmo and Peterson 1995; ns-2 v_gamma_")]
        #[when(congestion = "vegas")]
        pub vegas_gamma: f64 = "1", 0..=1000, "packets";
        /// Count acknowledgements or the segments that they acknowledge.
        #[source("ns-2 2.35; RFC 5681, section 3.1; RFC 3465")]
        pub growth: GrowthBy = "acks";
        /// The window and its threshold are whole numbers: what is acknowledged is counted until it comes to one more, and what is cut is rounded
        /// down. Shares and CUBIC's scale are taken in 1/1024.
        #[source("Linux tcp_cong_avoid_ai, bictcp_update, dctcp_update_alpha")]
        #[when(congestion = "reno" | "cubic")]
        pub whole_window: bool = "false";
        /// Grow only while the window is what limits the sender: as what is in flight shows it, or the most that was in flight in the last window.
        #[source("RFC 2861; RFC 7661; Linux tcp_cwnd_validate")]
        pub window_validation: WindowValidation = "off";
        /// After an idle retransmission timeout start again from the initial window, or halve the window once for each timeout, down to it.
        #[source("RFC 5681, section 4.1; RFC 2861; Linux tcp_cwnd_restart")]
        pub idle_restart: IdleRestart = "off";
        /// Whether a cut is taken of the usable window or of the segments in flight.
        #[source("ns-2 2.35; RFC 5681, equation 4")]
        pub cut_from: CutFrom = "window";
        /// Smallest window that a cut leaves; with 0 a mark may take it below one, and then the timer paces the sender.
        #[source("RFC 3168, section 6.1.2; Linux tcp_reno_ssthresh")]
        pub min_window: u64 = "0", 0..=1000, "packets";
        /// A further timeout of the same packet leaves the threshold as it is.
        #[source("RFC 5681, section 3.1; ns-2 cuts it again")]
        pub threshold_once: bool = "false";
        /// After a timeout answer marks at once, those of packets sent before it too.
        #[source("ns-2 2.35; RFC 3168, section 6.1.2, answers once a window")]
        #[when(ecn = "true")]
        pub mark_after_timeout: bool = "true";
        /// A timeout leaves a threshold that a mark has cut also when all that was sent before the mark is acknowledged.
        #[source("ns-2 2.35 tcp.cc, timeout; RFC 5681, section 3.1, cuts it")]
        #[when(ecn = "true")]
        pub mark_spares_later_timeouts: bool = "true";
        /// Proportional rate reduction: send in recovery in step with what is delivered.
        #[source("RFC 6937")]
        #[when(recovery = "sack" | "fack" | "rack")]
        pub prr: bool = "false";
        /// What proportional rate reduction sends below the threshold: one more than is delivered, or that only when more is acknowledged and no
        /// further loss is seen.
        #[source("RFC 6937, section 3; RFC 9937, section 6; Linux tcp_cwnd_reduction")]
        #[when(prr = "true", recovery = "rack")]
        pub prr_bound: PrrBound = "slow-start";
        /// Proportional rate reduction divides by what the cut was taken of or by what was in flight.
        #[source("RFC 6937, section 3; Linux tp->prior_cwnd")]
        #[when(prr = "true", recovery = "rack")]
        pub prr_of: CutFrom = "flight";
        /// A mark cuts the window at once, or the window comes down by proportional rate reduction over a round trip, in which it does not grow;
        /// an echo that is still on as that ends cuts again.
        #[source("RFC 3168, section 6.1.2; Linux tcp_enter_cwr, tcp_fastretrans_alert")]
        #[when(ecn = "true", recovery = "rack")]
        pub mark_reduction: MarkReduction = "at-once";
        /// Take a cut back when timestamps or reports of what came twice show that nothing was lost, and learn from it how far packets overtake.
        #[source("RFC 3522; RFC 3708; RFC 4015; Linux tcp_try_undo_recovery")]
        #[when(recovery = "rack")]
        pub undo: bool = "false";
        /// After a timeout send new packets first, and see whether the timeout was spurious.
        #[source("RFC 5682")]
        #[when(recovery = "rack")]
        pub frto: bool = "false";
        /// What tells a loss where there are SACK blocks: time, as RACK does, or the count of segments above it that were sacked, as hosts did before.
        #[source("RFC 8985, section 6; RFC 6675, section 4; Linux sysctl tcp_recovery")]
        #[when(recovery = "rack")]
        pub loss_detection: LossDetection = "time";
        /// Tail loss probe, where recovery is rack.
        #[source("RFC 8985, section 7")]
        #[when(recovery = "rack")]
        pub tlp: bool = "true";
        /// Spread segments over the round trip, at twice the window's rate in slow start and 1.2 times it later.
        #[source("Aggarwal, Savage and Anderson 2000; Linux tcp_update_pacing_rate")]
        pub pacing: bool = "false";
        /// Which partial acknowledgements restart NewReno's timer.
        #[source("RFC 6582, section 3.2; ns-2 newreno_changes1_")]
        #[when(recovery = "newreno")]
        pub partial_ack_timer: PartialAckTimer = "first";
        /// A partial acknowledgement takes from NewReno's inflated window what it acknowledges, less one; else all inflation goes.
        #[source("RFC 6582, section 3.2; ns-2 partial_window_deflation_")]
        #[when(recovery = "newreno")]
        pub partial_deflation: bool = "true";
        /// NewReno leaves recovery with a window of at most what is outstanding, which keeps it from a burst.
        #[source("RFC 6582, section 3.2; ns-2 exit_recovery_fix_")]
        #[when(recovery = "newreno")]
        pub exit_to_flight: bool = "false";
        /// Largest window: the receiver's.
        #[source("ns-2 window_")]
        pub max_window: u64 = "20", 1..=MAX_PACKETS, "packets";
        /// Data packet on the wire, headers included.
        #[source("ns-2 packetSize_")]
        pub packet_size: u32 = "1000 B", 41..=65535, "bytes";
        /// Acknowledgement on the wire.
        #[source("ns-2 TCPSink packetSize_")]
        pub ack_size: u32 = "40 B", 1..=65535, "bytes";
        /// First packet on the wire, a SYN; 0 is as all others.
        #[source("ns-2 tcpip_base_hdr_size_")]
        pub first_packet_size: u32 = "40 B", 0..=65535, "bytes";
        /// Headers in a data packet, which goodput does not count; ns-2 counts whole packets.
        #[source("ns-2 packetSize_")]
        pub header: u32 = "0 B", 0..=200, "bytes";
        /// Window at the start, or once the first packet is acknowledged.
        #[source("ns-2 windowInit_; RFC 5681, section 3.1")]
        pub initial_window: u64 = "2", 1..=1000, "packets";
        /// How a connection opens: with data, with a first packet that stands for the SYN, or as RFC 9293 has it.
        #[source("ns-2 syn_; RFC 9293, section 3.5")]
        pub handshake: Handshake = "first-packet";
        /// A finite transfer ends with a FIN, which the receiver answers with its own.
        #[source("RFC 9293, section 3.6")]
        pub fin: bool = "false";
        /// The FIN rides on the last data if that has not gone yet.
        #[source("RFC 9293, section 3.10.4; Linux tcp_send_fin")]
        #[when(fin = "true")]
        pub fin_on_data: bool = "false";
        /// What is written goes on in a packet that is not full and has not gone yet; else each write begins one.
        #[source("RFC 9293, section 3.7.4; Linux tcp_sendmsg")]
        pub join_writes: bool = "false";
        /// A packet that is not full waits while another one that is not full is outstanding.
        #[source("RFC 9293, section 3.7.4; Minshall 1999")]
        pub nagle: bool = "false";
        /// A lost SYN leaves an initial window of 1, a timeout of 3 s and no ECN; or nothing of the window before the second, the timeout that the
        /// sample gives, and ECN if the answer agrees.
        #[source("RFC 6298, section 5.7; RFC 5681, section 3.1; Linux tcp_init_transfer, tcp_ack_update_rtt, tcp_ecn_rcv_synack")]
        #[when(handshake = "three-way")]
        pub lost_syn: LostSyn = "rfc6298";
        /// The window stays at one until the first packet is acknowledged.
        #[source("ns-2 delay_growth_")]
        pub delay_growth: bool = "true";
        /// Send a new packet on each of the first two duplicate ACKs.
        #[source("RFC 3042; ns-2 singledup_")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "sack" | "fack" | "rack")]
        pub limited_transmit: bool = "true";
        /// Duplicate ACKs that mean a loss.
        #[source("RFC 5681, section 3.2")]
        pub duplicate_threshold: u32 = "3", 1..=1000, "ACKs";
        /// ACKs with nothing outstanding count as duplicates, of which the last one sends what is next.
        #[source("ns-2 2.35 tcp-reno.cc, dupack_action; RFC 5681, section 2, takes them for none")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1")]
        pub duplicates_when_idle: bool = "true";
        /// Most packets sent in answer to one ACK; 0 is no limit.
        #[source("ns-2 maxburst_")]
        pub max_burst: u64 = "0", 0..=MAX_PACKETS, "packets";
        /// Segmentation offload: segments go in bundles, which wait for the window to allow them.
        #[source("Linux tcp_tso_should_defer, tcp_tso_autosize")]
        #[when(recovery = "rack")]
        pub gso: bool = "false";
        /// Largest congestion window; 0 is no limit.
        #[source("ns-2 maxcwnd_")]
        pub cwnd_limit: u64 = "0", 0..=MAX_PACKETS, "packets";
        /// Cut the window as a real number with a whole threshold, in whole packets, or both as real numbers.
        #[source("ns-2 precisionReduce_; RFC 5681")]
        #[when(whole_window = "false")]
        pub halving: Halving = "exact";
        /// Do not retransmit fast a second time for losses of one window.
        #[source("ns-2 bugFix_; RFC 6582, section 3.2")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "vegas")]
        pub single_fast_retransmit: bool = "true";
        /// Retransmit fast when the first data packet is lost, and start with a window of one when the first packet timed out.
        #[source("ns-2 bugfix_ss_; RFC 5681, section 3.1")]
        pub first_packet_loss: bool = "true";
        /// Inflate the window by duplicate ACKs only in fast recovery.
        #[source("ns-2 exitFastRetrans_")]
        #[when(recovery = "reno" | "newreno")]
        pub strict_inflation: bool = "true";
        /// CWR may go on a retransmitted packet. Where it may, the echo can end while a timeout is repaired, and the window does not grow on ECE then; where it may not, slow start goes on.
        #[source("ns-2 SetCWRonRetransmit_")]
        pub cwr_on_retransmission: bool = "true";
        /// CWR may go on the highest packet sent, also when that is sent again.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.2, asks for new data")]
        #[when(cwr_on_retransmission = "false")]
        pub cwr_on_highest: bool = "true";
        /// Tell of a cut by CWR where ECN is not in use too.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.2")]
        pub cwr_without_ecn: bool = "true";
        /// A timeout with nothing outstanding returns the window to one.
        #[source("ns-2 slow_start_restart_")]
        pub slow_start_restart: bool = "true";
        /// A timeout with nothing outstanding leaves the threshold and the back-off as they are.
        #[source("ns-2 restart_bugfix_")]
        pub idle_threshold: bool = "true";
        /// Granularity of the sender's clock.
        #[source("ns-2 tcpTick_; RFC 6298, section 4")]
        pub tick: Span = "0.01 s", 0.000001..=3600, "s";
        /// Timers go off at the steps of a wheel, which are ticks, and coarser for longer timers.
        #[source("Linux kernel/time/timer.c")]
        pub timer_wheel: bool = "false";
        /// Smallest retransmission timeout.
        #[source("ns-2 minrto_")]
        pub rto_min: Span = "0.2 s", 0..=3600, "s";
        /// Largest retransmission timeout.
        #[source("ns-2 maxrto_")]
        pub rto_max: Span = "60 s", 0.001..=3600, "s";
        /// Retransmission timeout before the first sample.
        #[source("ns-2 rtxcur_init_")]
        pub rto_initial: Span = "3 s", 0.001..=3600, "s";
        /// Whether the minimum is applied before or after the back-off.
        #[source("ns-2 rfc2988_")]
        pub rto_order: RtoOrder = "minimum-first";
        /// Whether an ACK restarts the timer after or before it updates the estimate; or after it, and never with nothing outstanding.
        #[source("ns-2 timerfix_; RFC 6298, section 5")]
        pub timer_restart: TimerRestart = "after-sample";
        /// Arithmetic of the retransmission timeout: BSD's in whole ticks, the RFC's, Linux's, whose minimum is of the deviation, or that of
        /// Linux 2.0 or 2.2, which allows more to small windows.
        #[source("ns-2 2.35; RFC 6298, section 2; Linux tcp_rtt_estimator")]
        pub estimator: EstimatorName = "ticks";
        /// The round trip of a three-way handshake is the first sample.
        #[source("RFC 6298, section 2.2; Linux 2.0 and 2.2 take none of it")]
        #[when(handshake = "three-way")]
        pub handshake_sample: bool = "true";
        /// Sample the round-trip time on every ACK, by timestamps, instead of once in a round trip.
        #[source("RFC 7323, section 4")]
        pub timestamps: bool = "false";
        /// Acknowledge every second packet. Without it every packet is acknowledged at once; with delayed_ack_rule = quick by the same receiver, as
        /// Linux does on a route with the attribute quickack.
        #[source("RFC 1122, section 4.2.3.2; ns-2 TCPSink/DelAck; Linux tcp_in_quickack_mode")]
        pub delayed_ack: bool = "false";
        /// An acknowledgement is always delayed for delayed_ack_time; or so for the first segment, and then by the time between arrivals, up to 0.5 s;
        /// or by the time between arrivals, and not at all while acknowledgements are quick: at the start, after a pause or a mark, and while
        /// the receiver's window grows. The last, quick, is the receiver of Linux with its buffer and its echo, with delayed_ack = false too; of the
        /// other rules nothing is read then.
        #[source("ns-2 TCPSink/DelAck; Linux 2.0 and 2.2, tcp_delack_estimator; Linux 6 tcp_event_data_recv")]
        pub delayed_ack_rule: AckDelayRule = "fixed";
        /// Longest delay of an acknowledgement, unless arrivals say otherwise.
        #[source("ns-2 TCPSink/DelAck interval_")]
        #[when(delayed_ack = "true")]
        pub delayed_ack_time: Span = "100 ms", 0.000001..=3600, "s";
        /// The ACK of the last packet in order may be delayed when that packet comes a second time.
        #[source("ns-2 2.35 tcp-sink.cc, DelAckSink; RFC 9293, section 3.10.7.4, answers at once")]
        #[when(delayed_ack = "true")]
        pub delay_repeated: bool = "true";
        /// Packets at the start of a connection that are acknowledged at once.
        #[source("ns-2 SYN_immediate_ack_; Linux TCP_MAX_QUICKACKS")]
        #[when(delayed_ack = "true")]
        pub quick_acks: u64 = "1", 0..=1000, "packets";
        /// Once a connection carries data both ways, an acknowledgement rides on data that goes its way, and only without any goes by itself.
        #[source("RFC 9293, section 3.8.6.3; RFC 1122, section 4.2.3.2")]
        #[when(handshake = "three-way", ecn_echo = "classic" | "dctcp")]
        pub piggyback: bool = "false";
        /// Most SACK blocks in an acknowledgement, where recovery uses them.
        #[source("RFC 2018, section 3; ns-2 maxSackBlocks_")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub sack_blocks: u8 = "3", 0..=4, "blocks";
        /// Size of the SACK option besides 8 bytes a block.
        #[source("RFC 2018, section 3; ns-2 2.35 counts none")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub sack_option: u32 = "0 B", 0..=4, "bytes";
        /// SACKs after the third of a hole wait a little, and are merged.
        #[source("Linux tcp_comp_sack_delay_ns, __tcp_ack_snd_check")]
        #[when(recovery = "rack", delayed_ack = "true", delayed_ack_rule = "quick")]
        pub compressed_sacks: bool = "false";
        /// The receiver's application answers what it reads, so that acknowledgements wait to ride on an answer, until a timer had to send one.
        #[source("Linux inet_csk_enter_pingpong_mode; tcp(7), TCP_QUICKACK")]
        #[when(delayed_ack = "true", delayed_ack_rule = "quick")]
        pub interactive: bool = "false";
        /// What acknowledgements say of the room in the receiver's buffer: nothing, so that max_window holds; what is free of a buffer of fixed
        /// size; or of one that grows with what the application reads in a round trip.
        #[source("RFC 9293, section 3.8.6; Linux tcp_select_window, tcp_rcv_space_adjust")]
        #[when(delayed_ack_rule = "quick")]
        pub receive_window: ReceiveWindow = "any";
        /// The receiver's buffer with all that it stores packets with, of which half counts as window; at the start where it is autotuned. The
        /// socket option SO_RCVBUF sets half of it.
        #[source("ip-sysctl tcp_rmem; socket(7), SO_RCVBUF")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub receive_buffer: u64 = "131072 B", 4608..=2_147_483_647, "bytes";
        /// Largest buffer of an autotuning receiver.
        #[source("ip-sysctl tcp_rmem")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub receive_buffer_max: u64 = "6291456 B", 4608..=2_147_483_647, "bytes";
        /// An autotuned buffer follows what the application reads in a round trip; else it grows only when more has come than it holds.
        #[source("ip-sysctl tcp_moderate_rcvbuf")]
        #[when(receive_window = "autotuned")]
        pub buffer_follows_reading: bool = "true";
        /// The window is advertised in steps, so that it may be larger than 65535 bytes.
        #[source("RFC 7323, section 2; ip-sysctl tcp_window_scaling")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub window_scaling: bool = "true";
        /// How much the receiver's application reads at a time.
        #[source("recv(2)")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub read_size: u32 = "65536 B", 1..=1_073_741_824, "bytes";
        /// When the receiver's application stops to read, after the connection began to open.
        #[source("RFC 9293, section 3.8.6.1")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub reader_stops: OrOff<Span> = "off", 0..=1_000_000, "s";
        /// When it reads again.
        #[source("RFC 9293, section 3.8.6.2.2")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub reader_resumes: OrOff<Span> = "off", 0..=1_000_000, "s";
        /// Report a packet that came twice in the first SACK block.
        #[source("RFC 2883")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub dsack: bool = "false";
        /// Round-trip time that the sender writes into its packets, for AECN: smallest, smoothed, last, or the base time as the lines of
        /// appendix A compute it.
        #[source("Zheng 2001, appendix A")]
        pub rtt_report: RttReport = "min";
    }
}
