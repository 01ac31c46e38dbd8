//! Draws from distributions, the same on every machine.

use crate::{Rng, math};

/// Exponential with mean 1, by inversion.
pub fn exponential(rng: &mut Rng) -> f64 {
    -math::ln(1.0 - rng.uniform())
}

/// Normal with mean 0 and standard deviation 1, by the polar method (Marsaglia and Bray 1964). The second draw of each pair is not used,
/// so that a draw depends on nothing but the stream.
pub fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (u, v) = (2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            return u * (-2.0 * math::ln(square) / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 200_000;

    /// The first four moments about zero.
    fn moments(draw: impl Fn(&mut Rng) -> f64) -> [f64; 4] {
        let mut rng = Rng::for_role(1, "test");
        let mut sums = [0.0; 4];
        for _ in 0..DRAWS {
            let x = draw(&mut rng);
            (1..).zip(&mut sums).for_each(|(power, sum)| *sum += math::powi(x, power));
        }
        sums.map(|sum| sum / f64::from(DRAWS))
    }

    /// Five standard errors of a moment's mean: the square root of (moment of twice the order - moment squared) / draws.
    fn within(moments: [f64; 4], expected: [f64; 4], twice: [f64; 4]) {
        for at in 0..4 {
            let error = 5.0 * ((twice[at] - expected[at] * expected[at]) / f64::from(DRAWS)).sqrt();
            assert!((moments[at] - expected[at]).abs() < error, "moment {}: {} against {}", at + 1, moments[at], expected[at]);
        }
    }

    #[test]
    fn the_moments_of_the_normal_distribution_are_0_1_0_and_3() {
        within(moments(normal), [0.0, 1.0, 0.0, 3.0], [1.0, 3.0, 15.0, 105.0]);
    }

    #[test]
    fn the_moments_of_the_exponential_distribution_are_factorials() {
        within(moments(exponential), [1.0, 2.0, 6.0, 24.0], [2.0, 24.0, 720.0, 40_320.0]);
    }
}
