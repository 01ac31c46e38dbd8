//! Sequence numbers of 64 bits out of the header's 32.

/// Expands numbers modulo 2^32 to 64 bits: each becomes the number that is nearest to the one before.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeqUnwrapper {
    last: Option<u64>,
}

impl SeqUnwrapper {
    /// Expands a number, to which the next one is then near.
    pub fn expand_and_track(&mut self, number: u32) -> u64 {
        let meant = self.expand(number);
        self.last = Some(meant);
        meant
    }

    /// Expands a number.
    pub fn expand(&self, number: u32) -> u64 {
        match self.last {
            None => FIRST_SEQ_OFFSET + u64::from(number),
            Some(last) => {
                let ahead = number.wrapping_sub(last as u32);
                last.checked_add_signed(i64::from(ahead as i32)).unwrap_or(last + u64::from(ahead))
            }
        }
    }
}

/// Offset for numbers below the first that was seen; a multiple of 2^32, so that the low bits are the header's.
const FIRST_SEQ_OFFSET: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_where_the_header_s_begin_again() {
        let mut space = SeqUnwrapper::default();
        let first = space.expand_and_track(u32::MAX - 9);
        assert_eq!(first + 20, space.expand_and_track(10));
        assert_eq!(first - 5, space.expand_and_track(u32::MAX - 14));
    }
}
