//! Conversion of RED's parameters by `tc` for the kernel (iproute2, tc-red(8)). The results are whole bytes, a weight that is a power of
//! two, a probability in 32 bits, and a table of how far an idle period halves the average.

use ecnlab_units::{Rate, math};

/// Time in which the kernel's packet scheduler reckons, in picoseconds.
const PSCHED_TICK_PICOS: f64 = 64_000.0;
const MICROSECOND_PICOS: f64 = 1_000_000.0;
/// The largest weight is 2^-1, and 2^-31 the smallest.
const WEIGHT_LOG_RANGE: std::ops::Range<u32> = 1..32;
const IDLE_TABLE_CELLS: usize = 256;
/// Halvings beyond which nothing is left of an average.
const MAX_IDLE_SHIFT: f64 = 31.0;

/// How much of the average an idle spell takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleDecayTable {
    /// An idle spell is looked up in cells of `2^cell_log` microseconds.
    pub cell_log: u32,
    shifts: [u8; IDLE_TABLE_CELLS],
}

/// The logarithm of the weight: the largest weight at which a burst of `burst` packets of `avpkt` bytes is let pass at `min`, from
/// `burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W`. Nothing if there is none.
pub fn weight_log(min: u64, burst: u32, avpkt: u32) -> Option<u32> {
    let wanted = f64::from(burst) + 1.0 - min as f64 / f64::from(avpkt);
    if wanted < 1.0 {
        return None;
    }
    WEIGHT_LOG_RANGE.into_iter().find(|&log| {
        let weight = weight_from_wlog(log);
        wanted <= (1.0 - math::powi(1.0 - weight, u64::from(burst))) / weight
    })
}

/// The logarithm of the slope: the largest power of two by which `probability` over `delta` bytes can be multiplied and stay at most 2.
/// Nothing if there is none.
pub fn probability_slope_log(delta: u64, probability: f64) -> Option<u32> {
    let mut slope = probability / delta as f64;
    (0..32).find(|_| {
        let found = slope > 1.0;
        slope *= 2.0;
        found
    })
}

impl IdleDecayTable {
    /// The table for a weight of `2^-weight_log` on a link of this rate, reckoned in microseconds or, as today's tc does, in ticks.
    pub fn new(weight_log: u32, avpkt: u32, rate: Rate, in_ticks: bool) -> IdleDecayTable {
        let unit = if in_ticks { PSCHED_TICK_PICOS } else { MICROSECOND_PICOS };
        // tc counts whole units.
        let packet_time = (rate.transmission_time(avpkt).picos() as f64 / unit).floor().max(1.0);
        let shifts_per_unit = -math::ln(1.0 - weight_from_wlog(weight_log)) / packet_time;
        let longest = MAX_IDLE_SHIFT / shifts_per_unit;
        // tc refuses a rate at which no cell is long enough; here the longest one serves.
        let cell_log = (0..31).find(|&log| longest / ((1u64 << log) as f64) < 512.0).unwrap_or(31);
        let mut shifts = [0; IDLE_TABLE_CELLS];
        for (cell, shifts) in shifts.iter_mut().enumerate().skip(1) {
            *shifts = (((cell as u64) << cell_log) as f64 * shifts_per_unit).min(MAX_IDLE_SHIFT) as u8;
        }
        shifts[IDLE_TABLE_CELLS - 1] = MAX_IDLE_SHIFT as u8;
        IdleDecayTable { cell_log, shifts }
    }

    /// The average after so many idle microseconds.
    pub fn decay(&self, average: u64, idle_micros: u64) -> u64 {
        let idle = idle_micros.min(255 << self.cell_log);
        match self.shifts[(idle >> self.cell_log) as usize & (IDLE_TABLE_CELLS - 1)] {
            0 => {
                // Before the first halving the kernel takes a straight line, half at most.
                let taken = ((u128::from(average) * u128::from(idle)) >> self.cell_log) as u64;
                let half = average >> 1;
                if taken < half { average - taken } else { half }
            }
            shifts => average >> shifts,
        }
    }
}

fn weight_from_wlog(log: u32) -> f64 {
    1.0 / (1u64 << log) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of tc-red(8): min 30000, max 90000, avpkt 1000, burst 55, bandwidth 10 Mbit.
    #[test]
    fn the_manual_s_example_has_the_largest_weight_that_lets_its_burst_pass() {
        let log = weight_log(30_000, 55, 1000).unwrap();
        let let_pass = |log: u32| (1.0 - (1.0 - weight_from_wlog(log)).powi(55)) / weight_from_wlog(log);
        assert!(let_pass(log) >= 26.0 && let_pass(log - 1) < 26.0, "{log}");
    }

    #[test]
    fn a_burst_below_the_lower_threshold_has_no_weight() {
        assert_eq!((None, Some(1)), (weight_log(30_000, 28, 1000), weight_log(30_000, 30, 1000)));
    }

    #[test]
    fn the_slope_is_the_next_power_of_two_and_never_steeper_than_asked() {
        // 0.02 over 60000 bytes is 2^-21.5 a byte.
        let log = probability_slope_log(60_000, 0.02).unwrap();
        let slope = 1.0 / (1u64 << log) as f64;
        assert!(slope <= 0.02 / 60_000.0 && 2.0 * slope > 0.02 / 60_000.0, "{log}");
        assert_eq!(None, probability_slope_log(60_000, 0.0));
    }

    fn decay_table(in_ticks: bool) -> IdleDecayTable {
        IdleDecayTable::new(5, 1000, Rate::from_bps(10_000_000).unwrap(), in_ticks)
    }

    #[test]
    fn an_idle_spell_takes_the_more_the_longer_it_is_and_all_in_the_end() {
        let decay_table = decay_table(false);
        let left: Vec<u64> = (0..400).map(|cells| decay_table.decay(1 << 30, cells << decay_table.cell_log)).collect();
        assert_eq!(1 << 30, left[0]);
        assert!(left.windows(2).all(|pair| pair[0] >= pair[1]));
        assert_eq!(0, left[255]);
    }

    /// The table counts -ln(1 - W) a packet time as one halving, so 100 packets at W = 1/32 are 3.17 of them, cut to 3.
    #[test]
    fn the_table_halves_as_often_as_the_manual_s_formula_says() {
        let hundred_packets = 100 * 800;
        assert_eq!(1000 >> 3, decay_table(false).decay(1000, hundred_packets));
    }

    #[test]
    fn a_table_in_ticks_takes_an_idle_spell_for_15_times_shorter_than_it_is() {
        let empty = |decay_table: IdleDecayTable| (1..).find(|&millis| decay_table.decay(1 << 30, millis * 1000) == 0).unwrap();
        let ratio = empty(decay_table(true)) as f64 / empty(decay_table(false)) as f64;
        assert!((15.0..=16.5).contains(&ratio), "{ratio}");
    }
}
