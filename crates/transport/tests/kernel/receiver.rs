//! The receiver alone: a real kernel's segments go in, and what comes out is what that kernel's receiver sent.
//!
//! `ECNLAB_LINUX_CASES` names a folder with more cases, which are then judged besides those here.

use std::path::Path;

use ecnlab_transport::{Ack, Receiver};
use ecnlab_units::{Span, Time};

use super::case::{Answer, Arrival, Case};

/// What a real host takes to answer, and what a delivery was late.
const TOLERANCE: Span = Span::from_micros(50);

fn answer(ack: &Ack, rides: bool, time: Time, case: &Case) -> Answer {
    Answer {
        time,
        next: ack.next,
        role: ack.role,
        ece: ack.ece,
        ecn: ack.ecn,
        sacks: ack.sacks.as_slice().to_vec(),
        window: ack.window,
        rides,
        echo: case.settings.timestamps.then(|| case.clock.millis(ack.echo) - case.clock.millis(Time::ZERO)),
    }
}

/// What happens at the receiving host: a packet arrives, or it sends data of its own.
enum Event<'a> {
    Arrives(&'a Arrival),
    SendsData(Time),
}

impl Event<'_> {
    fn time(&self) -> Time {
        match self {
            Event::Arrives(arrival) => arrival.time,
            Event::SendsData(time) => *time,
        }
    }
}

fn events(case: &Case) -> Vec<Event<'_>> {
    let data = case.answers.iter().filter(|answer| answer.rides).map(|answer| Event::SendsData(answer.time));
    let mut events: Vec<Event> = case.arrivals.iter().map(Event::Arrives).chain(data).collect();
    events.sort_by_key(Event::time);
    events
}

/// Tells the receiver what happened, wakes it when it asks for that, and keeps what it sends.
fn run(case: &Case) -> Vec<Answer> {
    let mut receiver = Receiver::new(&case.settings, case.clock);
    let mut answers = Vec::new();
    let events = events(case);
    let last = events.last().map(|event| event.time() + Span::from_secs(30)).expect("something happened");
    let mut events = events.into_iter().peekable();
    loop {
        let due = receiver.deadline().filter(|&at| at <= last);
        let Some(event) = events.next_if(|event| due.is_none_or(|due| event.time() <= due)) else {
            let Some(due) = due else { return answers };
            answers.extend(receiver.expire(due).map(|ack| answer(&ack, false, due, case)));
            continue;
        };
        match event {
            Event::Arrives(Arrival { segment, sent, time }) => {
                let given = receiver.receive(segment, *sent, *time);
                let acks = given.held.map(|ack| *ack).into_iter().chain(given.ack);
                answers.extend(acks.map(|ack| answer(&ack, false, *time, case)));
            }
            Event::SendsData(time) => answers.push(answer(&receiver.ride(time), true, time, case)),
        }
    }
}

fn is_same(real: &Answer, ours: &Answer) -> bool {
    let apart = if real.time > ours.time { real.time.since(ours.time) } else { ours.time.since(real.time) };
    apart <= TOLERANCE && Answer { time: ours.time, ..real.clone() } == *ours
}

/// The first answer that is not the real one, counted from zero.
fn first_difference(case: &Case) -> Option<String> {
    let ours = run(case);
    let places = case.answers.len().max(ours.len());
    let differs = |&at: &usize| !matches!((case.answers.get(at), ours.get(at)), (Some(real), Some(ours)) if is_same(real, ours));
    let at = (0..places).find(differs)?;
    Some(format!("answer {at} of {}:\n    real {:?}\n    ours {:?}", case.answers.len(), case.answers.get(at), ours.get(at)))
}

fn cases(folder: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut paths: Vec<_> =
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.extension() == Some("json".as_ref())).collect();
    paths.sort();
    paths.iter().map(|path| Case::read(&std::fs::read_to_string(path).expect("a readable case"))).collect()
}

fn judge(cases: &[Case]) -> Vec<String> {
    cases.iter().filter_map(|case| first_difference(case).map(|why| format!("{} ({}), {why}", case.name, case.kind))).collect()
}

#[test]
fn a_receiver_answers_a_real_kernel_s_segments_as_that_kernel_s_receiver_did() {
    let mut all = cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));
    if let Some(more) = std::env::var_os("ECNLAB_LINUX_CASES") {
        all.extend(cases(Path::new(&more)));
    }
    let wrong = judge(&all);
    assert!(wrong.is_empty(), "{} of {} cases differ\n{}", wrong.len(), all.len(), wrong.join("\n"));
}
