//! Test cases: each drives fresh queues and returns the first violation.

use ecnlab_units::{Rng, Span};

use super::dut::{DefaultOrTestValues, DeviceUnderTest, DutValues};
use super::model::QueueEventOrAnswer;
use crate::backlog_checker;
use crate::checked_queue::CheckedQueue;
use crate::describe::{buffer_text, describe_divergence};
use crate::invariants::{Invariant, Violation, ensure};
use crate::packet::Packet;
use crate::packet_cost;
use crate::traffic::{Operation, random_operations};
use ecnlab_queue::Limit;

/// Invariants, and a case that checks them.
pub struct TestCase {
    pub invariants: &'static [Invariant],
    pub run: fn(&DeviceUnderTest) -> Result<(), Violation>,
    /// Whether it runs the discipline with another AQM, so that it checks the discipline alone.
    pub replaces_aqm: bool,
}

impl TestCase {
    const fn new(invariants: &'static [Invariant], run: fn(&DeviceUnderTest) -> Result<(), Violation>) -> TestCase {
        TestCase { invariants, run, replaces_aqm: false }
    }
}

pub static TEST_CASES: &[TestCase] = &[
    TestCase::new(
        &[
            Invariant::Conservation,
            Invariant::BufferLimit,
            Invariant::Marks,
            Invariant::Order,
            Invariant::FullBuffer,
            Invariant::Timers,
            Invariant::Gauges,
        ],
        random_operations_case,
    ),
    TestCase::new(&[Invariant::DequeueTime], burst_drains),
    TestCase::new(&[Invariant::EmptyQueue], first_packet_passes),
    TestCase::new(&[Invariant::AfterIdle], packet_passes_after_rest),
    TestCase::new(&[Invariant::Determinism], equal_runs_are_equal),
    TestCase { replaces_aqm: true, ..TestCase::new(&[Invariant::Reports], discipline_reports_backlog_to_aqm) },
    TestCase::new(&[Invariant::WorkPerPacket], packet_cost::cost_does_not_grow),
    TestCase::new(&[Invariant::ParameterValues], random_values_keep_invariants),
];

const PACKET_BUFFER: Limit = Limit::Packets(20);
const PACKET_AND_BYTE_BUFFERS: [Limit; 2] = [PACKET_BUFFER, Limit::Bytes(15_000)];

/// Random operations under both settings and with buffers of packets and of bytes.
fn random_operations_case(dut: &DeviceUnderTest) -> Result<(), Violation> {
    for (value_set, limit) in consistent_setups(dut) {
        let mut queue = CheckedQueue::new(dut, &dut.parameter_values_of_set(value_set), limit, 1);
        queue
            .apply_all(&random_operations(1, 2000))
            .map_err(|violation| violation.with_message_prefix(format_args!("{value_set}, {}", buffer_text(limit))))?;
    }
    Ok(())
}

/// A burst drains when the queue allows it.
fn burst_drains(dut: &DeviceUnderTest) -> Result<(), Violation> {
    for (value_set, limit) in consistent_setups(dut) {
        let mut queue = CheckedQueue::new(dut, &dut.parameter_values_of_set(value_set), limit, 2);
        for flow in 0..100 {
            let packet = Packet { flow: flow % 5, ecn: crate::rfc7567::mixed_ecn(flow), ..Packet::ECT0_1000_BYTES };
            queue.enqueue(packet)?;
            queue.wait(Span::from_micros(100))?;
            if flow % 10 == 0 {
                queue.drain().map_err(|violation| {
                    violation.with_message_prefix(format_args!("{value_set}, {}, after {} packets", buffer_text(limit), flow + 1))
                })?;
            }
        }
    }
    Ok(())
}

fn first_packet_passes(dut: &DeviceUnderTest) -> Result<(), Violation> {
    check_packet_passes_after(|_| Ok(()), 20, Invariant::EmptyQueue, dut)
}

fn packet_passes_after_rest(dut: &DeviceUnderTest) -> Result<(), Violation> {
    let load = |queue: &mut CheckedQueue| {
        send_overload(queue)?;
        queue.wait(Span::from_secs(60))
    };
    check_packet_passes_after(load, 5, Invariant::AfterIdle, dut)
}

/// Sends five hundred packets of all kinds at 1.5 times the link's rate, and then drains the queue.
fn send_overload(queue: &mut CheckedQueue) -> Result<(), Violation> {
    for number in 0..500 {
        queue.enqueue(Packet { flow: number % 5, ecn: crate::rfc7567::mixed_ecn(number), ..Packet::ECT0_1000_BYTES })?;
        queue.wait(Span::from_micros(533))?;
        if number % 3 > 0 {
            queue.dequeue()?;
        }
    }
    queue.drain()
}

/// Checks with each seed that one packet passes after a load that leaves the queue empty.
fn check_packet_passes_after(
    load: impl Fn(&mut CheckedQueue) -> Result<(), Violation>,
    seeds: u64,
    invariant: Invariant,
    dut: &DeviceUnderTest,
) -> Result<(), Violation> {
    for &value_set in DefaultOrTestValues::ALL {
        for seed in 0..seeds {
            let mut queue = CheckedQueue::new(dut, &dut.parameter_values_of_set(value_set), PACKET_BUFFER, seed);
            load(&mut queue)?;
            check_single_packet_passes(&mut queue, invariant)
                .map_err(|violation| violation.with_message_prefix(format_args!("{value_set}, seed {seed}")))?;
        }
    }
    Ok(())
}

/// Sends one packet through an empty queue.
fn check_single_packet_passes(queue: &mut CheckedQueue, invariant: Invariant) -> Result<(), Violation> {
    let before = (queue.model.dropped(), queue.model.marked());
    queue.enqueue(Packet::ECT0_1000_BYTES)?;
    queue.drain()?;
    let after = (queue.model.dropped(), queue.model.marked());
    if before == after {
        return Ok(());
    }
    Err(Violation::new(invariant, if after.0 > before.0 { "the packet was dropped" } else { "the packet was marked" }))
}

fn equal_runs_are_equal(dut: &DeviceUnderTest) -> Result<(), Violation> {
    for &value_set in DefaultOrTestValues::ALL {
        let mut first = CheckedQueue::new(dut, &dut.parameter_values_of_set(value_set), PACKET_BUFFER, 3);
        let mut second = CheckedQueue::new(dut, &dut.parameter_values_of_set(value_set), PACKET_BUFFER, 3);
        let operations = random_operations(3, 2000);
        first.apply_all(&operations)?;
        second.apply_all(&operations)?;
        compare_events(&first.model.events, &second.model.events)
            .map_err(|violation| violation.with_message_prefix(format_args!("{value_set}")))?;
    }
    Ok(())
}

fn compare_events(first: &[QueueEventOrAnswer], second: &[QueueEventOrAnswer]) -> Result<(), Violation> {
    let at = first.iter().zip(second).position(|(a, b)| a != b).unwrap_or(first.len().min(second.len()));
    let (first, second) = (first.get(at), second.get(at));
    ensure!(first == second, Determinism, "{}", describe_divergence(first, second));
    Ok(())
}

/// A discipline with its defaults, when busy, and with any values, around an AQM that adds up what is reported. Without a step for L4S
/// packets, which would bypass that AQM.
fn discipline_reports_backlog_to_aqm(dut: &DeviceUnderTest) -> Result<(), Violation> {
    let mut rng = Rng::for_role(5, format_args!("values of {}", dut.discipline.name));
    let dut = DeviceUnderTest { aqm: Some(&backlog_checker::ENTRY), ..*dut };
    let settings: Vec<DutValues> = DefaultOrTestValues::ALL.iter().map(|&value_set| dut.parameter_values_of_set(value_set)).collect();
    for number in 0..RANDOM_SETUP_COUNT {
        let limit = random_limit(&mut rng);
        let fixed = settings.get(number as usize).filter(|values| !dut.has_value_contradictions(values, limit)).cloned();
        let mut values = fixed.unwrap_or_else(|| dut.random_values(limit, &mut rng));
        if let Some(step) = values.discipline.parameters().iter().find(|parameter| parameter.name == "l4s_step") {
            values.discipline.set(step.name, step.default_value());
        }
        let kept = crate::catch_violation(|| CheckedQueue::new(&dut, &values, limit, number).apply_all(&random_operations(number, 300)));
        kept.map_err(|violation| violation.with_message_prefix(describe_setup(limit, &values)))?;
    }
    Ok(())
}

fn random_values_keep_invariants(dut: &DeviceUnderTest) -> Result<(), Violation> {
    let mut rng = Rng::for_role(4, "values");
    for number in 0..RANDOM_SETUP_COUNT {
        let limit = random_limit(&mut rng);
        let values = dut.random_values(limit, &mut rng);
        let operations: Vec<Operation> = random_operations(number, 300);
        let kept = crate::catch_violation(|| CheckedQueue::new(dut, &values, limit, number).apply_all(&operations));
        kept.map_err(|violation| Violation::new(Invariant::ParameterValues, format!("{}: {violation}", describe_setup(limit, &values))))?;
    }
    Ok(())
}

fn random_limit(rng: &mut Rng) -> Limit {
    if rng.below(3) == 0 { Limit::Bytes(1 + rng.below(60_000)) } else { Limit::Packets(1 + rng.below(60) as u32) }
}

/// A buffer and the values that differ from the defaults.
fn describe_setup(limit: Limit, values: &DutValues) -> String {
    let differences = values.differences_from_defaults();
    format!("{} with {}", buffer_text(limit), if differences.is_empty() { "default values" } else { &differences })
}

/// Both settings with both kinds of buffer, where they do not contradict each other.
fn consistent_setups(dut: &DeviceUnderTest) -> impl Iterator<Item = (DefaultOrTestValues, Limit)> {
    let all = DefaultOrTestValues::ALL.iter().flat_map(|&value_set| PACKET_AND_BYTE_BUFFERS.map(|limit| (value_set, limit)));
    all.filter(|(value_set, limit)| !dut.has_value_contradictions(&dut.parameter_values_of_set(*value_set), *limit))
}

const RANDOM_SETUP_COUNT: u64 = 100;
