//! The Internet checksum (RFC 1071), and what a changed word makes of one (RFC 1624, equation 3: HC' = ~(~HC + ~m + m')).

/// The sum of the 16-bit words of an even number of bytes.
pub fn sum_words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// The ones' complement of a sum, in ones' complement arithmetic.
pub fn checksum_of_sum(sum: u32) -> u16 {
    !fold(sum)
}

/// Adds the carries.
pub fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Replaces the word at a place, and updates the checksum at another. A word that stays leaves the checksum alone, since zero has two forms.
pub fn write_word_and_update_checksum(packet: &mut [u8], at: usize, word: u16, checksum_at: usize) {
    let word_at = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let (before, old_checksum) = (word_at(at), word_at(checksum_at));
    if word != before {
        let new_checksum = checksum_of_sum(u32::from(!old_checksum) + u32::from(!before) + u32::from(word));
        packet[at..at + 2].copy_from_slice(&word.to_be_bytes());
        packet[checksum_at..checksum_at + 2].copy_from_slice(&new_checksum.to_be_bytes());
    }
}
