//! Queueing disciplines of a kernel as its netlink takes them: what tc(8) calls parameters, by the same names, written as in any scenario.
//!
//! Most have one attribute for each parameter. RED and CHOKe have a structure with exponents, and a table by which the average decays while
//! the queue is empty. tc makes that table for a clock of 64 ns, but the kernel looks it up by microseconds; here it is made for what the
//! kernel reads, so that the average decays as RED has it.

use ecnlab_queue::KernelQueue;
use ecnlab_units::quantity;

use crate::sys::netlink::Message;

/// How a parameter is written, and what the kernel gets of it.
#[derive(Clone, Copy, Debug)]
enum How {
    /// A whole number.
    Number,
    /// A time, in microseconds.
    Micros,
    /// True or false, as 1 or 0.
    Flag,
}

/// A parameter with the number of its attribute.
type Parameter = (&'static str, u16, How);

/// A discipline whose parameters have an attribute each.
struct Plain {
    name: &'static str,
    parameters: &'static [Parameter],
}

use How::{Flag, Micros, Number};

const PLAIN: &[Plain] = &[
    Plain {
        name: "codel",
        parameters: &[("target", 1, Micros), ("limit", 2, Number), ("interval", 3, Micros), ("ecn", 4, Flag), ("ce_threshold", 5, Micros)],
    },
    Plain {
        name: "fq_codel",
        parameters: &[
            ("target", 1, Micros),
            ("limit", 2, Number),
            ("interval", 3, Micros),
            ("ecn", 4, Flag),
            ("flows", 5, Number),
            ("quantum", 6, Number),
            ("ce_threshold", 7, Micros),
            ("memory_limit", 9, Number),
        ],
    },
    Plain {
        name: "pie",
        parameters: &[
            ("target", 1, Micros),
            ("limit", 2, Number),
            ("tupdate", 3, Micros),
            ("alpha", 4, Number),
            ("beta", 5, Number),
            ("ecn", 6, Flag),
            ("bytemode", 7, Flag),
            ("dq_rate_estimator", 8, Flag),
        ],
    },
    Plain {
        name: "fq_pie",
        parameters: &[
            ("limit", 1, Number),
            ("flows", 2, Number),
            ("target", 3, Micros),
            ("tupdate", 4, Micros),
            ("alpha", 5, Number),
            ("beta", 6, Number),
            ("quantum", 7, Number),
            ("memory_limit", 8, Number),
            ("ecn_prob", 9, Number),
            ("ecn", 10, Flag),
            ("bytemode", 11, Flag),
            ("dq_rate_estimator", 12, Flag),
        ],
    },
    Plain { name: "cake", parameters: &[("rtt", 7, Micros), ("target", 8, Micros), ("memory", 10, Number), ("wash", 13, Flag)] },
    Plain {
        name: "fq",
        parameters: &[("limit", 1, Number), ("flow_limit", 2, Number), ("quantum", 3, Number), ("initial_quantum", 4, Number)],
    },
];

/// What RED and CHOKe take, as tc(8) has it; bytes for RED, packets for CHOKe.
const RED: &[&str] =
    &["limit", "min", "max", "avpkt", "burst", "wlog", "bandwidth", "probability", "ecn", "harddrop", "adaptive", "nodrop", "child"];
const FIFO: &[&str] = &["limit"];
const SFQ: &[&str] = &["limit", "quantum", "divisor", "flows"];
const TBF: &[&str] = &["rate", "burst", "limit"];

const UNKNOWN_HERE: &str =
    "the kernel's queues that can stand at a link are red, choke, codel, fq_codel, pie, fq_pie, cake, fq, sfq, tbf, pfifo and bfifo";

/// Attributes of a discipline: its name and its options (`TCA_KIND`, `TCA_OPTIONS`).
const KIND: u16 = 1;
const OPTIONS: u16 = 2;
/// The same where it holds attributes, which some disciplines want to be told (`NLA_F_NESTED`).
const NESTED_OPTIONS: u16 = OPTIONS | 1 << 15;

/// A discipline, read: what makes its options.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    name: &'static str,
    options: Options,
    /// Whether it stands below a shaper that holds nothing up, which asks for no packet where it sees none.
    is_child: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Options {
    Numbers(Vec<(u16, u32)>),
    Red(Red),
    /// A structure that stands there by itself.
    Structure(Vec<u8>),
    /// A structure as an attribute, and further numbers.
    Token {
        structure: Vec<u8>,
        rate64: u64,
        burst: u32,
    },
}

/// `struct tc_red_qopt` with what belongs to it.
#[derive(Clone, Debug, PartialEq)]
struct Red {
    limit: u32,
    min: u32,
    max: u32,
    weight_log: u8,
    probability: f64,
    /// Seconds that an average packet takes to send.
    packet_s: f64,
    flags: u8,
}

impl Qdisc {
    /// Reads a scenario's queue for a link of this rate.
    ///
    /// # Errors
    /// All that is wrong, each after the parameter's name, which is empty for the queue itself.
    pub fn read(queue: &KernelQueue, rate_bps: f64) -> Result<Qdisc, Vec<(String, String)>> {
        if let Some(plain) = PLAIN.iter().find(|plain| plain.name == queue.name) {
            return plain.read(queue);
        }
        match queue.name.as_str() {
            "red" => red(queue, rate_bps, "red", false),
            "choke" => red(queue, rate_bps, "choke", true),
            "pfifo" => fifo(queue, "pfifo"),
            "bfifo" => fifo(queue, "bfifo"),
            "sfq" => sfq(queue),
            "tbf" => tbf(queue),
            _ => Err(vec![(String::new(), format!("there is no \"{}\" to stand at a link: {UNKNOWN_HERE}", queue.name))]),
        }
    }

    /// What it stands below, if it is not at the device itself.
    pub fn parent(&self) -> Option<Qdisc> {
        const NEVER_BUSY_BYTES_S: f64 = 1e11;
        self.is_child.then(|| token_bucket(NEVER_BUSY_BYTES_S, 1 << 30, u32::MAX))
    }

    /// A request with what it is added.
    pub fn written(&self, request: Message) -> Message {
        let kind: Vec<u8> = self.name.bytes().chain([0]).collect();
        let request = request.with(KIND, &kind);
        match &self.options {
            Options::Structure(bytes) => request.with(OPTIONS, bytes),
            Options::Numbers(numbers) => request.nested(NESTED_OPTIONS, |within| {
                numbers.iter().fold(within, |within, &(attribute, number)| within.with(attribute, &number.to_ne_bytes()))
            }),
            Options::Red(parms) => request.nested(NESTED_OPTIONS, |within| {
                let within = within.with(1, &parms.structure()).with(2, &parms.decay());
                within.with(3, &((parms.probability * 2_f64.powi(32)).min(f64::from(u32::MAX)) as u32).to_ne_bytes())
            }),
            Options::Token { structure, rate64, burst } => request
                .nested(NESTED_OPTIONS, |within| within.with(1, structure).with(4, &rate64.to_ne_bytes()).with(6, &burst.to_ne_bytes())),
        }
    }
}

impl Plain {
    fn read(&self, queue: &KernelQueue) -> Result<Qdisc, Vec<(String, String)>> {
        let known: Vec<&str> = self.parameters.iter().map(|(name, ..)| *name).collect();
        let mut given = Given::new(queue, &known);
        let mut numbers = Vec::new();
        for &(name, attribute, how) in self.parameters {
            let value = match how {
                How::Number => given.number(name),
                How::Micros => given.micros(name),
                How::Flag => given.flag(name).map(u32::from),
            };
            numbers.extend(value.map(|value| (attribute, value)));
        }
        given.end(Qdisc { name: self.name, options: Options::Numbers(numbers), is_child: false })
    }
}

fn fifo(queue: &KernelQueue, name: &'static str) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, FIFO);
    let limit = given.required("limit");
    given.end(Qdisc { name, options: Options::Structure(limit.to_ne_bytes().to_vec()), is_child: false })
}

fn sfq(queue: &KernelQueue) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, SFQ);
    let numbers = ["quantum", "", "limit", "divisor", "flows"].map(|name| given.number(name).unwrap_or(0));
    given.end(Qdisc {
        name: "sfq",
        options: Options::Structure(numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()),
        is_child: false,
    })
}

fn tbf(queue: &KernelQueue) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, TBF);
    let (limit, burst) = (given.required("limit"), given.required("burst"));
    let bytes_s = given.rate("rate").unwrap_or(0.0) / 8.0;
    if bytes_s <= 0.0 {
        given.report("rate", "must be given, as in rate = \"1.5Mbps\"");
    }
    given.end(token_bucket(bytes_s, burst, limit))
}

/// `struct tc_tbf_qopt`: two rates of 12 bytes, limit, buffer and MTU; the rate and the burst in bytes stand in attributes as well.
fn token_bucket(bytes_s: f64, burst: u32, limit: u32) -> Qdisc {
    let mut structure = vec![0_u8; 36];
    structure[8..12].copy_from_slice(&(bytes_s.min(f64::from(u32::MAX)) as u32).to_ne_bytes());
    structure[24..28].copy_from_slice(&limit.to_ne_bytes());
    Qdisc { name: "tbf", options: Options::Token { structure, rate64: bytes_s as u64, burst }, is_child: false }
}

fn red(queue: &KernelQueue, rate_bps: f64, name: &'static str, chokes: bool) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, RED);
    let [limit, min, max] = ["limit", "min", "max"].map(|name| given.required(name));
    let avpkt = given.number("avpkt").unwrap_or(1000);
    // CHOKe counts packets, and tc says how long one takes by avpkt all the same.
    let unit = if chokes { 1.0 } else { f64::from(avpkt.max(1)) };
    let burst = given.number("burst").map_or((2.0 * f64::from(min) + f64::from(max)) / (3.0 * unit), f64::from);
    let weight_log = match given.number("wlog") {
        Some(log) if (1..=31).contains(&log) => log as u8,
        Some(_) => given.reported("wlog", "must be from 1 to 31: the average's weight is 2 to the power of -wlog"),
        None => weight_log(burst.floor(), f64::from(min) / unit).unwrap_or_else(|| {
            given.reported("burst", "is too small for min: no weight lets so many packets pass; give more, or give wlog")
        }),
    };
    let probability = given.real("probability").unwrap_or(0.02);
    if !(probability > 0.0 && probability <= 1.0) {
        given.report("probability", "must be above 0 and at most 1");
    }
    if max <= min {
        given.report("max", "must be larger than min");
    }
    let bandwidth = given.rate("bandwidth").unwrap_or(rate_bps);
    let flags = [("ecn", 1), ("harddrop", 2), ("adaptive", 4), ("nodrop", 8)];
    let flags = flags.iter().filter(|(name, _)| given.flag(name).unwrap_or(false)).map(|(_, flag)| flag).sum();
    let parms = Red { limit, min, max, weight_log, probability, packet_s: 8.0 * f64::from(avpkt) / bandwidth, flags };
    let is_child = given.flag("child").unwrap_or(false);
    given.end(Qdisc { name, options: Options::Red(parms), is_child })
}

impl Red {
    fn structure(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = [self.limit, self.min, self.max].iter().flat_map(|number| number.to_ne_bytes()).collect();
        bytes.extend([self.weight_log, self.probability_log(), self.cell_log(), self.flags]);
        bytes
    }

    /// The probability at `max` as a power of two that the distance of the thresholds is a part of.
    fn probability_log(&self) -> u8 {
        let each = self.probability / f64::from(self.max - self.min);
        (0..32).find(|&log| each * 2_f64.powi(log) > 1.0).unwrap_or(31) as u8
    }

    /// By how much the average's exponent falls in a microsecond.
    fn fall(&self) -> f64 {
        -(1.0 - 2_f64.powi(-i32::from(self.weight_log))).log2() / (1e6 * self.packet_s)
    }

    /// The table's 256 cells cover the time in which the average is halved 31 times.
    fn cell_log(&self) -> u8 {
        let whole = 31.0 / self.fall();
        (0..32).find(|&log| whole / 2_f64.powi(log) < 512.0).unwrap_or(31) as u8
    }

    /// By how many bits the average is shifted after so many cells of idle time.
    fn decay(&self) -> Vec<u8> {
        let cell = 2_f64.powi(i32::from(self.cell_log())) * self.fall();
        let mut table: Vec<u8> = (0..255).map(|at| (f64::from(at) * cell).min(31.0) as u8).collect();
        table.push(31);
        table
    }
}

/// The average's weight as a negative power of two: the largest with which a burst of so many packets does not take it from zero over
/// `min` packets (Floyd and Jacobson, 1993, section 6).
fn weight_log(burst: f64, min: f64) -> Option<u8> {
    let room = burst + 1.0 - min;
    if room < 1.0 {
        return None;
    }
    (1..32)
        .find(|&log| {
            let weight = 2_f64.powi(-log);
            room <= (1.0 - (1.0 - weight).powf(burst)) / weight
        })
        .map(|log| log as u8)
}

/// The parameters as they were given, and what is wrong with them.
struct Given<'q> {
    queue: &'q KernelQueue,
    problems: Vec<(String, String)>,
}

impl<'q> Given<'q> {
    fn new(queue: &'q KernelQueue, known: &[&str]) -> Given<'q> {
        let mut given = Given { queue, problems: Vec::new() };
        for (name, _) in queue.arguments.iter().filter(|(name, _)| !known.contains(&name.as_str())) {
            given.report(name, &format!("the kernel's {} has no such parameter here; it has {}", queue.name, known.join(", ")));
        }
        given
    }

    fn report(&mut self, name: &str, message: &str) {
        self.problems.push((name.to_owned(), message.to_owned()));
    }

    /// Reports it, and goes on with something harmless.
    fn reported(&mut self, name: &str, message: &str) -> u8 {
        self.report(name, message);
        9
    }

    fn text(&self, name: &str) -> Option<&'q str> {
        self.queue.arguments.iter().find(|(given, _)| given == name).map(|(_, text)| text.as_str())
    }

    fn read<T>(&mut self, name: &str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        match read(self.text(name)?) {
            Ok(value) => Some(value),
            Err(message) => {
                self.report(name, &message);
                None
            }
        }
    }

    fn real(&mut self, name: &str) -> Option<f64> {
        self.read(name, quantity::number)
    }

    fn number(&mut self, name: &str) -> Option<u32> {
        let whole =
            |value: f64| if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) { Ok(value as u32) } else { Err(()) };
        self.read(name, |text| whole(quantity::number(text)?).map_err(|()| "must be a whole number, not negative".to_owned()))
    }

    fn required(&mut self, name: &str) -> u32 {
        if self.text(name).is_none() {
            self.report(name, &format!("must be given: the kernel's {} has no default for it", self.queue.name));
        }
        self.number(name).unwrap_or(0)
    }

    fn micros(&mut self, name: &str) -> Option<u32> {
        self.read(name, |text| Ok((quantity::span(text)?.picos() / 1_000_000) as u32))
    }

    fn rate(&mut self, name: &str) -> Option<f64> {
        self.read(name, |text| Ok(quantity::rate(text)?.bps() as f64))
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        self.read(name, |text| text.parse().map_err(|_| "must be true or false".to_owned()))
    }

    fn end(self, read: Qdisc) -> Result<Qdisc, Vec<(String, String)>> {
        if self.problems.is_empty() { Ok(read) } else { Err(self.problems) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(name: &str, arguments: &[(&str, &str)]) -> KernelQueue {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        KernelQueue { name: name.to_owned(), arguments: arguments.iter().map(owned).collect() }
    }

    #[test]
    fn a_longer_burst_has_a_smaller_weight() {
        assert_eq!(None, weight_log(10.0, 15.0), "so few never reach min");
        let logs: Vec<_> = [20.0, 30.0, 60.0, 200.0].iter().map(|&burst| weight_log(burst, 15.0)).collect();
        assert!(logs.windows(2).all(|pair| pair[0] <= pair[1]), "{logs:?}");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wrong = Qdisc::read(&queue("red", &[("min", "9"), ("max", "3"), ("ecn", "perhaps"), ("colour", "red")]), 1.5e6).unwrap_err();
        let places: Vec<_> = wrong.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(vec!["colour", "limit", "max", "ecn"], places.into_iter().filter(|name| *name != "burst").collect::<Vec<_>>());
        assert!(Qdisc::read(&queue("htb", &[]), 1.5e6).unwrap_err()[0].1.contains("fq_codel"));
    }

    #[test]
    fn an_average_is_halved_when_it_has_been_idle_for_as_long_as_the_table_says() {
        let read = Qdisc::read(&queue("red", &[("limit", "100000"), ("min", "10000"), ("max", "30000"), ("wlog", "9")]), 1.5e6).unwrap();
        let Options::Red(parms) = read.options else { panic!("it is RED") };
        let packets = 0.5_f64.ln() / (1.0 - 2_f64.powi(-9)).ln();
        let micros = packets * 1e6 * 8.0 * 1000.0 / 1.5e6;
        let cell = (micros / 2_f64.powi(i32::from(parms.cell_log()))).ceil() as usize;
        assert_eq!((0, 1), (parms.decay()[cell - 1], parms.decay()[cell]));
        assert_eq!((256, 31), (parms.decay().len(), parms.decay()[255]));
    }

    #[test]
    fn times_are_in_microseconds_and_flags_are_numbers() {
        let read = Qdisc::read(&queue("codel", &[("target", "5ms"), ("ecn", "true"), ("limit", "200")]), 1.5e6).unwrap();
        assert_eq!(Options::Numbers(vec![(1, 5000), (2, 200), (4, 1)]), read.options);
    }
}
