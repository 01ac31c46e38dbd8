//! Numbers with units as people write them: `10 Mbps`, `5 ms`, `64 KB`, `120 packets`.

use crate::{Rate, Span};

/// An amount of buffer, in the unit in which it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Packets(f64),
    Bytes(f64),
}

/// Reads a length of time. The error says what is wrong and what would do.
pub fn span(text: &str) -> Result<Span, String> {
    let (number, unit) = split(text)?;
    let seconds = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(unit_error(text, unit, "s, ms, us, ns, min or h, as in \"5 ms\"")),
    };
    Span::from_secs_f64(number * seconds).ok_or_else(|| format!("\"{text}\" must be between 0 and 213 days"))
}

/// Reads a rate in bits per second.
pub fn rate(text: &str) -> Result<Rate, String> {
    let (number, unit) = split(text)?;
    let bps = match unit {
        "bps" => 1.0,
        "kbps" | "Kbps" => 1e3,
        "Mbps" => 1e6,
        "Gbps" => 1e9,
        "Tbps" => 1e12,
        _ => return Err(unit_error(text, unit, "bps, kbps, Mbps, Gbps or Tbps, as in \"10 Mbps\"")),
    };
    let bps = number * bps;
    if bps < 0.5 {
        return Err(format!("\"{text}\" must be above 0: nothing would ever be sent"));
    }
    if bps > 1e13 {
        return Err(format!("\"{text}\" must be at most 10 Tbps"));
    }
    Rate::from_bps((bps + 0.5) as u64).ok_or_else(|| format!("\"{text}\" must be above 0"))
}

/// Reads an amount of packets or bytes; a bare number means packets.
pub fn amount(text: &str) -> Result<Amount, String> {
    let (number, unit) = split(text)?;
    if number < 0.0 {
        return Err(format!("\"{text}\" must not be negative"));
    }
    match unit {
        "" | "packets" | "packet" => Ok(Amount::Packets(number)),
        "B" | "bytes" => Ok(Amount::Bytes(number)),
        "KB" | "kB" => Ok(Amount::Bytes(number * 1e3)),
        "MB" => Ok(Amount::Bytes(number * 1e6)),
        "GB" => Ok(Amount::Bytes(number * 1e9)),
        "KiB" => Ok(Amount::Bytes(number * 1024.0)),
        "MiB" => Ok(Amount::Bytes(number * 1024.0 * 1024.0)),
        _ => Err(unit_error(text, unit, "packets, B, KB, MB, GB, KiB or MiB, as in \"120 packets\" or \"64 KB\"")),
    }
}

/// Reads a bare finite number.
pub fn number(text: &str) -> Result<f64, String> {
    match split(text)? {
        (number, "") => Ok(number),
        (_, unit) => Err(format!("\"{text}\" must be a bare number, without \"{unit}\"")),
    }
}

fn split(text: &str) -> Result<(f64, &str), String> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(at, c)| !(c.is_ascii_digit() || "+-._".contains(c) || exponent(text, at)))
        .map_or(text.len(), |(at, _)| at);
    let number: f64 = text[..end].replace('_', "").parse().map_err(|_| format!("\"{text}\" is not a number with a unit"))?;
    if !number.is_finite() {
        return Err(format!("\"{text}\" is too large"));
    }
    Ok((number, text[end..].trim()))
}

/// Whether the character at `at` is the `e` of a number such as `1e9`.
fn exponent(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes[at], b'e' | b'E')
        && at > 0
        && bytes[at - 1].is_ascii_digit()
        && bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-'))
}

fn unit_error(text: &str, unit: &str, wanted: &str) -> String {
    if unit.is_empty() {
        format!("\"{text}\" needs a unit: {wanted}")
    } else {
        format!("\"{text}\" has the unknown unit \"{unit}\": use {wanted}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!(Ok(Span::from_millis(5)), span("5 ms"));
        assert_eq!(Ok(Span::from_millis(1500)), span("1.5s"));
        assert_eq!(Ok(Span::from_micros(20)), span("2e1us"));
        assert_eq!(10_000_000, rate("10 Mbps").unwrap().bps());
        assert_eq!(Ok(Amount::Packets(120.0)), amount("120 packets"));
        assert_eq!(Ok(Amount::Packets(120.0)), amount("120"));
        assert_eq!(Ok(Amount::Bytes(64_000.0)), amount("64 KB"));
        assert_eq!(Ok(0.002), number("2e-3"));
    }

    #[test]
    fn a_wrong_quantity_says_what_would_do() {
        assert!(span("5").unwrap_err().contains("needs a unit"));
        assert!(span("5 parsec").unwrap_err().contains("unknown unit \"parsec\""));
        assert!(span("-1 s").unwrap_err().contains("between 0"));
        assert!(rate("0 Mbps").unwrap_err().contains("above 0"));
        assert!(rate("nan Mbps").is_err());
        assert!(rate("1e300 Mbps").is_err());
        assert!(amount("-3").is_err());
    }
}
