//! Numbers as ns-2 prints them, without a detour over floating point.

use std::str::FromStr;

const PICOS_PER_S: u128 = 1_000_000_000_000;

/// A whole number in digits, nothing else; `None` if it does not fit.
pub fn parse_decimal<T: FromStr>(digits: &[u8]) -> Option<T> {
    text_without_plus(digits)?.parse().ok()
}

/// A whole number in hexadecimal digits, nothing else.
pub fn parse_hexadecimal(digits: &[u8]) -> Option<u32> {
    u32::from_str_radix(text_without_plus(digits)?, 16).ok()
}

/// The text of digits; the standard library would accept a plus sign before them.
fn text_without_plus(digits: &[u8]) -> Option<&str> {
    std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))
}

/// Seconds as C's `%g` prints them, in picoseconds: `1.355637`, `12`, `5e-05`. To the nearest picosecond, 213 days at most.
pub fn parse_seconds(text: &[u8]) -> Option<u64> {
    let (mantissa, exponent) = match text.iter().position(|&byte| byte == b'e' || byte == b'E') {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|&byte| byte == b'.') {
        Some(point) => (&mantissa[..point], &mantissa[point + 1..]),
        None => (mantissa, &[][..]),
    };
    if exponent == 0 && fraction.len() <= 12 {
        return fixed_point_picos(whole, fraction);
    }
    let digits = [whole, fraction].concat();
    mantissa_exponent_to_picos(parse_decimal(&digits)?, exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?)
}

/// Seconds without an exponent, as ns-2 prints nearly all.
fn fixed_point_picos(whole: &[u8], fraction: &[u8]) -> Option<u64> {
    let fraction_picos = if fraction.is_empty() { 0 } else { parse_decimal::<u64>(fraction)? * 10_u64.pow(12 - fraction.len() as u32) };
    parse_decimal::<u64>(whole)?.checked_mul(PICOS_PER_S as u64)?.checked_add(fraction_picos)
}

/// `mantissa * 10^exponent` seconds.
fn mantissa_exponent_to_picos(mantissa: u64, exponent: i32) -> Option<u64> {
    let picos = match exponent {
        0..=7 => u128::from(mantissa) * 10_u128.pow(exponent as u32) * PICOS_PER_S,
        -38..0 => {
            let divisor = 10_u128.pow(exponent.unsigned_abs());
            (u128::from(mantissa) * PICOS_PER_S + divisor / 2) / divisor
        }
        ..-38 => 0,
        _ => return (mantissa == 0).then_some(0),
    };
    u64::try_from(picos).ok()
}

fn parse_exponent(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    parse_decimal::<u32>(digits).and_then(|number| i32::try_from(number).ok()).map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_to_the_picosecond() {
        for (text, picos) in [
            ("0.1", Some(100_000_000_000)),
            ("12", Some(12_000_000_000_000)),
            ("1.355637", Some(1_355_637_000_000)),
            ("0.000000000001", Some(1)),
            ("5e-05", Some(50_000_000)),
            ("1.2e+02", Some(120_000_000_000_000)),
            ("0.1234567890126", Some(123_456_789_013)),
            ("1e400", None),
            ("0e400", Some(0)),
            ("1e-400", Some(0)),
            ("99999999", None),
            ("-1", None),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("nan", None),
        ] {
            assert_eq!(picos, parse_seconds(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_number_that_does_not_fit_is_none() {
        assert_eq!(Some(4_294_967_295), parse_decimal::<u32>(b"4294967295"));
        assert_eq!(None, parse_decimal::<u32>(b"4294967296"));
        assert_eq!(None, parse_decimal::<u64>(b"99999999999999999999"));
        assert_eq!((Some(0x1ff), None, None), (parse_hexadecimal(b"1ff"), parse_hexadecimal(b""), parse_hexadecimal(b"+1")));
    }
}
