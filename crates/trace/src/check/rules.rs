//! Requirements of RFC 3168 on hosts and routers, and of RFC 9768 on hosts, as far as packets show them.

/// A rule, or a known departure from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    EctOnSyn,
    EctOnSynAck,
    HalfOffer,
    AnswerWithoutOffer,
    Reflected,
    EctWithoutAgreement,
    FlagsWithoutAgreement,
    EctOnAck,
    EctOnRetransmission,
    EctOnProbe,
    CwrOnProbe,
    CwrOnRetransmission,
    CwrWithoutData,
    CwrTwice,
    NoCwr,
    EchoMissing,
    EchoStopped,
    EchoWithoutMark,
    MarkOnNotEct,
    Cleared,
    Ect1,
    AccurateEcn,
    OfferInData,
    AccurateHandshake,
    AceField,
    AccurateOption,
}

/// Description of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    pub name: &'static str,
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
    pub const ALL: [Rule; 26] = [
        Rule::EctOnSyn,
        Rule::EctOnSynAck,
        Rule::HalfOffer,
        Rule::AnswerWithoutOffer,
        Rule::Reflected,
        Rule::EctWithoutAgreement,
        Rule::FlagsWithoutAgreement,
        Rule::EctOnAck,
        Rule::EctOnRetransmission,
        Rule::EctOnProbe,
        Rule::CwrOnProbe,
        Rule::CwrOnRetransmission,
        Rule::CwrWithoutData,
        Rule::CwrTwice,
        Rule::NoCwr,
        Rule::EchoMissing,
        Rule::EchoStopped,
        Rule::EchoWithoutMark,
        Rule::MarkOnNotEct,
        Rule::Cleared,
        Rule::Ect1,
        Rule::AccurateEcn,
        Rule::OfferInData,
        Rule::AccurateHandshake,
        Rule::AceField,
        Rule::AccurateOption,
    ];

    pub fn info(self) -> &'static RuleInfo {
        &RULE_INFO[self as usize]
    }
}

/// By the rules' order.
static RULE_INFO: [RuleInfo; Rule::ALL.len()] = [
    RuleInfo {
        name: "ect-on-syn",
        section: "6.1.1",
        requirement: "a host must not set ECT on a SYN",
        known_departures: "the host sets ECT on all packets, as RFC 8311, section 4.3, allows for experiments (ECN++, and Linux with \
            DCTCP), or Accurate ECN was negotiated",
    },
    RuleInfo {
        name: "ect-on-syn-ack",
        section: "6.1.1",
        requirement: "a host must not set ECT on a SYN-ACK",
        known_departures: "ECN was negotiated: RFC 5562 sets ECT on the SYN-ACK",
    },
    RuleInfo {
        name: "half-offer",
        section: "6.1.1",
        requirement: "a SYN that does not offer ECN should have neither ECE nor CWR",
        known_departures: "ns-2's one-way agents have no handshake: the first packet offers ECN by ECE alone, and no SYN-ACK answers",
    },
    RuleInfo {
        name: "answer-without-offer",
        section: "6.1.1",
        requirement: "a SYN-ACK must not agree to ECN that the SYN did not offer",
        known_departures: "",
    },
    RuleInfo {
        name: "reflected",
        section: "6.1.1.2",
        requirement: "a SYN-ACK that does not agree to ECN should have neither ECE nor CWR",
        known_departures: "a host that reflects the reserved bits of the SYN, which the handshake is designed to withstand",
    },
    RuleInfo {
        name: "ect-without-agreement",
        section: "6.1.1",
        requirement: "a host must not set ECT on data unless both hosts have agreed to ECN, nor after it has sent a SYN without ECE and CWR",
        known_departures: "Linux repeats an unanswered SYN without ECE and CWR (`tcp_ecn_fallback`), and still uses ECN if the SYN-ACK \
            has ECE",
    },
    RuleInfo {
        name: "flags-without-agreement",
        section: "6.1",
        requirement: "ECE and CWR mean nothing unless both hosts have agreed to ECN",
        known_departures: "Linux as under `ect-without-agreement`",
    },
    RuleInfo {
        name: "ect-on-ack",
        section: "6.1.4",
        requirement: "a pure acknowledgement must be Not-ECT",
        known_departures: "the host sets ECT on every one, as RFC 8311, section 4.3, allows for experiments (ECN++, and Linux with \
            DCTCP), or only on ACKs after both FINs, as Linux does from TIME-WAIT: they have the codepoint of the last packet sent",
    },
    RuleInfo {
        name: "ect-on-retransmission",
        section: "6.1.5",
        requirement: "a retransmission must be Not-ECT",
        known_departures: "the host sets ECT on all packets, as ns-2's senders do and RFC 8311, section 4.3, allows for experiments",
    },
    RuleInfo {
        name: "ect-on-probe",
        section: "6.1.6",
        requirement: "a window probe must be Not-ECT",
        known_departures: "the host sets ECT on all packets, as RFC 8311, section 4.3, allows for experiments",
    },
    RuleInfo { name: "cwr-on-probe", section: "6.1.6", requirement: "a window probe must not have CWR", known_departures: "" },
    RuleInfo {
        name: "cwr-on-retransmission",
        section: "6.1.2",
        requirement: "a retransmission should not have CWR",
        known_departures: "ns-2's senders set CWR on the next packet of any kind",
    },
    RuleInfo {
        name: "cwr-without-data",
        section: "6.1.2",
        requirement: "CWR is set on the first new data packet after a reduction",
        known_departures: "",
    },
    RuleInfo {
        name: "cwr-twice",
        section: "6.1.2",
        requirement: "a source should not reduce its window more than once for a window of data, and sets CWR on one packet only",
        known_departures: "",
    },
    RuleInfo {
        name: "no-cwr",
        section: "6.1.2",
        requirement: "a source answers ECE by reducing its window and setting CWR on the first new data packet",
        known_departures: "",
    },
    RuleInfo {
        name: "echo-missing",
        section: "6.1.3",
        requirement: "an acknowledgement of a packet that arrived with CE has ECE",
        known_departures: "ns-2's sink echoes no mark of a packet that it treats as a retransmission; DCTCP as under `echo-stopped`",
    },
    RuleInfo {
        name: "echo-stopped",
        section: "6.1.3",
        requirement: "ECE is set on all acknowledgements until a packet with CWR arrives",
        known_departures: "ECE is set if the last packet arrived with CE, as DCTCP's receivers do (RFC 8257, section 3.2); an \
            acknowledgement that follows neither rule is a violation",
    },
    RuleInfo {
        name: "echo-without-mark",
        section: "6.1.3",
        requirement: "ECE is set from the first packet with CE until a packet with CWR arrives, and not otherwise",
        known_departures: "DCTCP as under `echo-stopped`",
    },
    RuleInfo {
        name: "mark-on-not-ect",
        section: "5",
        requirement: "a router must not set CE on a packet that is Not-ECT",
        known_departures: "",
    },
    RuleInfo {
        name: "cleared",
        section: "18.1",
        requirement: "a router must not clear or change a codepoint, except to CE",
        known_departures: "",
    },
    RuleInfo {
        name: "ect-1",
        section: "6.1.2",
        requirement: "a source that needs one codepoint should use ECT(0)",
        known_departures: "ECT(1) is L4S's (RFC 9331), and was the nonce's (RFC 3540)",
    },
    RuleInfo {
        name: "accurate-ecn",
        section: "6.1",
        requirement: "ECE and CWR are flags",
        known_departures: "both hosts negotiated Accurate ECN (RFC 9768), in which they are a counter; RFC 3168's rules for them are not \
            checked",
    },
    RuleInfo {
        name: "offer-in-data",
        section: "6.1.1",
        requirement: "ECN is offered and agreed to by SYN and SYN-ACK",
        known_departures: "ns-2's one-way agents have no handshake: the first packet offers ECN by ECE",
    },
    RuleInfo {
        name: "accecn-handshake",
        section: "RFC 9768, 3.1.1",
        requirement: "a SYN-ACK that agrees to Accurate ECN tells the codepoint with which the SYN arrived",
        known_departures: KNOWN_DEPARTURE_FAR_FROM_CAPTURE,
    },
    RuleInfo {
        name: "accecn-ace",
        section: "RFC 9768, 3.2.2",
        requirement: "AE, CWR and ECE count the packets that arrived with CE; those of the client's first ACK tell the codepoint of the \
            SYN-ACK",
        known_departures: KNOWN_DEPARTURE_FAR_FROM_CAPTURE,
    },
    RuleInfo {
        name: "accecn-option",
        section: "RFC 9768, 3.2.3",
        requirement: "the option counts the bytes that arrived with ECT(1), CE and ECT(0), and is not sent on a SYN",
        known_departures: KNOWN_DEPARTURE_FAR_FROM_CAPTURE,
    },
];

/// Known departure from the rules of Accurate ECN.
const KNOWN_DEPARTURE_FAR_FROM_CAPTURE: &str = "the capture has one interface, which by the times of the handshake is not near this host: routers behind it may \
    have marked packets";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_stands_in_the_list_once_in_its_order() {
        let places: Vec<usize> = Rule::ALL.iter().map(|&rule| rule as usize).collect();
        assert_eq!((0..Rule::ALL.len()).collect::<Vec<_>>(), places);
        let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.info().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(Rule::ALL.len(), names.len());
    }
}
