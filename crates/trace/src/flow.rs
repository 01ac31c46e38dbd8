//! One direction of a connection that carries data: what its source sent, what came to its sink, and how it answered marks.

use ecnlab_units::column_groups::TimeStats;
use ecnlab_units::histogram::Histogram;
use ecnlab_units::{Ecn, Span, Time};
use ecnlab_wire::{End, Flags, Packet};

use crate::bins::{BinPlace, Member};
use crate::columns::{Common, FlowRow, PointRow, seconds};
use crate::competing::Candidate;
use crate::desk::Desk;
use crate::reaction::{Reaction, Reactions};
use crate::runs::Runs;
use crate::sending::{Cause, Sending, Sent, View};

/// What is kept of a flow over the measured interval, and added up over flows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kept {
    /// Bytes that reached the sink: all, new in order, and on first transmissions.
    pub bytes: [u64; 3],
    pub sent: u64,
    pub again_fast: u64,
    pub again_timeout: u64,
    pub needless: u64,
    pub timeouts: u64,
    pub late: u64,
    pub drops: u64,
    pub marks: u64,
    pub ce: u64,
    pub echoes: u64,
    pub reduced: u64,
    pub reactions: u64,
    reaction_s: f64,
    timed_reactions: u64,
    pub lockouts: u64,
    pub lockout: Span,
    pub unseen: u64,
}

/// A flow that is alive.
#[derive(Debug)]
pub struct Flow {
    pub number: u32,
    pub member: Member,
    /// Whether it is the first flow of its connection that was asked for.
    pub is_first: bool,
    /// Whether it is among those that were asked for.
    pub is_chosen: bool,
    fid: Option<u32>,
    source: End,
    destination: End,
    /// A place in [`crate::columns::KINDS`].
    kind: u32,
    /// Its first number.
    base: u64,
    began: Time,
    last_seen: Time,
    pub closed: Option<Time>,
    sending: Sending,
    runs: Runs,
    reactions: Reactions,
    /// ECE and CWR count marks (RFC 9768) instead of echoing them, so that there are no reactions to follow.
    pub counts_marks: bool,
    quiet_since: Time,
    min_rtt: Option<Span>,
    kept: Kept,
    /// Sent and come to the sink a second time; reported by DSACK; reported by a timestamp (Eifel).
    needless: [u64; 3],
    rtt: Histogram<5>,
    delay: Histogram<5>,
    /// Delays that do not count before it is certain to where they were measured.
    held: Vec<Span>,
    /// Round-trip times to a place that is not known to be the source's.
    samples: Vec<Sample>,
    bin: BinPlace,
}

/// A segment's numbers, of which there are none in a datagram.
pub type Numbers = Option<(u64, u64)>;

/// Round-trip times of a flow that are kept while it is not known to where they were measured; the first acknowledgements show the way.
const MOST_SAMPLES: usize = 256;

/// A round-trip time that an acknowledgement gave at a place that may turn out to lie on its way.
#[derive(Clone, Copy, Debug)]
struct Sample {
    ack: u64,
    taken: Time,
    rtt: Span,
    is_measured: bool,
    /// The way goes on, and the acknowledgement has not come to its end yet.
    goes_on: bool,
}

/// An acknowledgement for this flow, in the flow's numbers.
#[derive(Clone, Copy, Debug)]
pub struct AckSeen<'a> {
    pub number: u64,
    pub blocks: &'a [(u64, u64)],
    /// The window's right edge, if the file shows it.
    pub edge: Option<u64>,
    pub is_pure: bool,
    /// Whether the place where it is seen is its last for certain.
    pub is_sure: bool,
}

impl Flow {
    pub fn new(member: Member, is_chosen: bool, is_first: bool, packet: &Packet, base: u64, now: Time) -> Flow {
        let mut runs = Runs::default();
        runs.begin(base);
        Flow {
            number: member.flow,
            member,
            is_first,
            is_chosen,
            fid: packet.flow,
            source: packet.source,
            destination: packet.destination,
            kind: u32::from(!packet.is_tcp()),
            base,
            began: now,
            last_seen: now,
            closed: None,
            sending: Sending::default(),
            runs,
            reactions: Reactions::default(),
            counts_marks: false,
            quiet_since: now,
            min_rtt: None,
            kept: Kept::default(),
            needless: [0; 3],
            rtt: Histogram::default(),
            delay: Histogram::default(),
            held: Vec::new(),
            samples: Vec::new(),
            bin: BinPlace::default(),
        }
    }

    /// The source sends a packet; returns whether it is a retransmission.
    pub fn sent(&mut self, packet: &Packet, numbers: Numbers, is_exact: bool, desk: &mut Desk) -> bool {
        self.last_seen = desk.now;
        let was_idle = !self.sending.is_outstanding();
        let timeouts = self.sending.timeouts;
        let view = View { is_exact, min_rtt: self.min_rtt.unwrap_or_default() };
        let sent = numbers.map_or(Sent::New, |numbers| self.sending.sent(numbers, &packet.tcp, desk.now, view, &mut desk.room));
        if was_idle && sent == Sent::New {
            self.quiet_since = desk.now;
        }
        let has_cwr = packet.has(Flags::CWR);
        if has_cwr && sent == Sent::New && !self.counts_marks {
            self.reactions.reduced(desk.now, mean(&self.rtt));
        }
        self.point_of_segment(numbers, sent, has_cwr, desk);
        if desk.measures(self.is_chosen) {
            self.kept.sent += 1;
            self.kept.again_fast += u64::from(sent == Sent::Again(Cause::Duplicates));
            self.kept.again_timeout += u64::from(sent == Sent::Again(Cause::Timeout));
            self.kept.late += u64::from(sent == Sent::Late);
            self.kept.timeouts += self.sending.timeouts - timeouts;
            self.kept.reduced += u64::from(has_cwr && !self.counts_marks);
        }
        matches!(sent, Sent::Again(_))
    }

    /// A packet comes to the sink, `delay` after it was sent, if the file shows both, and whether this is the sink for certain.
    pub fn arrived(&mut self, packet: &Packet, numbers: Numbers, is_again: bool, delay: Option<(Span, bool)>, desk: &mut Desk) {
        self.last_seen = desk.now;
        let payload = u64::from(desk.payload(packet));
        let is_copy = numbers.is_some_and(|(start, end)| self.runs.holds(start, end));
        let new = numbers.map_or(payload, |(start, end)| self.runs.arrived(start, end, payload, &mut desk.room));
        let has_ce = packet.ecn == Ecn::Ce;
        let ended =
            if packet.is_tcp() && !self.counts_marks { self.reactions.arrived(has_ce, packet.has(Flags::CWR), desk.now) } else { None };
        self.note_reaction(ended, desk);
        if desk.measures(self.is_chosen) {
            let bytes = [u64::from(packet.size), new, if is_again { 0 } else { payload }];
            self.count_bytes(bytes, desk);
            self.kept.ce += u64::from(has_ce);
            self.needless[0] += u64::from(is_copy && delay.is_some());
            if let Some((delay, is_sure)) = delay {
                self.note_delay(delay, is_sure, desk);
            }
        }
        if new > 0 {
            let since = std::mem::replace(&mut self.quiet_since, desk.now);
            self.note_spell(since, desk);
        }
    }

    /// An acknowledgement comes back to the source; of what it covers some may not be in the file.
    pub fn acknowledged(&mut self, ack: &AckSeen, packet: &Packet, desk: &mut Desk) {
        self.last_seen = desk.now;
        let said = self.sending.acknowledged(ack.number, ack.blocks, &packet.tcp, ack.is_pure, desk.now, &mut desk.room);
        self.point_of_ack(ack, said.is_new, desk);
        self.complete_samples(ack.number, desk);
        if let Some(rtt) = said.rtt {
            let is_measured = desk.measures(self.is_chosen);
            self.note_rtt(Sample { ack: ack.number, taken: desk.now, rtt, is_measured, goes_on: false }, desk);
        }
        if ack.is_sure {
            self.settle_samples(desk);
        }
        let (bytes, unseen) = self.runs.skip_to(ack.number, &mut desk.room);
        if desk.measures(self.is_chosen) {
            self.needless[1] += u64::from(said.arrived_twice);
            self.needless[2] += u64::from(said.was_needless);
            self.kept.unseen += unseen;
            self.count_bytes([0, bytes, 0], desk);
        }
    }

    /// The sink sends an acknowledgement with ECN-Echo. The answer to ns-2's first packet, which offers ECN, is no echo of a mark.
    pub fn echoed(&mut self, ack: u64, is_ns2: bool, desk: &mut Desk) {
        if self.counts_marks || (is_ns2 && ack <= self.base + 1) {
            return;
        }
        self.reactions.echoed(desk.now);
        self.kept.echoes += u64::from(desk.measures(self.is_chosen));
        if desk.draws(self.number) {
            desk.point(self.point(ECHO, ack, ack, desk.now));
        }
    }

    /// A packet was marked at a link.
    pub fn marked(&mut self, link: Option<u32>, numbers: Numbers, desk: &mut Desk) {
        if desk.measures(self.is_chosen) {
            self.kept.marks += 1;
            desk.bins.share(&mut self.bin, self.member).marks += 1;
            desk.event(self.number, link, 0, desk.now);
        }
        self.point_at(MARK, numbers, desk);
    }

    /// A packet was dropped at a link, where it was last seen at `at`.
    pub fn dropped(&mut self, link: Option<u32>, numbers: Numbers, at: Time, desk: &mut Desk) {
        if desk.measures(self.is_chosen) {
            self.kept.drops += 1;
            desk.bins.share(&mut self.bin, self.member).drops += 1;
            desk.event(self.number, link, 1, at);
        }
        if let Some((from, to)) = numbers.filter(|_| desk.draws(self.number)) {
            desk.point(self.point(DROP, from, to, at));
        }
    }

    /// What arrived so far had not come to the sink: it is farther away.
    pub fn moves_sink(&mut self, desk: &mut Desk) {
        self.runs.clear(&mut desk.room);
        self.runs = Runs::default();
        self.runs.begin(self.base);
        (self.kept.bytes, self.kept.ce, self.needless[0]) = ([0; 3], 0, 0);
        (self.delay, self.reactions) = (Histogram::default(), Reactions::default());
        self.held.clear();
        desk.bins.share(&mut self.bin, self.member).bytes = [0; 3];
    }

    /// Whether the source goes on, and the file shows no acknowledgement that would let it.
    pub fn goes_unacknowledged(&self) -> bool {
        self.sending.goes_unacknowledged()
    }

    /// The acknowledgements that were seen so far had not come to the source: it is farther away.
    pub fn moves_source(&mut self) {
        (self.min_rtt, self.rtt) = (None, Histogram::default());
        self.samples.iter_mut().for_each(|sample| sample.goes_on = true);
    }

    /// Ends the flow: what is still open is closed, and all that it kept becomes a row.
    pub fn end(mut self, ecn: u32, desk: &mut Desk) -> FlowRow {
        let open = self.reactions.end();
        self.note_reaction(open, desk);
        self.flush_delays(desk);
        self.settle_samples(desk);
        if self.closed.is_none() && self.sending.is_outstanding() && desk.is_measured {
            self.note_spell(self.quiet_since, desk);
        }
        self.sending.clear(&mut desk.room);
        self.runs.clear(&mut desk.room);
        self.kept.needless = self.needless[0].max(self.needless[1]).max(self.needless[2]);
        let common = Common { seconds: 0.0, kept: self.kept, rtt: TimeStats::from(&self.rtt), delay: TimeStats::from(&self.delay) };
        FlowRow {
            flow: self.number,
            fid: self.fid,
            ends: [self.source, self.destination],
            names: [0; 2],
            kind: self.kind,
            ecn,
            begin_s: self.began.seconds(),
            end_s: self.last_seen.seconds(),
            rtt_min_s: seconds(self.min_rtt),
            competes: false,
            common,
        }
    }

    /// What it has to do with fairness.
    pub fn candidate(&self) -> Candidate {
        Candidate { flow: self.number, begin: self.began, end: self.last_seen, bytes: self.kept.bytes }
    }

    fn count_bytes(&mut self, bytes: [u64; 3], desk: &mut Desk) {
        let share = desk.bins.share(&mut self.bin, self.member);
        for (kind, bytes) in bytes.into_iter().enumerate() {
            self.kept.bytes[kind] += bytes;
            share.bytes[kind] += bytes;
        }
    }

    fn note_rtt(&mut self, sample: Sample, desk: &mut Desk) {
        self.min_rtt = Some(self.min_rtt.map_or(sample.rtt, |least| least.min(sample.rtt)));
        if sample.is_measured {
            self.rtt.record(sample.rtt);
        }
        if self.samples.len() >= MOST_SAMPLES {
            self.settle_samples(desk);
        }
        self.samples.push(sample);
    }

    /// An acknowledgement has come to the end of its way: its sample took until now. Those before it were lost on their way.
    fn complete_samples(&mut self, ack: u64, desk: &mut Desk) {
        if !self.samples.iter().any(|sample| sample.goes_on && sample.ack <= ack) {
            return;
        }
        let complete = self.samples.iter().copied().find(|sample| sample.goes_on && sample.ack == ack);
        self.samples.retain(|sample| !sample.goes_on || sample.ack > ack);
        if let Some(sample) = complete {
            let rtt = sample.rtt + desk.now.since(sample.taken);
            self.note_rtt(Sample { taken: desk.now, rtt, goes_on: false, ..sample }, desk);
        }
    }

    /// What was measured at the last place counts in the whole.
    fn settle_samples(&mut self, desk: &mut Desk) {
        for sample in self.samples.iter().filter(|sample| !sample.goes_on && sample.is_measured) {
            desk.whole.rtt.record(sample.rtt);
        }
        self.samples.retain(|sample| sample.goes_on);
    }

    fn note_delay(&mut self, delay: Span, is_sure: bool, desk: &mut Desk) {
        self.held.push(delay);
        if is_sure {
            self.flush_delays(desk);
        }
    }

    fn flush_delays(&mut self, desk: &mut Desk) {
        for delay in self.held.drain(..) {
            self.delay.record(delay);
            desk.whole.delay.record(delay);
        }
    }

    fn note_reaction(&mut self, ended: Option<Reaction>, desk: &mut Desk) {
        let Some(reaction) = ended.filter(|_| desk.measures(self.is_chosen)) else { return };
        self.kept.reactions += u64::from(reaction.reduced.is_some());
        if let Some(latency) = reaction.latency() {
            self.kept.reaction_s += latency.seconds();
            self.kept.timed_reactions += 1;
        }
        desk.reaction(self.number, &reaction);
    }

    /// Counts a spell without anything new that is long enough to be a lockout, with its time inside the measured interval.
    fn note_spell(&mut self, since: Time, desk: &mut Desk) {
        let threshold = Span::from_secs(1).max(self.min_rtt.unwrap_or_default() * 10);
        if desk.now.since(since) >= threshold && desk.measures(self.is_chosen) {
            self.kept.lockouts += 1;
            self.kept.lockout += desk.now.since(since.max(desk.from));
            desk.lockout(self.number, since);
        }
    }

    fn point_of_segment(&self, numbers: Numbers, sent: Sent, has_cwr: bool, desk: &mut Desk) {
        self.point_at(if matches!(sent, Sent::Again(_)) { AGAIN } else { DATA }, numbers, desk);
        if has_cwr {
            self.point_at(REDUCED, numbers, desk);
        }
    }

    fn point_of_ack(&self, ack: &AckSeen, is_new: bool, desk: &mut Desk) {
        if !desk.draws(self.number) {
            return;
        }
        if is_new {
            desk.point(self.point(ACK, ack.number, ack.number, desk.now));
        }
        if let Some(edge) = ack.edge {
            desk.point(self.point(WINDOW, edge, edge, desk.now));
        }
        for &(from, to) in ack.blocks {
            desk.point(self.point(SACK, from, to, desk.now));
        }
    }

    fn point_at(&self, kind: u32, numbers: Numbers, desk: &mut Desk) {
        if let Some((from, to)) = numbers.filter(|_| desk.draws(self.number)) {
            desk.point(self.point(kind, from, to, desk.now));
        }
    }

    fn point(&self, kind: u32, from: u64, to: u64, now: Time) -> PointRow {
        let counted = |number: u64| number as f64 - self.base as f64;
        PointRow { flow: self.number, time_s: now.seconds(), kind, from: counted(from), to: counted(to) }
    }
}

impl Kept {
    pub fn add(&mut self, other: &Kept) {
        (0..3).for_each(|kind| self.bytes[kind] += other.bytes[kind]);
        self.sent += other.sent;
        self.again_fast += other.again_fast;
        self.again_timeout += other.again_timeout;
        self.needless += other.needless;
        self.timeouts += other.timeouts;
        self.late += other.late;
        self.drops += other.drops;
        self.marks += other.marks;
        self.ce += other.ce;
        self.echoes += other.echoes;
        self.reduced += other.reduced;
        self.reactions += other.reactions;
        self.reaction_s += other.reaction_s;
        self.timed_reactions += other.timed_reactions;
        self.lockouts += other.lockouts;
        self.lockout += other.lockout;
        self.unseen += other.unseen;
    }

    pub fn reaction_mean_s(&self) -> f64 {
        self.reaction_s / self.timed_reactions as f64
    }
}

fn mean(rtt: &Histogram<5>) -> Option<Span> {
    Span::from_secs_f64(rtt.mean_s())
}

/// Places in [`crate::columns::POINTS`].
const DATA: u32 = 0;
const AGAIN: u32 = 1;
const ACK: u32 = 2;
const WINDOW: u32 = 3;
const SACK: u32 = 4;
const MARK: u32 = 5;
const DROP: u32 = 6;
const ECHO: u32 = 7;
const REDUCED: u32 = 8;
