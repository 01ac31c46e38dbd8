//! Effects of path impairments on packets before a link's queue.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_off};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::impairment::{EcnPath, Impairment};
use ecnlab_sim::{FlowSpec, ImpairmentSpec, Network, RowPolicy, Run};
use ecnlab_transport::{AppWrite, TcpSettings, Transport, profile};
use ecnlab_units::{Span, Time, Values};

/// An ECN flow over a marking queue with impairments in both directions.
fn run_impaired(there: ImpairmentSpec, back: ImpairmentSpec) -> Run {
    run_impaired_flow("ns2", there, back)
}

fn run_impaired_flow(profile: &str, there: ImpairmentSpec, back: ImpairmentSpec) -> Run {
    let aqm = Registry::builtin().aqm("ecn").unwrap();
    let mut values = Values::defaults(aqm.parameters);
    for (name, text) in [("min_th", "2"), ("max_th", "8"), ("w_q", "0.1")] {
        values.set_from_text(name, text).unwrap();
    }
    let mut link = queue_link(1_000, 10_000, "bottleneck", aqm, values, Limit::Packets(40));
    link.impairment = Some(Box::new(there));
    let mut reverse = pipe(1_000, 10_000, 100);
    reverse.impairment = Some(Box::new(back));
    let tcp = TcpSettings { ecn: true, max_rwnd: 30, ..profile::tcp_settings_of(profile) };
    let flow = FlowSpec {
        group: 0,
        member: 0,
        forward: vec![0],
        back: vec![1],
        transport: Transport::Tcp(Arc::new(tcp)),
        initial_write: Some(AppWrite::ENDLESS),
        start: Time::ZERO,
        clock_phase: Some(Span::ZERO),
        row_policy: RowPolicy::OwnRow,
    };
    run_off(&Network { links: vec![link, reverse], flows: vec![flow], groups: vec!["all".into()], ..Network::default() }, &options(100, 1))
}

fn ecn_path_spec(ecn: EcnPath) -> ImpairmentSpec {
    ImpairmentSpec { impairments: vec![Impairment::Ecn(ecn)] }
}

fn random_loss_spec(loss: f64) -> ImpairmentSpec {
    ImpairmentSpec { impairments: vec![Impairment::random_loss(loss)] }
}

fn table_columns<const N: usize>(run: &Run, table: &str, columns: [&str; N]) -> [f64; N] {
    columns.map(|column| run.report.column_as_reals(table, column)[0])
}

#[test]
fn a_bleaching_path_turns_marks_into_drops() {
    let columns = ["marks", "drops_early"];
    let [kept_marks, kept_drops] = table_columns(&run_impaired(ecn_path_spec(EcnPath::Keep), ImpairmentSpec::default()), "queues", columns);
    assert!(kept_marks > 10.0 && kept_drops <= 1.0, "{kept_marks} marks, {kept_drops} drops");
    let bleached = run_impaired(ecn_path_spec(EcnPath::Bleach), ImpairmentSpec::default());
    let [marks, drops] = table_columns(&bleached, "queues", columns);
    assert!(marks == 0.0 && drops > 10.0, "{marks} marks, {drops} drops");
    assert_eq!([0.0], table_columns(&bleached, "flows", ["ecn_reactions"]));
}

#[test]
fn a_path_that_drops_what_is_ecn_capable_lets_the_first_packet_pass_and_is_a_cause_of_its_own() {
    let run = run_impaired(ecn_path_spec(EcnPath::Drop), ImpairmentSpec::default());
    let [arrivals, departures, drops, for_ecn] = table_columns(&run, "queues", ["arrivals", "departures", "drops", "drops_ecn"]);
    assert!(for_ecn > 0.0);
    assert_eq!((for_ecn, arrivals), (drops, departures + drops));
    assert_eq!([for_ecn, 0.0], table_columns(&run, "flows", ["drops", "marks"]));
}

#[test]
fn lost_data_is_counted_as_dropped_and_lost_acknowledgements_are_not() {
    let there = run_impaired(random_loss_spec(0.02), ImpairmentSpec::default());
    let [arrivals, lost] = table_columns(&there, "queues", ["arrivals", "drops_lost"]);
    assert!((lost / arrivals - 0.02).abs() < 0.005, "{lost} of {arrivals}");
    let [dropped, by_queue] = [table_columns(&there, "flows", ["drops"])[0], table_columns(&there, "queues", ["drops"])[0] - lost];
    assert_eq!(lost + by_queue, dropped);
    let back = run_impaired(ImpairmentSpec::default(), random_loss_spec(0.02));
    assert_eq!([0.0], table_columns(&back, "queues", ["drops_lost"]));
    let [goodput, without] = [back, run_impaired(ImpairmentSpec::default(), ImpairmentSpec::default())]
        .map(|run| table_columns(&run, "flows", ["goodput_bps"])[0]);
    assert!(goodput > 0.9 * without, "cumulative acknowledgements bear losses: {goodput} against {without}");
}

#[test]
fn a_path_that_loses_everything_lets_nothing_through() {
    let run = run_impaired(random_loss_spec(1.0), ImpairmentSpec::default());
    assert_eq!([0.0], table_columns(&run, "flows", ["throughput_bps"]));
}

#[test]
fn a_path_that_strips_or_drops_the_offer_of_ecn_leaves_a_connection_without_it() {
    let columns = ["marks", "drops_ecn"];
    let kept = run_impaired_flow("rfc", ecn_path_spec(EcnPath::Keep), ImpairmentSpec::default());
    assert!(table_columns(&kept, "queues", columns)[0] > 10.0);
    let faults = [
        (ecn_path_spec(EcnPath::ClearFlags), ImpairmentSpec::default(), 0.0),
        (ImpairmentSpec::default(), ecn_path_spec(EcnPath::ClearFlags), 0.0),
        (ecn_path_spec(EcnPath::DropSetup), ImpairmentSpec::default(), 1.0),
    ];
    for (there, back, refused) in faults {
        let run = run_impaired_flow("rfc", there, back);
        assert_eq!([0.0, refused], table_columns(&run, "queues", columns));
        assert!(table_columns(&run, "flows", ["goodput_bps"])[0] > 500_000.0, "it sends without ECN");
    }
}
