//! Text of bounded length, built without allocation.

/// At most `N` bytes; callers ensure that the pushed bytes fit.
#[derive(Clone, Copy, Debug)]
pub struct FixedText<const N: usize> {
    bytes: [u8; N],
    length: u8,
}

/// Digits of the longest number.
const MAX_DIGITS: usize = 20;
/// The numbers from 00 to 99.
const DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

impl<const N: usize> FixedText<N> {
    #[inline]
    pub fn new() -> FixedText<N> {
        const { assert!(N <= u8::MAX as usize) };
        FixedText { bytes: [0; N], length: 0 }
    }

    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn push_bytes(&mut self, bytes: &[u8]) {
        let start = usize::from(self.length);
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len() as u8;
    }

    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn push_byte_and_number(&mut self, byte: u8, number: u64) {
        self.push_bytes(&[byte]);
        self.push_number(number);
    }

    /// A number in decimal digits.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn push_number(&mut self, number: u64) {
        if number < 10 {
            return self.push_bytes(&[b'0' + number as u8]);
        }
        let (digits, first) = zero_padded_digits(number);
        self.push_bytes(&digits[first..]);
    }

    /// The digits behind a decimal point, `digits_shown` of them, 20 at most, without trailing zeros.
    ///
    /// # Panics
    /// If it does not fit.
    #[inline]
    pub fn push_trimmed_fraction(&mut self, fraction: u64, digits_shown: usize) {
        let (digits, _) = zero_padded_digits(fraction);
        let shown = &digits[MAX_DIGITS - digits_shown..];
        let zeros = shown.iter().rev().take_while(|&&digit| digit == b'0').count();
        self.push_bytes(&shown[..shown.len() - zeros]);
    }
}

/// The digits of a number, padded with leading zeros, and the index of the first that is not padding.
#[inline]
fn zero_padded_digits(mut number: u64) -> ([u8; MAX_DIGITS], usize) {
    let mut digits = [b'0'; MAX_DIGITS];
    let mut first = MAX_DIGITS;
    while number >= 10 {
        first -= 2;
        digits[first..first + 2].copy_from_slice(&DIGIT_PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 {
        first -= 1;
        digits[first] = b'0' + number as u8;
    }
    let zeros = digits[first..].iter().take_while(|&&digit| digit == b'0').count();
    (digits, first + zeros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut FixedText<40>)) -> String {
        let mut text = FixedText::new();
        push(&mut text);
        String::from_utf8(text.as_slice().to_vec()).unwrap()
    }

    #[test]
    fn numbers_of_any_length_are_written_in_full() {
        for number in [0, 7, 10, 99, 100, 101, 1_000, 65_535, 1_000_000, u64::MAX] {
            assert_eq!(number.to_string(), text(|text| text.push_number(number)));
        }
    }

    #[test]
    fn a_fraction_keeps_leading_zeros_and_drops_trailing_ones() {
        for (fraction, digits_shown, shown) in [(105_032, 6, "105032"), (100_000, 6, "1"), (32, 6, "000032"), (10, 12, "00000000001")] {
            assert_eq!(shown, text(|text| text.push_trimmed_fraction(fraction, digits_shown)));
        }
    }
}
