//! An AQM in the page's JavaScript as an entry of the registry.
//!
//! `web/engine.js` reads the declaration off a class: the same that `ecnlab.aqm` reads off a Python class. Entries live as long as the
//! instance of the module; a declaration that is opened again has the same one. Each change of the text makes new ones.

use std::cell::{Cell, RefCell};

use ecnlab_queue::aqm::{
    AqmRequirements, Arrival, Backlog, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, PacketInfo, TimerContext,
};
use ecnlab_queue::user_aqm::{self, packet_text};
use ecnlab_queue::{Aqm, AqmEntry, Contradictions, Gauge, Limit, LinkParams};
use ecnlab_units::parameter::UsualRange;
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Parameter, Rate, Rng, Time, Value, Values};
use serde_json::{Map, Value as Json, json};

use crate::host::{self, Hook, INITIAL_SLOT_VALUES, Slots};
use crate::verdict;

/// First failure of an AQM since the last look.
pub struct Failure {
    pub aqm: &'static str,
    pub hook: &'static str,
    pub now: Option<Time>,
    /// Description of the packet that the hook was called for.
    pub packet: String,
    /// Reason; none if the page has the exception.
    pub message: Option<String>,
}

thread_local! {
    static ENTRIES: RefCell<Vec<(String, &'static AqmEntry)>> = const { RefCell::new(Vec::new()) };
    static FIRST_FAILURE: RefCell<Option<Failure>> = const { RefCell::new(None) };
    static NEXT_INSTANCE: Cell<u32> = const { Cell::new(0) };
}

/// Removes and returns the failure.
pub fn take_failure() -> Option<Failure> {
    FIRST_FAILURE.take()
}

fn store_first_failure(failure: Failure) {
    FIRST_FAILURE.with_borrow_mut(|first| {
        first.get_or_insert(failure);
    });
}

/// Class of an AQM.
struct JsClass {
    /// Its number among the classes of the page.
    number: u32,
    name: &'static str,
    has_departure: bool,
    has_deadline: bool,
    has_idle: bool,
    has_rate: bool,
    groups: usize,
    gauges: &'static [Gauge],
    has_average: bool,
    parameters: &'static [Parameter],
}

/// Entry for a declaration.
///
/// # Errors
/// If a parameter's default or bound does not fit it.
pub fn get_or_make_entry(declaration: &Json) -> Result<&'static AqmEntry, String> {
    let key = declaration.to_string();
    if let Some(known) = ENTRIES.with_borrow(|entries| entries.iter().find(|(text, _)| *text == key).map(|(_, entry)| *entry)) {
        return Ok(known);
    }
    let made = make_entry(declaration)?;
    ENTRIES.with_borrow_mut(|entries| entries.push((key, made)));
    Ok(made)
}

fn make_entry(declaration: &Json) -> Result<&'static AqmEntry, String> {
    let name = leak_json_member(declaration, "name");
    let parameters: Vec<_> = array_or_empty(declaration, "parameters").iter().map(parse_parameter).collect::<Result<_, _>>()?;
    let parameters: &'static [Parameter] = parameters.leak();
    let gauge = |of: &Json| Gauge::new(leak_json_member(of, "name"), leak_json_member(of, "unit"), leak_json_member(of, "doc"));
    let gauges: &'static [Gauge] = array_or_empty(declaration, "gauges").iter().map(gauge).collect::<Vec<_>>().leak();
    let groups = declaration["groups"].as_u64().unwrap_or(0) as usize;
    if groups > host::MAX_AQM_GROUPS || gauges.len() > INITIAL_SLOT_VALUES.len() {
        return Err(format!(
            "groups = {groups} must be at most {}, and gauges at most {}",
            host::MAX_AQM_GROUPS,
            INITIAL_SLOT_VALUES.len()
        ));
    }
    let has = |hook: &str| array_or_empty(declaration, "hooks").iter().any(|known| known == hook);
    let class: &'static JsClass = Box::leak(Box::new(JsClass {
        number: declaration["class"].as_u64().ok_or("a declaration names its class")? as u32,
        name,
        has_departure: has("on_departure"),
        has_deadline: has("on_deadline"),
        has_idle: has("on_idle"),
        has_rate: has("on_rate"),
        groups,
        gauges,
        has_average: gauges.iter().any(|gauge| gauge.name == "average"),
        parameters,
    }));
    let check: Option<ecnlab_queue::aqm::entry::CheckUserAqm> = (has("check") && !parameters.is_empty())
        .then(|| &*Box::leak(Box::new(move |values: &Values| class.contradictions(values))) as ecnlab_queue::aqm::entry::CheckUserAqm);
    Ok(Box::leak(Box::new(AqmEntry {
        name,
        title: leak_json_member(declaration, "title"),
        summary: leak_json_member(declaration, "summary"),
        source: leak_json_member(declaration, "source"),
        parameters,
        gauges,
        check_user_aqm: check,
        lowest_mark: user_aqm::lowest_mark_fn(declaration["marks"].as_str(), "null")?,
        source_digest: leak_json_member(declaration, "digest"),
        make: Box::leak(Box::new(move |values: &Values, link: &LinkParams| JsAqm::create(class, values, link))),
        ..AqmEntry::DEFAULTS
    })))
}

fn array_or_empty<'j>(of: &'j Json, key: &str) -> &'j [Json] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

fn leak_json_member(of: &Json, key: &str) -> &'static str {
    of[key].as_str().unwrap_or_default().to_owned().leak()
}

fn parse_parameter(declared: &Json) -> Result<Parameter, String> {
    let name = leak_json_member(declared, "name");
    let word = |word: &Json| &*word.as_str().unwrap_or_default().to_owned().leak();
    let kind = declared["kind"].as_str().unwrap_or_default();
    let bounds = ["min", "max"].map(|key| declared[key].as_f64());
    let choices = array_or_empty(declared, "choices").iter().map(word).collect();
    let kind = user_aqm::parse_kind(kind, name, bounds, leak_json_member(declared, "unit"), choices)?;
    user_aqm::check_default(Parameter {
        name,
        kind,
        special_word: declared["word"].as_str().map(|word| &*word.to_owned().leak()),
        default: leak_json_member(declared, "default"),
        doc: leak_json_member(declared, "doc"),
        source: leak_json_member(declared, "source"),
        usual: usual_range(&declared["usual"]).map_err(|why| format!("{name}: {why}"))?,
        ..Parameter::DEFAULTS
    })
}

fn usual_range(of: &Json) -> Result<Option<UsualRange>, String> {
    let (Some(min), Some(max)) = (of["min"].as_f64(), of["max"].as_f64()) else { return Ok(None) };
    match of["scale"].as_str() {
        Some("linear") if min < max => Ok(Some(UsualRange::linear(min, max))),
        Some("log") if 0.0 < min && min < max => Ok(Some(UsualRange::log(min, max))),
        _ => Err(format!("usual = {of} must be two numbers, the smaller first and above 0 for \"log\", and \"linear\" or \"log\"")),
    }
}

impl JsClass {
    /// Contradictions that the class's `check` reports; an exception in it is reported at the first parameter.
    fn contradictions(&'static self, values: &Values) -> Contradictions {
        let mut slots = INITIAL_SLOT_VALUES;
        let given = values_json(values);
        slots[host::AQM_CLASS_SLOT] = f64::from(self.number);
        (slots[host::TEXT_PTR], slots[host::TEXT_LEN]) = (given.as_ptr() as usize as f64, given.len() as f64);
        if host::call(Hook::Check, 0, &mut slots) == host::THROWN {
            // The page has not taken `given`, nor answered with another text.
            return vec![(self.parameters[0].name, "the check could not be run".to_owned())];
        }
        let found = crate::exports::take_text(slots[host::TEXT_PTR], slots[host::TEXT_LEN]);
        let found: Map<String, Json> = serde_json::from_str(&found).unwrap_or_default();
        let text = |why: Json| why.as_str().unwrap_or_default().to_owned();
        user_aqm::name_contradictions(self.parameters, found.into_iter().map(|(name, why)| (name, text(why))))
    }
}

/// The values as JSON: times in seconds, rates in bit/s, null for the word without a value.
fn values_json(values: &Values) -> String {
    values.iter().map(|(name, value)| (name, value_json(value))).collect::<Json>().to_string()
}

fn value_json(value: &Value) -> Json {
    match value {
        Value::Special(_) => Json::Null,
        Value::Number(x) | Value::Amount(PacketsOrBytes::Packets(x) | PacketsOrBytes::Bytes(x)) => json!(x),
        Value::Count(n) => json!(n),
        Value::Span(span) => json!(span.seconds()),
        Value::Rate(rate) => json!(rate.bps()),
        Value::Flag(flag) => json!(flag),
        Value::Choice(word) => json!(word),
        Value::Text(text) => json!(text),
        Value::Distribution(drawn) => json!(drawn.to_string()),
        Value::List(values) => values.iter().map(value_json).collect(),
    }
}

/// An instance of a class.
struct JsAqm {
    class: &'static JsClass,
    /// Its number among the page's instances.
    instance: u32,
    deadline: Option<Time>,
    average: Option<f64>,
    /// A hook has failed: from then on the instance passes every packet.
    failed: Cell<bool>,
}

impl JsAqm {
    fn create(class: &'static JsClass, values: &Values, link: &LinkParams) -> Box<dyn Aqm> {
        let instance = NEXT_INSTANCE.get();
        NEXT_INSTANCE.set(instance.wrapping_add(1));
        let given = values_json(values);
        let (packets, bytes) = match link.limit {
            Limit::Packets(packets) => (packets as f64, f64::NAN),
            Limit::Bytes(bytes) => (f64::NAN, bytes as f64),
        };
        let mut slots = INITIAL_SLOT_VALUES;
        (slots[host::AQM_CLASS_SLOT], slots[host::RATE_BPS]) = (f64::from(class.number), link.rate.bps() as f64);
        (slots[host::LIMIT_PACKETS], slots[host::LIMIT_BYTES]) = (packets, bytes);
        (slots[host::TEXT_PTR], slots[host::TEXT_LEN]) = (given.as_ptr() as usize as f64, given.len() as f64);
        let mut aqm = JsAqm { class, instance, deadline: None, average: None, failed: Cell::new(false) };
        let answer = aqm.call(Hook::Create, &mut slots, None);
        aqm.deadline = aqm.unwrap_or_fail("on_start", None, String::new(), parse_deadline(answer, None), None);
        Box::new(aqm)
    }

    /// Calls a hook, with the random stream if one is lent to it, and reads the gauge `average`, which it may change.
    fn call(&mut self, hook: Hook, slots: &mut Slots, rng: Option<&mut Rng>) -> f64 {
        let answer = match rng {
            Some(rng) => host::call_with_stream(hook, self.instance, slots, rng),
            None => host::call(hook, self.instance, slots),
        };
        self.average = self.class.has_average.then_some(slots[host::AVERAGE]);
        answer
    }

    /// Unwraps the result of a hook; a failure is stored, and the AQM passes all packets from then on.
    fn unwrap_or_fail<T>(
        &self,
        hook: &'static str,
        now: Option<Time>,
        packet: String,
        answer: Result<T, Option<String>>,
        fallback: T,
    ) -> T {
        answer.unwrap_or_else(|message| {
            self.failed.set(true);
            store_first_failure(Failure { aqm: self.class.name, hook, now, packet, message });
            fallback
        })
    }
}

/// The page has the exception if a hook has thrown; otherwise the answer is read.
fn answer_of<T>(answer: f64, read: impl FnOnce(f64) -> Result<T, String>) -> Result<T, Option<String>> {
    if answer == host::THROWN { Err(None) } else { read(answer).map_err(Some) }
}

/// A hook's next deadline in seconds; NaN is none.
fn parse_deadline(answer: f64, now: Option<Time>) -> Result<Option<Time>, Option<String>> {
    if answer.is_nan() {
        return Ok(None);
    }
    answer_of(answer, |due_s| user_aqm::parse_deadline(due_s, now, "null").map(Some))
}

fn packet_slots(packet: &PacketInfo, slots: &mut Slots) {
    slots[host::SIZE] = f64::from(packet.size);
    slots[host::ECN] = f64::from(packet.ecn as u8);
    slots[host::CAPABLE] = f64::from(u8::from(packet.ecn.is_capable()));
    slots[host::FLOW] = packet.flow as f64;
    slots[host::RTT_S] = packet.rtt.seconds();
}

fn time_slots(now: Time, slots: &mut Slots) {
    (slots[host::NOW_S], slots[host::NOW_PS]) = (now.seconds(), now.picos() as f64);
}

fn backlog_slots(backlog: &Backlog, slots: &mut Slots) {
    (slots[host::BACKLOG_PACKETS], slots[host::BACKLOG_BYTES]) = (f64::from(backlog.packets), backlog.bytes as f64);
}

impl Aqm for JsAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: self.class.groups, dequeue_hook: self.class.has_departure }
    }

    fn packet_group_index(&self, packet: &PacketInfo) -> u8 {
        if self.class.groups == 0 || self.failed.get() {
            return 0;
        }
        let mut slots = INITIAL_SLOT_VALUES;
        packet_slots(packet, &mut slots);
        let answer = answer_of(host::call(Hook::Group, self.instance, &mut slots), |group| {
            let groups = self.class.groups;
            let is_group = group.fract() == 0.0 && (0.0..groups as f64).contains(&group);
            if is_group { Ok(group as u8) } else { Err(user_aqm::unknown_group(group, groups)) }
        });
        self.unwrap_or_fail("group", None, packet_text(packet), answer, 0)
    }

    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        if self.failed.get() {
            return EnqueueVerdict::Pass;
        }
        let mut slots = INITIAL_SLOT_VALUES;
        time_slots(arrival.now, &mut slots);
        packet_slots(&arrival.packet, &mut slots);
        slots[host::SOJOURN_S] = arrival.head_sojourn.seconds();
        slots[host::WOULD_OVERFLOW_SLOT] = f64::from(u8::from(arrival.would_overflow));
        backlog_slots(&arrival.backlog, &mut slots);
        for (pair, group) in slots[host::FIRST_GROUP..].chunks_exact_mut(2).zip(arrival.groups) {
            (pair[0], pair[1]) = (f64::from(group.packets), group.bytes as f64);
        }
        let answer = self.call(Hook::Arrival, &mut slots, Some(rng));
        let verdict = answer_of(answer, |answer| verdict::enqueue_verdict(answer, self.class.groups));
        self.unwrap_or_fail("on_arrival", Some(arrival.now), packet_text(&arrival.packet), verdict, EnqueueVerdict::Pass)
    }

    fn on_dequeue(&mut self, departure: &Departure, rng: &mut Rng) -> DequeueVerdict {
        if !self.class.has_departure || self.failed.get() {
            return DequeueVerdict::Pass;
        }
        let mut slots = INITIAL_SLOT_VALUES;
        time_slots(departure.now, &mut slots);
        packet_slots(&departure.packet, &mut slots);
        slots[host::SOJOURN_S] = departure.sojourn.seconds();
        backlog_slots(&departure.backlog, &mut slots);
        let verdict = answer_of(self.call(Hook::Departure, &mut slots, Some(rng)), verdict::dequeue_verdict);
        self.unwrap_or_fail("on_departure", Some(departure.now), packet_text(&departure.packet), verdict, DequeueVerdict::Pass)
    }

    fn on_queue_empty(&mut self, now: Time) {
        if !self.class.has_idle || self.failed.get() {
            return;
        }
        let mut slots = INITIAL_SLOT_VALUES;
        time_slots(now, &mut slots);
        let answer = answer_of(self.call(Hook::Idle, &mut slots, None), |_| Ok(()));
        self.unwrap_or_fail("on_idle", Some(now), String::new(), answer, ());
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, context: &TimerContext, rng: &mut Rng) {
        if !self.class.has_deadline || self.failed.get() {
            self.deadline = None;
            return;
        }
        let mut slots = INITIAL_SLOT_VALUES;
        time_slots(context.now, &mut slots);
        slots[host::SOJOURN_S] = context.head_sojourn.seconds();
        backlog_slots(&context.backlog, &mut slots);
        let due = parse_deadline(self.call(Hook::Deadline, &mut slots, Some(rng)), Some(context.now));
        self.deadline = self.unwrap_or_fail("on_deadline", Some(context.now), String::new(), due, None);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        if !self.class.has_rate || self.failed.get() {
            return;
        }
        let mut slots = INITIAL_SLOT_VALUES;
        slots[0] = rate.bps() as f64;
        let answer = answer_of(self.call(Hook::Rate, &mut slots, None), |_| Ok(()));
        self.unwrap_or_fail("on_rate", None, String::new(), answer, ());
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.average
    }

    fn report_gauges(&self, show: GaugeReport) {
        let mut slots = INITIAL_SLOT_VALUES;
        let answer = match self.failed.get() {
            true => Err(None),
            false => answer_of(host::call(Hook::Gauges, self.instance, &mut slots), |_| Ok(())),
        };
        if answer.is_err() {
            slots = [f64::NAN; INITIAL_SLOT_VALUES.len()];
        }
        if !self.failed.get() {
            self.unwrap_or_fail("its gauges", None, String::new(), answer, ());
        }
        self.class.gauges.iter().zip(slots).for_each(|(gauge, value)| show(gauge.name, value));
    }
}

impl Drop for JsAqm {
    fn drop(&mut self) {
        host::call(Hook::Drop, self.instance, &mut { INITIAL_SLOT_VALUES });
    }
}
