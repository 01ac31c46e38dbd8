//! Classifies packets by flow.

use ecnlab_sim::Direction;
use ecnlab_units::Time;
use ecnlab_wire::ParsedHeaders;

use crate::address::{AddressSlot, FlowAddressMap, Side, slot_and_side_of_address};

/// Flow of a packet, and the slot of its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classification {
    pub flow: u32,
    pub direction: Direction,
    pub slot: AddressSlot,
    /// The side that sent it.
    pub side: Side,
    /// Distinguishes connections of one flow at queues.
    pub connection_id: u8,
}

/// Finds the flow of a packet, as a classifier of tc does.
pub trait FlowClassifier {
    /// Classifies a packet from the host at a group's side; `None` if it belongs to no flow.
    fn classify(&mut self, view: &ParsedHeaders, host: (u32, Side), now: Time) -> Option<Classification>;

    /// The slot of a flow that will open a connection or send datagrams; `None` if none is free.
    fn assign_opener_address_slot(&mut self, flow: u32, group: u32) -> Option<AddressSlot>;

    /// The slot of a flow that will reply over the connection of another; `None` if that has no slot.
    fn assign_answerer_address_slot(&mut self, flow: u32, opener: u32) -> Option<AddressSlot>;

    /// The slot of a flow that has opened or answered a connection, and the side that it sends from.
    fn slot_and_side_of_flow(&self, flow: u32) -> Option<(AddressSlot, Side)>;

    /// The flow that sends from a side of a slot, if any.
    fn flow_sending_from(&self, slot: AddressSlot, side: Side) -> Option<u32>;
}

/// By the addresses of the plan.
impl FlowClassifier for FlowAddressMap {
    fn classify(&mut self, view: &ParsedHeaders, host: (u32, Side), _now: Time) -> Option<Classification> {
        let (slot, side) = slot_and_side_of_address(view.source).filter(|(slot, side)| (slot.group, *side) == host)?;
        let found = self.packet_flow_by_addresses(view.source, view.destination, view.occupies_sequence_space())?;
        let (from, to) = view.ports().unwrap_or_default();
        let port = if side == Side::Near { from } else { to };
        Some(Classification { flow: found.flow, direction: found.direction, slot, side, connection_id: (port ^ port >> 8) as u8 })
    }

    fn assign_opener_address_slot(&mut self, flow: u32, group: u32) -> Option<AddressSlot> {
        FlowAddressMap::slot_for_opening_flow(self, flow, group)
    }

    fn assign_answerer_address_slot(&mut self, flow: u32, opener: u32) -> Option<AddressSlot> {
        Some(FlowAddressMap::slot_for_answering_flow(self, flow, opener))
    }

    fn slot_and_side_of_flow(&self, flow: u32) -> Option<(AddressSlot, Side)> {
        FlowAddressMap::slot_and_side_of_flow(self, flow)
    }
    fn flow_sending_from(&self, slot: AddressSlot, side: Side) -> Option<u32> {
        FlowAddressMap::flow_sending_from(self, slot, side)
    }
}
