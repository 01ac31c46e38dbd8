//! Accurate ECN at the receiver: its side of the negotiation, the counters r.cep, r.e1b, r.ceb and r.e0b, and the ACE field and the option of
//! its ACKs (RFC 9768, sections 3.1 and 3.2).
//!
//! ```text
//!                 by the RFC                                     Linux
//! ACK at once     CE after a packet without it; the second CE    a change of the codepoint; the sixth CE
//!                 since the last ACK
//! option          on every ACK with room for the counters that changed; before a third SACK block
//!   minimum       only on two ACKs after CE or a change of the codepoint, on one after the opening and after 2^22 bytes of one codepoint,
//!                 and a third of the handshake's RTT after the last one (Linux tcp_ecn_received_counters, tcp_accecn_option_beacon_check)
//! ```
//!
//! The receiver reads ACE of the sender's packets too, which counts the marks on the ACKs.

use ecnlab_units::{Ecn, Span};

use crate::accurate_ecn::{self as accurate, INITIAL_BYTES, OptionSeen, ReportedMarkCounters};
use crate::segment::{AccEcnOption, Ack, Segment, SegmentType};
use crate::settings::{AccEcnOptionUse, AccEcnRules, TcpSettings};

/// Bytes of TCP options, of the timestamps, of a SACK option without blocks and of a block, with padding.
const MAX_OPTION_BYTES: u32 = 40;
const TIMESTAMPS_BYTES: u32 = 12;
const SACK_BASE_BYTES: u32 = 4;
const SACK_BLOCK_BYTES: u32 = 8;
/// Bytes of padding beside SACK blocks that the option may use instead.
const SACK_PADDING_BYTES: u32 = 2;
/// SACK blocks that are kept beside the option.
const MIN_SACK_BLOCKS: usize = 2;

/// Marks since the last ACK that cause the next one: of unacknowledged data by the RFC, and of Linux.
const MAX_PENDING_MARKS: u64 = 2;
const MAX_PENDING_MARKS_LINUX: u64 = 6;

/// Retransmissions of the SYN-ACK by the timer that keep the ACE field.
const SYN_ACK_RETRANSMISSIONS_WITH_ACE: u32 = 1;

/// ACKs with the option after CE or a change of the codepoint, and after the opening or so many bytes of a codepoint (Linux
/// accecn_opt_demand).
const OPTIONS_AFTER_CHANGE: u32 = 2;
const OPTIONS_AFTER_BYTES: u32 = 1;
const LOG2_BYTES_WITHOUT_OPTION: u32 = 22;
/// Options in a round trip that nothing demands (Linux sysctl tcp_ecn_option_beacon).
const OPTIONS_PER_RTT: u64 = 3;

/// State of a receiver with Accurate ECN.
#[derive(Debug)]
pub struct AccurateReceiver {
    rules: AccEcnRules,
    option_use: AccEcnOptionUse,
    checks_path: bool,
    timestamps: bool,
    /// ECN fields of the SYN, as it arrived, and of the SYN-ACK, as it was sent.
    syn_received: Ecn,
    syn_ack_sent: Ecn,
    /// Packets received with CE, and those since the last ACK; bytes received with ECT(1), CE and ECT(0).
    ce: u64,
    pending_ce: u64,
    bytes: [u64; 3],
    last_ecn: Ecn,
    /// Counters that the next option must have, in its order.
    required_counters: u32,
    /// The packets of the peer, which report the marks on ACKs.
    feedback: ReportedMarkCounters,
    /// The path changes the ECN field, so that packets are not ECN-capable; or it drops the option.
    withholds_ect: bool,
    option_is_dropped: bool,
    last_option_with_dsack: bool,
    last_dsack: Option<u64>,
    /// ACKs for which the option is demanded, the time of the last one with it, and the RTT of the handshake, in microseconds.
    demanded_options: u32,
    last_option_at: Option<u64>,
    handshake_rtt: Option<u64>,
    is_open: bool,
    syn_ack_retransmissions: u32,
    syn_ack_timeouts: u32,
}

impl AccurateReceiver {
    pub fn new(settings: &TcpSettings, syn: &Segment, syn_ack_sent: Ecn) -> AccurateReceiver {
        AccurateReceiver {
            rules: settings.quirks.accecn_rules,
            option_use: settings.quirks.accecn_option,
            checks_path: settings.quirks.ecn_fallback,
            timestamps: settings.timestamps,
            syn_received: syn.ecn,
            syn_ack_sent,
            ce: 0,
            pending_ce: 0,
            bytes: [0; 3],
            last_ecn: syn.ecn,
            required_counters: 0,
            feedback: ReportedMarkCounters::default(),
            withholds_ect: false,
            option_is_dropped: false,
            last_option_with_dsack: false,
            last_dsack: None,
            demanded_options: 0,
            last_option_at: None,
            handshake_rtt: None,
            is_open: false,
            syn_ack_retransmissions: 0,
            syn_ack_timeouts: 0,
        }
    }

    /// Receiver of the other direction of an open connection; `ce` packets with CE have reached its host, and `rtt` is that of the handshake.
    pub fn for_reverse_direction(settings: &TcpSettings, ce: u64, uses_option: bool, rtt: Option<Span>) -> AccurateReceiver {
        let seen = if uses_option { OptionSeen::Counters } else { OptionSeen::None };
        let ect = settings.ect_codepoint.ecn();
        AccurateReceiver {
            ce,
            feedback: ReportedMarkCounters::new(0, seen, 0),
            demanded_options: OPTIONS_AFTER_BYTES,
            handshake_rtt: rtt.map(Span::micros),
            is_open: true,
            ..AccurateReceiver::new(settings, &Segment { ecn: ect, ..Segment::plain(0, 0) }, ect)
        }
    }

    /// Packets received with CE.
    pub fn received_ce_packets(&self) -> u64 {
        self.ce
    }

    /// Packets with CE that the peer has reported, of the ACKs.
    pub fn ce_reported_by_peer(&self) -> u64 {
        self.feedback.ce()
    }

    /// Bytes received with ECT(1), CE and ECT(0).
    pub fn received_bytes(&self) -> [u64; 3] {
        self.bytes
    }

    pub fn uses_option(&self) -> bool {
        let is_allowed = match self.option_use {
            AccEcnOptionUse::Off => false,
            AccEcnOptionUse::Minimum | AccEcnOptionUse::Full => !self.option_is_dropped,
            AccEcnOptionUse::Always => true,
        };
        is_allowed && self.feedback.option_seen() != OptionSeen::None
    }

    /// Sets the RTT of the handshake, by which minimal use repeats the option.
    pub fn set_handshake_rtt(&mut self, rtt: Span) {
        self.handshake_rtt = Some(rtt.micros());
    }

    /// Whether an ACK that is sent now has the option, if the hosts use it.
    fn is_option_due(&self, now_micros: u64) -> bool {
        if self.option_use != AccEcnOptionUse::Minimum || self.demanded_options > 0 {
            return true;
        }
        let (Some(rtt), Some(last)) = (self.handshake_rtt, self.last_option_at) else { return true };
        now_micros.saturating_sub(last) * OPTIONS_PER_RTT >= rtt
    }

    /// Demands the option after a packet with CE or a changed codepoint.
    fn demand_options_after(&mut self, changes: bool, is_marked: bool) {
        if changes || is_marked {
            self.demanded_options = OPTIONS_AFTER_CHANGE;
        }
    }

    /// Whether the path changes the ECN field, so that packets of the host are not ECN-capable.
    pub fn withholds_ect(&self) -> bool {
        self.withholds_ect
    }

    /// Sends the option no more.
    pub fn stop_option(&mut self) {
        self.option_use = AccEcnOptionUse::Off;
    }

    /// Takes note of an option on any packet of the peer.
    pub fn see_option(&mut self, option: &AccEcnOption) {
        self.feedback.see_option(option);
    }

    /// Codepoint of the host's packets.
    pub fn codepoint(&self, ect: Ecn) -> Ecn {
        if self.withholds_ect { Ecn::NotEct } else { ect }
    }

    /// Processes a SYN that arrives again.
    pub fn on_repeated_syn(&mut self, syn: &Segment) {
        self.syn_received = syn.ecn;
        self.syn_ack_retransmissions += 1;
        // RFC 9768, section 3.1.4: such a server must not set ECT.
        self.withholds_ect |= syn.ace() == 0 || self.syn_ack_retransmissions > 1;
    }

    /// Records that the timer sends the SYN-ACK again.
    pub fn record_syn_ack_timeout(&mut self) {
        self.syn_ack_timeouts += 1;
        self.syn_ack_retransmissions += 1;
        // RFC 9768, section 3.1.4: such a server must not set ECT.
        self.withholds_ect |= self.syn_ack_retransmissions > 1;
    }

    /// Sets ACE and the option of a SYN-ACK. The first one has the option; from the second timeout on it agrees to no ECN.
    pub fn complete_syn_ack(&self, ack: &mut Ack) {
        //= RFC 9768, section 3.1.1: the SYN-ACK reflects the SYN
        let gives_up = self.syn_ack_timeouts > SYN_ACK_RETRANSMISSIONS_WITH_ACE;
        ack.set_ace(if gives_up { 0 } else { accurate::reflect(self.syn_received) });
        if self.option_use != AccEcnOptionUse::Off && self.syn_ack_retransmissions == 0 {
            ack.accecn = AccEcnOption::new(INITIAL_BYTES.map(Some));
            ack.size += AccEcnOption::bytes_with(3).next_multiple_of(4);
        }
    }

    /// Reads the third ACK, or what arrived in its place (section 3.2.2.1).
    fn on_first_segment(&mut self, segment: &Segment) {
        let ace = segment.ace();
        if ace == 0 {
            //= RFC 9768, section 3.2.2.4: after an ACE of zero nothing is capable
            self.withholds_ect = true;
            return;
        }
        let Some(got) = accurate::reflected(ace).filter(|_| segment.segment_type == SegmentType::PureAck) else { return };
        if self.checks_path && !accurate::is_valid_transition(self.syn_ack_sent, got) {
            self.withholds_ect = true;
        } else if got == Ecn::Ce {
            self.feedback.count_syn_ack_mark();
        }
    }

    /// Counts the ECN field of an acceptable packet with so many bytes of data. Returns whether the packet must be acknowledged at once;
    /// `is_newer` is whether its timestamp is later than all before.
    pub fn on_segment(&mut self, segment: &Segment, payload: u32, is_newer: bool) -> bool {
        let opens = !std::mem::replace(&mut self.is_open, true);
        if opens {
            self.demanded_options = OPTIONS_AFTER_BYTES;
            self.on_first_segment(segment);
        }
        if segment.accecn_option {
            self.feedback.see_option(&AccEcnOption::new(INITIAL_BYTES.map(Some)));
        }
        let is_marked = segment.ecn == Ecn::Ce;
        self.ce += u64::from(is_marked);
        self.pending_ce += u64::from(is_marked);
        if let Some(counter) = accurate::counter_of(segment.ecn).filter(|_| payload > 0) {
            let before = self.bytes[counter];
            self.bytes[counter] += u64::from(payload);
            if (before ^ self.bytes[counter]) >> LOG2_BYTES_WITHOUT_OPTION != 0 {
                self.demanded_options = self.demanded_options.max(OPTIONS_AFTER_BYTES);
            }
            self.required_counters = self.required_counters.max(counter as u32 + 1);
        }
        let changes = self.last_ecn != segment.ecn;
        self.demand_options_after(changes, is_marked);
        let was_marked = std::mem::replace(&mut self.last_ecn, segment.ecn) == Ecn::Ce;
        let must_ack = match self.rules {
            //= RFC 9768, section 3.2.2.5.1: a mark after none is acknowledged at once
            AccEcnRules::Rfc9768 => is_marked && payload > 0 && (!was_marked || self.pending_ce >= MAX_PENDING_MARKS),
            AccEcnRules::Linux => {
                let is_read = is_newer && segment.accecn_option;
                changes || is_read && self.pending_ce >= MAX_PENDING_MARKS_LINUX
            }
        };
        if !opens && is_newer {
            self.feedback.count_marks_without_ack(segment.ace());
        }
        must_ack
    }

    /// Counts the ECN field of a packet without data of the other direction. Returns whether the next data must be acknowledged at once.
    pub fn on_ack_ecn(&mut self, ecn: Ecn) -> bool {
        self.ce += u64::from(ecn == Ecn::Ce);
        self.pending_ce += u64::from(ecn == Ecn::Ce);
        let changes = std::mem::replace(&mut self.last_ecn, ecn) != ecn;
        self.demand_options_after(changes, ecn == Ecn::Ce);
        changes && self.rules == AccEcnRules::Linux
    }

    /// A segment with this number has arrived twice, and the next ACK reports it by DSACK. If the last one did with the option, the option
    /// is taken to be why it was lost (Linux).
    pub fn detect_option_drop(&mut self, seq: u64) {
        self.option_is_dropped |= self.rules == AccEcnRules::Linux && self.last_option_with_dsack && self.last_dsack == Some(seq);
        self.last_dsack = Some(seq);
    }

    /// Sets ACE and the option of an ACK that is sent now, and its size. Of three SACK blocks the last may have to go.
    pub fn complete_ack(&mut self, ack: &mut Ack, base_size: u32, has_dsack: bool, now_micros: u64) {
        ack.set_ace(accurate::ace_from_ce_packets(self.ce));
        self.pending_ce = 0;
        let used = if self.timestamps { TIMESTAMPS_BYTES } else { 0 };
        let mut blocks = ack.sacks.as_slice().len();
        let has_option = self.uses_option() && self.is_option_due(now_micros);
        let counters = if has_option { fitting_counters(used, &mut blocks, self.required_counters) } else { None };
        ack.sacks.truncate(blocks);
        let sack_bytes = sack_option_bytes(blocks);
        let option_bytes = counters.map_or(0, |count| padded_accecn_option_bytes(count, blocks));
        ack.size = base_size + sack_bytes + option_bytes;
        if let Some(count) = counters {
            let bytes = std::array::from_fn(|at| {
                let value = (self.bytes[at] + u64::from(INITIAL_BYTES[at])) as u32 & AccEcnOption::COUNTER_MASK;
                (at < count as usize).then_some(value)
            });
            ack.accecn = AccEcnOption::new(bytes);
            self.required_counters = 0;
            self.demanded_options = self.demanded_options.saturating_sub(1);
            self.last_option_at = Some(now_micros);
        }
        self.last_option_with_dsack = counters.is_some() && has_dsack;
    }
}

fn sack_option_bytes(blocks: usize) -> u32 {
    if blocks == 0 { 0 } else { SACK_BASE_BYTES + SACK_BLOCK_BYTES * blocks as u32 }
}

/// Bytes of an option with so many counters beside SACK blocks, whose padding it may use.
fn padded_accecn_option_bytes(counters: u32, blocks: usize) -> u32 {
    let bytes = AccEcnOption::bytes_with(counters);
    let spare = if blocks > 0 { SACK_PADDING_BYTES } else { 0 };
    if bytes % 4 <= spare { bytes - bytes % 4 } else { bytes.next_multiple_of(4) }
}

/// The number of counters that fit, at least those that are `required`; a third SACK block makes room for them (section 3.2.3.3).
fn fitting_counters(used: u32, blocks: &mut usize, required: u32) -> Option<u32> {
    let room = |blocks: usize| MAX_OPTION_BYTES.saturating_sub(used + sack_option_bytes(blocks));
    let fits = |blocks: usize| (required..=3).rev().find(|&count| padded_accecn_option_bytes(count, blocks) <= room(blocks));
    // RFC 9768, section 3.2.3.3: the first two SACK blocks go before the option.
    let least = if required > 0 { MIN_SACK_BLOCKS.min(*blocks) } else { *blocks };
    let (kept, count) = (least..=*blocks).rev().find_map(|kept| fits(kept).map(|count| (kept, count)))?;
    *blocks = kept;
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(used: u32, blocks: usize, required: u32) -> (usize, Option<u32>) {
        let mut kept = blocks;
        let count = fitting_counters(used, &mut kept, required);
        (kept, count)
    }

    #[test]
    fn the_option_has_all_counters_where_there_is_room() {
        assert_eq!([(0, Some(3)), (1, Some(3)), (2, Some(2))], [0, 1, 2].map(|blocks| counters(12, blocks, 1)));
    }

    #[test]
    fn a_third_block_makes_room_for_counters_that_changed_and_for_no_others() {
        assert_eq!([(2, Some(2)), (3, Some(0))], [1, 0].map(|required| counters(12, 3, required)));
        assert_eq!((3, Some(3)), counters(0, 3, 3), "without timestamps all fit");
        assert_eq!([(4, Some(1)), (3, Some(3))], [1, 2].map(|required| counters(0, 4, required)), "beside four blocks one counter fits");
    }

    #[test]
    fn counters_that_changed_do_not_displace_the_first_two_blocks() {
        assert_eq!((2, None), counters(12, 2, 3));
    }

    const RTT: Span = Span::from_millis(30);
    const PAYLOAD: u32 = 1448;

    /// An open receiver with minimal use of the option, whose ACK at 0 ms had it, and nothing demanded since.
    fn receiver_with_minimal_use() -> AccurateReceiver {
        let mut settings = crate::profile::tcp_settings_of("linux-7.2");
        settings.quirks.accecn_option = AccEcnOptionUse::Minimum;
        let mut receiver = AccurateReceiver::new(&settings, &Segment { ecn: Ecn::Ect0, ..Segment::plain(0, 0) }, Ecn::NotEct);
        receiver.set_handshake_rtt(RTT);
        let third = Segment { segment_type: SegmentType::PureAck, ecn: Ecn::Ect0, accecn_option: true, ..Segment::plain(1, 52) };
        receiver.on_segment(&third, 0, true);
        assert!(ack_has_option(&mut receiver, 0), "one after the opening");
        receiver
    }

    fn arrive(receiver: &mut AccurateReceiver, ecn: Ecn, count: u32) {
        for _ in 0..count {
            receiver.on_segment(&Segment { ecn, ..Segment::plain(2, 1500) }, PAYLOAD, true);
        }
    }

    fn ack_has_option(receiver: &mut AccurateReceiver, now_ms: u64) -> bool {
        let mut ack = Ack::plain(3, 52);
        receiver.complete_ack(&mut ack, 52, false, now_ms * 1000);
        assert_eq!(if ack.accecn.is_present() { 64 } else { 52 }, ack.size);
        ack.accecn.is_present()
    }

    #[test]
    fn minimal_use_sends_the_option_three_times_in_a_round_trip() {
        let mut receiver = receiver_with_minimal_use();
        let sent: Vec<u64> = (1..=40).filter(|&now| ack_has_option(&mut receiver, now)).collect();
        assert_eq!(vec![10, 20, 30, 40], sent);
    }

    #[test]
    fn minimal_use_sends_the_option_twice_after_a_mark_and_after_a_change_of_the_codepoint() {
        let mut receiver = receiver_with_minimal_use();
        let mut after = |ecn| {
            arrive(&mut receiver, ecn, 1);
            [1, 1, 1].map(|now| ack_has_option(&mut receiver, now))
        };
        let twice = [true, true, false];
        assert_eq!([[false; 3], twice, twice, twice, [false; 3]], [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ect0].map(&mut after));
    }

    #[test]
    fn minimal_use_sends_the_option_after_four_megabytes_of_a_codepoint() {
        let mut receiver = receiver_with_minimal_use();
        let until = (1 << LOG2_BYTES_WITHOUT_OPTION) / PAYLOAD;
        arrive(&mut receiver, Ecn::Ect0, until);
        assert!(!ack_has_option(&mut receiver, 1));
        arrive(&mut receiver, Ecn::Ect0, 1);
        assert_eq!([true, false], [1, 1].map(|now| ack_has_option(&mut receiver, now)));
    }

    #[test]
    fn minimal_use_without_an_rtt_sends_the_option_always() {
        let mut receiver = receiver_with_minimal_use();
        receiver.handshake_rtt = None;
        assert!(ack_has_option(&mut receiver, 0));
    }
}
