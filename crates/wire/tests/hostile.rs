//! Truncated, damaged and hostile files: an error with its position, never a panic, never unbounded memory.

mod common;

use std::path::PathBuf;

use ecnlab_units::{Span, Time};
use ecnlab_wire::{BackwardTimes, Headers, IpVersion, PcapngWriter, ReadError, ReadErrorKind, Reader};
use proptest::prelude::*;

const FIXTURES: [&str; 5] = ["ns2.tr", "linux-lo.pcap", "linux-lo.pcapng", "linux-sll.pcap", "linux-sll2.pcap"];

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(name)).unwrap()
}

/// Reads all there is; returns how many events, and the faults.
fn read(bytes: &[u8]) -> (usize, Vec<ReadError>) {
    let reader = match Reader::from_reader(bytes) {
        Ok(reader) => reader,
        Err(error) => return (0, vec![error]),
    };
    let (events, errors): (Vec<_>, Vec<_>) = reader.partition(Result::is_ok);
    (events.len(), errors.into_iter().map(Result::unwrap_err).collect())
}

/// Invariants for any input.
fn check_invariants(bytes: &[u8]) {
    let (events, errors) = read(bytes);
    assert!(events + errors.len() <= bytes.len() + 1, "each event and each fault takes a byte at least");
    assert!(errors.iter().all(|error| error.offset <= bytes.len() as u64));
    assert!(errors.iter().rev().skip(1).all(|error| !error.is_fatal), "nothing follows what ends a file");
}

proptest! {
    #![proptest_config(common::config())]

    #[test]
    fn random_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        check_invariants(&bytes);
    }

    #[test]
    fn random_bytes_behind_a_good_beginning_are_read_without_a_panic(
        at in 0..FIXTURES.len(), keep in 0..400_usize, rest in prop::collection::vec(any::<u8>(), 0..600)
    ) {
        let good = fixture(FIXTURES[at]);
        check_invariants(&[&good[..keep.min(good.len())], &rest[..]].concat());
    }

    #[test]
    fn flipped_bits_are_read_without_a_panic(at in 0..FIXTURES.len(), flips in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..20)) {
        let mut bytes = fixture(FIXTURES[at]);
        for (location, bit) in &flips {
            let location = location.index(bytes.len());
            bytes[location] ^= 1 << (bit % 8);
        }
        check_invariants(&bytes);
    }

    #[test]
    fn random_text_is_read_without_a_panic(text in r"([+\-drvhsf] [-0-9.e]{0,20} ([-a-zA-Z0-9._x]{0,8} ?){0,18}\n){0,20}") {
        check_invariants(text.as_bytes());
    }

    /// All events before the cut, and a fault that says where the last record begins, unless the cut lies between two records.
    #[test]
    fn of_a_file_that_is_cut_all_is_read_up_to_the_cut(at in 1..FIXTURES.len(), cut in any::<prop::sample::Index>()) {
        let good = fixture(FIXTURES[at]);
        let location = cut.index(good.len());
        let (events, errors) = read(&good[..location]);
        prop_assert!(errors.len() <= 1);
        for error in &errors {
            prop_assert!(matches!(error.kind, ReadErrorKind::Truncated | ReadErrorKind::Empty | ReadErrorKind::Unknown), "{error}");
            prop_assert!(error.offset <= location as u64);
        }
        prop_assert_eq!(events, read(&good[..errors.first().map_or(location, |error| error.offset as usize)]).0);
    }

    #[test]
    fn a_cut_archive_says_so(cut in 20..1000_usize) {
        let whole = zstd::encode_all(&fixture("ns2.tr")[..], 1).unwrap();
        let (_, errors) = read(&whole[..cut]);
        prop_assert!(errors.last().is_some_and(|error| error.is_fatal && matches!(error.kind, ReadErrorKind::Truncated)), "{errors:?}");
    }
}

fn file_of_packets(count: u32) -> Vec<u8> {
    let mut out = Vec::new();
    let writer = PcapngWriter::begin(100, "ecnlab", &mut out);
    writer.add_interface("link", IpVersion::V4, &mut out);
    let headers = Headers::of(&common::example(common::packet()));
    (0..count).for_each(|at| writer.write_packet_from_headers(0, Time::from_picos(at.into()), &headers, &mut out));
    out
}

fn only_error(bytes: &[u8]) -> (usize, String) {
    let (events, errors) = read(bytes);
    assert_eq!(1, errors.len(), "{errors:?}");
    (events, errors[0].to_string())
}

#[test]
fn an_empty_or_foreign_file_is_refused() {
    assert_eq!((0, "the file is empty".to_owned()), only_error(b""));
    let foreign = "this is neither an ns-2 trace nor pcap nor pcapng; fix: give a file of one of these formats";
    assert_eq!((0, foreign.to_owned()), only_error(b"Dear reader,\n"));
    let table =
        "this is a Parquet table, which is not read as a trace; fix: trace the run to a .tr or .pcapng file, or read the table with polars";
    assert_eq!((0, table.to_owned()), only_error(b"PAR1\x15\x04"));
}

#[test]
fn a_damaged_line_is_skipped_and_reported() {
    let text = String::from_utf8(fixture("ns2.tr")).unwrap();
    let damaged = text.replacen("\nr 0.105032", "\nr zero", 1);
    let (events, message) = only_error(damaged.as_bytes());
    assert_eq!((text.lines().count() - 1, "record 3 at byte 78: 'zero' is not a time".to_owned()), (events, message));
}

#[test]
fn a_huge_length_takes_no_memory() {
    let mut bytes = fixture("linux-lo.pcap");
    bytes[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (events, message) = only_error(&bytes);
    assert_eq!((0, "record 1 at byte 24: its captured length of 4294967295 bytes is above the maximum".to_owned()), (events, message));
    let mut bytes = file_of_packets(1);
    bytes.extend([6_u32, 0xffff_fffc, 0].map(u32::to_le_bytes).as_flattened());
    let (events, message) = only_error(&bytes);
    assert_eq!(1, events);
    assert!(message.ends_with("the file ends in the middle of it"), "{message}");
}

#[test]
fn a_block_whose_lengths_differ_ends_the_file() {
    let mut bytes = file_of_packets(2);
    let last = bytes.len() - 4;
    bytes[last] ^= 4;
    let (events, message) = only_error(&bytes);
    assert_eq!(1, events);
    assert!(message.contains("bytes long as it begins and"), "{message}");
}

#[test]
fn more_than_4096_interfaces_are_refused() {
    let mut out = Vec::new();
    let writer = PcapngWriter::begin(100, "ecnlab", &mut out);
    (0..5000).for_each(|_| writer.add_interface("", IpVersion::V4, &mut out));
    assert!(only_error(&out).1.ends_with("more than 4096 interfaces are not read"));
}

/// Reading record by record returns after each record, even if none is an event.
#[test]
fn ignored_lines_are_returned_one_by_one() {
    let text = String::from_utf8(fixture("ns2.tr")).unwrap();
    let first = text.lines().next().unwrap();
    let ignored = first.replacen(['+', '-', 'r', 'd'], "h", 1);
    let file = format!("{first}\n{}", format!("{ignored}\n").repeat(1000));
    let mut reader = Reader::from_reader(file.as_bytes()).unwrap();
    assert!(reader.read_record().unwrap().unwrap().is_some());
    for read in 2..=1001 {
        assert!(reader.read_record().unwrap().unwrap().is_none());
        assert_eq!((read, read - 1), (reader.records(), reader.skipped_records()));
    }
    assert!(reader.read_record().is_none() && reader.next().is_none());
}

/// The backward times of a file that is read to its end.
fn backwards(bytes: &[u8]) -> Option<BackwardTimes> {
    let mut reader = Reader::from_reader(bytes).unwrap();
    reader.by_ref().for_each(|event| assert!(event.is_ok()));
    reader.backward_times()
}

#[test]
fn times_that_go_backwards_are_reported() {
    let text = String::from_utf8(fixture("ns2.tr")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let reversed: String = lines.iter().rev().map(|line| format!("{line}\n")).collect();
    let time = |line: &str| line.split(' ').nth(1).unwrap().parse::<f64>().unwrap();
    let (latest, earlier) = (time(lines[lines.len() - 1]), lines.iter().filter(|line| time(line) < time(lines[lines.len() - 1]) - 0.001));
    let backward = backwards(reversed.as_bytes()).unwrap();
    assert_eq!(earlier.count() as u64, backward.records);
    assert!((backward.max_step.seconds() - (latest - time(lines[0]))).abs() < 1e-9, "{backward:?}");
    assert_eq!(None, backwards(text.as_bytes()));
}

#[test]
fn concatenated_captures_go_backwards_where_the_second_begins() {
    let one = fixture("linux-lo.pcapng");
    let events = read(&one).0 as u64;
    let backward = backwards(&[one.clone(), one.clone()].concat()).unwrap();
    // The first packets of the second are earlier than the last of the first, by more than a millisecond all but those at its end.
    assert_eq!((events + 1, None), (backward.first_record, backwards(&one)));
    assert!(backward.records <= events && backward.max_step > Span::from_millis(1), "{backward:?}");
}

/// Two interfaces are not in step: a packet in front of the others by 1 ms is in order, by 1.1 ms it is not.
#[test]
fn packets_of_two_interfaces_may_be_reordered_by_1_ms() {
    let headers = Headers::of(&common::example(common::packet()));
    let file = |micros: [u64; 3]| {
        let mut out = Vec::new();
        let writer = PcapngWriter::begin(100, "ecnlab", &mut out);
        writer.add_interface("link", IpVersion::V4, &mut out);
        micros.iter().for_each(|&at| writer.write_packet_from_headers(0, Time::from_picos(at * 1_000_000), &headers, &mut out));
        out
    };
    assert_eq!(None, backwards(&file([5000, 4000, 5001])));
    assert_eq!(
        Some(BackwardTimes { first_record: 2, records: 1, max_step: Span::from_micros(1100) }),
        backwards(&file([5000, 3900, 5001]))
    );
}

#[test]
fn an_unsupported_link_type_is_reported_once() {
    let mut bytes = fixture("linux-lo.pcapng");
    // The interface's link type, in the block behind the section's.
    let block = usize::from(bytes[4]);
    bytes[block + 8] = 105;
    let (events, message) = only_error(&bytes);
    assert_eq!(0, events);
    assert!(message.contains("link type 105"), "{message}");
}

/// A little-endian file: a section, an interface of raw IP with these options, and a packet whose stamp is 3 000 000 000.
fn file_with_options(options: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length, body, &length].concat()
    };
    let section = [&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat();
    let interface = [&[101, 0, 0, 0, 0, 0, 0, 0][..], options].concat();
    let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.splice(..0, [0, 0, 3_000_000_000, 20, 20].map(u32::to_le_bytes).concat());
    [block(0x0a0d_0d0a, &section), block(1, &interface), block(6, &packet)].concat()
}

/// The packet's time in seconds, and what was wrong.
fn time_with_options(options: &[u8]) -> (Option<f64>, Vec<String>) {
    let file = file_with_options(options);
    let (events, errors): (Vec<_>, Vec<_>) = Reader::from_reader(&file[..]).unwrap().partition(Result::is_ok);
    let time = events.into_iter().next().map(|event| event.unwrap().time.seconds());
    (time, errors.into_iter().map(|error| error.unwrap_err().kind.to_string()).collect())
}

#[test]
fn an_option_that_goes_past_its_block_gives_no_unit_of_time() {
    assert_eq!((Some(3.0), vec![]), time_with_options(&[9, 0, 1, 0, 9, 0, 0, 0]));
    let (time, errors) = time_with_options(&[9, 0, 1, 1, 9, 0, 0, 0]);
    assert_eq!((None, 1), (time, errors.len()), "packets without a unit of time are passed over: {errors:?}");
    assert!(errors[0].contains("options"), "{errors:?}");
}

#[test]
fn an_option_of_another_length_gives_no_unit_of_time() {
    for options in [[9, 0, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0], [14, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, 0]] {
        let (time, errors) = time_with_options(&options);
        assert_eq!((None, 1), (time, errors.len()), "{errors:?}");
        assert!(errors[0].contains("options"), "{errors:?}");
    }
}

/// Each option of an interface may occur once (draft-ietf-opsawg-pcapng, section 4.2); Wireshark uses the first.
#[test]
fn the_first_of_two_time_resolutions_is_used() {
    assert_eq!((Some(3.0), vec![]), time_with_options(&[9, 0, 1, 0, 9, 0, 0, 0, 9, 0, 1, 0, 6, 0, 0, 0]));
}
