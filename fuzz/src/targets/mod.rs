//! The targets, by what they read.

#[cfg(target_os = "linux")]
pub mod emulator;
pub mod engine;
#[cfg(target_os = "linux")]
pub mod guest;
pub mod kernel;
pub mod scenario;
pub mod store;
pub mod trace;
pub mod wire;

/// Sound inputs of each corpus go as far as they are to go. A format that changes makes its corpus one of errors, in which a target still
/// finds nothing wrong.
#[cfg(test)]
mod tests {
    use std::path::Path;

    use ecnlab_scenario::{Scenario, no_files};
    use ecnlab_validation::kernel::case::Case;
    use ecnlab_wire::Reader;

    use super::*;

    fn input(target: &str, name: &str) -> Vec<u8> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target).join(name);
        std::fs::read(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
    }

    fn text(target: &str, name: &str) -> String {
        String::from_utf8(input(target, name)).expect("a text")
    }

    const SCENARIOS: [&str; 19] = [
        "aecn",
        "arrivals",
        "cellular",
        "codel",
        "dualpi2",
        "dumbbell",
        "ecn",
        "ecnm",
        "fq",
        "incast",
        "mixed",
        "parking_lot",
        "red",
        "red_ecn",
        "red_ecn_udp",
        "rfc2884",
        "today",
        "web",
        "wireless",
    ];

    #[test]
    fn scenarios_are_read() {
        for name in SCENARIOS {
            let toml = Scenario::from_toml(&text("scenario_toml", name), &[], scenario::registry(), &no_files);
            assert!(toml.is_ok(), "scenario_toml: {name}: {:?}", toml.err());
            let json = Scenario::from_json(&text("scenario_json", name), &[], scenario::registry(), &no_files);
            assert!(json.is_ok(), "scenario_json: {name}: {:?}", json.err());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn jobs_are_read() {
        for name in SCENARIOS {
            let read = guest::read(&text("guest_job", name));
            assert!(read.is_ok(), "guest_job: {name}: {:?}", read.err());
        }
    }

    #[test]
    fn cases_of_a_kernel_are_read() {
        for name in ["cubic-delayed-single-segments", "cubic-request-response", "reno-first-lost", "reno-lastack-lost"] {
            let read = Case::from_json_text(&text("kernel_case", name));
            assert!(read.is_ok(), "kernel_case: {name}: {:?}", read.err());
        }
    }

    #[test]
    fn stored_tables_are_read() {
        for name in ["one", "two", "zstd", "repeated"] {
            assert!(store::parquet(&input("parquet", name)) > 0, "parquet: {name} has no table");
        }
    }

    #[test]
    fn traces_have_events() {
        let traces =
            [("trace_file", ["lo", "ng", "ns2", "pcap"].as_slice()), ("compressed", &["gz-ng", "gz-ns2", "zst-ng", "zst-ns2", "zst-pcap"])];
        for (target, names) in traces {
            for name in names {
                let data = input(target, name);
                let events = Reader::from_reader(&data[..]).expect("a format that is known").filter(Result::is_ok).count();
                assert!(events > 0, "{target}: {name} has no event");
            }
        }
    }
}
