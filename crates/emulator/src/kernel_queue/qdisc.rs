//! Options of a kernel's queueing disciplines in netlink. Parameters have the names of tc(8), and are written as in any scenario.
//!
//! Most disciplines have one attribute for each parameter. RED and CHOKe have a structure with exponents, and a table by which the average
//! decays while the queue is empty. tc computes that table for a clock of 64 ns, but the kernel reads it in microseconds. Here it is
//! computed for microseconds, so that the average decays as in RED.

use ecnlab_queue::KernelQdisc;
use netlink_packet_core::{DefaultNla, Emitable};
use netlink_packet_route::tc::TcAttribute;

use super::arguments::{QdiscArgumentReader, QdiscProblems};

/// Notation of a parameter, and its value for the kernel.
#[derive(Clone, Copy, Debug)]
enum QdiscParameterKind {
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
    /// A frequency in hertz, in units of 1/256.
    Hertz256,
    /// A value and a mask, in one byte each; the mask has the attribute of this number.
    Masked(u16),
}

/// A parameter with the number of its attribute.
type ParameterSpec = (&'static str, u16, QdiscParameterKind);

use QdiscParameterKind::{Byte, Either, Flag, Hertz256, Masked, Micros, Number};

const ATTRIBUTE_QDISCS: &[(&str, &[ParameterSpec])] = &[
    ("codel", &[("target", 1, Micros), ("limit", 2, Number), ("interval", 3, Micros), ("ecn", 4, Flag), ("ce_threshold", 5, Micros)]),
    (
        "fq_codel",
        &[
            ("target", 1, Micros),
            ("limit", 2, Number),
            ("interval", 3, Micros),
            ("ecn", 4, Flag),
            ("flows", 5, Number),
            ("quantum", 6, Number),
            ("ce_threshold", 7, Micros),
            ("memory_limit", 9, Number),
            ("ce_threshold_selector", 10, Masked(11)),
        ],
    ),
    (
        "pie",
        &[
            ("target", 1, Micros),
            ("limit", 2, Number),
            ("tupdate", 3, Micros),
            ("alpha", 4, Number),
            ("beta", 5, Number),
            ("ecn", 6, Flag),
            ("bytemode", 7, Flag),
            ("dq_rate_estimator", 8, Flag),
        ],
    ),
    (
        "fq_pie",
        &[
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
    ),
    ("cake", &[("rtt", 7, Micros), ("target", 8, Micros), ("memory", 10, Number), ("wash", 13, Flag)]),
    ("fq", &[("limit", 1, Number), ("flow_limit", 2, Number), ("quantum", 3, Number), ("initial_quantum", 4, Number)]),
    (
        "dualpi2",
        &[
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
    ),
];

/// Discipline inside a shaper, and the beginning of its parameters.
const LEAF_KEY: &str = "leaf";

const SUPPORTED_QDISCS_MESSAGE: &str = "the kernel's queues that can stand at a link are red, choke, codel, fq_codel, pie, fq_pie, cake, dualpi2, fq, sfq, tbf, \
     htb, netem, pfifo and bfifo";

/// Evidence by which the kernel distinguishes a drop at a full buffer from one by the AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverflowEvidence {
    /// It drops for no other reason.
    Always,
    /// It counts such drops, at this byte of the structure of its statistics.
    Counted(usize),
    /// Only such packets exceed its limit, and every discipline counts these events (overlimits).
    Overlimits,
    /// It reports such a drop to the sender, but not a drop by its AQM.
    Refused,
    /// Its AQM drops packets at their departure, so a drop at an arrival is due to a full buffer.
    AtArrival,
}

/// Disciplines with an AQM, and their evidence of drops at a full buffer.
const OVERFLOW_EVIDENCE: &[(&str, OverflowEvidence)] = &[
    ("red", OverflowEvidence::Counted(4)),
    ("choke", OverflowEvidence::Counted(4)),
    ("codel", OverflowEvidence::Counted(20)),
    ("fq_codel", OverflowEvidence::Counted(8)),
    ("pie", OverflowEvidence::Counted(28)),
    ("fq_pie", OverflowEvidence::Counted(8)),
    ("dualpi2", OverflowEvidence::Overlimits),
    ("cake", OverflowEvidence::AtArrival),
    ("netem", OverflowEvidence::Refused),
];

/// The attribute of a discipline's options (`TCA_OPTIONS`).
const TCA_OPTIONS: u16 = 2;
/// The same for nested attributes, which some disciplines require (`NLA_F_NESTED`).
const TCA_OPTIONS_WITH_NLA_F_NESTED: u16 = TCA_OPTIONS | 1 << 15;

/// A parsed discipline, from which its options are made.
#[derive(Clone, Debug, PartialEq)]
pub struct Qdisc {
    name: &'static str,
    options: QdiscOptions,
    placement: QdiscPlacement,
}

/// Place of a discipline.
#[derive(Clone, Debug, PartialEq)]
enum QdiscPlacement {
    /// At the device.
    Root,
    /// Below a shaper that delays nothing, for a discipline that does not request packets itself.
    BelowShaper,
    /// At the device, with a class that contains another discipline.
    Parent(Box<QdiscOptions>, Option<Box<Qdisc>>),
}

/// A part of the configuration of a device, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct QdiscMessage {
    /// Whether it is a class of a discipline.
    pub is_class: bool,
    pub handle: u32,
    /// Its parent.
    pub parent: u32,
    name: &'static str,
    options: QdiscOptions,
}

/// The attribute `TCA_OPTIONS`: a structure, and attributes after it or alone.
#[derive(Clone, Debug, PartialEq)]
struct QdiscOptions {
    structure: Vec<u8>,
    attributes: Vec<DefaultNla>,
}

/// `struct tc_red_qopt` with the table and the largest probability.
struct RedOptions {
    limit: u32,
    min: u32,
    max: u32,
    weight_log: u8,
    probability: f64,
    /// Transmission time of an average packet in seconds.
    packet_s: f64,
    flags: u8,
}

impl Qdisc {
    /// Parses the queue of a scenario for a link of this rate.
    ///
    /// # Errors
    /// All problems, each after the parameter's name, which is empty for the queue itself.
    pub fn read(queue: &KernelQdisc, rate_bps: f64) -> Result<Qdisc, QdiscProblems> {
        if let Some((name, parameters)) = ATTRIBUTE_QDISCS.iter().find(|(name, _)| *name == queue.name) {
            return read_attribute_qdisc(queue, name, parameters);
        }
        match queue.name.as_str() {
            "red" => read_red(queue, rate_bps, "red", false),
            "choke" => read_red(queue, rate_bps, "choke", true),
            "pfifo" => read_fifo(queue, "pfifo"),
            "bfifo" => read_fifo(queue, "bfifo"),
            "sfq" => read_sfq(queue),
            "tbf" => read_tbf(queue),
            "htb" => read_htb(queue, rate_bps),
            "netem" => netem_options_from_arguments(queue),
            _ => Err(vec![(String::new(), format!("unknown kernel queue \"{}\"; fix: use one of {SUPPORTED_QDISCS_MESSAGE}", queue.name))]),
        }
    }

    /// The configuration of a device.
    pub fn messages(&self) -> Vec<QdiscMessage> {
        const UNLIMITED_BYTES_S: f64 = 1e11;
        const TC_H_ROOT: u32 = u32::MAX;
        const ROOT_HANDLE: u32 = 1 << 16;
        const CLASS_HANDLE: u32 = ROOT_HANDLE + 1;
        const CHILD_HANDLE: u32 = 2 << 16;
        let message = |is_class, handle, parent, qdisc: &Qdisc, options: &QdiscOptions| QdiscMessage {
            is_class,
            handle,
            parent,
            name: qdisc.name,
            options: options.clone(),
        };
        match &self.placement {
            QdiscPlacement::Root => vec![message(false, ROOT_HANDLE, TC_H_ROOT, self, &self.options)],
            QdiscPlacement::BelowShaper => {
                let shaper = tbf_qdisc(UNLIMITED_BYTES_S, 1 << 30, u32::MAX);
                vec![
                    message(false, ROOT_HANDLE, TC_H_ROOT, &shaper, &shaper.options),
                    message(false, CHILD_HANDLE, CLASS_HANDLE, self, &self.options),
                ]
            }
            QdiscPlacement::Parent(class, leaf) => {
                let mut messages = vec![
                    message(false, ROOT_HANDLE, TC_H_ROOT, self, &self.options),
                    message(true, CLASS_HANDLE, ROOT_HANDLE, self, class),
                ];
                messages.extend(leaf.iter().map(|leaf| message(false, CHILD_HANDLE, CLASS_HANDLE, leaf, &leaf.options)));
                messages
            }
        }
    }

    /// Evidence of drops at a full buffer.
    pub fn overflow_evidence(&self) -> OverflowEvidence {
        if let QdiscPlacement::Parent(_, Some(leaf)) = &self.placement {
            return leaf.overflow_evidence();
        }
        OVERFLOW_EVIDENCE.iter().find(|(name, _)| *name == self.name).map_or(OverflowEvidence::Always, |(_, overflow)| *overflow)
    }

    /// Whether it copies packets.
    pub fn makes_copies(&self) -> bool {
        const DUPLICATE_OFFSET: usize = 16;
        self.name == "netem" && self.options.structure[DUPLICATE_OFFSET..DUPLICATE_OFFSET + 4] != [0; 4]
    }
}

impl Qdisc {
    fn at_root(name: &'static str, structure: Vec<u8>, attributes: Vec<DefaultNla>) -> Qdisc {
        Qdisc { name, options: QdiscOptions { structure, attributes }, placement: QdiscPlacement::Root }
    }
}

impl QdiscMessage {
    /// Name and options, for the message.
    pub fn attributes(&self) -> Vec<TcAttribute> {
        let QdiscOptions { structure, attributes } = &self.options;
        let kind = if structure.is_empty() { TCA_OPTIONS_WITH_NLA_F_NESTED } else { TCA_OPTIONS };
        let options = DefaultNla::new(kind, encode_structure_and_attributes(structure, attributes));
        vec![TcAttribute::Kind(self.name.to_owned()), TcAttribute::Other(options)]
    }
}

/// Numbers of 32 bits as the kernel reads them.
fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// A structure, padded to whole words, followed by attributes.
fn encode_structure_and_attributes(structure: &[u8], attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = structure.to_vec();
    bytes.resize(structure.len().next_multiple_of(4), 0);
    let start = bytes.len();
    bytes.resize(start + attributes.buffer_len(), 0);
    attributes.emit(&mut bytes[start..]);
    bytes
}

fn read_attribute_qdisc(queue: &KernelQdisc, name: &'static str, parameters: &[ParameterSpec]) -> Result<Qdisc, QdiscProblems> {
    let known: Vec<&str> = parameters.iter().map(|(name, ..)| *name).collect();
    let mut reader = QdiscArgumentReader::new(queue, &known);
    let word = |number: u32| words(&[number]);
    let mut attributes = Vec::new();
    for &(name, attribute, how) in parameters {
        let value = match how {
            Number => reader.read_whole_number(name).map(word),
            Micros => reader.read_micros(name).map(word),
            Flag => reader.read_flag(name).map(|flag| word(flag.into())),
            Byte => reader.read_byte(name).map(|byte| vec![byte]),
            Either(no, yes) => reader.read_flag(name).map(|flag| vec![if flag { yes } else { no }]),
            Hertz256 => reader.read_hertz_in_256ths(name).map(word),
            Masked(mask_attribute) => reader.read_value_and_mask(name).map(|[value, mask]| {
                attributes.push(DefaultNla::new(mask_attribute, vec![mask]));
                vec![value]
            }),
        };
        attributes.extend(value.map(|value| DefaultNla::new(attribute, value)));
    }
    reader.finish(Qdisc::at_root(name, Vec::new(), attributes))
}

/// One class for all packets, which borrows from no other, with a FIFO or another discipline in it.
fn read_htb(queue: &KernelQdisc, rate_bps: f64) -> Result<Qdisc, QdiscProblems> {
    let (within, own): (Vec<_>, Vec<_>) =
        queue.arguments.iter().cloned().partition(|(name, _)| name.strip_prefix(LEAF_KEY).is_some_and(|rest| rest.starts_with('.')));
    let of_leaf = |name: &str| name[LEAF_KEY.len() + 1..].to_owned();
    let own = KernelQdisc { name: queue.name.clone(), arguments: own };
    let mut reader = QdiscArgumentReader::new(&own, &["rate", "ceil", "burst", "cburst", "leaf"]);
    if reader.raw_text(LEAF_KEY).is_some() {
        reader.report_problem(LEAF_KEY, "must be a table that names a discipline, as in leaf = { kernel = \"fq_codel\" }");
    }
    let mut arguments: Vec<_> = within.into_iter().map(|(name, value)| (of_leaf(&name), value)).collect();
    let named = arguments.iter().position(|(name, _)| name == "kernel").map(|at| arguments.remove(at).1);
    let leaf = match named.as_deref() {
        None if arguments.is_empty() => None,
        None => reader.report_none(LEAF_KEY, "names no discipline; fix: write leaf = { kernel = NAME }"),
        Some("htb" | "tbf" | "netem") => reader.report_none("leaf.kernel", "a shaper and netem must be the link's own queue, not a leaf"),
        Some(name) => match Qdisc::read(&KernelQdisc { name: name.to_owned(), arguments }, rate_bps) {
            Ok(leaf) if leaf.placement != QdiscPlacement::Root => reader.report_none("leaf.child", "it is below a shaper already"),
            Ok(leaf) => Some(Box::new(leaf)),
            Err(wrong) => {
                for (name, what) in wrong {
                    reader.report_problem(&if name.is_empty() { "leaf.kernel".to_owned() } else { format!("{LEAF_KEY}.{name}") }, &what);
                }
                None
            }
        },
    };
    let rate = reader.read_bytes_per_s("rate").unwrap_or_else(|| {
        if reader.raw_text("rate").is_none() {
            reader.report_problem("rate", "must be given, as in rate = \"1.5Mbps\"");
        }
        1.0
    });
    let ceil = reader.read_bytes_per_s("ceil").unwrap_or(rate);
    // The values of tc(8) with high-resolution timers: a packet of its default MTU.
    const DEFAULT_BURST_BYTES: u32 = 1600;
    let bursts = [("burst", rate), ("cburst", ceil)]
        .map(|(name, bytes_s)| psched_ticks(f64::from(reader.read_whole_number(name).unwrap_or(DEFAULT_BURST_BYTES)) / bytes_s));
    let class = htb_class_attributes(rate, ceil, bursts);
    // `struct tc_htb_glob`: version, divisor of rates, the class of unclassified packets, debugging, packets outside classes.
    let glob = DefaultNla::new(2, words(&[3, 10, 1, 0, 0]));
    reader.finish(Qdisc {
        placement: QdiscPlacement::Parent(Box::new(QdiscOptions { structure: Vec::new(), attributes: class }), leaf),
        ..Qdisc::at_root("htb", Vec::new(), vec![glob])
    })
}

/// `struct tc_htb_opt`: two rates of 12 bytes, the time of a burst at each, quantum, level, priority. The rates are attributes as well. The
/// quantum divides the rate that several classes share.
fn htb_class_attributes(rate: f64, ceil: f64, bursts: [u32; 2]) -> Vec<DefaultNla> {
    const HTB_QUANTUM_BYTES: u32 = 20_000;
    let mut structure = Vec::new();
    for bytes_s in [rate, ceil] {
        structure.extend([0; 8]);
        structure.extend((bytes_s.min(f64::from(u32::MAX)) as u32).to_ne_bytes());
    }
    structure.extend(words(&[bursts[0], bursts[1], HTB_QUANTUM_BYTES, 0, 0]));
    [(1, structure), (6, (rate as u64).to_ne_bytes().into()), (7, (ceil as u64).to_ne_bytes().into())]
        .map(|(attribute, value)| DefaultNla::new(attribute, value))
        .into()
}

/// A time in units of the packet schedulers' clock, of 64 ns.
fn psched_ticks(seconds: f64) -> u32 {
    (seconds * 1e9 / 64.0).min(f64::from(u32::MAX)) as u32
}

/// Delays, losses, copies and reordering, drawn uniformly and independently.
fn netem_options_from_arguments(queue: &KernelQdisc) -> Result<Qdisc, QdiscProblems> {
    let mut reader = QdiscArgumentReader::new(queue, &["limit", "delay", "jitter", "loss", "duplicate", "reorder", "gap"]);
    let [delay, jitter] = ["delay", "jitter"].map(|name| reader.read_nanos(name).unwrap_or(0));
    let [loss, duplicate, reorder] = ["loss", "duplicate", "reorder"].map(|name| reader.read_probability_u32(name));
    let limit = reader.read_whole_number("limit").unwrap_or(1000);
    if jitter > delay {
        reader.report_problem("jitter", "must not be longer than delay");
    }
    let gap = reader.read_whole_number("gap");
    match (reorder, gap) {
        (None, Some(_)) => reader.report_problem("gap", "requires reorder; fix: give reorder too"),
        (Some(_), _) if delay == 0 => reader.report_problem("reorder", "requires delay; fix: give delay too"),
        _ => {}
    }
    let gap = gap.unwrap_or(u32::from(reorder.is_some()));
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; the times are attributes as well.
    let structure = words(&[0, limit, loss.unwrap_or(0), gap, duplicate.unwrap_or(0), 0]);
    let mut attributes = vec![DefaultNla::new(10, delay.to_ne_bytes().into()), DefaultNla::new(11, jitter.to_ne_bytes().into())];
    // struct tc_netem_reorder: probability and correlation.
    attributes.extend(reorder.map(|share| DefaultNla::new(3, words(&[share, 0]))));
    reader.finish(Qdisc::at_root("netem", structure, attributes))
}

fn read_fifo(queue: &KernelQdisc, name: &'static str) -> Result<Qdisc, QdiscProblems> {
    let mut reader = QdiscArgumentReader::new(queue, &["limit"]);
    let limit = reader.read_required_whole_number("limit");
    reader.finish(Qdisc::at_root(name, words(&[limit]), Vec::new()))
}

fn read_sfq(queue: &KernelQdisc) -> Result<Qdisc, QdiscProblems> {
    let mut reader = QdiscArgumentReader::new(queue, &["limit", "quantum", "divisor", "flows"]);
    let numbers = ["quantum", "", "limit", "divisor", "flows"].map(|name| reader.read_whole_number(name).unwrap_or(0));
    reader.finish(Qdisc::at_root("sfq", words(&numbers), Vec::new()))
}

fn read_tbf(queue: &KernelQdisc) -> Result<Qdisc, QdiscProblems> {
    let mut reader = QdiscArgumentReader::new(queue, &["rate", "burst", "limit"]);
    let (limit, burst) = (reader.read_required_whole_number("limit"), reader.read_required_whole_number("burst"));
    let bytes_s = reader.read_rate_bps("rate").unwrap_or(0.0) / 8.0;
    if bytes_s <= 0.0 {
        reader.report_problem("rate", "must be given, as in rate = \"1.5Mbps\"");
    }
    reader.finish(tbf_qdisc(bytes_s, burst, limit))
}

/// `struct tc_tbf_qopt`: two rates of 12 bytes, limit, buffer and MTU; the rate and the burst in bytes are attributes as well.
fn tbf_qdisc(bytes_s: f64, burst: u32, limit: u32) -> Qdisc {
    let mut structure = vec![0_u8; 36];
    structure[8..12].copy_from_slice(&(bytes_s.min(f64::from(u32::MAX)) as u32).to_ne_bytes());
    structure[24..28].copy_from_slice(&limit.to_ne_bytes());
    let attributes = [(1, structure), (4, (bytes_s as u64).to_ne_bytes().into()), (6, words(&[burst]))];
    Qdisc::at_root("tbf", Vec::new(), attributes.map(|(attribute, value)| DefaultNla::new(attribute, value)).into())
}

fn read_red(queue: &KernelQdisc, rate_bps: f64, name: &'static str, chokes: bool) -> Result<Qdisc, QdiscProblems> {
    let mut reader = QdiscArgumentReader::new(
        queue,
        &["limit", "min", "max", "avpkt", "burst", "wlog", "bandwidth", "probability", "ecn", "harddrop", "adaptive", "nodrop", "child"],
    );
    let [limit, min, max] = ["limit", "min", "max"].map(|name| reader.read_required_whole_number(name));
    let avpkt = reader.read_whole_number("avpkt").unwrap_or(1000);
    // CHOKe counts packets, but tc still derives the transmission time of one from avpkt.
    let unit = if chokes { 1.0 } else { f64::from(avpkt.max(1)) };
    let burst = reader.read_whole_number("burst").map_or((2.0 * f64::from(min) + f64::from(max)) / (3.0 * unit), f64::from);
    let weight_log = match reader.read_whole_number("wlog") {
        Some(log) if (1..=31).contains(&log) => log as u8,
        Some(_) => reader.report_and_return_placeholder("wlog", "must be from 1 to 31: the average's weight is 2 to the power of -wlog"),
        None => ewma_weight_log_for_burst(burst.floor(), f64::from(min) / unit)
            .unwrap_or_else(|| reader.report_and_return_placeholder("burst", "is too small for min; fix: give a larger burst, or wlog")),
    };
    let probability = reader.read_float("probability").unwrap_or(0.02);
    if !(probability > 0.0 && probability <= 1.0) {
        reader.report_problem("probability", "must be above 0 and at most 1");
    }
    if max <= min {
        reader.report_problem("max", "must be larger than min");
    }
    let bandwidth = reader.read_rate_bps("bandwidth").unwrap_or(rate_bps);
    let flags = [("ecn", 1), ("harddrop", 2), ("adaptive", 4), ("nodrop", 8)];
    let flags = flags.iter().filter(|(name, _)| reader.read_flag(name).unwrap_or(false)).map(|(_, flag)| flag).sum();
    let parms = RedOptions { limit, min, max, weight_log, probability, packet_s: 8.0 * f64::from(avpkt) / bandwidth, flags };
    let placement = if reader.read_flag("child").unwrap_or(false) { QdiscPlacement::BelowShaper } else { QdiscPlacement::Root };
    // The tables have no meaning for values that are refused.
    reader.finish(parms).map(|parms| Qdisc { placement, ..Qdisc::at_root(name, Vec::new(), parms.attributes()) })
}

impl RedOptions {
    fn attributes(&self) -> Vec<DefaultNla> {
        // struct tc_red_qopt
        let mut parameters = words(&[self.limit, self.min, self.max]);
        parameters.extend([self.weight_log, self.probability_log(), self.cell_log(), self.flags]);
        let max_p = (self.probability * 2_f64.powi(32)).min(f64::from(u32::MAX)) as u32;
        let attributes = [(1, parameters), (2, self.decay_table()), (3, words(&[max_p]))];
        attributes.map(|(attribute, value)| DefaultNla::new(attribute, value)).into()
    }

    /// The probability at `max`, as a power of two by which the distance of the thresholds is divided.
    fn probability_log(&self) -> u8 {
        let each = self.probability / f64::from(self.max.saturating_sub(self.min));
        (0..32).find(|&log| each * 2_f64.powi(log) > 1.0).unwrap_or(31) as u8
    }

    /// Decrease of the average's exponent in a microsecond.
    fn log2_decay_per_idle_microsecond(&self) -> f64 {
        -(1.0 - 2_f64.powi(-i32::from(self.weight_log))).log2() / (1e6 * self.packet_s)
    }

    /// The 256 cells of the table cover the time in which the average is halved 31 times.
    fn cell_log(&self) -> u8 {
        let whole = 31.0 / self.log2_decay_per_idle_microsecond();
        (0..32).find(|&log| whole / 2_f64.powi(log) < 512.0).unwrap_or(31) as u8
    }

    /// Number of bits by which the average is shifted after this number of cells of idle time.
    fn decay_table(&self) -> Vec<u8> {
        let cell = 2_f64.powi(i32::from(self.cell_log())) * self.log2_decay_per_idle_microsecond();
        let mut table: Vec<u8> = (0..255).map(|at| (f64::from(at) * cell).min(31.0) as u8).collect();
        table.push(31);
        table
    }
}

/// Weight of the average as a negative power of two: the largest with which a burst of this number of packets does not raise it from zero
/// above `min` packets (Floyd and Jacobson, 1993, section 6).
fn ewma_weight_log_for_burst(burst: f64, min: f64) -> Option<u8> {
    let excess = burst + 1.0 - min;
    if excess < 1.0 {
        return None;
    }
    (1..32)
        .find(|&log| {
            let weight = 2_f64.powi(-log);
            excess <= (1.0 - (1.0 - weight).powf(burst)) / weight
        })
        .map(|log| log as u8)
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::Nla;

    use super::*;

    fn kernel_qdisc(name: &str, arguments: &[(&str, &str)]) -> KernelQdisc {
        let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        KernelQdisc { name: name.to_owned(), arguments: arguments.iter().map(owned).collect() }
    }

    fn value_of(attribute: &DefaultNla) -> Vec<u8> {
        let mut value = vec![0; attribute.value_len()];
        attribute.emit_value(&mut value);
        value
    }

    #[test]
    fn a_longer_burst_gives_a_smaller_weight() {
        assert_eq!(None, ewma_weight_log_for_burst(10.0, 15.0), "so few never reach min");
        let logs: Vec<_> = [20.0, 30.0, 60.0, 200.0].iter().map(|&burst| ewma_weight_log_for_burst(burst, 15.0)).collect();
        assert!(logs.windows(2).all(|pair| pair[0] <= pair[1]), "{logs:?}");
    }

    #[test]
    fn all_problems_are_reported_together() {
        let wrong =
            Qdisc::read(&kernel_qdisc("red", &[("min", "9"), ("max", "3"), ("ecn", "perhaps"), ("colour", "red")]), 1.5e6).unwrap_err();
        let places: Vec<_> = wrong.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(vec!["colour", "limit", "max", "ecn"], places.into_iter().filter(|name| *name != "burst").collect::<Vec<_>>());
        assert!(wrong.contains(&("limit".to_owned(), "must be given: the kernel's red has no default for it".to_owned())), "{wrong:?}");
        assert!(Qdisc::read(&kernel_qdisc("hfsc", &[]), 1.5e6).unwrap_err()[0].1.contains("fq_codel"));
    }

    #[test]
    fn the_decay_table_halves_the_average_after_the_right_idle_time() {
        let read =
            Qdisc::read(&kernel_qdisc("red", &[("limit", "100000"), ("min", "10000"), ("max", "30000"), ("wlog", "9")]), 1.5e6).unwrap();
        let [parameters, table] = [0, 1].map(|at| value_of(&read.options.attributes[at]));
        let (cell_log, table) = (parameters[14], table);
        let packets = 0.5_f64.ln() / (1.0 - 2_f64.powi(-9)).ln();
        let micros = packets * 1e6 * 8.0 * 1000.0 / 1.5e6;
        let cell = (micros / 2_f64.powi(i32::from(cell_log))).ceil() as usize;
        assert_eq!((0, 1), (table[cell - 1], table[cell]));
        assert_eq!((256, 31), (table.len(), table[255]));
    }

    #[test]
    fn a_selector_is_a_value_and_a_mask_in_a_byte_each() {
        let attributes = |text: &str| {
            let read = Qdisc::read(&kernel_qdisc("fq_codel", &[("ce_threshold", "1ms"), ("ce_threshold_selector", text)]), 1.5e6);
            read.map(|read| read.options.attributes).map_err(|problems| problems[0].clone())
        };
        // TCA_FQ_CODEL_CE_THRESHOLD, _MASK and _SELECTOR of linux/pkt_sched.h.
        let ect1 = vec![DefaultNla::new(7, words(&[1000])), DefaultNla::new(11, vec![3]), DefaultNla::new(10, vec![1])];
        assert_eq!([Ok(ect1.clone()), Ok(ect1)], ["0x01/0x03", "1/3"].map(attributes));
        for (text, part) in [("0x01", "VALUE/MASK"), ("0x1ff/0x03", "VALUE/MASK"), ("1/0", "mask 0"), ("0x02/0x01", "outside its mask")] {
            let (name, message) = attributes(text).unwrap_err();
            assert!(name == "ce_threshold_selector" && message.contains(part), "{text}: {message}");
        }
        assert!(Qdisc::read(&kernel_qdisc("codel", &[("ce_threshold_selector", "1/3")]), 1.5e6).is_err(), "fq_codel alone has it");
    }

    #[test]
    fn times_are_in_microseconds_and_flags_are_integers() {
        let read = Qdisc::read(&kernel_qdisc("codel", &[("target", "5ms"), ("ecn", "true"), ("limit", "200")]), 1.5e6).unwrap();
        let numbers = [(1, 5000), (2, 200), (4, 1)].map(|(attribute, number)| DefaultNla::new(attribute, words(&[number])));
        assert_eq!(numbers.to_vec(), read.options.attributes);
        let read =
            Qdisc::read(&kernel_qdisc("dualpi2", &[("alpha", "0.16"), ("coupling_factor", "2"), ("any_ect", "true")]), 1.5e6).unwrap();
        assert_eq!(
            vec![DefaultNla::new(5, words(&[41])), DefaultNla::new(10, vec![2]), DefaultNla::new(14, vec![3])],
            read.options.attributes
        );
        for (name, value) in [("alpha", "300"), ("coupling_factor", "256")] {
            assert_eq!(name, Qdisc::read(&kernel_qdisc("dualpi2", &[(name, value)]), 1.5e6).unwrap_err()[0].0);
        }
    }

    #[test]
    fn htb_has_one_class_with_a_child_qdisc() {
        let read =
            Qdisc::read(&kernel_qdisc("htb", &[("rate", "8Mbps"), ("burst", "3200"), ("leaf.kernel", "codel"), ("leaf.limit", "9")]), 1e7);
        let read = read.unwrap();
        let places: Vec<_> = read.messages().iter().map(|message| (message.is_class, message.handle, message.parent)).collect();
        assert_eq!(vec![(false, 0x1_0000, u32::MAX), (true, 0x1_0001, 0x1_0000), (false, 0x2_0000, 0x1_0001)], places);
        let structure = value_of(&read.messages()[1].options.attributes[0]);
        let numbers: Vec<u32> = structure.chunks(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        // 3200 bytes at 1 MB/s are 3.2 ms, and 1600 bytes half of that.
        assert_eq!((1_000_000, 1_000_000, 50_000, 25_000), (numbers[2], numbers[5], numbers[6], numbers[7]));
        assert_eq!(OverflowEvidence::Counted(20), read.overflow_evidence());
        let plain = Qdisc::read(&kernel_qdisc("htb", &[("rate", "8Mbps")]), 1e7).unwrap();
        assert_eq!((2, OverflowEvidence::Always), (plain.messages().len(), plain.overflow_evidence()));
    }

    #[test]
    fn problems_of_a_leaf_are_reported_with_their_key() {
        let wrong = |arguments: &[(&str, &str)]| {
            let told = Qdisc::read(&kernel_qdisc("htb", arguments), 1e7).unwrap_err();
            told.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(vec!["leaf.colour", "rate"], wrong(&[("leaf.kernel", "codel"), ("leaf.colour", "red")]));
        assert_eq!(vec!["leaf.kernel"], wrong(&[("rate", "1Mbps"), ("leaf.kernel", "htb")]));
        assert_eq!(vec!["leaf.kernel", "rate"], wrong(&[("rate", "0bps"), ("leaf.kernel", "nothing")]));
        assert_eq!(vec!["leaf"], wrong(&[("rate", "1Mbps"), ("leaf.limit", "9")]));
        assert_eq!(vec!["leaf"], wrong(&[("rate", "1Mbps"), ("leaf", "codel")]));
    }

    #[test]
    fn netem_times_are_in_nanoseconds_and_probabilities_scaled_to_u32() {
        let read = Qdisc::read(&kernel_qdisc("netem", &[("delay", "10ms"), ("jitter", "2ms"), ("loss", "0.5"), ("reorder", "0.25")]), 1e7)
            .unwrap();
        let QdiscOptions { structure, attributes } = &read.options;
        let numbers: Vec<u32> = structure.chunks(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(vec![0, 1000, 1 << 31, 1, 0, 0], numbers);
        assert_eq!(DefaultNla::new(10, 10_000_000_i64.to_ne_bytes().into()), attributes[0]);
        assert_eq!((OverflowEvidence::Refused, false), (read.overflow_evidence(), read.makes_copies()));
        assert!(Qdisc::read(&kernel_qdisc("netem", &[("duplicate", "0.1")]), 1e7).unwrap().makes_copies());
        for (name, value) in [("loss", "1.5"), ("jitter", "1ms"), ("gap", "3"), ("reorder", "0.1")] {
            assert_eq!(name, Qdisc::read(&kernel_qdisc("netem", &[(name, value)]), 1e7).unwrap_err()[0].0);
        }
    }
}
