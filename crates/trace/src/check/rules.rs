//! Requirements of RFC 3168 on hosts and routers, and of RFC 9768 on hosts, as far as packets show them.

use ecnlab_units::words;

words! {
    /// A rule, or a known departure from one.
    #[derive(PartialOrd, Ord)]
    pub enum Rule {
        EctOnSyn = "ect-on-syn",
        EctOnSynAck = "ect-on-syn-ack",
        HalfOffer = "half-offer",
        AnswerWithoutOffer = "answer-without-offer",
        Reflected = "reflected",
        EctWithoutAgreement = "ect-without-agreement",
        FlagsWithoutAgreement = "flags-without-agreement",
        EctOnAck = "ect-on-ack",
        EctOnRetransmission = "ect-on-retransmission",
        EctOnProbe = "ect-on-probe",
        CwrOnProbe = "cwr-on-probe",
        CwrOnRetransmission = "cwr-on-retransmission",
        CwrWithoutData = "cwr-without-data",
        CwrTwice = "cwr-twice",
        NoCwr = "no-cwr",
        EchoMissing = "echo-missing",
        EchoStopped = "echo-stopped",
        EchoWithoutMark = "echo-without-mark",
        MarkOnNotEct = "mark-on-not-ect",
        Cleared = "cleared",
        Ect1 = "ect-1",
        AccurateEcn = "accurate-ecn",
        OfferInData = "offer-in-data",
        AccurateHandshake = "accecn-handshake",
        AceField = "accecn-ace",
        AccurateOption = "accecn-option",
    }
}

/// Description of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// The section of RFC 3168, or of another RFC with its number.
    pub section: &'static str,
    /// Requirement of the section.
    pub requirement: &'static str,
    /// Known departures, and their sources; empty if none are known.
    pub known_departures: &'static str,
}

/// A known departure from a rule, which is not a violation: the hosts that behave so, and the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownDeparture {
    Ns2,
    Linux,
    Dctcp,
    EctOnAll,
    EctOnSynAck,
    AccurateEcn,
    Ect1,
    Reflection,
    BehindCapture,
}

impl KnownDeparture {
    /// The hosts that behave so, as in "known departure of ...".
    pub const fn hosts_description(self) -> &'static str {
        match self {
            KnownDeparture::Ns2 => "ns-2's senders",
            KnownDeparture::Linux => "Linux",
            KnownDeparture::Dctcp => "DCTCP's receivers (RFC 8257)",
            KnownDeparture::EctOnAll => "hosts with ECT on every packet (ECN++, Linux with DCTCP)",
            KnownDeparture::EctOnSynAck => "hosts with ECT on the SYN-ACK (RFC 5562)",
            KnownDeparture::AccurateEcn => "Accurate ECN (RFC 9768)",
            KnownDeparture::Ect1 => "senders of ECT(1) (RFC 9331, RFC 3540)",
            KnownDeparture::Reflection => "hosts that reflect the reserved bits of the SYN",
            KnownDeparture::BehindCapture => "hosts far from the capture, which shows no marks behind it",
        }
    }
}

impl Rule {
    pub const fn info(self) -> RuleInfo {
        match self {
            Rule::EctOnSyn => rule_info(
                "6.1.1",
                "a host must not set ECT on a SYN",
                "the host sets ECT on all packets, as RFC 8311, section 4.3, allows for experiments (ECN++, and Linux with \
                    DCTCP), or Accurate ECN was negotiated",
            ),
            Rule::EctOnSynAck => {
                rule_info("6.1.1", "a host must not set ECT on a SYN-ACK", "ECN was negotiated: RFC 5562 sets ECT on the SYN-ACK")
            }
            Rule::HalfOffer => rule_info(
                "6.1.1",
                "a SYN that does not offer ECN should have neither ECE nor CWR",
                "ns-2's one-way agents have no handshake: the first packet offers ECN by ECE alone, and no SYN-ACK answers",
            ),
            Rule::AnswerWithoutOffer => rule_info("6.1.1", "a SYN-ACK must not agree to ECN that the SYN did not offer", ""),
            Rule::Reflected => rule_info(
                "6.1.1.2",
                "a SYN-ACK that does not agree to ECN should have neither ECE nor CWR",
                "a host that reflects the reserved bits of the SYN, which the handshake is designed to withstand",
            ),
            Rule::EctWithoutAgreement => rule_info(
                "6.1.1",
                "a host must not set ECT on data unless both hosts have agreed to ECN, nor after it has sent a SYN without ECE and CWR",
                "Linux repeats an unanswered SYN without ECE and CWR (`tcp_ecn_fallback`), and still uses ECN if the SYN-ACK \
                    has ECE",
            ),
            Rule::FlagsWithoutAgreement => {
                rule_info("6.1", "ECE and CWR mean nothing unless both hosts have agreed to ECN", "Linux as under `ect-without-agreement`")
            }
            Rule::EctOnAck => rule_info(
                "6.1.4",
                "a pure acknowledgement must be Not-ECT",
                "the host sets ECT on every one, as RFC 8311, section 4.3, allows for experiments (ECN++, and Linux with \
                    DCTCP), or only on ACKs after both FINs, as Linux does from TIME-WAIT: they have the codepoint of the last packet sent",
            ),
            Rule::EctOnRetransmission => rule_info(
                "6.1.5",
                "a retransmission must be Not-ECT",
                "the host sets ECT on all packets, as ns-2's senders do and RFC 8311, section 4.3, allows for experiments",
            ),
            Rule::EctOnProbe => rule_info(
                "6.1.6",
                "a window probe must be Not-ECT",
                "the host sets ECT on all packets, as RFC 8311, section 4.3, allows for experiments",
            ),
            Rule::CwrOnProbe => rule_info("6.1.6", "a window probe must not have CWR", ""),
            Rule::CwrOnRetransmission => {
                rule_info("6.1.2", "a retransmission should not have CWR", "ns-2's senders set CWR on the next packet of any kind")
            }
            Rule::CwrWithoutData => rule_info("6.1.2", "CWR is set on the first new data packet after a reduction", ""),
            Rule::CwrTwice => rule_info(
                "6.1.2",
                "a source should not reduce its window more than once for a window of data, and sets CWR on one packet only",
                "",
            ),
            Rule::NoCwr => {
                rule_info("6.1.2", "a source answers ECE by reducing its window and setting CWR on the first new data packet", "")
            }
            Rule::EchoMissing => rule_info(
                "6.1.3",
                "an acknowledgement of a packet that arrived with CE has ECE",
                "ns-2's sink echoes no mark of a packet that it treats as a retransmission; DCTCP as under `echo-stopped`",
            ),
            Rule::EchoStopped => rule_info(
                "6.1.3",
                "ECE is set on all acknowledgements until a packet with CWR arrives",
                "ECE is set if the last packet arrived with CE, as DCTCP's receivers do (RFC 8257, section 3.2); an \
                    acknowledgement that follows neither rule is a violation",
            ),
            Rule::EchoWithoutMark => rule_info(
                "6.1.3",
                "ECE is set from the first packet with CE until a packet with CWR arrives, and not otherwise",
                "DCTCP as under `echo-stopped`",
            ),
            Rule::MarkOnNotEct => rule_info("5", "a router must not set CE on a packet that is Not-ECT", ""),
            Rule::Cleared => rule_info("18.1", "a router must not clear or change a codepoint, except to CE", ""),
            Rule::Ect1 => rule_info(
                "6.1.2",
                "a source that needs one codepoint should use ECT(0)",
                "ECT(1) is L4S's (RFC 9331), and was the nonce's (RFC 3540)",
            ),
            Rule::AccurateEcn => rule_info(
                "6.1",
                "ECE and CWR are flags",
                "both hosts negotiated Accurate ECN (RFC 9768), in which they are a counter; RFC 3168's rules for them are not \
                    checked",
            ),
            Rule::OfferInData => rule_info(
                "6.1.1",
                "ECN is offered and agreed to by SYN and SYN-ACK",
                "ns-2's one-way agents have no handshake: the first packet offers ECN by ECE",
            ),
            Rule::AccurateHandshake => rule_info(
                "RFC 9768, 3.1.1",
                "a SYN-ACK that agrees to Accurate ECN tells the codepoint with which the SYN arrived",
                KNOWN_DEPARTURE_FAR_FROM_CAPTURE,
            ),
            Rule::AceField => rule_info(
                "RFC 9768, 3.2.2",
                "AE, CWR and ECE count the packets that arrived with CE; those of the client's first ACK tell the codepoint of the \
                    SYN-ACK",
                KNOWN_DEPARTURE_FAR_FROM_CAPTURE,
            ),
            Rule::AccurateOption => rule_info(
                "RFC 9768, 3.2.3",
                "the option counts the bytes that arrived with ECT(1), CE and ECT(0), and is not sent on a SYN",
                KNOWN_DEPARTURE_FAR_FROM_CAPTURE,
            ),
        }
    }
}

const fn rule_info(section: &'static str, requirement: &'static str, known_departures: &'static str) -> RuleInfo {
    RuleInfo { section, requirement, known_departures }
}

/// Known departure from the rules of Accurate ECN.
const KNOWN_DEPARTURE_FAR_FROM_CAPTURE: &str = "the capture has one interface, which by the times of the handshake is not near this host: routers behind it may \
    have marked packets";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_its_own_name() {
        let mut names = Rule::WORDS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(Rule::ALL.len(), names.len());
    }
}
