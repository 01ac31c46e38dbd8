//! What `tc` makes of RED's parameters before the kernel gets them (iproute2, tc-red(8)): whole bytes, a weight that is a power of two, a
//! probability in 32 bits, and a table that says how far an idle spell halves the average.

use ecnlab_units::{Rate, math};

/// Time in which the kernel's packet scheduler reckons, in picoseconds.
const TICK_PICOS: f64 = 64_000.0;
const MICROSECOND_PICOS: f64 = 1_000_000.0;
/// The largest weight is 2^-1, and 2^-31 the smallest.
const WEIGHTS: std::ops::Range<u32> = 1..32;
const CELLS: usize = 256;
/// Halvings beyond which nothing is left of an average.
const MOST_HALVINGS: f64 = 31.0;

/// How much of the average an idle spell takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damping {
    /// An idle spell is looked up in cells of `2^cell_log` microseconds.
    pub(crate) cell_log: u32,
    halvings: [u8; CELLS],
}

/// The logarithm of the weight: the largest weight at which a burst of `burst` packets of `avpkt` bytes is let pass at `min`, from
/// `burst + 1 - min / avpkt <= (1 - (1 - W)^burst) / W`. Nothing if there is none.
pub(crate) fn weight_log(min: u64, burst: u32, avpkt: u32) -> Option<u32> {
    let wanted = f64::from(burst) + 1.0 - min as f64 / f64::from(avpkt);
    if wanted < 1.0 {
        return None;
    }
    WEIGHTS.into_iter().find(|&log| {
        let weight = inverse_power(log);
        wanted <= (1.0 - math::powi(1.0 - weight, u64::from(burst))) / weight
    })
}

/// The logarithm of the slope: the largest power of two by which `probability` over `delta` bytes can be multiplied and stay at most 2.
/// Nothing if there is none.
pub(crate) fn slope_log(delta: u64, probability: f64) -> Option<u32> {
    let mut slope = probability / delta as f64;
    (0..32).find(|_| {
        let found = slope > 1.0;
        slope *= 2.0;
        found
    })
}

impl Damping {
    /// The table for a weight of `2^-weight_log` on a link of this rate, reckoned in microseconds or, as today's tc does, in ticks.
    pub(crate) fn new(weight_log: u32, avpkt: u32, rate: Rate, in_ticks: bool) -> Damping {
        let unit = if in_ticks { TICK_PICOS } else { MICROSECOND_PICOS };
        // tc counts whole units.
        let packet_time = (rate.transmission(avpkt).picos() as f64 / unit).floor().max(1.0);
        let halvings_per_unit = -math::ln(1.0 - inverse_power(weight_log)) / packet_time;
        let longest = MOST_HALVINGS / halvings_per_unit;
        // tc refuses a rate at which no cell is long enough; here the longest one serves.
        let cell_log = (0..31).find(|&log| longest / ((1u64 << log) as f64) < 512.0).unwrap_or(31);
        let mut halvings = [0; CELLS];
        for (cell, halvings) in halvings.iter_mut().enumerate().skip(1) {
            *halvings = (((cell as u64) << cell_log) as f64 * halvings_per_unit).min(MOST_HALVINGS) as u8;
        }
        halvings[CELLS - 1] = MOST_HALVINGS as u8;
        Damping { cell_log, halvings }
    }

    /// What is left of an average after so many idle microseconds.
    pub(crate) fn decay(&self, average: u64, idle_micros: u64) -> u64 {
        let idle = idle_micros.min(255 << self.cell_log);
        match self.halvings[(idle >> self.cell_log) as usize & (CELLS - 1)] {
            0 => {
                // Before the first halving the kernel takes a straight line, half at most.
                let taken = ((u128::from(average) * u128::from(idle)) >> self.cell_log) as u64;
                let half = average >> 1;
                if taken < half { average - taken } else { half }
            }
            halvings => average >> halvings,
        }
    }
}

fn inverse_power(log: u32) -> f64 {
    1.0 / (1u64 << log) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of tc-red(8): min 30000, max 90000, avpkt 1000, burst 55, bandwidth 10 Mbit.
    #[test]
    fn the_manual_s_example_has_the_largest_weight_that_lets_its_burst_pass() {
        let log = weight_log(30_000, 55, 1000).unwrap();
        let let_pass = |log: u32| (1.0 - (1.0 - inverse_power(log)).powi(55)) / inverse_power(log);
        assert!(let_pass(log) >= 26.0 && let_pass(log - 1) < 26.0, "{log}");
    }

    #[test]
    fn a_burst_below_the_lower_threshold_has_no_weight() {
        assert_eq!((None, Some(1)), (weight_log(30_000, 28, 1000), weight_log(30_000, 30, 1000)));
    }

    #[test]
    fn the_slope_is_the_next_power_of_two_and_never_steeper_than_asked() {
        // 0.02 over 60000 bytes is 2^-21.5 a byte.
        let log = slope_log(60_000, 0.02).unwrap();
        let slope = 1.0 / (1u64 << log) as f64;
        assert!(slope <= 0.02 / 60_000.0 && 2.0 * slope > 0.02 / 60_000.0, "{log}");
        assert_eq!(None, slope_log(60_000, 0.0));
    }

    fn damping(in_ticks: bool) -> Damping {
        Damping::new(5, 1000, Rate::from_bps(10_000_000).unwrap(), in_ticks)
    }

    #[test]
    fn an_idle_spell_takes_the_more_the_longer_it_is_and_all_in_the_end() {
        let damping = damping(false);
        let left: Vec<u64> = (0..400).map(|cells| damping.decay(1 << 30, cells << damping.cell_log)).collect();
        assert_eq!(1 << 30, left[0]);
        assert!(left.windows(2).all(|pair| pair[0] >= pair[1]));
        assert_eq!(0, left[255]);
    }

    /// The table counts -ln(1 - W) a packet time as one halving, so 100 packets at W = 1/32 are 3.17 of them, cut to 3.
    #[test]
    fn the_table_halves_as_often_as_the_manual_s_formula_says() {
        let hundred_packets = 100 * 800;
        assert_eq!(1000 >> 3, damping(false).decay(1000, hundred_packets));
    }

    #[test]
    fn a_table_in_ticks_takes_an_idle_spell_for_15_times_shorter_than_it_is() {
        let empty = |damping: Damping| (1..).find(|&millis| damping.decay(1 << 30, millis * 1000) == 0).unwrap();
        let ratio = empty(damping(true)) as f64 / empty(damping(false)) as f64;
        assert!((15.0..=16.5).contains(&ratio), "{ratio}");
    }
}
