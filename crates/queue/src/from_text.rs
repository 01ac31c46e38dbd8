//! Queues from names and text, for programs that have no scenario file.
//!
//! Names, values and contradictions are checked as in a scenario.

use ecnlab_units::{Parameter, Values};

use crate::aqm::entry::Contradictions;
use crate::config::{AqmConfig, Child, QueueConfig};
use crate::discipline::entry::ChildKind;
use crate::registry::Registry;

impl Registry {
    /// An AQM by its name, with values as people write them; what is not given has its default.
    ///
    /// # Errors
    /// If the AQM is unknown, or a value is invalid for it.
    pub fn aqm_config(&self, name: &str, values: &[(&str, &str)]) -> Result<AqmConfig, String> {
        let entry = self.aqm(name).ok_or_else(|| unknown_name_error("AQM", name, self.aqms().iter().map(|entry| entry.name)))?;
        Ok(AqmConfig { entry, values: values_from_texts(name, entry.parameters, values)? })
    }

    /// A discipline by its name, with values as people write them, with its child.
    ///
    /// # Errors
    /// If the discipline is unknown, a value is invalid for it, the child is of another kind, or values contradict each other.
    pub fn queue_config(&self, name: &str, values: &[(&str, &str)], child: Child) -> Result<QueueConfig, String> {
        let known = || self.disciplines().iter().map(|entry| entry.name);
        let discipline = self.discipline(name).ok_or_else(|| unknown_name_error("discipline", name, known()))?;
        let limit = match (discipline.child, &child) {
            (ChildKind::Aqm(_), Child::Aqm { limit, .. }) | (ChildKind::Buffer, Child::Buffer { limit }) => Some((*limit).into()),
            (ChildKind::Queue, Child::Queue(_)) => None,
            (child_kind, _) => return Err(format!("discipline \"{name}\" takes {} as its child", describe_child_kind(child_kind))),
        };
        let values = values_from_texts(name, discipline.parameters, values)?;
        contradictions_to_result(name, (discipline.check)(&values, limit))?;
        if let (Child::Aqm { aqm, .. }, Some(limit)) = (&child, limit) {
            contradictions_to_result(aqm.entry.name, aqm.entry.contradictions(&aqm.values, limit))?;
        }
        Ok(QueueConfig { discipline, values, child })
    }
}

fn values_from_texts(name: &str, declared: &'static [Parameter], given: &[(&str, &str)]) -> Result<Values, String> {
    let mut values = Values::defaults(declared);
    for (key, text) in given {
        let of_it = || declared.iter().map(|parameter| parameter.name);
        if !of_it().any(|own| own == *key) {
            return Err(unknown_name_error(&format!("parameter of \"{name}\""), key, of_it()));
        }
        values.set_from_text(key, text).map_err(|why| format!("{key} of \"{name}\": {why}"))?;
    }
    match declared.iter().find(|parameter| parameter.required && !given.iter().any(|(key, _)| *key == parameter.name)) {
        Some(missing) => Err(format!("{} of \"{name}\" is missing; fix: give it as in \"{}\"", missing.name, missing.default)),
        None => Ok(values),
    }
}

fn contradictions_to_result(name: &str, contradictions: Contradictions) -> Result<(), String> {
    let texts: Vec<String> = contradictions.into_iter().map(|(key, why)| format!("{key} of \"{name}\": {why}")).collect();
    if texts.is_empty() { Ok(()) } else { Err(texts.join("; ")) }
}

fn describe_child_kind(child: ChildKind) -> &'static str {
    match child {
        ChildKind::Aqm(_) => "an AQM and a buffer",
        ChildKind::Buffer => "a buffer and no AQM",
        ChildKind::Queue => "another queue",
    }
}

fn unknown_name_error<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str>) -> String {
    format!("unknown {what} \"{name}\"; fix: use one of {}", known.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    fn error<T>(result: Result<T, String>) -> String {
        result.err().expect("it is refused")
    }

    fn red(values: &[(&str, &str)]) -> Child {
        Child::Aqm { aqm: Registry::builtin().aqm_config("red", values).unwrap(), limit: Limit::Packets(100) }
    }

    #[test]
    fn a_queue_is_made_of_names_and_text() {
        let registry = Registry::builtin();
        let fifo = registry.queue_config("fifo", &[], red(&[("min_th", "10"), ("max_th", "30")])).unwrap();
        let shaped = registry.queue_config("tbf", &[("rate", "1.5 Mbps"), ("burst", "10 KB")], Child::Queue(Box::new(fifo))).unwrap();
        assert_eq!("tbf red", format!("{shaped:?}"));
        assert_eq!(30.0, shaped.aqm().unwrap().values.get_as::<f64>("max_th"));
    }

    #[test]
    fn what_is_wrong_is_said_with_the_remedy() {
        let registry = Registry::builtin();
        assert!(error(registry.aqm_config("rde", &[])).starts_with("unknown AQM \"rde\"; fix: use one of droptail, red"));
        assert!(
            error(registry.aqm_config("red", &[("min", "5")])).contains("unknown parameter of \"red\" \"min\"; fix: use one of min_th")
        );
        assert!(error(registry.aqm_config("red", &[("max_p", "2")])).starts_with("max_p of \"red\": 2 must be 0 .. 1"));
        assert!(error(registry.queue_config("fq2", &[], red(&[]))).starts_with("unknown discipline \"fq2\""));
        assert!(error(registry.queue_config("tbf", &[], red(&[]))).ends_with("takes another queue as its child"));
        assert!(
            error(registry.queue_config("fifo", &[], red(&[("min_th", "50"), ("max_th", "30")]))).contains("50 must be below max_th 30")
        );
        let fifo = || Child::Queue(Box::new(registry.queue_config("fifo", &[], red(&[])).unwrap()));
        assert!(error(registry.queue_config("tbf", &[("rate", "1 Mbps")], fifo())).contains("burst of \"tbf\" is missing"));
        let slow_peak = [("rate", "2 Mbps"), ("burst", "10 KB"), ("peakrate", "1 Mbps")];
        assert!(error(registry.queue_config("tbf", &slow_peak, fifo())).contains("1000000 bps must be above rate 2000000 bps"));
    }
}
