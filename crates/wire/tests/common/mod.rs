//! Packets as proptest makes them up.

use ecnlab_units::Ecn;
use ecnlab_wire::{AccEcn, Address, End, Flags, Kind, Packet, SackBlocks, Tcp, Timestamps, Truncation};
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};

/// The same inputs in each run, unless PROPTEST_RNG_SEED asks for others.
pub fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    let rng_seed = if config.rng_seed == RngSeed::Random { RngSeed::Fixed(1) } else { config.rng_seed };
    ProptestConfig { rng_seed, failure_persistence: None, ..config }
}

/// One of what a strategy makes up, always the same.
pub fn example<S: Strategy>(strategy: S) -> S::Value {
    strategy.new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

/// TCP or UDP over IPv4 or IPv6, with headers that fit: TCP's options take 40 bytes at most.
pub fn packet() -> impl Strategy<Value = Packet> {
    let ends = prop_oneof![
        (any::<[u8; 4]>(), any::<[u8; 4]>()).prop_map(|(from, to)| (Address::V4(from.into()), Address::V4(to.into()))),
        (any::<[u8; 16]>(), any::<[u8; 16]>()).prop_map(|(from, to)| (Address::V6(from.into()), Address::V6(to.into()))),
    ];
    let ecn = (0..4_u8).prop_map(Ecn::from_bits);
    (ends, any::<(u16, u16, u16)>(), ecn, 0..3000_u32, prop::option::of(tcp())).prop_map(|(ends, ports, ecn, payload, tcp)| {
        let v6 = matches!(ends.0, Address::V6(_));
        let kind = match (&tcp, payload) {
            (None, _) => Kind::Datagram,
            (Some(_), 0) => Kind::Ack,
            (Some(_), _) => Kind::Data,
        };
        let header = tcp.as_ref().map_or(8, tcp_length);
        Packet {
            kind,
            source: End { address: ends.0, port: ports.0.into() },
            destination: End { address: ends.1, port: ports.1.into() },
            flow: None,
            id: (!v6).then_some(ports.2.into()),
            size: if v6 { 40 } else { 20 } + header + payload,
            payload,
            ecn,
            tcp: tcp.unwrap_or_default(),
            truncation: Truncation::Complete,
        }
    })
}

/// An Accurate ECN option with the first of its counters, in either order.
fn accecn() -> impl Strategy<Value = AccEcn> {
    (any::<bool>(), 0..4_usize, any::<[u32; 3]>()).prop_map(|(begins_with_ect0, count, values)| {
        let mut counters = std::array::from_fn(|at| (at < count).then_some(values[at] & 0xff_ffff));
        if begins_with_ect0 {
            counters.reverse();
        }
        AccEcn { begins_with_ect0, counters }
    })
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let runs = prop::collection::vec(any::<(u32, u32)>(), 0..4).prop_map(|blocks| {
        let mut runs = SackBlocks::default();
        blocks.into_iter().for_each(|(from, to)| runs.push(from, to));
        runs
    });
    let stamps = option::of(any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo }));
    let numbers = (any::<u32>(), any::<u32>(), 0..0x200_u16, any::<u16>());
    // A SYN's options and SACK's runs together would not fit.
    let of_syn = (option::of(any::<u16>()), option::of(0..15_u8), any::<bool>(), option::of(accecn()));
    (numbers, stamps, prop_oneof![runs.prop_map(Err), of_syn.prop_map(Ok)]).prop_map(|((seq, ack, flags, window), timestamps, rest)| {
        let (mss, window_scale, sack_permitted, accecn) = rest.unwrap_or_default();
        let sacks = rest.err().unwrap_or_default();
        Tcp { seq, ack, flags: Flags(flags), window, mss, window_scale, sack_permitted, timestamps, sacks, accecn }
    })
}

/// Length of a header with its options, each filled up to a multiple of four bytes.
fn tcp_length(tcp: &Tcp) -> u32 {
    let runs = tcp.sacks.as_slice().len() as u32;
    let words = [
        (tcp.mss.is_some(), 4),
        (tcp.window_scale.is_some(), 4),
        (tcp.sack_permitted && tcp.timestamps.is_none(), 4),
        (tcp.timestamps.is_some(), 12),
        (runs > 0, 4 + 8 * runs),
        (
            tcp.accecn.is_some(),
            (2 + 3 * tcp.accecn.map_or(0, |option| option.counters_in_option_order().count() as u32)).next_multiple_of(4),
        ),
    ];
    20 + words.iter().filter(|(there, _)| *there).map(|(_, length)| length).sum::<u32>()
}
