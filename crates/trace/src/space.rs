//! Sequence numbers that do not wrap.

/// Turns numbers modulo 2^32 into numbers that go on, each taken as the one nearest to the number before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Space {
    last: Option<u64>,
}

impl Space {
    /// The number that is meant; the next is taken as one near it.
    pub fn unwrapped(&mut self, number: u32) -> u64 {
        let meant = self.near(number);
        self.last = Some(meant);
        meant
    }

    /// The number that is meant.
    pub fn near(&self, number: u32) -> u64 {
        match self.last {
            None => BASE + u64::from(number),
            Some(last) => {
                let ahead = number.wrapping_sub(last as u32);
                last.checked_add_signed(i64::from(ahead as i32)).unwrap_or(last + u64::from(ahead))
            }
        }
    }
}

/// Room for numbers before the first that was seen; a whole turn, so that the low bits are the header's.
const BASE: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_on_where_the_header_s_begin_again() {
        let mut space = Space::default();
        let first = space.unwrapped(u32::MAX - 9);
        assert_eq!(first + 20, space.unwrapped(10));
        assert_eq!(first - 5, space.unwrapped(u32::MAX - 14));
    }
}
