//! The recorded and our packets side by side, around the first difference.

use ecnlab_units::{Span, Time};

use super::case::{Case, Packet, Side};
use super::compare::{ExpectedPacket, ReplayedState, packet_line, packets_of_side, ssthresh_text};
use super::sender::SenderOutcome;

/// Packets shown before the difference and from it on.
const PACKETS_BEFORE: usize = 8;
const PACKETS_AFTER: usize = 16;
/// Largest distance in time from the difference at which the sender's inputs are shown.
const MAX_INPUT_TIME_DISTANCE: Span = Span::from_millis(30);
/// Characters of the kernel's column.
const KERNEL_COLUMN_WIDTH: usize = 90;

/// Packets of one side.
pub fn of_side(ours: &[Packet], theirs: &[ExpectedPacket], time: Time) -> Vec<String> {
    let at = theirs.partition_point(|their| their.time < time);
    let rows = at.saturating_sub(PACKETS_BEFORE)..(at + PACKETS_AFTER).min(ours.len().max(theirs.len()));
    let text = |packet: Option<&Packet>| packet.map_or("nothing".to_owned(), packet_line);
    let row = |at: usize| format!("{:<KERNEL_COLUMN_WIDTH$} | {}", text(theirs.get(at).map(|their| their.packet)), text(ours.get(at)));
    std::iter::once(format!("{:<KERNEL_COLUMN_WIDTH$} | {}", "kernel", "ours")).chain(rows.map(row)).collect()
}

/// Packets of both sides, one side after the other.
pub fn of_both(ours: &[Packet], theirs: &[ExpectedPacket], time: Time) -> Vec<String> {
    let of = |side: Side| {
        let (ours, theirs) = packets_of_side(ours, theirs, side);
        of_side(&ours, &theirs, time)
    };
    let title = |side: &str| vec![format!("from {side}:")];
    [title("a"), of(Side::A), title("b"), of(Side::B)].concat()
}

/// The sender's inputs and packets, with cwnd and ssthresh after each acknowledgement.
pub fn sender_inputs_and_packets(case: &Case, played: &SenderOutcome, time: Time) -> Vec<String> {
    let near = |at: Time| at.since(time).max(time.since(at)) <= MAX_INPUT_TIME_DISTANCE;
    let theirs: Vec<&Packet> = case.sent_by(Side::A).collect();
    let mut rows: Vec<(Time, u8, String)> = Vec::new();
    for at in 0..theirs.len().max(played.packets.len()) {
        let (their, our) = (theirs.get(at).copied(), played.packets.get(at));
        let text = |packet: Option<&Packet>| packet.map_or("nothing".to_owned(), packet_line);
        if let Some(time) = their.or(our).map(|packet| packet.sent) {
            rows.push((time, 1, format!("  {:<KERNEL_COLUMN_WIDTH$} | {}", text(their), text(our))));
        }
    }
    for packet in case.packets_that_reached(Side::A) {
        let state = case.states.iter().position(|state| state.packet == Some(packet.id));
        let shown = state.map_or(String::new(), |at| cwnd_and_ssthresh(case, played, at));
        rows.extend(
            packet.arrives.map(|arrives| (arrives, 0, format!("{:9.3} ms: {}{shown}", arrives.seconds() * 1e3, packet_line(packet)))),
        );
    }
    for (at, state) in case.states.iter().enumerate().filter(|(_, state)| state.why == "timer") {
        rows.push((state.time, 2, format!("{:9.3} ms: a timer{}", state.time.seconds() * 1e3, cwnd_and_ssthresh(case, played, at))));
    }
    rows.retain(|&(at, ..)| near(at));
    rows.sort();
    rows.into_iter().map(|(.., row)| row).collect()
}

/// cwnd and ssthresh of a recorded state, the kernel's and ours.
fn cwnd_and_ssthresh(case: &Case, played: &SenderOutcome, at: usize) -> String {
    let their = &case.states[at];
    let ours = played.states.iter().find(|shown| shown.state == at);
    let ours = ours.map_or(String::new(), |ReplayedState { cwnd, ssthresh, .. }| format!(", ours {cwnd}/{}", ssthresh_text(*ssthresh)));
    format!("  window {}/{}{ours}", their.cwnd, ssthresh_text(their.ssthresh.map(|ssthresh| ssthresh as f64)))
}
