//! What a user hardly meant and no section can see by itself: what links, groups and times do to each other.

use ecnlab_queue::{Composition, Inside};
use ecnlab_sim::Buffer;
use ecnlab_transport::settings::{Codepoint, ResponseName};
use ecnlab_units::{Dialect, Level, Rate, Span, Time};

use crate::read::{Given, Reader};
use crate::sections::flows::Group;
use crate::sections::link::Link;

/// Warns of links and groups that are at odds.
pub fn of_the_whole(reader: &mut Reader, links: &[Option<Link>], groups: &[Group], duration: Span) {
    let links: Vec<&Link> = links.iter().flatten().collect();
    unused_links(reader, &links, groups);
    links.iter().for_each(|link| shaped_links(reader, link));
    for group in groups {
        late_starts(reader, group, duration);
        ecn_at_odds(reader, &links, group);
        levels_at_odds(reader, &links, group);
        l4s_at_odds(reader, &links, group);
    }
}

fn unused_links(reader: &mut Reader, links: &[&Link], groups: &[Group]) {
    let mut used = vec![false; links.len()];
    groups.iter().flat_map(|group| &group.route).for_each(|&link| used[link] = true);
    for (link, _) in links.iter().zip(used).filter(|(_, used)| !used) {
        reader.warn(&link.given, "name", "no flow's route leads over this link: nothing will be seen at its queue".to_owned());
    }
}

/// Shapers that shape nothing.
fn shaped_links(reader: &mut Reader, link: &Link) {
    let Some(sound) = &link.sound else { return };
    let Buffer::Queue(queue) = &sound.forward.buffer else { return };
    let Some(node) = link.given.node.get("queue") else { return };
    idle_shapers(reader, &Given::new(node, link.given.at("queue")), &queue.of, sound.forward.rate);
}

/// A queue, and those inside it, before a line of this rate.
fn idle_shapers(reader: &mut Reader, given: &Given, of: &Composition, line: Rate) {
    let shaped_to = of.shaped_to().unwrap_or(line);
    if of.shaped_to().is_some() && shaped_to >= line {
        let message =
            format!("is not below {} bps, at which the packets leave in any case, so nothing is shaped: give a lower rate", line.bps());
        reader.warn(given, "rate", message);
    }
    if let (Inside::Queue(inner), Some(node)) = (&of.inside, given.node.get("queue")) {
        idle_shapers(reader, &Given::new(node, given.at("queue")), inner, shaped_to.min(line));
    }
}

fn late_starts(reader: &mut Reader, group: &Group, duration: Span) {
    let late = group.starts.iter().take(group.count as usize).filter(|&&start| start >= Time::ZERO + duration).count();
    if late > 0 {
        let who = if late == group.starts.len() { "no flow of the group sends anything" } else { "some flows of the group send nothing" };
        reader.warn(&group.given, "start", format!("is not before the end, duration {} s: {who}", duration.seconds()));
    }
}

/// A queue that marks needs senders that offer ECN, and they need such a queue. Who writes `ecn = false` means it.
fn ecn_at_odds(reader: &mut Reader, links: &[&Link], group: &Group) {
    let marking = group.route.iter().map(|&link| links[link]).find(|link| link.marks.is_some());
    let tcp = group.given.node.get("tcp").map(|node| Given::new(node, group.given.at("tcp")));
    let Some(tcp) = tcp else { return };
    match marking {
        Some(link) if !group.offers_ecn && !group.says_ecn => {
            let message = format!(
                "the queue of link \"{}\" marks, and these senders do not offer ECN, so it drops their packets: give ecn = true, or ecn = false if \
                 that is meant",
                link.name
            );
            reader.warn(&tcp, "ecn", message);
        }
        None if group.offers_ecn => {
            let message =
                "these senders offer ECN, and no queue on their route marks: give one an AQM that does, such as ecn, or ecn = false";
            reader.warn(&tcp, "ecn", message.to_owned());
        }
        _ => {}
    }
}

/// A queue that serves ECT(1) apart is for senders whose response to marks is scalable, and they must say so.
fn l4s_at_odds(reader: &mut Reader, links: &[&Link], group: &Group) {
    let Some(link) = group.route.iter().map(|&link| links[link]).find(|link| link.serves_l4s) else { return };
    let (Some(node), true) = (group.given.node.get("tcp"), group.offers_ecn) else { return };
    let Some(settings) = group.tcp() else { return };
    let message = match (settings.response, settings.codepoint) {
        (ResponseName::Dctcp, Codepoint::Ect0) => format!(
            "these senders answer marks by DCTCP and go into the classic queue of link \"{}\": give codepoint = \"ect1\" for its low-latency queue",
            link.name
        ),
        (ResponseName::Halve | ResponseName::Abe, Codepoint::Ect1) => format!(
            "the low-latency queue of link \"{}\" marks for senders that answer by DCTCP, and these would give way to all others: give \
             variant = \"dctcp\", or codepoint = \"ect0\"",
            link.name
        ),
        _ => return,
    };
    reader.warn(&Given::new(node, group.given.at("tcp")), "codepoint", message);
}

/// A queue that marks in two levels needs senders that read two levels, and they need such a queue.
fn levels_at_odds(reader: &mut Reader, links: &[&Link], group: &Group) {
    let tcp = group.given.node.get("tcp").map(|node| Given::new(node, group.given.at("tcp")));
    let Some(tcp) = tcp.filter(|_| group.offers_ecn) else { return };
    let marking: Vec<&&Link> = group.route.iter().map(|&link| &links[link]).filter(|link| link.marks.is_some()).collect();
    let in_two_levels = marking.iter().find(|link| link.marks == Some(Level::Incipient));
    match (group.transport.dialect(), in_two_levels) {
        (Dialect::Classic, Some(link)) => {
            let message = format!(
                "the queue of link \"{}\" marks in two levels, and these senders read one: its incipient marks are not written on their \
                 packets; give response = \"mecn\" and ecn_echo = \"mecn\", or the queue another AQM",
                link.name
            );
            reader.warn(&tcp, "response", message);
        }
        (Dialect::Mecn, None) if !marking.is_empty() => {
            let message = "these senders read marks in two levels, and no queue on their route gives the incipient one: give one aqm = \
                           \"mecn\" or \"amecn\", or the senders another response";
            reader.warn(&tcp, "response", message.to_owned());
        }
        _ => {}
    }
}
