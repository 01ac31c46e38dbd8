//! The path of a connection in a case: one link with a rate towards the far side, delays in both directions, and a script of losses and
//! marks. The packets show whether the network was such a path.

use ecnlab_sim::Network;
use ecnlab_units::{Ecn, Rate, Span, Time};
use serde_json::{Value as Json, json};

use super::{RecordedConnection, RecordedPacket};
use crate::address::Side;

/// Permitted difference of a packet's arrival from the time of the path. Hosts get packets slightly late, and later if several arrive at
/// one time.
const ARRIVAL_TOLERANCE: Span = Span::from_micros(50);

/// A path.
#[derive(Debug)]
pub struct ExpectedPath {
    rate: Rate,
    /// Delays towards the far side and back.
    delays: [Span; 2],
}

impl ExpectedPath {
    /// The slowest link of a flow's route, and the sum of the delays; `None` for a flow that was added during the run.
    pub fn from_slowest_link_and_delays(network: &Network, flow: u32, seed: u64) -> Option<ExpectedPath> {
        let flow = network.flows.get(flow as usize)?;
        let links = |route: &[u32]| route.iter().map(|&link| &network.links[link as usize]).collect::<Vec<_>>();
        let [forward, back] = [links(&flow.forward), links(&flow.back)];
        let delay =
            |links: &[&ecnlab_sim::LinkSpec]| links.iter().map(|link| link.delay_in_run(seed)).fold(Span::ZERO, |sum, delay| sum + delay);
        let rate = forward.iter().map(|link| link.rate).min().unwrap_or(Rate::MAX);
        Some(ExpectedPath { rate, delays: [delay(&forward), delay(&back)] })
    }

    /// The path of a connection's packets in the form of a case, with the script.
    ///
    /// # Errors
    /// The packet that arrived at another time than this path gives, or as no script could produce it.
    pub fn to_path_and_script_json(&self, connection: &RecordedConnection) -> Result<(Json, Vec<Json>), String> {
        let mut free = Time::ZERO;
        for (number, packet) in connection.packets.iter().enumerate() {
            let Some(arrives) = packet.arrives else { continue };
            let expected = match packet.side {
                Side::Near => {
                    free = free.max(packet.sent) + self.rate.transmission_time(packet.size);
                    free + self.delays[0]
                }
                Side::Far => packet.sent + self.delays[1],
            };
            if arrives.since(expected).max(expected.since(arrives)) > ARRIVAL_TOLERANCE {
                let [came, expected] = [arrives, expected].map(|time| time.since(connection.began).seconds() * 1e3);
                return Err(format!(
                    "packet {number} came at {came:.3} ms, and over one link of {} bit/s alone it would have at {expected:.3} ms",
                    self.rate.bps()
                ));
            }
        }
        let micros = |span: Span| span.picos() as f64 / 1e6;
        let path = json!({
            "data_rate_bps": self.rate.bps(),
            "ack_rate_bps": null,
            "data_delay_us": micros(self.delays[0]),
            "ack_delay_us": micros(self.delays[1]),
            "data_queue_packets": null,
            "clears_ecn": false,
        });
        Ok((path, script_json(connection)?))
    }
}

impl RecordedPacket {
    /// The effect of the path on a packet, in the words of a script.
    fn script_action(&self) -> Result<Option<&'static str>, String> {
        match (self.is_lost, self.ecn) {
            (true, _) => Ok(Some("drop")),
            (_, [before, after]) if before == after => Ok(None),
            (_, [Ecn::NotEct, Ecn::Ce]) => Ok(Some("force-ce")),
            (_, [_, Ecn::Ce]) => Ok(Some("mark")),
            (_, [before, after]) => Err(format!("{before:?} became {after:?}")),
        }
    }
}

/// Losses and marks by the packets' numbers in their direction.
fn script_json(connection: &RecordedConnection) -> Result<Vec<Json>, String> {
    let mut lines: Vec<(Side, u64, u64, &'static str)> = Vec::new();
    for side in [Side::Near, Side::Far] {
        let packets = connection.packets.iter().filter(|packet| packet.side == side);
        for (number, packet) in (0..).zip(packets) {
            let Some(action) = packet.script_action()? else { continue };
            match lines.last_mut() {
                Some((of, _, last, before)) if (*of, *before, *last + 1) == (side, action, number) => *last = number,
                _ => lines.push((side, number, number, action)),
            }
        }
    }
    let line = |(side, first, last, action)| {
        let direction = if side == Side::Near { "data" } else { "ack" };
        json!({ "direction": direction, "packets_of_direction": [first, last], "do": action })
    };
    Ok(lines.into_iter().map(line).collect())
}
