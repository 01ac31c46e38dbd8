//! Randomness: one frozen generator, one stream per role.
//!
//! xoshiro256++ (Blackman and Vigna 2018), seeded by SplitMix64 from the run's seed and the name of the role. A role (`"queue bottleneck"`,
//! `"boot flow 17"`) has a separate stream, so that adding a flow or a probe shifts no other draw and two schemes under one seed are truly
//! paired. The generator is written out here, so that no crate's upgrade changes a published number; its test vector is the authors'.

use std::fmt::{self, Write};

/// A stream of random numbers for one role.
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

/// State from which a stream starts, after the bytes of its name so far.
struct NameHash(u64);

impl fmt::Write for NameHash {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for byte in part.bytes() {
            self.0 = split_mix64(&mut (self.0 ^ u64::from(byte)));
        }
        Ok(())
    }
}

impl Rng {
    /// The stream of `role` in the run with `seed`. A role that consists of parts needs no text of its own, as in
    /// `Rng::for_role(seed, format_args!("queue {name}"))`.
    pub fn for_role(seed: u64, role: impl fmt::Display) -> Rng {
        Rng::from_state_and_name(split_mix64(&mut seed.clone()), role)
    }

    /// A separate stream for one purpose within this role, such as sizes of arrivals next to their times.
    pub fn for_purpose(&self, purpose: &str) -> Rng {
        Rng::from_state_and_name(self.clone().next_u64(), purpose)
    }

    fn from_state_and_name(state: u64, name: impl fmt::Display) -> Rng {
        let mut state = NameHash(state);
        write!(state, "{name}").expect("a hash takes any text");
        Rng([(); 4].map(|()| split_mix64(&mut state.0)))
    }

    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..bound; `bound` is at least 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// Mixes all bits of a key into all bits of the result, one to one: SplitMix64's step, for tables that are indexed by a hash.
pub fn mix_bits(mut key: u64) -> u64 {
    split_mix64(&mut key)
}

fn split_mix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_xoshiro256_plus_plus() {
        let mut rng = Rng([1, 2, 3, 4]);
        let expected = [41943041, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!(expected, [(); 4].map(|()| rng.next_u64()));
    }

    #[test]
    fn the_seeding_is_the_published_split_mix() {
        assert_eq!(0xe220_a839_7b1d_cdaf, split_mix64(&mut 0));
    }

    #[test]
    fn two_roles_of_one_seed_draw_different_streams() {
        let draw = |seed, role| Rng::for_role(seed, role).next_u64();
        assert_ne!(draw(1, "queue a"), draw(1, "queue b"));
        assert_ne!(draw(1, "queue a"), draw(2, "queue a"));
        assert_eq!(draw(1, "queue a"), draw(1, "queue a"));
    }

    #[test]
    fn a_purpose_has_a_stream_of_its_own_and_takes_nothing_from_the_role() {
        let (role, mut alone) = (Rng::for_role(1, "source a"), Rng::for_role(1, "source a"));
        let draw = |purpose| role.for_purpose(purpose).next_u64();
        assert_ne!(draw("sizes"), draw("times"));
        assert_ne!(draw("sizes"), Rng::for_role(2, "source a").for_purpose("sizes").next_u64());
        assert_eq!(alone.next_u64(), role.clone().next_u64());
    }

    #[test]
    fn uniform_draws_fill_the_unit_interval_evenly() {
        let mut rng = Rng::for_role(7, "test");
        let mut bins = [0u32; 10];
        for _ in 0..100_000 {
            bins[(rng.uniform() * 10.0) as usize] += 1;
        }
        assert!(bins.iter().all(|&n| (9_600..10_400).contains(&n)), "{bins:?}");
    }
}
