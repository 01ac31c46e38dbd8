//! `[[change]]`: changes of links during a run.

use ecnlab_sim::PipeOrQueue;
use ecnlab_sim::network::{LinkChange, LinkState};
use ecnlab_units::parameter::OrOff;
use ecnlab_units::{Rate, Span, Time, parameters, words};
use serde_json::Value as Json;

use super::declaration::{Section, read_array_of_tables, values_to_json};
use super::link::Edge;
use crate::problem::suggestion_text;
use crate::read::{Reader, TableInput};

parameters! {
    /// The keys of a change.
    struct ChangeKeys {
        /// Time of the change, or several times.
        #[required]
        pub at: Vec<Span> = "10 s", 0..=8_640_000, "s";
        /// Period after which each of these times repeats; off is never.
        pub every: OrOff<Span> = "off", 0.000_001..=8_640_000, "s";
        /// Names of the links that change; NAME.reverse is the reverse direction of one. Each needs a queue.
        #[required]
        pub link: Vec<String> = "bottleneck";
        /// Rate of transmissions that begin later; auto is unchanged.
        pub rate: Option<Rate> = "auto";
        /// Propagation delay of packets sent later, which do not overtake earlier packets; auto is unchanged.
        pub delay: Option<Span> = "auto", 0..=8_640_000, "s";
        /// State of the link: down, where no transmission begins and the queue fills, or up; auto is unchanged.
        pub state: Option<LinkStateName> = "auto";
        /// Fate of packets on the wire when the link goes down.
        #[when(state = "down")]
        pub on_wire: InFlightPacketsOnDown = "arrive";
    }
}

words! {
    /// Whether a link sends.
    enum LinkStateName { Down = "down", Up = "up" }
}

words! {
    /// What becomes of packets on the wire.
    enum InFlightPacketsOnDown { Arrive = "arrive", Lost = "lost" }
}

pub const CHANGE: Section = Section {
    name: "change",
    title: "A change of links",
    doc: "Changes of links at given times: rate, delay, down and up.",
    keys: ChangeKeys::PARAMETERS,
    tables: &[],
};

/// Adds the changes to their links; returns them in a form that can be read again.
pub fn read(reader: &mut Reader, root: &TableInput, edges: &mut [Edge], duration: Option<Span>) -> Vec<Json> {
    if !root.has("change") {
        return Vec::new();
    }
    read_array_of_tables(reader, root, "change").iter().filter_map(|given| read_change(reader, given, edges, duration)).collect()
}

fn read_change(reader: &mut Reader, given: &TableInput, edges: &mut [Edge], duration: Option<Span>) -> Option<Json> {
    let reading = CHANGE.read_keys(reader, given);
    let values = reading.valid_values()?;
    let keys = ChangeKeys::from_values(values);
    reader.warn_ignored_keys(given, values, &[]);
    if keys.rate.is_none() && keys.delay.is_none() && keys.state.is_none() {
        reader.report(given, "rate", "nothing changes; fix: give rate, delay or state = \"down\" or \"up\"");
    }
    warn_late_changes(reader, given, &keys, duration);
    for name in &keys.link {
        if let Some(at) = changeable_edge(reader, given, &keys, name, edges)
            && let PipeOrQueue::Queue(queue) = &mut edges[at].spec.buffer
        {
            queue.changes.extend(keys.changes());
        }
    }
    Some(values_to_json(values))
}

/// Warns of times after the end of the run.
fn warn_late_changes(reader: &mut Reader, given: &TableInput, keys: &ChangeKeys, duration: Option<Span>) {
    let Some(duration) = duration else { return };
    if keys.at.iter().any(|&at| at >= duration) {
        reader.warn(given, "at", format!("must be before the end, duration {} s", duration.seconds()));
    }
}

/// The edge of this name, if it supports the change.
fn changeable_edge(reader: &mut Reader, given: &TableInput, keys: &ChangeKeys, name: &str, edges: &[Edge]) -> Option<usize> {
    let Some(at) = edges.iter().position(|edge| edge.name == name) else {
        let known = edges.iter().map(|edge| edge.name.as_str());
        reader.report(given, "link", format!("unknown link \"{name}\"{}", suggestion_text(name, known)));
        return None;
    };
    let edge = &edges[at];
    if !edge.given.has("queue") {
        let example = "queue = { aqm = \"droptail\", limit = 1000 }";
        reader.report(
            given,
            "link",
            format!("link \"{name}\" has a plain buffer, and a link that changes needs a queue; fix: give it {example}"),
        );
        return None;
    }
    if edge.queue.as_ref().is_some_and(|queue| queue.wrapped_kernel_qdisc().is_some()) && (keys.rate.is_some() || keys.state.is_some()) {
        let key = if keys.rate.is_some() { "rate" } else { "state" };
        let message = format!("link \"{name}\" has a kernel's queue, which keeps the link's rate; fix: leave out {key}, or give it an AQM");
        reader.report(given, key, message);
        return None;
    }
    if keys.rate.is_some() && edge.given.has("deliveries") {
        let message = format!("link \"{name}\" follows a trace of deliveries and has no rate to change; fix: leave out rate");
        reader.report(given, "rate", message);
        return None;
    }
    Some(at)
}

impl ChangeKeys {
    /// One change of a link for each of the times.
    fn changes(&self) -> impl Iterator<Item = LinkChange> {
        let state = self.state.map(|state| match state {
            LinkStateName::Up => LinkState::Up,
            LinkStateName::Down => LinkState::Down { drops_wire_packets: self.on_wire == InFlightPacketsOnDown::Lost },
        });
        let change = LinkChange { time: Time::ZERO, repeat_interval: self.every.0, rate: self.rate, delay: self.delay, state };
        self.at.iter().map(move |&at| LinkChange { time: Time::ZERO + at, ..change })
    }
}
