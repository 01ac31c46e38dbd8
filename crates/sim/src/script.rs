//! Scripted losses and marks at the entry of a link, for cases whose every packet is known.

use ecnlab_units::Level;

/// What to do to which packets of a link.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Data segments to drop: sequence number and which of its transmissions, from 0.
    pub drops: Vec<(u64, u32)>,
    /// Data segments to mark, likewise, and how loud.
    pub marks: Vec<(u64, u32, Level)>,
    /// Packets to drop by their number at this link, from 0, whatever they are.
    pub drop_numbers: Vec<u64>,
    passed: u64,
    seen: Vec<(u64, u32)>,
}

/// What the script does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Mark(Level),
    Drop,
}

impl Script {
    pub fn new(drops: Vec<(u64, u32)>, marks: Vec<(u64, u32, Level)>, drop_numbers: Vec<u64>) -> Script {
        Script { drops, marks, drop_numbers, ..Script::default() }
    }

    /// Decides about a packet that enters the link.
    pub fn fate(&mut self, seq: u64) -> Fate {
        let number = self.passed;
        self.passed += 1;
        if self.drop_numbers.contains(&number) {
            return Fate::Drop;
        }
        if !self.drops.iter().any(|&(s, _)| s == seq) && !self.marks.iter().any(|&(s, ..)| s == seq) {
            return Fate::Pass;
        }
        let transmission = self.count(seq);
        if self.drops.contains(&(seq, transmission)) {
            return Fate::Drop;
        }
        let mark = self.marks.iter().find(|&&(s, nth, _)| (s, nth) == (seq, transmission));
        mark.map_or(Fate::Pass, |&(.., level)| Fate::Mark(level))
    }

    fn count(&mut self, seq: u64) -> u32 {
        let at = self.seen.iter().position(|&(s, _)| s == seq).unwrap_or_else(|| {
            self.seen.push((seq, 0));
            self.seen.len() - 1
        });
        self.seen[at].1 += 1;
        self.seen[at].1 - 1
    }
}
