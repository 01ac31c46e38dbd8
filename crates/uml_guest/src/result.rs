//! The result of a job as JSON: the tables of a run and its identity, or the reasons for a refusal.
//!
//! A column has its name, its kind, its values (little-endian bytes as hexadecimal digits), and the names that its values index.

use ecnlab_emulator::run::RunOutcome;
use ecnlab_scenario::Problem;
use ecnlab_sim::RecordingLimitReached;
use ecnlab_sim::measures::Table;
use serde_json::{Value as Json, json};

pub fn run_outcome_json(outcome: &RunOutcome) -> Json {
    let run = &outcome.run;
    let tables = run.report.tables.iter().chain(&outcome.tables);
    json!({
        "fingerprint": format!("{:016x}", run.fingerprint),
        "events": run.events,
        "packet_hops": run.packet_hops,
        "tables": tables.map(|(name, table)| ((*name).to_owned(), table_json(table))).collect::<serde_json::Map<_, _>>(),
        "about": outcome.metadata.json(),
    })
}

/// Parts of the scenario that this kernel does not support.
pub fn unsupported_json(problems: &[Problem]) -> Json {
    json!({ "refused": problems.iter().map(|problem| json!([problem.place, problem.line, problem.message])).collect::<Vec<_>>() })
}

/// The memory for recordings was exhausted.
pub fn recording_limit_reached_json(reached: &RecordingLimitReached) -> Json {
    json!({ "refused": [["record", null, reached.to_string()]] })
}

fn table_json(table: &Table) -> Json {
    let column = |(name, column): &(_, ecnlab_units::table::Column)| {
        let (kind, bytes, names) = column.to_kind_bytes_and_names();
        json!([name, kind, to_hex(&bytes), names])
    };
    table.columns.iter().map(column).collect()
}

fn to_hex(bytes: &[u8]) -> String {
    const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(HEX_DIGITS[usize::from(digit)])).collect()
}
