//! A simulation does not depend on its slicing, nor on whether its parts existed from the beginning or were added later.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_with};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{
    AppWithFlows, Direction, FlowSpec, LinkKind, LinkName, LinkSpec, Network, NoProbe, Recorder, RecordingConfig, RowPolicy, Run,
    RunTimesAndSeed, Simulation,
};
use ecnlab_transport::application::{ConnectionReuse, GapDistribution, TransactionsSettings};
use ecnlab_transport::{AppWrite, TcpSettings, Traffic, Transport, profile};
use ecnlab_units::{Span, Time, Values};
use proptest::prelude::*;

const BOTTLENECK: u32 = 0;
const REVERSE_LINK: u32 = 1;

/// A marking bottleneck and its return link, without flows.
fn bottleneck_network() -> Network {
    let aqm = Registry::builtin().aqm("ecn").unwrap();
    let mut values = Values::defaults(aqm.parameters);
    for (name, text) in [("min_th", "5"), ("max_th", "15"), ("w_q", "0.01")] {
        values.set_from_text(name, text).unwrap();
    }
    let links = vec![queue_link(5_000, 10_000, "bottleneck", aqm, values, Limit::Packets(60)), pipe(5_000, 10_000, 1_000)];
    Network { links, groups: vec!["bulk".into(), "requests".into()], ..Network::default() }
}

/// A flow's private links to the bottleneck and back.
fn access_links(group: &Arc<str>, member: u32) -> [LinkSpec; 2] {
    [Direction::Forward, Direction::Back].map(|direction| LinkSpec {
        name: LinkName { kind: LinkKind::Access(member), name: group.clone(), direction },
        delay_spread: Span::from_millis(2),
        ..pipe(10_000, 3_000, 100)
    })
}

/// A flow of a group that crosses the bottleneck, with access links `own` and `own + 1`.
fn flow(group: u32, member: u32, start: Time, own: u32) -> (FlowSpec, Traffic) {
    let tcp = TcpSettings { ecn: true, ..profile::tcp_settings_of("linux") };
    let traffic = if group == 0 {
        Traffic::Once(AppWrite::ENDLESS)
    } else {
        let gap = Span::from_millis(300);
        Traffic::Application(Arc::new(TransactionsSettings {
            bytes: 40_000,
            gap,
            gap_distribution: GapDistribution::Exponential,
            count: 0,
            connection: ConnectionReuse::New,
        }))
    };
    let (forward, back) = (vec![own, BOTTLENECK], vec![REVERSE_LINK, own + 1]);
    let transport = Transport::Tcp(Arc::new(tcp));
    (
        FlowSpec { group, member, forward, back, transport, initial_write: None, start, clock_phase: None, row_policy: RowPolicy::OwnRow },
        traffic,
    )
}

/// So many flows over the bottleneck, alternating between both groups, each starting a little later than the one before.
fn network(flows: u32) -> Network {
    let mut network = bottleneck_network();
    for number in 0..flows {
        let (group, member) = (number % 2, number / 2);
        let own = network.links.len() as u32;
        network.links.extend(access_links(&network.groups[group as usize], member));
        let (flow, traffic) = flow(group, member, start_time(number), own);
        network.add_flow_with_traffic(flow, &traffic);
    }
    network
}

/// A time at which no other event happens.
fn start_time(number: u32) -> Time {
    Time::ZERO + Span::from_millis(400) * u64::from(number) + Span::from_picos(777)
}

fn record_everything(duration: Time) -> Recorder {
    let every = Some(Span::from_millis(50));
    Recorder::new(
        RecordingConfig {
            queue_interval: every,
            window_interval: every,
            rate_bin: Some(Span::from_secs(1)),
            events: true,
            distributions: true,
            transfers: true,
            arrivals: true,
        },
        duration,
    )
}

/// All tables, measured and recorded, as text: NaN equals NaN, and every digit counts.
fn tables(run: &Run, recorder: Recorder) -> String {
    format!("{:?}{:?}", run.report.tables, recorder.tables(&run.names))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn advancing_in_slices_changes_no_result(seed in any::<u64>(), slices in prop::collection::vec((0u64..3_000, 1u64..20_000), 1..20)) {
        let (network, options) = (network(6), RunTimesAndSeed { measure_from: Time::ZERO + Span::from_secs(1), ..options(4, seed) });
        let (whole, recorder) = run_with(&network, &options, record_everything(options.duration));
        let mut simulation = Simulation::new(&network, &options, record_everything(options.duration));
        for (millis, events) in slices {
            let until = simulation.now() + Span::from_millis(millis);
            let reached = simulation.advance_with_event_limit(until, events);
            prop_assert!(simulation.now() <= until && (!reached || simulation.now() == until.min(options.duration)));
        }
        let (sliced, sliced_recorder) = simulation.finish();
        prop_assert_eq!((whole.fingerprint, whole.events), (sliced.fingerprint, sliced.events));
        prop_assert_eq!(tables(&whole, recorder), tables(&sliced, sliced_recorder));
    }
}

/// A table's columns, except those about one-second bins since a flow was added.
fn columns_without_bins(table: &Table) -> Vec<(&str, &Column)> {
    let columns = table.columns.iter().map(|(name, column)| (&**name, column));
    columns.filter(|(name, _)| !name.starts_with("jain_1s")).collect()
}

#[test]
fn a_flow_added_later_equals_one_scheduled_from_the_start() {
    let (whole, from) = (network(7), 3);
    for early in [Span::ZERO, Span::from_millis(150)] {
        let expected = Simulation::new(&whole, &options(6, 5), NoProbe).finish().0;
        let mut simulation = Simulation::new(&network(from), &options(6, 5), NoProbe);
        for number in from..7 {
            simulation.advance_to(Time::from_picos(start_time(number).picos() - early.picos()));
            let own = whole.flows[number as usize].forward[0];
            assert_eq!([own, own + 1], [own, own + 1].map(|link| simulation.add_link(&whole.links[link as usize])));
            assert_eq!(number, simulation.add_flow(&whole.flows[number as usize]));
            whole.apps.iter().filter(|app| app.flows == [number]).for_each(|app| _ = simulation.add_app(app));
        }
        let added = simulation.finish().0;
        assert_eq!((expected.fingerprint, expected.events), (added.fingerprint, added.events));
        for ((name, expected), (_, added)) in expected.report.tables.iter().zip(&added.report.tables) {
            assert_eq!(format!("{:?}", columns_without_bins(expected)), format!("{:?}", columns_without_bins(added)), "{name}");
        }
        assert!(added.report.column_as_reals("flows", "goodput_bps").iter().all(|&bps| bps > 0.0));
    }
}

/// The same network with the private links listed before all others, and the last flow first.
fn reordered_network(network: &Network) -> Network {
    let links = network.links.len() as u32;
    let renumber = |route: &[u32]| route.iter().map(|link| links - 1 - link).collect();
    let flow = |flow: &FlowSpec| FlowSpec { forward: renumber(&flow.forward), back: renumber(&flow.back), ..flow.clone() };
    let last = network.flows.len() as u32 - 1;
    let app = |app: &AppWithFlows| AppWithFlows { flows: app.flows.iter().map(|flow| last - flow).collect(), ..app.clone() };
    Network {
        links: network.links.iter().rev().cloned().collect(),
        flows: network.flows.iter().rev().map(flow).collect(),
        apps: network.apps.iter().rev().map(app).collect(),
        groups: network.groups.clone(),
        ..Network::default()
    }
}

#[test]
fn random_draws_depend_on_names_and_not_on_list_positions() {
    let network = network(6);
    let [expected, other] =
        [network.clone(), reordered_network(&network)].map(|of| Simulation::new(&of, &options(6, 5), NoProbe).finish().0);
    for column in ["sent", "goodput_bps", "delay_p99_s", "transaction_mean_s", "marks"] {
        let reversed: Vec<u64> = other.report.column_as_reals("flows", column).into_iter().rev().map(f64::to_bits).collect();
        assert_eq!(
            expected.report.column_as_reals("flows", column).into_iter().map(f64::to_bits).collect::<Vec<_>>(),
            reversed,
            "{column}"
        );
    }
    assert_eq!(expected.packet_hops, other.packet_hops);
}

#[test]
fn a_flow_with_a_past_start_begins_when_it_is_added() {
    let mut simulation = Simulation::new(&bottleneck_network(), &options(3, 1), NoProbe);
    simulation.advance_to(Time::ZERO + Span::from_secs(1));
    let own = access_links(&"bulk".into(), 0).map(|link| simulation.add_link(&link))[0];
    let endless = FlowSpec { initial_write: Some(AppWrite::ENDLESS), ..flow(0, 0, Time::ZERO, own).0 };
    simulation.add_flow(&endless);
    let run = simulation.finish().0;
    assert!(run.report.column_as_reals("flows", "goodput_bps")[0] > 2e6, "{:?}", run.report.column_as_reals("flows", "goodput_bps"));
}

#[test]
fn no_event_is_processed_after_the_end() {
    let mut simulation = Simulation::new(&network(2), &options(1, 1), NoProbe);
    assert!(simulation.advance_with_event_limit(Time::NEVER, u64::MAX));
    assert_eq!(Time::ZERO + Span::from_secs(1), simulation.now());
    simulation.advance_to(Time::ZERO);
    assert_eq!(Time::ZERO + Span::from_secs(1), simulation.now());
}
