//! External hosts: their packets enter and leave the network, and requests of applications are passed to them.

use ecnlab_queue::{Discipline, Queue, QueueItem, SignalCause};
use ecnlab_transport::application::AppEvent;
use ecnlab_transport::{AppWrite, SegmentType};
use ecnlab_units::{CongestionLevel, Ecn, Time};

use super::Simulation;
use super::flow::AppWriteTiming;
use crate::calendar_queue::TieBreak;
use crate::external_hosts::{HostEvent, SimOutput};
use crate::link::QueuedPacket;
use crate::measures::Delivery;
use crate::network::RowPolicy;
use crate::packet::{Direction, ExternalPacket, NO_INDEX, Packet, PacketId, PacketOrigin};
use crate::probe::{MarkOrDropWithCause, Probe};
use crate::queue_log::MeasuredQueueEvent;

/// Interface of the driver.
impl<P: Probe> Simulation<P> {
    /// Time of the next event, if any is scheduled.
    pub fn next_event_time(&mut self) -> Option<Time> {
        self.calendar.earliest_deadline()
    }

    /// Index into [`Network::groups`](crate::Network::groups) of a flow.
    ///
    /// # Panics
    /// If the flow does not exist.
    pub fn group_of_flow(&self, flow: u32) -> u32 {
        self.flows[flow].group
    }

    /// Puts an external packet on its route, now.
    ///
    /// # Panics
    /// If the flow does not exist or its hosts are not external.
    pub fn inject_host_packet(&mut self, external: &ExternalPacket) {
        let flow = &mut self.flows[external.flow];
        let host = flow.sender.as_external_mut().expect("packets are injected for flows whose ends are outside");
        let hop_index = match external.direction {
            Direction::Forward => {
                host.count_packet();
                flow.forward_route
            }
            Direction::Back => flow.back_route,
        };
        let origin = PacketOrigin { flow: external.flow, hop_index, connection_id: external.connection_id, flags: flow.sender_flags };
        let id = self.packets.insert(Packet::from_external(external, origin, self.now));
        self.enter_link(self.route_hops[hop_index], id);
    }

    /// Outputs since the last call, in order.
    pub fn drain_outputs(&mut self) -> std::vec::Drain<'_, SimOutput> {
        self.outputs.drain(..)
    }

    /// Applies an event of a flow's external hosts, now.
    ///
    /// # Panics
    /// If the flow does not exist or its hosts are not external.
    pub fn apply_host_input(&mut self, flow: u32, input: HostEvent) {
        let now = self.now;
        let told_of = &mut self.flows[flow];
        let host = told_of.sender.as_external_mut().expect("hosts tell of flows whose ends are outside");
        match input {
            HostEvent::Opened => {
                let is_news = host.record_open();
                if is_news && told_of.app != NO_INDEX {
                    self.notify_app_of_flow(flow, AppEvent::Opened);
                }
            }
            HostEvent::Delivered { bytes } => {
                let counts = host.on_peer_read(bytes);
                self.on_external_bytes_readable(flow, counts);
            }
            HostEvent::Acknowledged => {
                host.on_all_acknowledged();
                if told_of.measures.is_sending() {
                    self.end_transfer(flow);
                }
            }
            HostEvent::RoundTrip(rtt) => {
                host.update_min_rtt(rtt);
                told_of.measures.on_rtt_sample(rtt);
                if told_of.row_policy != RowPolicy::NotCounted {
                    self.probe.on_rtt_sample(now, told_of.group, rtt);
                }
            }
            HostEvent::Window(window) => {
                host.set_window(window);
                self.probe.on_window_update(now, flow, &window);
            }
            HostEvent::Counters(more) => host.add_counters(&more),
        }
    }

    fn on_external_bytes_readable(&mut self, at: u32, bytes: u64) {
        let flow = &mut self.flows[at];
        if let Some(since) = flow.measures.on_readable_bytes(bytes, self.now) {
            self.probe.on_lockout(at, since, self.now);
        }
        if flow.app_kind == AppWriteTiming::WantsDeliveries && bytes > 0 {
            self.notify_app_of_flow(at, |member| AppEvent::Delivered(member, bytes));
        }
    }
}

/// Queues that a kernel serves.
impl<P: Probe> Simulation<P> {
    /// A packet has left a kernel queue, and the link starts to send it now; `ecn` is its ECN field after the queue. The driver lets the
    /// queue release the next packet when this one has been sent. Returns whether the packet was in the queue.
    pub fn on_kernel_dequeue(&mut self, link: u32, handle: u32, ecn: Ecn) -> bool {
        let Some(at) = self.kernel_queue_of_link(link) else { return false };
        let (now, queue, mut handler) = self.queue_and_handler(at);
        queue.update_length(now);
        let Queue::KernelMirror(mirror) = &mut queue.discipline else { return false };
        let is_marked = |frame: &QueuedPacket| ecn == Ecn::Ce && frame.ecn() != Ecn::Ce;
        let found = mirror.on_kernel_dequeue(|frame| handler.external_packet_handle(frame.packet) == handle, is_marked, now);
        let Some((mut frame, waited)) = found else { return false };
        handler.apply_kernel_ecn(&frame, ecn);
        if is_marked(&frame) {
            frame.mark(CongestionLevel::Congested);
            handler.probe_queue_event(MeasuredQueueEvent::Marked(&frame, SignalCause::Early));
        }
        handler.probe_queue_event(MeasuredQueueEvent::Departed { frame: &frame, sojourn: waited, band: 0 });
        self.probe.on_departure(at, waited, 0);
        let transmission = self.links[link].transmission_time(frame.size());
        self.queues[at].measures.record_departure(waited, 0, transmission);
        self.probe_transmission_start(link, frame.packet, now);
        let tie_break = TieBreak { scheduled_at: now, entered_buffer_at: now - waited };
        self.start_propagation(link, frame.packet, now + transmission, tie_break);
        true
    }

    /// A kernel queue has dropped a packet, for this reason. Returns whether the packet was in the queue.
    pub fn on_kernel_drop(&mut self, link: u32, handle: u32, cause: SignalCause) -> bool {
        let Some(at) = self.kernel_queue_of_link(link) else { return false };
        let (now, queue, mut handler) = self.queue_and_handler(at);
        queue.update_length(now);
        let Queue::KernelMirror(mirror) = &mut queue.discipline else { return false };
        let Some(frame) = mirror.on_kernel_drop(|frame| handler.external_packet_handle(frame.packet) == handle, cause) else {
            return false;
        };
        handler.probe_queue_event(MeasuredQueueEvent::Dropped(&frame, cause));
        handler.drop_packet(frame.packet, MarkOrDropWithCause::Dropped(cause));
        true
    }

    /// A kernel queue has made a copy of a packet, under the same handle, and the copy is in the queue too. Returns whether the packet was
    /// in the queue.
    pub fn on_kernel_duplicate(&mut self, link: u32, handle: u32) -> bool {
        let Some(at) = self.kernel_queue_of_link(link) else { return false };
        let mut found = None;
        self.queues[at].discipline.for_each_packet(&mut |frame| {
            found = found.or((self.packets[frame.packet].handle() == handle).then_some(frame.packet));
        });
        let Some(original) = found else { return false };
        let copy = self.create_duplicate_packet(original);
        self.links[link].arrived_packets += 1;
        self.store_in_queue(at, copy);
        // The driver has made the copy, so it needs no report.
        if let Queue::KernelMirror(proxy) = &mut self.queues[at].discipline {
            proxy.arrivals_since_last_call().for_each(drop);
        }
        true
    }

    /// The number of a link's queue, if a kernel serves it.
    fn kernel_queue_of_link(&self, link: u32) -> Option<u32> {
        let at = self.links.get(link as usize)?.queue;
        let queue = self.queues.get(at as usize)?;
        matches!(queue.discipline, Queue::KernelMirror(_)).then_some(at)
    }

    /// Reports newly arrived packets to the driver of a kernel queue, which holds the packets itself.
    #[cold]
    #[inline(never)]
    pub(super) fn report_kernel_enqueues(&mut self, at: u32) {
        let Simulation { now, queues, packets, outputs, .. } = self;
        let queue = &mut queues[at];
        let (at, link) = (*now, queue.link);
        if let Queue::KernelMirror(proxy) = &mut queue.discipline {
            outputs.extend(proxy.arrivals_since_last_call().map(|frame| {
                let packet = &packets[frame.packet];
                SimOutput::KernelEnqueued { handle: packet.handle(), at, link, ecn: packet.ecn }
            }));
        }
    }
}

/// Results for packets, and requests of flows to their hosts.
impl<P: Probe> Simulation<P> {
    /// An external packet has reached the end of its route.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_to_host(&mut self, id: PacketId) {
        let packet = self.packets[id];
        self.packets.remove_without_ext(id);
        let (direction, bits) = (packet.direction(), packet.flags);
        if direction == Direction::Forward {
            let flow = &mut self.flows[packet.flow];
            flow.received_packets += 1;
            if packet.segment_type() != SegmentType::PureAck {
                flow.measures.on_delivery_without_new_bytes(&Delivery {
                    size: packet.size,
                    new_bytes: 0,
                    first_bytes: packet.first_time_payload(),
                });
                self.groups[flow.group].record_delay(flow, self.now.since(packet.sent_at));
            }
        }
        let (ece, cwr) = (bits.ece(), bits.cwr());
        self.outputs.push(SimOutput::Arrived {
            handle: packet.handle(),
            at: self.now,
            flow: packet.flow,
            direction,
            ecn: packet.ecn,
            ece,
            cwr,
        });
    }

    /// The start time of a flow has come.
    pub(super) fn start_external_flow(&mut self, at: u32) {
        let flow = &mut self.flows[at];
        flow.started = true;
        if let Some(demand) = flow.initial_write {
            self.request_external_send(at, demand);
        }
    }

    /// Asks a flow's external host for a new connection that replaces the flow's previous one; its transfer begins.
    pub(super) fn request_external_connection(&mut self, at: u32, demand: AppWrite) {
        let flow = &mut self.flows[at];
        if !flow.sends_datagrams {
            flow.measures.begin_transfer(self.now);
        }
        self.request_external_send(at, demand);
    }

    /// Asks a flow's external host to send in the other direction of the connection that `to` has opened.
    pub(super) fn request_external_answer(&mut self, at: u32, to: u32, demand: AppWrite) {
        let flow = &mut self.flows[at];
        flow.replace_with_external_reverse_connection(&demand, self.now);
        flow.measures.begin_transfer(self.now);
        self.outputs.push(SimOutput::Answer { flow: at, to, demand, at: self.now });
        self.notify_app_of_flow(at, AppEvent::Opened);
    }

    /// Asks a flow's external host to send data, over a new connection if it has none.
    pub(super) fn request_external_send(&mut self, at: u32, demand: AppWrite) {
        let now = self.now;
        let flow = &mut self.flows[at];
        let Some(host) = flow.sender.as_external_mut() else { return };
        let asked = if host.request_write(demand.bytes) {
            SimOutput::Open { flow: at, connection: host.connection_number(), demand, at: now }
        } else {
            SimOutput::Write { flow: at, demand, at: now }
        };
        if flow.sends_datagrams {
            flow.measures.on_datagram_sent(now);
        } else if !flow.measures.is_sending() {
            flow.measures.begin_transfer(now);
        }
        self.outputs.push(asked);
    }
}
