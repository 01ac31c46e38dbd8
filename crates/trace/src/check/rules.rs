//! What RFC 3168 asks of hosts and routers, as far as packets show it.

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
}

/// What a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub name: &'static str,
    /// The section of RFC 3168.
    pub section: &'static str,
    /// What the section asks.
    pub asks: &'static str,
    /// Who departs from it knowingly, and where that is written; nothing if nobody is known to.
    pub departs: &'static str,
}

/// Why a departure from a rule is no violation: who is known to behave so, and where that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Known {
    Ns2,
    Linux,
    Dctcp,
    EctOnAll,
    EctOnSynAck,
    AccurateEcn,
    Ect1,
    Reflection,
}

impl Known {
    /// Who it is, as in "known departure of ...".
    pub const fn whose(self) -> &'static str {
        match self {
            Known::Ns2 => "ns-2's senders",
            Known::Linux => "Linux",
            Known::Dctcp => "DCTCP's receivers (RFC 8257)",
            Known::EctOnAll => "hosts with ECT on every packet (ECN++, Linux with DCTCP)",
            Known::EctOnSynAck => "hosts with ECT on the SYN-ACK (RFC 5562)",
            Known::AccurateEcn => "Accurate ECN (RFC 9768)",
            Known::Ect1 => "senders of ECT(1) (RFC 9331, RFC 3540)",
            Known::Reflection => "hosts that reflect the reserved bits of the SYN",
        }
    }
}

impl Rule {
    pub const ALL: [Rule; 23] = [
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
    ];

    pub fn about(self) -> &'static About {
        &ABOUT[self as usize]
    }
}

/// By the rules' order.
static ABOUT: [About; Rule::ALL.len()] = [
    About {
        name: "ect-on-syn",
        section: "6.1.1",
        asks: "a host must not set ECT on a SYN",
        departs: "the host sets ECT on all that it sends, as RFC 8311, section 4.3, lets experiments do (ECN++, and Linux with DCTCP), or Accurate ECN was agreed to",
    },
    About {
        name: "ect-on-syn-ack",
        section: "6.1.1",
        asks: "a host must not set ECT on a SYN-ACK",
        departs: "ECN was agreed to: RFC 5562 sets ECT on the SYN-ACK",
    },
    About {
        name: "half-offer",
        section: "6.1.1",
        asks: "a SYN that does not offer ECN should have neither ECE nor CWR",
        departs: "ns-2's one-way agents have no handshake: the first packet offers ECN by ECE alone, and no SYN-ACK answers",
    },
    About {
        name: "answer-without-offer",
        section: "6.1.1",
        asks: "a SYN-ACK must not agree to ECN that the SYN did not offer",
        departs: "",
    },
    About {
        name: "reflected",
        section: "6.1.1.2",
        asks: "a SYN-ACK that does not agree to ECN should have neither ECE nor CWR",
        departs: "a host that reflects the reserved bits of the SYN, which the handshake is made to withstand",
    },
    About {
        name: "ect-without-agreement",
        section: "6.1.1",
        asks: "a host must not set ECT on data unless both hosts have agreed to ECN, nor after it has sent a SYN without ECE and CWR",
        departs: "Linux repeats an unanswered SYN without ECE and CWR (`tcp_ecn_fallback`), and uses ECN all the same if the SYN-ACK has ECE",
    },
    About {
        name: "flags-without-agreement",
        section: "6.1",
        asks: "ECE and CWR mean nothing unless both hosts have agreed to ECN",
        departs: "Linux as under `ect-without-agreement`",
    },
    About {
        name: "ect-on-ack",
        section: "6.1.4",
        asks: "a pure acknowledgement must be Not-ECT",
        departs: "the host sets ECT on every one, as RFC 8311, section 4.3, lets experiments do (ECN++, and Linux with DCTCP), or on \
                  acknowledgements behind both FINs alone, as Linux does from TIME-WAIT: they have the codepoint of what it sent last",
    },
    About {
        name: "ect-on-retransmission",
        section: "6.1.5",
        asks: "a retransmission must be Not-ECT",
        departs: "the host sets ECT on all that it sends, as ns-2's senders do and RFC 8311, section 4.3, lets experiments do",
    },
    About {
        name: "ect-on-probe",
        section: "6.1.6",
        asks: "a window probe must be Not-ECT",
        departs: "the host sets ECT on all that it sends, as RFC 8311, section 4.3, lets experiments do",
    },
    About { name: "cwr-on-probe", section: "6.1.6", asks: "a window probe must not have CWR", departs: "" },
    About {
        name: "cwr-on-retransmission",
        section: "6.1.2",
        asks: "a retransmission should not have CWR",
        departs: "ns-2's senders set CWR on the next packet, whatever it is",
    },
    About { name: "cwr-without-data", section: "6.1.2", asks: "CWR goes on the first new data packet after a reduction", departs: "" },
    About {
        name: "cwr-twice",
        section: "6.1.2",
        asks: "a source should not reduce its window more than once for a window of data, and CWR goes on one packet only",
        departs: "",
    },
    About {
        name: "no-cwr",
        section: "6.1.2",
        asks: "a source answers ECE by reducing its window and setting CWR on the first new data packet",
        departs: "",
    },
    About {
        name: "echo-missing",
        section: "6.1.3",
        asks: "an acknowledgement of a packet that came with CE has ECE",
        departs: "ns-2's sink echoes no mark of a packet that it takes for a retransmission; DCTCP as under `echo-stopped`",
    },
    About {
        name: "echo-stopped",
        section: "6.1.3",
        asks: "ECE is set on all acknowledgements until a packet with CWR comes",
        departs: "ECE is set if the last packet came with CE, as DCTCP's receivers do (RFC 8257, section 3.2); an acknowledgement that does neither is a violation",
    },
    About {
        name: "echo-without-mark",
        section: "6.1.3",
        asks: "ECE is set from the first packet with CE until one with CWR comes, and not otherwise",
        departs: "DCTCP as under `echo-stopped`",
    },
    About { name: "mark-on-not-ect", section: "5", asks: "a router must not set CE on a packet that is Not-ECT", departs: "" },
    About { name: "cleared", section: "18.1", asks: "a router must not clear or change a codepoint but to CE", departs: "" },
    About {
        name: "ect-1",
        section: "6.1.2",
        asks: "a source that needs one codepoint should use ECT(0)",
        departs: "ECT(1) is L4S's (RFC 9331), and was the nonce's (RFC 3540)",
    },
    About {
        name: "accurate-ecn",
        section: "6.1",
        asks: "ECE and CWR are flags",
        departs: "both hosts agreed to Accurate ECN (RFC 9768), in which they count; what RFC 3168 says of them is not judged",
    },
    About {
        name: "offer-in-data",
        section: "6.1.1",
        asks: "ECN is offered and agreed to by SYN and SYN-ACK",
        departs: "ns-2's one-way agents have no handshake: the first packet offers ECN by ECE",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_stands_in_the_list_once_in_its_order() {
        let places: Vec<usize> = Rule::ALL.iter().map(|&rule| rule as usize).collect();
        assert_eq!((0..Rule::ALL.len()).collect::<Vec<_>>(), places);
        let mut names: Vec<_> = Rule::ALL.iter().map(|rule| rule.about().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(Rule::ALL.len(), names.len());
    }
}
