//! Compares every packet with cases that a Linux kernel recorded, in three modes.

use std::io::Read;
use std::path::Path;

use ecnlab_transport::checked::{RecoveryMode, ReferenceImplementation, SenderCombination};
use ecnlab_transport::profile;
use ecnlab_transport::settings::{CongestionControlName, EcnResponseName};
use ecnlab_validation::kernel::{CaseMode, PROFILE, Verdict, validate_case_from_json};
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

fn verdict(case: &Value, mode: CaseMode) -> Verdict {
    validate_case_from_json(&case.to_string(), mode).unwrap().verdict
}

fn difference(case: &Value, mode: CaseMode) -> String {
    match verdict(case, mode) {
        Verdict::Differs(difference) => difference.what,
        other => panic!("{mode}: {other:?}"),
    }
}

#[test]
fn every_case_agrees_with_the_kernel_in_every_way() {
    let mut paths: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 76, "{} cases", paths.len());
    let judged = paths.iter().flat_map(|path| {
        let text = text(path);
        CaseMode::ALL.iter().map(move |&mode| (mode, validate_case_from_json(&text, mode).unwrap()))
    });
    let wrong: Vec<_> = judged
        .filter(|(_, verdict)| matches!(verdict.verdict, Verdict::Differs(_) | Verdict::NotBuilt(_)))
        .map(|(mode, verdict)| format!("{} {mode}: {:?}", verdict.name, verdict.verdict))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The combination of a case's sender.
fn combination(case: &Value) -> SenderCombination {
    let tcp = &case["tcp"];
    let has_sack = ["a", "b"].iter().all(|side| tcp["syn_options"][side]["sack"] == true);
    let (control, own_response) = match tcp["congestion"].as_str().unwrap() {
        "cubic" => (CongestionControlName::Cubic, EcnResponseName::Halve),
        "reno" => (CongestionControlName::Reno, EcnResponseName::Halve),
        "dctcp" => (CongestionControlName::Reno, EcnResponseName::Dctcp),
        "prague" => (CongestionControlName::Prague, EcnResponseName::Prague),
        other => panic!("congestion control {other}"),
    };
    // The values of tcp_ecn: 1 is classic ECN, 3 asks for Accurate ECN, to which a host with 1 does not agree.
    let accurate_ecn = ["a", "b"].iter().all(|side| tcp["ecn"][side] == 3);
    let is_prague_without_ecn = control == CongestionControlName::Prague && !accurate_ecn;
    let uses_ecn = own_response == EcnResponseName::Dctcp || accurate_ecn || tcp["ecn"]["a"] == 1 || tcp["ecn"]["b"] == 1;
    let recovery = if has_sack { RecoveryMode::Rack } else { RecoveryMode::RackWithoutSack };
    SenderCombination { control, recovery, response: (uses_ecn && !is_prague_without_ecn).then_some(own_response), accurate_ecn }
}

#[test]
fn what_the_profile_declares_as_checked_by_the_kernel_is_what_the_cases_have() {
    let paths = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let judged: Vec<SenderCombination> = paths.map(|path| combination(&serde_json::from_str(&text(&path)).unwrap())).collect();
    let of_kernel = profile::find_profile(PROFILE).unwrap().checked.iter().filter(|one| one.reference == ReferenceImplementation::Linux);
    let declared: Vec<SenderCombination> = of_kernel.flat_map(|one| one.combinations()).collect();
    for one in &declared {
        assert!(judged.contains(one), "no case has {one}");
    }
    for one in &judged {
        assert!(declared.contains(one), "{one} is not declared");
    }
}

#[test]
fn what_profile_linux_7_2_declares_as_checked_by_its_kernel_is_what_the_cases_with_ecn_have() {
    let files = ["cases", "prague"]
        .map(|folder| newer_folder().with_file_name(folder))
        .into_iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let cases = files.map(|entry| combination(&serde_json::from_str(&text(&entry.unwrap().path())).unwrap()));
    let judged: Vec<SenderCombination> = cases.filter(|one| one.response.is_some()).collect();
    let of_kernel =
        profile::find_profile("linux-7.2").unwrap().checked.iter().filter(|one| one.reference == ReferenceImplementation::Linux72);
    let declared: Vec<SenderCombination> = of_kernel.flat_map(|one| one.combinations()).filter(|one| one.response.is_some()).collect();
    for one in &declared {
        assert!(judged.contains(one), "no case has {one}");
    }
    for one in &judged {
        assert!(declared.contains(one), "{one} is not declared");
    }
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
        let what = difference(&changed(data, column, value), CaseMode::Closed);
        assert!(what.starts_with(&format!("packet 60: {field}")), "{what}");
    }
    let ack = case("cubic-1drop")["packets"].as_array().unwrap().iter().position(|row| row[1] == 1 && row[0].as_u64() > Some(60)).unwrap();
    for (column, value, field) in [(11, json!(1), "window"), (14, json!([[1, 5]]), "SACK blocks"), (8, json!("AE"), "flags")] {
        let what = difference(&changed(ack, column, value), CaseMode::Receiver);
        assert!(what.contains(field), "{what}");
    }
}

#[test]
fn a_time_may_be_off_by_what_deliveries_are_late_and_no_more() {
    let mut late = case("reno-tail10");
    let sent = late["packets"][30][2].as_f64().unwrap();
    late["packets"][30][2] = json!(sent + 40.0);
    assert_eq!(Verdict::Exact, verdict(&late, CaseMode::Sender));
    late["packets"][30][2] = json!(sent + 60.0);
    assert!(difference(&late, CaseMode::Sender).contains("time"));
}

#[test]
fn the_window_after_each_acknowledgement_is_compared_to_the_packet() {
    let mut case = case("dctcp-runs");
    let states = case["states"].as_array_mut().unwrap();
    let row = states.iter_mut().filter(|row| row[1] == "ack").nth(200).unwrap();
    row[4] = json!(row[4].as_u64().unwrap() + 1);
    let packet = row[2].clone();
    let what = difference(&case, CaseMode::Sender);
    assert!(what.starts_with(&format!("after packet {packet}: expected window")), "{what}");
}

#[test]
fn a_loss_that_the_script_does_not_have_is_noticed() {
    let mut case = case("cubic-ss-10m");
    case["script"] = json!([{"direction": "data", "seq": [28961, 28962], "nth": 0, "do": "drop"}]);
    let what = difference(&case, CaseMode::Closed);
    assert!(what.starts_with("packet 53: ack: expected ") && what.contains("got [114.490 ms A 1+0 ack 28961 "), "{what}");
    assert!(what.ends_with("sack [(30409, 31857)]]"), "{what}");
}

#[test]
fn what_is_no_case_is_refused_by_the_name_of_the_field() {
    let refused = |change: fn(&mut Value)| {
        let mut case = case("reno-lastack-lost");
        change(&mut case);
        validate_case_from_json(&case.to_string(), CaseMode::Sender).unwrap_err()
    };
    assert_eq!("clock.hz is missing", refused(|case| case["clock"] = json!({})));
    assert_eq!("packets[3].dir must be from 0 to 1, not 2", refused(|case| case["packets"][3][1] = json!(2)));
    assert_eq!("clock.tick_phase_us must be less than a tick, not 4000.0", refused(|case| case["clock"]["tick_phase_us"] = json!(4000.0)));
    assert_eq!("tcp.mss must be from 48 to 65483, not 0", refused(|case| case["tcp"]["mss"] = json!(0)));
    assert_eq!("states is empty: no window to compare", refused(|case| case["states"] = json!([])));
    assert_eq!("packets[3].seq must be a number from 0, not \"x\"", refused(|case| case["packets"][3][5] = json!("x")));
    assert_eq!("packets[0] has 5 values for 17 columns", refused(|case| case["packets"][0].as_array_mut().unwrap().truncate(5)));
    assert_eq!(
        "script[0].do must be one of \"drop\", \"mark\", \"force-ce\", \"dup\", \"delay\", not \"burn\"",
        refused(|case| case["script"] = json!([{"direction": "data", "seq": [1, 2], "nth": 0, "do": "burn"}]))
    );
    assert!(validate_case_from_json("{", CaseMode::Sender).unwrap_err().starts_with("not a JSON file"));
}

/// The error of the case file `cubic-1drop` after a change.
fn refused(change: impl FnOnce(&mut Value)) -> String {
    let mut case = case("cubic-1drop");
    change(&mut case);
    validate_case_from_json(&case.to_string(), CaseMode::Closed).unwrap_err()
}

#[test]
fn numbers_that_no_connection_has_are_refused_by_their_place() {
    let packet = |column: usize, value: Value| refused(|case| case["packets"][4][column] = value);
    for (column, value, expected) in [
        (3, json!(0.0), "packets[4].arrive_us must be no earlier than t_us, not 0.0"),
        (5, json!(1u64 << 40), "packets[4].seq must be from 0 to 2147483650, not 1099511627776"),
        (6, json!(65_536), "packets[4].len must be from 0 to 65535, not 65536"),
        (7, json!(u64::MAX), "packets[4].ack must be from 0 to 2147483650, not 18446744073709551615"),
        (11, json!(1u64 << 31), "packets[4].window must be from 0 to 1073725440, not 2147483648"),
        (14, json!([[9, 5]]), "packets[4].sack[0] must be a pair with the smaller one first, not [9,5]"),
        (
            14,
            json!([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]),
            "packets[4].sack must be at most four blocks, not [[1,2],[3,4],[5,6],[7,8],[9,10]]",
        ),
    ] {
        assert_eq!(expected, packet(column, value));
    }
    assert_eq!(
        "path.data_queue_packets must be from 0 to 4294967295, not 4294967296",
        refused(|case| case["path"]["data_queue_packets"] = json!(1u64 << 32))
    );
}

#[test]
fn a_script_that_names_no_packet_there_can_be_is_refused_by_its_line() {
    let line = |line: Value| refused(|case| case["script"] = json!([line]));
    for (told, expected) in [
        (json!({"direction": "data", "do": "drop", "seq": [5, 4]}), "script[0].seq must be a pair with the smaller one first, not [5,4]"),
        (
            json!({"direction": "data", "do": "drop", "seq": [5, 6], "nth": 1u64 << 32}),
            "script[0].nth must be from 0 to 4294967295, not 4294967296",
        ),
        (
            json!({"direction": "ack", "do": "drop", "packets_of_direction": [0, u64::MAX]}),
            "script[0].packets_of_direction[1] must be from 0 to 4294967295, not 18446744073709551615",
        ),
        (
            json!({"direction": "ack", "do": "drop", "during_us": [2.0, 1.0]}),
            "script[0].during_us must be a pair with the smaller one first, not [2.0,1.0]",
        ),
    ] {
        assert_eq!(expected, line(told));
    }
}

#[test]
fn no_side_writes_more_than_half_of_the_sequence_numbers() {
    let writes = json!([{"side": "a", "at_us": 0, "do": "write", "bytes": 1u64 << 30}]).as_array().unwrap()[0].clone();
    let told = refused(|case| case["application"] = json!([writes.clone(), writes.clone(), writes]));
    assert_eq!("application: side a writes 3221225472 bytes, more than the 2147483648 that can be judged", told);
}

#[test]
fn buffers_of_a_receiver_are_refused_by_the_switch_s_name() {
    let with = |value: &str| {
        let mut case = case("cubic-1drop");
        case["tcp"]["sysctl"] = json!([{"side": "b", "name": "net.ipv4.tcp_rmem", "value": value}]);
        case["tcp"]["rcvbuf"] = json!("default");
        validate_case_from_json(&case.to_string(), CaseMode::Receiver)
    };
    for value in ["4096", "4096 x 6291456", "4096 131072 65536", "1 2 99999999999"] {
        let expected = "tcp.sysctl[0].value must be net.ipv4.tcp_rmem's three sizes in bytes, the smallest first, not ";
        assert_eq!(format!("{expected}\"{value}\""), with(value).unwrap_err());
    }
    let expected = "not built: net.ipv4.tcp_rmem with a buffer of 100 bytes, which is not from 4608 to 2147483647";
    assert_eq!(Verdict::NotBuilt(expected.to_owned()), with("1 100 200000").unwrap().verdict);
}

#[test]
fn what_no_parameter_can_be_is_not_built_and_no_fault() {
    let mut case = case("cubic-1drop");
    case["application"]
        .as_array_mut()
        .unwrap()
        .extend([json!({"side": "b", "at_us": 2000, "do": "stop reading"}), json!({"side": "b", "at_us": 1000, "do": "read again"})]);
    let expected = "not built: app_read_resume of profile linux-6.1 cannot have the case's value: must come after quirks.app_read_pause";
    assert_eq!(Verdict::NotBuilt(expected.to_owned()), verdict(&case, CaseMode::Receiver));
}

#[test]
fn a_record_of_one_side_is_not_comparable() {
    for (side, name) in [(0, 'a'), (1, 'b')] {
        let mut case = case("cubic-1drop");
        case["packets"].as_array_mut().unwrap().retain(|row| row[1] != side);
        let expected = Verdict::NotComparable(format!("not comparable: the record has no packet of side {name} but resets"));
        assert!(CaseMode::ALL.iter().all(|&mode| verdict(&case, mode) == expected), "{name}");
    }
}

#[test]
fn a_run_of_ours_is_stopped_when_it_has_sent_ten_times_what_the_record_has() {
    let mut case = case("cubic-1drop");
    case["packets"].as_array_mut().unwrap().truncate(12);
    let cut_short = |case: &Value, mode| {
        let what = difference(case, mode);
        assert!(what.ends_with("ms: ours had sent 10 times as many packets as the record has"), "{what}");
    };
    cut_short(&case, CaseMode::Closed);
    // Nothing is acknowledged for a day, and the timer goes off every two minutes.
    case["packets"].as_array_mut().unwrap().truncate(3);
    case["end_us"] = json!(86_400e6);
    cut_short(&case, CaseMode::Sender);
}

#[test]
fn a_difference_from_another_kernel_s_record_says_whose_it_is() {
    let mut case = case("cubic-1drop");
    case["kernel"] = json!("6.8.0");
    assert_eq!(Verdict::Exact, verdict(&case, CaseMode::Sender));
    case["packets"][4][8] = json!("PA");
    let what = difference(&case, CaseMode::Sender);
    assert!(what.ends_with("(the record is of Linux 6.8.0, the profile of 6.1)"), "{what}");
}

#[test]
fn what_is_not_built_is_said_and_not_passed_over() {
    let mut case = case("cubic-1drop");
    case["tcp"]["congestion"] = json!("bbr");
    assert_eq!(Verdict::NotBuilt("not built: congestion control bbr".to_owned()), verdict(&case, CaseMode::Closed));
    case["tcp"]["congestion"] = json!("cubic");
    case["tcp"]["sysctl"] = json!([{"side": "*", "name": "net.ipv4.tcp_abc", "value": "2"}]);
    assert_eq!(Verdict::NotBuilt("not built: net.ipv4.tcp_abc = 2".to_owned()), verdict(&case, CaseMode::Receiver));
}

/// Cases of Linux 7.2 with Accurate ECN.
fn newer_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/ecnlab/reference/linux-7.2/cases")
}

#[test]
fn sender_and_receiver_alone_agree_with_linux_7_2_in_every_accurate_ecn_case() {
    let mut paths: Vec<_> = std::fs::read_dir(newer_folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("accecn-")));
    paths.sort();
    assert!(paths.len() >= 11, "{} cases", paths.len());
    let judged = paths.iter().flat_map(|path| {
        let text = text(path);
        [CaseMode::Receiver, CaseMode::Sender].map(|mode| (mode, validate_case_from_json(&text, mode).unwrap()))
    });
    let wrong: Vec<_> = judged
        .filter(|(_, result)| result.verdict != Verdict::Exact)
        .map(|(mode, result)| format!("{} {mode}: {:?}\n{}", result.name, result.verdict, result.excerpt.join("\n")))
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// A connection of two hosts of Linux 7.2 with `tcp_ecn_option = 1`, which were run by `uml`. The record has packets alone; a receiver needs
/// no window of the sender, so any state will do.
fn minimal_option_case(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/records/{name}.json.gz"));
    let mut case: Value = serde_json::from_str(&text(&path)).unwrap();
    let columns = case["state_columns"].as_array().unwrap().iter().map(|column| match column.as_str().unwrap() {
        "t_us" => case["packets"][1][3].clone(),
        "why" => json!("ack"),
        _ => json!(1),
    });
    case["states"] = json!([columns.collect::<Vec<_>>()]);
    case
}

#[test]
fn a_receiver_with_minimal_use_has_the_accurate_ecn_option_on_the_acks_on_which_linux_7_2_has_it() {
    for (name, acks, with_option) in [("accecn-minimum-marks", 829, 304), ("accecn-minimum-small", 43, 15)] {
        let mut case = minimal_option_case(name);
        let sent: Vec<_> = case["packets"].as_array().unwrap().iter().filter(|packet| packet[1] == json!(1)).collect();
        assert_eq!((acks, with_option), (sent.len(), sent.iter().filter(|packet| packet[18].is_array()).count()), "{name}");
        assert_eq!(Verdict::Exact, verdict(&case, CaseMode::Receiver), "{name}");
        for side in 0..2 {
            case["tcp"]["sysctl"][side]["value"] = json!("2");
        }
        assert!(difference(&case, CaseMode::Receiver).contains("Accurate ECN option"), "{name}");
    }
}
