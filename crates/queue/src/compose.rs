//! Queues from names and text, for programs that have no scenario file.
//!
//! Everything is checked as a scenario is: names, values, and what contradicts itself.

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Parameter, Values};

use crate::composition::{AqmChoice, Composition, Inside};
use crate::discipline::Limit;
use crate::registry::{Contradictions, Holds, Registry};

impl Registry {
    /// An AQM by its name, with values as people write them; what is not given has its default.
    ///
    /// # Errors
    /// If there is no such AQM, or a value is not one of its own.
    pub fn choose(&self, name: &str, values: &[(&str, &str)]) -> Result<AqmChoice, String> {
        let entry = self.aqm(name).ok_or_else(|| unknown("AQM", name, self.aqms().iter().map(|entry| entry.name)))?;
        Ok(AqmChoice { entry, values: read(name, entry.parameters, values)? })
    }

    /// A discipline by its name, with values as people write them, around what it holds.
    ///
    /// # Errors
    /// If there is no such discipline, a value is not one of its own, it holds something else, or values contradict each other.
    pub fn compose(&self, name: &str, values: &[(&str, &str)], inside: Inside) -> Result<Composition, String> {
        let known = || self.disciplines().iter().map(|entry| entry.name);
        let discipline = self.discipline(name).ok_or_else(|| unknown("discipline", name, known()))?;
        let limit = match (discipline.holds, &inside) {
            (Holds::Aqm(_), Inside::Aqm { limit, .. }) | (Holds::Law, Inside::Law { limit }) => Some(amount(*limit)),
            (Holds::Queue, Inside::Queue(_)) => None,
            (holds, _) => return Err(format!("\"{name}\" holds {}", held(holds))),
        };
        let values = read(name, discipline.parameters, values)?;
        agree(name, (discipline.check)(&values, limit))?;
        if let (Inside::Aqm { aqm, .. }, Some(limit)) = (&inside, limit) {
            agree(aqm.entry.name, (aqm.entry.check)(&aqm.values, limit))?;
        }
        Ok(Composition { discipline, values, inside })
    }
}

fn read(name: &str, declared: &'static [Parameter], given: &[(&str, &str)]) -> Result<Values, String> {
    let mut values = Values::defaults(declared);
    for (key, text) in given {
        let of_it = || declared.iter().map(|parameter| parameter.name);
        if !of_it().any(|own| own == *key) {
            return Err(unknown(&format!("parameter of \"{name}\""), key, of_it()));
        }
        values.read(key, text).map_err(|why| format!("{key} of \"{name}\": {why}"))?;
    }
    match declared.iter().find(|parameter| parameter.required && !given.iter().any(|(key, _)| *key == parameter.name)) {
        Some(missing) => Err(format!("{} of \"{name}\" must be given, as in \"{}\"", missing.name, missing.default)),
        None => Ok(values),
    }
}

fn agree(name: &str, contradictions: Contradictions) -> Result<(), String> {
    let texts: Vec<String> = contradictions.into_iter().map(|(key, why)| format!("{key} of \"{name}\": {why}")).collect();
    if texts.is_empty() { Ok(()) } else { Err(texts.join("; ")) }
}

fn amount(limit: Limit) -> Amount {
    match limit {
        Limit::Packets(packets) => Amount::Packets(f64::from(packets)),
        Limit::Bytes(bytes) => Amount::Bytes(bytes as f64),
    }
}

fn held(holds: Holds) -> &'static str {
    match holds {
        Holds::Aqm(_) => "an AQM and a buffer: give Inside::Aqm",
        Holds::Law => "a buffer: give Inside::Law",
        Holds::Queue => "another queue: give Inside::Queue",
    }
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> String {
    format!("there is no {what} \"{name}\": there are {}", known.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error<T>(result: Result<T, String>) -> String {
        result.err().expect("it is refused")
    }

    fn red(values: &[(&str, &str)]) -> Inside {
        Inside::Aqm { aqm: Registry::builtin().choose("red", values).unwrap(), limit: Limit::Packets(100) }
    }

    #[test]
    fn a_queue_is_made_of_names_and_text() {
        let registry = Registry::builtin();
        let fifo = registry.compose("fifo", &[], red(&[("min_th", "10"), ("max_th", "30")])).unwrap();
        let shaped = registry.compose("tbf", &[("rate", "1.5 Mbps"), ("burst", "10 KB")], Inside::Queue(Box::new(fifo))).unwrap();
        assert_eq!("tbf red", format!("{shaped:?}"));
        assert_eq!(30.0, shaped.aqm().unwrap().values.get::<f64>("max_th"));
    }

    #[test]
    fn what_is_wrong_is_said_with_the_remedy() {
        let registry = Registry::builtin();
        assert!(error(registry.choose("rde", &[])).starts_with("there is no AQM \"rde\": there are droptail, red"));
        assert!(error(registry.choose("red", &[("min", "5")])).contains("no parameter of \"red\" \"min\": there are min_th"));
        assert!(error(registry.choose("red", &[("max_p", "2")])).starts_with("max_p of \"red\": 2 must be 0 .. 1"));
        assert!(error(registry.compose("fq2", &[], red(&[]))).starts_with("there is no discipline \"fq2\""));
        assert!(error(registry.compose("tbf", &[], red(&[]))).ends_with("give Inside::Queue"));
        assert!(error(registry.compose("fifo", &[], red(&[("min_th", "50"), ("max_th", "30")]))).contains("50 must be below max_th 30"));
        let fifo = || Inside::Queue(Box::new(registry.compose("fifo", &[], red(&[])).unwrap()));
        assert!(error(registry.compose("tbf", &[("rate", "1 Mbps")], fifo())).contains("burst of \"tbf\" must be given"));
        let slow_peak = [("rate", "2 Mbps"), ("burst", "10 KB"), ("peakrate", "1 Mbps")];
        assert!(error(registry.compose("tbf", &slow_peak, fifo())).contains("1000000 bps must be above rate 2000000 bps"));
    }
}
