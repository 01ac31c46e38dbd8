//! Variants that do not follow a rule, with the reason.
//!
//! `ALL`: every case that the exception names breaks the rule. `SOME`: at least one does, depending on the profile's window. An exception
//! that is not needed fails the test.

use ecnlab_transport::TcpSettings;
use ecnlab_transport::settings::{
    CongestionControlName, CwndIncrease, EchoStyle, EcnResponseName, LossDetection, PartialAckTimer, RecoveryName,
    RtoAndWindowAfterLostSyn, RtoMinAndBackoffOrder,
};

/// An exception to a rule.
pub struct RuleException {
    pub scenario: &'static str,
    pub rule: &'static str,
    pub scope: ExceptionScope,
    pub applies_to: fn(&TcpSettings) -> bool,
    pub reason: &'static str,
}

/// Scope of an exception: how many of its cases need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExceptionScope {
    All,
    Some,
}

const SYN_WITH_ECT1: &str = "Prague's SYN and SYN-ACK are ECT(1), which 011 reflects (RFC 9331, section 4.1; Linux TCP_CONG_WANTS_ECT_1)";

const ALL: ExceptionScope = ExceptionScope::All;
const SOME: ExceptionScope = ExceptionScope::Some;

const fn except(
    scenario: &'static str,
    rule: &'static str,
    scope: ExceptionScope,
    applies_to: fn(&TcpSettings) -> bool,
    reason: &'static str,
) -> RuleException {
    RuleException { scenario, rule, scope, applies_to, reason }
}

fn is_tahoe(settings: &TcpSettings) -> bool {
    settings.recovery == RecoveryName::Tahoe
}

fn is_reno(settings: &TcpSettings) -> bool {
    settings.recovery == RecoveryName::Reno
}

fn is_newreno(settings: &TcpSettings) -> bool {
    settings.recovery == RecoveryName::NewReno
}

fn is_prague(settings: &TcpSettings) -> bool {
    settings.congestion_control == CongestionControlName::Prague
}

fn is_vegas(settings: &TcpSettings) -> bool {
    settings.recovery == RecoveryName::Vegas
}

/// RACK loss detection, which needs SACK blocks.
fn uses_rack_loss_detection(settings: &TcpSettings) -> bool {
    settings.recovery == RecoveryName::Rack && settings.loss_detection == LossDetection::Rack && settings.offers_sack()
}

fn uses_rescue_rule(settings: &TcpSettings) -> bool {
    matches!(settings.recovery, RecoveryName::Sack | RecoveryName::Fack)
}

fn is_impatient_newreno(settings: &TcpSettings) -> bool {
    is_newreno(settings) && settings.quirks.partial_ack_timer == PartialAckTimer::First
}

fn repeats_ecn_offer(settings: &TcpSettings) -> bool {
    !settings.quirks.ecn_fallback
}

fn keeps_initial_window_after_syn_loss(settings: &TcpSettings) -> bool {
    settings.quirks.syn_rtx_rto == RtoAndWindowAfterLostSyn::Sample
}

/// A mark reduces cwnd over one RTT, and the echo stays set until CWR.
fn reduces_by_prr_on_classic_echo(settings: &TcpSettings) -> bool {
    settings.reduces_by_prr_for_marks() && settings.ecn_echo == EchoStyle::Classic
}

/// CWR waits for new data, so the echo stays set during slow start after an RTO. Vegas does not change its cwnd in that RTT.
fn slow_starts_during_ece(settings: &TcpSettings) -> bool {
    !is_vegas(settings) && !settings.quirks.cwr_on_retransmission && settings.ecn_echo == EchoStyle::Classic
}

const SLOW_STARTS_DURING_ECE: &str =
    "RFC 3168, section 6.1.2, SHOULD NOT: slow start repairs a timeout whether or not ECE is on (Linux tcp_cong_avoid in CA_Loss)";
const REPEATS_ECN_OFFER: &str =
    "who is older than RFC 3168 offers ECN again (RFC 2481 knows no other way), and nothing gets through the firewall";
const GOES_BACK: &str = "Tahoe goes back to the lost segment and sends from there on in slow start (Jacobson 1988)";
const RENO_ENDS: &str =
    "Reno's recovery ends with the first new ACK; the next loss of the window cuts again or times out (RFC 6582, section 1)";
const IMPATIENT: &str = "the impatient variant restarts the timer for the first partial ACK only (RFC 6582, section 4)";
const PARTIAL: &str =
    "every ACK below the recovery point is a partial one and retransmits, after a spurious cut too (RFC 6582, section 3.2)";
const FINE_CLOCK: &str = "Vegas looks at its fine clock at the first duplicates and new ACKs (Brakmo and Peterson 1995; ns-2 tcp-vegas.cc)";
const VEGAS_CUT: &str = "Vegas keeps three quarters, and its threshold is 2 once slow start is over (ns-2 tcp-vegas.cc)";
const VEGAS_TWO: &str = "Vegas' slow start begins with two segments (ns-2 tcp-vegas.cc, v_slowstart_)";
const ECT: &str = "ns-2 and hosts older than RFC 3168 send retransmissions ECN-capable (ns-2 2.35 tcp.cc, output; RFC 2884, section 3.2)";
const MORE_THAN_RECOVER: &str = "the segment with CWR is the first beyond `recover`, and duplicates count from the second on (RFC 6582, section 3.2, step 1; ns-2 2.35)";
const CWR: &str = "ns-2 lets the next segment carry CWR, be it new or not (ns-2 2.35 tcp.cc, SetCWRonRetransmit_)";
const CWR_ALWAYS: &str = "ns-2 tells of a cut by CWR whether or not ECN is in use (ns-2 2.35 tcp.cc, output)";
const ECT_ON_ALL: &str =
    "with DCTCP all packets are capable, so that no switch drops what it would mark (RFC 8257, sections 3.6 and 4; Linux INET_ECN_xmit)";
const STILL_ON: &str =
    "an echo that is still on as recovery ends cuts: nothing but recovery itself keeps it from that (Linux tcp_fastretrans_alert)";
const ONE_SYN: &str =
    "one SYN sent again leaves the initial window, as it may only have been late (RFC 6928, section 2; Linux tcp_init_transfer)";

const LATE: &str = "reordering_above_the_threshold";
const SEVERAL: &str = "several_losses";
const BACK_OFF: &str = "exponential_back_off";
const CUT: &str = "one cut, to the share that is kept";
const AGAIN: &str = "each lost segment is sent once more and nothing else";
const LATE_AGAIN: &str = "only the late segment is sent again";
const FASTER: &str = "retransmission_faster_than_the_first_flight";
const BEFORE_DELIVERED: &str = "what was sent before a delivered retransmission is lost";
const OFFERS: &str = "the SYN offers ECN with both bits and is not capable itself";
const ONCE: &str = "a loss and a mark of one window cut once";
const NOT_CAPABLE: &str = "retransmissions are not capable";
const ON_NEW: &str = "CWR goes on new data";
const END: &str = "recovery ends at the threshold";

pub const EXCEPTIONS: &[RuleException] = &[
    except("ecn_syn_blocked", "the second SYN offers nothing", ALL, repeats_ecn_offer, REPEATS_ECN_OFFER),
    except("ecn_syn_blocked", "one segment after a lost SYN", ALL, repeats_ecn_offer, REPEATS_ECN_OFFER),
    except("ecn_syn_blocked", "a timeout of 3 s for data", ALL, repeats_ecn_offer, REPEATS_ECN_OFFER),
    except("ecn_syn_blocked", "everything arrives", ALL, repeats_ecn_offer, REPEATS_ECN_OFFER),
    except(
        "ecn_syn_blocked",
        "a timeout of 3 s for data",
        ALL,
        |s| s.quirks.syn_rtx_rto == RtoAndWindowAfterLostSyn::Sample && s.timestamps && !s.tlp,
        "the answer's timestamp tells which SYN it answers, so there is a sample (RFC 7323; Linux tcp_ack_update_rtt)",
    ),
    except("one_loss", CUT, ALL, is_vegas, VEGAS_CUT),
    except("one_loss", END, ALL, is_vegas, VEGAS_CUT),
    // Counted in segments, the ACK that jumps over delivered segments takes slow start to ssthresh at once.
    except(
        "one_loss",
        END,
        ALL,
        |s| is_tahoe(s) && s.cwnd_increase == CwndIncrease::PerAck,
        "Tahoe has no fast recovery: slow start from one segment (Jacobson 1988)",
    ),
    except(
        "one_loss",
        "a new segment for each of the first two duplicates",
        ALL,
        |s| is_vegas(s) && s.quirks.limited_transmit,
        "Vegas has no limited transmit (ns-2 tcp-vegas.cc)",
    ),
    except(SEVERAL, "no timeout", ALL, is_reno, RENO_ENDS),
    except(SEVERAL, "no timeout", SOME, is_impatient_newreno, IMPATIENT),
    except(SEVERAL, "no timeout", SOME, is_vegas, FINE_CLOCK),
    except(SEVERAL, CUT, ALL, is_reno, RENO_ENDS),
    except(SEVERAL, CUT, SOME, is_impatient_newreno, IMPATIENT),
    except(SEVERAL, CUT, ALL, is_vegas, VEGAS_CUT),
    except(SEVERAL, AGAIN, ALL, is_reno, RENO_ENDS),
    except(SEVERAL, AGAIN, ALL, is_tahoe, GOES_BACK),
    except(SEVERAL, AGAIN, SOME, is_impatient_newreno, IMPATIENT),
    except(SEVERAL, AGAIN, SOME, is_vegas, FINE_CLOCK),
    except("accecn_negotiation", "the SYN-ACK reflects the SYN", ALL, is_prague, SYN_WITH_ECT1),
    except("accecn_negotiation", "the third ACK reflects the SYN-ACK", SOME, is_prague, SYN_WITH_ECT1),
    except(
        "accecn_classic_server",
        "a classic server gets classic ECN",
        ALL,
        is_prague,
        "Prague uses no classic ECN: it continues as Reno without ECN (Linux TCP_CONG_NO_FALLBACK_RFC3168)",
    ),
    except(
        "lost_retransmission",
        "the timer repairs it",
        SOME,
        uses_rack_loss_detection,
        "a later segment's arrival shows the loss (RFC 8985, section 3.1)",
    ),
    except("lost_retransmission", "the timer repairs it", ALL, is_vegas, FINE_CLOCK),
    except(
        FASTER,
        BEFORE_DELIVERED,
        ALL,
        |s| !s.quirks.handshake_rtt_sample,
        "Linux 2.0 and 2.2 measure no round trip of the handshake (Linux 2.0: the estimate starts when the connection is established)",
    ),
    except(
        FASTER,
        BEFORE_DELIVERED,
        ALL,
        |s| s.loss_detection == LossDetection::Dupthresh,
        "losses are detected by DupThresh (RFC 6675, IsLost)",
    ),
    except(LATE, LATE_AGAIN, SOME, is_tahoe, GOES_BACK),
    except(LATE, LATE_AGAIN, SOME, is_newreno, PARTIAL),
    except(LATE, LATE_AGAIN, SOME, is_vegas, FINE_CLOCK),
    except(LATE, CUT, ALL, is_vegas, VEGAS_CUT),
    except(
        "timeout_while_an_echo_is_on",
        "slow start repairs what a timeout has shown",
        ALL,
        is_vegas,
        "Vegas' slow start grows in every second round trip (Brakmo and Peterson 1995; ns-2 tcp-vegas.cc)",
    ),
    except("timeout_while_an_echo_is_on", "no growth on an ACK with ECE", ALL, slow_starts_during_ece, SLOW_STARTS_DURING_ECE),
    except("tail_loss", "after a timeout slow start begins at one segment", ALL, is_vegas, VEGAS_TWO),
    except("dead_path", "one segment for each timeout", ALL, is_vegas, VEGAS_TWO),
    except(BACK_OFF, "one segment for each timeout", ALL, is_vegas, VEGAS_TWO),
    except(BACK_OFF, "the window after a timeout is one segment", ALL, is_vegas, VEGAS_TWO),
    except(
        BACK_OFF,
        "further timeouts of a segment leave the threshold",
        SOME,
        |s| !s.quirks.repeated_rto_keeps_ssthresh,
        "ns-2 cuts it for every timeout; where that leaves it at two at once there is nothing to see (ns-2 2.35 tcp.cc, timeout)",
    ),
    except(
        BACK_OFF,
        "each timeout doubles the next",
        ALL,
        |s| s.quirks.rto_order == RtoMinAndBackoffOrder::BackoffFirst,
        "ns-2 of 2001 doubles up to 64 times the timeout (ns-2 tcp.cc, rtt_backoff)",
    ),
    except("idle_restart", "a restart window after an idle time", SOME, is_vegas, VEGAS_TWO),
    except(
        "slow_start",
        "the first flight is the initial window",
        ALL,
        |s| is_vegas(s) && s.quirks.delay_growth,
        "Vegas opens the window one ACK later than the first packet's (ns-2 tcp-vegas.cc)",
    ),
    except(
        "slow_start",
        "at most a segment for each acknowledged",
        ALL,
        |s| is_vegas(s) && s.quirks.delay_growth,
        "Vegas opens the window one ACK later than the first packet's, which shows as growth (ns-2 tcp-vegas.cc)",
    ),
    except("syn_ack_lost", "one segment after a lost SYN-ACK", ALL, keeps_initial_window_after_syn_loss, ONE_SYN),
    except("ecn_syn_blocked", "one segment after a lost SYN", ALL, keeps_initial_window_after_syn_loss, ONE_SYN),
    except(
        "acknowledgements_as_hosts_have_them",
        "gaps are acknowledged at once",
        ALL,
        |s| s.quirks.comp_sack && s.delayed_ack && s.max_reported_sack_blocks() > 0,
        "SACKs after the third of a hole wait up to 1.1 ms and are merged (Linux __tcp_ack_snd_check, tcp_comp_sack_delay_ns)",
    ),
    except("ecn_refused", "no ECN on data", ALL, |s| s.quirks.cwr_without_ecn, CWR_ALWAYS),
    except("ecn_negotiation", OFFERS, ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("ecn_negotiation", "all data is capable and nothing else", ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("ecn_refused", OFFERS, ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("ecn_bits_cleared", OFFERS, ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("ecn_bits_reflected", OFFERS, ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("mark_before_a_loss_is_known", NOT_CAPABLE, ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("mark_during_recovery", NOT_CAPABLE, ALL, |s| s.uses_ect_on_all_packets(), ECT_ON_ALL),
    except("mark_before_a_loss_is_known", NOT_CAPABLE, ALL, |s| s.quirks.ect_on_retransmission, ECT),
    except("mark_during_recovery", NOT_CAPABLE, ALL, |s| s.quirks.ect_on_retransmission, ECT),
    except("mark_before_a_loss_is_known", ON_NEW, SOME, |s| s.quirks.cwr_on_retransmission, CWR),
    except("mark_during_recovery", ON_NEW, ALL, |s| s.quirks.cwr_on_retransmission, CWR),
    except(
        "mark_before_a_loss_is_known",
        ONCE,
        ALL,
        is_vegas,
        "Vegas asks when the segment was sent and not whether a mark has cut (ns-2 tcp-vegas.cc)",
    ),
    except(
        "mark_before_a_loss_is_known",
        ONCE,
        ALL,
        |s| s.ecn_response == EcnResponseName::Dctcp && (uses_rescue_rule(s) || uses_rack_loss_detection(s) || is_reno(s) || is_newreno(s)),
        "a loss leaves what it leaves without marks: DCTCP's milder cut is deepened to that (RFC 8257, section 3.5)",
    ),
    except("mark_during_recovery", ONCE, ALL, |s| reduces_by_prr_on_classic_echo(s) && s.offers_sack(), STILL_ON),
    except("lost_cwr", "the echo that goes on cuts no more", ALL, reduces_by_prr_on_classic_echo, STILL_ON),
    except("lost_cwr", "the loss of CWR cuts again", SOME, |s| !uses_rescue_rule(s) && !uses_rack_loss_detection(s), MORE_THAN_RECOVER),
    except(
        "lost_cwr",
        "the echo that goes on cuts no more",
        SOME,
        |s| !uses_rescue_rule(s) && !uses_rack_loss_detection(s),
        MORE_THAN_RECOVER,
    ),
    except(
        "all_marked",
        "at one segment the timer sends",
        ALL,
        |s| s.quirks.min_cwnd >= 2,
        "these hosts keep a window of two segments (Linux net/ipv4/tcp*.c)",
    ),
];
