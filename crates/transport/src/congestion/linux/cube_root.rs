//! Cube root as Linux approximates it (tcp_cubic): a start value by the number's six leading bits, and one step of Newton's method.
//!
//! ```text
//! a = s 8^n and the rest below it, 8 <= s < 64
//! start   x = 2^n (65 cbrt(s - 3/8) + 5.9) / 64, which is about 1/30 above the root, where the step's error is smallest
//! step    (2 x + a / (x (x - 1))) / 3, with 341/1024 for a third
//! ```
//!
//! Linux refined the start values by hand; `START_VALUE_CORRECTIONS` lists the differences from the formula. Large roots are at most 1/500
//! off.

use ecnlab_units::math;

/// Fraction bits of start values.
const START_VALUE_SHIFT: u32 = 6;

/// Leading bits whose start values differ from the formula, and the differences.
const START_VALUE_CORRECTIONS: [(u64, i64); 16] = [
    (15, 2),
    (16, -1),
    (18, -1),
    (20, -1),
    (21, -1),
    (24, -1),
    (27, 1),
    (32, -1),
    (33, -1),
    (34, -1),
    (35, -1),
    (45, -1),
    (46, -1),
    (49, -1),
    (54, -1),
    (60, 1),
];

/// Cube root of a number of at least six bits, or zero.
pub fn cube_root(a: u64) -> u64 {
    if a == 0 {
        return 0;
    }
    let octaves = (u64::BITS - a.leading_zeros()).saturating_sub(4) / 3;
    let x = (start_value(a >> (3 * octaves)) << octaves) >> START_VALUE_SHIFT;
    (2 * x + a / (x * (x - 1))) * 341 / 1024
}

/// Start value for six leading bits.
fn start_value(leading: u64) -> u64 {
    let smooth = (65.0 * math::cbrt(leading as f64 - 0.375) + 5.9) as i64;
    let off = START_VALUE_CORRECTIONS.iter().find(|(known, _)| *known == leading).map_or(0, |(_, off)| *off);
    (smooth + off) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C = 410/1024 of CUBIC, and the distance to W_max.
    #[test]
    fn roots_are_a_five_hundredth_off_at_most() {
        for segments in 1..20_000 {
            let a = (1 << 40) / 410 * segments;
            let off = cube_root(a) as f64 / math::cbrt(a as f64) - 1.0;
            assert!(off.abs() < 0.002, "{segments} segments: {off}");
        }
        assert_eq!(0, cube_root(0));
    }

    #[test]
    fn start_values_rise_with_the_leading_bits() {
        let starts: Vec<u64> = (8..64).map(start_value).collect();
        assert!(starts.is_sorted_by(|one, next| one < next), "{starts:?}");
    }
}
