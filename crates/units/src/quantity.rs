//! Numbers with units as people write them: `10 Mbps`, `5 ms`, `64 KB`, `120 packets`.

use crate::{Rate, Span};

/// An amount of buffer, in the unit in which it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketsOrBytes {
    Packets(f64),
    Bytes(f64),
}

impl PacketsOrBytes {
    /// The amount in packets of this size.
    pub fn in_packets_of(self, packet_bytes: u32) -> f64 {
        match self {
            PacketsOrBytes::Packets(packets) => packets,
            PacketsOrBytes::Bytes(bytes) => bytes / f64::from(packet_bytes),
        }
    }
}

/// A unit, all its spellings, and its size in the unit that results have: seconds, bits per second, bytes or packets.
pub struct Unit {
    /// The first is the one that messages and pages show.
    pub spellings: &'static [&'static str],
    pub factor: f64,
}

const fn new_unit(factor: f64, spellings: &'static [&'static str]) -> Unit {
    Unit { spellings, factor }
}

/// The units of a time. `m` is left out: it is a minute to some readers and a metre, or a thousandth, to others.
pub const TIME_UNITS: &[Unit] = &[
    new_unit(1.0, &["s", "sec", "secs", "second", "seconds"]),
    new_unit(1e-3, &["ms", "msec", "msecs", "millisecond", "milliseconds"]),
    // The micro sign and the Greek letter look identical, and keyboards have either.
    new_unit(1e-6, &["us", "\u{b5}s", "\u{3bc}s", "usec", "usecs", "microsecond", "microseconds"]),
    new_unit(1e-9, &["ns", "nsec", "nsecs", "nanosecond", "nanoseconds"]),
    new_unit(60.0, &["min", "mins", "minute", "minutes"]),
    new_unit(3600.0, &["h", "hr", "hrs", "hour", "hours"]),
    new_unit(86_400.0, &["d", "day", "days"]),
];

/// The units of a rate, those of `tc` that count bits among them.
///
/// [`AMBIGUOUS_RATE_UNITS`] and all units with a `B` are excluded.
pub const RATE_UNITS: &[Unit] = &[
    new_unit(1.0, &["bps", "bit/s", "b/s", "bit"]),
    new_unit(1e3, &["kbps", "Kbps", "kbit/s", "Kbit/s", "kb/s", "Kb/s", "kbit", "Kbit"]),
    new_unit(1e6, &["Mbps", "Mbit/s", "mbit/s", "Mb/s", "Mbit", "mbit"]),
    new_unit(1e9, &["Gbps", "Gbit/s", "gbit/s", "Gb/s", "Gbit", "gbit"]),
    new_unit(1e12, &["Tbps", "Tbit/s", "tbit/s", "Tb/s", "Tbit", "tbit"]),
];

/// They are bytes per second to `tc`, and bits per second to most others.
const AMBIGUOUS_RATE_UNITS: &[&str] = &["mbps", "gbps", "tbps"];

/// The units of a size in bytes. `kb` and `mb` are left out: they may be bits.
pub const SIZE_UNITS: &[Unit] = &[
    new_unit(1.0, &["B", "byte", "bytes"]),
    new_unit(1e3, &["KB", "kB"]),
    new_unit(1e6, &["MB"]),
    new_unit(1e9, &["GB"]),
    new_unit(1024.0, &["KiB"]),
    new_unit(1024.0 * 1024.0, &["MiB"]),
    new_unit(1024.0 * 1024.0 * 1024.0, &["GiB"]),
];

/// The units of an amount of packets.
pub const PACKET_UNITS: &[Unit] = &[new_unit(1.0, &["packets", "packet"])];

const TIME_UNITS_HELP: &str = "s, ms, us, ns, min, h or d, as in \"5 ms\"";
const RATE_UNITS_HELP: &str = "bps, kbps, Mbps, Gbps or Tbps, as in \"10 Mbps\"";
const AMOUNT_UNITS_HELP: &str = "packets, B, KB, MB, GB, KiB, MiB or GiB, as in \"120 packets\" or \"64 KB\"";

/// Parses a time span. The error names the fault and valid forms.
pub fn parse_span(text: &str) -> Result<Span, String> {
    let (number, unit) = split_number_and_unit(text, "a time", "\"5 ms\"")?;
    let factor = unit_factor(TIME_UNITS, unit).ok_or_else(|| unit_error_message(text, unit, TIME_UNITS_HELP))?;
    Span::from_secs_f64(number * factor).ok_or_else(|| format!("{} must be between 0 and 213 days", quote_unless_number(text)))
}

/// Reads a rate in bits per second.
pub fn parse_rate(text: &str) -> Result<Rate, String> {
    let (number, unit) = split_number_and_unit(text, "a rate", "\"10 Mbps\"")?;
    if unit.contains('B') {
        return Err(format!("\"{text}\": \"{unit}\" counts bytes; a rate counts bits; fix: use Mbit/s"));
    }
    if AMBIGUOUS_RATE_UNITS.contains(&unit) {
        return Err(format!(
            "\"{text}\": \"{unit}\" is bytes per second to some tools and bits per second to others; fix: use {RATE_UNITS_HELP}"
        ));
    }
    let factor = unit_factor(RATE_UNITS, unit).ok_or_else(|| unit_error_message(text, unit, RATE_UNITS_HELP))?;
    let bps = number * factor;
    if bps < 0.5 {
        return Err(format!("{} must be above 0", quote_unless_number(text)));
    }
    if bps > 1e13 {
        return Err(format!("{} must be at most 10 Tbps", quote_unless_number(text)));
    }
    Rate::from_bps((bps + 0.5) as u64).ok_or_else(|| format!("{} must be above 0", quote_unless_number(text)))
}

/// Reads an amount of packets or bytes; a bare number means packets.
pub fn parse_packets_or_bytes(text: &str) -> Result<PacketsOrBytes, String> {
    let (number, unit) = split_number_and_unit(text, "an amount", "\"120 packets\" or \"64 KB\"")?;
    if number < 0.0 {
        return Err(format!("{} must not be negative", quote_unless_number(text)));
    }
    if unit.is_empty() {
        return Ok(PacketsOrBytes::Packets(number));
    }
    let packets = unit_factor(PACKET_UNITS, unit).map(|factor| PacketsOrBytes::Packets(number * factor));
    packets
        .or_else(|| unit_factor(SIZE_UNITS, unit).map(|factor| PacketsOrBytes::Bytes(number * factor)))
        .ok_or_else(|| unit_error_message(text, unit, AMOUNT_UNITS_HELP))
}

/// Reads a bare finite number.
pub fn parse_number(text: &str) -> Result<f64, String> {
    match split_number_and_unit(text, "a number", "0.5")? {
        (number, "") => Ok(number),
        (_, unit) => Err(format!("\"{text}\" must be a bare number, without \"{unit}\"")),
    }
}

/// Whether a text is a bare number, and nothing but that.
pub fn is_number(text: &str) -> bool {
    parse_number(text).is_ok()
}

fn unit_factor(units: &[Unit], written: &str) -> Option<f64> {
    units.iter().find(|unit| unit.spellings.contains(&written)).map(|unit| unit.factor)
}

/// The number at the beginning of a text, and its unit. `wanted` names the quantity in errors.
fn split_number_and_unit<'t>(text: &'t str, wanted: &str, example: &str) -> Result<(f64, &'t str), String> {
    let text = text.trim();
    // All bytes of a number are characters of their own, so the text can be cut where the first other byte is.
    let is_of_number = |at: usize, byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'_') || is_exponent_marker(text, at);
    let end = text.bytes().enumerate().find(|&(at, byte)| !is_of_number(at, byte)).map_or(text.len(), |(at, _)| at);
    let digits = &text[..end];
    let number = if digits.contains('_') { digits.replace('_', "").parse() } else { digits.parse() };
    let number = number.map_err(|_| format!("\"{text}\" is not {wanted}, as in {example}"))?;
    if !f64::is_finite(number) {
        return Err(format!("{} is too large", quote_unless_number(text)));
    }
    Ok((number, text[end..].trim()))
}

/// A value in a message: in quotes, unless it is a bare number.
fn quote_unless_number(text: &str) -> String {
    let text = text.trim();
    let is_number = text.contains(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok();
    if is_number { text.to_owned() } else { format!("\"{text}\"") }
}

/// Whether the character at `at` is the `e` of a number such as `1e9`.
fn is_exponent_marker(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    matches!(bytes[at], b'e' | b'E')
        && at > 0
        && bytes[at - 1].is_ascii_digit()
        && bytes.get(at + 1).is_some_and(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-'))
}

fn unit_error_message(text: &str, unit: &str, wanted: &str) -> String {
    if unit.is_empty() {
        format!("{} needs a unit: {wanted}", quote_unless_number(text))
    } else {
        format!("\"{text}\" has the unknown unit \"{unit}\"; fix: use {wanted}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        assert_eq!(Ok(Span::from_millis(5)), parse_span("5 ms"));
        assert_eq!(Ok(Span::from_millis(1500)), parse_span("1.5s"));
        assert_eq!(Ok(Span::from_micros(20)), parse_span("2e1us"));
        assert_eq!(10_000_000, parse_rate("10 Mbps").unwrap().bps());
        assert_eq!(Ok(PacketsOrBytes::Packets(120.0)), parse_packets_or_bytes("120 packets"));
        assert_eq!(Ok(PacketsOrBytes::Packets(120.0)), parse_packets_or_bytes("120"));
        assert_eq!(Ok(PacketsOrBytes::Bytes(64_000.0)), parse_packets_or_bytes("64 KB"));
        assert_eq!(Ok(0.002), parse_number("2e-3"));
    }

    #[test]
    fn a_rate_may_be_written_as_tables_tc_and_papers_write_it() {
        for unit in ["Mbps", "Mbit/s", "Mb/s", "Mbit", "mbit", "mbit/s"] {
            for text in [format!("10 {unit}"), format!("10{unit}"), format!("1e1{unit}")] {
                assert_eq!(Ok(Rate::from_bps(10_000_000).unwrap()), parse_rate(&text), "{text}");
            }
        }
        let bps = |text| parse_rate(text).map(Rate::bps);
        assert_eq!((Ok(512_000), Ok(512_000)), (bps("512kbit"), bps("512 kb/s")));
        assert_eq!((Ok(2_500_000_000), Ok(1_000_000_000_000)), (bps("2.5gbit"), bps("1 Tbit/s")));
        assert_eq!(Ok(9_600), bps("9600 bit/s"));
    }

    #[test]
    fn a_rate_that_is_or_may_be_in_bytes_is_refused_with_the_reason() {
        for text in ["10 mbps", "1 gbps", "1 tbps"] {
            let why = parse_rate(text).unwrap_err();
            assert!(why.contains("bytes per second to some tools") && why.contains("as in \"10 Mbps\""), "{text}: {why}");
        }
        for unit in ["MBps", "MB/s", "kB/s", "MB", "B"] {
            let text = format!("10 {unit}");
            assert_eq!(Err(format!("\"{text}\": \"{unit}\" counts bytes; a rate counts bits; fix: use Mbit/s")), parse_rate(&text));
        }
        for text in ["10 mb", "10 Mb", "10 M", "10"] {
            assert!(parse_rate(text).unwrap_err().contains("unit"), "{text}");
        }
    }

    #[test]
    fn a_time_may_be_written_as_people_write_it() {
        for text in ["2 d", "2 days", "2 day", "48 h", "48 hours", "2880 minutes", "172800 sec", "172800 seconds"] {
            assert_eq!(Ok(Span::from_secs(172_800)), parse_span(text), "{text}");
        }
        for text in ["20 us", "20 \u{b5}s", "20 \u{3bc}s", "20usec", "0.02 msec", "20000 nsecs"] {
            assert_eq!(Ok(Span::from_micros(20)), parse_span(text), "{text}");
        }
        assert!(parse_span("5 m").unwrap_err().contains("unknown unit \"m\""), "a minute, or a thousandth");
    }

    #[test]
    fn no_spelling_belongs_to_two_units() {
        let all: Vec<_> =
            [TIME_UNITS, RATE_UNITS, SIZE_UNITS, PACKET_UNITS].into_iter().flatten().flat_map(|unit| unit.spellings).collect();
        for (at, spelling) in all.iter().enumerate() {
            assert!(!all[..at].contains(spelling), "{spelling}");
        }
    }

    #[test]
    fn a_text_without_a_number_is_refused_by_its_kind() {
        assert_eq!(Err("\"fast\" is not a rate, as in \"10 Mbps\"".to_owned()), parse_rate("fast"));
        assert_eq!(Err("\"soon\" is not a time, as in \"5 ms\"".to_owned()), parse_span("soon"));
        assert_eq!(Err("\"inf\" is not a number, as in 0.5".to_owned()), parse_number("inf"));
    }

    #[test]
    fn a_bare_number_is_not_quoted_in_a_message() {
        assert_eq!(Err("-1 must not be negative".to_owned()), parse_packets_or_bytes("-1"));
        assert_eq!(Err("\"-1 KB\" must not be negative".to_owned()), parse_packets_or_bytes("-1 KB"));
        assert!(parse_span("5").unwrap_err().starts_with("5 needs a unit: s, ms, "));
        assert!(parse_rate(" 1e400 ").unwrap_err().starts_with("1e400 is too large"));
        assert!(parse_rate("0 Mbps").unwrap_err().starts_with("\"0 Mbps\" must be above 0"));
    }

    #[test]
    fn a_wrong_quantity_says_what_would_do() {
        assert!(parse_span("5").unwrap_err().contains("needs a unit"));
        assert!(parse_span("5 parsec").unwrap_err().contains("unknown unit \"parsec\""));
        assert!(parse_span("-1 s").unwrap_err().contains("between 0"));
        assert!(parse_rate("0 Mbps").unwrap_err().contains("above 0"));
        assert!(parse_rate("nan Mbps").is_err());
        assert!(parse_rate("1e300 Mbps").is_err());
        assert!(parse_packets_or_bytes("-3").is_err());
    }
}
