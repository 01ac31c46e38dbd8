//! The few real functions that results depend on, computed the same on every machine.
//!
//! The platform's `exp`, `ln` and `pow` differ between C libraries; these are software (musl's, through
//! the pinned `libm` crate) or plain multiplications, which IEEE 754 fixes to the bit.

/// `e^x`.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// `base^exponent`.
pub fn pow(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

/// Density of the standard normal distribution.
pub fn normal_pdf(x: f64) -> f64 {
    exp(-x * x / 2.0) / (2.0 * std::f64::consts::PI).sqrt()
}

/// Distribution function of the standard normal distribution.
pub fn normal_cdf(x: f64) -> f64 {
    libm::erfc(-x / std::f64::consts::SQRT_2) / 2.0
}

/// The value below which a standard normal variable stays with probability `p`: Abramowitz and Stegun 26.2.23, then two of Newton's steps.
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let p = p.max(f64::MIN_POSITIVE);
    let t = (-2.0 * ln(p)).sqrt();
    let numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    let denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    let mut x = numerator / denominator - t;
    for _ in 0..2 {
        x -= (normal_cdf(x) - p) / normal_pdf(x);
    }
    x
}

/// Cube root, correctly rounded.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// `x` where it is above zero, otherwise +0. `f64::max` leaves open which zero it returns of two, and machines differ.
pub fn positive_part(x: f64) -> f64 {
    if x > 0.0 { x } else { 0.0 }
}

/// `base^exponent` by squaring.
pub fn powi(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result *= square;
        }
        square *= square;
        rest >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_of_cubes_are_exact() {
        assert_eq!((0.0, 3.0, -0.5), (cbrt(0.0), cbrt(27.0), cbrt(-0.125)));
    }

    #[test]
    fn the_positive_part_of_a_negative_zero_is_zero() {
        let zero = 0.0_f64.to_bits();
        assert_eq!([zero, zero, zero], [-0.0, -1.0, f64::NAN].map(|x| positive_part(x).to_bits()));
        assert_eq!(0.5, positive_part(0.5));
    }

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        let table = [(0.5, 0.0), (0.975, 1.959963984540054), (0.999, 3.090232306167813), (1e-10, -6.361340902404056)];
        for (p, x) in table {
            assert!((normal_quantile(p) - x).abs() < 1e-8, "{p}: {}", normal_quantile(p));
        }
        assert!(normal_quantile(0.0).is_finite());
    }

    #[test]
    fn squaring_agrees_with_repeated_multiplication() {
        assert_eq!(1.0, powi(0.998, 0));
        assert!((powi(0.998, 13) - (0..13).fold(1.0, |p, _| p * 0.998)).abs() < 1e-15);
        assert_eq!(0.0, powi(0.5, u64::MAX));
    }
}
