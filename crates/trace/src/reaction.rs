//! Reactions to marks (RFC 3168, section 6.1): a packet arrives with CE, the sink echoes it, the source answers with CWR.
//!
//! A reaction begins with a packet that arrives with CE when no echo is owed, and ends when a packet with CWR arrives. What arrives with CE
//! in between is answered by the same reaction.

use ecnlab_units::{Span, Time};

/// One reaction to marks. A time is absent if the file does not show what happened then.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reaction {
    /// The first packet with CE came to the sink.
    pub ce_received_at: Option<Time>,
    /// The sink sent the first acknowledgement with ECN-Echo.
    pub ece_sent_at: Option<Time>,
    /// The source sent the packet with CWR.
    pub cwr_sent_at: Option<Time>,
    /// Packets with CE that it answers.
    pub packets: u64,
    /// The mean round-trip time so far, when the source answered.
    pub rtt: Option<Span>,
}

impl Reaction {
    /// From the arrival of CE until the source answers.
    pub fn latency(&self) -> Option<Span> {
        Some(self.cwr_sent_at?.since(self.ce_received_at?))
    }
}

/// The current reaction of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReactionTracker {
    current: Option<Reaction>,
}

impl ReactionTracker {
    /// Processes a packet that arrives at the sink. CWR ends the reaction before it, which is returned; CE begins or continues one.
    pub fn on_data_arrival(&mut self, has_ce: bool, has_cwr: bool, now: Time) -> Option<Reaction> {
        let ended = self.current.take_if(|current| has_cwr && current.cwr_sent_at.is_some());
        if has_ce {
            let current = self.current.get_or_insert_default();
            current.ce_received_at = current.ce_received_at.or(Some(now).filter(|_| current.ece_sent_at.is_none()));
            current.packets += 1;
        }
        ended
    }

    /// Processes an acknowledgement with ECN-Echo that the sink sends.
    pub fn on_ece_sent(&mut self, now: Time) {
        let current = self.current.get_or_insert_default();
        current.ece_sent_at = current.ece_sent_at.or(Some(now));
    }

    /// Processes a packet with CWR that the source sends.
    pub fn on_cwr(&mut self, now: Time, rtt: Option<Span>) {
        if let Some(current) = self.current.as_mut().filter(|current| current.cwr_sent_at.is_none() && current.ece_sent_at.is_some()) {
            (current.cwr_sent_at, current.rtt) = (Some(now), rtt);
        }
    }

    /// Ends the flow; returns the current reaction, if any.
    pub fn finish(&mut self) -> Option<Reaction> {
        self.current.take()
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
        let mut reactions = ReactionTracker::default();
        assert_eq!(None, reactions.on_data_arrival(true, false, at(10)));
        reactions.on_ece_sent(at(10));
        reactions.on_data_arrival(true, false, at(12));
        reactions.on_cwr(at(30), Some(Span::from_millis(20)));
        reactions.on_cwr(at(31), None);
        reactions.on_ece_sent(at(40));
        let ended = reactions.on_data_arrival(false, true, at(50)).unwrap();
        assert_eq!(
            (Some(at(10)), Some(at(10)), Some(at(30)), 2),
            (ended.ce_received_at, ended.ece_sent_at, ended.cwr_sent_at, ended.packets)
        );
        assert_eq!(Some(Span::from_millis(20)), ended.latency());
        assert_eq!(None, reactions.finish());
    }

    #[test]
    fn a_packet_with_both_ends_one_reaction_and_begins_another() {
        let mut reactions = ReactionTracker::default();
        reactions.on_data_arrival(true, false, at(1));
        reactions.on_ece_sent(at(1));
        reactions.on_cwr(at(2), None);
        assert!(reactions.on_data_arrival(true, true, at(3)).is_some());
        assert_eq!(Some(at(3)), reactions.finish().unwrap().ce_received_at);
    }

    #[test]
    fn an_echo_whose_mark_was_not_seen_has_no_latency() {
        let mut reactions = ReactionTracker::default();
        reactions.on_ece_sent(at(5));
        reactions.on_cwr(at(6), None);
        assert_eq!(None, reactions.finish().unwrap().latency());
    }
}
