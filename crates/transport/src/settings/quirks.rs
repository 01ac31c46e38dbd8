//! Quirks: behaviour of one implementation or version, which a profile mimics. Each names its source; a scenario sets them as `tcp.quirks`.

use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Span, parameters};

use super::parameters::MAX_WINDOW_PACKETS;
use super::{
    AccEcnOptionUse, AccEcnRules, AckDelayRule, CwndOnExit, EcnReductionTiming, PacingRule, PartialAckTimer, PrrBound, ReduceFrom,
    RtoAndWindowAfterLostSyn, RtoEstimatorName, RtoMinAndBackoffOrder, RtoTimerRestart, RttInPackets, SsthreshRounding,
};

parameters! {
    /// Behaviour of one implementation or version.
    #[derive(Clone, Debug)]
    pub struct Quirks {
        /// Agreement of the receiver to ECN that is offered in a three-way handshake.
        #[source("RFC 3168, section 6.1.1; Linux tcp_ecn_create_request, sysctl tcp_ecn")]
        #[when(ecn = "true", handshake = "three-way")]
        pub receiver_ecn: bool = "true";
        /// Agreement of the receiver to Accurate ECN that is offered; otherwise it agrees to classic ECN, as the SYN asks for both.
        #[source("RFC 9768, section 3.1.2; Linux sysctl tcp_ecn, 1 and 2")]
        #[when(ecn = "true", ecn_echo = "accurate")]
        pub receiver_accurate_ecn: bool = "true";
        /// The Accurate ECN option: off; minimum, on the third packet and on the ACKs for which Linux schedules it; full, on every packet
        /// where it fits and the peer has sent it; or always, also after a sign that the path drops it.
        #[source("RFC 9768, section 3.2.3; Linux sysctl tcp_ecn_option")]
        #[when(ecn = "true", ecn_echo = "accurate")]
        pub accecn_option: AccEcnOptionUse = "full";
        /// Rules of an Accurate ECN host: those of the RFC; or those of Linux, which sends an ACK at each change of the codepoint or at
        /// the sixth mark, and checks the feedback on its SYN only if the SYN-ACK is marked.
        #[source("RFC 9768, sections 3.2.2.3 and 3.2.2.5; Linux 7.2, include/net/tcp_ecn.h")]
        #[when(ecn = "true", ecn_echo = "accurate")]
        pub accecn_rules: AccEcnRules = "rfc9768";
        /// No ECN offer on a repeated SYN after one with an offer was lost.
        #[source("RFC 3168, section 6.1.1.1; Linux sysctl tcp_ecn_fallback; RFC 2481 has none")]
        #[when(ecn = "true", handshake = "three-way")]
        pub ecn_fallback: bool = "true";
        /// Retransmitted packets are ECN-capable, which RFC 3168 forbids and ns-2 does.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.5")]
        #[when(ecn = "true")]
        pub ect_on_retransmission: bool = "true";
        /// ECN negotiation without a three-way handshake: the first packet offers ECN by ECE and is not ECN-capable, and ECE on its ACK
        /// accepts. Otherwise both ends assume ECN.
        #[source("ns-2 2.35 tcp.cc, output")]
        #[when(ecn = "true", handshake = "none" | "first-packet")]
        pub first_packet_offers_ecn: bool = "true";
        /// Without a three-way handshake: the receiver echoes marks only when it acknowledges an ECN-capable packet.
        #[source("ns-2 2.35 tcp-sink.cc, ack; RFC 3168, section 6.1.3, echoes until CWR")]
        #[when(ecn = "true", ecn_echo = "classic", handshake = "none" | "first-packet")]
        pub ece_on_ect_only: bool = "true";
        /// With DCTCP all packets are ECN-capable: also SYNs, ACKs and retransmissions.
        #[source("Linux tcp_ca_needs_ecn; RFC 8257, section 3.6")]
        #[when(ecn = "true", ecn_response = "dctcp")]
        pub dctcp_ect_on_all_packets: bool = "false";
        /// After a timeout marks are answered at once, also those of packets sent before it.
        #[source("ns-2 2.35 tcp.cc, ecn; RFC 3168, section 6.1.2, responds once a window")]
        #[when(ecn = "true")]
        pub ece_response_after_rto: bool = "true";
        /// A timeout keeps an ssthresh that a mark has reduced, also when all packets sent before the mark are acknowledged.
        #[source("ns-2 2.35 tcp.cc, timeout; RFC 5681, section 3.1, reduces it")]
        #[when(ecn = "true")]
        pub rto_keeps_ecn_ssthresh: bool = "true";
        /// Reduction by a mark: at once, or by proportional rate reduction over a round trip, in which the window does not grow. An echo
        /// that persists at its end reduces the window again.
        #[source("RFC 3168, section 6.1.2; Linux tcp_enter_cwr, tcp_fastretrans_alert")]
        #[when(ecn = "true", recovery = "rack")]
        pub ecn_reduction: EcnReductionTiming = "immediate";
        /// CWR on retransmissions. With it the echo can end during the repair of a timeout, and the window does not grow on ECE then;
        /// without it slow start continues.
        #[source("ns-2 SetCWRonRetransmit_; RFC 3168, section 6.1.2, forbids it")]
        pub cwr_on_retransmission: bool = "true";
        /// CWR on the highest packet sent, also on its retransmission.
        #[source("ns-2 2.35 tcp.cc, output; RFC 3168, section 6.1.2, asks for new data")]
        #[when(cwr_on_retransmission = "false")]
        pub cwr_on_highest_packet: bool = "true";
        /// CWR after a reduction, also without ECN.
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
        /// Integer arithmetic of window and ssthresh: acknowledged segments are counted until they make one more, and reductions are
        /// rounded down. Factors and CUBIC's scale are in 1/1024.
        #[source("Linux tcp_cong_avoid_ai, bictcp_update, dctcp_update_alpha")]
        #[when(congestion_control = "reno" | "cubic")]
        pub integer_cwnd: bool = "false";
        /// Rounding of a reduction: a real window and an integer ssthresh, both integers, or both real.
        #[source("ns-2 precisionReduce_; RFC 5681, equation 4")]
        #[when(integer_cwnd = "false")]
        pub ssthresh_rounding: SsthreshRounding = "exact";
        /// Base of a reduction: the usable window or the segments in flight (FlightSize).
        #[source("ns-2 2.35 tcp.cc, slowdown; RFC 5681, equation 4")]
        pub reduce_from: ReduceFrom = "cwnd";
        /// Smallest window after a reduction; with 0 a mark may reduce it below one, and the timer then paces the sender.
        #[source("RFC 3168, section 6.1.2; Linux tcp_reno_ssthresh")]
        pub min_cwnd: u64 = "0", 0..=1000, "packets";
        /// Largest congestion window; 0 is no limit.
        #[source("ns-2 maxcwnd_; Linux route attribute cwnd")]
        pub max_cwnd: u64 = "0", 0..=MAX_WINDOW_PACKETS, "packets";
        /// Most packets sent in response to one ACK; 0 is no limit.
        #[source("ns-2 maxburst_")]
        pub max_burst: u64 = "0", 0..=MAX_WINDOW_PACKETS, "packets";
        /// The window stays at one until the first ACK.
        #[source("ns-2 delay_growth_")]
        pub delay_growth: bool = "true";
        /// A repeated timeout of the same packet keeps ssthresh.
        #[source("RFC 5681, section 3.1; ns-2 tcp.cc, slowdown, reduces it again")]
        pub repeated_rto_keeps_ssthresh: bool = "false";
        /// A timeout without outstanding data resets the window to one.
        #[source("ns-2 slow_start_restart_")]
        pub idle_rto_resets_cwnd: bool = "true";
        /// A timeout without outstanding data keeps ssthresh and the back-off.
        #[source("ns-2 restart_bugfix_")]
        pub idle_rto_keeps_ssthresh: bool = "true";

        /// Limited transmit: a new packet on each of the first two duplicate ACKs.
        #[source("RFC 3042; ns-2 singledup_")]
        #[when(recovery = "tahoe" | "reno" | "newreno" | "sack1" | "sack" | "fack" | "rack")]
        pub limited_transmit: bool = "true";
        /// ACKs without outstanding data count as duplicates, and the last one of DupThresh sends the next packet.
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
        /// Partial ACKs that restart NewReno's timer: the first, or every one.
        #[source("RFC 6582, section 3.2; ns-2 newreno_changes1_")]
        #[when(recovery = "newreno")]
        pub partial_ack_timer: PartialAckTimer = "first";
        /// Deflation of NewReno's window by a partial ACK: by the acknowledged amount less one, or by all inflation.
        #[source("RFC 6582, section 3.2; ns-2 partial_window_deflation_")]
        #[when(recovery = "newreno")]
        pub partial_window_deflation: bool = "true";
        /// Window after NewReno's recovery: ssthresh, or at most the data in flight, which prevents a burst.
        #[source("RFC 6582, section 3.2; ns-2 exit_recovery_fix_")]
        #[when(recovery = "newreno")]
        pub cwnd_on_exit: CwndOnExit = "ssthresh";
        /// Proportional rate reduction: recovery sends in proportion to delivered data.
        #[source("RFC 6937; Linux tcp_cwnd_reduction")]
        #[when(recovery = "sack" | "fack" | "rack")]
        pub prr: bool = "false";
        /// Bound of proportional rate reduction below ssthresh: one segment more than delivered (SSRB), or that only when more data is
        /// acknowledged and no further loss is detected (SafeACK).
        #[source("RFC 6937, section 3; RFC 9937, section 6; Linux tcp_cwnd_reduction")]
        #[when(prr = "true", recovery = "rack")]
        pub prr_bound: PrrBound = "ssrb";
        /// Divisor of proportional rate reduction: the window before the reduction, or the data in flight (RecoverFS).
        #[source("RFC 6937, section 3; Linux tp->prior_cwnd")]
        #[when(prr = "true", recovery = "rack")]
        pub prr_divisor: ReduceFrom = "flight";
        /// Undo of a reduction when timestamps or DSACK show that nothing was lost; the degree of reordering is learned from it.
        #[source("RFC 3522; RFC 3708; RFC 4015; Linux tcp_try_undo_recovery")]
        #[when(recovery = "rack")]
        pub undo: bool = "false";
        /// Pacing: by an interval of the window after each segment, or as Linux' internal timer does, by a rate that each ACK sets.
        #[source("Aggarwal, Savage and Anderson 2000; Linux tcp_pacing_check, tcp_update_skb_after_send, tcp_update_pacing_rate")]
        #[when(pacing = "true")]
        pub pacing_rule: PacingRule = "interval";
        /// Prague's target RTT: shorter paths grow and respond as if they were this long; 0 is none, as in the Prague of 2020.
        #[source("Linux module tcp_prague 0.7, prague_rtt_target")]
        #[when(congestion_control = "prague")]
        pub prague_rtt_target: Span = "25 ms", 0..=0.1, "s";
        /// Round trips after slow start from which Prague's target RTT counts.
        #[source("Linux module tcp_prague 0.7, prague_rtt_transition")]
        #[when(congestion_control = "prague")]
        pub prague_rtt_transition: u64 = "4", 0..=1_000_000, "round trips";
        /// Prague's mode of rate: at windows of up to four packets after a mark, its state is a rate.
        #[source("Linux module tcp_prague 0.7, prague_cwnd_mode")]
        #[when(congestion_control = "prague")]
        pub prague_rate_mode: bool = "true";
        /// Segmentation offload: segments are sent in bundles, when the window allows a whole bundle.
        #[source("Linux tcp_tso_should_defer, tcp_tso_autosize")]
        #[when(recovery = "rack")]
        pub gso: bool = "false";

        /// Granularity of the sender's clock.
        #[source("ns-2 tcpTick_; RFC 6298, section 4; Linux CONFIG_HZ")]
        pub tick: Span = "0.01 s", 0.000001..=3600, "s";
        /// Timers fire at the slots of a timer wheel: ticks, and coarser slots for longer timers.
        #[source("Linux kernel/time/timer.c")]
        pub timer_wheel: bool = "false";
        /// Largest retransmission timeout.
        #[source("ns-2 maxrto_; Linux TCP_RTO_MAX")]
        pub rto_max: Span = "60 s", 0.001..=3600, "s";
        /// Order of the RTO's minimum and its back-off.
        #[source("ns-2 rfc2988_")]
        pub rto_order: RtoMinAndBackoffOrder = "minimum-first";
        /// Restart of the timer by an ACK: after or before it updates the estimate; or after it, and never without outstanding data.
        #[source("ns-2 timerfix_; RFC 6298, section 5")]
        pub rto_timer_restart: RtoTimerRestart = "after-sample";
        /// Arithmetic of the RTO: BSD's in whole ticks; the RFC's; Linux's, with a minimum of the deviation; or that of Linux 2.0 or 2.2,
        /// with a larger RTO for small windows.
        #[source("ns-2 2.35 tcp.cc, rtt_update; RFC 6298, section 2; Linux tcp_rtt_estimator")]
        pub rto_estimator: RtoEstimatorName = "ticks";
        /// The round trip of a three-way handshake is the first sample.
        #[source("RFC 6298, section 2.2; Linux 2.0 and 2.2 do not take it")]
        #[when(handshake = "three-way")]
        pub handshake_rtt_sample: bool = "true";
        /// State after a lost SYN: an initial window of 1, an RTO of 3 s and no ECN; or the initial window up to a second loss, the RTO of
        /// the sample, and ECN if the answer agrees.
        #[source("RFC 6298, section 5.7; RFC 5681, section 3.1; Linux tcp_init_transfer, tcp_ack_update_rtt, tcp_ecn_rcv_synack")]
        #[when(handshake = "three-way")]
        pub syn_rtx_rto: RtoAndWindowAfterLostSyn = "rfc6298";
        /// Timeouts of the SYN before the timer begins to double.
        #[source("RFC 6298, section 5.5, doubles it at once; Linux 6.5 and later, sysctl tcp_syn_linear_timeouts = 4")]
        #[when(handshake = "three-way")]
        pub syn_linear_timeouts: u64 = "0", 0..=127, "timeouts";

        /// A finite transfer ends with a FIN, which the receiver answers with a FIN.
        #[source("RFC 9293, section 3.6; ns-2's one-way TCP has none")]
        pub fin: bool = "false";
        /// The FIN does not wait for the congestion window.
        #[source("Linux 6.1 tcp_cwnd_test; Linux 7.2 does not exempt it")]
        #[when(recovery = "rack", fin = "true")]
        pub fin_beyond_cwnd: bool = "true";
        /// FIN on the last data packet if that is not sent yet.
        #[source("RFC 9293, section 3.10.4; Linux tcp_send_fin")]
        #[when(fin = "true")]
        pub fin_on_data: bool = "false";
        /// A write fills the last packet if that is partial and not sent yet; otherwise each write begins a packet.
        #[source("RFC 9293, section 3.7.4; Linux tcp_sendmsg")]
        pub coalesce_writes: bool = "false";
        /// Headers of a data packet, which goodput does not count; ns-2 counts whole packets.
        #[source("ns-2 packetSize_; RFC 791; RFC 9293")]
        pub header_size: u32 = "0 B", 0..=200, "bytes";
        /// Size of an ACK on the wire.
        #[source("ns-2 TCPSink packetSize_; RFC 7323, with timestamps")]
        pub ack_size: u32 = "40 B", 1..=65535, "bytes";
        /// Size of the first packet on the wire, a SYN; 0 is the size of all others.
        #[source("ns-2 tcpip_base_hdr_size_; Linux tcp_syn_options")]
        pub syn_size: u32 = "40 B", 0..=65535, "bytes";
        /// Size of the SACK option without its 8 bytes per block.
        #[source("RFC 2018, section 3; ns-2 2.35 counts none")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub sack_option_size: u32 = "0 B", 0..=4, "bytes";
        /// Window scaling: the window is advertised in units, so that it may exceed 65535 bytes.
        #[source("RFC 7323, section 2; Linux sysctl tcp_window_scaling")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub window_scaling: bool = "true";
        /// DSACK: the first SACK block reports a duplicate segment.
        #[source("RFC 2883; Linux sysctl tcp_dsack")]
        #[when(recovery = "sack1" | "sack" | "fack" | "rack")]
        pub dsack: bool = "false";

        /// SACK compression: SACKs after the third of a hole are delayed and merged.
        #[source("Linux sysctl tcp_comp_sack_delay_ns, __tcp_ack_snd_check")]
        #[when(recovery = "rack", delayed_ack = "true", delayed_ack_rule = "quickack")]
        pub comp_sack: bool = "false";
        /// Delay of an ACK: always delayed_ack_time; delayed_ack_time for the first segment, then by the time between arrivals, up to 0.5
        /// s; or by the time between arrivals, and none in quickack mode, that is at the start, after a pause or a mark, and while the
        /// advertised window grows. quickack is the receiver of Linux with its buffer and its echo, also with delayed_ack = false; the
        /// other rules are then not used.
        #[source("ns-2 TCPSink/DelAck; Linux 2.0 and 2.2, tcp_delack_estimator; Linux 6 tcp_event_data_recv")]
        pub delayed_ack_rule: AckDelayRule = "fixed";
        /// Delay also for the ACK of the last in-order packet when that packet arrives again.
        #[source("ns-2 2.35 tcp-sink.cc, DelAckSink; RFC 9293, section 3.10.7.4, answers at once")]
        #[when(delayed_ack = "true")]
        pub delay_dup_acks: bool = "true";
        /// Packets at the start of a connection that are acknowledged immediately.
        #[source("ns-2 SYN_immediate_ack_; Linux TCP_MAX_QUICKACKS")]
        #[when(delayed_ack = "true")]
        pub max_quickacks: u64 = "1", 0..=1000, "packets";
        /// Pingpong mode: ACKs wait for data of the application to carry them, until a timer had to send one.
        #[source("Linux inet_csk_enter_pingpong_mode; tcp(7), TCP_QUICKACK")]
        #[when(delayed_ack = "true", delayed_ack_rule = "quickack")]
        pub pingpong: bool = "false";
        /// Piggybacked ACKs on a connection that carries data in both directions.
        #[source("RFC 9293, section 3.8.6.3; RFC 1122, section 4.2.3.2; Linux tcp_event_ack_sent")]
        #[when(handshake = "three-way", ecn_echo = "classic" | "dctcp" | "accurate")]
        pub piggyback_acks: bool = "false";
        /// Size of an autotuned buffer: by the data that the application reads in a round trip; otherwise it grows only when more arrives
        /// than it holds.
        #[source("Linux sysctl tcp_moderate_rcvbuf, tcp_rcv_space_adjust")]
        #[when(receive_window = "autotuned")]
        pub moderate_rcvbuf: bool = "true";
        /// Share of the receive buffer that counts as window: half; or, once full packets arrive, the share of data in their memory. The first
        /// window is then the whole share, too.
        #[source("Linux 6.6 and later, tcp_measure_rcv_mss, scaling_ratio; tcp_select_initial_window")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub measured_rcvbuf_share: bool = "false";
        /// Bytes per read of the receiver's application.
        #[source("Linux tcp_recvmsg; recv(2)")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub app_read_size: u32 = "65536 B", 1..=1_073_741_824, "bytes";
        /// Time from the opening of the connection at which the receiver's application stops reading.
        #[source("RFC 9293, section 3.8.6.1; Linux tcp_select_window")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub app_read_pause: OrOff<Span> = "off", 0..=1_000_000, "s";
        /// Time at which the receiver's application reads again.
        #[source("RFC 9293, section 3.8.6.2.2; Linux tcp_cleanup_rbuf")]
        #[when(receive_window = "fixed" | "autotuned")]
        pub app_read_resume: OrOff<Span> = "off", 0..=1_000_000, "s";
        /// RTT that the sender writes into its packets, for AECN: smallest, smoothed, last, or the base RTT as computed by the thesis'
        /// code.
        #[source("Zheng 2001, appendix A, on ns-2 2.1b7")]
        pub rtt_report: RttInPackets = "min";
    }
}
