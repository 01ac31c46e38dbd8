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
    /// A whole number, in one byte.
    Byte,
    /// True or false as one of two numbers, in one byte.
    Either(u8, u8),
    /// A number of hertz, in parts of 256.
    Hertz256,
}

/// A parameter with the number of its attribute.
type Parameter = (&'static str, u16, How);

/// A discipline whose parameters have an attribute each.
struct Plain {
    name: &'static str,
    parameters: &'static [Parameter],
}

use How::{Byte, Either, Flag, Hertz256, Micros, Number};

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
    Plain {
        name: "dualpi2",
        parameters: &[
            ("limit", 1, Number),
            ("memory_limit", 2, Number),
            ("target", 3, Micros),
            ("tupdate", 4, Micros),
            ("alpha", 5, Hertz256),
            ("beta", 6, Hertz256),
            ("step_packets", 7, Number),
            ("step_thresh", 8, Micros),
            ("min_qlen_step", 9, Number),
            ("coupling_factor", 10, Byte),
            ("drop_on_overload", 11, Either(0, 1)),
            ("drop_enqueue", 12, Either(0, 1)),
            ("classic_protection", 13, Byte),
            ("any_ect", 14, Either(1, 3)),
        ],
    },
];

/// What RED and CHOKe take, as tc(8) has it; bytes for RED, packets for CHOKe.
const RED: &[&str] =
    &["limit", "min", "max", "avpkt", "burst", "wlog", "bandwidth", "probability", "ecn", "harddrop", "adaptive", "nodrop", "child"];
const FIFO: &[&str] = &["limit"];
const SFQ: &[&str] = &["limit", "quantum", "divisor", "flows"];
const TBF: &[&str] = &["rate", "burst", "limit"];
const HTB: &[&str] = &["rate", "ceil", "burst", "cburst", "leaf"];
const NETEM: &[&str] = &["limit", "delay", "jitter", "loss", "duplicate", "reorder", "gap"];
/// What stands in a shaper, and how its parameters begin.
const LEAF: &str = "leaf";

const UNKNOWN_HERE: &str = "the kernel's queues that can stand at a link are red, choke, codel, fq_codel, pie, fq_pie, cake, dualpi2, fq, sfq, tbf, \
     htb, netem, pfifo and bfifo";

/// How the kernel says that a packet was dropped because there was no room for it, and not by the discipline's law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It drops for no other reason.
    Always,
    /// It counts such packets, at this byte of the structure of its statistics.
    Counted(usize),
    /// It is beyond its limit with such packets alone, and every discipline counts how often it is.
    Overlimits,
    /// It tells the sender that the packet was dropped, which it does not of one that goes by its law.
    Refused,
    /// Its law looks at packets that leave, so one that goes when a packet comes has gone for want of room.
    AtArrival,
}

/// Disciplines that drop by a law of their own, with how they say that it was not by that.
const LAWS: &[(&str, Overflow)] = &[
    ("red", Overflow::Counted(4)),
    ("choke", Overflow::Counted(4)),
    ("codel", Overflow::Counted(20)),
    ("fq_codel", Overflow::Counted(8)),
    ("pie", Overflow::Counted(28)),
    ("fq_pie", Overflow::Counted(8)),
    ("dualpi2", Overflow::Overlimits),
    ("cake", Overflow::AtArrival),
    ("netem", Overflow::Refused),
];

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
    within: Within,
}

/// Where a discipline stands.
#[derive(Clone, Debug, PartialEq)]
enum Within {
    /// At the device.
    Device,
    /// Below a shaper that holds nothing up, which asks for no packet where it sees none.
    Shaper,
    /// At the device, with a class in which another discipline may stand.
    Above(Box<Options>, Option<Box<Qdisc>>),
}

/// A part of what is put at a device, in the order in which it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Whether it is a class of a discipline, and no discipline.
    pub is_class: bool,
    pub handle: u32,
    /// What it hangs on.
    pub parent: u32,
    pub options: Named,
}

/// Options of a discipline or of a class of one, with the discipline's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Named(&'static str, Options);

#[derive(Clone, Debug, PartialEq)]
enum Options {
    Numbers(Vec<(u16, Value)>),
    Red(Red),
    /// A structure that stands there by itself.
    Structure(Vec<u8>),
    /// A structure as an attribute, and further numbers.
    Token {
        structure: Vec<u8>,
        rate64: u64,
        burst: u32,
    },
    /// A structure and, behind it, attributes.
    Followed {
        structure: Vec<u8>,
        attributes: Vec<(u16, Vec<u8>)>,
    },
    /// Attributes alone.
    Attributes(Vec<(u16, Vec<u8>)>),
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Word(u32),
    Byte(u8),
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
            "htb" => htb(queue, rate_bps),
            "netem" => netem(queue),
            _ => Err(vec![(String::new(), format!("there is no \"{}\" to stand at a link: {UNKNOWN_HERE}", queue.name))]),
        }
    }

    /// What is put at a device.
    pub fn pieces(&self) -> Vec<Piece> {
        const NEVER_BUSY_BYTES_S: f64 = 1e11;
        const TO_DEVICE: u32 = u32::MAX;
        const OUTER: u32 = 1 << 16;
        const CLASS: u32 = OUTER + 1;
        const INNER: u32 = 2 << 16;
        let piece = |is_class, handle, parent, qdisc: &Qdisc, options: &Options| Piece {
            is_class,
            handle,
            parent,
            options: Named(qdisc.name, options.clone()),
        };
        match &self.within {
            Within::Device => vec![piece(false, OUTER, TO_DEVICE, self, &self.options)],
            Within::Shaper => {
                let shaper = token_bucket(NEVER_BUSY_BYTES_S, 1 << 30, u32::MAX);
                vec![piece(false, OUTER, TO_DEVICE, &shaper, &shaper.options), piece(false, INNER, CLASS, self, &self.options)]
            }
            Within::Above(class, leaf) => {
                let mut pieces = vec![piece(false, OUTER, TO_DEVICE, self, &self.options), piece(true, CLASS, OUTER, self, class)];
                pieces.extend(leaf.iter().map(|leaf| piece(false, INNER, CLASS, leaf, &leaf.options)));
                pieces
            }
        }
    }

    /// How the kernel tells which packets it drops for want of room.
    pub fn overflow(&self) -> Overflow {
        if let Within::Above(_, Some(leaf)) = &self.within {
            return leaf.overflow();
        }
        LAWS.iter().find(|(name, _)| *name == self.name).map_or(Overflow::Always, |(_, overflow)| *overflow)
    }

    /// Whether it makes copies of packets.
    pub fn copies(&self) -> bool {
        const DUPLICATE: usize = 16;
        matches!(&self.options, Options::Followed { structure, .. } if structure[DUPLICATE..DUPLICATE + 4] != [0; 4])
    }
}

impl Named {
    /// A request with what it is added.
    pub fn written(&self, request: Message) -> Message {
        let kind: Vec<u8> = self.0.bytes().chain([0]).collect();
        let request = request.with(KIND, &kind);
        let all = |within: Message, attributes: &[(u16, Vec<u8>)]| {
            attributes.iter().fold(within, |within, (attribute, value)| within.with(*attribute, value))
        };
        match &self.1 {
            Options::Structure(bytes) => request.with(OPTIONS, bytes),
            Options::Followed { structure, attributes } => request.nested(OPTIONS, |within| all(within.plain(structure), attributes)),
            Options::Attributes(attributes) => request.nested(NESTED_OPTIONS, |within| all(within, attributes)),
            Options::Numbers(numbers) => request.nested(NESTED_OPTIONS, |within| {
                numbers.iter().fold(within, |within, &(attribute, value)| match value {
                    Value::Word(word) => within.with(attribute, &word.to_ne_bytes()),
                    Value::Byte(byte) => within.with(attribute, &[byte]),
                })
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
                How::Number => given.number(name).map(Value::Word),
                How::Micros => given.micros(name).map(Value::Word),
                How::Flag => given.flag(name).map(|flag| Value::Word(flag.into())),
                How::Byte => given.byte(name).map(Value::Byte),
                How::Either(no, yes) => given.flag(name).map(|flag| Value::Byte(if flag { yes } else { no })),
                How::Hertz256 => given.hertz_256(name).map(Value::Word),
            };
            numbers.extend(value.map(|value| (attribute, value)));
        }
        given.end(Qdisc { name: self.name, options: Options::Numbers(numbers), within: Within::Device })
    }
}

/// One class, which all packets are in and which borrows from none, with a FIFO or another discipline in it.
fn htb(queue: &KernelQueue, rate_bps: f64) -> Result<Qdisc, Vec<(String, String)>> {
    let (within, own): (Vec<_>, Vec<_>) =
        queue.arguments.iter().cloned().partition(|(name, _)| name.strip_prefix(LEAF).is_some_and(|rest| rest.starts_with('.')));
    let of_leaf = |name: &str| name[LEAF.len() + 1..].to_owned();
    let own = KernelQueue { name: queue.name.clone(), arguments: own };
    let mut given = Given::new(&own, HTB);
    if given.text(LEAF).is_some() {
        given.report(LEAF, "must be a table that names a discipline, as in leaf = { kernel = \"fq_codel\" }");
    }
    let mut arguments: Vec<_> = within.into_iter().map(|(name, value)| (of_leaf(&name), value)).collect();
    let named = arguments.iter().position(|(name, _)| name == "kernel").map(|at| arguments.remove(at).1);
    let leaf = match named.as_deref() {
        None if arguments.is_empty() => None,
        None => given.none(LEAF, "names no discipline: give leaf = { kernel = NAME }"),
        Some("htb" | "tbf" | "netem") => given.none("leaf.kernel", "a shaper and netem stand at the link themselves"),
        Some(name) => match Qdisc::read(&KernelQueue { name: name.to_owned(), arguments }, rate_bps) {
            Ok(leaf) if leaf.within != Within::Device => given.none("leaf.child", "it is below a shaper as it is"),
            Ok(leaf) => Some(Box::new(leaf)),
            Err(wrong) => {
                for (name, what) in wrong {
                    given.report(&if name.is_empty() { "leaf.kernel".to_owned() } else { format!("{LEAF}.{name}") }, &what);
                }
                None
            }
        },
    };
    let rate = given.bytes_s("rate").unwrap_or_else(|| {
        if given.text("rate").is_none() {
            given.report("rate", "must be given, as in rate = \"1.5Mbps\"");
        }
        1.0
    });
    let ceil = given.bytes_s("ceil").unwrap_or(rate);
    // What tc(8) takes where timers have a high resolution: a packet of the MTU that it supposes.
    const BURST: u32 = 1600;
    let bursts = [("burst", rate), ("cburst", ceil)].map(|(name, bytes_s)| ticks(f64::from(given.number(name).unwrap_or(BURST)) / bytes_s));
    given.end(Qdisc {
        name: "htb",
        options: Options::Attributes(vec![(2, htb_globals())]),
        within: Within::Above(Box::new(Options::Attributes(htb_class(rate, ceil, bursts))), leaf),
    })
}

/// `struct tc_htb_glob`: version, divisor of rates, the class of packets that no filter has sorted, debugging, packets outside classes.
fn htb_globals() -> Vec<u8> {
    [3_u32, 10, 1, 0, 0].iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// `struct tc_htb_opt`: two rates of 12 bytes, the time that a burst of each takes, quantum, level, priority; the rates stand in attributes as
/// well. The quantum divides what several classes share.
fn htb_class(rate: f64, ceil: f64, bursts: [u32; 2]) -> Vec<(u16, Vec<u8>)> {
    const QUANTUM: u32 = 20_000;
    let mut structure = Vec::new();
    for bytes_s in [rate, ceil] {
        structure.extend([0; 8]);
        structure.extend((bytes_s.min(f64::from(u32::MAX)) as u32).to_ne_bytes());
    }
    structure.extend([bursts[0], bursts[1], QUANTUM, 0, 0].iter().flat_map(|number| number.to_ne_bytes()));
    vec![(1, structure), (6, (rate as u64).to_ne_bytes().to_vec()), (7, (ceil as u64).to_ne_bytes().to_vec())]
}

/// A time in units of the packet schedulers' clock, of 64 ns.
fn ticks(seconds: f64) -> u32 {
    (seconds * 1e9 / 64.0).min(f64::from(u32::MAX)) as u32
}

/// Delays, losses, copies and changes of order, drawn uniformly and independently.
fn netem(queue: &KernelQueue) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, NETEM);
    let [delay, jitter] = ["delay", "jitter"].map(|name| given.nanos(name).unwrap_or(0));
    let [loss, duplicate, reorder] = ["loss", "duplicate", "reorder"].map(|name| given.share(name));
    let limit = given.number("limit").unwrap_or(1000);
    if jitter > delay {
        given.report("jitter", "must not be longer than delay: a packet would leave before it comes");
    }
    let gap = given.number("gap");
    match (reorder, gap) {
        (None, Some(_)) => given.report("gap", "says which packets reorder is about: give reorder as well"),
        (Some(_), _) if delay == 0 => given.report("reorder", "lets packets overtake others that are delayed: give delay as well"),
        _ => {}
    }
    let gap = gap.unwrap_or(u32::from(reorder.is_some()));
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; the times stand in attributes as well.
    let structure = [0, limit, loss.unwrap_or(0), gap, duplicate.unwrap_or(0), 0];
    let mut attributes = vec![(10, delay.to_ne_bytes().to_vec()), (11, jitter.to_ne_bytes().to_vec())];
    // struct tc_netem_reorder: probability and correlation.
    attributes.extend(reorder.map(|share| (3, [share, 0].iter().flat_map(|number| number.to_ne_bytes()).collect())));
    let structure = structure.iter().flat_map(|number| number.to_ne_bytes()).collect();
    given.end(Qdisc { name: "netem", options: Options::Followed { structure, attributes }, within: Within::Device })
}

fn fifo(queue: &KernelQueue, name: &'static str) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, FIFO);
    let limit = given.required("limit");
    given.end(Qdisc { name, options: Options::Structure(limit.to_ne_bytes().to_vec()), within: Within::Device })
}

fn sfq(queue: &KernelQueue) -> Result<Qdisc, Vec<(String, String)>> {
    let mut given = Given::new(queue, SFQ);
    let numbers = ["quantum", "", "limit", "divisor", "flows"].map(|name| given.number(name).unwrap_or(0));
    given.end(Qdisc {
        name: "sfq",
        options: Options::Structure(numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()),
        within: Within::Device,
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
    Qdisc { name: "tbf", options: Options::Token { structure, rate64: bytes_s as u64, burst }, within: Within::Device }
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
    let within = if given.flag("child").unwrap_or(false) { Within::Shaper } else { Within::Device };
    given.end(Qdisc { name, options: Options::Red(parms), within })
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

    fn nanos(&mut self, name: &str) -> Option<i64> {
        self.read(name, |text| Ok((quantity::span(text)?.picos() / 1_000) as i64))
    }

    fn byte(&mut self, name: &str) -> Option<u8> {
        let number = self.number(name)?;
        u8::try_from(number).map_err(|_| self.report(name, "must be at most 255")).ok()
    }

    fn hertz_256(&mut self, name: &str) -> Option<u32> {
        let hertz = self.real(name)?;
        if (0.0..=256.0).contains(&hertz) {
            return Some((hertz * 256.0).round() as u32);
        }
        self.none(name, "must be from 0 to 256 hertz")
    }

    /// A probability as a part of 2^32.
    fn share(&mut self, name: &str) -> Option<u32> {
        let share = self.real(name)?;
        if (0.0..=1.0).contains(&share) {
            return Some((share * f64::from(u32::MAX)).round() as u32);
        }
        self.none(name, "must be a probability, from 0 to 1")
    }

    fn bytes_s(&mut self, name: &str) -> Option<f64> {
        let bytes_s = self.rate(name)? / 8.0;
        if bytes_s >= 1.0 { Some(bytes_s) } else { self.none(name, "must be a rate, as in rate = \"1.5Mbps\"") }
    }

    /// Reports it; there is no value.
    fn none<T>(&mut self, name: &str, message: &str) -> Option<T> {
        self.report(name, message);
        None
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
        assert!(Qdisc::read(&queue("hfsc", &[]), 1.5e6).unwrap_err()[0].1.contains("fq_codel"));
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
        let numbers = [(1, 5000), (2, 200), (4, 1)].map(|(attribute, number)| (attribute, Value::Word(number)));
        assert_eq!(Options::Numbers(numbers.to_vec()), read.options);
        let read = Qdisc::read(&queue("dualpi2", &[("alpha", "0.16"), ("coupling_factor", "2"), ("any_ect", "true")]), 1.5e6).unwrap();
        assert_eq!(Options::Numbers(vec![(5, Value::Word(41)), (10, Value::Byte(2)), (14, Value::Byte(3))]), read.options);
        for (name, value) in [("alpha", "300"), ("coupling_factor", "256")] {
            assert_eq!(name, Qdisc::read(&queue("dualpi2", &[(name, value)]), 1.5e6).unwrap_err()[0].0);
        }
    }

    #[test]
    fn a_shaper_has_one_class_with_a_discipline_in_it() {
        let read = Qdisc::read(&queue("htb", &[("rate", "8Mbps"), ("burst", "3200"), ("leaf.kernel", "codel"), ("leaf.limit", "9")]), 1e7);
        let read = read.unwrap();
        let places: Vec<_> = read.pieces().iter().map(|piece| (piece.is_class, piece.handle, piece.parent)).collect();
        assert_eq!(vec![(false, 0x1_0000, u32::MAX), (true, 0x1_0001, 0x1_0000), (false, 0x2_0000, 0x1_0001)], places);
        let Options::Attributes(class) = &read.pieces()[1].options.1 else { panic!("attributes") };
        let numbers: Vec<u32> = class[0].1.chunks(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        // 3200 bytes at 1 MB/s are 3.2 ms, and 1600 bytes half of that.
        assert_eq!((1_000_000, 1_000_000, 50_000, 25_000), (numbers[2], numbers[5], numbers[6], numbers[7]));
        assert_eq!(Overflow::Counted(20), read.overflow());
        let plain = Qdisc::read(&queue("htb", &[("rate", "8Mbps")]), 1e7).unwrap();
        assert_eq!((2, Overflow::Always), (plain.pieces().len(), plain.overflow()));
    }

    #[test]
    fn what_is_wrong_in_a_leaf_is_told_with_its_place() {
        let wrong = |arguments: &[(&str, &str)]| {
            let told = Qdisc::read(&queue("htb", arguments), 1e7).unwrap_err();
            told.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(vec!["leaf.colour", "rate"], wrong(&[("leaf.kernel", "codel"), ("leaf.colour", "red")]));
        assert_eq!(vec!["leaf.kernel"], wrong(&[("rate", "1Mbps"), ("leaf.kernel", "htb")]));
        assert_eq!(vec!["leaf.kernel", "rate"], wrong(&[("rate", "0bps"), ("leaf.kernel", "nothing")]));
        assert_eq!(vec!["leaf"], wrong(&[("rate", "1Mbps"), ("leaf.limit", "9")]));
        assert_eq!(vec!["leaf"], wrong(&[("rate", "1Mbps"), ("leaf", "codel")]));
    }

    #[test]
    fn netem_says_times_in_nanoseconds_and_shares_of_two_to_the_thirty_two() {
        let read =
            Qdisc::read(&queue("netem", &[("delay", "10ms"), ("jitter", "2ms"), ("loss", "0.5"), ("reorder", "0.25")]), 1e7).unwrap();
        let Options::Followed { structure, attributes } = &read.options else { panic!("a structure with attributes") };
        let numbers: Vec<u32> = structure.chunks(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(vec![0, 1000, 1 << 31, 1, 0, 0], numbers);
        assert_eq!((10, 10_000_000_i64.to_ne_bytes().to_vec()), attributes[0]);
        assert_eq!((Overflow::Refused, false), (read.overflow(), read.copies()));
        assert!(Qdisc::read(&queue("netem", &[("duplicate", "0.1")]), 1e7).unwrap().copies());
        for (name, value) in [("loss", "1.5"), ("jitter", "1ms"), ("gap", "3"), ("reorder", "0.1")] {
            assert_eq!(name, Qdisc::read(&queue("netem", &[(name, value)]), 1e7).unwrap_err()[0].0);
        }
    }
}
