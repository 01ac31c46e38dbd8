//! CE, ECN-Echo, CWR (RFC 3168, section 6.1): a packet arrives with CE, the sink echoes it, the source answers with CWR.
//!
//! A reaction begins with a packet that arrives with CE when no echo is owed, and ends when a packet with CWR arrives. What arrives with CE
//! in between is answered by the same reaction.

use ecnlab_units::{Span, Time};

/// One reaction to marks. A time is absent if the file does not show what happened then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reaction {
    /// The first packet with CE came to the sink.
    pub experienced: Option<Time>,
    /// The sink sent the first acknowledgement with ECN-Echo.
    pub echoed: Option<Time>,
    /// The source sent the packet with CWR.
    pub reduced: Option<Time>,
    /// Packets with CE that it answers.
    pub packets: u64,
    /// The mean round-trip time so far, when the source answered.
    pub rtt: Option<Span>,
}

impl Reaction {
    /// From the arrival of CE until the source answers.
    pub fn latency(&self) -> Option<Span> {
        Some(self.reduced?.since(self.experienced?))
    }
}

/// The reaction of a flow that is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reactions {
    open: Option<Reaction>,
}

impl Reactions {
    /// A packet has come to the sink with CE, or with CWR, or both: CWR ends what was before it. Returns the reaction that has ended.
    pub fn arrived(&mut self, has_ce: bool, has_cwr: bool, now: Time) -> Option<Reaction> {
        let ended = self.open.take_if(|open| has_cwr && open.reduced.is_some());
        if has_ce {
            let open = self.open.get_or_insert_default();
            open.experienced = open.experienced.or(Some(now).filter(|_| open.echoed.is_none()));
            open.packets += 1;
        }
        ended
    }

    /// The sink sends an acknowledgement with ECN-Echo.
    pub fn echoed(&mut self, now: Time) {
        let open = self.open.get_or_insert_default();
        open.echoed = open.echoed.or(Some(now));
    }

    /// The source sends a packet with CWR.
    pub fn reduced(&mut self, now: Time, rtt: Option<Span>) {
        if let Some(open) = self.open.as_mut().filter(|open| open.reduced.is_none() && open.echoed.is_some()) {
            (open.reduced, open.rtt) = (Some(now), rtt);
        }
    }

    /// The flow ends: the reaction that is still open, if any.
    pub fn end(&mut self) -> Option<Reaction> {
        self.open.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn marks_before_the_answer_arrives_belong_to_one_reaction() {
        let mut reactions = Reactions::default();
        assert_eq!(None, reactions.arrived(true, false, at(10)));
        reactions.echoed(at(10));
        reactions.arrived(true, false, at(12));
        reactions.reduced(at(30), Some(Span::from_millis(20)));
        reactions.reduced(at(31), None);
        reactions.echoed(at(40));
        let ended = reactions.arrived(false, true, at(50)).unwrap();
        assert_eq!((Some(at(10)), Some(at(10)), Some(at(30)), 2), (ended.experienced, ended.echoed, ended.reduced, ended.packets));
        assert_eq!(Some(Span::from_millis(20)), ended.latency());
        assert_eq!(None, reactions.end());
    }

    #[test]
    fn a_packet_with_both_ends_one_reaction_and_begins_another() {
        let mut reactions = Reactions::default();
        reactions.arrived(true, false, at(1));
        reactions.echoed(at(1));
        reactions.reduced(at(2), None);
        assert!(reactions.arrived(true, true, at(3)).is_some());
        assert_eq!(Some(at(3)), reactions.end().unwrap().experienced);
    }

    #[test]
    fn an_echo_whose_mark_was_not_seen_has_no_latency() {
        let mut reactions = Reactions::default();
        reactions.echoed(at(5));
        reactions.reduced(at(6), None);
        assert_eq!(None, reactions.end().unwrap().latency());
    }
}
