//! Accurate ECN (RFC 9768): the encodings of the ACE field and of the option, and what a sender reads from them.
//!
//! ```text
//! SYN       (AE, CWR, ECE) = 111 asks for Accurate ECN, 011 for classic ECN, 000 for neither
//! SYN-ACK   reflects the ECN field of the SYN:   010 Not-ECT   011 ECT(1)   100 ECT(0)   110 CE
//!           001 agrees to classic ECN alone, 000 and 111 to no ECN
//! 3rd ACK   reflects the ECN field of the SYN-ACK in the same way
//! others    ACE = (5 + packets received with CE) mod 8, in AE, CWR and ECE
//! option    bytes received with ECT(1), CE and ECT(0); the counters begin at 1, 0 and 1
//! ```
//!
//! ACE counts packets, data or not, and wraps at 8. If an ACK newly acknowledges more than 7 packets, the marks may have wrapped once more:
//! the *safe* delta assumes the most of them, unless the option says otherwise.
//!
//! The numbers and rules are those of sections 3.1 to 3.3 and appendix A.2 of the RFC, as its last drafts and Linux 7.2 have them
//! (include/net/tcp_ecn.h, __tcp_accecn_process, tcp_accecn_process_option).

use ecnlab_units::Ecn;

use crate::segment::AccEcnOption;

/// Initial value of the packet counter (section 3.2.1).
const INITIAL_CEP: u64 = 5;
/// Initial values of the byte counters of ECT(1), CE and ECT(0): not zero where a middlebox that clears options would show.
pub const INITIAL_BYTES: [u32; 3] = [1, 0, 1];
/// Positions of the counters.
pub const ECT1: usize = 0;
pub const CE: usize = 1;
pub const ECT0: usize = 2;

/// Values of ACE, and most newly delivered packets with which it is unambiguous.
const ACE_VALUES: u64 = 8;
const MAX_UNAMBIGUOUS_DELIVERED: u64 = 7;

/// Most bytes that may be sent before the first option: a counter of 24 bits could have wrapped after them (Linux).
const MAX_BYTES_BEFORE_OPTION: u64 = (1 << 23) - 1;

/// Fraction bits and weight of the mean number of packets per ACK (Linux PKTS_ACKED_PREC, PKTS_ACKED_WEIGHT), and the mean above which the
/// path is taken to thin or merge ACKs (ACK_COMP_THRESH).
const EWMA_FRACTION_BITS: u32 = 6;
const PKTS_ACKED_WEIGHT: u32 = 6;
const MERGED_ACK_PACKETS: u32 = 4;

/// ACE of a receiver that got so many packets with CE.
pub fn ace_from_ce_packets(received_ce: u64) -> u8 {
    //= RFC 9768, section 3.2.1: ACE begins at five
    ((received_ce + INITIAL_CEP) % ACE_VALUES) as u8
}

/// Packets newly marked by ACE, modulo 8.
pub fn ace_delta(ace: u8, known_ce: u64) -> u64 {
    (u64::from(ace) + ACE_VALUES - (known_ce + INITIAL_CEP) % ACE_VALUES) % ACE_VALUES
}

/// Whether a SYN with this ACE field asks for Accurate ECN: all values but that of no ECN and that of classic ECN (section 3.1.2).
pub fn asks_for_accurate(ace: u8) -> bool {
    !matches!(ace, 0b000 | 0b011)
}

/// ACE field of a SYN-ACK that agrees to classic ECN alone.
pub const SYN_ACK_ACE_CLASSIC: u8 = 0b001;

/// Whether a SYN-ACK with this ACE field agrees to Accurate ECN. 101 is reserved and does too; 111 comes from a host that reflects bits.
pub fn agrees_to_accurate(ace: u8) -> bool {
    !matches!(ace, 0b000 | SYN_ACK_ACE_CLASSIC | 0b111)
}

/// ACE field of a SYN-ACK or third ACK that reflects an ECN field.
pub fn reflect(received: Ecn) -> u8 {
    match received {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// ECN field that an ACE field reflects; `None` where none is defined.
pub fn reflected(ace: u8) -> Option<Ecn> {
    match ace {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Whether a path may change an ECN field in this way (section 3.2.2.3): CE may be set, ECT(0) and ECT(1) may be exchanged.
pub fn is_valid_transition(sent: Ecn, received: Ecn) -> bool {
    sent == received || sent != Ecn::NotEct && received != Ecn::NotEct && sent != Ecn::Ce
}

/// Position of a codepoint's byte counter.
pub fn counter_of(ecn: Ecn) -> Option<usize> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(ECT1),
        Ecn::Ce => Some(CE),
        Ecn::Ect0 => Some(ECT0),
    }
}

/// What is known of the peer's use of the option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OptionSeen {
    #[default]
    None,
    /// An option without counters.
    Empty,
    Counters,
    /// A counter is zero that cannot be: the path clears options.
    Cleared,
}

impl OptionSeen {
    /// What a first option shows: its first counter, and its last if it has all three, cannot be zero.
    pub fn of(option: &AccEcnOption) -> OptionSeen {
        match option.counters() {
            [Some(0), ..] | [.., Some(0)] => OptionSeen::Cleared,
            [None, None, None] => OptionSeen::Empty,
            _ => OptionSeen::Counters,
        }
    }

    /// Takes the first option with counters.
    pub fn update(&mut self, option: &AccEcnOption) {
        if option.is_present() && *self < OptionSeen::Counters {
            *self = OptionSeen::of(option);
        }
    }
}

/// An ACK as the sender's counters need it.
#[derive(Clone, Copy, Debug)]
pub struct AccurateEcnAck {
    pub ace: u8,
    pub option: AccEcnOption,
    /// Packets and bytes that the ACK newly acknowledges or sacks.
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Bytes of a full packet.
    pub mss: u64,
    /// Bytes sent so far.
    pub sent_bytes: u64,
    /// SACK is in use, or no loss is being repaired: the number of delivered packets is reliable.
    pub is_delivery_known: bool,
    /// A path that usually merges ACKs is not taken to have lost marked ones (Linux).
    pub expects_merged_acks: bool,
    /// The ACK of the SYN, on which ACE has another meaning.
    pub acks_syn: bool,
}

/// A sender's counters of the marks that the peer has reported (s.cep, s.ceb, s.e0b, s.e1b).
#[derive(Clone, Debug, Default)]
pub struct ReportedMarkCounters {
    /// Packets with CE.
    ce: u64,
    /// Bytes by codepoint, as the option or an estimate has them.
    bytes: [u64; 3],
    /// The only counter that grows, which is taken to grow while an ACK has no option.
    growing: Option<usize>,
    option_seen: OptionSeen,
    /// Mean packets per ACK, in 1/64.
    mean_acked: u32,
    /// Latest timestamp of an ACK.
    newest_tsval: u32,
}

impl ReportedMarkCounters {
    /// With so many packets with CE known already, and the latest timestamp of the peer.
    pub fn new(ce: u64, option_seen: OptionSeen, newest_tsval: u32) -> ReportedMarkCounters {
        ReportedMarkCounters { ce, option_seen, newest_tsval, ..ReportedMarkCounters::default() }
    }

    /// Packets with CE that the peer has reported.
    pub fn ce(&self) -> u64 {
        self.ce
    }

    /// Bytes with ECT(1), CE and ECT(0) that the peer has reported.
    pub fn bytes(&self) -> [u64; 3] {
        self.bytes
    }

    pub fn option_seen(&self) -> OptionSeen {
        self.option_seen
    }

    pub fn see_option(&mut self, option: &AccEcnOption) {
        self.option_seen.update(option);
    }

    /// Counts a mark on the SYN-ACK, which the third ACK reports.
    pub fn count_syn_ack_mark(&mut self) {
        self.ce = self.ce.max(1);
    }

    /// Counts the marks that a packet of the peer reports which acknowledges nothing.
    pub fn count_marks_without_ack(&mut self, ace: u8) {
        self.ce += ace_delta(ace, self.ce);
    }

    /// Whether an ACK is the newest: one that is reordered has an old ACE (section 3.2.2.5.2). `delivers`: it acknowledges or sacks new data.
    pub fn is_newest(&mut self, tsval: u32, delivers: bool) -> bool {
        let later = tsval > self.newest_tsval;
        self.newest_tsval = self.newest_tsval.max(tsval);
        delivers || later
    }

    /// Packets that an ACK newly reports as marked; the counters then include them.
    pub fn on_ack(&mut self, ack: &AccurateEcnAck) -> u64 {
        let ceb_before = self.bytes[CE];
        let option_is_valid = self.on_option(ack);
        self.update_mean(ack.delivered);
        if ack.acks_syn {
            return 0;
        }
        //= RFC 9768, section 3.2.2.5.2: the sender counts every mark
        let delta = ace_delta(ack.ace, self.ce);
        let marked = match ack.delivered {
            ..=MAX_UNAMBIGUOUS_DELIVERED => delta,
            _ => self.resolve(delta, self.bytes[CE].saturating_sub(ceb_before), option_is_valid, ack),
        };
        self.ce += marked;
        marked
    }

    /// Marks of an ACK for more than 7 packets, of which ACE has the last three bits. `ceb` is the growth of the counter of marked bytes.
    fn resolve(&self, delta: u64, ceb: u64, option_is_valid: bool, ack: &AccurateEcnAck) -> u64 {
        //= RFC 9768, appendix A.2: after lost ACKs no mark is missing
        let safe = ack.delivered - (ack.delivered - delta) % ACE_VALUES;
        if !option_is_valid {
            let merges = ack.expects_merged_acks && self.mean_acked > MERGED_ACK_PACKETS << EWMA_FRACTION_BITS;
            return if merges { delta } else { safe };
        }
        if ceb == 0 {
            return delta;
        }
        if ack.delivered >= 2 * ACE_VALUES && ack.is_delivery_known {
            if ack.delivered_bytes <= ceb {
                return safe;
            }
            let estimate = (ceb * ack.delivered).div_ceil(ack.delivered_bytes);
            return safe.min(delta + estimate / ACE_VALUES * ACE_VALUES);
        }
        match () {
            () if ceb > delta * ack.mss => safe,
            () if ceb < safe * ack.mss / 2 => delta,
            () => safe,
        }
    }

    /// Takes the counters of the option, or the estimate without one; returns whether the growth of the counters is known.
    fn on_option(&mut self, ack: &AccurateEcnAck) -> bool {
        if self.option_seen == OptionSeen::Cleared {
            return false;
        }
        if !ack.option.is_present() {
            if self.option_seen == OptionSeen::None && ack.sent_bytes >= MAX_BYTES_BEFORE_OPTION {
                self.option_seen = OptionSeen::Cleared;
            }
            let growing = self.growing.filter(|_| self.option_seen > OptionSeen::None);
            if let Some(at) = growing {
                self.bytes[at] += ack.delivered_bytes;
            }
            return growing.is_some();
        }
        self.option_seen.update(&ack.option);
        let before = self.growing;
        let (mut is_valid, mut is_ambiguous, mut changed) = (before.is_some(), false, false);
        for (at, counter) in ack.option.counters().into_iter().enumerate() {
            let Some(counter) = counter else { continue };
            let delta = self.growth(at, counter);
            self.bytes[at] = self.bytes[at].saturating_add_signed(delta);
            is_ambiguous |= delta < 0;
            if delta != 0 && before != Some(at) {
                is_ambiguous |= changed;
                if !std::mem::replace(&mut changed, true) {
                    self.growing = Some(at);
                }
            }
        }
        if is_ambiguous {
            (is_valid, self.growing) = (false, None);
        }
        is_valid
    }

    /// Growth of a counter of 24 bits, negative if it fell.
    fn growth(&self, at: usize, counter: u32) -> i64 {
        let known = (self.bytes[at] as u32).wrapping_add(INITIAL_BYTES[at]);
        let delta = counter.wrapping_sub(known) & AccEcnOption::COUNTER_MASK;
        i64::from(delta) - if delta > AccEcnOption::COUNTER_MASK / 2 { i64::from(AccEcnOption::COUNTER_MASK) + 1 } else { 0 }
    }

    fn update_mean(&mut self, delivered: u64) {
        if delivered == 0 {
            return;
        }
        let now = (delivered as u32) << EWMA_FRACTION_BITS;
        let mean = match self.mean_acked {
            0 => now,
            mean => ((mean << PKTS_ACKED_WEIGHT) - mean + now) >> PKTS_ACKED_WEIGHT,
        };
        self.mean_acked = mean.min(u32::from(u16::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(ace_value: u64, delivered: u64, ceb: Option<u32>) -> AccurateEcnAck {
        let option = ceb.map_or(AccEcnOption::default(), |ceb| AccEcnOption::new([Some(1), Some(ceb), Some(1 + delivered as u32 * 1000)]));
        AccurateEcnAck {
            ace: (ace_value % 8) as u8,
            option,
            delivered,
            delivered_bytes: delivered * 1000,
            mss: 1000,
            sent_bytes: 0,
            is_delivery_known: true,
            expects_merged_acks: false,
            acks_syn: false,
        }
    }

    #[test]
    fn ace_counts_up_to_seven_new_marks_exactly() {
        let mut feedback = ReportedMarkCounters::default();
        for marks in 0..=7 {
            assert_eq!(marks, feedback.on_ack(&ack(5 + feedback.ce() + marks, 7, None)), "{marks}");
        }
        assert_eq!(28, feedback.ce());
    }

    #[test]
    fn of_more_than_seven_packets_as_many_as_ace_allows_count_as_marked() {
        let marks = |delivered, delta: u64| ReportedMarkCounters::default().on_ack(&ack(5 + delta, delivered, None));
        assert_eq!([8, 1, 9, 16, 10], [marks(8, 0), marks(8, 1), marks(9, 1), marks(23, 0), marks(12, 2)]);
    }

    #[test]
    fn an_option_without_marked_bytes_shows_that_ace_has_not_wrapped() {
        let mut feedback = ReportedMarkCounters::default();
        assert_eq!(0, feedback.on_ack(&ack(5, 2, Some(0))), "teaches which counter grows");
        let mut next = ack(5, 9, None);
        next.option = AccEcnOption::new([Some(1), Some(0), Some(1 + 11_000)]);
        assert_eq!(0, feedback.on_ack(&next));
        next.option = AccEcnOption::default();
        assert_eq!(0, feedback.on_ack(&next), "without an option the bytes are taken to have the codepoint of before");
    }

    #[test]
    fn a_path_that_merges_acks_is_not_taken_to_have_lost_marks() {
        let marks = |expects_merged_acks| {
            let mut feedback = ReportedMarkCounters::default();
            feedback.on_ack(&ack(5, 7, None));
            feedback.on_ack(&AccurateEcnAck { expects_merged_acks, ..ack(5 + 1, 9, None) })
        };
        assert_eq!([9, 1], [marks(false), marks(true)]);
    }

    #[test]
    fn a_counter_of_24_bits_wraps() {
        let mut feedback = ReportedMarkCounters { bytes: [0, 0, 0xFF_FFF0], ..ReportedMarkCounters::default() };
        let mut one = ack(5, 1, None);
        one.option = AccEcnOption::new([Some(1), Some(0), Some(0x10)]);
        feedback.on_ack(&one);
        assert_eq!([0, 0, 0x100_000F], feedback.bytes());
    }

    #[test]
    fn an_option_that_the_path_has_cleared_is_ignored() {
        let mut feedback = ReportedMarkCounters::default();
        let mut one = ack(5, 1, None);
        one.option = AccEcnOption::new([Some(0), Some(0), Some(0)]);
        feedback.on_ack(&one);
        assert_eq!((OptionSeen::Cleared, [0; 3]), (feedback.option_seen(), feedback.bytes()));
    }

    #[test]
    fn a_reordered_ack_is_recognized_by_its_timestamp() {
        let mut feedback = ReportedMarkCounters::default();
        assert_eq!([true, false, true, true], [(5, false), (5, false), (3, true), (6, false)].map(|(at, new)| feedback.is_newest(at, new)));
    }

    #[test]
    fn a_path_may_set_ce_and_not_clear_a_codepoint() {
        let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let valid: Vec<_> = all.iter().flat_map(|&sent| all.map(|got| (sent, got))).filter(|&(a, b)| is_valid_transition(a, b)).collect();
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        let expected = vec![(NotEct, NotEct), (Ect0, Ect0), (Ect0, Ect1), (Ect0, Ce), (Ect1, Ect0), (Ect1, Ect1), (Ect1, Ce), (Ce, Ce)];
        assert_eq!(expected, valid);
    }
}
