//! `[[link]]`: a direction with its measured queue, and the way back.

use ecnlab_sim::{Buffer, Direction, ImpairmentSpec, LinkName, LinkSpec, QueueSpec, impairment};
use ecnlab_units::parameter::{Parameter, joined};
use ecnlab_units::{Level, Rate, Span, Values, parameters};
use serde_json::{Map, Value as Json, json};

use super::queue::{self, Queue};
use super::{Holds, Inner, Section, described, members};
use crate::read::{Given, Reader, Reading};

pub const MAX_PACKETS: u64 = 100_000_000;

parameters! {
    /// A link's own keys.
    pub struct LinkKeys {
        /// Unique; names the queue in results, and its random stream.
        #[must be given]
        pub name: String = "bottleneck";
        /// Node where the queue stands.
        #[must be given]
        pub from: String = "router";
        /// Node at the far end.
        #[must be given]
        pub to: String = "sink";
        /// Transmission rate.
        #[must be given]
        pub rate: Rate = "10 Mbps";
        /// Propagation delay.
        #[must be given]
        pub delay: Span = "5 ms", 0..=8_640_000, "s";
    }
}

parameters! {
    /// The keys of the way back.
    struct Back {
        /// Transmission rate; auto is the link's.
        pub rate: Option<Rate> = "auto";
        /// Propagation delay; auto is the link's.
        pub delay: Option<Span> = "auto", 0..=8_640_000, "s";
        /// Packets that may wait.
        pub limit: u32 = "1000", 1..=MAX_PACKETS, "packets";
    }
}

const IMPAIRED: usize = impairment::Settings::PARAMETERS.len();
const LINK_KEYS: [Parameter; LinkKeys::PARAMETERS.len() + IMPAIRED] = joined(&[LinkKeys::PARAMETERS, impairment::Settings::PARAMETERS]);
const BACK_KEYS: [Parameter; Back::PARAMETERS.len() + IMPAIRED] = joined(&[Back::PARAMETERS, impairment::Settings::PARAMETERS]);

pub const LINK: Section = Section {
    name: "link",
    title: "A link",
    doc: "One direction, with a measured queue; the way back comes with it. What a link does to packets comes before its queue.",
    keys: &LINK_KEYS,
    tables: &[
        Inner {
            key: "queue",
            holds: Holds::Queue,
            required: true,
            doc: "The AQM with its parameters, and the buffer.",
            example: "{ aqm = \"droptail\", limit = 100 }",
        },
        Inner {
            key: "reverse",
            holds: Holds::One(&REVERSE),
            required: false,
            doc: "The way back, where it is not like the link.",
            example: "{ rate = \"10 Mbps\" }",
        },
    ],
};

pub const REVERSE: Section = Section {
    name: "link.reverse",
    title: "The way back of a link",
    doc: "The way back, a plain drop-tail buffer that is not measured.",
    keys: &BACK_KEYS,
    tables: &[],
};

/// A link as the file declares it. One that has a problem still has its place in routes.
pub struct Link<'a> {
    pub name: String,
    pub from: String,
    pub to: String,
    pub given: Given<'a>,
    /// The quietest mark that its queue writes, as far as is known; nothing if it marks no packet.
    pub marks: Option<Level>,
    /// How many gauges its queue shows, as far as is known.
    pub gauges: usize,
    /// Whether its queue serves ECT(1) packets apart.
    pub serves_l4s: bool,
    /// Name and digest of the AQMs in it that a user brought.
    pub brought: Vec<(&'static str, &'static str)>,
    pub sound: Option<SoundLink>,
}

/// The two directions of a link, and the link as it can be read again.
pub struct SoundLink {
    pub forward: LinkSpec,
    pub back: LinkSpec,
    pub described: Json,
}

/// The links in the order of the file; nothing for one without name and ends.
pub fn read<'a>(reader: &mut Reader, root: &Given<'a>) -> Vec<Option<Link<'a>>> {
    members(reader, root, "link").into_iter().map(|given| link(reader, given)).collect()
}

fn link<'a>(reader: &mut Reader, given: Given<'a>) -> Option<Link<'a>> {
    reader.only(&given, LINK.names());
    let reading = reader.keys(&given, LINK.keys);
    let ends: [Option<String>; 3] = ["name", "from", "to"].map(|key| reading.get(key));
    if ends[1].is_some() && ends[1] == ends[2] {
        reader.report(&given, "to", "a link must lead to another node than it comes from".to_owned());
    }
    reader.warn_unheeded(&given, &reading.values, &[]);
    let name = ends[0].as_deref().unwrap_or_default();
    let back = back(reader, &given, name, &reading);
    let queue = queue(reader, &given);
    let marks = queue.as_ref().map_or(Some(Level::Congested), |queue| queue.of.marks());
    let gauges = queue.as_ref().map_or(0, |queue| queue.of.gauges());
    let serves_l4s = queue.as_ref().is_some_and(|queue| queue.of.serves_l4s());
    let brought = queue.as_ref().map_or_else(Vec::new, |queue| queue.of.brought());
    let sound = sound_link(&reading, queue, back);
    let [name, from, to] = ends;
    Some(Link { name: name?, from: from?, to: to?, given, marks, gauges, serves_l4s, brought, sound })
}

/// The link's two directions, unless something of it has a problem.
fn sound_link(reading: &Reading, queue: Option<Queue>, back: Option<(LinkSpec, Map<String, Json>)>) -> Option<SoundLink> {
    let (values, queue, (back, back_described)) = (reading.sound()?, queue?, back?);
    let keys = LinkKeys::of(values);
    let mut described = described(values);
    described.insert("queue".to_owned(), Json::Object(queue.described));
    described.insert("reverse".to_owned(), Json::Object(back_described));
    let forward = LinkSpec {
        name: LinkName::shared(&keys.name, Direction::Forward),
        rate: keys.rate,
        delay: keys.delay,
        buffer: Buffer::Queue(Box::new(QueueSpec { name: keys.name.clone(), of: queue.of })),
        spread: Span::ZERO,
        impairment: ImpairmentSpec::new(impairment::Settings::of(values)),
    };
    Some(SoundLink { forward, back, described: Json::Object(described) })
}

/// The way back: as the link itself where nothing else is said, with a plain buffer.
fn back(reader: &mut Reader, link: &Given, name: &str, reading: &Reading) -> Option<(LinkSpec, Map<String, Json>)> {
    let values = match reader.table(link, "reverse", LINK.inner("reverse").example) {
        Some(given) => {
            reader.only(&given, REVERSE.names());
            let reading = reader.keys(&given, REVERSE.keys);
            reader.warn_unheeded(&given, &reading.values, &[]);
            reading.sound()?.clone()
        }
        None => Values::defaults(REVERSE.keys),
    };
    let keys = Back::of(&values);
    let spec = LinkSpec {
        name: LinkName::shared(name, Direction::Back),
        rate: keys.rate.or(reading.get("rate"))?,
        delay: keys.delay.or(reading.get("delay"))?,
        buffer: Buffer::Pipe { limit: keys.limit },
        spread: Span::ZERO,
        impairment: ImpairmentSpec::new(impairment::Settings::of(&values)),
    };
    let mut described = described(&values);
    described.insert("rate".to_owned(), json!(format!("{} bps", spec.rate.bps())));
    described.insert("delay".to_owned(), json!(format!("{} s", spec.delay.seconds())));
    Some((spec, described))
}

fn queue(reader: &mut Reader, link: &Given) -> Option<Queue> {
    let inner = LINK.inner("queue");
    let Some(given) = reader.table(link, "queue", inner.example) else {
        if !link.gives("queue") {
            reader.report(link, "queue", format!("is missing: give it as queue = {}", inner.example));
        }
        return None;
    };
    queue::read(reader, &given)
}
