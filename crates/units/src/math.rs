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

/// Cube root, correctly rounded.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
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
    fn squaring_agrees_with_repeated_multiplication() {
        assert_eq!(1.0, powi(0.998, 0));
        assert!((powi(0.998, 13) - (0..13).fold(1.0, |p, _| p * 0.998)).abs() < 1e-15);
        assert_eq!(0.0, powi(0.5, u64::MAX));
    }
}
