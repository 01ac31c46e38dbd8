//! TCP's options as cases hold them (RFC 9293, section 3.2; RFC 7323; RFC 2018).

/// Most SACK blocks for which a header has room.
const MOST: usize = 4;

/// What the options of a segment say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub mss: Option<u16>,
    /// By how many bits the windows of this side are shifted.
    pub scale: Option<u8>,
    pub permits_sack: bool,
    /// SACK blocks in the order of the option, from and to; those behind the last are none.
    blocks: [(u32, u32); MOST],
    count: u8,
}

impl Options {
    /// Reads the options of a header; what is cut off is not there.
    pub fn of(mut bytes: &[u8]) -> Options {
        const END: u8 = 0;
        const NOTHING: u8 = 1;
        let mut options = Options::default();
        while let [kind, rest @ ..] = bytes {
            let taken = match (*kind, rest.first()) {
                (END, _) => break,
                (NOTHING, _) => 1,
                (_, Some(&length)) if length >= 2 && usize::from(length) <= bytes.len() => {
                    options.take(*kind, &bytes[2..usize::from(length)]);
                    usize::from(length)
                }
                _ => break,
            };
            bytes = &bytes[taken..];
        }
        options
    }

    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        let word = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
        match (kind, value.len()) {
            (2, 2) => self.mss = Some(u16::from_be_bytes([value[0], value[1]])),
            (3, 1) => self.scale = Some(value[0]),
            (4, 0) => self.permits_sack = true,
            (5, length) => {
                let blocks = (0..length / 8).take(MOST).map(|block| (word(8 * block), word(8 * block + 4)));
                self.count = (length / 8).min(MOST) as u8;
                self.blocks.iter_mut().zip(blocks).for_each(|(place, block)| *place = block);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_syn_and_of_an_acknowledgement() {
        let syn = Options::of(&[2, 4, 5, 0xb4, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7]);
        assert_eq!((Some(1460), true, Some(7), 0), (syn.mss, syn.permits_sack, syn.scale, syn.blocks().len()));
        let ack = Options::of(&[1, 1, 5, 18, 0, 0, 0, 9, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 4]);
        assert_eq!(&[(9, 12), (1, 4)], ack.blocks());
    }

    #[test]
    fn what_is_cut_off_or_has_no_length_ends_the_options() {
        for bytes in [&[5, 18, 0, 0][..], &[2], &[3, 0, 7], &[0, 2, 4, 5, 0xb4]] {
            assert_eq!(Options::default(), Options::of(bytes), "{bytes:?}");
        }
    }
}
