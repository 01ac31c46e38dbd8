//! Accurate ECN at the sender: its side of the negotiation, the marks that ACKs report, and the ACE field and the option of its own packets
//! (RFC 9768, sections 3.1 and 3.2).
//!
//! ```text
//! SYN              111; the first retransmission too, later ones 000
//! SYN-ACK          see `EcnState::on_syn_ack`; without the option no host uses it
//! third ACK        reflects the ECN field of the SYN-ACK
//! later packets    ACE counts the marks on packets without data that came from the peer; those on data are the receiver's
//! ```
//!
//! A control reads the marks of the current ACK by [`Tcb::newly_delivered_and_marked`], and in [`crate::congestion::AckSample`].

use ecnlab_units::{Ecn, RangeSet};

use super::Tcb;
use crate::accurate_ecn::{self as accurate, AccurateEcnAck, OptionSeen, ReportedMarkCounters};
use crate::application::AppWrite;
use crate::segment::{Ack, Segment};
use crate::send_buffer::SendBuffer;
use crate::settings::{AccEcnOptionUse, AccEcnRules, PADDED_ACCECN_OPTION_BYTES, TcpSettings};

/// Retransmissions of the SYN that still offer Accurate ECN (section 3.1.4).
const SYN_RETRANSMISSIONS_WITH_OFFER: u64 = 1;

/// State of a sender with Accurate ECN.
#[derive(Debug)]
pub struct AccurateSender {
    feedback: ReportedMarkCounters,
    /// Packets without data that came with CE.
    received_ce: u64,
    /// Packets that the current ACK newly delivers and reports as marked.
    newly_delivered: u64,
    newly_marked: u64,
    /// For recoveries that keep no number of delivered segments: those that are sacked, and the duplicate ACKs since the last ACK of data.
    sacked: RangeSet,
    duplicates: u64,
    /// What the application wrote before the SYN-ACK.
    early_writes: Vec<AppWrite>,
    uses_option: bool,
    /// The peer began to send the option after data was divided into segments without it: only packets with room carry it.
    sees_option_late: bool,
    option_use: AccEcnOptionUse,
    rules: AccEcnRules,
}

/// What the direction that opened a connection has learnt, for the other direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReverseAccurateStart {
    /// Packets with CE that the peer has reported to the host that now sends.
    pub reported_ce: u64,
    /// Packets with CE that reached the host that now receives.
    pub received_ce: u64,
    /// Both hosts use the option.
    pub uses_option: bool,
    /// Latest timestamp of the peer, as in [`Ack::tsval_ms`].
    pub newest_tsval: u32,
    /// The path was found to change the ECN field of the host that now sends.
    pub withholds_ect: bool,
}

impl AccurateSender {
    pub fn for_settings(settings: &TcpSettings) -> Option<Box<AccurateSender>> {
        settings.wants_accurate_ecn().then(|| {
            let option_use = settings.quirks.accecn_option;
            // Until the SYN-ACK data is laid out as for packets with the option.
            Box::new(AccurateSender {
                feedback: ReportedMarkCounters::default(),
                received_ce: 0,
                newly_delivered: 0,
                newly_marked: 0,
                sacked: RangeSet::default(),
                duplicates: 0,
                early_writes: Vec::new(),
                uses_option: option_use != AccEcnOptionUse::Off,
                sees_option_late: false,
                option_use,
                rules: settings.quirks.accecn_rules,
            })
        })
    }

    /// Whether the host may send options.
    fn sends_options(&self) -> bool {
        self.option_use != AccEcnOptionUse::Off
    }

    /// Whether every packet of the sender carries the option.
    fn has_option_on_every_packet(&self) -> bool {
        self.uses_option && self.option_use != AccEcnOptionUse::Minimum
    }

    /// Takes note of an option on an ACK, if the peer had none on the SYN-ACK.
    fn see_late_option(&mut self) {
        match self.option_use {
            AccEcnOptionUse::Off => {}
            AccEcnOptionUse::Minimum => self.uses_option = true,
            AccEcnOptionUse::Full | AccEcnOptionUse::Always => self.sees_option_late |= !self.uses_option,
        }
    }

    /// Segments that an ACK delivers, for recoveries that do not count them. A duplicate ACK counts as one.
    fn count_delivered(&mut self, ack: &Ack, snd_una: u64, uses_sack: bool) -> u64 {
        let newly = ack.next.saturating_sub(snd_una);
        if !uses_sack {
            if newly == 0 {
                self.duplicates += 1;
                return 1;
            }
            return newly - std::mem::take(&mut self.duplicates).min(newly - 1);
        }
        let before = self.sacked.count();
        for &(from, to) in ack.sacks.as_slice().iter().filter(|&&(_, to)| to > snd_una) {
            self.sacked.insert(from.max(snd_una), to);
        }
        let sacked = self.sacked.count() - before;
        let known = self.sacked.count();
        self.sacked.remove_below(ack.next);
        newly + sacked - (known - self.sacked.count())
    }
}

impl Tcb {
    /// Whether Accurate ECN was negotiated.
    pub fn uses_accurate_ecn(&self) -> bool {
        self.ecn.in_use() && self.ecn.is_accurate()
    }

    /// Packets that the current ACK newly delivers, and those of them or of the packets without data that it newly reports as marked. Zero
    /// without Accurate ECN.
    pub fn newly_delivered_and_marked(&self) -> (u64, u64) {
        self.accurate.as_ref().map_or((0, 0), |accurate| (accurate.newly_delivered, accurate.newly_marked))
    }

    /// Packets with CE that the peer has reported.
    pub fn reported_ce(&self) -> u64 {
        self.accurate.as_ref().map_or(0, |accurate| accurate.feedback.ce())
    }

    /// Packets without data that came with CE.
    pub fn received_ce_acks(&self) -> u64 {
        self.accurate.as_ref().map_or(0, |accurate| accurate.received_ce)
    }

    /// Bytes with ECT(1), CE and ECT(0) that the peer has reported.
    pub fn reported_bytes(&self) -> [u64; 3] {
        self.accurate.as_ref().map_or([0; 3], |accurate| accurate.feedback.bytes())
    }

    /// Whether both hosts use the Accurate ECN option.
    pub fn uses_accecn_option(&self) -> bool {
        self.accurate.as_ref().is_some_and(|accurate| accurate.uses_option)
    }

    /// Bytes of the option on each packet of the sender.
    pub(super) fn accecn_option_bytes(&self) -> u32 {
        if self.accurate.as_ref().is_some_and(|accurate| accurate.has_option_on_every_packet()) { PADDED_ACCECN_OPTION_BYTES } else { 0 }
    }

    /// Takes up the other direction of an open connection.
    pub fn start_reverse_accurate_ecn(&mut self, start: ReverseAccurateStart) {
        if let Some(accurate) = &mut self.accurate {
            let seen = if start.uses_option { OptionSeen::Counters } else { OptionSeen::None };
            accurate.feedback = ReportedMarkCounters::new(start.reported_ce, seen, start.newest_tsval);
            accurate.uses_option &= start.uses_option;
        }
        if self.accurate.is_some() && !start.uses_option {
            self.lay_out_without_option();
        }
        if start.withholds_ect {
            self.ecn.withhold_ect();
        }
    }

    /// Whether a SYN offers Accurate ECN.
    pub(super) fn syn_offers_accurate(&self, retransmission: bool) -> bool {
        let lost = self.counters.retransmitted_timeout;
        let offered = !retransmission || lost < SYN_RETRANSMISSIONS_WITH_OFFER || !self.settings.quirks.ecn_fallback;
        //= RFC 9768, section 3.1.4: the second retransmission offers nothing
        self.ecn.in_use() && self.ecn.is_accurate() && offered
    }

    /// Completes the negotiation by the SYN-ACK.
    pub(super) fn complete_accecn_negotiation(&mut self, ack: &Ack) {
        let Some(sender) = &mut self.accurate else { return };
        if !self.ecn.is_accurate() {
            self.lay_out_without_option();
            self.accurate = None;
            return;
        }
        let syn_sent = if self.settings.uses_ect_on_all_packets() { self.settings.ect_codepoint.ecn() } else { Ecn::NotEct };
        let marked = ack.ecn == Ecn::Ce;
        // RFC 9768, section 3.2.2.3. Linux asks only where the SYN-ACK is marked.
        let asks = self.settings.quirks.ecn_fallback && (marked || sender.rules != AccEcnRules::Linux);
        let is_valid = !asks || accurate::reflected(ack.ace()).is_none_or(|got| accurate::is_valid_transition(syn_sent, got));
        if !is_valid {
            self.ecn.withhold_ect();
        }
        sender.received_ce += u64::from(marked && is_valid);
        sender.feedback.see_option(&ack.accecn);
        sender.uses_option = sender.sends_options() && ack.accecn.is_present();
        if !sender.uses_option {
            self.lay_out_without_option();
        }
    }

    /// Remembers a write before the SYN-ACK.
    pub(super) fn remember_early_write(&mut self, app_write: &AppWrite) {
        if self.snd_una == 0
            && let Some(accurate) = &mut self.accurate
        {
            accurate.early_writes.push(*app_write);
        }
    }

    /// Divides the data into larger segments, since no packet carries the option; nothing but the SYN was sent.
    fn lay_out_without_option(&mut self) {
        let full = self.settings.mss();
        if full == self.send_buffer.full_payload() {
            return;
        }
        let writes = self.accurate.as_mut().map(|accurate| std::mem::take(&mut accurate.early_writes)).unwrap_or_default();
        let window = self.send_buffer.largest_window();
        self.send_buffer = SendBuffer::with_payload(&self.settings, full, &AppWrite::keep_open(0));
        for app_write in &writes {
            self.send_buffer.add_write(app_write, self.snd_max);
        }
        self.send_buffer.on_rwnd(window, self.snd_max);
        self.send_buffer.release_before(self.snd_una);
        self.recompute_rwnd_right_edge();
    }

    /// Marks that an ACK newly reports. `delivered`: segments that it newly acknowledges or sacks; `advances`: it acknowledges or sacks any.
    pub fn read_newly_reported_marks(&mut self, ack: &Ack, delivered: u64, is_delivery_known: bool) -> u64 {
        let payload = u64::from(self.send_buffer.full_payload());
        let sent_bytes = self.snd_max * payload;
        let Some(sender) = &mut self.accurate else { return 0 };
        let linux = sender.rules == AccEcnRules::Linux;
        (sender.newly_delivered, sender.newly_marked) = (delivered, 0);
        if !sender.feedback.is_newest(ack.tsval_ms, delivered > 0) {
            return 0;
        }
        let known_bytes = sender.feedback.bytes()[accurate::CE];
        let marked = sender.feedback.on_ack(&AccurateEcnAck {
            ace: ack.ace(),
            option: ack.accecn,
            delivered,
            delivered_bytes: delivered * payload,
            mss: payload,
            sent_bytes,
            is_delivery_known,
            expects_merged_acks: linux,
            acks_syn: false,
        });
        sender.newly_marked = marked;
        if ack.accecn.is_present() {
            sender.see_late_option();
        }
        // Marked bytes without marked packets (RFC 9768, section 3.2.3.2): the path changes ACE.
        if !linux && marked == 0 && sender.feedback.bytes()[accurate::CE] > known_bytes && ack.accecn.is_present() {
            self.ecn.withhold_ect();
        }
        marked
    }

    /// The same for a recovery that does not count delivered segments.
    pub(super) fn count_delivered_and_read_marks(&mut self, ack: &Ack) -> u64 {
        let (snd_una, uses_sack) = (self.snd_una, self.settings.offers_sack());
        let Some(sender) = &mut self.accurate else { return 0 };
        if ack.next < snd_una {
            (sender.newly_delivered, sender.newly_marked) = (0, 0);
            return 0;
        }
        let delivered = sender.count_delivered(ack, snd_una, uses_sack);
        self.read_newly_reported_marks(ack, delivered, true)
    }

    /// Counts the ECN field of a packet without data from the peer. Marks on data are counted by the host's receiver.
    #[inline]
    pub fn count_ce_on_pure_ack(&mut self, ack: &Ack) {
        if let Some(accurate) = &mut self.accurate {
            accurate.received_ce += u64::from(ack.ecn == Ecn::Ce && !ack.on_data);
        }
    }

    /// Sets the option on the third packet, which carries it in minimal use too (section 3.2.3.3).
    pub(super) fn with_option_on_third_packet(&self, mut ack: Segment) -> Segment {
        if self.uses_accecn_option() && !ack.accecn_option {
            ack.accecn_option = true;
            ack.size += PADDED_ACCECN_OPTION_BYTES;
        }
        ack
    }

    /// Sets ACE and the option on a packet of the sender.
    #[inline(never)]
    pub(super) fn with_accurate_fields(&self, mut segment: Segment) -> Segment {
        if let Some(sender) = self.accurate.as_ref().filter(|_| self.ecn.in_use()) {
            segment.set_ace(accurate::ace_from_ce_packets(sender.received_ce));
            segment.accecn_option = sender.has_option_on_every_packet();
            if sender.sees_option_late && segment.size + PADDED_ACCECN_OPTION_BYTES <= self.settings.packet_size {
                segment.accecn_option = true;
                segment.size += PADDED_ACCECN_OPTION_BYTES;
            }
        }
        segment
    }
}
