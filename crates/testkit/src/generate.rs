//! Random values of parameters, drawn from their declarations.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Distribution, Kind, Parameter, Rate, Rng, Span, Value, Values, math};

use super::dut::{DefaultOrTestValues, DeviceUnderTest, DutValues};
use crate::traffic::pick_random;
use ecnlab_queue::Limit;

impl DeviceUnderTest {
    /// Random values that are valid in a scenario. After repeated contradictions fewer values are changed. A count in the test values of a
    /// discipline, such as its number of queues, is drawn up to four times that: more would only take longer.
    pub fn random_values(&self, limit: Limit, rng: &mut Rng) -> DutValues {
        let defaults =
            DutValues { discipline: self.discipline.test_values(), ..self.parameter_values_of_set(DefaultOrTestValues::Defaults) };
        for attempt in 0..MAX_ATTEMPTS {
            let share = 1.0 - attempt as f64 / MAX_ATTEMPTS as f64;
            let mut values = defaults.clone();
            randomize_values(&mut values.discipline, share, rng);
            self.cap_random_counts(&mut values.discipline, &defaults.discipline);
            if let Some(values) = &mut values.aqm {
                randomize_values(values, share, rng);
            }
            if !self.has_value_contradictions(&values, limit) {
                return values;
            }
        }
        defaults
    }

    fn cap_random_counts(&self, drawn: &mut Values, busy: &Values) {
        for &(name, _) in self.discipline.test_params {
            if let (Value::Count(count), Value::Count(small)) = (drawn.value_by_name(name), busy.value_by_name(name)) {
                let most = (4 * small).max(4);
                let count = if *count > most { 1 + count % most } else { *count };
                drawn.set(name, Value::Count(count));
            }
        }
    }
}

impl DutValues {
    /// Differences from the defaults, as users would write them.
    pub fn differences_from_defaults(&self) -> String {
        let tables = [Some(&self.discipline), self.aqm.as_ref()];
        let differences_from_defaults = tables.into_iter().flatten().flat_map(|values| {
            values
                .iter_texts()
                .zip(values.parameters())
                .filter(|((_, text), declared)| *text != declared.default_value().to_string())
                .map(|((name, text), _)| format!("{name} = {text}"))
        });
        differences_from_defaults.collect::<Vec<_>>().join(", ")
    }
}

/// Redraws this share of the values.
fn randomize_values(values: &mut Values, share: f64, rng: &mut Rng) {
    for parameter in values.parameters() {
        if rng.uniform() < share {
            values.set(parameter.name, random_value(parameter, rng));
        }
    }
}

/// A value within the declared bounds: the bounds themselves, the default's neighbourhood and the whole range are about equally likely.
pub fn random_value(parameter: &Parameter, rng: &mut Rng) -> Value {
    match parameter.special_word {
        Some(word) if rng.below(4) == 0 => Value::Special(word),
        _ if parameter.accepts_list => Value::List((0..1 + rng.below(3)).map(|_| random_scalar_value(parameter, rng)).collect()),
        _ => random_scalar_value(parameter, rng),
    }
}

fn random_scalar_value(parameter: &Parameter, rng: &mut Rng) -> Value {
    let default = parameter.default_value();
    match parameter.kind {
        Kind::Number { min, max, .. } => Value::Number(random_bound_or_near_default(min, max, numeric_value(&default), rng)),
        Kind::Count { min, max, .. } => {
            Value::Count((random_bound_or_near_default(min as f64, max as f64, numeric_value(&default), rng) as u64).clamp(min, max))
        }
        Kind::Span { min, max } => {
            let picos = random_bound_or_near_default(min.picos() as f64, max.picos() as f64, numeric_value(&default), rng);
            Value::Span(Span::from_picos(picos as u64).clamp(min, max))
        }
        Kind::Amount => Value::Amount(pick_random(&[PacketsOrBytes::Packets, PacketsOrBytes::Bytes], rng)(random_bound_or_near_default(
            1.0,
            1e6,
            numeric_value(&default),
            rng,
        ))),
        Kind::Rate => Value::Rate(
            Rate::from_bps(random_bound_or_near_default(1.0, 1e13, numeric_value(&default), rng) as u64).expect("at least 1 bps"),
        ),
        Kind::Flag => Value::Flag(rng.below(2) == 0),
        Kind::Choice(words) | Kind::ChoiceOrName(words) => Value::Choice(pick_random::<&str>(words, rng)),
        Kind::Text => Value::Text("drawn".to_owned()),
        Kind::Distribution { dimension, min, max } => {
            let fixed = random_bound_or_near_default(min, max, numeric_value(&default), rng);
            Value::Distribution(Distribution::fixed(fixed, dimension))
        }
    }
}

fn random_bound_or_near_default(min: f64, max: f64, near: f64, rng: &mut Rng) -> f64 {
    let (min, max) = (min.max(-MAX_GENERATED), max.min(MAX_GENERATED));
    let value = match rng.below(8) {
        0 => min,
        1 => max,
        2 | 3 => random_logarithmic(min.max(max.min(1.0) * 1e-6), max, rng),
        _ => near * math::exp(2.0 * rng.uniform() - 1.0),
    };
    value.clamp(min, max)
}

/// Even in its logarithm between two bounds above zero.
fn random_logarithmic(min: f64, max: f64, rng: &mut Rng) -> f64 {
    min * math::exp(rng.uniform() * math::ln(max / min))
}

/// The number in a value, times in picoseconds; 1 where there is none.
fn numeric_value(value: &Value) -> f64 {
    match value {
        Value::Number(number) => *number,
        Value::Count(count) => *count as f64,
        Value::Amount(PacketsOrBytes::Packets(amount) | PacketsOrBytes::Bytes(amount)) => *amount,
        Value::Span(span) => span.picos() as f64,
        Value::Rate(rate) => rate.bps() as f64,
        Value::Distribution(drawn) => drawn.mean(),
        Value::List(values) => values.first().map_or(1.0, numeric_value),
        Value::Special(_) | Value::Flag(_) | Value::Choice(_) | Value::Text(_) => 1.0,
    }
}

const MAX_ATTEMPTS: u32 = 40;

/// As far as numbers without bounds are drawn.
const MAX_GENERATED: f64 = 1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use ecnlab_queue::registry::AQMS;

    #[test]
    fn a_random_value_is_valid_in_a_scenario() {
        let mut rng = Rng::for_role(1, "draw");
        for parameter in AQMS.iter().flat_map(|entry| entry.parameters).filter(|parameter| !parameter.accepts_list) {
            for _ in 0..100 {
                let value = random_value(parameter, &mut rng);
                let read = parameter.parse(&value.to_string());
                assert!(read.is_ok(), "{} = {value}: {read:?}", parameter.name);
            }
        }
    }

    #[test]
    fn random_values_include_the_bounds_and_values_between() {
        let mut rng = Rng::for_role(2, "draw");
        let drawn: Vec<f64> = (0..1000).map(|_| random_bound_or_near_default(0.0, 100.0, 5.0, &mut rng)).collect();
        let share = |holds: fn(&f64) -> bool| drawn.iter().filter(|number| holds(number)).count();
        assert!(share(|n| *n == 0.0) > 50 && share(|n| *n == 100.0) > 50 && share(|n| *n > 0.0 && *n < 1.0) > 100);
        assert!(share(|n| (1.8..13.6).contains(n)) > 400);
    }
}
