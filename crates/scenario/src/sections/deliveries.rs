//! `deliveries`: a link that follows a trace of delivery opportunities, from a file or a list of times.

use ecnlab_sim::trace_driven_link::{DeliveryTrace, DeliveryTraceError};
use serde_json::{Value as Json, json};

use super::declaration::{TableContent, TableDeclaration};
use crate::read::{Reader, TableInput};
use crate::tree::Node;

pub const DELIVERIES: TableDeclaration = TableDeclaration {
    key: "deliveries",
    content: TableContent::Deliveries,
    required: false,
    doc: "Trace of delivery opportunities, used instead of a rate: a file with a time in whole milliseconds on each line, or a list of \
        such times. Each opportunity carries 1500 bytes. After the last one the trace repeats.",
    example: "\"cellular.trace\"",
};

/// The trace, if one is given and valid.
pub fn read(reader: &mut Reader, given: &TableInput) -> Option<DeliveryTrace> {
    let node = given.node.get(DELIVERIES.key)?;
    let (unit, trace) = match (node.as_list(), given.node.text_of_key(DELIVERIES.key)) {
        (Some(times), _) => ("time", trace_from_list(times)),
        (None, Some(file)) => {
            let text = reader.read_file(given, DELIVERIES.key, file)?;
            ("line", DeliveryTrace::parse(&text))
        }
        (None, None) => {
            reader.report(given, DELIVERIES.key, "must be a file, as in \"cellular.trace\", or a list of times in milliseconds");
            return None;
        }
    };
    let describe_error =
        |DeliveryTraceError { line, message }| line.map_or_else(|| message.clone(), |line| format!("{unit} {line}: {message}"));
    trace.map_err(|bad| reader.report(given, DELIVERIES.key, describe_error(bad))).ok()
}

/// Trace from a list of times in the scenario.
fn trace_from_list(times: &[Node]) -> Result<DeliveryTrace, DeliveryTraceError> {
    let time = |(at, node): (usize, &Node)| {
        let text = node.as_scalar().map_or("", |scalar| scalar.text.as_str());
        text.parse().map_err(|_| DeliveryTraceError {
            line: Some(at + 1),
            message: format!("{text:?} must be a time in whole milliseconds, 0 .. {}", u32::MAX),
        })
    };
    DeliveryTrace::new(times.iter().enumerate().map(time).collect::<Result<_, _>>()?)
}

/// The trace in a form that can be read again.
pub fn trace_to_json(trace: &DeliveryTrace) -> Json {
    json!(trace.millis())
}
