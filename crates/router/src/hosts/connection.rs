//! A connection between two sockets: what each end has still to send, and what it tells.

use std::io;

use ecnlab_sim::Told;
use ecnlab_transport::{Demand, SendCounters, Window};

use crate::address::{Seat, Side};
use crate::drive::With;
use crate::sys::poll::{Interest, Poller};
use crate::sys::socket::{AgreedEcn, CA_CWR, CA_LOSS, Socket, TcpInfo};

/// A connection and its two ends, the near one first. The far one is of the connection before until the new one is accepted: it may still
/// have to hear of acknowledgements.
#[derive(Debug, Default)]
pub struct Connection {
    /// Of the near end.
    pub port: u16,
    pub ends: [End; 2],
}

/// One end, with the flow whose data it sends, if it sends any.
#[derive(Debug, Default)]
pub struct End {
    pub flow: Option<u32>,
    /// Where it is, and the near side's port.
    pub who: Option<(Seat, Side, u16)>,
    socket: Option<Socket>,
    token: u64,
    interest: Option<Interest>,
    state: State,
    /// The other end is of another connection by now.
    is_left: bool,
    /// What it has still to write; all that it was ever asked to.
    left: u64,
    asked: u64,
    /// It closes behind that.
    closes: bool,
    /// It has said that nothing more comes.
    is_finished: bool,
    /// The other end has said so.
    has_all: bool,
    /// It is to tell when all is acknowledged.
    owes: bool,
    retransmissions: Retransmissions,
}

/// What has been told of a connection's retransmissions.
#[derive(Clone, Copy, Debug, Default)]
struct Retransmissions {
    segments: u32,
    /// Timeouts of the segment that is outstanding, which is the first one behind so many bytes.
    timeouts: u8,
    acked: u64,
}

impl Retransmissions {
    /// What is to be told of a segment that the router has seen a second time; nothing if this socket has not sent it.
    fn another(&mut self, info: &TcpInfo) -> Option<SendCounters> {
        if self.segments >= info.total_retrans {
            return None;
        }
        self.segments += 1;
        // The kernel counts from zero again whenever something new is acknowledged.
        if info.bytes_acked != self.acked || info.retransmits < self.timeouts {
            (self.acked, self.timeouts) = (info.bytes_acked, 0);
        }
        let by_timeout = info.ca_state == CA_LOSS || info.retransmits > 0;
        let timeouts = info.retransmits - std::mem::replace(&mut self.timeouts, info.retransmits);
        Some(SendCounters {
            retransmitted_fast: u64::from(!by_timeout),
            retransmitted_timeout: u64::from(by_timeout),
            timeouts: u64::from(timeouts),
            ..SendCounters::default()
        })
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// There is no socket, or none any more.
    #[default]
    None,
    Connects,
    Open,
}

impl End {
    pub fn of(flow: u32) -> End {
        End { flow: Some(flow), ..End::default() }
    }

    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    pub fn is_connecting(&self) -> bool {
        self.state == State::Connects
    }

    /// The near end begins to connect with this socket.
    pub fn connects(&mut self, socket: Socket, token: u64, poller: &Poller) -> io::Result<()> {
        poller.add(&socket, token, Interest::Write)?;
        (self.socket, self.token, self.interest, self.state) = (Some(socket), token, Some(Interest::Write), State::Connects);
        Ok(())
    }

    /// A far end that has accepted with this socket.
    pub fn accepted(socket: Socket, token: u64, poller: &Poller) -> io::Result<End> {
        poller.add(&socket, token, Interest::Read)?;
        Ok(End { socket: Some(socket), token, interest: Some(Interest::Read), state: State::Open, ..End::default() })
    }

    /// The other end is of another connection from now on: what this one still reads is nobody's.
    pub fn is_left(&mut self) {
        self.is_left = true;
    }

    /// Whether the kernel has given up to connect.
    pub fn has_failed(&self) -> io::Result<bool> {
        Ok(self.socket.as_ref().map_or(Ok(None), Socket::error)?.is_some())
    }

    /// The same end before it began to connect.
    pub fn again(&mut self) -> End {
        End { flow: self.flow, left: self.asked, asked: self.asked, closes: self.closes, owes: self.owes, ..End::default() }
    }

    /// The handshake is over; what it has agreed on.
    pub fn opens(&mut self, with: &mut With) -> io::Result<AgreedEcn> {
        self.state = State::Open;
        self.tell(Told::Opened, with);
        self.socket.as_ref().map_or(Ok(AgreedEcn::None), |socket| Ok(socket.info()?.agreed_ecn()))
    }

    /// It has more to send.
    pub fn push(&mut self, demand: Demand) {
        self.left = self.left.saturating_add(demand.bytes);
        self.asked = self.asked.saturating_add(demand.bytes);
        self.closes |= demand.closes;
        self.owes = true;
    }

    /// Writes what the kernel takes. False if the connection is broken.
    pub fn write(&mut self, with: &mut With) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Ok(true) };
        while self.left > 0 {
            match socket.send(self.left) {
                Ok(Some(taken)) => {
                    if let (Some(cases), Some((seat, side, port))) = (&mut with.cases, self.who) {
                        cases.wrote(seat, port, side, taken, with.now);
                    }
                    let most = self.left.min(1 << 18);
                    self.left -= if self.asked == u64::MAX { 0 } else { taken };
                    if taken < most {
                        return Ok(true);
                    }
                }
                Ok(None) => return Ok(true),
                Err(why) => return self.breaks(&why),
            }
        }
        if self.closes && !self.is_finished {
            self.is_finished = true;
            if let (Some(cases), Some((seat, side, port))) = (&mut with.cases, self.who) {
                cases.closed(seat, port, side, with.now);
            }
            if let Err(why) = socket.finish() {
                return self.breaks(&why);
            }
        }
        self.look_for_acknowledgement(with)?;
        Ok(true)
    }

    /// Reads once what there is, and tells it of the flow that has sent it. False if the connection is broken.
    pub fn read(&mut self, at_most: u32, from: Option<u32>, with: &mut With) -> io::Result<bool> {
        let Some(socket) = self.socket.as_ref().filter(|_| !self.has_all) else { return Ok(true) };
        match socket.discard(at_most) {
            Ok(Some(0)) => self.has_all = true,
            Ok(Some(bytes)) => from.filter(|_| !self.is_left).into_iter().for_each(|flow| with.tell(flow, Told::Delivered { bytes })),
            Ok(None) => {}
            Err(why) => return self.breaks(&why),
        }
        Ok(true)
    }

    /// The connection is gone, unless this is no word of the other side.
    fn breaks(&mut self, why: &io::Error) -> io::Result<bool> {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
        if !matches!(why.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut) {
            return Err(io::Error::new(why.kind(), format!("a host's connection: {why}")));
        }
        (self.socket, self.state, self.left) = (None, State::None, 0);
        Ok(false)
    }

    /// Closes what is over, and says what to wait for.
    pub fn settle(&mut self, poller: &Poller) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.state == State::Open) else { return Ok(()) };
        if self.has_all && self.left == 0 {
            if !self.owes {
                (self.socket, self.state) = (None, State::None);
            } else if self.interest.take().is_some() {
                // Only its last data or its FIN is unacknowledged, which a packet to the host will change. Both directions are closed, so
                // every wait would end at once with a hang-up.
                poller.remove(socket)?;
            }
            return Ok(());
        }
        let wanted = match (!self.has_all, self.left > 0) {
            (true, true) => Interest::Both,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Nothing,
        };
        match self.interest.replace(wanted) {
            None => poller.add(socket, self.token, wanted)?,
            Some(before) if before != wanted => poller.change(socket, self.token, wanted)?,
            Some(_) => {}
        }
        Ok(())
    }

    /// Tells if all is acknowledged that it was asked to send.
    fn look_for_acknowledgement(&mut self, with: &mut With) -> io::Result<()> {
        let Some(socket) = self.socket.as_ref().filter(|_| self.owes && self.left == 0 && self.state == State::Open) else { return Ok(()) };
        if socket.unacknowledged()? == 0 {
            self.owes = false;
            self.tell(Told::Acknowledged, with);
        }
        Ok(())
    }

    /// A packet was given to the host: it may acknowledge all, or echo a mark, which the kernel then answers if its state says so.
    pub fn has_received(&mut self, echoes: bool, with: &mut With) -> io::Result<()> {
        if echoes
            && let Some(socket) = &self.socket
            && socket.info()?.ca_state == CA_CWR
        {
            self.tell(Told::Counters(SendCounters { ecn_reactions: 1, ..SendCounters::default() }), with);
        }
        self.look_for_acknowledgement(with)?;
        if self.has_all && !self.owes { self.settle(with.poller) } else { Ok(()) }
    }

    /// Asks the kernel why it has sent something again, and tells it.
    pub fn has_sent_again(&mut self, with: &mut With) -> io::Result<()> {
        let (Some(socket), Some(flow)) = (&self.socket, self.flow) else { return Ok(()) };
        if let Some(counted) = self.retransmissions.another(&socket.info()?) {
            with.tell(flow, Told::Counters(counted));
        }
        Ok(())
    }

    /// Has what the kernel tells of it written down.
    pub fn show(&self, by_timer: bool, with: &mut With) -> io::Result<()> {
        if let (Some(cases), Some((seat, _, port)), Some(socket)) = (&mut with.cases, self.who, &self.socket) {
            cases.shown(seat, port, socket.info()?, by_timer, with.now);
        }
        Ok(())
    }

    fn tell(&self, told: Told, with: &mut With) {
        if let Some(flow) = self.flow {
            with.tell(flow, told);
        }
    }

    /// Tells the window of a sender that is open.
    pub fn tell_window(&mut self, with: &mut With) -> io::Result<()> {
        let (Some(socket), Some(flow), State::Open) = (&self.socket, self.flow, self.state) else { return Ok(()) };
        let info = socket.info()?;
        with.tell(flow, Told::Window(Window { cwnd: f64::from(info.snd_cwnd), ssthresh: threshold(info.snd_ssthresh) }));
        Ok(())
    }
}

/// A kernel's first threshold is the largest number there is.
fn threshold(segments: u32) -> f64 {
    if segments >= i32::MAX as u32 { f64::INFINITY } else { f64::from(segments) }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Time;

    use super::*;

    fn told(retransmissions: &mut Retransmissions, total_retrans: u32, retransmits: u8, bytes_acked: u64) -> Option<[u64; 3]> {
        let ca_state = if retransmits > 0 { CA_LOSS } else { 0 };
        let info = TcpInfo { total_retrans, retransmits, bytes_acked, ca_state, ..TcpInfo::default() };
        let told = retransmissions.another(&info)?;
        Some([told.retransmitted_fast, told.retransmitted_timeout, told.timeouts])
    }

    #[test]
    fn every_timeout_is_told_once_also_the_first_of_a_later_segment() {
        let mut sent = Retransmissions::default();
        assert_eq!(Some([0, 1, 1]), told(&mut sent, 1, 1, 1000));
        assert_eq!(Some([0, 1, 1]), told(&mut sent, 2, 2, 1000), "of the same one");
        assert_eq!(Some([0, 1, 2]), told(&mut sent, 3, 2, 9000), "one of them was not seen");
        assert_eq!(Some([0, 1, 0]), told(&mut sent, 4, 2, 9000));
        assert_eq!(Some([1, 0, 0]), told(&mut sent, 5, 0, 12_000));
        assert_eq!(Some([0, 1, 1]), told(&mut sent, 6, 1, 15_000));
    }

    #[test]
    fn an_end_that_is_broken_connects_no_more() {
        let mut end = End { state: State::Connects, ..End::of(0) };
        assert!(end.is_connecting() && !end.is_open());
        assert!(!end.breaks(&io::ErrorKind::ConnectionReset.into()).unwrap());
        assert!(!end.is_connecting() && !end.is_open());
    }

    #[test]
    fn an_end_that_has_read_all_reports_that_its_last_data_is_acknowledged() {
        let listener = Socket::stream(false).unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        listener.listen().unwrap();
        let socket = Socket::stream(false).unwrap();
        socket.connect(listener.address().unwrap()).unwrap();
        let (accepted, _) = std::iter::from_fn(|| Some(listener.accept().unwrap())).flatten().next().unwrap();
        let (poller, mut told) = (Poller::new().unwrap(), Vec::new());
        let mut end = End { flow: Some(3), ..End::accepted(socket, 1, &poller).unwrap() };
        end.push(Demand::closing(100));
        end.left = 0;
        end.has_all = true;
        end.settle(&poller).unwrap();
        assert!(end.is_open(), "its last data is not acknowledged yet");
        end.settle(&poller).unwrap();
        let mut with = With { now: Time::ZERO, poller: &poller, hosts: &[], told: &mut told, cases: None };
        end.has_received(false, &mut with).unwrap();
        assert!(matches!(told[..], [(3, Told::Acknowledged)]), "{told:?}");
        assert!(!end.is_open(), "nothing is left to wait for");
        drop(accepted);
    }

    #[test]
    fn an_end_is_waited_for_again_when_it_has_more_to_send() {
        let listener = Socket::stream(false).unwrap();
        listener.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        listener.listen().unwrap();
        let socket = Socket::stream(false).unwrap();
        socket.connect(listener.address().unwrap()).unwrap();
        let poller = Poller::new().unwrap();
        let mut end = End { flow: Some(3), ..End::accepted(socket, 1, &poller).unwrap() };
        (end.owes, end.has_all) = (true, true);
        end.settle(&poller).unwrap();
        assert_eq!(None, end.interest);
        end.push(Demand::open(100));
        end.settle(&poller).unwrap();
        assert_eq!(Some(Interest::Write), end.interest);
    }

    #[test]
    fn what_another_socket_has_sent_again_is_not_told_of_this_one() {
        let mut sent = Retransmissions::default();
        assert_eq!(None, told(&mut sent, 0, 0, 0));
        assert_eq!(Some([1, 0, 0]), told(&mut sent, 1, 0, 0));
        assert_eq!(None, told(&mut sent, 1, 0, 0));
    }
}
