//! Quirks: behaviour of one implementation or version, which a profile mimics. Each names its source; a scenario sets them as `tcp.quirks`.

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Span, parameters};

use super::parameters::MAX_WINDOW_PACKETS;
use super::{
    AckDelayRule, CwndOnExit, EcnReduction, PartialAckTimer, PrrBound, ReduceFrom, RtoEstimatorName, RtoOrder, RtoTimerRestart, RttReport,
    SsthreshRounding, SynRtxRto,
};

parameters! {
    /// Behaviour of one implementation or version.
    #[derive(Clone, Debug)]
    pub struct Quirks {
        /// The receiver agrees to ECN that is offered in a three-way handshake.
        #[source("RFC 3168, section 6.1.1; Linux tcp_ecn_create_request, sysctl tcp_ecn")]
        #[when(ecn = "true", handshake = "three-way")]
        pub receiver_ecn: bool = "true";
        /// Offer ECN no longer when a SYN that offered it was lost.
        #[source("RFC 3168, section 6.1.1.1; Linux sysctl tcp_ecn_fallback; RFC 2481 has none")]
        #[when(ecn = "true", handshake = "three-way")]
        pub ecn_fallback: bool = "true";
        /// Retransmitted packets are ECN-capable, which RFC 3168 forbids and ns-2 does.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.5")]
        #[when(ecn = "true")]
        pub ect_on_retransmission: bool = "true";
        /// Without a three-way handshake: the first packet asks for ECN by ECE and is not ECN-capable, and ECE on its ACK says that the
        /// receiver echoes marks; else both ends know.
        #[source("ns-2 2.35 tcp.cc, output")]
        #[when(ecn = "true", handshake = "none" | "first-packet")]
        pub first_packet_offers_ecn: bool = "true";
        /// Without a three-way handshake: the receiver echoes marks only when it acknowledges an ECN-capable packet.
        #[source("ns-2 2.35 tcp-sink.cc, ack; RFC 3168, section 6.1.3, echoes until CWR")]
        #[when(ecn = "true", ecn_echo = "classic", handshake = "none" | "first-packet")]
        pub ece_on_ect_only: bool = "true";
        /// With DCTCP all packets are ECN-capable: SYN, acknowledgements and retransmissions as well.
        #[source("Linux tcp_ca_needs_ecn; RFC 8257, section 3.6")]
        #[when(ecn = "true", ecn_response = "dctcp")]
        pub dctcp_ect_on_all_packets: bool = "false";
        /// After a timeout respond to marks at once, also to those of packets sent before it.
        #[source("ns-2 2.35 tcp.cc, ecn; RFC 3168, section 6.1.2, responds once a window")]
        #[when(ecn = "true")]
        pub ece_response_after_rto: bool = "true";
        /// A timeout keeps a threshold that a mark has reduced, also when all that was sent before the mark is acknowledged.
        #[source("ns-2 2.35 tcp.cc, timeout; RFC 5681, section 3.1, reduces it")]
        #[when(ecn = "true")]
        pub rto_keeps_ecn_ssthresh: bool = "true";
        /// A mark reduces the window at once, or by proportional rate reduction over a round trip, in which the window does not grow; an echo
        /// that is still on at its end reduces it again.
        #[source("RFC 3168, section 6.1.2; Linux tcp_enter_cwr, tcp_fastretrans_alert")]
        #[when(ecn = "true", recovery = "rack")]
        pub ecn_reduction: EcnReduction = "immediate";
        /// CWR may go on a retransmitted packet. If so, the echo can end while a timeout is repaired, and the window does not grow on ECE then;
        /// if not, slow start goes on.
        #[source("ns-2 SetCWRonRetransmit_; RFC 3168, section 6.1.2, forbids it")]
        pub cwr_on_retransmission: bool = "true";
        /// CWR may go on the highest packet sent, also when that is sent again.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.2, asks for new data")]
        #[when(cwr_on_retransmission = "false")]
        pub cwr_on_highest_packet: bool = "true";
        /// A reduction sets CWR also where ECN is not in use.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.2")]
        pub cwr_without_ecn: bool = "true";

        /// CUBIC's fast convergence: a lower maximum when the last one was not reached.
        #[source("RFC 9438, section 4.7; Linux tcp_cubic, fast_convergence")]
        #[when(congestion_control = "cubic")]
        pub cubic_fast_convergence: bool = "true";
        /// CUBIC's Reno-friendly region: growth at least as Reno's.
        #[source("RFC 9438, section 4.3; Linux tcp_cubic, tcp_friendliness")]
        #[when(congestion_control = "cubic")]
        pub cubic_reno_friendly: bool = "true";
        /// The window and its threshold are whole numbers: acknowledged segments are counted until they make one more, and reductions are
        /// rounded down. Shares and CUBIC's scale are in 1/1024.
        #[source("Linux tcp_cong_avoid_ai, bictcp_update, dctcp_update_alpha")]
        #[when(congestion_control = "reno" | "cubic")]
        pub integer_cwnd: bool = "false";
        /// Rounding of a reduction: window a real number and threshold whole, both whole, or both real.
        #[source("ns-2 precisionReduce_; RFC 5681, equation 4")]
        #[when(integer_cwnd = "false")]
        pub ssthresh_rounding: SsthreshRounding = "exact";
        /// A reduction is a share of the usable window or of the segments in flight (FlightSize).
        #[source("ns-2 2.35 tcp.cc, slowdown; RFC 5681, equation 4")]
        pub reduce_from: ReduceFrom = "cwnd";
        /// Smallest window that a reduction leaves; with 0 a mark may take it below one, and then the timer paces the sender.
        #[source("RFC 3168, section 6.1.2; Linux tcp_reno_ssthresh")]
        pub min_cwnd: u64 = "0", 0..=1000, "packets";
        /// Largest congestion window; 0 is no limit.
        #[source("ns-2 maxcwnd_; Linux route attribute cwnd")]
        pub max_cwnd: u64 = "0", 0..=MAX_WINDOW_PACKETS, "packets";
        /// Most packets sent in response to one ACK; 0 is no limit.
        #[source("ns-2 maxburst_")]
        pub max_burst: u64 = "0", 0..=MAX_WINDOW_PACKETS, "packets";
        /// The window stays at one until the first packet is acknowledged.
        #[source("ns-2 delay_growth_")]
        pub delay_growth: bool = "true";
        /// A further timeout of the same packet keeps the threshold.
        #[source("RFC 5681, section 3.1; ns-2 tcp.cc, slowdown, reduces it again")]
        pub repeated_rto_keeps_ssthresh: bool = "false";
        /// A timeout with nothing outstanding returns the window to one.
        #[source("ns-2 slow_start_restart_")]
        pub idle_rto_resets_cwnd: bool = "true";
        /// A timeout with nothing outstanding keeps the threshold and the back-off.
        #[source("ns-2 restart_bugfix_")]
        pub idle_rto_keeps_ssthresh: bool = "true";

        /// Send a new packet on each of the first two duplicate ACKs.
        #[source("RFC 3042; ns-2 singledup_")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "sack" | "fack" | "rack")]
        pub limited_transmit: bool = "true";
        /// ACKs with nothing outstanding count as duplicates, and the last one of DupThresh sends the next packet.
        #[source("ns-2 2.35 tcp-reno.cc, dupack_action; RFC 5681, section 2, does not count them")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1")]
        pub count_dupacks_when_idle: bool = "true";
        /// One fast retransmit for the losses of one window.
        #[source("ns-2 bugFix_; RFC 6582, section 3.2")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "vegas")]
        pub single_fast_retransmit: bool = "true";
        /// Fast retransmit when the first data packet is lost, and a window of one when the first packet timed out.
        #[source("ns-2 bugfix_ss_; RFC 5681, section 3.1")]
        pub first_packet_loss_recovery: bool = "true";
        /// Duplicate ACKs inflate the window only in fast recovery.
        #[source("ns-2 exitFastRetrans_")]
        #[when(recovery = "reno" | "newreno")]
        pub inflate_in_recovery_only: bool = "true";
        /// Partial acknowledgements that restart NewReno's timer: the first, or every one.
        #[source("RFC 6582, section 3.2; ns-2 newreno_changes1_")]
        #[when(recovery = "newreno")]
        pub partial_ack_timer: PartialAckTimer = "first";
        /// A partial acknowledgement deflates NewReno's window by what it acknowledges, less one; else by all inflation.
        #[source("RFC 6582, section 3.2; ns-2 partial_window_deflation_")]
        #[when(recovery = "newreno")]
        pub partial_window_deflation: bool = "true";
        /// Window with which NewReno leaves recovery: the threshold, or at most what is in flight, which prevents a burst.
        #[source("RFC 6582, section 3.2; ns-2 exit_recovery_fix_")]
        #[when(recovery = "newreno")]
        pub cwnd_on_exit: CwndOnExit = "ssthresh";
        /// Proportional rate reduction: recovery sends in step with what is delivered.
        #[source("RFC 6937; Linux tcp_cwnd_reduction")]
        #[when(recovery = "sack" | "fack" | "rack")]
        pub prr: bool = "false";
        /// Bound of proportional rate reduction below the threshold: one segment more than is delivered (SSRB), or that only when more is
        /// acknowledged and no further loss is seen (SafeACK).
        #[source("RFC 6937, section 3; RFC 9937, section 6; Linux tcp_cwnd_reduction")]
        #[when(prr = "true", recovery = "rack")]
        pub prr_bound: PrrBound = "ssrb";
        /// Divisor of proportional rate reduction: the window before the reduction, or what was in flight (RecoverFS).
        #[source("RFC 6937, section 3; Linux tp->prior_cwnd")]
        #[when(prr = "true", recovery = "rack")]
        pub prr_divisor: ReduceFrom = "flight";
        /// Undo a reduction when timestamps or DSACK show that nothing was lost, and learn the degree of reordering from it.
        #[source("RFC 3522; RFC 3708; RFC 4015; Linux tcp_try_undo_recovery")]
        #[when(recovery = "rack")]
        pub undo: bool = "false";
        /// Segmentation offload: segments go in bundles, which wait for the window to allow them.
        #[source("Linux tcp_tso_should_defer, tcp_tso_autosize")]
        #[when(recovery = "rack")]
        pub gso: bool = "false";

        /// Granularity of the sender's clock.
        #[source("ns-2 tcpTick_; RFC 6298, section 4; Linux CONFIG_HZ")]
        pub tick: Span = "0.01 s", 0.000001..=3600, "s";
        /// Timers fire at the steps of a wheel, which are ticks, and coarser for longer timers.
        #[source("Linux kernel/time/timer.c")]
        pub timer_wheel: bool = "false";
        /// Largest retransmission timeout.
        #[source("ns-2 maxrto_; Linux TCP_RTO_MAX")]
        pub rto_max: Span = "60 s", 0.001..=3600, "s";
        /// Order of the timeout's minimum and its back-off.
        #[source("ns-2 rfc2988_")]
        pub rto_order: RtoOrder = "minimum-first";
        /// An ACK restarts the timer after or before it updates the estimate; or after it, and never with nothing outstanding.
        #[source("ns-2 timerfix_; RFC 6298, section 5")]
        pub rto_timer_restart: RtoTimerRestart = "after-sample";
        /// Arithmetic of the retransmission timeout: BSD's in whole ticks, the RFC's, Linux's, whose minimum is of the deviation, or that of
        /// Linux 2.0 or 2.2, which allows more to small windows.
        #[source("ns-2 2.35 tcp.cc, rtt_update; RFC 6298, section 2; Linux tcp_rtt_estimator")]
        pub rto_estimator: RtoEstimatorName = "ticks";
        /// The round trip of a three-way handshake is the first sample.
        #[source("RFC 6298, section 2.2; Linux 2.0 and 2.2 do not take it")]
        #[when(handshake = "three-way")]
        pub handshake_rtt_sample: bool = "true";
        /// A lost SYN leaves an initial window of 1, a timeout of 3 s and no ECN; or the initial window up to a second loss, the timeout of
        /// the sample, and ECN if the answer agrees.
        #[source("RFC 6298, section 5.7; RFC 5681, section 3.1; Linux tcp_init_transfer, tcp_ack_update_rtt, tcp_ecn_rcv_synack")]
        #[when(handshake = "three-way")]
        pub syn_rtx_rto: SynRtxRto = "rfc6298";

        /// A finite transfer ends with a FIN, which the receiver answers with its own.
        #[source("RFC 9293, section 3.6; ns-2's one-way TCP has none")]
        pub fin: bool = "false";
        /// The FIN rides on the last data if that is not sent yet.
        #[source("RFC 9293, section 3.10.4; Linux tcp_send_fin")]
        #[when(fin = "true")]
        pub fin_on_data: bool = "false";
        /// A write fills up the last packet if that is not full and not sent yet; else each write begins a packet.
        #[source("RFC 9293, section 3.7.4; Linux tcp_sendmsg")]
        pub coalesce_writes: bool = "false";
        /// Headers in a data packet, which goodput does not count; ns-2 counts whole packets.
        #[source("ns-2 packetSize_; RFC 791; RFC 9293")]
        pub header_size: u32 = "0 B", 0..=200, "bytes";
        /// Acknowledgement on the wire.
        #[source("ns-2 TCPSink packetSize_; RFC 7323, with timestamps")]
        pub ack_size: u32 = "40 B", 1..=65535, "bytes";
        /// First packet on the wire, a SYN; 0 is as all others.
        #[source("ns-2 tcpip_base_hdr_size_; Linux tcp_syn_options")]
        pub syn_size: u32 = "40 B", 0..=65535, "bytes";
        /// Size of the SACK option besides 8 bytes a block.
        #[source("RFC 2018, section 3; ns-2 2.35 counts none")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub sack_option_size: u32 = "0 B", 0..=4, "bytes";
        /// The window is advertised in steps, so that it may exceed 65535 bytes.
        #[source("RFC 7323, section 2; Linux sysctl tcp_window_scaling")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub window_scaling: bool = "true";
        /// DSACK: the first SACK block reports a duplicate segment.
        #[source("RFC 2883; Linux sysctl tcp_dsack")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub dsack: bool = "false";

        /// SACKs after the third of a hole wait a little, and are merged.
        #[source("Linux sysctl tcp_comp_sack_delay_ns, __tcp_ack_snd_check")]
        #[when(recovery = "rack", delayed_ack = "true", delayed_ack_rule = "quickack")]
        pub comp_sack: bool = "false";
        /// Delay of an acknowledgement: always delayed_ack_time; so for the first segment, then by the time between arrivals, up to 0.5 s; or
        /// by the time between arrivals, and none in quickack mode: at the start, after a pause or a mark, and while the receiver's window
        /// grows. quickack is the receiver of Linux with its buffer and its echo, with delayed_ack = false too; the other rules are not read
        /// then.
        #[source("ns-2 TCPSink/DelAck; Linux 2.0 and 2.2, tcp_delack_estimator; Linux 6 tcp_event_data_recv")]
        pub delayed_ack_rule: AckDelayRule = "fixed";
        /// The ACK of the last packet in order may be delayed when that packet comes a second time.
        #[source("ns-2 2.35 tcp-sink.cc, DelAckSink; RFC 9293, section 3.10.7.4, answers at once")]
        #[when(delayed_ack = "true")]
        pub delay_dup_acks: bool = "true";
        /// Packets at the start of a connection that are acknowledged at once.
        #[source("ns-2 SYN_immediate_ack_; Linux TCP_MAX_QUICKACKS")]
        #[when(delayed_ack = "true")]
        pub max_quickacks: u64 = "1", 0..=1000, "packets";
        /// Pingpong mode: acknowledgements wait to ride on the application's answer, until a timer had to send one.
        #[source("Linux inet_csk_enter_pingpong_mode; tcp(7), TCP_QUICKACK")]
        #[when(delayed_ack = "true", delayed_ack_rule = "quickack")]
        pub pingpong: bool = "false";
        /// Once a connection carries data both ways, acknowledgements ride on data that goes their way.
        #[source("RFC 9293, section 3.8.6.3; RFC 1122, section 4.2.3.2; Linux tcp_event_ack_sent")]
        #[when(handshake = "three-way", ecn_echo = "classic" | "dctcp")]
        pub piggyback_acks: bool = "false";
        /// An autotuned buffer follows what the application reads in a round trip; else it grows only when more has come than it holds.
        #[source("Linux sysctl tcp_moderate_rcvbuf, tcp_rcv_space_adjust")]
        #[when(receive_window = "autotuned")]
        pub moderate_rcvbuf: bool = "true";
        /// Bytes that the receiver's application reads at a time.
        #[source("Linux tcp_recvmsg; recv(2)")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub app_read_size: u32 = "65536 B", 1..=1_073_741_824, "bytes";
        /// Time at which the receiver's application stops reading, from the opening of the connection.
        #[source("RFC 9293, section 3.8.6.1; Linux tcp_select_window")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub app_read_pause: OrOff<Span> = "off", 0..=1_000_000, "s";
        /// Time at which it reads again.
        #[source("RFC 9293, section 3.8.6.2.2; Linux tcp_cleanup_rbuf")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub app_read_resume: OrOff<Span> = "off", 0..=1_000_000, "s";
        /// Round-trip time that the sender writes into its packets, for AECN: smallest, smoothed, last, or the base time as the thesis' lines
        /// compute it.
        #[source("Zheng 2001, appendix A, on ns-2 2.1b7")]
        pub rtt_report: RttReport = "min";
    }
}
