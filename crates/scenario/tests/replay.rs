//! Replays of recorded arrivals through the same queues: every decision is the same, or the first different one is reported.

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::queue_log::{QueueLogCause, QueueLogEntryKind};
use ecnlab_sim::replay::{ReplayCounts, ReplayDifference, ReplayError, replay};
use ecnlab_sim::{PipeOrQueue, Recorder, RecordingConfig, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::Time;

const SEED: u64 = 3;

fn scenario(queue: &str, more: &str) -> Scenario {
    let text = format!(
        r#"
        name = "replay"
        duration = "20 s"
        [[link]]
        name = "l"
        from = "a"
        to = "b"
        rate = "3 Mbps"
        delay = "10 ms"
        queue = {queue}
        reverse = {{ queue = {{ aqm = "droptail", limit = 5 }}, rate = "100 kbps" }}
        [[flows]]
        name = "f"
        from = "a"
        to = "b"
        count = 8
        tcp = {{ profile = "linux", ecn = true }}
        [[flows]]
        name = "g"
        from = "a"
        to = "b"
        count = 4
        app = {{ kind = "exchange" }}
        tcp = {{ profile = "rfc" }}
        {more}
        "#
    );
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{queue}: {why:#?}"))
}

/// A run and the recording of its queues.
fn record(scenario: &Scenario) -> (Run, Table) {
    let duration = Time::ZERO + scenario.duration;
    let recorder = Recorder::new(RecordingConfig { arrivals: true, ..RecordingConfig::default() }, duration);
    let options = RunTimesAndSeed { duration, measure_from: Time::ZERO, seed: SEED };
    let (run, recorder) = Simulation::new(&scenario.network, &options, recorder).finish();
    let mut tables = recorder.tables(&run.names).unwrap();
    (run, tables.remove(0).1)
}

fn queue_values(run: &Run, column: &str) -> Vec<u64> {
    run.report.column_as_reals("queues", column).iter().map(|&value| value as u64).collect()
}

#[test]
fn every_queue_decides_again_as_it_did() {
    let changes = "[[change]]\nlink = \"l\"\nat = [\"5 s\", \"9 s\"]\nrate = \"2 Mbps\"\n[[change]]\nlink = \"l\"\nat = \"12 s\"\nstate = \"down\"\n\
                   [[change]]\nlink = \"l\"\nat = \"13 s\"\nstate = \"up\"\n";
    let cases = [
        (r#"{ aqm = "droptail", limit = 20 }"#, ""),
        (r#"{ aqm = "red", limit = 60, min_th = 5, max_th = 25 }"#, changes),
        (r#"{ aqm = "ared", limit = 60 }"#, ""),
        (r#"{ aqm = "mecn", limit = 60 }"#, ""),
        (r#"{ aqm = "pie", limit = 60 }"#, changes),
        (r#"{ aqm = "pi2", limit = 60 }"#, ""),
        (r#"{ aqm = "codel", limit = 60 }"#, ""),
        (r#"{ aqm = "blue", limit = 60 }"#, ""),
        (r#"{ aqm = "fred", limit = 60 }"#, ""),
        (r#"{ aqm = "mark-front", limit = 60 }"#, ""),
        (r#"{ discipline = "fq", limit = 60, aqm = { name = "codel" } }"#, changes),
        (r#"{ discipline = "drr", limit = 60, aqm = { name = "pie" } }"#, ""),
        (r#"{ discipline = "dualpi2", limit = 60 }"#, ""),
        (r#"{ discipline = "tbf", rate = "2 Mbps", burst = "5 KB", queue = { aqm = "red", limit = 60 } }"#, ""),
    ];
    for (queue, more) in cases {
        let scenario = scenario(queue, more);
        let (run, table) = record(&scenario);
        let outcomes = replay(&scenario.network, SEED, &table, None).unwrap();
        assert_eq!(2, outcomes.len());
        for (at, (name, outcome)) in outcomes.into_iter().enumerate() {
            let (replayed, difference) = outcome.unwrap();
            assert_eq!(None, difference, "{queue}, {name}");
            let of = |column| queue_values(&run, column)[at];
            let expected = ReplayCounts { arrivals: of("arrivals"), departures: of("departures"), marks: of("marks"), drops: of("drops") };
            assert_eq!(expected, replayed, "{queue}, {name}");
            assert!(replayed.arrivals > 500, "{queue}, {name}: {replayed:?}");
        }
    }
}

#[test]
fn what_a_queue_would_not_do_again_is_told_at_its_first_difference() {
    let [was, other] = ["0.1", "0.2"].map(|max_p| scenario(&format!(r#"{{ aqm = "ecn", limit = 60, max_p = {max_p} }}"#), ""));
    let (_, table) = record(&was);
    let first = |scenario: &Scenario, seed, table: &Table| -> ReplayDifference {
        let outcomes = replay(&scenario.network, seed, table, Some("l")).unwrap();
        outcomes[0].1.unwrap().1.expect("something differs")
    };
    assert!(replay(&was.network, SEED, &table, Some("l")).unwrap()[0].1.unwrap().1.is_none());
    let by_seed = first(&was, SEED + 1, &table);
    let by_law = first(&other, SEED, &table);
    assert!(by_law.entry > 100 && by_seed.entry > 100, "{by_law:?}, {by_seed:?}");
    // A forged decision is found at its position.
    let mut forged = table.clone();
    let place = |name: &str, table: &Table| table.columns.iter().position(|(known, _)| known == name).unwrap();
    let (acts, causes, packets) = (place("event", &forged), place("cause", &forged), place("number", &forged));
    let Column::Name { index, .. } = &forged.columns[acts].1 else { panic!("names") };
    let row = index.iter().position(|&act| act == QueueLogEntryKind::Mark as u32).unwrap();
    let Column::Index(numbers) = &forged.columns[packets].1 else { panic!("numbers") };
    let packet = numbers[row];
    let Column::Name { index, .. } = &mut forged.columns[causes].1 else { panic!("names") };
    index[row] = QueueLogCause::Forced as u32;
    let difference = first(&was, SEED, &forged);
    let (recorded, replayed) = (difference.recorded.unwrap(), difference.replayed);
    assert_eq!((packet, QueueLogCause::Forced), (recorded.packet, recorded.cause));
    assert_eq!(None, replayed.filter(|replayed| replayed.packet == packet && replayed.cause == QueueLogCause::Forced));
    assert!(recorded.to_string().contains(&format!("packet {packet} (1500 bytes, ce) is marked, forced")), "{recorded}");
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let sound = scenario(r#"{ aqm = "red", limit = 60 }"#, "");
    let (_, table) = record(&sound);
    let of_kernel = scenario(r#"{ kernel = "red" }"#, "");
    assert_eq!(Some(ReplayError::Kernel("l".to_owned())), replay(&of_kernel.network, SEED, &table, Some("l")).err());
    let beside = replay(&of_kernel.network, SEED, &table, None).unwrap();
    let told: Vec<_> = beside.iter().map(|(name, outcome)| (name.as_str(), outcome.map(|outcome| outcome.1))).collect();
    assert_eq!(vec![("l", None), ("l.reverse", Some(None))], told, "the one is passed over, the other decides as it did");
    let mut alone = (*of_kernel.network).clone();
    alone.links.retain(|link| matches!(&link.buffer, PipeOrQueue::Queue(queue) if queue.name == "l"));
    let mut of_it = table.clone();
    of_it.columns.iter_mut().for_each(|(_, column)| {
        if let Column::Name { names, .. } = column {
            *names = names.iter().filter(|name| ***name != *"l.reverse").cloned().collect()
        }
    });
    assert_eq!(Some(ReplayError::Kernel("l".to_owned())), replay(&alone, SEED, &of_it, None).err());
    assert_eq!(Some(ReplayError::NoQueue("m".to_owned())), replay(&sound.network, SEED, &table, Some("m")).err());
    let mut short = table.clone();
    short.columns.remove(0);
    assert_eq!(Some(ReplayError::Column("time_ps")), replay(&sound.network, SEED, &short, None).err());
}
