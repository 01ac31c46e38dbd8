//! A real kernel is the judge: every packet of its cases, in three ways.

use std::io::Read;
use std::path::Path;

use ecnlab_scenario::kernel::{Outcome, Way, judge};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ecnlab/reference/linux/cases")
}

fn text(path: &Path) -> String {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text
}

fn case(name: &str) -> Value {
    serde_json::from_str(&text(&folder().join(format!("{name}.json.gz")))).unwrap()
}

fn outcome(case: &Value, way: Way) -> Outcome {
    judge(&case.to_string(), way).unwrap().outcome
}

fn difference(case: &Value, way: Way) -> String {
    match outcome(case, way) {
        Outcome::Differs(difference) => difference.what,
        other => panic!("{way}: {other:?}"),
    }
}

#[test]
fn every_case_agrees_with_the_kernel_in_every_way() {
    let mut paths: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 72, "{} cases", paths.len());
    let judged = paths.iter().flat_map(|path| {
        let text = text(path);
        Way::ALL.iter().map(move |&way| (way, judge(&text, way).unwrap()))
    });
    let wrong: Vec<_> = judged
        .filter(|(_, verdict)| matches!(verdict.outcome, Outcome::Differs(_) | Outcome::NotBuilt(_)))
        .map(|(way, verdict)| format!("{} {way}: {:?}", verdict.name, verdict.outcome))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_packet_that_is_changed_is_the_first_difference_in_each_way() {
    let changed = |at: usize, column: usize, value: Value| {
        let mut case = case("cubic-1drop");
        case["packets"][at][column] = value;
        case
    };
    // Packet 60 is data, whose time, flags, ECN field and number are compared; 61 is an acknowledgement.
    let data = case("cubic-1drop")["packets"].as_array().unwrap().iter().position(|row| row[0] == 60).unwrap();
    assert_eq!(json!(0), case("cubic-1drop")["packets"][data][1]);
    for (column, value, field) in
        [(8, json!("PAC"), "flags"), (9, json!(2), "ECN field"), (6, json!(1000), "len"), (15, json!(1), "transmission")]
    {
        let what = difference(&changed(data, column, value), Way::Closed);
        assert!(what.starts_with(&format!("packet 60: {field}")), "{what}");
    }
    let ack = case("cubic-1drop")["packets"].as_array().unwrap().iter().position(|row| row[1] == 1 && row[0].as_u64() > Some(60)).unwrap();
    for (column, value, field) in [(11, json!(1), "window"), (14, json!([[1, 5]]), "SACK blocks"), (8, json!("AE"), "flags")] {
        let what = difference(&changed(ack, column, value), Way::Receiver);
        assert!(what.contains(field), "{what}");
    }
}

#[test]
fn a_time_may_be_off_by_what_deliveries_are_late_and_no_more() {
    let mut late = case("reno-tail10");
    let sent = late["packets"][30][2].as_f64().unwrap();
    late["packets"][30][2] = json!(sent + 40.0);
    assert_eq!(Outcome::Exact, outcome(&late, Way::Sender));
    late["packets"][30][2] = json!(sent + 60.0);
    assert!(difference(&late, Way::Sender).contains("time"));
}

#[test]
fn the_window_after_each_acknowledgement_is_compared_to_the_packet() {
    let mut case = case("dctcp-runs");
    let states = case["states"].as_array_mut().unwrap();
    let row = states.iter_mut().filter(|row| row[1] == "ack").nth(200).unwrap();
    row[4] = json!(row[4].as_u64().unwrap() + 1);
    let what = difference(&case, Way::Sender);
    assert!(
        what.starts_with(&format!("after packet {}: expected window", case["states"][202][2])) || what.contains("expected window"),
        "{what}"
    );
}

#[test]
fn a_loss_that_the_script_does_not_have_is_noticed() {
    let mut case = case("cubic-ss-10m");
    case["script"] = json!([{"direction": "data", "seq": [28961, 28962], "nth": 0, "do": "drop"}]);
    let what = difference(&case, Way::Closed);
    assert!(what.contains("ack: expected") && what.contains("got [82.490 ms A 1+0 ack 28961") || what.contains("sack"), "{what}");
}

#[test]
fn what_is_no_case_is_refused_by_the_name_of_the_field() {
    let refused = |change: fn(&mut Value)| {
        let mut case = case("reno-lastack-lost");
        change(&mut case);
        judge(&case.to_string(), Way::Sender).unwrap_err()
    };
    assert_eq!("clock.hz is missing", refused(|case| case["clock"] = json!({})));
    assert_eq!("packets[3].dir must be from 0 to 1, not 2", refused(|case| case["packets"][3][1] = json!(2)));
    assert_eq!("clock.tick_phase_us must be less than a tick, not 4000.0", refused(|case| case["clock"]["tick_phase_us"] = json!(4000.0)));
    assert_eq!("tcp.mss must be from 48 to 65483, not 0", refused(|case| case["tcp"]["mss"] = json!(0)));
    assert_eq!("states is empty: there is no window to compare", refused(|case| case["states"] = json!([])));
    assert_eq!("packets[3].seq must be a number from 0, not \"x\"", refused(|case| case["packets"][3][5] = json!("x")));
    assert_eq!("packets[0] has no column nth", refused(|case| case["packets"][0].as_array_mut().unwrap().truncate(5)));
    assert_eq!(
        "script[0].do: no router does \"burn\"",
        refused(|case| case["script"] = json!([{"direction": "data", "seq": [1, 2], "nth": 0, "do": "burn"}]))
    );
    assert!(judge("{", Way::Sender).unwrap_err().starts_with("not a JSON file"));
}

#[test]
fn what_is_not_built_is_said_and_not_passed_over() {
    let mut case = case("cubic-1drop");
    case["tcp"]["congestion"] = json!("bbr");
    assert_eq!(Outcome::NotBuilt("not built: congestion control bbr".to_owned()), outcome(&case, Way::Closed));
    case["tcp"]["congestion"] = json!("cubic");
    case["tcp"]["sysctl"] = json!([{"side": "*", "name": "net.ipv4.tcp_abc", "value": "2"}]);
    assert_eq!(Outcome::NotBuilt("not built: net.ipv4.tcp_abc = 2".to_owned()), outcome(&case, Way::Receiver));
}
