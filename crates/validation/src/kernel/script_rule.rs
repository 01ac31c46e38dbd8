//! Rules of the engine from a case's script, which drops, marks or delays single packets.

use ecnlab_sim::{PacketSelector, ScriptRule};

use super::case::{PacketMatch, ScriptLine, Side};
use super::segment_map::SegmentBoundaries;

/// Converts a line of the script from bytes to our segment numbers.
///
/// # Errors
/// The feature of the line that is not supported.
pub fn script_rule(line: &ScriptLine, segments: &SegmentBoundaries) -> Result<ScriptRule, String> {
    let selector = match &line.packets {
        PacketMatch::Bytes { of, nth } if line.side == Side::A => {
            let of = segments.first_at_or_after(of.start)..segments.first_at_or_after(of.end);
            PacketSelector::Segments { of, flow: None, transmission: *nth }
        }
        PacketMatch::Bytes { .. } => return Err("not built: a script that selects the answer's data by its bytes".to_owned()),
        PacketMatch::Flagged { flag, nth } => PacketSelector::Flagged { flag: *flag, nth: *nth },
        PacketMatch::Numbers(numbers) => PacketSelector::Numbers(numbers.clone()),
        PacketMatch::During(times) => PacketSelector::During(times.clone()),
    };
    Ok(ScriptRule { selector, action: line.action })
}
