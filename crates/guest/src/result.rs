//! What came of a job, as JSON: a run's tables and what identifies it; or what was refused.
//!
//! A column is its name, its kind, its values in little-endian bytes as hexadecimal digits, and the names that they are places among.

use ecnlab_router::run::Outcome;
use ecnlab_scenario::Problem;
use ecnlab_sim::RecordingFull;
use ecnlab_sim::measures::Table;
use serde_json::{Value as Json, json};

pub fn of(outcome: &Outcome) -> Json {
    let run = &outcome.run;
    let tables = run.report.tables.iter().chain(&outcome.tables);
    json!({
        "fingerprint": format!("{:016x}", run.fingerprint),
        "events": run.events,
        "packet_hops": run.packet_hops,
        "tables": tables.map(|(name, table)| ((*name).to_owned(), told(table))).collect::<serde_json::Map<_, _>>(),
        "about": outcome.about.json(),
    })
}

/// What of the scenario this kernel cannot do.
pub fn refused(problems: &[Problem]) -> Json {
    json!({ "refused": problems.iter().map(|problem| json!([problem.place, problem.line, problem.message])).collect::<Vec<_>>() })
}

/// There was no room for what was to be recorded.
pub fn full(full: &RecordingFull) -> Json {
    json!({ "refused": [["record", null, full.to_string()]] })
}

fn told(table: &Table) -> Json {
    let column = |(name, column): &(_, ecnlab_units::table::Column)| {
        let (kind, bytes, names) = column.plain();
        json!([name, kind, hexadecimal(&bytes), names])
    };
    table.columns.iter().map(column).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}
