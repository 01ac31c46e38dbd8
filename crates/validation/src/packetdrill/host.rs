//! The simulated host behind a script: a sender and a receiver of one connection, whose packets become lines.

use std::collections::VecDeque;
use std::fmt::Display;
use std::sync::Arc;

use ecnlab_transport::settings::PADDED_ACCECN_OPTION_BYTES;
use ecnlab_transport::{
    AccurateReceiver, Ack, AppWrite, HostClock, NegotiatedEcn, Receiver, ReverseAccurateStart, SackOption, Segment, SegmentType, Sender,
    TcpSettings, profile,
};
use ecnlab_units::{Span, Time};

use super::SentPacket;
use super::script::{Action, NonEcnFlags, PacketLine, Script};
use crate::kernel::{NEWER_PROFILE, SegmentBoundaries, SegmentMap};

/// Headers of IPv4 and TCP, and the timestamps option.
const BARE_HEADER_BYTES: u32 = 40;
const TIMESTAMPS_BYTES: u32 = 12;
/// The host's own largest segment, on Ethernet.
const OWN_MSS: u32 = 1460;

/// Which end of the connection the host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Client,
    Server,
}

pub struct Host {
    role: Role,
    settings: Arc<TcpSettings>,
    clock: HostClock,
    sender: Option<Sender>,
    receiver: Option<Receiver>,
    /// Segments of the peer: their first byte and end.
    peer: SegmentBoundaries,
    /// Segments that the host has sent.
    map: SegmentMap,
    header: u32,
    sent: VecDeque<SentPacket>,
    /// Writes of a client before the connection is open.
    waiting: Vec<AppWrite>,
    /// The window scale of the peer.
    peer_scale: u32,
    timestamps: bool,
    /// Latest timestamp of the peer, plus one.
    newest_tsval: u32,
    /// Times at which segments were last sent.
    sent_times: Vec<Time>,
}

/// Boundaries of the segments of all packets that arrive, without gaps; a byte between them belongs to a segment of its own. With `syn` segment 0 is the SYN.
fn peer_boundaries(script: &Script, syn: bool) -> Result<SegmentBoundaries, String> {
    let mut pieces: Vec<(u64, u64)> = Vec::new();
    for packet in arriving_packets_of_script(script).filter(|packet| packet.len > 0 || packet.flags.fin) {
        pieces.push((packet.seq, packet.seq + packet.len + u64::from(packet.flags.fin)));
    }
    pieces.sort_unstable();
    pieces.dedup();
    let mut boundaries = SegmentBoundaries::default();
    if syn {
        boundaries.push(0, 1);
    }
    let mut end = 1;
    for (from, to) in pieces {
        if from < end {
            return Err("data of the peer with overlapping segments".to_owned());
        }
        if from > end {
            boundaries.push(end, from);
        }
        boundaries.push(from, to);
        end = to;
    }
    Ok(boundaries)
}

fn arriving_packets_of_script(script: &Script) -> impl Iterator<Item = &PacketLine> {
    script.events.iter().filter_map(|event| if let Action::Arrive(packet) = &event.action { Some(packet) } else { None })
}

/// The settings of the host: its sysctls, and what the SYNs agree on.
fn settings(script: &Script, role: Role) -> Result<TcpSettings, String> {
    let sysctl = |name: &str| script.sysctls.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let mut values = profile::find_profile(NEWER_PROFILE).ok_or("no profile")?.values_with_defaults();
    let mut set =
        |name: &str, value: &dyn Display| values.set_from_text(name, &value.to_string()).map_err(|why| format!("{name} = {value}: {why}"));
    let ecn = sysctl("net.ipv4.tcp_ecn").unwrap_or("0");
    let (asks, agrees) = match ecn {
        "0" => (None, None),
        "1" => (Some("classic"), Some(false)),
        "2" => (None, Some(false)),
        "3" => (Some("accurate"), Some(true)),
        "4" => (Some("classic"), Some(true)),
        "5" => (None, Some(true)),
        other => return Err(format!("tcp_ecn = {other}")),
    };
    let echo = if role == Role::Server { Some("accurate") } else { asks };
    set("ecn", &echo.is_some())?;
    set("ecn_echo", &echo.unwrap_or("classic"))?;
    set("receiver_ecn", &!(role == Role::Server && agrees.is_none()))?;
    set("receiver_accurate_ecn", &!(role == Role::Server && agrees != Some(true)))?;
    set("ecn_fallback", &(sysctl("net.ipv4.tcp_ecn_fallback") != Some("0")))?;
    let option = match sysctl("net.ipv4.tcp_ecn_option").unwrap_or("2") {
        "0" => "off",
        "1" => "minimum",
        "2" => "full",
        "3" => "always",
        other => return Err(format!("tcp_ecn_option = {other}")),
    };
    set("accecn_option", &option)?;
    let syn = arriving_packets_of_script(script).find(|packet| packet.flags.syn);
    let timestamps = syn.is_some_and(|syn| syn.timestamps.is_some());
    let header = BARE_HEADER_BYTES + if timestamps { TIMESTAMPS_BYTES } else { 0 };
    let mss = syn.and_then(|syn| syn.mss).unwrap_or(OWN_MSS).min(OWN_MSS);
    set("gso", &"true")?;
    set("timestamps", &timestamps)?;
    set("sack_blocks", &if timestamps { 3 } else { 4 })?;
    if syn.is_some_and(|syn| !syn.sack_permitted) {
        set("sack_blocks", &"0")?;
        set("dsack", &"false")?;
    }
    set("packet_size", &format!("{} B", mss + BARE_HEADER_BYTES))?;
    set("header_size", &format!("{header} B"))?;
    set("ack_size", &format!("{header} B"))?;
    Ok(TcpSettings::from_values(&values))
}

impl Host {
    /// # Errors
    /// What of the script is not supported.
    pub fn new(script: &Script) -> Result<Host, String> {
        let role = if script.events.iter().any(|event| matches!(event.action, Action::Connect)) { Role::Client } else { Role::Server };
        let settings = Arc::new(settings(script, role)?);
        let clock = HostClock::new(&settings, Span::from_secs(1));
        let peer_scale = arriving_packets_of_script(script).find(|packet| packet.flags.syn).and_then(|syn| syn.window_scale).unwrap_or(0);
        let mut host = Host {
            role,
            clock,
            sender: None,
            receiver: None,
            peer: peer_boundaries(script, role == Role::Server)?,
            map: SegmentMap::default(),
            header: settings.quirks.header_size,
            sent: VecDeque::new(),
            waiting: Vec::new(),
            peer_scale,
            timestamps: settings.timestamps,
            newest_tsval: 0,
            sent_times: Vec::new(),
            settings,
        };
        if role == Role::Server {
            host.receiver = Some(Receiver::new(&host.settings, clock));
        }
        Ok(host)
    }

    pub fn connect(&mut self, now: Time) {
        let mut sender = Sender::new(self.settings.clone(), &AppWrite::keep_open(0), self.clock);
        let mut out = Vec::new();
        sender.start(now, &mut out);
        self.sender = Some(sender);
        self.flush(out, None, now);
    }

    pub fn write(&mut self, bytes: u64, now: Time) {
        self.write_or_defer(AppWrite::keep_open(bytes), now);
    }

    pub fn close(&mut self, now: Time) {
        self.write_or_defer(AppWrite::then_close(0), now);
    }

    fn write_or_defer(&mut self, app_write: AppWrite, now: Time) {
        if self.sender.as_ref().is_some_and(Sender::is_in_handshake) {
            self.waiting.push(app_write);
            return;
        }
        if let Some(receiver) = self.receiver.as_mut().filter(|_| app_write.closes) {
            receiver.suppress_close_on_fin();
        }
        let mut out = Vec::new();
        match &mut self.sender {
            Some(sender) => sender.write(&app_write, now, &mut out),
            None => {
                let mut sender = self.answering_sender(&app_write, now);
                sender.start(now, &mut out);
                self.sender = Some(sender);
            }
        }
        self.flush(out, None, now);
    }

    /// The sender of a host that accepted the connection.
    fn answering_sender(&mut self, app_write: &AppWrite, now: Time) -> Sender {
        let accurate = self.receiver.as_ref().and_then(Receiver::accurate_counters);
        let start = accurate.map_or(ReverseAccurateStart::default(), |accurate| ReverseAccurateStart {
            reported_ce: accurate.ce_reported_by_peer(),
            received_ce: accurate.received_ce_packets(),
            uses_option: accurate.uses_option(),
            newest_tsval: self.newest_tsval,
            withholds_ect: accurate.withholds_ect(),
        });
        let ecn = match (accurate.is_some(), self.receiver.as_ref().is_some_and(Receiver::uses_ecn)) {
            (true, _) => NegotiatedEcn::Accurate,
            (false, true) => NegotiatedEcn::Classic,
            (false, false) => NegotiatedEcn::None,
        };
        let settings = Arc::new(self.settings.for_reverse_direction(ecn));
        Sender::for_reverse_direction(settings, app_write, self.clock, None, start, now)
    }

    /// Sends the option no more.
    pub fn stop_accecn_option(&mut self) {
        if let Some(receiver) = &mut self.receiver {
            receiver.stop_accecn_option();
        }
    }

    /// A packet of the peer. A reset ends the connection.
    ///
    /// # Errors
    /// What cannot be given to the host.
    pub fn arrive(&mut self, packet: &PacketLine, now: Time) -> Result<(), String> {
        if packet.flags.reset {
            (self.sender, self.receiver) = (None, None);
            return Ok(());
        }
        self.newest_tsval = self.newest_tsval.max(packet.timestamps.map_or(1, |(value, _)| value as u32 + 1));
        if let Some(receiver) = &mut self.receiver {
            receiver.see_accecn_option(&packet.accecn);
        }
        match self.role {
            Role::Client => self.arrive_at_client(packet, now)?,
            Role::Server => self.arrive_at_server(packet, now),
        }
        Ok(())
    }

    fn arrive_at_client(&mut self, packet: &PacketLine, now: Time) -> Result<(), String> {
        let was_in_handshake = self.sender.as_ref().ok_or("a packet before connect")?.is_in_handshake();
        let mut out = self.pass_ack_to_sender(packet, now);
        if let Some(sender) = self.sender.as_mut().filter(|sender| was_in_handshake && !sender.is_in_handshake()) {
            let ecn = sender.negotiated_ecn();
            let settings = self.settings.for_reverse_direction(ecn);
            let mut receiver = Receiver::new(&settings, self.clock);
            if ecn == NegotiatedEcn::Accurate {
                let (ce, option, rtt) = (sender.received_ce_acks(), sender.uses_accecn_option(), sender.known_min_rtt());
                receiver.set_accurate_counters(AccurateReceiver::for_reverse_direction(&settings, ce, option, rtt));
            }
            receiver.suppress_close_on_fin();
            self.receiver = Some(receiver);
            for app_write in self.waiting.drain(..) {
                sender.write(&app_write, now, &mut out);
            }
        }
        self.pass_packet_to_receiver(packet, out, now);
        Ok(())
    }

    fn arrive_at_server(&mut self, packet: &PacketLine, now: Time) {
        if packet.flags.syn || self.sender.is_none() && packet.len == 0 && !packet.flags.fin {
            return self.receive_segment(packet, now, Vec::new());
        }
        let out = self.pass_ack_to_sender(packet, now);
        self.pass_packet_to_receiver(packet, out, now);
    }

    /// Segments that the sender, if there is one, sends for the acknowledgement of a packet.
    fn pass_ack_to_sender(&mut self, packet: &PacketLine, now: Time) -> Vec<Segment> {
        let ack = self.ack(packet, now);
        let mut out = Vec::new();
        match &mut self.sender {
            Some(sender) if packet.len > 0 || packet.flags.fin && !packet.flags.syn => sender.on_ack_with_data(&ack, now, &mut out),
            Some(sender) => sender.on_ack(&ack, now, &mut out),
            None => {}
        }
        out
    }

    /// Gives a packet to the receiver, after its acknowledgement was taken.
    fn pass_packet_to_receiver(&mut self, packet: &PacketLine, out: Vec<Segment>, now: Time) {
        if packet.len > 0 || packet.flags.fin && !packet.flags.syn {
            self.receive_segment(packet, now, out);
            return;
        }
        if let Some(receiver) = self.receiver.as_mut().filter(|_| !packet.flags.syn) {
            receiver.count_pure_ack_ecn(packet.ecn);
        }
        self.flush(out, None, now);
    }

    fn receive_segment(&mut self, packet: &PacketLine, now: Time, out: Vec<Segment>) {
        let segment = self.segment(packet);
        let sent = self.peer_send_time(packet, now);
        let Some(receiver) = &mut self.receiver else { return };
        let outcome = receiver.receive(&segment, sent, now);
        if let Some(ack) = outcome.earlier_ack {
            self.record_sent_ack(&ack, now);
        }
        let left = self.flush(out, outcome.ack, now);
        if let Some(ack) = left {
            self.record_sent_ack(&ack, now);
        }
    }

    /// The time at which the peer sent a packet, by its timestamp.
    fn peer_send_time(&self, packet: &PacketLine, now: Time) -> Time {
        packet.timestamps.filter(|_| self.timestamps).map_or(now, |(value, _)| Time::ZERO + Span::from_millis(value))
    }

    fn segment(&self, packet: &PacketLine) -> Segment {
        let segment_type = match (packet.flags.syn, packet.flags.fin, packet.len) {
            (true, ..) => SegmentType::Syn,
            (_, true, _) => SegmentType::Fin,
            (_, _, 0) => SegmentType::PureAck,
            _ => SegmentType::Plain,
        };
        let has_option = packet.accecn.is_present() && segment_type != SegmentType::Syn;
        let option = if has_option { PADDED_ACCECN_OPTION_BYTES } else { 0 };
        let mut segment = Segment {
            segment_type,
            ecn: packet.ecn,
            push: packet.flags.push,
            accecn_option: has_option,
            ..Segment::plain(self.peer.containing(packet.seq), self.header + option + packet.len as u32)
        };
        segment.set_ace(packet.ace);
        segment
    }

    fn ack(&self, packet: &PacketLine, now: Time) -> Ack {
        let mut sacks = SackOption::default();
        for &(from, to) in &packet.sacks {
            sacks.push(self.map.boundaries.containing(from), self.map.boundaries.containing(to));
        }
        let scale = if packet.flags.syn { 0 } else { self.peer_scale };
        let next = self.map.boundaries.containing(packet.ack);
        // The segment that the acknowledgement answers: the last that it sacks or acknowledges.
        let answered = packet.sacks.first().map_or(next, |&(_, to)| self.map.boundaries.containing(to)).checked_sub(1);
        let echo = answered.and_then(|segment| self.sent_times.get(segment as usize)).copied().unwrap_or(now);
        let mut ack = Ack {
            segment_type: match (packet.flags.syn, packet.flags.fin) {
                (true, _) => SegmentType::Syn,
                (_, true) => SegmentType::Fin,
                _ => SegmentType::Plain,
            },
            ecn: packet.ecn,
            echo,
            window: packet.window.map_or(Ack::WINDOW_UNLIMITED, |window| (window << scale) as u32),
            on_data: packet.len > 0,
            tsval_ms: packet.timestamps.map_or(1, |(value, _)| value as u32 + 1),
            accecn: packet.accecn,
            sacks,
            ..Ack::plain(next, self.header)
        };
        ack.set_ace(packet.ace);
        ack
    }

    /// Runs the timers before a time.
    pub fn run_timers(&mut self, until: Time) {
        while let Some(at) = self.deadline().filter(|&at| at < until) {
            self.run_timer(at);
        }
    }

    /// Runs timers until the host sends a packet, or the time comes.
    pub fn run_until_sent(&mut self, until: Time) {
        while self.sent.is_empty() {
            let Some(at) = self.deadline().filter(|&at| at <= until) else { return };
            self.run_timer(at);
        }
    }

    fn deadline(&self) -> Option<Time> {
        let deadlines = [self.sender.as_ref().and_then(Sender::deadline), self.receiver.as_ref().and_then(Receiver::deadline)];
        deadlines.into_iter().flatten().min()
    }

    fn run_timer(&mut self, at: Time) {
        if self.receiver.as_ref().and_then(Receiver::deadline) == Some(at) {
            if let Some(ack) = self.receiver.as_mut().and_then(|receiver| receiver.on_timer(at)) {
                self.record_sent_ack(&ack, at);
            }
            return;
        }
        let mut out = Vec::new();
        if let Some(sender) = &mut self.sender {
            sender.on_timer(at, &mut out);
        }
        self.flush(out, None, at);
    }

    /// Notes segments of the sender. Data takes along an acknowledgement; returns one that nothing took along.
    fn flush(&mut self, out: Vec<Segment>, mut ack: Option<Ack>, now: Time) -> Option<Ack> {
        for segment in out {
            let Some(buffer) = self.sender.as_ref().map(Sender::send_buffer) else { break };
            let written = self.map.on_sent(&segment, buffer, self.header);
            if segment.segment_type != SegmentType::PureAck {
                let count = self.sent_times.len().max(segment.seq as usize + 1);
                self.sent_times.resize(count, now);
                self.sent_times[segment.seq as usize] = now;
            }
            let carries_ack = !matches!(segment.segment_type, SegmentType::PureAck | SegmentType::Syn);
            let own = self.receiver.as_mut().filter(|_| carries_ack);
            let riding = own.map(|receiver| ack.take().unwrap_or_else(|| receiver.piggybacked_ack(now)));
            let mut packet = PacketLine {
                flags: NonEcnFlags {
                    syn: segment.segment_type == SegmentType::Syn,
                    fin: segment.segment_type == SegmentType::Fin,
                    push: segment.push,
                    ack: segment.segment_type != SegmentType::Syn,
                    reset: false,
                },
                ace: segment.ace(),
                ecn: segment.ecn,
                seq: written.seq,
                len: written.len,
                ack: self.receiver.as_ref().map_or(1, |receiver| self.peer.start(receiver.rcv_nxt())),
                ..PacketLine::default()
            };
            if segment.accecn_option {
                packet.accecn = ecnlab_transport::AccEcnOption::new(ecnlab_transport::accurate_ecn::INITIAL_BYTES.map(Some));
            }
            if let Some(riding) = riding {
                self.set_ack_fields(&mut packet, &riding);
            }
            self.sent.push_back(SentPacket { time: now, packet });
        }
        ack
    }

    fn record_sent_ack(&mut self, ack: &Ack, now: Time) {
        let is_syn = ack.segment_type == SegmentType::Syn;
        let mut packet = PacketLine {
            flags: NonEcnFlags { syn: is_syn, fin: ack.segment_type == SegmentType::Fin, push: false, ack: true, reset: false },
            ecn: ack.ecn,
            seq: if is_syn { 0 } else { self.map.end_seq() },
            ..PacketLine::default()
        };
        self.set_ack_fields(&mut packet, ack);
        packet.ace = ack.ace();
        self.sent.push_back(SentPacket { time: now, packet });
    }

    fn set_ack_fields(&self, packet: &mut PacketLine, ack: &Ack) {
        packet.ack = self.peer.start(ack.next);
        packet.sacks = ack.sacks.as_slice().iter().map(|&(from, to)| (self.peer.start(from), self.peer.previous_segment_end(to))).collect();
        if ack.is_accurate() {
            packet.ace = ack.ace();
            packet.accecn = ack.accecn;
        } else {
            packet.ace |= u8::from(ack.ece);
        }
    }

    pub fn pop_sent_packet(&mut self) -> Option<SentPacket> {
        self.sent.pop_front()
    }

    pub fn peek_sent(&self) -> Option<&SentPacket> {
        self.sent.front()
    }

    /// A counter of TCP_INFO.
    pub fn counter(&self, name: &str) -> Option<u64> {
        let accurate = self.receiver.as_ref().and_then(Receiver::accurate_counters);
        let reported = self.sender.as_ref().map_or([0; 3], Sender::reported_bytes);
        match name {
            "tcpi_delivered_ce" => Some(match &self.sender {
                Some(sender) => sender.reported_ce(),
                None => accurate.map_or(0, AccurateReceiver::ce_reported_by_peer),
            }),
            "tcpi_received_ce" => Some(
                accurate.map_or_else(|| self.sender.as_ref().map_or(0, Sender::received_ce_acks), AccurateReceiver::received_ce_packets),
            ),
            "tcpi_delivered_e1_bytes" => Some(reported[0]),
            "tcpi_delivered_ce_bytes" => Some(reported[1]),
            "tcpi_delivered_e0_bytes" => Some(reported[2]),
            "tcpi_received_ce_bytes" => Some(accurate.map_or(0, |accurate| accurate.received_bytes()[1])),
            _ => None,
        }
    }
}
