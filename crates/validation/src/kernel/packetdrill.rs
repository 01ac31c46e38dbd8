//! What the router does to single packets: the script of a case.

use std::ops::Range;

use ecnlab_sim::{PacketSelector, ScriptAction, ScriptRule, SelectorFlag};
use ecnlab_units::{CongestionLevel, Time};

use super::case::{A, Field, Packet};
use super::segments::SegmentBoundaries;

/// One line of a script.
#[derive(Clone, Debug)]
pub struct ScriptLine {
    /// Of the packets of which side.
    pub side: u8,
    pub packets: PacketMatch,
    pub act: ScriptAction,
}

/// How packets are told.
#[derive(Clone, Debug)]
pub enum PacketMatch {
    /// By the byte with which their data begins, and which transmission it is.
    Bytes {
        of: Range<u64>,
        nth: Option<u32>,
    },
    Flagged {
        flag: SelectorFlag,
        nth: Option<u32>,
    },
    /// By their number among all of the side.
    Numbers(Range<u64>),
    /// By when they come to the router.
    During(Range<Time>),
}

impl ScriptLine {
    pub(super) fn read(row: &Field) -> Result<ScriptLine, String> {
        let side = match row.field("direction")?.text()?.as_str() {
            "data" => 0,
            "ack" => 1,
            other => return Err(format!("{}direction must be \"data\" or \"ack\", not \"{other}\"", row.prefix())),
        };
        Ok(ScriptLine { side, packets: PacketMatch::read(row)?, act: act(row)? })
    }

    /// The same over our segments.
    ///
    /// # Errors
    /// What is not built of it.
    pub fn rule(&self, segments: &RecordedSegments) -> Result<ScriptRule, String> {
        let which = match &self.packets {
            PacketMatch::Bytes { of, nth } if self.side == A => {
                PacketSelector::Segments { of: segments.from(of.start)..segments.from(of.end), flow: None, transmission: *nth }
            }
            PacketMatch::Bytes { .. } => return Err("not built: a script that selects the answer's data by its bytes".to_owned()),
            PacketMatch::Flagged { flag, nth } => PacketSelector::Flagged { flag: *flag, nth: *nth },
            PacketMatch::Numbers(numbers) => PacketSelector::Numbers(numbers.clone()),
            PacketMatch::During(times) => PacketSelector::During(times.clone()),
        };
        Ok(ScriptRule { selector: which, action: self.act })
    }
}

impl PacketMatch {
    fn read(row: &Field) -> Result<PacketMatch, String> {
        let nth = row.optional("nth").map(|nth| nth.nth()).transpose()?;
        if let Some(seq) = row.optional("seq") {
            let (from, to) = seq.bytes()?;
            return Ok(PacketMatch::Bytes { of: from..to, nth });
        }
        if let Some(numbers) = row.optional("packets_of_direction") {
            let (first, last) = numbers.packets()?;
            return Ok(PacketMatch::Numbers(first..last + 1));
        }
        if let Some(during) = row.optional("during_us") {
            let times = during.rows()?;
            let [from, to] = times.as_slice() else { return during.wrong("a pair of times") };
            let (from, to) = (from.time()?, to.time()?);
            return if from > to { during.wrong("a pair with the earlier time first") } else { Ok(PacketMatch::During(from..to)) };
        }
        let flag = match row.field("flag")?.text()?.as_str() {
            "SYN" => SelectorFlag::Syn,
            "FIN" => SelectorFlag::Fin,
            "CWR" => SelectorFlag::Cwr,
            other => return Err(format!("{}flag must be SYN, FIN or CWR, not {other}", row.prefix())),
        };
        Ok(PacketMatch::Flagged { flag, nth })
    }
}

fn act(row: &Field) -> Result<ScriptAction, String> {
    Ok(match row.field("do")?.text()?.as_str() {
        "drop" => ScriptAction::Drop,
        "mark" => ScriptAction::Mark(CongestionLevel::Congested),
        "force-ce" => ScriptAction::ForceMark,
        "dup" => ScriptAction::Duplicate,
        "delay" => ScriptAction::Delay(row.field("later_us")?.span()?),
        other => return Err(format!("{}do: unknown action of a router \"{other}\"", row.prefix())),
    })
}

/// How a stream of bytes was cut into segments; segment 0 is the SYN.
#[derive(Debug)]
pub struct RecordedSegments {
    /// Where each begins, and one past its last byte.
    borders: Vec<(u64, u64)>,
}

impl RecordedSegments {
    /// The cuts of the packets of one side, as each byte was first sent.
    pub fn of<'a>(packets: impl Iterator<Item = &'a Packet>) -> RecordedSegments {
        let mut borders: Vec<(u64, u64)> = packets.filter(|packet| packet.nth.is_some()).map(|packet| (packet.seq, packet.end())).collect();
        borders.sort_unstable();
        borders.dedup();
        RecordedSegments { borders }
    }

    /// Those of the side that answers, whose SYN is no segment of its data.
    pub fn of_answer<'a>(packets: impl Iterator<Item = &'a Packet>) -> RecordedSegments {
        RecordedSegments::of(packets.filter(|packet| packet.len > 0))
    }

    /// The first segment that begins at a byte or later.
    pub fn from(&self, byte: u64) -> u64 {
        self.borders.partition_point(|&(start, _)| start < byte) as u64
    }

    /// The segment that has a byte; behind the last, the one that would follow.
    pub fn with(&self, byte: u64) -> u64 {
        self.borders.partition_point(|&(_, end)| end <= byte) as u64
    }

    /// Whether each byte lies in one segment and no two overlap.
    pub fn fit(&self) -> bool {
        self.borders.windows(2).all(|pair| pair[0].1 == pair[1].0)
    }
}

impl SegmentBoundaries for RecordedSegments {
    fn start(&self, segment: u64) -> u64 {
        let after_all = self.borders.last().map_or(1, |&(_, end)| end);
        self.borders.get(segment as usize).map_or(after_all, |&(start, _)| start)
    }

    fn end(&self, segment: u64) -> u64 {
        segment.checked_sub(1).and_then(|before| self.borders.get(before as usize)).map_or(0, |&(_, end)| end)
    }
}
