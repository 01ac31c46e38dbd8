//! Traces of ns-2's reference cases, line by line as ns-2 wrote them.

use std::fs::File;
use std::path::Path;

use ecnlab_validation::ns2::run_and_trace_case;
use ecnlab_wire::{Reader, TraceEvent, ns2};

/// Every link, every event, every packet number. Events at one instant may be in another order: if a transmission ends when another
/// packet arrives, ns-2's scheduler decides which comes first.
#[test]
fn traces_of_reference_cases_equal_those_of_ns2_line_by_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["reno-overflow", "sack1-overflow"] {
        let case = File::open(folder.join(format!("../../python/ecnlab/reference/ns2/packet-exact/{name}.json.gz"))).unwrap();
        let case = std::io::read_to_string(flate2::read::GzDecoder::new(case)).unwrap();
        let theirs = std::fs::read(folder.join(format!("tests/ns2_traces/{name}.tr.gz"))).unwrap();
        let ours = run_and_trace_case(&case).unwrap();
        let (ours, theirs) = (sorted_lines(&ours), sorted_lines(&theirs));
        assert!(theirs.len() > 10_000, "{name}: {} lines", theirs.len());
        let first = ours.iter().zip(&theirs).find(|(our, their)| our != their);
        assert_eq!((None, theirs.len()), (first, ours.len()), "{name}");
    }
}

fn sorted_lines(bytes: &[u8]) -> Vec<String> {
    let mut events: Vec<TraceEvent> = Reader::from_reader(bytes).unwrap().map(Result::unwrap).collect();
    events.sort_by_key(|event| event.time);
    let mut lines: Vec<_> = events.iter().map(|event| (event.time, line(event))).collect();
    lines.sort();
    lines.into_iter().map(|(_, line)| line).collect()
}

fn line(event: &TraceEvent) -> String {
    let mut out = Vec::new();
    assert!(ns2::write_line(event, ns2::NS2_TIME_DECIMALS, &mut out));
    String::from_utf8(out).unwrap()
}
